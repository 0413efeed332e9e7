/*
 * genie_value_filter_memory.h
 *	  What the filters of x86-64 prepare (genie_value_offer.h): records in groups, and queries' codes.
 *
 * Sixteen records are a group.  Their codes are interleaved: register i of a group has codes 4 i to 4 i + 3 of each
 * record.  For L1, whose instruction adds up eight differences, register 2 i has codes 8 i to 8 i + 7 of records 0,
 * 1, 4, 5, 8, 9, 12 and 13, and the next one those of the others.  Of vectors with a bit a dimension, codes are the
 * bits, a byte each.
 */
#ifndef GENIE_VALUE_FILTER_MEMORY_H
#define GENIE_VALUE_FILTER_MEMORY_H

#include <string.h>

#include "genie_value_offer.h"
#include "genie_value_record.h"

#define GENIE_VALUE_FILTER_GROUP 16
#define GENIE_VALUE_FILTER_GROUPS (GENIE_VALUE_FILTER_RECORDS / GENIE_VALUE_FILTER_GROUP)
#define GENIE_VALUE_FILTER_REGISTER 64	/* bytes */

/* Sixteen records: GenieValueFilterRecord, number by number. */
typedef struct GenieValueFilterGroup
{
	float		of[GENIE_VALUE_FILTER_TERMS][GENIE_VALUE_FILTER_GROUP];
	float		scale[GENIE_VALUE_FILTER_GROUP];
} GenieValueFilterGroup;

typedef struct GenieValueFilterMemory
{
	uint32_t	n_elements;		/* bytes of a query's codes */
	uint32_t	n_registers;	/* of a group's codes */
	uint32_t	unused[14];
	int32_t		sums[GENIE_VALUE_FILTER_RECORDS];
	GenieValueFilterGroup groups[GENIE_VALUE_FILTER_GROUPS];

	/* n_registers of each group; then the queries' codes, n_elements each, and zeros to a multiple of QUERIES */
	char		codes[];
} GenieValueFilterMemory;

/* The codes of a record or a query of which something is known, with the zeros that fill them up. */
static inline uint32_t
genie_value_filter_elements(GenieMetric metric, uint32_t n_dimensions)
{
	return genie_rabitq_serves(metric) ? genie_rabitq_elements(n_dimensions) : genie_quantized_elements(n_dimensions);
}

static inline size_t
genie_value_filter_bytes(GenieMetric metric, uint32_t n_dimensions, uint32_t n_queries)
{
	size_t		n_rows = (size_t) GENIE_VALUE_FILTER_RECORDS + n_queries + -n_queries % GENIE_VALUE_FILTER_QUERIES;

	return sizeof(GenieValueFilterMemory) + n_rows * genie_value_filter_elements(metric, n_dimensions);
}

static inline void *
genie_value_filter_group_codes(GenieValueFilterMemory *memory, uint32_t g)
{
	return memory->codes + (size_t) g * memory->n_registers * GENIE_VALUE_FILTER_REGISTER;
}

static inline void *
genie_value_filter_query_codes(GenieValueFilterMemory *memory, uint32_t q)
{
	return memory->codes + (size_t) (GENIE_VALUE_FILTER_RECORDS + q) * memory->n_elements;
}

/* All queries' codes. */
static inline void
genie_value_filter_put_queries(GenieValueFilterMemory *memory, const GenieValueQuery *const *queries, uint32_t n)
{
	memory->n_elements = genie_value_filter_elements((GenieMetric) queries[0]->metric, queries[0]->n_dimensions);
	memory->n_registers = memory->n_elements / 4;
	for (uint32_t q = 0; q < n; q++)
		memcpy(genie_value_filter_query_codes(memory, q), genie_value_query_body(queries[q]), memory->n_elements);
	memset(genie_value_filter_query_codes(memory, n), 0,
		   (size_t) (-n % GENIE_VALUE_FILTER_QUERIES) * memory->n_elements);
}

#endif							/* GENIE_VALUE_FILTER_MEMORY_H */
