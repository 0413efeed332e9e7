/*
 * genie_cuda_measure.cu
 *	  What counting costs on this device: batches on probes (genie_cuda_probe.h), each timed as a whole.
 *
 * Batches differ from each other in one thing, so the difference of their times is the cost of that thing.
 */
#include <algorithm>
#include <chrono>

#include "genie_cuda_measure.cuh"
#include "genie_cuda_probe.h"
#include "genie_cuda_tensor.cuh"

/* The same query many times: n_ranges ranges of width ranks each, one a dimension, from first_dimension on. */
class Batch
{
public:
	Batch(const GenieCudaProbe &probe, uint32_t first_dimension, uint32_t n_ranges, uint32_t width,
		  uint32_t n_queries = GENIE_CUDA_MEASURE_QUERIES);

	/* Nanoseconds of the fastest of some runs. */
	double		tiles_ns(GenieCudaContext &context);
	double		lanes_ns(GenieCudaContext &context, const GenieCudaLaneImage &lanes);

private:
	template <class RUN>
	double least_ns(RUN run);

	std::vector<GenieRankRange> ranges;
	std::vector<GenieHit> hits;
	std::vector<GenieJob> jobs;
};

Batch::Batch(const GenieCudaProbe &probe, uint32_t first_dimension, uint32_t n_ranges, uint32_t width,
			 uint32_t n_queries)
{
	constexpr uint32_t K = 16;
	GenieJob	job = {};

	if (!probe.made)
		throw GenieCudaFailure(GENIE_STATUS_CORRUPT, "could not make an image to measure with");
	for (uint32_t i = 0; i < n_ranges; i++)
	{
		const uint32_t first = probe.first_ranks[first_dimension + i];

		ranges.push_back(GenieRankRange{first, first + width});
	}
	hits.resize(K * n_queries);
	job.kind = GENIE_JOB_TOP;
	job.image = &probe.image;
	job.n_tiles = probe.image.n_tiles;
	job.query.n_ranges = n_ranges;
	job.query.ranges = ranges.data();
	job.query.max_count = (uint32_t) probe.first_ranks.size();
	job.k = K;
	job.min_key = 1;
	jobs.assign(n_queries, job);
	for (uint32_t i = 0; i < n_queries; i++)
		jobs[i].out = &hits[i * K];
}

template <class RUN>
double
Batch::least_ns(RUN run)
{
	double		least = 0;

	run();
	for (uint32_t i = 0; i < GENIE_CUDA_MEASURE_RUNS; i++)
	{
		const auto	begin = std::chrono::steady_clock::now();

		run();

		const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();

		least = i == 0 ? ns : std::min(least, ns);
	}
	return least;
}

double
Batch::tiles_ns(GenieCudaContext &context)
{
	std::vector<GenieCudaJobPart> parts;

	for (GenieJob &job : jobs)
		parts.push_back(GenieCudaJobPart{&job, 0, job.image->n_tiles});
	return least_ns([&]() { GenieCudaTilesPass(context, 0).run(parts, UINT32_MAX); });
}

double
Batch::lanes_ns(GenieCudaContext &context, const GenieCudaLaneImage &lanes)
{
	std::vector<GenieJob *> pointers;

	for (GenieJob &job : jobs)
		pointers.push_back(&job);
	return least_ns([&]() { (void) GenieCudaLanesPass(context, lanes, GENIE_JOB_TOP).run(pointers, 0); });
}

/* A difference of times for one of n things; not below 0, which noise could make of it. */
static double
per(double ns, double n)
{
	return std::max(0.0, ns) / n;
}

/*
 * Dimensions are of three kinds: values with lists of 2,048 postings, with bitmaps, and with lists of 16.
 *
 * The costs of a posting and of a range are measured on pieces as large as those of signatures, because a piece's costs
 * are not a sum: a piece of few postings waits for memory.  The small pieces still have too much work for
 * genie_cuda_sparse.cu.  They have more than one list: by one list no object can match more than once, and as soon as k
 * objects do, later tiles are skipped.
 */
static void
measure_tiles(GenieCudaContext &context, GenieDispatchCosts &costs)
{
	constexpr uint32_t TILES = 6;
	constexpr uint32_t LISTS = 128;
	constexpr uint32_t BITMAPS = 32;
	constexpr uint32_t SOME_BITMAPS = 16;
	constexpr uint32_t SHORT = 1;
	constexpr double PIECES = (double) TILES * GENIE_CUDA_MEASURE_QUERIES;
	constexpr uint32_t LIST_VALUES = 32;
	constexpr uint32_t SOME_VALUES = 8;
	constexpr uint32_t BITMAP_VALUES = 16;
	constexpr uint32_t SHORT_VALUES = 4096;
	constexpr uint32_t WHOLE = LISTS / LIST_VALUES; /* dimensions, of which all lists are as many */
	constexpr double LIST = GENIE_TILE_OBJECTS / LIST_VALUES;
	std::vector<uint32_t> n_values(LISTS, LIST_VALUES);

	static_assert(LIST * SOME_VALUES > GENIE_CUDA_SPARSE_POSTINGS && SOME_BITMAPS > GENIE_CUDA_SPARSE_BITMAPS,
				  "what is measured is another kernel");
	n_values.insert(n_values.end(), BITMAPS, BITMAP_VALUES);
	n_values.insert(n_values.end(), SHORT, SHORT_VALUES);

	const GenieCudaProbe probe(GENIE_CUDA_MEASURE_ID, GENIE_TILE_OBJECTS, TILES, n_values);
	const double nothing = Batch(probe, 0, 0, 0).tiles_ns(context);
	const double small = Batch(probe, 0, 1, SOME_VALUES).tiles_ns(context);
	const double wide = Batch(probe, 0, WHOLE, LIST_VALUES).tiles_ns(context);
	const double many = Batch(probe, 0, LISTS, 1).tiles_ns(context);
	const double some_bitmaps = Batch(probe, LISTS, SOME_BITMAPS, 1).tiles_ns(context);
	const double bitmaps = Batch(probe, LISTS, BITMAPS, 1).tiles_ns(context);
	const double few = Batch(probe, LISTS + BITMAPS, SHORT, 1).tiles_ns(context);

	costs.tiles_ns = Batch(probe, 0, 0, 0, GENIE_CUDA_MEASURE_SMALL).tiles_ns(context);
	costs.range_ns = per(many - wide, PIECES * (LISTS - WHOLE));
	costs.posting_ns = per(per(wide - small, PIECES) - costs.range_ns * (WHOLE - 1), LIST * (LISTS - SOME_VALUES));
	costs.code_byte_ns = costs.posting_ns / GENIE_CUDA_CODE_BYTES;
	costs.codes_whole = true;
	costs.piece_ns = per(per(small - nothing, PIECES) - costs.range_ns - costs.posting_ns * LIST * SOME_VALUES, 1);
	costs.bitmap_ns = per(per(bitmaps - some_bitmaps, PIECES * (BITMAPS - SOME_BITMAPS)) - costs.range_ns, 1);
	costs.few_postings = GENIE_CUDA_MEASURE_FEW_POSTINGS;
	costs.few_ns = per(few - nothing, PIECES * SHORT * GENIE_TILE_OBJECTS / SHORT_VALUES);
	context.images.forget(GENIE_CUDA_MEASURE_ID);
}

/* A probe, and a batch that lanes count on it. */
struct LaneBatch
{
	uint32_t	n_tiles;
	uint32_t	n_dimensions;
	bool		by_tensor;
	uint32_t	n_queries = GENIE_CUDA_MEASURE_QUERIES;
};

/* Nanoseconds of the fastest run of a batch by lanes. */
static double
measure_image(GenieCudaContext &context, const LaneBatch &batch)
{
	const uint32_t n_values = batch.by_tensor ? GENIE_CUDA_TENSOR_VALUES : 32;
	const GenieCudaProbe probe(GENIE_CUDA_MEASURE_ID, GENIE_TILE_OBJECTS, batch.n_tiles,
							   std::vector<uint32_t>(batch.n_dimensions, n_values));
	GenieCudaLaneImage lanes = genie_cuda_lanes_layout(probe.image, context.device);
	double		ns;

	lanes.by_tensor = batch.by_tensor;
	ns = Batch(probe, 0, batch.n_dimensions, 1, batch.n_queries).lanes_ns(context, lanes);
	context.images.forget(GENIE_CUDA_MEASURE_ID);
	return ns;
}

/* tiles of the smaller of two probes, and how many objects more the larger has, times the slices of a batch */
constexpr uint32_t FEW_TILES = 2;
constexpr double SLICES = (double) GENIE_CUDA_MEASURE_QUERIES / GENIE_CUDA_LANE_QUERIES;
constexpr double MORE_OBJECTS = (double) (GENIE_CUDA_MEASURE_TILES - FEW_TILES) * GENIE_TILE_OBJECTS * SLICES;
constexpr double OBJECTS = (double) GENIE_CUDA_MEASURE_TILES * GENIE_TILE_OBJECTS * SLICES;

/*
 * Two numbers of objects and two of dimensions.  The time that grows with neither, nor with the queries, is a batch's
 * own cost: its launches, of which the larger probe has one more.
 */
static void
measure_lanes(GenieCudaContext &context, GenieDispatchCosts &costs)
{
	constexpr uint32_t FEW = 12;
	constexpr uint32_t MANY = 40;
	const double one_slice = measure_image(context, {FEW_TILES, FEW, false, GENIE_CUDA_MEASURE_SMALL});
	const double small = measure_image(context, {FEW_TILES, FEW, false});
	const double few = measure_image(context, {GENIE_CUDA_MEASURE_TILES, FEW, false});
	const double many = measure_image(context, {GENIE_CUDA_MEASURE_TILES, MANY, false});
	const double each = per(few - small, MORE_OBJECTS);

	costs.n_lanes = GENIE_CUDA_LANE_QUERIES;
	costs.lanes_ns = per(one_slice - each * FEW_TILES * GENIE_TILE_OBJECTS, 1);
	costs.small_row_ns = costs.large_row_ns = per(many - few, OBJECTS * (MANY - FEW));
	costs.small_bytes = costs.large_bytes = GENIE_CODE_KEYWORDS_MAX * GENIE_CUDA_LANE_ENTRY;
	costs.object_ns = per(each - costs.small_row_ns * FEW, 1);
}

/* Two numbers of objects and two of dimensions, in whole steps.  A batch's own cost is that of lanes. */
static void
measure_tensor(GenieCudaContext &context, GenieCudaTensorCosts &tensor)
{
	constexpr uint32_t FEW = 1;
	constexpr uint32_t MANY = GENIE_CUDA_MEASURE_STEPS;
	const double small = measure_image(context, {FEW_TILES, FEW * GENIE_CUDA_TENSOR_DIMENSIONS, true});
	const double few = measure_image(context, {GENIE_CUDA_MEASURE_TILES, FEW * GENIE_CUDA_TENSOR_DIMENSIONS, true});
	const double many = measure_image(context, {GENIE_CUDA_MEASURE_TILES, MANY * GENIE_CUDA_TENSOR_DIMENSIONS, true});

	tensor.step_ns = per(many - few, OBJECTS * (MANY - FEW));
	tensor.object_ns = per(per(few - small, MORE_OBJECTS) - tensor.step_ns * FEW, 1);
}

GenieDispatchCosts
GenieCudaTensorCosts::of_image(const GenieDispatchCosts &others, const GenieSegmentImage &image,
							   uint32_t tensor_bytes) const
{
	const uint32_t n_steps = tensor_bytes / GENIE_CUDA_TENSOR_STEP_BYTES;
	GenieDispatchCosts costs = others;

	costs.small_row_ns = costs.large_row_ns = step_ns * n_steps / image.groups[0]->n_dimensions;
	costs.object_ns = object_ns;
	return costs;
}

GenieDispatchCosts
genie_cuda_measure(GenieCudaContext &context, GenieCudaTensorCosts &tensor)
{
	const uint64_t uploaded_bytes = context.uploaded_bytes;
	const uint64_t upload_us = context.upload_us;
	GenieDispatchCosts costs = {};

	measure_tiles(context, costs);
	measure_lanes(context, costs);
	if (context.device.tensor != GENIE_CUDA_TENSOR_NEVER)
		measure_tensor(context, tensor);
	context.memory.give_scratch();
	context.uploaded_bytes = uploaded_bytes;
	context.upload_us = upload_us;
	return costs;
}

GenieDispatchCosts
genie_cuda_nominal_costs(GenieCudaTensorCosts &tensor)
{
	GenieDispatchCosts costs = {};

	costs.tiles_ns = 6e4;
	costs.posting_ns = 7e-4;
	costs.code_byte_ns = costs.posting_ns / GENIE_CUDA_CODE_BYTES;
	costs.codes_whole = true;
	costs.bitmap_ns = 1.5;
	costs.piece_ns = 20;
	costs.range_ns = 0.05;
	costs.few_postings = GENIE_CUDA_MEASURE_FEW_POSTINGS;
	costs.few_ns = 2e-3;
	costs.n_lanes = GENIE_CUDA_LANE_QUERIES;
	costs.lanes_ns = 1.5e5;
	costs.small_row_ns = costs.large_row_ns = 1e-3;
	costs.small_bytes = costs.large_bytes = GENIE_CODE_KEYWORDS_MAX * GENIE_CUDA_LANE_ENTRY;
	costs.object_ns = 0.01;
	tensor.step_ns = 6e-3;
	tensor.object_ns = 4e-3;
	return costs;
}
