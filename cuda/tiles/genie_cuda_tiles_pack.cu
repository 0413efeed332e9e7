/*
 * genie_cuda_tiles_pack.cu
 *	  Packing a pass of tiles: which queries are launched together, and what the device needs to know of them.
 */
#include <algorithm>
#include <cstring>

#include "genie_cuda_tiles_pass.cuh"

/* in Launch::condition: the job's query itself, after all conditions */
constexpr uint32_t QUERY = UINT32_MAX;

static const GenieEngineQuery &
query_of(const GenieJob &job, uint32_t condition)
{
	return condition == QUERY ? job.query : job.conditions[condition].query;
}

static bool
is_large(const GenieJob &job)
{
	return job.kind == GENIE_JOB_TOP && job.k > GENIE_CUDA_SORT_MAX;
}

/* The narrowest counters that hold every count. */
static int
bits_for(uint32_t max_count, GenieCudaWork work)
{
	if (max_count < 1u << 4 && work != GENIE_CUDA_WORK_COUNTS)
		return 4;
	return max_count < 1u << 8 ? 8 : 16;
}

/* The most candidates that a job can have from n_tiles tiles: k a piece. */
static size_t
candidates_of(const GenieJob &job, uint32_t n_tiles, uint32_t splits_log2)
{
	const size_t n_pieces = (size_t) n_tiles << splits_log2;
	const uint32_t piece_objects = GENIE_TILE_OBJECTS >> splits_log2;

	return n_pieces * std::min(job.k, piece_objects);
}

bool
GenieCudaTilesPass::Launch::same(const Launch &other) const
{
	return image->id == other.image->id && condition == other.condition && bits == other.bits && work == other.work &&
		many_ranges == other.many_ranges && large == other.large && first_tile == other.first_tile &&
		n_tiles == other.n_tiles;
}

/* Adds a part's query to the launch that is the same but for the query, or to a new one. */
void
GenieCudaTilesPass::add(uint32_t part, uint32_t condition, const GenieEngineQuery &query, GenieCudaWork kind)
{
	Launch		launch;

	launch.image = work[part].job->image;
	launch.condition = condition;
	launch.bits = bits_for(query.max_count, kind);
	launch.work = kind;
	launch.many_ranges = kind == GENIE_CUDA_WORK_TOP && query.n_ranges > GENIE_CUDA_SPARSE_RANGES;
	launch.large = condition == QUERY && is_large(*work[part].job);
	launch.first_tile = work[part].first_tile;
	launch.n_tiles = work[part].n_tiles;

	/* there are few launches, one for each kind of query and image; jobs of one kind often come together */
	for (size_t i = launches.size(); i-- > 0;)
		if (launches[i].same(launch))
		{
			launches[i].parts.push_back(part);
			return;
		}
	launch.parts.push_back(part);
	launches.push_back(std::move(launch));
}

/*
 * Has the launch few enough postings and bitmaps for the sparse kernel?  Estimated by some ranges of some queries in
 * the first tile.
 */
bool
GenieCudaTilesPass::is_sparse(const Launch &launch) const
{
	constexpr uint32_t SOME_QUERIES = 4;
	constexpr uint32_t SOME_RANGES = 16;
	const GenieImageGroup *group = launch.image->groups[0];
	const GenieImageTile *tile = genie_image_tiles(group);
	const size_t n_queries = launch.parts.size();
	uint64_t	n_postings = 0;
	uint64_t	n_bitmaps = 0;

	if (launch.work != GENIE_CUDA_WORK_TOP || genie_image_is_codes(launch.image) ||
		n_queries * launch.n_tiles < GENIE_CUDA_SPARSE_PIECES)
		return false;
	for (uint32_t i = 0; i < SOME_QUERIES; i++)
	{
		const GenieEngineQuery &query = work[launch.parts[n_queries * i / SOME_QUERIES]].job->query;
		const uint32_t step = (query.n_ranges + SOME_RANGES - 1) / SOME_RANGES;

		for (uint32_t j = 0; j < query.n_ranges; j += step)
		{
			const GenieImageSpan span = genie_image_find((const uint8_t *) group, tile, query.ranges[j].first,
														 query.ranges[j].end);

			n_postings += (uint64_t) step * (span.to - span.from);
			n_bitmaps += (uint64_t) step * (span.bitmap_to - span.bitmap_from);
			if (genie_tile_has_chunks(tile))
			{
				const GenieImageSpan chunked = genie_image_find_chunks((const uint8_t *) group, tile,
																	   query.ranges[j].first, query.ranges[j].end);

				n_postings += (uint64_t) step * (chunked.to - chunked.from) * GENIE_CHUNK_MEAN;
			}
		}
	}
	return n_postings <= (uint64_t) SOME_QUERIES * GENIE_CUDA_SPARSE_POSTINGS &&
		n_bitmaps <= (uint64_t) SOME_QUERIES * GENIE_CUDA_SPARSE_BITMAPS;
}

/* Sorts the parts' queries into launches: conditions before the jobs' own queries. */
void
GenieCudaTilesPass::plan(const std::vector<GenieCudaJobPart> &parts, uint32_t chunk_tiles)
{
	uint32_t	max_conditions = 0;

	work = parts;
	chunk = chunk_tiles;
	launches.clear();
	jobs.clear();
	for (const GenieCudaJobPart &part : work)
		jobs.push_back(part.job);
	for (const GenieCudaJobPart &part : work)
		if (genie_job_has_conditions(part.job->kind))
			max_conditions = std::max(max_conditions, part.job->n_conditions);
	for (uint32_t condition = 0; condition < max_conditions; condition++)
		for (uint32_t i = 0; i < work.size(); i++)
			if (genie_job_has_conditions(work[i].job->kind) && condition < work[i].job->n_conditions)
				add(i, condition, work[i].job->conditions[condition].query, GENIE_CUDA_WORK_MASK);

	/* queries of small k first, so that all of them lie together */
	for (uint32_t i = 0; i < work.size(); i++)
		if (work[i].job->kind == GENIE_JOB_COUNTS)
			add(i, QUERY, work[i].job->query, GENIE_CUDA_WORK_COUNTS);
		else if (work[i].job->kind == GENIE_JOB_TALLY)
			add(i, QUERY, work[i].job->query, GENIE_CUDA_WORK_MASK);
	for (const bool large : {false, true})
		for (uint32_t i = 0; i < work.size(); i++)
			if (work[i].job->kind == GENIE_JOB_TOP && is_large(*work[i].job) == large)
				add(i, QUERY, work[i].job->query,
					work[i].job->query.keys != nullptr ? GENIE_CUDA_WORK_TOP_TABLE : GENIE_CUDA_WORK_TOP);
	for (Launch &launch : launches)
	{
		launch.splits_log2 = genie_cuda_dense_splits_log2(context.device, launch.bits,
														  (uint64_t) launch.n_tiles * launch.parts.size());
		launch.sparse = is_sparse(launch);
	}
}

/* The classes of the sizes that occur in the image, by its group. */
const uint16_t *
GenieCudaTilesPass::pack_classes(const GenieKeyTable *table, const GenieImageGroup *group, GenieCudaBuffer &blob)
{
	const auto	name = std::make_tuple(table, group->min_size, group->max_size);
	const auto	found = packed_classes.find(name);
	const size_t n = group->max_size - group->min_size + 1;
	uint16_t   *classes;

	if (found != packed_classes.end())
		return found->second;
	packed_classes[name] = blob.take<uint16_t>(n, &classes);
	if (classes != nullptr)
		memcpy(classes, table->class_of_size + (group->min_size - table->first_size), n * sizeof(uint16_t));
	return packed_classes[name];
}

/* The rows of a table up to a largest count. */
GenieCudaTilesPass::PackedKeys
GenieCudaTilesPass::pack_keys(const GenieKeyTable *table, uint32_t max_count, GenieCudaBuffer &blob)
{
	const auto	name = std::make_tuple(table, max_count);
	const auto	found = packed_keys.find(name);
	const size_t n_counts = max_count + 1;
	PackedKeys	packed = {nullptr, 1};
	uint32_t	largest = 0;
	uint32_t   *keys;

	if (found != packed_keys.end())
		return found->second;
	packed.keys = blob.take<uint32_t>(table->n_classes * n_counts, &keys);
	for (uint32_t i = 0; keys != nullptr && i < table->n_classes; i++)
	{
		memcpy(keys + i * n_counts, table->keys + (size_t) i * table->stride, n_counts * sizeof(uint32_t));
		/* the last one of a row is its largest */
		largest = std::max(largest, keys[i * n_counts + max_count]);
	}
	while (packed.key_bytes < sizeof(uint32_t) && largest >> (8 * packed.key_bytes) != 0)
		packed.key_bytes++;
	return packed_keys[name] = packed;
}

/* The live objects that a job brings, once for all jobs that share them. */
const uint64_t *
GenieCudaTilesPass::pack_live(const GenieJob &job, GenieCudaBuffer &blob)
{
	const auto	name = std::make_tuple(job.live, job.n_tiles);
	const auto	found = packed_live.find(name);
	const size_t n = (size_t) job.n_tiles * GENIE_TILE_WORDS;
	uint64_t   *live;

	if (job.live == nullptr)
		return nullptr;
	if (found != packed_live.end())
		return found->second;
	packed_live[name] = blob.take<uint64_t>(n, &live);
	if (live != nullptr)
		memcpy(live, job.live, n * sizeof(uint64_t));
	return packed_live[name];
}

void
GenieCudaTilesPass::pack_top(GenieCudaQuery &packed, const Launch &launch, uint32_t part, GenieCudaBuffer &blob,
							 GenieCudaBuffer &result, GenieCudaBuffer &room)
{
	const GenieJob &job = *work[part].job;
	const bool	carried = chunk < launch.n_tiles;
	GenieCudaTop *top;
	uint32_t   *histogram;
	GenieHit   *hits;
	uint4	   *n_hits;

	packed.k = job.k;
	packed.min_key = job.min_key;
	packed.has_after = job.has_after;
	packed.after = job.after;
	packed.key_bytes = launch.bits == 16 ? 2 : 1;
	if (job.query.keys != nullptr)
	{
		const GenieImageGroup *group = job.image->groups[0];
		const PackedKeys keys = pack_keys(job.query.keys, job.query.max_count, blob);

		packed.class_of_size = pack_classes(job.query.keys, group, blob);
		packed.n_sizes = group->max_size - group->min_size + 1;
		packed.keys = keys.keys;
		packed.n_classes = job.query.keys->n_classes;
		packed.key_bytes = keys.key_bytes;
	}
	packed.top = blob.take<GenieCudaTop>(1, &top);
	packed.candidates = room.take<GenieCudaCandidate>(
		candidates_of(job, std::min(chunk, launch.n_tiles), launch.splits_log2) + (carried ? job.k : 0));
	if (carried && !is_large(job))
		packed.selected = room.take<GenieCudaCandidate>(job.k);
	if (launch.bits <= 8 && launch.work == GENIE_CUDA_WORK_TOP && !launch.large)
	{
		packed.histogram = blob.take<uint32_t>((size_t) 1 << launch.bits, &histogram);
		if (histogram != nullptr)
			memset(histogram, 0, sizeof(uint32_t) << launch.bits);
	}
	packed.hits = result.take<GenieHit>(job.k + job.k % 2, &hits);
	packed.n_hits = result.take<uint4>(1, &n_hits);
	packed_parts[part].result = (const uint8_t *) hits;
	packed_parts[part].n_hits = (const uint32_t *) n_hits;
	bounds.set_hits(part, packed.hits, packed.n_hits);
	if (top != nullptr)
		*top = GenieCudaTop{0, 0, 0};
}

GenieCudaQuery
GenieCudaTilesPass::pack_query(const Launch &launch, uint32_t part, GenieCudaBuffer &blob, GenieCudaBuffer &result,
							   GenieCudaBuffer &room)
{
	const GenieJob &job = *work[part].job;
	const GenieEngineQuery &query = query_of(job, launch.condition);
	GenieCudaQuery packed = {};
	GenieRankRange *ranges;

	packed.ranges = blob.take<GenieRankRange>(query.n_ranges, &ranges);
	packed.n_ranges = query.n_ranges;
	packed.max_count = query.max_count;
	packed.first_tile = launch.first_tile;
	if (ranges != nullptr && query.n_ranges > 0)
		memcpy(ranges, query.ranges, query.n_ranges * sizeof(GenieRankRange));

	if (job.kind == GENIE_JOB_TALLY)
	{
		packed.min_count = job.min_key;
		packed.tally = tallies + part;
	}
	else if (launch.work == GENIE_CUDA_WORK_MASK)
	{
		if (launch.condition == 0)
		{
			const size_t n = (size_t) launch.n_tiles * GENIE_TILE_WORDS;
			uint64_t   *mask = nullptr;

			if (job.kind == GENIE_JOB_MASK)
			{
				packed_parts[part].mask = result.take<uint64_t>(n, &mask);
				packed_parts[part].result = (const uint8_t *) mask;
			}
			else
				packed_parts[part].mask = room.take<uint64_t>(n);
		}
		packed.min_count = job.conditions[launch.condition].min_count;
		packed.first_condition = launch.condition == 0;
		packed.any = job.any;
	}
	packed.live = pack_live(job, blob);
	packed.mask = packed_parts[part].mask;
	if (launch.work == GENIE_CUDA_WORK_COUNTS)
	{
		uint8_t    *counts;

		packed.counts = result.take<uint8_t>((size_t) launch.n_tiles * GENIE_TILE_OBJECTS * (launch.bits / 8), &counts);
		packed_parts[part].result = counts;
	}
	else if (launch.work != GENIE_CUDA_WORK_MASK)
		pack_top(packed, launch, part, blob, result, room);
	return packed;
}

/*
 * Lays out the buffers for sorting large k.  queries (on the host; NULL in a dry run) and on_device are the first of
 * these.
 */
void
GenieCudaTilesPass::pack_sort(const GenieCudaQuery *on_device, GenieCudaQuery *queries, GenieCudaBuffer &blob,
							  GenieCudaBuffer &room)
{
	uint32_t   *begins;
	uint64_t	n = 0;
	uint32_t	at = 0;

	top_large = on_device;
	for (const GenieCudaJobPart &part : work)
		n += is_large(*part.job) ? part.job->k : 0;
	sort.n = n;
	sort.begins = blob.take<uint32_t>(n_top_large, &begins);
	sort.ends = room.take<uint32_t>(n_top_large);
	sort.from = room.take<GenieCudaCandidate>(n);
	sort.to = room.take<GenieCudaCandidate>(n);
	sort.temporary_bytes = genie_cuda_sort_bytes(n_top_large, n);
	sort.temporary = room.take<uint8_t>(sort.temporary_bytes);
	for (uint32_t i = 0; queries != nullptr && i < n_top_large; i++)
	{
		begins[i] = at;
		queries[i].selected = sort.from + at;
		at += queries[i].k;
	}
}

/*
 * Lays everything out and writes the blob, given the sizes that a dry run (host is NULL) has returned.  On the device
 * blob, result and room follow each other; on the host blob and result do.
 */
GenieCudaBytes
GenieCudaTilesPass::pack(const GenieCudaBytes &sizes, uint8_t *host, uint8_t *device)
{
	const bool	dry = host == nullptr;
	GenieCudaBuffer blob(host, device);
	GenieCudaBuffer result(dry ? nullptr : host + sizes.blob, device + sizes.blob);
	GenieCudaBuffer room(nullptr, device + sizes.blob + sizes.result);
	uint64_t	n_pieces = 0;
	uint32_t	n_queries = 0;
	uint32_t	at = 0;
	GenieCudaQuery *queries;
	GenieCudaQuery *on_device;

	packed_parts.assign(work.size(), Packed());
	packed_keys.clear();
	packed_classes.clear();
	packed_live.clear();
	n_top_small = n_top_large = 0;
	for (const Launch &launch : launches)
		n_queries += (uint32_t) launch.parts.size();
	on_device = blob.take<GenieCudaQuery>(n_queries, &queries);
	tallies = nullptr;
	if (std::any_of(jobs.begin(), jobs.end(), [](const GenieJob *job) { return job->kind == GENIE_JOB_TALLY; }))
		tallies = result.take<uint32_t>(work.size(), &host_tallies);
	bounds.pack(jobs, blob, result);

	for (Launch &launch : launches)
	{
		const uint64_t n_tiles = std::min(chunk, launch.n_tiles);

		launch.queries = on_device + at;
		if (launch.work == GENIE_CUDA_WORK_TOP)
			n_pieces = std::max(n_pieces, n_tiles * launch.parts.size() << launch.splits_log2);
		for (const uint32_t part : launch.parts)
		{
			const GenieCudaQuery query = pack_query(launch, part, blob, result, room);

			if (!dry)
				queries[at] = query;
			at++;
		}
		if (launch.condition == QUERY && work[launch.parts[0]].job->kind == GENIE_JOB_TOP)
			(launch.large ? n_top_large : n_top_small) += (uint32_t) launch.parts.size();
	}
	/* TOP comes last, small k first */
	top_small = on_device + (n_queries - n_top_large - n_top_small);
	if (n_pieces > 0)
	{
		left.n = room.take<uint32_t>(1);
		left.pieces = room.take<uint32_t>(n_pieces);
	}
	if (n_top_large > 0)
		pack_sort(on_device + (n_queries - n_top_large), dry ? nullptr : queries + (n_queries - n_top_large), blob,
				  room);
	return GenieCudaBytes{blob.used, result.used, room.used};
}

GenieCudaBytes
GenieCudaTilesPass::bytes_of(GenieCudaContext &context, const GenieCudaJobPart &part, uint32_t chunk_tiles)
{
	GenieCudaTilesPass pass(context, 0);

	pass.plan({part}, chunk_tiles);
	return pass.pack(GenieCudaBytes{}, nullptr, nullptr);
}
