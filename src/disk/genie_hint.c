/*
 * genie_hint.c
 *	  Reading and setting hints (genie_hint.h).
 *
 * A page is changed under its exclusive lock and marked dirty as for hint bits of the heap: no WAL but the page's image
 * where checksums or wal_log_hints ask for one.  The first page's version is raised last, so a reader that sees it
 * finds the bits, too.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "genie_codec.h"
#include "genie_hint.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_wal.h"

#ifdef USE_ASSERT_CHECKING
#define GENIE_HINTS_LEAST 1		/* so that tests meet hints everywhere */
#else
#define GENIE_HINTS_LEAST 32	/* fewer dead rows cost scans less than it costs to find their objects */
#endif
#define GENIE_HINTS_MANY 65536	/* 512 kB of TIDs */

StaticAssertDecl(sizeof(GenieHintPage) == GENIE_PAGE_PAYLOAD, "a page of hints must fill a page");

struct GenieHints
{
	Relation	index;
	GenieMetaData *meta;		/* as it was before the first visit */
	uint64	   *tids;
	Size		n;
	Size		capacity;
};

bool
genie_hints_allowed(void)
{
	return !TransactionStartedDuringRecovery() &&
		!(ActiveSnapshotSet() && GetActiveSnapshot()->takenDuringRecovery);
}

static uint32
genie_hint_crc(const GenieHintPage *hints)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, &hints->version, sizeof(GenieHintPage) - offsetof(GenieHintPage, version));
	FIN_CRC32C(crc);
	return crc;
}

/* The contents of a locked page, if it is the segment's page of hints of that number; else NULL. */
static GenieHintPage *
genie_hint_page(const GenieSegment *segment, Buffer buffer, uint32 number)
{
	Page		page = BufferGetPage(buffer);

	if (!genie_page_is(page, GENIE_PAGE_DATA) || GeniePageGetOpaque(page)->stamp != segment->entry.stamp ||
		GeniePageGetOpaque(page)->detail != GENIE_SECTION_HINTS || GeniePageGetOpaque(page)->next != number ||
		GeniePageGetUsed(page) != sizeof(GenieHintPage))
		return NULL;
	return (GenieHintPage *) GeniePageGetPayload(page);
}

/* ---- reading ---- */

/* Copies a page of hints; zeroes if it has none.  False: stale. */
static bool
genie_hint_copy(const GenieSegment *segment, uint32 number, GenieHintPage *copy)
{
	Buffer		buffer = ReadBuffer(segment->index, genie_segment_block(segment, GENIE_SECTION_HINTS, number));
	GenieHintPage *hints;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	hints = genie_hint_page(segment, buffer, number);
	if (hints != NULL)
		memcpy(copy, hints, sizeof(GenieHintPage));
	UnlockReleaseBuffer(buffer);
	if (hints != NULL && (copy->version == 0 || copy->crc != genie_hint_crc(copy)))
		memset(copy, 0, sizeof(GenieHintPage));
	return hints != NULL;
}

uint32
genie_hint_version(const GenieSegment *segment)
{
	GenieHintPage copy;

	if (segment->header.n_objects == 0 || !genie_hint_copy(segment, 0, &copy))
		return 0;
	return copy.version;
}

bool
genie_hint_read(const GenieSegment *segment, uint64 *words)
{
	uint32		n_words = (uint32) (((uint64) segment->header.n_objects + 63) / 64);
	uint32		n_pages = genie_hint_pages(segment->header.n_objects);

	for (uint32 page = 0; page < n_pages; page++)
	{
		GenieHintPage copy;
		uint32		first = page * (uint32) GENIE_HINT_WORDS;
		uint32		n = Min(n_words - first, (uint32) GENIE_HINT_WORDS);

		if (!genie_hint_copy(segment, page, &copy))
			return false;
		for (uint32 i = 0; i < n; i++)
			words[first + i] |= copy.bits[i];
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

bool
genie_hint_owned(const GenieSegment *segment)
{
	GenieHintPage copy;

	for (uint32 page = 0; page < genie_hint_pages(segment->header.n_objects); page++)
		if (!genie_hint_copy(segment, page, &copy))
			return false;
	return true;
}

/* ---- setting ---- */

GenieHints *
genie_hints_begin(Relation index)
{
	GenieHints *hints;

	if (!genie_hints_allowed())
		return NULL;
	hints = palloc(sizeof(GenieHints));
	hints->index = index;
	hints->meta = genie_meta_read(index);
	hints->n = 0;
	hints->capacity = 64;
	hints->tids = palloc(hints->capacity * sizeof(uint64));
	return hints;
}

void
genie_hints_add(GenieHints *hints, uint64 tid)
{
	if (hints == NULL)
		return;
	if (hints->n == hints->capacity)
	{
		hints->capacity *= 2;
		hints->tids = repalloc_huge(hints->tids, hints->capacity * sizeof(uint64));
	}
	hints->tids[hints->n++] = tid;
}

/* Sets the bits of words on a page of hints, and raises its version.  True: some are new, or there are no words. */
static bool
genie_hint_set_page(const GenieSegment *segment, uint32 number, uint32 at, uint32 n, const uint64 *words)
{
	Buffer		buffer = ReadBuffer(segment->index, genie_segment_block(segment, GENIE_SECTION_HINTS, number));
	GenieHintPage *hints;
	bool		changes = words == NULL;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	hints = genie_hint_page(segment, buffer, number);
	if (hints == NULL)
		changes = false;
	else
	{
		bool		valid = hints->version > 0 && hints->crc == genie_hint_crc(hints);

		for (uint32 i = 0; words != NULL && i < n; i++)
			changes |= (words[i] & ~(valid ? hints->bits[at + i] : 0)) != 0;
		if (changes)
		{
			if (!valid)
				memset(hints, 0, sizeof(GenieHintPage));
			for (uint32 i = 0; words != NULL && i < n; i++)
				hints->bits[at + i] |= words[i];
			hints->version++;
			hints->crc = genie_hint_crc(hints);
			genie_wal_mark_hint(buffer);
		}
	}
	UnlockReleaseBuffer(buffer);
	return changes;
}

/* Sets the bits of n words from one on.  True: some are new. */
static bool
genie_hint_set(const GenieSegment *segment, uint32 first, uint32 n, const uint64 *words)
{
	bool		changes = false;

	while (n > 0)
	{
		uint32		at = first % (uint32) GENIE_HINT_WORDS;
		uint32		part = Min(n, (uint32) GENIE_HINT_WORDS - at);

		changes |= genie_hint_set_page(segment, first / (uint32) GENIE_HINT_WORDS, at, part, words);
		first += part;
		words += part;
		n -= part;
	}
	return changes;
}

/* The last TID of a tile; 0: stale. */
static uint64
genie_hints_last_tid(GenieObjectReader *objects, uint32 tile_number)
{
	const GenieTileObjects *tile = genie_object_table_tile(objects, tile_number);
	bool		is_null;

	return tile == NULL ? 0 : genie_object_table_tid(tile, tile->n_objects - 1, &is_null);
}

/* The first tile from one on that ends at or behind the TID, by galloping; n_tiles if there is none. */
static uint32
genie_hints_find_tile(GenieObjectReader *objects, uint32 from, uint64 tid)
{
	uint32		low = from;		/* tiles below end before the TID */
	uint32		high = from;
	uint32		step = 1;

	while (high < objects->n_tiles && genie_hints_last_tid(objects, high) < tid)
	{
		low = high + 1;
		high = Min(high + step, objects->n_tiles);
		step *= 2;
	}
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (genie_hints_last_tid(objects, middle) < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sets the bits of a tile's objects that have one of the TIDs, from *next on; moves *next behind the tile's last. */
static void
genie_hints_mark_tile(const GenieTileObjects *tile, const uint64 *tids, Size n, Size *next, uint64 *words)
{
	Size		i = *next;

	for (uint32 r = 0; r < tile->n_runs && i < n; r++)
	{
		const GenieTidRun *run = &tile->runs[r];
		uint64		first = ((uint64) run->block << 16) | run->offset;
		uint32		length = (r + 1 < tile->n_runs ? run[1].start : tile->n_objects) - run->start;

		while (i < n && tids[i] < first)
			i++;
		for (; i < n && tids[i] < first + length; i++)
		{
			uint32		object = run->start + (uint32) (tids[i] - first);

			words[object / 64] |= UINT64CONST(1) << (object % 64);
		}
	}
	*next = i;
}

/* Gives hints to the segment's objects with these TIDs, which are sorted. */
static void
genie_hints_mark(GenieSegment *segment, const uint64 *tids, Size n)
{
	GenieObjectReader *objects = palloc(sizeof(GenieObjectReader));
	uint64	   *words = palloc(GENIE_TILE_WORDS * sizeof(uint64));
	bool		changes = false;
	uint32		tile_number = 0;

	genie_object_table_reader(objects, segment, false);
	for (Size next = 0; next < n; tile_number++)
	{
		const GenieTileObjects *tile;

		CHECK_FOR_INTERRUPTS();
		tile_number = genie_hints_find_tile(objects, tile_number, tids[next]);
		tile = tile_number < objects->n_tiles ? genie_object_table_tile(objects, tile_number) : NULL;
		if (tile == NULL)
			break;				/* behind the last one, or stale */
		memset(words, 0, GENIE_TILE_WORDS * sizeof(uint64));
		genie_hints_mark_tile(tile, tids, n, &next, words);
		changes |= genie_hint_set(segment, tile_number * GENIE_TILE_WORDS, (tile->n_objects + 63) / 64, words);
	}
	if (changes)
		(void) genie_hint_set_page(segment, 0, 0, 0, NULL);
}

static void
genie_hints_write_all(GenieHints *hints)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie hints", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	qsort(hints->tids, hints->n, sizeof(uint64), genie_cmp_uint64);
	for (uint32 i = 0; i < hints->meta->n_segments; i++)
	{
		GenieSegment *segment = genie_segment_open(hints->index, &hints->meta->segments[i]);

		if (segment != NULL)	/* else it was merged, and its pages are used again */
			genie_hints_mark(segment, hints->tids, hints->n);
		MemoryContextReset(context);
	}
	hints->n = 0;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

void
genie_hints_write(GenieHints *hints)
{
	if (hints != NULL && hints->n >= GENIE_HINTS_MANY)
		genie_hints_write_all(hints);
}

void
genie_hints_end(GenieHints *hints)
{
	if (hints == NULL)
		return;
	if (hints->n >= GENIE_HINTS_LEAST)
		genie_hints_write_all(hints);
	pfree(hints->meta);
	pfree(hints->tids);
	pfree(hints);
}
