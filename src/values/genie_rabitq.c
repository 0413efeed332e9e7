/*
 * genie_rabitq.c
 *	  Vectors with a bit a dimension (genie_rabitq.h): the rotation, and records.
 *
 * Elements are floats from the first step on.  A step of a transform is a sum or a difference, rounded once, so that
 * what a rotation loses is at most 4 (log2 n + 3) 2^-24 of the vector's length, and GENIE_RABITQ_ROUNDING is more.
 * What is lost below the normal range of a float is less than n 2^-73, as in genie_quantized.c.  Both are in a record's
 * error, which bounds take times epsilon; so where that is 1 or more, roundings make no bound wrong.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "genie_draw.h"
#include "genie_rabitq.h"

#define ROUNDS		4
#define SEED		UINT64_C(0x726162697471)
#define WORD		64			/* signs of a draw */

/* ---- rotation ---- */

/* Multiplies n elements, a power of 2, with the Hadamard matrix, scaled so that lengths stay. */
static void
transform(float *elements, uint32_t n)
{
	float		scale = (float) (1 / sqrt(n));

	for (uint32_t half = 1; half < n; half *= 2)
		for (uint32_t i = 0; i < n; i += 2 * half)
			for (uint32_t j = i; j < i + half; j++)
			{
				float		a = elements[j];
				float		b = elements[j + half];

				elements[j] = a + b;
				elements[j + half] = a - b;
			}
	for (uint32_t i = 0; i < n; i++)
		elements[i] *= scale;
}

static void
rotate(float *elements, uint32_t n)
{
	uint32_t	power = 1;

	while (power * 2 <= n)
		power *= 2;
	for (uint32_t round = 0; round < ROUNDS; round++)
	{
		uint64_t	begin = genie_draw_begin(SEED, round, n);

		for (uint32_t i = 0; i < n; i += WORD)
		{
			uint64_t	signs = genie_draw_bits(begin, i / WORD);
			uint32_t	end = n - i < WORD ? n - i : WORD;

			for (uint32_t j = 0; j < end; j++)
				elements[i + j] = signs >> j & 1 ? -elements[i + j] : elements[i + j];
		}
		transform(round % 2 == 0 ? elements : elements + (n - power), power);
	}
}

/* The shape of vectors as they are measured, and less the centre if that is taken away. */
static GenieValueShape
measured_shape(GenieValueShape shape)
{
	shape.metric = genie_rabitq_measured(shape.metric);
	return shape;
}

void
genie_rabitq_rotate(GenieValueShape shape, GenieVector vector, float *elements)
{
	GenieValueShape measured = measured_shape(shape);
	double		factor = genie_quantized_factor(measured.metric, vector);

	for (uint32_t i = 0; i < vector.n; i++)
		elements[i] = (float) genie_quantized_element(measured, vector, factor, i);
	rotate(elements, vector.n);
}

/* ---- records ---- */

void
genie_rabitq_unknown(uint32_t n_dimensions, void *record)
{
	memset(record, 0, genie_rabitq_bytes(n_dimensions));
	((GenieQuantized *) record)->error = INFINITY;
}

void
genie_rabitq(GenieValueShape shape, GenieVector vector, void *at)
{
	GenieQuantized *record = at;
	uint8_t    *bits = (uint8_t *) (record + 1);
	float		elements[GENIE_RABITQ_DIMENSIONS_MAX];
	double		squares = 0;
	double		sizes = 0;
	double		length;
	double		error;

	memset(record, 0, genie_rabitq_bytes(vector.n));
	genie_rabitq_rotate(shape, vector, elements);
	for (uint32_t i = 0; i < vector.n; i++)
	{
		double		x = elements[i];

		squares += x * x;
		sizes += fabs(x);
		if (x < 0)
			continue;
		bits[i / 8] |= (uint8_t) (1 << i % 8);
		record->squares++;
	}
	length = sqrt(squares);
	if (!(length <= FLT_MAX))
	{
		genie_rabitq_unknown(vector.n, record);
		return;
	}
	record->error = (float) (vector.n * GENIE_QUANTIZED_VANISHING);
	if (sizes == 0)
		return;
	/* f = sizes / (sqrt(n) length), so |v| sqrt(1 - f^2) / f = length sqrt(n squares - sizes^2) / sizes */
	error = length * sqrt(fmax(vector.n * squares - sizes * sizes, 0)) / sizes / sqrt(vector.n > 1 ? vector.n - 1 : 1);
	record->offset = (float) length;
	record->scale = (float) (squares / sizes);
	record->error += (float) (error + length * GENIE_RABITQ_ROUNDING);
	if (!(record->error <= FLT_MAX && record->scale <= FLT_MAX))
		genie_rabitq_unknown(vector.n, record);
}

bool
genie_rabitq_valid(uint32_t n_dimensions, const void *at)
{
	const GenieQuantized *record = at;
	const uint8_t *bits = (const uint8_t *) (record + 1);
	uint32_t	n = 0;

	for (uint32_t i = 0; i < genie_rabitq_elements(n_dimensions); i++)
	{
		bool		is_one = bits[i / 8] >> i % 8 & 1;

		n += is_one;
		if (is_one && i >= n_dimensions)
			return false;
	}
	return n == record->squares && record->offset >= 0 && record->offset <= FLT_MAX && record->scale >= 0 &&
		record->scale <= FLT_MAX && record->error >= 0;
}
