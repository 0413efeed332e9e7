/*
 * genie_lsh.c
 *	  Hash functions: their tables, and codes.
 *
 * L2, L1.  h(v) = floor((a . v) / w + b), b uniform in [0, 1): the elements of a are standard normal, so that a . v -
 * a . u is |v - u|_2 times a normal number, or Cauchy, where it is |v - u|_1 times a Cauchy number (Datar, Immorlica,
 * Indyk and Mirrokni, "Locality-sensitive hashing scheme based on p-stable distributions", SCG 2004).  With r = w /
 * distance two vectors agree with probability
 *
 *		L2		1 - 2 Phi(-r) - 2 (1 - exp(-r^2 / 2)) / (sqrt(2 pi) r)
 *		L1		2 atan(r) / pi - ln(1 + r^2) / (pi r)
 *
 * A function of another scale divides its projection, a, by the scale.  So w is that of all functions, and whatever
 * computes codes from tables knows nothing of scales.
 *
 * LAPLACIAN.  Each function lays a grid with pitches g_j and a random shift over space, and a vector's code is the
 * hash of its cell.  Two numbers at a distance x share a cell of pitch g with probability max(0, 1 - x / g); for
 * pitches of density g exp(-g / sigma) / sigma^2, Gamma distributed with shape 2, that is exp(-x / sigma), and over
 * all dimensions, each with a pitch of its own, exp(-|v - u|_1 / sigma) (Rahimi and Recht, "Random features for
 * large-scale kernel machines", NIPS 2007, section 4).  One pitch for all dimensions would give something else.  A
 * cell is as many numbers as there are dimensions: they are hashed one by one as they are computed.
 *
 * COSINE.  The sign of a . v, a normal: two vectors at an angle t agree with probability 1 - t / pi (Charikar,
 * "Similarity estimation techniques from rounding algorithms", STOC 2002).  The sign of zero is plus, so a zero
 * vector has a code, too.
 *
 * MINHASH.  The element with the smallest random number: two sets agree with probability |A and B| / |A or B|
 * (Broder, "On the resemblance and containment of documents", SEQUENCES 1997).  The random numbers are permutations
 * of 64-bit hashes.  The code is the low half of the smallest one: only its high bits are far from uniform.  Codes of
 * b bits of it, n_buckets = 2^b, agree by chance with probability 2^-b (Li and Koenig, "b-Bit minwise hashing", WWW
 * 2010).
 *
 * HAMMING.  A bit at a random place: two strings of n bits that differ in d agree with probability 1 - d / n (Indyk
 * and Motwani, "Approximate nearest neighbors: towards removing the curse of dimensionality", STOC 1998).
 *
 * Codes of COSINE and HAMMING are of k bits, all of which must agree: then the probability is the k-th power.  Other
 * codes are numbers of 32 bits, or re-hashed to n_buckets by MurmurHash3 with a seed of each function's own (GENIE,
 * section 5.1.1), where different codes agree with probability 1 / n_buckets.  Far out in space, or with tiny widths,
 * bucket numbers do not fit 32 bits; then the code is the outermost number that does.
 *
 * Vectors are hashed GENIE_LSH_TOGETHER at a time, interleaved, so that an element of the table is loaded once for
 * all of them; a table is kept in groups of functions, so that a group's part stays in the cache.  A single vector, as
 * an insert or a query has, is projected by GENIE_LSH_ABREAST groups at a time.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "genie_lsh.h"

#include "genie_draw.h"
#include "genie_lsh_kernel.h"
#include "genie_murmur.h"

#define BOUNDED_CELLS	(1 << 30)	/* rounding an inverse pitch to a float, and a shift, cannot take it past int32 */

/* purposes of draws, besides the families' numbers; never changed, because a seed would mean something else */
typedef enum DrawPurpose
{
	DRAW_ENTRIES = 0,
	DRAW_SHIFT = 16,
	DRAW_SEED = 32
} DrawPurpose;

static bool
has_buckets(uint32_t family)
{
	return family != GENIE_LSH_COSINE && family != GENIE_LSH_HAMMING;
}

static bool
valid_scales(const GenieLshParameters *parameters)
{
	bool		one = parameters->scales[0] == 0;

	if (!one && parameters->family > GENIE_LSH_LAPLACIAN)
		return false;
	for (uint32_t i = 0; i < GENIE_LSH_SCALES; i++)
	{
		double		scale = parameters->scales[i];

		if (one ? scale != 0 : !(scale >= 1 / GENIE_LSH_SCALE_MAX && scale <= GENIE_LSH_SCALE_MAX))
			return false;
	}
	return true;
}

bool
genie_lsh_valid(const GenieLshParameters *parameters)
{
	uint32_t	most_dimensions = GENIE_LSH_DIMENSIONS_MAX;

	if (parameters->family < GENIE_LSH_L2 || parameters->family > GENIE_LSH_HAMMING ||
		parameters->n_functions == 0 || parameters->n_functions > GENIE_LSH_FUNCTIONS_MAX ||
		parameters->n_buckets > INT32_MAX || !valid_scales(parameters))
		return false;
	if (!has_buckets(parameters->family) &&
		(parameters->n_buckets != 0 || parameters->width > GENIE_LSH_BITS_MAX ||
		 parameters->width != floor(parameters->width)))
		return false;
	if (parameters->family == GENIE_LSH_MINHASH)
		return parameters->n_dimensions == 0 && parameters->width == 0;
	if (parameters->family == GENIE_LSH_HAMMING)
		most_dimensions = INT32_MAX;
	return parameters->n_dimensions > 0 && parameters->n_dimensions <= most_dimensions &&
		parameters->width > 0 && isfinite(parameters->width);
}

/* What a function's width is multiplied by. */
static double
scale_of(const GenieLshParameters *parameters, uint32_t function)
{
	return parameters->scales[0] == 0 ? 1 : parameters->scales[function % GENIE_LSH_SCALES];
}

static uint32_t
bits_of_code(const GenieLshParameters *parameters)
{
	return has_buckets(parameters->family) ? 1 : (uint32_t) parameters->width;
}

/* Where everything is; pointers are NULL while only sizes are computed. */
typedef struct Layout
{
	uint64_t	table;
	uint64_t	shifts;
	uint64_t	seeds;
	uint64_t	keys;
	uint64_t	positions;
	uint64_t	elements;
	uint64_t	end;
} Layout;

static uint32_t
count_groups(const GenieLshParameters *parameters)
{
	uint32_t	rows = parameters->n_functions;

	if (parameters->family == GENIE_LSH_COSINE)
		rows *= bits_of_code(parameters);
	return (rows + GENIE_LSH_GROUP - 1) / GENIE_LSH_GROUP;
}

static Layout
lay_out(const GenieLshParameters *parameters)
{
	uint64_t	rows = (uint64_t) count_groups(parameters) * GENIE_LSH_GROUP;
	uint64_t	vectors = parameters->family <= GENIE_LSH_COSINE ? parameters->n_dimensions : 0;
	uint64_t	entries = vectors * (parameters->family == GENIE_LSH_LAPLACIAN ? 2 : 1);
	bool		has_shifts = parameters->family == GENIE_LSH_L2 || parameters->family == GENIE_LSH_L1;
	Layout		layout;

	layout.table = (sizeof(GenieLsh) + 7) / 8 * 8;
	layout.shifts = layout.table + rows * entries * sizeof(float);
	layout.seeds = layout.shifts + (has_shifts ? rows * sizeof(double) : 0);
	layout.keys = layout.seeds + rows * sizeof(uint32_t);
	layout.positions = layout.keys + (parameters->family == GENIE_LSH_MINHASH ? rows * sizeof(uint64_t) : 0);
	layout.elements = layout.positions;
	if (parameters->family == GENIE_LSH_HAMMING)
		layout.elements += rows * bits_of_code(parameters) * sizeof(uint32_t);
	layout.end = layout.elements + vectors * GENIE_LSH_TOGETHER * sizeof(double);
	return layout;
}

uint64_t
genie_lsh_size(const GenieLshParameters *parameters)
{
	return lay_out(parameters).end;
}

/* Entries are drawn two dimensions at a time: a row's draws do not depend on the number of dimensions. */
static void
draw_projection(GenieLsh *lsh, uint32_t row, uint64_t begin)
{
	uint32_t	n_dimensions = lsh->parameters.n_dimensions;
	double		scale = scale_of(&lsh->parameters, row);
	float	   *table = lsh->table + (size_t) (row / GENIE_LSH_GROUP) * n_dimensions * GENIE_LSH_GROUP +
		row % GENIE_LSH_GROUP;

	if (lsh->parameters.family == GENIE_LSH_L1)
	{
		for (uint32_t d = 0; d < n_dimensions; d++)
			table[(size_t) d * GENIE_LSH_GROUP] = (float) (genie_draw_cauchy(begin, d) / scale);
		return;
	}
	for (uint32_t d = 0; d < n_dimensions; d += 2)
	{
		double		first;
		double		second;

		genie_draw_normals(begin, d / 2, &first, &second);
		table[(size_t) d * GENIE_LSH_GROUP] = (float) (first / scale);
		if (d + 1 < n_dimensions)
			table[(size_t) (d + 1) * GENIE_LSH_GROUP] = (float) (second / scale);
	}
}

static void
draw_bins(GenieLsh *lsh, uint32_t row, uint64_t begin)
{
	uint32_t	n_dimensions = lsh->parameters.n_dimensions;
	double		width = lsh->parameters.width * scale_of(&lsh->parameters, row);
	float	   *table = lsh->table + (size_t) (row / GENIE_LSH_GROUP) * n_dimensions * 2 * GENIE_LSH_GROUP +
		row % GENIE_LSH_GROUP;

	for (uint32_t d = 0; d < n_dimensions; d++)
	{
		uint64_t	counter = (uint64_t) d * 3;
		double		inverse = 1 / (genie_draw_gamma2(begin, counter) * width);

		/* a pitch of less than no float can tell from 0 */
		if (inverse > FLT_MAX)
			inverse = FLT_MAX;
		if (inverse > lsh->largest)
			lsh->largest = inverse;
		table[(size_t) (2 * d) * GENIE_LSH_GROUP] = (float) inverse;
		table[(size_t) (2 * d + 1) * GENIE_LSH_GROUP] = (float) genie_draw_uniform(begin, counter + 2);
	}
}

static void
draw_row(GenieLsh *lsh, uint32_t row)
{
	uint32_t	family = lsh->parameters.family;
	uint64_t	begin = genie_draw_begin(lsh->parameters.seed, family + DRAW_ENTRIES, row);

	lsh->seeds[row] = (uint32_t) genie_draw_bits(genie_draw_begin(lsh->parameters.seed, family + DRAW_SEED, row), 0);
	if (lsh->shifts != NULL)
		lsh->shifts[row] = genie_draw_uniform(genie_draw_begin(lsh->parameters.seed, family + DRAW_SHIFT, row), 0);
	switch (family)
	{
		case GENIE_LSH_L2:
		case GENIE_LSH_L1:
		case GENIE_LSH_COSINE:
			draw_projection(lsh, row, begin);
			break;
		case GENIE_LSH_LAPLACIAN:
			draw_bins(lsh, row, begin);
			break;
		case GENIE_LSH_MINHASH:
			lsh->keys[row] = genie_draw_bits(begin, 0);
			break;
		case GENIE_LSH_HAMMING:
			for (uint32_t i = 0; i < lsh->n_bits; i++)
				lsh->positions[row * lsh->n_bits + i] = genie_draw_below(begin, i, lsh->parameters.n_dimensions);
			break;
	}
}

GenieLsh *
genie_lsh_make(void *memory, const GenieLshParameters *parameters)
{
	Layout		layout = lay_out(parameters);
	uint8_t    *base = memory;
	GenieLsh   *lsh = memory;

	*lsh = (GenieLsh) {
		.parameters = *parameters,
		.n_bits = bits_of_code(parameters),
		.n_groups = count_groups(parameters),
		.table = (float *) (base + layout.table),
		.shifts = layout.shifts < layout.seeds ? (double *) (base + layout.shifts) : NULL,
		.seeds = (uint32_t *) (base + layout.seeds),
		.keys = (uint64_t *) (base + layout.keys),
		.positions = (uint32_t *) (base + layout.positions),
		.elements = (double *) (base + layout.elements)
	};
	for (uint32_t i = 0; genie_lsh_kernels_nth(i) != NULL; i++)
		lsh->kernels = genie_lsh_kernels_nth(i);
	return lsh;
}

void
genie_lsh_draw(GenieLsh *lsh, uint32_t group)
{
	for (uint32_t i = 0; i < GENIE_LSH_GROUP; i++)
		draw_row(lsh, group * GENIE_LSH_GROUP + i);
}

const GenieLshKernels *
genie_lsh_kernels_nth(uint32_t i)
{
	if (i == 0)
		return &genie_lsh_portable;
#if defined(__x86_64__)
	if (i == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &genie_lsh_avx2;
	if (i == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512dq"))
		return &genie_lsh_avx512;
#endif
	return NULL;
}

/* The hash of a code's words, which are one or a cell's many. */
static int32_t
finish_code(const GenieLsh *lsh, uint32_t state, uint32_t n_words)
{
	uint32_t	hash = genie_murmur_finish(state, n_words);

	if (lsh->parameters.n_buckets != 0)
		hash = (uint32_t) ((uint64_t) hash * lsh->parameters.n_buckets >> 32);
	return (int32_t) hash;
}

static int32_t
rehash(const GenieLsh *lsh, uint32_t function, int32_t code)
{
	if (lsh->parameters.n_buckets == 0)
		return code;
	return finish_code(lsh, genie_murmur_step(lsh->seeds[function], (uint32_t) code), 1);
}

/* Codes of a vector by a group of functions whose sums these are. */
static void
code_sums(const GenieLsh *lsh, uint32_t group, const double *sums, int32_t *codes)
{
	uint32_t	n_functions = lsh->parameters.n_functions;
	uint32_t	first = group * GENIE_LSH_GROUP;
	int32_t		cut_codes[GENIE_LSH_GROUP];

	if (lsh->parameters.family == GENIE_LSH_COSINE)
	{
		for (uint32_t i = 0; i < GENIE_LSH_GROUP && (first + i) / lsh->n_bits < n_functions; i++)
		{
			uint32_t	bit = (first + i) % lsh->n_bits;

			if (bit == 0)
				codes[(first + i) / lsh->n_bits] = 0;
			codes[(first + i) / lsh->n_bits] |= (sums[i] >= 0) << bit;
		}
		return;
	}
	lsh->kernels->cut(sums, lsh->shifts + first, lsh->parameters.width, cut_codes);
	for (uint32_t i = 0; i < GENIE_LSH_GROUP && first + i < n_functions; i++)
		codes[first + i] = rehash(lsh, first + i, cut_codes[i]);
}

/* Codes of GENIE_LSH_TOGETHER vectors, or of one, whose elements are there. */
static void
hash_projections(const GenieLsh *lsh, uint32_t n_vectors, int32_t *codes)
{
	uint32_t	n_dimensions = lsh->parameters.n_dimensions;
	uint32_t	n_abreast = n_vectors == 1 ? GENIE_LSH_ABREAST : 1;
	double		sums[GENIE_LSH_TOGETHER * GENIE_LSH_GROUP];

	for (uint32_t group = 0; group < lsh->n_groups; group += n_abreast)
	{
		const float *table = lsh->table + (size_t) group * GENIE_LSH_GROUP * n_dimensions;

		if (n_vectors == 1)
		{
			uint32_t	n_groups = lsh->n_groups - group < n_abreast ? lsh->n_groups - group : n_abreast;

			lsh->kernels->project_one(table, n_dimensions, lsh->elements, n_groups, sums);
			for (uint32_t g = 0; g < n_groups; g++)
				code_sums(lsh, group + g, sums + g * GENIE_LSH_GROUP, codes);
			continue;
		}
		lsh->kernels->project(table, n_dimensions, lsh->elements, sums);
		for (uint32_t v = 0; v < n_vectors; v++)
			code_sums(lsh, group, sums + v * GENIE_LSH_GROUP, codes + (size_t) v * lsh->parameters.n_functions);
	}
}

static void
hash_bins(const GenieLsh *lsh, uint32_t group, uint32_t n_vectors, bool bounded, int32_t *codes)
{
	uint32_t	n_functions = lsh->parameters.n_functions;
	uint32_t	n_dimensions = lsh->parameters.n_dimensions;
	uint32_t	first = group * GENIE_LSH_GROUP;
	uint32_t	states[GENIE_LSH_TOGETHER * GENIE_LSH_GROUP];

	for (uint32_t v = 0; v < n_vectors; v++)
		memcpy(states + v * GENIE_LSH_GROUP, lsh->seeds + first, GENIE_LSH_GROUP * sizeof(uint32_t));
	lsh->kernels->bin(lsh->table + (size_t) first * 2 * n_dimensions, n_dimensions, lsh->elements, n_vectors, bounded,
					  states);
	for (uint32_t v = 0; v < n_vectors; v++)
		for (uint32_t i = 0; i < GENIE_LSH_GROUP && first + i < n_functions; i++)
			codes[(size_t) v * n_functions + first + i] =
				finish_code(lsh, states[v * GENIE_LSH_GROUP + i], n_dimensions);
}

void
genie_lsh_hash(GenieLsh *lsh, const float *vectors, uint32_t n, int32_t *codes)
{
	uint32_t	n_dimensions = lsh->parameters.n_dimensions;
	uint32_t	n_vectors;

	for (uint32_t i = 0; i < n; i += n_vectors)
	{
		const float *vector = vectors + (size_t) i * n_dimensions;
		double		largest = 0;
		bool		bounded;

		n_vectors = n - i >= GENIE_LSH_TOGETHER ? GENIE_LSH_TOGETHER : 1;
		for (uint32_t v = 0; v < n_vectors; v++)
			for (uint32_t d = 0; d < n_dimensions; d++)
			{
				double		element = vector[(size_t) v * n_dimensions + d];

				lsh->elements[(size_t) d * n_vectors + v] = element;
				largest = fabs(element) > largest ? fabs(element) : largest;
			}
		bounded = largest * lsh->largest < (double) BOUNDED_CELLS;
		if (lsh->parameters.family != GENIE_LSH_LAPLACIAN)
			hash_projections(lsh, n_vectors, codes + (size_t) i * lsh->parameters.n_functions);
		else
			for (uint32_t group = 0; group < lsh->n_groups; group++)
				hash_bins(lsh, group, n_vectors, bounded, codes + (size_t) i * lsh->parameters.n_functions);
	}
}

uint64_t
genie_lsh_element(const uint8_t *bytes, size_t n)
{
	return genie_murmur_bytes(bytes, n, 0);
}

void
genie_lsh_hash_set(const GenieLsh *lsh, uint32_t group, const uint64_t *elements, uint32_t n, int32_t *codes)
{
	uint32_t	first = group * GENIE_LSH_GROUP;
	uint64_t	smallest[GENIE_LSH_GROUP];

	lsh->kernels->least(lsh->keys + first, elements, n, smallest);
	for (uint32_t i = 0; i < GENIE_LSH_GROUP && first + i < lsh->parameters.n_functions; i++)
		codes[first + i] = rehash(lsh, first + i, (int32_t) (uint32_t) smallest[i]);
}

void
genie_lsh_hash_bits(const GenieLsh *lsh, const uint8_t *bits, int32_t *codes)
{
	for (uint32_t f = 0; f < lsh->parameters.n_functions; f++)
	{
		const uint32_t *positions = lsh->positions + (size_t) f * lsh->n_bits;

		codes[f] = 0;
		for (uint32_t i = 0; i < lsh->n_bits; i++)
			codes[f] |= (bits[positions[i] / 8] >> (7 - positions[i] % 8) & 1) << i;
	}
}
