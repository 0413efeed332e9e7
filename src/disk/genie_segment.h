/*
 * genie_segment.h
 *	  Segments: an immutable part of the index, a set of sections of bytes.
 *
 * A segment is written by a GenieSegmentWriter, section by section or interleaved, then closed by
 * its root page; it becomes part of the index by a flip.  It is read through a GenieSegment,
 * which holds the root's contents, and section readers.
 *
 * The same writer and readers serve *spilled* segments, which CREATE INDEX writes to
 * temporary files when maintenance_work_mem is full and merges at the end: then a section is
 * a file of the same payload pages (genie_spill.h).
 *
 * Reading is under nobody's protection: pages may be given to another owner meanwhile (see
 * genie_space.h).  Each read copies what it needs under the page's shared lock after comparing
 * the stamp; where another stamp is found, the functions return false and set segment->stale: the
 * caller starts again from the metapage.  That is no error unless the metapage still lists the
 * segment.
 */
#ifndef GENIE_SEGMENT_H
#define GENIE_SEGMENT_H

#include "genie_page.h"
#include "genie_spill.h"
#include "utils/rel.h"

/* ---- reading ---- */

typedef struct GenieSection
{
	GenieSectionEntry entry;	/* kind = 0: the segment has no such section */
	GenieExtent *extents;
	uint32	   *ends;			/* pages of the extents up to each one */
	BufFile    *spill;			/* instead of extents, for spilled segments */
} GenieSection;

typedef struct GenieSegment
{
	Relation	index;			/* NULL if spilled */
	GenieSpillPlace *place;	/* if this process has spilled it */
	uint32		number;			/* in its place */
	GenieSegmentEntry entry;
	GenieRootHeader header;
	GenieSection sections[GENIE_SECTIONS + 1];	/* by kind */
	GenieExtent *root_pages;	/* the root and its continuation, one block each */
	uint32		n_root_pages;
	bool		stale;			/* a page belonged to somebody else */
} GenieSegment;

/* What an entry says about the segment's contents is the root's. */
static inline void
genie_segment_set_counts(GenieSegmentEntry *entry, const GenieRootHeader *header)
{
	entry->n_postings = header->n_postings;
	entry->n_objects = header->n_objects;
	entry->n_nulls = header->n_nulls;
	entry->n_keywords = header->n_keywords;
	entry->min_size = header->min_size;
	entry->max_size = header->max_size;
}

/*
 * Reads the root.  NULL: stale.  Everything is palloc'd in the current context.
 * ERRCODE_FEATURE_NOT_SUPPORTED for a required section or codec that this version does not know.
 */
extern GenieSegment *genie_segment_open(Relation index, const GenieSegmentEntry *entry);

/* the physical block of a section's page */
extern BlockNumber genie_segment_block(const GenieSegment *segment, GenieSectionKind kind, uint32 page);

/*
 * A reader of one section, with one page cached.  Initialise with genie_section_reader().
 */
typedef struct GenieSectionReader
{
	GenieSegment *segment;
	GenieSectionKind kind;
	int64		cached;			/* page number in data, -1: none */
	uint32		used;			/* its bytes */
	union
	{
		char		bytes[GENIE_PAGE_PAYLOAD];
		uint64		align;
	}			data;
} GenieSectionReader;

extern void genie_section_reader(GenieSectionReader *reader, GenieSegment *segment, GenieSectionKind kind);

/* Caches the section's page and returns its payload, NULL if stale. */
extern const char *genie_section_page(GenieSectionReader *reader, uint32 page);

/*
 * Copies n bytes at position; false if stale.  Reading past the section's end is a damaged
 * index (ERROR).
 */
extern bool genie_section_read(GenieSectionReader *reader, uint64 position, Size n, void *out);

/* ---- writing ---- */

typedef struct GenieSegmentWriter GenieSegmentWriter;

/*
 * build: nobody sees the relation yet, log nothing.  place, if not NULL: spill, instead of writing to the
 * index.  Lives in the current memory context.
 */
extern GenieSegmentWriter *genie_segment_begin(Relation index, bool build, GenieSpillPlace *place);

/* Has delay (e.g. vacuum_delay_point) called after each page. */
extern void genie_segment_set_delay(GenieSegmentWriter *writer, void (*delay) (void));

extern void genie_segment_write(GenieSegmentWriter *writer, GenieSectionKind kind, const void *bytes, Size n);

/* Ends the section's current page, so that what comes next starts on a page of its own. */
extern void genie_segment_next_page(GenieSegmentWriter *writer, GenieSectionKind kind);

/* bytes written so far, the ends of pages counted as full */
extern uint64 genie_segment_position(const GenieSegmentWriter *writer, GenieSectionKind kind);

extern void genie_segment_parameters(GenieSegmentWriter *writer, GenieSectionKind kind, uint32 parameter,
									 uint32 parameter2);

/*
 * Writes the root (the header's counts come from the caller, the rest is filled in) and returns the
 * entry for the metapage.
 */
extern GenieSegmentEntry genie_segment_finish(GenieSegmentWriter *writer, const GenieRootHeader *header);

/* The same for a spilled segment: frees the writer and returns what can be read back. */
extern GenieSegment *genie_segment_finish_spilled(GenieSegmentWriter *writer, const GenieRootHeader *header);

#endif							/* GENIE_SEGMENT_H */
