/*
 * genie_cpu_threads.c
 *	  Threads that help the caller of the CPU engine with a batch (genie_cpu_threads.h).
 *
 * The caller opens *seats* for a batch, as many as it wants helpers.  A thread that is awake takes a seat, runs the
 * function, and leaves.  A thread is in one of three states:
 *
 *		WAITING ----------- a seat is free: takes it, n_inside + 1 ----------> INSIDE
 *		   |  ^------------ the function returned: n_inside - 1 ------------------|
 *		   +--- its number is n_wanted or more ---> ENDED, joined by the caller
 *
 * and the caller is either outside a batch (no seats, no thread inside), or between begin and the end that gave true.
 *
 * Who writes what:
 *	n_seats, n_inside	both sides, under the lock; the caller also looks at n_inside without it, to wait a moment
 *						awake (waking up takes longer than most waits), and then once more under the lock
 *	n_wanted			the caller, under the lock, outside a batch
 *	help, arg			the caller, under the lock, while there is no seat and nobody is inside; a thread
 *						copies them with its seat
 *	threads, n			the caller alone
 *	a thread's scratch	the caller before the thread starts, then the thread alone
 * The lock also orders the rest of memory: a thread that took a seat sees what the caller wrote before begin, and
 * the caller sees after end what threads wrote before they left.
 *
 * Why nothing waits for ever.  The lock is held for a few assignments, never while the function runs, and it is the
 * only one.  A waiting thread looks at n_seats and n_wanted under the lock before it sleeps and after each
 * wake-up, and both are signalled after each change, so no wake-up is lost.  The caller waits for threads that are
 * inside only: a thread that is slow to wake finds its seat taken back, and waits on.  Threads never wait
 * for each other nor, inside, for anything.
 *
 * A thread that is done while seats are left takes another one, and finds no work; each seat is taken at most once.
 *
 * Threads block all signals, so the process's handlers run in the caller's thread.  Waiting threads hold no lock and no
 * memory but their scratch and stack: the process may exit while they wait.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "genie_cpu_threads.h"

#define SCRATCH_ALIGNMENT 64	/* bytes: a cache line */

/*
 * bytes; counting takes a few kilobytes, libraries' thread-local variables lie here too, and where memory is
 * not overcommitted, the usual 8 MB would count in full
 */
#define STACK_BYTES (1 << 20)

/*
 * How long the caller waits awake for threads that are inside, nanoseconds: what going to sleep and waking up takes.
 * Between two looks it pauses, so that it does not slow the core that it shares.
 */
#define SPIN_NS 50000
#define SPIN_PAUSES 16

typedef struct Helper
{
	GenieTileScratch scratch;	/* first: its counters are aligned as the memory is */
	GenieCpuThreads *threads;
	uint32_t	number;
	pthread_t	thread;
} Helper;

struct GenieCpuThreads
{
	pthread_mutex_t lock;
	pthread_cond_t wake;		/* there is a seat, or n_wanted is less */
	pthread_cond_t left;		/* nobody is inside */
	uint32_t	n_seats;
	uint32_t	n_inside;		/* atomic */
	uint32_t	n_wanted;
	GenieCpuHelp help;
	void	   *arg;

	const GenieKernels *kernels;
	uint32_t	n;
	Helper	   *helpers[GENIE_CPU_THREADS_MAX];
};

/* ---- a thread ---- */

static void *
helper_main(void *arg)
{
	Helper	   *helper = arg;
	GenieCpuThreads *threads = helper->threads;

#ifdef __linux__
	prctl(PR_SET_NAME, "genie count");
#endif
	pthread_mutex_lock(&threads->lock);
	while (helper->number < threads->n_wanted)
	{
		GenieCpuHelp help = threads->help;
		void	   *help_arg = threads->arg;

		if (threads->n_seats == 0)
		{
			pthread_cond_wait(&threads->wake, &threads->lock);
			continue;
		}
		threads->n_seats--;
		__atomic_add_fetch(&threads->n_inside, 1, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&threads->lock);
		help(help_arg, &helper->scratch);
		pthread_mutex_lock(&threads->lock);
		if (__atomic_sub_fetch(&threads->n_inside, 1, __ATOMIC_RELAXED) == 0)
			pthread_cond_signal(&threads->left);
	}
	pthread_mutex_unlock(&threads->lock);
	return NULL;
}

/* Starts the thread with all signals blocked. */
static bool
start(Helper *helper)
{
	pthread_attr_t attributes;
	sigset_t	all;
	sigset_t	before;
	bool		started;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = pthread_create(&helper->thread, &attributes, helper_main, helper) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return started;
}

/* ---- how many there are ---- */

static void
set_wanted(GenieCpuThreads *threads, uint32_t n)
{
	pthread_mutex_lock(&threads->lock);
	threads->n_wanted = n;
	pthread_mutex_unlock(&threads->lock);
	pthread_cond_broadcast(&threads->wake);
}

/* Makes thread number n.  False: the system refuses. */
static bool
add_thread(GenieCpuThreads *threads)
{
	void	   *memory;
	Helper	   *helper;

	if (posix_memalign(&memory, SCRATCH_ALIGNMENT, sizeof(Helper)) != 0)
		return false;
	helper = memory;
	memset(helper, 0, sizeof(Helper));
	helper->scratch.kernels = threads->kernels;
	helper->threads = threads;
	helper->number = threads->n;
	if (!start(helper))
	{
		free(helper);
		return false;
	}
	threads->helpers[threads->n++] = helper;
	return true;
}

uint32_t
genie_cpu_threads_resize(GenieCpuThreads *threads, uint32_t n)
{
	if (n > GENIE_CPU_THREADS_MAX)
		n = GENIE_CPU_THREADS_MAX;
	set_wanted(threads, n);
	while (threads->n < n && add_thread(threads))
		;
	while (threads->n > n)
	{
		Helper	   *helper = threads->helpers[--threads->n];

		pthread_join(helper->thread, NULL);
		free(helper);
	}
	return threads->n;
}

uint32_t
genie_cpu_threads_count(const GenieCpuThreads *threads)
{
	return threads->n;
}

GenieCpuThreads *
genie_cpu_threads_open(const GenieKernels *kernels)
{
	GenieCpuThreads *threads = calloc(1, sizeof(GenieCpuThreads));
	pthread_condattr_t attributes;
	bool		made;

	if (threads == NULL || pthread_condattr_init(&attributes) != 0)
	{
		free(threads);
		return NULL;
	}
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	made = pthread_mutex_init(&threads->lock, NULL) == 0 &&
		pthread_cond_init(&threads->wake, NULL) == 0 &&
		pthread_cond_init(&threads->left, &attributes) == 0;
	pthread_condattr_destroy(&attributes);
	if (!made)
	{
		free(threads);
		return NULL;
	}
	threads->kernels = kernels;
	return threads;
}

void
genie_cpu_threads_close(GenieCpuThreads *threads)
{
	if (threads == NULL)
		return;
	genie_cpu_threads_resize(threads, 0);
	pthread_cond_destroy(&threads->left);
	pthread_cond_destroy(&threads->wake);
	pthread_mutex_destroy(&threads->lock);
	free(threads);
}

/* ---- a batch ---- */

void
genie_cpu_threads_begin(GenieCpuThreads *threads, uint32_t n, GenieCpuHelp help, void *arg)
{
	if (n > threads->n)
		n = threads->n;
	pthread_mutex_lock(&threads->lock);
	threads->help = help;
	threads->arg = arg;
	threads->n_seats = n;
	pthread_mutex_unlock(&threads->lock);
	for (uint32_t i = 0; i < n; i++)
		pthread_cond_signal(&threads->wake);
}

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

/* Waits a moment for threads to leave, awake. */
static void
spin(const GenieCpuThreads *threads, uint64_t until)
{
	while (__atomic_load_n(&threads->n_inside, __ATOMIC_RELAXED) > 0 && now_ns() < until)
	{
#if defined(__x86_64__)
		for (int i = 0; i < SPIN_PAUSES; i++)
			__builtin_ia32_pause();
#endif
	}
}

bool
genie_cpu_threads_end(GenieCpuThreads *threads, uint32_t wait_ms)
{
	uint64_t	begin = now_ns();
	uint64_t	end = begin + (uint64_t) wait_ms * 1000000;
	struct timespec until = {.tv_sec = (time_t) (end / 1000000000), .tv_nsec = (long) (end % 1000000000)};
	bool		all_left;

	pthread_mutex_lock(&threads->lock);
	threads->n_seats = 0;
	pthread_mutex_unlock(&threads->lock);
	spin(threads, begin + SPIN_NS);
	pthread_mutex_lock(&threads->lock);
	while (threads->n_inside > 0 &&
		   pthread_cond_timedwait(&threads->left, &threads->lock, &until) == 0)
		;
	all_left = threads->n_inside == 0;
	pthread_mutex_unlock(&threads->lock);
	return all_left;
}
