/*
 * genie_exact_bits.c
 *	  The exact operator class of bit strings (genie_opclass.h).
 *
 *		genie_hamming_exact_ops			bit		<&~>
 *
 * and the one by pgvector's <~> (genie_pgvector.c).
 *
 * A row's value is its bits (values/genie_value_bits.h), as that of a vector is its quantized vector
 * (genie_value_class.c).  But from bits follows the distance itself, so a scan visits no row to measure it.  Only the
 * executor fetches rows, and sees which are visible.
 *
 * Raw keywords, of rows in the pending list, are the bits in pieces, as a vector's elements are (genie_lsh_class.c).
 * All strings of an index have one length, by the same rule.
 */
#include "postgres.h"

#include "access/genam.h"
#include "genie_exact_bits.h"
#include "genie_lsh_class.h"
#include "genie_query.h"
#include "utils/varbit.h"

PG_FUNCTION_INFO_V1(genie_exact_bit_decompose);
PG_FUNCTION_INFO_V1(genie_exact_bit_compile);

bool
genie_exact_bits_index(Relation index)
{
	return index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC)->fn_addr == genie_exact_bit_decompose;
}

GenieVector
genie_exact_bits_elements(Datum value)
{
	VarBit	   *bits = DatumGetVarBitP(value);

	genie_lsh_check_bits(bits);
	return (GenieVector) {VARBITS(bits), (uint32) VARBITLEN(bits), false};
}

static void
check_length(const bytea *trained, GenieVector bits)
{
	if (trained != NULL)
	{
		GenieLshClassParameters parameters = genie_lsh_class_parameters(trained);

		genie_lsh_check_length(&parameters, bits.n, "bit string");
	}
}

void
genie_exact_bits_collect(GenieVector bits, GenieKeywords *keywords)
{
	check_length(keywords->parameters, bits);
	genie_lsh_add_raw_bytes(bits.elements, (bits.n + BITS_PER_BYTE - 1) / BITS_PER_BYTE, false, keywords);
	keywords->size = (int32) bits.n;
}

/* support function 1 */
Datum
genie_exact_bit_decompose(PG_FUNCTION_ARGS)
{
	genie_exact_bits_collect(genie_exact_bits_elements(PG_GETARG_DATUM(0)), (GenieKeywords *) PG_GETARG_POINTER(1));
	PG_RETURN_VOID();
}

/* support function 2: the right operand is a bit string */
Datum
genie_exact_bit_compile(PG_FUNCTION_ARGS)
{
	check_length((const bytea *) PG_GETARG_POINTER(3), genie_exact_bits_elements(PG_GETARG_DATUM(0)));
	PG_RETURN_POINTER(genie_query_allocate(0, 0, 0));
}
