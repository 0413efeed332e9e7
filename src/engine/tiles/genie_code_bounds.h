/*
 * genie_code_bounds.h
 *	  From ranks to codes, and from codes to what kernels compare rows with: for genie_tile_zones.c and
 *	  genie_tile_from_codes.c.
 */
#ifndef GENIE_CODE_BOUNDS_H
#define GENIE_CODE_BOUNDS_H

#include <string.h>

#include "genie_tile.h"

/* The codes of the ranks [first, end) that are of the first one's dimension, which is d or behind it. */
static inline GenieCodeSpan
genie_code_span(const GenieImageGroup *group, uint32_t d, uint32_t first, uint32_t end)
{
	const GenieCodeDimension *dimension;
	uint32_t	behind;

	d = genie_code_dimension_of(genie_image_dimensions(group), group->n_dimensions, d, first);
	dimension = genie_image_dimensions(group) + d;
	behind = dimension->first_rank + dimension->n_values;
	if (behind > end)
		behind = end;
	return (GenieCodeSpan) {d, first - dimension->first_rank + 1, behind - dimension->first_rank};
}

/* The first row of a strip's codes in a tile. */
static inline const uint8_t *
genie_code_strip_rows(const GenieTile *tile, const GenieCodeStrip *strip)
{
	return tile->base + tile->image->codes + (size_t) strip->offset * genie_code_rows(tile->n_objects);
}

/* Bounds of a strip: of none of its dimensions.  within: so that any code is; else none is. */
static inline void
genie_code_bounds_begin(GenieCodeBounds *bounds, const GenieCodeStrip *strip, bool within)
{
	bounds->width = strip->width;
	bounds->row_bytes = strip->row_bytes;
	memset(&bounds->low, within ? 0 : 0xFF, sizeof(bounds->low));
	memset(&bounds->high, within ? 0xFF : 0, sizeof(bounds->high));
}

/* Sets the bounds of a dimension of the strip. */
static inline void
genie_code_bounds_set(GenieCodeBounds *bounds, const GenieCodeDimension *dimension, const GenieCodeSpan *span)
{
	if (bounds->width == 16)
		for (uint32_t i = dimension->slot; i < GENIE_CODE_BOUND_BYTES / 2; i += bounds->row_bytes / 2)
		{
			bounds->low.words[i] = (uint16_t) span->low;
			bounds->high.words[i] = (uint16_t) span->high;
		}
	else
	{
		uint32_t	half = bounds->width == 4 ? dimension->slot % 2 : 0;

		for (uint32_t i = dimension->slot * bounds->width / 8; i < GENIE_CODE_BOUND_BYTES; i += bounds->row_bytes)
		{
			bounds->low.bytes[half][i] = (uint8_t) span->low;
			bounds->high.bytes[half][i] = (uint8_t) span->high;
		}
	}
}

#endif							/* GENIE_CODE_BOUNDS_H */
