/*
 * bench_cuda_rivals.cu
 *	  gpu-scan and count-table (bench_cuda_rivals.h).
 *
 * Both write 32-bit counts[query][object] and choose from them with the same kernel.  A batch whose counts do not fit
 * COUNT_BYTES is done in parts; everything but loading rows and lists is in the time.
 *
 * Bucket selection (the paper's appendix A): a block finds the smallest and the largest count, deals the counts between
 * into buckets of equal width, goes on with the bucket that holds the k-th, until a bucket is one count wide.  Then all
 * objects above that count are saved, and as many of that count as are left.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "bench_cuda_rivals.cuh"

constexpr size_t COUNT_BYTES = (size_t) 40 << 30;
constexpr uint32_t SCAN_THREADS = 256;
constexpr uint32_t ITEM_THREADS = 256;
constexpr uint32_t SELECT_THREADS = 1024;
constexpr uint32_t SELECT_BUCKETS = 1024;

static char failure[256];

const char *
bench_gpu_failed(cudaError_t error, const char *what)
{
	snprintf(failure, sizeof(failure), "%s: %s", what, cudaGetErrorString(error));
	return failure;
}

/* the data that are loaded */
struct Loaded
{
	DeviceArray<uint32_t> rows;	/* rows[slot * n_objects + object] */
	DeviceArray<uint32_t> objects;
	uint32_t	n_objects = 0;
	uint32_t	n_slots = 0;
	bool		has_dimensions = false;
};

static Loaded *loaded = nullptr;

/* a thread an object, blockIdx.y a query; ranges: of this part's queries */
template <bool HAS_DIMENSIONS>
__global__ void
scan_kernel(const uint32_t *rows, uint32_t stride, uint32_t n_objects, uint32_t n_slots, const GenieRankRange *ranges,
			uint32_t n_ranges, uint32_t *counts)
{
	extern __shared__ GenieRankRange asked[];
	const uint32_t object = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t	count = 0;

	for (uint32_t i = threadIdx.x; i < n_ranges; i += blockDim.x)
		asked[i] = ranges[(size_t) blockIdx.y * n_ranges + i];
	__syncthreads();
	if (object >= n_objects)
		return;
	for (uint32_t s = 0; s < n_slots; s++)
	{
		const uint32_t rank = rows[(size_t) s * stride + object];

		if (HAS_DIMENSIONS)
			count += rank - asked[s].first < asked[s].end - asked[s].first;
		else
			for (uint32_t i = 0; i < n_ranges; i++)
				count += rank - asked[i].first < asked[i].end - asked[i].first;
	}
	counts[(size_t) blockIdx.y * n_objects + object] = count;
}

/* a block an item; first_query: of this part */
__global__ void
count_kernel(const BenchItem *items, uint32_t first_query, const uint32_t *objects, uint32_t n_objects,
			 uint32_t *counts)
{
	const BenchItem item = items[blockIdx.x];
	uint32_t   *table = counts + (size_t) (item.query - first_query) * n_objects;

	for (uint64_t i = item.from + threadIdx.x; i < item.to; i += blockDim.x)
		atomicAdd(&table[objects[i]], 1);
}

/* The count of the k-th object of a query, k <= n, and how many have a larger one; a block of SELECT_THREADS. */
__device__ void
find_kth(const uint32_t *counts, uint32_t n, uint32_t k, uint32_t *kth, uint32_t *n_above)
{
	__shared__ uint32_t buckets[SELECT_BUCKETS];
	__shared__ uint32_t lowest;
	__shared__ uint32_t highest;
	__shared__ uint32_t above;

	if (threadIdx.x == 0)
	{
		lowest = UINT32_MAX;
		highest = 0;
		above = 0;
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
	{
		if (counts[i] < lowest)
			atomicMin(&lowest, counts[i]);
		if (counts[i] > highest)
			atomicMax(&highest, counts[i]);
	}
	__syncthreads();
	while (lowest < highest)
	{
		const uint32_t from = lowest;
		const uint32_t width = (highest - lowest) / SELECT_BUCKETS + 1;

		for (uint32_t i = threadIdx.x; i < SELECT_BUCKETS; i += blockDim.x)
			buckets[i] = 0;
		__syncthreads();
		for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
			if (counts[i] >= from && counts[i] <= highest)
				atomicAdd(&buckets[(counts[i] - from) / width], 1);
		__syncthreads();
		if (threadIdx.x == 0)
		{
			uint32_t	b = SELECT_BUCKETS - 1;

			for (; above + buckets[b] < k; b--)
				above += buckets[b];
			lowest = from + b * width;
			highest = lowest + width - 1;
		}
		__syncthreads();
	}
	*kth = lowest;
	*n_above = above;
}

/* a block a query: the k best of its counts, in any order */
__global__ void
__launch_bounds__(SELECT_THREADS) select_kernel(const uint32_t *counts, uint32_t n, uint32_t k, GenieHit *hits)
{
	__shared__ uint32_t n_saved;
	__shared__ uint32_t n_equal;
	const uint32_t *mine = counts + (size_t) blockIdx.x * n;
	uint32_t	kth;
	uint32_t	n_above;

	find_kth(mine, n, k, &kth, &n_above);
	if (threadIdx.x == 0)
	{
		n_saved = 0;
		n_equal = n_above;
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
	{
		if (mine[i] >= kth)
		{
			uint32_t	at = k;

			if (mine[i] > kth)
				at = atomicAdd(&n_saved, 1);
			else if (n_equal < k)
				at = atomicAdd(&n_equal, 1);

			if (at < k)
				hits[(size_t) blockIdx.x * k + at] = GenieHit{mine[i], i};
		}
	}
}

static const char *
load_rows(const BenchData *data)
{
	if (loaded == nullptr)
		loaded = new Loaded;
	BENCH_TRY(loaded->rows.take((size_t) data->n_objects * data->n_slots));
	for (uint32_t first = 0; first < data->n_objects; first += GENIE_TILE_OBJECTS)
	{
		const size_t width = std::min(data->n_objects - first, GENIE_TILE_OBJECTS) * sizeof(uint32_t);

		BENCH_TRY(cudaMemcpy2D(loaded->rows.memory + first, data->n_objects * sizeof(uint32_t),
							   data->tiles[first / GENIE_TILE_OBJECTS], width, width, data->n_slots,
							   cudaMemcpyHostToDevice));
	}
	loaded->n_objects = data->n_objects;
	loaded->n_slots = data->n_slots;
	loaded->has_dimensions = data->has_dimensions;
	return nullptr;
}

static const char *
load_lists(const BenchData *data)
{
	if (loaded == nullptr)
		loaded = new Loaded;
	BENCH_TRY(loaded->objects.take(data->n_postings));
	BENCH_TRY(
		cudaMemcpy(loaded->objects.memory, data->objects, data->n_postings * sizeof(uint32_t), cudaMemcpyHostToDevice));
	loaded->n_objects = data->n_objects;
	return nullptr;
}

/* The queries from first on that have their counts in memory now, to the batch's hits. */
static const char *
select_hits(const BenchBatch *batch, uint32_t first, uint32_t n, const uint32_t *counts, uint32_t n_objects)
{
	const uint32_t k = std::min(batch->k, n_objects);
	DeviceArray<GenieHit> hits;
	std::vector<GenieHit> copied((size_t) n * k);

	BENCH_TRY(hits.take(copied.size()));
	select_kernel<<<n, SELECT_THREADS>>>(counts, n_objects, k, hits.memory);
	BENCH_TRY(cudaGetLastError());
	BENCH_TRY(cudaMemcpy(copied.data(), hits.memory, copied.size() * sizeof(GenieHit), cudaMemcpyDeviceToHost));
	for (uint32_t q = 0; q < n; q++)
	{
		const auto	begin = copied.begin() + (size_t) q * k;
		const auto	end = std::copy_if(begin, begin + k, batch->hits + (size_t) (first + q) * batch->k,
									  [](const GenieHit &hit) { return hit.key > 0; });

		batch->n_hits[first + q] = (uint32_t) (end - (batch->hits + (size_t) (first + q) * batch->k));
	}
	return nullptr;
}

static const char *
scan_part(const BenchBatch *batch, uint32_t first, uint32_t n, uint32_t *counts)
{
	const dim3	grid((batch->n_objects + SCAN_THREADS - 1) / SCAN_THREADS, n);
	const size_t n_ranges = (size_t) n * batch->n_ranges;
	const size_t shared = batch->n_ranges * sizeof(GenieRankRange);
	DeviceArray<GenieRankRange> ranges;

	BENCH_TRY(ranges.take(n_ranges));
	BENCH_TRY(cudaMemcpy(ranges.memory, batch->ranges + (size_t) first * batch->n_ranges,
						 n_ranges * sizeof(GenieRankRange), cudaMemcpyHostToDevice));
	if (loaded->has_dimensions)
		scan_kernel<true><<<grid, SCAN_THREADS, shared>>>(loaded->rows.memory, loaded->n_objects, batch->n_objects,
														  loaded->n_slots, ranges.memory, batch->n_ranges, counts);
	else
		scan_kernel<false><<<grid, SCAN_THREADS, shared>>>(loaded->rows.memory, loaded->n_objects, batch->n_objects,
														   loaded->n_slots, ranges.memory, batch->n_ranges, counts);
	BENCH_TRY(cudaGetLastError());
	return select_hits(batch, first, n, counts, batch->n_objects);
}

static const char *
count_part(const BenchBatch *batch, uint32_t first, uint32_t n, uint32_t *counts)
{
	const auto by_query = [](const BenchItem &item, uint32_t query) { return item.query < query; };
	const BenchItem *end = batch->items + batch->n_items;
	const BenchItem *from = std::lower_bound(batch->items, end, first, by_query);
	const BenchItem *to = std::lower_bound(from, end, first + n, by_query);
	DeviceArray<BenchItem> items;

	BENCH_TRY(items.take((size_t) (to - from)));
	BENCH_TRY(cudaMemcpy(items.memory, from, (size_t) (to - from) * sizeof(BenchItem), cudaMemcpyHostToDevice));
	BENCH_TRY(cudaMemset(counts, 0, (size_t) n * loaded->n_objects * sizeof(uint32_t)));
	if (to > from)
		count_kernel<<<(uint32_t) (to - from), ITEM_THREADS>>>(items.memory, first, loaded->objects.memory,
															   loaded->n_objects, counts);
	BENCH_TRY(cudaGetLastError());
	return select_hits(batch, first, n, counts, loaded->n_objects);
}

typedef const char *(*Part)(const BenchBatch *batch, uint32_t first, uint32_t n, uint32_t *counts);

/* All parts of a batch; memory for the counts is taken before the clock runs. */
static const char *
run_parts(const BenchBatch *batch, uint32_t n_objects, Part part, double *ms)
{
	const uint32_t n = (uint32_t) std::min<size_t>(batch->n_queries, COUNT_BYTES / sizeof(uint32_t) / n_objects);
	DeviceArray<uint32_t> counts;

	BENCH_TRY(counts.take((size_t) n * n_objects));
	BENCH_TRY(cudaDeviceSynchronize());
	const auto	begin = std::chrono::steady_clock::now();

	for (uint32_t first = 0; first < batch->n_queries; first += n)
	{
		const char *error = part(batch, first, std::min(n, batch->n_queries - first), counts.memory);

		if (error != nullptr)
			return error;
	}
	*ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
	return nullptr;
}

static const char *
scan(const BenchBatch *batch, double *ms)
{
	return run_parts(batch, batch->n_objects, scan_part, ms);
}

static const char *
count(const BenchBatch *batch, double *ms)
{
	return run_parts(batch, loaded->n_objects, count_part, ms);
}

static void
unload()
{
	delete loaded;
	loaded = nullptr;
}

extern "C" __attribute__((visibility("default")))
const BenchGpu bench_gpu = {bench_gpu_ceilings, load_rows,         load_lists,      scan, count, unload,
							bench_gpu_exact,    bench_gpu_nearest, bench_gpu_bounds};
