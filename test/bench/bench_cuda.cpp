/*
 * bench_cuda.cpp
 *	  The CUDA engine on data of the papers' shape.
 *
 *		bench_cuda LIBRARY [SHAPE ...] [--profile]
 *
 * Shapes, all synthetic and seeded:
 *	sift		4.5 M objects x 237 functions x 67 buckets of p-stable sizes (normal, standard deviation 8.56 buckets)
 *	uniform		the same with buckets of equal size
 *	documents	6.77 M objects x 10 distinct words of 200,000, drawn by Zipf's law; queries of 10 distinct words by
 *	the same law adult		976,840 objects x 14 attributes: 6 of 1024 values, asked for by ranges of +-50, and 8 of
 *	few values
 *
 * Times are of run(), on the host's clock, so they include copying queries and results; medians after a warm-up.  A
 * few queries are checked against counting plainly, more against the CPU engine.  --profile: the first query, group
 * by group as it is copied, and the warm-up only.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "genie_cuda_data.h"

constexpr uint32_t BATCH = 1024;
constexpr uint32_t K = 100;
constexpr uint32_t WARM_UP = 8;
constexpr uint32_t REPEATS = 11;
constexpr uint32_t SINGLES = 300;
constexpr uint32_t CHECKED = 64;	/* queries against the CPU engine */
constexpr uint32_t CPU_QUERIES = 32;	/* timed on it, one thread */
constexpr size_t ARENA_BYTES = (size_t) 5 << 30;

typedef std::vector<GenieRankRange> Ranges;

struct Shape
{
	std::string name;
	uint32_t	n_objects;
	uint32_t	n_keywords;
	uint32_t	max_count;
	TestImage::Maker maker;
	std::function<Ranges (Random &)> query;
};

/* One value a dimension: lists by counting sort. */
static TileLists
lists_of_codes(uint32_t n, uint32_t n_dimensions, const std::vector<uint32_t> &n_values,
			   const std::function<uint32_t (uint32_t)> &code)
{
	TileLists	lists;
	std::vector<uint32_t> codes(n);
	uint32_t	rank = 0;

	lists.n_objects = n;
	lists.sizes.assign(n, n_dimensions);
	lists.locals.resize((size_t) n * n_dimensions);
	for (uint32_t d = 0; d < n_dimensions; d++)
	{
		std::vector<uint32_t> at(n_values[d] + 1, 0);

		for (uint32_t i = 0; i < n; i++)
			at[1 + (codes[i] = code(d))]++;
		for (uint32_t v = 0; v < n_values[d]; v++)
		{
			if (at[v + 1] > 0)
			{
				lists.ranks.push_back(rank + v);
				lists.starts.push_back(d * n + at[v]);
			}
			at[v + 1] += at[v];
		}
		for (uint32_t i = 0; i < n; i++)
			lists.locals[(size_t) d * n + at[codes[i]]++] = (uint16_t) i;
		rank += n_values[d];
	}
	lists.starts.push_back(n * n_dimensions);
	return lists;
}

static uint32_t
objects_of_tile(uint32_t n_objects, uint32_t tile)
{
	return std::min(n_objects - tile * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS);
}

static Shape
signatures(const char *name, double deviation)
{
	constexpr uint32_t FUNCTIONS = 237;
	constexpr uint32_t BUCKETS = 67;
	const uint32_t n_objects = 4500000;
	std::vector<double> weights;

	for (uint32_t b = 0; b < BUCKETS; b++)
	{
		const double x = ((double) b - (BUCKETS - 1) / 2.0) / (deviation > 0 ? deviation : 1);

		weights.push_back(deviation > 0 ? exp(-x * x / 2) : 1);
	}
	const auto	draw = std::make_shared<Draw>(weights);

	return Shape{name, n_objects, FUNCTIONS * BUCKETS, FUNCTIONS, [=] (uint32_t t)
	{
		Random		random(t);

		return lists_of_codes(objects_of_tile(n_objects, t), FUNCTIONS, std::vector<uint32_t>(FUNCTIONS, BUCKETS),
							  [&] (uint32_t) { return (*draw)(random); });
	}, [=] (Random &random)
	{
		Ranges		ranges;

		for (uint32_t f = 0; f < FUNCTIONS; f++)
		{
			const uint32_t rank = f * BUCKETS + (*draw)(random);

			ranges.push_back(GenieRankRange{rank, rank + 1});
		}
		return ranges;
	}};
}

static Shape
documents()
{
	constexpr uint32_t WORDS = 200000;
	constexpr uint32_t EACH = 10;
	constexpr uint32_t SPREAD = 77773;	/* prime to WORDS: frequent words lie anywhere in the dictionary */
	const uint32_t n_objects = 6770000;
	const auto	below = std::make_shared<std::vector<double>>();
	double		sum = 0;

	for (uint32_t w = 1; w <= WORDS; w++)
		below->push_back(sum += 1.0 / w);
	const auto	words = [=] (Random &random)
	{
		std::vector<uint32_t> drawn;

		while (drawn.size() < EACH)
		{
			const double x = random.unit() * below->back();
			const uint64_t word = (uint64_t) (std::upper_bound(below->begin(), below->end(), x) - below->begin());
			const uint32_t rank = (uint32_t) (word * SPREAD % WORDS);

			if (word < WORDS && std::find(drawn.begin(), drawn.end(), rank) == drawn.end())
				drawn.push_back(rank);
		}
		std::sort(drawn.begin(), drawn.end());
		return drawn;
	};

	return Shape{"documents", n_objects, WORDS, EACH, [=] (uint32_t t)
	{
		Random		random(t);
		std::vector<uint64_t> pairs;
		TileLists	lists;

		for (uint32_t i = 0; i < objects_of_tile(n_objects, t); i++)
			for (const uint32_t rank : words(random))
				pairs.push_back((uint64_t) rank << 16 | i);
		lists.set(objects_of_tile(n_objects, t), pairs);
		return lists;
	}, [=] (Random &random)
	{
		Ranges		ranges;

		for (const uint32_t rank : words(random))
			ranges.push_back(GenieRankRange{rank, rank + 1});
		return ranges;
	}};
}

static Shape
adult()
{
	constexpr uint32_t NUMERIC = 1024;
	constexpr uint32_t AROUND = 50;
	const std::vector<uint32_t> n_values = {NUMERIC, 9, NUMERIC, 16, NUMERIC, 7, 15, 6, 5, 2,
		NUMERIC, NUMERIC, NUMERIC, 42};
	const uint32_t n_objects = 976840;
	const uint32_t n = (uint32_t) n_values.size();
	uint32_t	n_keywords = 0;

	for (const uint32_t values : n_values)
		n_keywords += values;
	return Shape{"adult", n_objects, n_keywords, n, [=] (uint32_t t)
	{
		Random		random(t);

		return lists_of_codes(objects_of_tile(n_objects, t), n, n_values,
							  [&] (uint32_t d) { return random.below(n_values[d]); });
	}, [=] (Random &random)
	{
		Ranges		ranges;
		uint32_t	rank = 0;

		for (const uint32_t values : n_values)
		{
			const uint32_t value = random.below(values);
			const uint32_t around = values == NUMERIC ? AROUND : 0;

			ranges.push_back(GenieRankRange{rank + value - std::min(value, around),
							 rank + std::min(values, value + around + 1)});
			rank += values;
		}
		return ranges;
	}};
}

/* ---- measuring ---- */

static std::vector<GenieJob>
make_jobs(const Shape &shape, const TestImage &image, const std::vector<Ranges> &queries, std::vector<GenieHit> &out)
{
	std::vector<GenieJob> jobs(queries.size());

	out.resize(queries.size() * K);
	for (size_t i = 0; i < queries.size(); i++)
	{
		memset(&jobs[i], 0, sizeof(GenieJob));
		jobs[i].kind = GENIE_JOB_TOP;
		jobs[i].image = &image.image;
		jobs[i].query.n_ranges = (uint32_t) queries[i].size();
		jobs[i].query.ranges = queries[i].data();
		jobs[i].query.max_count = shape.max_count;
		jobs[i].k = K;
		jobs[i].min_key = 1;
		jobs[i].out = &out[i * K];
	}
	return jobs;
}

/* One run's milliseconds; ends the program if it fails. */
static double
run_ms(GenieEngine *engine, std::vector<GenieJob> &jobs, size_t first, size_t n)
{
	const double begin = seconds();
	const GenieStatus status = engine->ops->run(engine, (uint32_t) n, &jobs[first]);
	const double ms = (seconds() - begin) * 1000;

	if (status != GENIE_OK || jobs[first].status != GENIE_OK)
	{
		printf("run failed: status %d, %d: %s\n", (int) status, (int) jobs[first].status, engine->error);
		exit(1);
	}
	return ms;
}

static double
percentile(std::vector<double> values, double part)
{
	std::sort(values.begin(), values.end());
	return values[(size_t) ((double) (values.size() - 1) * part)];
}

/* The answer by adding up lists, object by object. */
static std::vector<GenieHit>
plain_answer(const TestImage &image, const Ranges &ranges, uint64_t *n_postings)
{
	std::vector<std::vector<uint16_t>> counts(image.lists.size());
	std::vector<uint64_t> postings(image.lists.size(), 0);
	std::vector<GenieHit> hits;

	parallel((uint32_t) image.lists.size(), [&] (uint32_t t)
	{
		const TileLists &tile = image.lists[t];

		counts[t].assign(tile.n_objects, 0);
		for (const GenieRankRange &range : ranges)
		{
			const auto	begin = tile.ranks.begin();
			const size_t first = (size_t) (std::lower_bound(begin, tile.ranks.end(), range.first) - begin);
			const size_t end = (size_t) (std::lower_bound(begin, tile.ranks.end(), range.end) - begin);

			for (uint32_t i = tile.starts[first]; i < tile.starts[end]; i++)
				counts[t][tile.locals[i]]++;
			postings[t] += tile.starts[end] - tile.starts[first];
		}
	});
	for (size_t t = 0; t < counts.size(); t++)
	{
		*n_postings += postings[t];
		for (size_t i = 0; i < counts[t].size(); i++)
			if (counts[t][i] > 0)
				hits.push_back(GenieHit{counts[t][i], (uint32_t) (t * GENIE_TILE_OBJECTS + i)});
	}
	std::partial_sort(hits.begin(), hits.begin() + (long) std::min<size_t>(K, hits.size()), hits.end(),
					  [] (const GenieHit &a, const GenieHit &b)
	{
		return a.key != b.key ? a.key > b.key : a.object < b.object;
	});
	hits.resize(std::min<size_t>(K, hits.size()));
	return hits;
}

static bool
same_hits(const GenieHit *a, uint32_t n_a, const GenieHit *b, uint32_t n_b)
{
	if (n_a != n_b)
		return false;
	for (uint32_t i = 0; i < n_a; i++)
		if (a[i].key != b[i].key || a[i].object != b[i].object)
			return false;
	return true;
}

static uint32_t
check_answers(const Shape &shape, const TestImage &image, const std::vector<Ranges> &queries,
			  const std::vector<GenieJob> &jobs, double *postings_per_query)
{
	constexpr uint32_t PLAIN = 4;
	std::vector<Ranges> some(queries.begin(), queries.begin() + CHECKED);
	std::vector<GenieHit> out;
	std::vector<GenieJob> cpu_jobs = make_jobs(shape, image, some, out);
	uint64_t	n_postings = 0;
	uint32_t	n_wrong = 0;

	(void) run_on_cpu(cpu_jobs, 16);
	for (uint32_t i = 0; i < CHECKED; i++)
		n_wrong += !same_hits((const GenieHit *) cpu_jobs[i].out, cpu_jobs[i].n_hits,
							  (const GenieHit *) jobs[i].out, jobs[i].n_hits);
	for (uint32_t i = 0; i < PLAIN; i++)
	{
		const std::vector<GenieHit> hits = plain_answer(image, queries[i], &n_postings);

		n_wrong += !same_hits(hits.data(), (uint32_t) hits.size(), (const GenieHit *) jobs[i].out, jobs[i].n_hits);
	}
	*postings_per_query = (double) n_postings / PLAIN;
	return n_wrong;
}

static uint32_t
bench_shape(const Shape &shape, Arena &arena, GenieEngine *engine, bool profile)
{
	const double begin = seconds();
	GenieDeviceInfo info;
	std::vector<Ranges> queries;
	std::vector<GenieHit> out;
	std::vector<double> batch_ms;
	std::vector<double> small_ms;
	std::vector<double> single_ms;
	double		per_query;
	double		cpu_ms;
	Random		random(4711);

	arena.reset();
	TestImage	image(arena, shape.n_objects, shape.n_keywords, shape.maker, !profile);

	for (uint32_t i = 0; i < BATCH; i++)
		queries.push_back(shape.query(random));
	std::vector<GenieJob> jobs = make_jobs(shape, image, queries, out);
	const double made = seconds() - begin;

	(void) engine->ops->devices(engine, &info, 1);
	const uint64_t uploaded = info.uploaded_bytes;
	const uint64_t upload_us = info.upload_us;
	const uint64_t image_bytes = info.image_bytes;
	const double first_ms = run_ms(engine, jobs, 0, 1);

	(void) engine->ops->devices(engine, &info, 1);
	for (uint32_t i = 0; i < WARM_UP; i++)
		(void) run_ms(engine, jobs, 0, BATCH);
	if (profile)
		return 0;

	for (uint32_t i = 0; i < REPEATS; i++)
		batch_ms.push_back(run_ms(engine, jobs, 0, BATCH));
	for (uint32_t i = 0; i < REPEATS; i++)
		small_ms.push_back(run_ms(engine, jobs, i * 64, 64));
	for (uint32_t i = 0; i < SINGLES; i++)
		single_ms.push_back(run_ms(engine, jobs, i, 1));
	(void) run_ms(engine, jobs, 0, BATCH);

	const uint32_t n_wrong = check_answers(shape, image, queries, jobs, &per_query);
	std::vector<GenieHit> cpu_out;
	std::vector<Ranges> some(queries.begin(), queries.begin() + CPU_QUERIES);
	std::vector<GenieJob> cpu_jobs = make_jobs(shape, image, some, cpu_out);

	cpu_ms = run_on_cpu(cpu_jobs, 1) * 1000;
	printf("%-10s %7.2f %7.2f %6.2f | %7.2f %6.3f %6.3f | %5.2f %5.2f %6.1f | %8.2f %9.0f | %7.1f %u\n",
		   shape.name.c_str(), percentile(batch_ms, 0.5), percentile(batch_ms, 0),
		   per_query * BATCH / percentile(batch_ms, 0.5) / 1e9,
		   percentile(small_ms, 0.5), percentile(single_ms, 0.5), percentile(single_ms, 0.99),
		   (double) (info.image_bytes - image_bytes) / (double) image.n_postings,
		   (double) (info.uploaded_bytes - uploaded) / 1e9,
		   (double) (info.uploaded_bytes - uploaded) / (double) (info.upload_us - upload_us) / 1e3,
		   cpu_ms / CPU_QUERIES, cpu_ms / CPU_QUERIES * BATCH, made, n_wrong);
	printf("           %.1f M postings a query, %.0f M in all; first query (with upload) %.1f ms; scratch %.0f MB\n",
		   per_query / 1e6, (double) image.n_postings / 1e6, first_ms, (double) info.scratch_bytes / 1e6);
	fflush(stdout);
	engine->ops->forget(engine, image.image.id);
	return n_wrong;
}

int
main(int argc, char **argv)
{
	GenieEngineOptions options;
	GenieStatus status;
	std::vector<std::string> wanted;
	bool		profile = false;
	uint32_t	n_wrong = 0;

	if (argc < 2)
	{
		fprintf(stderr, "usage: bench_cuda LIBRARY [SHAPE ...] [--profile]\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
	{
		if (strcmp(argv[i], "--profile") == 0)
			profile = true;
		else
			wanted.push_back(argv[i]);
	}
	Arena		arena(ARENA_BYTES);
	const double begin = seconds();

	options.memory_limit = 0;
	options.arena = arena.memory;
	options.arena_bytes = arena.bytes;
	GenieEngine *engine = open_library(argv[1], options, &status);

	if (engine == nullptr)
		return status == GENIE_STATUS_UNAVAILABLE ? 77 : 1;
	printf("opened in %.2f s (with %zu GB pinned); k = %u, batches of %u, medians of %u\n", seconds() - begin,
		   arena.bytes >> 30, K, BATCH, REPEATS);
	printf("           |   batch of 1024      | of 64 |   one query   |       memory       |  CPU engine, 1 core, 32 q.\n"
		   "shape           ms    best   T/s |      ms    p50    p99 | B/pst    GB   GB/s | ms/query   ms/1024 | "
		   "made, s wrong\n");
	for (const Shape &shape : {signatures("sift", 8.56), signatures("uniform", 0), documents(), adult()})
		if (wanted.empty() || std::find(wanted.begin(), wanted.end(), shape.name) != wanted.end())
			n_wrong += bench_shape(shape, arena, engine, profile);
	engine->ops->close(engine);
	return n_wrong > 0;
}
