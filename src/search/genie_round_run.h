/*
 * genie_round_run.h
 *	  A round of a batch search: the next best rows of many queries, merged over all segments, and which of them are
 *	  visible.
 */
#ifndef GENIE_ROUND_RUN_H
#define GENIE_ROUND_RUN_H

#include "genie_round.h"

/*
 * Takes up to `ask` more rows that match for each of n queries, and keeps or measures those that are visible, until
 * there are k.  False: a segment is stale, and what the queries hold is void.
 */
extern bool genie_round_run(GenieRound *round, GenieRoundQuery **queries, uint32 n, uint32 ask);

#endif							/* GENIE_ROUND_RUN_H */
