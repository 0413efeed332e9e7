/*
 * genie_pending.c
 *	  The pending list (format, states and locks: genie_pending.h).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "genie_fault.h"
#include "genie_lock.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_pending.h"
#include "genie_space.h"
#include "genie_wal.h"

#define GENIE_FRAGMENT_ROOM (GENIE_PAGE_PAYLOAD - sizeof(GeniePendingFragment))

/* Writes a fragment behind the page's contents, which have room for it. */
static void
genie_pending_put(Page page, const GeniePendingFragment *fragment, const uint8 *packed)
{
	char	   *to = GeniePageGetPayload(page) + GeniePageGetUsed(page);

	memcpy(to, fragment, sizeof(*fragment));
	if (fragment->nbytes > 0)
		memcpy(to + sizeof(*fragment), packed, fragment->nbytes);
	GeniePageSetUsed(page, GeniePageGetUsed(page) + sizeof(*fragment) + fragment->nbytes);
}

static Size
genie_pending_room(Page page)
{
	return GENIE_PAGE_PAYLOAD - GeniePageGetUsed(page);
}

/* May a row be appended to this page?  The page is exclusively locked. */
static bool
genie_pending_is_open(Page page)
{
	return genie_page_is(page, GENIE_PAGE_PENDING) &&
		GeniePageGetOpaque(page)->next == InvalidBlockNumber &&
		(GeniePageGetOpaque(page)->detail & GENIE_PENDING_SEALED) == 0;
}

static void
genie_pending_report_size(Relation index, uint32 size, uint32 raw_size)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("value differs in length from those in index \"%s\"", RelationGetRelationName(index)),
			 errdetail("Its length is %u, theirs is %u.", size, raw_size),
			 errhint("If there are no rows of that length any more, VACUUM the table.")));
}

/*
 * Finds the tail for a row, and decides the size of raw rows if it must have the same and is the first.
 *
 * The size becomes undecided again when a merge takes all pages off the list and none is raw (genie_flip.c).  Such a
 * merge has sealed the tail.  So a row that is appended to the tail, still open, that was read together with the size
 * is of that size; where a page is linked, the size is compared again, under the metapage's lock.
 */
static BlockNumber
genie_pending_find_tail(Relation index, const GeniePendingFragment *row)
{
	for (;;)
	{
		uint32		raw_size;
		BlockNumber tail = genie_meta_pending_tail(index, &raw_size);

		CHECK_FOR_INTERRUPTS();
		if ((row->flags & GENIE_FRAGMENT_SAME_SIZE) == 0 || raw_size == row->size)
			return tail;
		if (raw_size != 0)
			genie_pending_report_size(index, row->size, raw_size);
		genie_meta_decide_raw_size(index, row->size);
	}
}

/* May the row be linked?  The metapage is locked. */
static bool
genie_pending_size_fits(const GenieMetaData *meta, const GeniePendingFragment *row)
{
	return (row->flags & GENIE_FRAGMENT_SAME_SIZE) == 0 || meta->raw_size == row->size;
}

/* Tries the tail.  False: it is full, sealed, or not the tail any more. */
static bool
genie_pending_append_tail(Relation index, BlockNumber tail, const GeniePendingFragment *fragment,
						  const uint8 *packed)
{
	Buffer		buffer = ReadBuffer(index, tail);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (!genie_pending_is_open(BufferGetPage(buffer)) ||
		genie_pending_room(BufferGetPage(buffer)) < sizeof(*fragment) + fragment->nbytes)
	{
		UnlockReleaseBuffer(buffer);
		return false;
	}
	genie_wal_append(index, buffer, fragment, sizeof(*fragment), packed, fragment->nbytes);
	UnlockReleaseBuffer(buffer);
	return true;
}

/*
 * Links the pages first .. last, of which there are n, behind the tail; meta and its buffer are
 * in the open record.  Registers the old tail's page if there is one.
 */
static void
genie_pending_link(GenieWal *wal, Relation index, GenieMetaData *meta, BlockNumber first,
				   BlockNumber last, uint32 n)
{
	if (meta->pending_tail == InvalidBlockNumber)
		meta->pending_head = first;
	else
	{
		Buffer		buffer;
		Page		page;

		/* a free page, and the tail: waiting for its lock would be waiting for oneself */
		if (first == meta->pending_tail || last == meta->pending_tail)
			genie_report_corrupt(index, meta->pending_tail, "the pending list's tail was a free page");
		buffer = ReadBuffer(index, meta->pending_tail);
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		page = genie_wal_register(wal, buffer, false);
		if (!genie_page_is(page, GENIE_PAGE_PENDING) ||
			GeniePageGetOpaque(page)->next != InvalidBlockNumber)
			genie_report_corrupt(index, meta->pending_tail, "not the pending list's tail");
		GeniePageGetOpaque(page)->next = first;
	}
	meta->pending_tail = last;
	meta->pending_pages += n;
}

/* Adds a page with this fragment, if the tail is still the one seen.  False: it is not. */
static bool
genie_pending_append_page(Relation index, BlockNumber seen_tail, const GeniePendingFragment *fragment,
						  const uint8 *packed, uint32 *n_pages)
{
	Buffer		meta_buffer = genie_meta_lock(index);
	Buffer		buffer;
	GenieWal	wal;
	GenieMetaData *meta;
	Page		page;

	meta = genie_meta_of(BufferGetPage(meta_buffer));
	if (meta->pending_tail != seen_tail || !genie_pending_size_fits(meta, fragment))
	{
		UnlockReleaseBuffer(meta_buffer);
		return false;
	}
	buffer = genie_space_take(index, NULL);
	genie_wal_begin(&wal, index, false);
	meta = genie_meta_of(genie_wal_register(&wal, meta_buffer, false));
	page = genie_wal_register(&wal, buffer, true);
	genie_page_init(page, GENIE_PAGE_PENDING, 0, meta->next_stamp++);
	genie_pending_put(page, fragment, packed);
	genie_pending_link(&wal, index, meta, BufferGetBlockNumber(buffer), BufferGetBlockNumber(buffer), 1);
	*n_pages = meta->pending_pages;
	genie_wal_commit_release(&wal);
	GENIE_FAULT("pending-page");
	return true;
}

/* Where the next fragment of a long row ends: as many whole keywords as fit.  Returns their number. */
static uint32
genie_pending_cut(const uint8 **at, uint32 n)
{
	const uint8 *start = *at;
	uint32		taken = 0;

	while (taken < n)
	{
		const uint8 *next = *at;

		(void) genie_packed_next(&next);
		if ((Size) (next - start) > GENIE_FRAGMENT_ROOM)
			break;
		*at = next;
		taken++;
	}
	return taken;
}

/*
 * A row longer than a page: writes its fragments, each on a page of its own, as a sealed list,
 * then links it.  The survey lock in share mode keeps VACUUM from taking the unlinked pages for
 * lost ones.
 */
static void
genie_pending_append_long(Relation index, const GeniePendingFragment *row, const uint8 *packed,
						  uint32 n, uint32 *n_pages)
{
	const uint8 *at = packed;
	BlockNumber first = InvalidBlockNumber;
	Buffer		before = InvalidBuffer;
	BlockNumber last = InvalidBlockNumber;
	uint32		written = 0;
	uint64		stamp;
	Buffer		meta_buffer;
	GenieWal	wal;
	GenieMetaData *meta;

	(void) genie_pending_find_tail(index, row);
	genie_lock_survey(index, ShareLock);
	stamp = genie_meta_new_stamp(index, false);
	while (n > 0)
	{
		GeniePendingFragment fragment = *row;
		const uint8 *start = at;
		Buffer		buffer = genie_space_take(index, NULL);
		Page		page;

		fragment.n = (uint16) genie_pending_cut(&at, n);
		fragment.nbytes = (uint16) (at - start);
		n -= fragment.n;
		if (n > 0)
			fragment.flags |= GENIE_FRAGMENT_MORE;
		genie_wal_begin(&wal, index, false);
		page = genie_wal_register(&wal, buffer, true);
		genie_page_init(page, GENIE_PAGE_PENDING, GENIE_PENDING_SEALED, stamp);
		genie_pending_put(page, &fragment, start);
		last = BufferGetBlockNumber(buffer);
		if (first == InvalidBlockNumber)
			first = last;
		else
		{
			LockBuffer(before, BUFFER_LOCK_EXCLUSIVE);
			GeniePageGetOpaque(genie_wal_register(&wal, before, false))->next = last;
		}
		genie_wal_commit(&wal);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		if (before != InvalidBuffer)
			UnlockReleaseBuffer(before);
		before = buffer;
		written++;
		CHECK_FOR_INTERRUPTS();
	}
	ReleaseBuffer(before);
	GENIE_FAULT("pending-before-link");

	meta_buffer = genie_meta_lock(index);
	while (!genie_pending_size_fits(genie_meta_of(BufferGetPage(meta_buffer)), row))
	{
		UnlockReleaseBuffer(meta_buffer);
		(void) genie_pending_find_tail(index, row);
		meta_buffer = genie_meta_lock(index);
	}
	genie_wal_begin(&wal, index, false);
	meta = genie_meta_of(genie_wal_register(&wal, meta_buffer, false));
	genie_pending_link(&wal, index, meta, first, last, written);
	*n_pages = meta->pending_pages;
	genie_wal_commit_release(&wal);
	genie_lock_release_survey(index, ShareLock);
}

void
genie_pending_append(Relation index, const ItemPointerData *tid, uint8 flags,
					 const uint8 *packed, uint32 n, Size nbytes, uint32 size, uint32 *n_pages)
{
	GeniePendingFragment fragment = {0};

	fragment.tid = *tid;
	fragment.flags = flags;
	fragment.n = (uint16) n;
	fragment.size = (uint16) size;
	*n_pages = 0;
	if (nbytes > GENIE_FRAGMENT_ROOM)
	{
		genie_pending_append_long(index, &fragment, packed, n, n_pages);
		return;
	}
	fragment.nbytes = (uint16) nbytes;
	for (;;)
	{
		BlockNumber tail = genie_pending_find_tail(index, &fragment);

		if (tail != InvalidBlockNumber &&
			genie_pending_append_tail(index, tail, &fragment, packed))
			return;
		if (genie_pending_append_page(index, tail, &fragment, packed, n_pages))
			return;
	}
}

GeniePendingScan *
genie_pending_scan_begin(Relation index, const GenieMetaData *meta)
{
	GeniePendingScan *scan = palloc(sizeof(GeniePendingScan));

	scan->index = index;
	scan->numbers = NULL;
	scan->next = meta->pending_head;
	scan->last = meta->pending_tail;
	scan->left = meta->pending_pages;
	scan->below = meta->next_stamp;
	scan->stale = false;
	scan->at = scan->used = 0;
	initStringInfo(&scan->joined);
	return scan;
}

void
genie_pending_scan_end(GeniePendingScan *scan)
{
	pfree(scan->joined.data);
	pfree(scan);
}

/* Copies the next page.  False at the end, or if stale. */
static bool
genie_pending_next_page(GeniePendingScan *scan)
{
	Page		page;

	if (scan->next == InvalidBlockNumber)
		return false;
	CHECK_FOR_INTERRUPTS();
	if (scan->next >= RelationGetNumberOfBlocks(scan->index))
		genie_report_corrupt(scan->index, scan->next, "the pending list leaves the index");
	if (scan->left == 0 || (scan->left == 1) != (scan->next == scan->last) ||
		scan->left > RelationGetNumberOfBlocks(scan->index))
		genie_report_corrupt(scan->index, scan->next,
							 "the pending list has more or fewer pages than the metapage says");
	scan->left--;
	scan->block = scan->next;
	page = genie_page_copy(scan->index, scan->block, &scan->page);
	if (!genie_page_is(page, GENIE_PAGE_PENDING) ||
		GeniePageGetOpaque(page)->stamp >= scan->below)
	{
		scan->stale = true;
		return false;
	}
	genie_page_verify(scan->index, page, scan->block);
	scan->next = scan->block == scan->last ? InvalidBlockNumber : GeniePageGetOpaque(page)->next;
	scan->at = 0;
	scan->used = GeniePageGetUsed(page);
	if (scan->used > GENIE_PAGE_PAYLOAD)
		genie_report_corrupt(scan->index, scan->block, "bad pending page length");
	return true;
}

/* Are the fragment's keywords well-formed?  Counts those that match, too, if there are numbers. */
static bool
genie_pending_valid(const GeniePendingScan *scan, const GeniePendingFragment *fragment, const uint8 *packed,
					int32 *count)
{
	*count = -1;
	return scan->numbers == NULL ? genie_packed_valid(packed, fragment->nbytes, fragment->n) :
		genie_packed_count(packed, fragment->nbytes, fragment->n, scan->numbers, count);
}

/*
 * The next fragment; turns pages.  *packed points into the page; *count is how many of its keywords match, or -1.
 * False at the end, or if stale.
 */
static bool
genie_pending_next_fragment(GeniePendingScan *scan, GeniePendingFragment *fragment,
							const uint8 **packed, int32 *count)
{
	const char *payload = GeniePageGetPayload((Page) scan->page.data);

	while (genie_pending_page_done(scan))
		if (!genie_pending_next_page(scan))
			return false;
	if (scan->used - scan->at < sizeof(*fragment))
		genie_report_corrupt(scan->index, scan->block, "pending row cut short");
	memcpy(fragment, payload + scan->at, sizeof(*fragment));
	scan->at += sizeof(*fragment);
	*packed = (const uint8 *) payload + scan->at;
	if (fragment->nbytes > scan->used - scan->at ||
		!ItemPointerIsValid(&fragment->tid) ||
		!genie_pending_valid(scan, fragment, *packed, count))
		genie_report_corrupt(scan->index, scan->block, "malformed pending row");
	scan->at += fragment->nbytes;
	return true;
}

bool
genie_pending_next_row(GeniePendingScan *scan, GeniePendingRow *row)
{
	GeniePendingFragment fragment;

	if (!genie_pending_next_fragment(scan, &fragment, &row->packed, &row->count))
		return false;
	row->tid = genie_tid_number(&fragment.tid);
	row->flags = fragment.flags & ~GENIE_FRAGMENT_MORE;
	row->size = fragment.size;
	row->n = fragment.n;
	row->nbytes = fragment.nbytes;
	if ((fragment.flags & GENIE_FRAGMENT_MORE) == 0)
		return true;

	resetStringInfo(&scan->joined);
	appendBinaryStringInfo(&scan->joined, (const char *) row->packed, fragment.nbytes);
	while ((fragment.flags & GENIE_FRAGMENT_MORE) != 0)
	{
		const uint8 *packed;
		int32		count;

		if (!genie_pending_next_fragment(scan, &fragment, &packed, &count))
		{
			if (!scan->stale)
				genie_report_corrupt(scan->index, scan->block, "the pending list ends within a row");
			return false;
		}
		row->n += fragment.n;
		row->count = row->count < 0 || count < 0 ? -1 : row->count + count;
		if (genie_tid_number(&fragment.tid) != row->tid || row->n > GENIE_OBJECT_KEYWORDS_MAX)
			genie_report_corrupt(scan->index, scan->block, "a row's fragments do not follow each other");
		row->flags |= fragment.flags & GENIE_FRAGMENT_DEAD;
		if ((row->flags & GENIE_FRAGMENT_DEAD) == 0)
			appendBinaryStringInfo(&scan->joined, (const char *) packed, fragment.nbytes);
	}
	row->packed = (const uint8 *) scan->joined.data;
	row->nbytes = scan->joined.len;
	return true;
}

GenieMetaData *
genie_pending_seal(Relation index)
{
	GenieMetaData *copy = palloc(sizeof(GenieMetaData));
	Buffer		meta_buffer = genie_meta_lock(index);

	memcpy(copy, genie_meta_of(BufferGetPage(meta_buffer)), sizeof(*copy));
	if (copy->pending_tail != InvalidBlockNumber)
	{
		Buffer		buffer = ReadBuffer(index, copy->pending_tail);
		GenieWal	wal;

		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		if (!genie_page_is(BufferGetPage(buffer), GENIE_PAGE_PENDING))
			genie_report_corrupt(index, copy->pending_tail, "not the pending list's tail");
		genie_wal_begin(&wal, index, false);
		GeniePageGetOpaque(genie_wal_register(&wal, buffer, false))->detail |= GENIE_PENDING_SEALED;
		genie_wal_commit_release(&wal);
	}
	UnlockReleaseBuffer(meta_buffer);
	GENIE_FAULT("pending-sealed");
	return copy;
}

/* Marks the dead rows' fragments on one page.  A long row is counted with its last fragment. */
static void
genie_pending_delete_page(GeniePendingScan *scan, GenieDeadCallback callback, void *state,
						  uint64 *n_removed, uint64 *n_left)
{
	Buffer		buffer = ReadBuffer(scan->index, scan->block);
	GenieWal	wal;
	char	   *payload;
	uint32		used;
	bool		changed = false;
	uint32		at = 0;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	genie_wal_begin(&wal, scan->index, false);
	{
		Page		page = genie_wal_register(&wal, buffer, false);

		payload = GeniePageGetPayload(page);
		used = GeniePageGetUsed(page);
	}
	while (at + sizeof(GeniePendingFragment) <= used)
	{
		GeniePendingFragment fragment;

		memcpy(&fragment, payload + at, sizeof(fragment));
		if ((fragment.flags & GENIE_FRAGMENT_DEAD) == 0)
		{
			bool		last = (fragment.flags & GENIE_FRAGMENT_MORE) == 0;

			if (callback(&fragment.tid, state))
			{
				fragment.flags |= GENIE_FRAGMENT_DEAD;
				memcpy(payload + at, &fragment, sizeof(fragment));
				changed = true;
				*n_removed += last;
			}
			else
				*n_left += last;
		}
		at += sizeof(fragment) + fragment.nbytes;
	}
	if (changed)
		genie_wal_commit(&wal);
	else
		genie_wal_abort(&wal);
	UnlockReleaseBuffer(buffer);
}

void
genie_pending_delete(Relation index, const GenieMetaData *meta, GenieDeadCallback callback,
					 void *state, uint64 *n_removed, uint64 *n_left)
{
	GeniePendingScan *scan = genie_pending_scan_begin(index, meta);

	while (genie_pending_next_page(scan))
	{
		genie_pending_delete_page(scan, callback, state, n_removed, n_left);
		GENIE_FAULT("vacuum-pending-page");
	}
	if (scan->stale)
		genie_report_corrupt(index, scan->next, "the pending list is broken");
	genie_pending_scan_end(scan);
}
