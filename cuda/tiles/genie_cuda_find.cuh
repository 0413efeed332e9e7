/*
 * genie_cuda_find.cuh
 *	  Looking a range of ranks up in a tile's directory.
 */
#ifndef GENIE_CUDA_FIND_CUH
#define GENIE_CUDA_FIND_CUH

#include "genie_cuda_types.cuh"

/*
 * The same as genie_image_find(), faster for most ranges, which are points.  In an INDEXED directory a point takes one
 * load of its word and one of its list's two ends; only if it has no list are more loads needed.
 */
static __device__ __forceinline__ GenieImageSpan
genie_cuda_look_up(const GenieCudaTile *tile, GenieRankRange range)
{
	const uint8_t *base = tile->base;
	const GenieImageWord *words = (const GenieImageWord *) (base + tile->tile.plain.directory);
	const uint32_t *starts = (const uint32_t *) (base + tile->tile.plain.starts);
	const uint32_t bit = range.first % 64;
	GenieImageSpan span = {0, 0, 0, 0, 0};
	uint4		word;
	uint64_t	present;

	if (range.end != range.first + 1 || tile->tile.plain.form != GENIE_DIRECTORY_INDEXED)
		return genie_image_find(base, &tile->tile, range.first, range.end);

	/* a GenieImageWord: the bits' two halves, lists before, bitmaps before */
	word = __ldg((const uint4 *) (words + range.first / 64));
	present = (uint64_t) word.y << 32 | word.x;
	if ((present >> bit & 1) != 0)
	{
		const uint32_t list = word.z + __popcll(present & ((UINT64_C(1) << bit) - 1));

		span.n_lists = 1;
		span.from = __ldg(starts + list);
		span.to = __ldg(starts + list + 1);
	}
	else
	{
		const uint32_t *bitmap_ranks = (const uint32_t *) (base + tile->tile.bitmap_ranks);
		const uint32_t end = __ldg(&words[range.first / 64 + 1].bitmaps_before);

		span.bitmap_from = genie_rank_lower_bound(bitmap_ranks, word.w, end, range.first);
		span.bitmap_to = span.bitmap_from + (span.bitmap_from < end && bitmap_ranks[span.bitmap_from] == range.first);
	}
	return span;
}

#endif							/* GENIE_CUDA_FIND_CUH */
