/*
 * genie_kernels_choose.c
 *	  Which kernels this processor runs best.
 *
 * There is no state: the compiler's run-time library asks the processor once, before main, and a choice
 * is a load and a branch.
 */
#include "genie_kernels.h"

const GenieKernels *
genie_kernels_choose(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))
		return &genie_kernels_avx2;
#endif
	return &genie_kernels_portable;
}
