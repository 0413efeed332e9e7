/*
 * genie_cuda_bounds.cuh
 *	  Lower bounds of the distances of a pass's hits, from quantized vectors, if jobs want them and there is room.
 *
 * The steps of a pass.  When it has all that it cannot do without, acquire() asks for copies of the vectors.  pack()
 * puts the queries' elements into the blob, and room for the bounds into the result; it does so without copies, too, so
 * the pass's size does not depend on them.  upload() follows when counting has been started, so that copying goes on
 * beside it.  run() starts the kernel behind those that write the hits.
 */
#ifndef GENIE_CUDA_BOUNDS_CUH
#define GENIE_CUDA_BOUNDS_CUH

#include "genie_cuda_results.cuh"
#include "genie_quantized_bound.h"

/* A query's hits and the vectors, on the device. */
struct GenieCudaBoundsQuery
{
	GenieMetric metric;
	uint32_t	n_dimensions;
	uint32_t	n_objects;
	uint32_t	n_bytes;		/* of a vector's record */
	const uint8_t *const *tiles;	/* NULL: there are no vectors, and all bounds are 0 */
	const float *elements;
	float		error;
	GenieQuantizedMargins margins;
	const GenieHit *hits;
	const uint4 *n_hits;		/* in x */
	float	   *bounds;			/* n_bounds of them, with zeros behind the last hit */
	uint32_t	n_bounds;
};

/* Starts the kernel.  n_bounds is the sum over all queries, max_bounds the largest of one query. */
extern void genie_cuda_bounds_launch(const GenieCudaBoundsQuery *queries, uint32_t n_queries, uint64_t n_bounds,
									 uint32_t max_bounds, cudaStream_t stream);

class GenieCudaBounds
{
public:
	explicit GenieCudaBounds(GenieCudaContext &context_) : context(context_) {}

	/* Takes room for the vectors of the jobs that want bounds, as far as there is room. */
	void		acquire(const std::vector<GenieJob *> &jobs, uint64_t pass);

	/* Lays out what the jobs need: before acquire() to learn the size, and after it with the same jobs. */
	void		pack(const std::vector<GenieJob *> &jobs, GenieCudaBuffer &blob, GenieCudaBuffer &result);

	/* Sets where the hits of packed job i will be.  Has no effect in a dry run. */
	void		set_hits(size_t i, const GenieHit *hits, const uint4 *n_hits);

	/* Is there anything to be copied to the device? */
	bool		to_upload() const;

	/* Starts copying what is not on the device.  Throws if the engine is interrupted. */
	void		upload();

	void		run();

	/* Adds a job's bounds to the results. */
	void		add_to(GenieCudaResults &results, size_t i, const GenieJob &job) const;

	/* Gives a job its bounds, after n_hits and the results have come back.  direct: they went straight to the job. */
	void		give(size_t i, bool direct, GenieJob &job) const;

private:
	/* For each job that was packed. */
	struct Packed
	{
		GenieCudaBoundsQuery *query = nullptr;	/* on the host; NULL: it wants no bounds, or the run is dry */
		const float *bounds = nullptr;	/* on the host, after they have come back */
	};

	struct Acquired
	{
		const GenieQuantizedVectors *vectors;
		GenieCudaVectors *copy;
	};

	GenieCudaContext &context;
	std::map<uint64_t, Acquired> acquired;	/* by the vectors' ids */
	std::vector<Packed> packed;
	const GenieCudaBoundsQuery *queries = nullptr;	/* on the device */
	uint32_t	n_queries = 0;
	uint64_t	n_bounds = 0;
	uint32_t	max_bounds = 0;
};

#endif							/* GENIE_CUDA_BOUNDS_CUH */
