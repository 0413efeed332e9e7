/*
 * genie_segment.h
 *	  Segments: an immutable part of the index, a set of sections of bytes.
 *
 * A GenieSegmentWriter writes a segment, section by section or interleaved, and its root page at the end.
 * The segment becomes part of the index by a flip (genie_flip.h).  It is read through a GenieSegment,
 * which holds the root's contents, and section readers.
 *
 * The same writer and readers serve *spilled* segments, which CREATE INDEX writes to
 * temporary files when maintenance_work_mem is full, and merges at the end.  There a section is
 * a file of the same payload pages (genie_spill.h).
 *
 * No lock protects a reader: pages may get another owner meanwhile (see
 * genie_space.h).  Each read copies what it needs under the page's shared lock, after comparing
 * the stamp, and, if it is asked to, verifying the page's checksum.  If it finds another stamp, it returns
 * false and sets segment->stale, and the caller starts again from the metapage.  That is no error unless the
 * metapage still lists the segment.
 */
#ifndef GENIE_SEGMENT_H
#define GENIE_SEGMENT_H

#include "genie_page.h"
#include "genie_spill.h"
#include "storage/buf.h"
#include "utils/rel.h"

#define GENIE_SEGMENT_MAX (UINT64CONST(1) << 31)	/* objects or keywords of a merged segment */

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
	GenieSpillPlace *place;		/* if this process has spilled it */
	uint32		number;			/* in its place */
	GenieSegmentEntry entry;
	GenieRootHeader header;
	GenieSection sections[GENIE_SECTIONS + 1];	/* by kind */
	GenieExtent *root_pages;	/* the root and its continuation, one block each */
	uint32		n_root_pages;
	bool		stale;			/* a page had another owner */
	bool		verify;			/* verify the checksums of its pages as they are read */

	/*
	 * A reader that gives way to others: asked before each page, while nothing is locked or pinned.  True: the segment
	 * is stale from then on, although its pages are there.  NULL: it reads to the end.
	 */
	bool		(*stop) (void *arg);
	void	   *stop_arg;
} GenieSegment;

/* Copies the counts from the segment's root to its entry. */
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

/* Asks whether the reader shall stop, and then makes the segment stale. */
static inline bool
genie_segment_stops(GenieSegment *segment)
{
	if (segment->stop != NULL && segment->stop(segment->stop_arg))
		segment->stale = true;
	return segment->stale;
}

/*
 * Reads the root.  NULL: stale.  Everything is palloc'd in the current context.
 * ERRCODE_FEATURE_NOT_SUPPORTED for a required section or codec that this version does not know.
 */
extern GenieSegment *genie_segment_open(Relation index, const GenieSegmentEntry *entry);

/* How many pages all sections have together. */
extern uint32 genie_segment_pages(const GenieSegment *segment);

/*
 * Verifies the checksums of n of them (or as many as there are) from the first on, section by section.  False: stale,
 * or damaged; then *damage says what is, and segment->verify is set.
 */
extern bool genie_segment_verify(GenieSegment *segment, uint32 first, uint32 n, const char **damage);

/* The block of a section's page. */
extern BlockNumber genie_segment_block(const GenieSegment *segment, GenieSectionKind kind, uint32 page);

/*
 * A reader of one section, which caches one page.  Initialise it with genie_section_reader().
 */
typedef struct GenieSectionReader
{
	GenieSegment *segment;
	GenieSectionKind kind;
	bool		apart;			/* what is read lies apart: pages are not cached for it.  False at first */
	int64		cached;			/* page number in data, -1: none */
	uint32		used;			/* its bytes */
	union
	{
		char		bytes[GENIE_PAGE_PAYLOAD];
		uint64		align;
	}			data;
} GenieSectionReader;

extern void genie_section_reader(GenieSectionReader *reader, GenieSegment *segment, GenieSectionKind kind);

/* Caches the section's page and returns its payload.  NULL: stale. */
extern const char *genie_section_page(GenieSectionReader *reader, uint32 page);

/*
 * Copies n bytes at a position.  False: stale.  A section that ends before them means a damaged
 * index (ERROR).
 */
extern bool genie_section_read(GenieSectionReader *reader, uint64 position, Size n, void *out);

/* ---- writing ---- */

typedef struct GenieSegmentWriter GenieSegmentWriter;

/*
 * build: no other process sees the relation yet, log nothing.  place: spill to there, or NULL: write to the
 * index.  Lives in the current memory context.
 */
extern GenieSegmentWriter *genie_segment_begin(Relation index, bool build, GenieSpillPlace *place);

/* Has delay (e.g. vacuum_delay_point) called after each page. */
extern void genie_segment_set_delay(GenieSegmentWriter *writer, void (*delay) (void));

extern void genie_segment_write(GenieSegmentWriter *writer, GenieSectionKind kind, const void *bytes, Size n);

/* Ends the section's current page, so that the next bytes start a new page. */
extern void genie_segment_next_page(GenieSegmentWriter *writer, GenieSectionKind kind);

/* Bytes written so far.  Pages that were ended early count as full. */
extern uint64 genie_segment_position(const GenieSegmentWriter *writer, GenieSectionKind kind);

extern void genie_segment_parameters(GenieSegmentWriter *writer, GenieSectionKind kind, uint32 parameter,
									 uint32 parameter2);

/*
 * Writes the root and returns the entry for the metapage.  The header's counts come from the caller; the rest is
 * filled in.
 */
extern GenieSegmentEntry genie_segment_finish(GenieSegmentWriter *writer, const GenieRootHeader *header);

/*
 * Writes the root of a segment with these sections to pages that take() gives, exclusively locked and pinned.  Sets the
 * entry's root, adds the root's pages to its pages, and sets the header's counts of sections and extents.
 */
extern void genie_segment_write_root(GenieSegment *segment, bool build, Buffer (*take) (void *arg), void *arg);

/* The same as genie_segment_finish() for a spilled segment: frees the writer and returns a segment to read. */
extern GenieSegment *genie_segment_finish_spilled(GenieSegmentWriter *writer, const GenieRootHeader *header);

#endif							/* GENIE_SEGMENT_H */
