/*
 * genie_opclass.h
 *	  The interface of operator classes: the support functions that a class of the genie access method has.
 *
 * This header is installed with genie.  Another extension includes it to index its own type; test/module is an example.
 * Such an extension cannot link to genie, so all that it needs is inline: making keys (genie_key_make() and
 * genie_keyword.h), collecting a value's keywords, making and reading a genie_query.  Its operators must agree with its
 * support functions: otherwise an index scan and a sequential scan give different answers.
 *
 *	1	decompose(value opcintype, keywords internal) returns void
 *			Adds the value's keywords with genie_keywords_add() to the GenieKeywords that the pointer names.  They may
 *			come in any order, and duplicates count once.  The value is not NULL.  The object's size (for distances)
 *			is its number of distinct keywords, unless the function sets keywords->size.
 *	2	compile(query internal, strategy int2, subtype oid [, parameters internal]) returns genie_query
 *			Turns the right operand of an operator into a genie_query: normalised intervals and min_match, as
 *			genie_query_of_keys() makes it.  The operand is passed as its datum, of type subtype, and is not NULL.  If
 *			genie_query itself is a right operand, subtype is the function's own result type,
 *			get_func_rettype(fcinfo->flinfo->fn_oid), and the function may return the datum.  Only functions of
 *			approximate classes have parameters, see below.
 *	3	bound(strategy int2, query internal, match_count int4, object_size int4) returns float8
 *			A lower bound of the strategy's distance for an object of that size that matches that many keywords of the
 *			query; object_size is at least match_count.  query is the GenieQuery * that compile made; it has no ranges.
 *			The function is required for strategies from 3 on, except in an approximate class.  It must be immutable.
 *			It uses the operator's own C expression, so that rounding does not make it larger than the operator's
 *			value: a scan raises an error for a row whose distance is smaller than its bound.
 *			genie_jaccard_bound() is taken for the distance itself; it is for strategy 3 alone.  The result is never
 *			NaN.
 *			For each size it does not increase with match_count.  For each count it does not decrease as object_size
 *			grows beyond the query's number of keywords; up to that number it only falls or only rises.  (A scan calls
 *			it once or twice for each count and class of sizes, not once for each row, and checks the results:
 *			genie_bound.h.)
 *	4	options(relopts internal) returns void
 *			Declares the class's parameters (see local_relopts in PostgreSQL).  Optional.  The other support functions
 *			read them with PG_GET_OPCLASS_OPTIONS(); operators never see them.
 *	5	train(sample internal) returns bytea
 *			Makes the parameters of an approximate class from the GenieSample: 1 to GENIE_LEARNED_MAX bytes, which
 *			depend on the sample and the class's options alone.  The sample has at least one object.  If it has fewer
 *			than GENIE_TRAIN_MIN objects, or if sample->can_wait, the result may be NULL: they are too few, or tell too
 *			little.  Otherwise it is not NULL.  If sample->learned is not NULL, the function may set sample->misfit to
 *			say that an index would better learn again, and its result means nothing.  Of an index that learns
 *			again, what is behind the first GENIE_PARAMETERS_MAX bytes stays as it was (disk/genie_learned.h).
 *	6	sign(raw internal, keywords internal) returns void
 *			Adds the signature of the GenieRaw object to the GenieKeywords, whose parameters are not NULL.  It raises no
 *			error for an object that decompose has accepted, because no merge of that row could finish.  An object that
 *			it cannot sign gets no keywords.
 *	7	metric(opcintype, opcintype) returns float8
 *			For classes that genie_create_metric() makes: the distance function, of which the class knows that it is a
 *			metric.  It is the function of the class's operator.
 *	8	value(call internal) returns void
 *			For genie's own classes of vectors and bit strings, and for those of a metric.  Fills in the
 *			GenieValueCall: what values of an index with these parameters are like, and, if there is a raw object, its
 *			record.  It raises no error for an object that decompose has accepted.  The record of an object without a
 *			value is that of an unknown one.  Asked for keywords, it makes the raw object of a quantized vector.
 *
 *	9	tolerance() returns float8
 *			With function 7: how far its results may be wrong by rounding, relatively.  It must be immutable.
 *	10	edges() returns int4
 *			For genie's own classes of vectors, with function 8 and without 6: scans may begin with what searches of
 *			proximity graphs find (values/genie_proximity.h).  How many edges an object has there, if the index's
 *			parameter graph does not say; 0: none.
 *
 * A class with function 5 learns from rows.  With function 8 and without 6 it is *exact*: it has no keywords, and scans
 * rank rows by lower bounds of their distances, which follow from the values; by function 10 it is approximate where
 * there are graphs.  It may have function 6 or 8, or both.
 * Values of an approximate class spare its scans visits of rows; its segments need not have any.
 *
 * A class with functions 5 and 6 whose operators have strategies 1 and 2 is *coarse*.  Its keywords, which sign makes
 * of raw ones, stand for several of those, as bins do for the values in them.  For each object and query, the match
 * count by the keywords that decompose or sign gives, and by the query that compile gives with the same parameters, is
 * at least the operators' match count.  Without parameters raw keywords and the query are counted, and both counts are
 * the same.  By the query that compile gives, raw keywords have the match count of what sign makes of them.  compile
 * gives no threshold.  Scans look rows up, and the operators judge them.  With parameters and
 * strategy 0, compile gives a query for the other side: the match count by it is at most the operators'.  Such a class
 * has no distances, and, of genie's own alone, scalars as values (genie_scalars.h).  Its rows wait raw in the pending
 * list.  What is said of parameters below holds for it.
 *
 * Any other class with functions 5 and 6 is *approximate*.  Its keywords are signatures, one dimension for each hash
 * function, and match counts estimate a similarity.  Such a class has function 6, no function 3, and no operators but
 * distances to order by (strategies from 3 on).  A scan takes the rows that match most as candidates, and orders them
 * by the operator's distance of the values in the table (genie_rerank.h).
 *	- Hash functions may depend on the data, through parameters that are trained on a sample of the rows.  The metapage
 *	  keeps them.  They do not change until REINDEX, unless rows have values, by which all are signed again
 *	  (merge/genie_retrain.c).  An index of too few rows has no parameters yet.
 *	- decompose finds the parameters in keywords->parameters.  With parameters, it adds the signature, which must equal
 *	  the one that sign makes of the raw keywords.  Without (NULL), it adds *raw* keywords, from which sign makes the
 *	  signature when there are parameters, and sets keywords->size if sign uses the size.  All raw objects of an index
 *	  must have one size then: the first one decides it, others are refused.
 *	- If keywords->raw is set, decompose checks the value by the parameters, and adds raw keywords all the same.  genie
 *	  sets it only for its own classes of vectors (genie_vector_type.h), whose raw rows scans can measure.
 *	- compile gets the parameters as its fourth argument, a const bytea *.  Without (NULL), it returns a query without
 *	  keywords.
 *	- Only train and sign see raw keywords.  Rows that have them wait in the pending list until a merge signs them, and
 *	  an untrained index has only such rows: every scan takes all of them as candidates.
 *
 * Strategies: 1 = <&> (negative match count, int4, FOR ORDER BY), 2 = @& (match count >= min_match, and distance <=
 * max_distance if the query has a threshold), 3 = <%> (Jaccard distance, float8, FOR ORDER BY), 4 = <~> (edit distance,
 * float8, FOR ORDER BY).  Strategies from 5 on are distances: float8, FOR ORDER BY float_ops.  The strategies below
 * from 5 to 11 are those of genie's own classes; another class may give these numbers other meanings.
 */
#ifndef GENIE_OPCLASS_H
#define GENIE_OPCLASS_H

#include "common/hashfn.h"
#include "fmgr.h"
#include "genie_compat.h"
#include "genie_keyword.h"
#include "genie_set_similarity.h"
#include "utils/memutils.h"

#define GENIE_DECOMPOSE_PROC	1
#define GENIE_COMPILE_PROC		2
#define GENIE_BOUND_PROC		3
#define GENIE_OPTIONS_PROC		4
#define GENIE_TRAIN_PROC		5
#define GENIE_SIGN_PROC			6
#define GENIE_METRIC_PROC		7
#define GENIE_VALUE_PROC		8
#define GENIE_TOLERANCE_PROC	9
#define GENIE_NPROC				10	/* the last one is GENIE_GRAPH_PROC (disk/genie_options.h) */

#define GENIE_INNER_QUERY		0	/* no strategy: asks compile of a coarse class for what is sure to match */
#define GENIE_COUNT_STRATEGY	1
#define GENIE_MATCH_STRATEGY	2
#define GENIE_JACCARD_STRATEGY	3
#define GENIE_EDIT_STRATEGY		4
#define GENIE_L2_STRATEGY		5	/* <-> */
#define GENIE_L1_STRATEGY		6	/* <+> */
#define GENIE_COSINE_STRATEGY	7	/* <=> */
#define GENIE_HAMMING_STRATEGY	8	/* <&~> */
#define GENIE_INNER_STRATEGY	9	/* <#> */
#define GENIE_TREE_STRATEGY		10	/* <^> */
#define GENIE_METRIC_STRATEGY	11	/* of a class that genie_create_metric() makes */
#define GENIE_DISTANCE_STRATEGY	3	/* the first strategy that returns a distance, a float8 */

/* ---- making keys ---- */

#define GENIE_VALUE_BYTES	(GENIE_VALUE_MAX + GENIE_VALUE_HASH_BYTES)	/* that a key's value can have */

/*
 * Copies n normalised bytes to out (room for GENIE_VALUE_BYTES) by the cut-and-hash rule of genie_keyword.h.  Returns
 * how many bytes it wrote.
 */
static inline uint32
genie_value_cut(uint8 *out, const uint8 *bytes, Size n)
{
	uint64		hash;

	if (n <= GENIE_VALUE_MAX)
	{
		memcpy(out, bytes, n);
		return (uint32) n;
	}
	memcpy(out, bytes, GENIE_VALUE_MAX);
	hash = hash_bytes_extended(bytes, (int) n, 0);
	for (int i = 0; i < GENIE_VALUE_HASH_BYTES; i++)
		out[GENIE_VALUE_MAX + i] = (uint8) (hash >> (8 * (GENIE_VALUE_HASH_BYTES - 1 - i)));
	return GENIE_VALUE_BYTES;
}

/* Writes the key of a value that has these normalised bytes to out (room for GENIE_KEY_MAX). */
static inline GenieKey
genie_key_make(uint8 *out, uint32 dimension, GenieFamily family, const uint8 *bytes, Size n)
{
	GenieKey	key = {out, 0};

	key.len = (uint32) genie_key_put_dimension(out, dimension);
	out[key.len++] = (uint8) family;
	key.len += genie_value_cut(out + key.len, bytes, n);
	return key;
}

/* ---- a value's keywords, for decompose ---- */

/*
 * Collects the keywords of one value, packed (genie_keyword.h) but in any order, in palloc'd memory.  genie initialises
 * it and passes it to decompose.  The functions that decompose needs are inline and call genie through the enlarge
 * pointer, so that another extension need not link to genie.
 */
typedef struct GenieKeywords
{
	uint8	   *bytes;
	Size		nbytes;
	Size		capacity;
	uint32		n;				/* keys added, duplicates included */
	int32		size;			/* the object's size; -1: the number of distinct keywords */
	bool		sorted;			/* strictly ascending so far (kept by genie_keywords_add) */
	uint32		last;			/* offset of the last key's length prefix, if n > 0 */
	const bytea *parameters;	/* of an approximate class, plain (VARDATA); NULL: none */
	bool		raw;			/* raw keywords are wanted, though there are parameters */
	const struct RelationData *index;	/* for a class of a metric; NULL: there is none */

	/* Makes room for so many more bytes.  Errors: those of genie_keywords_finish(). */
	void		(*enlarge) (struct GenieKeywords *keywords, Size nbytes);
} GenieKeywords;

#define GENIE_PACKED_KEY_MAX	(GENIE_KEY_MAX + 2) /* bytes of one packed key */

static inline void
genie_keywords_reserve(GenieKeywords *keywords, Size nbytes)
{
	if (keywords->capacity - keywords->nbytes < nbytes)
		keywords->enlarge(keywords, nbytes);
}

/* Adds a key, which must be well-formed (genie_key_split() takes it). */
static inline void
genie_keywords_add(GenieKeywords *keywords, GenieKey key)
{
	Size		begin;

	genie_keywords_reserve(keywords, GENIE_PACKED_KEY_MAX);
	if (keywords->n > 0 && keywords->sorted)
	{
		const uint8 *at = keywords->bytes + keywords->last;

		keywords->sorted = genie_key_cmp(genie_packed_next(&at), key) < 0;
	}
	begin = keywords->nbytes;
	keywords->nbytes += genie_packed_put(keywords->bytes + begin, key);
	keywords->last = (uint32) begin;
	keywords->n++;
}

/* ---- the sample that an approximate class learns from, for train ---- */

typedef struct GenieSample
{
	const struct RelationData *index;
	uint32		n;
	const GenieRaw *objects;	/* at most GENIE_TRAIN_ROWS */
	bool		can_wait;		/* the index has few rows: if these tell too little, it can stay untrained for now */
	const bytea *learned;		/* not NULL: the parameters that the index has; the question is misfit */
	bool		misfit;			/* set by train: they do not fit these objects.  False at first. */

	/*
	 * If learned: how far from each object the row may be of whose value it was made, in the metric of values; NULL:
	 * the objects are the rows.  The index signs rows by such objects, if they do not fit and are exact enough.
	 */
	const float *errors;
	bool		vague;			/* set by train: they are not exact enough to tell.  False at first. */
} GenieSample;

/* ---- a record of a value, for value ---- */

typedef struct GenieValueCall
{
	const struct RelationData *index;
	const bytea *parameters;	/* of the class, plain */
	uint32		metric;			/* set by value: a GenieMetric, which says what values are; 0: there are none */
	uint32		n_dimensions;	/* set by value */
	const GenieRaw *raw;		/* NULL: no record is asked for */
	void	   *record;			/* of raw: room for its bytes (disk/genie_values.h) */
	GenieKeywords *keywords;	/* not NULL: the way back, raw keywords of what the record tells are added here */
} GenieValueCall;

/* ---- queries, for compile and for operators ---- */

/*
 * The type genie_query.  Its body has the intervals, packed (genie_keyword.h) and normalised by
 * genie_intervals_unite(): ascending, disjoint, not empty.
 *
 * A query may have a threshold.  Then an object must match min_match keywords and also be within max_distance by the
 * distance of that strategy, and all intervals are points.  Queries that SQL can see have Jaccard distances from 0 to 1
 * only; a compile function may make others for its own class.
 */
typedef struct GenieQuery
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int32		min_match;		/* >= 0 */
	uint32		n;				/* intervals */
	uint16		distance_strategy;	/* 0: no threshold */
	uint16		unused;			/* 0 */
	float8		max_distance;	/* 0 without a threshold */
	uint8		body[FLEXIBLE_ARRAY_MEMBER];
} GenieQuery;

#define DatumGetGenieQuery(datum)	((GenieQuery *) PG_DETOAST_DATUM(datum))
#define PG_GETARG_GENIE_QUERY(i)	DatumGetGenieQuery(PG_GETARG_DATUM(i))

static inline void
genie_query_check_min_match(int32 min_match)
{
	if (min_match < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("min_match must not be negative")));
}

/* A query with room for so many bytes of n intervals, which the caller writes.  Errors: min_match is negative. */
static inline GenieQuery *
genie_query_allocate(Size nbytes, uint32 n, int32 min_match)
{
	Size		size = offsetof(GenieQuery, body) + nbytes;
	GenieQuery *query;

	genie_query_check_min_match(min_match);
	if (!AllocSizeIsValid(size))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("query has too many keywords")));
	query = (GenieQuery *) palloc(size);
	SET_VARSIZE(query, size);
	query->min_match = min_match;
	query->n = n;
	query->distance_strategy = 0;
	query->unused = 0;
	query->max_distance = 0;
	return query;
}

/*
 * Is an object of that size, which matches so many of the query's n keywords, within the query's threshold?  An
 * operator x @& genie_query tests this and min_match.  Its query has no threshold, or one of Jaccard distance.
 */
static inline bool
genie_threshold_holds(uint16 strategy, float8 max_distance, uint32 match_count, uint32 n, uint32 size)
{
	Assert(strategy == 0 || strategy == GENIE_JACCARD_STRATEGY);
	return strategy == 0 || genie_jaccard_distance(match_count, n, size) <= max_distance;
}

static inline int
genie_query_compare_keys(const void *a, const void *b)
{
	return genie_key_cmp(*(const GenieKey *) a, *(const GenieKey *) b);
}

/* The query for n keys as points; sorts them, and drops duplicates.  Errors: min_match is negative. */
static inline GenieQuery *
genie_query_of_keys(GenieKey *keys, uint32 n, int32 min_match)
{
	GenieQuery *query;
	uint32		kept = 0;
	Size		nbytes = 0;
	uint8	   *at;

	qsort(keys, n, sizeof(GenieKey), genie_query_compare_keys);
	for (uint32 i = 0; i < n; i++)
	{
		if (kept > 0 && genie_key_cmp(keys[kept - 1], keys[i]) == 0)
			continue;
		keys[kept++] = keys[i];
		nbytes += 1 + 2 + keys[i].len;
	}
	query = genie_query_allocate(nbytes, kept, min_match);
	at = query->body;
	for (uint32 i = 0; i < kept; i++)
	{
		*at++ = GENIE_QUERY_POINT;
		at += genie_packed_put(at, keys[i]);
	}
	SET_VARSIZE(query, at - (uint8 *) query);
	return query;
}

/* Where a key lies: < 0 before the interval, 0 in it, > 0 after it. */
static inline int
genie_interval_locate(const GenieInterval *interval, GenieKey key)
{
	int			lo = genie_key_cmp(key, interval->lo);
	int			hi = genie_key_cmp(key, interval->hi);

	if (lo < 0 || (lo == 0 && interval->lo_after))
		return -1;
	return hi > 0 || (hi == 0 && !interval->hi_after);
}

/* ---- in genie_opclass.c, for genie itself ---- */

extern void genie_keywords_init(GenieKeywords *keywords);	/* in CurrentMemoryContext */
extern void genie_keywords_reset(GenieKeywords *keywords);	/* keeps the memory */

/*
 * Sorts the keys and drops duplicates; then bytes is a valid packed set of n keys.  Errors: there are more than 65,535
 * distinct keywords (ERRCODE_PROGRAM_LIMIT_EXCEEDED).
 */
extern void genie_keywords_finish(GenieKeywords *keywords);

/* Raises the same error if n distinct keywords are too many. */
extern void genie_keywords_check_limit(Size n);

/* The size that decompose set, or -1.  Errors: it is larger than 65,535. */
extern int32 genie_keywords_own_size(const GenieKeywords *keywords);

#endif							/* GENIE_OPCLASS_H */
