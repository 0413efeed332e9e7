/*
 * genie_tree_class.c
 *	  The operator class genie_tree_ops: trees in bracket notation by their labels, nearest first by tree edit distance.
 *
 * A tree's keywords are the multiset of its nodes' labels (genie_multiset.h).
 *
 * The bound.  Take an optimal way from a tree of m nodes to one of n, where c is the number of labels that they share,
 * as multisets.  Each node of the larger tree is kept with its label, or relabelled, or one that is inserted or
 * deleted.  At most c of them are kept, and the others cost 1 each.  So the distance is at least
 *
 *		max(m, n) - c
 *
 * Labels longer than a keyword's value are cut and hashed: c may be too large then, and the bound too small, which is
 * safe.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "genie_multiset.h"
#include "genie_query.h"
#include "genie_tree.h"

PG_FUNCTION_INFO_V1(genie_tree_decompose);
PG_FUNCTION_INFO_V1(genie_tree_compile);
PG_FUNCTION_INFO_V1(genie_tree_bound);

/* Adds a tree's labels. */
static void
collect(const struct varlena *tree, GenieKeywords *keywords)
{
	GenieBracketNode *nodes;
	uint32		n = genie_tree_parse_for_distance(tree, &nodes);
	GenieMultisetPiece *pieces = palloc(n * sizeof(GenieMultisetPiece));

	for (uint32 i = 0; i < n; i++)
	{
		Size		len;
		const uint8 *label = (const uint8 *) genie_tree_label(&nodes[i], &len);

		pieces[i].value.data = label;
		pieces[i].value.len = (uint32) len;
		if (len > GENIE_VALUE_MAX)
		{
			uint8	   *cut = palloc(GENIE_VALUE_BYTES);

			pieces[i].value.data = cut;
			pieces[i].value.len = genie_value_cut(cut, label, len);
		}
	}
	genie_multiset_collect(pieces, n, 0, keywords);
	pfree(pieces);
	pfree(nodes);
}

/* support function 1 (genie_opclass.h) */
Datum
genie_tree_decompose(PG_FUNCTION_ARGS)
{
	struct varlena *tree = PG_GETARG_VARLENA_PP(0);

	collect(tree, (GenieKeywords *) PG_GETARG_POINTER(1));
	PG_FREE_IF_COPY(tree, 0);
	PG_RETURN_VOID();
}

/* support function 2: the right operand is a text or a tree_ball */
Datum
genie_tree_compile(PG_FUNCTION_ARGS)
{
	bool		is_tree = PG_GETARG_OID(2) == TEXTOID;
	double		radius = 0;
	struct varlena *tree = is_tree ? PG_GETARG_VARLENA_PP(0) : genie_tree_ball_parts(PG_GETARG_DATUM(0), &radius);
	GenieKeywords keywords;
	GenieQuery *query;

	genie_keywords_init(&keywords);
	collect(tree, &keywords);
	genie_keywords_finish(&keywords);
	query = genie_query_of_object((struct varlena *) genie_object_make(&keywords), 1);
	if (!is_tree)
	{
		query->min_match = 0;
		query->distance_strategy = GENIE_TREE_STRATEGY;
		query->max_distance = radius;
	}
	PG_RETURN_POINTER(query);
}

/* support function 3 */
Datum
genie_tree_bound(PG_FUNCTION_ARGS)
{
	const GenieQuery *query = (const GenieQuery *) PG_GETARG_POINTER(1);
	int32		n = query->n;
	int32		count = PG_GETARG_INT32(2);
	int32		size = PG_GETARG_INT32(3);

	Assert(PG_GETARG_INT16(0) == GENIE_TREE_STRATEGY);
	PG_RETURN_FLOAT8(Max(n, size) - count);
}
