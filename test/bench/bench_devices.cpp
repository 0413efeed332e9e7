/*
 * bench_devices.cpp
 *	  One index on one GPU and on several: the time of a batch, what fits, and that small indexes are no slower.
 *
 *		bench_devices LIBRARY [MILLIONS [GIGABYTES [codes]]]
 *
 * The large image has MILLIONS of objects (46: 10.9 G postings, 36 GB), signatures of 237 functions of 67 buckets, as
 * the shape sift of bench_cuda has.  A million of them are made, and repeated.  The small one has 262,144.  Queries ask
 * for the best 10.  Images lie in memory that is not pinned.
 *
 * Prints a Markdown table, for 1, 2, 4 ... devices: milliseconds of a batch (medians), how many times as fast as one
 * device, and seconds until the large image's first answer (copying); then how much of the image fits, where each device may have a
 * part of its bytes.  Fails if answers differ.
 *
 * With GIGABYTES, each device may have only so many, and the image is loaded in pieces (genie_multiload.h); its memory is
 * pinned.  Prints for 1, 2, 4 ... devices: the rate of one copy of all that fits, and of each batch its milliseconds
 * (medians of three), the bytes that it copied in a second, as a part of that rate, and what the CPU engine takes with
 * as many threads as there are processors, 16 at most.
 *
 * codes: images of codes alone (genie_image.h).  GIGABYTES is 0 where the image is to fit.  Of an image of lists and
 * codes, pieces are of its codes, as in a server.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "genie_cuda_data.h"

#include "genie_engine_cpu.h"
#include "genie_engines.h"
#include "genie_job_parts.h"
#include "genie_multiload.h"

constexpr uint32_t FUNCTIONS = 237;
constexpr uint32_t BUCKETS = 67;
constexpr uint32_t MADE_TILES = 16;
constexpr uint32_t SMALL_TILES = 4;
constexpr uint32_t K = 10;
constexpr int REPEATS = 9;

struct Large
{
	GenieSegmentImage image;
	std::vector<const GenieImageGroup *> groups;
	std::vector<uint64_t> live;
	std::vector<uint64_t> before;
	uint64_t	n_bytes = 0;
};

static TileLists
make_tile(uint32_t tile)
{
	std::vector<double> weights;
	TileLists	lists;
	std::vector<uint64_t> pairs;
	Random		random(tile + 1);

	for (uint32_t b = 0; b < BUCKETS; b++)
	{
		const double x = ((double) b - (BUCKETS - 1) / 2.0) / 8.56;

		weights.push_back(exp(-x * x / 2));
	}

	const Draw	draw(weights);

	pairs.reserve((size_t) FUNCTIONS * GENIE_TILE_OBJECTS);
	for (uint64_t f = 0; f < FUNCTIONS; f++)
		for (uint64_t i = 0; i < GENIE_TILE_OBJECTS; i++)
			pairs.push_back((f * BUCKETS + draw.at((uint16_t) random.next())) << 16 | i);
	lists.set(GENIE_TILE_OBJECTS, pairs);
	return lists;
}

/* The image's groups over and over, each time as the next ones. */
static void
repeat(const TestImage &from, uint32_t times, Arena &arena, Large &large)
{
	const uint32_t n_groups = from.image.n_groups;

	large.image = from.image;
	large.groups.resize((size_t) n_groups * times);
	large.live.assign((size_t) MADE_TILES * times * GENIE_TILE_WORDS, ~UINT64_C(0));
	large.before.assign(from.image.postings_before, from.image.postings_before + from.image.n_keywords + 1);
	for (uint64_t &before : large.before)
		before *= times;
	for (uint32_t i = 0; i < n_groups * times; i++)
	{
		const GenieImageGroup *group = from.image.groups[i % n_groups];

		large.groups[i] = (const GenieImageGroup *) arena.take(group->n_bytes);
		large.n_bytes += group->n_bytes;
	}
	parallel(n_groups * times, [&](uint32_t i) {
		const GenieImageGroup *group = from.image.groups[i % n_groups];
		GenieImageGroup *copy = (GenieImageGroup *) large.groups[i];

		memcpy(copy, group, group->n_bytes);
		copy->first_tile += i / n_groups * MADE_TILES;
		if (copy->alone != 0)
			((GenieImageGroup *) genie_image_alone(copy))->first_tile = copy->first_tile;
	});
	large.image.id = 1000000;
	large.image.n_objects *= times;
	large.image.n_tiles *= times;
	large.image.n_groups *= times;
	large.image.groups = large.groups.data();
	large.image.live = large.live.data();
	large.image.postings_before = large.before.data();
}

struct Batch
{
	std::vector<GenieRankRange> ranges;
	std::vector<GenieHit> hits;
	std::vector<GenieJob> jobs;
};

static Batch
make_batch(const GenieSegmentImage &image, uint32_t n)
{
	Random		random(n);
	Batch		batch;

	batch.ranges.resize((size_t) n * FUNCTIONS);
	batch.hits.resize((size_t) n * K);
	for (uint32_t q = 0; q < n; q++)
	{
		GenieJob	job = {};

		for (uint32_t f = 0; f < FUNCTIONS; f++)
		{
			const uint32_t rank = f * BUCKETS + BUCKETS / 2 - 8 + random.below(17);

			batch.ranges[(size_t) q * FUNCTIONS + f] = GenieRankRange{rank, rank + 1};
		}
		job.kind = GENIE_JOB_TOP;
		job.image = &image;
		job.n_tiles = image.n_tiles;
		job.query = GenieEngineQuery{FUNCTIONS, &batch.ranges[(size_t) q * FUNCTIONS], FUNCTIONS, nullptr};
		job.k = K;
		job.min_key = 1;
		job.out = &batch.hits[(size_t) q * K];
		batch.jobs.push_back(job);
	}
	return batch;
}

/* Milliseconds; ends the program if a job fails. */
static double
run(GenieEngine *engine, Batch &batch)
{
	const double begin = seconds();
	std::vector<GenieJob> jobs = batch.jobs;

	(void) engine->ops->run(engine, (uint32_t) jobs.size(), jobs.data());
	for (const GenieJob &job : jobs)
		if (job.status != GENIE_OK || job.n_hits != K)
		{
			printf("a job has status %d: %s\n", (int) job.status, engine->error);
			exit(1);
		}
	return 1000 * (seconds() - begin);
}

static double
median(GenieEngine *engine, Batch &batch, int repeats)
{
	std::vector<double> took;

	for (int i = 0; i < repeats; i++)
		took.push_back(run(engine, batch));
	std::sort(took.begin(), took.end());
	return took[took.size() / 2];
}

static GenieEngine *
open_devices(const char *library, uint32_t n, uint64_t limit, const Arena *pinned = nullptr)
{
	static const GenieRival nobody = {};
	GenieEngineOptions options = {};
	GenieStatus status;
	GenieEngine *engine;

	options.memory_limit = limit;
	engine = open_library(library, options, &status, n, GENIE_ENGINES_CUT_BYTES, pinned == nullptr ? nullptr : &nobody);
	if (engine != nullptr && pinned != nullptr)
		for (size_t done = 0, step; done < pinned->bytes; done += step)
		{
			uint8_t    *from = (uint8_t *) pinned->memory + done;

			step = std::min(pinned->bytes - done, GENIE_ENGINE_PIN_STEP - (uintptr_t) from % GENIE_ENGINE_PIN_STEP);
			if (!engine->ops->pin(engine, from, step))
			{
				printf("memory cannot be pinned\n");
				exit(1);
			}
		}
	if (engine == nullptr)
		exit(status == GENIE_STATUS_UNAVAILABLE ? 77 : 1);
	return engine;
}

/* Do the image's first groups fit the engine's devices?  Nothing of them stays. */
static bool
fits(GenieEngine *engine, const Large &large, uint32_t n_groups, Batch &batch)
{
	static uint64_t id = 2000000;
	GenieSegmentImage part = genie_image_part(&large.image, 0, n_groups);
	GenieJob	job = batch.jobs[0];

	part.id = id++;
	job.image = &part;
	job.n_tiles = large.groups[n_groups - 1]->first_tile + large.groups[n_groups - 1]->n_tiles;
	(void) engine->ops->run(engine, 1, &job);
	engine->ops->forget(engine, part.id);
	return job.status == GENIE_OK;
}

/*
 * Prints how much of the image fits 1, 2, 4 ... devices.  Each may have so little memory that all of them together have
 * too little, and what it needs for a batch is the same for one and for all.
 */
static void
capacity(const char *library, uint32_t n_devices, const Large &large, Batch &batch)
{
	const uint64_t limit = large.n_bytes / (n_devices + 1) * 4 / 3;
	uint64_t	of_one = 0;

	for (uint32_t n = 1; n <= n_devices; n *= 2)
	{
		GenieEngine *engine = open_devices(library, n, limit);
		GenieDeviceInfo info[GENIE_PLACEMENT_ENGINES] = {};
		uint32_t	low = 0;	/* so many groups fit, */
		uint32_t	high = large.image.n_groups + 1;	/* so many do not */
		uint64_t	n_bytes = 0;

		(void) engine->ops->devices(engine, info, GENIE_PLACEMENT_ENGINES);
		while (high - low > 1)
		{
			const uint32_t middle = low + (high - low) / 2;

			(fits(engine, large, middle, batch) ? low : high) = middle;
		}
		for (uint32_t g = 0; g < low; g++)
			n_bytes += large.groups[g]->n_bytes;
		if (n == 1)
			of_one = n_bytes;
		printf("%u devices of %.1f GB, %.1f for images: %u of %u groups fit, %.2f GB, %.2f times one device's\n", n, 1e-9 * (double) limit,
			   1e-9 * (double) info[0].image_limit_bytes, low, large.image.n_groups, 1e-9 * (double) n_bytes, (double) n_bytes / (double) of_one);
		engine->ops->close(engine);
	}
}

/* Bytes that all devices have copied, and the microseconds that each took. */
static GenieDeviceInfo
copied(GenieEngine *engine)
{
	GenieDeviceInfo info[GENIE_PLACEMENT_ENGINES] = {};
	GenieDeviceInfo sum = {};
	const uint32_t n = engine->ops->devices(engine, info, GENIE_PLACEMENT_ENGINES);

	for (uint32_t i = 0; i < n; i++)
	{
		sum.uploaded_bytes += info[i].uploaded_bytes;
		sum.upload_us = std::max(sum.upload_us, info[i].upload_us);
		sum.streamed_bytes += info[i].streamed_bytes;
	}
	return sum;
}

/* Milliseconds of the CPU engine. */
static double
cpu_ms(Batch &batch)
{
	void	   *memory = nullptr;
	GenieEngine *engine;
	double		ms;

	if (posix_memalign(&memory, 64, genie_cpu_engine_size()) != 0)
		exit(1);
	engine = genie_cpu_engine_open(memory);
	(void) genie_cpu_engine_threads(engine, std::min(16u, std::thread::hardware_concurrency()));
	genie_cpu_engine_measure(engine);
	ms = run(engine, batch);
	engine->ops->close(engine);
	free(memory);
	return ms;
}

/* Batches on an image that is larger than the devices' limits. */
static bool
stream(const char *library, uint64_t limit, const Arena &arena, std::vector<Batch> &batches)
{
	std::vector<double> of_cpu;
	std::vector<std::vector<GenieHit>> answers;

	for (Batch &batch : batches)
	{
		of_cpu.push_back(cpu_ms(batch));
		answers.push_back(batch.hits);
	}
	printf("| devices | a copy, GB/s | queries | ms | streamed, GB | GB/s | of a copy | CPU, ms | times |\n"
		   "|---|---|---|---|---|---|---|---|---|\n");
	for (uint32_t n = 1; n <= library_devices(library); n *= 2)
	{
		GenieEngine *engine = open_devices(library, n, 0, &arena);
		GenieDeviceInfo before;
		double		rate;

		/* all of it, if it fits */
		(void) run(engine, batches[0]);
		before = copied(engine);
		rate = 1e-3 * (double) before.uploaded_bytes / (double) before.upload_us;
		engine->ops->close(engine);
		engine = open_devices(library, n, limit, &arena);
		(void) run(engine, batches[0]);
		for (size_t b = 0; b < batches.size(); b++)
		{
			double		ms;
			double		gb;

			before = copied(engine);
			ms = median(engine, batches[b], 3);
			gb = 1e-9 * (double) (copied(engine).streamed_bytes - before.streamed_bytes) / 3;
			printf("| %u | %.1f | %zu | %.0f | %.1f | %.1f | %.2f | %.0f | %.1f |\n", n, rate, batches[b].jobs.size(), ms, gb,
				   1000 * gb / ms, 1000 * gb / ms / rate, of_cpu[b], of_cpu[b] / ms);
			fflush(stdout);
			if (memcmp(answers[b].data(), batches[b].hits.data(), answers[b].size() * sizeof(GenieHit)) != 0)
			{
				printf("answers differ\n");
				return false;
			}
		}
		engine->ops->close(engine);
	}
	return true;
}

int
main(int argc, char **argv)
{
	const uint32_t millions = argc > 2 ? (uint32_t) atoi(argv[2]) : 46;
	const double gigabytes = argc > 3 ? atof(argv[3]) : 0;
	const std::vector<uint32_t> sizes = {1, 16, 128, 1024};
	std::vector<uint32_t> first_ranks;
	std::vector<Batch> batches;
	std::vector<std::vector<GenieHit>> answers;
	std::vector<double> of_one;
	Large		large;
	uint32_t	n_devices;

	if (argc < 2 || millions == 0)
	{
		fprintf(stderr, "usage: bench_devices LIBRARY [MILLIONS [GIGABYTES [codes]]]\n");
		return 2;
	}
	if (argc > 4)
		image_form = GENIE_IMAGE_CODES;
	for (uint32_t f = 0; f < FUNCTIONS; f++)
		first_ranks.push_back(f * BUCKETS);

	/* a posting takes about 3.3 bytes, or 1.02 */
	Arena		arena((size_t) ((millions + 2) * (argc > 4 ? 1.1 : 4) * MADE_TILES * GENIE_TILE_OBJECTS * FUNCTIONS));
	const TestImage made(arena, MADE_TILES * GENIE_TILE_OBJECTS, FUNCTIONS * BUCKETS, make_tile, false, first_ranks);
	const TestImage small(arena, SMALL_TILES * GENIE_TILE_OBJECTS, FUNCTIONS * BUCKETS, make_tile, false, first_ranks);

	repeat(made, millions, arena, large);
	printf("%u objects, %.1f G postings, %.1f GB\n", large.image.n_objects,
		   1e-9 * (double) large.before.back(), 1e-9 * (double) large.n_bytes);
	if (gigabytes <= 0)
		batches.push_back(make_batch(small.image, 1));
	for (const uint32_t n : sizes)
		batches.push_back(make_batch(large.image, n));

	if (gigabytes > 0)
		return !stream(argv[1], (uint64_t) (1e9 * gigabytes), arena, batches);
	n_devices = library_devices(argv[1]);
	printf("| devices | 262,144 objects, 1 query, ms | | first answer, s |");
	for (const uint32_t n : sizes)
		printf(" %u queries, ms | |", n);
	printf("\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (uint32_t n = 1; n <= n_devices; n *= 2)
	{
		GenieEngine *engine = open_devices(argv[1], n, 0);

		printf("| %u |", n);
		for (size_t b = 0; b < batches.size(); b++)
		{
			double		ms;

			if (b == 1)
				printf(" %.1f |", 0.001 * run(engine, batches[b]));
			ms = median(engine, batches[b], b == 0 ? 100 * REPEATS : REPEATS);

			if (n == 1)
			{
				of_one.push_back(ms);
				answers.push_back(batches[b].hits);
			}
			printf(" %.3f | %.2f |", ms, of_one[b] / ms);
			fflush(stdout);
			if (memcmp(answers[b].data(), batches[b].hits.data(), answers[b].size() * sizeof(GenieHit)) != 0)
			{
				printf("answers differ\n");
				return 1;
			}
		}
		printf("\n");
		engine->ops->close(engine);
	}
	capacity(argv[1], n_devices, large, batches[1]);
	return 0;
}
