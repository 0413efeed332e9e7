/*
 * genie_monitor.c
 *	  Monitoring: the functions behind the view genie_stat, genie_images(), genie_devices(), genie_costs() and
 *	  genie_stat_reset(), of the shared memory and the worker; genie_last_scan(), of this session.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "genie_arena.h"
#include "genie_compat.h"
#include "genie_directory.h"
#include "genie_instrument.h"
#include "genie_stat.h"

PG_FUNCTION_INFO_V1(genie_stat_get);
PG_FUNCTION_INFO_V1(genie_stat_reset_counters);
PG_FUNCTION_INFO_V1(genie_devices);
PG_FUNCTION_INFO_V1(genie_costs);
PG_FUNCTION_INFO_V1(genie_images);
PG_FUNCTION_INFO_V1(genie_last_scan);

#define GENIE_STAT_COLUMNS 44
#define GENIE_DEVICE_COLUMNS 15
#define US_PER_MS 1000.0

/* what an image has, by its form */
static const char *const image_forms[] = {
	[GENIE_IMAGE_FULL] = "postings",
	[GENIE_IMAGE_CODES] = "codes",
	[GENIE_IMAGE_TIGHT] = "chunks"
};

static const char *const image_states[] = {
	[GENIE_IMAGE_LOADING] = "loading",
	[GENIE_IMAGE_READY] = "ready",
	[GENIE_IMAGE_PUT_OFF] = "put off"
};
static const char *const worker_states[] = {"not running", "starting", "idle", "counting"};

/* The columns fallback_* of genie_stat, in their order: each counts the reasons from first to last. */
static const struct
{
	GenieFallback first;
	GenieFallback last;
}			fallback_columns[] = {
	{GENIE_FALLBACK_OFF, GENIE_FALLBACK_OFF},
	{GENIE_FALLBACK_NO_WORKER, GENIE_FALLBACK_NO_WORKER},
	{GENIE_FALLBACK_TEMPORARY, GENIE_FALLBACK_STALE},	/* no image */
	{GENIE_FALLBACK_NO_ROOM, GENIE_FALLBACK_NO_ROOM},
	{GENIE_FALLBACK_GONE, GENIE_FALLBACK_GONE},
	{GENIE_FALLBACK_BUSY, GENIE_FALLBACK_BUSY},
	{GENIE_FALLBACK_FAILED, GENIE_FALLBACK_FAILED}
};

/* A row of a result, to which values are added one by one. */
typedef struct GenieRow
{
	int			n;
	Datum		values[GENIE_STAT_COLUMNS];
	bool		nulls[GENIE_STAT_COLUMNS];
} GenieRow;

static void
add_value(GenieRow *row, Datum value)
{
	row->nulls[row->n] = false;
	row->values[row->n++] = value;
}

static void
add_null(GenieRow *row)
{
	row->values[row->n] = (Datum) 0;
	row->nulls[row->n++] = true;
}

static void
add_count(GenieRow *row, uint64 n)
{
	add_value(row, Int64GetDatum((int64) n));
}

static void
add_text(GenieRow *row, const char *text)
{
	if (text[0] == '\0')
		add_null(row);
	else
		add_value(row, CStringGetTextDatum(text));
}

/* NULL: there is none. */
static void
add_name(GenieRow *row, const char *name)
{
	if (name == NULL)
		add_null(row);
	else
		add_value(row, DirectFunctionCall1(namein, CStringGetDatum(name)));
}

/* NULL: it is none. */
static void
add_oid(GenieRow *row, Oid oid)
{
	if (OidIsValid(oid))
		add_value(row, ObjectIdGetDatum(oid));
	else
		add_null(row);
}

static void
add_time(GenieRow *row, TimestampTz when)
{
	if (when == 0)
		add_null(row);
	else
		add_value(row, TimestampTzGetDatum(when));
}

static void
add_fallbacks(GenieRow *row, const uint64 *fallbacks)
{
	for (int i = 0; i < lengthof(fallback_columns); i++)
	{
		uint64		n = 0;

		for (int why = fallback_columns[i].first; why <= fallback_columns[i].last; why++)
			n += fallbacks[why];
		add_count(row, n);
	}
}

/*
 * genie_stat_get(): the one row of the view genie_stat.  Times are in milliseconds, sizes in bytes.
 */
Datum
genie_stat_get(PG_FUNCTION_ARGS)
{
	GenieStatCounters counters;
	GenieWorkerReport report = {0};
	GenieDirectoryUsage usage = {0};
	const uint64 *count = counters.counters;
	GenieRow	row = {0};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	memset(&counters, 0, sizeof(counters));
	if (genie_stat_read(&counters, &report))
		genie_directory_usage(&usage);

	if (report.pid != 0)
		add_value(&row, Int32GetDatum(report.pid));
	else
		add_null(&row);
	add_text(&row, genie_arena_preloaded() ? worker_states[report.state] : "not preloaded");
	add_text(&row, report.engine);
	add_count(&row, count[GENIE_COUNTER_WORKER_STARTS]);
	add_count(&row, count[GENIE_COUNTER_REQUESTS]);
	add_count(&row, count[GENIE_COUNTER_QUERIES]);
	add_count(&row, count[GENIE_COUNTER_BATCHES]);
	if (count[GENIE_COUNTER_BATCHES] > 0)
		add_value(&row, Float8GetDatum((double) count[GENIE_COUNTER_BATCHED] / count[GENIE_COUNTER_BATCHES]));
	else
		add_null(&row);
	add_value(&row, Float8GetDatum(count[GENIE_COUNTER_WAIT_US] / US_PER_MS));
	add_value(&row, Float8GetDatum(count[GENIE_COUNTER_COUNT_US] / US_PER_MS));
	add_count(&row, count[GENIE_COUNTER_BY_GPU]);
	add_count(&row, count[GENIE_COUNTER_BY_WORKER_CPU]);
	add_count(&row, count[GENIE_COUNTER_BY_BACKEND]);
	add_fallbacks(&row, counters.fallbacks);
	add_count(&row, count[GENIE_COUNTER_DEVICE_RETRY]);
	add_count(&row, count[GENIE_COUNTER_DEVICE_FULL]);
	add_count(&row, count[GENIE_COUNTER_DEVICE_LOST]);
	add_count(&row, count[GENIE_COUNTER_BY_TILES]);
	add_count(&row, count[GENIE_COUNTER_BY_LANES]);
	add_count(&row, count[GENIE_COUNTER_BY_TENSOR]);
	add_count(&row, counters.batches.n_searches);
	add_count(&row, counters.batches.n_queries);
	add_count(&row, counters.batches.n_done);
	add_count(&row, usage.n_images);
	add_count(&row, usage.n_vectors);
	add_count(&row, usage.image_bytes);
	add_count(&row, usage.arena_bytes);
	add_count(&row, usage.n_loads);
	add_count(&row, usage.n_evictions);
	add_count(&row, usage.n_no_room);
	add_time(&row, counters.since);
	Assert(row.n <= GENIE_STAT_COLUMNS && row.n == desc->natts);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, row.values, row.nulls)));
}

/* genie_stat_reset(): the counters of genie_stat start at 0 again. */
Datum
genie_stat_reset_counters(PG_FUNCTION_ARGS)
{
	genie_stat_reset();
	PG_RETURN_VOID();
}

static void
put_row(ReturnSetInfo *result, GenieRow *row)
{
	Assert(row->n == result->setDesc->natts);
	tuplestore_putvalues(result->setResult, result->setDesc, row->values, row->nulls);
}

static void
put_costs(ReturnSetInfo *result, const char *engine, const GenieStatChoice *choice)
{
	GenieRow	row = {0};

	if (choice->constants[0] == '\0' && choice->reason[0] == '\0')
		return;
	add_text(&row, engine);
	add_text(&row, choice->reason);
	add_text(&row, choice->constants);
	put_row(result, &row);
}

/* genie_costs(): a row for each engine that has measured what counting costs. */
Datum
genie_costs(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	GenieStatCounters counters;
	GenieWorkerReport report = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (!genie_stat_read(&counters, &report))
		return (Datum) 0;
	put_costs(result, "cpu", &report.cpu_choice);
	put_costs(result, "gpu", &report.gpu_choice);
	return (Datum) 0;
}

/* The index of this database whose image it is; InvalidOid: there is none any more, or it is of another database. */
static Oid
index_of(const GenieImageKey *key)
{
	return key->database != MyDatabaseId ? InvalidOid : RelidByRelfilenumber(key->tablespace, key->storage);
}

/*
 * genie_images(): a row for each image that the directory knows, that is: which it has, loads, or could not load.
 */
Datum
genie_images(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	GenieImageInfo *images;
	uint32		n;

	InitMaterializedSRF(fcinfo, 0);
	if (!genie_arena_preloaded())
		return (Datum) 0;
	n = genie_directory_list(&images);
	for (uint32 i = 0; i < n; i++)
	{
		const GenieImageInfo *image = &images[i];
		const char *database = get_database_name(image->key.database);
		Oid			index = index_of(&image->key);
		GenieRow	row = {0};

		CHECK_FOR_INTERRUPTS();
		add_name(&row, database);
		add_oid(&row, index);
		add_oid(&row, image->key.database);
		add_oid(&row, image->key.tablespace);
		add_oid(&row, image->key.storage);
		add_count(&row, image->key.stamp);
		add_text(&row, image->key.graph != 0 ? "graph" : image->key.metric != 0 ? "vectors" : image_forms[image->form]);
		add_text(&row, image_states[image->state]);
		add_text(&row, image->why == GENIE_FALLBACK_NONE ? "" : genie_instrument_reason(image->why));
		add_count(&row, image->bytes);
		add_count(&row, image->device_bytes);
		add_time(&row, image->last_used);
		add_count(&row, image->n_loads);
		add_count(&row, image->n_hits);
		put_row(result, &row);
	}
	return (Datum) 0;
}

/*
 * genie_devices(): a row for each GPU that the worker counts on.  Where there is none, one row without a name says why.
 * Sizes are in bytes; share: of what all of them have of images.
 */
Datum
genie_devices(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	GenieStatCounters counters;
	GenieWorkerReport report = {0};
	bool		preloaded = genie_stat_read(&counters, &report);
	uint64		image_bytes = 0;

	InitMaterializedSRF(fcinfo, 0);
	for (uint32 i = 0; i < report.n_devices; i++)
		image_bytes += report.devices[i].image_bytes;
	for (uint32 i = 0; i < report.n_devices; i++)
	{
		const GenieDeviceInfo *device = &report.devices[i];
		GenieRow	row = {0};

		add_value(&row, Int32GetDatum((int32) device->device));
		add_text(&row, device->name);
		add_count(&row, device->memory_bytes);
		add_count(&row, device->limit_bytes);
		add_count(&row, device->image_bytes + device->scratch_bytes);
		add_count(&row, device->image_bytes);
		add_value(&row, Float8GetDatum(image_bytes == 0 ? 0 : (double) device->image_bytes / image_bytes));
		add_count(&row, device->uploaded_bytes);
		add_value(&row, Float8GetDatum(device->upload_us / US_PER_MS));
		add_count(&row, device->streamed_bytes);
		add_count(&row, device->n_evictions);
		add_count(&row, report.losses[device->device].n);
		add_text(&row, device->is_lost ? "lost" : "in use");
		add_text(&row, report.error);
		add_time(&row, report.error_at);
		put_row(result, &row);
	}
	if (report.n_devices == 0)
	{
		GenieRow	row = {0};

		while (row.n < GENIE_DEVICE_COLUMNS - 3)
			add_null(&row);
		add_text(&row, !preloaded ? "genie is not preloaded" :
				 report.state == GENIE_WORKER_DOWN ? "the worker is not running" : "no GPU in use");
		add_text(&row, report.error);
		add_time(&row, report.error_at);
		put_row(result, &row);
	}
	return (Datum) 0;
}

/*
 * genie_last_scan(): a row for each scan of the session's last statement that ran some.  Times are in milliseconds.
 */
Datum
genie_last_scan(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const dlist_head *records = genie_instrument_records();
	dlist_iter	iter;

	InitMaterializedSRF(fcinfo, 0);
	if (records == NULL)
		return (Datum) 0;
	dlist_foreach(iter, unconstify(dlist_head *, records))
	{
		const GenieScanRecord *record = dlist_container(GenieScanRecord, node, iter.cur);
		GenieRow	row = {0};

		add_oid(&row, record->index);
		add_text(&row, OidIsValid(record->index) ? genie_instrument_kind(record) : "others");
		add_count(&row, record->n_scans);
		add_count(&row, record->n_by_gpu);
		add_count(&row, record->n_by_worker_cpu);
		add_count(&row, record->n_by_backend);
		add_text(&row, genie_instrument_reasons(record));
		add_count(&row, record->n_segments);
		add_count(&row, record->n_pending);
		add_count(&row, record->n_rounds);
		add_count(&row, record->n_candidates);
		add_count(&row, record->n_visited);
		add_count(&row, record->n_rows);
		add_count(&row, record->n_by_graph);
		add_value(&row, Float8GetDatum(record->wait_us / US_PER_MS));
		add_value(&row, Float8GetDatum(record->count_us / US_PER_MS));
		put_row(result, &row);
	}
	return (Datum) 0;
}
