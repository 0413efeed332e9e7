/*
 * genie_cuda_value_product.cuh
 *	  The sums of a query and the record of a vector, and the key that they make (genie_value_scan.h): the same bits as
 *	  the CPU's, however threads share the units out.
 */
#ifndef GENIE_CUDA_VALUE_PRODUCT_CUH
#define GENIE_CUDA_VALUE_PRODUCT_CUH

#include "genie_cuda_value_bound.cuh"

/* sum + the products of four codes, without signs, and four of a query, with them */
static __device__ __forceinline__ int
add_products(uint32_t codes, uint32_t query, int sum)
{
#ifdef GENIE_CUDA_EMULATED
	for (int i = 0; i < 32; i += 8)
		sum += (int) (codes >> i & 0xFF) * (int8_t) (query >> i & 0xFF);
	return sum;
#else
	int			result;

	asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(codes), "r"(query), "r"(sum));
	return result;
#endif
}

/* sum - the differences of four codes */
static __device__ __forceinline__ int
subtract_differences(uint32_t codes, uint32_t query, int sum)
{
#ifdef GENIE_CUDA_EMULATED
	for (int i = 0; i < 32; i += 8)
		sum -= abs((int) (codes >> i & 0xFF) - (int) (query >> i & 0xFF));
	return sum;
#else
	return sum - (int) __vsadu4(codes, query);
#endif
}

/* What is added up of a record with a query. */
enum Form
{
	PRODUCT,					/* the sum of products */
	DIFFERENCES					/* of differences, with a minus */
};

template <Form FORM>
struct Products
{
	int			sum;

	static __device__ __forceinline__ int add_four(uint32_t codes, uint32_t query, int sum)
	{
		return FORM == DIFFERENCES ? subtract_differences(codes, query, sum) : add_products(codes, query, sum);
	}

	__device__ __forceinline__ void add(const uint4 &codes, const uint4 *query)
	{
		sum = add_four(codes.x, query->x, sum);
		sum = add_four(codes.y, query->y, sum);
		sum = add_four(codes.z, query->z, sum);
		sum = add_four(codes.w, query->w, sum);
	}
};

/* The sum of a unit's codes, and sum. */
static __device__ __forceinline__ uint32_t
add_codes(const uint4 &codes, uint32_t sum)
{
	sum = __dp4a(codes.x, 0x01010101u, sum);
	sum = __dp4a(codes.y, 0x01010101u, sum);
	sum = __dp4a(codes.z, 0x01010101u, sum);
	return __dp4a(codes.w, 0x01010101u, sum);
}

/* The key of an object from its header, the sum of its codes, and products (L1: differences). */
template <Form FORM>
static __device__ __forceinline__ uint32_t
key_of_object(GenieMetric metric, bool is_known, const GenieValueConstants *constants, const uint4 &head,
			  uint32_t codes, int products)
{
	ValueTerms	terms;
	ValueNumber bound = genie_rabitq_measured(metric) == GENIE_METRIC_INNER ? -(double) INFINITY : 0.0;

	terms.offset = (double) __uint_as_float(head.x);
	terms.scale = (double) __uint_as_float(head.y);
	terms.error = (double) __uint_as_float(head.z);
	terms.squares = FORM == DIFFERENCES ? (double) __uint_as_float(head.w) : (double) head.w;
	terms.codes = (double) (int) codes;
	terms.products = (double) products;
	if (is_known)
		bound = genie_value_bound(FORM == DIFFERENCES ? GENIE_METRIC_L1 : metric, constants, terms);
	return genie_cuda_value_key(__double2float_rd(bound.value));
}

#endif							/* GENIE_CUDA_VALUE_PRODUCT_CUH */
