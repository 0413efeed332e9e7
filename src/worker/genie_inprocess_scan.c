/*
 * genie_inprocess_scan.c
 *	  Ranking a segment's objects by its values, from the pages (genie_inprocess.h).
 *
 * The section is read in sequence, a few pages at a time, so that records are in the cache when their keys are computed.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "genie_inprocess.h"
#include "genie_values.h"

#define BLOCK_BYTES (64 * 1024) /* of records that are read at once, unless one is longer */

/* Offers n objects from the first one on. */
static void
offer(GenieTopK *top, const uint32 *keys, const uint64 *live, uint32 first, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
		if (keys[i] >= top->floor && (live == NULL || (live[(first + i) / 64] >> ((first + i) % 64) & 1) != 0))
			genie_topk_offer(top, keys[i], first + i);
}

bool
genie_inprocess_scan(GenieSegment *segment, const uint64 *live, uint32 n_queries, const GenieValueQuery *const *queries,
					 GenieTopK *tops)
{
	Size		record = genie_value_bytes(genie_values_shape(segment));
	uint32		n_objects = segment->header.n_objects;
	uint32		n_block = (uint32) Max(BLOCK_BYTES / record, 1);
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	char	   *memory = palloc(n_block * record + GENIE_QUANTIZED_ALIGN);
	void	   *records = (void *) TYPEALIGN(GENIE_QUANTIZED_ALIGN, memory);
	uint32	   *keys = palloc(n_block * sizeof(uint32));
	bool		ok = true;

	genie_section_reader(reader, segment, GENIE_SECTION_VALUES);
	for (uint32 first = 0; ok && first < n_objects; first += n_block)
	{
		uint32		n = Min(n_objects - first, n_block);

		CHECK_FOR_INTERRUPTS();
		ok = genie_section_read(reader, first * (uint64) record, n * record, records);
		for (uint32 q = 0; ok && q < n_queries; q++)
		{
			genie_value_keys(queries[q], records, n, keys);
			offer(&tops[q], keys, live, first, n);
		}
	}
	pfree(keys);
	pfree(memory);
	pfree(reader);
	return ok;
}
