/*
 * genie_cuda_value_bound.cuh
 *	  The bounds of genie_value_bound.h on a GPU, bit by bit: with operators that the compiler cannot fuse.
 *
 * nvcc's default settings keep subnormal numbers.
 */
#ifndef GENIE_CUDA_VALUE_BOUND_CUH
#define GENIE_CUDA_VALUE_BOUND_CUH

#include "genie_cuda_value_scan.cuh"

/* A double whose operations are rounded one by one. */
struct ValueNumber
{
	ValueNumber() = default;
	__host__ __device__ ValueNumber(double value_) : value(value_) {}

	double		value;
};

static __device__ __forceinline__ ValueNumber
operator+(ValueNumber a, ValueNumber b)
{
	return __dadd_rn(a.value, b.value);
}

static __device__ __forceinline__ ValueNumber
operator-(ValueNumber a, ValueNumber b)
{
	return __dsub_rn(a.value, b.value);
}

static __device__ __forceinline__ ValueNumber
operator*(ValueNumber a, ValueNumber b)
{
	return __dmul_rn(a.value, b.value);
}

static __device__ __forceinline__ ValueNumber
larger(ValueNumber a, ValueNumber b)
{
	return a.value > b.value ? a : b;
}

#define VALUE_FUNCTION static __device__ __forceinline__
#define VALUE_SQRT(x) ValueNumber(__dsqrt_rn((x).value))
#define VALUE_LARGER(x, y) larger(x, y)
#define VALUE_UPTO(x, y, a, b) ((x).value <= (y) ? ValueNumber(a) : ValueNumber(b))

#include "genie_value_bound.h"

#endif							/* GENIE_CUDA_VALUE_BOUND_CUH */
