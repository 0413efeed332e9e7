-- an index scan as the executor uses it: cursors, rescans, several scans at once, subplans, generic plans
CREATE SCHEMA index_scan;
SET search_path = index_scan, public;
SET client_min_messages = warning;
CREATE TABLE t (id int PRIMARY KEY, tags int[]) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, ARRAY[i % 2, 10 + i % 3, 20 + i % 5, 30 + i % 7, 100 + i % 101] FROM generate_series(1, 3000) i;
INSERT INTO t VALUES (3001, NULL), (3002, '{}');
CREATE INDEX t_tags ON t USING genie (tags);
INSERT INTO t SELECT i + 3002, ARRAY[i % 2, 10 + i % 3, 20 + i % 5, 30 + i % 7, 100 + i % 101] FROM generate_series(1, 200) i;
SET enable_seqscan = off;
SET enable_sort = off;
-- the order, by definition
CREATE VIEW wanted AS SELECT id, row_number() OVER (ORDER BY genie_match_count(tags, ARRAY[1,11,23,34,142]) DESC NULLS LAST, ctid) AS n FROM t;

-- a cursor, fetched in pieces, while rows come and go: it sees its snapshot
BEGIN;
DECLARE c CURSOR FOR SELECT id, tags <&> '{1,11,23,34,142}' AS o FROM t ORDER BY tags <&> '{1,11,23,34,142}';
FETCH 3 FROM c;
DELETE FROM t WHERE id IN (SELECT id FROM wanted WHERE n BETWEEN 4 AND 6);
INSERT INTO t VALUES (9001, '{1,11,23,34,142}');
FETCH 3 FROM c;
MOVE FORWARD 1000 IN c;
FETCH 2 FROM c;
MOVE FORWARD ALL IN c;
FETCH 1 FROM c;
FETCH BACKWARD 1 FROM c;
ROLLBACK;

-- SCROLL is materialised; WITH HOLD outlives its transaction, and genie_merge
BEGIN;
EXPLAIN (COSTS OFF) DECLARE c SCROLL CURSOR FOR SELECT id FROM t ORDER BY tags <&> '{1,11,23,34,142}';
DECLARE c SCROLL CURSOR FOR SELECT id FROM t ORDER BY tags <&> '{1,11,23,34,142}';
FETCH 5 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH LAST FROM c;
FETCH ABSOLUTE 2 FROM c;
DECLARE h CURSOR WITH HOLD FOR SELECT id FROM t ORDER BY tags <&> '{1,11,23,34,142}' LIMIT 40;
FETCH 2 FROM h;
COMMIT;
FETCH 2 FROM h;
CLOSE h;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t ORDER BY tags <&> '{1,11,23,34,142}';
FETCH 2 FROM c;
SELECT genie_merge('t_tags');
FETCH 2 FROM c;
DECLARE d CURSOR FOR SELECT id FROM t ORDER BY tags <&> '{1,11,23,34,142}';
FETCH 4 FROM d;
COMMIT;
SELECT array_agg(id ORDER BY n) FROM wanted WHERE n <= 5;

-- LATERAL: a rescan with another query each time, also NULL
CREATE TABLE q (n int, query int[]);
INSERT INTO q VALUES (1, '{1,11}'), (2, '{23,34,142}'), (3, NULL), (4, '{}'), (5, '{100,101,102}'), (6, '{1,11}');
EXPLAIN (COSTS OFF) SELECT n, id FROM q, LATERAL (SELECT id FROM t ORDER BY tags <&> query LIMIT 3) s;
SELECT n, query, array_agg(id) AS best FROM q, LATERAL (SELECT id FROM t ORDER BY tags <&> query LIMIT 3) s GROUP BY n, query ORDER BY n;
SELECT n, (SELECT array_agg(id) FROM (SELECT id FROM t ORDER BY tags <&> query LIMIT 3) s)
	= (SELECT array_agg(id) FROM (SELECT id FROM t ORDER BY -genie_match_count(tags, query), ctid LIMIT 3) s) AS same FROM q ORDER BY n;
SELECT n, array_agg(id) FROM q, LATERAL (SELECT id FROM t ORDER BY tags <&> query LIMIT n OFFSET 70) s GROUP BY n ORDER BY n;

-- a scan that is started again without a new query (its parameter is not the index's), and one that is never run
SELECT x, (SELECT id FROM t WHERE id % 3 = x ORDER BY tags <&> '{1,11}' LIMIT 1) FROM generate_series(0, 3) x;
SELECT id FROM t WHERE false ORDER BY tags <&> '{1}' LIMIT 1;
SELECT count(*) FROM q WHERE n > 100 AND n = (SELECT id FROM t ORDER BY tags <&> query LIMIT 1);

-- two scans of one index in one plan, interleaved
EXPLAIN (COSTS OFF) (SELECT id FROM t ORDER BY tags <&> '{1,11}' LIMIT 2) UNION ALL (SELECT id FROM t ORDER BY tags <&> '{23,34}' LIMIT 2);
(SELECT id FROM t ORDER BY tags <&> '{1,11}' LIMIT 2) UNION ALL (SELECT id FROM t ORDER BY tags <&> '{23,34}' LIMIT 2);
BEGIN;
DECLARE a CURSOR FOR SELECT id, tags <&> '{1,11}' AS o FROM t ORDER BY tags <&> '{1,11}';
DECLARE b CURSOR FOR SELECT id, tags <&> '{0,12}' AS o FROM t ORDER BY tags <&> '{0,12}';
FETCH 2 FROM a; FETCH 2 FROM b; FETCH 2 FROM a; FETCH 2 FROM b;
COMMIT;
SELECT a.id, b.id FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM t ORDER BY tags <&> '{1,11}' LIMIT 3) s) a
	JOIN (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM t ORDER BY tags <&> '{0,12}' LIMIT 3) s) b USING (n) ORDER BY n;
SELECT count(*) FROM (SELECT a.id, (SELECT b.id FROM t b WHERE b.id <> a.id ORDER BY b.tags <&> a.tags LIMIT 1) AS neighbour FROM t a WHERE a.id BETWEEN 100 AND 200) s
	WHERE genie_match_count((SELECT tags FROM t WHERE id = s.id), (SELECT tags FROM t WHERE id = neighbour))
	<> (SELECT max(genie_match_count(x.tags, y.tags)) FROM t x, t y WHERE x.id = s.id AND y.id <> x.id);

-- UNION, EXISTS, IN, aggregates and windows over it
SELECT id FROM t WHERE id < 10 UNION (SELECT id FROM t ORDER BY tags <&> '{1,11,23}' LIMIT 2) ORDER BY 1 LIMIT 3;
SELECT count(*) FROM q WHERE EXISTS (SELECT FROM t WHERE tags @& genie_query(q.query, 3));
SELECT count(*) FROM t WHERE id IN (SELECT id FROM t ORDER BY tags <&> '{1,11}' LIMIT 10);
SELECT min(o), max(o), count(*) FROM (SELECT tags <&> '{1,11}' AS o FROM t ORDER BY tags <&> '{1,11}' LIMIT 600) s;
SELECT id, rank() OVER (ORDER BY tags <&> '{1,11,23,34,142}') FROM t LIMIT 4;
SELECT DISTINCT ON (tags <&> '{1,11,23,34,142}') tags <&> '{1,11,23,34,142}' AS o, id FROM t ORDER BY tags <&> '{1,11,23,34,142}';

-- generic plans: LIMIT $1 and the query $2
SET plan_cache_mode = force_generic_plan;
PREPARE best(int, int[]) AS SELECT id, tags <&> $2 AS o FROM t ORDER BY tags <&> $2 LIMIT $1;
EXPLAIN (COSTS OFF) EXECUTE best(3, '{1,11}');
EXECUTE best(3, '{1,11}');
EXECUTE best(2, '{23,34,142}');
EXECUTE best(0, '{1}');
EXECUTE best(2, NULL);
SELECT count(*) FROM t;
PREPARE matching(genie_query, int[]) AS SELECT count(*), min(id) FROM (SELECT id FROM t WHERE tags @& $1 ORDER BY tags <&> $2 LIMIT 50) s;
EXECUTE matching(genie_query('{1,11}'::int[], 2), '{23}');
EXECUTE matching(NULL, '{23}');
CREATE FUNCTION best_ids(query int[], k int) RETURNS SETOF int LANGUAGE plpgsql AS
	$$ BEGIN RETURN QUERY SELECT id FROM t ORDER BY tags <&> query LIMIT k; END $$;
SELECT array(SELECT best_ids('{1,11}', 3)), array(SELECT best_ids('{23,34}', 3));
CREATE INDEX another ON t USING genie (tags) WHERE id > 0;
DROP INDEX t_tags;
EXECUTE best(1, '{1,11}');
RESET plan_cache_mode;
DROP INDEX another;
CREATE INDEX t_tags ON t USING genie (tags);

-- FOR UPDATE, and a row that another command of the same transaction changed
BEGIN;
SELECT id FROM t ORDER BY tags <&> '{1,11,23,34,142}' LIMIT 1 FOR UPDATE;
UPDATE t SET tags = '{}' WHERE id = (SELECT id FROM t ORDER BY tags <&> '{1,11,23,34,142}' LIMIT 1);
SELECT id FROM t ORDER BY tags <&> '{1,11,23,34,142}' LIMIT 2;
ROLLBACK;
SELECT id FROM t ORDER BY tags <&> '{1,11,23,34,142}' LIMIT 2;

-- parallel query around it: the index scan below a parallel plan gives the same rows
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
SET enable_seqscan = on; SET enable_sort = on;
SELECT n, array_agg(id) AS best FROM q, LATERAL (SELECT id FROM t ORDER BY tags <&> query LIMIT 3) s GROUP BY n ORDER BY n;
SELECT set_config(name, 'on', false) AS forced FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY tags <&> '{1,11,23,34,142}' LIMIT 3;
SELECT id FROM t ORDER BY tags <&> '{1,11,23,34,142}' LIMIT 3;
SELECT count(*) FROM t WHERE tags @& genie_query('{1,11}'::int[], 2);
SELECT set_config(name, 'off', false) AS forced FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query'); RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;

-- serializable transactions, and statistics of use
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL enable_seqscan = off;
SELECT id FROM t ORDER BY tags <&> '{1,11,23,34,142}' LIMIT 1;
COMMIT;
SELECT pg_stat_force_next_flush();
SELECT idx_scan > 0 AS scans, idx_tup_read > 0 AS tuples FROM pg_stat_user_indexes WHERE indexrelid = 't_tags'::regclass;

RESET enable_seqscan; RESET enable_sort; RESET search_path;
DEALLOCATE ALL;
DROP SCHEMA index_scan CASCADE;
