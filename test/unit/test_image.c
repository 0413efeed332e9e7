/*
 * test_image.c
 *	  Images of segments against the lists that they were made of, and what the builder refuses.
 */
#include <string.h>

#include "genie_codec.h"
#include "genie_image.h"
#include "genie_test.h"
#include "genie_test_image.h"
#include "genie_unpack.h"

#define OBJECTS_MAX (5 * GENIE_TILE_OBJECTS)

static uint32_t objects[OBJECTS_MAX];

/* ---- against the model ---- */

/* The locals of a list in a tile, out of the model; returns how many. */
static uint32_t
model_locals(const GenieModel *model, uint32_t rank, uint32_t tile, uint16_t *locals)
{
	const GenieModelList *list = &model->lists[rank];
	uint32_t	n = 0;

	for (uint32_t i = 0; i < list->n; i++)
		if (list->objects[i] >> GENIE_TILE_SHIFT == tile)
			locals[n++] = (uint16_t) list->objects[i];
	return n;
}

/* Do the chunks have just these locals? */
static bool
has_chunks(const uint8_t *base, const GenieImageTile *tile, const GenieImageSpan *span, const uint16_t *locals,
		   uint32_t n)
{
	const GenieChunk *chunks = (const GenieChunk *) (const void *) (base + tile->chunks) + span->from;
	uint32_t	n_chunks = span->to - span->from;
	uint16_t   *decoded = malloc((n_chunks * GENIE_CHUNK_LOCALS + GENIE_UNPACK_SPARE) * sizeof(uint16_t));
	bool		same = genie_unpack_choose()->chunks(chunks, n_chunks, decoded) == n &&
		memcmp(decoded, locals, n * sizeof(uint16_t)) == 0;

	free(decoded);
	return same;
}

/* One rank's list in one tile: found where it should be, with what it should have. */
static bool
check_rank(const GenieModel *model, const GenieImageGroup *group, uint32_t t, uint32_t rank)
{
	static uint16_t locals[GENIE_TILE_OBJECTS];
	const uint8_t *base = (const uint8_t *) group;
	const GenieImageTile *tile = genie_image_tiles(group) + t;
	GenieImageSpan span = genie_image_find(base, tile, rank, rank + 1);
	uint32_t	n = model_locals(model, rank, group->first_tile + t, locals);
	uint32_t	width;
	uint32_t	n_chunks = group->form == GENIE_IMAGE_TIGHT ? genie_image_list_chunks(locals, n, &width) : 0;

	if (genie_tile_has_chunks(tile))
	{
		GenieImageSpan chunked = genie_image_find_chunks(base, tile, rank, rank + 1);

		if (chunked.n_lists != (n_chunks > 0) || chunked.to - chunked.from != n_chunks)
			return false;
		if (n_chunks > 0)
			return span.n_lists == 0 && span.from == span.to && span.bitmap_from == span.bitmap_to &&
				has_chunks(base, tile, &chunked, locals, n);
	}
	else if (n_chunks > 0)
		return false;
	if (n >= GENIE_IMAGE_DENSE)
	{
		const uint8_t *bitmap = base + tile->bitmaps + (size_t) span.bitmap_from * GENIE_TILE_BITMAP_BYTES;
		uint32_t	n_set = 0;

		if (span.n_lists != 0 || span.from != span.to || span.bitmap_to != span.bitmap_from + 1)
			return false;
		for (uint32_t i = 0; i < GENIE_TILE_BITMAP_BYTES; i++)
			n_set += (uint32_t) __builtin_popcount(bitmap[i]);
		for (uint32_t i = 0; i < n; i++)
			if ((bitmap[locals[i] / 8] >> (locals[i] % 8) & 1) == 0)
				return false;
		return n_set == n;
	}
	return span.n_lists == (n > 0) && span.bitmap_from == span.bitmap_to && span.to - span.from == n &&
		memcmp(base + tile->postings + (size_t) span.from * sizeof(uint16_t), locals, n * sizeof(uint16_t)) == 0;
}

/* The same of chunked lists. */
static bool
check_chunk_range(const uint8_t *base, const GenieImageTile *tile, uint32_t first, uint32_t end)
{
	GenieImageSpan span = genie_image_find_chunks(base, tile, first, end);
	uint32_t	n_lists = 0;
	uint32_t	from = span.from;

	for (uint32_t rank = first; rank < end; rank++)
	{
		GenieImageSpan one = genie_image_find_chunks(base, tile, rank, rank + 1);

		if (one.from != from || one.first_list != span.first_list + n_lists)
			return false;
		n_lists += one.n_lists;
		from = one.to;
	}
	return span.n_lists == n_lists && span.to == from;
}

/* A range of ranks is all of its ranks, one behind the other. */
static bool
check_range(const GenieImageGroup *group, uint32_t t, uint32_t first, uint32_t end)
{
	const uint8_t *base = (const uint8_t *) group;
	const GenieImageTile *tile = genie_image_tiles(group) + t;
	GenieImageSpan span = genie_image_find(base, tile, first, end);
	uint32_t	n_lists = 0;
	uint32_t	from = span.from;
	uint32_t	bitmap = span.bitmap_from;

	for (uint32_t rank = first; rank < end; rank++)
	{
		GenieImageSpan one = genie_image_find(base, tile, rank, rank + 1);

		if (one.from != from || one.bitmap_from != bitmap)
			return false;
		n_lists += one.n_lists;
		from = one.to;
		bitmap = one.bitmap_to;
	}
	return span.n_lists == n_lists && span.to == from && span.bitmap_to == bitmap &&
		(!genie_tile_has_chunks(tile) || check_chunk_range(base, tile, first, end));
}

static bool
check_sizes(const GenieModel *model, const GenieImageGroup *group, uint32_t t)
{
	const GenieImageTile *tile = genie_image_tiles(group) + t;
	const uint8_t *sizes = (const uint8_t *) group + tile->sizes;

	for (uint32_t i = 0; i < tile->n_objects; i++)
	{
		uint32_t	size = group->min_size;

		if (group->size_width == 1)
			size += sizes[i];
		else if (group->size_width == 2)
			size += ((const uint16_t *) (const void *) sizes)[i];
		if (size != model->sizes[(size_t) (group->first_tile + t) * GENIE_TILE_OBJECTS + i])
			return false;
	}
	return true;
}

static void
check_form(GenieRandom *random, const GenieModel *model, uint32_t tiles_max)
{
	GenieSegmentImage image;
	uint32_t	tile = 0;
	uint32_t	n_keywords = model->n_keywords;

	genie_model_image(model, 1, tiles_max, &image);
	for (uint32_t g = 0; g < image.n_groups; g++)
	{
		const GenieImageGroup *group = image.groups[g];

		CHECK(genie_image_group_valid(group));
		CHECK_INT(group->first_tile, tile);
		for (uint32_t t = 0; t < group->n_tiles; t++, tile++)
		{
			uint32_t	left = model->n_objects - tile * GENIE_TILE_OBJECTS;

			CHECK_INT(genie_image_tiles(group)[t].n_objects, left < GENIE_TILE_OBJECTS ? left : GENIE_TILE_OBJECTS);
			CHECK(check_sizes(model, group, t));
			for (int i = 0; i < 60; i++)
			{
				uint32_t	first = (uint32_t) genie_random_below(random, n_keywords + 1);
				uint32_t	length = (uint32_t) genie_random_below(random, i < 30 ? 70 : 500);
				uint32_t	end = n_keywords - first < length ? n_keywords : first + length;

				if (i >= 30)
					first = end - (end - first) / 64 * 64;	/* whole words */
				CHECK(check_range(group, t, first, end));
				CHECK(check_range(group, t, first, first));
				if (first < n_keywords)
					CHECK(check_rank(model, group, t, first));
			}
			CHECK(check_range(group, t, n_keywords, n_keywords));
			CHECK(check_range(group, t, n_keywords - n_keywords % 64, n_keywords));
			if (n_keywords < 300)
			{
				CHECK(check_range(group, t, 0, n_keywords));
				for (uint32_t rank = 0; rank < n_keywords; rank++)
					CHECK(check_rank(model, group, t, rank));
			}
		}
	}
	CHECK_INT(tile, image.n_tiles);
	genie_model_free_image(&image);
}

/* As lists, then tight. */
static void
check_image(GenieRandom *random, const GenieModel *model, uint32_t tiles_max)
{
	GenieModel	tight = *model;

	check_form(random, model, tiles_max);
	tight.form = GENIE_IMAGE_TIGHT;
	check_form(random, &tight, tiles_max);
}

static void
random_sizes(GenieRandom *random, GenieModel *model, uint16_t width)
{
	static const uint32_t values[] = {1, 256, 60000};

	model->size_width = width;
	model->min_size = (uint32_t) genie_random_below(random, 5000);
	for (uint32_t i = 0; i < model->n_objects; i++)
		model->sizes[i] = model->min_size + (uint32_t) genie_random_below(random, values[width]);
}

/* Vocabularies around words of 64 ranks; a few lists, or one for every rank. */
static void
test_random(GenieRandom *random)
{
	static const uint32_t vocabularies[] = {1, 2, 63, 64, 65, 127, 128, 129, 200, 1000, 20000};

	for (int round = 0; round < 33; round++)
	{
		GenieModel	model;
		uint32_t	n_keywords = vocabularies[round % 11];
		uint32_t	n_lists = n_keywords < 100 ? n_keywords : 100;

		genie_model_begin(&model, 1 + (uint32_t) genie_random_below(random, 4 * GENIE_TILE_OBJECTS), n_keywords);
		random_sizes(random, &model, (uint16_t) (round % 3));
		for (uint32_t l = 0; l < n_lists; l++)
		{
			uint32_t	rank = n_lists == n_keywords ? l : (uint32_t) genie_random_below(random, n_keywords);

			genie_model_list(&model, rank, objects, genie_model_random_objects(random, model.n_objects, objects));
		}
		check_image(random, &model, round % 2 == 0 ? UINT32_MAX : 1 + (uint32_t) round % 3);
		genie_model_end(&model);
	}
}

/* Lists just below and at the size from which on they are bitmaps. */
static void
test_dense(GenieRandom *random)
{
	for (uint32_t n = GENIE_IMAGE_DENSE - 1; n <= GENIE_IMAGE_DENSE; n++)
	{
		GenieModel	model;

		genie_model_begin(&model, 2 * GENIE_TILE_OBJECTS, 5);
		for (uint32_t i = 0; i < n; i++)
			objects[i] = GENIE_TILE_OBJECTS + 24 * i;
		genie_model_list(&model, 3, objects, n);
		check_image(random, &model, UINT32_MAX);
		genie_model_end(&model);
	}
}

/* The form of the directory follows from what it costs, and both are met. */
static void
test_forms(GenieRandom *random)
{
	static const struct
	{
		uint32_t	n_keywords;
		uint32_t	n_lists;
		GenieDirectoryForm form;
	}			cases[] = {
		{16000, 0, GENIE_DIRECTORY_INDEXED},	/* tiny */
		{17000, 10, GENIE_DIRECTORY_SORTED},
		{64 * 998, 1999, GENIE_DIRECTORY_SORTED},	/* 1000 words of 16 bytes are more than 2 * 4 * 1999 */
		{64 * 998, 2000, GENIE_DIRECTORY_INDEXED},
		{3000000, 40000, GENIE_DIRECTORY_SORTED},
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
	{
		GenieModel	model;
		GenieSegmentImage image;

		genie_model_begin(&model, 5000, cases[c].n_keywords);
		for (uint32_t l = 0; l < cases[c].n_lists; l++)
		{
			uint32_t	n = 1 + l % 3;

			for (uint32_t i = 0; i < n; i++)
				objects[i] = (l + 1000 * i) % 1000 + 1000 * i;
			genie_model_list(&model, (uint32_t) ((uint64_t) l * cases[c].n_keywords / cases[c].n_lists), objects, n);
		}
		genie_model_image(&model, 1, 1, &image);
		CHECK_INT(genie_image_tiles(image.groups[0])->plain.form, cases[c].form);
		genie_model_free_image(&image);
		check_image(random, &model, 1);
		genie_model_end(&model);
	}
}

/* ---- groups ---- */

static void
test_groups(void)
{
	enum {N_TILES = 40};
	GenieImagePlan plan = {.n_keywords = 1000};
	GenieTilePlan tiles[N_TILES];
	uint64_t	n_bytes;
	uint32_t	first = 0;
	uint32_t	n;

	for (uint32_t t = 0; t < N_TILES; t++)
	{
		memset(&tiles[t], 0, sizeof(GenieTilePlan));
		tiles[t].n_objects = GENIE_TILE_OBJECTS;
		for (uint32_t l = 0; l < 1000; l++)
			genie_tile_plan_add(&tiles[t], l == 999 && t == 17 ? GENIE_IMAGE_DENSE : 2000 + l / 2);
	}
	for (; first < N_TILES; first += n)
	{
		n = genie_image_group_plan(&plan, tiles, first, N_TILES, &n_bytes);
		if (!CHECK(n >= 1))
			return;
		CHECK(n_bytes <= GENIE_IMAGE_GROUP_BYTES && n_bytes % GENIE_IMAGE_ALIGN == 0);
		if (first + n < N_TILES)
			CHECK(n_bytes > GENIE_IMAGE_GROUP_BYTES - n_bytes / n - 4096);
	}
	CHECK_INT(first, N_TILES);

	/* a tile larger than a group, and one larger than an image can hold */
	tiles[0].n_postings = UINT64_C(40) << 20;
	tiles[0].n_lists = 1u << 20;
	CHECK_INT(genie_image_group_plan(&plan, tiles, 0, N_TILES, &n_bytes), 1);
	CHECK(n_bytes > GENIE_IMAGE_GROUP_BYTES);
	tiles[0].n_postings = UINT32_MAX;
	CHECK_INT(genie_image_group_plan(&plan, tiles, 0, N_TILES, &n_bytes), 1);
	tiles[0].n_postings++;
	CHECK_INT(genie_image_group_plan(&plan, tiles, 0, N_TILES, &n_bytes), 0);
}

/* ---- what the builder refuses ---- */

/* A group of two tiles of 100 and 50 objects, planned for two lists of 3 postings each in both. */
static void *
small_group(GenieTileFill *fills)
{
	GenieImagePlan plan = {.n_keywords = 70};
	GenieTilePlan tiles[2] = {{100, 2, 0, 6, 0, 0}, {50, 2, 0, 6, 0, 0}};
	uint64_t	n_bytes;
	void	   *memory;

	CHECK_INT(genie_image_group_plan(&plan, tiles, 0, 2, &n_bytes), 2);
	memory = genie_model_memory(n_bytes);
	genie_image_group_begin(memory, n_bytes, &plan, tiles, 7, 2, fills);
	return memory;
}

static void
test_refusals(void)
{
	static uint16_t dense[GENIE_IMAGE_DENSE];
	const uint16_t locals[] = {1, 48, 49, 50, 99, 100};
	GenieTileFill fills[2];
	void	   *memory = small_group(fills);

	CHECK(!genie_image_group_finish(fills, 2));
	CHECK(!genie_image_add(&fills[0], 0, 70, locals, 3));	/* no such keyword */
	CHECK(!genie_image_add(&fills[0], 0, 5, locals, 0));	/* nothing */
	CHECK(!genie_image_add(&fills[0], 0, 5, locals + 3, 3));	/* no such object */
	CHECK(!genie_image_add(&fills[1], 1, 5, locals + 1, 3));
	CHECK(!genie_image_add(&fills[0], 0, 5, dense, GENIE_IMAGE_DENSE)); /* more than there are objects */
	CHECK(genie_image_add(&fills[0], 0, 5, locals, 3));
	CHECK(!genie_image_add(&fills[0], 0, 5, locals, 3));	/* again */
	CHECK(!genie_image_add(&fills[0], 0, 4, locals, 3));	/* backwards */
	CHECK(!genie_image_add(&fills[0], 0, 6, locals, 4));	/* too many postings */
	CHECK(genie_image_add(&fills[0], 0, 69, locals + 2, 3));
	CHECK(!genie_image_add(&fills[0], 0, 69, locals, 1));
	CHECK(genie_image_add(&fills[1], 1, 0, locals, 3));
	CHECK(!genie_image_group_finish(fills, 2));
	CHECK(genie_image_add(&fills[1], 1, 64, locals, 2));
	CHECK(!genie_image_add(&fills[1], 1, 65, locals, 1));	/* too many lists */
	CHECK(!genie_image_group_finish(fills, 2)); /* a posting is missing */
	free(memory);

	memory = small_group(fills);
	for (uint32_t t = 0; t < 2; t++)
		for (uint32_t l = 0; l < 2; l++)
			CHECK(genie_image_add(&fills[t], t, 60 + 5 * l, locals, 3));
	CHECK(genie_image_group_finish(fills, 2));
	CHECK(genie_image_group_valid(memory));
	free(memory);
}

/* A bitmap where a list was planned, and the other way round. */
static void
test_unplanned_bitmap(void)
{
	static uint16_t locals[GENIE_IMAGE_DENSE];
	GenieImagePlan plan = {.n_keywords = 10};
	GenieTilePlan tiles[2] = {{GENIE_TILE_OBJECTS, 1, 0, GENIE_IMAGE_DENSE, 0, 0}, {GENIE_TILE_OBJECTS, 0, 1, 0, 0, 0}};
	GenieTileFill fills[2];
	uint64_t	n_bytes;
	void	   *memory;

	for (uint32_t i = 0; i < GENIE_IMAGE_DENSE; i++)
		locals[i] = (uint16_t) i;
	genie_image_group_plan(&plan, tiles, 0, 2, &n_bytes);
	memory = genie_model_memory(n_bytes);
	genie_image_group_begin(memory, n_bytes, &plan, tiles, 0, 2, fills);
	CHECK(!genie_image_add(&fills[0], 0, 1, locals, GENIE_IMAGE_DENSE));
	CHECK(!genie_image_add(&fills[1], 1, 1, locals, GENIE_IMAGE_DENSE - 1));
	CHECK(genie_image_add(&fills[1], 1, 1, locals, GENIE_IMAGE_DENSE));
	CHECK(!genie_image_add(&fills[1], 1, 2, locals, GENIE_IMAGE_DENSE));
	free(memory);
}

/* ---- lists that are decoded into place ---- */

static void
emit_bytes(void *arg, const uint8_t *bytes, size_t n)
{
	memcpy(*(uint8_t **) arg, bytes, n);
	*(uint8_t **) arg += n;
}

/*
 * One tile with one list, planned by its locals: the group, or NULL where the list is refused.  ref: its bytes, or NULL
 * to add the locals.
 */
static GenieImageGroup *
one_list(GenieImageForm form, const uint16_t *locals, uint32_t n, const GenieListRef *ref, uint32_t n_objects,
		 uint64_t *n_bytes)
{
	static uint16_t scratch[GENIE_TILE_OBJECTS];
	GenieImagePlan plan = {.n_keywords = 10, .form = form};
	GenieTilePlan tile = {.n_objects = n_objects};
	GenieTileFill fill;
	void	   *memory;

	if (form == GENIE_IMAGE_TIGHT)
		genie_tile_plan_add_tight(&tile, locals, n);
	else
		genie_tile_plan_add(&tile, n);
	genie_image_group_plan(&plan, &tile, 0, 1, n_bytes);
	memory = genie_model_memory(*n_bytes);
	genie_image_group_begin(memory, *n_bytes, &plan, &tile, 0, 1, &fill);
	if ((ref == NULL ? genie_image_add(&fill, 0, 3, locals, n) :
		 genie_image_decode(&fill, 0, 3, ref, scratch)) && genie_image_group_finish(&fill, 1))
		return memory;
	free(memory);
	return NULL;
}

/* The same image by locals and by bytes; bytes with a bit flipped give nothing, or an image that is valid. */
static void
check_decode(GenieRandom *random, GenieImageForm form, const uint16_t *locals, uint32_t n, GenieCodec codec)
{
	static GenieListEncoder encoder;
	static uint8_t bytes[GENIE_TILE_HEADER_MAX + GENIE_TILE_PAYLOAD_MAX + 1];
	uint8_t    *end = bytes;
	uint32_t	n_objects = locals[n - 1] + 1u;
	GenieListRef ref;
	uint32_t	tile;
	size_t		header_len;
	uint64_t	n_bytes;
	GenieImageGroup *by_locals;
	GenieImageGroup *by_bytes;

	genie_list_begin(&encoder, emit_bytes, &end);
	for (uint32_t i = 0; i < n; i++)
		genie_list_add(&encoder, locals[i]);
	genie_list_end(&encoder);
	CHECK(genie_tile_header(bytes + 1, end, -1, &tile, &ref, &header_len));
	ref.data = bytes + 1 + header_len;
	CHECK_INT(ref.codec, codec);
	by_locals = one_list(form, locals, n, NULL, n_objects, &n_bytes);
	by_bytes = one_list(form, locals, n, &ref, n_objects, &n_bytes);
	CHECK(by_locals != NULL && by_bytes != NULL && memcmp(by_locals, by_bytes, n_bytes) == 0);
	free(by_locals);
	free(by_bytes);
	CHECK(n_objects == 1 || one_list(form, locals, n, &ref, n_objects - 1, &n_bytes) == NULL);
	for (int i = 0; i < 300; i++)
	{
		uint8_t    *byte = bytes + 1 + header_len + genie_random_below(random, ref.nbytes);
		uint8_t		before = *byte;

		*byte ^= (uint8_t) (1 << genie_random_below(random, 8));
		by_bytes = one_list(form, locals, n, &ref, n_objects, &n_bytes);
		CHECK(by_bytes == NULL || genie_image_group_valid(by_bytes));
		free(by_bytes);
		*byte = before;
	}
	ref.nbytes--;
	CHECK(one_list(form, locals, n, &ref, n_objects, &n_bytes) == NULL);
}

static void
test_decode(GenieRandom *random)
{
	static uint16_t locals[GENIE_TILE_OBJECTS];
	static const struct
	{
		uint32_t	step;		/* a local of so many, in the mean */
		uint32_t	run;		/* so many at a time */
		uint32_t	span;		/* below this */
		GenieCodec	codec;
	}			kinds[] = {
		{300, 1, GENIE_TILE_OBJECTS, GENIE_CODEC_PACKED},
		{20, 1, 65000, GENIE_CODEC_PACKED},
		{3, 1, GENIE_TILE_OBJECTS, GENIE_CODEC_BITMAP},
		{2, 1, 40003, GENIE_CODEC_BITMAP},
		{2, 1, 900, GENIE_CODEC_BITMAP},
		{1, 1, GENIE_TILE_OBJECTS, GENIE_CODEC_RUNS},
		{4, 200, 65001, GENIE_CODEC_RUNS},
		{30, 40, GENIE_TILE_OBJECTS, GENIE_CODEC_RUNS}
	};

	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
		for (int round = 0; round < 4; round++)
		{
			uint32_t	n = 0;

			for (uint32_t at = 0; at < kinds[kind].span; at += kinds[kind].run)
				if (genie_random_below(random, kinds[kind].step) == 0)
					for (uint32_t i = at; i < at + kinds[kind].run && i < kinds[kind].span; i++)
						locals[n++] = (uint16_t) i;
			CHECK(n > GENIE_LOOSE_MAX);
			check_decode(random, GENIE_IMAGE_FULL, locals, n, kinds[kind].codec);
			check_decode(random, GENIE_IMAGE_TIGHT, locals, n, kinds[kind].codec);
		}
}

/* ---- what the check finds ---- */

/*
 * Flips bits of [from, from + length) one by one; each must be noticed.  lowest: of each 32 bits the ones from
 * there on.
 */
static void
check_flips(GenieRandom *random, GenieImageGroup *group, uint64_t from, uint64_t length, uint32_t lowest)
{
	uint64_t	n_bits = length * 8;
	uint64_t	step = n_bits < 1000 ? 1 : n_bits / 1000;

	for (uint64_t bit = genie_random_below(random, step); bit < n_bits; bit += step)
	{
		uint8_t    *byte;

		if (bit % 32 < lowest)
			continue;
		byte = (uint8_t *) group + from + bit / 8;
		*byte ^= (uint8_t) (1 << bit % 8);
		if (genie_image_group_valid(group))
			CHECK_INT(bit, -1);
		*byte ^= (uint8_t) (1 << bit % 8);
	}
	CHECK(genie_image_group_valid(group));
}

/* A flipped bit of a chunk is noticed, or the chunks are those of another list; then they have other locals. */
static void
check_chunk_flips(GenieRandom *random, GenieImageGroup *group, const GenieImageTile *tile)
{
	const uint32_t *starts = (const uint32_t *) (const void *) ((const uint8_t *) group + tile->chunked.starts);
	GenieChunk *chunks = (GenieChunk *) (void *) ((uint8_t *) group + tile->chunks);
	static uint16_t before[GENIE_TILE_OBJECTS + GENIE_UNPACK_SPARE];
	static uint16_t after[GENIE_TILE_OBJECTS + GENIE_UNPACK_SPARE];

	for (int i = 0; i < 500; i++)
	{
		uint32_t	list = (uint32_t) genie_random_below(random, tile->chunked.n);
		uint32_t	n_chunks = starts[list + 1] - starts[list];
		uint8_t    *byte = (uint8_t *) &chunks[starts[list]] + genie_random_below(random, n_chunks * GENIE_CHUNK_BYTES);
		uint8_t		flip = (uint8_t) (1 << genie_random_below(random, 8));
		uint32_t	n_before = genie_unpack_choose()->chunks(chunks + starts[list], n_chunks, before);
		uint32_t	n;

		*byte ^= flip;
		if (genie_image_group_valid(group))
		{
			n = genie_unpack_choose()->chunks(chunks + starts[list], n_chunks, after);
			CHECK(n != n_before || memcmp(before, after, n * sizeof(uint16_t)) != 0);
		}
		*byte ^= flip;
	}
	CHECK(genie_image_group_valid(group));
}

static void
test_validity(GenieRandom *random)
{
	for (int round = 0; round < 4; round++)
	{
		GenieModel	model;
		GenieSegmentImage image;
		GenieImageGroup *group;

		/* INDEXED, then SORTED; the same, tight */
		genie_model_begin(&model, 2 * GENIE_TILE_OBJECTS, round % 2 == 0 ? 300 : 30000);
		model.form = round < 2 ? GENIE_IMAGE_FULL : GENIE_IMAGE_TIGHT;
		for (uint32_t rank = 0; rank < 300; rank += 3)
			genie_model_list(&model, rank, objects, genie_model_random_objects(random, model.n_objects, objects));
		genie_model_image(&model, 1, 2, &image);
		group = (GenieImageGroup *) image.groups[0];
		CHECK(genie_image_group_valid(group));
		check_flips(random, group, offsetof(GenieImageGroup, magic), 16, 0);	/* magic .. n_bytes */
		for (uint32_t t = 0; t < 2; t++)
		{
			const GenieImageTile *tile = genie_image_tiles(group) + t;

			CHECK_INT(tile->plain.form, round % 2 == 0 ? GENIE_DIRECTORY_INDEXED : GENIE_DIRECTORY_SORTED);
			CHECK(tile->plain.n > 10 || round >= 2);
			CHECK((tile->chunked.n > 10 && tile->n_chunks > 10) == (round >= 2));
			if (round % 2 == 0)
				check_flips(random, group, tile->plain.directory, (300 / 64 + 2) * sizeof(GenieImageWord), 0);
			if (round == 2)
				check_flips(random, group, tile->chunked.directory, (300 / 64 + 2) * sizeof(GenieImageWord), 0);
			check_flips(random, group, (uint64_t) ((const uint8_t *) tile - (const uint8_t *) group) + 4,
						sizeof(GenieImageTile) - 4, 0);
			/* a boundary moved by more than a list has; by less, it may be another good image */
			check_flips(random, group, tile->plain.starts, (uint64_t) tile->plain.n * sizeof(uint32_t), 12);
			if (round >= 2)
			{
				check_flips(random, group, tile->chunked.starts, (uint64_t) tile->chunked.n * sizeof(uint32_t), 9);
				check_chunk_flips(random, group, tile);
			}
		}
		group->n_keywords = 200;
		CHECK(!genie_image_group_valid(group));
		genie_model_free_image(&image);
		genie_model_end(&model);
	}
}

/* ---- codes ---- */

/* An object's code in a dimension, read as genie_image.h says. */
static uint32_t
code_of(const GenieImageGroup *group, const GenieImageTile *tile, uint32_t d, uint32_t local)
{
	const GenieCodeDimension *dimension = &genie_image_dimensions(group)[d];
	const GenieCodeStrip *strip = &genie_image_strips(group)[dimension->strip];
	const uint8_t *row = (const uint8_t *) group + tile->codes +
		(uint64_t) strip->offset * genie_code_rows(tile->n_objects) + (uint64_t) local * strip->row_bytes;
	uint32_t	code = 0;

	for (uint32_t bit = 0; bit < dimension->width; bit++)
	{
		uint32_t	at = dimension->slot * dimension->width + bit;

		code |= (row[at / 8] >> (at % 8) & 1u) << bit;
	}
	return code;
}

static bool
has_object(const GenieModelList *list, uint32_t object)
{
	uint32_t	at = genie_rank_lower_bound(list->objects, 0, list->n, object);

	return at < list->n && list->objects[at] == object;
}

/* Every object's codes name lists that have it, and as many as it has keywords. */
static void
check_codes(const GenieModel *model, const GenieSegmentImage *image)
{
	CHECK(genie_image_has_codes(image));
	for (uint32_t object = 0; object < model->n_objects; object += 1 + object % 7)
	{
		uint32_t	t = object >> GENIE_TILE_SHIFT;
		uint32_t	g = 0;
		uint32_t	n = 0;
		const GenieImageGroup *group;

		while (t - image->groups[g]->first_tile >= image->groups[g]->n_tiles)
			g++;
		group = image->groups[g];
		for (uint32_t d = 0; d < model->n_dimensions; d++)
		{
			uint32_t	code = code_of(group, genie_image_tiles(group) + (t - group->first_tile), d,
									   object & (GENIE_TILE_OBJECTS - 1));

			if (code == 0)
				continue;
			n++;
			if (!CHECK(has_object(&model->lists[model->first_ranks[d] + code - 1], object)))
				return;
		}
		if (!CHECK_INT(n, model->sizes[object]))
			return;
	}
}

/* Zones are what the lists say: the smallest and the largest code of each, and 0 where an object has none. */
static void
check_zones(const GenieModel *model, const GenieSegmentImage *image)
{
	uint16_t   *codes = malloc(model->n_objects * sizeof(uint16_t));

	for (uint32_t d = 0; d < model->n_dimensions; d++)
	{
		uint32_t	end = d + 1 < model->n_dimensions ? model->first_ranks[d + 1] : model->n_keywords;

		memset(codes, 0, model->n_objects * sizeof(uint16_t));
		for (uint32_t rank = model->first_ranks[d]; rank < end; rank++)
			for (uint32_t i = 0; i < model->lists[rank].n; i++)
				codes[model->lists[rank].objects[i]] = (uint16_t) (rank - model->first_ranks[d] + 1);
		for (uint32_t t = 0; t < image->n_tiles; t++)	/* a tile a group */
		{
			const GenieImageTile *tile = genie_image_tiles(image->groups[t]);
			const uint16_t *zones = genie_image_zones(image->groups[t], tile, d);

			for (uint32_t z = 0; z < genie_zones(tile->n_objects); z++)
			{
				uint32_t	first = t * GENIE_TILE_OBJECTS + z * GENIE_ZONE_OBJECTS;
				uint32_t	smallest = UINT16_MAX;
				uint32_t	largest = 0;

				for (uint32_t i = first; i < first + GENIE_ZONE_OBJECTS && i < model->n_objects; i++)
				{
					smallest = codes[i] < smallest ? codes[i] : smallest;
					largest = codes[i] > largest ? codes[i] : largest;
				}
				CHECK_INT(zones[z], smallest);
				CHECK_INT(zones[genie_zones(tile->n_objects) + z], largest);
			}
		}
	}
	free(codes);
}

static void
test_codes(GenieRandom *random)
{
	static const uint32_t n_values[] = {15, 3, 16, 255, 1, 256, 700, 15, 2, 2, 4000, 30, 40, 50, 60, 70, 80, 90, 100,
	110, 120, 130, 140, 150, 160, 170, 180, 190, 200};
	static const uint32_t n_dimensions[] = {2, 3, 6, 12, 29};
	static const uint32_t n_objects[] = {1, 1063, 1000, GENIE_TILE_OBJECTS + 1};

	for (uint32_t i = 0; i < 20; i++)
	{
		GenieModel	model;
		GenieSegmentImage image;
		GenieImageGroup *group;

		genie_model_tuples(&model, random, n_objects[i % 4], n_dimensions[i % 5], n_values, i % 3 == 0 ? 0 : 5,
						   i % 4 >= 2);
		genie_model_image(&model, 1, 1, &image);
		group = (GenieImageGroup *) image.groups[0];
		CHECK(genie_image_group_valid(group));
		check_codes(&model, &image);
		check_zones(&model, &image);
		CHECK_INT(image.postings_before[model.n_keywords], model.n_postings);

		/* a code that is not what the lists say, a zone that is not what codes say, other codes alone, a moved strip */
		check_flips(random, group, genie_image_tiles(group)->codes, 1, 0);
		check_flips(random, group, genie_image_tiles(group)->zones + i % 2 * sizeof(uint16_t) *
					genie_zones(genie_image_tiles(group)->n_objects), sizeof(uint16_t), 0);
		check_flips(random, group, group->alone, sizeof(GenieImageGroup) + sizeof(GenieImageTile), 0);
		check_flips(random, group, offsetof(GenieImageGroup, alone), sizeof(group->alone), 0);
		((GenieCodeStrip *) genie_image_strips(group))->offset++;
		CHECK(!genie_image_group_valid(group));
		genie_model_free_image(&image);
		genie_model_end(&model);
	}
}

/* Codes alone are the codes, zones and sizes of a full image, in less room; a list or a wrong zone is noticed. */
static void
check_alone(GenieRandom *random, GenieModel *model, const GenieSegmentImage *full)
{
	GenieSegmentImage image;
	GenieImageGroup *group;

	model->form = GENIE_IMAGE_CODES;
	genie_model_image(model, 2, 1, &image);
	CHECK(genie_image_is_codes(&image) && !genie_image_is_codes(full) && genie_image_has_codes(&image));
	for (uint32_t g = 0; g < image.n_groups; g++)
	{
		const uint8_t *a = (const uint8_t *) image.groups[g];
		const uint8_t *b = (const uint8_t *) full->groups[g];
		const GenieImageTile *tile = genie_image_tiles(image.groups[g]);
		const GenieImageTile *same = genie_image_tiles(full->groups[g]);

		CHECK(genie_image_group_valid(image.groups[g]));
		CHECK(image.groups[g]->n_bytes < full->groups[g]->n_bytes);
		CHECK(memcmp(a + tile->sizes, b + same->sizes, tile->codes - tile->sizes) == 0);
		CHECK(memcmp(a + tile->codes, b + same->codes, image.groups[g]->n_bytes - tile->codes) == 0);

		/* the full group has this one in it */
		CHECK(genie_image_alone(image.groups[g]) == NULL);
		CHECK(genie_image_alone(full->groups[g]) != NULL);
		CHECK_INT(full->groups[g]->alone, full->groups[g]->n_bytes - image.groups[g]->n_bytes);
		CHECK(memcmp(genie_image_alone(full->groups[g]), a, image.groups[g]->n_bytes) == 0);
	}
	check_codes(model, &image);
	check_zones(model, &image);
	group = (GenieImageGroup *) image.groups[0];
	check_flips(random, group, genie_image_tiles(group)->zones, sizeof(uint16_t), 0);
	((GenieImageTile *) genie_image_tiles(group))->plain.n++;
	CHECK(!genie_image_group_valid(group));
	genie_model_free_image(&image);
	model->form = GENIE_IMAGE_FULL;
}

static void
test_codes_alone(GenieRandom *random)
{
	static const uint32_t n_values[] = {15, 3, 16, 255, 1, 256, 700, 15, 2, 2, 4000, 30, 40, 50, 60};
	static const uint32_t n_objects[] = {1, 1063, 1000, GENIE_TILE_OBJECTS + 1};

	for (uint32_t i = 0; i < 12; i++)
	{
		GenieModel	model;
		GenieSegmentImage full;
		GenieImagePlan plan = {.n_dimensions = 2 + i};
		uint32_t	n_half = 0;

		genie_model_tuples(&model, random, n_objects[i % 4], 2 + i, n_values, i % 3 == 0 ? 0 : 5, i % 4 >= 2);
		genie_model_image(&model, 1, 1, &full);
		check_alone(random, &model, &full);

		/* the next cut is the first dimension that shares no byte with one before it */
		plan.n_keywords = model.n_keywords;
		plan.first_ranks = model.first_ranks;
		for (uint32_t d = 0; d < model.n_dimensions; d++)
		{
			if (n_half % 2 == 0)
				CHECK_INT(genie_image_code_cut(&plan, model.first_ranks[d]), model.first_ranks[d]);
			else
				CHECK(genie_image_code_cut(&plan, model.first_ranks[d]) > model.first_ranks[d]);
			n_half += n_values[d] < 16;
		}
		CHECK_INT(genie_image_code_cut(&plan, model.n_keywords), model.n_keywords);
		genie_model_free_image(&full);
		genie_model_end(&model);
	}
}

/* Two keywords of one dimension in one object: as a list, as a bitmap, and in a 4-bit dimension. */
static void
test_no_codes(GenieRandom *random)
{
	static const uint32_t n_values[] = {300, 5};

	for (uint32_t round = 0; round < 3; round++)
	{
		GenieModel	model;
		GenieSegmentImage image;
		GenieModelList *list;

		genie_model_tuples(&model, random, 50000, 2, n_values, 0, false);
		list = &model.lists[round == 0 ? 70 : round == 1 ? 0 : 301];
		memcpy(objects, list->objects, list->n * sizeof(uint32_t));
		objects[list->n] = 49999;
		if (objects[list->n - 1] != 49999)
			genie_model_list(&model, round == 0 ? 70 : round == 1 ? 0 : 301, objects, list->n + 1);
		else
		{
			objects[0] = 49999;
			genie_model_list(&model, round == 0 ? 71 : round == 1 ? 1 : 302, objects, 1);
		}
		genie_model_image(&model, 1, 1, &image);
		CHECK(!genie_image_has_codes(&image) && genie_image_alone(image.groups[0]) == NULL);
		CHECK(genie_image_group_valid(image.groups[0]));
		genie_model_free_image(&image);
		model.form = GENIE_IMAGE_CODES;
		CHECK(!genie_model_try_image(&model, 1, 1, &image));
		genie_model_free_image(&image);
		genie_model_end(&model);
	}
}

static void
test_wants_codes(void)
{
	static const uint32_t two[] = {0, 100};
	static const uint32_t wide[] = {0, 30000, 60000};

	CHECK(genie_image_wants_codes(2, two, 200, 2, 1000, 2000));
	CHECK(!genie_image_wants_codes(2, two, 200, 3, 1000, 2000));	/* two keywords of one dimension */
	CHECK(!genie_image_wants_codes(1, two, 200, 1, 1000, 1000));
	CHECK(!genie_image_wants_codes(2, two, 200, 2, 1000, 100)); /* too few keywords */
	CHECK(genie_image_wants_codes(3, wide, 65536, 3, 100000, 300000));
	CHECK(!genie_image_wants_codes(3, wide, 65537, 3, 100000, 300000)); /* too many values */
}

int
main(void)
{
	GenieRandom random = {11};

	test_random(&random);
	test_dense(&random);
	test_decode(&random);
	test_forms(&random);
	test_groups();
	test_refusals();
	test_unplanned_bitmap();
	test_validity(&random);
	test_codes(&random);
	test_codes_alone(&random);
	test_no_codes(&random);
	test_wants_codes();
	return genie_test_end();
}
