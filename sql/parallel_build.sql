-- CREATE INDEX with workers: the same index whatever their number
CREATE SCHEMA parallel_build;
SET search_path = parallel_build, public;
SET client_min_messages = warning;
SET min_parallel_table_scan_size = 0;
SET max_parallel_maintenance_workers = 4;

-- all decompositions, NULLs, empty arrays, HOT chains, dead rows
CREATE TABLE t (id int, a int[], w text[], o genie_object, n int, s smallint[]) WITH (autovacuum_enabled = off, fillfactor = 80);
INSERT INTO t SELECT i, CASE WHEN i % 100 <> 0 THEN ARRAY(SELECT (i * 7919::bigint + j * 104729) % (10 + j * j * 50) FROM generate_series(1, 3 + i % 9) j) END,
	ARRAY['word ' || i % 1000, 'rare ' || i, 'common', NULL], genie_tuple(i % 17, 'x' || i % 23, i % 2 = 0, i::numeric / 8), 0,
	CASE i % 3 WHEN 0 THEN '{}' ELSE ARRAY[i % 7, i % 7, 3] END
	FROM generate_series(1, 20000) i;
DELETE FROM t WHERE id % 10 = 1;
UPDATE t SET n = n + 1 WHERE id % 5 = 2;
UPDATE t SET n = n + 1 WHERE id % 15 = 2;

-- contents and answers of each index, as one line
CREATE FUNCTION answers(index regclass, OUT violations bigint, OUT segments int, OUT objects bigint, OUT keywords bigint, OUT postings bigint, OUT bytes text, OUT rows text)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
	what text := pg_get_indexdef(index, 1, false);
	query text;
	row record;
	plan text := '';
BEGIN
	query := CASE what WHEN 'a' THEN '''{3,77,500}''::int[]' WHEN 'w' THEN '''{word 3,rare 77,common}''::text[]' WHEN 's' THEN '''{3,5}''::smallint[]'
		WHEN 'o' THEN 'genie_tuple_query(int4range(3, 5), ''x7'', true, numrange(10, 500))'
		ELSE 'genie_tuple_query(int4range(3, 5), ''common'')' END;
	SELECT count(*) FROM genie_check(index) INTO violations;
	SELECT i.segments, i.objects, i.keywords, i.postings, concat_ws(' ', object_bytes, dictionary_bytes, posting_bytes, size_bytes, tombstone_bytes, free_bytes)
		FROM genie_index_info(index) i INTO segments, objects, keywords, postings, bytes;
	query := format('SELECT id, (%1$s) <&> %2$s AS d FROM t %3$s ORDER BY (%1$s) <&> %2$s LIMIT 5000', what, query,
		(SELECT 'WHERE ' || pg_get_expr(indpred, indrelid) FROM pg_index WHERE indexrelid = index));
	FOR row IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || row."QUERY PLAN";
	END LOOP;
	EXECUTE format('SELECT concat(count(*), '' '', count(d), '' '', md5(string_agg(id || '':'' || coalesce(d::text, ''-''), '',''))) FROM (%s) s', query) INTO rows;
	rows := rows || CASE WHEN plan LIKE '%Index Scan using ' || (SELECT relname FROM pg_class WHERE oid = index) || '%' THEN '' ELSE plan END;
END $$;

CREATE TABLE results (index text, workers int, answer text);
CREATE FUNCTION build(definition text, least_memory bool DEFAULT false) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR workers IN 0 .. 4 LOOP
		EXECUTE format('ALTER TABLE t SET (parallel_workers = %s)', workers);
		PERFORM set_config('maintenance_work_mem', CASE WHEN least_memory THEN '1MB' ELSE '64MB' END, true);
		EXECUTE 'CREATE INDEX i ON t USING genie ' || definition;
		INSERT INTO results SELECT definition || CASE WHEN least_memory THEN ' with spills' ELSE '' END, workers, answers('i')::text;
		DROP INDEX i;
	END LOOP;
END $$;
SELECT build('(a)'), build('(w)'), build('(o)'), build('(s)');
SELECT build('(w)', true), build('(o)', true);
-- partial and expression indexes
SELECT build('(a) WHERE id % 3 = 1'), build('(genie_tuple(n + 3, w[3]))'), build('(genie_tuple(n + 3, w[3])) WHERE a IS NOT NULL'), build('(a) WHERE id < 0');
SELECT index, count(*), count(DISTINCT answer), min(answer) LIKE '(0,1,%' AS sound FROM results GROUP BY index ORDER BY index COLLATE "C";
SELECT index, split_part(answer, ',', 3) AS objects, split_part(answer, ',', 4) AS keywords, split_part(answer, ',', 5) AS postings FROM results WHERE workers = 4 ORDER BY index COLLATE "C";

-- a table's own parameter wins over its size, and so does the setting
CREATE FUNCTION in_worker() RETURNS bool LANGUAGE sql STABLE AS $$ SELECT backend_type = 'parallel worker' FROM pg_stat_activity WHERE pid = pg_backend_pid() $$;
CREATE FUNCTION fails_in_worker(a int[]) RETURNS int[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
	IF in_worker() THEN
		RAISE 'this row is too difficult for a worker';
	END IF;
	PERFORM pg_sleep(0.002);		-- so that workers get some
	RETURN a;
END $$;
\set VERBOSITY terse
ALTER TABLE t SET (parallel_workers = 2);
CREATE INDEX failed ON t USING genie (fails_in_worker(a));
CREATE INDEX failed ON t USING genie (a) WHERE fails_in_worker(a) IS NOT NULL;
SET max_parallel_maintenance_workers = 0;
CREATE INDEX alone ON t USING genie (fails_in_worker(a)) WHERE id < 50;
SET max_parallel_maintenance_workers = 4;
ALTER TABLE t SET (parallel_workers = 0);
DROP INDEX alone;
CREATE INDEX alone ON t USING genie (fails_in_worker(a)) WHERE id < 50;
ALTER TABLE t SET (parallel_workers = 2);
-- one process builds an index with a part that is not parallel safe: an expression, a condition, a decomposition
DROP INDEX alone;
ALTER FUNCTION fails_in_worker PARALLEL RESTRICTED;
CREATE INDEX alone ON t USING genie (fails_in_worker(a)) WHERE id < 50;
DROP INDEX alone;
CREATE INDEX alone ON t USING genie (a) WHERE id < 50 AND fails_in_worker(a) IS NOT NULL;
DROP INDEX alone;
ALTER FUNCTION fails_in_worker PARALLEL SAFE;
BEGIN;
ALTER FUNCTION genie_array_decompose PARALLEL RESTRICTED;
CREATE INDEX alone ON t USING genie (fails_in_worker(a)) WHERE id < 50;
ROLLBACK;
SELECT count(*) FROM pg_class WHERE relname IN ('failed', 'alone');
-- more keywords than an object can have: the process that reads the row raises the error
INSERT INTO t (id, a) SELECT 0, array_agg(i) FROM generate_series(1, 65536) i;
CREATE INDEX failed ON t USING genie (a);
DELETE FROM t WHERE id = 0;

-- rebuilt, concurrently built, by other ways to the same index
CREATE INDEX t_a ON t USING genie (a);
CREATE INDEX CONCURRENTLY t_w ON t USING genie (w);
CREATE INDEX CONCURRENTLY t_p ON t USING genie (a) WHERE id % 3 = 1;
INSERT INTO results SELECT '(a)', 10, answers('t_a')::text;
INSERT INTO results SELECT '(w)', 11, answers('t_w')::text;
INSERT INTO results SELECT '(a) WHERE id % 3 = 1', 12, answers('t_p')::text;
REINDEX TABLE t;
INSERT INTO results SELECT '(a)', 13, answers('t_a')::text;
REINDEX INDEX CONCURRENTLY t_a;
INSERT INTO results SELECT '(a)', 14, answers('t_a')::text;
SELECT index, count(DISTINCT answer) FROM results WHERE index IN (SELECT index FROM results WHERE workers > 4) GROUP BY index ORDER BY index COLLATE "C";
BEGIN;
TRUNCATE t;
ROLLBACK;
DROP INDEX t_a, t_w, t_p;

-- unlogged, temporary and partitioned tables; in a transaction that made the table
CREATE UNLOGGED TABLE u WITH (parallel_workers = 2) AS SELECT * FROM t;
CREATE INDEX u_a ON u USING genie (a);
SELECT * FROM genie_check('u_a');
CREATE TEMPORARY TABLE m WITH (parallel_workers = 2) AS SELECT * FROM t;
CREATE INDEX m_a ON m USING genie (a);
SELECT * FROM genie_check('m_a');
CREATE TABLE p (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (MINVALUE) TO (7000) WITH (parallel_workers = 2);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (7000) TO (MAXVALUE) WITH (parallel_workers = 3);
INSERT INTO p SELECT * FROM t;
CREATE INDEX p_a ON p USING genie (a);
SELECT i, c.* FROM unnest('{p1_a_idx,p2_a_idx}'::regclass[]) i, genie_check(i) c;
BEGIN;
CREATE TABLE fresh WITH (parallel_workers = 3) AS SELECT * FROM t;
CREATE INDEX fresh_a ON fresh USING genie (a);
COMMIT;
SELECT * FROM genie_check('fresh_a');
SELECT i, objects, keywords, postings FROM unnest('{u_a,m_a,p1_a_idx,p2_a_idx,fresh_a}'::regclass[]) i, genie_index_info(i);

-- nothing to share: no rows, fewer blocks than workers
CREATE TABLE nothing (a int[]) WITH (parallel_workers = 4);
CREATE INDEX nothing_a ON nothing USING genie (a);
INSERT INTO nothing VALUES (NULL), ('{}'), ('{1}');
REINDEX INDEX nothing_a;
SELECT segments, objects, postings FROM genie_index_info('nothing_a');
DELETE FROM nothing;
REINDEX INDEX nothing_a;
SELECT segments, objects, postings FROM genie_index_info('nothing_a');
SELECT * FROM genie_check('nothing_a');

RESET search_path; RESET min_parallel_table_scan_size; RESET max_parallel_maintenance_workers;
DROP SCHEMA parallel_build CASCADE;
