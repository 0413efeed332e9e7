/*
 * genie_keyword.h
 *	  Keywords as byte strings, and queries as sorted sets of intervals over them.
 *
 * A keyword is a pair (dimension, value).  Everything below the types' own code sees it as
 * one byte string, its *key*, whose memcmp order is (dimension, family, value) order:
 *
 *		+-----------------------+----------+---------------------------------+
 *		| dimension, 1..5 bytes | family,1 | normalised value, 0..136 bytes  |
 *		+-----------------------+----------+---------------------------------+
 *
 *	dimension	an order-preserving variable-length integer in 0 .. 2^31 - 1: a byte b < 248
 *				stands for itself; 248 + L - 1 is followed by L = 1..4 big-endian bytes, the
 *				shortest that hold the number (a longer form is malformed).
 *	family		a GenieFamily, so that int2, int4 and int8 meet and nothing depends on OIDs.
 *	value		bytes whose memcmp order (then length) is the value order within the family.
 *				A normalised value longer than GENIE_VALUE_MAX bytes is cut to its first
 *				GENIE_VALUE_MAX bytes followed by the 64-bit hash of the whole, big-endian:
 *				the match count is defined on that, equality is the hash's, and order is kept
 *				up to the cut.
 *
 * A set of keywords is stored *packed*: keys in strictly ascending order, each preceded by
 * its length as a LEB128 varint (1 byte below 128, else 2).  The same packing is used in the
 * type genie_object, in pending rows, and between decomposition and index build.
 *
 * Plain C99, no PostgreSQL: the fuzzers and unit tests link this alone.  Nothing here
 * allocates; nothing trusts its input bytes unless its comment says so.
 */
#ifndef GENIE_KEYWORD_H
#define GENIE_KEYWORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GENIE_DIMENSION_MAX		INT32_MAX
#define GENIE_DIMENSION_BYTES	5	/* the longest encoded dimension */
#define GENIE_DIMENSION_LEAD	248 /* smaller dimensions are one byte */
#define GENIE_KEY_INT_BYTES		9	/* the longest genie_key_put_int() */
#define GENIE_VALUE_MAX			128 /* longer normalised values are cut and hashed */
#define GENIE_VALUE_HASH_BYTES	8
#define GENIE_KEY_MAX			(GENIE_DIMENSION_BYTES + 1 + GENIE_VALUE_MAX + GENIE_VALUE_HASH_BYTES)
#define GENIE_OBJECT_KEYWORDS_MAX	65535	/* so that a match count fits 16 bits */

/* Families.  On disk and in dumps: numbers are never reused or changed. */
typedef enum GenieFamily
{
	GENIE_FAMILY_BOOL = 1,
	GENIE_FAMILY_INT = 2,		/* int2, int4, int8 */
	GENIE_FAMILY_FLOAT = 3,		/* float4, float8 */
	GENIE_FAMILY_NUMERIC = 4,
	GENIE_FAMILY_TEXT = 5,		/* text, varchar, bpchar (trailing blanks cut), name, unknown */
	GENIE_FAMILY_BYTEA = 6,
	GENIE_FAMILY_TIMESTAMP = 7, /* date and timestamp */
	GENIE_FAMILY_TIMESTAMPTZ = 8,
	GENIE_FAMILY_TIME = 9,
	GENIE_FAMILY_TIMETZ = 10,
	GENIE_FAMILY_INTERVAL = 11,
	GENIE_FAMILY_UUID = 12,
	GENIE_FAMILY_OID = 13,
	GENIE_FAMILY_CHAR = 14,		/* "char" */
	GENIE_FAMILY_MONEY = 15,
	GENIE_FAMILY_BIT = 16,		/* bit, varbit */
	GENIE_FAMILY_MACADDR = 17,
	GENIE_FAMILY_MACADDR8 = 18,
	GENIE_FAMILY_LSN = 19,
	GENIE_FAMILY_ENUM = 64,		/* by label, equality only */
	GENIE_FAMILY_HASH = 65		/* 64-bit extended hash of any other type, equality only */
} GenieFamily;

#define GENIE_FAMILY_IS_ORDERED(family) ((family) < GENIE_FAMILY_ENUM)

static inline bool
genie_family_known(uint32_t family)
{
	return (family >= GENIE_FAMILY_BOOL && family <= GENIE_FAMILY_LSN) ||
		family == GENIE_FAMILY_ENUM || family == GENIE_FAMILY_HASH;
}

typedef struct GenieKey
{
	const uint8_t *data;
	uint32_t	len;
} GenieKey;

/* memcmp order, a prefix before what it is a prefix of */
static inline int
genie_key_cmp(GenieKey a, GenieKey b)
{
	int			diff = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);

	if (diff != 0)
		return diff;
	return (a.len > b.len) - (a.len < b.len);
}

/*
 * A well-formed key's first bytes and its length as a number.  Keys are in the order of their numbers, except that all
 * longer keys with the same first GENIE_KEY_NUMBER_BYTES have the same number, which is above those of shorter ones.
 */
#define GENIE_KEY_NUMBER_BYTES	7

static inline uint64_t
genie_key_number(GenieKey key)
{
	uint32_t	n = key.len < GENIE_KEY_NUMBER_BYTES ? key.len : GENIE_KEY_NUMBER_BYTES;
	uint64_t	number;

	if (n >= sizeof(uint32_t))
	{
		uint32_t	first;
		uint32_t	last;		/* may overlap the first ones */

		memcpy(&first, key.data, sizeof(first));
		memcpy(&last, key.data + n - sizeof(last), sizeof(last));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		first = __builtin_bswap32(first);
		last = __builtin_bswap32(last);
#endif
		number = (uint64_t) first << 32 | (uint64_t) last << (8 * (sizeof(uint64_t) - n));
	}
	else
		number = (uint64_t) key.data[0] << 56 | (uint64_t) key.data[n / 2] << (56 - 8 * (n / 2)) |
			(uint64_t) key.data[n - 1] << (56 - 8 * (n - 1));
	return number | (key.len > GENIE_KEY_NUMBER_BYTES ? GENIE_KEY_NUMBER_BYTES + 1 : key.len);
}

/*
 * Functions that make keys are inline, so that another extension's operator class needs only the headers.
 *
 * Writes the dimension's bytes to out (room for GENIE_DIMENSION_BYTES); returns how many.
 */
static inline size_t
genie_key_put_dimension(uint8_t *out, uint32_t dimension)
{
	size_t		n;

	if (dimension < GENIE_DIMENSION_LEAD)
	{
		out[0] = (uint8_t) dimension;
		return 1;
	}
	n = 1 + (dimension > 0xFF) + (dimension > 0xFFFF) + (dimension > 0xFFFFFF);
	out[0] = (uint8_t) (GENIE_DIMENSION_LEAD + n - 1);
	for (size_t i = 1; i <= n; i++)
		out[i] = (uint8_t) (dimension >> (8 * (n - i)));
	return 1 + n;
}

/* Reads a dimension; returns the bytes it took, 0 if malformed or cut short. */
extern size_t genie_key_get_dimension(const uint8_t *data, size_t len, uint32_t *dimension);

/*
 * Order-preserving signed integers (family INT and others): lead byte 0x80 + L and the L
 * big-endian bytes of n for n >= 0; lead 0x7F - L and the L bytes of ~n, complemented, for n < 0;
 * L is the fewest bytes (0 for 0 and -1).  At most GENIE_KEY_INT_BYTES.  (Complementing the complement
 * gives n's own low bytes back.)
 *
 * out has room for GENIE_KEY_INT_BYTES, and all of them are written: numbers of all lengths and signs come mixed, and
 * so there is no branch to be predicted.
 */
static inline size_t
genie_key_put_int(uint8_t *out, int64_t value)
{
	uint64_t	magnitude = value >= 0 ? (uint64_t) value : ~(uint64_t) value;
	uint32_t	n = ((63 ^ (uint32_t) __builtin_clzll(magnitude << 1 | 1)) + 7) / 8;
	uint64_t	bytes = (uint64_t) value << ((64 - 8 * n) % 64);	/* the first one highest; of none any */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	bytes = __builtin_bswap64(bytes);
#endif
	out[0] = (uint8_t) (value >= 0 ? 0x80 + n : 0x7F - n);
	memcpy(out + 1, &bytes, sizeof(bytes));
	return 1 + n;
}

/* Bytes taken, or 0 if malformed (not the shortest form, past 64 bits, cut short). */
extern size_t genie_key_get_int(const uint8_t *data, size_t len, int64_t *value);

/*
 * Splits a key.  False if it is malformed: bad dimension, unknown family, too long.
 * Does not look into the value.
 */
extern bool genie_key_split(GenieKey key, uint32_t *dimension, GenieFamily *family, GenieKey *value);

/* the length of the (dimension, family) prefix of a well-formed key */
extern uint32_t genie_key_prefix_len(GenieKey key);

/* ---- packed sets ---- */

/* Appends the length prefix and key at out (room for len + 2); returns bytes written. */
static inline size_t
genie_packed_put(uint8_t *out, GenieKey key)
{
	size_t		n = 0;

	if (key.len < 0x80)
		out[n++] = (uint8_t) key.len;
	else
	{
		out[n++] = (uint8_t) (0x80 | (key.len & 0x7F));
		out[n++] = (uint8_t) (key.len >> 7);
	}
	memcpy(out + n, key.data, key.len);
	return n + key.len;
}

/* Reads the key at *at; advances *at.  Trusts its input (validated before). */
static inline GenieKey
genie_packed_next(const uint8_t **at)
{
	GenieKey	key;
	uint32_t	len = *(*at)++;

	if (len & 0x80)
		len = (len & 0x7F) | ((uint32_t) *(*at)++ << 7);
	key.data = *at;
	key.len = len;
	*at += len;
	return key;
}

/*
 * True if data is exactly n well-formed packed keys in strictly ascending order.
 * For bytes from outside: binary input, damaged pages.
 */
extern bool genie_packed_valid(const uint8_t *data, size_t nbytes, uint32_t n);

#define GENIE_TRAIN_MIN			256 /* objects on which an approximate operator class (genie_opclass.h) can train */
#define GENIE_UNTRAINED_MAX		(16 * GENIE_TRAIN_MIN)	/* rows of all kinds; a scan reads that many quickly */
#define GENIE_TRAIN_ROWS		2000	/* objects of a sample at most */
#define GENIE_PARAMETERS_MAX	128 /* bytes of what it learns: a handful of numbers and a seed; and behind them */
#define GENIE_LEARNED_MAX		(64 * 1024 * 1024)	/* bytes, all in all, that may be long (disk/genie_learned.h) */

/* An object of such a class before it has a signature: packed raw keywords. */
typedef struct GenieRaw
{
	const uint8_t *bytes;
	uint32_t	n;
	int32_t		size;			/* the object's size: what decompose set, or n */
} GenieRaw;

/* ---- queries ---- */

/*
 * An interval of keys of one dimension and family.  Its ends are cuts: before or after a key.
 *	point k:  lo = k before, hi = k after  (lo.data == hi.data is allowed)
 *	[a, b):   lo = a before, hi = b before;   (a, b]:  lo = a after, hi = b after
 *	unbounded below: lo = the bare (dimension, family) prefix, before;
 *	unbounded above: hi = the bare prefix of (dimension, family + 1), before.
 */
typedef struct GenieInterval
{
	GenieKey	lo;
	GenieKey	hi;
	bool		lo_after;
	bool		hi_after;
} GenieInterval;

/*
 * An interval packed, as in a genie_query:
 *
 *		+-------+-----------+----------------------+
 *		| flags | packed lo | packed hi (no point) |
 *		+-------+-----------+----------------------+
 */
#define GENIE_QUERY_LO_AFTER	0x01
#define GENIE_QUERY_HI_AFTER	0x02
#define GENIE_QUERY_POINT		0x04	/* no hi; the other flags are clear */

/* Reads the interval at *at; advances *at.  Its keys lie there.  Trusts its input. */
static inline GenieInterval
genie_query_next(const uint8_t **at)
{
	GenieInterval interval;
	uint8_t		flags = *(*at)++;

	interval.lo = genie_packed_next(at);
	interval.lo_after = (flags & GENIE_QUERY_LO_AFTER) != 0;
	interval.hi = flags & GENIE_QUERY_POINT ? interval.lo : genie_packed_next(at);
	interval.hi_after = (flags & (GENIE_QUERY_HI_AFTER | GENIE_QUERY_POINT)) != 0;
	return interval;
}

/* The same interval for the numbers of keys: those from lo to below hi are in it. */
typedef struct GenieIntervalNumbers
{
	uint64_t	lo;
	uint64_t	hi;
} GenieIntervalNumbers;

#define GENIE_CODE_BYTES		5	/* of a packed integer of one byte: length, dimension, family, sign, value */
#define GENIE_CODES_READ_BYTES	32	/* that are read from a code on */

/*
 * The intervals of a query as numbers, by which keys are compared faster.  Where no dimension takes more than a byte
 * or has several intervals, as in queries for signatures, they are also found by that byte; a dimension without an
 * interval has an empty one.  Where each interval is a single integer, too, codes has them as they are packed; one that
 * is not a byte long is replaced by one that no integer is.
 */
typedef struct GenieQueryNumbers
{
	bool		has_dimensions;
	bool		has_codes;
	uint32_t	n;
	uint8_t		codes[GENIE_DIMENSION_LEAD * GENIE_CODE_BYTES + GENIE_CODES_READ_BYTES];
	GenieIntervalNumbers of_dimension[256];
	GenieIntervalNumbers intervals[];
} GenieQueryNumbers;

/* Fills the numbers of n intervals.  False: a key is longer than GENIE_KEY_NUMBER_BYTES, and there are none. */
extern bool genie_query_numbers(const GenieInterval *intervals, uint32_t n, GenieQueryNumbers *numbers);

/*
 * A compiled query: disjoint, non-empty intervals in ascending order, so a keyword is counted
 * once.  The bytes belong to the caller that made it.
 */
typedef struct GenieQueryView
{
	int32_t		min_match;
	uint32_t	n_intervals;
	const GenieInterval *intervals;
	const GenieQueryNumbers *numbers;	/* NULL: there are none */
	uint16_t	distance_strategy;	/* of the distance below; 0: none is asked for */
	double		max_distance;
} GenieQueryView;

/* order of two cuts */
extern int	genie_cut_cmp(GenieKey a, bool a_after, GenieKey b, bool b_after);

/* is the interval one single key? */
extern bool genie_interval_is_point(const GenieInterval *interval);

/* has the interval, which is of one dimension and family, a bound there? */
extern bool genie_interval_has_low(const GenieInterval *interval);
extern bool genie_interval_has_high(const GenieInterval *interval);

/* order of two GenieIntervals by where they begin, for a sort */
extern int	genie_interval_cmp(const void *a, const void *b);

/*
 * Unites overlapping intervals of a sorted array, none of them empty, in place.  The first `kept` are the result so
 * far; those from number first to n - 1 are added to them.  Returns how many are kept then.  A caller may so stop
 * between parts of a long array.  Those that touch ([1,2) and [2,3)) are united too, but never two families.
 */
extern uint32_t genie_intervals_unite(GenieInterval *intervals, uint32_t kept, uint32_t first, uint32_t n);

/*
 * The match count of a packed set (trusted: validated or made by us) of n keys: how many lie in an
 * interval.  *conflict is set (never cleared) if the query has intervals on a keyword's
 * dimension, but none of the keyword's family: then the caller owes the user an error.
 * conflict_key, if not NULL, gets the first such keyword.
 */
extern uint32_t genie_query_count_packed(const GenieQueryView *query, const uint8_t *packed, uint32_t n,
										 bool *conflict, GenieKey *conflict_key);

/*
 * genie_packed_valid() and the match count in one go, for numbers that have dimensions.  *count is -1 if a keyword is
 * in conflict: then genie_query_count_packed() tells which.
 */
extern bool genie_packed_count(const uint8_t *data, size_t nbytes, uint32_t n, const GenieQueryNumbers *numbers,
							   int32_t *count);

/* does the query touch the key's dimension, but never its family? */
extern bool genie_query_conflicts(const GenieQueryView *query, GenieKey key);

#endif							/* GENIE_KEYWORD_H */
