/*
 * genie_dictionary.c
 *	  Writing and searching a segment's dictionary (format: genie_dictionary.h).
 *
 * The writer fills a leaf in memory and remembers each leaf's first key.  At the end it makes the inner levels
 * of those.  The cursor copies a page at a time through its section reader and
 * trusts no length on it: a length that points outside means a damaged index.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_dictionary.h"
#include "genie_varint.h"

typedef struct GenieLeafHeader
{
	uint64		list_base;
	uint32		first_rank;
	uint16		n;
	uint16		restarts_at;
} GenieLeafHeader;

typedef struct GenieInnerHeader
{
	uint32		first_child;
	uint16		n;
	uint16		offsets_at;
} GenieInnerHeader;

#define GENIE_RESTART_BYTES (sizeof(uint16) + sizeof(uint64))
#define GENIE_ENTRY_MAX (2 * GENIE_VARINT_MAX + GENIE_KEY_MAX + 4)
#define GENIE_LEAF_RESTARTS (GENIE_PAGE_PAYLOAD / GENIE_RESTART_BYTES)

/* first keys of the pages of one level, packed */
typedef struct GenieLevel
{
	uint8	   *keys;
	Size		nbytes;
	Size		capacity;
	uint32		n;
} GenieLevel;

struct GenieDictionaryWriter
{
	GenieSegmentWriter *segment;
	uint32		n_keywords;
	uint64		list_at;		/* where the next list starts */
	GenieLeafHeader header;		/* of the leaf being filled */
	uint32		used;
	uint32		n_restarts;
	uint32		n_leaves;
	uint8		last[GENIE_KEY_MAX];
	uint32		last_len;
	GenieLevel	level;			/* first keys of the leaves */
	uint16		restart_offset[GENIE_LEAF_RESTARTS];
	uint64		restart_delta[GENIE_LEAF_RESTARTS];
	uint8		page[GENIE_PAGE_PAYLOAD];
};

static void
genie_dictionary_level_add(GenieLevel *level, GenieKey key)
{
	if (level->nbytes + key.len + 2 > level->capacity)
	{
		level->capacity = level->capacity == 0 ? 1024 : level->capacity * 2;
		if (level->keys == NULL)
			level->keys = palloc(level->capacity);
		else
			level->keys = repalloc_huge(level->keys, level->capacity);
	}
	level->nbytes += genie_packed_put(level->keys + level->nbytes, key);
	level->n++;
}

GenieDictionaryWriter *
genie_dictionary_begin(GenieSegmentWriter *segment)
{
	GenieDictionaryWriter *writer = palloc0(sizeof(GenieDictionaryWriter));

	writer->segment = segment;
	return writer;
}

static void
genie_dictionary_flush_leaf(GenieDictionaryWriter *writer)
{
	if (writer->header.n == 0)
		return;
	writer->header.restarts_at = (uint16) writer->used;
	memcpy(writer->page, &writer->header, sizeof(GenieLeafHeader));
	memcpy(writer->page + writer->used, writer->restart_offset, writer->n_restarts * sizeof(uint16));
	writer->used += writer->n_restarts * sizeof(uint16);
	memcpy(writer->page + writer->used, writer->restart_delta, writer->n_restarts * sizeof(uint64));
	writer->used += writer->n_restarts * sizeof(uint64);
	genie_segment_write(writer->segment, GENIE_SECTION_DICTIONARY, writer->page, writer->used);
	genie_segment_next_page(writer->segment, GENIE_SECTION_DICTIONARY);
	writer->n_leaves++;
	writer->header.n = 0;
}

/* Starts a leaf whose first key is key. */
static void
genie_dictionary_start_leaf(GenieDictionaryWriter *writer, GenieKey key)
{
	writer->header.list_base = writer->list_at;
	writer->header.first_rank = writer->n_keywords;
	writer->header.n = 0;
	writer->used = sizeof(GenieLeafHeader);
	writer->n_restarts = 0;
	genie_dictionary_level_add(&writer->level, key);
}

void
genie_dictionary_add(GenieDictionaryWriter *writer, GenieKey key, uint32 n_postings,
					 uint64 list_bytes)
{
	uint32		restarts = writer->n_restarts + (writer->header.n % GENIE_RESTART == 0 ? 1 : 0);
	uint32		shared = 0;
	uint8	   *to;

	if (writer->header.n > 0 &&
		writer->used + GENIE_ENTRY_MAX + restarts * GENIE_RESTART_BYTES > GENIE_PAGE_PAYLOAD)
		genie_dictionary_flush_leaf(writer);
	if (writer->header.n == 0)
		genie_dictionary_start_leaf(writer, key);

	if (writer->header.n % GENIE_RESTART == 0)
	{
		writer->restart_offset[writer->n_restarts] = (uint16) writer->used;
		writer->restart_delta[writer->n_restarts++] = writer->list_at - writer->header.list_base;
	}
	else
		while (shared < key.len && shared < writer->last_len &&
			   key.data[shared] == writer->last[shared])
			shared++;

	to = writer->page + writer->used;
	to += genie_varint_put(to, shared);
	to += genie_varint_put(to, key.len - shared);
	memcpy(to, key.data + shared, key.len - shared);
	to += key.len - shared;
	to += genie_varint_put(to, n_postings);
	to += genie_varint_put(to, list_bytes);
	writer->used = to - writer->page;

	memcpy(writer->last, key.data, key.len);
	writer->last_len = key.len;
	writer->header.n++;
	writer->n_keywords++;
	writer->list_at += list_bytes;
}

/*
 * Writes the inner pages above a level whose pages start at first_child, and fills the level above.
 * Returns the number of pages written.
 */
static uint32
genie_dictionary_write_level(GenieDictionaryWriter *writer, const GenieLevel *below,
							 uint32 first_child, GenieLevel *above)
{
	const uint8 *at = below->keys;
	uint16		offsets[GENIE_PAGE_PAYLOAD / 3];
	uint32		done = 0;
	uint32		n_pages = 0;

	while (done < below->n)
	{
		GenieInnerHeader header = {first_child + done, 0, 0};
		uint32		used = sizeof(GenieInnerHeader);

		while (done < below->n)
		{
			const uint8 *before = at;
			GenieKey	key = genie_packed_next(&at);

			if (used + key.len + 2 + (header.n + 1) * sizeof(uint16) > GENIE_PAGE_PAYLOAD)
			{
				at = before;
				break;
			}
			if (header.n == 0)
				genie_dictionary_level_add(above, key);
			offsets[header.n++] = (uint16) used;
			used += genie_packed_put(writer->page + used, key);
			done++;
		}
		header.offsets_at = (uint16) used;
		memcpy(writer->page, &header, sizeof(header));
		memcpy(writer->page + used, offsets, header.n * sizeof(uint16));
		genie_segment_write(writer->segment, GENIE_SECTION_DICTIONARY, writer->page,
							used + header.n * sizeof(uint16));
		genie_segment_next_page(writer->segment, GENIE_SECTION_DICTIONARY);
		n_pages++;
	}
	return n_pages;
}

uint32
genie_dictionary_finish(GenieDictionaryWriter *writer)
{
	uint32		n_keywords = writer->n_keywords;
	uint32		first_child = 0;
	GenieLevel	level;

	genie_dictionary_flush_leaf(writer);
	genie_segment_parameters(writer->segment, GENIE_SECTION_DICTIONARY, writer->n_leaves, 0);
	level = writer->level;
	while (level.n > 1)
	{
		GenieLevel	above = {0};
		uint32		n_pages = genie_dictionary_write_level(writer, &level, first_child, &above);

		first_child += level.n;
		Assert(n_pages == above.n);
		(void) n_pages;
		pfree(level.keys);
		level = above;
	}
	if (level.keys != NULL)
		pfree(level.keys);
	pfree(writer);
	return n_keywords;
}

/* ---- reading ---- */

static void
genie_dictionary_corrupt(GenieDictionaryCursor *cursor, uint32 page)
{
	GenieSegment *segment = cursor->reader.segment;

	if (segment->index == NULL)
		elog(ERROR, "spilled dictionary page %u is malformed", page);
	genie_report_corrupt(segment->index,
						 genie_segment_block(segment, GENIE_SECTION_DICTIONARY, page),
						 "malformed dictionary page");
}

void
genie_dictionary_cursor(GenieDictionaryCursor *cursor, GenieSegment *segment)
{
	const GenieSectionEntry *entry = &segment->sections[GENIE_SECTION_DICTIONARY].entry;

	genie_section_reader(&cursor->reader, segment, GENIE_SECTION_DICTIONARY);
	genie_section_reader(&cursor->inner, segment, GENIE_SECTION_DICTIONARY);
	cursor->n_leaves = entry->parameter;
	cursor->n_pages = (uint32) ((entry->length + GENIE_PAGE_PAYLOAD - 1) / GENIE_PAGE_PAYLOAD);
	cursor->valid = false;
}

/* Loads a leaf and places the cursor before its restart.  False: stale. */
static bool
genie_dictionary_load_leaf(GenieDictionaryCursor *cursor, uint32 leaf, uint32 restart)
{
	const char *page = genie_section_page(&cursor->reader, leaf);
	GenieLeafHeader header;
	uint32		n_restarts;
	uint16		offset;
	uint64		delta;

	if (page == NULL)
		return false;
	memcpy(&header, page, sizeof(header));
	n_restarts = (header.n + GENIE_RESTART - 1) / GENIE_RESTART;
	if (header.n == 0 || restart >= n_restarts ||
		header.restarts_at + n_restarts * GENIE_RESTART_BYTES > cursor->reader.used)
		genie_dictionary_corrupt(cursor, leaf);
	memcpy(&offset, page + header.restarts_at + restart * sizeof(uint16), sizeof(offset));
	memcpy(&delta, page + header.restarts_at + n_restarts * sizeof(uint16) + restart * sizeof(uint64),
		   sizeof(delta));
	cursor->leaf = leaf;
	cursor->n_entries = header.n;
	cursor->entries_end = header.restarts_at;
	cursor->entry = restart * GENIE_RESTART;
	cursor->offset = offset;
	cursor->rank = header.first_rank + cursor->entry;
	cursor->list_at = header.list_base + delta;
	cursor->list_bytes = 0;
	cursor->key.data = cursor->key_bytes;
	cursor->key.len = 0;
	cursor->valid = false;		/* not on an entry yet */
	return true;
}

/* Reads the entry at the cursor's offset (there is one). */
static void
genie_dictionary_read_entry(GenieDictionaryCursor *cursor)
{
	const uint8 *page = (const uint8 *) cursor->reader.data.bytes;
	const uint8 *end = page + cursor->entries_end;
	const uint8 *at = page + cursor->offset;
	uint64		postings_length =
		cursor->reader.segment->sections[GENIE_SECTION_POSTINGS].entry.length;
	uint64		shared;
	uint64		rest;
	uint64		n_postings;
	uint64		list_bytes;

	if (!genie_varint_next(&at, end, &shared) || !genie_varint_next(&at, end, &rest) ||
		shared > cursor->key.len || rest > GENIE_KEY_MAX - shared || rest > (uint64) (end - at))
		genie_dictionary_corrupt(cursor, cursor->leaf);
	memcpy(cursor->key_bytes + shared, at, rest);
	at += rest;
	cursor->key.len = (uint32) (shared + rest);
	if (!genie_varint_next(&at, end, &n_postings) || !genie_varint_next(&at, end, &list_bytes) ||
		n_postings == 0 || n_postings > PG_UINT32_MAX || list_bytes < 2 ||
		list_bytes > postings_length || cursor->list_at > postings_length - list_bytes)
		genie_dictionary_corrupt(cursor, cursor->leaf);
	cursor->n_postings = (uint32) n_postings;
	cursor->list_bytes = list_bytes;
	cursor->offset = at - page;
	cursor->valid = true;
}

bool
genie_dictionary_next(GenieDictionaryCursor *cursor)
{
	if (cursor->valid)
	{
		cursor->list_at += cursor->list_bytes;
		cursor->rank++;
		cursor->entry++;
	}
	if (cursor->entry >= cursor->n_entries)
	{
		if (cursor->leaf + 1 >= cursor->n_leaves)
		{
			cursor->valid = false;
			return true;
		}
		CHECK_FOR_INTERRUPTS();
		if (!genie_dictionary_load_leaf(cursor, cursor->leaf + 1, 0))
			return false;
	}
	genie_dictionary_read_entry(cursor);
	return true;
}

bool
genie_dictionary_leaf(GenieDictionaryCursor *cursor, uint32 leaf)
{
	if (!genie_dictionary_load_leaf(cursor, leaf, 0))
		return false;
	genie_dictionary_read_entry(cursor);
	return true;
}

bool
genie_dictionary_first(GenieDictionaryCursor *cursor)
{
	cursor->valid = false;
	return cursor->n_leaves == 0 || genie_dictionary_leaf(cursor, 0);
}

/* *child is the child of an inner page in which the key would be.  False: stale. */
static bool
genie_dictionary_descend(GenieDictionaryCursor *cursor, uint32 page_number, GenieKey key,
						 uint32 *child)
{
	const char *page = genie_section_page(&cursor->inner, page_number);
	GenieInnerHeader header;
	uint32		low = 0;
	uint32		high;

	if (page == NULL)
		return false;
	memcpy(&header, page, sizeof(header));
	if (header.n == 0 || header.offsets_at + header.n * sizeof(uint16) > cursor->inner.used)
		genie_dictionary_corrupt(cursor, page_number);

	/* the last child whose first key is not above the key; the first if all are */
	high = header.n;
	while (high - low > 1)
	{
		uint32		middle = (low + high) / 2;
		uint16		offset;
		const uint8 *at;
		GenieKey	first;

		memcpy(&offset, page + header.offsets_at + middle * sizeof(uint16), sizeof(offset));
		if (offset + 2 > header.offsets_at)
			genie_dictionary_corrupt(cursor, page_number);
		at = (const uint8 *) page + offset;
		first = genie_packed_next(&at);
		if (at > (const uint8 *) page + header.offsets_at)
			genie_dictionary_corrupt(cursor, page_number);
		if (genie_key_cmp(first, key) <= 0)
			low = middle;
		else
			high = middle;
	}
	*child = header.first_child + low;
	if (*child >= page_number)
		genie_dictionary_corrupt(cursor, page_number);
	return true;
}

/* The last restart of the loaded leaf whose key is not above the key; 0 if all are. */
static uint32
genie_dictionary_find_restart(GenieDictionaryCursor *cursor, GenieKey key)
{
	const char *page = cursor->reader.data.bytes;
	uint32		low = 0;
	uint32		high = (cursor->n_entries + GENIE_RESTART - 1) / GENIE_RESTART;

	while (high - low > 1)
	{
		uint32		middle = (low + high) / 2;
		const uint8 *at;
		const uint8 *end = (const uint8 *) page + cursor->entries_end;
		uint16		offset;
		uint64		rest;
		size_t		n;
		GenieKey	first;

		memcpy(&offset, page + cursor->entries_end + middle * sizeof(uint16), sizeof(offset));
		at = (const uint8 *) page + offset + 1; /* shared is 0, one byte */
		if (at >= end || (n = genie_varint_get(at, end, &rest)) == 0 ||
			rest > (uint64) (end - at - n))
			genie_dictionary_corrupt(cursor, cursor->leaf);
		first.data = at + n;
		first.len = (uint32) rest;
		if (genie_key_cmp(first, key) <= 0)
			low = middle;
		else
			high = middle;
	}
	return low;
}

bool
genie_dictionary_seek(GenieDictionaryCursor *cursor, GenieKey key, bool after)
{
	uint32		page;

	cursor->valid = false;
	if (cursor->n_leaves == 0)
		return true;
	page = cursor->n_pages - 1;
	while (page >= cursor->n_leaves)
		if (!genie_dictionary_descend(cursor, page, key, &page))
			return false;
	if (!genie_dictionary_load_leaf(cursor, page, 0) ||
		!genie_dictionary_load_leaf(cursor, page, genie_dictionary_find_restart(cursor, key)))
		return false;
	genie_dictionary_read_entry(cursor);
	while (cursor->valid)
	{
		int			cmp = genie_key_cmp(cursor->key, key);

		if (cmp > 0 || (cmp == 0 && !after))
			break;
		if (!genie_dictionary_next(cursor))
			return false;
	}
	return true;
}
