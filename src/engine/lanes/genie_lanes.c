/*
 * genie_lanes.c
 *	  A block of bit lanes: its table, its thresholds, and offering its hits (genie_lanes.h).
 *
 * The table is made without looking at each rank of a range.  A query turns its lane over in the row where a range
 * begins and in the row behind its end.  Then one pass in rank order gives each row the exclusive or of all turns so
 * far, which leaves a bit where a range is.  The same pass sees which lanes ask for a dimension at all, and adds that
 * up per lane: no object can have a larger count, so the sum tells how many planes are needed.
 *
 * A lane is wanted while its threshold is at most the largest count that the planes can hold; a larger one would not
 * fit its planes.
 *
 * One thread uses a block.
 */
#ifdef __linux__
#include <sys/mman.h>
#endif
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "genie_lanes.h"

/*
 * Tables from this size on ask for huge pages: the row of each dimension is on a page of its own, and these are more
 * than the processor's TLB holds.
 */
#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)
#define HUGE_TABLE_BYTES (UINT64_C(256) << 10)

struct GenieLaneBlock
{
	GenieLaneTable table;		/* first: aligned as the memory is */
	const GenieLaneKernels *kernels;
	const GenieSegmentImage *image;
	uint32_t	n_words;		/* 64 lanes each */
	uint32_t	n_queries;
	GenieLaneQuery *queries;
	uint8_t    *rows;
	GenieLaneStrip *strips;
	uint32_t	floors[GENIE_LANES_MAX];	/* that the thresholds are made of */
};

const GenieLaneKernels *
genie_lanes_choose(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		return &genie_lanes_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"))
		return &genie_lanes_avx2;
#endif
	return &genie_lanes_portable;
}

static void *
take(uint64_t bytes)
{
	bool		huge = bytes >= HUGE_TABLE_BYTES;
	void	   *memory;

	if (huge)
		bytes = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
	if (posix_memalign(&memory, huge ? HUGE_PAGE_BYTES : GENIE_LANE_ALIGN, bytes) != 0)
		return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
	if (huge)
		madvise(memory, bytes, MADV_HUGEPAGE);
#endif
	memset(memory, 0, bytes);
	return memory;
}

/* ---- the table ---- */

static uint64_t *
row_of(const GenieLaneBlock *block, uint32_t row)
{
	return (uint64_t *) (void *) block->rows + (size_t) row * block->n_words;
}

/* The query's lane is turned over where each of its ranges begins and behind where it ends. */
static void
turn_lane(GenieLaneBlock *block, uint32_t lane)
{
	const GenieEngineQuery *query = block->queries[lane].query;
	const GenieImageGroup *group = block->image->groups[0];
	const GenieCodeDimension *dimensions = genie_image_dimensions(group);
	uint64_t	bit = UINT64_C(1) << (lane % 64);
	uint32_t	d = 0;

	for (uint32_t r = 0; r < query->n_ranges; r++)
	{
		uint32_t	ranks[2] = {query->ranges[r].first, query->ranges[r].end};

		for (uint32_t i = 0; i < 2; i++)
		{
			if (ranks[i] == block->image->n_keywords)
				continue;
			while (ranks[i] - dimensions[d].first_rank >= dimensions[d].n_values)
				d++;
			row_of(block, ranks[i] + d + 1)[lane / 64] ^= bit;
		}
	}
}

/* Adds a bit to the lanes' sums, which are planes. */
static void
add_bits(uint64_t sums[GENIE_LANE_PLANES_MAX][GENIE_LANE_WORDS_MAX], uint32_t n_words, const uint64_t *bits)
{
	for (uint32_t w = 0; w < n_words; w++)
	{
		uint64_t	carry = bits[w];

		for (uint32_t p = 0; carry != 0; p++)
		{
			uint64_t	next = sums[p][w] & carry;

			sums[p][w] ^= carry;
			carry = next;
		}
	}
}

/*
 * Finishes the rows of a dimension.  turned is the exclusive or of all turns in earlier rows, and then in these too.
 * True: a lane asks for a value of it; asked gets the lanes that do.
 */
static bool
finish_dimension(GenieLaneBlock *block, const GenieCodeDimension *dimension, uint32_t d, uint64_t *turned,
				 uint64_t *asked)
{
	uint64_t	any = 0;

	memset(asked, 0, block->n_words * sizeof(uint64_t));
	for (uint32_t v = 0; v < dimension->n_values; v++)
	{
		uint64_t   *row = row_of(block, dimension->first_rank + d + 1 + v);

		for (uint32_t w = 0; w < block->n_words; w++)
		{
			turned[w] ^= row[w];
			row[w] = turned[w];
			asked[w] |= turned[w];
		}
	}
	for (uint32_t w = 0; w < block->n_words; w++)
		any |= asked[w];
	return any != 0;
}

/* Fills the table; asked: for each dimension, whether a lane asks for it.  Returns the planes that counts take. */
static uint32_t
fill_rows(GenieLaneBlock *block, bool *asked)
{
	const GenieImageGroup *group = block->image->groups[0];
	const GenieCodeDimension *dimensions = genie_image_dimensions(group);
	uint64_t	sums[GENIE_LANE_PLANES_MAX][GENIE_LANE_WORDS_MAX] = {{0}};
	uint64_t	turned[GENIE_LANE_WORDS_MAX] = {0};
	uint64_t	lanes[GENIE_LANE_WORDS_MAX];
	uint32_t	n_planes = 0;

	for (uint32_t lane = 0; lane < block->n_queries; lane++)
		turn_lane(block, lane);
	for (uint32_t d = 0; d < group->n_dimensions; d++)
	{
		asked[d] = finish_dimension(block, &dimensions[d], d, turned, lanes);
		if (asked[d])
			add_bits(sums, block->n_words, lanes);
	}
	for (uint32_t p = 0; p < GENIE_LANE_PLANES_MAX; p++)
		for (uint32_t w = 0; w < block->n_words; w++)
			if (sums[p][w] != 0)
				n_planes = p + 1;
	return n_planes;
}

/* ---- slots ---- */

/* One half of a strip of 4-bit codes, or all of another one, which gets the slots after those so far. */
static void
add_strip(GenieLaneBlock *block, uint32_t s, uint32_t half, const bool *asked)
{
	const GenieImageGroup *group = block->image->groups[0];
	const GenieCodeDimension *dimensions = genie_image_dimensions(group);
	const GenieCodeStrip *from = genie_image_strips(group) + s;
	GenieLaneStrip *strip = &block->strips[block->table.n_strips];
	uint32_t	n_used = 0;
	bool		wanted = false;

	memset(strip, 0, sizeof(GenieLaneStrip));
	strip->offset = from->offset;
	strip->row_bytes = from->row_bytes;
	strip->unit = from->width == 16 ? 2 : 1;
	strip->n_codes = from->row_bytes / strip->unit;
	strip->shift = half * from->width;
	strip->mask = (UINT32_C(1) << from->width) - 1;
	strip->slot = block->table.n_slots;
	for (uint32_t d = 0; d < group->n_dimensions; d++)
	{
		uint32_t	slot = dimensions[d].slot;

		if (dimensions[d].strip != s || (from->width == 4 && slot % 2 != half))
			continue;
		wanted = wanted || asked[d];
		if (from->width == 4)
			slot /= 2;
		if (n_used <= slot)
			n_used = slot + 1;
		for (uint32_t i = slot; i < GENIE_LANE_CODES; i += strip->n_codes)
			strip->bases[i] = (dimensions[d].first_rank + d) * block->kernels->n_lanes / 8;
	}
	if (!wanted)
		return;
	block->table.n_strips++;
	block->table.n_slots += n_used;
	if (block->table.stride < strip->slot + strip->n_codes)
		block->table.stride = strip->slot + strip->n_codes;
}

/* Lays the slots out. */
static void
place_slots(GenieLaneBlock *block, const bool *asked)
{
	const GenieImageGroup *group = block->image->groups[0];
	GenieLaneTable *table = &block->table;

	for (uint32_t s = 0; s < group->n_strips; s++)
	{
		uint32_t	n_halves = genie_image_strips(group)[s].width == 4 ? 2 : 1;

		for (uint32_t half = 0; half < n_halves; half++)
			add_strip(block, s, half, asked);
	}
	table->n_slots = (table->n_slots + GENIE_LANE_SLOTS - 1) / GENIE_LANE_SLOTS * GENIE_LANE_SLOTS;
	if (table->stride < table->n_slots)
		table->stride = table->n_slots;
}

/* ---- opening and closing ---- */

/* Takes the block's other memory and fills it.  False: there is none. */
static bool
prepare(GenieLaneBlock *block)
{
	const GenieSegmentImage *image = block->image;
	const GenieImageGroup *group = image->groups[0];
	GenieLaneTable *table = &block->table;
	bool	   *asked = malloc(group->n_dimensions * sizeof(bool));
	uint32_t	n_planes;

	block->rows = take(((uint64_t) image->n_keywords + group->n_dimensions) * block->n_words * sizeof(uint64_t));
	block->strips = malloc(2 * group->n_strips * sizeof(GenieLaneStrip));
	if (asked == NULL || block->rows == NULL || block->strips == NULL)
	{
		free(asked);
		return false;
	}
	n_planes = fill_rows(block, asked);
	place_slots(block, asked);
	free(asked);
	table->rows = block->rows;
	table->strips = block->strips;
	table->n_planes = block->kernels->planes(n_planes);
	if (table->n_slots == 0)
		return true;
	table->offsets = take((uint64_t) GENIE_LANE_ROWS * table->stride * sizeof(uint32_t));
	return table->offsets != NULL;
}

GenieLaneBlock *
genie_lanes_open(const GenieLaneKernels *kernels, const GenieSegmentImage *image, uint32_t n,
				 GenieLaneQuery *queries)
{
	GenieLaneBlock *block = take(sizeof(GenieLaneBlock));

	assert(n >= 1 && n <= kernels->n_lanes && genie_image_has_codes(image));

	if (block == NULL)
		return NULL;
	block->kernels = kernels;
	block->image = image;
	block->n_words = kernels->n_lanes / 64;
	block->n_queries = n;
	block->queries = queries;
	for (uint32_t lane = 0; lane < n; lane++)
	{
		assert(queries[lane].query->keys == NULL);
	}
	if (!prepare(block))
	{
		genie_lanes_close(block);
		return NULL;
	}
	for (uint32_t lane = 0; lane < n; lane++)
		if (queries[lane].tally != NULL)
			block->table.tallied[lane / 64] |= UINT64_C(1) << (lane % 64);
	genie_lanes_refresh(block);
	return block;
}

void
genie_lanes_close(GenieLaneBlock *block)
{
	if (block == NULL)
		return;
	free(block->table.offsets);
	free(block->strips);
	free(block->rows);
	free(block);
}

/* ---- counting ---- */

/* Sets the lane's threshold to its top-k's floor. */
static void
set_threshold(GenieLaneBlock *block, uint32_t lane)
{
	GenieLaneTable *table = &block->table;
	uint32_t	floor = block->queries[lane].top->floor;
	uint64_t	bit = UINT64_C(1) << (lane % 64);

	block->floors[lane] = floor;
	if (floor >> table->n_planes != 0)
	{
		table->wanted[lane / 64] &= ~bit;
		return;
	}
	table->wanted[lane / 64] |= bit;
	for (uint32_t p = 0; p < table->n_planes; p++)
	{
		uint64_t   *threshold = &table->thresholds[p][lane / 64];

		*threshold = (floor >> p & 1) != 0 ? *threshold | bit : *threshold & ~bit;
	}
}

void
genie_lanes_refresh(GenieLaneBlock *block)
{
	for (uint32_t lane = 0; lane < block->n_queries; lane++)
		if (block->queries[lane].top->floor != block->floors[lane])
			set_threshold(block, lane);
}

/* Offers the first n hits, of objects from first on. */
static void
offer_hits(GenieLaneBlock *block, uint32_t n, uint32_t first)
{
	const GenieLaneHit *hits = block->table.hits;

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	lane = hits[i].lane;
		GenieTopK  *top = block->queries[lane].top;

		genie_topk_offer(top, hits[i].count, first + hits[i].row);
		if (top->floor != block->floors[lane])
			set_threshold(block, lane);
	}
}

/* Gives lanes what was tallied, and begins again. */
static void
give_tallies(GenieLaneBlock *block)
{
	GenieLaneTable *table = &block->table;

	for (uint32_t w = 0; w < block->n_words; w++)
		for (uint64_t left = table->tallied[w]; left != 0; left &= left - 1)
		{
			uint32_t	bit = (uint32_t) __builtin_ctzll(left);

			for (uint32_t p = 0; p < GENIE_LANE_TALLY_PLANES; p++)
				*block->queries[w * 64 + bit].tally += (table->tallies[p][w] >> bit & 1) << p;
		}
	memset(table->tallies, 0, sizeof(table->tallies));
}

static bool
is_wanted(const GenieLaneBlock *block)
{
	uint64_t	any = 0;

	for (uint32_t w = 0; w < block->n_words; w++)
		any |= block->table.wanted[w];
	return any != 0 && block->table.n_slots > 0;
}

void
genie_lanes_search(GenieLaneBlock *block, const GenieImageGroup *group, uint32_t t, const uint64_t *live,
				   uint32_t first, uint32_t end)
{
	const GenieImageTile *tile = genie_image_tiles(group) + (t - group->first_tile);
	const uint8_t *codes = (const uint8_t *) group + tile->codes;
	uint32_t	n_rows = genie_code_rows(tile->n_objects);

	assert(first % GENIE_LANE_ROWS == 0 && (end % GENIE_LANE_ROWS == 0 || end >= tile->n_objects));

	if (end > tile->n_objects)
		end = tile->n_objects;
	for (; first < end && is_wanted(block); first += GENIE_LANE_ROWS)
	{
		uint32_t	alive = (uint32_t) (live[first / 64] >> (first % 64)) & ((UINT32_C(1) << GENIE_LANE_ROWS) - 1);

		if (alive != 0)
			offer_hits(block, block->kernels->count(&block->table, codes, n_rows, first, alive),
					   (t << GENIE_TILE_SHIFT) + first);
	}
	give_tallies(block);
}
