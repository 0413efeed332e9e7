/*
 * genie_opclass.c
 *	  Collecting the keywords of one value (GenieKeywords): the part of genie_opclass.h that is not inline.
 *
 * Keys are appended packed, duplicates included.  The collector notes whether they come in strictly ascending order, as
 * those of tuples and of sorted arrays do.  If they do not, genie_keywords_finish() sorts pointers to the keys and
 * copies the distinct ones to a new buffer.
 *
 * A value may have any number of duplicates (an array of a million zeros).  So duplicates are dropped before the buffer
 * grows beyond GENIE_KEYWORDS_COMPACT keys.  A value with too many distinct keywords is refused there, so that memory
 * stays below about 40 MB.
 */
#include "postgres.h"

#include "genie_builder.h"
#include "genie_opclass.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define GENIE_KEYWORDS_INITIAL	1024	/* bytes */
#define GENIE_KEYWORDS_COMPACT	(4 * (GENIE_OBJECT_KEYWORDS_MAX + 1))	/* keys */

#define ST_SORT sort_keys
#define ST_ELEMENT_TYPE GenieKey
#define ST_COMPARE(a, b) genie_key_cmp(*(a), *(b))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

static void genie_keywords_enlarge(GenieKeywords *keywords, Size nbytes);

void
genie_keywords_init(GenieKeywords *keywords)
{
	keywords->bytes = palloc(GENIE_KEYWORDS_INITIAL);
	keywords->capacity = GENIE_KEYWORDS_INITIAL;
	keywords->enlarge = genie_keywords_enlarge;
	keywords->parameters = NULL;
	keywords->raw = false;
	genie_keywords_reset(keywords);
}

void
genie_keywords_reset(GenieKeywords *keywords)
{
	keywords->nbytes = 0;
	keywords->n = 0;
	keywords->size = -1;
	keywords->sorted = true;
	keywords->last = 0;
}

/* Sorts the keys and drops duplicates, into a buffer of the same capacity. */
static void
compact(GenieKeywords *keywords)
{
	GenieKey   *keys = palloc(keywords->n * sizeof(GenieKey));
	uint8	   *bytes = MemoryContextAlloc(GetMemoryChunkContext(keywords->bytes), keywords->capacity);
	const uint8 *at = keywords->bytes;
	uint32		kept = 0;
	Size		nbytes = 0;

	for (uint32 i = 0; i < keywords->n; i++)
		keys[i] = genie_packed_next(&at);
	sort_keys(keys, keywords->n);
	for (uint32 i = 0; i < keywords->n; i++)
	{
		if (i > 0 && genie_key_cmp(keys[i - 1], keys[i]) == 0)
			continue;
		keywords->last = (uint32) nbytes;
		nbytes += genie_packed_put(bytes + nbytes, keys[i]);
		kept++;
	}
	pfree(keys);
	pfree(keywords->bytes);
	keywords->bytes = bytes;
	keywords->nbytes = nbytes;
	keywords->n = kept;
	keywords->sorted = true;
}

int32
genie_keywords_own_size(const GenieKeywords *keywords)
{
	if (keywords->size > GENIE_OBJECT_KEYWORDS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("object has size %d, but at most %d is possible",
						keywords->size, GENIE_OBJECT_KEYWORDS_MAX),
				 errdetail("The operator class's decompose function set it.")));
	return Max(keywords->size, -1);
}

void
genie_keywords_check_limit(Size n)
{
	if (n > GENIE_OBJECT_KEYWORDS_MAX)
		genie_report_too_many_keywords();
}

static void
genie_keywords_enlarge(GenieKeywords *keywords, Size nbytes)
{
	Size		capacity = keywords->capacity;

	if (keywords->n >= GENIE_KEYWORDS_COMPACT)
	{
		if (!keywords->sorted)
			compact(keywords);
		genie_keywords_check_limit(keywords->n);
	}
	while (capacity - keywords->nbytes < nbytes)
		capacity *= 2;
	if (capacity > keywords->capacity)
	{
		keywords->bytes = repalloc(keywords->bytes, capacity);
		keywords->capacity = capacity;
	}
}

void
genie_keywords_finish(GenieKeywords *keywords)
{
	CHECK_FOR_INTERRUPTS();
	if (!keywords->sorted)
		compact(keywords);
	genie_keywords_check_limit(keywords->n);
}
