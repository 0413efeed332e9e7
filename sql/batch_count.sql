-- genie_count(), genie_counts(), genie_filter(): what count(*) and a filter return, from the index
CREATE SCHEMA batch_count;
SET search_path = batch_count, public;
SET client_min_messages = warning;
SET jit = off;

\df genie_count*
\df genie_filter

-- NULL and empty rows, rows that no query matches, several segments, pending rows, dead rows.
CREATE TABLE t (id int, x int[], note int);
INSERT INTO t SELECT g, CASE WHEN g % 50 = 0 THEN NULL WHEN g % 70 = 1 THEN '{}' ELSE ARRAY[g % 3, 10 + g % 4, 20 + g % 50, 100 + g % 7] END, 0
	FROM generate_series(1, 3000) g;
CREATE INDEX t_x ON t USING genie (x) WITH (pending_limit = 1024);
INSERT INTO t SELECT g, ARRAY[g % 3, 10 + g % 5, 3000 + g], 0 FROM generate_series(3001, 3100) g;
SELECT genie_merge('t_x');
INSERT INTO t SELECT g, CASE WHEN g % 9 > 0 THEN ARRAY[g % 3, 10 + g % 5, g] END, 0 FROM generate_series(3101, 3200) g;
DELETE FROM t WHERE id % 5 = 0;

CREATE TABLE q (i int, q genie_query);
INSERT INTO q SELECT i, genie_query(ARRAY[i % 3, 10 + i % 4, 20 + i % 50, 3100 + i], 1 + i % 3) FROM generate_series(1, 40) i;
INSERT INTO q VALUES (41, '{}@0'), (42, '{}@3'), (43, genie_query('{-7}'::int[])), (44, genie_query('{1,2}'::int[], 2)),
	(45, '{0:int:[10,25)}@1'), (46, '{0:int:(,12),0:int:[103,)}@1'), (47, genie_query('{3150}'::int[])), (48, genie_query('{3150}'::int[])),
	(49, genie_query('{1,2,10}'::int[], 0)), (50, genie_query('{1,10}'::int[], 3)), (51, genie_query('{1,10}'::int[], 2000000000)),
	(52, genie_jaccard_query('{1,11,21,101}'::int[], 0.3)), (53, genie_jaccard_query('{2,10}'::int[], 0.5));

-- For how many queries do the function, in one call and one by one, and a sequential scan differ?  And how many rows match in all?
CREATE FUNCTION differences(OUT n bigint, OUT matching bigint, OUT different bigint) LANGUAGE plpgsql AS $$
DECLARE
	c record;
	expected bigint;
BEGIN
	n := 0; matching := 0; different := 0;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	FOR c IN SELECT q.q, counts.* FROM q JOIN genie_counts('t_x', (SELECT array_agg(q ORDER BY i) FROM q)) counts ON query = i LOOP
		SELECT count(*) INTO expected FROM t WHERE x @& c.q;
		n := n + 1;
		matching := matching + expected;
		different := different + (expected IS DISTINCT FROM c.lower OR expected IS DISTINCT FROM c.upper
			OR expected IS DISTINCT FROM c.estimate OR expected IS DISTINCT FROM (SELECT lower FROM genie_count('t_x', c.q))
			OR expected IS DISTINCT FROM (SELECT count(*) FROM genie_filter('t_x', ARRAY[c.q])))::int;
	END LOOP;
	-- rows of all queries in one call, each once, and found by its TID
	different := different + (SELECT count(*) FROM (SELECT i, t.ctid FROM q JOIN t ON t.x @& q.q) a FULL JOIN genie_filter('t_x', (SELECT array_agg(q ORDER BY i) FROM q)) b
		ON a.i = b.query AND a.ctid = b.tid WHERE a.i IS NULL OR b.query IS NULL);
END $$;

-- What is not exact must hold the truth between its bounds, and its estimate, too.
CREATE FUNCTION outside(OUT n bigint, OUT loose bigint, OUT wrong bigint) LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE b.lower < b.upper),
		count(*) FILTER (WHERE NOT (b.lower <= a.lower AND a.lower <= b.upper AND b.lower <= b.estimate AND b.estimate <= b.upper))
	FROM genie_counts('t_x', (SELECT array_agg(q ORDER BY i) FROM q)) a
		JOIN genie_counts('t_x', (SELECT array_agg(q ORDER BY i) FROM q), false) b USING (query) $$;

SELECT * FROM differences();
SELECT n, loose > 20 AS loose, wrong FROM outside();
VACUUM ANALYZE t;
SELECT * FROM differences();
SELECT * FROM outside();
-- one page is not all-visible any more
UPDATE t SET note = 1 WHERE id IN (7, 8);
SELECT * FROM differences();
SELECT n, loose > 0 AS loose, wrong FROM outside();
UPDATE t SET x = x || 7 WHERE id % 40 = 3;
SELECT * FROM differences();
-- by this session
SET genie.worker = off;
SELECT * FROM differences();
SET work_mem = 64;
SELECT * FROM differences();
RESET work_mem;
RESET genie.worker;
-- a transaction sees its own changes, but a statement not those that it makes
BEGIN;
INSERT INTO t SELECT 5000 + g, ARRAY[1, 11, 21], 0 FROM generate_series(1, 50) g;
DELETE FROM t WHERE id < 300;
SELECT * FROM differences();
WITH more AS (INSERT INTO t VALUES (6000, '{77777}', 0) RETURNING ctid)
	SELECT (SELECT count(*) FROM more), lower FROM genie_count('t_x', genie_query('{77777}'::int[]));
SELECT lower FROM genie_count('t_x', genie_query('{77777}'::int[]));
SAVEPOINT s;
DELETE FROM t;
SELECT lower, upper, estimate FROM genie_count('t_x', '{}@0');
ROLLBACK TO s;
SELECT * FROM differences();
ROLLBACK;
SELECT * FROM differences();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM differences();
SELECT count(*) > 0 AS index_locked FROM pg_locks WHERE mode = 'SIReadLock' AND relation = 't_x'::regclass AND locktype = 'relation';
COMMIT;
SELECT genie_merge('t_x');
SELECT * FROM differences();
-- many segments whose tiles take turns
CREATE TABLE tiles (x int[]) WITH (fillfactor = 50);
INSERT INTO tiles SELECT ARRAY[g % 7, 100 + g % 11] FROM generate_series(0, 700000) g;
CREATE INDEX tiles_x ON tiles USING genie (x);
VACUUM tiles;
SELECT query, lower, upper, estimate FROM genie_counts('tiles_x', ARRAY[genie_query('{3}'::int[]), genie_query('{3,104}'::int[], 2)]);
SELECT rows_visited, candidates FROM genie_last_scan() WHERE kind = 'genie_counts';
UPDATE tiles SET x = x || 1000 WHERE x @> '{3,104}' AND (ctid::text::point)[0]::int % 3000 < 40;
SELECT count(*), count(*) FILTER (WHERE x @> '{3,104}'), count(*) FILTER (WHERE x @> '{1000}') FROM tiles WHERE x @> '{3}';
SELECT query, lower, upper, estimate FROM genie_counts('tiles_x', ARRAY[genie_query('{3}'::int[]), genie_query('{3,104}'::int[], 2), genie_query('{1000}'::int[])]);
SELECT rows_visited > 0 AND rows_visited < 20000 AS few_visited FROM genie_last_scan() WHERE kind = 'genie_counts';
VACUUM tiles;
SELECT query, lower, upper, estimate FROM genie_counts('tiles_x', ARRAY[genie_query('{3}'::int[]), genie_query('{3,104}'::int[], 2), genie_query('{1000}'::int[])]);
DROP TABLE tiles;

-- conjunctions over the dimensions of tuples
CREATE TABLE people (age int, job text, pay numeric);
INSERT INTO people SELECT g % 90, 'job ' || g % 13, CASE WHEN g % 17 > 0 THEN g % 1000 END FROM generate_series(1, 5000) g;
CREATE INDEX people_tuple ON people USING genie (genie_tuple(age, job, pay));
VACUUM people;
SELECT lower, upper, estimate,
	(SELECT count(*) FROM people WHERE age BETWEEN 20 AND 40 AND job IN ('job 1', 'job 7') AND pay >= 300) AS expected
FROM genie_count('people_tuple', genie_tuple_query(int4range(20, 40, '[]'), '{job 1,job 7}'::text[], numrange(300, NULL)));

-- a partial index counts the rows that it has; NULL arguments, and no queries
CREATE INDEX t_part ON t USING genie (x) WHERE id < 100;
SELECT lower = (SELECT count(*) FROM t WHERE x IS NOT NULL AND id < 100) AS same FROM genie_count('t_part', '{}@0');
SELECT * FROM genie_count(NULL, '{}@0');
SELECT * FROM genie_counts('t_x', '{}');
SELECT * FROM genie_filter('t_x', '{}');
-- more queries than a piece has: those that are the same have the same rows
SELECT n_queries, n_rows > 0 AS found, n_answers FROM (SELECT count(*) AS n_queries, sum(cardinality(tids)) AS n_rows, count(DISTINCT ((query - 1) % 53, tids)) AS n_answers
	FROM (SELECT query, array_agg(tid ORDER BY tid) FILTER (WHERE tid IS NOT NULL) AS tids FROM generate_series(1, 53 * 80) query
		LEFT JOIN genie_filter('t_x', ARRAY(SELECT q FROM generate_series(1, 80) g, q ORDER BY g, i)) f USING (query) GROUP BY query) s) t;
SELECT query, x FROM genie_filter('people_tuple', ARRAY[genie_tuple_query(3::int, 'job 1'::text, 183::numeric)]) f JOIN (SELECT ctid, genie_tuple(age, job, pay) AS x FROM people) p ON p.ctid = f.tid;

-- errors
SELECT * FROM genie_counts('t_x', ARRAY['{}'::genie_query, NULL]);
SELECT * FROM genie_counts('t_x', ARRAY[ARRAY['{}'::genie_query]]);
SELECT * FROM genie_count('t_x', '{0:text:a}');
SELECT * FROM genie_count('t', '{}');
SELECT * FROM genie_filter('t', '{}');
SELECT * FROM genie_filter('t_x', ARRAY['{0:text:a}'::genie_query]);
SELECT * FROM genie_filter('t_x', ARRAY['{}'::genie_query, NULL]);
CREATE TABLE v (x real[]);
CREATE INDEX v_x ON v USING genie (x genie_l2_ops);
SELECT * FROM genie_count('v_x', '{}');
CREATE ROLE batch_count_reader;
GRANT USAGE ON SCHEMA batch_count TO batch_count_reader;
SET ROLE batch_count_reader;
SELECT * FROM genie_count('t_x', '{}');
RESET ROLE;
GRANT SELECT ON t TO batch_count_reader;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SET ROLE batch_count_reader;
SELECT * FROM genie_count('t_x', '{}');
RESET ROLE;
DROP SCHEMA batch_count CASCADE;
DROP ROLE batch_count_reader;
