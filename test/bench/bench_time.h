/*
 * bench_time.h
 *	  Seconds, and their median, for the benchmarks of the CPU engine's parts.
 */
#ifndef BENCH_TIME_H
#define BENCH_TIME_H

#include <stdlib.h>
#include <time.h>

/* By CLOCK_MONOTONIC, or CLOCK_PROCESS_CPUTIME_ID: a single thread's processor time, whatever else the machine does. */
static inline double
bench_seconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

static inline int
bench_compare(const void *a, const void *b)
{
	const double x = *(const double *) a;
	const double y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The upper one of two medians; sorts the values. */
static inline double
bench_median(double *values, size_t n)
{
	qsort(values, n, sizeof(double), bench_compare);
	return values[n / 2];
}

#endif							/* BENCH_TIME_H */
