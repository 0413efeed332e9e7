/*
 * genie_lsh_block.c
 *	  Vectors that are hashed together (genie_lsh_block.h).
 *
 * Several vectors at a time are hashed faster than one by one, and have the same codes (genie_lsh.h).  So whoever has
 * many rows or queries looks ahead, instead of calling support function 1 or 2 for each: values are taken apart and
 * checked one by one as they are added, so that errors are those of the first wrong one, then all are hashed, and then
 * keywords or queries are made of their codes.
 */
#include "postgres.h"

#include "genie_device.h"
#include "genie_lsh_block.h"
#include "genie_lsh_class.h"
#include "genie_lsh_signature.h"
#include "genie_vector_type.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * The worker is asked for at least so many products, and so many of each number that goes there or comes back.  By
 * orders of magnitude: a core does 14 products a nanosecond, so that the first are the time that a request takes to be
 * noticed, done and answered; and a number is copied by the backend and by the worker in the time of some 16.
 */
#define GENIE_BLOCK_PRODUCTS_MIN (UINT64CONST(1) << 21)
#define GENIE_BLOCK_PRODUCTS_EACH 16

struct GenieLshBlock
{
	GenieLshClassParameters parameters;
	const GenieVectorType *type;
	MemoryContext context;		/* of this */
	MemoryContext value_context;	/* of a value that is being added */
	bool		asks_no_more;	/* the worker could not, and is left alone as long as this block lasts */
	uint32		capacity;
	Size		nbytes;			/* of vectors and codes */
	uint32		n;
	float	   *vectors;
	int32	   *codes;
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

bool
genie_lsh_block_possible(Relation index, const bytea *parameters)
{
	return parameters != NULL && genie_vector_type_of_class(index) != NULL;
}

GenieLshBlock *
genie_lsh_block_begin(Relation index, const bytea *parameters, uint32 n_vectors, Size nbytes)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie hashed vectors", ALLOCSET_DEFAULT_SIZES);
	GenieLshBlock *block = MemoryContextAllocZero(context, sizeof(GenieLshBlock));
	const GenieLshParameters *functions = &block->parameters.functions;
	Size		each;

	block->context = context;
	block->value_context = AllocSetContextCreate(context, "genie hashed value", ALLOCSET_SMALL_SIZES);
	block->parameters = genie_lsh_class_parameters(parameters);
	block->type = genie_vector_type_of_class(index);
	each = functions->n_dimensions * sizeof(float) + functions->n_functions * sizeof(int32);
	block->capacity = (uint32) Max(Min(n_vectors, nbytes / each), 1);
	block->nbytes = block->capacity * each;
	block->vectors = MemoryContextAlloc(context, block->capacity * functions->n_dimensions * sizeof(float));
	block->codes = MemoryContextAlloc(context, block->capacity * functions->n_functions * sizeof(int32));
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
	genie_lsh_hashed_floats(&block->parameters, vector, vector_at(block, block->n++));
	MemoryContextSwitchTo(old);
	MemoryContextReset(block->value_context);
}

static bool
is_enough(const GenieHashing *hashing)
{
	uint64		n_products = genie_hashing_rows(hashing) * genie_hashing_elements(hashing);
	uint64		n_numbers = genie_hashing_entries(hashing) + genie_hashing_elements(hashing) +
		genie_hashing_codes(hashing);

	return n_products >= Max(GENIE_BLOCK_PRODUCTS_MIN, n_numbers * GENIE_BLOCK_PRODUCTS_EACH);
}

/* How many vectors a request can carry. */
static Size
count_in_request(const GenieHashing *hashing)
{
	Size		limit = genie_device_bytes();
	Size		of_functions = genie_hashing_entries(hashing) * sizeof(float) +
		genie_hashing_rows(hashing) * (sizeof(double) + sizeof(uint32));

	return of_functions > limit ? 0 : (limit - of_functions) /
		(hashing->parameters.n_dimensions * sizeof(float) + hashing->parameters.n_functions * sizeof(int32));
}

/* Has the worker hash the vectors, from the first on, in requests of one size; returns how many it did. */
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
		if (genie_device_hash(&hashing, codes_at(block, n_done)) != GENIE_FALLBACK_NONE)
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
	uint32		first = !block->asks_no_more && genie_device_is_possible() ? hash_by_worker(block, lsh) : 0;
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

void
genie_lsh_block_clear(GenieLshBlock *block)
{
	block->n = 0;
}
