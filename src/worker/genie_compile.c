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
 *	1. distinct intervals are numbered, by a hash table over their bytes as they come packed, and a query is a list of
 *	   numbers: 4 bytes an interval are all that is kept of it, and that one interval is packed in two ways costs
 *	   nothing but a second number;
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
#include "genie_murmur.h"

/*
 * Keywords a cut up to which the walk goes through all of them: reading an entry takes 20 to 30 ns, going down the
 * tree about a microsecond.
 */
#define GENIE_WALK_GAP 32

/* Distinct intervals, all intervals and queries that a set has room for before its tables grow. */
#define GENIE_DISTINCT_EXPECTED 128

#define GENIE_SET_BLOCK_BYTES ((Size) 8192)	/* of distinct intervals */

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

/*
 * Packed intervals of up to so many bytes, as most have, are looked up by their bytes as two numbers: that touches the
 * table's entry and nothing else.
 */
#define GENIE_SHORT_INTERVAL ((Size) 16)

/* How full their table is at most.  An entry that is not in its place costs a branch that nothing could predict. */
#define GENIE_SHORT_FILL 0.4

typedef struct GenieShortKey
{
	uint64		begin;			/* the first byte is the highest */
	uint64		rest;
} GenieShortKey;

typedef struct GenieShortEntry
{
	GenieShortKey key;
	uint32		number;
	char		status;
} GenieShortEntry;

/* Neighbouring dimensions and values differ in few bits, in the middle of either number. */
static inline uint32
genie_short_hash_of(GenieShortKey key)
{
	return (uint32) genie_murmur_mix(key.begin ^ key.rest * UINT64CONST(0x9E3779B97F4A7C15));
}

#define SH_FILLFACTOR GENIE_SHORT_FILL
#define SH_PREFIX genie_short
#define SH_ELEMENT_TYPE GenieShortEntry
#define SH_KEY_TYPE GenieShortKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) genie_short_hash_of(key)
#define SH_EQUAL(table, a, b) ((a).begin == (b).begin && (a).rest == (b).rest)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* All others. */
typedef struct GenieLongKey
{
	const uint8 *packed;
	Size		nbytes;
} GenieLongKey;

typedef struct GenieLongEntry
{
	GenieLongKey key;
	uint32		number;
	char		status;
} GenieLongEntry;

#define SH_PREFIX genie_long
#define SH_ELEMENT_TYPE GenieLongEntry
#define SH_KEY_TYPE GenieLongKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) hash_bytes((key).packed, (int) (key).nbytes)
#define SH_EQUAL(table, a, b) ((a).nbytes == (b).nbytes && memcmp((a).packed, (b).packed, (a).nbytes) == 0)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* A distinct interval. */
typedef struct GenieSetInterval
{
	GenieInterval interval;		/* its keys are in the set's memory */
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
	uint32		query;			/* one that asks so */
	uint32		first;			/* by so many intervals, from this of its intervals on */
	uint32		n;
} GenieAspect;

struct GenieQuerySet
{
	MemoryContext context;		/* of all that follows */
	uint32		n;
	uint32		capacity;
	uint32	   *first;			/* of each query's numbers, and the end */
	uint32	   *numbers;		/* of each query's intervals, query after query */
	uint32		numbers_capacity;
	genie_short_hash *shorts;
	genie_long_hash *longs;
	GenieSetInterval *distinct;
	uint32		n_distinct;
	uint32		distinct_capacity;
	uint8	   *block;			/* where the next distinct interval's bytes are put */
	Size		block_left;
	GenieSetCut *cuts;			/* sorted; of a point only the lower one */
	uint32		n_cuts;
};

/* Bytes of a distinct interval that stay. */
static const uint8 *
genie_set_keep(GenieQuerySet *set, const uint8 *packed, Size nbytes)
{
	uint8	   *kept;

	if (set->block_left < nbytes)
	{
		set->block_left = Max(nbytes, GENIE_SET_BLOCK_BYTES);
		set->block = MemoryContextAlloc(set->context, set->block_left);
	}
	kept = memcpy(set->block, packed, nbytes);
	set->block += nbytes;
	set->block_left -= nbytes;
	return kept;
}

/* A new distinct interval, whose bytes stay; returns its number. */
static uint32
genie_set_add(GenieQuerySet *set, const uint8 *packed)
{
	GenieSetInterval *distinct;
	GenieKey	lo;
	uint32		family;

	if (set->n_distinct == set->distinct_capacity)
	{
		set->distinct_capacity *= 2;
		set->distinct = repalloc_huge(set->distinct, (Size) set->distinct_capacity * sizeof(GenieSetInterval));
	}
	distinct = &set->distinct[set->n_distinct];
	distinct->interval = genie_query_next(&packed);
	distinct->is_point = genie_interval_is_point(&distinct->interval);
	lo = distinct->interval.lo;
	if (genie_key_get_dimension(lo.data, lo.len, &distinct->dimension) == 0)
		elog(ERROR, "malformed key in a query");
	family = lo.data[genie_key_prefix_len(lo) - 1];
	Assert(genie_family_known(family));
	/* families are below 20, but for two from 64 on */
	distinct->family = UINT64CONST(1) << (family < GENIE_FAMILY_ENUM ? family : family - GENIE_FAMILY_ENUM + 32);
	return set->n_distinct++;
}

/* All ones in the n highest bytes, of which there are 8. */
static inline uint64
genie_bytes_mask(Size n)
{
	return n >= sizeof(uint64) ? ~UINT64CONST(0) : ~(~UINT64CONST(0) >> (8 * n));
}

/* A packed interval as two numbers. */
static inline GenieShortKey
genie_short_key(const uint8 *packed, Size nbytes, Size readable)
{
	uint8		padded[GENIE_SHORT_INTERVAL];
	GenieShortKey key;

	if (readable < GENIE_SHORT_INTERVAL)
		packed = memcpy(padded, packed, nbytes);
	memcpy(&key, packed, sizeof(key));
	key.begin = pg_ntoh64(key.begin) & genie_bytes_mask(nbytes);
	key.rest = pg_ntoh64(key.rest) & genie_bytes_mask(nbytes - Min(nbytes, sizeof(uint64)));
	return key;
}

/* Of an interval whose key is not in the table, a new number. */
static pg_noinline uint32
genie_set_new_short(GenieQuerySet *set, GenieShortKey key, const uint8 *packed, Size nbytes)
{
	bool		found;
	GenieShortEntry *entry = genie_short_insert(set->shorts, key, &found);

	entry->number = genie_set_add(set, genie_set_keep(set, packed, nbytes));
	return entry->number;
}

static pg_noinline uint32
genie_set_number_of_long(GenieQuerySet *set, const uint8 *packed, Size nbytes)
{
	bool		found;
	GenieLongEntry *entry = genie_long_insert(set->longs, (GenieLongKey) {packed, nbytes}, &found);

	if (!found)
	{
		entry->key.packed = genie_set_keep(set, packed, nbytes);
		entry->number = genie_set_add(set, entry->key.packed);
	}
	return entry->number;
}

/* The interval's number, a new one if it is new. */
static inline uint32
genie_set_number_of(GenieQuerySet *set, const uint8 *packed, Size nbytes, Size readable)
{
	GenieShortKey key;
	const GenieShortEntry *entry;

	if (nbytes > GENIE_SHORT_INTERVAL)
		return genie_set_number_of_long(set, packed, nbytes);
	key = genie_short_key(packed, nbytes, readable);
	entry = genie_short_lookup(set->shorts, key);
	return entry != NULL ? entry->number : genie_set_new_short(set, key, packed, nbytes);
}

/* ---- sets ---- */

GenieQuerySet *
genie_query_set_begin(void)
{
	GenieQuerySet *set = palloc0(sizeof(GenieQuerySet));

	set->context = CurrentMemoryContext;
	set->capacity = set->distinct_capacity = GENIE_DISTINCT_EXPECTED;
	set->numbers_capacity = GENIE_DISTINCT_EXPECTED;
	set->first = palloc0(set->capacity * sizeof(uint32));
	set->numbers = palloc(set->numbers_capacity * sizeof(uint32));
	set->distinct = palloc(set->distinct_capacity * sizeof(GenieSetInterval));
	set->shorts = genie_short_create(set->context, GENIE_DISTINCT_EXPECTED, NULL);
	set->longs = genie_long_create(set->context, 1, NULL);
	return set;
}

/* Makes room for a query of so many intervals. */
static void
genie_set_reserve(GenieQuerySet *set, uint32 n)
{
	uint64		needed = (uint64) set->first[set->n] + n;

	if (needed > PG_UINT32_MAX / 2)
		elog(ERROR, "too many intervals in a set of queries");
	if (set->n + 2 > set->capacity)
	{
		set->capacity *= 2;
		set->first = repalloc_huge(set->first, (Size) set->capacity * sizeof(uint32));
	}
	if (needed > set->numbers_capacity)
	{
		set->numbers_capacity = (uint32) Max(needed, (uint64) set->numbers_capacity * 2);
		set->numbers = repalloc_huge(set->numbers, (Size) set->numbers_capacity * sizeof(uint32));
	}
}

void
genie_query_set_add(GenieQuerySet *set, const uint8 *packed, Size nbytes, uint32 n)
{
	const uint8 *end = packed + nbytes;
	uint32	   *numbers;

	genie_set_reserve(set, n);
	numbers = set->numbers + set->first[set->n];
	for (uint32 i = 0; i < n; i++)
	{
		const uint8 *begin = packed;

		genie_query_next(&packed);
		numbers[i] = genie_set_number_of(set, begin, packed - begin, end - begin);
		if (i % GENIE_INTERRUPT_INTERVALS == 0)
			CHECK_FOR_INTERRUPTS();
	}
	Assert(packed <= end);
	set->n++;
	set->first[set->n] = set->first[set->n - 1] + n;
}

/* The first 8 bytes, the first one the highest. */
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

static inline int
genie_set_cut_cmp(const GenieSetCut *a, const GenieSetCut *b, const GenieQuerySet *set)
{
	const GenieInterval *x;
	const GenieInterval *y;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	x = &set->distinct[a->number / 2].interval;
	y = &set->distinct[b->number / 2].interval;
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

void
genie_query_set_end(GenieQuerySet *set)
{
	genie_short_destroy(set->shorts);
	genie_long_destroy(set->longs);
	set->cuts = MemoryContextAllocHuge(set->context, ((Size) set->n_distinct * 2 + 1) * sizeof(GenieSetCut));
	for (uint32 i = 0; i < set->n_distinct; i++)
	{
		const GenieSetInterval *distinct = &set->distinct[i];

		set->cuts[set->n_cuts].begin = genie_key_begin(distinct->interval.lo);
		set->cuts[set->n_cuts++].number = 2 * i;
		if (distinct->is_point)
			continue;
		set->cuts[set->n_cuts].begin = genie_key_begin(distinct->interval.hi);
		set->cuts[set->n_cuts++].number = 2 * i + 1;
	}
	genie_sort_cuts(set->cuts, set->n_cuts, set);
}

uint32
genie_query_set_size(const GenieQuerySet *set)
{
	return set->n;
}

uint32
genie_query_set_intervals(const GenieQuerySet *set)
{
	return set->first[set->n];
}

/* A view of n intervals, by their numbers. */
static const GenieQueryView *
genie_set_view(const GenieQuerySet *set, const uint32 *numbers, uint32 n)
{
	GenieQueryView *view = MemoryContextAllocExtended(CurrentMemoryContext,
													  sizeof(GenieQueryView) + n * sizeof(GenieInterval),
													  MCXT_ALLOC_HUGE);
	GenieInterval *intervals = (GenieInterval *) (view + 1);

	memset(view, 0, sizeof(*view));
	view->n_intervals = n;
	view->intervals = intervals;
	for (uint32 i = 0; i < n; i++)
		intervals[i] = set->distinct[numbers[i]].interval;
	return view;
}

const GenieQueryView *
genie_query_set_view(const GenieQuerySet *set, uint32 i)
{
	return genie_set_view(set, set->numbers + set->first[i], set->first[i + 1] - set->first[i]);
}

/* ---- aspects ---- */

typedef struct GenieAspectList
{
	GenieAspect *aspects;
	uint32		n;
	uint32		capacity;
	bool	   *was_alone;		/* of each distinct interval: some query asks its dimension for it and nothing else */
} GenieAspectList;

/* Notes how a query asks each of its dimensions. */
static void
genie_set_note_aspects(const GenieQuerySet *set, uint32 query, GenieAspectList *list)
{
	const uint32 *numbers = set->numbers + set->first[query];
	uint32		n = set->first[query + 1] - set->first[query];
	uint32		i = 0;

	while (i < n)
	{
		GenieAspect aspect = {set->distinct[numbers[i]].dimension, 0, query, i, 0};

		while (i < n && set->distinct[numbers[i]].dimension == aspect.dimension)
			aspect.families |= set->distinct[numbers[i++]].family;
		aspect.n = i - aspect.first;
		if (aspect.n == 1)
		{
			if (list->was_alone[numbers[aspect.first]])
				continue;
			list->was_alone[numbers[aspect.first]] = true;
		}
		if (list->n == list->capacity)
		{
			list->capacity *= 2;
			list->aspects = repalloc_huge(list->aspects, (Size) list->capacity * sizeof(GenieAspect));
		}
		list->aspects[list->n++] = aspect;
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

const GenieQueryView **
genie_query_set_aspects(const GenieQuerySet *set, uint32 *n)
{
	GenieAspectList list = {NULL, 0, 64, palloc0(set->n_distinct + 1)};
	const GenieQueryView **views;

	list.aspects = palloc(list.capacity * sizeof(GenieAspect));
	for (uint32 q = 0; q < set->n; q++)
	{
		CHECK_FOR_INTERRUPTS();
		genie_set_note_aspects(set, q, &list);
	}
	qsort(list.aspects, list.n, sizeof(GenieAspect), genie_aspect_cmp);
	views = MemoryContextAllocHuge(CurrentMemoryContext, (list.n + (Size) 1) * sizeof(GenieQueryView *));
	*n = 0;
	for (uint32 i = 0; i < list.n; i++)
	{
		const GenieAspect *aspect = &list.aspects[i];

		if (i == 0 || genie_aspect_cmp(aspect - 1, aspect) != 0)
			views[(*n)++] = genie_set_view(set, set->numbers + set->first[aspect->query] + aspect->first, aspect->n);
	}
	pfree(list.aspects);
	pfree(list.was_alone);
	return views;
}

/* ---- ranges of a set ---- */

/* The range of each distinct interval. */
static bool
genie_set_find_ranges(const GenieQuerySet *set, GenieSegment *segment, GenieRankRange *ranges)
{
	GenieWalk  *walk = genie_walk_begin(segment, set->n_cuts);

	for (uint32 i = 0; i < set->n_cuts; i++)
	{
		uint32		number = set->cuts[i].number;
		const GenieSetInterval *distinct = &set->distinct[number / 2];
		const GenieInterval *interval = &distinct->interval;
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
													((Size) set->first[set->n] + 1) * sizeof(GenieRankRange));

	if (!genie_set_find_ranges(set, segment, found))
		return false;
	for (uint32 q = 0; q < set->n; q++)
	{
		GenieRangeList list = {ranges, 0, 0};

		for (uint32 i = set->first[q]; i < set->first[q + 1]; i++)
			genie_range_add(&list, found[set->numbers[i]]);
		genie_range_finish(&list, segment, &queries[q]);
		ranges += list.n;
	}
	pfree(found);
	return true;
}
