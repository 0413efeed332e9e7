/*
 * genie_image_fill.c
 *	  From a segment's pages to the groups of an image, in memory that the caller gives (genie_image_fill.h).
 *
 * One process does it, or a team (genie_image_team.c), step by step.  A step is a number of tasks, which the processes
 * take one by one; the next step begins when all tasks are done.
 *
 *	VERIFY	the checksums of all pages of the segment, those that only readers of the image need too; a task is some
 *			pages
 *	PLAN	one pass over dictionary and posting lists: how many lists, postings and bitmaps each tile has, and each
 *			keyword's dimension; a task is a part of the keywords
 *	DECIDE	the leader alone: adds the parts up, decides on codes, and whether the image is to be tight (genie_image.h)
 *	AGAIN	of a tight image: the same pass once more, which decodes all lists, because how many chunks a list takes
 *			follows from its locals; tasks as in PLAN
 *	ROOM	the leader alone: cuts tiles into groups, and gets memory
 *	ZERO	the memory; a task is a slice of it.  Most of the time goes to the kernel, for pages touched for the first
 *			time
 *	LAYOUT	of the groups
 *	FILL	a second pass over the lists decodes them into the groups; tasks as in PLAN
 *	FINISH	sizes, counts and codes of a tile
 *
 * An image that is larger than the memory for it is filled in spans: some groups at a time, with ROOM to FINISH for
 * each.  Each span reads all lists once more, and decodes its part of them.
 *
 * Parts have about equally many bytes of posting lists.  The plan says how many lists and postings each part has in
 * each tile, hence where they begin there.  So parts are filled in any order, and the image is the same, byte by byte,
 * whoever made it.  A process that is alone has one part.
 *
 * Of an image of codes alone, parts are cut anew before FILL, so that no two of them write to the same byte.  That an
 * object has two keywords of one dimension is noticed only there.  Then there is no image, and the caller begins again
 * with a tight one.
 *
 * Lists lie on the pages in the order of the dictionary, so both passes read them in sequence, a window of many
 * pages at a time.  To plan, the headers of a list's records are enough; few lists are so long that skipping
 * the bytes between headers would save pages.
 *
 * Where a process finds the segment damaged or stale, it says so (fail()), and the others take no more tasks.
 *
 * Memory of a process: the window, and room for one tile's list.  Of the team, or of the process if it is alone:
 * about 120 bytes a tile, 24 bytes a tile and part, and, while codes are possible, 12 bytes a keyword of at most
 * GENIE_CODE_KEYWORDS_MAX.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/spin.h"
#include "utils/memutils.h"

#include "genie_codec.h"
#include "genie_dictionary.h"
#include "genie_fault.h"
#include "genie_image_fill.h"
#include "genie_live.h"
#include "genie_object_table.h"

/* tasks: small enough to be spread evenly */
#define VERIFY_PAGES 128
#define SLICE_BYTES (UINT64CONST(1) << 20)
#define PARTS_A_PROCESS 4

#define DAMAGE_TEXT_MAX 128

typedef enum GenieFillStep
{
	STEP_VERIFY,
	STEP_PLAN,
	STEP_DECIDE,
	STEP_AGAIN,
	STEP_ROOM,
	STEP_ZERO,
	STEP_LAYOUT,
	STEP_FILL,
	STEP_FINISH,
	STEPS
} GenieFillStep;

/* Why there are no more tasks. */
typedef enum GenieFillFailure
{
	FILL_GOOD,
	FILL_STALE,
	FILL_DAMAGED,
	FILL_REPEATS,				/* an object has two keywords of one dimension, and lists are not wanted */
	FILL_ENDED					/* the leader wants no image any more */
} GenieFillFailure;

/* A part of the keywords. */
struct GenieFillPart
{
	uint32		leaf;			/* of the dictionary, where the first rank is */
	uint32		first_rank;
	uint32		end_rank;
};

struct GenieFillShared
{
	pg_atomic_uint32 next_task[STEPS];
	pg_atomic_uint32 failure;	/* GenieFillFailure; changes under the mutex, read without */
	slock_t		mutex;
	char		damage[DAMAGE_TEXT_MAX];	/* under the mutex */
	uint32		n_parts;

	/* by the leader, before AGAIN, where it says only the form, and before the steps behind ROOM */
	GenieImagePlan plan;		/* without first_ranks */
	uint32		n_groups;
	uint32		first_group;	/* of the span */
	uint32		end_group;
	uint64		n_bytes;		/* of the span's groups */
};

/* Notes that the pages are malformed, and how.  Always false. */
static bool
damaged(GenieImageFill *fill, const char *what)
{
	fill->damage = what;
	return false;
}

/* The tiles of the span. */
static inline uint32
first_tile(const GenieImageFill *fill)
{
	return fill->first_tile[fill->first_group];
}

static inline uint32
end_tile(const GenieImageFill *fill)
{
	return fill->first_tile[fill->end_group];
}

/* ---- posting lists ---- */

/* Plans a list's part in a tile.  False: damaged. */
static bool
plan_list(GenieImageFill *fill, GenieTilePlan *plan, const GenieListRef *ref)
{
	const uint16 *locals = (const uint16 *) ref->data;

	if (fill->plan.form != GENIE_IMAGE_TIGHT)
	{
		genie_tile_plan_add(plan, ref->n);
		return true;
	}
	if (ref->codec != GENIE_CODEC_RAW)
	{
		locals = fill->walk->locals;
		if (!genie_list_decode(ref, fill->walk->locals))
			return damaged(fill, "malformed posting list");
	}
	genie_tile_plan_add_tight(plan, locals, ref->n);
	return true;
}

/* Plans, or adds, a list's part in a tile.  False: damaged. */
static bool
take_part(void *arg, uint32 tile, const GenieListRef *ref)
{
	GenieImageFill *fill = arg;

	if (tile >= fill->parts.n_tiles)
		return damaged(fill, "a posting list names an object that does not exist");
	fill->n_filled += ref->n;
	if (fill->plans != NULL)
		return plan_list(fill, &fill->plans[tile], ref);
	if (tile < first_tile(fill) || tile >= end_tile(fill))
		return true;
	if (ref->codec == GENIE_CODEC_RAW)
	{
		if (!genie_image_add(&fill->fills[tile], fill->in_group[tile], ref->rank, (const uint16 *) ref->data, ref->n))
			return damaged(fill, "a posting list names an object that does not exist");
	}
	else if (!genie_image_decode(&fill->fills[tile], fill->in_group[tile], ref->rank, ref, fill->walk->locals))
		return damaged(fill, "malformed posting list");
	return true;
}

/* Reads the list of the keyword that the cursor is on.  False: stale, or damaged. */
static bool
read_list(GenieImageFill *fill, const GenieDictionaryCursor *cursor)
{
	if (genie_list_walk(fill->walk, cursor, take_part, fill))
		return true;
	return fill->walk->damage != NULL && damaged(fill, fill->walk->damage);
}

/* Planning: notes a keyword's postings and its dimension.  False: damaged. */
static bool
note_keyword(GenieImageFill *fill, const GenieDictionaryCursor *cursor)
{
	if (genie_key_get_dimension(cursor->key.data, cursor->key.len, &fill->dimensions[cursor->rank]) == 0)
		return damaged(fill, "malformed keyword");
	fill->postings_before[cursor->rank + 1] = cursor->n_postings;
	return true;
}

/* Reads the lists of a part: plans, or fills.  False: stale, or damaged. */
static bool
read_lists(GenieImageFill *fill, GenieDictionaryCursor *cursor, const GenieFillPart *part)
{
	uint32		rank = part->first_rank;

	genie_list_walk_begin(fill->walk, fill->segment);
	fill->walk->headers = fill->plans != NULL && fill->plan.form != GENIE_IMAGE_TIGHT;	/* they are enough then */
	if (part->first_rank < part->end_rank && !genie_dictionary_leaf(cursor, part->leaf))
		return false;
	while (cursor->valid && cursor->rank < part->first_rank)
		if (!genie_dictionary_next(cursor))
			return false;
	while (cursor->valid && rank < part->end_rank)
	{
		if (cursor->rank != rank++)
			return damaged(fill, "keywords are not numbered in sequence");
		if (fill->plans != NULL && fill->dimensions != NULL && fill->plan.form != GENIE_IMAGE_TIGHT &&
			!note_keyword(fill, cursor))
			return false;
		if (!read_list(fill, cursor) || !genie_dictionary_next(cursor))
			return false;
	}
	if (rank != part->end_rank || (cursor->valid && part->end_rank == fill->parts.n_keywords))
		return damaged(fill, "the dictionary does not have as many keywords as the segment");
	return true;
}

/* ---- verifying and planning ---- */

static bool
verify_pages(GenieImageFill *fill, uint32 task)
{
	return genie_segment_verify(fill->segment, task * VERIFY_PAGES, VERIFY_PAGES, &fill->damage);
}

/*
 * Where a part begins, or, number n_parts, where the last one ends: at the first keyword whose list begins at the
 * part's share of the lists' bytes.  *rank: n_keywords if there is none.  False: stale.
 */
static bool
find_cut(GenieImageFill *fill, GenieDictionaryCursor *cursor, uint32 part, uint32 *leaf, uint32 *rank)
{
	uint32		n_parts = fill->shared->n_parts;
	uint64		from = fill->segment->sections[GENIE_SECTION_POSTINGS].entry.length / n_parts * part;
	uint32		end = cursor->n_leaves;

	*leaf = 0;
	*rank = part == 0 ? 0 : fill->parts.n_keywords;
	if (part == 0 || part == n_parts || end == 0)
		return true;
	while (end - *leaf > 1)
	{
		uint32		middle = *leaf + (end - *leaf) / 2;

		if (!genie_dictionary_leaf(cursor, middle))
			return false;
		if (cursor->list_at < from)
			*leaf = middle;
		else
			end = middle;
	}
	if (!genie_dictionary_leaf(cursor, *leaf))
		return false;
	while (cursor->valid && cursor->list_at < from)
		if (!genie_dictionary_next(cursor))
			return false;
	*leaf = cursor->leaf;
	if (cursor->valid)
		*rank = Min(cursor->rank, fill->parts.n_keywords);
	return true;
}

static bool
plan_part(GenieImageFill *fill, uint32 task)
{
	GenieDictionaryCursor *cursor = palloc(sizeof(GenieDictionaryCursor));
	GenieFillPart *part = &fill->of_part[task];
	uint32		end_leaf;
	bool		good;

	genie_dictionary_cursor(cursor, fill->segment);
	fill->plans = fill->planned + (Size) task * fill->parts.n_tiles;
	memset(fill->plans, 0, fill->parts.n_tiles * sizeof(GenieTilePlan));
	good = find_cut(fill, cursor, task, &part->leaf, &part->first_rank) &&
		find_cut(fill, cursor, task + 1, &end_leaf, &part->end_rank);
	cursor->valid = false;
	good = good && read_lists(fill, cursor, part);
	fill->plans = NULL;
	pfree(cursor);
	return good;
}

/* Adds the parts' plans up. */
static void
plan_tiles(GenieImageFill *fill)
{
	const GenieTilePlan *planned = fill->planned;

	for (uint32 tile = 0; tile < fill->parts.n_tiles; tile++)
		fill->tiles[tile] = (GenieTilePlan) {.n_objects = fill->tiles[tile].n_objects};
	for (uint32 part = 0; part < fill->shared->n_parts; part++)
		for (uint32 tile = 0; tile < fill->parts.n_tiles; tile++, planned++)
		{
			fill->tiles[tile].n_lists += planned->n_lists;
			fill->tiles[tile].n_bitmaps += planned->n_bitmaps;
			fill->tiles[tile].n_postings += planned->n_postings;
			fill->tiles[tile].n_chunked += planned->n_chunked;
			fill->tiles[tile].n_chunks += planned->n_chunks;
		}
}

/* Cuts the planned tiles into groups.  False: damaged. */
static bool
plan_groups(GenieImageFill *fill)
{
	GenieImageParts *parts = &fill->parts;

	for (uint32 first = 0; first < parts->n_tiles;)
	{
		uint32		n = genie_image_group_plan(&fill->plan, fill->tiles, first, parts->n_tiles,
											   &fill->group_bytes[parts->n_groups]);

		if (n == 0)				/* 65,536 objects of at most 65,535 keywords cannot have so many postings */
			return damaged(fill, "an object has too many keywords");
		for (uint32 i = 0; i < n; i++)
			fill->in_group[first + i] = i;
		fill->first_tile[parts->n_groups++] = first;
		first += n;
	}
	fill->first_tile[parts->n_groups] = parts->n_tiles;
	return true;
}

/* Finds the dimensions' first ranks.  False: there are too many. */
static bool
find_dimensions(GenieImageFill *fill)
{
	uint32		n = 0;

	for (uint32 rank = 0; rank < fill->parts.n_keywords; rank++)
	{
		fill->postings_before[rank + 1] += fill->postings_before[rank];
		if (rank > 0 && fill->dimensions[rank] == fill->dimensions[rank - 1])
			continue;
		if (n == GENIE_CODE_DIMENSIONS_MAX)
			return false;
		fill->first_ranks[n++] = rank;
	}
	fill->plan.n_dimensions = n;
	return true;
}

/* Decides on codes.  Without them there is no choice between tiles and lanes, and the totals are of no use. */
static void
plan_codes(GenieImageFill *fill)
{
	GenieImageParts *parts = &fill->parts;

	if (fill->dimensions != NULL && find_dimensions(fill) &&
		genie_image_wants_codes(fill->plan.n_dimensions, fill->first_ranks, parts->n_keywords,
								fill->segment->header.max_keywords, parts->n_objects,
								fill->postings_before[parts->n_keywords]))
	{
		fill->plan.first_ranks = fill->first_ranks;
		parts->n_totals = parts->n_keywords + 1;
	}
	else
		fill->plan.n_dimensions = 0;
}

/* ---- filling ---- */

/* Fresh pages of shared memory come by one call of the kernel instead of a fault each, where it can do that. */
static void
zero(uint8 *memory, Size n)
{
#ifdef MADV_POPULATE_WRITE
	char	   *first = (char *) TYPEALIGN_DOWN(sysconf(_SC_PAGESIZE), memory);

	(void) madvise(first, (char *) memory + n - first, MADV_POPULATE_WRITE);
#endif
	memset(memory, 0, n);
}

/* A slice of the span's groups' bytes, as if they lay one behind another. */
static bool
zero_slice(GenieImageFill *fill, uint32 task)
{
	uint64		from = task * SLICE_BYTES;
	uint64		end = from + SLICE_BYTES;
	uint64		at = 0;

	for (uint32 i = fill->first_group; i < fill->end_group && at < end; i++)
	{
		uint64		group_end = at + fill->group_bytes[i];

		if (group_end > from)
			zero((uint8 *) fill->group_at[i] + (Max(from, at) - at), Min(end, group_end) - Max(from, at));
		at = group_end;
	}
	return true;
}

static bool
lay_out_group(GenieImageFill *fill, uint32 task)
{
	uint32		group = fill->first_group + task;
	uint32		first = fill->first_tile[group];

	genie_image_group_lay_out(fill->group_at[group], fill->group_bytes[group], &fill->plan, fill->tiles + first,
							  first, fill->first_tile[group + 1] - first, fill->begun + first);
	return true;
}

/* Moves the fills behind a part's plan. */
static void
skip_part(const GenieImageFill *fill, uint32 part, GenieTileFill *fills)
{
	const GenieTilePlan *planned = fill->planned + (Size) part * fill->parts.n_tiles;

	for (uint32 tile = 0; tile < fill->parts.n_tiles; tile++)
		genie_tile_fill_skip(&fills[tile], &planned[tile]);
}

/*
 * Did all of the span's tiles get all that was planned of the part?  ends: where that is.  Of codes alone: did all
 * tiles together?
 */
static bool
is_filled(const GenieImageFill *fill, const GenieFillPart *part, const GenieTileFill *ends)
{
	if (fill->plan.form == GENIE_IMAGE_CODES)
		return fill->n_filled == fill->postings_before[part->end_rank] - fill->postings_before[part->first_rank];
	for (uint32 tile = first_tile(fill); tile < end_tile(fill); tile++)
		if (fill->fills[tile].list != ends[tile].list || fill->fills[tile].posting != ends[tile].posting ||
			fill->fills[tile].bitmap != ends[tile].bitmap || fill->fills[tile].chunked != ends[tile].chunked ||
			fill->fills[tile].chunk != ends[tile].chunk)
			return false;
	return true;
}

static bool
fill_part(GenieImageFill *fill, uint32 task)
{
	Size		bytes = (fill->parts.n_tiles + 1) * sizeof(GenieTileFill);
	GenieDictionaryCursor *cursor = palloc(sizeof(GenieDictionaryCursor));
	GenieTileFill *ends = palloc(bytes);
	bool		good;

	genie_dictionary_cursor(cursor, fill->segment);
	fill->fills = palloc(bytes);
	memcpy(fill->fills, fill->begun, bytes);
	for (uint32 part = 0; part < task; part++)
		skip_part(fill, part, fill->fills);
	memcpy(ends, fill->fills, bytes);
	skip_part(fill, task, ends);
	fill->n_filled = 0;
	good = read_lists(fill, cursor, &fill->of_part[task]);
	if (good && !is_filled(fill, &fill->of_part[task], ends))
		good = damaged(fill, "posting lists changed while they were read");
	for (uint32 tile = 0; tile < fill->parts.n_tiles; tile++)
		fill->repeats |= fill->fills[tile].repeats;
	good = good && !fill->repeats;
	pfree(fill->fills);
	pfree(ends);
	pfree(cursor);
	return good;
}

/* False: stale, or damaged. */
static bool
finish_tile(GenieImageFill *fill, uint32 task)
{
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	uint32	   *sizes = palloc(GENIE_TILE_OBJECTS * sizeof(uint32));
	uint32		tile = first_tile(fill) + task;
	GenieTileFill filled = fill->begun[tile];
	bool		codes;
	bool		good;

	genie_tile_fill_skip(&filled, &fill->tiles[tile]);	/* each part was */
	genie_section_reader(reader, fill->segment, GENIE_SECTION_SIZES);
	good = genie_object_table_sizes(reader, tile * GENIE_TILE_OBJECTS, fill->tiles[tile].n_objects, sizes);
	if (good)
	{
		genie_image_sizes(&filled, fill->in_group[tile], sizes);
		if (!genie_image_tile_finish(&filled, fill->in_group[tile], &codes))
			good = damaged(fill, "posting lists changed while they were read");
		else
			fill->no_codes[tile] = !codes;
	}
	pfree(sizes);
	pfree(reader);
	return good;
}

/* ---- steps ---- */

/* A step's tasks.  A task returns false where the segment is stale, or damaged. */
static bool (*const tasks[STEPS]) (GenieImageFill *fill, uint32 task) =
{
	[STEP_VERIFY] = verify_pages,
		[STEP_PLAN] = plan_part,
		[STEP_AGAIN] = plan_part,
		[STEP_ZERO] = zero_slice,
		[STEP_LAYOUT] = lay_out_group,
		[STEP_FILL] = fill_part,
		[STEP_FINISH] = finish_tile
};

static uint32
count_tasks(const GenieImageFill *fill, GenieFillStep step)
{
	switch (step)
	{
		case STEP_VERIFY:
			return fill->segment->index == NULL ? 0 :
				(genie_segment_pages(fill->segment) + VERIFY_PAGES - 1) / VERIFY_PAGES;
		case STEP_PLAN:
		case STEP_FILL:
			return fill->shared->n_parts;
		case STEP_AGAIN:
			return fill->plan.form == GENIE_IMAGE_TIGHT ? fill->shared->n_parts : 0;
		case STEP_ZERO:
			return (uint32) ((fill->shared->n_bytes + SLICE_BYTES - 1) / SLICE_BYTES);
		case STEP_LAYOUT:
			return fill->end_group - fill->first_group;
		case STEP_FINISH:
			return end_tile(fill) - first_tile(fill);
		case STEP_DECIDE:
		case STEP_ROOM:
		case STEPS:
			break;
	}
	return 0;
}

/* Says to all why there are no more tasks; who says it first is right. */
static void
fail(GenieImageFill *fill, GenieFillFailure failure)
{
	GenieFillShared *shared = fill->shared;

	SpinLockAcquire(&shared->mutex);
	if (pg_atomic_read_u32(&shared->failure) == FILL_GOOD)
	{
		if (failure == FILL_DAMAGED)
			strlcpy(shared->damage, fill->damage, DAMAGE_TEXT_MAX);
		pg_atomic_write_u32(&shared->failure, failure);
	}
	SpinLockRelease(&shared->mutex);
}

/* Why all failed, if so. */
static bool
is_good(GenieImageFill *fill)
{
	GenieFillShared *shared = fill->shared;
	GenieFillFailure failure;

	SpinLockAcquire(&shared->mutex);
	failure = pg_atomic_read_u32(&shared->failure);
	SpinLockRelease(&shared->mutex);
	if (failure == FILL_DAMAGED)
	{
		fill->damage = pstrdup(shared->damage); /* it does not change any more */
		fill->segment->verify = true;
	}
	else if (failure == FILL_STALE)
		fill->segment->stale = true;
	fill->repeats = failure == FILL_REPEATS;
	return failure == FILL_GOOD;
}

/* Takes tasks until there are no more, and waits until the others have done theirs.  False: stale, or damaged. */
static bool
run_step(GenieImageFill *fill, GenieFillStep step)
{
	uint32		n = count_tasks(fill, step);
	uint32		task;

	while (pg_atomic_read_u32(&fill->shared->failure) == FILL_GOOD &&
		   (task = pg_atomic_fetch_add_u32(&fill->shared->next_task[step], 1)) < n)
	{
		CHECK_FOR_INTERRUPTS();
		GENIE_FAULT("image-task");
		if (genie_segment_stops(fill->segment) || !tasks[step] (fill, task))
			fail(fill, fill->damage != NULL ? FILL_DAMAGED : fill->repeats ? FILL_REPEATS : FILL_STALE);
	}
	if (fill->team != NULL)
		genie_image_team_wait(fill->team);
	return is_good(fill);
}

/* ---- what processes share ---- */

/* Takes n elements of a size from memory, which moves behind them; memory NULL: only counts bytes. */
static void *
carve(char *memory, Size *used, Size n, Size size)
{
	void	   *at = memory == NULL ? NULL : memory + *used;

	*used += MAXALIGN(n * size);
	return at;
}

/* Finds the arrays in memory, which is shared, for so many parts.  Returns how many bytes they take. */
static Size
find_arrays(GenieImageFill *fill, void *memory, uint32 n_parts)
{
	Size		n_tiles = fill->parts.n_tiles;
	Size		n_keywords = fill->parts.n_keywords;
	Size		used = 0;

	fill->shared = carve(memory, &used, 1, sizeof(GenieFillShared));
	fill->of_part = carve(memory, &used, n_parts, sizeof(GenieFillPart));
	fill->planned = carve(memory, &used, n_parts * n_tiles, sizeof(GenieTilePlan));
	fill->tiles = carve(memory, &used, n_tiles + 1, sizeof(GenieTilePlan));
	fill->begun = carve(memory, &used, n_tiles + 1, sizeof(GenieTileFill));
	fill->no_codes = carve(memory, &used, n_tiles + 1, sizeof(bool));
	fill->first_tile = carve(memory, &used, n_tiles + 1, sizeof(uint32));
	fill->in_group = carve(memory, &used, n_tiles + 1, sizeof(uint32));
	fill->group_bytes = carve(memory, &used, n_tiles + 1, sizeof(uint64));
	fill->group_at = carve(memory, &used, n_tiles + 1, sizeof(void *));
	if (n_keywords <= GENIE_CODE_KEYWORDS_MAX && fill->segment->header.max_keywords <= GENIE_CODE_DIMENSIONS_MAX)
	{
		fill->postings_before = carve(memory, &used, n_keywords + 1, sizeof(uint64));
		fill->dimensions = carve(memory, &used, n_keywords + 1, sizeof(uint32));
		fill->first_ranks = carve(memory, &used, GENIE_CODE_DIMENSIONS_MAX, sizeof(uint32));
	}
	return used;
}

/* What each process knows of the segment. */
static void
begin_process(GenieImageFill *fill)
{
	const GenieSegment *segment = fill->segment;

	fill->parts.n_objects = segment->header.n_objects;
	fill->parts.n_keywords = segment->header.n_keywords;
	fill->parts.n_tiles = genie_object_table_tiles(segment);
	fill->walk = palloc(sizeof(GenieListWalk));
}

/* The leader begins, with workers if there are to be some and can be. */
static void
begin_shared(GenieImageFill *fill)
{
	uint32		n_parts = fill->n_workers > 0 ? PARTS_A_PROCESS * (fill->n_workers + 1) : 1;
	Size		n_bytes = find_arrays(fill, NULL, n_parts);
	void	   *memory = NULL;

	if (fill->n_workers > 0)
		fill->team = genie_image_team_begin(fill->segment, fill->n_workers, n_bytes, &memory);
	if (memory == NULL)
		memory = MemoryContextAllocExtended(CurrentMemoryContext, n_bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	find_arrays(fill, memory, n_parts);
	for (int step = 0; step < STEPS; step++)
		pg_atomic_init_u32(&fill->shared->next_task[step], 0);
	pg_atomic_init_u32(&fill->shared->failure, FILL_GOOD);
	SpinLockInit(&fill->shared->mutex);
	fill->shared->n_parts = n_parts;
	for (uint32 tile = 0; tile < fill->parts.n_tiles; tile++)
		fill->tiles[tile].n_objects = Min(fill->parts.n_objects - tile * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS);
	if (fill->team != NULL)
		genie_image_team_open(fill->team);
}

bool
genie_image_fill_plan(GenieImageFill *fill)
{
	const GenieSectionEntry *sizes = &fill->segment->sections[GENIE_SECTION_SIZES].entry;

	begin_process(fill);
	fill->plan.n_keywords = fill->parts.n_keywords;
	fill->plan.min_size = sizes->parameter2;
	fill->plan.max_size = fill->segment->header.max_size;
	fill->plan.size_width = sizes->parameter == 0 ? 0 : sizes->parameter <= 8 ? 1 : 2;
	begin_shared(fill);
	if (!run_step(fill, STEP_VERIFY) || !run_step(fill, STEP_PLAN))
		return false;
	plan_tiles(fill);
	plan_codes(fill);
	if (fill->wanted != GENIE_IMAGE_FULL)
		return genie_image_fill_shrink(fill);
	return plan_groups(fill);
}

/* The steps after which nothing depends on the form any more but memory.  False: stale, or damaged. */
static bool
decide(GenieImageFill *fill)
{
	if (fill->is_decided)
		return true;
	fill->is_decided = true;
	fill->shared->plan = fill->plan;
	return run_step(fill, STEP_DECIDE) && run_step(fill, STEP_AGAIN);
}

bool
genie_image_fill_shrink(GenieImageFill *fill)
{
	fill->parts.n_groups = 0;
	if (fill->plan.n_dimensions > 0 && fill->wanted != GENIE_IMAGE_TIGHT)
		fill->plan.form = GENIE_IMAGE_CODES;
	else
	{
		fill->plan.form = GENIE_IMAGE_TIGHT;
		fill->plan.n_dimensions = 0;
		fill->parts.n_totals = 0;
		if (!decide(fill))
			return false;
		plan_tiles(fill);
	}
	return plan_groups(fill);
}

/* Cuts parts of codes alone where no two of them write to one byte. */
static void
cut_codes(GenieImageFill *fill)
{
	for (uint32 part = 1; part < fill->shared->n_parts; part++)
	{
		uint32		rank = genie_image_code_cut(&fill->plan, fill->of_part[part].first_rank);

		fill->of_part[part - 1].end_rank = fill->of_part[part].first_rank = rank;
	}
}

void
genie_image_fill_heads(const GenieImageFill *fill, void **heads)
{
	for (uint32 i = 0; i < fill->parts.n_groups; i++)
	{
		uint32		first = fill->first_tile[i];

		genie_image_head_lay_out(heads[i], fill->group_bytes[i], &fill->plan, fill->tiles + first, first,
								 fill->first_tile[i + 1] - first);
	}
}

uint64
genie_image_fill_head_bytes(const GenieImageFill *fill, uint32 group)
{
	return genie_image_head_bytes(&fill->plan, fill->first_tile[group + 1] - fill->first_tile[group]);
}

/* The leader says what the next span is. */
static void
begin_span(GenieImageFill *fill, uint32 first_group, uint32 end_group)
{
	GenieFillShared *shared = fill->shared;

	shared->plan = fill->plan;
	shared->n_groups = fill->parts.n_groups;
	fill->first_group = shared->first_group = first_group;
	fill->end_group = shared->end_group = end_group;
	shared->n_bytes = 0;
	for (uint32 i = first_group; i < end_group; i++)
		shared->n_bytes += fill->group_bytes[i];
	if (first_group == 0)
		return;
	/* all are done with the steps of the span before */
	for (int step = STEP_ROOM; step < STEPS; step++)
		pg_atomic_write_u32(&shared->next_task[step], 0);
}

bool
genie_image_fill_span(GenieImageFill *fill, uint32 first_group, uint32 end_group)
{
	if (!decide(fill))
		return false;
	begin_span(fill, first_group, end_group);
	if (first_group == 0 && fill->plan.form == GENIE_IMAGE_CODES)
		cut_codes(fill);
	if (!run_step(fill, STEP_ROOM) || !run_step(fill, STEP_ZERO) || !run_step(fill, STEP_LAYOUT))
		return false;
	GENIE_FAULT("image-fill");
	if (!run_step(fill, STEP_FILL) ||
		(first_group == 0 && !genie_live_read(fill->segment, fill->n_dead, fill->hints, fill->live, NULL)) ||
		!run_step(fill, STEP_FINISH))
		return false;
	for (uint32 tile = first_tile(fill); tile < end_tile(fill); tile++)
		if (fill->plan.n_dimensions > 0 && fill->no_codes[tile])	/* not of codes alone */
			genie_image_drop_codes(fill->begun[tile].base);
#ifdef USE_ASSERT_CHECKING
	for (uint32 i = first_group; i < end_group; i++)
		Assert(genie_image_group_valid(fill->group_at[i]));
#endif
	return true;
}

bool
genie_image_fill(GenieImageFill *fill)
{
	return genie_image_fill_span(fill, 0, fill->parts.n_groups);
}

void
genie_image_fill_end(GenieImageFill *fill)
{
	if (fill->team != NULL)
	{
		GenieImageTeam *team = fill->team;

		fail(fill, FILL_ENDED);
		genie_image_team_end(team);
		fill->team = NULL;
	}
	if (fill->walk != NULL)
		pfree(fill->walk);
	fill->walk = NULL;
}

void
genie_image_fill_abort(GenieImageFill *fill)
{
	GenieImageTeam *team = fill->team;

	fill->team = NULL;
	if (team != NULL)
		genie_image_team_abort(team);
}

/* The step that processes do in a phase of their barrier: those of spans come again and again. */
static GenieFillStep
step_of(int phase)
{
	return phase < STEPS ? phase : STEP_ROOM + (phase - STEP_ROOM) % (STEPS - STEP_ROOM);
}

void
genie_image_fill_help(GenieSegment *segment, GenieImageTeam *team, uint32 n_processes, void *memory, int phase)
{
	GenieImageFill *fill = palloc0(sizeof(GenieImageFill));

	fill->segment = segment;
	fill->team = team;
	begin_process(fill);
	(void) find_arrays(fill, memory, PARTS_A_PROCESS * n_processes);
	GENIE_FAULT("image-worker");
	for (;; phase++)
	{
		GenieFillStep step = step_of(phase);

		if (step == STEP_AGAIN)
			fill->plan.form = fill->shared->plan.form;
		else if (step > STEP_ROOM)
		{
			fill->plan = fill->shared->plan;
			fill->plan.first_ranks = fill->first_ranks;
			fill->parts.n_groups = fill->shared->n_groups;
			fill->first_group = fill->shared->first_group;
			fill->end_group = fill->shared->end_group;
		}
		if (!run_step(fill, step) || (step == STEP_FINISH && fill->end_group == fill->parts.n_groups))
			break;
	}
}
