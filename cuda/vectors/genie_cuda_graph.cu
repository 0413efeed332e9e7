/*
 * genie_cuda_graph.cu
 *	  A pass of SCAN jobs that search a graph: laying out what the kernel needs, and bringing the hits back.
 *
 * Vectors and the graph are copied if they are not there (genie_cuda_vectors.cuh).  A graph is on the device as a whole
 * or is not used.
 */
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "genie_cuda_graph.cuh"
#include "genie_value_record.h"

/* For tests: 1 searches graphs wherever that is possible, 0 never. */
constexpr char GRAPH_ENVIRONMENT[] = "GENIE_CUDA_GRAPH";

typedef std::vector<GenieJob *> Jobs;

/* A job's places on the host. */
struct Packed
{
	const GenieHit *hits;
	const uint32_t *n_hits;
};

static uint32_t
record_units(const GenieQuantizedVectors &vectors)
{
	return (uint32_t) (genie_value_record_bytes(vectors.metric, vectors.n_dimensions) / sizeof(uint4));
}

static bool
all_live(const GenieSegmentImage &image)
{
	uint64_t	n = 0;

	for (uint64_t word = 0; word < (uint64_t) image.n_tiles * GENIE_TILE_WORDS; word++)
		n += (uint32_t) __builtin_popcountll(image.live[word]);
	return n == image.n_objects;
}

/* What all jobs have in common, but for what is on the device. */
static GenieCudaGraphSearch
search_of(const Jobs &jobs)
{
	const GenieJob &first = *jobs[0];
	GenieCudaGraphSearch search = {};
	uint32_t	k = 0;

	search.metric = first.vectors->metric;
	search.n_units = record_units(*first.vectors);
	search.n_entries = first.graph->head->n_entries;
	search.n_unknown = first.graph->head->n_unknown;
	search.n_objects = first.graph->n_objects;
	search.degree = first.graph->head->degree;
	search.n_levels = first.graph->head->n_levels;
	search.n_queries = (uint32_t) jobs.size();
	for (const GenieJob *job : jobs)
	{
		search.queue = std::max(search.queue, genie_job_graph_queue(job));
		k = std::max(k, job->k);
	}
	search.best = all_live(*first.image) ? 0 : k;
	search.warp_bytes = genie_cuda_graph_warp_bytes(search.n_units, search.queue, search.best);
	return search;
}

/* Lays out what the jobs need, dry or with memory; returns the bytes. */
static GenieCudaBytes
pack(const Jobs &jobs, size_t blob_bytes, uint8_t *host_memory, uint8_t *device, GenieCudaGraphSearch &search,
	 std::vector<Packed> &packed)
{
	GenieCudaBuffer blob(host_memory, device);
	GenieCudaBuffer result(host_memory == nullptr ? nullptr : host_memory + blob_bytes, device + blob_bytes);
	const size_t body_bytes = jobs[0]->scan_bytes - sizeof(GenieValueQuery);
	GenieCudaGraphQuery *queries;
	GenieValueConstants *host_constants;
	uint8_t    *host_bodies;

	search.queries = blob.take<GenieCudaGraphQuery>(jobs.size(), &queries);

	const GenieValueConstants *constants = blob.take<GenieValueConstants>(jobs.size(), &host_constants);
	const uint8_t *bodies = blob.take<uint8_t>(jobs.size() * body_bytes, &host_bodies);

	packed.clear();
	for (size_t i = 0; i < jobs.size(); i++)
	{
		const GenieJob &job = *jobs[i];
		GenieHit   *host_hits;
		uint32_t   *host_n_hits;
		GenieHit   *hits = result.take<GenieHit>(job.k, &host_hits);
		uint32_t   *n_hits = result.take<uint32_t>(1, &host_n_hits);

		packed.push_back(Packed{host_hits, host_n_hits});
		if (host_memory == nullptr)
			continue;
		host_constants[i] = genie_value_constants(job.scan);
		memcpy(host_bodies + i * body_bytes, genie_value_query_body(job.scan), body_bytes);
		queries[i] = GenieCudaGraphQuery{constants + i,
										 (const uint4 *) (bodies + i * body_bytes),
										 job.k,
										 job.min_key,
										 genie_job_graph_queue(&job),
										 hits,
										 n_hits};
	}
	return GenieCudaBytes{blob.used, result.used, 0};
}

uint32_t
genie_cuda_graph_jobs(const GenieCudaContext &context, const Jobs &jobs)
{
	size_t		n = std::min<size_t>(jobs.size(), GENIE_CUDA_GRAPH_JOBS);

	for (; n > 0; n /= 2)
	{
		const Jobs	some(jobs.begin(), jobs.begin() + (long) n);
		GenieCudaGraphSearch search = search_of(some);
		std::vector<Packed> packed;
		const GenieCudaBytes bytes = pack(some, 0, nullptr, nullptr, search, packed);

		if (GENIE_CUDA_GRAPH_WARPS * search.warp_bytes <= context.device.shared_of_block &&
			bytes.device() <= context.memory.scratch_limit() && bytes.blob <= GENIE_CUDA_BLOB_MAX &&
			bytes.result <= GENIE_CUDA_RESULT_MAX)
			break;
	}
	return (uint32_t) n;
}

bool
genie_cuda_graph_pays(const GenieCudaContext &context, const Jobs &jobs)
{
	const char *told = getenv(GRAPH_ENVIRONMENT);
	const GenieJob &first = *jobs[0];
	uint64_t	queues = 0;

	if (told != nullptr)
		return strcmp(told, "0") != 0;
	for (const GenieJob *job : jobs)
		queues += genie_job_graph_queue(job);

	/* a search by itself waits for one load after the other; many share the device */
	const double n = (double) jobs.size();
	const double bytes = (double) first.vectors->n_objects * record_units(*first.vectors) * sizeof(uint4);
	const double one = GENIE_CUDA_GRAPH_NS + GENIE_CUDA_GRAPH_PLACE_NS * (double) queues / n;
	const double all = (GENIE_CUDA_GRAPH_EACH_NS * n + GENIE_CUDA_GRAPH_EACH_PLACE_NS * (double) queues) /
		context.device.n_multiprocessors;
	const double scan = std::max(bytes / GENIE_CUDA_SCAN_RATE,
								 n * (GENIE_CUDA_SCAN_EACH_NS + bytes / GENIE_CUDA_SCAN_EACH_RATE));

	return one + all < GENIE_CUDA_SCAN_NS + scan;
}

void
genie_cuda_graph(GenieCudaContext &context, const Jobs &jobs, uint64_t pass)
{
	const GenieJob &first = *jobs[0];
	const cudaStream_t stream = context.stream;
	const uint64_t uploaded_before = context.uploaded_bytes;
	GenieCudaGraphSearch search = search_of(jobs);
	std::vector<Packed> packed;
	const GenieCudaBytes bytes = pack(jobs, 0, nullptr, nullptr, search, packed);
	uint8_t    *host = context.memory.pinned(bytes.blob + bytes.result);
	uint8_t    *device = context.scratch(bytes.device());
	GenieCudaVectors *vectors = context.vectors.acquire(*first.vectors, pass);
	GenieCudaGraph *graph = vectors == nullptr ? nullptr : context.vectors.acquire(*first.graph, pass);
	bool		uploads;

	if (graph == nullptr)
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "the limit of GPU memory has no room for a graph");
	(void) pack(jobs, bytes.blob, host, device, search, packed);
	GENIE_CUDA_CHECK(cudaMemcpyAsync(device, host, bytes.blob, cudaMemcpyHostToDevice, stream));
	GENIE_CUDA_CHECK(cudaEventRecord(context.copy_begin, context.copy_stream));
	context.upload(*first.vectors, *vectors);
	context.upload(*first.graph, *graph);
	GENIE_CUDA_CHECK(cudaEventRecord(context.copy_end, context.copy_stream));
	search.tiles = vectors->tiles();
	search.live = search.best == 0 ? nullptr : vectors->live(*first.image, stream);
	search.edges = graph->tiles();
	search.entries = graph->entries();
	genie_cuda_graph_search(search, stream);
	uploads = context.uploaded_bytes > uploaded_before;
	context.begin_next(pass);
	GENIE_CUDA_CHECK(
		cudaMemcpyAsync(host + bytes.blob, device + bytes.blob, bytes.result, cudaMemcpyDeviceToHost, stream));
	context.wait();
	if (uploads)
		context.note_upload();
	for (size_t i = 0; i < jobs.size(); i++)
	{
		jobs[i]->n_hits = *packed[i].n_hits;
		jobs[i]->by_graph = true;
		memcpy(jobs[i]->out, packed[i].hits, jobs[i]->n_hits * sizeof(GenieHit));
	}
}
