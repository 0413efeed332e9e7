/*
 * genie_rival.h
 *	  What another engine, the CPU's, would take for jobs that a device is asked for.
 *
 * Two cases in which jobs are left to it: what a device has to copy first (genie_multiload.h), and what is so little
 * that the rival is done before a device has begun, of which the caller of devices asks.
 *
 * Learning.  What the CPU takes is estimated from its costs, which are measured while its caches hold all.  On images
 * and sets of vectors that they do not hold, it takes longer by a factor that depends on them.  So whoever has the
 * rival do jobs that a device declined notes how long it took, and in the first case estimates about the same image
 * are corrected by that.  A correction is believed to halve with each GENIE_RIVAL_DOUBT_S seconds, as others may have
 * been at work then.
 */
#ifndef GENIE_RIVAL_H
#define GENIE_RIVAL_H

#include "genie_dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_RIVAL_DOUBT_S 60.0
#define GENIE_RIVAL_NOTES 16	/* images and sets of vectors that are remembered, */
#define GENIE_RIVAL_NOTE_NS 1e6 /* if they took so many nanoseconds at least */

/* How many times as long as estimated it took on an image or a set of vectors, at least 1. */
typedef struct GenieRivalNote
{
	uint64_t	id;
	double		times;
	double		at;				/* seconds */
} GenieRivalNote;

typedef struct GenieRival
{
	GenieDispatchCosts costs;
	uint32_t	n_threads;		/* 0: there is no rival, devices do everything */
	bool		takes_little;	/* what is done before a device has begun */
	GenieRivalNote notes[GENIE_RIVAL_NOTES];	/* the latest first */
} GenieRival;

/*
 * Nanoseconds that a rival with threads takes for n > 0 jobs of one image, or of one set of vectors, that may be cut
 * (genie_job_parts.h) and are neither FACETS nor GRID: from the lists of some jobs in some tiles, or from the codes
 * where there are no lists, and for lanes as its own dispatcher does it.  Good to a factor of two.
 */
extern double genie_rival_ns(const GenieRival *rival, uint32_t n, GenieJob *const *jobs);

/*
 * Notes that n > 0 such jobs, of any images and sets of vectors, took the rival so many nanoseconds together.  Puts
 * those of the same one behind one another.
 */
extern void genie_rival_note(GenieRival *rival, uint32_t n, GenieJob **jobs, double ns);

/* Seconds since some moment. */
extern double genie_rival_clock_s(void);

/*
 * Are all jobs of a batch together so little that one thread of a rival has done them long before a device that takes
 * batch_ns for any batch?  Lists are looked up only where it may be.
 */
extern bool genie_rival_is_first(const GenieRival *rival, double batch_ns, uint32_t n, GenieJob *const *jobs);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_RIVAL_H */
