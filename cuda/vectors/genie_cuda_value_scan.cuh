/*
 * genie_cuda_value_scan.cuh
 *	  SCAN jobs: the best k objects by keys of their quantized vectors.
 *
 * Jobs of the same tiles and vectors are done together, in passes.  There are three ways.
 *
 * All keys.  For few objects or a large k:
 *
 * 1.	genie_cuda_value_keys: the keys of all objects, 0 of those that the query does not want.  Records come from the
 *		device's memory once for all queries.
 * 2.	genie_cuda_value_select: the k-th best candidate by a radix select over all keys, and those not worse.
 * 3.	The same file sorts them.
 *
 * The keys of all objects take 4 bytes an object and query, which are written once and read some times.  Nothing can
 * overflow, whatever the keys are.
 *
 * Keys above a floor:
 *
 * 1.	Keys and select as above, of every stride-th object.  At least as many objects as a query wants are not worse
 *		than the best of these, so the k-th of them is a floor.
 * 2.	The keys of all objects, of which only those not worse than the floor are kept: some stride * k of each query.
 * 3.	The select of the best k, and the sort, as above.
 *
 * By a filter.  For many queries, the last step from a product to a key takes many times as long as the product, and
 * few objects need it.  In the place of step 2:
 *
 * 2.	genie_cuda_value_filter: tensor cores multiply all queries with all records, and in registers each product is
 *		compared with what a key of the floor needs (genie_value_filter.h).  Then the keys of the objects that are left.
 *
 * A query for which more objects are left than there is room for is done again by all keys: its answer cannot be known
 * from a part of them.  That happens to a filter where many keys are equal; where every stride-th object is unlike the
 * others; and where nothing is known of a query, or too few objects are behind its cursor, so that there is no floor.
 */
#ifndef GENIE_CUDA_VALUE_SCAN_CUH
#define GENIE_CUDA_VALUE_SCAN_CUH

#include "genie_cuda_context.cuh"
#include "genie_cuda_sort.cuh"
#include "genie_value_filter.h"
#include "genie_value_record.h"

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
	const GenieCudaValueState *floor;	/* objects worse than this are not wanted; NULL: there is none */
	uint32_t   *objects;		/* its own, those that may be no worse; NULL: the scan's */
	uint32_t   *n_objects;		/* of these; GENIE_CUDA_VALUE_ALL: none, since all keys are needed */
	uint32_t   *keys;			/* of each object */
	uint32_t   *histogram;		/* GENIE_CUDA_VALUE_DIGITS zeros */
	GenieCudaValueState *state;
	GenieCudaCandidate *candidates; /* room for k */
	GenieHit   *hits;			/* room for an even number; zeros behind the last hit */
	uint4	   *n_hits;			/* in x; in y, n_objects */
};

/* more than any number of objects that a filter leaves, and adding as many gives no small number */
constexpr uint32_t GENIE_CUDA_VALUE_ALL = UINT32_C(1) << 31;

/* Queries of the same records. */
struct GenieCudaValueScan
{
	GenieMetric metric;
	uint32_t	n_dimensions;
	uint32_t	n_units;		/* 16 bytes of a record; not of bits */
	const uint8_t *const *tiles;	/* of the vectors */
	const uint64_t *live;		/* from the first object on */
	uint32_t	first_object;
	uint32_t	n_objects;
	uint32_t	stride;			/* keys are of every stride-th object */
	uint32_t	n_keys;			/* of a query; room for them, where it has objects of its own */
	uint32_t	n_queries;
	const GenieCudaValueQuery *queries;
	uint32_t	n_rows;			/* texts: codes of the longest query */
};

static __device__ __forceinline__ uint32_t
genie_cuda_value_n_keys(const GenieCudaValueScan &scan, const GenieCudaValueQuery &query)
{
	if (query.objects == nullptr)
		return scan.n_keys;
	return *query.n_objects <= scan.n_keys ? *query.n_objects : 0;
}

/* Of how many objects genie_cuda_value_keys() looks at the records. */
static __host__ __device__ __forceinline__ uint32_t
genie_cuda_value_n_looked_at(const GenieCudaValueScan &scan)
{
	return (scan.n_objects + scan.stride - 1) / scan.stride;
}

/* Adds an object to the query's own, if there is room. */
static __device__ __forceinline__ void
genie_cuda_value_take(const GenieCudaValueScan &scan, const GenieCudaValueQuery &query, uint32_t object, uint32_t key)
{
	const uint32_t place = atomicAdd(query.n_objects, 1);

	if (place < scan.n_keys)
	{
		query.objects[place] = object;
		query.keys[place] = key;
	}
}

/* The object of key i. */
static __device__ __forceinline__ uint32_t
genie_cuda_value_object(const GenieCudaValueScan &scan, const GenieCudaValueQuery &query, uint32_t i)
{
	return query.objects == nullptr ? scan.first_object + i * scan.stride : query.objects[i];
}

static __device__ __forceinline__ const uint4 *
genie_cuda_value_record(const GenieCudaValueScan &scan, uint32_t object)
{
	return (const uint4 *) scan.tiles[object >> GENIE_TILE_SHIFT] +
		(size_t) (object & (GENIE_TILE_OBJECTS - 1)) * scan.n_units;
}

static __device__ __forceinline__ bool
genie_cuda_value_is_live(const GenieCudaValueScan &scan, uint32_t object)
{
	const uint32_t i = object - scan.first_object;

	return (scan.live[i / 64] >> (i % 64) & 1) != 0;
}

/* genie_value_key() of a float that is not NaN, which a bound has been rounded down to */
static __device__ __forceinline__ uint32_t
genie_cuda_value_key(float bound)
{
	const uint32_t bits = __float_as_uint(bound);
	const uint32_t ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;

	return 0x7FFFFFFFu - (ordered >> 1);
}

/* The bound that a key stands for, as genie_value_key_bound(). */
static __device__ __forceinline__ double
genie_cuda_value_key_bound(uint32_t key)
{
	const uint32_t ordered = (0x7FFFFFFFu - key) << 1;
	const float bound = __uint_as_float((ordered & 0x80000000u) != 0 ? ordered ^ 0x80000000u : ~ordered);

	/* beyond infinity are the bits of NaN */
	return bound == bound ? (double) bound : (ordered & 0x80000000u) != 0 ? (double) INFINITY : -(double) INFINITY;
}

/* The key of an object, or 0 if the query does not want it. */
static __device__ __forceinline__ uint32_t
genie_cuda_value_wanted(const GenieCudaValueScan &scan, const GenieCudaValueQuery &query, uint32_t object, uint32_t key)
{
	if (!genie_cuda_value_is_live(scan, object) || key < query.min_key)
		return 0;
	if (query.has_after && (key > query.after.key || (key == query.after.key && object <= query.after.object)))
		return 0;
	return key;
}

/* Writes the key of object i that is looked at; where there is a floor, takes the object if it is no worse. */
static __device__ __forceinline__ void
genie_cuda_value_put(const GenieCudaValueScan &scan, const GenieCudaValueQuery &query, uint32_t i, uint32_t key)
{
	const uint32_t object = scan.first_object + i * scan.stride;
	const uint32_t wanted = genie_cuda_value_wanted(scan, query, object, key);

	if (query.floor == nullptr)
		query.keys[i] = wanted;
	else if (wanted != 0 && genie_cuda_candidate(key, object) >= query.floor->known)
		genie_cuda_value_take(scan, query, object, key);
}

/* GenieValueFilterQuery, in two loads */
struct GenieCudaValueNumbers
{
	float4		of;
	float		rest;
	uint32_t	unused[3];
};

struct GenieCudaValueFilter
{
	const uint8_t *bodies;		/* of genie_cuda_value_padded() queries, and behind each zeros */
	uint32_t	body_bytes;		/* from one to the next: genie_cuda_value_body_bytes() */
	double		middle;			/* of genie_value_filter_record() */
	GenieCudaValueNumbers *numbers; /* of genie_cuda_value_padded() queries */
};

/*
 * Writes the keys of the scan's objects; of queries with a floor, their own objects, too, with their keys.  The other
 * one writes the keys of each query's own objects, which are there.
 */
extern void genie_cuda_value_keys(const GenieCudaValueScan &scan, cudaStream_t stream);
extern void genie_cuda_value_keys_of_objects(const GenieCudaValueScan &scan, cudaStream_t stream);

/* genie_cuda_value_keys() of distances to pivots, of vectors with a bit a dimension, of bit strings, and of texts */
extern void genie_cuda_value_pivots(const GenieCudaValueScan &scan, cudaStream_t stream);
extern void genie_cuda_value_rabitq(const GenieCudaValueScan &scan, cudaStream_t stream);
extern void genie_cuda_value_bits(const GenieCudaValueScan &scan, cudaStream_t stream);
extern void genie_cuda_value_string(const GenieCudaValueScan &scan, cudaStream_t stream);

/*
 * Queries without a floor get that of their smallest key.  Those that want any key are marked, as all keys are needed
 * for them, and get one that no object reaches.
 */
extern void genie_cuda_value_mark(const GenieCudaValueScan &scan, GenieCudaValueState *floors, cudaStream_t stream);

/* Finds the k-th best candidate of each query; gathers those not worse. */
extern void genie_cuda_value_find(const GenieCudaValueScan &scan, cudaStream_t stream);
extern void genie_cuda_value_gather(const GenieCudaValueScan &scan, cudaStream_t stream);

/* Can the device filter? */
extern bool genie_cuda_value_filter_possible(const GenieCudaDevice &device);

/* Queries up to whole tiles of the filter's, and bytes of a body up to whole slices. */
extern uint32_t genie_cuda_value_padded(uint32_t n_queries);
extern uint32_t genie_cuda_value_body_bytes(size_t n_bytes);

/* Writes the objects of each query: those whose keys may be at least that of its floor. */
extern void genie_cuda_value_filter(const GenieCudaValueScan &scan, const GenieCudaValueFilter &filter,
									cudaStream_t stream);

/* Writes the hits: of queries of k up to GENIE_CUDA_SORT_MAX, and of larger ones. */
extern void genie_cuda_value_sort_small(const GenieCudaValueScan &scan, cudaStream_t stream);
extern void genie_cuda_value_sort_large(const GenieCudaValueScan &scan, const GenieCudaSort &sort, cudaStream_t stream);

/*
 * How many of the jobs, which have the same tiles and vectors, fit a pass, the first ones; 0: none.  all_keys: not by a
 * filter.
 */
extern uint32_t genie_cuda_value_scan_jobs(const GenieCudaContext &context, const std::vector<GenieJob *> &jobs,
										   bool all_keys);

/*
 * Does so many jobs, and returns those that have to be done again by all keys.  Throws if anything fails;
 * GENIE_STATUS_DECLINED: the device has no room for the vectors.
 */
extern std::vector<GenieJob *> genie_cuda_value_scan(GenieCudaContext &context, const std::vector<GenieJob *> &jobs,
													 bool all_keys, uint64_t pass);

#endif							/* GENIE_CUDA_VALUE_SCAN_CUH */
