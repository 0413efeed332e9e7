/*
 * genie_cuda_tensor.cuh
 *	  Bit lanes on tensor cores: images whose codes are all of 4 bits.
 *
 * A dimension's code becomes two bytes with one bit set: for code c from 1 to 7 bit c - 1 of the first byte, for c from
 * 8 to 14 bit c - 8 of the second one, and no bit for 0, no value.  The codes that a query wants of the dimension are
 * two bytes as well.  So a count is the number of ones in the AND of an object's bits and a query's.  One instruction,
 * a *product*, finds that for 16 objects, 8 queries and 256 bits, which are a *step* of 16 dimensions.  Both sides must
 * have the bits in the same order; which dimension is where is free.  The highest bits of bytes stay 0, so that one
 * instruction makes the bytes of four codes: a permutation of bytes with the codes as selectors.
 *
 * Codes.  In a product's operands (PTX ISA, mma.m16n8k256 with .b1) thread 4 * g + t of a warp has the 32-bit words t
 * and 4 + t of objects g and 8 + g, and of query g.  Two bytes of codes make these two words: the four codes' first
 * bytes, and their second bytes.  So in a strip with rows of 16 bytes thread t takes bytes 4t to 4t + 3 of a row, which
 * are two steps.  In a strip of shorter rows, which is the image's last, it takes bytes 2t and 2t + 1, one step.  Rows
 * are as images have them: genie_cuda_lanes_swizzle() leaves 4-bit codes as they are.
 *
 * Table.  A slice's table has GENIE_CUDA_TENSOR_STEP_BYTES a step.  A step has, for each 16 queries, 16 bytes a thread:
 * its two words of query g, then those of query 8 + g.  A warp loads 512 bytes that lie together.  The whole table must
 * fit shared memory.
 *
 * Launches, events and all that follows are those of bit lanes (genie_cuda_lanes.cuh).
 */
#ifndef GENIE_CUDA_TENSOR_CUH
#define GENIE_CUDA_TENSOR_CUH

#include "genie_cuda_lanes.cuh"

/* objects of a unit, which a warp counts at a time */
constexpr uint32_t GENIE_CUDA_TENSOR_OBJECTS = 32;

/* the most values of a dimension */
constexpr uint32_t GENIE_CUDA_TENSOR_VALUES = 14;

/* dimensions and bytes of the table of a step */
constexpr uint32_t GENIE_CUDA_TENSOR_DIMENSIONS = 16;
constexpr uint32_t GENIE_CUDA_TENSOR_STEP_BYTES = GENIE_CUDA_LANE_QUERIES * GENIE_CUDA_TENSOR_DIMENSIONS * 2;

/* Has the device enough shared memory for the probes?  If not, its tensor cores are not used. */
extern bool genie_cuda_tensor_possible(const GenieCudaDevice &device);

/* If tensor cores can count the image: fills in its places in a slice's table, and whether they always count. */
extern void genie_cuda_tensor_layout(const GenieImageGroup *group, const GenieCudaDevice &device,
									 GenieCudaLaneImage &lanes);

/* Fills the slices' tables, which are zero before. */
extern void genie_cuda_tensor_table(uint32_t table_bytes, const GenieCudaLanePlace *places,
									const GenieCudaQuery *queries, uint32_t n_queries, uint8_t *tables,
									cudaStream_t stream);

/* Counts the launch's units of GENIE_CUDA_TENSOR_OBJECTS objects.  It divides them itself (genie_cuda_lanes_divide). */
extern void genie_cuda_tensor(const GenieCudaDevice &device, uint32_t table_bytes, GenieCudaLaneLaunch &launch,
							  cudaStream_t stream);

#endif							/* GENIE_CUDA_TENSOR_CUH */
