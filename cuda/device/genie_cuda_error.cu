/*
 * genie_cuda_error.cu
 *	  What a failure means: something does not fit, it may work next time, or the device is lost.
 *
 * A sticky error stays with the process's context: every later call returns it, and only a new process helps.  Sticky
 * errors are known by their codes.  The list may be incomplete, so an error also counts as sticky if it is still there
 * after it was read and the device is idle.
 */
#include <cstdio>
#include <new>

#include "genie_cuda_error.cuh"

static bool
is_sticky(cudaError_t code)
{
	switch (code)
	{
		case cudaErrorIllegalAddress:
		case cudaErrorLaunchFailure:
		case cudaErrorLaunchTimeout:
		case cudaErrorHardwareStackError:
		case cudaErrorIllegalInstruction:
		case cudaErrorMisalignedAddress:
		case cudaErrorInvalidAddressSpace:
		case cudaErrorInvalidPc:
		case cudaErrorAssert:
		case cudaErrorECCUncorrectable:
		case cudaErrorNvlinkUncorrectable:
		case cudaErrorDevicesUnavailable:
		case cudaErrorDeviceUninitialized:
		case cudaErrorContextIsDestroyed:
		case cudaErrorCudartUnloading:
		case cudaErrorUnknown:
			return true;
		default:
			return false;
	}
}

static GenieStatus
classify_cuda(const GenieCudaError &failure, char *error) noexcept
{
	const bool no_room = failure.code == cudaErrorMemoryAllocation;
	cudaError_t still;

	(void) cudaGetLastError();
	still = cudaDeviceSynchronize();
	(void) cudaGetLastError();
	snprintf(error, GENIE_ENGINE_ERROR_MAX, "CUDA error %d (%s) in %.120s", (int) failure.code,
			 cudaGetErrorString(failure.code), failure.what());
	if (is_sticky(failure.code) || still != cudaSuccess)
		return GENIE_STATUS_LOST;
	return no_room ? GENIE_STATUS_NO_ROOM : GENIE_STATUS_RETRY;
}

GenieStatus
genie_cuda_classify(char *error) noexcept
{
	try
	{
		throw;
	}
	catch (const GenieCudaError &failure)
	{
		return classify_cuda(failure, error);
	}
	catch (const GenieCudaFailure &failure)
	{
		(void) cudaDeviceSynchronize();
		snprintf(error, GENIE_ENGINE_ERROR_MAX, "%s", failure.what());
		return failure.status;
	}
	catch (const std::bad_alloc &)
	{
		(void) cudaDeviceSynchronize();
		snprintf(error, GENIE_ENGINE_ERROR_MAX, "out of host memory");
		return GENIE_STATUS_RETRY;
	}
	catch (const std::exception &failure)
	{
		(void) cudaDeviceSynchronize();
		snprintf(error, GENIE_ENGINE_ERROR_MAX, "%s", failure.what());
		return GENIE_STATUS_RETRY;
	}
	catch (...)
	{
		snprintf(error, GENIE_ENGINE_ERROR_MAX, "unknown failure");
		return GENIE_STATUS_LOST;
	}
}
