/*
 * bench_cuda_nearest.cpp
 *	  Pairs of points and queries that are near to each other, in floats: the GPU's part of genie_exact_knn().
 *
 *	fused			the engine's kernel on points that are on the device
 *	cublas-N		the same by cuBLAS, N points at a time, its products written and read again
 *	engine-N		the engine's jobs, N points each, copied from pinned memory, pairs copied back
 *
 * A query's bound is its distance to the nearest of SAMPLE points, so one in SAMPLE of the others is within it.  That
 * is the order of magnitude of what genie_exact_knn() asks of all its panels for k = 100 and some millions of rows.
 */
#include <algorithm>

#include "bench_cuda_exact.h"
#include "bench_cuda_runs.h"

constexpr uint32_t DIMENSIONS = 128;
constexpr uint32_t SAMPLE = 2048;
constexpr uint32_t ROOM = 16 << 20;	/* pairs of all points */
constexpr uint32_t PANEL_ROOM = 1 << 20;

static void
put_point(uint32_t point, float *to, float *term)
{
	*term = 0;
	for (uint32_t d = 0; d < DIMENSIONS; d++)
	{
		to[d] = (float) bench_point_value(point, d);
		*term += to[d] * to[d];
	}
}

static float
product(const float *a, const float *b)
{
	float		sum = 0;

	for (uint32_t d = 0; d < DIMENSIONS; d++)
		sum += a[d] * b[d];
	return sum;
}

/* Prints a line; returns whether its pairs are others than those of the lines before. */
static uint32_t
tell(const Bench &bench, const std::string &name, double ms, uint64_t n_pairs, uint64_t &known)
{
	const bool	differs = known != 0 && known != n_pairs;

	known = n_pairs;
	printf("%-16s %9.2f ms  %llu pairs%s\n", name.c_str(), ms, (unsigned long long) n_pairs,
		   differs ? ", WRONG: not as many as above" : "");
	fflush(stdout);
	bench.record->add("nearest", "floats", name, BATCH, ms);
	return differs;
}

/* All points in panels of so many; all panels have the same place in memory, as a pinned arena gives it. */
static double
engine_ms(const Bench &bench, uint32_t n_points, uint32_t panel, const std::vector<float> &queries,
		  const std::vector<float> &bounds, Arena &arena, uint64_t &n_pairs)
{
	float	   *rows = (float *) arena.take((size_t) panel * DIMENSIONS * sizeof(float));
	float	   *terms = (float *) arena.take(panel * sizeof(float));
	GeniePair  *pairs = (GeniePair *) arena.take(PANEL_ROOM * sizeof(GeniePair));
	GenieNearest nearest = {false, DIMENSIONS, BATCH, panel, queries.data(), bounds.data(), rows, terms};
	GenieJob	job = {};
	double		ms = 0;

	job.kind = GENIE_JOB_NEAREST;
	job.nearest = &nearest;
	job.k = PANEL_ROOM;
	job.out = pairs;
	n_pairs = 0;
	for (uint32_t first = 0; first < n_points; first += panel)
	{
		double		begin;

		nearest.n_rows = std::min(panel, n_points - first);
		parallel(nearest.n_rows, [&](uint32_t i) { put_point(first + i, rows + (size_t) i * DIMENSIONS, terms + i); });
		begin = seconds();
		(void) bench.gpu->ops->run(bench.gpu, 1, &job);
		ms += (seconds() - begin) * 1000;
		if (job.status != GENIE_OK || job.n_hits > job.k)
		{
			printf("engine: status %d, %u pairs: %s\n", (int) job.status, job.n_hits, bench.gpu->error);
			return ms;
		}
		n_pairs += job.n_hits;
	}
	return ms;
}

uint32_t
bench_nearest(const Bench &bench, uint32_t n_points, Arena &arena)
{
	std::vector<float> queries((size_t) BATCH * DIMENSIONS);
	std::vector<float> sample((size_t) SAMPLE * DIMENSIONS);
	std::vector<float> terms(std::max(SAMPLE, BATCH));
	std::vector<float> bounds(BATCH);
	BenchNearest what = {n_points, DIMENSIONS, BATCH, 0, bounds.data(), ROOM, 0};
	uint64_t	known = 0;
	uint32_t	n_wrong = 0;

	parallel(BATCH, [&](uint32_t q) { put_point(n_points + q, &queries[(size_t) q * DIMENSIONS], &terms[q]); });
	parallel(SAMPLE, [&](uint32_t i) { put_point(i, &sample[(size_t) i * DIMENSIONS], &terms[i]); });
	parallel(BATCH, [&](uint32_t q) {
		const float *query = &queries[(size_t) q * DIMENSIONS];

		bounds[q] = terms[0] - 2 * product(query, sample.data());
		for (uint32_t i = 1; i < SAMPLE; i++)
			bounds[q] = std::min(bounds[q], terms[i] - 2 * product(query, &sample[(size_t) i * DIMENSIONS]));
	});

	printf("\nnearest: pairs of %u points and %u queries of %u dimensions, in floats\n", n_points, BATCH, DIMENSIONS);
	for (const uint32_t block : {0u, 8192u, 32768u, 131072u})
	{
		const std::string name = block == 0 ? "fused" : "cublas-" + std::to_string(block);
		double		ms = 0;
		const char *error;

		what.block = block;
		error = bench.rivals->nearest(&what, &ms);
		if (error != nullptr)
			printf("%s: %s\n", name.c_str(), error);
		else
			n_wrong += tell(bench, name, ms, what.n_pairs, known);
	}
	for (const uint32_t panel : {8192u, 65536u})
	{
		uint64_t	n_pairs;

		if (bench.gpu == nullptr)
			break;
		const double ms = engine_ms(bench, n_points, panel, queries, bounds, arena, n_pairs);

		n_wrong += tell(bench, "engine-" + std::to_string(panel), ms, n_pairs, known);
	}
	return n_wrong;
}
