/*
 * genie_tree.c
 *	  Ordered, labelled trees: reading them (genie_tree.h), and genie_binary_branches(), which makes objects of them.
 *
 * Yang, Kalnis and Tung, "Similarity evaluation on tree-structured data" (SIGMOD 2005), section 3: a tree is turned
 * into a binary tree, whose left children are first children and whose right children are next siblings.  Each node
 * gives one branch: the labels of the node, its left child and its right child.  A tree of n nodes has n branches.
 * Each edit operation (relabel, delete or insert a node) changes at most five branches of both trees together.  So for
 * trees A and B that share c branches
 *
 *		|A| + |B| - 2 c <= 5 * (tree edit distance of A and B)
 *
 * where c is the size of the multiset intersection, which is the match count of their objects (genie_multiset.h).
 *
 * A branch is written as the node's label; then "{" and the left label, or "}" if there is none; then "{" and the right
 * label, or "}".  genie_bracket_label() escapes braces in labels, so that branches are not ambiguous.  {a{b}{c}} has
 * a{b}, b}{c and c}}.
 */
#include "postgres.h"

#include "genie_multiset.h"
#include "genie_tree.h"
#include "genie_tree_edit.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"

PG_FUNCTION_INFO_V1(genie_binary_branches);

static void
report_malformed(const char *text, const GenieBracketError *error)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("malformed tree in bracket notation"),
			 errdetail("At character %d: %s.", pg_mbstrlen_with_len(text, error->at) + 1, error->message),
			 errhint("A node is \"{\", its label, its children and \"}\"; "
					 "in a label, a backslash goes before braces and backslashes.")));
}

/* Parses the tree, of up to so many nodes; with one more, it has too many. */
static uint32
parse(const struct varlena *tree, uint32 most, GenieBracketNode **nodes)
{
	const char *text = VARDATA_ANY(tree);
	size_t		len = VARSIZE_ANY_EXHDR(tree);
	uint32		capacity = 0;
	uint32		n;
	GenieBracketError error;

	for (size_t i = 0; i < len && capacity < most; i++)
		capacity += text[i] == '{';
	*nodes = palloc(capacity * sizeof(GenieBracketNode));
	switch (genie_bracket_parse(text, len, *nodes, capacity, &n, &error))
	{
		case GENIE_BRACKET_MALFORMED:
			report_malformed(text, &error);
			break;
		case GENIE_BRACKET_FULL:
			return most + 1;
		case GENIE_BRACKET_TREE:
			break;
	}
	return n;
}

uint32
genie_tree_parse(const struct varlena *tree, GenieBracketNode **nodes)
{
	uint32		n = parse(tree, GENIE_OBJECT_KEYWORDS_MAX, nodes);

	genie_keywords_check_limit(n);
	return n;
}

uint32
genie_tree_parse_for_distance(const struct varlena *tree, GenieBracketNode **nodes)
{
	uint32		n = parse(tree, GENIE_TREE_NODES_MAX, nodes);

	if (n > GENIE_TREE_NODES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("tree is too large for a tree edit distance"),
				 errdetail("At most %d nodes are possible.", GENIE_TREE_NODES_MAX)));
	return n;
}

const char *
genie_tree_label(const GenieBracketNode *node, Size *len)
{
	char	   *label;

	*len = node->label_len;
	if (node->label_len == 0 || memchr(node->label, '\\', node->label_len) == NULL)
		return node->label;
	label = palloc(node->label_len);
	*len = genie_bracket_label(label, node);
	return label;
}

/* Appends the label of one side of a branch. */
static void
put_side(StringInfo branch, const GenieBracketNode *nodes, uint32 i)
{
	if (i == GENIE_BRACKET_NONE)
	{
		appendStringInfoChar(branch, '}');
		return;
	}
	appendStringInfoChar(branch, '{');
	enlargeStringInfo(branch, nodes[i].label_len);
	branch->len += genie_bracket_label(branch->data + branch->len, &nodes[i]);
}

/* genie_binary_branches(tree) */
Datum
genie_binary_branches(PG_FUNCTION_ARGS)
{
	struct varlena *tree = PG_GETARG_VARLENA_PP(0);
	GenieBracketNode *nodes;
	uint32		n = genie_tree_parse(tree, &nodes);
	StringInfoData branch;
	GenieMultiset branches;

	initStringInfo(&branch);
	genie_multiset_init(&branches);
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		resetStringInfo(&branch);
		enlargeStringInfo(&branch, nodes[i].label_len);
		branch.len = genie_bracket_label(branch.data, &nodes[i]);
		put_side(&branch, nodes, nodes[i].first_child);
		put_side(&branch, nodes, nodes[i].next_sibling);
		genie_multiset_add(&branches, branch.data, branch.len);
	}
	PG_RETURN_POINTER(genie_multiset_object(&branches, 0));
}
