/*
 * bench_cuda_bounds.cu
 *	  The engine's kernel for bounds of hits' distances (genie_cuda_bounds.cu), for hits at random objects: the cost of
 *	  fetching that many records from all over the device's memory.
 *
 * Records are of any bytes: test/unit_cuda checks that bounds are right.
 */
#include <vector>

#include "genie_cuda_bounds.cuh"

#include "bench_cuda_rivals.cuh"

constexpr uint32_t THREADS = 256;
constexpr uint32_t RUNS = 8;

/* What a search works with, in device memory. */
struct Memory
{
	DeviceArray<uint32_t> records;
	DeviceArray<const uint8_t *> tiles;
	DeviceArray<float> elements;
	DeviceArray<GenieHit> hits;
	DeviceArray<uint4> n_hits;
	DeviceArray<float> bounds;
	DeviceArray<GenieCudaBoundsQuery> queries;
};

/* Numbers that look random. */
static __device__ __forceinline__ uint32_t
scramble(uint64_t i)
{
	uint64_t	z = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	return (uint32_t) (z >> 32);
}

/* A thread four codes of a record, or a part of its head. */
static __global__ void
records_kernel(uint32_t *records, uint64_t n_words, uint32_t n_record_words)
{
	const uint64_t i = (uint64_t) blockIdx.x * THREADS + threadIdx.x;
	const uint32_t part = (uint32_t) (i % n_record_words);

	if (i < n_words)
		records[i] = part >= sizeof(GenieQuantized) / sizeof(uint32_t) ? scramble(i) :
																		 __float_as_uint(part == 0     ? -1.0f :
																							 part == 1 ? 0.01f :
																							 part == 2 ? 0.1f :
																										 0.0f);
}

static __global__ void
hits_kernel(GenieHit *hits, uint32_t n, uint32_t n_objects)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	if (i < n)
		hits[i] = GenieHit{1, scramble(i) % n_objects};
}

static const char *
prepare(Memory &memory, const BenchBounds &what)
{
	const size_t n_bytes = genie_quantized_bytes(what.n_dimensions);
	const uint64_t n_words = what.n_objects * (uint64_t) n_bytes / sizeof(uint32_t);
	const uint32_t n_hits = what.n_queries * what.k;
	std::vector<const uint8_t *> tiles;
	std::vector<GenieCudaBoundsQuery> queries;

	BENCH_TRY(memory.records.take(n_words));
	for (uint32_t i = 0; i < what.n_objects; i += GENIE_TILE_OBJECTS)
		tiles.push_back((const uint8_t *) memory.records.memory + i * n_bytes);
	BENCH_TRY(memory.tiles.take(tiles.size()));
	BENCH_TRY(memory.elements.take((size_t) what.n_queries * genie_quantized_elements(what.n_dimensions)));
	BENCH_TRY(memory.hits.take(n_hits));
	BENCH_TRY(memory.n_hits.take(1));
	BENCH_TRY(memory.bounds.take(n_hits));
	BENCH_TRY(memory.queries.take(what.n_queries));
	for (uint32_t q = 0; q < what.n_queries; q++)
	{
		GenieCudaBoundsQuery query = {};

		query.metric = GENIE_METRIC_L2;
		query.n_dimensions = what.n_dimensions;
		query.n_objects = what.n_objects;
		query.n_bytes = (uint32_t) n_bytes;
		query.tiles = memory.tiles.memory;
		query.elements = memory.elements.memory + (size_t) q * genie_quantized_elements(what.n_dimensions);
		query.margins = genie_quantized_margins(what.n_dimensions);
		query.hits = memory.hits.memory + (size_t) q * what.k;
		query.n_hits = memory.n_hits.memory;
		query.bounds = memory.bounds.memory + (size_t) q * what.k;
		query.n_bounds = what.k;
		queries.push_back(query);
	}

	const uint4 n = {what.k, 0, 0, 0};

	BENCH_TRY(cudaMemcpy(memory.n_hits.memory, &n, sizeof(n), cudaMemcpyHostToDevice));
	BENCH_TRY(cudaMemcpy(memory.tiles.memory, tiles.data(), tiles.size() * sizeof(tiles[0]), cudaMemcpyHostToDevice));
	BENCH_TRY(
		cudaMemcpy(memory.queries.memory, queries.data(), queries.size() * sizeof(queries[0]), cudaMemcpyHostToDevice));
	BENCH_TRY(cudaMemset(memory.elements.memory, 0,
						 (size_t) what.n_queries * genie_quantized_elements(what.n_dimensions) * sizeof(float)));
	records_kernel<<<(uint32_t) ((n_words + THREADS - 1) / THREADS), THREADS>>>(memory.records.memory, n_words,
																				(uint32_t) (n_bytes /
																							sizeof(uint32_t)));
	hits_kernel<<<(n_hits + THREADS - 1) / THREADS, THREADS>>>(memory.hits.memory, n_hits, what.n_objects);
	BENCH_TRY(cudaDeviceSynchronize());
	return nullptr;
}

/* The best of some runs by the device's clock, the caches being as the run before has left them. */
static const char *
measure(const Memory &memory, const BenchBounds &what, cudaEvent_t begin, cudaEvent_t end, double *ms)
{
	for (uint32_t i = 0; i < RUNS; i++)
	{
		float		run_ms;

		BENCH_TRY(cudaEventRecord(begin));
		genie_cuda_bounds_launch(memory.queries.memory, what.n_queries, (uint64_t) what.n_queries * what.k, what.k,
								 nullptr);
		BENCH_TRY(cudaEventRecord(end));
		BENCH_TRY(cudaEventSynchronize(end));
		BENCH_TRY(cudaEventElapsedTime(&run_ms, begin, end));
		*ms = i <= 1 ? run_ms : std::min<double>(*ms, run_ms);
	}
	return nullptr;
}

const char *
bench_gpu_bounds(const BenchBounds *what, double *ms)
{
	Memory		memory;
	cudaEvent_t begin;
	cudaEvent_t end;
	const char *error = prepare(memory, *what);

	if (error != nullptr)
		return error;
	BENCH_TRY(cudaEventCreate(&begin));
	BENCH_TRY(cudaEventCreate(&end));
	error = measure(memory, *what, begin, end, ms);
	(void) cudaEventDestroy(begin);
	(void) cudaEventDestroy(end);
	return error;
}
