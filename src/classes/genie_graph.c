/*
 * genie_graph.c
 *	  genie_stars(): undirected graphs with labelled vertices as objects.
 *
 * Zeng, Tung, Wang, Feng and Zhou, "Comparing stars: on approximating graph edit distance" (VLDB 2009), section 3: each
 * vertex gives one star, which is its label and the multiset of its neighbours' labels.  A graph of n vertices has n
 * stars.  The match count of two graphs' objects is the number of stars that they share (genie_multiset.h), by which
 * the GENIE paper ranks graphs.  An edit operation changes few stars: adding or removing an edge changes those of its
 * two ends, and relabelling a vertex changes its own and its neighbours'.
 *
 * A star is written as the label, then "{" neighbour's label "}" for each neighbour, in byte order, with a backslash
 * before braces and backslashes in labels:  C{C}{H}{H}{H}.
 *
 * An edge that is named twice, in either direction, is one edge, so adjacency lists serve as well as lists of edges.  A
 * vertex with an edge to itself is its own neighbour.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "genie_bracket.h"
#include "genie_multiset.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(genie_stars);

typedef struct Vertex
{
	char	   *label;			/* escaped, not zero-terminated */
	int			len;
	uint32		rank;			/* among the labels in byte order; equal labels, equal ranks */
} Vertex;

static int
compare_labels(const void *a, const void *b)
{
	const Vertex *x = *(const Vertex *const *) a;
	const Vertex *y = *(const Vertex *const *) b;
	int			diff = memcmp(x->label, y->label, Min(x->len, y->len));

	return diff != 0 ? diff : (x->len > y->len) - (x->len < y->len);
}

#define ST_SORT sort_pairs
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* The vertices; sets *by_rank to an array with a vertex of each rank. */
static Vertex *
read_vertices(ArrayType *labels, int *n, Vertex ***by_rank)
{
	Datum	   *values;
	bool	   *nulls;
	Vertex	   *vertices;
	Vertex	  **sorted;
	uint32		rank = 0;

	if (ARR_NDIM(labels) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("labels of a graph must be a one-dimensional array")));
	deconstruct_array(labels, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, n);
	genie_keywords_check_limit(*n);
	vertices = palloc(*n * sizeof(Vertex));
	sorted = palloc(*n * sizeof(Vertex *));
	for (int i = 0; i < *n; i++)
	{
		struct varlena *label = (struct varlena *) DatumGetPointer(values[i]);

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("label of vertex %d is NULL", i + 1)));
		CHECK_FOR_INTERRUPTS();
		vertices[i].label = MemoryContextAllocHuge(CurrentMemoryContext, 2 * VARSIZE_ANY_EXHDR(label) + 1);
		vertices[i].len = (int) genie_bracket_escape(vertices[i].label, VARDATA_ANY(label), VARSIZE_ANY_EXHDR(label));
		sorted[i] = &vertices[i];
	}
	qsort(sorted, *n, sizeof(Vertex *), compare_labels);
	for (int i = 0; i < *n; i++)
	{
		if (i > 0 && compare_labels(&sorted[i - 1], &sorted[i]) != 0)
			rank++;
		sorted[i]->rank = rank;
	}
	for (int i = 0; i < *n; i++)
		sorted[vertices[i].rank] = &vertices[i];
	*by_rank = sorted;
	return vertices;
}

/* The number of vertex numbers in edges: two for each edge. */
static int
count_ends(ArrayType *edges)
{
	int			n = ArrayGetNItems(ARR_NDIM(edges), ARR_DIMS(edges));
	bool		pairs = ARR_NDIM(edges) == 2 ? ARR_DIMS(edges)[1] == 2 : ARR_NDIM(edges) < 2 && n % 2 == 0;

	if (!pairs)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("edges of a graph must be pairs of vertex numbers"),
				 errhint("Give an array of n times 2 numbers, or of one dimension and even length.")));
	if (array_contains_nulls(edges))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("edges of a graph must not contain NULL")));
	return n;
}

/*
 * The neighbours of all vertices: *n pairs, ascending, of a vertex's number in the upper half and a neighbour's rank in
 * the lower half.
 */
static uint64 *
read_neighbours(ArrayType *edges, const Vertex *vertices, int n_vertices, uint64 *n)
{
	int			n_ends = count_ends(edges);
	const int32 *ends = (const int32 *) ARR_DATA_PTR(edges);
	uint64	   *pairs = MemoryContextAllocHuge(CurrentMemoryContext, (n_ends + 1) * sizeof(uint64));
	uint64		kept = 0;

	for (int i = 0; i < n_ends; i++)
	{
		if (ends[i] < 1 || ends[i] > n_vertices)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("edge %d names vertex %d, but the graph has %d", i / 2 + 1, ends[i], n_vertices),
					 errdetail("Vertices are numbered from 1 in the order of their labels.")));
		/* i ^ 1 is the edge's other end */
		pairs[i] = (uint64) (ends[i] - 1) << 32 | (uint32) (ends[i ^ 1] - 1);
	}
	sort_pairs(pairs, n_ends);
	for (int i = 0; i < n_ends; i++)
	{
		if (i > 0 && pairs[i] == pairs[i - 1])
			continue;
		pairs[kept++] = pairs[i];
	}
	for (uint64 i = 0; i < kept; i++)
		pairs[i] = (pairs[i] >> 32 << 32) | vertices[(uint32) pairs[i]].rank;
	sort_pairs(pairs, kept);
	*n = kept;
	return pairs;
}

/* genie_stars(labels, edges) */
Datum
genie_stars(PG_FUNCTION_ARGS)
{
	ArrayType  *labels = PG_GETARG_ARRAYTYPE_P(0);
	ArrayType  *edges = PG_GETARG_ARRAYTYPE_P(1);
	int			n;
	Vertex	  **by_rank;
	Vertex	   *vertices = read_vertices(labels, &n, &by_rank);
	uint64		n_neighbours;
	uint64	   *neighbours = read_neighbours(edges, vertices, n, &n_neighbours);
	uint64		at = 0;
	StringInfoData star;
	GenieMultiset stars;

	initStringInfo(&star);
	genie_multiset_init(&stars);
	for (int i = 0; i < n; i++)
	{
		resetStringInfo(&star);
		appendBinaryStringInfo(&star, vertices[i].label, vertices[i].len);
		for (; at < n_neighbours && neighbours[at] >> 32 == (uint64) i; at++)
		{
			const Vertex *neighbour = by_rank[(uint32) neighbours[at]];

			CHECK_FOR_INTERRUPTS();
			appendStringInfoChar(&star, '{');
			appendBinaryStringInfo(&star, neighbour->label, neighbour->len);
			appendStringInfoChar(&star, '}');
		}
		genie_multiset_add(&stars, star.data, star.len);
	}
	PG_RETURN_POINTER(genie_multiset_object(&stars, 0));
}
