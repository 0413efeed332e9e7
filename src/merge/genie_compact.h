/*
 * genie_compact.h
 *	  Pending rows become segments, and small segments become large ones: which, and when.
 *
 * genie_merge.h merges given segments.
 */
#ifndef GENIE_COMPACT_H
#define GENIE_COMPACT_H

#include "genie_page.h"
#include "genie_segment.h"
#include "genie_signer.h"
#include "utils/rel.h"

/* How far compaction goes; levels are explained in genie_compact.c. */
typedef struct GenieCompactEffort
{
	int			fan_in;			/* this many segments of one level are merged */
	int			max_level;		/* segments of higher levels are left alone */
} GenieCompactEffort;

extern const GenieCompactEffort genie_compact_effort_insert;
extern const GenieCompactEffort genie_compact_effort_full;	/* VACUUM's and genie_merge()'s */

/*
 * Does all that is due: reclaims retired pages, merges the pending list, compacts segments.  memory: bytes.  signer:
 * NULL unless the operator class is approximate.  delay (may be NULL) is called between pieces of work, e.g.
 * vacuum_delay_point.  The caller holds the exclusive merge lock.
 */
extern void genie_compact_index(Relation index, Size memory, const GenieCompactEffort *effort, GenieSigner *signer,
								void (*delay) (void));

/*
 * Makes a private, spilled segment of the pending rows as of meta, without those that VACUUM has flagged.  Writes
 * nothing to the index and locks nothing.  *segment is NULL if there are no rows; its memory is of the current context.
 * Raw rows get signatures; meta must have parameters if there are any.  False: stale.
 */
extern bool genie_compact_private(Relation index, const GenieMetaData *meta, GenieSigner *signer,
								  GenieSegment **segment);

#endif							/* GENIE_COMPACT_H */
