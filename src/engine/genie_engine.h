/*
 * genie_engine.h
 *	  What an engine is: it takes a batch of jobs over images of segments and does them.
 *
 * A job is one query against a range of tiles of one segment's image (genie_image.h): the best k objects of these tiles
 * by match count or by vector, the counts of all of them, how many match often enough, or which of them fulfil
 * conditions; or how many objects have each keyword, or lie in each cell of a grid.  A batch may mix jobs of all kinds,
 * of many images and ranges, with different k, lengths and keys.  What jobs of the same query on neighbouring ranges
 * give is what one job on all their tiles gives: counts and masks one after the other, tallies, facets and cells by
 * their sums, the best k by merging hits.  There are two engines: the CPU engine (genie_engine_cpu.h), which tests take
 * as the oracle, and the CUDA engine (cuda/); and several of one kind are an engine, too (genie_engines.h).
 *
 * Three kinds of jobs have no image: GENIE_JOB_NEAREST brings rows of its own (genie_nearest.h), GENIE_JOB_HASH vectors
 * (genie_hashing.h), and GENIE_JOB_LEVEL is about vectors, and writes into a graph that is built of them
 * (genie_proximity_level.h).  They are for a GPU engine.  The CPU engine calls them malformed: a backend does them as
 * fast by itself, and copies nothing.
 *
 * Data flows one way: the caller owns every byte of images and jobs and keeps them unchanged during
 * a call; the engine writes only results: job->out, job->n_hits, job->status; and the tiles of a LEVEL job's graph.
 * Engines know objects by number and keywords by rank (number in the segment's sorted dictionary); no page, no TID, no
 * PostgreSQL.
 *
 * Ranking.  Objects are ranked by (key descending, object ascending).  The key is the match
 * count, or, where the query brings a key table, keys[size class of the object][count]; then objects without
 * any match are ranked too.  Object numbers follow TID order inside a segment, so ties come in TID order.  Objects of
 * key 0 are never returned.
 *
 * Bounds.  A TOP job may bring the quantized vectors of its image's objects and a query's (genie_quantized.h), to have
 * lower bounds of the distances of its hits.  An engine that holds these vectors beside the image gives both at once.
 * Any other engine, or one without room for the vectors just now, gives the hits alone and says so (has_bounds).  The
 * job is done then, too; the caller computes the bounds from the hits.
 *
 * Scans.  A SCAN job ranks all objects of its tiles by the keys of their quantized vectors (genie_value_scan.h), which
 * are the same bits by every engine, so that another one may go on behind a cursor.  Its image gives the live bits, and
 * may have no keywords.  There are no conditions.  Bit strings (genie_value_bits.h) are scanned in the same way.
 * A SCAN job may bring a proximity graph of its vectors (genie_proximity.h).  It allows an engine to look at fewer
 * objects, and to miss some of the best.
 *
 * Dead objects (tombstones, NULLs) are clear bits in the image's live bitmap, and objects that fail a
 * condition are treated the same; they are masked before anything is ranked, or they would push live objects out.
 *
 * An image may lack groups, and vectors tiles: their jobs name only tiles that they have.  So an engine may do what of
 * an image is its part (genie_engines.h).
 *
 * On the device alone.  What is larger than the host's memory comes by STAGE jobs, some groups at a time, the others
 * being heads (genie_image.h), or some tiles of vectors, the others NULL.  The first job takes room for all.  Such a
 * copy is the only one: it stays until it is forgotten, or the limit of device memory is lowered.  Once it is complete,
 * jobs bring an image of heads, or vectors of NULLs.  An engine that has no such copy says GENIE_STATUS_NO_ROOM, or
 * gives no bounds.
 *
 * An engine may keep copies of images, of quantized vectors and of graphs as a cache, until the caller tells it to
 * forget them.  It knows them by their ids; none of them has the id of another.
 * One process, one thread calls an engine.
 */
#ifndef GENIE_ENGINE_H
#define GENIE_ENGINE_H

#include <float.h>

#include "genie_grid.h"
#include "genie_hashing.h"
#include "genie_image.h"
#include "genie_nearest.h"
#include "genie_proximity_level.h"
#include "genie_quantized.h"
#include "genie_topk.h"
#include "genie_value_record.h"
#include "genie_value_scan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_ENGINE_ABI 22

typedef enum GenieStatus
{
	GENIE_OK = 0,
	GENIE_STATUS_RETRY,			/* failed, may work next time */
	GENIE_STATUS_NO_ROOM,		/* does not fit this engine's memory */
	GENIE_STATUS_LOST,			/* the device is gone; the process must restart */
	GENIE_STATUS_CORRUPT,		/* what was given is malformed */
	GENIE_STATUS_CANCELLED,		/* the caller's interrupt callback said stop */
	GENIE_STATUS_UNAVAILABLE,	/* from opening: no device, no driver, or one too old */
	GENIE_STATUS_DECLINED		/* the engine does not do such jobs, or not as fast as another: no failure */
} GenieStatus;

/* [first, end) of ranks: a point is one rank, a range item a run of them */
typedef struct GenieRankRange
{
	uint32_t	first;
	uint32_t	end;
} GenieRankRange;

/*
 * Integer keys for a distance, by size (keywords an object) and match count: sizes fall into classes, and each class
 * has a row of keys by count.  In a row keys never decrease with the count, so for each size a smallest key is a
 * smallest count.  Count 0 is an ordinary count here.
 *
 * The job is GENIE_STATUS_CORRUPT if the image has sizes that are not covered, a class has no row, or rows are too
 * short.
 */
typedef struct GenieKeyTable
{
	uint32_t	first_size;		/* covers sizes [first_size, first_size + n_sizes) */
	uint32_t	n_sizes;
	const uint16_t *class_of_size;	/* n_sizes entries: the class of size first_size + i */
	uint32_t	n_classes;
	uint32_t	stride;			/* entries a row, at least max_count + 1 of every query that uses it */
	const uint32_t *keys;		/* n_classes rows; 0: not returned */
} GenieKeyTable;

typedef struct GenieEngineQuery
{
	uint32_t	n_ranges;		/* may be 0: then nothing matches, but keys may rank what does not */
	const GenieRankRange *ranges;	/* ascending, disjoint, within the image's n_keywords */
	uint32_t	max_count;		/* no object can match more: sizes the counters, 1 .. 65,535 */
	const GenieKeyTable *keys;	/* NULL: rank by count */
} GenieEngineQuery;

/* An object must match the query at least min_count >= 1 times (by count; the query has no key table). */
typedef struct GenieCondition
{
	GenieEngineQuery query;
	uint32_t	min_count;
} GenieCondition;

typedef enum GenieJobKind
{
	GENIE_JOB_TOP = 1,			/* the best k by query */
	GENIE_JOB_COUNTS,			/* the match count of every object, dead ones too */
	GENIE_JOB_MASK,				/* which live objects fulfil all conditions, or any of them */
	GENIE_JOB_TALLY,			/* how many live objects match the query min_key times or more */
	GENIE_JOB_FACETS,			/* how many live objects have each keyword of a range */
	GENIE_JOB_GRID,				/* how many live objects lie in each cell of a grid */
	GENIE_JOB_NEAREST,			/* which of some rows may be near to which queries */
	GENIE_JOB_HASH,				/* the codes of vectors */
	GENIE_JOB_SCAN,				/* the best k by keys of their quantized vectors */
	GENIE_JOB_STAGE,			/* copies groups, or tiles of vectors, to a device, which keeps them */
	GENIE_JOB_LEVEL				/* makes the edges of a level of a proximity graph */
} GenieJobKind;

/* Is a job of that kind about an image?  Others are for engines with a device. */
static inline bool
genie_job_has_image(GenieJobKind kind)
{
	return kind != GENIE_JOB_NEAREST && kind != GENIE_JOB_HASH && kind != GENIE_JOB_LEVEL;
}

/* Does a job of that kind count by its query, beside its conditions? */
static inline bool
genie_job_has_query(GenieJobKind kind)
{
	return kind == GENIE_JOB_TOP || kind == GENIE_JOB_COUNTS || kind == GENIE_JOB_TALLY;
}

/* Does a job of that kind look at conditions? */
static inline bool
genie_job_has_conditions(GenieJobKind kind)
{
	return kind == GENIE_JOB_TOP || kind == GENIE_JOB_MASK;
}

/* Does a job of that kind add objects up by their keywords? */
static inline bool
genie_job_adds_up(GenieJobKind kind)
{
	return kind == GENIE_JOB_FACETS || kind == GENIE_JOB_GRID;
}

/* Does a job of that kind rank objects, and give the best k? */
static inline bool
genie_job_ranks(GenieJobKind kind)
{
	return kind == GENIE_JOB_TOP || kind == GENIE_JOB_SCAN;
}

typedef struct GenieJob
{
	GenieJobKind kind;
	const GenieSegmentImage *image; /* all but NEAREST, HASH; */
	uint32_t	first_tile;		/* its tiles [first_tile, first_tile + n_tiles), which it has */
	uint32_t	n_tiles;
	uint32_t	n_conditions;	/* TOP, MASK; all must hold, */
	bool		any;			/* or, of a MASK, one must */
	const GenieCondition *conditions;
	GenieEngineQuery query;		/* TOP, COUNTS, TALLY; that of a TALLY has no key table */
	GenieRankRange facets;		/* FACETS; within the image's n_keywords */
	const GenieGrid *grid;		/* GRID */

	/*
	 * TOP, TALLY, FACETS, GRID: the objects that are live, GENIE_TILE_WORDS words a tile of the job's, those past the
	 * segment's end clear.  NULL: those that are in the image.
	 */
	const uint64_t *live;

	/* TOP, SCAN */
	uint32_t	k;				/* 1 .. GENIE_JOB_K_MAX; NEAREST: how many pairs there is room for, at least 1 */
	uint32_t	min_key;		/* TALLY, too: at least 1: smaller keys are not wanted */
	bool		has_after;		/* only objects that rank below after */
	GenieHit	after;

	/* SCAN; TOP: bounds of the hits' distances, which go to bounds: room for k; STAGE: NULL: the image is copied */
	const GenieQuantizedVectors *vectors;	/* of the image's objects; TOP: NULL: bounds are not wanted */
	GenieQuantizedQuery vector; /* of genie_quantized_elements() of the vectors' n_dimensions */
	float	   *bounds;

	const GenieNearest *nearest;	/* NEAREST */
	const GenieHashing *hashing;	/* HASH */

	const GenieValueQuery *scan;	/* SCAN: of the vectors' metric and dimensions */
	size_t		scan_bytes;		/* genie_value_query_bytes() of it */
	const GenieProximityGraph *graph;	/* SCAN: of the vectors; NULL: all objects are looked at; LEVEL: its tiles are
										 * written */
	uint32_t	graph_queue;	/* how long its queue is, 1 .. GENIE_PROXIMITY_QUEUE_MAX */
	const GenieProximityLevel *level;	/* LEVEL: of the graph */

	/*
	 * TOP, SCAN: GenieHit[k], the best first.  COUNTS: of each object of each tile, 65,536 entries a tile, those past
	 * the segment's end 0: uint8_t if query.max_count <= GENIE_COUNT_NARROW, else uint16_t.  MASK: GENIE_TILE_WORDS
	 * uint64_t a tile.  TALLY, STAGE, LEVEL: nothing.  FACETS: uint32_t of each rank.  GRID: GenieGridCell[n_cells].
	 * NEAREST: GeniePair[k], in no order, and any of them where there are more.  HASH: int32_t of each function,
	 * vector by vector.
	 */
	void	   *out;

	/*
	 * How many there are.  TOP, SCAN: <= k; NEAREST: it may be more than k; TALLY; STAGE: groups, or tiles of vectors,
	 * that lie in the job's tiles and are on the device now.  GRID: not 0 if a live object has two keywords on an
	 * axis, and one on each axis before; out is undefined then.
	 */
	uint32_t	n_hits;
	bool		has_bounds;		/* TOP: are n_hits bounds there?  False whenever vectors is NULL */
	bool		by_graph;		/* SCAN: was the graph searched? */
	GenieStatus status;
} GenieJob;

/* Has the job's image these tiles? */
static inline bool
genie_job_tiles_fit(const GenieJob *job)
{
	return job->first_tile <= job->image->n_tiles && job->n_tiles <= job->image->n_tiles - job->first_tile;
}

/* Is the job about vectors, and not about its image's groups? */
static inline bool
genie_job_is_of_vectors(const GenieJob *job)
{
	return job->kind == GENIE_JOB_SCAN || (job->kind == GENIE_JOB_STAGE && job->vectors != NULL);
}

/* Does the job need what is on a device alone? */
static inline bool
genie_job_is_on_device(const GenieJob *job)
{
	if (job->kind == GENIE_JOB_SCAN)
		return job->vectors != NULL && genie_vectors_on_device(job->vectors);
	return genie_job_has_image(job->kind) && job->kind != GENIE_JOB_STAGE && genie_image_is_on_device(job->image);
}

/* Have the vectors that the job brings the tiles that it names, of the same objects as its image? */
static inline bool
genie_job_vectors_fit(const GenieJob *job)
{
	return genie_job_tiles_fit(job) && job->vectors->n_objects == job->image->n_objects &&
		(job->n_tiles == 0 || (job->first_tile >= job->vectors->first_tile &&
							   job->first_tile + job->n_tiles <= job->vectors->end_tile));
}

#define GENIE_JOB_K_MAX 65536	/* a result is a page; the next one continues after its last hit */

/* Is a SCAN job well-formed, and is what it brings about the same objects? */
static inline bool
genie_job_scan_fits(const GenieJob *job)
{
	const GenieQuantizedVectors *vectors = job->vectors;

	return job->k >= 1 && job->k <= GENIE_JOB_K_MAX && job->min_key >= 1 && vectors != NULL &&
		genie_job_vectors_fit(job) && job->scan != NULL && genie_value_query_valid(job->scan, job->scan_bytes) &&
		vectors->metric == job->scan->metric && vectors->n_dimensions == job->scan->n_dimensions &&
		job->n_conditions == 0;
}

/* Is a LEVEL job well-formed, and is what it brings about the same objects? */
static inline bool
genie_job_level_fits(const GenieJob *job)
{
	const GenieQuantizedVectors *vectors = job->vectors;
	const GenieProximityGraph *graph = job->graph;
	const GenieProximityLevel *level = job->level;
	uint32_t	shift;
	bool		good = true;

	if (vectors == NULL || graph == NULL || level == NULL || !genie_proximity_serves(vectors->metric) ||
		vectors->n_objects != graph->n_objects || level->degree != graph->head->degree ||
		level->degree < GENIE_PROXIMITY_DEGREE_MIN || level->degree > GENIE_PROXIMITY_DEGREE_MAX ||
		level->level >= graph->head->n_levels || level->n < 2 || (level->level > 0) != (level->members != NULL) ||
		level->n != genie_proximity_in_level(graph->n_objects, level->level))
		return false;
	shift = GENIE_PROXIMITY_LEVEL_SHIFT * level->level;
	for (uint32_t i = 0; level->members != NULL && i < level->n; i++)
		good = good && level->members[i] >> shift == i && level->members[i] < graph->n_objects;
	return good;
}

/* May an engine search the graph that a well-formed SCAN job brings?  It is of all that the job is about. */
static inline bool
genie_job_may_use_graph(const GenieJob *job)
{
	const GenieProximityGraph *graph = job->graph;

	return job->kind == GENIE_JOB_SCAN && graph != NULL && graph->head->n_levels > 0 && !job->has_after &&
		job->first_tile == 0 && job->n_tiles == job->image->n_tiles && graph->n_objects == job->vectors->n_objects &&
		genie_proximity_serves(job->vectors->metric) && job->scan->error <= FLT_MAX &&
		job->k <= GENIE_PROXIMITY_QUEUE_MAX && job->graph_queue >= 1 && job->graph_queue <= GENIE_PROXIMITY_QUEUE_MAX;
}

/* How long the queue of a search is then. */
static inline uint32_t
genie_job_graph_queue(const GenieJob *job)
{
	return job->graph_queue < job->k ? job->k : job->graph_queue;
}

/* Is a FACETS or GRID job well-formed? */
static inline bool
genie_job_facets_fit(const GenieJob *job)
{
	if (!genie_job_tiles_fit(job))
		return false;
	if (job->kind == GENIE_JOB_GRID)
		return genie_grid_valid(job->grid, job->image->n_keywords);
	return job->facets.first <= job->facets.end && job->facets.end <= job->image->n_keywords;
}

/* How many bytes the result of a FACETS or GRID job has. */
static inline size_t
genie_job_facets_bytes(const GenieJob *job)
{
	if (job->kind == GENIE_JOB_GRID)
		return (size_t) job->grid->n_cells * sizeof(GenieGridCell);
	return (size_t) (job->facets.end - job->facets.first) * sizeof(uint32_t);
}

/* The live objects of a tile of the image that is one of the job's. */
static inline const uint64_t *
genie_job_live(const GenieJob *job, uint32_t tile)
{
	const uint64_t *live = job->live != NULL ? job->live : job->image->live;
	uint32_t	first_tile = job->live != NULL ? job->first_tile : 0;

	return live + (size_t) (tile - first_tile) * GENIE_TILE_WORDS;
}

/* The number of the first object in the job's tiles. */
static inline uint32_t
genie_job_first_object(const GenieJob *job)
{
	return job->first_tile << GENIE_TILE_SHIFT;
}

/* How many objects the job's tiles have. */
static inline uint32_t
genie_job_objects(const GenieJob *job)
{
	uint64_t	first = genie_job_first_object(job);
	uint64_t	end = first + ((uint64_t) job->n_tiles << GENIE_TILE_SHIFT);

	return (uint32_t) ((end < job->image->n_objects ? end : job->image->n_objects) - first);
}

/* Does the table have keys for all counts up to max_count of objects of these sizes? */
static inline bool
genie_keys_fit(const GenieKeyTable *table, uint32_t max_count, uint32_t min_size, uint32_t max_size)
{
	uint32_t	n_bad = 0;

	if (min_size < table->first_size || max_size < min_size || max_size > UINT16_MAX ||
		max_size - table->first_size >= table->n_sizes || max_count >= table->stride)
		return false;
	for (uint32_t i = min_size - table->first_size; i <= max_size - table->first_size; i++)
		n_bad += table->class_of_size[i] >= table->n_classes;
	return n_bad == 0;
}

/* The same for a TOP job's table, if it has one, and its image, whose groups all have the same sizes. */
static inline bool
genie_job_keys_fit(const GenieJob *job)
{
	return job->kind != GENIE_JOB_TOP || job->query.keys == NULL || job->image->n_groups == 0 ||
		genie_keys_fit(job->query.keys, job->query.max_count, job->image->groups[0]->min_size,
					   job->image->groups[0]->max_size);
}

/* The row of keys of a size that the table covers. */
static inline const uint32_t *
genie_keys_of_size(const GenieKeyTable *table, uint32_t size)
{
	return table->keys + (size_t) table->class_of_size[size - table->first_size] * table->stride;
}

#define GENIE_COUNT_NARROW 255	/* counts up to this are given in one byte */

#define GENIE_DEVICE_NAME_MAX 128
#define GENIE_ENGINE_ERROR_MAX 256

/*
 * Two ways to count the best k of many queries, with the same answers: posting lists tile by tile, or, where an image
 * has codes, all objects against all queries at once, a query being a bit lane.  Engines choose per batch and image.
 */
typedef enum GenieKernelChoice
{
	GENIE_KERNELS_AUTO = 0,		/* genie_dispatch.h chooses: by exact posting totals, and costs measured at opening */
	GENIE_KERNELS_TILES,
	GENIE_KERNELS_LANES			/* where they can: for tests */
} GenieKernelChoice;

#define GENIE_ENGINE_REASON_MAX 320

/* What was chosen since opening, and why. */
typedef struct GenieEngineChoices
{
	uint64_t	n_tiles;		/* TOP jobs counted from posting lists */
	uint64_t	n_lanes;		/* by bit lanes */
	uint64_t	n_tensor;		/* by bit lanes on tensor cores */
	char		reason[GENIE_ENGINE_REASON_MAX];	/* the last choice that had an alternative, in words with numbers */
	char		constants[GENIE_ENGINE_REASON_MAX]; /* what was measured at opening */
} GenieEngineChoices;

/* A device, as a database administrator sees it. */
typedef struct GenieDeviceInfo
{
	uint32_t	device;			/* its number */
	char		name[GENIE_DEVICE_NAME_MAX];
	uint64_t	memory_bytes;	/* the device's */
	uint64_t	limit_bytes;	/* what the engine may take, */
	uint64_t	image_limit_bytes;	/* and, of that, copies, beside those that stay */
	uint64_t	staying_bytes;	/* of images that are on the device alone */
	uint64_t	image_bytes;	/* taken by copies of images, and of quantized vectors */
	uint64_t	scratch_bytes;	/* taken by batches */
	uint64_t	uploaded_bytes; /* images and vectors copied to the device since opening */
	uint64_t	upload_us;		/* and how long that took */
	uint64_t	streamed_bytes; /* of them, pieces of what is larger than the device's memory (genie_multiload.h) */
	uint64_t	n_evictions;	/* images and vectors dropped from the device for others */
	bool		is_lost;		/* the others do its work, until the process restarts */
} GenieDeviceInfo;

typedef struct GenieEngine GenieEngine;

/* An engine's functions. */
typedef struct GenieEngineOps
{
	uint32_t	abi;			/* GENIE_ENGINE_ABI */
	const char *name;			/* "cpu", "cuda" */

	/*
	 * Does a batch.  Each job gets its own status; jobs that are not GENIE_OK were not done and have no result.
	 * Returns GENIE_STATUS_LOST if the engine cannot be used any more, else GENIE_OK.  Where something failed,
	 * engine->error has one sentence about it.
	 */
	GenieStatus (*run) (GenieEngine *engine, uint32_t n_jobs, GenieJob *jobs);

	/* Drops the copy of the image, or of the quantized vectors, with this id, if there is one. */
	void		(*forget) (GenieEngine *engine, uint64_t id);

	/*
	 * has, prefetch: of an engine with a device, for genie_multiload.h; others have NULL.  Is there a copy of the
	 * image, or of the quantized vectors, with this id on the device?
	 */
	bool		(*has) (GenieEngine *engine, uint64_t id);

	/*
	 * Copies an image, or quantized vectors (one of the two is NULL), to the device while the next batch is done, and
	 * perhaps longer: the one after that is about them.  If that is not possible, nothing happens.  What is given
	 * stays where it is until the next batch has been done, and the groups or records until they are forgotten.
	 */
	void		(*prefetch) (GenieEngine *engine, const GenieSegmentImage *image, const GenieQuantizedVectors *vectors);

	/*
	 * Pins more memory that images lie in, for faster copies, until the engine is closed; some 0.4 s a GB.  Copies are
	 * cut at addresses that are multiples of GENIE_ENGINE_PIN_STEP, so what is pinned by itself begins and ends there,
	 * or where images' memory does.  False: it cannot be pinned.  NULL: there is no device.
	 */
	bool		(*pin) (GenieEngine *engine, void *memory, size_t bytes);

	/* Sets the limit of device memory from the next batch on; 0: as much as is sensible. */
	void		(*set_memory_limit) (GenieEngine *engine, uint64_t bytes);

	/* How to count from the next batch on; opening gives GENIE_KERNELS_AUTO. */
	void		(*set_kernels) (GenieEngine *engine, GenieKernelChoice choice);

	/* Fills up to max entries; returns how many devices there are.  The CPU has none. */
	uint32_t	(*devices) (GenieEngine *engine, GenieDeviceInfo *info, uint32_t max);

	void		(*close) (GenieEngine *engine);
} GenieEngineOps;

struct GenieEngine
{
	const GenieEngineOps *ops;

	/* Asked now and then; true makes what is not done GENIE_STATUS_CANCELLED.  May be NULL. */
	bool		(*interrupted) (void);

	char		error[GENIE_ENGINE_ERROR_MAX];	/* about the last failure, "" if there was none */
	GenieEngineChoices choices; /* kept by the engine */
	bool		streams;		/* kept by the engine: it copies what is larger than its device, which takes long */
	double		batch_ns;		/* what the engine has measured for a batch, whatever is in it; 0: nothing */
};

#define GENIE_ENGINE_RESULT_ALIGN 16
#define GENIE_ENGINE_PIN_STEP ((size_t) 1 << 30)

/* ---- an engine in a library of its own, which is opened with dlopen ---- */

typedef struct GenieEngineOptions
{
	uint32_t	device;			/* its number, from 0 on */
	uint64_t	memory_limit;	/* of the device, bytes; 0: as much as is sensible */

	/*
	 * A block of memory that images or jobs' results lie in, some or all of them: an engine may pin it for faster
	 * copies.  It stays until the process ends.  NULL: there is none.  Behind each out and bounds that lie in it there
	 * is room up to the next multiple of GENIE_ENGINE_RESULT_ALIGN bytes, which an engine may write over.
	 */
	void	   *arena;
	size_t		arena_bytes;
} GenieEngineOptions;

#define GENIE_ENGINE_LIBRARY_MAGIC 0x47454E47	/* "GENG" */
#define GENIE_ENGINE_LIBRARY_SYMBOL "genie_engine_library"

/* The one symbol that such a library exports, under the name GENIE_ENGINE_LIBRARY_SYMBOL. */
typedef struct GenieEngineLibrary
{
	uint32_t	magic;
	uint32_t	abi;			/* compared before open is called */

	/* How many devices there are; 0 where there is none, or no driver: then opening says why. */
	uint32_t	(*n_devices) (void);

	/*
	 * Opens one of them.  On anything but GENIE_OK *engine is NULL and error has one sentence (GENIE_ENGINE_ERROR_MAX
	 * bytes).
	 */
	GenieStatus (*open) (const GenieEngineOptions *options, GenieEngine **engine, char *error);

	/* Bytes from which on images and vectors are cut between devices; NULL: 256 MB (devices/genie_engines.h). */
	uint64_t	(*cut_bytes) (void);
} GenieEngineLibrary;

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_ENGINE_H */
