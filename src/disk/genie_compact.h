/*
 * genie_compact.h
 *	  Pending rows become segments, and small segments become large ones: what is merged, and when.
 *
 * genie_merge.h has the merge of given segments.
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
	int			fan_in;			/* so many segments of one level call for a merge */
	int			max_level;		/* segments of higher levels are left alone */
} GenieCompactEffort;

extern const GenieCompactEffort genie_compact_effort_insert;
extern const GenieCompactEffort genie_compact_effort_full;	/* VACUUM's and genie_merge()'s */

/*
 * Everything that is due: reclaims retired pages, merges the pending list,
 * compacts segments.  memory: bytes.  signer: NULL unless the operator class is approximate.  delay (may be
 * NULL) is called between pieces of work, e.g. vacuum_delay_point.  Under the exclusive merge lock.
 */
extern void genie_compact_index(Relation index, Size memory, const GenieCompactEffort *effort, GenieSigner *signer,
								void (*delay) (void));

/*
 * The rows of the pending list as of meta as a spilled segment of the caller's own, without those that VACUUM has
 * flagged; writes nothing to the index, locks nothing.  *segment is NULL where there is none; its memory is the
 * current context's.  Raw rows get signatures where meta has parameters; without them there must be none.
 * False: stale.
 */
extern bool genie_compact_private(Relation index, const GenieMetaData *meta, GenieSigner *signer,
								  GenieSegment **segment);

#endif							/* GENIE_COMPACT_H */
