/*
 * bench_cuda_cpu.cpp
 *	  cpu-idx, and the CPU's ceilings.
 *
 * The ceilings' loops have a version for each instruction set, chosen when the program starts (GCC's target_clones).
 */
#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

#include "bench_cuda_cpu.h"

std::vector<uint32_t>
inverted_lists(const Rows &rows)
{
	std::vector<uint32_t> lists(rows.before.back());
	std::vector<uint64_t> ends(rows.before.begin(), rows.before.end() - 1);
	const uint32_t n_slots = rows.shape.n_slots;

	/* a dimension's lists are its own, so threads take one each; otherwise one thread goes through the objects */
	parallel(rows.has_dimensions() ? n_slots : 1, [&](uint32_t s) {
		for (uint32_t t = 0; t < rows.n_tiles(); t++)
		{
			const uint32_t *ranks = rows.tiles[t].data();
			const uint32_t n = rows.tile_objects(t);

			for (uint32_t i = 0; i < n; i++)
				for (uint32_t j = s; j < (rows.has_dimensions() ? s + 1 : n_slots); j++)
					lists[ends[ranks[(size_t) j * n + i]]++] = t * GENIE_TILE_OBJECTS + i;
		}
	});
	return lists;
}

std::vector<GenieHit>
cpu_index_search(const Rows &rows, const std::vector<uint32_t> &lists, const Ranges &ranges, uint32_t k,
				 std::vector<GenieHit> &counters)
{
	const uint32_t n = rows.shape.n_objects;

	counters.resize(n);
	for (uint32_t i = 0; i < n; i++)
		counters[i] = GenieHit{0, i};
	for (const GenieRankRange &range : ranges)
		for (uint64_t i = rows.before[range.first]; i < rows.before[range.end]; i++)
			counters[lists[i]].key++;
	k = std::min(k, n);
	std::nth_element(counters.begin(), counters.begin() + (k - 1), counters.end(),
					 [](const GenieHit &a, const GenieHit &b) { return a.key > b.key; });

	std::vector<GenieHit> hits;

	std::copy_if(counters.begin(), counters.begin() + k, std::back_inserter(hits),
				 [](const GenieHit &hit) { return hit.key > 0; });
	return hits;
}

/* ---- ceilings ---- */

constexpr uint32_t REPEATS = 25;
constexpr double SECONDS_EACH = 0.02;
constexpr size_t COPY_BYTES = (size_t) 128 << 20;
constexpr uint32_t COUNTERS = 16384;
constexpr uint32_t POSTINGS = 4096;
constexpr uint32_t LANE_ROWS = 64;
constexpr uint32_t LANE_ROUNDS = 4096;
constexpr uint32_t LANE_STEP = 8;
constexpr uint32_t LANE_PLANES = 8;

typedef uint64_t Lanes __attribute__((vector_size(64)));

#define BENCH_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))

BENCH_CLONES static void
count_postings(const uint16_t *postings, uint8_t *counters)
{
	for (uint32_t i = 0; i < POSTINGS; i += 8)
	{
		counters[postings[i]]++;
		counters[postings[i + 1]]++;
		counters[postings[i + 2]]++;
		counters[postings[i + 3]]++;
		counters[postings[i + 4]]++;
		counters[postings[i + 5]]++;
		counters[postings[i + 6]]++;
		counters[postings[i + 7]]++;
	}
}

/* low and a and b added: their sum stays, their carry goes to high */
#define BENCH_ADD(high, low, a, b) \
	do \
	{ \
		const Lanes a_ = (a); \
		const Lanes b_ = (b); \
		const Lanes c_ = (low); \
		(low) = a_ ^ b_ ^ c_; \
		(high) = (a_ & b_) | (c_ & (a_ | b_)); \
	} \
	while (0)

BENCH_CLONES static void
add_lanes(const Lanes *rows, const uint8_t *codes, Lanes *out)
{
	Lanes		planes[LANE_PLANES] = {};

	for (uint32_t i = 0; i < LANE_ROUNDS; i++, codes += LANE_STEP)
	{
		Lanes		two[4];
		Lanes		four[2];
		Lanes		carry;

		BENCH_ADD(two[0], planes[0], rows[codes[0]], rows[codes[1]]);
		BENCH_ADD(two[1], planes[0], rows[codes[2]], rows[codes[3]]);
		BENCH_ADD(four[0], planes[1], two[0], two[1]);
		BENCH_ADD(two[2], planes[0], rows[codes[4]], rows[codes[5]]);
		BENCH_ADD(two[3], planes[0], rows[codes[6]], rows[codes[7]]);
		BENCH_ADD(four[1], planes[1], two[2], two[3]);
		BENCH_ADD(carry, planes[2], four[0], four[1]);
		for (uint32_t p = 3; p < LANE_PLANES; p++)
		{
			const Lanes sum = planes[p] ^ carry;

			carry &= planes[p];
			planes[p] = sum;
		}
	}
	for (uint32_t p = 1; p < LANE_PLANES; p++)
		planes[0] ^= planes[p];
	*out ^= planes[0];
}

/* What each thread does between looks at the clock, and how much that is; made by the thread that does it. */
typedef std::function<double()> Work;

static double
best_rate(uint32_t n_threads, const std::function<Work(uint32_t thread)> &make)
{
	double		best = 0;

	for (uint32_t r = 0; r < REPEATS; r++)
	{
		std::vector<double> rates(n_threads, 0);
		std::vector<std::thread> threads;
		double		sum = 0;

		for (uint32_t i = 0; i < n_threads; i++)
			threads.emplace_back([&, i]() {
				const Work	work = make(i);
				double		done = 0;
				double		begin;

				(void) work();
				begin = seconds();
				while (seconds() - begin < SECONDS_EACH)
					done += work();
				rates[i] = done / (seconds() - begin);
			});
		for (std::thread &thread : threads)
			thread.join();
		for (const double rate : rates)
			sum += rate;
		best = std::max(best, sum);
	}
	return best;
}

/* a copy within memory of its own */
static Work
copy_work(uint32_t n_threads)
{
	const size_t n = COPY_BYTES / std::min(n_threads, 8u);
	const auto	memory = std::make_shared<std::vector<uint8_t>>(2 * n, (uint8_t) 0x5A);

	return [=]() {
		memcpy(memory->data() + n, memory->data(), n);
		return 2.0 * (double) n;
	};
}

static Work
count_work(uint32_t thread)
{
	const auto	postings = std::make_shared<std::vector<uint16_t>>();
	const auto	counters = std::make_shared<std::vector<uint8_t>>(COUNTERS);
	Random		random(thread);

	for (uint32_t i = 0; i < POSTINGS; i++)
		postings->push_back((uint16_t) random.below(COUNTERS));
	return [=]() {
		for (uint32_t i = 0; i < 64; i++)
			count_postings(postings->data(), counters->data());
		return 64.0 * POSTINGS;
	};
}

static Work
lanes_work(uint32_t thread)
{
	struct Table
	{
		Lanes		rows[LANE_ROWS];
		Lanes		sum;
		uint8_t		codes[LANE_ROUNDS * LANE_STEP];
	};
	const auto	table = std::make_shared<Table>();
	Random		random(thread);

	for (uint32_t r = 0; r < LANE_ROWS; r++)
		for (uint32_t i = 0; i < 8; i++)
			table->rows[r][i] = random.next();
	for (uint8_t &code : table->codes)
		code = (uint8_t) random.below(LANE_ROWS);
	table->sum = Lanes{};
	return [=]() {
		add_lanes(table->rows, table->codes, &table->sum);
		return (double) LANE_ROUNDS * LANE_STEP * sizeof(Lanes) * 8;
	};
}

BenchCpuCeilings
cpu_ceilings(uint32_t n_threads)
{
	BenchCpuCeilings out;

	out.copy_bytes = best_rate(n_threads, [=](uint32_t) { return copy_work(n_threads); });
	out.increments = best_rate(n_threads, count_work);
	out.adder_compares = best_rate(n_threads, lanes_work);
	return out;
}
