/*
 * genie_cuda_lanes_block.cuh
 *	  Bit lanes: what blocks of both counting kernels do: take their units, and fetch their slice's table.
 */
#ifndef GENIE_CUDA_LANES_BLOCK_CUH
#define GENIE_CUDA_LANES_BLOCK_CUH

#include "genie_cuda_async.cuh"
#include "genie_cuda_lanes_types.cuh"
#include "genie_cuda_scan.cuh"

extern __shared__ uint4 genie_cuda_memory[];

/* The number of the block; blocks are numbered slice by slice. */
__device__ __forceinline__ uint32_t
genie_cuda_lane_block()
{
	return blockIdx.x * gridDim.y + blockIdx.y;
}

/* The first object of one of the launch's units. */
__device__ __forceinline__ uint32_t
genie_cuda_lane_object(const GenieCudaLaneLaunch &launch, uint32_t unit)
{
	return launch.first_object + unit * launch.step;
}

/* The units of a block.  In each round each of its warps takes one of them. */
struct GenieCudaLanePart
{
	uint32_t	first;
	uint32_t	n;
};

__device__ __forceinline__ GenieCudaLanePart
genie_cuda_lane_part(const GenieCudaLaneLaunch &launch)
{
	const uint32_t first = blockIdx.y * launch.part_units;

	return GenieCudaLanePart{first, min(launch.part_units, launch.n_units - first)};
}

/* The unit of the part that the warp takes in a round, if there are that many. */
__device__ __forceinline__ uint32_t
genie_cuda_lane_unit(uint32_t round)
{
	return round * (blockDim.x / GENIE_CUDA_WARP) + genie_cuda_warp();
}

/* Copies bytes of the slice's table into shared memory, without waiting for them. */
__device__ __forceinline__ void
genie_cuda_lane_fetch(const uint8_t *from, uint32_t to, uint32_t n_bytes)
{
	uint8_t    *table = (uint8_t *) genie_cuda_memory + to;

	for (uint32_t i = threadIdx.x * sizeof(uint4); i < n_bytes; i += blockDim.x * sizeof(uint4))
		genie_cuda_copy_async(table + i, from + i);
}

#endif							/* GENIE_CUDA_LANES_BLOCK_CUH */
