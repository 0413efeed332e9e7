/*
 * genie_tree_distance.c
 *	  The edit distance of trees in bracket notation: genie_tree_distance(), text <^> text, text @& tree_ball.
 *
 * genie_tree_edit.c computes the distance of trees whose labels are numbers; this file numbers them.  The right operand
 * is mostly the same in all rows, so its tree and the numbers of its labels are kept in fn_extra (genie_operand.h).  A
 * label that it does not have is 0 in the left one, which no label of it is.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"

#include "genie_ball.h"
#include "genie_operand.h"
#include "genie_tree.h"
#include "genie_tree_edit.h"

PG_FUNCTION_INFO_V1(genie_tree_distance);
PG_FUNCTION_INFO_V1(genie_matches_tree_ball);

#define KEPT_BYTES (1024 * 1024)	/* of memory that stays from row to row, at most */

typedef struct LabelKey
{
	const char *bytes;
	Size		len;
} LabelKey;

typedef struct Label
{
	LabelKey	key;
	uint32		hash;
	uint32		number;			/* from 1 on */
	char		status;
} Label;

#define SH_PREFIX label
#define SH_ELEMENT_TYPE Label
#define SH_KEY_TYPE LabelKey
#define SH_KEY key
#define SH_HASH_KEY(table, k) hash_bytes((const unsigned char *) (k).bytes, (int) (k).len)
#define SH_EQUAL(table, a, b) ((a).len == (b).len && memcmp((a).bytes, (b).bytes, (a).len) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, a) (a)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct TreeState
{
	GenieOperand right;
	label_hash *labels;			/* of the right operand, like the next two */
	GenieTree	tree;
	double		radius;			/* of a ball */
	MemoryContext row;			/* what is needed for a left operand, reset afterwards */
	void	   *work;			/* of so many bytes, for distances */
	Size		n_work;
} TreeState;

static TreeState *
tree_state(FunctionCallInfo fcinfo)
{
	TreeState  *state = fcinfo->flinfo->fn_extra;
	MemoryContext old;

	if (state != NULL)
		return state;
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	state = palloc0(sizeof(TreeState));
	genie_operand_init(&state->right);
	state->row = AllocSetContextCreate(CurrentMemoryContext, "genie tree", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

/* The tree, in the current memory context.  Its labels are numbered by the table, and put into it first if is_new. */
static void
make_tree(GenieTree *tree, const struct varlena *datum, label_hash * labels, bool is_new)
{
	GenieBracketNode *nodes;
	uint32		n = genie_tree_parse_for_distance(datum, &nodes);
	uint32	   *numbers = palloc(n * sizeof(uint32));

	for (uint32 i = 0; i < n; i++)
	{
		LabelKey	key;
		Label	   *label;
		bool		found = true;

		key.bytes = genie_tree_label(&nodes[i], &key.len);
		label = is_new ? label_insert(labels, key, &found) : label_lookup(labels, key);
		if (!found)
			label->number = labels->members;
		numbers[i] = label == NULL ? 0 : label->number;
	}
	genie_tree_make(tree, nodes, numbers, n, palloc(genie_tree_bytes(n)));
}

/* Keeps the right operand; the current memory context is its. */
static void
keep_right(TreeState *state, const struct varlena *tree)
{
	state->labels = label_create(CurrentMemoryContext, 16, NULL);
	make_tree(&state->tree, tree, state->labels, true);
}

static void
look_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* The distance of the left operand to the right one, which is kept; UINT32_MAX: more than limit. */
static uint32
distance_to_left(FunctionCallInfo fcinfo, TreeState *state, double limit)
{
	MemoryContext old = MemoryContextSwitchTo(state->row);
	uint32		distance = UINT32_MAX;
	GenieTree	left;
	Size		n_bytes;

	MemoryContextReset(state->row);
	make_tree(&left, PG_GETARG_VARLENA_PP(0), state->labels, false);
	if (Max(left.n, state->tree.n) - Min(left.n, state->tree.n) <= limit)
	{
		n_bytes = genie_tree_edit_bytes(left.n, state->tree.n);
		if (n_bytes > KEPT_BYTES)
			distance = genie_tree_edit_distance(&left, &state->tree, palloc(n_bytes), look_for_interrupts);
		else
		{
			if (state->n_work < n_bytes)
			{
				state->n_work = 0;
				if (state->work != NULL)
					pfree(state->work);
				state->work = NULL;
				state->work = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, n_bytes);
				state->n_work = n_bytes;
			}
			distance = genie_tree_edit_distance(&left, &state->tree, state->work, look_for_interrupts);
		}
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->row);
	return distance;
}

struct varlena *
genie_tree_ball_parts(Datum ball, double *radius)
{
	return (struct varlena *) PG_DETOAST_DATUM_PACKED(genie_ball_float8_parts(ball, TEXTOID, radius));
}

/* The state, in which the right operand is kept: a tree_ball, or a tree. */
static TreeState *
state_of_right(FunctionCallInfo fcinfo, bool is_ball)
{
	TreeState  *state = tree_state(fcinfo);
	struct varlena *right = genie_operand_if_new(&state->right, PG_GETARG_DATUM(1));

	if (right != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(state->right.context);

		keep_right(state, is_ball ? genie_tree_ball_parts(PointerGetDatum(right), &state->radius) :
				   (struct varlena *) PG_DETOAST_DATUM_PACKED(PointerGetDatum(right)));
		MemoryContextSwitchTo(old);
		genie_operand_keep(&state->right, right);
	}
	return state;
}

/* genie_tree_distance(text, text), text <^> text */
Datum
genie_tree_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(distance_to_left(fcinfo, state_of_right(fcinfo, false), INFINITY));
}

/* text @& tree_ball */
Datum
genie_matches_tree_ball(PG_FUNCTION_ARGS)
{
	TreeState  *state = state_of_right(fcinfo, true);

	PG_RETURN_BOOL(distance_to_left(fcinfo, state, state->radius) <= state->radius);
}
