/*
 * test_kernels.c
 *	  Every set of kernels that runs here against the portable one, or against counting plainly.
 */
#include <string.h>

#include "genie_kernels.h"
#include "genie_list_reader.h"
#include "genie_test.h"

static uint16_t plain[GENIE_TILE_OBJECTS];	/* what the counters should hold */
static uint32_t in_bitmaps[GENIE_TILE_OBJECTS]; /* bitmaps that an object is in */
static uint8_t narrow[GENIE_TILE_OBJECTS];
static uint16_t wide[GENIE_TILE_OBJECTS];

static void
test_unpack(GenieRandom *random, const GenieKernels *kernels)
{
	for (int round = 0; round < 40000; round++)
	{
		uint8_t		bytes[GENIE_UNPACK_READ_BYTES];
		uint16_t	got[GENIE_BLOCK_VALUES];
		uint16_t	wanted[GENIE_BLOCK_VALUES];
		uint32_t	width = (uint32_t) genie_random_below(random, 17);
		uint32_t	n = 1 + (uint32_t) genie_random_below(random, GENIE_BLOCK_VALUES);
		uint32_t	base = (uint32_t) (genie_random_below(random, 65536) >> genie_random_below(random, 17));
		uint8_t		density = (uint8_t) genie_random(random);
		bool		good;

		for (size_t b = 0; b < sizeof(bytes); b++)
			bytes[b] = (uint8_t) (genie_random_below(random, 4) == 0 ? genie_random(random) & density : 0);
		good = genie_unpack_portable.locals(bytes, width, n, base, wanted);
		if (kernels->unpack->locals(bytes, width, n, base, got) != good)
			CHECK(!"kernels differ about the result");
		else if (good && memcmp(got, wanted, n * sizeof(uint16_t)) != 0)
			CHECK(!"kernels differ about the locals");
	}
}

/* Runs, some malformed, as varints; returns their bytes. */
static size_t
make_runs(GenieRandom *random, uint8_t *bytes, size_t n_runs)
{
	static const uint64_t limits[] = {2, 40, 200, 20000, 70000};
	uint64_t	limit = limits[genie_random_below(random, sizeof(limits) / sizeof(limits[0]))];
	size_t		n = 0;

	for (size_t i = 0; i < 2 * n_runs; i++)
	{
		if (genie_random_below(random, 20) == 0)
			limit = limits[genie_random_below(random, sizeof(limits) / sizeof(limits[0]))];
		n += genie_varint_put(bytes + n, genie_random_below(random, limit));
		if (genie_random_below(random, 200) == 0)
			bytes[n - 1] = (uint8_t) genie_random(random);
	}
	if (genie_random_below(random, 8) == 0)
		n -= genie_random_below(random, n + 1);
	return n;
}

/* What a kernel gives must begin what the reader gives, and end before nothing but what it may leave to the reader. */
static void
test_edges(GenieRandom *random, const GenieKernels *kernels)
{
	uint8_t		made[200 * 2 * GENIE_VARINT_MAX];

	for (int round = 0; round < 20000; round++)
	{
		size_t		n_bytes = make_runs(random, made, 1 + genie_random_below(random, 200));
		uint8_t    *bytes = malloc(n_bytes + 1);
		GenieListRef ref = {.n = UINT32_MAX, .nbytes = (uint32_t) n_bytes, .data = bytes};
		GenieRunsReader reader;
		const uint8_t *at = bytes;
		uint16_t	edges[GENIE_EDGES_MAX];
		uint32_t	base = 0;
		uint32_t	start;
		uint32_t	len;
		bool		good = true;

		memcpy(bytes, made, n_bytes);
		genie_runs_begin(&reader, &ref);
		do
		{
			size_t		n_read;
			uint32_t	n = kernels->unpack->edges(at, bytes + n_bytes, base, edges, &n_read);

			good = good && n % 2 == 0 && n <= GENIE_EDGES_MAX;
			for (uint32_t i = 0; i < n; i += 2)
			{
				len = genie_runs_next(&reader, &start);
				good = good && len > 0 && start == edges[i] && start + len == edges[i + 1];
			}
			good = good && (n == 0 || at + n_read == reader.at);
			len = genie_runs_next(&reader, &start);
			at = reader.at;
			base = reader.base;
		} while (good && len > 0);
		CHECK(good);
		free(bytes);
	}
}

static void
test_sums(GenieRandom *random, const GenieKernels *kernels)
{
	for (int round = 0; round < 20; round++)
	{
		uint16_t	sum = 0;
		bool		good = true;

		for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
		{
			wide[i] = (uint16_t) (genie_random(random) & genie_random(random));
			if (round % 4 != 0 && genie_random_below(random, 100) < 95)
				wide[i] = 0;
			narrow[i] = (uint8_t) wide[i];
			sum = (uint16_t) (sum + wide[i]);
			plain[i] = sum;
		}
		kernels->sum_up_8(narrow);
		kernels->sum_up_16(wide);
		for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
			good = good && narrow[i] == (uint8_t) plain[i] && wide[i] == plain[i];
		CHECK(good);
	}
}

/* Makes random bitmaps, each in memory of exactly its length, and notes what they hold. */
static void
make_bitmaps(GenieRandom *random, GenieBitmap *bitmaps, uint32_t n)
{
	uint32_t	longest = 1 + (uint32_t) genie_random_below(random, GENIE_TILE_BITMAP_BYTES);

	memset(in_bitmaps, 0, sizeof(in_bitmaps));
	for (uint32_t b = 0; b < n; b++)
	{
		uint32_t	nbytes = longest;
		uint32_t	sparse = (uint32_t) genie_random_below(random, 3);
		uint8_t    *data;

		if (genie_random_below(random, 3) == 0)
			nbytes = 1 + (uint32_t) genie_random_below(random, longest);
		data = malloc(nbytes);
		for (uint32_t i = 0; i < nbytes; i++)
		{
			data[i] = (uint8_t) (genie_random(random) & (sparse > 0 ? genie_random(random) : 0xFF) &
								 (sparse > 1 ? genie_random(random) : 0xFF));
			for (uint32_t bit = 0; bit < 8; bit++)
				in_bitmaps[8 * i + bit] += data[i] >> bit & 1;
		}
		bitmaps[b] = (GenieBitmap) {data, nbytes};
	}
}

static void
test_bitmaps(GenieRandom *random, const GenieKernels *kernels)
{
	for (int round = 0; round < 200; round++)
	{
		GenieBitmap bitmaps[GENIE_BITMAPS_MAX];
		uint32_t	n = 1 + (uint32_t) genie_random_below(random, round % 2 == 0 ? GENIE_BITMAPS_MAX : 8);
		bool		good = true;

		make_bitmaps(random, bitmaps, n);
		for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
		{
			plain[i] = (uint16_t) genie_random_below(random, 100);
			narrow[i] = (uint8_t) plain[i];
			wide[i] = plain[i] = (uint16_t) (plain[i] + 256 * i);
		}
		kernels->add_bitmaps_8(narrow, bitmaps, n);
		kernels->add_bitmaps_16(wide, bitmaps, n);
		for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
			good = good && narrow[i] == (uint8_t) (plain[i] + in_bitmaps[i]) &&
				wide[i] == (uint16_t) (plain[i] + in_bitmaps[i]);
		CHECK(good);
		for (uint32_t b = 0; b < n; b++)
			free((void *) bitmaps[b].data);
	}
}

static void
test_masks(GenieRandom *random, const GenieKernels *kernels)
{
	static uint64_t allowed[GENIE_TILE_WORDS];
	static uint64_t got[GENIE_TILE_WORDS];
	static const uint32_t thresholds[] = {0, 1, 2, 127, 128, 129, 254, 255, 256, 32767, 32768, 40000, 65535};

	for (size_t t = 0; t < sizeof(thresholds) / sizeof(thresholds[0]); t++)
	{
		uint32_t	threshold = thresholds[t];
		uint32_t	n_words = 1 + (uint32_t) genie_random_below(random, GENIE_TILE_WORDS);
		uint32_t	n_narrow = 0;
		uint32_t	n_wide = 0;
		uint32_t	n_both = 0;
		bool		good = true;

		for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
		{
			wide[i] = (uint16_t) (threshold - 2 + genie_random_below(random, 4));
			narrow[i] = (uint8_t) wide[i];
		}
		for (uint32_t w = 0; w < GENIE_TILE_WORDS; w++)
			allowed[w] = genie_random(random) & genie_random(random);
		n_wide = kernels->mask_16(wide, n_words, threshold, allowed, got);
		for (uint32_t i = 0; i < 64 * n_words; i++)
		{
			bool		wanted = wide[i] >= threshold && (allowed[i / 64] >> (i % 64) & 1) != 0;

			good = good && (got[i / 64] >> (i % 64) & 1) == wanted;
			n_wide -= wanted;
		}
		CHECK(good && n_wide == 0);
		for (uint32_t i = 0; i < 64 * n_words; i++)
			n_both += got[i / 64] >> (i % 64) & allowed[i / 64] >> (i % 64) & 1;
		CHECK(kernels->count_both(got, allowed, n_words) == n_both);
		if (threshold > UINT8_MAX)
			continue;
		n_narrow = kernels->mask_8(narrow, n_words, threshold, allowed, got);
		for (uint32_t i = 0; i < 64 * n_words; i++)
		{
			bool		wanted = narrow[i] >= threshold && (allowed[i / 64] >> (i % 64) & 1) != 0;

			good = good && (got[i / 64] >> (i % 64) & 1) == wanted;
			n_narrow -= wanted;
		}
		CHECK(good && n_narrow == 0);
	}
}

/* A threshold for each size: of few sizes and of all that fit a byte. */
static void
test_masks_by_size(GenieRandom *random, const GenieKernels *kernels)
{
	static uint8_t sizes[GENIE_TILE_OBJECTS];
	static uint64_t allowed[GENIE_TILE_WORDS];
	static uint64_t got[GENIE_TILE_WORDS];
	static const uint32_t n_sizes[] = {1, 2, 15, 16, 17, 28, 64, 127, 128, 129, 240, 255, 256};

	for (size_t s = 0; s < sizeof(n_sizes) / sizeof(n_sizes[0]) && kernels->mask_sizes_8 != NULL; s++)
	{
		uint8_t		least[GENIE_LEAST_SIZES];
		uint32_t	n_words = 1 + (uint32_t) genie_random_below(random, GENIE_TILE_WORDS);
		uint32_t	n;
		bool		good = true;

		for (uint32_t i = 0; i < GENIE_LEAST_SIZES; i++)
			least[i] = (uint8_t) (genie_random_below(random, 3) * 127 + genie_random_below(random, 2));
		for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
		{
			sizes[i] = (uint8_t) genie_random_below(random, n_sizes[s]);
			narrow[i] = (uint8_t) (least[sizes[i]] - 1 + genie_random_below(random, 3));
		}
		for (uint32_t w = 0; w < GENIE_TILE_WORDS; w++)
			allowed[w] = genie_random_below(random, 5) == 0 ? 0 : genie_random(random) | genie_random(random);
		n = kernels->mask_sizes_8(narrow, n_words, sizes, least, n_sizes[s], allowed, got);
		for (uint32_t i = 0; i < 64 * n_words; i++)
		{
			bool		wanted = narrow[i] >= least[sizes[i]] && (allowed[i / 64] >> (i % 64) & 1) != 0;

			good = good && (got[i / 64] >> (i % 64) & 1) == wanted;
			n -= wanted;
		}
		CHECK(good && n == 0);
	}
}

/* Code number c of a row, or of a row of bounds, whose halves of bytes lie apart. */
static uint32_t
code_at(const uint8_t *row, uint32_t width, uint32_t c, bool apart)
{
	uint16_t	word;

	if (width == 8)
		return row[c];
	if (width == 4 && apart)
		return row[c % 2 * GENIE_CODE_BOUND_BYTES + c / 2];
	if (width == 4)
		return row[c / 2] >> (c % 2 * 4) & 0xF;
	memcpy(&word, row + c * sizeof(word), sizeof(word));
	return word;
}

static void
set_bound(GenieCodeRow *row, uint32_t width, uint32_t c, uint32_t code)
{
	if (width == 16)
		row->words[c] = (uint16_t) code;
	else if (width == 8)
		row->bytes[0][c] = (uint8_t) code;
	else
		row->bytes[c % 2][c / 2] = (uint8_t) code;
}

/* Bounds of about half of a row's codes. */
static void
random_bounds(GenieRandom *random, GenieCodeBounds *bounds)
{
	uint32_t	n_codes = bounds->row_bytes * 8 / bounds->width;
	uint32_t	n_values = 1u << bounds->width;

	memset(&bounds->low, 0, sizeof(bounds->low));
	memset(&bounds->high, 0xFF, sizeof(bounds->high));
	for (uint32_t c = 0; c < n_codes; c++)
	{
		uint32_t	low = (uint32_t) genie_random_below(random, n_values / 4);
		uint32_t	high = n_values - 1 - (uint32_t) genie_random_below(random, n_values / 4);

		if (genie_random_below(random, 2) == 0)
			continue;
		for (uint32_t i = c; i < GENIE_CODE_BOUND_BYTES * 8 / bounds->width; i += n_codes)
		{
			set_bound(&bounds->low, bounds->width, i, low);
			set_bound(&bounds->high, bounds->width, i, high);
		}
	}
}

/* How many codes of a row are within. */
static uint32_t
codes_within(const uint8_t *row, const GenieCodeBounds *bounds)
{
	uint32_t	n = 0;

	for (uint32_t c = 0; c < bounds->row_bytes * 8 / bounds->width; c++)
	{
		uint32_t	code = code_at(row, bounds->width, c, false);

		n += code >= code_at(bounds->low.bytes[0], bounds->width, c, true) &&
			code <= code_at(bounds->high.bytes[0], bounds->width, c, true);
	}
	return n;
}

/* Counters grow by what is within, and no other counter changes. */
static void
check_code_counts(GenieRandom *random, const GenieKernels *kernels, const uint8_t *rows, uint32_t n,
				  const GenieCodeBounds *bounds)
{
	uint8_t    *narrow = malloc(n + 1);
	uint16_t   *wide = malloc((n + 1) * sizeof(uint16_t));
	uint8_t		before[2] = {(uint8_t) genie_random_below(random, 200), 7};
	bool		same = true;

	memset(narrow, before[0], n);
	narrow[n] = before[1];
	for (uint32_t i = 0; i <= n; i++)
		wide[i] = (uint16_t) (narrow[i] + 1000);
	kernels->count_codes_8(rows, n, bounds, narrow);
	kernels->count_codes_16(rows, n, bounds, wide);
	for (uint32_t i = 0; i <= n; i++)
	{
		uint32_t	more = i == n ? before[1] :
			before[0] + codes_within(rows + (size_t) i * bounds->row_bytes, bounds);

		same = same && narrow[i] == more && wide[i] == more + 1000;
	}
	CHECK(same);
	free(narrow);
	free(wide);
}

/* Codes of all widths in rows of all lengths, most of them within the bounds; rows end where the memory does. */
static void
test_codes(GenieRandom *random, const GenieKernels *kernels)
{
	enum {WORDS_MAX = 20};

	for (uint32_t round = 0; round < 360; round++)
	{
		uint32_t	n_words = 1 + (uint32_t) genie_random_below(random, WORDS_MAX);
		GenieCodeBounds bounds = {.width = 4u << round % 3, .row_bytes = 4u << round / 3 % 3};
		size_t		n_bytes = (size_t) n_words * 64 * bounds.row_bytes;
		uint8_t    *rows = malloc(n_bytes);
		uint64_t	objects[WORDS_MAX];
		uint64_t	matching[WORDS_MAX];
		uint32_t	n = 0;

		random_bounds(random, &bounds);
		for (size_t b = 0; b < n_bytes; b++)
			rows[b] = (uint8_t) (genie_random_below(random, 8) > 0 ?
								 0x44 + genie_random_below(random, 8) * 0x11 : genie_random(random));
		for (uint32_t w = 0; w < n_words; w++)
		{
			objects[w] = matching[w] = genie_random_below(random, 5) == 0 ? 0 : genie_random(random);
			n += (uint32_t) __builtin_popcountll(objects[w]);
		}
		CHECK_INT(kernels->count_both(objects, objects, n_words), n);
		kernels->match_codes(rows, n_words, &bounds, objects);
		for (uint32_t i = 0; i < 64 * n_words; i++)
			if (codes_within(rows + (size_t) i * bounds.row_bytes, &bounds) < bounds.row_bytes * 8 / bounds.width)
				matching[i / 64] &= ~(UINT64_C(1) << (i % 64));
		CHECK(memcmp(objects, matching, n_words * sizeof(uint64_t)) == 0);
		for (uint32_t i = 0; i < GENIE_CODE_BOUND_BYTES && round % 2 == 0; i += bounds.row_bytes)
			memset(&bounds.low.bytes[0][i], 0xFF, 2);	/* no code will do at a row's first places */
		check_code_counts(random, kernels, rows, 64 * n_words, &bounds);
		free(rows);
	}
}

int
main(void)
{
	GenieRandom random = {20180416};
	const GenieKernels *best = NULL;

	for (uint32_t i = 0; genie_kernels_nth(i) != NULL; i++)
	{
		const GenieKernels *kernels = best = genie_kernels_nth(i);

		test_unpack(&random, kernels);
		test_edges(&random, kernels);
		test_sums(&random, kernels);
		test_bitmaps(&random, kernels);
		test_masks(&random, kernels);
		test_masks_by_size(&random, kernels);
		test_codes(&random, kernels);
	}
	CHECK(genie_kernels_choose() == best);
	return genie_test_end();
}
