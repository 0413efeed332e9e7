/*
 * genie_learned.h
 *	  What an operator class has learned: the parameters of an index (types/genie_opclass.h).
 *
 * The first GENIE_PARAMETERS_MAX bytes are in the metapage.  What is longer, its *long part*, is in a segment without
 * objects, section LEARNED, which the metapage names.  The long part is written once, with the first parameters of the
 * index, and stays, because values of rows are made by it (values/genie_value_shape.h).  What is in the metapage can be
 * learned again (genie_retrain.h).
 *
 * Why a reader of a metapage finds the long part of that moment.  Its pages never get another owner as long as the
 * index lives; VACUUM moves them while nobody has the index locked (genie_truncate.h).  Pages that were written before
 * a crash, or an error, came before the flip, are reached by nothing, and VACUUM finds them.
 */
#ifndef GENIE_LEARNED_H
#define GENIE_LEARNED_H

#include "genie_flip.h"
#include "genie_page.h"

/* The parameters, palloc'd; NULL: the index is untrained, or its class does not learn. */
extern bytea *genie_learned_parameters(Relation index, const GenieMetaData *meta);

/* Has a flip write an index's first parameters; writes their long part.  They must live as long as the flip. */
extern void genie_learned_first(Relation index, const bytea *parameters, bool build, GenieFlip *flip);

/* Parameters that are learned instead of others: they get the long part of those.  palloc'd. */
extern bytea *genie_learned_again(const bytea *learned, const bytea *parameters);

/* Has a flip write these. */
extern void genie_learned_set(const bytea *parameters, GenieFlip *flip);

#endif							/* GENIE_LEARNED_H */
