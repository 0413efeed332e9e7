/*
 * genie_tree.h
 *	  Trees in bracket notation as their operator class, their distance and genie_binary_branches() read them.
 */
#ifndef GENIE_TREE_H
#define GENIE_TREE_H

#include "fmgr.h"

#include "genie_bracket.h"

/* Parses a tree; *nodes is palloc'd and points into it.  Returns how many nodes.  Errors: it is no tree; too many. */
extern uint32 genie_tree_parse(const struct varlena *tree, GenieBracketNode **nodes);

/* The same for a tree edit distance, which allows of fewer: GENIE_TREE_NODES_MAX. */
extern uint32 genie_tree_parse_for_distance(const struct varlena *tree, GenieBracketNode **nodes);

/* A node's label, normalised: in the tree, or palloc'd where it has backslashes. */
extern const char *genie_tree_label(const GenieBracketNode *node, Size *len);

/* The parts of a tree_ball.  Errors: one is NULL; a negative radius, or NaN. */
extern struct varlena *genie_tree_ball_parts(Datum ball, double *radius);

#endif							/* GENIE_TREE_H */
