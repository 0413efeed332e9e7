/*
 * genie_keyword.c
 *	  Keys, packed sets of keys, and the arithmetic of intervals over keys.
 *
 * The forms are described in genie_keyword.h.  The code here rests on two facts:
 *
 * - A dimension's bytes are prefix-free, so two keys are of one dimension exactly if those bytes are
 *	 the same, whatever follows.
 * - A query's intervals are sorted and disjoint, and none spans two (dimension, family) prefixes.  So the
 *	 intervals of a prefix are neighbours, and a key that no interval contains lies between two neighbours: if
 *	 neither is of its family, none is.  So after the search, the check for conflicts is O(1).
 */
#include "genie_keyword.h"
#include "genie_unpack.h"

#include <stdlib.h>

#define FAMILY_SHIFT 48			/* of a number whose dimension is a byte: above are that and the family */
#define NEAR_INTERVALS 8		/* tried one by one before a search takes longer steps */

size_t
genie_key_get_dimension(const uint8_t *data, size_t len, uint32_t *dimension)
{
	uint32_t	n;
	uint32_t	value = 0;

	if (len == 0)
		return 0;
	if (data[0] < GENIE_DIMENSION_LEAD)
	{
		*dimension = data[0];
		return 1;
	}
	n = data[0] - GENIE_DIMENSION_LEAD + 1;
	if (n > sizeof(uint32_t) || len < 1 + n)
		return 0;
	for (uint32_t i = 1; i <= n; i++)
		value = value << 8 | data[i];
	if (value > GENIE_DIMENSION_MAX)
		return 0;
	if (n == 1 ? value < GENIE_DIMENSION_LEAD : value >> (8 * (n - 1)) == 0)
		return 0;				/* a shorter form exists */
	*dimension = value;
	return 1 + n;
}

size_t
genie_key_get_int(const uint8_t *data, size_t len, int64_t *value)
{
	bool		negative;
	size_t		n;
	uint64_t	magnitude = 0;

	if (len == 0)
		return 0;
	negative = data[0] < 0x80;
	n = negative ? 0x7F - data[0] : data[0] - 0x80;
	if (n > 8 || len < 1 + n)
		return 0;
	for (size_t i = 1; i <= n; i++)
		magnitude = magnitude << 8 | (negative ? (uint8_t) ~data[i] : data[i]);
	if (magnitude > INT64_MAX)
		return 0;
	if (n > 0 && magnitude >> (8 * (n - 1)) == 0)
		return 0;				/* a shorter form exists */
	*value = negative ? -(int64_t) magnitude - 1 : (int64_t) magnitude;
	return 1 + n;
}

bool
genie_key_split(GenieKey key, uint32_t *dimension, GenieFamily *family, GenieKey *value)
{
	size_t		n = genie_key_get_dimension(key.data, key.len, dimension);

	if (n == 0 || key.len < n + 1 || !genie_family_known(key.data[n]))
		return false;
	*family = (GenieFamily) key.data[n];
	value->data = key.data + n + 1;
	value->len = key.len - (uint32_t) n - 1;
	return value->len <= GENIE_VALUE_MAX + GENIE_VALUE_HASH_BYTES;
}

uint32_t
genie_key_prefix_len(GenieKey key)
{
	uint32_t	lead = key.data[0];

	return lead < GENIE_DIMENSION_LEAD ? 2 : lead - GENIE_DIMENSION_LEAD + 3;
}

/* The number of a key of up to GENIE_KEY_NUMBER_BYTES, where 8 bytes can be read. */
static inline uint64_t
number_of_word(const uint8_t *data, uint32_t len)
{
	uint64_t	word;

	memcpy(&word, data, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return (word & ~UINT64_C(0) << (64 - 8 * len)) | len;
}

/* Reads the rest of a key behind the first byte of its length, which is in key->len. */
static bool
next_valid(const uint8_t **data, const uint8_t *end, GenieKey *key)
{
	GenieKey	value;
	uint32_t	dimension;
	GenieFamily family;

	if (key->len & 0x80)
	{
		if (*data == end || **data == 0 || **data & 0x80)
			return false;
		key->len = (key->len & 0x7F) | (uint32_t) *(*data)++ << 7;
	}
	if (key->len > (size_t) (end - *data))
		return false;
	key->data = *data;
	*data += key->len;
	return genie_key_split(*key, &dimension, &family, &value);
}

/*
 * genie_packed_valid(), and genie_packed_count() where there are numbers.  Whether a keyword matches cannot be
 * predicted, so nothing branches on it.  Signatures mostly have a keyword for each of the query's in turn, whose bytes
 * differ from its only in sign and value; the kernel counts several of them at a time.
 */
static inline bool
valid_and_count(const uint8_t *data, size_t nbytes, uint32_t n, const GenieQueryNumbers *numbers,
				const GenieUnpackKernels *kernels, int32_t *count)
{
	const uint8_t *end = data + nbytes;
	GenieKey	last = {NULL, 0};
	uint64_t	last_number = 0;
	uint64_t	others = 0;		/* not 0: a keyword's dimension is asked for, but as another family */
	uint32_t	matches = 0;
	bool		in_step = numbers != NULL && numbers->has_codes;	/* keyword i is of the dimension of interval i */

	for (uint32_t i = 0; i < n; i++)
	{
		GenieKey	key;
		uint64_t	number;

		if (in_step && i < numbers->n)
		{
			uint32_t	n_codes = kernels->codes(data, end, numbers->codes + i * GENIE_CODE_BYTES,
												 (n < numbers->n ? n : numbers->n) - i, &matches);

			if (n_codes > 0)
			{
				data += n_codes * GENIE_CODE_BYTES;
				i += n_codes;
				last = (GenieKey) {data - GENIE_CODE_BYTES + 1, GENIE_CODE_BYTES - 1};
				last_number = genie_key_number(last);
				if (i == n)
					break;
			}
		}
		if (data == end)
			return false;
		key.len = *data++;
		if (key.len - 2 <= GENIE_KEY_NUMBER_BYTES - 2 && end - data >= (ptrdiff_t) sizeof(number) &&
			data[0] < GENIE_DIMENSION_LEAD && genie_family_known(data[1]))
		{
			number = number_of_word(data, key.len); /* all that genie_key_split() would find */
			if (number <= last_number)
				return false;
			key.data = data;
			data += key.len;
		}
		else
		{
			if (!next_valid(&data, end, &key))
				return false;
			number = genie_key_number(key);
			if (number <= last_number && genie_key_cmp(last, key) >= 0)
				return false;
		}
		last = key;
		last_number = number;
		if (numbers != NULL)
		{
			const GenieIntervalNumbers *interval = &numbers->of_dimension[key.data[0]];

			in_step &= i < numbers->n && (number ^ numbers->intervals[i].lo) >> FAMILY_SHIFT == 0;
			matches += number - interval->lo < interval->hi - interval->lo;
			others |= interval->hi == 0 ? 0 : (number ^ interval->lo) >> FAMILY_SHIFT;
		}
	}
	if (numbers != NULL)
		*count = others == 0 ? (int32_t) matches : -1;
	return data == end;
}

bool
genie_packed_valid(const uint8_t *data, size_t nbytes, uint32_t n)
{
	return valid_and_count(data, nbytes, n, NULL, NULL, NULL);
}

bool
genie_packed_count(const uint8_t *data, size_t nbytes, uint32_t n, const GenieQueryNumbers *numbers, int32_t *count)
{
	return valid_and_count(data, nbytes, n, numbers, genie_unpack_choose(), count);
}

int
genie_cut_cmp(GenieKey a, bool a_after, GenieKey b, bool b_after)
{
	int			diff = genie_key_cmp(a, b);

	return diff != 0 ? diff : (int) a_after - (int) b_after;
}

bool
genie_interval_is_point(const GenieInterval *interval)
{
	return !interval->lo_after && interval->hi_after &&
		interval->lo.len == interval->hi.len &&
		(interval->lo.data == interval->hi.data ||
		 memcmp(interval->lo.data, interval->hi.data, interval->lo.len) == 0);
}

bool
genie_interval_has_low(const GenieInterval *interval)
{
	return interval->lo_after || interval->lo.len > genie_key_prefix_len(interval->lo);
}

bool
genie_interval_has_high(const GenieInterval *interval)
{
	uint32_t	prefix = genie_key_prefix_len(interval->lo);

	return interval->hi.len >= prefix && memcmp(interval->hi.data, interval->lo.data, prefix) == 0;
}

int
genie_interval_cmp(const void *a, const void *b)
{
	const GenieInterval *x = a;
	const GenieInterval *y = b;

	return genie_cut_cmp(x->lo, x->lo_after, y->lo, y->lo_after);
}

static bool
same_prefix(GenieKey a, GenieKey b)
{
	uint32_t	n = genie_key_prefix_len(a);

	return b.len >= n && memcmp(a.data, b.data, n) == 0;
}

uint32_t
genie_intervals_unite(GenieInterval *intervals, uint32_t kept, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < n; i++)
	{
		GenieInterval *last = &intervals[kept == 0 ? 0 : kept - 1];
		GenieInterval *interval = &intervals[i];
		int			gap = kept == 0 ? 1 :
			genie_cut_cmp(interval->lo, interval->lo_after, last->hi, last->hi_after);

		if (gap > 0 || (gap == 0 && !same_prefix(last->lo, interval->lo)))
			intervals[kept++] = *interval;
		else if (genie_cut_cmp(interval->hi, interval->hi_after, last->hi, last->hi_after) > 0)
		{
			last->hi = interval->hi;
			last->hi_after = interval->hi_after;
		}
	}
	return kept;
}

/* Writes the packed integer of an interval, if it is one.  False: it is none. */
static bool
put_code(const GenieInterval *interval, uint8_t *code)
{
	GenieKey	key = interval->lo;

	if (!genie_interval_is_point(interval) || key.len < 3 || key.data[1] != GENIE_FAMILY_INT)
		return false;
	code[0] = GENIE_CODE_BYTES - 1;
	memcpy(code + 1, key.data, 2);
	code[3] = key.len == GENIE_CODE_BYTES - 1 ? key.data[2] : 0;	/* no integer's first byte is 0 */
	code[4] = key.len == GENIE_CODE_BYTES - 1 ? key.data[3] : 0;
	return true;
}

bool
genie_query_numbers(const GenieInterval *intervals, uint32_t n, GenieQueryNumbers *numbers)
{
	numbers->has_dimensions = true;
	numbers->has_codes = true;
	numbers->n = n;
	memset(numbers->of_dimension, 0, sizeof(numbers->of_dimension));
	for (uint32_t i = 0; i < n; i++)
	{
		const GenieInterval *interval = &intervals[i];
		GenieIntervalNumbers *to = &numbers->intervals[i];
		GenieIntervalNumbers *dimension = &numbers->of_dimension[interval->lo.data[0]];

		if (interval->lo.len > GENIE_KEY_NUMBER_BYTES || interval->hi.len > GENIE_KEY_NUMBER_BYTES)
			return false;
		to->lo = genie_key_number(interval->lo) + interval->lo_after;
		to->hi = genie_key_number(interval->hi) + interval->hi_after;
		numbers->has_dimensions &= interval->lo.data[0] < GENIE_DIMENSION_LEAD && dimension->hi == 0;
		numbers->has_codes = numbers->has_codes && numbers->has_dimensions &&
			put_code(interval, numbers->codes + i * GENIE_CODE_BYTES);
		*dimension = *to;
	}
	return true;
}

/* A key that a query is asked for, and its number. */
typedef struct Probe
{
	GenieKey	key;
	uint64_t	number;
} Probe;

static inline Probe
probe_of(GenieKey key)
{
	return (Probe) {key, genie_key_number(key)};
}

/* Where a key stands relative to interval i's end: < 0 before it, 0 it is the last key (or < 0), > 0 past it. */
static inline int
compare_to_hi(const GenieQueryView *query, uint32_t i, Probe probe)
{
	int			diff;

	if (query->numbers != NULL)
		return probe.number < query->numbers->intervals[i].hi ? -1 : 1;
	diff = genie_key_cmp(probe.key, query->intervals[i].hi);
	return diff != 0 || query->intervals[i].hi_after ? diff : 1;
}

/*
 * The first interval from number first on that does not end before the key.  It is mostly near; past that the search
 * gallops, so that a large query does not cost its length.  *diff is compare_to_hi() of the one found, if there is one.
 */
static inline uint32_t
seek(const GenieQueryView *query, uint32_t first, Probe probe, int *diff)
{
	uint32_t	n = query->n_intervals;
	uint32_t	step = 1;
	uint32_t	near = n - first > NEAR_INTERVALS ? first + NEAR_INTERVALS : n;
	uint32_t	end;

	for (; first < near; first++)
	{
		*diff = compare_to_hi(query, first, probe);
		if (*diff <= 0)
			return first;
	}
	if (first >= n)
		return n;
	first--;					/* which ends before the key */
	while (step < n - first && compare_to_hi(query, first + step, probe) > 0)
	{
		first += step;
		step = step < n / 2 ? step * 2 : n;
	}
	end = step < n - first ? first + step : n;
	first++;
	while (first < end)
	{
		uint32_t	middle = first + (end - first) / 2;

		if (compare_to_hi(query, middle, probe) > 0)
			first = middle + 1;
		else
			end = middle;
	}
	if (first < n)
		*diff = compare_to_hi(query, first, probe);
	return first;
}

/* Does interval i contain the key, whose compare_to_hi() is diff <= 0? */
static inline bool
contains(const GenieQueryView *query, uint32_t i, Probe probe, int diff)
{
	int			lo;

	if (query->numbers != NULL)
		return probe.number >= query->numbers->intervals[i].lo;
	if (diff == 0)
		return true;			/* not empty, so its last key is in it */
	lo = genie_key_cmp(probe.key, query->intervals[i].lo);
	return lo > 0 || (lo == 0 && !query->intervals[i].lo_after);
}

/* Do two keys, by their numbers, begin with the same n bytes?  A dimension and a family are not too many. */
static inline bool
same_bytes(uint64_t a, uint64_t b, uint32_t n)
{
	return (a ^ b) >> (64 - 8 * n) == 0;
}

/* Is there a conflict for a key that lies between the intervals next - 1 and next? */
static bool
conflicts_between(const GenieQueryView *query, uint32_t next, Probe probe)
{
	uint32_t	prefix = genie_key_prefix_len(probe.key);
	bool		conflict = false;

	for (uint32_t i = next == 0 ? 0 : next - 1; i <= next && i < query->n_intervals; i++)
	{
		uint64_t	lo = query->numbers != NULL ? query->numbers->intervals[i].lo :
			genie_key_number(query->intervals[i].lo);

		if (same_bytes(lo, probe.number, prefix - 1))
		{
			if (same_bytes(lo, probe.number, prefix))
				return false;
			conflict = true;
		}
	}
	return conflict;
}

bool
genie_query_conflicts(const GenieQueryView *query, GenieKey key)
{
	Probe		probe = probe_of(key);
	uint32_t	next;
	int			diff;

	next = seek(query, 0, probe, &diff);
	if (next < query->n_intervals && contains(query, next, probe, diff))
		return false;
	return conflicts_between(query, next, probe);
}

uint32_t
genie_query_count_packed(const GenieQueryView *query, const uint8_t *packed, uint32_t n,
						 bool *conflict, GenieKey *conflict_key)
{
	uint32_t	count = 0;
	uint32_t	at = 0;
	uint64_t	checked = 0;	/* the number of no key */

	for (uint32_t i = 0; i < n; i++)
	{
		Probe		probe = probe_of(genie_packed_next(&packed));
		int			diff = 0;

		at = seek(query, at, probe, &diff);
		if (at < query->n_intervals && contains(query, at, probe, diff))
		{
			count++;
			continue;
		}
		if (same_bytes(checked, probe.number, genie_key_prefix_len(probe.key)))
			continue;
		checked = probe.number;
		if (!*conflict && conflicts_between(query, at, probe))
		{
			*conflict = true;
			if (conflict_key != NULL)
				*conflict_key = probe.key;
		}
	}
	return count;
}
