/*
 * genie_multiset.h
 *	  Multisets of strings as objects, for sequences, trees and graphs that are cut into overlapping pieces.
 *
 * Objects are sets, so the i-th of equal strings (i from 0) is a keyword of its own: dimension base + i, family text.
 * Then the match count of two such objects is the size of the multisets' intersection: for each string, the smaller of
 * its two numbers of occurrences.
 */
#ifndef GENIE_MULTISET_H
#define GENIE_MULTISET_H

#include "genie_object.h"
#include "lib/stringinfo.h"

typedef struct GenieMultiset
{
	StringInfoData packed;		/* keys of dimension 0, in any order */
	uint32		n;
} GenieMultiset;

extern void genie_multiset_init(GenieMultiset *set);	/* in CurrentMemoryContext */

/* Adds a string of n bytes.  Errors: the object would have too many keywords. */
extern void genie_multiset_add(GenieMultiset *set, const char *bytes, Size n);

/* The object, with dimensions from base on; frees the set's memory. */
extern GenieObject *genie_multiset_object(GenieMultiset *set, uint32 base);

/* A string somewhere in memory, of at most GENIE_VALUE_BYTES bytes.  A longer one is cut and hashed already. */
typedef struct GenieMultisetPiece
{
	GenieKey	value;
	uint32		occurrence;		/* genie_multiset_collect() sets it */
} GenieMultisetPiece;

/* Adds the keywords of n pieces, in order of keys, with dimensions from base on.  Sorts and numbers the pieces. */
extern void genie_multiset_collect(GenieMultisetPiece *pieces, uint32 n, uint32 base, GenieKeywords *keywords);

#endif							/* GENIE_MULTISET_H */
