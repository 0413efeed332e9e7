/*
 * genie_cuda_value_string.cu
 *	  The keys of a scan's short texts for its queries: bounds of edit distances (genie_value_string.h).
 *
 * A block has THREADS records, a thread each, and some queries.  Of each code it has in shared memory where these
 * queries have it, a bit a row, side by side, so that one load serves all of them.  A thread goes through its text
 * once, and advances the columns of all queries' tables (src/values/genie_value_string_kernel.h), whose steps do not
 * wait for each other.
 *
 * A column is as many words of 32 bits as the longest of the scan's queries needs, added with a carry.  The last row is
 * the highest bit, whatever the query's length: so it need not be looked for.  Rows below the first have neither
 * matches nor steps, and hand on the step above the first row, as if they were not there.
 *
 * From one column to the next, the distance in the last row falls by one at most.  So a query is done with a text whose
 * distance, less the columns that are left, is above what a key of its floor allows.  That is looked at now and then,
 * and a thread ends when none of its queries goes on.
 */
#include "genie_cuda_value_scan.cuh"

constexpr uint32_t THREADS = GENIE_CUDA_VALUE_THREADS;
constexpr uint32_t QUERIES = GENIE_CUDA_VALUE_STRING_QUERIES;
constexpr uint32_t CODES = 256;
constexpr uint32_t LOOKS = 8;	/* columns from one look at floors to the next */

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

/* sum = a + b of so many words, the lowest first */
template <uint32_t WORDS>
static __device__ __forceinline__ void
add_words(uint32_t *sum, const uint32_t *a, const uint32_t *b)
{
#ifdef GENIE_CUDA_EMULATED
	uint64_t	carry = 0;

	for (uint32_t w = 0; w < WORDS; w++)
	{
		carry += (uint64_t) a[w] + b[w];
		sum[w] = (uint32_t) carry;
		carry >>= 32;
	}
#else
	if (WORDS == 1)
		sum[0] = a[0] + b[0];
	else if (WORDS == 2)
		asm("add.cc.u32 %0, %2, %4;\n\taddc.u32 %1, %3, %5;"
			: "=&r"(sum[0]), "=r"(sum[1 % WORDS])
			: "r"(a[0]), "r"(a[1 % WORDS]), "r"(b[0]), "r"(b[1 % WORDS]));
	else if (WORDS == 3)
		asm("add.cc.u32 %0, %3, %6;\n\taddc.cc.u32 %1, %4, %7;\n\taddc.u32 %2, %5, %8;"
			: "=&r"(sum[0]), "=&r"(sum[1 % WORDS]), "=r"(sum[2 % WORDS])
			: "r"(a[0]), "r"(a[1 % WORDS]), "r"(a[2 % WORDS]), "r"(b[0]), "r"(b[1 % WORDS]), "r"(b[2 % WORDS]));
	else
		asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\t"
			"addc.u32 %3, %7, %11;"
			: "=&r"(sum[0]), "=&r"(sum[1 % WORDS]), "=&r"(sum[2 % WORDS]), "=r"(sum[3 % WORDS])
			: "r"(a[0]), "r"(a[1 % WORDS]), "r"(a[2 % WORDS]), "r"(a[3 % WORDS]), "r"(b[0]), "r"(b[1 % WORDS]),
			  "r"(b[2 % WORDS]), "r"(b[3 % WORDS]));
#endif
}

/* A query's column: bits tell where it steps up, and where down, from the row above. */
template <uint32_t WORDS>
struct Column
{
	uint32_t	up[WORDS];
	uint32_t	down[WORDS];
	uint32_t	distance;		/* in the last row */

	__device__ __forceinline__ void begin(uint32_t rows)
	{
#pragma unroll
		for (uint32_t w = 0; w < WORDS; w++)
		{
			const uint32_t below = 32 * (w + 1) > 32 * WORDS - rows ? 32 * (w + 1) - (32 * WORDS - rows) : 0;

			up[w] = below >= 32 ? UINT32_MAX : below == 0 ? 0 : UINT32_MAX << (32 - below);
			down[w] = 0;
		}
		distance = rows;
	}

	/* To the next column, where rows match. */
	__device__ __forceinline__ void advance(const uint32_t *masks)
	{
		uint32_t	both[WORDS];
		uint32_t	sum[WORDS];
		uint32_t	row_up[WORDS];
		uint32_t	row_down[WORDS];

#pragma unroll
		for (uint32_t w = 0; w < WORDS; w++)
			both[w] = masks[w] & up[w];
		add_words<WORDS>(sum, both, up);
#pragma unroll
		for (uint32_t w = 0; w < WORDS; w++)
		{
			const uint32_t matches = (sum[w] ^ up[w]) | masks[w];

			row_up[w] = down[w] | ~(matches | up[w]);
			row_down[w] = up[w] & matches;
		}
		distance += (row_up[WORDS - 1] >> 31) - (row_down[WORDS - 1] >> 31);
#pragma unroll
		for (uint32_t w = 0; w < WORDS; w++)
		{
			const uint32_t diagonal = masks[w] | down[w];
			const uint32_t next_up = row_up[w] << 1 | (w == 0 ? 1 : row_up[w == 0 ? 0 : w - 1] >> 31);
			const uint32_t next_down = row_down[w] << 1 | (w == 0 ? 0 : row_down[w == 0 ? 0 : w - 1] >> 31);

			up[w] = next_down | ~(diagonal | next_up);
			down[w] = next_up & diagonal;
		}
	}
};

/* Where a code is in the queries; a load has up to 16 bytes. */
template <uint32_t WORDS, uint32_t N>
struct alignas(N *WORDS < 4 ? 4 : 16) Masks
{
	uint32_t	of[N][WORDS];
};

/* Writes those of all codes. */
template <uint32_t WORDS, uint32_t N>
static __device__ __forceinline__ void
make_masks(const GenieCudaValueScan &scan, uint32_t first_query, Masks<WORDS, N> *masks)
{
	for (uint32_t i = threadIdx.x; i < CODES * N * WORDS; i += THREADS)
		masks[i / (N * WORDS)].of[i / WORDS % N][i % WORDS] = 0;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < N * WORDS * 32; i += THREADS)
	{
		const uint32_t q = i / (WORDS * 32);
		const uint32_t row = i % (WORDS * 32);
		const GenieCudaValueQuery &query = scan.queries[min(first_query + q, scan.n_queries - 1)];
		const uint32_t rows = rows_of(query);
		const uint32_t bit = WORDS * 32 - rows + row;

		if (row < rows)
			atomicOr(&masks[((const uint8_t *) query.body)[row]].of[q][bit / 32], 1u << bit % 32);
	}
	__syncthreads();
}

/* The largest distance of codes with which a text, of which so many are left out, has a key that is wanted. */
static __device__ __forceinline__ uint32_t
allowed(const GenieCudaValueQuery &query, uint32_t left)
{
	if (query.floor == nullptr)
		return UINT32_MAX;

	const uint32_t bits = (0x7FFFFFFFu - (uint32_t) (query.floor->known >> 32)) << 1 & 0x7FFFFFFFu;

	return (uint32_t) __uint_as_float(bits) + length_of(query) - rows_of(query) + left;
}

template <uint32_t WORDS, uint32_t N>
static __global__ void
__launch_bounds__(THREADS) genie_cuda_value_string_kernel(GenieCudaValueScan scan)
{
	__shared__ Masks<WORDS, N> masks[CODES];
	const uint32_t n_groups = (scan.n_queries + N - 1) / N;
	const uint32_t first_query = blockIdx.x % n_groups * N;
	const uint32_t i = blockIdx.x / n_groups * THREADS + threadIdx.x;
	const bool	is_one = i < genie_cuda_value_n_looked_at(scan);
	const uint32_t *record = (const uint32_t *) genie_cuda_value_record(scan,
																		scan.first_object +
																			(is_one ? i : 0) * scan.stride);
	uint32_t	word = record[0];
	const uint32_t length = word & 0xFFFF;
	const uint32_t kept = is_one ? genie_value_string_kept(length, scan.n_dimensions) : 0;
	Column<WORDS> columns[N];
	uint32_t	most[N];		/* as allowed() */
	bool		goes_on = true;

	make_masks<WORDS, N>(scan, first_query, masks);
#pragma unroll
	for (uint32_t q = 0; q < N; q++)
	{
		const GenieCudaValueQuery &query = scan.queries[min(first_query + q, scan.n_queries - 1)];

		columns[q].begin(rows_of(query));
		most[q] = allowed(query, length - kept);
	}
	for (uint32_t j = 0; j < kept && goes_on; j++)
	{
		const uint32_t at = (uint32_t) sizeof(GenieValueString) + j;

		if (at % 4 == 0)
			word = record[at / 4];

		const uint32_t code = word >> at % 4 * 8 & 0xFF;

#pragma unroll
		for (uint32_t q = 0; q < N; q++)
			columns[q].advance(masks[code].of[q]);
		if (j % LOOKS != LOOKS - 1)
			continue;
		goes_on = false;
#pragma unroll
		for (uint32_t q = 0; q < N; q++)
			goes_on |= most[q] == UINT32_MAX || columns[q].distance <= most[q] + (kept - 1 - j);
	}
	if (!is_one || !goes_on)
		return;
#pragma unroll
	for (uint32_t q = 0; q < N; q++)
		if (first_query + q < scan.n_queries)
		{
			const GenieCudaValueQuery &query = scan.queries[first_query + q];
			const uint32_t bound = genie_value_string_bound(columns[q].distance, length_of(query),
															length_of(query) - rows_of(query), length, length - kept);

			genie_cuda_value_put(scan, query, i, genie_cuda_value_key((float) bound));
		}
}

template <uint32_t WORDS, uint32_t N>
static void
launch(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	const uint64_t n_groups = (scan.n_queries + N - 1) / N;
	const uint64_t n_blocks = n_groups * ((genie_cuda_value_n_looked_at(scan) + (uint64_t) THREADS - 1) / THREADS);

	if (n_blocks > INT32_MAX)
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "a scan has more objects than a launch has blocks for");
	genie_cuda_value_string_kernel<WORDS, N><<<(uint32_t) n_blocks, THREADS, 0, stream>>>(scan);
	genie_cuda_check_launch("genie_cuda_value_string_kernel");
}

template <uint32_t WORDS>
static void
launch_by_queries(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	if (scan.n_queries == 1)
		launch<WORDS, 1>(scan, stream);
	else
		launch<WORDS, QUERIES>(scan, stream);
}

void
genie_cuda_value_string(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	if (scan.n_rows <= 32)
		launch_by_queries<1>(scan, stream);
	else if (scan.n_rows <= 64)
		launch_by_queries<2>(scan, stream);
	else if (scan.n_rows <= 96)
		launch_by_queries<3>(scan, stream);
	else
		launch_by_queries<4>(scan, stream);
}
