/*
 * genie_cuda_value_scan.cu
 *	  A pass of SCAN jobs: laying out what its kernels need, and bringing the hits back.
 *
 * Of the image only the live bits are needed.  They are copied anew for each pass, a bit an object; the image itself,
 * which may have no keywords, is not on the device.  Vectors are copied if they are not there (genie_cuda_vectors.cuh).
 * Where there is no room for them, the jobs are declined: the CPU scans as fast as memory could be copied.
 */
#include <algorithm>

#include "genie_cuda_value_scan.cuh"
#include "genie_value_bound.h"

/* A job's places on the host. */
struct Packed
{
	const GenieHit *hits;
	const uint4 *n_hits;
};

struct Layout
{
	GenieCudaValueScan scan;
	GenieCudaValueSort sort;
	bool		is_large;
	uint32_t   *histograms;
	std::vector<Packed> packed;
};

/* Objects up to a multiple of the alignment. */
static size_t
keys_of(const GenieJob &job)
{
	constexpr size_t UNIT = GENIE_CUDA_ALIGN / sizeof(uint32_t);

	return (genie_job_objects(&job) + UNIT - 1) / UNIT * UNIT;
}

/* Lays out what the jobs need, dry or with memory; returns the bytes, of which sizes are known if it is not dry. */
static GenieCudaBytes
pack(const std::vector<GenieJob *> &jobs, const GenieCudaBytes &sizes, uint8_t *host, uint8_t *device, Layout &layout)
{
	const GenieJob &first = *jobs[0];
	const uint32_t n_queries = (uint32_t) jobs.size();
	GenieCudaBuffer blob(host, device);
	GenieCudaBuffer result(host == nullptr ? nullptr : host + sizes.blob, device + sizes.blob);
	GenieCudaBuffer room(nullptr, device + sizes.blob + sizes.result);
	GenieCudaValueQuery *host_queries;
	GenieValueConstants *host_constants;
	GenieCudaValueState *host_states;
	uint32_t   *host_begins;
	uint64_t	n_candidates = 0;

	layout.is_large = std::any_of(jobs.begin(), jobs.end(),
								  [](const GenieJob *job) { return job->k > GENIE_CUDA_SORT_MAX; });
	layout.scan = GenieCudaValueScan{first.vectors->metric,
									 first.vectors->n_dimensions,
									 (uint32_t) (genie_quantized_bytes(first.vectors->n_dimensions) / sizeof(uint4)),
									 nullptr,
									 nullptr,
									 genie_job_first_object(&first),
									 genie_job_objects(&first),
									 n_queries,
									 blob.take<GenieCudaValueQuery>(n_queries, &host_queries)};

	GenieValueConstants *constants = blob.take<GenieValueConstants>(n_queries, &host_constants);
	GenieCudaValueState *states = blob.take<GenieCudaValueState>(n_queries, &host_states);

	layout.sort.begins = blob.take<uint32_t>(n_queries, &host_begins);
	layout.sort.ends = room.take<uint32_t>(n_queries);
	layout.scan.live = room.take<uint64_t>((size_t) first.n_tiles * GENIE_TILE_WORDS);
	layout.histograms = room.take<uint32_t>((size_t) n_queries * GENIE_CUDA_VALUE_DIGITS);
	for (const GenieJob *job : jobs)
		n_candidates += job->k;
	layout.sort.n = n_candidates;
	layout.sort.from = room.take<GenieCudaCandidate>(n_candidates);
	layout.sort.to = layout.is_large ? room.take<GenieCudaCandidate>(n_candidates) : nullptr;
	layout.sort.temporary_bytes = layout.is_large ? genie_cuda_value_sort_bytes(n_queries, n_candidates) : 0;
	layout.sort.temporary = room.take<uint8_t>(layout.sort.temporary_bytes);
	layout.packed.clear();
	n_candidates = 0;
	for (uint32_t i = 0; i < n_queries; i++)
	{
		const GenieJob &job = *jobs[i];
		const size_t body_bytes = job.scan_bytes - sizeof(GenieValueQuery);
		GenieCudaValueQuery query = {};
		uint8_t    *host_body;
		GenieHit   *host_hits;
		uint4	   *host_n_hits;

		query.constants = constants + i;
		query.body = (const uint4 *) blob.take<uint8_t>(body_bytes, &host_body);
		query.k = job.k;
		query.min_key = job.min_key;
		query.has_after = job.has_after;
		query.after = job.after;
		query.keys = room.take<uint32_t>(keys_of(job));
		query.histogram = layout.histograms + (size_t) i * GENIE_CUDA_VALUE_DIGITS;
		query.state = states + i;
		query.candidates = layout.sort.from + n_candidates;
		query.n_hits = result.take<uint4>(1, &host_n_hits);
		query.hits = result.take<GenieHit>((job.k + 1) / 2 * 2, &host_hits);
		layout.packed.push_back(Packed{host_hits, host_n_hits});
		if (host != nullptr)
		{
			query.is_known = job.scan->error <= FLT_MAX;
			host_constants[i] = genie_value_constants(job.scan);
			host_states[i] = GenieCudaValueState{0, job.k, 0, 0, 0};
			host_begins[i] = (uint32_t) n_candidates;
			memcpy(host_body, genie_value_query_body(job.scan), body_bytes);
			host_queries[i] = query;
		}
		n_candidates += job.k;
	}
	return GenieCudaBytes{blob.used, result.used, room.used};
}

uint32_t
genie_cuda_value_scan_jobs(const GenieCudaContext &context, const std::vector<GenieJob *> &jobs)
{
	size_t		n = std::min<size_t>(jobs.size(), GENIE_CUDA_VALUE_JOBS);

	for (; n > 0; n /= 2)
	{
		Layout		layout;
		const GenieCudaBytes bytes = pack(std::vector<GenieJob *>(jobs.begin(), jobs.begin() + (long) n),
										  GenieCudaBytes{}, nullptr, nullptr, layout);

		if (bytes.device() <= context.memory.scratch_limit() && bytes.blob <= GENIE_CUDA_BLOB_MAX &&
			bytes.result <= GENIE_CUDA_RESULT_MAX)
			break;
	}
	return (uint32_t) n;
}

void
genie_cuda_value_scan(GenieCudaContext &context, const std::vector<GenieJob *> &jobs, uint64_t pass)
{
	const GenieJob &first = *jobs[0];
	const cudaStream_t stream = context.stream;
	const uint64_t uploaded_before = context.uploaded_bytes;
	Layout		layout;
	const GenieCudaBytes bytes = pack(jobs, GenieCudaBytes{}, nullptr, nullptr, layout);
	uint8_t    *host = context.memory.pinned(bytes.blob + bytes.result);
	uint8_t    *device = context.scratch(bytes.device());
	GenieCudaVectors *vectors = context.vectors.acquire(*first.vectors, pass);

	if (vectors == nullptr)
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "the limit of GPU memory has no room for vectors");
	(void) pack(jobs, bytes, host, device, layout);
	layout.scan.tiles = vectors->tiles();
	GENIE_CUDA_CHECK(cudaMemcpyAsync(device, host, bytes.blob, cudaMemcpyHostToDevice, stream));
	GENIE_CUDA_CHECK(cudaMemcpyAsync((void *) layout.scan.live,
									 first.image->live + (size_t) first.first_tile * GENIE_TILE_WORDS,
									 (size_t) first.n_tiles * GENIE_TILE_BITMAP_BYTES, cudaMemcpyHostToDevice, stream));
	GENIE_CUDA_CHECK(
		cudaMemsetAsync(layout.histograms, 0, jobs.size() * GENIE_CUDA_VALUE_DIGITS * sizeof(uint32_t), stream));
	GENIE_CUDA_CHECK(cudaEventRecord(context.copy_begin, context.copy_stream));
	context.upload(*first.vectors, *vectors);
	GENIE_CUDA_CHECK(cudaEventRecord(context.copy_end, context.copy_stream));
	genie_cuda_value_keys(layout.scan, stream);
	genie_cuda_value_select(layout.scan, stream);
	if (layout.is_large)
		genie_cuda_value_sort_large(layout.scan, layout.sort, stream);
	else
		genie_cuda_value_sort_small(layout.scan, stream);
	GENIE_CUDA_CHECK(
		cudaMemcpyAsync(host + bytes.blob, device + bytes.blob, bytes.result, cudaMemcpyDeviceToHost, stream));
	GENIE_CUDA_CHECK(cudaStreamSynchronize(stream));
	if (context.uploaded_bytes > uploaded_before)
		context.note_upload();
	for (size_t i = 0; i < jobs.size(); i++)
	{
		jobs[i]->n_hits = layout.packed[i].n_hits->x;
		memcpy(jobs[i]->out, layout.packed[i].hits, jobs[i]->n_hits * sizeof(GenieHit));
	}
}
