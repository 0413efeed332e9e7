/*
 * genie_request.c
 *	  The request queue: a slot for each backend, and the states that a slot goes through.
 *
 * A backend asks one request at a time, so slot number = backend number.  A slot is a state and a pointer to the
 * request's memory, which is in the arena (genie_arena.h): jobs, what they ask, and room for the results
 * (genie_wire.h).
 *
 *				 backend: ask					worker: take
 *		IDLE ------------------> READY -----------------------> TAKEN
 *		 ^  ^ backend: give up     |    worker: answer, or go down |	| backend: give up
 *		 |  +----------------------+      (READY too, going down)  |	| (ERROR, cancel, exit)
 *		 |                                                         v	v
 *		 +------- backend: read the answer ------------------- DONE	  ABANDONED
 *		 +------- worker: answer, or go down; free the memory ------------+
 *
 * All transitions are compare-and-exchange, hence full barriers: the other side sees all that was written before.
 * In each state, this process alone may touch the slot's memory pointer and the request's memory, and frees it:
 *
 *	IDLE		no one; there is none.  The backend gets it from the arena before it asks.
 *	READY		the backend only
 *	TAKEN		the worker only; the memory stays whatever the backend does
 *	DONE		the backend only; it copies results out and frees it.  Where results are to stay, it makes the slot IDLE
 *				and has a callback of a memory context free the request, at an ERROR too
 *	ABANDONED	the worker only; it frees it.  The backend, or the next one of the same number, may not ask until
 *				the slot is IDLE, and counts itself meanwhile (GENIE_FALLBACK_BUSY).
 *
 * Death.	A backend that ends, by ERROR or by FATAL, gives up on its way out (PG_FINALLY; before_shmem_exit).
 *			A worker that ends answers READY and TAKEN slots with "no worker" on its way out.  If either is killed
 *			(SIGKILL, a crash), the postmaster restarts the server, and shared memory starts empty.
 *			The backend asks in two steps: READY first, then it checks whether the worker is up; the worker goes
 *			down in two steps: not up first, then it answers all slots.  So one of the two sees the other (each
 *			step is a barrier).
 *
 * Waking.	The backend sets the worker's latch after READY; the worker sets the backend's after DONE.  Backends wait
 *			interruptibly and look at their slot's state, nothing else.  A latch that is set too early is only a
 *			spurious wake-up, and both sides look at the states after resetting their latch, so no wake-up is lost.
 *
 * Neither side holds a lock while waiting, counting or copying.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "portability/instr_time.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "genie_arena.h"
#include "genie_compat.h"
#include "genie_request.h"
#include "genie_wait_event.h"
#include "genie_wire.h"

/*
 * A request's smallest allocation.  Above 8 kB DSA gives whole pages back; below, it keeps 64 kB for each size class,
 * which a small arena cannot spare.
 */
#define GENIE_REQUEST_BYTES_MIN (8 * 1024 + 1)

/* queries that are one request although genie.max_batch may be less: a scan has one for each segment */
#define GENIE_REQUEST_JOBS 64

/* a request has no more than one of so many parts of the arena, unless one job alone needs more: others ask, too */
#define GENIE_REQUEST_PART 4

/*
 * Results stay in their request if it has no more than one of KEPT_PART parts of the arena, is the only one of a call
 * (else it would take the room of the next), and if the requests that stay, of all backends, have no more than one of
 * ALL_KEPT_PART parts: they may stay for long, as their rows are looked up.  Else results are copied.
 */
#define GENIE_REQUEST_KEPT_PART 16
#define GENIE_REQUEST_ALL_KEPT_PART 4

/* looks again this often although the latch is not set, in case that the postmaster was too busy to signal */
#define GENIE_WAIT_MS 1000
#define GENIE_STOPS_MS 100		/* so often it asks whether to stop, where somebody is to be asked */

typedef enum GenieSlotState
{
	SLOT_IDLE = 0,
	SLOT_READY,
	SLOT_TAKEN,
	SLOT_DONE,
	SLOT_ABANDONED
} GenieSlotState;

typedef struct GenieSlot
{
	pg_atomic_uint32 state;
	int			procno;			/* whose latch to set; written before READY, read in TAKEN */
	dsa_pointer memory;
	uint64		ready_at;		/* us; written before READY */
} GenieSlot;

/* a cache line each, so that backends do not disturb each other */
typedef union GenieSlotPadded
{
	GenieSlot	slot;
	char		pad[PG_CACHE_LINE_SIZE];
} GenieSlotPadded;

typedef struct GenieRequestShared
{
	pg_atomic_uint32 worker_up; /* 1: READY slots will be looked at */
	int			worker_procno;	/* whose latch to set; written before worker_up */
	uint32		n_slots;
	uint32		next;			/* the worker's: the slot where it begins to look, so that none starves */
	pg_atomic_uint64 kept;		/* bytes of answered requests whose results stay */
	GenieSlotPadded slots[FLEXIBLE_ARRAY_MEMBER];
} GenieRequestShared;

bool		genie_request_enabled;
int			genie_request_max_batch;

static GenieRequestShared *request_shared = NULL;

/* This backend's request in shared memory: what to give up if it ends.  Invalid: none. */
static dsa_pointer asked = InvalidDsaPointer;

/* auxiliary processes never ask */
static uint32
count_slots(void)
{
	return (uint32) MaxBackends;
}

Size
genie_request_shmem_size(void)
{
	return add_size(offsetof(GenieRequestShared, slots), mul_size(count_slots(), sizeof(GenieSlotPadded)));
}

void
genie_request_shmem_init(void *memory)
{
	request_shared = memory;
	if (IsUnderPostmaster)
		return;
	memset(memory, 0, genie_request_shmem_size());
	pg_atomic_init_u32(&request_shared->worker_up, 0);
	pg_atomic_init_u64(&request_shared->kept, 0);
	request_shared->n_slots = count_slots();
	for (uint32 i = 0; i < request_shared->n_slots; i++)
	{
		pg_atomic_init_u32(&request_shared->slots[i].slot.state, SLOT_IDLE);
		request_shared->slots[i].slot.memory = InvalidDsaPointer;
	}
}

uint32
genie_request_slots(void)
{
	return request_shared->n_slots;
}

static GenieSlot *
slot_at(uint32 i)
{
	return &request_shared->slots[i].slot;
}

/* The transition from one state to another, if it is in that one. */
static bool
slot_move(GenieSlot *slot, GenieSlotState from, GenieSlotState to)
{
	uint32		expected = from;

	return pg_atomic_compare_exchange_u32(&slot->state, &expected, to);
}

static uint64
now_us(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}

/* ---- the backend's side ---- */

/*
 * Leaves no request behind, whatever state the slot is in.  Does nothing if there is none.  The worker may
 * move the slot on meanwhile, READY to TAKEN to DONE: then the next iteration finds it there.
 */
static void
give_up(void)
{
	GenieSlot  *slot = slot_at(MyProcNumber);
	dsa_pointer memory = asked;
	bool		left = false;

	if (!DsaPointerIsValid(memory))
		return;
	asked = InvalidDsaPointer;
	while (!left)
	{
		switch ((GenieSlotState) pg_atomic_read_u32(&slot->state))
		{
			case SLOT_READY:
				left = slot_move(slot, SLOT_READY, SLOT_IDLE);
				break;
			case SLOT_TAKEN:
				if (slot_move(slot, SLOT_TAKEN, SLOT_ABANDONED))
					return;		/* the worker frees it */
				break;
			case SLOT_DONE:
				left = slot_move(slot, SLOT_DONE, SLOT_IDLE);
				break;
			case SLOT_IDLE:		/* not asked yet, or taken back */
			case SLOT_ABANDONED:	/* cannot be: it is asked with an IDLE slot only */
				left = true;
				break;
		}
	}
	dsa_free(genie_arena_requests(), memory);
}

static void
give_up_at_exit(int code, Datum arg)
{
	give_up();
}

/* Waits until the worker has answered.  False: stops(), which may be NULL, said so.  An ERROR may leave it. */
static bool
wait_for_answer(GenieSlot *slot, bool (*stops) (void))
{
	while (pg_atomic_read_u32(&slot->state) != SLOT_DONE)
	{
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
				  stops != NULL ? GENIE_STOPS_MS : GENIE_WAIT_MS, genie_wait_event(GENIE_WAIT_REQUEST));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (stops != NULL && stops())
			return false;
	}
	pg_memory_barrier();
	return true;
}

/* Hands the request over.  False: there is no worker. */
static bool
ask_worker(GenieSlot *slot)
{
	slot->procno = MyProcNumber;
	slot->memory = asked;
	slot->ready_at = now_us();
	if (!slot_move(slot, SLOT_IDLE, SLOT_READY))
		elog(ERROR, "the request slot is not idle");
	if (pg_atomic_read_u32(&request_shared->worker_up) == 0)
	{
		/* it may have seen the request and be about to answer it: then that answer counts */
		return !slot_move(slot, SLOT_READY, SLOT_IDLE);
	}
	SetLatch(&ProcGlobal->allProcs[request_shared->worker_procno].procLatch);
	return true;
}

static void
all_undone(GenieRequestJob *jobs, uint32 n_jobs, GenieFallback why)
{
	for (uint32 i = 0; i < n_jobs; i++)
	{
		jobs[i].has_bounds = false;
		jobs[i].why = why;
	}
}

static bool
worker_is_up(void)
{
	return request_shared != NULL && pg_atomic_read_u32(&request_shared->worker_up) != 0;
}

GenieFallback
genie_request_possible(void)
{
	if (!genie_request_enabled)
		return GENIE_FALLBACK_OFF;
	return worker_is_up() ? GENIE_FALLBACK_NONE : GENIE_FALLBACK_NO_WORKER;
}

/* A request whose results stay as long as a memory context. */
typedef struct KeptRequest
{
	MemoryContextCallback callback;
	dsa_pointer memory;
	Size		nbytes;
} KeptRequest;

static void
free_kept(void *arg)
{
	KeptRequest *kept = arg;

	dsa_free(genie_arena_requests(), kept->memory);
	pg_atomic_fetch_sub_u64(&request_shared->kept, kept->nbytes);
}

/* May the results of a request of so many bytes stay?  Then they are counted. */
static bool
may_stay(const GenieRequestJob *jobs, uint32 n_jobs, Size nbytes)
{
	Size		arena = genie_arena_request_bytes();

	for (uint32 i = 0; i < n_jobs; i++)
		if (jobs[i].result != NULL || jobs[i].job.kind == GENIE_JOB_LEVEL)
			return false;
	if (nbytes > arena / GENIE_REQUEST_KEPT_PART)
		return false;
	if (pg_atomic_add_fetch_u64(&request_shared->kept, nbytes) <= arena / GENIE_REQUEST_ALL_KEPT_PART)
		return true;
	pg_atomic_fetch_sub_u64(&request_shared->kept, nbytes);
	return false;
}

/* The request, of so many bytes, was answered: its memory is the current context's from now on. */
static void
keep_answer(GenieSlot *slot, KeptRequest *kept, Size nbytes)
{
	kept->memory = asked;
	kept->nbytes = nbytes;
	kept->callback.func = free_kept;
	kept->callback.arg = kept;
	asked = InvalidDsaPointer;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &kept->callback);
	if (!slot_move(slot, SLOT_DONE, SLOT_IDLE))
		elog(ERROR, "the request slot is not done");
}

/*
 * Asks with a request of so many bytes, waits, and reads the answer; whole: there are no other jobs.  Returns the time
 * that the worker has counted.
 */
static uint64
ask_and_read(GenieSlot *slot, GenieRequestJob *jobs, uint32 n_jobs, Size nbytes, bool whole)
{
	KeptRequest *kept = palloc(sizeof(KeptRequest));
	bool		stays;
	uint64		count_us;

	if (!ask_worker(slot))
	{
		all_undone(jobs, n_jobs, GENIE_FALLBACK_NO_WORKER);
		return 0;
	}
	if (!wait_for_answer(slot, jobs[0].stops))
	{
		all_undone(jobs, n_jobs, GENIE_FALLBACK_BUSY);	/* what the slot is until the worker has noticed */
		return 0;
	}
	stays = whole && may_stay(jobs, n_jobs, nbytes);
	count_us = genie_wire_read_answer(dsa_get_address(genie_arena_requests(), asked), stays, jobs);
	if (stays)
		keep_answer(slot, kept, nbytes);
	else
		pfree(kept);
	return count_us;
}

/* Writes the jobs into a request of their own, `asked`.  Returns its bytes; 0: it does not fit the arena. */
static Size
write_request(const GenieRequestJob *jobs, uint32 n_jobs)
{
	GenieWirePlan *plan = genie_wire_plan();
	Size		bytes;

	Assert(!DsaPointerIsValid(asked));
	for (uint32 i = 0; i < n_jobs; i++)
		genie_wire_plan_add(plan, &jobs[i]);
	bytes = Max(genie_wire_plan_bytes(plan), GENIE_REQUEST_BYTES_MIN);
	asked = dsa_allocate_extended(genie_arena_requests(), bytes, GENIE_ARENA_FLAGS);
	if (DsaPointerIsValid(asked))
		genie_wire_write(plan, dsa_get_address(genie_arena_requests(), asked), jobs);
	genie_wire_plan_free(plan);
	return DsaPointerIsValid(asked) ? bytes : 0;
}

/*
 * Asks for the jobs, all in one request; whole: there are no others.  False: it does not fit the arena.  Adds the time
 * that the worker has counted.
 */
static bool
run_request(GenieRequestJob *jobs, uint32 n_jobs, bool whole, uint64 *count_us)
{
	Size		nbytes = write_request(jobs, n_jobs);

	if (nbytes == 0)
		return false;
	genie_stat_add(GENIE_COUNTER_REQUESTS, 1);
	genie_stat_add(GENIE_COUNTER_QUERIES, n_jobs);
	PG_TRY();
	{
		*count_us += ask_and_read(slot_at(MyProcNumber), jobs, n_jobs, nbytes, whole);
	}
	PG_FINALLY();
	{
		give_up();
	}
	PG_END_TRY();
	return true;
}

Size
genie_request_bytes(void)
{
	return genie_arena_request_bytes() / GENIE_REQUEST_PART;
}

/* How many of the jobs make one request: no more than max_jobs, nor than fit genie_request_bytes(). */
static uint32
count_in_request(const GenieRequestJob *jobs, uint32 n_jobs, uint32 max_jobs)
{
	Size		limit = genie_request_bytes();
	GenieWirePlan *plan = genie_wire_plan();
	uint32		n = 0;

	while (n < Min(n_jobs, max_jobs) && (n == 0 || genie_wire_plan_bytes(plan) <= limit))
		genie_wire_plan_add(plan, &jobs[n++]);
	if (genie_wire_plan_bytes(plan) > limit && n > 1)
		n--;
	genie_wire_plan_free(plan);
	return n;
}

void
genie_request_prepare(void)
{
	static bool exit_registered = false;

	if (!exit_registered)
		before_shmem_exit(give_up_at_exit, 0);
	exit_registered = true;
}

uint64
genie_request_run(GenieRequestJob *jobs, uint32 n_jobs)
{
	uint32		most = Max(genie_request_max_batch, GENIE_REQUEST_JOBS);
	uint64		count_us = 0;
	uint32		n;

	if (!worker_is_up() || genie_arena_requests() == NULL)
	{
		all_undone(jobs, n_jobs, GENIE_FALLBACK_NO_WORKER);
		return 0;
	}
	genie_request_prepare();
	if (pg_atomic_read_u32(&slot_at(MyProcNumber)->state) != SLOT_IDLE)
	{
		all_undone(jobs, n_jobs, GENIE_FALLBACK_BUSY);
		return 0;
	}
	for (uint32 first = 0; first < n_jobs; first += n)
	{
		n = count_in_request(jobs + first, n_jobs - first, most);
		while (!run_request(jobs + first, n, n == n_jobs, &count_us))
		{
			if (n == 1)
			{
				all_undone(jobs + first, 1, GENIE_FALLBACK_NO_ROOM);
				break;
			}
			n /= 2;
		}
	}
	return count_us;
}

/* ---- the worker's side ---- */

void
genie_request_worker_up(void)
{
	request_shared->worker_procno = MyProcNumber;
	pg_memory_barrier();
	pg_atomic_write_u32(&request_shared->worker_up, 1);
}

/* Hands an answered slot to its backend, or, if that has given up, frees the request. */
static void
finish_slot(GenieSlot *slot)
{
	dsa_pointer memory = slot->memory;
	int			procno = slot->procno;

	if (slot_move(slot, SLOT_TAKEN, SLOT_DONE))
		SetLatch(&ProcGlobal->allProcs[procno].procLatch);
	else
	{
		dsa_free(genie_arena_requests(), memory);
		slot_move(slot, SLOT_ABANDONED, SLOT_IDLE);
	}
}

void
genie_request_worker_down(void)
{
	pg_atomic_write_u32(&request_shared->worker_up, 0);
	pg_memory_barrier();
	for (uint32 i = 0; i < request_shared->n_slots; i++)
	{
		GenieSlot  *slot = slot_at(i);

		if (slot_move(slot, SLOT_READY, SLOT_TAKEN) ||
			pg_atomic_read_u32(&slot->state) == SLOT_TAKEN ||
			pg_atomic_read_u32(&slot->state) == SLOT_ABANDONED)
			finish_slot(slot);
	}
}

uint32
genie_request_take(GenieTaken *taken, uint32 max_requests, uint32 max_jobs)
{
	uint32		n = 0;
	uint32		n_jobs = 0;
	uint32		first = request_shared->next;

	for (uint32 i = 0; i < request_shared->n_slots && n < max_requests && n_jobs < max_jobs; i++)
	{
		uint32		number = (first + i) % request_shared->n_slots;
		GenieSlot  *slot = slot_at(number);

		/* a look before the exchange, which takes the cache line away from its backend */
		if (pg_atomic_read_u32(&slot->state) != SLOT_READY || !slot_move(slot, SLOT_READY, SLOT_TAKEN))
			continue;
		genie_stat_add(GENIE_COUNTER_WAIT_US, now_us() - slot->ready_at);
		taken[n].slot = number;
		taken[n].memory = slot->memory;
		taken[n].wire = dsa_get_address(genie_arena_requests(), slot->memory);
		genie_wire_read(taken[n].wire, &taken[n]);
		n_jobs += taken[n++].n_jobs;
		request_shared->next = (number + 1) % request_shared->n_slots;
	}
	return n;
}

bool
genie_request_is_abandoned(const GenieTaken *taken)
{
	return pg_atomic_read_u32(&slot_at(taken->slot)->state) == SLOT_ABANDONED;
}

void
genie_request_drop(const GenieTaken *taken)
{
	finish_slot(slot_at(taken->slot));
}

void
genie_request_answer(GenieTaken *taken, const GenieAnswer *answers, uint64 count_us)
{
	genie_wire_answer(taken->wire, taken, answers, count_us);
	finish_slot(slot_at(taken->slot));
}
