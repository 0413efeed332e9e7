/*
 * genie_edit_kernel.h
 *	  Columns of the edit distance, several blocks of rows or several texts at a time, as a template: a file that
 *	  defines the vector includes it.
 *
 *	EDIT_TARGET		attribute of each function: the instructions that it may use
 *	EDIT_COLUMNS	the name of the function that is made for blocks of rows
 *	EDIT_TEXTS		the name of the one for texts
 *	EDIT_LANES		blocks or texts at a time, the words of a vector
 *	EDIT_LIST(of)	{of(0), of(1), ...}, one for each lane
 *	EDIT_SHIFT_IN(step, first)	{first, step[0], step[1], ...}, without the last of step
 *	EDIT_SWITCH(go)	go(2) go(3) ..., up to all lanes
 *
 * Without EDIT_LANES and the macros after it there are four lanes, by the compiler's own vectors.
 *
 * A block needs the step of the block above in the same column.  So they go askew: while the first is in a column, the
 * second is in the column before it, whose step of the first is at hand.  In the columns before a block's first and
 * behind its last there is no match and no step from above, which does not change a block that has not begun.
 */
#ifndef GENIE_EDIT_KERNEL_H
#define GENIE_EDIT_KERNEL_H

#include "genie_edit.h"

#ifndef EDIT_COLUMNS
#define EDIT_TARGET
#define EDIT_COLUMNS genie_edit_columns_portable
#define EDIT_TEXTS genie_edit_texts_portable
#endif

#ifndef EDIT_LANES
#define EDIT_LANES 4
#define EDIT_LIST(of) {of(0), of(1), of(2), of(3)}
#define EDIT_SHIFT_IN(step, first) {first, step[0], step[1], step[2]}
#define EDIT_SWITCH(go) go(2) go(3) go(4)
#endif

typedef uint64_t Lanes __attribute__((vector_size(8 * EDIT_LANES)));
typedef int64_t SignedLanes __attribute__((vector_size(8 * EDIT_LANES)));

/* of so many blocks, 2 to EDIT_LANES, which the compiler knows */
__attribute__((always_inline)) EDIT_TARGET
static inline void
do_columns(const int blocks, const uint64_t *masks, uint32_t last, const uint16_t *text, int64_t n, uint8_t *steps)
{
	const int64_t behind = blocks - 1;	/* columns that the last block is behind the first */
	Lanes		shift = (Lanes) {0} + 63;
	Lanes		up = ~(Lanes) {0};
	Lanes		down = {0};
	Lanes		step_up = {0};
	Lanes		step_down = {0};

#define MASK(lane) ((lane) < blocks ? masks[EDIT_LANES * text[t - (lane)] + (lane)] : 0)
#define MASK_IF(lane) (t >= (lane) && t - (lane) < n ? MASK(lane) : 0)

	shift[behind] = last;
	for (int64_t t = 0; t < n + behind; t++)
	{
		uint64_t	above = t < n ? steps[t] : 0;
		Lanes		above_up = EDIT_SHIFT_IN(step_up, above & GENIE_EDIT_UP);
		Lanes		above_down = EDIT_SHIFT_IN(step_down, above >> 1);
		Lanes		matches;
		Lanes		diagonal;
		Lanes		row_up;
		Lanes		row_down;

		if (t >= behind && t < n)
			matches = (Lanes) EDIT_LIST(MASK);
		else
			matches = (Lanes) EDIT_LIST(MASK_IF);

		/* as advance() in genie_edit.c */
		diagonal = matches | down;
		matches |= above_down;
		matches = (((matches & up) + up) ^ up) | matches;
		row_up = down | ~(matches | up);
		row_down = up & matches;
		step_up = row_up >> shift & 1;
		step_down = row_down >> shift & 1;
		row_up = row_up << 1 | above_up;
		row_down = row_down << 1 | above_down;
		up = row_down | ~(diagonal | row_up);
		down = row_up & diagonal;
		if (t >= behind)
			steps[t - behind] = (uint8_t) (step_up[behind] | step_down[behind] << 1);
	}
#undef MASK
#undef MASK_IF
}

EDIT_TARGET
void
EDIT_COLUMNS(const uint64_t *masks, uint32_t rows, const uint16_t *text, int64_t n, uint8_t *steps)
{
	uint32_t	last = (rows - 1) % 64;

#define GO(blocks) \
	case blocks: \
		do_columns(blocks, masks, last, text, n, steps); \
		break;

	switch ((rows - 1) / 64 + 1)
	{
			EDIT_SWITCH(GO)
	}
#undef GO
}

EDIT_TARGET
void
EDIT_TEXTS(const uint64_t *masks, uint32_t rows, const uint16_t *texts, const uint32_t *lengths, uint32_t n,
		   uint32_t *distances)
{
#define LENGTH(lane) lengths[lane]
#define MASK(lane) masks[texts[lane]]
	SignedLanes length = EDIT_LIST(LENGTH);
	SignedLanes column = {0};
	Lanes		last = (Lanes) {0} + (rows - 1);
	Lanes		up = ~(Lanes) {0};
	Lanes		down = {0};
	Lanes		distance = (Lanes) {0} + rows;

	for (uint32_t j = 0; j < n; j++, texts += EDIT_LANES)
	{
		Lanes		matches = EDIT_LIST(MASK);
		Lanes		diagonal = matches | down;
		Lanes		row_up;
		Lanes		row_down;

		/* as advance() in genie_edit.c, with a step of +1 above */
		matches = (((matches & up) + up) ^ up) | matches;
		row_up = down | ~(matches | up);
		row_down = up & matches;
		distance += ((row_up >> last & 1) - (row_down >> last & 1)) & (Lanes) (column < length);
		column += 1;
		row_up = row_up << 1 | 1;
		row_down <<= 1;
		up = row_down | ~(diagonal | row_up);
		down = row_up & diagonal;
	}
	for (uint32_t lane = 0; lane < EDIT_LANES; lane++)
		distances[lane] = (uint32_t) distance[lane];
#undef LENGTH
#undef MASK
}

#endif							/* GENIE_EDIT_KERNEL_H */
