/*
 * genie_options.c
 *	  Storage parameters of a genie index (genie_options.h).
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/reloptions.h"
#include "fmgr.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "genie_options.h"
#include "genie_proximity.h"

typedef struct GenieOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			pending_limit;	/* kB; -1, which cannot be given: genie.pending_limit */
	bool		values;
	int			graph;			/* edges of an object; 0: none; -1, which cannot be given: the class says */
} GenieOptions;

int			genie_pending_limit;

static relopt_kind genie_relopt_kind;

void
genie_options_init(void)
{
	genie_relopt_kind = add_reloption_kind();
	add_int_reloption(genie_relopt_kind, "pending_limit",
					  "Maximum size of the pending list, in kilobytes.",
					  -1, GENIE_PENDING_LIMIT_MIN, MAX_KILOBYTES, AccessExclusiveLock);
	add_bool_reloption(genie_relopt_kind, "values",
					   "Keeps quantized vectors in an index of an approximate operator class.", true,
					   AccessExclusiveLock);
	add_int_reloption(genie_relopt_kind, "graph",
					  "Edges of a row in the proximity graph that an approximate operator class searches; 0: none.",
					  -1, 0, GENIE_PROXIMITY_DEGREE_MAX, ShareUpdateExclusiveLock);
}

bytea *
genie_reloptions(Datum options, bool validate)
{
	static const relopt_parse_elt table[] = {
		{.optname = "pending_limit", .opttype = RELOPT_TYPE_INT, .offset = offsetof(GenieOptions, pending_limit)},
		{.optname = "values", .opttype = RELOPT_TYPE_BOOL, .offset = offsetof(GenieOptions, values)},
		{.optname = "graph", .opttype = RELOPT_TYPE_INT, .offset = offsetof(GenieOptions, graph)}
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

bool
genie_values_of(Relation index)
{
	const GenieOptions *options = (const GenieOptions *) index->rd_options;

	return options == NULL || options->values;
}

bool
genie_is_by_graph(Relation index)
{
	return OidIsValid(index_getprocid(index, 1, GENIE_GRAPH_PROC));
}

uint32
genie_graph_of(Relation index)
{
	const GenieOptions *options = (const GenieOptions *) index->rd_options;
	int			degree = options == NULL ? -1 : options->graph;

	if (degree < 0)
		degree = genie_is_by_graph(index) ?
			DatumGetInt32(FunctionCall0Coll(index_getprocinfo(index, 1, GENIE_GRAPH_PROC), InvalidOid)) : 0;
	return degree <= 0 ? 0 : (uint32) Min(Max(degree, GENIE_PROXIMITY_DEGREE_MIN), GENIE_PROXIMITY_DEGREE_MAX);
}
