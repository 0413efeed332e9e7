/*
 * genie_worker_engines.c
 *	  The worker's engines (genie_worker_engines.h).
 *
 * After LOSSES_MAX losses in a row, each within LOSS_WINDOW_MS of the one before, a GPU is left alone until settings
 * are reloaded.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "genie_arena.h"
#include "genie_cpu_plan.h"
#include "genie_engine_cpu.h"
#include "genie_engine_load.h"
#include "genie_worker_engines.h"

#define CPU_THREADS_AUTO 16		/* more gain little: they share the memory's bandwidth */
#define LOSSES_MAX 3
#define LOSS_WINDOW_MS (60 * 1000)
/*
 * Pinning takes 0.4 s a GB, in which the worker does nothing else, not even stop.  Of larger arenas only the requests'
 * part is pinned at once, and the images' part in steps, each when the worker has had nothing to do for a while, or too
 * much for too long.
 */
#define PINNED_BYTES_MAX (UINT64CONST(8) << 30)
#define OTHERS_PART 8			/* one so many-th of the devices' room is not for images that are there alone */
#define REOPEN_MS (60 * 1000)	/* a device that was full, or failed to open, is tried again after this */
#define SAME_ERROR_MS (60 * 1000)	/* the same error is logged again after this */

int			genie_worker_engine;
int			genie_worker_kernels;
int			genie_worker_cpu_threads;
int			genie_worker_gpu_devices;
int			genie_worker_gpu_memory;
char	   *genie_worker_gpu_library;

/* One a process. */
typedef struct GenieWorkerEngines
{
	bool		(*interrupted) (void);
	GenieEngine *cpu;
	GenieRival	rival;			/* the same, as the GPU engine sees it */
	GenieEngine *side;			/* another one, of one thread */
	GenieEngine *gpu;			/* NULL: none */
	char		library[MAXPGPATH]; /* that gpu was opened from, */
	int			max_devices;	/* and on how many devices at most */
	uint32		n_devices;
	uint64		device_room;	/* for images that are there alone, as the directory knows it */
	uint32		lost;			/* devices, a bit each, that the others do without, until a new process opens them */
	char	   *to_pin;			/* what is left of the images' memory to be pinned; NULL: nothing */
	Size		to_pin_bytes;
	bool		reopen;			/* try again at reopen_at */
	bool		reopen_anew;	/* in a new process, because the device was lost while it was opened */
	TimestampTz reopen_at;
	TimestampTz logged_at;
	char		logged[GENIE_ENGINE_ERROR_MAX];
	uint64		generation;		/* of the directory, when given was last looked through */
	GenieImageRef *given;		/* images and quantized vectors that the GPU engine may have copies of */
	uint32		n_given;
	uint32		given_capacity;
} GenieWorkerEngines;

static GenieWorkerEngines own;

static void
set_cpu_threads(void)
{
	long		n = genie_worker_cpu_threads;

	if (n == 0)
		n = Min(Max(sysconf(_SC_NPROCESSORS_ONLN), 1), CPU_THREADS_AUTO);
	own.rival.n_threads = genie_cpu_engine_threads(own.cpu, (uint32) n);
	own.rival.takes_little = genie_worker_engine == GENIE_ENGINE_AUTO;
}

/* Tells the engine how to count, and reports the costs that it measured. */
static void
set_kernels(GenieEngine *engine)
{
	engine->ops->set_kernels(engine, (GenieKernelChoice) genie_worker_kernels);
	genie_stat_choices(engine != own.cpu, &engine->choices, &engine->choices);
}

static GenieEngine *
open_cpu(void)
{
	char	   *memory = MemoryContextAllocHuge(TopMemoryContext, genie_cpu_engine_size() + 64);
	GenieEngine *engine = genie_cpu_engine_open((void *) TYPEALIGN(64, memory));

	engine->interrupted = own.interrupted;
	return engine;
}

/* The CPU engines count as the settings say, and the one on the side knows what the other one has measured. */
static void
set_cpu(void)
{
	set_cpu_threads();
	set_kernels(own.cpu);
	*genie_cpu_engine_policy(own.side) = *genie_cpu_engine_policy(own.cpu);
	own.side->choices = own.cpu->choices;
}

void
genie_worker_log_gpu_error(const char *error)
{
	genie_stat_error(error);
	if (strcmp(own.logged, error) == 0 &&
		!TimestampDifferenceExceeds(own.logged_at, GetCurrentTimestamp(), SAME_ERROR_MS))
		return;
	strlcpy(own.logged, error, sizeof(own.logged));
	own.logged_at = GetCurrentTimestamp();
	ereport(LOG,
			(errmsg("the GPU could not do what was asked: %s", error),
			 errdetail("The CPU does it instead.")));
}

/* Says what room there is for images on devices alone. */
static void
set_device_room(uint64 bytes)
{
	if (bytes != own.device_room)
		genie_directory_set_device_room(bytes);
	own.device_room = bytes;
}

/* Reports which devices the GPU engine has. */
static void
report_into(GenieDeviceInfo *devices)
{
	uint64		room = 0;

	own.n_devices = own.gpu->ops->devices(own.gpu, devices, GENIE_DEVICES_MAX);
	genie_stat_devices(devices, own.n_devices);
	for (uint32 i = 0; i < own.n_devices; i++)
		if (!devices[i].is_lost)
			room += Min(devices[i].image_limit_bytes, devices[i].memory_bytes) + devices[i].staying_bytes;
	set_device_room(room - room / OTHERS_PART);
}

void
genie_worker_report_devices(void)
{
	GenieDeviceInfo devices[GENIE_DEVICES_MAX];

	if (own.gpu != NULL)
		report_into(devices);
}

/* The devices that are not opened because they were lost too often, a bit each. */
static uint32
left_alone(const GenieWorkerReport *report)
{
	uint32		devices = 0;

	for (uint32 device = 0; device < GENIE_DEVICES_MAX; device++)
		if (report->losses[device].n_in_row >= LOSSES_MAX)
		{
			devices |= UINT32_C(1) << device;
			ereport(LOG,
					(errmsg("genie leaves GPU %u alone after %u losses in a row", device,
							report->losses[device].n_in_row),
					 errhint("Reload the settings, with SELECT pg_reload_conf(), to try it again.")));
		}
	return devices;
}

static void
open_gpu(void)
{
	GenieEngineOptions options = {0};
	GenieWorkerReport report;
	GenieStatCounters counters;
	char		error[GENIE_ENGINE_ERROR_MAX] = "";
	GenieStatus status;

	own.reopen = false;
	if (genie_worker_engine == GENIE_ENGINE_CPU)
		return;
	genie_stat_read(&counters, &report);
	strlcpy(own.library, genie_worker_gpu_library, sizeof(own.library));
	own.max_devices = genie_worker_gpu_devices;
	options.memory_limit = (uint64) genie_worker_gpu_memory * 1024;
	genie_arena_block(&options.arena, &options.arena_bytes);
	own.to_pin = NULL;
	if (options.arena_bytes > PINNED_BYTES_MAX)
	{
		own.to_pin = options.arena;
		own.to_pin_bytes = genie_arena_image_bytes();
		genie_arena_request_block(&options.arena, &options.arena_bytes);
	}
	status = genie_engine_load(genie_worker_gpu_library, &options, &own.rival, (uint32) own.max_devices,
							   left_alone(&report), &own.gpu, error);
	if (status == GENIE_OK)
	{
		GenieDeviceInfo devices[GENIE_DEVICES_MAX];

		report_into(devices);
		own.gpu->interrupted = own.interrupted;
		set_kernels(own.gpu);
		ereport(LOG,
				(own.n_devices == 1 ? errmsg("genie counts on the GPU: %s", devices[0].name) :
				 errmsg("genie counts on %u GPUs: %s", own.n_devices, devices[0].name)));
		if (error[0] == '\0')
			return;
		genie_stat_error(error);
		ereport(LOG,
				(errmsg("a GPU is not used: %s", error)));
		return;
	}
	genie_stat_error(error);
	own.reopen = status != GENIE_STATUS_UNAVAILABLE;
	own.reopen_anew = status == GENIE_STATUS_LOST;
	own.reopen_at = GetCurrentTimestamp();
	ereport(genie_worker_engine == GENIE_ENGINE_CUDA ? WARNING : LOG,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("genie counts on the CPU: %s", error)));
}

void
genie_worker_pin_more(void)
{
	Size		n = GENIE_ENGINE_PIN_STEP - (uintptr_t) own.to_pin % GENIE_ENGINE_PIN_STEP;

	n = Min(n, own.to_pin_bytes);
	if (!own.gpu->ops->pin(own.gpu, own.to_pin, n))
	{
		ereport(LOG,
				(errmsg("could not pin all of genie's shared memory for the GPU"),
				 errdetail("Images are copied to the GPU more slowly from the rest of it.")));
		n = own.to_pin_bytes;
	}
	own.to_pin += n;
	own.to_pin_bytes -= n;
	if (own.to_pin_bytes == 0)
		own.to_pin = NULL;
}

static void
close_gpu(void)
{
	if (own.gpu != NULL)
		own.gpu->ops->close(own.gpu);
	own.gpu = NULL;
	own.to_pin = NULL;
	own.n_given = 0;
	own.lost = 0;
	genie_stat_devices(NULL, 0);
	set_device_room(0);
}

void
genie_worker_report_state(GenieWorkerState state)
{
	genie_stat_worker(state, own.gpu != NULL ? own.gpu->ops->name : own.cpu->ops->name);
}

void
genie_worker_reload(void)
{
	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
	genie_stat_forget_losses();
	set_cpu();
	if (own.gpu != NULL && genie_worker_engine != GENIE_ENGINE_CPU &&
		strcmp(own.library, genie_worker_gpu_library) == 0 && own.max_devices == genie_worker_gpu_devices)
	{
		own.gpu->ops->set_memory_limit(own.gpu, (uint64) genie_worker_gpu_memory * 1024);
		set_kernels(own.gpu);
		genie_worker_report_devices();
	}
	else
	{
		close_gpu();
		open_gpu();
	}
	genie_worker_report_state(GENIE_WORKER_IDLE);
}

void
genie_worker_forget_dropped(void)
{
	uint64		generation = genie_directory_generation();
	uint32		n = 0;

	if (generation == own.generation)
		return;
	own.generation = generation;
	for (uint32 i = 0; i < own.n_given; i++)
	{
		if (genie_directory_has(&own.given[i]))
			own.given[n++] = own.given[i];
		else
			own.gpu->ops->forget(own.gpu, own.given[i].id);
	}
	own.n_given = n;
}

void
genie_worker_note_given(const GenieImageRef *ref)
{
	if (own.gpu == NULL)
		return;
	for (uint32 i = 0; i < own.n_given; i++)
		if (own.given[i].id == ref->id)
			return;
	if (own.n_given == own.given_capacity)
	{
		own.given_capacity = own.given_capacity * 2 + 16;
		own.given = own.given == NULL ?
			MemoryContextAlloc(TopMemoryContext, own.given_capacity * sizeof(GenieImageRef)) :
			repalloc(own.given, own.given_capacity * sizeof(GenieImageRef));
	}
	own.given[own.n_given++] = *ref;
}

bool
genie_worker_note_losses(bool all)
{
	GenieDeviceInfo devices[GENIE_DEVICES_MAX];
	bool		any = false;

	report_into(devices);
	for (uint32 i = 0; i < own.n_devices; i++)
	{
		uint32		bit = UINT32_C(1) << devices[i].device;

		if ((!all && !devices[i].is_lost) || (own.lost & bit) != 0)
			continue;
		own.lost |= bit;
		genie_stat_lost(devices[i].device, LOSS_WINDOW_MS);
		any = true;
	}
	return any;
}

void
genie_worker_look_for_losses(void)
{
	if (own.n_devices < 2 || !genie_worker_note_losses(false))
		return;
	genie_stat_add(GENIE_COUNTER_DEVICE_LOST, 1);
	genie_stat_error(own.gpu->error);
	ereport(LOG,
			(errmsg("a GPU was lost: %s", own.gpu->error),
			 errdetail("The other GPUs do its work; the background worker restarts when it has nothing to do.")));
}

/* ---- for the worker ---- */

void
genie_worker_engines_open(bool (*interrupted) (void))
{
	own.interrupted = interrupted;
	own.cpu = open_cpu();
	own.side = open_cpu();
	set_cpu();
	open_gpu();
}

void
genie_worker_measure_cpu(void)
{
	genie_cpu_engine_measure(own.cpu);
	own.rival.costs = genie_cpu_engine_policy(own.cpu)->costs;
	set_cpu();
}

void
genie_worker_reopen_gpu(void)
{
	if (!own.reopen || !TimestampDifferenceExceeds(own.reopen_at, GetCurrentTimestamp(), REOPEN_MS))
		return;
	if (own.reopen_anew)
		proc_exit(1);
	open_gpu();
	genie_worker_report_state(GENIE_WORKER_IDLE);
}

bool
genie_worker_is_to_pin(void)
{
	return own.gpu != NULL && own.to_pin != NULL;
}

bool
genie_worker_has_lost(void)
{
	return own.lost != 0;
}

GenieEngine *
genie_worker_cpu(void)
{
	return own.cpu;
}

GenieEngine *
genie_worker_side(void)
{
	return own.side;
}

GenieEngine *
genie_worker_gpu(void)
{
	return own.gpu;
}

GenieRival *
genie_worker_rival(void)
{
	return &own.rival;
}
