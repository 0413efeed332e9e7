/*
 * genie_value_scan.h
 *	  Lower bounds of the distances of a query to many quantized vectors (genie_quantized.h), as integer keys.
 *
 * An exact search visits rows by ascending bound, and stops when the next bound is above the distances that it has.
 * A key is a bound, rounded down, as an integer whose order is the other way round: the best rows have the largest
 * keys, as engines rank them.
 *
 * The same keys everywhere.  A scan goes on behind a cursor (key, object), maybe by another engine or on another
 * processor.  So keys are the same bits for every instruction set and on GPUs.  Therefore:
 *	- the query is quantized, too: a byte a dimension, with a sign.  The product of query and vector is then one sum of
 *	  whole numbers, which is exact in any order, and as fast as memory;
 *	- by L1 it is quantized as records are, by the index's range, and so are distances to pivots.  The sum of the
 *	  codes' differences, and the largest, is as exact, and as fast.  It is taken as a product, with a minus: the
 *	  larger, the nearer;
 *	- from sums to bounds there is a fixed sequence of operations of doubles (genie_value_bound.h).
 *
 * Bit strings (genie_value_bits.h) are compared as they are: their bounds are the distances.  Those of vectors with a
 * bit a dimension (genie_rabitq.h) hold for most of them; a query has a byte a dimension there, too, and is rotated.
 *
 * Bounds hold for genie_vector_measure(), and for pgvector's operators on vectors of floats, as those of
 * genie_quantized.h do; genie_value_scan.c proves it.  For inner products they are of the negative one.  Where nothing
 * is known, the bound is 0, for inner products -infinity; so it is by L1 where the shape has no range.
 */
#ifndef GENIE_VALUE_SCAN_H
#define GENIE_VALUE_SCAN_H

#include "genie_quantized.h"
#include "genie_rabitq.h"
#include "genie_value_bits.h"
#include "genie_value_string.h"

#ifdef __cplusplus
extern "C" {
#endif

/* all keys are in 1 .. this */
#define GENIE_VALUE_KEY_MAX 0x7FFFFFFEu

/* the most dimensions: sums of products fit 32 bits */
#define GENIE_VALUE_DIMENSIONS_MAX 65535

/* of a query that is a text */
#define GENIE_VALUE_LENGTH_MAX 65535

/*
 * A query: q' = offset + scale * code, less the centre but for inner products.  Behind it are
 * genie_quantized_elements() codes (int8_t, or for L1 and pivots uint8_t; zeros behind the last dimension).  Of bits,
 * there are the bits as in a record, of a text GENIE_VALUE_PATTERN_MAX codes; only metric and n_dimensions mean
 * something, and its length.  With a bit a dimension, the query is rotated, and there are genie_rabitq_elements() codes
 * (int8_t).  It has no pointers: it is copied from process to process.
 */
typedef struct GenieValueQuery
{
	uint32_t	metric;			/* GenieMetric */
	uint32_t	n_dimensions;	/* 1 .. GENIE_VALUE_DIMENSIONS_MAX */
	double		offset;			/* floats, as doubles */
	double		scale;
	double		error;			/* how far q' is from the query, rounded up; infinite: nothing is known */
	double		norm;			/* |q'|, rounded up; L1: sum |q|, less the centre; of a text, its length */
	double		sum;			/* scale * the sum of the codes */
	double		squares;		/* scale^2 * the sum of their squares */
	double		roundings;		/* relative: those of operators, with room for ours */

	/*
	 * Inner product, 0 without a centre: the centre's product with the query, and what that adds to roundings, rounded
	 * up.  L1: how far outside the range elements are, summed.
	 */
	double		base;
	double		reach;			/* inner product: the lengths' product of centre and query, rounded up */

	/* The length that the vector should have had; 0: the one that it has.  Scans do not need it. */
	uint32_t	expected;
	float		epsilon;		/* of values with a bit a dimension: how many of their errors bounds allow for */
	uint32_t	unused[2];		/* 0 */
} GenieValueQuery;

static inline const void *
genie_value_query_body(const GenieValueQuery *query)
{
	return query + 1;
}

/* Bytes of a query, a multiple of GENIE_QUANTIZED_ALIGN. */
static inline size_t
genie_value_query_bytes(GenieMetric metric, uint32_t n_dimensions)
{
	if (metric == GENIE_METRIC_HAMMING)
		n_dimensions = (uint32_t) genie_value_bits_bytes(n_dimensions);
	if (metric == GENIE_METRIC_EDIT)
		n_dimensions = GENIE_VALUE_PATTERN_MAX;
	if (genie_rabitq_serves(metric))
		n_dimensions = genie_rabitq_elements(n_dimensions);
	return sizeof(GenieValueQuery) + genie_quantized_elements(n_dimensions);
}

/* Writes a query, aligned to GENIE_QUANTIZED_ALIGN bytes, of 1 .. GENIE_VALUE_DIMENSIONS_MAX dimensions. */
extern void genie_value_query(GenieValueShape shape, GenieVector vector, GenieValueQuery *query);

/* Are these bytes as many as the query's metric and dimensions need?  For queries from shared memory. */
static inline bool
genie_value_query_valid(const GenieValueQuery *query, size_t n_bytes)
{
	return n_bytes >= sizeof(GenieValueQuery) &&
		query->metric >= GENIE_METRIC_L2 && query->metric <= GENIE_METRIC_LAST &&
		query->metric != GENIE_METRIC_SCALARS &&
		query->n_dimensions >= 1 && query->n_dimensions <= GENIE_VALUE_DIMENSIONS_MAX &&
		(query->metric != GENIE_METRIC_EDIT ||
		 (query->n_dimensions <= GENIE_VALUE_STRING_MAX &&
		  query->norm >= 0 && query->norm <= GENIE_VALUE_LENGTH_MAX)) &&
		n_bytes == genie_value_query_bytes((GenieMetric) query->metric, query->n_dimensions);
}

/* keys[i]: that of record i of n, genie_value_record_bytes() from one to the next; all of the query's metric. */
extern void genie_value_keys(const GenieValueQuery *query, const void *records, uint32_t n, uint32_t *keys);

/* The same of vectors' records that lie anywhere, of a query of which something is known. */
extern void genie_value_keys_at(const GenieValueQuery *query, const void *const *places, uint32_t n, uint32_t *keys);

/*
 * The query for the vector v' of a record of which something is known, exactly, aligned to GENIE_QUANTIZED_ALIGN
 * bytes: by L2 for cosine and inner product, else of the metric, L2 or L1.
 */
extern void genie_value_query_of_record(GenieMetric metric, uint32_t n_dimensions, const void *record,
										GenieValueQuery *query);

/* The key of a lower bound; of NaN, that of -infinity. */
extern uint32_t genie_value_key(double bound);

/* The bound that a key stands for: never above those that it was made from. */
extern double genie_value_key_bound(uint32_t key);

/* ---- within the engine, and for its tests ---- */

typedef struct GenieValueKernel
{
	const char *name;

	/* genie_value_keys(), of a query of which something is known */
	void		(*keys) (const GenieValueQuery *query, const void *records, uint32_t n, uint32_t *keys);

	/* genie_value_keys_at(); NULL: only of vectors */
	void		(*keys_at) (const GenieValueQuery *query, const void *const *places, uint32_t n, uint32_t *keys);
} GenieValueKernel;

extern const GenieValueKernel genie_value_portable;
#if defined(__x86_64__)
extern const GenieValueKernel genie_value_avx2;
extern const GenieValueKernel genie_value_avx512;
#endif

/* As genie_vector_nth(): of vectors. */
extern const GenieValueKernel *genie_value_kernel_nth(uint32_t i);

/* those of bit strings */
extern const GenieValueKernel genie_value_bits_portable;
#if defined(__x86_64__)
extern const GenieValueKernel genie_value_bits_avx2;
extern const GenieValueKernel genie_value_bits_avx512;
#endif
extern const GenieValueKernel *genie_value_bits_nth(uint32_t i);

/* those of texts */
extern const GenieValueKernel genie_value_string_portable;
#if defined(__x86_64__)
extern const GenieValueKernel genie_value_string_avx2;
extern const GenieValueKernel genie_value_string_avx512;
#endif
extern const GenieValueKernel *genie_value_string_nth(uint32_t i);

/* genie_value_keys() by one of the kernels of the query's metric */
extern void genie_value_keys_by(const GenieValueKernel *kernel, const GenieValueQuery *query, const void *records,
								uint32_t n, uint32_t *keys);

/* The key of all records if nothing is known of the query; 0: something is. */
extern uint32_t genie_value_unknown_key(const GenieValueQuery *query);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_VALUE_SCAN_H */
