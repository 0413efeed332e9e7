/*
 * genie_lsh_block.h
 *	  Blocks of vectors that are hashed together by the functions of an index's approximate operator class.
 */
#ifndef GENIE_LSH_BLOCK_H
#define GENIE_LSH_BLOCK_H

#include "genie_opclass.h"
#include "genie_values.h"
#include "genie_vector.h"
#include "utils/rel.h"

typedef struct GenieLshBlock GenieLshBlock;

/* Can vectors of the index be hashed in blocks?  Yes if its class is one of genie's for vectors and has parameters. */
extern bool genie_lsh_block_possible(Relation index, const bytea *parameters);

/*
 * A block with room for n_vectors, or for as many as fit nbytes if these are fewer, but for at least one.  With a
 * shape, it also makes their values.  It is freed with the current memory context, if not before.
 */
extern GenieLshBlock *genie_lsh_block_begin(Relation index, const bytea *parameters, GenieValueShape shape,
											uint32 n_vectors, Size nbytes);

extern void genie_lsh_block_end(GenieLshBlock *block);

/* The bytes that its vectors, codes and values take. */
extern Size genie_lsh_block_bytes(const GenieLshBlock *block);

/* The number of vectors that it has room for still. */
extern uint32 genie_lsh_block_room(const GenieLshBlock *block);

/* Adds a value of the index's type.  Errors: those of support functions 1 and 2. */
extern void genie_lsh_block_add(GenieLshBlock *block, Datum value);

/* Hashes the vectors that were added. */
extern void genie_lsh_block_hash(GenieLshBlock *block);

/* The query that support function 2 makes of vector i, which is hashed; palloc'd. */
extern GenieQuery *genie_lsh_block_query(const GenieLshBlock *block, uint32 i);

/* Adds the keywords that support function 1 adds for vector i, which is hashed. */
extern void genie_lsh_block_keywords(const GenieLshBlock *block, uint32 i, GenieKeywords *keywords);

/* The codes of vector i and those behind it, which are hashed, *n_functions for each. */
extern const int32 *genie_lsh_block_codes(const GenieLshBlock *block, uint32 i, uint32 *n_functions);

/* The record of vector i, hashed or not; NULL: values are not made. */
extern const void *genie_lsh_block_value(const GenieLshBlock *block, uint32 i);

/* Removes all vectors. */
extern void genie_lsh_block_clear(GenieLshBlock *block);

#endif							/* GENIE_LSH_BLOCK_H */
