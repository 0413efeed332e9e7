/*
 * genie_round_pick.h
 *	  Measuring rows in a round, picked by bounds of their distances before they are numbered.
 */
#ifndef GENIE_ROUND_PICK_H
#define GENIE_ROUND_PICK_H

#include "genie_round.h"

/*
 * Takes and measures what the queries take of hits that have bounds, as far as it matters, and notes where they go on.
 * False: it is not possible for these hits, which are unchanged, or a segment is stale (*stale).
 */
extern bool genie_round_pick(const GenieRound *round, const GenieRoundHits *hits, bool *stale);

#endif							/* GENIE_ROUND_PICK_H */
