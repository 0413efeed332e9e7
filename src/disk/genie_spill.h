/*
 * genie_spill.h
 *	  Spilled segments: the temporary files that CREATE INDEX writes segments to, and who may read them.
 *
 * A segment's sections are one file each.  A build without workers has temporary files of its own.  The
 * processes of a parallel build have files in one FileSet, named after the process and the segment's number in
 * it; a process lists those that others shall read in one more file, and any process opens them from there.
 * Temporary files count against temp_file_limit, and go with the transaction or with the FileSet, whatever ends it.
 */
#ifndef GENIE_SPILL_H
#define GENIE_SPILL_H

#include "genie_segment.h"
#include "storage/fileset.h"

/* where one process spills to */
typedef struct GenieSpillPlace
{
	FileSet    *files;			/* NULL: files that nobody else can open */
	int			process;		/* number in the build, from 0 */
	uint32		n_segments;		/* spilled here so far */
	int			n_lists;		/* written so far */
} GenieSpillPlace;

/* The file of a section of a new segment; for genie_segment_writer.c. */
extern BufFile *genie_spill_create(const GenieSpillPlace *place, uint32 number, GenieSectionKind kind);

/* The section is written: from now on it is read. */
extern void genie_spill_written(const GenieSpillPlace *place, BufFile *file);

/* Reads n bytes at a place of the file. */
extern void genie_spill_read(BufFile *file, uint64 at, Size n, void *out);

/* Closes a segment's files; those that this process has spilled are gone then. */
extern void genie_spill_close(GenieSegment *segment);

/* Lists the segments that others may open, and leaves them to those. */
extern void genie_spill_list(GenieSpillPlace *place, GenieSegment **segments, int n);

/* Opens the segments of a process's list, the first being number 0; returns how many.  *segments is palloc'd. */
extern int	genie_spill_open(FileSet *files, int process, int list_number, GenieSegment ***segments);

#endif							/* GENIE_SPILL_H */
