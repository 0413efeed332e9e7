/*
 * genie_cuda_dense_launch.cuh
 *	  Counting pieces by blocks: the launcher that the host calls.
 *
 * One width of counters is one file (genie_cuda_dense_4.cu and so on), which makes the kernels from the one template in
 * genie_cuda_dense.cuh.
 */
#ifndef GENIE_CUDA_DENSE_LAUNCH_CUH
#define GENIE_CUDA_DENSE_LAUNCH_CUH

#include "genie_cuda_types.cuh"

enum GenieCudaWork
{
	GENIE_CUDA_WORK_TOP,		/* rank by count */
	GENIE_CUDA_WORK_TOP_TABLE,	/* rank by key table */
	GENIE_CUDA_WORK_MASK,
	GENIE_CUDA_WORK_COUNTS		/* counters of 8 or 16 bits */
};

/* Are tensor cores used? */
enum GenieCudaTensorUse
{
	GENIE_CUDA_TENSOR_NEVER,	/* the device has none that count bits, or it is told so */
	GENIE_CUDA_TENSOR_MEASURED, /* where they are faster */
	GENIE_CUDA_TENSOR_ALWAYS	/* where they can */
};

/* What the device offers to a block. */
struct GenieCudaDevice
{
	uint32_t	shared_of_multiprocessor;	/* bytes */
	uint32_t	shared_of_block;	/* at most */
	uint32_t	n_multiprocessors;
	GenieCudaTensorUse tensor;
	bool		always_samples; /* for tests: lanes sample however few objects there are */
};

/*
 * In how many parts (a power of two) are tiles counted with counters of so many bits, n_wholes pieces of work if they
 * are not cut?  More parts than shared memory asks for where there is too little work for all multiprocessors.
 */
extern uint32_t genie_cuda_dense_splits_log2(const GenieCudaDevice &device, int bits, uint64_t n_wholes);

/*
 * Launches the counting of the launch's pieces: all, or those of its list, on the stream.  max_pieces bounds the list.
 */
extern void genie_cuda_dense(const GenieCudaDevice &device, int bits, GenieCudaWork work,
							 const GenieCudaLaunch &launch, uint32_t max_pieces, cudaStream_t stream);

/* The widths' own launchers, of genie_cuda_dense_*.cu. */
extern void genie_cuda_dense_4(const GenieCudaDevice &device, GenieCudaWork work, const GenieCudaLaunch &launch,
							   uint32_t max_pieces, cudaStream_t stream);
extern void genie_cuda_dense_8(const GenieCudaDevice &device, GenieCudaWork work, const GenieCudaLaunch &launch,
							   uint32_t max_pieces, cudaStream_t stream);
extern void genie_cuda_dense_16(const GenieCudaDevice &device, GenieCudaWork work, const GenieCudaLaunch &launch,
								uint32_t max_pieces, cudaStream_t stream);

#endif							/* GENIE_CUDA_DENSE_LAUNCH_CUH */
