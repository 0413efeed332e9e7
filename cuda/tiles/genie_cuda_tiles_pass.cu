/*
 * genie_cuda_tiles_pass.cu
 *	  Running a pass of tiles: the kernels in their order, and the results.
 */
#include <algorithm>
#include <cstring>

#include "genie_cuda_tiles_pass.cuh"

/* The images of the launches, each once, complete copies first. */
static std::vector<const GenieSegmentImage *>
images_of(const std::vector<GenieCudaJobPart> &parts, const GenieCudaImages &copies)
{
	std::vector<const GenieSegmentImage *> images;

	for (const GenieCudaJobPart &part : parts)
		if (std::none_of(images.begin(), images.end(),
						 [&](const GenieSegmentImage *image) { return image->id == part.job->image->id; }))
			images.push_back(part.job->image);
	std::stable_partition(images.begin(), images.end(),
						  [&](const GenieSegmentImage *image) { return copies.resident(image->id); });
	return images;
}

/* Counts a launch's queries in some of its tiles.  bounds_known: an earlier tile has given the queries bounds. */
void
GenieCudaTilesPass::run_launch(const Launch &planned, const GenieCudaImage &copy, uint32_t first_tile,
							   uint32_t end_tile, bool bounds_known)
{
	const bool	sparse = planned.sparse && bounds_known;
	GenieCudaLaunch launch = {};
	uint32_t	n_pieces;

	launch.tiles = copy.tiles();
	launch.first_tile = first_tile;
	launch.n_tiles = end_tile - first_tile;
	launch.queries = planned.queries;
	launch.n_queries = (uint32_t) planned.parts.size();
	launch.splits_log2 = planned.splits_log2;
	launch.part_log2 = GENIE_TILE_SHIFT - planned.splits_log2;
	launch.swizzled = copy.swizzled;
	n_pieces = (launch.n_tiles << launch.splits_log2) * launch.n_queries;
	if (sparse)
	{
		GENIE_CUDA_CHECK(cudaMemsetAsync(left.n, 0, sizeof(uint32_t), context.stream));
		genie_cuda_sparse(context.device, planned.bits, planned.many_ranges, launch, left, context.stream);
		launch.list = left.pieces;
		launch.n_list = left.n;
	}
	genie_cuda_dense(context.device, planned.bits, planned.work, launch, n_pieces, context.stream);
}

/* Counts the tiles [first_tile, end_tile), which are on the device before the stream gets there. */
void
GenieCudaTilesPass::run_tiles(const GenieSegmentImage &image, const GenieCudaImage &copy, uint32_t first_tile,
							  uint32_t end_tile)
{
	for (const Launch &planned : launches)
	{
		const uint32_t begin = planned.first_tile;
		const uint32_t end = std::min(end_tile, begin + planned.n_tiles);
		uint32_t	first = std::max(first_tile, begin);

		if (planned.image->id != image.id || first >= end)
			continue;
		if (planned.sparse && first == begin)
		{
			run_launch(planned, copy, first, first + 1, false);
			first++;
		}
		if (first < end)
			run_launch(planned, copy, first, end, first > begin);
	}
}

/* Counts one image: group by group if it must be copied first. */
void
GenieCudaTilesPass::run_image(const GenieSegmentImage &image)
{
	GenieCudaImage &copy = context.images.acquire(image, number);
	uint32_t	done = image.n_groups == 0 ? 0 : image.groups[0]->first_tile;

	copy.update(image, context.stream);
	if (copy.complete() && chunk >= image.n_tiles)
	{
		run_tiles(image, copy, 0, image.n_tiles);
		return;
	}
	for (uint32_t i = 0; i < image.n_groups; i++)
	{
		const uint32_t end = image.groups[i]->first_tile + image.groups[i]->n_tiles;

		/* copying a large image takes seconds where the host's memory is not pinned */
		if (context.engine->interrupted != nullptr && context.engine->interrupted())
			throw GenieCudaFailure(GENIE_STATUS_CANCELLED, "interrupted while an image was copied to the GPU");
		context.uploaded_bytes += copy.upload(i, image.groups[i], context.copy_stream);
		copy.join(context.stream);
		for (uint32_t next; done < end; done = next)
		{
			next = std::min(end, (done / chunk + 1) * chunk);
			run_tiles(image, copy, done, next);
			if (next % chunk == 0 && next < image.n_tiles)
				genie_cuda_top_carry(n_top_small > 0 ? top_small : top_large, 1, next * GENIE_TILE_OBJECTS - 1,
									 context.stream);
		}
	}
}

void
GenieCudaTilesPass::run_top()
{
	if (n_top_small > 0)
		genie_cuda_top_small(top_small, n_top_small, context.stream);
	if (n_top_large > 0)
		genie_cuda_top_large(top_large, n_top_large, sort, context.stream);
}

/* Copies the results to where the jobs want them. */
void
GenieCudaTilesPass::give_results()
{
	for (size_t i = 0; i < work.size(); i++)
	{
		const GenieCudaJobPart &part = work[i];
		const Packed &packed = packed_parts[i];
		GenieJob   *job = part.job;
		const size_t skipped = part.first_tile - job->first_tile;

		if (job->kind == GENIE_JOB_TOP)
		{
			job->n_hits = *packed.n_hits;
			memcpy(job->out, packed.result, job->n_hits * sizeof(GenieHit));
			bounds.give(i, false, *job);
		}
		else if (job->kind == GENIE_JOB_TALLY)
			job->n_hits = host_tallies[i];
		else
		{
			const size_t tile_bytes = job->kind == GENIE_JOB_MASK ? GENIE_TILE_BITMAP_BYTES :
				job->query.max_count <= GENIE_COUNT_NARROW        ? GENIE_TILE_OBJECTS :
																	2 * GENIE_TILE_OBJECTS;

			memcpy((uint8_t *) job->out + skipped * tile_bytes, packed.result, part.n_tiles * tile_bytes);
		}
	}
}

void
GenieCudaTilesPass::run(const std::vector<GenieCudaJobPart> &parts, uint32_t chunk_tiles)
{
	const uint64_t uploaded_before = context.uploaded_bytes;
	GenieCudaBytes bytes;
	uint8_t    *host;
	uint8_t    *device;
	bool		uploads;

	plan(parts, chunk_tiles);
	bytes = pack(GenieCudaBytes{}, nullptr, nullptr);
	host = context.memory.pinned(bytes.blob + bytes.result);
	device = context.scratch(bytes.device());

	/* room for all images before anything starts, and then for vectors */
	for (const GenieSegmentImage *image : images_of(parts, context.images))
		(void) context.images.acquire(*image, number);
	bounds.acquire(jobs, number);
	(void) pack(bytes, host, device);

	GENIE_CUDA_CHECK(cudaMemcpyAsync(device, host, bytes.blob, cudaMemcpyHostToDevice, context.stream));
	if (tallies != nullptr)
		GENIE_CUDA_CHECK(cudaMemsetAsync(tallies, 0, work.size() * sizeof(uint32_t), context.stream));
	GENIE_CUDA_CHECK(cudaEventRecord(context.copy_begin, context.copy_stream));
	for (const GenieSegmentImage *image : images_of(parts, context.images))
		run_image(*image);
	bounds.upload();
	GENIE_CUDA_CHECK(cudaEventRecord(context.copy_end, context.copy_stream));
	run_top();
	bounds.run();
	uploads = context.uploaded_bytes > uploaded_before;
	context.begin_next(number);
	GENIE_CUDA_CHECK(
		cudaMemcpyAsync(host + bytes.blob, device + bytes.blob, bytes.result, cudaMemcpyDeviceToHost, context.stream));
	context.wait();
	if (uploads)
		context.note_upload();
	give_results();
}
