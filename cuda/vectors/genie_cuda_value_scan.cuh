/*
 * genie_cuda_value_scan.cuh
 *	  SCAN jobs: the best k objects by keys of their quantized vectors.
 *
 * Jobs of the same tiles and vectors are done together, in passes.  A pass has three steps, each for all of its
 * queries:
 *
 * 1.	genie_cuda_value_keys: the keys of all objects, 0 of those that the query does not want.  Records come from the
 *		device's memory once for all queries.
 * 2.	genie_cuda_value_select: the k-th best candidate by a radix select over all keys, and those not worse.
 * 3.	The same file sorts them.
 *
 * The keys of all objects take 4 bytes an object and query, which are written once and read some times.  A record has
 * as many bytes as dimensions, so this costs little, and nothing can overflow, whatever the keys are.
 */
#ifndef GENIE_CUDA_VALUE_SCAN_CUH
#define GENIE_CUDA_VALUE_SCAN_CUH

#include "genie_cuda_context.cuh"

/* The constants of a query's bounds come from the host: genie_value_bound.h, which only the keys' kernel compiles. */
struct GenieValueConstants;

/* A query's select: which candidates are among the best k. */
struct GenieCudaValueState
{
	GenieCudaCandidate known;	/* the digits of the k-th candidate that are known, and zeros */
	uint32_t	need;			/* which of the candidates with these digits it is */
	uint32_t	done;			/* exactly the best k are not below known */
	uint32_t	n_blocks;		/* that have counted a digit */
	uint32_t	n;				/* candidates gathered */
};

struct GenieCudaValueQuery
{
	const GenieValueConstants *constants;
	const uint4 *body;			/* of genie_value_query() */
	bool		is_known;		/* is anything known of it? */
	uint32_t	k;
	uint32_t	min_key;
	bool		has_after;
	GenieHit	after;
	uint32_t   *keys;			/* of each object of the tiles */
	uint32_t   *histogram;		/* GENIE_CUDA_VALUE_DIGITS zeros */
	GenieCudaValueState *state;
	GenieCudaCandidate *candidates; /* room for k */
	GenieHit   *hits;			/* room for an even number; zeros behind the last hit */
	uint4	   *n_hits;			/* in x */
};

/* Queries of the same records. */
struct GenieCudaValueScan
{
	GenieMetric metric;
	uint32_t	n_dimensions;
	uint32_t	n_units;		/* 16 bytes of a record */
	const uint8_t *const *tiles;	/* of the vectors */
	const uint64_t *live;		/* from the first object on */
	uint32_t	first_object;
	uint32_t	n_objects;
	uint32_t	n_queries;
	const GenieCudaValueQuery *queries;
};

/* Two buffers of n candidates for sorting, where a query's k are at the same place in both. */
struct GenieCudaValueSort
{
	GenieCudaCandidate *from;	/* the queries' candidates */
	GenieCudaCandidate *to;
	uint64_t	n;
	uint32_t   *begins;			/* of each query, filled in by the host */
	uint32_t   *ends;			/* filled in by a kernel */
	void	   *temporary;
	size_t		temporary_bytes;
};

/* Writes all keys. */
extern void genie_cuda_value_keys(const GenieCudaValueScan &scan, cudaStream_t stream);

/* Gathers the best k of each query. */
extern void genie_cuda_value_select(const GenieCudaValueScan &scan, cudaStream_t stream);

/* Writes the hits: of queries of k up to GENIE_CUDA_SORT_MAX, and of larger ones. */
extern void genie_cuda_value_sort_small(const GenieCudaValueScan &scan, cudaStream_t stream);
extern void genie_cuda_value_sort_large(const GenieCudaValueScan &scan, const GenieCudaValueSort &sort,
										cudaStream_t stream);
extern size_t genie_cuda_value_sort_bytes(uint32_t n_queries, uint64_t n);

/* How many of the jobs, which have the same tiles and vectors, fit a pass, the first ones; 0: none. */
extern uint32_t genie_cuda_value_scan_jobs(const GenieCudaContext &context, const std::vector<GenieJob *> &jobs);

/*
 * Does so many jobs.  Throws if anything fails; GENIE_STATUS_DECLINED: the device has no room for the vectors.
 */
extern void genie_cuda_value_scan(GenieCudaContext &context, const std::vector<GenieJob *> &jobs, uint64_t pass);

#endif							/* GENIE_CUDA_VALUE_SCAN_CUH */
