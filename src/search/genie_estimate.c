/*
 * genie_estimate.c
 *	  What share of an index's rows fulfils a condition (genie_estimate.h).
 *
 * The dictionary has the number of postings of each keyword, so the share of rows that have a single keyword is known
 * but for tombstones.  Three steps lead from there to the share of rows that match at least m of a query's n items:
 *
 *	- The items' shares, as if rows had them independently of each other: the number of matches is then a sum of n
 *	  independent variables (tail_of_shares).
 *	- A bound that holds whatever rows are like (tail_limit): who matches m of n items matches at least m - j of those
 *	  that are left without the j most frequent ones.
 *	- How far the items of this query are from independent, as a factor.  Values of a row often go together or exclude
 *	  each other, and so independence alone can be wrong by orders of magnitude.  The first tile of the largest
 *	  segment is counted, as a scan would count it, and compared with what independence says of the keywords'
 *	  frequencies in that tile, which their posting lists have.  For the tile's rows, the count is the answer;
 *	  others have the keywords that the tile has not.  Frequencies of ranges in a tile are not known.  Then the
 *	  factor is not below 1, because the first rows of a table may lack what later ones have.
 *
 * Large queries.  Of a query of more than GENIE_ESTIMATE_ITEMS items, so many are a sample, spread evenly over it, and
 * nothing is read of the others.  Each of the sample stands for n / GENIE_ESTIMATE_ITEMS independent ones, but the most
 * frequent one for itself: often there is one far above the rest.  The factor is that of the sample (share_by_sample),
 * by which alone the tile is counted.  A keyword that is far more frequent than all others is not seen unless the
 * sample has it.
 *
 * Limits.  An estimate looks up GENIE_ESTIMATE_ITEMS keywords a segment at most, and stops after GENIE_ESTIMATE_US:
 * what it has read by then speaks for the rest.  Segments come in descending size, so the first ones have most of
 * the rows.  The clock is looked at only where pages had to be read from disk, or after some look-ups: so an
 * estimate of a small cached index does not depend on how busy the machine is.
 *
 * Ranges.  A range of keywords is a run of ranks.  Where that is long, entries are read at some places of the run and
 * tell the postings a byte; the lengths of posting lists, which the dictionary has too, give the rest.
 *
 * Pending rows are counted by brute force, up to GENIE_ESTIMATE_PENDING pages.  Tombstones are taken to be spread
 * evenly.
 *
 * Thresholds.  A condition with a threshold needs as many matches as its distance's bound leaves possible.  Among the
 * rows of the tile that have so many, some are asked whether their bound, by their own size, is within the threshold.
 * Where the bound is the distance, as for sets, that is exact; else more rows are expected than there are.  Where the
 * bound leaves rows without a match possible, counts do not tell.
 */
#include "postgres.h"

#include <math.h>

#include "executor/instrument.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"

#include "genie_bound.h"
#include "genie_codec.h"
#include "genie_compile.h"
#include "genie_dictionary.h"
#include "genie_estimate.h"
#include "genie_inprocess.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_pending.h"
#include "genie_query.h"

#define GENIE_ESTIMATE_ITEMS	64	/* keywords, or places in ranges, that are looked up in a segment */
#define GENIE_ESTIMATE_US		1000	/* microseconds */
#define GENIE_ESTIMATE_GLANCE	16	/* look-ups in cached pages between two looks at the clock: 1 to 2 us each */
#define GENIE_ESTIMATE_PENDING	16	/* pages */
#define GENIE_ESTIMATE_PLACES	4	/* of a long range */
#define GENIE_ESTIMATE_ENTRIES	8	/* at a place */
#define GENIE_ESTIMATE_BOUNDS	1024	/* rows whose bounds are computed, 0.1 us each */
#define GENIE_ESTIMATE_STEPS	262144	/* of events_tail(), a few operations each */
#define GENIE_ESTIMATE_ROWS		16.0	/* rows of the tile, whose weight the expectation has */

typedef struct GenieEstimate
{
	Relation	index;
	const GenieQueryView *view;
	const GenieQueryView *sample;	/* the items that are looked up: all, or GENIE_ESTIMATE_ITEMS of them */
	bool		has_threshold;
	const GenieBound *bound;	/* of its distance, where the class knows one; NULL: that is Jaccard's, or none */
	uint32		least;			/* matches that a row must have, at least 1 */

	instr_time	began;
	uint32		n_lookups;		/* since the last look at the clock */
	int64		n_reads;		/* pages from disk, by then */
	bool		out_of_time;

	double		tile_shares[GENIE_ESTIMATE_ITEMS];	/* of the items in the first tile of the largest segment */
	bool		knows_tile;		/* these shares are known */
	double		factor;			/* by which other rows than the tile's are off from independence; 0: not known yet */
} GenieEstimate;

/* ---- time ---- */

static bool
is_out_of_time(GenieEstimate *estimate)
{
	int64		n_reads = pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
	instr_time	passed;

	CHECK_FOR_INTERRUPTS();
	if (++estimate->n_lookups < GENIE_ESTIMATE_GLANCE && n_reads == estimate->n_reads)
		return estimate->out_of_time;
	estimate->n_lookups = 0;
	estimate->n_reads = n_reads;
	INSTR_TIME_SET_CURRENT(passed);
	INSTR_TIME_SUBTRACT(passed, estimate->began);
	estimate->out_of_time |= INSTR_TIME_GET_MICROSEC(passed) > GENIE_ESTIMATE_US;
	return estimate->out_of_time;
}

/* ---- from shares of items to a share of rows ---- */

/* The probability that a Poisson variable of that mean is at least m. */
static double
poisson_tail(double mean, uint32 m)
{
	double		term;
	double		sum = 0;

	if (mean <= 0)
		return m == 0 ? 1 : 0;
	if (m <= mean)
	{
		for (uint32 j = 0; j < m; j++)
			sum += exp(j * log(mean) - mean - lgamma(j + 1.0));
		return Max(1 - sum, 0);
	}
	term = exp(m * log(mean) - mean - lgamma(m + 1.0));
	for (uint32 j = m; term > sum * 1e-6; j++)
	{
		sum += term;
		term *= mean / (j + 1.0);
	}
	return Min(sum, 1);
}

/*
 * The probability that at least m of n_all independent events happen, of which the shares of n are known, in ascending
 * order.  Each of them stands for n_all / n events, but the greatest for one.
 */
static double
events_tail(const double *shares, uint32 n, uint32 n_all, uint32 m)
{
	double	   *exactly = palloc0((m + 1) * sizeof(double));	/* j of the events so far; m and more at m */
	uint32		n_events = 0;
	double		tail;

	exactly[0] = 1;
	for (uint32 i = 0; i < n; i++)
	{
		uint32		until = (uint32) ((uint64) n_all * (i + 1) / n);

		for (; n_events < until; n_events++)
		{
			double		share = Min(shares[n_events + 1 < n_all ? Min(i, n - 2) : i], 1);

			exactly[m] += exactly[m - 1] * share;
			for (uint32 j = Min(m - 1, n_events + 1); j > 0; j--)
				exactly[j] += (exactly[j - 1] - exactly[j]) * share;
			exactly[0] *= 1 - share;
		}
	}
	tail = exactly[m];
	pfree(exactly);
	return tail;
}

static int
compare_shares(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* No more rows than that share can match m of n items, of each of which the shares are, in ascending order. */
static double
tail_limit(const double *shares, uint32 n, uint32 m)
{
	double		limit = 1;
	double		sum = 0;

	for (uint32 i = 0; i < n; i++)
	{
		sum += shares[i];
		if (n - i - 1 < m)
			limit = Min(limit, sum / (m - (n - i - 1)));
	}
	return limit;
}

/*
 * The share of rows that match at least m of n_all items, if these are independent.  shares has those of the sample;
 * sorts them.  An item's share is its postings a row, and so more than 1 where rows have many keywords of a range.
 */
static double
tail_of_shares(const GenieEstimate *estimate, double *shares, uint32 n_all, uint32 m, double *limit)
{
	uint32		n = estimate->sample->n_intervals;
	double		sum = 0;

	qsort(shares, n, sizeof(double), compare_shares);
	*limit = n == n_all ? tail_limit(shares, n, m) : 1;
	if (m <= n_all && (uint64) n_all * m <= GENIE_ESTIMATE_STEPS)
		return Min(events_tail(shares, n, n_all, m), *limit);

	for (uint32 i = 0; i < n; i++)
		sum += shares[i];
	if (n < n_all)
		sum += (sum - shares[n - 1] + shares[n - 2]) * ((double) n_all / n - 1);
	*limit = Min(*limit, sum / m);
	return Min(poisson_tail(sum, m), *limit);
}

/* The same of the whole query. */
static double
tail_of_query(const GenieEstimate *estimate, double *shares, double *limit)
{
	return tail_of_shares(estimate, shares, estimate->view->n_intervals, estimate->least, limit);
}

/* ---- shares of items in a segment ---- */

/* Is the cursor on a keyword of the interval, whose beginning it has reached? */
static bool
is_within(const GenieDictionaryCursor *cursor, const GenieInterval *interval)
{
	return cursor->valid && genie_cut_cmp(cursor->key, false, interval->hi, interval->hi_after) < 0;
}

/* Adds up to n entries of the interval from the cursor on.  False: stale. */
static bool
add_entries(GenieEstimate *estimate, GenieDictionaryCursor *cursor, const GenieInterval *interval, uint32 n,
			double *postings, double *bytes)
{
	for (uint32 i = 0; i < n && is_within(cursor, interval); i++)
	{
		*postings += cursor->n_postings;
		*bytes += cursor->list_bytes;
		if (!genie_dictionary_next(cursor))
			return false;
	}
	return true;
}

/* The postings of a range, whose first keyword the cursor is on.  False: stale. */
static bool
range_postings(GenieEstimate *estimate, GenieDictionaryCursor *cursor, const GenieInterval *interval, double *postings)
{
	const GenieSegment *segment = cursor->reader.segment;
	uint32		first_leaf = cursor->leaf;
	uint64		begin = cursor->list_at;
	uint64		end = segment->sections[GENIE_SECTION_POSTINGS].entry.length;
	uint32		last_leaf = cursor->n_leaves - 1;
	double		bytes = 0;

	*postings = 0;
	if (!add_entries(estimate, cursor, interval, GENIE_ESTIMATE_ENTRIES, postings, &bytes))
		return false;
	if (!is_within(cursor, interval))
		return true;
	if (!genie_dictionary_seek(cursor, interval->hi, interval->hi_after))
		return false;
	if (cursor->valid)
	{
		end = cursor->list_at;
		last_leaf = cursor->leaf;
	}
	for (uint32 i = 1; i < GENIE_ESTIMATE_PLACES && last_leaf > first_leaf && !is_out_of_time(estimate); i++)
	{
		uint32		leaf = first_leaf + (uint32) ((uint64) (last_leaf - first_leaf) * i / GENIE_ESTIMATE_PLACES);

		if (leaf == first_leaf)
			continue;
		if (!genie_dictionary_leaf(cursor, leaf) ||
			!add_entries(estimate, cursor, interval, GENIE_ESTIMATE_ENTRIES, postings, &bytes))
			return false;
	}
	if (end < begin)
		genie_report_corrupt(segment->index, segment->entry.root, "posting lists are not in the keywords' order");
	*postings *= (double) (end - begin) / Max(bytes, 1);
	return true;
}

/* The share of the first tile's rows that have the keyword that the cursor is on.  False: stale. */
static bool
share_of_tile(const GenieDictionaryCursor *cursor, GenieSectionReader *postings, double *share)
{
	const GenieSegment *segment = cursor->reader.segment;
	uint8		bytes[GENIE_TILE_HEADER_MAX];
	Size		n = Min(cursor->list_bytes - 1, sizeof(bytes)); /* behind the list's form */
	GenieListRef list;
	uint32		tile;
	size_t		header_len;

	/* a short list has objects, not tiles; wherever these are, they are few */
	*share = (double) cursor->n_postings / segment->header.n_objects;
	if (cursor->n_postings <= GENIE_LOOSE_MAX)
		return true;
	if (!genie_section_read(postings, cursor->list_at + 1, n, bytes))
		return false;
	if (!genie_tile_header(bytes, bytes + n, -1, &tile, &list, &header_len))
		genie_report_corrupt(segment->index, segment->entry.root, "malformed posting list");
	*share = tile > 0 ? 0 : (double) list.n / Min(segment->header.n_objects, GENIE_TILE_OBJECTS);
	return true;
}

/*
 * The postings a row of the items that are looked up.  *n is less than their number where time is up.  False: stale.
 */
static bool
shares_of_segment(GenieEstimate *estimate, GenieSegment *segment, double *shares, uint32 *n)
{
	const GenieQueryView *sample = estimate->sample;
	GenieDictionaryCursor *cursor = palloc(sizeof(GenieDictionaryCursor));
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	bool		is_first = estimate->factor == 0;	/* of the segments */

	genie_dictionary_cursor(cursor, segment);
	genie_section_reader(reader, segment, GENIE_SECTION_POSTINGS);
	if (is_first)
		estimate->knows_tile = true;
	for (*n = 0; *n < sample->n_intervals && !is_out_of_time(estimate); (*n)++)
	{
		const GenieInterval *interval = &sample->intervals[*n];
		double		postings = 0;

		if (is_first)
			estimate->tile_shares[*n] = 0;
		if (!genie_dictionary_seek(cursor, interval->lo, interval->lo_after))
			return false;
		if (is_within(cursor, interval))
		{
			if (!genie_interval_is_point(interval))
			{
				estimate->knows_tile = false;
				if (!range_postings(estimate, cursor, interval, &postings))
					return false;
			}
			else
			{
				postings = cursor->n_postings;
				if (is_first && (estimate->least > 1 || estimate->has_threshold) &&
					!share_of_tile(cursor, reader, &estimate->tile_shares[*n]))
					return false;
			}
		}
		shares[*n] = postings / segment->header.n_objects;
	}
	pfree(reader);
	pfree(cursor);
	return true;
}

/* ---- a tile as a sample ---- */

/* Is an object that has the least count within the threshold, or may it be? */
static bool
is_near(const GenieEstimate *estimate, uint32 count, uint32 size)
{
	const GenieQueryView *view = estimate->view;

	if (!estimate->has_threshold)
		return true;
	if (estimate->bound != NULL)
		return genie_bound_of_object(estimate->bound, count, size) <= view->max_distance;
	return genie_threshold_holds(view->distance_strategy, view->max_distance, count, view->n_intervals, size);
}

/* How many of those objects are within the threshold; all have the least count.  False: stale. */
static bool
count_near(const GenieEstimate *estimate, GenieSegment *segment, const uint16 *counts, const uint16 *objects, uint32 n,
		   uint32 *n_near)
{
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	uint32		n_asked = Min(n, GENIE_ESTIMATE_BOUNDS);

	genie_section_reader(reader, segment, GENIE_SECTION_SIZES);
	*n_near = 0;
	for (uint32 i = 0; i < n_asked; i++)
	{
		uint32		object = objects[(uint64) i * n / n_asked];
		uint32		sizes[8];	/* up to the object's, from a byte's first */

		if (!genie_object_table_sizes(reader, object / 8 * 8, object % 8 + 1, sizes))
			return false;
		*n_near += is_near(estimate, counts[object], sizes[object % 8]);
	}
	if (n_asked > 0)
		*n_near = (uint32) ceil((double) *n_near * n / n_asked);
	pfree(reader);
	return true;
}

/* Do the looked-up items stand for others? */
static bool
is_sampled(const GenieEstimate *estimate)
{
	return estimate->sample->n_intervals < estimate->view->n_intervals;
}

/*
 * Counts the items of the sample in the segment's first tile: of n_rows, n_least match at least least of them, and
 * n_near of these are within the threshold.  *n_rows is 0 where there are too many keywords for that.  False: stale.
 */
static bool
count_tile(const GenieEstimate *estimate, GenieSegment *segment, uint32 least, uint32 *n_rows, uint32 *n_least,
		   uint32 *n_near)
{
	GenieEngineQuery query;
	GenieInprocess *search;
	Size		memory = 0;
	uint64		n_lists = 0;
	uint16	   *counts;
	uint16	   *objects;

	*n_rows = *n_least = *n_near = 0;
	if (!genie_compile(segment, estimate->sample, &query))
		return false;
	for (uint32 i = 0; i < query.n_ranges; i++)
		n_lists += query.ranges[i].end - query.ranges[i].first;
	if (n_lists > GENIE_ESTIMATE_ITEMS)
		return true;
	*n_rows = Min(segment->header.n_objects, GENIE_TILE_OBJECTS);
	if (n_lists == 0)
		return true;
	search = genie_inprocess_open(segment, estimate->sample, &query, &memory);
	if (search == NULL)
		return false;
	counts = palloc(GENIE_TILE_OBJECTS * sizeof(uint16));
	objects = palloc(GENIE_TILE_OBJECTS * sizeof(uint16));
	if (!genie_inprocess_count_first(search, counts))
		return false;
	for (uint32 i = 0; i < *n_rows; i++)
		if (counts[i] >= least)
			objects[(*n_least)++] = (uint16) i;
	*n_near = *n_least;
	return !estimate->has_threshold || is_sampled(estimate) ||
		count_near(estimate, segment, counts, objects, *n_least, n_near);
}

/* What independence says of the segment's rows that are not in the first tile; shares are those of the segment. */
static double
tail_of_rest(const GenieEstimate *estimate, const double *shares, double n_objects, double n_rows, double *limit)
{
	double		rest[GENIE_ESTIMATE_ITEMS];

	for (uint32 i = 0; i < estimate->sample->n_intervals; i++)
		rest[i] = Max((shares[i] * n_objects - estimate->tile_shares[i] * n_rows) / (n_objects - n_rows), 0);
	return tail_of_query(estimate, rest, limit);
}

/*
 * The share of the segment's rows that match, by its first tile, and the factor.  tail and limit are what
 * independence says.  False: stale.
 */
static bool
share_by_tile(GenieEstimate *estimate, GenieSegment *segment, const double *shares, double tail, double limit,
			  double *share)
{
	double		n_objects = segment->header.n_objects;
	double		expected;		/* rows of the least count in the tile, if items are independent */
	double		tile_limit;
	uint32		n_rows = 0;
	uint32		n_least = 0;
	uint32		n_near = 0;

	if ((estimate->least >= 2 || estimate->has_threshold) && tail > 0 && !is_out_of_time(estimate) &&
		!count_tile(estimate, segment, estimate->least, &n_rows, &n_least, &n_near))
		return false;
	if (n_rows > 0 && n_rows < n_objects && estimate->knows_tile)
		tail = tail_of_rest(estimate, shares, n_objects, n_rows, &limit);
	expected = n_rows * (estimate->knows_tile ? tail_of_query(estimate, estimate->tile_shares, &tile_limit) : tail);
	if (expected > 0.5 || (expected > 0 && n_least > 0))
		estimate->factor = Max(n_least, 0.5) / expected;
	if (n_rows < n_objects && !estimate->knows_tile)
		estimate->factor = Max(estimate->factor, 1);
	if (n_least > 0)
		estimate->factor *= Max(n_near, 0.5) / n_least;
	*share = (n_near + (n_objects - n_rows) * Min(tail * estimate->factor, limit)) / n_objects;
	return true;
}

/* The share of rows that match at least so many items of the sample, if these are independent. */
static double
tail_of_sample(const GenieEstimate *estimate, const double *shares, uint32 least)
{
	double		sorted[GENIE_ESTIMATE_ITEMS];
	double		limit;

	memcpy(sorted, estimate->knows_tile ? estimate->tile_shares : shares, sizeof(sorted));
	return tail_of_shares(estimate, sorted, estimate->sample->n_intervals, least, &limit);
}

/*
 * The same of a query of which a sample is looked up.  The factor is that of as many matches among the sample as are as
 * unusual there as the least count is in the whole query.  A sample has few of the query's combinations, so what is
 * seen of them counts beside GENIE_ESTIMATE_ROWS rows that are independent.
 */
static bool
share_by_sample(GenieEstimate *estimate, GenieSegment *segment, const double *shares, double tail, double limit,
				double *share)
{
	uint32		most = Min(estimate->least, GENIE_ESTIMATE_ITEMS);
	uint32		least = 1;
	double		of_sample;
	uint32		n_rows;
	uint32		n_least;
	uint32		n_near;

	while ((of_sample = tail_of_sample(estimate, shares, least)) > tail && least < most)
		least++;
	if (least >= 2 && !is_out_of_time(estimate))
	{
		if (!count_tile(estimate, segment, least, &n_rows, &n_least, &n_near))
			return false;
		estimate->factor = (n_least + GENIE_ESTIMATE_ROWS) / (n_rows * of_sample + GENIE_ESTIMATE_ROWS);
		if (n_rows < segment->header.n_objects && !estimate->knows_tile)
			estimate->factor = Max(estimate->factor, 1);
	}
	*share = Min(tail * estimate->factor, limit);
	return true;
}

/* ---- an index ---- */

/* The share of the segment's rows that match.  False: stale, or time is up. */
static bool
share_of_segment(GenieEstimate *estimate, const GenieSegmentEntry *entry, double *share, bool *stale)
{
	GenieSegment *segment = genie_segment_open(estimate->index, entry);
	double		shares[GENIE_ESTIMATE_ITEMS];
	double		sorted[GENIE_ESTIMATE_ITEMS];
	double		tail;
	double		limit;
	double		mean = 0;
	uint32		n_items = estimate->sample->n_intervals;
	uint32		n;

	*stale = segment == NULL || !shares_of_segment(estimate, segment, shares, &n);
	if (*stale || (n == 0 && n_items > 0))
		return false;
	for (uint32 i = 0; i < n; i++)
		mean += shares[i] / n;
	for (uint32 i = n; i < n_items; i++)
		shares[i] = mean;
	if (n < n_items)
		estimate->knows_tile = false;
	memcpy(sorted, shares, sizeof(sorted));
	tail = tail_of_query(estimate, sorted, &limit);
	if (estimate->factor > 0)
	{
		*share = Min(tail * estimate->factor, limit);
		return true;
	}
	estimate->factor = 1;
	*stale = is_sampled(estimate) ? !share_by_sample(estimate, segment, shares, tail, limit, share) :
		!share_by_tile(estimate, segment, shares, tail, limit, share);
	return !*stale;
}

static int
compare_sizes(const void *a, const void *b)
{
	uint32		x = ((const GenieSegmentEntry *) a)->n_objects;
	uint32		y = ((const GenieSegmentEntry *) b)->n_objects;

	return (x < y) - (x > y);
}

/* Does the pending row fulfil the condition? */
static bool
is_match(const GenieEstimate *estimate, const GeniePendingRow *row)
{
	bool		conflict = false;
	uint32		count;

	if ((row->flags & GENIE_FRAGMENT_NULL) != 0)
		return false;
	count = genie_query_count_packed(estimate->view, row->packed, row->n, &conflict, NULL);
	return count >= estimate->least && is_near(estimate, count, row->size);
}

/* Adds the pending rows and those that match, by estimate where there are many.  False: stale. */
static bool
add_pending(const GenieEstimate *estimate, const GenieMetaData *meta, double *n_rows, double *n_matches)
{
	GeniePendingScan *scan = genie_pending_scan_begin(estimate->index, meta);
	GeniePendingRow row;
	uint32		n_pages = Min(meta->pending_pages, GENIE_ESTIMATE_PENDING);
	uint32		rows = 0;
	uint32		matches = 0;
	bool		stale;

	while (n_pages > 0 && genie_pending_next_row(scan, &row))
	{
		if ((row.flags & GENIE_FRAGMENT_DEAD) == 0)
		{
			rows++;
			matches += is_match(estimate, &row);
		}
		if (genie_pending_page_done(scan) && meta->pending_pages - scan->left >= n_pages)
			break;
	}
	stale = scan->stale;
	if (!stale && n_pages > 0)
	{
		double		scale = (double) meta->pending_pages / (meta->pending_pages - scan->left);

		*n_rows += rows * scale;
		*n_matches += matches * scale;
	}
	genie_pending_scan_end(scan);
	return !stale;
}

/* Adds up what the metapage lists.  False: stale. */
static bool
share_of_index(GenieEstimate *estimate, GenieMetaData *meta, double *share)
{
	double		n_rows = 0;
	double		n_matches = 0;
	double		n_unread = 0;
	bool		stale = false;

	qsort(meta->segments, meta->n_segments, sizeof(GenieSegmentEntry), compare_sizes);
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		const GenieSegmentEntry *entry = &meta->segments[i];
		double		n_live = (double) entry->n_objects - entry->n_dead;
		double		of_segment;

		if (entry->n_objects == 0)
			continue;
		if (!estimate->out_of_time && share_of_segment(estimate, entry, &of_segment, &stale))
		{
			n_rows += n_live;
			n_matches += n_live * of_segment;
		}
		else
			n_unread += n_live;
		if (stale)
			return false;
	}
	if (n_rows > 0)
	{
		n_matches *= 1 + n_unread / n_rows;
		n_rows += n_unread;
	}
	if (!add_pending(estimate, meta, &n_rows, &n_matches))
		return false;
	*share = n_rows > 0 ? n_matches / n_rows : -1;
	return true;
}

/* The share of rows that are not NULL: of segments, which have most of the rows. */
static double
share_not_null(const GenieMetaData *meta)
{
	double		n_rows = 0;
	double		n_nulls = 0;

	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		n_rows += meta->segments[i].n_objects;
		n_nulls += meta->segments[i].n_nulls;
	}
	return n_rows > 0 ? 1 - n_nulls / n_rows : 1;
}

/* Finds the threshold's bound, and the fewest matches that it and min_match leave possible. */
static void
find_least(GenieEstimate *estimate, const GenieQuery *query)
{
	int16		strategy = (int16) query->distance_strategy;

	estimate->least = (uint32) query->min_match;
	estimate->has_threshold = strategy == GENIE_JACCARD_STRATEGY;
	if (strategy == 0 || !genie_bound_knows(estimate->index, strategy))
		return;
	estimate->has_threshold = true;
	estimate->bound = genie_bound_begin(estimate->index, strategy, query);
	estimate->least = Max(estimate->least, genie_bound_least_count(estimate->bound, query->max_distance));
}

/* The items that are looked up, spread evenly over the query. */
static const GenieQueryView *
find_sample(const GenieQueryView *view)
{
	GenieQueryView *sample;
	GenieInterval *intervals;

	if (view->n_intervals <= GENIE_ESTIMATE_ITEMS)
		return view;
	sample = palloc(sizeof(GenieQueryView));
	intervals = palloc(GENIE_ESTIMATE_ITEMS * sizeof(GenieInterval));
	*sample = *view;
	sample->n_intervals = GENIE_ESTIMATE_ITEMS;
	sample->intervals = intervals;
	sample->numbers = NULL;
	for (uint32 i = 0; i < GENIE_ESTIMATE_ITEMS; i++)
		intervals[i] = view->intervals[(uint64) i * view->n_intervals / GENIE_ESTIMATE_ITEMS];
	return sample;
}

double
genie_estimate_share(Relation index, const GenieQuery *query)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie estimate", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieEstimate estimate = {.index = index};
	GenieMetaData *meta = genie_meta_read(index);
	double		share = -1;

	estimate.view = genie_query_view(query, context);
	estimate.sample = find_sample(estimate.view);
	find_least(&estimate, query);
	estimate.n_reads = pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
	INSTR_TIME_SET_CURRENT(estimate.began);
	if (estimate.least == 0)
		share = query->distance_strategy == 0 ? share_not_null(meta) : -1;
	else
		while (!share_of_index(&estimate, meta, &share))
		{
			estimate.factor = 0;
			meta = genie_meta_read_again(index, true, meta->segment_version);
		}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return share < 0 ? -1 : Min(share, 1);
}
