/*
 * genie_cuda_dispatch.cuh
 *	  Which jobs bit lanes count: fills in the costs of this device, and has genie_dispatch.h choose.
 *
 * A block of lanes is a slice (genie_cuda_lanes_types.cuh).  Most batches are decided by a look at some of their jobs.
 */
#ifndef GENIE_CUDA_DISPATCH_CUH
#define GENIE_CUDA_DISPATCH_CUH

#include <map>

#include "genie_cuda_measure.cuh"

class GenieCudaDispatch
{
public:
	/* Measures the costs.  measure is false, in tests: takes nominal ones. */
	GenieCudaDispatch(GenieCudaContext &context_, GenieEngineChoices &choices_, bool measure);

	/*
	 * Chooses between lanes and tiles for TOP jobs of one image, all of which lanes can do.  Puts the jobs for lanes
	 * first, returns their number, and writes the reason to the engine's choices.
	 */
	size_t		choose(std::vector<GenieJob *> &jobs);

	/* How many jobs, from the first on, make a pass; 0: not even one fits. */
	uint32_t	jobs_of_pass(const std::vector<GenieJob *> &jobs);

	const GenieCudaLaneImage &lanes_of(const GenieSegmentImage &image);

	void		forget(uint64_t image_id)
	{
		images.erase(image_id);
	}

	/* Nanoseconds of any batch. */
	double		batch_ns() const
	{
		return costs.tiles_ns;
	}

	GenieKernelChoice setting = GENIE_KERNELS_AUTO;

private:
	GenieCudaLaneImage decided(const GenieSegmentImage &image) const;
	GenieDispatchCosts costs_of(const GenieSegmentImage &image, GenieJobKind kind);

	GenieCudaContext &context;
	GenieEngineChoices &choices;
	GenieDispatchCosts costs;
	GenieCudaTensorCosts tensor;
	std::map<uint64_t, GenieCudaLaneImage> images;
};

#endif							/* GENIE_CUDA_DISPATCH_CUH */
