-- every form of CREATE INDEX and what DDL does to the table: the index answers as the sequential scan does
CREATE SCHEMA index_ddl;
SET search_path = index_ddl, public;
SET client_min_messages = warning;

-- Index scan against sequential scan on table t, for its column a; the plan must use the index.
CREATE FUNCTION agrees(relation text DEFAULT 't', expression text DEFAULT 'a', condition text DEFAULT 'true') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT array_agg(id) FROM (SELECT id FROM %s WHERE %s ORDER BY %s <&> ''{1,3,12}'' LIMIT 200) s', relation, condition, expression);
	plan text;
	by_index int[];
	by_table int[];
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	EXECUTE query INTO by_index;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true), set_config('enable_indexscan', 'off', true);
	EXECUTE replace(query, ' LIMIT', ', tableoid, ctid LIMIT') INTO by_table;
	PERFORM set_config('enable_indexscan', 'on', true);
	RETURN CASE WHEN plan !~ 'Index Scan' THEN 'no index: ' || plan WHEN by_index IS DISTINCT FROM by_table THEN format('%s, not %s', by_index, by_table)
		ELSE coalesce(cardinality(by_index), 0) || ' rows agree' END;
END $$;
CREATE FUNCTION rows(a int, b int) RETURNS TABLE (id int, kind int, a int[]) LANGUAGE sql AS
	$$ SELECT i, i % 4, CASE WHEN i % 20 <> 0 THEN ARRAY[i % 5, 10 + i % 7, i] END FROM generate_series(a, b) i $$;

-- partial
CREATE TABLE t (id int, kind int, a int[]);
INSERT INTO t SELECT * FROM rows(1, 500);
CREATE INDEX t_partial ON t USING genie (a) WHERE kind = 1;
INSERT INTO t SELECT * FROM rows(501, 600);
SELECT objects + pending_rows AS entries FROM genie_index_info('t_partial');
SELECT agrees(condition => 'kind = 1'), agrees(condition => 'kind = 1 AND id > 100');
SELECT agrees() ~ 'no index' AS not_without_the_predicate;
UPDATE t SET kind = 1 WHERE id BETWEEN 40 AND 60 AND kind <> 1;
UPDATE t SET kind = 2 WHERE id BETWEEN 1 AND 20 AND kind <> 2;
SELECT agrees(condition => 'kind = 1');
-- a partial index whose predicate alone fits a query is no reason to use it
SET enable_seqscan = off; SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE kind = 1;
RESET enable_seqscan; RESET enable_bitmapscan;
DROP INDEX t_partial;

-- expressions
CREATE INDEX t_expression ON t USING genie ((a || kind));
CREATE INDEX t_object ON t USING genie (genie_tuple(kind, id % 10));
SELECT agrees(expression => '(a || kind)'), agrees(expression => 'a') ~ 'no index' AS not_a;
SET enable_seqscan = off;
SELECT id FROM t ORDER BY genie_tuple(kind, id % 10) <&> genie_tuple_query(3, 7) LIMIT 3;
RESET enable_seqscan;
DROP INDEX t_expression, t_object;

-- concurrently, also for a table with pending rows of another index; then REINDEX in every form
CREATE INDEX CONCURRENTLY t_a ON t USING genie (a);
SELECT agrees();
INSERT INTO t SELECT * FROM rows(601, 700);
DELETE FROM t WHERE id % 9 = 0;
SELECT pending_rows FROM genie_index_info('t_a');
REINDEX INDEX t_a;
SELECT pending_rows, segments FROM genie_index_info('t_a');
SELECT agrees();
REINDEX INDEX CONCURRENTLY t_a;
SELECT agrees();
REINDEX TABLE t;
REINDEX TABLE CONCURRENTLY t;
SELECT agrees(), indisvalid FROM pg_index WHERE indexrelid = 't_a'::regclass;
DROP INDEX CONCURRENTLY t_a;
CREATE INDEX CONCURRENTLY IF NOT EXISTS t_a ON t USING genie (a);
CREATE INDEX CONCURRENTLY IF NOT EXISTS t_a ON t USING genie (a);

-- a concurrent build that fails leaves an index that is not valid, is not used, and can be built again
INSERT INTO t VALUES (-1, 0, (SELECT array_agg(i) FROM generate_series(1, 65536) i));
DROP INDEX t_a;
INSERT INTO t VALUES (-1, 0, (SELECT array_agg(i) FROM generate_series(1, 65536) i));
CREATE INDEX CONCURRENTLY t_a ON t USING genie (a);
SELECT indisvalid FROM pg_index WHERE indexrelid = 't_a'::regclass;
SELECT * FROM genie_check('t_a');
SELECT genie_merge('t_a');
SELECT segments FROM genie_index_info('t_a');
DELETE FROM t WHERE id = -1;
INSERT INTO t SELECT * FROM rows(701, 720);
SELECT agrees() ~ 'no index' AS not_used;
REINDEX INDEX CONCURRENTLY t_a;
SELECT agrees(), indisvalid FROM pg_index WHERE indexrelid = 't_a'::regclass;

-- TRUNCATE, in a transaction that is rolled back and in one that commits
BEGIN;
TRUNCATE t;
INSERT INTO t SELECT * FROM rows(1, 10);
SELECT agrees();
ROLLBACK;
SELECT agrees();
CREATE TABLE kept AS SELECT * FROM t;
TRUNCATE t;
SELECT agrees(), segments, pending_rows, objects FROM genie_index_info('t_a');
INSERT INTO t SELECT * FROM kept;
SELECT agrees();

-- VACUUM FULL, CLUSTER by another index, CLUSTER by this one
DELETE FROM t WHERE id % 3 = 0;
VACUUM FULL t;
SELECT agrees(), tombstones FROM genie_index_info('t_a');
CREATE INDEX t_id ON t (id DESC);
CLUSTER t USING t_id;
SELECT agrees();
CLUSTER t USING t_a;

-- rewrites: another element type, a column with a volatile default; and changes that rewrite nothing
ALTER TABLE t ALTER a TYPE bigint[];
SELECT agrees();
ALTER TABLE t ADD COLUMN r float8 DEFAULT random();
SELECT agrees();
ALTER TABLE t ADD COLUMN c int DEFAULT 7;
ALTER TABLE t DROP COLUMN kind;
SELECT agrees();
ALTER TABLE t ALTER a TYPE text[];
SELECT agrees();
ALTER TABLE t ALTER a TYPE text USING a::text;
ALTER TABLE t ALTER a TYPE int[] USING a::int[], SET UNLOGGED;
SELECT agrees();
ALTER TABLE t SET LOGGED;
SELECT agrees();
ALTER TABLE t RENAME COLUMN a TO b;
ALTER INDEX t_a RENAME TO t_b;
SELECT agrees(expression => 'b');
ALTER TABLE t DROP COLUMN b;
SELECT count(*) FROM pg_class WHERE relname = 't_b' AND relnamespace = 'index_ddl'::regnamespace;
DROP TABLE t;

-- unlogged and temporary, ON COMMIT DELETE ROWS
CREATE UNLOGGED TABLE t (id int, kind int, a int[]);
INSERT INTO t SELECT * FROM rows(1, 200);
CREATE INDEX t_a ON t USING genie (a);
INSERT INTO t SELECT * FROM rows(201, 300);
SELECT agrees();
SELECT genie_merge('t_a');
DELETE FROM t WHERE id % 5 = 0;
VACUUM t;
SELECT agrees();
SELECT * FROM genie_check('t_a');
TRUNCATE t;
INSERT INTO t SELECT * FROM rows(1, 50);
SELECT agrees();
DROP TABLE t;
CREATE UNLOGGED TABLE t (id int, kind int, a int[]);
CREATE INDEX t_a ON t USING genie (a);
SELECT agrees();
INSERT INTO t SELECT * FROM rows(1, 50);
SELECT agrees();
DROP TABLE t;
CREATE TEMP TABLE temporary (id int, kind int, a int[]) ON COMMIT DELETE ROWS;
CREATE INDEX temporary_a ON temporary USING genie (a);
BEGIN;
INSERT INTO temporary SELECT * FROM rows(1, 300);
SELECT agrees('temporary');
SELECT genie_merge('temporary_a');
INSERT INTO temporary SELECT * FROM rows(301, 400);
SELECT agrees('temporary');
SELECT * FROM genie_check('temporary_a');
COMMIT;
SELECT agrees('temporary');
SELECT objects, pending_rows FROM genie_index_info('temporary_a');
DROP TABLE temporary;
CREATE TEMP TABLE temporary AS SELECT * FROM rows(1, 300);
CREATE INDEX ON temporary USING genie (a);
DELETE FROM temporary WHERE id % 2 = 0;
VACUUM temporary;
INSERT INTO temporary SELECT * FROM rows(301, 400);
SELECT agrees('temporary');
DROP TABLE temporary;

-- partitions: an index on the parent, attached ones, detached ones; the scan of each partition by its index
CREATE TABLE p (id int, kind int, a int[]) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (1) TO (200);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (200) TO (400);
INSERT INTO p SELECT * FROM rows(1, 399);
CREATE INDEX p_a ON p USING genie (a) WITH (pending_limit = 128);
CREATE TABLE p3 (LIKE p);
INSERT INTO p3 SELECT * FROM rows(400, 500);
CREATE INDEX p3_own ON p3 USING genie (a);
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (400) TO (600);
SELECT indexrelid::regclass, indisvalid FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE relnamespace = 'index_ddl'::regnamespace AND relname ~ '^p' ORDER BY 1;
SELECT reloptions FROM pg_class WHERE relname = 'p1_a_idx' AND relnamespace = 'index_ddl'::regnamespace;
SET enable_seqscan = off; SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id FROM p ORDER BY a <&> '{1,3,12}' LIMIT 5;
SELECT array_agg(o) = (SELECT array_agg(o) FROM (SELECT -genie_match_count(a, '{1,3,12}') AS o FROM p ORDER BY 1 LIMIT 300) s) AS same
	FROM (SELECT a <&> '{1,3,12}' AS o FROM p ORDER BY a <&> '{1,3,12}' LIMIT 300) s;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM p ORDER BY a <&> '{1,3,12}') s;
SELECT count(*) FROM p WHERE a @& genie_query('{1,3,12}'::int[], 2);
RESET enable_seqscan; RESET enable_sort;
SELECT agrees('p1'), agrees('p2'), agrees('p3');
UPDATE p SET id = id + 100 WHERE id BETWEEN 150 AND 250;
SELECT agrees('p1'), agrees('p2'), agrees('p3');
ALTER TABLE p DETACH PARTITION p2;
SELECT agrees('p2');
CREATE INDEX p_only ON ONLY p USING genie ((a || id));
CREATE INDEX p1_only ON p1 USING genie ((a || id));
ALTER INDEX p_only ATTACH PARTITION p1_only;
SELECT indisvalid FROM pg_index WHERE indexrelid = 'p_only'::regclass;
REINDEX INDEX p_a;
DROP TABLE p, p2;

-- inheritance, materialized views, COPY FREEZE, tables made in the same transaction
CREATE TABLE parent (id int, a int[]);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT id, a FROM rows(1, 50);
INSERT INTO child SELECT id, a FROM rows(51, 100);
CREATE INDEX ON parent USING genie (a);
CREATE INDEX ON child USING genie (a);
SET enable_seqscan = off; SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id FROM parent ORDER BY a <&> '{1,3,12}' LIMIT 2;
RESET enable_seqscan; RESET enable_sort;
CREATE MATERIALIZED VIEW v AS SELECT id, a FROM parent;
CREATE INDEX v_a ON v USING genie (a);
CREATE UNIQUE INDEX ON v (id);
SELECT agrees('v');
INSERT INTO parent SELECT id, a FROM rows(101, 150);
REFRESH MATERIALIZED VIEW v;
SELECT agrees('v');
DELETE FROM parent WHERE id % 3 = 0;
REFRESH MATERIALIZED VIEW CONCURRENTLY v;
SELECT agrees('v');
DROP MATERIALIZED VIEW v;
DROP TABLE parent, child;
BEGIN;
CREATE TABLE fresh (id int, a int[]);
CREATE INDEX fresh_a ON fresh USING genie (a);
COPY fresh FROM stdin WITH (FREEZE);
1	{1,3}
2	{3,12,1}
\.
SELECT agrees('fresh');
SAVEPOINT s;
REINDEX INDEX fresh_a;
INSERT INTO fresh SELECT id, a FROM rows(3, 200);
ROLLBACK TO s;
SELECT agrees('fresh');
COMMIT;
SELECT agrees('fresh');
SELECT * FROM genie_check('fresh_a');

-- the index goes with its opclass's extension only by CASCADE, and depends on its function
CREATE FUNCTION double(int[]) RETURNS int[] LANGUAGE sql IMMUTABLE AS 'SELECT $1 || $1';
CREATE INDEX fresh_double ON fresh USING genie (double(a));
DROP FUNCTION double(int[]);
DROP OPERATOR CLASS genie_array_ops USING genie;
DROP ACCESS METHOD genie;
DROP TABLE fresh;

-- tablespace
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE genie_index_ddl LOCATION '';
CREATE TABLE t AS SELECT * FROM rows(1, 300);
CREATE INDEX t_a ON t USING genie (a) TABLESPACE genie_index_ddl;
INSERT INTO t SELECT * FROM rows(301, 400);
SELECT agrees();
ALTER INDEX t_a SET TABLESPACE pg_default;
SELECT agrees();
SELECT * FROM genie_check('t_a');
DROP TABLE t;
DROP TABLESPACE genie_index_ddl;

-- the server's own refusals
CREATE TABLE t (id int, a int[], b text[]);
CREATE INDEX ON t USING genie (a, b);
CREATE UNIQUE INDEX ON t USING genie (a);
CREATE INDEX ON t USING genie (a) INCLUDE (id);
CREATE INDEX ON t USING genie (a DESC);
CREATE INDEX ON t USING genie (a ASC);
CREATE INDEX ON t USING genie (a NULLS FIRST);
CREATE INDEX ON t USING genie (b COLLATE "C");
CREATE INDEX ON t USING genie (a) NULLS NOT DISTINCT;
ALTER TABLE t ADD EXCLUDE USING genie (a WITH <&>);
ALTER TABLE t ADD EXCLUDE USING genie (a WITH =);
CREATE INDEX ON t USING genie (id);
CREATE INDEX ON t USING genie (a genie_object_ops);
CREATE INDEX ON t USING genie (a genie_array_ops (pending_limit = 5));

RESET search_path;
DROP SCHEMA index_ddl CASCADE;
