-- genie_facets(), genie_aggregate(): what GROUP BY and aggregate functions return, from the index
CREATE SCHEMA batch_facets;
SET search_path = batch_facets, public;
SET client_min_messages = warning;
SET jit = off;

\df genie_facets
\df genie_aggregate

-- Tuples of several types with NULLs, in several segments, pending and dead.
CREATE TABLE t (id int, a int, b text, c numeric, d date, e float8, f bigint);
CREATE FUNCTION fill(low int, high int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT g, g % 7 - 3, CASE WHEN g % 11 > 0 THEN 'colour ' || g % 5 END, (g % 13)::numeric / 4, date '2020-01-01' + g % 20, (g % 9 - 4) / 8.0,
		g % 6 * 1000000000000 FROM generate_series(low, high) g $$;
SELECT fill(1, 3000);
CREATE INDEX t_x ON t USING genie (genie_tuple(a, b, c, d, e, f)) WITH (pending_limit = 1024);
SELECT fill(3001, 3100);
SELECT genie_merge('t_x');
SELECT fill(3101, 3150);
DELETE FROM t WHERE id % 5 = 0;

CREATE TABLE q (i int, q genie_query);
INSERT INTO q VALUES (1, '{}@0'), (2, genie_tuple_query(2::int)), (3, genie_tuple_query(int4range(-1, 2), 'colour 1'::text)), (4, genie_tuple_query(NULL::int, NULL::text, numrange(0.5, 2))),
	(5, genie_tuple_query(7777::int)), (6, '{1:int:1,2:text:"colour 2",4:timestamp:"2020-01-03"}@1'), (7, genie_tuple_query(1::int, NULL::text, NULL::numeric, date '2020-01-09'));

-- For how many queries do the functions and SQL differ, and how many values and rows are there in all?
CREATE FUNCTION differences(OUT n_facets bigint, OUT n_rows numeric, OUT different bigint) LANGUAGE plpgsql SET enable_indexscan = off SET enable_bitmapscan = off AS $$
DECLARE
	query genie_query;
	n bigint;
	m numeric;
BEGIN
	n_facets := 0; n_rows := 0; different := 0;
	FOR query IN SELECT q FROM q ORDER BY i LOOP
		SELECT count(*), coalesce(sum(f.n), 0) INTO n, m FROM genie_facets('t_x', query, '{1,2,3,4,5,6}') f;
		n_facets := n_facets + n;
		n_rows := n_rows + m;
		WITH matching AS (SELECT * FROM t WHERE genie_tuple(a, b, c, d, e, f) @& query),
			of_sql AS (SELECT 1 AS attribute, a::text AS value, count(*) AS n FROM matching WHERE a IS NOT NULL GROUP BY a
				UNION ALL SELECT 2, b, count(*) FROM matching WHERE b IS NOT NULL GROUP BY b
				UNION ALL SELECT 3, trim_scale(c)::text, count(*) FROM matching WHERE c IS NOT NULL GROUP BY c
				UNION ALL SELECT 4, to_char(d, 'YYYY-MM-DD HH24:MI:SS'), count(*) FROM matching WHERE d IS NOT NULL GROUP BY d
				UNION ALL SELECT 5, e::text, count(*) FROM matching WHERE e IS NOT NULL GROUP BY e
				UNION ALL SELECT 6, f::text, count(*) FROM matching WHERE f IS NOT NULL GROUP BY f),
			of_index AS (SELECT * FROM genie_facets('t_x', query, '{1,2,3,4,5,6}')),
			sums AS (SELECT g.n, g.sum, trim_scale(round(g.avg, 9)) AS avg, g.min, g.max FROM generate_series(1, 6) attribute, genie_aggregate('t_x', query, attribute) g),
			sql_sums AS (SELECT count(a) AS n, sum(a)::numeric AS sum, trim_scale(round(avg(a), 9)) AS avg, min(a)::text AS min, max(a)::text AS max FROM matching
				UNION ALL SELECT count(b), NULL, NULL, min(b COLLATE "C"), max(b COLLATE "C") FROM matching
				UNION ALL SELECT count(c), sum(c), trim_scale(round(avg(c), 9)), trim_scale(min(c))::text, trim_scale(max(c))::text FROM matching
				UNION ALL SELECT count(d), NULL, NULL, to_char(min(d), 'YYYY-MM-DD HH24:MI:SS'), to_char(max(d), 'YYYY-MM-DD HH24:MI:SS') FROM matching
				UNION ALL SELECT count(e), sum(e)::numeric, trim_scale(round(avg(e)::numeric, 9)), min(e)::text, max(e)::text FROM matching
				UNION ALL SELECT count(f), sum(f), trim_scale(round(avg(f), 9)), min(f)::text, max(f)::text FROM matching)
		SELECT (EXISTS (TABLE of_sql EXCEPT ALL TABLE of_index) OR EXISTS (TABLE of_index EXCEPT ALL TABLE of_sql)
			OR EXISTS (TABLE sums EXCEPT ALL TABLE sql_sums) OR EXISTS (TABLE sql_sums EXCEPT ALL TABLE sums))::int INTO n;
		different := different + n;
	END LOOP;
END $$;
SELECT * FROM differences();
VACUUM ANALYZE t;
SELECT * FROM differences();
UPDATE t SET id = -id WHERE id IN (7, 8);
SELECT * FROM differences();
UPDATE t SET a = 4, b = NULL WHERE id % 40 = 3;
SELECT * FROM differences();
SET genie.worker = off;
SELECT * FROM differences();
RESET genie.worker;
-- a transaction sees its own changes
BEGIN;
SELECT fill(5000, 5050);
DELETE FROM t WHERE id < 300;
SELECT * FROM differences();
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM differences();
COMMIT;
SELECT genie_merge('t_x');
SELECT * FROM differences();

-- in the order of attributes as they are asked for, and of values
SELECT * FROM genie_facets('t_x', genie_tuple_query(2::int, NULL::text, numrange(0, 1)), '{5,2}');
SELECT n, sum, round(avg, 6) AS avg, min, max FROM genie_aggregate('t_x', genie_tuple_query(2::int), 6);
SELECT kind, n_rows FROM (SELECT kind, rows_returned AS n_rows FROM genie_last_scan()) s WHERE kind = 'genie_facets';
SELECT * FROM genie_facets('t_x', '{}@0', '{}');
SELECT * FROM genie_facets('t_x', '{}@0', '{1,77}');
SELECT * FROM genie_aggregate('t_x', '{}@0', 0);
SELECT * FROM genie_aggregate('t_x', genie_tuple_query(7777::int), 1);

-- elements of arrays and lexemes: in how many of the rows is each?
CREATE TABLE tags (x text[], words tsvector);
INSERT INTO tags SELECT ARRAY['all', 'r' || g % 3, 's' || g % 2, 's' || g % 2], to_tsvector('simple', 'all r' || g % 3) FROM generate_series(1, 100) g;
INSERT INTO tags VALUES (NULL, NULL), ('{}', ''), (ARRAY['r1', repeat('x', 500)], 'r1');
CREATE INDEX tags_x ON tags USING genie (x);
CREATE INDEX tags_words ON tags USING genie (words);
SELECT attribute, left(value, 20) AS value, n FROM genie_facets('tags_x', genie_query('{r1}'::text[]), '{0}');
SELECT * FROM genie_aggregate('tags_x', genie_query('{r1,s1}'::text[], 2), 0);
SELECT * FROM genie_facets('tags_words', genie_query('{r2}'::text[]), '{0}');
-- what attributes rows of other classes have is not known
SELECT * FROM genie_facets('tags_x', genie_query('{r2}'::text[]), '{1,77}');

-- values that the keyword does not tell are read from a row: long ones, and those that are indexed by a hash
CREATE TABLE long (a text, b jsonb, c int);
INSERT INTO long SELECT 'long ' || repeat('y', 300) || g % 3, jsonb_build_object('k', g % 2), g FROM generate_series(1, 40) g;
CREATE INDEX long_x ON long USING genie (genie_tuple(a, b, c));
VACUUM long;
INSERT INTO long VALUES ('pending ' || repeat('z', 200), '[1]', 41);
SELECT attribute, length(value), left(value, 6) || '..' || right(value, 3) AS value, n, n = (SELECT count(*) FROM long WHERE a = value) AS is_right FROM genie_facets('long_x', '{}@0', '{1}') ORDER BY 1, 3;
SELECT value, n, n = (SELECT count(*) FROM long WHERE b = value::jsonb AND c <= 30) AS is_right FROM genie_facets('long_x', '{3:int:[1,30]}', '{2}') ORDER BY 1;
SELECT left(value, 20) AS value, length(value) AS length, n FROM genie_facets('tags_x', '{}@0', '{0}') WHERE length(value) > 100;
SELECT n, sum, length(min) AS min, length(max) AS max FROM genie_aggregate('long_x', '{3:int:[1,30]}', 1);
SET genie.worker = off;
SELECT attribute, length(value), left(value, 6) || '..' || right(value, 3) AS value, n FROM genie_facets('long_x', '{}@0', '{1}') ORDER BY 1, 3;
RESET genie.worker;

-- numbers that sums must bear, and values that are not numbers
CREATE TABLE extremes (a bigint, b float8, c numeric);
INSERT INTO extremes SELECT 9223372036854775807, 1e308, 1e100 FROM generate_series(1, 1000);
INSERT INTO extremes SELECT -9223372036854775808, 1, -1e100 FROM generate_series(1, 500);
CREATE INDEX extremes_x ON extremes USING genie (genie_tuple(a, b, c));
SELECT n, sum, sum = (SELECT sum(a) FROM extremes) AS equal, min, max FROM genie_aggregate('extremes_x', '{}@0', 1);
SELECT n, sum = 1000 * 1e308::numeric + 500 AS equal, min, max FROM genie_aggregate('extremes_x', '{}@0', 2);
SELECT n, sum = (SELECT sum(c) FROM extremes) AS equal, left(min, 5) AS min FROM genie_aggregate('extremes_x', '{}@0', 3);
INSERT INTO extremes VALUES (1, 'NaN', 'Infinity');
SELECT n, sum, max FROM genie_aggregate('extremes_x', '{}@0', 2);
SELECT n, sum, avg, max FROM genie_aggregate('extremes_x', '{}@0', 3);

-- a table of several tiles, many values
CREATE TABLE tiles (x int[]) WITH (fillfactor = 50);
INSERT INTO tiles SELECT ARRAY[g % 7, 100 + g % 11, 100000 + g / 3] FROM generate_series(0, 200000) g;
CREATE INDEX tiles_x ON tiles USING genie (x);
VACUUM tiles;
SELECT count(*), sum(n), count(*) FILTER (WHERE n = 3) FROM genie_facets('tiles_x', '{}@0', '{0}') WHERE value::int >= 100000;
SELECT * FROM genie_facets('tiles_x', genie_query('{3,104}'::int[], 2), '{0}') WHERE value::int < 1000 ORDER BY n DESC, value LIMIT 4;

-- what is refused
SELECT * FROM genie_facets('t_x', '{}@0', '{-1}');
SELECT * FROM genie_facets('t_x', '{}@0', '{0,NULL}');
SELECT * FROM genie_facets('t_x', '{}@0', '{{0},{1}}');
SELECT * FROM genie_aggregate('t_x', '{}@0', -1);
SELECT * FROM genie_facets('tags_x', genie_jaccard_query('{r1}'::text[], 0.5), '{0}');
SELECT * FROM genie_facets('t', '{}@0', '{0}');
CREATE INDEX tags_btree ON tags (x);
SELECT * FROM genie_facets('tags_btree', '{}@0', '{0}');
SELECT * FROM genie_facets('t_x', genie_tuple_query('word'::text), '{0}');
CREATE TABLE vectors (v real[]);
CREATE INDEX vectors_v ON vectors USING genie (v genie_l2_exact_ops);
SELECT * FROM genie_facets('vectors_v', '{}@0', '{0}');
SELECT genie_facets(NULL, '{}@0', '{0}'), genie_aggregate('t_x', NULL, 0);
CREATE ROLE genie_facets_reader;
GRANT USAGE ON SCHEMA batch_facets TO genie_facets_reader;
SET ROLE genie_facets_reader;
SELECT * FROM genie_facets('t_x', '{}@0', '{0}');
RESET ROLE;
GRANT SELECT ON t TO genie_facets_reader;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SET ROLE genie_facets_reader;
SELECT * FROM genie_aggregate('t_x', '{}@0', 0);
RESET ROLE;
DROP SCHEMA batch_facets CASCADE;
DROP ROLE genie_facets_reader;
