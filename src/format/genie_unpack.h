/*
 * genie_unpack.h
 *	  The inner loops of reading a tile's lists and packed keywords, one set of them for each instruction set.
 *
 * A kernel works on plain memory of one list.  The portable set is C alone, and the others are tested against it.
 *
 *	genie_unpack.c				the chooser: the only place that asks the processor for these sets and those of
 *								the engine's genie_kernels.h, which come in the same three
 *	genie_unpack_portable.c		32-bit words
 *	genie_unpack_avx2.c			x86-64 with AVX2
 *	genie_unpack_avx512.c		x86-64 with AVX-512 and its byte permutations (VBMI2)
 */
#ifndef GENIE_UNPACK_H
#define GENIE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "genie_chunk.h"
#include "genie_posting.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Bytes that locals() may read from data on: a block of 16 bits a value, and one vector, because groups of eight values
 * are read 16 bytes at a time.
 */
#define GENIE_UNPACK_READ_BYTES (GENIE_BLOCK_VALUES * 2 + 16)

/* locals that chunks() may write behind the last one */
#define GENIE_UNPACK_SPARE 32

/* ends of runs that edges() writes at most */
#define GENIE_EDGES_MAX 32

typedef struct GenieUnpackKernels
{
	const char *name;

	/*
	 * Unpacks n (1..GENIE_BLOCK_VALUES) gaps of width bits and sums them up: locals[i] = base + i + the sum of
	 * gaps[0..i].  False if a local would pass 65,535.  Writes GENIE_BLOCK_VALUES locals, the ones from n on without
	 * meaning; base and width are at most 65,535 and 16.
	 */
	bool		(*locals) (const uint8_t *data, uint32_t width, uint32_t n, uint32_t base, uint16_t *locals);

	/*
	 * Reads some whole runs of a RUNS list from data on, never past end: edges get the first local of each and the one
	 * behind its last, all at most 65,535; base is the smallest local that may come.  Returns how many edges (even, at
	 * most GENIE_EDGES_MAX) and in *n_bytes what was read.  0: this kernel does not read the next run, or it is
	 * malformed.
	 */
	uint32_t	(*edges) (const uint8_t *data, const uint8_t *end, uint32_t base, uint16_t *edges, size_t *n_bytes);

	/*
	 * Compares up to n packed integers from data on, never past end, with the codes of a query (GenieQueryNumbers).
	 * Returns how many are of the same length, dimension and family, up to the first that is not; adds those that are
	 * equal to *matches.  It may stop earlier.
	 */
	uint32_t	(*codes) (const uint8_t *data, const uint8_t *end, const uint8_t *codes, uint32_t n, uint32_t *matches);

	/*
	 * The locals of n chunks.  Returns how many, at most GENIE_CHUNK_LOCALS each; writes up to GENIE_UNPACK_SPARE
	 * more, without meaning.
	 */
	uint32_t	(*chunks) (const GenieChunk *chunks, uint32_t n, uint16_t *locals);
} GenieUnpackKernels;

extern const GenieUnpackKernels genie_unpack_portable;
#if defined(__x86_64__)
extern const GenieUnpackKernels genie_unpack_avx2;
extern const GenieUnpackKernels genie_unpack_avx512;
#endif

/* The sets that this processor runs, the portable one first and the best one last; NULL after that. */
extern const GenieUnpackKernels *genie_unpack_nth(uint32_t i);

/* the best one */
extern const GenieUnpackKernels *genie_unpack_choose(void);

/* edges() of the sets that have nothing better */
extern uint32_t genie_unpack_edges(const uint8_t *data, const uint8_t *end, uint32_t base, uint16_t *edges,
								   size_t *n_bytes);

/* chunks() of the sets that have nothing better */
extern uint32_t genie_unpack_chunks(const GenieChunk *chunks, uint32_t n, uint16_t *locals);

#if defined(__x86_64__)
/* codes() of AVX2 and AVX-512 */
extern uint32_t genie_unpack_codes_avx2(const uint8_t *data, const uint8_t *end, const uint8_t *codes, uint32_t n,
										uint32_t *matches);
#endif

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_UNPACK_H */
