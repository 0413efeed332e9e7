/*
 * genie_cuda_engine.cu
 *	  The CUDA engine: opening a device, batches, and the library's one exported symbol.
 *
 * Batches.  A batch is done in this order:
 *
 * 1.	Jobs without an image, exact search, hashing, and levels of graphs, one by one (genie_cuda_nearest.cuh,
 *		genie_cuda_hash.cuh, genie_cuda_graph.cuh).
 *		So are facets and grids (genie_cuda_facets.cuh), and copies that stay (GenieCudaContext::stage()).
 *		Then scans, those of the same vectors together (genie_cuda_value_scan.cuh), or searches in their graph
 *		(genie_cuda_graph.cuh).
 * 2.	The jobs that genie_cuda_dispatch.cuh gives to bit lanes, those of the same tiles together
 *		(genie_cuda_lanes_pass.cuh).
 * 3.	All other jobs, by tiles (genie_cuda_tiles_pass.cuh).  Images that are on the device come first.
 *
 * Scans, lanes and tiles work in passes.  A pass has as many jobs as fit the device with their images and their
 * scratch.  If a pass fails, its jobs get its status and the next pass is tried; only a lost device ends the batch.
 *
 * COUNTS and MASK jobs are worth the GPU: the counts of one query in all tiles of uniform signatures take 0.14 ms on an
 * H200 and 0.54 by the CPU engine on 16 cores, a mask 0.09 and 1.05.  On documents copying the counts back bounds them
 * (0.80 and 0.65 ms).
 *
 * Waiting.  The engine's thread yields the processor while it waits for the device (cudaDeviceScheduleYield).  An
 * interrupt would cost tens of microseconds, much for a query of 0.1 ms; spinning would keep a core from the backends
 * during batches that take milliseconds.
 *
 * Signals are blocked while the driver starts its threads.  Those would otherwise take signals that the process's own
 * thread waits for.
 */
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <tuple>

#include "genie_cuda_dispatch.cuh"
#include "genie_cuda_facets.cuh"
#include "genie_cuda_graph.cuh"
#include "genie_cuda_hash.cuh"
#include "genie_cuda_nearest.cuh"
#include "genie_cuda_tensor.cuh"
#include "genie_cuda_value_scan.cuh"

/* the oldest compute capability that the library has code for, times 10 */
constexpr int OLDEST_DEVICE = 75;

/* For tests: a block has no more shared memory than this, as on smaller devices. */
constexpr char SHARED_ENVIRONMENT[] = "GENIE_CUDA_SHARED_BYTES";

/* For tests: 1 uses tensor cores wherever they can count, 0 never. */
constexpr char TENSOR_ENVIRONMENT[] = "GENIE_CUDA_TENSOR_CORES";

/* For tests: 1 has lanes take thresholds from samples wherever they can. */
constexpr char SAMPLE_ENVIRONMENT[] = "GENIE_CUDA_SAMPLE";

/*
 * For tests: 0 takes nominal costs instead of measuring, which would take forever under tools that slow kernels down.
 */
constexpr char MEASURE_ENVIRONMENT[] = "GENIE_CUDA_MEASURE";

class GenieCudaEngine : public GenieEngine
{
public:
	GenieCudaEngine(const GenieEngineOps *table, const GenieEngineOptions &options);
	~GenieCudaEngine();
	GenieCudaEngine(const GenieCudaEngine &) = delete;
	GenieCudaEngine &operator=(const GenieCudaEngine &) = delete;

	/* The thread's calls of the driver are for this engine's device from now on. */
	void		select() const
	{
		GENIE_CUDA_CHECK(cudaSetDevice(number));
	}

	GenieStatus run(uint32_t n_jobs, GenieJob *jobs) noexcept;
	void		forget(uint64_t id);
	bool		has(uint64_t id) const;
	void		prefetch(const GenieSegmentImage *image, const GenieQuantizedVectors *quantized);
	bool		pin(void *more, size_t bytes);
	void		set_memory_limit(uint64_t bytes);
	void		set_kernels(GenieKernelChoice choice);
	void		describe(GenieDeviceInfo &info) const;

private:
	GenieStatus run_pass(const std::vector<GenieCudaJobPart> &parts, uint32_t chunk_tiles) noexcept;
	void		run_tiles(const std::vector<GenieJob *> &jobs, GenieStatus &status);
	GenieStatus run_lanes_pass(const std::vector<GenieJob *> &jobs, const GenieCudaLaneImage &lanes,
							   std::vector<GenieJob *> &again) noexcept;
	void		run_lanes(std::vector<GenieJob *> &jobs, std::vector<GenieJob *> &left, GenieStatus &status);
	GenieStatus run_alone(GenieJob &job) noexcept;
	void		run_scans(std::vector<GenieJob *> jobs, bool all_keys, GenieStatus &status);
	void		run_graphs(std::vector<GenieJob *> jobs, GenieStatus &status);
	std::vector<GenieJob *> run_all_but_tiles(uint32_t n_jobs, GenieJob *jobs, GenieStatus &status);
	uint32_t	chunk_for(const GenieCudaJobPart &part, const GenieCudaBytes &whole) const;

	const int	number;			/* of the device */
	cudaDeviceProp properties;
	GenieCudaDevice device;
	std::unique_ptr<GenieCudaMemory> memory;
	std::unique_ptr<GenieCudaAllVectors> vectors;
	std::unique_ptr<GenieCudaImages> images;
	std::unique_ptr<GenieCudaContext> context;
	std::unique_ptr<GenieCudaDispatch> dispatch;
	uint64_t	n_passes = 0;
	bool		is_ahead = false;	/* something has been copied ahead since the last batch */
	void	   *registered = nullptr;	/* the arena, if it is pinned */
	std::vector<void *> pinned; /* blocks that this engine has pinned */
};

/* ---- opening ---- */

static GenieCudaEngine *
engine_of(GenieEngine *engine)
{
	return static_cast<GenieCudaEngine *>(engine);
}

static uint64_t
free_memory()
{
	size_t		free_bytes;
	size_t		total_bytes;

	GENIE_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
	return free_bytes * GENIE_CUDA_FREE_PERCENT / 100;
}

static GenieCudaTensorUse
tensor_use(const cudaDeviceProp &properties)
{
	const char *told = getenv(TENSOR_ENVIRONMENT);

	if (!GENIE_CUDA_TENSOR || properties.major * 10 + properties.minor < GENIE_CUDA_TENSOR_DEVICE)
		return GENIE_CUDA_TENSOR_NEVER;
	if (told == nullptr)
		return GENIE_CUDA_TENSOR_MEASURED;
	return strcmp(told, "0") == 0 ? GENIE_CUDA_TENSOR_NEVER : GENIE_CUDA_TENSOR_ALWAYS;
}

/* The value of an environment variable, 0 or 1, if it is set. */
static bool
told(const char *variable, bool otherwise)
{
	const char *value = getenv(variable);

	return value == nullptr ? otherwise : strcmp(value, "0") != 0;
}

GenieCudaEngine::GenieCudaEngine(const GenieEngineOps *table, const GenieEngineOptions &options) :
	GenieEngine{table, nullptr, "", {}, false, 0}, number((int) options.device)
{
	const char *pretend = getenv(SHARED_ENVIRONMENT);
	cudaStream_t stream;
	cudaStream_t copy_stream;
	cudaEvent_t copy_begin;
	cudaEvent_t copy_end;
	GenieCudaAhead ahead[2] = {};

	GENIE_CUDA_CHECK(cudaGetDeviceProperties(&properties, number));
	if (properties.major * 10 + properties.minor < OLDEST_DEVICE)
		throw GenieCudaFailure(GENIE_STATUS_UNAVAILABLE,
							   "the GPU is too old: compute capability 7.5 or later is needed");
	device.shared_of_multiprocessor = (uint32_t) properties.sharedMemPerMultiprocessor;
	device.shared_of_block = (uint32_t) properties.sharedMemPerBlockOptin;
	device.n_multiprocessors = (uint32_t) properties.multiProcessorCount;
	if (pretend != nullptr)
	{
		device.shared_of_block = std::min(device.shared_of_block, (uint32_t) strtoul(pretend, nullptr, 10));
		device.shared_of_multiprocessor = device.shared_of_block;
	}
	device.always_samples = told(SAMPLE_ENVIRONMENT, false);
	device.tensor = genie_cuda_tensor_possible(device) ? tensor_use(properties) : GENIE_CUDA_TENSOR_NEVER;
	if (options.arena != nullptr)
	{
		cudaPointerAttributes arena = {};

		/* the first engine pins it for all devices; if it cannot be pinned, copies are slower */
		if (cudaPointerGetAttributes(&arena, options.arena) != cudaSuccess || arena.type != cudaMemoryTypeHost)
			(void) pin(options.arena, options.arena_bytes);
		if (!pinned.empty() || arena.type == cudaMemoryTypeHost)
			registered = options.arena;
		(void) cudaGetLastError();
	}
	GENIE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	GENIE_CUDA_CHECK(cudaStreamCreateWithFlags(&copy_stream, cudaStreamNonBlocking));
	GENIE_CUDA_CHECK(cudaEventCreate(&copy_begin));
	GENIE_CUDA_CHECK(cudaEventCreate(&copy_end));
	for (GenieCudaAhead &times : ahead)
	{
		GENIE_CUDA_CHECK(cudaEventCreate(&times.begin));
		GENIE_CUDA_CHECK(cudaEventCreate(&times.end));
	}
	memory.reset(new GenieCudaMemory(options.memory_limit, free_memory()));
	vectors.reset(new GenieCudaAllVectors(*memory));
	images.reset(new GenieCudaImages(*memory, *vectors));
	context.reset(new GenieCudaContext{this,
									   device,
									   *memory,
									   *images,
									   *vectors,
									   stream,
									   copy_stream,
									   copy_begin,
									   copy_end,
									   {ahead[0], ahead[1]},
									   0,
									   nullptr,
									   nullptr,
									   (const uint8_t *) registered,
									   options.arena_bytes,
									   0,
									   0});
	dispatch.reset(new GenieCudaDispatch(*context, choices, told(MEASURE_ENVIRONMENT, true)));
	batch_ns = dispatch->batch_ns();
}

GenieCudaEngine::~GenieCudaEngine()
{
	(void) cudaDeviceSynchronize();
	for (void *block : pinned)
		(void) cudaHostUnregister(block);
	if (context)
	{
		(void) cudaEventDestroy(context->copy_begin);
		(void) cudaEventDestroy(context->copy_end);
		for (const GenieCudaAhead &times : context->ahead)
		{
			(void) cudaEventDestroy(times.begin);
			(void) cudaEventDestroy(times.end);
		}
		(void) cudaStreamDestroy(context->stream);
		(void) cudaStreamDestroy(context->copy_stream);
	}
}

/* ---- a batch ---- */

/* Runs a pass of tiles; if it fails, gives its status to its jobs. */
GenieStatus
GenieCudaEngine::run_pass(const std::vector<GenieCudaJobPart> &parts, uint32_t chunk_tiles) noexcept
{
	const uint64_t number = ++n_passes;
	const GenieStatus status = genie_cuda_guard(error, [&]() {
		GenieCudaTilesPass(*context, number).run(parts, chunk_tiles);
	});

	if (status != GENIE_OK)
	{
		images->drop_incomplete();
		for (const GenieCudaJobPart &part : parts)
			part.job->status = status;
	}
	return status;
}

/* How many tiles of a part can be counted at a time so that its bytes fit scratch; 0: not even one. */
uint32_t
GenieCudaEngine::chunk_for(const GenieCudaJobPart &part, const GenieCudaBytes &whole) const
{
	uint32_t	chunk = part.n_tiles;
	GenieCudaBytes bytes = whole;

	while (chunk > 0 && bytes.device() > memory->scratch_limit())
	{
		chunk /= 2;
		if (chunk > 0)
			bytes = GenieCudaTilesPass::bytes_of(*context, part, chunk);
	}
	return chunk;
}

/* The parts of the jobs: those of images that are on the device first, and those of an image together. */
static std::vector<GenieCudaJobPart>
parts_of(const std::vector<GenieJob *> &jobs, const GenieCudaImages &images)
{
	std::vector<GenieCudaJobPart> parts;

	for (GenieJob *job : jobs)
	{
		const uint32_t first = job->first_tile;
		const uint32_t n = job->n_tiles;
		const uint32_t each = genie_dispatch_counts(job) ? n : GENIE_CUDA_OUT_TILES;

		if (job->kind == GENIE_JOB_MASK && job->n_conditions == 0 && job->any)
			memset(job->out, 0, (size_t) n * GENIE_TILE_BITMAP_BYTES);
		else if (job->kind == GENIE_JOB_MASK && job->n_conditions == 0)
			memcpy(job->out, job->image->live + (size_t) first * GENIE_TILE_WORDS,
				   (size_t) n * GENIE_TILE_BITMAP_BYTES);
		else if (n > 0 && !images.fits(*job->image))
			job->status = GENIE_STATUS_NO_ROOM;
		else
			for (uint32_t done = 0; done < n; done += each)
				parts.push_back(GenieCudaJobPart{job, first + done, std::min(each, n - done)});
	}
	if (std::none_of(parts.begin(), parts.end(),
					 [&](const GenieCudaJobPart &part) { return part.job->image->id != parts[0].job->image->id; }))
		return parts;
	std::stable_sort(parts.begin(), parts.end(), [&](const GenieCudaJobPart &a, const GenieCudaJobPart &b) {
		const bool	a_there = images.resident(a.job->image->id);
		const bool	b_there = images.resident(b.job->image->id);

		return a_there != b_there ? a_there : a.job->image->id < b.job->image->id;
	});
	return parts;
}

/* Do two parts need the same room?  False does not say that they do not. */
static bool
same_room(const GenieCudaJobPart &a, const GenieCudaJobPart &b)
{
	return a.n_tiles == b.n_tiles && a.job->image == b.job->image && a.job->kind == b.job->kind &&
		a.job->vectors == b.job->vectors && (a.job->live == nullptr) == (b.job->live == nullptr) &&
		a.job->n_conditions == 0 && b.job->n_conditions == 0 && a.job->k == b.job->k && a.job->query.keys == nullptr &&
		b.job->query.keys == nullptr && a.job->query.n_ranges == b.job->query.n_ranges &&
		a.job->query.max_count == b.job->query.max_count;
}

/* Does jobs by tiles, in passes. */
void
GenieCudaEngine::run_tiles(const std::vector<GenieJob *> &jobs, GenieStatus &status)
{
	std::vector<GenieCudaJobPart> all = parts_of(jobs, *images);
	std::vector<GenieCudaJobPart> parts;
	size_t		next = 0;

	for (const GenieJob *job : jobs)
		if (job->status == GENIE_STATUS_NO_ROOM)
			snprintf(error, sizeof(error), "an image does not fit the limit of GPU memory");

	while (next < all.size() && status == GENIE_OK)
	{
		GenieCudaBytes sum = {};
		GenieCudaBytes bytes = {};
		uint64_t	image_bytes = 0;
		uint32_t	chunk = UINT32_MAX;
		uint64_t	image_id = 0;

		if (interrupted != nullptr && interrupted())
		{
			for (; next < all.size(); next++)
				all[next].job->status = GENIE_STATUS_CANCELLED;
			break;
		}
		parts.clear();
		for (; next < all.size() && parts.size() < GENIE_CUDA_PASS_JOBS; next++)
		{
			const GenieCudaJobPart &part = all[next];
			const GenieSegmentImage &image = *part.job->image;
			const bool	is_new = parts.empty() || image.id != image_id;
			const uint64_t more = is_new && !genie_image_is_on_device(&image) ? GenieCudaImage::bytes_of(image) : 0;

			/* the jobs of a batch are mostly alike */
			if (parts.empty() || !same_room(part, parts.back()))
				bytes = GenieCudaTilesPass::bytes_of(*context, part, UINT32_MAX);
			if (!parts.empty() &&
				(image_bytes + more > images->room() || sum.device() + bytes.device() > memory->scratch_limit() ||
				 sum.blob + bytes.blob > GENIE_CUDA_BLOB_MAX || sum.result + bytes.result > GENIE_CUDA_RESULT_MAX))
				break;
			if (parts.empty())
				chunk = bytes.device() > memory->scratch_limit() ? chunk_for(part, bytes) : UINT32_MAX;
			sum.blob += bytes.blob;
			sum.result += bytes.result;
			sum.room += bytes.room;
			image_bytes += more;
			image_id = image.id;
			parts.push_back(part);
			if (chunk != UINT32_MAX)
			{
				next++;
				break;
			}
		}
		if (chunk == 0 || (chunk != UINT32_MAX && parts[0].job->kind != GENIE_JOB_TOP))
		{
			snprintf(error, sizeof(error), "a query does not fit the limit of GPU memory");
			parts[0].job->status = GENIE_STATUS_NO_ROOM;
		}
		else if (run_pass(parts, chunk) == GENIE_STATUS_LOST)
			status = GENIE_STATUS_LOST;
	}
	for (; next < all.size(); next++)
		all[next].job->status = status;
}

/* Runs a pass of bit lanes; if it fails, gives its status to its jobs.  Adds jobs that tiles have to do to again. */
GenieStatus
GenieCudaEngine::run_lanes_pass(const std::vector<GenieJob *> &jobs, const GenieCudaLaneImage &lanes,
								std::vector<GenieJob *> &again) noexcept
{
	const uint64_t number = ++n_passes;
	const GenieStatus status = genie_cuda_guard(error, [&]() {
		const std::vector<GenieJob *> left = GenieCudaLanesPass(*context, lanes, jobs[0]->kind).run(jobs, number);

		again.insert(again.end(), left.begin(), left.end());
	});

	if (status != GENIE_OK)
	{
		images->drop_incomplete();
		for (GenieJob *job : jobs)
			job->status = status;
	}
	return status;
}

/* Does a job that is done by itself: exact search, hashing, facets, a grid, a graph's level, or staging. */
GenieStatus
GenieCudaEngine::run_alone(GenieJob &job) noexcept
{
	if (interrupted != nullptr && interrupted())
		return job.status = GENIE_STATUS_CANCELLED;
	if (genie_job_adds_up(job.kind) && !images->fits(*job.image))
	{
		snprintf(error, sizeof(error), "an image does not fit the limit of GPU memory");
		return job.status = GENIE_STATUS_NO_ROOM;
	}
	job.status = genie_cuda_guard(error, [&]() {
		if (job.kind == GENIE_JOB_NEAREST)
			genie_cuda_nearest(*context, job);
		else if (job.kind == GENIE_JOB_HASH)
			genie_cuda_hash(*context, job);
		else if (job.kind == GENIE_JOB_LEVEL)
			genie_cuda_graph_build(*context, job, ++n_passes);
		else if (job.kind == GENIE_JOB_STAGE)
			job.n_hits = job.vectors != nullptr ?
				context->stage(*job.vectors, job.first_tile, job.first_tile + job.n_tiles) :
				context->stage(*job.image, job.first_tile, job.first_tile + job.n_tiles);
		else
			genie_cuda_facets(*context, job, ++n_passes);
	});
	if (job.status != GENIE_OK)
		images->drop_incomplete();
	return job.status;
}

/*
 * Does SCAN jobs of the same tiles and vectors, in passes; by all keys, or by a filter where that is better, and then
 * those again by all keys that need it.
 */
void
GenieCudaEngine::run_scans(std::vector<GenieJob *> jobs, bool all_keys, GenieStatus &status)
{
	std::vector<GenieJob *> again;

	while (!jobs.empty())
	{
		const uint32_t n_fit = genie_cuda_value_scan_jobs(*context, jobs, all_keys);
		const uint32_t n = std::max(1u, n_fit);
		const std::vector<GenieJob *> now(jobs.begin(), jobs.begin() + n);
		GenieStatus done = status;

		if (status == GENIE_OK && interrupted != nullptr && interrupted())
			done = GENIE_STATUS_CANCELLED;
		else if (status == GENIE_OK && n_fit == 0)
			done = GENIE_STATUS_DECLINED;
		else if (status == GENIE_OK)
		{
			const uint64_t number = ++n_passes;

			done = genie_cuda_guard(error, [&]() {
				for (GenieJob *job : genie_cuda_value_scan(*context, now, all_keys, number))
					again.push_back(job);
			});
			if (done != GENIE_OK)
				images->drop_incomplete();
		}
		if (done == GENIE_STATUS_DECLINED)
			error[0] = '\0';
		if (done == GENIE_STATUS_LOST)
			status = done;
		for (GenieJob *job : now)
			job->status = done;
		jobs.erase(jobs.begin(), jobs.begin() + n);
	}
	if (!again.empty())
		run_scans(again, true, status);
}

/* Does SCAN jobs of the same vectors and graph by the graph, in passes, or as scans where that is better. */
void
GenieCudaEngine::run_graphs(std::vector<GenieJob *> jobs, GenieStatus &status)
{
	while (!jobs.empty() && status == GENIE_OK && genie_cuda_graph_pays(*context, jobs) &&
		   (interrupted == nullptr || !interrupted()))
	{
		const uint32_t n = genie_cuda_graph_jobs(*context, jobs);
		const std::vector<GenieJob *> now(jobs.begin(), jobs.begin() + n);
		const uint64_t number = ++n_passes;
		GenieStatus done = GENIE_STATUS_DECLINED;

		if (n > 0)
			done = genie_cuda_guard(error, [&]() { genie_cuda_graph(*context, now, number); });
		if (done != GENIE_OK)
			images->drop_incomplete();
		if (done == GENIE_STATUS_DECLINED)
		{
			error[0] = '\0';
			break;
		}
		if (done == GENIE_STATUS_LOST)
			status = done;
		for (GenieJob *job : now)
			job->status = done;
		jobs.erase(jobs.begin(), jobs.begin() + n);
	}
	run_scans(jobs, false, status);
}

/* Does as many jobs of the same tiles by bit lanes as is best, in passes; adds those that tiles have to do to left. */
void
GenieCudaEngine::run_lanes(std::vector<GenieJob *> &jobs, std::vector<GenieJob *> &left, GenieStatus &status)
{
	const GenieSegmentImage &image = *jobs[0]->image;
	const size_t n = dispatch->choose(jobs);
	const size_t before = left.size();
	size_t		done = 0;
	size_t		again;

	while (done < n && status == GENIE_OK)
	{
		const std::vector<GenieJob *> rest(jobs.begin() + (long) done, jobs.begin() + (long) n);
		const uint32_t each = dispatch->jobs_of_pass(rest);

		if (each == 0 || (interrupted != nullptr && interrupted()))
			break;
		if (run_lanes_pass(std::vector<GenieJob *>(rest.begin(), rest.begin() + (long) each), dispatch->lanes_of(image),
						   left) == GENIE_STATUS_LOST)
			status = GENIE_STATUS_LOST;
		done += each;
	}
	again = left.size() - before;
	(GenieCudaLanesPass::is_by_tensor(dispatch->lanes_of(image), jobs[0]->kind) ? choices.n_tensor :
																				  choices.n_lanes) += done - again;
	choices.n_tiles += jobs.size() - done + again;

	/* run_tiles() sees an interrupt again at once; if the device is lost it only gives the jobs that status */
	left.insert(left.end(), jobs.begin() + (long) done, jobs.end());
}

/* Does jobs that are done alone, scans, and those that bit lanes do; returns the jobs that are left for tiles. */
std::vector<GenieJob *>
GenieCudaEngine::run_all_but_tiles(uint32_t n_jobs, GenieJob *jobs, GenieStatus &status)
{
	/* by image, kind, tiles, and the live objects that jobs bring */
	std::map<std::tuple<uint64_t, GenieJobKind, uint32_t, uint32_t, const uint64_t *>, std::vector<GenieJob *>>
		for_lanes;
	std::map<std::tuple<uint64_t, uint64_t, uint32_t, uint32_t>, std::vector<GenieJob *>> scans; /* and by vectors */
	std::map<std::tuple<uint64_t, uint64_t, uint64_t>, std::vector<GenieJob *>> graphs;	/* and these */
	std::vector<GenieJob *> left;

	for (uint32_t i = 0; i < n_jobs; i++)
	{
		GenieJob   *job = &jobs[i];

		job->n_hits = 0;
		job->has_bounds = false;
		job->by_graph = false;
		job->status = GENIE_OK;
		if (job->kind == GENIE_JOB_SCAN)
		{
			if (!genie_job_scan_fits(job))
			{
				job->status = GENIE_STATUS_CORRUPT;
				snprintf(error, sizeof(error), "a scan is malformed");
			}
			else if (genie_job_may_use_graph(job))
				graphs[{job->image->id, job->vectors->id, job->graph->id}].push_back(job);
			else if (job->n_tiles > 0)
				scans[{job->image->id, job->vectors->id, job->first_tile, job->n_tiles}].push_back(job);
		}
		else if (job->kind == GENIE_JOB_LEVEL && !genie_job_level_fits(job))
		{
			job->status = GENIE_STATUS_CORRUPT;
			snprintf(error, sizeof(error), "a level of a graph is malformed");
		}
		else if (genie_job_adds_up(job->kind) && !genie_job_facets_fit(job))
		{
			job->status = GENIE_STATUS_CORRUPT;
			snprintf(error, sizeof(error), "facets or a grid are malformed");
		}
		else if (genie_job_adds_up(job->kind) && job->n_tiles == 0)
			memset(job->out, 0, genie_job_facets_bytes(job));
		else if (genie_job_adds_up(job->kind) && genie_image_is_codes(job->image))
			job->status = GENIE_STATUS_DECLINED;	/* there are no lists to go through */
		else if (job->kind == GENIE_JOB_STAGE &&
				 !(job->vectors != nullptr ? genie_job_vectors_fit(job) : genie_job_tiles_fit(job)))
		{
			job->status = GENIE_STATUS_CORRUPT;
			snprintf(error, sizeof(error), "what does not exist is to be copied");
		}
		else if (!genie_job_has_image(job->kind) || genie_job_adds_up(job->kind) || job->kind == GENIE_JOB_STAGE)
		{
			if (status == GENIE_STATUS_LOST)
				job->status = status;
			else if (run_alone(*job) == GENIE_STATUS_LOST)
				status = GENIE_STATUS_LOST;
		}
		else if (!genie_job_tiles_fit(job))
		{
			job->status = GENIE_STATUS_CORRUPT;
			snprintf(error, sizeof(error), "a job wants tiles that its image does not have");
		}
		else if (!genie_job_keys_fit(job))
		{
			job->status = GENIE_STATUS_CORRUPT;
			snprintf(error, sizeof(error), "a key table does not fit the sizes of an image");
		}
		else if (GenieCudaLanesPass::can_do(*job) && genie_image_has_codes(job->image) && images->fits(*job->image))
			for_lanes[{job->image->id, job->kind, job->first_tile, job->n_tiles, job->live}].push_back(job);
		else
		{
			choices.n_tiles += genie_dispatch_counts(job);
			left.push_back(job);
		}
	}
	for (const auto &of_graph : graphs)
		run_graphs(of_graph.second, status);
	for (const auto &of_vectors : scans)
		run_scans(of_vectors.second, false, status);
	for (auto &of_tiles : for_lanes)
		run_lanes(of_tiles.second, left, status);
	return left;
}

GenieStatus
GenieCudaEngine::run(uint32_t n_jobs, GenieJob *jobs) noexcept
{
	GenieStatus status = GENIE_OK;
	GenieStatus failure;

	error[0] = '\0';
	failure = genie_cuda_guard(error, [&]() {
		select();
		if (!is_ahead)
			memory->keep_given(false);
		is_ahead = false;
		images->trim();
		run_tiles(run_all_but_tiles(n_jobs, jobs, status), status);
		context->begin_next(n_passes);	/* if no pass has */
	});
	if (failure != GENIE_OK)
		for (uint32_t i = 0; i < n_jobs; i++)
			jobs[i].status = failure;
	return failure == GENIE_STATUS_LOST ? failure : status;
}

void
GenieCudaEngine::forget(uint64_t id)
{
	images->forget(id);
	vectors->forget(id);
	dispatch->forget(id);
}

bool
GenieCudaEngine::pin(void *more, size_t bytes)
{
	if (cudaHostRegister(more, bytes, cudaHostRegisterPortable) == cudaSuccess)
	{
		pinned.push_back(more);
		return true;
	}
	(void) cudaGetLastError();
	return false;
}

bool
GenieCudaEngine::has(uint64_t id) const
{
	return images->resident(id) || vectors->resident(id);
}

void
GenieCudaEngine::prefetch(const GenieSegmentImage *image, const GenieQuantizedVectors *quantized)
{
	memory->keep_given(true);
	is_ahead = true;
	context->begin_next(n_passes);
	context->next_image = image;
	context->next_vectors = quantized;
}

void
GenieCudaEngine::set_kernels(GenieKernelChoice choice)
{
	dispatch->setting = choice;
}

void
GenieCudaEngine::set_memory_limit(uint64_t bytes)
{
	memory->set_limit(bytes);
}

void
GenieCudaEngine::describe(GenieDeviceInfo &info) const
{
	memset(&info, 0, sizeof(info));
	info.device = (uint32_t) number;
	snprintf(info.name, sizeof(info.name), "%.*s", GENIE_DEVICE_NAME_MAX - 1, properties.name);
	info.memory_bytes = properties.totalGlobalMem;
	info.limit_bytes = memory->limit();
	info.image_limit_bytes = images->room();
	info.staying_bytes = images->staying_bytes();
	info.image_bytes = memory->image_bytes();
	info.scratch_bytes = memory->scratch_bytes();
	info.uploaded_bytes = context->uploaded_bytes;
	info.upload_us = context->upload_us;
	info.n_evictions = images->evictions() + vectors->evictions();
}

/* ---- the table ---- */

static GenieStatus
genie_cuda_engine_run(GenieEngine *engine, uint32_t n_jobs, GenieJob *jobs)
{
	return engine_of(engine)->run(n_jobs, jobs);
}

static void
genie_cuda_engine_forget(GenieEngine *engine, uint64_t id)
{
	(void) genie_cuda_guard(engine->error, [&]() {
		engine_of(engine)->select();
		engine_of(engine)->forget(id);
	});
}

static bool
genie_cuda_engine_has(GenieEngine *engine, uint64_t id)
{
	return engine_of(engine)->has(id);
}

static void
genie_cuda_engine_prefetch(GenieEngine *engine, const GenieSegmentImage *image, const GenieQuantizedVectors *vectors)
{
	char		error[GENIE_ENGINE_ERROR_MAX];

	(void) genie_cuda_guard(error, [&]() {
		engine_of(engine)->select();
		engine_of(engine)->prefetch(image, vectors);
	});
}

static bool
genie_cuda_engine_pin(GenieEngine *engine, void *memory, size_t bytes)
{
	bool		done = false;

	(void) genie_cuda_guard(engine->error, [&]() {
		engine_of(engine)->select();
		done = engine_of(engine)->pin(memory, bytes);
	});
	return done;
}

static void
genie_cuda_engine_set_memory_limit(GenieEngine *engine, uint64_t bytes)
{
	(void) genie_cuda_guard(engine->error, [&]() {
		engine_of(engine)->select();
		engine_of(engine)->set_memory_limit(bytes);
	});
}

static void
genie_cuda_engine_set_kernels(GenieEngine *engine, GenieKernelChoice choice)
{
	engine_of(engine)->set_kernels(choice);
}

static uint32_t
genie_cuda_engine_devices(GenieEngine *engine, GenieDeviceInfo *info, uint32_t max)
{
	if (max > 0)
		engine_of(engine)->describe(*info);
	return 1;
}

static void
genie_cuda_engine_close(GenieEngine *engine)
{
	(void) genie_cuda_guard(engine->error, [&]() { engine_of(engine)->select(); });
	(void) genie_cuda_guard(engine->error, [&]() { delete engine_of(engine); });
}

static const GenieEngineOps cuda_ops = {GENIE_ENGINE_ABI,
										"cuda",
										genie_cuda_engine_run,
										genie_cuda_engine_forget,
										genie_cuda_engine_has,
										genie_cuda_engine_prefetch,
										genie_cuda_engine_pin,
										genie_cuda_engine_set_memory_limit,
										genie_cuda_engine_set_kernels,
										genie_cuda_engine_devices,
										genie_cuda_engine_close};

/* While this lives, the thread takes no signals; and so neither do the threads that the driver starts. */
class WithoutSignals
{
public:
	WithoutSignals()
	{
		sigset_t	all;

		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
	}

	~WithoutSignals()
	{
		pthread_sigmask(SIG_SETMASK, &before, nullptr);
	}

private:
	sigset_t	before;
};

static cudaError_t
start_device(int number)
{
	const WithoutSignals without_signals;
	cudaError_t code = cudaSetDevice(number);

	if (code == cudaSuccess)
		code = cudaSetDeviceFlags(cudaDeviceScheduleYield);
	if (code == cudaSuccess)
		code = cudaFree(nullptr);
	return code;
}

static uint32_t
genie_cuda_n_devices()
{
	const WithoutSignals without_signals;
	int			n = 0;

	if (cudaGetDeviceCount(&n) != cudaSuccess)
	{
		(void) cudaGetLastError();
		return 0;
	}
	return (uint32_t) n;
}

/* Says why the driver did not start, and what to do where that is known. */
static void
explain_driver(cudaError_t started, char *error)
{
	int			supported = 0;

	cudaDriverGetVersion(&supported);
	if (started == cudaErrorInsufficientDriver && supported == 0)
		snprintf(error, GENIE_ENGINE_ERROR_MAX, "no usable NVIDIA GPU: no NVIDIA driver is installed");
	else if (started == cudaErrorInsufficientDriver)
		snprintf(error, GENIE_ENGINE_ERROR_MAX,
				 "no usable NVIDIA GPU: the driver supports CUDA %d.%d, but the GPU engine was built with %d.%d: "
				 "install a newer driver",
				 supported / 1000, supported % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
	else
		snprintf(error, GENIE_ENGINE_ERROR_MAX, "no usable NVIDIA GPU: %s", cudaGetErrorString(started));
}

static GenieStatus
genie_cuda_engine_open(const GenieEngineOptions *options, GenieEngine **engine, char *error)
{
	const cudaError_t started = start_device((int) options->device);

	*engine = nullptr;
	if (started != cudaSuccess)
	{
		explain_driver(started, error);
		return started == cudaErrorMemoryAllocation ? GENIE_STATUS_NO_ROOM : GENIE_STATUS_UNAVAILABLE;
	}
	return genie_cuda_guard(error, [&]() { *engine = new GenieCudaEngine(&cuda_ops, *options); });
}

extern "C" const GenieEngineLibrary genie_engine_library;

extern "C" __attribute__((visibility("default")))
const GenieEngineLibrary genie_engine_library = {GENIE_ENGINE_LIBRARY_MAGIC, GENIE_ENGINE_ABI, genie_cuda_n_devices,
												 genie_cuda_engine_open, nullptr};
