/*
 * genie_merge.h
 *	  Several segments become one, merged by one process, or by several that merge different keywords.
 *
 * genie_compact.h chooses what is merged, and when.
 */
#ifndef GENIE_MERGE_H
#define GENIE_MERGE_H

#include "genie_page.h"
#include "genie_keyword.h"
#include "genie_segment.h"
#include "utils/rel.h"

/*
 * Merges segments into the writer's sections: objects by TID, keywords by key, without dead
 * objects.  Of objects with the same TID, the one in the later input stays.  Memory: 8 bytes for
 * each change from one input to another in TID order, and one posting list an input.
 * values: are there to be values, if inputs have some?
 */
extern void genie_merge_write(GenieSegment **inputs, int n_inputs, bool values, GenieSegmentWriter *writer,
							  GenieRootHeader *header);

/*
 * The same by several processes.  Each begins with the same inputs, then merges parts of the keywords
 * into segments that have only these.  The parts, appended in key order, are the whole.
 */
typedef struct GenieMerge GenieMerge;

#define GENIE_PARTS_MAX 64

/* Numbers the objects, and writes them if there is a writer. */
extern GenieMerge *genie_merge_begin(GenieSegment **inputs, int n_inputs, bool values, GenieSegmentWriter *writer,
									 GenieRootHeader *header);

/*
 * Merges the keywords from one key on, below another, and counts them in the header.  A key without bytes is no limit.
 */
extern void genie_merge_part(GenieMerge *merge, GenieKey from, GenieKey to, GenieSegmentWriter *writer,
							 GenieRootHeader *header);
extern void genie_merge_end(GenieMerge *merge);

/* Chooses at most n - 1 keys that cut an input into parts with about equal numbers of postings; returns how many. */
extern int	genie_merge_cuts(GenieSegment *input, int n, uint8 (*cuts)[GENIE_KEY_MAX], uint32 *lengths);

/* Appends parts to the writer, and adds their counts to the header. */
extern void genie_merge_append(GenieSegment **parts, int n, GenieSegmentWriter *writer, GenieRootHeader *header);

#endif							/* GENIE_MERGE_H */
