/*
 * bench_cuda_subject.cpp
 *	  A shape made ready, and running engines and competitors on it.
 */
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "bench_cuda_subject.h"

Jobs::Jobs(const GenieSegmentImage *image, uint32_t max_count, const std::vector<Ranges> &queries, size_t n,
		   uint32_t k) :
	jobs(n),
	hits(n * k)
{
	for (size_t i = 0; i < n; i++)
	{
		memset(&jobs[i], 0, sizeof(GenieJob));
		jobs[i].kind = GENIE_JOB_TOP;
		jobs[i].image = image;
		jobs[i].n_tiles = image->n_tiles;
		jobs[i].query.n_ranges = (uint32_t) queries[i].size();
		jobs[i].query.ranges = queries[i].data();
		jobs[i].query.max_count = max_count;
		jobs[i].k = k;
		jobs[i].min_key = 1;
		jobs[i].out = &hits[i * k];
	}
}

double
run_ms(GenieEngine *engine, std::vector<GenieJob> &jobs, size_t first, size_t n)
{
	const double begin = seconds();

	for (size_t done = 0; done < n; done += BATCH)
	{
		const GenieStatus status = engine->ops->run(engine, (uint32_t) std::min<size_t>(n - done, BATCH),
													&jobs[first + done]);

		if (status != GENIE_OK || jobs[first + done].status != GENIE_OK)
		{
			printf("run failed: status %d, %d: %s\n", (int) status, (int) jobs[first + done].status, engine->error);
			exit(1);
		}
	}
	return (seconds() - begin) * 1000;
}

/* the dimensions' first ranks, where the segment's loader would give its image codes */
static std::vector<uint32_t>
code_dimensions(const Rows &rows)
{
	std::vector<uint32_t> first(rows.first_rank);

	if (!first.empty())
		first.pop_back();
	if (!genie_image_wants_codes((uint32_t) first.size(), first.data(), rows.n_ranks, rows.shape.n_slots,
								 rows.shape.n_objects, rows.before.back()))
		first.clear();
	return first;
}

Subject::Subject(const Shape &shape, Arena &arena) :
	rows_seconds(seconds()), rows(shape), image_seconds(seconds()),
	image(
		arena, shape.n_objects, rows.n_ranks, [&](uint32_t t) { return rows.lists(t); }, false, code_dimensions(rows))
{
	Random		random(4711);

	rows_seconds = image_seconds - rows_seconds;
	image_seconds = seconds() - image_seconds;
	for (uint32_t i = 0; i < MANY; i++)
		queries.push_back(rows.query(random, false));
	for (uint32_t i = 0; i < FEW; i++)
		exact.push_back(rows.query(random, true));
	for (const std::vector<uint32_t> &tile : rows.tiles)
		tiles.push_back(tile.data());
}

std::vector<GenieHit>
Subject::plain_answer(const Ranges &ranges, uint32_t k) const
{
	const Ranges slots = rows.by_slot(ranges);
	std::vector<std::vector<GenieHit>> found(rows.n_tiles());
	std::vector<GenieHit> hits;

	parallel(rows.n_tiles(), [&](uint32_t t) {
		const uint32_t n = rows.tile_objects(t);
		std::vector<uint32_t> counts(n, 0);

		for (uint32_t s = 0; s < rows.shape.n_slots; s++)
			for (uint32_t i = 0; i < n; i++)
			{
				const uint32_t rank = rows.tiles[t][(size_t) s * n + i];

				if (rows.has_dimensions())
					counts[i] += rank - slots[s].first < slots[s].end - slots[s].first;
				else
					counts[i] += std::any_of(slots.begin(), slots.end(), [=](const GenieRankRange &range) {
						return rank - range.first < range.end - range.first;
					});
			}
		for (uint32_t i = 0; i < n; i++)
			if (counts[i] > 0)
				found[t].push_back(GenieHit{counts[i], t * GENIE_TILE_OBJECTS + i});
	});
	for (const std::vector<GenieHit> &tile : found)
		hits.insert(hits.end(), tile.begin(), tile.end());
	k = (uint32_t) std::min<size_t>(k, hits.size());
	std::partial_sort(hits.begin(), hits.begin() + k, hits.end(), [](const GenieHit &a, const GenieHit &b) {
		return a.key != b.key ? a.key > b.key : a.object < b.object;
	});
	hits.resize(k);
	return hits;
}

BenchData
Subject::data() const
{
	return BenchData{rows.shape.n_objects,  rows.shape.n_slots, tiles.data(),
					 rows.has_dimensions(), inverted.data(),    inverted.size()};
}

const std::vector<uint32_t> &
Subject::lists()
{
	if (inverted.empty())
		inverted = inverted_lists(rows);
	return inverted;
}

void
Subject::forget_lists()
{
	std::vector<uint32_t>().swap(inverted);
}

/* ---- competitors on the GPU ---- */

void
check_rival(const char *error)
{
	if (error != nullptr)
	{
		printf("a competitor failed: %s\n", error);
		exit(1);
	}
}

RivalRun
run_scan(const BenchGpu *rivals, const Rows &rows, const std::vector<Ranges> &queries, size_t n, uint32_t n_objects)
{
	RivalRun	run = {0, std::vector<GenieHit>(n * rows.shape.k), std::vector<uint32_t>(n)};
	Ranges		flat;
	BenchBatch	batch = {};

	for (size_t q = 0; q < n; q++)
	{
		const Ranges slots = rows.by_slot(queries[q]);

		flat.insert(flat.end(), slots.begin(), slots.end());
	}
	batch.n_queries = (uint32_t) n;
	batch.n_ranges = rows.shape.n_slots;
	batch.ranges = flat.data();
	batch.n_objects = n_objects;
	batch.k = rows.shape.k;
	batch.hits = run.hits.data();
	batch.n_hits = run.n_hits.data();
	check_rival(rivals->scan(&batch, &run.ms));
	return run;
}

RivalRun
run_count(const BenchGpu *rivals, const Rows &rows, const std::vector<Ranges> &queries, size_t n)
{
	RivalRun	run = {0, std::vector<GenieHit>(n * rows.shape.k), std::vector<uint32_t>(n)};
	std::vector<BenchItem> items;
	BenchBatch	batch = {};

	for (size_t q = 0; q < n; q++)
		for (const GenieRankRange &range : queries[q])
			items.push_back(BenchItem{(uint32_t) q, rows.before[range.first], rows.before[range.end]});
	batch.n_queries = (uint32_t) n;
	batch.n_items = (uint32_t) items.size();
	batch.items = items.data();
	batch.k = rows.shape.k;
	batch.hits = run.hits.data();
	batch.n_hits = run.n_hits.data();
	check_rival(rivals->count(&batch, &run.ms));
	return run;
}

bool
equivalent_hits(std::vector<GenieHit> hits, const GenieHit *best, uint32_t n_best)
{
	if (hits.size() != n_best)
		return false;
	std::sort(hits.begin(), hits.end(), [](const GenieHit &a, const GenieHit &b) {
		return a.key != b.key ? a.key > b.key : a.object < b.object;
	});
	for (uint32_t i = 0; i < n_best; i++)
		if (hits[i].key != best[i].key || (best[i].key > best[n_best - 1].key && hits[i].object != best[i].object))
			return false;
	return true;
}
