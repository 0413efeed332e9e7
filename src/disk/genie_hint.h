/*
 * genie_hint.h
 *	  Hints: objects of a segment that are dead to everybody, as a scan has found, though no VACUUM has come yet.
 *
 * A hint spares later scans the visit of a dead row.  Nothing depends on hints but time.  They are one bit an object
 * in a section of their own (GENIE_SECTION_HINTS), apart from tombstones: not logged, not counted, not copied by
 * merges, and not looked at by VACUUM, which sets its own tombstones.  Each page of the section:
 *
 *		GenieHintPage { crc 4, version 4, one bit an object 8144 }
 *
 * A page whose checksum is wrong has no hints: that is a page that nobody has written to yet, one that was torn by a
 * crash, or damage.  The first page's version grows whenever a page of the section got new bits.
 *
 * Why a hint is right.  A scan notes the TIDs of rows that were dead to every snapshot when it visited them.  It gives
 * hints to objects with these TIDs, in segments that the metapage listed before the first visit, and in no others.
 *
 *	- A row that is dead to everybody stays so, and so does its TID, until the heap frees the line pointer.  It does
 *	  that when ambulkdelete has returned, which by then has set the tombstone of every entry with that TID.
 *	- So if such an object has no tombstone when it gets its hint, its TID still belongs to the row that was visited:
 *	  the entry is older than the visit.  If it has one, the hint says nothing new.  Either way the hint is about the
 *	  object (segment's stamp, number), and not about the TID, which others may use afterwards.
 *	- A merge keeps an entry without a tombstone, whatever its hint: VACUUM counts on finding it, and standbys may
 *	  need it.  The merged segment has no hints, and learns them anew.
 *	- The section's pages may have gone to another owner meanwhile: their stamp, kind and number are compared under
 *	  the lock under which the bits are set.
 *	- "Dead" is what PostgreSQL calls surely dead, for kill_prior_tuple: it looks at hint bits of the row alone, which
 *	  are set when the transaction's commit is on the disk.  So a hint that is on the disk after a crash is right.
 *
 * Standbys.  Images of pages carry hints to them (wal_log_hints, checksums), but there, older snapshots may see the
 * row: the primary does not know them.  So hints are neither set nor heeded in a transaction that began in recovery, or
 * with a snapshot of one.  (Images in memory: genie_directory_settle_hints().)
 */
#ifndef GENIE_HINT_H
#define GENIE_HINT_H

#include "genie_segment.h"

#define GENIE_HINT_WORDS ((GENIE_PAGE_PAYLOAD - 2 * sizeof(uint32)) / sizeof(uint64))	/* a page */

typedef struct GenieHintPage
{
	uint32		crc;			/* of all that follows */
	uint32		version;
	uint64		bits[GENIE_HINT_WORDS];
} GenieHintPage;

/* the section's pages in a segment of so many objects */
static inline uint32
genie_hint_pages(uint32 n_objects)
{
	return (uint32) (((uint64) n_objects + GENIE_HINT_WORDS * 64 - 1) / (GENIE_HINT_WORDS * 64));
}

/* May this transaction set hints, and heed them? */
extern bool genie_hints_allowed(void);

/* ---- reading ---- */

/* The version of the segment's hints; 0: there are none, or it is stale. */
extern uint32 genie_hint_version(const GenieSegment *segment);

/* ORs the hints of all objects into words, bit i of word i / 64 for object i.  False: stale. */
extern bool genie_hint_read(const GenieSegment *segment, uint64 *words);

/* Are all pages of the section the segment's?  What is on them cannot be verified, but does no harm. */
extern bool genie_hint_owned(const GenieSegment *segment);

/* ---- setting ---- */

/* TIDs that were found dead to everybody, and the segments that may have them. */
typedef struct GenieHints GenieHints;

/*
 * Before rows are visited; in the current memory context, where everything stays.  NULL, which the others take, too:
 * hints are not allowed.
 */
extern GenieHints *genie_hints_begin(Relation index);

/* A row was dead to everybody when it was visited.  Buffers may be locked. */
extern void genie_hints_add(GenieHints *hints, uint64 tid);

/* Sets hints if many rows were added since the last time.  No buffer is locked. */
extern void genie_hints_write(GenieHints *hints);

/* Sets hints, unless there are too few to be worth it, and forgets them. */
extern void genie_hints_end(GenieHints *hints);

#endif							/* GENIE_HINT_H */
