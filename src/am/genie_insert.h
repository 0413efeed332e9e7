/*
 * genie_insert.h
 *	  Prototypes of genie_insert.c.
 */
#ifndef GENIE_INSERT_H
#define GENIE_INSERT_H

#include "access/genam.h"
#include "nodes/execnodes.h"

extern bool genie_insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation heap,
						 IndexUniqueCheck check_unique, bool index_unchanged, IndexInfo *info);

#endif							/* GENIE_INSERT_H */
