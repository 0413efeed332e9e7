/*
 * unit_cuda_hash.cpp
 *	  Codes of vectors on the GPU have the same bits as those of all kernels of the CPU.
 */
#include <cfloat>
#include <cmath>

#include "unit_cuda.h"

constexpr uint32_t GUARDS = 16;		/* places behind the last code, which an engine must not write */
constexpr int32_t GUARD = 0x5A5A5A5A;

/* Functions, drawn. */
struct Functions
{
	std::vector<uint64_t> memory;	/* aligned well enough */
	GenieLsh   *lsh;

	explicit Functions(const GenieLshParameters &parameters) : memory(genie_lsh_size(&parameters) / 8 + 1)
	{
		lsh = genie_lsh_make(memory.data(), &parameters);
		for (uint32_t group = 0; group < lsh->n_groups; group++)
			genie_lsh_draw(lsh, group);
	}
};

/* A job, what it refers to, and room for its codes. */
struct Hashed
{
	std::vector<float> vectors;
	GenieHashing hashing;
	std::vector<int32_t> codes;
	GenieJob	job = {};

	Hashed(const Functions &functions, std::vector<float> vectors_) : vectors(std::move(vectors_))
	{
		hashing = genie_hashing(functions.lsh, vectors.data(),
								(uint32_t) (vectors.size() / functions.lsh->parameters.n_dimensions));
		codes.assign(genie_hashing_codes(&hashing) + GUARDS, GUARD);
		job.kind = GENIE_JOB_HASH;
		job.hashing = &hashing;
		job.out = codes.data();
		job.status = GENIE_STATUS_RETRY;
	}
	Hashed(const Hashed &) = delete;
	Hashed &operator=(const Hashed &) = delete;
};

static float
ordinary(Random &random)
{
	return ((float) random.below(2000001) - 1000000) / 100000;
}

/* The largest floats and those nearest to zero. */
static float
odd(Random &random)
{
	const float numbers[] = {0,       -0.0f,    FLT_MAX,      -FLT_MAX,      1e38f,  -1e30f,
							 FLT_MIN, -FLT_MIN, FLT_TRUE_MIN, -FLT_TRUE_MIN, 1e-40f, 65536.5f};
	const uint32_t n = sizeof(numbers) / sizeof(numbers[0]);
	const uint32_t i = random.below(2 * n);

	return i < n ? numbers[i] : ordinary(random);
}

static std::vector<float>
make_vectors(Random &random, uint32_t n, uint32_t n_dimensions, float (*number)(Random &))
{
	std::vector<float> vectors;

	for (uint64_t i = 0; i < (uint64_t) n * n_dimensions; i++)
		vectors.push_back(number(random));
	return vectors;
}

static void
run_jobs(const std::vector<Hashed *> &hashed)
{
	std::vector<GenieJob> jobs;

	for (const Hashed *one : hashed)
		jobs.push_back(one->job);
	(void) cuda->ops->run(cuda, (uint32_t) jobs.size(), jobs.data());
	for (size_t i = 0; i < hashed.size(); i++)
		hashed[i]->job = jobs[i];
}

/* What is wrong with the codes; "": nothing. */
static std::string
wrong_codes(const Functions &functions, const Hashed &hashed)
{
	const size_t n = genie_hashing_codes(&hashed.hashing);
	const uint32_t n_functions = hashed.hashing.parameters.n_functions;
	std::vector<int32_t> right(n);

	if (hashed.job.status != GENIE_OK)
		return "status " + std::to_string((int) hashed.job.status) + " (" + cuda->error + ")";
	for (uint32_t kernels = 0; genie_lsh_kernels_nth(kernels) != NULL; kernels++)
	{
		functions.lsh->kernels = genie_lsh_kernels_nth(kernels);
		genie_lsh_hash(functions.lsh, hashed.vectors.data(), hashed.hashing.n_vectors, right.data());
		for (size_t i = 0; i < n; i++)
			if (hashed.codes[i] != right[i])
				return "vector " + std::to_string(i / n_functions) + ", function " + std::to_string(i % n_functions) +
					": " + std::to_string(hashed.codes[i]) + " and not " + std::to_string(right[i]) + ", as " +
					functions.lsh->kernels->name;
	}
	for (size_t i = n; i < n + GUARDS; i++)
		if (hashed.codes[i] != GUARD)
			return "something was written behind the codes";
	return "";
}

struct Kind
{
	const char *name;
	GenieLshFamily family;
	uint32_t	n_buckets;
	double		width;
};

/* Ordinary vectors and odd ones in one batch. */
static void
check_shape(const Kind &kind, uint32_t n_vectors, uint32_t n_functions, uint32_t n_dimensions)
{
	const GenieLshParameters parameters =
		{(uint32_t) kind.family, n_functions, n_dimensions, kind.n_buckets, 17, kind.width, {}};
	Random		random(n_vectors + n_functions + n_dimensions);
	const Functions functions(parameters);
	Hashed		hashed(functions, make_vectors(random, n_vectors, n_dimensions, ordinary));
	Hashed		beside(functions, make_vectors(random, std::min(n_vectors, 70u), n_dimensions, odd));
	std::string wrong;

	run_jobs({&hashed, &beside});
	wrong = wrong_codes(functions, hashed);
	if (wrong.empty())
		wrong = wrong_codes(functions, beside);
	report("hash",
		   std::string(kind.name) + ", " + std::to_string(n_vectors) + " vectors of " + std::to_string(n_dimensions) +
			   " by " + std::to_string(n_functions),
		   wrong);
}

void
hash_cases()
{
	struct Shape
	{
		uint32_t	n_vectors;
		uint32_t	n_functions;
		uint32_t	n_dimensions;
	};
	const std::vector<Kind> kinds = {{"L2", GENIE_LSH_L2, 0, 4},
									 {"L2 in 67 buckets", GENIE_LSH_L2, 67, 4},
									 {"L2 in 8192 buckets", GENIE_LSH_L2, 8192, 0.25},
									 {"L2 past int32", GENIE_LSH_L2, 0, 1e-8},
									 {"L2 past doubles", GENIE_LSH_L2, 0, DBL_TRUE_MIN},
									 {"L2 in one bucket", GENIE_LSH_L2, 0, 1e300},
									 {"L1", GENIE_LSH_L1, 0, 4},
									 {"L1 in 8192 buckets", GENIE_LSH_L1, 8192, 1},
									 {"Laplacian", GENIE_LSH_LAPLACIAN, 8192, 40},
									 {"Laplacian, codes as they are", GENIE_LSH_LAPLACIAN, 0, 1000},
									 {"Laplacian past int32", GENIE_LSH_LAPLACIAN, 67, 1e-9},
									 {"cosine", GENIE_LSH_COSINE, 0, 1},
									 {"cosine of 3 bits", GENIE_LSH_COSINE, 0, 3},
									 {"cosine of 16 bits", GENIE_LSH_COSINE, 0, 16}};
	std::vector<Shape> shapes = {{1, 1, 1}, {7, 15, 3}, {8, 16, 16}, {9, 17, 3}, {65, 67, 17}};

	if (scale != TINY)
		shapes.insert(shapes.end(), {{64, 64, 8}, {1000, 192, 128}, {130, 237, 300}, {1000, 16, 1}});
	if (scale == WHOLE)
		shapes.insert(shapes.end(), {{1000, 237, 1156}, {1, 192, 128}, {20000, 192, 16}});
	for (const Shape &shape : shapes)
		for (const Kind &kind : kinds)
			if (is_mine())
				check_shape(kind, shape.n_vectors, shape.n_functions, shape.n_dimensions);
}

/* A job that cannot be done gets a status and no result. */
void
hash_failure_case()
{
	Random		random(1);
	const Functions functions({GENIE_LSH_L2, 64, 64, 0, 1, 1, {}});
	Hashed		hashed(functions, make_vectors(random, 1000, 64, ordinary));
	bool		good;

	if (!is_mine())
		return;
	cuda->interrupted = stop_at_once;
	run_jobs({&hashed});
	cuda->interrupted = NULL;
	good = hashed.job.status == GENIE_STATUS_CANCELLED;
	report("hash", "interrupted", good ? "" : "not GENIE_STATUS_CANCELLED");
	cuda->ops->set_memory_limit(cuda, 100000);
	run_jobs({&hashed});
	cuda->ops->set_memory_limit(cuda, 0);
	good = hashed.job.status == GENIE_STATUS_NO_ROOM && hashed.codes[0] == GUARD;
	report("hash", "what does not fit the device", good ? "" : "not GENIE_STATUS_NO_ROOM");
	run_jobs({&hashed});
	report("hash", "after these", wrong_codes(functions, hashed));
}
