/*
 * unit_cuda_keys.cpp
 *	  Key tables of the CUDA engine against the CPU engine.
 */
#include "unit_cuda.h"

/*
 * Key tables over all widths of sizes, for queries that match nothing, too: objects of count 0 have keys as others do.
 * Beside them, tables that do not fit.
 */
void
key_cases()
{
	struct Shape
	{
		const char *what;
		std::function<uint32_t (Random &)> size;
		uint32_t	min_size;
		uint32_t	max_size;
	};
	const std::vector<Shape> shapes = {
		{"one size", [] (Random &) { return 7u; }, 7, 7},
		{"objects without keywords", [] (Random &r) { return r.below(10); }, 0, 9},
		{"sizes of one byte", [] (Random &r) { return 2 + r.below(1 + r.below(256)); }, 2, 257},
		{"sizes of two bytes", [] (Random &r) { return 1 + r.below(1 + r.below(257)); }, 1, 257},
		{"all sizes", [] (Random &r) { return r.below(2000) == 0 ? 65535u >> r.below(16) : 1 + r.below(4); }, 1, 65535},
	};
	const std::vector<uint32_t> ks = {1, 10, 100, 3000, 65536};

	for (const Shape &shape : shapes)
	{
		const uint32_t n = by_scale(2u, 1u, 1u) * GENIE_TILE_OBJECTS + 1000;
		Random		random(n + shape.max_size);
		Batch		batch;

		if (!is_mine())
			continue;
		arena->reset();
		const auto	image = make_runs(*arena, 21, n, 70000, shape.size, shape.min_size, shape.max_size);

		kill_some(random, *image, 5);
		for (uint32_t i = 0; i < by_scale(80u, 20u, 10u); i++)
		{
			const Query query = {1 + random.below(40), random.below(2) ? 3u : 9000u};
			Job		   &job = add_job(batch, *image, GENIE_JOB_TOP, i % 4 == 0 ? std::vector<GenieRankRange>() :
									  make_ranges(random, *image, query));

			job.job.k = ks[i % 5];
			job.job.min_key = 1 + (i % 7 == 0);
			job.job.has_after = i % 3 == 0;
			job.job.after.object = random.below(n);
			if (i % 6 == 1)
				add_condition(job, *image, {{0, 50000}}, 1 + random.below(2));
			/* many classes where there are few counts */
			add_key_table(random, job, 1 + random.below(std::min(1280u, 300000 / (job.job.query.max_count + 2))),
						  MAX_KEYS[random.below(3)]);
			if (i % 10 == 9)
				spoil_key_table(job, i / 10 % 4);
		}
		check("key tables", shape.what, batch);
		cuda->ops->forget(cuda, image->image.id);
	}
}
