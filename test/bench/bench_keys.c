/*
 * bench_keys.c
 *	  The CPU engine's best 128 by a key table and by match count, one core.
 *
 * 611,000 words of 3 to 30 3-grams; queries are the 3-grams of a word, of which two, half or all are wrong, so that the
 * nearest by the edit distance's bound may share none.  For each instruction set: microseconds a query, the median of
 * 101.  The time of keys minus the time of counts is the cost of ranking by keys.  Times are processor time.
 *
 * The data is seeded: the same on every machine.
 */
#define _POSIX_C_SOURCE 200112L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_time.h"
#include "genie_engine_cpu.h"
#include "genie_kernels.h"
#include "../unit/genie_test_image.h"

#define N_WORDS 611000
#define GRAM 3
#define GRAMS 9000				/* that there are */
#define WORD_MIN 3
#define WORD_MAX 30
#define QUERIES 101
#define K 128

/* The key of ceil((max(|query|, |object|) - count) / 3): fewer is better, and no bound is above WORD_MAX / 3. */
static void
make_word_keys(uint32_t n_query, GenieKeyTable *table, uint16_t *class_of_size, uint32_t *keys)
{
	table->first_size = WORD_MIN;
	table->n_sizes = table->n_classes = WORD_MAX - WORD_MIN + 1;
	table->stride = n_query + 1;
	table->class_of_size = class_of_size;
	table->keys = keys;
	for (uint32_t class = 0; class < table->n_classes; class++)
	{
		uint32_t	size = WORD_MIN + class;
		uint32_t	larger = n_query > size ? n_query : size;

		class_of_size[class] = (uint16_t) class;
		for (uint32_t count = 0; count <= n_query; count++)
			keys[class * table->stride + count] = WORD_MAX / GRAM + 1 -
				(larger - (count < size ? count : size) + GRAM - 1) / GRAM;
	}
}

/* Words of WORD_MIN .. WORD_MAX grams, by Zipf's law; about 11 each. */
static void
make_words(GenieRandom *random, GenieModel *model)
{
	uint32_t   *grams = malloc((size_t) N_WORDS * WORD_MAX * sizeof(uint32_t));
	double		sums[GRAMS];

	genie_model_begin(model, N_WORDS, GRAMS);
	model->size_width = 1;
	model->min_size = WORD_MIN;
	for (uint32_t g = 0; g < GRAMS; g++)
		sums[g] = (g == 0 ? 0 : sums[g - 1]) + 1.0 / (g + 20);
	for (uint32_t i = 0; i < N_WORDS; i++)
	{
		model->sizes[i] = WORD_MIN;
		for (uint32_t d = WORD_MIN; d < WORD_MAX; d++)
			model->sizes[i] += genie_random_below(random, 10) < 3;
		for (uint32_t s = 0; s < model->sizes[i]; s++)
		{
			double		at = sums[GRAMS - 1] * (double) genie_random_below(random, 1 << 30) / (1 << 30);
			uint32_t	low = 0;
			uint32_t	high = GRAMS - 1;

			while (low < high)
				if (sums[(low + high) / 2] > at)
					high = (low + high) / 2;
				else
					low = (low + high) / 2 + 1;
			grams[(size_t) i * WORD_MAX + s] = low;
		}
	}
	for (uint32_t g = 0; g < GRAMS; g++)
		model->lists[g].objects = malloc(N_WORDS / 8 * sizeof(uint32_t));
	for (uint32_t i = 0; i < N_WORDS; i++)
		for (uint32_t s = 0; s < model->sizes[i]; s++)
		{
			GenieModelList *list = &model->lists[grams[(size_t) i * WORD_MAX + s]];

			if (list->n == 0 || list->objects[list->n - 1] != i)
				list->objects[list->n++] = i;
			model->n_postings++;
		}
	free(grams);
}

static int
compare_ranges(const void *a, const void *b)
{
	uint32_t	x = ((const GenieRankRange *) a)->first;
	uint32_t	y = ((const GenieRankRange *) b)->first;

	return (x > y) - (x < y);
}

/* A query of n grams: n_right of the object's, as far as they reach, and others. */
static void
make_word_query(GenieRandom *random, const GenieModel *model, uint32_t n, uint32_t n_right, uint32_t object,
				GenieRankRange *ranges)
{
	uint32_t	n_ranges = 0;

	for (uint32_t g = 0; g < GRAMS && n_ranges < n_right; g++)
	{
		const GenieModelList *list = &model->lists[g];
		uint32_t	low = 0;
		uint32_t	high = list->n;

		while (low < high)
			if (list->objects[(low + high) / 2] < object)
				low = (low + high) / 2 + 1;
			else
				high = (low + high) / 2;
		if (low < list->n && list->objects[low] == object)
			ranges[n_ranges++] = (GenieRankRange) {g, g + 1};
	}
	while (n_ranges < n)
	{
		uint32_t	gram = (uint32_t) genie_random_below(random, GRAMS);
		bool		there = false;

		for (uint32_t r = 0; r < n_ranges; r++)
			there = there || ranges[r].first == gram;
		if (!there)
			ranges[n_ranges++] = (GenieRankRange) {gram, gram + 1};
	}
	qsort(ranges, n, sizeof(GenieRankRange), compare_ranges);
}

/* Median time of queries of n grams, n_right of them right, in us, by count or by key. */
static double
time_words(GenieEngine *engine, const GenieModel *model, const GenieSegmentImage *image, uint32_t n, uint32_t n_right,
		   bool by_key)
{
	static uint16_t class_of_size[WORD_MAX];
	static uint32_t keys[WORD_MAX * (WORD_MAX + 1)];
	GenieRandom random = {17};
	GenieKeyTable table;
	double		seconds[QUERIES];

	make_word_keys(n, &table, class_of_size, keys);
	for (int q = 0; q < QUERIES; q++)
	{
		GenieRankRange ranges[WORD_MAX];
		GenieHit	hits[K];
		GenieJob	job = {.kind = GENIE_JOB_TOP, .image = image, .n_tiles = image->n_tiles, .k = K, .min_key = 1,
			.out = hits};
		double		start;

		make_word_query(&random, model, n, n_right, (uint32_t) genie_random_below(&random, N_WORDS), ranges);
		job.query.n_ranges = n;
		job.query.ranges = ranges;
		job.query.max_count = n;
		job.query.keys = by_key ? &table : NULL;
		start = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
		if (engine->ops->run(engine, 1, &job) != GENIE_OK || job.status != GENIE_OK)
			abort();
		seconds[q] = bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
	}
	return 1e6 * bench_median(seconds, QUERIES);
}

int
main(void)
{
	static const uint32_t lengths[] = {4, 6, 12, 20};
	void	   *memory = malloc(genie_cpu_engine_size() + 64);
	void	   *aligned = (void *) (((uintptr_t) memory + 63) / 64 * 64);
	GenieRandom random = {16};
	GenieModel	model;
	GenieSegmentImage image;

	make_words(&random, &model);
	genie_model_image(&model, 1, UINT32_MAX, &image);
	printf("%-10s %8s %8s %12s %12s\n", "kernels", "grams", "wrong",
		   "by count us", "by key us");
	for (uint32_t i = 0; genie_kernels_nth(i) != NULL; i++)
	{
		GenieEngine *engine = genie_cpu_engine_open_with(aligned, genie_kernels_nth(i));

		for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
		{
			uint32_t	wrong[] = {2, lengths[l] / 2, lengths[l]};

			for (int w = 0; w < 3; w++)
				printf("%-10s %8u %8u %12.1f %12.1f\n", genie_kernels_nth(i)->name, lengths[l], wrong[w],
					   time_words(engine, &model, &image, lengths[l], lengths[l] - wrong[w], false),
					   time_words(engine, &model, &image, lengths[l], lengths[l] - wrong[w], true));
		}
		engine->ops->close(engine);
	}
	genie_model_free_image(&image);
	genie_model_end(&model);
	free(memory);
	return 0;
}
