/*
 * genie_property.c
 *	  amproperty: can this column be ordered by an operator?
 *
 * The server answers all other questions from IndexAmRoutine.  This one depends on the operator class.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "genie_property.h"

bool
genie_property(Oid index_oid, int attno, IndexAMProperty property, const char *name,
			   bool *result, bool *is_null)
{
	Oid			opclass;
	Oid			family;
	Oid			type;
	CatCList   *opers;

	if (attno == 0 || property != AMPROP_DISTANCE_ORDERABLE)
		return false;
	opclass = get_index_column_opclass(index_oid, attno);
	if (!OidIsValid(opclass) || !get_opclass_opfamily_and_input_type(opclass, &family, &type))
	{
		*is_null = true;
		return true;
	}
	*is_null = false;
	*result = false;
	opers = SearchSysCacheList2(AMOPSTRATEGY, ObjectIdGetDatum(family), ObjectIdGetDatum(type));
	for (int i = 0; i < opers->n_members; i++)
		*result |= ((Form_pg_amop) GETSTRUCT(&opers->members[i]->tuple))->amoppurpose == AMOP_ORDER;
	ReleaseSysCacheList(opers);
	return true;
}
