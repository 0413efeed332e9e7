/*
 * genie_autoprewarm.c
 *	  Images that were in shared memory are there again after a restart (genie_autoprewarm.h).
 *
 * The file genie.images in the data directory lists the images, the last used first.  The worker writes it: within
 * seconds after images came or went, every ORDER_MS if only their order has changed, and when it ends.  It writes a new
 * file and renames it, so a crash leaves the old one or the new one.  At server start, on a standby as soon as it takes
 * queries, the worker has loaders load what the file lists, in that order, into the memory that is free: nothing is
 * evicted for it.  Until all of it is done, and as long as nothing was loaded, the file stays as it is.
 *
 * A line names an image as the directory does (GenieImageKey): by the index's file and build, and the segment's stamp.
 * So an index that was dropped, rebuilt or truncated, and a segment that was merged, are not found any more, and
 * nothing is loaded in their place.  Quantized vectors are not listed: they come from the table (genie_loader.c).
 *
 *		genie images 1					the version of the format
 *		5 1663 16384 1732406400 17		database, tablespace, file, build, stamp
 *		...
 *		crc 0a1b2c3d					of all lines before
 *
 * A file that is anything else is damaged, or of another version, and counts as none.
 */
#include "postgres.h"

#include <unistd.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/timestamp.h"

#include "genie_arena.h"
#include "genie_autoprewarm.h"
#include "genie_directory.h"
#include "genie_loader.h"

#define IMAGES_FILE "genie.images"
#define IMAGES_FILE_NEW "genie.images.tmp"
#define IMAGES_HEAD "genie images 1\n"
#define IMAGES_END "crc "
#define LINE_MAX_BYTES 80		/* five numbers, 20 digits at most where they have 64 bits */
#define ORDER_MS (60 * 1000)	/* an order of use that has changed is written after this */

bool		genie_autoprewarm;

/* ---- writing ---- */

static pg_crc32c
crc_of(const char *text, size_t n)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, text, n);
	FIN_CRC32C(crc);
	return crc;
}

/* The file's contents.  *crc is that of its lines. */
static void
describe(StringInfo text, pg_crc32c *crc)
{
	GenieImageInfo *images;
	uint32		n = genie_directory_list(&images);

	appendStringInfoString(text, IMAGES_HEAD);
	for (uint32 i = 0; i < n; i++)
	{
		const GenieImageKey *key = &images[i].key;

		if (images[i].state == GENIE_IMAGE_READY && key->metric == 0)
			appendStringInfo(text, "%u %u %u " UINT64_FORMAT " " UINT64_FORMAT "\n", key->database, key->tablespace,
							 key->storage, key->build_id, key->stamp);
	}
	*crc = crc_of(text->data, text->len);
	appendStringInfo(text, IMAGES_END "%08x\n", *crc);
	pfree(images);
}

static bool
write_file(const StringInfoData *text)
{
	FILE	   *file = AllocateFile(IMAGES_FILE_NEW, PG_BINARY_W);
	bool		ok = file != NULL && fwrite(text->data, 1, text->len, file) == text->len;

	if (file != NULL && FreeFile(file) != 0)
		ok = false;
	if (!ok)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", IMAGES_FILE_NEW)));
	if (ok && durable_rename(IMAGES_FILE_NEW, IMAGES_FILE, LOG) == 0)
		return true;
	(void) unlink(IMAGES_FILE_NEW);
	return false;
}

void
genie_autoprewarm_keep(GenieAutoprewarm *kept, bool ends)
{
	GenieDirectoryUsage usage;
	StringInfoData text;
	pg_crc32c	crc;
	TimestampTz now = GetCurrentTimestamp();

	if (!genie_autoprewarm || genie_loader_n_wanted(GENIE_EVICT_NONE) > 0)
		return;
	genie_directory_usage(&usage);
	if (usage.n_loads == 0 ||
		(!ends && usage.n_loads + usage.n_evictions == kept->n_changes &&
		 !TimestampDifferenceExceeds(kept->looked_at, now, ORDER_MS)))
		return;
	kept->n_changes = usage.n_loads + usage.n_evictions;
	kept->looked_at = now;
	initStringInfo(&text);
	describe(&text, &crc);
	if (!kept->has_written || kept->crc != crc)
		kept->has_written = write_file(&text);
	kept->crc = crc;
	pfree(text.data);
}

/* ---- reading ---- */

/* The file's text, palloc'd, with a 0 behind it.  NULL: there is none. */
static char *
read_file(void)
{
	size_t		limit = (size_t) GENIE_IMAGES_MAX * LINE_MAX_BYTES;
	FILE	   *file = AllocateFile(IMAGES_FILE, PG_BINARY_R);
	char	   *text;
	size_t		n;

	if (file == NULL)
	{
		if (errno != ENOENT)
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not open file \"%s\": %m", IMAGES_FILE)));
		return NULL;
	}
	text = palloc(limit + 1);
	n = fread(text, 1, limit, file);
	text[n] = '\0';
	(void) FreeFile(file);
	return text;
}

/* One line.  NULL: it is damaged; else what is behind it. */
static const char *
parse_line(const char *line, GenieImageKey *key)
{
	unsigned long long build_id;
	unsigned long long stamp;
	int			length = 0;

	memset(key, 0, sizeof(*key));
	if (sscanf(line, "%u %u %u %llu %llu%n", &key->database, &key->tablespace, &key->storage, &build_id, &stamp,
			   &length) != 5 || line[length] != '\n' || key->database == InvalidOid || key->storage == 0)
		return NULL;
	key->build_id = build_id;
	key->stamp = stamp;
	return line + length + 1;
}

/* Parses the text into keys, which has room.  False: it is damaged. */
static bool
parse(const char *text, GenieImageKey *keys, uint32 *n)
{
	const char *line = text + strlen(IMAGES_HEAD);
	unsigned int crc;
	int			length = 0;

	*n = 0;
	if (strncmp(text, IMAGES_HEAD, strlen(IMAGES_HEAD)) != 0)
		return false;
	while (strncmp(line, IMAGES_END, strlen(IMAGES_END)) != 0)
	{
		if (*n == GENIE_IMAGES_MAX || (line = parse_line(line, &keys[*n])) == NULL)
			return false;
		*n += 1;
	}
	return sscanf(line, IMAGES_END "%8x%n", &crc, &length) == 1 && strcmp(line + length, "\n") == 0 &&
		crc == crc_of(text, line - text);
}

void
genie_autoprewarm_begin(void)
{
	GenieImageKey *keys;
	uint32		n_wanted = 0;
	uint32		n;
	char	   *text;

	if (!genie_loader_is_first() || !genie_autoprewarm || genie_loaders == 0 || IsBinaryUpgrade)
		return;
	text = read_file();
	if (text == NULL)
		return;
	keys = palloc(GENIE_IMAGES_MAX * sizeof(GenieImageKey));
	if (parse(text, keys, &n))
	{
		for (uint32 i = 0; i < n; i++)
			n_wanted += genie_loader_want(&keys[i], GENIE_EVICT_NONE);
		if (n_wanted > 0)
			ereport(LOG,
					(errmsg("genie loads %u images that were in shared memory before", n_wanted)));
	}
	else
		ereport(LOG,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("file \"%s\" is damaged or of another version of genie, and is ignored", IMAGES_FILE),
				 errdetail("No images are loaded until queries want them.")));
	pfree(keys);
	pfree(text);
}
