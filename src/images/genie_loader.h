/*
 * genie_loader.h
 *	  Loaders: background workers that make images, so that no session waits for them.
 */
#ifndef GENIE_LOADER_H
#define GENIE_LOADER_H

#include "genie_directory.h"

/* the setting genie.loaders: how many there are at once; 0: none */
extern int	genie_loaders;

/*
 * Wants an image of a segment (key->metric is 0; key->database_xmin does not count).  Returns at once.  evict says
 * which images may go for it, and how urgent it is.  False: no loader will load it.
 */
extern bool genie_loader_want(const GenieImageKey *key, GenieEvict evict);

/* Is it wanted, or being loaded by a loader? */
extern bool genie_loader_has(const GenieImageKey *key);

/* It is not wanted any more.  False: a loader has begun with it, or it was not wanted. */
extern bool genie_loader_withdraw(const GenieImageKey *key);

/* Waits until a loader is done with an image, interruptibly, or a second; call it in a loop that looks again. */
extern void genie_loader_wait(void);
extern void genie_loader_wait_end(void);

/* Images that are wanted with this evict, or being loaded. */
extern uint32 genie_loader_n_wanted(GenieEvict evict);

/* For the worker, now and then: has loaders started that could not be before; without loaders nothing is wanted. */
extern void genie_loader_look_after(void);

/* True for the first call in the server's life, or since a crash. */
extern bool genie_loader_is_first(void);

extern Size genie_loader_shmem_size(void);
extern void genie_loader_shmem_init(void *memory);

#endif							/* GENIE_LOADER_H */
