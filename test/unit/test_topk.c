/*
 * test_topk.c
 *	  The best k of any stream of offers, against sorting everything.
 */
#include <string.h>

#include "genie_test.h"
#include "genie_test_hits.h"
#include "genie_topk.h"

#define N_MAX 20000

static GenieHit all[N_MAX];		/* in object order */
static GenieHit sorted[N_MAX];	/* in rank order */

/* n hits of ascending objects; keys below range, or-ed with high bits sometimes */
static void
make_hits(GenieRandom *random, uint32_t n, uint64_t range, uint32_t shift)
{
	uint32_t	object = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		object += 1 + (uint32_t) genie_random_below(random, 5);
		all[i].object = object;
		all[i].key = (uint32_t) (genie_random_below(random, range) << shift);
	}
	memcpy(sorted, all, n * sizeof(GenieHit));
	qsort(sorted, n, sizeof(GenieHit), genie_test_compare_hits);
}

/* The n hits that rank from sorted[start] on, as the top-k finds them; true if they are the same. */
static bool
same_page(uint32_t n, uint32_t start, uint32_t k, uint32_t min_key, const GenieHit *after)
{
	GenieHit   *hits = malloc(genie_topk_capacity(k) * sizeof(GenieHit));
	GenieTopK	top;
	uint32_t	n_found;
	uint32_t	n_wanted = 0;
	bool		same;

	genie_topk_init(&top, hits, k, min_key, after);
	for (uint32_t i = 0; i < n; i++)
	{
		genie_topk_offer(&top, all[i].key, all[i].object);
		if (i % 997 == 0)
			genie_topk_compact(&top);
	}
	n_found = genie_topk_finish(&top);
	while (n_wanted < k && start + n_wanted < n && sorted[start + n_wanted].key >= min_key)
		n_wanted++;
	same = n_found == n_wanted &&
		memcmp(hits, sorted + start, n_wanted * sizeof(GenieHit)) == 0;
	free(hits);
	return same;
}

static void
test_against_sort(GenieRandom *random)
{
	static const uint32_t ks[] = {1, 2, 10, 48, 49, 100, 1000, 5000, N_MAX, 3 * N_MAX};
	static const uint64_t ranges[] = {1, 2, 15, 256, 300, 70000, UINT64_C(1) << 32};

	for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++)
	{
		for (size_t i = 0; i < sizeof(ks) / sizeof(ks[0]); i++)
		{
			uint32_t	n = (uint32_t) genie_random_below(random, N_MAX + 1);

			make_hits(random, n, ranges[r], 0);
			CHECK(same_page(n, 0, ks[i], 1, NULL));
			CHECK(same_page(n, 0, ks[i], (uint32_t) (ranges[r] / 2 + 1), NULL));
			if (ranges[r] <= 256)
			{
				make_hits(random, n, ranges[r], 13);
				CHECK(same_page(n, 0, ks[i], 1, NULL));
				make_hits(random, n, ranges[r], 24);
				CHECK(same_page(n, 0, ks[i], 1, NULL));
			}
		}
	}
	make_hits(random, 0, 10, 0);
	CHECK(same_page(0, 0, 10, 1, NULL));
	make_hits(random, 1, 10, 0);
	CHECK(same_page(1, 0, 10, 1, NULL));
}

/* the largest key there is, tied, ascending and descending keys */
static void
test_extremes(void)
{
	for (int kind = 0; kind < 3; kind++)
	{
		for (uint32_t i = 0; i < N_MAX; i++)
		{
			all[i].object = i;
			all[i].key = kind == 0 ? UINT32_MAX : kind == 1 ? i : N_MAX - i;
		}
		memcpy(sorted, all, sizeof(all));
		qsort(sorted, N_MAX, sizeof(GenieHit), genie_test_compare_hits);
		CHECK(same_page(N_MAX, 0, 1, 1, NULL));
		CHECK(same_page(N_MAX, 0, 777, 1, NULL));
		CHECK(same_page(N_MAX, 0, N_MAX, 1, NULL));
	}
}

/* pages by cursor give the whole order */
static void
test_cursor(GenieRandom *random)
{
	static const uint64_t ranges[] = {2, 15, 70000};

	for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++)
	{
		uint32_t	n = N_MAX;
		uint32_t	start = 0;

		make_hits(random, n, ranges[r], 0);
		while (start < n && sorted[start].key >= 1)
		{
			uint32_t	k = 1 + (uint32_t) genie_random_below(random, 3000);

			if (!CHECK(same_page(n, start, k, 1, start == 0 ? NULL : &sorted[start - 1])))
				break;
			start += k;
		}
	}
}

/* a tie storm must leave only a floor behind */
static void
test_floor(void)
{
	GenieHit   *hits = malloc(genie_topk_capacity(10) * sizeof(GenieHit));
	GenieTopK	top;

	genie_topk_init(&top, hits, 10, 3, NULL);
	CHECK_INT(top.floor, 3);
	for (uint32_t i = 0; i < 1000000; i++)
		genie_topk_offer(&top, 7, i);
	CHECK_INT(top.floor, 8);
	CHECK_INT(top.n, 10);
	genie_topk_offer(&top, 9, 1000000);
	genie_topk_compact(&top);
	CHECK_INT(top.floor, 8);
	CHECK_INT(genie_topk_finish(&top), 10);
	CHECK(hits[0].key == 9 && hits[0].object == 1000000 && hits[1].object == 0 && hits[9].object == 8);
	free(hits);
}

int
main(void)
{
	GenieRandom random = {42};

	test_against_sort(&random);
	test_extremes();
	test_cursor(&random);
	test_floor();
	return genie_test_end();
}
