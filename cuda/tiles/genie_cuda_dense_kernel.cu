/*
 * genie_cuda_dense_kernel.cu
 *	  The dense kernel: a block counts a piece with counters for all its objects in shared memory.
 *
 * This file is compiled once for each width of counters, GENIE_CUDA_INSTANCE (cuda.mk).
 *
 * The kernel's phases are functions that are not inlined, so each has all registers.  Inlined together they would spill
 * inside the innermost loops.
 */
#include "genie_cuda_count.cuh"
#include "genie_cuda_count_codes.cuh"
#include "genie_cuda_dense.cuh"
#include "genie_cuda_epilogue.cuh"
#include "genie_cuda_error.cuh"

/* TOP: reads the threshold as it is now; with a key table, finds the smallest counts.  All threads call it together. */
template <int BITS, int THREADS, GenieCudaWork WORK>
__device__ __forceinline__ void
genie_cuda_read_threshold(const GenieCudaPiece &piece)
{
	GenieCudaShared<THREADS> &shared = genie_cuda_shared<BITS, THREADS>(piece.n);

	if (threadIdx.x == 0)
	{
		if (WORK == GENIE_CUDA_WORK_TOP_TABLE)
			shared.nothing_known = *(volatile unsigned long long *) &piece.query->top->bound == 0;
		shared.threshold = genie_cuda_threshold(piece.query, genie_cuda_piece_object(piece));
	}
	__syncthreads();
	if (WORK == GENIE_CUDA_WORK_TOP_TABLE)
		genie_cuda_find_least<BITS, THREADS>(piece, shared.threshold);
}

template <int BITS, bool PARTS, GenieCudaWork WORK>
__global__ void
__launch_bounds__(GenieCudaPolicy<BITS>::THREADS,
				  GenieCudaPolicy<BITS>::BLOCKS *GenieCudaPolicy<BITS>::THREADS <= GENIE_CUDA_RESIDENT_THREADS ?
					  GenieCudaPolicy<BITS>::BLOCKS :
					  GENIE_CUDA_RESIDENT_THREADS / GenieCudaPolicy<BITS>::THREADS)
	genie_cuda_dense_kernel(const GenieCudaLaunch launch)
{
	constexpr int THREADS = GenieCudaPolicy<BITS>::THREADS;
	constexpr bool TOP = WORK == GENIE_CUDA_WORK_TOP || WORK == GENIE_CUDA_WORK_TOP_TABLE;
	const uint32_t part_log2 = PARTS ? launch.part_log2 : GENIE_TILE_SHIFT;
	GenieCudaShared<THREADS> &shared = genie_cuda_shared<BITS, THREADS>(1u << part_log2);
	const uint32_t n_pieces = launch.list != NULL ? *launch.n_list :
													(launch.n_tiles << launch.splits_log2) * launch.n_queries;

	for (uint32_t i = blockIdx.x; i < n_pieces; i += gridDim.x)
	{
		const GenieCudaPiece piece = genie_cuda_piece(launch, launch.list != NULL ? launch.list[i] : i);

		if (TOP)
			genie_cuda_read_threshold<BITS, THREADS, WORK>(piece);
		else if (threadIdx.x == 0)
			shared.threshold = 0;
		if (WORK == GENIE_CUDA_WORK_TOP_TABLE && threadIdx.x == 0)
			shared.threshold = shared.floor;
		if (piece.tile->is_codes ? genie_cuda_count_codes<BITS, THREADS>(piece, launch.swizzled) :
								   genie_cuda_count<BITS, THREADS, PARTS, TOP>(piece))
		{
			/* other pieces may have raised it by now */
			if (TOP)
				genie_cuda_read_threshold<BITS, THREADS, WORK>(piece);
			if (WORK == GENIE_CUDA_WORK_TOP)
				genie_cuda_offer<BITS, THREADS, GenieCudaByCount<BITS>>(piece);
			else if (WORK == GENIE_CUDA_WORK_TOP_TABLE)
			{
				if (shared.nothing_known && shared.least == 0)
					genie_cuda_raise_threshold<BITS, THREADS>(piece);
				genie_cuda_offer<BITS, THREADS, GenieCudaByTable<BITS>>(piece);
			}
			else if (WORK == GENIE_CUDA_WORK_MASK && piece.query->tally != NULL)
				genie_cuda_add_tally<BITS, THREADS>(piece);
			else if (WORK == GENIE_CUDA_WORK_MASK)
				genie_cuda_write_mask<BITS, THREADS>(piece);
			else
				genie_cuda_write_counts<BITS, THREADS>(piece);
		}
		__syncthreads();
	}
}

template <int BITS, bool PARTS, GenieCudaWork WORK>
static void
genie_cuda_dense_kernel_launch(const GenieCudaDevice &device, const GenieCudaLaunch &launch, uint32_t max_pieces,
							   cudaStream_t stream)
{
	typedef GenieCudaPolicy<BITS> Policy;
	const size_t shared = ((size_t) BITS << launch.part_log2) / 8 + sizeof(GenieCudaShared<Policy::THREADS>);
	uint32_t	blocks = max_pieces;

	GENIE_CUDA_CHECK(cudaFuncSetAttribute(genie_cuda_dense_kernel<BITS, PARTS, WORK>,
										  cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared));
	GENIE_CUDA_CHECK(cudaFuncSetAttribute(genie_cuda_dense_kernel<BITS, PARTS, WORK>,
										  cudaFuncAttributePreferredSharedMemoryCarveout,
										  cudaSharedmemCarveoutMaxShared));

	/* only the device knows the list's length: as many blocks as run at a time go through it */
	if (launch.list != NULL)
		blocks = min(blocks, device.n_multiprocessors * Policy::BLOCKS);
	genie_cuda_dense_kernel<BITS, PARTS, WORK><<<blocks, Policy::THREADS, shared, stream>>>(launch);
	genie_cuda_check_launch("genie_cuda_dense_kernel");
}

/* Only the most frequent work has a kernel of its own for whole tiles. */
template <int BITS>
void
genie_cuda_dense_of_width(const GenieCudaDevice &device, GenieCudaWork work, const GenieCudaLaunch &launch,
						  uint32_t max_pieces, cudaStream_t stream)
{
	if (work == GENIE_CUDA_WORK_TOP && launch.splits_log2 == 0)
		genie_cuda_dense_kernel_launch<BITS, false, GENIE_CUDA_WORK_TOP>(device, launch, max_pieces, stream);
	else if (work == GENIE_CUDA_WORK_TOP)
		genie_cuda_dense_kernel_launch<BITS, true, GENIE_CUDA_WORK_TOP>(device, launch, max_pieces, stream);
	else if (work == GENIE_CUDA_WORK_TOP_TABLE)
		genie_cuda_dense_kernel_launch<BITS, true, GENIE_CUDA_WORK_TOP_TABLE>(device, launch, max_pieces, stream);
	else if (work == GENIE_CUDA_WORK_MASK)
		genie_cuda_dense_kernel_launch<BITS, true, GENIE_CUDA_WORK_MASK>(device, launch, max_pieces, stream);
	else if constexpr (BITS >= 8)
		genie_cuda_dense_kernel_launch<BITS, true, GENIE_CUDA_WORK_COUNTS>(device, launch, max_pieces, stream);
}

template void genie_cuda_dense_of_width<GENIE_CUDA_INSTANCE>(const GenieCudaDevice &device, GenieCudaWork work,
															 const GenieCudaLaunch &launch, uint32_t max_pieces,
															 cudaStream_t stream);
