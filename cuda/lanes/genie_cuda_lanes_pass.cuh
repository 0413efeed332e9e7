/*
 * genie_cuda_lanes_pass.cuh
 *	  A pass of bit lanes: TOP jobs, or TALLY jobs, of the same tiles of one image, done together.
 *
 * In stream order: the queries go to the device; their tables are filled; then launches count more and more objects, in
 * object order.  Between launches events become candidates and each query keeps its best k, and later objects must beat
 * the k-th of them.  Each launch counts several times the objects of those before it, so a query has some hundred
 * candidates to choose from, whatever the number of objects.
 *
 * Threshold samples.  For a large k on many objects another way is faster.  A sample, every GENIE_CUDA_LANE_SAMPLE-th
 * unit in growing launches, tells well enough which count k of all objects reach.  Then one launch counts all objects
 * with that as the threshold, and the best k are selected from those that reach it.  The answer is exact if k objects
 * do.  Ties with the threshold are candidates too, so this is for queries of many dimensions only, whose counts differ.
 *
 * If the best objects come last, a query may have more candidates than room; if a sample is not like the rest, it may
 * have fewer than k.  Its answer is then incomplete, and its job is given back to be done by tiles.  An image whose
 * samples often mislead is not sampled any more.
 *
 * TALLY jobs take one launch, which adds up; never on tensor cores.
 */
#ifndef GENIE_CUDA_LANES_PASS_CUH
#define GENIE_CUDA_LANES_PASS_CUH

#include "genie_cuda_lanes.cuh"
#include "genie_cuda_tiles_pass.cuh"

class GenieCudaLanesPass
{
public:
	GenieCudaLanesPass(GenieCudaContext &context_, const GenieCudaLaneImage &lanes, GenieJobKind kind) :
		context(context_), bounds(context_), layout(lanes.layout), tallies(kind == GENIE_JOB_TALLY),
		by_tensor(is_by_tensor(lanes, kind)), places(by_tensor ? lanes.tensor_places : lanes.places),
		table_bytes(by_tensor ? lanes.tensor_bytes : lanes.layout.table_bytes())
	{}

	/* Can lanes do the job, if they can count its image? */
	static bool can_do(const GenieJob &job);

	/* Do tensor cores count jobs of the kind? */
	static bool is_by_tensor(const GenieCudaLaneImage &lanes, GenieJobKind kind)
	{
		return lanes.by_tensor && kind != GENIE_JOB_TALLY;
	}

	/* Bytes that a pass of these jobs needs. */
	GenieCudaBytes bytes_of(const std::vector<GenieJob *> &jobs);

	/*
	 * Runs jobs of the pass's kind and the same tiles of one image.  Throws if anything fails; then no job has a
	 * result.  number is the pass's (genie_cuda_image.cuh).  Returns the jobs that tiles have to do.
	 */
	std::vector<GenieJob *> run(const std::vector<GenieJob *> &jobs, uint64_t number);

private:
	void		plan(const std::vector<GenieJob *> &jobs);
	GenieCudaBytes pack(const std::vector<GenieJob *> &jobs, const GenieCudaBytes &sizes, uint8_t *host,
						uint8_t *device);
	void		upload(const GenieSegmentImage &image, GenieCudaImage &copy);
	bool		is_to_sample(const GenieCudaImage &copy) const;
	void		count_units(GenieCudaLaneLaunch &launch, uint32_t last_object, bool is_sample);
	void		count_growing(GenieCudaLaneLaunch &launch, uint32_t unit, uint64_t n_units, bool is_sample);
	void		count(const GenieCudaImage &copy);
	bool start_results(const std::vector<GenieJob *> &jobs, uint8_t *host, const uint8_t *device, size_t n_bytes) const;
	std::vector<GenieJob *> give_results(const std::vector<GenieJob *> &jobs, bool direct, GenieCudaImage &copy);

	GenieCudaContext &context;
	GenieCudaBounds bounds;
	const GenieCudaLaneLayout &layout;
	const bool	tallies;		/* TALLY, else TOP */
	const bool	by_tensor;
	const std::vector<GenieCudaLanePlace> &places;
	const uint32_t table_bytes; /* of a slice */
	uint32_t	first_object = 0;	/* of the jobs' tiles */
	uint32_t	n_objects = 0;	/* in them */
	uint32_t	n_queries = 0;
	uint32_t	n_slices = 0;
	uint32_t	max_k = 0;
	uint32_t	min_ranges = 0;
	uint32_t	max_count = 0;
	uint32_t	capacity = 0;	/* candidates of a query */
	uint32_t	slice_room = 0; /* events of a slice */
	size_t		head_bytes = 0; /* of the result, before hits and bounds */
	bool		is_sampled = false;

	/* on the device */
	const GenieCudaQuery *queries = nullptr;
	const uint64_t *live = nullptr; /* of TALLY jobs that bring it */
	const GenieCudaLanePlace *device_places = nullptr;
	uint8_t    *tables = nullptr;
	GenieCudaLaneEvent *events = nullptr;
	uint32_t   *n_events = nullptr;
	uint32_t   *unfit = nullptr;
	GenieHit   *device_hits = nullptr;

	/* what came back */
	const uint4 *n_hits = nullptr;
	const GenieHit *hits = nullptr;
	const uint32_t *host_unfit = nullptr;
};

#endif							/* GENIE_CUDA_LANES_PASS_CUH */
