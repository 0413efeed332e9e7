/*
 * genie_builder.c
 *	  The in-memory inverted index of a build.
 *
 * Memory.  One context holds everything and is reset after each segment: the hash table of
 * keywords, an array with one GenieBuildList a keyword, chunks of list bytes cut from an arena, the
 * rows' TID numbers, sizes and values.  builder->used is the sum of what was taken from the arena; genie_builder_full()
 * adds the arrays and compares the sum with the limit.
 *
 * Speed.  A build spends most of its time finding keywords and appending to their lists, where it waits for memory.
 * So a slot of the hash table is 16 bytes and holds short keys (all integers) whole.  What will be touched is
 * prefetched: a row's slots before the first one is looked at, a page's lists a few postings ahead.
 *
 * Signatures.  Rows that are codes, one a function, come many at a time (genie_builder_add_codes()).  A function's
 * codes are sorted by counting, and a list is found and appended to once for all rows that have its code.  So keys are
 * not made, and hardly any are looked up.
 *
 * Numbering.  The objects of the current heap page wait in `rows`, with their keyword
 * numbers in `page_lists`.  When the next page begins they are sorted by TID and get object numbers.  Only then
 * are postings appended.  So every list ascends, and a keyword that an object has twice
 * is recognised because the object is the last one of the keyword's list.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "genie_builder.h"
#include "genie_codec.h"
#include "genie_dictionary.h"
#include "genie_object_table.h"
#include "genie_varint.h"

#define GENIE_CHUNK_MIN 12		/* bytes of a list's first chunk */
#define GENIE_CHUNK_MAX 4080
#define GENIE_ARENA_BLOCK (256 * 1024)
#define GENIE_WRITE_BATCH 1024	/* postings passed to the encoder at once: a few KB, and calls cost little */
#define GENIE_INTERRUPT_SLOTS 4096	/* between two looks at whether the build was cancelled */
#define GENIE_BUILDER_MAX (1u << 30)	/* objects or keywords: capacities double in 32 bits */

/* A piece of a list: gaps to the object before, as varints. */
typedef struct GenieChunk
{
	struct GenieChunk *next;
	uint32		used;			/* set when the chunk is full or read */
	uint8		bytes[FLEXIBLE_ARRAY_MEMBER];
} GenieChunk;

typedef struct GenieBuildList
{
	GenieKey	key;
	uint32		n;				/* postings */
	uint32		first;			/* the first object, which no chunk holds */
	uint32		last;			/* the last object */
	uint32		room;			/* bytes left in the last chunk */
	uint32		total;			/* bytes in all chunks */
	uint8	   *to;				/* where the last chunk's next byte goes */
	GenieChunk *head;
	GenieChunk *tail;
} GenieBuildList;

/* A slot of the hash table: linear probing, at most half full. */
typedef struct GenieKeySlot
{
	uint64		word;			/* a key of at most 8 bytes itself, else its hash */
	uint32		len;			/* of the key */
	uint32		list;			/* its list's number + 1; 0: the slot is empty */
} GenieKeySlot;

#define GENIE_SLOTS_MIN 1024
#define GENIE_PREFETCH 8		/* postings ahead */

/* A key's word.  Equal keys have equal words and lengths; for keys of up to 8 bytes the converse holds, too. */
static inline uint64
genie_builder_key_word(GenieKey key)
{
	uint32		low;
	uint32		high;

	if (key.len > sizeof(uint64))
		return hash_bytes_extended(key.data, key.len, 0);
	if (key.len >= sizeof(uint32))
	{
		/* the two overlap where the key is shorter than both */
		memcpy(&low, key.data, sizeof(uint32));
		memcpy(&high, key.data + key.len - sizeof(uint32), sizeof(uint32));
		return low | (uint64) high << 32;
	}
	return key.data[0] | (uint64) key.data[key.len / 2] << 8 | (uint64) key.data[key.len - 1] << 16;
}

typedef struct GeniePageRow
{
	uint64		tid;
	uint32		first_list;		/* in page_lists */
	uint32		n_lists;
	int32		size;
	uint32		value;			/* its number in page_values */
	bool		is_null;
} GeniePageRow;

struct GenieBuilder
{
	MemoryContext context;		/* everything below */
	Size		limit;
	GenieValueShape shape;
	Size		used;
	GenieKeySlot *slots;
	uint32		n_slots;		/* a power of 2 */
	int			slot_shift;		/* 64 - its logarithm */
	uint64	   *row_words;		/* of the current row */
	uint32		row_words_capacity;
	GenieBuildList *lists;
	uint32		n_lists;
	uint32		lists_capacity;
	char	   *arena;
	Size		arena_left;

	uint64	   *tids;			/* bit 63: NULL */
	uint16	   *sizes;
	char	   *values;			/* records */
	uint32		n_objects;
	uint32		objects_capacity;
	uint32		min_size;
	uint32		max_size;
	uint32		max_keywords;
	bool		own_sizes;		/* some object's size is not its number of keywords */
	uint64		n_postings;

	/* the current heap page */
	bool		has_page;
	BlockNumber block;
	bool		page_sorted;
	GeniePageRow *rows;
	uint32		n_rows;
	uint32		rows_capacity;
	char	   *page_values;	/* as many records as rows have room */
	uint32	   *page_lists;
	Size		n_page_lists;
	Size		page_lists_capacity;
};

#define GENIE_TID_NULL (UINT64CONST(1) << 63)
#define GENIE_CODE_COLUMNS 16	/* functions whose codes are taken out of rows at a time: a line of the cache */
#define GENIE_CODE_RANGE 4096	/* codes that are sorted by counting */

void
genie_report_too_many_keywords(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("object has too many keywords"),
			 errdetail("An object can have at most %d distinct keywords.", GENIE_OBJECT_KEYWORDS_MAX)));
}

/* Resets all fields but the context, the limit and the shape. */
static void
genie_builder_start(GenieBuilder *builder)
{
	MemoryContext old = MemoryContextSwitchTo(builder->context);
	Size		limit = builder->limit;
	MemoryContext context = builder->context;
	GenieValueShape shape = builder->shape;

	memset(builder, 0, sizeof(*builder));
	builder->context = context;
	builder->limit = limit;
	builder->shape = shape;
	builder->n_slots = GENIE_SLOTS_MIN;
	builder->slot_shift = 64 - pg_leftmost_one_pos32(GENIE_SLOTS_MIN);
	builder->slots = palloc0(GENIE_SLOTS_MIN * sizeof(GenieKeySlot));
	builder->row_words_capacity = 256;
	builder->row_words = palloc(builder->row_words_capacity * sizeof(uint64));
	builder->lists_capacity = 256;
	builder->lists = palloc(builder->lists_capacity * sizeof(GenieBuildList));
	builder->objects_capacity = 1024;
	builder->tids = palloc(builder->objects_capacity * sizeof(uint64));
	builder->sizes = palloc(builder->objects_capacity * sizeof(uint16));
	builder->rows_capacity = MaxHeapTuplesPerPage;
	builder->rows = palloc(builder->rows_capacity * sizeof(GeniePageRow));
	if (shape.metric != 0)
	{
		builder->values = palloc_extended(builder->objects_capacity * genie_value_bytes(shape), MCXT_ALLOC_HUGE);
		builder->page_values = palloc_extended(builder->rows_capacity * genie_value_bytes(shape), MCXT_ALLOC_HUGE);
	}
	builder->page_lists_capacity = 4096;
	builder->page_lists = palloc(builder->page_lists_capacity * sizeof(uint32));
	builder->min_size = GENIE_OBJECT_KEYWORDS_MAX;
	MemoryContextSwitchTo(old);
}

GenieBuilder *
genie_builder_begin(Size memory, GenieValueShape shape)
{
	GenieBuilder *builder = palloc0(sizeof(GenieBuilder));

	builder->context = AllocSetContextCreate(CurrentMemoryContext, "genie builder",
											 ALLOCSET_DEFAULT_SIZES);
	builder->limit = memory;
	builder->shape = shape;
	genie_builder_start(builder);
	return builder;
}

void
genie_builder_end(GenieBuilder *builder)
{
	MemoryContextDelete(builder->context);
	pfree(builder);
}

static void *
genie_builder_alloc(GenieBuilder *builder, Size n, Size alignment)
{
	Size		pad = (alignment - (uintptr_t) builder->arena % alignment) % alignment;
	char	   *result;

	if (builder->arena == NULL || n + pad > builder->arena_left)
	{
		builder->arena = MemoryContextAlloc(builder->context, GENIE_ARENA_BLOCK);
		builder->arena_left = GENIE_ARENA_BLOCK;
		builder->used += GENIE_ARENA_BLOCK;
		pad = 0;
	}
	result = builder->arena + pad;
	builder->arena += n + pad;
	builder->arena_left -= n + pad;
	return result;
}

/* The slot where the search for a key begins: the product's high bits depend on all bits of the word. */
static inline uint32
genie_builder_home(const GenieBuilder *builder, uint64 word)
{
	word ^= word >> 32;
	return (uint32) ((word * UINT64CONST(0x9E3779B97F4A7C15)) >> builder->slot_shift);
}

static void
genie_builder_grow_slots(GenieBuilder *builder)
{
	GenieKeySlot *old = builder->slots;
	uint32		n_old = builder->n_slots;

	builder->n_slots *= 2;
	builder->slot_shift--;
	builder->slots = MemoryContextAllocExtended(builder->context, (Size) builder->n_slots * sizeof(GenieKeySlot),
												MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 i = 0; i < n_old; i++)
	{
		uint32		at = genie_builder_home(builder, old[i].word);

		if (i % GENIE_INTERRUPT_SLOTS == 0)
			CHECK_FOR_INTERRUPTS();
		if (old[i].list == 0)
			continue;
		while (builder->slots[at].list != 0)
			at = (at + 1) & (builder->n_slots - 1);
		builder->slots[at] = old[i];
	}
	pfree(old);
}

/* Makes a list for a new keyword; returns its number. */
static uint32
genie_builder_new_list(GenieBuilder *builder, GenieKey key)
{
	GenieBuildList *list;
	char	   *bytes = genie_builder_alloc(builder, key.len, 1);

	memcpy(bytes, key.data, key.len);
	key.data = (const uint8 *) bytes;
	if (builder->n_lists == builder->lists_capacity)
	{
		builder->lists_capacity *= 2;
		builder->lists = repalloc_huge(builder->lists,
									   (Size) builder->lists_capacity * sizeof(GenieBuildList));
	}
	list = &builder->lists[builder->n_lists];
	memset(list, 0, sizeof(*list));
	list->key = key;
	return builder->n_lists++;
}

/* The number of the keyword's list; made if new. */
static inline uint32
genie_builder_list(GenieBuilder *builder, GenieKey key, uint64 word)
{
	uint32		at = genie_builder_home(builder, word);
	uint32		list;

	while (builder->slots[at].list != 0)
	{
		const GenieKeySlot *slot = &builder->slots[at];

		if (slot->word == word && slot->len == key.len &&
			(key.len <= sizeof(uint64) ||
			 memcmp(builder->lists[slot->list - 1].key.data, key.data, key.len) == 0))
			return slot->list - 1;
		at = (at + 1) & (builder->n_slots - 1);
	}
	list = genie_builder_new_list(builder, key);
	builder->slots[at].word = word;
	builder->slots[at].len = key.len;
	builder->slots[at].list = list + 1;
	if (builder->n_lists > builder->n_slots / 2)
		genie_builder_grow_slots(builder);
	return list;
}

/* Appends an object to a list; false if it is its last object already. */
static inline bool
genie_builder_append(GenieBuilder *builder, GenieBuildList *list, uint32 object)
{
	uint8		gap[GENIE_VARINT_MAX];
	uint32		n;

	if (list->n == 0)
	{
		list->first = list->last = object;
		list->n = 1;
		return true;
	}
	if (list->last == object)
		return false;
	if (object - list->last < 0x80)
	{
		gap[0] = (uint8) (object - list->last);
		n = 1;
	}
	else
		n = (uint32) genie_varint_put(gap, object - list->last);
	if (n > list->room)
	{
		uint32		size = Min(Max(list->total, GENIE_CHUNK_MIN), GENIE_CHUNK_MAX);
		GenieChunk *chunk = genie_builder_alloc(builder, offsetof(GenieChunk, bytes) + size,
												sizeof(void *));

		chunk->next = NULL;
		if (list->tail == NULL)
			list->head = chunk;
		else
		{
			list->tail->next = chunk;
			list->tail->used = list->to - list->tail->bytes;
		}
		list->tail = chunk;
		list->to = chunk->bytes;
		list->room = size;
	}
	for (uint32 i = 0; i < n; i++)
		*list->to++ = gap[i];
	list->room -= n;
	list->total += n;
	list->last = object;
	list->n++;
	return true;
}

static int
genie_builder_row_cmp(const void *a, const void *b)
{
	uint64		x = ((const GeniePageRow *) a)->tid;
	uint64		y = ((const GeniePageRow *) b)->tid;

	return (x > y) - (x < y);
}

/* Makes room for n objects more. */
static void
genie_builder_reserve_objects(GenieBuilder *builder, uint32 n)
{
	if (builder->n_objects + n <= builder->objects_capacity)
		return;
	builder->objects_capacity = Max(builder->objects_capacity * 2, builder->n_objects + n);
	builder->tids = repalloc_huge(builder->tids, (Size) builder->objects_capacity * sizeof(uint64));
	builder->sizes = repalloc_huge(builder->sizes, (Size) builder->objects_capacity * sizeof(uint16));
	if (builder->values != NULL)
		builder->values = repalloc_huge(builder->values,
										builder->objects_capacity * genie_value_bytes(builder->shape));
}

/* Adds an object of n keywords, whose postings are appended by the caller. */
static void
genie_builder_new_object(GenieBuilder *builder, uint64 tid, bool is_null, uint32 n, uint32 size, const char *value)
{
	uint32		object = builder->n_objects++;
	Size		value_bytes = genie_value_bytes(builder->shape);

	builder->n_postings += n;
	builder->tids[object] = tid | (is_null ? GENIE_TID_NULL : 0);
	builder->sizes[object] = (uint16) size;
	if (value_bytes > 0)
		memcpy(builder->values + object * value_bytes, value, value_bytes);
	if (is_null)
		return;
	builder->min_size = Min(builder->min_size, size);
	builder->max_size = Max(builder->max_size, size);
	builder->max_keywords = Max(builder->max_keywords, n);
	builder->own_sizes |= size != n;
}

/* Numbers the objects of the current heap page, and appends their postings. */
static void
genie_builder_flush_page(GenieBuilder *builder)
{
	const uint32 *end = builder->page_lists + builder->n_page_lists;
	Size		value_bytes = genie_value_bytes(builder->shape);

	if (!builder->page_sorted)
		qsort(builder->rows, builder->n_rows, sizeof(GeniePageRow), genie_builder_row_cmp);
	genie_builder_reserve_objects(builder, builder->n_rows);
	for (uint32 i = 0; i < builder->n_rows; i++)
	{
		const GeniePageRow *row = &builder->rows[i];
		const uint32 *lists = builder->page_lists + row->first_list;
		uint32		object = builder->n_objects;
		uint32		n = 0;

		/* the same TID twice on a page: the line pointer of a pending row was used again */
		if (i + 1 < builder->n_rows && builder->rows[i + 1].tid == row->tid)
			continue;
		for (uint32 j = 0; j < row->n_lists; j++)
		{
			/* the lists of the page's next rows follow, in the order in which the rows came */
			if (end - (lists + j) > GENIE_PREFETCH)
				__builtin_prefetch(&builder->lists[lists[j + GENIE_PREFETCH]], 1);
			n += genie_builder_append(builder, &builder->lists[lists[j]], object);
		}
		if (n > GENIE_OBJECT_KEYWORDS_MAX)
			genie_report_too_many_keywords();
		genie_builder_new_object(builder, row->tid, row->is_null, n, row->size >= 0 ? (uint32) row->size : n,
								 builder->page_values + row->value * value_bytes);
	}
	builder->n_rows = 0;
	builder->n_page_lists = 0;
}

bool
genie_builder_add(GenieBuilder *builder, uint64 tid, bool is_null,
				  const uint8 *packed, uint32 n, int32 size, const void *value)
{
	BlockNumber block = (BlockNumber) (tid >> 16);
	Size		value_bytes = genie_value_bytes(builder->shape);
	GeniePageRow *row;
	const uint8 *at = packed;

	if (builder->has_page && block < builder->block)
		return false;
	if (!builder->has_page || block != builder->block)
	{
		if (builder->has_page)
			genie_builder_flush_page(builder);
		builder->has_page = true;
		builder->block = block;
		builder->page_sorted = true;
	}
	else if (builder->n_rows > 0 && builder->rows[builder->n_rows - 1].tid >= tid)
		builder->page_sorted = false;

	if (builder->n_rows == builder->rows_capacity)
	{
		builder->rows_capacity *= 2;
		builder->rows = repalloc_huge(builder->rows, builder->rows_capacity * sizeof(GeniePageRow));
		if (value_bytes > 0)
			builder->page_values = repalloc_huge(builder->page_values, builder->rows_capacity * value_bytes);
	}
	if (builder->n_page_lists + n > builder->page_lists_capacity)
	{
		builder->page_lists_capacity = Max(builder->page_lists_capacity * 2,
										   builder->n_page_lists + n);
		builder->page_lists = repalloc_huge(builder->page_lists,
											builder->page_lists_capacity * sizeof(uint32));
	}
	if (value_bytes > 0 && value != NULL)
		memcpy(builder->page_values + builder->n_rows * value_bytes, value, value_bytes);
	else if (value_bytes > 0)
		genie_value_record_unknown(builder->shape.metric, builder->shape.n_dimensions,
								   builder->page_values + builder->n_rows * value_bytes);
	row = &builder->rows[builder->n_rows];
	row->value = builder->n_rows++;
	row->tid = tid;
	row->is_null = is_null;
	row->size = size;
	row->first_list = (uint32) builder->n_page_lists;
	row->n_lists = n;
	if (n > builder->row_words_capacity)
	{
		builder->row_words_capacity = n;
		builder->row_words = repalloc_huge(builder->row_words, n * sizeof(uint64));
	}
	for (uint32 i = 0; i < n; i++)
	{
		builder->row_words[i] = genie_builder_key_word(genie_packed_next(&at));
		__builtin_prefetch(&builder->slots[genie_builder_home(builder, builder->row_words[i])]);
	}
	at = packed;
	for (uint32 i = 0; i < n; i++)
		builder->page_lists[builder->n_page_lists++] =
			genie_builder_list(builder, genie_packed_next(&at), builder->row_words[i]);
	return true;
}

/* ---- signatures ---- */

/* Do the rows ascend, and lie behind the page at hand? */
static bool
genie_builder_follow(const GenieBuilder *builder, const GenieBuilderRow *rows, uint32 n)
{
	for (uint32 i = 1; i < n; i++)
		if (rows[i].tid <= rows[i - 1].tid)
			return false;
	return !builder->has_page || (BlockNumber) (rows[0].tid >> 16) > builder->block;
}

/* Appends n objects, ascending, which the list does not have; gaps of one byte while its last chunk has room. */
static inline void
genie_builder_append_many(GenieBuilder *builder, GenieBuildList *list, const uint32 *objects, uint32 n)
{
	for (uint32 i = 0; i < n;)
	{
		uint8	   *to = list->to;
		uint32		last = list->last;
		uint32		end = list->n == 0 ? i : i + Min(list->room, n - i);
		uint32		first = i;

		for (; i < end && objects[i] - last < 0x80; i++)
		{
			*to++ = (uint8) (objects[i] - last);
			last = objects[i];
		}
		list->to = to;
		list->last = last;
		list->room -= i - first;
		list->total += i - first;
		list->n += i - first;
		if (i < n)
			genie_builder_append(builder, list, objects[i++]);
	}
}

/* Appends n objects, ascending, to the list of a function's code. */
static void
genie_builder_append_code(GenieBuilder *builder, GenieCodeKey key, uint32 function, int32 code, const uint32 *objects,
						  uint32 n)
{
	uint8		buffer[GENIE_KEY_MAX];
	GenieKey	of_code = key(buffer, function, code);
	uint32		number = genie_builder_list(builder, of_code, genie_builder_key_word(of_code));

	genie_builder_append_many(builder, &builder->lists[number], objects, n);
}

/* Appends n objects to the lists of a function's codes.  sorted: room for n. */
static void
genie_builder_append_function(GenieBuilder *builder, GenieCodeKey key, uint32 function, const int32 *codes,
							  const uint32 *objects, uint32 n, uint32 *sorted)
{
	uint32		at[GENIE_CODE_RANGE];
	int32		least = codes[0];
	int32		greatest = codes[0];
	int64		n_codes;
	uint32		before = 0;

	for (uint32 i = 1; i < n; i++)
	{
		least = Min(least, codes[i]);
		greatest = Max(greatest, codes[i]);
	}
	n_codes = (int64) greatest - least + 1;
	if (n_codes > GENIE_CODE_RANGE)
	{
		for (uint32 i = 0; i < n; i++)
			genie_builder_append_code(builder, key, function, codes[i], &objects[i], 1);
		return;
	}
	memset(at, 0, (Size) n_codes * sizeof(uint32));
	for (uint32 i = 0; i < n; i++)
		at[codes[i] - least]++;
	for (int64 c = 0; c < n_codes; c++)
	{
		uint32		count = at[c];

		at[c] = before;
		before += count;
	}
	for (uint32 i = 0; i < n; i++)
		sorted[at[codes[i] - least]++] = objects[i];
	before = 0;
	for (int64 c = 0; c < n_codes; c++)
		if (at[c] > before)
		{
			genie_builder_append_code(builder, key, function, (int32) (least + c), sorted + before, at[c] - before);
			before = at[c];
		}
}

/* Appends n objects to the lists of their codes, n_functions each. */
static void
genie_builder_append_codes(GenieBuilder *builder, const int32 *codes, uint32 n_functions, const uint32 *objects,
						   uint32 n, GenieCodeKey key)
{
	int32	   *columns = palloc_extended((Size) n * GENIE_CODE_COLUMNS * sizeof(int32), MCXT_ALLOC_HUGE);
	uint32	   *sorted = palloc(n * sizeof(uint32));

	for (uint32 first = 0; first < n_functions; first += GENIE_CODE_COLUMNS)
	{
		uint32		n_columns = Min(n_functions - first, GENIE_CODE_COLUMNS);

		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; i < n; i++)
			for (uint32 c = 0; c < n_columns; c++)
				columns[c * n + i] = codes[(Size) i * n_functions + first + c];
		for (uint32 c = 0; c < n_columns; c++)
			genie_builder_append_function(builder, key, first + c, columns + c * n, objects, n, sorted);
	}
	pfree(sorted);
	pfree(columns);
}

bool
genie_builder_add_codes(GenieBuilder *builder, const GenieBuilderRow *rows, uint32 n, const int32 *codes,
						uint32 n_functions, const char *values, GenieCodeKey key)
{
	Size		value_bytes = genie_value_bytes(builder->shape);
	char	   *unknown = palloc(value_bytes + 1);
	uint32	   *objects = palloc((n + 1) * sizeof(uint32));
	uint32		n_coded = 0;
	bool		follow = n == 0 || genie_builder_follow(builder, rows, n);

	if (value_bytes > 0)
		genie_value_record_unknown(builder->shape.metric, builder->shape.n_dimensions, unknown);
	if (follow && n > 0)
	{
		genie_builder_flush_page(builder);
		genie_builder_reserve_objects(builder, n);
		for (uint32 i = 0; i < n; i++)
		{
			bool		is_null = rows[i].is_null;
			uint32		n_keywords = is_null ? 0 : n_functions;

			if (!is_null)
				objects[n_coded] = builder->n_objects;
			genie_builder_new_object(builder, rows[i].tid, is_null, n_keywords, n_keywords,
									 is_null ? unknown : values + n_coded * value_bytes);
			n_coded += !is_null;
		}
		if (n_coded > 0)
			genie_builder_append_codes(builder, codes, n_functions, objects, n_coded, key);
		builder->has_page = true;
		builder->page_sorted = true;
		builder->block = (BlockNumber) (rows[n - 1].tid >> 16);
	}
	pfree(objects);
	pfree(unknown);
	return follow;
}

bool
genie_builder_full(const GenieBuilder *builder)
{
	Size		used = builder->used +
		(Size) builder->lists_capacity * sizeof(GenieBuildList) +
		(Size) builder->n_slots * sizeof(GenieKeySlot) +
		(Size) builder->objects_capacity * (sizeof(uint64) + sizeof(uint16) + genie_value_bytes(builder->shape)) +
		builder->page_lists_capacity * sizeof(uint32) +
		builder->row_words_capacity * sizeof(uint64);

	return used >= builder->limit || builder->n_objects >= GENIE_BUILDER_MAX ||
		builder->n_lists >= GENIE_BUILDER_MAX;
}

uint64
genie_builder_objects(const GenieBuilder *builder)
{
	return (uint64) builder->n_objects + builder->n_rows;
}

/* A list's place in key order: the key's first bytes decide most comparisons. */
typedef struct GenieListOrder
{
	uint64		prefix;			/* the key's first 8 bytes, big-endian, zeroes behind */
	uint32		list;
} GenieListOrder;

static inline uint64
genie_builder_key_prefix(GenieKey key)
{
	uint64		prefix = 0;

	memcpy(&prefix, key.data, Min(key.len, sizeof(prefix)));
	return pg_ntoh64(prefix);
}

static inline int
genie_builder_order_cmp(const GenieListOrder *a, const GenieListOrder *b, const GenieBuildList *lists)
{
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return genie_key_cmp(lists[a->list].key, lists[b->list].key);
}

#define ST_SORT genie_builder_sort_lists
#define ST_ELEMENT_TYPE GenieListOrder
#define ST_COMPARE_ARG_TYPE const GenieBuildList
#define ST_COMPARE(a, b, lists) genie_builder_order_cmp(a, b, lists)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static void
genie_builder_emit(void *arg, const uint8 *bytes, size_t n)
{
	genie_segment_write(arg, GENIE_SECTION_POSTINGS, bytes, n);
}

/* Writes one keyword's list. */
static void
genie_builder_write_list(const GenieBuildList *list, GenieListEncoder *encoder,
						 GenieSegmentWriter *writer)
{
	uint32		objects[GENIE_WRITE_BATCH];
	uint32		n = 0;
	uint32		object = list->first;
	bool		ascends = true;

	if (list->tail != NULL)
		list->tail->used = list->to - list->tail->bytes;
	genie_list_begin(encoder, genie_builder_emit, writer);
	objects[n++] = object;
	for (const GenieChunk *chunk = list->head; chunk != NULL; chunk = chunk->next)
	{
		const uint8 *at = chunk->bytes;
		const uint8 *end = chunk->bytes + chunk->used;

		while (at < end)
		{
			if (*at < 0x80)
				object += *at++;
			else
			{
				uint64		gap = 0;

				at += genie_varint_get(at, end, &gap);
				object += (uint32) gap;
			}
			if (n == GENIE_WRITE_BATCH)
			{
				ascends &= genie_list_add_many(encoder, objects, n);
				n = 0;
			}
			objects[n++] = object;
		}
	}
	ascends &= genie_list_add_many(encoder, objects, n);
	if (!ascends)
		elog(ERROR, "a list in memory does not ascend");
	genie_list_end(encoder);
}

void
genie_builder_write(GenieBuilder *builder, GenieSegmentWriter *writer, GenieRootHeader *header)
{
	GenieDictionaryWriter *dictionary;
	GenieObjectWriter *objects;
	GenieListEncoder *encoder;
	GenieListOrder *order;

	genie_builder_flush_page(builder);
	memset(header, 0, sizeof(*header));
	if (builder->min_size > builder->max_size)
		builder->min_size = builder->max_size = 0;	/* no object but NULLs */

	objects = genie_object_table_writer(writer, builder->min_size, builder->max_size);
	for (uint32 i = 0; i < builder->n_objects; i++)
		genie_object_table_add(objects, builder->tids[i] & ~GENIE_TID_NULL,
							   (builder->tids[i] & GENIE_TID_NULL) != 0, builder->sizes[i]);
	genie_object_table_finish(objects, header);
	genie_values_begin(writer, builder->shape);
	genie_segment_write(writer, GENIE_SECTION_VALUES, builder->values,
						builder->n_objects * genie_value_bytes(builder->shape));
	header->max_keywords = (uint16) builder->max_keywords;
	header->flags = builder->own_sizes ? GENIE_ROOT_OWN_SIZES : 0;

	order = MemoryContextAllocHuge(CurrentMemoryContext,
								   (Size) (builder->n_lists + 1) * sizeof(GenieListOrder));
	for (uint32 i = 0; i < builder->n_lists; i++)
	{
		order[i].prefix = genie_builder_key_prefix(builder->lists[i].key);
		order[i].list = i;
	}
	genie_builder_sort_lists(order, builder->n_lists, builder->lists);

	encoder = palloc(sizeof(GenieListEncoder));
	dictionary = genie_dictionary_begin(writer);
	for (uint32 i = 0; i < builder->n_lists; i++)
	{
		const GenieBuildList *list = &builder->lists[order[i].list];
		uint64		before = genie_segment_position(writer, GENIE_SECTION_POSTINGS);

		if (list->n == 0)
			continue;			/* its only row was replaced by a later one of the same TID */
		genie_builder_write_list(list, encoder, writer);
		genie_dictionary_add(dictionary, list->key, list->n,
							 genie_segment_position(writer, GENIE_SECTION_POSTINGS) - before);
		CHECK_FOR_INTERRUPTS();
	}
	header->n_keywords = genie_dictionary_finish(dictionary);
	header->n_postings = builder->n_postings;
	pfree(encoder);
	pfree(order);

	MemoryContextReset(builder->context);
	genie_builder_start(builder);
}
