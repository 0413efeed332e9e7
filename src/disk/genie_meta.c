/*
 * genie_meta.c
 *	  The metapage: one page that says what the index consists of.
 *
 * Readers copy it under the shared lock: segment list, pending list and both versions are of one
 * moment.  Writers hold the exclusive lock, and where they lock another page too, the metapage
 * comes first, then a new page or the head of the retired list, then the one pending page.
 *
 * A flip is one Generic WAL record over the metapage and the page of retired entries: before it
 * the new segment's pages are unreachable, after it the old ones are.  A crash at any
 * moment leaves one of the two states.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "genie_fault.h"
#include "genie_meta.h"
#include "genie_space.h"
#include "genie_wal.h"

GenieMetaData *
genie_meta_of(Page page)
{
	return (GenieMetaData *) GeniePageGetPayload(page);
}

void
genie_report_corrupt(Relation index, BlockNumber block, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged at block %u: %s",
					RelationGetRelationName(index), block, what),
			 errhint("Please REINDEX it.")));
}

void
genie_meta_init(Page page)
{
	GenieMetaData *meta;

	genie_page_init(page, GENIE_PAGE_META, 0, 0);
	meta = genie_meta_of(page);
	memset(meta, 0, sizeof(*meta));
	meta->magic = GENIE_MAGIC;
	meta->version = GENIE_VERSION;
	if (!pg_strong_random(&meta->build_id, sizeof(meta->build_id)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random build id")));
	meta->next_stamp = 1;
	meta->pending_head = InvalidBlockNumber;
	meta->pending_tail = InvalidBlockNumber;
	meta->retired_head = InvalidBlockNumber;
	GeniePageSetUsed(page, sizeof(GenieMetaData));
}

void
genie_meta_create(Relation index)
{
	Buffer		buffer = ReadBuffer(index, P_NEW);
	GenieWal	wal;

	Assert(BufferGetBlockNumber(buffer) == GENIE_META_BLOCK);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	genie_wal_begin(&wal, index, true);
	genie_meta_init(genie_wal_register(&wal, buffer, true));
	genie_wal_commit_release(&wal);
}

/* Behind what version 1 has there may be anything. */
static uint32
genie_meta_parameters_length(const GenieMetaData *meta)
{
	return meta->version == 1 ? 0 : meta->parameters_length;
}

/* Is it a block that a list of the metapage may begin or end with? */
static bool
genie_meta_links(BlockNumber block, BlockNumber n_blocks)
{
	return block == InvalidBlockNumber || (block != GENIE_META_BLOCK && block < n_blocks);
}

/*
 * Refuses a metapage that this version cannot read, or that leads where no page can be: to itself,
 * which its reader has locked, or out of the file.
 */
static void
genie_meta_verify(Relation index, Page page)
{
	GenieMetaData *meta = genie_meta_of(page);
	BlockNumber n_blocks = RelationGetNumberOfBlocks(index);
	Size		used;

	if (!genie_page_is(page, GENIE_PAGE_META) ||
		GeniePageGetUsed(page) < offsetof(GenieMetaData, flags) ||
		meta->magic != GENIE_MAGIC)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" has no valid genie metapage",
						RelationGetRelationName(index)),
				 errhint("Please REINDEX it.")));
	if (meta->version < 1 || meta->version > GENIE_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" has format version %u, but this genie reads version %u",
						RelationGetRelationName(index), meta->version, GENIE_VERSION),
				 errhint("Please REINDEX it.")));
	used = meta->version == 1 ? offsetof(GenieMetaData, parameters_length) : sizeof(GenieMetaData);
	if (GeniePageGetUsed(page) != used ||
		meta->n_segments > GENIE_SEGMENTS_MAX ||
		genie_meta_parameters_length(meta) > GENIE_PARAMETERS_MAX)
		genie_report_corrupt(index, GENIE_META_BLOCK, "bad metapage length or segment count");
	if (!genie_meta_links(meta->pending_head, n_blocks) ||
		!genie_meta_links(meta->pending_tail, n_blocks) ||
		!genie_meta_links(meta->retired_head, n_blocks) ||
		(meta->pending_head == InvalidBlockNumber) != (meta->pending_tail == InvalidBlockNumber))
		genie_report_corrupt(index, GENIE_META_BLOCK, "a list of pages begins or ends nowhere");
}

GenieMetaData *
genie_meta_read(Relation index)
{
	GenieMetaData *copy = palloc(sizeof(GenieMetaData));
	Buffer		buffer = ReadBuffer(index, GENIE_META_BLOCK);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	genie_meta_verify(index, BufferGetPage(buffer));
	memcpy(copy, genie_meta_of(BufferGetPage(buffer)), sizeof(GenieMetaData));
	UnlockReleaseBuffer(buffer);
	copy->parameters_length = genie_meta_parameters_length(copy);
	return copy;
}

GenieMetaData *
genie_meta_read_again(Relation index, bool stale, uint64 segment_version)
{
	GenieMetaData *meta = genie_meta_read(index);

	if (stale && meta->segment_version == segment_version)
		genie_report_corrupt(index, GENIE_META_BLOCK, "a page that it lists belongs to somebody else");
	return meta;
}

bytea *
genie_meta_parameters(const GenieMetaData *meta)
{
	bytea	   *parameters;

	if (meta->parameters_length == 0)
		return NULL;
	parameters = palloc(VARHDRSZ + meta->parameters_length);
	SET_VARSIZE(parameters, VARHDRSZ + meta->parameters_length);
	memcpy(VARDATA(parameters), meta->parameters, meta->parameters_length);
	return parameters;
}

BlockNumber
genie_meta_pending_tail(Relation index)
{
	Buffer		buffer = ReadBuffer(index, GENIE_META_BLOCK);
	BlockNumber tail;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	genie_meta_verify(index, BufferGetPage(buffer));
	tail = genie_meta_of(BufferGetPage(buffer))->pending_tail;
	UnlockReleaseBuffer(buffer);
	return tail;
}

Buffer
genie_meta_lock(Relation index)
{
	Buffer		buffer = ReadBuffer(index, GENIE_META_BLOCK);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	genie_meta_verify(index, BufferGetPage(buffer));
	return buffer;
}

uint64
genie_meta_new_stamp(Relation index, bool build)
{
	Buffer		buffer = genie_meta_lock(index);
	GenieWal	wal;
	uint64		stamp;

	genie_wal_begin(&wal, index, build);
	stamp = genie_meta_of(genie_wal_register(&wal, buffer, false))->next_stamp++;
	genie_wal_commit_release(&wal);
	return stamp;
}

/* Drops the removed segments from the list; fills the entries of what retires. */
static int
genie_meta_remove_segments(Relation index, GenieMetaData *meta, const GenieFlip *flip,
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
genie_meta_consume_pending(Relation index, GenieMetaData *meta, const GenieFlip *flip,
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
		meta->pending_tail = InvalidBlockNumber;
	if (meta->pending_pages < flip->consumed_pages)
		genie_report_corrupt(index, GENIE_META_BLOCK, "the pending list is longer than the metapage says");
	meta->pending_pages -= flip->consumed_pages;
}

/*
 * The page that takes n more retired entries, locked: the head of the list, or a new one.
 * *is_new tells which.
 */
static Buffer
genie_meta_retired_page(Relation index, BlockNumber head, int n, bool *is_new)
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
genie_meta_flip(Relation index, const GenieFlip *flip, bool build)
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
		retired_buffer = genie_meta_retired_page(index,
												 genie_meta_of(BufferGetPage(meta_buffer))->retired_head,
												 n_retired, &is_new);

	genie_wal_begin(&wal, index, build);
	meta = genie_meta_of(genie_wal_register(&wal, meta_buffer, false));
	genie_meta_remove_segments(index, meta, flip, xid, retired);
	if (flip->consumed_pages > 0)
		genie_meta_consume_pending(index, meta, flip, xid, &retired[flip->n_removed]);
	if (meta->n_segments + flip->n_added > GENIE_SEGMENTS_MAX)
		elog(ERROR, "too many segments in index \"%s\"", RelationGetRelationName(index));
	for (int i = 0; i < flip->n_added; i++)
		meta->segments[meta->n_segments++] = flip->added[i];
	if (flip->parameters_length > 0)
	{
		Assert(meta->version > 1 && meta->parameters_length == 0 && flip->parameters_length <= GENIE_PARAMETERS_MAX);
		meta->parameters_length = flip->parameters_length;
		memcpy(meta->parameters, flip->parameters, flip->parameters_length);
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

void
genie_meta_publish_tombstones(Relation index, const GenieMetaData *meta, const uint32 *n_dead)
{
	Buffer		buffer = genie_meta_lock(index);
	GenieWal	wal;
	GenieMetaData *now;

	genie_wal_begin(&wal, index, false);
	now = genie_meta_of(genie_wal_register(&wal, buffer, false));
	Assert(now->n_segments == meta->n_segments);
	for (uint32 i = 0; i < now->n_segments; i++)
		now->segments[i].n_dead = n_dead[i];
	now->tombstone_version++;
	genie_wal_commit_release(&wal);
}
