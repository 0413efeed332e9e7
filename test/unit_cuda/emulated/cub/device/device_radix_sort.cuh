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
template <class T>
struct DoubleBuffer
{
	T		   *d_buffers[2];
	int			selector;

	T *Current() const
	{
		return d_buffers[selector];
	}
};

struct DeviceRadixSort
{
	template <class KEY, class VALUE>
	static cudaError_t
	SortPairs(void *temporary, size_t &temporary_bytes, DoubleBuffer<KEY> &keys, DoubleBuffer<VALUE> &values,
			  uint64_t n, int = 0, int = 0, cudaStream_t = nullptr)
	{
		std::vector<uint64_t> order(temporary == nullptr ? 0 : n);
		const KEY  *from = keys.d_buffers[0];

		temporary_bytes = 1;
		if (temporary == nullptr)
			return cudaSuccess;
		std::iota(order.begin(), order.end(), 0);
		std::stable_sort(order.begin(), order.end(), [=](uint64_t a, uint64_t b) { return from[a] < from[b]; });
		for (uint64_t i = 0; i < n; i++)
		{
			keys.d_buffers[1][i] = from[order[i]];
			values.d_buffers[1][i] = values.d_buffers[0][order[i]];
		}
		keys.selector = values.selector = 1;
		return cudaSuccess;
	}
};
}

#endif							/* DEVICE_RADIX_SORT_CUH */
