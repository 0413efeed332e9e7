/*
 * genie_pin.h
 *	  Pinning pages of a heap that a session visits again and again.
 */
#ifndef GENIE_PIN_H
#define GENIE_PIN_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

/* To be called once before pages are pinned on behalf of an index: makes room for what is remembered with it. */
extern void genie_pin_begin(Relation heap, Relation index);

/* Begins to fetch into the processor's caches what genie_pin(), and who reads the page's header, will look at. */
extern void genie_pin_prefetch(Relation index, BlockNumber block);

/* ReadBuffer(), but the mapping table need not be asked where the page was pinned before. */
extern Buffer genie_pin(Relation heap, Relation index, BlockNumber block);

#endif							/* GENIE_PIN_H */
