/*
 * genie_bins.c
 *	  Bins of attributes with many values (genie_bins.h).
 *
 * The parameters are the cuts: their number, where each begins, and their keys, ascending, one behind the other.  So a
 * keyword is placed by a binary search in what the index keeps, and nothing is unpacked.  Before them is the first cut
 * of each slot.
 */
#include "postgres.h"

#include "genie_bins.h"
#include "genie_query.h"

#define BINS_VERSION 2

/* A bin fits no more if it has so many times its share of the rows, or three quarters, and so many at least. */
#define MISFIT_DEPTH 16
#define MISFIT_ROWS 32

typedef struct BinsHeader
{
	uint32		version;
	uint32		n;				/* cuts */
	uint32		n_slots;
	uint32		numbers[FLEXIBLE_ARRAY_MEMBER]; /* see Bins: first of slots, then begins, each with an end behind it */
} BinsHeader;

/* Cuts as they lie in the parameters. */
typedef struct Bins
{
	uint32		n;
	uint32		n_slots;
	const uint32 *slots;		/* the first cut of each */
	const uint32 *begins;		/* of each cut's key, from the first one on */
	const uint8 *keys;
} Bins;

static void
report_damaged(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("an index has learned what its operator class does not understand"),
			 errdetail("The index is damaged, or a development version of genie has built it."),
			 errhint("Please REINDEX it.")));
}

static Bins
open_bins(const bytea *parameters)
{
	const BinsHeader *header = (const BinsHeader *) VARDATA(parameters);
	Size		n_bytes = VARSIZE(parameters) - VARHDRSZ;
	Bins		bins;

	if (n_bytes < offsetof(BinsHeader, numbers) + 2 * sizeof(uint32) || header->version != BINS_VERSION ||
		header->n_slots > header->n ||
		header->n + (uint64) header->n_slots > (n_bytes - offsetof(BinsHeader, numbers)) / sizeof(uint32) - 2)
		report_damaged();
	bins.n = header->n;
	bins.n_slots = header->n_slots;
	bins.slots = header->numbers;
	bins.begins = bins.slots + bins.n_slots + 1;
	bins.keys = (const uint8 *) (bins.begins + bins.n + 1);
	if (bins.slots[bins.n_slots] != bins.n || bins.begins[bins.n] != n_bytes - (bins.keys - (const uint8 *) header))
		report_damaged();
	return bins;
}

static GenieKey
cut(const Bins *bins, uint32 i)
{
	GenieKey	key;

	if (i >= bins->n)
		report_damaged();
	key = (GenieKey) {bins->keys + bins->begins[i], bins->begins[i + 1] - bins->begins[i]};
	if (bins->begins[i] >= bins->begins[i + 1] || bins->begins[i + 1] > bins->begins[bins->n] ||
		key.len > GENIE_KEY_MAX)
		report_damaged();
	return key;
}

/* Are they of one dimension and family?  n: the length of the first one's prefix of both. */
static bool
same_prefix(GenieKey a, uint32 n, GenieKey b)
{
	return b.len >= n && memcmp(a.data, b.data, n) == 0;
}

/*
 * The cut of the key's bin; false: its dimension and family have none.  *is_first: it is the first cut of these.
 */
static bool
place(const Bins *bins, GenieKey key, uint32 *found, bool *is_first)
{
	uint32		prefix = genie_key_prefix_len(key);
	uint32		first = 0;		/* cuts before it are not above the key */
	uint32		end = bins->n;	/* those from it on are */

	while (first < end)
	{
		uint32		middle = first + (end - first) / 2;

		if (genie_key_cmp(cut(bins, middle), key) <= 0)
			first = middle + 1;
		else
			end = middle;
	}
	if (first > 0 && same_prefix(key, prefix, cut(bins, first - 1)))
		*found = first - 1;
	else if (first < bins->n && same_prefix(key, prefix, cut(bins, first)))
		*found = first;
	else
		return false;
	*is_first = *found == 0 || !same_prefix(key, prefix, cut(bins, *found - 1));
	return true;
}

/* The slot of a cut. */
static uint32
slot_of(const Bins *bins, uint32 i)
{
	uint32		slot = 0;
	uint32		end = bins->n_slots;

	while (end - slot > 1)
	{
		uint32		middle = slot + (end - slot) / 2;

		if (bins->slots[middle] <= i)
			slot = middle;
		else
			end = middle;
	}
	if (end == 0 || bins->slots[slot] > i || bins->slots[slot + 1] <= i)
		report_damaged();
	return slot;
}

uint32
genie_bins_slots(const bytea *parameters)
{
	return open_bins(parameters).n_slots;
}

bool
genie_bins_find(const bytea *parameters, GenieKey key, GenieBin *bin)
{
	Bins		bins = open_bins(parameters);
	uint32		found;
	bool		is_first;

	if (!place(&bins, key, &found, &is_first))
		return false;
	bin->slot = slot_of(&bins, found);
	bin->number = found - bins.slots[bin->slot];
	bin->cut = cut(&bins, found);
	bin->next = found + 1 < bins.slots[bin->slot + 1] ? cut(&bins, found + 1) : (GenieKey) {NULL, 0};
	return true;
}

GenieKey
genie_bins_place(const bytea *parameters, GenieKey key)
{
	Bins		bins = open_bins(parameters);
	uint32		found;
	bool		is_first;

	return place(&bins, key, &found, &is_first) ? cut(&bins, found) : key;
}

bool
genie_bins_end(const bytea *parameters, GenieKey key, GenieKey *end)
{
	GenieBin	bin;

	if (!genie_bins_find(parameters, key, &bin) || genie_key_cmp(bin.cut, key) != 0)
		return false;
	*end = bin.next;
	return true;
}

bool
genie_bins_has(const bytea *parameters, uint32 dimension)
{
	Bins		bins = open_bins(parameters);

	for (uint32 i = 0; i < bins.n_slots; i++)
	{
		GenieKey	key = cut(&bins, bins.slots[i]);
		uint32		found;

		if (genie_key_get_dimension(key.data, key.len, &found) != 0 && found == dimension)
			return true;
	}
	return false;
}

/* ---- learning ---- */

static int
compare_keys(const void *a, const void *b)
{
	return genie_key_cmp(*(const GenieKey *) a, *(const GenieKey *) b);
}

/* All keys of the objects, ascending, palloc'd. */
static GenieKey *
sort_keys(const GenieRaw *objects, uint32 n, uint32 *n_keys)
{
	GenieKey   *keys;
	uint32		at = 0;

	*n_keys = 0;
	for (uint32 i = 0; i < n; i++)
		*n_keys += objects[i].n;
	keys = palloc_extended((*n_keys + (Size) 1) * sizeof(GenieKey), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < n; i++)
	{
		const uint8 *next = objects[i].bytes;

		for (uint32 j = 0; j < objects[i].n; j++)
			keys[at++] = genie_packed_next(&next);
	}
	qsort(keys, *n_keys, sizeof(GenieKey), compare_keys);
	return keys;
}

/* Writes the cuts of n keys of one dimension and family to cuts, if they need any; returns how many. */
static uint32
find_cuts(const GenieKey *keys, uint32 n, uint32 n_bins, GenieKey *cuts)
{
	uint32		n_values = 1;
	uint32		n_cuts = 0;

	for (uint32 i = 1; i < n; i++)
		n_values += genie_key_cmp(keys[i - 1], keys[i]) != 0;
	if (n_values <= n_bins || !GENIE_FAMILY_IS_ORDERED(keys[0].data[genie_key_prefix_len(keys[0]) - 1]))
		return 0;
	for (uint32 b = 0; b < n_bins; b++)
	{
		GenieKey	key = keys[(uint64) b * n / n_bins];

		if (n_cuts == 0 || genie_key_cmp(cuts[n_cuts - 1], key) < 0)
			cuts[n_cuts++] = key;
	}
	return n_cuts;
}

/* Does cut i begin a slot? */
static bool
begins_slot(const GenieKey *cuts, uint32 i)
{
	return i == 0 || !same_prefix(cuts[i], genie_key_prefix_len(cuts[i]), cuts[i - 1]);
}

static bytea *
make_bins(const GenieKey *cuts, uint32 n)
{
	uint32		n_slots = 0;
	Size		head;
	Size		n_bytes;
	bytea	   *parameters;
	BinsHeader *header;
	uint32	   *numbers;
	uint8	   *at;

	for (uint32 i = 0; i < n; i++)
		n_slots += begins_slot(cuts, i);
	head = n_bytes = offsetof(BinsHeader, numbers) + (n + n_slots + (Size) 2) * sizeof(uint32);
	for (uint32 i = 0; i < n; i++)
		n_bytes += cuts[i].len;
	parameters = palloc(VARHDRSZ + n_bytes);
	SET_VARSIZE(parameters, VARHDRSZ + n_bytes);
	header = (BinsHeader *) VARDATA(parameters);
	header->version = BINS_VERSION;
	header->n = n;
	header->n_slots = n_slots;
	numbers = header->numbers;
	for (uint32 i = 0; i < n; i++)
		if (begins_slot(cuts, i))
			*numbers++ = i;
	*numbers++ = n;
	at = (uint8 *) header + head;
	for (uint32 i = 0; i < n; i++)
	{
		*numbers++ = (uint32) (at - ((uint8 *) header + head));
		memcpy(at, cuts[i].data, cuts[i].len);
		at += cuts[i].len;
	}
	*numbers = (uint32) (at - ((uint8 *) header + head));
	return parameters;
}

bytea *
genie_bins_learn(const GenieRaw *objects, uint32 n, uint32 n_bins)
{
	uint32		n_keys;
	GenieKey   *keys = sort_keys(objects, n, &n_keys);
	GenieKey   *cuts = palloc_extended((n_keys + (Size) 1) * sizeof(GenieKey), MCXT_ALLOC_HUGE);
	uint32		n_cuts = 0;
	Size		n_bytes;
	bytea	   *bins;

	do
	{
		n_cuts = 0;
		n_bytes = sizeof(BinsHeader) + 2 * sizeof(uint32);
		for (uint32 first = 0, end; first < n_keys; first = end)
		{
			uint32		prefix = genie_key_prefix_len(keys[first]);

			for (end = first + 1; end < n_keys && same_prefix(keys[first], prefix, keys[end]);)
				end++;
			n_cuts += find_cuts(keys + first, end - first, n_bins, cuts + n_cuts);
			n_bytes += sizeof(uint32);
		}
		for (uint32 i = 0; i < n_cuts; i++)
			n_bytes += sizeof(uint32) + cuts[i].len;
		n_bins /= 2;
	} while (n_bytes > GENIE_LEARNED_MAX && n_bins > 0);
	bins = make_bins(cuts, n_cuts);
	pfree(cuts);
	pfree(keys);
	return bins;
}

bool
genie_bins_misfit(const bytea *parameters, const GenieRaw *objects, uint32 n, uint32 n_bins)
{
	Bins		bins = open_bins(parameters);
	bytea	   *again = genie_bins_learn(objects, n, n_bins);
	Bins		new_bins = open_bins(again);
	uint32	   *depths = palloc0((bins.n + (Size) 1) * sizeof(uint32)); /* rows of other values than the cut, */
	uint32	   *n_rows = palloc0((bins.n + (Size) 1) * sizeof(uint32)); /* and all */
	bool		misfit = false;
	bool		is_first;
	uint32		found;

	/* an attribute has many values now */
	for (uint32 i = 0; i < new_bins.n && !misfit; i++)
		misfit = !place(&bins, cut(&new_bins, i), &found, &is_first);
	for (uint32 i = 0; i < n; i++)
	{
		const uint8 *next = objects[i].bytes;

		for (uint32 j = 0; j < objects[i].n; j++)
		{
			GenieKey	key = genie_packed_next(&next);

			if (place(&bins, key, &found, &is_first))
			{
				n_rows[found]++;
				depths[found] += genie_key_cmp(cut(&bins, found), key) != 0;
			}
		}
	}
	for (uint32 first = 0, end; first < bins.n; first = end)
	{
		GenieKey	key = cut(&bins, first);
		uint32		prefix = genie_key_prefix_len(key);
		uint64		n_of_all = n_rows[first];
		uint32		deepest = depths[first];

		for (end = first + 1; end < bins.n && same_prefix(key, prefix, cut(&bins, end)); end++)
		{
			n_of_all += n_rows[end];
			deepest = Max(deepest, depths[end]);
		}
		misfit |= deepest >= MISFIT_ROWS &&
			((uint64) deepest * (end - first) > n_of_all * MISFIT_DEPTH || (uint64) deepest * 4 > n_of_all * 3);
	}
	pfree(n_rows);
	pfree(depths);
	pfree(again);
	return misfit;
}

/* ---- queries ---- */

/* The same interval, of a dimension and family that has no bins. */
static void
add_as_it_is(GenieQueryBuilder *builder, const GenieInterval *interval, uint32 prefix)
{
	const GenieKey unbounded = {NULL, 0};

	if (genie_interval_is_point(interval))
		genie_query_add_point(builder, interval->lo);
	else
		genie_query_add_range(builder, (GenieKey) {interval->lo.data, prefix},
							  genie_interval_has_low(interval) ? interval->lo : unbounded, interval->lo_after,
							  genie_interval_has_high(interval) ? interval->hi : unbounded, interval->hi_after);
}

/* The bins that an interval overlaps, and all keywords that are placed in them. */
static void
add_outer(GenieQueryBuilder *builder, const Bins *bins, const GenieInterval *interval)
{
	const GenieKey unbounded = {NULL, 0};
	uint32		prefix = genie_key_prefix_len(interval->lo);
	GenieKey	lo = unbounded;
	GenieKey	hi = unbounded;
	bool		is_first;
	uint32		low;
	uint32		high;

	if (!place(bins, interval->lo, &low, &is_first))
	{
		add_as_it_is(builder, interval, prefix);
		return;
	}
	if (!is_first)
		lo = cut(bins, low);
	if (genie_interval_has_high(interval))
	{
		(void) place(bins, interval->hi, &high, &is_first);
		if (is_first || interval->hi_after || genie_key_cmp(cut(bins, high), interval->hi) != 0)
			high++;
		if (high < bins->n && same_prefix(interval->lo, prefix, cut(bins, high)))
			hi = cut(bins, high);
	}
	genie_query_add_range(builder, (GenieKey) {interval->lo.data, prefix}, lo, false, hi, false);
}

/*
 * The bins that an interval contains.  If it contains none, a part of its first bin without the cut is added, which no
 * bin is in: the query asks for the same type as before.
 */
static void
add_inner(GenieQueryBuilder *builder, const Bins *bins, const GenieInterval *interval)
{
	uint32		prefix = genie_key_prefix_len(interval->lo);
	GenieKey	hi = {NULL, 0};
	GenieKey	lo;
	bool		is_first;
	bool		lo_after = false;
	uint32		low;
	uint32		high;

	if (!place(bins, interval->lo, &low, &is_first))
	{
		add_as_it_is(builder, interval, prefix);
		return;
	}
	lo = cut(bins, low);
	if (genie_interval_has_low(interval))
		lo_after = is_first || interval->lo_after || genie_key_cmp(lo, interval->lo) != 0;
	if (genie_interval_has_high(interval))
	{
		(void) place(bins, interval->hi, &high, &is_first);
		hi = cut(bins, high);
		if (high == low)
		{
			lo_after = true;
			hi = low + 1 < bins->n ? cut(bins, low + 1) : (GenieKey) {NULL, 0};
			if (hi.data != NULL && !same_prefix(lo, prefix, hi))
				hi = (GenieKey) {NULL, 0};
		}
	}
	genie_query_add_range(builder, (GenieKey) {interval->lo.data, prefix}, lo, lo_after, hi, false);
}

typedef void (*AddInterval) (GenieQueryBuilder *builder, const Bins *bins, const GenieInterval *interval);

static GenieQuery *
convert(const bytea *parameters, const GenieQuery *query, int32 min_match, AddInterval add)
{
	Bins		bins = open_bins(parameters);
	const uint8 *at = query->body;
	GenieQueryBuilder builder;

	genie_query_begin(&builder);
	for (uint32 i = 0; i < query->n; i++)
	{
		GenieInterval interval = genie_query_next(&at);

		add(&builder, &bins, &interval);
	}
	return genie_query_finish(&builder, min_match);
}

GenieQuery *
genie_bins_outer(const bytea *bins, const GenieQuery *query)
{
	int32		min_match = query->min_match;

	/* an object of nothing but what matches is nearest */
	while (query->distance_strategy != 0 && min_match < (int32) query->n &&
		   genie_jaccard_distance(min_match, query->n, min_match) > query->max_distance)
		min_match++;
	return convert(bins, query, min_match, add_outer);
}

GenieQuery *
genie_bins_inner(const bytea *bins, const GenieQuery *query)
{
	return convert(bins, query, query->min_match, add_inner);
}

/* The bins that an interval overlaps and does not contain, at most two; returns how many. */
static uint32
find_edges(const Bins *bins, const GenieInterval *interval, uint32 *edges)
{
	uint32		n = 0;
	bool		is_first;
	uint32		low;
	uint32		high;

	if (!place(bins, interval->lo, &low, &is_first))
		return 0;
	if (genie_interval_has_low(interval) &&
		(is_first || interval->lo_after || genie_key_cmp(cut(bins, low), interval->lo) != 0))
		edges[n++] = low;
	if (genie_interval_has_high(interval) && place(bins, interval->hi, &high, &is_first) &&
		(is_first || interval->hi_after || genie_key_cmp(cut(bins, high), interval->hi) != 0))
		edges[n++] = high;
	return n;
}

/* Is the interval of the slot? */
static bool
is_of_slot(const Bins *bins, const GenieInterval *interval, uint32 slot)
{
	uint32		low;
	bool		is_first;

	return place(bins, interval->lo, &low, &is_first) && slot_of(bins, low) == slot;
}

static bool
cuts_slot(const Bins *bins, const GenieQuery *query, uint32 slot)
{
	const uint8 *at = query->body;
	uint32		edges[2];

	for (uint32 i = 0; i < query->n; i++)
	{
		GenieInterval interval = genie_query_next(&at);

		if (is_of_slot(bins, &interval, slot) && find_edges(bins, &interval, edges) > 0)
			return true;
	}
	return false;
}

GenieQuery *
genie_bins_edge(const bytea *parameters, const GenieQuery *query, uint32 slot)
{
	Bins		bins = open_bins(parameters);
	const uint8 *at = query->body;
	GenieQueryBuilder builder;
	uint32		edges[2];

	if (!cuts_slot(&bins, query, slot))
		return NULL;
	genie_query_begin(&builder);
	for (uint32 i = 0; i < query->n; i++)
	{
		GenieInterval interval = genie_query_next(&at);
		bool		is_edge = is_of_slot(&bins, &interval, slot);
		uint32		n = is_edge ? find_edges(&bins, &interval, edges) : 0;

		for (uint32 j = 0; j < n; j++)
			genie_query_add_point(&builder, cut(&bins, edges[j]));
		if (!is_edge)
			add_outer(&builder, &bins, &interval);
	}
	return genie_query_finish(&builder, query->min_match);
}
