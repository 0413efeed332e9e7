/*
 * device_segmented_radix_sort.cuh
 *	  cub::DeviceSegmentedRadixSort as the CUDA engine uses it, on the CPU.
 */
#ifndef DEVICE_SEGMENTED_RADIX_SORT_CUH
#define DEVICE_SEGMENTED_RADIX_SORT_CUH

#include <algorithm>
#include <functional>

namespace cub
{
struct DeviceSegmentedRadixSort
{
	template <class KEY>
	static cudaError_t
	SortKeysDescending(void *temporary, size_t &temporary_bytes, const KEY *from, KEY *to, int64_t, int64_t n,
					   const uint32_t *begins, const uint32_t *ends, int = 0, int = 0, cudaStream_t = nullptr)
	{
		temporary_bytes = 1;
		for (int64_t i = 0; temporary != nullptr && i < n; i++)
		{
			std::copy(from + begins[i], from + ends[i], to + begins[i]);
			std::sort(to + begins[i], to + ends[i], std::greater<KEY>());
		}
		return cudaSuccess;
	}
};
}

#endif							/* DEVICE_SEGMENTED_RADIX_SORT_CUH */
