/*
 * genie_tree_edit.c
 *	  The edit distance of trees (genie_tree_edit.h).
 *
 * Nodes are numbered in postorder.  The forest between two nodes is what lies between their numbers.  The distance of
 * two forests that end with the nodes x and y is the least of: x deleted, y inserted, and x made y, for which what is
 * below them and what is before them are forests again.  A root is a node that has a sibling before it, or no parent:
 * the trees below all other nodes are beginnings of a root's.  So it is enough to compute, for each pair of roots, the
 * table of all beginnings of their trees; the distances of trees that these beginnings are, are kept for later pairs.
 *
 * Such a table has a cell for each pair of nodes below the roots.  Which side a tree is read from decides which nodes
 * are roots, and the sums of the nodes below them: a tree that leans to one side has few from there.
 */
#include <string.h>

#include "genie_tree_edit.h"

#define PAUSE_CELLS 1000000		/* of tables between two pauses, at least */

size_t
genie_tree_bytes(uint32_t n)
{
	return 2 * n * (sizeof(uint32_t) + 2 * sizeof(uint16_t));
}

size_t
genie_tree_edit_bytes(uint32_t n, uint32_t m)
{
	return ((size_t) n * m + (size_t) (n + 1) * (m + 1)) * sizeof(uint16_t);
}

/* Takes the side's arrays from memory; returns what is behind them. */
static char *
take_arrays(GenieTreeSide *side, uint32_t n, char *memory)
{
	side->labels = (void *) memory;
	side->first = (void *) (memory + n * sizeof(uint32_t));
	side->roots = side->first + n;
	return memory + genie_tree_bytes(n) / 2;
}

/* Fills in a node that has that number, so many nodes below it, itself included, and perhaps is a root. */
static void
put(GenieTreeSide *side, uint32_t number, uint32_t size, uint32_t label, bool is_root)
{
	side->labels[number] = label;
	side->first[number] = (uint16_t) (number + 1 - size);
	side->roots[number] = is_root;
	side->work += is_root ? size : 0;
}

/* The roots were marked; now they are listed. */
static void
list_roots(GenieTreeSide *side, uint32_t n)
{
	side->n_roots = 0;
	for (uint32_t i = 0; i < n; i++)
		if (side->roots[i])
			side->roots[side->n_roots++] = (uint16_t) i;
}

void
genie_tree_make(GenieTree *tree, const GenieBracketNode *nodes, const uint32_t *labels, uint32_t n, void *memory)
{
	/* in the right side's labels, before they are written: nodes below, and ancestors; both fit 16 bits */
	uint16_t   *sizes;
	uint16_t   *depths;

	tree->n = n;
	tree->left.work = tree->right.work = 0;
	(void) take_arrays(&tree->right, n, take_arrays(&tree->left, n, memory));
	sizes = (uint16_t *) tree->right.labels;
	depths = sizes + n;
	for (uint32_t i = 0; i < n; i++)
	{
		sizes[i] = 1;
		depths[i] = nodes[i].parent == GENIE_BRACKET_NONE ? 0 : depths[nodes[i].parent] + 1;
	}
	for (uint32_t i = n - 1; i > 0; i--)
		sizes[nodes[i].parent] += sizes[i];
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	parent = nodes[i].parent;

		put(&tree->left, i - depths[i] + sizes[i] - 1, sizes[i], labels[i],
			parent == GENIE_BRACKET_NONE || nodes[parent].first_child != i);
		/* from the right, postorder is preorder backwards; the first leaf waits for the labels */
		tree->right.first[n - 1 - i] = (uint16_t) (n - sizes[i] - i);
		tree->right.roots[n - 1 - i] = parent == GENIE_BRACKET_NONE || nodes[parent].last_child != i;
		tree->right.work += tree->right.roots[n - 1 - i] ? sizes[i] : 0;
	}
	for (uint32_t i = 0; i < n; i++)
		tree->right.labels[n - 1 - i] = labels[i];
	list_roots(&tree->left, n);
	list_roots(&tree->right, n);
}

static inline uint16_t
smaller(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

/* The table of two roots; trees[x * m + y] is the distance of the trees below x and y, once it is known. */
static void
compare_roots(const GenieTreeSide *a, const GenieTreeSide *b, uint32_t i, uint32_t j, uint32_t m, uint16_t *trees,
			  uint16_t *table)
{
	uint32_t	first_x = a->first[i];
	uint32_t	first_y = b->first[j];
	uint32_t	width = j + 2 - first_y;

	/* row and column 0 are of the empty forest */
	for (uint32_t y = 0; y < width; y++)
		table[y] = (uint16_t) y;
	for (uint32_t x = first_x; x <= i; x++)
	{
		const uint16_t *above = table + (size_t) (x - first_x) * width;
		uint16_t   *row = table + (size_t) (x - first_x + 1) * width;
		const uint16_t *before = table + (size_t) (a->first[x] - first_x) * width;
		uint16_t   *known = trees + (size_t) x * m;
		bool		begins = a->first[x] == first_x;
		uint32_t	label = a->labels[x];
		uint16_t	last = row[0] = (uint16_t) (x - first_x + 1);

		for (uint32_t y = first_y; y <= j; y++)
		{
			uint32_t	at = y - first_y + 1;
			uint16_t	least = (uint16_t) (smaller(above[at], last) + 1);

			if (begins && b->first[y] == first_y)
			{
				least = smaller(least, (uint16_t) (above[at - 1] + (label != b->labels[y])));
				known[y] = least;
			}
			else
				least = smaller(least, (uint16_t) (before[b->first[y] - first_y] + known[y]));
			row[at] = last = least;
		}
	}
}

uint32_t
genie_tree_edit_distance(const GenieTree *a, const GenieTree *b, void *memory, void (*pause) (void))
{
	bool		from_right = a->right.work * b->right.work < a->left.work * b->left.work;
	const GenieTreeSide *side_a = from_right ? &a->right : &a->left;
	const GenieTreeSide *side_b = from_right ? &b->right : &b->left;
	uint16_t   *trees = memory;
	uint16_t   *table = trees + (size_t) a->n * b->n;
	uint64_t	n_cells = 0;

	for (uint32_t r = 0; r < side_a->n_roots; r++)
		for (uint32_t s = 0; s < side_b->n_roots; s++)
		{
			uint32_t	i = side_a->roots[r];
			uint32_t	j = side_b->roots[s];

			compare_roots(side_a, side_b, i, j, b->n, trees, table);
			n_cells += (uint64_t) (i + 1 - side_a->first[i]) * (j + 1 - side_b->first[j]);
			if (pause != NULL && n_cells >= PAUSE_CELLS)
			{
				pause();
				n_cells = 0;
			}
		}
	return trees[(size_t) a->n * b->n - 1];
}
