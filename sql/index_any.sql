-- x @& ANY (queries): rows that fulfil one of several conditions, in one scan
CREATE SCHEMA index_any;
SET search_path = index_any, public;
SET client_min_messages = warning;
SET jit = off;

-- NULL and empty rows, several segments, pending rows, dead rows.
CREATE TABLE t (id int, x int[]);
INSERT INTO t SELECT g, CASE WHEN g % 50 = 0 THEN NULL WHEN g % 70 = 1 THEN '{}' ELSE ARRAY[g % 3, 10 + g % 4, 20 + g % 50, 100 + g % 7] END
	FROM generate_series(1, 3000) g;
CREATE INDEX t_x ON t USING genie (x) WITH (pending_limit = 1024);
INSERT INTO t SELECT g, ARRAY[g % 3, 10 + g % 5, 3000 + g] FROM generate_series(3001, 3100) g;
SELECT genie_merge('t_x');
INSERT INTO t SELECT g, CASE WHEN g % 9 > 0 THEN ARRAY[g % 3, 10 + g % 5, 20, g] END FROM generate_series(3101, 3200) g;
DELETE FROM t WHERE id % 5 = 0;

CREATE TABLE q (i int, q genie_query[]);
INSERT INTO q VALUES (1, ARRAY[genie_query('{1,12,20}'::int[], 3), genie_query('{2,10,33}'::int[], 2)]), (2, ARRAY[genie_query('{3150}'::int[]), genie_query('{21,103}'::int[], 2)]),
	(3, '{}'), (4, NULL), (5, ARRAY[NULL, NULL]::genie_query[]), (6, ARRAY[NULL, genie_query('{20}'::int[]), NULL]), (7, ARRAY['{}@0'::genie_query, genie_query('{20}'::int[])]),
	(8, ARRAY[genie_query('{-1}'::int[]), genie_query('{-2}'::int[])]), (9, ARRAY[genie_jaccard_query('{1,11,21,101}'::int[], 0.6), genie_query('{105,20}'::int[], 2)]),
	(10, ARRAY[genie_jaccard_query('{1,11,21,101}'::int[], 0.9), genie_jaccard_query('{2,10,34}'::int[], 0.5)]), (11, ARRAY[genie_query('{20}'::int[])]),
	(12, ARRAY(SELECT genie_query(ARRAY[g % 3, 10 + g % 4, 20 + g], 3) FROM generate_series(1, 60) g)), (13, ARRAY[ARRAY[genie_query('{20}'::int[])], ARRAY[genie_query('{21}'::int[])]]),
	(14, ARRAY['{0:int:[30,32)}'::genie_query, '{0:int:[40,)}@2'::genie_query]), (15, ARRAY[genie_query('{1,10}'::int[], 9), genie_query('{20}'::int[])]);

-- what a plan gives for each: rows in its order
CREATE FUNCTION rows_of(plan text, more text, queries genie_query[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
BEGIN
	PERFORM set_config('enable_seqscan', (plan = 'seqscan')::text, true), set_config('enable_indexscan', (plan = 'indexscan')::text, true),
		set_config('enable_bitmapscan', (plan = 'bitmapscan')::text, true), set_config('enable_sort', (plan <> 'indexscan')::text, true);
	IF plan = 'seqscan' THEN	-- the index orders ties by ctid
		more = regexp_replace(more, $r$(<&> '[^']*')$r$, '\1, ctid');
	END IF;
	EXECUTE format('SELECT string_agg(id::text, '' '') FROM (SELECT id FROM t WHERE x @& ANY (%L::genie_query[]) %s) s', queries, more) INTO r;
	RETURN r;
END $$;
CREATE FUNCTION differences(OUT n bigint, OUT matching bigint, OUT different text) LANGUAGE sql AS $$
	SELECT count(*), sum(cardinality(string_to_array(expected, ' '))), string_agg(format('%s by %s %s', i, plan, more), '; ' ORDER BY i, plan, more) FILTER (WHERE rows_of(plan, more, q) IS DISTINCT FROM expected)
	FROM q, (VALUES ('bitmapscan', 'ORDER BY id'), ('indexscan', ''), ('indexscan', 'ORDER BY x <&> ''{1,20,101}'''), ('indexscan', 'AND x @& ''{0:int:1}'''), ('indexscan', 'AND x @& ANY (ARRAY[''{0:int:1}''::genie_query, ''{0:int:12}''])'),
			('bitmapscan', 'AND x @& ANY (ARRAY[''{0:int:1}''::genie_query, ''{0:int:12}'']) ORDER BY id'), ('indexscan', 'AND x @& ''{0:int:[0,25)}@2'' ORDER BY x <&> ''{101,1}'' LIMIT 7')) v (plan, more),
		rows_of('seqscan', more, q) expected $$;
SELECT * FROM differences();
VACUUM t;
SELECT * FROM differences();
SET genie.worker = off;
SELECT * FROM differences();
RESET genie.worker;

SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE x @& ANY (ARRAY['{0:int:20}'::genie_query, '{0:int:21}@1']) ORDER BY x <&> '{1}' LIMIT 3;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE x @& ANY (ARRAY['{0:int:20}'::genie_query, '{0:int:21}@1']);
SELECT count(*), count(DISTINCT id) FROM t WHERE x @& ANY (ARRAY['{0:int:20}'::genie_query, '{0:int:20}', '{0:int:[19,22]}']);
-- arrays that are known when the scan begins, or begins again
PREPARE p(genie_query[]) AS SELECT count(*) FROM t WHERE x @& ANY ($1);
SET plan_cache_mode = force_generic_plan;
EXECUTE p(ARRAY[genie_query('{20}'::int[]), genie_query('{21}'::int[])]);
EXECUTE p(NULL);
EXECUTE p('{}');
EXPLAIN (COSTS OFF) EXECUTE p(NULL);
RESET plan_cache_mode;
SELECT i, n FROM q, LATERAL (SELECT count(*) AS n FROM t WHERE x @& ANY (q.q)) s ORDER BY i;
-- a cursor that goes on after a change
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t WHERE x @& ANY (ARRAY[genie_query('{20,101}'::int[], 2), genie_query('{21,102}'::int[], 2)]) ORDER BY x <&> '{1}';
FETCH 2 FROM c;
DELETE FROM t WHERE id = 1051;
SELECT genie_merge('t_x');
FETCH ALL FROM c;
ROLLBACK;

-- a conflict of types is one in any of them
SELECT count(*) FROM t WHERE x @& ANY (ARRAY['{0:int:20}'::genie_query, '{0:text:a}']);
-- boxes of several dimensions
CREATE TABLE places (id int, lat float8, lon float8);
INSERT INTO places SELECT g, g % 180 - 90, g * 7 % 360 - 180 FROM generate_series(1, 5000) g;
CREATE INDEX places_box ON places USING genie (genie_tuple(lat, lon));
SET enable_seqscan = on;
ANALYZE places;
EXPLAIN (COSTS OFF) SELECT count(*) FROM places WHERE genie_tuple(lat, lon) @& ANY (ARRAY['{1:float:[10,30],2:float:[0,90]}@2'::genie_query, '{1:float:[-50,-20],2:float:[100,]}@2']);
SELECT count(*), sum((lat BETWEEN 10 AND 30 AND lon BETWEEN 0 AND 90 OR lat BETWEEN -50 AND -20 AND lon >= 100)::int)
	FROM places WHERE genie_tuple(lat, lon) @& ANY (ARRAY['{1:float:[10,30],2:float:[0,90]}@2'::genie_query, '{1:float:[-50,-20],2:float:[100,]}@2']);
-- other classes whose queries have thresholds
CREATE TABLE words (id int, word text);
INSERT INTO words SELECT g, translate(to_char(g * 7919 % 100000, 'FM99999'), '0123456789', 'aeioubcdfg') FROM generate_series(1, 2000) g;
CREATE INDEX words_word ON words USING genie (word genie_edit_ops);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM words WHERE word @& ANY (ARRAY[genie_edit_query('cafe', 1), genie_edit_query('bagui', 2)]);
SELECT count(*), count(*) FILTER (WHERE word <~> 'cafe' <= 1 OR word <~> 'bagui' <= 2) = (SELECT count(*) FROM words WHERE word <~> 'cafe' <= 1 OR word <~> 'bagui' <= 2) AS all_of_them
	FROM words WHERE word @& ANY (ARRAY[genie_edit_query('cafe', 1), genie_edit_query('bagui', 2)]);
SELECT id, word FROM words WHERE word @& ANY (ARRAY[genie_edit_query('cafe', 1), genie_edit_query('bagui', 1)]) ORDER BY word <~> 'cafeo', id LIMIT 3;
RESET enable_bitmapscan;
-- balls of an exact class: not by the index
CREATE TABLE v (x real[]);
INSERT INTO v SELECT ARRAY[g % 10, g / 10] FROM generate_series(0, 99) g;
CREATE INDEX v_x ON v USING genie (x genie_l2_exact_ops);
RESET enable_seqscan;
EXPLAIN (COSTS OFF) SELECT count(*) FROM v WHERE x @& ANY (ARRAY[ROW('{1,1}', 1)::l2_exact_ball, ROW('{8,8}', 2)::l2_exact_ball]);
SELECT count(*) FROM v WHERE x @& ANY (ARRAY[ROW('{1,1}', 1)::l2_exact_ball, ROW('{8,8}', 2)::l2_exact_ball]);
DROP SCHEMA index_any CASCADE;
