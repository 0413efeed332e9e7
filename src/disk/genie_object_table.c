/*
 * genie_object_table.c
 *	  Writing and reading a segment's object table and sizes (format: genie_object_table.h).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/off.h"
#include "utils/memutils.h"

#include "genie_codec.h"
#include "genie_meta.h"
#include "genie_object_table.h"

#define GENIE_SIZES_BATCH 1024	/* sizes packed at a time; a multiple of 8 keeps batches on whole bytes */

struct GenieObjectWriter
{
	GenieSegmentWriter *segment;
	uint32		n_objects;
	uint32		n_nulls;
	uint32		min_size;
	uint32		max_size;
	uint32		width;
	uint64		last_tid;

	/* the tile being filled */
	uint8	   *runs;
	Size		runs_used;
	Size		runs_capacity;
	uint32		n_runs;
	BlockNumber run_block;		/* the open run */
	uint32		run_offset;
	uint32		run_length;		/* 0: none open */
	bool		run_null;
	BlockNumber last_block;		/* where the run before ended */
	uint32		last_end;

	uint64	   *directory;
	uint32		n_tiles;
	uint32		directory_capacity;

	uint32		n_sizes;
	uint32		sizes[GENIE_SIZES_BATCH];
};

GenieObjectWriter *
genie_object_writer(GenieSegmentWriter *segment, uint32 min_size, uint32 max_size)
{
	GenieObjectWriter *writer = palloc0(sizeof(GenieObjectWriter));

	writer->segment = segment;
	writer->min_size = min_size;
	writer->max_size = max_size;
	writer->width = max_size > min_size ? genie_bits_needed(max_size - min_size) : 0;
	genie_segment_parameters(segment, GENIE_SECTION_SIZES, writer->width, min_size);
	return writer;
}

/* Ends the open run. */
static void
genie_object_close_run(GenieObjectWriter *writer)
{
	uint8	   *to;

	if (writer->run_length == 0)
		return;
	if (writer->runs_used + 3 * GENIE_VARINT_MAX > writer->runs_capacity)
	{
		writer->runs_capacity = writer->runs_capacity == 0 ? 4096 : writer->runs_capacity * 2;
		if (writer->runs == NULL)
			writer->runs = palloc(writer->runs_capacity);
		else
			writer->runs = repalloc(writer->runs, writer->runs_capacity);
	}
	to = writer->runs + writer->runs_used;
	if (writer->n_runs == 0)
	{
		to += genie_varint_put(to, writer->run_block);
		to += genie_varint_put(to, writer->run_offset);
	}
	else
	{
		to += genie_varint_put(to, writer->run_block - writer->last_block);
		to += genie_varint_put(to, writer->run_block == writer->last_block ?
							   writer->run_offset - writer->last_end : writer->run_offset);
	}
	to += genie_varint_put(to, (uint64) (writer->run_length - 1) << 1 | (writer->run_null ? 1 : 0));
	writer->runs_used = to - writer->runs;
	writer->n_runs++;
	writer->last_block = writer->run_block;
	writer->last_end = writer->run_offset + writer->run_length;
	writer->run_length = 0;
}

/* Writes the tile's blob. */
static void
genie_object_close_tile(GenieObjectWriter *writer)
{
	uint8		head[GENIE_VARINT_MAX];

	genie_object_close_run(writer);
	if (writer->n_tiles == writer->directory_capacity)
	{
		writer->directory_capacity = writer->directory_capacity == 0 ? 64 : writer->directory_capacity * 2;
		if (writer->directory == NULL)
			writer->directory = palloc(writer->directory_capacity * sizeof(uint64));
		else
			writer->directory = repalloc(writer->directory,
										 writer->directory_capacity * sizeof(uint64));
	}
	writer->directory[writer->n_tiles++] = genie_segment_position(writer->segment,
																  GENIE_SECTION_OBJECTS);
	genie_segment_write(writer->segment, GENIE_SECTION_OBJECTS, head,
						genie_varint_put(head, writer->n_runs));
	genie_segment_write(writer->segment, GENIE_SECTION_OBJECTS, writer->runs, writer->runs_used);
	writer->runs_used = 0;
	writer->n_runs = 0;
}

static void
genie_object_flush_sizes(GenieObjectWriter *writer)
{
	uint8		packed[GENIE_SIZES_BATCH * sizeof(uint32)];

	if (writer->width > 0 && writer->n_sizes > 0)
	{
		genie_bits_pack(packed, writer->sizes, writer->n_sizes, writer->width);
		genie_segment_write(writer->segment, GENIE_SECTION_SIZES, packed,
							genie_bits_bytes(writer->n_sizes, writer->width));
	}
	writer->n_sizes = 0;
}

void
genie_object_add(GenieObjectWriter *writer, uint64 tid, bool is_null, uint32 size)
{
	BlockNumber block = (BlockNumber) (tid >> 16);
	uint32		offset = (uint32) (tid & 0xFFFF);

	if (writer->n_objects > 0 && tid <= writer->last_tid)
		elog(ERROR, "objects do not come in TID order");
	if (writer->n_objects == PG_UINT32_MAX - GENIE_TILE_OBJECTS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many rows for one genie segment")));
	writer->last_tid = tid;
	if (writer->n_objects > 0 && writer->n_objects % GENIE_TILE_OBJECTS == 0)
		genie_object_close_tile(writer);

	if (writer->run_length > 0 && writer->run_block == block &&
		writer->run_offset + writer->run_length == offset && writer->run_null == is_null)
		writer->run_length++;
	else
	{
		genie_object_close_run(writer);
		writer->run_block = block;
		writer->run_offset = offset;
		writer->run_length = 1;
		writer->run_null = is_null;
	}

	Assert(is_null || (size >= writer->min_size && size <= writer->max_size));
	writer->sizes[writer->n_sizes++] = is_null ? 0 : size - writer->min_size;
	if (writer->n_sizes == GENIE_SIZES_BATCH)
		genie_object_flush_sizes(writer);
	writer->n_objects++;
	if (is_null)
		writer->n_nulls++;
}

void
genie_object_finish(GenieObjectWriter *writer, GenieRootHeader *header)
{
	uint8		zeroes[1024] = {0};
	Size		left = (writer->n_objects + 7) / 8;
	uint64		end;

	if (writer->n_objects > 0)
		genie_object_close_tile(writer);
	genie_object_flush_sizes(writer);
	end = genie_segment_position(writer->segment, GENIE_SECTION_OBJECTS);
	if (writer->n_tiles > 0)
		genie_segment_write(writer->segment, GENIE_SECTION_OBJECTS, writer->directory,
							writer->n_tiles * sizeof(uint64));
	genie_segment_write(writer->segment, GENIE_SECTION_OBJECTS, &end, sizeof(end));
	while (left > 0)
	{
		Size		part = Min(left, sizeof(zeroes));

		genie_segment_write(writer->segment, GENIE_SECTION_TOMBSTONES, zeroes, part);
		left -= part;
	}
	header->n_objects = writer->n_objects;
	header->n_nulls = writer->n_nulls;
	header->min_size = (uint16) writer->min_size;
	header->max_size = (uint16) writer->max_size;
	if (writer->runs != NULL)
		pfree(writer->runs);
	if (writer->directory != NULL)
		pfree(writer->directory);
	pfree(writer);
}

/* ---- reading ---- */

static void
genie_object_corrupt(const GenieSegment *segment)
{
	if (segment->index == NULL)
		elog(ERROR, "spilled object table is malformed");
	genie_report_corrupt(segment->index, segment->entry.root, "malformed object table");
}

uint32
genie_object_tiles(const GenieSegment *segment)
{
	return (uint32) (((uint64) segment->header.n_objects + GENIE_TILE_OBJECTS - 1) >> GENIE_TILE_SHIFT);
}

void
genie_object_reader(GenieObjectReader *reader, GenieSegment *segment, bool keep)
{
	genie_section_reader(&reader->reader, segment, GENIE_SECTION_OBJECTS);
	reader->n_tiles = genie_object_tiles(segment);
	reader->keep = keep;
	reader->tiles = palloc0(sizeof(GenieTileObjects *) * (keep ? reader->n_tiles + 1 : 1));
}

/* Decodes a blob of nbytes. */
static GenieTileObjects *
genie_object_decode(const GenieSegment *segment, const uint8 *at, const uint8 *end, uint32 n_objects)
{
	GenieTileObjects *tile;
	uint64		n_runs;
	uint64		block = 0;
	uint64		offset = 0;
	uint32		done = 0;

	if (!genie_varint_next(&at, end, &n_runs) || n_runs == 0 || n_runs > n_objects)
		genie_object_corrupt(segment);
	tile = palloc(offsetof(GenieTileObjects, runs) + n_runs * sizeof(GenieTidRun));
	tile->n_objects = n_objects;
	tile->n_runs = (uint32) n_runs;
	for (uint32 i = 0; i < n_runs; i++)
	{
		uint64		block_delta;
		uint64		offset_delta;
		uint64		length;

		if (!genie_varint_next(&at, end, &block_delta) || !genie_varint_next(&at, end, &offset_delta) ||
			!genie_varint_next(&at, end, &length))
			genie_object_corrupt(segment);
		offset = (i > 0 && block_delta == 0 ? offset : 0) + offset_delta;
		block += block_delta;
		tile->runs[i].start = done;
		tile->runs[i].block = (BlockNumber) block;
		tile->runs[i].offset = (uint16) offset;
		tile->runs[i].is_null = length & 1;
		length = (length >> 1) + 1;
		if (block > MaxBlockNumber || offset < FirstOffsetNumber || offset > PG_UINT16_MAX ||
			length > n_objects - done || offset + length > PG_UINT16_MAX)
			genie_object_corrupt(segment);
		offset += length;
		done += (uint32) length;
	}
	if (done != n_objects || at != end)
		genie_object_corrupt(segment);
	return tile;
}

const GenieTileObjects *
genie_object_tile(GenieObjectReader *reader, uint32 tile)
{
	GenieSegment *segment = reader->reader.segment;
	uint64		length = segment->sections[GENIE_SECTION_OBJECTS].entry.length;
	uint64		bounds[2];
	uint32		n_objects;
	uint8	   *blob;
	GenieTileObjects **slot = reader->keep ? &reader->tiles[tile] : &reader->tiles[0];

	if (reader->keep && *slot != NULL)
		return *slot;
	Assert(tile < reader->n_tiles);
	if (length < (reader->n_tiles + 1) * sizeof(uint64))
		genie_object_corrupt(segment);
	length -= (reader->n_tiles + 1) * sizeof(uint64);
	if (!genie_section_read(&reader->reader, length + tile * sizeof(uint64), sizeof(bounds), bounds))
		return NULL;
	if (bounds[0] > bounds[1] || bounds[1] > length || bounds[1] - bounds[0] > MaxAllocSize)
		genie_object_corrupt(segment);
	blob = palloc(bounds[1] - bounds[0] + 1);
	if (!genie_section_read(&reader->reader, bounds[0], bounds[1] - bounds[0], blob))
		return NULL;
	n_objects = Min(segment->header.n_objects - tile * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS);
	if (!reader->keep && *slot != NULL)
		pfree(*slot);
	*slot = genie_object_decode(segment, blob, blob + (bounds[1] - bounds[0]), n_objects);
	pfree(blob);
	return *slot;
}

uint64
genie_object_tid(const GenieTileObjects *tile, uint32 local, bool *is_null)
{
	uint32		low = 0;
	uint32		high = tile->n_runs;
	const GenieTidRun *run;

	Assert(local < tile->n_objects);
	while (high - low > 1)
	{
		uint32		middle = (low + high) / 2;

		if (tile->runs[middle].start <= local)
			low = middle;
		else
			high = middle;
	}
	run = &tile->runs[low];
	*is_null = run->is_null;
	return ((uint64) run->block << 16) | (run->offset + (local - run->start));
}

bool
genie_object_sizes(GenieSectionReader *reader, uint32 first, uint32 n, uint32 *sizes)
{
	const GenieSectionEntry *entry = &reader->segment->sections[GENIE_SECTION_SIZES].entry;
	uint32		width = entry->parameter;
	uint8		packed[GENIE_SIZES_BATCH * sizeof(uint32)];
	uint32		smallest = entry->parameter2;
	uint32		largest = smallest;

	Assert(first % 8 == 0);
	if (width > 16 || smallest < reader->segment->header.min_size)
		genie_object_corrupt(reader->segment);
	for (uint32 done = 0; done < n; done += GENIE_SIZES_BATCH)
	{
		uint32		part = Min(n - done, GENIE_SIZES_BATCH);

		if (width > 0 &&
			!genie_section_read(reader, ((uint64) first + done) * width / 8,
								genie_bits_bytes(part, width), packed))
			return false;
		genie_bits_unpack(packed, part, width, sizes + done);
		for (uint32 i = 0; i < part; i++)
		{
			uint32		size = sizes[done + i] + smallest;

			sizes[done + i] = size;
			largest = Max(largest, size);
		}
	}
	if (largest > reader->segment->header.max_size)
		genie_object_corrupt(reader->segment);
	return true;
}

bool
genie_object_sizes_above(GenieSectionReader *reader, uint32 first, uint32 n, uint8 *above)
{
	const GenieRootHeader *header = &reader->segment->header;
	const GenieSectionEntry *entry = &reader->segment->sections[GENIE_SECTION_SIZES].entry;
	uint32		width = entry->parameter;
	uint8		packed[GENIE_SIZES_BATCH * sizeof(uint32)];
	uint32		batch = sizeof(packed);
	uint32		largest = 0;

	Assert(first % 8 == 0);
	if (width > 8 || entry->parameter2 != header->min_size)
		genie_object_corrupt(reader->segment);
	for (uint32 done = 0; done < n; done += batch)
	{
		uint32		part = Min(n - done, batch);

		if (width > 0 &&
			!genie_section_read(reader, ((uint64) first + done) * width / 8, genie_bits_bytes(part, width), packed))
			return false;
		largest = Max(largest, genie_bits_unpack_bytes(packed, part, width, above + done));
	}
	if (largest > header->max_size - header->min_size)
		genie_object_corrupt(reader->segment);
	return true;
}
