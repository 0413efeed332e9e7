/*
 * genie_estimate_visits.c
 *	  What share of the rows a scan must look at before it gives the nearest ones (genie_estimate.h).
 *
 * A scan by a distance looks at all rows whose lower bound is not above the distance of the last row that it
 * gives.  How many these are depends on how much match counts tell of distances: much of words, little of random
 * strings of one length.  So both are computed for a sample of the indexed values: the distance from the query, and
 * its bound.
 *
 * The distance of the last row is a quantile of the distances.  Among a hundred values, those from some percent on
 * can be read off.  Below, the logarithm of the share is taken to be linear in the distance, through the smallest
 * distance of the sample.
 *
 * That holds for many rows.  Whether a query's few nearest rows are near, as a misspelt word's are, or far, cannot
 * be seen in a sample.  So the caller asks where many are wanted, and otherwise takes bounds to be close: a
 * needless sequential scan would be slower by more than a needless index scan.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_bound.h"
#include "genie_estimate.h"
#include "genie_query.h"
#include "genie_scan_query.h"

/* shares whose quantiles give the slope of the tail: the larger one, with which distances are smaller, is taken */
#define GENIE_QUANTILE_TENTH	0.1
#define GENIE_QUANTILE_HALF		0.5

static int
compare_distances(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The quantile of n sorted values, of a share of one value of them at least. */
static double
quantile(const double *values, int n, double share)
{
	return values[Min((int) ceil(share * n), n) - 1];
}

/* The distance within which that share of the rows is. */
static double
farthest_of_share(const double *distances, int n, double share)
{
	double		least = 1.0 / n;	/* the share that the smallest one stands for */
	double		slope;

	if (share >= least)
		return quantile(distances, n, share);
	slope = Max((quantile(distances, n, GENIE_QUANTILE_TENTH) - distances[0]) / log(GENIE_QUANTILE_TENTH / least),
				(quantile(distances, n, GENIE_QUANTILE_HALF) - distances[0]) / log(GENIE_QUANTILE_HALF / least));
	return distances[0] - slope * log(least / share);
}

/* The bound of a value's distance. */
static double
bound_of_value(Relation index, const GenieBound *bound, const GenieQueryView *view, Datum value)
{
	GenieKeywords keywords;
	bool		conflict = false;
	uint32		count;
	int32		size;

	genie_keywords_init(&keywords);
	FunctionCall2Coll(index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC), index->rd_indcollation[0], value,
					  PointerGetDatum(&keywords));
	genie_keywords_finish(&keywords);
	size = genie_keywords_own_size(&keywords);
	count = genie_query_count_packed(view, keywords.bytes, keywords.n, &conflict, NULL);
	pfree(keywords.bytes);
	return genie_bound_of_object(bound, count, size >= 0 ? (uint32) size : keywords.n);
}

double
genie_estimate_visits(Relation index, const ScanKeyData *order, const Datum *sample, int n, double share)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie estimate", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const GenieQuery *query = genie_scan_compile(index, order, NULL);
	const GenieQueryView *view = genie_query_view(query, context);
	GenieBound *bound = genie_bound_begin(index, (int16) order->sk_strategy, query);
	double	   *bounds = palloc(n * sizeof(double));
	double	   *distances = palloc(n * sizeof(double));
	double		farthest;
	int			n_visits = 0;

	Assert(n >= GENIE_SAMPLE_MIN);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		bounds[i] = bound_of_value(index, bound, view, sample[i]);
		distances[i] = DatumGetFloat8(FunctionCall2Coll((FmgrInfo *) &order->sk_func, order->sk_collation, sample[i],
														order->sk_argument));
	}
	qsort(distances, n, sizeof(double), compare_distances);
	farthest = farthest_of_share(distances, n, share);
	for (int i = 0; i < n; i++)
		n_visits += bounds[i] <= farthest;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return Max((double) n_visits / n, share);
}
