/*
 * genie_edit.h
 *	  The edit distance between one pattern and many texts (Levenshtein: insertions, deletions and substitutions of one
 *	  character, each of cost 1).
 *
 * Characters are numbers that the caller makes (genie_edit_distance.c).  The pattern's alphabet numbers its distinct
 * characters from 1; a text is an array of these numbers, 0 for a character that the pattern does not have.
 *
 * Long texts take a while.  So the caller may be asked between two blocks of rows (pause), and may leave by longjmp:
 * nothing is held then, and the pattern can be used again.
 *
 * Nothing here allocates.  The pattern's memory is the caller's, in the sizes stated at its fields.
 */
#ifndef GENIE_EDIT_H
#define GENIE_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GENIE_EDIT_LENGTH_MAX	65535	/* characters of a pattern or a text; ids and distances fit 16 bits */
#define GENIE_EDIT_BYTES		256 /* characters below are looked up in a table, others are hashed */
#define GENIE_EDIT_LANES		8	/* blocks of rows, or texts, at a time, at most */
#define GENIE_EDIT_BLOCK		64	/* rows of a block, the bits of a word */

typedef struct GenieEditPattern
{
	/* the alphabet */
	uint16_t	id_of_byte[GENIE_EDIT_BYTES];
	uint32_t	n_ids;			/* distinct characters */
	uint32_t	slot_mask;		/* slots - 1 */
	uint64_t   *slots;			/* genie_edit_slots(length) of them, zeroed: character << 16 | id; 0: free */

	/* the pattern */
	uint32_t	length;
	uint16_t   *ids;			/* length entries */
	uint64_t   *masks;			/* genie_edit_masks(length) of them, zeroed: by id, where it stands in a block */
	uint32_t	lanes;			/* blocks or texts at a time: genie_edit_widest(), or fewer of the numbers there */
	void		(*pause) (void);	/* called before each lanes blocks of rows; NULL: nobody is asked */
} GenieEditPattern;

/* Slots that the alphabet of a pattern of so many characters needs: a power of two. */
extern uint32_t genie_edit_slots(uint32_t length);

/* Entries of masks. */
static inline size_t
genie_edit_masks(uint32_t length)
{
	return GENIE_EDIT_LANES * ((size_t) length + 1);
}

/* How many blocks of rows, or texts, this processor can do at a time: 8 with AVX-512, 4 with AVX2, or 1. */
extern uint32_t genie_edit_widest(void);

/* Takes the pattern's characters; slots, ids and masks are set and zeroed, length is at most GENIE_EDIT_LENGTH_MAX. */
extern void genie_edit_prepare(GenieEditPattern *pattern, const uint32_t *characters, uint32_t length);

/* 0: not in the pattern */
extern uint16_t genie_edit_find(const GenieEditPattern *pattern, uint32_t character);

static inline uint16_t
genie_edit_id(const GenieEditPattern *pattern, uint32_t character)
{
	return character < GENIE_EDIT_BYTES ? pattern->id_of_byte[character] : genie_edit_find(pattern, character);
}

/*
 * The distance to a text of n characters, at most GENIE_EDIT_LENGTH_MAX, if that is at most limit; else any number
 * above limit.  scratch is n bytes; the pattern's masks are used and left as they were.
 */
extern uint32_t genie_edit_distance(GenieEditPattern *pattern, const uint16_t *text, uint32_t n,
									uint32_t limit, uint8_t *scratch);

/*
 * The distances to pattern->lanes texts, of a pattern of 1 to GENIE_EDIT_BLOCK characters.  Character j of text i is at
 * texts[j * lanes + i], with room for all texts as long as the longest; what is behind a text's end is overwritten.
 */
extern void genie_edit_distances(const GenieEditPattern *pattern, uint16_t *texts, const uint32_t *lengths,
								 uint32_t *distances);

/* ---- within the engine ---- */

/* a step along a row of the table, as it is kept: bit 0: +1, bit 1: -1 */
#define GENIE_EDIT_UP			1
#define GENIE_EDIT_DOWN			2

#if defined(__x86_64__)
/*
 * n columns of so many rows, 65 to 64 times the lanes, of which AVX2 has 4 and AVX-512 has 8.  masks: by id, of
 * each lane.  steps: along the row above, of each column; becomes those along the last row.
 */
extern void genie_edit_columns_avx2(const uint64_t *masks, uint32_t rows, const uint16_t *text, int64_t n,
									uint8_t *steps);
extern void genie_edit_columns_avx512(const uint64_t *masks, uint32_t rows, const uint16_t *text, int64_t n,
									  uint8_t *steps);

/* As genie_edit_distances(): so many rows, 1 to 64, and n columns of as many texts as there are lanes. */
extern void genie_edit_texts_avx2(const uint64_t *masks, uint32_t rows, const uint16_t *texts, const uint32_t *lengths,
								  uint32_t n, uint32_t *distances);
extern void genie_edit_texts_avx512(const uint64_t *masks, uint32_t rows, const uint16_t *texts,
									const uint32_t *lengths, uint32_t n, uint32_t *distances);
#endif

#endif							/* GENIE_EDIT_H */
