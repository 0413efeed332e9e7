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

/* Measures the constants by batches on made-up images; throws if there is no room. */
extern GenieDispatchCosts genie_cuda_measure(GenieCudaContext &context);

#endif							/* GENIE_CUDA_MEASURE_CUH */
