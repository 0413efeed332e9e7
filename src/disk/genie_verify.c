/*
 * genie_verify.c
 *	  Verifying an index, page by page and segment by segment.
 *
 * Invariants (each has a message):
 *	pages		1 every page is a metapage (block 0), a page of a known kind with a possible
 *				  length and the right checksum, or all zeroes; 2 it is reachable from one place at most, and its kind
 *				  is what that place expects; 3 its stamp is the owner's.  Pages that are not reachable
 *				  are free, or were left by a crash, which is no violation (genie_index_info counts them).
 *	segment		4 the object table decodes, TIDs ascend, its counts are the root's and the
 *				  metapage's; 5 keywords ascend strictly and are well-formed; 6 posting lists lie one behind
 *				  the other and fill their section; 7 each list decodes to as many ascending objects as the
 *				  dictionary says, all of them in the segment and not NULL; 8 an object's size is
 *				  within the root's bounds, and is the number of its postings (unless the operator class
 *				  sets the sizes); 9 there are as many tombstones as the metapage says, or more, after a
 *				  VACUUM that was interrupted; 14 a value is unknown or possible, that of a NULL object unknown
 *	pending		10 the list runs from head to tail in as many pages as the metapage says; 11 rows
 *				  decode, keywords ascend, the rows of a page fill it; 13 as long as there are raw rows and no
 *				  parameters (genie_signer.h), no segment has a keyword
 *	learned		15 what the metapage says that was learned can be read
 *	all			12 no TID is live in two places
 *
 * Whether values are those of the table's rows is not seen here (search/genie_value_check.c).
 *
 * Damage must be reported, but must not stop the walk.  An error that the reading functions raise for damage
 * (genie_report_corrupt, a failed checksum) is caught in an internal subtransaction
 * (genie_subtransaction.h) and becomes a finding.  Every other error is raised again.
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "genie_dictionary.h"
#include "genie_hint.h"
#include "genie_learned.h"
#include "genie_list_walk.h"
#include "genie_lock.h"
#include "genie_meta.h"
#include "genie_object_cursor.h"
#include "genie_object_table.h"
#include "genie_pending.h"
#include "genie_space.h"
#include "genie_subtransaction.h"
#include "genie_tombstone.h"
#include "genie_values.h"
#include "genie_verify.h"

typedef struct GenieVerify
{
	Relation	index;
	GenieMetaData *meta;
	BlockNumber n_blocks;
	GenieViolation report;
	void	   *arg;
	uint64		n_said;			/* number of findings */

	/* the page walk */
	uint8	   *reachable;
	BlockNumber block;

	/* the current segment */
	GenieSegment *segment;
	const GenieSegmentEntry *entry;
	uint64	   *nulls;
	uint16	   *counts;			/* postings of each object */

	/* pending rows' TIDs, for the last invariant */
	uint64	   *tids;
	Size		n_tids;
	Size		tids_capacity;
} GenieVerify;

typedef void (*GenieVerifyStep) (GenieVerify *verify);

static void genie_verify_say(GenieVerify *verify, BlockNumber block, const char *format,...) pg_attribute_printf(3, 4);

static void
genie_verify_say(GenieVerify *verify, BlockNumber block, const char *format,...)
{
	char		text[256];
	va_list		args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	verify->report(verify->arg, block, text);
	verify->n_said++;
}

typedef struct GenieVerifyCall
{
	GenieVerify *verify;
	GenieVerifyStep step;
} GenieVerifyCall;

static void
genie_verify_call(void *arg)
{
	const GenieVerifyCall *call = arg;

	call->step(call->verify);
}

/* Runs a step.  An error for damage becomes a finding, at the block that its message names or else at `block`. */
static void
genie_verify_guard(GenieVerify *verify, GenieVerifyStep step, BlockNumber block)
{
	GenieVerifyCall call = {verify, step};
	ErrorData  *error = genie_subtransaction_run(genie_verify_call, &call, GENIE_SUBTRANSACTION_COMMIT);
	const char *at;
	unsigned int found;

	if (error == NULL)
		return;
	if (error->sqlerrcode != ERRCODE_INDEX_CORRUPTED &&
		error->sqlerrcode != ERRCODE_DATA_CORRUPTED &&
		error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED)
		ReThrowError(error);
	at = strstr(error->message, " at block ");
	if (at != NULL && sscanf(at, " at block %u", &found) == 1)
		block = found;
	genie_verify_say(verify, block, "%s", error->message);
	FreeErrorData(error);
}

/* ---- pages ---- */

/* Invariants 1 and 2 for one page. */
static void
genie_verify_page(GenieVerify *verify, BlockNumber block, Page page)
{
	uint8		expected = verify->reachable[block];
	GeniePageOpaque opaque = GeniePageGetOpaque(page);

	if (expected == GENIE_REACHABLE_TWICE)
		genie_verify_say(verify, block, "page belongs to two owners");
	if (PageIsNew(page))
	{
		if (expected != 0 && (expected & GENIE_REACHABLE_RETIRED) == 0)
			genie_verify_say(verify, block, "page is in use but all zeroes");
		return;
	}
	if (!genie_page_is_ours(page) ||
		opaque->kind < GENIE_PAGE_META || opaque->kind > GENIE_PAGE_FREE)
	{
		genie_verify_say(verify, block, "not a genie page");
		return;
	}
	if (!genie_page_is_intact(page, block))
		genie_verify_say(verify, block, "the page's checksum is wrong");
	if (expected == 0 || expected == GENIE_REACHABLE_TWICE || (expected & GENIE_REACHABLE_RETIRED))
		return;
	if (opaque->kind != expected)
		genie_verify_say(verify, block, "page of kind %u where kind %u is expected",
						 opaque->kind, expected);
}

static void
genie_verify_pages(GenieVerify *verify)
{
	while (verify->block < verify->n_blocks)
	{
		BlockNumber block = verify->block++;
		PGAlignedBlock copy;

		genie_verify_page(verify, block, genie_page_copy(verify->index, block, &copy));
		CHECK_FOR_INTERRUPTS();
	}
}

static void
genie_verify_reach(GenieVerify *verify)
{
	verify->reachable = genie_space_reachable(verify->index, verify->meta, verify->n_blocks);
	if (verify->reachable == NULL)
		genie_report_corrupt(verify->index, GENIE_META_BLOCK,
							 "a segment or the list of retired pages cannot be followed");
}

/* ---- segments ---- */

static void
genie_verify_stale(GenieVerify *verify)
{
	genie_report_corrupt(verify->index, verify->entry->root, "a page of the segment belongs to somebody else");
}

/* Invariants 4 and 9; notes the NULL objects. */
static void
genie_verify_objects(GenieVerify *verify)
{
	GenieSegment *segment = verify->segment;
	GenieObjectReader *objects = palloc(sizeof(GenieObjectReader));
	GenieSectionReader *tombstones = palloc(sizeof(GenieSectionReader));
	uint64	   *dead = palloc(GENIE_TILE_WORDS * sizeof(uint64));
	uint64		last = 0;
	uint32		n_nulls = 0;
	uint64		n_dead = 0;

	genie_object_table_reader(objects, segment, false);
	genie_section_reader(tombstones, segment, GENIE_SECTION_TOMBSTONES);
	for (uint32 t = 0; t < genie_object_table_tiles(segment); t++)
	{
		const GenieTileObjects *tile = genie_object_table_tile(objects, t);

		memset(dead, 0, GENIE_TILE_WORDS * sizeof(uint64));
		if (tile == NULL ||
			!genie_tombstone_read(tombstones, t << GENIE_TILE_SHIFT, tile->n_objects, dead))
			genie_verify_stale(verify);
		for (uint32 i = 0; i < GENIE_TILE_WORDS; i++)
			n_dead += pg_popcount64(dead[i]);
		for (uint32 i = 0; i < tile->n_objects; i++)
		{
			bool		is_null;
			uint64		tid = genie_object_table_tid(tile, i, &is_null);
			uint32		object = (t << GENIE_TILE_SHIFT) + i;

			if (tid <= last)
				genie_verify_say(verify, verify->entry->root, "TIDs do not ascend at object %u", object);
			last = tid;
			if (is_null)
			{
				n_nulls++;
				verify->nulls[object / 64] |= UINT64CONST(1) << (object % 64);
			}
		}
		CHECK_FOR_INTERRUPTS();
	}
	if (!genie_hint_owned(segment))
		genie_verify_stale(verify);
	if (n_nulls != segment->header.n_nulls || n_nulls != verify->entry->n_nulls ||
		segment->header.n_objects != verify->entry->n_objects)
		genie_verify_say(verify, verify->entry->root, "object counts differ from the root's or the metapage's");

	/* a VACUUM that was interrupted has set bits that are not counted yet */
	if (n_dead < verify->entry->n_dead)
		genie_verify_say(verify, verify->entry->root,
						 "%llu tombstones, but the metapage counts %u",
						 (unsigned long long) n_dead, verify->entry->n_dead);
}

/* Counts one posting; invariant 7's second half. */
static void
genie_verify_posting(GenieVerify *verify, uint64 object)
{
	if (object >= verify->segment->header.n_objects)
		genie_report_corrupt(verify->index, verify->entry->root, "a posting leaves the segment");
	if ((verify->nulls[object / 64] >> (object % 64)) & 1)
		genie_verify_say(verify, verify->entry->root, "NULL object %llu has a keyword",
						 (unsigned long long) object);
	verify->counts[object]++;
}

/* Whose list is walked. */
typedef struct GenieVerifyList
{
	GenieVerify *verify;
	GenieListWalk walk;
} GenieVerifyList;

/* Invariant 7 for a part of a list. */
static bool
genie_verify_part(void *arg, uint32 tile, const GenieListRef *ref)
{
	GenieVerifyList *list = arg;
	const uint16 *locals = genie_list_walk_locals(&list->walk, ref);

	for (uint32 i = 0; locals != NULL && i < ref->n; i++)
		genie_verify_posting(list->verify, ((uint64) tile << GENIE_TILE_SHIFT) + locals[i]);
	return locals != NULL;
}

/* Invariants 5 to 7. */
static void
genie_verify_keywords(GenieVerify *verify)
{
	GenieSegment *segment = verify->segment;
	GenieDictionaryCursor *cursor = palloc(sizeof(GenieDictionaryCursor));
	GenieVerifyList *list = palloc(sizeof(GenieVerifyList));
	uint8		last_bytes[GENIE_KEY_MAX];
	GenieKey	last = {last_bytes, 0};
	uint64		list_at = 0;
	uint64		n_keywords = 0;
	uint64		n_postings = 0;

	genie_dictionary_cursor(cursor, segment);
	list->verify = verify;
	genie_list_walk_begin(&list->walk, segment);
	if (!genie_dictionary_first(cursor))
		genie_verify_stale(verify);
	while (cursor->valid)
	{
		uint32		dimension;
		GenieFamily family;
		GenieKey	value;

		if (!genie_key_split(cursor->key, &dimension, &family, &value))
			genie_verify_say(verify, verify->entry->root, "malformed keyword %u", cursor->rank);
		if (n_keywords > 0 && genie_key_cmp(last, cursor->key) >= 0)
			genie_verify_say(verify, verify->entry->root, "keywords do not ascend at %u", cursor->rank);
		if (cursor->rank != n_keywords || cursor->list_at != list_at)
			genie_verify_say(verify, verify->entry->root, "keyword %u has a wrong rank or list position",
							 cursor->rank);
		if (!genie_list_walk(&list->walk, cursor, genie_verify_part, list))
		{
			if (list->walk.damage != NULL)
				genie_report_corrupt(verify->index, verify->entry->root, list->walk.damage);
			genie_verify_stale(verify);
		}
		list_at += cursor->list_bytes;
		n_keywords++;
		n_postings += cursor->n_postings;
		memcpy(last_bytes, cursor->key.data, cursor->key.len);
		last.len = cursor->key.len;
		if (!genie_dictionary_next(cursor))
			genie_verify_stale(verify);
		CHECK_FOR_INTERRUPTS();
	}
	if (list_at != segment->sections[GENIE_SECTION_POSTINGS].entry.length)
		genie_verify_say(verify, verify->entry->root, "posting lists do not fill their section");
	if (n_keywords != segment->header.n_keywords || n_keywords != verify->entry->n_keywords ||
		n_postings != segment->header.n_postings || n_postings != verify->entry->n_postings)
		genie_verify_say(verify, verify->entry->root, "keyword counts differ from the root's or the metapage's");
}

/* Invariant 8. */
static void
genie_verify_sizes(GenieVerify *verify)
{
	GenieSegment *segment = verify->segment;
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	uint32	   *sizes = palloc(GENIE_TILE_OBJECTS * sizeof(uint32));

	genie_section_reader(reader, segment, GENIE_SECTION_SIZES);
	for (uint32 t = 0; t < genie_object_table_tiles(segment); t++)
	{
		uint32		first = t << GENIE_TILE_SHIFT;
		uint32		n = Min(segment->header.n_objects - first, GENIE_TILE_OBJECTS);

		if (!genie_object_table_sizes(reader, first, n, sizes))
			genie_verify_stale(verify);
		for (uint32 i = 0; i < n; i++)
		{
			uint32		object = first + i;

			if ((verify->nulls[object / 64] >> (object % 64)) & 1)
				continue;
			if (verify->counts[object] > segment->header.max_keywords)
				genie_verify_say(verify, verify->entry->root,
								 "object %u has more keywords than the root allows", object);
			if ((segment->header.flags & GENIE_ROOT_OWN_SIZES) == 0 &&
				sizes[i] != verify->counts[object])
				genie_verify_say(verify, verify->entry->root,
								 "object %u has %u postings, but size %u", object,
								 verify->counts[object], sizes[i]);
		}
	}
}

/* Is a value unknown?  That of bits may be zeros, too. */
static bool
genie_verify_is_unknown(GenieValueShape shape, const void *at)
{
	const GenieQuantized *record = at;
	const uint8 *bytes = at;

	if (shape.metric == GENIE_METRIC_SCALARS)
	{
		const uint32 *scalars = at;
		uint32		n = 0;

		while (n < shape.n_dimensions && scalars[n] == GENIE_SCALAR_UNKNOWN)
			n++;
		return n == shape.n_dimensions;
	}
	if (shape.metric == GENIE_METRIC_EDIT)
		return ((const GenieValueString *) at)->length == GENIE_VALUE_STRING_UNKNOWN && genie_value_string_valid(0, at);
	if (shape.metric != GENIE_METRIC_HAMMING)
		return isinf(record->error) && record->error > 0;
	for (Size i = 0; i < genie_value_bytes(shape); i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/* Is one that is known possible? */
static bool
genie_verify_value(GenieValueShape shape, const void *at)
{
	const GenieQuantized *record = at;
	const uint8 *codes = (const uint8 *) (record + 1);
	uint32		squares = 0;

	if (shape.metric == GENIE_METRIC_HAMMING)
		return genie_value_bits_valid(shape.n_dimensions, at);
	if (shape.metric == GENIE_METRIC_EDIT)
		return genie_value_string_valid(shape.n_dimensions, at);
	if (shape.metric == GENIE_METRIC_SCALARS)
		return genie_value_scalars_valid(shape.n_dimensions, at);
	if (genie_rabitq_serves(shape.metric))
		return genie_rabitq_valid(shape.n_dimensions, at);
	for (uint32 i = 0; i < shape.n_dimensions; i++)
		squares += (uint32) codes[i] * codes[i];
	if (!(isfinite(record->offset) && record->scale >= 0 && !isinf(record->scale) && record->error >= 0))
		return false;
	return squares == record->squares ||
		(shape.metric == GENIE_METRIC_L1 && record->beyond <= record->error);
}

/* Invariant 14. */
static void
genie_verify_values(GenieVerify *verify)
{
	GenieSegment *segment = verify->segment;
	GenieValueShape shape = genie_values_shape(segment);
	Size		n_bytes = genie_value_bytes(shape);
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	void	   *record = palloc(n_bytes + 1);

	genie_section_reader(reader, segment, GENIE_SECTION_VALUES);
	for (uint32 object = 0; n_bytes > 0 && object < segment->header.n_objects; object++)
	{
		if (object % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		if (!genie_section_read(reader, object * (uint64) n_bytes, n_bytes, record))
			genie_verify_stale(verify);
		if (genie_verify_is_unknown(shape, record))
			continue;
		if ((verify->nulls[object / 64] >> (object % 64)) & 1)
			genie_verify_say(verify, verify->entry->root, "object %u is null, but has a value", object);
		else if (!genie_verify_value(shape, record))
			genie_verify_say(verify, verify->entry->root, "the value of object %u is malformed", object);
	}
	pfree(record);
	pfree(reader);
}

static void
genie_verify_segment(GenieVerify *verify)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie verify segment",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Size		n;

	verify->segment = genie_segment_open(verify->index, verify->entry);
	if (verify->segment == NULL)
		genie_verify_stale(verify);
	n = (Size) genie_object_table_tiles(verify->segment) * GENIE_TILE_OBJECTS;
	verify->nulls = MemoryContextAllocExtended(context, n / 8 + 8, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	verify->counts = MemoryContextAllocExtended(context, n * sizeof(uint16) + 8,
												MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	genie_verify_objects(verify);
	genie_verify_keywords(verify);
	genie_verify_sizes(verify);
	genie_verify_values(verify);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* ---- pending rows ---- */

static void
genie_verify_note_tid(GenieVerify *verify, uint64 tid)
{
	if (verify->n_tids == verify->tids_capacity)
	{
		verify->tids_capacity *= 2;
		verify->tids = repalloc_huge(verify->tids, verify->tids_capacity * sizeof(uint64));
	}
	verify->tids[verify->n_tids++] = tid;
}

/* Invariants 10, 11 and 13. */
static void
genie_verify_pending(GenieVerify *verify)
{
	GeniePendingScan *scan = genie_pending_scan_begin(verify->index, verify->meta);
	GeniePendingRow row;
	bool		raw = false;

	while (genie_pending_next_row(scan, &row))
	{
		raw |= (row.flags & GENIE_FRAGMENT_RAW) != 0;
		if ((row.flags & GENIE_FRAGMENT_NULL) && row.n > 0)
			genie_verify_say(verify, scan->block, "a NULL row has keywords");
		if ((row.flags & GENIE_FRAGMENT_DEAD) == 0)
			genie_verify_note_tid(verify, row.tid);
	}
	if (scan->stale)
		genie_report_corrupt(verify->index, scan->next, "the pending list is broken");
	for (uint32 i = 0; raw && verify->meta->parameters_length == 0 && i < verify->meta->n_segments; i++)
		if (verify->meta->segments[i].n_postings > 0)
			genie_verify_say(verify, verify->meta->segments[i].root,
							 "a segment has keywords, but the index has raw rows and no parameters");
	if (scan->left > 0)
		genie_verify_say(verify, GENIE_META_BLOCK, "the pending list has %u pages, but the metapage says %u",
						 verify->meta->pending_pages - scan->left, verify->meta->pending_pages);
	genie_pending_scan_end(scan);
}

/* ---- all TIDs ---- */

/* A segment's live TIDs in order. */
typedef struct GenieTidCursor
{
	GenieObjectCursor objects;
	bool		at_end;
} GenieTidCursor;

static void
genie_verify_next_tid(GenieVerify *verify, GenieTidCursor *cursor)
{
	cursor->at_end = !genie_object_cursor_next(&cursor->objects);
	if (cursor->objects.segment->stale)
		genie_verify_stale(verify);
}

/* Invariant 12: all segments' TIDs and the pending rows' are merged. */
static void
genie_verify_tids(GenieVerify *verify)
{
	uint32		n = verify->meta->n_segments;
	GenieTidCursor *cursors = MemoryContextAllocHuge(CurrentMemoryContext,
													 sizeof(GenieTidCursor) * (n + 1));
	Size		pending = 0;
	uint64		last = 0;

	qsort(verify->tids, verify->n_tids, sizeof(uint64), genie_cmp_uint64);
	for (uint32 i = 0; i < n; i++)
	{
		GenieSegment *segment;

		verify->entry = &verify->meta->segments[i];
		segment = genie_segment_open(verify->index, verify->entry);
		if (segment == NULL)
			genie_verify_stale(verify);
		genie_object_cursor_begin(&cursors[i].objects, segment);
		genie_verify_next_tid(verify, &cursors[i]);
	}
	for (;;)
	{
		GenieTidCursor *best = NULL;
		uint64		tid;

		for (uint32 i = 0; i < n; i++)
			if (!cursors[i].at_end && (best == NULL || cursors[i].objects.tid < best->objects.tid))
				best = &cursors[i];
		if (pending < verify->n_tids && (best == NULL || verify->tids[pending] < best->objects.tid))
			tid = verify->tids[pending++];
		else if (best != NULL)
		{
			tid = best->objects.tid;
			genie_verify_next_tid(verify, best);
		}
		else
			break;
		if (tid == last)
			genie_verify_say(verify, GENIE_META_BLOCK, "TID (%u,%u) is live in two places",
							 (unsigned int) (tid >> 16), (unsigned int) (tid & 0xFFFF));
		last = tid;
	}
}

/* Invariant 15. */
static void
genie_verify_learned(GenieVerify *verify)
{
	(void) genie_learned_parameters(verify->index, verify->meta);
}

static void
genie_verify_meta(GenieVerify *verify)
{
	verify->meta = genie_meta_read(verify->index);
}

bool
genie_verify_index(Relation index, GenieViolation report, void *arg)
{
	GenieVerify *verify = palloc0(sizeof(GenieVerify));
	bool		lock = !RecoveryInProgress();
	bool		unchanged = true;

	verify->index = index;
	verify->report = report;
	verify->arg = arg;
	verify->tids_capacity = 1024;
	verify->tids = palloc(verify->tids_capacity * sizeof(uint64));
	if (lock)
		genie_lock_merge(index, ShareLock);

	if (RelationGetNumberOfBlocks(index) == 0)
		genie_verify_say(verify, GENIE_META_BLOCK, "the index has no metapage");
	else
		genie_verify_guard(verify, genie_verify_meta, GENIE_META_BLOCK);
	if (verify->meta != NULL)
	{
		verify->n_blocks = RelationGetNumberOfBlocks(index);
		genie_verify_guard(verify, genie_verify_reach, GENIE_META_BLOCK);
		if (verify->reachable == NULL)
			verify->reachable = MemoryContextAllocExtended(CurrentMemoryContext,
														   (Size) verify->n_blocks + 1,
														   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		while (verify->block < verify->n_blocks)
			genie_verify_guard(verify, genie_verify_pages, verify->block);
		for (uint32 i = 0; i < verify->meta->n_segments; i++)
		{
			verify->entry = &verify->meta->segments[i];
			genie_verify_guard(verify, genie_verify_segment, verify->entry->root);
		}
		genie_verify_guard(verify, genie_verify_learned, GENIE_META_BLOCK);
		genie_verify_guard(verify, genie_verify_pending, GENIE_META_BLOCK);
		genie_verify_guard(verify, genie_verify_tids, GENIE_META_BLOCK);
		if (!lock)
		{
			GenieMetaData *now = genie_meta_read(index);

			/* any page may have changed owner where the counter of stamps moved */
			unchanged = now->segment_version == verify->meta->segment_version &&
				now->tombstone_version == verify->meta->tombstone_version &&
				(verify->n_said == 0 || now->next_stamp == verify->meta->next_stamp);
		}
	}
	if (lock)
		genie_lock_release_merge(index, ShareLock);
	return unchanged;
}
