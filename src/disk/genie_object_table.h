/*
 * genie_object_table.h
 *	  A segment's objects: object number → heap TID and NULL flag, and the objects' sizes.
 *
 * Objects are numbered densely in TID order.  The section OBJECTS holds one blob a tile (65,536
 * objects) and then a directory: the uint64 offset of each blob, and of their end.  A blob is a varint
 * number of runs, then the runs.  A run is objects on consecutive line pointers of one heap page, either all NULL
 * or none.  It has three numbers:
 *
 *		varint	block - block of the run before (the tile's first run: block)
 *		varint	offset, or, on the same block, offset - end of the run before
 *		varint	(length - 1) << 1 | is NULL
 *
 * In a table without holes that is one run a heap page.
 *
 * The section SIZES holds size - smallest of every object, bit-packed (width and smallest are the section's
 * parameters).  It is empty if all sizes are equal.  NULL objects have size 0, do not count for the smallest, and
 * are stored as the smallest.
 */
#ifndef GENIE_OBJECT_TABLE_H
#define GENIE_OBJECT_TABLE_H

#include "genie_segment.h"
#include "storage/itemptr.h"

/* A TID as an integer; integers compare as TIDs do. */
static inline uint64
genie_tid_number(const ItemPointerData *tid)
{
	return ((uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16) |
		ItemPointerGetOffsetNumberNoCheck(tid);
}

static inline void
genie_tid_from_number(uint64 number, ItemPointerData *tid)
{
	ItemPointerSet(tid, (BlockNumber) (number >> 16), (OffsetNumber) (number & 0xFFFF));
}

/* A comparison of uint64 for qsort, for example of TIDs as integers. */
extern int	genie_cmp_uint64(const void *a, const void *b);

/* ---- writing, in TID order ---- */

typedef struct GenieObjectWriter GenieObjectWriter;

/*
 * The sizes of all non-NULL objects must lie between min_size and max_size, which may be wider
 * than necessary.
 */
extern GenieObjectWriter *genie_object_table_writer(GenieSegmentWriter *segment, uint32 min_size, uint32 max_size);
extern void genie_object_table_add(GenieObjectWriter *writer, uint64 tid, bool is_null, uint32 size);

/* Ends the sections OBJECTS, SIZES, TOMBSTONES and HINTS; fills n_objects, n_nulls, min_size, max_size. */
extern void genie_object_table_finish(GenieObjectWriter *writer, GenieRootHeader *header);

/* ---- reading ---- */

typedef struct GenieTidRun
{
	uint32		start;			/* first object of the run, from the tile's first */
	BlockNumber block;
	uint16		offset;
	bool		is_null;
} GenieTidRun;

typedef struct GenieTileObjects
{
	uint32		n_objects;
	uint32		n_runs;
	GenieTidRun runs[FLEXIBLE_ARRAY_MEMBER];
} GenieTileObjects;

typedef struct GenieObjectReader
{
	GenieSectionReader reader;
	uint32		n_tiles;
	GenieTileObjects **tiles;	/* those decoded so far, if kept */
	bool		keep;
} GenieObjectReader;

extern uint32 genie_object_table_tiles(const GenieSegment *segment);

/* keep: decoded tiles stay in the current memory context; otherwise each call's result replaces the last one. */
extern void genie_object_table_reader(GenieObjectReader *reader, GenieSegment *segment, bool keep);

/* The runs of a tile; NULL: stale. */
extern const GenieTileObjects *genie_object_table_tile(GenieObjectReader *reader, uint32 tile);

/*
 * The TID numbers of n objects, which come in ascending order, may be of any tiles, and must exist.  Keeps nothing:
 * for a few objects of a large table, decoded tiles would take more time and memory.  False: stale.
 */
extern bool genie_object_table_tids(GenieObjectReader *reader, const uint32 *objects, uint32 n, uint64 *tids);

/* Sets the bits of all objects on n pages of the table, which come in ascending order.  False: stale. */
extern bool genie_object_table_mark_pages(GenieObjectReader *reader, const BlockNumber *pages, uint32 n, uint64 *bits);

/* The TID number of an object of the tile. */
extern uint64 genie_object_table_tid(const GenieTileObjects *tile, uint32 local, bool *is_null);

/*
 * The sizes of n objects from first on, minus the segment's smallest size.  One byte must be enough for each.  False:
 * stale.
 */
extern bool genie_object_table_sizes_above(GenieSectionReader *reader, uint32 first, uint32 n, uint8 *above);

/*
 * The sizes of n objects from first on, a multiple of 8.  A size outside of the header's min_size and max_size means
 * damage (ERROR).  False: stale.
 */
extern bool genie_object_table_sizes(GenieSectionReader *reader, uint32 first, uint32 n, uint32 *sizes);

#endif							/* GENIE_OBJECT_TABLE_H */
