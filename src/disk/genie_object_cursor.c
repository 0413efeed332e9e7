/*
 * genie_object_cursor.c
 *	  A segment's live objects, one by one (genie_object_cursor.h).  Memory: one tile's runs and dead bits.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "genie_object_cursor.h"
#include "genie_tombstone.h"

void
genie_object_cursor_begin(GenieObjectCursor *cursor, GenieSegment *segment)
{
	cursor->segment = segment;
	cursor->next = 0;
	genie_object_table_reader(&cursor->objects, segment, false);
	genie_section_reader(&cursor->tombstones, segment, GENIE_SECTION_TOMBSTONES);
}

/* Loads the tile that begins with the next object.  False: stale. */
static bool
genie_object_cursor_load(GenieObjectCursor *cursor)
{
	CHECK_FOR_INTERRUPTS();
	cursor->tile = genie_object_table_tile(&cursor->objects, cursor->next >> GENIE_TILE_SHIFT);
	memset(cursor->dead, 0, sizeof(cursor->dead));
	return cursor->tile != NULL &&
		genie_tombstone_read(&cursor->tombstones, cursor->next, cursor->tile->n_objects, cursor->dead);
}

bool
genie_object_cursor_next(GenieObjectCursor *cursor)
{
	while (cursor->next < cursor->segment->header.n_objects)
	{
		uint32		local = cursor->next & (GENIE_TILE_OBJECTS - 1);

		if (local == 0 && !genie_object_cursor_load(cursor))
			return false;
		cursor->object = cursor->next++;
		if ((cursor->dead[local / 64] >> (local % 64)) & 1)
			continue;
		cursor->tid = genie_object_table_tid(cursor->tile, local, &cursor->is_null);
		return true;
	}
	return false;
}
