/*
 * unit_cuda.cpp
 *	  The CUDA engine against the CPU engine, through the library as the worker opens it.
 *
 *		unit_cuda LIBRARY [--quick | --tiny] [--pass=N] [--part=I/N]
 *
 * Prints a line for each case, and the seconds of each pass.  Ends with 1 if any answer differs, and with 77 if there
 * is no GPU.
 *
 *		--quick			without large cases, for compute-sanitizer
 *		--tiny			each kernel has a few blocks' work, and costs are not measured: for racecheck, which makes kernels a
 *						thousand times slower, and for kernels that run on the CPU (emulated/)
 *		--pass=N		only pass N of 1 .. 15: all kernels; with tensor cores; without them; as on devices of less
 *						shared memory, four times; lanes by threshold samples, with tensor cores and without;
 *						several engines as one; images and vectors that are larger than the device's memory; images of
 *						codes alone; tight ones; images that are on the device alone; proximity graphs
 *		--part=I/N		only the cases I, I + N and so on, counted from 1
 *
 * Everything is seeded, so a difference can be repeated.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "unit_cuda.h"

GenieEngine *cuda;
Arena	   *arena;
Scale		scale = WHOLE;

static const char *library;
static int only_pass;				/* 0: all */
static uint32_t part = 1;			/* of n_parts */
static uint32_t n_parts = 1;
static uint32_t n_asked;
static uint32_t n_threads = 16;
static uint32_t n_failed;
static uint32_t n_cases;

/* ---- jobs ---- */

static size_t
out_bytes(const GenieJob &job)
{
	if (genie_job_ranks(job.kind))
		return job.k * sizeof(GenieHit);
	if (job.kind == GENIE_JOB_TALLY)
		return 0;
	if (genie_job_adds_up(job.kind))
		return genie_job_facets_bytes(&job);
	if (job.kind == GENIE_JOB_MASK)
		return (size_t) job.n_tiles * GENIE_TILE_BITMAP_BYTES;
	return (size_t) job.n_tiles * GENIE_TILE_OBJECTS * (job.query.max_count <= GENIE_COUNT_NARROW ? 1 : 2);
}

std::vector<GenieJob>
jobs_of(Batch &batch, std::vector<std::vector<uint8_t>> &outs)
{
	std::vector<GenieJob> jobs;

	outs.clear();
	for (const std::unique_ptr<Job> &job : batch)
	{
		job->job.query.n_ranges = (uint32_t) job->ranges[0].size();
		job->job.query.ranges = job->ranges[0].data();
		job->job.n_conditions = (uint32_t) job->conditions.size();
		job->job.conditions = job->conditions.data();
		for (size_t i = 0; i < job->conditions.size(); i++)
		{
			job->conditions[i].query.n_ranges = (uint32_t) job->ranges[i + 1].size();
			job->conditions[i].query.ranges = job->ranges[i + 1].data();
		}
		if (!job->live.empty())
			job->job.live = job->live.data();
		if (job->job.kind == GENIE_JOB_GRID)
		{
			job->grid.axes = job->axes.data();
			job->job.grid = &job->grid;
		}

		Job		   *owner = job->table_of != nullptr ? job->table_of : job.get();

		if (!owner->keys.empty())
		{
			owner->table.class_of_size = owner->class_of_size.data();
			owner->table.keys = owner->keys.data();
			job->job.query.keys = &owner->table;
		}
		outs.emplace_back(out_bytes(job->job), (uint8_t) 0xAA);
		job->job.out = outs.back().data();
		jobs.push_back(job->job);
	}
	return jobs;
}

/* ---- comparing ---- */

std::string
difference(const GenieJob &cpu, const GenieJob &gpu)
{
	char		text[200 + GENIE_ENGINE_ERROR_MAX];

	if (gpu.status == GENIE_STATUS_DECLINED && genie_job_adds_up(gpu.kind) && genie_image_is_codes(gpu.image))
		return "";
	if (gpu.status != cpu.status)
		snprintf(text, sizeof(text), "status %d, not %d (%s)", (int) gpu.status, (int) cpu.status, cuda->error);
	else if (gpu.n_hits != cpu.n_hits)
		snprintf(text, sizeof(text), "%u hits, not %u", gpu.n_hits, cpu.n_hits);
	else if (genie_job_ranks(cpu.kind))
	{
		const GenieHit *a = (const GenieHit *) cpu.out;
		const GenieHit *b = (const GenieHit *) gpu.out;
		uint32_t	i = 0;

		while (i < cpu.n_hits && a[i].key == b[i].key && a[i].object == b[i].object)
			i++;
		if (i == cpu.n_hits)
			return "";
		snprintf(text, sizeof(text), "hit %u of %u: (%u, %u), not (%u, %u)", i, cpu.n_hits, b[i].key, b[i].object,
				 a[i].key, a[i].object);
	}
	else if (cpu.kind == GENIE_JOB_GRID)
	{
		const GenieGridCell *a = (const GenieGridCell *) cpu.out;
		const GenieGridCell *b = (const GenieGridCell *) gpu.out;
		uint32_t	i = 0;

		while (cpu.n_hits == 0 && i < cpu.grid->n_cells && a[i].n == b[i].n &&
			   (a[i].n == 0 || (a[i].first == b[i].first && a[i].last == b[i].last)))
			i++;
		if (cpu.n_hits != 0 || i == cpu.grid->n_cells)
			return "";
		snprintf(text, sizeof(text), "cell %u: (%u, %u, %u), not (%u, %u, %u)", i, b[i].n, b[i].first, b[i].last,
				 a[i].n, a[i].first, a[i].last);
	}
	else
	{
		const uint8_t *a = (const uint8_t *) cpu.out;
		const uint8_t *b = (const uint8_t *) gpu.out;
		const size_t n = out_bytes(cpu);
		size_t		i = 0;

		while (i < n && a[i] == b[i])
			i++;
		if (i == n)
			return "";
		snprintf(text, sizeof(text), "byte %zu of %zu: %02x, not %02x", i, n, b[i], a[i]);
	}
	return text;
}

bool
is_mine()
{
	return n_asked++ % n_parts == part - 1;
}

void
report(const char *name, const std::string &what, const std::string &wrong)
{
	n_cases++;
	n_failed += !wrong.empty();
	printf("%-34s %-62s %s%s\n", name, what.c_str(), wrong.empty() ? "ok" : "NOT OK: ", wrong.c_str());
	fflush(stdout);
}

/* Runs the batch on both engines; returns the first difference. */
static std::string
compare(Batch &batch)
{
	std::vector<std::vector<uint8_t>> cpu_out;
	std::vector<std::vector<uint8_t>> gpu_out;
	std::vector<GenieJob> cpu_jobs = jobs_of(batch, cpu_out);
	std::vector<GenieJob> gpu_jobs = jobs_of(batch, gpu_out);
	GenieStatus status;

	run_on_cpu(cpu_jobs, n_threads);
	status = cuda->ops->run(cuda, (uint32_t) gpu_jobs.size(), gpu_jobs.data());
	if (status != GENIE_OK)
		return std::string("the batch failed: ") + cuda->error;
	for (size_t i = 0; i < batch.size(); i++)
	{
		const std::string wrong = difference(cpu_jobs[i], gpu_jobs[i]);

		if (!wrong.empty())
			return "job " + std::to_string(i) + ": " + wrong;
	}
	return "";
}

void
check(const char *name, const std::string &what, Batch &batch)
{
	report(name, std::to_string(batch.size()) + " jobs, " + what, compare(batch));
}

/* ---- cases ---- */

/* TOP jobs of all kinds on one image. */
static void
add_random_jobs(Batch &batch, Random &random, const TestImage &image, uint32_t n_jobs, const Query &query,
				const std::vector<uint32_t> &ks)
{
	for (uint32_t i = 0; i < n_jobs; i++)
	{
		Query		own = query;

		own.n_ranges = 1 + random.below(query.n_ranges);
		Job		   &job = add_job(batch, image, GENIE_JOB_TOP, make_ranges(random, image, own));

		job.job.k = ks[random.below((uint32_t) ks.size())];
		if (random.below(4) == 0)
		{
			job.job.first_tile = random.below(image.image.n_tiles + 1);
			job.job.n_tiles = random.below(image.image.n_tiles - job.job.first_tile + 1);
		}
		if (random.below(4) == 0)
			job.job.min_key = 1 + random.below(job.job.query.max_count);
		if (random.below(4) == 0)
		{
			job.job.has_after = true;
			job.job.after.key = 1 + random.below(std::min(job.job.query.max_count + 1, 12u));
			job.job.after.object = random.below(image.image.n_objects);
		}
		if (random.below(4) == 0)
			job.live = make_live(random, image, job.job.first_tile, job.job.n_tiles);
		if (random.below(4) == 0)
			for (uint32_t j = 1 + random.below(3); j > 0; j--)
				add_condition(job, image, make_ranges(random, image, Query{1 + random.below(5), query.max_width * 4}),
							  1 + random.below(2));
		if (random.below(6) == 0)
			add_key_table(random, job, 1 + random.below(9), MAX_KEYS[random.below(3)]);
	}
}

/* MASK, COUNTS and TALLY jobs over ranges of tiles. */
static void
add_tile_jobs(Batch &batch, Random &random, const TestImage &image, uint32_t n_jobs, const Query &query)
{
	static const GenieJobKind kinds[] = {GENIE_JOB_COUNTS, GENIE_JOB_MASK, GENIE_JOB_TALLY};

	for (uint32_t i = 0; i < n_jobs; i++)
	{
		const GenieJobKind kind = kinds[i % 3];
		Job		   &job = add_job(batch, image, kind, make_ranges(random, image, query));

		job.job.min_key = 1 + random.below(std::min(job.job.query.max_count + 2, 6u));
		job.job.first_tile = random.below(image.image.n_tiles);
		job.job.n_tiles = 1 + random.below(image.image.n_tiles - job.job.first_tile);
		if (kind == GENIE_JOB_TALLY && random.below(2) == 0)
			job.live = make_live(random, image, job.job.first_tile, job.job.n_tiles);
		job.job.any = kind == GENIE_JOB_MASK && random.below(2) == 0;
		for (uint32_t j = random.below(3); j > 0 && kind == GENIE_JOB_MASK; j--)
			add_condition(job, image, make_ranges(random, image, query), 1 + random.below(3));
	}
}

/* postings of a tiny case's image, roughly */
constexpr uint32_t TINY_POSTINGS = 1000000;

static void
random_cases()
{
	struct Shape
	{
		const char *name;
		uint32_t	n_objects;
		uint32_t	n_keywords;
		uint32_t	min_size;
		uint32_t	max_size;
		bool		skewed;
		uint32_t	n_jobs;
		Query		query;
		std::vector<uint32_t> ks;
		bool		large;
	};
	const std::vector<Shape> shapes = {
		{"one object", 1, 1, 1, 1, false, 3, {2, 1}, {1, 10}, false},
		{"few objects", 63, 20, 0, 10, false, 40, {8, 3}, {1, 10, 100}, false},
		{"one tile", 65536, 500, 1, 30, true, 40, {40, 3}, {1, 10, 100, 1000}, false},
		{"a tile and one object", 65537, 300, 5, 12, false, 30, {100, 2}, {1, 100, 3000}, false},
		{"indexed directory", 200000, 2000, 3, 20, true, 60, {60, 10}, {1, 10, 100, 1000, 65536}, false},
		{"sorted directory", 150000, 3000000, 3, 12, false, 60, {20, 50000}, {1, 10, 100, 65536}, false},
		{"sorted directory, skewed", 150000, 3000000, 3, 12, true, 60, {60, 3}, {1, 5, 100}, false},
		{"300 items", 100000, 3000, 200, 280, false, 24, {300, 20}, {10, 100, 1000}, false},
		{"1500 items", 40000, 6000, 300, 400, false, 12, {1500, 3}, {10, 100}, false},
		{"dense lists only", 100000, 40, 8, 20, false, 30, {30, 3}, {10, 1000, 65536}, false},
		{"2048 queries", 300000, 5000, 5, 15, true, 2048, {20, 3}, {1, 10, 100}, true},
		{"5 million objects", 5000000, 20000, 4, 9, true, 24, {30, 40}, {1, 100, 1000, 65536}, true},
	};

	for (const Shape &shape : shapes)
	{
		const uint32_t n_objects = scale == TINY ? std::min(shape.n_objects, TINY_POSTINGS / shape.max_size) :
												   shape.n_objects;

		if ((shape.large && scale != WHOLE) || !is_mine())
			continue;
		arena->reset();
		for (uint32_t round = 0; round < (scale != WHOLE || shape.large ? 1u : 3u); round++)
		{
			Random		random(round * 31 + n_objects);
			const auto	image = shape.skewed ?
				make_skewed_sets(*arena, round + 1, n_objects, shape.n_keywords, shape.min_size, shape.max_size) :
				make_uniform_sets(*arena, round + 1, n_objects, shape.n_keywords, shape.min_size, shape.max_size);
			Batch		batch;

			if (round != 1)
				kill_some(random, *image, round == 0 ? 10 : 2);
			add_random_jobs(batch, random, *image, by_scale(shape.n_jobs, (shape.n_jobs + 3) / 4, 4u), shape.query,
							shape.ks);
			add_tile_jobs(batch, random, *image, by_scale(6u, 3u, 3u), shape.query);
			add_facet_jobs(batch, random, *image, by_scale(6u, 2u, 2u), 0);
			check(shape.name,
				  std::to_string(n_objects) + " objects, " + std::to_string(image->n_postings) + " postings, round " +
					  std::to_string(round),
				  batch);
			cuda->ops->forget(cuda, image->image.id);
			arena->reset();
		}
	}
}

/*
 * Batches so large that queries have bounds after the first tile, on lists of few postings, with and without bitmaps.
 * In some tiles bounds do not help: many objects match again, or reach the bound.
 */
static void
bounded_cases()
{
	struct Shape
	{
		const char *what;
		uint32_t	n_keywords;
		std::function<void(Random &, std::vector<uint32_t> &)> object;
		Query		query;
	};
	const auto uniform = [](Random &random, std::vector<uint32_t> &keywords, uint32_t n, uint32_t below) {
		for (uint32_t i = 0; i < n; i++)
			keywords.push_back(random.below(below));
	};
	const std::vector<Shape> shapes = {
		{"short lists",
		 20000,
		 [&](Random &r, std::vector<uint32_t> &k) { uniform(r, k, 8 + r.below(5), 20000); },
		 {12, 3}},
		{"bitmaps",
		 2000,
		 [&](Random &r, std::vector<uint32_t> &k) {
			 for (uint32_t i = 0; i < 10; i++)
				 k.push_back(r.below(1 + r.below(1 + r.below(1 + r.below(2000)))));
		 },
		 {14, 1}},
		{"more bitmaps than fit",
		 2000,
		 [&](Random &r, std::vector<uint32_t> &k) {
			 uniform(r, k, 6, 40);
			 uniform(r, k, 4, 2000);
		 },
		 {100, 5}},
		{"many ranges",
		 60000,
		 [&](Random &r, std::vector<uint32_t> &k) { uniform(r, k, 20 + r.below(9), 60000); },
		 {400, 1}},
		{"counters of 16 bits",
		 60000,
		 [&](Random &r, std::vector<uint32_t> &k) { uniform(r, k, r.below(3000) == 0 ? 400 : r.below(9), 60000); },
		 {40, 60}},
		{"the same objects again",
		 900,
		 [&](Random &r, std::vector<uint32_t> &k) {
			 const uint32_t n = r.below(2) ? 40 : 300;

			 for (uint32_t i = 0, first = r.below(n); i < 3; i++)
				 k.push_back(3 * first + i);
		 },
		 {9, 2}},
	};

	for (const Shape &shape : shapes)
	{
		const uint32_t n = 6 * GENIE_TILE_OBJECTS - 100;
		Batch		batch;
		Random		random(n + shape.n_keywords);

		if (!is_mine())
			continue;
		arena->reset();
		TestImage image(
			*arena, n, shape.n_keywords,
			[&](uint32_t t) {
				Random		own(t);
				std::vector<uint64_t> pairs;
				std::vector<uint32_t> keywords;
				TileLists	lists;

				for (uint32_t i = 0; i < std::min(n - t * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS);
					 i++, keywords.clear())
				{
					shape.object(own, keywords);
					for (const uint32_t keyword : keywords)
						pairs.push_back((uint64_t) keyword << 16 | i);
				}
				std::sort(pairs.begin(), pairs.end());
				pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
				lists.set(std::min(n - t * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS), pairs);
				return lists;
			},
			false);
		kill_some(random, image, 5);
		add_random_jobs(batch, random, image, by_scale(1000u, 600u, 480u), shape.query, {1, 10, 100, 1000});
		check("bounds after the first tile", shape.what, batch);
		cuda->ops->forget(cuda, image.image.id);
	}
}

/* Every object has rank 0, so all objects tie. */
static void
ties_case()
{
	const uint32_t n = by_scale(1000000u, 70000u, 70000u);
	Batch		batch;

	if (!is_mine())
		return;
	arena->reset();
	const auto image = make_sets(*arena, 5, n, 100, 1, 1, [](Random &) { return 0u; });
	Random		random(5);

	kill_some(random, *image, 3);
	for (const uint32_t k : {1u, 10u, 100u, 1000u, 65536u})
	{
		Job		   &job = add_job(batch, *image, GENIE_JOB_TOP, {{0, 1}});
		Job		   &later = add_job(batch, *image, GENIE_JOB_TOP, {{0, 100}});

		job.job.k = later.job.k = k;
		later.job.has_after = true;
		later.job.after = GenieHit{1, n / 2};
	}
	add_job(batch, *image, GENIE_JOB_TOP, {{1, 100}});
	add_job(batch, *image, GENIE_JOB_TOP, {});
	check("all ties, one huge list", "empty lists, empty query", batch);
	cuda->ops->forget(cuda, image->image.id);

	/* lists too short for bitmaps: ties among few and among many postings */
	for (const uint32_t one_in : {40u, 150u, 2000u})
	{
		Batch		sparse;
		const auto other = make_sets(*arena, 6, n, 3000, 1, 1,
									 [=](Random &r) { return r.below(one_in) == 0 ? r.below(3) : 5 + r.below(2000); });

		for (const uint32_t k : {1u, 10u, 100u, 1000u})
			add_job(sparse, *other, GENIE_JOB_TOP, {{0, 3}}).job.k = k;
		add_job(sparse, *other, GENIE_JOB_TOP, {{0, 1}, {2, 3}}).job.k = 7;
		check("all ties, short lists", "one object in " + std::to_string(one_in), sparse);
		cuda->ops->forget(cuda, other->image.id);
	}
}

/* Matches only in the first and the last of the tiles. */
static void
empty_tiles_case()
{
	const uint32_t n = 5 * GENIE_TILE_OBJECTS - 100;
	Batch		batch;

	if (!is_mine())
		return;
	arena->reset();
	TestImage image(
		*arena, n, 50,
		[=](uint32_t t) {
			std::vector<uint64_t> pairs;
			TileLists	lists;

			for (uint32_t i = 0; t % 4 == 0 && i < 60000; i++)
				pairs.push_back((uint64_t) (i % 50) << 16 | i);
			lists.set(std::min(n - t * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS), pairs);
			return lists;
		},
		false);
	Random		random(9);

	add_random_jobs(batch, random, image, by_scale(30u, 30u, 5u), Query{20, 3}, {1, 10, 100, 5000});
	add_tile_jobs(batch, random, image, 4, Query{20, 3});
	check("empty tiles", "tiles without any list", batch);
	cuda->ops->forget(cuda, image.image.id);
}

/* Neighbours that match exactly 2^bits - 1, 2^bits and 2^bits + 1 times. */
static void
boundary_cases()
{
	for (const uint32_t top : {15u, 16u, 17u, 255u, 256u, 257u, 4095u, 65535u})
	{
		const uint32_t n = top > 300 ? 9 : 700;
		Batch		batch;

		if (!is_mine())
			continue;
		arena->reset();
		TestImage image(
			*arena, n, 70000,
			[=](uint32_t) {
				std::vector<uint64_t> pairs;
				TileLists	lists;

				for (uint32_t i = 0; i < n; i++)
					for (uint32_t j = 0; j < top - std::min(i / 2 % 4, top - 1); j++)
						pairs.push_back((uint64_t) (j + i % 3) << 16 | i);
				lists.set(n, pairs);
				return lists;
			},
			false);

		for (const uint32_t k : {1u, 10u, 1000u})
		{
			add_job(batch, image, GENIE_JOB_TOP, {{0, 70000}}).job.k = k;
			add_job(batch, image, GENIE_JOB_TOP, {{0, 5}, {5, 70000}}).job.k = k;
			Job		   &job = add_job(batch, image, GENIE_JOB_TOP, {{0, 70000}});

			job.job.k = k;
			job.job.has_after = true;
			job.job.after = GenieHit{top, 4};
		}
		add_job(batch, image, GENIE_JOB_COUNTS, {{0, 70000}});
		add_condition(add_job(batch, image, GENIE_JOB_MASK, {}), image, {{0, 70000}}, top);
		check("counts up to a counter's end", "largest count " + std::to_string(top), batch);
		cuda->ops->forget(cuda, image.image.id);
	}

	/* the same with bitmaps, whose sums are bit-sliced: every object has all of them */
	for (const uint32_t top : {15u, 16u, 255u, 256u, 700u})
	{
		const uint32_t n = 4000;
		Batch		batch;

		if (!is_mine())
			continue;
		arena->reset();
		TestImage image(
			*arena, n, top + 3,
			[=](uint32_t) {
				std::vector<uint64_t> pairs;
				TileLists	lists;

				for (uint32_t i = 0; i < n; i++)
					for (uint32_t j = i % 5 == 0; j < top; j++)
						pairs.push_back((uint64_t) j << 16 | i);
				lists.set(n, pairs);
				return lists;
			},
			false);

		for (const uint32_t k : {1u, 1000u, 4000u})
			add_job(batch, image, GENIE_JOB_TOP, {{0, top + 3}}).job.k = k;
		add_job(batch, image, GENIE_JOB_COUNTS, {{0, top + 3}});
		check("counts up to a counter's end", "bitmaps, largest count " + std::to_string(top), batch);
		cuda->ops->forget(cuda, image.image.id);
	}
}

/* Pages with a cursor until the end give every object once, in order. */
static void
paging_case()
{
	const uint32_t n = by_scale(150000u, 3000u, 3000u);
	const uint32_t k = by_scale(7000u, 500u, 900u);

	if (!is_mine())
		return;
	arena->reset();
	const auto	image = make_skewed_sets(*arena, 12, n, 400, 2, 20);
	Random		random(12);
	GenieHit	last = {UINT32_MAX, 0};
	std::vector<bool> seen(n, false);
	std::string wrong;
	uint32_t	n_seen = 0;
	uint32_t	n_pages = 0;

	kill_some(random, *image, 5);
	for (bool more = true; more && wrong.empty(); n_pages++)
	{
		Batch		batch;
		std::vector<std::vector<uint8_t>> out;
		std::vector<GenieJob> jobs;
		Job		   &job = add_job(batch, *image, GENIE_JOB_TOP, {{0, 30}, {35, 36}, {50, 90}});

		job.job.k = k;
		job.job.has_after = n_pages > 0;
		job.job.after = last;
		wrong = compare(batch);
		jobs = jobs_of(batch, out);
		if (cuda->ops->run(cuda, 1, jobs.data()) != GENIE_OK || jobs[0].status != GENIE_OK)
			wrong = "a page failed";
		for (uint32_t i = 0; i < jobs[0].n_hits && wrong.empty(); i++)
		{
			const GenieHit hit = ((const GenieHit *) jobs[0].out)[i];

			if (hit.key > last.key || (hit.key == last.key && hit.object <= last.object) || seen[hit.object])
				wrong = "out of order or twice";
			seen[hit.object] = true;
			last = hit;
			n_seen++;
		}
		more = jobs[0].n_hits == k;
	}
	report("paging with a cursor", std::to_string(n_pages) + " pages, " + std::to_string(n_seen) + " objects", wrong);
	cuda->ops->forget(cuda, image->image.id);
}

/* Jobs of all kinds over several images in one batch, and again after live bits changed. */
static void
mixed_case()
{
	std::vector<std::unique_ptr<TestImage>> images;
	Random		random(77);

	if (!is_mine())
		return;
	arena->reset();
	for (uint32_t i = 0; i < 5; i++)
		images.push_back(i % 2 ? make_uniform_sets(*arena, i, 30000 + 40000 * i, 200 << 3 * i, 3, 9 + 60 * i) :
								 make_skewed_sets(*arena, i, 20000 + 50000 * i, 900, 0, 12));
	for (uint32_t round = 0; round < 3; round++)
	{
		Batch		batch;

		for (uint32_t i = 0; i < by_scale(60u, 10u, 2u); i++)
		{
			const TestImage &image = *images[random.below(5)];

			add_random_jobs(batch, random, image, 2, Query{1 + random.below(80), 5}, {1, 10, 100, 3000});
			add_tile_jobs(batch, random, image, random.below(2), Query{10, 5});
		}
		check("mixed batch, several images", "round " + std::to_string(round), batch);
		for (const auto &image : images)
			kill_some(random, *image, 4);
		cuda->ops->forget(cuda, images[round]->image.id);
	}
	for (const auto &image : images)
		cuda->ops->forget(cuda, image->image.id);
}

/* Memory for one image at a time, for none, and too little for candidates. */
static void
memory_cases()
{
	std::vector<std::unique_ptr<TestImage>> images;
	Random		random(99);
	GenieDeviceInfo before;
	GenieDeviceInfo after;
	Batch		batch;

	if (!is_mine())
		return;
	arena->reset();
	for (uint32_t i = 0; i < 3; i++)
		images.push_back(make_uniform_sets(*arena, i, 600000, 3000, 8, 12));

	/* scratch is a quarter of the limit */
	cuda->ops->set_memory_limit(cuda, (images[0]->n_bytes + (4 << 20)) * 4 / 3);
	(void) cuda->ops->devices(cuda, &before, 1);
	for (uint32_t round = 0; round < 2; round++)
	{
		batch.clear();
		for (uint32_t i = 0; i < 3; i++)
			add_random_jobs(batch, random, *images[i], 8, Query{40, 5}, {1, 100});
		check("a limit of one image", "evicted inside a batch", batch);
	}
	(void) cuda->ops->devices(cuda, &after, 1);
	report("a limit of one image", "evictions are counted",
		   after.n_evictions >= before.n_evictions + 4 && after.image_bytes <= after.limit_bytes ? "" : "no evictions");

	/* 10 tiles of 65,536 candidates each do not fit */
	batch.clear();
	for (uint32_t i = 0; i < 3; i++)
	{
		Job &job = add_job(batch, *images[0], GENIE_JOB_TOP, make_ranges(random, *images[0], Query{100, 20}));

		job.job.k = i == 0 ? 65536 : 40000;
		if (i == 1)
			add_key_table(random, job, 5, 60000);
		if (i == 2)
			add_condition(job, *images[0], {{0, 2000}}, 2);
	}
	check("candidates that do not fit", "tiles done in several runs", batch);

	cuda->ops->set_memory_limit(cuda, 1 << 20);
	batch.clear();
	add_random_jobs(batch, random, *images[1], 4, Query{40, 5}, {10});
	{
		std::vector<std::vector<uint8_t>> out;
		std::vector<GenieJob> jobs = jobs_of(batch, out);
		const GenieStatus status = cuda->ops->run(cuda, (uint32_t) jobs.size(), jobs.data());
		bool		good = status == GENIE_OK && cuda->error[0] != '\0';

		for (const GenieJob &job : jobs)
			good = good && job.status == GENIE_STATUS_NO_ROOM;
		report("an image that does not fit", cuda->error, good ? "" : "not GENIE_STATUS_NO_ROOM");
	}
	(void) cuda->ops->devices(cuda, &after, 1);
	report("an image that does not fit", "memory was given back",
		   after.image_bytes <= after.limit_bytes ? "" : "it was not");
	cuda->ops->set_memory_limit(cuda, 0);
	check("the limit is raised again", "", batch);
	for (const auto &image : images)
		cuda->ops->forget(cuda, image->image.id);
	(void) cuda->ops->devices(cuda, &after, 1);
	report("all images are forgotten", "no device memory is left", after.image_bytes == 0 ? "" : "some is");
}

bool
stop_at_once()
{
	return true;
}

static void
interrupt_case()
{
	Batch		batch;
	std::vector<std::vector<uint8_t>> out;
	bool		good;

	if (!is_mine())
		return;
	arena->reset();
	const auto	image = make_uniform_sets(*arena, 3, 1000, 30, 3, 9);

	add_job(batch, *image, GENIE_JOB_TOP, {{0, 10}});
	std::vector<GenieJob> jobs = jobs_of(batch, out);
	cuda->interrupted = stop_at_once;
	good = cuda->ops->run(cuda, 1, jobs.data()) == GENIE_OK && jobs[0].status == GENIE_STATUS_CANCELLED;
	cuda->interrupted = NULL;
	report("interrupted", "nothing is done", good ? "" : "not GENIE_STATUS_CANCELLED");
	cuda->ops->forget(cuda, image->image.id);
}

static void
open_engine(const char *shared_bytes, uint32_t n_engines = 1, const GenieRival *rival = nullptr)
{
	GenieEngineOptions options = {};
	GenieStatus status;

	if (shared_bytes != NULL)
		setenv("GENIE_CUDA_SHARED_BYTES", shared_bytes, 1);
	options.memory_limit = 0;
	options.arena = shared_bytes == NULL ? arena->memory : NULL;
	options.arena_bytes = shared_bytes == NULL ? arena->bytes : 0;
	cuda = open_library(library, options, &status, n_engines, 1, rival);
	if (cuda == NULL)
		exit(status == GENIE_STATUS_UNAVAILABLE ? 77 : 1);
}

/* All kernels, on the device as it is. */
static void
whole_device_pass()
{
	open_engine(NULL);
	random_cases();
	bounded_cases();
	key_cases();
	bounded_key_case();
	ties_case();
	empty_tiles_case();
	boundary_cases();
	paging_case();
	mixed_case();
	lanes_cases(scale, true);
	bounds_cases();
	bounds_memory_cases();
	nearest_cases();
	nearest_failure_case();
	hash_cases();
	hash_failure_case();
	scan_cases();
	facet_cases();
	if (scale == WHOLE)
		memory_cases();
	interrupt_case();
	cuda->ops->close(cuda);
}

static void
tensor_pass(bool used)
{
	setenv("GENIE_CUDA_TENSOR_CORES", used ? "1" : "0", 1);
	open_engine(NULL);
	tensor_cases(used, true);
	if (used)
	{
		bounds_cases();
		scan_cases();
	}
	cuda->ops->close(cuda);
	unsetenv("GENIE_CUDA_TENSOR_CORES");
}

/* Thresholds from samples, however small: many of them mislead. */
static void
sample_pass(bool tensor)
{
	setenv("GENIE_CUDA_SAMPLE", "1", 1);
	setenv("GENIE_CUDA_TENSOR_CORES", tensor ? "1" : "0", 1);
	open_engine(NULL);
	if (tensor)
		tensor_cases(true, false);
	else
		lanes_cases(scale, false);
	cuda->ops->close(cuda);
	unsetenv("GENIE_CUDA_TENSOR_CORES");
	unsetenv("GENIE_CUDA_SAMPLE");
}

/* Several engines as one, on as many devices as there are.  Images are cut at small groups. */
static void
several_engines_pass()
{
	image_group_bytes = 1 << 16;
	open_engine(NULL, library_devices(library) > 1 ? library_devices(library) : 3);
	random_cases();
	ties_case();
	paging_case();
	scan_cases();
	facet_cases();
	if (scale != TINY)
	{
		bounded_cases();
		key_cases();
		boundary_cases();
		mixed_case();
		lanes_cases(QUICK, false);
		nearest_cases();
		hash_cases();
	}
	interrupt_case();
	cuda->ops->close(cuda);
	image_group_bytes = 0;
}

/* A group as pieces have it: codes alone, if it has lists and codes. */
static const GenieImageGroup *
as_piece(const GenieImageGroup *group)
{
	const GenieImageGroup *alone = genie_image_alone(group);

	return alone != nullptr ? alone : group;
}

/*
 * Images of whose pieces three fifths fit the device: all answers are right in every batch, whatever of them is there,
 * and only what is not there is copied.
 */
static void
too_large_case(const char *what, TestImage &image, uint32_t n_jobs)
{
	Random		random(5);
	GenieDeviceInfo info;
	uint64_t	largest = 0;
	uint64_t	all = 0;
	uint64_t	room;
	uint64_t	streamed;

	(void) cuda->ops->devices(cuda, &info, 1);
	streamed = info.streamed_bytes;
	for (uint32_t g = 0; g < image.image.n_groups; g++)
	{
		const GenieImageGroup *piece = as_piece(image.image.groups[g]);
		const uint64_t bytes = piece->n_bytes + piece->n_tiles * (8192 + 256);

		largest = std::max(largest, bytes);
		all += bytes;
	}
	room = std::max(largest * 3, all * 3 / 5);
	report(what, "is too large", room < image.n_bytes ? "" : "it is not");
	cuda->ops->set_memory_limit(cuda, room * 4 / 3 + 4);
	for (uint32_t round = 0; round < 4; round++)
	{
		Batch		batch;

		add_random_jobs(batch, random, image, n_jobs, Query{1 + random.below(30), 5}, {1, 10, 100});
		if (round % 2 == 1)
			add_tile_jobs(batch, random, image, 2, Query{10, 5});
		check(what, "round " + std::to_string(round), batch);
		kill_some(random, image, 10);
		(void) cuda->ops->devices(cuda, &info, 1);
		report(what, std::to_string(info.streamed_bytes) + " bytes streamed",
			   info.image_bytes > info.image_limit_bytes ? "more than the limit is there" :
				   info.streamed_bytes <= streamed       ? "nothing was streamed" :
				   info.streamed_bytes - streamed > all  ? "more than its pieces was streamed" :
														   "");
		streamed = info.streamed_bytes;
	}
	cuda->ops->forget(cuda, image.image.id);
	(void) cuda->ops->devices(cuda, &info, 1);
	report(what, "is forgotten", info.image_bytes == 0 ? "" : "some is left");
	cuda->ops->set_memory_limit(cuda, 0);
}

static void
multiload_pass()
{
	static const GenieRival nobody = {};
	const uint32_t n_tiles = by_scale(40u, 12u, 5u);

	image_group_bytes = 1 << 16;
	open_engine(NULL, 1, &nobody);
	for (const GenieImageForm form : {GENIE_IMAGE_FULL, GENIE_IMAGE_TIGHT})
	{
		if (!is_mine())
			continue;
		arena->reset();
		image_form = form;
		const auto	image = make_uniform_sets(*arena, 9, n_tiles * GENIE_TILE_OBJECTS - 99, 3000, 2, 5);

		image_form = GENIE_IMAGE_FULL;
		too_large_case(form == GENIE_IMAGE_TIGHT ? "larger than the device, sets, tight" :
												   "larger than the device, sets",
					   *image, by_scale(40u, 20u, 3u));
	}
	for (const GenieImageForm form : {GENIE_IMAGE_FULL, GENIE_IMAGE_CODES})
	{
		if (!is_mine())
			continue;
		arena->reset();
		image_form = form;
		const auto	image = make_uniform_tuples(n_tiles * GENIE_TILE_OBJECTS - 99, 6, 20);

		image_form = GENIE_IMAGE_FULL;
		for (const GenieKernelChoice choice : {GENIE_KERNELS_TILES, GENIE_KERNELS_LANES})
		{
			cuda->ops->set_kernels(cuda, choice);
			too_large_case(form == GENIE_IMAGE_CODES		   ? "larger than the device, codes alone" :
							   choice == GENIE_KERNELS_TILES ? "larger than the device, tuples by tiles" :
															   "larger than the device, tuples by lanes",
						   *image, by_scale(200u, 140u, 3u));
		}
		cuda->ops->set_kernels(cuda, GENIE_KERNELS_AUTO);
	}
	scan_too_large_case();
	mixed_case();
	interrupt_case();
	cuda->ops->close(cuda);
	image_group_bytes = 0;
}

/* All kinds of jobs on codes alone, before lanes have swizzled them, and then. */
static void
codes_cases()
{
	struct Shape
	{
		uint32_t	n_objects;
		uint32_t	n_dimensions;
		uint32_t	n_values;
		Query		query;
	};
	const std::vector<Shape> shapes = {
		{1, 2, 3, {2, 2}},			{1000, 3, 300, {3, 200}},	{66000, 14, 9, {12, 6}},
		{70000, 33, 40, {50, 9}},	{20000, 200, 300, {900, 40}}, {10000, 300, 14, {700, 9}},
	};

	for (const Shape &shape : shapes)
	{
		Random		random(shape.n_objects);

		if (!is_mine())
			continue;
		arena->reset();
		const auto image = make_uniform_tuples(by_scale(shape.n_objects, shape.n_objects,
														std::min(shape.n_objects, 9000u)),
											   shape.n_dimensions, shape.n_values);

		kill_some(random, *image, 7);
		for (const GenieKernelChoice choice : {GENIE_KERNELS_TILES, GENIE_KERNELS_LANES, GENIE_KERNELS_TILES})
		{
			Batch		batch;

			cuda->ops->set_kernels(cuda, choice);
			add_random_jobs(batch, random, *image, by_scale(60u, 40u, 8u), shape.query, {1, 10, 100, 3000});
			add_tile_jobs(batch, random, *image, by_scale(12u, 6u, 3u), shape.query);
			add_facet_jobs(batch, random, *image, 2, shape.n_dimensions);
			check(choice == GENIE_KERNELS_TILES ? "codes alone, by tiles" : "codes alone, by lanes",
				  std::to_string(image->image.n_objects) + " objects, " + std::to_string(shape.n_dimensions) +
					  " dimensions of " + std::to_string(shape.n_values),
				  batch);
		}
		cuda->ops->set_kernels(cuda, GENIE_KERNELS_AUTO);
		cuda->ops->forget(cuda, image->image.id);
	}
}

static void
codes_pass()
{
	image_form = GENIE_IMAGE_CODES;
	open_engine(NULL);
	codes_cases();
	lanes_cases(scale == WHOLE ? QUICK : scale, true);
	cuda->ops->close(cuda);
	image_form = GENIE_IMAGE_FULL;
}

/* Tight images: all that counts in lists, in whole tiles and in parts of them. */
static void
tight_pass()
{
	image_form = GENIE_IMAGE_TIGHT;
	for (const char *shared_bytes : {(const char *) NULL, "49152"})
	{
		open_engine(shared_bytes);
		boundary_cases();
		if (shared_bytes == NULL)
		{
			random_cases();
			facet_cases();
		}
		if (scale != TINY)
			ties_case();
		if (scale != TINY && shared_bytes == NULL)
		{
			bounded_cases();
			key_cases();
			bounded_key_case();
			empty_tiles_case();
			paging_case();
			mixed_case();
		}
		cuda->ops->close(cuda);
	}
	unsetenv("GENIE_CUDA_SHARED_BYTES");
	image_form = GENIE_IMAGE_FULL;
}

int
stage(const GenieSegmentImage &image, const GenieQuantizedVectors *vectors, uint32_t first_tile, uint32_t end_tile)
{
	GenieJob	job = {};

	job.kind = GENIE_JOB_STAGE;
	job.image = &image;
	job.vectors = vectors;
	job.first_tile = first_tile;
	job.n_tiles = end_tile - first_tile;
	(void) cuda->ops->run(cuda, 1, &job);
	return job.status == GENIE_OK ? (int) job.n_hits : -1;
}

/*
 * An image that is on the device alone: it comes group by group, is counted by heads, stays beside what needs room, and
 * goes when it is forgotten or there is less room.
 */
static void
on_device_case(const char *what, TestImage &image, const Query &query, uint32_t n_dimensions)
{
	Random		random(14);
	const uint32_t n_groups = image.image.n_groups;
	const GenieImageGroup *const *whole = image.image.groups;
	std::vector<std::vector<uint8_t>> memory(n_groups);
	std::vector<const GenieImageGroup *> groups;
	GenieSegmentImage alone = image.image;
	GenieDeviceInfo info;
	bool		good = true;

	for (uint32_t g = 0; g < n_groups; g++)
		groups.push_back(image.head_of(g, memory[g]));
	alone.groups = groups.data();
	report(what, "room is taken", stage(alone, nullptr, 0, alone.n_tiles) == 0 ? "" : "there is none");
	for (uint32_t g = 0; g < n_groups; g++)
	{
		const std::vector<uint8_t> moved((const uint8_t *) whole[g], (const uint8_t *) whole[g] + whole[g]->n_bytes);

		good = good && !cuda->ops->has(cuda, alone.id);
		groups[g] = (const GenieImageGroup *) moved.data();
		good = good && stage(alone, nullptr, whole[g]->first_tile, whole[g]->first_tile + whole[g]->n_tiles) == 1;
		groups[g] = (const GenieImageGroup *) memory[g].data();
	}
	report(what, std::to_string(n_groups) + " groups are copied",
		   good && cuda->ops->has(cuda, alone.id) ? "" : "not one by one");
	report(what, "all are there", stage(alone, nullptr, 0, alone.n_tiles) == (int) n_groups ? "" : "some are not");

	/* by heads, with another image that wants to be there, and without room for more of them */
	for (uint32_t round = 0; round < 3; round++)
	{
		Batch		batch;
		std::vector<std::vector<uint8_t>> outs;
		std::vector<std::vector<uint8_t>> outs_cuda;
		std::string differs;

		(void) cuda->ops->devices(cuda, &info, 1);
		cuda->ops->set_memory_limit(cuda, round == 1 ? info.staying_bytes * 2 : 0);
		add_random_jobs(batch, random, image, by_scale(40u, 20u, 6u), query, {1, 10, 100});
		add_tile_jobs(batch, random, image, by_scale(8u, 4u, 2u), query);
		add_facet_jobs(batch, random, image, 2, n_dimensions);

		std::vector<GenieJob> by_cpu = jobs_of(batch, outs);
		std::vector<GenieJob> by_cuda = jobs_of(batch, outs_cuda);

		(void) run_on_cpu(by_cpu, 2);
		for (GenieJob &job : by_cuda)
			job.image = &alone;
		(void) cuda->ops->run(cuda, (uint32_t) by_cuda.size(), by_cuda.data());
		for (size_t j = 0; j < by_cpu.size() && differs.empty(); j++)
			if (!genie_job_adds_up(by_cpu[j].kind) || image_form != GENIE_IMAGE_CODES)	/* no facets of codes */
				differs = difference(by_cpu[j], by_cuda[j]);
		report(what, "counted by heads, round " + std::to_string(round), differs);
		kill_some(random, image, 5);
		alone.live_version = image.image.live_version;
	}
	cuda->ops->set_memory_limit(cuda, 0);

	/* less room than it has */
	(void) cuda->ops->devices(cuda, &info, 1);
	cuda->ops->set_memory_limit(cuda, info.staying_bytes / 2);
	{
		GenieJob	job = {};
		std::vector<uint8_t> counts(2 * GENIE_TILE_OBJECTS);
		const GenieRankRange range = {0, 1};

		job.kind = GENIE_JOB_COUNTS;
		job.image = &alone;
		job.n_tiles = 1;
		job.query = {1, &range, 1, nullptr};
		job.out = counts.data();
		(void) cuda->ops->run(cuda, 1, &job);
		report(what, "there is less room",
			   job.status == GENIE_STATUS_NO_ROOM && !cuda->ops->has(cuda, alone.id) ? "" : "it is there");
	}
	report(what, "nor for it again", stage(alone, nullptr, 0, alone.n_tiles) == -1 ? "" : "there is");
	cuda->ops->set_memory_limit(cuda, 0);
	report(what, "room again", stage(alone, nullptr, 0, alone.n_tiles) == 0 ? "" : "there is none");
	cuda->ops->forget(cuda, alone.id);
	(void) cuda->ops->devices(cuda, &info, 1);
	report(what, "is forgotten", info.image_bytes == 0 ? "" : "some is left");
}

/* What is on devices alone: images of lists, and of codes by tiles and lanes, and vectors; on one engine, and on several. */
static void
on_device_pass()
{
	static const GenieRival nobody = {};
	const uint32_t n_objects = by_scale(12u, 6u, 2u) * GENIE_TILE_OBJECTS - 99;

	image_group_bytes = 1 << 16;
	for (const uint32_t n_engines : {1u, 3u})
	{
		open_engine(NULL, n_engines, &nobody);
		arena->reset();
		image_form = GENIE_IMAGE_TIGHT;
		on_device_case("on the device alone, sets", *make_uniform_sets(*arena, 9, n_objects, 3000, 2, 5), Query{20, 5},
					   0);
		for (const GenieKernelChoice choice : {GENIE_KERNELS_TILES, GENIE_KERNELS_LANES})
		{
			arena->reset();
			image_form = GENIE_IMAGE_CODES;
			cuda->ops->set_kernels(cuda, choice);
			on_device_case("on the device alone, codes", *make_uniform_tuples(n_objects, 6, 20), Query{10, 5}, 6);
		}
		image_form = GENIE_IMAGE_FULL;
		scan_on_device_case();
		cuda->ops->close(cuda);
	}
	image_group_bytes = 0;
}

/* As on devices of less shared memory, with tiles in 2, 4 or 8 parts.  Images are in memory that is not pinned. */
static void
little_shared_pass(const char *shared_bytes)
{
	if (scale != WHOLE && strcmp(shared_bytes, "49152") != 0)
		return;
	printf("-- %s bytes of shared memory a block\n", shared_bytes);
	open_engine(shared_bytes);
	boundary_cases();
	if (scale == WHOLE)
		random_cases();
	ties_case();
	lanes_cases(scale == WHOLE ? QUICK : scale, false);
	cuda->ops->close(cuda);
	unsetenv("GENIE_CUDA_SHARED_BYTES");	/* of no later pass */
}

/* Searches in graphs, on the device as it is. */
static void
graph_pass()
{
	open_engine(NULL);
	graph_cases();
	cuda->ops->close(cuda);
}

/* Does pass n if it is asked for, and prints the seconds. */
static void
run_pass(int n, const std::function<void()> &pass)
{
	const auto	start = std::chrono::steady_clock::now();

	if (only_pass != 0 && only_pass != n)
		return;
	pass();
	printf("-- pass %d: %.1f s, %u cases so far, %u failed\n", n,
		   std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), n_cases, n_failed);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	int			n = 1;
	bool		good = argc >= 2;

	for (int i = 2; i < argc; i++)
		if (strcmp(argv[i], "--quick") == 0)
			scale = QUICK;
		else if (strcmp(argv[i], "--tiny") == 0)
			scale = TINY;
		else if (sscanf(argv[i], "--part=%u/%u", &part, &n_parts) == 2)
			good = good && part >= 1 && part <= n_parts;
		else if (sscanf(argv[i], "--pass=%d", &only_pass) != 1)
			good = false;
	if (!good)
	{
		fprintf(stderr, "usage: unit_cuda LIBRARY [--quick | --tiny] [--pass=N] [--part=I/N]\n");
		return 2;
	}
	library = argv[1];
	arena = new Arena((size_t) by_scale(1024, 256, 256) << 20);
	if (scale == TINY)
		setenv("GENIE_CUDA_MEASURE", "0", 1);

	run_pass(n++, whole_device_pass);
	for (const bool used : {true, false})
		run_pass(n++, [=] { tensor_pass(used); });
	for (const char *shared_bytes : {"101376", "65536", "49152", "24576"})
		run_pass(n++, [=] { little_shared_pass(shared_bytes); });
	for (const bool tensor : {true, false})
		run_pass(n++, [=] { sample_pass(tensor); });
	run_pass(n++, several_engines_pass);
	run_pass(n++, multiload_pass);
	run_pass(n++, codes_pass);
	run_pass(n++, tight_pass);
	run_pass(n++, on_device_pass);
	run_pass(n++, graph_pass);
	printf("%u cases, %u failed\n", n_cases, n_failed);
	return n_failed > 0;
}
