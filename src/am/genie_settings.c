/*
 * genie_settings.c
 *	  The settings genie.*: names, texts, defaults, limits and checks, as tables by type.
 *
 * The variables belong to the modules that use them and are declared in their headers.  Their initial values are the
 * defaults below, which PostgreSQL assigns when the settings are defined.
 *
 * Storage parameters of an index are in genie_options.c.
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "utils/guc.h"

#include "genie_arena.h"
#include "genie_autoprewarm.h"
#include "genie_candidates.h"
#include "genie_fault.h"
#include "genie_image_load.h"
#include "genie_loader.h"
#include "genie_options.h"
#include "genie_quantizer.h"
#include "genie_request.h"
#include "genie_rerank.h"
#include "genie_settings.h"
#include "genie_stat.h"
#include "genie_value_order.h"
#include "genie_worker_engines.h"

#define PENDING_LIMIT_DEFAULT 1024	/* kB: a scan counts this by brute force, about a millisecond */

/*
 * kB.  The default holds about 100 million postings.  Below the minimum there is hardly an image that fits; an
 * address in a DSA segment has 40 bits.
 */
#define SHARED_MEMORY_DEFAULT (256 * 1024)
#define SHARED_MEMORY_MIN 4096
#define SHARED_MEMORY_MAX (1024 * 1024 * 1024 - 1)

#define EPSILON_MAX 256.0		/* of more than the root of their number, dimensions allow for all errors */
#define MAX_BATCH_MAX 65536
#define CPU_THREADS_MAX 256
#define LOADERS_DEFAULT 2		/* of the 8 of max_worker_processes */
#define LOADERS_SETTING_MAX 32

typedef struct BoolSetting
{
	const char *name;
	GucContext	context;
	int			flags;
	const char *text;
	const char *more;
	bool	   *variable;
	bool		standard;
} BoolSetting;

typedef struct IntSetting
{
	const char *name;
	GucContext	context;
	int			flags;
	const char *text;
	const char *more;
	int		   *variable;
	int			standard;
	int			min;
	int			max;
	GucIntCheckHook check;
} IntSetting;

typedef struct RealSetting
{
	const char *name;
	GucContext	context;
	int			flags;
	const char *text;
	const char *more;
	double	   *variable;
	double		standard;
	double		min;
	double		max;
} RealSetting;

typedef struct EnumSetting
{
	const char *name;
	GucContext	context;
	int			flags;
	const char *text;
	const char *more;
	int		   *variable;
	int			standard;
	const struct config_enum_entry *options;
} EnumSetting;

typedef struct StringSetting
{
	const char *name;
	GucContext	context;
	int			flags;
	const char *text;
	const char *more;
	char	  **variable;
	const char *standard;
} StringSetting;

static bool check_shared_memory(int *value, void **extra, GucSource source);

static const BoolSetting bools[] = {
	{
		"genie.worker", PGC_USERSET, 0,
		"Lets index scans be counted by the background worker.",
		"Off: each session counts by itself, from the index's pages. The rows are the same.",
		&genie_request_enabled, true
	},
	{
		"genie.strict_order", PGC_USERSET, 0,
		"Scans by approximate operator classes give no row that is nearer than one that they have given.",
		"Where the index has quantized vectors, they leave no row out for that.",
		&genie_strict_order, false
	},
	{
		"genie.quantized_vectors", PGC_USERSET, 0,
		"Uses the quantized vectors of an index to look up fewer rows.",
		"Behind the first candidates, rows come in exact order by them.",
		&genie_quantized_vectors, true
	},
	{
		"genie.autoprewarm", PGC_SIGHUP, 0,
		"Loads images again, after a restart, that were in shared memory before.",
		"Loaders load them, the last used first, into the memory that is free.",
		&genie_autoprewarm, true
	}
};

static const IntSetting ints[] = {
	{
		"genie.pending_limit", PGC_USERSET, GUC_UNIT_KB,
		"Sets the maximum size of the pending list of a genie index.",
		"Rows beyond it are merged into the index by the insert that crosses it. "
		"The storage parameter pending_limit overrides it for an index.",
		&genie_pending_limit, PENDING_LIMIT_DEFAULT, GENIE_PENDING_LIMIT_MIN, MAX_KILOBYTES, NULL
	},
	{
		"genie.candidates", PGC_USERSET, 0,
		"Sets how many rows a scan by an approximate operator class looks up in the table first.",
		"They are those that match most, and come in the order of their distances.  "
		"The scan goes on with twice as many, and so on, when it is asked for more.  "
		"0: as many as the number of rows asks for.",
		&genie_candidates, 0, 0, GENIE_CANDIDATES_MAX, NULL
	},
	{
		"genie.shared_memory", PGC_POSTMASTER, GUC_UNIT_KB,
		"Sets the shared memory for images of genie indexes.",
		"0 keeps none and starts no worker: every query is counted by its own backend, from the index's pages.",
		&genie_shared_memory, SHARED_MEMORY_DEFAULT, 0, SHARED_MEMORY_MAX, check_shared_memory
	},
	{
		"genie.max_batch", PGC_SIGHUP, 0,
		"Sets the maximum number of queries that the background worker counts at once.",
		NULL,
		&genie_request_max_batch, 1024, 1, MAX_BATCH_MAX, NULL
	},
	{
		"genie.loaders", PGC_SIGHUP, 0,
		"Sets how many background workers load images at once.",
		"They count in max_worker_processes.  0: each session loads the images that its queries want, and waits.",
		&genie_loaders, LOADERS_DEFAULT, 0, LOADERS_SETTING_MAX, NULL
	},
	{
		"genie.cpu_threads", PGC_SIGHUP, 0,
		"Sets the number of threads that the background worker counts with on the CPU.",
		"0: as many as there are processors, but no more than 16.",
		&genie_worker_cpu_threads, 0, 0, CPU_THREADS_MAX, NULL
	},
	{
		"genie.graph_queue", PGC_USERSET, 0,
		"Sets how long the queue of a search in a proximity graph is.",
		"The longer, the more of the nearest rows are found. 0: as genie.graph_recall wants.",
		&genie_graph_queue, 0, 0, GENIE_PROXIMITY_QUEUE_MAX, NULL
	},
	{
		"genie.gpu_devices", PGC_SIGHUP, 0,
		"Sets how many GPUs genie uses at most.",
		"0: all. CUDA_VISIBLE_DEVICES, in the server's environment, tells which ones.",
		&genie_worker_gpu_devices, 0, 0, GENIE_DEVICES_MAX, NULL
	},
	{
		"genie.gpu_memory", PGC_SIGHUP, GUC_UNIT_KB,
		"Sets the maximum amount of each GPU's memory that genie uses.",
		"0: most of what is free when the background worker starts.",
		&genie_worker_gpu_memory, 0, 0, INT_MAX, NULL
	},
#ifdef GENIE_FAULTS
	{
		"genie.fault_skip", PGC_SUSET, GUC_NOT_IN_SAMPLE,
		"How often to pass the point before (tests only).",
		NULL,
		&genie_fault_skip, 0, 0, INT_MAX, NULL
	},
#endif
};

static const struct config_enum_entry engine_options[] = {
	{"auto", GENIE_ENGINE_AUTO, false},
	{"cpu", GENIE_ENGINE_CPU, false},
	{"cuda", GENIE_ENGINE_CUDA, false},
	{NULL, 0, false}
};

static const struct config_enum_entry kernels_options[] = {
	{"auto", GENIE_KERNELS_AUTO, false},
	{"tiles", GENIE_KERNELS_TILES, false},
	{"lanes", GENIE_KERNELS_LANES, false},
	{NULL, 0, false}
};

static const struct config_enum_entry image_options[] = {
	{"auto", GENIE_IMAGE_SETTING_AUTO, false},
	{"full", GENIE_IMAGE_SETTING_FULL, false},
	{"small", GENIE_IMAGE_SETTING_SMALL, false},
	{NULL, 0, false}
};

static const RealSetting reals[] = {
	{
		"genie.rabitq_epsilon", PGC_USERSET, 0,
		"Sets how many errors of vectors with a bit a dimension their bounds allow for.",
		"The more, the fewer of the nearest rows are missed, and the more rows are looked up.",
		&genie_rabitq_epsilon, GENIE_RABITQ_EPSILON, 0, EPSILON_MAX
	},
	{
		"genie.graph_recall", PGC_USERSET, 0,
		"Sets the share of the nearest rows that a search in a proximity graph shall find.",
		"By what was measured when the graph was built.",
		&genie_graph_recall, GENIE_GRAPH_RECALL, 0, 1
	}
};

static const EnumSetting enums[] = {
	{
		"genie.engine", PGC_SIGHUP, 0,
		"Selects what the background worker counts with.",
		"auto: the GPU if there is a usable one, else the CPU.",
		&genie_worker_engine, GENIE_ENGINE_AUTO, engine_options
	},
	{
		"genie.kernels", PGC_SIGHUP, 0,
		"Selects how the background worker counts.",
		"tiles: by posting lists; lanes: all queries at once, where the index allows it; "
		"auto: what the worker expects to be faster.",
		&genie_worker_kernels, GENIE_KERNELS_AUTO, kernels_options
	},
	{
		"genie.image", PGC_SIGHUP, 0,
		"Selects what images in shared memory consist of, from the next one on.",
		"full: posting lists, and codes where rows have one value a dimension; "
		"small: codes alone where that is possible; auto: full as long as there is free memory for it.",
		&genie_image_setting, GENIE_IMAGE_SETTING_AUTO, image_options
	}
};

static const StringSetting strings[] = {
	{
		"genie.gpu_library", PGC_SIGHUP, GUC_SUPERUSER_ONLY,
		"Names the library that holds the GPU engine.",
		NULL,
		&genie_worker_gpu_library, "$libdir/genie_cuda"
	},
#ifdef GENIE_FAULTS
	{
		"genie.fault_point", PGC_SUSET, GUC_NOT_IN_SAMPLE,
		"Names the point at which to fail (tests only).",
		NULL,
		&genie_fault_point, ""
	},
	{
		"genie.fault_action", PGC_SUSET, GUC_NOT_IN_SAMPLE,
		"How to fail: crash, error, wait or slow (tests only).",
		NULL,
		&genie_fault_action, "error"
	},
#endif
};

static bool
check_shared_memory(int *value, void **extra, GucSource source)
{
	if (*value == 0 || *value >= SHARED_MEMORY_MIN)
		return true;
	GUC_check_errdetail("It must be 0, or at least %d kB.", SHARED_MEMORY_MIN);
	return false;
}

/*
 * A setting of the server's start has no effect without preload.  It may stand in postgresql.conf even so, without a
 * warning from each session that loads the library.
 */
static GucContext
context_of(GucContext context)
{
	return context == PGC_POSTMASTER && !process_shared_preload_libraries_in_progress ? PGC_SIGHUP : context;
}

void
genie_settings_define(void)
{
	for (int i = 0; i < lengthof(bools); i++)
		DefineCustomBoolVariable(bools[i].name, bools[i].text, bools[i].more, bools[i].variable, bools[i].standard,
								 context_of(bools[i].context), bools[i].flags, NULL, NULL, NULL);
	for (int i = 0; i < lengthof(ints); i++)
		DefineCustomIntVariable(ints[i].name, ints[i].text, ints[i].more, ints[i].variable, ints[i].standard,
								ints[i].min, ints[i].max, context_of(ints[i].context), ints[i].flags,
								ints[i].check, NULL, NULL);
	for (int i = 0; i < lengthof(reals); i++)
		DefineCustomRealVariable(reals[i].name, reals[i].text, reals[i].more, reals[i].variable, reals[i].standard,
								 reals[i].min, reals[i].max, context_of(reals[i].context), reals[i].flags,
								 NULL, NULL, NULL);
	for (int i = 0; i < lengthof(enums); i++)
		DefineCustomEnumVariable(enums[i].name, enums[i].text, enums[i].more, enums[i].variable, enums[i].standard,
								 enums[i].options, context_of(enums[i].context), enums[i].flags, NULL, NULL, NULL);
	for (int i = 0; i < lengthof(strings); i++)
		DefineCustomStringVariable(strings[i].name, strings[i].text, strings[i].more, strings[i].variable,
								   strings[i].standard, context_of(strings[i].context), strings[i].flags,
								   NULL, NULL, NULL);
	MarkGUCPrefixReserved("genie");
}
