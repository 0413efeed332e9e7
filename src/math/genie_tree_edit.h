/*
 * genie_tree_edit.h
 *	  The edit distance of two ordered, labelled trees: how many nodes must be inserted, deleted or relabelled, each of
 *	  cost 1, to make one tree the other (Zhang and Shasha, "Simple fast algorithms for the editing distance between
 *	  trees and related problems", SIAM J. Computing 18, 1989).
 *
 * Nothing here allocates.
 */
#ifndef GENIE_TREE_EDIT_H
#define GENIE_TREE_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "genie_bracket.h"

#define GENIE_TREE_NODES_MAX 4095	/* of a tree: distances fit 16 bits, and the table of two has 64 MB */

/*
 * A tree as its nodes in postorder, with children from the left to the right, or from the right to the left: the
 * distance is the same, and the work differs.
 */
typedef struct GenieTreeSide
{
	uint32_t   *labels;			/* numbers: equal ones are equal labels */
	uint16_t   *first;			/* the first leaf below a node, or itself */
	uint16_t   *roots;			/* nodes of which no later one has the same first leaf, ascending */
	uint32_t	n_roots;
	uint64_t	work;			/* nodes below these, added up: of two trees, the product counts */
} GenieTreeSide;

typedef struct GenieTree
{
	uint32_t	n;				/* nodes, at least 1 */
	GenieTreeSide left;
	GenieTreeSide right;
} GenieTree;

/* Bytes that a tree of n nodes has, and the distance needs of trees of n and m. */
extern size_t genie_tree_bytes(uint32_t n);
extern size_t genie_tree_edit_bytes(uint32_t n, uint32_t m);

/*
 * Makes a tree of n nodes, at most GENIE_TREE_NODES_MAX, in preorder, whose labels have these numbers, in memory of
 * genie_tree_bytes(), which is aligned for a uint32_t.
 */
extern void genie_tree_make(GenieTree *tree, const GenieBracketNode *nodes, const uint32_t *labels, uint32_t n,
							void *memory);

/*
 * The distance; memory has genie_tree_edit_bytes(), aligned for a uint16_t.  Large trees take a while: pause, if not
 * NULL, is called now and then, and may leave by longjmp.
 */
extern uint32_t genie_tree_edit_distance(const GenieTree *a, const GenieTree *b, void *memory, void (*pause) (void));

#endif							/* GENIE_TREE_EDIT_H */
