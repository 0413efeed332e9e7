/*
 * bench_cuda_cublas.cuh
 *	  cuBLAS, as far as the benchmark compares with it.
 *
 * It is looked for when it is needed, as not every host has it; its numbers used here are those of its header.
 */
#ifndef BENCH_CUDA_CUBLAS_CUH
#define BENCH_CUDA_CUBLAS_CUH

#include <dlfcn.h>
#include <library_types.h>

#include <algorithm>
#include <chrono>

/* Functions of cuBLAS that are used, and numbers of cublas_api.h that they are given. */
typedef int (*CublasCreate)(void **handle);
typedef int (*CublasDestroy)(void *handle);
typedef int (*CublasGemmEx)(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const void *alpha,
							const void *a, cudaDataType a_type, int a_stride, const void *b, cudaDataType b_type,
							int b_stride, const void *beta, void *c, cudaDataType c_type, int c_stride,
							int compute_type, int algorithm);
constexpr int CUBLAS_NOT_TRANSPOSED = 0;
constexpr int CUBLAS_TRANSPOSED = 1;
constexpr int CUBLAS_FLOATS = 68;	/* no TF32 */
constexpr int CUBLAS_32_BIT_INTEGERS = 72;
constexpr int CUBLAS_ANY_ALGORITHM = -1;

struct Cublas
{
	void	   *handle = nullptr;
	CublasDestroy destroy = nullptr;
	CublasGemmEx gemm = nullptr;

	~Cublas()
	{
		if (handle != nullptr)
			(void) destroy(handle);
	}

	/* NULL, or why there is none */
	const char *open()
	{
		void	   *library = nullptr;
		CublasCreate create;

		for (const char *name :
			 {"libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"})
			if (library == nullptr)
				library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (library == nullptr)
			return "there is no cuBLAS";
		create = (CublasCreate) dlsym(library, "cublasCreate_v2");
		destroy = (CublasDestroy) dlsym(library, "cublasDestroy_v2");
		gemm = (CublasGemmEx) dlsym(library, "cublasGemmEx");
		if (create == nullptr || destroy == nullptr || gemm == nullptr || create(&handle) != 0)
			return "cuBLAS does not start";
		return nullptr;
	}
};

/* Prepares, runs once to warm up, and then for the best of three.  All return NULL, or a text that says what failed. */
template <class PREPARE, class RUN>
static const char *
bench_gpu_best(bool needs_cublas, double *ms, PREPARE prepare, RUN run)
{
	constexpr uint32_t RUNS = 4;
	Cublas		cublas;
	const char *error = needs_cublas ? cublas.open() : nullptr;

	if (error == nullptr)
		error = prepare();
	for (uint32_t i = 0; i < RUNS && error == nullptr; i++)
	{
		const auto	begin = std::chrono::steady_clock::now();
		double		run_ms;

		error = run(cublas);
		run_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
		*ms = i <= 1 ? run_ms : std::min(*ms, run_ms);
	}
	return error;
}

#endif							/* BENCH_CUDA_CUBLAS_CUH */
