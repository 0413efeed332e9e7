/*
 * genie_cuda_tensor.cuh
 *	  Bit lanes on tensor cores: images whose codes are all of 4 bits.
 *
 * A code of a dimension is two bytes with one bit set, bit c - 1 of the first one for c from 1 to 7, bit c - 8 of the
 * second one for c from 8 to 14, and none for 0, no value; what a query wants of the dimension is two bytes too.  So a
 * count is the number of ones of a conjunction, and one instruction, a *product*, finds that for 16 objects, 8 queries
 * and 256 bits: a *step* of 16 dimensions.  It asks only that both sides have the bits in the same order; which
 * dimension is where is free.  The highest bits of bytes stay 0, and with them four codes become bytes by one
 * instruction, a permutation of bytes that has the codes as selectors.
 *
 * Codes.  In a product's operands (PTX ISA, mma.m16n8k256 with .b1) thread 4 * g + t of a warp has 32-bit words t and
 * 4 + t of objects g and 8 + g, and of query g.  Two bytes of codes make these two words: the four codes' first bytes,
 * and their second ones.  So of a strip whose rows are 16
 * bytes threads t take bytes 4t to 4t + 3 of a row, which is two steps; of a shorter one, which is the image's last,
 * bytes 2t and 2t + 1, one step.  Rows are as images have them: genie_cuda_lanes_turn() leaves 4-bit codes as they are.
 *
 * Table.  A slice's table has GENIE_CUDA_TENSOR_STEP_BYTES a step, and in it, for each 16 queries, 16 bytes a thread:
 * its two words of query g, then those of query 8 + g.  A warp loads 512 bytes that lie together.  The table must fit
 * shared memory whole.
 *
 * All else, launches, events and what is done with them, is that of bit lanes (genie_cuda_lanes.cuh).
 */
#ifndef GENIE_CUDA_TENSOR_CUH
#define GENIE_CUDA_TENSOR_CUH

#include "genie_cuda_lanes.cuh"

/* objects that a warp counts at a time */
constexpr uint32_t GENIE_CUDA_TENSOR_OBJECTS = 32;

/* the most values of a dimension */
constexpr uint32_t GENIE_CUDA_TENSOR_VALUES = 14;

/* dimensions and bytes of the table of a step */
constexpr uint32_t GENIE_CUDA_TENSOR_DIMENSIONS = 16;
constexpr uint32_t GENIE_CUDA_TENSOR_STEP_BYTES = GENIE_CUDA_LANE_QUERIES * GENIE_CUDA_TENSOR_DIMENSIONS * 2;

/* Has the device shared memory for what is measured?  Else its tensor cores are left alone. */
extern bool genie_cuda_tensor_possible(const GenieCudaDevice &device);

/* Says in lanes where ranks are in a slice's table, if tensor cores can count the image, and whether they are to. */
extern void genie_cuda_tensor_layout(const GenieImageGroup *group, const GenieCudaDevice &device,
									 GenieCudaLaneImage &lanes);

/* Fills the queries' tables, which are zero. */
extern void genie_cuda_tensor_table(uint32_t table_bytes, const GenieCudaLanePlace *places,
									const GenieCudaQuery *queries, uint32_t n_queries, uint8_t *tables,
									cudaStream_t stream);

/* Counts the launch's units of GENIE_CUDA_TENSOR_OBJECTS objects; fills in itself how they are divided. */
extern void genie_cuda_tensor(const GenieCudaDevice &device, uint32_t table_bytes, GenieCudaLaneLaunch &launch,
							  cudaStream_t stream);

#endif							/* GENIE_CUDA_TENSOR_CUH */
