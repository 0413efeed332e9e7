/*
 * genie_tile_from_codes.c
 *	  The source of a tile's matches from codes alone (genie_tile_source.h, genie_image.h).
 *
 * There are no lists.  A query's ranges are codes of dimensions.  For each strip that has such a dimension, the codes
 * of all rows are compared with bounds, and a row's counter grows by how many are within.  Where a query asks a
 * dimension for several ranges, the strip is gone through once for each.
 *
 * So a query costs the codes of its strips, whatever it asks for, and no tile has few.
 */
#include "genie_code_bounds.h"
#include "genie_tile_source.h"

static bool
codes_find(GenieTileScratch *scratch, const GenieTile *tile, const GenieEngineQuery *query, GenieTileFound *found)
{
	const GenieImageGroup *group = (const GenieImageGroup *) (const void *) tile->base;
	const GenieCodeDimension *dimensions = genie_image_dimensions(group);
	uint32_t	d = 0;

	while (found->n_spans < GENIE_SPANS_MAX && found->next_range < query->n_ranges)
	{
		const GenieRankRange *range = &query->ranges[found->next_range];
		uint32_t	rank = found->next_rank > 0 ? found->next_rank : range->first;
		GenieCodeSpan span;

		if (rank < range->end)
		{
			span = genie_code_span(group, d, rank, range->end);
			if (found->n_spans == 0 || span.dimension != d)
			{
				const GenieCodeStrip *strip = genie_image_strips(group) + dimensions[span.dimension].strip;

				found->max_count++;
				found->n_postings += (uint64_t) tile->n_objects * strip->row_bytes /
					(strip->n_codes * scratch->kernels->code_bytes) + GENIE_FEW_POSTINGS + 1;
			}
			d = span.dimension;
			scratch->spans.codes[found->n_spans++] = span;
			rank = dimensions[d].first_rank + span.high;
		}
		found->next_rank = rank;
		if (rank >= range->end)
		{
			found->next_range++;
			found->next_rank = 0;
		}
	}
	return found->next_range < query->n_ranges;
}

/*
 * The bounds of a strip's dimensions of the spans, in the layer: a dimension's first span is in layer 0, the next one
 * in layer 1.  False: there is none.
 */
static bool
strip_bounds(const GenieTileScratch *scratch, const GenieImageGroup *group, uint32_t s, uint32_t n_spans,
			 uint32_t layer, GenieCodeBounds *bounds)
{
	const GenieCodeSpan *spans = scratch->spans.codes;
	uint32_t	n_before = 0;	/* spans of the same dimension */
	bool		any = false;

	genie_code_bounds_begin(bounds, genie_image_strips(group) + s, false);
	for (uint32_t i = 0; i < n_spans; i++)
	{
		const GenieCodeDimension *dimension = genie_image_dimensions(group) + spans[i].dimension;

		n_before = i > 0 && spans[i].dimension == spans[i - 1].dimension ? n_before + 1 : 0;
		if (dimension->strip != s || n_before != layer)
			continue;
		genie_code_bounds_set(bounds, dimension, &spans[i]);
		any = true;
	}
	return any;
}

/* Counts the objects [first, end) of a tile, whose counters are the first ones. */
static void
codes_add_part(GenieCounting *counting, const GenieTile *tile, uint32_t n_spans, uint32_t first, uint32_t end)
{
	const GenieImageGroup *group = (const GenieImageGroup *) (const void *) tile->base;
	const GenieTileScratch *scratch = counting->scratch;
	uint32_t	n = genie_code_rows(end - first);

	for (uint32_t s = 0; s < group->n_strips; s++)
	{
		const uint8_t *rows = genie_code_strip_rows(tile, genie_image_strips(group) + s);
		GenieCodeBounds bounds;

		rows += (size_t) first * genie_image_strips(group)[s].row_bytes;
		for (uint32_t layer = 0; strip_bounds(scratch, group, s, n_spans, layer, &bounds); layer++)
			if (counting->wide)
				scratch->kernels->count_codes_16(rows, n, &bounds, counting->scratch->counters.wide);
			else
				scratch->kernels->count_codes_8(rows, n, &bounds, counting->scratch->counters.narrow);
	}
}

static bool
codes_add(GenieCounting *counting, const GenieTile *tile, uint32_t n_spans)
{
	codes_add_part(counting, tile, n_spans, 0, tile->n_objects);
	return true;
}

/* Only where nothing was found. */
static bool
codes_touch(GenieTileScratch *scratch, const GenieTile *tile, uint32_t n_spans)
{
	(void) scratch;
	(void) tile;
	return n_spans == 0;
}

const GenieTileSource genie_tile_from_codes = {
	.find = codes_find,
	.add = codes_add,
	.add_part = codes_add_part,
	.touch = codes_touch,
};
