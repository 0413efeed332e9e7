/*
 * genie_match.h
 *	  The match count of a row's value and a right operand, for operators of all types and for index scans.
 */
#ifndef GENIE_MATCH_H
#define GENIE_MATCH_H

#include "fmgr.h"
#include "genie_compat.h"
#include "genie_query.h"

/*
 * Raises the error that the query has intervals in the key's dimension, but none of the key's family
 * (genie_query_conflicts()): such a query is a mistake.  The key may be a bare (dimension, family) prefix.
 */
pg_noreturn extern void genie_report_conflict(const GenieQueryView *query, GenieKey key);

/* The condition @&: does an object of that size and match count meet the query's min_match and threshold? */
extern bool genie_match_satisfies(const GenieQueryView *query, uint32 count, uint32 size);

/* The match of a left and a right operand. */
typedef struct GenieMatch
{
	const GenieQueryView *query;	/* of the right operand; valid until the next call */
	uint32		count;			/* the match count */
	uint32		size;			/* distinct keywords of the left operand */
} GenieMatch;

/* The kinds of right operands, argument 1. */
typedef enum GenieRightKind
{
	GENIE_RIGHT_ARRAY,
	GENIE_RIGHT_OBJECT,
	GENIE_RIGHT_QUERY,
	GENIE_RIGHT_OTHER			/* a value of another type; in genie_match() only */
} GenieRightKind;

/*
 * The match of argument 0, an array or an object, and argument 1, both not NULL.  The SQL function leaves its fn_extra
 * to this, and its argument 1 is always of the same kind.
 */
extern GenieMatch genie_match_array(FunctionCallInfo fcinfo, GenieRightKind kind);
extern GenieMatch genie_match_object(FunctionCallInfo fcinfo, GenieRightKind kind);

/* Makes the query of a right operand, in CurrentMemoryContext; the operand stays valid as long as the query. */
typedef GenieQuery *(*GenieMakeQuery) (Datum operand, int32 min_match);

/*
 * The same for values of other types: collect gives the keywords of argument 0, and make_query the query of argument 1.
 * make_query is NULL if argument 1 is a genie_query.  The SQL function always passes the same two functions.
 */
extern GenieMatch genie_match(FunctionCallInfo fcinfo, GenieCollect collect, GenieMakeQuery make_query);

/*
 * The same in two steps, for values whose keywords depend on the query.  The first step returns the query and an empty
 * set of keywords, to which the caller adds those of the left operand before the second step.
 */
extern const GenieQueryView *genie_match_right(FunctionCallInfo fcinfo, GenieMakeQuery make_query,
											   GenieKeywords **keywords);
extern GenieMatch genie_match_left(FunctionCallInfo fcinfo);

#endif							/* GENIE_MATCH_H */
