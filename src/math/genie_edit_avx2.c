/*
 * genie_edit_avx2.c
 *	  Columns of the edit distance for x86-64 with AVX2: up to four blocks of rows, or four texts, at a time.
 */
#if defined(__x86_64__)

#define EDIT_TARGET __attribute__((target("avx2")))
#define EDIT_COLUMNS genie_edit_columns_avx2
#define EDIT_TEXTS genie_edit_texts_avx2

#include "genie_edit_kernel.h"

#endif							/* __x86_64__ */
