/*
 * genie_batch_value.c
 *	  How many of the rows that match have a value (genie_batch_value.h).
 */
#include "postgres.h"

#include "genie_batch_text.h"
#include "genie_batch_value.h"
#include "genie_value_text.h"

void
genie_batch_value_begin(void *arg, GenieFamily family, GenieKey value)
{
	GenieValueCount *count = arg;

	count->family = family;
	count->value = value;
	count->n_rows = 0;
	count->text = NULL;
}

static bool
genie_batch_value_needs_row(const GenieValueCount *count)
{
	return count->text == NULL && !count->stale && count->n_rows == 0 &&
		!genie_value_is_readable(count->family, count->value.len);
}

/* The first of the value's rows has come: where the keyword does not tell the value, the row does. */
static void
genie_batch_value_read_row(GenieValueCount *count, GenieColumnSource *source, uint32 object)
{
	MemoryContext old = MemoryContextSwitchTo(count->context);

	count->stale |= !genie_batch_text(count->column, source, object, &count->text);
	MemoryContextSwitchTo(old);
}

void
genie_batch_value_print(const GenieValueCount *count, StringInfo text)
{
	if (count->text != NULL)
		appendStringInfoString(text, count->text);
	else
		genie_value_print_bare(text, count->family, count->value.data, count->value.len);
}

void
genie_batch_value_part(void *arg, GenieColumnSource *source, uint32 tile, const uint16 *locals, uint32 n)
{
	GenieValueCount *count = arg;
	const uint64 *bits = source->bits + (Size) tile * GENIE_TILE_WORDS;
	uint64		n_set = 0;

	for (uint32 i = 0; i < n; i++)
		n_set += (bits[locals[i] / 64] >> (locals[i] % 64)) & 1;
	for (uint32 i = 0; i < n && genie_batch_value_needs_row(count); i++)
		if ((bits[locals[i] / 64] >> (locals[i] % 64)) & 1)
			genie_batch_value_read_row(count, source, tile * GENIE_TILE_OBJECTS + locals[i]);
	count->n_rows += n_set;
}

void
genie_batch_value_rows(void *arg, GenieColumnSource *source, uint32 i pg_attribute_unused(), uint32 n)
{
	GenieValueCount *count = arg;
	uint32		object;

	if (genie_batch_value_needs_row(count))
	{
		if (genie_column_object(count->column, source, &object))
			genie_batch_value_read_row(count, source, object);
		else
			count->stale = true;
	}
	count->n_rows += n;
}
