/*
 * test_keyword.c
 *	  Keys, packed sets, intervals and match counts against naive code.
 */
#include "genie_keyword.h"
#include "genie_test.h"

#define N_KEYS 400

static const int64_t edge_ints[] = {
	INT64_MIN, INT64_MIN + 1, -65537, -65536, -65535, -257, -256, -255, -2, -1, 0, 1, 2, 254, 255, 256,
	257, 65535, 65536, 65537, INT32_MAX, INT64_MAX - 1, INT64_MAX
};

#define N_EDGE_INTS (sizeof(edge_ints) / sizeof(edge_ints[0]))

static GenieKey
int_key(uint8_t *buffer, uint32_t dimension, GenieFamily family, int64_t value)
{
	GenieKey	key;

	key.data = buffer;
	key.len = genie_key_put_dimension(buffer, dimension);
	buffer[key.len++] = family;
	key.len += genie_key_put_int(buffer + key.len, value);
	return key;
}

/* of all magnitudes, of both signs */
static int64_t
random_int(GenieRandom *random)
{
	return (int64_t) genie_random(random) >> genie_random_below(random, 64);
}

static void
test_ints(void)
{
	GenieRandom random = {1};
	uint8_t		a[GENIE_KEY_INT_BYTES];
	uint8_t		b[GENIE_KEY_INT_BYTES];

	for (int i = 0; i < 20000; i++)
	{
		int64_t		x = i < N_EDGE_INTS ? edge_ints[i] : random_int(&random);
		int64_t		y = i < N_EDGE_INTS ? x : random_int(&random);
		int64_t		got = 0;
		GenieKey	p = {a, genie_key_put_int(a, x)};
		GenieKey	q = {b, genie_key_put_int(b, y)};
		int			diff = genie_key_cmp(p, q);

		CHECK_INT(genie_key_get_int(a, p.len, &got), p.len);
		CHECK_INT(got, x);
		CHECK_INT(genie_key_get_int(a, p.len - 1, &got), 0);
		CHECK_INT((diff > 0) - (diff < 0), (x > y) - (x < y));
	}
	for (size_t i = 1; i < N_EDGE_INTS; i++)
	{
		GenieKey	p = {a, genie_key_put_int(a, edge_ints[i - 1])};
		GenieKey	q = {b, genie_key_put_int(b, edge_ints[i])};

		CHECK(genie_key_cmp(p, q) < 0);
	}
}

static void
test_malformed_numbers(void)
{
	int64_t		value;
	uint32_t	dimension;

	CHECK_INT(genie_key_get_int((const uint8_t *) "\x81\x00", 2, &value), 0);
	CHECK_INT(genie_key_get_int((const uint8_t *) "\x7E\xFF", 2, &value), 0);
	CHECK_INT(genie_key_get_int((const uint8_t *) "\x88\x80\0\0\0\0\0\0\0", 9, &value), 0);
	CHECK_INT(genie_key_get_int((const uint8_t *) "\x89\x01\0\0\0\0\0\0\0\0", 10, &value), 0);
	CHECK_INT(genie_key_get_int((const uint8_t *) "", 0, &value), 0);
	CHECK_INT(genie_key_get_dimension((const uint8_t *) "\xF8\xF7", 2, &dimension), 0);
	CHECK_INT(genie_key_get_dimension((const uint8_t *) "\xF9\x00\xFF", 3, &dimension), 0);
	CHECK_INT(genie_key_get_dimension((const uint8_t *) "\xFB\x80\0\0\0", 5, &dimension), 0);
	CHECK_INT(genie_key_get_dimension((const uint8_t *) "\xFC\x01\0\0\0\0", 6, &dimension), 0);
	CHECK_INT(genie_key_get_dimension((const uint8_t *) "\xF9\x01", 2, &dimension), 0);
	CHECK_INT(genie_key_get_dimension((const uint8_t *) "", 0, &dimension), 0);
}

static void
test_dimensions(void)
{
	static const uint32_t dimensions[] = {
		0, 1, 247, 248, 255, 256, 65535, 65536, 16777215, 16777216, GENIE_DIMENSION_MAX
	};
	uint8_t		last[GENIE_KEY_MAX];
	GenieKey	before = {NULL, 0};

	for (size_t i = 0; i < sizeof(dimensions) / sizeof(dimensions[0]); i++)
	{
		uint8_t		buffer[GENIE_KEY_MAX];
		GenieKey	key = int_key(buffer, dimensions[i], GENIE_FAMILY_INT, 7);
		GenieKey	value;
		GenieFamily family;
		uint32_t	dimension = 0;

		CHECK(genie_key_split(key, &dimension, &family, &value));
		CHECK_INT(dimension, dimensions[i]);
		CHECK_INT(family, GENIE_FAMILY_INT);
		CHECK_INT(value.len, 2);
		CHECK_INT(genie_key_prefix_len(key), key.len - 2);
		CHECK(before.data == NULL || genie_key_cmp(before, key) < 0);
		memcpy(last, key.data, key.len);
		before.data = last;
		before.len = key.len;

		buffer[genie_key_prefix_len(key) - 1] = 20;
		CHECK(!genie_key_split(key, &dimension, &family, &value));
		key.len = genie_key_prefix_len(key) - 1;
		CHECK(!genie_key_split(key, &dimension, &family, &value));
	}
}

static void
test_packed(void)
{
	uint8_t		bytes[3 * (GENIE_KEY_MAX + 2)];
	uint8_t		buffer[GENIE_KEY_MAX];
	size_t		n = 0;
	uint32_t	keys = 0;
	const uint8_t *at = bytes;
	GenieKey	key = int_key(buffer, 1, GENIE_FAMILY_INT, 5);

	n += genie_packed_put(bytes + n, key);
	key = int_key(buffer, 1, GENIE_FAMILY_INT, 6);
	n += genie_packed_put(bytes + n, key);
	buffer[1] = GENIE_FAMILY_TEXT;
	memset(buffer + 2, 'x', 136);
	key.len = 138;
	n += genie_packed_put(bytes + n, key);
	keys = 3;

	CHECK(genie_packed_valid(bytes, n, keys));
	CHECK(!genie_packed_valid(bytes, n, keys - 1));
	CHECK(!genie_packed_valid(bytes, n, keys + 1));
	for (size_t cut = 0; cut < n; cut++)
	{
		uint8_t    *copy = malloc(cut + 1);

		memcpy(copy, bytes, cut);
		CHECK(!genie_packed_valid(copy, cut, keys));
		free(copy);
	}
	CHECK_INT(genie_packed_next(&at).len, 4);
	CHECK_INT(genie_packed_next(&at).len, 4);
	CHECK_INT(genie_packed_next(&at).len, 138);
	CHECK(at == bytes + n);

	/* twice the same; a length in more bytes than it needs */
	key = int_key(buffer, 1, GENIE_FAMILY_INT, 5);
	n = genie_packed_put(bytes, key);
	n += genie_packed_put(bytes + n, key);
	CHECK(!genie_packed_valid(bytes, n, 2));
	CHECK(!genie_packed_valid((const uint8_t *) "\x83\x00\x01\x02\x80", 5, 1));
	CHECK(genie_packed_valid((const uint8_t *) "\x03\x01\x02\x80", 4, 1));
	CHECK(genie_packed_valid((const uint8_t *) "", 0, 0));
}

/* Values 0 .. 39 in dimensions 1 .. 3 and families INT and OID: small enough that everything collides. */
typedef struct Case
{
	uint8_t		bytes[2 * N_KEYS][GENIE_KEY_MAX];
	GenieInterval intervals[N_KEYS];
	uint32_t	n;
} Case;

static GenieKey
random_key(GenieRandom *random, uint8_t *buffer)
{
	return int_key(buffer, 1 + genie_random_below(random, 3),
				   genie_random_below(random, 4) == 0 ? GENIE_FAMILY_OID : GENIE_FAMILY_INT,
				   genie_random_below(random, 40));
}

static void
random_intervals(GenieRandom *random, Case *test)
{
	test->n = genie_random_below(random, genie_random_below(random, 2) ? 6 : N_KEYS);
	for (uint32_t i = 0; i < test->n; i++)
	{
		GenieInterval *interval = &test->intervals[i];
		uint8_t    *hi = test->bytes[2 * i + 1];
		uint32_t	prefix;

		interval->lo = random_key(random, test->bytes[2 * i]);
		interval->lo_after = false;
		interval->hi = interval->lo;
		interval->hi_after = true;
		if (genie_random_below(random, 3) != 0)
			continue;

		prefix = genie_key_prefix_len(interval->lo);
		memcpy(hi, interval->lo.data, prefix);
		interval->hi.data = hi;
		interval->hi.len = prefix;
		interval->hi_after = genie_random_below(random, 2);
		interval->lo_after = genie_random_below(random, 2);
		if (genie_random_below(random, 4) == 0)
		{
			hi[prefix - 1]++;
			interval->hi_after = false;
		}
		else
			interval->hi.len += genie_key_put_int(hi + prefix, genie_random_below(random, 40));
		if (genie_random_below(random, 4) == 0)
		{
			interval->lo.len = prefix;
			interval->lo_after = false;
		}
	}
}

static bool
naive_contains(const GenieInterval *intervals, uint32_t n, GenieKey key)
{
	for (uint32_t i = 0; i < n; i++)
	{
		const GenieInterval *interval = &intervals[i];

		if (genie_cut_cmp(interval->lo, interval->lo_after, key, false) <= 0 &&
			genie_cut_cmp(key, true, interval->hi, interval->hi_after) <= 0)
			return true;
	}
	return false;
}

static bool
naive_conflict(const GenieInterval *intervals, uint32_t n, GenieKey key)
{
	bool		dimension = false;

	for (uint32_t i = 0; i < n; i++)
	{
		if (intervals[i].lo.data[0] != key.data[0])
			continue;
		if (intervals[i].lo.data[1] == key.data[1])
			return false;
		dimension = true;
	}
	return dimension;
}

static int
compare_keys(const void *a, const void *b)
{
	return genie_key_cmp(*(const GenieKey *) a, *(const GenieKey *) b);
}

static void
check_query(GenieRandom *random, const GenieQueryView *query, const GenieInterval *original, uint32_t n)
{
	static uint8_t bytes[N_KEYS][GENIE_KEY_MAX];
	static uint8_t packed[N_KEYS * (GENIE_KEY_MAX + 2)];
	GenieKey	keys[N_KEYS];
	uint32_t	n_keys = genie_random_below(random, genie_random_below(random, 2) ? 10 : N_KEYS);
	uint32_t	kept = 0;
	uint32_t	wanted = 0;
	size_t		nbytes = 0;
	bool		conflict = false;
	bool		wanted_conflict = false;
	GenieKey	conflict_key;

	for (uint32_t i = 0; i < n_keys; i++)
		keys[i] = random_key(random, bytes[i]);
	qsort(keys, n_keys, sizeof(GenieKey), compare_keys);
	for (uint32_t i = 0; i < n_keys; i++)
	{
		bool		inside = naive_contains(original, n, keys[i]);
		bool		conflicts = naive_conflict(query->intervals, query->n_intervals, keys[i]);

		if (i > 0 && genie_key_cmp(keys[i - 1], keys[i]) == 0)
			continue;
		kept++;
		nbytes += genie_packed_put(packed + nbytes, keys[i]);
		wanted += inside;
		wanted_conflict |= conflicts;
		CHECK_INT(genie_query_conflicts(query, keys[i]), conflicts);
	}
	CHECK(genie_packed_valid(packed, nbytes, kept));
	CHECK_INT(genie_query_count_packed(query, packed, kept, &conflict, &conflict_key), wanted);
	CHECK_INT(conflict, wanted_conflict);
	if (query->numbers != NULL && query->numbers->has_dimensions)
	{
		int32_t		count;

		CHECK(genie_packed_count(packed, nbytes, kept, query->numbers, &count));
		CHECK_INT(count, wanted_conflict ? -1 : (int) wanted);
	}
	if (conflict)
		CHECK(naive_conflict(query->intervals, query->n_intervals, conflict_key));
}

/* Drops empty intervals, sorts the others and unites them, a part at a time; returns how many are left. */
static uint32_t
normalise(GenieInterval *intervals, uint32_t n, uint32_t part)
{
	uint32_t	kept = 0;
	uint32_t	total;

	for (uint32_t i = 0; i < n; i++)
		if (genie_cut_cmp(intervals[i].lo, intervals[i].lo_after, intervals[i].hi, intervals[i].hi_after) < 0)
			intervals[kept++] = intervals[i];
	qsort(intervals, kept, sizeof(GenieInterval), genie_interval_cmp);
	total = kept;
	kept = 0;
	for (uint32_t i = 0; i < total; i += part)
		kept = genie_intervals_unite(intervals, kept, i, i + part < total ? i + part : total);
	return kept;
}

static void
test_queries(void)
{
	static Case test;
	GenieRandom random = {2};
	GenieInterval normal[N_KEYS];
	GenieQueryNumbers *numbers = malloc(sizeof(GenieQueryNumbers) + N_KEYS * sizeof(GenieIntervalNumbers));

	for (int round = 0; round < 3000; round++)
	{
		GenieQueryView query = {.min_match = 1, .intervals = normal};

		random_intervals(&random, &test);
		memcpy(normal, test.intervals, sizeof(normal));
		query.n_intervals = normalise(normal, test.n, 1 + (uint32_t) genie_random_below(&random, N_KEYS));
		for (uint32_t i = 0; i < query.n_intervals; i++)
		{
			GenieInterval *it = &normal[i];

			CHECK(genie_cut_cmp(it->lo, it->lo_after, it->hi, it->hi_after) < 0);
			CHECK(i == 0 || genie_cut_cmp(normal[i - 1].hi, normal[i - 1].hi_after, it->lo, it->lo_after) <= 0);
			CHECK(it->hi.data[0] == it->lo.data[0] && it->hi.data[1] <= it->lo.data[1] + 1);
		}
		check_query(&random, &query, test.intervals, test.n);
		query.numbers = numbers;
		if (genie_query_numbers(normal, query.n_intervals, numbers))
			check_query(&random, &query, test.intervals, test.n);
	}
	free(numbers);
}

/* Numbers of keys are in their order, and tell all short ones apart. */
static void
test_numbers(void)
{
	GenieRandom random = {3};

	for (int round = 0; round < 200000; round++)
	{
		uint8_t		bytes[2][12] = {{0}};
		GenieKey	keys[2];
		uint64_t	numbers[2];
		int			diff;

		for (int i = 0; i < 2; i++)
		{
			static const uint8_t few[] = {0, 1, 0x80, 0xFF};

			keys[i] = (GenieKey) {bytes[i], 1 + genie_random_below(&random, 11)};
			for (uint32_t j = 0; j < keys[i].len; j++)
				bytes[i][j] = i == 1 && genie_random_below(&random, 8) != 0 ? bytes[0][j] :
					few[genie_random_below(&random, 4)];
			numbers[i] = genie_key_number(keys[i]);
		}
		diff = genie_key_cmp(keys[0], keys[1]);
		if (numbers[0] != numbers[1])
			CHECK_INT(numbers[0] < numbers[1], diff < 0);
		else
			CHECK(diff == 0 || (keys[0].len > GENIE_KEY_NUMBER_BYTES && keys[1].len > GENIE_KEY_NUMBER_BYTES));
	}
}

static void
test_touching(void)
{
	uint8_t		bytes[4][GENIE_KEY_MAX];
	GenieKey	one = int_key(bytes[0], 1, GENIE_FAMILY_INT, 1);
	GenieKey	two = int_key(bytes[1], 1, GENIE_FAMILY_INT, 2);
	GenieInterval both[2] = {{one, two, false, false}, {two, two, false, true}};
	GenieInterval families[2];
	GenieKey	ints = int_key(bytes[2], 1, GENIE_FAMILY_INT, 0);
	GenieKey	floats = int_key(bytes[3], 1, GENIE_FAMILY_FLOAT, 0);

	CHECK_INT(normalise(both, 2, 2), 1);
	CHECK(both[0].hi_after && !genie_interval_is_point(&both[0]));

	/* all ints end where all floats begin, and stay two families */
	ints.len = floats.len = 2;
	families[0] = (GenieInterval) {ints, floats, false, false};
	families[1] = (GenieInterval) {floats, floats, false, true};
	CHECK_INT(normalise(families, 2, 2), 2);
	CHECK(genie_interval_is_point(&families[1]));
}

/* Signatures: mostly integers of a byte, of all of the query's dimensions; some are longer, shorter, or missing. */
static void
test_codes(void)
{
	GenieRandom state = {4};
	GenieRandom *random = &state;
	static uint8_t bytes[GENIE_DIMENSION_LEAD][GENIE_KEY_MAX];
	static uint8_t packed[GENIE_DIMENSION_LEAD * (GENIE_KEY_MAX + 2)];
	GenieInterval intervals[GENIE_DIMENSION_LEAD];
	GenieQueryNumbers *numbers = malloc(sizeof(GenieQueryNumbers) +
										sizeof(GenieIntervalNumbers) * GENIE_DIMENSION_LEAD);

	for (int round = 0; round < 2000; round++)
	{
		uint32_t	n = 1 + genie_random_below(random, GENIE_DIMENSION_LEAD);
		uint32_t	rare = 2 + genie_random_below(random, 200); /* one of so many is not as most are */
		uint32_t	spread = 2 + genie_random_below(random, 300);
		uint32_t	kept = 0;
		int32_t		wanted = 0;
		int32_t		count;
		size_t		nbytes = 0;

		for (uint32_t i = 0; i < n; i++)
		{
			uint8_t		value[GENIE_KEY_MAX];
			GenieKey	key = {value, 0};
			GenieKey	asked = {bytes[i], 0};

			asked.len = (uint32_t) genie_key_put_dimension(bytes[i], i);
			bytes[i][asked.len++] = GENIE_FAMILY_INT;
			asked.len += (uint32_t) genie_key_put_int(bytes[i] + asked.len,
													  (int64_t) genie_random_below(random, spread) - spread / 2);
			intervals[i] = (GenieInterval) {.lo = asked, .hi = asked, .hi_after = true};
			if (genie_random_below(random, rare) == 0)
				continue;
			key.len = (uint32_t) genie_key_put_dimension(value, i);
			value[key.len++] = GENIE_FAMILY_INT;
			key.len += (uint32_t) genie_key_put_int(value + key.len, genie_random_below(random, rare) == 0 ? 70000 :
													(int64_t) genie_random_below(random, spread) - spread / 2);
			wanted += genie_key_cmp(key, asked) == 0;
			nbytes += genie_packed_put(packed + nbytes, key);
			kept++;
		}
		CHECK(genie_query_numbers(intervals, n, numbers));
		CHECK(numbers->has_codes);
		CHECK(genie_packed_count(packed, nbytes, kept, numbers, &count));
		CHECK_INT(count, wanted);
		if (kept == 0)
			continue;
		CHECK(!genie_packed_count(packed, nbytes - 1, kept, numbers, &count));
		CHECK(!genie_packed_count(packed, nbytes, kept - 1, numbers, &count));
		packed[0] = 0;			/* an empty key */
		CHECK(!genie_packed_count(packed, nbytes, kept, numbers, &count));
	}
	free(numbers);
}

int
main(void)
{
	test_ints();
	test_malformed_numbers();
	test_dimensions();
	test_packed();
	test_queries();
	test_numbers();
	test_codes();
	test_touching();
	return genie_test_end();
}
