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
#include "genie_engines.h"
#include "genie_multiload.h"

#define LIBDIR "$libdir/"

/* Opens devices of a library; the arguments are genie_engine_load()'s. */
static GenieStatus
open_devices(const GenieEngineLibrary *library, const GenieEngineOptions *options, const GenieRival *rival,
			 uint32_t max, uint32_t except, GenieEngine **engine, char *error)
{
	uint32_t	n_devices = library->n_devices();
	GenieEngineOptions of_device = *options;
	GenieEngine *engines[GENIE_PLACEMENT_ENGINES];
	GenieStatus status = GENIE_STATUS_UNAVAILABLE;
	uint32_t	n = 0;

	if (max == 0 || max > GENIE_PLACEMENT_ENGINES)
		max = GENIE_PLACEMENT_ENGINES;
	error[0] = '\0';
	for (uint32_t d = 0; d == 0 || (d < n_devices && d < GENIE_PLACEMENT_ENGINES && n < max); d++)
	{
		GenieEngine *opened;
		GenieEngine *loading;
		char		why[GENIE_ENGINE_ERROR_MAX] = "";
		GenieStatus of_this;

		if ((except >> d & 1) != 0)
			continue;
		of_device.device = d;
		of_this = library->open(&of_device, &opened, why);
		if (of_this == GENIE_OK && (loading = genie_multiload_open(opened, rival)) == NULL)
		{
			opened->ops->close(opened);
			of_this = GENIE_STATUS_RETRY;
			snprintf(why, sizeof(why), "there is no memory for a GPU's engine");
		}
		if (of_this == GENIE_OK)
			engines[n++] = loading;
		else
		{
			status = of_this;
			memcpy(error, why, GENIE_ENGINE_ERROR_MAX);
		}
	}
	if (n == 0 && error[0] == '\0')
		snprintf(error, GENIE_ENGINE_ERROR_MAX, "all GPUs have been lost too often");
	if (n == 0)
		return status;
	*engine = n == 1 ? engines[0] :
		genie_engines_open(n, engines, library->cut_bytes == NULL ? GENIE_ENGINES_CUT_BYTES : library->cut_bytes());
	if (*engine != NULL)
		return GENIE_OK;
	for (uint32_t i = 0; i < n; i++)
		engines[i]->ops->close(engines[i]);
	snprintf(error, GENIE_ENGINE_ERROR_MAX, "there is no memory for several GPUs");
	return GENIE_STATUS_RETRY;
}

GenieStatus
genie_engine_load(const char *library, const GenieEngineOptions *options, const GenieRival *rival, uint32_t max,
				  uint32_t except, GenieEngine **engine, char *error)
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
	return open_devices(found, options, rival, max, except, engine, error);
}
