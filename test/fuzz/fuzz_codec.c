/*
 * fuzz_codec.c
 *	  Fuzz target for everything that reads posting lists.
 *
 * The first byte of the input says what the rest is:
 *
 *	0	a list as it is on disk, form byte first; a loose list's number of postings is the byte before it
 *	1	one tile's list: codec, n (two bytes), payload; decoded, and counted by the engine
 *	2	gaps of objects, one varint each: written, read back and compared
 *	3	chunks of 16 bytes: read by all kernels, and written again if they are a list
 *
 * Anything that a reader accepts must keep what the reader promises, or the target aborts.
 */
#include <stdlib.h>
#include <string.h>

#include "genie_codec.h"
#include "genie_engine_cpu.h"
#include "genie_varint.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OBJECTS_MAX 4096		/* of a written list */

static void
require(bool promise)
{
	if (!promise)
		abort();
}

/* what genie_list_decode gives must ascend, but for RAW */
static bool
decode(const GenieListRef *ref)
{
	uint16_t   *locals = malloc(ref->n * sizeof(uint16_t));
	bool		good = genie_list_decode(ref, locals);

	for (uint32_t i = 1; good && i < ref->n; i++)
		require(ref->codec == GENIE_CODEC_RAW || locals[i] > locals[i - 1]);
	free(locals);
	return good;
}

static void
read_list(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	int64_t		tile_before = -1;
	uint32_t	objects[256];

	if (size < 2)
		return;
	if (data[1] == GENIE_LIST_LOOSE)
	{
		if (genie_loose_decode(data + 2, size - 2, data[0], objects))
			for (uint32_t i = 1; i < data[0]; i++)
				require(objects[i] > objects[i - 1]);
		return;
	}
	data += 2;
	while (data < end)
	{
		GenieListRef ref;
		uint32_t	tile;
		size_t		header_len;

		if (!genie_tile_header(data, end, tile_before, &tile, &ref, &header_len))
			return;
		require((int64_t) tile > tile_before && header_len <= GENIE_TILE_HEADER_MAX);
		require(ref.n >= 1 && ref.n <= GENIE_TILE_OBJECTS && ref.nbytes <= GENIE_TILE_PAYLOAD_MAX);
		data += header_len;
		if ((size_t) (end - data) < ref.nbytes)
			return;
		ref.data = data;
		decode(&ref);
		data += ref.nbytes;
		tile_before = tile;
	}
}

static void
count_tile(const uint8_t *data, size_t size)
{
	static uint8_t *memory;
	static uint16_t counts[GENIE_TILE_OBJECTS];
	GenieListRef ref = {0};
	GenieTileView tile = {.n_objects = 50000, .n_lists = 1, .lists = &ref};
	GenieGroupView group = {.n_tiles = 1, .tiles = &tile};
	GenieRankRange range = {0, 1};
	GenieEngineQuery query = {.n_ranges = 1, .ranges = &range, .max_count = 200};
	uint16_t   *const results[1] = {counts};
	GenieHit	hits[GENIE_TOPK_SLACK + 10];
	GenieTopK	top;
	GenieTopK  *tops[1] = {&top};
	GenieEngine *engine;
	GenieStatus status;
	bool		good;

	if (size < 4)
		return;
	ref.codec = data[0];
	ref.n = 1 + (uint32_t) (data[1] | data[2] << 8);
	ref.data = data + 3;
	ref.nbytes = (uint32_t) (size - 3);
	good = decode(&ref);

	if (memory == NULL)
		memory = malloc(genie_cpu_engine_size() + 64);
	engine = genie_cpu_engine_open((void *) (((uintptr_t) memory + 63) / 64 * 64));
	status = genie_cpu_count(engine, &group, 1, &query, results);
	require(status == GENIE_OK || status == GENIE_STATUS_CORRUPT);
	require(!good || status == GENIE_OK || ref.codec == GENIE_CODEC_RAW);

	genie_topk_init(&top, hits, 10, 1, NULL);
	genie_cpu_search(engine, &group, 1, &query, tops);
	for (uint32_t i = 0; i < top.n; i++)
		require(hits[i].object < tile.n_objects && hits[i].key <= query.max_count);
	engine->ops->close(engine);
}

typedef struct Written
{
	size_t		n;
	uint8_t		bytes[OBJECTS_MAX * 16];
} Written;

static void
emit(void *arg, const uint8_t *bytes, size_t n)
{
	Written    *written = arg;

	require(written->n + n <= sizeof(written->bytes));
	memcpy(written->bytes + written->n, bytes, n);
	written->n += n;
}

/* Do the bytes from form byte on give the objects? */
static void
require_objects(const Written *written, const uint32_t *objects, uint32_t n)
{
	static uint16_t locals[GENIE_TILE_OBJECTS];
	const uint8_t *at = written->bytes + 1;
	const uint8_t *end = written->bytes + written->n;
	int64_t		tile_before = -1;
	uint32_t	done = 0;

	if (written->bytes[0] == GENIE_LIST_LOOSE)
	{
		uint32_t	loose[GENIE_LOOSE_MAX];

		require(genie_loose_decode(at, written->n - 1, n, loose));
		require(memcmp(loose, objects, n * sizeof(uint32_t)) == 0);
		return;
	}
	while (at < end)
	{
		GenieListRef ref;
		uint32_t	tile;
		size_t		header_len;

		require(genie_tile_header(at, end, tile_before, &tile, &ref, &header_len));
		ref.data = at + header_len;
		require(genie_list_decode(&ref, locals));
		for (uint32_t i = 0; i < ref.n; i++, done++)
			require(done < n && objects[done] == ((tile << GENIE_TILE_SHIFT) | locals[i]));
		at = ref.data + ref.nbytes;
		tile_before = tile;
	}
	require(done == n);
}

static void
write_list(const uint8_t *data, size_t size)
{
	static GenieListEncoder encoder;
	static Written written;
	static uint32_t objects[OBJECTS_MAX];
	const uint8_t *end = data + size;
	uint64_t	next = 0;
	uint64_t	gap;
	uint32_t	n = 0;
	size_t		len;

	written.n = 0;
	genie_list_begin(&encoder, emit, &written);
	while (n < OBJECTS_MAX && (len = genie_varint_get(data, end, &gap)) > 0)
	{
		data += len;
		if (gap > UINT32_MAX - next)
			break;
		objects[n] = (uint32_t) (next + gap);
		genie_list_add(&encoder, objects[n]);
		next = (uint64_t) objects[n++] + 1;
		if (next > UINT32_MAX)
			break;
	}
	genie_list_end(&encoder);
	if (n > 0)
		require_objects(&written, objects, n);
	else
		require(written.n == 0);
}

/* Any bytes as chunks: all kernels say the same, and what is taken for a list is written so. */
static void
read_chunks(const uint8_t *data, size_t size)
{
	enum {CHUNKS_MAX = 64, LOCALS_MAX = CHUNKS_MAX * GENIE_CHUNK_LOCALS + GENIE_UNPACK_SPARE};
	GenieChunk	chunks[CHUNKS_MAX];
	GenieChunk	again[CHUNKS_MAX] = {{{0}}};
	uint16_t	locals[LOCALS_MAX];
	uint16_t	others[LOCALS_MAX];
	uint32_t	n_chunks = (uint32_t) (size / GENIE_CHUNK_BYTES < CHUNKS_MAX ? size / GENIE_CHUNK_BYTES : CHUNKS_MAX);
	uint32_t	width = 0;
	uint32_t	n_read;
	uint32_t	n;

	if (n_chunks == 0)
		return;
	memcpy(chunks, data, n_chunks * sizeof(GenieChunk));
	n = genie_unpack_portable.chunks(chunks, n_chunks, locals);
	require(n >= n_chunks && n <= n_chunks * GENIE_CHUNK_LOCALS);
	for (uint32_t i = 1; genie_unpack_nth(i) != NULL; i++)
		require(genie_unpack_nth(i)->chunks(chunks, n_chunks, others) == n &&
				memcmp(locals, others, n * sizeof(uint16_t)) == 0);
	if (!genie_chunks_read(chunks, n_chunks, GENIE_TILE_OBJECTS, locals, &n_read))
		return;
	require(n_read == n && genie_chunks_count(locals, n, &width) == n_chunks);
	genie_chunks_write(locals, n, width, again);
	require(memcmp(again, chunks, n_chunks * sizeof(GenieChunk)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	switch (data[0])
	{
		case 0:
			read_list(data + 1, size - 1);
			break;
		case 1:
			count_tile(data + 1, size - 1);
			break;
		case 2:
			write_list(data + 1, size - 1);
			break;
		case 3:
			read_chunks(data + 1, size - 1);
			break;
	}
	return 0;
}
