/*
 * device_radix_sort.cuh
 *	  cub::DeviceRadixSort as the CUDA engine uses it, on the CPU.
 */
#ifndef DEVICE_RADIX_SORT_CUH
#define DEVICE_RADIX_SORT_CUH

#include <algorithm>
#include <numeric>
#include <vector>

namespace cub
{
struct DeviceRadixSort
{
	template <class KEY, class VALUE>
	static cudaError_t
	SortPairs(void *temporary, size_t &temporary_bytes, const KEY *keys_from, KEY *keys_to, const VALUE *from,
			  VALUE *to, uint64_t n, int = 0, int = 0, cudaStream_t = nullptr)
	{
		std::vector<uint64_t> order(temporary == nullptr ? 0 : n);

		temporary_bytes = 1;
		std::iota(order.begin(), order.end(), 0);
		std::stable_sort(order.begin(), order.end(),
						 [=](uint64_t a, uint64_t b) { return keys_from[a] < keys_from[b]; });
		for (uint64_t i = 0; i < order.size(); i++)
		{
			keys_to[i] = keys_from[order[i]];
			to[i] = from[order[i]];
		}
		return cudaSuccess;
	}
};
}

#endif							/* DEVICE_RADIX_SORT_CUH */
