/*
 * genie_cuda_probe.h
 *	  Probes: made-up images to measure costs with.
 *
 * A probe is one tile of objects that is there several times, so it is large enough to keep a device busy and is made
 * in a tenth of a second at most.  This is plain C++: images are made by the engine's own code, which CUDA does not
 * compile.
 */
#ifndef GENIE_CUDA_PROBE_H
#define GENIE_CUDA_PROBE_H

#include <vector>

#include "genie_image.h"

/* Objects have one value in each dimension, at random. */
class GenieCudaProbe
{
public:
	GenieCudaProbe(uint64_t id, uint32_t n_objects, uint32_t n_tiles, const std::vector<uint32_t> &n_values);

	GenieSegmentImage image = {};
	std::vector<uint32_t> first_ranks;	/* of the dimensions */
	bool		made = false;

private:
	std::vector<uint64_t> memory;
	std::vector<const GenieImageGroup *> groups;
	std::vector<uint64_t> live;
	std::vector<uint64_t> before;
};

#endif							/* GENIE_CUDA_PROBE_H */
