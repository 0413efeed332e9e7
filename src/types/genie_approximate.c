/*
 * genie_approximate.c
 *	  Operator classes that learn from rows (genie_opclass.h), approximate, coarse and exact ones: calling their
 *	  functions, and training in a build.
 *
 * A build trains before it begins, on a sample of the table: up to GENIE_TRAIN_ROWS random rows of GENIE_TRAIN_BLOCKS
 * random blocks.  It reads them by the same kind of scan that builds use, so a partial index learns from its own rows,
 * and an index on an expression from the expression's values.  If these blocks have too few rows (the index is partial,
 * or most rows were deleted), the whole table is sampled.  Random numbers come from a fixed seed: the same table gives
 * the same index.  The parameters go to the metapage at once, where the build's processes find them; nobody else sees
 * the index before the transaction commits.
 *
 * A table of fewer than GENIE_TRAIN_MIN rows gives an untrained index, and so do up to GENIE_UNTRAINED_MAX rows that
 * the class finds too much alike to learn from; genie_signer.h says what happens to it later.
 *
 * Rows that come later may be unlike those that the class has learned from.  Where the index has their values, it asks
 * the class, and trains again (genie_retrain.h).  Elsewhere VACUUM takes such a sample again and asks the class whether
 * the parameters fit it.  It reads rows as BRIN's VACUUM does, those of transactions in progress too.
 *
 * Memory: the raw keywords of the sample, up to maintenance_work_mem, or those of GENIE_TRAIN_MIN objects if they are
 * more.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sampling.h"

#include "genie_flip.h"
#include "genie_learned.h"
#include "genie_meta.h"
#include "genie_approximate.h"
#include "genie_options.h"

#define GENIE_TRAIN_BLOCKS	300 /* neighbouring rows are often alike, so 2000 rows should come from many blocks */
#define GENIE_TRAIN_SEED	0x47454E49

/* ---- calling the class's functions ---- */

typedef struct ClassSigner
{
	GenieSigner signer;
	Relation	index;
	FmgrInfo   *sign;			/* NULL: the class has no signatures */
	FmgrInfo   *value;			/* NULL: it has no values, or the index's parameter is off */
	Oid			collation;
	MemoryContext context;		/* of one call */
	GenieKeywords keywords;
	GenieKeywords raw_keywords;
	GenieValueShape shape;		/* once it was asked for with parameters, all of which have one */
	void	   *record;			/* room for one; NULL: it was not */
} ClassSigner;

bool
genie_learns(Relation index)
{
	return OidIsValid(index_getprocid(index, 1, GENIE_TRAIN_PROC));
}

static bool
has_signatures(Relation index)
{
	return OidIsValid(index_getprocid(index, 1, GENIE_SIGN_PROC));
}

bool
genie_class_is_coarse(Oid family, Oid type)
{
	return OidIsValid(get_opfamily_proc(family, type, type, GENIE_SIGN_PROC)) &&
		OidIsValid(get_opfamily_member(family, type,
									   get_func_rettype(get_opfamily_proc(family, type, type, GENIE_COMPILE_PROC)),
									   GENIE_MATCH_STRATEGY));
}

bool
genie_is_coarse(Relation index)
{
	return genie_class_is_coarse(index->rd_opfamily[0], index->rd_opcintype[0]);
}

bool
genie_is_approximate(Relation index)
{
	return has_signatures(index) && !genie_is_coarse(index);
}

bool
genie_is_exact(Relation index)
{
	return genie_learns(index) && !has_signatures(index);
}

static bytea *
train_on(Relation index, GenieSample *sample)
{
	FmgrInfo   *train = index_getprocinfo(index, 1, GENIE_TRAIN_PROC);

	LOCAL_FCINFO(fcinfo, 1);
	bytea	   *parameters;
	Datum		result;

	InitFunctionCallInfoData(*fcinfo, train, 1, index->rd_indcollation[0], NULL, NULL);
	fcinfo->args[0].value = PointerGetDatum(sample);
	fcinfo->args[0].isnull = false;
	result = FunctionCallInvoke(fcinfo);
	if (sample->learned != NULL || (fcinfo->isnull && (sample->n < GENIE_TRAIN_MIN || sample->can_wait)))
		return NULL;
	parameters = fcinfo->isnull ? NULL : DatumGetByteaP(result);
	if (parameters == NULL || VARSIZE(parameters) <= VARHDRSZ || VARSIZE(parameters) - VARHDRSZ > GENIE_LEARNED_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("support function %d of the operator class of index \"%s\" does not give parameters",
						GENIE_TRAIN_PROC, RelationGetRelationName(index)),
				 parameters == NULL ? errdetail("For %u objects its result is null.", sample->n) :
				 errdetail("Its result has %d bytes, but there must be 1 to %d.",
						   (int) (VARSIZE(parameters) - VARHDRSZ), GENIE_LEARNED_MAX)));
	return parameters;
}

static bytea *
call_train(GenieSigner *signer, const GenieRaw *objects, uint32 n, bool can_wait)
{
	GenieSample sample = {.index = ((ClassSigner *) signer)->index, .n = n, .objects = objects, .can_wait = can_wait};

	return train_on(((ClassSigner *) signer)->index, &sample);
}

static GenieFit
judge(Relation index, GenieSample *sample)
{
	(void) train_on(index, sample);
	return sample->vague ? GENIE_FIT_UNKNOWN : sample->misfit ? GENIE_MISFITS : GENIE_FITS;
}

static GenieFit
call_judge(GenieSigner *signer, const bytea *parameters, const GenieRaw *objects, const float *errors, uint32 n)
{
	GenieSample sample = {
		.index = ((ClassSigner *) signer)->index, .n = n, .objects = objects, .learned = parameters, .errors = errors
	};

	return judge(((ClassSigner *) signer)->index, &sample);
}

static GenieSignature
call_sign(GenieSigner *signer, const bytea *parameters, const GenieRaw *raw)
{
	ClassSigner *class = (ClassSigner *) signer;
	GenieKeywords *keywords = &class->keywords;
	GenieSignature signature = {.bytes = keywords->bytes};
	MemoryContext old;

	if (class->sign == NULL)
		return signature;
	old = MemoryContextSwitchTo(class->context);
	genie_keywords_reset(keywords);
	keywords->parameters = parameters;
	FunctionCall2Coll(class->sign, class->collation, PointerGetDatum(raw), PointerGetDatum(keywords));
	MemoryContextSwitchTo(old);
	MemoryContextReset(class->context);
	genie_keywords_finish(keywords);
	signature.bytes = keywords->bytes;
	signature.n = keywords->n;
	signature.size = genie_keywords_own_size(keywords);
	return signature;
}

static GenieValueShape
call_shape(GenieSigner *signer, const bytea *parameters)
{
	ClassSigner *class = (ClassSigner *) signer;
	GenieValueCall call = {.index = class->index, .parameters = parameters};

	if (class->value == NULL || parameters == NULL)
		return (GenieValueShape) {0};
	if (class->record == NULL)
	{
		FunctionCall1Coll(class->value, class->collation, PointerGetDatum(&call));
		class->shape = (GenieValueShape) {.metric = (GenieMetric) call.metric, .n_dimensions = call.n_dimensions};
		class->record = (void *) TYPEALIGN(GENIE_QUANTIZED_ALIGN,
										   MemoryContextAlloc(GetMemoryChunkContext(class),
															  genie_value_bytes(class->shape) + GENIE_QUANTIZED_ALIGN));
	}
	return class->shape;
}

static const void *
call_value(GenieSigner *signer, const bytea *parameters, const GenieRaw *raw)
{
	ClassSigner *class = (ClassSigner *) signer;
	GenieValueCall call = {.index = class->index, .parameters = parameters, .raw = raw};
	MemoryContext old = MemoryContextSwitchTo(class->context);

	(void) call_shape(signer, parameters);
	call.record = class->record;
	FunctionCall1Coll(class->value, class->collation, PointerGetDatum(&call));
	MemoryContextSwitchTo(old);
	MemoryContextReset(class->context);
	return class->record;
}

static GenieRaw
call_raw(GenieSigner *signer, const bytea *parameters, const void *record, Size *n_bytes)
{
	ClassSigner *class = (ClassSigner *) signer;
	GenieKeywords *keywords = &class->raw_keywords;
	GenieValueCall call = {
		.index = class->index, .parameters = parameters, .record = unconstify(void *, record), .keywords = keywords
	};
	MemoryContext old = MemoryContextSwitchTo(class->context);

	genie_keywords_reset(keywords);
	FunctionCall1Coll(class->value, class->collation, PointerGetDatum(&call));
	MemoryContextSwitchTo(old);
	MemoryContextReset(class->context);
	genie_keywords_finish(keywords);
	*n_bytes = keywords->nbytes;
	return (GenieRaw) {.bytes = keywords->bytes, .n = keywords->n, .size = genie_keywords_own_size(keywords)};
}

/* NULL: the class does not have it. */
static FmgrInfo *
function_of(Relation index, int number)
{
	return OidIsValid(index_getprocid(index, 1, number)) ? index_getprocinfo(index, 1, number) : NULL;
}

GenieSigner *
genie_approximate_signer(Relation index)
{
	ClassSigner *class;

	if (!genie_learns(index))
		return NULL;
	class = palloc0(sizeof(ClassSigner));
	class->signer.train = call_train;
	class->signer.judge = call_judge;
	class->signer.sign = call_sign;
	class->signer.shape = call_shape;
	class->signer.value = call_value;
	class->signer.is_coarse = genie_is_coarse(index);
	class->index = index;
	class->sign = function_of(index, GENIE_SIGN_PROC);
	if (class->sign == NULL || genie_values_of(index))
		class->value = function_of(index, GENIE_VALUE_PROC);
	if (class->sign != NULL && class->value != NULL && !class->signer.is_coarse)
		class->signer.raw = call_raw;
	class->collation = index->rd_indcollation[0];
	class->context = AllocSetContextCreate(CurrentMemoryContext, "genie signing", ALLOCSET_DEFAULT_SIZES);
	genie_keywords_init(&class->keywords);
	genie_keywords_init(&class->raw_keywords);
	return &class->signer;
}

/* ---- a sample of the table ---- */

typedef struct Sample
{
	Relation	index;
	FmgrInfo   *decompose;
	MemoryContext context;		/* of the objects, each in its own piece */
	MemoryContext row_context;
	GenieKeywords keywords;
	uint32		seed;
	pg_prng_state random;
	Size		memory;			/* bytes that the objects may take */
	Size		used;			/* bytes of all objects taken, also of those replaced since */
	uint32		n;
	uint32		capacity;
	GenieRaw	objects[GENIE_TRAIN_ROWS];
	uint64		n_seen;			/* rows that are not NULL */
	uint64		n_rows;			/* of the table, likewise, about */
	bool		only_alive;		/* passes over rows that are dead but for older snapshots */
} Sample;

/* Decomposes a value into raw keywords. */
static GenieRaw
sample_decompose(Sample *sample, Datum value)
{
	GenieKeywords *keywords = &sample->keywords;
	MemoryContext old = MemoryContextSwitchTo(sample->row_context);
	GenieRaw	raw;
	uint8	   *bytes;

	genie_keywords_reset(keywords);
	FunctionCall2Coll(sample->decompose, sample->index->rd_indcollation[0], value, PointerGetDatum(keywords));
	MemoryContextSwitchTo(old);
	MemoryContextReset(sample->row_context);
	genie_keywords_finish(keywords);
	bytes = MemoryContextAlloc(sample->context, keywords->nbytes + 1);
	memcpy(bytes, keywords->bytes, keywords->nbytes);
	raw.bytes = bytes;
	raw.n = keywords->n;
	raw.size = genie_keywords_own_size(keywords);
	if (raw.size < 0)
		raw.size = (int32) raw.n;
	sample->used += keywords->nbytes;
	return raw;
}

/*
 * Takes the row, lets it replace another one, or passes over it, so that each row has the same chance (reservoir
 * sampling).  Called by table_index_build_scan().
 */
static void
sample_row(Relation index, ItemPointer tid, Datum *values, bool *nulls, bool alive, void *arg)
{
	Sample	   *sample = arg;
	uint64		place;

	if (nulls[0] || (sample->only_alive && !alive))
		return;
	sample->n_seen++;
	if (sample->n < sample->capacity && (sample->used < sample->memory || sample->n < GENIE_TRAIN_MIN))
	{
		sample->objects[sample->n++] = sample_decompose(sample, values[0]);
		return;
	}
	sample->capacity = sample->n;
	place = pg_prng_uint64_range(&sample->random, 0, sample->n_seen - 1);
	if (place >= sample->n)
		return;
	pfree(unconstify(uint8 *, sample->objects[place].bytes));
	sample->objects[place] = sample_decompose(sample, values[0]);
}

static void
sample_empty(Sample *sample)
{
	MemoryContextReset(sample->context);
	pg_prng_seed(&sample->random, sample->seed);
	sample->capacity = GENIE_TRAIN_ROWS;
	sample->n = 0;
	sample->used = 0;
	sample->n_seen = 0;
}

/* Rows of random blocks, in the order of the blocks.  any_visible: writers may be at work. */
static void
sample_blocks(Sample *sample, Relation heap, IndexInfo *info, bool any_visible)
{
	BlockSamplerData blocks;
	BlockNumber n_blocks = RelationGetNumberOfBlocks(heap);

	sample_empty(sample);
	sample->only_alive = any_visible;
	BlockSampler_Init(&blocks, n_blocks, GENIE_TRAIN_BLOCKS, sample->seed);
	while (BlockSampler_HasMore(&blocks))
	{
		CHECK_FOR_INTERRUPTS();
		table_index_build_range_scan(heap, sample->index, info, false, any_visible, false, BlockSampler_Next(&blocks),
									 1, sample_row, sample, NULL);
	}
	sample->n_rows = sample->n_seen * Max(n_blocks, GENIE_TRAIN_BLOCKS) / GENIE_TRAIN_BLOCKS;
}

/* An empty sample. */
static Sample *
sample_begin(Relation index)
{
	Sample	   *sample = palloc0(sizeof(Sample));

	sample->index = index;
	sample->seed = GENIE_TRAIN_SEED;
	sample->decompose = index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC);
	sample->context = AllocSetContextCreate(CurrentMemoryContext, "genie sample", ALLOCSET_DEFAULT_SIZES);
	sample->row_context = AllocSetContextCreate(CurrentMemoryContext, "genie sample row", ALLOCSET_DEFAULT_SIZES);
	sample->memory = maintenance_work_mem * (Size) 1024;
	genie_keywords_init(&sample->keywords);
	sample->keywords.index = index;
	return sample;
}

static Sample *
sample_table(Relation heap, Relation index, IndexInfo *info)
{
	Sample	   *sample = sample_begin(index);

	sample_blocks(sample, heap, info, false);
	if (sample->n < GENIE_TRAIN_MIN && RelationGetNumberOfBlocks(heap) > GENIE_TRAIN_BLOCKS)
	{
		sample_empty(sample);
		table_index_build_scan(heap, index, info, false, false, sample_row, sample, NULL);
		sample->n_rows = sample->n_seen;
	}
	return sample;
}

bool
genie_approximate_train(Relation heap, Relation index, IndexInfo *info)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie training", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Sample	   *sample = sample_table(heap, index, info);
	bytea	   *parameters = NULL;

	if (sample->n >= GENIE_TRAIN_MIN)
		parameters = call_train(genie_approximate_signer(index), sample->objects, sample->n,
								sample->n_rows < GENIE_UNTRAINED_MAX);
	if (parameters != NULL)
	{
		GenieFlip	flip = {0};

		genie_learned_first(index, parameters, true, &flip);
		genie_flip_apply(index, &flip, true);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return parameters != NULL;
}

bool
genie_approximate_misfit(Relation heap, Relation index, const bytea *learned)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie judging", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Sample	   *sample = sample_begin(index);
	GenieSample objects = {.index = index, .objects = sample->objects, .learned = learned};
	bool		misfit = false;

	sample_blocks(sample, heap, BuildIndexInfo(index), true);
	objects.n = sample->n;
	if (objects.n >= GENIE_TRAIN_MIN)
		misfit = judge(index, &objects) == GENIE_MISFITS;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return misfit;
}

const GenieRaw *
genie_approximate_sample(Relation heap, Relation index, uint32 seed, uint32 *n)
{
	Sample	   *sample = sample_begin(index);

	sample->seed += seed;
	sample_blocks(sample, heap, BuildIndexInfo(index), true);
	*n = sample->n;
	return sample->objects;
}
