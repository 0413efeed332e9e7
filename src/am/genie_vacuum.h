/*
 * genie_vacuum.h
 *	  Prototypes of genie_vacuum.c.
 */
#ifndef GENIE_VACUUM_H
#define GENIE_VACUUM_H

#include "access/genam.h"

extern IndexBulkDeleteResult *genie_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
											   IndexBulkDeleteCallback callback, void *callback_state);
extern IndexBulkDeleteResult *genie_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

#endif							/* GENIE_VACUUM_H */
