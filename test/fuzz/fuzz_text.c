/*
 * fuzz_text.c
 *	  The text forms' scanner on hostile text.
 *
 * The first byte's lowest bit says whether the rest is an object or a query.  Whatever
 * the text: the scanner ends, stays inside the text and its scratch, says where an error is; and an
 * item that it accepted, written again with quotes or as raw bytes, is scanned into the same item.
 */
#include "genie_text.h"

#include <stdio.h>
#include <stdlib.h>

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) \
	do { \
		if (!(condition)) \
		{ \
			fprintf(stderr, "fuzz_text: %s does not hold\n", #condition); \
			abort(); \
		} \
	} while (0)

static size_t
write_value(char *out, const GenieTextValue *value)
{
	size_t		n = 0;

	if (!value->present)
		return 0;
	if (value->raw)
	{
		n += sprintf(out, "\\x");
		for (size_t i = 0; i < value->len; i++)
			n += sprintf(out + n, "%02X", (uint8_t) value->data[i]);
		return n;
	}
	out[n++] = '"';
	for (size_t i = 0; i < value->len; i++)
	{
		if (value->data[i] == '"' || value->data[i] == '\\')
			out[n++] = '\\';
		out[n++] = value->data[i];
	}
	out[n++] = '"';
	return n;
}

static size_t
write_item(char *out, const GenieTextItem *item)
{
	size_t		n = sprintf(out, "{%u:%s:", item->dimension, genie_family_name(item->family));

	if (item->is_range)
		out[n++] = item->lo_closed ? '[' : '(';
	n += write_value(out + n, &item->lo);
	if (item->is_range)
	{
		out[n++] = ',';
		n += write_value(out + n, &item->hi);
		out[n++] = item->hi_closed ? ']' : ')';
	}
	out[n++] = '}';
	return n;
}

static bool
same_value(const GenieTextValue *a, const GenieTextValue *b)
{
	if (!a->present || !b->present)
		return a->present == b->present;
	return a->raw == b->raw && a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static void
check_item(const GenieTextItem *item, bool is_query, size_t size)
{
	/* at most two characters a byte of a value, and the rest of an item is short */
	char	   *text = malloc(2 * size + 100);
	size_t		len = write_item(text, item);
	char	   *scratch = malloc(len + 1);
	GenieTextScanner scanner;
	GenieTextItem again;

	genie_text_begin(&scanner, text, len, is_query, scratch);
	REQUIRE(genie_text_next(&scanner, &again) == GENIE_TEXT_ITEM);
	REQUIRE(again.dimension == item->dimension && again.family == item->family);
	REQUIRE(again.is_range == item->is_range);
	REQUIRE(again.lo_closed == item->lo_closed && again.hi_closed == item->hi_closed);
	REQUIRE(same_value(&again.lo, &item->lo) && same_value(&again.hi, &item->hi));
	REQUIRE(genie_text_next(&scanner, &again) == GENIE_TEXT_END);
	free(scratch);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	GenieTextScanner scanner;
	GenieTextItem item;
	GenieTextResult result;
	char	   *scratch;
	bool		is_query;

	if (size == 0)
		return 0;
	is_query = data[0] & 1;
	scratch = malloc(size);
	genie_text_begin(&scanner, (const char *) data + 1, size - 1, is_query, scratch);
	while ((result = genie_text_next(&scanner, &item)) == GENIE_TEXT_ITEM)
	{
		REQUIRE(item.dimension <= GENIE_DIMENSION_MAX);
		REQUIRE(genie_family_known(item.family));
		REQUIRE(is_query || !item.is_range);
		REQUIRE(item.is_range || item.lo.present);
		check_item(&item, is_query, size);
	}
	if (result == GENIE_TEXT_ERROR)
		REQUIRE(scanner.error != NULL && scanner.error_at <= size - 1);
	else
	{
		REQUIRE(scanner.min_match >= 0);
		REQUIRE(scanner.similarity == -1 ||
				(is_query && !scanner.has_range && scanner.similarity >= 0 && scanner.similarity <= 1));
	}
	free(scratch);
	return 0;
}
