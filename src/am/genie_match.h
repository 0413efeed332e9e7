/*
 * genie_match.h
 *	  What the index scan shares with the operators.
 */
#ifndef GENIE_MATCH_H
#define GENIE_MATCH_H

#include "genie_keyword.h"

/*
 * Raises the error that the query has intervals in the key's dimension, but none of its family
 * (genie_query_conflicts()): the question cannot have been meant so.  The key may be a bare
 * (dimension, family) prefix.
 */
extern void genie_report_conflict(const GenieQueryView *query, GenieKey key) pg_attribute_noreturn();

#endif							/* GENIE_MATCH_H */
