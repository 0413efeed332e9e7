/*
 * fuzz_image.c
 *	  Fuzz target for making an image of lists that come from damaged pages.
 *
 * The input: the segment's objects (two bytes), its keywords, its lists and 64 for a tight image; then the lists: rank,
 * codec, n (two bytes), by how much n differs from what was planned, the payload's length (two bytes), payload.
 * Whatever they are, the builder takes what was planned or refuses.  An image that it finished is consistent where
 * codecs promise that objects ascend, and a search in it gives objects that exist.
 */
#include <stdlib.h>
#include <string.h>

#include "genie_codec.h"
#include "genie_engine_cpu.h"
#include "genie_image.h"
#include "genie_test_image.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LISTS_MAX 64

static void
require(bool promise)
{
	if (!promise)
		abort();
}

/* Searches for all keywords. */
static void
search(const GenieImageGroup *group, uint32_t n_objects, uint32_t n_keywords)
{
	static uint8_t *memory;
	static uint64_t live[GENIE_TILE_WORDS];
	GenieSegmentImage image = {.id = 1, .n_objects = n_objects, .n_keywords = n_keywords, .n_tiles = 1, .n_groups = 1,
	.groups = &group, .live = live};
	GenieRankRange range = {0, n_keywords};
	GenieHit	hits[10];
	GenieJob	job = {.kind = GENIE_JOB_TOP, .image = &image, .n_tiles = 1, .k = 10, .min_key = 1, .out = hits};
	GenieEngine *engine;

	memset(live, 0, sizeof(live));
	for (uint32_t i = 0; i < n_objects; i++)
		live[i / 64] |= UINT64_C(1) << (i % 64);
	job.query = (GenieEngineQuery) {.n_ranges = 1, .ranges = &range, .max_count = n_keywords};
	if (memory == NULL)
		memory = malloc(genie_cpu_engine_size() + 64);
	engine = genie_cpu_engine_open((void *) (((uintptr_t) memory + 63) / 64 * 64));
	engine->ops->run(engine, 1, &job);
	require(job.status != GENIE_OK || job.n_hits <= job.k);
	for (uint32_t i = 0; job.status == GENIE_OK && i < job.n_hits; i++)
		require(hits[i].object < n_objects && hits[i].key >= 1 && hits[i].key <= n_keywords);
	engine->ops->close(engine);
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
	plan.form = (data[3] & LISTS_MAX) != 0 ? GENIE_IMAGE_TIGHT : GENIE_IMAGE_FULL;
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
		ascends = ascends && list->codec != GENIE_CODEC_RAW;
		data += 7 + list->nbytes;
	}
	if (genie_image_group_plan(&plan, &tile, 0, 1, &n_bytes) != 1)
		return 0;
	memory = genie_model_memory(n_bytes);
	genie_image_group_begin(memory, n_bytes, &plan, &tile, 0, 1, &fill);
	genie_image_sizes(&fill, 0, sizes);
	for (uint32_t i = 0; good && i < n; i++)
		good = genie_image_decode(&fill, 0, ranks[i], &lists[i], scratch);
	if (good && genie_image_group_finish(&fill, 1))
	{
		require(!ascends || genie_image_group_valid(memory));
		if (ascends)
			search(memory, tile.n_objects, plan.n_keywords);
	}
	free(memory);
	return 0;
}
