/*
 * genie_type_state.h
 *	  What an index's keywords depend on in the catalogs: labels of enums, attributes of composite types.
 *
 * An enum's values have their labels as keywords, and the hash of a row depends on the attributes of its type.  ALTER
 * TYPE changes both without a look at the tables and indexes that have such values.  Then an index has the keywords of
 * yesterday.  So the metapage records the state of the types as it was when the build began, and every scan and insert
 * compares it with the catalogs.
 */
#ifndef GENIE_TYPE_STATE_H
#define GENIE_TYPE_STATE_H

#include "genie_page.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

/* OIDs of the types that the index's keywords depend on, as far as its definition tells. */
extern List *genie_type_state_types(Relation index);

/* Their state, as the metapage of a new index records it. */
extern GenieTypeState genie_type_state_begin(Relation index);

/* Is the recorded state of these types still true? */
extern bool genie_type_state_holds(const GenieTypeState *recorded, const List *types);

/*
 * Raises ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, with the HINT to REINDEX, if it is not.  The caller has made its
 * keywords before it calls this: then they are of a state that is no newer than the one found here.
 */
extern void genie_type_state_check_types(Relation index, const GenieTypeState *recorded, const List *types);

/* The same for a caller that does not keep the types. */
extern void genie_type_state_check(Relation index, const GenieTypeState *recorded);

#endif							/* GENIE_TYPE_STATE_H */
