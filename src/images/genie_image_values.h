/*
 * genie_image_values.h
 *	  What a load (genie_image_load.h) does for a segment's values, quantized vectors, and for their proximity graph.
 */
#ifndef GENIE_IMAGE_VALUES_H
#define GENIE_IMAGE_VALUES_H

#include "genie_directory.h"
#include "genie_image_fill.h"
#include "genie_value_shape.h"

/* Plans them: a group a tile. */
extern void genie_image_values_plan(GenieImageFill *fill, GenieValueShape shape);

/* Reads some tiles from the section of values, whose checksums are verified.  False: stale. */
extern bool genie_image_values_read(GenieImageFill *fill, uint32 first_tile, uint32 end_tile);

/* Plans a graph of so many edges an object: a group a tile, and one for its head. */
extern void genie_image_graph_plan(GenieImageFill *fill, GenieValueShape shape, uint32 degree);

/*
 * May a build of the planned graph take the memory that it needs?  No more than a part of what the machine has free,
 * for several processes may build at a time, and a process that takes what is not there is killed, and all sessions
 * end with it.  What a container may have is not known.
 */
extern bool genie_image_graph_has_memory(const GenieImageFill *fill, GenieValueShape shape, uint32 degree);

/* The bytes, besides those of the graph. */
extern uint64 genie_image_graph_needs(uint32 n_objects, GenieValueShape shape, uint32 degree);

/*
 * Builds it from the segment's values: by the worker's GPU, if it has one, and the values are in shared memory, or on
 * devices alone; else with as many threads as there are processes in a parallel build.  ref: the entry that is loaded
 * under the key, and has the graph's parts.  Returns NONE, STALE, or LOAD_FAILED: there is no memory.  A graph that
 * cannot be has no levels (genie_proximity.h).
 */
extern GenieFallback genie_image_graph_build(GenieImageFill *fill, GenieValueShape shape, const GenieImageKey *key,
											 const GenieImageRef *ref);

/* After an ERROR, and before the process ends: when it returns, no thread writes to a graph any more. */
extern void genie_image_graph_abort(void);

#endif							/* GENIE_IMAGE_VALUES_H */
