/*
 * test_scan.c
 *	  SCAN jobs in the CPU engine, against sorting all keys: dead objects, ranges of tiles, cursors, ties, interrupts
 *	  and malformed jobs, by one thread and by several.
 */
#include <math.h>
#include <string.h>

#include "genie_cpu_batch.h"
#include "genie_engine_cpu.h"
#include "genie_proximity_build.h"
#include "genie_test.h"
#include "genie_test_hits.h"
#include "genie_value_filter.h"

#define OBJECTS_MAX (2 * GENIE_TILE_OBJECTS + 9000)
#define TILES_MAX 3
#define DIMENSIONS_MAX 1100		/* fewer records are taken at a time */
#define POOL 97					/* vectors: objects have the same ones in turns, so keys are equal often */
#define JOBS_MAX 70				/* more than a block */

static uint32_t n_threads;
static uint32_t n_runs;

static uint32_t all_keys[OBJECTS_MAX];
static GenieHit wanted[OBJECTS_MAX];

/* A segment without keywords. */
typedef struct Segment
{
	GenieSegmentImage image;
	GenieQuantizedVectors vectors;
	uint64_t	live[TILES_MAX * GENIE_TILE_WORDS];
	void	   *tiles[TILES_MAX];
} Segment;

/* ---- segments and jobs ---- */

/* Of n elements, or bits; a text's length is another. */
static GenieVector
draw_vector(GenieRandom *random, GenieMetric metric, float elements[DIMENSIONS_MAX], uint32_t n)
{
	if (metric == GENIE_METRIC_EDIT)
	{
		for (uint32_t i = 0; i < GENIE_VALUE_PATTERN_MAX; i++)
			((uint8_t *) elements)[i] = (uint8_t) genie_random_below(random, 4);
		return (GenieVector) {elements, (uint32_t) genie_random_below(random, 2 * n), false};
	}
	n /= metric == GENIE_METRIC_PIVOTS ? GENIE_VALUE_PIVOT_BYTES : 1;
	for (uint32_t i = 0; i < n; i++)
		elements[i] = (float) ((double) (int64_t) genie_random(random) / 9.3e18);
	if (metric == GENIE_METRIC_HAMMING && n % 8 != 0)
		((uint8_t *) elements)[n / 8] &= (uint8_t) ~(0xFF >> n % 8);
	return (GenieVector) {elements, n, false};
}

/* By L1, some elements are beyond the range. */
static GenieValueShape
shape_of(GenieMetric metric, uint32_t n_dimensions, const float *centre)
{
	GenieValueShape shape = {.metric = metric, .n_dimensions = n_dimensions, .centre = centre};

	if (metric == GENIE_METRIC_L1 || metric == GENIE_METRIC_PIVOTS)
	{
		shape.offset = -0.9f;
		shape.step = 1.7f / (metric == GENIE_METRIC_L1 ? 255 : GENIE_VALUE_PIVOT_MAX);
	}
	return shape;
}

static void
make_segment(GenieRandom *random, Segment *segment, GenieMetric metric, uint32_t n_objects, uint32_t n_dimensions,
			 uint64_t id)
{
	size_t		n_bytes = genie_value_record_bytes(metric, n_dimensions);
	uint8_t    *pool = malloc(POOL * n_bytes);
	uint32_t	n_tiles = (n_objects + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS;

	for (uint32_t i = 0; i < POOL; i++)
	{
		float		elements[DIMENSIONS_MAX];
		GenieVector vector = draw_vector(random, metric, elements, n_dimensions);

		if (i % 10 == 9)
			genie_value_record_unknown(metric, n_dimensions, pool + i * n_bytes);
		else
			genie_value_record(shape_of(metric, n_dimensions, NULL), vector, pool + i * n_bytes);
	}
	memset(segment, 0, sizeof(Segment));
	for (uint32_t t = 0; t < n_tiles; t++)
	{
		uint32_t	first = t * GENIE_TILE_OBJECTS;
		uint32_t	n = n_objects - first < GENIE_TILE_OBJECTS ? n_objects - first : GENIE_TILE_OBJECTS;
		uint8_t    *records = malloc(n * n_bytes);

		for (uint32_t i = 0; i < n; i++)
		{
			memcpy(records + i * n_bytes, pool + genie_random_below(random, POOL) * n_bytes, n_bytes);
			if (genie_random_below(random, 5) > 0)
				segment->live[(first + i) / 64] |= UINT64_C(1) << (first + i) % 64;
		}
		segment->tiles[t] = records;
	}
	free(pool);
	segment->image = (GenieSegmentImage) {
		.id = id, .n_objects = n_objects, .n_tiles = n_tiles, .live = segment->live, .live_version = 1
	};
	segment->vectors = genie_vectors(id + 1000, metric, n_dimensions, n_objects,
									 (const void *const *) segment->tiles);
}

static void
free_segment(Segment *segment)
{
	for (uint32_t t = 0; t < TILES_MAX; t++)
		free(segment->tiles[t]);
}

/* A job of a random vector, of all tiles. */
static void
make_job(GenieRandom *random, const Segment *segment, uint32_t k, GenieJob *job)
{
	uint32_t	n_dimensions = segment->vectors.n_dimensions;
	size_t		n_bytes = genie_value_query_bytes(segment->vectors.metric, n_dimensions);
	GenieValueQuery *query = malloc(n_bytes);
	float		elements[DIMENSIONS_MAX];
	float		of_records[DIMENSIONS_MAX];
	const float *centre = NULL;
	GenieVector vector;

	/* what the records are less of does not matter here, but keys of inner products depend on it */
	if (genie_value_filter_serves(segment->vectors.metric) && genie_random_below(random, 2) == 0)
	{
		(void) draw_vector(random, segment->vectors.metric, of_records, n_dimensions);
		centre = of_records;
	}
	vector = draw_vector(random, segment->vectors.metric, elements, n_dimensions);
	if (genie_value_filter_serves(segment->vectors.metric) && genie_random_below(random, 20) == 0)
		elements[0] = NAN;
	genie_value_query(shape_of(segment->vectors.metric, n_dimensions, centre), vector, query);
	*job = (GenieJob) {
		.kind = GENIE_JOB_SCAN, .image = &segment->image, .n_tiles = segment->image.n_tiles, .k = k, .min_key = 1,
		.vectors = &segment->vectors, .scan = query, .scan_bytes = n_bytes, .out = malloc(k * sizeof(GenieHit))
	};
}

static void
free_job(GenieJob *job)
{
	free((void *) job->scan);
	free(job->out);
}

static void
run(GenieEngine *engine, uint32_t n_jobs, GenieJob *jobs)
{
	CHECK_INT(genie_cpu_engine_threads(engine, n_threads), n_threads);
	genie_cpu_engine_policy(engine)->task_cost = n_runs++ % 3 != 0 ? 1 : GENIE_CPU_TASK_COST;
	CHECK_INT(engine->ops->run(engine, n_jobs, jobs), GENIE_OK);
}

/* ---- what is expected ---- */

/* Fills wanted with the live objects of the job's tiles, in rank order, whatever its k and cursor. */
static uint32_t
rank_plainly(const GenieJob *job)
{
	uint32_t	first = genie_job_first_object(job);
	uint32_t	n = 0;

	if (job->n_tiles == 0)
		return 0;
	for (uint32_t t = 0; t < job->n_tiles; t++)
	{
		uint32_t	before = (job->first_tile + t) * GENIE_TILE_OBJECTS;
		uint32_t	rest = job->image->n_objects - before;

		genie_value_keys_by(job->scan->metric == GENIE_METRIC_HAMMING ? &genie_value_bits_portable :
							job->scan->metric == GENIE_METRIC_EDIT ? &genie_value_string_portable :
							&genie_value_portable, job->scan, job->vectors->tiles[job->first_tile + t],
							rest < GENIE_TILE_OBJECTS ? rest : GENIE_TILE_OBJECTS, all_keys + before);
	}
	for (uint32_t i = first; i < first + genie_job_objects(job); i++)
		if ((job->image->live[i / 64] >> i % 64 & 1) != 0 && all_keys[i] >= job->min_key)
			wanted[n++] = (GenieHit) {all_keys[i], i};
	qsort(wanted, n, sizeof(GenieHit), genie_test_compare_hits);
	return n;
}

static bool
check_job(const GenieJob *job)
{
	uint32_t	n_wanted = rank_plainly(job);

	return CHECK_INT(job->status, GENIE_OK) && CHECK(!job->has_bounds) && genie_test_check_hits(job, wanted, n_wanted);
}

/* ---- tests ---- */

/* Random jobs of two segments, some of which share vectors. */
static void
test_random(GenieEngine *engine, GenieRandom *random)
{
	static Segment segments[2];
	static GenieJob jobs[JOBS_MAX];

	for (uint32_t round = 0; round < 8; round++)
	{
		uint32_t	n_jobs = round == 0 ? JOBS_MAX : 1 + (uint32_t) genie_random_below(random, 7);

		for (uint32_t s = 0; s < 2; s++)
		{
			uint32_t	drawn = 1 + (uint32_t) genie_random_below(random, 10);
			GenieMetric metric = drawn < GENIE_METRIC_SCALARS ? (GenieMetric) drawn : (GenieMetric) (drawn + 1);
			uint32_t	n_objects = 1 + (uint32_t) genie_random_below(random, round == 0 ? 3000 : OBJECTS_MAX);
			uint32_t	n_dimensions = 1 + (uint32_t) genie_random_below(random, 20);

			if (round == 1)
			{
				n_objects = 3000;
				n_dimensions = s == 0 ? DIMENSIONS_MAX : 300;
			}
			else if (round == 2)
			{
				metric = GENIE_METRIC_HAMMING;
				n_dimensions = s == 0 ? 64 : DIMENSIONS_MAX;
			}
			else if (round == 3)
				metric = GENIE_METRIC_EDIT;
			if (metric == GENIE_METRIC_PIVOTS)
				n_dimensions += n_dimensions % GENIE_VALUE_PIVOT_BYTES;
			if (metric == GENIE_METRIC_EDIT && n_dimensions > GENIE_VALUE_STRING_MAX)
				n_dimensions = GENIE_VALUE_STRING_MAX;
			make_segment(random, &segments[s], metric, n_objects, n_dimensions, 10 + s);
		}
		for (uint32_t j = 0; j < n_jobs; j++)
		{
			const Segment *segment = &segments[genie_random_below(random, 4) == 0];
			uint32_t	k = 1 + (uint32_t) genie_random_below(random, j % 3 == 0 ? GENIE_JOB_K_MAX : 2000);

			make_job(random, segment, k, &jobs[j]);
			if (j % 4 == 1)
			{
				jobs[j].n_tiles = (uint32_t) genie_random_below(random, segment->image.n_tiles + 1);
				jobs[j].first_tile =
					(uint32_t) genie_random_below(random, segment->image.n_tiles - jobs[j].n_tiles + 1);
			}
			if (j % 5 == 2 && rank_plainly(&jobs[j]) > 0)
			{
				jobs[j].has_after = true;
				jobs[j].after = wanted[genie_random_below(random, rank_plainly(&jobs[j]))];
			}
			if (j % 5 == 3 && rank_plainly(&jobs[j]) > 0)
				jobs[j].min_key = wanted[genie_random_below(random, rank_plainly(&jobs[j]))].key;
		}
		run(engine, n_jobs, jobs);
		CHECK_INT(strlen(engine->error), 0);
		for (uint32_t j = 0; j < n_jobs; j++)
		{
			if (!check_job(&jobs[j]))
				printf("in round %u, job %u of %u\n", round, j, n_jobs);
			free_job(&jobs[j]);
		}
		for (uint32_t s = 0; s < 2; s++)
			free_segment(&segments[s]);
	}
}

/* All pages of a job, each after the last hit of the one before, give every live object once. */
static void
test_pages(GenieEngine *engine, GenieRandom *random)
{
	static Segment segment;
	GenieJob	job;
	uint32_t	n_wanted;
	uint32_t	n = 0;

	make_segment(random, &segment, GENIE_METRIC_L2, GENIE_TILE_OBJECTS + 5000, 7, 1);
	make_job(random, &segment, 9999, &job);
	do
	{
		run(engine, 1, &job);
		CHECK_INT(job.status, GENIE_OK);
		n_wanted = rank_plainly(&job);
		if (!CHECK(n + job.n_hits <= n_wanted && memcmp(job.out, wanted + n, job.n_hits * sizeof(GenieHit)) == 0))
			break;
		n += job.n_hits;
		job.has_after = job.n_hits > 0;
		if (job.has_after)
			job.after = ((GenieHit *) job.out)[job.n_hits - 1];
	} while (job.n_hits == job.k);
	CHECK_INT(n, n_wanted);
	free_job(&job);
	free_segment(&segment);
}

/* Makes one thing wrong. */
static void
spoil(GenieJob *job, GenieQuantizedVectors *vectors, GenieValueQuery *query, int fault)
{
	static const GenieCondition condition = {.query = {.max_count = 1}, .min_count = 1};

	switch (fault)
	{
		case 0:
			job->k = 0;
			break;
		case 1:
			job->k = GENIE_JOB_K_MAX + 1;
			break;
		case 2:
			job->min_key = 0;
			break;
		case 3:
			job->first_tile = 1;
			break;
		case 4:
			job->vectors = NULL;
			break;
		case 5:
			job->scan = NULL;
			break;
		case 6:
			job->scan_bytes--;
			break;
		case 7:
			job->scan_bytes = 3;
			break;
		case 8:
			vectors->n_objects--;
			break;
		case 9:
			vectors->n_dimensions++;
			break;
		case 10:
			vectors->metric = GENIE_METRIC_COSINE;
			break;
		case 11:
			query->n_dimensions++;
			break;
		case 12:
			query->metric = 9;
			break;
		case 13:
			vectors->first_tile = 1;
			break;
		case 14:
			vectors->end_tile = 0;
			break;
		default:
			job->n_conditions = 1;
			job->conditions = &condition;
			break;
	}
}

#define N_FAULTS 16

static bool
build_alone(void *arg, uint32_t n_blocks, void (*do_block) (void *work, uint32_t block), void *work)
{
	(void) arg;
	for (uint32_t i = 0; i < n_blocks; i++)
		do_block(work, i);
	return true;
}

/* Is a hit of a graph's search live, with its key, behind the one before? */
static void
check_graph_hits(const GenieJob *job)
{
	const GenieHit *hits = job->out;

	(void) rank_plainly(job);
	CHECK_INT(job->n_hits, job->k);
	for (uint32_t i = 0; i < job->n_hits; i++)
		if (hits[i].key != all_keys[hits[i].object] ||
			(job->image->live[hits[i].object / 64] >> hits[i].object % 64 & 1) == 0 ||
			(i > 0 && genie_test_compare_hits(&hits[i - 1], &hits[i]) >= 0))
			CHECK(!"a hit of a graph is wrong");
	CHECK(hits[0].key == wanted[0].key);
}

/* Jobs that bring a graph search it, but not behind a cursor, nor in some tiles, nor where a scan is as fast. */
static void
test_graph(GenieEngine *engine, GenieRandom *random)
{
	enum {N_OBJECTS = 40000, DEGREE = 16, N_JOBS = 24};
	static const GenieProximityWorkers alone = {.for_each = build_alone};
	static Segment segment;
	static GenieJob jobs[N_JOBS];
	uint32_t   *edges = malloc((size_t) genie_proximity_in_tile(N_OBJECTS, genie_proximity_levels(N_OBJECTS)) *
							   DEGREE * sizeof(uint32_t));
	GenieProximityHead *head = malloc(genie_proximity_head_bytes());
	GenieProximityGraph graph = {99, N_OBJECTS, head, (const uint32_t *const *) &edges};
	uint32_t	n_by_graph = 0;
	size_t		n_bytes = genie_value_record_bytes(GENIE_METRIC_L2, 20);

	make_segment(random, &segment, GENIE_METRIC_L2, N_OBJECTS, 20, 5);
	for (uint32_t i = 1; i < N_OBJECTS; i++)
	{
		uint8_t    *record = (uint8_t *) segment.tiles[0] + i * n_bytes;

		/* few are unknown */
		if (((GenieQuantized *) (void *) record)->error == INFINITY && i > 3000)
			memcpy(record, record - n_bytes, n_bytes);
	}
	CHECK_INT(genie_proximity_build(&segment.vectors, 0, DEGREE, &alone, &edges, head), GENIE_PROXIMITY_BUILT);
	for (uint32_t j = 0; j < N_JOBS; j++)
	{
		make_job(random, &segment, j % 6 == 4 ? 5000 : 1 + (uint32_t) genie_random_below(random, 60), &jobs[j]);
		jobs[j].graph = j % 6 == 0 ? NULL : &graph;
		jobs[j].graph_queue = 64;
		jobs[j].has_after = j % 6 == 5;
		jobs[j].after = (GenieHit) {GENIE_VALUE_KEY_MAX / 2, 7};
	}
	/* many together are scanned */
	run(engine, N_JOBS, jobs);
	for (uint32_t j = 0; j < N_JOBS; j++)
		if (CHECK(!jobs[j].by_graph))
			check_job(&jobs[j]);
	for (uint32_t j = 0; j < N_JOBS; j += 6)
		run(engine, 6, jobs + j);
	for (uint32_t j = 0; j < N_JOBS; j++)
	{
		CHECK_INT(jobs[j].status, GENIE_OK);
		n_by_graph += jobs[j].by_graph;
		if (jobs[j].by_graph && CHECK(j % 6 > 0 && j % 6 < 4))
			check_graph_hits(&jobs[j]);
		else
			check_job(&jobs[j]);
		free_job(&jobs[j]);
	}
	CHECK(n_by_graph > N_JOBS / 4);
	head->n_levels = 0;			/* as of one that cannot be */
	make_job(random, &segment, 10, &jobs[0]);
	jobs[0].graph = &graph;
	jobs[0].graph_queue = 64;
	run(engine, 1, jobs);
	CHECK(!jobs[0].by_graph);
	check_job(&jobs[0]);
	free_job(&jobs[0]);
	free(edges);
	free(head);
	free_segment(&segment);
}

/* What is on a device alone is no job for the CPU. */
static void
test_on_device(GenieEngine *engine, GenieRandom *random)
{
	static const void *const nowhere[TILES_MAX];
	static Segment segment;
	GenieQuantizedVectors vectors;
	GenieJob	jobs[2];

	make_segment(random, &segment, GENIE_METRIC_L2, 3000, 7, 1);
	vectors = segment.vectors;
	vectors.tiles = nowhere;
	make_job(random, &segment, 10, &jobs[0]);
	make_job(random, &segment, 10, &jobs[1]);
	jobs[0].vectors = &vectors;
	run(engine, 2, jobs);
	CHECK_INT(jobs[0].status, GENIE_STATUS_NO_ROOM);
	CHECK_INT(jobs[0].n_hits, 0);
	check_job(&jobs[1]);
	jobs[1].kind = GENIE_JOB_STAGE;
	run(engine, 2, jobs);
	CHECK_INT(jobs[1].status, GENIE_STATUS_DECLINED);
	free_job(&jobs[0]);
	free_job(&jobs[1]);
	free_segment(&segment);
}

/* What is malformed fails alone. */
static void
test_malformed(GenieEngine *engine, GenieRandom *random)
{
	static Segment segment;

	make_segment(random, &segment, GENIE_METRIC_L2, 3000, 7, 1);
	for (int fault = 0; fault < N_FAULTS; fault++)
	{
		GenieQuantizedVectors vectors = segment.vectors;
		GenieValueQuery *query;
		GenieJob	jobs[3];

		for (int j = 0; j < 3; j++)
			make_job(random, &segment, 10, &jobs[j]);
		jobs[1].vectors = &vectors;
		query = (GenieValueQuery *) jobs[1].scan;
		spoil(&jobs[1], &vectors, query, fault);
		run(engine, 3, jobs);
		CHECK(strlen(engine->error) > 0);
		check_job(&jobs[0]);
		CHECK_INT(jobs[1].status, GENIE_STATUS_CORRUPT);
		CHECK_INT(jobs[1].n_hits, 0);
		check_job(&jobs[2]);
		jobs[1].scan = query;
		for (int j = 0; j < 3; j++)
			free_job(&jobs[j]);
	}
	free_segment(&segment);
}

static int	calls_left;

static bool
interrupt_after_some(void)
{
	return calls_left-- == 0;
}

/* Each job is done, or cancelled. */
static void
test_interrupts(GenieEngine *engine, GenieRandom *random)
{
	static Segment segment;
	GenieJob	jobs[4];
	uint32_t	n_cancelled = 0;

	make_segment(random, &segment, GENIE_METRIC_INNER, 20000, 20, 1);
	for (int j = 0; j < 4; j++)
		make_job(random, &segment, 100, &jobs[j]);
	engine->interrupted = interrupt_after_some;
	for (int calls = 0; calls <= 24; calls += 4)
	{
		calls_left = calls;
		run(engine, 4, jobs);
		for (int j = 0; j < 4; j++)
		{
			n_cancelled += jobs[j].status == GENIE_STATUS_CANCELLED;
			CHECK(jobs[j].status == GENIE_STATUS_CANCELLED || check_job(&jobs[j]));
		}
	}
	CHECK(n_cancelled > 0 || n_threads > 1);
	engine->interrupted = NULL;
	run(engine, 4, jobs);
	for (int j = 0; j < 4; j++)
	{
		check_job(&jobs[j]);
		free_job(&jobs[j]);
	}
	free_segment(&segment);
}

int
main(void)
{
	void	   *memory = malloc(genie_cpu_engine_size() + 64);
	GenieEngine *engine = genie_cpu_engine_open((void *) (((uintptr_t) memory + 63) / 64 * 64));

	for (n_threads = 1; n_threads <= 4; n_threads++)
	{
		GenieRandom random = {n_threads};

		test_random(engine, &random);
		test_pages(engine, &random);
		test_on_device(engine, &random);
		test_graph(engine, &random);
		test_malformed(engine, &random);
		test_interrupts(engine, &random);
	}
	engine->ops->close(engine);
	free(memory);
	return genie_test_end();
}
