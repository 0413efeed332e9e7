/*
 * unit_cuda_scan.cpp
 *	  SCAN jobs on the GPU: the same hits as the CPU engine's, bit by bit; declined where there is no room.
 *
 * Segments have no keywords, as those of an index of vectors alone.
 */
#include <cmath>
#include <cstdlib>
#include <limits>

#include "genie_proximity_build.h"
#include "unit_cuda.h"

constexpr uint32_t POOL = 61;		/* vectors of a segment: objects have the same ones, so keys are equal often */

/* By L1, some elements are outside the range, and some records have one of their own. */
static GenieValueShape
shape_of(GenieMetric metric, uint32_t n_dimensions, const float *centre)
{
	GenieValueShape shape = {};

	shape.metric = metric;
	shape.n_dimensions = n_dimensions;
	shape.centre = centre;
	if (metric == GENIE_METRIC_L1 || metric == GENIE_METRIC_PIVOTS)
	{
		shape.offset = -0.9f;
		shape.step = 1.7f / (metric == GENIE_METRIC_L1 ? 255 : GENIE_VALUE_PIVOT_MAX);
		shape.own_ranges = true;
	}
	return shape;
}

/* A value of these elements; a text has as many bytes, and a length of its own. */
static GenieVector
value_of(GenieMetric metric, Random &random, std::vector<float> &elements)
{
	const uint32_t n = (uint32_t) elements.size();
	uint8_t    *codes;

	if (metric != GENIE_METRIC_EDIT)
		return GenieVector{elements.data(), metric == GENIE_METRIC_PIVOTS ? n / GENIE_VALUE_PIVOT_BYTES : n, false};
	elements.resize(std::max(n, (uint32_t) GENIE_VALUE_PATTERN_MAX));
	codes = (uint8_t *) elements.data();
	for (uint32_t i = 0; i < GENIE_VALUE_PATTERN_MAX; i++)
		codes[i] = (uint8_t) (250 + random.below(4));
	return GenieVector{codes, random.below(4) == 0 ? random.below(300) : random.below(n + 1), false};
}

struct Segment
{
	GenieSegmentImage image;
	GenieQuantizedVectors vectors;
	std::vector<uint64_t> live;
	std::vector<std::vector<uint8_t>> records;
	std::vector<const void *> tiles;

	/* pool: how many different vectors there are; 0: all are different */
	Segment(uint64_t id, GenieMetric metric, uint32_t n_dimensions, uint32_t n_objects, uint32_t pool) :
		image(), vectors(genie_vectors(id + 1, metric, n_dimensions, n_objects, nullptr))
	{
		const size_t n_bytes = genie_value_record_bytes(metric, n_dimensions);
		Random		random(id + n_dimensions);
		std::vector<std::vector<float>> elements;
		std::vector<GenieVector> values;

		for (uint32_t i = 0; i < (pool == 0 ? n_objects : pool); i++)
		{
			elements.push_back(draw(random, n_dimensions, i % 23 == 9));
			for (float &element : elements.back())
				element *= metric == GENIE_METRIC_L1 && i % 13 == 4 ? 50.0f : 1.0f;
			values.push_back(value_of(metric, random, elements.back()));
		}
		for (uint32_t i = 0; i < n_objects; i++)
		{
			if (i % GENIE_TILE_OBJECTS == 0)
			{
				records.emplace_back(std::min(n_objects - i, GENIE_TILE_OBJECTS) * n_bytes);
				live.resize(live.size() + GENIE_TILE_WORDS);
			}

			genie_value_record(shape_of(metric, n_dimensions, nullptr), values[pool == 0 ? i : random.below(pool)],
							   records.back().data() + i % GENIE_TILE_OBJECTS * n_bytes);
			if (random.below(6) > 0)
				live[i / 64] |= UINT64_C(1) << i % 64;
		}
		for (const std::vector<uint8_t> &tile : records)
			tiles.push_back(tile.data());
		vectors.tiles = tiles.data();
		image.id = id;
		image.n_objects = n_objects;
		image.n_tiles = (uint32_t) tiles.size();
		image.live = live.data();
		image.live_version = 1;
	}
	Segment(const Segment &) = delete;

	static std::vector<float> draw(Random &random, uint32_t n_dimensions, bool is_odd)
	{
		std::vector<float> elements;

		for (uint32_t i = 0; i < n_dimensions; i++)
			elements.push_back((float) (random.unit() * 2 - 1));
		if (is_odd)
			elements[n_dimensions / 2] = std::numeric_limits<float>::infinity();
		return elements;
	}
};

/* A query in memory that is aligned as queries are. */
struct Asked
{
	std::vector<double> memory;

	Asked(Random &random, const GenieQuantizedVectors &vectors, bool is_odd)
	{
		std::vector<float> elements = Segment::draw(random, vectors.n_dimensions, is_odd);
		const std::vector<float> centre = Segment::draw(random, vectors.n_dimensions, false);
		const bool has_centre = random.below(2) == 0;	/* by which keys of inner products differ */

		memory.resize(genie_value_query_bytes(vectors.metric, vectors.n_dimensions) / sizeof(double));
		genie_value_query(shape_of(vectors.metric, vectors.n_dimensions, has_centre ? centre.data() : nullptr),
						  value_of(vectors.metric, random, elements), query());
	}

	GenieValueQuery *query()
	{
		return (GenieValueQuery *) memory.data();
	}
};

struct Scans
{
	std::vector<std::unique_ptr<Asked>> queries;
	std::vector<GenieJob> jobs;
	std::vector<std::vector<uint8_t>> outs;

	GenieJob &add(Random &random, const Segment &segment, uint32_t k)
	{
		GenieJob	job = {};

		queries.emplace_back(new Asked(random, segment.vectors, queries.size() % 11 == 7));
		job.kind = GENIE_JOB_SCAN;
		job.image = &segment.image;
		job.n_tiles = segment.image.n_tiles;
		job.k = k;
		job.min_key = 1;
		job.vectors = &segment.vectors;
		job.scan = queries.back()->query();
		job.scan_bytes = queries.back()->memory.size() * sizeof(double);
		jobs.push_back(job);
		return jobs.back();
	}

	std::vector<GenieJob> with_outs(std::vector<std::vector<uint8_t>> &to)
	{
		std::vector<GenieJob> of = jobs;

		to.clear();
		for (GenieJob &job : of)
		{
			to.emplace_back(job.k * sizeof(GenieHit), (uint8_t) 0xAA);
			job.out = to.back().data();
		}
		return of;
	}

	/* Runs the jobs on both engines; on the GPU by other vectors, if there are some. */
	std::string wrong(std::vector<GenieJob> *done = nullptr, const GenieQuantizedVectors *others = nullptr)
	{
		std::vector<std::vector<uint8_t>> cpu_outs;
		std::vector<GenieJob> cpu_jobs = with_outs(cpu_outs);
		std::vector<GenieJob> gpu_jobs = with_outs(outs);

		for (GenieJob &job : gpu_jobs)
			job.vectors = others != nullptr ? others : job.vectors;
		(void) run_on_cpu(cpu_jobs, 2);
		if (cuda->ops->run(cuda, (uint32_t) gpu_jobs.size(), gpu_jobs.data()) != GENIE_OK)
			return std::string("the batch failed: ") + cuda->error;
		if (done != nullptr)
			*done = gpu_jobs;
		for (size_t i = 0; i < gpu_jobs.size(); i++)
		{
			const std::string what = difference(cpu_jobs[i], gpu_jobs[i]);

			if (!what.empty())
				return "job " + std::to_string(i) + ": " + what;
		}
		return "";
	}
};

static void
forget(const Segment &segment)
{
	cuda->ops->forget(cuda, segment.image.id);
	cuda->ops->forget(cuda, segment.vectors.id);
}

/* Jobs of all kinds of ranges, cursors and smallest keys; some are alone in their range. */
static void
scan_case(GenieMetric metric, uint32_t n_dimensions, uint32_t n_objects, uint32_t pool, uint32_t n_jobs, uint32_t k)
{
	static const char *const names[] = {"",       "l2",    "l1", "cosine",    "inner product", "bits",
										"pivots", "texts", "",   "l2 rabitq", "cosine rabitq", "inner product rabitq"};
	const Segment segment(700 + metric, metric, n_dimensions, n_objects, pool);
	Random		random(n_dimensions + n_objects);
	Scans		scans;
	std::vector<GenieJob> done;
	std::string wrong;

	for (uint32_t i = 0; i < n_jobs; i++)
	{
		GenieJob   &job = scans.add(random, segment, 1 + random.below(k));

		if (i % 5 == 4 && segment.image.n_tiles > 1)
		{
			job.first_tile = random.below(segment.image.n_tiles);
			job.n_tiles = random.below(segment.image.n_tiles - job.first_tile + 1);
		}
	}
	wrong = scans.wrong(&done);

	/* the next pages, and those of smallest keys that some have and some have not */
	for (uint32_t page = 0; page < 2 && wrong.empty(); page++)
	{
		for (size_t i = 0; i < done.size(); i++)
		{
			const GenieHit *hits = (const GenieHit *) done[i].out;

			if (done[i].n_hits == 0)
				continue;
			scans.jobs[i].has_after = true;
			scans.jobs[i].after = hits[done[i].n_hits - 1];
			if (i % 3 == 1)
				scans.jobs[i].min_key = hits[done[i].n_hits - 1].key - random.below(1 << 18);
		}
		wrong = scans.wrong(&done);
	}
	report("scans",
		   std::string(names[metric]) + ", " + std::to_string(n_dimensions) + " dimensions, " +
			   std::to_string(n_objects) + " objects, " + std::to_string(n_jobs) + " jobs, k to " + std::to_string(k),
		   wrong);
	forget(segment);
}

/* The live bits are those of now, vectors stay, malformed jobs fail alone, and no room is no failure. */
static void
states_case()
{
	Segment		segment(800, GENIE_METRIC_L2, 30, 3000, 0);
	Random		random(5);
	Scans		scans;
	std::vector<GenieJob> done;
	GenieDeviceInfo info;

	scans.add(random, segment, 100);
	scans.add(random, segment, 7);
	report("scans", "once", scans.wrong(&done));
	for (uint32_t i = 0; i < done[0].n_hits; i += 2)
	{
		const uint32_t object = ((const GenieHit *) done[0].out)[i].object;

		segment.live[object / 64] &= ~(UINT64_C(1) << object % 64);
	}
	segment.image.live_version++;
	report("scans", "without the best", scans.wrong());
	scans.jobs[1].scan_bytes--;
	report("scans", "one is malformed", scans.wrong(&done));
	report("scans", "and says so", done[1].status == GENIE_STATUS_CORRUPT ? "" : "it does not");
	scans.jobs[1].scan_bytes++;
	forget(segment);

	cuda->ops->set_memory_limit(cuda, UINT64_C(150) << 10);
	(void) scans.wrong(&done);
	report("scans", "declined without room for vectors",
		   done[0].status == GENIE_STATUS_DECLINED && cuda->error[0] == '\0' ? "" : cuda->error);
	cuda->ops->set_memory_limit(cuda, UINT64_C(20) << 10);
	(void) scans.wrong(&done);
	report("scans", "declined without room for keys",
		   done[0].status == GENIE_STATUS_DECLINED && cuda->error[0] == '\0' ? "" : cuda->error);
	cuda->ops->set_memory_limit(cuda, UINT64_C(500) << 10);
	report("scans", "in passes", scans.wrong());
	cuda->ops->set_memory_limit(cuda, 0);
	report("scans", "with room again", scans.wrong());

	cuda->interrupted = stop_at_once;
	(void) scans.wrong(&done);
	cuda->interrupted = NULL;
	report("scans", "interrupted", done[0].status == GENIE_STATUS_CANCELLED ? "" : "not GENIE_STATUS_CANCELLED");
	forget(segment);
	(void) cuda->ops->devices(cuda, &info, 1);
	report("scans", "all is given back", info.image_bytes == 0 ? "" : "something is left");
}

/* Vectors of which two thirds fit the device, by an engine that loads them in pieces. */
void
scan_too_large_case()
{
	const uint32_t n_tiles = by_scale(12u, 6u, 5u);
	Random		random(6);
	GenieDeviceInfo info;

	if (!is_mine())
		return;
	Segment		segment(900, GENIE_METRIC_L2, 8, n_tiles * GENIE_TILE_OBJECTS - 99, POOL);
	const uint64_t tile_bytes = GENIE_TILE_OBJECTS * (uint64_t) genie_value_record_bytes(GENIE_METRIC_L2, 8);

	cuda->ops->set_memory_limit(cuda, (tile_bytes * std::max(3u, n_tiles * 2 / 3) + (UINT64_C(1) << 20)) * 4 / 3);
	for (uint32_t round = 0; round < 3; round++)
	{
		Scans		scans;

		for (uint32_t i = 0; i < by_scale(30u, 10u, 2u); i++)
			scans.add(random, segment, i == 0 ? 500 : 10);
		report("scans of vectors larger than the device", "round " + std::to_string(round), scans.wrong());
	}
	(void) cuda->ops->devices(cuda, &info, 1);
	report("scans of vectors larger than the device", std::to_string(info.streamed_bytes) + " bytes streamed",
		   info.streamed_bytes > tile_bytes * n_tiles ? "" : "they were not");
	forget(segment);
	cuda->ops->set_memory_limit(cuda, 0);
}

void
scan_on_device_case()
{
	const char *const what = "vectors on the device alone";
	const uint32_t n_tiles = by_scale(12u, 6u, 4u);
	Random		random(7);
	Segment		segment(950, GENIE_METRIC_L2, 8, n_tiles * GENIE_TILE_OBJECTS - 99, POOL);
	GenieQuantizedVectors alone = segment.vectors;
	std::vector<const void *> here(n_tiles);
	std::vector<GenieJob> done;
	std::vector<GenieDeviceInfo> info(8);
	uint64_t	most = 0;		/* bytes on a device */
	uint64_t	all = 0;
	Scans		scans;
	bool		good;

	alone.tiles = here.data();
	for (uint32_t i = 0; i < by_scale(30u, 10u, 2u); i++)
		scans.add(random, segment, i == 0 ? 500 : 10);
	report(what, "room is taken", stage(segment.image, &alone, 0, n_tiles) == 0 ? "" : "there is none");
	good = !cuda->ops->has(cuda, alone.id);
	for (uint32_t t = n_tiles; t > 0 && good; t--)
	{
		const std::vector<uint8_t> moved = segment.records[t - 1];

		here[t - 1] = moved.data();
		good = stage(segment.image, &alone, t - 1, t) == 1 && cuda->ops->has(cuda, alone.id) == (t == 1);
		here[t - 1] = nullptr;
	}
	report(what, std::to_string(n_tiles) + " tiles are copied", good ? "" : "not one by one");
	report(what, "all are there", stage(segment.image, &alone, 0, n_tiles) == (int) n_tiles ? "" : "some are not");
	report(what, "scanned", scans.wrong(nullptr, &alone));
	segment.live[5] = 0;
	segment.image.live_version++;
	scans.jobs[0].first_tile = 1;
	scans.jobs[0].n_tiles = n_tiles - 2;

	/* others want the room, and may find some */
	info.resize(cuda->ops->devices(cuda, info.data(), (uint32_t) info.size()));
	for (const GenieDeviceInfo &device : info)
		most = std::max(most, device.staying_bytes);
	cuda->ops->set_memory_limit(cuda, 2 * most + (UINT64_C(1) << 20));
	{
		Segment		other(960, GENIE_METRIC_L2, 8, n_tiles * GENIE_TILE_OBJECTS, POOL);
		Scans		of_other;

		of_other.add(random, other, 10);
		(void) of_other.wrong();
		forget(other);
	}
	report(what, "scanned again", scans.wrong(nullptr, &alone));

	/* less room than they have */
	cuda->ops->set_memory_limit(cuda, most / 2);
	(void) scans.wrong(&done, &alone);
	report(what, "there is less room",
		   done[1].status != GENIE_OK && !cuda->ops->has(cuda, alone.id) ? "" : "they are there");
	report(what, "nor for them again", stage(segment.image, &alone, 0, n_tiles) == -1 ? "" : "there is");
	cuda->ops->set_memory_limit(cuda, 0);
	report(what, "room again", stage(segment.image, &alone, 0, n_tiles) == 0 ? "" : "there is none");
	forget(segment);
	(void) cuda->ops->devices(cuda, info.data(), (uint32_t) info.size());
	for (const GenieDeviceInfo &device : info)
		all += device.image_bytes;
	report(what, "are forgotten", all == 0 ? "" : "some are left");
}

/* ---- graphs ---- */

static bool
build_alone(void *, uint32_t n_blocks, void (*do_block)(void *work, uint32_t block), void *work)
{
	for (uint32_t block = 0; block < n_blocks; block++)
		do_block(work, block);
	return true;
}

/* Of a graph that is built by the engine, if vectors are not NULL. */
struct ByEngine
{
	const GenieQuantizedVectors *vectors;
	const GenieProximityGraph *graph;
	uint32_t	n_levels;		/* that the engine has made */
};

static bool
make_level(void *arg, const GenieProximityLevel *level)
{
	ByEngine   *by = (ByEngine *) arg;
	GenieJob	job = {};

	job.kind = GENIE_JOB_LEVEL;
	job.vectors = by->vectors;
	job.graph = by->graph;
	job.level = level;
	(void) cuda->ops->run(cuda, 1, &job);
	by->n_levels += job.status == GENIE_OK;
	return job.status == GENIE_OK;
}

/* A segment's graph, by the CPU or by the engine. */
struct Graph
{
	GenieProximityGraph graph = {};
	std::vector<uint8_t> head;
	std::vector<std::vector<uint32_t>> edges;
	std::vector<const uint32_t *> tiles;
	bool		is_built;

	Graph(const Segment &segment, uint32_t degree, bool by_engine = false) : head(genie_proximity_head_bytes())
	{
		ByEngine	by = {&segment.vectors, &graph, 0};
		const GenieProximityWorkers workers = {&by, build_alone, by_engine ? make_level : nullptr};
		const uint32_t n_objects = segment.vectors.n_objects;
		std::vector<uint32_t *> to;

		for (uint32_t first = 0; first < n_objects; first += GENIE_TILE_OBJECTS)
			edges.emplace_back((size_t) degree *
							   genie_proximity_in_tile(std::min(n_objects - first, GENIE_TILE_OBJECTS),
													   genie_proximity_levels(n_objects)));
		for (std::vector<uint32_t> &tile : edges)
		{
			to.push_back(tile.data());
			tiles.push_back(tile.data());
		}
		graph.id = segment.vectors.id + 1;
		graph.n_objects = n_objects;
		graph.head = (const GenieProximityHead *) head.data();
		graph.tiles = tiles.data();
		is_built = genie_proximity_build(&segment.vectors, 0, degree, &workers, to.data(),
										 (GenieProximityHead *) head.data()) == GENIE_PROXIMITY_BUILT &&
			by.n_levels == (by_engine ? graph.head->n_levels : 0);
	}
	Graph(const Graph &) = delete;
};

/* What a search in the graph finds on the GPU is what it finds on the CPU, of dead and unknown objects, too. */
static void
graph_case(GenieMetric metric, uint32_t n_dimensions, uint32_t n_objects, uint32_t degree, uint32_t n_jobs)
{
	const std::string what = "graphs, metric " + std::to_string(metric) + ", " + std::to_string(n_dimensions) +
		" dimensions, degree " + std::to_string(degree);
	Random		random(n_dimensions);
	Segment		segment(3000, metric, n_dimensions, n_objects, 0);

	/* few are unknown */
	for (uint32_t i = 0, n_bytes = (uint32_t) genie_value_record_bytes(metric, n_dimensions); i < n_objects; i++)
	{
		std::vector<uint8_t> &tile = segment.records[i / GENIE_TILE_OBJECTS];
		uint8_t    *record = tile.data() + (size_t) (i % GENIE_TILE_OBJECTS) * n_bytes;

		if (i > 3000 && ((GenieQuantized *) record)->error > FLT_MAX)
			memcpy(record, segment.records[0].data() + (size_t) (i % 9) * n_bytes, n_bytes);
	}

	Graph		graph(segment, degree);
	std::vector<GenieHit> hits(GENIE_PROXIMITY_QUEUE_MAX);
	std::string wrong;

	report(what.c_str(), std::to_string(graph.graph.head->n_unknown) + " unknown objects",
		   graph.is_built ? "" : "not built");
	{
		const Graph	by_engine(segment, degree, true);

		report(what.c_str(), "built by the engine",
			   !by_engine.is_built ? "not built" :
				   by_engine.head == graph.head && by_engine.edges == graph.edges ? "" :
																					"other edges");
		cuda->interrupted = stop_at_once;
		{
			const Graph	interrupted(segment, degree, true);

			report(what.c_str(), "interrupted", interrupted.is_built ? "levels were made" : "");
		}
		cuda->interrupted = NULL;
		cuda->ops->set_memory_limit(cuda, segment.vectors.n_objects);
		{
			const Graph	no_room(segment, degree, true);

			report(what.c_str(), "no room", no_room.is_built ? "levels were made" : "");
		}
		cuda->ops->set_memory_limit(cuda, 0);
	}
	setenv("GENIE_CUDA_GRAPH", "1", 1);
	for (uint32_t round = 0; round < 3 && graph.is_built; round++)
	{
		Scans		scans;

		for (uint32_t i = 0; i < n_jobs; i++)
		{
			GenieJob   &job = scans.add(random, segment, i % 5 == 4 ? 1 + random.below(200) : 1 + random.below(20));

			job.first_tile = 0;
			job.n_tiles = segment.image.n_tiles;
			job.has_after = false;
			job.graph = &graph.graph;
			job.graph_queue = 1 + random.below(i % 3 == 0 ? 300 : 70);
		}

		std::vector<GenieJob> jobs = scans.with_outs(scans.outs);

		(void) cuda->ops->run(cuda, n_jobs, jobs.data());
		wrong = "";
		for (const GenieJob &job : jobs)
		{
			uint64_t	n_seen;
			const int64_t n = job.scan->error > FLT_MAX ?
				-1 :
				genie_proximity_search(&graph.graph, &segment.vectors, job.scan, segment.live.data(), job.k,
									   job.min_key, job.graph_queue, hits.data(), &n_seen);

			if (job.status != GENIE_OK)
				wrong = "status " + std::to_string(job.status);
			else if (job.by_graph != (n >= 0))
				wrong = "by_graph is wrong";
			else if (n >= 0 && (job.n_hits != n || memcmp(job.out, hits.data(), n * sizeof(GenieHit)) != 0))
				wrong = "other hits";
		}
		report(what.c_str(), "round " + std::to_string(round), wrong);
		if (round == 1)			/* from now on none is dead */
			for (uint32_t i = 0; i < n_objects; i++)
				segment.live[i / 64] |= UINT64_C(1) << i % 64;
		segment.image.live_version++;
	}
	unsetenv("GENIE_CUDA_GRAPH");
	cuda->ops->forget(cuda, graph.graph.id);
	forget(segment);
}

void
graph_cases()
{
	for (const GenieMetric metric : {GENIE_METRIC_L2, GENIE_METRIC_L1, GENIE_METRIC_COSINE, GENIE_METRIC_INNER})
		for (const uint32_t n : {7u, 60u, 200u})
			if (is_mine())
				graph_case(metric, n, by_scale(30000u, 8000u, 1500u), n == 60 ? 33 : 16, by_scale(200u, 60u, 9u));
	if (is_mine())
		graph_case(GENIE_METRIC_L2, 16, by_scale(100000u, 70000u, 3000u), 64, by_scale(300u, 100u, 9u));
}

void
scan_cases()
{
	const uint32_t few = by_scale(20000u, 3000u, 700u);

	for (const GenieMetric metric :
		 {GENIE_METRIC_L2, GENIE_METRIC_L1, GENIE_METRIC_COSINE, GENIE_METRIC_INNER, GENIE_METRIC_PIVOTS})
	{
		for (const uint32_t n : {1u, 16u, 17u, 60u, 100u, 192u, 193u, 300u})
			if (is_mine())
				scan_case(metric, metric == GENIE_METRIC_PIVOTS ? (n + 1) / 2 * 2 : n, few, n == 17 ? POOL : 0,
						  by_scale(21u, 11u, 9u), 150);
		if (is_mine())
			scan_case(metric, 40, few, 0, 1, by_scale(2000u, 1000u, 300u));
		if (is_mine())
			scan_case(metric, 10, by_scale(3 * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS + 1000, 5000u), POOL, 6,
					  by_scale(65536u, 5000u, 4000u));
	}
	/* bits that fill a unit, and one more; what a block has of queries at a time, and more */
	for (const GenieMetric metric : {GENIE_METRIC_L2_RABITQ, GENIE_METRIC_COSINE_RABITQ, GENIE_METRIC_INNER_RABITQ})
	{
		for (const uint32_t n : {1u, 100u, 128u, 129u, 1024u, 1100u})
			if (is_mine())
				scan_case(metric, n, few, n == 100 ? POOL : 0, by_scale(21u, 11u, 9u), 150);
		if (is_mine())
			scan_case(metric, 300, few, 0, 1, by_scale(2000u, 1000u, 300u));
		if (is_mine())
			scan_case(metric, 130, by_scale(3 * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS + 1000, 5000u), 0,
					  by_scale(300u, 40u, 9u), 20);
	}
	if (is_mine())
		scan_case(GENIE_METRIC_L2, 5, GENIE_TILE_OBJECTS + 500, 3, 2, 500);
	/* whole bytes of bits, whatever they are; words that fill a block's memory, and more */
	for (const uint32_t n : {8u, 64u, 72u, 1024u, 4096u, 4160u})
		if (is_mine())
			scan_case(GENIE_METRIC_HAMMING, n, few, n == 72 ? POOL : 0, by_scale(21u, 11u, 9u), 150);

	/* records of one length and the next; queries whose longest has 32 rows, 64, or more */
	for (const uint32_t n : {14u, 30u, 46u, 62u, 110u, 126u})
		if (is_mine())
			scan_case(GENIE_METRIC_EDIT, n, few, n == 46 ? POOL : 0, n == 30 ? 1 : by_scale(21u, 11u, 9u), 150);
	if (is_mine())
		scan_case(GENIE_METRIC_EDIT, 30, by_scale(3 * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS + 1000, 5000u), 0,
				  by_scale(300u, 40u, 9u), 20);

	/* more queries than a block of the filter has at a time; records whose codes stay in shared memory, or not */
	for (const GenieMetric metric : {GENIE_METRIC_L2, GENIE_METRIC_INNER})
		for (const uint32_t n : {40u, 130u, 250u, 330u})
			if (is_mine())
				scan_case(metric, n, few + 77, n == 40 ? 997 : 0, by_scale(300u, 140u, 140u), 20);
	for (const uint32_t n : {16u, 64u})
		if (is_mine())
			scan_case(GENIE_METRIC_PIVOTS, n, few + 77, n == 16 ? 0 : 997, by_scale(300u, 140u, 140u), 20);
	if (scale == WHOLE && is_mine())
		scan_case(GENIE_METRIC_COSINE, 128, 2 * GENIE_TILE_OBJECTS, 0, 300, 1000);
	if (is_mine())
		states_case();
}
