/*
 * test_set_similarity.c
 *	  Similarities of sets: values, and what the index relies on, exactly and not but for rounding.
 */
#include "genie_keyword.h"
#include "genie_set_similarity.h"
#include "genie_test.h"

#define SMALL		90
#define ROUNDS		1000000

/* what bound's contract asks of a distance (genie_opclass.h), at one point; it has at most o keywords to match */
static bool
check_bound(uint32_t c, uint32_t q, uint32_t o)
{
	double		distance = genie_jaccard_distance(c, q, o);
	bool		ok = distance >= 0 && distance <= 1;

	ok &= genie_jaccard_distance(c, o, q) == distance;
	ok &= genie_jaccard_distance(c, q, o + 1) >= distance;
	if (c > 0)
		ok &= genie_jaccard_distance(c - 1, q, o) >= distance;
	/* where the similarity is at least s, the threshold of s lets it pass */
	ok &= distance <= 1.0 - genie_jaccard_similarity(c, q, o);
	return ok;
}

static bool
check_range(uint32_t c, uint32_t a, uint32_t b)
{
	double		jaccard = genie_jaccard_similarity(c, a, b);
	double		dice = genie_dice_similarity(c, a, b);
	double		cosine = genie_cosine_similarity(c, a, b);
	double		overlap = genie_overlap_similarity(c, a, b);

	/* in this order by definition; roundings may differ where they are equal */
	return jaccard >= 0 && jaccard <= dice && dice <= cosine * (1 + 1e-15) && cosine <= overlap * (1 + 1e-15) &&
		overlap <= 1;
}

static void
test_small(void)
{
	unsigned long bad = 0;

	for (uint32_t q = 0; q <= SMALL; q++)
		for (uint32_t o = 0; o <= SMALL; o++)
			for (uint32_t c = 0; c <= q && c <= o; c++)
				bad += !check_bound(c, q, o) + !check_range(c, q, o);
	CHECK_INT(bad, 0);
}

static void
test_random(void)
{
	GenieRandom random = {7};
	unsigned long bad = 0;

	for (int round = 0; round < ROUNDS; round++)
	{
		uint32_t	q = (uint32_t) genie_random_below(&random, GENIE_OBJECT_KEYWORDS_MAX + 1);
		uint32_t	o = (uint32_t) genie_random_below(&random, GENIE_OBJECT_KEYWORDS_MAX + 1);
		uint32_t	c = (uint32_t) genie_random_below(&random, (q < o ? q : o) + 1);

		bad += !check_bound(c, q, o) + !check_range(c, q, o);
	}
	CHECK_INT(bad, 0);
}

static void
test_values(void)
{
	CHECK(genie_jaccard_similarity(0, 0, 0) == 1 && genie_jaccard_distance(0, 0, 0) == 0);
	CHECK(genie_dice_similarity(0, 0, 0) == 1 && genie_cosine_similarity(0, 0, 0) == 1);
	CHECK(genie_overlap_similarity(0, 0, 0) == 1 && genie_overlap_similarity(0, 0, 3) == 0);
	CHECK(genie_jaccard_similarity(0, 0, 3) == 0 && genie_jaccard_distance(0, 3, 0) == 1);
	CHECK(genie_dice_similarity(0, 0, 3) == 0 && genie_cosine_similarity(0, 3, 0) == 0);
	CHECK(genie_jaccard_similarity(2, 3, 3) == 0.5 && genie_dice_similarity(2, 3, 5) == 0.5);
	CHECK(genie_cosine_similarity(3, 4, 9) == 0.5 && genie_overlap_similarity(2, 4, 9) == 0.5);
	CHECK(genie_jaccard_distance(7, 7, 10) <= 1.0 - 0.7 && genie_jaccard_distance(1, 1, 10) <= 1.0 - 0.1);
	CHECK(genie_jaccard_similarity(65535, 65535, 65535) == 1 && genie_overlap_similarity(65535, 65535, 4000000) == 1);
}

int
main(void)
{
	test_values();
	test_small();
	test_random();
	return genie_test_end();
}
