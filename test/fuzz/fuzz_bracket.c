/*
 * fuzz_bracket.c
 *	  The reader of trees in bracket notation on hostile text.
 *
 * Whatever the text: the reader ends, says where an error is, and keeps within the nodes that it was given.  A
 * tree that it accepted is one: every node but the first is reached once, in preorder.  Written again, with labels
 * in canonical form, it is read into the same tree.
 */
#include "genie_bracket.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) \
	do { \
		if (!(condition)) \
		{ \
			fprintf(stderr, "fuzz_bracket: %s does not hold\n", #condition); \
			abort(); \
		} \
	} while (0)

/* Writes the tree, walking it by its links alone; node i must be the i-th that is met. */
static size_t
write_tree(char *out, const GenieBracketNode *nodes, uint32_t n)
{
	uint32_t	at = 0;
	uint32_t	met = 0;
	size_t		len = 0;

	for (;;)
	{
		REQUIRE(at == met && at < n);
		met++;
		out[len++] = '{';
		len += genie_bracket_label(out + len, &nodes[at]);
		if (nodes[at].first_child != GENIE_BRACKET_NONE)
		{
			REQUIRE(nodes[nodes[at].first_child].parent == at);
			at = nodes[at].first_child;
			continue;
		}
		out[len++] = '}';
		while (nodes[at].next_sibling == GENIE_BRACKET_NONE && nodes[at].parent != GENIE_BRACKET_NONE)
		{
			REQUIRE(nodes[nodes[at].parent].last_child == at);
			at = nodes[at].parent;
			out[len++] = '}';
		}
		if (nodes[at].parent == GENIE_BRACKET_NONE)
			break;
		REQUIRE(nodes[nodes[at].next_sibling].parent == nodes[at].parent);
		at = nodes[at].next_sibling;
	}
	REQUIRE(met == n);
	return len;
}

static void
check_tree(const GenieBracketNode *nodes, uint32_t n, size_t size)
{
	char	   *text = malloc(size);
	char	   *again = malloc(size);
	GenieBracketNode *copy = malloc(n * sizeof(GenieBracketNode));
	GenieBracketError error;
	uint32_t	m;
	size_t		len = write_tree(text, nodes, n);

	REQUIRE(len <= size);
	REQUIRE(genie_bracket_parse(text, len, copy, n, &m, &error) == GENIE_BRACKET_TREE && m == n);
	for (uint32_t i = 0; i < n; i++)
		REQUIRE(copy[i].parent == nodes[i].parent && copy[i].next_sibling == nodes[i].next_sibling);
	REQUIRE(write_tree(again, copy, n) == len && memcmp(text, again, len) == 0);
	free(copy);
	free(again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *) data;
	uint32_t	capacity = 0;
	GenieBracketNode *nodes;
	GenieBracketError error = {NULL, 0};
	uint32_t	n;

	for (size_t i = 0; i < size; i++)
		capacity += text[i] == '{';
	nodes = malloc((capacity + 1) * sizeof(GenieBracketNode));
	switch (genie_bracket_parse(text, size, nodes, capacity, &n, &error))
	{
		case GENIE_BRACKET_TREE:
			REQUIRE(n >= 1 && n <= capacity);
			check_tree(nodes, n, size);
			if (n > 1)
				REQUIRE(genie_bracket_parse(text, size, nodes, n - 1, &n, &error) == GENIE_BRACKET_FULL);
			break;
		case GENIE_BRACKET_MALFORMED:
			REQUIRE(error.message != NULL && error.at <= size && n <= capacity);
			break;
		case GENIE_BRACKET_FULL:
			REQUIRE(false);
	}
	free(nodes);
	return 0;
}
