/*
 * genie_multiset.c
 *	  Multisets of strings as objects.
 *
 * Strings are cut and hashed as they come, so that memory is bounded by the number of keywords, and two strings are
 * equal if their keywords' values are.  Equal strings are numbered after sorting.
 */
#include "postgres.h"

#include "genie_multiset.h"
#include "miscadmin.h"

#define ST_SORT sort_pieces
#define ST_ELEMENT_TYPE GenieMultisetPiece
#define ST_COMPARE(a, b) genie_key_cmp((a)->value, (b)->value)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* Numbers the equal pieces of a sorted array; returns the largest number. */
static uint32
number(GenieMultisetPiece *pieces, uint32 n)
{
	uint32		largest = 0;

	for (uint32 i = 0; i < n; i++)
	{
		pieces[i].occurrence = 0;
		if (i > 0 && genie_key_cmp(pieces[i - 1].value, pieces[i].value) == 0)
			pieces[i].occurrence = pieces[i - 1].occurrence + 1;
		largest = Max(largest, pieces[i].occurrence);
	}
	return largest;
}

/* The pieces ordered by number and then by value, which is the order of keys: nothing needs to be sorted again. */
static const GenieMultisetPiece *
order_by_number(const GenieMultisetPiece *pieces, uint32 n, uint32 largest)
{
	uint32	   *next = palloc0((largest + 2) * sizeof(uint32));
	GenieMultisetPiece *ordered = palloc(n * sizeof(GenieMultisetPiece));

	for (uint32 i = 0; i < n; i++)
		next[pieces[i].occurrence + 1]++;
	for (uint32 o = 1; o <= largest; o++)
		next[o] += next[o - 1];
	for (uint32 i = 0; i < n; i++)
		ordered[next[pieces[i].occurrence]++] = pieces[i];
	pfree(next);
	return ordered;
}

void
genie_multiset_collect(GenieMultisetPiece *pieces, uint32 n, uint32 base, GenieKeywords *keywords)
{
	const GenieMultisetPiece *ordered = pieces;
	uint32		largest;

	sort_pieces(pieces, n);
	largest = number(pieces, n);
	if (largest > 0)
		ordered = order_by_number(pieces, n, largest);
	for (uint32 i = 0; i < n; i++)
	{
		uint8		buffer[GENIE_KEY_MAX];
		GenieKey	key = {buffer, 0};

		Assert(ordered[i].value.len <= GENIE_VALUE_BYTES);
		key.len = (uint32) genie_key_put_dimension(buffer, base + ordered[i].occurrence);
		buffer[key.len++] = GENIE_FAMILY_TEXT;
		memcpy(buffer + key.len, ordered[i].value.data, ordered[i].value.len);
		key.len += ordered[i].value.len;
		genie_keywords_add(keywords, key);
	}
	if (ordered != pieces)
		pfree((void *) ordered);
}

void
genie_multiset_init(GenieMultiset *set)
{
	initStringInfo(&set->packed);
	set->n = 0;
}

void
genie_multiset_add(GenieMultiset *set, const char *bytes, Size n)
{
	uint8		buffer[GENIE_KEY_MAX];
	GenieKey	key = genie_key_make(buffer, 0, GENIE_FAMILY_TEXT, (const uint8 *) bytes, n);

	genie_keywords_check_limit((Size) set->n + 1);
	enlargeStringInfo(&set->packed, GENIE_PACKED_KEY_MAX);
	set->packed.len += genie_packed_put((uint8 *) set->packed.data + set->packed.len, key);
	set->n++;
}

GenieObject *
genie_multiset_object(GenieMultiset *set, uint32 base)
{
	GenieMultisetPiece *pieces = palloc(set->n * sizeof(GenieMultisetPiece));
	const uint8 *at = (const uint8 *) set->packed.data;
	GenieKeywords keywords;
	GenieObject *object;

	for (uint32 i = 0; i < set->n; i++)
	{
		GenieKey	key = genie_packed_next(&at);
		uint32		prefix_len = genie_key_prefix_len(key);

		pieces[i].value.data = key.data + prefix_len;
		pieces[i].value.len = key.len - prefix_len;
	}
	genie_keywords_init(&keywords);
	genie_multiset_collect(pieces, set->n, base, &keywords);
	genie_keywords_finish(&keywords);
	object = genie_object_make(&keywords);
	pfree(keywords.bytes);
	pfree(pieces);
	pfree(set->packed.data);
	return object;
}
