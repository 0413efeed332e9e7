/*
 * genie_all_visible.c
 *	  Rows that a snapshot sees for certain (genie_all_visible.h).
 *
 * What for.  A search by distance looks for the nearest of so many *visible* candidates, best match first.  Where it
 * has lower bounds of their distances (genie_quantized.h), most candidates are too far to be among the nearest, and
 * need not be fetched.  But they count: a candidate that is passed over must be visible, or another one would have to
 * take its place.  So a search passes over a row only if the row is certain to be visible.  All others, the unsure
 * ones, are visited before anything is decided by bounds.  Then the candidates are the same rows, and so are the
 * answers, with bounds and without, whatever the visibility map says.
 *
 * The rule.  In this order, and nowhere else (test/check/owners):
 *
 *	1.	The index gives rows.  Its metapage had tombstone version V before.
 *	2.	The visibility map is asked for the rows' pages.
 *	3.	The metapage is read again.  If its tombstone version is still V, rows on pages that the map calls all-visible
 *		are certain.  If not, no row is.
 *
 * Why the map comes after the index.  A row that is inserted clears its page's bit before it gets into the index.  So a
 * bit that is set in step 2 was set when or after the row became visible to everybody.
 *
 * Why the version comes after the map.  VACUUM may remove a dead row that the index gave, and its page may be
 * all-visible then.  ambulkdelete raises the tombstone version before it returns, and VACUUM frees line pointers and
 * sets bits after that.  So if VACUUM set the bit, the metapage that is read after it has another version.  The other
 * way round, VACUUM could do all of it between the two looks.  On-access pruning does not set bits.  Where a whole HOT
 * chain is dead it leaves a dead line pointer, and such a page is not all-visible before VACUUM comes.
 *
 * What VACUUM does later.  Nothing: it does not remove a row that our snapshot sees, so a row that was certain once
 * stays so.  A search that goes on with new rows asks again, with the version of step 1; after a VACUUM it just visits
 * all of them.  A visit needs no such rule (genie_round_run.c, genie_visit.c).
 *
 * When there is nothing to ask: on a standby, in a serializable transaction, with old snapshots, and where the table is
 * not a heap (genie_visit_trusts_pages()).
 */
#include "postgres.h"

#include "access/visibilitymap.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "genie_all_visible.h"
#include "genie_meta.h"

#define GENIE_ALL_VISIBLE_PAGES 65536	/* between two looks at whether the query was cancelled */

/* Step 3 of the rule. */
static bool
genie_all_visible_was_vacuumed(const GenieVisitor *visitor, uint64 tombstone_version)
{
	GenieMetaData *meta = genie_meta_read(visitor->index);
	bool		was_vacuumed = meta->tombstone_version != tombstone_version;

	pfree(meta);
	return was_vacuumed;
}

void
genie_all_visible_rows(const GenieVisitor *visitor, uint64 tombstone_version, GenieVisitRow *const *rows, uint32 n,
					   bool *certain)
{
	Buffer		map = InvalidBuffer;
	bool		any = false;

	memset(certain, 0, n * sizeof(bool));
	if (!genie_visit_trusts_pages(visitor))
		return;
	for (uint32 i = 0; i < n; i++)
	{
		certain[i] = VM_ALL_VISIBLE(visitor->heap, genie_visit_block(rows[i]), &map);
		any |= certain[i];
	}
	if (BufferIsValid(map))
		ReleaseBuffer(map);
	if (any && genie_all_visible_was_vacuumed(visitor, tombstone_version))
		memset(certain, 0, n * sizeof(bool));
}

bool
genie_all_visible_unsure_pages(const GenieVisitor *visitor, uint64 tombstone_version, BlockNumber **pages, uint32 *n)
{
	BlockNumber n_pages;
	BlockNumber n_visible;
	Buffer		map = InvalidBuffer;

	*n = 0;
	*pages = NULL;
	if (!genie_visit_trusts_pages(visitor))
		return false;

	/* in this order: pages by which the table grows meanwhile must not make up for others */
	visibilitymap_count(visitor->heap, &n_visible, NULL);
	n_pages = RelationGetNumberOfBlocks(visitor->heap);
	if (n_visible < n_pages)
	{
		*pages = palloc_extended((Size) n_pages * sizeof(BlockNumber), MCXT_ALLOC_HUGE);
		for (BlockNumber page = 0; page < n_pages; page++)
		{
			if (page % GENIE_ALL_VISIBLE_PAGES == 0)
				CHECK_FOR_INTERRUPTS();
			if (!VM_ALL_VISIBLE(visitor->heap, page, &map))
				(*pages)[(*n)++] = page;
		}
		if (BufferIsValid(map))
			ReleaseBuffer(map);
	}
	return (*n == 0 || *n < n_pages) && !genie_all_visible_was_vacuumed(visitor, tombstone_version);
}
