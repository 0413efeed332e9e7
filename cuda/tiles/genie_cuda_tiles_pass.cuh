/*
 * genie_cuda_tiles_pass.cuh
 *	  A pass of tiles: jobs that are done together, with one copy to the device, some kernels and one copy back.
 *
 * A batch is one pass if its images and its scratch fit the device, and several otherwise.  COUNTS and MASK jobs of
 * many tiles are cut into several parts.  A TOP job whose candidates do not fit scratch is a pass of its own: its tiles
 * are counted in several runs, and only the best k are kept from one run to the next.
 *
 * Packing lays out three buffers: *blob*, which is copied to the device (queries, ranges, key tables, state), *result*,
 * which is copied back, and *room*, which stays there (candidates, masks, lists).  The same code runs twice: first dry,
 * to add up the bytes, then into the memory.
 *
 * Kernels of a pass, in stream order.  For each image (complete copies first) and each run of its tiles: the masks,
 * condition by condition, then counting with candidates or counts.  At the end, for all images: the best k, and bounds
 * of their distances (genie_cuda_bounds.cuh).  A run is the whole image; while an image is being copied it is a group,
 * so that counting begins with the first group.
 */
#ifndef GENIE_CUDA_TILES_PASS_CUH
#define GENIE_CUDA_TILES_PASS_CUH

#include <map>
#include <tuple>
#include <vector>

#include "genie_cuda_bounds.cuh"
#include "genie_cuda_sparse.cuh"
#include "genie_cuda_top.cuh"

/* A job, or some tiles of one. */
struct GenieCudaJobPart
{
	GenieJob   *job;
	uint32_t	first_tile;
	uint32_t	n_tiles;
};

class GenieCudaTilesPass
{
public:
	GenieCudaTilesPass(GenieCudaContext &context_, uint64_t number_) :
		context(context_), number(number_), bounds(context_)
	{}

	/* Bytes that the part alone would need, counted in runs of chunk_tiles. */
	static GenieCudaBytes bytes_of(GenieCudaContext &context, const GenieCudaJobPart &part, uint32_t chunk_tiles);

	/* Runs the parts.  Throws if anything fails; then no job has a result. */
	void		run(const std::vector<GenieCudaJobPart> &parts, uint32_t chunk_tiles);

private:
	/* Queries that go into the same launches. */
	struct Launch
	{
		const GenieSegmentImage *image;
		uint32_t	condition;	/* conditions in their order, then QUERY */
		int			bits;
		GenieCudaWork work;
		bool		many_ranges;
		bool		large;		/* k is not sorted in shared memory */
		uint32_t	first_tile;
		uint32_t	n_tiles;
		uint32_t	splits_log2 = 0;	/* parts of a tile */
		bool		sparse = false;	/* all tiles but the first are for genie_cuda_sparse() */
		std::vector<uint32_t> parts;	/* numbers of the pass's parts */
		const GenieCudaQuery *queries = nullptr;	/* on the device */

		bool		same(const Launch &other) const;
	};

	/* A part's mask on the device, and where its result will be on the host. */
	struct Packed
	{
		uint64_t   *mask = nullptr;
		const uint8_t *result = nullptr;
		const uint32_t *n_hits = nullptr;
	};

	/* A key table's rows on the device, and the bytes that the largest key needs. */
	struct PackedKeys
	{
		const uint32_t *keys;
		uint32_t	key_bytes;
	};

	void		plan(const std::vector<GenieCudaJobPart> &parts, uint32_t chunk_tiles);
	bool		is_sparse(const Launch &launch) const;
	void		add(uint32_t part, uint32_t condition, const GenieEngineQuery &query, GenieCudaWork work);
	GenieCudaBytes pack(const GenieCudaBytes &sizes, uint8_t *host, uint8_t *device);
	void		pack_sort(const GenieCudaQuery *on_device, GenieCudaQuery *queries, GenieCudaBuffer &blob,
				   GenieCudaBuffer &room);
	GenieCudaQuery pack_query(const Launch &launch, uint32_t part, GenieCudaBuffer &blob, GenieCudaBuffer &result,
							  GenieCudaBuffer &room);
	const uint16_t *pack_classes(const GenieKeyTable *table, const GenieImageGroup *group, GenieCudaBuffer &blob);
	const uint64_t *pack_live(const GenieJob &job, GenieCudaBuffer &blob);
	PackedKeys	pack_keys(const GenieKeyTable *table, uint32_t max_count, GenieCudaBuffer &blob);
	void		pack_top(GenieCudaQuery &packed, const Launch &launch, uint32_t part, GenieCudaBuffer &blob,
				  GenieCudaBuffer &result, GenieCudaBuffer &room);
	void		run_image(const GenieSegmentImage &image);
	void run_tiles(const GenieSegmentImage &image, const GenieCudaImage &copy, uint32_t first_tile, uint32_t end_tile);
	void		run_launch(const Launch &planned, const GenieCudaImage &copy, uint32_t first_tile, uint32_t end_tile,
					bool bounds_known);
	void		run_top();
	void		give_results();

	GenieCudaContext &context;
	const uint64_t number;
	GenieCudaBounds bounds;
	uint32_t	chunk = 0;		/* tiles of a run, after which candidates are reduced to the best k */
	std::vector<GenieCudaJobPart> work;
	std::vector<GenieJob *> jobs;	/* of work, one a part */
	std::vector<Launch> launches;
	std::vector<Packed> packed_parts;

	/* key tables are packed once for all jobs that share them: keys by largest count, classes by range of sizes */
	std::map<std::tuple<const GenieKeyTable *, uint32_t>, PackedKeys> packed_keys;
	std::map<std::tuple<const GenieKeyTable *, uint32_t, uint32_t>, const uint16_t *> packed_classes;

	/* and so are the live objects that jobs bring, by their number of tiles */
	std::map<std::tuple<const uint64_t *, uint32_t>, const uint64_t *> packed_live;

	uint32_t   *host_tallies = nullptr;

	/* on the device */
	uint32_t   *tallies = nullptr;	/* a place for each part, if there are TALLY jobs */
	const GenieCudaQuery *top_small = nullptr;
	const GenieCudaQuery *top_large = nullptr;
	uint32_t	n_top_small = 0;
	uint32_t	n_top_large = 0;
	GenieCudaSort sort = {};
	GenieCudaLeft left = {};
};

#endif							/* GENIE_CUDA_TILES_PASS_CUH */
