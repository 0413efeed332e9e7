/*
 * bench_cuda_bounds.cpp
 *	  The cost of lower bounds of the distances of a batch's hits on the GPU, beside the cost of counting.
 */
#include "bench_cuda_runs.h"

void
bench_bounds(const Bench &bench)
{
	BenchBounds what = {4500000, 128, BATCH, 0};

	printf("\nbounds: ms of the kernel for %u queries on %u vectors of %u dimensions, by hits a query\n",
		   what.n_queries, what.n_objects, what.n_dimensions);
	/* even numbers, as engines have them: of 775 and 1,800 candidates */
	for (const uint32_t k : {776u, 1800u})
	{
		double		ms = 0;
		const char *error;

		what.k = k;
		error = bench.rivals->bounds(&what, &ms);
		if (error != nullptr)
		{
			printf("%u hits: %s\n", k, error);
			continue;
		}
		printf("%u hits: %.3f ms, %.0f GB/s of records\n", k, ms,
			   (double) what.n_queries * k * (double) genie_quantized_bytes(what.n_dimensions) / ms / 1e6);
		bench.record->add("bounds", "bytes", "kernel", k, ms);
	}
}
