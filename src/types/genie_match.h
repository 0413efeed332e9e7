/*
 * genie_match.h
 *	  What the index scan shares with the operators, and how other types get operators.
 */
#ifndef GENIE_MATCH_H
#define GENIE_MATCH_H

#include "fmgr.h"
#include "genie_query.h"

/*
 * Raises the error that the query has intervals in the key's dimension, but none of its family
 * (genie_query_conflicts()): the question cannot have been meant so.  The key may be a bare
 * (dimension, family) prefix.
 */
extern void genie_report_conflict(const GenieQueryView *query, GenieKey key) pg_attribute_noreturn();

/* The operator @&: does an object of that size and match count meet the query's min_match and threshold? */
extern bool genie_match_satisfies(const GenieQueryView *query, uint32 count, uint32 size);

/* What a row comes to. */
typedef struct GenieMatch
{
	const GenieQueryView *query;	/* of the right operand; stays until the next call */
	uint32		count;			/* the match count */
	uint32		size;			/* distinct keywords of the left operand */
} GenieMatch;

/* What argument 1 is. */
typedef enum GenieRightKind
{
	GENIE_RIGHT_ARRAY,
	GENIE_RIGHT_OBJECT,
	GENIE_RIGHT_QUERY,
	GENIE_RIGHT_OTHER			/* in genie_match() only */
} GenieRightKind;

/*
 * The match of argument 0, an array or an object, and argument 1, both not NULL, of an SQL function whose fn_extra
 * is left to this and whose argument 1 is always of the same kind.
 */
extern GenieMatch genie_match_array(FunctionCallInfo fcinfo, GenieRightKind kind);
extern GenieMatch genie_match_object(FunctionCallInfo fcinfo, GenieRightKind kind);

/* Makes the query of a right operand, which stays where it is; in CurrentMemoryContext. */
typedef GenieQuery *(*GenieMakeQuery) (Datum operand, int32 min_match);

/*
 * The same for arguments that are always taken by the same two functions.  make_query is NULL if argument 1 is a
 * genie_query.
 */
extern GenieMatch genie_match(FunctionCallInfo fcinfo, GenieCollect collect, GenieMakeQuery make_query);

/*
 * The same in two steps, where a value's keywords depend on the query: the first gives the query and the empty
 * keywords that the caller adds the left operand's to.
 */
extern const GenieQueryView *genie_match_right(FunctionCallInfo fcinfo, GenieMakeQuery make_query,
											   GenieKeywords **keywords);
extern GenieMatch genie_match_left(FunctionCallInfo fcinfo);

#endif							/* GENIE_MATCH_H */
