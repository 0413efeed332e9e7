/*
 * genie_value_bit.c
 *	  Bit strings as bytes in PostgreSQL's order: by bits, then by length.
 *
 * A string is cut into groups of 64 bits; zeros fill the last group.  A byte follows the 8 bytes of each group: 0xFF if
 * more groups follow, else the number of bits in the last group, 1 to 64.  The empty string has no bytes.
 *
 * If two strings differ in a bit, the bytes of a group differ.  If one string is the other one with zeros appended, the
 * byte after a group differs, and the shorter string is smaller.
 */
#include "postgres.h"

#include "genie_value_bytes.h"
#include "utils/varbit.h"

#define GROUP_BYTES		8
#define GROUP_BITS		(GROUP_BYTES * BITS_PER_BYTE)
#define MORE_GROUPS		0xFF

uint32
genie_value_put_bit(uint8 *out, Datum value)
{
	VarBit	   *bits = DatumGetVarBitP(value);
	Size		n = VARBITBYTES(bits);
	Size		groups = (n + GROUP_BYTES - 1) / GROUP_BYTES;
	uint8	   *bytes = palloc0(Max(groups, 1) * (GROUP_BYTES + 1));
	uint32		len;

	for (Size i = 0; i < groups; i++)
	{
		uint8	   *group = bytes + i * (GROUP_BYTES + 1);
		bool		more = i + 1 < groups;

		memcpy(group, VARBITS(bits) + i * GROUP_BYTES, more ? GROUP_BYTES : n - i * GROUP_BYTES);
		group[GROUP_BYTES] = more ? MORE_GROUPS : VARBITLEN(bits) - i * GROUP_BITS;
	}
	len = genie_value_cut(out, bytes, groups * (GROUP_BYTES + 1));
	pfree(bytes);
	if ((Pointer) bits != DatumGetPointer(value))
		pfree(bits);
	return len;
}

bool
genie_value_bit_valid(const uint8 *data, uint32 len)
{
	if (len % (GROUP_BYTES + 1) != 0)
		return false;
	for (uint32 at = 0; at < len; at += GROUP_BYTES + 1)
	{
		uint32		used = data[at + GROUP_BYTES];

		if (at + GROUP_BYTES + 1 < len)
		{
			if (used != MORE_GROUPS)
				return false;
			continue;
		}
		if (used < 1 || used > GROUP_BITS)
			return false;
		if (used < GROUP_BITS && genie_value_get_uint(data + at, GROUP_BYTES) << used != 0)
			return false;
	}
	return true;
}

void
genie_value_bit_print(StringInfo out, const uint8 *data, uint32 len)
{
	for (uint32 at = 0; at < len; at += GROUP_BYTES + 1)
	{
		uint32		used = data[at + GROUP_BYTES] == MORE_GROUPS ? GROUP_BITS : data[at + GROUP_BYTES];

		for (uint32 i = 0; i < used; i++)
			appendStringInfoChar(out, data[at + i / 8] & (0x80 >> (i % 8)) ? '1' : '0');
	}
}
