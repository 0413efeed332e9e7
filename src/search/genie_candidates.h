/*
 * genie_candidates.h
 *	  How many rows a scan by an approximate operator class looks up in the table first.
 */
#ifndef GENIE_CANDIDATES_H
#define GENIE_CANDIDATES_H

#include "utils/rel.h"

#define GENIE_CANDIDATES_MAX (1 << 24)

/* the setting genie.candidates; 0: by the number of rows */
extern int	genie_candidates;

/* The setting, or the number for an index of n_rows rows; at least 1. */
extern uint32 genie_candidates_for(double n_rows);

/* The same for an index: for the live rows of its segments. */
extern uint32 genie_candidates_of(Relation index);

#endif							/* GENIE_CANDIDATES_H */
