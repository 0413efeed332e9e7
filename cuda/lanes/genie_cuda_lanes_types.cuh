/*
 * genie_cuda_lanes_types.cuh
 *	  Bit lanes: what kernels are given.
 *
 * A *slice* is as many queries as a thread counts at once, GENIE_CUDA_LANE_QUERIES, a bit each.  A slice has a table:
 * for each code of each dimension an *entry* of so many bits, which says what queries want it.  A strip's codes
 * (genie_image.h) are looked up in *groups* of GENIE_CUDA_LANE_SLOTS dimensions: in row c of a group are the entries
 * of code c of all its dimensions, each in a slot of its own, and a row is GENIE_CUDA_LANE_ROW bytes, which is all
 * banks of shared memory once.  Dimensions fewer than slots are repeated in the slots behind.
 *
 * Banks.  Eight threads load 16 bytes each at a time, of rows that have nothing in common, so each must have a slot of
 * its own: thread t reads slot s ^ t at step s.  All see every slot once, and no two the same slot in any step.
 *
 * So threads need their codes in different orders.  Which code of a 32-bit word comes at which step is the mask of a
 * dot product, and costs nothing; words of a row must be in the right order in memory.  That is done once, in place,
 * when an image on the device is first counted by lanes (genie_cuda_lanes_turn).
 *
 * A table that does not fit shared memory.  Strips are *first*, *resident* and *last*, and first ones share their room
 * with last ones.  A round counts first, resident, last strips; while the resident ones are counted, the last ones are
 * fetched.  The next round goes the other way, and finds the last ones there.
 */
#ifndef GENIE_CUDA_LANES_TYPES_CUH
#define GENIE_CUDA_LANES_TYPES_CUH

#include "genie_cuda_types.cuh"

/* 32-bit words of an entry: a load of 16 bytes, the largest */
constexpr int GENIE_CUDA_LANE_WORDS = 4;
constexpr uint32_t GENIE_CUDA_LANE_QUERIES = 32 * GENIE_CUDA_LANE_WORDS;
constexpr uint32_t GENIE_CUDA_LANE_ENTRY = 4 * GENIE_CUDA_LANE_WORDS;
constexpr uint32_t GENIE_CUDA_LANE_ROW = 128;
constexpr int GENIE_CUDA_LANE_SLOTS = GENIE_CUDA_LANE_ROW / GENIE_CUDA_LANE_ENTRY;

/* images of more strips are not counted by lanes: the launch would not fit a kernel's parameters */
constexpr uint32_t GENIE_CUDA_LANE_STRIPS_MAX = 128;

/* nor of more dimensions: a count has at most 12 planes */
constexpr uint32_t GENIE_CUDA_LANE_DIMENSIONS_MAX = (1 << 12) - 1;

/* A strip of codes (GenieCodeStrip) and its part of the table. */
struct GenieCudaLaneStrip
{
	uint16_t	row_bytes;		/* of the codes */
	uint8_t		turn_shift;		/* word i of object o's row is where word i ^ (o >> turn_shift & turn_mask) was */
	uint8_t		turn_mask;
	uint32_t	offset;			/* of the codes: bytes of the rows of earlier strips */
	uint32_t	table;			/* where its groups begin in shared memory */
	uint32_t	group_bytes;
};

/* Strips of one kind that follow each other. */
struct GenieCudaLaneRun
{
	uint32_t	kind;			/* genie_cuda_lane_kind() */
	uint32_t	n_strips;
};

/* three widths, and the last strip of each may be shorter */
constexpr uint32_t GENIE_CUDA_LANE_RUNS_MAX = 6;

/* Slices of so many queries. */
__host__ __device__ constexpr uint32_t
genie_cuda_lane_slices(uint32_t n_queries)
{
	return (n_queries + GENIE_CUDA_LANE_QUERIES - 1) / GENIE_CUDA_LANE_QUERIES;
}

/* The kind of a strip: its codes' width (4, 8, 16) and a row's words (1, 2, 4). */
__host__ __device__ constexpr uint32_t
genie_cuda_lane_kind(uint32_t width, uint32_t words)
{
	return width * 8 + words;
}

/* How an image's codes are looked up: the same for all batches. */
struct GenieCudaLaneLayout
{
	/* bytes of the parts of a slice's table, which in memory lie in this order */
	uint32_t	resident_bytes;
	uint32_t	first_bytes;
	uint32_t	last_bytes;
	uint32_t	n_first;		/* strips; as many are last ones */
	uint32_t	n_strips;
	uint32_t	n_runs;
	GenieCudaLaneRun runs[GENIE_CUDA_LANE_RUNS_MAX];
	GenieCudaLaneStrip strips[GENIE_CUDA_LANE_STRIPS_MAX];

	__host__ __device__ uint32_t table_bytes() const
	{
		return resident_bytes + first_bytes + last_bytes;
	}

	/* of both, those that are in shared memory at a time */
	__host__ __device__ uint32_t shared_bytes() const
	{
		return resident_bytes + (first_bytes > last_bytes ? first_bytes : last_bytes);
	}
};

/*
 * Where a rank's entries are in a slice's table: the offset of the first one, and in its lowest bits how many there
 * are, 1, 2, 4 or 8, evenly over the row.
 */
typedef uint32_t GenieCudaLanePlace;
constexpr uint32_t GENIE_CUDA_LANE_COPIES = GENIE_CUDA_LANE_ENTRY - 1;

/* A query that an object reached: object << 32 | count << 8 | the query's lane in its slice. */
typedef unsigned long long GenieCudaLaneEvent;

__host__ __device__ __forceinline__ GenieCudaLaneEvent
genie_cuda_lane_event(uint32_t query, uint32_t count, uint32_t object)
{
	return (GenieCudaLaneEvent) object << 32 | count << 8 | query;
}

static_assert(GENIE_CUDA_LANE_QUERIES <= 1u << 8, "a query's lane has 8 bits of an event");

/* One launch: all slices over units, each as many consecutive objects as a warp counts at a time. */
struct GenieCudaLaneLaunch
{
	const GenieCudaTile *tiles;
	const uint8_t *tables;		/* of the slices */
	const GenieCudaQuery *queries;
	uint32_t	n_queries;		/* lanes behind them are of no query */
	uint32_t	first_object;	/* a whole number of units */
	uint32_t	step;			/* objects from a unit's first to the next one's: a unit's, or more in a sample */
	uint32_t	n_units;
	uint32_t	part_units;		/* consecutive units that a block counts; the slice's last block has the rest */

	/* events: each block of a slice has its part of the slice's room, and says how many it had */
	GenieCudaLaneEvent *events;
	uint32_t   *n_events;
	uint32_t	slice_room;
	uint32_t	room;			/* of a block */
	uint32_t	n_blocks;		/* of a slice */
	GenieCudaLaneLayout layout;
};

#endif							/* GENIE_CUDA_LANES_TYPES_CUH */
