/*
 * bench_cuda_cpu.h
 *	  The competitor that runs on the CPU, cpu-idx (bench_cuda_rivals.h), and the CPU's ceilings.
 */
#ifndef BENCH_CUDA_CPU_H
#define BENCH_CUDA_CPU_H

#include "bench_cuda_rivals.h"
#include "bench_cuda_shapes.h"

/* Inverted lists of whole shapes, by rank: the objects of ranks below r are before[r] (Rows) entries. */
extern std::vector<uint32_t> inverted_lists(const Rows &rows);

/* The best k objects of count 1 or more, in no order. */
extern std::vector<GenieHit> cpu_index_search(const Rows &rows, const std::vector<uint32_t> &lists,
											  const Ranges &ranges, uint32_t k, std::vector<GenieHit> &counters);

struct BenchCpuCeilings
{
	double		copy_bytes;		/* memory read and written, bytes/s */
	double		increments;		/* additions to random bytes of 16 KB, by 16-bit numbers/s */
	double		adder_compares; /* rows of 512 bits fetched from L1 and added bit-sliced: compares/s */
};

extern BenchCpuCeilings cpu_ceilings(uint32_t n_threads);

#endif							/* BENCH_CUDA_CPU_H */
