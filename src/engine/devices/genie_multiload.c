/*
 * genie_multiload.c
 *	  Counting what is larger than a device's memory, piece by piece (genie_multiload.h).
 *
 * The engine below has a device, and keeps copies of images and vectors there.  One that does not fit the device is
 * cut into *pieces*: some of its groups, or of its tiles of vectors, as an image, or as vectors, with an id of their
 * own.  A batch's jobs go over the pieces one by one, as parts (genie_job_parts.h), and what parts give is merged at
 * once.  All other jobs go to the engine below as they come, in one batch, before.
 *
 * Sections.  Groups with lists and codes have groups of codes alone in them, a third of the bytes.  Pieces are of
 * those: bit lanes, which do large batches, read nothing else, and few queries go to the CPU, which has the lists.
 * So it may be that the pieces of what is too large have room together; they are then copied once.
 *
 * Order.  Pieces whose copies are on the device come first, then the others in object order.  So a batch copies only
 * what is not there, and the last pieces that it copies are those with which the next one begins.  (By least recent
 * use alone, each piece would be dropped just before it is wanted again.)
 *
 * Copying overlaps counting: before a piece is counted, the engine below is told to begin copying the next one
 * (prefetch).  For that there must be room for three pieces: the one that is counted, the one that is copied, and
 * the one before, whose room the device may not have given back yet.  A piece is a PIECE_PART-th of the room, or a
 * group. Copies of other images stay: this one drops its own pieces, the one counted longest ago first, and takes
 * others' room only if it has less than three pieces'.
 *
 * Bounds.  Once a job has its k best, later pieces are asked only for keys that are not smaller than the last of
 * them.
 *
 * Is it worth it?  Copying takes the bytes that are not there at the rate that the device has shown last (RATE_FIRST
 * before that).  That was slow, perhaps, because memory was not pinned yet, or because of what others copied.  So it is
 * believed to double with each genie_multiload_doubt_s seconds, until some batch tries again.  Counting takes what it
 * took last for about as many jobs, by the byte, when nothing was copied; that is believed to halve in the same way.
 * A rival, the CPU, needs no copies, and has the lists of what pieces have only codes of.  Where it is expected to be
 * faster, as for a few queries, jobs are declined (GENIE_STATUS_DECLINED).  Its time is an estimate (genie_rival.h).
 * Facets and grids are always declined: one job reads all lists once, which the CPU does while they would be copied.
 *
 * Failures.  A job whose part fails has failed, and is not counted in later pieces.  A lost device ends the batch.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "genie_job_parts.h"
#include "genie_multiload.h"

#define PIECE_PART 8			/* a piece is this part of the room for images, */
#define PIECE_BYTES_MAX (UINT64_C(1) << 30) /* but not more: the first one's copy overlaps nothing */
#define PIECES_LEAST 3			/* that must have room together */
#define TABLE_BYTES 256			/* of a tile: what a device keeps beside groups and live bits, at most */
#define RATE_FIRST 50.0			/* bytes a nanosecond, until RATE_BYTES have been copied: a fast bus, to learn better */
#define RATE_BYTES (UINT64_C(256) << 20)
#define COUNTINGS 20			/* numbers of jobs that are told apart, each twice the one before */
#define IDS_FIRST (UINT64_C(1) << 62)	/* of pieces: the caller's are below */

/* Groups, or tiles of vectors, [first_unit, end_unit). */
typedef struct Piece
{
	uint32_t	first_tile;
	uint32_t	end_tile;
	uint32_t	first_unit;
	uint32_t	end_unit;
	uint64_t	n_bytes;
	uint64_t	id;
	uint64_t	counted;		/* when it was counted last, by Multiload.clock */
	bool		is_there;		/* a copy was on the device when the batch began, or has been begun since */
} Piece;

/* An image, or vectors, in pieces. */
typedef struct Load
{
	struct Load *next;
	uint64_t	id;				/* of the whole */
	uint64_t	largest;		/* bytes of a piece */
	const GenieImageGroup **alone;	/* the image's groups as pieces have them; NULL: as the image has them */
	uint32_t	n;
	Piece		pieces[];
} Load;

typedef struct Multiload
{
	GenieEngine engine;
	GenieEngineOps ops;			/* with the name of the engine below */
	GenieEngine *below;
	const GenieRival *rival;
	Load	   *loads;
	uint64_t	room;			/* for images on the device, as of this batch */
	double		rate;			/* bytes a nanosecond, as it was when these */
	uint64_t	rate_bytes;		/* bytes had been copied, */
	uint64_t	rate_us;		/* in so long, */
	double		rate_at;		/* then, in seconds */
	double		believed;		/* what it may be now */
	double		count_ns[COUNTINGS];	/* of a byte, by the logarithm of the number of jobs; 0: not known */
	double		count_at[COUNTINGS];	/* in seconds */
	uint64_t	next_id;
	uint64_t	clock;
	uint64_t	streamed_bytes;
} Multiload;

double		genie_multiload_doubt_s = 30;

/* What a job is about, as far as it must be on the device; one of the two. */
typedef struct Subject
{
	const GenieSegmentImage *image;
	const GenieQuantizedVectors *vectors;
} Subject;

static Multiload *
multiload_of(GenieEngine *engine)
{
	return (Multiload *) (void *) engine;
}

/* ---- what does not fit ---- */

static Subject
subject_of(const GenieJob *job)
{
	if (genie_job_is_of_vectors(job))
		return (Subject) {.vectors = job->vectors};
	return (Subject) {.image = genie_job_has_image(job->kind) ? job->image : NULL};
}

/* Is a job about what may be cut into pieces?  What is, or is to be, on the device alone is not. */
static bool
may_load(const GenieJob *job)
{
	return genie_job_has_image(job->kind) && job->kind != GENIE_JOB_STAGE && !genie_job_is_on_device(job) &&
		genie_job_may_cut(job);
}

static uint64_t
id_of(Subject subject)
{
	return subject.image != NULL ? subject.image->id : subject.vectors->id;
}

static uint32_t
n_units(Subject subject)
{
	return subject.image != NULL ? subject.image->n_groups : subject.vectors->end_tile;
}

/* The tile behind a unit. */
static uint32_t
end_tile(Subject subject, uint32_t unit)
{
	if (subject.image == NULL)
		return unit + 1;
	return subject.image->groups[unit]->first_tile + subject.image->groups[unit]->n_tiles;
}

static uint32_t
first_tile(Subject subject, uint32_t unit)
{
	return subject.image == NULL ? unit : subject.image->groups[unit]->first_tile;
}

/* What a unit takes on the device; in pieces of a load, NULL: as it is. */
static uint64_t
unit_bytes(const Load *load, Subject subject, uint32_t unit)
{
	uint64_t	more = GENIE_TILE_BITMAP_BYTES + TABLE_BYTES;

	if (subject.image != NULL)
	{
		const GenieImageGroup *group = subject.image->groups[unit];

		if (load != NULL && load->alone != NULL)
			group = load->alone[unit];
		return group->n_bytes + more * group->n_tiles;
	}
	if (genie_vectors_in_tile(subject.vectors, unit) == 0)
		return 0;				/* another device's */
	return more + (uint64_t) GENIE_TILE_OBJECTS *
		genie_value_record_bytes(subject.vectors->metric, subject.vectors->n_dimensions);
}

static bool
is_too_large(const Multiload *all, Subject subject)
{
	uint64_t	n_bytes = 0;

	for (uint32_t u = 0; u < n_units(subject); u++)
		n_bytes += unit_bytes(NULL, subject, u);
	return n_bytes > all->room;
}

/* ---- pieces ---- */

/*
 * Groups of codes alone for all of an image's, if it has both lists and codes; else NULL.  False: there is no memory.
 */
static bool
find_alone(const GenieSegmentImage *image, const GenieImageGroup ***alone)
{
	*alone = NULL;
	if (image == NULL || !genie_image_has_codes(image) || genie_image_alone(image->groups[0]) == NULL)
		return true;
	*alone = malloc(image->n_groups * sizeof(GenieImageGroup *));
	for (uint32_t g = 0; g < image->n_groups && *alone != NULL; g++)
		(*alone)[g] = genie_image_alone(image->groups[g]);
	return *alone != NULL;
}

static void
drop_load(Multiload *all, Load **at)
{
	Load	   *load = *at;

	for (uint32_t p = 0; p < load->n; p++)
		all->below->ops->forget(all->below, load->pieces[p].id);
	*at = load->next;
	free(load->alone);
	free(load);
}

/* NULL: it is not in pieces. */
static Load **
find_load(Multiload *all, uint64_t id)
{
	Load	  **at = &all->loads;

	while (*at != NULL && (*at)->id != id)
		at = &(*at)->next;
	return *at == NULL ? NULL : at;
}

/* Cuts a subject into pieces.  NULL: there is no memory. */
static Load *
cut(Multiload *all, Subject subject)
{
	uint64_t	aim = all->room / PIECE_PART < PIECE_BYTES_MAX ? all->room / PIECE_PART : PIECE_BYTES_MAX;
	uint32_t	n = n_units(subject);
	Load	   *load = calloc(1, sizeof(Load) + n * sizeof(Piece));

	if (load == NULL || !find_alone(subject.image, &load->alone))
	{
		free(load);
		return NULL;
	}
	load->id = id_of(subject);
	for (uint32_t u = 0; u < n; u++)
	{
		uint64_t	n_bytes = unit_bytes(load, subject, u);
		Piece	   *piece = load->n == 0 ? NULL : &load->pieces[load->n - 1];

		if (n_bytes == 0)
			continue;
		if (piece == NULL || piece->n_bytes + n_bytes > aim || piece->end_unit != u)
		{
			piece = &load->pieces[load->n++];
			*piece = (Piece) {.first_tile = first_tile(subject, u), .first_unit = u, .id = all->next_id++};
		}
		piece->end_tile = end_tile(subject, u);
		piece->end_unit = u + 1;
		piece->n_bytes += n_bytes;
		if (piece->n_bytes > load->largest)
			load->largest = piece->n_bytes;
	}
	load->next = all->loads;
	return all->loads = load;
}

/* The pieces, cut for the room that there is now.  NULL: there is no memory. */
static Load *
pieces_of(Multiload *all, Subject subject)
{
	Load	  **found = find_load(all, id_of(subject));

	if (found != NULL && (*found)->largest * PIECES_LEAST <= all->room)
		return *found;
	if (found != NULL)
		drop_load(all, found);	/* the limit was lowered */
	return cut(all, subject);
}

/* A piece as an image, or as vectors, in memory of the caller's. */
typedef struct View
{
	GenieSegmentImage image;
	GenieQuantizedVectors vectors;
} View;

static Subject
view_piece(const Load *load, Subject subject, const Piece *piece, View *view)
{
	if (subject.image != NULL)
	{
		view->image = *subject.image;
		if (load->alone != NULL)
			view->image.groups = load->alone;
		view->image = genie_image_part(&view->image, piece->first_unit, piece->end_unit - piece->first_unit);
		view->image.id = piece->id;
		return (Subject) {.image = &view->image};
	}
	view->vectors = genie_vectors_part(subject.vectors, piece->first_tile, piece->end_tile);
	view->vectors.id = piece->id;
	return (Subject) {.vectors = &view->vectors};
}

/* ---- is it worth it? ---- */

/* How many times something that was measured then may have changed twofold since. */
static double
doubts(double then)
{
	return (genie_rival_clock_s() - then) / genie_multiload_doubt_s;
}

/* So many jobs, in count_ns. */
static uint32_t
counting_of(uint32_t n_jobs)
{
	uint32_t	log = 31 - (uint32_t) __builtin_clz(n_jobs);

	return log < COUNTINGS ? log : COUNTINGS - 1;
}

/* Notes how long it took to count so many bytes that were there. */
static void
note_counting(Multiload *all, uint32_t n_jobs, uint64_t n_bytes, double seconds)
{
	all->count_ns[counting_of(n_jobs)] = 1e9 * seconds / (double) n_bytes;
	all->count_at[counting_of(n_jobs)] = genie_rival_clock_s();
}

static double
counting_ns(const Multiload *all, uint32_t n_jobs, uint64_t n_bytes)
{
	uint32_t	c = counting_of(n_jobs);

	return all->count_ns[c] == 0 ? 0 : all->count_ns[c] * (double) n_bytes / exp2(doubts(all->count_at[c]));
}

static bool
is_worth_it(const Multiload *all, Subject subject, const Load *load, uint32_t n_pieces, Piece *const *order, uint32_t n,
			GenieJob *const *jobs)
{
	uint64_t	n_bytes = 0;
	uint64_t	n_copied = 0;

	if (load->largest * PIECES_LEAST > all->room || genie_job_adds_up(jobs[0]->kind))
		return false;
	if (all->rival->n_threads == 0)
		return true;
	for (uint32_t p = 0; p < n_pieces; p++)
	{
		n_bytes += order[p]->n_bytes;
		n_copied += order[p]->is_there ? 0 : order[p]->n_bytes;
	}
	return fmax((double) n_copied / all->believed, counting_ns(all, n, n_bytes)) < genie_rival_ns(all->rival, n, jobs);
}

/* ---- streaming ---- */

/* Runs jobs below; what was said first of a failure stays. */
static GenieStatus
run_below(Multiload *all, uint32_t n, GenieJob *jobs)
{
	GenieStatus status = all->below->ops->run(all->below, n, jobs);

	if (all->engine.error[0] == '\0')
		memcpy(all->engine.error, all->below->error, sizeof(all->engine.error));
	return status;
}

/* Is a job that is not done with about the piece?  NULL: any piece. */
static bool
is_wanted(const Piece *piece, uint32_t n, GenieJob *const *jobs)
{
	for (uint32_t j = 0; j < n; j++)
		if (jobs[j]->status == GENIE_OK &&
			(piece == NULL || (piece->first_tile < jobs[j]->first_tile + jobs[j]->n_tiles &&
							   piece->end_tile > jobs[j]->first_tile)))
			return true;
	return false;
}

/* Which pieces are counted when: those that are there, then the others.  Returns how many jobs are about. */
static uint32_t
order_pieces(Multiload *all, Load *load, uint32_t n_jobs, GenieJob *const *jobs, Piece **order)
{
	uint32_t	n = 0;

	for (uint32_t p = 0; p < load->n; p++)
		load->pieces[p].is_there = all->below->ops->has(all->below, load->pieces[p].id);
	for (int there = 1; there >= 0; there--)
		for (uint32_t p = 0; p < load->n; p++)
			if (load->pieces[p].is_there == (there == 1) && is_wanted(&load->pieces[p], n_jobs, jobs))
				order[n++] = &load->pieces[p];
	return n;
}

/* Bytes on the device that the load's pieces may take. */
static uint64_t
budget_of(const Multiload *all, const Load *load)
{
	GenieDeviceInfo info = {.image_bytes = 0};
	uint64_t	others;

	(void) all->below->ops->devices(all->below, &info, 1);
	others = info.image_bytes - info.staying_bytes; /* the room is beside those */
	for (uint32_t p = 0; p < load->n; p++)
		if (load->pieces[p].is_there)
			others -= load->pieces[p].n_bytes < others ? load->pieces[p].n_bytes : others;
	if (others + PIECES_LEAST * load->largest > all->room)
		return PIECES_LEAST * load->largest;
	return all->room - others;
}

/*
 * Has the engine below begin to copy a piece, unless it is there.  Drops pieces that this batch has counted, or will
 * count after this one, until there is room; not the one that is counted now.
 */
static void
load_piece(Multiload *all, Load *load, Subject subject, Piece *piece, const Piece *now, uint64_t budget, View *view)
{
	Subject		of_piece;
	uint64_t	n_bytes = piece->n_bytes;

	if (piece->is_there)
		return;
	for (uint32_t p = 0; p < load->n; p++)
		n_bytes += load->pieces[p].is_there ? load->pieces[p].n_bytes : 0;
	while (n_bytes > budget)
	{
		Piece	   *oldest = NULL;

		for (uint32_t p = 0; p < load->n; p++)
			if (load->pieces[p].is_there && &load->pieces[p] != now &&
				(oldest == NULL || load->pieces[p].counted < oldest->counted))
				oldest = &load->pieces[p];
		if (oldest == NULL)
			break;
		all->below->ops->forget(all->below, oldest->id);
		oldest->is_there = false;
		n_bytes -= oldest->n_bytes;
	}
	of_piece = view_piece(load, subject, piece, view);
	all->below->ops->prefetch(all->below, of_piece.image, of_piece.vectors);
	piece->is_there = true;
	all->streamed_bytes += piece->n_bytes;
}

/* The part of a job on a piece; out: its own memory, where results are merged. */
static GenieJob
part_of(const GenieJob *job, const Piece *piece, Subject of_piece, void *out)
{
	GenieJob	part = genie_job_part(job, piece->first_tile, piece->end_tile);

	if (of_piece.image != NULL)
	{
		part.image = of_piece.image;
		part.vectors = NULL;	/* the caller computes bounds */
		part.bounds = NULL;
	}
	else
		part.vectors = of_piece.vectors;
	if (genie_job_part_bytes(job) > 0)
		part.out = out;
	if (genie_job_ranks(job->kind) && job->n_hits == job->k && ((GenieHit *) job->out)[job->k - 1].key > part.min_key)
		part.min_key = ((GenieHit *) job->out)[job->k - 1].key;
	return part;
}

/* Counts a piece for those of n jobs that are not done with, and merges. */
static GenieStatus
count_piece(Multiload *all, const Piece *piece, Subject of_piece, uint32_t n, GenieJob *const *jobs, uint8_t *out,
			GenieJob *parts, uint32_t *of)
{
	uint32_t	n_parts = 0;
	GenieStatus status;

	for (uint32_t j = 0; j < n; j++)
	{
		GenieJob	part;

		if (jobs[j]->status == GENIE_OK && (part = part_of(jobs[j], piece, of_piece, out)).n_tiles > 0)
		{
			of[n_parts] = j;
			parts[n_parts++] = part;
		}
		out += genie_job_part_bytes(jobs[j]);
	}
	if (n_parts == 0)
		return GENIE_OK;
	status = run_below(all, n_parts, parts);
	for (uint32_t p = 0; p < n_parts; p++)
		if (parts[p].status == GENIE_OK)
			genie_job_merge(jobs[of[p]], &parts[p]);
		else
			jobs[of[p]]->status = parts[p].status;
	return status;
}

/* Another device's thread may look. */
static void
set_streams(Multiload *all, bool streams)
{
	__atomic_store_n(&all->engine.streams, streams, __ATOMIC_RELAXED);
	__atomic_store_n(&all->below->streams, streams, __ATOMIC_RELAXED);
}

/* Does n jobs of a subject that is too large, in views[0] and views[1]. */
static GenieStatus
stream(Multiload *all, Load *load, Subject subject, uint32_t n_pieces, Piece *const *order, uint32_t n,
	   GenieJob *const *jobs, View *views, uint8_t *out, GenieJob *parts, uint32_t *of)
{
	uint64_t	budget = budget_of(all, load);
	uint64_t	streamed = all->streamed_bytes;
	uint64_t	n_bytes = 0;	/* counted */
	double		begin = genie_rival_clock_s();
	GenieStatus status = GENIE_OK;

	set_streams(all, true);
	for (uint32_t j = 0; j < n; j++)
		genie_job_merge_begin(jobs[j]);
	for (uint32_t p = 0; p < n_pieces && status != GENIE_STATUS_LOST && is_wanted(NULL, n, jobs); p++)
	{
		/* the first one; others were begun with the piece before */
		load_piece(all, load, subject, order[p], NULL, budget, &views[0]);
		if (p + 1 < n_pieces)
			load_piece(all, load, subject, order[p + 1], order[p], budget, &views[1]);
		order[p]->counted = ++all->clock;
		status = count_piece(all, order[p], view_piece(load, subject, order[p], &views[0]), n, jobs, out, parts, of);
		n_bytes += order[p]->n_bytes;
	}
	set_streams(all, false);
	if (all->streamed_bytes == streamed && status == GENIE_OK && n_bytes > 0)
		note_counting(all, n, n_bytes, genie_rival_clock_s() - begin);
	for (uint32_t j = 0; j < n; j++)
	{
		if (status == GENIE_STATUS_LOST)
			jobs[j]->status = status;
		if (jobs[j]->status != GENIE_OK)
		{
			jobs[j]->has_bounds = false;
			jobs[j]->n_hits = 0;
		}
	}
	return status;
}

static void
set_all(uint32_t n, GenieJob *const *jobs, GenieStatus status)
{
	for (uint32_t j = 0; j < n; j++)
		jobs[j]->status = status;
}

/* Takes memory for that, and decides whether to do it. */
static GenieStatus
run_large(Multiload *all, uint32_t n, GenieJob *const *jobs)
{
	Subject		subject = subject_of(jobs[0]);
	Load	   *load = pieces_of(all, subject);
	Piece	  **order = load == NULL ? NULL : malloc(load->n * sizeof(Piece *));
	View		views[2];
	GenieJob   *parts = malloc(n * sizeof(GenieJob));
	uint32_t   *of = malloc(n * sizeof(uint32_t));
	uint8_t    *out = NULL;
	size_t		n_bytes = 1;
	GenieStatus status = GENIE_OK;

	set_all(n, jobs, GENIE_OK);
	for (uint32_t j = 0; j < n; j++)
		n_bytes += genie_job_part_bytes(jobs[j]);
	if (order != NULL)
	{
		uint32_t	n_pieces = order_pieces(all, load, n, jobs, order);

		if (!is_worth_it(all, subject, load, n_pieces, order, n, jobs))
			set_all(n, jobs, GENIE_STATUS_DECLINED);
		else if (parts == NULL || of == NULL || (out = malloc(n_bytes)) == NULL)
			set_all(n, jobs, GENIE_STATUS_RETRY);
		else
			status = stream(all, load, subject, n_pieces, order, n, jobs, views, out, parts, of);
	}
	else
		set_all(n, jobs, GENIE_STATUS_RETRY);
	for (uint32_t j = 0; j < n && all->engine.error[0] == '\0'; j++)
		if (jobs[j]->status == GENIE_STATUS_RETRY)
			snprintf(all->engine.error, sizeof(all->engine.error), "there is no memory to load an image in pieces");
	free(order);
	free(parts);
	free(of);
	free(out);
	return status;
}

/* ---- a batch ---- */

/* What the device has room for, and how fast copies have been. */
static void
look_at_device(Multiload *all)
{
	GenieDeviceInfo info = {.image_limit_bytes = UINT64_MAX};

	(void) all->below->ops->devices(all->below, &info, 1);
	all->room = info.image_limit_bytes;
	if (info.uploaded_bytes - all->rate_bytes >= RATE_BYTES && info.upload_us > all->rate_us)
	{
		all->rate = (double) (info.uploaded_bytes - all->rate_bytes) / (1e3 * (double) (info.upload_us - all->rate_us));
		all->rate_bytes = info.uploaded_bytes;
		all->rate_us = info.upload_us;
		all->rate_at = genie_rival_clock_s();
	}
	all->believed = all->rate;
	if (all->rate < RATE_FIRST)
		all->believed *= exp2(doubts(all->rate_at));
	if (all->believed > RATE_FIRST && all->rate < RATE_FIRST)
		all->believed = RATE_FIRST;
}

/* Does the jobs of large subjects; of those of one subject together. */
static GenieStatus
run_all_large(Multiload *all, uint32_t n, GenieJob **jobs)
{
	GenieStatus status = GENIE_OK;
	uint32_t	done = 0;

	while (done < n)
	{
		uint64_t	id = id_of(subject_of(jobs[done]));
		GenieJobKind kind = jobs[done]->kind;
		uint32_t	end = done + 1;

		for (uint32_t j = end; j < n; j++)
			if (id_of(subject_of(jobs[j])) == id &&
				genie_job_adds_up(jobs[j]->kind) == genie_job_adds_up(kind))
			{
				GenieJob   *other = jobs[end];

				jobs[end++] = jobs[j];
				jobs[j] = other;
			}
		if (status == GENIE_STATUS_LOST)
			set_all(end - done, jobs + done, status);
		else
			status = run_large(all, end - done, jobs + done);
		done = end;
	}
	return status;
}

/* Does a batch of which some jobs are large: the others first. */
static GenieStatus
run_mixed(Multiload *all, uint32_t n_jobs, GenieJob *jobs, uint32_t n_large, GenieJob **large)
{
	uint32_t	n_small = n_jobs - n_large;
	GenieJob   *small = malloc((n_small + 1) * sizeof(GenieJob));
	GenieStatus status = GENIE_OK;
	uint32_t	at = 0;
	uint32_t	next = 0;

	if (small == NULL)
	{
		for (uint32_t j = 0; j < n_jobs; j++)
			jobs[j].status = GENIE_STATUS_RETRY;
		snprintf(all->engine.error, sizeof(all->engine.error), "there is no memory for a batch");
		return GENIE_OK;
	}
	for (uint32_t j = 0; j < n_jobs; j++)
		if (next < n_large && large[next] == &jobs[j])
			next++;
		else
			small[at++] = jobs[j];
	if (n_small > 0)
		status = run_below(all, n_small, small);
	at = next = 0;
	for (uint32_t j = 0; j < n_jobs; j++)
		if (next < n_large && large[next] == &jobs[j])
			next++;
		else
			jobs[j] = small[at++];
	free(small);
	if (status == GENIE_STATUS_LOST)
		set_all(n_large, large, status);
	else
		status = run_all_large(all, n_large, large);
	return status;
}

static GenieStatus
multiload_run(GenieEngine *engine, uint32_t n_jobs, GenieJob *jobs)
{
	Multiload  *all = multiload_of(engine);
	GenieJob  **large = NULL;
	uint32_t	n_large = 0;
	uint64_t	last_id = 0;	/* of what was looked at last: mostly all jobs are about it */
	bool		last_is_large = false;
	GenieStatus status;

	all->below->interrupted = engine->interrupted;
	engine->error[0] = '\0';
	look_at_device(all);
	for (uint32_t j = 0; j < n_jobs; j++)
	{
		Subject		subject = subject_of(&jobs[j]);

		if (!may_load(&jobs[j]))
			continue;
		if (id_of(subject) != last_id)
		{
			Load	  **found = find_load(all, id_of(subject));

			last_is_large = is_too_large(all, subject);
			if (!last_is_large && found != NULL)
				drop_load(all, found);	/* the limit was raised */
		}
		last_id = id_of(subject);
		if (last_is_large && (large != NULL || (large = malloc(n_jobs * sizeof(GenieJob *))) != NULL))
			large[n_large++] = &jobs[j];
	}
	if (n_large == 0)
		status = run_below(all, n_jobs, jobs);
	else
		status = run_mixed(all, n_jobs, jobs, n_large, large);
	free(large);
	engine->choices = all->below->choices;
	return status;
}

/* ---- the other functions ---- */

static void
multiload_forget(GenieEngine *engine, uint64_t id)
{
	Multiload  *all = multiload_of(engine);
	Load	  **found = find_load(all, id);

	if (found != NULL)
		drop_load(all, found);
	all->below->ops->forget(all->below, id);
}

static bool
multiload_has(GenieEngine *engine, uint64_t id)
{
	Multiload  *all = multiload_of(engine);

	return all->below->ops->has(all->below, id);
}

static bool
multiload_pin(GenieEngine *engine, void *memory, size_t bytes)
{
	Multiload  *all = multiload_of(engine);

	return all->below->ops->pin(all->below, memory, bytes);
}

static void
multiload_set_memory_limit(GenieEngine *engine, uint64_t bytes)
{
	Multiload  *all = multiload_of(engine);

	all->below->ops->set_memory_limit(all->below, bytes);
}

static void
multiload_set_kernels(GenieEngine *engine, GenieKernelChoice choice)
{
	Multiload  *all = multiload_of(engine);

	all->below->ops->set_kernels(all->below, choice);
}

static uint32_t
multiload_devices(GenieEngine *engine, GenieDeviceInfo *info, uint32_t max)
{
	Multiload  *all = multiload_of(engine);
	uint32_t	n = all->below->ops->devices(all->below, info, max);

	if (max > 0 && n > 0)
		info->streamed_bytes = all->streamed_bytes;
	return n;
}

static void
multiload_close(GenieEngine *engine)
{
	Multiload  *all = multiload_of(engine);

	while (all->loads != NULL)
		drop_load(all, &all->loads);
	all->below->ops->close(all->below);
	free(all);
}

GenieEngine *
genie_multiload_open(GenieEngine *below, const GenieRival *rival)
{
	static const GenieEngineOps ops = {
		.abi = GENIE_ENGINE_ABI,
		.run = multiload_run,
		.forget = multiload_forget,
		.has = multiload_has,
		.pin = multiload_pin,
		.set_memory_limit = multiload_set_memory_limit,
		.set_kernels = multiload_set_kernels,
		.devices = multiload_devices,
		.close = multiload_close,
	};
	Multiload  *all = calloc(1, sizeof(Multiload));

	if (all == NULL)
		return NULL;
	all->ops = ops;
	all->ops.name = below->ops->name;
	all->engine.ops = &all->ops;
	all->engine.choices = below->choices;
	all->engine.batch_ns = below->batch_ns;
	all->below = below;
	all->rival = rival;
	all->rate = RATE_FIRST;
	all->next_id = IDS_FIRST;
	return &all->engine;
}
