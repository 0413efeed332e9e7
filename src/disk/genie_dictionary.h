/*
 * genie_dictionary.h
 *	  The sorted keywords of a segment, as a static B-tree of prefix-compressed pages.
 *
 * Leaves come first in the section, from page 0 on.  Then comes each level of inner pages up to the
 * root, which is the last page.  A single leaf is the root.
 *
 *	leaf:	uint64 list_base	where the first entry's posting list starts in the section POSTINGS
 *			uint32 first_rank	the first entry's number in the dictionary
 *			uint16 n, uint16 restarts_at
 *			n entries:	varint shared (bytes in common with the key before; 0 at a restart),
 *						varint rest, rest bytes, varint postings, varint list bytes
 *			at restarts_at, for every GENIE_RESTART-th entry: uint16 its offset,
 *						uint64 its list's start minus list_base
 *	inner:	uint32 first_child, uint16 n, uint16 offsets_at
 *			n keys, packed (genie_keyword.h): child first_child + i starts with key i
 *			at offsets_at: uint16 offset of each key
 *
 * Posting lists lie in dictionary order without gaps.  So lengths give positions, and a range
 * of keywords is one run of bytes.
 */
#ifndef GENIE_DICTIONARY_H
#define GENIE_DICTIONARY_H

#include "genie_keyword.h"
#include "genie_segment.h"

#define GENIE_RESTART 16

/* ---- writing, in ascending key order ---- */

typedef struct GenieDictionaryWriter GenieDictionaryWriter;

extern GenieDictionaryWriter *genie_dictionary_begin(GenieSegmentWriter *segment);
extern void genie_dictionary_add(GenieDictionaryWriter *writer, GenieKey key, uint32 n_postings,
								 uint64 list_bytes);

/* Writes the inner levels; returns the number of keywords. */
extern uint32 genie_dictionary_finish(GenieDictionaryWriter *writer);

/* ---- reading ---- */

typedef struct GenieDictionaryCursor
{
	GenieSectionReader reader;	/* of leaves */
	GenieSectionReader inner;	/* of inner pages; separate, so that ascending keys copy each page once */
	uint32		n_leaves;
	uint32		n_pages;
	bool		valid;			/* on an entry; false: past the last */

	/* the entry it is on */
	GenieKey	key;			/* in key_bytes */
	uint32		rank;
	uint32		n_postings;
	uint64		list_at;		/* in the section POSTINGS */
	uint64		list_bytes;

	/* its position in the leaf */
	uint32		leaf;
	uint32		entry;
	uint32		n_entries;
	uint32		offset;			/* of the next entry */
	uint32		entries_end;
	uint8		key_bytes[GENIE_KEY_MAX];
} GenieDictionaryCursor;

extern void genie_dictionary_cursor(GenieDictionaryCursor *cursor, GenieSegment *segment);

/* Moves to the first keyword.  This and the next two return false if the segment is stale. */
extern bool genie_dictionary_first(GenieDictionaryCursor *cursor);

/* Moves to the first keyword behind the cut (genie_keyword.h): >= key, or > key if after. */
extern bool genie_dictionary_seek(GenieDictionaryCursor *cursor, GenieKey key, bool after);

/* Moves to the first keyword of a leaf.  False: stale. */
extern bool genie_dictionary_leaf(GenieDictionaryCursor *cursor, uint32 leaf);

extern bool genie_dictionary_next(GenieDictionaryCursor *cursor);

#endif							/* GENIE_DICTIONARY_H */
