/*
 * genie_cuda_data.h
 *	  For tests and benchmarks of the CUDA engine: random numbers, images made from lists, and opening the library.
 */
#ifndef GENIE_CUDA_DATA_H
#define GENIE_CUDA_DATA_H

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "genie_multiload.h"

/* A small generator (splitmix64): the same numbers from the same seed everywhere. */
class Random
{
public:
	explicit Random(uint64_t seed) : state(seed) {}

	uint64_t next()
	{
		uint64_t	z = (state += UINT64_C(0x9E3779B97F4A7C15));

		z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
		return z ^ (z >> 31);
	}

	/* 0 .. n - 1 */
	uint32_t below(uint32_t n)
	{
		return (uint32_t) ((next() >> 32) * n >> 32);
	}

	/* 0 .. 1 */
	double unit()
	{
		return (double) (next() >> 11) / (double) (UINT64_C(1) << 53);
	}

private:
	uint64_t	state;
};

/* Draws 0 .. n - 1 by weights from random bits, by a table of 65,536 entries; weights have that precision. */
class Draw
{
public:
	explicit Draw(const std::vector<double> &weights);

	uint32_t at(uint16_t bits) const
	{
		return table[bits];
	}

private:
	std::vector<uint32_t> table;
};

/* The lists of a tile: ranks ascending, locals ascending inside each. */
struct TileLists
{
	uint32_t	n_objects = 0;
	std::vector<uint32_t> ranks;
	std::vector<uint32_t> starts;	/* one more than ranks */
	std::vector<uint16_t> locals;
	std::vector<uint32_t> sizes;	/* keywords an object */

	/* Takes pairs (rank, local), packed as rank << 16 | local, in any order, each once. */
	void		set(uint32_t n_objects_, std::vector<uint64_t> &pairs);
};

/* A block of memory in which images are made, like the server's shared memory. */
class Arena
{
public:
	explicit Arena(size_t bytes_);
	~Arena();
	Arena(const Arena &) = delete;
	Arena &operator=(const Arena &) = delete;

	void	   *take(size_t n);
	void reset()
	{
		used = 0;
	}

	uint8_t    *const memory;
	const size_t bytes;

private:
	size_t		used = 0;
};

/* A segment's image and the lists that it was made of. */
class TestImage
{
public:
	typedef std::function<TileLists(uint32_t tile)> Maker;

	/* maker is called from several threads.  first_ranks: those of the dimensions, if the image is to have codes. */
	TestImage(Arena &arena, uint32_t n_objects, uint32_t n_keywords, const Maker &maker, bool keep_lists,
			  const std::vector<uint32_t> &first_ranks = std::vector<uint32_t>());

	void		set_live(uint32_t object, bool is_live);

	/* Tells engines that the live bitmap has changed. */
	void live_changed()
	{
		image.live_version++;
	}

	/* The head of a group (genie_image.h), in memory. */
	const GenieImageGroup *head_of(uint32_t group, std::vector<uint8_t> &memory) const;

	/* The first n groups as an image of its own, with fewer objects; valid as long as this one. */
	GenieSegmentImage first_groups(uint32_t n) const;

	GenieSegmentImage image;
	std::vector<TileLists> lists;	/* if they are kept */
	uint64_t	n_postings = 0;
	uint64_t	n_bytes = 0;	/* of all groups */
	uint32_t	max_size = 0;

private:
	std::vector<const GenieImageGroup *> groups;
	std::vector<uint64_t> live;
	std::vector<uint64_t> totals;
};

/* An image whose objects have min_size to max_size keywords each, drawn by draw; equal ones count once. */
extern std::unique_ptr<TestImage> make_sets(Arena &arena, uint64_t seed, uint32_t n_objects, uint32_t n_keywords,
											uint32_t min_size, uint32_t max_size,
											const std::function<uint32_t(Random &)> &draw);

/* The same with keywords of equal frequency, and with frequencies of roughly 1 / rank. */
extern std::unique_ptr<TestImage> make_uniform_sets(Arena &arena, uint64_t seed, uint32_t n_objects,
													uint32_t n_keywords, uint32_t min_size, uint32_t max_size);
extern std::unique_ptr<TestImage> make_skewed_sets(Arena &arena, uint64_t seed, uint32_t n_objects, uint32_t n_keywords,
												   uint32_t min_size, uint32_t max_size);

/*
 * An image whose objects have a run of ranks as keywords.  size draws how many, from min_size to max_size; both occur.
 */
extern std::unique_ptr<TestImage> make_runs(Arena &arena, uint64_t seed, uint32_t n_objects, uint32_t n_keywords,
											const std::function<uint32_t(Random &)> &size, uint32_t min_size,
											uint32_t max_size);

/* Makes about one object in one_in dead. */
extern void kill_some(Random &random, TestImage &image, uint32_t one_in);

/* Calls body(0) .. body(n - 1) in as many threads as there are processors. */
extern void parallel(uint32_t n, const std::function<void(uint32_t)> &body);

/*
 * Opens the library as the worker does.  Returns NULL and prints why if it cannot, for example without a GPU.  Several
 * engines are one, which cuts images of cut_bytes; their devices are the first ones, over and over if there are fewer.
 * With a rival, what does not fit is loaded in pieces.
 */
extern GenieEngine *open_library(const char *path, GenieEngineOptions options, GenieStatus *status,
								 uint32_t n_engines = 1, uint64_t cut_bytes = 1, const GenieRival *rival = nullptr);

extern uint32_t library_devices(const char *path);

/* What groups of images that are made from now on aim at; 0: as much as in earnest. */
extern uint64_t image_group_bytes;

/* The form of images that are made from now on and have codes. */
extern GenieImageForm image_form;

/* Runs the jobs on the CPU engine, by tiles, in n_threads threads; returns the seconds. */
extern double run_on_cpu(std::vector<GenieJob> &jobs, uint32_t n_threads);

extern double seconds();

#endif							/* GENIE_CUDA_DATA_H */
