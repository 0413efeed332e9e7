/*
 * genie_cuda_lanes_types.cuh
 *	  Bit lanes: the data of the kernels.
 *
 * A query is one *lane*: one bit of a word.  A *slice* is the queries that a thread counts at once, which are
 * GENIE_CUDA_LANE_QUERIES.  A slice has a table.  For each code of each dimension the table has an *entry*: one bit a
 * lane, which says whether the query wants the code.
 *
 * A strip's codes (genie_image.h) are looked up in *groups* of GENIE_CUDA_LANE_SLOTS dimensions.  Row c of a group
 * holds the entries of code c of all its dimensions, each in its own slot.  A row is GENIE_CUDA_LANE_ROW bytes: all
 * banks of shared memory once.  If a group has fewer dimensions than slots, they are repeated in the slots behind.
 *
 * Banks.  Eight threads load 16 bytes each at a time, from unrelated rows, so each needs a slot of its own: thread t
 * reads slot s ^ t at step s.  Each thread sees every slot once, and no two see the same slot in a step.
 *
 * Swizzling.  So threads need their codes in different orders.  The order inside a 32-bit word costs nothing: it is the
 * mask of a dot product.  The words of a row must be in the right order in memory; genie_cuda_lanes_swizzle() brings
 * them there, in place, when lanes first count an image on the device.
 *
 * A table that does not fit shared memory.  Strips are *first*, *resident* or *last*, and first ones share their room
 * with last ones.  A round counts first, resident, then last strips; while the resident ones are counted, the last ones
 * are fetched.  The next round goes backwards and finds the last ones there.
 */
#ifndef GENIE_CUDA_LANES_TYPES_CUH
#define GENIE_CUDA_LANES_TYPES_CUH

#include "genie_cuda_codes.cuh"

/* 32-bit words of an entry: 16 bytes, the largest load */
constexpr int GENIE_CUDA_LANE_WORDS = 4;
constexpr uint32_t GENIE_CUDA_LANE_QUERIES = 32 * GENIE_CUDA_LANE_WORDS;
constexpr uint32_t GENIE_CUDA_LANE_ENTRY = 4 * GENIE_CUDA_LANE_WORDS;
constexpr uint32_t GENIE_CUDA_LANE_ROW = 128;
constexpr int GENIE_CUDA_LANE_SLOTS = GENIE_CUDA_LANE_ROW / GENIE_CUDA_LANE_ENTRY;
static_assert(GENIE_CUDA_LANE_SLOTS == GENIE_CUDA_CODE_SLOTS, "codes are swizzled for these slots");

/* lanes do not count images of more strips: the launch would not fit a kernel's parameters */
constexpr uint32_t GENIE_CUDA_LANE_STRIPS_MAX = 128;

/* nor images of more dimensions: a count has at most 12 planes */
constexpr uint32_t GENIE_CUDA_LANE_DIMENSIONS_MAX = (1 << 12) - 1;

/* A strip of codes (GenieCodeStrip) and its part of the table. */
struct GenieCudaLaneStrip
{
	uint16_t	row_bytes;		/* of the codes */
	uint8_t		swizzle_shift;	/* word i of object o's row is where word i ^ (o >> swizzle_shift & swizzle_mask) was */
	uint8_t		swizzle_mask;
	uint32_t	offset;			/* of the codes: bytes of the rows of earlier strips */
	uint32_t	table;			/* offset of its groups in shared memory */
	uint32_t	group_bytes;
};

/* Consecutive strips of one kind. */
struct GenieCudaLaneRun
{
	uint32_t	kind;			/* genie_cuda_lane_kind() */
	uint32_t	n_strips;
};

/* three widths, each of whose last strips may be shorter */
constexpr uint32_t GENIE_CUDA_LANE_RUNS_MAX = 6;

/* How many slices the queries make. */
__host__ __device__ constexpr uint32_t
genie_cuda_lane_slices(uint32_t n_queries)
{
	return (n_queries + GENIE_CUDA_LANE_QUERIES - 1) / GENIE_CUDA_LANE_QUERIES;
}

/* The kind of a strip: the width of its codes (4, 8, 16) and the words of a row (1, 2, 4). */
__host__ __device__ constexpr uint32_t
genie_cuda_lane_kind(uint32_t width, uint32_t words)
{
	return width * 8 + words;
}

/* How an image's codes are looked up: the same for all batches. */
struct GenieCudaLaneLayout
{
	/* bytes of the parts of a slice's table, in their order in memory */
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

	/* of these, how many are in shared memory at a time */
	__host__ __device__ uint32_t shared_bytes() const
	{
		return resident_bytes + (first_bytes > last_bytes ? first_bytes : last_bytes);
	}
};

/*
 * Where a rank's entries are in a slice's table: the offset of the first one, and in the lowest bits the number of
 * copies: 1, 2, 4 or 8, spread evenly over the row.
 */
typedef uint32_t GenieCudaLanePlace;
constexpr uint32_t GENIE_CUDA_LANE_COPIES = GENIE_CUDA_LANE_ENTRY - 1;

/* An *event*: an object whose count reaches a query's threshold.  object << 32 | count << 8 | the query's lane. */
typedef unsigned long long GenieCudaLaneEvent;

__host__ __device__ __forceinline__ GenieCudaLaneEvent
genie_cuda_lane_event(uint32_t query, uint32_t count, uint32_t object)
{
	return (GenieCudaLaneEvent) object << 32 | count << 8 | query;
}

static_assert(GENIE_CUDA_LANE_QUERIES <= 1u << 8, "a query's lane has 8 bits of an event");

/* One launch: all slices over some units.  A *unit* is the consecutive objects that a warp counts at a time. */
struct GenieCudaLaneLaunch
{
	const GenieCudaTile *tiles;
	const uint8_t *tables;		/* of the slices */
	const GenieCudaQuery *queries;
	uint32_t	n_queries;		/* lanes behind the last query are unused */
	uint32_t	first_object;	/* a whole number of units */
	uint32_t	step;			/* objects from a unit's first to the next one's: a unit's own, or more in a sample */
	uint32_t	n_units;
	uint32_t	part_units;		/* consecutive units that a block counts; a slice's last block has the rest */

	bool		tallies;		/* objects that reach thresholds are added up in the queries' n_hits: no events */
	const uint32_t *live;		/* of tallies: bits from first_object on; NULL: those of the tiles */

	/* events: each block of a slice has its part of the slice's room, and writes how many events it had */
	GenieCudaLaneEvent *events;
	uint32_t   *n_events;
	uint32_t	slice_room;
	uint32_t	room;			/* of a block */
	uint32_t	n_blocks;		/* of a slice */
	GenieCudaLaneLayout layout;
};

#endif							/* GENIE_CUDA_LANES_TYPES_CUH */
