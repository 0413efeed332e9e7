/*
 * genie_tile_from_image.c
 *	  The source of a tile's lists from an image (genie_tile_source.h).
 *
 * A range's lists are a run of postings, which is counted as it is, in tight images a run of chunks, too, which is
 * decoded some chunks at a time, and bitmaps, one behind the other.  Nothing is checked here: images are made from
 * lists that were checked when they were decoded (genie_image.c).
 */
#include "genie_tile_source.h"

static inline const uint16_t *
postings_of(const GenieTile *tile)
{
	return (const uint16_t *) (const void *) (tile->base + tile->image->postings);
}

static bool
image_find(GenieTileScratch *scratch, const GenieTile *tile,
		   const GenieEngineQuery *query, GenieTileFound *found)
{
	while (found->n_spans < GENIE_SPANS_MAX && found->next_range < query->n_ranges)
	{
		const GenieRankRange *range = &query->ranges[found->next_range++];
		GenieTileSpan span = {.plain = genie_image_find(tile->base, tile->image, range->first, range->end)};
		uint32_t	n_bitmaps = span.plain.bitmap_to - span.plain.bitmap_from;
		uint32_t	n_lists;

		if (genie_tile_has_chunks(tile->image))
			span.chunked = genie_image_find_chunks(tile->base, tile->image, range->first, range->end);
		n_lists = span.plain.n_lists + span.chunked.n_lists + n_bitmaps;
		if (n_lists == 0)
			continue;
		scratch->spans.image[found->n_spans++] = span;
		found->max_count += n_lists;
		found->n_bitmaps += n_bitmaps;
		found->n_postings += span.plain.to - span.plain.from + (uint64_t) n_bitmaps * GENIE_IMAGE_DENSE +
			(uint64_t) (span.chunked.to - span.chunked.from) * GENIE_CHUNK_MEAN;
	}
	return found->next_range < query->n_ranges;
}

static bool
image_add(GenieCounting *counting, const GenieTile *tile, uint32_t n_spans)
{
	const uint16_t *postings = postings_of(tile);
	const uint8_t *bitmaps = tile->base + tile->image->bitmaps;
	uint16_t	locals[GENIE_CHUNKS_BATCH_LOCALS];

	for (uint32_t s = 0; s < n_spans; s++)
	{
		const GenieImageSpan *span = &counting->scratch->spans.image[s].plain;
		const GenieImageSpan *chunked = &counting->scratch->spans.image[s].chunked;

		genie_counting_locals(counting, postings + span->from, span->to - span->from);
		for (uint32_t at = chunked->from; at < chunked->to;)
		{
			uint32_t	n = genie_tile_next_chunks(counting->scratch->kernels, tile, &at, chunked->to, locals);

			genie_counting_locals(counting, locals, n);
		}
		for (uint32_t b = span->bitmap_from; b < span->bitmap_to; b++)
			genie_counting_bitmap(counting, bitmaps + (size_t) b * GENIE_TILE_BITMAP_BYTES, GENIE_TILE_BITMAP_BYTES);
	}
	return true;
}

/*
 * Counts the ascending postings [from, to) as far as they are below end, eight at a time; an object's counter is number
 * object - first.  Moves from to where it stopped.
 */
#define COUNT_BELOW(counters, postings, from, to, first, end) \
	do { \
		for (; from + 8 <= to && postings[from + 7] < end; from += 8) \
			for (uint32_t i_ = 0; i_ < 8; i_++) \
				counters[postings[from + i_] - first]++; \
		for (; from < to && postings[from] < end; from++) \
			counters[postings[from] - first]++; \
	} while (0)

static uint32_t
count_below(GenieCounting *counting, const uint16_t *postings, uint32_t from, uint32_t to,
			uint32_t first, uint32_t end)
{
	uint8_t    *narrow = counting->scratch->counters.narrow;
	uint16_t   *wide = counting->scratch->counters.wide;

	if (counting->wide)
		COUNT_BELOW(wide, postings, from, to, first, end);
	else
		COUNT_BELOW(narrow, postings, from, to, first, end);
	return from;
}

/* the first of the ascending postings [from, to) that is not below first */
static uint32_t
find_posting(const uint16_t *postings, uint32_t from, uint32_t to, uint32_t first)
{
	while (first > 0 && from < to)
	{
		uint32_t	middle = from + (to - from) / 2;

		if (postings[middle] < first)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static const GenieChunk *
chunks_of(const GenieTile *tile)
{
	return (const GenieChunk *) (const void *) (tile->base + tile->image->chunks);
}

/* The last of a list's chunks [from, to) that does not begin behind first; the first one, if all do. */
static uint32_t
find_chunk(const GenieChunk *chunks, uint32_t from, uint32_t to, uint32_t first)
{
	while (to - from > 1)
	{
		uint32_t	middle = from + (to - from) / 2;

		if (genie_chunk_first(&chunks[middle]) <= first)
			from = middle;
		else
			to = middle;
	}
	return from;
}

/*
 * Counts the objects [first, end) of a list's chunks [from, to), as count_below() does.  Returns the chunk with which
 * the next part begins: the last one that was counted may have more.
 */
static uint32_t
count_chunks_below(GenieCounting *counting, const GenieTile *tile, uint32_t from, uint32_t to, uint32_t first,
				   uint32_t end)
{
	const GenieChunk *chunks = chunks_of(tile);
	uint32_t	last = from;	/* chunk behind the last to be counted */
	uint16_t	locals[GENIE_CHUNKS_BATCH_LOCALS];

	while (last < to && genie_chunk_first(&chunks[last]) < end)
		last++;
	to = last > from ? last - 1 : from;
	while (from < last)
	{
		uint32_t	n = genie_tile_next_chunks(counting->scratch->kernels, tile, &from, last, locals);
		uint32_t	i = 0;

		while (i < n && locals[i] < first)
			i++;
		(void) count_below(counting, locals, i, n, first, end);
	}
	return to;
}

static void
image_add_part(GenieCounting *counting, const GenieTile *tile, uint32_t n_spans, uint32_t first, uint32_t end)
{
	const uint32_t *starts = (const uint32_t *) (const void *) (tile->base + tile->image->plain.starts);
	const uint32_t *chunk_starts = (const uint32_t *) (const void *) (tile->base + tile->image->chunked.starts);
	const uint16_t *postings = postings_of(tile);
	const uint8_t *bitmaps = tile->base + tile->image->bitmaps;
	uint32_t   *cursor = counting->scratch->cursors;
	uint32_t	bitmap_bytes = (end - first + 511) / 512 * 64;	/* a few more where the tile ends; they are clear */
	bool		begins = first == tile->slice_first;

	for (uint32_t s = 0; s < n_spans; s++)
	{
		const GenieImageSpan *span = &counting->scratch->spans.image[s].plain;
		const GenieImageSpan *chunked = &counting->scratch->spans.image[s].chunked;

		for (uint32_t list = span->first_list; list < span->first_list + span->n_lists; list++, cursor++)
		{
			if (begins)
				*cursor = find_posting(postings, starts[list], starts[list + 1], first);
			*cursor = count_below(counting, postings, *cursor, starts[list + 1], first, end);
		}
		for (uint32_t list = chunked->first_list; list < chunked->first_list + chunked->n_lists; list++, cursor++)
		{
			if (begins)
				*cursor = find_chunk(chunks_of(tile), chunk_starts[list], chunk_starts[list + 1], first);
			*cursor = count_chunks_below(counting, tile, *cursor, chunk_starts[list + 1], first, end);
		}
		for (uint32_t b = span->bitmap_from; b < span->bitmap_to; b++)
			genie_counting_bitmap(counting, bitmaps + (size_t) b * GENIE_TILE_BITMAP_BYTES + first / 8, bitmap_bytes);
	}
}

static bool
image_touch(GenieTileScratch *scratch, const GenieTile *tile, uint32_t n_spans)
{
	uint16_t	locals[GENIE_CHUNKS_BATCH_LOCALS];

	for (uint32_t s = 0; s < n_spans; s++)
	{
		const GenieImageSpan *span = &scratch->spans.image[s].plain;
		const GenieImageSpan *chunked = &scratch->spans.image[s].chunked;

		genie_tile_touch(scratch, postings_of(tile) + span->from, span->to - span->from);
		for (uint32_t at = chunked->from; at < chunked->to;)
		{
			uint32_t	n = genie_tile_next_chunks(scratch->kernels, tile, &at, chunked->to, locals);

			genie_tile_touch(scratch, locals, n);
		}
	}
	return true;
}

const GenieTileSource genie_tile_from_image = {
	.find = image_find,
	.add = image_add,
	.add_part = image_add_part,
	.touch = image_touch,
};
