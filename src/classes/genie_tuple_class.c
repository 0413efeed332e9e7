/*
 * genie_tuple_class.c
 *	  The operator class genie_tuple_ops: tuples whose attributes have many values, by bins (types/genie_bins.h).
 *
 * The class is coarse (types/genie_opclass.h): the index keeps bins, scans find what may match, and the operators judge
 * the rows.  An object has one keyword of a dimension at most, because counting bins would count two values of one bin
 * as one.  Beside its bins the index keeps where in them its values lie (types/genie_scalars.h).
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "genie_bins.h"
#include "genie_object.h"
#include "genie_query.h"
#include "genie_scalars.h"
#include "genie_tuple_class.h"
#include "genie_vector.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(genie_tuple_decompose);
PG_FUNCTION_INFO_V1(genie_tuple_compile);
PG_FUNCTION_INFO_V1(genie_tuple_options);
PG_FUNCTION_INFO_V1(genie_tuple_train);
PG_FUNCTION_INFO_V1(genie_tuple_sign);
PG_FUNCTION_INFO_V1(genie_tuple_value);

typedef struct TupleOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			bins;
} TupleOptions;

/* Refuses an object that has the key's dimension already, or a value without an order. */
static void
check_key(GenieKey key, const uint32 *last)
{
	uint32		dimension;
	GenieFamily family;
	GenieKey	value;

	genie_key_split(key, &dimension, &family, &value);
	if (last != NULL && dimension == *last)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("operator class genie_tuple_ops does not take several values of one dimension"),
				 errdetail("Dimension %u has two in this object.", dimension),
				 errhint("Index it by the operator class genie_object_ops.")));
	if (family == GENIE_FAMILY_HASH)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("operator class genie_tuple_ops does not take values without an order"),
				 errdetail("The type of dimension %u can be told to be equal only.", dimension),
				 errhint("Cast it to text, or index it by the operator class genie_object_ops.")));
}

/* Adds each key's bin; parameters NULL: the key. */
static void
add_bins(const uint8 *at, uint32 n, const bytea *parameters, GenieKeywords *keywords)
{
	for (uint32 i = 0; i < n; i++)
	{
		GenieKey	key = genie_packed_next(&at);

		genie_keywords_add(keywords, parameters == NULL ? key : genie_bins_place(parameters, key));
	}
}

/* support function 1 (genie_opclass.h) */
Datum
genie_tuple_decompose(PG_FUNCTION_ARGS)
{
	struct varlena *object = PG_GETARG_VARLENA_PP(0);
	GenieKeywords *keywords = (GenieKeywords *) PG_GETARG_POINTER(1);
	uint32		n;
	Size		nbytes;
	const uint8 *first = genie_object_keys(object, &n, &nbytes);
	const uint8 *at = first;
	uint32		last = 0;

	for (uint32 i = 0; i < n; i++)
	{
		GenieKey	key = genie_packed_next(&at);

		check_key(key, i > 0 ? &last : NULL);
		genie_key_get_dimension(key.data, key.len, &last);
	}
	add_bins(first, n, keywords->parameters, keywords);
	PG_FREE_IF_COPY(object, 0);
	PG_RETURN_VOID();
}

bool
genie_tuple_class_of(Relation index)
{
	return index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC)->fn_addr == genie_tuple_decompose;
}

/* support function 2: the right operand is a genie_query or a genie_object */
Datum
genie_tuple_compile(PG_FUNCTION_ARGS)
{
	Datum		operand = PG_GETARG_DATUM(0);
	const bytea *parameters = (const bytea *) PG_GETARG_POINTER(3);
	GenieQuery *query;

	if (PG_GETARG_OID(2) == get_func_rettype(fcinfo->flinfo->fn_oid))
		query = DatumGetGenieQuery(operand);
	else
		query = genie_query_of_object(PG_DETOAST_DATUM_PACKED(operand), 1);
	if (parameters == NULL)
		PG_RETURN_POINTER(query);
	PG_RETURN_POINTER(PG_GETARG_INT16(1) == GENIE_INNER_QUERY ? genie_bins_inner(parameters, query) :
					  genie_bins_outer(parameters, query));
}

/* support function 4 */
Datum
genie_tuple_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(options, sizeof(TupleOptions));
	add_local_int_reloption(options, "bins", "Number of bins of an attribute that has more values.",
							GENIE_BINS_DEFAULT, GENIE_BINS_MIN, GENIE_BINS_MAX, offsetof(TupleOptions, bins));
	PG_RETURN_VOID();
}

/* support function 5 */
Datum
genie_tuple_train(PG_FUNCTION_ARGS)
{
	GenieSample *sample = (GenieSample *) PG_GETARG_POINTER(0);
	const TupleOptions *options = PG_HAS_OPCLASS_OPTIONS() ? (const TupleOptions *) PG_GET_OPCLASS_OPTIONS() : NULL;
	uint32		n_bins = options == NULL ? GENIE_BINS_DEFAULT : (uint32) options->bins;

	if (sample->learned != NULL)
		sample->misfit = genie_bins_misfit(sample->learned, sample->objects, sample->n, n_bins);
	if (sample->learned != NULL || (sample->n < Max(GENIE_TRAIN_MIN, 2 * n_bins) && sample->can_wait))
		PG_RETURN_NULL();		/* of few rows, no attribute has many values */
	PG_RETURN_BYTEA_P(genie_bins_learn(sample->objects, sample->n, n_bins));
}

/* support function 6 */
Datum
genie_tuple_sign(PG_FUNCTION_ARGS)
{
	const GenieRaw *raw = (const GenieRaw *) PG_GETARG_POINTER(0);
	GenieKeywords *keywords = (GenieKeywords *) PG_GETARG_POINTER(1);

	add_bins(raw->bytes, raw->n, keywords->parameters, keywords);
	PG_RETURN_VOID();
}

/* support function 8 */
Datum
genie_tuple_value(PG_FUNCTION_ARGS)
{
	GenieValueCall *call = (GenieValueCall *) PG_GETARG_POINTER(0);

	call->n_dimensions = genie_bins_slots(call->parameters);
	if (call->n_dimensions > GENIE_SCALARS_MAX)
		call->n_dimensions = 0;
	call->metric = call->n_dimensions == 0 ? 0 : GENIE_METRIC_SCALARS;
	if (call->raw != NULL && call->n_dimensions > 0)
		genie_scalars_record(call->parameters, call->raw, call->record);
	PG_RETURN_VOID();
}
