/*
 * test_value_text.c
 *	  Short texts as values: keys are the same by all kernels, never above the edit distance, and the distance itself
 *	  of texts that a record holds.  The oracle is a table of distances, cell by cell.
 */
#include <math.h>
#include <string.h>

#include "genie_test.h"
#include "genie_value_record.h"
#include "genie_value_scan.h"

#define TEXTS 39				/* not a multiple of what kernels take together */
#define QUERIES 9
#define LENGTH_MAX 300

typedef struct Text
{
	uint32_t	n;
	uint8_t		codes[LENGTH_MAX];
} Text;

static Text texts[TEXTS];
static Text queries[QUERIES];

/* ---- the oracle ---- */

static uint32_t
smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t
edit_distance(const Text *a, const Text *b)
{
	uint32_t	row[LENGTH_MAX + 1];

	for (uint32_t j = 0; j <= b->n; j++)
		row[j] = j;
	for (uint32_t i = 1; i <= a->n; i++)
	{
		uint32_t	diagonal = row[0];

		row[0] = i;
		for (uint32_t j = 1; j <= b->n; j++)
		{
			uint32_t	above = row[j];

			row[j] = smaller(smaller(above, row[j - 1]) + 1, diagonal + (a->codes[i - 1] != b->codes[j - 1]));
			diagonal = above;
		}
	}
	return row[b->n];
}

/* ---- texts ---- */

static GenieVector
vector_of(const Text *text)
{
	return (GenieVector) {text->codes, text->n, false};
}

/* A text of so many characters of so many, or one that is like another but for some edits. */
static void
draw(GenieRandom *random, Text *text, const Text *like, uint32_t length, uint32_t alphabet)
{
	text->n = like == NULL ? length : like->n;
	for (uint32_t i = 0; i < text->n; i++)
		text->codes[i] = like != NULL ? like->codes[i] : (uint8_t) (255 - genie_random_below(random, alphabet));
	for (uint32_t edits = like == NULL ? 0 : (uint32_t) genie_random_below(random, 6); edits > 0; edits--)
	{
		uint32_t	at = (uint32_t) genie_random_below(random, text->n + 1);
		uint8_t		code = (uint8_t) (255 - genie_random_below(random, alphabet));

		if (edits % 3 == 0 && at < text->n)
			text->codes[at] = code;
		else if (edits % 3 == 1 && text->n < LENGTH_MAX)
		{
			memmove(text->codes + at + 1, text->codes + at, text->n - at);
			text->codes[at] = code;
			text->n++;
		}
		else if (at < text->n)
		{
			memmove(text->codes + at, text->codes + at + 1, text->n - at - 1);
			text->n--;
		}
	}
}

static void
fill(GenieRandom *random, uint32_t length_max, uint32_t alphabet)
{
	for (uint32_t i = 0; i < TEXTS; i++)
		draw(random, &texts[i], i % 3 == 2 ? &texts[i - 1] : NULL,
			 (uint32_t) genie_random_below(random, length_max + 1), alphabet);
	for (uint32_t i = 0; i < QUERIES; i++)
		draw(random, &queries[i], i % 2 == 0 ? &texts[i] : NULL,
			 (uint32_t) genie_random_below(random, length_max + 1), alphabet);
	queries[QUERIES - 1].n = 0;
}

/* ---- keys ---- */

/* The texts' records of n codes, and an unknown one; memory is as large as it must be, for the sanitizer. */
static char *
make_records(uint32_t n)
{
	GenieValueShape shape = {.metric = GENIE_METRIC_EDIT, .n_dimensions = n};
	size_t		n_bytes = genie_value_record_bytes(GENIE_METRIC_EDIT, n);
	char	   *records = malloc((TEXTS + 1) * n_bytes);

	memset(records, 0xAA, (TEXTS + 1) * n_bytes);
	CHECK(n_bytes % GENIE_VALUE_STRING_ALIGN == 0 && n_bytes >= n + sizeof(uint16_t));
	for (uint32_t i = 0; i < TEXTS; i++)
	{
		genie_value_record(shape, vector_of(&texts[i]), records + i * n_bytes);
		CHECK(genie_value_string_valid(n, records + i * n_bytes));
	}
	genie_value_record_unknown(GENIE_METRIC_EDIT, n, records + TEXTS * n_bytes);
	CHECK(genie_value_string_valid(n, records + TEXTS * n_bytes));
	return records;
}

static GenieValueQuery *
make_query(uint32_t n, const Text *text)
{
	size_t		n_bytes = genie_value_query_bytes(GENIE_METRIC_EDIT, n);
	GenieValueQuery *query = malloc(n_bytes);

	memset(query, 0xAA, n_bytes);
	genie_value_query((GenieValueShape) {.metric = GENIE_METRIC_EDIT, .n_dimensions = n}, vector_of(text), query);
	CHECK(genie_value_query_valid(query, n_bytes));
	return query;
}

/* The keys of the records are the same by all kernels, from any record on. */
static void
check_kernels(const GenieValueQuery *query, const char *records, uint32_t *keys)
{
	size_t		n_bytes = genie_value_string_bytes(query->n_dimensions);

	genie_value_keys(query, records, TEXTS + 1, keys);
	for (uint32_t k = 0; genie_value_string_nth(k) != NULL; k++)
		for (uint32_t first = 0; first <= TEXTS + 1; first += 1 + first / 3)
		{
			uint32_t	n = TEXTS + 1 - first;
			uint32_t   *again = malloc(n * sizeof(uint32_t) + 1);

			genie_value_keys_by(genie_value_string_nth(k), query, records + first * n_bytes, n, again);
			if (!CHECK(memcmp(again, keys + first, n * sizeof(uint32_t)) == 0))
				printf("  %s, from record %u on\n", genie_value_string_nth(k)->name, first);
			free(again);
		}
}

static void
check_texts(uint32_t n)
{
	char	   *records = make_records(n);
	uint32_t	keys[TEXTS + 1];

	for (uint32_t q = 0; q < QUERIES; q++)
	{
		GenieValueQuery *query = make_query(n, &queries[q]);
		bool		below = true;
		bool		equal = true;

		check_kernels(query, records, keys);
		for (uint32_t i = 0; i < TEXTS; i++)
		{
			uint32_t	distance = edit_distance(&queries[q], &texts[i]);
			uint32_t	difference = queries[q].n > texts[i].n ? queries[q].n - texts[i].n : texts[i].n - queries[q].n;
			double		bound = genie_value_key_bound(keys[i]);

			below = below && bound <= distance && bound >= difference;
			if (texts[i].n <= n && queries[q].n <= GENIE_VALUE_PATTERN_MAX)
				equal = equal && bound == distance;
		}
		CHECK(genie_value_key_bound(keys[TEXTS]) == 0);
		if (!CHECK(below && equal))
			printf("  records of %u codes, a query of %u: %s\n", n, queries[q].n, below ? "too small" : "too large");
		free(query);
	}
	free(records);
}

static void
test_texts(void)
{
	static const uint32_t codes[] = {14, 30, 46, 62, 78, 94, 110, 126};
	static const uint32_t lengths[] = {1, 9, 30, 62, 66, 100, 130, LENGTH_MAX};
	GenieRandom random = {1};

	for (uint32_t i = 0; i < 8 * 8 * 20; i++)
	{
		fill(&random, lengths[i / 8 % 8], i % 3 == 0 ? 2 : i % 3 == 1 ? 20 : 256);
		check_texts(codes[i % 8]);
	}
}

/* Words of 64 rows end here and there. */
static void
test_ends(void)
{
	GenieRandom random = {2};

	for (uint32_t n = 0; n <= 140; n++)
	{
		fill(&random, 140, 3);
		for (uint32_t q = 0; q < QUERIES; q++)
			draw(&random, &queries[q], NULL, n, 3);
		check_texts(126);
	}
}

static void
test_sizes(void)
{
	static uint8_t zeros[70000];
	GenieValueQuery *query = make_query(30, &texts[0]);
	size_t		n_bytes = genie_value_query_bytes(GENIE_METRIC_EDIT, 30);
	char		record[32] = {0};
	uint32_t	key;

	CHECK_INT(genie_value_string_codes(0), 14);
	CHECK_INT(genie_value_string_codes(14), 14);
	CHECK_INT(genie_value_string_codes(15), 30);
	CHECK_INT(genie_value_string_codes(126), 126);
	CHECK_INT(genie_value_string_codes(5000), 126);
	CHECK(!genie_value_query_valid(query, n_bytes - 16));
	query->norm = 65536;
	CHECK(!genie_value_query_valid(query, n_bytes));
	query->norm = NAN;
	CHECK(!genie_value_query_valid(query, n_bytes));
	query->norm = 3;
	query->n_dimensions = GENIE_VALUE_STRING_MAX + 1;
	CHECK(!genie_value_query_valid(query, n_bytes));
	free(query);

	/* the longest texts */
	genie_value_string(30, (GenieVector) {zeros, 65534, false}, record);
	query = make_query(30, &texts[0]);
	genie_value_keys(query, record, 1, &key);
	CHECK_INT((int) genie_value_key_bound(key), (int) (65534 - texts[0].n));
	genie_value_string(30, (GenieVector) {zeros, 65535, false}, record);
	genie_value_keys(query, record, 1, &key);
	CHECK_INT((int) genie_value_key_bound(key), 0);
	free(query);
	query = malloc(n_bytes);
	genie_value_query((GenieValueShape) {.metric = GENIE_METRIC_EDIT, .n_dimensions = 30},
					  (GenieVector) {zeros, 65535, false}, query);
	CHECK(genie_value_query_valid(query, n_bytes));
	genie_value_string(30, vector_of(&texts[0]), record);
	genie_value_keys(query, record, 1, &key);
	CHECK_INT((int) genie_value_key_bound(key), (int) (65535 - texts[0].n));
	free(query);

	/* not zeros behind the codes */
	genie_value_string(14, (GenieVector) {zeros, 3, false}, record);
	record[2 + 3] = 1;
	CHECK(!genie_value_string_valid(14, record));
}

int
main(void)
{
	test_texts();
	test_ends();
	test_sizes();
	return genie_test_end();
}
