/*
 * genie_text.h
 *	  The grammar of the text forms of genie_object and genie_query.
 *
 *		object	= "{" [ item { "," item } ] "}"
 *		query	= "{" [ item { "," item } ] "}" [ "@" min_match ] [ "%" similarity ]
 *		item	= dimension ":" family ":" ( value | range )
 *		range	= ( "[" | "(" ) [ value ] "," [ value ] ( "]" | ")" )		in a query, of ordered families
 *		value	= bare | quoted | raw
 *		bare	= characters other than  , : { } [ ] ( ) " @ \  and white space
 *		quoted	= '"', any characters with \" for " and \\ for \, '"'
 *		raw		= "\x" and pairs of hexadecimal digits: the normalised bytes themselves
 *
 * White space may stand between any two of these.  A side of a range without a value is
 * unbounded (within the family).  dimension and min_match are decimal, 0 .. 2^31 - 1; similarity is a decimal number
 * from 0 to 1, without a sign, and stands in no query that has a range.
 *
 * This splits text into items and knows nothing of what a value means.  Plain C99, nothing
 * allocates, the text need not end with a zero byte: fuzzers link this alone.
 */
#ifndef GENIE_TEXT_H
#define GENIE_TEXT_H

#include "genie_keyword.h"

/* A family's name as both forms spell it; NULL if there is no such family. */
extern const char *genie_family_name(uint32_t family);

/* The family of that name, or 0. */
extern uint32_t genie_family_from_name(const char *name, size_t len);

typedef struct GenieTextValue
{
	bool		present;		/* false: the unbounded side of a range */
	bool		raw;			/* data is normalised bytes, not text */
	const char *data;			/* unescaped, in the scanner's scratch; a zero byte follows */
	size_t		len;
} GenieTextValue;

typedef struct GenieTextItem
{
	uint32_t	dimension;
	GenieFamily family;
	bool		is_range;
	bool		lo_closed;		/* ranges: "[" */
	bool		hi_closed;		/* ranges: "]" */
	GenieTextValue lo;			/* the value, or the range's lower bound */
	GenieTextValue hi;			/* ranges only */
} GenieTextItem;

typedef enum GenieTextResult
{
	GENIE_TEXT_ITEM,
	GENIE_TEXT_END,
	GENIE_TEXT_ERROR
} GenieTextResult;

typedef struct GenieTextScanner
{
	const char *text;
	size_t		len;
	size_t		at;
	char	   *scratch;		/* the caller's, len + 1 bytes; an item's values, until the next */
	size_t		scratch_used;
	bool		is_query;
	bool		begun;
	bool		has_range;
	int32_t		min_match;		/* of a query, after GENIE_TEXT_END; else 1, or 0 with a similarity */
	double		similarity;		/* of a query, after GENIE_TEXT_END; -1 if the text has none */
	const char *error;			/* after GENIE_TEXT_ERROR: what is wrong ... */
	size_t		error_at;		/* ... and at which byte, 0 .. len */
} GenieTextScanner;

extern void genie_text_begin(GenieTextScanner *scanner, const char *text, size_t len,
							 bool is_query, char *scratch);

/* Gives the next item; after END or ERROR it must not be called again. */
extern GenieTextResult genie_text_next(GenieTextScanner *scanner, GenieTextItem *item);

#endif							/* GENIE_TEXT_H */
