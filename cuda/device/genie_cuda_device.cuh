/*
 * genie_cuda_device.cuh
 *	  What the device offers, as far as launches depend on it.
 */
#ifndef GENIE_CUDA_DEVICE_CUH
#define GENIE_CUDA_DEVICE_CUH

#include <cstdint>

/* Are tensor cores used? */
enum GenieCudaTensorUse
{
	GENIE_CUDA_TENSOR_NEVER,	/* the device has none that count bits, or they are switched off */
	GENIE_CUDA_TENSOR_MEASURED, /* where they are faster */
	GENIE_CUDA_TENSOR_ALWAYS	/* where they can */
};

struct GenieCudaDevice
{
	uint32_t	shared_of_multiprocessor;	/* bytes of shared memory, */
	uint32_t	shared_of_block;	/* and of these at most for a block */
	uint32_t	n_multiprocessors;
	GenieCudaTensorUse tensor;
	bool		always_samples; /* for tests: lanes sample however few objects there are */
};

#endif							/* GENIE_CUDA_DEVICE_CUH */
