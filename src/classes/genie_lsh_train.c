/*
 * genie_lsh_train.c
 *	  The approximate operator classes of vectors, sets and bit strings: their options, and training on a sample.
 *
 * The right width of buckets depends on the distance of a row from its nearest neighbours, which depends on the data.
 * If buckets are much wider, all near rows match in all functions and cannot be told apart.  If they are much narrower,
 * hardly any row matches.  So the width, unless it is given, is a constant of the class times a scale.  The scale is
 * the distance of a row of the sample from the nearest other row of the sample, as the median over some rows.  In a
 * sample of 2,000 that is about the distance of the nearest 50 of 100,000 rows.  The distance of random pairs would say
 * less, because it is the same whether rows fill the space or lie on a line in it.  Equal rows are left out; if all
 * rows are equal, any width will do.
 *
 * The constants, and the numbers of functions, are the smallest that gave a recall of 0.95 for the ten nearest
 * neighbours among 100,000 SIFT descriptors with 200 candidates (test/bench/RESULTS.md).  There the scale is 0.85 of
 * the standard deviation of a projection, in which the study states widths, and 0.56 of the mean l1 distance.
 *
 * A cosine distance depends on the vectors' directions only.  Its class scales vectors to length 1 and hashes them as
 * genie_l2_ops does: among these the order is the same, and windows tell more than signs.  With the option `signs` it
 * takes the signs of projections.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/reloptions.h"
#include "genie_draw.h"
#include "genie_lsh_class.h"
#include "genie_lsh_signature.h"
#include "genie_vector.h"
#include "miscadmin.h"

PG_FUNCTION_INFO_V1(genie_lsh_bucket_options);
PG_FUNCTION_INFO_V1(genie_lsh_laplacian_options);
PG_FUNCTION_INFO_V1(genie_lsh_cosine_options);
PG_FUNCTION_INFO_V1(genie_lsh_minhash_options);
PG_FUNCTION_INFO_V1(genie_lsh_hamming_options);
PG_FUNCTION_INFO_V1(genie_lsh_l2_train);
PG_FUNCTION_INFO_V1(genie_lsh_l1_train);
PG_FUNCTION_INFO_V1(genie_lsh_laplacian_train);
PG_FUNCTION_INFO_V1(genie_lsh_cosine_train);
PG_FUNCTION_INFO_V1(genie_lsh_minhash_train);
PG_FUNCTION_INFO_V1(genie_lsh_hamming_train);

/* defaults */
#define HASHES				192
#define L2_WIDTH			0.88	/* times the scale; so the next two */
#define L1_WIDTH			0.88
#define LAPLACIAN_SIGMA		0.72
#define VECTOR_PROBES		1
#define LAPLACIAN_BUCKETS	256 /* as good as thousands, and a code fits a byte */
#define MINHASH_HASHES		128
#define MINHASH_BUCKETS		256
#define STRANGERS			0.05	/* the part of random pairs that should agree in a code of bits */
#define SIGNS_MAX			8	/* bits of a code of signs, each of which is a projection */
#define DEFAULT_ERROR		0.06	/* epsilon or delta, if only the other one is given */

#define PROBES_MAX			1000
#define AUTOMATIC			(-1)	/* an option that is not given */
#define NOT_GIVEN			(-1.0)	/* the same for a real option */

#define SAMPLED_PAIRS		4000
#define SAMPLED_ANCHORS		128 /* rows whose nearest neighbours are searched */
#define SAMPLED_FLOATS		(16 * 1024 * 1024)	/* of all sampled vectors at most, but see the next */
#define SAMPLED_VECTORS_MIN	64

/* A class has some of these options; the others are 0. */
typedef struct ClassOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			hashes;			/* 0: automatic */
	int			seed;
	double		epsilon;		/* or NOT_GIVEN */
	double		delta;
	int			buckets;
	int			probes;			/* AUTOMATIC: VECTOR_PROBES, or 0 for codes without neighbours */
	double		width;			/* or sigma; 0: chosen from the sample */
	bool		signs;
	int			bits;			/* 0: chosen from the sample */
} ClassOptions;

/* ---- options ---- */

static bool
is_given(const relopt_value *values, int n_values, const char *name)
{
	for (int i = 0; i < n_values; i++)
		if (strcmp(values[i].gen->name, name) == 0)
			return values[i].isset;
	return false;
}

/* Raises an error if both are given. */
static void
exclude(const relopt_value *values, int n_values, const char *one, const char *other)
{
	if (is_given(values, n_values, one) && is_given(values, n_values, other))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options \"%s\" and \"%s\" exclude each other", one, other)));
}

/* The number of functions that the options ask for. */
static uint32
count_functions(const ClassOptions *options, uint32 automatic)
{
	if (options->hashes > 0)
		return options->hashes;
	if (options->epsilon == NOT_GIVEN && options->delta == NOT_GIVEN)
		return automatic;
	return genie_lsh_functions_needed(options->epsilon == NOT_GIVEN ? DEFAULT_ERROR : options->epsilon,
									  options->delta == NOT_GIVEN ? DEFAULT_ERROR : options->delta);
}

/* Checks options that single ranges do not check. */
static void
check_options(void *parsed, relopt_value *values, int n_values)
{
	const ClassOptions *options = parsed;

	exclude(values, n_values, "hashes", "epsilon");
	exclude(values, n_values, "hashes", "delta");
	count_functions(options, 1);
	if (options->width < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must not be negative",
						is_given(values, n_values, "sigma") ? "sigma" : "width")));
}

static void
check_bucket_options(void *parsed, relopt_value *values, int n_values)
{
	if (((const ClassOptions *) parsed)->buckets > 0)
		exclude(values, n_values, "buckets", "probes");
}

static void
check_cosine_options(void *parsed, relopt_value *values, int n_values)
{
	static const char *const of_windows[] = {"width", "buckets", "probes"};
	bool		signs = ((const ClassOptions *) parsed)->signs;

	for (int i = 0; i < lengthof(of_windows) && signs; i++)
		exclude(values, n_values, "signs", of_windows[i]);
	if (!signs && is_given(values, n_values, "bits"))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"bits\" needs option \"signs\"")));
}

static void
add_hashes(local_relopts *options)
{
	init_local_reloptions(options, sizeof(ClassOptions));
	add_local_int_reloption(options, "hashes", "Number of hash functions; 0: the class's default.",
							0, 0, GENIE_LSH_FUNCTIONS_MAX, offsetof(ClassOptions, hashes));
	add_local_int_reloption(options, "seed", "What the hash functions are drawn from.",
							0, 0, PG_INT32_MAX, offsetof(ClassOptions, seed));
	add_local_real_reloption(options, "epsilon", "Error of an estimated similarity, instead of hashes.",
							 NOT_GIVEN, NOT_GIVEN, 1, offsetof(ClassOptions, epsilon));
	add_local_real_reloption(options, "delta", "Probability of a larger error, instead of hashes.",
							 NOT_GIVEN, NOT_GIVEN, 1, offsetof(ClassOptions, delta));
	register_reloptions_validator(options, check_options);
}

static void
add_buckets(local_relopts *options, int buckets)
{
	add_local_int_reloption(options, "buckets", "Number of buckets that codes are re-hashed to; 0: they are not.",
							buckets, 0, PG_INT32_MAX, offsetof(ClassOptions, buckets));
}

static void
add_bits(local_relopts *options)
{
	add_local_int_reloption(options, "bits", "Bits of a code; 0: found from a sample.",
							0, 0, GENIE_LSH_BITS_MAX, offsetof(ClassOptions, bits));
}

/* Adds the options of projections that are cut into buckets. */
static void
add_windows(local_relopts *options)
{
	add_hashes(options);
	add_buckets(options, 0);
	add_local_real_reloption(options, "width", "Width of a bucket; 0: found from a sample.",
							 0, -DBL_MAX, DBL_MAX, offsetof(ClassOptions, width));
	add_local_int_reloption(options, "probes", "Neighbours of a bucket, on each side, that a query asks for.",
							AUTOMATIC, AUTOMATIC, PROBES_MAX, offsetof(ClassOptions, probes));
	register_reloptions_validator(options, check_bucket_options);
}

/* Support functions 4 (genie_opclass.h). */
Datum
genie_lsh_bucket_options(PG_FUNCTION_ARGS)
{
	add_windows((local_relopts *) PG_GETARG_POINTER(0));
	PG_RETURN_VOID();
}

Datum
genie_lsh_cosine_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	add_windows(options);
	add_local_bool_reloption(options, "signs", "Hash to signs of projections.", false, offsetof(ClassOptions, signs));
	add_bits(options);
	register_reloptions_validator(options, check_cosine_options);
	PG_RETURN_VOID();
}

Datum
genie_lsh_laplacian_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	add_hashes(options);
	add_buckets(options, LAPLACIAN_BUCKETS);
	add_local_real_reloption(options, "sigma", "Width of the kernel exp(-l1 / sigma); 0: found from a sample.",
							 0, -DBL_MAX, DBL_MAX, offsetof(ClassOptions, width));
	PG_RETURN_VOID();
}

Datum
genie_lsh_minhash_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	add_hashes(options);
	add_buckets(options, MINHASH_BUCKETS);
	PG_RETURN_VOID();
}

Datum
genie_lsh_hamming_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	add_hashes(options);
	add_bits(options);
	PG_RETURN_VOID();
}

/* ---- the scale of the data ---- */

typedef enum SampleForm
{
	VECTORS,
	DIRECTIONS,					/* vectors of length 1 */
	BITS						/* bit strings as vectors of 0 and 1, whose l1 distance is the Hamming distance */
} SampleForm;

static void
read_raw(const GenieRaw *raw, SampleForm form, float *vector)
{
	if (form == BITS)
	{
		uint8	   *bits = genie_lsh_raw_bits(raw);

		for (int32 i = 0; i < raw->size; i++)
			vector[i] = genie_lsh_bit(bits, i);
		pfree(bits);
		return;
	}
	genie_lsh_raw_vector(raw, vector);
	if (form == DIRECTIONS)
		genie_lsh_normalise(vector, raw->size);
}

/*
 * The vectors of a sample that have the first one's length, one after the other; sets *n to their number.  Others are
 * left out, see genie_lsh_class.c.
 */
static float *
vectors_of_sample(const GenieSample *sample, SampleForm form, uint32 *n)
{
	uint32		n_dimensions = sample->objects[0].size;
	uint32		most = Max(SAMPLED_FLOATS / n_dimensions, SAMPLED_VECTORS_MIN);
	float	   *vectors = palloc((Size) Min(sample->n, most) * n_dimensions * sizeof(float));

	*n = 0;
	for (uint32 i = 0; i < sample->n && *n < most; i++)
	{
		float	   *vector = vectors + (Size) *n * n_dimensions;

		CHECK_FOR_INTERRUPTS();
		if (sample->objects[i].size != (int32) n_dimensions)
			continue;
		read_raw(&sample->objects[i], form, vector);
		(*n)++;
	}
	return vectors;
}

static int
compare_distances(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The median of random pairs' distances; their mean if the median is 0. */
static double
typical_distance(const GenieSample *sample, GenieMetric metric, SampleForm form)
{
	uint32		n_dimensions = sample->objects[0].size;
	double	   *distances = palloc(SAMPLED_PAIRS * sizeof(double));
	uint32		n;
	float	   *vectors = vectors_of_sample(sample, form, &n);
	double		sum = 0;
	double		typical;

	for (uint32 i = 0; i < SAMPLED_PAIRS; i++)
	{
		uint64		begin = genie_draw_begin(0, 0, i);
		uint32		a = genie_draw_below(begin, 0, n);
		uint32		b = genie_draw_below(begin, 1, n);
		GenieVector one = {.elements = vectors + (Size) a * n_dimensions, .n = n_dimensions};
		GenieVector other = {.elements = vectors + (Size) b * n_dimensions, .n = n_dimensions};

		CHECK_FOR_INTERRUPTS();
		distances[i] = genie_vector_measure(metric, one, other);
		sum += distances[i];
	}
	qsort(distances, SAMPLED_PAIRS, sizeof(double), compare_distances);
	typical = distances[SAMPLED_PAIRS / 2];
	pfree(distances);
	pfree(vectors);
	return typical > 0 ? typical : sum / SAMPLED_PAIRS;
}

/* The median of some rows' distances from the nearest row that is not equal; 0 if all rows are equal. */
static double
neighbour_distance(const GenieSample *sample, GenieMetric metric, SampleForm form)
{
	uint32		n_dimensions = sample->objects[0].size;
	double		distances[SAMPLED_ANCHORS];
	uint32		n_distances = 0;
	uint32		n;
	float	   *vectors = vectors_of_sample(sample, form, &n);

	for (uint32 i = 0; i < SAMPLED_ANCHORS; i++)
	{
		const float *anchor = vectors + (Size) (i * (uint64) n / SAMPLED_ANCHORS) * n_dimensions;
		double		least = 0;

		CHECK_FOR_INTERRUPTS();
		for (uint32 j = 0; j < n; j++)
		{
			GenieVector one = {.elements = anchor, .n = n_dimensions};
			GenieVector other = {.elements = vectors + (Size) j * n_dimensions, .n = n_dimensions};
			double		distance = genie_vector_measure(metric, one, other);

			if (distance > 0 && (least == 0 || distance < least))
				least = distance;
		}
		if (least > 0)
			distances[n_distances++] = least;
	}
	pfree(vectors);
	if (n_distances == 0)
		return 0;
	qsort(distances, n_distances, sizeof(double), compare_distances);
	return distances[n_distances / 2];
}

/* ---- training ---- */

static Datum
finish(const GenieLshClassParameters *parameters)
{
	bytea	   *result = palloc(VARHDRSZ + sizeof(*parameters));

	genie_lsh_check_parameters(&parameters->functions);
	SET_VARSIZE(result, VARHDRSZ + sizeof(*parameters));
	memcpy(VARDATA(result), parameters, sizeof(*parameters));
	PG_RETURN_BYTEA_P(result);
}

/* The part that all classes have in common. */
static GenieLshClassParameters
begin(const ClassOptions *options, GenieLshFamily family, uint32 n_functions, const GenieSample *sample)
{
	GenieLshClassParameters parameters = {.functions = {.family = family}};

	parameters.functions.n_functions = count_functions(options, n_functions);
	parameters.functions.n_buckets = options->buckets;
	parameters.functions.seed = options->seed;
	parameters.functions.width = options->width;
	if (family != GENIE_LSH_MINHASH)
		parameters.functions.n_dimensions = sample->objects[0].size;
	if (family == GENIE_LSH_L2 || family == GENIE_LSH_L1)
		parameters.probes = options->probes != AUTOMATIC ? options->probes : options->buckets > 0 ? 0 : VECTOR_PROBES;
	return parameters;
}

/* Classes with a width or sigma: it is the given one, or factor times the metric's distance of neighbours. */
static Datum
train_by_distance(FunctionCallInfo fcinfo, GenieLshFamily family, GenieMetric metric, double factor, SampleForm form)
{
	const GenieSample *sample = (const GenieSample *) PG_GETARG_POINTER(0);
	GenieLshClassParameters parameters;
	double		width;

	if (sample->n < GENIE_TRAIN_MIN)
		PG_RETURN_NULL();
	parameters = begin((const ClassOptions *) PG_GET_OPCLASS_OPTIONS(), family, HASHES, sample);
	parameters.normalised = form == DIRECTIONS;
	if (parameters.functions.width == 0)
	{
		width = factor * neighbour_distance(sample, metric, form);
		parameters.functions.width = width > 0 && isfinite(width) ? width : 1;
	}
	return finish(&parameters);
}

/* Classes with codes of bits; random pairs agree in one bit with probability agreement. */
static Datum
train_bits(FunctionCallInfo fcinfo, GenieLshFamily family, double agreement, int most)
{
	const ClassOptions *options = (const ClassOptions *) PG_GET_OPCLASS_OPTIONS();
	GenieLshClassParameters parameters = begin(options, family, HASHES, (const GenieSample *) PG_GETARG_POINTER(0));
	int			bits = 1;

	while (bits < most && pow(agreement, bits) > STRANGERS)
		bits++;
	parameters.functions.width = options->bits > 0 ? options->bits : bits;
	return finish(&parameters);
}

/* Support functions 5. */
Datum
genie_lsh_l2_train(PG_FUNCTION_ARGS)
{
	return train_by_distance(fcinfo, GENIE_LSH_L2, GENIE_METRIC_L2, L2_WIDTH, VECTORS);
}

Datum
genie_lsh_l1_train(PG_FUNCTION_ARGS)
{
	return train_by_distance(fcinfo, GENIE_LSH_L1, GENIE_METRIC_L1, L1_WIDTH, VECTORS);
}

Datum
genie_lsh_laplacian_train(PG_FUNCTION_ARGS)
{
	return train_by_distance(fcinfo, GENIE_LSH_LAPLACIAN, GENIE_METRIC_L1, LAPLACIAN_SIGMA, VECTORS);
}

Datum
genie_lsh_cosine_train(PG_FUNCTION_ARGS)
{
	const GenieSample *sample = (const GenieSample *) PG_GETARG_POINTER(0);
	double		distance;

	if (!((const ClassOptions *) PG_GET_OPCLASS_OPTIONS())->signs)
		return train_by_distance(fcinfo, GENIE_LSH_L2, GENIE_METRIC_L2, L2_WIDTH, DIRECTIONS);
	if (sample->n < GENIE_TRAIN_MIN)
		PG_RETURN_NULL();
	distance = typical_distance(sample, GENIE_METRIC_COSINE, VECTORS);
	return train_bits(fcinfo, GENIE_LSH_COSINE, 1 - acos(1 - Min(distance, 2)) / M_PI, SIGNS_MAX);
}

Datum
genie_lsh_hamming_train(PG_FUNCTION_ARGS)
{
	const GenieSample *sample = (const GenieSample *) PG_GETARG_POINTER(0);
	double		distance;

	if (sample->n < GENIE_TRAIN_MIN)
		PG_RETURN_NULL();
	distance = typical_distance(sample, GENIE_METRIC_L1, BITS);
	return train_bits(fcinfo, GENIE_LSH_HAMMING, 1 - distance / sample->objects[0].size, GENIE_LSH_BITS_MAX);
}

/* Nothing is learned, so any number of rows will do. */
Datum
genie_lsh_minhash_train(PG_FUNCTION_ARGS)
{
	GenieLshClassParameters parameters = begin((const ClassOptions *) PG_GET_OPCLASS_OPTIONS(), GENIE_LSH_MINHASH,
											   MINHASH_HASHES, (const GenieSample *) PG_GETARG_POINTER(0));

	return finish(&parameters);
}
