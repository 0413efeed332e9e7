/*
 * unit_cuda_nearest.cpp
 *	  Estimates for exact search on the GPU against sums of doubles.
 *
 * Rounding decides about pairs whose estimate is within a float's error of the bound; they may be in the answer or not.
 * All other pairs must be in it, or must not.
 */
#include <cmath>
#include <limits>
#include <set>

#include "unit_cuda.h"

constexpr double ROUNDING = 5.9604644775390625e-8;	/* of a float */
constexpr uint32_t GUARDS = 16;		/* places behind the room, which an engine must not write */
constexpr float INFINITE = std::numeric_limits<float>::infinity();
constexpr float NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();

typedef std::pair<uint32_t, uint32_t> Pair;

struct Search
{
	std::vector<float> queries;
	std::vector<float> bounds;
	std::vector<float> rows;
	std::vector<float> terms;
	GenieNearest nearest;
};

enum Wanted
{
	YES,
	NO,
	EITHER
};

static float
number(Random &random)
{
	return ((float) random.below(2000001) - 1000000) / 1000000;
}

/* An estimate in doubles, and how far one in floats may be from it. */
static double
estimate_of(const Search &search, uint32_t query, uint32_t row, double &error)
{
	const GenieNearest &nearest = search.nearest;
	double		sum = 0;
	double		sizes = fabs((double) nearest.terms[row]);

	for (uint32_t d = 0; d < nearest.n_dimensions; d++)
	{
		const double p = nearest.rows[(size_t) row * nearest.n_dimensions + d];
		const double q = nearest.queries[(size_t) query * nearest.n_dimensions + d];
		const double more = nearest.differences ? fabs(p - q) : -2 * p * q;

		sum += more;
		sizes += fabs(more);
	}
	error = (nearest.n_dimensions + 8) * ROUNDING * sizes;
	return nearest.terms[row] + sum;
}

static Wanted
is_wanted(const Search &search, uint32_t query, uint32_t row)
{
	const double bound = search.bounds[query];
	double		error;
	const double estimate = estimate_of(search, query, row, error);

	if (!std::isfinite(estimate) || !std::isfinite(bound))
		return estimate > bound ? NO : YES;
	return estimate > bound + error ? NO : estimate < bound - error ? YES : EITHER;
}

/* Sets bounds such that each query wants some rows.  odd: some elements, terms and bounds are not finite. */
static Search
make_search(Random &random, bool differences, uint32_t n_queries, uint32_t n_rows, uint32_t n_dimensions, bool odd)
{
	Search		search;

	for (uint64_t i = 0; i < (uint64_t) n_queries * n_dimensions; i++)
		search.queries.push_back(number(random));
	for (uint64_t i = 0; i < (uint64_t) n_rows * n_dimensions; i++)
		search.rows.push_back(odd && random.below(5000) == 0 ? NOT_A_NUMBER :
								  odd && random.below(5000) == 0 ? INFINITE :
																   number(random));
	for (uint32_t i = 0; i < n_rows; i++)
		search.terms.push_back(odd && i % 17 == 3     ? -INFINITE :
								   odd && i % 17 == 5 ? INFINITE :
								   odd && i % 17 == 7 ? NOT_A_NUMBER :
														number(random));
	search.bounds.resize(n_queries);
	search.nearest = {differences,           n_dimensions,         n_queries,          n_rows,
					  search.queries.data(), search.bounds.data(), search.rows.data(), search.terms.data()};
	for (uint32_t q = 0; q < n_queries; q++)
	{
		double		error;

		search.bounds[q] = (float) estimate_of(search, q, random.below(n_rows), error);
		for (uint32_t i = 0; i < 8; i++)
			search.bounds[q] = std::min(search.bounds[q], (float) estimate_of(search, q, random.below(n_rows), error));
		if (odd && q % 13 < 3)
			search.bounds[q] = q % 13 == 0 ? INFINITE : q % 13 == 1 ? -INFINITE : NOT_A_NUMBER;
	}
	return search;
}

/* A job, and room for its pairs. */
struct Room
{
	std::vector<GeniePair> pairs;
	GenieJob	job = {};

	Room(const Search &search, uint32_t k) : pairs(k + GUARDS, GeniePair{UINT32_MAX, UINT32_MAX})
	{
		job.kind = GENIE_JOB_NEAREST;
		job.nearest = &search.nearest;
		job.k = k;
		job.out = pairs.data();
		job.status = GENIE_STATUS_RETRY;
	}
};

/* What is wrong with the pairs, which must be all, or as many as there was room for; "": nothing. */
static std::string
wrong_pairs(const Search &search, const Room &room, bool all)
{
	const GenieJob &job = room.job;
	std::set<Pair> found;

	if (job.status != GENIE_OK)
		return "status " + std::to_string((int) job.status) + " (" + cuda->error + ")";
	for (uint32_t i = 0; i < std::min(job.n_hits, job.k); i++)
	{
		const GeniePair &pair = room.pairs[i];

		if (pair.query >= search.nearest.n_queries || pair.row >= search.nearest.n_rows)
			return "a pair that does not exist";
		if (!found.insert(Pair(pair.query, pair.row)).second)
			return "a pair twice";
		if (is_wanted(search, pair.query, pair.row) == NO)
			return "query " + std::to_string(pair.query) + ", row " + std::to_string(pair.row) + " is too far";
	}
	for (uint32_t i = job.k; i < job.k + GUARDS; i++)
		if (room.pairs[i].query != UINT32_MAX || room.pairs[i].row != UINT32_MAX)
			return "something was written behind the room";
	for (uint32_t q = 0; all && q < search.nearest.n_queries; q++)
		for (uint32_t r = 0; r < search.nearest.n_rows; r++)
			if (is_wanted(search, q, r) == YES && found.count(Pair(q, r)) == 0)
				return "query " + std::to_string(q) + ", row " + std::to_string(r) + " is missing";
	return "";
}

static void
run_jobs(std::vector<Room *> rooms)
{
	std::vector<GenieJob> jobs;

	for (const Room *room : rooms)
		jobs.push_back(room->job);
	(void) cuda->ops->run(cuda, (uint32_t) jobs.size(), jobs.data());
	for (size_t i = 0; i < rooms.size(); i++)
		rooms[i]->job = jobs[i];
}

/* A search, in one batch with another one; then alone, with room for half of its pairs. */
static void
check_search(Random &random, bool differences, uint32_t n_queries, uint32_t n_rows, uint32_t n_dimensions, bool odd)
{
	const Search search = make_search(random, differences, n_queries, n_rows, n_dimensions, odd);
	const Search other = make_search(random, !differences, 3, 5, n_dimensions, false);
	const std::string what = std::to_string(n_queries) + " queries, " + std::to_string(n_rows) + " rows, " +
		std::to_string(n_dimensions) + (differences ? " differences" : " products") + (odd ? ", odd" : "");
	Room		room(search, n_queries * n_rows);
	Room		beside(other, 15);
	std::string wrong;

	run_jobs({&room, &beside});
	wrong = wrong_pairs(search, room, true);
	if (wrong.empty())
		wrong = wrong_pairs(other, beside, true);

	Room		little(search, std::max(room.job.n_hits / 2, 1u));

	run_jobs({&little});
	if (wrong.empty())
		wrong = wrong_pairs(search, little, little.job.n_hits <= little.job.k);
	if (wrong.empty() && little.job.n_hits != room.job.n_hits)
		wrong = "with little room another number of pairs";
	report("nearest", what, wrong);
}

void
nearest_cases()
{
	struct Shape
	{
		uint32_t	n_queries;
		uint32_t	n_rows;
		uint32_t	n_dimensions;
	};
	std::vector<Shape> shapes = {{1, 1, 1}, {1, 1, 3}, {1, 300, 127}, {130, 1, 128}, {129, 257, 4}, {40, 70, 1000}};

	if (scale == WHOLE)
		shapes.insert(shapes.end(), {{257, 5000, 128}, {1000, 1000, 65}, {5, 100000, 8}});
	for (const Shape &shape : shapes)
		for (const bool differences : {false, true})
		{
			Random		random(shape.n_rows + shape.n_dimensions);

			if (!is_mine())
				continue;
			check_search(random, differences, shape.n_queries, shape.n_rows, shape.n_dimensions, false);
			check_search(random, differences, shape.n_queries, shape.n_rows, shape.n_dimensions, true);
		}
}

/* A job that cannot be done gets a status and no result. */
void
nearest_failure_case()
{
	Random		random(1);
	const Search search = make_search(random, false, 10, 1000, 16, false);
	Room		room(search, 10000);
	bool		good;

	if (!is_mine())
		return;
	cuda->interrupted = stop_at_once;
	run_jobs({&room});
	cuda->interrupted = NULL;
	good = room.job.status == GENIE_STATUS_CANCELLED;
	report("nearest", "interrupted", good ? "" : "not GENIE_STATUS_CANCELLED");
	cuda->ops->set_memory_limit(cuda, 100000);
	run_jobs({&room});
	cuda->ops->set_memory_limit(cuda, 0);
	good = room.job.status == GENIE_STATUS_NO_ROOM && room.pairs[0].row == UINT32_MAX;
	report("nearest", "that does not fit the device", good ? "" : "not GENIE_STATUS_NO_ROOM");
	run_jobs({&room});
	report("nearest", "after these", wrong_pairs(search, room, true));
}
