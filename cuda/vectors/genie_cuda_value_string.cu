/*
 * genie_cuda_value_string.cu
 *	  The keys of a scan's short texts for its queries: bounds of edit distances (genie_value_string.h).
 *
 * A block has THREADS records, a thread each, and some queries.  Of each code it has in shared memory where these
 * queries have it, a bit a row, side by side, so that one load serves all of them.  A thread goes through its text
 * once, and advances the columns of all queries' tables (src/values/genie_value_string_kernel.h), whose steps do not
 * wait for each other.
 *
 * A column is one word of 32 bits or of 64, or two, whichever the longest of the scan's queries needs.
 */
#include <type_traits>

#include "genie_cuda_value_scan.cuh"

constexpr uint32_t THREADS = GENIE_CUDA_VALUE_THREADS;
constexpr uint32_t QUERIES = GENIE_CUDA_VALUE_STRING_QUERIES;
constexpr uint32_t CODES = 256;

/* The query's length, and how many of its codes are compared. */
static __device__ __forceinline__ uint32_t
length_of(const GenieCudaValueQuery &query)
{
	return (uint32_t) query.constants->norm;
}

static __device__ __forceinline__ uint32_t
rows_of(const GenieCudaValueQuery &query)
{
	return min(length_of(query), (uint32_t) GENIE_VALUE_PATTERN_MAX);
}

/* A query's column: bits tell where it steps up, and where down, from the row above. */
template <typename Word, uint32_t WORDS>
struct Column
{
	static constexpr uint32_t BITS = 8 * sizeof(Word);

	Word		up[WORDS];
	Word		down[WORDS];
	uint32_t	distance;		/* in the last row */

	__device__ __forceinline__ void begin(uint32_t rows)
	{
#pragma unroll
		for (uint32_t w = 0; w < WORDS; w++)
		{
			up[w] = ~(Word) 0;
			down[w] = 0;
		}
		distance = rows;
	}

	/* To the next column, where rows match; last: the last row. */
	__device__ __forceinline__ void advance(const Word *masks, uint32_t last)
	{
		Word		above_up = 1;
		Word		above_down = 0;

#pragma unroll
		for (uint32_t w = 0; w < WORDS; w++)
		{
			const Word	mask = masks[w];
			const Word	diagonal = mask | down[w];
			const Word	matched = mask | above_down;
			const Word	matches = (((matched & up[w]) + up[w]) ^ up[w]) | matched;
			Word		row_up = down[w] | ~(matches | up[w]);
			Word		row_down = up[w] & matches;

			if (WORDS == 1 || last / BITS == w)
				distance += (uint32_t) (row_up >> last % BITS & 1) - (uint32_t) (row_down >> last % BITS & 1);

			const Word	next_up = row_up >> (BITS - 1);
			const Word	next_down = row_down >> (BITS - 1);

			row_up = row_up << 1 | above_up;
			row_down = row_down << 1 | above_down;
			up[w] = row_down | ~(diagonal | row_up);
			down[w] = row_up & diagonal;
			above_up = next_up;
			above_down = next_down;
		}
	}
};

/* Where a code is in the queries; a load has up to 16 bytes. */
template <typename Word, uint32_t WORDS, uint32_t N>
struct alignas(N * WORDS * sizeof(Word) < 16 ? N * WORDS * sizeof(Word) : 16) Masks
{
	Word		of[N][WORDS];
};

/* Writes those of all codes. */
template <typename Word, uint32_t WORDS, uint32_t N>
static __device__ __forceinline__ void
make_masks(const GenieCudaValueScan &scan, uint32_t first_query, Masks<Word, WORDS, N> *masks)
{
	using Atomic = typename std::conditional<sizeof(Word) == 4, unsigned int, unsigned long long>::type;
	constexpr uint32_t BITS = 8 * sizeof(Word);

	for (uint32_t i = threadIdx.x; i < CODES * N * WORDS; i += THREADS)
		masks[i / (N * WORDS)].of[i / WORDS % N][i % WORDS] = 0;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < N * WORDS * BITS; i += THREADS)
	{
		const uint32_t q = i / (WORDS * BITS);
		const uint32_t row = i % (WORDS * BITS);
		const GenieCudaValueQuery &query = scan.queries[min(first_query + q, scan.n_queries - 1)];

		if (row < rows_of(query))
			atomicOr((Atomic *) &masks[((const uint8_t *) query.body)[row]].of[q][row / BITS],
					 (Atomic) 1 << row % BITS);
	}
	__syncthreads();
}

template <typename Word, uint32_t WORDS, uint32_t N>
static __global__ void
__launch_bounds__(THREADS) genie_cuda_value_string_kernel(GenieCudaValueScan scan)
{
	__shared__ Masks<Word, WORDS, N> masks[CODES];
	const uint32_t n_groups = (scan.n_queries + N - 1) / N;
	const uint32_t first_query = blockIdx.x % n_groups * N;
	const uint32_t i = blockIdx.x / n_groups * THREADS + threadIdx.x;
	const bool	is_one = i < genie_cuda_value_n_looked_at(scan);
	const uint32_t *record =
		(const uint32_t *) genie_cuda_value_record(scan, scan.first_object + (is_one ? i : 0) * scan.stride);
	uint32_t	word = record[0];
	const uint32_t length = word & 0xFFFF;
	const uint32_t kept = is_one ? genie_value_string_kept(length, scan.n_dimensions) : 0;
	Column<Word, WORDS> columns[N];
	uint32_t	last[N];

	make_masks<Word, WORDS, N>(scan, first_query, masks);
#pragma unroll
	for (uint32_t q = 0; q < N; q++)
	{
		const uint32_t rows = rows_of(scan.queries[min(first_query + q, scan.n_queries - 1)]);

		columns[q].begin(rows);
		last[q] = rows == 0 ? 0 : rows - 1;
	}
	for (uint32_t j = 0; j < kept; j++)
	{
		const uint32_t at = (uint32_t) sizeof(GenieValueString) + j;

		if (at % 4 == 0)
			word = record[at / 4];

		const uint32_t code = word >> at % 4 * 8 & 0xFF;

#pragma unroll
		for (uint32_t q = 0; q < N; q++)
			columns[q].advance(masks[code].of[q], last[q]);
	}
	if (!is_one)
		return;
#pragma unroll
	for (uint32_t q = 0; q < N; q++)
		if (first_query + q < scan.n_queries)
		{
			const GenieCudaValueQuery &query = scan.queries[first_query + q];
			const uint32_t rows = rows_of(query);
			const uint32_t distance = rows == 0 ? kept : columns[q].distance;
			const uint32_t bound =
				genie_value_string_bound(distance, length_of(query), length_of(query) - rows, length, length - kept);

			genie_cuda_value_put(scan, query, i, genie_cuda_value_key((float) bound));
		}
}

template <typename Word, uint32_t WORDS, uint32_t N>
static void
launch(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	const uint64_t n_groups = (scan.n_queries + N - 1) / N;
	const uint64_t n_blocks = n_groups * ((genie_cuda_value_n_looked_at(scan) + (uint64_t) THREADS - 1) / THREADS);

	if (n_blocks > INT32_MAX)
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "a scan has more objects than a launch has blocks for");
	genie_cuda_value_string_kernel<Word, WORDS, N><<<(uint32_t) n_blocks, THREADS, 0, stream>>>(scan);
	genie_cuda_check_launch("genie_cuda_value_string_kernel");
}

template <typename Word, uint32_t WORDS>
static void
launch_by_queries(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	if (scan.n_queries == 1)
		launch<Word, WORDS, 1>(scan, stream);
	else
		launch<Word, WORDS, QUERIES>(scan, stream);
}

void
genie_cuda_value_string(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	if (scan.n_rows <= 32)
		launch_by_queries<uint32_t, 1>(scan, stream);
	else if (scan.n_rows <= 64)
		launch_by_queries<unsigned long long, 1>(scan, stream);
	else
		launch_by_queries<unsigned long long, 2>(scan, stream);
}
