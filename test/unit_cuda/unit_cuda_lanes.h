/*
 * unit_cuda_lanes.h
 *	  Tests of bit lanes, for unit_cuda.cpp.
 */
#ifndef UNIT_CUDA_LANES_H
#define UNIT_CUDA_LANES_H

#include <string>

#include "genie_cuda_data.h"

/* A case's name, what it is about, and what was wrong: "" if nothing. */
typedef std::function<void (const char *name, const std::string &what, const std::string &wrong)> Report;

/* little_shared: the device has so little shared memory that some tables do not fit, and are counted by tiles. */
extern void lanes_cases(GenieEngine *cuda, Arena &arena, bool quick, bool little_shared, const Report &report);

/* used: the device is told to count by tensor cores where they can, else never to. */
extern void tensor_cases(GenieEngine *cuda, Arena &arena, bool quick, bool used, const Report &report);

#endif							/* UNIT_CUDA_LANES_H */
