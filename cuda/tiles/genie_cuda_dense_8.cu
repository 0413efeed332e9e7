/*
 * genie_cuda_dense_8.cu
 *	  Counting with counters of 8 bits (genie_cuda_dense.cuh).
 */
#include "genie_cuda_dense.cuh"

void
genie_cuda_dense_8(const GenieCudaDevice &device, GenieCudaWork work, const GenieCudaLaunch &launch,
				   uint32_t max_pieces, cudaStream_t stream)
{
	genie_cuda_dense_work<8>(device, work, launch, max_pieces, stream);
}
