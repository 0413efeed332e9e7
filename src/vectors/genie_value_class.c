/*
 * genie_value_class.c
 *	  The operator classes of vectors and bit strings that have values alone (genie_opclass.h): what they learn.
 *
 *		genie_l2_exact_ops, genie_l2_exact_float8_ops			real[], float8[]	<->
 *		genie_l1_exact_ops, genie_l1_exact_float8_ops			real[], float8[]	<+>
 *		genie_cosine_exact_ops, genie_cosine_exact_float8_ops	real[], float8[]	<=>
 *		genie_ip_exact_ops, genie_ip_exact_float8_ops			real[], float8[]	<#>
 *
 * those of pgvector's type (genie_pgvector.c), and genie_hamming_exact_ops (genie_exact_bits.c).  Approximate ones that
 * work in the same way, but by values with a bit a dimension, whose bounds hold for most rows (values/genie_rabitq.h):
 *
 *		genie_l2_rabitq_ops, genie_l2_rabitq_float8_ops			real[], float8[]	<->
 *		genie_cosine_rabitq_ops, genie_cosine_rabitq_float8_ops	real[], float8[]	<=>
 *		genie_ip_rabitq_ops, genie_ip_rabitq_float8_ops			real[], float8[]	<#>
 *
 * And those that are approximate by graphs of values alone (values/genie_proximity.h), with genie_graph_edges():
 *
 *		genie_ip_ops, genie_ip_float8_ops						real[], float8[]	<#>
 *
 * and genie_halfvec_l2_ops and others (genie_pgvector.c).  Where there are no graphs, or not yet, they are exact.  They
 * have no signatures.  Hash functions for inner products are known (Neyshabur and Srebro, "On symmetric and asymmetric
 * LSHs for inner product search", ICML 2015), but graphs need none.
 *
 * A row has no keywords.  Its value (genie_vector_value.c) is all that the index has of it.  Lower bounds of its
 * distance follow from that (values/genie_value_scan.h).  A scan visits rows in the order of their bounds until no row
 * that is left can be nearer, so it gives the rows of a sequential scan, in their order.
 *
 * Values and queries are taken as those of the approximate classes are (genie_lsh_class.c).  Rows wait raw in the
 * pending list, too.  All that such an index learns is how long its vectors are,
 * and where (genie_vector_learn.c).
 */
#include "postgres.h"

#include "genie_lsh_class.h"
#include "genie_opclass.h"
#include "genie_vector_learn.h"
#include "genie_vector_value.h"

PG_FUNCTION_INFO_V1(genie_exact_l2_train);
PG_FUNCTION_INFO_V1(genie_exact_l1_train);
PG_FUNCTION_INFO_V1(genie_exact_cosine_train);
PG_FUNCTION_INFO_V1(genie_exact_ip_train);
PG_FUNCTION_INFO_V1(genie_exact_hamming_train);
PG_FUNCTION_INFO_V1(genie_rabitq_l2_train);
PG_FUNCTION_INFO_V1(genie_rabitq_cosine_train);
PG_FUNCTION_INFO_V1(genie_rabitq_ip_train);
PG_FUNCTION_INFO_V1(genie_graph_edges);

#define EDGES 32				/* of a row; what an index's parameter graph changes */

static bytea *
learn(FunctionCallInfo fcinfo, GenieMetric metric)
{
	const GenieSample *sample = (const GenieSample *) PG_GETARG_POINTER(0);
	GenieLshClassParameters parameters = {0};

	parameters.functions.family = GENIE_LSH_NONE;
	parameters.functions.n_dimensions = (uint32) sample->objects[0].size;
	parameters.functions.width = metric;
	return genie_vector_learn(&parameters, metric, sample);
}

bool
genie_rabitq_index(Relation index)
{
	PGFunction	train;

	if (!OidIsValid(index_getprocid(index, 1, GENIE_TRAIN_PROC)))
		return false;
	train = index_getprocinfo(index, 1, GENIE_TRAIN_PROC)->fn_addr;
	return train == genie_rabitq_l2_train || train == genie_rabitq_cosine_train || train == genie_rabitq_ip_train;
}

/* Support functions 5. */
Datum
genie_exact_l2_train(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(learn(fcinfo, GENIE_METRIC_L2));
}

Datum
genie_exact_l1_train(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(learn(fcinfo, GENIE_METRIC_L1));
}

Datum
genie_exact_cosine_train(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(learn(fcinfo, GENIE_METRIC_COSINE));
}

Datum
genie_exact_ip_train(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(learn(fcinfo, GENIE_METRIC_INNER));
}

Datum
genie_exact_hamming_train(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(learn(fcinfo, GENIE_METRIC_HAMMING));
}

Datum
genie_rabitq_l2_train(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(learn(fcinfo, GENIE_METRIC_L2_RABITQ));
}

Datum
genie_rabitq_cosine_train(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(learn(fcinfo, GENIE_METRIC_COSINE_RABITQ));
}

Datum
genie_rabitq_ip_train(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(learn(fcinfo, GENIE_METRIC_INNER_RABITQ));
}

/* Support function 10. */
Datum
genie_graph_edges(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(EDGES);
}
