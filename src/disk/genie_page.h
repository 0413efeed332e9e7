/*
 * genie_page.h
 *	  The page formats of a genie index.
 *
 * Every page:
 *
 *		0         24                    pd_lower       pd_upper = 8176      8192
 *		+---------+---------------------+--------------+---------------------+
 *		| header  | payload             | hole         | GeniePageOpaque, 16 |
 *		+---------+---------------------+--------------+---------------------+
 *
 * pd_lower is exactly the end of the payload, because Generic WAL zeroes the hole of logged relations.
 *
 * Checksums.  Every page has a CRC-32C of its payload, its special area and its block number, in the header's
 * pd_prune_xid, which only heaps use.  genie_wal.c computes it whenever a page is written, and verifies it before a
 * page is changed (an append goes on from it), so damage never gets a right checksum.  Pages of hints are changed
 * without WAL: their payload has a checksum of its own (genie_hint.h) and is left out here.  PostgreSQL's own
 * checksums cover a page on its way from the disk and need not be on; this one is verified where a page is read from
 * the buffers, too:
 *
 *	always		metapage (but not by an insert that wants the list's tail), pending pages (but not by an append),
 *				roots, retired entries, tombstones
 *	DATA		by merges and VACUUM, which would hand damage on; all pages of a segment when its image is made; from
 *				then on, if that found damage, each page that a scan reads.  Scans of a segment without an image do
 *				not verify its pages, as most of them would be verified again by each scan.
 *	genie_check	every page
 *
 * Not noticed: a whole page that is an earlier state of itself (a write that the disk lost), where it is changed in
 * place; pages that are written once have stamps, and none is there before them.
 *
 * Block 0 is the metapage.  The others are
 *
 *	PENDING	a page of the pending list: a GeniePendingHeader, then rows (genie_pending.h).
 *			`next` links the list.
 *	ROOT	the root of a segment: GenieRootHeader, section entries, extents, as one byte
 *			stream that goes on in the `next` page where it does not fit.
 *	DATA	a page of one section of a segment: the section's bytes.  Every page has GENIE_PAGE_PAYLOAD
 *			of them, but for the last page and pages that were ended early.  `next` is the page's
 *			number in its section, so that pages that changed places are noticed.
 *	RETIRED	entries for what was replaced and waits for older snapshots to end
 *			(genie_space.h).  `next` links the list.
 *	FREE	has no owner.  A page of zeroes has none either (the relation was extended, then the
 *			server crashed).
 *
 * Stamps.  A page that is taken gets a stamp from the metapage's counter.  All pages of a segment carry the
 * segment's stamp, each pending page has a stamp of its own, and a page that is freed gets a new one.  Stamps are never
 * used again.  So a reader that follows a pointer can tell whether the page has another owner by now: a segment
 * page must carry the segment's stamp, and a pending page's stamp must be below the counter that the
 * reader saw with the list's head.
 *
 * History of GENIE_VERSION: 1 was the first.  2 has parameters at the metapage's end, for approximate operator
 * classes.  3 has checksums on all pages, the state of the keywords' types, the size of raw objects and flags in the
 * metapage, the section HINTS in segments, and other parameters of vectors' classes.  4 has vectors raw in the pending
 * list, in another form.  5 has the long part of what was learned.  Older versions are refused.
 */
#ifndef GENIE_PAGE_H
#define GENIE_PAGE_H

#include "genie_compat.h"
#include "genie_keyword.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#define GENIE_MAGIC			0x47454E49	/* "GENI" */
#define GENIE_VERSION		5
#define GENIE_PAGE_ID		0xFF9E	/* last two bytes of each page, for pg_filedump */
#define GENIE_META_BLOCK	0

typedef enum GeniePageKind
{
	GENIE_PAGE_META = 1,
	GENIE_PAGE_PENDING = 2,
	GENIE_PAGE_ROOT = 3,
	GENIE_PAGE_DATA = 4,
	GENIE_PAGE_RETIRED = 5,
	GENIE_PAGE_FREE = 6
} GeniePageKind;

typedef struct GeniePageOpaqueData
{
	uint64		stamp;
	BlockNumber next;			/* InvalidBlockNumber: none; DATA: the page's number in its section */
	uint8		kind;			/* GeniePageKind */
	uint8		detail;			/* DATA: GenieSectionKind; PENDING: GENIE_PENDING_SEALED */
	uint16		page_id;
} GeniePageOpaqueData;

typedef GeniePageOpaqueData *GeniePageOpaque;

StaticAssertDecl(sizeof(GeniePageOpaqueData) == MAXALIGN(sizeof(GeniePageOpaqueData)),
				 "special area must be aligned");

/* bytes of payload on a page */
#define GENIE_PAGE_PAYLOAD \
	(BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - sizeof(GeniePageOpaqueData))

/* by its place, not by pd_special, which may be wrong on a damaged page */
#define GENIE_PAGE_SPECIAL (BLCKSZ - sizeof(GeniePageOpaqueData))
#define GeniePageGetOpaque(page) ((GeniePageOpaque) ((char *) (page) + GENIE_PAGE_SPECIAL))
#define GeniePageGetPayload(page) ((char *) PageGetContents(page))
#define GeniePageGetUsed(page) \
	((uint32) (((PageHeader) (page))->pd_lower - MAXALIGN(SizeOfPageHeaderData)))
#define GeniePageSetUsed(page, used) \
	(((PageHeader) (page))->pd_lower = MAXALIGN(SizeOfPageHeaderData) + (used))
#define GeniePageGetChecksum(page) (((PageHeader) (page))->pd_prune_xid)

/* ---- metapage ---- */

#define GENIE_SEGMENTS_MAX	96

#define GENIE_META_MISFIT	0x0001

/* One live segment, as the metapage lists it. */
typedef struct GenieSegmentEntry
{
	uint64		stamp;
	uint64		n_postings;
	BlockNumber root;
	uint32		n_pages;		/* root and data pages */
	uint32		n_objects;		/* NULLs and dead ones too */
	uint32		n_nulls;
	uint32		n_dead;			/* tombstones; written by ambulkdelete alone */
	uint32		n_keywords;
	uint16		min_size;		/* keywords an object, over non-NULL objects */
	uint16		max_size;
	uint32		reserved;
} GenieSegmentEntry;

/*
 * What the keywords of an index depend on in the catalogs (types/genie_type_state.h), as it was when the build began.
 */
typedef struct GenieTypeState
{
	uint64		sum;			/* of hashes of labels and attributes; 0: the keywords depend on nothing */
	Oid			newest_label;	/* values of enums with later OIDs were added since; they do not count */
	uint32		unused;			/* 0 */
} GenieTypeState;

/*
 * The metapage.  All fields are written under the exclusive lock of its buffer.  A reader copies
 * the whole page under the shared lock, so all that it sees is of one moment.
 *
 *	segment_version		raised by every flip (merge, compaction): the segment list changed
 *	tombstone_version	raised by ambulkdelete after its bitmaps are written and before it returns
 *	next_stamp			the next unused stamp
 *	pending_*			head, tail and number of pages of the pending list; an append to the tail page
 *						changes nothing here
 *	flags				GENIE_META_MISFIT: VACUUM has found that the parameters do not fit the rows any more
 *	raw_size			the size that raw objects must have (genie_signer.h); 0: not decided
 *	types				written by the build alone
 *	parameters			of an operator class that learns (genie_opclass.h), trained on the rows: by these all segments
 *						were signed.  Written by the build, by the flip of the first merge that has enough rows, and
 *						by a flip that replaces all segments (genie_retrain.c)
 *	learned				the long part of the parameters (genie_learned.h); stamp 0: there is none
 *	trainings			raised whenever the parameters are written; a reader that begins again compares it
 */
typedef struct GenieMetaData
{
	uint32		magic;
	uint16		version;
	uint16		flags;
	uint64		build_id;
	uint64		segment_version;
	uint64		tombstone_version;
	uint64		next_stamp;
	BlockNumber pending_head;
	BlockNumber pending_tail;
	uint32		pending_pages;
	BlockNumber retired_head;
	uint32		n_segments;
	uint32		raw_size;
	GenieTypeState types;
	uint32		trainings;
	uint32		reserved;
	GenieSegmentEntry segments[GENIE_SEGMENTS_MAX];
	uint32		parameters_length;	/* 0: none */
	uint8		parameters[GENIE_PARAMETERS_MAX];
	uint32		unused;			/* 0 */
	GenieSegmentEntry learned;
} GenieMetaData;

StaticAssertDecl(sizeof(GenieMetaData) <= GENIE_PAGE_PAYLOAD, "metapage must fit a page");

/* ---- segment root ---- */

typedef enum GenieSectionKind
{
	GENIE_SECTION_OBJECTS = 1,	/* TID runs by tile (genie_object_table.h) */
	GENIE_SECTION_SIZES = 2,	/* keywords per object, bit-packed */
	GENIE_SECTION_DICTIONARY = 3,	/* sorted keywords (genie_dictionary.h) */
	GENIE_SECTION_POSTINGS = 4, /* their posting lists (genie_codec.h) */
	GENIE_SECTION_TOMBSTONES = 5,	/* one bit an object; changed by VACUUM */
	GENIE_SECTION_HINTS = 6,	/* one bit an object; changed by scans, not logged (genie_hint.h) */
	GENIE_SECTION_VALUES = 7,	/* quantized vectors, bits, scalars (genie_values.h) */
	GENIE_SECTION_LEARNED = 8	/* the long part of parameters (genie_learned.h), in a segment without objects */
} GenieSectionKind;

#define GENIE_SECTIONS 8		/* those that this version knows */

/* a version that does not know a required section refuses the segment; it skips an optional section */
#define GENIE_SECTION_REQUIRED	0x01

typedef struct GenieSectionEntry
{
	uint16		kind;			/* GenieSectionKind */
	uint8		codec;			/* of that kind; 1 in this version */
	uint8		flags;
	uint32		n_extents;
	uint64		length;			/* bytes */
	uint32		parameter;		/* SIZES: bits an object; DICTIONARY: leaf pages; VALUES: metric */
	uint32		parameter2;		/* SIZES: the smallest size; VALUES: dimensions */
} GenieSectionEntry;

/* a run of consecutive blocks */
typedef struct GenieExtent
{
	BlockNumber start;
	uint32		n_blocks;
} GenieExtent;

/* the operator class sets the sizes; they are not the numbers of keywords */
#define GENIE_ROOT_OWN_SIZES	0x0001

typedef struct GenieRootHeader
{
	uint64		n_postings;
	uint32		n_objects;
	uint32		n_nulls;
	uint32		n_keywords;
	uint32		n_sections;
	uint32		n_extents;		/* of all sections together */
	uint16		min_size;
	uint16		max_size;
	uint16		max_keywords;	/* no object has more keywords */
	uint16		flags;
	uint32		reserved;
} GenieRootHeader;

#define GENIE_SECTION_CODEC_1 1

extern void genie_page_init(Page page, GeniePageKind kind, uint8 detail, uint64 stamp);

/* Copies a page of the index under its shared lock; returns the copy. */
extern Page genie_page_copy(Relation index, BlockNumber block, PGAlignedBlock *copy);

/* The page's checksum as it should be; it is a page of genie. */
extern uint32 genie_page_checksum(Page page, BlockNumber block);

/* Is it a page of genie with the right checksum? */
extern bool genie_page_is_intact(Page page, BlockNumber block);

/* Raises ERRCODE_INDEX_CORRUPTED if it is not. */
extern void genie_page_verify(Relation index, Page page, BlockNumber block);

/* "database.schema.index", as messages for the server's log name an index; palloc'd. */
extern char *genie_log_name(Relation index);

/* Raises ERRCODE_INDEX_CORRUPTED with the HINT to REINDEX. */
pg_noreturn extern void genie_report_corrupt(Relation index, BlockNumber block, const char *what);

/* Does it look like a page of genie? */
static inline bool
genie_page_is_ours(Page page)
{
	return ((PageHeader) page)->pd_special == GENIE_PAGE_SPECIAL &&
		((PageHeader) page)->pd_lower >= MAXALIGN(SizeOfPageHeaderData) &&
		((PageHeader) page)->pd_lower <= GENIE_PAGE_SPECIAL &&
		GeniePageGetOpaque(page)->page_id == GENIE_PAGE_ID;
}

/* Is this a page of genie, of that kind? */
static inline bool
genie_page_is(Page page, GeniePageKind kind)
{
	return genie_page_is_ours(page) && GeniePageGetOpaque(page)->kind == kind;
}

#endif							/* GENIE_PAGE_H */
