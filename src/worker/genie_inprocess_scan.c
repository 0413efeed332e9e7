/*
 * genie_inprocess_scan.c
 *	  Ranking a segment's objects by its values, from the pages (genie_inprocess.h).
 *
 * The section is read in sequence, a few pages at a time, so that records are in the cache when their keys are
 * computed.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "genie_inprocess.h"
#include "genie_value_offer.h"
#include "genie_values.h"

#define BLOCK_BYTES (64 * 1024) /* of records that are read at once, unless one is longer */

bool
genie_inprocess_scan(GenieSegment *segment, const uint64 *live, uint32 n_queries, const GenieValueQuery *const *queries,
					 GenieTopK *const *tops)
{
	Size		record = genie_value_bytes(genie_values_shape(segment));
	uint32		n_objects = segment->header.n_objects;
	uint32		n_block = (uint32) Max(BLOCK_BYTES / record, 1);
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	char	   *memory = palloc(n_block * record + GENIE_QUANTIZED_ALIGN);
	void	   *records = (void *) TYPEALIGN(GENIE_QUANTIZED_ALIGN, memory);
	bool		ok = true;

	genie_section_reader(reader, segment, GENIE_SECTION_VALUES);
	for (uint32 first = 0; ok && first < n_objects; first += n_block)
	{
		uint32		n = Min(n_objects - first, n_block);

		CHECK_FOR_INTERRUPTS();
		ok = genie_section_read(reader, first * (uint64) record, n * record, records);
		if (ok)
			genie_value_offer(queries, tops, n_queries, records, n, first, live);
	}
	pfree(memory);
	pfree(reader);
	return ok;
}
