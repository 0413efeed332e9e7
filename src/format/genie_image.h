/*
 * genie_image.h
 *	  The image of a segment: posting lists by tile, as engines count them in memory.
 *
 * On disk lists are compressed and lie by keyword (genie_posting.h).  An image holds the same lists tile by tile, a
 * posting as the plain 16-bit number of its object in the tile.  So an engine reads only what it counts, and a range of
 * keywords is one run of postings.
 *
 * An image is cut into *groups* of consecutive tiles: position-independent blocks of bytes, each with its header, all
 * offsets from its first byte.  The group is the unit of memory, upload, eviction and placement on a device.  Groups
 * are read-only once they are finished.  The live bits, one an object for the whole segment, are kept apart, because
 * VACUUM changes them.
 *
 *		GenieImageGroup		header
 *		GenieImageTile[]	one a tile: counts, and where its parts are
 *		for each tile, each part aligned to GENIE_IMAGE_ALIGN bytes:
 *			directory		which keywords (ranks) have a list here; two forms:
 *				INDEXED		GenieImageWord for each 64 ranks, and two words more: bits of the ranks
 *							that have a list, lists and bitmaps before them (a succinct rank index)
 *				SORTED		uint32 rank of each list, ascending: where few of very many keywords occur
 *			starts			uint32[n_lists + 1]: where each list begins in postings, and the end
 *			postings		uint16[n_postings], list after list by rank, ascending inside a list; then
 *							GENIE_IMAGE_SLACK bytes that may be read and mean nothing
 *			directory, starts	of chunked lists; the same, with starts in chunks.  Only in tight groups
 *			chunks			GenieChunk[n_chunks] (genie_chunk.h), list after list by rank; the same
 *			bitmap_ranks	uint32[n_bitmaps], ascending
 *			bitmaps			GENIE_TILE_BITMAP_BYTES each, bit i of byte i / 8 (LSB first) is object i
 *			sizes			keywords an object less the smallest of the segment, size_width bytes each;
 *							nothing where all are equal (size_width 0)
 *			codes			the objects once more, as rows of codes; only in groups with codes (below)
 *			zones			the smallest and the largest code of each 1,024 objects; the same; then
 *							GENIE_ZONE_SLACK bytes that may be read and mean nothing
 *		GenieCodeDimension[], GenieCodeStrip[]		what the codes mean; only in groups with codes
 *
 * Where a group has lists and codes, all of sizes, codes, zones and what these mean lies behind all lists, as a group
 * of codes alone (below) that begins at the offset `alone`.  So who needs only codes copies only those.
 *
 * Codes.  Where no object has two keywords of one dimension (tuples, LSH signatures), an object is one code a
 * dimension: 0 for no keyword, else the keyword's number in its dimension, from 1 on.  Bit lanes read codes: object by
 * object, all queries of a batch at once.  A code takes 4, 8 or 16 bits by how many keywords its dimension has.
 * Codes of one width lie together in *strips*: a strip is a row of 4, 8 or 16 bytes an object, row after row, as many
 * rows as the tile has objects rounded up to GENIE_CODE_ROWS (codes of the rows past the end are 0).  Strips of
 * 16-bit codes come first, then 8, then 4; inside a width dimensions come in rank order, and only the last strip of a
 * width may be shorter than 16 bytes.  Unused codes at a strip's end are 0.  The lowest bits of a row's first byte are
 * its first code (little endian).
 *
 * Zones.  A zone is GENIE_ZONE_OBJECTS objects, the tile's last one perhaps fewer.  For each dimension, in rank order,
 * there are two arrays of genie_zones() numbers of 16 bits: the smallest code of each zone, then the largest one.  Dead
 * objects count too.  A smallest code of 0 says that an object has no keyword of the dimension.
 *
 * The plan says whether codes are wanted; they are made from the lists when a group is finished, and zones from codes.
 * If it then turns out that an object has two keywords of one dimension, the group has neither: n_dimensions is 0.
 *
 * Codes alone.  Codes say all that lists say, and a signature takes a third of the room so.  A plan of the form
 * GENIE_IMAGE_CODES makes groups whose tiles have no lists and no bitmaps.  Codes are then written when a list is
 * added.  Such an image cannot be if an object has two keywords of one dimension.
 *
 * Tight.  Where there cannot be codes, a plan of the form GENIE_IMAGE_TIGHT takes less room, too: it has no codes, and
 * lists are chunked where that is shorter.  (Compressed lists of an inverted index on the GPU are thesis 5.4.1.  Its
 * codecs need a scan of a block to decode; a chunk needs one thread, and postings are still counted as they are read.)
 *
 * A keyword's list in a tile is a bitmap if it has GENIE_IMAGE_DENSE postings or more, else a run of postings; never
 * both.  In a tight group it is a run of chunks if these are shorter than the run of postings would be, or, instead of
 * a bitmap, if they take less than GENIE_IMAGE_TIGHT_BITMAP bytes.
 *
 * Heads.  Where an image is on a device alone, the host has only the *head* of each group: the header, the tiles'
 * entries, and the dimensions and strips, which lie right behind these there.  All other offsets are the group's.
 *
 * An image is made in two passes over the lists in rank order: the first plans (how many lists, postings and bitmaps
 * each tile has, hence how many bytes), the second fills.
 *
 * Plain C99 that C++ and CUDA compile too.
 */
#ifndef GENIE_IMAGE_H
#define GENIE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "genie_chunk.h"
#include "genie_posting.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __CUDACC__
#define GENIE_IMAGE_FUNCTION static __host__ __device__ __forceinline__
#else
#define GENIE_IMAGE_FUNCTION static inline
#endif

#ifdef __CUDA_ARCH__
#define GENIE_POPCOUNT(word) ((uint32_t) __popcll(word))
#else
#define GENIE_POPCOUNT(word) ((uint32_t) __builtin_popcountll(word))
#endif

#define GENIE_IMAGE_MAGIC	0x474D4947	/* "GIMG" */
#define GENIE_IMAGE_HEAD_MAGIC 0x48474947	/* "GIGH": of a head */
#define GENIE_IMAGE_VERSION 7
#define GENIE_IMAGE_ALIGN	16	/* bytes: a vector load */
#define GENIE_IMAGE_SLACK	16

/*
 * Postings from which on a list is a bitmap: one object in 24.  A bitmap of 8 KB is read and added faster than that
 * many postings are counted one by one.  If more lists were bitmaps, LSH signatures of 67 buckets would take more than
 * 2.3 bytes a posting.
 */
#define GENIE_IMAGE_DENSE	(GENIE_TILE_OBJECTS / 24)

/* chunks of a tile: as many as their bytes, counted as postings, have numbers of 32 bits */
#define GENIE_TILE_CHUNKS_MAX (UINT32_MAX / (GENIE_CHUNK_BYTES / 2))

/* Of a tight group, bytes of chunks from which on a list is a bitmap, which is counted in a fraction of the time. */
#define GENIE_IMAGE_TIGHT_BITMAP (GENIE_TILE_BITMAP_BYTES * 2 / 3)

/* bytes that a group aims at: large enough to copy at full speed, small enough to place anywhere */
#define GENIE_IMAGE_GROUP_BYTES (UINT64_C(32) << 20)

/* What a group has of its objects; all groups of an image have the same. */
typedef enum GenieImageForm
{
	GENIE_IMAGE_FULL = 0,		/* lists; and codes, where these are worth it */
	GENIE_IMAGE_CODES = 1,		/* codes alone: tiles have no lists */
	GENIE_IMAGE_TIGHT = 2		/* lists alone, chunked where that is shorter */
} GenieImageForm;

typedef enum GenieDirectoryForm
{
	GENIE_DIRECTORY_INDEXED = 1,
	GENIE_DIRECTORY_SORTED = 2
} GenieDirectoryForm;

/* 64 ranks of an INDEXED directory; one 16-byte load */
typedef struct GenieImageWord
{
	uint64_t	present;		/* bit i: rank 64 * word + i has a list in postings */
	uint32_t	lists_before;	/* lists of lower words */
	uint32_t	bitmaps_before; /* bitmaps of lower words */
} GenieImageWord;

/* Lists of one kind, by rank. */
typedef struct GenieImageLists
{
	uint32_t	n;
	uint32_t	form;			/* GenieDirectoryForm */
	uint64_t	directory;		/* offsets from the group's first byte */
	uint64_t	starts;
} GenieImageLists;

typedef struct GenieImageTile
{
	uint32_t	n_objects;		/* 1 .. 65,536 */
	uint32_t	n_bitmaps;
	uint32_t	n_postings;		/* of the plain lists */
	uint32_t	n_chunks;
	GenieImageLists plain;
	GenieImageLists chunked;	/* its directory knows no bitmaps */
	uint64_t	postings;		/* offsets, as above */
	uint64_t	chunks;
	uint64_t	bitmap_ranks;
	uint64_t	bitmaps;
	uint64_t	sizes;
	uint64_t	codes;
	uint64_t	zones;
} GenieImageTile;

/* rows of a strip come in multiples of this: engines read whole blocks of objects */
#define GENIE_CODE_ROWS 64

/* objects of a zone; zones of a full tile, a bit each of a 64-bit word */
#define GENIE_ZONE_OBJECTS 1024
#define GENIE_TILE_ZONES (GENIE_TILE_OBJECTS / GENIE_ZONE_OBJECTS)

/* engines read as many zones of a dimension as a full tile has, wherever they begin */
#define GENIE_ZONE_SLACK (GENIE_TILE_ZONES * sizeof(uint16_t))

/* segments of more dimensions have no codes: the sums of a row must fit bit-sliced counters of 16 bits */
#define GENIE_CODE_DIMENSIONS_MAX 4096

/*
 * Segments of more keywords have no codes: the table of a batch, 128 bytes a keyword for 1024 queries, must stay in a
 * GPU's cache, where this many take 8 MB.
 */
#define GENIE_CODE_KEYWORDS_MAX 65536

/* A dimension: code c >= 1 is rank first_rank + c - 1. */
typedef struct GenieCodeDimension
{
	uint32_t	first_rank;
	uint32_t	n_values;		/* ranks that it has, 1 .. 65,535 */
	uint16_t	strip;
	uint16_t	slot;			/* which of the strip's codes */
	uint32_t	width;			/* bits of a code: 4, 8, 16 */
} GenieCodeDimension;

/* A strip of tile t begins at base + t->codes + offset * genie_code_rows(t->n_objects). */
typedef struct GenieCodeStrip
{
	uint16_t	width;			/* bits of a code */
	uint16_t	row_bytes;		/* 4, 8, 16 */
	uint16_t	n_codes;		/* used, at most row_bytes * 8 / width */
	uint16_t	offset;			/* bytes of the rows of earlier strips */
} GenieCodeStrip;

typedef struct GenieImageGroup
{
	uint32_t	magic;
	uint16_t	version;
	uint16_t	size_width;		/* bytes an object: 0, 1 or 2 */
	uint64_t	n_bytes;		/* of the whole group */
	uint32_t	first_tile;
	uint32_t	n_tiles;
	uint32_t	n_keywords;		/* of the segment: ranks are below it */
	uint32_t	min_size;		/* of the segment's objects, as its sizes are stored */
	uint32_t	max_size;
	uint32_t	n_dimensions;	/* 0: no codes */
	uint32_t	n_strips;
	uint32_t	form;			/* GenieImageForm */
	uint64_t	dimensions;		/* offsets from the group's first byte; dimensions are in rank order */
	uint64_t	strips;
	uint64_t	alone;			/* of a group with lists and codes: the group of codes alone in it; else 0 */
} GenieImageGroup;				/* GenieImageTile[n_tiles] follows */

/* A segment's image as an engine gets it.  Everything stays where it is during a call. */
typedef struct GenieSegmentImage
{
	uint64_t	id;				/* never given to another image while the engine lives */
	uint32_t	n_objects;
	uint32_t	n_keywords;
	uint32_t	n_tiles;
	uint32_t	n_groups;
	const GenieImageGroup *const *groups;	/* in object order; or heads */
	const uint64_t *live;		/* GENIE_TILE_WORDS words a tile; bits past n_objects are clear */
	uint64_t	live_version;	/* another number whenever live is another */

	/*
	 * Postings of all ranks below r, for r = 0 .. n_keywords: how many a query counts, exactly.  NULL where no group
	 * has codes, because then there is nothing to choose.
	 */
	const uint64_t *postings_before;
} GenieSegmentImage;

static inline const GenieImageTile *
genie_image_tiles(const GenieImageGroup *group)
{
	return (const GenieImageTile *) (const void *) (group + 1);
}

static inline const GenieCodeDimension *
genie_image_dimensions(const GenieImageGroup *group)
{
	return (const GenieCodeDimension *) (const void *) ((const uint8_t *) group + group->dimensions);
}

static inline const GenieCodeStrip *
genie_image_strips(const GenieImageGroup *group)
{
	return (const GenieCodeStrip *) (const void *) ((const uint8_t *) group + group->strips);
}

/* The group of codes alone that a group with lists and codes has in it; NULL: it has none. */
static inline const GenieImageGroup *
genie_image_alone(const GenieImageGroup *group)
{
	if (group->alone == 0 || group->n_dimensions == 0)
		return NULL;
	return (const GenieImageGroup *) (const void *) ((const uint8_t *) group + group->alone);
}

GENIE_IMAGE_FUNCTION uint32_t
genie_code_rows(uint32_t n_objects)
{
	return (n_objects + GENIE_CODE_ROWS - 1) / GENIE_CODE_ROWS * GENIE_CODE_ROWS;
}

/* Where the codes of a dimension lie in a tile. */
typedef struct GenieCodeColumn
{
	uint8_t    *bytes;			/* of the first row's code */
	uint32_t	stride;
	uint32_t	width;
	uint32_t	shift;			/* 4-bit codes: in the byte */
} GenieCodeColumn;

static inline GenieCodeColumn
genie_code_column(const GenieImageGroup *group, const GenieImageTile *tile, const GenieCodeDimension *dimension)
{
	const GenieCodeStrip *strip = genie_image_strips(group) + dimension->strip;
	const uint64_t before = (uint64_t) strip->offset * genie_code_rows(tile->n_objects);
	const uint32_t bit = dimension->slot * dimension->width;
	GenieCodeColumn column;

	column.bytes = (uint8_t *) group + tile->codes + before + bit / 8;
	column.stride = strip->row_bytes;
	column.width = dimension->width;
	column.shift = bit % 8;
	return column;
}

/* An object's code. */
static inline uint32_t
genie_code_get(const GenieCodeColumn *column, uint32_t object)
{
	const uint8_t *at = column->bytes + (size_t) object * column->stride;

	if (column->width == 16)
		return *(const uint16_t *) (const void *) at;
	return column->width == 8 ? *at : *at >> column->shift & 0xF;
}

/* The zones of a tile. */
GENIE_IMAGE_FUNCTION uint32_t
genie_zones(uint32_t n_objects)
{
	return (n_objects + GENIE_ZONE_OBJECTS - 1) / GENIE_ZONE_OBJECTS;
}

/* The smallest codes of a dimension in each zone of a tile; the largest ones lie behind them. */
static inline const uint16_t *
genie_image_zones(const GenieImageGroup *group, const GenieImageTile *tile, uint32_t dimension)
{
	return (const uint16_t *) (const void *) ((const uint8_t *) group + tile->zones) +
		(size_t) dimension * 2 * genie_zones(tile->n_objects);
}

/* The dimension of a rank, at or behind dimension d. */
GENIE_IMAGE_FUNCTION uint32_t
genie_code_dimension_of(const GenieCodeDimension *dimensions, uint32_t n_dimensions, uint32_t d, uint32_t rank)
{
	uint32_t	end = n_dimensions;

	while (end - d > 1)
	{
		uint32_t	middle = d + (end - d) / 2;

		if (dimensions[middle].first_rank <= rank)
			d = middle;
		else
			end = middle;
	}
	return d;
}

/* Do all groups have codes?  They are of the same dimensions then. */
static inline bool
genie_image_has_codes(const GenieSegmentImage *image)
{
	for (uint32_t g = 0; g < image->n_groups; g++)
		if (image->groups[g]->n_dimensions == 0)
			return false;
	return image->n_groups > 0 && image->postings_before != NULL;
}

/* Has the tile chunked lists?  Only then need genie_image_find_chunks() be asked. */
GENIE_IMAGE_FUNCTION bool
genie_tile_has_chunks(const GenieImageTile *tile)
{
	return tile->n_chunks > 0;
}

/* Is it the head of a group that is not here? */
static inline bool
genie_image_is_head(const GenieImageGroup *group)
{
	return group->magic == GENIE_IMAGE_HEAD_MAGIC;
}

/* Is the image on a device alone? */
static inline bool
genie_image_is_on_device(const GenieSegmentImage *image)
{
	return image->n_groups > 0 && genie_image_is_head(image->groups[0]);
}

/* Has it codes alone? */
static inline bool
genie_image_is_codes(const GenieSegmentImage *image)
{
	return image->n_groups > 0 && image->groups[0]->form == GENIE_IMAGE_CODES;
}

/* The sizes of a tile's objects, keywords each, as images and backends keep them. */
typedef struct GenieTileSizes
{
	uint32_t	width;			/* bytes an object: 0, 1 or 2 */
	uint32_t	smallest;
	uint32_t	largest;		/* none is larger */
	const uint8_t *above;		/* n_objects times width bytes: size - smallest */
} GenieTileSizes;

/*
 * The lists of a range of ranks in a tile: postings [from, to), bitmaps [bitmap_from, bitmap_to).  Of chunked lists:
 * chunks [from, to), and no bitmaps.
 */
typedef struct GenieImageSpan
{
	uint32_t	first_list;		/* of the tile: where in starts they begin */
	uint32_t	n_lists;		/* how many lists the postings are of */
	uint32_t	from;
	uint32_t	to;
	uint32_t	bitmap_from;
	uint32_t	bitmap_to;
} GenieImageSpan;

/* the first of n ascending ranks that is at least rank */
GENIE_IMAGE_FUNCTION uint32_t
genie_rank_lower_bound(const uint32_t *ranks, uint32_t low, uint32_t high, uint32_t rank)
{
	while (low < high)
	{
		uint32_t	middle = low + (high - low) / 2;

		if (ranks[middle] < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of an INDEXED directory: the lists of ranks below this one. */
GENIE_IMAGE_FUNCTION uint32_t
genie_lists_below(const GenieImageWord *words, uint32_t rank)
{
	const GenieImageWord *word = words + rank / 64;

	return word->lists_before + GENIE_POPCOUNT(word->present & ((UINT64_C(1) << (rank % 64)) - 1));
}

/* Finds the lists of one kind of ranks [first, end), end <= n_keywords, of a group that begins at base. */
GENIE_IMAGE_FUNCTION GenieImageSpan
genie_lists_find(const uint8_t *base, const GenieImageLists *lists, uint32_t first, uint32_t end)
{
	const uint32_t *starts = (const uint32_t *) (const void *) (base + lists->starts);
	const uint8_t *directory = base + lists->directory;
	GenieImageSpan span = {0, 0, 0, 0, 0, 0};
	uint32_t	high;

	if (lists->form == GENIE_DIRECTORY_INDEXED)
	{
		span.first_list = genie_lists_below((const GenieImageWord *) (const void *) directory, first);
		high = genie_lists_below((const GenieImageWord *) (const void *) directory, end);
	}
	else
	{
		const uint32_t *ranks = (const uint32_t *) (const void *) directory;

		span.first_list = genie_rank_lower_bound(ranks, 0, lists->n, first);
		high = genie_rank_lower_bound(ranks, span.first_list, lists->n, end);
	}
	span.n_lists = high - span.first_list;
	span.from = starts[span.first_list];
	span.to = starts[high];
	return span;
}

/* Finds the plain lists and the bitmaps in a tile. */
GENIE_IMAGE_FUNCTION GenieImageSpan
genie_image_find(const uint8_t *base, const GenieImageTile *tile, uint32_t first, uint32_t end)
{
	const uint32_t *bitmap_ranks = (const uint32_t *) (const void *) (base + tile->bitmap_ranks);
	GenieImageSpan span = genie_lists_find(base, &tile->plain, first, end);

	if (tile->plain.form == GENIE_DIRECTORY_INDEXED)
	{
		const GenieImageWord *words = (const GenieImageWord *) (const void *) (base + tile->plain.directory);
		const GenieImageWord *a = words + first / 64;
		const GenieImageWord *b = words + end / 64;

		span.bitmap_from = genie_rank_lower_bound(bitmap_ranks, a->bitmaps_before, a[1].bitmaps_before, first);
		span.bitmap_to = genie_rank_lower_bound(bitmap_ranks, b->bitmaps_before, b[1].bitmaps_before, end);
	}
	else
	{
		span.bitmap_from = genie_rank_lower_bound(bitmap_ranks, 0, tile->n_bitmaps, first);
		span.bitmap_to = genie_rank_lower_bound(bitmap_ranks, span.bitmap_from, tile->n_bitmaps, end);
	}
	return span;
}

/* Finds the chunked lists. */
GENIE_IMAGE_FUNCTION GenieImageSpan
genie_image_find_chunks(const uint8_t *base, const GenieImageTile *tile, uint32_t first, uint32_t end)
{
	return genie_lists_find(base, &tile->chunked, first, end);
}

#ifndef __CUDACC__

/* ---- pass 1: planning ---- */

typedef struct GenieTilePlan
{
	uint32_t	n_objects;
	uint32_t	n_lists;
	uint32_t	n_bitmaps;
	uint64_t	n_postings;
	uint32_t	n_chunked;		/* lists */
	uint64_t	n_chunks;
} GenieTilePlan;

/* Notes a list of n postings, 1 .. 65,536, in a tile that is not tight. */
static inline void
genie_tile_plan_add(GenieTilePlan *plan, uint32_t n)
{
	if (n >= GENIE_IMAGE_DENSE)
		plan->n_bitmaps++;
	else
	{
		plan->n_lists++;
		plan->n_postings += n;
	}
}

/* How many chunks a list of n ascending locals is in a tight group, and of what width; 0: it is none there. */
extern uint32_t genie_image_list_chunks(const uint16_t *locals, uint32_t n, uint32_t *width);

/* Notes a list in a tile that is tight. */
static inline void
genie_tile_plan_add_tight(GenieTilePlan *plan, const uint16_t *locals, uint32_t n)
{
	uint32_t	width;
	uint32_t	n_chunks = genie_image_list_chunks(locals, n, &width);

	if (n_chunks == 0)
		genie_tile_plan_add(plan, n);
	else
	{
		plan->n_chunked++;
		plan->n_chunks += n_chunks;
	}
}

/* The part of a plan that is the same for all tiles of a segment. */
typedef struct GenieImagePlan
{
	uint32_t	n_keywords;
	uint16_t	size_width;		/* 0, 1, 2 */
	uint32_t	min_size;
	uint32_t	max_size;
	uint64_t	group_bytes;	/* what a group aims at; 0: GENIE_IMAGE_GROUP_BYTES */

	/*
	 * The dimensions' first ranks, ascending from 0 on, if codes are wanted and possible; n_dimensions 0 if not.  See
	 * genie_image_wants_codes().  Without dimensions the form is FULL or TIGHT.  TIGHT has none.
	 */
	GenieImageForm form;
	uint32_t	n_dimensions;
	const uint32_t *first_ranks;
} GenieImagePlan;

/*
 * Are codes worth their memory in a segment?  max_keywords: of its largest object.  Where objects have few of the
 * dimensions, lists say the same in less room.
 */
extern bool genie_image_wants_codes(uint32_t n_dimensions, const uint32_t *first_ranks, uint32_t n_keywords,
									uint32_t max_keywords, uint64_t n_objects, uint64_t n_postings);

/*
 * How many of the tiles from plans[first] on make a group of about plan->group_bytes, at least one, and
 * its bytes in *n_bytes.  0: a tile has more postings (2^32 - 1) or chunks (GENIE_TILE_CHUNKS_MAX) than an image can
 * hold.
 */
extern uint32_t genie_image_group_plan(const GenieImagePlan *plan, const GenieTilePlan *tiles, uint32_t first,
									   uint32_t n_tiles, uint64_t *n_bytes);

/* ---- pass 2: filling ---- */

/* Where filling stands in one tile. */
typedef struct GenieTileFill
{
	uint8_t    *base;			/* of its group */
	uint32_t	list;			/* plain */
	uint32_t	posting;
	uint32_t	bitmap;
	uint32_t	chunked;		/* list */
	uint32_t	chunk;
	uint32_t	next_rank;		/* the smallest that may come next */
	uint32_t	dimension;		/* codes alone: of the last list, or one before it */
	bool		repeats;		/* codes alone: an object has two keywords of one dimension */
} GenieTileFill;

/*
 * Lays out a group of n_tiles planned tiles, the first being number first_tile of the segment, in memory of the
 * planned size, aligned to GENIE_IMAGE_ALIGN, and starts filling: fills has n_tiles entries.
 */
extern void genie_image_group_begin(void *memory, uint64_t n_bytes, const GenieImagePlan *plan,
									const GenieTilePlan *tiles, uint32_t first_tile, uint32_t n_tiles,
									GenieTileFill *fills);

/* The same in memory that is zero. */
extern void genie_image_group_lay_out(void *memory, uint64_t n_bytes, const GenieImagePlan *plan,
									  const GenieTilePlan *tiles, uint32_t first_tile, uint32_t n_tiles,
									  GenieTileFill *fills);

/*
 * Several processes may fill a tile at once, each the lists of a range of ranks: it begins with a copy of the tile's
 * fill, moved behind all that is planned of lower ranks.  Of codes alone each fills those of whole bytes: see
 * genie_image_code_cut().
 */
static inline void
genie_tile_fill_skip(GenieTileFill *fill, const GenieTilePlan *lower)
{
	fill->list += lower->n_lists;
	fill->posting += (uint32_t) lower->n_postings;
	fill->bitmap += lower->n_bitmaps;
	fill->chunked += lower->n_chunked;
	fill->chunk += (uint32_t) lower->n_chunks;
}

/* The bytes of a group's head; and lays one out, in memory that is zero.  The group has n_bytes. */
extern uint64_t genie_image_head_bytes(const GenieImagePlan *plan, uint32_t n_tiles);
extern void genie_image_head_lay_out(void *memory, uint64_t n_bytes, const GenieImagePlan *plan,
									 const GenieTilePlan *tiles, uint32_t first_tile, uint32_t n_tiles);

/*
 * Adds the list of a rank: n ascending locals.  tile: the tile's number in its group; fill: its entry, &fills[tile].
 * Ranks come in ascending order.  False: this is not what was planned (the pages changed meanwhile, or are damaged).
 */
extern bool genie_image_add(GenieTileFill *fill, uint32_t tile, uint32_t rank, const uint16_t *locals, uint32_t n);

/*
 * The first rank from this one on at which another process may go on filling codes alone; n_keywords if there is none.
 */
extern uint32_t genie_image_code_cut(const GenieImagePlan *plan, uint32_t rank);

/*
 * The same from a list's bytes, which are decoded into place.  scratch has room for a tile.  False, and the group is
 * spoilt: malformed bytes, or as above.
 */
extern bool genie_image_decode(GenieTileFill *fill, uint32_t tile, uint32_t rank, const GenieListRef *ref,
							   uint16_t *scratch);

/* Stores the sizes (keywords) of the tile's objects, min_size .. max_size and within size_width; fill as above. */
extern void genie_image_sizes(GenieTileFill *fill, uint32_t tile, const uint32_t *sizes);

/* Finishes the group: all its fills.  False: some tile did not get all that was planned. */
extern bool genie_image_group_finish(GenieTileFill *fills, uint32_t n_tiles);

/*
 * The same for one tile, in any order.  *codes: it has codes.  Where one of a group's tiles has none, all are to be
 * dropped once all tiles are finished.
 */
extern bool genie_image_tile_finish(const GenieTileFill *fill, uint32_t tile, bool *codes);
extern void genie_image_drop_codes(void *memory);

/* Is the group consistent (genie_image_valid.c lists the invariants)?  For tests and assertions. */
extern bool genie_image_group_valid(const GenieImageGroup *group);

#endif							/* __CUDACC__ */

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_IMAGE_H */
