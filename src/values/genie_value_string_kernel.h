/*
 * genie_value_string_kernel.h
 *	  Keys of short texts (genie_value_string.h), as a template: a file that defines the vector includes it.
 *
 *	TEXT_NAME		the instruction set: genie_value_string_NAME is made
 *	TEXT_TARGET		attribute of each function: the instructions that it may use
 *	TEXT_LANES		texts in a vector
 *	TEXT_LIST(of)	{of(0), of(1), ...}, one for each lane
 *
 * Without them there are two lanes, by the compiler's own vectors.
 *
 * The table of distances of the query's first characters (rows) to a text's (columns) goes column by column, a bit a
 * row, a text a lane (Myers, "A fast bit-vector algorithm for approximate string matching based on dynamic
 * programming", Journal of the ACM 46, 1999; the query has two words of rows at most).  Each column waits for the one
 * before; so TEXT_VECTORS vectors of texts go side by side.  A lane whose text has ended goes on, but counts no more.
 */
#ifndef GENIE_VALUE_STRING_KERNEL_H
#define GENIE_VALUE_STRING_KERNEL_H

#include <string.h>

#include "genie_value_scan.h"
#include "genie_value_string.h"

#ifndef TEXT_NAME
#define TEXT_NAME portable
#define TEXT_TARGET
#define TEXT_LANES 2
#define TEXT_LIST(of) {of(0), of(1)}
#endif

#define TEXT_VECTORS 2
#define TEXT_TOGETHER (TEXT_VECTORS * TEXT_LANES)
#define CODES 256
#define ROWS 64					/* of a word */

#define INLINE __attribute__((always_inline)) TEXT_TARGET static inline

typedef uint64_t Lanes __attribute__((vector_size(8 * TEXT_LANES)));
typedef int64_t SignedLanes __attribute__((vector_size(8 * TEXT_LANES)));

/* A word of rows of the column in hand: bits tell where it steps up, and where down, from the row above. */
typedef struct Column
{
	Lanes		up;
	Lanes		down;
} Column;

/* Advances to the next column, where rows match; in the row above it steps so.  Gives the step in row last. */
INLINE void
advance(Column *column, Lanes matches, Lanes above_up, Lanes above_down, int last, Lanes *step_up, Lanes *step_down)
{
	Lanes		diagonal = matches | column->down;
	Lanes		row_up;
	Lanes		row_down;

	matches |= above_down;
	matches = (((matches & column->up) + column->up) ^ column->up) | matches;
	row_up = column->down | ~(matches | column->up);
	row_down = column->up & matches;
	*step_up = row_up >> last & 1;
	*step_down = row_down >> last & 1;
	row_up = row_up << 1 | above_up;
	row_down = row_down << 1 | above_down;
	column->up = row_down | ~(diagonal | row_up);
	column->down = row_up & diagonal;
}

/* The distances of the first rows of a query, at least one, to TEXT_TOGETHER texts of at most n codes. */
INLINE void
distances_of(const int words, uint64_t (*masks)[CODES], int rows, const GenieValueString *const *texts,
			 const uint32_t *kept, uint32_t n, uint32_t *distances)
{
	const int	last = (rows - 1) % ROWS;
	Column		columns[TEXT_VECTORS][2];
	Lanes		distance[TEXT_VECTORS];
	SignedLanes ends[TEXT_VECTORS];
	SignedLanes column = {0};

	for (int v = 0; v < TEXT_VECTORS; v++)
	{
#define KEPT(lane) kept[v * TEXT_LANES + (lane)]
		ends[v] = (SignedLanes) TEXT_LIST(KEPT);
		distance[v] = (Lanes) {0} + (uint64_t) rows;
		for (int w = 0; w < words; w++)
			columns[v][w] = (Column) {~(Lanes) {0}, {0}};
#undef KEPT
	}
	for (uint32_t j = 0; j < n; j++)
	{
		for (int v = 0; v < TEXT_VECTORS; v++)
		{
			Lanes		up = (Lanes) {0} + 1;
			Lanes		down = {0};

			for (int w = 0; w < words; w++)
			{
#define MASK(lane) masks[w][texts[v * TEXT_LANES + (lane)]->codes[j]]
				Lanes		matches = TEXT_LIST(MASK);

				advance(&columns[v][w], matches, up, down, w + 1 < words ? ROWS - 1 : last, &up, &down);
#undef MASK
			}
			distance[v] += (up - down) & (Lanes) (column < ends[v]);
		}
		column += 1;
	}
	for (int v = 0; v < TEXT_VECTORS; v++)
		for (int lane = 0; lane < TEXT_LANES; lane++)
			distances[v * TEXT_LANES + lane] = (uint32_t) distance[v][lane];
}

INLINE void
keys_of(const int words, const GenieValueQuery *query, uint64_t (*masks)[CODES], const char *records, uint32_t n,
		uint32_t *keys)
{
	uint32_t	n_codes = query->n_dimensions;
	size_t		n_bytes = genie_value_string_bytes(n_codes);
	uint32_t	length = (uint32_t) query->norm;
	uint32_t	rows = length < GENIE_VALUE_PATTERN_MAX ? length : GENIE_VALUE_PATTERN_MAX;

	for (uint32_t first = 0; first < n; first += TEXT_TOGETHER)
	{
		uint32_t	n_here = n - first < TEXT_TOGETHER ? n - first : TEXT_TOGETHER;
		const GenieValueString *texts[TEXT_TOGETHER];
		uint32_t	lengths[TEXT_TOGETHER];
		uint32_t	kept[TEXT_TOGETHER];
		uint32_t	distances[TEXT_TOGETHER];
		uint32_t	longest = 0;

		for (uint32_t i = 0; i < TEXT_TOGETHER; i++)
		{
			texts[i] = (const void *) (records + (first + (i < n_here ? i : 0)) * n_bytes);
			lengths[i] = texts[i]->length;
			kept[i] = genie_value_string_kept(texts[i]->length, n_codes);
			longest = kept[i] > longest ? kept[i] : longest;
		}
		if (words > 0)
			distances_of(words, masks, (int) rows, texts, kept, longest, distances);
		else
			memcpy(distances, kept, sizeof(kept));
		for (uint32_t i = 0; i < n_here; i++)
			keys[first + i] = genie_value_key(genie_value_string_bound(distances[i], length, length - rows, lengths[i],
																	   lengths[i] - kept[i]));
	}
}

/* GenieValueKernel */
TEXT_TARGET static void
keys_of_records(const GenieValueQuery *query, const void *records, uint32_t n, uint32_t *keys)
{
	const uint8_t *pattern = genie_value_query_body(query);
	uint32_t	rows = query->norm < GENIE_VALUE_PATTERN_MAX ? (uint32_t) query->norm : GENIE_VALUE_PATTERN_MAX;
	uint64_t	masks[GENIE_VALUE_PATTERN_MAX / ROWS][CODES] = {0};

	for (uint32_t i = 0; i < rows; i++)
		masks[i / ROWS][pattern[i]] |= UINT64_C(1) << i % ROWS;
	if (rows == 0)
		keys_of(0, query, masks, records, n, keys);
	else if (rows <= ROWS)
		keys_of(1, query, masks, records, n, keys);
	else
		keys_of(2, query, masks, records, n, keys);
}

#define KERNEL_OF(name) KERNEL_OF_(name)
#define KERNEL_OF_(name) const GenieValueKernel genie_value_string_##name = {#name, keys_of_records, NULL}
KERNEL_OF(TEXT_NAME);

#endif							/* GENIE_VALUE_STRING_KERNEL_H */
