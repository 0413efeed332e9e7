/*
 * unit_cuda_jobs.h
 *	  Jobs for unit_cuda.cpp, with all that they point to.
 */
#ifndef UNIT_CUDA_JOBS_H
#define UNIT_CUDA_JOBS_H

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "genie_cuda_data.h"

/* A job with all that it points to. */
struct Job
{
	std::vector<std::vector<GenieRankRange>> ranges;	/* the query's, then the conditions' */
	std::vector<GenieCondition> conditions;
	std::vector<uint16_t> class_of_size;
	std::vector<uint32_t> keys;
	GenieKeyTable table;
	Job		   *table_of = nullptr;	/* the job whose table this one shares */
	GenieJob	job;
	std::vector<uint8_t> out;
	std::vector<uint64_t> live;	/* of a TALLY, FACETS or GRID; empty: the image's */
	std::vector<std::vector<uint32_t>> places;
	std::vector<GenieGridAxis> axes;
	GenieGrid	grid;
};

/* Any third of the objects of n_tiles tiles of the image from first_tile on. */
static inline std::vector<uint64_t>
make_live(Random &random, const TestImage &image, uint32_t first_tile, uint32_t n_tiles)
{
	const uint64_t first = (uint64_t) first_tile * GENIE_TILE_OBJECTS;
	std::vector<uint64_t> live((size_t) n_tiles * GENIE_TILE_WORDS);

	for (uint64_t i = 0; i < live.size() * 64 && first + i < image.image.n_objects; i++)
		live[i / 64] |= (uint64_t) (random.below(3) == 0) << (i % 64);
	return live;
}

typedef std::vector<std::unique_ptr<Job>> Batch;

struct Query
{
	uint32_t	n_ranges;
	uint32_t	max_width;		/* ranks of a range */
};

static inline std::vector<GenieRankRange>
make_ranges(Random &random, const TestImage &image, const Query &query)
{
	std::vector<uint32_t> begins;
	std::vector<GenieRankRange> ranges;
	const uint32_t n = image.image.n_keywords;

	for (uint32_t i = 0; i < query.n_ranges; i++)
		begins.push_back(random.below(n));
	std::sort(begins.begin(), begins.end());
	for (const uint32_t begin : begins)
	{
		const uint32_t end = std::min(n, begin + 1 + random.below(query.max_width));

		if (ranges.empty() || begin >= ranges.back().end)
			ranges.push_back(GenieRankRange{begin, end});
	}
	return ranges;
}

/* The largest possible count: objects have no more keywords, and the ranges have no more ranks. */
static inline uint32_t
bound_of(const TestImage &image, const std::vector<GenieRankRange> &ranges)
{
	uint64_t	n = 0;

	for (const GenieRankRange &range : ranges)
		n += range.end - range.first;
	return (uint32_t) std::max<uint64_t>(1, std::min<uint64_t>(std::min(n, (uint64_t) image.max_size), UINT16_MAX));
}

static inline Job &
add_job(Batch &batch, const TestImage &image, GenieJobKind kind, std::vector<GenieRankRange> ranges)
{
	batch.emplace_back(new Job());
	Job		   &job = *batch.back();

	memset(&job.job, 0, sizeof(job.job));
	job.ranges.push_back(std::move(ranges));
	job.job.kind = kind;
	job.job.image = &image.image;
	job.job.query.max_count = bound_of(image, job.ranges[0]);
	job.job.k = 10;
	job.job.min_key = 1;
	job.job.n_tiles = image.image.n_tiles;
	return job;
}

static inline void
add_condition(Job &job, const TestImage &image, std::vector<GenieRankRange> ranges, uint32_t min_count)
{
	GenieCondition condition;

	memset(&condition, 0, sizeof(condition));
	condition.query.max_count = bound_of(image, ranges);
	condition.min_count = min_count;
	job.ranges.push_back(std::move(ranges));
	job.conditions.push_back(condition);
}

/* the largest keys of tables: one, two and four bytes */
static const uint32_t MAX_KEYS[] = {20, 60000, 4000000000u};

/* Sets the cursor and the smallest key, if the job has them, to keys of its table. */
static inline void
draw_keys(Random &random, Job &job, const std::vector<uint32_t> &keys)
{
	const auto draw = [&]() { return std::max(1u, keys[random.below((uint32_t) keys.size())]); };

	if (job.job.has_after)
		job.job.after.key = draw();
	if (job.job.min_key > 1)
		job.job.min_key = draw();
}

/* Gives the job the table of another one, of the same image.  False: the table's rows are too short. */
static inline bool
share_key_table(Random &random, Job &job, Job &owner)
{
	if (owner.table.stride <= job.job.query.max_count)
		return false;
	job.table_of = &owner;
	draw_keys(random, job, owner.keys);
	return true;
}

/*
 * Keys of the Jaccard similarity of an object and a query of max_count keywords, in n_steps steps.  Each size has a
 * class of its own.
 */
static inline void
add_similarity_table(Random &random, Job &job, uint32_t n_steps)
{
	const GenieImageGroup &group = *job.job.image->groups[0];
	const uint32_t n_counts = job.job.query.max_count + 1;

	job.table.first_size = group.min_size;
	job.table.n_sizes = job.table.n_classes = group.max_size - group.min_size + 1;
	job.table.stride = n_counts;
	for (uint32_t i = 0; i < job.table.n_sizes; i++)
	{
		const uint32_t size = group.min_size + i;

		job.class_of_size.push_back((uint16_t) i);
		for (uint32_t count = 0; count < n_counts; count++)
		{
			const uint32_t common = std::min(count, size);

			job.keys.push_back(1 + n_steps * common / (size + job.job.query.max_count - common));
		}
	}
	draw_keys(random, job, job.keys);
}

/* Random keys up to max_key that rise with the count; some rows begin with 0, and rows are longer than needed. */
static inline void
add_key_table(Random &random, Job &job, uint32_t n_classes, uint32_t max_key)
{
	const GenieImageGroup &group = *job.job.image->groups[0];
	uint32_t	key = 0;

	job.table.first_size = group.min_size - random.below(std::min(group.min_size, 3u) + 1);
	job.table.n_sizes = group.max_size + 1 + random.below(3) - job.table.first_size;
	job.table.n_classes = n_classes;
	job.table.stride = job.job.query.max_count + 1 + random.below(3);
	for (uint32_t i = 0; i < job.table.n_sizes; i++)
		job.class_of_size.push_back((uint16_t) (i * 7 % n_classes));
	for (uint32_t i = 0; i < n_classes * job.table.stride; i++)
	{
		if (i % job.table.stride == 0)
			key = random.below(2) * random.below(max_key);
		else if (random.below(2) == 0)
			key += random.below(std::min(max_key / job.table.stride + 2, max_key - key + 1));
		job.keys.push_back(key);
	}
	draw_keys(random, job, job.keys);
}

/* Makes the job's table misfit, in one of four ways. */
static inline void
spoil_key_table(Job &job, uint32_t way)
{
	const GenieImageGroup &group = *job.job.image->groups[0];

	if (way == 0)
		job.table.first_size = group.min_size + 1;
	else if (way == 1)
		job.table.n_sizes = group.max_size - job.table.first_size;
	else if (way == 2)
		job.table.stride = job.job.query.max_count;
	else
		job.class_of_size[group.max_size - job.table.first_size] = (uint16_t) job.table.n_classes;
}

#endif							/* UNIT_CUDA_JOBS_H */
