/*
 * genie_live.c
 *	  Reading which objects are live (genie_live.h).
 *
 * Tombstones are read only if the segment has some, and the object table only if it has NULLs.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "genie_codec.h"
#include "genie_hint.h"
#include "genie_live.h"
#include "genie_object_table.h"
#include "genie_tombstone.h"

Size
genie_live_words(const GenieSegment *segment)
{
	return (Size) genie_object_table_tiles(segment) * GENIE_TILE_WORDS;
}

/* Clears the bits of NULL objects in live, and sets them in nulls unless that is NULL.  False: stale. */
static bool
genie_live_split_nulls(GenieSegment *segment, uint64 *live, uint64 *nulls)
{
	GenieObjectReader *objects = palloc(sizeof(GenieObjectReader));
	bool		ok = true;

	genie_object_table_reader(objects, segment, false);
	for (uint32 t = 0; ok && t < objects->n_tiles; t++)
	{
		const GenieTileObjects *tile = genie_object_table_tile(objects, t);

		CHECK_FOR_INTERRUPTS();
		ok = tile != NULL;
		for (uint32 r = 0; ok && r < tile->n_runs; r++)
		{
			uint32		end = r + 1 < tile->n_runs ? tile->runs[r + 1].start : tile->n_objects;

			for (uint32 i = tile->runs[r].start; tile->runs[r].is_null && i < end; i++)
			{
				Size		word = (Size) t * GENIE_TILE_WORDS + i / 64;
				uint64		bit = UINT64CONST(1) << (i % 64);

				if (nulls != NULL)
					nulls[word] |= live[word] & bit;
				live[word] &= ~bit;
			}
		}
	}
	pfree(objects);
	return ok;
}

bool
genie_live_read(GenieSegment *segment, uint32 n_dead, bool hints, uint64 *live, uint64 *nulls)
{
	uint32		n_objects = segment->header.n_objects;
	Size		bytes = genie_live_words(segment) * sizeof(uint64);

	memset(live, 0, bytes);
	if (nulls != NULL)
		memset(nulls, 0, bytes);
	if (n_dead > 0)
	{
		GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));

		genie_section_reader(reader, segment, GENIE_SECTION_TOMBSTONES);
		if (!genie_tombstone_read(reader, 0, n_objects, live))
			return false;
		pfree(reader);
	}
	if (hints && !genie_hint_read(segment, live))
		return false;
	for (uint32 i = 0; i < n_objects / 64; i++)
		live[i] = ~live[i];
	if (n_objects % 64 != 0)
		live[n_objects / 64] = ~live[n_objects / 64] & ((UINT64CONST(1) << (n_objects % 64)) - 1);
	return segment->header.n_nulls == 0 || genie_live_split_nulls(segment, live, nulls);
}
