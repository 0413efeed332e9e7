/*
 * genie_opclass.h
 *	  What an operator class implements: the four support functions of the genie access method.
 *
 * Another extension includes this header (installed with genie) to index its own type.
 *
 *	1	decompose(value opcintype, keywords internal) returns void
 *			Adds the value's keywords to the GenieKeywords behind the pointer with
 *			genie_keywords_add(), in any order; duplicates count once.  The value is not NULL.
 *			The object's size (for distances) is its number of distinct keywords, unless
 *			the function sets keywords->size.
 *	2	compile(query internal, strategy int2, subtype oid) returns genie_query
 *			Turns the right operand of an operator (its datum passed as it is, of type
 *			subtype; not NULL) into a genie_query: normalised intervals and min_match.
 *	3	bound(strategy int2, query internal, match_count int4, object_size int4) returns float8
 *			A lower bound of the strategy's distance for an object of that size that matches that many
 *			keywords.  Optional; reserved for ordering operators other than <&>.
 *	4	options(relopts internal) returns void
 *			Declares operator-class parameters (see local_relopts in PostgreSQL).  Optional.
 *
 * Strategies: 1 = <&> (negative match count, int4, FOR ORDER BY), 2 = @& (match count >= min_match).
 */
#ifndef GENIE_OPCLASS_H
#define GENIE_OPCLASS_H

#include "genie_keyword.h"

#define GENIE_DECOMPOSE_PROC	1
#define GENIE_COMPILE_PROC		2
#define GENIE_BOUND_PROC		3
#define GENIE_OPTIONS_PROC		4
#define GENIE_NPROC				4

#define GENIE_COUNT_STRATEGY	1
#define GENIE_MATCH_STRATEGY	2

/*
 * Collects the keywords of one value, packed (genie_keyword.h) but in any order, in palloc'd memory.
 * genie sets it up and gives it to decompose; what a decompose function needs is inline and
 * reaches genie through the enlarge pointer, so that another extension links to nothing.
 */
typedef struct GenieKeywords
{
	uint8	   *bytes;
	Size		nbytes;
	Size		capacity;
	uint32		n;				/* keys added, duplicates too */
	int32		size;			/* the object's size; -1: the number of distinct keywords */
	bool		sorted;			/* strictly ascending so far (kept by genie_keywords_add) */
	uint32		last;			/* offset of the last key's length prefix, if n > 0 */

	/* Makes room for so many more bytes; raises the same error as genie_keywords_finish(). */
	void		(*enlarge) (struct GenieKeywords *keywords, Size nbytes);
} GenieKeywords;

#define GENIE_PACKED_KEY_MAX	(GENIE_KEY_MAX + 2) /* bytes of one packed key */

static inline void
genie_keywords_reserve(GenieKeywords *keywords, Size nbytes)
{
	if (keywords->capacity - keywords->nbytes < nbytes)
		keywords->enlarge(keywords, nbytes);
}

/* the key must be well-formed: Assert(genie_key_split(...)) */
static inline void
genie_keywords_add(GenieKeywords *keywords, GenieKey key)
{
	Size		begin;

	genie_keywords_reserve(keywords, GENIE_PACKED_KEY_MAX);
	if (keywords->n > 0 && keywords->sorted)
	{
		const uint8 *at = keywords->bytes + keywords->last;

		keywords->sorted = genie_key_cmp(genie_packed_next(&at), key) < 0;
	}
	begin = keywords->nbytes;
	keywords->nbytes += genie_packed_put(keywords->bytes + begin, key);
	keywords->last = (uint32) begin;
	keywords->n++;
}

/* in genie_keywords.c */
extern void genie_keywords_init(GenieKeywords *keywords);	/* in CurrentMemoryContext */
extern void genie_keywords_reset(GenieKeywords *keywords);	/* keeps the memory */

/*
 * Sorts and drops duplicates; then bytes is a valid packed set of n keys.
 * Raises ERRCODE_PROGRAM_LIMIT_EXCEEDED for more than 65,535 distinct keywords.
 */
extern void genie_keywords_finish(GenieKeywords *keywords);

/* The same error, if n distinct keywords are too many. */
extern void genie_keywords_check_limit(Size n);

#endif							/* GENIE_OPCLASS_H */
