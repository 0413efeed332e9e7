/*
 * genie_cuda_results.cuh
 *	  How a pass's results come back: straight to where they are wanted, if they lie there in the order of the device.
 *
 * A request's results lie one behind the other in shared memory, which is pinned if the device could do that.  A pass's
 * results lie the same way on the device.  Then a few copies bring all of them, and the host need not move megabytes
 * out of the pass's own pinned memory.  The gap between two results, less than GENIE_ENGINE_RESULT_ALIGN bytes, is
 * copied along.
 */
#ifndef GENIE_CUDA_RESULTS_CUH
#define GENIE_CUDA_RESULTS_CUH

#include "genie_cuda_context.cuh"

class GenieCudaResults
{
public:
	/* Adds a result.  Results are added in the order that they have on the device. */
	void		add(void *to, const void *from, size_t bytes);

	/* Can a few copies bring the results to where they are wanted? */
	bool		are_direct(const GenieCudaContext &context) const;

	/* Starts these copies.  If it throws, no copy is on its way any more. */
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
