/*
 * genie_ngram.h
 *	  Texts as sets of numbered n-grams.
 */
#ifndef GENIE_NGRAM_H
#define GENIE_NGRAM_H

#include "genie_object.h"

#define GENIE_NGRAM_DEFAULT		3
#define GENIE_NGRAM_MAX			16	/* characters of a gram; the smallest is 1 */
#define GENIE_NGRAM_DIMENSIONS	65536	/* of each n, from n times this number on: one for each occurrence */

/* The length in bytes of the character at at, in the server's encoding; no more than there are before end. */
extern int	genie_ngram_character(const char *at, const char *end);

/* Adds the numbered n-grams of a text.  Errors: there are more than 65,535 (ERRCODE_PROGRAM_LIMIT_EXCEEDED). */
extern void genie_ngram_collect(const text *value, int n, GenieKeywords *keywords);

/* The same, but only of the first 65,535 n-grams, of a text whose length the caller has checked. */
extern void genie_ngram_collect_first(const text *value, int n, GenieKeywords *keywords);

#endif							/* GENIE_NGRAM_H */
