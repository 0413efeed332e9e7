/*
 * genie_cuda_value_bits.cu
 *	  The keys of a scan's bit strings for its queries: how many bits differ (genie_value_bits.h).
 *
 * A block has THREADS records, a thread each, and QUERIES queries, of which it has WORDS words in shared memory at a
 * time.  A word of a record is read once for all of them, and lines of records stay in L1 from word to word.
 */
#include "genie_cuda_value_scan.cuh"

constexpr uint32_t THREADS = GENIE_CUDA_VALUE_THREADS;
constexpr uint32_t QUERIES = GENIE_CUDA_VALUE_QUERIES;
constexpr uint32_t WORDS = 64;

static __global__ void
__launch_bounds__(THREADS) genie_cuda_value_bits_kernel(GenieCudaValueScan scan, uint32_t n_words)
{
	__shared__ uint64_t bodies[QUERIES][WORDS];
	const uint32_t n_groups = (scan.n_queries + QUERIES - 1) / QUERIES;
	const uint32_t first_query = blockIdx.x % n_groups * QUERIES;
	const uint32_t i = blockIdx.x / n_groups * THREADS + threadIdx.x;
	const bool	is_one = i < genie_cuda_value_n_looked_at(scan);
	const uint32_t object = scan.first_object + (is_one ? i : 0) * scan.stride;
	const uint64_t *record = (const uint64_t *) scan.tiles[object >> GENIE_TILE_SHIFT] +
		(size_t) (object & (GENIE_TILE_OBJECTS - 1)) * n_words;
	uint32_t	differences[QUERIES] = {};

	for (uint32_t first = 0; first < n_words; first += WORDS)
	{
		const uint32_t n = min(WORDS, n_words - first);

		__syncthreads();
		for (uint32_t w = threadIdx.x; w < QUERIES * n; w += THREADS)
			bodies[w / n][w % n] =
				((const uint64_t *) scan.queries[min(first_query + w / n, scan.n_queries - 1)].body)[first + w % n];
		__syncthreads();
		for (uint32_t w = 0; w < n; w++)
		{
			const uint64_t word = record[first + w];

#pragma unroll
			for (uint32_t q = 0; q < QUERIES; q++)
				differences[q] += (uint32_t) __popcll(word ^ bodies[q][w]);
		}
	}
	if (!is_one)
		return;
#pragma unroll
	for (uint32_t q = 0; q < QUERIES; q++)
		if (first_query + q < scan.n_queries)
			genie_cuda_value_put(scan, scan.queries[first_query + q], i, genie_cuda_value_key((float) differences[q]));
}

void
genie_cuda_value_bits(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	const uint64_t n_groups = (scan.n_queries + QUERIES - 1) / QUERIES;
	const uint64_t n_blocks = n_groups * ((genie_cuda_value_n_looked_at(scan) + (uint64_t) THREADS - 1) / THREADS);

	if (n_blocks > INT32_MAX)
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "a scan has more objects than a launch has blocks for");
	genie_cuda_value_bits_kernel<<<(uint32_t) n_blocks, THREADS, 0, stream>>>(scan,
																			  genie_value_bits_words(
																				  scan.n_dimensions));
	genie_cuda_check_launch("genie_cuda_value_bits_kernel");
}
