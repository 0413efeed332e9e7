/*
 * genie_lsh_count.c
 *	  How many hash functions a match count needs to tell a similarity.
 *
 * Two objects agree by each of m functions with probability s.  The number C of functions by which they do is
 * binomially distributed, and C / m is the estimate of s (GENIE, section 5.1.2, equation 9).  The coverage is the
 * probability that it is within epsilon
 *
 *		P(s) = sum of Binomial(m, s)(c) over c with |c / m - s| <= epsilon
 *
 * It must be at least 1 - delta for each s, not only s = 1/2, and exactly, not by a normal approximation.
 *
 * Between two neighbours of the points where a count c comes into reach, s = c / m - epsilon, or leaves it, s = c / m
 * + epsilon, the counts are the same, lo .. hi, and P, as a function of s, rises and then falls: it is smallest at
 * one end.  So the smallest value of all is at one of these points, approached from one side.  Where a count comes
 * just when another one leaves, because 2 m epsilon is a whole number, there is nothing between: 0.06 means 6/100, so
 * a number is whole if it is so but for rounding.
 *
 * The coverage does not only grow with m: it falls a little where the next count is not yet in reach.  So all m from 1
 * on are tried, and each around s = 1/2 first, where nearly all that fail fail.
 */
#include <math.h>

#include "genie_lsh.h"

#define WHOLE	1e-9			/* the rounding errors of m * epsilon are smaller, and what users mean is coarser */

/* x, or the whole number that it is but for rounding */
static double
near_whole(double x)
{
	double		whole = floor(x + 0.5);

	return fabs(x - whole) < WHOLE ? whole : x;
}

/* P(lo <= C <= hi), 0 < s < 1: from the likeliest of these counts outwards */
static double
coverage(uint32_t m, double s, int64_t lo, int64_t hi)
{
	int64_t		mode = (int64_t) floor((m + 1) * s);
	double		odds = s / (1 - s);
	double		largest;
	double		sum;
	double		term;

	lo = lo < 0 ? 0 : lo;
	hi = hi > m ? m : hi;
	if (lo > hi)
		return 0;
	mode = mode < lo ? lo : mode > hi ? hi : mode;
	largest = exp(lgamma(m + 1.0) - lgamma(mode + 1.0) - lgamma(m - mode + 1.0) +
				  mode * log(s) + (m - mode) * log1p(-s));
	sum = term = largest;
	for (int64_t c = mode + 1; c <= hi && term > sum * 1e-18; c++)
		sum += term *= (double) (m - c + 1) / c * odds;
	term = largest;
	for (int64_t c = mode; c > lo && term > sum * 1e-18; c--)
		sum += term *= c / ((m - c + 1) * odds);
	return sum;
}

/* Is the coverage at least that, from and up to these values of s * m?  reach: epsilon * m. */
static bool
covers(uint32_t m, double reach, double wanted, double from, double to)
{
	int64_t		lo = (int64_t) ceil(near_whole(from - reach));
	int64_t		hi = (int64_t) floor(near_whole(from + reach));
	double		at = from;

	/* lo .. hi: in reach just above from */
	if (near_whole(from - reach) == lo)
		lo++;
	while (at < to)
	{
		double		leaves = lo + reach;
		double		comes = hi + 1 - reach;
		double		next = leaves < comes ? leaves : comes;

		if (at > 0 && coverage(m, at / m, lo, hi) < wanted)
			return false;
		if (next < m && coverage(m, next / m, lo, hi) < wanted)
			return false;
		if (leaves - next < WHOLE)
			lo++;
		if (comes - next < WHOLE)
			hi++;
		at = next;
	}
	return true;
}

uint32_t
genie_lsh_functions(double epsilon, double delta)
{
	double		wanted = 1 - delta;

	for (uint32_t m = 1; m <= GENIE_LSH_FUNCTIONS_MAX; m++)
	{
		double		reach = near_whole(m * epsilon);

		/* the coverage of s is that of 1 - s */
		if (covers(m, reach, wanted, m > 2 ? m / 2.0 - 1 : 0, m / 2.0) && covers(m, reach, wanted, 0, m / 2.0))
			return m;
	}
	return 0;
}

double
genie_lsh_functions_bound(double epsilon, double delta)
{
	return ceil(2 * log(3 / delta) / (epsilon * epsilon));
}
