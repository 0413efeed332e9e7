/*
 * genie_operand.h
 *	  A right operand that stays the same for many rows, and what a function makes of it.
 *
 * The operand's bytes are kept as they were given (a toast pointer, if it was one: nothing is fetched again), in a
 * context that what is made of them lives in too; the next row compares them and goes on.  Of an expanded
 * value, which is a pointer to memory that may change, the flat form is compared.
 */
#ifndef GENIE_OPERAND_H
#define GENIE_OPERAND_H

#include "fmgr.h"

typedef struct GenieOperand
{
	MemoryContext context;		/* reset when another operand comes */
	struct varlena *bytes;		/* as given, in context; NULL: none yet */
} GenieOperand;

/* In CurrentMemoryContext. */
extern void genie_operand_init(GenieOperand *operand);

/*
 * NULL if the datum is the one that is kept.  Else its bytes, copied to the context, where nothing else is now;
 * the caller makes of them what it needs and then calls genie_operand_keep().
 */
extern struct varlena *genie_operand_if_new(GenieOperand *operand, Datum datum);

/* What is made of the bytes is complete. */
static inline void
genie_operand_keep(GenieOperand *operand, struct varlena *bytes)
{
	operand->bytes = bytes;
}

#endif							/* GENIE_OPERAND_H */
