/*
 * genie_cuda_policy.cuh
 *	  All tuning numbers of the CUDA engine.
 *
 * Measured on an H200 (132 multiprocessors, 1.98 GHz) by test/bench/bench_cuda.cpp, 1024 queries of k = 100 a batch.
 *
 * What bounds it.  A random atomic addition in shared memory takes a warp about 3.5 cycles of its multiprocessor's
 * L1, for bank conflicts; with the lists' own way through L1 that is 1.5 T postings/s at most, and LSH signatures of
 * equal buckets reach 1.44 T/s (11.4 ms), L1 being busy 98 % of the time.  With p-stable bucket sizes 40 % of the
 * postings are in bitmaps, and 2.1 T/s come of it (17.2 ms, L1 busy 89 %).
 *
 * Documents take 1.2 ms: 0.09 the first tile, 0.84 genie_cuda_sparse.cu, 0.02 what that leaves, 0.03 the best k, the
 * rest on the host and in copies.  The sparse kernel is bound by instructions: 4,040 a piece, half of them to see
 * postings, at 1.9 a cycle of a multiprocessor.  Signatures of 8192 equal buckets, 8 postings a list and tile, take 2.1
 * ms: 0.12, 1.43, 0.003 and 0.03, and 0.5 on the host and in copies.  There the sparse kernel waits: 34 % of its
 * samples for memory, which is at 1.2 TB/s (1.4 GB in random sectors must be read), and 31 % at barriers for the last
 * of a block's look-ups.
 *
 * What was tried.  Numbers of the signatures with p-stable sizes, each change against the version before:
 *		spills in the inner loops (all phases inlined in one kernel)	25.0 ms, apart 18.5
 *		a branch around each atomic addition instead of adding 0		21.7, without 18.5
 *		each lane walking over the runs by itself, instead of the warp	18.5 and 14.4 (equal buckets), now 17.1 and 11.3
 *		256 or 384 threads a block of 8-bit counters instead of 512		20.7, 19.3 against 18.5
 *		4 chunks in flight a thread instead of 2						19.3 against 18.5; 3: no difference
 * and of documents:
 *		bitmaps only for objects that postings make possible			4.0 ms, then 3.3
 *		the bound from all pieces' candidates instead of one's alone	3.3, then 2.7
 *		5 blocks a multiprocessor of 4-bit counters instead of 6		2.9 against 2.7
 *		a bit an object instead of counters, where a bound is known		2.8, then 1.7
 *		the first tile: k-th count by bisection, and no warps for few	0.23 for it alone, then 0.09
 *		short runs seen by the thread that looked them up, and others in segments, not all chunks numbered through
 *																		1.08 for the sparse kernel, then 0.84
 * and of documents and signatures of 8192 equal buckets, as parts of what they took without genie_cuda_sparse.cu: 0.43
 * and 0.79 as it is,
 *		10 blocks a multiprocessor without spills instead of 12			0.47, 0.79
 *		the next piece's look-ups made between the phases of this one	0.49, 0.88; with its postings fetched 0.49, 0.81
 *		a chunk's additions unconditional, back to back, and two chunks on their way	0.43, 0.84
 * On the host, for 1024 queries of 10 ranges: 0.22 ms with each query's room computed and the jobs of one image sorted,
 * 0.10 without.
 */
#ifndef GENIE_CUDA_POLICY_CUH
#define GENIE_CUDA_POLICY_CUH

#include <cstddef>
#include <cstdint>

/* ---- counting a tile (genie_cuda_dense.cuh) ---- */

/*
 * Threads of a block and blocks of a multiprocessor by the counters' width.  Whole tiles take 32 KB at 4 bits and 64
 * KB at 8; a multiprocessor of 228 KB holds 6 or 3 blocks of them, and 1536 threads hide the latency of L2 with
 * two 16-byte loads each in flight.  16-bit counters are counted in parts of a tile, with more registers for their 16
 * planes.
 */
template <int BITS> struct GenieCudaPolicy;
template <> struct GenieCudaPolicy<4>
{
	static constexpr int THREADS = 256;
	static constexpr int BLOCKS = 6;
};
template <> struct GenieCudaPolicy<8>
{
	static constexpr int THREADS = 512;
	static constexpr int BLOCKS = 3;
};
template <> struct GenieCudaPolicy<16>
{
	static constexpr int THREADS = 512;
	static constexpr int BLOCKS = 2;
};

/* threads that a multiprocessor can hold, by compute capability; a kernel must not promise more */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int GENIE_CUDA_RESIDENT_THREADS = 1024;
#else
constexpr int GENIE_CUDA_RESIDENT_THREADS = 1536;
#endif

constexpr uint32_t GENIE_CUDA_WARP = 32;

/* postings of a 16-byte load */
constexpr uint32_t GENIE_CUDA_CHUNK = 8;

/* 16-byte loads of postings that a thread has in flight */
constexpr uint32_t GENIE_CUDA_LOADS = 2;

/* bitmaps added before their sums are carried into higher planes: a full tree of carry-save adders */
constexpr uint32_t GENIE_CUDA_BITMAP_BATCH = 8;

/* bitmaps listed in shared memory at a time: 1 KB */
constexpr uint32_t GENIE_CUDA_BITMAP_WINDOW = 256;

/*
 * Looking bitmaps up for each object that has enough postings costs less than adding whole bitmaps if one object in so
 * many has: a load of its own for each of them, where a whole bitmap is 2,048 words that lie together.
 */
constexpr uint32_t GENIE_CUDA_LATER_PART = 128;

/* ---- key tables (genie_cuda_rank.cuh) ---- */

/* Sizes, or else classes of them, whose smallest counts are looked for each time that a piece's threshold is read. */
template <int THREADS>
constexpr uint32_t GENIE_CUDA_LEAST_MAX = 2 * THREADS;

/*
 * Of the pieces that are counted while nothing is known of a query one object in so many is looked at first: the k-th
 * key among them keeps most others from being looked at by themselves.
 */
constexpr uint32_t GENIE_CUDA_KEY_PART = 16;

/* the parts that a tile may be counted in: 16-bit counters of an eighth take 16 KB */
constexpr uint32_t GENIE_CUDA_SPLITS_MAX = 8;

/* shared memory that the device takes of each block for itself */
constexpr uint32_t GENIE_CUDA_RESERVED_SHARED = 1024;

/* ---- short lists (genie_cuda_few.cu) ---- */

/*
 * Queries of at most so many ranges are looked at tile by tile first, and a tile with few postings and no bitmap is
 * counted by one warp: a block that zeroes and scans all counters costs about 10 us, 512 insertions by a warp about 1
 * us. Longer queries rarely have so few postings in a tile.
 */
constexpr uint32_t GENIE_CUDA_FEW_RANGES = 64;
constexpr uint32_t GENIE_CUDA_FEW_POSTINGS = 512;

/* a warp's hash table: half full at most */
constexpr uint32_t GENIE_CUDA_FEW_SLOTS = 1024;
constexpr uint32_t GENIE_CUDA_FEW_WARPS = 8;

/* ---- few postings and a known bound (genie_cuda_sparse.cu) ---- */

/*
 * Launches of at least so many pieces are counted so, after their first tile has given the queries bounds: with
 * fewer, all tiles run at a time and there is no bound to use.
 */
constexpr uint32_t GENIE_CUDA_SPARSE_PIECES = 2048;

/* threads of a block; twice as many where queries have more ranges than so many */
constexpr int GENIE_CUDA_SPARSE_THREADS = 128;

/* threads that a multiprocessor runs at a time */
constexpr int GENIE_CUDA_SPARSE_RESIDENT = GENIE_CUDA_RESIDENT_THREADS;

/* postings that a query may have in a tile, as the host estimates them, and segments, as the kernel counts them */
constexpr uint32_t GENIE_CUDA_SPARSE_POSTINGS = 8192;
constexpr uint32_t GENIE_CUDA_SPARSE_SEGMENTS = 192;

/* postings of a run that one thread sees by itself: two or three chunks */
constexpr uint32_t GENIE_CUDA_SPARSE_SHORT = 16;

/* sums of bitmaps and one more fit four planes */
constexpr uint32_t GENIE_CUDA_SPARSE_BITMAPS = 14;

/* postings of objects seen before: of 8,192 at random, 512 are; and objects that reach the bound */
constexpr uint32_t GENIE_CUDA_SPARSE_AGAIN = 512;
constexpr uint32_t GENIE_CUDA_SPARSE_WANTED = 512;

/* ---- bit lanes (genie_cuda_lanes_kernel.cuh) ---- */

/*
 * What bounds them.  A 16-byte entry is a load of shared memory that takes a warp 4 cycles of its multiprocessor, and 8
 * logic operations that take 4 as well: 4.1 ms for 1024 queries of 237 functions on 4.5 M objects.  The kernel alone
 * ran 183 T compares/s with 200 functions (table of 218 KB, 5.05 ms).  What was tried, each against the version before:
 *		entries of 8 bytes instead of 16							7.6 ms, where 16 bytes make 5.8
 *		slots and masks computed again each time					10.2 ms, kept in registers 7.9
 *		640, 768, 1024 threads instead of 512, 8-byte entries		7.6, 7.8, 9.0 against 7.9
 *		640 threads instead of 512, 16-byte entries					9.6 against 6.5: registers are spilled
 *		one object a thread instead of two, 14 attributes			no difference
 *		room in a query's list taken where a count reaches			1.04 ms against 0.83 with events, 977 k tuples
 */

/*
 * Threads of a block, one block a multiprocessor, and objects of a thread, by the planes of a count: planes take 4
 * registers each.  Two objects share what is not adding, which matters where an object has few dimensions.
 */
template <int PLANES> struct GenieCudaLanePolicy;
template <> struct GenieCudaLanePolicy<4>
{
	static constexpr int THREADS = 512;
	static constexpr int OBJECTS = 2;
};
template <> struct GenieCudaLanePolicy<8>
{
	static constexpr int THREADS = 512;
	static constexpr int OBJECTS = 1;
};
template <> struct GenieCudaLanePolicy<12>
{
	static constexpr int THREADS = 384;
	static constexpr int OBJECTS = 1;
};

/* strips whose codes are on their way: 2 hide the latency of L2, 3 were no faster and take registers */
constexpr int GENIE_CUDA_LANE_AHEAD = 2;

/* planes from which on carries are so rare that looking for one costs less than adding none */
constexpr int GENIE_CUDA_LANE_RARE = 5;

/* queries of a larger k go by tiles: their candidates of a launch would take too much room */
constexpr uint32_t GENIE_CUDA_LANE_K_MAX = 2048;

/*
 * Candidates that a query has room for: so many, or so many times k if that is more.  The first launch counts a part of
 * that of objects, all of which may be candidates; each later one so many times what was counted before it that, where
 * objects come in no order, that part of the room is taken, but not more than GENIE_CUDA_LANE_GROWTH times: each launch
 * costs some 15 us, and k * (GROWTH - 1) events a query.
 */
constexpr uint32_t GENIE_CUDA_LANE_CAPACITY = 8192;
constexpr uint32_t GENIE_CUDA_LANE_CAPACITY_K = 16;
constexpr uint32_t GENIE_CUDA_LANE_FIRST_PART = 4;
constexpr uint32_t GENIE_CUDA_LANE_GROWTH = 8;

/*
 * A query of at least so large a k, on so many objects, gets its threshold from every so manieth unit: what would be
 * events of growing launches, k * (GROWTH - 1) of each, are then some twice k.  Of n objects that reach a threshold,
 * n / SAMPLE are in the sample on average; it is to be reached by a number that so many have that are fewer than k only
 * by chance: DEVIATIONS standard deviations more, and MORE, as small numbers deviate further upwards.  4.5 and 4 are
 * less than one in a million, where objects come in no order.
 *
 * All that are equal to the threshold are events, too, and of a query that asks of few dimensions half of all objects
 * may be.  So a batch is sampled only if each of its queries has so many ranges that its counts spread.
 */
constexpr uint32_t GENIE_CUDA_LANE_SAMPLED_K = 128;
constexpr uint32_t GENIE_CUDA_LANE_SAMPLED_OBJECTS = 1 << 20;
constexpr uint32_t GENIE_CUDA_LANE_SAMPLED_RANGES = 64;
constexpr uint32_t GENIE_CUDA_LANE_SAMPLE = 32;
constexpr double GENIE_CUDA_LANE_SAMPLE_DEVIATIONS = 4.5;
constexpr uint32_t GENIE_CUDA_LANE_SAMPLE_MORE = 4;

/* of a sample, the first launch counts so many times what is looked for: all of these are events */
constexpr uint32_t GENIE_CUDA_LANE_SAMPLE_FIRST = 24;

/* queries that a sample misled, of so many, and a few, from which on an image is not sampled any more */
constexpr uint32_t GENIE_CUDA_LANE_MISLED_PART = 64;
constexpr uint32_t GENIE_CUDA_LANE_MISLED_FEW = 8;

/* events that a launch has room for: of its queries' candidates, one in so many; twice those of the first launch */
constexpr uint32_t GENIE_CUDA_LANE_EVENTS_PART = 2;
constexpr uint32_t GENIE_CUDA_LANE_DEAL_THREADS = 256;
constexpr uint32_t GENIE_CUDA_LANE_DEAL_BLOCKS = 8;

/* rounds a block from which on multiprocessors that are left over are worth a part, and a copy of the table */
constexpr uint32_t GENIE_CUDA_LANE_ROUNDS = 8;

constexpr uint32_t GENIE_CUDA_LANE_TABLE_THREADS = 128;
constexpr uint32_t GENIE_CUDA_LANE_TURN_THREADS = 256;

/* a range of more ranks than this is filled in by a warp together */
constexpr uint32_t GENIE_CUDA_LANE_SHORT = 4;

/* ---- bit lanes on tensor cores (genie_cuda_tensor.cu) ---- */

/* are they used at all? */
constexpr bool GENIE_CUDA_TENSOR = true;

/* the oldest compute capability, times 10, whose tensor cores count the ones of a conjunction; for #if */
#define GENIE_CUDA_TENSOR_DEVICE 80

/*
 * A warp counts 32 objects for 64 of the 128 queries of a slice: 64 registers of counts, and four warps a scheduler
 * fit.  A step is 16 products of a warp; at a product in 1.5 cycles of a multiprocessor that is 24, and 2 KB of the
 * table come from shared memory in 16.  A warp issues a product in 8 cycles of its scheduler, which takes one in 6:
 * with all 128 queries a warp, and so two warps, each that did something else left the tensor cores idle.  What else
 * a unit costs is instructions, of which there were 740 a warp and unit, 128 of them products: so rows are found by
 * pointers and not by parameters looked up strip by strip, and thresholds are the first products' addends instead of
 * registers to fill.  Three warps a scheduler with more registers were slower: the largest launch took 3.44 ms, with
 * four 2.97.  What was tried, with 1024 queries of k = 200 on 4.5 M x 128, ms of a batch:
 *		codes to bits by shifts, a copy of the code for events a product, all of a launch 8 times the one before  8.6 ms
 *		events by one loop over counts in shared memory, bits by a permutation of bytes, all multiprocessors	5.1
 *		4 times behind 131,072 objects, one branch for the codes of a strip				4.7
 *		strips of one step behind the loop and not in it								4.4
 *		counts loaded as they begin, which left registers where they were				4.2
 * and on another machine, where the last of these took 4.6:
 *		thresholds from a sample														4.4
 *		64 queries a warp, fewer instructions											3.7
 */
constexpr int GENIE_CUDA_TENSOR_THREADS = 512;
constexpr uint32_t GENIE_CUDA_TENSOR_QUERIES = 64;

/*
 * GENIE_CUDA_LANE_GROWTH of tensor cores behind so many objects: they count so fast that events are a good part of
 * their time, and tighter bounds are worth another launch.
 */
constexpr uint32_t GENIE_CUDA_TENSOR_GROWTH = 4;
constexpr uint64_t GENIE_CUDA_TENSOR_LATE = 1 << 17;

/* ---- exact search (genie_cuda_nearest.cu) ---- */

/* 64 sums a thread and what is on its way are some 120 registers: two blocks fill a multiprocessor's file */
constexpr uint32_t GENIE_CUDA_NEAREST_THREADS = 256;
constexpr int GENIE_CUDA_NEAREST_BLOCKS = 2;

/* pairs of a job: places of them, and of a warp's behind the last, are 32 bits */
constexpr uint32_t GENIE_CUDA_NEAREST_ROOM_MAX = UINT32_C(1) << 30;

/* ---- hashing (genie_cuda_hash.cu) ---- */

/* 16 sums of doubles a thread, what they are made of and what is on its way are some 100 registers */
constexpr uint32_t GENIE_CUDA_HASH_THREADS = 256;
constexpr int GENIE_CUDA_HASH_BLOCKS = 2;

/* ---- measuring for the choice between tiles and lanes (genie_cuda_measure.cu) ---- */

/* enough to keep a device busy for some 100 us a batch, in which differences are seen */
constexpr uint32_t GENIE_CUDA_MEASURE_QUERIES = 1024;
constexpr uint32_t GENIE_CUDA_MEASURE_TILES = 16;

/* for what a batch costs by itself, in which queries are packed in no time */
constexpr uint32_t GENIE_CUDA_MEASURE_SMALL = 32;

/* steps of the larger table that tensor cores are measured with */
constexpr uint32_t GENIE_CUDA_MEASURE_STEPS = 4;

/* of which the fastest counts */
constexpr uint32_t GENIE_CUDA_MEASURE_RUNS = 4;

/* ---- the best k of a query (genie_cuda_top.cu) ---- */

constexpr uint32_t GENIE_CUDA_TOP_THREADS = 512;

/* up to this many hits are sorted in shared memory (16 KB), more by CUB */
constexpr uint32_t GENIE_CUDA_SORT_MAX = 2048;

/* ---- bounds of hits (genie_cuda_bounds.cu) ---- */

constexpr uint32_t GENIE_CUDA_BOUNDS_THREADS = 128;

/* blocks that a query of many hits has at least, whatever the others have */
constexpr uint32_t GENIE_CUDA_BOUNDS_BLOCKS = 32;

/* ---- memory ---- */

/* of the memory that is free at opening, in percent: the rest is for other processes and the driver */
constexpr uint64_t GENIE_CUDA_FREE_PERCENT = 80;

/* scratch takes at most this part of the limit, and at most so many bytes: 1024 queries of k = 100 take about 0.1 GB */
constexpr uint64_t GENIE_CUDA_SCRATCH_PART = 4;
constexpr uint64_t GENIE_CUDA_SCRATCH_MAX = UINT64_C(1) << 30;

/* tiles of a COUNTS or MASK job done at a time: 32 MB of 16-bit counts */
constexpr uint32_t GENIE_CUDA_OUT_TILES = 256;

/* jobs done at a time; keeps the numbers of pieces below 2^31: 65,536 tiles of 8 parts */
constexpr uint32_t GENIE_CUDA_PASS_JOBS = 2048;

/* bytes of results copied to the host at a time: pinned memory is taken from all processes */
constexpr uint64_t GENIE_CUDA_RESULT_MAX = UINT64_C(64) << 20;

/* bytes copied to the device for several jobs at a time, which are pinned too: key tables may have megabytes each */
constexpr uint64_t GENIE_CUDA_BLOB_MAX = UINT64_C(64) << 20;

/* passes that quantized vectors stay on the device unused before others may take their place */
constexpr uint64_t GENIE_CUDA_VECTORS_STAY = 64;

/* copies of results to where they are wanted, each some microseconds: from more parts they are put together first */
constexpr size_t GENIE_CUDA_DIRECT_RUNS = 16;

/* every part of a buffer begins at a multiple of this: the largest vector access */
constexpr size_t GENIE_CUDA_ALIGN = 16;

#endif							/* GENIE_CUDA_POLICY_CUH */
