/*
 * generate_rows.c
 *	  Rows of the papers' shapes, for benchmarks through SQL: COPY text on standard output.
 *
 *	generate_rows SHAPE ROWS SEED FIRST [query]
 *
 * Each line is a number, from FIRST on, and an int[] of keywords; with "query" the second column is a genie_query in
 * its text form, drawn from the same distribution.
 *
 *	sift		237 functions, each the bucket of a normally distributed projection, 67 buckets, standard
 *				deviation 8.56 buckets: sum of squared bucket frequencies 1/30 (GENIE, section 6: SIFT with
 *				p-stable functions)
 *	documents	10 different words of a Zipf(1) vocabulary of 200,000
 *	adult		14 attributes: 6 numeric ones of 1024 values, 8 of 2 to 40 values; queries ask for the numeric
 *				ones within 50 (GENIE's Adult with ranges)
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS 237
#define BUCKETS 67
#define BUCKET_DEVIATION 8.56
#define WORDS 10
#define VOCABULARY 200000
#define ATTRIBUTES 14
#define NUMERIC 6
#define NUMERIC_VALUES 1024
#define RANGE 50
#define KEYWORD_SPACE 2048		/* an attribute's keywords begin at a multiple of this */

static uint64_t state;

/* splitmix64 */
static uint64_t
next_random(void)
{
	uint64_t	z = (state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static double
uniform(void)
{
	return (double) (next_random() >> 11) / 9007199254740992.0;
}

static int
sift_bucket(void)
{
	double		normal = sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
	int			bucket = (int) floor(BUCKETS / 2.0 + normal * BUCKET_DEVIATION);

	return bucket < 0 ? 0 : bucket >= BUCKETS ? BUCKETS - 1 : bucket;
}

static int
sift(int *keywords)
{
	for (int i = 0; i < FUNCTIONS; i++)
		keywords[i] = i * BUCKETS + sift_bucket();
	return FUNCTIONS;
}

static int
documents(int *keywords)
{
	static double *cumulated = NULL;

	if (cumulated == NULL)
	{
		cumulated = malloc((VOCABULARY + 1) * sizeof(double));
		cumulated[0] = 0;
		for (int i = 1; i <= VOCABULARY; i++)
			cumulated[i] = cumulated[i - 1] + 1.0 / i;
	}
	for (int n = 0; n < WORDS;)
	{
		double		at = uniform() * cumulated[VOCABULARY];
		int			low = 0;
		int			high = VOCABULARY - 1;
		int			same = 0;

		while (low < high)
		{
			int			middle = (low + high) / 2;

			if (cumulated[middle + 1] <= at)
				low = middle + 1;
			else
				high = middle;
		}
		while (same < n && keywords[same] != low)
			same++;
		if (same == n)
			keywords[n++] = low;
	}
	return WORDS;
}

static int
adult(int *keywords)
{
	static const int values[ATTRIBUTES - NUMERIC] = {9, 16, 7, 15, 6, 5, 2, 40};

	for (int i = 0; i < ATTRIBUTES; i++)
		keywords[i] = i * KEYWORD_SPACE +
			(int) (uniform() * (i < NUMERIC ? NUMERIC_VALUES : values[i - NUMERIC]));
	return ATTRIBUTES;
}

int
main(int argc, char **argv)
{
	int			(*shape) (int *keywords) = NULL;
	int			keywords[FUNCTIONS];
	long		first;
	long		rows;
	int			query;

	if (argc >= 5)
		shape = strcmp(argv[1], "sift") == 0 ? sift : strcmp(argv[1], "documents") == 0 ? documents :
			strcmp(argv[1], "adult") == 0 ? adult : NULL;
	if (shape == NULL)
	{
		fprintf(stderr, "usage: generate_rows sift|documents|adult ROWS SEED FIRST [query]\n");
		return 2;
	}
	rows = atol(argv[2]);
	state = (uint64_t) atol(argv[3]);
	first = atol(argv[4]);
	query = argc > 5;
	for (long row = first; row < first + rows; row++)
	{
		int			n = shape(keywords);

		printf("%ld\t{", row);
		for (int i = 0; i < n; i++)
		{
			int			low = keywords[i] - RANGE;
			int			high = keywords[i] + RANGE;
			int			base = keywords[i] / KEYWORD_SPACE * KEYWORD_SPACE;

			if (query && shape == adult && i < NUMERIC)
				printf("%s[%d,%d]", i > 0 ? "," : "", low < base ? base : low, high);
			else
				printf(query && shape == adult ? "%s[%d,%d]" : "%s%d", i > 0 ? "," : "", keywords[i], keywords[i]);
		}
		puts("}");
	}
	return 0;
}
