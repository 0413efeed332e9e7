/*
 * genie_engine_load.h
 *	  Opening an engine that lives in a library of its own.
 *
 * For the worker only, after fork: a GPU driver does not survive one.
 */
#ifndef GENIE_ENGINE_LOAD_H
#define GENIE_ENGINE_LOAD_H

#include "genie_multiload.h"

/*
 * Opens the library's engine (a path; "$libdir" is PostgreSQL's library directory) on up to max of its devices, 0: all,
 * but not on those whose bits are set in except.  Several are one engine (genie_engines.h).  What is larger than a
 * device's memory is loaded in pieces, unless the rival is faster (genie_multiload.h).  On anything but GENIE_OK
 * *engine is NULL and error, GENIE_ENGINE_ERROR_MAX bytes, says why.  Else error is "", or says why a device could not
 * be opened that the others do without.  A library stays loaded for the life of the process.
 */
extern GenieStatus genie_engine_load(const char *library, const GenieEngineOptions *options, const GenieRival *rival,
									 uint32_t max, uint32_t except, GenieEngine **engine, char *error);

#endif							/* GENIE_ENGINE_LOAD_H */
