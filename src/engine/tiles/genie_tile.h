/*
 * genie_tile.h
 *	  A tile as the CPU engine counts it, and the scratch that counting takes.
 *
 * A tile's lists come from a source (genie_tile_source.h).  genie_tile_count.h finds and counts them,
 * genie_tile_select.h takes the objects out of the counters, genie_tile_search.h does both.
 */
#ifndef GENIE_TILE_H
#define GENIE_TILE_H

#include "genie_engine.h"
#include "genie_kernels.h"

/*
 * Postings in a tile up to which only touched counters are looked at: zeroing and scanning all
 * counters costs about 5 us, looking at a touched one about 10 ns (mispredicted branches).
 */
#define GENIE_FEW_POSTINGS 384

/*
 * What counting costs, in postings of a tile of many: about half a nanosecond each.  Measured with bench_engine:
 * zeroing and looking at all counters of a tile takes 5 us, finding one range's lists 10 ns.
 */
#define GENIE_COST_TILE 10000
#define GENIE_COST_RANGE 20
#define GENIE_COST_FEW 20		/* a posting of few */

/*
 * Lists, bitmaps not counted, up to which a tile is counted in parts; their places are kept from part to part, each of
 * which costs a list 10 ns.
 */
#define GENIE_PART_LISTS 256

/* Slices of a tile begin and end at multiples of so many objects, or with the tile; 1 KB of a bitmap and more. */
#define GENIE_SLICE_OBJECTS 16384

/* spans found at a time; a query of more ranges is counted in several rounds */
#define GENIE_SPANS_MAX 1024

struct GenieTileSource;

/* A tile: its objects, and its lists in the form that its source reads. */
typedef struct GenieTile
{
	uint32_t	first_object;
	uint32_t	n_objects;		/* 1 .. 65,536 */
	uint32_t	slice_first;	/* of its objects, what is to be searched (genie_tile_search.h) */
	uint32_t	slice_end;
	const uint64_t *live;		/* GENIE_TILE_WORDS words, bits past n_objects clear; NULL: all live */
	GenieTileSizes sizes;		/* for queries with key tables */
	const struct GenieTileSource *source;

	/* of genie_tile_from_lists: sorted by rank */
	uint32_t	n_lists;
	const GenieListRef *lists;

	/* of genie_tile_from_image and genie_tile_from_codes */
	const uint8_t *base;		/* of the group */
	const GenieImageTile *image;
} GenieTile;

/* lists [first, end) of a tile */
typedef struct GenieListSpan
{
	uint32_t	first;
	uint32_t	end;
} GenieListSpan;

/* what an image's tile has of a range of ranks */
typedef struct GenieTileSpan
{
	GenieImageSpan plain;		/* and bitmaps */
	GenieImageSpan chunked;
} GenieTileSpan;

/* codes of a dimension that match, from low to high */
typedef struct GenieCodeSpan
{
	uint32_t	dimension;
	uint32_t	low;
	uint32_t	high;
} GenieCodeSpan;

/* One round of finding lists, and where the next one goes on. */
typedef struct GenieTileFound
{
	uint32_t	next_range;		/* of the query */
	uint32_t	next_list;		/* of the tile, if it has an array of lists; earlier ones are below next_range */
	uint32_t	next_rank;		/* of that range, if the tile has codes alone; 0: its first */
	uint32_t	n_spans;
	uint64_t	max_count;		/* no object can match more of this round's lists */
	uint64_t	n_bitmaps;		/* of these lists */
	uint64_t	n_postings;		/* a bitmap counts for GENIE_IMAGE_DENSE, the fewest it has; a chunk for
								 * GENIE_CHUNK_MEAN */
} GenieTileFound;

/* Scratch of one engine; its kernels must be set and all else zero at the start. */
typedef struct GenieTileScratch
{
	union
	{
		uint8_t		narrow[GENIE_TILE_OBJECTS];
		uint16_t	wide[GENIE_TILE_OBJECTS];
		uint32_t	words[GENIE_TILE_OBJECTS];	/* of grids */
	}			counters;
	uint16_t	few_counters[GENIE_TILE_OBJECTS];	/* zero between calls */
	uint64_t	touched[GENIE_TILE_WORDS];	/* zero between calls */
	uint64_t	allowed[GENIE_TILE_WORDS];
	uint64_t	mask[GENIE_TILE_WORDS];
	uint16_t	locals[GENIE_FEW_POSTINGS];
	uint32_t	cursors[GENIE_PART_LISTS];	/* where each list's next part begins */
	union
	{
		GenieListSpan lists[GENIE_SPANS_MAX];
		GenieTileSpan image[GENIE_SPANS_MAX];
		GenieCodeSpan codes[GENIE_SPANS_MAX];
	}			spans;			/* each source has its own */
	const GenieKernels *kernels;

	/* of a query with a key table: the count from which on an object is wanted, capped, by size less the smallest */
	uint16_t	least[GENIE_TILE_OBJECTS];
	uint8_t		narrow_least[GENIE_LEAST_SIZES];

	/* of a batch of jobs, for the tile at hand */
	uint64_t	fulfilling[GENIE_TILE_WORDS];	/* a job's conditions */
} GenieTileScratch;

static inline bool
genie_query_is_wide(const GenieEngineQuery *query)
{
	return query->max_count > GENIE_COUNT_NARROW;
}

#endif							/* GENIE_TILE_H */
