/*
 * unit_cuda_lanes.cpp
 *	  Bit lanes of the CUDA engine against the CPU engine; and does the engine count the way that it is told?
 *
 * Objects have at most one keyword a dimension.  Each case is forced to lanes, forced to tiles, and left to the
 * engine's choice.  Answers must be the same to the last tie.
 */
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "unit_cuda.h"

/* How objects' values are drawn. */
enum Order
{
	UNIFORM,
	SKEWED,						/* small values are frequent */
	ALIKE,						/* all objects are equal: nothing but ties */
	RISING,						/* later objects match more, for which lanes have no room */
	CLUSTERED					/* neighbours are alike, so no sample is like the whole */
};

constexpr uint32_t CLUSTER = 100;	/* objects that are alike */

struct LaneShape
{
	const char *name;
	uint32_t	n_objects;
	std::vector<uint32_t> n_values; /* of each dimension */
	uint32_t	missing;		/* one value in this many is missing; 0: none is */
	uint32_t	one_dead_in;	/* 0: all live */
	Order		order;
	uint32_t	n_queries;
	uint32_t	width;			/* values that a query asks for in a dimension, at most */
	std::vector<uint32_t> ks;
	bool		large;
	bool		from_start = false; /* no query has a cursor */
};

static uint32_t
draw_value(Random &random, const LaneShape &shape, uint32_t object, uint32_t n)
{
	if (shape.order == ALIKE)
		return n / 2;
	if (shape.order == CLUSTERED && random.below(8) > 0)
		return Random(object / CLUSTER * UINT64_C(65537) + n).below(n);
	if (shape.order == SKEWED)
		return random.below(1 + random.below(n));
	if (shape.order == RISING && random.below(shape.n_objects) < object)
		return 0;
	return random.below(n);
}

static std::unique_ptr<TestImage>
make_tuples(Arena &arena, const LaneShape &shape, uint64_t seed)
{
	std::vector<uint32_t> first_ranks;
	uint32_t	n_keywords = 0;

	for (const uint32_t n : shape.n_values)
	{
		first_ranks.push_back(n_keywords);
		n_keywords += n;
	}
	return std::unique_ptr<TestImage>(new TestImage(
		arena, shape.n_objects, n_keywords,
		[&](uint32_t t) {
			Random		random(seed * 1000003 + t);
			const uint32_t n = std::min(shape.n_objects - t * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS);
			std::vector<uint64_t> pairs;
			TileLists	lists;

			for (uint32_t i = 0; i < n; i++)
				for (size_t d = 0; d < shape.n_values.size(); d++)
					if (shape.missing == 0 || random.below(shape.missing) > 0)
					{
						const uint32_t value = draw_value(random, shape, t * GENIE_TILE_OBJECTS + i, shape.n_values[d]);

						pairs.push_back((uint64_t) (first_ranks[d] + value) << 16 | i);
					}
			lists.set(n, pairs);
			return lists;
		},
		false, first_ranks));
}

std::unique_ptr<TestImage>
make_uniform_tuples(uint32_t n_objects, uint32_t n_dimensions, uint32_t n_values)
{
	const LaneShape shape = {"", n_objects, std::vector<uint32_t>(n_dimensions, n_values), 0, 0, UNIFORM, 0, 0,
							 {}, false};

	return make_tuples(*arena, shape, n_objects);
}

/* A query of a range in most dimensions. */
static std::vector<GenieRankRange>
make_query(Random &random, const LaneShape &shape, uint32_t some_in)
{
	std::vector<GenieRankRange> ranges;
	uint32_t	rank = 0;

	for (const uint32_t n : shape.n_values)
	{
		const uint32_t value = draw_value(random, shape, 0, n);
		const uint32_t end = std::min(n, value + 1 + random.below(shape.width));

		if (random.below(some_in) > 0 || some_in == 1)
			ranges.push_back(GenieRankRange{rank + value, rank + end});
		rank += n;
	}
	return ranges;
}

/* Jobs with all that they point to. */
struct LaneBatch
{
	std::vector<std::vector<GenieRankRange>> ranges;
	std::vector<std::vector<GenieHit>> hits;
	std::vector<GenieJob> jobs;
};

/* later_k: the k of the second half of the queries, unless it is 0 */
static LaneBatch
make_batch(const LaneShape &shape, const TestImage &image, uint64_t seed, uint32_t later_k = 0)
{
	LaneBatch	batch;
	Random		random(seed);

	for (uint32_t i = 0; i < shape.n_queries; i++)
	{
		GenieJob	job = {};

		batch.ranges.push_back(i == 3 ? std::vector<GenieRankRange>() : make_query(random, shape, 1 + i % 7));
		job.kind = GENIE_JOB_TOP;
		job.image = &image.image;
		job.n_tiles = image.image.n_tiles;
		if (!shape.from_start && job.n_tiles > 1 && i % 3 == 0) /* all but the first half */
			job.n_tiles -= job.first_tile = job.n_tiles / 2;
		job.query.max_count = std::max(1u, (uint32_t) batch.ranges.back().size());
		job.k = shape.ks[random.below((uint32_t) shape.ks.size())];
		if (later_k > 0 && i >= shape.n_queries / 2)
			job.k = later_k;
		job.min_key = random.below(4) == 0 ? 1 + random.below(job.query.max_count) : 1;
		if (!shape.from_start && random.below(4) == 0)
		{
			job.has_after = true;
			job.after.key = 1 + random.below(job.query.max_count);
			job.after.object = random.below(shape.n_objects);
		}
		batch.jobs.push_back(job);
	}
	for (uint32_t i = 0; i < shape.n_queries; i++)
	{
		batch.hits.emplace_back(batch.jobs[i].k, GenieHit{UINT32_MAX, UINT32_MAX});
		batch.jobs[i].query.n_ranges = (uint32_t) batch.ranges[i].size();
		batch.jobs[i].query.ranges = batch.ranges[i].data();
	}
	for (uint32_t i = 0; i < shape.n_queries; i++)
		batch.jobs[i].out = batch.hits[i].data();
	return batch;
}

/* Puts the results into the arena, one behind the other as in a request; fetch_results() copies them to hits. */
static void
put_in_arena(LaneBatch &batch)
{
	const auto room = [](const GenieJob &job) {
		return (job.k * sizeof(GenieHit) + GENIE_ENGINE_RESULT_ALIGN - 1) / GENIE_ENGINE_RESULT_ALIGN *
			GENIE_ENGINE_RESULT_ALIGN;
	};
	size_t		n = 0;
	uint8_t    *at;

	for (const GenieJob &job : batch.jobs)
		n += room(job);
	at = (uint8_t *) arena->take(n);
	memset(at, 0xA5, n);
	for (GenieJob &job : batch.jobs)
	{
		job.out = at;
		at += room(job);
	}
}

static void
fetch_results(LaneBatch &batch)
{
	for (size_t i = 0; i < batch.jobs.size(); i++)
		memcpy(batch.hits[i].data(), batch.jobs[i].out, batch.jobs[i].n_hits * sizeof(GenieHit));
}

static std::string
first_difference(const LaneBatch &right, const LaneBatch &other)
{
	for (size_t i = 0; i < right.jobs.size(); i++)
	{
		const GenieJob &a = right.jobs[i];
		const GenieJob &b = other.jobs[i];

		if (b.status != GENIE_OK)
			return "job " + std::to_string(i) + " has status " + std::to_string((int) b.status);
		if (a.n_hits != b.n_hits)
			return "job " + std::to_string(i) + ": " + std::to_string(b.n_hits) + " hits, not " +
				std::to_string(a.n_hits);
		for (uint32_t h = 0; h < a.n_hits; h++)
			if (right.hits[i][h].key != other.hits[i][h].key || right.hits[i][h].object != other.hits[i][h].object)
				return "job " + std::to_string(i) + ", hit " + std::to_string(h) + ": (" +
					std::to_string(other.hits[i][h].key) + ", " + std::to_string(other.hits[i][h].object) + "), not (" +
					std::to_string(right.hits[i][h].key) + ", " + std::to_string(right.hits[i][h].object) + ")";
	}
	return "";
}

/* How a shape's queries must be counted if lanes are forced. */
struct Way
{
	bool		all;			/* none is given back to tiles */
	bool		may_lanes;
	bool		may_tensor;
};

/* How many jobs have no cursor; those with one are for tiles. */
static uint64_t
n_from_start(const LaneBatch &batch)
{
	return (uint64_t) std::count_if(batch.jobs.begin(), batch.jobs.end(),
									[](const GenieJob &job) { return !job.has_after; });
}

/* What is wrong with the way a batch was counted; "": nothing. */
static std::string
wrong_way(const GenieEngineChoices &before, const GenieEngineChoices &now, GenieKernelChoice choice, const Way &way,
		  uint64_t n_queries)
{
	const uint64_t n_lanes = now.n_lanes - before.n_lanes;
	const uint64_t n_tensor = now.n_tensor - before.n_tensor;

	if (choice == GENIE_KERNELS_TILES && n_lanes + n_tensor > 0)
		return "lanes were used";
	if (choice == GENIE_KERNELS_LANES &&
		((way.all && n_lanes + n_tensor != n_queries) || (!way.may_lanes && n_lanes > 0) ||
		 (!way.may_tensor && n_tensor > 0)))
		return "lanes were used for " + std::to_string(n_lanes) + ", tensor cores for " + std::to_string(n_tensor);
	if (choice == GENIE_KERNELS_LANES && !way.may_lanes && strstr(now.reason, "tensor cores") == NULL)
		return std::string("tensor cores are not the reason: ") + now.reason;
	return "";
}

/* The shape's queries are tallied, a third of them among other objects than the live ones: each way must give what the CPU does, and lanes take all of them if they can. */
static void
tally_case(const LaneShape &shape, const Way &way, const TestImage &image)
{
	LaneBatch	right = make_batch(shape, image, 17);
	Random		random(23);
	std::map<uint32_t, std::vector<uint64_t>> live; /* by the first tile */

	for (size_t i = 0; i < right.jobs.size(); i++)
	{
		GenieJob   &job = right.jobs[i];

		job.kind = GENIE_JOB_TALLY;
		if (i % 3 != 1)
			continue;
		if (live.find(job.first_tile) == live.end())
			live[job.first_tile] = make_live(random, image, job.first_tile, job.n_tiles);
		job.live = live[job.first_tile].data();
	}

	std::vector<GenieJob> jobs = right.jobs;

	(void) run_on_cpu(right.jobs, 16);
	for (const GenieKernelChoice choice : {GENIE_KERNELS_LANES, GENIE_KERNELS_TILES})
	{
		const GenieEngineChoices before = cuda->choices;
		std::string wrong;

		cuda->ops->set_kernels(cuda, choice);
		if (cuda->ops->run(cuda, (uint32_t) jobs.size(), jobs.data()) != GENIE_OK)
			wrong = cuda->error;
		for (size_t i = 0; i < jobs.size() && wrong.empty(); i++)
			if (jobs[i].status != GENIE_OK || jobs[i].n_hits != right.jobs[i].n_hits)
				wrong = "job " + std::to_string(i) + " has status " + std::to_string((int) jobs[i].status) + ": " +
					std::to_string(jobs[i].n_hits) + ", not " + std::to_string(right.jobs[i].n_hits);
		if (wrong.empty())
			wrong = wrong_way(before, cuda->choices, choice, Way{way.all, true, false}, jobs.size());
		report(shape.name,
			   std::string("tallied by ") + (choice == GENIE_KERNELS_LANES ? "lanes" : "tiles") + ", " +
				   std::to_string(jobs.size()) + " queries",
			   wrong);
	}
}

/* One shape by lanes, by tiles, and as the engine chooses. */
static void
lanes_case(const LaneShape &shape, const Way &way)
{
	Random		random(shape.n_objects);

	arena->reset();
	const auto	image = make_tuples(*arena, shape, shape.n_objects + shape.n_values.size());

	if (!genie_image_has_codes(&image->image))
		report(shape.name, "the image", "it has no codes");
	for (uint32_t i = 0; i < shape.n_objects && shape.one_dead_in > 0; i++)
		if (random.below(shape.one_dead_in) == 0)
			image->set_live(i, false);
	image->live_changed();

	LaneBatch	right = make_batch(shape, *image, 17);

	(void) run_on_cpu(right.jobs, 16);
	for (const GenieKernelChoice choice : {GENIE_KERNELS_LANES, GENIE_KERNELS_TILES, GENIE_KERNELS_AUTO})
	{
		const char *name = choice == GENIE_KERNELS_LANES ? "lanes" : choice == GENIE_KERNELS_TILES ? "tiles" : "auto";
		const GenieEngineChoices before = cuda->choices;
		LaneBatch	batch = make_batch(shape, *image, 17);
		std::string wrong;

		if (choice != GENIE_KERNELS_TILES)
			put_in_arena(batch);
		cuda->ops->set_kernels(cuda, choice);
		if (cuda->ops->run(cuda, (uint32_t) batch.jobs.size(), batch.jobs.data()) != GENIE_OK)
			wrong = cuda->error;
		else
		{
			if (choice != GENIE_KERNELS_TILES)
				fetch_results(batch);
			wrong = first_difference(right, batch);
		}
		if (wrong.empty())
			wrong = wrong_way(before, cuda->choices, choice, way, n_from_start(batch));
		report(shape.name,
			   std::string(name) + ", " + std::to_string(shape.n_queries) + " queries, " +
				   std::to_string(shape.n_objects) + " objects, " + std::to_string(shape.n_values.size()) +
				   " dimensions",
			   wrong);
	}
	tally_case(shape, way, *image);
	cuda->ops->set_kernels(cuda, GENIE_KERNELS_AUTO);
	cuda->ops->forget(cuda, image->image.id);
}

/* n_dimensions dimensions of n values, and others behind them */
static std::vector<uint32_t>
dimensions(uint32_t n, uint32_t n_values, const std::vector<uint32_t> &others = {})
{
	std::vector<uint32_t> all(n, n_values);

	all.insert(all.begin() + n / 2, others.begin(), others.end());
	return all;
}

/* All shapes.  way: how those that lanes have room for must be counted. */
static void
run_shapes(const std::vector<LaneShape> &shapes, Scale of_scale, const Way &way)
{
	for (const LaneShape &shape : shapes)
	{
		LaneShape	small = shape;
		Way			of_shape = way;

		if ((shape.large && of_scale != WHOLE) || !is_mine())
			continue;
		if (of_scale != WHOLE)
		{
			small.n_objects = std::min(shape.n_objects, of_scale == QUICK ? 20000u : 5000u);
			small.n_queries = std::min(shape.n_queries, of_scale == QUICK ? 40u : 20u);
		}
		of_shape.all = way.all && shape.order != RISING && shape.order != CLUSTERED && shape.ks[0] <= 2048;
		lanes_case(small, of_shape);
	}
}

/* A batch that does not fit the limit of memory at once: a few queries, the last ones, have large results. */
static void
limit_case()
{
	const LaneShape shape = {"lanes: passes", 20000, dimensions(20, 30), 0, 0, UNIFORM, 256, 1, {10}, false, true};
	std::string wrong;

	arena->reset();
	const auto	image = make_tuples(*arena, shape, 1);
	LaneBatch	right = make_batch(shape, *image, 17, 2048);
	LaneBatch	batch = make_batch(shape, *image, 17, 2048);

	(void) run_on_cpu(right.jobs, 16);
	cuda->ops->set_memory_limit(cuda, 100 << 20);
	cuda->ops->set_kernels(cuda, GENIE_KERNELS_LANES);
	if (cuda->ops->run(cuda, (uint32_t) batch.jobs.size(), batch.jobs.data()) != GENIE_OK)
		wrong = cuda->error;
	else
		wrong = first_difference(right, batch);
	report(shape.name, "k of 10, then of 2048, in 100 MB", wrong);
	cuda->ops->set_kernels(cuda, GENIE_KERNELS_AUTO);
	cuda->ops->set_memory_limit(cuda, 0);
	cuda->ops->forget(cuda, image->image.id);
}

void
lanes_cases(Scale of_scale, bool all)
{
	const std::vector<uint32_t> attributes = {74, 9, 528, 16, 16, 7, 15, 6, 5, 2, 77, 92, 96, 42};
	const std::vector<uint32_t> table = {1024, 9, 1024, 16, 1024, 7, 15, 6, 5, 2, 1000};
	const std::vector<uint32_t> ks = {1, 10, 100};
	const std::vector<LaneShape> shapes = {
		{"lanes: one object", 1, {3, 4}, 0, 0, UNIFORM, 2, 1, {1, 5}, false},
		{"lanes: two dimensions", 1000, {2, 300}, 0, 9, UNIFORM, 40, 3, ks, false},
		{"lanes: a tuple", 70000, attributes, 20, 10, SKEWED, 130, 50, ks, false},
		{"lanes: a tuple, one query", 66000, attributes, 0, 0, UNIFORM, 1, 50, {100}, false},
		{"lanes: a table", 100001, table, 10, 3, UNIFORM, 129, 100, {1, 100, 1000, 2048}, false},
		{"lanes: 4-bit codes", 65537, dimensions(40, 14), 5, 0, UNIFORM, 64, 3, ks, false},
		{"lanes: 5 of each width", 20000, dimensions(5, 9, {200, 30, 16, 255, 100, 256, 300, 257, 400, 256}), 3, 2,
		 UNIFORM, 300, 40, ks, false},
		{"lanes: signatures", 66000, dimensions(237, 67), 0, 7, SKEWED, 200, 1, ks, false},
		{"lanes: 300 dimensions", 30000, dimensions(260, 13, dimensions(40, 120)), 9, 0, SKEWED, 90, 2, ks, false},
		{"lanes: 4,095 dimensions", 200, dimensions(4095, 1), 0, 0, ALIKE, 5, 1, {1, 10}, false, true},
		{"lanes: more than 255 match", 9000, dimensions(300, 3), 30, 0, SKEWED, 90, 2, ks, false},
		{"lanes: all alike", 200000, dimensions(14, 6), 0, 5, ALIKE, 60, 6, {1, 100, 2000}, false},
		{"lanes: rising counts", 300000, dimensions(14, 40), 0, 0, RISING, 60, 1, ks, false},
		{"lanes: clusters", 200000, dimensions(20, 40), 0, 9, CLUSTERED, 60, 1, {10, 100, 300, 2000}, false},
		{"lanes: all missing", 5000, dimensions(3, 20), 2, 0, UNIFORM, 20, 1, {5000, 100}, false},
		{"lanes: 2,048 queries", 300000, attributes, 0, 11, UNIFORM, 2048, 30, ks, true},
		{"lanes: 2,500 signatures", 400000, dimensions(100, 67), 0, 0, UNIFORM, 2500, 1, {10, 100, 1000}, true},
		{"lanes: a sample",
		 2000000,
		 dimensions(24, 20),
		 40,
		 20,
		 UNIFORM,
		 1024,
		 3,
		 {1, 100, 200, 775, 2048},
		 true,
		 true},
		{"lanes: many alike", 1100000, attributes, 0, 0, SKEWED, 56, 1, {10, 200}, true, true},
		{"lanes: 3 million tuples", 3000000, attributes, 50, 50, SKEWED, 1024, 50, ks, true},
	};

	/* objects of more keywords than a count's planes hold */
	const std::vector<LaneShape> others = {
		{"lanes: 4,096 dimensions, by tiles", 200, dimensions(4096, 1), 0, 0, ALIKE, 5, 1, {1, 10}, false, true},
	};

	run_shapes(shapes, of_scale, Way{all, true, true});
	run_shapes(others, of_scale, Way{false, true, true});
	if (all && is_mine())
		limit_case();
}

void
tensor_cases(bool used, bool all)
{
	const std::vector<uint32_t> ks = {1, 10, 100};
	/* all objects in one launch, or queries from the start: there is room for all events */
	const std::vector<LaneShape> shapes = {
		{"tensor: one dimension", 2000, {14}, 0, 9, UNIFORM, 5, 4, ks, false},
		{"tensor: half a row", 2048, dimensions(8, 8), 6, 5, UNIFORM, 129, 3, ks, false},
		{"tensor: a tuple", 2047, dimensions(14, 8), 9, 20, SKEWED, 1100, 3, ks, false},
		{"tensor: 14 values", 2001, dimensions(15, 14), 4, 7, UNIFORM, 130, 15, ks, false},
		{"tensor: one step", 1999, dimensions(16, 14), 0, 0, UNIFORM, 1, 2, {100}, false},
		{"tensor: a step and one", 33, dimensions(17, 9), 3, 3, SKEWED, 64, 4, ks, false},
		{"tensor: 31 dimensions", 1031, dimensions(31, 12), 0, 4, UNIFORM, 127, 3, {1, 100, 1000}, false},
		{"tensor: one strip", 1024, dimensions(32, 14), 2, 0, UNIFORM, 128, 3, ks, false},
		{"tensor: a strip and one", 2000, dimensions(33, 3), 2, 6, SKEWED, 200, 2, ks, false},
		{"tensor: values of all numbers",
		 2048,
		 {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14, 7, 1, 8, 2, 14},
		 5,
		 3,
		 UNIFORM,
		 150,
		 5,
		 ks,
		 false},
		{"tensor: all alike", 2048, dimensions(14, 6), 0, 5, ALIKE, 60, 6, {1, 100, 2000}, false},
		{"tensor: more than 255 match", 2048, dimensions(300, 3), 30, 0, SKEWED, 90, 2, ks, false},
		{"tensor: tuples", 131073, dimensions(14, 8), 9, 20, SKEWED, 1100, 3, ks, false, true},
		{"tensor: 15 dimensions", 70000, dimensions(15, 14), 4, 7, UNIFORM, 130, 15, ks, false, true},
		{"tensor: 237 dimensions", 66000, dimensions(237, 14), 8, 12, SKEWED, 257, 2, ks, false, true},
		{"tensor: ties", 200000, dimensions(14, 6), 0, 5, ALIKE, 60, 6, {1, 100, 2000}, false, true},
		{"tensor: rising counts", 300000, dimensions(30, 14), 0, 0, RISING, 60, 1, ks, false},
		{"tensor: clusters", 200000, dimensions(30, 14), 0, 9, CLUSTERED, 60, 1, {10, 100, 300, 2000}, false},
		{"tensor: a sample", 2000000, dimensions(40, 9), 9, 50, UNIFORM, 1024, 3, {1, 100, 200, 775, 2048}, true, true},
		{"tensor: 2,048 queries", 1000000, dimensions(60, 14), 20, 30, SKEWED, 2048, 3, ks, true, true},
	};
	/* one more value than there are bits for */
	const std::vector<LaneShape> others = {
		{"tensor: 15 values, by lanes", 2001, dimensions(15, 14, {15}), 4, 7, UNIFORM, 130, 15, ks, false},
	};
	const bool	able = strstr(cuda->choices.constants, "tensor cores") != NULL;

	report("tensor: told", used ? "to use them" : "not to", able && !used ? "they are measured" : "");
	run_shapes(shapes, scale, Way{all, !(used && able), used && able});
	run_shapes(others, scale, Way{all, true, false});
}
