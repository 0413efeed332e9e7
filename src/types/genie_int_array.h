/*
 * genie_int_array.h
 *	  Arrays of int2, int4 and int8: reading, packing and counting without a key for each element.
 */
#ifndef GENIE_INT_ARRAY_H
#define GENIE_INT_ARRAY_H

#include "genie_opclass.h"
#include "utils/array.h"

/* Distinct integers in ascending order. */
typedef struct GenieInts
{
	MemoryContext context;		/* of values, which grow with the largest array */
	int64	   *values;
	uint32		n;
	uint32		capacity;
} GenieInts;

/* A strictly ascending sequence of integers of 2, 4 or 8 bytes; data need not be aligned. */
typedef struct GenieIntRun
{
	const char *data;
	int			width;
	uint32		n;
} GenieIntRun;

/* The intervals of a query that integers of dimension 0 can lie in. */
typedef struct GenieIntQuery
{
	uint32		n;
	const int64 *lo;			/* disjoint, ascending intervals [lo, hi] ... */
	const int64 *hi;			/* ... NULL: hi is lo */
	bool		conflict;		/* dimension 0 has intervals, but none of integers */
} GenieIntQuery;

/* The width in bytes of the integer type; 0: it is no integer type. */
extern int	genie_int_width(Oid type);

extern void genie_ints_init(GenieInts *ints);	/* in CurrentMemoryContext */

/* Reads the array's elements, sorted, without duplicates and NULLs. */
extern void genie_ints_read(GenieInts *ints, ArrayType *array, int width);

/* The array's elements as a run: in place if they ascend already, else copied to ints. */
extern GenieIntRun genie_int_run(ArrayType *array, int width, GenieInts *ints);

/* Adds the run's keys of dimension 0. */
extern void genie_int_run_pack(GenieIntRun run, GenieKeywords *keywords);

/* The key of the run's element i; out has room for one more than GENIE_KEY_MAX bytes. */
extern GenieKey genie_int_run_key(GenieIntRun run, uint32 i, uint8 *out);

/* The query's part for integers; lo and hi are in context. */
extern void genie_int_query_of_view(GenieIntQuery *query, const GenieQueryView *view, MemoryContext context);

/* How many integers of the run lie in the query's intervals. */
extern uint32 genie_int_query_count(const GenieIntQuery *query, GenieIntRun run);

#endif							/* GENIE_INT_ARRAY_H */
