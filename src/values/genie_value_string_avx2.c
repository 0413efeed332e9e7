/*
 * genie_value_string_avx2.c
 *	  Keys of short texts, for x86-64 with AVX2.
 */
#if defined(__x86_64__)

#define TEXT_NAME avx2
#define TEXT_TARGET __attribute__((target("avx2")))
#define TEXT_LANES 4
#define TEXT_LIST(of) {of(0), of(1), of(2), of(3)}

#include "genie_value_string_kernel.h"

#endif							/* __x86_64__ */
