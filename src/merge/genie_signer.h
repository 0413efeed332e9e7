/*
 * genie_signer.h
 *	  Rows of an operator class that learns (genie_opclass.h) in the pending list, and how they get their signatures and
 *	  values.
 *
 * Such a class needs parameters to make signatures, and trains them on rows.  As long as the metapage has none, the
 * index is *untrained*: rows are appended raw and stay in the pending list, and no segment has a keyword.  The build,
 * or the first merge that finds enough rows (genie_compact.c), trains.  It writes the parameters with the flip that
 * adds the segment of the first rows that it signed.  When they no longer fit, a class whose rows have values learns
 * again, with a flip that replaces all segments (genie_retrain.c).  Other classes keep their parameters.
 *
 * Raw rows of a class that needs it have one size.  The metapage keeps it from the first of them on, until the list is
 * merged without any raw row; once there are parameters, for good.
 *
 * The pending list of a trained index may have raw rows, too.  Vectors always wait raw (am/genie_insert.c): their raw
 * keywords are their elements, so that scans measure them at once, which takes less time than to count signatures.
 * So a class of vectors has no signatures in the list.  Rows of a coarse class wait raw, too: values are made of
 * raw ones, scans count them as they are, and an insert need not read what the class has learned.  Of another class, an
 * insert that read the metapage before that flip may append a raw row behind it; its readers sign it.  Merges sign all
 * of them.
 *
 * The class's functions are called through this table, because merge/ knows no operator classes.
 * types/genie_approximate.c fills it.
 */
#ifndef GENIE_SIGNER_H
#define GENIE_SIGNER_H

#include "genie_keyword.h"
#include "genie_values.h"

/* A packed set of keywords. */
typedef struct GenieSignature
{
	const uint8 *bytes;
	uint32		n;
	int32		size;			/* the object's; -1: the number of distinct keywords */
} GenieSignature;

/* Does what a class has learned fit the rows? */
typedef enum GenieFit
{
	GENIE_FITS,
	GENIE_MISFITS,
	GENIE_FIT_UNKNOWN			/* what was shown to it is not exact enough to tell */
} GenieFit;

typedef struct GenieSigner GenieSigner;

struct GenieSigner
{
	bool		is_coarse;		/* raw rows may stay as they are as long as there are no parameters */

	/*
	 * Trains on n objects (at least one): the parameters, palloc'd; NULL: the objects are too few, or, if the index
	 * can wait for more, tell too little.
	 */
	bytea	   *(*train) (GenieSigner *signer, const GenieRaw *objects, uint32 n, bool can_wait);

	/*
	 * Do parameters fit these n objects?  errors: how far from each its row may be, in the metric of values; NULL: the
	 * objects are the rows.
	 */
	GenieFit	(*judge) (GenieSigner *signer, const bytea *parameters, const GenieRaw *objects, const float *errors,
						  uint32 n);

	/* The signature of an object, until the next call.  An exact class has none: it has no keywords. */
	GenieSignature (*sign) (GenieSigner *signer, const bytea *parameters, const GenieRaw *raw);

	/* What values of new segments are like, by these parameters of the class; NULL parameters: there are none yet. */
	GenieValueShape (*shape) (GenieSigner *signer, const bytea *parameters);

	/* The record of an object's value, until the next call.  If there are values. */
	const void *(*value) (GenieSigner *signer, const bytea *parameters, const GenieRaw *raw);

	/*
	 * The object that a record, which is not unknown, tells of, until the next call; *n_bytes: of its keywords.  NULL:
	 * objects cannot be signed by their values, because there are no signatures or no values.
	 */
	GenieRaw	(*raw) (GenieSigner *signer, const bytea *parameters, const void *record, Size *n_bytes);
};

#endif							/* GENIE_SIGNER_H */
