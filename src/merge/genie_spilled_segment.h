/*
 * genie_spilled_segment.h
 *	  Segments in temporary files, after they were written (genie_segment_finish_spilled).
 *
 * A process of a parallel build lists its segments for the others in one more file of the FileSet.  Any process
 * opens them from there.
 */
#ifndef GENIE_SPILLED_SEGMENT_H
#define GENIE_SPILLED_SEGMENT_H

#include "genie_segment.h"
#include "genie_spill.h"

/* Closes a segment's files; those that this process has spilled are gone then. */
extern void genie_spilled_segment_close(GenieSegment *segment);

/* Lists segments for other processes, and closes them here. */
extern void genie_spilled_segment_list(GenieSpillPlace *place, GenieSegment **segments, int n);

/*
 * Opens the segments of a process's list; its first list is number 0.  Returns how many.  *segments is palloc'd.
 */
extern int	genie_spilled_segment_open(FileSet *files, int process, int list_number, GenieSegment ***segments);

#endif							/* GENIE_SPILLED_SEGMENT_H */
