/*
 * genie_spill.c
 *	  The files of spilled segments (genie_spill.h).
 *
 * A list file is the number of segments and a GenieSpillEntry for each.  Files are read by the build that wrote them
 * and by nobody else, so they have no format to keep.
 */
#include "postgres.h"

#include <fcntl.h>

#include "genie_spill.h"

#define GENIE_BUFFILE_PART (UINT64CONST(1) << 30)	/* bytes of a BufFile that BufFileSeek() counts as one file */

typedef struct GenieSpillEntry
{
	uint32		number;
	GenieRootHeader header;
	GenieSectionEntry sections[GENIE_SECTIONS];
} GenieSpillEntry;

static void
genie_spill_name(char *name, int process, uint32 number, GenieSectionKind kind)
{
	snprintf(name, MAXPGPATH, "%d.%u.%d", process, number, (int) kind);
}

static void
genie_spill_list_name(char *name, int process, int list_number)
{
	snprintf(name, MAXPGPATH, "%d.list.%d", process, list_number);
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

/* Closes the files; those of a FileSet stay. */
static void
genie_spill_close_files(GenieSegment *segment)
{
	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
		BufFileClose(segment->sections[kind].spill);
}

void
genie_spill_close(GenieSegment *segment)
{
	genie_spill_close_files(segment);
	if (segment->place != NULL && segment->place->files != NULL)
		for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
		{
			char		name[MAXPGPATH];

			genie_spill_name(name, segment->place->process, segment->number, kind);
			BufFileDeleteFileSet(segment->place->files, name, false);
		}
	pfree(segment);
}

void
genie_spill_list(GenieSpillPlace *place, GenieSegment **segments, int n)
{
	char		name[MAXPGPATH];
	BufFile    *file;

	genie_spill_list_name(name, place->process, place->n_lists++);
	file = BufFileCreateFileSet(place->files, name);
	BufFileWrite(file, &n, sizeof(n));
	for (int i = 0; i < n; i++)
	{
		GenieSpillEntry entry;

		memset(&entry, 0, sizeof(entry));
		entry.number = segments[i]->number;
		entry.header = segments[i]->header;
		for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
			entry.sections[kind - 1] = segments[i]->sections[kind].entry;
		BufFileWrite(file, &entry, sizeof(entry));
		genie_spill_close_files(segments[i]);
		pfree(segments[i]);
	}
	BufFileExportFileSet(file);
	BufFileClose(file);
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

int
genie_spill_open(FileSet *files, int process, int list_number, GenieSegment ***segments)
{
	char		name[MAXPGPATH];
	BufFile    *list;
	int			n;

	genie_spill_list_name(name, process, list_number);
	list = BufFileOpenFileSet(files, name, O_RDONLY, false);
	genie_spill_read(list, 0, sizeof(n), &n);
	*segments = palloc(sizeof(GenieSegment *) * (n + 1));
	for (int i = 0; i < n; i++)
	{
		GenieSegment *segment = palloc0(sizeof(GenieSegment));
		GenieSpillEntry entry;

		genie_spill_read(list, sizeof(n) + i * sizeof(entry), sizeof(entry), &entry);
		segment->header = entry.header;
		genie_segment_set_counts(&segment->entry, &entry.header);
		for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
		{
			segment->sections[kind].entry = entry.sections[kind - 1];
			genie_spill_name(name, process, entry.number, kind);
			segment->sections[kind].spill = BufFileOpenFileSet(files, name, O_RDONLY, false);
		}
		(*segments)[i] = segment;
	}
	BufFileClose(list);
	return n;
}
