/*
 * genie_autoprewarm.h
 *	  Images that were in shared memory are there again after a restart.
 */
#ifndef GENIE_AUTOPREWARM_H
#define GENIE_AUTOPREWARM_H

#include "datatype/timestamp.h"
#include "port/pg_crc32c.h"

/* the setting genie.autoprewarm */
extern bool genie_autoprewarm;

/* What a process knows of the file that it keeps; begins as 0. */
typedef struct GenieAutoprewarm
{
	uint64		n_changes;		/* of the directory, when it was last looked at */
	TimestampTz looked_at;
	bool		has_written;
	pg_crc32c	crc;			/* of what it wrote last */
} GenieAutoprewarm;

/* The worker starts: wants the images that the file lists, once in the server's life. */
extern void genie_autoprewarm_begin(void);

/* The worker calls it every few seconds, and when it ends: writes the file if it would change. */
extern void genie_autoprewarm_keep(GenieAutoprewarm *kept, bool ends);

#endif							/* GENIE_AUTOPREWARM_H */
