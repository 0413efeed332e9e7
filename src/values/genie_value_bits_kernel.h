/*
 * genie_value_bits_kernel.h
 *	  Keys of bit strings (genie_value_bits.h), as a template: a file that defines the register includes it.
 *
 *	BITS_NAME			the instruction set: genie_value_bits_NAME is made
 *	BITS_TARGET			attribute of each function: the instructions that it may use
 *	BITS_LANES			words of 64 bits in a register, a power of 2
 *	BITS_LOAD(at)		a register at any address
 *	BITS_LOAD_FEW(at, n)	its first n words, fewer than BITS_LANES, and zeros; no other memory is read
 *	BITS_COUNT(x)		of each word, how many bits are set
 *	BITS_FOLD(a, b)		the sums of neighbouring words: those of a, then those of b
 *	BITS_STORE(at, distances)	their keys
 *
 * BITS_LANES records are taken together.  Where a register has whole records, they are as many registers as a record
 * has words; else each record's counts are added up in a register of its own.  In both cases folds leave one distance
 * a word.  Records that are left over are taken one by one.
 */
#ifndef GENIE_VALUE_BITS_KERNEL_H
#define GENIE_VALUE_BITS_KERNEL_H

#include <string.h>

#include "genie_value_bits.h"
#include "genie_value_scan.h"

#ifndef BITS_NAME
#define BITS_NAME portable
#define BITS_TARGET
#define BITS_LANES 1
#define BITS_LOAD(at) load_word(at)
#define BITS_LOAD_FEW(at, n) (0)
#define BITS_COUNT(x) count_word(x)
#define BITS_FOLD(a, b) (a)
#define BITS_STORE(at, distances) (*(at) = genie_value_key((double) (distances)))
typedef uint64_t Words;
#endif

#define INLINE __attribute__((always_inline)) BITS_TARGET static inline
INLINE uint64_t
load_word(const char *at)
{
	uint64_t	word;

	memcpy(&word, at, sizeof(word));
	return word;
}

INLINE uint64_t
count_word(uint64_t word)
{
	return (uint64_t) __builtin_popcountll(word);
}

/* The distance of one record. */
INLINE uint32_t
distance_of(const char *query, const char *record, uint32_t n_words)
{
	uint64_t	distance = 0;

	for (uint32_t i = 0; i < n_words; i++)
		distance += count_word(load_word(query + i * sizeof(uint64_t)) ^ load_word(record + i * sizeof(uint64_t)));
	return (uint32_t) distance;
}

/* The same, as words whose sum it is. */
INLINE Words
counts_of(const char *query, const char *record, uint32_t n_words)
{
	uint32_t	n_whole = n_words - n_words % BITS_LANES;
	Words		counts = {0};
	size_t		at = 0;

	for (uint32_t i = 0; i < n_whole; i += BITS_LANES, at += sizeof(Words))
		counts += BITS_COUNT(BITS_LOAD(query + at) ^ BITS_LOAD(record + at));
	if (n_whole < n_words)
		counts += BITS_COUNT(BITS_LOAD_FEW(query + at, n_words - n_whole) ^
							 BITS_LOAD_FEW(record + at, n_words - n_whole));
	return counts;
}

INLINE void
keys_of(const char *query, const char *records, uint32_t n_words, uint32_t n, uint32_t *keys)
{
	bool		has_whole = BITS_LANES % n_words == 0;
	size_t		n_bytes = n_words * sizeof(uint64_t);
	uint64_t	repeated[BITS_LANES] = {0};
	uint32_t	i = 0;

	for (uint32_t j = 0; j < BITS_LANES && has_whole; j++)
		repeated[j] = load_word(query + j % n_words * sizeof(uint64_t));
	for (; i + BITS_LANES <= n; i += BITS_LANES)
	{
		uint32_t	n_counts = has_whole ? n_words : BITS_LANES;
		Words		counts[BITS_LANES];

		for (uint32_t j = 0; j < n_counts; j++)
			counts[j] = has_whole ?
				BITS_COUNT(BITS_LOAD((const char *) repeated) ^ BITS_LOAD(records + i * n_bytes + j * sizeof(Words))) :
				counts_of(query, records + (i + j) * n_bytes, n_words);
		for (; n_counts > 1; n_counts /= 2)
			for (uint32_t j = 0; j < n_counts / 2; j++)
				counts[j] = BITS_FOLD(counts[2 * j], counts[2 * j + 1]);
		BITS_STORE(keys + i, counts[0]);
	}
	for (; i < n; i++)
		keys[i] = genie_value_key(distance_of(query, records + i * n_bytes, n_words));
}

/* GenieValueKernel */
BITS_TARGET static void
keys_of_records(const GenieValueQuery *query, const void *records, uint32_t n, uint32_t *keys)
{
	const char *words = genie_value_query_body(query);
	uint32_t	n_words = genie_value_bits_words(query->n_dimensions);

	/* loops of a known length */
	switch (n_words)
	{
		case 1:
			keys_of(words, records, 1, n, keys);
			break;
		case 2:
			keys_of(words, records, 2, n, keys);
			break;
		case 4:
			keys_of(words, records, 4, n, keys);
			break;
		case 8:
			keys_of(words, records, 8, n, keys);
			break;
		default:
			keys_of(words, records, n_words, n, keys);
			break;
	}
}

#define KERNEL_OF(name) KERNEL_OF_(name)
#define KERNEL_OF_(name) const GenieValueKernel genie_value_bits_##name = {#name, keys_of_records, NULL}
KERNEL_OF(BITS_NAME);

#endif							/* GENIE_VALUE_BITS_KERNEL_H */
