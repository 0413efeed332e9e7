/*
 * genie_cuda_bounds.cuh
 *	  Lower bounds of the distances of a pass's hits, from quantized vectors, where jobs want them and there is room.
 *
 * A pass asks for copies of the vectors when it has all that it cannot do without: acquire().  Then it packs: the
 * queries' elements into its blob, room for the bounds into its result, whether or not there are copies, so that its
 * size does not depend on that.  upload() comes when counting has been started, so that copying goes on beside it, and
 * run() when the hits are on their places.
 */
#ifndef GENIE_CUDA_BOUNDS_CUH
#define GENIE_CUDA_BOUNDS_CUH

#include "genie_cuda_results.cuh"
#include "genie_quantized_bound.h"

/* A query's hits, and the vectors; on the device. */
struct GenieCudaBoundsQuery
{
	GenieMetric metric;
	uint32_t	n_dimensions;
	uint32_t	n_objects;
	uint32_t	n_bytes;		/* of a record */
	const uint8_t *const *tiles;	/* NULL: there are no vectors, and all bounds are 0 */
	const float *elements;
	float		error;
	GenieQuantizedMargins margins;
	const GenieHit *hits;
	const uint4 *n_hits;		/* in x */
	float	   *bounds;			/* n_bounds of them, those behind the last hit 0 */
	uint32_t	n_bounds;
};

/* Starts the kernel.  n_bounds: of all queries; max_bounds: of the one that has most. */
extern void genie_cuda_bounds_launch(const GenieCudaBoundsQuery *queries, uint32_t n_queries, uint64_t n_bounds,
									 uint32_t max_bounds, cudaStream_t stream);

class GenieCudaBounds
{
public:
	explicit GenieCudaBounds(GenieCudaContext &context_) : context(context_) {}

	/* Takes room for the vectors of those of a pass's jobs that want bounds, as far as there is room. */
	void		acquire(const std::vector<GenieJob *> &jobs, uint64_t pass);

	/* Lays out what the jobs need; before acquire() to know the size, then with the same jobs. */
	void		pack(const std::vector<GenieJob *> &jobs, GenieCudaBuffer &blob, GenieCudaBuffer &result);

	/* Where the hits of a job will be: number i of those that were packed.  Not while packing is dry. */
	void		set_hits(size_t i, const GenieHit *hits, const uint4 *n_hits);

	/* Is there anything to be copied to the device? */
	bool		to_upload() const;

	/* Starts copying of what is not on the device; throws if the engine's caller says stop. */
	void		upload();

	void		run();

	/* Adds the bounds of a job to what comes back. */
	void		add_to(GenieCudaResults &results, size_t i, const GenieJob &job) const;

	/* Gives a job its bounds, when n_hits is known and the result has come back, be it to where it is wanted. */
	void		give(size_t i, bool direct, GenieJob &job) const;

private:
	/* Of each job that was packed. */
	struct Packed
	{
		GenieCudaBoundsQuery *query = nullptr;	/* on the host, NULL: no bounds are wanted, or packing is dry */
		const float *bounds = nullptr;	/* the same, as it comes back */
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
