/*
 * genie_image_codes.c
 *	  Codes and zones of a group (genie_image_codes.h).
 *
 * Codes are made tile by tile from the finished lists, in rank order: the codes of a strip, 1 MB for a full tile, stay
 * in the processor's cache while the lists of its dimensions are walked over.
 *
 * An object with two keywords of one dimension is noticed when the second one finds a code in its place.
 *
 * Codes alone are written list by list, as lists come from the pages: rows that are far from one another, again for
 * each keyword of the strip's dimensions.  The addresses are known long before, so processors fetch several rows at a
 * time.  Two processes never write to one byte: they share the dimensions out by genie_image_code_cut(), and two
 * dimensions of 4 bits that share a byte go to one process.
 *
 * Zones are made of whole strips, all codes of a row at once, when a tile's codes are there.
 */
#include <string.h>

#include "genie_image_codes.h"

#define STRIP_BYTES 16			/* of a row of a full strip */
#define STRIP_BYTES_MIN 4

/* code bytes a posting up to which codes are worth their memory: a few attributes of different widths take 3 to 4 */
#define CODE_BYTES_A_POSTING 4

static const uint32_t widths[] = {16, 8, 4};

#define N_WIDTHS (sizeof(widths) / sizeof(widths[0]))

static uint32_t
n_values(const GenieImagePlan *plan, uint32_t d)
{
	return (d + 1 < plan->n_dimensions ? plan->first_ranks[d + 1] : plan->n_keywords) - plan->first_ranks[d];
}

/* one code means none */
static uint32_t
width_of(uint32_t values)
{
	return values < 16 ? 4 : values < 256 ? 8 : 16;
}

/* The bytes of a strip's row with so many codes of a width. */
static uint32_t
row_bytes_of(uint32_t n_codes, uint32_t width)
{
	uint32_t	bytes = STRIP_BYTES_MIN;

	while (bytes * 8 / width < n_codes)
		bytes *= 2;
	return bytes;
}

GenieCodeLayout
genie_codes_layout(const GenieImagePlan *plan, GenieCodeDimension *dimensions, GenieCodeStrip *strips)
{
	GenieCodeLayout layout = {0, 0};

	for (uint32_t w = 0; w < N_WIDTHS; w++)
	{
		uint32_t	width = widths[w];
		uint32_t	capacity = STRIP_BYTES * 8 / width;
		uint32_t	n = 0;

		for (uint32_t d = 0; d < plan->n_dimensions; d++)
		{
			uint32_t	values = n_values(plan, d);

			if (width_of(values) != width)
				continue;
			if (dimensions != NULL)
				dimensions[d] = (GenieCodeDimension) {plan->first_ranks[d], values,
					(uint16_t) (layout.n_strips + n / capacity), (uint16_t) (n % capacity), width};
			n++;
		}
		for (uint32_t i = 0; i < n; i += capacity)
		{
			uint32_t	n_codes = n - i < capacity ? n - i : capacity;
			uint32_t	bytes = row_bytes_of(n_codes, width);

			if (strips != NULL)
				strips[layout.n_strips] = (GenieCodeStrip) {(uint16_t) width, (uint16_t) bytes,
					(uint16_t) n_codes, (uint16_t) layout.row_bytes};
			layout.n_strips++;
			layout.row_bytes += bytes;
		}
	}
	return layout;
}

bool
genie_image_wants_codes(uint32_t n_dimensions, const uint32_t *first_ranks, uint32_t n_keywords,
						uint32_t max_keywords, uint64_t n_objects, uint64_t n_postings)
{
	GenieImagePlan plan = {.n_keywords = n_keywords, .n_dimensions = n_dimensions, .first_ranks = first_ranks};

	if (n_dimensions < 2 || n_dimensions > GENIE_CODE_DIMENSIONS_MAX || n_keywords > GENIE_CODE_KEYWORDS_MAX ||
		max_keywords > n_dimensions)
		return false;
	for (uint32_t d = 0; d < n_dimensions; d++)
		if (n_values(&plan, d) > UINT16_MAX)
			return false;
	return genie_codes_layout(&plan, NULL, NULL).row_bytes * n_objects <= CODE_BYTES_A_POSTING * n_postings;
}

/* ---- walking over a tile's lists ---- */

/* The lists of a tile that are runs of postings, and its bitmaps, each in rank order. */
typedef struct ListWalk
{
	const uint8_t *base;
	const GenieImageTile *tile;
	uint32_t	list;			/* the next list */
	uint32_t	word;			/* INDEXED: where it is */
	uint64_t	present;		/* bits of the word that are still to come */
} ListWalk;

static ListWalk
walk_lists(const uint8_t *base, const GenieImageTile *tile)
{
	ListWalk	walk = {base, tile, 0, 0, 0};

	if (tile->plain.form == GENIE_DIRECTORY_INDEXED)
		walk.present = ((const GenieImageWord *) (const void *) (base + tile->plain.directory))->present;
	return walk;
}

/* The rank of the next list; there is one. */
static uint32_t
next_rank(ListWalk *walk)
{
	const uint8_t *directory = walk->base + walk->tile->plain.directory;
	uint32_t	rank;

	if (walk->tile->plain.form == GENIE_DIRECTORY_SORTED)
		return ((const uint32_t *) (const void *) directory)[walk->list++];
	while (walk->present == 0)
		walk->present = ((const GenieImageWord *) (const void *) directory)[++walk->word].present;
	rank = walk->word * 64 + (uint32_t) __builtin_ctzll(walk->present);
	walk->present &= walk->present - 1;
	walk->list++;
	return rank;
}

/* ---- one dimension's codes ---- */

/* Writes an object's code; returns what was there before. */
static inline uint32_t
put_code(const GenieCodeColumn *column, uint32_t object, uint32_t code)
{
	uint8_t    *at = column->bytes + (size_t) object * column->stride;
	uint32_t	before;

	if (column->width == 8)
	{
		before = *at;
		*at = (uint8_t) code;
	}
	else if (column->width == 16)
	{
		before = *(uint16_t *) (void *) at;
		*(uint16_t *) (void *) at = (uint16_t) code;
	}
	else
	{
		before = *at >> column->shift & 0xF;
		*at |= (uint8_t) (code << column->shift);
	}
	return before;
}

/* The dimension of a rank, ranks coming in ascending order. */
static const GenieCodeDimension *
dimension_of(const GenieCodeDimension *dimension, uint32_t rank)
{
	while (rank - dimension->first_rank >= dimension->n_values)
		dimension++;
	return dimension;
}

static uint32_t
put_bitmap(const GenieCodeColumn *column, const uint8_t *bitmap, uint32_t code)
{
	const uint64_t *words = (const uint64_t *) (const void *) bitmap;
	uint32_t	before = 0;

	for (uint32_t w = 0; w < GENIE_TILE_BITMAP_BYTES / sizeof(uint64_t); w++)
		for (uint64_t word = words[w]; word != 0; word &= word - 1)
			before |= put_code(column, w * 64 + (uint32_t) __builtin_ctzll(word), code);
	return before;
}

/* ---- zones ---- */

/* bytes of a strip that are looked at together, whole rows: so many that compilers take the loops for vectors */
#define LANE_BYTES 64

/* codes of a byte or of two, or halves of a byte: the smallest and the largest one at each place of LANE_BYTES */
typedef union CodeExtremes
{
	uint8_t		bytes[2][LANE_BYTES];
	uint16_t	words[LANE_BYTES / sizeof(uint16_t)];
} CodeExtremes;

#define NOTE_CODE(smallest, largest, code) \
	do { \
		(smallest) = (code) < (smallest) ? (code) : (smallest); \
		(largest) = (code) > (largest) ? (code) : (largest); \
	} while (0)

/* Notes n <= LANE_BYTES bytes of codes. */
static inline __attribute__((always_inline)) void
note_codes(const uint8_t *restrict codes, uint32_t n, const uint32_t width, CodeExtremes *restrict smallest,
		   CodeExtremes *restrict largest)
{
	const uint16_t *words = (const uint16_t *) (const void *) codes;

	if (width == 16)
		for (uint32_t i = 0; i < n / sizeof(uint16_t); i++)
			NOTE_CODE(smallest->words[i], largest->words[i], words[i]);
	else if (width == 8)
		for (uint32_t i = 0; i < n; i++)
			NOTE_CODE(smallest->bytes[0][i], largest->bytes[0][i], codes[i]);
	else
		for (uint32_t i = 0; i < n; i++)
		{
			uint8_t		low = codes[i] & 0xF;
			uint8_t		high = codes[i] >> 4;

			NOTE_CODE(smallest->bytes[0][i], largest->bytes[0][i], low);
			NOTE_CODE(smallest->bytes[1][i], largest->bytes[1][i], high);
		}
}

/* Notes the n bytes of a strip's rows in a zone. */
static inline __attribute__((always_inline)) void
note_rows(const uint8_t *codes, uint32_t n, const uint32_t width, CodeExtremes *smallest, CodeExtremes *largest)
{
	memset(smallest, 0xFF, sizeof(CodeExtremes));
	memset(largest, 0, sizeof(CodeExtremes));
	for (; n >= LANE_BYTES; n -= LANE_BYTES, codes += LANE_BYTES)
		note_codes(codes, LANE_BYTES, width, smallest, largest);
	note_codes(codes, n, width, smallest, largest);
}

/* The extremes of one slot, out of those of all places. */
static void
slot_extremes(const CodeExtremes *smallest, const CodeExtremes *largest, const GenieCodeStrip *strip, uint32_t slot,
			  uint16_t *low, uint16_t *high)
{
	const uint32_t unit = strip->width == 16 ? sizeof(uint16_t) : sizeof(uint8_t);
	const uint32_t half = strip->width == 4 ? slot % 2 : 0;

	*low = UINT16_MAX;
	*high = 0;
	for (uint32_t i = strip->width == 4 ? slot / 2 : slot; i < LANE_BYTES / unit; i += strip->row_bytes / unit)
	{
		uint16_t	a = strip->width == 16 ? smallest->words[i] : smallest->bytes[half][i];
		uint16_t	b = strip->width == 16 ? largest->words[i] : largest->bytes[half][i];

		*low = a < *low ? a : *low;
		*high = b > *high ? b : *high;
	}
}

/* Makes the zones of a strip's dimensions. */
static void
fill_zones(GenieImageGroup *group, const GenieImageTile *tile, uint32_t s)
{
	const GenieCodeStrip *strip = genie_image_strips(group) + s;
	const GenieCodeDimension *dimensions = genie_image_dimensions(group);
	const uint8_t *rows = (const uint8_t *) group + tile->codes +
		(uint64_t) strip->offset * genie_code_rows(tile->n_objects);
	const uint32_t n_zones = genie_zones(tile->n_objects);
	uint16_t	low[GENIE_TILE_ZONES][STRIP_BYTES * 2];
	uint16_t	high[GENIE_TILE_ZONES][STRIP_BYTES * 2];

	for (uint32_t z = 0; z < n_zones; z++)
	{
		uint32_t	first = z * GENIE_ZONE_OBJECTS;
		uint32_t	n = tile->n_objects - first < GENIE_ZONE_OBJECTS ? tile->n_objects - first : GENIE_ZONE_OBJECTS;
		const uint8_t *codes = rows + (size_t) first * strip->row_bytes;
		CodeExtremes smallest;
		CodeExtremes largest;

		if (strip->width == 16)
			note_rows(codes, n * strip->row_bytes, 16, &smallest, &largest);
		else if (strip->width == 8)
			note_rows(codes, n * strip->row_bytes, 8, &smallest, &largest);
		else
			note_rows(codes, n * strip->row_bytes, 4, &smallest, &largest);
		for (uint32_t slot = 0; slot < strip->n_codes; slot++)
			slot_extremes(&smallest, &largest, strip, slot, &low[z][slot], &high[z][slot]);
	}
	for (uint32_t d = 0; d < group->n_dimensions; d++)
	{
		uint16_t   *zones = (uint16_t *) genie_image_zones(group, tile, d);

		for (uint32_t z = 0; z < n_zones && dimensions[d].strip == s; z++)
		{
			zones[z] = low[z][dimensions[d].slot];
			zones[n_zones + z] = high[z][dimensions[d].slot];
		}
	}
}

void
genie_codes_zones(GenieImageGroup *group, uint32_t t)
{
	for (uint32_t s = 0; s < group->n_strips; s++)
		fill_zones(group, genie_image_tiles(group) + t, s);
}

bool
genie_codes_put(GenieImageGroup *group, uint32_t t, uint32_t rank, const uint16_t *locals, uint32_t n,
				uint32_t *dimension)
{
	const GenieCodeDimension *dimensions = genie_image_dimensions(group);
	const GenieCodeDimension *of_rank = dimension_of(dimensions + *dimension, rank);
	GenieCodeColumn column = genie_code_column(group, genie_image_tiles(group) + t, of_rank);
	uint32_t	before = 0;

	*dimension = (uint32_t) (of_rank - dimensions);
	for (uint32_t i = 0; i < n; i++)
		before |= put_code(&column, locals[i], rank - of_rank->first_rank + 1);
	return before == 0;
}

uint32_t
genie_image_code_cut(const GenieImagePlan *plan, uint32_t rank)
{
	uint32_t	n_half = 0;		/* dimensions of 4 bits before */

	for (uint32_t d = 0; d < plan->n_dimensions; d++)
	{
		if (plan->first_ranks[d] >= rank && n_half % 2 == 0)
			return plan->first_ranks[d];
		n_half += width_of(n_values(plan, d)) == 4;
	}
	return plan->n_keywords;
}

bool
genie_codes_fill(GenieImageGroup *group, uint32_t t)
{
	const uint8_t *base = (const uint8_t *) group;
	const GenieImageTile *tile = genie_image_tiles(group) + t;
	const GenieCodeDimension *dimension = genie_image_dimensions(group);
	const uint32_t *starts = (const uint32_t *) (const void *) (base + tile->plain.starts);
	const uint16_t *postings = (const uint16_t *) (const void *) (base + tile->postings);
	const uint32_t *bitmap_ranks = (const uint32_t *) (const void *) (base + tile->bitmap_ranks);
	ListWalk	walk = walk_lists(base, tile);
	uint32_t	before = 0;

	while (walk.list < tile->plain.n && before == 0)
	{
		uint32_t	list = walk.list;
		uint32_t	rank = next_rank(&walk);
		GenieCodeColumn column;

		dimension = dimension_of(dimension, rank);
		column = genie_code_column(group, tile, dimension);
		for (uint32_t i = starts[list]; i < starts[list + 1]; i++)
			before |= put_code(&column, postings[i], rank - dimension->first_rank + 1);
	}
	dimension = genie_image_dimensions(group);
	for (uint32_t b = 0; b < tile->n_bitmaps && before == 0; b++)
	{
		GenieCodeColumn column;

		dimension = dimension_of(dimension, bitmap_ranks[b]);
		column = genie_code_column(group, tile, dimension);
		before = put_bitmap(&column, base + tile->bitmaps + (uint64_t) b * GENIE_TILE_BITMAP_BYTES,
							bitmap_ranks[b] - dimension->first_rank + 1);
	}
	if (before == 0)
		genie_codes_zones(group, t);
	return before == 0;
}

/* ---- checking ---- */

/* Are these the smallest and the largest code of a tile's zone? */
static bool
zone_valid(const GenieCodeColumn *column, uint32_t n_objects, uint32_t zone, uint32_t smallest, uint32_t largest)
{
	uint32_t	low = UINT16_MAX;
	uint32_t	high = 0;

	for (uint32_t i = zone * GENIE_ZONE_OBJECTS; i < (zone + 1) * GENIE_ZONE_OBJECTS && i < n_objects; i++)
		NOTE_CODE(low, high, genie_code_get(column, i));
	return smallest == low && largest == high;
}

/*
 * Are there as many codes as postings, if there are lists, none in rows past the end, each of a value that its
 * dimension has, and are zones what the codes say?
 */
static bool
tile_valid(const GenieImageGroup *group, const GenieImageTile *tile)
{
	const GenieCodeDimension *dimensions = genie_image_dimensions(group);
	const uint8_t *base = (const uint8_t *) group;
	const uint32_t *bitmap_ranks = (const uint32_t *) (const void *) (base + tile->bitmap_ranks);
	const uint32_t *starts = (const uint32_t *) (const void *) (base + tile->plain.starts);
	const uint16_t *postings = (const uint16_t *) (const void *) (base + tile->postings);
	const GenieCodeDimension *dimension = dimensions;
	ListWalk	walk = walk_lists(base, tile);
	uint64_t	n_codes = 0;
	uint64_t	n_postings = tile->n_postings;

	for (uint32_t d = 0; d < group->n_dimensions; d++)
	{
		GenieCodeColumn column = genie_code_column(group, tile, &dimensions[d]);
		const uint16_t *zones = genie_image_zones(group, tile, d);

		for (uint32_t z = 0; z < genie_zones(tile->n_objects); z++)
			if (!zone_valid(&column, tile->n_objects, z, zones[z], zones[genie_zones(tile->n_objects) + z]))
				return false;
		for (uint32_t i = 0; i < genie_code_rows(tile->n_objects); i++)
		{
			uint32_t	code = genie_code_get(&column, i);

			if (code > dimensions[d].n_values || (code != 0 && i >= tile->n_objects))
				return false;
			n_codes += code != 0;
		}
	}
	while (walk.list < tile->plain.n)
	{
		uint32_t	list = walk.list;
		uint32_t	rank = next_rank(&walk);
		GenieCodeColumn column;

		dimension = dimension_of(dimension, rank);
		column = genie_code_column(group, tile, dimension);
		for (uint32_t i = starts[list]; i < starts[list + 1]; i++)
			if (genie_code_get(&column, postings[i]) != rank - dimension->first_rank + 1)
				return false;
	}
	dimension = dimensions;
	for (uint32_t b = 0; b < tile->n_bitmaps; b++)
	{
		const uint8_t *bitmap = base + tile->bitmaps + (uint64_t) b * GENIE_TILE_BITMAP_BYTES;
		GenieCodeColumn column;

		dimension = dimension_of(dimension, bitmap_ranks[b]);
		column = genie_code_column(group, tile, dimension);
		for (uint32_t i = 0; i < tile->n_objects; i++)
			if ((bitmap[i / 8] >> (i % 8) & 1) != 0)
			{
				n_postings++;
				if (genie_code_get(&column, i) != bitmap_ranks[b] - dimension->first_rank + 1)
					return false;
			}
	}
	return n_codes == n_postings || group->form == GENIE_IMAGE_CODES;
}

bool
genie_codes_valid(const GenieImageGroup *group)
{
	const GenieCodeDimension *dimensions = genie_image_dimensions(group);
	uint32_t	rank = 0;

	for (uint32_t d = 0; d < group->n_dimensions; d++)
	{
		const GenieCodeDimension *dimension = &dimensions[d];
		const GenieCodeStrip *strip = genie_image_strips(group) + dimension->strip;

		if (dimension->first_rank != rank || dimension->n_values == 0 || dimension->strip >= group->n_strips ||
			dimension->width != width_of(dimension->n_values) || strip->width != dimension->width ||
			dimension->slot >= strip->n_codes || strip->n_codes > strip->row_bytes * 8 / strip->width)
			return false;
		rank += dimension->n_values;
	}
	if (rank != group->n_keywords)
		return false;
	for (uint32_t t = 0; t < group->n_tiles; t++)
		if (!tile_valid(group, genie_image_tiles(group) + t))
			return false;
	return true;
}
