/*
 * genie_multiset.c
 *	  Multisets of strings as objects.
 *
 * Strings are cut and hashed as they come, so that memory is bounded by the number of keywords, and equality is the
 * keywords'.  They are numbered after sorting.
 */
#include "postgres.h"

#include "genie_multiset.h"
#include "miscadmin.h"

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
	GenieKey   *keys = palloc(set->n * sizeof(GenieKey));
	const uint8 *at = (const uint8 *) set->packed.data;
	uint32		prefix_len = 0;
	uint32		occurrence = 0;
	GenieKeywords keywords;
	GenieObject *object;

	for (uint32 i = 0; i < set->n; i++)
		keys[i] = genie_packed_next(&at);
	qsort(keys, set->n, sizeof(GenieKey), genie_query_compare_keys);
	if (set->n > 0)
		prefix_len = genie_key_prefix_len(keys[0]);
	genie_keywords_init(&keywords);
	for (uint32 i = 0; i < set->n; i++)
	{
		uint8		buffer[GENIE_KEY_MAX];
		GenieKey	key = {buffer, 0};

		occurrence = i > 0 && genie_key_cmp(keys[i - 1], keys[i]) == 0 ? occurrence + 1 : 0;
		key.len = (uint32) genie_key_put_dimension(buffer, base + occurrence);
		buffer[key.len++] = GENIE_FAMILY_TEXT;
		memcpy(buffer + key.len, keys[i].data + prefix_len, keys[i].len - prefix_len);
		key.len += keys[i].len - prefix_len;
		genie_keywords_add(&keywords, key);
	}
	genie_keywords_finish(&keywords);
	object = genie_object_make(&keywords);
	pfree(keywords.bytes);
	pfree(keys);
	pfree(set->packed.data);
	return object;
}
