/*
 * genie_match.h
 *	  What the index scan shares with the operators, and how other types get operators.
 */
#ifndef GENIE_MATCH_H
#define GENIE_MATCH_H

#include "fmgr.h"
#include "genie_opclass.h"

/*
 * Raises the error that the query has intervals in the key's dimension, but none of its family
 * (genie_query_conflicts()): the question cannot have been meant so.  The key may be a bare
 * (dimension, family) prefix.
 */
extern void genie_report_conflict(const GenieQueryView *query, GenieKey key) pg_attribute_noreturn();

/* The operator @&: does an object of that size and match count meet the query's min_match and threshold? */
extern bool genie_match_satisfies(const GenieQueryView *query, uint32 count, uint32 size);

/* Adds a value's keywords; what it detoasts it frees. */
typedef void (*GenieCollect) (Datum value, GenieKeywords *keywords);

/* Makes the query of a right operand, which stays where it is; in CurrentMemoryContext. */
typedef GenieQuery *(*GenieMakeQuery) (Datum operand, int32 min_match);

/* what a row comes to */
typedef struct GenieMatch
{
	uint32		count;			/* the match count */
	uint32		size;			/* distinct keywords of the left operand */
	const GenieQueryView *query;	/* of the right operand; stays until the next call */
} GenieMatch;

/*
 * The match of argument 0 and argument 1, both not NULL, of an SQL function whose fn_extra is left to this and
 * whose arguments are always taken by the same two functions.  make_query is NULL if argument 1 is a genie_query.
 */
extern GenieMatch genie_match(FunctionCallInfo fcinfo, GenieCollect collect, GenieMakeQuery make_query);

#endif							/* GENIE_MATCH_H */
