/*
 * genie_operand.c
 *	  A cache for a right operand that is the same in many rows (genie_operand.h).
 *
 * If an error interrupts the conversion, no operand is kept.  So a function whose state survives the error (in an
 * exception block of a procedural language) converts again in the next row.
 */
#include "postgres.h"

#include "genie_compat.h"
#include "genie_operand.h"
#include "utils/memutils.h"

void
genie_operand_init(GenieOperand *operand)
{
	operand->context = AllocSetContextCreate(CurrentMemoryContext, "genie right operand", ALLOCSET_SMALL_SIZES);
	operand->bytes = NULL;
}

struct varlena *
genie_operand_if_new(GenieOperand *operand, Datum datum)
{
	struct varlena *given = (struct varlena *) DatumGetPointer(datum);
	struct varlena *copy = NULL;
	bool		flattened = VARATT_IS_EXTERNAL(given) && !VARATT_IS_EXTERNAL_ONDISK(given);

	if (flattened)
		given = pg_detoast_datum(given);
	if (operand->bytes == NULL || VARSIZE_ANY(operand->bytes) != VARSIZE_ANY(given) ||
		memcmp(operand->bytes, given, VARSIZE_ANY(given)) != 0)
	{
		operand->bytes = NULL;
		MemoryContextReset(operand->context);
		copy = MemoryContextAlloc(operand->context, VARSIZE_ANY(given));
		memcpy(copy, given, VARSIZE_ANY(given));
	}
	if (flattened)
		pfree(given);
	return copy;
}
