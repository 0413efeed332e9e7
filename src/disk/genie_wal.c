/*
 * genie_wal.c
 *	  Writing pages: Generic WAL, the pages of a build in bulk, the init fork.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

#include "genie_compat.h"
#include "genie_page.h"
#include "genie_wal.h"

void
genie_wal_begin(GenieWal *wal, Relation relation, bool build)
{
	wal->relation = relation;
	wal->state = build ? NULL : GenericXLogStart(relation);
	wal->n = 0;
}

Page
genie_wal_register(GenieWal *wal, Buffer buffer, bool fresh)
{
	Page		page = BufferGetPage(buffer);

	Assert(wal->n < MAX_GENERIC_XLOG_PAGES);
	if (!fresh)
		genie_page_verify(wal->relation, page, BufferGetBlockNumber(buffer));
	if (wal->state != NULL)
		page = GenericXLogRegisterBuffer(wal->state, buffer, fresh ? GENERIC_XLOG_FULL_IMAGE : 0);
	wal->buffers[wal->n] = buffer;
	wal->pages[wal->n++] = page;
	return page;
}

static void
set_checksum(Page page, BlockNumber block)
{
	GeniePageGetChecksum(page) = genie_page_checksum(page, block);
}

void
genie_wal_commit(GenieWal *wal)
{
	for (int i = 0; i < wal->n; i++)
		set_checksum(wal->pages[i], BufferGetBlockNumber(wal->buffers[i]));
	if (wal->state != NULL)
		GenericXLogFinish(wal->state);
	else
	{
		START_CRIT_SECTION();
		for (int i = 0; i < wal->n; i++)
			MarkBufferDirty(wal->buffers[i]);
		END_CRIT_SECTION();
	}
	wal->state = NULL;
}

void
genie_wal_commit_release(GenieWal *wal)
{
	genie_wal_commit(wal);
	for (int i = 0; i < wal->n; i++)
		UnlockReleaseBuffer(wal->buffers[i]);
	wal->n = 0;
}

void
genie_wal_abort(GenieWal *wal)
{
	if (wal->state != NULL)
		GenericXLogAbort(wal->state);
	wal->state = NULL;
}

/*
 * The record is the one that GenericXLogFinish would make of this change: for each changed region of the page its
 * offset and length, 16 bits each, and its bytes.  Only, nobody looks for the regions: comparing the pages was half of
 * an insert (test/bench/RESULTS.md).
 */
void
genie_wal_append(Relation relation, Buffer buffer, const void *head, uint16 n_head, const void *tail, uint16 n_tail)
{
	PageHeader	page = (PageHeader) BufferGetPage(buffer);
	LocationIndex at = page->pd_lower;
	uint16		changed = offsetof(PageHeaderData, pd_lower);	/* of the header, up to its end */
	uint16		header[2] = {changed, SizeOfPageHeaderData - changed};
	uint16		payload[2] = {at, n_head + n_tail};
	pg_crc32c	crc = page->pd_prune_xid;

	Assert(genie_page_is_ours((Page) page) && GENIE_PAGE_SPECIAL - at >= n_head + n_tail);
	/* FIN_CRC32C, taken back: the payload comes last, so its checksum goes on */
	FIN_CRC32C(crc);
	COMP_CRC32C(crc, head, n_head);
	COMP_CRC32C(crc, tail, n_tail);
	FIN_CRC32C(crc);

	START_CRIT_SECTION();
	memcpy((char *) page + at, head, n_head);
	memcpy((char *) page + at + n_head, tail, n_tail);
	page->pd_lower = at + n_head + n_tail;
	page->pd_prune_xid = crc;
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(relation))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
		XLogRegisterBufData(0, (char *) header, sizeof(header));
		XLogRegisterBufData(0, (char *) page + header[0], header[1]);
		XLogRegisterBufData(0, (char *) payload, sizeof(payload));
		XLogRegisterBufData(0, (char *) page + at, payload[1]);
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		PageSetLSN((Page) page, lsn);
	}
	END_CRIT_SECTION();
}

void
genie_wal_mark_hint(Buffer buffer)
{
	MarkBufferDirtyHint(buffer, true);
}

void
genie_wal_log_build(Relation relation)
{
	if (RelationNeedsWAL(relation))
		log_newpage_range(relation, MAIN_FORKNUM, 0,
						  RelationGetNumberOfBlocks(relation), true);
}

void
genie_wal_write_init_fork(Relation relation, Page page)
{
	SMgrRelation smgr = RelationGetSmgr(relation);

	set_checksum(page, GENIE_META_BLOCK);
	PageSetChecksumInplace(page, GENIE_META_BLOCK);
	smgrwrite(smgr, INIT_FORKNUM, GENIE_META_BLOCK, (char *) page, true);
	log_newpage(&GENIE_SMGR_LOCATOR(smgr), INIT_FORKNUM, GENIE_META_BLOCK, page, true);
	smgrimmedsync(smgr, INIT_FORKNUM);
}
