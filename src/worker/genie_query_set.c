/*
 * genie_query_set.c
 *	  Many queries that are compiled together (genie_query_set.h).
 *
 * A set of queries has most intervals many times (1024 queries of 237 items have 242,688, but 16 thousand distinct
 * ones); so
 *
 *	1. distinct intervals are numbered, by a hash table over their bytes as they come packed, and a query is a list of
 *	   numbers: 4 bytes an interval are all that is kept of it.  If one interval is packed in two ways, it has two
 *	   numbers, which does no harm;
 *	2. their cuts are sorted, by the first 8 bytes where these tell them apart;
 *	3. for each segment one walk (genie_compile.h) finds the rank of each cut;
 *	4. a query's ranges are looked up by number, and come in order, because its intervals do.
 *
 * 1 and 2 are done once a set.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "genie_compile.h"
#include "genie_murmur.h"
#include "genie_query_set.h"

/* Distinct intervals, all intervals and queries that a set has room for before its tables grow. */
#define GENIE_DISTINCT_EXPECTED 128

#define GENIE_SET_BLOCK_BYTES ((Size) 8192) /* of distinct intervals */

/* intervals between two looks at whether the query was cancelled */
#define GENIE_INTERRUPT_INTERVALS 4096

/*
 * From so many intervals on, a query's intervals are not looked for among those of other queries: it is the last one of
 * its set (batch/genie_batch.c), its own differ, and a hash table of millions would grow for 0.3 s without a look at
 * cancellations.
 */
#define GENIE_INTERVALS_ALONE (256 * 1024)

/* ---- distinct intervals ---- */

/*
 * Packed intervals of up to so many bytes (most of them) are looked up by their bytes as two numbers: that touches the
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
hash_of_short(GenieShortKey key)
{
	return (uint32) genie_murmur_mix(key.begin ^ key.rest * UINT64CONST(0x9E3779B97F4A7C15));
}

#define SH_FILLFACTOR GENIE_SHORT_FILL
#define SH_PREFIX genie_short
#define SH_ELEMENT_TYPE GenieShortEntry
#define SH_KEY_TYPE GenieShortKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) hash_of_short(key)
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
	uint32		query;			/* a query that asks so, */
	uint32		first;			/* from this of its intervals on, */
	uint32		n;				/* by so many */
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

/* Copies the bytes of a distinct interval into the set's memory. */
static const uint8 *
keep_bytes(GenieQuerySet *set, const uint8 *packed, Size nbytes)
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

/* Makes room for so many more distinct intervals. */
static void
reserve_distinct(GenieQuerySet *set, uint32 n)
{
	uint64		needed = (uint64) set->n_distinct + n;

	if (needed <= set->distinct_capacity)
		return;
	set->distinct_capacity = (uint32) Max(needed, (uint64) set->distinct_capacity * 2);
	set->distinct = repalloc_huge(set->distinct, (Size) set->distinct_capacity * sizeof(GenieSetInterval));
}

/* A new distinct interval, whose bytes stay; returns its number. */
static uint32
add_distinct(GenieQuerySet *set, const uint8 *packed)
{
	GenieSetInterval *distinct;
	GenieKey	lo;
	uint32		family;

	reserve_distinct(set, 1);
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
bytes_mask(Size n)
{
	return n >= sizeof(uint64) ? ~UINT64CONST(0) : ~(~UINT64CONST(0) >> (8 * n));
}

/* A packed interval as two numbers. */
static inline GenieShortKey
short_key(const uint8 *packed, Size nbytes, Size readable)
{
	uint8		padded[GENIE_SHORT_INTERVAL];
	GenieShortKey key;

	if (readable < GENIE_SHORT_INTERVAL)
		packed = memcpy(padded, packed, nbytes);
	memcpy(&key, packed, sizeof(key));
	key.begin = pg_ntoh64(key.begin) & bytes_mask(nbytes);
	key.rest = pg_ntoh64(key.rest) & bytes_mask(nbytes - Min(nbytes, sizeof(uint64)));
	return key;
}

/* A new number, for an interval whose key is not in the table. */
static pg_noinline uint32
new_short(GenieQuerySet *set, GenieShortKey key, const uint8 *packed, Size nbytes)
{
	bool		found;
	GenieShortEntry *entry = genie_short_insert(set->shorts, key, &found);

	entry->number = add_distinct(set, keep_bytes(set, packed, nbytes));
	return entry->number;
}

static pg_noinline uint32
number_of_long(GenieQuerySet *set, const uint8 *packed, Size nbytes)
{
	bool		found;
	GenieLongEntry *entry = genie_long_insert(set->longs, (GenieLongKey) {packed, nbytes}, &found);

	if (!found)
	{
		entry->key.packed = keep_bytes(set, packed, nbytes);
		entry->number = add_distinct(set, entry->key.packed);
	}
	return entry->number;
}

/* The interval's number, a new one if it is new. */
static inline uint32
number_of(GenieQuerySet *set, const uint8 *packed, Size nbytes, Size readable)
{
	GenieShortKey key;
	const GenieShortEntry *entry;

	if (nbytes > GENIE_SHORT_INTERVAL)
		return number_of_long(set, packed, nbytes);
	key = short_key(packed, nbytes, readable);
	entry = genie_short_lookup(set->shorts, key);
	return entry != NULL ? entry->number : new_short(set, key, packed, nbytes);
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
reserve(GenieQuerySet *set, uint32 n)
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
	bool		alone = n >= GENIE_INTERVALS_ALONE;
	uint32	   *numbers;

	reserve(set, n);
	if (alone)
		reserve_distinct(set, n);
	numbers = set->numbers + set->first[set->n];
	for (uint32 i = 0; i < n; i++)
	{
		const uint8 *begin = packed;

		genie_query_next(&packed);
		numbers[i] = alone ? add_distinct(set, keep_bytes(set, begin, packed - begin))
			: number_of(set, begin, packed - begin, end - begin);
		if (i % GENIE_INTERRUPT_INTERVALS == 0)
			CHECK_FOR_INTERRUPTS();
	}
	Assert(packed <= end);
	set->n++;
	set->first[set->n] = set->first[set->n - 1] + n;
}

/* The first 8 bytes, the first one the highest. */
static inline uint64
key_begin(GenieKey key)
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
compare_cuts(const GenieSetCut *a, const GenieSetCut *b, const GenieQuerySet *set)
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

#define ST_SORT sort_cuts
#define ST_ELEMENT_TYPE GenieSetCut
#define ST_COMPARE(a, b, set) compare_cuts(a, b, set)
#define ST_COMPARE_ARG_TYPE const GenieQuerySet
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
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

		CHECK_FOR_INTERRUPTS();
		set->cuts[set->n_cuts].begin = key_begin(distinct->interval.lo);
		set->cuts[set->n_cuts++].number = 2 * i;
		if (distinct->is_point)
			continue;
		set->cuts[set->n_cuts].begin = key_begin(distinct->interval.hi);
		set->cuts[set->n_cuts++].number = 2 * i + 1;
	}
	sort_cuts(set->cuts, set->n_cuts, set);
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
view_of(const GenieQuerySet *set, const uint32 *numbers, uint32 n)
{
	GenieQueryView *view = MemoryContextAllocExtended(CurrentMemoryContext,
													  sizeof(GenieQueryView) + n * sizeof(GenieInterval),
													  MCXT_ALLOC_HUGE);
	GenieInterval *intervals = (GenieInterval *) (view + 1);

	memset(view, 0, sizeof(*view));
	view->n_intervals = n;
	view->intervals = intervals;
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		intervals[i] = set->distinct[numbers[i]].interval;
	}
	return view;
}

const GenieQueryView *
genie_query_set_view(const GenieQuerySet *set, uint32 i)
{
	return view_of(set, set->numbers + set->first[i], set->first[i + 1] - set->first[i]);
}

/* ---- aspects ---- */

typedef struct GenieAspectList
{
	GenieAspect *aspects;
	uint32		n;
	uint32		capacity;
	bool	   *was_alone;		/* of each distinct interval: it is the only one on its dimension in some query */
} GenieAspectList;

/* Adds the aspects of one query: how it asks each of its dimensions. */
static void
note_aspects(const GenieQuerySet *set, uint32 query, GenieAspectList *list)
{
	const uint32 *numbers = set->numbers + set->first[query];
	uint32		n = set->first[query + 1] - set->first[query];
	uint32		i = 0;

	while (i < n)
	{
		GenieAspect aspect = {set->distinct[numbers[i]].dimension, 0, query, i, 0};

		while (i < n && set->distinct[numbers[i]].dimension == aspect.dimension)
		{
			CHECK_FOR_INTERRUPTS();
			aspect.families |= set->distinct[numbers[i++]].family;
		}
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

static inline int
compare_aspects(const GenieAspect *x, const GenieAspect *y)
{
	if (x->dimension != y->dimension)
		return x->dimension < y->dimension ? -1 : 1;
	return (x->families > y->families) - (x->families < y->families);
}

#define ST_SORT sort_aspects
#define ST_ELEMENT_TYPE GenieAspect
#define ST_COMPARE(a, b) compare_aspects(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

const GenieQueryView **
genie_query_set_aspects(const GenieQuerySet *set, uint32 *n)
{
	GenieAspectList list = {NULL, 0, 64, palloc0(set->n_distinct + 1)};
	const GenieQueryView **views;

	list.aspects = palloc(list.capacity * sizeof(GenieAspect));
	for (uint32 q = 0; q < set->n; q++)
	{
		CHECK_FOR_INTERRUPTS();
		note_aspects(set, q, &list);
	}
	sort_aspects(list.aspects, list.n);
	views = MemoryContextAllocHuge(CurrentMemoryContext, (list.n + (Size) 1) * sizeof(GenieQueryView *));
	*n = 0;
	for (uint32 i = 0; i < list.n; i++)
	{
		const GenieAspect *aspect = &list.aspects[i];

		if (i == 0 || compare_aspects(aspect - 1, aspect) != 0)
			views[(*n)++] = view_of(set, set->numbers + set->first[aspect->query] + aspect->first, aspect->n);
	}
	pfree(list.aspects);
	pfree(list.was_alone);
	return views;
}

/* ---- ranges of a set ---- */

/* The range of each distinct interval. */
static bool
find_ranges(const GenieQuerySet *set, GenieSegment *segment, GenieRankRange *ranges)
{
	GenieWalk  *walk = genie_compile_walk(segment, set->n_cuts);

	for (uint32 i = 0; i < set->n_cuts; i++)
	{
		uint32		number = set->cuts[i].number;
		const GenieSetInterval *distinct = &set->distinct[number / 2];
		const GenieInterval *interval = &distinct->interval;
		GenieRankRange *range = &ranges[number / 2];

		if (i % GENIE_INTERRUPT_INTERVALS == 0)
			CHECK_FOR_INTERRUPTS();
		if (distinct->is_point ? !genie_compile_point(walk, interval->lo, range) :
			number % 2 == 0 ? !genie_compile_cut(walk, interval->lo, interval->lo_after, &range->first) :
			!genie_compile_cut(walk, interval->hi, interval->hi_after, &range->end))
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

	if (!find_ranges(set, segment, found))
		return false;
	for (uint32 q = 0; q < set->n; q++)
	{
		GenieRangeList list = {ranges, 0, 0};

		for (uint32 i = set->first[q]; i < set->first[q + 1]; i++)
		{
			CHECK_FOR_INTERRUPTS();
			genie_compile_add(&list, found[set->numbers[i]]);
		}
		genie_compile_finish(&list, segment, &queries[q]);
		ranges += list.n;
	}
	pfree(found);
	return true;
}
