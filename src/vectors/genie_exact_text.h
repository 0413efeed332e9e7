/*
 * genie_exact_text.h
 *	  Values of genie_edit_exact_ops: texts (genie_vector_type.h describes the type to callers).
 */
#ifndef GENIE_EXACT_TEXT_H
#define GENIE_EXACT_TEXT_H

#include "fmgr.h"
#include "genie_keyword.h"
#include "genie_vector.h"
#include "utils/rel.h"

/* Is the index's operator class genie_edit_exact_ops? */
extern bool genie_exact_text_index(Relation index);

/*
 * A text as a vector of the codes of its first characters (values/genie_value_string.h), palloc'd; n is how many
 * characters it has.  Error: it is too long for an edit distance.
 */
extern GenieVector genie_exact_text_elements(Datum value);

/* The same from raw keywords. */
extern GenieVector genie_exact_text_raw(const GenieRaw *raw);

/* The text and the distance of a genie_edit_query.  Errors: those of genie_edit_query_parts(). */
extern Datum genie_exact_text_ball(Datum ball, Oid type, double *radius);

#endif							/* GENIE_EXACT_TEXT_H */
