/*
 * genie_batch_column.h
 *	  The values of an attribute in the rows that match a query, from all segments side by side: what genie_facets(),
 *	  genie_aggregate() and genie_regrid() share.
 */
#ifndef GENIE_BATCH_COLUMN_H
#define GENIE_BATCH_COLUMN_H

#include "nodes/primnodes.h"

#include "genie_batch_matches.h"
#include "genie_list_walk.h"
#include "genie_segment_facets.h"

/* A segment in which some rows match. */
typedef struct GenieColumnSource
{
	uint32		number;			/* among the batch's */
	GenieSource *source;
	GenieSegment *segment;
	GenieDictionaryCursor cursor;
	GenieListWalk walk;
	Size		n_words;
	uint64	   *bits;			/* objects whose rows match; of whole tiles */
	void	   *state;			/* who takes values may keep something here; NULL at first */

	/* once genie_column_ask() has got an answer: the ranks of each attribute, and how many rows have each */
	bool		is_counted;
	GenieRankRange *ranges;
	uint32	  **sums;
} GenieColumnSource;

/* One query's rows, and who takes their values. */
typedef struct GenieColumn
{
	GenieMatches matches;

	/* the caller's: all attributes whose values are wanted */
	uint32		n_attributes;
	const int32 *attributes;
	bool		takes_bins;		/* they may be kept by bins (genie_bins.h), whose cuts are the values then */

	/* an attempt: segments in which some rows match */
	GenieColumnSource **sources;
	uint32		n_sources;

	/* Takes the rows of an attempt, which are in sources; what it has found is void if it, or the call, is stale. */
	bool		(*take) (void *owner);
	void	   *owner;
} GenieColumn;

/* Who takes an attribute's values, in ascending order. */
typedef struct GenieColumnTaker
{
	/* A value: its parts follow. */
	void		(*value) (void *arg, GenieFamily family, GenieKey value);

	/*
	 * Of a source that is counted: n > 0 rows that match have it; it is number i of the attribute's in the segment.
	 * NULL: not even of such a source; the taker wants to see objects.
	 */
	void		(*rows) (void *arg, GenieColumnSource *source, uint32 i, uint32 n);

	/*
	 * Of any other source: objects of a tile that have it, ascending.  Whether their rows match is not looked at yet.
	 */
	void		(*part) (void *arg, GenieColumnSource *source, uint32 tile, const uint16 *locals, uint32 n);

	/* There are no more of the value. */
	void		(*end) (void *arg);
} GenieColumnTaker;

/*
 * Finds one query's rows by an index, and has them taken; for that function, of which the query is that argument.
 * Errors: as genie_matches_search(); rows of the index cannot have an attribute.
 */
extern void genie_column_search(GenieColumn *column, FunctionCallInfo fcinfo, int argument, const char *function);

/*
 * Has engines count the rows that have each value of the attributes, in as many sources as the worker answers for; or
 * in none.  False: stale.
 */
extern bool genie_column_ask(GenieColumn *column, bool asks);

/* All values of an attribute that objects of these segments have.  False: stale. */
extern bool genie_column_walk(GenieColumn *column, uint32 attribute, const GenieColumnTaker *taker, void *arg);

/*
 * The first object of a source whose row matches and has the value that the source's cursor is on, for which rows were
 * counted.  False: stale.
 */
extern bool genie_column_object(GenieColumn *column, GenieColumnSource *source, uint32 *object);

/* Takes a row. */
typedef void (*GenieColumnRow) (void *arg, TupleTableSlot *slot);

/* Looks up the rows that match and have a keyword, and gives them.  False: stale. */
extern bool genie_column_visit(GenieColumn *column, GenieKey key, GenieColumnRow row, void *arg);

/* The call of genie_tuple() that an index is on; NULL: it is on something else. */
extern const FuncExpr *genie_column_tuple(Relation index);

/* Errors: an attribute has an impossible number. */
extern void genie_column_check_attribute(int32 attribute);

/* The elements of an array of attributes.  Errors: it has NULLs or several dimensions, or as above. */
extern const int32 *genie_column_attributes(ArrayType *array, uint32 *n);

#endif							/* GENIE_BATCH_COLUMN_H */
