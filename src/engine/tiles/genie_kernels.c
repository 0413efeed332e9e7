/*
 * genie_kernels.c
 *	  Which kernels this processor runs, and which are the best: those whose unpack kernels it runs (genie_unpack.c).
 */
#include "genie_kernels.h"

const GenieKernels *
genie_kernels_nth(uint32_t i)
{
	static const GenieKernels *const sets[] = {
		&genie_kernels_portable,
#if defined(__x86_64__)
		&genie_kernels_avx2,
		&genie_kernels_avx512
#endif
	};

	return genie_unpack_nth(i) == NULL ? NULL : sets[i];
}

const GenieKernels *
genie_kernels_choose(void)
{
	uint32_t	i = 0;

	while (genie_unpack_nth(i + 1) != NULL)
		i++;
	return genie_kernels_nth(i);
}
