/*
 * unit_cuda.h
 *	  What the parts of unit_cuda share: the engine that is tested, how much is done, and cases.
 */
#ifndef UNIT_CUDA_H
#define UNIT_CUDA_H

#include <string>

#include "unit_cuda_jobs.h"

/* How large cases are: as they are meant to be; without what is large; and so small that a tool may slow them down. */
enum Scale
{
	WHOLE,
	QUICK,
	TINY
};

extern GenieEngine *cuda;
extern Arena *arena;
extern Scale scale;

/* One of three by the scale. */
template <class VALUE> VALUE
by_scale(VALUE whole, VALUE quick, VALUE tiny)
{
	return scale == WHOLE ? whole : scale == QUICK ? quick : tiny;
}

/* Is the next case in the part that is to be done?  Each case asks once. */
extern bool is_mine();

/* Prints a case's name, what it is about, and what was wrong: "" if nothing. */
extern void report(const char *name, const std::string &what, const std::string &wrong);

/* Runs a batch on both engines and reports what differs. */
extern void check(const char *name, const std::string &what, Batch &batch);

/* An interrupt callback that says stop. */
extern bool stop_at_once();

/* The jobs as engines take them, with results in the given memory. */
extern std::vector<GenieJob> jobs_of(Batch &batch, std::vector<std::vector<uint8_t>> &outs);

/* What differs first between a job that the CPU engine has done and the same by the GPU; "" if nothing. */
extern std::string difference(const GenieJob &cpu, const GenieJob &gpu);

/* Key tables (unit_cuda_keys.cpp). */
extern void key_cases();
extern void bounded_key_case();

/*
 * Bit lanes (unit_cuda_lanes.cpp).  of_scale: how large, which need not be as large as the others; all: no query may be
 * given back to tiles, as some are where there is so little shared memory that tables do not fit, or samples mislead.
 */
extern void lanes_cases(Scale of_scale, bool all);

/* An image with codes: so many dimensions of n_values each, which are drawn uniformly. */
extern std::unique_ptr<TestImage> make_uniform_tuples(uint32_t n_objects, uint32_t n_dimensions, uint32_t n_values);

/* Bounds of hits' distances (unit_cuda_bounds.cpp). */
extern void bounds_cases();
extern void bounds_memory_cases();

/* Exact search (unit_cuda_nearest.cpp). */
extern void nearest_cases();
extern void nearest_failure_case();

/* Hashing (unit_cuda_hash.cpp). */
extern void hash_cases();
extern void hash_failure_case();

/* used: the device is told to count by tensor cores where they can, else never to; all: as above. */
extern void tensor_cases(bool used, bool all);

#endif							/* UNIT_CUDA_H */
