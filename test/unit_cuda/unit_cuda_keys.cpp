/*
 * unit_cuda_keys.cpp
 *	  Key tables of the CUDA engine against the CPU engine.
 */
#include "unit_cuda.h"

/*
 * Key tables over all widths of sizes, also for queries that match nothing: objects of count 0 have keys, too.  Some
 * jobs share a table, whose largest count differs from their own.  Some tables do not fit.
 */
void
key_cases()
{
	struct Shape
	{
		const char *what;
		std::function<uint32_t(Random &)> size;
		uint32_t	min_size;
		uint32_t	max_size;
	};
	const std::vector<Shape> shapes = {
		{"one size", [](Random &) { return 7u; }, 7, 7},
		{"objects without keywords", [](Random &r) { return r.below(10); }, 0, 9},
		{"sizes of one byte", [](Random &r) { return 2 + r.below(1 + r.below(256)); }, 2, 257},
		{"sizes of two bytes", [](Random &r) { return 1 + r.below(1 + r.below(257)); }, 1, 257},
		{"more sizes than have smallest counts", [](Random &r) { return 1 + r.below(1 + r.below(600)); }, 1, 600},
		{"all sizes", [](Random &r) { return r.below(2000) == 0 ? 65535u >> r.below(16) : 1 + r.below(4); }, 1, 65535},
	};
	const std::vector<uint32_t> ks = {1, 10, 100, 3000, 65536};

	for (const Shape &shape : shapes)
	{
		const uint32_t n = by_scale(2u, 1u, 1u) * GENIE_TILE_OBJECTS + 1000;
		Random		random(n + shape.max_size);
		Batch		batch;
		Job		   *last = nullptr;	/* the last job whose table fits */

		if (!is_mine())
			continue;
		arena->reset();
		const auto	image = make_runs(*arena, 21, n, 70000, shape.size, shape.min_size, shape.max_size);

		kill_some(random, *image, 5);
		for (uint32_t i = 0; i < by_scale(80u, 20u, 10u); i++)
		{
			const Query query = {1 + random.below(40), random.below(2) ? 3u : 9000u};
			Job &job = add_job(batch, *image, GENIE_JOB_TOP,
							   i % 4 == 0 ? std::vector<GenieRankRange>() : make_ranges(random, *image, query));

			job.job.k = ks[i % 5];
			job.job.min_key = 1 + (i % 7 == 0);
			job.job.has_after = i % 3 == 0;
			job.job.after.object = random.below(n);
			if (i % 6 == 1)
				add_condition(job, *image, {{0, 50000}}, 1 + random.below(2));
			if (i % 10 == 5 && last != nullptr && share_key_table(random, job, *last))
				continue;
			if (i % 3 == 1 && shape.max_size < 1000)
				add_similarity_table(random, job, 1u << (i % 14));
			else
				/* many classes if there are few counts */
				add_key_table(random, job, 1 + random.below(std::min(1280u, 300000 / (job.job.query.max_count + 2))),
							  MAX_KEYS[random.below(3)]);
			if (i % 10 == 9)
				spoil_key_table(job, i / 10 % 4);
			else
				last = &job;
		}
		check("key tables", shape.what, batch);
		cuda->ops->forget(cuda, image->image.id);
	}
}

/*
 * So many queries by keys in so many tiles that most pieces are counted with a bound, and some without.  Lists have a
 * few postings; bitmaps are looked up later if only objects with enough postings can reach the threshold.
 */
void
bounded_key_case()
{
	const uint32_t n = 6 * GENIE_TILE_OBJECTS - 100;
	Random		random(n);

	for (const uint32_t frequent : {0u, 6u})
	{
		Batch		batch;

		if (!is_mine())
			continue;
		arena->reset();
		const auto image = make_sets(*arena, 31, n, 3000, 1, 40,
									 [=](Random &r) { return r.below(20) < frequent ? r.below(8) : r.below(3000); });

		kill_some(random, *image, 5);
		for (uint32_t i = 0; i < by_scale(1200u, 500u, 60u); i++)
		{
			const Query query = {i % 2 == 0 ? 1 + random.below(14) : 60, 1 + i % 3 * 4};
			std::vector<GenieRankRange> ranges = make_ranges(random, *image, query);

			/* frequent keywords are the first ones */
			if (i % 4 > 1 && ranges[0].first > 8)
				ranges.insert(ranges.begin(), GenieRankRange{i % 3, 3 + i % 5});
			Job		   &job = add_job(batch, *image, GENIE_JOB_TOP, ranges);

			job.job.k = i % 3 == 0 ? 10 : i % 3 == 1 ? 100 : 1000;
			job.job.min_key = 1 + (i % 5 == 0);
			job.job.has_after = i % 9 == 8;
			job.job.after.object = random.below(n);
			if (i % 11 == 0)
				add_key_table(random, job, 1 + random.below(9), MAX_KEYS[random.below(3)]);
			else
				add_similarity_table(random, job, 1000);
		}
		check("key tables, known bounds", frequent > 0 ? "bitmaps" : "short lists", batch);
		cuda->ops->forget(cuda, image->image.id);
	}
}
