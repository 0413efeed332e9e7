/*
 * genie_cuda_lanes_8.cu
 *	  Bit lanes with counts of 8 bits.
 */
#include "genie_cuda_lanes_kernel.cuh"

void
genie_cuda_lanes_8(const GenieCudaDevice &device, GenieCudaLaneLaunch &launch, cudaStream_t stream)
{
	genie_cuda_lanes_launch<8>(device, launch, stream);
}
