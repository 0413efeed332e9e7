/*
 * genie_compile.c
 *	  From intervals of keywords to ranges of ranks (genie_compile.h).
 *
 * A walk steps from keyword to keyword where cuts lie close, and goes down the dictionary's tree where they lie far
 * apart.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_compile.h"
#include "genie_dictionary.h"
#include "genie_meta.h"

/*
 * Keywords a cut up to which the walk goes through all of them: reading an entry takes 20 to 30 ns, going down the
 * tree about a microsecond.
 */
#define GENIE_WALK_GAP 32

/* ---- ranks of cuts ---- */

struct GenieWalk
{
	GenieDictionaryCursor cursor;	/* at the first keyword that is not before the last cut */
	bool		begun;
	bool		all;			/* step through all keywords, never seek */
	uint32		rank;			/* of the last cut */
};

GenieWalk *
genie_compile_walk(GenieSegment *segment, uint64 n_cuts)
{
	GenieWalk  *walk = palloc(sizeof(GenieWalk));

	genie_dictionary_cursor(&walk->cursor, segment);
	walk->begun = false;
	walk->all = segment->header.n_keywords / GENIE_WALK_GAP < n_cuts;
	walk->rank = 0;
	return walk;
}

/* Moves the cursor to the first keyword that is not before the cut. */
static bool
move_to(GenieWalk *walk, GenieKey key, bool after)
{
	GenieDictionaryCursor *cursor = &walk->cursor;

	while (walk->begun)
	{
		int			cmp;

		if (!cursor->valid)
			return true;		/* behind the last keyword */
		cmp = genie_key_cmp(cursor->key, key);
		if (cmp > 0 || (cmp == 0 && !after))
			return true;
		if (!walk->all && cmp < 0)
			break;
		if (!genie_dictionary_next(cursor))
			return false;
	}
	walk->begun = true;
	return genie_dictionary_seek(cursor, key, after);
}

static void
set_rank(GenieWalk *walk, uint32 rank)
{
	GenieSegment *segment = walk->cursor.reader.segment;

	/* ranks are used for counting without another check */
	if (rank < walk->rank || rank > segment->header.n_keywords)
		genie_report_corrupt(segment->index, segment->entry.root, "keywords are not numbered in sequence");
	walk->rank = rank;
}

bool
genie_compile_cut(GenieWalk *walk, GenieKey key, bool after, uint32 *rank)
{
	if (!move_to(walk, key, after))
		return false;
	set_rank(walk, walk->cursor.valid ? walk->cursor.rank : walk->cursor.reader.segment->header.n_keywords);
	*rank = walk->rank;
	return true;
}

bool
genie_compile_point(GenieWalk *walk, GenieKey key, GenieRankRange *range)
{
	if (!genie_compile_cut(walk, key, false, &range->first))
		return false;
	range->end = range->first;
	if (walk->cursor.valid && genie_key_cmp(walk->cursor.key, key) == 0)
		range->end++;
	if (range->end > walk->cursor.reader.segment->header.n_keywords)
		set_rank(walk, range->end);
	return true;
}

/* ---- ranges of a query ---- */

void
genie_compile_finish(const GenieRangeList *list, const GenieSegment *segment, GenieEngineQuery *query)
{
	memset(query, 0, sizeof(*query));
	query->n_ranges = list->n;
	query->ranges = list->ranges;
	query->max_count = (uint32) Max(Min(list->n_lists, segment->header.max_keywords), 1);
}

bool
genie_compile(GenieSegment *segment, const GenieQueryView *view, GenieEngineQuery *query)
{
	GenieWalk  *walk = genie_compile_walk(segment, view->n_intervals);
	GenieRangeList list = {0};

	list.ranges = MemoryContextAllocHuge(CurrentMemoryContext, ((Size) view->n_intervals + 1) * sizeof(GenieRankRange));
	for (uint32 i = 0; i < view->n_intervals; i++)
	{
		const GenieInterval *interval = &view->intervals[i];
		GenieRankRange range;

		CHECK_FOR_INTERRUPTS();
		if (genie_interval_is_point(interval) ? !genie_compile_point(walk, interval->lo, &range) :
			!genie_compile_cut(walk, interval->lo, interval->lo_after, &range.first) ||
			!genie_compile_cut(walk, interval->hi, interval->hi_after, &range.end))
			return false;
		genie_compile_add(&list, range);
	}
	pfree(walk);
	genie_compile_finish(&list, segment, query);
	return true;
}
