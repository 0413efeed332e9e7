/*
 * genie_cuda_error.cuh
 *	  Failures: CUDA calls throw, and one place turns exceptions into a status and a sentence.
 *
 * Nothing but genie_cuda_guard() catches, and nothing thrown leaves the library.
 */
#ifndef GENIE_CUDA_ERROR_CUH
#define GENIE_CUDA_ERROR_CUH

#include <exception>

#include "genie_engine.h"

/* A failed CUDA call. */
class GenieCudaError : public std::exception
{
public:
	GenieCudaError(cudaError_t code_, const char *what_) : code(code_), call(what_) {}
	const char *what() const noexcept override
	{
		return call;
	}
	const cudaError_t code;

private:
	const char *call;			/* a literal */
};

/* A failure that the engine finds by itself, with its status. */
class GenieCudaFailure : public std::exception
{
public:
	GenieCudaFailure(GenieStatus status_, const char *sentence_) : status(status_), sentence(sentence_) {}
	const char *what() const noexcept override
	{
		return sentence;
	}
	const GenieStatus status;

private:
	const char *sentence;		/* a literal */
};

/* Throws if a CUDA call failed. */
static inline void
genie_cuda_check(cudaError_t code, const char *call)
{
	if (code != cudaSuccess)
		throw GenieCudaError(code, call);
}

#define GENIE_CUDA_CHECK(call) genie_cuda_check((call), #call)

/* After a kernel's launch. */
static inline void
genie_cuda_check_launch(const char *kernel)
{
	genie_cuda_check(cudaGetLastError(), kernel);
}

/*
 * Returns the status of the exception that is being handled and writes a sentence about it into error, of
 * GENIE_ENGINE_ERROR_MAX bytes.  Waits until the device is idle.  Called in a handler only.
 */
extern GenieStatus genie_cuda_classify(char *error) noexcept;

/* Runs body() and turns what it throws into a status. */
template <class BODY>
GenieStatus
genie_cuda_guard(char *error, BODY body) noexcept
{
	try
	{
		body();
		return GENIE_OK;
	}
	catch (...)
	{
		return genie_cuda_classify(error);
	}
}

#endif							/* GENIE_CUDA_ERROR_CUH */
