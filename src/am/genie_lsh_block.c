/*
 * genie_lsh_block.c
 *	  Vectors that are hashed together (genie_lsh_block.h).
 *
 * Several vectors at a time are hashed faster than one by one, and have the same codes (genie_lsh.h).  So whoever has
 * many queries looks ahead, instead of calling support function 2 for each: values are taken apart and checked one by
 * one as they are added, so that errors are those of the first wrong one, then all are hashed, and then queries are
 * made of their codes.
 */
#include "postgres.h"

#include "genie_lsh_block.h"
#include "genie_lsh_class.h"
#include "genie_lsh_signature.h"
#include "genie_pgvector.h"
#include "genie_vector_distance.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define GENIE_BLOCK_BYTES ((Size) 16 << 20)	/* of elements and codes, unless one vector has more */

struct GenieLshBlock
{
	GenieLshClassParameters parameters;
	bool		is_pgvector;
	MemoryContext value_context;	/* of a value that is being added */
	uint32		capacity;
	uint32		n;
	float	   *vectors;
	int32	   *codes;
};

bool
genie_lsh_block_possible(Relation index, const bytea *parameters)
{
	return parameters != NULL && (genie_lsh_of_vectors(index) || genie_pgvector_index(index));
}

GenieLshBlock *
genie_lsh_block_begin(Relation index, const bytea *parameters, uint32 n_vectors, uint32 n_codes)
{
	GenieLshBlock *block = palloc0(sizeof(GenieLshBlock));
	const GenieLshParameters *functions = &block->parameters.functions;
	Size		vector_bytes;
	Size		codes_bytes;
	Size		most;

	block->parameters = genie_lsh_class_parameters(parameters);
	block->is_pgvector = genie_pgvector_index(index);
	block->value_context = AllocSetContextCreate(CurrentMemoryContext, "genie hashed value", ALLOCSET_SMALL_SIZES);
	vector_bytes = functions->n_dimensions * sizeof(float);
	codes_bytes = functions->n_functions * sizeof(int32);
	most = Min(GENIE_BLOCK_BYTES / (vector_bytes + codes_bytes),
			   (n_codes + functions->n_functions - 1) / functions->n_functions);
	block->capacity = (uint32) Max(Min(most, n_vectors), 1);
	block->vectors = palloc(block->capacity * vector_bytes);
	block->codes = palloc(block->capacity * codes_bytes);
	return block;
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
	GenieVector vector = block->is_pgvector ? genie_pgvector_elements(value) :
		genie_vector_of_array(PG_DETOAST_DATUM_PACKED(value));

	Assert(block->n < block->capacity);
	genie_lsh_check_vector(vector);
	genie_lsh_hashed_floats(&block->parameters, vector,
							block->vectors + (Size) block->n * block->parameters.functions.n_dimensions);
	block->n++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(block->value_context);
}

void
genie_lsh_block_hash(GenieLshBlock *block)
{
	const GenieLshParameters *functions = &block->parameters.functions;
	GenieLsh   *lsh = genie_lsh_get(functions);
	uint32		n;

	for (uint32 first = 0; first < block->n; first += n)
	{
		CHECK_FOR_INTERRUPTS();
		n = Min(block->n - first, GENIE_LSH_TOGETHER);
		genie_lsh_hash(lsh, block->vectors + (Size) first * functions->n_dimensions, n,
					   block->codes + (Size) first * functions->n_functions);
	}
}

GenieQuery *
genie_lsh_block_query(const GenieLshBlock *block, uint32 i)
{
	uint32		n_functions = block->parameters.functions.n_functions;

	Assert(i < block->n);
	return genie_lsh_query_of_codes(block->codes + (Size) i * n_functions, n_functions, block->parameters.probes);
}
