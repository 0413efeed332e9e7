/*
 * genie_text.c
 *	  Splits the text forms of genie_object and genie_query into items (grammar: genie_text.h).
 *
 * A recursive-descent scanner without recursion: one function a production, each of which gives false after it has
 * noted the first error.  An item's values are unescaped into the caller's scratch.  Scratch as long as the text is
 * always enough: a value is no longer than its text, and the zero byte after it has room where the ":" or "," before
 * it stood.
 */
#include <stdlib.h>

#include "genie_text.h"

typedef struct FamilyName
{
	uint32_t	family;
	const char *name;
} FamilyName;

static const FamilyName family_names[] = {
	{GENIE_FAMILY_BOOL, "bool"},
	{GENIE_FAMILY_INT, "int"},
	{GENIE_FAMILY_FLOAT, "float"},
	{GENIE_FAMILY_NUMERIC, "numeric"},
	{GENIE_FAMILY_TEXT, "text"},
	{GENIE_FAMILY_BYTEA, "bytea"},
	{GENIE_FAMILY_TIMESTAMP, "timestamp"},
	{GENIE_FAMILY_TIMESTAMPTZ, "timestamptz"},
	{GENIE_FAMILY_TIME, "time"},
	{GENIE_FAMILY_TIMETZ, "timetz"},
	{GENIE_FAMILY_INTERVAL, "interval"},
	{GENIE_FAMILY_UUID, "uuid"},
	{GENIE_FAMILY_OID, "oid"},
	{GENIE_FAMILY_CHAR, "char"},
	{GENIE_FAMILY_MONEY, "money"},
	{GENIE_FAMILY_BIT, "bit"},
	{GENIE_FAMILY_MACADDR, "macaddr"},
	{GENIE_FAMILY_MACADDR8, "macaddr8"},
	{GENIE_FAMILY_LSN, "lsn"},
	{GENIE_FAMILY_ENUM, "enum"},
	{GENIE_FAMILY_HASH, "hash"},
};

#define N_FAMILY_NAMES (sizeof(family_names) / sizeof(family_names[0]))

const char *
genie_family_name(uint32_t family)
{
	for (size_t i = 0; i < N_FAMILY_NAMES; i++)
	{
		if (family_names[i].family == family)
			return family_names[i].name;
	}
	return NULL;
}

uint32_t
genie_family_from_name(const char *name, size_t len)
{
	for (size_t i = 0; i < N_FAMILY_NAMES; i++)
	{
		if (strlen(family_names[i].name) == len && memcmp(family_names[i].name, name, len) == 0)
			return family_names[i].family;
	}
	return 0;
}

void
genie_text_begin(GenieTextScanner *scanner, const char *text, size_t len, bool is_query, char *scratch)
{
	memset(scanner, 0, sizeof(GenieTextScanner));
	scanner->text = text;
	scanner->len = len;
	scanner->is_query = is_query;
	scanner->scratch = scratch;
	scanner->min_match = 1;
	scanner->similarity = -1;
}

static bool
fail_at(GenieTextScanner *scanner, size_t at, const char *error)
{
	scanner->error = error;
	scanner->error_at = at;
	return false;
}

static bool
fail(GenieTextScanner *scanner, const char *error)
{
	return fail_at(scanner, scanner->at, error);
}

static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next character that is no white space, or 0 at the end (0 is no character of the grammar). */
static char
peek(GenieTextScanner *scanner)
{
	while (scanner->at < scanner->len && is_space(scanner->text[scanner->at]))
		scanner->at++;
	return scanner->at < scanner->len ? scanner->text[scanner->at] : '\0';
}

static bool
accept(GenieTextScanner *scanner, char wanted)
{
	if (peek(scanner) != wanted)
		return false;
	scanner->at++;
	return true;
}

static bool
scan_number(GenieTextScanner *scanner, const char *what, uint32_t *number)
{
	uint64_t	value = 0;
	size_t		begin;

	peek(scanner);
	begin = scanner->at;
	while (scanner->at < scanner->len &&
		   scanner->text[scanner->at] >= '0' && scanner->text[scanner->at] <= '9')
	{
		value = value * 10 + (uint64_t) (scanner->text[scanner->at++] - '0');
		if (value > INT32_MAX)
			return fail_at(scanner, begin, what);
	}
	if (scanner->at == begin)
		return fail(scanner, what);
	*number = (uint32_t) value;
	return true;
}

static bool
scan_family(GenieTextScanner *scanner, GenieFamily *family)
{
	uint32_t	found;
	size_t		begin;

	peek(scanner);
	begin = scanner->at;
	while (scanner->at < scanner->len &&
		   ((scanner->text[scanner->at] >= 'a' && scanner->text[scanner->at] <= 'z') ||
			(scanner->text[scanner->at] >= '0' && scanner->text[scanner->at] <= '9')))
		scanner->at++;
	found = genie_family_from_name(scanner->text + begin, scanner->at - begin);
	if (found == 0)
		return fail_at(scanner, begin, "the name of a type family is expected");
	*family = (GenieFamily) found;
	return true;
}

static bool
is_bare(char c)
{
	return c != '\0' && !is_space(c) && strchr(",:{}[]()\"@\\", c) == NULL;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void
put(GenieTextScanner *scanner, int c)
{
	scanner->scratch[scanner->scratch_used++] = (char) c;
}

static bool
scan_raw(GenieTextScanner *scanner)
{
	const char *text = scanner->text;

	if (scanner->len - scanner->at < 2 || text[scanner->at + 1] != 'x')
		return fail(scanner, "\"\\\" must be followed by \"x\" and hexadecimal digits");
	scanner->at += 2;
	while (scanner->at < scanner->len && hex_digit(text[scanner->at]) >= 0)
	{
		if (scanner->len - scanner->at < 2 || hex_digit(text[scanner->at + 1]) < 0)
			return fail(scanner, "a hexadecimal digit is missing");
		put(scanner, hex_digit(text[scanner->at]) << 4 | hex_digit(text[scanner->at + 1]));
		scanner->at += 2;
	}
	return true;
}

static bool
scan_quoted(GenieTextScanner *scanner)
{
	size_t		begin = scanner->at++;

	while (scanner->at < scanner->len && scanner->text[scanner->at] != '"')
	{
		if (scanner->text[scanner->at] == '\\')
		{
			scanner->at++;
			if (scanner->at == scanner->len)
				break;
			if (scanner->text[scanner->at] != '"' && scanner->text[scanner->at] != '\\')
				return fail(scanner, "\"\\\" must be followed by a quote or by another \"\\\"");
		}
		if (scanner->text[scanner->at] == '\0')
			return fail(scanner, "a zero byte is not allowed");
		put(scanner, scanner->text[scanner->at++]);
	}
	if (scanner->at == scanner->len)
		return fail_at(scanner, begin, "the closing quote is missing");
	scanner->at++;
	return true;
}

static bool
scan_value(GenieTextScanner *scanner, GenieTextValue *value)
{
	char		first = peek(scanner);
	size_t		begin = scanner->scratch_used;

	value->present = true;
	value->raw = first == '\\';
	value->data = scanner->scratch + begin;
	if (first == '\\')
	{
		if (!scan_raw(scanner))
			return false;
	}
	else if (first == '"')
	{
		if (!scan_quoted(scanner))
			return false;
	}
	else
	{
		while (scanner->at < scanner->len && is_bare(scanner->text[scanner->at]))
			put(scanner, scanner->text[scanner->at++]);
		if (scanner->scratch_used == begin)
			return fail(scanner, "a value is expected");
	}
	value->len = scanner->scratch_used - begin;
	put(scanner, '\0');
	return true;
}

static bool
scan_range(GenieTextScanner *scanner, GenieTextItem *item)
{
	size_t		begin = scanner->at;
	char		c = scanner->text[scanner->at++];

	if (!scanner->is_query)
		return fail_at(scanner, begin, "ranges are for queries only");
	if (!GENIE_FAMILY_IS_ORDERED(item->family))
		return fail_at(scanner, begin, "this type family has no order, so it takes no range");
	item->is_range = true;
	scanner->has_range = true;
	item->lo_closed = c == '[';
	if (peek(scanner) != ',' && !scan_value(scanner, &item->lo))
		return false;
	if (!accept(scanner, ','))
		return fail(scanner, "a \",\" is expected");
	c = peek(scanner);
	if (c != ']' && c != ')')
	{
		if (!scan_value(scanner, &item->hi))
			return false;
		c = peek(scanner);
	}
	if (c != ']' && c != ')')
		return fail(scanner, "a \"]\" or \")\" is expected");
	scanner->at++;
	item->hi_closed = c == ']';
	return true;
}

static bool
scan_item(GenieTextScanner *scanner, GenieTextItem *item)
{
	char		c;

	memset(item, 0, sizeof(GenieTextItem));
	scanner->scratch_used = 0;
	if (!scan_number(scanner, "a dimension between 0 and 2147483647 is expected", &item->dimension))
		return false;
	if (!accept(scanner, ':'))
		return fail(scanner, "a \":\" is expected");
	if (!scan_family(scanner, &item->family))
		return false;
	if (!accept(scanner, ':'))
		return fail(scanner, "a \":\" is expected");
	c = peek(scanner);
	if (c == '[' || c == '(')
		return scan_range(scanner, item);
	return scan_value(scanner, &item->lo);
}

static bool
scan_similarity(GenieTextScanner *scanner)
{
	static const char what[] = "a similarity between 0 and 1 is expected";
	size_t		begin;
	char	   *end;

	if (scanner->has_range)
		return fail_at(scanner, scanner->at - 1, "a query with a range takes no similarity");
	peek(scanner);
	begin = scanner->at;
	scanner->scratch_used = 0;
	while (scanner->at < scanner->len && scanner->text[scanner->at] != '\0' &&
		   strchr("0123456789.eE+-", scanner->text[scanner->at]) != NULL)
		put(scanner, scanner->text[scanner->at++]);
	put(scanner, '\0');
	if (strchr("0123456789.", scanner->scratch[0]) == NULL || scanner->at == begin)
		return fail_at(scanner, begin, what);
	scanner->similarity = strtod(scanner->scratch, &end);
	if (*end != '\0' || !(scanner->similarity >= 0 && scanner->similarity <= 1))
		return fail_at(scanner, begin, what);
	return true;
}

/* the part after the closing brace */
static bool
scan_end(GenieTextScanner *scanner)
{
	uint32_t	number;
	bool		has_min_match = scanner->is_query && accept(scanner, '@');

	if (has_min_match)
	{
		if (!scan_number(scanner, "a min_match between 0 and 2147483647 is expected", &number))
			return false;
		scanner->min_match = (int32_t) number;
	}
	if (scanner->is_query && accept(scanner, '%'))
	{
		if (!scan_similarity(scanner))
			return false;
		if (!has_min_match)
			scanner->min_match = 0;
	}
	peek(scanner);
	if (scanner->at < scanner->len)
		return fail(scanner, "nothing more is allowed");
	return true;
}

GenieTextResult
genie_text_next(GenieTextScanner *scanner, GenieTextItem *item)
{
	bool		first = !scanner->begun;

	scanner->begun = true;
	if (first && !accept(scanner, '{'))
	{
		fail(scanner, "a \"{\" is expected");
		return GENIE_TEXT_ERROR;
	}
	if (accept(scanner, '}'))
		return scan_end(scanner) ? GENIE_TEXT_END : GENIE_TEXT_ERROR;
	if (!first && !accept(scanner, ','))
	{
		fail(scanner, "a \",\" or \"}\" is expected");
		return GENIE_TEXT_ERROR;
	}
	return scan_item(scanner, item) ? GENIE_TEXT_ITEM : GENIE_TEXT_ERROR;
}
