/*
 * genie_codec.c
 *	  Writes and reads posting lists in the forms of genie_posting.h.
 *
 * Writing.  The encoder keeps the first GENIE_LOOSE_MAX objects of a list as they come; if the list ends there, it is
 * LOOSE.  One more makes it TILED: the kept objects and all later ones go into the buffer of the tile at hand, which is
 * written when an object of a later tile comes or the list ends.  The three codecs' lengths are computed from the gaps
 * first, then only the best is written: the shortest, but BITMAP instead of PACKED up to BITMAP_WORTH times the bytes,
 * because it is read several times as fast.  So a tile's payload never exceeds a bitmap's bytes.
 *
 * Reading.  The bytes may be anything: a bound is checked before each read and each write, and a list is good only if
 * it gives exactly n ascending locals and uses all of its bytes.
 */
#include <assert.h>
#include <string.h>

#include "genie_bits.h"
#include "genie_codec.h"
#include "genie_list_reader.h"
#include "genie_varint.h"

#if defined(USE_ASSERT_CHECKING) && !defined(GENIE_CHECK_ROUNDTRIP)
#define GENIE_CHECK_ROUNDTRIP
#endif

/* bytes of a bitmap, in halves of those of packed gaps, that it is worth */
#define BITMAP_WORTH 3

/* ---- varints ---- */

static size_t
varint_len(uint32_t value)
{
	return value == 0 ? 1 : (genie_bits_needed(value) + 6) / 7;
}

/* Reads a varint of at most max and moves *data past it. */
static bool
varint_read(const uint8_t **data, const uint8_t *end, uint64_t max, uint64_t *value)
{
	size_t		len = genie_varint_get(*data, end, value);

	*data += len;
	return len > 0 && *value <= max;
}

/* ---- writing a tile's locals ---- */

typedef struct TileLengths
{
	size_t		packed;
	size_t		bitmap;
	size_t		runs;
} TileLengths;

/* The gap in front of each local of a block; next: the smallest that its first may be.  Returns all gaps, or-ed. */
static uint32_t
block_gaps(const uint16_t *locals, uint32_t n, uint32_t next, uint16_t *gaps)
{
	uint16_t	bits;

	bits = gaps[0] = (uint16_t) (locals[0] - next);
	for (uint32_t i = 1; i < n; i++)
	{
		gaps[i] = (uint16_t) (locals[i] - locals[i - 1] - 1);
		bits |= gaps[i];
	}
	return bits;
}

/* The last local of the run of local i.  Locals ascend: if local i + n is larger than local i by n, both are in it. */
static uint32_t
run_last(const uint16_t *locals, uint32_t n, uint32_t i)
{
	for (uint32_t step = 64; step > 0; step /= 4)
		while (i + step < n && locals[i + step] == locals[i] + step)
			i += step;
	return i;
}

static size_t
runs_length(const uint16_t *locals, uint32_t n)
{
	size_t		length = 0;
	uint32_t	next = 0;		/* the smallest local that may come next */

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	start = i;

		i = run_last(locals, n, i);
		length += varint_len(locals[start] - next) + varint_len(i - start);
		next = locals[i] + 1u;
	}
	return length;
}

static void
tile_lengths(const uint16_t *locals, uint32_t n, TileLengths *lengths)
{
	uint16_t	gaps[GENIE_BLOCK_VALUES];
	uint32_t	n_runs = 1;
	size_t		other;

	lengths->packed = 0;
	lengths->bitmap = locals[n - 1] / 8 + 1;
	for (uint32_t start = 0; start < n; start += GENIE_BLOCK_VALUES)
	{
		uint32_t	n_block = n - start < GENIE_BLOCK_VALUES ? n - start : GENIE_BLOCK_VALUES;
		uint32_t	bits = block_gaps(locals + start, n_block, start == 0 ? 0 : locals[start - 1] + 1u, gaps);
		uint16_t	n_in_block = 0;

		lengths->packed += 1 + genie_bits_bytes(n_block, genie_bits_needed(bits));
		for (uint32_t i = 0; i < n_block; i++)
			n_in_block += gaps[i] > 0;
		n_runs += n_in_block;
	}
	n_runs -= locals[0] > 0;	/* the tile's first gap begins no other run */

	/* a run takes two bytes or more */
	other = lengths->bitmap < lengths->packed ? lengths->bitmap : lengths->packed;
	lengths->runs = 2 * (size_t) n_runs < other ? runs_length(locals, n) : 2 * (size_t) n_runs;
}

static size_t
write_packed(uint8_t *out, const uint16_t *locals, uint32_t n)
{
	uint8_t    *at = out;

	for (uint32_t start = 0; start < n; start += GENIE_BLOCK_VALUES)
	{
		uint16_t	gaps[GENIE_BLOCK_VALUES];
		uint32_t	values[GENIE_BLOCK_VALUES];
		uint32_t	n_block = n - start < GENIE_BLOCK_VALUES ? n - start : GENIE_BLOCK_VALUES;
		uint32_t	bits = block_gaps(locals + start, n_block, start == 0 ? 0 : locals[start - 1] + 1u, gaps);
		uint32_t	width = genie_bits_needed(bits);

		for (uint32_t i = 0; i < n_block; i++)
			values[i] = gaps[i];
		*at++ = (uint8_t) width;
		genie_bits_pack(at, values, n_block, width);
		at += genie_bits_bytes(n_block, width);
	}
	return (size_t) (at - out);
}

static size_t
write_bitmap(uint8_t *out, const uint16_t *locals, uint32_t n)
{
	size_t		len = locals[n - 1] / 8 + 1;
	uint32_t	i = 0;

	memset(out, 0, len);
	while (i < n)
	{
		uint32_t	at = locals[i] / 64;
		uint64_t	word = 0;
		uint8_t    *to = out + 8 * at;

		while (i < n && locals[i] / 64 == at)
			word |= UINT64_C(1) << (locals[i++] % 64);
		for (; word != 0; word >>= 8)
			*to++ = (uint8_t) word;
	}
	return len;
}

static size_t
write_runs(uint8_t *out, const uint16_t *locals, uint32_t n)
{
	uint8_t    *at = out;
	uint32_t	next = 0;		/* the smallest local that may come next */

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	start = i;

		i = run_last(locals, n, i);
		at += genie_varint_put(at, locals[start] - next);
		at += genie_varint_put(at, i - start);
		next = locals[i] + 1u;
	}
	return (size_t) (at - out);
}

#ifdef GENIE_CHECK_ROUNDTRIP
static void
check_roundtrip(GenieListEncoder *encoder, size_t len)
{
	GenieListRef ref = {0};
	uint32_t	tile;
	size_t		header_len;

	if (!genie_tile_header(encoder->bytes, encoder->bytes + len, encoder->last_tile,
						   &tile, &ref, &header_len))
		assert(!"tile header does not read back");
	assert(tile == encoder->tile && ref.n == encoder->n_locals && header_len + ref.nbytes == len);
	ref.data = encoder->bytes + header_len;
	if (!genie_list_decode(&ref, encoder->check))
		assert(!"tile does not read back");
	assert(memcmp(encoder->check, encoder->locals, ref.n * sizeof(uint16_t)) == 0);
}
#endif

static void
write_tile(GenieListEncoder *encoder)
{
	const uint16_t *locals = encoder->locals;
	uint32_t	n = encoder->n_locals;
	GenieCodec	codec = GENIE_CODEC_PACKED;
	TileLengths lengths;
	size_t		payload;
	size_t		len;

	tile_lengths(locals, n, &lengths);
	payload = lengths.packed;
	if (2 * lengths.bitmap <= BITMAP_WORTH * payload)
	{
		codec = GENIE_CODEC_BITMAP;
		payload = lengths.bitmap;
	}
	if (lengths.runs < payload && lengths.runs < lengths.packed)
	{
		codec = GENIE_CODEC_RUNS;
		payload = lengths.runs;
	}

	len = genie_varint_put(encoder->bytes, (uint64_t) (encoder->tile - encoder->last_tile - 1));
	len += genie_varint_put(encoder->bytes + len, n - 1);
	encoder->bytes[len++] = (uint8_t) codec;
	len += genie_varint_put(encoder->bytes + len, payload);
	if (codec == GENIE_CODEC_PACKED)
		len += write_packed(encoder->bytes + len, locals, n);
	else if (codec == GENIE_CODEC_BITMAP)
		len += write_bitmap(encoder->bytes + len, locals, n);
	else
		len += write_runs(encoder->bytes + len, locals, n);

#ifdef GENIE_CHECK_ROUNDTRIP
	check_roundtrip(encoder, len);
#endif
	encoder->emit(encoder->arg, encoder->bytes, len);
	encoder->last_tile = encoder->tile;
	encoder->n_locals = 0;
}

/* ---- writing a list ---- */

static void
add_to_tile(GenieListEncoder *encoder, uint32_t object)
{
	uint32_t	tile = object >> GENIE_TILE_SHIFT;

	if (encoder->n_locals > 0 && tile != encoder->tile)
		write_tile(encoder);
	encoder->tile = tile;
	encoder->locals[encoder->n_locals++] = (uint16_t) object;
}

void
genie_list_begin(GenieListEncoder *encoder, GenieEmit emit, void *arg)
{
	encoder->emit = emit;
	encoder->arg = arg;
	encoder->n = 0;
	encoder->last = 0;
	encoder->last_tile = -1;
	encoder->tiled = false;
	encoder->n_locals = 0;
	encoder->tile = 0;
}

bool
genie_list_add(GenieListEncoder *encoder, uint32_t object)
{
	if (encoder->n > 0 && object <= encoder->last)
		return false;

	encoder->last = object;
	if (encoder->n < GENIE_LOOSE_MAX)
	{
		encoder->loose[encoder->n++] = object;
		return true;
	}
	if (!encoder->tiled)
	{
		uint8_t		form = GENIE_LIST_TILED;

		encoder->tiled = true;
		encoder->emit(encoder->arg, &form, 1);
		for (uint32_t i = 0; i < GENIE_LOOSE_MAX; i++)
			add_to_tile(encoder, encoder->loose[i]);
	}
	add_to_tile(encoder, object);
	encoder->n++;
	return true;
}

bool
genie_list_add_many(GenieListEncoder *encoder, const uint32_t *objects, size_t n)
{
	size_t		i = 0;
	bool		ascends = true;

	/* one more than a LOOSE list makes it TILED */
	while (i < n && encoder->n <= GENIE_LOOSE_MAX)
		if (!genie_list_add(encoder, objects[i++]))
			return false;
	if (i == n)
		return true;
	if (objects[i] <= encoder->last)
		return false;
	for (size_t j = i + 1; j < n; j++)
		ascends &= objects[j] > objects[j - 1];
	if (!ascends)
		return false;
	encoder->n += n - i;
	encoder->last = objects[n - 1];
	while (i < n)
	{
		uint32_t	tile = objects[i] >> GENIE_TILE_SHIFT;
		size_t		end = n;
		uint16_t   *to;

		if (objects[n - 1] >> GENIE_TILE_SHIFT != tile)
			for (end = i + 1; objects[end] >> GENIE_TILE_SHIFT == tile;)
				end++;
		if (encoder->n_locals > 0 && tile != encoder->tile)
			write_tile(encoder);
		encoder->tile = tile;
		to = encoder->locals + encoder->n_locals;
		encoder->n_locals += (uint32_t) (end - i);
		while (i < end)
			*to++ = (uint16_t) objects[i++];
	}
	return true;
}

static void
write_loose(GenieListEncoder *encoder)
{
	size_t		len = 0;
	int64_t		previous = -1;

	encoder->bytes[len++] = GENIE_LIST_LOOSE;
	for (uint64_t i = 0; i < encoder->n; i++)
	{
		len += genie_varint_put(encoder->bytes + len,
								(uint64_t) (encoder->loose[i] - previous - 1));
		previous = encoder->loose[i];
	}

#ifdef GENIE_CHECK_ROUNDTRIP
	{
		uint32_t	objects[GENIE_LOOSE_MAX];

		if (!genie_loose_decode(encoder->bytes + 1, len - 1, (uint32_t) encoder->n, objects))
			assert(!"loose list does not read back");
		assert(memcmp(objects, encoder->loose, encoder->n * sizeof(uint32_t)) == 0);
	}
#endif
	encoder->emit(encoder->arg, encoder->bytes, len);
}

void
genie_list_end(GenieListEncoder *encoder)
{
	if (encoder->tiled)
		write_tile(encoder);
	else if (encoder->n > 0)
		write_loose(encoder);
}

/* ---- reading ---- */

bool
genie_tile_header(const uint8_t *data, const uint8_t *end, int64_t previous_tile,
				  uint32_t *tile, GenieListRef *ref, size_t *header_len)
{
	const uint8_t *at = data;
	const int64_t last_tile = UINT32_MAX >> GENIE_TILE_SHIFT;
	uint64_t	gap;
	uint64_t	n_less_1;
	uint64_t	nbytes;

	if (previous_tile >= last_tile ||
		!varint_read(&at, end, (uint64_t) (last_tile - previous_tile - 1), &gap) ||
		!varint_read(&at, end, GENIE_TILE_OBJECTS - 1, &n_less_1))
		return false;
	if (at == end || *at < GENIE_CODEC_PACKED || *at > GENIE_CODEC_RUNS)
		return false;
	ref->codec = *at++;
	if (!varint_read(&at, end, GENIE_TILE_PAYLOAD_MAX, &nbytes) || nbytes == 0)
		return false;

	*tile = (uint32_t) (previous_tile + 1 + (int64_t) gap);
	*header_len = (size_t) (at - data);
	ref->n = (uint32_t) n_less_1 + 1;
	ref->nbytes = (uint32_t) nbytes;
	ref->data = NULL;
	return true;
}

static bool
decode_packed(const GenieListRef *ref, uint16_t *locals)
{
	GeniePackedReader reader;
	uint16_t	block[GENIE_BLOCK_VALUES];
	uint32_t	n;

	genie_packed_begin(&reader, genie_unpack_choose(), ref);
	while ((n = genie_packed_next(&reader, block)) > 0)
	{
		memcpy(locals, block, n * sizeof(uint16_t));
		locals += n;
	}
	return genie_packed_good(&reader);
}

static bool
decode_bitmap(const GenieListRef *ref, uint16_t *locals)
{
	uint32_t	n = 0;

	if (ref->nbytes == 0 || ref->nbytes > GENIE_TILE_BITMAP_BYTES || ref->data[ref->nbytes - 1] == 0)
		return false;
	for (uint32_t start = 0; start < ref->nbytes; start += 8)
	{
		uint32_t	len = ref->nbytes - start < 8 ? ref->nbytes - start : 8;
		uint64_t	word = 0;

		for (uint32_t i = 0; i < len; i++)
			word |= (uint64_t) ref->data[start + i] << (8 * i);
		if ((uint32_t) __builtin_popcountll(word) > ref->n - n)
			return false;
		for (; word != 0; word &= word - 1)
			locals[n++] = (uint16_t) (start * 8 + (uint32_t) __builtin_ctzll(word));
	}
	return n == ref->n;
}

static bool
decode_runs(const GenieListRef *ref, uint16_t *locals)
{
	GenieRunsReader reader;
	uint32_t	start;
	uint32_t	len;

	genie_runs_begin(&reader, ref);
	while ((len = genie_runs_next(&reader, &start)) > 0)
	{
		for (uint32_t i = 0; i < len; i++)
			*locals++ = (uint16_t) (start + i);
	}
	return genie_runs_good(&reader);
}

static bool
decode_raw(const GenieListRef *ref, uint16_t *locals)
{
	if (ref->nbytes != (uint64_t) ref->n * 2)
		return false;
	for (uint32_t i = 0; i < ref->n; i++)
		locals[i] = (uint16_t) (ref->data[2 * (size_t) i] | ref->data[2 * (size_t) i + 1] << 8);
	return true;
}

bool
genie_list_decode(const GenieListRef *ref, uint16_t *locals)
{
	switch (ref->codec)
	{
		case GENIE_CODEC_PACKED:
			return decode_packed(ref, locals);
		case GENIE_CODEC_BITMAP:
			return decode_bitmap(ref, locals);
		case GENIE_CODEC_RUNS:
			return decode_runs(ref, locals);
		case GENIE_CODEC_RAW:
			return decode_raw(ref, locals);
	}
	return false;
}

bool
genie_loose_decode(const uint8_t *data, size_t nbytes, uint32_t n, uint32_t *objects)
{
	const uint8_t *end = data + nbytes;
	uint64_t	next = 0;		/* the smallest object that may come next */

	if (n > GENIE_LOOSE_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	gap;

		if (!varint_read(&data, end, UINT32_MAX, &gap) || next + gap > UINT32_MAX)
			return false;
		objects[i] = (uint32_t) (next + gap);
		next += gap + 1;
	}
	return data == end;
}
