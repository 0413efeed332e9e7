/*
 * genie_proximity_recall.c
 *	  How much of the nearest searches of a proximity graph find (genie_proximity_build.h), and how long their queue
 *	  should be for that (genie_proximity.h).
 *
 * How long depends on the data: on how many dimensions they have, how crowded they are, and how much quantizing blurs
 * them.  So some objects of each graph are looked for in it, with queues of all lengths, and what is found is compared
 * with a scan of all objects.  The query is the object's own vector, and the object is left out: its edges, too, since
 * no other query has any.  By inner product the query is a vector of the segment as well, less the centre if one was
 * learned, as good as any without knowing the queries.
 *
 * What is nearest is told by *likely* distances, as keys are bounds by quantized vectors.  An object's vector v lies at
 * v' + e, where the direction of e is not known.  From another vector it is as far as v', but for the part of e that
 * lies in that direction: |e| times a number from a normal distribution, whose deviation is 1 / sqrt(dimensions).  That
 * number is drawn, by the object's record: equal objects are as far.  A queue goes by keys, and must be the longer,
 * the more objects a key does not tell apart.  What is as near as the last of the best is as good.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "genie_draw.h"
#include "genie_proximity_build.h"
#include "genie_topk.h"
#include "genie_value_record.h"

#define SAMPLES 256				/* at most, */
#define SAMPLES_MIN 64			/* and at least; between them, so many that */
#define COMPARED (1 << 28)		/* no more records are compared with them: one thread takes 4 ns for 128 dimensions */
#define K_MAX 100				/* the larger k */
#define BLURRED 1024			/* the best by keys, of which the nearest are chosen */
#define CHUNK 1024				/* records that are compared at once: they lie in one tile */
#define TRIES 16				/* for an object of which something is known */
#define WHOLE UINT16_MAX

typedef struct Measure
{
	const GenieQuantizedVectors *vectors;
	const GenieProximityGraph *graph;
	size_t		n_bytes;		/* of a record */
	uint32_t	n_samples;
	bool		failed;			/* there is no memory; atomic */
	struct
	{
		uint32_t	wanted[GENIE_PROXIMITY_KS]; /* of the best k, which may be fewer */
		uint32_t	found[GENIE_PROXIMITY_KS][GENIE_PROXIMITY_QUEUES];
	}			samples[SAMPLES];
} Measure;

/* What a sample needs. */
typedef struct Probe
{
	uint32_t	object;			/* itself */
	double		reach;			/* by which errors of records count: 1; by inner product, the query's length */
	GenieValueQuery *query;
	float	   *elements;
	GenieHit   *hits;			/* of the scan, or of a search */
	uint32_t	keys[CHUNK];
	double		distances[BLURRED];
} Probe;

static const uint32_t ks[GENIE_PROXIMITY_KS] = {10, K_MAX};

/* 16, 24, 32, 48, 64, ... */
static uint32_t
queue_of(uint32_t i)
{
	return (i % 2 == 0 ? 16 : 24) << i / 2;
}

static const void *
record_of(const Measure *measure, uint32_t object)
{
	return genie_vectors_record(measure->vectors, measure->n_bytes, object);
}

static bool
is_known(const Measure *measure, uint32_t object)
{
	return ((const GenieQuantized *) record_of(measure, object))->error <= FLT_MAX;
}

/* False: nothing is known of any that was drawn. */
static bool
choose(const Measure *measure, uint32_t sample, uint32_t *object)
{
	uint64_t	draw = genie_draw_begin(0, GENIE_PROXIMITY_DRAW_SAMPLE, sample);

	for (uint32_t i = 0; i < TRIES; i++)
	{
		*object = genie_draw_below(draw, i, measure->vectors->n_objects);
		if (is_known(measure, *object))
			return true;
	}
	return false;
}

static void
prepare(const Measure *measure, Probe *probe)
{
	GenieValueShape shape = {.metric = measure->vectors->metric, .n_dimensions = measure->vectors->n_dimensions};
	const void *record = record_of(measure, probe->object);

	probe->reach = 1;
	if (shape.metric != GENIE_METRIC_INNER)
	{
		genie_value_query_of_record(shape.metric, shape.n_dimensions, record, probe->query);
		return;
	}
	genie_quantized_vector(shape, record, probe->elements);
	genie_value_query(shape, (GenieVector) {probe->elements, shape.n_dimensions, false}, probe->query);
	probe->reach = probe->query->norm;
}

/* How far an object with such a key may be: see above. */
static double
likely_distance(const Measure *measure, const Probe *probe, GenieHit hit)
{
	const GenieQuantized *record = record_of(measure, hit.object);
	const uint32_t *words = (const uint32_t *) record;
	uint64_t	draw = genie_draw_begin(0, GENIE_PROXIMITY_DRAW_SAMPLE, probe->object);
	double		normal;
	double		other;

	for (size_t i = 0; i < measure->n_bytes / sizeof(uint32_t); i++)
		draw = genie_draw_bits(draw, words[i]);
	genie_draw_normals(draw, 0, &normal, &other);
	return genie_value_key_bound(hit.key) +
		probe->reach * record->error * (1 + normal / sqrt(measure->vectors->n_dimensions));
}

static int
compare_distances(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* How far the last ones of the nearest are that are known, without itself.  Notes how many there are. */
static void
scan(Measure *measure, uint32_t sample, Probe *probe, double *last)
{
	uint32_t	n_objects = measure->vectors->n_objects;
	GenieTopK	top;
	uint32_t	n;

	genie_topk_init(&top, probe->hits, BLURRED, 1, NULL);
	for (uint32_t first = 0; first < n_objects; first += CHUNK)
	{
		uint32_t	n_chunk = n_objects - first < CHUNK ? n_objects - first : CHUNK;

		genie_value_keys(probe->query, record_of(measure, first), n_chunk, probe->keys);
		for (uint32_t i = 0; i < n_chunk; i++)
			if (probe->keys[i] >= top.floor && first + i != probe->object && is_known(measure, first + i))
				genie_topk_offer(&top, probe->keys[i], first + i);
	}
	n = genie_topk_finish(&top);
	for (uint32_t i = 0; i < n; i++)
		probe->distances[i] = likely_distance(measure, probe, probe->hits[i]);
	qsort(probe->distances, n, sizeof(double), compare_distances);
	for (uint32_t k = 0; k < GENIE_PROXIMITY_KS; k++)
	{
		uint32_t	wanted = n < ks[k] ? n : ks[k];

		measure->samples[sample].wanted[k] = wanted;
		last[k] = wanted == 0 ? 0 : probe->distances[wanted - 1];
	}
}

/* How many of the nearest k a search has found, for each k; they are among the first of what it has found. */
static void
count_found(Measure *measure, uint32_t sample, uint32_t queue, const Probe *probe, int64_t n, const double *last)
{
	for (int64_t i = 0; i < n && i < BLURRED; i++)
	{
		double		distance = likely_distance(measure, probe, probe->hits[i]);

		for (uint32_t k = 0; k < GENIE_PROXIMITY_KS; k++)
			measure->samples[sample].found[k][queue] += distance <= last[k] &&
				measure->samples[sample].found[k][queue] < measure->samples[sample].wanted[k];
	}
}

/* Searches with longer and longer queues, until all is found.  False: there is no memory. */
static bool
search(Measure *measure, uint32_t sample, Probe *probe, const double *last)
{
	const uint32_t *wanted = measure->samples[sample].wanted;
	bool		all = false;

	for (uint32_t i = 0; i < GENIE_PROXIMITY_QUEUES; i++)
	{
		int64_t		n = all ? 0 : genie_proximity_search_level(measure->graph, measure->vectors, probe->query, 0,
															   probe->object, queue_of(i), probe->hits);

		if (n < 0)
			return false;
		count_found(measure, sample, i, probe, n, last);
		for (uint32_t k = 0; k < GENIE_PROXIMITY_KS && all; k++)
			measure->samples[sample].found[k][i] = wanted[k];
		all = all || measure->samples[sample].found[GENIE_PROXIMITY_KS - 1][i] == wanted[GENIE_PROXIMITY_KS - 1];
	}
	return true;
}

static void
measure_sample(void *work, uint32_t sample)
{
	Measure    *measure = work;
	double		last[GENIE_PROXIMITY_KS];
	void	   *query = NULL;
	Probe	   *probe = malloc(sizeof(Probe));
	GenieHit   *hits = malloc((genie_topk_capacity(BLURRED) + queue_of(GENIE_PROXIMITY_QUEUES - 1)) * sizeof(GenieHit));
	float	   *elements = malloc(measure->vectors->n_dimensions * sizeof(float));
	bool		ok = probe != NULL && hits != NULL && elements != NULL &&
		posix_memalign(&query, GENIE_QUANTIZED_ALIGN,
				   genie_value_query_bytes(measure->vectors->metric, measure->vectors->n_dimensions)) == 0;

	if (ok && choose(measure, sample, &probe->object))
	{
		probe->query = query;
		probe->elements = elements;
		probe->hits = hits;
		prepare(measure, probe);
		scan(measure, sample, probe, last);
		ok = search(measure, sample, probe, last);
	}
	if (!ok)
		__atomic_store_n(&measure->failed, true, __ATOMIC_RELAXED);
	free(query);
	free(elements);
	free(hits);
	free(probe);
}

GenieProximityResult
genie_proximity_measure(const GenieProximityGraph *graph, const GenieQuantizedVectors *vectors,
						const GenieProximityWorkers *workers, GenieProximityRecall *recall)
{
	Measure    *measure = calloc(1, sizeof(Measure));
	GenieProximityResult result = GENIE_PROXIMITY_NO_MEMORY;

	if (measure == NULL)
		return result;
	measure->vectors = vectors;
	measure->graph = graph;
	measure->n_bytes = genie_value_record_bytes(vectors->metric, vectors->n_dimensions);
	measure->n_samples = COMPARED / vectors->n_objects;
	measure->n_samples = measure->n_samples > SAMPLES ? SAMPLES :
		measure->n_samples < SAMPLES_MIN ? SAMPLES_MIN : measure->n_samples;
	if (!workers->for_each(workers->arg, measure->n_samples, measure_sample, measure))
		result = GENIE_PROXIMITY_STOPPED;
	else if (!measure->failed)
		result = GENIE_PROXIMITY_BUILT;
	for (uint32_t k = 0; k < GENIE_PROXIMITY_KS; k++)
		for (uint32_t i = 0; i < GENIE_PROXIMITY_QUEUES; i++)
		{
			uint32_t	wanted = 0;
			uint32_t	found = 0;

			for (uint32_t s = 0; s < measure->n_samples; s++)
			{
				wanted += measure->samples[s].wanted[k];
				found += measure->samples[s].found[k][i];
			}
			recall->found[k][i] = wanted == 0 ? WHOLE : (uint16_t) ((uint64_t) found * WHOLE / wanted);
		}
	free(measure);
	return result;
}

/* The shortest queue for the k of that number; where none is long enough, one that finds as much as any. */
static uint32_t
shortest(const GenieProximityRecall *recall, uint32_t k, double wanted)
{
	uint32_t	best = 0;

	for (uint32_t i = 1; i < GENIE_PROXIMITY_QUEUES && recall->found[k][best] < wanted * WHOLE; i++)
		if (recall->found[k][i] > recall->found[k][best])
			best = i;
	return queue_of(best);
}

uint32_t
genie_proximity_queue(const GenieProximityRecall *recall, uint32_t k, double wanted)
{
	uint32_t	of_few = shortest(recall, 0, wanted);
	uint32_t	of_many = shortest(recall, 1, wanted);
	uint64_t	queue;

	of_many = of_many < of_few ? of_few : of_many;
	queue = k <= ks[0] ? of_few : k <= ks[1] ? of_few + (of_many - of_few) * (k - ks[0]) / (ks[1] - ks[0]) :
		(uint64_t) of_many * k / ks[1];
	return queue > GENIE_PROXIMITY_QUEUE_MAX ? GENIE_PROXIMITY_QUEUE_MAX : queue < k ? k : (uint32_t) queue;
}
