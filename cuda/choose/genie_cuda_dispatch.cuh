/*
 * genie_cuda_dispatch.cuh
 *	  What is counted by bit lanes: fills in the device's costs, and has genie_dispatch.h choose.
 *
 * A block of lanes is a slice (genie_cuda_lanes_types.cuh).  Most batches are clear from a sample of their queries.
 */
#ifndef GENIE_CUDA_DISPATCH_CUH
#define GENIE_CUDA_DISPATCH_CUH

#include <map>

#include "genie_cuda_measure.cuh"

class GenieCudaDispatch
{
public:
	/* Measures what things cost; else takes costs that are as good as any for tests. */
	GenieCudaDispatch(GenieCudaContext &context_, GenieEngineChoices &choices_, bool measure);

	/*
	 * Which of an image's jobs, which all are TOP jobs that lanes can do, should go by lanes: they are put first, and
	 * their number is returned.  Says why in the engine's choices.
	 */
	size_t		choose(std::vector<GenieJob *> &jobs);

	/* How many of the jobs, from the first on, make a pass; 0: not even one fits. */
	uint32_t	jobs_of_pass(const std::vector<GenieJob *> &jobs);

	const GenieCudaLaneImage &lanes_of(const GenieSegmentImage &image);

	void		forget(uint64_t image_id)
	{
		images.erase(image_id);
	}

	GenieKernelChoice setting = GENIE_KERNELS_AUTO;

private:
	GenieCudaLaneImage decided(const GenieSegmentImage &image) const;
	GenieDispatchCosts costs_of(const GenieSegmentImage &image);

	GenieCudaContext &context;
	GenieEngineChoices &choices;
	GenieDispatchCosts costs;
	GenieCudaTensorCosts tensor;
	std::map<uint64_t, GenieCudaLaneImage> images;
};

#endif							/* GENIE_CUDA_DISPATCH_CUH */
