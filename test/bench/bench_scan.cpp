/*
 * bench_scan.cpp
 *	  SCAN jobs by engine: the best k objects by keys of quantized vectors, for 1 to 1,024 queries.
 *
 *	bench_scan LIBRARY|- [METRIC [DIMENSIONS [ROWS [K [DEGREE [FOLDER]]]]]]	(l2 128 4500000 26 0)
 *
 * Vectors are whole numbers around one of 4,096 centres, as descriptors of images are; queries are more of them.  METRIC
 * edit is of texts of DIMENSIONS letters at most, 14, 30, ..., 126; pivots is of half as many distances; rabitq is l2 by a
 * bit a dimension.
 * LIBRARY is the CUDA engine's; with - the CPU engine alone is measured, on all processors.  A line is a number of
 * queries: the median of the runs' milliseconds by each engine, and how much faster the GPU is.  Both engines must find
 * the same, or the exit status is 1.
 *
 * DEGREE, if not 0: a proximity graph of so many edges is built by the GPU and, of up to 5,000,000 rows, by all
 * processors, which must give the same, and the GPU searches it, for 1 to 10,000 queries and queues of 32 to 512.  A
 * line has the time of a scan by the GPU, that of the searches, and which share of what the scan finds these find.  The
 * CPU must find the same by the same graph.  FOLDER: the rows, and the queries in turn, are those of sift100k there.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "genie_cuda_data.h"
#include "genie_engine_cpu.h"
#include "genie_proximity_build.h"
#include "genie_value_record.h"
#include "genie_value_scan.h"

constexpr uint32_t CENTRES = 4096;
constexpr uint32_t RUNS = 7;
constexpr uint32_t SPREAD = 40;
constexpr uint32_t RANGE = 219;
constexpr uint32_t DEVICE_LEVEL = 8192;
constexpr uint32_t CPU_BUILD_ROWS = 5000000;

struct Shape
{
	GenieMetric metric;
	uint32_t	n_dimensions;
	uint32_t	n_rows;
	uint32_t	k;
};

constexpr uint64_t QUERY = UINT64_C(1) << 40;	/* vectors from this number on are queries */

/* What a folder has. */
static std::vector<std::vector<float>> given_rows;
static std::vector<std::vector<float>> given_queries;

static void
read_vectors(const char *folder, const char *name, std::vector<std::vector<float>> &to)
{
	const std::string command = std::string("gzip -dc '") + folder + "/" + name + ".tsv.gz'";
	FILE	   *file = popen(command.c_str(), "r");
	std::vector<char> line(1 << 16);

	while (file != NULL && fgets(line.data(), (int) line.size(), file) != NULL)
	{
		char	   *at = strchr(line.data(), '{');

		to.emplace_back();
		while (at != NULL && (*at == '{' || *at == ','))
			to.back().push_back(strtof(at + 1, &at));
	}
	if (file == NULL || pclose(file) != 0 || to.empty())
	{
		fprintf(stderr, "cannot read %s\n", name);
		exit(1);
	}
}

/* Vector number v, from a seed of its own, or as it is given. */
static std::vector<float>
draw(const Shape &shape, uint64_t v)
{
	if (!given_rows.empty())
		return v >= QUERY ? given_queries[(v - QUERY) % given_queries.size()] : given_rows[v];

	Random		random(v * 7919 + 1);
	Random		centre(random.below(CENTRES));
	std::vector<float> elements(shape.n_dimensions);

	for (float &x : elements)
	{
		const int	at = (int) centre.below(RANGE) + (int) random.below(SPREAD) - (int) SPREAD / 2;

		x = (float) std::min(std::max(at, 0), (int) RANGE - 1);
		/* distances are seldom whole numbers */
		if (shape.metric == GENIE_METRIC_PIVOTS)
			x += (float) random.below(1000) / 1000;
	}
	return elements;
}

/* A text of some letters, as many as dimensions at most and a third of them at least, in the memory of these elements. */
static GenieVector
value_of(const Shape &shape, std::vector<float> &elements)
{
	const uint32_t n = (uint32_t) elements.size();
	uint8_t    *codes = (uint8_t *) elements.data();
	uint32_t	length = n;

	if (shape.metric != GENIE_METRIC_EDIT)
		return GenieVector{elements.data(), shape.metric == GENIE_METRIC_PIVOTS ? n / GENIE_VALUE_PIVOT_BYTES : n, false};
	length -= (uint32_t) elements[0] * (n - n / 3) / RANGE;
	for (uint32_t i = 0; i < length; i++)
		codes[i] = (uint8_t) ('a' + (uint32_t) elements[i] % 20);	/* in front of the element that it is made of */
	return GenieVector{codes, length, false};
}

/* By L1, of the range that an index would learn: the elements are whole numbers. */
static GenieValueShape
shape_of(const Shape &shape)
{
	GenieValueShape result = {};

	result.metric = shape.metric;
	result.n_dimensions = shape.n_dimensions;
	result.step = shape.metric == GENIE_METRIC_L1 ? 1.0f :
		shape.metric == GENIE_METRIC_PIVOTS ? (float) RANGE / GENIE_VALUE_PIVOT_MAX : 0.0f;
	return result;
}

struct Segment
{
	GenieSegmentImage image = {};
	GenieQuantizedVectors vectors = {};
	std::vector<uint64_t> live;
	std::vector<std::vector<uint64_t>> records; /* of tiles */
	std::vector<const void *> tiles;

	explicit Segment(const Shape &shape)
	{
		const size_t n_bytes = genie_value_record_bytes(shape.metric, shape.n_dimensions);
		const uint32_t n_tiles = (shape.n_rows + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS;
		std::vector<std::thread> threads;

		records.resize(n_tiles);
		for (uint32_t t = 0; t < std::max(1u, std::thread::hardware_concurrency()); t++)
			threads.emplace_back([=]() {
				for (uint32_t tile = t; tile < n_tiles; tile += std::max(1u, std::thread::hardware_concurrency()))
				{
					const uint32_t first = tile * GENIE_TILE_OBJECTS;
					const uint32_t n = std::min(shape.n_rows - first, (uint32_t) GENIE_TILE_OBJECTS);

					records[tile].resize(n * n_bytes / sizeof(uint64_t));
					for (uint32_t i = 0; i < n; i++)
					{
						std::vector<float> elements = draw(shape, first + i);

						genie_value_record(shape_of(shape), value_of(shape, elements),
										   (uint8_t *) records[tile].data() + i * n_bytes);
					}
				}
			});
		for (std::thread &thread : threads)
			thread.join();
		for (const std::vector<uint64_t> &tile : records)
			tiles.push_back(tile.data());
		live.assign((size_t) n_tiles * GENIE_TILE_WORDS, UINT64_MAX);
		vectors = genie_vectors(2, shape.metric, shape.n_dimensions, shape.n_rows, tiles.data());
		image.id = 1;
		image.n_objects = shape.n_rows;
		image.n_tiles = n_tiles;
		image.live = live.data();
		image.live_version = 1;
	}
};

struct Queries
{
	std::vector<std::vector<double>> memory;
	std::vector<std::vector<GenieHit>> hits;
	std::vector<GenieJob> jobs;

	Queries(const Shape &shape, const Segment &segment, uint32_t n)
	{
		const size_t n_bytes = genie_value_query_bytes(shape.metric, shape.n_dimensions);

		for (uint32_t i = 0; i < n; i++)
		{
			std::vector<float> elements = draw(shape, QUERY | i);
			GenieJob	job = {};

			memory.emplace_back(n_bytes / sizeof(double));
			hits.emplace_back(shape.k);
			genie_value_query(shape_of(shape), value_of(shape, elements), (GenieValueQuery *) memory.back().data());
			job.kind = GENIE_JOB_SCAN;
			job.image = &segment.image;
			job.n_tiles = segment.image.n_tiles;
			job.k = shape.k;
			job.min_key = 1;
			job.vectors = &segment.vectors;
			job.scan = (const GenieValueQuery *) memory.back().data();
			job.scan_bytes = n_bytes;
			job.out = hits.back().data();
			jobs.push_back(job);
		}
	}

	/* The median of the runs, in milliseconds, after one that brings what the engine needs. */
	double measure(GenieEngine *engine, uint32_t n_runs)
	{
		std::vector<double> times;

		for (uint32_t r = 0; r <= n_runs; r++)
		{
			const auto	begin = std::chrono::steady_clock::now();

			if (engine->ops->run(engine, (uint32_t) jobs.size(), jobs.data()) != GENIE_OK ||
				std::any_of(jobs.begin(), jobs.end(), [](const GenieJob &job) { return job.status != GENIE_OK; }))
			{
				fprintf(stderr, "the engine failed: %s\n", engine->error);
				exit(1);
			}
			if (r > 0)
				times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
		}
		std::sort(times.begin(), times.end());
		return times[times.size() / 2];
	}

	bool same_as(const Queries &other) const
	{
		for (size_t i = 0; i < jobs.size(); i++)
			if (jobs[i].n_hits != other.jobs[i].n_hits ||
				memcmp(jobs[i].out, other.jobs[i].out, jobs[i].n_hits * sizeof(GenieHit)) != 0)
				return false;
		return true;
	}
};

/* ---- graphs ---- */

static bool
for_each_block(void *, uint32_t n_blocks, void (*do_block) (void *work, uint32_t block), void *work)
{
	std::atomic<uint32_t> next(0);
	std::vector<std::thread> threads;

	for (uint32_t t = 0; t < std::max(1u, std::thread::hardware_concurrency()); t++)
		threads.emplace_back([&]() {
			for (uint32_t block; (block = next++) < n_blocks;)
				do_block(work, block);
		});
	for (std::thread &thread : threads)
		thread.join();
	return true;
}

/* Do some of the jobs' searches by the CPU find the same? */
static bool
same_by_cpu(const Queries &queries, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < queries.jobs.size(); i++)
	{
		const GenieJob &job = queries.jobs[i];
		std::vector<GenieHit> hits(job.k);
		uint64_t	n_seen;
		const int64_t n_hits = genie_proximity_search(job.graph, job.vectors, job.scan, job.image->live, job.k,
													  job.min_key, job.graph_queue, hits.data(), &n_seen);

		if (!job.by_graph || n_hits != job.n_hits || memcmp(hits.data(), job.out, job.n_hits * sizeof(GenieHit)) != 0)
			return false;
	}
	return true;
}

/* The share of what a scan finds that is found. */
static double
recall(const Queries &found, const Queries &scan)
{
	uint64_t	n_found = 0;
	uint64_t	n = 0;

	for (size_t q = 0; q < scan.jobs.size(); q++)
	{
		const GenieHit *truth = (const GenieHit *) scan.jobs[q].out;
		const GenieHit *hits = (const GenieHit *) found.jobs[q].out;

		n += scan.jobs[q].n_hits;
		for (uint32_t i = 0; i < scan.jobs[q].n_hits; i++)
			n_found += std::any_of(hits, hits + found.jobs[q].n_hits,
								   [&](const GenieHit &hit) { return hit.object == truth[i].object; });
	}
	return (double) n_found / (double) n;
}

/* What builds a graph: the GPU's engine, for levels of DEVICE_LEVEL objects or more; nullptr: processors alone. */
struct Builder
{
	GenieEngine *gpu;
	const GenieQuantizedVectors *vectors;
	const GenieProximityGraph *graph;
	double		ms;				/* in the engine */
};

static bool
make_level(void *arg, const GenieProximityLevel *level)
{
	Builder    *by = (Builder *) arg;
	const auto	begin = std::chrono::steady_clock::now();
	GenieJob	job = {};

	if (by->gpu == nullptr || level->n < DEVICE_LEVEL)
		return false;
	job.kind = GENIE_JOB_LEVEL;
	job.vectors = by->vectors;
	job.graph = by->graph;
	job.level = level;
	(void) by->gpu->ops->run(by->gpu, 1, &job);
	by->ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
	if (job.status != GENIE_OK)
		printf("level %u of %u objects: status %d, %s\n", level->level, level->n, (int) job.status, by->gpu->error);
	return job.status == GENIE_OK;
}

static bool
measure_graph(const Shape &shape, const Segment &segment, GenieEngine *gpu, uint32_t degree)
{
	Builder		by = {};
	const GenieProximityWorkers workers = {&by, for_each_block, make_level};
	std::vector<uint8_t> head(genie_proximity_head_bytes());
	std::vector<std::vector<uint32_t>> edges;
	std::vector<uint32_t *> to;
	std::vector<const uint32_t *> tiles;
	GenieProximityGraph graph = {3, shape.n_rows, (const GenieProximityHead *) head.data(), NULL};
	std::vector<std::vector<uint32_t>> by_gpu;
	bool		same = true;

	for (uint32_t first = 0; first < shape.n_rows; first += GENIE_TILE_OBJECTS)
		edges.emplace_back((size_t) degree *
						   genie_proximity_in_tile(std::min(shape.n_rows - first, (uint32_t) GENIE_TILE_OBJECTS),
												   genie_proximity_levels(shape.n_rows)));
	for (std::vector<uint32_t> &tile : edges)
	{
		to.push_back(tile.data());
		tiles.push_back(tile.data());
	}
	graph.tiles = tiles.data();
	for (GenieEngine *engine : {gpu, (GenieEngine *) nullptr})
	{
		if (engine == nullptr && shape.n_rows > CPU_BUILD_ROWS)
			continue;
		const auto	begin = std::chrono::steady_clock::now();

		by = {engine, &segment.vectors, &graph, 0};
		if (genie_proximity_build(&segment.vectors, 0, degree, &workers, to.data(), (GenieProximityHead *) head.data()) !=
			GENIE_PROXIMITY_BUILT)
			return false;
		printf("graph of %u edges built in %.2f s, %.2f s of it by the GPU\n", degree,
			   std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), by.ms / 1000);
		if (engine != nullptr && shape.n_rows <= CPU_BUILD_ROWS)
			by_gpu = edges;
	}
	if (shape.n_rows <= CPU_BUILD_ROWS && by_gpu != edges)
	{
		printf("graphs differ\n");
		same = false;
	}
	printf("%8s %12s", "queries", "scan ms");
	for (const uint32_t queue : {32u, 64u, 128u, 256u, 512u})
		printf("      %3u: ms recall", queue);
	printf("\n");
	for (const uint32_t n : {1u, 32u, 1000u, 1024u, 10000u})
	{
		Queries		scan(shape, segment, n);
		Queries		search(shape, segment, n);

		setenv("GENIE_CUDA_GRAPH", "0", 1);
		printf("%8u %12.3f", n, scan.measure(gpu, RUNS));
		setenv("GENIE_CUDA_GRAPH", "1", 1);
		for (const uint32_t queue : {32u, 64u, 128u, 256u, 512u})
		{
			double		ms;

			for (GenieJob &job : search.jobs)
			{
				job.graph = &graph;
				job.graph_queue = queue;
			}
			ms = search.measure(gpu, RUNS);
			printf("  %9.3f  %.3f", ms, recall(search, scan));
			same = same && same_by_cpu(search, 100);
			fflush(stdout);
		}
		printf("\n");
	}
	printf("the CPU finds %s\n", same ? "the same" : "OTHERS");
	return same;
}

int
main(int argc, char **argv)
{
	static const char *const metrics[] = {"", "l2", "l1", "cosine", "ip", "bits", "pivots", "edit", "",
									"rabitq"};
	Shape		shape = {GENIE_METRIC_L2, 128, 4500000, 26};
	GenieEngineOptions options = {};
	GenieStatus status;
	GenieEngine *gpu = NULL;
	GenieEngine *cpu;
	bool		same = true;

	if (argc < 2)
	{
		fprintf(stderr, "usage: bench_scan LIBRARY|- [METRIC [DIMENSIONS [ROWS [K [DEGREE [FOLDER]]]]]]\n");
		return 2;
	}
	for (uint32_t m = GENIE_METRIC_L2; argc > 2 && m < sizeof(metrics) / sizeof(metrics[0]); m++)
		if (strcmp(argv[2], metrics[m]) == 0)
			shape.metric = (GenieMetric) m;
	shape.n_dimensions = argc > 3 ? (uint32_t) strtoul(argv[3], NULL, 10) : shape.n_dimensions;
	shape.n_rows = argc > 4 ? (uint32_t) strtoul(argv[4], NULL, 10) : shape.n_rows;
	shape.k = argc > 5 ? (uint32_t) strtoul(argv[5], NULL, 10) : shape.k;
	if (argc > 7)
	{
		read_vectors(argv[7], "sift100k", given_rows);
		read_vectors(argv[7], "sift100k_query", given_queries);
		shape.n_rows = (uint32_t) given_rows.size();
		shape.n_dimensions = (uint32_t) given_rows[0].size();
	}
	if (strcmp(argv[1], "-") != 0 && (gpu = open_library(argv[1], options, &status)) == NULL)
		return 1;

	const size_t size = (genie_cpu_engine_size() + 63) / 64 * 64;
	void	   *memory = aligned_alloc(64, size);

	memset(memory, 0, size);
	cpu = genie_cpu_engine_open(memory);

	const uint32_t n_threads = genie_cpu_engine_threads(cpu, std::max(1u, std::thread::hardware_concurrency()));
	const Segment segment(shape);

	printf("%s, %u dimensions, %u rows, k = %u; %u threads\n", metrics[shape.metric], shape.n_dimensions, shape.n_rows,
		   shape.k, n_threads);
	if (gpu != NULL && argc > 6 && strtoul(argv[6], NULL, 10) > 0)
	{
		same = measure_graph(shape, segment, gpu, (uint32_t) strtoul(argv[6], NULL, 10));
		gpu->ops->close(gpu);
		cpu->ops->close(cpu);
		free(memory);
		return same ? 0 : 1;
	}
	printf("%8s %12s %12s %8s\n", "queries", "CPU ms", "GPU ms", "ratio");
	for (const uint32_t n : {1u, 4u, 16u, 64u, 256u, 1024u})
	{
		Queries		by_cpu(shape, segment, n);
		Queries		by_gpu(shape, segment, n);
		const double cpu_ms = by_cpu.measure(cpu, n > 64 ? 1 : RUNS);
		const double gpu_ms = gpu == NULL ? 0 : by_gpu.measure(gpu, RUNS);

		printf("%8u %12.3f", n, cpu_ms);
		if (gpu != NULL)
		{
			const bool	same_here = by_gpu.same_as(by_cpu);

			same = same && same_here;
			printf(" %12.3f %8.1f%s", gpu_ms, cpu_ms / gpu_ms, same_here ? "" : "  NOT THE SAME");
		}
		printf("\n");
		fflush(stdout);
	}
	if (gpu != NULL)
		gpu->ops->close(gpu);
	cpu->ops->close(cpu);
	free(memory);
	return same ? 0 : 1;
}
