/*
 * genie_value_string.c
 *	  Short texts as values (genie_value_string.h): records, and which kernel makes keys.
 */
#include "genie_value_scan.h"
#include "genie_value_string.h"

_Static_assert(sizeof(GenieValueString) == sizeof(uint16_t), "codes follow the length");
_Static_assert(GENIE_VALUE_STRING_MAX < GENIE_VALUE_PATTERN_MAX, "a text's vector has all codes of its record");

const GenieValueKernel *
genie_value_string_nth(uint32_t i)
{
	if (i == 0)
		return &genie_value_string_portable;
#if defined(__x86_64__)
	if (i == 1 && __builtin_cpu_supports("avx2"))
		return &genie_value_string_avx2;
	if (i == 2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avx512f"))
		return &genie_value_string_avx512;
#endif
	return NULL;
}

void
genie_value_string(uint32_t n, GenieVector text, void *at)
{
	GenieValueString *record = at;
	uint32_t	length = text.n < GENIE_VALUE_STRING_UNKNOWN ? text.n : GENIE_VALUE_STRING_UNKNOWN;

	memset(record, 0, genie_value_string_bytes(n));
	record->length = (uint16_t) length;
	if (genie_value_string_kept(length, n) > 0)
		memcpy(record->codes, text.elements, genie_value_string_kept(length, n));
}

void
genie_value_string_unknown(uint32_t n, void *record)
{
	memset(record, 0, genie_value_string_bytes(n));
	((GenieValueString *) record)->length = GENIE_VALUE_STRING_UNKNOWN;
}

bool
genie_value_string_valid(uint32_t n, const void *at)
{
	const GenieValueString *record = at;

	for (size_t i = genie_value_string_kept(record->length, n); i < genie_value_string_bytes(n) - sizeof(*record); i++)
		if (record->codes[i] != 0)
			return false;
	return true;
}
