/*
 * genie_cuda_bounds.cu
 *	  Lower bounds of the distances of hits: the kernel, and its part of a pass.
 *
 * Hits are all over the segment, and each needs a record of some hundred bytes: the kernel mostly waits for memory.  So
 * a team of TEAM threads reads a record, 16 bytes each, with EACH hits on their way at a time, whose addresses are
 * known before any record is read.  The query's elements come from L1 and serve EACH hits once they are in registers.
 * A thread adds up its chunks of 16 dimensions, the team adds these sums up, and its first EACH threads make a bound
 * each.
 *
 * genie_quantized.c proves that these are bounds, if operations of floats are rounded as IEEE says.  With nvcc's
 * default settings they are, square roots and subnormal numbers included; cuda.mk must not change these settings.
 */
#include <algorithm>

#include "genie_cuda_bounds.cuh"

constexpr uint32_t THREADS = GENIE_CUDA_BOUNDS_THREADS;
constexpr uint32_t TEAM = 8;
constexpr uint32_t EACH = 4;
constexpr uint32_t TEAMS = THREADS / TEAM;
constexpr uint32_t BLOCK_HITS = TEAMS * EACH;
constexpr uint32_t CHUNK = GENIE_QUANTIZED_ALIGN;	/* dimensions */
constexpr uint32_t FOUR = 4;

static_assert(CHUNK == sizeof(uint4), "a thread reads a chunk at a time");
static_assert(sizeof(GenieQuantized) == sizeof(float4), "and the head of a record");
static_assert(EACH <= TEAM && GENIE_CUDA_WARP % TEAM == 0, "a thread makes one bound, and a team is in one warp");

/* The records of a team's hits. */
struct Records
{
	const uint8_t *at[EACH];
	float		offset[EACH];
	float		scale[EACH];
	float		error[EACH];
};

/* Adds the terms of four dimensions of a record.  WHOLE is false: only of those before left. */
template <bool DIFFERENCES, bool WHOLE>
static __device__ __forceinline__ void
add_four(float &sum, uint32_t codes, const float4 &four, float offset, float scale, int left)
{
	const float q[FOUR] = {four.x, four.y, four.z, four.w};

#pragma unroll
	for (int i = 0; i < (int) FOUR; i++)
	{
		const float x = fmaf((float) (codes >> (8 * i) & 0xFF), scale, offset) - q[i];
		const float kept = WHOLE || i < left ? x : 0.0f;

		sum = DIFFERENCES ? sum + fabsf(kept) : fmaf(kept, kept, sum);
	}
}

/* Adds the terms of a chunk of all records.  left: the dimensions of a chunk that is not whole. */
template <bool DIFFERENCES, bool WHOLE>
static __device__ __forceinline__ void
add_chunk(float (&sums)[EACH], const Records &records, const float *elements, uint32_t chunk, int left)
{
	const float4 *fours = (const float4 *) (elements + chunk * CHUNK);
	uint32_t	codes[EACH][CHUNK / FOUR];

#pragma unroll
	for (uint32_t e = 0; e < EACH; e++)
	{
		const uint4 all = *(const uint4 *) (records.at[e] + sizeof(GenieQuantized) + chunk * CHUNK);

		codes[e][0] = all.x;
		codes[e][1] = all.y;
		codes[e][2] = all.z;
		codes[e][3] = all.w;
	}
#pragma unroll
	for (uint32_t f = 0; f < CHUNK / FOUR; f++)
	{
		const float4 four = fours[f];

#pragma unroll
		for (uint32_t e = 0; e < EACH; e++)
			add_four<DIFFERENCES, WHOLE>(sums[e], codes[e][f], four, records.offset[e], records.scale[e],
										 left - (int) (f * FOUR));
	}
}

/* Adds up the dimensions of a team's records, for each of its threads. */
template <bool DIFFERENCES>
static __device__ __forceinline__ void
sum_up(float (&sums)[EACH], const Records &records, const float *elements, uint32_t n_dimensions)
{
	for (uint32_t chunk = threadIdx.x % TEAM; chunk * CHUNK < n_dimensions; chunk += TEAM)
	{
		const uint32_t left = n_dimensions - chunk * CHUNK;

		if (left >= CHUNK)
			add_chunk<DIFFERENCES, true>(sums, records, elements, chunk, CHUNK);
		else
			add_chunk<DIFFERENCES, false>(sums, records, elements, chunk, (int) left);
	}
	for (uint32_t step = TEAM / 2; step > 0; step /= 2)
#pragma unroll
		for (uint32_t e = 0; e < EACH; e++)
			sums[e] += __shfl_xor_sync(UINT32_MAX, sums[e], step);
}

/* The blocks of a grid row share a query's hits, BLOCK_HITS at a time. */
static __global__ void
__launch_bounds__(THREADS) genie_cuda_bounds_kernel(const GenieCudaBoundsQuery *queries)
{
	const GenieCudaBoundsQuery &query = queries[blockIdx.y];
	const uint32_t n_bounds = query.n_bounds;
	const uint32_t n_hits = query.tiles == nullptr || !(query.error <= FLT_MAX) ? 0 : query.n_hits->x;
	const uint32_t member = threadIdx.x % TEAM;

	for (uint32_t first = blockIdx.x * BLOCK_HITS; first < n_bounds; first += gridDim.x * BLOCK_HITS)
	{
		const uint32_t team_first = first + threadIdx.x / TEAM;
		uint32_t	mine = team_first;	/* this thread's hit */
		bool		known = false;	/* has it a vector? */
		float		error = 0;
		float		sum = 0;

		/* the same for the whole block */
		if (first < n_hits)
		{
			float		sums[EACH] = {};
			uint32_t	objects[EACH];
			Records		records;

#pragma unroll
			for (uint32_t e = 0; e < EACH; e++)
			{
				const uint32_t i = team_first + e * TEAMS;

				objects[e] = i < n_hits ? query.hits[i].object : UINT32_MAX;
			}
#pragma unroll
			for (uint32_t e = 0; e < EACH; e++)
			{
				const uint32_t object = objects[e] < query.n_objects ? objects[e] : 0;

				records.at[e] = query.tiles[object >> GENIE_TILE_SHIFT] +
					(size_t) (object & (GENIE_TILE_OBJECTS - 1)) * query.n_bytes;
			}
#pragma unroll
			for (uint32_t e = 0; e < EACH; e++)
			{
				const float4 head = *(const float4 *) records.at[e];

				records.offset[e] = head.x;
				records.scale[e] = head.y;
				records.error[e] = head.z;
			}
			if (query.metric == GENIE_METRIC_L1)
				sum_up<true>(sums, records, query.elements, query.n_dimensions);
			else
				sum_up<false>(sums, records, query.elements, query.n_dimensions);
#pragma unroll
			for (uint32_t e = 0; e < EACH; e++)
				if (member == e)
				{
					known = objects[e] < query.n_objects;
					error = records.error[e];
					sum = sums[e];
				}
		}
		mine += member * TEAMS;
		if (member < EACH && mine < n_bounds)
			query.bounds[mine] = known ? genie_quantized_bound(query.metric, sum, query.margins, error + query.error) :
										 0;
	}
}

void
genie_cuda_bounds_launch(const GenieCudaBoundsQuery *queries, uint32_t n_queries, uint64_t n_bounds,
						 uint32_t max_bounds, cudaStream_t stream)
{
	const uint64_t block_hits = (uint64_t) n_queries * BLOCK_HITS;
	const uint32_t usual = std::max((uint32_t) ((n_bounds + block_hits - 1) / block_hits), GENIE_CUDA_BOUNDS_BLOCKS);

	/* one query of many hits must not make as many blocks for all others */
	genie_cuda_bounds_kernel<<<dim3(std::min((max_bounds + BLOCK_HITS - 1) / BLOCK_HITS, usual), n_queries), THREADS, 0,
							   stream>>>(queries);
	genie_cuda_check_launch("genie_cuda_bounds_kernel");
}

/* ---- of a pass ---- */

static bool
wants(const GenieJob &job)
{
	return job.kind == GENIE_JOB_TOP && job.vectors != nullptr;
}

/* The bounds of a job, up to a multiple of the alignment: all bytes that are copied to the host must be written. */
static uint32_t
bounds_of(const GenieJob &job)
{
	constexpr uint32_t UNIT = GENIE_CUDA_ALIGN / sizeof(float);

	return (job.k + UNIT - 1) / UNIT * UNIT;
}

void
GenieCudaBounds::acquire(const std::vector<GenieJob *> &jobs, uint64_t pass)
{
	for (const GenieJob *job : jobs)
		if (wants(*job) && acquired.find(job->vectors->id) == acquired.end())
			acquired[job->vectors->id] = Acquired{job->vectors, context.vectors.acquire(*job->vectors, pass)};
}

void
GenieCudaBounds::pack(const std::vector<GenieJob *> &jobs, GenieCudaBuffer &blob, GenieCudaBuffer &result)
{
	GenieCudaBoundsQuery *host_query;

	packed.assign(jobs.size(), Packed());
	n_queries = (uint32_t) std::count_if(jobs.begin(), jobs.end(), [](const GenieJob *job) { return wants(*job); });
	n_bounds = max_bounds = 0;
	if (n_queries == 0)
		return;
	queries = blob.take<GenieCudaBoundsQuery>(n_queries, &host_query);
	for (size_t i = 0; i < jobs.size(); i++)
	{
		const GenieJob &job = *jobs[i];
		GenieCudaBoundsQuery query = {};
		float	   *host_elements;
		float	   *host_bounds;

		if (!wants(job))
			continue;

		const uint32_t n_elements = genie_quantized_elements(job.vectors->n_dimensions);
		const auto	found = acquired.find(job.vectors->id);

		query.elements = blob.take<float>(n_elements, &host_elements);
		query.n_bounds = bounds_of(job);
		query.bounds = result.take<float>(query.n_bounds, &host_bounds);
		n_bounds += query.n_bounds;
		max_bounds = std::max(max_bounds, query.n_bounds);
		if (host_query == nullptr)
			continue;
		memcpy(host_elements, job.vector.elements, n_elements * sizeof(float));
		query.metric = job.vectors->metric;
		query.n_dimensions = job.vectors->n_dimensions;
		query.n_objects = job.vectors->n_objects;
		query.n_bytes = (uint32_t) genie_quantized_bytes(query.n_dimensions);
		query.tiles = found == acquired.end() || found->second.copy == nullptr ? nullptr : found->second.copy->tiles();
		query.error = job.vector.error;
		query.margins = genie_quantized_margins(query.n_dimensions);
		*host_query = query;
		packed[i].query = host_query++;
		packed[i].bounds = host_bounds;
	}
}

void
GenieCudaBounds::set_hits(size_t i, const GenieHit *hits, const uint4 *n_hits)
{
	if (packed[i].query == nullptr)
		return;
	packed[i].query->hits = hits;
	packed[i].query->n_hits = n_hits;
}

bool
GenieCudaBounds::to_upload() const
{
	return std::any_of(acquired.begin(), acquired.end(), [](const auto &entry) {
		return entry.second.copy != nullptr && !entry.second.copy->complete();
	});
}

void
GenieCudaBounds::upload()
{
	for (const auto &entry : acquired)
		if (entry.second.copy != nullptr && !entry.second.copy->complete())
			context.upload(*entry.second.vectors, *entry.second.copy);
}

void
GenieCudaBounds::run()
{
	if (n_queries > 0)
		genie_cuda_bounds_launch(queries, n_queries, n_bounds, max_bounds, context.stream);
}

void
GenieCudaBounds::add_to(GenieCudaResults &results, size_t i, const GenieJob &job) const
{
	if (packed[i].query != nullptr && packed[i].query->tiles != nullptr)
		results.add(job.bounds, packed[i].query->bounds, job.k * sizeof(float));
}

void
GenieCudaBounds::give(size_t i, bool direct, GenieJob &job) const
{
	if (packed[i].query == nullptr || packed[i].query->tiles == nullptr)
		return;
	if (!direct)
		memcpy(job.bounds, packed[i].bounds, job.n_hits * sizeof(float));
	job.has_bounds = true;
}
