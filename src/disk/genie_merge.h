/*
 * genie_merge.h
 *	  Pending rows become segments, small segments become large ones.
 */
#ifndef GENIE_MERGE_H
#define GENIE_MERGE_H

#include "genie_page.h"
#include "genie_keyword.h"
#include "genie_segment.h"
#include "genie_signer.h"
#include "utils/rel.h"

/*
 * Merges segments into the writer's sections: objects by TID, keywords by key, without dead
 * objects. Of objects with the same TID the one in the later input stays.  Memory: 8 bytes for
 * each change from one input to another in TID order, and one list a input.
 */
extern void genie_merge_write(GenieSegment **inputs, int n_inputs, GenieSegmentWriter *writer,
							  GenieRootHeader *header);

/*
 * The same by several processes: each begins, with the same inputs, and then merges other parts of the keywords
 * into segments that have nothing but these; appended one after the other in key order, the parts are the whole.
 */
typedef struct GenieMerge GenieMerge;

#define GENIE_PARTS_MAX 64

/* Numbers the objects; writes them, if there is a writer. */
extern GenieMerge *genie_merge_begin(GenieSegment **inputs, int n_inputs, GenieSegmentWriter *writer,
									 GenieRootHeader *header);

/*
 * Merges the keywords from one key on (no bytes: all) up to below another (no bytes: all); counts them in the header.
 */
extern void genie_merge_part(GenieMerge *merge, GenieKey from, GenieKey to, GenieSegmentWriter *writer,
							 GenieRootHeader *header);
extern void genie_merge_end(GenieMerge *merge);

/* Chooses at most n - 1 keys that cut an input into n parts of about equal postings; returns how many. */
extern int	genie_merge_cuts(GenieSegment *input, int n, uint8 (*cuts)[GENIE_KEY_MAX], uint32 *lengths);

/* Appends parts to the writer, and their counts to the header. */
extern void genie_merge_append(GenieSegment **parts, int n, GenieSegmentWriter *writer, GenieRootHeader *header);

/* How far a merge goes (genie_compact.c: levels). */
typedef struct GenieMergeEffort
{
	int			fan_in;			/* so many segments of one level call for a merge */
	int			max_level;		/* segments of higher levels are left alone */
} GenieMergeEffort;

extern const GenieMergeEffort genie_merge_effort_insert;
extern const GenieMergeEffort genie_merge_effort_full;	/* VACUUM's and genie_merge()'s */

/*
 * Everything that is due, in genie_compact.c: reclaims retired pages, merges the pending list,
 * compacts segments.  memory: bytes.  signer: NULL unless the operator class is approximate.  delay (may be
 * NULL) is called between pieces of work, e.g. vacuum_delay_point.  Under the exclusive merge lock.
 */
extern void genie_merge_index(Relation index, Size memory, const GenieMergeEffort *effort, GenieSigner *signer,
							  void (*delay) (void));

/*
 * The rows of the pending list as of meta as a spilled segment of the caller's own, without those that VACUUM has
 * flagged; writes nothing to the index, locks nothing.  *segment is NULL where there is none; its memory is the
 * current context's.  Raw rows get signatures where meta has parameters; without them there must be none.
 * False: stale.
 */
extern bool genie_merge_private(Relation index, const GenieMetaData *meta, GenieSigner *signer, GenieSegment **segment);

#endif							/* GENIE_MERGE_H */
