/*
 * genie_scalars.c
 *	  Where in their bins values lie (genie_scalars.h).
 *
 * A scalar: (number of the bin + 1) << 22, and the distance from the cut + 1 behind it; 0 for the cut.  Below the first
 * cut, (1 << 22) - 1 - distance.  A distance is below 2^22 - 2, and the bins of a slot are below 1,023: see encode().
 */
#include "postgres.h"

#include "genie_query.h"
#include "genie_scalars.h"
#include "port/pg_bitutils.h"

#define BIN_BITS 22
#define DISTANCE_BITS 16		/* that are told, beside the highest one */

StaticAssertDecl(GENIE_BINS_MAX < (1 << (32 - BIN_BITS)) - 1, "the bins of a slot have numbers");

/*
 * The scalars between which an interval's bounds lie, both ends included: what has them is in it, or may be.
 */
typedef struct ScalarInterval
{
	uint32		inner_low;
	uint32		inner_high;
	uint32		outer_low;
	uint32		outer_high;
} ScalarInterval;

typedef struct ScalarSlot
{
	uint32		slot;
	uint32		n;
	ScalarInterval *intervals;	/* ascending */
} ScalarSlot;

struct GenieScalarQuery
{
	uint32		min_match;
	uint32		n_others;		/* dimensions and families without bins that the query asks */
	uint32		n_slots;
	ScalarSlot	slots[FLEXIBLE_ARRAY_MEMBER];
};

/* ---- values ---- */

static bool
is_integer(GenieKey key, uint32 prefix)
{
	GenieFamily family = (GenieFamily) key.data[prefix - 1];

	return family == GENIE_FAMILY_INT || family == GENIE_FAMILY_OID || family == GENIE_FAMILY_MONEY;
}

/* The number of a key: of its bytes from skip on, or of the integer that it is. */
static uint64
number_of(GenieKey key, uint32 prefix, uint32 skip)
{
	uint64		number = 0;
	int64		integer;

	if (is_integer(key, prefix) && genie_key_get_int(key.data + prefix, key.len - prefix, &integer) != 0)
		return (uint64) integer + (UINT64CONST(1) << 63);
	for (uint32 i = skip; i < skip + sizeof(number); i++)
		number = number << 8 | (i < key.len ? key.data[i] : 0);
	return number;
}

/* How many bytes all keys of a bin have in common. */
static uint32
common_bytes(const GenieBin *bin, uint32 prefix)
{
	uint32		n = prefix;

	while (n < bin->next.len && n < bin->cut.len && bin->next.data[n] == bin->cut.data[n])
		n++;
	return n;
}

/*
 * A distance as a float: below 2^17 itself, and the first 17 bits of what is larger, below 49 * 2^16.
 */
static uint32
encode(uint64 distance)
{
	int			shift = distance >> (DISTANCE_BITS + 1) == 0 ? 0 : pg_leftmost_one_pos64(distance) - DISTANCE_BITS;

	return ((uint32) shift << DISTANCE_BITS) + (uint32) (distance >> shift);
}

/* The scalar of a key in its bin.  *exact: no other value can have it. */
static uint32
scalar_of(const GenieBin *bin, GenieKey key, bool *exact)
{
	uint32		prefix = genie_key_prefix_len(bin->cut);
	uint32		base = (bin->number + 1) << BIN_BITS;
	int			order = genie_key_cmp(key, bin->cut);
	uint32		skip = order < 0 ? prefix : common_bytes(bin, prefix);
	uint64		number;
	uint64		of_cut;
	uint64		distance;

	*exact = order == 0;
	if (order == 0)
		return base;
	number = number_of(key, prefix, skip);
	of_cut = number_of(bin->cut, prefix, skip);
	distance = order < 0 ? of_cut - number : number - of_cut;
	*exact = is_integer(key, prefix) && distance >> (DISTANCE_BITS + 1) == 0;
	return order < 0 ? base - 1 - encode(distance) : base + 1 + encode(distance);
}

void
genie_scalars_record(const bytea *bins, const GenieRaw *raw, uint32 *record)
{
	const uint8 *at = raw->bytes;

	memset(record, 0, genie_value_scalars_bytes(genie_bins_slots(bins)));
	for (uint32 i = 0; i < raw->n; i++)
	{
		GenieKey	key = genie_packed_next(&at);
		GenieBin	bin;
		bool		exact;

		if (genie_bins_find(bins, key, &bin))
			record[bin.slot] = scalar_of(&bin, key, &exact);
	}
}

/* ---- queries ---- */

static ScalarInterval
convert(const bytea *bins, const GenieInterval *interval, const GenieBin *low)
{
	ScalarInterval scalars = {1, GENIE_SCALAR_UNKNOWN - 1, 1, GENIE_SCALAR_UNKNOWN - 1};
	GenieBin	high;
	bool		exact;

	if (genie_interval_has_low(interval))
	{
		uint32		scalar = scalar_of(low, interval->lo, &exact);

		scalars.inner_low = exact && !interval->lo_after ? scalar : scalar + 1;
		scalars.outer_low = exact && interval->lo_after ? scalar + 1 : scalar;
	}
	if (genie_interval_has_high(interval) && genie_bins_find(bins, interval->hi, &high))
	{
		uint32		scalar = scalar_of(&high, interval->hi, &exact);

		scalars.inner_high = exact && interval->hi_after ? scalar : scalar - 1;
		scalars.outer_high = exact && !interval->hi_after ? scalar - 1 : scalar;
	}
	return scalars;
}

GenieScalarQuery *
genie_scalars_query(const bytea *bins, const GenieQuery *query)
{
	GenieScalarQuery *scalars = palloc0(offsetof(GenieScalarQuery, slots) +
										genie_bins_slots(bins) * sizeof(ScalarSlot));
	ScalarInterval *intervals = palloc(Max(query->n, 1) * sizeof(ScalarInterval));
	const uint8 *at = query->body;
	GenieKey	other = {NULL, 0};	/* the last interval's lower bound whose slot there is none */

	scalars->min_match = (uint32) query->min_match;
	for (uint32 i = 0; i < query->n; i++)
	{
		GenieInterval interval = genie_query_next(&at);
		ScalarSlot *slot = scalars->n_slots == 0 ? NULL : &scalars->slots[scalars->n_slots - 1];
		GenieBin	low;

		if (!genie_bins_find(bins, interval.lo, &low))
		{
			uint32		prefix = genie_key_prefix_len(interval.lo);

			scalars->n_others += other.len < prefix || memcmp(other.data, interval.lo.data, prefix) != 0;
			other = interval.lo;
			continue;
		}
		if (slot == NULL || slot->slot != low.slot)
		{
			slot = &scalars->slots[scalars->n_slots++];
			slot->slot = low.slot;
			slot->intervals = intervals;
		}
		slot->n++;
		*intervals++ = convert(bins, &interval, &low);
	}
	return scalars;
}

bool
genie_scalars_is_conjunction(const GenieScalarQuery *query)
{
	return query->min_match == query->n_slots + query->n_others;
}

uint32
genie_scalars_slots(const GenieScalarQuery *query, uint32 *slots)
{
	for (uint32 i = 0; i < query->n_slots; i++)
		slots[i] = query->slots[i].slot;
	return query->n_slots;
}

/* The first interval of a slot that does not end below a scalar; NULL: there is none. */
static const ScalarInterval *
find_interval(const ScalarSlot *slot, uint32 scalar)
{
	uint32		first = 0;
	uint32		end = slot->n;

	while (first < end)
	{
		uint32		middle = first + (end - first) / 2;

		if (slot->intervals[middle].outer_high < scalar)
			first = middle + 1;
		else
			end = middle;
	}
	return first < slot->n ? &slot->intervals[first] : NULL;
}

/*
 * The object has one keyword of a dimension at most, so no dimension and family has two matches.  Bins say that it may
 * match, so as many of the others match as the slots cannot make up for.
 */
GenieScalarVerdict
genie_scalars_judge(const GenieScalarQuery *query, const uint32 *record)
{
	uint32		least = query->min_match - Min(query->min_match, query->n_slots);
	uint32		most = query->n_others + query->n_slots;

	for (uint32 i = 0; i < query->n_slots; i++)
	{
		uint32		scalar = record[query->slots[i].slot];
		const ScalarInterval *interval = find_interval(&query->slots[i], scalar);

		if (scalar == GENIE_SCALAR_UNKNOWN)
			return GENIE_SCALARS_UNSURE;
		if (interval == NULL || scalar < interval->outer_low)
			most--;
		else if (scalar >= interval->inner_low && scalar <= interval->inner_high)
			least++;
	}
	return least >= query->min_match ? GENIE_SCALARS_MATCH :
		most < query->min_match ? GENIE_SCALARS_MATCH_NOT : GENIE_SCALARS_UNSURE;
}
