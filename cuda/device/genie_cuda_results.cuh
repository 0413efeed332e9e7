/*
 * genie_cuda_results.cuh
 *	  How a pass's results come back: at once to where they are wanted, if they lie there as on the device.
 *
 * A request's results lie one behind the other in memory that is pinned, as far as the device could do that, and so
 * do a pass's on the device.  Then few copies bring them all, and the host need not move megabytes from memory of
 * the pass's.  What lies between two results is copied along: less than GENIE_ENGINE_RESULT_ALIGN bytes.
 */
#ifndef GENIE_CUDA_RESULTS_CUH
#define GENIE_CUDA_RESULTS_CUH

#include "genie_cuda_context.cuh"

class GenieCudaResults
{
public:
	/* Adds a result that is to come from the device, in the order that they have there. */
	void		add(void *to, const void *from, size_t bytes);

	/* Can they be brought by few copies to where they are wanted? */
	bool		are_direct(const GenieCudaContext &context) const;

	/* Starts that; if it throws, nothing is on its way any more. */
	void		start(cudaStream_t stream) const;

private:
	struct Run
	{
		uint8_t    *to;
		const uint8_t *from;
		size_t		bytes;
	};

	std::vector<Run> runs;
};

#endif							/* GENIE_CUDA_RESULTS_CUH */
