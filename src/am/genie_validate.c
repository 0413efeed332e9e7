/*
 * genie_validate.c
 *	  amvalidate: can the access method use this operator class?
 *
 * Strategies must be 1 (<&>, ORDER BY, int4), 2 (@&, search, boolean), or distances (from 3 on, ORDER BY,
 * float8).  Support functions must be 1 to 9, with the signatures of genie_opclass.h.  A class must have those
 * that it needs, and none that contradict each other.  Each finding is an INFO, as with the built-in access methods.
 */
#include "postgres.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "genie_opclass.h"
#include "genie_options.h"
#include "genie_validate.h"

#define GENIE_INVALID(...) \
	ereport(INFO, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION), errmsg(__VA_ARGS__)))

/* The operator family's name, palloc'd. */
static char *
genie_validate_family_name(Oid family)
{
	HeapTuple	tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(family));
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator family %u", family);
	name = pstrdup(NameStr(((Form_pg_opfamily) GETSTRUCT(tuple))->opfname));
	ReleaseSysCache(tuple);
	return name;
}

/* The function's result type if that is genie_query, else InvalidOid. */
static Oid
genie_validate_query_type(Oid function)
{
	Oid			type = get_func_rettype(function);
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	bool		is_query;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	is_query = strcmp(NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname), "genie_query") == 0;
	ReleaseSysCache(tuple);
	return is_query ? type : InvalidOid;
}

/* Does the support function have the signature that its number asks for? */
static bool
genie_validate_signature(const Form_pg_amproc proc)
{
	switch (proc->amprocnum)
	{
		case GENIE_DECOMPOSE_PROC:
			return check_amproc_signature(proc->amproc, VOIDOID, false, 2, 2,
										  proc->amproclefttype, INTERNALOID);
		case GENIE_COMPILE_PROC:
			return check_amproc_signature(proc->amproc, genie_validate_query_type(proc->amproc), false, 3, 4,
										  INTERNALOID, INT2OID, OIDOID, INTERNALOID);
		case GENIE_BOUND_PROC:
			return check_amproc_signature(proc->amproc, FLOAT8OID, false, 4, 4,
										  INT2OID, INTERNALOID, INT4OID, INT4OID);
		case GENIE_OPTIONS_PROC:
			return check_amoptsproc_signature(proc->amproc);
		case GENIE_TRAIN_PROC:
			return check_amproc_signature(proc->amproc, BYTEAOID, false, 1, 1, INTERNALOID);
		case GENIE_SIGN_PROC:
			return check_amproc_signature(proc->amproc, VOIDOID, false, 2, 2, INTERNALOID, INTERNALOID);
		case GENIE_METRIC_PROC:
			return check_amproc_signature(proc->amproc, FLOAT8OID, false, 2, 2,
										  proc->amproclefttype, proc->amproclefttype);
		case GENIE_VALUE_PROC:
			return check_amproc_signature(proc->amproc, VOIDOID, false, 1, 1, INTERNALOID);
		case GENIE_TOLERANCE_PROC:
			return check_amproc_signature(proc->amproc, FLOAT8OID, false, 0, 0);
		case GENIE_GRAPH_PROC:
			return check_amproc_signature(proc->amproc, INT4OID, false, 0, 0);
		default:
			return false;
	}
}

/* Checks the family's support functions.  found[1 .. GENIE_NPROC] gets those of the class's own type. */
static bool
genie_validate_functions(const char *family, CatCList *procs, Oid type, Oid *found)
{
	bool		result = true;

	for (int i = 0; i < procs->n_members; i++)
	{
		Form_pg_amproc proc = (Form_pg_amproc) GETSTRUCT(&procs->members[i]->tuple);

		if (proc->amproclefttype != proc->amprocrighttype)
		{
			GENIE_INVALID("operator family \"%s\" of access method genie contains support function %s "
						  "with different left and right input types",
						  family, format_procedure(proc->amproc));
			result = false;
		}
		if (proc->amprocnum < 1 || proc->amprocnum > GENIE_NPROC)
		{
			GENIE_INVALID("operator family \"%s\" of access method genie contains function %s "
						  "with invalid support number %d",
						  family, format_procedure(proc->amproc), proc->amprocnum);
			result = false;
		}
		else if (!genie_validate_signature(proc))
		{
			GENIE_INVALID("operator family \"%s\" of access method genie contains function %s "
						  "with wrong signature for support number %d",
						  family, format_procedure(proc->amproc), proc->amprocnum);
			result = false;
		}
		if (proc->amproclefttype == type && proc->amprocrighttype == type &&
			proc->amprocnum >= 1 && proc->amprocnum <= GENIE_NPROC)
			found[proc->amprocnum] = proc->amproc;
	}
	return result;
}

/* Checks one operator of the family. */
static bool
genie_validate_operator(const char *family, const Form_pg_amop oper)
{
	Oid			result_type = BOOLOID;
	bool		result = true;

	if (oper->amopstrategy < GENIE_COUNT_STRATEGY)
	{
		GENIE_INVALID("operator family \"%s\" of access method genie contains operator %s "
					  "with invalid strategy number %d",
					  family, format_operator(oper->amopopr), oper->amopstrategy);
		return false;
	}
	if ((oper->amopstrategy != GENIE_MATCH_STRATEGY) != (oper->amoppurpose == AMOP_ORDER))
	{
		GENIE_INVALID("operator family \"%s\" of access method genie contains operator %s for the wrong purpose",
					  family, format_operator(oper->amopopr));
		result = false;
	}
	if (oper->amoppurpose == AMOP_ORDER)
	{
		Oid			wanted = oper->amopstrategy < GENIE_DISTANCE_STRATEGY ? INT4OID : FLOAT8OID;

		result_type = get_op_rettype(oper->amopopr);
		if (!opfamily_can_sort_type(oper->amopsortfamily, result_type) || result_type != wanted)
		{
			GENIE_INVALID("operator family \"%s\" of access method genie contains invalid ORDER BY "
						  "specification for operator %s",
						  family, format_operator(oper->amopopr));
			result = false;
		}
	}
	if (!check_amop_signature(oper->amopopr, result_type, oper->amoplefttype, oper->amoprighttype))
	{
		GENIE_INVALID("operator family \"%s\" of access method genie contains operator %s with wrong signature",
					  family, format_operator(oper->amopopr));
		result = false;
	}
	return result;
}

/* Has the class all the functions that it needs, and none that a class that learns or any other must not have? */
static bool
genie_validate_class(const char *class, const Oid *found, bool has_distance)
{
	bool		learns = OidIsValid(found[GENIE_TRAIN_PROC]);
	bool		has_values = learns && OidIsValid(found[GENIE_VALUE_PROC]);
	bool		by_graph = OidIsValid(found[GENIE_GRAPH_PROC]);
	bool		result = true;

	for (int i = 1; i <= GENIE_NPROC; i++)
	{
		bool		needed = i == GENIE_DECOMPOSE_PROC || i == GENIE_COMPILE_PROC ||
			(i == GENIE_BOUND_PROC && has_distance && !learns) ||
			(i == GENIE_SIGN_PROC && learns && !has_values && !by_graph) || (i == GENIE_VALUE_PROC && by_graph) ||
			(i == GENIE_TOLERANCE_PROC && OidIsValid(found[GENIE_METRIC_PROC]));
		bool		is_double = i == GENIE_SIGN_PROC && by_graph;
		bool		excluded = (i == GENIE_BOUND_PROC && learns) || (i >= GENIE_SIGN_PROC && !learns) || is_double;

		if (needed && !OidIsValid(found[i]))
		{
			GENIE_INVALID("operator class \"%s\" of access method genie is missing support function %d", class, i);
			result = false;
		}
		if (excluded && OidIsValid(found[i]))
		{
			GENIE_INVALID("operator class \"%s\" of access method genie contains support function %d, "
						  "which it must not have %s support function %d",
						  class, i, learns ? "beside" : "without", is_double ? GENIE_GRAPH_PROC : GENIE_TRAIN_PROC);
			result = false;
		}
	}
	if (OidIsValid(found[GENIE_COMPILE_PROC]) &&
		get_func_nargs(found[GENIE_COMPILE_PROC]) == (learns ? 3 : 4))
	{
		GENIE_INVALID("operator class \"%s\" of access method genie contains function %s, "
					  "which must take %d arguments there",
					  class, format_procedure(found[GENIE_COMPILE_PROC]), learns ? 4 : 3);
		result = false;
	}
	return result;
}

bool
genie_validate(Oid opclass_oid)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass_oid));
	Form_pg_opclass opclass;
	char	   *family;
	CatCList   *procs;
	CatCList   *opers;
	Oid			found[GENIE_NPROC + 1] = {InvalidOid};
	bool		has_operator = false;
	bool		has_distance = false;
	bool		has_match = false;
	bool		is_exact;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass_oid);
	opclass = (Form_pg_opclass) GETSTRUCT(tuple);
	family = genie_validate_family_name(opclass->opcfamily);
	procs = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(opclass->opcfamily));
	opers = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(opclass->opcfamily));

	result = genie_validate_functions(family, procs, opclass->opcintype, found);
	is_exact = OidIsValid(found[GENIE_VALUE_PROC]) && !OidIsValid(found[GENIE_SIGN_PROC]);
	for (int i = 0; i < opers->n_members; i++)
	{
		Form_pg_amop oper = (Form_pg_amop) GETSTRUCT(&opers->members[i]->tuple);

		result &= genie_validate_operator(family, oper);
		if (oper->amoplefttype != opclass->opcintype)
			continue;
		has_operator = true;
		has_distance |= oper->amopstrategy >= GENIE_DISTANCE_STRATEGY && oper->amoppurpose == AMOP_ORDER;
		has_match |= oper->amopstrategy == GENIE_MATCH_STRATEGY;
	}
	for (int i = 0; i < opers->n_members; i++)
	{
		Form_pg_amop oper = (Form_pg_amop) GETSTRUCT(&opers->members[i]->tuple);
		bool		is_coarse = OidIsValid(found[GENIE_SIGN_PROC]) && has_match && !has_distance;

		if (oper->amoplefttype == opclass->opcintype &&
			OidIsValid(found[GENIE_TRAIN_PROC]) && oper->amopstrategy < GENIE_DISTANCE_STRATEGY &&
			!is_coarse && !(is_exact && oper->amopstrategy == GENIE_MATCH_STRATEGY))
		{
			GENIE_INVALID("operator class \"%s\" of access method genie contains operator %s, "
						  "which counts matches of signatures",
						  NameStr(opclass->opcname), format_operator(oper->amopopr));
			result = false;
		}
	}
	result &= genie_validate_class(NameStr(opclass->opcname), found, has_distance);
	if (!has_operator)
	{
		GENIE_INVALID("operator class \"%s\" of access method genie has no operator for its type",
					  NameStr(opclass->opcname));
		result = false;
	}
	ReleaseCatCacheList(procs);
	ReleaseCatCacheList(opers);
	ReleaseSysCache(tuple);
	return result;
}
