/*
 * genie_batch_regrid.c
 *	  genie_regrid(): how many of the rows that fulfil x @& query lie in each cell of a coarse grid, and where in the
 *	  table (regridding: chapter 3 of the thesis on compressed GENIE and ArrayBit).
 *
 * An axis is an attribute with a step: a row's coordinate is floor(value / step), of numbers as doubles, of times in
 * seconds since 1970.  A cell is a coordinate on each axis.
 *
 * 1. Each axis is one walk through the attribute's values (genie_batch_column.c).  Coordinates that some row has get
 *	  numbers, ascending as the values do, and the number times the axis's stride, which is how many cells the axes
 *	  before have, is added to the cells of the value's objects.  Objects that have no value there drop out.
 * 2. One pass over the object tables counts the rows of each cell, and notes the first and last page of the table that
 *	  has some.  A row keeps its page while its keywords stay, so a range of pages holds all the cell's rows.
 * 3. If an attribute is to be measured, one more walk adds its values up, cell by cell.
 *
 * A segment whose rows an engine counts is done by it, unless an attribute is to be measured.  Then the walk (1) only
 * numbers the coordinates, and notes each value's cells; the engine counts the rows of each cell, and gives the first
 * and the last object (GENIE_JOB_GRID).  What is an error is not left to it: if there are values that are no numbers,
 * or rows with several, or too many cells, all is done again from the pages.
 *
 * Memory: four bytes an object and axis bits, and the grid, of which coordinates that no row has are no part.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/itemptr.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "genie_batch_column.h"
#include "genie_object_table.h"
#include "genie_value_text.h"

/* of GENIE_GRID_CELLS_MAX cells: 256 MB, 192 more for an engine's, or 512 more to measure */

#define GENIE_REGRID_STEP 64	/* objects */

PG_FUNCTION_INFO_V1(genie_regrid);

typedef struct GenieRegridAxis
{
	uint32		attribute;
	float8		step;

	/* an attempt */
	uint64		stride;			/* cells of the axes before */
	uint32		n;				/* coordinates, */
	uint32		capacity;
	int32	   *coordinates;	/* ascending */
} GenieRegridAxis;

/* A segment. */
typedef struct GenieRegridSource
{
	/* by an engine: */
	GenieGridAxis *axes;

	/* or from the pages: its objects' */
	uint32	   *cells;
	uint64	   *left;			/* their rows match, and have a value on each axis before */
	uint64	   *seen;			/* and one on this axis */
} GenieRegridSource;

typedef struct GenieRegridCell
{
	uint64		n;
	BlockNumber first;			/* pages; undefined if n is 0 */
	BlockNumber last;
} GenieRegridCell;

typedef struct GenieRegridMeasure
{
	uint64		n;
	float8		sum;
	float8		min;			/* undefined if n is 0, as max is */
	float8		max;
} GenieRegridMeasure;

typedef struct GenieRegrid
{
	GenieColumn column;
	uint32		n_axes;
	GenieRegridAxis axes[GENIE_GRID_AXES_MAX];
	int32		attributes[GENIE_GRID_AXES_MAX + 1];	/* of the axes, and the one that is measured */
	bool		measures;
	uint32		measured;		/* that attribute */
	ReturnSetInfo *result;
	MemoryContext value_context;	/* of one value, or one row of the result */

	/* the walk */
	bool		is_unclear;		/* by an engine: what there is is to be read from the pages */
	GenieRegridAxis *axis;
	bool		has_family;
	GenieFamily family;			/* of the values that rows have */
	GenieFamily value_family;	/* the value: */
	GenieKey	value;
	bool		is_read;		/* some row has it: */
	float8		number;
	bool		is_in_cell;		/* it is finite */
	uint32		add;			/* to these rows' cells */

	uint64		n_cells;
	GenieRegridCell *cells;
	GenieRegridMeasure *sums;
} GenieRegrid;

/* ---- values ---- */

static void
genie_regrid_begin_value(void *arg, GenieFamily family, GenieKey value)
{
	GenieRegrid *regrid = arg;

	regrid->value_family = family;
	regrid->value = value;
	regrid->is_read = false;
}

static void
genie_regrid_end_value(void *arg pg_attribute_unused())
{
}

/* Some row has the value: reads it.  What no row has may be anything.  False: it is no number. */
static bool
genie_regrid_try_value(GenieRegrid *regrid)
{
	MemoryContext old = MemoryContextSwitchTo(regrid->value_context);
	bool		ok = genie_value_to_double(regrid->value_family, regrid->value.data, regrid->value.len,
										   &regrid->number) &&
	(!regrid->has_family || regrid->value_family == regrid->family);

	regrid->has_family = true;
	regrid->family = regrid->value_family;
	regrid->is_in_cell = ok && isfinite(regrid->number);
	regrid->is_read = true;
	MemoryContextSwitchTo(old);
	MemoryContextReset(regrid->value_context);
	return ok;
}

/* The same, or an error. */
static void
genie_regrid_read_value(GenieRegrid *regrid)
{
	if (!genie_regrid_try_value(regrid))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("attribute %u cannot be an axis or be measured",
						regrid->axis == NULL ? regrid->measured : regrid->axis->attribute),
				 errdetail("Some of its values are no numbers or times, or are of several types.")));
}

static inline bool
genie_regrid_is_coordinate(float8 coordinate)
{
	return coordinate >= PG_INT32_MIN && coordinate <= PG_INT32_MAX;
}

/* The value's coordinate gets a number, unless the value before had the same one.  False: there are too many. */
static bool
genie_regrid_try_number(GenieRegrid *regrid)
{
	GenieRegridAxis *axis = regrid->axis;
	float8		coordinate = floor(regrid->number / axis->step);

	if (!genie_regrid_is_coordinate(coordinate))
		return false;
	if (axis->n == 0 || axis->coordinates[axis->n - 1] != (int32) coordinate)
	{
		if (axis->stride * (axis->n + 1) > GENIE_GRID_CELLS_MAX)
			return false;
		if (axis->n == axis->capacity)
		{
			axis->capacity *= 2;
			axis->coordinates = repalloc_huge(axis->coordinates, axis->capacity * sizeof(int32));
		}
		axis->coordinates[axis->n++] = (int32) coordinate;
	}
	regrid->add = (uint32) (axis->stride * (axis->n - 1));
	return true;
}

/* The same, or an error. */
static void
genie_regrid_number_value(GenieRegrid *regrid)
{
	const GenieRegridAxis *axis = regrid->axis;

	if (genie_regrid_try_number(regrid))
		return;
	if (!genie_regrid_is_coordinate(floor(regrid->number / axis->step)))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("cell of value %g of attribute %u is out of range for type integer", regrid->number,
						axis->attribute),
				 errhint("Take a larger step than %g.", axis->step)));
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("the grid has too many cells"),
			 errdetail("It can have %u.", GENIE_GRID_CELLS_MAX),
			 errhint("Take larger steps, or fewer attributes, or a query that fewer rows fulfil.")));
}

/* Rows of a segment that an engine counts have the value, which is number i of the axis there. */
static void
genie_regrid_take_rows(void *arg, GenieColumnSource *source, uint32 i, uint32 n pg_attribute_unused())
{
	GenieRegrid *regrid = arg;
	const GenieRegridSource *of = source->state;
	uint32	   *places = unconstify(uint32 *, of->axes[regrid->axis - regrid->axes].places);

	if (!regrid->is_read)
	{
		regrid->is_unclear |= !genie_regrid_try_value(regrid) ||
			(regrid->is_in_cell && !genie_regrid_try_number(regrid));
	}
	if (regrid->is_in_cell && !regrid->is_unclear)
		places[i] = regrid->add;
}

static void
genie_regrid_take_axis(void *arg, GenieColumnSource *source, uint32 tile, const uint16 *locals, uint32 n)
{
	GenieRegrid *regrid = arg;
	GenieRegridSource *objects = source->state;
	const uint64 *bits = objects->left + (Size) tile * GENIE_TILE_WORDS;
	uint64	   *seen = objects->seen + (Size) tile * GENIE_TILE_WORDS;
	uint32	   *cells = objects->cells + (Size) tile * GENIE_TILE_OBJECTS;

	for (uint32 i = 0; i < n && !regrid->is_unclear; i++)
	{
		uint32		word = locals[i] / 64;
		uint64		bit = UINT64CONST(1) << (locals[i] % 64);

		if ((bits[word] & bit) == 0)
			continue;
		if (!regrid->is_read)
		{
			genie_regrid_read_value(regrid);
			if (regrid->is_in_cell)
				genie_regrid_number_value(regrid);
		}
		if (!regrid->is_in_cell)
			return;
		if ((seen[word] & bit) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("attribute %u cannot be an axis: a row has several values of it",
							regrid->axis->attribute)));
		seen[word] |= bit;
		cells[locals[i]] += regrid->add;
	}
}

static void
genie_regrid_take_measure(void *arg, GenieColumnSource *source, uint32 tile, const uint16 *locals, uint32 n)
{
	GenieRegrid *regrid = arg;
	const GenieRegridSource *objects = source->state;
	const uint64 *bits = objects->left + (Size) tile * GENIE_TILE_WORDS;
	const uint32 *cells = objects->cells + (Size) tile * GENIE_TILE_OBJECTS;

	for (uint32 i = 0; i < n; i++)
		if ((bits[locals[i] / 64] >> (locals[i] % 64)) & 1)
		{
			GenieRegridMeasure *sum = &regrid->sums[cells[locals[i]]];

			if (!regrid->is_read)
				genie_regrid_read_value(regrid);
			/* values come in ascending order */
			if (sum->n++ == 0)
				sum->min = regrid->number;
			sum->max = regrid->number;
			sum->sum += regrid->number;
		}
}

static const GenieColumnTaker genie_regrid_axis_taker = {genie_regrid_begin_value, genie_regrid_take_rows,
	genie_regrid_take_axis, genie_regrid_end_value};
static const GenieColumnTaker genie_regrid_measure_taker = {genie_regrid_begin_value, NULL,
	genie_regrid_take_measure, genie_regrid_end_value};

/* ---- cells ---- */

static void *
genie_regrid_reserve(Size bytes)
{
	return palloc_extended(bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* Adds an axis to all objects' cells.  False: stale. */
static bool
genie_regrid_add_axis(GenieRegrid *regrid, GenieRegridAxis *axis)
{
	GenieColumn *column = &regrid->column;

	axis->stride = regrid->n_cells;
	axis->n = 0;
	axis->capacity = 64;
	axis->coordinates = palloc(axis->capacity * sizeof(int32));
	regrid->axis = axis;
	regrid->has_family = false;
	for (uint32 s = 0; s < column->n_sources; s++)
	{
		const GenieRegridSource *objects = column->sources[s]->state;

		if (!column->sources[s]->is_counted)
			memset(objects->seen, 0, column->sources[s]->n_words * sizeof(uint64));
	}
	if (!genie_column_walk(column, axis->attribute, &genie_regrid_axis_taker, regrid))
		return false;
	for (uint32 s = 0; s < column->n_sources; s++)
	{
		GenieColumnSource *source = column->sources[s];
		const GenieRegridSource *objects = source->state;

		for (Size w = 0; !source->is_counted && w < source->n_words; w++)
			objects->left[w] &= objects->seen[w];
	}
	regrid->n_cells *= axis->n;
	return true;
}

/* Counts a tile's rows. */
static void
genie_regrid_count_tile(GenieRegrid *regrid, const GenieTileObjects *tile, const uint64 *bits, const uint32 *cells)
{
	for (uint32 r = 0; r < tile->n_runs; r++)
	{
		BlockNumber block = tile->runs[r].block;
		uint32		end = r + 1 < tile->n_runs ? tile->runs[r + 1].start : tile->n_objects;

		for (uint32 i = tile->runs[r].start; i < end; i++)
			if ((bits[i / 64] >> (i % 64)) & 1)
			{
				GenieRegridCell *cell = &regrid->cells[cells[i]];

				if (cell->n++ == 0)
					cell->first = cell->last = block;
				cell->first = Min(cell->first, block);
				cell->last = Max(cell->last, block);
			}
	}
}

/* Counts a segment's rows from its objects' cells.  False: stale. */
static bool
genie_regrid_count_pages(GenieRegrid *regrid, GenieColumnSource *source)
{
	const GenieRegridSource *objects = source->state;
	GenieObjectReader reader;

	genie_object_table_reader(&reader, source->segment, false);
	for (uint32 t = 0; t < reader.n_tiles; t++)
	{
		const GenieTileObjects *tile = genie_object_table_tile(&reader, t);

		CHECK_FOR_INTERRUPTS();
		if (tile == NULL)
			return false;
		genie_regrid_count_tile(regrid, tile, objects->left + (Size) t * GENIE_TILE_WORDS,
								objects->cells + (Size) t * GENIE_TILE_OBJECTS);
	}
	return true;
}

/* The pages of a segment's rows: runs of objects on the same page. */
typedef struct GenieRegridPages
{
	uint32		n;
	uint32		capacity;
	uint32	   *starts;			/* first objects, ascending, and one after the last */
	BlockNumber *blocks;
	uint32	   *runs;			/* of every GENIE_REGRID_STEP-th object */
} GenieRegridPages;

static void
genie_regrid_add_run(GenieRegridPages *pages, uint32 start, BlockNumber block)
{
	if (pages->n == pages->capacity)
	{
		pages->capacity *= 2;
		pages->starts = repalloc_huge(pages->starts, pages->capacity * sizeof(uint32));
		pages->blocks = repalloc_huge(pages->blocks, pages->capacity * sizeof(BlockNumber));
	}
	pages->starts[pages->n] = start;
	pages->blocks[pages->n++] = block;
}

/* False: stale. */
static bool
genie_regrid_read_pages(GenieSegment *segment, GenieRegridPages *pages)
{
	uint32		n_objects = segment->header.n_objects;
	uint32		first = 0;
	GenieObjectReader reader;

	*pages = (GenieRegridPages) {.capacity = 1024};
	pages->starts = palloc(pages->capacity * sizeof(uint32));
	pages->blocks = palloc(pages->capacity * sizeof(BlockNumber));
	genie_object_table_reader(&reader, segment, false);
	for (uint32 t = 0; t < reader.n_tiles; t++)
	{
		const GenieTileObjects *tile = genie_object_table_tile(&reader, t);

		CHECK_FOR_INTERRUPTS();
		if (tile == NULL)
			return false;
		for (uint32 r = 0; r < tile->n_runs; r++)
			genie_regrid_add_run(pages, first + tile->runs[r].start, tile->runs[r].block);
		first += tile->n_objects;
	}
	genie_regrid_add_run(pages, n_objects, InvalidBlockNumber);
	pages->runs = palloc_extended((n_objects / GENIE_REGRID_STEP + 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
	for (uint32 i = 0, r = 0; i < n_objects; i += GENIE_REGRID_STEP)
	{
		while (pages->starts[r + 1] <= i)
			r++;
		pages->runs[i / GENIE_REGRID_STEP] = r;
	}
	return true;
}

static inline BlockNumber
genie_regrid_page(const GenieRegridPages *pages, uint32 object)
{
	uint32		run = pages->runs[object / GENIE_REGRID_STEP];

	while (pages->starts[run + 1] <= object)
		run++;
	return pages->blocks[run];
}

/* Has an engine count a segment's rows.  False: stale. */
static bool
genie_regrid_count_engine(GenieRegrid *regrid, GenieColumnSource *source)
{
	const GenieRegridSource *of = source->state;
	GenieGrid	grid = {regrid->n_axes, of->axes, (uint32) regrid->n_cells};
	GenieGridCell *cells = palloc_extended(grid.n_cells * sizeof(GenieGridCell), MCXT_ALLOC_HUGE);
	bool		repeats;
	GenieRegridPages pages;

	if (!genie_segment_grid(source->source, source->bits, &grid, cells, &repeats) || repeats)
	{
		regrid->is_unclear = true;
		return true;
	}
	if (!genie_regrid_read_pages(source->segment, &pages))
		return false;
	for (uint32 i = 0; i < grid.n_cells; i++)
		if (cells[i].n > 0)
		{
			GenieRegridCell *cell = &regrid->cells[i];
			BlockNumber first = genie_regrid_page(&pages, cells[i].first);
			BlockNumber last = genie_regrid_page(&pages, cells[i].last);

			cell->first = cell->n == 0 ? first : Min(cell->first, first);
			cell->last = cell->n == 0 ? last : Max(cell->last, last);
			cell->n += cells[i].n;
		}
	pfree(cells);
	return true;
}

/* ---- output ---- */

static void
genie_regrid_put_cell(GenieRegrid *regrid, uint64 number, const Datum *coordinates)
{
	const GenieRegridCell *cell = &regrid->cells[number];
	const GenieRegridMeasure *sum = regrid->measures ? &regrid->sums[number] : NULL;
	bool		has_sum = sum != NULL && sum->n > 0;
	MemoryContext old = MemoryContextSwitchTo(regrid->value_context);
	ItemPointerData from;
	ItemPointerData to;
	Datum		values[7];
	bool		nulls[7] = {false};

	ItemPointerSet(&from, cell->first, FirstOffsetNumber);
	ItemPointerSet(&to, cell->last, MaxOffsetNumber);
	values[0] = PointerGetDatum(construct_array(unconstify(Datum *, coordinates), (int) regrid->n_axes, INT4OID,
												sizeof(int32), true, TYPALIGN_INT));
	values[1] = Int64GetDatum((int64) cell->n);
	values[2] = PointerGetDatum(&from);
	values[3] = PointerGetDatum(&to);
	values[4] = has_sum ? Float8GetDatum(sum->sum) : (Datum) 0;
	values[5] = has_sum ? Float8GetDatum(sum->min) : (Datum) 0;
	values[6] = has_sum ? Float8GetDatum(sum->max) : (Datum) 0;
	nulls[4] = nulls[5] = nulls[6] = !has_sum;
	tuplestore_putvalues(regrid->result->setResult, regrid->result->setDesc, values, nulls);
	MemoryContextSwitchTo(old);
	MemoryContextReset(regrid->value_context);
}

/* Puts out all cells that have rows, the first axis's coordinate being the most significant. */
static void
genie_regrid_put(GenieRegrid *regrid)
{
	uint32		at[GENIE_GRID_AXES_MAX] = {0};
	Datum		coordinates[GENIE_GRID_AXES_MAX];

	for (uint64 i = 0; i < regrid->n_cells; i++)
	{
		uint64		number = 0;
		uint32		a = regrid->n_axes;

		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		for (uint32 j = 0; j < regrid->n_axes; j++)
			number += at[j] * regrid->axes[j].stride;
		if (regrid->cells[number].n > 0)
		{
			CHECK_FOR_INTERRUPTS();
			for (uint32 j = 0; j < regrid->n_axes; j++)
				coordinates[j] = Int32GetDatum(regrid->axes[j].coordinates[at[j]]);
			genie_regrid_put_cell(regrid, number, coordinates);
			regrid->column.matches.batch.instrument.record->n_rows++;
		}
		while (a > 0 && ++at[a - 1] == regrid->axes[a - 1].n)
			at[--a] = 0;
	}
}

/* Begins a segment that an engine counts: no value is anywhere. */
static void
genie_regrid_begin_engine(const GenieRegrid *regrid, const GenieColumnSource *source, GenieRegridSource *of)
{
	of->axes = palloc(regrid->n_axes * sizeof(GenieGridAxis));
	for (uint32 a = 0; a < regrid->n_axes; a++)
	{
		uint32		n = source->ranges[a].end - source->ranges[a].first;
		uint32	   *places = palloc_extended(n * sizeof(uint32) + 1, MCXT_ALLOC_HUGE);

		memset(places, 0xFF, n * sizeof(uint32));
		of->axes[a] = (GenieGridAxis) {source->ranges[a].first, n, places};
	}
	StaticAssertStmt(GENIE_GRID_NOWHERE == PG_UINT32_MAX, "bytes of 255 are nowhere");
}

static void
genie_regrid_begin_pages(const GenieColumnSource *source, GenieRegridSource *of)
{
	Size		n_bytes = source->n_words * sizeof(uint64);

	of->cells = genie_regrid_reserve(source->n_words * 64 * sizeof(uint32));
	of->seen = palloc_extended(n_bytes, MCXT_ALLOC_HUGE);
	of->left = palloc_extended(n_bytes, MCXT_ALLOC_HUGE);
	memcpy(of->left, source->bits, n_bytes);
}

/* Counts the rows of all cells, by engines where they are to be asked.  False: stale. */
static bool
genie_regrid_count(GenieRegrid *regrid, bool asks)
{
	GenieColumn *column = &regrid->column;

	if (!genie_column_ask(column, asks))
		return false;
	for (uint32 s = 0; s < column->n_sources; s++)
	{
		GenieRegridSource *of = palloc0(sizeof(GenieRegridSource));

		column->sources[s]->state = of;
		if (column->sources[s]->is_counted)
			genie_regrid_begin_engine(regrid, column->sources[s], of);
		else
			genie_regrid_begin_pages(column->sources[s], of);
	}
	regrid->is_unclear = false;
	regrid->n_cells = 1;
	for (uint32 i = 0; i < regrid->n_axes && regrid->n_cells > 0; i++)
		if (!genie_regrid_add_axis(regrid, &regrid->axes[i]))
			return false;
	if (regrid->n_cells == 0)
		return true;
	regrid->cells = genie_regrid_reserve(regrid->n_cells * sizeof(GenieRegridCell));
	for (uint32 s = 0; s < column->n_sources && !regrid->is_unclear; s++)
		if (!(column->sources[s]->is_counted ? genie_regrid_count_engine(regrid, column->sources[s]) :
			  genie_regrid_count_pages(regrid, column->sources[s])))
			return false;
	return true;
}

static bool
genie_regrid_take(void *owner)
{
	GenieRegrid *regrid = owner;
	GenieColumn *column = &regrid->column;

	if (column->n_sources == 0)
		return true;
	if (!genie_regrid_count(regrid, !regrid->measures) || (regrid->is_unclear && !genie_regrid_count(regrid, false)))
		return false;
	if (regrid->n_cells == 0)
		return true;
	if (regrid->measures)
	{
		regrid->axis = NULL;
		regrid->has_family = false;
		regrid->sums = genie_regrid_reserve(regrid->n_cells * sizeof(GenieRegridMeasure));
		if (!genie_column_walk(column, regrid->measured, &genie_regrid_measure_taker, regrid))
			return false;
	}
	genie_regrid_put(regrid);
	return true;
}

/* Takes the axes.  Errors: there are none, or too many, or steps are not one for each or not above 0. */
static void
genie_regrid_set_axes(GenieRegrid *regrid, ArrayType *attributes, ArrayType *steps)
{
	const int32 *numbers = genie_column_attributes(attributes, &regrid->n_axes);
	const float8 *step = (const float8 *) ARR_DATA_PTR(steps);

	if (regrid->n_axes == 0 || regrid->n_axes > GENIE_GRID_AXES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of attributes must be between 1 and %d", GENIE_GRID_AXES_MAX)));
	if (ARR_NDIM(steps) != 1 || ARR_DIMS(steps)[0] != (int) regrid->n_axes || array_contains_nulls(steps))
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("there must be a step for each attribute")));
	for (uint32 i = 0; i < regrid->n_axes; i++)
	{
		if (!(step[i] > 0) || isinf(step[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("step must be a number above 0, but is %g", step[i])));
		regrid->attributes[i] = numbers[i];
		regrid->axes[i].attribute = (uint32) numbers[i];
		regrid->axes[i].step = step[i];
	}
}

/*
 * genie_regrid(index regclass, attributes int[], steps float8[], query genie_query, measured int) returns table (cell
 * int[], n bigint, tid_from tid, tid_to tid, sum float8, min float8, max float8): the cells that have rows which fulfil
 * x @& query.
 */
Datum
genie_regrid(PG_FUNCTION_ARGS)
{
	GenieRegrid *regrid = palloc0(sizeof(GenieRegrid));

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		return (Datum) 0;
	genie_regrid_set_axes(regrid, PG_GETARG_ARRAYTYPE_P(1), PG_GETARG_ARRAYTYPE_P(2));
	regrid->measures = !PG_ARGISNULL(4);
	if (regrid->measures)
	{
		genie_column_check_attribute(PG_GETARG_INT32(4));
		regrid->measured = PG_GETARG_UINT32(4);
		regrid->attributes[regrid->n_axes] = PG_GETARG_INT32(4);
	}
	regrid->column.attributes = regrid->attributes;
	regrid->column.n_attributes = regrid->n_axes + (regrid->measures ? 1 : 0);
	regrid->result = (ReturnSetInfo *) fcinfo->resultinfo;
	regrid->value_context = AllocSetContextCreate(CurrentMemoryContext, "genie regrid", ALLOCSET_SMALL_SIZES);
	regrid->column.take = genie_regrid_take;
	regrid->column.owner = regrid;
	genie_column_search(&regrid->column, fcinfo, 3, "genie_regrid");
	return (Datum) 0;
}
