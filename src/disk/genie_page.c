/*
 * genie_page.c
 *	  Initialising a page, copying one, its checksum, and reporting one that is damaged; an index's name for the log.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"

#include "genie_page.h"

void
genie_page_init(Page page, GeniePageKind kind, uint8 detail, uint64 stamp)
{
	GeniePageOpaque opaque;

	PageInit(page, BLCKSZ, sizeof(GeniePageOpaqueData));
	opaque = GeniePageGetOpaque(page);
	opaque->stamp = stamp;
	opaque->next = InvalidBlockNumber;
	opaque->kind = kind;
	opaque->detail = detail;
	opaque->page_id = GENIE_PAGE_ID;
}

Page
genie_page_copy(Relation index, BlockNumber block, PGAlignedBlock *copy)
{
	Buffer		buffer = ReadBuffer(index, block);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(copy->data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	return (Page) copy->data;
}

uint32
genie_page_checksum(Page page, BlockNumber block)
{
	const GeniePageOpaqueData *opaque = GeniePageGetOpaque(page);
	bool		is_hints = opaque->kind == GENIE_PAGE_DATA && opaque->detail == GENIE_SECTION_HINTS;
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, &block, sizeof(block));
	COMP_CRC32C(crc, opaque, sizeof(GeniePageOpaqueData));
	if (!is_hints)
		COMP_CRC32C(crc, GeniePageGetPayload(page), GeniePageGetUsed(page));
	FIN_CRC32C(crc);
	return crc;
}

bool
genie_page_is_intact(Page page, BlockNumber block)
{
	return genie_page_is_ours(page) && GeniePageGetChecksum(page) == genie_page_checksum(page, block);
}

void
genie_page_verify(Relation index, Page page, BlockNumber block)
{
	if (!genie_page_is_intact(page, block))
		genie_report_corrupt(index, block, "the page's checksum is wrong");
}

char *
genie_log_name(Relation index)
{
	return psprintf("%s.%s.%s", get_database_name(MyDatabaseId), get_namespace_name(RelationGetNamespace(index)),
					RelationGetRelationName(index));
}

void
genie_report_corrupt(Relation index, BlockNumber block, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged at block %u: %s",
					RelationGetRelationName(index), block, what),
			 errhint("Please REINDEX it.")));
}
