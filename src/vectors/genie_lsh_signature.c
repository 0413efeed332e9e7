/*
 * genie_lsh_signature.c
 *	  Signatures: the codes of vectors, sets and bit strings as keywords; the hash functions that compute codes.
 *
 * A signature has one keyword for each hash function: dimension i is function i, and the value is its code, an integer.
 *
 * Hash functions are drawn from their parameters, which takes time (milliseconds for a thousand dimensions) and memory,
 * so a process keeps the last few.  This cache is state of the process, but no answer depends on it: functions are
 * determined by their parameters and never change.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "genie_lsh_signature.h"
#include "genie_query.h"
#include "genie_vector_distance.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define CACHE_ENTRIES	4
#define CACHE_BYTES		(UINT64CONST(64) << 20) /* of all together; one alone may have more */

typedef struct CacheEntry
{
	MemoryContext context;		/* of lsh alone */
	GenieLsh   *lsh;			/* NULL: the entry is free */
	uint64		nbytes;
	uint64		last_used;		/* the number of the call of genie_lsh_get() */
} CacheEntry;

typedef struct Cache
{
	uint64		n_calls;
	CacheEntry	entries[CACHE_ENTRIES];
} Cache;

static Cache cache;

/* ---- parameters ---- */

static void
check_range(const char *what, int64 value, int64 least, int64 most)
{
	if (value < least || value > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between " INT64_FORMAT " and " INT64_FORMAT, what, least, most)));
}

void
genie_lsh_check_parameters(const GenieLshParameters *parameters)
{
	double		width = parameters->width;
	uint64		nbytes;

	check_range("number of hash functions", (int32) parameters->n_functions, 1, GENIE_LSH_FUNCTIONS_MAX);
	check_range("number of buckets", (int32) parameters->n_buckets, 0, PG_INT32_MAX);
	switch (parameters->family)
	{
		case GENIE_LSH_COSINE:
		case GENIE_LSH_HAMMING:
			check_range("number of bits", (int64) width, 1, GENIE_LSH_BITS_MAX);
			break;
		case GENIE_LSH_L2:
		case GENIE_LSH_L1:
		case GENIE_LSH_LAPLACIAN:
			if (!(width > 0 && isfinite(width)))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("%s must be a positive number",
								parameters->family == GENIE_LSH_LAPLACIAN ? "sigma" : "width")));
			break;
	}
	Assert(genie_lsh_valid(parameters));
	nbytes = genie_lsh_size(parameters);
	if (nbytes > GENIE_LSH_BYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%u hash functions of vectors of %u elements are too large",
						parameters->n_functions, parameters->n_dimensions),
				 errdetail("They take %u MB, but at most %u MB are possible.",
						   (uint32) (nbytes >> 20), (uint32) (GENIE_LSH_BYTES_MAX >> 20))));
}

void
genie_lsh_check_probability(const char *what, double value)
{
	if (!(value > 0 && value < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be greater than 0 and less than 1", what)));
}

uint32
genie_lsh_functions_needed(double epsilon, double delta)
{
	uint32		n;

	genie_lsh_check_probability("epsilon", epsilon);
	genie_lsh_check_probability("delta", delta);
	n = genie_lsh_functions(epsilon, delta);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("more than %d hash functions are needed", GENIE_LSH_FUNCTIONS_MAX),
				 errhint("Choose a larger epsilon or delta.")));
	return n;
}

/* ---- functions ---- */

static void
throw_out(CacheEntry *entry)
{
	MemoryContextDelete(entry->context);
	*entry = (CacheEntry) {0};
}

/* A free entry with room for so many bytes; the least recently used ones go. */
static CacheEntry *
find_room(uint64 nbytes)
{
	for (;;)
	{
		CacheEntry *free_entry = NULL;
		CacheEntry *oldest = NULL;
		uint64		total = nbytes;

		for (int i = 0; i < CACHE_ENTRIES; i++)
		{
			CacheEntry *entry = &cache.entries[i];

			total += entry->nbytes;
			if (entry->lsh == NULL)
				free_entry = entry;
			else if (oldest == NULL || entry->last_used < oldest->last_used)
				oldest = entry;
		}
		if (free_entry != NULL && (total <= CACHE_BYTES || oldest == NULL))
			return free_entry;
		throw_out(oldest);
	}
}

GenieLsh *
genie_lsh_get(const GenieLshParameters *parameters)
{
	uint64		nbytes = genie_lsh_size(parameters);
	CacheEntry *entry;
	MemoryContext context;
	GenieLsh   *lsh;

	cache.n_calls++;
	for (int i = 0; i < CACHE_ENTRIES; i++)
	{
		entry = &cache.entries[i];
		if (entry->lsh != NULL && memcmp(&entry->lsh->parameters, parameters, sizeof(*parameters)) == 0)
		{
			entry->last_used = cache.n_calls;
			return entry->lsh;
		}
	}

	/* made in a context that an error frees, and kept once it is complete */
	entry = find_room(nbytes);
	context = AllocSetContextCreate(CurrentMemoryContext, "genie hash functions", ALLOCSET_SMALL_SIZES);
	lsh = genie_lsh_make(MemoryContextAllocHuge(context, nbytes), parameters);
	for (uint32 group = 0; group < lsh->n_groups; group++)
	{
		CHECK_FOR_INTERRUPTS();
		genie_lsh_draw(lsh, group);
	}
	MemoryContextSetParent(context, TopMemoryContext);
	*entry = (CacheEntry) {context, lsh, nbytes, cache.n_calls};
	return lsh;
}

/* ---- values ---- */

void
genie_lsh_check_vector(GenieVector vector)
{
	if (vector.n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("vector has no elements")));
	if (vector.n > GENIE_LSH_DIMENSIONS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("vector has %u elements, but at most %d can be hashed", vector.n, GENIE_LSH_DIMENSIONS_MAX)));
	genie_vector_check_finite(vector);
}

float
genie_lsh_nearest_float(double element)
{
	return (float) Min(Max(element, -FLT_MAX), FLT_MAX);
}

void
genie_lsh_floats(GenieVector vector, float *floats)
{
	for (uint32 i = 0; i < vector.n; i++)
		floats[i] = genie_lsh_nearest_float(genie_lsh_vector_element(vector, i));
}

uint64 *
genie_lsh_elements(const uint8 *packed, uint32 n)
{
	uint64	   *elements = palloc(n * sizeof(uint64));

	for (uint32 i = 0; i < n; i++)
	{
		GenieKey	key = genie_packed_next(&packed);

		elements[i] = genie_lsh_element(key.data, key.len);
	}
	return elements;
}

/* ---- signatures ---- */

#define CODE_KEY_MAX (GENIE_DIMENSION_BYTES + 1 + GENIE_KEY_INT_BYTES)	/* bytes of a code's key */

/* Writes the key of a code to buffer, of CODE_KEY_MAX bytes. */
static inline GenieKey
key_of_code(uint8 *buffer, uint32 function, int32 code)
{
	GenieKey	key = {buffer, 0};

	key.len = (uint32) genie_key_put_dimension(buffer, function);
	buffer[key.len++] = GENIE_FAMILY_INT;
	key.len += (uint32) genie_key_put_int(buffer + key.len, code);
	return key;
}

GenieKey
genie_lsh_key_of_code(uint8 *buffer, uint32 function, int32 code)
{
	return key_of_code(buffer, function, code);
}

/* Dimensions ascend with functions, so keys are neither compared nor sorted. */
void
genie_lsh_add_codes(const int32 *codes, uint32 n, GenieKeywords *keywords)
{
	uint8	   *at;

	Assert(keywords->n == 0);
	genie_keywords_reserve(keywords, (Size) n * (1 + CODE_KEY_MAX));
	at = keywords->bytes + keywords->nbytes;
	for (uint32 i = 0; i < n; i++)
	{
		/* keys are written in place, after their lengths */
		keywords->last = (uint32) (at - keywords->bytes);
		*at = (uint8) key_of_code(at + 1, i, codes[i]).len;
		at += 1 + *at;
	}
	keywords->nbytes = at - keywords->bytes;
	keywords->n = n;
}

/* Dimensions ascend with functions, so the intervals are in the order that a query must have. */
GenieQuery *
genie_lsh_query_of_codes(const int32 *codes, uint32 n, uint32 probes)
{
	GenieQuery *query = genie_query_allocate((Size) n * (1 + 2 * (1 + CODE_KEY_MAX)), n, 0);
	uint8	   *at = query->body;

	for (uint32 i = 0; i < n; i++)
	{
		GenieLshWindow window = genie_lsh_window(codes[i], probes);

		*at++ = probes == 0 ? GENIE_QUERY_POINT : GENIE_QUERY_HI_AFTER;
		/* keys are written in place, after their lengths */
		*at = (uint8) key_of_code(at + 1, i, window.least).len;
		at += 1 + *at;
		if (probes == 0)
			continue;
		*at = (uint8) key_of_code(at + 1, i, window.greatest).len;
		at += 1 + *at;
	}
	SET_VARSIZE(query, at - (uint8 *) query);
	return query;
}

/* ---- codes ---- */

int32 *
genie_lsh_codes_of_vector(const GenieLshParameters *parameters, const float *vector)
{
	int32	   *codes = palloc(parameters->n_functions * sizeof(int32));

	genie_lsh_hash(genie_lsh_get(parameters), vector, 1, codes);
	return codes;
}

int32 *
genie_lsh_codes_of_set(const GenieLshParameters *parameters, const uint64 *elements, uint32 n)
{
	int32	   *codes = palloc(parameters->n_functions * sizeof(int32));
	const GenieLsh *lsh = genie_lsh_get(parameters);

	for (uint32 group = 0; group < lsh->n_groups; group++)
	{
		CHECK_FOR_INTERRUPTS();
		genie_lsh_hash_set(lsh, group, elements, n, codes);
	}
	return codes;
}

int32 *
genie_lsh_codes_of_bits(const GenieLshParameters *parameters, const uint8 *bits)
{
	int32	   *codes = palloc(parameters->n_functions * sizeof(int32));

	genie_lsh_hash_bits(genie_lsh_get(parameters), bits, codes);
	return codes;
}
