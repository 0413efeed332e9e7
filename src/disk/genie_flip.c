/*
 * genie_flip.c
 *	  Replacing segments and pending pages by new segments (genie_flip.h).
 *
 * A flip is one WAL record over the metapage and a page of retired entries.  Before it, nothing reaches the new
 * segments' pages.  After it, nothing reaches the old ones but the retired entries.  A crash leaves one of the two
 * states.
 *
 * Locks: the metapage, then the page of retired entries, then the last consumed pending page.
 */
#include "postgres.h"

#include "access/transam.h"
#include "storage/bufmgr.h"

#include "genie_fault.h"
#include "genie_flip.h"
#include "genie_meta.h"
#include "genie_space.h"
#include "genie_wal.h"

/* Drops the removed segments from the list, and fills their retired entries. */
static int
genie_flip_remove_segments(Relation index, GenieMetaData *meta, const GenieFlip *flip,
						   FullTransactionId xid, GenieRetiredEntry *retired)
{
	uint32		kept = 0;
	int			n = 0;

	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		bool		remove = false;

		for (int j = 0; j < flip->n_removed; j++)
			remove |= meta->segments[i].stamp == flip->removed[j];
		if (remove)
		{
			retired[n].stamp = meta->segments[i].stamp;
			retired[n].xid = xid;
			retired[n].head = meta->segments[i].root;
			retired[n].n_pages = meta->segments[i].n_pages;
			retired[n].kind = GENIE_RETIRED_SEGMENT;
			retired[n].reserved = 0;
			n++;
		}
		else
			meta->segments[kept++] = meta->segments[i];
	}
	if (n != flip->n_removed)
		elog(ERROR, "segments to replace are not in the list of index \"%s\"",
			 RelationGetRelationName(index));
	meta->n_segments = kept;
	return n;
}

/* Moves the pending list's head behind the consumed pages. */
static void
genie_flip_consume_pending(Relation index, GenieMetaData *meta, const GenieFlip *flip,
						   FullTransactionId xid, GenieRetiredEntry *retired)
{
	Buffer		last = ReadBuffer(index, flip->consumed_last);

	retired->stamp = meta->next_stamp;
	retired->xid = xid;
	retired->head = meta->pending_head;
	retired->n_pages = flip->consumed_pages;
	retired->kind = GENIE_RETIRED_PENDING;
	retired->reserved = 0;

	LockBuffer(last, BUFFER_LOCK_SHARE);
	Assert(genie_page_is(BufferGetPage(last), GENIE_PAGE_PENDING));
	meta->pending_head = GeniePageGetOpaque(BufferGetPage(last))->next;
	UnlockReleaseBuffer(last);
	if (meta->pending_head == InvalidBlockNumber)
	{
		meta->pending_tail = InvalidBlockNumber;
		if (meta->parameters_length == 0 && flip->parameters_length == 0)
			meta->raw_size = 0; /* there is no raw row */
	}
	if (meta->pending_pages < flip->consumed_pages)
		genie_report_corrupt(index, GENIE_META_BLOCK, "the pending list is longer than the metapage says");
	meta->pending_pages -= flip->consumed_pages;
}

/*
 * The page that takes n more retired entries, locked: the head of the list, or a new one.
 * *is_new tells which.
 */
static Buffer
genie_flip_retired_page(Relation index, BlockNumber head, int n, bool *is_new)
{
	if (head != InvalidBlockNumber)
	{
		Buffer		buffer = ReadBuffer(index, head);
		Page		page = BufferGetPage(buffer);

		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		if (!genie_page_is(page, GENIE_PAGE_RETIRED))
			genie_report_corrupt(index, head, "not a page of retired entries");
		if (GeniePageGetUsed(page) + n * sizeof(GenieRetiredEntry) <= GENIE_PAGE_PAYLOAD)
		{
			*is_new = false;
			return buffer;
		}
		UnlockReleaseBuffer(buffer);
	}
	*is_new = true;
	return genie_space_take(index, NULL);
}

void
genie_flip_apply(Relation index, const GenieFlip *flip, bool build)
{
	int			n_retired = flip->n_removed + (flip->consumed_pages > 0 ? 1 : 0);
	GenieRetiredEntry *retired = palloc(sizeof(GenieRetiredEntry) * (n_retired + 1));
	FullTransactionId xid = ReadNextFullTransactionId();
	Buffer		meta_buffer;
	Buffer		retired_buffer = InvalidBuffer;
	bool		is_new = false;
	GenieWal	wal;
	GenieMetaData *meta;

	StaticAssertStmt(GENIE_SEGMENTS_MAX + 1 <= GENIE_RETIRED_PER_PAGE,
					 "what one flip retires must fit a page");

	GENIE_FAULT("flip-before");
	meta_buffer = genie_meta_lock(index);
	if (n_retired > 0)
		retired_buffer = genie_flip_retired_page(index,
												 genie_meta_of(BufferGetPage(meta_buffer))->retired_head,
												 n_retired, &is_new);

	genie_wal_begin(&wal, index, build);
	meta = genie_meta_of(genie_wal_register(&wal, meta_buffer, false));
	genie_flip_remove_segments(index, meta, flip, xid, retired);
	if (flip->consumed_pages > 0)
		genie_flip_consume_pending(index, meta, flip, xid, &retired[flip->n_removed]);
	if (meta->n_segments + flip->n_added > GENIE_SEGMENTS_MAX)
		elog(ERROR, "too many segments in index \"%s\"", RelationGetRelationName(index));
	for (int i = 0; i < flip->n_added; i++)
		meta->segments[meta->n_segments++] = flip->added[i];
	if (flip->parameters_length > 0)
	{
		Assert(meta->parameters_length == 0 || meta->n_segments == flip->n_added);
		Assert(flip->parameters_length <= GENIE_PARAMETERS_MAX);
		meta->trainings++;
		meta->flags &= ~GENIE_META_MISFIT;
		meta->parameters_length = flip->parameters_length;
		memcpy(meta->parameters, flip->parameters, flip->parameters_length);
		if (flip->learned.stamp != 0)
			meta->learned = flip->learned;
	}
	meta->segment_version++;
	if (n_retired > 0)
	{
		Page		page = genie_wal_register(&wal, retired_buffer, is_new);

		if (is_new)
		{
			genie_page_init(page, GENIE_PAGE_RETIRED, 0, meta->next_stamp++);
			GeniePageGetOpaque(page)->next = meta->retired_head;
			meta->retired_head = BufferGetBlockNumber(retired_buffer);
		}
		memcpy(GeniePageGetPayload(page) + GeniePageGetUsed(page), retired,
			   n_retired * sizeof(GenieRetiredEntry));
		GeniePageSetUsed(page, GeniePageGetUsed(page) + n_retired * sizeof(GenieRetiredEntry));
	}
	genie_wal_commit_release(&wal);
	GENIE_FAULT("flip-after");
	pfree(retired);
}
