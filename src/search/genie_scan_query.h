/*
 * genie_scan_query.h
 *	  Scan keys, compiled: what a scan asks for.
 */
#ifndef GENIE_SCAN_QUERY_H
#define GENIE_SCAN_QUERY_H

#include "access/skey.h"
#include "genie_stream.h"

/*
 * The right operand of a scan key as a query, in the current memory context: calls the operator class's compile
 * function.  parameters are what a coarse or an approximate class has learned; NULL: nothing yet, or it is another one.
 */
extern const GenieQuery *genie_scan_compile(Relation index, const ScanKeyData *key, const bytea *parameters);

/* Adds a condition; there is room for one of each scan key. */
extern void genie_scan_add_condition(GenieScanQuery *to, const GenieQueryView *view);

/*
 * Adds the condition of a scan key x @& ANY (array): an object must fulfil one that is not NULL.  is_exact: of an exact
 * class, whose balls are all left to the executor.  *recheck becomes true if the executor must test rows again.  False:
 * no row fulfils it.
 */
extern bool genie_scan_add_any(GenieScanQuery *to, Relation index, bool is_exact, const ScanKeyData *key,
							   const bytea *parameters, bool *recheck);

/*
 * Takes the threshold of a condition, query and view, into the ranking, or into the condition's min_match.  is_ordered:
 * the scan has an ORDER BY.
 */
extern void genie_scan_add_threshold(GenieScanQuery *to, Relation index, bool is_ordered, const GenieQuery *query,
									 GenieQueryView *view);

#endif							/* GENIE_SCAN_QUERY_H */
