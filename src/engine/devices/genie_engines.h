/*
 * genie_engines.h
 *	  Several engines as one: those of several GPUs.
 */
#ifndef GENIE_ENGINES_H
#define GENIE_ENGINES_H

#include "genie_engine.h"
#include "genie_placement.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Images and vectors from this size on are cut between engines. */
#define GENIE_ENGINES_CUT_BYTES (UINT64_C(256) << 20)

/*
 * Takes over 2 .. GENIE_PLACEMENT_ENGINES engines of a kind, which answer alike.  Closing it closes them.  Its errors
 * tell the device's number; devices() gives a device of each engine.  NULL: there is no memory.
 */
extern GenieEngine *genie_engines_open(uint32_t n, GenieEngine *const *engines, uint64_t cut_bytes);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_ENGINES_H */
