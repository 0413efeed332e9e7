/*
 * genie_cuda_measure.cuh
 *	  What counting costs on this device, for the dispatcher.
 */
#ifndef GENIE_CUDA_MEASURE_CUH
#define GENIE_CUDA_MEASURE_CUH

#include "genie_cuda_lanes_pass.cuh"
#include "genie_dispatch.h"

/* the id of the images that it makes, one after the other; no caller's image has it */
constexpr uint64_t GENIE_CUDA_MEASURE_ID = UINT64_MAX;

/* What a slice costs on tensor cores, in nanoseconds of the whole device. */
struct GenieCudaTensorCosts
{
	double		step_ns;		/* a step of an object */
	double		object_ns;		/* an object's counts compared with the thresholds */

	/* the costs of an image whose table has so many bytes a slice */
	GenieDispatchCosts of_image(const GenieDispatchCosts &others, const GenieSegmentImage &image,
								uint32_t tensor_bytes) const;
};

/*
 * Measures the constants by batches on made-up images; throws if there is no room.  tensor: where the device counts by
 * tensor cores.
 */
extern GenieDispatchCosts genie_cuda_measure(GenieCudaContext &context, GenieCudaTensorCosts &tensor);

/* Costs of the size of an H200's, without measuring. */
extern GenieDispatchCosts genie_cuda_nominal_costs(GenieCudaTensorCosts &tensor);

#endif							/* GENIE_CUDA_MEASURE_CUH */
