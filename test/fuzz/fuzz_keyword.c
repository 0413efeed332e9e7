/*
 * fuzz_keyword.c
 *	  Fuzz target for packed sets of keywords: what binary input and damaged pages bring.
 *
 * The first byte is the number of keywords, the rest the packed set.  A set that genie_packed_valid() accepts can be
 * read without a check: its keywords are well-formed and ascend; intervals that are made of them stay disjoint when
 * they are normalised, and count what a walk over all of them counts.
 */
#include <stdlib.h>
#include <string.h>

#include "genie_keyword.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool promise)
{
	if (!promise)
		abort();
}

/* Malformed bytes are refused, and none behind them is read. */
static void
read_parts(const uint8_t *data, size_t size)
{
	GenieKey	key = {data, (uint32_t) size};
	GenieKey	value;
	GenieFamily family;
	uint32_t	dimension;
	int64_t		number;
	size_t		n = genie_key_get_int(data, size, &number);

	if (n > 0)
	{
		uint8_t		again[GENIE_KEY_INT_BYTES];

		require(n <= size && genie_key_put_int(again, number) == n && memcmp(again, data, n) == 0);
	}
	if (genie_key_split(key, &dimension, &family, &value))
	{
		uint8_t		again[GENIE_DIMENSION_BYTES];

		n = genie_key_put_dimension(again, dimension);
		require(n < size && memcmp(again, data, n) == 0);
		require(genie_key_prefix_len(key) <= size && value.len == size - genie_key_prefix_len(key));
	}
}

static bool
same_prefix(GenieKey a, GenieKey b)
{
	uint32_t	len = genie_key_prefix_len(a);

	return genie_key_prefix_len(b) == len && memcmp(a.data, b.data, len) == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	GenieKey	keys[256];
	GenieInterval intervals[256];
	GenieQueryView query = {.min_match = 1};
	const uint8_t *at;
	uint32_t	n;
	uint32_t	n_intervals = 0;
	uint32_t	count = 0;
	bool		conflict = false;

	if (size == 0)
		return 0;
	n = data[0];
	read_parts(data + 1, size - 1);
	if (!genie_packed_valid(data + 1, size - 1, n))
		return 0;

	at = data + 1;
	for (uint32_t i = 0; i < n; i++)
	{
		GenieFamily family;
		GenieKey	value;
		uint32_t	dimension;

		keys[i] = genie_packed_next(&at);
		require(at <= data + size && genie_key_split(keys[i], &dimension, &family, &value));
		require(genie_family_known(family));
		require(i == 0 || genie_key_cmp(keys[i - 1], keys[i]) < 0);
	}
	require(at == data + size);

	/* every third keyword by itself, and what lies between two of one dimension, in an order that is none */
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	from = (i * 7) % n;
		uint32_t	to = from + i % 5;

		if (i % 3 == 0)
			intervals[n_intervals++] = (GenieInterval) {keys[from], keys[from], false, true};
		else if (to < n && same_prefix(keys[from], keys[to]) &&
				 genie_cut_cmp(keys[from], i % 2 == 0, keys[to], i % 4 == 0) < 0)
			intervals[n_intervals++] = (GenieInterval) {keys[from], keys[to], i % 2 == 0, i % 4 == 0};
	}
	qsort(intervals, n_intervals, sizeof(GenieInterval), genie_interval_cmp);
	query.n_intervals = genie_intervals_unite(intervals, 0, 0, n_intervals / 2);
	query.n_intervals = genie_intervals_unite(intervals, query.n_intervals, n_intervals / 2, n_intervals);
	query.intervals = intervals;
	require(query.n_intervals <= n_intervals);
	for (uint32_t i = 0; i < query.n_intervals; i++)
	{
		require(genie_cut_cmp(intervals[i].lo, intervals[i].lo_after, intervals[i].hi, intervals[i].hi_after) < 0);
		require(i == 0 || genie_cut_cmp(intervals[i - 1].hi, intervals[i - 1].hi_after, intervals[i].lo,
										intervals[i].lo_after) <= 0);
		for (uint32_t k = 0; k < n; k++)
			count += genie_cut_cmp(intervals[i].lo, intervals[i].lo_after, keys[k], false) <= 0 &&
				genie_cut_cmp(keys[k], true, intervals[i].hi, intervals[i].hi_after) <= 0;
	}
	require(genie_query_count_packed(&query, data + 1, n, &conflict, NULL) == count);
	return 0;
}
