/*
 * genie_insert.c
 *	  aminsert: decompose, append to the pending list, and merge when the list gets too long.
 *
 * An insert only tries for the merge lock.  If another process holds it, the insert is done.
 *
 * Rows are compared with the state of the types that the index was built with, each after its keywords are made: labels
 * may be renamed within a statement, by a function that it calls or by another session.
 *
 * The parameters of a class that learns are read once a statement, or with each row as long as there are none.  A row
 * that is appended raw because there were none may come behind the rows that the class was trained on (genie_signer.h).
 * Vectors are always appended raw: scans measure them at once, and a merge signs them.  So it does no harm that a class
 * of vectors may learn again meanwhile (genie_retrain.c).  Other classes never do.  Rows of a coarse class are always
 * raw, too, and its parameters are not read.
 */
#include "postgres.h"

#include "access/genam.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "genie_approximate.h"
#include "genie_compact.h"
#include "genie_fault.h"
#include "genie_image_cache.h"
#include "genie_insert.h"
#include "genie_learned.h"
#include "genie_lock.h"
#include "genie_meta.h"
#include "genie_opclass.h"
#include "genie_options.h"
#include "genie_pending.h"
#include "genie_type_state.h"
#include "genie_vector_type.h"

/* Kept from one row of a statement to the next. */
typedef struct GenieInsertCache
{
	MemoryContext context;		/* of one row */
	bool		learns;			/* the operator class does */
	bool		coarse;			/* and its rows wait raw, so that nobody asks for its parameters */
	bool		raw;			/* its rows wait raw, even when it has parameters */
	GenieTypeState types;		/* as the metapage has it */
	List	   *type_list;		/* if the keywords depend on types */
	const bytea *parameters;	/* that it has learned; NULL: none yet */
} GenieInsertCache;

static GenieInsertCache *
genie_insert_cache(Relation index, IndexInfo *info)
{
	GenieInsertCache *cache = info->ii_AmCache;
	bool		is_new = cache == NULL;

	if (is_new)
	{
		info->ii_AmCache = cache = MemoryContextAllocZero(info->ii_Context, sizeof(GenieInsertCache));
		cache->context = AllocSetContextCreate(info->ii_Context, "genie insert", ALLOCSET_DEFAULT_SIZES);
		cache->learns = genie_learns(index);
		cache->coarse = genie_is_coarse(index);
		cache->raw = genie_vector_type_of_class(index) != NULL;
	}
	if (is_new || (cache->learns && !cache->coarse && cache->parameters == NULL))
	{
		MemoryContext old = MemoryContextSwitchTo(info->ii_Context);
		GenieMetaData *meta = genie_meta_read(index);

		if (is_new && meta->types.sum != 0)
		{
			cache->types = meta->types;
			cache->type_list = genie_type_state_types(index);
		}
		if (!cache->coarse)
			cache->parameters = genie_learned_parameters(index, meta);
		pfree(meta);
		MemoryContextSwitchTo(old);
	}
	return cache;
}

/* The pending list has n pages: merges it if that is too many. */
static void
genie_insert_merge(Relation index, uint32 n_pages)
{
	if ((uint64) n_pages * BLCKSZ <= (uint64) genie_pending_limit_of(index) * 1024 ||
		!genie_lock_try_merge(index))
		return;
	genie_compact_index(index, work_mem * (Size) 1024, &genie_compact_effort_insert,
						genie_approximate_signer(index), NULL);
	genie_lock_release_merge(index, ExclusiveLock);
	genie_image_cache_follow_merge(index);
}

bool
genie_insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation heap,
			 IndexUniqueCheck check_unique, bool index_unchanged, IndexInfo *info)
{
	GenieInsertCache *cache = genie_insert_cache(index, info);
	MemoryContext old = MemoryContextSwitchTo(cache->context);
	uint8		flags = nulls[0] ? GENIE_FRAGMENT_NULL : 0;
	GenieKeywords keywords;
	uint32		n_pages;
	int32		size;

	genie_keywords_init(&keywords);
	keywords.parameters = cache->parameters;
	keywords.raw = cache->raw;
	keywords.index = index;
	if (!nulls[0])
	{
		FunctionCall2Coll(index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC),
						  index->rd_indcollation[0], values[0], PointerGetDatum(&keywords));
		genie_keywords_finish(&keywords);
	}
	if (cache->types.sum != 0)
		genie_type_state_check_types(index, &cache->types, cache->type_list);
	size = genie_keywords_own_size(&keywords);
	if (!nulls[0] && cache->learns && (cache->raw || cache->parameters == NULL))
		flags |= size >= 0 ? GENIE_FRAGMENT_RAW | GENIE_FRAGMENT_SAME_SIZE : GENIE_FRAGMENT_RAW;
	GENIE_FAULT("insert-decomposed");
	genie_pending_append(index, tid, flags, keywords.bytes, keywords.n, keywords.nbytes,
						 size >= 0 ? (uint32) size : keywords.n, &n_pages);
	if (n_pages > 0)
		genie_insert_merge(index, n_pages);
	MemoryContextSwitchTo(old);
	MemoryContextReset(cache->context);
	return false;
}
