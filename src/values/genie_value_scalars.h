/*
 * genie_value_scalars.h
 *	  The record of a tuple whose attributes are kept as bins: for each of them a *scalar*, which says where in its bin
 *	  the value lies (types/genie_scalars.h).
 *
 * Scalars are numbers in the order of the values.  0: the tuple has no value there.  A record of which each is
 * GENIE_SCALAR_UNKNOWN is an unknown one.  Nothing ranks rows by scalars.
 */
#ifndef GENIE_VALUE_SCALARS_H
#define GENIE_VALUE_SCALARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_SCALAR_UNKNOWN	UINT32_MAX

static inline size_t
genie_value_scalars_bytes(uint32_t n)
{
	return n * sizeof(uint32_t);
}

static inline void
genie_value_scalars_unknown(uint32_t n, void *record)
{
	memset(record, 0xFF, genie_value_scalars_bytes(n));
}

/* Is a known record possible? */
static inline bool
genie_value_scalars_valid(uint32_t n, const void *record)
{
	const uint32_t *scalars = (const uint32_t *) record;

	for (uint32_t i = 0; i < n; i++)
		if (scalars[i] == GENIE_SCALAR_UNKNOWN)
			return false;
	return true;
}

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_VALUE_SCALARS_H */
