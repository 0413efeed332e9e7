/*
 * genie_estimate.h
 *	  Estimates for the planner, from little reading: what share of an index's rows fulfils a condition x @& query,
 *	  and what share a scan by a distance must look at.
 */
#ifndef GENIE_ESTIMATE_H
#define GENIE_ESTIMATE_H

#include "access/skey.h"
#include "genie_opclass.h"
#include "utils/rel.h"

/*
 * The share, from 0 to 1, of the rows that the index has, rows with NULL included; -1 where the index has no rows, or
 * where counts do not tell.  The query is one that the operator class has compiled.  The caller holds a lock on the
 * index.  Raises the errors that a scan raises for a damaged index.
 */
extern double genie_estimate_share(Relation index, const GenieQuery *query);

#define GENIE_SAMPLE_MIN 20		/* values of a sample */

/*
 * The share of the rows that a scan by the ordering operator must look at before it gives that share of them, the
 * nearest ones.  order has the operator's function; its class knows a bound of the distance.  sample: n >=
 * GENIE_SAMPLE_MIN of the indexed values.
 */
extern double genie_estimate_visits(Relation index, const ScanKeyData *order, const Datum *sample, int n, double share);

#endif							/* GENIE_ESTIMATE_H */
