/*
 * genie_lsh_class.h
 *	  The approximate operator classes of vectors, sets and bit strings: what they share.
 */
#ifndef GENIE_LSH_CLASS_H
#define GENIE_LSH_CLASS_H

#include "fmgr.h"
#include "genie_lsh.h"
#include "genie_opclass.h"

/*
 * A class's parameters: what an index keeps in its metapage.  On disk, in the machine's byte order as all of a page;
 * no padding.
 */
typedef struct GenieLshClassParameters
{
	GenieLshParameters functions;
	uint32		probes;			/* neighbours of a bucket, on each side, that a query asks for */
	uint32		normalised;		/* 1: vectors are hashed with length 1 (the zero vector as it is); else 0 */
} GenieLshClassParameters;

StaticAssertDecl(sizeof(GenieLshClassParameters) == 40 && sizeof(GenieLshClassParameters) <= GENIE_PARAMETERS_MAX,
				 "as it is on disk");

extern GenieLshClassParameters genie_lsh_class_parameters(const bytea *parameters);

/* Gives a vector length 1, but a zero vector. */
extern void genie_lsh_normalise(float *vector, uint32 n);

/* A vector from its raw keywords: raw->size elements. */
extern void genie_lsh_raw_vector(const GenieRaw *raw, float *vector);

#endif							/* GENIE_LSH_CLASS_H */
