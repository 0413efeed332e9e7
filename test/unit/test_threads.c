/*
 * test_threads.c
 *	  The threads that help the caller of the CPU engine, without an engine.
 *	  Runs under ThreadSanitizer too, as test_batch does (build/race).
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "genie_cpu_threads.h"
#include "genie_test.h"

#define THREADS_MAX 8

/* What the helping function sees and does; the fields are atomic. */
typedef struct Board
{
	bool		waits;			/* for goes, inside */
	bool		goes;
	uint32_t	n_inside;
	uint32_t	n_calls;
	uint32_t	n_unblocked;	/* calls with a signal that is not blocked */
	GenieTileScratch *scratches[2 * THREADS_MAX];
	uint32_t	written;		/* not atomic: each call adds to its own slot only */
	uint32_t	slots[2 * THREADS_MAX];
} Board;

static void
help(void *arg, GenieTileScratch *scratch)
{
	Board	   *board = arg;
	uint32_t	i = __atomic_fetch_add(&board->n_calls, 1, __ATOMIC_RELAXED);
	sigset_t	blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	if (!sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGHUP))
		__atomic_fetch_add(&board->n_unblocked, 1, __ATOMIC_RELAXED);
	if (i < 2 * THREADS_MAX)
	{
		board->scratches[i] = scratch;
		board->slots[i] = board->written + i;
	}
	__atomic_fetch_add(&board->n_inside, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&board->waits, __ATOMIC_RELAXED) && !__atomic_load_n(&board->goes, __ATOMIC_RELAXED))
		sched_yield();
}

/* All n are inside at once, each with a scratch of its own; the caller's wait ends without them, and then with them. */
static void
test_together(GenieCpuThreads *threads, uint32_t n)
{
	Board		board = {.waits = true, .written = 7};

	CHECK_INT(genie_cpu_threads_resize(threads, n), n);
	CHECK_INT(genie_cpu_threads_count(threads), n);
	genie_cpu_threads_begin(threads, n + 3, help, &board);
	while (__atomic_load_n(&board.n_inside, __ATOMIC_RELAXED) < n)
		sched_yield();
	CHECK(genie_cpu_threads_end(threads, 1) == (n == 0));
	CHECK(genie_cpu_threads_end(threads, 0) == (n == 0));
	__atomic_store_n(&board.goes, true, __ATOMIC_RELAXED);
	while (!genie_cpu_threads_end(threads, 2))
		;
	CHECK_INT(board.n_calls, n);
	CHECK_INT(board.n_unblocked, 0);
	for (uint32_t i = 0; i < n; i++)
	{
		CHECK_INT(board.slots[i], 7 + i);
		CHECK((uintptr_t) board.scratches[i] % 64 == 0);
		for (uint32_t j = 0; j < i; j++)
			CHECK(board.scratches[i] != board.scratches[j]);
	}
}

/* However short a batch is, no more calls are made than seats were open, and none after the end. */
static void
test_short(GenieCpuThreads *threads, uint32_t n)
{
	for (uint32_t round = 0; round < 2000; round++)
	{
		Board		board = {.written = round};
		uint32_t	wanted = round % (n + 1);
		uint32_t	n_calls;

		genie_cpu_threads_begin(threads, wanted, help, &board);
		while (!genie_cpu_threads_end(threads, round % 2))
			;
		n_calls = board.n_calls;
		if (n_calls > wanted)
			CHECK_INT(n_calls, wanted);
		for (uint32_t i = 0; i < n_calls; i++)
			if (board.slots[i] != round + i)
				CHECK_INT(board.slots[i], round + i);
		memset(&board, 0, sizeof(board));
	}
	CHECK(true);
}

int
main(void)
{
	static const uint32_t ns[] = {0, 1, 2, 8, 3, 0, 5, 5};
	GenieCpuThreads *threads = genie_cpu_threads_open(genie_kernels_choose());
	sigset_t	blocked;

	if (!CHECK(threads != NULL))
		return genie_test_end();
	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++)
		test_together(threads, ns[i]);
	test_short(threads, 5);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	CHECK(!sigismember(&blocked, SIGTERM));
	genie_cpu_threads_close(threads);
	genie_cpu_threads_close(NULL);
	return genie_test_end();
}
