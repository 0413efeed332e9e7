/*
 * genie_fallback.h
 *	  Why a query on a segment was not answered by the worker, or by its GPU.
 *
 * One type for the whole way: loading an image (genie_image_load.h), what the directory remembers of a failed load
 * (genie_directory.h), a request's answer (genie_request.h), and the counters (genie_stat.h).  Whatever the reason, the
 * backend answers the query itself, with the same rows.
 *
 * The columns fallback_* of genie_stat sum up neighbours in this list (genie_monitor.c).
 */
#ifndef GENIE_FALLBACK_H
#define GENIE_FALLBACK_H

typedef enum GenieFallback
{
	GENIE_FALLBACK_NONE = 0,	/* the worker answers */
	GENIE_FALLBACK_OFF,			/* genie.worker is off */
	GENIE_FALLBACK_NO_WORKER,	/* it is not running, is restarting, or ended meanwhile */

	/* the segment has no image */
	GENIE_FALLBACK_TEMPORARY,	/* the table is temporary */
	GENIE_FALLBACK_LOADING,		/* another backend loads it, or the directory is full */
	GENIE_FALLBACK_NO_TIME,		/* loading it might not end before statement_timeout */
	GENIE_FALLBACK_LOAD_FAILED, /* a load failed a moment ago, or the posting lists are damaged */
	GENIE_FALLBACK_REPLACED,	/* a merge replaced the segment; this scan still reads it */
	GENIE_FALLBACK_STALE,		/* segment->stale: the scan starts again from the metapage */

	GENIE_FALLBACK_NO_ROOM,		/* the image, or the request, does not fit shared memory */
	GENIE_FALLBACK_GONE,		/* the image was evicted, or is older than the scan, when the worker looked */
	GENIE_FALLBACK_BUSY,		/* the worker is still busy with a request that this backend gave up */
	GENIE_FALLBACK_FAILED,		/* the worker could not count it */
	GENIE_FALLBACKS				/* how many there are */
} GenieFallback;

/* Why the worker counted on its CPU. */
typedef enum GenieGpuFallback
{
	GENIE_GPU_FALLBACK_NONE = 0,	/* the GPU did */
	GENIE_GPU_FALLBACK_NO_GPU,	/* there is none, or genie.engine does not want it */
	GENIE_GPU_FALLBACK_NO_ROOM, /* in its memory */
	GENIE_GPU_FALLBACK_FAILED,
	GENIE_GPU_FALLBACK_DECLINED,	/* it does not do such jobs, or not as fast */
	GENIE_GPU_FALLBACKS			/* how many there are */
} GenieGpuFallback;

#endif							/* GENIE_FALLBACK_H */
