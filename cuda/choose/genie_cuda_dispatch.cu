/*
 * genie_cuda_dispatch.cu
 *	  Choosing between tiles and bit lanes, and between the two kernels of lanes.
 */
#include <algorithm>
#include <cstring>

#include "genie_cuda_dispatch.cuh"

GenieCudaDispatch::GenieCudaDispatch(GenieCudaContext &context_, GenieEngineChoices &choices_, bool measure) :
	context(context_), choices(choices_), costs(), tensor()
{
	char		error[GENIE_ENGINE_ERROR_MAX];
	const GenieStatus status = genie_cuda_guard(error, [&] ()
	{
		costs = measure ? genie_cuda_measure(context, tensor) : genie_cuda_nominal_costs(tensor);
	});

	if (status == GENIE_STATUS_LOST)
		throw GenieCudaFailure(status, "the GPU failed while it was measured");
	context.images.drop_incomplete();
	context.images.forget(GENIE_CUDA_MEASURE_ID);
	if (status != GENIE_OK)
	{
		/* without constants nothing seems to cost anything, and tiles it is */
		costs = GenieDispatchCosts();
		tensor = GenieCudaTensorCosts();
		costs.n_lanes = GENIE_CUDA_LANE_QUERIES;
		snprintf(choices.constants, sizeof(choices.constants), "could not be measured: %.200s", error);
		return;
	}
	genie_dispatch_describe(&costs, choices.constants);
	if (context.device.tensor != GENIE_CUDA_TENSOR_NEVER)
	{
		const size_t n = strlen(choices.constants);

		snprintf(choices.constants + n, sizeof(choices.constants) - n, "; tensor cores: step %.3g, object %.3g",
				 tensor.step_ns, tensor.object_ns);
	}
}

const GenieCudaLaneImage &
GenieCudaDispatch::lanes_of(const GenieSegmentImage &image)
{
	const auto	found = images.find(image.id);

	if (found != images.end())
		return found->second;
	return images[image.id] = decided(image);
}

/* Lays out an image, and decides whether its lanes are counted by tensor cores. */
GenieCudaLaneImage
GenieCudaDispatch::decided(const GenieSegmentImage &image) const
{
	GenieCudaLaneImage lanes = genie_cuda_lanes_layout(image, context.device);

	if (lanes.tensor_bytes > 0 && context.device.tensor == GENIE_CUDA_TENSOR_MEASURED)
	{
		const GenieDispatchCosts by_tensor = tensor.of_image(costs, image, lanes.tensor_bytes);

		lanes.by_tensor = genie_dispatch_block_ns(&by_tensor, &image) < genie_dispatch_block_ns(&costs, &image);
	}
	return lanes;
}

/* What counting the image costs, by the kernel that its lanes have. */
GenieDispatchCosts
GenieCudaDispatch::costs_of(const GenieSegmentImage &image)
{
	const GenieCudaLaneImage &lanes = lanes_of(image);

	return lanes.by_tensor ? tensor.of_image(costs, image, lanes.tensor_bytes) : costs;
}

/* The choice from some of the queries, all of which go the same way; their number is what jobs[] has. */
GenieDispatchChoice
GenieCudaDispatch::sample(const GenieDispatchCosts &measured, const std::vector<GenieJob *> &jobs,
						  uint32_t n_sampled) const
{
	const GenieSegmentImage &image = *jobs[0]->image;
	const size_t step = std::max<size_t>(1, jobs.size() / n_sampled);
	const double n_blocks = (double) ((jobs.size() + measured.n_lanes - 1) / measured.n_lanes);
	GenieDispatchChoice choice = {};
	double		tiles_ns = 0;
	double		n_postings = 0;
	size_t		n = 0;

	for (size_t i = 0; i < jobs.size(); i += step, n++)
	{
		const GenieDispatchQuery query = genie_dispatch_query(&measured, jobs[i], (uint32_t) i);

		tiles_ns += query.tiles_ns;
		n_postings += (double) query.n_postings;
	}
	choice.n_queries = (uint32_t) jobs.size();
	choice.n_postings = (uint64_t) (n_postings * (double) jobs.size() / (double) n);
	choice.all_tiles_ns = measured.tiles_ns + tiles_ns * (double) jobs.size() / (double) n;
	choice.all_lanes_ns = measured.lanes_ns + genie_dispatch_block_ns(&measured, &image) * n_blocks;
	if (setting == GENIE_KERNELS_LANES ||
		(setting == GENIE_KERNELS_AUTO && choice.all_lanes_ns < choice.all_tiles_ns))
		choice.n_lanes = choice.n_queries;
	choice.ns = choice.n_lanes > 0 ? choice.all_lanes_ns : choice.all_tiles_ns;
	return choice;
}

/* Are the two ways estimated within such a factor? */
static bool
are_within(const GenieDispatchChoice &choice, double factor)
{
	return std::max(choice.all_tiles_ns, choice.all_lanes_ns) <
		factor * std::min(choice.all_tiles_ns, choice.all_lanes_ns);
}

size_t
GenieCudaDispatch::choose(std::vector<GenieJob *> &jobs)
{
	const GenieSegmentImage &image = *jobs[0]->image;
	const uint32_t n = (uint32_t) jobs.size();
	const GenieCudaLaneImage &lanes = lanes_of(image);
	GenieDispatchCosts costs_here;
	GenieDispatchChoice choice;

	if (!lanes.possible)
		return 0;
	costs_here = costs_of(image);
	choice = sample(costs_here, jobs, GENIE_CUDA_GLANCED);
	if (are_within(choice, GENIE_CUDA_CLEAR))
		choice = sample(costs_here, jobs, GENIE_CUDA_SAMPLED);
	if (setting == GENIE_KERNELS_AUTO && are_within(choice, GENIE_CUDA_CLOSE))
	{
		std::vector<GenieDispatchQuery> queries;
		std::vector<GenieJob *> ordered;

		for (uint32_t i = 0; i < n; i++)
			queries.push_back(genie_dispatch_query(&costs_here, jobs[i], i));
		choice = genie_dispatch_choose(&costs_here, &image, setting, n, queries.data());
		for (const GenieDispatchQuery &query : queries)
			ordered.push_back(jobs[query.job]);
		jobs.swap(ordered);
	}
	genie_dispatch_explain(&choice, setting, lanes.by_tensor ? "tensor cores" : "bit lanes", choices.reason);
	return choice.n_lanes;
}

uint32_t
GenieCudaDispatch::jobs_of_pass(const std::vector<GenieJob *> &jobs)
{
	GenieCudaLanesPass pass(context, lanes_of(*jobs[0]->image));
	size_t		each = std::min<size_t>(jobs.size(), GENIE_CUDA_PASS_JOBS);

	for (; each > 0; each /= 2)
	{
		const GenieCudaBytes bytes = pass.bytes_of(std::vector<GenieJob *>(jobs.begin(), jobs.begin() + (long) each));

		if (bytes.device() <= context.memory.scratch_limit() && bytes.blob <= GENIE_CUDA_BLOB_MAX &&
			bytes.result <= GENIE_CUDA_RESULT_MAX)
			break;
	}
	return (uint32_t) each;
}
