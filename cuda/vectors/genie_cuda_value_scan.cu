/*
 * genie_cuda_value_scan.cu
 *	  A pass of SCAN jobs: laying out what its kernels need, and bringing the hits back.
 *
 * The image itself, which may have no keywords, is not on the device.  Vectors are copied if they are not there, and so
 * are live bits (genie_cuda_vectors.cuh).
 * Where there is no room for them, the jobs are declined: the CPU scans as fast as memory could be copied.
 *
 * What the two ways need (genie_cuda_value_scan.cuh) is laid out alike: by a filter, a query has a second copy of
 * itself for the sample, with keys and a state of its own.
 */
#include <algorithm>
#include <cmath>

#include "genie_cuda_value_scan.cuh"
#include "genie_value_bound.h"

/* A job's places on the host. */
struct Packed
{
	const GenieHit *hits;
	const uint4 *n_hits;
};

/* How the jobs are done. */
struct Way
{
	bool		samples;		/* not all keys */
	bool		filters;
	uint32_t	stride;			/* of the sample */
	uint32_t	n_keys;			/* of a query in the end: of all objects, or room for those that are left */
};

struct Layout
{
	Way			way;
	GenieCudaValueScan sample;
	GenieCudaValueScan scan;
	GenieCudaValueFilter filter;
	GenieCudaSort sort;
	bool		is_large;
	GenieCudaValueState *floors;	/* the sample's states */
	uint32_t   *zeros;			/* histograms, then numbers of objects */
	size_t		n_zeros;
	std::vector<Packed> packed;
};

typedef std::vector<GenieJob *> Jobs;

static uint32_t
largest_k(const Jobs &jobs)
{
	return (*std::max_element(jobs.begin(), jobs.end(),
							  [](const GenieJob *a, const GenieJob *b) { return a->k < b->k; }))
		->k;
}

static Way
choose_way(const GenieCudaContext &context, const Jobs &jobs, bool all_keys)
{
	const GenieJob &first = *jobs[0];
	const uint32_t n_objects = genie_job_objects(&first);
	const double wanted = largest_k(jobs) + GENIE_CUDA_VALUE_FILTER_MORE;
	const bool	always = context.device.tensor == GENIE_CUDA_TENSOR_ALWAYS;
	const double best = sqrt(n_objects / (GENIE_CUDA_VALUE_FILTER_COST * wanted));
	/* odd, as few periods of data are */
	const uint32_t stride = std::max((uint32_t) std::min<double>(best, GENIE_CUDA_VALUE_STRIDE_MAX) | 1, 3u);
	const bool	pays = best >= GENIE_CUDA_VALUE_STRIDE_MIN &&
		(uint64_t) n_objects * jobs.size() >= GENIE_CUDA_VALUE_FEW_KEYS;

	if (all_keys || n_objects >= GENIE_CUDA_VALUE_ALL || !(always || pays))
		return Way{false, false, 1, n_objects};
	return Way{true,
			   first.vectors->metric != GENIE_METRIC_L1 && genie_value_filter_serves(first.vectors->metric) &&
				   genie_cuda_value_filter_possible(context.device) &&
				   jobs.size() >= (always ? GENIE_CUDA_VALUE_FILTER_JOBS / 2 : GENIE_CUDA_VALUE_FILTER_JOBS),
			   stride, (uint32_t) std::min<double>(n_objects, GENIE_CUDA_VALUE_FILTER_ROOM * stride * wanted)};
}

static double
largest_norm(const Jobs &jobs)
{
	double		largest = 0;

	for (const GenieJob *job : jobs)
		largest = std::max(largest, job->scan->norm);
	return largest;
}

/* Values up to a multiple of the alignment. */
static size_t
aligned(size_t n)
{
	constexpr size_t UNIT = GENIE_CUDA_ALIGN / sizeof(uint32_t);

	return (n + UNIT - 1) / UNIT * UNIT;
}

/* Where a pass's parts are, by job. */
struct Parts
{
	GenieValueConstants *constants;
	GenieCudaValueState *states;	/* the jobs', and then the sample's */
	uint8_t    *bodies;
	uint32_t   *histograms;
	uint32_t   *n_objects;
	uint32_t   *objects;
	uint32_t   *keys;
	uint32_t   *sampled_keys;
	size_t		body_bytes;
};

/* The same on the host. */
struct HostParts
{
	GenieCudaValueQuery *queries;
	GenieCudaValueQuery *samples;
	GenieValueConstants *constants;
	GenieCudaValueState *states;
	uint8_t    *bodies;
	uint32_t   *begins;
};

/* Lays out all but the hits. */
static void
lay_out(const Jobs &jobs, GenieCudaBuffer &blob, GenieCudaBuffer &room, Layout &layout, Parts &parts, HostParts &host)
{
	const GenieJob &first = *jobs[0];
	const GenieQuantizedVectors &vectors = *first.vectors;
	const Way  &way = layout.way;
	const size_t n = jobs.size();
	uint64_t	n_candidates = 0;

	for (const GenieJob *job : jobs)
		n_candidates += job->k;
	parts.body_bytes = genie_cuda_value_body_bytes(first.scan_bytes - sizeof(GenieValueQuery));
	layout.is_large = largest_k(jobs) > GENIE_CUDA_SORT_MAX;
	layout.scan = GenieCudaValueScan{vectors.metric,
									 vectors.n_dimensions,
									 (uint32_t) (genie_value_record_bytes(vectors.metric, vectors.n_dimensions) /
												 sizeof(uint4)),
									 nullptr,
									 nullptr,
									 genie_job_first_object(&first),
									 genie_job_objects(&first),
									 1,
									 way.n_keys,
									 (uint32_t) n,
									 blob.take<GenieCudaValueQuery>(n, &host.queries),
									 (uint32_t) largest_norm(jobs)};
	layout.sample = layout.scan;
	layout.sample.stride = way.stride;
	layout.sample.n_keys = genie_cuda_value_n_looked_at(layout.sample);
	layout.sample.queries = blob.take<GenieCudaValueQuery>(way.samples ? n : 0, &host.samples);
	parts.constants = blob.take<GenieValueConstants>(n, &host.constants);
	parts.states = blob.take<GenieCudaValueState>(2 * n, &host.states);
	layout.floors = parts.states + n;
	parts.bodies = blob.take<uint8_t>(genie_cuda_value_padded((uint32_t) n) * parts.body_bytes, &host.bodies);
	layout.n_zeros = n * (GENIE_CUDA_VALUE_DIGITS + 1);
	layout.zeros = room.take<uint32_t>(layout.n_zeros);
	parts.histograms = layout.zeros;
	parts.n_objects = layout.zeros + n * GENIE_CUDA_VALUE_DIGITS;
	parts.keys = room.take<uint32_t>(n * aligned(way.n_keys));
	parts.objects = room.take<uint32_t>(way.samples ? n * aligned(way.n_keys) : 0);
	parts.sampled_keys = room.take<uint32_t>(way.samples ? n * aligned(layout.sample.n_keys) : 0);
	layout.filter = GenieCudaValueFilter{parts.bodies, (uint32_t) parts.body_bytes, 0,
										 room.take<GenieCudaValueNumbers>(
											 way.filters ? genie_cuda_value_padded((uint32_t) n) : 0)};
	layout.sort.begins = blob.take<uint32_t>(n, &host.begins);
	layout.sort.ends = room.take<uint32_t>(n);
	layout.sort.n = n_candidates;
	layout.sort.from = room.take<GenieCudaCandidate>(n_candidates);
	layout.sort.to = layout.is_large ? room.take<GenieCudaCandidate>(n_candidates) : nullptr;
	layout.sort.temporary_bytes = layout.is_large ? genie_cuda_sort_bytes((uint32_t) n, n_candidates) : 0;
	layout.sort.temporary = room.take<uint8_t>(layout.sort.temporary_bytes);
}

/* Lays out what the jobs need, dry or with memory; returns the bytes, of which sizes are known if it is not dry. */
static GenieCudaBytes
pack(const Jobs &jobs, const GenieCudaBytes &sizes, uint8_t *host_memory, uint8_t *device, Layout &layout)
{
	GenieCudaBuffer blob(host_memory, device);
	GenieCudaBuffer result(host_memory == nullptr ? nullptr : host_memory + sizes.blob, device + sizes.blob);
	GenieCudaBuffer room(nullptr, device + sizes.blob + sizes.result);
	Parts		parts;
	HostParts	host;
	uint64_t	n_candidates = 0;

	lay_out(jobs, blob, room, layout, parts, host);
	if (host_memory != nullptr)
		memset(host.bodies, 0, genie_cuda_value_padded((uint32_t) jobs.size()) * parts.body_bytes);
	layout.packed.clear();
	for (size_t i = 0; i < jobs.size(); i++)
	{
		const GenieJob &job = *jobs[i];
		GenieCudaValueQuery query = {};
		GenieHit   *host_hits;
		uint4	   *host_n_hits;

		query.n_hits = result.take<uint4>(1, &host_n_hits);
		query.hits = result.take<GenieHit>((job.k + 1) / 2 * 2, &host_hits);
		layout.packed.push_back(Packed{host_hits, host_n_hits});
		if (host_memory == nullptr)
			continue;
		query.constants = parts.constants + i;
		query.body = (const uint4 *) (parts.bodies + i * parts.body_bytes);
		query.is_known = job.scan->error <= FLT_MAX;
		query.k = job.k;
		query.min_key = job.min_key;
		query.has_after = job.has_after;
		query.after = job.after;
		query.keys = parts.keys + i * aligned(layout.way.n_keys);
		query.histogram = parts.histograms + i * GENIE_CUDA_VALUE_DIGITS;
		query.state = parts.states + i;
		query.candidates = layout.sort.from + n_candidates;
		host.constants[i] = genie_value_constants(job.scan);
		host.states[i] = GenieCudaValueState{0, job.k, 0, 0, 0};
		host.begins[i] = (uint32_t) n_candidates;
		memcpy(host.bodies + i * parts.body_bytes, genie_value_query_body(job.scan),
			   job.scan_bytes - sizeof(GenieValueQuery));
		n_candidates += job.k;
		if (layout.way.samples)
		{
			host.samples[i] = query;
			host.samples[i].keys = parts.sampled_keys + i * aligned(layout.sample.n_keys);
			host.samples[i].state = parts.states + jobs.size() + i;
			host.states[jobs.size() + i] = GenieCudaValueState{0, job.k + GENIE_CUDA_VALUE_FILTER_MORE, 0, 0, 0};
			query.floor = host.samples[i].state;
			query.objects = parts.objects + i * aligned(layout.way.n_keys);
			query.n_objects = parts.n_objects + i;
			if (query.is_known)
				layout.filter.middle = job.scan->offset;
		}
		host.queries[i] = query;
	}
	return GenieCudaBytes{blob.used, result.used, room.used};
}

uint32_t
genie_cuda_value_scan_jobs(const GenieCudaContext &context, const Jobs &jobs, bool all_keys)
{
	size_t		n = std::min<size_t>(jobs.size(), GENIE_CUDA_VALUE_JOBS);

	for (; n > 0; n /= 2)
	{
		const Jobs	some(jobs.begin(), jobs.begin() + (long) n);
		Layout		layout = {};
		GenieCudaBytes bytes;

		layout.way = choose_way(context, some, all_keys);
		bytes = pack(some, GenieCudaBytes{}, nullptr, nullptr, layout);
		if (bytes.device() <= context.memory.scratch_limit() && bytes.blob <= GENIE_CUDA_BLOB_MAX &&
			bytes.result <= GENIE_CUDA_RESULT_MAX)
			break;
	}
	return (uint32_t) n;
}

static void
launch(const Layout &layout, cudaStream_t stream)
{
	if (layout.way.samples)
	{
		genie_cuda_value_keys(layout.sample, stream);
		genie_cuda_value_find(layout.sample, stream);
		genie_cuda_value_mark(layout.scan, layout.floors, stream);
	}
	if (layout.way.filters)
	{
		genie_cuda_value_filter(layout.scan, layout.filter, stream);
		genie_cuda_value_keys_of_objects(layout.scan, stream);
	}
	else
		genie_cuda_value_keys(layout.scan, stream);
	genie_cuda_value_find(layout.scan, stream);
	genie_cuda_value_gather(layout.scan, stream);
	if (layout.is_large)
		genie_cuda_value_sort_large(layout.scan, layout.sort, stream);
	else
		genie_cuda_value_sort_small(layout.scan, stream);
}

Jobs
genie_cuda_value_scan(GenieCudaContext &context, const Jobs &jobs, bool all_keys, uint64_t pass)
{
	const GenieJob &first = *jobs[0];
	const cudaStream_t stream = context.stream;
	const uint64_t uploaded_before = context.uploaded_bytes;
	Layout		layout = {};
	Jobs		again;
	bool		uploads;

	layout.way = choose_way(context, jobs, all_keys);

	const GenieCudaBytes bytes = pack(jobs, GenieCudaBytes{}, nullptr, nullptr, layout);
	uint8_t    *host = context.memory.pinned(bytes.blob + bytes.result);
	uint8_t    *device = context.scratch(bytes.device());
	GenieCudaVectors *vectors = context.vectors.acquire(*first.vectors, pass);

	if (vectors == nullptr && genie_vectors_on_device(first.vectors))
		throw GenieCudaFailure(GENIE_STATUS_NO_ROOM, "vectors are not on the GPU any more");
	if (vectors == nullptr)
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "the limit of GPU memory has no room for vectors");
	(void) pack(jobs, bytes, host, device, layout);
	layout.scan.tiles = vectors->tiles();
	layout.scan.live = vectors->live(*first.image, stream) + (size_t) first.first_tile * GENIE_TILE_WORDS;
	layout.sample.tiles = layout.scan.tiles;
	layout.sample.live = layout.scan.live;
	GENIE_CUDA_CHECK(cudaMemcpyAsync(device, host, bytes.blob, cudaMemcpyHostToDevice, stream));
	GENIE_CUDA_CHECK(cudaMemsetAsync(layout.zeros, 0, layout.n_zeros * sizeof(uint32_t), stream));
	GENIE_CUDA_CHECK(cudaEventRecord(context.copy_begin, context.copy_stream));
	context.upload(*first.vectors, *vectors);
	GENIE_CUDA_CHECK(cudaEventRecord(context.copy_end, context.copy_stream));
	launch(layout, stream);
	uploads = context.uploaded_bytes > uploaded_before;
	context.begin_next(pass);
	GENIE_CUDA_CHECK(
		cudaMemcpyAsync(host + bytes.blob, device + bytes.blob, bytes.result, cudaMemcpyDeviceToHost, stream));
	context.wait();
	if (uploads)
		context.note_upload();
	for (size_t i = 0; i < jobs.size(); i++)
	{
		if (layout.way.samples && layout.packed[i].n_hits->y > layout.way.n_keys)
		{
			again.push_back(jobs[i]);
			continue;
		}
		jobs[i]->n_hits = layout.packed[i].n_hits->x;
		memcpy(jobs[i]->out, layout.packed[i].hits, jobs[i]->n_hits * sizeof(GenieHit));
	}
	return again;
}
