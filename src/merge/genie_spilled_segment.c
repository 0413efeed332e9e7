/*
 * genie_spilled_segment.c
 *	  Closing spilled segments, and passing them on to other processes (genie_spilled_segment.h).
 *
 * A list file is the number of segments and a GenieSpilledEntry for each.  Only the build that wrote a file reads it,
 * so there is no format to keep.
 */
#include "postgres.h"

#include <fcntl.h>

#include "genie_spilled_segment.h"

typedef struct GenieSpilledEntry
{
	uint32		number;
	GenieRootHeader header;
	GenieSectionEntry sections[GENIE_SECTIONS];
} GenieSpilledEntry;

static void
genie_spilled_segment_list_name(char *name, int process, int list_number)
{
	snprintf(name, MAXPGPATH, "%d.list.%d", process, list_number);
}

/* Closes the files; those of a FileSet stay. */
static void
genie_spilled_segment_close_files(GenieSegment *segment)
{
	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
		BufFileClose(segment->sections[kind].spill);
}

void
genie_spilled_segment_close(GenieSegment *segment)
{
	genie_spilled_segment_close_files(segment);
	for (int kind = 1; segment->place != NULL && kind <= GENIE_SECTIONS; kind++)
		genie_spill_delete(segment->place, segment->number, kind);
	pfree(segment);
}

void
genie_spilled_segment_list(GenieSpillPlace *place, GenieSegment **segments, int n)
{
	char		name[MAXPGPATH];
	BufFile    *file;

	genie_spilled_segment_list_name(name, place->process, place->n_lists++);
	file = BufFileCreateFileSet(place->files, name);
	BufFileWrite(file, &n, sizeof(n));
	for (int i = 0; i < n; i++)
	{
		GenieSpilledEntry entry;

		memset(&entry, 0, sizeof(entry));
		entry.number = segments[i]->number;
		entry.header = segments[i]->header;
		for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
			entry.sections[kind - 1] = segments[i]->sections[kind].entry;
		BufFileWrite(file, &entry, sizeof(entry));
		genie_spilled_segment_close_files(segments[i]);
		pfree(segments[i]);
	}
	BufFileExportFileSet(file);
	BufFileClose(file);
}

int
genie_spilled_segment_open(FileSet *files, int process, int list_number, GenieSegment ***segments)
{
	char		name[MAXPGPATH];
	BufFile    *list;
	int			n;

	genie_spilled_segment_list_name(name, process, list_number);
	list = BufFileOpenFileSet(files, name, O_RDONLY, false);
	genie_spill_read(list, 0, sizeof(n), &n);
	*segments = palloc(sizeof(GenieSegment *) * (n + 1));
	for (int i = 0; i < n; i++)
	{
		GenieSegment *segment = palloc0(sizeof(GenieSegment));
		GenieSpilledEntry entry;

		genie_spill_read(list, sizeof(n) + i * sizeof(entry), sizeof(entry), &entry);
		segment->header = entry.header;
		genie_segment_set_counts(&segment->entry, &entry.header);
		for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
		{
			segment->sections[kind].entry = entry.sections[kind - 1];
			segment->sections[kind].spill = genie_spill_open(files, process, entry.number, kind);
		}
		(*segments)[i] = segment;
	}
	BufFileClose(list);
	return n;
}
