/*
 * genie_builder.h
 *	  Objects in, segments out: the in-memory inverted index of a build or of a merge of pending rows.
 *
 * Objects come in TID order, except that those of one heap page may come in any order (a heap
 * scan reports the roots of HOT chains).  Their keywords go into a hash table.  Each keyword owns
 * a list of gaps between object numbers, which grows by appending.  When the memory is used up, the contents
 * become a segment and the builder starts empty again.
 */
#ifndef GENIE_BUILDER_H
#define GENIE_BUILDER_H

#include "genie_compat.h"
#include "genie_values.h"

typedef struct GenieBuilder GenieBuilder;

/* memory: the limit in bytes, which one object may exceed; shape: of the objects' values */
extern GenieBuilder *genie_builder_begin(Size memory, GenieValueShape shape);

/*
 * Adds an object: n packed keywords in any order, perhaps with duplicates.  A negative size stands for the number of
 * distinct keywords.  tid: genie_tid_number().  value: its record, if objects have values; NULL: it is unknown.
 * Returns false and adds nothing if the TID lies on a heap page before the last one: write the
 * segment first.  More than 65,535 distinct keywords: ERRCODE_PROGRAM_LIMIT_EXCEEDED.
 */
extern bool genie_builder_add(GenieBuilder *builder, uint64 tid, bool is_null,
							  const uint8 *packed, uint32 n, int32 size, const void *value);

/* A row, and its keywords, which are codes: one a function. */
typedef struct GenieBuilderRow
{
	uint64		tid;
	bool		is_null;		/* it has no codes */
} GenieBuilderRow;

/* Writes the key of a function's code to buffer, of GENIE_KEY_MAX bytes. */
typedef GenieKey (*GenieCodeKey) (uint8 *buffer, uint32 function, int32 code);

/*
 * Adds n rows with their codes, n_functions for each that is not NULL, row after row, and their values' records, if
 * objects have values.  All rows of their heap pages are among them, or were never added and never will be.  The same
 * as genie_builder_add() for each, and faster for many.  Returns false and adds nothing if the rows do not ascend, or
 * do not lie behind the last one's heap page.
 */
extern bool genie_builder_add_codes(GenieBuilder *builder, const GenieBuilderRow *rows, uint32 n, const int32 *codes,
									uint32 n_functions, const char *values, GenieCodeKey key);

/* Is the memory used up?  Cheap enough to ask before each add. */
extern bool genie_builder_full(const GenieBuilder *builder);

extern uint64 genie_builder_objects(const GenieBuilder *builder);

/*
 * Writes everything into the writer's sections and empties the builder.  Fills the header's
 * counts; the caller finishes the segment.
 */
extern void genie_builder_write(GenieBuilder *builder, GenieSegmentWriter *writer, GenieRootHeader *header);

extern void genie_builder_end(GenieBuilder *builder);

/* Raises ERRCODE_PROGRAM_LIMIT_EXCEEDED: an object has more than 65,535 keywords. */
pg_noreturn extern void genie_report_too_many_keywords(void);

#endif							/* GENIE_BUILDER_H */
