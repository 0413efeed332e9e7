/*
 * genie_cuda_tiles_pass.cuh
 *	  A pass: jobs that are done together, with one copy to the device, some kernels and one copy back.
 *
 * A batch is one pass where its images and its scratch fit the device; else several.  COUNTS and MASK jobs of many
 * tiles are cut into several works; a TOP job whose candidates do not fit scratch is a pass of its own and is counted
 * in several runs of tiles, between which only its best k are kept.
 *
 * Packing lays three buffers out: *blob*, copied to the device (queries, ranges, key tables, state), *result*, copied
 * back, and *room*, which stays there (candidates, masks, lists).  It is run twice by the same code: first dry, which
 * only adds up bytes, then into the memory.
 *
 * Kernels of one pass, in stream order, for each image (complete ones first) and each run of its tiles: condition by
 * condition the masks; then counting and candidates, or counts; and at the end, for all images, the best k, and bounds
 * of their distances (genie_cuda_bounds.cuh).  Runs of tiles are whole images, but groups where an image is being
 * copied, so that counting begins with the first group.
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
		context(context_), number(number_), bounds(context_) {}

	/* Bytes that a part alone would need, counted in runs of chunk_tiles. */
	static GenieCudaBytes bytes_of(GenieCudaContext &context, const GenieCudaJobPart &part, uint32_t chunk_tiles);

	/* Runs the parts; throws if anything fails, and then no job has a result. */
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
		bool		large;		/* of a k that is not sorted in shared memory */
		uint32_t	first_tile;
		uint32_t	n_tiles;
		uint32_t	splits_log2 = 0;	/* parts of a tile */
		bool		sparse = false;	/* for genie_cuda_sparse(), but for the first tile */
		std::vector<uint32_t> parts;	/* numbers of the pass's parts */
		const GenieCudaQuery *queries = nullptr;	/* on the device */

		bool		same(const Launch &other) const;
	};

	/* What is known of a part on the device while packing, and where its result is on the host. */
	struct Packed
	{
		uint64_t   *mask = nullptr;
		const uint8_t *result = nullptr;
		const uint32_t *n_hits = nullptr;
	};

	/* A key table's rows on the device, and what the largest key needs. */
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
	PackedKeys	pack_keys(const GenieKeyTable *table, uint32_t max_count, GenieCudaBuffer &blob);
	void		pack_top(GenieCudaQuery &packed, const Launch &launch, uint32_t part, GenieCudaBuffer &blob,
						 GenieCudaBuffer &result, GenieCudaBuffer &room);
	void		run_image(const GenieSegmentImage &image);
	void		run_tiles(const GenieSegmentImage &image, const GenieCudaImage &copy, uint32_t first_tile,
						  uint32_t end_tile);
	void		run_launch(const Launch &planned, const GenieCudaImage &copy, uint32_t first_tile, uint32_t end_tile,
						   bool bounds_known);
	void		run_top();
	void		give_results();

	GenieCudaContext &context;
	const uint64_t number;
	GenieCudaBounds bounds;
	uint32_t	chunk = 0;		/* tiles counted between two times that candidates are reduced to the best k */
	std::vector<GenieCudaJobPart> work;
	std::vector<GenieJob *> jobs;	/* of work, one a part */
	std::vector<Launch> launches;
	std::vector<Packed> packed_parts;

	/* what is packed of key tables, once for all jobs that share one: by largest count; by smallest and largest size */
	std::map<std::tuple<const GenieKeyTable *, uint32_t>, PackedKeys> packed_keys;
	std::map<std::tuple<const GenieKeyTable *, uint32_t, uint32_t>, const uint16_t *> packed_classes;

	/* on the device */
	const GenieCudaQuery *top_small = nullptr;
	const GenieCudaQuery *top_large = nullptr;
	uint32_t	n_top_small = 0;
	uint32_t	n_top_large = 0;
	GenieCudaSort sort = {};
	GenieCudaLeft left = {};
};

#endif							/* GENIE_CUDA_TILES_PASS_CUH */
