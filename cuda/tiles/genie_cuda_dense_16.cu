/*
 * genie_cuda_dense_16.cu
 *	  Counting with counters of 16 bits (genie_cuda_dense.cuh).
 */
#include "genie_cuda_dense.cuh"

void
genie_cuda_dense_16(const GenieCudaDevice &device, GenieCudaWork work, const GenieCudaLaunch &launch,
					uint32_t max_pieces, cudaStream_t stream)
{
	genie_cuda_dense_work<16>(device, work, launch, max_pieces, stream);
}
