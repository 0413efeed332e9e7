-- genie_match_count and the operators <&> and @&, by the values alone

SELECT ARRAY[1, 2, 3] <&> ARRAY[3, 4, 1] AS shared, ARRAY[1, 2, 3] <&> '{3,4}' AS literal, ARRAY[1, 2] <&> '{}' AS empty, '{}'::int[] <&> '{}' AS both_empty;
SELECT genie_match_count(ARRAY[1, 2, 3], ARRAY[3, 1]), genie_match_count(ARRAY['a', 'b'], '{0:text:[a,b)}'::genie_query),
	genie_match_count(genie_tuple(1, 'a'), genie_tuple(1, 'b')), genie_match_count(genie_tuple(1, 'a'), genie_tuple_query(NULL, 'a'));

-- sets: duplicates count once, on either side; NULL elements are ignored; dimensions of an array do not matter
SELECT ARRAY[1, 1, 2, 2] <&> ARRAY[2, 1, 2, 2, 2] AS duplicates, ARRAY[1, NULL, 2, NULL] <&> ARRAY[NULL, 2, NULL] AS nulls,
	'{{1,2},{3,4}}'::int[] <&> '{{{4}},{{1}}}'::int[] AS dimensions, '[5:7]={1,2,3}'::int[] <&> '{3,9}' AS bounds;
SELECT ARRAY['a', NULL, 'a', 'b'] <&> ARRAY['b', 'b', NULL, 'a'] AS text, ARRAY[NULL, NULL]::text[] <&> ARRAY[NULL]::text[] AS only_nulls;

-- NULL values
SELECT (NULL::int[] <&> ARRAY[1]) IS NULL AS no_left, (ARRAY[1] <&> NULL::int[]) IS NULL AS no_right,
	(ARRAY[1] @& NULL::genie_query) IS NULL AS no_query, (NULL::genie_object @& '{}') IS NULL AS no_object;

-- min_match
SELECT ARRAY[1, 2, 3] @& genie_query(ARRAY[2, 3, 4], n) AS matches FROM generate_series(0, 3) n;
SELECT genie_tuple(1, 'a') @& '{1:int:1,2:text:b}@1' AS one, genie_tuple(1, 'a') @& '{1:int:1,2:text:b}@2' AS two, '{}'::genie_object @& '{}@0' AS zero, '{}'::int[] @& '{}@1' AS none;
SELECT ARRAY[1] @& '{0:int:1}@2147483647' AS most;

-- a similarity asks for more: distinct elements of either side count, and both conditions must hold
SELECT a, a @& '{0:int:1,0:int:2,0:int:3}%0.5' AS half, a @& '{0:int:1,0:int:2,0:int:3}@2%0.5' AS two_and_half, a @& '{0:int:1,0:int:2,0:int:3}%1' AS equal, a @& '{0:int:1,0:int:2,0:int:3}%0' AS any, a @& '{}%1' AS empty
	FROM (VALUES (ARRAY[1, 2, 3]), (ARRAY[3, 2, 1, 1, NULL]), (ARRAY[1, 2, 4, 2]), (ARRAY[1, 2, 4, 5]), (ARRAY[1, 2]), (ARRAY[1]), (ARRAY[1, 1]), ('{}'), ('{NULL}')) AS v(a);
SELECT ARRAY['a', 'b', 'a'] @& '{0:text:a,0:text:b,0:text:c}%0.66' AS text, ARRAY['a', 'b', 'a'] @& '{0:text:a,0:text:b,0:text:c}%0.67' AS too_high,
	genie_tuple(1, 2, 3) @& '{1:int:1,2:int:2,4:int:3}%0.5' AS object, genie_tuple(1, 2, 3) @& '{1:int:1,2:int:2,4:int:3}%0.51' AS other_object;
-- genie_match_count and <&> count, whatever the query asks besides
SELECT ARRAY[1, 2, 4] <&> '{0:int:1,0:int:2,0:int:3}%0.9'::genie_query AS negative_count, genie_match_count(ARRAY[1, 2, 4], '{0:int:1,0:int:2,0:int:3}%0.9'::genie_query);

-- families: all integers are one (operator_width.sql)
SELECT '{1,2,3}'::bigint[] @& genie_query('{2,3}'::int[], 2) AS bigint, '{1,2,3}'::smallint[] <&> genie_query('{2,3,99999}'::int[]) AS smallint;
SELECT '{1.0,2}'::numeric[] <&> '{1,2.00}'::numeric[] AS numeric, '{0,-0,NaN,1}'::float8[] <&> '{-0,NaN}' AS float8, '{a,b}'::varchar[] <&> '{b}'::varchar[] AS varchar;

-- another family is a mistake, where there is something to mistake
SELECT '{1,2}'::int[] <&> genie_query(ARRAY[1.0, 2.0]::float8[]);
SELECT '{1,2}'::int[] @& genie_query(ARRAY['1']);
SELECT '{a,b}'::text[] <&> genie_query(ARRAY[1]);
SELECT '{1.5}'::numeric[] <&> '{[1,2]}'::int4multirange::genie_query;
SELECT '{1,2}'::int[] <&> '{0:int:2,0:text:a}'::genie_query AS some, '{}'::int[] <&> genie_query(ARRAY['a']) AS empty, '{NULL}'::int[] <&> genie_query(ARRAY['a']) AS only_nulls,
	'{1,2}'::int[] <&> '{0:int:2,7:int:1}'::genie_query AS other_dimension, '{1,2}'::int[] <&> '{}'::genie_query AS nothing, '{a}'::text[] <&> '{0:text:a,7:int:1}'::genie_query AS text;
-- a query without the elements' dimension is a mistake, in operators and for an index
SELECT '{1,2}'::int[] <&> '{7:int:1}'::genie_query;
SELECT '{1,2}'::int[] <&> '{2147483647:int:1}'::genie_query;
SELECT '{a}'::text[] @& '{1:text:a,2:text:a}@0'::genie_query;
SELECT genie_match_count('{a}'::text[], '{1:text:a}'::genie_query);
CREATE TABLE match_dimension (a text[]);
CREATE INDEX ON match_dimension USING genie (a);
SET enable_seqscan = off;
SELECT a FROM match_dimension ORDER BY a <&> '{1:text:a}';
SELECT a FROM match_dimension ORDER BY a <&> '{1:text:a}'::genie_query;
SELECT a FROM match_dimension WHERE a @& '{1:text:a}';
RESET enable_seqscan;
DROP TABLE match_dimension;

-- there is no implicit cast, and no operator for it
SELECT ARRAY[1] @& ARRAY[1];
SELECT genie_tuple(1) <&> ARRAY[1];

-- the largest object
SELECT array_agg(i) <&> ARRAY[1, 65535, 65536] FROM generate_series(1, 65535) i;
SELECT array_agg(i) <&> ARRAY[1, 65535, 65536] FROM generate_series(1, 65536) i;
SELECT array_agg(i ORDER BY i DESC) <&> ARRAY[1, 65535, 65536] FROM generate_series(1, 65536) i;
SELECT array_agg(i::text) <&> ARRAY['1', '65535', '65536'] FROM generate_series(1, 65535) i;
SELECT array_agg(i::text) <&> ARRAY['1', '65535', '65536'] FROM generate_series(1, 65536) i;
SELECT genie_match_count(array_agg((i % 3)::text), ARRAY['0', '2']) AS duplicates, genie_match_count(array_agg(i % 3), ARRAY[0, 2]) AS int_duplicates FROM generate_series(1, 300000) i;
SELECT ARRAY['1', '200000', '200001'] <&> array_agg(i::text) AS large_query, ARRAY[200001, 200000, 1] <&> array_agg(i) AS large_int_query FROM generate_series(1, 200000) i;

-- toasted operands, and one that changes from row to row
CREATE TABLE match_large (id int, a int[], t text[], o genie_object, q genie_query);
ALTER TABLE match_large ALTER a SET STORAGE external, ALTER t SET STORAGE extended, ALTER o SET STORAGE external, ALTER q SET STORAGE external;
INSERT INTO match_large SELECT n, array_agg(i), array_agg(i::text), ('{' || string_agg('0:int:' || i, ',') || '}')::genie_object, genie_query(array_agg(i), 10)
	FROM generate_series(1, 4) n, generate_series(n, n * 1000) i GROUP BY n;
SELECT x.id, y.id, -(x.a <&> y.a) AS a, -(x.t <&> y.t) AS t, -(x.o <&> y.o) AS o, -(x.a <&> y.q) AS aq, x.o @& y.q AS oq
	FROM match_large x, match_large y ORDER BY 1, 2;
SELECT id, a <&> (SELECT a FROM match_large WHERE id = 2) AS a FROM match_large ORDER BY 2, 1;
DROP TABLE match_large;

-- expanded arrays, changed in place
DO $$
DECLARE
	query int[] := '{1}';
	counts int[];
BEGIN
	FOR i IN 2 .. 5 LOOP
		query[i] := i;
		counts := counts || genie_match_count(ARRAY[1, 2, 4, 8], query);
	END LOOP;
	RAISE NOTICE '%', counts;
END $$;

-- random arrays of every kind against plain SQL: sorted, unsorted, with NULLs and duplicates; points and ranges
SELECT setseed(0.25);
CREATE TABLE match_random AS
SELECT id, kind,
	ARRAY(SELECT CASE WHEN kind >= 2 AND random() < 0.1 THEN NULL ELSE (random() * 60 - 30)::int END FROM generate_series(1, CASE WHEN id % 10 = 0 THEN 1000 ELSE id % 40 END)) AS a
	FROM generate_series(1, 300) id, generate_series(0, 2) kind;
UPDATE match_random SET a = ARRAY(SELECT DISTINCT e FROM unnest(a) e WHERE e IS NOT NULL ORDER BY e) WHERE kind = 0;
CREATE TABLE match_queries AS
SELECT id, ARRAY(SELECT (random() * 80 - 40)::int FROM generate_series(1, CASE WHEN id % 5 = 0 THEN 1500 ELSE id END)) AS points,
	(SELECT range_agg(int4range(b, b + (random() * 5)::int, '[]')) FROM (SELECT (random() * 70 - 35)::int AS b FROM generate_series(1, id)) s) AS ranges
	FROM generate_series(1, 20) id;
CREATE FUNCTION match_points(a int[], b int[]) RETURNS bigint LANGUAGE sql AS
	$$ SELECT count(*) FROM (SELECT unnest(a) INTERSECT SELECT unnest(b)) s(e) WHERE e IS NOT NULL $$;
CREATE FUNCTION match_ranges(a int[], b int4multirange) RETURNS bigint LANGUAGE sql AS
	$$ SELECT count(DISTINCT e) FROM unnest(a) e WHERE e <@ b $$;
SELECT count(*) AS pairs,
	count(*) FILTER (WHERE -(a <&> points) <> p) AS int4,
	count(*) FILTER (WHERE -(a::int2[] <&> points::int2[]) <> p) AS int2,
	count(*) FILTER (WHERE -(a::int8[] <&> points::int8[]) <> p) AS int8,
	count(*) FILTER (WHERE -(a::text[] <&> points::text[]) <> p) AS text,
	count(*) FILTER (WHERE -(a::float8[] <&> points::float8[]) <> p) AS float8,
	count(*) FILTER (WHERE -(a <&> genie_query(points)) <> p) AS query,
	count(*) FILTER (WHERE -(a <&> genie_query(ranges)) <> g) AS ranges,
	count(*) FILTER (WHERE -(a::int8[] <&> genie_query(ranges)) <> g) AS int8_ranges,
	count(*) FILTER (WHERE (a @& genie_with_min_match(genie_query(ranges), 5)) <> (g >= 5)) AS matches
	FROM (SELECT a, points, ranges, match_points(a, points) AS p, match_ranges(a, ranges) AS g
		FROM match_random r, match_queries q WHERE (r.id + q.id) % 13 = 0 OFFSET 0) s;
-- the same as objects
CREATE TABLE match_objects AS
SELECT id, kind, a, ('{' || coalesce((SELECT string_agg('0:int:' || e, ',') FROM unnest(a) e), '') || '}')::genie_object AS o FROM match_random;
SELECT count(*) AS pairs, count(*) FILTER (WHERE o <&> genie_query(points) <> a <&> points) AS points, count(*) FILTER (WHERE o <&> genie_query(ranges) <> a <&> genie_query(ranges)) AS ranges
	FROM match_objects r, match_queries q WHERE (r.id + q.id) % 13 = 0;
SELECT count(*) AS pairs, count(*) FILTER (WHERE x.o <&> y.o <> x.a <&> y.a) AS objects FROM match_objects x JOIN match_objects y ON (x.id * 7 + y.id * 3) % 97 = 0;
-- the widest integers
SELECT genie_match_count(ARRAY[-9223372036854775808, -1, 0, 9223372036854775807], q::genie_query) AS count, q FROM (VALUES
	('{0:int:(,)}'), ('{0:int:[-9223372036854775808,9223372036854775807]}'), ('{0:int:(-9223372036854775808,9223372036854775807)}'),
	('{0:int:(9223372036854775807,)}'), ('{0:int:(,-9223372036854775808)}'), ('{0:int:(,-9223372036854775808]}'), ('{0:int:[9223372036854775807,)}'),
	('{0:int:(-1,0)}'), ('{0:int:(-2,0)}'), ('{0:int:-1,0:int:[0,1)}')) AS v(q);
DROP TABLE match_random, match_queries, match_objects;
DROP FUNCTION match_points(int[], int[]), match_ranges(int[], int4multirange);
