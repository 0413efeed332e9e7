/*
 * test_engine.c
 *	  The CPU engine against counting and sorting plainly, with every set of kernels that runs here.
 *
 * A random segment is a few tiles of lists in every codec, each list also kept as a
 * bit array, from which the expected counts, keys and order are computed object by object.
 */
#include <string.h>

#include "genie_bits.h"
#include "genie_codec.h"
#include "genie_engine_cpu.h"
#include "genie_kernels.h"
#include "genie_test.h"
#include "genie_test_hits.h"
#include "genie_test_keys.h"
#include "genie_varint.h"

#define TILES_MAX 3
#define LISTS_MAX 4096

/* ---- a segment ---- */

typedef struct Tile
{
	uint32_t	n_lists;
	GenieListRef lists[LISTS_MAX];
	uint64_t	live[GENIE_TILE_WORDS];
	uint8_t    *sizes;			/* of exactly their length */
} Tile;

static Tile tiles[TILES_MAX];
static GenieTileView views[TILES_MAX];
static GenieGroupView group;
static uint32_t n_objects;
static uint32_t first_object;

static uint16_t locals[2 * GENIE_TILE_OBJECTS];
static uint8_t packed[4 * GENIE_TILE_OBJECTS];

static void
free_segment(void)
{
	for (uint32_t t = 0; t < TILES_MAX; t++)
	{
		for (uint32_t l = 0; l < tiles[t].n_lists; l++)
			free((void *) tiles[t].lists[l].data);
		tiles[t].n_lists = 0;
		free(tiles[t].sizes);
		tiles[t].sizes = NULL;
	}
}

/* An empty segment of n objects; its first tile is number first_tile. */
static void
begin_segment(uint32_t n, uint32_t first_tile)
{
	free_segment();
	n_objects = n;
	first_object = first_tile * GENIE_TILE_OBJECTS;
	group.n_tiles = (n + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS;
	group.tiles = views;
	for (uint32_t t = 0; t < group.n_tiles; t++)
	{
		uint32_t	left = n - t * GENIE_TILE_OBJECTS;

		memset(&views[t], 0, sizeof(GenieTileView));
		views[t].tile = first_tile + t;
		views[t].n_objects = left < GENIE_TILE_OBJECTS ? left : GENIE_TILE_OBJECTS;
		views[t].lists = tiles[t].lists;
	}
}

/* Adds the n ascending locals as a list in memory of exactly its length. */
static void
add_list(uint32_t t, uint32_t rank, GenieCodec codec, uint32_t n)
{
	Tile	   *tile = &tiles[t];
	GenieListRef *ref = &tile->lists[tile->n_lists];
	size_t		len = 0;
	uint8_t    *data;

	if (n == 0)
		return;
	if (tile->n_lists == LISTS_MAX)
		abort();
	if (codec == GENIE_CODEC_PACKED)
	{
		for (uint32_t start = 0; start < n; start += GENIE_BLOCK_VALUES)
		{
			uint32_t	gaps[GENIE_BLOCK_VALUES];
			uint32_t	all = 0;
			uint32_t	i;

			for (i = 0; i < GENIE_BLOCK_VALUES && start + i < n; i++)
			{
				gaps[i] = start + i == 0 ? locals[0] : locals[start + i] - locals[start + i - 1] - 1u;
				all |= gaps[i];
			}
			packed[len++] = (uint8_t) genie_bits_needed(all);
			genie_bits_pack(packed + len, gaps, i, genie_bits_needed(all));
			len += genie_bits_bytes(i, genie_bits_needed(all));
		}
	}
	else if (codec == GENIE_CODEC_BITMAP)
	{
		len = locals[n - 1] / 8 + 1;
		memset(packed, 0, len);
		for (uint32_t i = 0; i < n; i++)
			packed[locals[i] / 8] |= (uint8_t) (1 << locals[i] % 8);
	}
	else if (codec == GENIE_CODEC_RUNS)
	{
		int32_t		before = -1;

		for (uint32_t i = 0; i < n;)
		{
			uint32_t	start = i;

			while (i + 1 < n && locals[i + 1] == locals[i] + 1)
				i++;
			len += genie_varint_put(packed + len, (uint64_t) (locals[start] - before - 1));
			len += genie_varint_put(packed + len, i - start);
			before = locals[i++];
		}
	}
	else
	{
		for (uint32_t i = 0; i < n; i++)
		{
			packed[len++] = (uint8_t) locals[i];
			packed[len++] = (uint8_t) (locals[i] >> 8);
		}
	}

	data = malloc(len);
	memcpy(data, packed, len);
	ref->rank = rank;
	ref->n = n;
	ref->nbytes = (uint32_t) len;
	ref->codec = (uint16_t) codec;
	ref->data = data;
	views[t].n_lists = ++tile->n_lists;
}

/* Fills locals with a random set of one of many shapes; returns how many. */
static uint32_t
random_locals(GenieRandom *random, uint32_t end)
{
	static const uint32_t steps[] = {1, 2, 2, 5, 20, 20, 100, 1000, 1000, 10000, 30000};
	uint32_t	n = 0;
	uint32_t	step;

	switch (genie_random_below(random, 10))
	{
		case 0:					/* one local at an end */
			locals[0] = (uint16_t) (genie_random_below(random, 2) ? end - 1 : 0);
			return 1;
		case 1:					/* runs */
			step = 1 + (uint32_t) genie_random_below(random, 3000);
			for (uint32_t local = 0; local < end; local++)
				if (local / step % 3 == 1)
					locals[n++] = (uint16_t) local;
			return n;
		case 2:					/* ends early */
			end = 1 + (uint32_t) genie_random_below(random, end);
			break;
	}
	step = steps[genie_random_below(random, sizeof(steps) / sizeof(steps[0]))];
	for (uint32_t local = 0; local < end; local++)
		if (step == 1 || genie_random_below(random, step) == 0)
			locals[n++] = (uint16_t) local;
	return n;
}

#define SIZE_SMALLEST 5
#define SIZE_LARGEST 3000

/* Sizes of a tile in a random width. */
static void
random_sizes(GenieRandom *random, uint32_t t)
{
	static const uint32_t n_sizes[] = {1, 256, SIZE_LARGEST - SIZE_SMALLEST + 1};
	GenieTileSizes *sizes = &views[t].sizes;

	sizes->width = (uint32_t) genie_random_below(random, 3);
	sizes->smallest = SIZE_SMALLEST;
	sizes->largest = SIZE_SMALLEST + n_sizes[sizes->width] - 1;
	sizes->above = tiles[t].sizes = malloc((size_t) views[t].n_objects * sizes->width + 1);
	for (uint32_t i = 0; i < views[t].n_objects; i++)
	{
		uint16_t	above = (uint16_t) genie_random_below(random, n_sizes[sizes->width]);

		memcpy(tiles[t].sizes + (size_t) i * sizes->width, &above, sizes->width);
	}
}

static uint32_t
size_of(const GenieTileSizes *sizes, uint32_t local)
{
	uint16_t	above = 0;

	memcpy(&above, sizes->above + (size_t) local * sizes->width, sizes->width);
	return sizes->smallest + above;
}

static void
random_segment(GenieRandom *random, uint32_t n, uint32_t lists_a_tile)
{
	begin_segment(n, (uint32_t) genie_random_below(random, 3) * 1000);
	for (uint32_t t = 0; t < group.n_tiles; t++)
	{
		uint32_t	rank = 0;

		for (uint32_t l = 0; l < lists_a_tile; l++)
		{
			GenieCodec	codec = (GenieCodec) (1 + genie_random_below(random, 4));
			uint32_t	n_locals;

			rank += (uint32_t) genie_random_below(random, codec == GENIE_CODEC_RAW ? 2 : 3);
			if (codec != GENIE_CODEC_RAW)
				rank++;
			n_locals = random_locals(random, views[t].n_objects);
			if (codec == GENIE_CODEC_RAW && genie_random_below(random, 2) == 0)
			{
				/* each local twice */
				for (uint32_t i = n_locals; i-- > 0;)
					locals[2 * i] = locals[2 * i + 1] = locals[i];
				n_locals *= 2;
			}
			add_list(t, rank, codec, n_locals);
		}
		random_sizes(random, t);
		if (genie_random_below(random, 2) == 0)
		{
			memset(tiles[t].live, 0, sizeof(tiles[t].live));
			for (uint32_t i = 0; i < views[t].n_objects; i++)
				if (i / 5000 % 3 == 0 || (i / 5000 % 3 == 1 && genie_random_below(random, 3) == 0))
					tiles[t].live[i / 64] |= UINT64_C(1) << (i % 64);
			views[t].live = tiles[t].live;
		}
	}
}

/* ---- what is expected ---- */

static uint32_t counts[TILES_MAX * GENIE_TILE_OBJECTS];
static GenieHit wanted[TILES_MAX * GENIE_TILE_OBJECTS];
static uint16_t got_counts[TILES_MAX * GENIE_TILE_OBJECTS];

/* Fills counts from a decoder of its own; returns the largest, at least 1. */
static uint32_t
count_plainly(uint32_t n_ranges, const GenieRankRange *ranges)
{
	uint32_t	largest = 1;

	memset(counts, 0, sizeof(counts));
	for (uint32_t t = 0; t < group.n_tiles; t++)
	{
		for (uint32_t l = 0; l < tiles[t].n_lists; l++)
		{
			const GenieListRef *ref = &tiles[t].lists[l];
			bool		asked = false;

			for (uint32_t r = 0; r < n_ranges; r++)
				asked = asked || (ref->rank >= ranges[r].first && ref->rank < ranges[r].end);
			if (!asked)
				continue;
			if (!genie_list_decode(ref, locals))
				abort();
			for (uint32_t i = 0; i < ref->n; i++)
				counts[t * GENIE_TILE_OBJECTS + locals[i]]++;
		}
	}
	for (uint32_t i = 0; i < n_objects; i++)
		largest = counts[i] > largest ? counts[i] : largest;
	return largest;
}

/* Fills wanted with every object to be returned, in rank order. */
static uint32_t
rank_plainly(const GenieEngineQuery *query)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < n_objects; i++)
	{
		const GenieTileView *view = &views[i / GENIE_TILE_OBJECTS];
		uint32_t	local = i % GENIE_TILE_OBJECTS;
		uint32_t	key = counts[i];

		if (view->live != NULL && ((view->live[local / 64] >> (local % 64)) & 1) == 0)
			continue;
		if (query->keys != NULL)
			key = genie_keys_of_size(query->keys, size_of(&view->sizes, local))[key];
		if (key == 0)
			continue;
		wanted[n].key = key;
		wanted[n++].object = first_object + i;
	}
	qsort(wanted, n, sizeof(GenieHit), genie_test_compare_hits);
	return n;
}

/* ---- checks ---- */

/* the page of k from wanted[start] on */
static bool
check_page(GenieEngine *engine, const GenieEngineQuery *query, uint32_t n_wanted,
		   uint32_t start, uint32_t k, uint32_t min_key)
{
	GenieHit   *hits = malloc(genie_topk_capacity(k) * sizeof(GenieHit));
	GenieTopK	top;
	GenieTopK  *tops[1] = {&top};
	uint32_t	n = 0;
	uint32_t	n_found;
	bool		good;

	genie_topk_init(&top, hits, k, min_key, start == 0 ? NULL : &wanted[start - 1]);
	good = CHECK_INT(genie_cpu_search(engine, &group, 1, query, tops), GENIE_OK);
	n_found = genie_topk_finish(&top);
	while (n < k && start + n < n_wanted && wanted[start + n].key >= min_key)
		n++;
	good = CHECK_INT(n_found, n) && good;
	good = CHECK(memcmp(hits, wanted + start, n * sizeof(GenieHit)) == 0) && good;
	free(hits);
	return good;
}

static bool
check_counts(GenieEngine *engine, const GenieEngineQuery *query)
{
	uint16_t   *const results[1] = {got_counts};
	bool		same = true;

	if (!CHECK_INT(genie_cpu_count(engine, &group, 1, query, results), GENIE_OK))
		return false;
	for (uint32_t i = 0; i < n_objects; i++)
		same = same && got_counts[i] == counts[i];
	return CHECK(same);
}

static bool
check_query(GenieEngine *engine, GenieRandom *random, const GenieEngineQuery *query)
{
	static const uint32_t ks[] = {1, 10, 100, 1000};
	uint32_t	n_wanted = rank_plainly(query);
	uint32_t	largest = n_wanted > 0 ? wanted[0].key : 1;
	uint32_t	start = 0;
	bool		good = true;

	for (size_t i = 0; i < sizeof(ks) / sizeof(ks[0]); i++)
		good = check_page(engine, query, n_wanted, 0, ks[i], 1) && good;
	good = check_page(engine, query, n_wanted, 0, n_objects, 1) && good;
	good = check_page(engine, query, n_wanted, 0, 50, largest / 2 + 1) && good;
	good = check_page(engine, query, n_wanted, 0, 50, largest + (largest < UINT32_MAX)) && good;
	while (start < n_wanted && good)
	{
		uint32_t	k = n_wanted / 6 + 1 + (uint32_t) genie_random_below(random, n_wanted / 6 + 1);

		good = check_page(engine, query, n_wanted, start, k, 1);
		start += k;
	}
	return good;
}

/* ---- tests ---- */

static void
test_random(GenieEngine *engine, GenieRandom *random, int rounds)
{
	for (int round = 0; round < rounds; round++)
	{
		GenieRankRange ranges[20];
		GenieEngineQuery query = {0};
		uint32_t	n = 1 + (uint32_t) genie_random_below(random, TILES_MAX * GENIE_TILE_OBJECTS);
		uint32_t	rank = 0;

		if (round % 4 == 0)
			n = TILES_MAX * GENIE_TILE_OBJECTS;
		random_segment(random, n, 1 + (uint32_t) genie_random_below(random, 60));
		query.ranges = ranges;
		while (query.n_ranges < 20 && genie_random_below(random, 12) > 0)
		{
			GenieRankRange *range = &ranges[query.n_ranges++];

			range->first = rank + (uint32_t) genie_random_below(random, 6);
			rank = range->end = range->first + 1 + (uint32_t) genie_random_below(random, 8);
		}
		query.max_count = count_plainly(query.n_ranges, ranges);
		if (genie_random_below(random, 3) == 0)
			query.max_count += (uint32_t) genie_random_below(random, 300);
		if (!check_counts(engine, &query) || !check_query(engine, random, &query))
		{
			printf("in round %d\n", round);
			return;
		}
	}
}

/* Short lists and more ranges than are found in one round. */
static void
test_many_ranges(GenieEngine *engine, GenieRandom *random)
{
	static GenieRankRange ranges[3000];
	GenieEngineQuery query = {.n_ranges = 3000, .ranges = ranges};

	for (int round = 0; round < 3; round++)
	{
		begin_segment(2 * GENIE_TILE_OBJECTS - 777, 0);
		for (uint32_t t = 0; t < 2; t++)
		{
			for (uint32_t l = 0; l < 3000; l++)
			{
				locals[0] = (uint16_t) genie_random_below(random, 30000);
				locals[1] = (uint16_t) (30000 + genie_random_below(random, 3));
				add_list(t, 3 * l + (uint32_t) genie_random_below(random, 3), (GenieCodec) (1 + l % 4), 2);
			}
		}
		for (uint32_t r = 0; r < query.n_ranges; r++)
		{
			ranges[r].first = 3 * r + (round == 2);
			ranges[r].end = 3 * r + 1 + (uint32_t) round;
		}
		query.max_count = count_plainly(query.n_ranges, ranges);
		CHECK(query.max_count > 255);
		CHECK(check_counts(engine, &query));
		CHECK(check_query(engine, random, &query));
	}
}

/* Counts around the widths of counters and bit planes: n lists of the same codec hold every object. */
static void
test_widths(GenieEngine *engine, GenieRandom *random)
{
	static const uint32_t ns[] = {1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 62, 63, 64, 65, 127, 128,
	254, 255, 256, 257, 512, 1000};

	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++)
	{
		for (uint32_t codec = GENIE_CODEC_PACKED; codec <= GENIE_CODEC_RAW; codec++)
		{
			GenieRankRange range = {0, ns[i]};
			GenieEngineQuery query = {.n_ranges = 1, .ranges = &range};

			begin_segment(3000, 0);
			for (uint32_t l = 0; l < ns[i]; l++)
			{
				/* a few objects are left out of list 0, so that two counts occur */
				uint32_t	n = 0;

				for (uint32_t local = 0; local < 3000; local++)
					if (l > 0 || local % 7 != 3)
						locals[n++] = (uint16_t) local;
				add_list(0, l, (GenieCodec) codec, n);
			}
			query.max_count = count_plainly(1, &range);
			CHECK_INT(query.max_count, ns[i]);
			CHECK(check_counts(engine, &query));
			CHECK(check_query(engine, random, &query));
		}
	}
}

/* As many ties as there are objects, and a last tile that alone has better ones. */
static void
test_ties(GenieEngine *engine, GenieRandom *random)
{
	GenieRankRange ranges[] = {{3, 4}, {9, 10}};
	GenieEngineQuery query = {.n_ranges = 2, .ranges = ranges, .max_count = 2};

	begin_segment(TILES_MAX * GENIE_TILE_OBJECTS, 7);
	for (uint32_t t = 0; t < TILES_MAX; t++)
	{
		for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
			locals[i] = (uint16_t) i;
		add_list(t, 3, GENIE_CODEC_RUNS, GENIE_TILE_OBJECTS);
	}
	locals[0] = 65535;
	add_list(TILES_MAX - 1, 9, GENIE_CODEC_PACKED, 1);
	count_plainly(2, ranges);
	CHECK(check_counts(engine, &query));
	CHECK(check_query(engine, random, &query));
}

/* Key tables, with one and two bytes a count, also where nothing is asked for. */
static void
test_keys(GenieEngine *engine, GenieRandom *random)
{
	for (int round = 0; round < 16; round++)
	{
		GenieRankRange range = {2, 60};
		GenieEngineQuery query = {.n_ranges = round % 4 != 3, .ranges = &range};
		bool		good;

		random_segment(random, 1 + (uint32_t) genie_random_below(random, 2 * GENIE_TILE_OBJECTS), 12);
		query.max_count = count_plainly(query.n_ranges, &range) + (round % 5 == 0 ? 400 : 0);
		query.keys = genie_test_keys(random, SIZE_SMALLEST, SIZE_LARGEST, query.max_count);
		good = CHECK(check_query(engine, random, &query));
		genie_test_free_keys(query.keys);
		if (!good)
		{
			printf("in round %d\n", round);
			return;
		}
	}
}

/* A table that does not cover a tile's sizes. */
static void
test_keys_misfit(GenieEngine *engine, GenieRandom *random)
{
	static const uint16_t class_of_size[SIZE_LARGEST] = {0};
	static const uint32_t keys[] = {1, 1};
	GenieKeyTable table = {.n_sizes = SIZE_LARGEST, .class_of_size = class_of_size, .n_classes = 1, .stride = 2,
		.keys = keys};
	GenieEngineQuery query = {.max_count = 1, .keys = &table};
	GenieHit   *hits = malloc(genie_topk_capacity(50) * sizeof(GenieHit));
	GenieTopK	top;
	GenieTopK  *tops[1] = {&top};

	random_segment(random, 100, 1);
	for (int round = 0; round < 2; round++)
	{
		table.first_size = SIZE_SMALLEST + (uint32_t) round;
		genie_topk_init(&top, hits, 50, 1, NULL);
		CHECK_INT(genie_cpu_search(engine, &group, 1, &query, tops), round == 0 ? GENIE_OK : GENIE_STATUS_CORRUPT);
	}
	free(hits);
}

/* Several queries in one call, groups one after the other with the same top-k. */
static void
test_batches(GenieEngine *engine, GenieRandom *random)
{
	enum {N_QUERIES = 5, K = 70};
	GenieRankRange ranges[N_QUERIES];
	GenieEngineQuery queries[N_QUERIES] = {{0}};
	GenieTopK	tops[N_QUERIES];
	GenieTopK  *top_pointers[N_QUERIES];

	for (int round = 0; round < 10; round++)
	{
		GenieGroupView whole;

		random_segment(random, TILES_MAX * GENIE_TILE_OBJECTS, 20);
		whole = group;
		for (uint32_t q = 0; q < N_QUERIES; q++)
		{
			ranges[q].first = (uint32_t) genie_random_below(random, 10);
			ranges[q].end = ranges[q].first + (uint32_t) genie_random_below(random, 30);
			queries[q].n_ranges = 1;
			queries[q].ranges = &ranges[q];
			queries[q].max_count = count_plainly(1, &ranges[q]);
			top_pointers[q] = &tops[q];
			genie_topk_init(&tops[q], malloc(genie_topk_capacity(K) * sizeof(GenieHit)), K, 1, NULL);
		}
		for (uint32_t t = 0; t < whole.n_tiles; t++)
		{
			GenieGroupView one = {.n_tiles = 1, .tiles = &whole.tiles[t]};

			CHECK_INT(genie_cpu_search(engine, &one, N_QUERIES, queries, top_pointers), GENIE_OK);
		}
		for (uint32_t q = 0; q < N_QUERIES; q++)
		{
			uint32_t	n = genie_topk_finish(&tops[q]);
			uint32_t	n_wanted;

			count_plainly(1, &ranges[q]);
			n_wanted = rank_plainly(&queries[q]);
			CHECK_INT(n, n_wanted < K ? n_wanted : K);
			CHECK(memcmp(tops[q].hits, wanted, n * sizeof(GenieHit)) == 0);
			free(tops[q].hits);
		}
	}
}

static int	calls_left;

static bool
interrupt_after_some(void)
{
	return calls_left-- == 0;
}

/* Damaged lists and interrupts end a call early, and the engine works on. */
static void
test_failures(GenieEngine *engine, GenieRandom *random)
{
	GenieRankRange range = {0, 100};
	GenieEngineQuery query = {.n_ranges = 1, .ranges = &range};
	GenieHit   *hits = malloc(genie_topk_capacity(50) * sizeof(GenieHit));
	uint16_t   *const results[1] = {got_counts};
	GenieTopK	top;
	GenieTopK  *tops[1] = {&top};
	unsigned	n_corrupt = 0;

	for (int round = 0; round < 300; round++)
	{
		GenieListRef *ref;
		GenieListRef before;
		uint8_t    *data;

		if (round % 30 == 0)
		{
			random_segment(random, 70000, round % 60 == 0 ? 20 : 1);
			query.max_count = count_plainly(1, &range);
		}
		ref = &tiles[0].lists[genie_random_below(random, tiles[0].n_lists)];
		before = *ref;
		data = malloc(ref->nbytes);
		memcpy(data, ref->data, ref->nbytes);
		for (uint64_t flips = 1 + genie_random_below(random, 3); flips > 0; flips--)
			data[genie_random_below(random, ref->nbytes)] ^= (uint8_t) (1 << genie_random_below(random, 8));
		ref->data = data;
		if (genie_random_below(random, 4) == 0)
			ref->codec = (uint16_t) genie_random_below(random, 6);

		genie_topk_init(&top, hits, 50, 1, NULL);
		n_corrupt += genie_cpu_search(engine, &group, 1, &query, tops) == GENIE_STATUS_CORRUPT;
		for (uint32_t i = 0; i < top.n; i++)
			if (hits[i].object - first_object >= n_objects || hits[i].key > query.max_count)
				CHECK(!"an object or count that does not exist");
		n_corrupt += genie_cpu_count(engine, &group, 1, &query, results) == GENIE_STATUS_CORRUPT;

		free(data);
		*ref = before;
		if (round % 10 == 0)
		{
			CHECK(check_counts(engine, &query));
			CHECK(check_page(engine, &query, rank_plainly(&query), 0, 50, 1));
		}
	}
	CHECK(n_corrupt > 50);

	engine->interrupted = interrupt_after_some;
	for (int calls = 0; calls <= 2; calls++)
	{
		calls_left = calls;
		genie_topk_init(&top, hits, 50, 1, NULL);
		CHECK_INT(genie_cpu_search(engine, &group, 1, &query, tops),
				  calls < 2 ? GENIE_STATUS_CANCELLED : GENIE_OK);
		calls_left = calls;
		CHECK_INT(genie_cpu_count(engine, &group, 1, &query, results),
				  calls < 2 ? GENIE_STATUS_CANCELLED : GENIE_OK);
	}
	engine->interrupted = NULL;
	CHECK(check_counts(engine, &query));
	free(hits);
}

static void
test_engine(const GenieKernels *kernels)
{
	GenieRandom random = {7};
	size_t		size = (genie_cpu_engine_size() + 63) / 64 * 64;
	void	   *memory = malloc(size + 64);
	GenieEngine *engine = genie_cpu_engine_open_with((void *) (((uintptr_t) memory + 63) / 64 * 64), kernels);

	CHECK_INT(engine->ops->abi, GENIE_ENGINE_ABI);
	test_random(engine, &random, 24);
	test_many_ranges(engine, &random);
	test_widths(engine, &random);
	test_ties(engine, &random);
	test_keys(engine, &random);
	test_keys_misfit(engine, &random);
	test_batches(engine, &random);
	test_failures(engine, &random);
	engine->ops->close(engine);
	free(memory);
	free_segment();
}

int
main(void)
{
	const GenieKernels *kernels;

	for (uint32_t i = 0; (kernels = genie_kernels_nth(i)) != NULL; i++)
		test_engine(kernels);
	return genie_test_end();
}
