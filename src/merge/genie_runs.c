/*
 * genie_runs.c
 *	  Runs: spilled segments on their way to one segment (genie_runs.h).
 *
 * Memory is that of the current context: the runs' headers, and while runs are merged what genie_merge_write() needs.
 */
#include "postgres.h"

#include "genie_fault.h"
#include "genie_merge.h"
#include "genie_runs.h"
#include "genie_spilled_segment.h"

#define GENIE_SPILL_FAN_IN 16
#define GENIE_GENERATIONS 16	/* 16^16 runs are enough */

struct GenieRuns
{
	Relation	index;
	GenieSpillPlace *place;
	void		(*phase) (bool merges);
	int			n[GENIE_GENERATIONS];
	GenieSegment *runs[GENIE_GENERATIONS][GENIE_SPILL_FAN_IN];
};

GenieRuns *
genie_runs_begin(Relation index, GenieSpillPlace *place, void (*phase) (bool merges))
{
	GenieRuns  *runs = palloc0(sizeof(GenieRuns));

	runs->index = index;
	runs->place = place;
	runs->phase = phase;
	return runs;
}

static void
genie_runs_phase(const GenieRuns *runs, bool merges)
{
	if (runs->phase != NULL)
		runs->phase(merges);
}

/* Merges runs into the writer's sections; they are gone then. */
static void
genie_runs_merge_into(GenieRuns *runs, GenieSegment **inputs, int n, GenieSegmentWriter *writer,
					  GenieRootHeader *header)
{
	genie_runs_phase(runs, true);
	genie_merge_write(inputs, n, true, writer, header);
	for (int i = 0; i < n; i++)
		genie_spilled_segment_close(inputs[i]);
}

/* Merges runs into one; they are gone then. */
static GenieSegment *
genie_runs_merge(GenieRuns *runs, GenieSegment **inputs, int n)
{
	GenieSegmentWriter *writer = genie_segment_begin(runs->index, true, runs->place);
	GenieRootHeader header;

	genie_runs_merge_into(runs, inputs, n, writer, &header);
	return genie_segment_finish_spilled(writer, &header);
}

/* Keeps a run; merges a generation that is full. */
static void
genie_runs_keep(GenieRuns *runs, GenieSegment *run, int generation)
{
	Assert(generation < GENIE_GENERATIONS);
	runs->runs[generation][runs->n[generation]++] = run;
	if (runs->n[generation] == GENIE_SPILL_FAN_IN)
	{
		runs->n[generation] = 0;
		genie_runs_keep(runs, genie_runs_merge(runs, runs->runs[generation], GENIE_SPILL_FAN_IN), generation + 1);
	}
}

void
genie_runs_spill(GenieRuns *runs, GenieBuilder *builder)
{
	GenieSegmentWriter *writer = genie_segment_begin(runs->index, true, runs->place);
	GenieRootHeader header;

	genie_runs_phase(runs, false);
	genie_builder_write(builder, writer, &header);
	genie_runs_keep(runs, genie_segment_finish_spilled(writer, &header), 0);
	GENIE_FAULT("run-spilled");
}

int
genie_runs_finish(GenieRuns *runs, GenieBuilder *builder, int most, GenieSegment ***inputs)
{
	int			n = 0;

	if (genie_builder_objects(builder) > 0)
		genie_runs_spill(runs, builder);
	*inputs = palloc(sizeof(GenieSegment *) * GENIE_GENERATIONS * GENIE_SPILL_FAN_IN);
	for (int generation = GENIE_GENERATIONS; generation-- > 0;)
		for (int i = 0; i < runs->n[generation]; i++)
			(*inputs)[n++] = runs->runs[generation][i];
	while (n > most)
	{
		int			n_merged = Min(n - most + 1, GENIE_SPILL_FAN_IN);

		/* the last are the smallest */
		(*inputs)[n - n_merged] = genie_runs_merge(runs, *inputs + n - n_merged, n_merged);
		n -= n_merged - 1;
	}
	return n;
}

void
genie_runs_write(GenieRuns *runs, GenieBuilder *builder, GenieSegmentWriter *writer, GenieRootHeader *header)
{
	GenieSegment **inputs;
	int			n;

	if (runs->place->n_segments == 0)
	{
		genie_runs_phase(runs, false);
		genie_builder_write(builder, writer, header);
		return;
	}
	n = genie_runs_finish(runs, builder, GENIE_SEGMENTS_MAX, &inputs);
	genie_runs_merge_into(runs, inputs, n, writer, header);
}
