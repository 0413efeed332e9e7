/*
 * genie_list_walk.c
 *	  Posting lists from pages (genie_list_walk.h).
 *
 * Lists lie in dictionary order without gaps, so that reading on from one keyword to the next reads each page once: the
 * window holds some pages, and moves on when a part of a list leaves it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "genie_codec.h"
#include "genie_list_walk.h"
#include "genie_varint.h"

pg_noreturn static void
genie_list_walk_corrupt(const GenieListWalk *walk)
{
	const GenieSegment *segment = walk->reader.segment;

	if (segment->index == NULL)
		elog(ERROR, "malformed posting list in a temporary file");
	genie_report_corrupt(segment->index, segment->entry.root, "malformed posting list");
}

void
genie_list_walk_begin(GenieListWalk *walk, GenieSegment *segment)
{
	genie_section_reader(&walk->reader, segment, GENIE_SECTION_POSTINGS);
	walk->at = walk->n = 0;
}

/* n bytes at a position, at most a tile's header or payload.  NULL: stale. */
static const uint8 *
genie_list_walk_bytes(GenieListWalk *walk, uint64 position, uint32 n)
{
	uint64		length = walk->reader.segment->sections[GENIE_SECTION_POSTINGS].entry.length;

	if (position + n > length)
		genie_list_walk_corrupt(walk);
	if (position < walk->at || position + n > walk->at + walk->n)
	{
		CHECK_FOR_INTERRUPTS();
		walk->n = 0;
		walk->at = position / GENIE_PAGE_PAYLOAD * GENIE_PAGE_PAYLOAD;
		if (!genie_section_read(&walk->reader, walk->at, Min(length - walk->at, GENIE_LIST_WINDOW), walk->bytes))
			return NULL;
		walk->n = (uint32) Min(length - walk->at, GENIE_LIST_WINDOW);
	}
	return walk->bytes + (position - walk->at);
}

static bool
genie_list_walk_loose(GenieListWalk *walk, const GenieDictionaryCursor *cursor, GenieListTake take, void *arg)
{
	uint32		objects[GENIE_LOOSE_MAX];
	uint32		from = 0;
	const uint8 *bytes;

	if (cursor->n_postings == 0 || cursor->list_bytes > 1 + GENIE_LOOSE_MAX * GENIE_VARINT_MAX)
		genie_list_walk_corrupt(walk);
	bytes = genie_list_walk_bytes(walk, cursor->list_at, (uint32) cursor->list_bytes);
	if (bytes == NULL)
		return false;
	if (bytes[0] != GENIE_LIST_LOOSE ||
		!genie_loose_decode(bytes + 1, cursor->list_bytes - 1, cursor->n_postings, objects))
		genie_list_walk_corrupt(walk);
	for (uint32 i = 0; i < cursor->n_postings; i++)
	{
		uint32		tile = objects[i] >> GENIE_TILE_SHIFT;

		walk->locals[i] = (uint16) (objects[i] & (GENIE_TILE_OBJECTS - 1));
		if (i + 1 == cursor->n_postings || objects[i + 1] >> GENIE_TILE_SHIFT != tile)
		{
			take(arg, tile, walk->locals + from, i + 1 - from);
			from = i + 1;
		}
	}
	return true;
}

static bool
genie_list_walk_tiled(GenieListWalk *walk, const GenieDictionaryCursor *cursor, GenieListTake take, void *arg)
{
	uint64		at = cursor->list_at;
	uint64		end = cursor->list_at + cursor->list_bytes;
	int64		last_tile = -1;
	uint64		n = 0;
	const uint8 *bytes = genie_list_walk_bytes(walk, at++, 1);

	if (bytes == NULL)
		return false;
	if (*bytes != GENIE_LIST_TILED)
		genie_list_walk_corrupt(walk);
	while (at < end)
	{
		uint32		room = (uint32) Min(end - at, GENIE_TILE_HEADER_MAX);
		GenieListRef ref;
		uint32		tile;
		size_t		header_len;

		bytes = genie_list_walk_bytes(walk, at, room);
		if (bytes == NULL)
			return false;
		if (!genie_tile_header(bytes, bytes + room, last_tile, &tile, &ref, &header_len) ||
			ref.nbytes > end - at - header_len)
			genie_list_walk_corrupt(walk);
		at += header_len;
		ref.data = genie_list_walk_bytes(walk, at, ref.nbytes);
		if (ref.data == NULL)
			return false;
		if (!genie_list_decode(&ref, walk->locals))
			genie_list_walk_corrupt(walk);
		take(arg, tile, walk->locals, ref.n);
		n += ref.n;
		last_tile = tile;
		at += ref.nbytes;
	}
	if (n != cursor->n_postings)
		genie_list_walk_corrupt(walk);
	return true;
}

bool
genie_list_walk(GenieListWalk *walk, const GenieDictionaryCursor *cursor, GenieListTake take, void *arg)
{
	if (cursor->list_bytes < 2)
		genie_list_walk_corrupt(walk);
	return cursor->n_postings <= GENIE_LOOSE_MAX ? genie_list_walk_loose(walk, cursor, take, arg) :
		genie_list_walk_tiled(walk, cursor, take, arg);
}
