/*
 * genie_pgvector.h
 *	  Values of pgvector's type "vector", for others than its operator classes' support functions.
 */
#ifndef GENIE_PGVECTOR_H
#define GENIE_PGVECTOR_H

#include "genie_vector.h"
#include "utils/rel.h"

/* Is the index's operator class one that genie_enable_pgvector() has made? */
extern bool genie_pgvector_index(Relation index);

/* The elements of a value, which may be a copy of it.  Errors: it is not a vector as pgvector stores it. */
extern GenieVector genie_pgvector_elements(Datum value);

/* The value that has these n elements, in the current memory context.  Errors: they are too many. */
extern Datum genie_pgvector_make(const void *elements, uint32 n);

#endif							/* GENIE_PGVECTOR_H */
