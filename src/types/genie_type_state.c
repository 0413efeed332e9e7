/*
 * genie_type_state.c
 *	  The state of the types that an index's keywords depend on (genie_type_state.h).
 *
 * Which types.  They are the type of the indexed column or expression, and the types of the arguments of all functions
 * and operators in the expression: genie_tuple(a, b) returns a genie_object, and only its arguments tell the types of
 * a and b.  Enums count wherever they stand, because a function that gets one may ask for its label.  Composite types
 * and ranges count as elements of an indexed array, and where a function takes values of any type, as genie_tuple does.
 * Elsewhere a function has its own use for a row, such as one of its columns, and adding a column to a table must not
 * stop the use of an index on f(table.*).
 *
 * What a function reads that is not given to it cannot be found, nor which attributes of a row it uses.
 * The expression is taken as the catalog has it, before functions are inlined, because that depends on the user's
 * rights.  Stored values of genie_object have labels in them; they do not change, and index and table agree on them.
 *
 * The state is a sum of hashes, in any order.  An enum gives one for each of its values, of OID and label, so that two
 * labels that changed places are noticed.  Values are never dropped, and their OIDs survive pg_upgrade.  A value that
 * was added after the build has an OID beyond the newest one then, and does not count.  After the OID counter
 * has wrapped around it may have a lower one; then the index is refused without need, until REINDEX.  A composite
 * type gives a hash for each of its attributes.
 *
 * Nothing is kept between statements: the lists of labels come from the system caches, whose entries go when another
 * session renames a label.  The indexes of most tables depend on no such type, and their recorded sum says so.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "genie_meta.h"
#include "genie_type_state.h"
#include "genie_value.h"

/* Notes a type, or the type of an array's elements; rows: those that are hashed as a whole count, too. */
static List *
note_type(List *types, Oid type, bool rows)
{
	Oid			element = get_base_element_type(type);
	Oid			base = getBaseType(OidIsValid(element) ? element : type);

	switch (get_typtype(base))
	{
		case TYPTYPE_ENUM:
			return lappend_oid(types, base);
		case TYPTYPE_COMPOSITE:
		case TYPTYPE_RANGE:
		case TYPTYPE_MULTIRANGE:
			return rows ? lappend_oid(types, base) : types;
		default:
			return types;
	}
}

static List *
note_arguments(List *types, Oid function, const List *arguments)
{
	Oid		   *declared;
	int			n;
	ListCell   *cell;

	get_func_signature(function, &declared, &n);
	foreach(cell, arguments)
	{
		Oid			of_function = n > 0 ? declared[Min(foreach_current_index(cell), n - 1)] : InvalidOid;

		types = note_type(types, exprType(lfirst(cell)), get_typtype(of_function) == TYPTYPE_PSEUDO);
	}
	return types;
}

static bool
note_node(Node *node, List **types)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr))
		*types = note_arguments(*types, ((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args);
	else if (IsA(node, OpExpr))
		*types = note_arguments(*types, get_opcode(((OpExpr *) node)->opno), ((OpExpr *) node)->args);
	return expression_tree_walker(node, note_node, types);
}

List *
genie_type_state_types(Relation index)
{
	Oid			type = TupleDescAttr(RelationGetDescr(index), 0)->atttypid;
	List	   *types = note_type(NIL, type, true);
	bool		is_null;
	Datum		expressions = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, Anum_pg_index_indexprs, &is_null);

	if (!is_null)
		note_node(stringToNode(TextDatumGetCString(expressions)), &types);
	return types;
}

/* Adds to a GenieTypeState what one type, or one attribute of a composite type, contributes. */
static bool
add_type(Oid type, Oid owner, int attribute, void *context)
{
	GenieTypeState *state = context;
	uint64		place = hash_combine64(hash_bytes_uint32_extended(owner, 0), hash_bytes_uint32_extended(attribute, 0));
	CatCList   *labels;

	state->sum += hash_combine64(place, hash_bytes_uint32_extended(type, 0));
	if (get_typtype(type) != TYPTYPE_ENUM)
		return false;
	labels = SearchSysCacheList1(ENUMTYPOIDNAME, ObjectIdGetDatum(type));
	for (int i = 0; i < labels->n_members; i++)
	{
		Form_pg_enum value = (Form_pg_enum) GETSTRUCT(&labels->members[i]->tuple);
		const char *label = NameStr(value->enumlabel);

		if (value->oid <= state->newest_label)
			state->sum += hash_bytes_extended((const uint8 *) label, strlen(label), value->oid);
	}
	ReleaseSysCacheList(labels);
	return false;
}

/* The state of these types, of values up to that one. */
static GenieTypeState
state_of(const List *types, Oid newest_label)
{
	GenieTypeState state = {.newest_label = newest_label};
	ListCell   *cell;

	foreach(cell, types)
		genie_value_walk_type(lfirst_oid(cell), add_type, &state);
	return state;
}

/* Raises an Oid to the newest of a type's values. */
static bool
find_newest(Oid type, Oid owner, int attribute, void *context)
{
	Oid		   *newest = context;
	CatCList   *labels;

	if (get_typtype(type) != TYPTYPE_ENUM)
		return false;
	labels = SearchSysCacheList1(ENUMTYPOIDNAME, ObjectIdGetDatum(type));
	for (int i = 0; i < labels->n_members; i++)
		*newest = Max(*newest, ((Form_pg_enum) GETSTRUCT(&labels->members[i]->tuple))->oid);
	ReleaseSysCacheList(labels);
	return false;
}

GenieTypeState
genie_type_state_begin(Relation index)
{
	List	   *types = genie_type_state_types(index);
	Oid			newest_label = InvalidOid;
	ListCell   *cell;

	foreach(cell, types)
		genie_value_walk_type(lfirst_oid(cell), find_newest, &newest_label);
	return state_of(types, newest_label);
}

bool
genie_type_state_holds(const GenieTypeState *recorded, const List *types)
{
	return state_of(types, recorded->newest_label).sum == recorded->sum;
}

void
genie_type_state_check_types(Relation index, const GenieTypeState *recorded, const List *types)
{
	if (!genie_type_state_holds(recorded, types))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" has keywords of a type that was altered", RelationGetRelationName(index)),
				 errdetail("Since the index was built, ALTER TYPE has renamed a value of an enum, "
						   "or changed the attributes of a composite type."),
				 errhint("Please REINDEX it.")));
}

void
genie_type_state_check(Relation index, const GenieTypeState *recorded)
{
	if (recorded->sum != 0)
		genie_type_state_check_types(index, recorded, genie_type_state_types(index));
}
