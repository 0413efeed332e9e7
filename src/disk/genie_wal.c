/*
 * genie_wal.c
 *	  Writing pages: Generic WAL, the pages of a build in bulk, the init fork.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

#include "genie_compat.h"
#include "genie_page.h"
#include "genie_wal.h"

void
genie_wal_begin(GenieWal *wal, Relation relation, bool build)
{
	wal->relation = relation;
	wal->state = build ? NULL : GenericXLogStart(relation);
	wal->n = 0;
}

Page
genie_wal_register(GenieWal *wal, Buffer buffer, bool fresh)
{
	Page		page = BufferGetPage(buffer);

	Assert(wal->n < MAX_GENERIC_XLOG_PAGES);
	if (!fresh)
		genie_page_verify(wal->relation, page, BufferGetBlockNumber(buffer));
	if (wal->state != NULL)
		page = GenericXLogRegisterBuffer(wal->state, buffer, fresh ? GENERIC_XLOG_FULL_IMAGE : 0);
	wal->buffers[wal->n] = buffer;
	wal->pages[wal->n++] = page;
	return page;
}

static void
set_checksum(Page page, BlockNumber block)
{
	GeniePageGetChecksum(page) = genie_page_checksum(page, block);
}

void
genie_wal_commit(GenieWal *wal)
{
	for (int i = 0; i < wal->n; i++)
		set_checksum(wal->pages[i], BufferGetBlockNumber(wal->buffers[i]));
	if (wal->state != NULL)
		GenericXLogFinish(wal->state);
	else
	{
		START_CRIT_SECTION();
		for (int i = 0; i < wal->n; i++)
			MarkBufferDirty(wal->buffers[i]);
		END_CRIT_SECTION();
	}
	wal->state = NULL;
}

void
genie_wal_commit_release(GenieWal *wal)
{
	genie_wal_commit(wal);
	for (int i = 0; i < wal->n; i++)
		UnlockReleaseBuffer(wal->buffers[i]);
	wal->n = 0;
}

void
genie_wal_abort(GenieWal *wal)
{
	if (wal->state != NULL)
		GenericXLogAbort(wal->state);
	wal->state = NULL;
}

void
genie_wal_mark_hint(Buffer buffer)
{
	MarkBufferDirtyHint(buffer, true);
}

void
genie_wal_log_build(Relation relation)
{
	if (RelationNeedsWAL(relation))
		log_newpage_range(relation, MAIN_FORKNUM, 0,
						  RelationGetNumberOfBlocks(relation), true);
}

void
genie_wal_write_init_fork(Relation relation, Page page)
{
	SMgrRelation smgr = RelationGetSmgr(relation);

	set_checksum(page, GENIE_META_BLOCK);
	PageSetChecksumInplace(page, GENIE_META_BLOCK);
	smgrwrite(smgr, INIT_FORKNUM, GENIE_META_BLOCK, (char *) page, true);
	log_newpage(&GENIE_SMGR_LOCATOR(smgr), INIT_FORKNUM, GENIE_META_BLOCK, page, true);
	smgrimmedsync(smgr, INIT_FORKNUM);
}
