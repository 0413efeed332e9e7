/*
 * genie_kernels.h
 *	  The inner loops of counting in tiles, one set of them for each instruction set.
 *
 * A kernel works on plain memory of one tile and knows neither lists nor queries.  The portable set is C alone, and the
 * others are tested against it; genie_kernels_choose() gives the best set that this processor runs.  The kernels that
 * decode lists are in genie_unpack.h, in the same sets.
 *
 *	genie_kernels.c				the chooser
 *	genie_kernels_portable.c	64-bit words
 *	genie_kernels_avx2.c		x86-64 with AVX2
 *	genie_kernels_avx512.c		x86-64 with AVX-512 and its byte permutations (VBMI2)
 *	genie_bitmaps_kernel.h		bitmaps, a template by vector that all of these include
 *	genie_codes_kernel.h		comparing codes with bounds, another one
 */
#ifndef GENIE_KERNELS_H
#define GENIE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "genie_unpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* bitmaps added in one call: their sums take GENIE_BITMAP_PLANES bits */
#define GENIE_BITMAP_PLANES 6
#define GENIE_BITMAPS_MAX ((1 << GENIE_BITMAP_PLANES) - 1)

/* sizes that fit a byte */
#define GENIE_LEAST_SIZES 256

/* A bitmap of a tile, LSB first; locals past its bytes are not in it. */
typedef struct GenieBitmap
{
	const uint8_t *data;
	uint32_t	nbytes;			/* at most GENIE_TILE_BITMAP_BYTES */
} GenieBitmap;

/* bytes of a long row of codes, or of several short ones */
#define GENIE_CODE_BOUND_BYTES 16

/* The codes of a row, repeated if it is short.  4-bit codes are bytes here: those of low halves, then of high ones. */
typedef union GenieCodeRow
{
	uint8_t		bytes[2][GENIE_CODE_BOUND_BYTES];
	uint16_t	words[GENIE_CODE_BOUND_BYTES / sizeof(uint16_t)];
} GenieCodeRow;

/* What each code of a row must be, from low to high: 0 and more where any code will do. */
typedef struct GenieCodeBounds
{
	uint32_t	width;			/* bits of a code: 4, 8, 16 */
	uint32_t	row_bytes;		/* 4, 8, 16 */
	GenieCodeRow low;
	GenieCodeRow high;
} GenieCodeBounds;

typedef struct GenieKernels
{
	const char *name;

	const GenieUnpackKernels *unpack;	/* of the same instruction set */

	/*
	 * Bytes of a tile's RUNS lists from which on counting them by edges is faster than adding run after run, measured
	 * with runs of about 20 objects: an edge is cheaper than a run, and summing up is a pass over all counters.
	 */
	uint32_t	edges_bytes;

	/* Bytes of codes that are compared with bounds while a posting is counted, measured with both in memory. */
	uint32_t	code_bytes;

	/* Makes each of a tile's 65,536 counters the sum, modulo its width, of those up to it. */
	void		(*sum_up_8) (uint8_t *counters);
	void		(*sum_up_16) (uint16_t *counters);

	/*
	 * Adds n (1..GENIE_BITMAPS_MAX) bitmaps to the counters, as many as the longest has bits and up to 511 more,
	 * within the 65,536 of a tile.
	 */
	void		(*add_bitmaps_8) (uint8_t *counters, const GenieBitmap *bitmaps, uint32_t n);
	void		(*add_bitmaps_16) (uint16_t *counters, const GenieBitmap *bitmaps, uint32_t n);

	/*
	 * mask = the objects whose counter is at least threshold, of those allowed, as a bitmap of n_words words (64
	 * counters each); returns how many they are.  The threshold fits the counter.
	 */
	uint32_t	(*mask_8) (const uint8_t *counters, uint32_t n_words, uint32_t threshold,
						   const uint64_t *allowed, uint64_t *mask);
	uint32_t	(*mask_16) (const uint16_t *counters, uint32_t n_words, uint32_t threshold,
							const uint64_t *allowed, uint64_t *mask);

	/*
	 * mask_8 with a threshold for each object: least[its size].  least has GENIE_LEAST_SIZES entries, and the sizes,
	 * 64 a word, are below n_least.  NULL: it is faster to use mask_8 with the smallest threshold, and to look at each
	 * object that it leaves.
	 */
	uint32_t	(*mask_sizes_8) (const uint8_t *counters, uint32_t n_words, const uint8_t *sizes,
								 const uint8_t *least, uint32_t n_least, const uint64_t *allowed, uint64_t *mask);

	/* How many objects two bitmaps have in common. */
	uint32_t	(*count_both) (const uint64_t *a, const uint64_t *b, uint32_t n_words);

	/*
	 * Leaves those of objects, n_words words of bits, whose codes in rows, a row an object, are within the bounds.
	 * Where a word is 0, there need be no rows.
	 */
	void		(*match_codes) (const uint8_t *rows, uint32_t n_words, const GenieCodeBounds *bounds,
								uint64_t *objects);

	/*
	 * Adds to each of n counters, a multiple of GENIE_CODE_ROWS, how many codes of its row are within the bounds: low
	 * above high where no code will do.
	 */
	void		(*count_codes_8) (const uint8_t *rows, uint32_t n, const GenieCodeBounds *bounds, uint8_t *counters);
	void		(*count_codes_16) (const uint8_t *rows, uint32_t n, const GenieCodeBounds *bounds, uint16_t *counters);
} GenieKernels;

extern const GenieKernels genie_kernels_portable;
#if defined(__x86_64__)
extern const GenieKernels genie_kernels_avx2;
extern const GenieKernels genie_kernels_avx512;
#endif

/* The sets that this processor runs, the portable one first and the best one last; NULL after that. */
extern const GenieKernels *genie_kernels_nth(uint32_t i);

/* the best one */
extern const GenieKernels *genie_kernels_choose(void);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_KERNELS_H */
