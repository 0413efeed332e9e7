/*
 * genie_image_codes.h
 *	  Codes and zones of a group: their layout, making them from the lists or instead of them, checking them
 *	  (genie_image.h).  For genie_image.c.
 */
#ifndef GENIE_IMAGE_CODES_H
#define GENIE_IMAGE_CODES_H

#include "genie_image.h"

/* What all strips of a plan take: how many they are, and their bytes an object. */
typedef struct GenieCodeLayout
{
	uint32_t	n_strips;
	uint32_t	row_bytes;
} GenieCodeLayout;

/* Lays the plan's codes out; fills both tables (n_dimensions and n_strips entries) unless they are NULL. */
extern GenieCodeLayout genie_codes_layout(const GenieImagePlan *plan, GenieCodeDimension *dimensions,
										  GenieCodeStrip *strips);

/* The bytes of a tile's zones, slack included. */
static inline uint64_t
genie_zone_bytes(uint32_t n_dimensions, uint32_t n_objects)
{
	if (n_dimensions == 0)
		return 0;
	return (uint64_t) n_dimensions * 2 * genie_zones(n_objects) * sizeof(uint16_t) + GENIE_ZONE_SLACK;
}

/*
 * Makes codes and zones of tile number t of the group from its finished lists.  False: an object has two keywords of
 * one dimension.
 */
extern bool genie_codes_fill(GenieImageGroup *group, uint32_t t);

/*
 * Of codes alone: writes the codes of a rank's n objects in tile number t.  *dimension is that of a rank that is not
 * larger, and becomes the rank's.  False: an object has a keyword of the dimension already.
 */
extern bool genie_codes_put(GenieImageGroup *group, uint32_t t, uint32_t rank, const uint16_t *locals, uint32_t n,
							uint32_t *dimension);

/* Makes the zones of tile number t, whose codes are there. */
extern void genie_codes_zones(GenieImageGroup *group, uint32_t t);

/* Do codes and zones say what the lists say, and are the tables as the layout would have them? */
extern bool genie_codes_valid(const GenieImageGroup *group);

#endif							/* GENIE_IMAGE_CODES_H */
