/*
 * genie_page.c
 *	  Initialising a page, and reporting one that is damaged.
 */
#include "postgres.h"

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

void
genie_report_corrupt(Relation index, BlockNumber block, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged at block %u: %s",
					RelationGetRelationName(index), block, what),
			 errhint("Please REINDEX it.")));
}
