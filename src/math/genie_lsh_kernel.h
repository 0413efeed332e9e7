/*
 * genie_lsh_kernel.h
 *	  The inner loops of hashing, as a template: a file that defines the vector includes it (genie_lsh.h).
 *
 *	LSH_LANES		doubles of a vector: 2, 4, 8
 *	LSH_TOGETHER	vectors of a block whose sums are kept in registers: 4, 8
 *	LSH_TARGET		attribute of each function: the instructions that it may use
 *	LSH_KERNELS		the name of the set that is made; LSH_NAME is its name as a string
 *	LSH_LOAD(from)	LSH_LANES floats as doubles
 *	LSH_ADD_PRODUCT(a, b, c)	a * b + c
 *	LSH_FLOOR(a)	the largest whole number not above, of numbers that fit int32 once cut
 *
 * Without these macros it is the portable instance: the compiler's vectors of 128 bits.
 *
 * All instances give the same bits, because each function and vector has one sum, in the order of the dimensions:
 * lanes are functions.  Fusing a product with its sum changes nothing either: both factors are floats, held as
 * doubles, so the product is exact, and the sum is rounded once in both cases.  Therefore sums are doubles; they
 * cannot overflow either.
 */
#ifndef GENIE_LSH_KERNEL_H
#define GENIE_LSH_KERNEL_H

#include "genie_lsh.h"
#include "genie_murmur.h"

#ifndef LSH_LANES
#define LSH_LANES 2
#define LSH_TOGETHER 4
#define LSH_TARGET
#define LSH_KERNELS genie_lsh_portable
#define LSH_NAME "portable"
#define LSH_LOAD(from) __builtin_convertvector(LOAD(Floats, from), Reals)
#define LSH_ADD_PRODUCT(a, b, c) ((a) * (b) + (c))
#define LSH_FLOOR(a) floor_portable(a)
#endif

#define LSH_INLINE static inline __attribute__((always_inline)) LSH_TARGET

typedef double Reals __attribute__((vector_size(8 * LSH_LANES), aligned(8)));
typedef int64_t Masks __attribute__((vector_size(8 * LSH_LANES), aligned(8)));
typedef uint64_t Longs __attribute__((vector_size(8 * LSH_LANES), aligned(8)));
typedef float Floats __attribute__((vector_size(4 * LSH_LANES), aligned(4)));
typedef int32_t Ints __attribute__((vector_size(4 * LSH_LANES), aligned(4)));
typedef uint32_t Words __attribute__((vector_size(4 * LSH_LANES), aligned(4)));

#define LOAD(type, from) (*(const type *) (const void *) (from))
#define STORE(type, to, value) (*(type *) (void *) (to) = (value))

#if LSH_LANES == 2
LSH_INLINE Reals
floor_portable(Reals a)
{
	Reals		cut = __builtin_convertvector(__builtin_convertvector(a, Ints), Reals);

	return cut + __builtin_convertvector(a < cut, Reals);	/* true is -1 */
}
#endif

/* The nearest numbers that int32 holds. */
LSH_INLINE Reals
clamp(Reals a)
{
	const Reals least = (Reals) {0} + INT32_MIN;
	const Reals most = (Reals) {0} + INT32_MAX;
	Masks		inside = a > least;

	a = (Reals) (((Masks) a & inside) | ((Masks) least & ~inside));
	inside = a < most;
	return (Reals) (((Masks) a & inside) | ((Masks) most & ~inside));
}

LSH_INLINE void
project_block(const float *table, uint32_t n_dimensions, const double *elements, double *sums)
{
	Reals		low[LSH_TOGETHER];
	Reals		high[LSH_TOGETHER];

	for (uint32_t v = 0; v < LSH_TOGETHER; v++)
		low[v] = high[v] = (Reals) {0};
	for (uint32_t d = 0; d < n_dimensions; d++)
	{
		Reals		table_low = LSH_LOAD(table + d * GENIE_LSH_GROUP);
		Reals		table_high = LSH_LOAD(table + d * GENIE_LSH_GROUP + LSH_LANES);

		for (uint32_t v = 0; v < LSH_TOGETHER; v++)
		{
			Reals		element = (Reals) {0} + elements[d * GENIE_LSH_TOGETHER + v];

			low[v] = LSH_ADD_PRODUCT(table_low, element, low[v]);
			high[v] = LSH_ADD_PRODUCT(table_high, element, high[v]);
		}
	}
	for (uint32_t v = 0; v < LSH_TOGETHER; v++)
	{
		STORE(Reals, sums + v * GENIE_LSH_GROUP, low[v]);
		STORE(Reals, sums + v * GENIE_LSH_GROUP + LSH_LANES, high[v]);
	}
}

LSH_TARGET
static void
project(const float *table, uint32_t n_dimensions, const double *elements, double *sums)
{
	for (uint32_t f = 0; f < GENIE_LSH_GROUP; f += 2 * LSH_LANES)
		for (uint32_t v = 0; v < GENIE_LSH_TOGETHER; v += LSH_TOGETHER)
			project_block(table + f, n_dimensions, elements + v, sums + v * GENIE_LSH_GROUP + f);
}

/* A single vector has many groups: several together, so that no sum has to wait for itself. */
LSH_INLINE void
project_groups(const float *table, uint32_t n_dimensions, const double *elements, const uint32_t n_groups, double *sums)
{
	size_t		stride = (size_t) n_dimensions * GENIE_LSH_GROUP;
	Reals		low[GENIE_LSH_ABREAST];
	Reals		high[GENIE_LSH_ABREAST];

	for (uint32_t g = 0; g < n_groups; g++)
		low[g] = high[g] = (Reals) {0};
	for (uint32_t d = 0; d < n_dimensions; d++)
	{
		Reals		element = (Reals) {0} + elements[d];

		for (uint32_t g = 0; g < n_groups; g++)
		{
			const float *entries = table + g * stride + d * GENIE_LSH_GROUP;

			low[g] = LSH_ADD_PRODUCT(LSH_LOAD(entries), element, low[g]);
			high[g] = LSH_ADD_PRODUCT(LSH_LOAD(entries + LSH_LANES), element, high[g]);
		}
	}
	for (uint32_t g = 0; g < n_groups; g++)
	{
		STORE(Reals, sums + g * GENIE_LSH_GROUP, low[g]);
		STORE(Reals, sums + g * GENIE_LSH_GROUP + LSH_LANES, high[g]);
	}
}

LSH_TARGET
static void
project_one(const float *table, uint32_t n_dimensions, const double *elements, uint32_t n_groups, double *sums)
{
	for (uint32_t f = 0; f < GENIE_LSH_GROUP; f += 2 * LSH_LANES)
	{
		if (n_groups == GENIE_LSH_ABREAST)
			project_groups(table + f, n_dimensions, elements, GENIE_LSH_ABREAST, sums + f);
		else
			for (uint32_t g = 0; g < n_groups; g++)
				project_groups(table + (size_t) g * n_dimensions * GENIE_LSH_GROUP + f, n_dimensions, elements, 1,
							   sums + g * GENIE_LSH_GROUP + f);
	}
}

LSH_TARGET
static void
cut(const double *sums, const double *shifts, double width, int32_t *codes)
{
	for (uint32_t f = 0; f < GENIE_LSH_GROUP; f += LSH_LANES)
	{
		Reals		buckets = LOAD(Reals, sums + f) / width + LOAD(Reals, shifts + f);

		STORE(Ints, codes + f, __builtin_convertvector(LSH_FLOOR(clamp(buckets)), Ints));
	}
}

/* genie_murmur_step() */
LSH_INLINE Words
step(Words state, Words word)
{
	word *= GENIE_MURMUR_C1;
	word = word << 15 | word >> 17;
	state ^= word * GENIE_MURMUR_C2;
	return (state << 13 | state >> 19) * 5 + GENIE_MURMUR_ADD;
}

LSH_INLINE void
bin_block(const float *table, uint32_t n_dimensions, const double *elements, const uint32_t stride,
		  const uint32_t n_vectors, const bool bounded, uint32_t *states)
{
	Words		state[LSH_TOGETHER];

	for (uint32_t v = 0; v < n_vectors; v++)
		state[v] = LOAD(Words, states + v * GENIE_LSH_GROUP);
	for (uint32_t d = 0; d < n_dimensions; d++)
	{
		Reals		inverses = LSH_LOAD(table + d * 2 * GENIE_LSH_GROUP);
		Reals		shifts = LSH_LOAD(table + (d * 2 + 1) * GENIE_LSH_GROUP);

		for (uint32_t v = 0; v < n_vectors; v++)
		{
			Reals		element = (Reals) {0} + elements[d * stride + v];
			Reals		cells = LSH_ADD_PRODUCT(inverses, element, shifts);

			if (!bounded)
				cells = clamp(cells);
			state[v] = step(state[v], (Words) __builtin_convertvector(LSH_FLOOR(cells), Ints));
		}
	}
	for (uint32_t v = 0; v < n_vectors; v++)
		STORE(Words, states + v * GENIE_LSH_GROUP, state[v]);
}

LSH_INLINE void
bin_all(const float *table, uint32_t n_dimensions, const double *elements, uint32_t n_vectors, const bool bounded,
		uint32_t *states)
{
	for (uint32_t f = 0; f < GENIE_LSH_GROUP; f += LSH_LANES)
	{
		if (n_vectors == 1)
			bin_block(table + f, n_dimensions, elements, 1, 1, bounded, states + f);
		else
			for (uint32_t v = 0; v < GENIE_LSH_TOGETHER; v += LSH_TOGETHER)
				bin_block(table + f, n_dimensions, elements + v, GENIE_LSH_TOGETHER, LSH_TOGETHER, bounded,
						  states + v * GENIE_LSH_GROUP + f);
	}
}

LSH_TARGET
static void
bin(const float *table, uint32_t n_dimensions, const double *elements, uint32_t n_vectors, bool bounded,
	uint32_t *states)
{
	if (bounded)
		bin_all(table, n_dimensions, elements, n_vectors, true, states);
	else
		bin_all(table, n_dimensions, elements, n_vectors, false, states);
}

LSH_TARGET
static void
least(const uint64_t *keys, const uint64_t *elements, uint32_t n_elements, uint64_t *least)
{
	for (uint32_t f = 0; f < GENIE_LSH_GROUP; f += LSH_LANES)
	{
		Longs		key = LOAD(Longs, keys + f);
		Longs		smallest = ~(Longs) {0};

		for (uint32_t i = 0; i < n_elements; i++)
		{
			Longs		x = key ^ elements[i];	/* genie_murmur_mix() */
			Longs		smaller;

			x = (x ^ x >> 33) * GENIE_MURMUR_MIX_1;
			x = (x ^ x >> 33) * GENIE_MURMUR_MIX_2;
			x = x ^ x >> 33;
			smaller = (Longs) (x < smallest);
			smallest = (x & smaller) | (smallest & ~smaller);
		}
		STORE(Longs, least + f, smallest);
	}
}

const GenieLshKernels LSH_KERNELS = {LSH_NAME, project, project_one, cut, bin, least};

#endif							/* GENIE_LSH_KERNEL_H */
