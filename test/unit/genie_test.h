/*
 * genie_test.h
 *	  The little that unit tests need: checks, a seeded generator, a last line.
 *
 * A test program is plain C99 with a main() that calls its tests and ends with
 * "return genie_test_end();", which prints "N passed, N failed" and gives the exit status.
 * A failed CHECK prints where and goes on.
 *
 * The generator is a splitmix64: the same numbers on every machine.  A test
 * starts it with a constant, so that a failure can be repeated.
 */
#ifndef GENIE_TEST_H
#define GENIE_TEST_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long genie_test_passed;
static unsigned long genie_test_failed;

static inline bool
genie_test_check(bool ok, const char *text, const char *file, int line)
{
	if (ok)
		genie_test_passed++;
	else
	{
		genie_test_failed++;
		printf("%s:%d: failed: %s\n", file, line, text);
	}
	return ok;
}

static inline bool
genie_test_check_int(int64_t got, int64_t wanted, const char *text, const char *file, int line)
{
	if (got == wanted)
	{
		genie_test_passed++;
		return true;
	}
	genie_test_failed++;
	printf("%s:%d: failed: %s: got %" PRId64 ", wanted %" PRId64 "\n", file, line, text, got, wanted);
	return false;
}

/* Both give true if the check held, so that a test can stop early. */
#define CHECK(condition) genie_test_check((condition), #condition, __FILE__, __LINE__)
#define CHECK_INT(got, wanted) \
	genie_test_check_int((int64_t) (got), (int64_t) (wanted), #got " = " #wanted, __FILE__, __LINE__)

typedef struct GenieRandom
{
	uint64_t	state;
} GenieRandom;

static inline uint64_t
genie_random(GenieRandom *random)
{
	uint64_t	z = (random->state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* 0 .. n - 1, n > 0 */
static inline uint64_t
genie_random_below(GenieRandom *random, uint64_t n)
{
	return genie_random(random) % n;
}

static inline int
genie_test_end(void)
{
	printf("%lu passed, %lu failed\n", genie_test_passed, genie_test_failed);
	return genie_test_failed == 0 ? 0 : 1;
}

#endif							/* GENIE_TEST_H */
