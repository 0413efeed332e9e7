/*
 * test_tree_edit.c
 *	  The edit distance of trees against its definition, forest by forest, on small trees; its laws on larger ones.
 */
#include <stdlib.h>
#include <string.h>

#include "genie_bracket.h"
#include "genie_test.h"
#include "genie_tree_edit.h"

#define TEXT_MAX 100000
#define NODES_MAX 4096
#define LABELS 3

typedef struct Made
{
	char		text[TEXT_MAX];
	GenieBracketNode nodes[NODES_MAX];
	uint32_t	labels[NODES_MAX];
	uint32_t	n;
	GenieTree	tree;
	void	   *memory;
} Made;

static Made trees[3];
static GenieRandom random_state = {5};

static uint32_t
below(uint32_t n)
{
	return (uint32_t) genie_random_below(&random_state, n);
}

static void
make(Made *made)
{
	GenieBracketError error;

	if (!CHECK(genie_bracket_parse(made->text, strlen(made->text), made->nodes, NODES_MAX, &made->n, &error) ==
			   GENIE_BRACKET_TREE))
		exit(1);
	for (uint32_t i = 0; i < made->n; i++)
		made->labels[i] = (uint8_t) made->nodes[i].label[0];
	free(made->memory);
	made->memory = malloc(genie_tree_bytes(made->n));
	genie_tree_make(&made->tree, made->nodes, made->labels, made->n, made->memory);
}

/* Writes a random tree of n nodes; shape 0: any, 1: a chain, 2: a star, 3: leaning to the left, 4: to the right. */
static void
draw(Made *made, uint32_t n, int shape)
{
	char	   *at = made->text;
	uint32_t	depth = 1;

	*at++ = '{';
	*at++ = (char) ('a' + below(LABELS));
	for (uint32_t i = 1; i < n; i++)
	{
		uint32_t	up = 0;

		if (shape == 0)
			up = below(depth);
		else if (shape == 2 || (shape == 3 && i > n / 2))
			up = depth - 1;
		else if (shape == 4)
			up = depth > 1 && i % 2 == 0 ? 1 : 0;
		for (; up > 0; up--, depth--)
			*at++ = '}';
		*at++ = '{';
		*at++ = (char) ('a' + below(LABELS));
		depth++;
	}
	for (; depth > 0; depth--)
		*at++ = '}';
	*at = '\0';
	make(made);
}

static uint32_t
distance(const Made *a, const Made *b)
{
	void	   *memory = malloc(genie_tree_edit_bytes(a->n, b->n));
	uint32_t	result = genie_tree_edit_distance(&a->tree, &b->tree, memory, NULL);

	free(memory);
	return result;
}

/* ---- the definition ---- */

typedef struct Ordered
{
	uint32_t	n;
	int			labels[16];
	int			first[16];		/* in postorder: the first leaf below */
} Ordered;

static uint32_t
visit(const Made *made, uint32_t i, Ordered *ordered)
{
	uint32_t	first = UINT32_MAX;

	for (uint32_t c = made->nodes[i].first_child; c != GENIE_BRACKET_NONE; c = made->nodes[c].next_sibling)
	{
		uint32_t	leaf = visit(made, c, ordered);

		first = first == UINT32_MAX ? leaf : first;
	}
	ordered->labels[ordered->n] = (int) made->labels[i];
	first = first == UINT32_MAX ? ordered->n : first;
	ordered->first[ordered->n++] = (int) first;
	return first;
}

/* Of the forests of the nodes i .. j and k .. l, in postorder; i > j: none. */
static int
forests(const Ordered *a, const Ordered *b, int i, int j, int k, int l)
{
	int			least;
	int			other;

	if (i > j || k > l)
		return (j - i + 1) + (l - k + 1);
	least = forests(a, b, i, j - 1, k, l) + 1;
	other = forests(a, b, i, j, k, l - 1) + 1;
	least = other < least ? other : least;
	other = forests(a, b, i, a->first[j] - 1, k, b->first[l] - 1) +
		forests(a, b, a->first[j], j - 1, b->first[l], l - 1) + (a->labels[j] != b->labels[l]);
	return other < least ? other : least;
}

static uint32_t
defined(const Made *a, const Made *b)
{
	Ordered		first = {0};
	Ordered		second = {0};

	(void) visit(a, 0, &first);
	(void) visit(b, 0, &second);
	return (uint32_t) forests(&first, &second, 0, (int) a->n - 1, 0, (int) b->n - 1);
}

static void
test_definition(void)
{
	for (int run = 0; run < 4000; run++)
	{
		draw(&trees[0], 1 + below(6), (int) below(5));
		draw(&trees[1], 1 + below(6), (int) below(5));
		if (!CHECK(distance(&trees[0], &trees[1]) == defined(&trees[0], &trees[1])))
			printf("  %s %s: %u, not %u\n", trees[0].text, trees[1].text, distance(&trees[0], &trees[1]),
				   defined(&trees[0], &trees[1]));
	}
}

/* Zhang and Shasha's own example: 2. */
static void
test_known(void)
{
	strcpy(trees[0].text, "{f{d{a}{c{b}}}{e}}");
	strcpy(trees[1].text, "{f{c{d{a}{b}}}{e}}");
	make(&trees[0]);
	make(&trees[1]);
	CHECK(distance(&trees[0], &trees[1]) == 2);
}

static uint32_t n_pauses;

static void
count_pause(void)
{
	n_pauses++;
}

static void
test_laws(void)
{
	for (int run = 0; run < 300; run++)
	{
		uint32_t	d[3];
		uint32_t	n[3];

		for (int i = 0; i < 3; i++)
			draw(&trees[i], 1 + below(80), (int) below(5));
		for (int i = 0; i < 3; i++)
		{
			d[i] = distance(&trees[i], &trees[(i + 1) % 3]);
			n[i] = trees[i].n;
			CHECK(distance(&trees[i], &trees[i]) == 0);
			CHECK(d[i] == distance(&trees[(i + 1) % 3], &trees[i]));
		}
		for (int i = 0; i < 3; i++)
		{
			uint32_t	a = n[i];
			uint32_t	b = n[(i + 1) % 3];

			CHECK(d[i] <= d[(i + 1) % 3] + d[(i + 2) % 3]);
			CHECK(d[i] >= (a > b ? a - b : b - a) && d[i] <= (a > b ? a : b) + (a > b ? b : a));
		}
	}
}

/* The largest trees: distances that are known, and pauses. */
static void
test_large(void)
{
	void	   *memory;

	draw(&trees[0], GENIE_TREE_NODES_MAX, 1);
	draw(&trees[1], GENIE_TREE_NODES_MAX, 2);
	for (uint32_t i = 0; i < GENIE_TREE_NODES_MAX; i++)
		trees[0].labels[i] = trees[1].labels[i] = 7;
	for (int i = 0; i < 2; i++)
		genie_tree_make(&trees[i].tree, trees[i].nodes, trees[i].labels, trees[i].n, trees[i].memory);
	memory = malloc(genie_tree_edit_bytes(GENIE_TREE_NODES_MAX, GENIE_TREE_NODES_MAX));
	CHECK(genie_tree_edit_distance(&trees[0].tree, &trees[0].tree, memory, count_pause) == 0);
	CHECK(n_pauses >= 1);
	/* of a chain and a star, a root with one leaf is the same */
	CHECK(genie_tree_edit_distance(&trees[0].tree, &trees[1].tree, memory, NULL) == 2 * (GENIE_TREE_NODES_MAX - 2));
	free(memory);
}

int
main(void)
{
	test_known();
	test_definition();
	test_laws();
	test_large();
	for (int i = 0; i < 3; i++)
		free(trees[i].memory);
	return genie_test_end();
}
