/*
 * genie_operand.h
 *	  A cache for a right operand that is the same in many rows: a function converts it once.
 *
 * The operand's bytes are kept as they were passed, in a context that holds the converted form too.  The next row's
 * operand is compared with these bytes.  A toast pointer is compared as a pointer, so nothing is fetched again.  An
 * expanded value is a pointer to memory that may change, so its flat form is kept and compared.
 */
#ifndef GENIE_OPERAND_H
#define GENIE_OPERAND_H

#include "fmgr.h"

typedef struct GenieOperand
{
	MemoryContext context;		/* reset when another operand comes */
	struct varlena *bytes;		/* as passed, in context; NULL: none yet */
} GenieOperand;

/* The cache's context is a child of CurrentMemoryContext. */
extern void genie_operand_init(GenieOperand *operand);

/*
 * NULL: the datum is the operand that is kept.  Otherwise returns a copy of its bytes in the context, which is empty
 * but for them; the caller converts them into that context and then calls genie_operand_keep().
 */
extern struct varlena *genie_operand_if_new(GenieOperand *operand, Datum datum);

/* Keeps the operand: its converted form is complete. */
static inline void
genie_operand_keep(GenieOperand *operand, struct varlena *bytes)
{
	operand->bytes = bytes;
}

#endif							/* GENIE_OPERAND_H */
