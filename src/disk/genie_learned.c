/*
 * genie_learned.c
 *	  What an operator class has learned (genie_learned.h).
 */
#include "postgres.h"

#include "genie_learned.h"
#include "genie_segment.h"

/* Bytes of a class's parameters that are in the metapage. */
static uint32
genie_learned_short(const bytea *parameters)
{
	return Min(VARSIZE(parameters) - VARHDRSZ, GENIE_PARAMETERS_MAX);
}

bytea *
genie_learned_parameters(Relation index, const GenieMetaData *meta)
{
	GenieSegment *segment = NULL;
	uint64		n_long = 0;
	bytea	   *parameters;

	if (meta->parameters_length == 0)
		return NULL;
	if (meta->learned.stamp != 0)
	{
		segment = genie_segment_open(index, &meta->learned);
		if (segment == NULL)
			genie_report_corrupt(index, meta->learned.root, "not the root of what the index has learned");
		n_long = segment->sections[GENIE_SECTION_LEARNED].entry.length;
		if (n_long > GENIE_LEARNED_MAX)
			genie_report_corrupt(index, meta->learned.root, "more was learned than is possible");
	}
	parameters = palloc(VARHDRSZ + meta->parameters_length + n_long);
	SET_VARSIZE(parameters, VARHDRSZ + meta->parameters_length + n_long);
	memcpy(VARDATA(parameters), meta->parameters, meta->parameters_length);
	if (n_long > 0)
	{
		GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));

		segment->verify = true;
		genie_section_reader(reader, segment, GENIE_SECTION_LEARNED);
		if (!genie_section_read(reader, 0, n_long, VARDATA(parameters) + meta->parameters_length))
			genie_report_corrupt(index, meta->learned.root, "a page of what the index has learned is not its own");
		pfree(reader);
	}
	return parameters;
}

void
genie_learned_set(const bytea *parameters, GenieFlip *flip)
{
	flip->parameters_length = genie_learned_short(parameters);
	flip->parameters = (const uint8 *) VARDATA(parameters);
}

void
genie_learned_first(Relation index, const bytea *parameters, bool build, GenieFlip *flip)
{
	Size		n = VARSIZE(parameters) - VARHDRSZ;
	GenieSegmentWriter *writer;
	GenieRootHeader header = {0};

	genie_learned_set(parameters, flip);
	if (n == flip->parameters_length)
		return;
	writer = genie_segment_begin(index, build, NULL);
	genie_segment_write(writer, GENIE_SECTION_LEARNED, flip->parameters + flip->parameters_length,
						n - flip->parameters_length);
	flip->learned = genie_segment_finish(writer, &header);
}

bytea *
genie_learned_again(const bytea *learned, const bytea *parameters)
{
	uint32		n = genie_learned_short(parameters);
	Size		n_long = VARSIZE(learned) - VARHDRSZ - genie_learned_short(learned);
	uint32		n_short = n_long > 0 ? GENIE_PARAMETERS_MAX : n;
	bytea	   *result = palloc0(VARHDRSZ + n_short + n_long);

	SET_VARSIZE(result, VARHDRSZ + n_short + n_long);
	memcpy(VARDATA(result), VARDATA(parameters), n);
	memcpy(VARDATA(result) + n_short, VARDATA(learned) + GENIE_PARAMETERS_MAX, n_long);
	return result;
}
