/*
 * genie_topk.c
 *	  Compacting and sorting the best k objects of one query (genie_topk.h).
 *
 * Offers come in ascending object order and compaction keeps that order, so the buffer is always in object order, and
 * the first of equal keys rank first.  Both steps are linear whatever the keys are.  Histograms of the keys' bytes,
 * from the highest down, give the k-th key.  The final order is a stable radix sort by key, whose second buffer is the
 * part of hits that a compacted top-k leaves free (capacity >= 2k).
 *
 * After genie_topk_finish() the hits are in rank order: nothing may be offered any more.
 */
#include <assert.h>
#include <string.h>

#include "genie_topk.h"

#define KEY_BYTES 4
#define BYTE_VALUES 256
#define INSERTION_SORT_MAX 48	/* hits; a histogram costs more below this */

uint32_t
genie_topk_capacity(uint32_t k)
{
	return k > GENIE_TOPK_SLACK ? 2 * k : k + GENIE_TOPK_SLACK;
}

void
genie_topk_init(GenieTopK *top, GenieHit *hits, uint32_t k, uint32_t min_key,
				const GenieHit *after)
{
	assert(k >= 1 && k <= GENIE_TOPK_K_MAX && min_key >= 1);

	top->k = k;
	top->min_key = min_key;
	top->has_after = after != NULL;
	top->after.key = after != NULL ? after->key : 0;
	top->after.object = after != NULL ? after->object : 0;
	top->floor = min_key;
	top->capacity = genie_topk_capacity(k);
	top->n = 0;
	top->hits = hits;
}

/* The k-th largest key of n >= k hits; *above gets how many keys are larger. */
static uint32_t
kth_key(const GenieHit *hits, uint32_t n, uint32_t k, uint32_t *above)
{
	uint32_t	all_bits = 0;
	uint32_t	prefix = 0;		/* the k-th key's bytes known so far */
	uint32_t	prefix_mask = 0;
	int			byte = KEY_BYTES - 1;

	for (uint32_t i = 0; i < n; i++)
		all_bits |= hits[i].key;
	while (byte > 0 && all_bits >> (8 * byte) == 0)
		prefix_mask |= UINT32_C(0xFF) << (8 * byte--);

	*above = 0;
	for (; byte >= 0; byte--)
	{
		uint32_t	histogram[BYTE_VALUES] = {0};
		int			shift = 8 * byte;
		uint32_t	value = (all_bits >> shift) & 0xFF; /* no byte is larger */

		for (uint32_t i = 0; i < n; i++)
			if ((hits[i].key & prefix_mask) == prefix)
				histogram[(hits[i].key >> shift) & 0xFF]++;
		while (*above + histogram[value] < k)
			*above += histogram[value--];
		prefix |= value << shift;
		prefix_mask |= UINT32_C(0xFF) << shift;
	}
	return prefix;
}

void
genie_topk_compact(GenieTopK *top)
{
	uint32_t	bound;
	uint32_t	ties;			/* hits of the bound's key that stay */
	uint32_t	n = 0;

	if (top->n < top->k)
		return;

	bound = kth_key(top->hits, top->n, top->k, &ties);
	ties = top->k - ties;
	for (uint32_t i = 0; i < top->n; i++)
	{
		GenieHit	hit = top->hits[i];
		bool		tie = hit.key == bound && ties > 0;

		assert(i == 0 || n == 0 || hit.object > top->hits[n - 1].object);
		top->hits[n] = hit;
		n += hit.key > bound || tie;
		ties -= tie;
	}
	assert(n == top->k);
	top->n = n;
	if (top->floor <= bound)
		top->floor = bound == UINT32_MAX ? UINT32_MAX : bound + 1;
}

/* One stable pass of the radix sort, largest byte first. */
static void
sort_by_byte(const GenieHit *from, GenieHit *to, uint32_t n, int shift)
{
	uint32_t	start[BYTE_VALUES] = {0};
	uint32_t	sum = 0;

	for (uint32_t i = 0; i < n; i++)
		start[(from[i].key >> shift) & 0xFF]++;
	for (int value = BYTE_VALUES - 1; value >= 0; value--)
	{
		uint32_t	count = start[value];

		start[value] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < n; i++)
		to[start[(from[i].key >> shift) & 0xFF]++] = from[i];
}

static void
insertion_sort(GenieHit *hits, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
	{
		GenieHit	hit = hits[i];
		uint32_t	at = i;

		for (; at > 0 && hits[at - 1].key < hit.key; at--)
			hits[at] = hits[at - 1];
		hits[at] = hit;
	}
}

uint32_t
genie_topk_finish(GenieTopK *top)
{
	GenieHit   *from = top->hits;
	GenieHit   *to = top->hits + top->k;
	uint32_t	differing = 0;	/* bits in which keys differ */

	genie_topk_compact(top);
	if (top->n <= INSERTION_SORT_MAX)
	{
		insertion_sort(top->hits, top->n);
		return top->n;
	}

	for (uint32_t i = 1; i < top->n; i++)
		differing |= from[i].key ^ from[0].key;
	for (int byte = 0; byte < KEY_BYTES; byte++)
	{
		GenieHit   *sorted = to;

		if (((differing >> (8 * byte)) & 0xFF) == 0)
			continue;
		sort_by_byte(from, to, top->n, 8 * byte);
		to = from;
		from = sorted;
	}
	if (from != top->hits)
		memcpy(top->hits, from, top->n * sizeof(GenieHit));
	return top->n;
}
