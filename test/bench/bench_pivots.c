/*
 * bench_pivots.c
 *	  How many distances does a search compute?  A flat table of distances to pivots beside the tree of GTS.
 *
 *	bench_pivots FOLDER [SET ...]
 *
 * Sets: words (611,756, bytes, edit distance), rrna (the first 108 bases, edit), trees (tree edit distance), sift
 * (100,000 x 128, l2), points (1 M of a plane, l2); all by default.  The first four are in the folder, as .tsv.gz.
 *
 * 100 objects are queries.  For each, the distance of the 10th nearest is given (by brute force), and the share of all
 * objects is counted whose distance to the query is computed then: to pivots, and to objects that no bound excludes.
 * So neither way profits from a luckier order.  Times are of one thread, with the same distance functions.
 *
 * chosen:	the pivots that genie's training chooses (genie_pivot_choice.h) from 256 random objects
 * farthest: 32 pivots, each the farthest from those before
 * labels:	of trees: the nodes of the larger one less the labels that both have, by the multiset of labels, which is
 *			what genie's class of trees has; alone, and with pivots, of both bounds the larger one
 * tree:	GTS (Zhu et al., GPU-based Tree Index for Fast Similarity Search, 4 and 5): a node's pivot is its object
 *			that is the farthest from the pivots above it, the first is an arbitrary one; its objects are sorted by the
 *			distance to the pivot and cut into ORDER parts of one size, whose least and greatest distance are kept.  A
 *			node of ORDER objects or fewer is a leaf: its objects' distances to the pivot above are kept, and exclude.
 *
 * Build with -O3 -DNDEBUG.
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bench_time.h"
#include "genie_draw.h"
#include "genie_edit.h"
#include "genie_pivot_choice.h"
#include "genie_tree_edit.h"
#include "genie_vector.h"

#define QUERIES 100
#define NEAREST 10
#define ORDER 20
#define CANDIDATES 128			/* as in genie_pivots.c */
#define SAMPLE 256
#define FARTHEST 32
#define POINTS 1000000
#define BASES 108
#define LINE_MAX_BYTES (1 << 20)

/* Texts or vectors, and one of them that distances are measured from. */
typedef struct Space
{
	uint32_t	n;

	char	  **texts;			/* or NULL */
	uint32_t   *lengths;
	GenieEditPattern pattern;
	uint16_t   *ids;			/* of another text */
	uint8_t    *scratch;

	GenieTree  *trees;			/* or NULL */
	uint32_t  **labels;			/* of a tree: its nodes', ascending */
	void	   *table;			/* that the distance needs */

	float	   *vectors;		/* or NULL */
	uint32_t	n_dimensions;

	uint32_t	from;
	uint64_t	n_distances;	/* that were computed */
} Space;

typedef struct Node
{
	uint32_t	first;			/* of order */
	uint32_t	n;
	uint32_t	pivot;
	uint32_t	children;		/* ORDER nodes from here; 0: a leaf */
	float		least;			/* distances to the pivot above */
	float		greatest;
} Node;

typedef struct Tree
{
	uint32_t   *order;			/* objects, those of a node together */
	float	   *to_pivot;		/* of order[i]: to the pivot above its leaf */
	float	   *to_nearest;		/* of an object: to the nearest of all pivots above it */
	Node	   *nodes;
	uint32_t	n_nodes;
} Tree;

typedef struct Near
{
	float		distance;
	uint32_t	object;
} Near;

static void *
reserve(size_t n, size_t size)
{
	void	   *memory = calloc(n, size);

	if (memory == NULL)
		abort();
	return memory;
}

/* ---- objects and distances ---- */

static FILE *
unpacked(const char *folder, const char *name)
{
	char		command[4096];
	FILE	   *file;

	snprintf(command, sizeof(command), "gzip -dc '%s/%s.tsv.gz'", folder, name);
	file = popen(command, "r");
	if (file == NULL)
		abort();
	return file;
}

/* The last column, at most `most` bytes of it. */
static void
add_text(Space *space, char *line, uint32_t most)
{
	char	   *text = strrchr(line, '\t');
	uint32_t	length = text == NULL ? 0 : (uint32_t) strcspn(++text, "\n");

	if ((space->n & (space->n - 1)) == 0)
	{
		size_t		room = space->n == 0 ? 1 : 2 * (size_t) space->n;

		space->texts = realloc(space->texts, room * sizeof(char *));
		space->lengths = realloc(space->lengths, room * sizeof(uint32_t));
		if (space->texts == NULL || space->lengths == NULL)
			abort();
	}
	space->lengths[space->n] = length < most ? length : most;
	space->texts[space->n] = reserve(space->lengths[space->n] + 1, 1);
	if (length > 0)
		memcpy(space->texts[space->n], text, space->lengths[space->n]);
	space->n++;
}

/* lists: two texts, of which a line must have one; or NULL */
static void
load_texts(Space *space, const char *folder, const char *name, const char *const *lists, uint32_t most)
{
	FILE	   *file = unpacked(folder, name);
	char	   *line = reserve(LINE_MAX_BYTES, 1);
	uint32_t	longest = 1;

	while (fgets(line, LINE_MAX_BYTES, file) != NULL)
		if (lists == NULL || strstr(line, lists[0]) != NULL || strstr(line, lists[1]) != NULL)
			add_text(space, line, most);
	pclose(file);
	free(line);
	for (uint32_t i = 0; i < space->n; i++)
		longest = space->lengths[i] > longest ? space->lengths[i] : longest;
	space->ids = reserve(longest, sizeof(uint16_t));
	space->scratch = reserve(longest, 1);
	space->pattern.ids = reserve(longest, sizeof(uint16_t));
	space->pattern.slots = reserve(genie_edit_slots(longest), sizeof(uint64_t));
	space->pattern.masks = reserve(genie_edit_masks(longest), sizeof(uint64_t));
}

static void
load_vectors(Space *space, const char *folder, const char *name)
{
	FILE	   *file = unpacked(folder, name);
	char	   *line = reserve(LINE_MAX_BYTES, 1);
	float	   *vectors = NULL;
	size_t		n = 0;

	while (fgets(line, LINE_MAX_BYTES, file) != NULL)
	{
		char	   *at = strchr(line, '{');

		space->n_dimensions = 0;
		while (at != NULL && *at != '}' && *at != '\0')
		{
			if ((n & (n - 1)) == 0)
				vectors = realloc(vectors, (n == 0 ? 1 : 2 * n) * sizeof(float));
			if (vectors == NULL)
				abort();
			vectors[n++] = strtof(at + 1, &at);
			space->n_dimensions++;
		}
		space->n++;
	}
	pclose(file);
	free(line);
	space->vectors = vectors;
}

static int
compare_labels(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *) a;
	const uint32_t y = *(const uint32_t *) b;

	return (x > y) - (x < y);
}

/* The number of a label: of few that there are. */
static uint32_t
label_number(const GenieBracketNode *node)
{
	static GenieBracketNode known[4096];
	static uint32_t n_known;
	uint32_t	i = 0;

	while (i < n_known && (known[i].label_len != node->label_len ||
						   memcmp(known[i].label, node->label, node->label_len) != 0))
		i++;
	if (i == n_known)
	{
		if (n_known == sizeof(known) / sizeof(known[0]))
			abort();
		known[n_known++] = *node;
	}
	return i + 1;
}

/* The fourth column. */
static void
load_trees(Space *space, const char *folder)
{
	static GenieBracketNode nodes[GENIE_TREE_NODES_MAX];
	FILE	   *file = unpacked(folder, "trees");
	char	   *line = reserve(LINE_MAX_BYTES, 1);
	uint32_t	largest = 1;

	space->trees = reserve(1 << 16, sizeof(GenieTree));
	space->labels = reserve(1 << 16, sizeof(uint32_t *));
	while (fgets(line, LINE_MAX_BYTES, file) != NULL && space->n < 1 << 16)
	{
		char	   *text = strchr(line, '{');
		size_t		length = text == NULL ? 0 : strcspn(text, "\t");
		char	   *kept = reserve(length + 1, 1);
		uint32_t   *labels = reserve(GENIE_TREE_NODES_MAX, sizeof(uint32_t));
		GenieBracketError error;
		uint32_t	n;

		memcpy(kept, text, length);
		if (genie_bracket_parse(kept, length, nodes, GENIE_TREE_NODES_MAX, &n, &error) != GENIE_BRACKET_TREE)
			abort();
		for (uint32_t i = 0; i < n; i++)
			labels[i] = label_number(&nodes[i]);
		genie_tree_make(&space->trees[space->n], nodes, labels, n, reserve(genie_tree_bytes(n), 1));
		qsort(labels, n, sizeof(uint32_t), compare_labels);
		space->labels[space->n++] = realloc(labels, n * sizeof(uint32_t));
		largest = n > largest ? n : largest;
	}
	pclose(file);
	free(line);
	space->table = reserve(genie_tree_edit_bytes(largest, largest), 1);
}

/* A lower bound of the distance between the tree that distances are measured from and another one. */
static uint32_t
label_bound(const Space *space, uint32_t object)
{
	const uint32_t *a = space->labels[space->from];
	const uint32_t *b = space->labels[object];
	uint32_t	n = space->trees[space->from].n;
	uint32_t	m = space->trees[object].n;
	uint32_t	common = 0;

	for (uint32_t i = 0, j = 0; i < n && j < m;)
	{
		common += a[i] == b[j];
		if (a[i] <= b[j])
			j += a[i++] == b[j];
		else
			j++;
	}
	return (n > m ? n : m) - common;
}

static void
make_points(Space *space)
{
	uint64_t	draws = genie_draw_begin(1, 0, 0);

	space->n = POINTS;
	space->n_dimensions = 2;
	space->vectors = reserve(2 * (size_t) space->n, sizeof(float));
	for (size_t i = 0; i < 2 * (size_t) space->n; i++)
		space->vectors[i] = (float) genie_draw_uniform(draws, i);
}

static void
measure_from(Space *space, uint32_t object)
{
	space->from = object;
	if (space->texts != NULL)
	{
		uint32_t	length = space->lengths[object];
		uint32_t   *characters = reserve(length + 1, sizeof(uint32_t));

		for (uint32_t i = 0; i < length; i++)
			characters[i] = (uint8_t) space->texts[object][i];
		memset(space->pattern.slots, 0, genie_edit_slots(length) * sizeof(uint64_t));
		memset(space->pattern.masks, 0, genie_edit_masks(length) * sizeof(uint64_t));
		space->pattern.lanes = 1;
		genie_edit_prepare(&space->pattern, characters, length);
		free(characters);
	}
}

static float
distance_to(Space *space, uint32_t object)
{
	double		sum = 0;

	space->n_distances++;
	if (space->texts != NULL)
	{
		uint32_t	n = space->lengths[object];

		for (uint32_t i = 0; i < n; i++)
			space->ids[i] = genie_edit_id(&space->pattern, (uint8_t) space->texts[object][i]);
		return (float) genie_edit_distance(&space->pattern, space->ids, n, GENIE_EDIT_LENGTH_MAX, space->scratch);
	}
	if (space->trees != NULL)
		return (float) genie_tree_edit_distance(&space->trees[object], &space->trees[space->from], space->table, NULL);
	for (uint32_t d = 0; d < space->n_dimensions; d++)
	{
		double		difference = (double) space->vectors[(size_t) space->from * space->n_dimensions + d] -
			space->vectors[(size_t) object * space->n_dimensions + d];

		sum += difference * difference;
	}
	return (float) sqrt(sum);
}

/* ---- a flat table ---- */

static GeniePivotChoice
chosen_pivots(Space *space)
{
	static double distances[CANDIDATES][SAMPLE];
	uint32_t	sample[SAMPLE];
	uint64_t	draws = genie_draw_begin(2, 0, 0);
	GeniePivotChoice choice;

	for (uint32_t i = 0; i < SAMPLE; i++)
		sample[i] = genie_draw_below(draws, i, space->n);
	for (uint32_t c = 0; c < CANDIDATES; c++)
	{
		measure_from(space, sample[c]);
		for (uint32_t o = 0; o < SAMPLE; o++)
			distances[c][o] = distance_to(space, sample[o]);
	}
	choice = genie_pivot_choice(distances[0], CANDIDATES, SAMPLE);
	if (choice.n == 0)
		abort();
	for (uint32_t p = 0; p < choice.n; p++)
		choice.pivots[p] = sample[choice.pivots[p]];
	return choice;
}

/* FARTHEST pivots, each the farthest from those before; fills the table, too. */
static GeniePivotChoice
farthest_pivots(Space *space, float *table)
{
	GeniePivotChoice choice = {.n = FARTHEST};
	float	   *nearest = reserve(space->n, sizeof(float));
	uint32_t	next = 0;

	for (uint32_t o = 0; o < space->n; o++)
		nearest[o] = INFINITY;
	for (uint32_t p = 0; p < choice.n; p++)
	{
		uint32_t	farthest = 0;

		choice.pivots[p] = next;
		measure_from(space, next);
		for (uint32_t o = 0; o < space->n; o++)
		{
			float		distance = distance_to(space, o);

			table[(size_t) o * choice.n + p] = distance;
			nearest[o] = distance < nearest[o] ? distance : nearest[o];
			farthest = nearest[o] > nearest[farthest] ? o : farthest;
		}
		next = farthest;
	}
	free(nearest);
	return choice;
}

static void
fill_table(Space *space, const GeniePivotChoice *choice, float *table)
{
	for (uint32_t p = 0; p < choice->n; p++)
	{
		measure_from(space, choice->pivots[p]);
		for (uint32_t o = 0; o < space->n; o++)
			table[(size_t) o * choice->n + p] = distance_to(space, o);
	}
}

/* Distances are floats: bounds exclude nothing that rounding may have moved. */
static float
widened(float radius)
{
	return radius * 1.0001f + 1e-6f;
}

/* Objects within the radius of the query that distances are measured from.  by_labels: by their bound, too. */
static uint32_t
within_by_table(Space *space, const GeniePivotChoice *choice, const float *table, bool by_labels, float radius)
{
	float		from[GENIE_PIVOTS_MAX];
	uint32_t	n = 0;

	for (uint32_t p = 0; p < choice->n; p++)
		from[p] = distance_to(space, choice->pivots[p]);
	for (uint32_t o = 0; o < space->n; o++)
	{
		const float *row = table + (size_t) o * choice->n;
		uint32_t	p = 0;

		while (p < choice->n && fabsf(row[p] - from[p]) <= widened(radius))
			p++;
		if (p == choice->n && !(by_labels && (float) label_bound(space, o) > radius))
			n += distance_to(space, o) <= radius;
	}
	return n;
}

/* ---- the tree ---- */

static int
compare_near(const void *a, const void *b)
{
	const Near *x = a;
	const Near *y = b;

	return (x->distance > y->distance) - (x->distance < y->distance);
}

/* Chooses a node's pivot, sorts its objects, and makes its children. */
static void
split(Space *space, Tree *tree, uint32_t at)
{
	Node		node = tree->nodes[at];
	uint32_t   *objects = tree->order + node.first;
	Near	   *nears = reserve(node.n, sizeof(Near));
	uint32_t	farthest = 0;

	for (uint32_t i = 1; i < node.n; i++)
		if (tree->to_nearest[objects[i]] > tree->to_nearest[objects[farthest]])
			farthest = i;
	node.pivot = objects[farthest];
	node.children = tree->n_nodes;
	measure_from(space, node.pivot);
	for (uint32_t i = 0; i < node.n; i++)
	{
		nears[i] = (Near) {distance_to(space, objects[i]), objects[i]};
		if (nears[i].distance < tree->to_nearest[objects[i]])
			tree->to_nearest[objects[i]] = nears[i].distance;
	}
	qsort(nears, node.n, sizeof(Near), compare_near);
	for (uint32_t i = 0; i < node.n; i++)
	{
		objects[i] = nears[i].object;
		tree->to_pivot[node.first + i] = nears[i].distance;
	}
	for (uint32_t c = 0; c < ORDER; c++)
	{
		uint32_t	begin = (uint32_t) ((uint64_t) node.n * c / ORDER);
		uint32_t	end = (uint32_t) ((uint64_t) node.n * (c + 1) / ORDER);

		tree->nodes[tree->n_nodes++] = (Node) {.first = node.first + begin, .n = end - begin,
			.least = nears[begin].distance, .greatest = nears[end - 1].distance};
	}
	tree->nodes[at] = node;
	free(nears);
}

static void
build_tree(Space *space, Tree *tree)
{
	tree->order = reserve(space->n, sizeof(uint32_t));
	tree->to_pivot = reserve(space->n, sizeof(float));
	tree->to_nearest = reserve(space->n, sizeof(float));
	tree->nodes = reserve(2 * (size_t) space->n + ORDER + 1, sizeof(Node));
	for (uint32_t o = 0; o < space->n; o++)
	{
		tree->order[o] = o;
		tree->to_nearest[o] = INFINITY;
	}
	tree->nodes[0] = (Node) {.n = space->n, .greatest = INFINITY};
	tree->n_nodes = 1;
	for (uint32_t i = 0; i < tree->n_nodes; i++)
		if (tree->nodes[i].n > ORDER)
			split(space, tree, i);
}

static uint32_t
within_by_tree(Space *space, const Tree *tree, uint32_t at, float to_pivot_above, float radius)
{
	Node		node = tree->nodes[at];
	uint32_t	n = 0;
	float		to_pivot;

	if (node.children == 0)
	{
		for (uint32_t i = node.first; i < node.first + node.n; i++)
			if (fabsf(tree->to_pivot[i] - to_pivot_above) <= widened(radius))
				n += distance_to(space, tree->order[i]) <= radius;
		return n;
	}
	to_pivot = distance_to(space, node.pivot);
	for (uint32_t c = node.children; c < node.children + ORDER; c++)
		if (tree->nodes[c].least - to_pivot <= widened(radius) && to_pivot - tree->nodes[c].greatest <= widened(radius))
			n += within_by_tree(space, tree, c, to_pivot, radius);
	return n;
}

/* ---- the figures ---- */

static void
find_radii(Space *space, const uint32_t *queries, float *radii, uint32_t *n_within)
{
	double	   *all = reserve(space->n, sizeof(double));

	for (uint32_t q = 0; q < QUERIES; q++)
	{
		measure_from(space, queries[q]);
		for (uint32_t o = 0; o < space->n; o++)
			all[o] = distance_to(space, o);
		qsort(all, space->n, sizeof(double), bench_compare);
		radii[q] = (float) all[NEAREST - 1];
		n_within[q] = NEAREST;
		while (n_within[q] < space->n && all[n_within[q]] <= all[NEAREST - 1])
			n_within[q]++;
	}
	free(all);
}

/* Asks all queries by the table, or by the tree, and prints a row. */
static void
report(Space *space, const char *title, const GeniePivotChoice *choice, const float *table, bool by_labels,
	   const Tree *tree, const uint32_t *queries, const float *radii, const uint32_t *n_within)
{
	double		began = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
	double		seconds;

	space->n_distances = 0;
	for (uint32_t q = 0; q < QUERIES; q++)
	{
		uint32_t	n;

		measure_from(space, queries[q]);
		n = tree != NULL ? within_by_tree(space, tree, 0, 0, radii[q])
			: within_by_table(space, choice, table, by_labels, radii[q]);
		if (n != n_within[q])
		{
			fprintf(stderr, "%s: query %u has %u objects within %g, not %u\n", title, q, n, (double) radii[q],
					n_within[q]);
			exit(1);
		}
	}
	seconds = bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - began;
	printf("| %s | %.4f %% | %.3f |\n", title, 100.0 * (double) space->n_distances / QUERIES / space->n,
		   1e3 * seconds / QUERIES);
	fflush(stdout);
}

static void
measure(const char *name, Space *space)
{
	float	   *table = reserve((size_t) space->n * GENIE_PIVOTS_MAX, sizeof(float));
	uint32_t	queries[QUERIES];
	float		radii[QUERIES];
	uint32_t	n_within[QUERIES];
	uint64_t	draws = genie_draw_begin(3, 0, 0);
	GeniePivotChoice choice = chosen_pivots(space);
	Tree		tree = {0};
	char		title[64];

	printf("\n| %s, %u objects | distances computed | ms a query |\n|---|---:|---:|\n", name, space->n);
	for (uint32_t q = 0; q < QUERIES; q++)
		queries[q] = genie_draw_below(draws, q, space->n);
	find_radii(space, queries, radii, n_within);
	snprintf(title, sizeof(title), "%u pivots, chosen", choice.n);
	fill_table(space, &choice, table);
	report(space, title, &choice, table, false, NULL, queries, radii, n_within);
	if (space->trees != NULL)
	{
		const GeniePivotChoice none = {0};

		report(space, "labels", &none, table, true, NULL, queries, radii, n_within);
		report(space, "labels and pivots", &choice, table, true, NULL, queries, radii, n_within);
	}
	choice = farthest_pivots(space, table);
	snprintf(title, sizeof(title), "%u pivots, farthest first", choice.n);
	report(space, title, &choice, table, false, NULL, queries, radii, n_within);
	build_tree(space, &tree);
	report(space, "tree of GTS, order 20", NULL, NULL, false, &tree, queries, radii, n_within);
	free(tree.order);
	free(tree.to_pivot);
	free(tree.to_nearest);
	free(tree.nodes);
	free(table);
}

int
main(int argc, char **argv)
{
	static const char *const lists[] = {"\tsingle\t", "\tcompound\t"};
	static const char *const names[] = {"words", "rrna", "trees", "sift", "points"};
	const char *folder = argc > 1 ? argv[1] : "../shared/data";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		Space		space = {0};
		bool		wanted = argc <= 2;

		for (int j = 2; j < argc; j++)
			wanted |= strcmp(argv[j], names[i]) == 0;
		if (!wanted)
			continue;
		switch (i)
		{
			case 0:
				load_texts(&space, folder, "words", lists, UINT32_MAX);
				break;
			case 1:
				load_texts(&space, folder, "rrna", NULL, BASES);
				break;
			case 2:
				load_trees(&space, folder);
				break;
			case 3:
				load_vectors(&space, folder, "sift100k");
				break;
			default:
				make_points(&space);
		}
		if (space.n < SAMPLE)
		{
			printf("%s: no data in %s\n", names[i], folder);
			continue;
		}
		measure(names[i], &space);
	}
	return 0;
}
