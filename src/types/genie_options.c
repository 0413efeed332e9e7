/*
 * genie_options.c
 *	  Settings and storage parameters.
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "access/reloptions.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "genie_fault.h"
#include "genie_meta.h"
#include "genie_options.h"
#include "genie_shmem.h"
#include "genie_worker.h"

typedef struct GenieOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			pending_limit;	/* kB; -1, which cannot be given: genie.pending_limit */
} GenieOptions;

int			genie_pending_limit = GENIE_PENDING_LIMIT_DEFAULT;
int			genie_candidates = 0;
bool		genie_strict_order = false;
bool		genie_quantized_vectors = true;

/* candidates of an index of no more than so many rows; beyond, with the root of their number */
#define GENIE_CANDIDATES_LEAST 200
#define GENIE_CANDIDATES_ROWS 300000

static relopt_kind genie_relopt_kind;

void
genie_options_init(void)
{
	genie_relopt_kind = add_reloption_kind();
	add_int_reloption(genie_relopt_kind, "pending_limit",
					  "Maximum size of the pending list, in kilobytes.",
					  -1, GENIE_PENDING_LIMIT_MIN, MAX_KILOBYTES, AccessExclusiveLock);

	DefineCustomIntVariable("genie.pending_limit",
							"Sets the maximum size of the pending list of a genie index.",
							"Rows beyond it are merged into the index by the insert that crosses it. "
							"The storage parameter pending_limit overrides it for an index.",
							&genie_pending_limit,
							GENIE_PENDING_LIMIT_DEFAULT, GENIE_PENDING_LIMIT_MIN, MAX_KILOBYTES,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("genie.candidates",
							"Sets how many rows a scan by an approximate operator class looks up in the table first.",
							"They are those that match most, and come in the order of their distances.  "
							"The scan goes on with twice as many, and so on, when it is asked for more.  "
							"0: as many as the number of rows asks for.",
							&genie_candidates,
							0, 0, GENIE_CANDIDATES_MAX,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("genie.strict_order",
							 "Leaves out rows that a scan by an approximate operator class finds too late.",
							 "Those are nearer than a row that it has given already.",
							 &genie_strict_order, false, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("genie.quantized_vectors",
							 "Keeps vectors in shared memory, a byte a dimension, to look up fewer rows.",
							 "The rows that are found are the same.",
							 &genie_quantized_vectors, true, PGC_USERSET, 0, NULL, NULL, NULL);
#ifdef GENIE_FAULTS
	DefineCustomStringVariable("genie.fault_point", "Names the point at which to fail (tests only).",
							   NULL, &genie_fault_point, "", PGC_SUSET, GUC_NOT_IN_SAMPLE,
							   NULL, NULL, NULL);
	DefineCustomStringVariable("genie.fault_action", "How to fail: crash, error or wait (tests only).",
							   NULL, &genie_fault_action, "error", PGC_SUSET, GUC_NOT_IN_SAMPLE,
							   NULL, NULL, NULL);
	DefineCustomIntVariable("genie.fault_skip", "How often to pass the point before (tests only).",
							NULL, &genie_fault_skip, 0, 0, INT_MAX, PGC_SUSET, GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
#endif
	genie_shmem_init();
	genie_worker_settings();
	MarkGUCPrefixReserved("genie");
}

bytea *
genie_reloptions(Datum options, bool validate)
{
	static const relopt_parse_elt table[] = {
		{"pending_limit", RELOPT_TYPE_INT, offsetof(GenieOptions, pending_limit)}
	};

	return build_reloptions(options, validate, genie_relopt_kind, sizeof(GenieOptions), table,
							lengthof(table));
}

int
genie_pending_limit_of(Relation index)
{
	const GenieOptions *options = (const GenieOptions *) index->rd_options;

	return options != NULL && options->pending_limit != -1 ? options->pending_limit :
		genie_pending_limit;
}

/*
 * So many find 96 % of the 10 nearest rows of 100,000 SIFT descriptors, and of 300,000, 2,000,000 and 4,500,000 like
 * them (test/bench/RESULTS.md): the more rows there are, the more lie about as near as the nearest ones.
 */
uint32
genie_candidates_for(double n_rows)
{
	double		n = GENIE_CANDIDATES_LEAST * sqrt(Max(n_rows / GENIE_CANDIDATES_ROWS, 1));

	return genie_candidates > 0 ? (uint32) genie_candidates : (uint32) Min(n, GENIE_CANDIDATES_MAX);
}

uint32
genie_candidates_of(Relation index)
{
	GenieMetaData *meta;
	double		n_rows = 0;

	if (genie_candidates > 0)
		return (uint32) genie_candidates;
	meta = genie_meta_read(index);
	for (uint32 i = 0; i < meta->n_segments; i++)
		n_rows += meta->segments[i].n_objects - meta->segments[i].n_dead;
	pfree(meta);
	return genie_candidates_for(n_rows);
}
