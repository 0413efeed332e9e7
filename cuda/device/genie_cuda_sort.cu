/*
 * genie_cuda_sort.cu
 *	  Sorting the candidates of many queries (genie_cuda_sort.cuh).
 */
#include <cub/device/device_segmented_radix_sort.cuh>

#include "genie_cuda_sort.cuh"

size_t
genie_cuda_sort_bytes(uint32_t n_queries, uint64_t n)
{
	size_t		bytes = 0;

	GENIE_CUDA_CHECK(cub::DeviceSegmentedRadixSort::SortKeysDescending(NULL, bytes, (const GenieCudaCandidate *) NULL,
																	   (GenieCudaCandidate *) NULL, (int64_t) n,
																	   (int64_t) n_queries, (const uint32_t *) NULL,
																	   (const uint32_t *) NULL));
	return bytes;
}

void
genie_cuda_sort(const GenieCudaSort &sort, uint32_t n_queries, cudaStream_t stream)
{
	size_t		bytes = sort.temporary_bytes;

	GENIE_CUDA_CHECK(cub::DeviceSegmentedRadixSort::SortKeysDescending(sort.temporary, bytes,
																	   (const GenieCudaCandidate *) sort.from, sort.to,
																	   (int64_t) sort.n, (int64_t) n_queries,
																	   (const uint32_t *) sort.begins,
																	   (const uint32_t *) sort.ends, 0, 64, stream));
}
