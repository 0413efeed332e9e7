/*
 * genie_value_filter_amx.c
 *	  Products for the filter of genie_value_offer.h, for x86-64 with tiles of bytes (AMX): those of 16 queries with
 *	  16 records and 64 dimensions are one instruction of 16 cycles.
 *
 * A group of interleaved records is a tile as it is, dimensions by records; the queries' codes, one query behind the
 * other, are the other one.  The rest of dimensions, fewer than 64, has tiles of its own.
 *
 * Linux lets a process use tiles that has asked for them.  Then it keeps their contents for each thread: a thread has
 * none except between begin and end.
 */
#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "genie_value_filter_memory.h"

#define AMX __attribute__((target("amx-tile,amx-int8")))

#define LEAF_FEATURES 7
#define HAS_TILES	(1u << 24)	/* of edx */
#define HAS_BYTES	(1u << 25)
#define LEAF_TILES	0x1D
#define ASK_FOR_FEATURE 0x1023	/* ARCH_REQ_XCOMP_PERM */
#define TILE_DATA	18			/* the feature's number */

#define ROWS		16			/* of a tile */
#define ROW			64			/* bytes of one */

typedef struct Configuration
{
	uint8_t		palette;
	uint8_t		start_row;
	uint8_t		reserved[14];
	uint16_t	row_bytes[16];
	uint8_t		rows[16];
} Configuration;

_Static_assert(sizeof(Configuration) == 64, "as the processor reads it");
_Static_assert(GENIE_VALUE_FILTER_GROUPS == 4 && GENIE_VALUE_FILTER_GROUP == ROWS, "sums are tiles 0 to 3");
_Static_assert(GENIE_VALUE_FILTER_QUERIES == ROWS, "queries are a tile's rows");

bool
genie_value_filter_has_tiles(void)
{
	static int	answer;			/* 0: not asked yet; the same, whoever asks */
	int			known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
	unsigned int a;
	unsigned int b;
	unsigned int c;
	unsigned int d;

	if (known == 0)
	{
		known = __get_cpuid_count(LEAF_FEATURES, 0, &a, &b, &c, &d) && (d & HAS_TILES) != 0 && (d & HAS_BYTES) != 0 &&
			__get_cpuid_count(LEAF_TILES, 1, &a, &b, &c, &d) && (b & 0xFFFF) == ROW && b >> 16 >= 8 &&
			(c & 0xFFFF) == ROWS && syscall(SYS_arch_prctl, ASK_FOR_FEATURE, TILE_DATA) == 0 ? 1 : -1;
		__atomic_store_n(&answer, known, __ATOMIC_RELAXED);
	}
	return known > 0;
}

AMX static void
begin(const GenieValueQuery *const *queries, uint32_t n, void *at)
{
	GenieValueFilterMemory *memory = at;
	Configuration configuration = {.palette = 1};
	uint32_t	rest;

	genie_value_filter_put_queries(memory, queries, n);
	rest = memory->n_registers % ROWS;
	for (uint32_t tile = 0; tile < 8; tile++)
	{
		configuration.rows[tile] = ROWS;
		configuration.row_bytes[tile] = ROW;
	}
	if (rest > 0)
	{
		configuration.row_bytes[6] = (uint16_t) (rest * 4);
		configuration.rows[7] = (uint8_t) rest;
	}
	/* not _tile_loadconfig(): GCC 12's tells the compiler of 8 of the 64 bytes only, and others are never written */
	__asm__ volatile ("ldtilecfg %0"::"m" (configuration));
}

/* Adds the products of a tile of queries, tile number q, and one of each group, number r, from that register on. */
#define ADD_GROUP(q, r, group, i) \
	do { \
		_tile_loadd(r, groups[group] + (size_t) (i) * ROW, ROW); \
		_tile_dpbsud(group, q, r); \
	} while (0)
#define ADD_PRODUCTS(q, r, i) \
	do { \
		_tile_loadd(q, queries + (size_t) (i) * 4, memory->n_elements); \
		ADD_GROUP(q, r, 0, i); \
		ADD_GROUP(q, r, 1, i); \
		ADD_GROUP(q, r, 2, i); \
		ADD_GROUP(q, r, 3, i); \
	} while (0)

AMX static void
multiply(void *at, uint32_t first, uint32_t n, int32_t (*products)[GENIE_VALUE_FILTER_RECORDS])
{
	GenieValueFilterMemory *memory = at;
	const char *queries = genie_value_filter_query_codes(memory, first);
	const char *groups[] = {
		genie_value_filter_group_codes(memory, 0), genie_value_filter_group_codes(memory, 1),
		genie_value_filter_group_codes(memory, 2), genie_value_filter_group_codes(memory, 3)
	};
	uint32_t	whole = memory->n_registers - memory->n_registers % ROWS;

	(void) n;					/* the rest of the rows are zeros */
	_tile_zero(0);
	_tile_zero(1);
	_tile_zero(2);
	_tile_zero(3);
	for (uint32_t i = 0; i < whole; i += ROWS)
		ADD_PRODUCTS(4, 5, i);
	if (whole < memory->n_registers)
		ADD_PRODUCTS(6, 7, whole);
	_tile_stored(0, products[0], sizeof(products[0]));
	_tile_stored(1, products[0] + ROWS, sizeof(products[0]));
	_tile_stored(2, products[0] + 2 * ROWS, sizeof(products[0]));
	_tile_stored(3, products[0] + 3 * ROWS, sizeof(products[0]));
}

AMX static void
end(void)
{
	_tile_release();
}

const GenieValueFilter genie_value_filter_amx = {"amx", begin, genie_value_filter_prepare, multiply,
	genie_value_filter_differ, genie_value_filter_left, end
};

#endif							/* __x86_64__ && __linux__ */
