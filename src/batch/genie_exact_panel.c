/*
 * genie_exact_panel.c
 *	  Rows on their way into exact search (genie_exact_panel.h).
 *
 * On the CPU a panel is GENIE_KNN_ROWS rows: they stay in the first cache while all queries pass, and each near row
 * tightens a bound at once.
 *
 * Where the worker has a GPU and there are enough queries, panels are large instead, and the GPU estimates them
 * (genie_offload.h).  It uses the bounds of the moment when the panel is complete, so the panel's size decides how many
 * pairs come back to be measured: where rows come in no order, k * (rows of the panel) / (rows before it) for each
 * query.  So the CPU does the first rows, and panels grow with the number of rows before them, up to what a request
 * can carry.  Where more pairs are found than expected (the nearest rows come last, or estimates tell little), the
 * next panel has fewer rows by the same factor.  Where there are more pairs than room, the CPU does this panel.
 *
 * The answer does not depend on where estimates come from: they only leave out what is too far (genie_knn.c), and pairs
 * are measured here, by the elements in this process's memory.  Where the worker cannot answer, the CPU does the panel
 * at once, and the rest of the piece.
 *
 * Memory, with the worker: a panel of up to GENIE_PANEL_BYTES of floats, its rows' own elements, and the pairs, which
 * may take a quarter of a request's bytes.  Queries that do not fit a quarter of a request are asked in parts.  Rows
 * are added only when all parts of a panel are answered, so that the CPU can still do the whole panel.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_exact_panel.h"
#include "genie_offload.h"

/*
 * The worker is asked only for at least this many queries with at least this many elements together.  Orders of
 * magnitude: while a core copies one element to the worker, which copies it on, it could multiply some 30 elements;
 * while a request is noticed, done and answered, 1,024 rows by 4,096 elements.
 */
#define GENIE_PANEL_QUERIES_MIN 32
#define GENIE_PANEL_ELEMENTS_MIN 4096

#define GENIE_PANEL_ROWS_MIN 1024	/* less is not worth a request */
#define GENIE_PANEL_ROWS_MAX 65536
#define GENIE_PANEL_BYTES ((Size) 32 << 20)
#define GENIE_PANEL_PART 4		/* queries may take one of this many equal parts of a request, pairs another */
#define GENIE_PANEL_ROOM 4		/* room for this many times k pairs a query, if a request has it */
#define GENIE_PANEL_EXPECTED 2	/* room for pairs, times what is expected */
#define GENIE_PANEL_SHRINK 4	/* where shared memory has no room, panels have this many times fewer rows */
#define GENIE_PANEL_PAIRS 16384 /* measured between two looks for interrupts */

/* Pairs that are expected for each row from a part of the queries. */
static double
count_expected(const GenieExactPanel *panel)
{
	return (double) panel->knn->k * panel->n_part / panel->n_added;
}

/* How many rows are to be gathered next? */
static uint32
count_wanted(const GenieExactPanel *panel)
{
	double		rows;

	if (panel->max_rows == 0 || panel->n_added < panel->knn->k)
		return GENIE_KNN_ROWS;
	rows = panel->n_room / (GENIE_PANEL_EXPECTED * panel->excess * count_expected(panel));
	return rows < GENIE_PANEL_ROWS_MIN ? GENIE_KNN_ROWS : (uint32) Min(rows, panel->max_rows);
}

/* Sets how many rows a request carries; too few for the worker to pay means none. */
static void
limit_rows(GenieExactPanel *panel, Size max_rows)
{
	panel->max_rows = max_rows < GENIE_PANEL_ROWS_MIN ? 0 : (uint32) Min(max_rows, GENIE_PANEL_ROWS_MAX);
}

static uint32
count_parts(const GenieExactPanel *panel)
{
	return (panel->knn->n_queries + panel->n_part - 1) / panel->n_part;
}

static bool
is_enough(uint32 n_queries, uint32 n_dimensions)
{
	return n_queries >= GENIE_PANEL_QUERIES_MIN && (uint64) n_queries * n_dimensions >= GENIE_PANEL_ELEMENTS_MIN;
}

/* Finds what a request can carry, and allocates panels of that size. */
static void
open_requests(GenieExactPanel *panel)
{
	GenieKnn   *knn = panel->knn;
	Size		limit = genie_offload_bytes();
	Size		vector_bytes = (knn->n_dimensions + 1) * sizeof(float); /* with its bound or term */
	Size		rows_bytes;
	uint32		n_parts;

	panel->n_part = (uint32) Min(limit / GENIE_PANEL_PART / vector_bytes, knn->n_queries);
	if (!is_enough(panel->n_part, knn->n_dimensions))
		return;
	panel->n_room = (uint32) Min((double) GENIE_PANEL_ROOM * knn->k * panel->n_part,
								 (double) (limit / GENIE_PANEL_PART / sizeof(GeniePair)));
	rows_bytes = Min(limit - panel->n_part * vector_bytes - panel->n_room * sizeof(GeniePair), GENIE_PANEL_BYTES);
	limit_rows(panel, rows_bytes / vector_bytes);
	if (panel->max_rows == 0)
		return;

	panel->excess = 1;
	n_parts = count_parts(panel);
	panel->terms = palloc(panel->max_rows * sizeof(float));
	panel->pairs = palloc_extended((Size) n_parts * panel->n_room * sizeof(GeniePair), MCXT_ALLOC_HUGE);
	panel->n_pairs = palloc(n_parts * sizeof(uint32));
	if (genie_knn_has_floats(knn))
		panel->queries = knn->queries;
	else
	{
		float	   *made = palloc_extended((Size) knn->n_queries * knn->n_dimensions * sizeof(float), MCXT_ALLOC_HUGE);

		panel->queries = genie_knn_floats(knn, knn->queries, knn->n_queries, made, NULL);
		panel->made = palloc((Size) panel->max_rows * knn->n_dimensions * sizeof(float));
	}
}

void
genie_panel_open(GenieExactPanel *panel, GenieKnn *knn, const GenieInstrument *instrument)
{
	MemoryContext old;
	uint32		n;

	memset(panel, 0, sizeof(*panel));
	panel->knn = knn;
	panel->instrument = instrument;
	panel->context = AllocSetContextCreate(CurrentMemoryContext, "genie panel", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(panel->context);
	panel->row_bytes = knn->n_dimensions * genie_vector_element_bytes(knn->is_double);
	if (is_enough(knn->n_queries, knn->n_dimensions) && genie_offload_is_possible(instrument))
		open_requests(panel);
	n = Max(panel->max_rows, GENIE_KNN_ROWS);
	panel->rows = palloc_extended(n * panel->row_bytes, MCXT_ALLOC_HUGE);
	panel->ids = palloc(n * sizeof(uint64));
	panel->n_wanted = count_wanted(panel);
	MemoryContextSwitchTo(old);
}

/* Asks for the pairs of all queries.  False: they are not all there. */
static bool
ask(GenieExactPanel *panel)
{
	const GenieKnn *knn = panel->knn;
	double		expected = count_expected(panel) * panel->n_rows;
	GenieNearest nearest = {0};

	panel->excess = 1;

	nearest.differences = knn->metric == GENIE_METRIC_L1;
	nearest.n_dimensions = knn->n_dimensions;
	nearest.n_rows = panel->n_rows;
	nearest.rows = genie_knn_floats(knn, panel->rows, panel->n_rows, panel->made, panel->terms);
	nearest.terms = panel->terms;
	for (uint32 i = 0; i < count_parts(panel); i++)
	{
		uint32		first = i * panel->n_part;
		GenieFallback why;

		nearest.n_queries = Min(panel->n_part, knn->n_queries - first);
		nearest.queries = panel->queries + (Size) first * knn->n_dimensions;
		nearest.bounds = knn->bounds + first;
		why = genie_offload_nearest(&nearest, panel->pairs + (Size) i * panel->n_room, panel->n_room,
									&panel->n_pairs[i], panel->instrument);
		if (why != GENIE_FALLBACK_NONE)
		{
			limit_rows(panel, why == GENIE_FALLBACK_NO_ROOM ? panel->n_rows / GENIE_PANEL_SHRINK : 0);
			return false;
		}
		panel->excess = Max(panel->excess, panel->n_pairs[i] / expected);
		if (panel->n_pairs[i] > panel->n_room)
			return false;
	}
	return true;
}

static void
add_pairs(GenieExactPanel *panel)
{
	for (uint32 i = 0; i < count_parts(panel); i++)
	{
		const GeniePair *pairs = panel->pairs + (Size) i * panel->n_room;

		for (uint32 done = 0; done < panel->n_pairs[i]; done += GENIE_PANEL_PAIRS)
		{
			CHECK_FOR_INTERRUPTS();
			genie_knn_add_pairs(panel->knn, panel->rows, panel->ids, i * panel->n_part, pairs + done,
								Min(panel->n_pairs[i] - done, GENIE_PANEL_PAIRS));
		}
	}
}

static void
add_here(GenieExactPanel *panel)
{
	for (uint32 first = 0; first < panel->n_rows; first += GENIE_KNN_ROWS)
	{
		CHECK_FOR_INTERRUPTS();
		genie_knn_add(panel->knn, panel->rows + first * panel->row_bytes, panel->ids + first,
					  Min(panel->n_rows - first, GENIE_KNN_ROWS));
	}
}

static void
add_rows(GenieExactPanel *panel)
{
	bool		is_answered = panel->max_rows > 0 && panel->n_rows >= GENIE_PANEL_ROWS_MIN && ask(panel);
	uint64		since = genie_instrument_now();

	if (is_answered)
		add_pairs(panel);
	else
		add_here(panel);
	genie_instrument_counted(panel->instrument, since);
	panel->instrument->record->n_rounds++;
	panel->instrument->record->n_by_backend += !is_answered;
	panel->instrument->record->n_candidates += panel->n_rows;
	panel->n_added += panel->n_rows;
	panel->n_rows = 0;
	panel->n_wanted = count_wanted(panel);
}

void
genie_panel_add(GenieExactPanel *panel, uint64 id)
{
	panel->ids[panel->n_rows++] = id;
	if (panel->n_rows == panel->n_wanted)
		add_rows(panel);
}

void
genie_panel_close(GenieExactPanel *panel)
{
	add_rows(panel);
	MemoryContextDelete(panel->context);
}
