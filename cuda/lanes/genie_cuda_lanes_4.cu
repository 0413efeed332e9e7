/*
 * genie_cuda_lanes_4.cu
 *	  Bit lanes with counts of 4 bits.
 */
#include "genie_cuda_lanes_kernel.cuh"

void
genie_cuda_lanes_4(const GenieCudaDevice &device, GenieCudaLaneLaunch &launch, cudaStream_t stream)
{
	genie_cuda_lanes_launch<4>(device, launch, stream);
}
