/*
 * genie_property.h
 *	  Prototypes of genie_property.c.
 */
#ifndef GENIE_PROPERTY_H
#define GENIE_PROPERTY_H

#include "access/amapi.h"

extern bool genie_property(Oid index_oid, int attno, IndexAMProperty property, const char *name,
						   bool *result, bool *is_null);

#endif							/* GENIE_PROPERTY_H */
