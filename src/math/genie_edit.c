/*
 * genie_edit.c
 *	  The edit distance, 64 cells at a time.
 *
 * D(i, j), the distance of the pattern's first i characters and the text's first j, differs by at most 1 from
 * each neighbour.  So 64 cells of a column are two words: which differ by +1, and which by -1, from the cell
 * above.  One step makes the next column's of them with a dozen operations, among them one addition, whose
 * carries run through the matches (Myers, "A fast bit-vector algorithm for approximate string matching based on
 * dynamic programming", J. ACM 46, 1999; in the form of Hyyro, "A bit-vector algorithm for computing
 * Levenshtein and Damerau edit distances", Nordic J. Computing 10, 2003).
 *
 * A pattern of up to 64 characters is one block of rows, whose masks (where in it does a character stand?) are
 * made once.  A longer one is cut into blocks, from the top; a block goes through all its columns before
 * the next begins, and leaves the differences along its last row, one byte a column, for that one.  So only
 * the masks of one block at a time are needed: their memory does not grow with the alphabet times the pattern,
 * and a table of a few characters stays in the first cache.
 *
 * With AVX2 up to four blocks go through the columns together, and with AVX-512 up to eight (genie_edit_kernel.h).  A
 * column of four blocks takes hardly longer than one of one, because each step waits for the result of the one before.
 *
 * Many texts and a pattern of one block: each lane has a text of its own, and all go through their columns together
 * (genie_edit_distances()).  The steps of a lane whose text has ended are not added up any more.
 *
 * Bands.  Where a distance of at most k is wanted, a path of that cost stays where (Ukkonen, "Algorithms for
 * approximate string matching", Information and Control 64, 1985)
 *
 *		-(k - e) / 2  <=  j - i  <=  (k + e) / 2,		e = length of the text - length of the pattern,
 *
 * because at D(i, j) it has cost |j - i| at least, and still costs |e - (j - i)| at least.  A block does only the
 * columns that have such a cell.  A step of +1, which is never too small, replaces the step of a missing cell: to the
 * right along the row above, where that block has ended already, and down the column before the block's first.  So
 * each computed value is the cost of some path, and the smallest in the band is found: the result is right if it is at
 * most k, and above k otherwise.
 *
 * Where no limit is known, the first k is the difference of the lengths plus the rows that are done together: with
 * that they do at most twice the columns that the narrowest band would need.  Then the band is doubled until the
 * result is inside.  After each block, the smallest cost with which a path through its last row can still end is
 * known; where that is above k, the band is given up at once.
 *
 * First of all, the common beginning and end of the two are cut off, which changes no distance.
 */
#include <string.h>

#include "genie_edit.h"

#define BLOCK			GENIE_EDIT_BLOCK

uint32_t
genie_edit_slots(uint32_t length)
{
	uint32_t	slots = 16;

	while (slots < 2 * length)
		slots *= 2;
	return slots;
}

static uint32_t
slot_of(const GenieEditPattern *pattern, uint32_t character)
{
	uint32_t	slot = (character * UINT32_C(0x9E3779B1)) >> 7 & pattern->slot_mask;

	while (pattern->slots[slot] != 0 && pattern->slots[slot] >> 16 != character)
		slot = (slot + 1) & pattern->slot_mask;
	return slot;
}

uint16_t
genie_edit_find(const GenieEditPattern *pattern, uint32_t character)
{
	return (uint16_t) pattern->slots[slot_of(pattern, character)];
}

/* The number of a character of the pattern; the next one if it is new. */
static uint16_t
number_character(GenieEditPattern *pattern, uint32_t character)
{
	uint64_t   *slot;

	if (character < GENIE_EDIT_BYTES)
	{
		if (pattern->id_of_byte[character] == 0)
			pattern->id_of_byte[character] = (uint16_t) ++pattern->n_ids;
		return pattern->id_of_byte[character];
	}
	slot = &pattern->slots[slot_of(pattern, character)];
	if (*slot == 0)
		*slot = (uint64_t) character << 16 | ++pattern->n_ids;
	return (uint16_t) *slot;
}

/* Sets the masks of so many rows, of up to so many blocks, or zeroes them again. */
static void
set_masks(GenieEditPattern *pattern, const uint16_t *ids, uint32_t rows, uint32_t lanes)
{
	for (uint32_t i = 0; i < rows; i++)
		pattern->masks[lanes * ids[i] + i / BLOCK] |= UINT64_C(1) << i % BLOCK;
}

static void
clear_masks(GenieEditPattern *pattern, const uint16_t *ids, uint32_t rows, uint32_t lanes)
{
	for (uint32_t i = 0; i < rows; i++)
		pattern->masks[lanes * ids[i] + i / BLOCK] = 0;
}

uint32_t
genie_edit_widest(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f"))
		return 8;
	if (__builtin_cpu_supports("avx2"))
		return 4;
#endif
	return 1;
}

void
genie_edit_prepare(GenieEditPattern *pattern, const uint32_t *characters, uint32_t length)
{
	memset(pattern->id_of_byte, 0, sizeof(pattern->id_of_byte));
	pattern->n_ids = 0;
	pattern->pause = NULL;
	pattern->slot_mask = genie_edit_slots(length) - 1;
	pattern->length = length;
	for (uint32_t i = 0; i < length; i++)
		pattern->ids[i] = number_character(pattern, characters[i]);
	pattern->lanes = genie_edit_widest();
	if (length <= BLOCK)
		set_masks(pattern, pattern->ids, length, 1);
}

/* the differences down one column of a block: bit i: D(row i) - D(row above) is +1, or -1 */
typedef struct Column
{
	uint64_t	up;
	uint64_t	down;
} Column;

/*
 * The next column.  matches: the rows whose character is the column's; above: the step along the row above the block.
 * Returns the step along the row at bit last.
 */
static inline uint32_t
advance(Column *column, uint64_t matches, uint32_t above, uint32_t last)
{
	uint64_t	up = column->up;
	uint64_t	down = column->down;
	uint64_t	diagonal;
	uint64_t	row_up;
	uint64_t	row_down;
	uint32_t	step;

	diagonal = matches | down;
	matches |= above >> 1;
	matches = (((matches & up) + up) ^ up) | matches;
	row_up = down | ~(matches | up);
	row_down = up & matches;
	step = (uint32_t) (row_up >> last & 1) | (uint32_t) (row_down >> last & 1) << 1;
	row_up = row_up << 1 | (above & GENIE_EDIT_UP);
	row_down = row_down << 1 | above >> 1;
	column->up = row_down | ~(diagonal | row_up);
	column->down = row_up & diagonal;
	return step;
}

/* the value of a step */
static inline int32_t
step_value(uint32_t step)
{
	return (int32_t) (step & GENIE_EDIT_UP) - (int32_t) (step >> 1);
}

/* The distance of the rows whose masks are set, at least one, and the text. */
static uint32_t
distance_of_block(const uint64_t *masks, uint32_t rows, const uint16_t *text, uint32_t n)
{
	Column		column = {~UINT64_C(0), 0};
	int32_t		distance = (int32_t) rows;

	for (uint32_t j = 0; j < n; j++)
		distance += step_value(advance(&column, masks[text[j]], GENIE_EDIT_UP, rows - 1));
	return (uint32_t) distance;
}

/* Columns from .. to - 1 of so many rows, up to pattern->lanes blocks. */
static void
do_columns(GenieEditPattern *pattern, const uint16_t *ids, uint32_t rows,
		   const uint16_t *text, int64_t from, int64_t to, uint8_t *steps)
{
	uint32_t	lanes = rows > BLOCK ? pattern->lanes : 1;

	set_masks(pattern, ids, rows, lanes);
#if defined(__x86_64__)
	if (lanes == 8)
		genie_edit_columns_avx512(pattern->masks, rows, text + from, to - from, steps + from);
	else if (lanes == 4)
		genie_edit_columns_avx2(pattern->masks, rows, text + from, to - from, steps + from);
	else
#endif
	{
		Column		column = {~UINT64_C(0), 0};

		for (int64_t j = from; j < to; j++)
			steps[j] = (uint8_t) advance(&column, pattern->masks[text[j]], steps[j], rows - 1);
	}
	clear_masks(pattern, ids, rows, lanes);
}

/*
 * The distance of m characters, more than a block, and n, at least one, if that is at most k; else a number above k.
 * k is at least the difference of the lengths.
 */
static uint32_t
distance_in_band(GenieEditPattern *pattern, const uint16_t *ids, uint32_t m,
				 const uint16_t *text, uint32_t n, uint32_t k, uint8_t *steps)
{
	int64_t		behind = ((int64_t) k - ((int64_t) n - m)) / 2; /* how far j may be below i */
	int64_t		ahead = ((int64_t) k + ((int64_t) n - m)) / 2;
	int64_t		value = 0;		/* of the cell above the block's first row, left of its first column */

	memset(steps, GENIE_EDIT_UP, n);
	for (uint32_t top = 0, rows;; top += rows)
	{
		int64_t		left;		/* rows below these */
		int64_t		from = top > behind ? top - behind : 0;
		int64_t		to;			/* columns from .. to - 1 */
		int64_t		next;		/* the first column of the rows below */
		int64_t		best = INT64_MAX;
		int64_t		next_value;

		if (pattern->pause != NULL)
			pattern->pause();
		rows = m - top < pattern->lanes * BLOCK ? m - top : pattern->lanes * BLOCK;
		left = (int64_t) m - top - rows;
		to = top + rows + ahead < n ? top + rows + ahead : n;
		next = top + rows > behind ? top + rows - behind : 0;
		do_columns(pattern, ids + top, rows, text, from, to, steps);

		/* along the last row: what a path through it costs at the least */
		value += rows;
		next_value = value;
		for (int64_t j = from; j <= to; j++)
		{
			int64_t		distance = n - j > left ? n - j - left : left - (n - j);

			if (j == next)
				next_value = value;
			if (value + distance < best)
				best = value + distance;
			if (j < to)
				value += step_value(steps[j]);
		}
		if (left == 0)
			return (uint32_t) value;
		if (best > k)
			return (uint32_t) best;
		value = next_value;
	}
}

/* As genie_edit_distance, for a pattern of several blocks. */
static uint32_t
distance_of_blocks(GenieEditPattern *pattern, const uint16_t *text, uint32_t n, uint32_t limit, uint8_t *steps)
{
	const uint16_t *ids = pattern->ids;
	uint32_t	m = pattern->length;
	uint32_t	longer;
	uint32_t	distance;
	uint64_t	k;

	while (m > 0 && n > 0 && ids[m - 1] == text[n - 1])
	{
		m--;
		n--;
	}
	while (m > 0 && n > 0 && *ids == *text)
	{
		ids++;
		text++;
		m--;
		n--;
	}
	if (m == 0 || n == 0)
		return m + n;
	if (m <= BLOCK)
	{
		set_masks(pattern, ids, m, 1);
		distance = distance_of_block(pattern->masks, m, text, n);
		clear_masks(pattern, ids, m, 1);
		return distance;
	}
	longer = m > n ? m : n;
	/* rows that are done at once have no band */
	k = m <= pattern->lanes * BLOCK ? longer : (m > n ? m - n : n - m) + pattern->lanes * BLOCK;
	for (;; k *= 2)
	{
		if (k > limit)
			k = limit;
		if (k > longer)
			k = longer;			/* the distance is never more */
		distance = distance_in_band(pattern, ids, m, text, n, (uint32_t) k, steps);
		if (distance <= k || k == limit)
			return distance;
	}
}

uint32_t
genie_edit_distance(GenieEditPattern *pattern, const uint16_t *text, uint32_t n, uint32_t limit, uint8_t *scratch)
{
	uint32_t	m = pattern->length;
	uint32_t	least = m > n ? m - n : n - m;

	if (least > limit || m == 0 || n == 0)
		return least;
	if (m <= BLOCK)
		return distance_of_block(pattern->masks, m, text, n);
	return distance_of_blocks(pattern, text, n, limit, scratch);
}

void
genie_edit_distances(const GenieEditPattern *pattern, uint16_t *texts, const uint32_t *lengths, uint32_t *distances)
{
	uint32_t	lanes = pattern->lanes;
	uint32_t	n = 0;

	for (uint32_t i = 0; i < lanes; i++)
		n = lengths[i] > n ? lengths[i] : n;
	for (uint32_t i = 0; i < lanes; i++)
		for (uint32_t j = lengths[i]; j < n; j++)
			texts[(size_t) j * lanes + i] = 0;
#if defined(__x86_64__)
	if (lanes == 8)
		genie_edit_texts_avx512(pattern->masks, pattern->length, texts, lengths, n, distances);
	else if (lanes == 4)
		genie_edit_texts_avx2(pattern->masks, pattern->length, texts, lengths, n, distances);
	else
#endif
		distances[0] = distance_of_block(pattern->masks, pattern->length, texts, n);
}
