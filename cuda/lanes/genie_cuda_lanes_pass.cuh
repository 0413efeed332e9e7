/*
 * genie_cuda_lanes_pass.cuh
 *	  A pass of bit lanes: TOP jobs of one image, done together.
 *
 * In stream order: the queries to the device; their tables; then launches over more and more objects, in object order.
 * Between launches events become candidates, each query keeps its best k candidates, and later objects must beat the
 * k-th of them; so a few launches, each over so many times the objects of those before, give each query some hundred
 * candidates to choose from, whatever the number of objects.
 *
 * Many candidates of many objects are better found at once: what k of all objects reach, a sample tells well enough
 * (every so manieth unit, in growing launches, as above).  Then one launch goes over all objects, with that as the
 * threshold, and the best k are selected from what reaches it: exactly, if k do.  Ties are not left out there, so that
 * is for queries of many dimensions only, few of whose counts are alike.
 *
 * Where objects come in an order that has the best ones last, a query may have more candidates than there is room for;
 * and where a sample is not like the rest, fewer than k.  Its answer is then not complete, and its job is given back to
 * be done by tiles.  An image whose samples often mislead is not sampled any more.
 */
#ifndef GENIE_CUDA_LANES_PASS_CUH
#define GENIE_CUDA_LANES_PASS_CUH

#include "genie_cuda_lanes.cuh"
#include "genie_cuda_tiles_pass.cuh"

class GenieCudaLanesPass
{
public:
	GenieCudaLanesPass(GenieCudaContext &context_, const GenieCudaLaneImage &lanes) :
		context(context_), bounds(context_), layout(lanes.layout), by_tensor(lanes.by_tensor),
		places(by_tensor ? lanes.tensor_places : lanes.places),
		table_bytes(by_tensor ? lanes.tensor_bytes : lanes.layout.table_bytes()) {}

	/* Can lanes do the job at all, if they can do its image? */
	static bool can_do(const GenieJob &job);

	/* Bytes that a pass of these jobs needs. */
	GenieCudaBytes bytes_of(const std::vector<GenieJob *> &jobs);

	/*
	 * Runs jobs of one image; throws if anything fails, and then none has a result.  number: as GenieCudaTilesPass.  Returns
	 * those that have to be done in another way.
	 */
	std::vector<GenieJob *> run(const std::vector<GenieJob *> &jobs, uint64_t number);

private:
	void		plan(const std::vector<GenieJob *> &jobs);
	GenieCudaBytes pack(const std::vector<GenieJob *> &jobs, const GenieCudaBytes &sizes, uint8_t *host,
						uint8_t *device);
	void		upload(const GenieSegmentImage &image, GenieCudaImage &copy);
	bool		is_to_sample(const GenieSegmentImage &image, const GenieCudaImage &copy) const;
	void		count_units(GenieCudaLaneLaunch &launch, uint32_t last_object, bool is_sample);
	void		count_growing(GenieCudaLaneLaunch &launch, uint32_t unit, uint64_t n_units, bool is_sample);
	void		count(const GenieSegmentImage &image, const GenieCudaImage &copy);
	bool		start_results(const std::vector<GenieJob *> &jobs, uint8_t *host, const uint8_t *device,
							  size_t n_bytes) const;
	std::vector<GenieJob *> give_results(const std::vector<GenieJob *> &jobs, bool direct, GenieCudaImage &copy);

	GenieCudaContext &context;
	GenieCudaBounds bounds;
	const GenieCudaLaneLayout &layout;
	const bool	by_tensor;
	const std::vector<GenieCudaLanePlace> &places;
	const uint32_t table_bytes; /* of a slice */
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
