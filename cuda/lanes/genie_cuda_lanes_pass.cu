/*
 * genie_cuda_lanes_pass.cu
 *	  Running a pass of bit lanes.
 */
#include <algorithm>
#include <cmath>
#include <cstring>

#include "genie_cuda_lanes_pass.cuh"
#include "genie_cuda_tensor.cuh"

/*
 * Not jobs with a cursor: all objects that rank above it would be events too, which no bound keeps away, and would take
 * the room of the slice's other queries.  Such jobs are later pages, of few queries.
 */
bool
GenieCudaLanesPass::can_do(const GenieJob &job)
{
	if (job.n_tiles == 0)
		return false;			/* there is nothing to launch */
	if (job.kind == GENIE_JOB_TALLY)
		return true;
	return job.kind == GENIE_JOB_TOP && job.n_conditions == 0 && job.live == nullptr && job.query.keys == nullptr &&
		!job.has_after && job.k <= GENIE_CUDA_LANE_K_MAX;
}

/* Hits lie query after query, with room for an even number each: the kernel writes pairs. */
static uint32_t
hits_of(const GenieJob &job)
{
	return job.kind == GENIE_JOB_TALLY ? 0 : job.k + job.k % 2;
}

void
GenieCudaLanesPass::plan(const std::vector<GenieJob *> &jobs)
{
	first_object = genie_job_first_object(jobs[0]);
	n_objects = genie_job_objects(jobs[0]);
	n_queries = (uint32_t) jobs.size();
	n_slices = genie_cuda_lane_slices(n_queries);
	max_k = max_count = 1;
	min_ranges = UINT32_MAX;
	for (const GenieJob *job : jobs)
	{
		max_k = std::max(max_k, job->kind == GENIE_JOB_TALLY ? 1 : job->k);
		min_ranges = std::min(min_ranges, job->query.n_ranges);
		max_count = std::max(max_count, job->query.max_count);
	}
	/* an object has one keyword a dimension */
	max_count = std::min(max_count, jobs[0]->image->groups[0]->n_dimensions);
	capacity = std::max(GENIE_CUDA_LANE_CAPACITY, GENIE_CUDA_LANE_CAPACITY_K * max_k);
	slice_room = GENIE_CUDA_LANE_QUERIES * capacity / GENIE_CUDA_LANE_EVENTS_PART;
	if (tallies)
		max_k = capacity = slice_room = 0;
}

/*
 * How many of a sample's best give the threshold; at most k.  For all but one query in a million at least k of all
 * objects reach it (genie_cuda_policy.cuh).
 */
static uint32_t
sampled_k(uint32_t k)
{
	const double mean = (double) k / GENIE_CUDA_LANE_SAMPLE;
	const double n = ceil(mean + GENIE_CUDA_LANE_SAMPLE_DEVIATIONS * sqrt(mean)) + GENIE_CUDA_LANE_SAMPLE_MORE;

	return (uint32_t) std::min<double>(k, n);
}

GenieCudaBytes
GenieCudaLanesPass::pack(const std::vector<GenieJob *> &jobs, const GenieCudaBytes &sizes, uint8_t *host,
						 uint8_t *device)
{
	const bool	dry = host == nullptr;
	GenieCudaBuffer blob(host, device);
	GenieCudaBuffer result(dry ? nullptr : host + sizes.blob, device + sizes.blob);
	GenieCudaBuffer room(nullptr, device + sizes.blob + sizes.result);
	size_t		n_ranges = 0;
	size_t		n_hit = 0;
	GenieCudaQuery *packed;
	GenieCudaLanePlace *host_places;
	GenieRankRange *host_ranges;
	GenieCudaTop *host_tops;
	uint4	   *host_n_hits;
	GenieHit   *host_hits;
	uint32_t   *flags;
	uint64_t   *host_live = nullptr;

	for (const GenieJob *job : jobs)
	{
		n_ranges += job->query.n_ranges;
		n_hit += hits_of(*job);
	}
	queries = blob.take<GenieCudaQuery>(n_queries, &packed);
	device_places = blob.take<GenieCudaLanePlace>(places.size(), &host_places);
	const GenieRankRange *ranges = blob.take<GenieRankRange>(n_ranges, &host_ranges);
	GenieCudaTop *tops = blob.take<GenieCudaTop>(n_queries, &host_tops);
	const size_t n_words = jobs[0]->live == nullptr ? 0 : (size_t) jobs[0]->n_tiles * GENIE_TILE_WORDS;

	live = n_words == 0 ? nullptr : blob.take<uint64_t>(n_words, &host_live);
	uint4	   *counts = result.take<uint4>(n_queries, &host_n_hits);

	unfit = result.take<uint32_t>(n_queries, &flags);
	head_bytes = result.used;
	device_hits = result.take<GenieHit>(n_hit, &host_hits);
	bounds.pack(jobs, blob, result);
	tables = room.take<uint8_t>((size_t) n_slices * table_bytes);
	GenieCudaCandidate *candidates = room.take<GenieCudaCandidate>((size_t) n_queries * capacity);
	events = room.take<GenieCudaLaneEvent>((size_t) n_slices * slice_room);
	n_events = room.take<uint32_t>((size_t) n_slices * genie_cuda_lanes_parts(context.device, n_slices));
	GenieCudaCandidate *selected = room.take<GenieCudaCandidate>((size_t) n_queries * max_k);

	n_hits = host_n_hits;
	hits = host_hits;
	host_unfit = flags;
	if (dry)
		return GenieCudaBytes{blob.used, result.used, room.used};

	GenieHit   *all_hits = device_hits;

	memcpy(host_places, places.data(), places.size() * sizeof(GenieCudaLanePlace));
	memset(host_tops, 0, n_queries * sizeof(GenieCudaTop));
	if (n_words > 0)
		memcpy(host_live, jobs[0]->live, n_words * sizeof(uint64_t));
	for (uint32_t i = 0; i < n_queries; i++)
	{
		const GenieJob &job = *jobs[i];
		GenieCudaQuery query = {};

		query.ranges = ranges;
		query.n_ranges = job.query.n_ranges;
		query.max_count = job.query.max_count;
		query.k = job.k;
		query.sampled_k = sampled_k(job.k);
		query.min_key = std::max(job.min_key, 1u);
		query.key_bytes = max_count < 1u << 8 ? 1 : 2;
		query.top = tops + i;
		query.candidates = candidates + (size_t) i * capacity;
		query.selected = selected + (size_t) i * max_k;
		query.hits = all_hits;
		query.n_hits = counts + i;
		packed[i] = query;
		bounds.set_hits(i, all_hits, counts + i);
		if (query.n_ranges > 0)
			memcpy(host_ranges, job.query.ranges, query.n_ranges * sizeof(GenieRankRange));
		host_ranges += query.n_ranges;
		ranges += query.n_ranges;
		all_hits += hits_of(job);
	}
	return GenieCudaBytes{blob.used, result.used, room.used};
}

GenieCudaBytes
GenieCudaLanesPass::bytes_of(const std::vector<GenieJob *> &jobs)
{
	plan(jobs);
	return pack(jobs, GenieCudaBytes{}, nullptr, nullptr);
}

/* Copies what is not on the device yet, and swizzles the codes if that was not done. */
void
GenieCudaLanesPass::upload(const GenieSegmentImage &image, GenieCudaImage &copy)
{
	context.upload(image, copy);
	if (!copy.swizzled)
	{
		genie_cuda_lanes_swizzle(layout, copy.tiles() + copy.first_tile, copy.n_tiles, context.stream);
		copy.swizzled = true;
	}
}

/* Is a sample worth it, and have those of this image been right often enough? */
bool
GenieCudaLanesPass::is_to_sample(const GenieCudaImage &copy) const
{
	if (copy.n_misled > copy.n_sampled / GENIE_CUDA_LANE_MISLED_PART + GENIE_CUDA_LANE_MISLED_FEW)
		return false;
	if (context.device.always_samples)
		return n_objects > 0;
	return max_k >= GENIE_CUDA_LANE_SAMPLED_K && min_ranges >= GENIE_CUDA_LANE_SAMPLED_RANGES &&
		n_objects >= GENIE_CUDA_LANE_SAMPLED_OBJECTS;
}

/* Counts the launch's units; each query keeps its best candidates of all objects up to last_object. */
void
GenieCudaLanesPass::count_units(GenieCudaLaneLaunch &launch, uint32_t last_object, bool is_sample)
{
	if (by_tensor)
		genie_cuda_tensor(context.device, table_bytes, launch, context.stream);
	else
		genie_cuda_lanes(context.device, max_count, launch, context.stream);
	genie_cuda_lanes_deal(launch, capacity, context.stream);
	genie_cuda_lanes_settle(queries, n_queries, capacity, last_object, is_sample, unfit, context.stream);
}

/* Counts n_units units of the launch's step from the tiles' first object on, in launches over more and more of them. */
void
GenieCudaLanesPass::count_growing(GenieCudaLaneLaunch &launch, uint32_t unit, uint64_t n_units, bool is_sample)
{
	const uint32_t k = is_sample ? sampled_k(max_k) : max_k;
	const uint64_t growth_max = std::max(2u, capacity / (GENIE_CUDA_LANE_FIRST_PART * k));
	const uint32_t first_objects = std::min(capacity / GENIE_CUDA_LANE_FIRST_PART,
											is_sample ? GENIE_CUDA_LANE_SAMPLE_FIRST * k : UINT32_MAX);
	uint64_t	end = std::max(1u, first_objects / unit);

	for (uint64_t first = 0; first < n_units;)
	{
		const uint64_t growth = by_tensor && end * unit >= GENIE_CUDA_TENSOR_LATE ? GENIE_CUDA_TENSOR_GROWTH :
																					GENIE_CUDA_LANE_GROWTH;

		/* a small rest is not worth a launch of its own */
		if (end + end / 4 >= n_units)
			end = n_units;
		launch.first_object = first_object + (uint32_t) (first * launch.step);
		launch.n_units = (uint32_t) (end - first);
		count_units(launch, first_object + (uint32_t) (end * launch.step - 1), is_sample);
		first = end;
		end *= std::min(growth, growth_max);
	}
}

/* Counts all objects: in growing launches, or at once after a sample. */
void
GenieCudaLanesPass::count(const GenieCudaImage &copy)
{
	const uint32_t unit = by_tensor ? GENIE_CUDA_TENSOR_OBJECTS : genie_cuda_lanes_unit(max_count);
	const uint64_t n_units = ((uint64_t) n_objects + unit - 1) / unit;
	GenieCudaLaneLaunch launch = {};

	launch.tiles = copy.tiles();
	launch.tables = tables;
	launch.queries = queries;
	launch.n_queries = n_queries;
	launch.events = events;
	launch.n_events = n_events;
	launch.slice_room = slice_room;
	launch.layout = layout;
	launch.step = unit;
	launch.tallies = tallies;
	if (tallies)
	{
		launch.live = (const uint32_t *) live;
		launch.first_object = first_object;
		launch.n_units = (uint32_t) n_units;
		if (n_units > 0)
			genie_cuda_lanes(context.device, max_count, launch, context.stream);
		return;
	}
	is_sampled = is_to_sample(copy);
	if (!is_sampled)
	{
		count_growing(launch, unit, n_units, false);
		return;
	}
	launch.step = unit * GENIE_CUDA_LANE_SAMPLE;
	count_growing(launch, unit, (n_units + GENIE_CUDA_LANE_SAMPLE - 1) / GENIE_CUDA_LANE_SAMPLE, true);
	genie_cuda_lanes_guess(queries, n_queries, context.stream);
	launch.step = unit;
	launch.first_object = first_object;
	launch.n_units = (uint32_t) n_units;
	count_units(launch, first_object + (uint32_t) (n_units * unit - 1), false);
}

/* Starts bringing results back.  True: hits and bounds go straight to where they are wanted, the rest to host. */
bool
GenieCudaLanesPass::start_results(const std::vector<GenieJob *> &jobs, uint8_t *host, const uint8_t *device,
								  size_t n_bytes) const
{
	GenieCudaResults results;
	const GenieHit *from = device_hits;

	if (tallies)
	{
		GENIE_CUDA_CHECK(cudaMemcpyAsync(host, device, head_bytes, cudaMemcpyDeviceToHost, context.stream));
		return true;
	}
	for (const GenieJob *job : jobs)
	{
		results.add(job->out, from, job->k * sizeof(GenieHit));
		from += hits_of(*job);
	}
	for (size_t i = 0; i < jobs.size(); i++)
		bounds.add_to(results, i, *jobs[i]);

	const bool	direct = results.are_direct(context);

	GENIE_CUDA_CHECK(
		cudaMemcpyAsync(host, device, direct ? head_bytes : n_bytes, cudaMemcpyDeviceToHost, context.stream));
	if (direct)
		results.start(context.stream);
	return direct;
}

/* Reads what came back; returns the jobs that tiles have to do. */
std::vector<GenieJob *>
GenieCudaLanesPass::give_results(const std::vector<GenieJob *> &jobs, bool direct, GenieCudaImage &copy)
{
	std::vector<GenieJob *> again;

	for (uint32_t i = 0; i < n_queries; i++)
	{
		copy.n_misled += is_sampled && host_unfit[i] != 0;
		if (host_unfit[i] != 0)
			again.push_back(jobs[i]);
		else
		{
			jobs[i]->n_hits = n_hits[i].x;
			if (!direct)
				memcpy(jobs[i]->out, hits, jobs[i]->n_hits * sizeof(GenieHit));
			bounds.give(i, direct, *jobs[i]);
		}
		hits += hits_of(*jobs[i]);
	}
	copy.n_sampled += is_sampled ? n_queries : 0;
	return again;
}

std::vector<GenieJob *>
GenieCudaLanesPass::run(const std::vector<GenieJob *> &jobs, uint64_t number)
{
	const GenieSegmentImage &image = *jobs[0]->image;
	const uint64_t uploaded_before = context.uploaded_bytes;
	const GenieCudaBytes bytes = bytes_of(jobs);
	uint8_t    *host = context.memory.pinned(bytes.blob + bytes.result);
	uint8_t    *device = context.scratch(bytes.device());
	GenieCudaImage &copy = context.images.acquire(image, number);
	bool		uploads;

	bounds.acquire(jobs, number);
	uploads = !copy.complete() || bounds.to_upload();
	(void) pack(jobs, bytes, host, device);
	GENIE_CUDA_CHECK(cudaMemcpyAsync(device, host, bytes.blob, cudaMemcpyHostToDevice, context.stream));
	GENIE_CUDA_CHECK(cudaMemsetAsync(tables, 0, (size_t) n_slices * table_bytes, context.stream));
	/* with its padding */
	GENIE_CUDA_CHECK(
		cudaMemsetAsync(device + bytes.blob, 0, (uint8_t *) device_hits - (device + bytes.blob), context.stream));
	if (by_tensor)
		genie_cuda_tensor_table(table_bytes, device_places, queries, n_queries, tables, context.stream);
	else
		genie_cuda_lanes_table(layout, device_places, queries, n_queries, tables, context.stream);
	if (uploads)
		GENIE_CUDA_CHECK(cudaEventRecord(context.copy_begin, context.copy_stream));
	upload(image, copy);
	count(copy);
	bounds.upload();
	if (uploads)
		GENIE_CUDA_CHECK(cudaEventRecord(context.copy_end, context.copy_stream));
	if (!tallies)
		genie_cuda_top_small(queries, n_queries, context.stream);
	bounds.run();
	uploads = context.uploaded_bytes > uploaded_before;
	context.begin_next(number);

	const bool	direct = start_results(jobs, host + bytes.blob, device + bytes.blob, bytes.result);

	context.wait();
	if (context.uploaded_bytes > uploaded_before)
		context.note_upload();
	return give_results(jobs, direct, copy);
}
