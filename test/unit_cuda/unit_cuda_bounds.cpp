/*
 * unit_cuda_bounds.cpp
 *	  Bounds of hits' distances on the GPU: never above the distance, close to the CPU's bounds, and 0 if the vector is
 *	  not
 *	  known; also on devices with little room.
 *
 * Hits must be those of the CPU engine, with or without bounds.
 */
#include <cmath>
#include <limits>

#include "unit_cuda.h"

constexpr float GUARD = -7;			/* in places that an engine must not write */
constexpr uint32_t GUARDS = 8;
constexpr double CLOSE = 1e-4;		/* relative to the CPU's bound */
constexpr double CLOSE_TO_0 = 1e-5; /* relative to the distance, because a bound is a difference */
constexpr uint32_t DIMENSIONS = 8;	/* of images' codes */
constexpr uint32_t VALUES = 12;

static float
element(Random &random)
{
	return (float) (random.unit() * 2 - 1);
}

static GenieValueShape
shape_of(GenieMetric metric, uint32_t n_dimensions)
{
	GenieValueShape shape = {};

	shape.metric = metric;
	shape.n_dimensions = n_dimensions;
	return shape;
}

/* Vectors of objects; some are not known, and some not finite. */
struct Vectors
{
	std::vector<float> elements;
	std::vector<std::vector<uint8_t>> records;
	std::vector<const void *> tiles;
	GenieQuantizedVectors of;

	Vectors(uint64_t id, GenieMetric metric, uint32_t n_dimensions, uint32_t n_objects) :
		of(genie_vectors(id, metric, n_dimensions, n_objects, nullptr))
	{
		const size_t n_bytes = genie_quantized_bytes(n_dimensions);
		Random		random(id);

		for (uint64_t i = 0; i < (uint64_t) n_objects * n_dimensions; i++)
			elements.push_back(i % 997 == 3 ? std::numeric_limits<float>::quiet_NaN() : element(random));
		for (uint32_t i = 0; i < n_objects; i++)
		{
			if (i % GENIE_TILE_OBJECTS == 0)
				records.emplace_back(std::min(n_objects - i, GENIE_TILE_OBJECTS) * n_bytes);

			uint8_t    *record = records.back().data() + i % GENIE_TILE_OBJECTS * n_bytes;

			if (i % 37 == 5)
				genie_quantize_unknown(n_dimensions, record);
			else
				genie_quantize(shape_of(metric, n_dimensions), vector(i), record);
		}
		for (const std::vector<uint8_t> &tile : records)
			tiles.push_back(tile.data());
		of.tiles = tiles.data();
	}
	Vectors(const Vectors &) = delete;

	GenieVector vector(uint32_t object) const
	{
		return GenieVector{&elements[(size_t) object * of.n_dimensions], of.n_dimensions, false};
	}
	bool is_known(uint32_t object) const
	{
		const uint8_t *tile = (const uint8_t *) of.tiles[object / GENIE_TILE_OBJECTS];
		const size_t at = object % GENIE_TILE_OBJECTS * genie_quantized_bytes(of.n_dimensions);

		return std::isfinite(((const GenieQuantized *) (tile + at))->error);
	}
};

/* A query that wants bounds, for a job of the batch. */
struct Asked
{
	const Vectors &vectors;
	std::vector<float> asked;
	std::vector<float> elements;
	std::vector<float> bounds;
	GenieQuantizedQuery quantized;

	Asked(Random &random, const Vectors &vectors_, bool is_odd) : vectors(vectors_)
	{
		const uint32_t n = vectors.of.n_dimensions;

		for (uint32_t i = 0; i < n; i++)
			asked.push_back(element(random));
		if (is_odd)
			asked[n / 2] = std::numeric_limits<float>::infinity();
		elements.resize(genie_quantized_elements(n));
		quantized.elements = elements.data();
		quantized.error = genie_quantized_query(shape_of(vectors.of.metric, n), GenieVector{asked.data(), n, false},
												elements.data());
	}
	Asked(const Asked &) = delete;
};

struct BoundsBatch
{
	Batch		jobs;
	std::vector<std::unique_ptr<Asked>> queries;	/* one a job; NULL: it wants no bounds */
};

/* Adds a job.  vectors is NULL: it wants no bounds. */
static void
add(BoundsBatch &batch, Random &random, const TestImage &image, const Vectors *vectors, uint32_t k)
{
	Job		   &job = add_job(batch.jobs, image, GENIE_JOB_TOP, make_ranges(random, image, Query{DIMENSIONS, 9}));

	job.job.k = k;
	job.job.has_bounds = true;	/* the engine must set it in any case */
	batch.queries.emplace_back();
	if (vectors == nullptr)
		return;
	batch.queries.back().reset(new Asked(random, *vectors, batch.queries.size() % 5 == 4));

	Asked	   &query = *batch.queries.back();

	query.bounds.assign(k + GUARDS, GUARD);
	job.job.vectors = &vectors->of;
	job.job.vector = query.quantized;
	job.job.bounds = query.bounds.data();
}

/* What is wrong with a job's bounds; "": nothing. */
static std::string
wrong_bounds(const Asked &query, const GenieJob &job)
{
	const GenieQuantizedVectors &of = query.vectors.of;
	const GenieHit *hits = (const GenieHit *) job.out;
	const GenieVector asked = {query.asked.data(), of.n_dimensions, false};
	std::vector<float> wanted(job.n_hits + 1);

	genie_quantized_bounds(&of, &query.quantized, hits, job.n_hits, wanted.data());
	for (uint32_t i = 0; i < job.n_hits; i++)
	{
		const uint32_t object = hits[i].object;
		const bool	known = std::isfinite(query.quantized.error) && object < of.n_objects &&
			query.vectors.is_known(object);
		const double measure = known ? genie_vector_measure(of.metric, query.vectors.vector(object), asked) : 0;
		const double bound = query.bounds[i];

		if (!(bound >= 0 && bound <= measure))
			return "hit " + std::to_string(i) + ": " + std::to_string(bound) + ", but the measure is " +
				std::to_string(measure);
		if (fabs(bound - wanted[i]) > CLOSE * wanted[i] + CLOSE_TO_0 * measure)
			return "hit " + std::to_string(i) + ": " + std::to_string(bound) + ", not " + std::to_string(wanted[i]);
	}
	for (uint32_t i = job.k; i < job.k + GUARDS; i++)
		if (query.bounds[i] != GUARD)
			return "something was written behind the room";
	return "";
}

/* Runs the batch on both engines.  has_bounds: all jobs that want bounds must get them; otherwise no job may. */
static std::string
wrong_batch(BoundsBatch &batch, bool has_bounds)
{
	std::vector<std::vector<uint8_t>> cpu_out;
	std::vector<std::vector<uint8_t>> gpu_out;
	std::vector<GenieJob> cpu_jobs = jobs_of(batch.jobs, cpu_out);
	std::vector<GenieJob> gpu_jobs = jobs_of(batch.jobs, gpu_out);

	(void) run_on_cpu(cpu_jobs, 2);
	if (cuda->ops->run(cuda, (uint32_t) gpu_jobs.size(), gpu_jobs.data()) != GENIE_OK)
		return std::string("the batch failed: ") + cuda->error;
	for (size_t i = 0; i < gpu_jobs.size(); i++)
	{
		const GenieJob &job = gpu_jobs[i];
		std::string wrong = difference(cpu_jobs[i], job);

		if (wrong.empty() && cpu_jobs[i].has_bounds)
			wrong = "the CPU engine gives bounds";
		if (wrong.empty() && job.has_bounds != (has_bounds && batch.queries[i] != nullptr))
			wrong = job.has_bounds ? "it has bounds" : "it has no bounds";
		if (wrong.empty() && job.has_bounds)
			wrong = wrong_bounds(*batch.queries[i], job);
		if (!wrong.empty())
			return "job " + std::to_string(i) + ": " + wrong;
	}
	return "";
}

static void
forget(const TestImage &image, const Vectors &vectors)
{
	cuda->ops->forget(cuda, image.image.id);
	cuda->ops->forget(cuda, vectors.of.id);
}

/* Vectors of all but the last objects, by tiles and by lanes. */
static void
bounds_case(GenieMetric metric, uint32_t n_dimensions, uint32_t n_objects, const std::vector<uint32_t> &ks)
{
	const char *names[] = {"", "l2", "l1", "cosine"};

	arena->reset();
	const auto	image = make_uniform_tuples(n_objects, DIMENSIONS, VALUES);
	const Vectors vectors(image->image.id + 1, metric, n_dimensions, n_objects - 3);
	Random		random(n_dimensions);
	BoundsBatch batch;

	for (uint32_t i = 0; i < 4 * ks.size(); i++)
		add(batch, random, *image, i % 3 == 1 ? nullptr : &vectors, ks[i % ks.size()]);
	for (const GenieKernelChoice choice : {GENIE_KERNELS_TILES, GENIE_KERNELS_LANES})
	{
		cuda->ops->set_kernels(cuda, choice);
		report("bounds",
			   std::string(names[metric]) + ", " + std::to_string(n_dimensions) + " dimensions, " +
				   std::to_string(n_objects) + " objects, by " + (choice == GENIE_KERNELS_TILES ? "tiles" : "lanes"),
			   wrong_batch(batch, true));
	}
	cuda->ops->set_kernels(cuda, GENIE_KERNELS_AUTO);
	forget(*image, vectors);
}

void
bounds_cases()
{
	const uint32_t few = by_scale(30000u, 5000u, 1500u);

	for (const GenieMetric metric : {GENIE_METRIC_L2, GENIE_METRIC_L1, GENIE_METRIC_COSINE})
	{
		for (const uint32_t n : {1u, 7u, 16u, 17u, 128u, 300u})
			if (is_mine())
				bounds_case(metric, n, few, {1, 9, 200, 700});
		if (is_mine())
			bounds_case(metric, 17, GENIE_TILE_OBJECTS + 4000, {9, by_scale(65536u, 3000u, 2500u)});
	}
	if (scale == WHOLE && is_mine())
		bounds_case(GENIE_METRIC_L2, 40, 3 * GENIE_TILE_OBJECTS, {100, 1000, 2000});
}

/* ---- room ---- */

static uint64_t
bytes_of(const Vectors &vectors)
{
	uint64_t	bytes = vectors.tiles.size() * (sizeof(void *) + GENIE_TILE_BITMAP_BYTES);

	for (const std::vector<uint8_t> &tile : vectors.records)
		bytes += tile.size();
	return bytes;
}

static GenieDeviceInfo
device()
{
	GenieDeviceInfo info;

	(void) cuda->ops->devices(cuda, &info, 1);
	return info;
}

/* Sets the limit so that images have this many bytes: a quarter of the limit is scratch. */
static void
limit_images(uint64_t bytes)
{
	cuda->ops->set_memory_limit(cuda, (bytes * 4 + 2) / 3);
}

static uint32_t calls_left;			/* until the callback says stop */

static bool
stop_after_some()
{
	return calls_left == 0 || --calls_left == 0;
}

/* Two images, each with its vectors. */
struct Pair
{
	std::unique_ptr<TestImage> images[2];
	std::unique_ptr<Vectors> vectors[2];
	uint64_t	image_bytes[2]; /* on the device */

	Pair()
	{
		for (uint32_t i = 0; i < 2; i++)
		{
			const uint32_t n = GENIE_TILE_OBJECTS + 1000 * i;

			images[i] = make_uniform_tuples(n, DIMENSIONS, VALUES);
			images[i]->image.id = 50 + i;
			vectors[i].reset(new Vectors(60 + i, GENIE_METRIC_L2, 50, n));
			image_bytes[i] = 0;
			run("", i, true, true);
			cuda->ops->forget(cuda, vectors[i]->of.id);
			image_bytes[i] = device().image_bytes;
			cuda->ops->forget(cuda, images[i]->image.id);
		}
	}

	/* Runs some queries.  what: the case's subject; "": this is no case. */
	void run(const std::string &what, uint32_t i, bool wants, bool has_bounds) const
	{
		Random		random(i);
		BoundsBatch batch;
		std::string wrong;

		for (uint32_t j = 0; j < 3; j++)
			add(batch, random, *images[i], wants ? vectors[i].get() : nullptr, 5);
		wrong = wrong_batch(batch, has_bounds);
		if (!what.empty() || !wrong.empty())
			report("bounds: room", what, wrong);
	}
};

/* Vectors that do not fit; that are dropped for an image; and that do not drop others for a while. */
static void
room_case()
{
	arena->reset();
	const Pair	pair;
	const uint64_t *images = pair.image_bytes;
	const uint64_t vectors[] = {bytes_of(*pair.vectors[0]), bytes_of(*pair.vectors[1])};
	uint64_t	n_evictions;
	uint32_t	n_runs = 0;

	report("bounds: room", "nothing is left of what was forgotten", device().image_bytes == 0 ? "" : "something is");
	limit_images(images[0] + vectors[0] - 1000);
	pair.run("a limit too small for the vectors", 0, true, false);
	report("bounds: room", "which is no failure", cuda->error);
	limit_images(images[0] + images[1] + vectors[0] + 1000);
	pair.run("and one that is large enough", 0, true, true);
	report("bounds: room", "they are counted",
		   device().image_bytes == images[0] + vectors[0] ?
			   "" :
			   std::to_string(device().image_bytes) + " bytes, not " + std::to_string(images[0] + vectors[0]));

	pair.run("another image beside them", 1, false, false);
	n_evictions = device().n_evictions;
	pair.run("whose vectors do not take their place", 1, true, false);
	pair.run("they still have it", 0, true, true);
	report("bounds: room", "nothing was dropped", device().n_evictions == n_evictions ? "" : "something was");
	cuda->ops->forget(cuda, pair.images[1]->image.id);
	limit_images(images[1] + vectors[0] + 1000);
	pair.run("with less room", 0, true, true);
	pair.run("an image takes it", 1, false, false);
	report("bounds: room", "and leaves the other image",
		   device().image_bytes == images[0] + images[1] ?
			   "" :
			   std::to_string(device().image_bytes) + " bytes, not " + std::to_string(images[0] + images[1]));

	limit_images(images[0] + images[1] + std::max(vectors[0], vectors[1]) + 1000);
	pair.run("vectors once more", 0, true, true);
	for (n_evictions = device().n_evictions; n_runs < 200 && device().n_evictions == n_evictions; n_runs++)
		pair.run("", 1, true, n_runs == 64);
	report("bounds: room", "not used for 64 passes, they go for others", n_runs == 65 ? "" : std::to_string(n_runs));
	pair.run("which have their place", 1, true, true);
	for (uint32_t i = 0; i < 2; i++)
		forget(*pair.images[i], *pair.vectors[i]);
	cuda->ops->set_memory_limit(cuda, 0);
	report("bounds: room", "all is given back", device().image_bytes == 0 ? "" : "something is left");
}

/* An interrupt between two tiles leaves no incomplete copy. */
static void
interrupt_case()
{
	arena->reset();
	const Pair	pair;
	Random		random(7);
	BoundsBatch batch;
	std::vector<std::vector<uint8_t>> out;

	pair.run("the image alone", 1, false, false);
	add(batch, random, *pair.images[1], pair.vectors[1].get(), 10);
	for (uint32_t stop = 2; stop <= 3; stop++)
	{
		std::vector<GenieJob> jobs = jobs_of(batch.jobs, out);

		calls_left = stop;
		cuda->interrupted = stop_after_some;
		(void) cuda->ops->run(cuda, 1, jobs.data());
		cuda->interrupted = NULL;
		report("bounds: interrupted", "before a tile of the vectors is copied",
			   jobs[0].status == GENIE_STATUS_CANCELLED && !jobs[0].has_bounds ? "" : "not GENIE_STATUS_CANCELLED");
		report("bounds: interrupted", "what was copied is given back",
			   device().image_bytes == pair.image_bytes[1] ? "" : std::to_string(device().image_bytes) + " bytes");
	}
	pair.run("after that", 1, true, true);
	forget(*pair.images[1], *pair.vectors[1]);
}

void
bounds_memory_cases()
{
	/* a batch is one pass */
	cuda->ops->set_kernels(cuda, GENIE_KERNELS_TILES);
	if (is_mine())
		room_case();
	if (is_mine())
		interrupt_case();
	cuda->ops->set_kernels(cuda, GENIE_KERNELS_AUTO);
}
