-- how many rows the planner expects of a condition @&: factors between estimate and truth, and plans that depend on them
CREATE SCHEMA selectivity;
SET search_path = selectivity, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION estimated(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan->0->'Plan'->>'Plan Rows';
END $$;
CREATE FUNCTION counted(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	n numeric;
BEGIN
	EXECUTE 'SELECT count(*) FROM (' || query || ') s' INTO n;
	RETURN n;
END $$;
-- off by no more than the factor, where one row is as good as none
CREATE FUNCTION within(factor numeric, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n numeric := greatest(counted(query), 1);
	expected numeric := greatest(estimated(query), 1);
BEGIN
	RETURN CASE WHEN expected BETWEEN n / factor AND n * factor THEN 'ok' ELSE format('%s rows expected, %s found', expected, n) END;
END $$;

-- arrays: keywords of all frequencies, those that always go together, and those that never do
CREATE TABLE t (id int PRIMARY KEY, a int[], kind int, filler text) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, ARRAY[i % 2, 10 + i % 10, 100 + i % 100, 1000 + i % 1000, 10000 + i], i % 5, repeat('x', 100) FROM generate_series(1, 30000) i;
INSERT INTO t SELECT i, NULL, 6, '' FROM generate_series(30001, 33000) i;
CREATE INDEX t_a ON t USING genie (a);
CREATE INDEX t_kind ON t (kind);
VACUUM ANALYZE t;
SELECT q, within(2, format('SELECT * FROM t WHERE a @& %L', q)) FROM (SELECT '{0:int:1}@1, {0:int:15}@1, {0:int:105}@1, {0:int:1005}@1, {0:int:10005}@1, {0:int:7}@1, {}@1, {}@0, {0:int:1}@0, {0:int:1}@2'::text) s (s), regexp_split_to_table(s, ', ') q;
SELECT q, within(2, format('SELECT * FROM t WHERE a @& %L', q)) FROM unnest(ARRAY['{0:int:[100,150)}@1', '{0:int:[1000,1003)}@1', '{0:int:[10000,20000)}@1', '{0:int:[1100,)}@1', '{0:int:(,12)}@1', '{0:int:[20,90)}@1']) q;
SELECT q, within(10, format('SELECT * FROM t WHERE a @& %L', q)) FROM unnest(ARRAY['{0:int:1,0:int:15}@2', '{0:int:1,0:int:15,0:int:105,0:int:1005}@4', '{0:int:1,0:int:15,0:int:105,0:int:1005}@3', '{0:int:1,0:int:15,0:int:105,0:int:1005}@1',
	'{0:int:0,0:int:15}@2', '{0:int:15,0:int:16,0:int:17}@2', '{0:int:15,0:int:16,0:int:17}@1', '{0:int:1,0:int:16,0:int:105}@2', '{0:int:1,0:int:[10,15)}@2', '{0:int:[10,2000)}@3']) q;
-- more keywords than are looked up: a frequent one and others that mostly exclude each other, independent ones, and some that go together
SELECT s, m, within(10, format('SELECT * FROM t WHERE a @& %L', genie_query(ARRAY(SELECT generate_series(0, 200 * s, s)), m))) FROM unnest('{7,11,13}'::int[]) s, generate_series(1, 3) m;
CREATE TABLE spread (a int[], topic int[]) WITH (autovacuum_enabled = off);
INSERT INTO spread SELECT ARRAY(SELECT (i * 7919 + k * k * 104729 + i / 17 * k) % 2000 FROM generate_series(1, 20) k), ARRAY(SELECT i % 20 * 100 + (i / 20 * 31 + k * k * 57 + i / 100 * k) % 100 FROM generate_series(1, 8) k) FROM generate_series(1, 20000) i;
CREATE INDEX ON spread USING genie (a);
CREATE INDEX ON spread USING genie (topic);
VACUUM ANALYZE spread;
SELECT s, m, within(10, format('SELECT * FROM spread WHERE a @& %L', genie_query(ARRAY(SELECT generate_series(0, 1999, s)), m))) FROM unnest('{3,7,15}'::int[]) s, generate_series(1, 5) m;
SELECT m, within(10, format('SELECT * FROM spread WHERE topic @& %L', genie_query(ARRAY(SELECT generate_series(0, 1999, 10)), m))) AS all, within(10, format('SELECT * FROM spread WHERE topic @& %L', genie_query(ARRAY(SELECT generate_series(300, 399)) || ARRAY(SELECT generate_series(500, 1500, 10)), m))) AS one FROM generate_series(1, 5) m;
SELECT within(10, format('SELECT * FROM spread WHERE a @& %L', genie_query(ARRAY(SELECT generate_series(0, 1999)), m))) FROM unnest('{1,10,16}'::int[]) m;
DROP TABLE spread;
SELECT within(2, 'SELECT * FROM t WHERE a @& NULL'), within(2, 'SELECT * FROM t WHERE a @& ANY (ARRAY[''{0:int:15}'', ''{0:int:16}'']::genie_query[])'), within(2, 'SELECT * FROM t WHERE NOT a @& ''{0:int:105}''');

-- other types, expressions, thresholds
CREATE TABLE o (i int, a int[], d tsvector, j jsonb, x text) WITH (autovacuum_enabled = off);
INSERT INTO o SELECT i, ARRAY(SELECT (i * k * k) % 97 FROM generate_series(1, 10) k), to_tsvector('simple', format('w%s x%s y%s', i % 7, i % 50, i / 3 % 100)), jsonb_build_object('a', i % 20, 'b', i % 21, 'c', i), 'number ' || i * 7919 % 10000 FROM generate_series(1, 10000) i;
CREATE INDEX ON o USING genie (a);
CREATE INDEX ON o USING genie (d);
CREATE INDEX ON o USING genie (j);
CREATE INDEX ON o USING genie (x genie_edit_ops);
CREATE INDEX ON o USING genie (genie_tuple(i % 7, i, i % 50));
VACUUM ANALYZE o;
SELECT f, c, within(f, 'SELECT * FROM o WHERE ' || c) FROM (VALUES
	(2, 'd @& genie_query(''x4''::tsquery)'), (10, 'd @& genie_query(''w1 & x4''::tsquery, 2)'), (10, 'd @& genie_query(''w1 | x:*''::tsquery)'),
	(2, 'j @& genie_query(''{"a": 3}''::jsonb)'), (10, 'j @& genie_query(''{"a": 3, "b": 4}''::jsonb, 2)'),
	(2, 'genie_tuple(i % 7, i, i % 50) @& genie_tuple_query(NULL, NULL, 5)'), (2, 'genie_tuple(i % 7, i, i % 50) @& genie_tuple_query(NULL, int4range(1000, 3000))'),
	(10, 'genie_tuple(i % 7, i, i % 50) @& genie_tuple_query(3, int4range(1000, 3000), 5)'), (10, 'genie_tuple(i % 7, i, i % 50) @& genie_tuple_query(ARRAY[3, 4], int4range(1000, 3000))'),
	(10, 'x @& genie_with_min_match(genie_query(genie_ngrams(''number 77'')), 8)'), (10, 'x @& genie_edit_query(''number 77'', 1)'), (10, 'x @& genie_jaccard_query(genie_ngrams(''number 77''), 0.8)')) c (f, c);
SELECT s, within(10, format('SELECT * FROM o WHERE a @& %L', genie_jaccard_query(a, s))) FROM o, unnest('{0.3,0.5,0.7,0.9}'::float8[]) s WHERE i = 77;

-- values that come late in the table, beyond what is counted
CREATE TABLE late (a int[]) WITH (autovacuum_enabled = off);
INSERT INTO late SELECT ARRAY[i / 20000, 10 + i / 20000 * 10 + i % 10, 1000 + i % 7, 2000 + i % 7] FROM generate_series(0, 99999) i;
CREATE INDEX ON late USING genie (a);
VACUUM ANALYZE late;
SELECT q, within(10, format('SELECT * FROM late WHERE a @& %L', q)) FROM unnest(ARRAY['{0:int:0,0:int:14}@2', '{0:int:4,0:int:54}@2', '{0:int:4,0:int:1002}@2', '{0:int:1003,0:int:1002}@2', '{0:int:1003,0:int:2003}@2']) q;
DROP TABLE late;

-- rows that wait, alone and beside a segment, and rows that are dead
CREATE TABLE p (a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX p_a ON p USING genie (a);
INSERT INTO p SELECT ARRAY[i % 10, 100 + i % 100] FROM generate_series(1, 5000) i;
ANALYZE p;
SELECT pending_rows > 0 AS waiting, segments FROM genie_index_info('p_a');
SELECT within(2, 'SELECT * FROM p WHERE a @& ''{0:int:5}'''), within(2, 'SELECT * FROM p WHERE a @& ''{0:int:105}'''), within(10, 'SELECT * FROM p WHERE a @& ''{0:int:5,0:int:105}@2''');
SELECT genie_merge('p_a');
INSERT INTO p SELECT ARRAY[50 + i % 10, 100 + i % 100] FROM generate_series(1, 5000) i;
ANALYZE p;
SELECT pending_rows > 0 AS waiting, segments FROM genie_index_info('p_a');
SELECT within(2, 'SELECT * FROM p WHERE a @& ''{0:int:5}'''), within(2, 'SELECT * FROM p WHERE a @& ''{0:int:55}'''), within(2, 'SELECT * FROM p WHERE a @& ''{0:int:105}''');
DELETE FROM p WHERE a && '{1,2,3,4,51,52,53}';
VACUUM ANALYZE p;
SELECT within(2, 'SELECT * FROM p WHERE a @& ''{0:int:5}'''), within(2, 'SELECT * FROM p WHERE a @& ''{0:int:1}'''), within(2, 'SELECT * FROM p WHERE a @& ''{0:int:105}''');
TRUNCATE p;
SELECT within(10, 'SELECT * FROM p WHERE a @& ''{0:int:5}''');

-- parameters: known in a plan of their own, and not otherwise
PREPARE by_parameter (genie_query) AS SELECT * FROM t WHERE a @& $1;
SELECT estimated('EXECUTE by_parameter(''{0:int:1}'')') > 10000 AS common;
SET plan_cache_mode = force_generic_plan;
SELECT estimated('EXECUTE by_parameter(''{0:int:1}'')') < 100 AS common, estimated('EXECUTE by_parameter(''{0:int:1}'')') = estimated('EXECUTE by_parameter(''{0:int:10005}'')') AS same;
RESET plan_cache_mode;

-- a join: as many rows as index scans by its queries are taken to return
CREATE TABLE asked (q genie_query);
INSERT INTO asked SELECT genie_query(ARRAY[i % 10]) FROM generate_series(1, 100) i;
ANALYZE asked;
SELECT round(estimated('SELECT * FROM t JOIN asked ON a @& q') / (estimated('EXECUTE by_parameter(NULL)') * 100), 1) AS factor FROM (SELECT set_config('plan_cache_mode', 'force_generic_plan', false)) s;
RESET plan_cache_mode;
DEALLOCATE by_parameter;
DROP TABLE asked;

-- which index: one that is not partial, or one whose predicate holds; none
CREATE INDEX t_kinds ON t USING genie (a) WHERE kind = 2;
SELECT within(2, 'SELECT * FROM t WHERE a @& ''{0:int:15}''');
BEGIN;
DROP INDEX t_a;
SELECT within(2, 'SELECT * FROM t WHERE kind = 2 AND a @& ''{0:int:12}'''), within(2, 'SELECT * FROM t WHERE kind = 2 AND a @& ''{0:int:13}''');
SELECT estimated('SELECT * FROM t WHERE a @& ''{0:int:1}''') < 100 AS unknown, estimated('SELECT * FROM t WHERE a || a @& ''{0:int:1}''') < 100 AS unknown;
ROLLBACK;
DROP INDEX t_kinds;

-- partitions and children
CREATE TABLE parts (id int, a int[]) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (5000);
CREATE TABLE parts_2 (a int[], id int);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (5000) TO (10000);
INSERT INTO parts SELECT i, ARRAY[i % 10, 100 + i / 5000] FROM generate_series(0, 9999) i;
CREATE INDEX parts_a ON parts USING genie (a);
CREATE TABLE grown (a int[]);
CREATE TABLE grown_1 () INHERITS (grown);
INSERT INTO grown_1 SELECT ARRAY[i % 10, 100 + i / 5000] FROM generate_series(0, 9999) i;
CREATE INDEX ON grown_1 USING genie (a);
ANALYZE parts, grown;
SELECT within(2, 'SELECT * FROM parts WHERE a @& ''{0:int:5}'''), within(10, 'SELECT * FROM parts WHERE a @& ''{0:int:5,0:int:100}@2'''), within(2, 'SELECT * FROM grown WHERE a @& ''{0:int:5}''');

-- what this user may not see is not told
CREATE ROLE regress_genie_reader;
GRANT USAGE ON SCHEMA selectivity TO regress_genie_reader;
GRANT SELECT ON t, parts TO regress_genie_reader;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM t WHERE kind < 9;
CREATE VIEW through AS SELECT * FROM t;
GRANT SELECT ON barrier, through TO regress_genie_reader;
SET ROLE regress_genie_reader;
SELECT within(2, 'SELECT * FROM t WHERE a @& ''{0:int:1}'''), within(2, 'SELECT * FROM parts WHERE a @& ''{0:int:5}''');
RESET ROLE;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
ALTER TABLE parts ENABLE ROW LEVEL SECURITY;
CREATE POLICY t_policy ON t USING (kind < 9);
CREATE POLICY parts_policy ON parts USING (id >= 0);
SET ROLE regress_genie_reader;
SELECT estimated('SELECT * FROM t WHERE a @& ''{0:int:1}''') = estimated('SELECT * FROM t WHERE a @& ''{0:int:10005}''') AS table, estimated('SELECT * FROM parts WHERE a @& ''{0:int:5}''') = estimated('SELECT * FROM parts WHERE a @& ''{0:int:77}''') AS partitions,
	estimated('SELECT * FROM barrier WHERE a @& ''{0:int:1}''') = estimated('SELECT * FROM barrier WHERE a @& ''{0:int:10005}''') AS barrier;
SELECT within(2, 'SELECT * FROM through WHERE a @& ''{0:int:1}''');
RESET ROLE;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
-- a view's owner counts, and the column is enough
GRANT CREATE ON SCHEMA selectivity TO regress_genie_reader;
REVOKE SELECT ON t FROM regress_genie_reader;
SET ROLE regress_genie_reader;
SELECT within(2, 'SELECT * FROM through WHERE a @& ''{0:int:1}''');
RESET ROLE;
GRANT SELECT (id, a) ON t TO regress_genie_reader;
SET ROLE regress_genie_reader;
SELECT within(2, 'SELECT id FROM t WHERE a @& ''{0:int:1}''');
CREATE VIEW mine AS SELECT id, a FROM t;
RESET ROLE;
SELECT within(2, 'SELECT * FROM mine WHERE a @& ''{0:int:1}''');
DROP OWNED BY regress_genie_reader;
DROP ROLE regress_genie_reader;

-- an index that cannot answer does not keep the planner from reading the table
SELECT x FROM o WHERE x @& genie_query(genie_ngrams('number 7', 2)) LIMIT 1;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM o WHERE x @& genie_query(genie_ngrams('number 7', 2));
RESET enable_indexscan;
RESET enable_bitmapscan;
-- nor is one asked where there are no subtransactions
CREATE FUNCTION planned_again(id int) RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM selectivity.t WHERE a @& ''{0:int:%s}''', 10000 + id) INTO n;
	RETURN n;
END $$;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT sum(planned_again(id)) FROM t WHERE id <= 5;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;

-- a common condition: the order of another index, or another index alone; a rare one: this index
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE a @& '{0:int:1}' ORDER BY id LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE a @& '{0:int:10005}' ORDER BY id LIMIT 10;
UPDATE t SET kind = 7 WHERE id % 1000 = 7;
ANALYZE t;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE a @& '{0:int:1}' AND kind = 7;

RESET max_parallel_workers_per_gather; RESET search_path;
DROP SCHEMA selectivity CASCADE;
