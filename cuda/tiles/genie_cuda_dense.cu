/*
 * genie_cuda_dense.cu
 *	  Choosing the dense kernel by the counters' width, and the parts of tiles by the device's shared memory.
 */
#include "genie_cuda_dense.cuh"
#include "genie_cuda_error.cuh"
#include "genie_cuda_piece.cuh"

template <int BITS>
static uint32_t
splits_log2(const GenieCudaDevice &device)
{
	typedef GenieCudaPolicy<BITS> Policy;
	const size_t tile = (size_t) BITS * GENIE_TILE_OBJECTS / 8;
	const size_t other = sizeof(GenieCudaShared<Policy::THREADS>);
	uint32_t	log2 = 0;

	/* whole tiles if a multiprocessor holds at least one; with 16-bit counters, at least two */
	const uint32_t share = BITS == 16 ? device.shared_of_multiprocessor / 2 - GENIE_CUDA_RESERVED_SHARED :
										device.shared_of_multiprocessor;

	while ((tile >> log2) + other > min(share, device.shared_of_block) && 1u << log2 < GENIE_CUDA_SPLITS_MAX)
		log2++;
	return log2;
}

uint32_t
genie_cuda_dense_splits_log2(const GenieCudaDevice &device, int bits, uint64_t n_wholes)
{
	uint32_t log2 = bits == 4 ? splits_log2<4>(device) : bits == 8 ? splits_log2<8>(device) : splits_log2<16>(device);

	while (n_wholes << log2 < device.n_multiprocessors && 1u << log2 < GENIE_CUDA_SPLITS_MAX)
		log2++;
	return log2;
}

void
genie_cuda_dense(const GenieCudaDevice &device, int bits, GenieCudaWork work, const GenieCudaLaunch &launch,
				 uint32_t max_pieces, cudaStream_t stream)
{
	if (bits == 4)
		genie_cuda_dense_of_width<4>(device, work, launch, max_pieces, stream);
	else if (bits == 8)
		genie_cuda_dense_of_width<8>(device, work, launch, max_pieces, stream);
	else
		genie_cuda_dense_of_width<16>(device, work, launch, max_pieces, stream);
}
