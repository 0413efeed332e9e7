/*
 * bench_cuda_ocr.cpp
 *	  Random binning of points like those of the OCR data set: GENIE's paper, section 5.1.3.
 *
 * Points.  1,156 grey values of 0 .. 255, as pictures of 34 x 34 pixels have.  There are 128 clusters; a cluster's
 * picture has each pixel dark (0) by one half, else any value; a point is its cluster's picture with noise of +-64 on
 * each pixel (the sum of two uniform numbers), cut to 0 .. 255.
 *
 * Hash functions.  Each lays a grid over the space: in dimension d cells of width g_d, shifted by u_d, uniform in
 * 0 .. g_d; a point's value is its cell.  For the Laplacian kernel exp(-|p - q|_1 / sigma), g_d has the density
 * g / sigma^2 exp(-g / sigma), each dimension its own, and two points share a cell with exactly the kernel's
 * probability.  sigma is the mean l1 distance of pairs of points.  Cells are re-hashed to 8192 buckets.
 *
 * So a pair at the mean distance shares 1 / e of its buckets, and lists are long: a query has more than n / e postings
 * a function.  Because sigma is a sum over all dimensions, hardly any dimension is cut by a given grid: a function is
 * a few cuts (about three) in dimensions of its own, and its value the bits of on which side of each a point lies.
 * Only pixels that some function cuts are drawn.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "bench_cuda_shapes.h"

constexpr uint32_t FUNCTIONS = 237;
constexpr uint32_t BUCKETS = 8192;
constexpr uint32_t PIXELS = 1156;
constexpr uint32_t CLUSTERS = 128;
constexpr uint32_t NOISE = 64;
constexpr uint32_t PAIRS = 10000;

/* of one function a grid line at threshold: a pixel below it is on one side, others on the other */
struct Cut
{
	uint32_t	pixel;
	uint32_t	threshold;
	uint32_t	function;
};

struct Binning
{
	std::vector<uint8_t> pictures;	/* of clusters */
	std::vector<Cut> cuts;		/* by pixel */
	std::vector<std::vector<uint32_t>> buckets; /* of a function, by the bits of its cuts */
};

/* A pixel of a point; bits: 16 random ones. */
static uint32_t
noisy(uint8_t grey, uint32_t bits)
{
	const int	noise = (int) ((bits & 0xFF) * NOISE / 255) + (int) ((bits >> 8 & 0xFF) * NOISE / 255) - (int) NOISE;

	return (uint32_t) std::clamp((int) grey + noise, 0, 255);
}

static double
mean_distance(const Binning &binning, Random &random)
{
	double		sum = 0;

	for (uint32_t i = 0; i < PAIRS; i++)
	{
		const uint8_t *a = &binning.pictures[(size_t) random.below(CLUSTERS) * PIXELS];
		const uint8_t *b = &binning.pictures[(size_t) random.below(CLUSTERS) * PIXELS];

		for (uint32_t d = 0; d < PIXELS; d++)
		{
			const uint64_t bits = random.next();

			sum += abs((int) noisy(a[d], (uint32_t) bits & 0xFFFF) -
					   (int) noisy(b[d], (uint32_t) (bits >> 16) & 0xFFFF));
		}
	}
	return sum / PAIRS;
}

/* The cuts of a function, and its bucket for each combination of sides. */
static void
add_function(Binning &binning, uint32_t function, double sigma, Random &random)
{
	uint32_t	n_cuts = 0;

	for (uint32_t d = 0; d < PIXELS; d++)
	{
		const double width = -sigma * (log(1 - random.unit()) + log(1 - random.unit()));

		/* lines at u, u + width, ...: one at a value of at most 0 cuts nothing, as all pixels are above it */
		for (double line = random.unit() * width; line <= 255; line += width)
		{
			if (ceil(line) > 0)
			{
				binning.cuts.push_back(Cut{d, (uint32_t) ceil(line), function});
				n_cuts++;
			}
		}
	}
	if (n_cuts > 20)
	{
		fprintf(stderr, "a function of %u cuts: sigma is far too small\n", n_cuts);
		exit(2);
	}
	binning.buckets.emplace_back();
	for (uint32_t cell = 0; cell < 1u << n_cuts; cell++)
		binning.buckets.back().push_back(function * BUCKETS + random.below(BUCKETS));
}

static void
fill_binned(const Binning &binning, Random &random, uint32_t n, uint32_t *keywords)
{
	for (uint32_t i = 0; i < n; i++)
	{
		const uint8_t *picture = &binning.pictures[(size_t) random.below(CLUSTERS) * PIXELS];
		uint32_t	cells[FUNCTIONS] = {0};
		uint32_t	pixel = PIXELS;
		uint32_t	grey = 0;
		uint64_t	bits = 0;
		uint32_t	n_drawn = 0;

		for (const Cut &cut : binning.cuts)
		{
			if (cut.pixel != pixel)
			{
				pixel = cut.pixel;
				bits = n_drawn++ % 4 == 0 ? random.next() : bits >> 16;
				grey = noisy(picture[pixel], (uint32_t) bits & 0xFFFF);
			}
			cells[cut.function] = cells[cut.function] * 2 + (grey >= cut.threshold);
		}
		for (uint32_t f = 0; f < FUNCTIONS; f++)
			keywords[(size_t) f * n + i] = binning.buckets[f][cells[f]];
	}
}

Shape
ocr_binning(uint32_t n_objects)
{
	const auto	binning = std::make_shared<Binning>();
	Random		random(1156);
	Shape		shape;

	for (uint32_t i = 0; i < CLUSTERS * PIXELS; i++)
		binning->pictures.push_back((uint8_t) (random.below(2) == 0 ? 0 : random.below(256)));
	const double sigma = mean_distance(*binning, random);

	for (uint32_t f = 0; f < FUNCTIONS; f++)
		add_function(*binning, f, sigma, random);
	printf("ocr-binning: sigma = mean l1 distance = %.0f, %.2f cuts a function\n", sigma,
		   (double) binning->cuts.size() / FUNCTIONS);
	std::stable_sort(binning->cuts.begin(), binning->cuts.end(),
					 [](const Cut &a, const Cut &b) { return a.pixel < b.pixel; });

	shape.name = "ocr-binning";
	shape.n_objects = n_objects;
	shape.n_slots = FUNCTIONS;
	shape.n_keywords = FUNCTIONS * BUCKETS;
	for (uint32_t f = 0; f <= FUNCTIONS; f++)
		shape.first.push_back(f * BUCKETS);
	shape.fill = [=](Random &drawn, uint32_t n, uint32_t *keywords) { fill_binned(*binning, drawn, n, keywords); };
	shape.ask = [](const uint32_t *keywords, bool) {
		Ranges		ranges;

		for (uint32_t f = 0; f < FUNCTIONS; f++)
			ranges.push_back(GenieRankRange{keywords[f], keywords[f] + 1});
		return ranges;
	};
	return shape;
}
