/*
 * genie_cuda_emulated.cpp
 *	  Running a block's threads as fibers, and the runtime.
 *
 * A fiber begins by swapcontext() and later switches by _setjmp() and _longjmp(), which make no system calls.  All
 * threads of a block run in turn, each up to where it waits; a waiting thread looks again when it is its turn.  If a
 * whole turn moves no thread, all wait for some that never come, and the program ends.
 */
#include <csetjmp>
#include <mutex>
#include <vector>

#include <ucontext.h>

#include "genie_cuda_emulated.h"

constexpr size_t STACK_BYTES = 256 << 10;
constexpr size_t SHARED_BYTES = 232448;
constexpr uint8_t POISON = 0xA5;

alignas(1024) uint4 genie_cuda_memory[SHARED_BYTES / sizeof(uint4)];
dim3		gridDim;
dim3		blockDim;
dim3		blockIdx;
dim3		threadIdx;

struct Fiber
{
	std::vector<char> stack;
	ucontext_t	first;
	jmp_buf		place;
	bool		begun;
	bool		done;
};

/* A meeting of a number of threads: those of a round go on together when all have come. */
struct Meeting
{
	uint32_t	n_come;
	uint32_t	round;
};

struct Warp
{
	Meeting		meeting;
	uint32_t	values[2][GENIE_CUDA_EMULATED_WARP];	/* of even and odd rounds */
};

static std::vector<Fiber> fibers;
static std::vector<Warp> warps;
static Meeting block_meeting;
static uint32_t n_done;
static uint32_t n_moves;		/* threads that came to a meeting, left one, or returned */
static ucontext_t scheduler_context;
static jmp_buf scheduler;
static const std::function<void()> *kernel;

static void
wait_for_others()
{
	const dim3	mine = threadIdx;

	if (_setjmp(fibers[mine.x].place) == 0)
		_longjmp(scheduler, 1);
	threadIdx = mine;
}

static void
meet(Meeting &meeting, uint32_t n)
{
	const uint32_t round = meeting.round;

	n_moves++;
	if (++meeting.n_come == n)
	{
		meeting.n_come = 0;
		meeting.round++;
	}
	while (meeting.round == round)
		wait_for_others();
}

/* A barrier counts the threads that have not returned. */
void
__syncthreads()
{
	meet(block_meeting, blockDim.x - n_done);
}

void
genie_cuda_emulated_exchange(uint32_t value, uint32_t (&values)[GENIE_CUDA_EMULATED_WARP])
{
	Warp	   &warp = warps[threadIdx.x / GENIE_CUDA_EMULATED_WARP];
	const uint32_t turn = warp.meeting.round % 2;

	warp.values[turn][threadIdx.x % GENIE_CUDA_EMULATED_WARP] = value;
	meet(warp.meeting, GENIE_CUDA_EMULATED_WARP);
	memcpy(values, warp.values[turn], sizeof(values));
}

/*
 * Rows are objects and columns queries.  Thread 4g + t has words t and 4 + t of rows g and 8 + g and of column g, and
 * the sums of rows g and 8 + g with columns 2t and 2t + 1 (PTX ISA, mma.m16n8k256 with .b1, mma.m16n8k32 of bytes).
 * multiply gives what two words have together.
 */
template <class MULTIPLY>
static void
add_product(int (&sums)[4], const uint32_t (&objects)[4], uint32_t queries_low, uint32_t queries_high,
			const MULTIPLY &multiply)
{
	uint32_t	rows[4][GENIE_CUDA_EMULATED_WARP];
	uint32_t	columns[2][GENIE_CUDA_EMULATED_WARP];
	const uint32_t g = threadIdx.x % GENIE_CUDA_EMULATED_WARP / 4;
	const uint32_t t = threadIdx.x % 4;

	for (uint32_t i = 0; i < 4; i++)
		genie_cuda_emulated_exchange(objects[i], rows[i]);
	genie_cuda_emulated_exchange(queries_low, columns[0]);
	genie_cuda_emulated_exchange(queries_high, columns[1]);
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t word = 0; word < 8; word++)
			sums[i] += multiply(rows[word / 4 * 2 + i / 2][4 * g + word % 4],
								columns[word / 4][4 * (2 * t + i % 2) + word % 4]);
}

void
genie_cuda_emulated_product(int (&count)[4], const uint32_t (&objects)[4], uint32_t queries_low, uint32_t queries_high)
{
	add_product(count, objects, queries_low, queries_high, [](uint32_t a, uint32_t b) { return __popc(a & b); });
}

void
genie_cuda_emulated_byte_product(int (&sums)[4], const uint32_t (&records)[4], uint32_t queries_low,
								 uint32_t queries_high)
{
	add_product(sums, records, queries_low, queries_high, [](uint32_t a, uint32_t b) {
		int			sum = 0;

		for (uint32_t i = 0; i < 32; i += 8)
			sum += (int) (a >> i & 0xFF) * (int8_t) (b >> i & 0xFF);
		return sum;
	});
}

/* ---- blocks ---- */

static void
run_thread()
{
	const uint32_t mine = threadIdx.x;

	(*kernel)();
	fibers[mine].done = true;
	n_done++;
	n_moves++;
	if (block_meeting.n_come > 0 && block_meeting.n_come == blockDim.x - n_done)
	{
		block_meeting.n_come = 0;
		block_meeting.round++;
	}
	_longjmp(scheduler, 1);
}

/* Runs a thread until it waits or returns. */
static void
go_on(uint32_t thread)
{
	Fiber	   &fiber = fibers[thread];

	if (_setjmp(scheduler) != 0)
		return;
	threadIdx = dim3(thread, 0, 0);
	if (fiber.begun)
		_longjmp(fiber.place, 1);
	fiber.begun = true;
	getcontext(&fiber.first);
	fiber.first.uc_stack.ss_sp = fiber.stack.data();
	fiber.first.uc_stack.ss_size = fiber.stack.size();
	fiber.first.uc_link = nullptr;
	makecontext(&fiber.first, run_thread, 0);
	swapcontext(&scheduler_context, &fiber.first);
}

static void
run_block()
{
	n_done = 0;
	block_meeting = Meeting{};
	warps.assign((blockDim.x + GENIE_CUDA_EMULATED_WARP - 1) / GENIE_CUDA_EMULATED_WARP, Warp{});
	for (uint32_t thread = 0; thread < blockDim.x; thread++)
		fibers[thread].begun = fibers[thread].done = false;
	while (n_done < blockDim.x)
	{
		const uint32_t moves = n_moves;

		for (uint32_t thread = 0; thread < blockDim.x; thread++)
			if (!fibers[thread].done)
				go_on(thread);
		if (n_moves == moves)
		{
			fprintf(stderr, "threads wait for others that do not come: %u of %u have returned\n", n_done, blockDim.x);
			abort();
		}
	}
}

void
genie_cuda_emulated_launch(const std::function<void()> &body, dim3 grid, dim3 block, size_t shared, void *)
{
	static std::mutex one;		/* engines may launch from several threads */
	const std::lock_guard<std::mutex> alone(one);

	if (shared > SHARED_BYTES || block.y * block.z != 1)
		abort();
	gridDim = grid;
	blockDim = block;
	kernel = &body;
	while (fibers.size() < block.x)
		fibers.emplace_back();
	for (Fiber &fiber : fibers)
		fiber.stack.resize(STACK_BYTES);
	for (uint32_t z = 0; z < grid.z; z++)
		for (uint32_t y = 0; y < grid.y; y++)
			for (uint32_t x = 0; x < grid.x; x++)
			{
				blockIdx = dim3(x, y, z);
				memset(genie_cuda_memory, POISON, shared);
				run_block();
			}
}

/* ---- the runtime ---- */

cudaError_t
cudaGetDeviceProperties(cudaDeviceProp *properties, int)
{
	*properties = cudaDeviceProp{"emulated", (size_t) 8 << 30, SHARED_BYTES + 1024, SHARED_BYTES, 9, 0, 8};
	return cudaSuccess;
}

cudaError_t
cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	*free_bytes = *total_bytes = (size_t) 8 << 30;
	return cudaSuccess;
}

cudaError_t
cudaDriverGetVersion(int *version)
{
	*version = CUDART_VERSION;
	return cudaSuccess;
}

const char *
cudaGetErrorString(cudaError_t)
{
	return "an error";
}

cudaError_t
genie_cuda_emulated_take(void **memory, size_t bytes)
{
	constexpr size_t ALIGN = 256;

	*memory = aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
	if (*memory == nullptr)
		return cudaErrorMemoryAllocation;
	memset(*memory, POISON, bytes);
	return cudaSuccess;
}

cudaError_t
cudaFree(void *memory)
{
	free(memory);
	return cudaSuccess;
}

cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t bytes, int, cudaStream_t)
{
	memmove(to, from, bytes);
	return cudaSuccess;
}

cudaError_t
cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t)
{
	memset(to, byte, bytes);
	return cudaSuccess;
}

cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t)
{
	*ms = 1;
	return cudaSuccess;
}
