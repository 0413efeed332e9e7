/* genie--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION genie" to load this file. \quit

-- ---- types ----

CREATE TYPE genie_object;

CREATE FUNCTION genie_object_in(cstring) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_out(genie_object) RETURNS cstring
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_recv(internal) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_send(genie_object) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE genie_object (
	INPUT = genie_object_in,
	OUTPUT = genie_object_out,
	RECEIVE = genie_object_recv,
	SEND = genie_object_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = int4,
	STORAGE = extended
);

COMMENT ON TYPE genie_object IS 'set of keywords, each a dimension and a value: {dimension:family:value,...}';
COMMENT ON FUNCTION genie_object_in(cstring) IS 'I/O';
COMMENT ON FUNCTION genie_object_out(genie_object) IS 'I/O';
COMMENT ON FUNCTION genie_object_recv(internal) IS 'I/O';
COMMENT ON FUNCTION genie_object_send(genie_object) IS 'I/O';

CREATE TYPE genie_query;

CREATE FUNCTION genie_query_in(cstring) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_query_out(genie_query) RETURNS cstring
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_query_recv(internal) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_query_send(genie_query) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE genie_query (
	INPUT = genie_query_in,
	OUTPUT = genie_query_out,
	RECEIVE = genie_query_recv,
	SEND = genie_query_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = extended,
	CATEGORY = 'C',
	PREFERRED = true
);

COMMENT ON TYPE genie_query IS 'the values and ranges that are wanted in each dimension, and how many keywords must match or how similar an object must be: {dimension:family:value,dimension:family:[from,to),...}@min_match%similarity';
COMMENT ON FUNCTION genie_query_in(cstring) IS 'I/O';
COMMENT ON FUNCTION genie_query_out(genie_query) IS 'I/O';
COMMENT ON FUNCTION genie_query_recv(internal) IS 'I/O';
COMMENT ON FUNCTION genie_query_send(genie_query) IS 'I/O';

-- ---- making objects and queries ----

CREATE FUNCTION genie_tuple(VARIADIC "any") RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_tuple(VARIADIC "any") IS 'a tuple as an object: argument i is the value of attribute i; NULL gives no keyword';

CREATE FUNCTION genie_tuple_query(VARIADIC "any") RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION genie_corridor(lat float8[], lon float8[], t timestamptz[], radius float8, before interval, after interval) RETURNS genie_query[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_in_corridor(lat float8, lon float8, t timestamptz, track_lat float8[], track_lon float8[], track_t timestamptz[],
	radius float8, before interval, after interval) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_cartesian(lat float8, lon float8) RETURNS float8[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_corridor(float8[], float8[], timestamptz[], float8, interval, interval) IS 'queries over genie_tuple(lat, lon, t), boxes that cover the corridor along a track';
COMMENT ON FUNCTION genie_in_corridor(float8, float8, timestamptz, float8[], float8[], timestamptz[], float8, interval, interval) IS 'is a place, at time t, in the corridor along a track?';
COMMENT ON FUNCTION genie_cartesian(float8, float8) IS 'x, y and z of a place on a sphere of radius 1';
COMMENT ON FUNCTION genie_tuple_query(VARIADIC "any") IS 'a query over tuples: for each attribute a value, a range, an array (any of) or NULL (no criterion); min_match is the number of criteria';

CREATE FUNCTION genie_binary_branches(tree text) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION genie_binary_branches(text) IS 'a tree in bracket notation, {a{b}{c}}, as an object: the multiset of its binary branches';

CREATE FUNCTION genie_stars(labels text[], edges int[]) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION genie_stars(text[], int[]) IS 'an undirected graph as an object: the multiset of its stars, each a vertex''s label with its neighbours'' labels; edges are pairs of vertex numbers, counted from 1';

CREATE FUNCTION genie_jsonb(document jsonb) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION genie_jsonb(jsonb) IS 'a JSON document as an object: the set of its paths with their values';

CREATE FUNCTION genie_object(elements anyarray) RETURNS genie_object
	AS 'MODULE_PATHNAME', 'genie_object_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_object(anyarray) IS 'an array as an object: the set of its elements';

CREATE FUNCTION genie_query(elements anyarray, min_match int DEFAULT 1) RETURNS genie_query
	AS 'MODULE_PATHNAME', 'genie_query_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_query(anyarray, int) IS 'a query for an array''s elements: at least min_match of them must match';

CREATE FUNCTION genie_query(ranges int4multirange) RETURNS genie_query
	AS 'MODULE_PATHNAME', 'genie_query_from_multirange' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_query(int4multirange) IS 'a query for array elements within the ranges';

CREATE FUNCTION genie_query(ranges int8multirange) RETURNS genie_query
	AS 'MODULE_PATHNAME', 'genie_query_from_multirange' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_query(int8multirange) IS 'a query for array elements within the ranges';

CREATE FUNCTION genie_query(object genie_object) RETURNS genie_query
	AS 'MODULE_PATHNAME', 'genie_query_from_object' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_query(genie_object) IS 'a query for an object''s keywords';

CREATE FUNCTION genie_query(document tsvector, min_match int DEFAULT 1) RETURNS genie_query
	AS 'MODULE_PATHNAME', 'genie_query_from_tsvector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_query(tsvector, int) IS 'a query for a document''s lexemes: at least min_match of them must match';

CREATE FUNCTION genie_query(query tsquery, min_match int DEFAULT 1) RETURNS genie_query
	AS 'MODULE_PATHNAME', 'genie_query_from_tsquery' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_query(tsquery, int) IS 'a query for the lexemes and prefixes of a text search query that are not negated: at least min_match lexemes must match';

CREATE FUNCTION genie_query(document jsonb, min_match int DEFAULT 1) RETURNS genie_query
	AS 'MODULE_PATHNAME', 'genie_query_from_jsonb' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_query(jsonb, int) IS 'a query for a JSON document''s paths with their values: at least min_match of them must match';

CREATE FUNCTION genie_jaccard_query(elements anyarray, similarity float8) RETURNS genie_query
	AS 'MODULE_PATHNAME', 'genie_jaccard_query_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_jaccard_query(anyarray, float8) IS 'a query for arrays whose Jaccard similarity to this one is at least the given one';

CREATE FUNCTION genie_jaccard_query(object genie_object, similarity float8) RETURNS genie_query
	AS 'MODULE_PATHNAME', 'genie_jaccard_query_from_object' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_jaccard_query(genie_object, float8) IS 'a query for objects whose Jaccard similarity to this one is at least the given one';

CREATE FUNCTION genie_jaccard_query(document tsvector, similarity float8) RETURNS genie_query
	AS 'MODULE_PATHNAME', 'genie_jaccard_query_from_tsvector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_jaccard_query(tsvector, float8) IS 'a query for documents whose Jaccard similarity to this one, by lexemes, is at least the given one';

CREATE FUNCTION genie_jaccard_query(document jsonb, similarity float8) RETURNS genie_query
	AS 'MODULE_PATHNAME', 'genie_jaccard_query_from_jsonb' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_jaccard_query(jsonb, float8) IS 'a query for documents whose Jaccard similarity to this one, by paths with their values, is at least the given one';

CREATE FUNCTION genie_with_min_match(query genie_query, min_match int) RETURNS genie_query
	AS 'MODULE_PATHNAME', 'genie_query_with_min_match' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_with_min_match(genie_query, int) IS 'the same query with another min_match';

CREATE CAST (genie_object AS genie_query) WITH FUNCTION genie_query(genie_object);
CREATE CAST (int4multirange AS genie_query) WITH FUNCTION genie_query(int4multirange);
CREATE CAST (int8multirange AS genie_query) WITH FUNCTION genie_query(int8multirange);

-- ---- match count ----

CREATE FUNCTION genie_match_count(anycompatiblearray, anycompatiblearray) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_match_count_arrays' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_match_count(anyarray, genie_query) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_match_count_array_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_match_count(genie_object, genie_object) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_match_count_objects' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_match_count(genie_object, genie_query) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_match_count_object_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_match_count(tsvector, tsvector) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_match_count_tsvectors' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_match_count(tsvector, tsquery) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_match_count_tsvector_tsquery' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_match_count(tsvector, genie_query) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_match_count_tsvector_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_match_count(jsonb, jsonb) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_match_count_jsonbs' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_match_count(jsonb, genie_query) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_match_count_jsonb_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;

COMMENT ON FUNCTION genie_match_count(anycompatiblearray, anycompatiblearray) IS 'how many distinct elements two arrays share';
COMMENT ON FUNCTION genie_match_count(anyarray, genie_query) IS 'how many distinct elements of an array match the query';
COMMENT ON FUNCTION genie_match_count(genie_object, genie_object) IS 'how many keywords two objects share';
COMMENT ON FUNCTION genie_match_count(genie_object, genie_query) IS 'how many keywords of an object match the query';
COMMENT ON FUNCTION genie_match_count(tsvector, tsvector) IS 'how many lexemes two documents share';
COMMENT ON FUNCTION genie_match_count(tsvector, tsquery) IS 'how many lexemes of a document match a lexeme or prefix of the text search query';
COMMENT ON FUNCTION genie_match_count(tsvector, genie_query) IS 'how many lexemes of a document match the query';
COMMENT ON FUNCTION genie_match_count(jsonb, jsonb) IS 'how many paths with their values two documents share';
COMMENT ON FUNCTION genie_match_count(jsonb, genie_query) IS 'how many paths with their values of a document match the query';

CREATE FUNCTION genie_widening_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_widening_support(internal) IS 'planner support of <&> and <%>: a column is not cast to a wider type';

CREATE FUNCTION genie_order(anycompatiblearray, anycompatiblearray) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_order_arrays' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
	SUPPORT genie_widening_support;
CREATE FUNCTION genie_order(anyarray, genie_query) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_order_array_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_order(genie_object, genie_object) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_order_objects' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_order(genie_object, genie_query) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_order_object_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_order(tsvector, tsvector) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_order_tsvectors' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_order(tsvector, tsquery) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_order_tsvector_tsquery' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_order(tsvector, genie_query) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_order_tsvector_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_order(jsonb, jsonb) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_order_jsonbs' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_order(jsonb, genie_query) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_order_jsonb_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;

COMMENT ON FUNCTION genie_order(anycompatiblearray, anycompatiblearray) IS 'implementation of <&> operator';
COMMENT ON FUNCTION genie_order(anyarray, genie_query) IS 'implementation of <&> operator';
COMMENT ON FUNCTION genie_order(genie_object, genie_object) IS 'implementation of <&> operator';
COMMENT ON FUNCTION genie_order(genie_object, genie_query) IS 'implementation of <&> operator';
COMMENT ON FUNCTION genie_order(tsvector, tsvector) IS 'implementation of <&> operator';
COMMENT ON FUNCTION genie_order(tsvector, tsquery) IS 'implementation of <&> operator';
COMMENT ON FUNCTION genie_order(tsvector, genie_query) IS 'implementation of <&> operator';
COMMENT ON FUNCTION genie_order(jsonb, jsonb) IS 'implementation of <&> operator';
COMMENT ON FUNCTION genie_order(jsonb, genie_query) IS 'implementation of <&> operator';

CREATE OPERATOR <&> (
	LEFTARG = anycompatiblearray, RIGHTARG = anycompatiblearray, FUNCTION = genie_order, COMMUTATOR = <&>
);
CREATE OPERATOR <&> (
	LEFTARG = anyarray, RIGHTARG = genie_query, FUNCTION = genie_order
);
CREATE OPERATOR <&> (
	LEFTARG = genie_object, RIGHTARG = genie_object, FUNCTION = genie_order, COMMUTATOR = <&>
);
CREATE OPERATOR <&> (
	LEFTARG = genie_object, RIGHTARG = genie_query, FUNCTION = genie_order
);
CREATE OPERATOR <&> (
	LEFTARG = tsvector, RIGHTARG = tsvector, FUNCTION = genie_order, COMMUTATOR = <&>
);
CREATE OPERATOR <&> (
	LEFTARG = tsvector, RIGHTARG = tsquery, FUNCTION = genie_order
);
CREATE OPERATOR <&> (
	LEFTARG = tsvector, RIGHTARG = genie_query, FUNCTION = genie_order
);
CREATE OPERATOR <&> (
	LEFTARG = jsonb, RIGHTARG = jsonb, FUNCTION = genie_order, COMMUTATOR = <&>
);
CREATE OPERATOR <&> (
	LEFTARG = jsonb, RIGHTARG = genie_query, FUNCTION = genie_order
);

COMMENT ON OPERATOR <&> (anycompatiblearray, anycompatiblearray) IS 'negative match count: ORDER BY it for the arrays that share the most elements first';
COMMENT ON OPERATOR <&> (anyarray, genie_query) IS 'negative match count: ORDER BY it for the best matches first';
COMMENT ON OPERATOR <&> (genie_object, genie_object) IS 'negative match count: ORDER BY it for the objects that share the most keywords first';
COMMENT ON OPERATOR <&> (genie_object, genie_query) IS 'negative match count: ORDER BY it for the best matches first';
COMMENT ON OPERATOR <&> (tsvector, tsvector) IS 'negative match count: ORDER BY it for the documents that share the most lexemes first';
COMMENT ON OPERATOR <&> (tsvector, tsquery) IS 'negative match count: ORDER BY it for the documents with the most lexemes of the query first';
COMMENT ON OPERATOR <&> (tsvector, genie_query) IS 'negative match count: ORDER BY it for the best matches first';
COMMENT ON OPERATOR <&> (jsonb, jsonb) IS 'negative match count: ORDER BY it for the documents that share the most paths with their values first';
COMMENT ON OPERATOR <&> (jsonb, genie_query) IS 'negative match count: ORDER BY it for the best matches first';

CREATE FUNCTION genie_matches(anyarray, genie_query) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_array_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_matches(genie_object, genie_query) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_object_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_matches(tsvector, genie_query) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_tsvector_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_matches(jsonb, genie_query) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_jsonb_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;

COMMENT ON FUNCTION genie_matches(anyarray, genie_query) IS 'implementation of @& operator';
COMMENT ON FUNCTION genie_matches(genie_object, genie_query) IS 'implementation of @& operator';
COMMENT ON FUNCTION genie_matches(tsvector, genie_query) IS 'implementation of @& operator';
COMMENT ON FUNCTION genie_matches(jsonb, genie_query) IS 'implementation of @& operator';

CREATE FUNCTION genie_matchsel(internal, oid, internal, int4) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_matchsel(internal, oid, internal, int4) IS 'restriction selectivity of @& operators, by an index';

CREATE OPERATOR @& (
	LEFTARG = anyarray, RIGHTARG = genie_query, FUNCTION = genie_matches,
	RESTRICT = genie_matchsel, JOIN = contjoinsel
);
CREATE OPERATOR @& (
	LEFTARG = genie_object, RIGHTARG = genie_query, FUNCTION = genie_matches,
	RESTRICT = genie_matchsel, JOIN = contjoinsel
);
CREATE OPERATOR @& (
	LEFTARG = tsvector, RIGHTARG = genie_query, FUNCTION = genie_matches,
	RESTRICT = genie_matchsel, JOIN = contjoinsel
);
CREATE OPERATOR @& (
	LEFTARG = jsonb, RIGHTARG = genie_query, FUNCTION = genie_matches,
	RESTRICT = genie_matchsel, JOIN = contjoinsel
);

COMMENT ON OPERATOR @& (anyarray, genie_query) IS 'at least min_match keywords match the query, and the similarity is at least the query''s';
COMMENT ON OPERATOR @& (genie_object, genie_query) IS 'at least min_match keywords match the query, and the similarity is at least the query''s';
COMMENT ON OPERATOR @& (tsvector, genie_query) IS 'at least min_match keywords match the query, and the similarity is at least the query''s';
COMMENT ON OPERATOR @& (jsonb, genie_query) IS 'at least min_match keywords match the query, and the similarity is at least the query''s';

-- ---- similarity of sets ----

CREATE FUNCTION genie_jaccard(a anycompatiblearray, b anycompatiblearray) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_set_jaccard_arrays' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_jaccard(a genie_object, b genie_object) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_set_jaccard_objects' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_dice(a anycompatiblearray, b anycompatiblearray) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_set_dice_arrays' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_dice(a genie_object, b genie_object) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_set_dice_objects' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_cosine(a anycompatiblearray, b anycompatiblearray) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_set_cosine_arrays' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_cosine(a genie_object, b genie_object) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_set_cosine_objects' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_overlap(a anycompatiblearray, b anycompatiblearray) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_set_overlap_arrays' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_overlap(a genie_object, b genie_object) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_set_overlap_objects' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_jaccard_distance(a anycompatiblearray, b anycompatiblearray) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_set_jaccard_distance_arrays' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
	SUPPORT genie_widening_support;
CREATE FUNCTION genie_jaccard_distance(a anyarray, b genie_object) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_set_jaccard_distance_array_object' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_jaccard_distance(a genie_object, b genie_object) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_set_jaccard_distance_objects' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_jaccard_distance(a tsvector, b tsvector) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_jaccard_distance_tsvectors' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_jaccard_distance(a jsonb, b jsonb) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_jaccard_distance_jsonbs' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;

COMMENT ON FUNCTION genie_jaccard(anycompatiblearray, anycompatiblearray) IS 'Jaccard (Tanimoto) similarity: shared / united';
COMMENT ON FUNCTION genie_jaccard(genie_object, genie_object) IS 'Jaccard (Tanimoto) similarity: shared / united';
COMMENT ON FUNCTION genie_dice(anycompatiblearray, anycompatiblearray) IS 'Dice similarity: 2 * shared / (size of a + size of b)';
COMMENT ON FUNCTION genie_dice(genie_object, genie_object) IS 'Dice similarity: 2 * shared / (size of a + size of b)';
COMMENT ON FUNCTION genie_cosine(anycompatiblearray, anycompatiblearray) IS 'cosine (Ochiai) similarity: shared / sqrt(size of a * size of b)';
COMMENT ON FUNCTION genie_cosine(genie_object, genie_object) IS 'cosine (Ochiai) similarity: shared / sqrt(size of a * size of b)';
COMMENT ON FUNCTION genie_overlap(anycompatiblearray, anycompatiblearray) IS 'overlap coefficient: shared / the smaller size';
COMMENT ON FUNCTION genie_overlap(genie_object, genie_object) IS 'overlap coefficient: shared / the smaller size';
COMMENT ON FUNCTION genie_jaccard_distance(anycompatiblearray, anycompatiblearray) IS 'implementation of <%> operator';
COMMENT ON FUNCTION genie_jaccard_distance(anyarray, genie_object) IS 'implementation of <%> operator';
COMMENT ON FUNCTION genie_jaccard_distance(genie_object, genie_object) IS 'implementation of <%> operator';
COMMENT ON FUNCTION genie_jaccard_distance(tsvector, tsvector) IS 'implementation of <%> operator';
COMMENT ON FUNCTION genie_jaccard_distance(jsonb, jsonb) IS 'implementation of <%> operator';

CREATE OPERATOR <%> (
	LEFTARG = anycompatiblearray, RIGHTARG = anycompatiblearray, FUNCTION = genie_jaccard_distance, COMMUTATOR = <%>
);
CREATE OPERATOR <%> (
	LEFTARG = anyarray, RIGHTARG = genie_object, FUNCTION = genie_jaccard_distance
);
CREATE OPERATOR <%> (
	LEFTARG = genie_object, RIGHTARG = genie_object, FUNCTION = genie_jaccard_distance, COMMUTATOR = <%>
);
CREATE OPERATOR <%> (
	LEFTARG = tsvector, RIGHTARG = tsvector, FUNCTION = genie_jaccard_distance, COMMUTATOR = <%>
);
CREATE OPERATOR <%> (
	LEFTARG = jsonb, RIGHTARG = jsonb, FUNCTION = genie_jaccard_distance, COMMUTATOR = <%>
);

COMMENT ON OPERATOR <%> (anycompatiblearray, anycompatiblearray) IS 'Jaccard distance: 1 - genie_jaccard';
COMMENT ON OPERATOR <%> (anyarray, genie_object) IS 'Jaccard distance of an array''s elements and a set of elements made by genie_object(array)';
COMMENT ON OPERATOR <%> (genie_object, genie_object) IS 'Jaccard distance: 1 - genie_jaccard';
COMMENT ON OPERATOR <%> (tsvector, tsvector) IS 'Jaccard distance of the lexemes';
COMMENT ON OPERATOR <%> (jsonb, jsonb) IS 'Jaccard distance of the paths with their values';

-- ---- texts: n-grams and edit distance ----

CREATE FUNCTION genie_ngrams(value text, n int DEFAULT 3) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION genie_ngrams(text, int) IS 'a text as the set of its numbered n-grams: keywords (n * 65536 + occurrence, gram); the text is padded with n - 1 blanks at both ends';

CREATE FUNCTION genie_match_count(text, genie_query) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_match_count_text_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_order(text, genie_query) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_order_text_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_matches(text, genie_query) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_text_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;

COMMENT ON FUNCTION genie_match_count(text, genie_query) IS 'how many numbered n-grams of a text match the query';
COMMENT ON FUNCTION genie_order(text, genie_query) IS 'implementation of <&> operator';
COMMENT ON FUNCTION genie_matches(text, genie_query) IS 'implementation of @& operator';

CREATE OPERATOR <&> (
	LEFTARG = text, RIGHTARG = genie_query, FUNCTION = genie_order
);
CREATE OPERATOR @& (
	LEFTARG = text, RIGHTARG = genie_query, FUNCTION = genie_matches,
	RESTRICT = genie_matchsel, JOIN = contjoinsel
);

COMMENT ON OPERATOR <&> (text, genie_query) IS 'negative match count: ORDER BY it for the texts that share the most n-grams first';
COMMENT ON OPERATOR @& (text, genie_query) IS 'at least min_match n-grams match the query';

CREATE TYPE genie_edit_query AS (query text, distance int);
COMMENT ON TYPE genie_edit_query IS 'a text, and the largest edit distance from it';

CREATE FUNCTION genie_edit_query(query text, distance int) RETURNS genie_edit_query
	AS 'MODULE_PATHNAME', 'genie_edit_query_make' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_edit_query(text, int) IS 'a query for texts within an edit distance';

CREATE FUNCTION genie_levenshtein(text, text) RETURNS int
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_edit_distance(text, text) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_edit_distance_texts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_matches(text, genie_edit_query) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_text_edit_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;

COMMENT ON FUNCTION genie_levenshtein(text, text) IS 'edit distance: how many characters must be inserted, deleted or replaced to make one text the other';
COMMENT ON FUNCTION genie_edit_distance(text, text) IS 'implementation of <~> operator';
COMMENT ON FUNCTION genie_matches(text, genie_edit_query) IS 'implementation of @& operator';

CREATE OPERATOR <~> (
	LEFTARG = text, RIGHTARG = text, FUNCTION = genie_edit_distance, COMMUTATOR = <~>
);
CREATE OPERATOR @& (
	LEFTARG = text, RIGHTARG = genie_edit_query, FUNCTION = genie_matches,
	RESTRICT = genie_matchsel, JOIN = contjoinsel
);

COMMENT ON OPERATOR <~> (text, text) IS 'edit distance: ORDER BY it for the nearest texts first';
COMMENT ON OPERATOR @& (text, genie_edit_query) IS 'within the edit distance';

-- ---- trees in bracket notation: tree edit distance ----

CREATE TYPE tree_ball AS (center text, radius float8);
COMMENT ON TYPE tree_ball IS 'a tree in bracket notation, and the largest tree edit distance from it';

CREATE FUNCTION genie_tree_distance(text, text) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 400;
CREATE FUNCTION genie_matches(text, tree_ball) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_tree_ball' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 400;
COMMENT ON FUNCTION genie_tree_distance(text, text) IS 'tree edit distance: how many nodes must be inserted, deleted or relabelled to make one tree in bracket notation the other';
COMMENT ON FUNCTION genie_matches(text, tree_ball) IS 'implementation of @& operator';

CREATE OPERATOR <^> (
	LEFTARG = text, RIGHTARG = text, FUNCTION = genie_tree_distance, COMMUTATOR = <^>
);
CREATE OPERATOR @& (
	LEFTARG = text, RIGHTARG = tree_ball, FUNCTION = genie_matches,
	RESTRICT = genie_matchsel, JOIN = contjoinsel
);

COMMENT ON OPERATOR <^> (text, text) IS 'tree edit distance: ORDER BY it for the nearest trees first';
COMMENT ON OPERATOR @& (text, tree_ball) IS 'within the tree edit distance';

-- ---- distances of vectors and of bit strings ----

CREATE FUNCTION genie_vector_widening_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_vector_widening_support(internal) IS 'planner support of <->, <+>, <=> and <#>: a column of real[] is not cast to double precision[]';

CREATE FUNCTION genie_l2_distance(real[], real[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_l2' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_l2_distance(float8[], float8[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_l2' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
	SUPPORT genie_vector_widening_support;
CREATE FUNCTION genie_l1_distance(real[], real[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_l1' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_l1_distance(float8[], float8[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_l1' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
	SUPPORT genie_vector_widening_support;
CREATE FUNCTION genie_cosine_distance(real[], real[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_cosine' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_cosine_distance(float8[], float8[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_cosine' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
	SUPPORT genie_vector_widening_support;
CREATE FUNCTION genie_inner_product(real[], real[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_inner' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_inner_product(float8[], float8[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_inner' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_negative_inner_product(real[], real[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_negative_inner' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_negative_inner_product(float8[], float8[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_negative_inner' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
	SUPPORT genie_vector_widening_support;
CREATE FUNCTION genie_hamming_distance(bit, bit) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;

COMMENT ON FUNCTION genie_l2_distance(real[], real[]) IS 'implementation of <-> operator';
COMMENT ON FUNCTION genie_l2_distance(float8[], float8[]) IS 'implementation of <-> operator';
COMMENT ON FUNCTION genie_l1_distance(real[], real[]) IS 'implementation of <+> operator';
COMMENT ON FUNCTION genie_l1_distance(float8[], float8[]) IS 'implementation of <+> operator';
COMMENT ON FUNCTION genie_cosine_distance(real[], real[]) IS 'implementation of <=> operator';
COMMENT ON FUNCTION genie_cosine_distance(float8[], float8[]) IS 'implementation of <=> operator';
COMMENT ON FUNCTION genie_inner_product(real[], real[]) IS 'inner product of two vectors';
COMMENT ON FUNCTION genie_inner_product(float8[], float8[]) IS 'inner product of two vectors';
COMMENT ON FUNCTION genie_negative_inner_product(real[], real[]) IS 'implementation of <#> operator';
COMMENT ON FUNCTION genie_negative_inner_product(float8[], float8[]) IS 'implementation of <#> operator';
COMMENT ON FUNCTION genie_hamming_distance(bit, bit) IS 'implementation of <&~> operator';

CREATE OPERATOR <-> (
	LEFTARG = real[], RIGHTARG = real[], FUNCTION = genie_l2_distance, COMMUTATOR = <->
);
CREATE OPERATOR <-> (
	LEFTARG = float8[], RIGHTARG = float8[], FUNCTION = genie_l2_distance, COMMUTATOR = <->
);
CREATE OPERATOR <+> (
	LEFTARG = real[], RIGHTARG = real[], FUNCTION = genie_l1_distance, COMMUTATOR = <+>
);
CREATE OPERATOR <+> (
	LEFTARG = float8[], RIGHTARG = float8[], FUNCTION = genie_l1_distance, COMMUTATOR = <+>
);
CREATE OPERATOR <=> (
	LEFTARG = real[], RIGHTARG = real[], FUNCTION = genie_cosine_distance, COMMUTATOR = <=>
);
CREATE OPERATOR <=> (
	LEFTARG = float8[], RIGHTARG = float8[], FUNCTION = genie_cosine_distance, COMMUTATOR = <=>
);
CREATE OPERATOR <#> (
	LEFTARG = real[], RIGHTARG = real[], FUNCTION = genie_negative_inner_product, COMMUTATOR = <#>
);
CREATE OPERATOR <#> (
	LEFTARG = float8[], RIGHTARG = float8[], FUNCTION = genie_negative_inner_product, COMMUTATOR = <#>
);
CREATE OPERATOR <&~> (
	LEFTARG = bit, RIGHTARG = bit, FUNCTION = genie_hamming_distance, COMMUTATOR = <&~>
);

COMMENT ON OPERATOR <-> (real[], real[]) IS 'Euclidean (l2) distance: ORDER BY it for the nearest vectors first';
COMMENT ON OPERATOR <-> (float8[], float8[]) IS 'Euclidean (l2) distance: ORDER BY it for the nearest vectors first';
COMMENT ON OPERATOR <+> (real[], real[]) IS 'Manhattan (l1) distance: ORDER BY it for the nearest vectors first';
COMMENT ON OPERATOR <+> (float8[], float8[]) IS 'Manhattan (l1) distance: ORDER BY it for the nearest vectors first';
COMMENT ON OPERATOR <=> (real[], real[]) IS 'cosine distance, 1 - cosine; 1 if one vector is zero';
COMMENT ON OPERATOR <=> (float8[], float8[]) IS 'cosine distance, 1 - cosine; 1 if one vector is zero';
COMMENT ON OPERATOR <#> (real[], real[]) IS 'negative inner product: ORDER BY it for the largest inner products first';
COMMENT ON OPERATOR <#> (float8[], float8[]) IS 'negative inner product: ORDER BY it for the largest inner products first';
COMMENT ON OPERATOR <&~> (bit, bit) IS 'Hamming distance: in how many places they differ';

-- Balls, for conditions: a center and a radius.  genie_query is the preferred type of their category, composites, so that @& of an
-- array and a literal or parameter of unknown type means a genie_query.
CREATE TYPE l2_exact_ball AS (center real[], radius float8);
CREATE TYPE l2_exact_float8_ball AS (center float8[], radius float8);
CREATE TYPE l1_exact_ball AS (center real[], radius float8);
CREATE TYPE l1_exact_float8_ball AS (center float8[], radius float8);
CREATE TYPE cosine_exact_ball AS (center real[], radius float8);
CREATE TYPE cosine_exact_float8_ball AS (center float8[], radius float8);
CREATE TYPE hamming_exact_ball AS (center "bit", radius float8);

CREATE FUNCTION genie_matches(real[], l2_exact_ball) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_l2_ball' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_matches(float8[], l2_exact_float8_ball) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_l2_ball' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_matches(real[], l1_exact_ball) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_l1_ball' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_matches(float8[], l1_exact_float8_ball) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_l1_ball' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_matches(real[], cosine_exact_ball) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_cosine_ball' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_matches(float8[], cosine_exact_float8_ball) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_cosine_ball' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_matches(bit, hamming_exact_ball) RETURNS bool
	AS 'MODULE_PATHNAME', 'genie_matches_hamming_ball' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;

CREATE OPERATOR @& (
	LEFTARG = real[], RIGHTARG = l2_exact_ball, FUNCTION = genie_matches,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR @& (
	LEFTARG = float8[], RIGHTARG = l2_exact_float8_ball, FUNCTION = genie_matches,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR @& (
	LEFTARG = real[], RIGHTARG = l1_exact_ball, FUNCTION = genie_matches,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR @& (
	LEFTARG = float8[], RIGHTARG = l1_exact_float8_ball, FUNCTION = genie_matches,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR @& (
	LEFTARG = real[], RIGHTARG = cosine_exact_ball, FUNCTION = genie_matches,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR @& (
	LEFTARG = float8[], RIGHTARG = cosine_exact_float8_ball, FUNCTION = genie_matches,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR @& (
	LEFTARG = bit, RIGHTARG = hamming_exact_ball, FUNCTION = genie_matches,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);

COMMENT ON TYPE l2_exact_ball IS 'a vector, and the largest Euclidean distance from it';
COMMENT ON FUNCTION genie_matches(real[], l2_exact_ball) IS 'implementation of @& operator';
COMMENT ON OPERATOR @& (real[], l2_exact_ball) IS 'within the Euclidean distance';
COMMENT ON TYPE l2_exact_float8_ball IS 'a vector, and the largest Euclidean distance from it';
COMMENT ON FUNCTION genie_matches(float8[], l2_exact_float8_ball) IS 'implementation of @& operator';
COMMENT ON OPERATOR @& (float8[], l2_exact_float8_ball) IS 'within the Euclidean distance';
COMMENT ON TYPE l1_exact_ball IS 'a vector, and the largest Manhattan distance from it';
COMMENT ON FUNCTION genie_matches(real[], l1_exact_ball) IS 'implementation of @& operator';
COMMENT ON OPERATOR @& (real[], l1_exact_ball) IS 'within the Manhattan distance';
COMMENT ON TYPE l1_exact_float8_ball IS 'a vector, and the largest Manhattan distance from it';
COMMENT ON FUNCTION genie_matches(float8[], l1_exact_float8_ball) IS 'implementation of @& operator';
COMMENT ON OPERATOR @& (float8[], l1_exact_float8_ball) IS 'within the Manhattan distance';
COMMENT ON TYPE cosine_exact_ball IS 'a vector, and the largest cosine distance from it';
COMMENT ON FUNCTION genie_matches(real[], cosine_exact_ball) IS 'implementation of @& operator';
COMMENT ON OPERATOR @& (real[], cosine_exact_ball) IS 'within the cosine distance';
COMMENT ON TYPE cosine_exact_float8_ball IS 'a vector, and the largest cosine distance from it';
COMMENT ON FUNCTION genie_matches(float8[], cosine_exact_float8_ball) IS 'implementation of @& operator';
COMMENT ON OPERATOR @& (float8[], cosine_exact_float8_ball) IS 'within the cosine distance';
COMMENT ON TYPE hamming_exact_ball IS 'a bit string, and the largest Hamming distance from it';
COMMENT ON FUNCTION genie_matches(bit, hamming_exact_ball) IS 'implementation of @& operator';
COMMENT ON OPERATOR @& (bit, hamming_exact_ball) IS 'within the Hamming distance';

-- For the planner: a column of real[] beside double precision[], which PostgreSQL would cast.  They have names of their own, because
-- <-> of these types would make <-> of real[] and int[] ambiguous.
CREATE FUNCTION genie_l2_widened(real[], float8[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_l2' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_l1_widened(real[], float8[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_l1' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_cosine_widened(real[], float8[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_cosine' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_negative_inner_product_widened(real[], float8[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_vector_negative_inner' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;

COMMENT ON FUNCTION genie_l2_widened(real[], float8[]) IS 'implementation of <->^ operator';
COMMENT ON FUNCTION genie_l1_widened(real[], float8[]) IS 'implementation of <+>^ operator';
COMMENT ON FUNCTION genie_cosine_widened(real[], float8[]) IS 'implementation of <=>^ operator';
COMMENT ON FUNCTION genie_negative_inner_product_widened(real[], float8[]) IS 'implementation of <#>^ operator';

CREATE OPERATOR <->^ (
	LEFTARG = real[], RIGHTARG = float8[], FUNCTION = genie_l2_widened
);
CREATE OPERATOR <+>^ (
	LEFTARG = real[], RIGHTARG = float8[], FUNCTION = genie_l1_widened
);
CREATE OPERATOR <=>^ (
	LEFTARG = real[], RIGHTARG = float8[], FUNCTION = genie_cosine_widened
);
CREATE OPERATOR <#>^ (
	LEFTARG = real[], RIGHTARG = float8[], FUNCTION = genie_negative_inner_product_widened
);

COMMENT ON OPERATOR <->^ (real[], float8[]) IS 'Euclidean (l2) distance in double precision: what <-> becomes where the left column is real[]';
COMMENT ON OPERATOR <+>^ (real[], float8[]) IS 'Manhattan (l1) distance in double precision: what <+> becomes where the left column is real[]';
COMMENT ON OPERATOR <=>^ (real[], float8[]) IS 'cosine distance in double precision: what <=> becomes where the left column is real[]';
COMMENT ON OPERATOR <#>^ (real[], float8[]) IS 'negative inner product in double precision: what <#> becomes where the left column is real[]';

-- ---- locality-sensitive hashing: vectors, sets and bit strings as objects ----

CREATE FUNCTION genie_lsh_l2(vector real[], hashes int, width float8, seed bigint DEFAULT 0, buckets int DEFAULT 0) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_lsh_l1(vector real[], hashes int, width float8, seed bigint DEFAULT 0, buckets int DEFAULT 0) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_lsh_laplacian(vector real[], hashes int, sigma float8, seed bigint DEFAULT 0, buckets int DEFAULT 8192) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_lsh_cosine(vector real[], hashes int, seed bigint DEFAULT 0, bits int DEFAULT 1) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_lsh_l2(vector float8[], hashes int, width float8, seed bigint DEFAULT 0, buckets int DEFAULT 0) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_lsh_l1(vector float8[], hashes int, width float8, seed bigint DEFAULT 0, buckets int DEFAULT 0) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_lsh_laplacian(vector float8[], hashes int, sigma float8, seed bigint DEFAULT 0, buckets int DEFAULT 8192) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_lsh_cosine(vector float8[], hashes int, seed bigint DEFAULT 0, bits int DEFAULT 1) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_lsh_minhash(elements anyarray, hashes int, buckets int DEFAULT 0, seed bigint DEFAULT 0) RETURNS genie_object
	AS 'MODULE_PATHNAME', 'genie_lsh_minhash_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_lsh_minhash(object genie_object, hashes int, buckets int DEFAULT 0, seed bigint DEFAULT 0) RETURNS genie_object
	AS 'MODULE_PATHNAME', 'genie_lsh_minhash_object' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_lsh_hamming(value bit, hashes int, seed bigint DEFAULT 0, bits int DEFAULT 1) RETURNS genie_object
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_lsh_functions(epsilon float8, delta float8) RETURNS int
	AS 'MODULE_PATHNAME', 'genie_lsh_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION genie_lsh_functions_bound(epsilon float8, delta float8) RETURNS float8
	AS 'MODULE_PATHNAME', 'genie_lsh_count_bound' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;

COMMENT ON FUNCTION genie_lsh_l2(real[], int, float8, bigint, int) IS 'signature by Gaussian projections, cut into buckets of that width: the smaller the Euclidean distance of two vectors, the more hashes agree';
COMMENT ON FUNCTION genie_lsh_l1(real[], int, float8, bigint, int) IS 'signature by Cauchy projections, cut into buckets of that width: the smaller the Manhattan distance of two vectors, the more hashes agree';
COMMENT ON FUNCTION genie_lsh_laplacian(real[], int, float8, bigint, int) IS 'signature by random binning: a hash of two vectors agrees with probability exp(-Manhattan distance / sigma)';
COMMENT ON FUNCTION genie_lsh_cosine(real[], int, bigint, int) IS 'signature by signs of Gaussian projections, each hash of that many bits: a hash of two vectors agrees with probability (1 - angle / pi) ^ bits';
COMMENT ON FUNCTION genie_lsh_l2(float8[], int, float8, bigint, int) IS 'signature by Gaussian projections, cut into buckets of that width: the smaller the Euclidean distance of two vectors, the more hashes agree';
COMMENT ON FUNCTION genie_lsh_l1(float8[], int, float8, bigint, int) IS 'signature by Cauchy projections, cut into buckets of that width: the smaller the Manhattan distance of two vectors, the more hashes agree';
COMMENT ON FUNCTION genie_lsh_laplacian(float8[], int, float8, bigint, int) IS 'signature by random binning: a hash of two vectors agrees with probability exp(-Manhattan distance / sigma)';
COMMENT ON FUNCTION genie_lsh_cosine(float8[], int, bigint, int) IS 'signature by signs of Gaussian projections, each hash of that many bits: a hash of two vectors agrees with probability (1 - angle / pi) ^ bits';
COMMENT ON FUNCTION genie_lsh_minhash(anyarray, int, int, bigint) IS 'signature of the set of an array''s elements by minwise hashing: the probability that a hash of two sets agrees is their Jaccard similarity';
COMMENT ON FUNCTION genie_lsh_minhash(genie_object, int, int, bigint) IS 'signature of a set of keywords by minwise hashing: the probability that a hash of two sets agrees is their Jaccard similarity';
COMMENT ON FUNCTION genie_lsh_hamming(bit, int, bigint, int) IS 'signature by sampled bits, each hash of that many bits: a hash of two bit strings agrees with probability (1 - part that differs) ^ bits';
COMMENT ON FUNCTION genie_lsh_functions(float8, float8) IS 'the smallest number of hash functions for which match count / number is within epsilon of the probability that a hash agrees, whatever it is, with probability 1 - delta';
COMMENT ON FUNCTION genie_lsh_functions_bound(float8, float8) IS 'the number of hash functions by the closed form 2 ln(3 / delta) / epsilon^2';

-- ---- equality and order of objects ----

CREATE FUNCTION genie_object_eq(genie_object, genie_object) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_ne(genie_object, genie_object) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_lt(genie_object, genie_object) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_le(genie_object, genie_object) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_gt(genie_object, genie_object) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_ge(genie_object, genie_object) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_cmp(genie_object, genie_object) RETURNS int
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_hash(genie_object) RETURNS int
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_hash_extended(genie_object, bigint) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION genie_object_eq(genie_object, genie_object) IS 'implementation of = operator';
COMMENT ON FUNCTION genie_object_ne(genie_object, genie_object) IS 'implementation of <> operator';
COMMENT ON FUNCTION genie_object_lt(genie_object, genie_object) IS 'implementation of < operator';
COMMENT ON FUNCTION genie_object_le(genie_object, genie_object) IS 'implementation of <= operator';
COMMENT ON FUNCTION genie_object_gt(genie_object, genie_object) IS 'implementation of > operator';
COMMENT ON FUNCTION genie_object_ge(genie_object, genie_object) IS 'implementation of >= operator';
COMMENT ON FUNCTION genie_object_cmp(genie_object, genie_object) IS 'less-equal-greater';
COMMENT ON FUNCTION genie_object_hash(genie_object) IS 'hash';
COMMENT ON FUNCTION genie_object_hash_extended(genie_object, bigint) IS 'hash';

CREATE OPERATOR = (
	LEFTARG = genie_object, RIGHTARG = genie_object, FUNCTION = genie_object_eq,
	COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
CREATE OPERATOR <> (
	LEFTARG = genie_object, RIGHTARG = genie_object, FUNCTION = genie_object_ne,
	COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR < (
	LEFTARG = genie_object, RIGHTARG = genie_object, FUNCTION = genie_object_lt,
	COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
CREATE OPERATOR <= (
	LEFTARG = genie_object, RIGHTARG = genie_object, FUNCTION = genie_object_le,
	COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
CREATE OPERATOR > (
	LEFTARG = genie_object, RIGHTARG = genie_object, FUNCTION = genie_object_gt,
	COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
CREATE OPERATOR >= (
	LEFTARG = genie_object, RIGHTARG = genie_object, FUNCTION = genie_object_ge,
	COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);

COMMENT ON OPERATOR = (genie_object, genie_object) IS 'equal';
COMMENT ON OPERATOR <> (genie_object, genie_object) IS 'not equal';
COMMENT ON OPERATOR < (genie_object, genie_object) IS 'less than, in the order of the bytes';
COMMENT ON OPERATOR <= (genie_object, genie_object) IS 'less than or equal, in the order of the bytes';
COMMENT ON OPERATOR > (genie_object, genie_object) IS 'greater than, in the order of the bytes';
COMMENT ON OPERATOR >= (genie_object, genie_object) IS 'greater than or equal, in the order of the bytes';

CREATE OPERATOR CLASS genie_object_btree_ops DEFAULT FOR TYPE genie_object USING btree AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 genie_object_cmp(genie_object, genie_object);

CREATE OPERATOR CLASS genie_object_hash_ops DEFAULT FOR TYPE genie_object USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 genie_object_hash(genie_object),
	FUNCTION 2 genie_object_hash_extended(genie_object, bigint);

-- ---- the access method ----

CREATE FUNCTION genie_handler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION genie_handler(internal) IS 'genie index access method handler';

CREATE ACCESS METHOD genie TYPE INDEX HANDLER genie_handler;
COMMENT ON ACCESS METHOD genie IS 'genie index access method: rows by match count';

CREATE FUNCTION genie_array_decompose(anyarray, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_array_compile(internal, int2, oid) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_decompose(genie_object, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_object_compile(internal, int2, oid) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_tsvector_decompose(tsvector, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_tsvector_compile(internal, int2, oid) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_jsonb_decompose(jsonb, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_jsonb_compile(internal, int2, oid) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION genie_array_decompose(anyarray, internal) IS 'genie support: an array''s keywords';
COMMENT ON FUNCTION genie_array_compile(internal, int2, oid) IS 'genie support: an operator''s right operand as a query over arrays';
COMMENT ON FUNCTION genie_object_decompose(genie_object, internal) IS 'genie support: an object''s keywords';
COMMENT ON FUNCTION genie_object_compile(internal, int2, oid) IS 'genie support: an operator''s right operand as a query over objects';
COMMENT ON FUNCTION genie_tsvector_decompose(tsvector, internal) IS 'genie support: a document''s keywords';
COMMENT ON FUNCTION genie_tsvector_compile(internal, int2, oid) IS 'genie support: an operator''s right operand as a query over documents';
COMMENT ON FUNCTION genie_jsonb_decompose(jsonb, internal) IS 'genie support: a JSON document''s keywords';
COMMENT ON FUNCTION genie_jsonb_compile(internal, int2, oid) IS 'genie support: an operator''s right operand as a query over JSON documents';

CREATE FUNCTION genie_jaccard_bound(int2, internal, int, int) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_jaccard_bound(int2, internal, int, int) IS 'genie support: Jaccard distance from match count and size';

CREATE OPERATOR CLASS genie_array_ops DEFAULT FOR TYPE anyarray USING genie AS
	OPERATOR 1 <&> (anycompatiblearray, anycompatiblearray) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 1 <&> (anyarray, genie_query) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 2 @& (anyarray, genie_query),
	OPERATOR 3 <%> (anycompatiblearray, anycompatiblearray) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 3 <%> (anyarray, genie_object) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_array_decompose(anyarray, internal),
	FUNCTION 2 genie_array_compile(internal, int2, oid),
	FUNCTION 3 genie_jaccard_bound(int2, internal, int, int);
COMMENT ON OPERATOR CLASS genie_array_ops USING genie IS 'arrays as sets of their elements';

CREATE OPERATOR CLASS genie_object_ops DEFAULT FOR TYPE genie_object USING genie AS
	OPERATOR 1 <&> (genie_object, genie_object) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 1 <&> (genie_object, genie_query) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 2 @& (genie_object, genie_query),
	OPERATOR 3 <%> (genie_object, genie_object) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_object_decompose(genie_object, internal),
	FUNCTION 2 genie_object_compile(internal, int2, oid),
	FUNCTION 3 genie_jaccard_bound(int2, internal, int, int);
COMMENT ON OPERATOR CLASS genie_object_ops USING genie IS 'objects: sets of keywords made by genie_tuple() and other functions';

CREATE FUNCTION genie_tuple_decompose(genie_object, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_tuple_compile(internal, int2, oid, internal) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION genie_tuple_options(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_tuple_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_tuple_sign(internal, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_tuple_value(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_tuple_decompose(genie_object, internal) IS 'genie support: the bins of an object''s keywords';
COMMENT ON FUNCTION genie_tuple_compile(internal, int2, oid, internal) IS 'genie support: an operator''s right operand as a query over bins';
COMMENT ON FUNCTION genie_tuple_options(internal) IS 'genie support: options of the class';
COMMENT ON FUNCTION genie_tuple_train(internal) IS 'genie support: bins of equal depth, from a sample';
COMMENT ON FUNCTION genie_tuple_sign(internal, internal) IS 'genie support: the bins of an object''s raw keywords';
COMMENT ON FUNCTION genie_tuple_value(internal) IS 'genie support: where in its bins an object lies';

CREATE OPERATOR CLASS genie_tuple_ops FOR TYPE genie_object USING genie AS
	OPERATOR 1 <&> (genie_object, genie_object) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 1 <&> (genie_object, genie_query) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 2 @& (genie_object, genie_query),
	FUNCTION 1 genie_tuple_decompose(genie_object, internal),
	FUNCTION 2 genie_tuple_compile(internal, int2, oid, internal),
	FUNCTION 4 genie_tuple_options(internal),
	FUNCTION 5 genie_tuple_train(internal),
	FUNCTION 6 genie_tuple_sign(internal, internal),
	FUNCTION 8 genie_tuple_value(internal);
COMMENT ON OPERATOR CLASS genie_tuple_ops USING genie IS 'tuples: attributes with many values are kept as bins';

CREATE OPERATOR CLASS genie_tsvector_ops DEFAULT FOR TYPE tsvector USING genie AS
	OPERATOR 1 <&> (tsvector, tsvector) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 1 <&> (tsvector, tsquery) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 1 <&> (tsvector, genie_query) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 2 @& (tsvector, genie_query),
	OPERATOR 3 <%> (tsvector, tsvector) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_tsvector_decompose(tsvector, internal),
	FUNCTION 2 genie_tsvector_compile(internal, int2, oid),
	FUNCTION 3 genie_jaccard_bound(int2, internal, int, int);
COMMENT ON OPERATOR CLASS genie_tsvector_ops USING genie IS 'documents as sets of their lexemes';

CREATE OPERATOR CLASS genie_jsonb_ops DEFAULT FOR TYPE jsonb USING genie AS
	OPERATOR 1 <&> (jsonb, jsonb) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 1 <&> (jsonb, genie_query) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 2 @& (jsonb, genie_query),
	OPERATOR 3 <%> (jsonb, jsonb) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_jsonb_decompose(jsonb, internal),
	FUNCTION 2 genie_jsonb_compile(internal, int2, oid),
	FUNCTION 3 genie_jaccard_bound(int2, internal, int, int);
COMMENT ON OPERATOR CLASS genie_jsonb_ops USING genie IS 'JSON documents as sets of their paths with their values';

CREATE FUNCTION genie_edit_decompose(text, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_edit_compile(internal, int2, oid) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_edit_bound(int2, internal, int, int) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_edit_options(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION genie_edit_decompose(text, internal) IS 'genie support: a text''s n-grams';
COMMENT ON FUNCTION genie_edit_compile(internal, int2, oid) IS 'genie support: an operator''s right operand as a query over texts';
COMMENT ON FUNCTION genie_edit_bound(int2, internal, int, int) IS 'genie support: lower bound of the edit distance from match count and size';
COMMENT ON FUNCTION genie_edit_options(internal) IS 'genie support: the option n, the number of characters of an n-gram';

CREATE OPERATOR CLASS genie_edit_ops FOR TYPE text USING genie AS
	OPERATOR 1 <&> (text, genie_query) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 2 @& (text, genie_query),
	OPERATOR 2 @& (text, genie_edit_query),
	OPERATOR 4 <~> (text, text) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_edit_decompose(text, internal),
	FUNCTION 2 genie_edit_compile(internal, int2, oid),
	FUNCTION 3 genie_edit_bound(int2, internal, int, int),
	FUNCTION 4 genie_edit_options(internal);
CREATE FUNCTION genie_tree_decompose(text, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_tree_compile(internal, int2, oid) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_tree_bound(int2, internal, int, int) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_tree_decompose(text, internal) IS 'genie support: a tree''s labels';
COMMENT ON FUNCTION genie_tree_compile(internal, int2, oid) IS 'genie support: an operator''s right operand as a query over trees';
COMMENT ON FUNCTION genie_tree_bound(int2, internal, int, int) IS 'genie support: lower bound of the tree edit distance from match count and size';

CREATE OPERATOR CLASS genie_tree_ops FOR TYPE text USING genie AS
	OPERATOR 2 @& (text, tree_ball),
	OPERATOR 10 <^> (text, text) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_tree_decompose(text, internal),
	FUNCTION 2 genie_tree_compile(internal, int2, oid),
	FUNCTION 3 genie_tree_bound(int2, internal, int, int);
COMMENT ON OPERATOR CLASS genie_tree_ops USING genie IS 'trees in bracket notation by their labels: nearest by tree edit distance';

COMMENT ON OPERATOR CLASS genie_edit_ops USING genie IS 'texts by their n-grams, option n: nearest by edit distance';

-- ---- approximate operator classes: vectors, sets and bit strings by their signatures ----

CREATE FUNCTION genie_lsh_vector_decompose(real[], internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_vector_decompose(float8[], internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_set_decompose(anyarray, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_bit_decompose(bit, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- not strict: there may be no parameters yet
CREATE FUNCTION genie_lsh_vector_compile(internal, int2, oid, internal) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION genie_lsh_set_compile(internal, int2, oid, internal) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION genie_lsh_bit_compile(internal, int2, oid, internal) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION genie_lsh_bucket_options(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_l2_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_l1_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_laplacian_options(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_laplacian_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_cosine_options(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_cosine_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_minhash_options(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_minhash_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_hamming_options(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_hamming_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_lsh_sign(internal, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_vector_value(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION genie_lsh_vector_decompose(real[], internal) IS 'genie support: a vector''s signature';
COMMENT ON FUNCTION genie_lsh_vector_decompose(float8[], internal) IS 'genie support: a vector''s signature';
COMMENT ON FUNCTION genie_lsh_set_decompose(anyarray, internal) IS 'genie support: the signature of the set of an array''s elements';
COMMENT ON FUNCTION genie_lsh_bit_decompose(bit, internal) IS 'genie support: a bit string''s signature';
COMMENT ON FUNCTION genie_lsh_vector_compile(internal, int2, oid, internal) IS 'genie support: a vector as a query for similar signatures';
COMMENT ON FUNCTION genie_lsh_set_compile(internal, int2, oid, internal) IS 'genie support: a set as a query for similar signatures';
COMMENT ON FUNCTION genie_lsh_bit_compile(internal, int2, oid, internal) IS 'genie support: a bit string as a query for similar signatures';
COMMENT ON FUNCTION genie_lsh_bucket_options(internal) IS 'genie support: options of the class';
COMMENT ON FUNCTION genie_lsh_l2_train(internal) IS 'genie support: hash functions chosen by a sample';
COMMENT ON FUNCTION genie_lsh_l1_train(internal) IS 'genie support: hash functions chosen by a sample';
COMMENT ON FUNCTION genie_lsh_laplacian_options(internal) IS 'genie support: options of the class';
COMMENT ON FUNCTION genie_lsh_laplacian_train(internal) IS 'genie support: hash functions chosen by a sample';
COMMENT ON FUNCTION genie_lsh_cosine_options(internal) IS 'genie support: options of the class';
COMMENT ON FUNCTION genie_lsh_cosine_train(internal) IS 'genie support: hash functions chosen by a sample';
COMMENT ON FUNCTION genie_lsh_minhash_options(internal) IS 'genie support: options of the class';
COMMENT ON FUNCTION genie_lsh_minhash_train(internal) IS 'genie support: hash functions chosen by a sample';
COMMENT ON FUNCTION genie_lsh_hamming_options(internal) IS 'genie support: options of the class';
COMMENT ON FUNCTION genie_lsh_hamming_train(internal) IS 'genie support: hash functions chosen by a sample';
COMMENT ON FUNCTION genie_lsh_sign(internal, internal) IS 'genie support: a row''s signature from its raw keywords';
COMMENT ON FUNCTION genie_vector_value(internal) IS 'genie support: a row''s quantized vector';

CREATE OPERATOR CLASS genie_l2_ops FOR TYPE real[] USING genie AS
	OPERATOR 5 <-> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 5 <->^ (real[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 4 genie_lsh_bucket_options(internal),
	FUNCTION 5 genie_lsh_l2_train(internal),
	FUNCTION 6 genie_lsh_sign(internal, internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_l2_ops USING genie IS 'vectors: nearest by Euclidean distance, approximately';

CREATE OPERATOR CLASS genie_l1_ops FOR TYPE real[] USING genie AS
	OPERATOR 6 <+> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 6 <+>^ (real[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 4 genie_lsh_bucket_options(internal),
	FUNCTION 5 genie_lsh_l1_train(internal),
	FUNCTION 6 genie_lsh_sign(internal, internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_l1_ops USING genie IS 'vectors: nearest by Manhattan distance, approximately';

CREATE OPERATOR CLASS genie_laplacian_ops FOR TYPE real[] USING genie AS
	OPERATOR 6 <+> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 6 <+>^ (real[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 4 genie_lsh_laplacian_options(internal),
	FUNCTION 5 genie_lsh_laplacian_train(internal),
	FUNCTION 6 genie_lsh_sign(internal, internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_laplacian_ops USING genie IS 'vectors: nearest by Manhattan distance, approximately, through the Laplacian kernel';

CREATE OPERATOR CLASS genie_cosine_ops FOR TYPE real[] USING genie AS
	OPERATOR 7 <=> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 7 <=>^ (real[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 4 genie_lsh_cosine_options(internal),
	FUNCTION 5 genie_lsh_cosine_train(internal),
	FUNCTION 6 genie_lsh_sign(internal, internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_cosine_ops USING genie IS 'vectors: nearest by cosine distance, approximately';

CREATE OPERATOR CLASS genie_l2_float8_ops FOR TYPE float8[] USING genie AS
	OPERATOR 5 <-> (float8[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(float8[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 4 genie_lsh_bucket_options(internal),
	FUNCTION 5 genie_lsh_l2_train(internal),
	FUNCTION 6 genie_lsh_sign(internal, internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_l2_float8_ops USING genie IS 'vectors: nearest by Euclidean distance, approximately';

CREATE OPERATOR CLASS genie_l1_float8_ops FOR TYPE float8[] USING genie AS
	OPERATOR 6 <+> (float8[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(float8[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 4 genie_lsh_bucket_options(internal),
	FUNCTION 5 genie_lsh_l1_train(internal),
	FUNCTION 6 genie_lsh_sign(internal, internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_l1_float8_ops USING genie IS 'vectors: nearest by Manhattan distance, approximately';

CREATE OPERATOR CLASS genie_laplacian_float8_ops FOR TYPE float8[] USING genie AS
	OPERATOR 6 <+> (float8[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(float8[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 4 genie_lsh_laplacian_options(internal),
	FUNCTION 5 genie_lsh_laplacian_train(internal),
	FUNCTION 6 genie_lsh_sign(internal, internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_laplacian_float8_ops USING genie IS 'vectors: nearest by Manhattan distance, approximately, through the Laplacian kernel';

CREATE OPERATOR CLASS genie_cosine_float8_ops FOR TYPE float8[] USING genie AS
	OPERATOR 7 <=> (float8[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(float8[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 4 genie_lsh_cosine_options(internal),
	FUNCTION 5 genie_lsh_cosine_train(internal),
	FUNCTION 6 genie_lsh_sign(internal, internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_cosine_float8_ops USING genie IS 'vectors: nearest by cosine distance, approximately';

CREATE OPERATOR CLASS genie_minhash_ops FOR TYPE anyarray USING genie AS
	OPERATOR 3 <%> (anycompatiblearray, anycompatiblearray) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 3 <%> (anyarray, genie_object) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_set_decompose(anyarray, internal),
	FUNCTION 2 genie_lsh_set_compile(internal, int2, oid, internal),
	FUNCTION 4 genie_lsh_minhash_options(internal),
	FUNCTION 5 genie_lsh_minhash_train(internal),
	FUNCTION 6 genie_lsh_sign(internal, internal);
COMMENT ON OPERATOR CLASS genie_minhash_ops USING genie IS 'sets: nearest by Jaccard distance, approximately';

CREATE OPERATOR CLASS genie_hamming_ops FOR TYPE bit USING genie AS
	OPERATOR 8 <&~> (bit, bit) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_bit_decompose(bit, internal),
	FUNCTION 2 genie_lsh_bit_compile(internal, int2, oid, internal),
	FUNCTION 4 genie_lsh_hamming_options(internal),
	FUNCTION 5 genie_lsh_hamming_train(internal),
	FUNCTION 6 genie_lsh_sign(internal, internal);
COMMENT ON OPERATOR CLASS genie_hamming_ops USING genie IS 'bit strings: nearest by Hamming distance, approximately';

-- ---- exact nearest vectors and bit strings: the index is their values, and rows come as by a sequential scan ----

CREATE FUNCTION genie_exact_l2_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_exact_l1_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_exact_cosine_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_exact_ip_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION genie_exact_hamming_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_exact_bit_decompose(bit, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_exact_bit_compile(internal, int2, oid, internal) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION genie_pgvector_bit_decompose(bit, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION genie_exact_l2_train(internal) IS 'genie support: how long the vectors are';
COMMENT ON FUNCTION genie_exact_l1_train(internal) IS 'genie support: how long the vectors are';
COMMENT ON FUNCTION genie_exact_cosine_train(internal) IS 'genie support: how long the vectors are';
COMMENT ON FUNCTION genie_exact_ip_train(internal) IS 'genie support: how long the vectors are';
COMMENT ON FUNCTION genie_exact_hamming_train(internal) IS 'genie support: how long the bit strings are';
COMMENT ON FUNCTION genie_exact_bit_decompose(bit, internal) IS 'genie support: the bits of a value';
COMMENT ON FUNCTION genie_exact_bit_compile(internal, int2, oid, internal) IS 'genie support: checks the length of a query';
COMMENT ON FUNCTION genie_pgvector_bit_decompose(bit, internal) IS 'genie support: the bits of a value, for the class by pgvector''s operator';

CREATE OPERATOR CLASS genie_l2_exact_ops FOR TYPE real[] USING genie AS
	OPERATOR 2 @& (real[], l2_exact_ball),
	OPERATOR 5 <-> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 5 <->^ (real[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_exact_l2_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_l2_exact_ops USING genie IS 'vectors: nearest by Euclidean distance, exactly';

CREATE OPERATOR CLASS genie_l1_exact_ops FOR TYPE real[] USING genie AS
	OPERATOR 2 @& (real[], l1_exact_ball),
	OPERATOR 6 <+> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 6 <+>^ (real[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_exact_l1_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_l1_exact_ops USING genie IS 'vectors: nearest by Manhattan distance, exactly';

CREATE OPERATOR CLASS genie_cosine_exact_ops FOR TYPE real[] USING genie AS
	OPERATOR 2 @& (real[], cosine_exact_ball),
	OPERATOR 7 <=> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 7 <=>^ (real[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_exact_cosine_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_cosine_exact_ops USING genie IS 'vectors: nearest by cosine distance, exactly';

CREATE OPERATOR CLASS genie_ip_exact_ops FOR TYPE real[] USING genie AS
	OPERATOR 9 <#> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 9 <#>^ (real[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_exact_ip_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_ip_exact_ops USING genie IS 'vectors: largest inner products, exactly';

CREATE OPERATOR CLASS genie_l2_exact_float8_ops FOR TYPE float8[] USING genie AS
	OPERATOR 2 @& (float8[], l2_exact_float8_ball),
	OPERATOR 5 <-> (float8[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(float8[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_exact_l2_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_l2_exact_float8_ops USING genie IS 'vectors: nearest by Euclidean distance, exactly';

CREATE OPERATOR CLASS genie_l1_exact_float8_ops FOR TYPE float8[] USING genie AS
	OPERATOR 2 @& (float8[], l1_exact_float8_ball),
	OPERATOR 6 <+> (float8[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(float8[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_exact_l1_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_l1_exact_float8_ops USING genie IS 'vectors: nearest by Manhattan distance, exactly';

CREATE OPERATOR CLASS genie_cosine_exact_float8_ops FOR TYPE float8[] USING genie AS
	OPERATOR 2 @& (float8[], cosine_exact_float8_ball),
	OPERATOR 7 <=> (float8[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(float8[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_exact_cosine_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_cosine_exact_float8_ops USING genie IS 'vectors: nearest by cosine distance, exactly';

CREATE OPERATOR CLASS genie_ip_exact_float8_ops FOR TYPE float8[] USING genie AS
	OPERATOR 9 <#> (float8[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(float8[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_exact_ip_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_ip_exact_float8_ops USING genie IS 'vectors: largest inner products, exactly';

CREATE FUNCTION genie_rabitq_l2_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_rabitq_cosine_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_rabitq_ip_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_rabitq_l2_train(internal) IS 'genie support: how long the vectors are, and where';
COMMENT ON FUNCTION genie_rabitq_cosine_train(internal) IS 'genie support: how long the vectors are, and where';
COMMENT ON FUNCTION genie_rabitq_ip_train(internal) IS 'genie support: how long the vectors are, and where';

CREATE OPERATOR CLASS genie_l2_rabitq_ops FOR TYPE real[] USING genie AS
	OPERATOR 5 <-> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 5 <->^ (real[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_rabitq_l2_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_l2_rabitq_ops USING genie IS 'vectors: nearest by Euclidean distance, by a bit a dimension, approximately';

CREATE OPERATOR CLASS genie_cosine_rabitq_ops FOR TYPE real[] USING genie AS
	OPERATOR 7 <=> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 7 <=>^ (real[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_rabitq_cosine_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_cosine_rabitq_ops USING genie IS 'vectors: nearest by cosine distance, by a bit a dimension, approximately';

CREATE OPERATOR CLASS genie_ip_rabitq_ops FOR TYPE real[] USING genie AS
	OPERATOR 9 <#> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 9 <#>^ (real[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_rabitq_ip_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_ip_rabitq_ops USING genie IS 'vectors: largest inner products, by a bit a dimension, approximately';

CREATE OPERATOR CLASS genie_l2_rabitq_float8_ops FOR TYPE float8[] USING genie AS
	OPERATOR 5 <-> (float8[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(float8[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_rabitq_l2_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_l2_rabitq_float8_ops USING genie IS 'vectors: nearest by Euclidean distance, by a bit a dimension, approximately';

CREATE OPERATOR CLASS genie_cosine_rabitq_float8_ops FOR TYPE float8[] USING genie AS
	OPERATOR 7 <=> (float8[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(float8[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_rabitq_cosine_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_cosine_rabitq_float8_ops USING genie IS 'vectors: nearest by cosine distance, by a bit a dimension, approximately';

CREATE OPERATOR CLASS genie_ip_rabitq_float8_ops FOR TYPE float8[] USING genie AS
	OPERATOR 9 <#> (float8[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(float8[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_rabitq_ip_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_ip_rabitq_float8_ops USING genie IS 'vectors: largest inner products, by a bit a dimension, approximately';

-- ---- nearest vectors by proximity graphs of their values (option "graph"); without graphs they are exact ----

CREATE FUNCTION genie_graph_edges() RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_graph_edges() IS 'genie support: edges of a row in proximity graphs, unless the option graph says';

CREATE OPERATOR CLASS genie_ip_ops FOR TYPE real[] USING genie AS
	OPERATOR 9 <#> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 9 <#>^ (real[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_exact_ip_train(internal),
	FUNCTION 8 genie_vector_value(internal),
	FUNCTION 10 genie_graph_edges();
COMMENT ON OPERATOR CLASS genie_ip_ops USING genie IS 'vectors: largest inner products, approximately, by proximity graphs';

CREATE OPERATOR CLASS genie_ip_float8_ops FOR TYPE float8[] USING genie AS
	OPERATOR 9 <#> (float8[], float8[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(float8[], internal),
	FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_exact_ip_train(internal),
	FUNCTION 8 genie_vector_value(internal),
	FUNCTION 10 genie_graph_edges();
COMMENT ON OPERATOR CLASS genie_ip_float8_ops USING genie IS 'vectors: largest inner products, approximately, by proximity graphs';

CREATE FUNCTION genie_exact_text_decompose(text, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_exact_text_compile(internal, int2, oid, internal) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION genie_exact_edit_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_exact_text_decompose(text, internal) IS 'genie support: the first characters of a text';
COMMENT ON FUNCTION genie_exact_text_compile(internal, int2, oid, internal) IS 'genie support: checks the length of a query';
COMMENT ON FUNCTION genie_exact_edit_train(internal) IS 'genie support: how long most texts are';

CREATE OPERATOR CLASS genie_edit_exact_ops FOR TYPE text USING genie AS
	OPERATOR 2 @& (text, genie_edit_query),
	OPERATOR 4 <~> (text, text) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_exact_text_decompose(text, internal),
	FUNCTION 2 genie_exact_text_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_exact_edit_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_edit_exact_ops USING genie IS 'short texts by their characters: nearest by edit distance, in the same time for any query';

CREATE OPERATOR CLASS genie_hamming_exact_ops FOR TYPE bit USING genie AS
	OPERATOR 2 @& (bit, hamming_exact_ball),
	OPERATOR 8 <&~> (bit, bit) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_exact_bit_decompose(bit, internal),
	FUNCTION 2 genie_exact_bit_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_exact_hamming_train(internal),
	FUNCTION 8 genie_vector_value(internal);
COMMENT ON OPERATOR CLASS genie_hamming_exact_ops USING genie IS 'bit strings: nearest by Hamming distance, exactly';

-- pgvector's type: genie_enable_pgvector() makes the operator classes
CREATE FUNCTION genie_pgvector_compile(internal, int2, oid, internal) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION genie_pgvector_half_compile(internal, int2, oid, internal) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION genie_pgvector_half_compile(internal, int2, oid, internal) IS 'genie support: checks the length of a query';
COMMENT ON FUNCTION genie_pgvector_compile(internal, int2, oid, internal) IS 'genie support: a vector as a query for similar signatures';
CREATE FUNCTION genie_enable_pgvector() RETURNS int
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION genie_enable_pgvector() IS 'creates operator classes for pgvector''s types vector and halfvec, and its operator of bits; returns how many it added';

-- ---- any metric: genie_create_metric() makes an operator class ----

CREATE FUNCTION genie_pivots_compile(internal, int2, oid, internal) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION genie_pivots_compile(internal, int2, oid, internal) IS 'genie support: a value as a query';
CREATE FUNCTION genie_pivots_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION genie_pivots_train(internal) IS 'genie support: chooses pivots';
CREATE FUNCTION genie_pivots_value(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_pivots_value(internal) IS 'genie support: distances to pivots';
CREATE FUNCTION genie_ball_radius(ball anyelement) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION genie_ball_radius(anyelement) IS 'the radius of a ball, a composite value of a center and a radius, which are checked';
CREATE FUNCTION genie_create_metric(name text, distance regprocedure, operator text, tolerance float8 DEFAULT 9.094947017729282e-13)
	RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION genie_create_metric(text, regprocedure, text, float8) IS 'creates an operator class genie_<name>_ops for the nearest rows by a distance function, which is a metric';
CREATE FUNCTION genie_drop_metric(name text) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION genie_drop_metric(text) IS 'drops what genie_create_metric() has made';

CREATE FUNCTION genie_metric_check(index regclass, triples bigint DEFAULT 1000000) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION genie_metric_check(regclass, bigint) IS 'looks at random triples of the rows: an error if the distance function of an index is no metric; returns how many';

-- ---- many queries at once ----

CREATE FUNCTION genie_search(index regclass, queries genie_query[], k int DEFAULT 10)
	RETURNS TABLE (query int, tid tid, match_count int)
	AS 'MODULE_PATHNAME', 'genie_batch_search' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION genie_search(regclass, genie_query[], int) IS 'the k rows with the highest match count for each query, by an index: query is its number in the array, tid is the row''s ctid';

CREATE FUNCTION genie_search(index regclass, queries real[], k int DEFAULT 10)
	RETURNS TABLE (query int, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search(index regclass, queries float8[], k int DEFAULT 10)
	RETURNS TABLE (query int, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search(index regclass, queries bit[], k int DEFAULT 10)
	RETURNS TABLE (query int, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search(index regclass, queries genie_object[], k int DEFAULT 10)
	RETURNS TABLE (query int, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search(index regclass, queries varbit[], k int DEFAULT 10)
	RETURNS TABLE (query int, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search(index regclass, queries smallint[], k int DEFAULT 10)
	RETURNS TABLE (query int, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search(index regclass, queries int[], k int DEFAULT 10)
	RETURNS TABLE (query int, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search(index regclass, queries bigint[], k int DEFAULT 10)
	RETURNS TABLE (query int, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search(index regclass, queries anyarray, k int DEFAULT 10)
	RETURNS TABLE (query int, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_within(index regclass, queries anyarray, radii float8[])
	RETURNS TABLE (query int, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_within' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION genie_search(regclass, varbit[], int) IS 'the k nearest rows for each query, a bit string: query is its number in the array, tid is the row''s ctid';
COMMENT ON FUNCTION genie_search(regclass, smallint[], int) IS 'the k nearest rows for each query, a vector or a set, a row of the array: query is its number, tid is the row''s ctid';
COMMENT ON FUNCTION genie_search(regclass, int[], int) IS 'the k nearest rows for each query, a vector or a set, a row of the array: query is its number, tid is the row''s ctid';
COMMENT ON FUNCTION genie_search(regclass, bigint[], int) IS 'the k nearest rows for each query, a vector or a set, a row of the array: query is its number, tid is the row''s ctid';
COMMENT ON FUNCTION genie_search(regclass, anyarray, int) IS 'the k nearest rows for each query, by an index of any class with a distance: query is its number in the array, tid is the row''s ctid';
COMMENT ON FUNCTION genie_within(regclass, anyarray, float8[]) IS 'all rows within each query''s radius, the nearest first, by an index whose order is exact: query is its number in the array, tid is the row''s ctid';
COMMENT ON FUNCTION genie_search(regclass, real[], int) IS 'the k nearest rows for each query, by an index of an approximate operator class; each row of the array is a query: query is its number, tid is the row''s ctid';
COMMENT ON FUNCTION genie_search(regclass, float8[], int) IS 'the k nearest rows for each query, by an index of an approximate operator class; each row of the array is a query: query is its number, tid is the row''s ctid';
COMMENT ON FUNCTION genie_search(regclass, bit[], int) IS 'the k nearest rows for each query, by an index of an approximate operator class: query is its number in the array, tid is the row''s ctid';
COMMENT ON FUNCTION genie_search(regclass, genie_object[], int) IS 'the k nearest rows for each query, a set, by an index of an approximate operator class: query is its number in the array, tid is the row''s ctid';

-- The same over all partitions of a partitioned index.
CREATE FUNCTION genie_search_parts(index regclass, queries genie_query[], k int DEFAULT 10)
	RETURNS TABLE (query int, part regclass, tid tid, match_count int)
	AS 'MODULE_PATHNAME', 'genie_batch_search_parts' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search_parts(index regclass, queries real[], k int DEFAULT 10)
	RETURNS TABLE (query int, part regclass, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest_parts' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search_parts(index regclass, queries float8[], k int DEFAULT 10)
	RETURNS TABLE (query int, part regclass, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest_parts' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search_parts(index regclass, queries bit[], k int DEFAULT 10)
	RETURNS TABLE (query int, part regclass, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest_parts' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search_parts(index regclass, queries genie_object[], k int DEFAULT 10)
	RETURNS TABLE (query int, part regclass, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest_parts' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search_parts(index regclass, queries varbit[], k int DEFAULT 10)
	RETURNS TABLE (query int, part regclass, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest_parts' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search_parts(index regclass, queries smallint[], k int DEFAULT 10)
	RETURNS TABLE (query int, part regclass, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest_parts' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search_parts(index regclass, queries int[], k int DEFAULT 10)
	RETURNS TABLE (query int, part regclass, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest_parts' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search_parts(index regclass, queries bigint[], k int DEFAULT 10)
	RETURNS TABLE (query int, part regclass, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest_parts' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_search_parts(index regclass, queries anyarray, k int DEFAULT 10)
	RETURNS TABLE (query int, part regclass, tid tid, distance float8)
	AS 'MODULE_PATHNAME', 'genie_batch_nearest_parts' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION genie_search_parts(regclass, genie_query[], int) IS 'the k rows with the highest match count for each query, of all partitions, by a partitioned index: query is its number in the array, part is the row''s tableoid, tid its ctid';
COMMENT ON FUNCTION genie_search_parts(regclass, real[], int) IS 'the k nearest rows for each query, of all partitions, by a partitioned index: query is its number in the array, part is the row''s tableoid, tid its ctid';
COMMENT ON FUNCTION genie_search_parts(regclass, float8[], int) IS 'the k nearest rows for each query, of all partitions, by a partitioned index: query is its number in the array, part is the row''s tableoid, tid its ctid';
COMMENT ON FUNCTION genie_search_parts(regclass, bit[], int) IS 'the k nearest rows for each query, of all partitions, by a partitioned index: query is its number in the array, part is the row''s tableoid, tid its ctid';
COMMENT ON FUNCTION genie_search_parts(regclass, genie_object[], int) IS 'the k nearest rows for each query, of all partitions, by a partitioned index: query is its number in the array, part is the row''s tableoid, tid its ctid';
COMMENT ON FUNCTION genie_search_parts(regclass, varbit[], int) IS 'the k nearest rows for each query, of all partitions, by a partitioned index: query is its number in the array, part is the row''s tableoid, tid its ctid';
COMMENT ON FUNCTION genie_search_parts(regclass, smallint[], int) IS 'the k nearest rows for each query, of all partitions, by a partitioned index: query is its number in the array, part is the row''s tableoid, tid its ctid';
COMMENT ON FUNCTION genie_search_parts(regclass, int[], int) IS 'the k nearest rows for each query, of all partitions, by a partitioned index: query is its number in the array, part is the row''s tableoid, tid its ctid';
COMMENT ON FUNCTION genie_search_parts(regclass, bigint[], int) IS 'the k nearest rows for each query, of all partitions, by a partitioned index: query is its number in the array, part is the row''s tableoid, tid its ctid';
COMMENT ON FUNCTION genie_search_parts(regclass, anyarray, int) IS 'the k nearest rows for each query, of all partitions, by a partitioned index: query is its number in the array, part is the row''s tableoid, tid its ctid';

CREATE FUNCTION genie_exact_knn(index regclass, queries real[], k int DEFAULT 10, metric text DEFAULT NULL)
	RETURNS TABLE (query int, tid tid, distance float8)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED;
CREATE FUNCTION genie_exact_knn(index regclass, queries float8[], k int DEFAULT 10, metric text DEFAULT NULL)
	RETURNS TABLE (query int, tid tid, distance float8)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION genie_exact_knn(regclass, real[], int, text) IS 'the exactly k nearest rows for each query, of all that an index covers: query is its number in the array, tid is the row''s ctid; metric is l2, l1, cosine or ip, or NULL for the index''s own';
COMMENT ON FUNCTION genie_exact_knn(regclass, float8[], int, text) IS 'the exactly k nearest rows for each query, of all that an index covers: query is its number in the array, tid is the row''s ctid; metric is l2, l1, cosine or ip, or NULL for the index''s own';

CREATE FUNCTION genie_counts(index regclass, queries genie_query[], exact boolean DEFAULT true)
	RETURNS TABLE (query int, lower bigint, upper bigint, estimate bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION genie_count(index regclass, query genie_query, exact boolean DEFAULT true,
	OUT lower bigint, OUT upper bigint, OUT estimate bigint)
	LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
BEGIN ATOMIC
	SELECT c.lower, c.upper, c.estimate FROM genie_counts(index, ARRAY[query], exact) AS c;
END;
COMMENT ON FUNCTION genie_counts(regclass, genie_query[], boolean) IS 'how many of an index''s rows fulfil x @& query, for each query, which is its number in the array; not exact: between lower and upper, and rows are not looked at';
COMMENT ON FUNCTION genie_count(regclass, genie_query, boolean) IS 'how many of an index''s rows fulfil x @& query; not exact: between lower and upper, and rows are not looked at';

CREATE FUNCTION genie_filter(index regclass, queries genie_query[]) RETURNS TABLE (query integer, tid tid)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION genie_filter(regclass, genie_query[]) IS 'the rows of an index that fulfil x @& query, for each query, which is its number in the array; tid is the row''s ctid';

CREATE FUNCTION genie_facets(index regclass, query genie_query, attributes integer[])
	RETURNS TABLE (attribute integer, value text, n bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION genie_facets(regclass, genie_query, integer[]) IS 'how many of an index''s rows that fulfil x @& query have each value of these attributes; an array''s elements have attribute 0';

CREATE FUNCTION genie_aggregate(index regclass, query genie_query, attribute integer,
	OUT n bigint, OUT sum numeric, OUT avg numeric, OUT min text, OUT max text,
	OUT sum_lower numeric, OUT sum_upper numeric, OUT avg_lower numeric, OUT avg_upper numeric)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION genie_aggregate(regclass, genie_query, integer) IS 'number, sum, average, least and greatest of an attribute''s values in an index''s rows that fulfil x @& query';

CREATE FUNCTION genie_regrid(index regclass, attributes integer[], steps float8[], query genie_query DEFAULT '{}@0', measured integer DEFAULT NULL)
	RETURNS TABLE (cell integer[], n bigint, tid_from tid, tid_to tid, sum float8, min float8, max float8)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION genie_regrid(regclass, integer[], float8[], genie_query, integer) IS 'cells of a grid, floor(value / step) of each attribute, with how many of an index''s rows that fulfil x @& query lie in them, between which TIDs these are, and the sum, least and greatest of another attribute''s values';

-- ---- administration ----

CREATE FUNCTION genie_merge(index regclass) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION genie_merge(regclass) IS 'merge an index''s pending rows and segments into new segments';

CREATE FUNCTION genie_check(index regclass, OUT block bigint, OUT violation text) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION genie_check(regclass) IS 'verify every page of an index: a row for each violation';

CREATE FUNCTION genie_index_info(index regclass,
	OUT segments int,
	OUT objects bigint,
	OUT keywords bigint,
	OUT postings bigint,
	OUT tombstones bigint,
	OUT pending_rows bigint,
	OUT total_bytes bigint,
	OUT metadata_bytes bigint,
	OUT object_bytes bigint,
	OUT dictionary_bytes bigint,
	OUT posting_bytes bigint,
	OUT size_bytes bigint,
	OUT value_bytes bigint,
	OUT tombstone_bytes bigint,
	OUT pending_bytes bigint,
	OUT free_bytes bigint,
	OUT retired_bytes bigint,
	OUT unreachable_pages bigint,
	OUT image_bytes bigint,
	OUT parameters bytea,
	OUT training text,
	OUT pivots int,
	OUT expected_share float8)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION genie_index_info(regclass) IS 'what an index holds and where its bytes go';

-- ---- seeing the shared memory and the worker at work ----

CREATE FUNCTION genie_stat_get(
	OUT worker_pid int,
	OUT worker_state text,
	OUT engine text,
	OUT worker_starts bigint,
	OUT requests bigint,
	OUT queries bigint,
	OUT batches bigint,
	OUT queries_per_batch float8,
	OUT wait_time float8,
	OUT count_time float8,
	OUT answered_by_gpu bigint,
	OUT answered_by_worker_cpu bigint,
	OUT answered_by_backend bigint,
	OUT fallback_worker_off bigint,
	OUT fallback_no_worker bigint,
	OUT fallback_no_image bigint,
	OUT fallback_no_room bigint,
	OUT fallback_image_gone bigint,
	OUT fallback_busy bigint,
	OUT fallback_failed bigint,
	OUT gpu_failed bigint,
	OUT gpu_no_room bigint,
	OUT gpu_lost bigint,
	OUT counted_by_tiles bigint,
	OUT counted_by_lanes bigint,
	OUT counted_by_tensor_cores bigint,
	OUT batch_searches bigint,
	OUT batch_queries bigint,
	OUT batch_queries_done bigint,
	OUT images bigint,
	OUT vector_images bigint,
	OUT image_bytes bigint,
	OUT shared_memory_bytes bigint,
	OUT image_loads bigint,
	OUT image_evictions bigint,
	OUT image_no_room bigint,
	OUT stats_since timestamptz)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION genie_stat_get() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION genie_stat_get() TO pg_monitor;
COMMENT ON FUNCTION genie_stat_get() IS 'the row of the view genie_stat';

CREATE VIEW genie_stat AS SELECT * FROM genie_stat_get();
REVOKE ALL ON genie_stat FROM PUBLIC;
GRANT SELECT ON genie_stat TO pg_monitor;
COMMENT ON VIEW genie_stat IS 'the background worker and the images in shared memory: state, counters since stats_since, times in milliseconds';

CREATE FUNCTION genie_stat_reset() RETURNS void
	AS 'MODULE_PATHNAME', 'genie_stat_reset_counters' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION genie_stat_reset() FROM PUBLIC;
COMMENT ON FUNCTION genie_stat_reset() IS 'start the counters of genie_stat at 0 again';

CREATE FUNCTION genie_costs(
	OUT engine text,
	OUT last_choice text,
	OUT costs text)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION genie_costs() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION genie_costs() TO pg_monitor;
COMMENT ON FUNCTION genie_costs() IS 'what counting costs each engine, as it has measured, and how it chose last between tiles and lanes';

CREATE FUNCTION genie_images(
	OUT database name,
	OUT index regclass,
	OUT database_oid oid,
	OUT tablespace_oid oid,
	OUT filenode oid,
	OUT segment bigint,
	OUT contents text,
	OUT state text,
	OUT reason text,
	OUT bytes bigint,
	OUT gpu_bytes bigint,
	OUT last_used timestamptz,
	OUT loads bigint,
	OUT hits bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION genie_images() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION genie_images() TO pg_monitor;
COMMENT ON FUNCTION genie_images() IS 'the images of index segments in shared memory, of all databases';

CREATE FUNCTION genie_last_scan(
	OUT index regclass,
	OUT kind text,
	OUT scans bigint,
	OUT answered_by_gpu bigint,
	OUT answered_by_worker_cpu bigint,
	OUT answered_by_backend bigint,
	OUT fallback_reasons text,
	OUT segments bigint,
	OUT pending_rows bigint,
	OUT rounds bigint,
	OUT candidates bigint,
	OUT rows_visited bigint,
	OUT rows_returned bigint,
	OUT by_graph bigint,
	OUT wait_time float8,
	OUT count_time float8)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION genie_last_scan() IS 'what each genie scan and search did of the last statement of this session that had some; times in milliseconds';

CREATE FUNCTION genie_devices(
	OUT device int,
	OUT name text,
	OUT memory_bytes bigint,
	OUT limit_bytes bigint,
	OUT used_bytes bigint,
	OUT image_bytes bigint,
	OUT share float8,
	OUT uploaded_bytes bigint,
	OUT upload_time float8,
	OUT streamed_bytes bigint,
	OUT evictions bigint,
	OUT losses bigint,
	OUT state text,
	OUT last_error text,
	OUT last_error_at timestamptz)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION genie_devices() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION genie_devices() TO pg_monitor;
COMMENT ON FUNCTION genie_devices() IS 'the GPUs that the background worker counts on, or why it cannot; sizes in bytes, times in milliseconds';

CREATE FUNCTION genie_prewarm(index regclass) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
REVOKE EXECUTE ON FUNCTION genie_prewarm(regclass) FROM PUBLIC;
COMMENT ON FUNCTION genie_prewarm(regclass) IS 'load an index into shared memory; returns the bytes that it takes there';
