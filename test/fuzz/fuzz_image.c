/*
 * fuzz_image.c
 *	  Fuzz target for making an image of lists that come from damaged pages.
 *
 * The input: the segment's objects (two bytes), its keywords, its lists and what is added: 64 for a tight image, 128
 * for lists and codes, 192 for codes alone.  Where there are codes, the ranks of each dimension but the last.  Then
 * the lists: rank, codec, n (two bytes), by how much n differs from what was planned, the payload's length (two bytes),
 * payload.
 * Whatever they are, the builder takes what was planned or refuses.  An image that it finished is consistent where
 * codecs promise that objects ascend, and a search in it gives objects that exist.  So it is with the group of codes
 * alone in a group with lists and codes, and a search in both gives the same.
 */
#include <stdlib.h>
#include <string.h>

#include "genie_codec.h"
#include "genie_engine_cpu.h"
#include "genie_image.h"
#include "genie_test_image.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LISTS_MAX 64
#define KEYWORDS_MAX 255
#define HITS 10

static void
require(bool promise)
{
	if (!promise)
		abort();
}

/* The other codecs promise it. */
static bool
raw_ascends(const GenieListRef *list, uint16_t *scratch)
{
	if (!genie_list_decode(list, scratch))
		return true;			/* it is refused */
	for (uint32_t i = 1; i < list->n; i++)
		if (scratch[i] <= scratch[i - 1])
			return false;
	return true;
}

/* Searches for all keywords.  postings_before: NULL without codes.  Returns how many hits there are; 0 if it fails. */
static uint32_t
search(const GenieImageGroup *group, uint32_t n_objects, uint32_t n_keywords, const uint64_t *postings_before,
	   GenieHit *hits)
{
	static uint8_t *memory;
	static uint64_t live[GENIE_TILE_WORDS];
	GenieSegmentImage image = {.id = 1, .n_objects = n_objects, .n_keywords = n_keywords, .n_tiles = 1, .n_groups = 1,
	.groups = &group, .live = live, .postings_before = postings_before};
	GenieRankRange range = {0, n_keywords};
	GenieJob	job = {.kind = GENIE_JOB_TOP, .image = &image, .n_tiles = 1, .k = HITS, .min_key = 1, .out = hits};
	GenieEngine *engine;

	memset(live, 0, sizeof(live));
	for (uint32_t i = 0; i < n_objects; i++)
		live[i / 64] |= UINT64_C(1) << (i % 64);
	job.query = (GenieEngineQuery) {.n_ranges = 1, .ranges = &range, .max_count = n_keywords};
	if (memory == NULL)
		memory = malloc(genie_cpu_engine_size() + 64);
	engine = genie_cpu_engine_open((void *) (((uintptr_t) memory + 63) / 64 * 64));
	engine->ops->run(engine, 1, &job);
	engine->ops->close(engine);
	if (job.status != GENIE_OK)
		return 0;
	require(job.n_hits <= job.k);
	for (uint32_t i = 0; i < job.n_hits; i++)
		require(hits[i].object < n_objects && hits[i].key >= 1 && hits[i].key <= n_keywords);
	return job.n_hits;
}

/* A finished image is consistent, and so are the codes in it. */
static void
check(const GenieImageGroup *group, uint32_t n_objects, uint32_t n_keywords, const uint64_t *postings_before)
{
	const GenieImageGroup *alone = genie_image_alone(group);
	GenieHit	hits[HITS];
	GenieHit	hits_alone[HITS];
	uint32_t	n_hits;

	require(genie_image_group_valid(group));
	n_hits = search(group, n_objects, n_keywords, group->n_dimensions > 0 ? postings_before : NULL, hits);
	if (alone == NULL)
		return;
	require(genie_image_group_valid(alone));
	require(search(alone, n_objects, n_keywords, postings_before, hits_alone) == n_hits);
	require(memcmp(hits, hits_alone, n_hits * sizeof(GenieHit)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint16_t scratch[GENIE_TILE_OBJECTS];
	static const uint32_t sizes[GENIE_TILE_OBJECTS];
	const uint8_t *end = data + size;
	GenieImagePlan plan = {0};
	GenieTilePlan tile = {0};
	GenieTileFill fill;
	GenieListRef lists[LISTS_MAX];
	uint32_t	ranks[LISTS_MAX];
	uint32_t	first_ranks[KEYWORDS_MAX];
	uint64_t	postings_before[KEYWORDS_MAX + 1] = {0};
	uint32_t	n_lists;
	uint32_t	n = 0;
	uint64_t	n_bytes;
	void	   *memory;
	bool		good = true;
	bool		ascends = true;

	if (size < 4 || data[2] == 0)
		return 0;
	tile.n_objects = 1 + (data[0] | (uint32_t) data[1] << 8);
	plan.n_keywords = data[2];
	n_lists = data[3] % LISTS_MAX;
	plan.form = (data[3] & LISTS_MAX) == 0 ? GENIE_IMAGE_FULL : GENIE_IMAGE_TIGHT;
	if ((data[3] & 2 * LISTS_MAX) != 0 && size > 4)
	{
		uint32_t	step = 1 + data[4];

		plan.form = (data[3] & LISTS_MAX) == 0 ? GENIE_IMAGE_FULL : GENIE_IMAGE_CODES;
		for (uint32_t rank = 0; rank < plan.n_keywords; rank += step)
			first_ranks[plan.n_dimensions++] = rank;
		plan.first_ranks = first_ranks;
		data++;
	}
	for (data += 4; n < n_lists && end - data >= 7; n++)
	{
		GenieListRef *list = &lists[n];

		ranks[n] = data[0];
		list->codec = data[1];
		list->n = 1 + (data[2] | (uint32_t) data[3] << 8);
		list->nbytes = data[5] | (uint32_t) data[6] << 8;
		if (list->nbytes > end - data - 7)
			list->nbytes = (uint32_t) (end - data - 7);
		list->data = data + 7;
		if (plan.form == GENIE_IMAGE_TIGHT && data[4] == 0 && genie_list_decode(list, scratch))
			genie_tile_plan_add_tight(&tile, scratch, list->n);
		else
			genie_tile_plan_add(&tile, 1 + (list->n - 1 + data[4]) % GENIE_TILE_OBJECTS);
		ascends = ascends && (list->codec != GENIE_CODEC_RAW || raw_ascends(list, scratch));
		data += 7 + list->nbytes;
	}
	/* Codes have rows only for objects that exist: who gives lists promises that their last object is the largest. */
	if (plan.n_dimensions > 0 && !ascends)
		return 0;
	if (genie_image_group_plan(&plan, &tile, 0, 1, &n_bytes) != 1)
		return 0;
	memory = genie_model_memory(n_bytes);
	genie_image_group_begin(memory, n_bytes, &plan, &tile, 0, 1, &fill);
	genie_image_sizes(&fill, 0, sizes);
	for (uint32_t i = 0; good && i < n; i++)
		good = genie_image_decode(&fill, 0, ranks[i], &lists[i], scratch);
	for (uint32_t rank = 0, i = 0; good && rank < plan.n_keywords; rank++)
		postings_before[rank + 1] = postings_before[rank] + (i < n && ranks[i] == rank ? lists[i++].n : 0);
	if (good && genie_image_group_finish(&fill, 1) && ascends)
		check(memory, tile.n_objects, plan.n_keywords, postings_before);
	free(memory);
	return 0;
}
