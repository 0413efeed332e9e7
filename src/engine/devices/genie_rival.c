/*
 * genie_rival.c
 *	  What another engine would take (genie_rival.h).
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "genie_job_parts.h"
#include "genie_rival.h"

#define SCAN_RATE 10.0			/* bytes of records that a thread scans in a nanosecond; */
#define TEXT_RATE 4.5			/* of texts, for each 64 characters of the query */
#define SAMPLE_JOBS 16			/* whose costs are estimated, */
#define SAMPLE_TILES 4			/* each in so many tiles */
#define FIRST_TIMES 2			/* so many times faster than a device, by the estimate, is surely faster */
#define OBJECT_NS_LEAST 0.5		/* for each object of a job, to be looked at at all */

/* What a query costs the rival in a tile, by lists. */
static double
tile_ns(const GenieDispatchCosts *costs, const GenieImageGroup *group, const GenieImageTile *tile,
		const GenieEngineQuery *query)
{
	double		ns = costs->piece_ns + costs->range_ns * query->n_ranges;

	for (uint32_t r = 0; r < query->n_ranges; r++)
	{
		GenieImageSpan span = genie_image_find((const uint8_t *) group, tile, query->ranges[r].first,
											   query->ranges[r].end);

		ns += costs->posting_ns * (span.to - span.from) + costs->bitmap_ns * (span.bitmap_to - span.bitmap_from);
		if (genie_tile_has_chunks(tile))
		{
			span = genie_image_find_chunks((const uint8_t *) group, tile, query->ranges[r].first, query->ranges[r].end);
			ns += costs->posting_ns * GENIE_CHUNK_MEAN * (span.to - span.from);
		}
	}
	return ns;
}

/* What a job costs the rival in a few tiles, as if all of it were like these. */
static double
job_ns(const GenieDispatchCosts *costs, const GenieJob *job)
{
	const GenieSegmentImage *image = job->image;
	double		ns = 0;
	uint32_t	n_groups = image->n_groups < SAMPLE_TILES ? image->n_groups : SAMPLE_TILES;

	if (genie_image_is_codes(image))
	{
		if (genie_job_has_query(job->kind))
			ns += genie_dispatch_codes_ns(costs, image, &job->query, genie_job_objects(job));
		for (uint32_t c = 0; genie_job_has_conditions(job->kind) && c < job->n_conditions; c++)
			ns += genie_dispatch_codes_ns(costs, image, &job->conditions[c].query, genie_job_objects(job));
		return ns;
	}
	for (uint32_t i = 0; i < n_groups; i++)
	{
		const GenieImageGroup *group = image->groups[(uint64_t) image->n_groups * i / n_groups];
		const GenieImageTile *tile = &genie_image_tiles(group)[group->n_tiles / 2];

		if (genie_job_has_query(job->kind))
			ns += tile_ns(costs, group, tile, &job->query);
		if (genie_job_has_conditions(job->kind))
			for (uint32_t c = 0; c < job->n_conditions; c++)
				ns += tile_ns(costs, group, tile, &job->conditions[c].query);
	}
	return ns / n_groups * job->n_tiles;
}

/* What a scan costs a thread. */
static double
scan_ns(const GenieJob *job)
{
	double		rate = SCAN_RATE;

	if (job->vectors->metric == GENIE_METRIC_EDIT)
		rate = TEXT_RATE / (job->scan->norm > 64 ? 2 : 1);
	return (double) genie_job_objects(job) *
		genie_value_record_bytes(job->vectors->metric, job->vectors->n_dimensions) / rate;
}

/* ---- what it took ---- */

double
genie_rival_clock_s(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static uint64_t
id_of(const GenieJob *job)
{
	return job->kind == GENIE_JOB_SCAN ? job->vectors->id : job->image->id;
}

/* Its number, or that of the oldest note. */
static uint32_t
find_note(const GenieRival *rival, uint64_t id)
{
	uint32_t	i = 0;

	while (i < GENIE_RIVAL_NOTES - 1 && rival->notes[i].id != id)
		i++;
	return i;
}

static double
correction(const GenieRival *rival, uint64_t id)
{
	const GenieRivalNote *note = &rival->notes[find_note(rival, id)];

	if (note->id != id)
		return 1;
	return fmax(1, note->times / exp2((genie_rival_clock_s() - note->at) / GENIE_RIVAL_DOUBT_S));
}

/* ---- what it would take ---- */

/* Without corrections. */
static double
estimate(const GenieRival *rival, uint32_t n, GenieJob *const *jobs)
{
	const bool	is_scan = jobs[0]->kind == GENIE_JOB_SCAN;
	uint32_t	step = n <= SAMPLE_JOBS ? 1 : n / SAMPLE_JOBS;
	bool		by_lanes = rival->costs.n_lanes > 0 && !is_scan && genie_image_has_codes(jobs[0]->image);
	uint32_t	n_looked = 0;
	double		n_parts;
	double		ns = 0;

	for (uint32_t j = 0; j < n; j += step, n_looked++)
	{
		if (is_scan)
			ns += scan_ns(jobs[j]);
		else
			ns += job_ns(&rival->costs, jobs[j]);
		by_lanes = by_lanes && genie_dispatch_may_use_lanes(jobs[j]);
	}
	ns *= (double) n / n_looked;
	if (by_lanes)
	{
		double		block_ns = genie_dispatch_block_ns(&rival->costs, jobs[0]->image, genie_job_objects(jobs[0]));
		double		lanes_ns = block_ns * ((n + rival->costs.n_lanes - 1) / rival->costs.n_lanes);

		if (lanes_ns < ns)
			ns = lanes_ns;
	}
	n_parts = (double) n * jobs[0]->n_tiles;
	return ns / fmin(rival->n_threads, n_parts);
}

static bool
are_alike(const GenieJob *job, const GenieJob *other)
{
	return job->kind == other->kind && id_of(job) == id_of(other);
}

/* How many jobs from the first on are of one kind, and of one image or set of vectors. */
static uint32_t
n_alike(uint32_t n, GenieJob *const *jobs)
{
	uint32_t	end = 1;

	while (end < n && are_alike(jobs[0], jobs[end]))
		end++;
	return end;
}

/* Puts all that are like the first one behind it; returns how many there are. */
static uint32_t
gather_alike(uint32_t n, GenieJob **jobs)
{
	uint32_t	end = 1;

	for (uint32_t j = 1; j < n; j++)
		if (are_alike(jobs[0], jobs[j]))
		{
			GenieJob   *other = jobs[end];

			jobs[end++] = jobs[j];
			jobs[j] = other;
		}
	return end;
}

void
genie_rival_note(GenieRival *rival, uint32_t n, GenieJob **jobs, double ns)
{
	double		estimated = 0;

	if (ns < GENIE_RIVAL_NOTE_NS)
		return;
	for (uint32_t j = 0, n_of; j < n; j += n_of)
	{
		n_of = gather_alike(n - j, jobs + j);
		estimated += estimate(rival, n_of, jobs + j);
	}
	for (uint32_t j = 0; j < n; j += n_alike(n - j, jobs + j))
	{
		uint64_t	id = id_of(jobs[j]);
		uint32_t	at = find_note(rival, id);

		memmove(rival->notes + 1, rival->notes, at * sizeof(GenieRivalNote));
		rival->notes[0] = (GenieRivalNote) {id, fmax(1, ns / fmax(1, estimated)), genie_rival_clock_s()};
	}
}

double
genie_rival_ns(const GenieRival *rival, uint32_t n, GenieJob *const *jobs)
{
	return estimate(rival, n, jobs) * correction(rival, id_of(jobs[0]));
}

/* Can its lists be looked up?  Engines check that themselves, later. */
static bool
has_ranges(const GenieJob *job)
{
	bool		ok = job->image->n_groups > 0;

	for (uint32_t r = 0; r < job->query.n_ranges; r++)
		ok = ok && job->query.ranges[r].first <= job->query.ranges[r].end &&
			job->query.ranges[r].end <= job->image->n_keywords;
	return ok;
}

bool
genie_rival_is_first(const GenieRival *rival, double batch_ns, uint32_t n, GenieJob *const *jobs)
{
	const double most = batch_ns / FIRST_TIMES;
	double		least = 0;
	double		ns = 0;

	if (!rival->takes_little || rival->n_threads == 0)
		return false;
	for (uint32_t j = 0; j < n && least <= most; j++)
	{
		const GenieJob *job = jobs[j];

		if ((job->kind != GENIE_JOB_TOP && job->kind != GENIE_JOB_SCAN) || job->n_conditions > 0 ||
			!genie_job_may_cut(job) || genie_job_is_on_device(job))
			return false;
		least += OBJECT_NS_LEAST * genie_job_objects(job);
		if (job->kind == GENIE_JOB_TOP)
			least += (rival->costs.piece_ns + rival->costs.range_ns * job->query.n_ranges) * job->n_tiles;
	}
	for (uint32_t j = 0; j < n && least <= most && ns <= most; j++)
		if (jobs[j]->kind == GENIE_JOB_SCAN)
			ns += scan_ns(jobs[j]);
		else
			ns += has_ranges(jobs[j]) ? job_ns(&rival->costs, jobs[j]) : INFINITY;
	return least <= most && ns <= most;
}
