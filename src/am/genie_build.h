/*
 * genie_build.h
 *	  Prototypes of genie_build.c.
 */
#ifndef GENIE_BUILD_H
#define GENIE_BUILD_H

#include "access/genam.h"
#include "nodes/execnodes.h"

extern IndexBuildResult *genie_build(Relation heap, Relation index, IndexInfo *info);
extern void genie_buildempty(Relation index);
extern char *genie_buildphasename(int64 phase);

#endif							/* GENIE_BUILD_H */
