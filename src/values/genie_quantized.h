/*
 * genie_quantized.h
 *	  Vectors with a byte a dimension (scalar quantization), and lower bounds of distances by them.
 *
 * The record of a vector v keeps v' = centre + offset + scale * code, dimension by dimension, and how far v is from v',
 * rounded up.  By the triangle inequality, the distance of a query q to v is at least that to v' less this error.  So a
 * search for the nearest objects measures only those whose bound is not above the distance that it has already; the
 * others need not be fetched.  It finds the same objects as without bounds.
 *
 * A record's range, offset .. offset + 255 scale, is its vector's.  By L1 it is the index's (GenieValueShape), so that
 * codes can be compared with each other.  What lies outside becomes an end of the range, and how far all of it lies
 * outside is kept.  Or, where vectors are to be made of records, one that lies outside has a range of its own, and its
 * length is kept.
 *
 * By L1, a dimension may be much wider than the others.  Then it has several codes (GenieValuePart): what of an element
 * lies in the range, in the next stretch of the same width, and so on, as on a thermometer.  The distance of two
 * elements is the sum of the distances of their parts.  So to all else it is as if vectors had more dimensions.
 *
 * The centre (GenieValueShape) is near the mean of the vectors, if an index has learned one.  Where dimensions have
 * means that differ more than the elements of one dimension do, codes are finer by it.  Bounds hold by any centre, as
 * long as records and queries have the same.
 *
 * Bounds hold for the result of genie_vector_measure(), its roundings included, and for pgvector's operators, which
 * sum in floats, on vectors of floats.  They are floats, at least 0, and 0 where nothing is known: a record without a
 * vector, elements that are not finite or not within a float's range, the direction of a zero vector.  Cosine:
 * vectors are quantized with length 1, and their squared Euclidean distance is twice the cosine's.  For inner
 * products there are records, as for L2, but no bounds here: genie_value_scan.h has them; so it is for distances to
 * pivots.  Bounds may differ in their last bits by processor; answers do not depend on them.
 */
#ifndef GENIE_QUANTIZED_H
#define GENIE_QUANTIZED_H

#include "genie_hit.h"
#include "genie_posting.h"
#include "genie_value_shape.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_QUANTIZED_ALIGN 16	/* bytes: of records; elements of queries are filled up with zeros to a multiple */

/* A record: this, then a code a dimension, zeros up to a multiple of GENIE_QUANTIZED_ALIGN bytes. */
typedef struct GenieQuantized
{
	float		offset;
	float		scale;
	float		error;			/* infinite: nothing is known */
	union
	{
		uint32_t	squares;	/* the sum of the codes' squares; 0 where the vector is not known */

		/*
		 * L1, of the index's range: how far outside it elements are, summed.  Of its own range: minus its length (sum
		 * |v|), less the centre.  Both are rounded to 0.
		 */
		float		beyond;
	};
} GenieQuantized;

/*
 * The vectors of a segment's objects, or their bits (genie_value_bits.h): GENIE_TILE_OBJECTS records a tile, which end
 * with the last object's.  Of some tiles, perhaps, which are a part of them (genie_vectors_part()).
 */
typedef struct GenieQuantizedVectors
{
	uint64_t	id;				/* of engines' copies (genie_engine.h) */
	GenieMetric metric;
	uint32_t	n_dimensions;
	uint32_t	n_objects;
	uint32_t	first_tile;		/* there are the tiles [first_tile, end_tile), */
	uint32_t	end_tile;
	const void *const *tiles;	/* by their numbers; NULL: it is on a device alone (genie_engine.h) */
} GenieQuantizedVectors;

/* The vectors of all objects. */
static inline GenieQuantizedVectors
genie_vectors(uint64_t id, GenieMetric metric, uint32_t n_dimensions, uint32_t n_objects, const void *const *tiles)
{
	GenieQuantizedVectors vectors;

	vectors.id = id;
	vectors.metric = metric;
	vectors.n_dimensions = n_dimensions;
	vectors.n_objects = n_objects;
	vectors.first_tile = 0;
	vectors.end_tile = (uint32_t) (((uint64_t) n_objects + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS);
	vectors.tiles = tiles;
	return vectors;
}

/* Those of some of their tiles, and no others. */
static inline GenieQuantizedVectors
genie_vectors_part(const GenieQuantizedVectors *vectors, uint32_t first_tile, uint32_t end_tile)
{
	GenieQuantizedVectors part = *vectors;

	part.first_tile = first_tile;
	part.end_tile = end_tile;
	return part;
}

/* How many objects of a tile there are; 0: the vectors lack it. */
static inline uint32_t
genie_vectors_in_tile(const GenieQuantizedVectors *vectors, uint32_t tile)
{
	uint32_t	left = vectors->n_objects - tile * GENIE_TILE_OBJECTS;

	if (tile < vectors->first_tile || tile >= vectors->end_tile)
		return 0;
	return left < GENIE_TILE_OBJECTS ? left : GENIE_TILE_OBJECTS;
}

/* The record, of n_bytes, of an object that they have here. */
static inline const void *
genie_vectors_record(const GenieQuantizedVectors *vectors, size_t n_bytes, uint32_t object)
{
	return (const uint8_t *) vectors->tiles[object >> GENIE_TILE_SHIFT] +
		(object & (GENIE_TILE_OBJECTS - 1)) * n_bytes;
}

/* Has the processor fetch the lines of a record, or of other memory, that is read soon. */
static inline void
genie_vectors_fetch(const void *from, size_t n_bytes)
{
	const uintptr_t line = 64;

	for (uintptr_t at = (uintptr_t) from / line * line; at < (uintptr_t) from + n_bytes; at += line)
		__builtin_prefetch((const void *) at);
}

/* Are they on a device alone? */
static inline bool
genie_vectors_on_device(const GenieQuantizedVectors *vectors)
{
	return vectors->first_tile < vectors->end_tile && vectors->tiles[vectors->first_tile] == NULL;
}

typedef struct GenieQuantizedQuery
{
	const float *elements;		/* genie_quantized_elements() */
	float		error;			/* how far they are from what was asked for; infinite: nothing is known */
} GenieQuantizedQuery;

/* A query's candidates, and where to put their bounds. */
typedef struct GenieBoundsJob
{
	GenieQuantizedVectors vectors;
	GenieQuantizedQuery query;
	const GenieHit *hits;
	uint32_t	n;
	float	   *bounds;			/* n */
} GenieBoundsJob;

/* Elements of a query: the n_dimensions of records, and zeros. */
static inline uint32_t
genie_quantized_elements(uint32_t n_dimensions)
{
	return (n_dimensions + GENIE_QUANTIZED_ALIGN - 1) / GENIE_QUANTIZED_ALIGN * GENIE_QUANTIZED_ALIGN;
}

/* Bytes of a record. */
static inline size_t
genie_quantized_bytes(uint32_t n_dimensions)
{
	return sizeof(GenieQuantized) + genie_quantized_elements(n_dimensions);
}

/* Writes a vector's record, aligned to GENIE_QUANTIZED_ALIGN bytes. */
extern void genie_quantize(GenieValueShape shape, GenieVector vector, void *record);

/* The record of an object whose vector is not known. */
extern void genie_quantize_unknown(uint32_t n_dimensions, void *record);

/*
 * The vector v' of a record of which something is known, as genie_value_shape_elements() floats: for cosine, of a
 * vector of length 1.  An element beyond a float's range becomes the largest float.
 */
extern void genie_quantized_vector(GenieValueShape shape, const void *record, float *elements);

/* Writes the elements of a query, and gives its error. */
extern float genie_quantized_query(GenieValueShape shape, GenieVector vector, float *elements);

/* bounds[i]: of the distance of the query to object hits[i]; 0 for one that vectors does not have. */
extern void genie_quantized_bounds(const GenieQuantizedVectors *vectors, const GenieQuantizedQuery *query,
								   const GenieHit *hits, uint32_t n, float *bounds);

/*
 * Which of n bounds are above the one and up to the other, ascending; places has room for n.  Returns how many.
 */
extern uint32_t genie_quantized_within(const float *bounds, uint32_t n, float above, float upto, uint32_t *places);

/* ---- within the engine, and for its tests ---- */

/*
 * Writes the codes of distances to pivots (genie_value_scan.c), of a query as of records, and gives their error;
 * infinite: one is NaN.
 */
extern float genie_quantize_distances(GenieValueShape shape, GenieVector vector, uint16_t *codes);

/* What all elements of a vector are multiplied with first; NaN: nothing is known of the vector. */
extern double genie_quantized_factor(GenieMetric metric, GenieVector vector);

/* How many codes a vector has, as n_dimensions counts them. */
static inline uint32_t
genie_quantized_codes(GenieValueShape shape, GenieVector vector)
{
	if (shape.metric == GENIE_METRIC_PIVOTS)
		return vector.n * GENIE_VALUE_PIVOT_BYTES;
	return shape.parts == NULL ? vector.n : shape.n_dimensions;
}

/* What code i of a vector is made of: an element, or a part of one. */
static inline double
genie_quantized_element(GenieValueShape shape, GenieVector vector, double factor, uint32_t i)
{
	double		width = 255 * (double) shape.step;
	double		x;

	if (shape.parts != NULL)
	{
		const GenieValuePart part = shape.parts[i];

		x = genie_vector_element(vector, part.dimension) - shape.centre[part.dimension] - part.part * width;
		if (part.part > 0 && x < shape.offset)
			return shape.offset;
		return i + 1 < shape.n_dimensions && shape.parts[i + 1].part > 0 && x > shape.offset + width ?
			shape.offset + width : x;
	}
	x = genie_vector_element(vector, i) * factor;
	return shape.centre == NULL ? x : x - shape.centre[i];
}

typedef struct GenieQuantizedKernel
{
	const char *name;

	/* sum (v' - q)^2, or for differences sum |v' - q|, in floats; what fills the record and the query up is read */
	float		(*sum) (bool differences, const float *query, const GenieQuantized *record, uint32_t n_dimensions);

	/* genie_quantized_within() */
	uint32_t	(*within) (const float *bounds, uint32_t n, float above, float upto, uint32_t *places);
} GenieQuantizedKernel;

extern const GenieQuantizedKernel genie_quantized_portable;
#if defined(__x86_64__)
extern const GenieQuantizedKernel genie_quantized_avx2;
extern const GenieQuantizedKernel genie_quantized_avx512;
#endif

/* As genie_vector_nth(). */
extern const GenieQuantizedKernel *genie_quantized_nth(uint32_t i);

/* genie_quantized_bounds() by one of them */
extern void genie_quantized_bounds_by(const GenieQuantizedKernel *kernel, const GenieQuantizedVectors *vectors,
									  const GenieQuantizedQuery *query, const GenieHit *hits, uint32_t n,
									  float *bounds);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_QUANTIZED_H */
