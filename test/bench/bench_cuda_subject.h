/*
 * bench_cuda_subject.h
 *	  A shape made ready: its rows, image, queries; and each engine and competitor as a function of them.
 */
#ifndef BENCH_CUDA_SUBJECT_H
#define BENCH_CUDA_SUBJECT_H

#include "bench_cuda_runs.h"

/* the jobs of queries, and where their answers go */
struct Jobs
{
	Jobs(const GenieSegmentImage *image, uint32_t max_count, const std::vector<Ranges> &queries, size_t n, uint32_t k);

	std::vector<GenieJob> jobs;
	std::vector<GenieHit> hits;
};

/* One run's milliseconds, in batches of BATCH; ends the program if it fails. */
extern double run_ms(GenieEngine *engine, std::vector<GenieJob> &jobs, size_t first, size_t n);

class Subject
{
public:
	Subject(const Shape &shape, Arena &arena);

	/* the answer by comparing each object's keywords with each interval */
	std::vector<GenieHit> plain_answer(const Ranges &ranges, uint32_t k) const;

	/* the data that the competitors on the GPU read; lists only once they are made */
	BenchData	data() const;

	/* makes them when they are first asked for */
	const std::vector<uint32_t> &lists();

	void		forget_lists();

	double		rows_seconds;
	Rows		rows;
	double		image_seconds;
	TestImage	image;
	std::vector<Ranges> queries;	/* MANY of them */
	std::vector<Ranges> exact;	/* FEW of them */

	static constexpr uint32_t MANY = 16384;
	static constexpr uint32_t FEW = 16;

private:
	std::vector<uint32_t> inverted;
	std::vector<const uint32_t *> tiles;
};

/* A competitor on the GPU: the first n of queries over the first n_objects, with its hits. */
struct RivalRun
{
	double		ms;
	std::vector<GenieHit> hits;	/* k a query */
	std::vector<uint32_t> n_hits;
};

extern RivalRun run_scan(const BenchGpu *rivals, const Rows &rows, const std::vector<Ranges> &queries, size_t n,
						 uint32_t n_objects);
extern RivalRun run_count(const BenchGpu *rivals, const Rows &rows, const std::vector<Ranges> &queries, size_t n);

/* Ends the program if there is an error. */
extern void check_rival(const char *error);

/* Are these the best, whichever of those that tie with the last? */
extern bool equivalent_hits(std::vector<GenieHit> hits, const GenieHit *best, uint32_t n_best);

#endif							/* BENCH_CUDA_SUBJECT_H */
