/*
 * genie_cuda_lanes.cuh
 *	  Bit lanes: the layout of an image's table, and the launchers that the host calls.
 */
#ifndef GENIE_CUDA_LANES_CUH
#define GENIE_CUDA_LANES_CUH

#include <vector>

#include "genie_cuda_device.cuh"
#include "genie_cuda_lanes_types.cuh"

/* How lanes count an image; the same for all batches. */
struct GenieCudaLaneImage
{
	bool		possible;		/* false: the table does not fit shared memory, or there are too many strips */
	GenieCudaLaneLayout layout;
	std::vector<GenieCudaLanePlace> places; /* of each rank */

	/* the same for tensor cores, if they can count the image (genie_cuda_tensor.cuh) */
	uint32_t	tensor_bytes;	/* of a slice's table; 0: they cannot */
	std::vector<GenieCudaLanePlace> tensor_places;
	bool		by_tensor;		/* are they to be used? */
};

/* Lays out an image that has codes. */
extern GenieCudaLaneImage genie_cuda_lanes_layout(const GenieSegmentImage &image, const GenieCudaDevice &device);

/*
 * Swizzles all rows of codes in place, so that each thread finds its words (genie_cuda_lanes_types.cuh); once an image.
 */
extern void genie_cuda_lanes_swizzle(const GenieCudaLaneLayout &layout, const GenieCudaTile *tiles, uint32_t n_tiles,
									 cudaStream_t stream);

/* Fills the slices' tables, which are zero before. */
extern void genie_cuda_lanes_table(const GenieCudaLaneLayout &layout, const GenieCudaLanePlace *places,
								   const GenieCudaQuery *queries, uint32_t n_queries, uint8_t *tables,
								   cudaStream_t stream);

/* Objects of a unit, which a warp counts at a time, for counts up to max_count. */
extern uint32_t genie_cuda_lanes_unit(uint32_t max_count);

/* Counts the launch's units.  It divides them itself (genie_cuda_lanes_divide). */
extern void genie_cuda_lanes(const GenieCudaDevice &device, uint32_t max_count, GenieCudaLaneLaunch &launch,
							 cudaStream_t stream);

/*
 * Divides the launch's units, and its room for events, among blocks of n_threads threads.  A multiprocessor runs one
 * block.
 */
extern void genie_cuda_lanes_divide(const GenieCudaDevice &device, uint32_t n_threads, GenieCudaLaneLaunch &launch);

/* The most blocks of a slice that this can make. */
extern uint32_t genie_cuda_lanes_parts(const GenieCudaDevice &device, uint32_t n_slices);

/* Gives the launch's events to their queries as candidates; a query has room for capacity of them. */
extern void genie_cuda_lanes_deal(const GenieCudaLaneLaunch &launch, uint32_t capacity, cudaStream_t stream);

/*
 * After a launch: each query keeps its best k candidates, in a sample its best sampled_k.  Its bound says that all
 * objects up to last_object have been counted.  unfit has an entry for each query, which is not 0 if ever one of its
 * events or candidates found no room.
 */
extern void genie_cuda_lanes_settle(const GenieCudaQuery *queries, uint32_t n_queries, uint32_t capacity,
									uint32_t last_object, bool is_sample, uint32_t *unfit, cudaStream_t stream);

/*
 * After a sample: forgets its candidates, and makes the key that sampled_k of them reach each query's bound, wherever
 * objects are.  That is a guess.  After the launch over all objects genie_cuda_lanes_settle() finds whether k objects
 * reached it, and adds GENIE_CUDA_LANE_MISSED to unfit if not.
 */
extern void genie_cuda_lanes_guess(const GenieCudaQuery *queries, uint32_t n_queries, cudaStream_t stream);

/* reasons in unfit */
constexpr uint32_t GENIE_CUDA_LANE_LOST = 1;
constexpr uint32_t GENIE_CUDA_LANE_MISSED = 2;

/* genie_cuda_lanes() for one number of planes: genie_cuda_lanes_kernel.cu, which is compiled once for each. */
template <int PLANES>
extern void genie_cuda_lanes_of_planes(const GenieCudaDevice &device, GenieCudaLaneLaunch &launch, cudaStream_t stream);

#endif							/* GENIE_CUDA_LANES_CUH */
