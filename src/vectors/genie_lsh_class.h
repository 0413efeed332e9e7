/*
 * genie_lsh_class.h
 *	  The approximate operator classes of vectors, sets and bit strings: their parameters and shared functions.
 */
#ifndef GENIE_LSH_CLASS_H
#define GENIE_LSH_CLASS_H

#include "fmgr.h"
#include "genie_lsh.h"
#include "genie_opclass.h"
#include "genie_vector.h"
#include "utils/rel.h"
#include "utils/varbit.h"

/*
 * The parameters of a class, which an index keeps in its metapage.  The layout is that on disk, in the machine's byte
 * order as all of a page, without padding.
 */
typedef struct GenieLshClassParameters
{
	GenieLshParameters functions;
	uint32		probes;			/* neighbouring buckets on each side that a query asks for */
	uint32		normalised;		/* 1: vectors are scaled to length 1 before hashing, except zero; else 0 */
} GenieLshClassParameters;

StaticAssertDecl(sizeof(GenieLshClassParameters) == 72 && sizeof(GenieLshClassParameters) <= GENIE_PARAMETERS_MAX,
				 "as it is on disk");

extern GenieLshClassParameters genie_lsh_class_parameters(const bytea *parameters);

/* Error: a vector or bit string, what says which, has another length than those in the index. */
extern void genie_lsh_check_length(const GenieLshClassParameters *parameters, uint32 n, const char *what);

/* Is the index's operator class one of genie's own for arrays of numbers? */
extern bool genie_lsh_class_of_vectors(Relation index);

/* Is it genie_minhash_ops? */
extern bool genie_lsh_class_of_arrays(Relation index);

/* Support function 1 of a class of vectors.  Errors: elements that are not finite; another length. */
extern void genie_lsh_vector_collect(GenieVector vector, GenieKeywords *keywords);

/* Support function 2; trained, the parameters, may be NULL.  Errors: the same. */
extern GenieQuery *genie_lsh_vector_query(GenieVector vector, const bytea *trained);

/* The elements of a checked vector as the class hashes them.  Errors: another length. */
extern void genie_lsh_hashed_floats(const GenieLshClassParameters *parameters, GenieVector vector, float *floats);

/* Scales a vector to length 1; leaves a zero vector as it is. */
extern void genie_lsh_normalise(float *vector, uint32 n);

/* Adds the raw keywords of these bytes: a vector's elements, or bits. */
extern void genie_lsh_add_raw_bytes(const uint8 *bytes, Size n, bool is_double, GenieKeywords *keywords);

/* Writes n bytes, which are zeros, from their raw keywords.  Errors: these are of other bytes. */
extern void genie_lsh_raw_bytes(const GenieRaw *raw, bool is_double, uint8 *bytes, Size n);

/* Are they of doubles?  A vector of zeros alone may be of either. */
extern bool genie_lsh_raw_is_double(const GenieRaw *raw);

/* A vector of doubles, or of floats, from its raw keywords, palloc'd.  Errors: these are of the other kind. */
extern void genie_lsh_raw_elements(const GenieRaw *raw, bool is_double, GenieVector *vector);

/* The same as the class hashes it: raw->size elements. */
extern void genie_lsh_raw_vector(const GenieRaw *raw, float *vector);

/* Errors: there are no bits, or more than GENIE_OBJECT_KEYWORDS_MAX. */
extern void genie_lsh_check_bits(const VarBit *bits);

/* A bit string from its raw keywords: raw->size bits, palloc'd. */
extern uint8 *genie_lsh_raw_bits(const GenieRaw *raw);

/* Bit i of a bit string. */
static inline int
genie_lsh_bit(const uint8 *bits, uint32 i)
{
	return bits[i / BITS_PER_BYTE] >> (BITS_PER_BYTE - 1 - i % BITS_PER_BYTE) & 1;
}

#endif							/* GENIE_LSH_CLASS_H */
