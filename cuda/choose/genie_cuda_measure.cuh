/*
 * genie_cuda_measure.cuh
 *	  What counting costs on this device, for the dispatcher.
 */
#ifndef GENIE_CUDA_MEASURE_CUH
#define GENIE_CUDA_MEASURE_CUH

#include "genie_cuda_lanes_pass.cuh"
#include "genie_dispatch.h"

/* the id of all probes, which exist one after the other; no caller's image has it */
constexpr uint64_t GENIE_CUDA_MEASURE_ID = UINT64_MAX;

/* The costs of a slice on tensor cores, in nanoseconds of the whole device. */
struct GenieCudaTensorCosts
{
	double		step_ns;		/* a step of an object */
	double		object_ns;		/* comparing an object's counts with the thresholds */

	/* The costs of an image whose table has tensor_bytes a slice; what is not of lanes comes from others. */
	GenieDispatchCosts of_image(const GenieDispatchCosts &others, const GenieSegmentImage &image,
								uint32_t tensor_bytes) const;
};

/*
 * Measures the costs by batches on probes, and those of tensor cores if the device uses them.  Throws if there is no
 * room.
 */
extern GenieDispatchCosts genie_cuda_measure(GenieCudaContext &context, GenieCudaTensorCosts &tensor);

/* Costs like an H200's, without measuring. */
extern GenieDispatchCosts genie_cuda_nominal_costs(GenieCudaTensorCosts &tensor);

#endif							/* GENIE_CUDA_MEASURE_CUH */
