/*
 * genie_edit_avx2.c
 *	  Columns of the edit distance for x86-64 with AVX2: up to four blocks of rows at a time.
 *
 * A block needs of the one above what that did in the same column.  So they go askew: while the first is in a
 * column, the second is in the one before it, and what the first did there is at hand.  In the columns before a
 * block's first and behind its last there is no match and no step from above, which leaves a block that has not begun
 * as it is.
 */
#include "genie_edit.h"

#if defined(__x86_64__)

typedef uint64_t Lanes __attribute__((vector_size(8 * GENIE_EDIT_LANES)));

bool
genie_edit_has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

/* of so many blocks, 2 to GENIE_EDIT_LANES, which the compiler knows */
__attribute__((target("avx2"), always_inline))
static inline void
do_columns(const int blocks, const uint64_t *masks, uint32_t last, const uint16_t *text, int64_t n, uint8_t *steps)
{
	const int64_t behind = blocks - 1;	/* columns that the last block is behind the first */
	Lanes		shift = {63, 63, 63, 63};
	Lanes		up = ~(Lanes) {0};
	Lanes		down = {0};
	Lanes		step_up = {0};
	Lanes		step_down = {0};

#define MASK(lane) ((lane) < blocks ? masks[GENIE_EDIT_LANES * text[t - (lane)] + (lane)] : 0)
#define MASK_IF(lane) (t >= (lane) && t - (lane) < n ? MASK(lane) : 0)

	shift[behind] = last;
	for (int64_t t = 0; t < n + behind; t++)
	{
		uint64_t	above = t < n ? steps[t] : 0;
		Lanes		above_up = {above & GENIE_EDIT_UP, step_up[0], step_up[1], step_up[2]};
		Lanes		above_down = {above >> 1, step_down[0], step_down[1], step_down[2]};
		Lanes		matches;
		Lanes		diagonal;
		Lanes		row_up;
		Lanes		row_down;

		if (t >= behind && t < n)
			matches = (Lanes) {MASK(0), MASK(1), MASK(2), MASK(3)};
		else
			matches = (Lanes) {MASK_IF(0), MASK_IF(1), MASK_IF(2), MASK_IF(3)};

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

__attribute__((target("avx2")))
void
genie_edit_columns_avx2(const uint64_t *masks, uint32_t rows, const uint16_t *text, int64_t n, uint8_t *steps)
{
	uint32_t	last = (rows - 1) % 64;

	if (rows <= 2 * 64)
		do_columns(2, masks, last, text, n, steps);
	else if (rows <= 3 * 64)
		do_columns(3, masks, last, text, n, steps);
	else
		do_columns(4, masks, last, text, n, steps);
}

#endif							/* __x86_64__ */
