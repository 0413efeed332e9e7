/*
 * genie_page.c
 *	  Making a page ours.
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
