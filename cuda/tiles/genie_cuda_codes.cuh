/*
 * genie_cuda_codes.cuh
 *	  Rows of codes (genie_image.h) on the device, for tiles and for bit lanes.
 *
 * Bit lanes swizzle codes in place when they first count an image (genie_cuda_lanes_types.cuh): word i of object o's
 * row is then where word i ^ (o >> shift & mask) was.
 */
#ifndef GENIE_CUDA_CODES_CUH
#define GENIE_CUDA_CODES_CUH

#include "genie_cuda_types.cuh"

/* slots of a row of the lanes' tables: all banks of shared memory in entries of 16 bytes */
constexpr uint32_t GENIE_CUDA_CODE_SLOTS = 8;

struct GenieCudaSwizzle
{
	uint32_t	shift;
	uint32_t	mask;
};

/* How rows of so many bytes of codes of a width are swizzled. */
__host__ __device__ __forceinline__ GenieCudaSwizzle
genie_cuda_swizzle(uint32_t width, uint32_t row_bytes)
{
	const uint32_t words = row_bytes / 4;
	const uint32_t most = GENIE_CUDA_CODE_SLOTS / (32 / width) > 0 ? GENIE_CUDA_CODE_SLOTS / (32 / width) : 1;
	GenieCudaSwizzle swizzle;

	swizzle.shift = width == 16 ? 1 : width == 8 ? 2 : 3;
	swizzle.mask = (words < most ? words : most) - 1;
	return swizzle;
}

/* Loads a row of codes; words that it does not have are 0. */
__device__ __forceinline__ uint4
genie_cuda_code_row(const uint8_t *at, uint32_t row_bytes)
{
	if (row_bytes == 16)
		return __ldg((const uint4 *) at);
	if (row_bytes == 8)
	{
		const uint2 half = __ldg((const uint2 *) at);

		return make_uint4(half.x, half.y, 0, 0);
	}
	return make_uint4(__ldg((const uint32_t *) at), 0, 0, 0);
}

#endif							/* GENIE_CUDA_CODES_CUH */
