-- the planner's choices, without any setting that forces them
CREATE SCHEMA index_planner;
SET search_path = index_planner, public;
SET client_min_messages = warning;
CREATE TABLE t (id int PRIMARY KEY, a int[], kind int, filler text) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, ARRAY[i % 10, 100 + i % 100, 1000 + i % 1000, 10000 + i], i % 5, repeat('x', 100) FROM generate_series(1, 30000) i;
CREATE INDEX t_a ON t USING genie (a);
CREATE INDEX t_o ON t USING genie (genie_tuple(kind, id));
VACUUM ANALYZE t;
SET max_parallel_workers_per_gather = 0;

-- the index for the best few, for @& that is selective by its estimate, alone and in joins
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY a <&> '{5,105,1005,10005}' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY a <&> '{5,105,1005,10005}' LIMIT 1000;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE kind = 3 ORDER BY a <&> '{5,105,1005,10005}' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY genie_tuple(kind, id) <&> genie_tuple_query(3, int4range(1, 100)) LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY a <&> '{5,105}', a <&> '{1}' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE a @& genie_query('{5,105,1005}'::int[], 3);
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE a @& genie_query('{5,105,1005}'::int[], 3) ORDER BY a <&> '{5}' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT q.id, s.id FROM (SELECT id, a FROM t WHERE id BETWEEN 5 AND 7) q, LATERAL (SELECT id FROM t ORDER BY a <&> q.a LIMIT 3) s;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY a <&> '{5}' OFFSET 5 FETCH FIRST 3 ROWS ONLY;
EXPLAIN (COSTS OFF) DECLARE c CURSOR FOR SELECT id FROM t ORDER BY a <&> '{5,105,1005,10005}';

-- the table for all of it, and for a row known otherwise
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY a <&> '{5,105,1005,10005}';
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE id = 7 ORDER BY a <&> '{5,105,1005,10005}' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT max(a <&> '{5,105}') FROM t;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE a = '{5}';

-- no path without an operator of the class, whatever is switched off
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE a && '{5}';
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE a IS NULL;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE a <&> '{5}' < -2;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE NOT a @& genie_query('{5}'::int[]);
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY -(a <&> '{5}') LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY a LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY genie_match_count(a, '{5}') DESC LIMIT 1;
SET enable_nestloop = off; SET enable_hashjoin = off;
EXPLAIN (COSTS OFF) SELECT a FROM t x WHERE EXISTS (SELECT FROM t WHERE t.id = x.kind) ORDER BY kind LIMIT 1;
RESET enable_nestloop; RESET enable_hashjoin;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE a @& ANY (ARRAY['{0:int:5}', '{0:int:6}']::genie_query[]);
RESET enable_seqscan;

-- a query that depends on the row itself
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY a <&> ARRAY[id] LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY a <&> ARRAY[(random() * 5)::int] LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY a <&> array(SELECT 5) LIMIT 1;
RESET enable_seqscan;

-- never an index-only scan
EXPLAIN (COSTS OFF) SELECT a FROM t ORDER BY a <&> '{5,105,1005,10005}' LIMIT 10;

-- a small table is read
CREATE TABLE small AS SELECT * FROM t LIMIT 10;
CREATE INDEX ON small USING genie (a);
ANALYZE small;
EXPLAIN (COSTS OFF) SELECT id FROM small ORDER BY a <&> '{5,105}' LIMIT 3;

-- distances of vectors: a LIMIT pays for candidates, whether or not the rows must be near; with operators as cheap as those of pgvector, too
CREATE TABLE v (id int, v real[], kind int, filler text) WITH (autovacuum_enabled = off);
INSERT INTO v SELECT i, ARRAY[i * 7919 % 10007, i * 6007 % 10007, i * 5003 % 10007], i % 1000, 'test ' || i FROM generate_series(1, 10000) i;
CREATE INDEX v_v ON v USING genie (v genie_l2_ops);
VACUUM ANALYZE v;
BEGIN;
ALTER FUNCTION genie_l2_distance(real[], real[]) COST 1;
EXPLAIN (COSTS OFF) SELECT id FROM v WHERE v <-> '{1,2,3}' < 9 ORDER BY v <-> '{1,2,3}' LIMIT 20;
EXPLAIN (COSTS OFF) SELECT id FROM v WHERE v <-> '{1,2,3}' < 9 ORDER BY v <-> '{1,2,3}';
EXPLAIN (COSTS OFF) SELECT id FROM v WHERE v <-> '{1,2,3}' < 9;
EXPLAIN (COSTS OFF) SELECT id FROM v WHERE kind = 7 ORDER BY v <-> '{1,2,3}' LIMIT 20;
ROLLBACK;

-- where n-grams tell little: the index for the nearest rows, the table where many must be looked at in vain
CREATE TABLE x (id int, x text, kind int) WITH (autovacuum_enabled = off);
INSERT INTO x SELECT i, md5(i::text), i % 100 FROM generate_series(1, 10000) i;
CREATE INDEX x_x ON x USING genie (x genie_edit_ops);
VACUUM ANALYZE x;
EXPLAIN (COSTS OFF) SELECT id FROM x ORDER BY x <~> '0123456789abcdef0123456789abcdef' LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM x WHERE kind < 90 ORDER BY x <~> '0123456789abcdef0123456789abcdef' LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM x WHERE kind = 7 ORDER BY x <~> '0123456789abcdef0123456789abcdef' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT s.id FROM (VALUES ('1'), ('2')) q (q), LATERAL (SELECT id FROM x WHERE kind = 7 ORDER BY x <~> q LIMIT 10) s;
EXPLAIN (COSTS OFF) SELECT id FROM x WHERE kind = 7 ORDER BY x <~> NULL LIMIT 10;
-- the same for random texts of other lengths and alphabets, by how many rows are wanted
CREATE FUNCTION plans_of(random_text text) RETURNS TABLE (one text, ten text, hundred text, thousand text, every text) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	plans text[];
BEGIN
	EXECUTE format('CREATE TEMP TABLE y WITH (autovacuum_enabled = off) AS SELECT %s AS y FROM generate_series(1, 10000) i', random_text);
	CREATE INDEX ON y USING genie (y genie_edit_ops);
	ANALYZE y;
	FOR wanted IN 0 .. 4 LOOP
		EXECUTE format('EXPLAIN (FORMAT json) SELECT y FROM y ORDER BY y <~> (SELECT %s FROM (VALUES (-1)) v (i)) %s', random_text, CASE WHEN wanted < 4 THEN 'LIMIT 1e' || wanted END) INTO plan;
		plans[wanted] := CASE WHEN plan::text ~ '"Index Scan"' THEN 'index' WHEN plan::text ~ '"Seq Scan"' THEN 'table' END;
	END LOOP;
	DROP TABLE y;
	RETURN QUERY SELECT plans[0], plans[1], plans[2], plans[3], plans[4];
END $$;
SELECT * FROM unnest(ARRAY['left(md5(i::text), 16)', 'md5(i::text)', 'md5(i::text) || md5(''b'' || i)', 'md5(i::text)::uuid::text', 'encode(sha256(i::text::bytea), ''base64'')']) random_text, plans_of(random_text);

-- costs are finite where there is an operator, and estimates are rows of the table
CREATE FUNCTION estimate(query text) RETURNS TABLE (rows numeric, startup numeric, total numeric) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN QUERY SELECT (p->>'Plan Rows')::numeric, (p->>'Startup Cost')::numeric, (p->>'Total Cost')::numeric FROM (SELECT plan->0->'Plan' AS p) s;
END $$;
SET enable_seqscan = off;
SELECT rows = 30000 AS all_rows, startup > 0 AS startup, startup < total AS total FROM estimate('SELECT id FROM t ORDER BY a <&> ''{5}''');
SELECT rows BETWEEN 1 AND 3000 AS some_rows FROM estimate('SELECT id FROM t WHERE a @& genie_query(''{5}''::int[])');
SELECT a.startup < b.startup AS "a second query costs" FROM estimate('SELECT id FROM t ORDER BY a <&> ''{5}''') a, estimate('SELECT id FROM t ORDER BY a <&> ''{5}'', a <&> ''{6}''') b;
RESET enable_seqscan;

-- statistics and what the catalogs say
SELECT relpages > 0 AS pages, reltuples FROM pg_class WHERE oid = 't_a'::regclass;
DELETE FROM t WHERE id > 20000;
VACUUM t;
SELECT reltuples FROM pg_class WHERE oid = 't_a'::regclass;
SELECT property, pg_indexam_has_property(a.oid, property) AS am, pg_index_has_property('t_a'::regclass, property) AS index, pg_index_column_has_property('t_a'::regclass, 1, property) AS "column"
	FROM pg_am a, unnest('{can_order,can_unique,can_multi_col,can_exclude,can_include,clusterable,index_scan,bitmap_scan,backward_scan,asc,desc,nulls_first,nulls_last,orderable,distance_orderable,returnable,search_array,search_nulls}'::text[]) WITH ORDINALITY u (property, n)
	WHERE amname = 'genie' ORDER BY n;
SELECT opcname, opcintype::regtype, opcdefault FROM pg_opclass JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'genie' AND opcname ~ '^genie' ORDER BY opcname COLLATE "C";
SELECT amopopr::regoperator, amopstrategy, amoppurpose, f.opfname AS sorted_by FROM pg_amop JOIN pg_am a ON a.oid = amopmethod LEFT JOIN pg_opfamily f ON f.oid = amopsortfamily
	WHERE amname = 'genie' AND amopopr::regoperator::text ~ '^(<&>|@&|<%>|<~>|<\^>|<->|<[+]>|<=>|<&~>)' ORDER BY amopopr::regoperator::text COLLATE "C";

RESET max_parallel_workers_per_gather; RESET search_path;
DROP SCHEMA index_planner CASCADE;
