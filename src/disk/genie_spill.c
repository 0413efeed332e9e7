/*
 * genie_spill.c
 *	  The temporary files of spilled segments (genie_spill.h).
 */
#include "postgres.h"

#include <fcntl.h>

#include "genie_spill.h"

#define GENIE_BUFFILE_PART (UINT64CONST(1) << 30)	/* bytes of a BufFile that BufFileSeek() counts as one file */

static void
genie_spill_name(char *name, int process, uint32 number, GenieSectionKind kind)
{
	snprintf(name, MAXPGPATH, "%d.%u.%d", process, number, (int) kind);
}

BufFile *
genie_spill_create(const GenieSpillPlace *place, uint32 number, GenieSectionKind kind)
{
	char		name[MAXPGPATH];

	if (place->files == NULL)
		return BufFileCreateTemp(false);
	genie_spill_name(name, place->process, number, kind);
	return BufFileCreateFileSet(place->files, name);
}

void
genie_spill_written(const GenieSpillPlace *place, BufFile *file)
{
	if (place->files != NULL)
		BufFileExportFileSet(file);
}

BufFile *
genie_spill_open(FileSet *files, int process, uint32 number, GenieSectionKind kind)
{
	char		name[MAXPGPATH];

	genie_spill_name(name, process, number, kind);
	return BufFileOpenFileSet(files, name, O_RDONLY, false);
}

void
genie_spill_delete(const GenieSpillPlace *place, uint32 number, GenieSectionKind kind)
{
	char		name[MAXPGPATH];

	if (place->files == NULL)
		return;
	genie_spill_name(name, place->process, number, kind);
	BufFileDeleteFileSet(place->files, name, false);
}

void
genie_spill_read(BufFile *file, uint64 at, Size n, void *out)
{
	if (BufFileSeek(file, at / GENIE_BUFFILE_PART, at % GENIE_BUFFILE_PART, SEEK_SET) != 0 ||
		BufFileRead(file, out, n) != n)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read a temporary file of an index build: %m")));
}
