/*
 * genie_cuda_context.cuh
 *	  What all passes run on, and the buffers that they lay out.
 */
#ifndef GENIE_CUDA_CONTEXT_CUH
#define GENIE_CUDA_CONTEXT_CUH

#include <cstring>

#include "genie_cuda_device.cuh"
#include "genie_cuda_image.cuh"

/* A copy ahead: when it began and ended, with timing. */
struct GenieCudaAhead
{
	cudaEvent_t begin;
	cudaEvent_t end;
	bool		is_open;		/* its time is not in upload_us yet */
};

/* What a pass runs on. */
struct GenieCudaContext
{
	const GenieEngine *engine;	/* for interrupted() */
	const GenieCudaDevice &device;
	GenieCudaMemory &memory;
	GenieCudaImages &images;
	GenieCudaAllVectors &vectors;
	cudaStream_t stream;
	cudaStream_t copy_stream;
	cudaEvent_t copy_begin;		/* with timing */
	cudaEvent_t copy_end;
	GenieCudaAhead ahead[2];	/* of copies ahead, in turn: the one before has ended when the next one begins */
	uint32_t	n_ahead;
	const GenieSegmentImage *next_image;	/* to be copied ahead, but not begun; or */
	const GenieQuantizedVectors *next_vectors;
	const uint8_t *arena;		/* of GenieEngineOptions, if it could be pinned; else NULL */
	size_t		arena_bytes;
	uint64_t	uploaded_bytes;
	uint64_t	upload_us;

	/* Can the device write there by itself? */
	bool is_pinned(const uint8_t *memory, size_t bytes) const
	{
		return arena != nullptr && memory >= arena && bytes <= arena_bytes &&
			(size_t) (memory - arena) <= arena_bytes - bytes;
	}

	/*
	 * Scratch memory.  Quantized vectors are dropped if the device has no room for it, so a pass asks for scratch
	 * before it uses any vectors.
	 */
	uint8_t    *scratch(size_t bytes) const;

	/* Start copying what is not on the device.  Throw if the engine is interrupted. */
	void		upload(const GenieSegmentImage &image, GenieCudaImage &copy);
	void		upload(const GenieQuantizedVectors &quantized, GenieCudaVectors &copy);
	void		upload(const GenieProximityGraph &graph, GenieCudaGraph &copy);

	/*
	 * Copies the groups of a range of tiles that are no heads, or those of the tiles of vectors that are there, to
	 * stay, and waits.  Returns how many of the range are on the device.  Throws if the engine is interrupted.
	 */
	uint32_t	stage(const GenieSegmentImage &image, uint32_t first_tile, uint32_t end_tile);
	uint32_t	stage(const GenieQuantizedVectors &quantized, uint32_t first_tile, uint32_t end_tile);

	/* Waits for the stream.  While the engine streams, it asks its caller meanwhile, who may use the time. */
	void		wait() const;

	/*
	 * Starts copying the next image, or vectors, if there are some.  A pass calls it when it has started all that it
	 * does: what it copies to the device would wait for this.  If they do not fit, nothing happens.
	 */
	void		begin_next(uint64_t pass);

	/* Adds the time between the copy's two events to upload_us. */
	void		note_upload();

	/* what these do between them */
	template <class FROM>
	void		upload_parts(GenieCudaCopy &copy, FROM from);
	template <class FROM>
	void		copy_ahead(GenieCudaCopy &copy, FROM from);
	void		note(cudaEvent_t begin, cudaEvent_t end);
	template <class FROM>
	uint32_t	stage_parts(GenieCudaCopy &copy, uint32_t first, uint32_t end, FROM from);
};

struct GenieCudaBytes
{
	size_t		blob;
	size_t		result;
	size_t		room;

	size_t		device() const
	{
		return blob + result + room;
	}
};

/* A buffer that is laid out part by part.  In a dry run it has no memory and only adds up bytes. */
class GenieCudaBuffer
{
public:
	GenieCudaBuffer(uint8_t *host_, uint8_t *device_) : host(host_), device(device_) {}

	/*
	 * Takes room for n values and returns its place on the device.  *on_host becomes its place on the host, or NULL in
	 * a dry run and in a buffer without a host side.
	 */
	template <class T>
	T *take(size_t n, T **on_host = nullptr)
	{
		const size_t at = used;
		const size_t end = at + n * sizeof(T);

		used = (end + GENIE_CUDA_ALIGN - 1) / GENIE_CUDA_ALIGN * GENIE_CUDA_ALIGN;
		if (on_host != nullptr)
			*on_host = host == nullptr ? nullptr : (T *) (host + at);
		if (host != nullptr)
			memset(host + end, 0, used - end);	/* padding is copied, too */
		return (T *) (device + at);
	}

	bool		has_device() const
	{
		return device != nullptr;
	}

	size_t		used = 0;

private:
	uint8_t    *host;
	uint8_t    *device;
};

/* Takes room for n values in a buffer without a host side.  Copies them there from the host, unless the run is dry. */
template <class T>
static inline const T *
genie_cuda_bring(GenieCudaBuffer &buffer, const T *from, size_t n, cudaStream_t stream)
{
	T		   *to = buffer.take<T>(n);

	if (buffer.has_device())
		GENIE_CUDA_CHECK(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyHostToDevice, stream));
	return to;
}

#endif							/* GENIE_CUDA_CONTEXT_CUH */
