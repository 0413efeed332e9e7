/*
 * genie_multiload.h
 *	  An engine for images and vectors that are larger than a device's memory: multiple loading (GENIE, section 5.4.2 of
 *	  the thesis on compressed GENIE).
 */
#ifndef GENIE_MULTILOAD_H
#define GENIE_MULTILOAD_H

#include "genie_rival.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds in which a slow rate, of copies or of counting, is believed to double while nothing is done; for tests. */
extern double genie_multiload_doubt_s;

/*
 * Takes over an engine with a device; closing it closes that one.  The rival stays the caller's, who may change it
 * between batches.  Errors, choices and devices() are those of the engine below; devices() tells what was streamed.
 * NULL: there is no memory.
 */
extern GenieEngine *genie_multiload_open(GenieEngine *below, const GenieRival *rival);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_MULTILOAD_H */
