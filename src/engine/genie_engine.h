/*
 * genie_engine.h
 *	  What an engine is: match counts over groups of tiles, and the best objects by them.
 *
 * An engine takes (groups of tiles, a batch of queries) and gives partial results that merge:
 * the best k of each query among the objects of the groups seen so far, or the counts
 * of all objects of a group.  The CPU engine (genie_engine_cpu.c) is the oracle of every
 * other; the CUDA engine implements the same table of functions.
 *
 * Data flows one way: the caller owns every byte of groups and queries and keeps them
 * unchanged during a call; the engine writes only into the results handed to it.
 * Engines know objects by number and keywords by rank (number in the segment's
 * sorted dictionary); no page, no TID, no PostgreSQL.
 *
 * Ranking.  Objects are ranked by (key descending, object ascending).  The key is the match
 * count, or, where the query brings a key table, keys[size class of the object][count].
 * Object numbers follow TID order inside a segment, so ties come in TID order.
 *
 * Dead objects (tombstones, NULLs, and what a caller filters away) are clear bits in a tile's
 * live bitmap; they are masked before anything is ranked, or they would push live objects out.
 */
#ifndef GENIE_ENGINE_H
#define GENIE_ENGINE_H

#include "genie_codec.h"
#include "genie_topk.h"

#define GENIE_ENGINE_ABI 1

typedef enum GenieStatus
{
	GENIE_OK = 0,
	GENIE_STATUS_RETRY,			/* may work next time */
	GENIE_STATUS_NO_ROOM,		/* does not fit this engine's memory */
	GENIE_STATUS_LOST,			/* the device is gone; the process must restart */
	GENIE_STATUS_CORRUPT,		/* a list's bytes are malformed */
	GENIE_STATUS_CANCELLED		/* the caller's interrupt callback said stop */
} GenieStatus;

/* One tile: its lists sorted by rank (several RAW lists may share one rank). */
typedef struct GenieTileView
{
	uint32_t	tile;			/* objects tile * 65,536 .. + n_objects - 1 */
	uint32_t	n_objects;		/* 1 .. 65,536 */
	uint32_t	n_lists;
	const GenieListRef *lists;
	const uint64_t *live;		/* GENIE_TILE_WORDS words, bits past n_objects clear; NULL: all live */
	const uint16_t *sizes;		/* n_objects keywords per object; NULL unless key tables need it */
} GenieTileView;

/* Consecutive tiles of one segment: the unit of upload, eviction and placement. */
typedef struct GenieGroupView
{
	uint32_t	n_tiles;
	const GenieTileView *tiles;
} GenieGroupView;

/* [first, end) of ranks: a point is one rank, a range item a run of them */
typedef struct GenieRankRange
{
	uint32_t	first;
	uint32_t	end;
} GenieRankRange;

/*
 * Integer keys for a distance: classes of object size, each a row of keys by count.
 * class_of_size has GENIE_OBJECT_KEYWORDS_MAX + 1 entries; keys has n_classes rows of
 * (max_count + 1) entries; a key of 0 is "not returned".
 */
typedef struct GenieKeyTable
{
	uint32_t	n_classes;
	const uint16_t *class_of_size;
	const uint32_t *keys;
} GenieKeyTable;

typedef struct GenieEngineQuery
{
	uint32_t	n_ranges;
	const GenieRankRange *ranges;	/* ascending, disjoint */
	uint32_t	max_count;		/* no object can match more: sizes the counters, 1 .. 65,535 */
	const GenieKeyTable *keys;	/* NULL: rank by count */
} GenieEngineQuery;

typedef struct GenieEngine GenieEngine;

/* The table of functions that an engine is. */
typedef struct GenieEngineOps
{
	uint32_t	abi;			/* GENIE_ENGINE_ABI */
	const char *name;

	/*
	 * Offers every live object of the group to each query's top-k (genie_topk.h: which
	 * holds k, the smallest key wanted, the cursor to continue after, and carries the bound
	 * from group to group).  Groups must come in object order.
	 */
	GenieStatus (*search) (GenieEngine *engine, const GenieGroupView *group,
						   uint32_t n_queries, const GenieEngineQuery *queries, GenieTopK *const *tops);

	/*
	 * The match count of every object of the group, dead ones too: counts[q][i], i from the
	 * first object of the group's first tile (tiles of a group are consecutive and full but the
	 * segment's last).
	 */
	GenieStatus (*count) (GenieEngine *engine, const GenieGroupView *group,
						  uint32_t n_queries, const GenieEngineQuery *queries, uint16_t *const *counts);

	void		(*close) (GenieEngine *engine);
} GenieEngineOps;

struct GenieEngine
{
	const GenieEngineOps *ops;

	/* Asked between tiles; true makes the call return GENIE_STATUS_CANCELLED.  May be NULL. */
	bool		(*interrupted) (void);
};

/*
 * The CPU engine.  memory is scratch of at least genie_cpu_engine_size() bytes, 64-byte aligned, that stays with the
 * engine until close (the caller frees it); one engine serves one call at a time.
 */
extern size_t genie_cpu_engine_size(void);
extern GenieEngine *genie_cpu_engine_open(void *memory);

#endif							/* GENIE_ENGINE_H */
