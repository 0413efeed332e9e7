/*
 * genie_visit.c
 *	  Looking rows up in the table (genie_visit.h).
 *
 * A visit leads from the TID in the index to the member of its HOT chain that the snapshot sees.  Rows come in TID
 * order, so each page is visited once.
 *
 * A heap's pages are read here, as a bitmap heap scan reads them: pinned once, pruned if that is due, and locked once
 * for all rows on them.  Each row is found by heap_hot_search_buffer(), which also takes part in serializable
 * transactions.  Any other table access method is asked with the call that index scans use (table_index_fetch_tuple).
 *
 * All-visible pages.  If a page's header says that all its rows are visible to everybody, only line pointers are read:
 * a line pointer that leads to a tuple or redirects is the live member.  That looks wrong where VACUUM has taken the
 * row from the index meanwhile, and its line pointer is used again.  But then the new row is newer than our snapshot,
 * and the page does not say that all its rows are visible.  genie_visit_trusts_pages() has the exceptions.
 *
 * The visibility map is not asked here.  It would spare the test, but not the page, which alone tells the live member's
 * TID.  A search that need not know the TID, because bounds say that the row is too far, asks the map instead of
 * visiting the row (genie_all_visible.c).
 *
 * A row that is dead to everybody is noted, so that it gets a hint (genie_hint.h).
 *
 * Rows are passed to the callback page by page, when the page's lock has been released.
 *
 * Latency.  Many queries hit a few rows of many pages each.  All that a visit does is to wait for memory: for the
 * buffer's entry in the mapping table, its header, the page's header, the line pointer, the tuple.  So visits overlap:
 *
 *		page i + far + ahead	is guessed to be where it was (genie_pin.c): descriptor and header are prefetched
 *		page i + far		is pinned; its header and line pointers are prefetched
 *		page i + far - near	was pinned a while ago: its line pointers tell which tuples to prefetch, and if there is
 *							a callback, their values, too
 *		page i				is locked and searched
 *
 * A line pointer that is read without the page's lock may be about to change.  That looks wrong and is right, because
 * it only says what to prefetch; it is read again under the lock.
 *
 * Pages that are not in the buffer pool are asked for ahead of time, as many as effective_io_concurrency says.  That
 * begins with the first page that had to be read and ends when GENIE_VISIT_CACHED pages in a row were cached.  Asking
 * costs a look into the mapping table, and most tables that are searched by the thousand are cached.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/snapmgr.h"
#include "utils/spccache.h"

#include "genie_compat.h"
#include "genie_object_table.h"
#include "genie_pin.h"
#include "genie_visit.h"

#define GENIE_INTERRUPT_ROWS 1024	/* between two looks at whether the query was cancelled */

/*
 * Pages pinned ahead of the one that is searched.  With it, and one that a scan may hold, they are 8, which PostgreSQL
 * counts in an array; more go through a hash table.
 */
#define GENIE_VISIT_FAR 6
#define GENIE_VISIT_RING 8		/* more than that; a power of two */

#define GENIE_VISIT_AHEAD 8		/* pages whose buffers are guessed ahead of the one that is pinned */

/* bytes of a tuple that are prefetched for the callback; the processor goes on by itself in longer ones */
#define GENIE_VISIT_TUPLE 1024
#define GENIE_VISIT_LINE 64		/* bytes of a line of the processor's cache */

#define GENIE_VISIT_CACHED 64	/* pages in a row that were cached: so will be the next ones */

#define genie_visit_offset(row) ((OffsetNumber) ((row)->tid & 0xFFFF))

/* A page that is pinned, and the rows that are looked for on it. */
typedef struct GenieVisitPage
{
	Buffer		buffer;
	uint32		first;
	uint32		end;
} GenieVisitPage;

typedef struct GenieVisit
{
	const GenieVisitor *visitor;
	GenieVisitRow **rows;
	uint32		n;
	uint32		next;			/* first row whose page was not pinned yet */
	uint32		ahead;			/* first row whose page is not being fetched for the next pins, */
	uint32		n_ahead;		/* and how many pages between next and that */
	uint32		asked;			/* first row whose page was not asked for yet, */
	uint32		n_asked;		/* and how many pages between next and that */
	uint32		uncached;		/* pages are asked for ahead until so many more were cached */
} GenieVisit;

void
genie_visitor_begin(GenieVisitor *visitor, Relation heap, Relation index, Snapshot snapshot)
{
	visitor->heap = heap;
	visitor->index = index;
	visitor->snapshot = snapshot;
	visitor->slot = table_slot_create(heap, NULL);
	visitor->shown = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsHeapTuple);
	visitor->fetch = heap->rd_tableam == GetHeapamTableAmRoutine() ? NULL : table_index_fetch_begin(heap);
	visitor->hints = genie_hints_begin(index);
	visitor->n_blocks = visitor->fetch == NULL ? RelationGetNumberOfBlocks(heap) : 0;
	visitor->instrument = NULL;
	visitor->found = NULL;
	visitor->arg = NULL;
}

void
genie_visitor_end(GenieVisitor *visitor)
{
	genie_hints_end(visitor->hints);
	if (visitor->fetch != NULL)
		table_index_fetch_end(visitor->fetch);
	ExecDropSingleTupleTableSlot(visitor->shown);
	ExecDropSingleTupleTableSlot(visitor->slot);
}

void
genie_visit_check_block(Relation heap, Relation index, BlockNumber block, BlockNumber *n_blocks)
{
	if (block < *n_blocks || heap->rd_tableam != GetHeapamTableAmRoutine())
		return;
	*n_blocks = RelationGetNumberOfBlocks(heap);
	if (block >= *n_blocks)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" is damaged: it has a row in block %u, but table \"%s\" has %u blocks",
						RelationGetRelationName(index), block, RelationGetRelationName(heap), *n_blocks),
				 errhint("Please REINDEX it.")));
}

void
genie_visit_check_tid(Relation heap, Relation index, ItemPointer tid, BlockNumber *n_blocks)
{
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(tid);

	genie_visit_check_block(heap, index, ItemPointerGetBlockNumberNoCheck(tid), n_blocks);
	if (offset < FirstOffsetNumber || (offset > MaxHeapTuplesPerPage && heap->rd_tableam == GetHeapamTableAmRoutine()))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" is damaged: it has a row %u in a block", RelationGetRelationName(index), offset),
				 errhint("Please REINDEX it.")));
}

/* ---- by any table access method ---- */

static void
genie_visit_table(const GenieVisitor *visitor, GenieVisitRow **rows, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		ItemPointerData tid;
		bool		call_again = false;
		bool		all_dead = false;

		if (i % GENIE_INTERRUPT_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		rows[i]->live = 0;
		genie_tid_from_number(rows[i]->tid, &tid);
		if (!table_index_fetch_tuple(visitor->fetch, &tid, visitor->snapshot, visitor->slot, &call_again, &all_dead))
		{
			if (all_dead)
				genie_hints_add(visitor->hints, rows[i]->tid);
			continue;
		}
		rows[i]->live = genie_tid_number(&visitor->slot->tts_tid);
		pgstat_count_heap_fetch(visitor->index);
		if (visitor->found != NULL)
			visitor->found(visitor->arg, rows[i], visitor->slot);
	}
	ExecClearTuple(visitor->slot);
}

/* ---- a heap ---- */

/* The first row that is on another page than row i. */
static uint32
genie_visit_page_end(const GenieVisit *visit, uint32 i)
{
	BlockNumber block = genie_visit_block(visit->rows[i]);

	while (i < visit->n && genie_visit_block(visit->rows[i]) == block)
		i++;
	return i;
}

/* Asks for pages behind the one that is pinned next. */
static void
genie_visit_ask(GenieVisit *visit)
{
	Relation	heap = visit->visitor->heap;
	uint32		most = (uint32) get_tablespace_io_concurrency(heap->rd_rel->reltablespace);

	if (visit->n_asked == 0)
		visit->asked = visit->next;
	while (visit->asked < visit->n && visit->n_asked < most)
	{
		PrefetchBuffer(heap, MAIN_FORKNUM, genie_visit_block(visit->rows[visit->asked]));
		visit->asked = genie_visit_page_end(visit, visit->asked);
		visit->n_asked++;
	}
}

/* Prefetches what the next pins look at. */
static void
genie_visit_look_ahead(GenieVisit *visit)
{
	if (visit->n_ahead == 0)
		visit->ahead = visit->next;
	for (; visit->ahead < visit->n && visit->n_ahead < GENIE_VISIT_AHEAD; visit->n_ahead++)
	{
		genie_pin_prefetch(visit->visitor->index, genie_visit_block(visit->rows[visit->ahead]));
		visit->ahead = genie_visit_page_end(visit, visit->ahead);
	}
}

static int64
genie_visit_blocks_read(void)
{
	return pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
}

static void
genie_visit_pin(GenieVisit *visit, GenieVisitPage *page)
{
	int64		n_read = genie_visit_blocks_read();
	Page		contents;

	genie_visit_look_ahead(visit);
	page->first = visit->next;
	page->end = visit->next = genie_visit_page_end(visit, visit->next);
	page->buffer = genie_pin(visit->visitor->heap, visit->visitor->index,
							 genie_visit_block(visit->rows[page->first]));
	contents = BufferGetPage(page->buffer);
	__builtin_prefetch(contents);
	for (uint32 i = page->first; i < page->end; i++)
		__builtin_prefetch(PageGetItemId(contents, genie_visit_offset(visit->rows[i])));
	if (genie_visit_blocks_read() != n_read)
		visit->uncached = GENIE_VISIT_CACHED;
	else if (visit->uncached > 0)
		visit->uncached--;
	if (visit->n_asked > 0)
		visit->n_asked--;
	visit->n_ahead--;
	if (visit->uncached > 0)
		genie_visit_ask(visit);
}

bool
genie_visit_trusts_pages(const GenieVisitor *visitor)
{
	return visitor->fetch == NULL && !visitor->snapshot->takenDuringRecovery && !IsolationIsSerializable() &&
		!GENIE_SNAPSHOTS_GET_OLD;
}

/* Are all rows on the page visible? */
static bool
genie_visit_all_visible(const GenieVisit *visit, Page page)
{
	return PageIsAllVisible(page) && genie_visit_trusts_pages(visit->visitor);
}

/* The live member of the chain that begins at offset, on a page whose rows are all visible; 0: there is none. */
static uint64
genie_visit_line(Page page, BlockNumber block, OffsetNumber offset)
{
	ItemId		line = PageGetItemId(page, offset);

	if (offset > PageGetMaxOffsetNumber(page))
		return 0;
	if (ItemIdIsRedirected(line))
		offset = ItemIdGetRedirect(line);
	else if (!ItemIdIsNormal(line))
		return 0;
	return ((uint64) block << 16) | offset;
}

/* The same on any page. */
static uint64
genie_visit_chain(const GenieVisit *visit, Buffer buffer, const GenieVisitRow *row)
{
	const GenieVisitor *visitor = visit->visitor;
	HeapTupleData tuple;
	ItemPointerData tid;
	bool		all_dead = false;

	genie_tid_from_number(row->tid, &tid);
	if (heap_hot_search_buffer(&tid, visitor->heap, buffer, visitor->snapshot, &tuple,
							   visitor->hints == NULL ? NULL : &all_dead, true))
		return genie_tid_number(&tid);
	if (all_dead)
		genie_hints_add(visitor->hints, row->tid);
	return 0;
}

/* Prefetches n bytes, wherever they are: a prefetch of any address does no harm. */
static inline void
genie_visit_prefetch(const char *at, Size n)
{
	for (Size i = 0; i < n; i += GENIE_VISIT_LINE)
		__builtin_prefetch(at + i);
}

static void
genie_visit_prefetch_tuples(const GenieVisit *visit, const GenieVisitPage *page)
{
	Page		contents = BufferGetPage(page->buffer);
	OffsetNumber last;

	if (visit->visitor->found == NULL && genie_visit_all_visible(visit, contents))
		return;
	heap_page_prune_opt(visit->visitor->heap, page->buffer);
	last = PageGetMaxOffsetNumber(contents);
	for (uint32 i = page->first; i < page->end; i++)
	{
		OffsetNumber offset = genie_visit_offset(visit->rows[i]);
		ItemIdData	item;

		if (offset > last)
			continue;
		item = *PageGetItemId(contents, offset);
		if (ItemIdIsRedirected(&item) && ItemIdGetRedirect(&item) <= last)
			item = *PageGetItemId(contents, ItemIdGetRedirect(&item));
		if (ItemIdIsNormal(&item))
			genie_visit_prefetch((char *) contents + ItemIdGetOffset(&item),
								 visit->visitor->found == NULL ? 1 : Min(ItemIdGetLength(&item), GENIE_VISIT_TUPLE));
	}
}

/*
 * Passes the visible rows of a pinned page to the callback.  It needs no lock: a visible tuple stays where it is as
 * long as there is a pin, and others change only those parts of its header that the snapshot does not ask for again.
 */
static void
genie_visit_show(const GenieVisit *visit, const GenieVisitPage *page)
{
	const GenieVisitor *visitor = visit->visitor;
	Page		contents = BufferGetPage(page->buffer);

	for (uint32 i = page->first; i < page->end; i++)
	{
		GenieVisitRow *row = visit->rows[i];
		HeapTupleData tuple;
		ItemId		item;

		if (row->live == 0)
			continue;
		genie_tid_from_number(row->live, &tuple.t_self);
		item = PageGetItemId(contents, ItemPointerGetOffsetNumber(&tuple.t_self));
		tuple.t_tableOid = RelationGetRelid(visitor->heap);
		tuple.t_data = (HeapTupleHeader) PageGetItem(contents, item);
		tuple.t_len = ItemIdGetLength(item);
		ExecStoreHeapTuple(&tuple, visitor->shown, false);
		visitor->found(visitor->arg, row, visitor->shown);
	}
	ExecClearTuple(visitor->shown);
}

static void
genie_visit_search(const GenieVisit *visit, const GenieVisitPage *page)
{
	Page		contents = BufferGetPage(page->buffer);
	bool		all_visible;

	LockBuffer(page->buffer, BUFFER_LOCK_SHARE);
	all_visible = genie_visit_all_visible(visit, contents);
	for (uint32 i = page->first; i < page->end; i++)
	{
		GenieVisitRow *row = visit->rows[i];

		row->live = all_visible ? genie_visit_line(contents, genie_visit_block(row), genie_visit_offset(row)) :
			genie_visit_chain(visit, page->buffer, row);
		if (row->live != 0)
			pgstat_count_heap_fetch(visit->visitor->index);
	}
	LockBuffer(page->buffer, BUFFER_LOCK_UNLOCK);
	if (visit->visitor->found != NULL)
		genie_visit_show(visit, page);
	ReleaseBuffer(page->buffer);
}

/* How many pages may be pinned ahead: with few buffers none, or others would find no buffer that they could use. */
static uint32
genie_visit_far(void)
{
	return (uint32) Min(NBuffers / (MaxBackends + NUM_AUXILIARY_PROCS), GENIE_VISIT_FAR);
}

static void
genie_visit_heap(const GenieVisitor *visitor, GenieVisitRow **rows, uint32 n)
{
	GenieVisit	visit = {.visitor = visitor, .rows = rows, .n = n};
	GenieVisitPage pages[GENIE_VISIT_RING];
	uint32		far = genie_visit_far();
	uint32		near = far / 2;
	uint32		n_pages = 0;
	BlockNumber n_blocks = visitor->n_blocks;

	if (n > 0)
		genie_visit_check_block(visitor->heap, visitor->index, genie_visit_block(rows[n - 1]), &n_blocks);
	genie_pin_begin(visitor->heap, visitor->index);
	StaticAssertStmt(GENIE_VISIT_RING > GENIE_VISIT_FAR, "a page's place is free when it is searched");
	for (uint32 step = 0; step < n_pages + far || visit.next < n; step++)
	{
		CHECK_FOR_INTERRUPTS();
		if (visit.next < n)
			genie_visit_pin(&visit, &pages[n_pages++ % GENIE_VISIT_RING]);
		if (step >= near && step - near < n_pages)
			genie_visit_prefetch_tuples(&visit, &pages[(step - near) % GENIE_VISIT_RING]);
		if (step >= far)
			genie_visit_search(&visit, &pages[(step - far) % GENIE_VISIT_RING]);
	}
}

void
genie_visit(const GenieVisitor *visitor, GenieVisitRow **rows, uint32 n)
{
	genie_instrument_visit(visitor->instrument, n);
	if (visitor->fetch == NULL)
		genie_visit_heap(visitor, rows, n);
	else
		genie_visit_table(visitor, rows, n);
	genie_hints_write(visitor->hints);
}
