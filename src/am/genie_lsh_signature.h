/*
 * genie_lsh_signature.h
 *	  Signatures: what vectors, sets and bit strings are hashed to, as keywords; the functions that do it.
 */
#ifndef GENIE_LSH_SIGNATURE_H
#define GENIE_LSH_SIGNATURE_H

#include "fmgr.h"
#include "genie_lsh.h"
#include "genie_opclass.h"
#include "genie_vector.h"

/* Errors: a parameter is not as genie_lsh.h wants it; the functions would take more than GENIE_LSH_BYTES_MAX. */
extern void genie_lsh_check_parameters(const GenieLshParameters *parameters);

/*
 * The functions of checked parameters, from this process's cache: to be used before the next call, which may throw them
 * out.
 */
extern GenieLsh *genie_lsh_get(const GenieLshParameters *parameters);

/* Error: no elements, or more than GENIE_LSH_DIMENSIONS_MAX, or one is NaN or infinite. */
extern void genie_lsh_check_vector(GenieVector vector);

/* The elements of a checked vector, as hash functions want them: doubles rounded, or what is nearest to them. */
extern void genie_lsh_floats(GenieVector vector, float *floats);

/* The set of n packed keys (genie_keyword.h), as hash functions want it. */
extern uint64 *genie_lsh_elements(const uint8 *packed, uint32 n);

/* Add the signature: of n_functions keywords, whose dimension is the function and whose value, an integer, its code. */
extern void genie_lsh_sign_vector(const GenieLshParameters *parameters, const float *vector, GenieKeywords *keywords);
extern void genie_lsh_sign_set(const GenieLshParameters *parameters, const uint64 *elements, uint32 n,
							   GenieKeywords *keywords);
extern void genie_lsh_sign_bits(const GenieLshParameters *parameters, const uint8 *bits, GenieKeywords *keywords);

#endif							/* GENIE_LSH_SIGNATURE_H */
