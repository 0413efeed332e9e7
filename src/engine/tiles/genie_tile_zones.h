/*
 * genie_tile_zones.h
 *	  Conditions that are conjunctions, in a tile of an image with codes: by its zones, and by codes where these leave
 *	  it open (genie_image.h).
 *
 * A condition is a conjunction where its min_count is the number of dimensions that its query asks for: an object has
 * at most one match in each, so it must have one in all.  A zone whose codes are outside of a dimension's range has no
 * such object.  In a zone whose codes are within all ranges, each object is one: where one lacks a dimension, 0 is the
 * smallest code.  In any other zone, those dimensions are compared, object by object, whose codes are not all within.
 *
 * Posting lists give the same answer.  They are the better way where objects lie in no order and ranges are narrow.
 */
#ifndef GENIE_TILE_ZONES_H
#define GENIE_TILE_ZONES_H

#include "genie_tile.h"

/* dimensions asked for, and strips that they lie in; a condition of more is left to posting lists */
#define GENIE_ZONE_DIMENSIONS_MAX 16
#define GENIE_ZONE_STRIPS_MAX 8

/* The codes of a strip that are to be compared. */
typedef struct GenieZoneStrip
{
	uint32_t	strip;			/* its number */
	uint64_t	zones;			/* in which, a bit each */
	const uint8_t *rows;
	GenieCodeBounds bounds;
} GenieZoneStrip;

/* What a tile's zones say about a conjunction. */
typedef struct GenieTileZones
{
	uint64_t	possible;		/* the zones that may have objects that fulfil it, a bit each */
	uint64_t	cost;			/* of comparing codes, in postings */
	uint32_t	n_strips;
	GenieZoneStrip strips[GENIE_ZONE_STRIPS_MAX];
} GenieTileZones;

/* Looks at the zones.  False: the condition is no conjunction, or has too many dimensions, or the tile has no codes. */
extern bool genie_tile_zones(const GenieTileScratch *scratch, const GenieTile *tile, const GenieCondition *condition,
							 GenieTileZones *zones);

/*
 * Leaves those of objects that fulfil the condition, GENIE_TILE_WORDS words, clear past the tile's end; returns how
 * many they are.
 */
extern uint32_t genie_tile_filter_zones(const GenieTileScratch *scratch, const GenieTile *tile,
										const GenieTileZones *zones, uint64_t *objects);

#endif							/* GENIE_TILE_ZONES_H */
