/*
 * genie_unpack.c
 *	  Which instruction sets this processor has for reading lists, and which is the best (genie_unpack.h).
 *
 * There is no state: the compiler's run-time library asks the processor once, before main, and whether the operating
 * system saves the wide registers; a choice is some loads and branches.
 */
#include "genie_unpack.h"

#if defined(__x86_64__)

static bool
has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

static bool
has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
		__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bitalg") &&
		__builtin_cpu_supports("bmi2");
}

#endif

const GenieUnpackKernels *
genie_unpack_nth(uint32_t i)
{
	if (i == 0)
		return &genie_unpack_portable;
#if defined(__x86_64__)
	if (i == 1 && has_avx2())
		return &genie_unpack_avx2;
	if (i == 2 && has_avx512())
		return &genie_unpack_avx512;
#endif
	return NULL;
}

const GenieUnpackKernels *
genie_unpack_choose(void)
{
#if defined(__x86_64__)
	if (has_avx512())
		return &genie_unpack_avx512;
	if (has_avx2())
		return &genie_unpack_avx2;
#endif
	return &genie_unpack_portable;
}
