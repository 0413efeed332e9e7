/*
 * genie_kernels.h
 *	  The inner loops of counting, one set of them for each instruction set.
 *
 * A kernel works on plain memory of one tile and knows neither lists nor queries.  The portable
 * set is C alone and is what the others are tested against; genie_kernels_choose() gives the best
 * set that this processor runs.
 *
 *	genie_kernels_choose.c		the chooser
 *	genie_kernels_portable.c	64-bit words
 *	genie_kernels_avx2.c		x86-64 with AVX2
 *	genie_kernels_avx512.c		x86-64 with AVX-512 and its byte permutations (VBMI2)
 *	genie_bitmaps_kernel.h		adding bitmaps, a template by vector that all of these include
 */
#ifndef GENIE_KERNELS_H
#define GENIE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* a byte's value in each byte of a word */
#define GENIE_EACH_BYTE(value) ((value) * UINT64_C(0x0101010101010101))

/* Eight bytes as a word, the first one lowest: so bit and byte numbers grow with object numbers on every machine. */
static inline uint64_t
genie_load_64(const uint8_t *from)
{
	uint64_t	word;

	memcpy(&word, from, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

static inline void
genie_store_64(uint8_t *to, uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	memcpy(to, &word, sizeof(word));
}

/* values in a block of the PACKED codec */
#define GENIE_BLOCK_VALUES 128

/*
 * Bytes that unpack_locals may read from data on: a block of 16 bits a value, and one
 * vector, because groups of eight values are read 16 bytes at a time.
 */
#define GENIE_UNPACK_READ_BYTES (GENIE_BLOCK_VALUES * 2 + 16)

/* ends of runs that unpack_edges writes at most */
#define GENIE_EDGES_MAX 32

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

typedef struct GenieKernels
{
	const char *name;

	/*
	 * Unpacks n (1..GENIE_BLOCK_VALUES) gaps of width bits and sums them up: locals[i] = base +
	 * i + the sum of gaps[0..i].  False if a local would pass 65,535.  Writes GENIE_BLOCK_VALUES
	 * locals, the ones from n on without meaning; base and width are at most 65,535 and 16.
	 */
	bool		(*unpack_locals) (const uint8_t *data, uint32_t width, uint32_t n,
								  uint32_t base, uint16_t *locals);

	/*
	 * Reads some whole runs of a RUNS list from data on, never past end: edges get the first local of each and the
	 * one behind its last, all at most 65,535; base is the smallest local that may come.  Returns how many edges
	 * (even, at most GENIE_EDGES_MAX) and in *n_bytes what was read.  0: this kernel does not read the next run, or it
	 * is malformed.
	 */
	uint32_t	(*unpack_edges) (const uint8_t *data, const uint8_t *end, uint32_t base, uint16_t *edges,
								 size_t *n_bytes);

	/*
	 * Bytes of a tile's RUNS lists from which on counting them by edges is faster than adding run after run, measured
	 * with runs of about 20 objects: an edge is cheaper than a run, and summing up is a pass over all counters.
	 */
	uint32_t	edges_bytes;

	/* Makes each of a tile's 65,536 counters the sum, modulo its width, of those up to it. */
	void		(*sum_up_8) (uint8_t *counters);
	void		(*sum_up_16) (uint16_t *counters);

	/*
	 * Adds n (1..GENIE_BITMAPS_MAX) bitmaps to the counters, as many as the longest has bits and up to 511 more, within
	 * the 65,536 of a tile.
	 */
	void		(*add_bitmaps_8) (uint8_t *counters, const GenieBitmap *bitmaps, uint32_t n);
	void		(*add_bitmaps_16) (uint16_t *counters, const GenieBitmap *bitmaps, uint32_t n);

	/*
	 * mask = the objects whose counter is at least threshold, of those allowed, as a bitmap of
	 * n_words words (64 counters each); returns how many they are.  The threshold fits the counter.
	 */
	uint32_t	(*mask_8) (const uint8_t *counters, uint32_t n_words, uint32_t threshold,
						   const uint64_t *allowed, uint64_t *mask);
	uint32_t	(*mask_16) (const uint16_t *counters, uint32_t n_words, uint32_t threshold,
							const uint64_t *allowed, uint64_t *mask);

	/*
	 * mask_8 with a threshold for each object: least[its size].  least has GENIE_LEAST_SIZES entries, and the sizes,
	 * 64 a word, are below n_least.  NULL: mask_8 with the smallest threshold, and a look at each object that it
	 * leaves, is faster.
	 */
	uint32_t	(*mask_sizes_8) (const uint8_t *counters, uint32_t n_words, const uint8_t *sizes,
								 const uint8_t *least, uint32_t n_least, const uint64_t *allowed, uint64_t *mask);
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

/* unpack_edges of the sets that have nothing better */
extern uint32_t genie_unpack_edges(const uint8_t *data, const uint8_t *end, uint32_t base, uint16_t *edges,
								   size_t *n_bytes);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_KERNELS_H */
