/*
 * genie_value_bits.c
 *	  Bit strings as values (genie_value_bits.h): records, and which kernel makes keys.
 */
#include "genie_value_bits.h"
#include "genie_value_scan.h"

_Static_assert(GENIE_VALUE_DIMENSIONS_MAX < 1 << 23, "keys drop the last of a float's 24 bits");

const GenieValueKernel *
genie_value_bits_nth(uint32_t i)
{
	if (i == 0)
		return &genie_value_bits_portable;
#if defined(__x86_64__)
	if (i == 1 && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("avx2"))
		return &genie_value_bits_avx2;
	if (i == 2 && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("avx2") &&
		__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512vpopcntdq"))
		return &genie_value_bits_avx512;
#endif
	return NULL;
}

void
genie_value_bits(GenieVector bits, void *record)
{
	memset(record, 0, genie_value_bits_bytes(bits.n));
	memcpy(record, bits.elements, (bits.n + 7) / 8);
}

bool
genie_value_bits_valid(uint32_t n_bits, const void *record)
{
	const uint8_t *bytes = record;
	uint32_t	n_whole = n_bits / 8;

	if (n_bits % 8 != 0 && (bytes[n_whole++] & 0xFF >> n_bits % 8) != 0)
		return false;
	for (size_t i = n_whole; i < genie_value_bits_bytes(n_bits); i++)
		if (bytes[i] != 0)
			return false;
	return true;
}
