/*
 * genie_lsh_block.c
 *	  Blocks of vectors that are hashed together (genie_lsh_block.h).
 *
 * Several vectors are hashed faster together than one by one, and get the same codes (genie_lsh.h).  So builds and
 * batch searches, which have many rows or queries, fill a block instead of calling support function 1 or 2 for each
 * value.  A value is checked when it is added, so that the error is that of the first wrong value; its quantized vector
 * (disk/genie_values.h) is made then, too, because the block keeps only what is hashed.  Then all are hashed, on the
 * worker's GPU if it pays, and keywords or queries are made of the codes.
 */
#include "postgres.h"

#include "genie_lsh_block.h"
#include "genie_lsh_class.h"
#include "genie_lsh_signature.h"
#include "genie_vector_value.h"
#include "genie_offload.h"
#include "genie_vector_type.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * The worker is asked only for at least so many products, and for at least so many products for each number that is
 * sent or comes back.  These are orders of magnitude.  A core computes 14 products a nanosecond: the first constant is
 * the time of a request, from being noticed to being answered; the second is the time in which the backend and the
 * worker copy a number.
 */
#define GENIE_BLOCK_PRODUCTS_MIN (UINT64CONST(1) << 21)
#define GENIE_BLOCK_PRODUCTS_EACH 16

struct GenieLshBlock
{
	GenieLshClassParameters parameters;
	const GenieVectorType *type;
	MemoryContext context;		/* of this */
	MemoryContext value_context;	/* of a value that is being added */
	bool		asks_no_more;	/* the worker could not hash; it is not asked again for this block */
	uint32		capacity;
	Size		nbytes;			/* of vectors, codes and values */
	uint32		n;
	float	   *vectors;
	int32	   *codes;
	GenieValueShape shape;		/* metric 0: no values are made */
	char	   *values;			/* records */
};

static float *
vector_at(const GenieLshBlock *block, uint32 i)
{
	return block->vectors + (Size) i * block->parameters.functions.n_dimensions;
}

static int32 *
codes_at(const GenieLshBlock *block, uint32 i)
{
	return block->codes + (Size) i * block->parameters.functions.n_functions;
}

static char *
value_at(const GenieLshBlock *block, uint32 i)
{
	return block->values + i * genie_value_bytes(block->shape);
}

bool
genie_lsh_block_possible(Relation index, const bytea *parameters)
{
	return parameters != NULL && genie_vector_type_of_class(index) != NULL &&
		genie_lsh_class_parameters(parameters).functions.family != GENIE_LSH_NONE;
}

GenieLshBlock *
genie_lsh_block_begin(Relation index, const bytea *parameters, GenieValueShape shape, uint32 n_vectors, Size nbytes)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie hashed vectors", ALLOCSET_DEFAULT_SIZES);
	GenieLshBlock *block = MemoryContextAllocZero(context, sizeof(GenieLshBlock));
	const GenieLshParameters *functions = &block->parameters.functions;
	Size		value = genie_value_bytes(shape);
	Size		each;

	block->context = context;
	block->value_context = AllocSetContextCreate(context, "genie hashed value", ALLOCSET_SMALL_SIZES);
	block->parameters = genie_lsh_class_parameters(parameters);
	block->type = genie_vector_type_of_class(index);
	block->shape = shape.metric == 0 ? shape : genie_vector_value_shape(parameters);
	each = functions->n_dimensions * sizeof(float) + functions->n_functions * sizeof(int32) + value;
	block->capacity = (uint32) Max(Min(n_vectors, nbytes / each), 1);
	block->nbytes = block->capacity * each;
	block->vectors = MemoryContextAlloc(context, block->capacity * functions->n_dimensions * sizeof(float));
	block->codes = MemoryContextAlloc(context, block->capacity * functions->n_functions * sizeof(int32));
	block->values = MemoryContextAllocHuge(context, block->capacity * value + GENIE_QUANTIZED_ALIGN);
	block->values = (char *) TYPEALIGN(GENIE_QUANTIZED_ALIGN, block->values);
	return block;
}

Size
genie_lsh_block_bytes(const GenieLshBlock *block)
{
	return block->nbytes;
}

void
genie_lsh_block_end(GenieLshBlock *block)
{
	MemoryContextDelete(block->context);
}

uint32
genie_lsh_block_room(const GenieLshBlock *block)
{
	return block->capacity - block->n;
}

void
genie_lsh_block_add(GenieLshBlock *block, Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(block->value_context);
	GenieVector vector = block->type->elements(value);

	Assert(block->n < block->capacity);
	genie_lsh_check_vector(vector);
	genie_lsh_hashed_floats(&block->parameters, vector, vector_at(block, block->n));
	if (block->shape.metric != 0)
		genie_value_record(block->shape, vector, value_at(block, block->n));
	block->n++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(block->value_context);
}

/* Are these enough products to ask the worker? */
static bool
is_enough(const GenieHashing *hashing)
{
	uint64		n_products = genie_hashing_rows(hashing) * genie_hashing_elements(hashing);
	uint64		n_numbers = genie_hashing_entries(hashing) + genie_hashing_elements(hashing) +
		genie_hashing_codes(hashing);

	return n_products >= Max(GENIE_BLOCK_PRODUCTS_MIN, n_numbers * GENIE_BLOCK_PRODUCTS_EACH);
}

/* The number of vectors that one request can carry. */
static Size
count_in_request(const GenieHashing *hashing)
{
	Size		limit = genie_offload_bytes();
	Size		of_functions = genie_hashing_entries(hashing) * sizeof(float) +
		genie_hashing_rows(hashing) * (sizeof(double) + sizeof(uint32));

	return of_functions > limit ? 0 : (limit - of_functions) /
		(hashing->parameters.n_dimensions * sizeof(float) + hashing->parameters.n_functions * sizeof(int32));
}

/* Asks the worker to hash the vectors, from the first on, in requests of one size; returns how many it hashed. */
static uint32
hash_by_worker(GenieLshBlock *block, const GenieLsh *lsh)
{
	GenieHashing hashing = genie_hashing(lsh, block->vectors, block->n);
	Size		most = count_in_request(&hashing);
	uint32		n_requests;
	uint32		n_each;
	uint32		n_done = 0;

	if (most == 0 || block->n == 0)
		return 0;
	n_requests = (uint32) ((block->n + most - 1) / most);
	n_each = (block->n + n_requests - 1) / n_requests;
	hashing.n_vectors = n_each;
	if (!is_enough(&hashing))
		return 0;
	while (n_done < block->n)
	{
		hashing.vectors = vector_at(block, n_done);
		hashing.n_vectors = Min(block->n - n_done, n_each);
		if (genie_offload_hash(&hashing, codes_at(block, n_done)) != GENIE_FALLBACK_NONE)
		{
			block->asks_no_more = true;
			break;
		}
		n_done += hashing.n_vectors;
	}
	return n_done;
}

void
genie_lsh_block_hash(GenieLshBlock *block)
{
	GenieLsh   *lsh = genie_lsh_get(&block->parameters.functions);
	uint32		first = !block->asks_no_more && genie_offload_is_possible(NULL) ? hash_by_worker(block, lsh) : 0;
	uint32		n;

	for (; first < block->n; first += n)
	{
		CHECK_FOR_INTERRUPTS();
		n = Min(block->n - first, GENIE_LSH_TOGETHER);
		genie_lsh_hash(lsh, vector_at(block, first), n, codes_at(block, first));
	}
}

GenieQuery *
genie_lsh_block_query(const GenieLshBlock *block, uint32 i)
{
	Assert(i < block->n);
	return genie_lsh_query_of_codes(codes_at(block, i), block->parameters.functions.n_functions,
									block->parameters.probes);
}

void
genie_lsh_block_keywords(const GenieLshBlock *block, uint32 i, GenieKeywords *keywords)
{
	Assert(i < block->n);
	genie_lsh_add_codes(codes_at(block, i), block->parameters.functions.n_functions, keywords);
}

const int32 *
genie_lsh_block_codes(const GenieLshBlock *block, uint32 i, uint32 *n_functions)
{
	Assert(i <= block->n);
	*n_functions = block->parameters.functions.n_functions;
	return block->codes + (Size) i * *n_functions;
}

const void *
genie_lsh_block_value(const GenieLshBlock *block, uint32 i)
{
	Assert(i <= block->n);
	return block->shape.metric != 0 ? value_at(block, i) : NULL;
}

void
genie_lsh_block_clear(GenieLshBlock *block)
{
	block->n = 0;
}
