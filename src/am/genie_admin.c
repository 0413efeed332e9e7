/*
 * genie_admin.c
 *	  Functions for the administrator: genie_merge, genie_check, genie_index_info, genie_prewarm.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "genie_access.h"
#include "genie_approximate.h"
#include "genie_compact.h"
#include "genie_compat.h"
#include "genie_image_cache.h"
#include "genie_image_load.h"
#include "genie_learned.h"
#include "genie_lock.h"
#include "genie_meta.h"
#include "genie_pending.h"
#include "genie_pivots.h"
#include "genie_retrain.h"
#include "genie_segment.h"
#include "genie_space.h"
#include "genie_type_state.h"
#include "genie_value_check.h"
#include "genie_verify.h"

PG_FUNCTION_INFO_V1(genie_merge);
PG_FUNCTION_INFO_V1(genie_check);
PG_FUNCTION_INFO_V1(genie_index_info);
PG_FUNCTION_INFO_V1(genie_prewarm);
PG_FUNCTION_INFO_V1(genie_metric_check);

#define GENIE_CHECK_TRIES 10	/* on a standby whose index keeps changing */
#define GENIE_INFO_COLUMNS 23

/*
 * Only the index's owner and members of pg_stat_scan_tables may read a whole index, because merges wait meanwhile.
 * pgstattuple has the same rule.
 */
static void
genie_admin_may_look(Relation index)
{
	Oid			oid = RelationGetRelid(index);

	if (!object_ownercheck(RelationRelationId, oid, GetUserId()) &&
		!has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
}

/*
 * genie_merge(index regclass) returns void: merges the pending list and segments of similar size, and trains an
 * approximate class again if need be, as VACUUM does.
 * Only for the index's owner.  Waits for a running merge or VACUUM; scans and inserts go on.
 */
Datum
genie_merge(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	Size		memory = maintenance_work_mem * (Size) 1024;
	Relation	index;
	GenieSigner *signer;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("A genie index is merged on the primary only.")));
	index = genie_access_open_index(oid, RowExclusiveLock);
	if (!object_ownercheck(RelationRelationId, oid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
	genie_lock_merge(index, ExclusiveLock);
	signer = genie_approximate_signer(index);
	genie_compact_index(index, memory, &genie_compact_effort_full, signer, NULL);
	(void) genie_retrain_index(index, memory, signer, NULL);
	genie_lock_release_merge(index, ExclusiveLock);
	genie_image_cache_follow_merge(index);
	relation_close(index, RowExclusiveLock);
	PG_RETURN_VOID();
}

static void
genie_check_report(void *arg, BlockNumber block, const char *what)
{
	ReturnSetInfo *result = arg;
	Datum		values[2] = {Int64GetDatum(block), CStringGetTextDatum(what)};
	bool		nulls[2] = {false, false};

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Do the types that the keywords depend on still have the state that they had at the build? */
static void
genie_check_types(Relation index, ReturnSetInfo *result)
{
	GenieMetaData *meta = genie_meta_read(index);

	if (!genie_type_state_holds(&meta->types, genie_type_state_types(index)))
		genie_check_report(result, GENIE_META_BLOCK, "keywords are of a type that was altered since the build");
	pfree(meta);
}

/* Checks the format, and values where nothing is wrong with that.  False: the index changed meanwhile. */
static bool
genie_check_once(Relation heap, Relation index, ReturnSetInfo *result)
{
	return genie_verify_index(index, genie_check_report, result) &&
		(tuplestore_tuple_count(result->setResult) > 0 || genie_value_check(heap, index, genie_check_report, result));
}

/*
 * genie_check(index regclass) returns table (block bigint, violation text): one row for each invariant that does not
 * hold (genie_verify.c lists them; the types' state is one more, and values that are not their rows' are the last),
 * none when all is well.
 */
Datum
genie_check(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	heap;
	Relation	index;

	genie_access_open_both(PG_GETARG_OID(0), &heap, &index);
	genie_admin_may_look(index);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < GENIE_CHECK_TRIES; i++)
	{
		tuplestore_clear(result->setResult);
		if (genie_check_once(heap, index, result))
		{
			genie_check_types(index, result);
			genie_access_close(heap, index);
			return (Datum) 0;
		}
		CHECK_FOR_INTERRUPTS();
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index \"%s\" changed during every one of %d checks",
					RelationGetRelationName(index), GENIE_CHECK_TRIES),
			 errhint("Pause replay with pg_wal_replay_pause() and check again.")));
}

/* Counts the pending list's live rows. */
static int64
genie_info_pending_rows(Relation index, const GenieMetaData *meta)
{
	GeniePendingScan *scan = genie_pending_scan_begin(index, meta);
	GeniePendingRow row;
	int64		n = 0;

	while (genie_pending_next_row(scan, &row))
		n += (row.flags & GENIE_FRAGMENT_DEAD) == 0;
	genie_pending_scan_end(scan);
	return n;
}

/* The pivots of an index of a metric; n = 0: it is none, or has not learned yet. */
static GeniePivotsInfo
genie_info_pivots(Relation index, const GenieMetaData *meta)
{
	if (!genie_pivots_index(index) || meta->parameters_length == 0)
		return (GeniePivotsInfo) {0};
	return genie_pivots_info(genie_learned_parameters(index, meta));
}

/* What was learned, but for its long part. */
static bytea *
genie_info_parameters(const GenieMetaData *meta)
{
	bytea	   *parameters = palloc(VARHDRSZ + meta->parameters_length);

	SET_VARSIZE(parameters, VARHDRSZ + meta->parameters_length);
	memcpy(VARDATA(parameters), meta->parameters, meta->parameters_length);
	return parameters;
}

/* Bytes of the segments' pages by section; by_section[0] is for the roots, and for what was learned. */
static void
genie_info_bytes(Relation index, const GenieMetaData *meta, int64 *by_section)
{
	if (meta->learned.stamp != 0)
		by_section[0] += (int64) meta->learned.n_pages * BLCKSZ;
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		GenieSegment *segment = genie_segment_open(index, &meta->segments[i]);

		if (segment == NULL)
			continue;			/* merged away meanwhile, on a standby */
		for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
			for (uint32 j = 0; j < segment->sections[kind].entry.n_extents; j++)
				by_section[kind] += (int64) segment->sections[kind].extents[j].n_blocks * BLCKSZ;
		by_section[0] += (int64) segment->n_root_pages * BLCKSZ;
	}
}

/* What genie_prewarm() would load.  False: a segment is damaged, or was merged away meanwhile, on a standby. */
static bool
genie_info_image_bytes(Relation index, const GenieMetaData *meta, uint64 *n_bytes)
{
	*n_bytes = 0;
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		GenieSegment *segment = genie_segment_open(index, &meta->segments[i]);
		uint64		n_more;

		if (segment == NULL || !genie_image_load_bytes(segment, meta->segments[i].n_dead, &n_more))
			return false;
		*n_bytes += n_more;
	}
	return true;
}

/* Pages that wait for older scans to end; *n_lists counts those that list them. */
static BlockNumber
genie_info_retired(const uint8 *reachable, BlockNumber n_blocks, BlockNumber *n_lists)
{
	BlockNumber n = 0;

	*n_lists = 0;
	for (BlockNumber block = 0; block < n_blocks; block++)
	{
		*n_lists += reachable[block] == GENIE_PAGE_RETIRED;
		n += reachable[block] != GENIE_REACHABLE_TWICE && (reachable[block] & GENIE_REACHABLE_RETIRED) != 0;
	}
	return n;
}

/*
 * genie_index_info(index regclass): what an index consists of.  Counts of objects, keywords
 * (summed over segments), postings, tombstones and pending rows; bytes by kind of page; the number of unreachable
 * pages; what the images would take in shared memory, which is known once all posting lists have been read; what an
 * operator class has learned, and whether it fits.  The bytes of all kinds and of the
 * unreachable pages are the file's, unless inserts go on meanwhile.
 */
Datum
genie_index_info(PG_FUNCTION_ARGS)
{
	Relation	index = genie_access_open_index(PG_GETARG_OID(0), AccessShareLock);
	bool		lock = !RecoveryInProgress();
	int64		by_section[GENIE_SECTIONS + 1] = {0};
	int64		objects = 0;
	int64		keywords = 0;
	int64		postings = 0;
	int64		tombstones = 0;
	BlockNumber n_blocks;
	BlockNumber n_lost = 0;
	BlockNumber n_free = 0;
	BlockNumber n_retired = 0;
	BlockNumber n_lists = 0;
	uint64		image_bytes;
	GenieMetaData *meta;
	uint8	   *reachable;
	TupleDesc	desc;
	Datum		values[GENIE_INFO_COLUMNS];
	bool		nulls[GENIE_INFO_COLUMNS] = {false};
	GeniePivotsInfo pivots;
	int			n = 0;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	genie_admin_may_look(index);
	if (lock)
		genie_lock_merge(index, ShareLock);
	meta = genie_meta_read(index);
	n_blocks = RelationGetNumberOfBlocks(index);
	reachable = genie_space_reachable(index, meta, n_blocks);
	if (reachable != NULL)
	{
		genie_space_survey(index, meta, reachable, n_blocks, false, &n_lost, &n_free);
		n_retired = genie_info_retired(reachable, n_blocks, &n_lists);
	}
	genie_info_bytes(index, meta, by_section);
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		objects += meta->segments[i].n_objects;
		keywords += meta->segments[i].n_keywords;
		postings += meta->segments[i].n_postings;
		tombstones += meta->segments[i].n_dead;
	}
	values[n++] = Int32GetDatum(meta->n_segments);
	values[n++] = Int64GetDatum(objects);
	values[n++] = Int64GetDatum(keywords);
	values[n++] = Int64GetDatum(postings);
	values[n++] = Int64GetDatum(tombstones);
	values[n++] = Int64GetDatum(genie_info_pending_rows(index, meta));
	values[n++] = Int64GetDatum((int64) n_blocks * BLCKSZ);
	values[n++] = Int64GetDatum(by_section[0] + ((int64) n_lists + 1) * BLCKSZ);
	values[n++] = Int64GetDatum(by_section[GENIE_SECTION_OBJECTS]);
	values[n++] = Int64GetDatum(by_section[GENIE_SECTION_DICTIONARY]);
	values[n++] = Int64GetDatum(by_section[GENIE_SECTION_POSTINGS]);
	values[n++] = Int64GetDatum(by_section[GENIE_SECTION_SIZES]);
	values[n++] = Int64GetDatum(by_section[GENIE_SECTION_VALUES]);
	values[n++] = Int64GetDatum(by_section[GENIE_SECTION_TOMBSTONES] + by_section[GENIE_SECTION_HINTS]);
	values[n++] = Int64GetDatum((int64) meta->pending_pages * BLCKSZ);
	values[n++] = Int64GetDatum((int64) n_free * BLCKSZ);
	values[n++] = Int64GetDatum((int64) n_retired * BLCKSZ);
	values[n++] = Int64GetDatum(n_lost);
	nulls[n] = !genie_info_image_bytes(index, meta, &image_bytes);
	values[n++] = Int64GetDatum((int64) image_bytes);
	nulls[n] = meta->parameters_length == 0;
	values[n++] = PointerGetDatum(genie_info_parameters(meta));
	nulls[n] = !genie_learns(index);
	values[n++] = CStringGetTextDatum(meta->parameters_length == 0 ? "waits for more rows" :
									  (meta->flags & GENIE_META_MISFIT) != 0 ? "does not fit: REINDEX" :
									  meta->trainings > 1 ? "fits, trained again" : "fits");
	pivots = genie_info_pivots(index, meta);
	nulls[n] = pivots.n == 0;
	values[n++] = Int32GetDatum(pivots.n);
	nulls[n] = pivots.n == 0;
	values[n++] = Float8GetDatum(pivots.share);
	Assert(n == GENIE_INFO_COLUMNS);
	if (lock)
		genie_lock_release_merge(index, ShareLock);
	relation_close(index, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/*
 * genie_metric_check(index regclass, triples bigint) returns bigint: looks at random triples of the table's rows, at
 * least so many, unless the table has too few rows, and returns how many.  Only for the index's owner.  Errors: the
 * index is not of a metric; the distance function breaks the triangle inequality, is not symmetric, or not 0 from a
 * row to itself.
 */
Datum
genie_metric_check(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	int64		wanted = PG_GETARG_INT64(1);
	int64		done = 0;
	Relation	heap;
	Relation	index;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie metric check", ALLOCSET_DEFAULT_SIZES);

	genie_access_open_both(oid, &heap, &index);
	if (!object_ownercheck(RelationRelationId, oid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
	if (!genie_pivots_index(index))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" is not of a metric", RelationGetRelationName(index)),
				 errhint("Operator classes of metrics are made by genie_create_metric().")));
	if (wanted < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of triples must be at least 1")));
	for (uint32 seed = 1; done < wanted; seed++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		uint32		n;
		const GenieRaw *objects = genie_approximate_sample(heap, index, seed, &n);

		if (n > 0)
			done += genie_pivots_check(index, objects, n);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
		if (n < GENIE_TRAIN_MIN)
			break;
	}
	MemoryContextDelete(context);
	genie_access_close(heap, index);
	PG_RETURN_INT64(done);
}

/*
 * genie_prewarm(index regclass) returns bigint: loads all segments into shared memory, and evicts images of other
 * indexes if there is no room; their values, too, which an approximate class can do without.  Returns the bytes that
 * they have there.  The caller needs the right to execute it, and the rights of genie_admin_may_look().
 */
Datum
genie_prewarm(PG_FUNCTION_ARGS)
{
	Relation	index = genie_access_open_index(PG_GETARG_OID(0), AccessShareLock);
	bool		lacks_values = false;
	uint64		n_bytes;

	genie_admin_may_look(index);
	n_bytes = genie_image_cache_prewarm(index, genie_is_exact(index) ? NULL : &lacks_values);
	if (lacks_values)
		ereport(NOTICE,
				(errmsg("not all values of genie index \"%s\" are in shared memory", RelationGetRelationName(index)),
				 errdetail("There is no room left for them."),
				 errhint("Searches look up more rows without them.  Raise genie.shared_memory, which needs a "
						 "restart.")));
	relation_close(index, AccessShareLock);
	PG_RETURN_INT64((int64) n_bytes);
}
