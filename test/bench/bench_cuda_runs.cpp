/*
 * bench_cuda_runs.cpp
 *	  The figures of a shape: tables on standard output, and a record for plots.
 *
 * Times are on the host's clock around run(), so they include copying queries and results; a median of up to REPEATS
 * after a warm-up of the same size, fewer where a run takes long.  A row of a table ends where the next figure would
 * take longer than the budget, as the one before lets expect.
 */
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "bench_cuda_exact.h"
#include "bench_cuda_subject.h"

extern "C" {
#include "genie_engine_cpu.h"
}

constexpr uint32_t REPEATS = 11;
constexpr double REPEAT_SECONDS = 0.2;
constexpr uint32_t SINGLES = 300;	/* for percentiles */
constexpr uint32_t CHECKED = 64;	/* answers of the GPU, against the CPU engine's */
constexpr uint32_t CHECKED_RIVALS = 8;
constexpr uint32_t CHECKED_PLAINLY = 4; /* answers of the CPU engine, against comparing */
constexpr uint32_t SIZES_BATCH = 512;	/* the paper's figure 9 */

static const std::vector<uint32_t> batch_sizes = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 16384};
static const std::vector<uint32_t> cpu_sizes = {1, 4, 16, 32, 128, 512, 1024, 16384};
static const std::vector<uint32_t> alone_sizes = {1, 4, 16, 32, 128, 1024};
static const std::vector<uint32_t> rival_sizes = {32, 128, 512, 1024};
static const std::vector<uint32_t> kernel_sizes = {32, 128, 512, 1024};
static const std::vector<uint32_t> few_sizes = {1, 2, 4, 8, 16};
static const std::vector<uint32_t> ks = {1, 10, 100, 1000};

std::vector<std::string>
part_names()
{
	return {"ceilings", "batches", "rivals", "few", "kernels", "keys", "exact", "bounds", "sizes", "k"};
}

bool
Bench::wants(const std::string &part) const
{
	return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
}

Record::Record(const char *path)
{
	if (path == nullptr)
		return;
	file = fopen(path, "w");
	if (file == nullptr)
	{
		fprintf(stderr, "%s cannot be written\n", path);
		exit(2);
	}
	note("figure\tshape\tengine\tx\tvalue");
}

Record::~Record()
{
	if (file != nullptr)
		fclose(file);
}

void
Record::note(const std::string &line)
{
	if (file != nullptr)
		fprintf(file, "# %s\n", line.c_str());
}

void
Record::add(const std::string &figure, const std::string &shape, const std::string &engine, double x, double value)
{
	if (file != nullptr)
	{
		fprintf(file, "%s\t%s\t%s\t%g\t%.6g\n", figure.c_str(), shape.c_str(), engine.c_str(), x, value);
		fflush(file);
	}
}

/* ---- measuring ---- */

static double
percentile(std::vector<double> values, double part)
{
	std::sort(values.begin(), values.end());
	return values[(size_t) ((double) (values.size() - 1) * part)];
}

static double
median_ms(const std::function<double()> &run)
{
	const double begin = seconds();
	double		first = run();
	std::vector<double> ms;

	if (first > REPEAT_SECONDS * 1000)
		return first;
	while (ms.empty() || (ms.size() < REPEATS && seconds() - begin < 2 * REPEAT_SECONDS))
		ms.push_back(run());
	return percentile(ms, 0.5);
}

/* a figure's table: a line for each engine, a column for each x; grows: does time grow with x? */
class Table
{
public:
	Table(const Bench &bench_, const Shape &shape, const std::string &figure_, const char *title,
		  const std::vector<double> &columns_, bool grows_ = true) :
		bench(bench_),
		name(shape.name), figure(figure_), columns(columns_), grows(grows_)
	{
		printf("\n%s: %s\n%-14s", name.c_str(), title, "");
		for (const double x : columns)
			printf(" %9.6g", x);
		printf("\n");
	}

	/* one engine; ms(x) for columns that are in only, all if it is empty, until one takes too long */
	void line(const char *engine, const std::vector<uint32_t> &only, const std::function<double(double)> &ms) const
	{
		double		expected = 0;
		double		last = 0;

		printf("%-14s", engine);
		for (const double x : columns)
		{
			if (!only.empty() && std::find(only.begin(), only.end(), (uint32_t) x) == only.end())
			{
				printf(" %9s", "");
				continue;
			}
			expected *= last > 0 && grows ? x / last : 1;
			if (expected > bench.budget * 1000)
			{
				printf(" %9s", "-");
				continue;
			}
			expected = ms(x);
			last = x;
			printf(expected < 10 ? " %9.3f" : " %9.1f", expected);
			bench.record->add(figure, name, engine, x, expected);
			fflush(stdout);
		}
		printf("\n");
	}

private:
	const Bench &bench;
	const std::string name;
	const std::string figure;
	const std::vector<double> columns;
	const bool	grows;
};

static std::vector<double>
as_doubles(const std::vector<uint32_t> &values)
{
	return std::vector<double>(values.begin(), values.end());
}

/* The first n queries as one batch, or several. */
static double
engine_ms(GenieEngine *engine, const GenieSegmentImage *image, const Subject &subject,
		  const std::vector<Ranges> &queries, size_t n, uint32_t k)
{
	Jobs		jobs(image, subject.rows.shape.n_slots, queries, n, k);

	return median_ms([&]() { return run_ms(engine, jobs.jobs, 0, n); });
}

static void
engine_lines(const Bench &bench, const Table &table, const Subject &subject, const std::vector<Ranges> &queries)
{
	const GenieSegmentImage *image = &subject.image.image;

	if (bench.gpu != nullptr)
		table.line("genie-gpu", {}, [&](double n) {
			return engine_ms(bench.gpu, image, subject, queries, (size_t) n, subject.rows.shape.k);
		});
	for (const uint32_t n_threads : {bench.n_cores, 1u})
	{
		const std::string name = "genie-cpu-" + std::to_string(n_threads);

		(void) genie_cpu_engine_threads(bench.cpu, n_threads);
		if (n_threads == bench.n_cores || bench.n_cores > 1)
			table.line(name.c_str(), n_threads > 1 ? cpu_sizes : alone_sizes, [&](double n) {
				return engine_ms(bench.cpu, image, subject, queries, (size_t) n, subject.rows.shape.k);
			});
	}
	(void) genie_cpu_engine_threads(bench.cpu, bench.n_cores);
}

/* The paper's competitors on the first queries; tables are those of engine_lines(). */
static void
rival_lines(const Bench &bench, const Table &table, Subject &subject, const std::vector<Ranges> &queries,
			const std::vector<uint32_t> &sizes)
{
	std::vector<GenieHit> counters;

	if (!bench.wants("rivals"))
		return;
	if (bench.rivals != nullptr)
	{
		table.line("gpu-scan", sizes, [&](double n) {
			return run_scan(bench.rivals, subject.rows, queries, (size_t) n, subject.rows.shape.n_objects).ms;
		});
		table.line("count-table", sizes,
				   [&](double n) { return run_count(bench.rivals, subject.rows, queries, (size_t) n).ms; });
	}
	table.line("cpu-idx", {1, 4, 16, 32}, [&](double n) {
		const double begin = seconds();

		for (size_t q = 0; q < (size_t) n; q++)
			(void) cpu_index_search(subject.rows, subject.lists(), queries[q], subject.rows.shape.k, counters);
		return (seconds() - begin) * 1000;
	});
}

/* Both ways to count, forced, and which one the engine chooses by itself, and why. */
static void
bench_kernels(const Bench &bench, const Subject &subject)
{
	const Table table(bench, subject.rows.shape, "kernels", "ms by way to count, chosen and forced",
					  as_doubles(kernel_sizes));
	const GenieSegmentImage *image = &subject.image.image;

	for (GenieEngine *engine : {bench.gpu, bench.cpu})
	{
		if (engine == nullptr)
			continue;
		const std::string name = engine == bench.gpu ? "gpu" : "cpu-" + std::to_string(bench.n_cores);
		const auto line = [&](const char *way, GenieKernelChoice choice) {
			engine->ops->set_kernels(engine, choice);
			table.line((name + "-" + way).c_str(), {}, [&](double n) {
				return engine_ms(engine, image, subject, subject.queries, (size_t) n, subject.rows.shape.k);
			});
		};

		line("tiles", GENIE_KERNELS_TILES);
		line("lanes", GENIE_KERNELS_LANES);

		const GenieEngineChoices before = engine->choices;

		line("chosen", GENIE_KERNELS_AUTO);
		printf("jobs by tiles %llu, by lanes %llu, on tensor cores %llu; %s; %s\n",
			   (unsigned long long) (engine->choices.n_tiles - before.n_tiles),
			   (unsigned long long) (engine->choices.n_lanes - before.n_lanes),
			   (unsigned long long) (engine->choices.n_tensor - before.n_tensor), engine->choices.reason,
			   engine->choices.constants);
	}
}

/* ---- answers ---- */

static bool
same_hits(const GenieHit *a, uint32_t n_a, const GenieHit *b, uint32_t n_b)
{
	return n_a == n_b && std::equal(a, a + n_a, b, [](const GenieHit &x, const GenieHit &y) {
			   return x.key == y.key && x.object == y.object;
		   });
}

static bool
same_hits(const GenieJob &a, const GenieJob &b)
{
	return same_hits((const GenieHit *) a.out, a.n_hits, (const GenieHit *) b.out, b.n_hits);
}

/* How many answers differ: the CPU engine's from comparing, the GPU's and the competitors' from the CPU engine's. */
static uint32_t
check_answers(const Bench &bench, Subject &subject)
{
	const uint32_t max_count = subject.rows.shape.n_slots;
	const uint32_t k = subject.rows.shape.k;
	Jobs		right(&subject.image.image, max_count, subject.queries, CHECKED, k);
	uint32_t	n_wrong = 0;
	std::vector<GenieHit> counters;

	(void) run_ms(bench.cpu, right.jobs, 0, CHECKED);
	for (uint32_t i = 0; i < CHECKED_PLAINLY; i++)
	{
		const std::vector<GenieHit> hits = subject.plain_answer(subject.queries[i], k);

		n_wrong += !same_hits(hits.data(), (uint32_t) hits.size(), &right.hits[i * k], right.jobs[i].n_hits);
	}
	if (bench.gpu != nullptr)
	{
		Jobs		jobs(&subject.image.image, max_count, subject.queries, BATCH, k);

		(void) run_ms(bench.gpu, jobs.jobs, 0, BATCH);
		for (uint32_t i = 0; i < CHECKED; i++)
			n_wrong += !same_hits(jobs.jobs[i], right.jobs[i]);
	}
	if (!bench.wants("rivals"))
		return n_wrong;
	for (uint32_t i = 0; i < CHECKED_PLAINLY; i++)
		n_wrong += !equivalent_hits(cpu_index_search(subject.rows, subject.lists(), subject.queries[i], k, counters),
									&right.hits[i * k], right.jobs[i].n_hits);
	if (bench.rivals != nullptr)
	{
		const RivalRun runs[] = {run_scan(bench.rivals, subject.rows, subject.queries, CHECKED_RIVALS,
										  subject.rows.shape.n_objects),
								 run_count(bench.rivals, subject.rows, subject.queries, CHECKED_RIVALS)};

		for (const RivalRun &run : runs)
			for (uint32_t i = 0; i < CHECKED_RIVALS; i++)
			{
				const auto	begin = run.hits.begin() + i * k;

				n_wrong += !equivalent_hits(std::vector<GenieHit>(begin, begin + run.n_hits[i]), &right.hits[i * k],
											right.jobs[i].n_hits);
			}
	}
	return n_wrong;
}

/* ---- figures ---- */

/* Figure 9: the first groups of the image are an image of fewer objects. */
static void
bench_sizes(const Bench &bench, const Subject &subject)
{
	std::vector<GenieSegmentImage> images;
	std::vector<double> columns;

	for (uint32_t quarter = 1; quarter <= 4; quarter++)
	{
		images.push_back(subject.image.first_groups((subject.image.image.n_groups * quarter + 3) / 4));
		if (!columns.empty() && columns.back() == images.back().n_objects)
			images.pop_back();
		else
			columns.push_back(images.back().n_objects);
	}
	const auto image_of = [&](double n) {
		return &*std::find_if(images.begin(), images.end(),
							  [=](const GenieSegmentImage &image) { return image.n_objects == n; });
	};
	const Table table(bench, subject.rows.shape, "sizes", "ms for 512 queries, by objects", columns);

	if (bench.gpu != nullptr)
	{
		table.line("genie-gpu", {}, [&](double n) {
			return engine_ms(bench.gpu, image_of(n), subject, subject.queries, SIZES_BATCH, subject.rows.shape.k);
		});
		for (const GenieSegmentImage &image : images)
			bench.gpu->ops->forget(bench.gpu, image.id);
	}
	table.line(("genie-cpu-" + std::to_string(bench.n_cores)).c_str(), {}, [&](double n) {
		return engine_ms(bench.cpu, image_of(n), subject, subject.queries, SIZES_BATCH, subject.rows.shape.k);
	});
	if (bench.rivals != nullptr && bench.wants("rivals"))
		table.line("gpu-scan", {}, [&](double n) {
			return run_scan(bench.rivals, subject.rows, subject.queries, SIZES_BATCH, (uint32_t) n).ms;
		});
}

static void
bench_ks(const Bench &bench, const Subject &subject)
{
	const Table table(bench, subject.rows.shape, "k", "ms for 1024 queries, by k", as_doubles(ks), false);

	if (bench.gpu != nullptr)
		table.line("genie-gpu", {}, [&](double k) {
			return engine_ms(bench.gpu, &subject.image.image, subject, subject.queries, BATCH, (uint32_t) k);
		});
	table.line(("genie-cpu-" + std::to_string(bench.n_cores)).c_str(), {}, [&](double k) {
		return engine_ms(bench.cpu, &subject.image.image, subject, subject.queries, BATCH, (uint32_t) k);
	});
}

/* ---- keys ---- */

/* The sizes that documents pretend to have, more than their words: so many, evenly. */
constexpr uint32_t PRETENDED_SIZES = 16;
static const std::vector<uint32_t> key_sizes = {1, 32, 128, 512, 1024};

/* Jobs with key tables of the Jaccard similarity, whose distinct values are numbered; a class a size. */
struct KeyJobs : Jobs
{
	KeyJobs(const GenieSegmentImage *image, const Subject &subject, size_t n);

private:
	std::vector<uint16_t> class_of_size;
	std::vector<std::vector<uint32_t>> keys;
	std::vector<GenieKeyTable> tables;
};

KeyJobs::KeyJobs(const GenieSegmentImage *image, const Subject &subject, size_t n) :
	Jobs(image, subject.rows.shape.n_slots, subject.queries, n, subject.rows.shape.k), keys(n), tables(n)
{
	const GenieImageGroup *group = image->groups[0];
	const uint32_t n_sizes = group->max_size - group->min_size + 1;
	const uint32_t n_counts = subject.rows.shape.n_slots + 1;

	for (uint32_t i = 0; i < n_sizes; i++)
		class_of_size.push_back((uint16_t) i);
	for (size_t q = 0; q < n; q++)
	{
		const uint32_t n_asked = jobs[q].query.n_ranges;
		std::vector<double> values;
		std::vector<double> distinct;

		for (uint32_t size = group->min_size; size <= group->max_size; size++)
			for (uint32_t count = 0; count < n_counts; count++)
			{
				const uint32_t common = std::min({count, size, n_asked});

				values.push_back((double) common / (size + n_asked - common));
			}
		distinct = values;
		std::sort(distinct.begin(), distinct.end());
		distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
		for (const double value : values)
			keys[q].push_back(
				(uint32_t) (std::lower_bound(distinct.begin(), distinct.end(), value) - distinct.begin()) + 1);
		tables[q] = GenieKeyTable{group->min_size, n_sizes, class_of_size.data(), n_sizes, n_counts, keys[q].data()};
		jobs[q].query.keys = &tables[q];
	}
}

/* Documents by count, by keys, and by keys where they have several sizes; returns how many answers differ. */
static uint32_t
bench_keys(const Bench &bench, const Subject &subject, Arena &arena)
{
	const Table table(bench, subject.rows.shape, "keys", "ms by keys of the Jaccard similarity", as_doubles(key_sizes));
	const TestImage varied(
		arena, subject.rows.shape.n_objects, subject.rows.n_ranks,
		[&](uint32_t t) {
			TileLists	lists = subject.rows.lists(t);
			Random		random(t);

			for (uint32_t &size : lists.sizes)
				size += random.below(PRETENDED_SIZES);
			return lists;
		},
		false);
	uint32_t	n_wrong = 0;

	for (GenieEngine *engine : {bench.gpu, bench.cpu})
	{
		const std::string name = engine == bench.gpu ? "gpu" : "cpu-" + std::to_string(bench.n_cores);

		if (engine == nullptr)
			continue;
		table.line((name + "-counts").c_str(), {}, [&](double n) {
			return engine_ms(engine, &subject.image.image, subject, subject.queries, (size_t) n, subject.rows.shape.k);
		});
		for (const GenieSegmentImage *image : {&subject.image.image, &varied.image})
			table.line((name + (image == &varied.image ? "-sizes" : "-one-size")).c_str(), {}, [&](double n) {
				KeyJobs		jobs(image, subject, (size_t) n);

				return median_ms([&]() { return run_ms(engine, jobs.jobs, 0, (size_t) n); });
			});
	}
	if (bench.gpu == nullptr)
		return 0;
	for (const GenieSegmentImage *image : {&subject.image.image, &varied.image})
	{
		KeyJobs		right(image, subject, CHECKED);
		KeyJobs		jobs(image, subject, BATCH);

		(void) run_ms(bench.cpu, right.jobs, 0, CHECKED);
		(void) run_ms(bench.gpu, jobs.jobs, 0, BATCH);
		for (uint32_t i = 0; i < CHECKED; i++)
			n_wrong += !same_hits(jobs.jobs[i], right.jobs[i]);
	}
	bench.gpu->ops->forget(bench.gpu, varied.image.id);
	return n_wrong;
}

/* ---- exact search ---- */

constexpr uint32_t CHECKED_POINTS = 50000;
constexpr uint32_t CHECKED_EXACTLY = 8; /* queries that are checked by comparing on the host */

/* How many answers of a small exact search are wrong. */
static uint32_t
check_exact(const Bench &bench, BenchExact what)
{
	std::vector<GenieHit> hits(CHECKED_EXACTLY * what.k);
	uint32_t	n_wrong = 0;
	double		ms;

	what.n_points = CHECKED_POINTS;
	what.n_queries = CHECKED_EXACTLY;
	what.hits = hits.data();
	check_rival(bench.rivals->exact(&what, &ms));
	for (uint32_t q = 0; q < CHECKED_EXACTLY; q++)
	{
		std::vector<uint64_t> right(CHECKED_POINTS);

		parallel(CHECKED_POINTS / 1000, [&](uint32_t thousand) {
			for (uint32_t p = thousand * 1000; p < (thousand + 1) * 1000; p++)
			{
				uint64_t	distance = 0;

				for (uint32_t d = 0; d < what.n_dimensions; d++)
				{
					const int difference = (int) bench_point_value(p, d) -
						(int) bench_point_value(CHECKED_POINTS + q, d);

					distance += (uint64_t) (what.block == 0 ? abs(difference) : difference * difference);
				}
				right[p] = distance << 32 | p;
			}
		});
		std::partial_sort(right.begin(), right.begin() + what.k, right.end());
		n_wrong += !std::equal(right.begin(), right.begin() + what.k, hits.begin() + q * what.k,
							   [](uint64_t a, const GenieHit &b) { return a == ((uint64_t) b.key << 32 | b.object); });
	}
	return n_wrong;
}

/* The distances that the signatures of a shape stand for, where there are any; returns how many answers are wrong. */
static uint32_t
bench_exact(const Bench &bench, const Shape &shape)
{
	const bool	is_l1 = shape.name == "ocr-binning";
	const std::vector<uint32_t> blocks = is_l1 ? std::vector<uint32_t>{0} : std::vector<uint32_t>{8192, 32768, 131072};
	uint32_t	n_wrong = 0;

	if (!is_l1 && shape.name != "sift-wide")
		return 0;
	const Table table(bench, shape, "exact", "ms for the 100 nearest by distance, exactly", {BATCH});

	for (const uint32_t block : blocks)
	{
		std::vector<GenieHit> hits(BATCH * 100);
		BenchExact	what = {shape.n_objects, is_l1 ? 1156u : 128u, BATCH, 100, block, hits.data()};

		const std::string name = is_l1 ? "l1-scan" : "l2-cublas-" + std::to_string(block);
		double		ms;
		const char *error = bench.rivals->exact(&what, &ms);

		if (error != nullptr)
		{
			printf("%s: %s\n", name.c_str(), error);
			return n_wrong;
		}
		table.line(name.c_str(), {}, [=](double) { return ms; });
		n_wrong += check_exact(bench, what);
	}
	return n_wrong;
}

static double
part_of(double value, double ceiling)
{
	return 100 * value / ceiling;
}

/*
 * How far 1024 queries use the machine: postings counted, compares (each query with each keyword) and bytes of the image
 * in a second, each as a percentage of its ceiling: additions in shared memory (L1), compares by carry-save adders,
 * copying.  More than 100 % means that the engine does not need that operation.  Nothing is printed if the ceilings were
 * not measured.
 */
static void
print_achieved(const Bench &bench, const Subject &subject, const char *engine, double ms)
{
	const bool	is_gpu = strcmp(engine, "gpu") == 0;
	const double adds = is_gpu ? bench.gpu_ceilings.shared_atomics : bench.cpu_ceilings.increments;
	const double compares = is_gpu ? bench.gpu_ceilings.adder_compares : bench.cpu_ceilings.adder_compares;
	const double bytes = is_gpu ? bench.gpu_ceilings.copy_bytes : bench.cpu_ceilings.copy_bytes;
	const double per_second = BATCH / (ms / 1000);
	const double pairs = (double) subject.rows.shape.n_objects * subject.rows.shape.n_slots;
	const double image_rate = (double) subject.image.n_bytes / (ms / 1000);
	double		postings = 0;

	if (adds == 0)
		return;
	for (uint32_t i = 0; i < BATCH; i++)
		postings += (double) subject.rows.postings(subject.queries[i]) / BATCH;
	printf("achieved %s: %.3g postings/s (%.0f %% of additions), %.3g compares/s (%.0f %% of adders), "
		   "%.3g image bytes/s (%.0f %% of a copy)\n",
		   engine, postings * per_second, part_of(postings * per_second, adds), pairs * per_second,
		   part_of(pairs * per_second, compares), image_rate, part_of(image_rate, bytes));
	bench.record->add("postings-rate", subject.rows.shape.name, engine, BATCH, postings * per_second);
	bench.record->add("compares-rate", subject.rows.shape.name, engine, BATCH, pairs * per_second);
	bench.record->add("bytes-rate", subject.rows.shape.name, engine, BATCH, image_rate);
}

/* Batches of 1024 and of 64, one query at a time, memory: one line. */
static void
bench_summary(const Bench &bench, const Subject &subject)
{
	Jobs		jobs(&subject.image.image, subject.rows.shape.n_slots, subject.queries, BATCH, subject.rows.shape.k);
	GenieDeviceInfo before;
	GenieDeviceInfo info;
	std::vector<double> batch_ms;
	std::vector<double> small_ms;
	std::vector<double> single_ms;

	(void) bench.gpu->ops->devices(bench.gpu, &before, 1);
	const double first_ms = run_ms(bench.gpu, jobs.jobs, 0, 1);

	(void) bench.gpu->ops->devices(bench.gpu, &info, 1);
	for (uint32_t i = 0; i < REPEATS + 3; i++)
		batch_ms.push_back(run_ms(bench.gpu, jobs.jobs, 0, BATCH));
	batch_ms.erase(batch_ms.begin(), batch_ms.begin() + 3);
	for (uint32_t i = 0; i < REPEATS; i++)
		small_ms.push_back(run_ms(bench.gpu, jobs.jobs, i * 64, 64));
	for (uint32_t i = 0; i < SINGLES; i++)
		single_ms.push_back(run_ms(bench.gpu, jobs.jobs, i, 1));
	printf("%s on GPU: 1024 queries %.2f ms (best %.2f), 64 %.2f ms, one p50 %.3f p99 %.3f ms; "
		   "first query, with upload, %.1f ms\n"
		   "%.2f bytes a posting on the device, uploaded %.2f GB at %.1f GB/s, scratch %.0f MB\n",
		   subject.rows.shape.name.c_str(), percentile(batch_ms, 0.5), percentile(batch_ms, 0),
		   percentile(small_ms, 0.5), percentile(single_ms, 0.5), percentile(single_ms, 0.99), first_ms,
		   (double) (info.image_bytes - before.image_bytes) / (double) subject.image.n_postings,
		   (double) (info.uploaded_bytes - before.uploaded_bytes) / 1e9,
		   (double) (info.uploaded_bytes - before.uploaded_bytes) / (double) (info.upload_us - before.upload_us) / 1e3,
		   (double) info.scratch_bytes / 1e6);
	print_achieved(bench, subject, "gpu", percentile(batch_ms, 0.5));
}

/* the rate of 1024 queries on the CPU, if they stay within the budget */
static void
bench_cpu_achieved(const Bench &bench, const Subject &subject)
{
	const GenieSegmentImage *image = &subject.image.image;

	if (8 * engine_ms(bench.cpu, image, subject, subject.queries, BATCH / 8, subject.rows.shape.k) <=
		bench.budget * 1000)
		print_achieved(bench, subject, "cpu",
					   engine_ms(bench.cpu, image, subject, subject.queries, BATCH, subject.rows.shape.k));
}

static void
print_subject(const Subject &subject)
{
	const Rows &rows = subject.rows;
	double		postings = 0;

	for (uint32_t i = 0; i < BATCH; i++)
		postings += (double) rows.postings(subject.queries[i]) / BATCH;
	printf(
		"\n# %s: %u objects x %u keywords, %u distinct, k = %u; %.2f M postings a query, %.2f %% of all; image %.2f GB; "
		"made in %.1f s and %.1f s\n",
		rows.shape.name.c_str(), rows.shape.n_objects, rows.shape.n_slots, rows.n_ranks, rows.shape.k, postings / 1e6,
		100 * postings / (double) rows.before.back(), (double) subject.image.n_bytes / 1e9, subject.rows_seconds,
		subject.image_seconds);
	fflush(stdout);
}

static void
load_rivals(const Bench &bench, const Subject &subject)
{
	const BenchData data = subject.data();

	check_rival(bench.rivals->load_rows(&data));
	check_rival(bench.rivals->load_lists(&data));
}

uint32_t
bench_shape(const Bench &bench, const Shape &shape, Arena &arena, bool profile)
{
	const double begin = seconds();
	uint32_t	n_wrong = 0;

	arena.reset();
	Subject		subject(shape, arena);

	print_subject(subject);
	if (profile)
	{
		Jobs		jobs(&subject.image.image, shape.n_slots, subject.queries, BATCH, subject.rows.shape.k);

		for (uint32_t i = 0; i < 8; i++)
			(void) run_ms(bench.gpu, jobs.jobs, 0, BATCH);
		return 0;
	}
	if (bench.gpu != nullptr)
		bench_summary(bench, subject);
	bench_cpu_achieved(bench, subject);
	if (bench.wants("rivals"))
	{
		(void) subject.lists();
		if (bench.rivals != nullptr)
			load_rivals(bench, subject);
	}
	if (bench.wants("batches"))
	{
		const Table table(bench, shape, "batches", "ms for so many queries", as_doubles(batch_sizes));

		engine_lines(bench, table, subject, subject.queries);
		rival_lines(bench, table, subject, subject.queries, rival_sizes);
	}
	if (bench.wants("few") && shape.name.compare(0, 5, "adult") == 0)
	{
		const Table table(bench, shape, "few", "ms for so many queries that ask for a tuple's values exactly",
						  as_doubles(few_sizes));

		engine_lines(bench, table, subject, subject.exact);
		rival_lines(bench, table, subject, subject.exact, few_sizes);
	}
	if (bench.wants("kernels") && genie_image_has_codes(&subject.image.image))
		bench_kernels(bench, subject);
	if (bench.wants("keys") && !subject.rows.has_dimensions())
		n_wrong += bench_keys(bench, subject, arena);
	if (bench.wants("sizes"))
		bench_sizes(bench, subject);
	if (bench.wants("k"))
		bench_ks(bench, subject);
	if (bench.wants("exact") && bench.rivals != nullptr)
		n_wrong += bench_exact(bench, shape);
	if (bench.wants("exact") && bench.rivals != nullptr && shape.name == "sift-wide")
		n_wrong += bench_nearest(bench, shape.n_objects, arena);
	n_wrong += check_answers(bench, subject);
	printf("%s: %u wrong answers; %.0f s\n", shape.name.c_str(), n_wrong, seconds() - begin);
	if (bench.gpu != nullptr)
		bench.gpu->ops->forget(bench.gpu, subject.image.image.id);
	if (bench.rivals != nullptr)
		bench.rivals->unload();
	return n_wrong;
}

void
bench_ceilings(Bench &bench)
{
	const auto print = [&](const char *engine, const char *what, double value) {
		printf("%-8s %-64s %10.3g\n", engine, what, value);
		bench.record->add("ceiling", what, engine, 0, value);
	};

	printf("# ceilings of this machine, a second\n");
	if (bench.rivals != nullptr)
	{
		BenchGpuCeilings &gpu = bench.gpu_ceilings;

		check_rival(bench.rivals->ceilings(&gpu));
		print("gpu", "bytes copied in device memory (read and written)", gpu.copy_bytes);
		print("gpu", "bytes copied to the device", gpu.upload_bytes);
		print("gpu", "bytes copied from the device", gpu.download_bytes);
		print("gpu", "random additions in shared memory", gpu.shared_atomics);
		print("gpu", "random additions in device memory", gpu.global_atomics);
		print("gpu", "compares by rows of 1024 bits and carry-save adders", gpu.adder_compares);
		print("gpu", "pairs of bits by and-popcount on tensor cores", gpu.bit_pairs);
	}
	for (const uint32_t n_threads : {1u, bench.n_cores})
	{
		const std::string name = "cpu-" + std::to_string(n_threads);

		bench.cpu_ceilings = cpu_ceilings(n_threads);
		print(name.c_str(), "bytes copied in memory (read and written)", bench.cpu_ceilings.copy_bytes);
		print(name.c_str(), "additions to random bytes in L1", bench.cpu_ceilings.increments);
		print(name.c_str(), "compares by rows of 512 bits and carry-save adders", bench.cpu_ceilings.adder_compares);
	}
	fflush(stdout);
}
