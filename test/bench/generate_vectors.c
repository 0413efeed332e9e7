/*
 * generate_vectors.c
 *	  Many vectors out of few, for benchmarks through SQL: a binary COPY of (id int, v real[]) on standard output.
 *
 *	generate_vectors FIRST ROWS SEED [keep] <given
 *
 * Standard input has the given vectors, of whole numbers, a line each, with the numbers of their nearest neighbours
 * (lines, from 0 on), as COPY writes two arrays: {4,25,12} <tab> {17,3,99}.
 *
 * Rows are made, not measured.  Row r lies between given vector r modulo their number and one of its neighbours,
 * chosen at random, at a uniformly distributed place.  Each element is then rounded up or down at random, more likely
 * to the nearer whole number, so that elements are whole numbers too, and rows between the same two vectors are not on
 * one line.  So rows lie where the given vectors lie, with as many around them and in as many directions, only denser.
 * With "keep", rows below the number of given vectors are these themselves.
 *
 * A row depends on its number and the seed alone: many processes make the same rows as one.
 */
#include <arpa/inet.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "genie_draw.h"

#define COPY_BEGIN "PGCOPY\n\377\r\n"	/* and a 0; then flags and the length of an extension, both 0 */
#define FLOAT4_OID 700

typedef struct Numbers
{
	int		   *values;
	size_t		n;
	size_t		capacity;
} Numbers;

typedef struct Given
{
	Numbers		elements;
	Numbers		neighbours;
	size_t		n;
	size_t		n_dimensions;
	size_t		n_neighbours;	/* of each */
} Given;

static void
fail(const char *message, size_t line)
{
	fprintf(stderr, "generate_vectors: line %zu: %s\n", line, message);
	exit(1);
}

static void
add(Numbers *numbers, int value)
{
	if (numbers->n == numbers->capacity)
	{
		numbers->capacity = 2 * numbers->capacity + 1024;
		numbers->values = realloc(numbers->values, numbers->capacity * sizeof(int));
	}
	numbers->values[numbers->n++] = value;
}

/* Reads {1,2,3} at *at and moves *at past it; returns the number of elements. */
static size_t
read_array(Numbers *numbers, char **at, size_t line)
{
	size_t		before = numbers->n;

	if (*(*at)++ != '{')
		fail("no array", line);
	do
	{
		char	   *end;

		add(numbers, (int) strtol(*at, &end, 10));
		if (end == *at)
			fail("no number", line);
		*at = end;
	} while (*(*at)++ == ',');
	return numbers->n - before;
}

static void
read_given(Given *given)
{
	char	   *line = NULL;
	size_t		size = 0;

	while (getline(&line, &size, stdin) > 0)
	{
		char	   *at = line;
		size_t		n_dimensions = read_array(&given->elements, &at, given->n + 1);
		size_t		n_neighbours = *at++ == '\t' ? read_array(&given->neighbours, &at, given->n + 1) : 0;

		if (n_neighbours == 0 ||
			(given->n > 0 && (n_dimensions != given->n_dimensions || n_neighbours != given->n_neighbours)))
			fail("not as many elements or neighbours as before", given->n + 1);
		given->n_dimensions = n_dimensions;
		given->n_neighbours = n_neighbours;
		given->n++;
	}
	free(line);
	for (size_t i = 0; i < given->neighbours.n; i++)
		if (given->neighbours.values[i] < 0 || (size_t) given->neighbours.values[i] >= given->n)
			fail("a neighbour that is not there", i / given->n_neighbours + 1);
}

static void
make_row(const Given *given, uint32_t row, uint64_t seed, float *elements)
{
	const uint64_t begin = genie_draw_begin(seed, 0, row);
	const size_t i = row % given->n;
	const int	neighbour = given->neighbours.values[i * given->n_neighbours +
													 genie_draw_below(begin, 0, (uint32_t) given->n_neighbours)];
	const double place = genie_draw_uniform(begin, 1);
	const int  *from = given->elements.values + i * given->n_dimensions;
	const int  *to = given->elements.values + (size_t) neighbour * given->n_dimensions;

	for (size_t d = 0; d < given->n_dimensions; d++)
		elements[d] = (float) floor(from[d] + place * (to[d] - from[d]) + genie_draw_uniform(begin, 2 + d));
}

static char *
put(char *at, uint32_t word)
{
	word = htonl(word);
	memcpy(at, &word, sizeof(word));
	return at + sizeof(word);
}

/* A tuple of two fields, each after its length: a number, and an array of one dimension without NULLs. */
static void
write_row(char *tuple, uint32_t row, const float *elements, size_t n)
{
	const uint16_t n_fields = htons(2);
	char	   *at = tuple + sizeof(n_fields);

	memcpy(tuple, &n_fields, sizeof(n_fields));
	at = put(put(at, sizeof(row)), row);
	at = put(at, (uint32_t) ((5 + 2 * n) * sizeof(uint32_t)));
	at = put(put(put(at, 1), 0), FLOAT4_OID);	/* dimensions, flags, type */
	at = put(put(at, (uint32_t) n), 1); /* length and lower bound */
	for (size_t d = 0; d < n; d++)
	{
		uint32_t	bits;

		memcpy(&bits, &elements[d], sizeof(bits));
		at = put(put(at, sizeof(bits)), bits);
	}
	fwrite(tuple, 1, (size_t) (at - tuple), stdout);
}

int
main(int argc, char **argv)
{
	Given		given = {0};
	float	   *elements;
	char	   *tuple;
	uint32_t	first;
	uint32_t	rows;
	uint64_t	seed;
	int			keep = argc > 4 && strcmp(argv[4], "keep") == 0;

	if (argc != 4 + keep)
	{
		fprintf(stderr, "usage: generate_vectors FIRST ROWS SEED [keep] <given\n");
		return 2;
	}
	first = (uint32_t) strtoul(argv[1], NULL, 10);
	rows = (uint32_t) strtoul(argv[2], NULL, 10);
	seed = strtoull(argv[3], NULL, 10);
	read_given(&given);
	if (given.n == 0)
		fail("nothing is given", 1);
	elements = malloc(given.n_dimensions * sizeof(float));
	tuple = malloc((10 + 2 * given.n_dimensions) * sizeof(uint32_t));
	fwrite(COPY_BEGIN "\0\0\0\0\0\0\0\0", 1, 19, stdout);
	for (uint32_t row = first; row - first < rows; row++)
	{
		if (keep && row < given.n)
			for (size_t d = 0; d < given.n_dimensions; d++)
				elements[d] = (float) given.elements.values[row * given.n_dimensions + d];
		else
			make_row(&given, row, seed, elements);
		write_row(tuple, row, elements, given.n_dimensions);
	}
	fwrite("\377\377", 1, 2, stdout);	/* no tuple follows */
	if (fflush(stdout) != 0 || ferror(stdout))
	{
		perror("generate_vectors");
		return 1;
	}
	return 0;
}
