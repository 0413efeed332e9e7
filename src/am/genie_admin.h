/*
 * genie_admin.h
 *	  Opening an index that a user has named.
 */
#ifndef GENIE_ADMIN_H
#define GENIE_ADMIN_H

#include "storage/lockdefs.h"
#include "utils/rel.h"

/*
 * Opens an index that must be genie's, built far enough to be read, and within reach; else the ERROR says what it is.
 */
extern Relation genie_admin_open(Oid oid, LOCKMODE mode);

#endif							/* GENIE_ADMIN_H */
