/*
 * test_edit.c
 *	  The edit distance against a plain dynamic programme, and the bound that n-grams give it.
 */
#include <setjmp.h>
#include <string.h>

#include "genie_edit.h"
#include "genie_test.h"

#define LENGTH_MAX 1200
#define GRAM_MAX 5
#define NO_LIMIT UINT32_MAX

typedef struct String
{
	uint32_t	n;
	uint32_t	at[LENGTH_MAX];
} String;

/* The definition. */
static uint32_t
plain_distance(const String *a, const String *b)
{
	static uint32_t row[LENGTH_MAX + 1];

	for (uint32_t j = 0; j <= b->n; j++)
		row[j] = j;
	for (uint32_t i = 1; i <= a->n; i++)
	{
		uint32_t	corner = row[0];

		row[0] = i;
		for (uint32_t j = 1; j <= b->n; j++)
		{
			uint32_t	cost = corner + (a->at[i - 1] != b->at[j - 1]);

			corner = row[j];
			if (row[j] + 1 < cost)
				cost = row[j] + 1;
			if (row[j - 1] + 1 < cost)
				cost = row[j - 1] + 1;
			row[j] = cost;
		}
	}
	return row[b->n];
}

/* the widths that there are: 1, 4, 8; then one that no processor has */
static uint32_t
next_width(uint32_t lanes)
{
	return lanes == 1 ? 4 : 2 * lanes;
}

static GenieEditPattern *
make_pattern(const String *string)
{
	GenieEditPattern *pattern = malloc(sizeof(GenieEditPattern));

	pattern->slots = calloc(genie_edit_slots(string->n), sizeof(uint64_t));
	pattern->ids = malloc(string->n * sizeof(uint16_t) + 1);
	pattern->masks = calloc(genie_edit_masks(string->n), sizeof(uint64_t));
	genie_edit_prepare(pattern, string->at, string->n);
	return pattern;
}

static void
free_pattern(GenieEditPattern *pattern)
{
	free(pattern->slots);
	free(pattern->ids);
	free(pattern->masks);
	free(pattern);
}

/* in memory of exactly the sizes that are asked for */
static uint32_t
distance_to(GenieEditPattern *pattern, const String *string, uint32_t limit)
{
	uint16_t   *ids = malloc(string->n * sizeof(uint16_t) + 1);
	uint8_t    *scratch = malloc(string->n + 1);
	uint32_t	distance;

	for (uint32_t i = 0; i < string->n; i++)
		ids[i] = genie_edit_id(pattern, string->at[i]);
	distance = genie_edit_distance(pattern, ids, string->n, limit, scratch);
	free(ids);
	free(scratch);
	return distance;
}

static uint32_t
random_character(GenieRandom *random, uint32_t alphabet)
{
	uint32_t	c = (uint32_t) genie_random_below(random, alphabet);

	/* some of several bytes, some beyond 2^31 */
	return c % 3 != 2 ? 'a' + c : c * UINT32_C(0x01030507) + 300;
}

static void
random_string(GenieRandom *random, String *string, uint32_t n, uint32_t alphabet)
{
	string->n = n;
	for (uint32_t i = 0; i < n; i++)
		string->at[i] = random_character(random, alphabet);
}

/* edited is string after so many random edits. */
static void
random_edits(GenieRandom *random, String *edited, const String *string, uint32_t edits, uint32_t alphabet)
{
	*edited = *string;
	for (uint32_t e = 0; e < edits; e++)
	{
		uint32_t	n = edited->n;
		uint32_t	kind = (uint32_t) genie_random_below(random, 3);
		uint32_t	i = (uint32_t) genie_random_below(random, n + 1);

		if (kind == 0 && n < LENGTH_MAX)
		{
			memmove(edited->at + i + 1, edited->at + i, (n - i) * sizeof(uint32_t));
			edited->at[i] = random_character(random, alphabet);
			edited->n++;
		}
		else if (kind == 1 && i < n)
		{
			memmove(edited->at + i, edited->at + i + 1, (n - i - 1) * sizeof(uint32_t));
			edited->n--;
		}
		else if (i < n)
			edited->at[i] = random_character(random, alphabet);
	}
}

/* The distance, and what comes with limits around it. */
static void
check_pair(GenieRandom *random, GenieEditPattern *pattern, const String *a, const String *b)
{
	uint32_t	distance = plain_distance(a, b);
	uint32_t	limits[] = {0, distance - (distance > 0), distance, distance + 1, 64, 0};

	CHECK_INT(distance_to(pattern, b, NO_LIMIT), distance);
	pattern->lanes = 1;
	for (; pattern->lanes < genie_edit_widest(); pattern->lanes = next_width(pattern->lanes))
		CHECK_INT(distance_to(pattern, b, NO_LIMIT), distance);
	limits[5] = (uint32_t) genie_random_below(random, 2 * distance + 10);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
	{
		uint32_t	limited = distance_to(pattern, b, limits[i]);

		if (distance <= limits[i])
			CHECK_INT(limited, distance);
		else
			CHECK(limited > limits[i]);
	}
}

static void
test_distance(GenieRandom *random)
{
	static const uint32_t lengths[] = {0, 1, 2, 7, 31, 63, 64, 65, 127, 128, 129, 191, 192, 193, 256, 320, 384, 385,
	500, 700, 1100};
	static const uint32_t alphabets[] = {1, 2, 4, 26, 1000};
	static String a;
	static String b;
	size_t		n = sizeof(lengths) / sizeof(lengths[0]);

	for (size_t i = 0; i < n; i++)
	{
		for (size_t c = 0; c < 5; c++)
		{
			GenieEditPattern *pattern;

			random_string(random, &a, lengths[i], alphabets[c]);
			pattern = make_pattern(&a);
			for (size_t j = 0; j < n; j++)
			{
				random_string(random, &b, lengths[j], alphabets[c]);
				check_pair(random, pattern, &a, &b);
			}
			/* near ones: bands that are found at once, and such as just fail */
			for (uint32_t edits = 0; edits < 300; edits = edits * 3 / 2 + 1)
			{
				random_edits(random, &b, &a, edits, alphabets[c]);
				check_pair(random, pattern, &a, &b);
			}
			check_pair(random, pattern, &a, &a);
			free_pattern(pattern);
		}
	}
}

/* Several texts at a time, of different lengths, in memory of exactly the size that is asked for. */
static void
test_texts(GenieRandom *random)
{
	static const uint32_t rows[] = {1, 2, 7, 31, 32, 33, 63, 64};
	static const uint32_t alphabets[] = {1, 2, 4, 26, 1000};
	static String a;
	static String b[GENIE_EDIT_LANES];

	for (uint32_t round = 0; round < 2000; round++)
	{
		uint32_t	alphabet = alphabets[round % 5];
		GenieEditPattern *pattern;

		random_string(random, &a, rows[round / 5 % 8], alphabet);
		pattern = make_pattern(&a);
		for (pattern->lanes = 1; pattern->lanes <= genie_edit_widest(); pattern->lanes = next_width(pattern->lanes))
		{
			uint32_t	lanes = pattern->lanes;
			uint32_t	longest = 0;
			uint32_t	lengths[GENIE_EDIT_LANES];
			uint32_t	distances[GENIE_EDIT_LANES];
			uint16_t   *texts;

			for (uint32_t i = 0; i < lanes; i++)
			{
				if (genie_random_below(random, 3) == 0)
					random_edits(random, &b[i], &a, (uint32_t) genie_random_below(random, 9), alphabet);
				else
					random_string(random, &b[i], (uint32_t) genie_random_below(random, i == 0 ? 300 : 70), alphabet);
				lengths[i] = b[i].n;
				longest = b[i].n > longest ? b[i].n : longest;
			}
			texts = malloc((size_t) longest * lanes * sizeof(uint16_t) + 1);
			memset(texts, 0xFF, (size_t) longest * lanes * sizeof(uint16_t));
			for (uint32_t i = 0; i < lanes; i++)
				for (uint32_t j = 0; j < b[i].n; j++)
					texts[j * lanes + i] = genie_edit_id(pattern, b[i].at[j]);
			genie_edit_distances(pattern, texts, lengths, distances);
			for (uint32_t i = 0; i < lanes; i++)
				CHECK_INT(distances[i], plain_distance(&a, &b[i]));
			free(texts);
		}
		free_pattern(pattern);
	}
}

/* What moves far along the band: a long run put in, taken out, and at the other end. */
static void
test_shifts(GenieRandom *random)
{
	static String a;
	static String b;

	for (uint32_t shift = 1; shift < 400; shift += 7)
	{
		GenieEditPattern *pattern;

		random_string(random, &a, 600, 4);
		b = a;
		memmove(b.at, a.at + shift, (a.n - shift) * sizeof(uint32_t));
		for (uint32_t i = a.n - shift; i < a.n; i++)
			b.at[i] = random_character(random, 4);
		pattern = make_pattern(&a);
		check_pair(random, pattern, &a, &b);
		b.n -= shift;
		check_pair(random, pattern, &a, &b);
		free_pattern(pattern);
		pattern = make_pattern(&b);
		check_pair(random, pattern, &b, &a);
		free_pattern(pattern);
	}
}

static jmp_buf left;
static uint32_t pauses;

/* Leaves the computation in some pause. */
static void
pause_and_leave(void)
{
	if (pauses-- == 0)
		longjmp(left, 1);
}

/* The caller is asked often, may leave, and uses the pattern again. */
static void
test_pauses(GenieRandom *random)
{
	static String a;
	static String b;
	static uint16_t ids[LENGTH_MAX];
	static uint8_t scratch[LENGTH_MAX];

	random_string(random, &a, LENGTH_MAX, 4);
	random_string(random, &b, LENGTH_MAX, 4);
	for (volatile uint32_t lanes = 1; lanes <= genie_edit_widest(); lanes = next_width(lanes))
	{
		GenieEditPattern *volatile pattern = make_pattern(&a);
		volatile uint32_t n_left = 0;
		uint32_t	n = LENGTH_MAX / GENIE_EDIT_BLOCK / lanes;

		for (uint32_t i = 0; i < b.n; i++)
			ids[i] = genie_edit_id(pattern, b.at[i]);
		pattern->lanes = lanes;
		pattern->pause = pause_and_leave;
		for (volatile uint32_t later = 0; later < n; later++)
		{
			pauses = later;
			if (setjmp(left) == 0)
				genie_edit_distance(pattern, ids, b.n, NO_LIMIT, scratch);
			else
				n_left++;
		}
		CHECK_INT(n_left, n);
		pattern->pause = NULL;
		CHECK_INT(genie_edit_distance(pattern, ids, b.n, NO_LIMIT, scratch), plain_distance(&a, &b));
		free_pattern(pattern);
	}
}

/* As long as it may be, all characters different. */
static void
test_longest(void)
{
	uint32_t	n = GENIE_EDIT_LENGTH_MAX;
	uint32_t   *characters = malloc(n * sizeof(uint32_t));
	uint16_t   *ids = malloc(n * sizeof(uint16_t));
	uint8_t    *scratch = malloc(n);
	GenieEditPattern pattern;

	for (uint32_t i = 0; i < n; i++)
		characters[i] = i + 1;
	pattern.slots = calloc(genie_edit_slots(n), sizeof(uint64_t));
	pattern.ids = malloc(n * sizeof(uint16_t));
	pattern.masks = calloc(genie_edit_masks(n), sizeof(uint64_t));
	genie_edit_prepare(&pattern, characters, n);
	CHECK_INT(pattern.n_ids, n);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = genie_edit_id(&pattern, i % 1000 == 500 ? 70000 + i : characters[i]);
	CHECK_INT(genie_edit_distance(&pattern, ids, n, NO_LIMIT, scratch), 66);
	memset(ids, 0, n * sizeof(uint16_t));
	CHECK_INT(genie_edit_distance(&pattern, ids, n, NO_LIMIT, scratch), n);
	CHECK(genie_edit_distance(&pattern, ids, n, 100, scratch) > 100);
	CHECK_INT(genie_edit_distance(&pattern, ids, 0, NO_LIMIT, scratch), n);
	free(pattern.slots);
	free(pattern.ids);
	free(pattern.masks);
	free(characters);
	free(ids);
	free(scratch);
}

/* ---- the bound of n-grams ---- */

/*
 * How many padded n-grams two strings share, the smaller number of occurrences of each (src/am/genie_ngram.c); small
 * strings only, so plainly: each gram of one takes an equal one of the other.
 */
static uint32_t
shared_grams(const String *a, const String *b, uint32_t n)
{
	uint32_t	padded[2][64 + 2 * GRAM_MAX];
	uint32_t	grams[2];
	bool		taken[64 + 2 * GRAM_MAX] = {false};
	uint32_t	shared = 0;

	for (int s = 0; s < 2; s++)
	{
		const String *string = s == 0 ? a : b;
		uint32_t	length = string->n + 2 * (n - 1);

		for (uint32_t i = 0; i < length; i++)
			padded[s][i] = ' ';
		memcpy(padded[s] + n - 1, string->at, string->n * sizeof(uint32_t));
		grams[s] = string->n + n - 1;
	}
	for (uint32_t i = 0; i < grams[0]; i++)
	{
		for (uint32_t j = 0; j < grams[1]; j++)
		{
			if (!taken[j] && memcmp(padded[0] + i, padded[1] + j, n * sizeof(uint32_t)) == 0)
			{
				taken[j] = true;
				shared++;
				break;
			}
		}
	}
	return shared;
}

/* A million pairs, random ones and edited ones: the bound is never above the distance. */
static void
test_bound(GenieRandom *random)
{
	uint32_t	wrong = 0;
	uint32_t	tight = 0;

	for (uint32_t i = 0; i < 1000000; i++)
	{
		static String a;
		static String b;
		uint32_t	n = 1 + i % GRAM_MAX;
		uint32_t	alphabet = 1 + (uint32_t) genie_random_below(random, 6);
		uint32_t	size;
		uint32_t	bound;
		uint32_t	distance;

		random_string(random, &a, (uint32_t) genie_random_below(random, 20), alphabet);
		if (i % 2 == 0)
			random_string(random, &b, (uint32_t) genie_random_below(random, 20), alphabet);
		else
			random_edits(random, &b, &a, (uint32_t) genie_random_below(random, 8), alphabet);
		/* the padding's character may occur in them */
		if (a.n > 0 && i % 3 == 0)
			a.at[0] = b.at[b.n / 2] = ' ';
		distance = plain_distance(&a, &b);
		size = (a.n > b.n ? a.n : b.n) + n - 1;
		bound = (size - shared_grams(&a, &b, n) + n - 1) / n;
		wrong += bound > distance;
		tight += bound == distance;
	}
	CHECK_INT(wrong, 0);
	CHECK(tight > 100000);
}

int
main(void)
{
	GenieRandom random = {20};

	test_distance(&random);
	test_texts(&random);
	test_shifts(&random);
	test_pauses(&random);
	test_longest();
	test_bound(&random);
	return genie_test_end();
}
