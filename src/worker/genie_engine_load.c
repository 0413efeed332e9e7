/*
 * genie_engine_load.c
 *	  Opening an engine that lives in a library of its own: dlopen.
 *
 * load_external_function() cannot be used: it wants PostgreSQL's magic block, and an engine has
 * no PostgreSQL in it.  An engine has a magic word and an ABI number of its own instead, which are checked before
 * anything in it is called.  The library is not closed again: a GPU driver leaves threads behind that run its code.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <unistd.h>

#include "miscadmin.h"

#include "genie_engine_load.h"

#define LIBDIR "$libdir/"

GenieStatus
genie_engine_load(const char *library, const GenieEngineOptions *options, GenieEngine **engine, char *error)
{
	char		path[MAXPGPATH];
	void	   *handle;
	const GenieEngineLibrary *found;

	*engine = NULL;
	if (strncmp(library, LIBDIR, strlen(LIBDIR)) == 0)
		snprintf(path, sizeof(path), "%s/%s", pkglib_path, library + strlen(LIBDIR));
	else
		strlcpy(path, library, sizeof(path));
	if (strlen(path) + strlen(DLSUFFIX) < sizeof(path) &&
		(strlen(path) < strlen(DLSUFFIX) || strcmp(path + strlen(path) - strlen(DLSUFFIX), DLSUFFIX) != 0))
		strcat(path, DLSUFFIX);

	if (access(path, F_OK) != 0)
	{
		snprintf(error, GENIE_ENGINE_ERROR_MAX, "the GPU engine is not installed: there is no file \"%s\"", path);
		return GENIE_STATUS_UNAVAILABLE;
	}
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
	{
		snprintf(error, GENIE_ENGINE_ERROR_MAX, "could not load the GPU engine: %s", dlerror());
		return GENIE_STATUS_UNAVAILABLE;
	}
	found = dlsym(handle, GENIE_ENGINE_LIBRARY_SYMBOL);
	if (found == NULL || found->magic != GENIE_ENGINE_LIBRARY_MAGIC)
	{
		snprintf(error, GENIE_ENGINE_ERROR_MAX, "library \"%s\" holds no engine of genie", path);
		return GENIE_STATUS_UNAVAILABLE;
	}
	if (found->abi != GENIE_ENGINE_ABI)
	{
		snprintf(error, GENIE_ENGINE_ERROR_MAX,
				 "library \"%s\" has engine interface %u instead of %u: it is from another version of genie",
				 path, found->abi, GENIE_ENGINE_ABI);
		return GENIE_STATUS_UNAVAILABLE;
	}
	return found->open(options, engine, error);
}
