/*
 * genie_lsh_block.h
 *	  Vectors that are hashed together, by the functions of an index's approximate operator class.
 */
#ifndef GENIE_LSH_BLOCK_H
#define GENIE_LSH_BLOCK_H

#include "genie_opclass.h"
#include "genie_vector.h"
#include "utils/rel.h"

typedef struct GenieLshBlock GenieLshBlock;

/* Can vectors of the index be hashed so?  If its class is one of genie's for vectors, and it has learned. */
extern bool genie_lsh_block_possible(Relation index, const bytea *parameters);

/*
 * A block with room for so many vectors, or fewer, but at least one: as fit so many bytes.  It is freed with the
 * current memory context, if not before.
 */
extern GenieLshBlock *genie_lsh_block_begin(Relation index, const bytea *parameters, uint32 n_vectors, Size nbytes);

extern void genie_lsh_block_end(GenieLshBlock *block);

/* The bytes that it takes of these. */
extern Size genie_lsh_block_bytes(const GenieLshBlock *block);

/* How many more vectors it has room for. */
extern uint32 genie_lsh_block_room(const GenieLshBlock *block);

/* Adds a value of the index's type.  Errors: those of support functions 1 and 2. */
extern void genie_lsh_block_add(GenieLshBlock *block, Datum value);

/* Hashes what was added. */
extern void genie_lsh_block_hash(GenieLshBlock *block);

/* What support function 2 makes of vector i, once they are hashed; palloc'd. */
extern GenieQuery *genie_lsh_block_query(const GenieLshBlock *block, uint32 i);

/* What support function 1 adds for it. */
extern void genie_lsh_block_keywords(const GenieLshBlock *block, uint32 i, GenieKeywords *keywords);

/* Forgets what was added. */
extern void genie_lsh_block_clear(GenieLshBlock *block);

#endif							/* GENIE_LSH_BLOCK_H */
