/*
 * genie_test_hits.h
 *	  The order of hits (genie_hit.h), and whether a job for the best k gave the right ones.
 */
#ifndef GENIE_TEST_HITS_H
#define GENIE_TEST_HITS_H

#include <string.h>

#include "genie_engine.h"
#include "genie_test.h"

/* For qsort. */
static inline int
genie_test_compare_hits(const void *a, const void *b)
{
	const GenieHit *x = a;
	const GenieHit *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return (x->object > y->object) - (x->object < y->object);
}

/* Did the job give the best k behind its cursor of all that it may return, which are in order? */
static inline bool
genie_test_check_hits(const GenieJob *job, const GenieHit *all, uint32_t n_all)
{
	uint32_t	start = 0;
	uint32_t	n;

	while (job->has_after && start < n_all && genie_test_compare_hits(&all[start], &job->after) <= 0)
		start++;
	n = n_all - start < job->k ? n_all - start : job->k;
	return CHECK_INT(job->n_hits, n) && CHECK(memcmp(job->out, all + start, n * sizeof(GenieHit)) == 0);
}

#endif							/* GENIE_TEST_HITS_H */
