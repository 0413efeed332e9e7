/*
 * genie_wire.c
 *	  A request as it lies in shared memory (genie_wire.h).
 *
 * One block: a header, the jobs, the key tables, and then the jobs' parts, one job behind the other: its ranges, its
 * conditions with theirs, its input for exact search, hashing or a scan of values, and, where bounds of distances are
 * wanted, the vector.  Behind these is room for all results, one behind the other, and then for all bounds, so that
 * an engine may write all of them at once.  Everything refers to its parts by offsets from the block's first byte,
 * because processes may have the arena at different addresses; parts are aligned to 16 bytes.
 *
 * Key tables are shared: jobs that rank by the same table in the backend share it in the request (one query may ask
 * many segments).  Only the part of a table that the jobs can ask for is written: the sizes between the smallest and
 * the largest of their images' objects, the classes of these, and counts up to the largest that any job can have.
 * So a table's bytes are known only when all its jobs are, and planning adds jobs one by one.
 *
 * The live objects that jobs bring are shared by those that follow each other.
 */
#include "postgres.h"

#include "genie_wire.h"

#define WIRE_ALIGN 16			/* bytes */
#define NO_TABLE PG_UINT32_MAX

typedef struct WireTable
{
	uint32		first_size;
	uint32		n_sizes;
	Size		class_of_size;	/* uint16[n_sizes] */
	uint32		n_classes;
	uint32		stride;
	Size		keys;			/* uint32[n_classes * stride] */
} WireTable;

typedef struct WireQuery
{
	Size		ranges;			/* GenieRankRange[n_ranges] */
	uint32		n_ranges;
	uint32		max_count;
	uint32		min_count;		/* of a condition */
	uint32		table;			/* of a TOP job's query; or NO_TABLE */
} WireQuery;

/* The input of a NEAREST job: floats of queries, bounds, rows and terms. */
typedef struct WireNearest
{
	bool		differences;
	uint32		n_dimensions;
	uint32		n_queries;
	uint32		n_rows;
	Size		queries;
	Size		bounds;
	Size		rows;
	Size		terms;
} WireNearest;

/* The input of a HASH job: functions, and floats of vectors. */
typedef struct WireHashing
{
	GenieLshParameters parameters;
	uint32		n_groups;
	uint32		n_vectors;
	Size		table;
	Size		shifts;			/* 0: there are none */
	Size		seeds;
	Size		vectors;
} WireHashing;

/* A GRID job's axis: uint32 places of n_ranks. */
typedef struct WireAxis
{
	uint32		first_rank;
	uint32		n_ranks;
	Size		places;
} WireAxis;

typedef struct WireJob
{
	GenieImageRef image;
	uint64		tombstone_version;
	GenieJobKind kind;
	uint32		n_conditions;
	bool		any;
	Size		conditions;		/* WireQuery[n_conditions] */
	WireQuery	query;
	uint32		k;
	uint32		min_key;
	bool		has_after;
	GenieHit	after;
	uint32		first_tile;
	uint32		n_tiles;
	Size		live;			/* of a TOP, TALLY, FACETS or GRID: GENIE_TILE_WORDS uint64 a tile; 0: NULL */
	GenieRankRange facets;
	uint32		n_axes;
	uint32		n_cells;
	Size		axes;			/* WireAxis[n_axes] */
	WireNearest nearest;
	WireHashing hashing;
	Size		scan;			/* GenieValueQuery of scan_bytes */
	Size		scan_bytes;
	GenieImageRef graph;
	uint32		graph_queue;
	uint32		level;			/* of a LEVEL: GenieProximityLevel, */
	uint32		degree;
	uint32		n_members;
	Size		members;		/* and uint32[n_members]; 0: NULL */
	Size		out;			/* where the result goes */

	/* the vectors that are scanned, or bounds of the hits */
	bool		wants_bounds;
	GenieImageRef vectors;
	uint32		n_elements;
	float		error;
	Size		elements;		/* float[n_elements] */
	Size		bounds;			/* float[k], behind them */

	/* the answer */
	GenieFallback why;
	GenieGpuFallback gpu_why;
	uint32		n_hits;
	bool		has_bounds;
	bool		by_graph;
} WireJob;

struct GenieWire
{
	uint32		n_jobs;
	uint32		n_tables;
	Size		tables;			/* WireTable[n_tables] */
	uint64		count_us;		/* the answer: time in the engine, of the batch */
	WireJob		jobs[FLEXIBLE_ARRAY_MEMBER];
};

/* A key table, and the part of it that is written. */
typedef struct PlannedTable
{
	const GenieKeyTable *table;
	uint32		min_size;
	uint32		max_size;
	uint32		max_count;
	uint16		min_class;
	uint16		max_class;
} PlannedTable;

struct GenieWirePlan
{
	uint32		n_jobs;
	uint32		jobs_capacity;
	uint32	   *table_of_job;	/* number, or NO_TABLE */
	uint32		n_tables;
	uint32		tables_capacity;
	PlannedTable *tables;
	const uint64 *live;			/* of the last job that was added */
	Size		part_bytes;		/* of jobs' parts */
	Size		table_bytes;	/* of the tables' classes and keys */
};

static Size
align_part(Size size)
{
	return TYPEALIGN(WIRE_ALIGN, size);
}

/* Bytes of a job's result. */
static Size
result_bytes(const GenieJob *job)
{
	switch (job->kind)
	{
		case GENIE_JOB_TOP:
		case GENIE_JOB_SCAN:
			return (Size) job->k * sizeof(GenieHit);
		case GENIE_JOB_COUNTS:
			return (Size) job->n_tiles * GENIE_TILE_OBJECTS *
				(job->query.max_count <= GENIE_COUNT_NARROW ? sizeof(uint8) : sizeof(uint16));
		case GENIE_JOB_MASK:
			return (Size) job->n_tiles * GENIE_TILE_WORDS * sizeof(uint64);
		case GENIE_JOB_TALLY:
		case GENIE_JOB_STAGE:
		case GENIE_JOB_LEVEL:
			return 0;
		case GENIE_JOB_FACETS:
		case GENIE_JOB_GRID:
			return genie_job_facets_bytes(job);
		case GENIE_JOB_NEAREST:
			return (Size) job->k * sizeof(GeniePair);
		case GENIE_JOB_HASH:
			return genie_hashing_codes(job->hashing) * sizeof(int32);
	}
	elog(ERROR, "unknown kind of job: %d", (int) job->kind);
}

/* Bytes of its result that the answer fills. */
static Size
answer_bytes(const GenieJob *job)
{
	switch (job->kind)
	{
		case GENIE_JOB_TOP:
		case GENIE_JOB_SCAN:
			return (Size) job->n_hits * sizeof(GenieHit);
		case GENIE_JOB_NEAREST:
			return (Size) Min(job->n_hits, job->k) * sizeof(GeniePair);
		default:
			return result_bytes(job);
	}
}

/* ---- planning ---- */

GenieWirePlan *
genie_wire_plan(void)
{
	GenieWirePlan *plan = palloc0(sizeof(GenieWirePlan));

	plan->jobs_capacity = 16;
	plan->table_of_job = palloc(plan->jobs_capacity * sizeof(uint32));
	plan->tables_capacity = 4;
	plan->tables = palloc(plan->tables_capacity * sizeof(PlannedTable));
	return plan;
}

void
genie_wire_plan_free(GenieWirePlan *plan)
{
	pfree(plan->table_of_job);
	pfree(plan->tables);
	pfree(plan);
}

static uint32
planned_classes(const PlannedTable *planned)
{
	return (uint32) planned->max_class - planned->min_class + 1;
}

static Size
classes_bytes(const PlannedTable *planned)
{
	return align_part((planned->max_size - planned->min_size + 1) * sizeof(uint16));
}

static Size
keys_bytes(const PlannedTable *planned)
{
	return align_part((Size) planned_classes(planned) * (planned->max_count + 1) * sizeof(uint32));
}

/* The number of the job's table.  The planned part of it grows to what this job asks for. */
static uint32
plan_table(GenieWirePlan *plan, const GenieRequestJob *job)
{
	const GenieKeyTable *table = job->job.query.keys;
	uint32		i = plan->n_tables;
	PlannedTable *planned;

	/* jobs of one table mostly follow each other */
	while (i > 0 && plan->tables[i - 1].table != table)
		i--;
	if (i > 0)
	{
		planned = &plan->tables[--i];
		plan->table_bytes -= classes_bytes(planned) + keys_bytes(planned);
	}
	else
	{
		if (plan->n_tables == plan->tables_capacity)
		{
			plan->tables_capacity *= 2;
			plan->tables = repalloc(plan->tables, plan->tables_capacity * sizeof(PlannedTable));
		}
		i = plan->n_tables++;
		planned = &plan->tables[i];
		planned->table = table;
		planned->min_size = job->min_size;
		planned->max_size = job->max_size;
		planned->max_count = 0;
		planned->min_class = PG_UINT16_MAX;
		planned->max_class = 0;
	}
	Assert(genie_keys_fit(table, job->job.query.max_count, job->min_size, job->max_size));
	planned->min_size = Min(planned->min_size, job->min_size);
	planned->max_size = Max(planned->max_size, job->max_size);
	planned->max_count = Max(planned->max_count, job->job.query.max_count);
	for (uint32 size = planned->min_size; size <= planned->max_size; size++)
	{
		uint16		class = table->class_of_size[size - table->first_size];

		planned->min_class = Min(planned->min_class, class);
		planned->max_class = Max(planned->max_class, class);
	}
	plan->table_bytes += classes_bytes(planned) + keys_bytes(planned);
	return i;
}

static Size
query_bytes(const GenieEngineQuery *query)
{
	return align_part((Size) query->n_ranges * sizeof(GenieRankRange));
}

static Size
floats_bytes(uint32 n, uint32 n_each)
{
	return align_part((Size) n * n_each * sizeof(float));
}

static Size
nearest_bytes(const GenieNearest *nearest)
{
	return floats_bytes(nearest->n_queries, nearest->n_dimensions) + floats_bytes(nearest->n_queries, 1) +
		floats_bytes(nearest->n_rows, nearest->n_dimensions) + floats_bytes(nearest->n_rows, 1);
}

/* Bytes of the shifts, of functions that have some. */
static Size
shifts_bytes(const GenieHashing *hashing)
{
	return hashing->shifts == NULL ? 0 : genie_hashing_rows(hashing) * sizeof(double);
}

static Size
hashing_bytes(const GenieHashing *hashing)
{
	return align_part(genie_hashing_entries(hashing) * sizeof(float)) + align_part(shifts_bytes(hashing)) +
		align_part(genie_hashing_rows(hashing) * sizeof(uint32)) +
		align_part(genie_hashing_elements(hashing) * sizeof(float));
}

static Size
members_bytes(const GenieProximityLevel *level)
{
	return level->members == NULL ? 0 : (Size) level->n * sizeof(uint32);
}

static Size
places_bytes(const GenieGridAxis *axis)
{
	return (Size) axis->n_ranks * sizeof(uint32);
}

static Size
grid_bytes(const GenieGrid *grid)
{
	Size		bytes = align_part(grid->n_axes * sizeof(WireAxis));

	for (uint32 a = 0; a < grid->n_axes; a++)
		bytes += align_part(places_bytes(&grid->axes[a]));
	return bytes;
}

static Size
live_bytes(const GenieJob *job)
{
	return (Size) job->n_tiles * GENIE_TILE_WORDS * sizeof(uint64);
}

void
genie_wire_plan_add(GenieWirePlan *plan, const GenieRequestJob *request)
{
	const GenieJob *job = &request->job;

	if (plan->n_jobs == plan->jobs_capacity)
	{
		plan->jobs_capacity *= 2;
		plan->table_of_job = repalloc(plan->table_of_job, plan->jobs_capacity * sizeof(uint32));
	}
	plan->table_of_job[plan->n_jobs++] =
		job->kind == GENIE_JOB_TOP && job->query.keys != NULL ? plan_table(plan, request) : NO_TABLE;
	if (genie_job_has_query(job->kind))
		plan->part_bytes += query_bytes(&job->query);
	if (job->kind == GENIE_JOB_NEAREST)
		plan->part_bytes += nearest_bytes(job->nearest);
	if (job->kind == GENIE_JOB_HASH)
		plan->part_bytes += hashing_bytes(job->hashing);
	if (job->kind == GENIE_JOB_SCAN)
		plan->part_bytes += align_part(job->scan_bytes);
	if (job->kind == GENIE_JOB_LEVEL)
		plan->part_bytes += align_part(members_bytes(job->level));
	if (job->kind == GENIE_JOB_GRID)
		plan->part_bytes += grid_bytes(job->grid);
	if (job->live != NULL && job->live != plan->live)
		plan->part_bytes += align_part(live_bytes(job));
	plan->live = job->live;
	if (request->vector != NULL)
		plan->part_bytes += floats_bytes(request->n_elements, 1) + floats_bytes(job->k, 1);
	plan->part_bytes += align_part(job->n_conditions * sizeof(WireQuery));
	for (uint32 c = 0; c < job->n_conditions; c++)
		plan->part_bytes += query_bytes(&job->conditions[c].query);
	plan->part_bytes += align_part(result_bytes(job));
}

static Size
head_bytes(const GenieWirePlan *plan)
{
	return align_part(offsetof(GenieWire, jobs) + plan->n_jobs * sizeof(WireJob));
}

Size
genie_wire_plan_bytes(const GenieWirePlan *plan)
{
	return head_bytes(plan) + align_part(plan->n_tables * sizeof(WireTable)) + plan->table_bytes + plan->part_bytes;
}

/* ---- the backend's side ---- */

/* Writes the planned part of a table to *at and moves it on. */
static void
write_table(char *base, Size *at, const PlannedTable *planned, WireTable *wire)
{
	const GenieKeyTable *table = planned->table;
	uint16	   *class_of_size = (uint16 *) (base + *at);
	uint32	   *keys = (uint32 *) (base + *at + classes_bytes(planned));

	wire->first_size = planned->min_size;
	wire->n_sizes = planned->max_size - planned->min_size + 1;
	wire->class_of_size = *at;
	wire->n_classes = planned_classes(planned);
	wire->stride = planned->max_count + 1;
	wire->keys = *at + classes_bytes(planned);
	for (uint32 i = 0; i < wire->n_sizes; i++)
		class_of_size[i] = table->class_of_size[wire->first_size - table->first_size + i] - planned->min_class;
	for (uint32 i = 0; i < wire->n_classes; i++)
		memcpy(keys + (Size) i * wire->stride, table->keys + (Size) (planned->min_class + i) * table->stride,
			   wire->stride * sizeof(uint32));
	*at += classes_bytes(planned) + keys_bytes(planned);
}

/* Copies a query's ranges to *at and moves it on. */
static void
write_query(char *base, Size *at, const GenieEngineQuery *query, uint32 min_count, uint32 table, WireQuery *wire)
{
	wire->ranges = *at;
	wire->n_ranges = query->n_ranges;
	wire->max_count = query->max_count;
	wire->min_count = min_count;
	wire->table = table;
	memcpy(base + *at, query->ranges, query->n_ranges * sizeof(GenieRankRange));
	*at += query_bytes(query);
}

/* Copies bytes to *at, which it moves on; gives where they are. */
static Size
write_part(char *base, Size *at, const void *part, Size nbytes)
{
	Size		place = *at;

	memcpy(base + place, part, nbytes);
	*at += align_part(nbytes);
	return place;
}

static Size
write_floats(char *base, Size *at, const float *floats, uint32 n, uint32 n_each)
{
	return write_part(base, at, floats, (Size) n * n_each * sizeof(float));
}

static void
write_nearest(char *base, Size *at, const GenieNearest *nearest, WireNearest *wire)
{
	wire->differences = nearest->differences;
	wire->n_dimensions = nearest->n_dimensions;
	wire->n_queries = nearest->n_queries;
	wire->n_rows = nearest->n_rows;
	wire->queries = write_floats(base, at, nearest->queries, nearest->n_queries, nearest->n_dimensions);
	wire->bounds = write_floats(base, at, nearest->bounds, nearest->n_queries, 1);
	wire->rows = write_floats(base, at, nearest->rows, nearest->n_rows, nearest->n_dimensions);
	wire->terms = write_floats(base, at, nearest->terms, nearest->n_rows, 1);
}

static void
write_hashing(char *base, Size *at, const GenieHashing *hashing, WireHashing *wire)
{
	wire->parameters = hashing->parameters;
	wire->n_groups = hashing->n_groups;
	wire->n_vectors = hashing->n_vectors;
	wire->table = write_part(base, at, hashing->table, genie_hashing_entries(hashing) * sizeof(float));
	wire->shifts = hashing->shifts == NULL ? 0 : write_part(base, at, hashing->shifts, shifts_bytes(hashing));
	wire->seeds = write_part(base, at, hashing->seeds, genie_hashing_rows(hashing) * sizeof(uint32));
	wire->vectors = write_part(base, at, hashing->vectors, genie_hashing_elements(hashing) * sizeof(float));
}

static void
write_grid(char *base, Size *at, const GenieGrid *grid, WireJob *to)
{
	WireAxis   *axes = (WireAxis *) (base + *at);

	to->n_axes = grid->n_axes;
	to->n_cells = grid->n_cells;
	to->axes = *at;
	*at += align_part(grid->n_axes * sizeof(WireAxis));
	for (uint32 a = 0; a < grid->n_axes; a++)
	{
		axes[a].first_rank = grid->axes[a].first_rank;
		axes[a].n_ranks = grid->axes[a].n_ranks;
		axes[a].places = write_part(base, at, grid->axes[a].places, places_bytes(&grid->axes[a]));
	}
}

static void
write_level(char *base, Size *at, const GenieRequestJob *request, WireJob *to)
{
	const GenieProximityLevel *level = request->job.level;

	to->vectors = request->vectors;
	to->n_elements = request->n_elements;
	to->graph = request->graph;
	to->level = level->level;
	to->degree = level->degree;
	to->n_members = level->n;
	to->members = level->members == NULL ? 0 : write_part(base, at, level->members, members_bytes(level));
}

/* The vector. */
static void
write_vector(char *base, Size *at, const GenieRequestJob *request, WireJob *to)
{
	to->wants_bounds = true;
	to->vectors = request->vectors;
	to->n_elements = request->n_elements;
	to->error = request->vector->error;
	to->elements = write_floats(base, at, request->vector->elements, request->n_elements, 1);
}

/* Writes a job, its parts to *at, which it moves on; before: the one that was written before it, or NULL. */
static void
write_job(char *base, Size *at, const GenieRequestJob *request, uint32 table, const GenieRequestJob *before,
		  WireJob *to)
{
	const GenieJob *job = &request->job;
	WireQuery  *conditions;

	memset(to, 0, sizeof(*to));
	to->image = request->image;
	to->tombstone_version = request->tombstone_version;
	to->kind = job->kind;
	to->k = job->k;
	to->min_key = job->min_key;
	to->has_after = job->has_after;
	to->after = job->after;
	to->first_tile = job->first_tile;
	to->n_tiles = job->n_tiles;
	to->why = GENIE_FALLBACK_NO_WORKER; /* if it goes down before it answers */
	if (genie_job_has_query(job->kind))
		write_query(base, at, &job->query, 0, table, &to->query);
	if (job->kind == GENIE_JOB_NEAREST)
		write_nearest(base, at, job->nearest, &to->nearest);
	if (job->kind == GENIE_JOB_HASH)
		write_hashing(base, at, job->hashing, &to->hashing);
	if (job->kind == GENIE_JOB_SCAN)
	{
		to->vectors = request->vectors;
		to->scan_bytes = job->scan_bytes;
		to->graph = request->graph;
		to->graph_queue = job->graph_queue;
		to->scan = write_part(base, at, job->scan, job->scan_bytes);
	}
	if (job->kind == GENIE_JOB_LEVEL)
		write_level(base, at, request, to);
	to->facets = job->facets;
	if (job->kind == GENIE_JOB_GRID)
		write_grid(base, at, job->grid, to);
	if (job->live != NULL)
		to->live = before != NULL && before->job.live == job->live ? to[-1].live :
			write_part(base, at, job->live, live_bytes(job));
	if (request->vector != NULL)
		write_vector(base, at, request, to);
	to->n_conditions = job->n_conditions;
	to->any = job->any;
	to->conditions = *at;
	conditions = (WireQuery *) (base + *at);
	*at += align_part(job->n_conditions * sizeof(WireQuery));
	for (uint32 c = 0; c < job->n_conditions; c++)
		write_query(base, at, &job->conditions[c].query, job->conditions[c].min_count, NO_TABLE, &conditions[c]);
}

void
genie_wire_write(const GenieWirePlan *plan, GenieWire *wire, const GenieRequestJob *jobs)
{
	char	   *base = (char *) wire;
	Size		at = head_bytes(plan);
	WireTable  *tables = (WireTable *) (base + at);

	wire->n_jobs = plan->n_jobs;
	wire->n_tables = plan->n_tables;
	wire->tables = at;
	at += align_part(plan->n_tables * sizeof(WireTable));
	for (uint32 i = 0; i < plan->n_tables; i++)
		write_table(base, &at, &plan->tables[i], &tables[i]);
	for (uint32 i = 0; i < plan->n_jobs; i++)
		write_job(base, &at, &jobs[i], plan->table_of_job[i], i == 0 ? NULL : &jobs[i - 1], &wire->jobs[i]);
	for (uint32 i = 0; i < plan->n_jobs; i++)
	{
		wire->jobs[i].out = at;
		at += align_part(result_bytes(&jobs[i].job));
	}
	for (uint32 i = 0; i < plan->n_jobs; i++)
		if (jobs[i].vector != NULL)
		{
			wire->jobs[i].bounds = at;
			at += floats_bytes(jobs[i].job.k, 1);
		}
	Assert(at == genie_wire_plan_bytes(plan));
}

/* Copies a part of an answer to `to`.  If that is NULL, the part stays where it is, or gets room. */
static void *
read_part(void *part, Size nbytes, bool stays, void *to)
{
	if (to == NULL && stays)
		return part;
	if (to == NULL)
		to = palloc_extended(nbytes, MCXT_ALLOC_HUGE);
	return memcpy(to, part, nbytes);
}

uint64
genie_wire_read_answer(GenieWire *wire, bool stays, GenieRequestJob *jobs)
{
	char	   *base = (char *) wire;

	for (uint32 i = 0; i < wire->n_jobs; i++)
	{
		const WireJob *from = &wire->jobs[i];

		jobs[i].has_bounds = false;
		jobs[i].why = from->why;
		if (from->why != GENIE_FALLBACK_NONE)
			continue;
		jobs[i].gpu_why = from->gpu_why;
		jobs[i].job.n_hits = from->n_hits;
		jobs[i].job.by_graph = from->by_graph;
		jobs[i].result = read_part(base + from->out, answer_bytes(&jobs[i].job), stays, jobs[i].result);
		jobs[i].has_bounds = from->has_bounds;
		if (from->has_bounds)
			jobs[i].bounds = read_part(base + from->bounds, from->n_hits * sizeof(float), stays, jobs[i].bounds);
	}
	return wire->count_us;
}

/* ---- the worker's side ---- */

static void
read_query(char *base, const WireQuery *wire, const GenieKeyTable *tables, GenieEngineQuery *query)
{
	query->n_ranges = wire->n_ranges;
	query->ranges = (const GenieRankRange *) (base + wire->ranges);
	query->max_count = wire->max_count;
	query->keys = wire->table == NO_TABLE ? NULL : &tables[wire->table];
}

static GenieNearest *
read_nearest(char *base, const WireNearest *wire)
{
	GenieNearest *nearest = palloc(sizeof(GenieNearest));

	nearest->differences = wire->differences;
	nearest->n_dimensions = wire->n_dimensions;
	nearest->n_queries = wire->n_queries;
	nearest->n_rows = wire->n_rows;
	nearest->queries = (const float *) (base + wire->queries);
	nearest->bounds = (const float *) (base + wire->bounds);
	nearest->rows = (const float *) (base + wire->rows);
	nearest->terms = (const float *) (base + wire->terms);
	return nearest;
}

static GenieHashing *
read_hashing(char *base, const WireHashing *wire)
{
	GenieHashing *hashing = palloc(sizeof(GenieHashing));

	hashing->parameters = wire->parameters;
	hashing->n_groups = wire->n_groups;
	hashing->table = (const float *) (base + wire->table);
	hashing->shifts = wire->shifts == 0 ? NULL : (const double *) (base + wire->shifts);
	hashing->seeds = (const uint32 *) (base + wire->seeds);
	hashing->n_vectors = wire->n_vectors;
	hashing->vectors = (const float *) (base + wire->vectors);
	return hashing;
}

static GenieGrid *
read_grid(char *base, const WireJob *wire)
{
	const WireAxis *from = (const WireAxis *) (base + wire->axes);
	GenieGridAxis *axes = palloc(wire->n_axes * sizeof(GenieGridAxis));
	GenieGrid  *grid = palloc(sizeof(GenieGrid));

	for (uint32 a = 0; a < wire->n_axes; a++)
		axes[a] = (GenieGridAxis) {from[a].first_rank, from[a].n_ranks, (const uint32 *) (base + from[a].places)};
	*grid = (GenieGrid) {wire->n_axes, axes, wire->n_cells};
	return grid;
}

static void
read_level(char *base, const WireJob *wire, GenieJob *job, GenieRequestJob *ref)
{
	GenieProximityLevel *level = palloc(sizeof(GenieProximityLevel));

	*level = (GenieProximityLevel) {
		wire->level, wire->degree, wire->n_members, wire->members == 0 ? NULL : (const uint32 *) (base + wire->members)
	};
	job->level = level;
	ref->vectors = wire->vectors;
	ref->n_elements = wire->n_elements;
	ref->graph = wire->graph;
}

/* The engine's input for bounds, and which quantized vectors it gets. */
static void
read_bounds(char *base, const WireJob *wire, GenieJob *job, GenieRequestJob *ref)
{
	job->vector.elements = (const float *) (base + wire->elements);
	job->vector.error = wire->error;
	job->bounds = (float *) (base + wire->bounds);
	ref->n_elements = wire->n_elements;
	ref->vectors = wire->vectors;
}

static GenieKeyTable *
read_tables(char *base, const GenieWire *wire)
{
	const WireTable *from = (const WireTable *) (base + wire->tables);
	GenieKeyTable *tables = palloc((wire->n_tables + 1) * sizeof(GenieKeyTable));

	for (uint32 i = 0; i < wire->n_tables; i++)
	{
		tables[i].first_size = from[i].first_size;
		tables[i].n_sizes = from[i].n_sizes;
		tables[i].class_of_size = (const uint16 *) (base + from[i].class_of_size);
		tables[i].n_classes = from[i].n_classes;
		tables[i].stride = from[i].stride;
		tables[i].keys = (const uint32 *) (base + from[i].keys);
	}
	return tables;
}

void
genie_wire_read(GenieWire *wire, GenieTaken *taken)
{
	char	   *base = (char *) wire;
	const GenieKeyTable *tables = read_tables(base, wire);

	taken->n_jobs = wire->n_jobs;
	taken->jobs = palloc0(wire->n_jobs * sizeof(GenieJob));
	taken->refs = palloc0(wire->n_jobs * sizeof(GenieRequestJob));
	for (uint32 i = 0; i < wire->n_jobs; i++)
	{
		const WireJob *from = &wire->jobs[i];
		GenieJob   *job = &taken->jobs[i];
		GenieCondition *conditions = palloc((from->n_conditions + 1) * sizeof(GenieCondition));
		const WireQuery *queries = (const WireQuery *) (base + from->conditions);

		taken->refs[i].image = from->image;
		taken->refs[i].tombstone_version = from->tombstone_version;
		for (uint32 c = 0; c < from->n_conditions; c++)
		{
			read_query(base, &queries[c], tables, &conditions[c].query);
			conditions[c].min_count = queries[c].min_count;
		}
		job->kind = from->kind;
		job->n_conditions = from->n_conditions;
		job->any = from->any;
		job->conditions = conditions;
		if (genie_job_has_query(from->kind))
			read_query(base, &from->query, tables, &job->query);
		if (from->kind == GENIE_JOB_NEAREST)
			job->nearest = read_nearest(base, &from->nearest);
		if (from->kind == GENIE_JOB_HASH)
			job->hashing = read_hashing(base, &from->hashing);
		job->facets = from->facets;
		if (from->kind == GENIE_JOB_GRID)
			job->grid = read_grid(base, from);
		if (from->wants_bounds)
			read_bounds(base, from, job, &taken->refs[i]);
		if (from->kind == GENIE_JOB_SCAN)
		{
			job->scan = (const GenieValueQuery *) (base + from->scan);
			job->scan_bytes = from->scan_bytes;
			job->graph_queue = from->graph_queue;
			taken->refs[i].graph = from->graph;
			taken->refs[i].vectors = from->vectors;
			taken->refs[i].n_elements = genie_quantized_elements(job->scan->n_dimensions);
		}
		if (from->kind == GENIE_JOB_LEVEL)
			read_level(base, from, job, &taken->refs[i]);
		job->k = from->k;
		job->min_key = from->min_key;
		job->has_after = from->has_after;
		job->after = from->after;
		job->first_tile = from->first_tile;
		job->n_tiles = from->n_tiles;
		job->live = from->live == 0 ? NULL : (const uint64 *) (base + from->live);
		job->out = base + from->out;
		job->status = GENIE_STATUS_RETRY;
	}
}

void
genie_wire_answer(GenieWire *wire, const GenieTaken *taken, const GenieAnswer *answers, uint64 count_us)
{
	wire->count_us = count_us;
	for (uint32 i = 0; i < wire->n_jobs; i++)
	{
		wire->jobs[i].n_hits = taken->jobs[i].n_hits;
		wire->jobs[i].has_bounds = taken->jobs[i].has_bounds;
		wire->jobs[i].by_graph = taken->jobs[i].by_graph;
		wire->jobs[i].why = answers[i].why;
		wire->jobs[i].gpu_why = answers[i].gpu_why;
	}
}
