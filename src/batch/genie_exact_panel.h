/*
 * genie_exact_panel.h
 *	  Rows for exact search are gathered in panels, whose distances the CPU or the worker's GPU estimates.
 *
 *		genie_panel_open(&panel, knn, &instrument)	for a piece of the queries, whose knn is open
 *		for each row:		its elements to genie_panel_place(), then genie_panel_add() with its id
 *		genie_panel_close()					adds what is left, and frees all memory
 */
#ifndef GENIE_EXACT_PANEL_H
#define GENIE_EXACT_PANEL_H

#include "genie_instrument.h"
#include "genie_knn.h"

typedef struct GenieExactPanel
{
	GenieKnn   *knn;
	const GenieInstrument *instrument;
	MemoryContext context;
	Size		row_bytes;
	uint64		n_added;		/* rows of the piece that were in panels before this one */

	/* the panel */
	uint32		n_rows;
	uint32		n_wanted;		/* the panel is complete with so many */
	uint8	   *rows;
	uint64	   *ids;

	/* by the worker */
	uint32		max_rows;		/* of a panel; 0: the worker is not asked */
	double		excess;			/* pairs of the last panel, divided by those expected; at least 1 */
	uint32		n_part;			/* queries of a request */
	uint32		n_room;			/* pairs of a request */
	const float *queries;
	float	   *made;			/* floats of the rows, unless these are floats */
	float	   *terms;
	GeniePair  *pairs;			/* n_room for each part of the queries */
	uint32	   *n_pairs;
} GenieExactPanel;

extern void genie_panel_open(GenieExactPanel *panel, GenieKnn *knn, const GenieInstrument *instrument);

/* Where the next row's elements go. */
static inline uint8 *
genie_panel_place(const GenieExactPanel *panel)
{
	return panel->rows + panel->n_rows * panel->row_bytes;
}

extern void genie_panel_add(GenieExactPanel *panel, uint64 id);
extern void genie_panel_close(GenieExactPanel *panel);

#endif							/* GENIE_EXACT_PANEL_H */
