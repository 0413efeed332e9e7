/*
 * genie_set_class.h
 *	  The operator classes of sets.
 */
#ifndef GENIE_SET_CLASS_H
#define GENIE_SET_CLASS_H

#include "fmgr.h"

/* Support function 1 of genie_array_ops (genie_opclass.h). */
extern PGDLLEXPORT Datum genie_array_decompose(PG_FUNCTION_ARGS);

/* Support function 3 of all classes that have <%> and are exact (genie_opclass.h). */
extern PGDLLEXPORT Datum genie_jaccard_bound(PG_FUNCTION_ARGS);

#endif							/* GENIE_SET_CLASS_H */
