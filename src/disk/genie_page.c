/*
 * genie_page.c
 *	  Initialising a page, copying one, and reporting one that is damaged.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

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

void
genie_report_corrupt(Relation index, BlockNumber block, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged at block %u: %s",
					RelationGetRelationName(index), block, what),
			 errhint("Please REINDEX it.")));
}
