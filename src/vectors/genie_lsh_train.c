/*
 * genie_lsh_train.c
 *	  The approximate operator classes of vectors, sets and bit strings: their options, and training on a sample.
 *
 * The right width of buckets depends on the distance of a row from its nearest neighbours, which depends on the data.
 * If buckets are much wider, all near rows match in all functions and cannot be told apart.  If they are much narrower,
 * hardly any row matches.  So widths, unless one is given, are a constant of the class times a distance in the sample.
 *
 * Mostly it is the distance from the nearest other row of the sample, as the median over some rows.  In a sample of
 * 2,000 that is about the distance of the nearest 50 of 100,000 rows.  The distance of random pairs would say less,
 * because it is the same whether rows fill the space or lie on a line in it.  Of equal rows one is taken; if all rows
 * are equal, any width will do.
 *
 * Data may have several scales: clusters of different sizes, rows on a line among others that fill the space, columns
 * of different units.  No width serves all of their rows.  Data of few dimensions have a neighbour so near that a
 * query which is no row may be many widths from all of them.  So if neighbours' distances differ much among rows, or
 * are much smaller than those of random pairs, functions get GENIE_LSH_SCALES different widths in turn.  These are
 * quantiles of the distances from the 1st, 2nd, 4th, 8th, ... nearest row, all together, of which farther ones weigh
 * less.  Near ones share functions out as rows share out over scales; far ones serve queries that are far from all
 * rows, and rows whose neighbours are not all of one scale.  A match count then adds up what each scale tells.
 *
 * The same rule says later whether the parameters still fit (GenieSample.learned).  The index may show quantized
 * vectors then, by which it would sign its rows.  They are exact enough if few of them are farther from their row than
 * a part of the distance of their nearest neighbour: then the error adds little to any distance that a signature tells.
 *
 * The constants, and the numbers of functions, are the smallest that gave a recall of 0.95 for the ten nearest
 * neighbours among 100,000 SIFT descriptors with 200 candidates (test/bench/RESULTS.md).  There the distance of the
 * nearest row is 0.85 of the standard deviation of a projection, in which the study states widths, and 0.56 of the mean
 * l1 distance.
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
#include "genie_vector_learn.h"
#include "genie_vector_value.h"
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
#define L2_WIDTH			0.88	/* times the distance; so the next two */
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
#define SAMPLED_ANCHORS		128 /* different rows whose neighbours are searched */
#define ANCHOR_STEP			7919	/* from one such row to the next, round the sample; see neighbours_of() */
#define SAMPLED_FLOATS		(16 * 1024 * 1024)	/* of all sampled vectors at most, but see the next */
#define SAMPLED_VECTORS_MIN	64

#define DIFFERENT_MIN		64	/* different rows to learn from, if the index can wait for more */

/* Several scales: see above.  Chosen by recall of simulated data of many shapes. */
#define ONE_SCALE			8	/* times the distance of the nearest neighbours is one scale still */
#define RANKS				11	/* of neighbours, 1, 2, 4, ..: the last one is about half of a sample */
#define RANK_WEIGHT			(-0.4)	/* power of a rank that is the weight of its distance */
#define NARROWEST			0.02	/* this part of the weight is of smaller distances than the narrowest width's */
#define WIDEST				0.995

/* Widths that are wrong by such factors find less than half of the nearest rows in some kinds of data. */
#define TOO_WIDE			4
#define TOO_NARROW			8
#define MANY_BITS			2	/* times as many bits as would be learned now, or the inverse */

/* Quantized vectors are vague if more than this part of them */
#define VAGUE_ROWS			0.05
/* is farther from the row than this part of the nearest distance: it adds 3 % to that, where it is at right angles */
#define VAGUE_ERROR			0.25

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

/* The vectors of a sample, one after the other. */
typedef struct Vectors
{
	uint32		n;
	uint32		n_dimensions;
	GenieMetric metric;
	float	   *elements;
	const float *errors;		/* of quantized ones; NULL: they are exact */
} Vectors;

/* Those that have the first one's length: a build sees others later, and refuses them.  Quantized ones have one. */
static Vectors
vectors_of_sample(const GenieSample *sample, GenieMetric metric, SampleForm form)
{
	Vectors		vectors = {.n_dimensions = sample->objects[0].size, .metric = metric, .errors = sample->errors};
	uint32		most = Max(SAMPLED_FLOATS / vectors.n_dimensions, SAMPLED_VECTORS_MIN);

	vectors.elements = palloc((Size) Min(sample->n, most) * vectors.n_dimensions * sizeof(float));
	for (uint32 i = 0; i < sample->n && vectors.n < most; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (sample->objects[i].size == (int32) vectors.n_dimensions)
			read_raw(&sample->objects[i], form, vectors.elements + (Size) vectors.n++ * vectors.n_dimensions);
	}
	return vectors;
}

static double
distance_between(const Vectors *vectors, uint32 a, uint32 b)
{
	uint32		n = vectors->n_dimensions;
	GenieVector one = {.elements = vectors->elements + (Size) a * n, .n = n};
	GenieVector other = {.elements = vectors->elements + (Size) b * n, .n = n};

	return genie_vector_measure(vectors->metric, one, other);
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
typical_distance(const Vectors *vectors)
{
	double	   *distances = palloc(SAMPLED_PAIRS * sizeof(double));
	double		sum = 0;
	double		typical;

	for (uint32 i = 0; i < SAMPLED_PAIRS; i++)
	{
		uint64		begin = genie_draw_begin(0, 0, i);

		CHECK_FOR_INTERRUPTS();
		distances[i] = distance_between(vectors, genie_draw_below(begin, 0, vectors->n),
										genie_draw_below(begin, 1, vectors->n));
		sum += distances[i];
	}
	qsort(distances, SAMPLED_PAIRS, sizeof(double), compare_distances);
	typical = distances[SAMPLED_PAIRS / 2];
	pfree(distances);
	return typical > 0 ? typical : sum / SAMPLED_PAIRS;
}

typedef struct Neighbour
{
	double		distance;
	double		weight;
} Neighbour;

/* Distances of different rows from their neighbours, ascending. */
typedef struct Neighbours
{
	uint32		n_rows;
	uint32		n_ranked;
	uint32		n_vague;		/* of the rows */
	double		nearest[SAMPLED_ANCHORS];	/* from the nearest row that is not equal */
	Neighbour	ranked[SAMPLED_ANCHORS * RANKS];	/* from that, the 2nd, the 4th, .. */
} Neighbours;

static int
compare_neighbours(const void *a, const void *b)
{
	return compare_distances(&((const Neighbour *) a)->distance, &((const Neighbour *) b)->distance);
}

/* Adds a row's distances, unless all rows are equal to it, or an earlier one is.  distances: room for those of all. */
static void
add_row(const Vectors *vectors, uint32 row, double *distances, Neighbours *neighbours)
{
	uint32		n = 0;

	for (uint32 i = 0; i < vectors->n; i++)
	{
		double		distance = distance_between(vectors, row, i);

		if (distance == 0 && i < row)
			return;
		if (distance > 0)
			distances[n++] = distance;
	}
	if (n == 0)
		return;
	qsort(distances, n, sizeof(double), compare_distances);
	neighbours->n_vague += vectors->errors != NULL && vectors->errors[row] > distances[0] * VAGUE_ERROR;
	neighbours->nearest[neighbours->n_rows++] = distances[0];
	for (uint32 rank = 1, i = 0; i < RANKS && rank <= n; rank *= 2, i++)
		neighbours->ranked[neighbours->n_ranked++] = (Neighbour) {distances[rank - 1], pow(rank, RANK_WEIGHT)};
}

static Neighbours *
neighbours_of(const Vectors *vectors)
{
	Neighbours *neighbours = palloc0(sizeof(Neighbours));
	double	   *distances = palloc(vectors->n * sizeof(double));

	StaticAssertStmt(ANCHOR_STEP > GENIE_TRAIN_ROWS, "a prime that divides no number of rows: all rows are met");
	for (uint32 i = 0; i < vectors->n && neighbours->n_rows < SAMPLED_ANCHORS; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_row(vectors, (uint32) ((uint64) i * ANCHOR_STEP % vectors->n), distances, neighbours);
	}
	qsort(neighbours->nearest, neighbours->n_rows, sizeof(double), compare_distances);
	qsort(neighbours->ranked, neighbours->n_ranked, sizeof(Neighbour), compare_neighbours);
	pfree(distances);
	return neighbours;
}

/* The distance from the nearest row that such a part of the rows does not exceed; there is at least one. */
static double
nearest_quantile(const Neighbours *neighbours, double part)
{
	return neighbours->nearest[(uint32) (part * (neighbours->n_rows - 1))];
}

/* The distance up to which neighbours have such a part of all weight. */
static double
ranked_quantile(const Neighbours *neighbours, double part)
{
	double		all = 0;
	double		sum = neighbours->ranked[0].weight;
	uint32		i = 0;

	for (uint32 j = 0; j < neighbours->n_ranked; j++)
		all += neighbours->ranked[j].weight;
	while (sum < part * all && i < neighbours->n_ranked - 1)
		sum += neighbours->ranked[++i].weight;
	return neighbours->ranked[i].distance;
}

/* ---- training ---- */

static Datum
finish(const GenieLshClassParameters *parameters, const GenieSample *sample)
{
	genie_lsh_check_parameters(&parameters->functions);
	PG_RETURN_BYTEA_P(genie_vector_learn(parameters, genie_vector_value_metric(parameters), sample));
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

/* Chooses the width and the scales, ascending: factor is that of the class. */
static void
choose_widths(GenieLshParameters *functions, double factor, const Vectors *vectors, const Neighbours *neighbours)
{
	double		median = nearest_quantile(neighbours, 0.5);

	functions->width = factor * median;
	if (Max(nearest_quantile(neighbours, 0.95), typical_distance(vectors) / 2) <=
		nearest_quantile(neighbours, 0.05) * ONE_SCALE)
		return;
	for (int i = 0; i < GENIE_LSH_SCALES; i++)
	{
		double		part = NARROWEST + (WIDEST - NARROWEST) * i / (GENIE_LSH_SCALES - 1);
		double		scale = ranked_quantile(neighbours, part) / median;

		functions->scales[i] = (float) Min(Max(scale, 1 / GENIE_LSH_SCALE_MAX), GENIE_LSH_SCALE_MAX);
	}
}

/* Are the distances of the rows' neighbours far from what these functions, of learned widths, tell apart? */
static bool
widths_misfit(const GenieLshParameters *functions, double factor, const Neighbours *neighbours)
{
	bool		one = functions->scales[0] == 0;
	double		least = one ? 1 : functions->scales[0];
	double		most = one ? 1 : functions->scales[GENIE_LSH_SCALES - 1];

	return factor * nearest_quantile(neighbours, 0.25) < functions->width * least / TOO_WIDE ||
		factor * nearest_quantile(neighbours, 0.75) > functions->width * most * TOO_NARROW;
}

/* Are the vectors not exact enough to tell rows apart? */
static bool
is_vague(const Neighbours *neighbours)
{
	return neighbours->n_vague > neighbours->n_rows * VAGUE_ROWS;
}

/* Classes with a width or sigma: it is the given one, or factor times the metric's distances of neighbours. */
static Datum
train_by_distance(FunctionCallInfo fcinfo, GenieLshFamily family, GenieMetric metric, double factor, SampleForm form)
{
	GenieSample *sample = (GenieSample *) PG_GETARG_POINTER(0);
	GenieLshClassParameters parameters;

	if (sample->n < GENIE_TRAIN_MIN)
		PG_RETURN_NULL();
	parameters = begin((const ClassOptions *) PG_GET_OPCLASS_OPTIONS(), family, HASHES, sample);
	parameters.normalised = form == DIRECTIONS;
	if (parameters.functions.width == 0)
	{
		Vectors		vectors = vectors_of_sample(sample, metric, form);
		Neighbours *neighbours = neighbours_of(&vectors);

		/* rows whose quantized vectors are equal may differ */
		sample->vague = sample->errors != NULL && (neighbours->n_rows < DIFFERENT_MIN || is_vague(neighbours));
		if (neighbours->n_rows < DIFFERENT_MIN && (sample->can_wait || sample->learned != NULL))
			PG_RETURN_NULL();
		if (sample->learned != NULL)
		{
			GenieLshClassParameters learned = genie_lsh_class_parameters(sample->learned);

			sample->misfit = widths_misfit(&learned.functions, factor, neighbours);
			PG_RETURN_NULL();
		}
		if (neighbours->n_rows > 0)
			choose_widths(&parameters.functions, factor, &vectors, neighbours);
		else
			parameters.functions.width = 1;
	}
	return finish(&parameters, sample);
}

/* Classes with codes of bits; random pairs agree in one bit with probability agreement, 1 if all rows are equal. */
static Datum
train_bits(FunctionCallInfo fcinfo, GenieLshFamily family, double agreement, int most)
{
	GenieSample *sample = (GenieSample *) PG_GETARG_POINTER(0);
	const ClassOptions *options = (const ClassOptions *) PG_GET_OPCLASS_OPTIONS();
	GenieLshClassParameters parameters = begin(options, family, HASHES, sample);
	int			bits = 1;

	if (agreement >= 1 && (sample->can_wait || sample->learned != NULL))
		PG_RETURN_NULL();
	while (bits < most && pow(agreement, bits) > STRANGERS)
		bits++;
	if (sample->learned != NULL)
	{
		double		learned = genie_lsh_class_parameters(sample->learned).functions.width;

		sample->misfit = options->bits == 0 && (bits > learned * MANY_BITS || learned > bits * MANY_BITS);
		PG_RETURN_NULL();
	}
	parameters.functions.width = options->bits > 0 ? options->bits : bits;
	return finish(&parameters, sample);
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
	GenieSample *sample = (GenieSample *) PG_GETARG_POINTER(0);
	Vectors		vectors;
	double		distance;

	if (!((const ClassOptions *) PG_GET_OPCLASS_OPTIONS())->signs)
		return train_by_distance(fcinfo, GENIE_LSH_L2, GENIE_METRIC_L2, L2_WIDTH, DIRECTIONS);
	if (sample->n < GENIE_TRAIN_MIN)
		PG_RETURN_NULL();
	if (sample->errors != NULL)
	{
		vectors = vectors_of_sample(sample, GENIE_METRIC_L2, DIRECTIONS);
		sample->vague = is_vague(neighbours_of(&vectors));
	}
	vectors = vectors_of_sample(sample, GENIE_METRIC_COSINE, VECTORS);
	distance = typical_distance(&vectors);
	return train_bits(fcinfo, GENIE_LSH_COSINE, 1 - acos(1 - Min(distance, 2)) / M_PI, SIGNS_MAX);
}

Datum
genie_lsh_hamming_train(PG_FUNCTION_ARGS)
{
	const GenieSample *sample = (const GenieSample *) PG_GETARG_POINTER(0);
	Vectors		vectors;

	if (sample->n < GENIE_TRAIN_MIN)
		PG_RETURN_NULL();
	vectors = vectors_of_sample(sample, GENIE_METRIC_L1, BITS);
	return train_bits(fcinfo, GENIE_LSH_HAMMING, 1 - typical_distance(&vectors) / vectors.n_dimensions,
					  GENIE_LSH_BITS_MAX);
}

/* Nothing is learned, so any number of rows will do. */
Datum
genie_lsh_minhash_train(PG_FUNCTION_ARGS)
{
	GenieLshClassParameters parameters = begin((const ClassOptions *) PG_GET_OPCLASS_OPTIONS(), GENIE_LSH_MINHASH,
											   MINHASH_HASHES, (const GenieSample *) PG_GETARG_POINTER(0));

	return finish(&parameters, (const GenieSample *) PG_GETARG_POINTER(0));
}
