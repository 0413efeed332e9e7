/*
 * genie_exact_bits.h
 *	  Values of genie_hamming_exact_ops: bit strings (genie_vector_type.h describes the type to callers).
 */
#ifndef GENIE_EXACT_BITS_H
#define GENIE_EXACT_BITS_H

#include "fmgr.h"
#include "genie_opclass.h"
#include "genie_vector.h"
#include "utils/rel.h"

/* Is the index's operator class genie_hamming_exact_ops? */
extern bool genie_exact_bits_index(Relation index);

/* The bits of a value, which may be in a palloc'd copy of it.  Errors: it has no bits, or too many. */
extern GenieVector genie_exact_bits_elements(Datum value);

/* Support function 1.  Errors: the same; another length. */
extern void genie_exact_bits_collect(GenieVector bits, GenieKeywords *keywords);

#endif							/* GENIE_EXACT_BITS_H */
