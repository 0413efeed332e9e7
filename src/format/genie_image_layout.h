/*
 * genie_image_layout.h
 *	  Where the parts of a group lie, for those who lay them out and those who check them (genie_image.h).
 */
#ifndef GENIE_IMAGE_LAYOUT_H
#define GENIE_IMAGE_LAYOUT_H

#include "genie_image.h"

static inline uint64_t
genie_image_align_up(uint64_t bytes)
{
	return (bytes + GENIE_IMAGE_ALIGN - 1) / GENIE_IMAGE_ALIGN * GENIE_IMAGE_ALIGN;
}

static inline uint64_t
genie_image_words(uint32_t n_keywords)
{
	return (uint64_t) n_keywords / 64 + 2;
}

/* the bytes before the first tile's parts */
static inline uint64_t
genie_image_header_bytes(uint32_t n_tiles)
{
	return genie_image_align_up(sizeof(GenieImageGroup) + (uint64_t) n_tiles * sizeof(GenieImageTile));
}

/* The group of codes alone in a group that was planned with one, even if codes were dropped. */
static inline GenieImageGroup *
genie_image_inner(const GenieImageGroup *group)
{
	return (GenieImageGroup *) (void *) ((uint8_t *) group + group->alone);
}

#endif							/* GENIE_IMAGE_LAYOUT_H */
