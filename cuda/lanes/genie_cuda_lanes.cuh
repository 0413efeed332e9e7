/*
 * genie_cuda_lanes.cuh
 *	  Bit lanes: the layout of an image's table, and the launchers that the host calls.
 */
#ifndef GENIE_CUDA_LANES_CUH
#define GENIE_CUDA_LANES_CUH

#include <vector>

#include "genie_cuda_device.cuh"
#include "genie_cuda_lanes_types.cuh"

/* What lanes need to know of an image: the same for all batches. */
struct GenieCudaLaneImage
{
	bool		possible;		/* false: the table does not fit shared memory, or there are too many strips */
	GenieCudaLaneLayout layout;
	std::vector<GenieCudaLanePlace> places; /* of each rank */

	/* the same for tensor cores, where possible (genie_cuda_tensor.cuh) */
	uint32_t	tensor_bytes;	/* of a slice's table; 0: they cannot count the image */
	std::vector<GenieCudaLanePlace> tensor_places;
	bool		by_tensor;		/* are they to be used? */
};

/* Lays out an image that has codes. */
extern GenieCudaLaneImage genie_cuda_lanes_layout(const GenieSegmentImage &image, const GenieCudaDevice &device);

/* Brings the words of all rows of codes into the order of threads, in place; once an image. */
extern void genie_cuda_lanes_turn(const GenieCudaLaneLayout &layout, const GenieCudaTile *tiles, uint32_t n_tiles,
								  cudaStream_t stream);

/* Fills the queries' tables, which are zero. */
extern void genie_cuda_lanes_table(const GenieCudaLaneLayout &layout, const GenieCudaLanePlace *places,
								   const GenieCudaQuery *queries, uint32_t n_queries, uint8_t *tables,
								   cudaStream_t stream);

/* Objects that a warp counts at a time, for counts up to max_count. */
extern uint32_t genie_cuda_lanes_unit(uint32_t max_count);

/* Counts the launch's units; fills in itself how they are divided. */
extern void genie_cuda_lanes(const GenieCudaDevice &device, uint32_t max_count, GenieCudaLaneLaunch &launch,
							 cudaStream_t stream);

/*
 * Divides the launch's units among blocks of so many threads, one block a multiprocessor, and its room for events among
 * the blocks.
 */
extern void genie_cuda_lanes_divide(const GenieCudaDevice &device, uint32_t n_threads, GenieCudaLaneLaunch &launch);

/* The most blocks of a slice that this makes. */
extern uint32_t genie_cuda_lanes_parts(const GenieCudaDevice &device, uint32_t n_slices);

/* Gives the launch's events to their queries as candidates, as far as there is room for so many a query. */
extern void genie_cuda_lanes_deal(const GenieCudaLaneLaunch &launch, uint32_t capacity, cudaStream_t stream);

/*
 * Between launches and behind the last one: only the best k candidates of each query stay, of a sample the best
 * sampled_k, and its bound is that all objects up to last_object are known.  unfit: an entry a query, not 0 if ever one
 * of its events or candidates found no room.
 */
extern void genie_cuda_lanes_settle(const GenieCudaQuery *queries, uint32_t n_queries, uint32_t capacity,
									uint32_t last_object, bool is_sample, uint32_t *unfit, cudaStream_t stream);

/*
 * Behind a sample: its candidates are forgotten, and each query's bound becomes what sampled_k of them reach, wherever
 * objects are.  That is a guess.  Behind a launch over all objects settle finds whether k of them reached it, and adds
 * GENIE_CUDA_LANE_MISSED to unfit if not.
 */
extern void genie_cuda_lanes_guess(const GenieCudaQuery *queries, uint32_t n_queries, cudaStream_t stream);

/* what makes a query unfit */
constexpr uint32_t GENIE_CUDA_LANE_LOST = 1;
constexpr uint32_t GENIE_CUDA_LANE_MISSED = 2;

/* genie_cuda_lanes() for counts of so many planes: genie_cuda_lanes_kernel.cu, which is compiled once for each. */
template <int PLANES>
extern void genie_cuda_lanes_of_planes(const GenieCudaDevice &device, GenieCudaLaneLaunch &launch,
									   cudaStream_t stream);

#endif							/* GENIE_CUDA_LANES_CUH */
