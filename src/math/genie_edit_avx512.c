/*
 * genie_edit_avx512.c
 *	  Columns of the edit distance for x86-64 with AVX-512: up to eight blocks of rows, or eight texts, at a time.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define EDIT_LANES 8
#define EDIT_TARGET __attribute__((target("avx512f")))
#define EDIT_COLUMNS genie_edit_columns_avx512
#define EDIT_TEXTS genie_edit_texts_avx512
#define EDIT_LIST(of) {of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)}
#define EDIT_SHIFT_IN(step, first) \
	(Lanes) _mm512_alignr_epi64((__m512i) (step), _mm512_set1_epi64((long long) (first)), 7)
#define EDIT_SWITCH(go) go(2) go(3) go(4) go(5) go(6) go(7) go(8)

#include "genie_edit_kernel.h"

#endif							/* __x86_64__ */
