/*
 * genie_cuda_lanes_table.cuh
 *	  Bit lanes: filling the slices' tables, a template by the kind of table.
 */
#ifndef GENIE_CUDA_LANES_TABLE_CUH
#define GENIE_CUDA_LANES_TABLE_CUH

#include "genie_cuda_lanes_types.cuh"
#include "genie_cuda_scan.cuh"

/* A block fills in a query: a thread each short range, a whole warp each long one. */
template <class TABLE>
static __global__ void
__launch_bounds__(GENIE_CUDA_LANE_TABLE_THREADS)
	genie_cuda_lanes_table_kernel(const GenieCudaLanePlace *places, const GenieCudaQuery *queries, uint8_t *tables,
								  uint32_t table_bytes)
{
	const GenieCudaQuery &query = queries[blockIdx.x];
	const uint32_t q = blockIdx.x % GENIE_CUDA_LANE_QUERIES;
	uint8_t    *table = tables + (size_t) (blockIdx.x / GENIE_CUDA_LANE_QUERIES) * table_bytes;

	for (uint32_t first = genie_cuda_warp() * GENIE_CUDA_WARP; first < query.n_ranges;
		 first += GENIE_CUDA_LANE_TABLE_THREADS)
	{
		const uint32_t number = first + genie_cuda_thread();
		const GenieRankRange range = number < query.n_ranges ? query.ranges[number] : GenieRankRange{0, 0};
		const bool	is_long = range.end - range.first > GENIE_CUDA_LANE_SHORT;

		for (uint32_t rank = range.first; rank < range.end && !is_long; rank++)
			TABLE::set(table, places[rank], q);
		for (uint32_t left = __ballot_sync(GENIE_CUDA_WHOLE_WARP, is_long); left != 0; left &= left - 1)
		{
			const int	from = __ffs((int) left) - 1;
			const uint32_t end = __shfl_sync(GENIE_CUDA_WHOLE_WARP, range.end, from);
			const uint32_t begin = __shfl_sync(GENIE_CUDA_WHOLE_WARP, range.first, from);

			for (uint32_t rank = begin + genie_cuda_thread(); rank < end; rank += GENIE_CUDA_WARP)
				TABLE::set(table, places[rank], q);
		}
	}
}

#endif							/* GENIE_CUDA_LANES_TABLE_CUH */
