/*
 * bench_cuda_shapes.h
 *	  Data of the shapes that GENIE's paper measures, made from a seed: rows, and the queries that go with them.
 *
 *	sift			4.5 M objects x 237 functions x 67 buckets of p-stable sizes (normal, standard deviation 8.56
 *					buckets)
 *	uniform			the same with buckets of equal size
 *	sift-wide		4.5 M objects x 128 functions whose buckets are a standard deviation wide, which makes 9 of them;
 *					the best 200, to be compared by distance
 *	sift-l2			4.5 M objects x 192 functions with 17 buckets; a query asks for three neighbouring ones and the best
 *					775, as genie_l2_ops does by default for this many rows
 *	sift-l2-128		the same by 128 functions with 13 buckets, and the best 1900, which finds as many of the nearest
 *	ocr-uniform		3.5 M objects x 237 functions, re-hashed to 8192 buckets of equal size
 *	ocr-binning		3.5 M objects x 237 functions of random binning (bench_cuda_ocr.cpp), re-hashed to 8192 buckets
 *	documents		6.77 M objects x 10 distinct words of 200,000, drawn by Zipf's law
 *	adult			976,840 tuples of 14 attributes with the real table's 985 values and their frequencies
 *					(bench_cuda_adult.h), each drawn by itself
 *	adult-100m		100 M such tuples
 *
 * A query is an object drawn in the same way; of an Adult tuple, the numeric attributes are asked for within 50 of the
 * 1024 intervals, and the others exactly.  An object has one keyword a slot.  Ranks are numbers of keywords that occur.
 */
#ifndef BENCH_CUDA_SHAPES_H
#define BENCH_CUDA_SHAPES_H

#include <string>

#include "genie_cuda_data.h"

typedef std::vector<GenieRankRange> Ranges;

/* What a shape is before its rows are made.  Keywords here are any numbers below n_keywords, not ranks. */
struct Shape
{
	/* the keywords of n objects drawn by random, slot by slot: keywords[s * n + i]; called from several threads */
	typedef std::function<void(Random &random, uint32_t n, uint32_t *keywords)> Fill;

	/* the intervals of keywords that are asked for, of an object; exact: by its keywords themselves */
	typedef std::function<Ranges(const uint32_t *keywords, bool exact)> Ask;

	std::string name;
	uint32_t	n_objects;
	uint32_t	n_slots;
	uint32_t	n_keywords;

	/*
	 * The keywords of slot s lie in [first[s], first[s + 1]).  Empty: any slot may have any, those of an object ascend.
	 */
	std::vector<uint32_t> first;
	Fill		fill;
	Ask			ask;
	uint32_t	k = 100;		/* that are asked for */
};

extern std::vector<std::string> shape_names();
extern Shape make_shape(const std::string &name, double scale);

/* random binning, for make_shape(); prints how it was made */
extern Shape ocr_binning(uint32_t n_objects);

/* The rows of a shape, with ranks in place of keywords. */
class Rows
{
public:
	explicit Rows(const Shape &shape_);

	/* the lists of a tile */
	TileLists	lists(uint32_t tile) const;

	/* a query, as intervals of ranks */
	Ranges		query(Random &random, bool exact) const;

	/*
	 * The same as n_slots intervals: interval s is asked of slot s, where slots are dimensions; it is empty if no
	 * object has it.
	 */
	Ranges		by_slot(const Ranges &ranges) const;

	/* how many postings the query has */
	uint64_t	postings(const Ranges &ranges) const;

	uint32_t n_tiles() const
	{
		return (uint32_t) tiles.size();
	}

	uint32_t tile_objects(uint32_t tile) const
	{
		return std::min(shape.n_objects - tile * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS);
	}

	/* is there one keyword a dimension, the slots? */
	bool has_dimensions() const
	{
		return !first_rank.empty();
	}

	const Shape &shape;
	uint32_t	n_ranks = 0;
	std::vector<uint32_t> first_rank;	/* as Shape's first, in ranks */
	std::vector<std::vector<uint32_t>> tiles;	/* ranks, slot by slot */
	std::vector<uint64_t> before;	/* before[r]: postings of ranks below r; n_ranks + 1 entries */

private:
	std::vector<uint32_t> rank_of;	/* of each keyword: how many below it occur; n_keywords + 1 entries */
};

#endif							/* BENCH_CUDA_SHAPES_H */
