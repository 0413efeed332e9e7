/*
 * genie_value_string_avx512.c
 *	  Keys of short texts, for x86-64 with AVX-512.
 */
#if defined(__x86_64__)

#define TEXT_NAME avx512
#define TEXT_TARGET __attribute__((target("avx512f,avx2")))
#define TEXT_LANES 8
#define TEXT_LIST(of) {of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)}

#include "genie_value_string_kernel.h"

#endif							/* __x86_64__ */
