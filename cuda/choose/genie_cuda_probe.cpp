/*
 * genie_cuda_probe.cpp
 *	  Making probes (genie_cuda_probe.h).
 */
#include "genie_cuda_probe.h"

/* An object's value.  Any values will do that are well mixed. */
static uint32_t
value_of(uint32_t object, uint32_t dimension, uint32_t n_values)
{
	const uint64_t mixed = (object + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ (dimension + 1) * UINT64_C(0xD1B54A32D192ED03);

	return (uint32_t) (((mixed ^ mixed >> 29) * UINT64_C(0xBF58476D1CE4E5B9) >> 32) * n_values >> 32);
}

GenieCudaProbe::GenieCudaProbe(uint64_t id, uint32_t n_objects, uint32_t n_tiles, const std::vector<uint32_t> &n_values)
{
	std::vector<std::vector<uint16_t>> lists;
	const std::vector<uint32_t> sizes(n_objects, (uint32_t) n_values.size());
	GenieImagePlan plan = {};
	GenieTilePlan tile = {};
	GenieTileFill fill;
	uint64_t	n_bytes;

	for (uint32_t d = 0; d < n_values.size(); d++)
	{
		first_ranks.push_back((uint32_t) lists.size());
		lists.resize(lists.size() + n_values[d]);
		for (uint32_t i = 0; i < n_objects; i++)
			lists[first_ranks[d] + value_of(i, d, n_values[d])].push_back((uint16_t) i);
	}
	plan.n_keywords = (uint32_t) lists.size();
	plan.min_size = plan.max_size = (uint32_t) n_values.size();
	plan.n_dimensions = (uint32_t) n_values.size();
	plan.first_ranks = first_ranks.data();
	tile.n_objects = n_objects;
	before.push_back(0);
	for (const std::vector<uint16_t> &list : lists)
	{
		if (!list.empty())
			genie_tile_plan_add(&tile, (uint32_t) list.size());
		before.push_back(before.back() + list.size() * n_tiles);
	}
	if (genie_image_group_plan(&plan, &tile, 0, 1, &n_bytes) != 1)
		return;
	memory.resize(n_bytes / sizeof(uint64_t) + 2);
	genie_image_group_begin(memory.data(), n_bytes, &plan, &tile, 0, 1, &fill);
	for (uint32_t rank = 0; rank < lists.size(); rank++)
		if (!lists[rank].empty())
			(void) genie_image_add(&fill, 0, rank, lists[rank].data(), (uint32_t) lists[rank].size());
	genie_image_sizes(&fill, 0, sizes.data());
	made = genie_image_group_finish(&fill, 1);

	/*
	 * All groups call themselves the first one.  That only matters while they are copied, in a run that is not timed.
	 */
	groups.assign(n_tiles, (const GenieImageGroup *) memory.data());
	live.assign((size_t) n_tiles * GENIE_TILE_WORDS, 0);
	for (uint32_t i = 0; i < n_objects; i++)
		for (uint32_t t = 0; t < n_tiles; t++)
			live[t * GENIE_TILE_WORDS + i / 64] |= UINT64_C(1) << (i % 64);
	image.id = id;
	image.n_objects = n_objects * n_tiles;
	image.n_keywords = plan.n_keywords;
	image.n_tiles = n_tiles;
	image.n_groups = n_tiles;
	image.groups = groups.data();
	image.live = live.data();
	image.live_version = 1;
	image.postings_before = before.data();
}
