/*
 * genie_runs.h
 *	  More objects than fit into memory become one segment: by runs, which are segments in temporary files.
 *
 * A builder that is full is spilled as a run.  GENIE_SPILL_FAN_IN runs of one generation are merged into one run of the
 * next, so few files are open.  In the end all runs are merged.
 */
#ifndef GENIE_RUNS_H
#define GENIE_RUNS_H

#include "genie_builder.h"
#include "genie_spill.h"

typedef struct GenieRuns GenieRuns;

/*
 * No runs, of objects of the index.  place: where to spill; it outlives them.  phase (may be NULL) is called before
 * each piece of work: a builder is written, or runs are merged.
 */
extern GenieRuns *genie_runs_begin(Relation index, GenieSpillPlace *place, void (*phase) (bool merges));

/* Writes the builder's contents to temporary files, and empties it. */
extern void genie_runs_spill(GenieRuns *runs, GenieBuilder *builder);

/*
 * Spills what the builder has, and merges runs until there are at most `most`.  Returns how many, from the first
 * spilled to the last; *inputs is palloc'd.
 */
extern int	genie_runs_finish(GenieRuns *runs, GenieBuilder *builder, int most, GenieSegment ***inputs);

/* Writes all objects into the writer's sections.  The runs are gone then, and the builder is empty. */
extern void genie_runs_write(GenieRuns *runs, GenieBuilder *builder, GenieSegmentWriter *writer,
							 GenieRootHeader *header);

#endif							/* GENIE_RUNS_H */
