/*
 * genie_compile.c
 *	  From intervals of keywords to ranges of ranks (genie_compile.h).
 *
 * An interval's ends are cuts between keywords (genie_keyword.h), and a cut's rank is the number of keywords before
 * it: so a range is the ranks of its interval's cuts.  A GenieWalk finds cuts that come in ascending order, on one way
 * through the dictionary: it steps from keyword to keyword where cuts lie close, and goes down the tree where they lie
 * far apart.
 *
 * A query alone has its cuts in order already.  A set of queries has most intervals many times (1024 queries of 237
 * items have 242,688, but 16 thousand distinct ones); so
 *
 *	1. distinct intervals are numbered, by a hash table over their bytes, and a query is a list of numbers;
 *	2. their cuts are sorted, by the first 8 bytes where these tell them apart;
 *	3. for each segment one walk finds the rank of each cut;
 *	4. a query's ranges are looked up by number, and come in order, for its intervals do.
 *
 * 1 and 2 are done once a set.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "genie_compile.h"
#include "genie_dictionary.h"
#include "genie_meta.h"

/*
 * Keywords a cut up to which the walk goes through all of them: reading an entry takes 20 to 30 ns, going down the
 * tree about a microsecond.
 */
#define GENIE_WALK_GAP 32

/* Distinct intervals that a set has room for before its tables grow. */
#define GENIE_DISTINCT_EXPECTED 1024

/* intervals between two looks at whether the query was cancelled */
#define GENIE_INTERRUPT_INTERVALS 4096

/* ---- ranks of cuts ---- */

typedef struct GenieWalk
{
	GenieDictionaryCursor cursor;	/* at the first keyword that is not before the last cut */
	bool		begun;
	bool		all;			/* step through all keywords, never seek */
	uint32		rank;			/* of the last cut */
} GenieWalk;

static GenieWalk *
genie_walk_begin(GenieSegment *segment, uint64 n_cuts)
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
genie_walk_move(GenieWalk *walk, GenieKey key, bool after)
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
genie_walk_set_rank(GenieWalk *walk, uint32 rank)
{
	GenieSegment *segment = walk->cursor.reader.segment;

	/* who counts uses ranks as they are */
	if (rank < walk->rank || rank > segment->header.n_keywords)
		genie_report_corrupt(segment->index, segment->entry.root, "keywords are not numbered in sequence");
	walk->rank = rank;
}

/* The rank of a cut that is not before the last one. */
static bool
genie_walk_to(GenieWalk *walk, GenieKey key, bool after, uint32 *rank)
{
	if (!genie_walk_move(walk, key, after))
		return false;
	genie_walk_set_rank(walk, walk->cursor.valid ? walk->cursor.rank : walk->cursor.reader.segment->header.n_keywords);
	*rank = walk->rank;
	return true;
}

/* The range of one keyword: there is nothing between its cuts but itself. */
static bool
genie_walk_to_point(GenieWalk *walk, GenieKey key, GenieRankRange *range)
{
	if (!genie_walk_to(walk, key, false, &range->first))
		return false;
	range->end = range->first;
	if (walk->cursor.valid && genie_key_cmp(walk->cursor.key, key) == 0)
		range->end++;
	if (range->end > walk->cursor.reader.segment->header.n_keywords)
		genie_walk_set_rank(walk, range->end);
	return true;
}

/* ---- ranges of a query ---- */

/* A query's ranges as they come, in ascending order. */
typedef struct GenieRangeList
{
	GenieRankRange *ranges;
	uint32		n;
	uint64		n_lists;
} GenieRangeList;

static inline void
genie_range_add(GenieRangeList *list, GenieRankRange range)
{
	if (range.end == range.first)
		return;
	list->n_lists += range.end - range.first;
	if (list->n > 0 && list->ranges[list->n - 1].end == range.first)
		list->ranges[list->n - 1].end = range.end;
	else
		list->ranges[list->n++] = range;
}

static void
genie_range_finish(const GenieRangeList *list, const GenieSegment *segment, GenieEngineQuery *query)
{
	memset(query, 0, sizeof(*query));
	query->n_ranges = list->n;
	query->ranges = list->ranges;
	query->max_count = (uint32) Max(Min(list->n_lists, segment->header.max_keywords), 1);
}

bool
genie_compile(GenieSegment *segment, const GenieQueryView *view, GenieEngineQuery *query)
{
	GenieWalk  *walk = genie_walk_begin(segment, view->n_intervals);
	GenieRangeList list = {0};

	list.ranges = MemoryContextAllocHuge(CurrentMemoryContext, ((Size) view->n_intervals + 1) * sizeof(GenieRankRange));
	for (uint32 i = 0; i < view->n_intervals; i++)
	{
		const GenieInterval *interval = &view->intervals[i];
		GenieRankRange range;

		CHECK_FOR_INTERRUPTS();
		if (genie_interval_is_point(interval) ? !genie_walk_to_point(walk, interval->lo, &range) :
			!genie_walk_to(walk, interval->lo, interval->lo_after, &range.first) ||
			!genie_walk_to(walk, interval->hi, interval->hi_after, &range.end))
			return false;
		genie_range_add(&list, range);
	}
	pfree(walk);
	genie_range_finish(&list, segment, query);
	return true;
}

/* ---- distinct intervals ---- */

static inline uint64
genie_key_begin(GenieKey key)
{
	uint64		begin = 0;
	uint32		head;
	uint32		tail;

	if (key.len >= sizeof(begin))
	{
		memcpy(&begin, key.data, sizeof(begin));
		return pg_ntoh64(begin);
	}
	if (key.len >= sizeof(head))
	{
		memcpy(&head, key.data, sizeof(head));
		memcpy(&tail, key.data + key.len - sizeof(tail), sizeof(tail));
		return (uint64) pg_ntoh32(head) << 32 | (uint64) pg_ntoh32(tail) << (64 - 8 * key.len);
	}
	for (uint32 i = 0; i < key.len; i++)
		begin |= (uint64) key.data[i] << (56 - 8 * i);
	return begin;
}

/*
 * Intervals whose keys have up to GENIE_SHORT_KEY bytes, as most have, are looked up by two numbers: that touches the
 * table's entry and nothing else.
 */
#define GENIE_SHORT_KEY 7
#define GENIE_SHORT_AFTER 8		/* behind a cut's length, which is below it */

typedef struct GenieShortKey
{
	uint64		lo;				/* the lower cut: its key, and in the last byte length and side */
	uint64		hi;				/* the upper cut; 0: the same key's other side */
} GenieShortKey;

typedef struct GenieShortEntry
{
	GenieShortKey key;
	uint32		number;
	char		status;
} GenieShortEntry;

static inline uint64
genie_short_cut(GenieKey key, bool after)
{
	return genie_key_begin(key) | key.len | (after ? GENIE_SHORT_AFTER : 0);
}

/* Fibonacci hashing */
static inline uint32
genie_short_hash_of(GenieShortKey key)
{
	return (uint32) (((key.lo ^ (key.hi << 5 | key.hi >> 59)) * UINT64CONST(0x9E3779B97F4A7C15)) >> 32);
}

#define SH_PREFIX genie_short
#define SH_ELEMENT_TYPE GenieShortEntry
#define SH_KEY_TYPE GenieShortKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) genie_short_hash_of(key)
#define SH_EQUAL(table, a, b) ((a).lo == (b).lo && (a).hi == (b).hi)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* All others. */
typedef struct GenieIntervalEntry
{
	const GenieInterval *interval;
	uint32		number;
	char		status;
} GenieIntervalEntry;

static inline uint32
genie_interval_hash(const GenieInterval *interval)
{
	return hash_combine(hash_bytes(interval->lo.data, (int) interval->lo.len),
						hash_bytes(interval->hi.data, (int) interval->hi.len));
}

static bool
genie_interval_same(const GenieInterval *a, const GenieInterval *b)
{
	return genie_cut_cmp(a->lo, a->lo_after, b->lo, b->lo_after) == 0 &&
		genie_cut_cmp(a->hi, a->hi_after, b->hi, b->hi_after) == 0;
}

#define SH_PREFIX genie_intervals
#define SH_ELEMENT_TYPE GenieIntervalEntry
#define SH_KEY_TYPE const GenieInterval *
#define SH_KEY interval
#define SH_HASH_KEY(table, key) genie_interval_hash(key)
#define SH_EQUAL(table, a, b) genie_interval_same(a, b)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* A distinct interval. */
typedef struct GenieSetInterval
{
	const GenieInterval *interval;
	uint64		family;			/* a bit */
	uint32		dimension;
	bool		is_point;
} GenieSetInterval;

/* A cut to be sorted: of interval number / 2, its upper end if the number is odd. */
typedef struct GenieSetCut
{
	uint64		begin;			/* of its key */
	uint32		number;
} GenieSetCut;

typedef struct GenieAspect
{
	uint32		dimension;
	uint64		families;
	GenieQueryView view;
} GenieAspect;

struct GenieQuerySet
{
	uint32		n;
	const GenieQueryView **views;
	uint64		n_intervals;	/* of all */
	uint32	   *numbers;		/* of each query's intervals, query after query */
	GenieSetInterval *distinct;
	bool	   *was_alone;		/* of each distinct one: some query asks its dimension for it and nothing else */
	uint32		n_distinct;
	uint32		distinct_capacity;
	GenieSetCut *cuts;			/* sorted; of a point only the lower one */
	uint32		n_cuts;
	GenieAspect *aspects;
	uint32		n_aspects;
	uint32		aspects_capacity;
};

static inline int
genie_set_cut_cmp(const GenieSetCut *a, const GenieSetCut *b, const GenieQuerySet *set)
{
	const GenieInterval *x;
	const GenieInterval *y;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	x = set->distinct[a->number / 2].interval;
	y = set->distinct[b->number / 2].interval;
	return genie_cut_cmp(a->number % 2 ? x->hi : x->lo, a->number % 2 ? x->hi_after : x->lo_after,
						 b->number % 2 ? y->hi : y->lo, b->number % 2 ? y->hi_after : y->lo_after);
}

#define ST_SORT genie_sort_cuts
#define ST_ELEMENT_TYPE GenieSetCut
#define ST_COMPARE(a, b, set) genie_set_cut_cmp(a, b, set)
#define ST_COMPARE_ARG_TYPE const GenieQuerySet
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* A new distinct interval; returns its number. */
static uint32
genie_set_add(GenieQuerySet *set, const GenieInterval *interval)
{
	GenieSetInterval *distinct;
	uint32		family;

	if (set->n_distinct == set->distinct_capacity)
	{
		set->distinct_capacity *= 2;
		set->distinct = repalloc_huge(set->distinct, (Size) set->distinct_capacity * sizeof(GenieSetInterval));
		set->was_alone = repalloc_huge(set->was_alone, (Size) set->distinct_capacity * sizeof(bool));
	}
	distinct = &set->distinct[set->n_distinct];
	distinct->interval = interval;
	distinct->is_point = genie_interval_is_point(interval);
	set->was_alone[set->n_distinct] = false;
	if (genie_key_get_dimension(interval->lo.data, interval->lo.len, &distinct->dimension) == 0)
		elog(ERROR, "malformed key in a query");
	family = interval->lo.data[genie_key_prefix_len(interval->lo) - 1];
	Assert(genie_family_known(family));
	/* families are below 20, but for two from 64 on */
	distinct->family = UINT64CONST(1) << (family < GENIE_FAMILY_ENUM ? family : family - GENIE_FAMILY_ENUM + 32);
	return set->n_distinct++;
}

/* ---- aspects ---- */

static void
genie_set_note_aspect(GenieQuerySet *set, uint32 dimension, uint64 families, const GenieInterval *intervals, uint32 n)
{
	GenieAspect *aspect;

	if (set->n_aspects == set->aspects_capacity)
	{
		set->aspects_capacity *= 2;
		set->aspects = repalloc_huge(set->aspects, (Size) set->aspects_capacity * sizeof(GenieAspect));
	}
	aspect = &set->aspects[set->n_aspects++];
	aspect->dimension = dimension;
	aspect->families = families;
	memset(&aspect->view, 0, sizeof(GenieQueryView));
	aspect->view.n_intervals = n;
	aspect->view.intervals = intervals;
}

/* Have two keys the same dimension?  The first byte tells how many it has. */
static inline bool
genie_key_same_dimension(GenieKey a, GenieKey b)
{
	return a.data[0] == b.data[0] &&
		(a.data[0] < GENIE_DIMENSION_LEAD || memcmp(a.data, b.data, a.data[0] - GENIE_DIMENSION_LEAD + 2) == 0);
}

/* Notes how a query asks each of its dimensions. */
static void
genie_set_note_aspects(GenieQuerySet *set, const GenieQueryView *view, const uint32 *numbers)
{
	const GenieInterval *intervals = view->intervals;
	uint32		i = 0;

	while (i < view->n_intervals)
	{
		uint64		families = 0;
		uint32		from = i++;

		while (i < view->n_intervals && genie_key_same_dimension(intervals[from].lo, intervals[i].lo))
			i++;
		if (i - from == 1 && set->was_alone[numbers[from]])
			continue;
		set->was_alone[numbers[from]] |= i - from == 1;
		for (uint32 j = from; j < i; j++)
			families |= set->distinct[numbers[j]].family;
		genie_set_note_aspect(set, set->distinct[numbers[from]].dimension, families, &intervals[from], i - from);
	}
}

static int
genie_aspect_cmp(const void *a, const void *b)
{
	const GenieAspect *x = a;
	const GenieAspect *y = b;

	if (x->dimension != y->dimension)
		return x->dimension < y->dimension ? -1 : 1;
	return (x->families > y->families) - (x->families < y->families);
}

/* Leaves one of each. */
static void
genie_set_unite_aspects(GenieQuerySet *set)
{
	uint32		n = 0;

	qsort(set->aspects, set->n_aspects, sizeof(GenieAspect), genie_aspect_cmp);
	for (uint32 i = 0; i < set->n_aspects; i++)
		if (n == 0 || genie_aspect_cmp(&set->aspects[n - 1], &set->aspects[i]) != 0)
			set->aspects[n++] = set->aspects[i];
	set->n_aspects = n;
}

/* ---- sets ---- */

typedef struct GenieSetTables
{
	genie_short_hash *shorts;
	genie_intervals_hash *others;
} GenieSetTables;

/* The interval's number, a new one if it is new. */
static inline uint32
genie_set_number_of(GenieQuerySet *set, const GenieSetTables *tables, const GenieInterval *interval)
{
	bool		found;
	uint32	   *number;

	if (interval->lo.len <= GENIE_SHORT_KEY && interval->hi.len <= GENIE_SHORT_KEY)
	{
		GenieShortKey key = {genie_short_cut(interval->lo, interval->lo_after), 0};

		if (!genie_interval_is_point(interval))
			key.hi = genie_short_cut(interval->hi, interval->hi_after);
		number = &genie_short_insert(tables->shorts, key, &found)->number;
	}
	else
		number = &genie_intervals_insert(tables->others, interval, &found)->number;
	if (!found)
		*number = genie_set_add(set, interval);
	return *number;
}

/* Numbers the intervals of all queries. */
static void
genie_set_number(GenieQuerySet *set)
{
	GenieSetTables tables;
	uint32	   *number = set->numbers;

	tables.shorts = genie_short_create(CurrentMemoryContext, GENIE_DISTINCT_EXPECTED, NULL);
	tables.others = genie_intervals_create(CurrentMemoryContext, GENIE_DISTINCT_EXPECTED, NULL);
	for (uint32 q = 0; q < set->n; q++)
	{
		const GenieQueryView *view = set->views[q];

		for (uint32 i = 0; i < view->n_intervals; i++)
		{
			*number++ = genie_set_number_of(set, &tables, &view->intervals[i]);
			if (i % GENIE_INTERRUPT_INTERVALS == 0)
				CHECK_FOR_INTERRUPTS();
		}
		genie_set_note_aspects(set, view, number - view->n_intervals);
	}
	genie_short_destroy(tables.shorts);
	genie_intervals_destroy(tables.others);
}

static void
genie_set_sort(GenieQuerySet *set)
{
	set->cuts = MemoryContextAllocHuge(CurrentMemoryContext, ((Size) set->n_distinct * 2 + 1) * sizeof(GenieSetCut));
	for (uint32 i = 0; i < set->n_distinct; i++)
	{
		const GenieSetInterval *distinct = &set->distinct[i];

		set->cuts[set->n_cuts].begin = genie_key_begin(distinct->interval->lo);
		set->cuts[set->n_cuts++].number = 2 * i;
		if (distinct->is_point)
			continue;
		set->cuts[set->n_cuts].begin = genie_key_begin(distinct->interval->hi);
		set->cuts[set->n_cuts++].number = 2 * i + 1;
	}
	genie_sort_cuts(set->cuts, set->n_cuts, set);
}

GenieQuerySet *
genie_query_set(const GenieQueryView **views, uint32 n)
{
	GenieQuerySet *set = palloc0(sizeof(GenieQuerySet));

	set->n = n;
	set->views = views;
	for (uint32 i = 0; i < n; i++)
		set->n_intervals += views[i]->n_intervals;
	if (set->n_intervals > PG_UINT32_MAX / 2)
		elog(ERROR, "too many intervals in a set of queries");
	set->numbers = MemoryContextAllocHuge(CurrentMemoryContext, (set->n_intervals + 1) * sizeof(uint32));
	set->distinct_capacity = set->aspects_capacity = 64;
	set->distinct = palloc(set->distinct_capacity * sizeof(GenieSetInterval));
	set->was_alone = palloc(set->distinct_capacity * sizeof(bool));
	set->aspects = palloc(set->aspects_capacity * sizeof(GenieAspect));
	genie_set_number(set);
	genie_set_unite_aspects(set);
	genie_set_sort(set);
	return set;
}

uint32
genie_query_set_size(const GenieQuerySet *set)
{
	return set->n;
}

const GenieQueryView *
genie_query_set_view(const GenieQuerySet *set, uint32 i)
{
	return set->views[i];
}

const GenieQueryView *
genie_query_set_aspect(const GenieQuerySet *set, uint32 i)
{
	return i < set->n_aspects ? &set->aspects[i].view : NULL;
}

/* The range of each distinct interval. */
static bool
genie_set_find_ranges(const GenieQuerySet *set, GenieSegment *segment, GenieRankRange *ranges)
{
	GenieWalk  *walk = genie_walk_begin(segment, set->n_cuts);

	for (uint32 i = 0; i < set->n_cuts; i++)
	{
		uint32		number = set->cuts[i].number;
		const GenieSetInterval *distinct = &set->distinct[number / 2];
		const GenieInterval *interval = distinct->interval;
		GenieRankRange *range = &ranges[number / 2];

		if (i % GENIE_INTERRUPT_INTERVALS == 0)
			CHECK_FOR_INTERRUPTS();
		if (distinct->is_point ? !genie_walk_to_point(walk, interval->lo, range) :
			number % 2 == 0 ? !genie_walk_to(walk, interval->lo, interval->lo_after, &range->first) :
			!genie_walk_to(walk, interval->hi, interval->hi_after, &range->end))
			return false;
	}
	pfree(walk);
	return true;
}

bool
genie_query_set_compile(const GenieQuerySet *set, GenieSegment *segment, GenieEngineQuery *queries)
{
	GenieRankRange *found = MemoryContextAllocHuge(CurrentMemoryContext,
												   ((Size) set->n_distinct + 1) * sizeof(GenieRankRange));
	GenieRankRange *ranges = MemoryContextAllocHuge(CurrentMemoryContext,
													(set->n_intervals + 1) * sizeof(GenieRankRange));
	const uint32 *number = set->numbers;

	if (!genie_set_find_ranges(set, segment, found))
		return false;
	for (uint32 q = 0; q < set->n; q++)
	{
		GenieRangeList list = {ranges, 0, 0};

		for (uint32 i = 0; i < set->views[q]->n_intervals; i++)
			genie_range_add(&list, found[*number++]);
		genie_range_finish(&list, segment, &queries[q]);
		ranges += list.n;
	}
	pfree(found);
	return true;
}
