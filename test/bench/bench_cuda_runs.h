/*
 * bench_cuda_runs.h
 *	  What is measured of a shape.
 */
#ifndef BENCH_CUDA_RUNS_H
#define BENCH_CUDA_RUNS_H

#include <cstdio>
#include <memory>

#include "bench_cuda_cpu.h"

constexpr uint32_t BATCH = 1024;

/* Figures for plots, one a line, tab-separated: figure, shape, engine, x, value. */
class Record
{
public:
	explicit Record(const char *path);	/* NULL: nowhere */
	~Record();

	void		note(const std::string &line);
	void add(const std::string &figure, const std::string &shape, const std::string &engine, double x, double value);

private:
	FILE	   *file = nullptr;
};

/* The subjects: engines, competitors, and their yardsticks. */
struct Bench
{
	GenieEngine *gpu = nullptr; /* NULL: no GPU */
	const BenchGpu *rivals = nullptr;	/* NULL: none that need a GPU */
	GenieEngine *cpu = nullptr;
	uint32_t	n_cores = 1;
	double		budget = 1; /* seconds that a figure may take; longer ones are left out */
	std::vector<std::string> parts; /* of part_names(); empty: all */
	BenchGpuCeilings gpu_ceilings = {};
	BenchCpuCeilings cpu_ceilings = {};
	Record	   *record = nullptr;

	bool		wants(const std::string &part) const;
};

extern std::vector<std::string> part_names();

/* Measures the machine's ceilings and prints them. */
extern void bench_ceilings(Bench &bench);

/* Exact search in floats among n points (bench_cuda_nearest.cpp); returns how many answers were wrong. */
extern uint32_t bench_nearest(const Bench &bench, uint32_t n_points, Arena &arena);

/* Bounds of the distances of hits on the GPU, which rivals has (bench_cuda_bounds.cpp). */
extern void bench_bounds(const Bench &bench);

/* One shape; returns how many answers were wrong.  profile: a few batches on the GPU and no more. */
extern uint32_t bench_shape(const Bench &bench, const Shape &shape, Arena &arena, bool profile);

#endif							/* BENCH_CUDA_RUNS_H */
