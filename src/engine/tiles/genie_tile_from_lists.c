/*
 * genie_tile_from_lists.c
 *	  The source of a tile's lists as they are on the pages (genie_tile_source.h).
 *
 * A list is added as its codec allows.  PACKED and RAW increment a counter a posting, a block at a time while the
 * block's locals are in L1.  BITMAPs are gathered and added bit-sliced, up to GENIE_BITMAPS_MAX in one pass over the
 * counters.  RUNS add to whole words of counters where there are few of them.  Where there are many, they come first:
 * each adds one where it begins and subtracts one where it has ended, and one pass over all counters turns these edges
 * into counts, to which the other lists are added.
 *
 * The bytes may be anything: the readers check them.
 */
#include <string.h>

#include "genie_codec.h"
#include "genie_list_reader.h"
#include "genie_tile_source.h"

/* ---- finding ---- */

/* the first list from start on with a rank of at least rank */
static uint32_t
lower_bound(const GenieTile *tile, uint32_t start, uint32_t rank)
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

static bool
lists_find(GenieTileScratch *scratch, const GenieTile *tile,
		   const GenieEngineQuery *query, GenieTileFound *found)
{
	uint32_t	list = found->next_list;

	while (found->n_spans < GENIE_SPANS_MAX && found->next_range < query->n_ranges)
	{
		const GenieRankRange *range = &query->ranges[found->next_range++];
		GenieListSpan *span = &scratch->spans.lists[found->n_spans];

		span->first = list = lower_bound(tile, list, range->first);
		for (; list < tile->n_lists && tile->lists[list].rank < range->end; list++)
		{
			const GenieListRef *ref = &tile->lists[list];

			/* only a RAW list may hold an object more than once */
			found->max_count += ref->codec == GENIE_CODEC_RAW ? ref->n : 1;
			found->n_bitmaps += ref->codec == GENIE_CODEC_BITMAP;
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

static bool
add_packed(GenieCounting *counting, const GenieListRef *ref)
{
	GeniePackedReader reader;
	uint16_t	block[GENIE_BLOCK_VALUES];
	uint32_t	n;

	genie_packed_begin(&reader, counting->scratch->kernels->unpack, ref);
	while ((n = genie_packed_next(&reader, block)) > 0)
		genie_counting_locals(counting, block, n);
	return genie_packed_good(&reader);
}

static bool
add_raw(GenieCounting *counting, const GenieListRef *ref)
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
		genie_counting_locals(counting, block, n);
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
add_runs(GenieCounting *counting, const GenieListRef *ref)
{
	GenieRunsReader reader;
	uint32_t	start;
	uint32_t	len;

	genie_runs_begin(&reader, ref);
	while ((len = genie_runs_next(&reader, &start)) > 0)
	{
		if (counting->wide)
		{
			for (uint32_t i = start; i < start + len; i++)
				counting->scratch->counters.wide[i]++;
		}
		else
			add_run_narrow(counting->scratch->counters.narrow + start, len);
	}
	return genie_runs_good(&reader);
}

static bool
add_list(GenieCounting *counting, const GenieListRef *ref)
{
	switch (ref->codec)
	{
		case GENIE_CODEC_PACKED:
			return add_packed(counting, ref);
		case GENIE_CODEC_RUNS:
			return add_runs(counting, ref);
		case GENIE_CODEC_RAW:
			return add_raw(counting, ref);
		case GENIE_CODEC_BITMAP:
			if (ref->nbytes > GENIE_TILE_BITMAP_BYTES)
				return false;
			genie_counting_bitmap(counting, ref->data, ref->nbytes);
			return true;
	}
	return false;
}

/* ---- the edges of runs ---- */

/* Notes in the counters where a run of n >= 1 locals begins and ends. */
static inline void
add_edges(GenieCounting *counting, uint32_t start, uint32_t end)
{
	if (counting->wide)
	{
		counting->scratch->counters.wide[start]++;
		if (end < GENIE_TILE_OBJECTS)
			counting->scratch->counters.wide[end]--;
	}
	else
	{
		counting->scratch->counters.narrow[start]++;
		if (end < GENIE_TILE_OBJECTS)
			counting->scratch->counters.narrow[end]--;
	}
}

/* The same for a whole list. */
static bool
add_list_edges(GenieCounting *counting, const GenieListRef *ref)
{
	const GenieKernels *kernels = counting->scratch->kernels;
	GenieRunsReader reader;

	genie_runs_begin(&reader, ref);
	for (;;)
	{
		uint16_t	edges[GENIE_EDGES_MAX];
		size_t		n_bytes;
		uint32_t	n = kernels->unpack->edges(reader.at, reader.end, reader.base, edges, &n_bytes);
		uint32_t	n_locals = 0;

		if (n > 0)
		{
			for (uint32_t i = 0; i < n; i += 2)
			{
				add_edges(counting, edges[i], edges[i + 1]);
				n_locals += (uint32_t) edges[i + 1] - edges[i];
			}
			if (n_locals > reader.left)
				return false;
			reader.at += n_bytes;
			reader.left -= n_locals;
			reader.base = edges[n - 1];
		}
		else
		{
			uint32_t	start;
			uint32_t	len = genie_runs_next(&reader, &start);

			if (len == 0)
				return genie_runs_good(&reader);
			add_edges(counting, start, start + len);
		}
	}
}

/* ---- all lists ---- */

/* The bytes of all RUNS lists of the spans. */
static uint64_t
runs_bytes(const GenieTileScratch *scratch, const GenieTile *tile, uint32_t n_spans)
{
	uint64_t	n = 0;

	for (uint32_t s = 0; s < n_spans; s++)
	{
		GenieListSpan span = scratch->spans.lists[s];

		for (uint32_t list = span.first; list < span.end; list++)
			if (tile->lists[list].codec == GENIE_CODEC_RUNS)
				n += tile->lists[list].nbytes;
	}
	return n;
}

/* Counts all RUNS lists of the spans in counters that are zero. */
static bool
count_runs(GenieCounting *counting, const GenieTile *tile, uint32_t n_spans)
{
	GenieTileScratch *scratch = counting->scratch;

	for (uint32_t s = 0; s < n_spans; s++)
	{
		GenieListSpan span = scratch->spans.lists[s];

		for (uint32_t list = span.first; list < span.end; list++)
			if (tile->lists[list].codec == GENIE_CODEC_RUNS && !add_list_edges(counting, &tile->lists[list]))
				return false;
	}
	if (counting->wide)
		scratch->kernels->sum_up_16(scratch->counters.wide);
	else
		scratch->kernels->sum_up_8(scratch->counters.narrow);
	return true;
}

static bool
lists_add(GenieCounting *counting, const GenieTile *tile, uint32_t n_spans)
{
	bool		by_edges = counting->all_zero &&
		runs_bytes(counting->scratch, tile, n_spans) >= counting->scratch->kernels->edges_bytes;

	if (by_edges && !count_runs(counting, tile, n_spans))
		return false;
	for (uint32_t s = 0; s < n_spans; s++)
	{
		GenieListSpan span = counting->scratch->spans.lists[s];

		for (uint32_t list = span.first; list < span.end; list++)
			if (!(by_edges && tile->lists[list].codec == GENIE_CODEC_RUNS) &&
				!add_list(counting, &tile->lists[list]))
				return false;
	}
	return true;
}

/* ---- few ---- */

static bool
lists_touch(GenieTileScratch *scratch, const GenieTile *tile, uint32_t n_spans)
{
	for (uint32_t s = 0; s < n_spans; s++)
	{
		GenieListSpan span = scratch->spans.lists[s];

		for (uint32_t list = span.first; list < span.end; list++)
		{
			const GenieListRef *ref = &tile->lists[list];

			if (!genie_list_decode(ref, scratch->locals))
				return false;
			genie_tile_touch(scratch, scratch->locals, ref->n);
		}
	}
	return true;
}

const GenieTileSource genie_tile_from_lists = {
	.find = lists_find,
	.add = lists_add,
	.touch = lists_touch,
};
