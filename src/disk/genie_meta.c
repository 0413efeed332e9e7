/*
 * genie_meta.c
 *	  The metapage: one page that says what the index consists of.
 *
 * Readers copy it under the shared lock, so segment list, pending list and both versions are of one
 * moment.  Writers hold the exclusive lock.  A writer that locks other pages, too, takes the metapage
 * first, then a new page or the head of the retired list, then the one pending page.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "genie_meta.h"
#include "genie_wal.h"

GenieMetaData *
genie_meta_of(Page page)
{
	return (GenieMetaData *) GeniePageGetPayload(page);
}

void
genie_meta_init(Page page, const GenieTypeState *types)
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
	meta->types = *types;
	meta->next_stamp = 1;
	meta->pending_head = InvalidBlockNumber;
	meta->pending_tail = InvalidBlockNumber;
	meta->retired_head = InvalidBlockNumber;
	GeniePageSetUsed(page, sizeof(GenieMetaData));
}

void
genie_meta_create(Relation index, const GenieTypeState *types)
{
	Buffer		buffer = ReadBuffer(index, P_NEW);
	GenieWal	wal;

	Assert(BufferGetBlockNumber(buffer) == GENIE_META_BLOCK);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	genie_wal_begin(&wal, index, true);
	genie_meta_init(genie_wal_register(&wal, buffer, true), types);
	genie_wal_commit_release(&wal);
}

/* Is it a block that a list of the metapage may begin or end with? */
static bool
genie_meta_links(BlockNumber block, BlockNumber n_blocks)
{
	return block == InvalidBlockNumber || (block != GENIE_META_BLOCK && block < n_blocks);
}

/*
 * Refuses a metapage that this version cannot read, and one with a list that begins or ends where no page of it can
 * be: at the metapage itself, which its reader has locked, or out of the file.  Not the checksum.
 */
static void
genie_meta_verify(Relation index, Page page)
{
	GenieMetaData *meta = genie_meta_of(page);
	BlockNumber n_blocks = RelationGetNumberOfBlocks(index);

	if (!genie_page_is(page, GENIE_PAGE_META) ||
		GeniePageGetUsed(page) < offsetof(GenieMetaData, flags) ||
		meta->magic != GENIE_MAGIC)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" has no valid genie metapage",
						RelationGetRelationName(index)),
				 errhint("Please REINDEX it.")));
	if (meta->version != GENIE_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" has format version %u, but this genie reads version %u",
						RelationGetRelationName(index), meta->version, GENIE_VERSION),
				 errhint("Please REINDEX it.")));
	if (GeniePageGetUsed(page) != sizeof(GenieMetaData) ||
		meta->n_segments > GENIE_SEGMENTS_MAX ||
		meta->parameters_length > GENIE_PARAMETERS_MAX)
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
	genie_page_verify(index, BufferGetPage(buffer), GENIE_META_BLOCK);
	memcpy(copy, genie_meta_of(BufferGetPage(buffer)), sizeof(GenieMetaData));
	UnlockReleaseBuffer(buffer);
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

/* Every insert asks.  A wrong tail is noticed without the metapage's checksum: it is not the list's open end. */
BlockNumber
genie_meta_pending_tail(Relation index, uint32 *raw_size)
{
	Buffer		buffer = ReadBuffer(index, GENIE_META_BLOCK);
	BlockNumber tail;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	genie_meta_verify(index, BufferGetPage(buffer));
	tail = genie_meta_of(BufferGetPage(buffer))->pending_tail;
	*raw_size = genie_meta_of(BufferGetPage(buffer))->raw_size;
	UnlockReleaseBuffer(buffer);
	return tail;
}

Buffer
genie_meta_lock(Relation index)
{
	Buffer		buffer = ReadBuffer(index, GENIE_META_BLOCK);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	genie_meta_verify(index, BufferGetPage(buffer));
	genie_page_verify(index, BufferGetPage(buffer), GENIE_META_BLOCK);
	return buffer;
}

/* Locks the metapage for a change of its fields, which genie_wal_commit_release() ends. */
static GenieMetaData *
genie_meta_begin_change(Relation index, bool build, GenieWal *wal)
{
	Buffer		buffer = genie_meta_lock(index);

	genie_wal_begin(wal, index, build);
	return genie_meta_of(genie_wal_register(wal, buffer, false));
}

void
genie_meta_decide_raw_size(Relation index, uint32 raw_size)
{
	GenieWal	wal;
	GenieMetaData *meta = genie_meta_begin_change(index, false, &wal);

	if (meta->raw_size == 0)
		meta->raw_size = raw_size;
	genie_wal_commit_release(&wal);
}

void
genie_meta_set_misfit(Relation index, bool misfit)
{
	GenieWal	wal;
	GenieMetaData *meta = genie_meta_begin_change(index, false, &wal);

	if (misfit)
		meta->flags |= GENIE_META_MISFIT;
	else
		meta->flags &= ~GENIE_META_MISFIT;
	genie_wal_commit_release(&wal);
}

uint64
genie_meta_new_stamp(Relation index, bool build)
{
	GenieWal	wal;
	uint64		stamp = genie_meta_begin_change(index, build, &wal)->next_stamp++;

	genie_wal_commit_release(&wal);
	return stamp;
}

void
genie_meta_publish_tombstones(Relation index, const GenieMetaData *meta, const uint32 *n_dead)
{
	GenieWal	wal;
	GenieMetaData *now = genie_meta_begin_change(index, false, &wal);

	Assert(now->n_segments == meta->n_segments);
	for (uint32 i = 0; i < now->n_segments; i++)
		now->segments[i].n_dead = n_dead[i];
	now->tombstone_version++;
	genie_wal_commit_release(&wal);
}
