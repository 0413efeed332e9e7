/*
 * genie_cuda_dispatch.cu
 *	  Choosing between tiles and bit lanes.
 */
#include <algorithm>

#include "genie_cuda_dispatch.cuh"
#include "genie_cuda_measure.cuh"

GenieCudaDispatch::GenieCudaDispatch(GenieCudaContext &context_, GenieEngineChoices &choices_) :
	context(context_), choices(choices_), costs()
{
	char		error[GENIE_ENGINE_ERROR_MAX];
	const GenieStatus status = genie_cuda_guard(error, [&] () { costs = genie_cuda_measure(context); });

	if (status == GENIE_STATUS_LOST)
		throw GenieCudaFailure(status, "the GPU failed while it was measured");
	context.images.drop_incomplete();
	context.images.forget(GENIE_CUDA_MEASURE_ID);
	if (status != GENIE_OK)
	{
		/* without constants nothing seems to cost anything, and tiles it is */
		costs = GenieDispatchCosts();
		costs.n_lanes = GENIE_CUDA_LANE_QUERIES;
		snprintf(choices.constants, sizeof(choices.constants), "could not be measured: %.200s", error);
		return;
	}
	genie_dispatch_describe(&costs, choices.constants);
}

const GenieCudaLaneImage &
GenieCudaDispatch::lanes_of(const GenieSegmentImage &image)
{
	const auto	found = images.find(image.id);

	if (found != images.end())
		return found->second;
	return images[image.id] = genie_cuda_lanes_layout(image, context.device.shared_of_block);
}

/* The choice from some of the queries, all of which go the same way; their number is what jobs[] has. */
GenieDispatchChoice
GenieCudaDispatch::sample(const std::vector<GenieJob *> &jobs) const
{
	const GenieSegmentImage &image = *jobs[0]->image;
	const size_t step = std::max<size_t>(1, jobs.size() / GENIE_CUDA_SAMPLED);
	const double n_blocks = (double) ((jobs.size() + costs.n_lanes - 1) / costs.n_lanes);
	GenieDispatchChoice choice = {};
	double		tiles_ns = 0;
	double		n_postings = 0;
	size_t		n = 0;

	for (size_t i = 0; i < jobs.size(); i += step, n++)
	{
		const GenieDispatchQuery query = genie_dispatch_query(&costs, &image, &jobs[i]->query, (uint32_t) i);

		tiles_ns += query.tiles_ns;
		n_postings += (double) query.n_postings;
	}
	choice.n_queries = (uint32_t) jobs.size();
	choice.n_postings = (uint64_t) (n_postings * (double) jobs.size() / (double) n);
	choice.all_tiles_ns = costs.tiles_ns + tiles_ns * (double) jobs.size() / (double) n;
	choice.all_lanes_ns = costs.lanes_ns + genie_dispatch_block_ns(&costs, &image) * n_blocks;
	if (setting == GENIE_KERNELS_LANES ||
		(setting == GENIE_KERNELS_AUTO && choice.all_lanes_ns < choice.all_tiles_ns))
		choice.n_lanes = choice.n_queries;
	choice.ns = choice.n_lanes > 0 ? choice.all_lanes_ns : choice.all_tiles_ns;
	return choice;
}

size_t
GenieCudaDispatch::choose(std::vector<GenieJob *> &jobs)
{
	const GenieSegmentImage &image = *jobs[0]->image;
	const uint32_t n = (uint32_t) jobs.size();
	GenieDispatchChoice choice;

	if (!lanes_of(image).possible)
		return 0;
	choice = sample(jobs);
	if (setting == GENIE_KERNELS_AUTO &&
		std::max(choice.all_tiles_ns, choice.all_lanes_ns) <
		GENIE_CUDA_CLOSE * std::min(choice.all_tiles_ns, choice.all_lanes_ns))
	{
		std::vector<GenieDispatchQuery> queries;
		std::vector<GenieJob *> ordered;

		for (uint32_t i = 0; i < n; i++)
			queries.push_back(genie_dispatch_query(&costs, &image, &jobs[i]->query, i));
		choice = genie_dispatch_choose(&costs, &image, setting, n, queries.data());
		for (const GenieDispatchQuery &query : queries)
			ordered.push_back(jobs[query.job]);
		jobs.swap(ordered);
	}
	genie_dispatch_explain(&choice, setting, "bit lanes", choices.reason);
	return choice.n_lanes;
}

uint32_t
GenieCudaDispatch::jobs_of_pass(const std::vector<GenieJob *> &jobs, size_t n)
{
	GenieCudaLanesPass pass(context, lanes_of(*jobs[0]->image));
	size_t		each = std::min<size_t>(n, GENIE_CUDA_PASS_JOBS);

	for (; each > 0; each /= 2)
	{
		const GenieCudaBytes bytes = pass.bytes_of(std::vector<GenieJob *>(jobs.begin(), jobs.begin() + (long) each));

		if (bytes.device() <= context.memory.scratch_limit() && bytes.result <= GENIE_CUDA_RESULT_MAX)
			break;
	}
	return (uint32_t) each;
}
