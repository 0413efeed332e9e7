/*
 * block_merge_sort.cuh
 *	  cub::BlockMergeSort as the CUDA engine uses it, on the CPU.
 */
#ifndef BLOCK_MERGE_SORT_CUH
#define BLOCK_MERGE_SORT_CUH

#include <algorithm>

namespace cub
{

template <class KEY, int THREADS, int EACH>
class BlockMergeSort
{
public:
	struct TempStorage
	{
		KEY			keys[THREADS * EACH];
	};

	explicit BlockMergeSort(TempStorage &shared_) : shared(shared_) {}

	template <class LESS>
	void
	Sort(KEY (&mine)[EACH], LESS less)
	{
		std::copy(mine, mine + EACH, shared.keys + threadIdx.x * EACH);
		__syncthreads();
		if (threadIdx.x == 0)
			std::stable_sort(shared.keys, shared.keys + THREADS * EACH, less);
		__syncthreads();
		std::copy(shared.keys + threadIdx.x * EACH, shared.keys + (threadIdx.x + 1) * EACH, mine);
	}

private:
	TempStorage &shared;
};

}

#endif							/* BLOCK_MERGE_SORT_CUH */
