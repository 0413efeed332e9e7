/*
 * genie_pgvector.h
 *	  Values of pgvector's types "vector" and "halfvec" (genie_vector_type.h describes types to callers), and its
 *	  operator of bits.
 */
#ifndef GENIE_PGVECTOR_H
#define GENIE_PGVECTOR_H

#include "genie_vector.h"
#include "utils/rel.h"

/* Is the index's operator class one of "vector" that genie_enable_pgvector() made? */
extern bool genie_pgvector_index(Relation index);

/* One of "halfvec"? */
extern bool genie_pgvector_half_index(Relation index);

/* Is it the one of bit? */
extern bool genie_pgvector_bits_index(Relation index);

/* The elements of a value, which may be in a palloc'd copy of it.  Errors: the value has another layout. */
extern GenieVector genie_pgvector_elements(Datum value);

/* The value of these n floats, palloc'd.  Errors: they are too many. */
extern Datum genie_pgvector_make(const void *elements, uint32 n);

/* The same of halves: elements are palloc'd floats.  Errors of a float that is too large for a half, too. */
extern GenieVector genie_pgvector_half_elements(Datum value);
extern Datum genie_pgvector_half_make(const void *elements, uint32 n);

#endif							/* GENIE_PGVECTOR_H */
