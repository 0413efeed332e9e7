-- similarities of sets: genie_jaccard, genie_dice, genie_cosine, genie_overlap, the distance <%>, thresholds

SELECT a, b, genie_jaccard(a, b), a <%> b AS distance, genie_dice(a, b), genie_cosine(a, b), genie_overlap(a, b)
	FROM (VALUES (ARRAY[1, 2, 3], ARRAY[2, 3, 4]), ('{1,2,3,4}', '{4,1}'), ('{1}', '{2}'), ('{1,2}', '{2,1}'), ('{1}', '{}'), ('{}', '{1}'), ('{}', '{}')) AS v(a, b);

-- sets: duplicates count once, on either side; NULL elements are none; dimensions of an array do not matter
SELECT ARRAY[1, 1, 2, 2, 3] <%> ARRAY[3, 2, 2, 4] AS duplicates, ARRAY[1, NULL, 2] <%> ARRAY[NULL, 2, 1] AS nulls, ARRAY[NULL, NULL]::int[] <%> '{}' AS only_nulls,
	'{{1,2},{3,4}}'::int[] <%> '{{{4}},{{1}}}' AS dimensions, ARRAY['a', NULL, 'a', 'b'] <%> ARRAY['b', 'b', 'c'] AS text, ARRAY[NULL]::text[] <%> '{}' AS only_nulls_text;
SELECT (NULL::int[] <%> ARRAY[1]) IS NULL AS no_left, genie_jaccard(ARRAY[1], NULL) IS NULL AS no_right, (NULL::genie_object <%> '{}') IS NULL AS no_object;
SELECT genie_tuple(1, 'a') <%> genie_tuple(1, 'b') AS objects, genie_jaccard(genie_tuple(1, 'a', 2), genie_tuple(1, NULL::text, 2)), genie_dice(genie_tuple(1, 'a'), genie_tuple(1, 'b')),
	genie_cosine(genie_tuple(1, 'a'), genie_tuple(1, 'b')), genie_overlap(genie_tuple(1, 'a'), genie_tuple(1)), '{}'::genie_object <%> '{}' AS nothing;

-- widths of numbers are mixed, families of types are not
SELECT '{1,2}'::smallint[] <%> '{1,2}'::int[];
SELECT genie_tuple(1) <%> genie_tuple('1'::text);
SELECT ARRAY[1] <%> genie_query(ARRAY[1]);

-- random arrays of every kind against the definitions in plain SQL
SELECT setseed(0.5);
CREATE TABLE measure_random AS
SELECT id, ARRAY(SELECT CASE WHEN random() < 0.1 THEN NULL ELSE (random() * 40 - 20)::int END FROM generate_series(1, CASE WHEN id % 20 = 0 THEN 500 ELSE id % 30 END)) AS a
	FROM generate_series(0, 79) id;
CREATE TABLE measure_pairs AS
SELECT x.a AS x, y.a AS y, (SELECT count(DISTINCT e) FROM unnest(x.a) e) AS nx, (SELECT count(DISTINCT e) FROM unnest(y.a) e) AS ny,
	(SELECT count(DISTINCT e) FROM unnest(x.a) e WHERE e = ANY (y.a)) AS n FROM measure_random x, measure_random y;
CREATE FUNCTION measure_differs(a float8, b float8) RETURNS bool LANGUAGE sql AS $$ SELECT abs(a - b) > 1e-15 OR a IS NULL OR b IS NULL $$;
SELECT count(*) AS pairs, count(*) FILTER (WHERE nx + ny = 0) AS both_empty,
	count(*) FILTER (WHERE genie_jaccard(x, y) IS DISTINCT FROM CASE WHEN nx + ny = 0 THEN 1 ELSE n / (nx + ny - n)::float8 END) AS jaccard,
	count(*) FILTER (WHERE x <%> y IS DISTINCT FROM 1 - CASE WHEN nx + ny = 0 THEN 1 ELSE n / (nx + ny - n)::float8 END) AS distance,
	count(*) FILTER (WHERE genie_dice(x, y) IS DISTINCT FROM CASE WHEN nx + ny = 0 THEN 1 ELSE 2 * n / (nx + ny)::float8 END) AS dice,
	count(*) FILTER (WHERE measure_differs(genie_cosine(x, y), CASE WHEN nx + ny = 0 THEN 1 WHEN n = 0 THEN 0 ELSE n / sqrt(nx * ny) END)) AS cosine,
	count(*) FILTER (WHERE genie_overlap(x, y) IS DISTINCT FROM CASE WHEN nx + ny = 0 THEN 1 WHEN n = 0 THEN 0 ELSE n / least(nx, ny)::float8 END) AS overlap
	FROM measure_pairs;
SELECT count(*) FILTER (WHERE x <%> y <> y <%> x) AS commutes,
	count(*) FILTER (WHERE x::int2[] <%> y::int2[] <> x <%> y) AS int2, count(*) FILTER (WHERE x::int8[] <%> y::int8[] <> x <%> y) AS int8,
	count(*) FILTER (WHERE x::text[] <%> y::text[] <> x <%> y) AS text, count(*) FILTER (WHERE x::float8[] <%> y::float8[] <> x <%> y) AS float8,
	count(*) FILTER (WHERE x::numeric[] <%> y::numeric[] <> x <%> y) AS numeric
	FROM measure_pairs WHERE nx < 40 OR ny % 5 = 0;
-- the same as objects
CREATE TABLE measure_objects AS SELECT id, a, ('{' || coalesce((SELECT string_agg('0:int:' || e, ',') FROM unnest(a) e), '') || '}')::genie_object AS o FROM measure_random;
SELECT count(*) FILTER (WHERE x.o <%> y.o <> x.a <%> y.a) AS distance, count(*) FILTER (WHERE genie_jaccard(x.o, y.o) <> genie_jaccard(x.a, y.a)) AS jaccard,
	count(*) FILTER (WHERE genie_dice(x.o, y.o) <> genie_dice(x.a, y.a)) AS dice, count(*) FILTER (WHERE genie_cosine(x.o, y.o) <> genie_cosine(x.a, y.a)) AS cosine,
	count(*) FILTER (WHERE genie_overlap(x.o, y.o) <> genie_overlap(x.a, y.a)) AS overlap FROM measure_objects x, measure_objects y;

-- thresholds agree with the distance, at every similarity that occurs too
SELECT genie_jaccard_query(ARRAY[3, 1, 2, 3, NULL], 0.7), genie_jaccard_query(elements => ARRAY['a'], similarity => 0), genie_jaccard_query(genie_tuple(1, 'a'), 1), genie_jaccard_query('{}'::int[], 0.5);
SELECT count(*) FILTER (WHERE x <%> y <= 1 - genie_jaccard(x, y) AND NOT x @& genie_jaccard_query(y, genie_jaccard(x, y))) AS own,
	count(*) FILTER (WHERE (x @& genie_jaccard_query(y, s)) <> (x <%> y <= 1 - s)) AS any,
	count(*) FILTER (WHERE (x @& genie_with_min_match(genie_jaccard_query(y, s), 3)) <> (x <%> y <= 1 - s AND n >= 3)) AS with_min_match,
	count(*) FILTER (WHERE (x::text[] @& genie_jaccard_query(y::text[], s)) <> (x <%> y <= 1 - s)) AS text
	FROM measure_pairs, LATERAL (SELECT ((nx + ny) % 11) / 10.0::float8 AS s) l;
SELECT count(*) FILTER (WHERE (x.o @& genie_jaccard_query(y.o, s)) <> (x.o <%> y.o <= 1 - s)) AS objects,
	count(*) FILTER (WHERE x.o @& genie_jaccard_query(y.o, s) AND x.o <> y.o) > 0 AS some FROM measure_objects x, measure_objects y, LATERAL (SELECT ((x.id + y.id) % 11) / 10.0::float8 AS s) l;
SELECT genie_jaccard_query(ARRAY[1], NULL) IS NULL AS no_similarity, genie_jaccard_query(NULL::int[], 0.5) IS NULL AS no_array, genie_jaccard_query(NULL::genie_object, 0.5) IS NULL AS no_object;
SELECT genie_jaccard_query(ARRAY[1], 1.1);
SELECT genie_jaccard_query(ARRAY[1], -0.1);
SELECT genie_jaccard_query(ARRAY[1], 'NaN');
SELECT genie_jaccard_query(ARRAY[1], 'Infinity');
SELECT genie_jaccard_query(genie_tuple(1), 2);
SELECT genie_jaccard_query(ARRAY['<a/>'::xml], 0.5);
SELECT ARRAY[1] @& genie_jaccard_query(ARRAY['1'], 0.5);

-- the largest sets
SELECT array_agg(i) <%> array_agg(i + 1) = 1 - 65534 / 65536::float8 AS neighbours FROM generate_series(1, 65535) i;
SELECT array_agg(i) <%> ARRAY[1] FROM generate_series(1, 65536) i;
SELECT ARRAY[1] <%> array_agg(i) = 1 - 1 / 65536::float8 AS large_right FROM generate_series(1, 65536) i;

DROP TABLE measure_random, measure_pairs, measure_objects;
DROP FUNCTION measure_differs(float8, float8);
