/*
 * genie_object_table.c
 *	  Writing and reading a segment's object table and sizes (format: genie_object_table.h).
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/off.h"
#include "utils/memutils.h"

#include "genie_bits.h"
#include "genie_hint.h"
#include "genie_object_table.h"
#include "genie_posting.h"
#include "genie_varint.h"

#define GENIE_SIZES_BATCH 1024	/* sizes packed at a time; a multiple of 8 keeps batches on whole bytes */
#define GENIE_RUNS_PASSED 8		/* runs that are passed together if none of their objects is wanted */

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

int
genie_cmp_uint64(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return (x > y) - (x < y);
}

GenieObjectWriter *
genie_object_table_writer(GenieSegmentWriter *segment, uint32 min_size, uint32 max_size)
{
	GenieObjectWriter *writer = palloc0(sizeof(GenieObjectWriter));

	writer->segment = segment;
	writer->min_size = min_size;
	writer->max_size = max_size;
	writer->width = max_size > min_size ? genie_bits_needed(max_size - min_size) : 0;
	writer->runs_capacity = 4096;
	writer->runs = palloc(writer->runs_capacity);
	writer->directory_capacity = 64;
	writer->directory = palloc(writer->directory_capacity * sizeof(uint64));
	genie_segment_parameters(segment, GENIE_SECTION_SIZES, writer->width, min_size);
	return writer;
}

/* Ends the open run. */
static void
genie_object_table_close_run(GenieObjectWriter *writer)
{
	uint8	   *to;

	if (writer->run_length == 0)
		return;
	if (writer->runs_used + 3 * GENIE_VARINT_MAX > writer->runs_capacity)
	{
		writer->runs_capacity *= 2;
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
genie_object_table_close_tile(GenieObjectWriter *writer)
{
	uint8		head[GENIE_VARINT_MAX];

	genie_object_table_close_run(writer);
	if (writer->n_tiles == writer->directory_capacity)
	{
		writer->directory_capacity *= 2;
		writer->directory = repalloc(writer->directory, writer->directory_capacity * sizeof(uint64));
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
genie_object_table_flush_sizes(GenieObjectWriter *writer)
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
genie_object_table_add(GenieObjectWriter *writer, uint64 tid, bool is_null, uint32 size)
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
		genie_object_table_close_tile(writer);

	if (writer->run_length > 0 && writer->run_block == block &&
		writer->run_offset + writer->run_length == offset && writer->run_null == is_null)
		writer->run_length++;
	else
	{
		genie_object_table_close_run(writer);
		writer->run_block = block;
		writer->run_offset = offset;
		writer->run_length = 1;
		writer->run_null = is_null;
	}

	Assert(is_null || (size >= writer->min_size && size <= writer->max_size));
	writer->sizes[writer->n_sizes++] = is_null ? 0 : size - writer->min_size;
	if (writer->n_sizes == GENIE_SIZES_BATCH)
		genie_object_table_flush_sizes(writer);
	writer->n_objects++;
	if (is_null)
		writer->n_nulls++;
}

void
genie_object_table_finish(GenieObjectWriter *writer, GenieRootHeader *header)
{
	uint8		zeroes[1024] = {0};
	Size		left = (writer->n_objects + 7) / 8;
	uint64		end;

	if (writer->n_objects > 0)
		genie_object_table_close_tile(writer);
	genie_object_table_flush_sizes(writer);
	end = genie_segment_position(writer->segment, GENIE_SECTION_OBJECTS);
	genie_segment_write(writer->segment, GENIE_SECTION_OBJECTS, writer->directory,
						writer->n_tiles * sizeof(uint64));
	genie_segment_write(writer->segment, GENIE_SECTION_OBJECTS, &end, sizeof(end));
	while (left > 0)
	{
		Size		part = Min(left, sizeof(zeroes));

		genie_segment_write(writer->segment, GENIE_SECTION_TOMBSTONES, zeroes, part);
		left -= part;
	}
	for (uint32 i = 0; i < genie_hint_pages(writer->n_objects); i++)
	{
		const GenieHintPage none = {0};

		genie_segment_write(writer->segment, GENIE_SECTION_HINTS, &none, sizeof(none));
	}
	header->n_objects = writer->n_objects;
	header->n_nulls = writer->n_nulls;
	header->min_size = (uint16) writer->min_size;
	header->max_size = (uint16) writer->max_size;
	pfree(writer->runs);
	pfree(writer->directory);
	pfree(writer);
}

/* ---- reading ---- */

static void
genie_object_table_corrupt(const GenieSegment *segment)
{
	if (segment->index == NULL)
		elog(ERROR, "spilled object table is malformed");
	genie_report_corrupt(segment->index, segment->entry.root, "malformed object table");
}

uint32
genie_object_table_tiles(const GenieSegment *segment)
{
	return (uint32) (((uint64) segment->header.n_objects + GENIE_TILE_OBJECTS - 1) >> GENIE_TILE_SHIFT);
}

void
genie_object_table_reader(GenieObjectReader *reader, GenieSegment *segment, bool keep)
{
	genie_section_reader(&reader->reader, segment, GENIE_SECTION_OBJECTS);
	reader->n_tiles = genie_object_table_tiles(segment);
	reader->keep = keep;
	reader->tiles = palloc0(sizeof(GenieTileObjects *) * (keep ? reader->n_tiles + 1 : 1));
}

/* A position among a blob's runs. */
typedef struct GenieRunCursor
{
	const GenieSegment *segment;
	const uint8 *at;
	const uint8 *end;
	uint32		n_objects;		/* of the tile */
	uint32		done;			/* objects of the runs so far */
	uint64		block;			/* of the last run */
	uint64		offset;			/* behind it; of the tile's first run 0 */
} GenieRunCursor;

/* A run's three numbers.  Mostly each is below 128, that is one byte. */
static inline bool
genie_object_table_run_numbers(GenieRunCursor *cursor, uint64 numbers[3])
{
	const uint8 *at = cursor->at;

	if (cursor->end - at >= 3 && ((at[0] | at[1] | at[2]) & 0x80) == 0)
	{
		numbers[0] = at[0];
		numbers[1] = at[1];
		numbers[2] = at[2];
		cursor->at = at + 3;
		return true;
	}
	return genie_varint_next(&cursor->at, cursor->end, &numbers[0]) &&
		genie_varint_next(&cursor->at, cursor->end, &numbers[1]) &&
		genie_varint_next(&cursor->at, cursor->end, &numbers[2]);
}

/* The next run, which must be there; cursor->done is then behind its last object. */
static inline GenieTidRun
genie_object_table_next_run(GenieRunCursor *cursor)
{
	uint64		numbers[3];		/* of blocks, of offsets, length and whether NULL */
	uint64		length;
	uint64		offset;
	GenieTidRun run;

	if (!genie_object_table_run_numbers(cursor, numbers))
		genie_object_table_corrupt(cursor->segment);
	offset = (numbers[0] == 0 ? cursor->offset : 0) + numbers[1];
	cursor->block += numbers[0];
	run.start = cursor->done;
	run.block = (BlockNumber) cursor->block;
	run.offset = (uint16) offset;
	run.is_null = numbers[2] & 1;
	length = (numbers[2] >> 1) + 1;
	if (cursor->block > MaxBlockNumber || offset < FirstOffsetNumber || offset > PG_UINT16_MAX ||
		length > cursor->n_objects - cursor->done || offset + length > PG_UINT16_MAX)
		genie_object_table_corrupt(cursor->segment);
	cursor->offset = offset + length;
	cursor->done += (uint32) length;
	return run;
}

/* The sum of eight bytes that are each below 128. */
static inline uint32
genie_object_table_sum_bytes(uint64 bytes)
{
	bytes = (bytes & UINT64CONST(0x00FF00FF00FF00FF)) + (bytes >> 8 & UINT64CONST(0x00FF00FF00FF00FF));
	return (uint32) (bytes * UINT64CONST(0x0001000100010001) >> 48);
}

/*
 * Passes runs, eight at a time, as long as the next eight have numbers of one byte each and end before the object and
 * before the page.  Eight runs are three words; every third byte is a number of the same kind.  Subtracts the runs
 * passed from n_runs, those that are left.
 */
static void
genie_object_table_skip_runs(GenieRunCursor *cursor, uint32 object, uint64 block, uint64 *n_runs)
{
	const uint64 first = UINT64CONST(0x00FF0000FF0000FF);	/* bytes 0, 3, 6 */
	const uint64 second = UINT64CONST(0xFF0000FF0000FF00);	/* 1, 4, 7 */
	const uint64 third = UINT64CONST(0x0000FF0000FF0000);	/* 2, 5 */

	while (*n_runs >= GENIE_RUNS_PASSED && cursor->end - cursor->at >= GENIE_RUNS_PASSED * 3)
	{
		const uint8 *at = cursor->at;
		uint64		a = genie_load_64(at);
		uint64		b = genie_load_64(at + 8);
		uint64		c = genie_load_64(at + 16);
		uint32		n_blocks = genie_object_table_sum_bytes((a & first) | (b & second) | (c & third));
		uint64		lengths = (a & third) | (b & first) | (c & second);
		uint32		n_objects = genie_object_table_sum_bytes(lengths >> 1 & GENIE_EACH_BYTE(0x7F)) + GENIE_RUNS_PASSED;
		uint64		offset = 0;
		int			run = GENIE_RUNS_PASSED;

		if (((a | b | c) & GENIE_EACH_BYTE(0x80)) != 0 || cursor->done + n_objects > object ||
			cursor->block + n_blocks >= block)
			return;
		do
		{
			run--;
			offset += at[run * 3 + 1] + (at[run * 3 + 2] >> 1) + 1;
		} while (run > 0 && at[run * 3] == 0);
		cursor->offset = at[run * 3] == 0 ? cursor->offset + offset : offset;
		cursor->block += n_blocks;
		cursor->done += n_objects;
		cursor->at += GENIE_RUNS_PASSED * 3;
		*n_runs -= GENIE_RUNS_PASSED;
	}
}

/*
 * Reads a tile's blob into the buffer, and places the cursor before the first of its n_runs runs.  False: stale.
 */
static bool
genie_object_table_begin(GenieObjectReader *reader, uint32 tile, StringInfo blob, GenieRunCursor *cursor,
						 uint64 *n_runs)
{
	GenieSegment *segment = reader->reader.segment;
	uint64		length = segment->sections[GENIE_SECTION_OBJECTS].entry.length;
	uint64		bounds[2];

	Assert(tile < reader->n_tiles);
	if (length < (reader->n_tiles + 1) * sizeof(uint64))
		genie_object_table_corrupt(segment);
	length -= (reader->n_tiles + 1) * sizeof(uint64);
	if (!genie_section_read(&reader->reader, length + tile * sizeof(uint64), sizeof(bounds), bounds))
		return false;
	if (bounds[0] > bounds[1] || bounds[1] > length || bounds[1] - bounds[0] >= MaxAllocSize)
		genie_object_table_corrupt(segment);
	resetStringInfo(blob);
	enlargeStringInfo(blob, (int) (bounds[1] - bounds[0]));
	if (!genie_section_read(&reader->reader, bounds[0], bounds[1] - bounds[0], blob->data))
		return false;
	cursor->segment = segment;
	cursor->at = (const uint8 *) blob->data;
	cursor->end = cursor->at + (bounds[1] - bounds[0]);
	cursor->n_objects = Min(segment->header.n_objects - tile * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS);
	cursor->done = 0;
	cursor->block = cursor->offset = 0;
	if (!genie_varint_next(&cursor->at, cursor->end, n_runs) || *n_runs == 0 || *n_runs > cursor->n_objects)
		genie_object_table_corrupt(segment);
	return true;
}

const GenieTileObjects *
genie_object_table_tile(GenieObjectReader *reader, uint32 tile)
{
	GenieTileObjects **slot = reader->keep ? &reader->tiles[tile] : &reader->tiles[0];
	StringInfoData blob;
	GenieRunCursor cursor;
	GenieTileObjects *decoded;
	uint64		n_runs;

	if (reader->keep && *slot != NULL)
		return *slot;
	initStringInfo(&blob);
	if (!genie_object_table_begin(reader, tile, &blob, &cursor, &n_runs))
		return NULL;
	if (!reader->keep && *slot != NULL)
		pfree(*slot);
	*slot = NULL;
	decoded = palloc(offsetof(GenieTileObjects, runs) + n_runs * sizeof(GenieTidRun));
	decoded->n_objects = cursor.n_objects;
	decoded->n_runs = (uint32) n_runs;
	for (uint32 i = 0; i < n_runs; i++)
		decoded->runs[i] = genie_object_table_next_run(&cursor);
	if (cursor.done != cursor.n_objects || cursor.at != cursor.end)
		genie_object_table_corrupt(cursor.segment);
	pfree(blob.data);
	*slot = decoded;
	return decoded;
}

bool
genie_object_table_tids(GenieObjectReader *reader, const uint32 *objects, uint32 n, uint64 *tids)
{
	StringInfoData blob;
	bool		ok = true;

	initStringInfo(&blob);
	for (uint32 i = 0; ok && i < n;)
	{
		uint32		tile = objects[i] >> GENIE_TILE_SHIFT;
		GenieRunCursor cursor;
		GenieTidRun run = {0};
		uint64		n_runs;

		ok = genie_object_table_begin(reader, tile, &blob, &cursor, &n_runs);
		for (; ok && i < n && objects[i] >> GENIE_TILE_SHIFT == tile; i++)
		{
			uint32		local = objects[i] & (GENIE_TILE_OBJECTS - 1);

			while (cursor.done <= local)
			{
				genie_object_table_skip_runs(&cursor, local, PG_UINT64_MAX, &n_runs);
				if (n_runs-- == 0)
					genie_object_table_corrupt(cursor.segment);
				run = genie_object_table_next_run(&cursor);
			}
			tids[i] = ((uint64) run.block << 16) + run.offset + (local - run.start);
		}
	}
	pfree(blob.data);
	return ok;
}

/* Sets n bits from one on. */
static void
genie_object_table_set_bits(uint64 *bits, uint32 first, uint32 n)
{
	for (uint32 i = first; i < first + n; i++)
		bits[i / 64] |= UINT64CONST(1) << (i % 64);
}

bool
genie_object_table_mark_pages(GenieObjectReader *reader, const BlockNumber *pages, uint32 n, uint64 *bits)
{
	StringInfoData blob;
	uint32		page = 0;
	bool		ok = true;

	initStringInfo(&blob);
	for (uint32 tile = 0; ok && tile < reader->n_tiles && page < n; tile++)
	{
		GenieRunCursor cursor;
		uint64		n_runs;

		CHECK_FOR_INTERRUPTS();
		ok = genie_object_table_begin(reader, tile, &blob, &cursor, &n_runs);
		while (ok && page < n && cursor.done < cursor.n_objects)
		{
			GenieTidRun run;

			genie_object_table_skip_runs(&cursor, cursor.n_objects - 1, pages[page], &n_runs);
			if (n_runs-- == 0)
				genie_object_table_corrupt(cursor.segment);
			run = genie_object_table_next_run(&cursor);
			while (page < n && pages[page] < run.block)
				page++;
			if (page < n && pages[page] == run.block)
				genie_object_table_set_bits(bits, tile * GENIE_TILE_OBJECTS + run.start, cursor.done - run.start);
		}
	}
	pfree(blob.data);
	return ok;
}

uint64
genie_object_table_tid(const GenieTileObjects *tile, uint32 local, bool *is_null)
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
genie_object_table_sizes(GenieSectionReader *reader, uint32 first, uint32 n, uint32 *sizes)
{
	const GenieSectionEntry *entry = &reader->segment->sections[GENIE_SECTION_SIZES].entry;
	uint32		width = entry->parameter;
	uint8		packed[GENIE_SIZES_BATCH * sizeof(uint32)];
	uint32		smallest = entry->parameter2;
	uint32		largest = smallest;

	Assert(first % 8 == 0);
	if (width > 16 || smallest < reader->segment->header.min_size)
		genie_object_table_corrupt(reader->segment);
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
		genie_object_table_corrupt(reader->segment);
	return true;
}

bool
genie_object_table_sizes_above(GenieSectionReader *reader, uint32 first, uint32 n, uint8 *above)
{
	const GenieRootHeader *header = &reader->segment->header;
	const GenieSectionEntry *entry = &reader->segment->sections[GENIE_SECTION_SIZES].entry;
	uint32		width = entry->parameter;
	uint8		packed[GENIE_SIZES_BATCH * sizeof(uint32)];
	uint32		batch = sizeof(packed);
	uint32		largest = 0;

	Assert(first % 8 == 0);
	if (width > 8 || entry->parameter2 != header->min_size)
		genie_object_table_corrupt(reader->segment);
	for (uint32 done = 0; done < n; done += batch)
	{
		uint32		part = Min(n - done, batch);

		if (width > 0 &&
			!genie_section_read(reader, ((uint64) first + done) * width / 8, genie_bits_bytes(part, width), packed))
			return false;
		largest = Max(largest, genie_bits_unpack_bytes(packed, part, width, above + done));
	}
	if (largest > header->max_size - header->min_size)
		genie_object_table_corrupt(reader->segment);
	return true;
}
