/*
 * genie_vector_centre.c
 *	  The centre of an index's vectors (genie_vector_centre.h).
 *
 * A record has 256 steps between the least element of its vector and the largest.  If dimensions have means that
 * differ, as the few large ones of many embeddings do, most steps are spent on what all vectors have in common.  The
 * mean of a sample is that.  It is learned where records of the sample have errors that are much smaller by it.  They
 * may be larger, too: whole numbers from 0 on, as SIFT's, have shorter ranges without it.
 *
 * Bounds hold by any centre.  So rows that come later and are elsewhere lose nothing but precision.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "genie_value_record.h"
#include "genie_vector_centre.h"
#include "miscadmin.h"

#define SAMPLED_RECORDS		256 /* whose errors are compared */
#define WORTH				0.75	/* of the errors without a centre are left, at most */

/* The vectors of a sample that are as long as the first. */
typedef struct Vectors
{
	uint32		n;
	GenieVector *vectors;
} Vectors;

static Vectors
vectors_of_sample(const GenieSample *sample, uint32 n_dimensions)
{
	Vectors		vectors = {.vectors = palloc(sample->n * sizeof(GenieVector))};

	for (uint32 i = 0; i < sample->n; i++)
	{
		const GenieRaw *raw = &sample->objects[i];

		CHECK_FOR_INTERRUPTS();
		if (raw->size == (int32) n_dimensions)
			genie_lsh_raw_elements(raw, genie_lsh_raw_is_double(raw), &vectors.vectors[vectors.n++]);
	}
	return vectors;
}

/* Writes the mean of those vectors that can be quantized.  False: it is not finite. */
static bool
mean_of(const Vectors *vectors, GenieMetric metric, uint32 n_dimensions, float *mean)
{
	double	   *sums = palloc0(n_dimensions * sizeof(double));
	uint32		n = 0;
	bool		finite = true;

	for (uint32 v = 0; v < vectors->n; v++)
	{
		double		factor = genie_quantized_factor(metric, vectors->vectors[v]);

		if (isnan(factor))
			continue;
		n++;
		for (uint32 i = 0; i < n_dimensions; i++)
			sums[i] += genie_vector_element(vectors->vectors[v], i) * factor;
	}
	for (uint32 i = 0; i < n_dimensions; i++)
	{
		double		x = sums[i] / n;

		finite &= fabs(x) <= FLT_MAX;
		mean[i] = finite ? (float) x : 0;
	}
	pfree(sums);
	return finite;
}

/* The sum of the errors of some vectors' records. */
static double
errors_of(const Vectors *vectors, GenieValueShape shape)
{
	Size		n_bytes = genie_quantized_bytes(shape.n_dimensions);
	char	   *memory = palloc(n_bytes + GENIE_QUANTIZED_ALIGN);
	GenieQuantized *record = (GenieQuantized *) TYPEALIGN(GENIE_QUANTIZED_ALIGN, memory);
	double		sum = 0;

	for (uint32 v = 0; v < Min(vectors->n, SAMPLED_RECORDS); v++)
	{
		genie_quantize(shape, vectors->vectors[v], record);
		if (!isinf(record->error))
			sum += record->error;
	}
	pfree(memory);
	return sum;
}

/* NULL: values are no finer by one. */
static float *
learn(GenieMetric metric, uint32 n_dimensions, const GenieSample *sample)
{
	Vectors		vectors = vectors_of_sample(sample, n_dimensions);
	float	   *mean = palloc(n_dimensions * sizeof(float));
	GenieValueShape with = {metric, n_dimensions, mean};
	GenieValueShape without = {metric, n_dimensions, NULL};

	if (!mean_of(&vectors, metric, n_dimensions, mean) ||
		!(errors_of(&vectors, with) <= errors_of(&vectors, without) * WORTH))
		return NULL;
	return mean;
}

bytea *
genie_vector_centre_learn(const GenieLshClassParameters *parameters, GenieMetric metric, const GenieSample *sample)
{
	uint32		n = parameters->functions.n_dimensions;
	bool		is_vector = metric != 0 && metric != GENIE_METRIC_HAMMING;
	float	   *centre = is_vector && sample->learned == NULL ? learn(metric, n, sample) : NULL;
	Size		n_bytes = centre == NULL ? sizeof(*parameters) : GENIE_PARAMETERS_MAX + n * sizeof(float);
	bytea	   *result = palloc0(VARHDRSZ + n_bytes);

	SET_VARSIZE(result, VARHDRSZ + n_bytes);
	memcpy(VARDATA(result), parameters, sizeof(*parameters));
	if (centre != NULL)
		memcpy(VARDATA(result) + GENIE_PARAMETERS_MAX, centre, n * sizeof(float));
	return result;
}

const float *
genie_vector_centre(const bytea *parameters)
{
	return VARSIZE(parameters) - VARHDRSZ <= GENIE_PARAMETERS_MAX ? NULL :
		(const float *) (VARDATA(parameters) + GENIE_PARAMETERS_MAX);
}
