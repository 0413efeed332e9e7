/*
 * genie_bracket.c
 *	  Reading trees in bracket notation.
 *
 * One pass over the text.  The only state is the node that is open: its parent is the one below it on what would be
 * the stack, so depth costs nothing.
 */
#include "genie_bracket.h"

#include <stdbool.h>

static bool
is_special(char c)
{
	return c == '{' || c == '}' || c == '\\';
}

static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static GenieBracketResult
malformed(GenieBracketError *error, const char *message, size_t at)
{
	error->message = message;
	error->at = at;
	return GENIE_BRACKET_MALFORMED;
}

/* What may stand here is said by whether there are nodes yet and whether one is open. */
static GenieBracketResult
unexpected(GenieBracketError *error, uint32_t n, uint32_t open, size_t at)
{
	if (n == 0)
		return malformed(error, "a tree begins with \"{\"", at);
	if (open == GENIE_BRACKET_NONE)
		return malformed(error, "the tree has ended", at);
	return malformed(error, "\"{\" or \"}\" is missing", at);
}

static void
append_node(GenieBracketNode *nodes, uint32_t i, uint32_t parent)
{
	GenieBracketNode *node = &nodes[i];

	node->parent = parent;
	node->first_child = GENIE_BRACKET_NONE;
	node->last_child = GENIE_BRACKET_NONE;
	node->next_sibling = GENIE_BRACKET_NONE;
	if (parent == GENIE_BRACKET_NONE)
		return;
	if (nodes[parent].first_child == GENIE_BRACKET_NONE)
		nodes[parent].first_child = i;
	else
		nodes[nodes[parent].last_child].next_sibling = i;
	nodes[parent].last_child = i;
}

GenieBracketResult
genie_bracket_parse(const char *text, size_t len, GenieBracketNode *nodes, uint32_t capacity,
					uint32_t *n, GenieBracketError *error)
{
	uint32_t	open = GENIE_BRACKET_NONE;
	size_t		at = 0;

	*n = 0;
	while (at < len)
	{
		char		c = text[at];

		if (c == '{' && (*n == 0 || open != GENIE_BRACKET_NONE))
		{
			GenieBracketNode *node = &nodes[*n];

			if (*n == capacity)
				return GENIE_BRACKET_FULL;
			append_node(nodes, *n, open);
			open = (*n)++;
			node->label = text + ++at;
			while (at < len && text[at] != '{' && text[at] != '}')
			{
				if (text[at] == '\\' && ++at == len)
					return malformed(error, "nothing follows the backslash", at);
				at++;
			}
			node->label_len = (size_t) (text + at - node->label);
		}
		else if (c == '}' && open != GENIE_BRACKET_NONE)
		{
			open = nodes[open].parent;
			at++;
		}
		else if (is_blank(c))
			at++;
		else
			return unexpected(error, *n, open, at);
	}
	if (*n == 0 || open != GENIE_BRACKET_NONE)
		return unexpected(error, *n, open, at);
	return GENIE_BRACKET_TREE;
}

size_t
genie_bracket_label(char *out, const GenieBracketNode *node)
{
	size_t		n = 0;

	for (size_t i = 0; i < node->label_len; i++)
	{
		if (node->label[i] == '\\')
		{
			i++;
			if (is_special(node->label[i]))
				out[n++] = '\\';
		}
		out[n++] = node->label[i];
	}
	return n;
}

size_t
genie_bracket_escape(char *out, const char *label, size_t len)
{
	size_t		n = 0;

	for (size_t i = 0; i < len; i++)
	{
		if (is_special(label[i]))
			out[n++] = '\\';
		out[n++] = label[i];
	}
	return n;
}
