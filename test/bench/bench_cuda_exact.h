/*
 * bench_cuda_exact.h
 *	  Points for exact search by distance, the yardstick of approximate answers.
 *
 * Points are of bytes, in clusters, as those of bench_cuda_ocr.cpp: a cluster has a value for each dimension, 0 for
 * half of them, and a point is its cluster's values with noise of +-64, the sum of two uniform numbers, cut to 0 ..
 * 255.  A value is a function of the point's number and the dimension, for the host and the device; none is kept.
 */
#ifndef BENCH_CUDA_EXACT_H
#define BENCH_CUDA_EXACT_H

#include <stdint.h>

#ifdef __CUDACC__
#define BENCH_BOTH __host__ __device__
#else
#define BENCH_BOTH
#endif

BENCH_BOTH static inline uint64_t
bench_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
	return x ^ (x >> 31);
}

/* A value of a point. */
BENCH_BOTH static inline uint32_t
bench_point_value(uint32_t point, uint32_t dimension)
{
	const uint32_t noise = 64;
	const uint64_t cluster = bench_mix(point * 0x9E3779B97F4A7C15u + 1) % 128;
	const uint64_t of_cluster = bench_mix((cluster << 32 | dimension) * 0xD1B54A32D192ED03u + 2);
	const uint64_t own = bench_mix(((uint64_t) point << 32 | dimension) * 0x9E3779B97F4A7C15u + 3);
	const int	grey = (of_cluster & 256) != 0 ? 0 : (int) (of_cluster & 255);
	const int	value = grey + (int) ((own & 255) * noise / 255) + (int) ((own >> 8 & 255) * noise / 255) - (int) noise;

	return (uint32_t) (value < 0 ? 0 : value > 255 ? 255 : value);
}

#endif							/* BENCH_CUDA_EXACT_H */
