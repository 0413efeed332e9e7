/*
 * genie_segment.c
 *	  Segments as sets of sections: opening one and reading its bytes.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "genie_hint.h"
#include "genie_segment.h"
#include "genie_values.h"

/* Reads the root's byte stream through its chain of pages. */
typedef struct GenieRootReader
{
	GenieSegment *segment;
	BlockNumber next;
	PGAlignedBlock page;
	uint32		used;
	uint32		at;
	uint32		pages_capacity;
} GenieRootReader;

/* Copies the next page of the chain.  False: stale. */
static bool
genie_root_next_page(GenieRootReader *root)
{
	GenieSegment *segment = root->segment;
	Page		page;

	if (root->next == InvalidBlockNumber ||
		root->next >= RelationGetNumberOfBlocks(segment->index))
	{
		segment->stale = true;
		return false;
	}
	page = genie_page_copy(segment->index, root->next, &root->page);
	if (!genie_page_is(page, GENIE_PAGE_ROOT) ||
		GeniePageGetOpaque(page)->stamp != segment->entry.stamp)
	{
		segment->stale = true;
		return false;
	}
	genie_page_verify(segment->index, page, root->next);

	if (segment->n_root_pages == root->pages_capacity)
	{
		root->pages_capacity *= 2;
		segment->root_pages = repalloc(segment->root_pages,
									   root->pages_capacity * sizeof(GenieExtent));
	}
	segment->root_pages[segment->n_root_pages].start = root->next;
	segment->root_pages[segment->n_root_pages++].n_blocks = 1;
	root->used = GeniePageGetUsed(page);
	if (root->used == 0)
		genie_report_corrupt(segment->index, root->next, "empty page of a segment's root");
	root->at = 0;
	root->next = GeniePageGetOpaque(page)->next;
	CHECK_FOR_INTERRUPTS();
	return true;
}

static bool
genie_root_read(GenieRootReader *root, void *out, Size n)
{
	char	   *to = out;

	while (n > 0)
	{
		Size		part;

		if (root->at == root->used && !genie_root_next_page(root))
			return false;
		part = Min(n, root->used - root->at);
		memcpy(to, GeniePageGetPayload((Page) root->page.data) + root->at, part);
		root->at += part;
		to += part;
		n -= part;
	}
	return true;
}

/* Takes one section entry into the segment, or refuses or skips it. */
static GenieSection *
genie_segment_take_section(GenieSegment *segment, const GenieSectionEntry *entry,
						   GenieSection *skipped)
{
	GenieSection *section = skipped;

	if (entry->kind >= 1 && entry->kind <= GENIE_SECTIONS &&
		entry->codec == GENIE_SECTION_CODEC_1)
		section = &segment->sections[entry->kind];
	else if (entry->flags & GENIE_SECTION_REQUIRED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" has a section of kind %u, codec %u, that this genie cannot read",
						RelationGetRelationName(segment->index), entry->kind, entry->codec),
				 errhint("Please REINDEX it.")));
	section->entry = *entry;
	section->spill = NULL;
	return section;
}

/*
 * Adds up the section's extents and checks them: every block and every byte that the section claims
 * lies in the index, so that no loop or allocation over it is longer than the index.
 */
static void
genie_segment_check_section(const GenieSegment *segment, GenieSection *section, BlockNumber n_blocks)
{
	uint64		n_pages = 0;

	section->ends = MemoryContextAllocHuge(CurrentMemoryContext,
										   sizeof(uint32) * ((Size) section->entry.n_extents + 1));
	for (uint32 i = 0; i < section->entry.n_extents; i++)
	{
		const GenieExtent *extent = &section->extents[i];

		n_pages += extent->n_blocks;
		if (extent->n_blocks == 0 || (uint64) extent->start + extent->n_blocks > n_blocks ||
			n_pages > n_blocks)
			genie_report_corrupt(segment->index, segment->entry.root, "an extent leaves the index");
		section->ends[i] = (uint32) n_pages;
	}
	if (section->entry.length > n_pages * GENIE_PAGE_PAYLOAD)
		genie_report_corrupt(segment->index, segment->entry.root, "a section is longer than its pages");
}

GenieSegment *
genie_segment_open(Relation index, const GenieSegmentEntry *entry)
{
	GenieSegment *segment = palloc0(sizeof(GenieSegment));
	GenieRootReader *root = palloc0(sizeof(GenieRootReader));
	GenieSection skipped;
	GenieSectionEntry *entries;
	BlockNumber n_blocks;

	segment->index = index;
	segment->entry = *entry;
	root->segment = segment;
	root->next = entry->root;
	root->pages_capacity = 4;
	segment->root_pages = palloc(root->pages_capacity * sizeof(GenieExtent));

	if (!genie_root_read(root, &segment->header, sizeof(GenieRootHeader)))
		return NULL;
	n_blocks = RelationGetNumberOfBlocks(index);
	if (segment->header.min_size > segment->header.max_size)
		genie_report_corrupt(index, entry->root, "bad sizes of objects");
	if (segment->header.n_sections > 64 || segment->header.n_extents > n_blocks)
		genie_report_corrupt(index, entry->root, "bad section count");
	entries = palloc(sizeof(GenieSectionEntry) * (segment->header.n_sections + 1));
	if (!genie_root_read(root, entries, sizeof(GenieSectionEntry) * segment->header.n_sections))
		return NULL;

	for (uint32 i = 0; i < segment->header.n_sections; i++)
	{
		GenieSection *section = genie_segment_take_section(segment, &entries[i], &skipped);
		Size		bytes = sizeof(GenieExtent) * (Size) entries[i].n_extents;

		if (entries[i].n_extents > segment->header.n_extents)
			genie_report_corrupt(index, entry->root, "bad extent count");
		section->extents = MemoryContextAllocHuge(CurrentMemoryContext, bytes + 1);
		if (!genie_root_read(root, section->extents, bytes))
			return NULL;
		genie_segment_check_section(segment, section, n_blocks);
	}
	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
		if (segment->sections[kind].entry.kind == 0)
			genie_report_corrupt(index, entry->root, "a section is missing");
	if (segment->sections[GENIE_SECTION_TOMBSTONES].entry.length !=
		((uint64) segment->header.n_objects + 7) / 8)
		genie_report_corrupt(index, entry->root, "the number of objects is not that of the tombstones");
	if (segment->sections[GENIE_SECTION_HINTS].entry.length !=
		(uint64) genie_hint_pages(segment->header.n_objects) * GENIE_PAGE_PAYLOAD)
		genie_report_corrupt(index, entry->root, "the number of objects is not that of the hints");
	if (!genie_values_valid(segment))
		genie_report_corrupt(index, entry->root, "the number of objects is not that of the values");
	pfree(entries);
	pfree(root);
	return segment;
}

BlockNumber
genie_segment_block(const GenieSegment *segment, GenieSectionKind kind, uint32 page)
{
	const GenieSection *section = &segment->sections[kind];
	uint32		low = 0;
	uint32		high = section->entry.n_extents;

	/* the first extent that ends behind the page */
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (section->ends[middle] <= page)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == section->entry.n_extents)
		genie_report_corrupt(segment->index, segment->entry.root, "read past the end of a section");
	return section->extents[low].start + section->extents[low].n_blocks - (section->ends[low] - page);
}

void
genie_section_reader(GenieSectionReader *reader, GenieSegment *segment, GenieSectionKind kind)
{
	reader->segment = segment;
	reader->kind = kind;
	reader->apart = false;
	reader->cached = -1;
	reader->used = 0;
}

/* Reads a page of a spilled section. */
static void
genie_section_read_spill(GenieSectionReader *reader, uint32 page)
{
	const GenieSection *section = &reader->segment->sections[reader->kind];
	uint64		at = (uint64) page * GENIE_PAGE_PAYLOAD;
	Size		n = Min((uint64) GENIE_PAGE_PAYLOAD, section->entry.length - at);

	genie_spill_read(section->spill, at, n, reader->data.bytes);
	reader->used = n;
}

/* Are the checksums of the section's pages verified?  Tombstones change after an image was made, and are few bytes. */
static bool
is_verifying(const GenieSectionReader *reader)
{
	return reader->segment->verify || reader->kind == GENIE_SECTION_TOMBSTONES;
}

/*
 * Copies bytes [from, from + n) of a page of the index under its shared lock.  Returns the page's
 * used bytes, or -1 if the page is not the segment's any more.
 */
static int64
genie_section_copy(GenieSectionReader *reader, uint32 page_number, uint32 from, Size n, char *out)
{
	GenieSegment *segment = reader->segment;
	BlockNumber block = genie_segment_block(segment, reader->kind, page_number);
	Buffer		buffer;
	Page		page;
	Size		used = 0;
	bool		ours;
	bool		in_place;
	bool		intact;

	if (segment->stop != NULL && genie_segment_stops(segment))
		return -1;
	buffer = ReadBuffer(segment->index, block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	ours = genie_page_is(page, GENIE_PAGE_DATA) &&
		GeniePageGetOpaque(page)->stamp == segment->entry.stamp &&
		GeniePageGetOpaque(page)->detail == reader->kind;
	in_place = ours && GeniePageGetOpaque(page)->next == page_number;
	intact = in_place && (!is_verifying(reader) || genie_page_is_intact(page, block));
	if (intact)
	{
		used = GeniePageGetUsed(page);	/* at most GENIE_PAGE_PAYLOAD: the page is ours */
		if (from + n <= GENIE_PAGE_PAYLOAD)
			memcpy(out, GeniePageGetPayload(page) + from, Min(n, used - Min(from, used)));
	}
	UnlockReleaseBuffer(buffer);
	if (!ours)
	{
		segment->stale = true;
		return -1;
	}
	if (!in_place)
		genie_report_corrupt(segment->index, block, "a page of a section is in another page's place");
	if (!intact)
		genie_report_corrupt(segment->index, block, "the page's checksum is wrong");
	return (int64) used;
}

const char *
genie_section_page(GenieSectionReader *reader, uint32 page)
{
	GenieSegment *segment = reader->segment;

	if (reader->cached == page)
		return reader->data.bytes;
	if ((uint64) page * GENIE_PAGE_PAYLOAD >= segment->sections[reader->kind].entry.length)
	{
		if (segment->index == NULL)
			elog(ERROR, "read past the end of a spilled section");
		genie_report_corrupt(segment->index, segment->entry.root, "read past the end of a section");
	}
	reader->cached = -1;
	if (segment->sections[reader->kind].spill != NULL)
		genie_section_read_spill(reader, page);
	else
	{
		int64		used = genie_section_copy(reader, page, 0, GENIE_PAGE_PAYLOAD,
											  reader->data.bytes);

		if (used < 0)
			return NULL;
		reader->used = (uint32) used;
	}
	reader->cached = page;
	return reader->data.bytes;
}

bool
genie_section_read(GenieSectionReader *reader, uint64 position, Size n, void *out)
{
	char	   *to = out;

	while (n > 0)
	{
		uint32		page = (uint32) (position / GENIE_PAGE_PAYLOAD);
		uint32		from = (uint32) (position % GENIE_PAGE_PAYLOAD);
		Size		part = Min(n, GENIE_PAGE_PAYLOAD - from);
		bool		direct = (part == GENIE_PAGE_PAYLOAD || reader->apart) && reader->cached != page &&
			reader->segment->index != NULL;
		uint32		used;

		if (direct)
		{
			int64		copied = genie_section_copy(reader, page, from, part, to);

			if (copied < 0)
				return false;
			used = (uint32) copied;
		}
		else
		{
			const char *data = genie_section_page(reader, page);

			if (data == NULL)
				return false;
			used = reader->used;
			if (from + part <= used)
				memcpy(to, data + from, part);
		}
		if (from + part > used)
		{
			if (reader->segment->index == NULL)
				elog(ERROR, "read past the end of a spilled page");
			genie_report_corrupt(reader->segment->index,
								 genie_segment_block(reader->segment, reader->kind, page),
								 "page is shorter than its section says");
		}
		position += part;
		to += part;
		n -= part;
	}
	return true;
}

static uint32
section_pages(const GenieSection *section)
{
	return (uint32) ((section->entry.length + GENIE_PAGE_PAYLOAD - 1) / GENIE_PAGE_PAYLOAD);
}

uint32
genie_segment_pages(const GenieSegment *segment)
{
	uint32		n = 0;

	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
		n += section_pages(&segment->sections[kind]);
	return n;
}

/* One page.  False: stale, or damaged. */
static bool
verify_page(GenieSegment *segment, BlockNumber block, const char **damage)
{
	Buffer		buffer = ReadBuffer(segment->index, block);
	Page		page = BufferGetPage(buffer);
	bool		intact;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	segment->stale = !genie_page_is(page, GENIE_PAGE_DATA) ||
		GeniePageGetOpaque(page)->stamp != segment->entry.stamp;
	intact = genie_page_is_intact(page, block);
	UnlockReleaseBuffer(buffer);
	if (segment->stale)
		return false;
	if (!intact)
	{
		*damage = psprintf("the checksum of block %u is wrong", block);
		segment->verify = true;
	}
	return intact;
}

bool
genie_segment_verify(GenieSegment *segment, uint32 first, uint32 n, const char **damage)
{
	for (int kind = 1; kind <= GENIE_SECTIONS && n > 0; kind++)
	{
		uint32		n_pages = section_pages(&segment->sections[kind]);

		for (; first < n_pages && n > 0; first++, n--)
		{
			if (!verify_page(segment, genie_segment_block(segment, kind, first), damage))
				return false;
			CHECK_FOR_INTERRUPTS();
			if (genie_segment_stops(segment))
				return false;
		}
		first -= n_pages;
	}
	return true;
}
