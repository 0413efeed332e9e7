/*
 * genie_lanes.h
 *	  Queries as bit lanes: the best k of a block of queries, over objects that have codes.
 *
 * A *block* is as many queries as a vector has bits; a query is a lane, one bit in each vector.  Before counting, the
 * block's *table* is made: for each keyword a row, one vector that says which queries ask for it, and for each
 * dimension a row of zeros, for objects that have no keyword of it.  Row numbers follow from codes alone: code c of
 * dimension d is row first_rank + d + c.  Ranges, lists of values and frequent values cost nothing more: they only
 * set more bits.
 *
 * An object is read once for all queries of the block.  Its code of each dimension gives a row, and the rows are
 * added bit by bit: counter plane p holds bit p of each lane's count.  Rows are added sixteen at a time by a tree of
 * carry-save adders, two three-input operations for each row (R. Harley's and D. Seal's method; see Warren,
 * Hacker's Delight, section 5-1).  Then the counts are compared with the lanes' thresholds, which are planes too: the
 * borrow of count - threshold, one operation a plane.  Only where a lane is not below its threshold are its counts
 * taken out of the planes and offered to its query's top-k.  Dead objects are not counted at all.
 *
 * Counters are never in memory: all of an object's rows are added while the planes stay in registers.  So the speed
 * depends on where the table lies.  985 keywords are 63 KB for 512 lanes, and most rows that are fetched are in the
 * nearest cache, because they are those of frequent values; 237 dimensions of 67 values are 1 MB, in the second.  (If
 * the dimensions were cut so that a part of the table fits the nearest cache, the planes would be written and read
 * once more for each part, which costs as much as it saves.)  The codes themselves stream by: 1 byte for a row of 64.
 *
 * Codes of GENIE_LANE_ROWS objects at a time are turned into row offsets, for the objects' *slots*: one a dimension,
 * strip by strip, and at the end some that belong to no dimension and give row 0, of zeros.  Where a strip has codes
 * that no dimension uses, the next strip's slots overwrite theirs.  A strip is left out if no query asks for any of its
 * dimensions.
 *
 * Objects are offered in object order, so the result is what posting lists give, to the last tie.  The threshold of a
 * lane is its top-k's floor.  A top-k raises its floor when it is compacted, so it has room for only max(k, 64) new
 * hits (genie_lanes_capacity): each time about half as many objects are wanted as before.
 *
 * A lane may be tallied instead: its objects are only added up, in planes of their own, so any number of them costs the
 * same.  The planes hold a tile's objects, and are emptied behind each range of objects that is searched.
 *
 *	genie_lanes.c			the block, its table, offering hits; the chooser
 *	genie_lanes_kernel.h	the counting kernel, a template by vector
 *	genie_lanes_portable.c, genie_lanes_avx2.c, genie_lanes_avx512.c		its instances
 */
#ifndef GENIE_LANES_H
#define GENIE_LANES_H

#include "genie_engine.h"

#define GENIE_LANES_MAX 512		/* of a block, in any instance */
#define GENIE_LANE_WORDS_MAX (GENIE_LANES_MAX / 64)
#define GENIE_LANE_ALIGN (GENIE_LANES_MAX / 8)	/* bytes */

/* objects that are counted in one call of a kernel; GENIE_CODE_ROWS is a multiple of it */
#define GENIE_LANE_ROWS 16

/* bits of the largest count: GENIE_CODE_DIMENSIONS_MAX */
#define GENIE_LANE_PLANES_MAX 13

/* bits of a tile's number of objects */
#define GENIE_LANE_TALLY_PLANES 17

/* slots of an object come in multiples of this */
#define GENIE_LANE_SLOTS 8

/* codes turned into offsets at a time; more than a row of a strip has */
#define GENIE_LANE_CODES 16

/*
 * Where n_codes slots of each object come from.  A strip of 4-bit codes is two of these, the low halves of its bytes
 * and the high ones.
 */
typedef struct GenieLaneStrip
{
	uint32_t	offset;			/* bytes of an object's rows in earlier strips */
	uint32_t	row_bytes;
	uint32_t	n_codes;		/* 2, 4, 8, 16 */
	uint32_t	unit;			/* bytes that a code is taken from */
	uint32_t	shift;			/* of the code in there */
	uint32_t	mask;
	uint32_t	slot;			/* the first one */
	uint32_t	bases[GENIE_LANE_CODES];	/* offset of code 0 of each slot, over and over */
} GenieLaneStrip;

/* An object that reaches the threshold of a lane. */
typedef struct GenieLaneHit
{
	uint16_t	lane;
	uint16_t	count;
	uint32_t	row;			/* of the objects that the kernel counted */
} GenieLaneHit;

/* The part of a block of lanes that the kernel reads and writes (the rest is in genie_lanes.c). */
typedef struct GenieLaneTable
{
	uint64_t	wanted[GENIE_LANE_WORDS_MAX];	/* lanes whose threshold a count could still reach */
	uint64_t	thresholds[GENIE_LANE_PLANES_MAX][GENIE_LANE_WORDS_MAX];
	uint64_t	tallied[GENIE_LANE_WORDS_MAX];	/* lanes whose objects are added up, and give no hits */
	uint64_t	tallies[GENIE_LANE_TALLY_PLANES][GENIE_LANE_WORDS_MAX]; /* how many there were, bit by bit */
	const uint8_t *rows;		/* aligned to GENIE_LANE_ALIGN */
	uint32_t	n_slots;		/* of an object */
	uint32_t	stride;			/* from one object's slots to the next one's */
	uint32_t	n_planes;
	uint32_t	n_strips;
	const GenieLaneStrip *strips;
	uint32_t   *offsets;		/* GENIE_LANE_ROWS times stride; what is in no strip is 0 */

	GenieLaneHit hits[GENIE_LANE_ROWS * GENIE_LANES_MAX];	/* written by the kernel, in object order */
} __attribute__((aligned(GENIE_LANE_ALIGN))) GenieLaneTable;

typedef struct GenieLaneKernels
{
	const char *name;
	uint32_t	n_lanes;		/* a multiple of 64 */

	/* How many planes the kernel uses where counts need n of them. */
	uint32_t	(*planes) (uint32_t n);

	/*
	 * Counts GENIE_LANE_ROWS objects from number first of a tile on, those whose bit is set in live.  codes is where
	 * the tile's codes begin, n_rows what it has of them (genie_code_rows).  Returns how many hits there are.
	 */
	uint32_t	(*count) (GenieLaneTable *table, const uint8_t *codes, uint32_t n_rows, uint32_t first, uint32_t live);
} GenieLaneKernels;

extern const GenieLaneKernels genie_lanes_portable;
#if defined(__x86_64__)
extern const GenieLaneKernels genie_lanes_avx2;
extern const GenieLaneKernels genie_lanes_avx512;
#endif

/* The best that this processor runs. */
extern const GenieLaneKernels *genie_lanes_choose(void);

/* new hits after which a lane's top-k is compacted: its k, but no fewer than this */
#define GENIE_LANE_COMPACT_HITS 64

/* The capacity that a lane's top-k should have. */
static inline uint32_t
genie_lanes_capacity(uint32_t k)
{
	return k + (k < GENIE_LANE_COMPACT_HITS ? GENIE_LANE_COMPACT_HITS : k);
}

/* A query of a block. */
typedef struct GenieLaneQuery
{
	const GenieEngineQuery *query;	/* without a key table; its max_count is not looked at */
	GenieTopK  *top;
	uint64_t   *tally;			/* objects that reach top's floor are added up here; NULL: they are offered to top */
} GenieLaneQuery;

typedef struct GenieLaneBlock GenieLaneBlock;

/*
 * Makes the block of 1 .. kernels->n_lanes queries of an image that has codes.  The arguments must stay until the block
 * is closed.  NULL: there is no memory.
 */
extern GenieLaneBlock *genie_lanes_open(const GenieLaneKernels *kernels, const GenieSegmentImage *image, uint32_t n,
										GenieLaneQuery *queries);

/* Takes over the top-k's floors after the caller has raised them. */
extern void genie_lanes_refresh(GenieLaneBlock *block);

/*
 * Offers those of objects [first, end) of tile number t of the image to the queries, or tallies them, that are set in
 * the tile's live.  Both are multiples of GENIE_LANE_ROWS; end may be past the tile's last object.
 */
extern void genie_lanes_search(GenieLaneBlock *block, const GenieImageGroup *group, uint32_t t, const uint64_t *live,
							   uint32_t first, uint32_t end);

/* NULL is allowed. */
extern void genie_lanes_close(GenieLaneBlock *block);

#endif							/* GENIE_LANES_H */
