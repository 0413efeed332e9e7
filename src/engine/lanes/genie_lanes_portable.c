/*
 * genie_lanes_portable.c
 *	  Bit lanes in C alone: blocks of 128 queries.  The other instances are tested against it.
 */
#include "genie_lanes_kernel.h"

const GenieLaneKernels genie_lanes_portable = LANE_KERNELS("portable");
