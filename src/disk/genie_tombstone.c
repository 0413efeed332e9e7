/*
 * genie_tombstone.c
 *	  Reading and setting tombstones.
 *
 * A page of the section is changed under its exclusive lock by one Generic WAL record, so a reader
 * sees all of a page's new bits or none.  A word of 64 objects lies on one page, because
 * GENIE_PAGE_PAYLOAD is a multiple of 8 (asserted).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "genie_tombstone.h"
#include "genie_wal.h"

StaticAssertDecl(GENIE_PAGE_PAYLOAD % sizeof(uint64) == 0, "tombstone words must not straddle pages");

bool
genie_tombstone_read(GenieSectionReader *reader, uint32 first, uint32 n, uint64 *words)
{
	uint64		buffer[512];
	uint32		n_bytes = (n + 7) / 8;
	uint32		done = 0;

	Assert(first % 64 == 0);
	while (done < n_bytes)
	{
		uint32		part = Min(n_bytes - done, sizeof(buffer));
		uint32		part_words = (part + 7) / 8;

		buffer[part_words - 1] = 0;
		if (!genie_section_read(reader, first / 8 + done, part, buffer))
			return false;
		for (uint32 i = 0; i < part_words; i++)
			words[done / 8 + i] |= buffer[i];
		done += part;
	}
	return true;
}

void
genie_tombstone_set(GenieSegment *segment, uint32 first, uint32 n, const uint64 *words)
{
	uint32		n_bytes = (n + 7) / 8;
	uint32		at = first / 8;
	uint32		done = 0;

	Assert(first % 64 == 0);
	while (done < n_bytes)
	{
		uint32		page_number = (uint32) (at / GENIE_PAGE_PAYLOAD);
		uint32		from = at % GENIE_PAGE_PAYLOAD;
		uint32		part = Min(n_bytes - done, (uint32) GENIE_PAGE_PAYLOAD - from);
		const char *bits = (const char *) words + done;
		BlockNumber block = genie_segment_block(segment, GENIE_SECTION_TOMBSTONES, page_number);
		Buffer		buffer = ReadBuffer(segment->index, block);
		GenieWal	wal;
		char	   *to;

		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		if (!genie_page_is(BufferGetPage(buffer), GENIE_PAGE_DATA) ||
			GeniePageGetOpaque(BufferGetPage(buffer))->stamp != segment->entry.stamp ||
			GeniePageGetOpaque(BufferGetPage(buffer))->next != page_number ||
			GeniePageGetUsed(BufferGetPage(buffer)) < from + part)
			genie_report_corrupt(segment->index, block, "not the segment's tombstone page");
		genie_wal_begin(&wal, segment->index, false);
		to = GeniePageGetPayload(genie_wal_register(&wal, buffer, false)) + from;
		for (uint32 i = 0; i < part; i++)
			to[i] |= bits[i];
		genie_wal_commit_release(&wal);
		at += part;
		done += part;
		CHECK_FOR_INTERRUPTS();
	}
}
