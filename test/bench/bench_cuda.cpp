/*
 * bench_cuda.cpp
 *	  Batches of queries on data of the shapes of GENIE's paper: genie on the GPU and on the CPU, the paper's
 *	  competitors, and the ceilings of the machine.
 *
 *		bench_cuda LIBRARY [SHAPE ...] [OPTION ...]
 *
 *		LIBRARY				build/cuda/genie_cuda.so; "-": only the parts that need no GPU
 *		--rivals=LIBRARY	build/cuda/bench_rivals.so: the competitors on the GPU and the GPU's ceilings
 *		--parts=PART,...	only these of: ceilings, batches, rivals, few, kernels, keys, exact, bounds,
 *							sizes, k
 *		--k=N				the best N instead of the shape's k
 *		--scale=X			so many times the objects
 *		--form=FORM			of images: full, codes, tight (genie_image.h); full
 *		--budget=SECONDS	a figure that would take longer is left out (1)
 *		--arena=GB			memory for images (6)
 *		--record=FILE		the figures for plots, a line each: figure, shape, engine, x, value, tab-separated
 *		--profile			a few batches on the GPU and no more
 *
 * Shapes are described in bench_cuda_shapes.h, competitors in bench_cuda_rivals.h, what is measured how in
 * bench_cuda_runs.cpp.  Everything is drawn from fixed seeds.
 *
 *		batches		time of 1 .. 1024 and 16,384 queries (the paper's figure 7 and table 2)
 *		few			the same of 1 .. 16 queries that ask exactly, on Adult (figure 12)
 *		kernels		both ways to count, forced, and the engine's choice
 *		keys		documents ranked by keys of the Jaccard similarity
 *		exact		exact search by distance on the GPU, of vectors like those behind ocr-binning's and sift-wide's signatures;
 *					with sift-wide also the GPU's part of genie_exact_knn(), in floats, by its kernel and by cuBLAS
 *		bounds		lower bounds of the distances of a batch's hits, from quantized vectors: the kernel alone, whatever the shapes
 *		sizes		512 queries on 1/4 .. 4/4 of the objects (figure 9)
 *		k			1024 queries, k from 1 to 1000
 */
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include "bench_cuda_runs.h"

extern "C" {
#include "genie_engine_cpu.h"
}

struct Options
{
	const char *library = nullptr;
	const char *rivals = nullptr;
	const char *record = nullptr;
	double		scale = 1;
	double		budget = 1;
	double		arena_gb = 6;
	uint32_t	k = 0;			/* 0: the shape's */
	bool		profile = false;
	std::vector<std::string> parts;
	std::vector<std::string> shapes;
};

/* Is argument --name=value?  Then its value. */
static const char *
option(const char *argument, const char *name)
{
	const size_t n = strlen(name);

	return strncmp(argument, name, n) == 0 && argument[n] == '=' ? argument + n + 1 : nullptr;
}

static void
wrong_usage(const char *what)
{
	fprintf(stderr, "bench_cuda: %s; see the head of test/bench/bench_cuda.cpp\n", what);
	exit(2);
}

static void
check_names(const std::vector<std::string> &given, const std::vector<std::string> &known, const char *kind)
{
	for (const std::string &name : given)
		if (std::find(known.begin(), known.end(), name) == known.end())
			wrong_usage((std::string("no ") + kind + " \"" + name + "\"").c_str());
}

static GenieImageForm
form_of(const std::string &name)
{
	check_names({name}, {"full", "codes", "tight"}, "form");
	return name == "full" ? GENIE_IMAGE_FULL : name == "codes" ? GENIE_IMAGE_CODES : GENIE_IMAGE_TIGHT;
}

static Options
read_options(int argc, char **argv)
{
	Options		options;
	const char *value;

	for (int i = 1; i < argc; i++)
	{
		if ((value = option(argv[i], "--rivals")) != nullptr)
			options.rivals = value;
		else if ((value = option(argv[i], "--record")) != nullptr)
			options.record = value;
		else if ((value = option(argv[i], "--scale")) != nullptr)
			options.scale = atof(value);
		else if ((value = option(argv[i], "--budget")) != nullptr)
			options.budget = atof(value);
		else if ((value = option(argv[i], "--arena")) != nullptr)
			options.arena_gb = atof(value);
		else if ((value = option(argv[i], "--k")) != nullptr)
			options.k = (uint32_t) std::max(1, atoi(value));
		else if ((value = option(argv[i], "--parts")) != nullptr)
		{
			std::istringstream names(value);

			for (std::string name; std::getline(names, name, ',');)
				options.parts.push_back(name);
		}
		else if ((value = option(argv[i], "--form")) != nullptr)
			image_form = form_of(value);
		else if (strcmp(argv[i], "--profile") == 0)
			options.profile = true;
		else if (options.library == nullptr)
			options.library = argv[i];
		else
			options.shapes.push_back(argv[i]);
	}
	if (options.library == nullptr)
		wrong_usage("name the library");
	check_names(options.shapes, shape_names(), "shape");
	check_names(options.parts, part_names(), "part");
	if (options.shapes.empty())
		options.shapes = shape_names();
	return options;
}

static const BenchGpu *
open_rivals(const char *path)
{
	void	   *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const void *symbol = handle == nullptr ? nullptr : dlsym(handle, BENCH_GPU_SYMBOL);

	if (symbol == nullptr)
		wrong_usage(dlerror());
	return (const BenchGpu *) symbol;
}

static GenieEngine *
open_cpu(uint32_t n_threads)
{
	const size_t size = (genie_cpu_engine_size() + 63) / 64 * 64;
	void	   *memory = aligned_alloc(64, size);
	GenieEngine *engine;

	memset(memory, 0, size);
	engine = genie_cpu_engine_open(memory);
	(void) genie_cpu_engine_threads(engine, n_threads);
	return engine;
}

/* when and where, for the record */
static void
note_machine(Record &record, GenieEngine *gpu, const Options &options)
{
	const time_t now = time(nullptr);
	std::ifstream cpuinfo("/proc/cpuinfo");
	std::string line;
	GenieDeviceInfo info;
	char		date[sizeof("2000-01-01")];

	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&now));
	while (std::getline(cpuinfo, line) && line.compare(0, 10, "model name") != 0)
		;
	record.note(std::string(date) + ", " + line.substr(std::min(line.size(), line.find(':') + 2)) + ", " +
				std::to_string(std::thread::hardware_concurrency()) + " cores; objects scaled by " +
				std::to_string(options.scale));
	if (gpu != nullptr && gpu->ops->devices(gpu, &info, 1) > 0)
		record.note(info.name);
}

int
main(int argc, char **argv)
{
	const Options options = read_options(argc, argv);
	Record		record(options.record);
	Arena		arena((size_t) (options.arena_gb * (1 << 20)) << 10);
	GenieStatus status = GENIE_OK;
	Bench		bench;
	uint32_t	n_wrong = 0;
	const double begin = seconds();

	if (strcmp(options.library, "-") != 0)
	{
		GenieEngineOptions open_options = {};

		open_options.arena = arena.memory;
		open_options.arena_bytes = arena.bytes;
		bench.gpu = open_library(options.library, open_options, &status);
		if (bench.gpu == nullptr)
			return status == GENIE_STATUS_UNAVAILABLE ? 77 : 1;
		printf("opened in %.2f s (with %.1f GB pinned)\n", seconds() - begin, (double) arena.bytes / 1e9);
	}
	else if (options.profile)
		wrong_usage("--profile needs a GPU");
	if (options.rivals != nullptr)
		bench.rivals = open_rivals(options.rivals);
	bench.n_cores = std::max(1u, std::thread::hardware_concurrency());
	bench.cpu = open_cpu(bench.n_cores);
	bench.budget = options.budget;
	bench.parts = options.parts;
	bench.record = &record;
	note_machine(record, bench.gpu, options);

	printf("medians; %u cores; the CPU engine \"genie-cpu-N\" has N threads\n", bench.n_cores);
	if (bench.wants("ceilings") && !options.profile)
		bench_ceilings(bench);
	if (bench.wants("bounds") && bench.rivals != nullptr && !options.profile)
		bench_bounds(bench);
	for (const std::string &name : options.shapes)
	{
		Shape		shape = make_shape(name, options.scale);

		shape.k = options.k > 0 ? options.k : shape.k;
		n_wrong += bench_shape(bench, shape, arena, options.profile);
	}
	printf("\n%zu shapes in %.0f s, %u wrong answers\n", options.shapes.size(), seconds() - begin, n_wrong);
	bench.cpu->ops->close(bench.cpu);
	if (bench.gpu != nullptr)
		bench.gpu->ops->close(bench.gpu);
	return n_wrong > 0;
}
