/*
 * genie_cuda_policy.cuh
 *	  All tuning numbers of the CUDA engine.
 *
 * They were chosen on an H200 (132 multiprocessors, 1.98 GHz) by test/bench/bench_cuda.cpp, with batches of 1,024
 * queries.
 *
 * What bounds the kernels of tiles.  A random atomic addition in shared memory takes a warp about 3.5 cycles of its
 * multiprocessor's L1, because of bank conflicts.  With the lists' own way through L1, the dense kernel can count 1.5 T
 * postings/s; signatures of equal buckets reach 1.44 T/s, with L1 busy 98 % of the time.  Where 40 % of the postings
 * are in bitmaps it reaches 2.1 T/s.  The sparse kernel is bound by instructions on documents (4,040 a piece, half of
 * them to see postings), and by waiting for memory and at barriers on signatures of 8,192 buckets.
 */
#ifndef GENIE_CUDA_POLICY_CUH
#define GENIE_CUDA_POLICY_CUH

#include <cstddef>
#include <cstdint>

/* ---- counting a tile (genie_cuda_dense_kernel.cu) ---- */

/*
 * Threads of a block, and blocks of a multiprocessor, by the counters' width.  Whole tiles take 32 KB at 4 bits and 64
 * KB at 8, so a multiprocessor of 228 KB holds 6 or 3 blocks.  Their 1,536 threads, each with two 16-byte loads in
 * flight, hide the latency of L2.  16-bit counters are counted in parts of a tile and need more registers for their 16
 * planes.
 */
template <int BITS>
struct GenieCudaPolicy;
template <>
struct GenieCudaPolicy<4>
{
	static constexpr int THREADS = 256;
	static constexpr int BLOCKS = 6;
};
template <>
struct GenieCudaPolicy<8>
{
	static constexpr int THREADS = 512;
	static constexpr int BLOCKS = 3;
};
template <>
struct GenieCudaPolicy<16>
{
	static constexpr int THREADS = 512;
	static constexpr int BLOCKS = 2;
};

/* threads that a multiprocessor can hold, by compute capability; launch bounds must not ask for more */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int GENIE_CUDA_RESIDENT_THREADS = 1024;
#else
constexpr int GENIE_CUDA_RESIDENT_THREADS = 1536;
#endif

constexpr uint32_t GENIE_CUDA_WARP = 32;

/* postings of a 16-byte load */
constexpr uint32_t GENIE_CUDA_LOAD_POSTINGS = 8;

/* bytes of codes, of an image of codes alone, that are counted while a posting is */
constexpr double GENIE_CUDA_CODE_BYTES = 1.2;

/* 16-byte loads of postings that a thread has in flight */
constexpr uint32_t GENIE_CUDA_LOADS = 2;

/* bitmaps that are added before sums are carried into higher planes: a full tree of carry-save adders */
constexpr uint32_t GENIE_CUDA_BITMAP_BATCH = 8;

/* bitmaps listed in shared memory at a time: 1 KB */
constexpr uint32_t GENIE_CUDA_BITMAP_WINDOW = 256;

/*
 * If at most one object in this many has enough postings, looking up its bits in the bitmaps costs less than adding
 * whole bitmaps: such an object needs a load of its own for each bitmap, which as a whole is 2,048 words that lie
 * together.
 */
constexpr uint32_t GENIE_CUDA_LATER_PART = 128;

/* ---- facets and grids (genie_cuda_facets.cu) ---- */

/* Threads of a block, and ranks that it has in a tile: few, because a table of few keywords has few lists. */
constexpr uint32_t GENIE_CUDA_FACETS_THREADS = 256;
constexpr uint32_t GENIE_CUDA_FACETS_RANKS = 32;

/* ---- key tables (genie_cuda_rank.cuh) ---- */

/* Smallest counts are kept for this many sizes at most, or else for this many classes of sizes. */
template <int THREADS>
constexpr uint32_t GENIE_CUDA_LEAST_MAX = 2 * THREADS;

/*
 * While a query has no bound, the first one in KEY_PART of a piece's objects are looked at first.  The k-th key among
 * them keeps most other objects from being looked at one by one.
 */
constexpr uint32_t GENIE_CUDA_KEY_PART = 16;

/* parts that a tile is counted in at most: 16-bit counters of an eighth take 16 KB */
constexpr uint32_t GENIE_CUDA_SPLITS_MAX = 8;

/* shared memory of each block that the device uses itself */
constexpr uint32_t GENIE_CUDA_RESERVED_SHARED = 1024;

/* ---- few postings and a known bound (genie_cuda_sparse.cu) ---- */

/*
 * Launches of at least this many pieces may use this kernel, after their first tile has given the queries bounds.  With
 * fewer pieces all tiles run at the same time, and there is no bound to use.
 */
constexpr uint32_t GENIE_CUDA_SPARSE_PIECES = 2048;

/* threads of a block; twice as many where queries have more than GENIE_CUDA_SPARSE_RANGES ranges */
constexpr int GENIE_CUDA_SPARSE_THREADS = 128;
constexpr uint32_t GENIE_CUDA_SPARSE_RANGES = 64;

/* threads that a multiprocessor runs at a time */
constexpr int GENIE_CUDA_SPARSE_RESIDENT = GENIE_CUDA_RESIDENT_THREADS;

/* postings that a query may have in a tile, as the host estimates them; and segments, as the kernel counts them */
constexpr uint32_t GENIE_CUDA_SPARSE_POSTINGS = 8192;
constexpr uint32_t GENIE_CUDA_SPARSE_SEGMENTS = 192;

/* postings of a run that one thread sees alone: two or three loads */
constexpr uint32_t GENIE_CUDA_SPARSE_SHORT = 16;

/* bitmaps: their sum and one more fit four planes */
constexpr uint32_t GENIE_CUDA_SPARSE_BITMAPS = 14;

/* postings of objects that were seen before (of 8,192 at random, 512 are), and objects that reach the bound */
constexpr uint32_t GENIE_CUDA_SPARSE_AGAIN = 512;
constexpr uint32_t GENIE_CUDA_SPARSE_WANTED = 512;

/* ---- bit lanes (genie_cuda_lanes_kernel.cu) ---- */

/*
 * What bounds them.  A 16-byte entry costs a warp one load of shared memory, 4 cycles of its multiprocessor, and 8
 * logic operations, 4 cycles as well: 4.1 ms for 1,024 queries of 237 functions on 4.5 M objects.  Address arithmetic
 * is paid once for the entry's four words.
 */

/*
 * Threads of a block, and objects of a thread, by the planes of a count.  A multiprocessor runs one block.  A plane
 * takes 4 registers, which limits the threads: with more than 512 of them registers spill.  Two objects of a thread
 * share all work but adding, which matters where an object has few dimensions.
 *
 * 12 planes are for images of 256 dimensions and more.  1,024 queries of 320 functions on 2 M objects take 5.8 ms with
 * them and 16.9 by tiles.
 */
template <int PLANES>
struct GenieCudaLanePolicy;
template <>
struct GenieCudaLanePolicy<4>
{
	static constexpr int THREADS = 512;
	static constexpr int OBJECTS = 2;
};
template <>
struct GenieCudaLanePolicy<8>
{
	static constexpr int THREADS = 512;
	static constexpr int OBJECTS = 1;
};
template <>
struct GenieCudaLanePolicy<12>
{
	static constexpr int THREADS = 384;
	static constexpr int OBJECTS = 1;
};

/* strips whose codes are on their way: 2 hide the latency of L2; more would only take registers */
constexpr int GENIE_CUDA_LANE_AHEAD = 2;

/* from this plane on carries are so rare that testing for one costs less than adding zeros */
constexpr int GENIE_CUDA_LANE_RARE = 5;

/* queries of a larger k are counted by tiles: their candidates of a launch would take too much room */
constexpr uint32_t GENIE_CUDA_LANE_K_MAX = 2048;

/*
 * A query has room for CAPACITY candidates, or CAPACITY_K times k if that is more.  The first launch counts one
 * FIRST_PART-th as many objects, because all of them may become candidates.  Each later launch counts as many times the
 * objects before it as makes new candidates fill the same part of the room, if objects come in no order, but not more
 * than GROWTH times: a launch costs some 15 us, and k * (GROWTH - 1) events a query.
 */
constexpr uint32_t GENIE_CUDA_LANE_CAPACITY = 8192;
constexpr uint32_t GENIE_CUDA_LANE_CAPACITY_K = 16;
constexpr uint32_t GENIE_CUDA_LANE_FIRST_PART = 4;
constexpr uint32_t GENIE_CUDA_LANE_GROWTH = 8;

/*
 * A threshold sample is every SAMPLE-th unit.  It is taken for a k of at least SAMPLED_K on at least SAMPLED_OBJECTS
 * objects.  Growing launches would have k * (GROWTH - 1) events each; with a threshold from a sample there are some 2 k
 * in all.
 *
 * The best k of all objects have k / SAMPLE members in the sample on average.  The threshold is one that more objects
 * of the sample reach: DEVIATIONS standard deviations more, and MORE, because small numbers deviate further upwards.
 * With 4.5 and 4, fewer than one query in a million finds fewer than k objects, if objects come in no order.
 *
 * All objects equal to the threshold are events too, and where a query has few ranges that may be half of all objects.
 * So a batch is sampled only if each of its queries has at least SAMPLED_RANGES ranges, whose counts spread.
 */
constexpr uint32_t GENIE_CUDA_LANE_SAMPLED_K = 128;
constexpr uint32_t GENIE_CUDA_LANE_SAMPLED_OBJECTS = 1 << 20;
constexpr uint32_t GENIE_CUDA_LANE_SAMPLED_RANGES = 64;
constexpr uint32_t GENIE_CUDA_LANE_SAMPLE = 32;
constexpr double GENIE_CUDA_LANE_SAMPLE_DEVIATIONS = 4.5;
constexpr uint32_t GENIE_CUDA_LANE_SAMPLE_MORE = 4;

/* in a sample, the first launch counts this many times as many objects as are looked for; all of them are events */
constexpr uint32_t GENIE_CUDA_LANE_SAMPLE_FIRST = 24;

/* an image is not sampled any more once samples misled one query in MISLED_PART, and MISLED_FEW more */
constexpr uint32_t GENIE_CUDA_LANE_MISLED_PART = 64;
constexpr uint32_t GENIE_CUDA_LANE_MISLED_FEW = 8;

/* a launch has room for one event for EVENTS_PART of its queries' candidates: twice as many as the first launch has */
constexpr uint32_t GENIE_CUDA_LANE_EVENTS_PART = 2;
constexpr uint32_t GENIE_CUDA_LANE_DEAL_THREADS = 256;
constexpr uint32_t GENIE_CUDA_LANE_DEAL_BLOCKS = 8;

/* from this many rounds a block on, multiprocessors that are left over get a part, and a copy of the table */
constexpr uint32_t GENIE_CUDA_LANE_ROUNDS = 8;

constexpr uint32_t GENIE_CUDA_LANE_TABLE_THREADS = 128;
constexpr uint32_t GENIE_CUDA_LANE_SWIZZLE_THREADS = 256;

/* a range of more ranks than this is filled in by a whole warp */
constexpr uint32_t GENIE_CUDA_LANE_SHORT = 4;

/* ---- bit lanes on tensor cores (genie_cuda_tensor.cu) ---- */

/* false: a build without them */
constexpr bool GENIE_CUDA_TENSOR = true;

/* the oldest compute capability, times 10, whose tensor cores count the ones of an AND of bits; for #if */
#define GENIE_CUDA_TENSOR_DEVICE 80

/*
 * A warp counts 32 objects for 64 of the 128 queries of a slice, so its counts take 64 registers of a thread and four
 * warps fit a scheduler.  A step is 16 products of a warp: 24 cycles of a multiprocessor, in which 2 KB of the table
 * come from shared memory (16 cycles).  A warp issues a product in 8 cycles, and its scheduler takes one in 6; with all
 * 128 queries a warp there would be two warps a scheduler, and each that does something else would leave the tensor
 * cores idle.  The rest of a unit's time is instructions, so rows are found by pointers, and thresholds are what the
 * first products are added to.
 */
constexpr int GENIE_CUDA_TENSOR_THREADS = 512;
constexpr uint32_t GENIE_CUDA_TENSOR_QUERIES = 64;

/*
 * Behind TENSOR_LATE objects, TENSOR_GROWTH takes the place of GENIE_CUDA_LANE_GROWTH on tensor cores.  They count so
 * fast that events are a good part of their time, and tighter bounds are worth another launch.
 */
constexpr uint32_t GENIE_CUDA_TENSOR_GROWTH = 4;
constexpr uint64_t GENIE_CUDA_TENSOR_LATE = 1 << 17;

/* ---- exact search (genie_cuda_nearest.cu) ---- */

/* 64 sums of a thread, and the loads on their way, are some 120 registers: two blocks fill a multiprocessor's file */
constexpr uint32_t GENIE_CUDA_NEAREST_THREADS = 256;
constexpr int GENIE_CUDA_NEAREST_BLOCKS = 2;

/* pairs of a job at most: their places, and those of a warp's pairs behind the last, must fit 32 bits */
constexpr uint32_t GENIE_CUDA_NEAREST_ROOM_MAX = UINT32_C(1) << 30;

/* ---- hashing (genie_cuda_hash.cu) ---- */

/* 16 sums of doubles of a thread, their factors, and the loads on their way are some 100 registers */
constexpr uint32_t GENIE_CUDA_HASH_THREADS = 256;
constexpr int GENIE_CUDA_HASH_BLOCKS = 2;

/* ---- measuring for the choice between tiles and lanes (genie_cuda_measure.cu) ---- */

/* enough to keep a device busy for some 100 us a batch, so that differences show */
constexpr uint32_t GENIE_CUDA_MEASURE_QUERIES = 1024;
constexpr uint32_t GENIE_CUDA_MEASURE_TILES = 16;

/* queries of a batch that shows what a batch itself costs: packing them takes no time */
constexpr uint32_t GENIE_CUDA_MEASURE_SMALL = 32;

/* steps of the larger of two tables that tensor cores are measured with */
constexpr uint32_t GENIE_CUDA_MEASURE_STEPS = 4;

/* postings of a query in a tile up to which it is estimated by its postings alone, at what the sparse kernel takes */
constexpr uint32_t GENIE_CUDA_MEASURE_FEW_POSTINGS = 512;

/* runs, of which the fastest counts */
constexpr uint32_t GENIE_CUDA_MEASURE_RUNS = 4;

/* ---- the best k of a query (genie_cuda_top.cu) ---- */

constexpr uint32_t GENIE_CUDA_TOP_THREADS = 512;

/* up to this many hits are sorted in shared memory (16 KB), more by a launch over all queries */
constexpr uint32_t GENIE_CUDA_SORT_MAX = 2048;

/* ---- bounds of hits (genie_cuda_bounds.cu) ---- */

constexpr uint32_t GENIE_CUDA_BOUNDS_THREADS = 128;

/* blocks that a query of many hits gets at least, however few hits the others have */
constexpr uint32_t GENIE_CUDA_BOUNDS_BLOCKS = 32;

/* ---- scans by values (genie_cuda_value_keys.cu, genie_cuda_value_select.cu) ---- */

/* records of a block, a thread each; and queries that a record in shared memory serves */
constexpr uint32_t GENIE_CUDA_VALUE_THREADS = 128;
constexpr uint32_t GENIE_CUDA_VALUE_QUERIES = 8;
constexpr uint32_t GENIE_CUDA_VALUE_STRING_QUERIES = 4;	/* the same of texts */
constexpr uint32_t GENIE_CUDA_VALUE_PIVOT_QUERIES = 64; /* of distances to pivots, which are in registers */

/*
 * Units of 16 bytes that a block has of each of its records: all of a record of up to UNITS_MAX, 26 KB of shared
 * memory, which is then read as one piece; of a longer one UNITS, a cache line, at a time.
 */
constexpr uint32_t GENIE_CUDA_VALUE_UNITS_MAX = 13;
constexpr uint32_t GENIE_CUDA_VALUE_UNITS = 8;

/* jobs of a pass at most */
constexpr uint32_t GENIE_CUDA_VALUE_JOBS = 1024;

/* ---- proximity graphs (genie_cuda_graph_search.cu) ---- */

/* warps of a block, each with a query; and places of a warp's table, which is to be no more than its share of L1 */
constexpr uint32_t GENIE_CUDA_GRAPH_WARPS = 2;
constexpr uint32_t GENIE_CUDA_GRAPH_TABLE = 1024;

/* jobs of a pass at most */
constexpr uint32_t GENIE_CUDA_GRAPH_JOBS = 16384;

/* threads of a block where an object of a graph that is built has a thread, or waits for little */
constexpr uint32_t GENIE_CUDA_GRAPH_BUILD_THREADS = 128;

/*
 * What they take, in nanoseconds (bench_scan, 128 dimensions): a search that waits for itself, and each place of its
 * queue; and, on one of the multiprocessors, each of many searches, and each place of its queue.
 */
constexpr double GENIE_CUDA_GRAPH_NS = 150000;
constexpr double GENIE_CUDA_GRAPH_PLACE_NS = 5000;
constexpr double GENIE_CUDA_GRAPH_EACH_NS = 20000;
constexpr double GENIE_CUDA_GRAPH_EACH_PLACE_NS = 400;

/* What a scan takes: at least; each of many queries, on the device; and bytes of records in a nanosecond: once, and for
 * each query. */
constexpr double GENIE_CUDA_SCAN_NS = 70000;
constexpr double GENIE_CUDA_SCAN_EACH_NS = 450;
constexpr double GENIE_CUDA_SCAN_RATE = 3000;
constexpr double GENIE_CUDA_SCAN_EACH_RATE = 116000;

/*
 * A filter is used for FILTER_JOBS or more.  A floor comes from every stride-th object, and leaves some stride * k
 * objects; one of these costs about as much as FILTER_COST of the sample.  FILTER_MORE are added to k, so that how many
 * are left varies less, and there is room for FILTER_ROOM times as many as are expected.
 */
constexpr uint32_t GENIE_CUDA_VALUE_FILTER_JOBS = 16;
constexpr uint32_t GENIE_CUDA_VALUE_FILTER_COST = 5;
constexpr uint32_t GENIE_CUDA_VALUE_FILTER_MORE = 16;
constexpr uint32_t GENIE_CUDA_VALUE_FILTER_ROOM = 2;

/* fewer keys take less time than the launches of a sample */
constexpr uint64_t GENIE_CUDA_VALUE_FEW_KEYS = 1 << 20;

/* strides: of less, all keys take no longer; of more, too few objects are looked at to be like the others */
constexpr uint32_t GENIE_CUDA_VALUE_STRIDE_MIN = 5;
constexpr uint32_t GENIE_CUDA_VALUE_STRIDE_MAX = 255;

/* 64 sums of a thread, the numbers of its records, and what is on its way are some 120 registers */
constexpr int GENIE_CUDA_VALUE_FILTER_BLOCKS = 2;

/* slices of records and queries on their way: with one more, devices of 100 KB would have no room for a block */
constexpr uint32_t GENIE_CUDA_VALUE_FILTER_SLOTS = 2;

/* values of a digit of the select; keys that a block of it has at least, and blocks of a query at most */
constexpr uint32_t GENIE_CUDA_VALUE_DIGITS = 2048;
constexpr uint32_t GENIE_CUDA_VALUE_SELECT_THREADS = 256;
constexpr uint32_t GENIE_CUDA_VALUE_SELECT_KEYS = 4096;
constexpr uint32_t GENIE_CUDA_VALUE_SELECT_BLOCKS = 264;

/* ---- memory ---- */

/* percent of the memory that is free at opening: the rest is for other processes and the driver */
constexpr uint64_t GENIE_CUDA_FREE_PERCENT = 80;

/*
 * scratch takes at most one SCRATCH_PART-th of the limit, and SCRATCH_MAX bytes: 1,024 queries of k = 100 take 0.1 GB
 */
constexpr uint64_t GENIE_CUDA_SCRATCH_PART = 4;
constexpr uint64_t GENIE_CUDA_SCRATCH_MAX = UINT64_C(1) << 30;

/* one OTHERS_PART-th of the room for images is not for those that are on the device alone */
constexpr uint64_t GENIE_CUDA_OTHERS_PART = 8;

/* tiles of a COUNTS or MASK job done at a time: 32 MB of 16-bit counts */
constexpr uint32_t GENIE_CUDA_OUT_TILES = 256;

/* jobs done at a time; keeps the numbers of pieces below 2^31: 65,536 tiles of 8 parts */
constexpr uint32_t GENIE_CUDA_PASS_JOBS = 2048;

/*
 * Copies from memory that is not pinned (genie_cuda_ring.cuh): threads, bytes of a block, of which each has two, and
 * bytes of a copy from which on they are used.
 */
constexpr uint32_t GENIE_CUDA_RING_THREADS = 4;
constexpr size_t GENIE_CUDA_RING_BYTES = (size_t) 4 << 20;
constexpr size_t GENIE_CUDA_RING_LEAST = (size_t) 1 << 20;

/* bytes of results copied to the host at a time: pinned memory is lost to all other processes */
constexpr uint64_t GENIE_CUDA_RESULT_MAX = UINT64_C(64) << 20;

/* bytes copied to the device at a time for several jobs, pinned too: a key table may have megabytes */
constexpr uint64_t GENIE_CUDA_BLOB_MAX = UINT64_C(64) << 20;

/* passes for which unused vectors stay on the device before others may take their place */
constexpr uint64_t GENIE_CUDA_VECTORS_STAY = 64;

/* copies of results to where they are wanted, some microseconds each; more parts than this are put together first */
constexpr size_t GENIE_CUDA_DIRECT_RUNS = 16;

/* each part of a buffer begins at a multiple of this, the size of the largest vector access */
constexpr size_t GENIE_CUDA_ALIGN = 16;

#endif							/* GENIE_CUDA_POLICY_CUH */
