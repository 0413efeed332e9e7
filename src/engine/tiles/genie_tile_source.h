/*
 * genie_tile_source.h
 *	  Where a tile's lists come from: a source finds them and adds them to the counters.
 *
 *	genie_tile_from_lists.c		lists as they are on the pages, in any codec
 *	genie_tile_from_image.c		a tile of an image: plain postings, chunks, and bitmaps
 *	genie_tile_from_codes.c		a tile of an image of codes alone: all codes are compared
 *
 * Only genie_tile_count.c calls a source; it owns the counters, the rounds and the batches of bitmaps.
 */
#ifndef GENIE_TILE_SOURCE_H
#define GENIE_TILE_SOURCE_H

#include "genie_tile.h"

/* A tile being counted dense: where postings go, and bitmaps that wait to be added in one pass. */
typedef struct GenieCounting
{
	GenieTileScratch *scratch;
	bool		wide;
	bool		all_zero;		/* nothing was added yet */
	uint32_t	n_bitmaps;
	GenieBitmap bitmaps[GENIE_BITMAPS_MAX];
} GenieCounting;

typedef struct GenieTileSource
{
	/* genie_tile_find(); the sums in *found are zero */
	bool		(*find) (GenieTileScratch *scratch, const GenieTile *tile,
						 const GenieEngineQuery *query, GenieTileFound *found);

	/* Adds the lists of the first n_spans spans to the counters.  False: a list is malformed. */
	bool		(*add) (GenieCounting *counting, const GenieTile *tile, uint32_t n_spans);

	/*
	 * The same for the objects [first, end) of the tile, whose counters are the first ones.  scratch->cursors tells
	 * where each list stood at the end of the part before, but where the tile's slice begins.  NULL: the source
	 * cannot.
	 */
	void		(*add_part) (GenieCounting *counting, const GenieTile *tile, uint32_t n_spans,
							 uint32_t first, uint32_t end);

	/* add for few postings: each through genie_tile_touch(). */
	bool		(*touch) (GenieTileScratch *scratch, const GenieTile *tile, uint32_t n_spans);
} GenieTileSource;

/* chunks that are decoded at a time: their locals stay in the fastest cache, and there are many to count */
#define GENIE_CHUNKS_BATCH 64
#define GENIE_CHUNKS_BATCH_LOCALS (GENIE_CHUNKS_BATCH * GENIE_CHUNK_LOCALS + GENIE_UNPACK_SPARE)

/* Decodes the next batch of chunks [*from, to), which moves behind it; returns how many locals. */
static inline uint32_t
genie_tile_next_chunks(const GenieKernels *kernels, const GenieTile *tile, uint32_t *from, uint32_t to,
					   uint16_t *locals)
{
	const GenieChunk *chunks = (const GenieChunk *) (const void *) (tile->base + tile->image->chunks);
	uint32_t	n = to - *from < GENIE_CHUNKS_BATCH ? to - *from : GENIE_CHUNKS_BATCH;

	*from += n;
	return kernels->unpack->chunks(chunks + *from - n, n, locals);
}

extern const GenieTileSource genie_tile_from_lists;
extern const GenieTileSource genie_tile_from_image;
extern const GenieTileSource genie_tile_from_codes;

/* Adds one to the counter of each local. */
static inline void
genie_counting_locals(GenieCounting *counting, const uint16_t *locals, uint32_t n)
{
	if (counting->wide)
	{
		uint16_t   *counters = counting->scratch->counters.wide;

		for (uint32_t i = 0; i < n; i++)
			counters[locals[i]]++;
	}
	else
	{
		uint8_t    *counters = counting->scratch->counters.narrow;

		for (uint32_t i = 0; i < n; i++)
			counters[locals[i]]++;
	}
}

/* Adds the bitmaps that wait. */
static inline void
genie_counting_flush(GenieCounting *counting)
{
	GenieTileScratch *scratch = counting->scratch;

	if (counting->n_bitmaps == 0)
		return;
	if (counting->wide)
		scratch->kernels->add_bitmaps_16(scratch->counters.wide, counting->bitmaps, counting->n_bitmaps);
	else
		scratch->kernels->add_bitmaps_8(scratch->counters.narrow, counting->bitmaps, counting->n_bitmaps);
	counting->n_bitmaps = 0;
}

/* Adds a bitmap of nbytes <= GENIE_TILE_BITMAP_BYTES, now or with later ones; data must stay until then. */
static inline void
genie_counting_bitmap(GenieCounting *counting, const uint8_t *data, uint32_t nbytes)
{
	counting->bitmaps[counting->n_bitmaps].data = data;
	counting->bitmaps[counting->n_bitmaps].nbytes = nbytes;
	if (++counting->n_bitmaps == GENIE_BITMAPS_MAX)
		genie_counting_flush(counting);
}

static inline void
genie_tile_touch(GenieTileScratch *scratch, const uint16_t *locals, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint16_t	local = locals[i];

		scratch->few_counters[local]++;
		scratch->touched[local / 64] |= UINT64_C(1) << (local % 64);
	}
}

#endif							/* GENIE_TILE_SOURCE_H */
