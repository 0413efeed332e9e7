/*
 * test_codec.c
 *	  Posting lists and packed integers: what is written reads back, in the best codec, and no
 *	  bytes whatever make a reader leave its bounds.
 *
 * The encoder is compared with lengths computed here from the format's description; the kernels of each
 * instruction set that this processor has with the portable ones.
 */
#include <string.h>

#include "genie_bits.h"
#include "genie_codec.h"
#include "genie_test.h"
#include "genie_unpack.h"
#include "genie_varint.h"

#define BUFFER_BYTES (1 << 22)

typedef struct Buffer
{
	size_t		n;
	uint8_t		bytes[BUFFER_BYTES];
} Buffer;

static GenieListEncoder encoder;
static Buffer buffer;
static uint16_t locals[GENIE_TILE_OBJECTS];
static uint16_t decoded[GENIE_TILE_OBJECTS];

static void
emit(void *arg, const uint8_t *bytes, size_t n)
{
	Buffer	   *to = arg;

	if (to->n + n > BUFFER_BYTES)
		abort();
	memcpy(to->bytes + to->n, bytes, n);
	to->n += n;
}

static void
encode(const uint32_t *objects, size_t n)
{
	buffer.n = 0;
	genie_list_begin(&encoder, emit, &buffer);
	for (size_t i = 0; i < n; i++)
	{
		if (!genie_list_add(&encoder, objects[i]))
			CHECK(!"an ascending object is refused");
		if (i % 500 == 0 && (genie_list_add(&encoder, objects[i]) || genie_list_add(&encoder, 0)))
			CHECK(!"an object that does not ascend is taken");
	}
	genie_list_end(&encoder);
}

/* The same by pieces of many lengths must give the same bytes. */
static bool
encodes_by_pieces(const uint32_t *objects, size_t n)
{
	static Buffer by_one;
	size_t		piece = 1 + n % 7;

	by_one.n = buffer.n;
	memcpy(by_one.bytes, buffer.bytes, buffer.n);
	buffer.n = 0;
	genie_list_begin(&encoder, emit, &buffer);
	for (size_t i = 0; i < n; i += piece, piece = piece * 3 % 1009)
		if (!genie_list_add_many(&encoder, objects + i, n - i < piece ? n - i : piece))
			return false;
	if (n > 0 && genie_list_add_many(&encoder, objects + n - 1, 1))
		return false;
	genie_list_end(&encoder);
	return buffer.n == by_one.n && memcmp(buffer.bytes, by_one.bytes, buffer.n) == 0;
}

/* Is buffer a list of exactly these objects?  The payload is read from memory of its own length. */
static bool
reads_back(const uint32_t *objects, size_t n)
{
	const uint8_t *at = buffer.bytes + 1;
	const uint8_t *end = buffer.bytes + buffer.n;
	int64_t		tile_before = -1;
	size_t		done = 0;

	if (n == 0)
		return buffer.n == 0;
	if (buffer.bytes[0] == GENIE_LIST_LOOSE)
	{
		uint32_t	loose[GENIE_LOOSE_MAX];

		return n <= GENIE_LOOSE_MAX && genie_loose_decode(at, buffer.n - 1, (uint32_t) n, loose) &&
			memcmp(loose, objects, n * sizeof(uint32_t)) == 0;
	}
	if (buffer.bytes[0] != GENIE_LIST_TILED || n <= GENIE_LOOSE_MAX)
		return false;
	while (at < end)
	{
		GenieListRef ref;
		uint32_t	tile;
		size_t		header_len;
		uint8_t    *payload;
		bool		good;

		if (!genie_tile_header(at, end, tile_before, &tile, &ref, &header_len) ||
			header_len > GENIE_TILE_HEADER_MAX || at + header_len + ref.nbytes > end)
			return false;
		payload = malloc(ref.nbytes);
		memcpy(payload, at + header_len, ref.nbytes);
		ref.data = payload;
		good = genie_list_decode(&ref, decoded);
		free(payload);
		if (!good || done + ref.n > n)
			return false;
		for (uint32_t i = 0; i < ref.n; i++)
			if (((tile << GENIE_TILE_SHIFT) | decoded[i]) != objects[done + i])
				return false;
		done += ref.n;
		tile_before = tile;
		at += header_len + ref.nbytes;
	}
	return done == n;
}

static void
check_list(const uint32_t *objects, size_t n)
{
	encode(objects, n);
	CHECK(reads_back(objects, n));
	CHECK(encodes_by_pieces(objects, n));
}

static void
test_order(void)
{
	uint32_t	objects[200];

	for (uint32_t i = 0; i < 200; i++)
		objects[i] = 3 * i;
	objects[150] = objects[149];
	genie_list_begin(&encoder, emit, &buffer);
	CHECK(!genie_list_add_many(&encoder, objects, 200));
	objects[150] = 450;
	objects[20] = 0;
	genie_list_begin(&encoder, emit, &buffer);
	CHECK(!genie_list_add_many(&encoder, objects, 200));
}

static void
test_varints(void)
{
	uint8_t		bytes[GENIE_VARINT_MAX + 1];
	const uint8_t overlong[] = {0x80, 0x00};
	const uint8_t too_large[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02};
	const uint8_t endless[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
	uint64_t	value;

	for (int bit = 0; bit < 64; bit++)
	{
		for (int delta = -1; delta <= 1; delta++)
		{
			uint64_t	wanted = (UINT64_C(1) << bit) + (uint64_t) delta;
			size_t		len = genie_varint_put(bytes, wanted);

			CHECK_INT(genie_varint_get(bytes, bytes + len, &value), len);
			CHECK(value == wanted);
			for (size_t cut = 0; cut < len; cut++)
				CHECK_INT(genie_varint_get(bytes, bytes + cut, &value), 0);
		}
	}
	CHECK_INT(genie_varint_get(overlong, overlong + sizeof(overlong), &value), 0);
	CHECK_INT(genie_varint_get(too_large, too_large + sizeof(too_large), &value), 0);
	CHECK_INT(genie_varint_get(endless, endless + sizeof(endless), &value), 0);
}

static void
test_bits(GenieRandom *random)
{
	for (uint32_t width = 0; width <= 32; width++)
	{
		for (size_t n = 0; n < 70; n++)
		{
			uint32_t	values[70];
			uint32_t	back[70];
			size_t		len = genie_bits_bytes(n, width);
			uint8_t    *bytes = malloc(len + 1);
			bool		same = true;

			for (size_t i = 0; i < n; i++)
				values[i] = (uint32_t) (genie_random(random) & ((UINT64_C(1) << width) - 1));
			bytes[len] = 0xA5;
			genie_bits_pack(bytes, values, n, width);
			CHECK(bytes[len] == 0xA5);
			bytes = realloc(bytes, len > 0 ? len : 1);
			genie_bits_unpack(bytes, n, width, back);
			for (size_t i = 0; i < n; i++)
				same = same && values[i] == back[i];
			CHECK(same);
			if (width <= 8)
			{
				uint8_t		narrow[70];
				uint32_t	largest = 0;

				CHECK(genie_bits_unpack_bytes(bytes, n, width, narrow) < 1u << width);
				for (size_t i = 0; i < n; i++)
				{
					same = same && values[i] == narrow[i];
					largest = values[i] > largest ? values[i] : largest;
				}
				CHECK(same);
				CHECK_INT(genie_bits_unpack_bytes(bytes, n, width, narrow), largest);
			}
			free(bytes);
		}
	}
	CHECK_INT(genie_bits_needed(0), 0);
	CHECK_INT(genie_bits_needed(1), 1);
	CHECK_INT(genie_bits_needed(255), 8);
	CHECK_INT(genie_bits_needed(256), 9);
	CHECK_INT(genie_bits_needed(UINT32_MAX), 32);
}

/* ---- the best codec ---- */

static size_t
varint_bytes(uint32_t value)
{
	uint8_t		bytes[GENIE_VARINT_MAX];

	return genie_varint_put(bytes, value);
}

/* The codec and length that the format's description gives, computed plainly. */
static size_t
best_length(uint32_t n, int *codec)
{
	size_t		packed = 0;
	size_t		bitmap = locals[n - 1] / 8 + 1;
	size_t		runs = 0;
	size_t		best;
	int			end = -1;

	for (uint32_t start = 0; start < n; start += 128)
	{
		uint32_t	stop = start + 128 < n ? start + 128 : n;
		uint32_t	largest = 0;

		for (uint32_t i = start; i < stop; i++)
		{
			uint32_t	gap = i == 0 ? locals[0] : (uint32_t) (locals[i] - locals[i - 1] - 1);

			largest = gap > largest ? gap : largest;
		}
		packed += 1 + ((stop - start) * genie_bits_needed(largest) + 7) / 8;
	}
	for (uint32_t i = 0; i < n;)
	{
		uint32_t	start = i;

		while (i + 1 < n && locals[i + 1] == locals[i] + 1)
			i++;
		runs += varint_bytes((uint32_t) (locals[start] - end - 1)) + varint_bytes(i - start);
		end = locals[i++];
	}

	*codec = GENIE_CODEC_PACKED;
	best = packed;
	if (2 * bitmap <= 3 * best) /* it is read faster */
	{
		*codec = GENIE_CODEC_BITMAP;
		best = bitmap;
	}
	if (runs < best && runs < packed)
	{
		*codec = GENIE_CODEC_RUNS;
		best = runs;
	}
	return best;
}

/* How many gaps of a width n locals take, and how many chunks, by the format's description. */
static uint32_t
chunks_of_width(uint32_t n, uint32_t width)
{
	const uint32_t room = width == 8 ? 13 : 27;
	const uint32_t most = width == 8 ? 254 : 14;
	uint32_t	n_chunks = 1;
	uint32_t	used = 0;

	for (uint32_t i = 1; i < n; i++)
	{
		uint32_t	needed = 1;

		for (uint32_t gap = (uint32_t) locals[i] - locals[i - 1]; gap > most; gap -= most)
			needed++;
		used += needed;
		if (used > room)
		{
			n_chunks++;
			used = 0;
		}
	}
	return n_chunks;
}

/* The locals as chunks: no more than needed, the same by every kernel, and no change of a byte goes unnoticed. */
static void
check_chunks(uint32_t n)
{
	static uint16_t decoded[GENIE_TILE_OBJECTS * 2 + GENIE_UNPACK_SPARE];
	uint32_t	of_8 = chunks_of_width(n, 8);
	uint32_t	of_4 = chunks_of_width(n, 4);
	uint32_t	width;
	uint32_t	n_chunks = genie_chunks_count(locals, n, &width);
	GenieChunk *chunks = calloc(n_chunks, sizeof(GenieChunk));
	uint32_t	n_read;

	CHECK_INT(n_chunks, of_8 <= of_4 ? of_8 : of_4);
	CHECK_INT(width, of_8 <= of_4 ? 8 : 4);
	genie_chunks_write(locals, n, width, chunks);
	CHECK_INT(genie_chunk_width(chunks), width);
	for (uint32_t i = 0; genie_unpack_nth(i) != NULL; i++)
	{
		uint32_t	last = n_chunks / 2;

		CHECK_INT(genie_unpack_nth(i)->chunks(chunks, n_chunks, decoded), n);
		CHECK(memcmp(decoded, locals, n * sizeof(uint16_t)) == 0);

		/* by itself: a chunk in the middle */
		n_read = genie_unpack_nth(i)->chunks(chunks + last, 1, decoded);
		CHECK(n_read >= 1 && n_read <= GENIE_CHUNK_LOCALS && decoded[0] == genie_chunk_first(&chunks[last]));
	}
	CHECK(genie_chunks_read(chunks, n_chunks, locals[n - 1] + 1u, decoded, &n_read) && n_read == n);
	CHECK(!genie_chunks_read(chunks, n_chunks, locals[n - 1], decoded, &n_read));
	free(chunks);
}

/* n locals in locals[], in tile 3, behind 65 objects of tile 0 that make the list tiled */
static void
check_tile(uint32_t n)
{
	static uint32_t objects[GENIE_TILE_OBJECTS + GENIE_LOOSE_MAX + 1];
	GenieListRef ref;
	uint32_t	tile;
	size_t		header_len;
	size_t		first_len;
	int			codec;
	size_t		wanted = best_length(n, &codec);

	check_chunks(n);

	for (uint32_t i = 0; i <= GENIE_LOOSE_MAX; i++)
		objects[i] = i;
	for (uint32_t i = 0; i < n; i++)
		objects[GENIE_LOOSE_MAX + 1 + i] = 3 * GENIE_TILE_OBJECTS + locals[i];
	check_list(objects, n + GENIE_LOOSE_MAX + 1);

	/* the second record */
	if (!CHECK(genie_tile_header(buffer.bytes + 1, buffer.bytes + buffer.n, -1, &tile, &ref, &header_len)))
		return;
	first_len = 1 + header_len + ref.nbytes;
	if (!CHECK(genie_tile_header(buffer.bytes + first_len, buffer.bytes + buffer.n, 0, &tile, &ref, &header_len)))
		return;
	CHECK_INT(tile, 3);
	CHECK_INT(ref.n, n);
	CHECK_INT(ref.codec, codec);
	CHECK_INT(ref.nbytes, wanted);
}

static void
test_tiles(GenieRandom *random)
{
	static const uint32_t steps[] = {1, 2, 3, 4, 5, 8, 9, 16, 40, 300, 3000, 30000, 65535};
	uint32_t	n;

	/* a single local, at each end */
	locals[0] = 0;
	check_tile(1);
	locals[0] = 65535;
	check_tile(1);
	locals[0] = 0;
	locals[1] = 65535;
	check_tile(2);

	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++)
	{
		/* evenly spaced (1: all of the tile) */
		n = 0;
		for (uint32_t local = 0; local < GENIE_TILE_OBJECTS; local += steps[s])
			locals[n++] = (uint16_t) local;
		check_tile(n);

		/* runs of that length with gaps of that length */
		n = 0;
		for (uint32_t local = 0; local < GENIE_TILE_OBJECTS; local++)
			if (local / steps[s] % 2 == 1)
				locals[n++] = (uint16_t) local;
		if (n > 0)
			check_tile(n);

		/* random with that mean distance, twice: whole, and without the last part */
		for (uint32_t end = GENIE_TILE_OBJECTS; end >= 1000; end /= 3)
		{
			n = 0;
			for (uint32_t local = 0; local < end; local++)
				if (genie_random_below(random, steps[s]) == 0)
					locals[n++] = (uint16_t) local;
			if (n > 0)
				check_tile(n);
		}
	}

	/* 127, 128, 129 postings of every width */
	for (uint32_t count = 127; count <= 129; count++)
	{
		for (uint32_t width = 0; width <= 9; width++)
		{
			for (uint32_t i = 0, local = 0; i < count; i++)
			{
				local += (uint32_t) genie_random_below(random, UINT64_C(1) << width);
				locals[i] = (uint16_t) (local > 65535 - count + i ? 65535 - count + i : local);
				local = locals[i] + 1u;
			}
			check_tile(count);
		}
	}
}

/* Any bytes as chunks: every kernel says the same, and what is taken for a list is one. */
static void
test_hostile_chunks(GenieRandom *random)
{
	for (uint32_t round = 0; round < 100000; round++)
	{
		uint32_t	n_chunks = 1 + (uint32_t) genie_random_below(random, 3);
		GenieChunk	chunks[3];
		uint16_t	first[3 * GENIE_CHUNK_LOCALS + GENIE_UNPACK_SPARE];
		uint16_t	other[3 * GENIE_CHUNK_LOCALS + GENIE_UNPACK_SPARE];
		uint32_t	n = 1 + (uint32_t) genie_random_below(random, 20);
		uint32_t	width;
		uint32_t	n_read;

		memset(chunks, 0, sizeof(chunks));
		if (round % 2 == 0)
			for (uint32_t i = 0; i < sizeof(chunks); i++)
				chunks[i / GENIE_CHUNK_BYTES].bytes[i % GENIE_CHUNK_BYTES] = (uint8_t) genie_random_below(random, 256);
		else
		{
			/* of a list, and changed */
			for (uint32_t i = 0, local = 0; i < n; i++)
				locals[i] = (uint16_t) (local += 1 + (uint32_t) genie_random_below(random, round % 4 == 1 ? 14 : 500));
			n_chunks = genie_chunks_count(locals, n, &width);
			if (n_chunks > 3)
				continue;
			genie_chunks_write(locals, n, width, chunks);
			((uint8_t *) chunks)[genie_random_below(random, n_chunks * GENIE_CHUNK_BYTES)] ^=
				(uint8_t) (1 << genie_random_below(random, 8));
		}
		n = genie_unpack_portable.chunks(chunks, n_chunks, first);
		CHECK(n >= n_chunks && n <= n_chunks * GENIE_CHUNK_LOCALS);
		for (uint32_t i = 1; genie_unpack_nth(i) != NULL; i++)
			CHECK(genie_unpack_nth(i)->chunks(chunks, n_chunks, other) == n &&
				  memcmp(first, other, n * sizeof(uint16_t)) == 0);
		if (genie_chunks_read(chunks, n_chunks, GENIE_TILE_OBJECTS, other, &n_read))
		{
			GenieChunk	again[3] = {{{0}}};

			CHECK_INT(genie_chunks_count(other, n_read, &width), n_chunks);
			genie_chunks_write(other, n_read, width, again);
			CHECK(memcmp(again, chunks, n_chunks * sizeof(GenieChunk)) == 0);
		}
	}
}

static void
test_lists(GenieRandom *random)
{
	static uint32_t objects[300000];
	const uint32_t last[] = {UINT32_MAX - 1, UINT32_MAX};

	/* around the border between loose and tiled */
	for (uint32_t n = 0; n <= GENIE_LOOSE_MAX + 2; n++)
	{
		for (uint32_t i = 0; i < n; i++)
			objects[i] = i * 65000000u;
		check_list(objects, n);
		for (uint32_t i = 0; i < n; i++)
			objects[i] = UINT32_MAX - n + 1 + i;
		check_list(objects, n);
	}
	check_list(last, 2);

	/* long lists of every density, across tiles */
	for (uint32_t step = 1; step <= 1 << 14; step *= 2)
	{
		size_t		n = 0;
		uint32_t	object = (uint32_t) genie_random_below(random, 100000);

		while (n < 100000 && object < UINT32_MAX - step)
		{
			objects[n++] = object;
			object += 1 + (uint32_t) genie_random_below(random, 2 * step - 1);
		}
		check_list(objects, n);
	}
	genie_list_begin(&encoder, emit, &buffer);
	buffer.n = 0;
	genie_list_end(&encoder);
	CHECK_INT(buffer.n, 0);
}

/* ---- hostile bytes ---- */

/* Decodes from memory of exactly nbytes into memory of exactly n locals: the sanitizer watches. */
static bool
decode_exactly(const GenieListRef *ref, const uint8_t *bytes, bool *ascending)
{
	GenieListRef copy = *ref;
	uint8_t    *data = malloc(ref->nbytes > 0 ? ref->nbytes : 1);
	uint16_t   *out = malloc(ref->n * sizeof(uint16_t));
	bool		good;

	memcpy(data, bytes, ref->nbytes);
	copy.data = data;
	good = genie_list_decode(&copy, out);
	*ascending = true;
	for (uint32_t i = 1; good && i < ref->n; i++)
		*ascending = *ascending && (ref->codec == GENIE_CODEC_RAW || out[i] > out[i - 1]);
	free(out);
	free(data);
	return good;
}

static void
hurt_tile(GenieRandom *random, const GenieListRef *ref, const uint8_t *bytes)
{
	static uint8_t copy[GENIE_TILE_PAYLOAD_MAX];
	GenieListRef changed = *ref;
	bool		ascending;

	CHECK(decode_exactly(ref, bytes, &ascending) && ascending);

	/* too few or too many postings (PACKED may not see one that its last byte has bits for) or bytes */
	for (uint32_t n = ref->n > 9 ? ref->n - 9 : 1; n < ref->n + 9; n++)
	{
		bool		good;

		changed.n = n;
		good = decode_exactly(&changed, bytes, &ascending);
		CHECK(ascending && (good == (n == ref->n) || ref->codec == GENIE_CODEC_PACKED));
	}
	changed.n = ref->n;
	for (int i = 0; i < 20 && ref->nbytes > 1; i++)
	{
		changed.nbytes = i == 0 ? ref->nbytes - 1 : (uint32_t) genie_random_below(random, ref->nbytes);
		CHECK(!decode_exactly(&changed, bytes, &ascending));
	}
	changed.nbytes = ref->nbytes;

	for (int i = 0; i < 50; i++)
	{
		memcpy(copy, bytes, ref->nbytes);
		for (uint64_t flips = genie_random_below(random, 4) + 1; flips > 0; flips--)
			copy[genie_random_below(random, ref->nbytes)] ^= (uint8_t) (1 << genie_random_below(random, 8));
		decode_exactly(&changed, copy, &ascending);
		CHECK(ascending);

		/* as another codec */
		changed.codec = (uint16_t) genie_random_below(random, 6);
		decode_exactly(&changed, copy, &ascending);
		CHECK(ascending);
		changed.codec = ref->codec;
	}
}

static void
test_hostile_tiles(GenieRandom *random)
{
	static uint32_t objects[GENIE_TILE_OBJECTS];

	for (int round = 0; round < 150; round++)
	{
		uint32_t	step = 1u << genie_random_below(random, 9);
		uint32_t	n = 0;
		bool		runs = genie_random_below(random, 3) == 0;
		GenieListRef ref;
		uint32_t	tile;
		size_t		header_len;

		for (uint32_t local = 0; local < GENIE_TILE_OBJECTS; local++)
			if (runs ? local / step / 16 % 2 == 0 : genie_random_below(random, step) == 0)
				objects[n++] = local;
		encode(objects, n);
		if (!CHECK(n > GENIE_LOOSE_MAX &&
				   genie_tile_header(buffer.bytes + 1, buffer.bytes + buffer.n, -1, &tile, &ref, &header_len)))
			return;
		hurt_tile(random, &ref, buffer.bytes + 1 + header_len);
	}
}

static void
test_hostile_headers(GenieRandom *random)
{
	GenieListRef ref;
	uint32_t	tile;
	size_t		header_len;
	uint8_t		bytes[GENIE_TILE_HEADER_MAX + 3];
	const uint8_t zero_bytes[] = {0, 0, GENIE_CODEC_PACKED, 0};
	const uint8_t raw[] = {0, 0, GENIE_CODEC_RAW, 2};
	const uint8_t last_tile[] = {0, 0, GENIE_CODEC_PACKED, 1};
	const uint8_t too_many[] = {0, 0x80, 0x80, 0x04, GENIE_CODEC_PACKED, 1};
	const uint8_t too_long[] = {0, 0, GENIE_CODEC_PACKED, 0x81, 0x40};

	CHECK(!genie_tile_header(zero_bytes, zero_bytes + 4, -1, &tile, &ref, &header_len));
	CHECK(!genie_tile_header(raw, raw + 4, -1, &tile, &ref, &header_len));
	CHECK(genie_tile_header(last_tile, last_tile + 4, 65534, &tile, &ref, &header_len) && tile == 65535);
	CHECK(!genie_tile_header(last_tile, last_tile + 4, 65535, &tile, &ref, &header_len));
	CHECK(!genie_tile_header(too_many, too_many + 6, -1, &tile, &ref, &header_len));
	CHECK(!genie_tile_header(too_long, too_long + 5, -1, &tile, &ref, &header_len));
	for (size_t cut = 0; cut < 4; cut++)
		CHECK(!genie_tile_header(last_tile, last_tile + cut, -1, &tile, &ref, &header_len));

	for (int i = 0; i < 100000; i++)
	{
		size_t		len = genie_random_below(random, sizeof(bytes) + 1);
		int64_t		before = (int64_t) genie_random_below(random, 65537) - 1;

		for (size_t b = 0; b < len; b++)
			bytes[b] = (uint8_t) (genie_random(random) & (genie_random_below(random, 2) ? 0xFF : 0x83));
		if (genie_tile_header(bytes, bytes + len, before, &tile, &ref, &header_len))
			if (header_len > len || header_len > GENIE_TILE_HEADER_MAX || tile > 65535 || (int64_t) tile <= before ||
				ref.n == 0 || ref.n > GENIE_TILE_OBJECTS || ref.nbytes == 0 ||
				ref.nbytes > GENIE_TILE_PAYLOAD_MAX || ref.codec > GENIE_CODEC_RUNS)
				CHECK(!"a malformed header passed");
	}
}

static void
test_hostile_loose(GenieRandom *random)
{
	uint32_t	objects[GENIE_LOOSE_MAX + 1];
	const uint8_t past_end[] = {0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x00};
	const uint8_t one[] = {5};

	CHECK(genie_loose_decode(past_end, 5, 1, objects) && objects[0] == UINT32_MAX);
	CHECK(!genie_loose_decode(past_end, 6, 2, objects));
	CHECK(!genie_loose_decode(one, 1, 0, objects));
	CHECK(!genie_loose_decode(one, 1, 2, objects));
	CHECK(genie_loose_decode(one, 0, 0, objects));
	for (int i = 0; i < 20000; i++)
	{
		size_t		len = genie_random_below(random, 40);
		uint32_t	n = (uint32_t) genie_random_below(random, GENIE_LOOSE_MAX + 2);
		uint8_t    *bytes = malloc(len > 0 ? len : 1);

		for (size_t b = 0; b < len; b++)
			bytes[b] = (uint8_t) (genie_random(random) & (genie_random_below(random, 2) ? 0xFF : 0x7F));
		if (genie_loose_decode(bytes, len, n, objects))
			for (uint32_t o = 1; o < n; o++)
				if (objects[o] <= objects[o - 1])
					CHECK(!"loose objects do not ascend");
		free(bytes);
	}
}

int
main(void)
{
	GenieRandom random = {20180416};

	test_varints();
	test_order();
	test_bits(&random);
	test_tiles(&random);
	test_lists(&random);
	test_hostile_tiles(&random);
	test_hostile_headers(&random);
	test_hostile_chunks(&random);
	test_hostile_loose(&random);
	return genie_test_end();
}
