/*
 * genie_pin.h
 *	  Pinning pages of a heap that a session visits again and again.
 */
#ifndef GENIE_PIN_H
#define GENIE_PIN_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

/* Makes room for what an index remembers.  To be called once before pages are pinned on its behalf. */
extern void genie_pin_begin(Relation heap, Relation index);

/* Prefetches what genie_pin() will look at, and the page's header. */
extern void genie_pin_prefetch(Relation index, BlockNumber block);

/* ReadBuffer(), but the mapping table is seldom asked for a page that was pinned before. */
extern Buffer genie_pin(Relation heap, Relation index, BlockNumber block);

#endif							/* GENIE_PIN_H */
