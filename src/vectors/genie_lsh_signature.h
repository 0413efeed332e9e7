/*
 * genie_lsh_signature.h
 *	  Signatures: the codes of vectors, sets and bit strings as keywords; the hash functions that compute codes.
 */
#ifndef GENIE_LSH_SIGNATURE_H
#define GENIE_LSH_SIGNATURE_H

#include "fmgr.h"
#include "genie_lsh.h"
#include "genie_opclass.h"
#include "genie_vector.h"

/* Errors: a parameter is out of its range (genie_lsh.h); the functions would take more than GENIE_LSH_BYTES_MAX. */
extern void genie_lsh_check_parameters(const GenieLshParameters *parameters);

/* Errors: the value, named what, is not between 0 and 1. */
extern void genie_lsh_check_probability(const char *what, double value);

/* genie_lsh_functions().  Errors: not probabilities; more functions than there can be. */
extern uint32 genie_lsh_functions_needed(double epsilon, double delta);

/* The functions of checked parameters, from this process's cache.  The next call may free them. */
extern GenieLsh *genie_lsh_get(const GenieLshParameters *parameters);

/* Errors: the vector has no elements, or more than GENIE_LSH_DIMENSIONS_MAX, or one is NaN or infinite. */
extern void genie_lsh_check_vector(GenieVector vector);

/* A vector's element, which may be unaligned. */
static inline double
genie_lsh_vector_element(GenieVector vector, uint32 i)
{
	const char *at = (const char *) vector.elements + i * genie_vector_element_bytes(vector.is_double);
	double		wide;
	float		narrow;

	if (vector.is_double)
	{
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

/* The finite float that is nearest to a finite double. */
extern float genie_lsh_nearest_float(double element);

/* The elements of a checked vector as hash functions take them: the nearest floats. */
extern void genie_lsh_floats(GenieVector vector, float *floats);

/* The elements of a set of n packed keys (genie_keyword.h) as hash functions take them. */
extern uint64 *genie_lsh_elements(const uint8 *packed, uint32 n);

/* Codes, n_functions of them, palloc'd. */
extern int32 *genie_lsh_codes_of_vector(const GenieLshParameters *parameters, const float *vector);
extern int32 *genie_lsh_codes_of_set(const GenieLshParameters *parameters, const uint64 *elements, uint32 n);
extern int32 *genie_lsh_codes_of_bits(const GenieLshParameters *parameters, const uint8 *bits);

/* Adds the signature: for each function a keyword, whose dimension is the function and whose value is the code. */
extern void genie_lsh_add_codes(const int32 *codes, uint32 n, GenieKeywords *keywords);

/* Writes the key of a function's code, at most GENIE_KEY_MAX bytes. */
extern GenieKey genie_lsh_key_of_code(uint8 *buffer, uint32 function, int32 code);

/* The query that each function matches with the code itself and with so many neighbouring codes on each side. */
extern GenieQuery *genie_lsh_query_of_codes(const int32 *codes, uint32 n, uint32 probes);

#endif							/* GENIE_LSH_SIGNATURE_H */
