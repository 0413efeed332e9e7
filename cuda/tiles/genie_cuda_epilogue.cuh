/*
 * genie_cuda_epilogue.cuh
 *	  What becomes of a piece's counters: candidates for the best k, a mask, a tally, or counts written out.
 *
 * TOP.  An object is *wanted* if its bit in the mask is set, its key is at least the query's threshold, and it ranks
 * below the cursor.  All three are tested before anything is ranked.  If the piece's wanted objects are
 *
 *		at most k:	all are candidates, in any order (genie_cuda_top.cu sorts);
 *		more:		exactly k are candidates.  A radix select (one histogram a byte) finds the piece's k-th key T.  All
 *					objects above T are candidates, and the first ones of those with key T.  The query's bound is raised
 *					to (T, the piece's last object), because these k objects are known now.
 *
 * So a piece gives at most k candidates, which is what the buffers are sized by.
 *
 * All pieces together know more than each alone: a histogram of all candidates' keys gives the largest T that k of them
 * reach.  The t that belongs to it is the last object of all pieces that gave candidates.
 */
#ifndef GENIE_CUDA_EPILOGUE_CUH
#define GENIE_CUDA_EPILOGUE_CUH

#include "genie_cuda_count.cuh"
#include "genie_cuda_rank.cuh"

constexpr uint32_t GENIE_CUDA_DIGITS = 256;	/* values of a key's byte */

/* The wanted objects of a unit, given the threshold that their keys must reach. */
template <int BITS, class RANKING>
__device__ __forceinline__ uint32_t
genie_cuda_wanted(const GenieCudaPiece &piece, const RANKING &ranking, uint32_t unit, uint32_t threshold)
{
	typedef typename GenieCudaUnit<BITS>::Mask Mask;
	const GenieCudaQuery *query = piece.query;
	const uint32_t mask_unit = piece.first / GENIE_CUDA_UNIT<BITS> + unit;
	uint32_t	wanted = (Mask) ~0u;

	if constexpr (RANKING::MASK_FIRST)
	{
		wanted = ranking.enough(unit);
		if (wanted == 0)
			return 0;
		wanted &= ((const Mask *) genie_cuda_piece_mask(piece))[mask_unit];
	}
	wanted = ranking.at_least(unit, threshold, wanted);
	if (wanted == 0)
		return 0;
	if (!RANKING::MASK_FIRST)
		wanted &= ((const Mask *) genie_cuda_piece_mask(piece))[mask_unit];
	if (query->has_after)
	{
		const uint32_t object = genie_cuda_piece_object(piece) + unit * GENIE_CUDA_UNIT<BITS>;

		if (query->after.key != UINT32_MAX)
			wanted &= ~ranking.at_least(unit, query->after.key + 1, wanted);
		if (object <= query->after.object)
		{
			/* earlier pages had the objects of the cursor's key up to its object */
			const uint32_t n = query->after.object - object;
			const uint32_t up_to = n >= 31 ? ~0u : (2u << n) - 1;

			wanted &= ~ranking.at_least(unit, query->after.key, wanted & up_to);
		}
	}
	return wanted;
}

/* Writes the wanted objects of a unit as candidates. */
template <int BITS, class RANKING>
__device__ __forceinline__ void
genie_cuda_emit(const GenieCudaPiece &piece, const RANKING &ranking, uint32_t unit, uint32_t wanted,
				GenieCudaCandidate *out)
{
	for (; wanted != 0; wanted &= wanted - 1)
	{
		const uint32_t object = unit * GENIE_CUDA_UNIT<BITS> + __ffs((int) wanted) - 1;

		const uint32_t key = ranking.key(object);

		*out++ = genie_cuda_candidate(key, genie_cuda_piece_object(piece) + object);
		if (!RANKING::MASK_FIRST && piece.query->histogram != NULL)
			atomicAdd(&piece.query->histogram[key], 1);
	}
}

/*
 * Raises the query's bound by the histogram of its candidates.  One warp calls it together, after the piece's
 * candidates are in the histogram.  The histogram may grow meanwhile: what is read of it was true before, and the last
 * object is read after it.
 */
template <int BITS>
__device__ void
genie_cuda_raise_bound(const GenieCudaQuery *query)
{
	constexpr uint32_t KEYS = 1u << BITS;
	constexpr uint32_t EACH = (KEYS + GENIE_CUDA_WARP - 1) / GENIE_CUDA_WARP;
	const uint32_t thread = genie_cuda_thread();
	uint32_t	counts[EACH] = {};	/* of the keys from KEYS - thread * EACH - 1 downwards */
	uint32_t	sum = 0;
	uint32_t	above;

#pragma unroll
	for (uint32_t i = 0; i < EACH; i++)
	{
		if (thread * EACH + i < KEYS)
			counts[i] = __ldcg(&query->histogram[KEYS - 1 - thread * EACH - i]);
		sum += counts[i];
	}
	above = genie_cuda_warp_scan(sum) - sum;
	if (above >= query->k || above + sum < query->k)
		return;
	__threadfence();
#pragma unroll
	for (uint32_t i = 0; i < EACH; i++)
	{
		above += counts[i];
		if (above >= query->k)
		{
			const uint32_t last_object = *(volatile uint32_t *) &query->top->last_object;

			atomicMax(&query->top->bound, genie_cuda_bound(KEYS - 1 - thread * EACH - i, last_object));
			return;
		}
	}
}

/* Notes that a piece gives candidates, before the histogram counts them.  One thread calls it. */
__device__ __forceinline__ void
genie_cuda_note_piece(const GenieCudaPiece &piece)
{
	if (piece.query->histogram != NULL)
		atomicMax(&piece.query->top->last_object, genie_cuda_piece_object(piece) + piece.n - 1);
}

/*
 * Finds the digit of number *need from the top of the histogram.  *need becomes how many are needed of that digit.  One
 * warp calls it together.
 */
__device__ __forceinline__ void
genie_cuda_find_digit(const uint32_t *histogram, uint32_t *digit, uint32_t *need)
{
	constexpr uint32_t EACH = GENIE_CUDA_DIGITS / GENIE_CUDA_WARP;
	const uint32_t thread = genie_cuda_thread();
	const uint32_t top = GENIE_CUDA_DIGITS - thread * EACH;	/* a thread has the digits [top - EACH, top) */
	const uint32_t wanted = *need;
	uint32_t	sum = 0;
	uint32_t	above;

	for (uint32_t i = 1; i <= EACH; i++)
		sum += histogram[top - i];
	above = genie_cuda_warp_scan(sum) - sum;
	__syncwarp();
	if (above < wanted && wanted <= above + sum)
	{
		uint32_t	value = top - 1;

		while (above + histogram[value] < wanted)
			above += histogram[value--];
		*digit = value;
		*need = wanted - above;
	}
	__syncwarp();
}

/*
 * The k-th largest key among the piece's wanted objects, which are more than k.  shared.need becomes the number of
 * objects of exactly this key that belong to the best k.
 */
template <int BITS, int THREADS, class RANKING>
__device__ uint32_t
genie_cuda_kth_key(const GenieCudaPiece &piece, const RANKING &ranking, uint32_t threshold,
				   GenieCudaShared<THREADS> &shared)
{
	const uint32_t n_units = piece.n / GENIE_CUDA_UNIT<BITS>;
	uint32_t   *histogram = shared.from;	/* the runs are not needed any more */
	uint32_t	known = 0;		/* the k-th key's bytes known so far */
	uint32_t	known_mask = 0;

	static_assert(THREADS >= GENIE_CUDA_DIGITS, "the histogram takes the place of the runs");
	if (threadIdx.x == 0)
		shared.need = piece.query->k;
	for (int byte = (int) piece.query->key_bytes - 1; byte >= 0; byte--)
	{
		for (uint32_t i = threadIdx.x; i < GENIE_CUDA_DIGITS; i += THREADS)
			histogram[i] = 0;
		__syncthreads();
		for (uint32_t unit = threadIdx.x; unit < n_units; unit += THREADS)
		{
			uint32_t	wanted = genie_cuda_wanted<BITS>(piece, ranking, unit, threshold);

			for (; wanted != 0; wanted &= wanted - 1)
			{
				const uint32_t key = ranking.key(unit * GENIE_CUDA_UNIT<BITS> + __ffs((int) wanted) - 1);

				if ((key & known_mask) == known)
					atomicAdd(&histogram[key >> (8 * byte) & (GENIE_CUDA_DIGITS - 1)], 1);
			}
		}
		__syncthreads();
		if (genie_cuda_warp() == 0)
			genie_cuda_find_digit(histogram, &shared.digit, &shared.need);
		__syncthreads();
		known |= shared.digit << (8 * byte);
		known_mask |= (GENIE_CUDA_DIGITS - 1) << (8 * byte);
		__syncthreads();
	}
	return known;
}

/*
 * The same by bisection, for keys that are counts of few values: bisection counts whole units, while a histogram takes
 * one object at a time.
 */
template <int BITS, int THREADS, class RANKING>
__device__ uint32_t
genie_cuda_kth_count(const GenieCudaPiece &piece, const RANKING &ranking, uint32_t threshold,
					 GenieCudaShared<THREADS> &shared)
{
	const uint32_t n_units = piece.n / GENIE_CUDA_UNIT<BITS>;
	uint32_t	low = threshold;	/* more than k reach it */
	uint32_t	high = min(piece.query->max_count, (1u << BITS) - 1);
	uint32_t	above = 0;		/* how many have more than high */

	while (low < high)
	{
		const uint32_t middle = (low + high + 1) / 2;
		uint32_t	sums[1] = {0};
		uint32_t	totals[1];

		for (uint32_t unit = threadIdx.x; unit < n_units; unit += THREADS)
			sums[0] += __popc(genie_cuda_wanted<BITS>(piece, ranking, unit, middle));
		genie_cuda_block_scan<THREADS, 1>(sums, totals, shared.sums);
		if (totals[0] >= piece.query->k)
			low = middle;
		else
		{
			high = middle - 1;
			above = totals[0];
		}
	}
	if (threadIdx.x == 0)
		shared.need = piece.query->k - above;
	__syncthreads();
	return low;
}

/* For a piece with more than k wanted objects: gives the best k as candidates and raises the query's bound. */
template <int BITS, int THREADS, class RANKING>
__device__ void
genie_cuda_offer_best(const GenieCudaPiece &piece, const RANKING &ranking, uint32_t threshold,
					  GenieCudaShared<THREADS> &shared)
{
	const GenieCudaQuery *query = piece.query;
	const uint32_t n_units = piece.n / GENIE_CUDA_UNIT<BITS>;
	const uint32_t kth = BITS == 4 && !RANKING::MASK_FIRST ?
		genie_cuda_kth_count<BITS, THREADS>(piece, ranking, threshold, shared) :
		genie_cuda_kth_key<BITS, THREADS>(piece, ranking, threshold, shared);
	const uint32_t need = shared.need;
	GenieCudaCandidate *out;
	uint32_t	above = 0;
	uint32_t	ties = 0;

	if (threadIdx.x == 0)
	{
		atomicMax(&query->top->bound, genie_cuda_bound(kth, genie_cuda_piece_object(piece) + piece.n - 1));
		shared.base = atomicAdd(&query->top->n, query->k);
		genie_cuda_note_piece(piece);
	}
	__syncthreads();
	__threadfence();
	out = query->candidates + shared.base;

	/* units in object order, as many at a time as there are threads */
	for (uint32_t first = 0; first < n_units; first += THREADS)
	{
		const uint32_t unit = first + threadIdx.x;
		uint32_t	all = 0;
		uint32_t	better = 0;
		uint32_t	sums[2] = {0, 0};
		uint32_t	totals[2];

		if (unit < n_units)
		{
			all = genie_cuda_wanted<BITS>(piece, ranking, unit, kth);
			if (all != 0 && kth != UINT32_MAX)
				better = ranking.at_least(unit, kth + 1, all);
			sums[0] = __popc(better);
			sums[1] = __popc(all & ~better);
		}
		genie_cuda_block_scan<THREADS, 2>(sums, totals, shared.sums);
		if (better != 0)
			genie_cuda_emit<BITS>(piece, ranking, unit, better, out + above + sums[0]);
		if (all != better && ties + sums[1] < need)
		{
			uint32_t	kept = all & ~better;
			uint32_t	n = need - ties - sums[1];

			for (uint32_t excess = __popc(kept); excess > n; excess--)
				kept &= ~(0x80000000u >> __clz((int) kept));
			genie_cuda_emit<BITS>(piece, ranking, unit, kept, out + (query->k - need) + ties + sums[1]);
		}
		above += totals[0];
		ties += totals[1];
	}
}

/*
 * With a key table, while the query has no bound: raises the piece's threshold to the k-th key of its first objects, if
 * k of them are wanted.  All threads call it together, after genie_cuda_find_least(), which it calls again for the new
 * threshold.
 */
template <int BITS, int THREADS>
__device__ __noinline__ void
genie_cuda_raise_threshold(const GenieCudaPiece piece)
{
	GenieCudaShared<THREADS> &shared = genie_cuda_shared<BITS, THREADS>(piece.n);
	const GenieCudaByTable<BITS> ranking(piece, genie_cuda_counters(), shared);
	const uint32_t threshold = shared.threshold;
	GenieCudaPiece first = piece;
	uint32_t	sums[1] = {0};
	uint32_t	totals[1];
	uint32_t	kth;

	first.n = piece.n / GENIE_CUDA_KEY_PART;
	for (uint32_t unit = threadIdx.x; unit < first.n / GENIE_CUDA_UNIT<BITS>; unit += THREADS)
		sums[0] += __popc(genie_cuda_wanted<BITS>(first, ranking, unit, threshold));
	genie_cuda_block_scan<THREADS, 1>(sums, totals, shared.sums);
	if (totals[0] < piece.query->k)
		return;
	kth = genie_cuda_kth_key<BITS, THREADS>(first, ranking, threshold, shared);
	if (threadIdx.x == 0)
		shared.threshold = kth;
	genie_cuda_find_least<BITS, THREADS>(piece, kth);
}

/* TOP: gives the piece's wanted objects as candidates. */
template <int BITS, int THREADS, class RANKING>
__device__ __noinline__ void
genie_cuda_offer(const GenieCudaPiece piece)
{
	GenieCudaShared<THREADS> &shared = genie_cuda_shared<BITS, THREADS>(piece.n);
	const RANKING ranking(piece, genie_cuda_counters(), shared);
	const uint32_t threshold = shared.threshold;
	const uint32_t n_units = piece.n / GENIE_CUDA_UNIT<BITS>;
	uint32_t	sums[1] = {0};
	uint32_t	totals[1];
	uint32_t	seen = 0;		/* which of the thread's units have wanted objects */

	/* a thread's units are at most the bits of seen */
	static_assert(GENIE_TILE_OBJECTS / GENIE_CUDA_UNIT<BITS> / THREADS <= 32, "too few threads");
	for (uint32_t unit = threadIdx.x, bit = 1; unit < n_units; unit += THREADS, bit <<= 1)
	{
		uint32_t	wanted;

		if (shared.least > 0)
		{
			/* all others stay below the threshold, or the floor, even with all bitmaps */
			const uint32_t enough = genie_cuda_reached<BITS>(genie_cuda_counters(), unit, shared.least);

			if (enough == 0)
				continue;
			genie_cuda_complete<BITS, THREADS>(piece, unit, enough);
		}
		wanted = genie_cuda_wanted<BITS>(piece, ranking, unit, threshold);
		sums[0] += __popc(wanted);
		seen |= wanted != 0 ? bit : 0;
	}
	genie_cuda_block_scan<THREADS, 1>(sums, totals, shared.sums);
	if (totals[0] == 0)
		return;
	if (totals[0] > piece.query->k)
	{
		genie_cuda_offer_best<BITS, THREADS>(piece, ranking, threshold, shared);
		return;
	}
	if (threadIdx.x == 0)
	{
		shared.base = atomicAdd(&piece.query->top->n, totals[0]);
		genie_cuda_note_piece(piece);
	}
	__syncthreads();
	if (seen != 0)
		__threadfence();
	for (; seen != 0; seen &= seen - 1)
	{
		const uint32_t unit = threadIdx.x + (__ffs((int) seen) - 1) * THREADS;
		const uint32_t wanted = genie_cuda_wanted<BITS>(piece, ranking, unit, threshold);

		genie_cuda_emit<BITS>(piece, ranking, unit, wanted, piece.query->candidates + shared.base + sums[0]);
		sums[0] += __popc(wanted);
	}
	if constexpr (!RANKING::MASK_FIRST && BITS <= 8)
	{
		if (piece.query->histogram == NULL)
			return;
		__syncthreads();
		if (genie_cuda_warp() == 0)
			genie_cuda_raise_bound<BITS>(piece.query);
	}
}

/* TALLY: how many live objects match at least min_count times. */
template <int BITS, int THREADS>
__device__ __forceinline__ void
genie_cuda_add_tally(const GenieCudaPiece &piece)
{
	typedef typename GenieCudaUnit<BITS>::Mask Mask;
	const GenieCudaByCount<BITS> ranking(genie_cuda_counters());
	const GenieCudaQuery *query = piece.query;
	const Mask *live = (const Mask *) genie_cuda_live(piece) + piece.first / GENIE_CUDA_UNIT<BITS>;
	uint32_t	n = 0;

	for (uint32_t unit = threadIdx.x; unit < piece.n / GENIE_CUDA_UNIT<BITS>; unit += THREADS)
		n += (uint32_t) __popc(ranking.at_least(unit, query->min_count, live[unit]));
	n = genie_cuda_warp_scan(n);
	if (genie_cuda_thread() == GENIE_CUDA_WARP - 1 && n > 0)
		atomicAdd(query->tally, n);
}

/*
 * MASK: the objects that match at least min_count times, among the live ones or those that fulfil earlier conditions;
 * any: added to the latter.
 */
template <int BITS, int THREADS>
__device__ __forceinline__ void
genie_cuda_write_mask(const GenieCudaPiece &piece)
{
	typedef typename GenieCudaUnit<BITS>::Mask Mask;
	const GenieCudaByCount<BITS> ranking(genie_cuda_counters());
	const GenieCudaQuery *query = piece.query;
	Mask	   *mask = (Mask *) (query->mask + (size_t) (piece.tile_number - query->first_tile) * GENIE_TILE_WORDS);
	const Mask *live = (const Mask *) genie_cuda_live(piece);
	const Mask *before = query->first_condition || query->any ? live : mask;
	const bool	adds = query->any && !query->first_condition;
	const uint32_t first = piece.first / GENIE_CUDA_UNIT<BITS>;

	for (uint32_t unit = threadIdx.x; unit < piece.n / GENIE_CUDA_UNIT<BITS>; unit += THREADS)
	{
		const uint32_t now = ranking.at_least(unit, query->min_count, before[first + unit]);

		mask[first + unit] = (Mask) (adds ? mask[first + unit] | now : now);
	}
}

/* COUNTS: the counters as they are, 8 or 16 bits each. */
template <int BITS, int THREADS>
__device__ __forceinline__ void
genie_cuda_write_counts(const GenieCudaPiece &piece)
{
	const size_t object = (size_t) (piece.tile_number - piece.query->first_tile) * GENIE_TILE_OBJECTS + piece.first;
	uint4	   *out = (uint4 *) ((uint8_t *) piece.query->counts + object * (BITS / 8));

	for (uint32_t unit = threadIdx.x; unit < piece.n / GENIE_CUDA_UNIT<BITS>; unit += THREADS)
		out[unit] = ((const uint4 *) genie_cuda_counters())[unit];
}

#endif							/* GENIE_CUDA_EPILOGUE_CUH */
