/*
 * genie_round_measure.h
 *	  Measuring the visible rows that queries take in a round.
 */
#ifndef GENIE_ROUND_MEASURE_H
#define GENIE_ROUND_MEASURE_H

#include "genie_round.h"

/* Visits the wanted rows, and measures those that are visible, for each query that takes them. */
extern void genie_round_measure_wanted(const GenieRound *round, GenieRoundHits *hits);

/* The same of merged hits.  too_many: queries may have taken more visible rows than they still want. */
extern void genie_round_measure(const GenieRound *round, GenieRoundHits *hits, bool too_many);

#endif							/* GENIE_ROUND_MEASURE_H */
