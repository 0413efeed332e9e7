/*
 * genie_values.c
 *	  The section VALUES of a segment (genie_values.h).
 */
#include "postgres.h"

#include "genie_values.h"

GenieValueShape
genie_values_shape(const GenieSegment *segment)
{
	const GenieSectionEntry *entry = &segment->sections[GENIE_SECTION_VALUES].entry;

	return (GenieValueShape) {.metric = (GenieMetric) entry->parameter, .n_dimensions = entry->parameter2};
}

bool
genie_values_missing(const GenieSegment *segment)
{
	return genie_values_shape(segment).metric == 0 && segment->header.n_nulls < segment->header.n_objects;
}

void
genie_values_begin(GenieSegmentWriter *writer, GenieValueShape shape)
{
	genie_segment_parameters(writer, GENIE_SECTION_VALUES, shape.metric, shape.n_dimensions);
}

bool
genie_values_valid(const GenieSegment *segment)
{
	GenieValueShape shape = genie_values_shape(segment);
	uint64		length = segment->sections[GENIE_SECTION_VALUES].entry.length;

	return shape.metric <= GENIE_METRIC_LAST && shape.n_dimensions <= GENIE_OBJECT_KEYWORDS_MAX &&
		length == segment->header.n_objects * (uint64) genie_value_bytes(shape);
}
