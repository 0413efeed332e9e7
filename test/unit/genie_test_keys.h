/*
 * genie_test_keys.h
 *	  Random key tables (genie_engine.h) for tests.
 */
#ifndef GENIE_TEST_KEYS_H
#define GENIE_TEST_KEYS_H

#include <stdlib.h>

#include "genie_engine.h"
#include "genie_test.h"

static inline int
genie_test_compare_keys(const void *a, const void *b)
{
	uint32_t	x = *(const uint32_t *) a;
	uint32_t	y = *(const uint32_t *) b;

	return (x > y) - (x < y);
}

/*
 * A table for just the sizes min_size .. max_size, to be given to genie_test_free_keys().  Some have few classes, some
 * many; rows may be longer than max_count asks for.  Keys rise with the count, and as some are 0, others are above 0
 * for a count of 0.
 */
static inline GenieKeyTable *
genie_test_keys(GenieRandom *random, uint32_t min_size, uint32_t max_size, uint32_t max_count)
{
	GenieKeyTable *table = malloc(sizeof(GenieKeyTable));
	uint32_t	bits = (uint32_t) genie_random_below(random, 33);
	bool		many = genie_random_below(random, 2) == 0;
	uint16_t   *class_of_size;
	uint32_t   *keys;

	table->first_size = min_size;
	table->n_sizes = max_size - min_size + 1;
	table->n_classes = 1 + (uint32_t) genie_random_below(random, many ? 300 : 8);
	table->stride = max_count + 1 + (uint32_t) genie_random_below(random, 3);
	table->class_of_size = class_of_size = malloc(table->n_sizes * sizeof(uint16_t));
	table->keys = keys = malloc((size_t) table->n_classes * table->stride * sizeof(uint32_t));
	for (uint32_t i = 0; i < table->n_sizes; i++)
		class_of_size[i] = (uint16_t) ((many ? i : i * 7) % table->n_classes);
	for (uint32_t class = 0; class < table->n_classes; class++)
	{
		uint32_t   *row = keys + (size_t) class * table->stride;
		uint32_t	zero_in = 1 + (uint32_t) genie_random_below(random, 5);

		for (uint32_t count = 0; count < table->stride; count++)
			row[count] = genie_random_below(random, zero_in) == 0 ? 0 :
				(uint32_t) (genie_random(random) & ((UINT64_C(1) << bits) - 1));
		qsort(row, table->stride, sizeof(uint32_t), genie_test_compare_keys);
	}
	return table;
}

static inline void
genie_test_free_keys(const GenieKeyTable *table)
{
	if (table == NULL)
		return;
	free((void *) table->class_of_size);
	free((void *) table->keys);
	free((void *) table);
}

#endif							/* GENIE_TEST_KEYS_H */
