/*
 * genie_cuda_context.cu
 *	  Scratch memory, copying images and vectors, and how long uploads took (genie_cuda_context.cuh).
 */
#include "genie_cuda_context.cuh"

#include <chrono>
#include <thread>

#define WAIT_US 50				/* between two looks at what the device does */

uint8_t *
GenieCudaContext::scratch(size_t bytes) const
{
	for (;;)
	{
		try
		{
			return memory.scratch(bytes);
		}
		catch (const GenieCudaError &failure)
		{
			if (failure.code != cudaErrorMemoryAllocation || !vectors.evict_one(UINT64_MAX))
				throw;
			(void) cudaGetLastError();
		}
	}
}

/* Starts copying all parts that are not there; from(part) is where on the host a part is. */
template <class FROM>
void
GenieCudaContext::upload_parts(GenieCudaCopy &copy, FROM from)
{
	for (uint32_t part = 0; !copy.complete(); part++)
	{
		if (engine->interrupted != nullptr && engine->interrupted())
			throw GenieCudaFailure(GENIE_STATUS_CANCELLED, "interrupted while an image was copied to the GPU");
		uploaded_bytes += copy.upload(part, from(part), copy_stream);
	}
	copy.join(stream);
}

void
GenieCudaContext::upload(const GenieSegmentImage &image, GenieCudaImage &copy)
{
	copy.update(image, stream);
	upload_parts(copy, [&](uint32_t group) { return image.groups[group]; });
}

void
GenieCudaContext::upload(const GenieQuantizedVectors &quantized, GenieCudaVectors &copy)
{
	copy.update(stream);
	upload_parts(copy, [&](uint32_t tile) { return quantized.tiles[tile]; });
}

void
GenieCudaContext::upload(const GenieProximityGraph &graph, GenieCudaGraph &copy)
{
	copy.update(graph, stream);
	upload_parts(copy, [&](uint32_t tile) { return graph.tiles[tile]; });
}

/* Copies parts [first, end), and waits; from(part) is where on the host a part is, NULL: not there. */
template <class FROM>
uint32_t
GenieCudaContext::stage_parts(GenieCudaCopy &copy, uint32_t first, uint32_t end, FROM from)
{
	const uint64_t before = uploaded_bytes;
	uint32_t	n = 0;

	GENIE_CUDA_CHECK(cudaEventRecord(copy_begin, copy_stream));
	for (uint32_t part = first; part < end; part++)
	{
		const void *memory = from(part);

		if (engine->interrupted != nullptr && engine->interrupted())
			throw GenieCudaFailure(GENIE_STATUS_CANCELLED, "interrupted while an image was copied to the GPU");
		if (memory != nullptr)
			uploaded_bytes += copy.upload(part, memory, copy_stream);
		n += copy.has_part(part);
	}
	GENIE_CUDA_CHECK(cudaEventRecord(copy_end, copy_stream));
	GENIE_CUDA_CHECK(cudaStreamSynchronize(copy_stream));
	if (uploaded_bytes > before)
		note_upload();
	return n;
}

uint32_t
GenieCudaContext::stage(const GenieSegmentImage &image, uint32_t first_tile, uint32_t end_tile)
{
	uint32_t	first = 0;
	uint32_t	end;

	while (first < image.n_groups && image.groups[first]->first_tile < first_tile)
		first++;
	for (end = first; end < image.n_groups; end++)
		if (image.groups[end]->first_tile + image.groups[end]->n_tiles > end_tile)
			break;
	return stage_parts(images.stage(image), first, end, [&](uint32_t group) -> const void * {
		return genie_image_is_head(image.groups[group]) ? nullptr : image.groups[group];
	});
}

uint32_t
GenieCudaContext::stage(const GenieQuantizedVectors &quantized, uint32_t first_tile, uint32_t end_tile)
{
	return stage_parts(images.stage(quantized), first_tile, end_tile,
					   [&](uint32_t tile) { return quantized.tiles[tile]; });
}

void
GenieCudaContext::wait() const
{
	cudaError_t code = cudaErrorNotReady;

	while (engine->streams && engine->interrupted != nullptr && (code = cudaStreamQuery(stream)) == cudaErrorNotReady)
	{
		std::this_thread::sleep_for(std::chrono::microseconds(WAIT_US));
		(void) engine->interrupted();	/* the next pass is told */
	}
	(void) cudaGetLastError();	/* "not ready" is none */
	GENIE_CUDA_CHECK(code == cudaErrorNotReady ? cudaStreamSynchronize(stream) : code);
}

void
GenieCudaContext::note(cudaEvent_t begin, cudaEvent_t end)
{
	float		upload_ms = 0;

	GENIE_CUDA_CHECK(cudaEventSynchronize(end));
	GENIE_CUDA_CHECK(cudaEventElapsedTime(&upload_ms, begin, end));
	upload_us += (uint64_t) (upload_ms * 1000);
}

void
GenieCudaContext::note_upload()
{
	note(copy_begin, copy_end);
}

/* Starts copying all parts; from(part) is where on the host a part is. */
template <class FROM>
void
GenieCudaContext::copy_ahead(GenieCudaCopy &copy, FROM from)
{
	GenieCudaAhead &times = ahead[n_ahead++ % 2];

	if (times.is_open)
		note(times.begin, times.end);
	times.is_open = false;
	GENIE_CUDA_CHECK(cudaEventRecord(times.begin, copy_stream));
	for (size_t part = 0; !copy.complete(); part++)
		uploaded_bytes += copy.upload(part, from(part), copy_stream);
	GENIE_CUDA_CHECK(cudaEventRecord(times.end, copy_stream));
	times.is_open = true;
}

void
GenieCudaContext::begin_next(uint64_t pass)
{
	const GenieSegmentImage *image = next_image;
	const GenieQuantizedVectors *quantized = next_vectors;
	char		error[GENIE_ENGINE_ERROR_MAX];

	next_image = nullptr;
	next_vectors = nullptr;
	if (image == nullptr && quantized == nullptr)
		return;

	const GenieStatus status = genie_cuda_guard(error, [&]() {
		if (image != nullptr)
			copy_ahead(images.acquire(*image, pass), [&](size_t group) { return image->groups[group]; });
		else if (GenieCudaVectors *copy = vectors.acquire(*quantized, pass))
			copy_ahead(*copy, [&](size_t tile) { return quantized->tiles[tile]; });
	});

	/* the batch that wants it copies it then, or says why it cannot */
	if (status != GENIE_OK && image != nullptr)
		images.forget(image->id);
	else if (status != GENIE_OK)
		vectors.forget(quantized->id);
}
