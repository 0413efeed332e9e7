/*
 * genie_test_parts.h
 *	  Parts of dimensions (values/genie_value_shape.h), drawn.
 */
#ifndef GENIE_TEST_PARTS_H
#define GENIE_TEST_PARTS_H

#include "genie_test.h"
#include "genie_value_shape.h"

#define PARTS_MAX 3				/* of a dimension */

/* Writes 1 .. PARTS_MAX parts of each of n dimensions; returns how many. */
static inline uint32_t
genie_test_parts(GenieRandom *random, uint32_t n, GenieValuePart *parts)
{
	uint32_t	n_parts = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		uint16_t	end = 1 + (uint16_t) genie_random_below(random, PARTS_MAX);

		for (uint16_t part = 0; part < end; part++)
			parts[n_parts++] = (GenieValuePart) {(uint16_t) i, part};
	}
	return n_parts;
}

#endif							/* GENIE_TEST_PARTS_H */
