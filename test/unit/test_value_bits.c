/*
 * test_value_bits.c
 *	  Bit strings as values: records, and keys by every kernel, which tell the number of bits that differ.
 */
#include <string.h>

#include "genie_test.h"
#include "genie_value_record.h"
#include "genie_value_scan.h"

#define BITS_MAX GENIE_VALUE_DIMENSIONS_MAX
#define ROWS 21					/* not a multiple of the records that a kernel takes together */

static const uint32_t lengths[] = {
	1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 192, 256, 257, 320, 448, 512, 513, 576, 640, 1000, 1024, 1025, 4096, BITS_MAX
};

typedef enum Data
{
	RANDOM,
	NEAR,						/* few bits differ from the query's */
	ZEROS,
	ONES,
	N_DATA
} Data;

static uint8_t strings[ROWS + 1][(BITS_MAX + 7) / 8];	/* the last one is the query's */

static GenieValueShape
shape_of(uint32_t n)
{
	return (GenieValueShape) {.metric = GENIE_METRIC_HAMMING, .n_dimensions = n};
}

static void
fill(GenieRandom *random, Data data, uint32_t n)
{
	for (uint32_t s = ROWS + 1; s-- > 0;)
	{
		for (uint32_t i = 0; i < (n + 7) / 8; i++)
			strings[s][i] = data == ZEROS ? 0 : data == ONES ? (s == ROWS ? 0 : 0xFF) :
				data == NEAR && s < ROWS ? strings[ROWS][i] : (uint8_t) genie_random(random);
		if (data == NEAR)
			strings[s][genie_random_below(random, (n + 7) / 8)] ^= 0x84;
		if (n % 8 != 0)
			strings[s][n / 8] &= (uint8_t) ~(0xFF >> n % 8);
	}
}

/* Bit by bit. */
static uint32_t
distance_of(uint32_t row, uint32_t n)
{
	uint32_t	distance = 0;

	for (uint32_t i = 0; i < n; i++)
		distance += (strings[row][i / 8] >> (7 - i % 8) & 1) != (strings[ROWS][i / 8] >> (7 - i % 8) & 1);
	return distance;
}

/* The first n_rows, by one kernel, in memory that ends with them. */
static bool
check_keys(const GenieValueKernel *kernel, uint32_t n, uint32_t n_rows)
{
	size_t		n_bytes = genie_value_record_bytes(GENIE_METRIC_HAMMING, n);
	size_t		query_bytes = genie_value_query_bytes(GENIE_METRIC_HAMMING, n);
	char	   *records = malloc(n_rows * n_bytes);
	GenieValueQuery *query = malloc(query_bytes);
	uint32_t	keys[ROWS + 1];
	bool		right = true;

	memset(keys, 0xEE, sizeof(keys));
	for (uint32_t r = 0; r < n_rows; r++)
	{
		genie_value_record(shape_of(n), (GenieVector) {strings[r], n, false},
						   records + r * n_bytes);
		right = right && genie_value_bits_valid(n, records + r * n_bytes);
	}
	genie_value_query(shape_of(n), (GenieVector) {strings[ROWS], n, false},
					  query);
	right = right && genie_value_query_valid(query, query_bytes) && query_bytes % GENIE_QUANTIZED_ALIGN == 0;
	if (kernel == NULL)
		genie_value_keys(query, records, n_rows, keys);
	else
		genie_value_keys_by(kernel, query, records, n_rows, keys);
	for (uint32_t r = 0; r < n_rows; r++)
		right = right && keys[r] == genie_value_key(distance_of(r, n));
	right = right && keys[n_rows] == 0xEEEEEEEE;
	if (!right)
		printf("  %s, %u bits, %u rows\n", kernel == NULL ? "the best" : kernel->name, n, n_rows);
	free(records);
	free(query);
	return CHECK(right);
}

static void
test_kernels(void)
{
	GenieRandom random = {1};

	for (uint32_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
		for (Data data = RANDOM; data < N_DATA; data++)
		{
			fill(&random, data, lengths[l]);
			for (uint32_t k = 0; genie_value_bits_nth(k) != NULL; k++)
				for (uint32_t n_rows = data == RANDOM && lengths[l] <= 1025 ? 0 : ROWS; n_rows <= ROWS; n_rows++)
					check_keys(genie_value_bits_nth(k), lengths[l], n_rows);
			check_keys(NULL, lengths[l], ROWS);
		}
}

/* A key tells the distance. */
static void
test_keys(void)
{
	bool		right = true;

	for (uint32_t distance = 0; distance <= BITS_MAX; distance++)
	{
		uint32_t	key = genie_value_key(distance);

		right = right && key >= 1 && key < GENIE_VALUE_KEY_MAX && genie_value_key_bound(key) == distance;
		right = right && (distance == 0 || key < genie_value_key(distance - 1));
	}
	CHECK(right);
}

/* A bit behind the string's is noticed, wherever it is. */
static void
test_valid(void)
{
	GenieRandom random = {2};

	for (uint32_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]) && lengths[l] < BITS_MAX; l++)
	{
		uint32_t	n = lengths[l];
		uint32_t	n_all = 64 * genie_value_bits_words(n);
		uint8_t    *record = malloc(n_all / 8);

		fill(&random, ONES, n);
		genie_value_record(shape_of(n), (GenieVector) {strings[0], n, false},
						   record);
		for (uint32_t i = n; i < n_all; i++)
		{
			record[i / 8] ^= 0x80 >> i % 8;
			CHECK(!genie_value_bits_valid(n, record));
			record[i / 8] ^= 0x80 >> i % 8;
		}
		CHECK(genie_value_bits_valid(n, record));
		genie_value_record_unknown(GENIE_METRIC_HAMMING, n, record);
		CHECK(genie_value_bits_valid(n, record));
		CHECK(record[0] == 0);
		free(record);
	}
}

int
main(void)
{
	CHECK(genie_value_bits_nth(0) == &genie_value_bits_portable);
	for (uint32_t k = 0; genie_value_bits_nth(k) != NULL; k++)
		printf("%s\n", genie_value_bits_nth(k)->name);
	test_kernels();
	test_keys();
	test_valid();
	return genie_test_end();
}
