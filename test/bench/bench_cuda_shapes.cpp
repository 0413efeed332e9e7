/*
 * bench_cuda_shapes.cpp
 *	  The shapes but for random binning, and rows made of them.
 *
 * Rows are made tile by tile in threads, each tile from its own seed, so they are the same whatever the number of
 * threads; a generator's 64 bits serve four draws, or a thousand million codes take too long.
 */
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "bench_cuda_adult.h"
#include "bench_cuda_shapes.h"

/* points: one keyword each */
static Ranges
points(const uint32_t *keywords, uint32_t n)
{
	Ranges		ranges;

	for (uint32_t i = 0; i < n; i++)
		ranges.push_back(GenieRankRange{keywords[i], keywords[i] + 1});
	return ranges;
}

/* first keywords of slots that have this many values each */
static std::vector<uint32_t>
first_keywords(const std::vector<uint32_t> &n_values)
{
	std::vector<uint32_t> first = {0};

	for (const uint32_t n : n_values)
		first.push_back(first.back() + n);
	return first;
}

/* A slot of n objects: keywords from first on, as drawn. */
static void
fill_slot(Random &random, const Draw &draw, uint32_t first, uint32_t n, uint32_t *keywords)
{
	uint64_t	bits = 0;

	for (uint32_t i = 0; i < n; i++, bits >>= 16)
	{
		if (i % 4 == 0)
			bits = random.next();
		keywords[i] = first + draw.at((uint16_t) bits);
	}
}

/* the paper's number of hash functions */
constexpr uint32_t PAPER_FUNCTIONS = 237;

/* Functions of equal kind: each bucket by its weight. */
static Shape
signatures(const std::string &name, uint32_t n_objects, uint32_t n_functions, const std::vector<double> &weights)
{
	const uint32_t n_buckets = (uint32_t) weights.size();
	const auto	draw = std::make_shared<Draw>(weights);
	Shape		shape;

	shape.name = name;
	shape.n_objects = n_objects;
	shape.n_slots = n_functions;
	shape.n_keywords = n_functions * n_buckets;
	shape.first = first_keywords(std::vector<uint32_t>(n_functions, n_buckets));
	shape.fill = [=](Random &random, uint32_t n, uint32_t *keywords) {
		for (uint32_t s = 0; s < n_functions; s++)
			fill_slot(random, *draw, s * n_buckets, n, keywords + (size_t) s * n);
	};
	shape.ask = [=](const uint32_t *keywords, bool) { return points(keywords, n_functions); };
	return shape;
}

static std::vector<double>
normal_weights(uint32_t n, double deviation)
{
	std::vector<double> weights;

	for (uint32_t i = 0; i < n; i++)
	{
		const double x = ((double) i - (n - 1) / 2.0) / deviation;

		weights.push_back(exp(-x * x / 2));
	}
	return weights;
}

/* The same, asked for a bucket and its neighbours on both sides, and for the best k. */
static Shape
windows(Shape shape, uint32_t k)
{
	const std::vector<uint32_t> first = shape.first;

	shape.k = k;
	shape.ask = [=](const uint32_t *keywords, bool exact) {
		const uint32_t around = exact ? 0 : 1;
		Ranges		ranges;

		for (size_t s = 0; s + 1 < first.size(); s++)
			ranges.push_back(GenieRankRange{std::max(first[s], keywords[s] - std::min(keywords[s], around)),
											std::min(first[s + 1], keywords[s] + around + 1)});
		return ranges;
	};
	return shape;
}

static Shape
documents(uint32_t n_objects)
{
	constexpr uint32_t WORDS = 200000;
	constexpr uint32_t EACH = 10;
	constexpr uint32_t SPREAD = 77773;	/* prime to WORDS: frequent words lie anywhere in the dictionary */
	const auto	below = std::make_shared<std::vector<double>>();
	double		sum = 0;
	Shape		shape;

	for (uint32_t w = 1; w <= WORDS; w++)
		below->push_back(sum += 1.0 / w);
	shape.name = "documents";
	shape.n_objects = n_objects;
	shape.n_slots = EACH;
	shape.n_keywords = WORDS;
	shape.fill = [=](Random &random, uint32_t n, uint32_t *keywords) {
		for (uint32_t i = 0; i < n; i++)
		{
			uint32_t	drawn[EACH];

			for (uint32_t n_drawn = 0; n_drawn < EACH;)
			{
				const double x = random.unit() * below->back();
				const uint64_t word = (uint64_t) (std::upper_bound(below->begin(), below->end(), x) - below->begin());

				drawn[n_drawn] = (uint32_t) (std::min<uint64_t>(word, WORDS - 1) * SPREAD % WORDS);
				n_drawn += std::find(drawn, drawn + n_drawn, drawn[n_drawn]) == drawn + n_drawn;
			}
			std::sort(drawn, drawn + EACH);
			for (uint32_t s = 0; s < EACH; s++)
				keywords[(size_t) s * n + i] = drawn[s];
		}
	};
	shape.ask = [](const uint32_t *keywords, bool) { return points(keywords, EACH); };
	return shape;
}

static Shape
adult(const std::string &name, uint32_t n_objects)
{
	constexpr uint32_t AROUND = 50;
	constexpr uint32_t N = BENCH_ADULT_ATTRIBUTES;
	std::vector<std::vector<double>> weights(N, std::vector<double>(BENCH_ADULT_INTERVALS, 0));
	const auto	draws = std::make_shared<std::vector<Draw>>();
	Shape		shape;

	for (const BenchAdultValue &value : bench_adult_values)
		weights[value.attribute][value.code] = value.n;
	for (const std::vector<double> &attribute : weights)
		draws->emplace_back(attribute);
	shape.name = name;
	shape.n_objects = n_objects;
	shape.n_slots = N;
	shape.n_keywords = N * BENCH_ADULT_INTERVALS;
	shape.first = first_keywords(std::vector<uint32_t>(N, BENCH_ADULT_INTERVALS));
	shape.fill = [=](Random &random, uint32_t n, uint32_t *keywords) {
		for (uint32_t s = 0; s < N; s++)
			fill_slot(random, (*draws)[s], s * BENCH_ADULT_INTERVALS, n, keywords + (size_t) s * n);
	};
	shape.ask = [](const uint32_t *keywords, bool exact) {
		Ranges		ranges;

		for (uint32_t s = 0; s < N; s++)
		{
			const uint32_t from = s * BENCH_ADULT_INTERVALS;
			const uint32_t value = keywords[s] - from;
			const uint32_t around = bench_adult_is_numeric[s] && !exact ? AROUND : 0;

			ranges.push_back(GenieRankRange{from + value - std::min(value, around),
											from + std::min(BENCH_ADULT_INTERVALS, value + around + 1)});
		}
		return ranges;
	};
	return shape;
}

std::vector<std::string>
shape_names()
{
	return {"sift",        "uniform",     "sift-wide", "sift-l2", "sift-l2-128",
			"ocr-uniform", "ocr-binning", "documents", "adult",   "adult-100m"};
}

Shape
make_shape(const std::string &name, double scale)
{
	const auto scaled = [=](double n) { return (uint32_t) std::max(1.0, n * scale); };

	if (name == "sift")
		return signatures(name, scaled(4500000), PAPER_FUNCTIONS, normal_weights(67, 8.56));
	if (name == "uniform")
		return signatures(name, scaled(4500000), PAPER_FUNCTIONS, std::vector<double>(67, 1));
	if (name == "sift-wide")
	{
		Shape		shape = signatures(name, scaled(4500000), 128, normal_weights(9, 1));

		shape.k = 200;
		return shape;
	}
	if (name == "sift-l2")
		return windows(signatures(name, scaled(4500000), 192, normal_weights(17, 1.68)), 775);
	if (name == "sift-l2-128")
		return windows(signatures(name, scaled(4500000), 128, normal_weights(13, 1.48)), 1900);
	if (name == "ocr-uniform")
		return signatures(name, scaled(3500000), PAPER_FUNCTIONS, std::vector<double>(8192, 1));
	if (name == "ocr-binning")
		return ocr_binning(scaled(3500000));
	if (name == "documents")
		return documents(scaled(6770000));
	if (name == "adult")
		return adult(name, scaled(976840));
	if (name == "adult-100m")
		return adult(name, scaled(100000000));
	fprintf(stderr, "no shape \"%s\"\n", name.c_str());
	exit(2);
}

/* ---- rows ---- */

Rows::Rows(const Shape &shape_) : shape(shape_)
{
	const uint32_t n = (shape.n_objects + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS;
	std::vector<std::atomic<uint32_t>> counts(shape.n_keywords);

	tiles.resize(n);
	parallel(n, [&](uint32_t t) {
		std::vector<uint32_t> in_tile(shape.n_keywords, 0);
		Random		random(t);

		tiles[t].resize((size_t) tile_objects(t) * shape.n_slots);
		shape.fill(random, tile_objects(t), tiles[t].data());
		for (const uint32_t keyword : tiles[t])
			in_tile[keyword]++;
		for (uint32_t i = 0; i < shape.n_keywords; i++)
			if (in_tile[i] > 0)
				counts[i].fetch_add(in_tile[i], std::memory_order_relaxed);
	});

	before.push_back(0);
	for (const std::atomic<uint32_t> &count : counts)
	{
		rank_of.push_back(n_ranks);
		if (count > 0)
		{
			n_ranks++;
			before.push_back(before.back() + count);
		}
	}
	rank_of.push_back(n_ranks);
	for (const uint32_t keyword : shape.first)
		first_rank.push_back(rank_of[keyword]);
	if (n_ranks < shape.n_keywords)
		parallel(n, [&](uint32_t t) {
			for (uint32_t &keyword : tiles[t])
				keyword = rank_of[keyword];
		});
}

TileLists
Rows::lists(uint32_t tile) const
{
	const std::vector<uint32_t> &ranks = tiles[tile];
	const uint32_t n = tile_objects(tile);
	std::vector<uint32_t> at(n_ranks + 1, 0);
	TileLists	lists;

	lists.n_objects = n;
	lists.sizes.assign(n, shape.n_slots);
	lists.locals.resize(ranks.size());
	for (const uint32_t rank : ranks)
		at[rank + 1]++;
	for (uint32_t rank = 0; rank < n_ranks; rank++)
	{
		if (at[rank + 1] > 0)
		{
			lists.ranks.push_back(rank);
			lists.starts.push_back(at[rank]);
		}
		at[rank + 1] += at[rank];
	}
	lists.starts.push_back((uint32_t) ranks.size());

	/* a rank may occur in any slot: then object by object, or its list would not ascend */
	for (uint32_t i = 0; i < (has_dimensions() ? 0 : n); i++)
		for (uint32_t s = 0; s < shape.n_slots; s++)
			lists.locals[at[ranks[(size_t) s * n + i]]++] = (uint16_t) i;
	for (uint32_t s = 0; s < (has_dimensions() ? shape.n_slots : 0); s++)
		for (uint32_t i = 0; i < n; i++)
			lists.locals[at[ranks[(size_t) s * n + i]]++] = (uint16_t) i;
	return lists;
}

Ranges
Rows::query(Random &random, bool exact) const
{
	std::vector<uint32_t> keywords(shape.n_slots);
	Ranges		ranges;

	shape.fill(random, 1, keywords.data());
	for (const GenieRankRange &range : shape.ask(keywords.data(), exact))
	{
		const GenieRankRange in_ranks = {rank_of[range.first], rank_of[range.end]};

		if (in_ranks.first < in_ranks.end)
			ranges.push_back(in_ranks);
	}
	return ranges;
}

Ranges
Rows::by_slot(const Ranges &ranges) const
{
	Ranges		slots(shape.n_slots, GenieRankRange{0, 0});
	uint32_t	s = 0;

	for (const GenieRankRange &range : ranges)
	{
		while (has_dimensions() && first_rank[s + 1] <= range.first)
			s++;
		slots[s++] = range;
	}
	return slots;
}

uint64_t
Rows::postings(const Ranges &ranges) const
{
	return std::accumulate(ranges.begin(), ranges.end(), UINT64_C(0), [&](uint64_t sum, const GenieRankRange &range) {
		return sum + before[range.end] - before[range.first];
	});
}
