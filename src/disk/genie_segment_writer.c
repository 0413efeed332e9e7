/*
 * genie_segment_writer.c
 *	  Writing a segment: each section is a stream of bytes that becomes pages.
 *
 * Sections are written interleaved (a keyword's postings before its dictionary entry).  So each section
 * keeps the page that it is filling in memory.  It takes runs of consecutive blocks, which become longer as it
 * grows, so that its extents are few and reads are sequential.  The rest of the last run goes
 * back to the free space map.
 *
 * Until the flip, none of these pages is reachable.  An error or a crash leaves them to the next
 * VACUUM, which takes them back.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "genie_fault.h"
#include "genie_meta.h"
#include "genie_segment.h"
#include "genie_space.h"
#include "genie_wal.h"

typedef struct GenieSectionWriter
{
	uint64		full_pages;		/* written */
	uint32		used;			/* bytes in page */
	char	   *page;			/* the page being filled, GENIE_PAGE_PAYLOAD bytes */
	BufFile    *spill;
	GenieExtent *extents;
	uint32		n_extents;
	uint32		extents_capacity;
	GenieRun	run;
	uint32		parameter;
	uint32		parameter2;
} GenieSectionWriter;

struct GenieSegmentWriter
{
	Relation	index;
	bool		build;
	GenieSpillPlace *place;		/* NULL: it goes to the index */
	uint32		number;			/* in its place */
	uint64		stamp;
	uint32		n_pages;
	void		(*delay) (void);	/* may be NULL */
	GenieSectionWriter sections[GENIE_SECTIONS + 1];
};

GenieSegmentWriter *
genie_segment_begin(Relation index, bool build, GenieSpillPlace *place)
{
	GenieSegmentWriter *writer = palloc0(sizeof(GenieSegmentWriter));

	writer->index = index;
	writer->build = build;
	writer->place = place;
	if (place == NULL)
		writer->stamp = genie_meta_new_stamp(index, build);
	else
		writer->number = place->n_segments++;
	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
	{
		GenieSectionWriter *section = &writer->sections[kind];

		section->page = palloc(GENIE_PAGE_PAYLOAD);
		if (place != NULL)
		{
			section->spill = genie_spill_create(place, writer->number, kind);
			continue;
		}
		section->extents_capacity = 8;
		section->extents = palloc(section->extents_capacity * sizeof(GenieExtent));
	}
	return writer;
}

void
genie_segment_set_delay(GenieSegmentWriter *writer, void (*delay) (void))
{
	writer->delay = delay;
}

/* Appends a block to the section's extents. */
static void
genie_section_add_block(GenieSectionWriter *section, BlockNumber block)
{
	GenieExtent *last = section->extents + section->n_extents - 1;

	if (section->n_extents > 0 && last->start + last->n_blocks == block)
	{
		last->n_blocks++;
		return;
	}
	if (section->n_extents == section->extents_capacity)
	{
		section->extents_capacity *= 2;
		section->extents = repalloc_huge(section->extents, (Size) section->extents_capacity * sizeof(GenieExtent));
	}
	section->extents[section->n_extents].start = block;
	section->extents[section->n_extents++].n_blocks = 1;
}

/* Writes the section's page, full or not. */
static void
genie_section_flush(GenieSegmentWriter *writer, GenieSectionKind kind)
{
	GenieSectionWriter *section = &writer->sections[kind];

	if (writer->place != NULL)
	{
		memset(section->page + section->used, 0, GENIE_PAGE_PAYLOAD - section->used);
		BufFileWrite(section->spill, section->page, GENIE_PAGE_PAYLOAD);
	}
	else
	{
		Buffer		buffer = genie_space_take(writer->index, &section->run);
		GenieWal	wal;
		Page		page;

		genie_section_add_block(section, BufferGetBlockNumber(buffer));
		genie_wal_begin(&wal, writer->index, writer->build);
		page = genie_wal_register(&wal, buffer, true);
		genie_page_init(page, GENIE_PAGE_DATA, kind, writer->stamp);
		GeniePageGetOpaque(page)->next = (BlockNumber) section->full_pages;
		memcpy(GeniePageGetPayload(page), section->page, section->used);
		GeniePageSetUsed(page, section->used);
		genie_wal_commit_release(&wal);
		writer->n_pages++;
		GENIE_FAULT("segment-page");
	}
	section->full_pages++;
	section->used = 0;
	if (writer->delay != NULL)
		writer->delay();
	CHECK_FOR_INTERRUPTS();
}

void
genie_segment_write(GenieSegmentWriter *writer, GenieSectionKind kind, const void *bytes, Size n)
{
	GenieSectionWriter *section = &writer->sections[kind];
	const char *from = bytes;

	while (n > 0)
	{
		Size		part = Min(n, GENIE_PAGE_PAYLOAD - section->used);

		memcpy(section->page + section->used, from, part);
		section->used += part;
		from += part;
		n -= part;
		if (section->used == GENIE_PAGE_PAYLOAD)
			genie_section_flush(writer, kind);
	}
}

void
genie_segment_next_page(GenieSegmentWriter *writer, GenieSectionKind kind)
{
	if (writer->sections[kind].used > 0)
		genie_section_flush(writer, kind);
}

uint64
genie_segment_position(const GenieSegmentWriter *writer, GenieSectionKind kind)
{
	const GenieSectionWriter *section = &writer->sections[kind];

	return section->full_pages * GENIE_PAGE_PAYLOAD + section->used;
}

void
genie_segment_parameters(GenieSegmentWriter *writer, GenieSectionKind kind, uint32 parameter,
						 uint32 parameter2)
{
	writer->sections[kind].parameter = parameter;
	writer->sections[kind].parameter2 = parameter2;
}

/* The section's entry; its last page is written. */
static GenieSectionEntry
genie_section_finish(GenieSegmentWriter *writer, GenieSectionKind kind)
{
	GenieSectionWriter *section = &writer->sections[kind];
	GenieSectionEntry entry = {0};

	entry.length = genie_segment_position(writer, kind);
	genie_segment_next_page(writer, kind);
	if (writer->place == NULL)
		genie_space_give_back(writer->index, &section->run);
	entry.kind = kind;
	entry.codec = GENIE_SECTION_CODEC_1;
	entry.flags = GENIE_SECTION_REQUIRED;
	entry.n_extents = section->n_extents;
	entry.parameter = section->parameter;
	entry.parameter2 = section->parameter2;
	return entry;
}

void
genie_segment_write_root(GenieSegment *segment, bool build, Buffer (*take) (void *arg), void *arg)
{
	GenieRootHeader *header = &segment->header;
	BlockNumber next = InvalidBlockNumber;
	Size		n;
	char	   *bytes;
	char	   *to;

	header->n_sections = GENIE_SECTIONS;
	header->n_extents = 0;
	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
		header->n_extents += segment->sections[kind].entry.n_extents;
	n = sizeof(*header) + GENIE_SECTIONS * sizeof(GenieSectionEntry) + (Size) header->n_extents * sizeof(GenieExtent);
	to = bytes = MemoryContextAllocHuge(CurrentMemoryContext, n);
	memcpy(to, header, sizeof(*header));
	to += sizeof(*header);
	for (int kind = 1; kind <= GENIE_SECTIONS; kind++, to += sizeof(GenieSectionEntry))
		memcpy(to, &segment->sections[kind].entry, sizeof(GenieSectionEntry));
	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
	{
		Size		part = segment->sections[kind].entry.n_extents * sizeof(GenieExtent);

		memcpy(to, segment->sections[kind].extents, part);
		to += part;
	}
	/* the last page first, because each page names the next */
	for (Size i = (n + GENIE_PAGE_PAYLOAD - 1) / GENIE_PAGE_PAYLOAD; i-- > 0;)
	{
		Buffer		buffer = take(arg);
		Size		from = i * GENIE_PAGE_PAYLOAD;
		Size		part = Min(n - from, GENIE_PAGE_PAYLOAD);
		GenieWal	wal;
		Page		page;

		genie_wal_begin(&wal, segment->index, build);
		page = genie_wal_register(&wal, buffer, true);
		genie_page_init(page, GENIE_PAGE_ROOT, 0, segment->entry.stamp);
		GeniePageGetOpaque(page)->next = next;
		memcpy(GeniePageGetPayload(page), bytes + from, part);
		GeniePageSetUsed(page, part);
		next = BufferGetBlockNumber(buffer);
		genie_wal_commit_release(&wal);
		segment->entry.n_pages++;
	}
	segment->entry.root = next;
	pfree(bytes);
}

static Buffer
genie_segment_take(void *index)
{
	return genie_space_take(index, NULL);
}

GenieSegmentEntry
genie_segment_finish(GenieSegmentWriter *writer, const GenieRootHeader *counts)
{
	GenieSegment segment = {.index = writer->index, .header = *counts};

	Assert(writer->place == NULL);
	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
	{
		segment.sections[kind].entry = genie_section_finish(writer, kind);
		segment.sections[kind].extents = writer->sections[kind].extents;
	}
	segment.entry.stamp = writer->stamp;
	segment.entry.n_pages = writer->n_pages;
	GENIE_FAULT("segment-before-root");
	genie_segment_write_root(&segment, writer->build, genie_segment_take, writer->index);
	genie_segment_set_counts(&segment.entry, &segment.header);
	return segment.entry;
}

GenieSegment *
genie_segment_finish_spilled(GenieSegmentWriter *writer, const GenieRootHeader *header)
{
	GenieSegment *segment = palloc0(sizeof(GenieSegment));

	Assert(writer->place != NULL);
	segment->place = writer->place;
	segment->number = writer->number;
	genie_segment_set_counts(&segment->entry, header);
	segment->header = *header;
	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
	{
		segment->sections[kind].entry = genie_section_finish(writer, kind);
		segment->sections[kind].spill = writer->sections[kind].spill;
		genie_spill_written(writer->place, writer->sections[kind].spill);
		pfree(writer->sections[kind].page);
	}
	pfree(writer);
	return segment;
}
