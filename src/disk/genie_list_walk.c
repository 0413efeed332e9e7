/*
 * genie_list_walk.c
 *	  Posting lists from pages (genie_list_walk.h).
 */
#include "postgres.h"

#include "miscadmin.h"

#include "genie_codec.h"
#include "genie_list_walk.h"
#include "genie_varint.h"

/* Notes that the pages are malformed, and how.  Always false. */
static bool
genie_list_walk_damaged(GenieListWalk *walk, const char *what)
{
	walk->damage = what;
	return false;
}

static bool
genie_list_walk_malformed(GenieListWalk *walk)
{
	return genie_list_walk_damaged(walk, "malformed posting list");
}

void
genie_list_walk_begin(GenieListWalk *walk, GenieSegment *segment)
{
	genie_section_reader(&walk->reader, segment, GENIE_SECTION_POSTINGS);
	walk->headers = false;
	walk->damage = NULL;
	walk->at = walk->n = 0;
}

/* n bytes at a position, at most a tile's header or payload.  NULL: stale, or damaged. */
static const uint8 *
genie_list_walk_bytes(GenieListWalk *walk, uint64 position, uint32 n)
{
	if (position < walk->at || position + n > walk->at + walk->n)
	{
		uint64		length = walk->reader.segment->sections[GENIE_SECTION_POSTINGS].entry.length;

		if (position > length || n > length - position)
		{
			genie_list_walk_damaged(walk, "a posting list is longer than the section");
			return NULL;
		}
		walk->n = 0;
		walk->at = position / GENIE_PAGE_PAYLOAD * GENIE_PAGE_PAYLOAD;
		CHECK_FOR_INTERRUPTS();
		if (!genie_section_read(&walk->reader, walk->at, Min(length - walk->at, GENIE_LIST_WINDOW), walk->bytes))
			return NULL;
		walk->n = (uint32) Min(length - walk->at, GENIE_LIST_WINDOW);
	}
	return walk->bytes + (position - walk->at);
}

/* A list of few postings. */
static bool
genie_list_walk_loose(GenieListWalk *walk, const GenieDictionaryCursor *cursor, GenieListTake take, void *arg)
{
	uint32		objects[GENIE_LOOSE_MAX];
	uint32		n = cursor->n_postings;
	const uint8 *bytes;

	if (n == 0 || cursor->list_bytes > 1 + GENIE_LOOSE_MAX * GENIE_VARINT_MAX)
		return genie_list_walk_malformed(walk);
	bytes = genie_list_walk_bytes(walk, cursor->list_at, (uint32) cursor->list_bytes);
	if (bytes == NULL)
		return false;
	if (bytes[0] != GENIE_LIST_LOOSE || !genie_loose_decode(bytes + 1, cursor->list_bytes - 1, n, objects))
		return genie_list_walk_malformed(walk);
	for (uint32 i = 0; i < n;)
	{
		uint32		tile = objects[i] >> GENIE_TILE_SHIFT;
		uint32		from = i;
		GenieListRef ref = {.rank = cursor->rank, .codec = GENIE_CODEC_RAW, .data = (const uint8 *) walk->locals};

		for (; i < n && objects[i] >> GENIE_TILE_SHIFT == tile; i++)
			walk->locals[i - from] = (uint16) (objects[i] & (GENIE_TILE_OBJECTS - 1));
		ref.n = i - from;
		ref.nbytes = 2 * ref.n;
		if (!take(arg, tile, &ref))
			return false;
	}
	return true;
}

/* A list that is cut into tiles. */
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
		return genie_list_walk_malformed(walk);
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
			return genie_list_walk_malformed(walk);
		at += header_len;
		ref.rank = cursor->rank;
		ref.data = walk->headers ? NULL : genie_list_walk_bytes(walk, at, ref.nbytes);
		if ((ref.data == NULL && !walk->headers) || !take(arg, tile, &ref))
			return false;
		n += ref.n;
		last_tile = tile;
		at += ref.nbytes;
	}
	return n == cursor->n_postings || genie_list_walk_malformed(walk);
}

bool
genie_list_walk(GenieListWalk *walk, const GenieDictionaryCursor *cursor, GenieListTake take, void *arg)
{
	if (cursor->list_bytes < 2)
		return genie_list_walk_malformed(walk);
	return cursor->n_postings <= GENIE_LOOSE_MAX ? genie_list_walk_loose(walk, cursor, take, arg) :
		genie_list_walk_tiled(walk, cursor, take, arg);
}

const uint16 *
genie_list_walk_locals(GenieListWalk *walk, const GenieListRef *ref)
{
	if (ref->codec != GENIE_CODEC_RAW && !genie_list_decode(ref, walk->locals))
	{
		genie_list_walk_malformed(walk);
		return NULL;
	}
	return walk->locals;
}
