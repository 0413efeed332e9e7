/*
 * genie_cuda_data.cpp
 *	  Random numbers, images made from lists, and opening the library.
 */
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "genie_cuda_data.h"
#include "genie_engines.h"

extern "C" {
#include "genie_engine_cpu.h"
}

uint64_t	image_group_bytes;
GenieImageForm image_form = GENIE_IMAGE_FULL;

static void
fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(2);
}

double
seconds()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void
parallel(uint32_t n, const std::function<void(uint32_t)> &body)
{
	std::atomic<uint32_t> next(0);
	std::vector<std::thread> threads;
	const uint32_t n_threads = std::min(n, std::max(1u, std::thread::hardware_concurrency()));

	for (uint32_t i = 0; i < n_threads; i++)
		threads.emplace_back([&]() {
			for (uint32_t j; (j = next++) < n;)
				body(j);
		});
	for (std::thread &thread : threads)
		thread.join();
}

Draw::Draw(const std::vector<double> &weights) : table(65536)
{
	double		sum = 0;
	double		below = 0;
	size_t		at = 0;

	for (const double weight : weights)
		sum += weight;
	for (size_t i = 0; i < weights.size(); i++)
	{
		below += weights[i] / sum;
		while (at < table.size() && (at + 0.5) / (double) table.size() < below)
			table[at++] = (uint32_t) i;
	}
	while (at < table.size())
		table[at++] = (uint32_t) weights.size() - 1;
}

void
TileLists::set(uint32_t n_objects_, std::vector<uint64_t> &pairs)
{
	n_objects = n_objects_;
	sizes.assign(n_objects, 0);
	std::sort(pairs.begin(), pairs.end());
	locals.reserve(pairs.size());
	for (const uint64_t pair : pairs)
	{
		const uint32_t rank = (uint32_t) (pair >> 16);

		if (ranks.empty() || ranks.back() != rank)
		{
			ranks.push_back(rank);
			starts.push_back((uint32_t) locals.size());
		}
		locals.push_back((uint16_t) pair);
		sizes[pair & 0xFFFF]++;
	}
	starts.push_back((uint32_t) locals.size());
}

Arena::Arena(size_t bytes_) :
	memory((uint8_t *) mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)), bytes(bytes_)
{
	if (memory == MAP_FAILED)
		fail("out of memory for images");
}

Arena::~Arena()
{
	munmap(memory, bytes);
}

void *
Arena::take(size_t n)
{
	void	   *taken = memory + used;

	n = (n + 63) / 64 * 64;
	if (used + n > bytes)
		fail("the arena for images is too small");
	used += n;
	return taken;
}

/* An id that no image has had. */
static uint64_t
new_image_id()
{
	static std::atomic<uint64_t> next_id(1);

	return next_id++;
}

TestImage::TestImage(Arena &arena, uint32_t n_objects, uint32_t n_keywords, const Maker &maker, bool keep_lists,
					 const std::vector<uint32_t> &first_ranks)
{
	const uint32_t n_tiles = (n_objects + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS;
	std::vector<GenieTilePlan> plans(n_tiles);
	std::vector<uint32_t> n_in_group;
	std::vector<void *> memories;
	std::vector<uint64_t> bytes;
	/* codes alone only where there are codes */
	const GenieImageForm form = first_ranks.empty() && image_form == GENIE_IMAGE_CODES ? GENIE_IMAGE_FULL : image_form;
	const bool	has_codes = !first_ranks.empty() && form != GENIE_IMAGE_TIGHT;
	GenieImagePlan plan =
		{n_keywords,        0, UINT32_MAX, 0, image_group_bytes, form, has_codes ? (uint32_t) first_ranks.size() : 0,
		 first_ranks.data()};
	std::atomic<uint64_t> postings(0);

	lists.resize(n_tiles);
	parallel(n_tiles, [&](uint32_t t) {
		lists[t] = maker(t);
		plans[t].n_objects = lists[t].n_objects;
		for (size_t i = 0; i < lists[t].ranks.size(); i++)
		{
			const uint32_t n = lists[t].starts[i + 1] - lists[t].starts[i];

			if (form == GENIE_IMAGE_TIGHT)
				genie_tile_plan_add_tight(&plans[t], &lists[t].locals[lists[t].starts[i]], n);
			else
				genie_tile_plan_add(&plans[t], n);
		}
		postings += lists[t].locals.size();
	});
	n_postings = postings;
	for (const TileLists &tile : lists)
		for (const uint32_t size : tile.sizes)
		{
			plan.min_size = std::min(plan.min_size, size);
			max_size = std::max(max_size, size);
		}
	plan.max_size = max_size;
	plan.size_width = max_size == plan.min_size ? 0 : max_size - plan.min_size <= UINT8_MAX ? 1 : 2;

	for (uint32_t first = 0; first < n_tiles; first += n_in_group.back())
	{
		uint64_t	n_bytes_of_group;
		const uint32_t n = genie_image_group_plan(&plan, plans.data(), first, n_tiles, &n_bytes_of_group);

		if (n == 0)
			fail("a tile does not fit an image");
		n_in_group.push_back(n);
		bytes.push_back(n_bytes_of_group);
		memories.push_back(arena.take(n_bytes_of_group));
		n_bytes += n_bytes_of_group;
	}
	parallel((uint32_t) n_in_group.size(), [&](uint32_t g) {
		uint32_t	first = 0;
		std::vector<GenieTileFill> fills(n_in_group[g]);

		for (uint32_t i = 0; i < g; i++)
			first += n_in_group[i];
		genie_image_group_begin(memories[g], bytes[g], &plan, &plans[first], first, n_in_group[g], fills.data());
		for (uint32_t t = 0; t < n_in_group[g]; t++)
		{
			const TileLists &tile = lists[first + t];

			for (size_t i = 0; i < tile.ranks.size(); i++)
				if (!genie_image_add(&fills[t], t, tile.ranks[i], &tile.locals[tile.starts[i]],
									 tile.starts[i + 1] - tile.starts[i]))
					fail("an image could not be filled");
			genie_image_sizes(&fills[t], t, tile.sizes.data());
		}
		if (!genie_image_group_finish(fills.data(), n_in_group[g]))
			fail("an image could not be finished");
	});

	live.assign((size_t) n_tiles * GENIE_TILE_WORDS, 0);
	for (uint32_t i = 0; i < n_objects; i++)
		set_live(i, true);
	for (void *memory : memories)
		groups.push_back((const GenieImageGroup *) memory);
	image.id = new_image_id();
	image.n_objects = n_objects;
	image.n_keywords = n_keywords;
	image.n_tiles = n_tiles;
	image.n_groups = (uint32_t) groups.size();
	image.groups = groups.data();
	image.live = live.data();
	image.live_version = 1;
	if (has_codes)
	{
		totals.assign((size_t) n_keywords + 1, 0);
		for (const TileLists &tile : lists)
			for (size_t i = 0; i < tile.ranks.size(); i++)
				totals[tile.ranks[i] + 1] += tile.starts[i + 1] - tile.starts[i];
		for (uint32_t rank = 0; rank < n_keywords; rank++)
			totals[rank + 1] += totals[rank];
		image.postings_before = totals.data();
	}
	if (!keep_lists)
		std::vector<TileLists>().swap(lists);
}

void
TestImage::set_live(uint32_t object, bool is_live)
{
	const uint64_t bit = UINT64_C(1) << (object % 64);

	live[object / 64] = is_live ? live[object / 64] | bit : live[object / 64] & ~bit;
}

const GenieImageGroup *
TestImage::head_of(uint32_t group, std::vector<uint8_t> &memory) const
{
	const GenieImageGroup *whole = image.groups[group];
	const size_t n_first = sizeof(GenieImageGroup) + whole->n_tiles * sizeof(GenieImageTile);
	const size_t n_dimensions = whole->n_dimensions * sizeof(GenieCodeDimension);
	const size_t n_strips = whole->n_strips * sizeof(GenieCodeStrip);
	GenieImageGroup *head;

	memory.resize(n_first + n_dimensions + n_strips);
	memcpy(memory.data(), whole, n_first);
	memcpy(memory.data() + n_first, genie_image_dimensions(whole), n_dimensions);
	memcpy(memory.data() + n_first + n_dimensions, genie_image_strips(whole), n_strips);
	head = (GenieImageGroup *) memory.data();
	head->magic = GENIE_IMAGE_HEAD_MAGIC;
	head->dimensions = n_first;
	head->strips = n_first + n_dimensions;
	return head;
}

GenieSegmentImage
TestImage::first_groups(uint32_t n) const
{
	GenieSegmentImage part = image;

	if (n < image.n_groups)
	{
		part.n_groups = n;
		part.n_tiles = image.groups[n]->first_tile;
		part.n_objects = part.n_tiles * GENIE_TILE_OBJECTS;
	}
	part.id = new_image_id();
	return part;
}

/* Makes an image; a function of the generator and the object's number adds its keywords, which may repeat. */
static std::unique_ptr<TestImage>
make_objects(Arena &arena, uint64_t seed, uint32_t n_objects, uint32_t n_keywords,
			 const std::function<void(Random &, uint32_t, std::vector<uint32_t> &)> &add)
{
	return std::unique_ptr<TestImage>(new TestImage(
		arena, n_objects, n_keywords,
		[=](uint32_t t) {
			Random		random(seed * 1000003 + t);
			const uint32_t first = t * GENIE_TILE_OBJECTS;
			const uint32_t n = std::min(n_objects - first, GENIE_TILE_OBJECTS);
			std::vector<uint32_t> keywords;
			std::vector<uint64_t> pairs;
			TileLists	lists;

			for (uint32_t i = 0; i < n; i++, keywords.clear())
			{
				add(random, first + i, keywords);
				for (const uint32_t keyword : keywords)
					pairs.push_back((uint64_t) keyword << 16 | i);
			}
			std::sort(pairs.begin(), pairs.end());
			pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
			lists.set(n, pairs);
			return lists;
		},
		false));
}

std::unique_ptr<TestImage>
make_sets(Arena &arena, uint64_t seed, uint32_t n_objects, uint32_t n_keywords, uint32_t min_size, uint32_t max_size,
		  const std::function<uint32_t(Random &)> &draw)
{
	return make_objects(arena, seed, n_objects, n_keywords,
						[=](Random &random, uint32_t, std::vector<uint32_t> &keywords) {
							for (uint32_t j = min_size + random.below(max_size - min_size + 1); j > 0; j--)
								keywords.push_back(draw(random));
						});
}

std::unique_ptr<TestImage>
make_uniform_sets(Arena &arena, uint64_t seed, uint32_t n_objects, uint32_t n_keywords, uint32_t min_size,
				  uint32_t max_size)
{
	return make_sets(arena, seed, n_objects, n_keywords, min_size, max_size,
					 [=](Random &random) { return random.below(n_keywords); });
}

/* Draws ranks with frequencies of roughly 1 / rank. */
std::unique_ptr<TestImage>
make_skewed_sets(Arena &arena, uint64_t seed, uint32_t n_objects, uint32_t n_keywords, uint32_t min_size,
				 uint32_t max_size)
{
	return make_sets(arena, seed, n_objects, n_keywords, min_size, max_size,
					 [=](Random &random) { return random.below(1 + random.below(1 + random.below(n_keywords))); });
}

std::unique_ptr<TestImage>
make_runs(Arena &arena, uint64_t seed, uint32_t n_objects, uint32_t n_keywords,
		  const std::function<uint32_t(Random &)> &size, uint32_t min_size, uint32_t max_size)
{
	return make_objects(arena, seed, n_objects, n_keywords,
						[=](Random &random, uint32_t object, std::vector<uint32_t> &keywords) {
							const uint32_t n = object > 1 ? size(random) : object == 0 ? min_size : max_size;
							const uint32_t first = random.below(n_keywords - n + 1);

							for (uint32_t j = 0; j < n; j++)
								keywords.push_back(first + j);
						});
}

void
kill_some(Random &random, TestImage &image, uint32_t one_in)
{
	for (uint32_t i = 0; i < image.image.n_objects; i++)
		if (random.below(one_in) == 0)
			image.set_live(i, false);
	image.live_changed();
}

static const GenieEngineLibrary *
library_of(const char *path)
{
	void	   *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const GenieEngineLibrary *library;

	if (handle == nullptr)
		fail(dlerror());
	library = (const GenieEngineLibrary *) dlsym(handle, GENIE_ENGINE_LIBRARY_SYMBOL);
	if (library == nullptr || library->magic != GENIE_ENGINE_LIBRARY_MAGIC || library->abi != GENIE_ENGINE_ABI)
		fail("the library is not an engine of this ABI");
	return library;
}

uint32_t
library_devices(const char *path)
{
	return library_of(path)->n_devices();
}

GenieEngine *
open_library(const char *path, GenieEngineOptions options, GenieStatus *status, uint32_t n_engines, uint64_t cut_bytes,
			 const GenieRival *rival)
{
	const GenieEngineLibrary *library = library_of(path);
	GenieEngine *engine = nullptr;
	char		error[GENIE_ENGINE_ERROR_MAX] = "";
	std::vector<GenieEngine *> engines;

	for (uint32_t i = 0; i < n_engines; i++)
	{
		options.device = i % std::max(1u, library->n_devices());
		*status = library->open(&options, &engine, error);
		if (*status != GENIE_OK)
		{
			printf("the engine did not open (status %d): %s\n", (int) *status, error);
			return nullptr;
		}
		engines.push_back(rival == nullptr ? engine : genie_multiload_open(engine, rival));
	}
	return n_engines == 1 ? engines[0] : genie_engines_open(n_engines, engines.data(), cut_bytes);
}

double
run_on_cpu(std::vector<GenieJob> &jobs, uint32_t n_threads)
{
	const double begin = seconds();
	const uint32_t n = std::min<uint32_t>(n_threads, (uint32_t) jobs.size());

	parallel(n, [&](uint32_t i) {
		const size_t first = jobs.size() * i / n;
		const size_t end = jobs.size() * (i + 1) / n;
		const size_t size = (genie_cpu_engine_size() + 63) / 64 * 64;
		void	   *memory = aligned_alloc(64, size);
		GenieEngine *engine;

		memset(memory, 0, size);
		engine = genie_cpu_engine_open(memory);
		engine->ops->set_kernels(engine, GENIE_KERNELS_TILES);
		if (engine->ops->run(engine, (uint32_t) (end - first), jobs.data() + first) != GENIE_OK)
			fail("the CPU engine failed");
		engine->ops->close(engine);
		free(memory);
	});
	return seconds() - begin;
}
