/*
 * genie_pin.c
 *	  Pinning pages of a heap by remembered buffers (genie_pin.h).
 *
 * ReadBuffer() finds a page's buffer in the mapping table: two cache misses, one behind the other, which cannot be
 * begun ahead of time.  Where rows are looked up by the hundred thousand, they are the largest part of it.  So an index
 * remembers in which buffer each page of its table was last seen, as long as the session has the index in its relation
 * cache: 4 bytes a page, in rd_amcache.  A page number modulo the number of places is its place; pages that share one
 * displace each other.
 *
 * What is remembered is a guess.  It is used if the buffer's descriptor, which is read without a lock, says that it has
 * the page.  Then ReadRecentBuffer() looks again under the header's lock, and pins it or not.  A wrong guess costs a
 * look at the descriptor.  What the relation cache forgets (for a new file of the table, too) is only found again.
 *
 * ReadRecentBuffer() does not count a page's use, by which the buffer pool decides what to keep.  So a page whose use
 * count is below GENIE_PIN_USED is pinned by ReadBuffer(), which counts: pages that are searched again and again stay
 * as hot as they would.
 *
 * What it is worth, in processor time of the session.  With ReadBuffer() alone, a call that looks up 100,000 rows takes
 * 26 % more (300,000 SIFT-like rows of 1 KB, 200 queries, k = 500: 49.2 ms instead of 39.1) or 13 % more (1,000,000
 * documents, 1,024 queries, k = 100: 46.7 instead of 41.4).  Searches by distance take 12 to 14 % more, or 2 to 6 %
 * where quantized vectors spare most of the visits.  Medians of 9 or 11 calls in alternation.
 *
 * Not here: when which page is pinned (genie_visit.c).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "storage/buf_internals.h"
#include "utils/memutils.h"

#include "genie_compat.h"
#include "genie_pin.h"

#define GENIE_PIN_PAGES_MIN 64
#define GENIE_PIN_PAGES_MAX (1024 * 1024)	/* 4 MB: tables of 8 GB; of larger ones some pages displace others */
#define GENIE_PIN_USED 2

/* What an index remembers, in its rd_amcache. */
typedef struct GeniePinned
{
	uint32		mask;
	Buffer		buffers[FLEXIBLE_ARRAY_MEMBER]; /* of page block, at block & mask; InvalidBuffer: never seen */
} GeniePinned;

void
genie_pin_begin(Relation heap, Relation index)
{
	uint32		n_pages;

	if (index->rd_amcache != NULL || RelationUsesLocalBuffers(heap))
		return;
	n_pages = pg_nextpower2_32(Min(Max(RelationGetNumberOfBlocks(heap), GENIE_PIN_PAGES_MIN), GENIE_PIN_PAGES_MAX));
	index->rd_amcache = MemoryContextAllocZero(index->rd_indexcxt,
											   offsetof(GeniePinned, buffers) + n_pages * sizeof(Buffer));
	((GeniePinned *) index->rd_amcache)->mask = n_pages - 1;
}

void
genie_pin_prefetch(Relation index, BlockNumber block)
{
	const GeniePinned *pinned = index->rd_amcache;
	Buffer		buffer = pinned == NULL ? InvalidBuffer : pinned->buffers[block & pinned->mask];

	if (BufferIsInvalid(buffer))
		return;
	__builtin_prefetch(GetBufferDescriptor(buffer - 1), 1);
	__builtin_prefetch(BufferGetBlock(buffer));
}

/* Does the buffer have the page, and was it used often enough?  By a look without lock. */
static bool
genie_pin_may_be(Relation heap, BlockNumber block, Buffer buffer)
{
	BufferDesc *descriptor = GetBufferDescriptor(buffer - 1);
	uint32		state = pg_atomic_read_u32(&descriptor->state);

	return (state & BM_VALID) != 0 && BUF_STATE_GET_USAGECOUNT(state) >= GENIE_PIN_USED &&
		descriptor->tag.blockNum == block && descriptor->tag.forkNum == MAIN_FORKNUM &&
		GENIE_TAG_IS_OF(descriptor->tag, heap);
}

Buffer
genie_pin(Relation heap, Relation index, BlockNumber block)
{
	GeniePinned *pinned = index->rd_amcache;	/* it may go whenever an invalidation is processed */
	Buffer	   *place = pinned == NULL ? NULL : &pinned->buffers[block & pinned->mask];
	Buffer		buffer = place == NULL ? InvalidBuffer : *place;

	if (!BufferIsInvalid(buffer) && genie_pin_may_be(heap, block, buffer) &&
		ReadRecentBuffer(GENIE_REL_FILE(heap), MAIN_FORKNUM, block, buffer))
	{
		pgstat_count_buffer_read(heap);
		pgstat_count_buffer_hit(heap);
		return buffer;
	}
	buffer = ReadBuffer(heap, block);
	if (place != NULL)
		*place = buffer;
	return buffer;
}
