/*
 * genie_cuda_lanes_12.cu
 *	  Bit lanes with counts of 12 bits.
 */
#include "genie_cuda_lanes_kernel.cuh"

void
genie_cuda_lanes_12(const GenieCudaDevice &device, GenieCudaLaneLaunch &launch, cudaStream_t stream)
{
	genie_cuda_lanes_launch<12>(device, launch, stream);
}
