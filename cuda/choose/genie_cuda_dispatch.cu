/*
 * genie_cuda_dispatch.cu
 *	  Choosing between tiles and bit lanes, and between the two kernels of lanes.
 */
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "genie_cuda_dispatch.cuh"

GenieCudaDispatch::GenieCudaDispatch(GenieCudaContext &context_, GenieEngineChoices &choices_, bool measure) :
	context(context_), choices(choices_), costs(), tensor()
{
	char		error[GENIE_ENGINE_ERROR_MAX];
	const GenieStatus status = genie_cuda_guard(error, [&]() {
		costs = measure ? genie_cuda_measure(context, tensor) : genie_cuda_nominal_costs(tensor);
	});

	if (status == GENIE_STATUS_LOST)
		throw GenieCudaFailure(status, "the GPU failed while it was measured");
	context.images.drop_incomplete();
	context.images.forget(GENIE_CUDA_MEASURE_ID);
	if (status != GENIE_OK)
	{
		/* without costs both ways seem to cost nothing, and tiles count */
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

/* Lays out an image, and decides whether tensor cores count its lanes. */
GenieCudaLaneImage
GenieCudaDispatch::decided(const GenieSegmentImage &image) const
{
	GenieCudaLaneImage lanes = genie_cuda_lanes_layout(image, context.device);

	if (lanes.tensor_bytes > 0 && context.device.tensor == GENIE_CUDA_TENSOR_MEASURED)
	{
		const GenieDispatchCosts by_tensor = tensor.of_image(costs, image, lanes.tensor_bytes);

		lanes.by_tensor = genie_dispatch_block_ns(&by_tensor, &image, image.n_objects) <
			genie_dispatch_block_ns(&costs, &image, image.n_objects);
	}
	return lanes;
}

/* The costs of counting the image, by the kernel that counts its lanes. */
GenieDispatchCosts
GenieCudaDispatch::costs_of(const GenieSegmentImage &image, GenieJobKind kind)
{
	const GenieCudaLaneImage &lanes = lanes_of(image);

	return GenieCudaLanesPass::is_by_tensor(lanes, kind) ? tensor.of_image(costs, image, lanes.tensor_bytes) : costs;
}

size_t
GenieCudaDispatch::choose(std::vector<GenieJob *> &jobs)
{
	const GenieSegmentImage &image = *jobs[0]->image;
	const uint32_t n = (uint32_t) jobs.size();
	const GenieCudaLaneImage &lanes = lanes_of(image);
	std::vector<GenieJob *> in_order;
	std::vector<GenieDispatchQuery> queries;
	GenieDispatchCosts costs_here;
	GenieDispatchChoice choice;

	if (!lanes.possible)
		return 0;
	in_order = jobs;
	queries.resize(n);
	costs_here = costs_of(image, jobs[0]->kind);
	costs_here.samples = true;
	for (uint32_t i = 0; i < n; i++)
	{
		queries[i].job = jobs[i];
		queries[i].number = i;
	}
	choice = genie_dispatch_choose(&costs_here, setting, n, queries.data());
	for (uint32_t i = 0; i < n; i++)
		jobs[i] = in_order[queries[i].number];
	genie_dispatch_explain(&choice, setting,
						   GenieCudaLanesPass::is_by_tensor(lanes, jobs[0]->kind) ? "tensor cores" : "bit lanes",
						   choices.reason);
	return choice.n_lanes;
}

uint32_t
GenieCudaDispatch::jobs_of_pass(const std::vector<GenieJob *> &jobs)
{
	GenieCudaLanesPass pass(context, lanes_of(*jobs[0]->image), jobs[0]->kind);
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
