/*
 * genie_tile_count.c
 *	  Counting one query's matches in one tile (genie_tile_count.h).
 *
 * Dense counting adds each list in the way that its codec allows: PACKED and RAW increment a
 * counter a posting, a block at a time while the block's locals are in L1; RUNS
 * adds to whole words of counters; BITMAPs are gathered and added bit-sliced, up to
 * GENIE_BITMAPS_MAX in one pass over the counters.
 *
 * Counters cannot overflow: they are as wide as the query's max_count needs, and no object
 * matches more than that.  Lists that lie (a damaged index) may give more; then a counter
 * wraps and its neighbours may be wrong too, but nothing outside the counters is touched: every
 * local is a 16-bit number, and the counters are 65,536 whatever the tile's n_objects is.
 */
#include <string.h>

#include "genie_list_reader.h"
#include "genie_tile_count.h"

/* ---- finding lists ---- */

/* the first list from start on with a rank of at least rank */
static uint32_t
lower_bound(const GenieTileView *tile, uint32_t start, uint32_t rank)
{
	uint32_t	low = start;
	uint32_t	high = tile->n_lists;
	uint32_t	step = 1;

	/* ranges ascend, and the next one is often near: gallop, then bisect */
	while (high - low > step && tile->lists[low + step].rank < rank)
	{
		low += step;
		step *= 2;
	}
	if (high - low > step)
		high = low + step;
	while (low < high)
	{
		uint32_t	middle = low + (high - low) / 2;

		if (tile->lists[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool
genie_tile_find(GenieTileScratch *scratch, const GenieTileView *tile,
				const GenieEngineQuery *query, GenieTileFound *found)
{
	uint32_t	list = found->next_list;

	found->n_spans = 0;
	found->max_count = 0;
	found->n_postings = 0;
	while (found->n_spans < GENIE_SPANS_MAX && found->next_range < query->n_ranges)
	{
		const GenieRankRange *range = &query->ranges[found->next_range++];
		GenieListSpan *span = &scratch->spans[found->n_spans];

		span->first = list = lower_bound(tile, list, range->first);
		for (; list < tile->n_lists && tile->lists[list].rank < range->end; list++)
		{
			const GenieListRef *ref = &tile->lists[list];

			/* only a RAW list may hold an object more than once */
			found->max_count += ref->codec == GENIE_CODEC_RAW ? ref->n : 1;
			found->n_postings += ref->n;
		}
		span->end = list;
		if (span->end > span->first)
			found->n_spans++;
	}
	found->next_list = list;
	return found->next_range < query->n_ranges;
}

/* ---- dense ---- */

static inline void
add_locals(GenieTileScratch *scratch, bool wide, const uint16_t *locals, uint32_t n)
{
	if (wide)
	{
		uint16_t   *counters = scratch->counters.wide;

		for (uint32_t i = 0; i < n; i++)
			counters[locals[i]]++;
	}
	else
	{
		uint8_t    *counters = scratch->counters.narrow;

		for (uint32_t i = 0; i < n; i++)
			counters[locals[i]]++;
	}
}

static bool
add_packed(GenieTileScratch *scratch, bool wide, const GenieListRef *ref)
{
	GeniePackedReader reader;
	uint16_t	block[GENIE_BLOCK_VALUES];
	uint32_t	n;

	genie_packed_begin(&reader, scratch->kernels, ref);
	while ((n = genie_packed_next(&reader, block)) > 0)
		add_locals(scratch, wide, block, n);
	return genie_packed_good(&reader);
}

static bool
add_raw(GenieTileScratch *scratch, bool wide, const GenieListRef *ref)
{
	if (ref->nbytes != (uint64_t) ref->n * 2)
		return false;
	for (uint32_t done = 0; done < ref->n; done += GENIE_BLOCK_VALUES)
	{
		uint16_t	block[GENIE_BLOCK_VALUES];
		uint32_t	n = ref->n - done < GENIE_BLOCK_VALUES ? ref->n - done : GENIE_BLOCK_VALUES;
		const uint8_t *data = ref->data + 2 * (size_t) done;

		for (uint32_t i = 0; i < n; i++)
			block[i] = (uint16_t) (data[2 * i] | data[2 * i + 1] << 8);
		add_locals(scratch, wide, block, n);
	}
	return true;
}

/* adds one to n counters of 8 bits, eight at a time */
static void
add_run_narrow(uint8_t *counters, uint32_t n)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	for (; n >= sizeof(ones); n -= sizeof(ones), counters += sizeof(ones))
	{
		uint64_t	word;

		memcpy(&word, counters, sizeof(word));
		word += ones;
		memcpy(counters, &word, sizeof(word));
	}
	for (uint32_t i = 0; i < n; i++)
		counters[i]++;
}

static bool
add_runs(GenieTileScratch *scratch, bool wide, const GenieListRef *ref)
{
	GenieRunsReader reader;
	uint32_t	start;
	uint32_t	len;

	genie_runs_begin(&reader, ref);
	while ((len = genie_runs_next(&reader, &start)) > 0)
	{
		if (wide)
		{
			for (uint32_t i = start; i < start + len; i++)
				scratch->counters.wide[i]++;
		}
		else
			add_run_narrow(scratch->counters.narrow + start, len);
	}
	return genie_runs_good(&reader);
}

typedef struct BitmapBatch
{
	uint32_t	n;
	GenieBitmap bitmaps[GENIE_BITMAPS_MAX];
} BitmapBatch;

static void
add_bitmap_batch(GenieTileScratch *scratch, bool wide, BitmapBatch *batch)
{
	if (batch->n == 0)
		return;
	if (wide)
		scratch->kernels->add_bitmaps_16(scratch->counters.wide, batch->bitmaps, batch->n);
	else
		scratch->kernels->add_bitmaps_8(scratch->counters.narrow, batch->bitmaps, batch->n);
	batch->n = 0;
}

static bool
add_list(GenieTileScratch *scratch, bool wide, const GenieListRef *ref, BitmapBatch *batch)
{
	switch (ref->codec)
	{
		case GENIE_CODEC_PACKED:
			return add_packed(scratch, wide, ref);
		case GENIE_CODEC_RUNS:
			return add_runs(scratch, wide, ref);
		case GENIE_CODEC_RAW:
			return add_raw(scratch, wide, ref);
		case GENIE_CODEC_BITMAP:
			if (ref->nbytes > GENIE_TILE_BITMAP_BYTES)
				return false;
			batch->bitmaps[batch->n].data = ref->data;
			batch->bitmaps[batch->n].nbytes = ref->nbytes;
			if (++batch->n == GENIE_BITMAPS_MAX)
				add_bitmap_batch(scratch, wide, batch);
			return true;
	}
	return false;
}

bool
genie_tile_count_dense(GenieTileScratch *scratch, const GenieTileView *tile,
					   const GenieEngineQuery *query, GenieTileFound *found, bool more)
{
	bool		wide = genie_query_is_wide(query);
	BitmapBatch batch;

	batch.n = 0;
	memset(&scratch->counters, 0,
		   GENIE_TILE_OBJECTS * (wide ? sizeof(uint16_t) : sizeof(uint8_t)));
	for (;;)
	{
		for (uint32_t s = 0; s < found->n_spans; s++)
		{
			GenieListSpan span = scratch->spans[s];

			for (uint32_t list = span.first; list < span.end; list++)
				if (!add_list(scratch, wide, &tile->lists[list], &batch))
					return false;
		}
		if (!more)
			break;
		more = genie_tile_find(scratch, tile, query, found);
	}
	add_bitmap_batch(scratch, wide, &batch);
	return true;
}

/* ---- few ---- */

bool
genie_tile_count_few(GenieTileScratch *scratch, const GenieTileView *tile,
					 const GenieTileFound *found)
{
	for (uint32_t s = 0; s < found->n_spans; s++)
	{
		GenieListSpan span = scratch->spans[s];

		for (uint32_t list = span.first; list < span.end; list++)
		{
			const GenieListRef *ref = &tile->lists[list];

			if (!genie_list_decode(ref, scratch->locals))
			{
				memset(scratch->few_counters, 0, sizeof(scratch->few_counters));
				memset(scratch->touched, 0, sizeof(scratch->touched));
				return false;
			}
			for (uint32_t i = 0; i < ref->n; i++)
			{
				uint16_t	local = scratch->locals[i];

				scratch->few_counters[local]++;
				scratch->touched[local / 64] |= UINT64_C(1) << (local % 64);
			}
		}
	}
	return true;
}
