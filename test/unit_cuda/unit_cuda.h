/*
 * unit_cuda.h
 *	  What the parts of unit_cuda share: the tested engine, the scale of cases, and the cases.
 */
#ifndef UNIT_CUDA_H
#define UNIT_CUDA_H

#include <string>

#include "unit_cuda_jobs.h"

/* How large cases are: whole; without the large ones; or so small that tools may slow them down. */
enum Scale
{
	WHOLE,
	QUICK,
	TINY
};

extern GenieEngine *cuda;
extern Arena *arena;
extern Scale scale;

/* One of three values, by the scale. */
template <class VALUE>
VALUE
by_scale(VALUE whole, VALUE quick, VALUE tiny)
{
	return scale == WHOLE ? whole : scale == QUICK ? quick : tiny;
}

/* Is the next case in the part that this process does?  Each case asks once. */
extern bool is_mine();

/* Prints a case's name, its subject, and what is wrong with it; "": nothing. */
extern void report(const char *name, const std::string &what, const std::string &wrong);

/* Runs a batch on both engines and reports the first difference. */
extern void check(const char *name, const std::string &what, Batch &batch);

/* An interrupt callback that always says stop. */
extern bool stop_at_once();

/* The jobs as engines take them, with their results in outs. */
extern std::vector<GenieJob> jobs_of(Batch &batch, std::vector<std::vector<uint8_t>> &outs);

/* The first difference between a job as the CPU engine has done it and the same by the GPU; "": none. */
extern std::string difference(const GenieJob &cpu, const GenieJob &gpu);

/* Key tables (unit_cuda_keys.cpp). */
extern void key_cases();
extern void bounded_key_case();

/*
 * Bit lanes (unit_cuda_lanes.cpp), in cases of a scale of their own.  all: no query may be given back to tiles.  Some
 * are if shared memory is too small for the tables, or if samples mislead.
 */
extern void lanes_cases(Scale of_scale, bool all);

/* An image with codes of n_dimensions dimensions; each has n_values values, drawn uniformly. */
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

/* Scans by quantized vectors (unit_cuda_scan.cpp). */
extern void scan_cases();
extern void graph_cases();
extern void scan_too_large_case();
extern void scan_on_device_case();

/*
 * Has the engine copy the groups of some tiles, or of vectors these tiles, to stay.  How many of them are there then;
 * -1: it did not.
 */
extern int	stage(const GenieSegmentImage &image, const GenieQuantizedVectors *vectors, uint32_t first_tile,
				 uint32_t end_tile);

/*
 * FACETS and GRID jobs over ranges of tiles (unit_cuda_facets.cpp).  n_dimensions: objects have a keyword of each of so
 * many equal dimensions, or of most; 0: of any keywords.
 */
extern void add_facet_jobs(Batch &batch, Random &random, const TestImage &image, uint32_t n_jobs,
						   uint32_t n_dimensions);
extern void facet_cases();

/* used: count by tensor cores wherever they can, or else never; all: as above. */
extern void tensor_cases(bool used, bool all);

#endif							/* UNIT_CUDA_H */
