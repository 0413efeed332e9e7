/*
 * genie_spill.h
 *	  Temporary files of segments that are spilled, one file a section.
 *
 * A build without workers has temporary files that only its process can open.  The processes of a parallel build have
 * their files in one FileSet, named after the process, the segment's number in it, and the section.
 * Temporary files count against temp_file_limit.  They go with the transaction or with the FileSet, whatever ends it.
 */
#ifndef GENIE_SPILL_H
#define GENIE_SPILL_H

#include "genie_page.h"
#include "storage/buffile.h"
#include "storage/fileset.h"

/* where one process spills to */
typedef struct GenieSpillPlace
{
	FileSet    *files;			/* NULL: files that only this process can open */
	int			process;		/* number in the build, from 0 */
	uint32		n_segments;		/* spilled here so far */
	int			n_lists;		/* written so far */
} GenieSpillPlace;

/* The file of a section of a new segment; for genie_segment_writer.c. */
extern BufFile *genie_spill_create(const GenieSpillPlace *place, uint32 number, GenieSectionKind kind);

/* The section is complete; from now on it is read. */
extern void genie_spill_written(const GenieSpillPlace *place, BufFile *file);

/* Opens a file of any process of the build. */
extern BufFile *genie_spill_open(FileSet *files, int process, uint32 number, GenieSectionKind kind);

/* Deletes a file of this process, which is closed.  Files outside a FileSet are gone when they are closed. */
extern void genie_spill_delete(const GenieSpillPlace *place, uint32 number, GenieSectionKind kind);

/* Reads n bytes at a place of the file. */
extern void genie_spill_read(BufFile *file, uint64 at, Size n, void *out);

#endif							/* GENIE_SPILL_H */
