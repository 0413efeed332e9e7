/*
 * genie_ngram.h
 *	  Texts as sets of numbered n-grams.
 */
#ifndef GENIE_NGRAM_H
#define GENIE_NGRAM_H

#include "genie_object.h"

#define GENIE_NGRAM_DEFAULT		3
#define GENIE_NGRAM_MAX			16	/* characters of a gram; the smallest is 1 */
#define GENIE_NGRAM_DIMENSIONS	65536	/* of each n: from n times this on, one for each occurrence number */

/* Is every byte of a text a character: of a single-byte encoding, or ASCII? */
extern bool genie_text_is_bytes(const char *bytes, Size len);

/* Bytes of the character at at, of the server's encoding, and not more than there are. */
extern int	genie_text_character(const char *at, const char *end);

/* Adds the n-grams of a text.  Errors: there are more than 65,535. */
extern void genie_ngram_collect(const text *value, int n, GenieKeywords *keywords);

#endif							/* GENIE_NGRAM_H */
