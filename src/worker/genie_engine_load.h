/*
 * genie_engine_load.h
 *	  Opening an engine that lives in a library of its own.
 *
 * For the worker only, after fork: a GPU driver does not survive one.
 */
#ifndef GENIE_ENGINE_LOAD_H
#define GENIE_ENGINE_LOAD_H

#include "genie_engine.h"

/*
 * Opens the engine of the library (a path; "$libdir" is PostgreSQL's library directory).  On anything but
 * GENIE_OK *engine is NULL and error, GENIE_ENGINE_ERROR_MAX bytes, says why.  A library stays loaded for the life of
 * the process.
 */
extern GenieStatus genie_engine_load(const char *library, const GenieEngineOptions *options,
									 GenieEngine **engine, char *error);

#endif							/* GENIE_ENGINE_LOAD_H */
