/*
 * genie_cuda_results.cu
 *	  Bringing a pass's results back (genie_cuda_results.cuh).
 */
#include <algorithm>

#include "genie_cuda_results.cuh"

static_assert(GENIE_CUDA_ALIGN == GENIE_ENGINE_RESULT_ALIGN, "results are aligned alike on the device and on the host");

void
GenieCudaResults::add(void *to, const void *from, size_t bytes)
{
	const Run	next = {(uint8_t *) to, (const uint8_t *) from, bytes};

	if (!runs.empty())
	{
		Run		   &last = runs.back();

		if (next.to - last.to == next.from - last.from && next.from >= last.from + last.bytes &&
			next.from < last.from + last.bytes + GENIE_ENGINE_RESULT_ALIGN)
		{
			last.bytes = (size_t) (next.from - last.from) + bytes;
			return;
		}
	}
	runs.push_back(next);
}

bool
GenieCudaResults::are_direct(const GenieCudaContext &context) const
{
	return runs.size() <= GENIE_CUDA_DIRECT_RUNS &&
		std::all_of(runs.begin(), runs.end(), [&](const Run &run) { return context.is_pinned(run.to, run.bytes); });
}

void
GenieCudaResults::start(cudaStream_t stream) const
{
	try
	{
		for (const Run &run : runs)
			GENIE_CUDA_CHECK(cudaMemcpyAsync(run.to, run.from, run.bytes, cudaMemcpyDeviceToHost, stream));
	}
	catch (...)
	{
		/* the next engine that does the jobs writes there too */
		(void) cudaStreamSynchronize(stream);
		throw;
	}
}
