/*
 * genie_placement.h
 *	  Which of several engines has which tiles of an image, or of quantized vectors.
 *
 * What is large is cut into a range of tiles for each engine, by the room that they have.  What is small has one
 * engine, because a second one would gain nothing and a query would wait for both.  Small things fill one engine after
 * the other in steps of GENIE_PLACEMENT_STEP bytes, so that the segments of a small index are together.
 *
 * A placement stays until it is dropped: engines keep copies of what they were given.
 */
#ifndef GENIE_PLACEMENT_H
#define GENIE_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#define GENIE_PLACEMENT_ENGINES 16	/* at most */
#define GENIE_PLACEMENT_STEP (UINT64_C(1) << 30)

/* What cannot be cut: tiles up to end_tile, from the unit before on. */
typedef struct GeniePlacementUnit
{
	uint32_t	end_tile;
	uint64_t	n_bytes;
} GeniePlacementUnit;

/* Tiles [first_tile, end_tile) are an engine's, which are units [first_unit, end_unit). */
typedef struct GeniePlace
{
	uint32_t	engine;
	uint32_t	first_tile;
	uint32_t	end_tile;
	uint32_t	first_unit;
	uint32_t	end_unit;
	uint64_t	n_bytes;
} GeniePlace;

typedef struct GeniePlacement
{
	uint64_t	id;				/* of the image or the vectors */
	uint32_t	n_places;		/* at least 1 */
	GeniePlace	places[GENIE_PLACEMENT_ENGINES];	/* all tiles, in order */
} GeniePlacement;

typedef struct GeniePlacements
{
	uint32_t	n_engines;
	uint64_t	cut_bytes;		/* what is as large, or larger, is cut */
	bool		lost[GENIE_PLACEMENT_ENGINES];	/* these get nothing */
	uint64_t	n_bytes[GENIE_PLACEMENT_ENGINES];	/* that each has been given */
	uint32_t	n;
	uint32_t	capacity;
	GeniePlacement **entries;	/* in no order */
} GeniePlacements;

/* Until the next call of genie_placement_drop() or genie_placement_lose().  NULL: it has no placement. */
extern const GeniePlacement *genie_placement_find(const GeniePlacements *placements, uint64_t id);

/*
 * Places n units, of which limits[i] bytes at most are for engine i.  There is an engine that is not lost.  NULL: there
 * is no memory.
 */
extern const GeniePlacement *genie_placement_add(GeniePlacements *placements, uint64_t id,
												 const GeniePlacementUnit *units, uint32_t n, const uint64_t *limits);

/* Places the tiles of an id where those of another one are, each of so many bytes.  NULL: there is no memory. */
extern const GeniePlacement *genie_placement_add_like(GeniePlacements *placements, uint64_t id, uint64_t tile_bytes,
													  const GeniePlacement *like);

/* The engine that has least. */
extern uint32_t genie_placement_emptiest(const GeniePlacements *placements);

/* An id without a placement is allowed. */
extern void genie_placement_drop(GeniePlacements *placements, uint64_t id);

/*
 * Marks an engine as lost, and drops all placements that have a part there; gives each of their ids to dropped.  False:
 * no engine is left.
 */
extern bool genie_placement_lose(GeniePlacements *placements, uint32_t engine, void (*dropped) (void *arg, uint64_t id),
								 void *arg);

extern void genie_placement_free(GeniePlacements *placements);

#endif							/* GENIE_PLACEMENT_H */
