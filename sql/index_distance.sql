-- ORDER BY a distance by an index scan: exactly the rows of a sequential scan, in the same order; thresholds as conditions
CREATE SCHEMA index_distance;
SET search_path = index_distance, public;
SET client_min_messages = warning;

-- Runs a query by the index and by a sequential scan, and compares row by row.  Ties come in TID order.
CREATE FUNCTION agree(ordering text, conditions text DEFAULT 'true', rest text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT array_agg(r) FROM (SELECT t.id || '':'' || row(%1$s)::text AS r FROM t WHERE %2$s ORDER BY %1$s', ordering, conditions);
	line text;
	plan text := '';
	by_index text[];
	by_table text[];
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
		set_config('enable_sort', 'off', true), set_config('enable_indexscan', 'on', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query || ' ' || rest || ') s' LOOP
		plan := plan || line;
	END LOOP;
	IF plan !~ 'Index Scan using' OR plan ~ 'Sort' THEN
		RETURN 'not by the index: ' || plan;
	END IF;
	EXECUTE query || ' ' || rest || ') s' INTO by_index;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_sort', 'on', true);
	EXECUTE query || ', t.ctid ' || rest || ') s' INTO by_table;
	PERFORM set_config('enable_bitmapscan', 'on', true), set_config('enable_indexscan', 'on', true);
	FOR i IN 1 .. coalesce(greatest(cardinality(by_index), cardinality(by_table)), 0) LOOP
		IF by_index[i] IS DISTINCT FROM by_table[i] THEN
			RETURN format('row %s of %s is %s, not %s', i, cardinality(by_table), by_index[i], by_table[i]);
		END IF;
	END LOOP;
	RETURN coalesce(cardinality(by_index), 0) || ' rows agree';
END $$;

-- a table in every state at once: built, inserted and merged, deleted and vacuumed, pending; NULLs, empty arrays, long ones
CREATE TABLE t (id int, tags int[], o genie_object) WITH (autovacuum_enabled = off);
CREATE FUNCTION add_rows(a int, b int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i,
		CASE WHEN i % 50 = 0 THEN NULL WHEN i % 49 = 0 THEN '{}' ELSE
			ARRAY(SELECT nullif((i * 7919::bigint + j * j * 104729::bigint) % (5 + j * 7), 3)::int
				FROM generate_series(1, 1 + i % 11 * CASE WHEN i % 97 = 0 THEN 60 ELSE 1 END) j) END,
		CASE WHEN i % 60 <> 0 THEN genie_tuple(i % 10, 'name ' || i % 7, nullif(i % 5, 2)::numeric / 2, i % 3 = 0) END
	FROM generate_series(a, b) i $$;
SELECT add_rows(1, 3000);
CREATE INDEX t_tags ON t USING genie (tags);
CREATE INDEX t_o ON t USING genie (o);
SELECT add_rows(3001, 4000);
SELECT genie_merge('t_tags'), genie_merge('t_o');
DELETE FROM t WHERE id % 7 = 0;
VACUUM t;
SELECT add_rows(4001, 4500);
DELETE FROM t WHERE id % 13 = 0;
UPDATE t SET tags = tags || 2 WHERE id % 17 = 0;
SELECT pending_rows > 0 AS pending, segments FROM genie_index_info('t_tags');

EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY tags <%> '{1,2,5}' LIMIT 5;
SELECT id, tags <%> '{1,2,5,8}' AS o FROM t ORDER BY tags <%> '{1,2,5,8}' LIMIT 8;

-- all rows, and any LIMIT and OFFSET; ties at the border, LIMIT beyond the matches and beyond the table
SELECT agree('tags <%> ''{1,2,5,8}''');
SELECT lim, agree('tags <%> ''{1,2,5,8}''', rest => lim), agree('tags <%> ''{-1}''', rest => lim), agree('o <%> genie_tuple(3, ''name 3'', 1.5)', rest => lim)
	FROM unnest('{LIMIT 0,LIMIT 1,LIMIT 100,LIMIT 127,LIMIT 128,LIMIT 129,LIMIT 1000 OFFSET 700,LIMIT 100000,OFFSET 4000}'::text[]) lim;

-- queries of any length: empty, long, of NULLs, larger than each object
SELECT agree('tags <%> ''{}'''), agree('tags <%> ''{NULL}'''), agree('o <%> ''{}''');
SELECT n, agree(format('tags <%%> ARRAY(SELECT (j * j %% (1 + %s * 3))::int FROM generate_series(1, %1$s::bigint) j)', n)) FROM unnest('{1,2,17,300,3000}'::int[]) n;
SELECT agree('tags <%> ARRAY(SELECT (j * j % 210001)::int FROM generate_series(1, 70000::bigint) j)');
SELECT agree('tags <%> (SELECT tags FROM t WHERE id = 4074)');
-- a genie_object of an array's elements asks the same
SELECT agree('tags <%> genie_object(ARRAY[1,2,5,8])'), agree('tags <%> ''{0:int:3,1:int:5}''::genie_object', rest => 'LIMIT 50'), (SELECT count(*) FROM t WHERE tags <%> genie_object(ARRAY[1,2,5,8]) IS DISTINCT FROM tags <%> '{1,2,5,8}') AS differ;
SELECT id FROM t ORDER BY tags <%> genie_object('{a}'::text[]) LIMIT 1;

-- NULL queries: all distances are NULL; the next operator ranks
SELECT agree('tags <%> (SELECT NULL::int[])'), agree('tags <%> (SELECT NULL::int[]), tags <&> ''{1,2}'''), agree('tags <%> ''{1,2}'', tags <%> (SELECT NULL::int[])');
SELECT agree('tags <%> (SELECT NULL::int[]), tags <%> ''{1,2}''');
SELECT agree('tags <&> (SELECT NULL::int[]), tags <&> ''{1,2}'', tags <&> ''{3}''');

-- several ORDER BY operators: the first ranks, the others sort
SELECT agree('tags <%> ''{1,2,5,8}'', tags <%> ''{3,4}'''), agree('tags <%> ''{1,2,5,8}'', tags <&> ''{3,4}'''),
	agree('tags <&> ''{1,2,5,8}'', tags <%> ''{3,4}'''), agree('tags <%> ''{1,2,5,8}'', tags <&> ''{3,4}'', tags <%> ''{0,1,2}''', 'true', 'LIMIT 90');

-- conditions and a distance
SELECT agree('tags <%> ''{1,2,5,8}''', 'tags @& genie_query(''{1,2}''::int[], 2)'), agree('tags <%> ''{1,2,5,8}''', 'tags @& genie_query(''{3}''::int[])', 'LIMIT 70'),
	agree('tags <%> ''{1,2,5,8}''', 'tags @& genie_query(''{}''::int[], 0)'), agree('tags <%> ''{1,2,5,8}''', 'id % 10 = 1', 'LIMIT 100');

-- thresholds: of the distance itself, of the same keywords with a min_match, of others, several
SELECT s, agree('tags <%> ''{1,2,5,8}''', format('tags @& genie_jaccard_query(''{1,2,5,8}''::int[], %s)', s)),
	agree('tags <%> ''{1,2,5,8}''', format('tags @& genie_with_min_match(genie_jaccard_query(''{1,2,5,8}''::int[], %s), 3)', s)),
	agree('tags <%> ''{1,2,5}''', format('tags @& genie_jaccard_query(''{1,2,5,8}''::int[], %s)', s)),
	agree('tags <&> ''{1,2,5,8}''', format('tags @& genie_jaccard_query(''{1,2,5,8}''::int[], %s)', s)),
	agree('tags <%> ''{1,2,5,8}''', format('tags @& genie_jaccard_query(''{2,5}''::int[], %s / 2) AND tags @& genie_jaccard_query(''{1,2,5,8}''::int[], %1$s) AND tags @& genie_jaccard_query(''{8,5,2,1}''::int[], %1$s * 0.7)', s)),
	agree('o <%> genie_tuple(3, ''name 3'', 1.5)', format('o @& genie_jaccard_query(genie_tuple(3, ''name 3'', 1.5), %s)', s))
	FROM unnest('{0,0.001,0.2,0.25,0.5,0.9,1}'::float8[]) s;
SELECT agree('tags <%> (SELECT NULL::int[])', 'tags @& genie_jaccard_query(''{1,2,5,8}''::int[], 0.4)'), agree('tags <%> ''{}''', 'tags @& genie_jaccard_query(''{}''::int[], 0.4)'),
	agree('tags <%> ''{1,2}''', 'tags @& (SELECT NULL::genie_query)');

-- the number of rows from the index that the condition's recheck drops: none where the bound is exact
CREATE FUNCTION explained(query text, what text) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ what THEN
			RETURN regexp_replace(regexp_replace(line, '.*(' || what || ')', '\1'), '(rows=\d+)\.00 ', '\1 ');
		END IF;
	END LOOP;
	RETURN 'none';
END $$;
SELECT explained('SELECT FROM t WHERE tags @& genie_jaccard_query(''{1,2,5,8}''::int[], 0.5)', 'Rows Removed by Index Recheck: .*'),
	explained('SELECT FROM t WHERE tags @& genie_jaccard_query(''{1,2,5,8}''::int[], 0.5) ORDER BY tags <%> ''{1,2,5,8}''', 'Rows Removed by Index Recheck: .*'),
	explained('SELECT FROM t WHERE tags @& genie_jaccard_query(''{1,2,5,8}''::int[], 0.5) ORDER BY tags <&> ''{1,2,5,8}''', 'Rows Removed by Index Recheck: .*') <> 'none' AS otherwise_some;
SELECT explained('SELECT FROM t ORDER BY tags <%> ''{1,2,5,8}'' LIMIT 10', 'Index Scan using .*');

-- rescans: a LATERAL join, a correlated subquery; parameters; cursors that go on after other cursors
SET enable_seqscan = off;
CREATE TABLE q (n int, a int[]);
INSERT INTO q SELECT n, ARRAY(SELECT (n * j * 31) % 40 FROM generate_series(1, n) j) FROM generate_series(0, 12) n;
INSERT INTO q VALUES (13, NULL);
EXPLAIN (COSTS OFF) SELECT n, id FROM q, LATERAL (SELECT id FROM t ORDER BY t.tags <%> q.a LIMIT 3) s;
CREATE VIEW by_index AS SELECT n, array_agg(d ORDER BY d) AS d FROM q, LATERAL (SELECT t.tags <%> q.a AS d FROM t ORDER BY t.tags <%> q.a LIMIT 20) s GROUP BY n;
CREATE TABLE by_index_rows AS SELECT * FROM by_index;
SET enable_indexscan = off; SET enable_seqscan = on;
SELECT count(*), count(*) FILTER (WHERE i.d IS DISTINCT FROM s.d) AS wrong FROM by_index_rows i FULL JOIN by_index s USING (n);
RESET enable_indexscan; SET enable_seqscan = off;
SET plan_cache_mode = force_generic_plan;
PREPARE nearest(int[], int) AS SELECT array_agg(id) FROM (SELECT id FROM t ORDER BY tags <%> $1 LIMIT $2) s;
EXECUTE nearest('{1,2,5,8}', 5);
EXECUTE nearest('{3,9}', 3);
EXECUTE nearest(NULL, 3);
BEGIN;
DECLARE a CURSOR FOR SELECT id, tags <%> '{1,2,5,8}' FROM t ORDER BY tags <%> '{1,2,5,8}';
DECLARE b CURSOR FOR SELECT id, tags <%> '{3,9}' FROM t ORDER BY tags <%> '{3,9}';
FETCH 3 FROM a;
FETCH 3 FROM b;
INSERT INTO t SELECT -1, '{1,2,5,8}';
DELETE FROM t WHERE id = 4001;
FETCH 3 FROM a;
FETCH 3 FROM b;
ROLLBACK;
RESET plan_cache_mode; RESET enable_seqscan;

-- objects with more keywords than sizes have classes of their own
CREATE TABLE long (id int, a int[]) WITH (autovacuum_enabled = off);
INSERT INTO long SELECT i, ARRAY(SELECT j * (1 + i % 3) FROM generate_series(1, i * 7) j) FROM generate_series(1, 300) i;
INSERT INTO long SELECT 1000 + i, ARRAY(SELECT generate_series(1, 65535 - i * 500)) FROM generate_series(0, 3) i;
CREATE INDEX long_a ON long USING genie (a);
INSERT INTO long SELECT 500 + i, ARRAY(SELECT j * (1 + i % 3) FROM generate_series(1, i * 9) j) FROM generate_series(1, 100) i;
ALTER TABLE t RENAME TO other;
ALTER TABLE long RENAME TO t;
SELECT n, agree(format('a <%%> ARRAY(SELECT generate_series(1, %s))', n)) FROM unnest('{1,200,256,1000,5000,65535,66000}'::int[]) n;
SELECT agree('a <%> ARRAY(SELECT generate_series(1, 900))', 'a @& genie_jaccard_query(ARRAY(SELECT generate_series(1, 900)), 0.4)');

-- sizes that differ by what seven, eight and nine bits hold, in one segment
CREATE FUNCTION agree_sizes(largest int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE t;
	INSERT INTO t SELECT i, ARRAY(SELECT generate_series(1, 1 + i % (largest + 1))) FROM generate_series(1, 1000) i;
	REINDEX INDEX long_a;
	RETURN agree('a <%> ARRAY(SELECT generate_series(1, 100))', rest => 'LIMIT 300');
END $$;
SELECT largest, agree_sizes(largest) FROM unnest('{126,127,128,254,255,256,400}'::int[]) largest;

-- an index without rows, with NULLs alone, with pending rows alone
TRUNCATE t;
SELECT agree('a <%> ''{1}'''), agree('a <%> ''{}''', 'a @& genie_jaccard_query(''{1}''::int[], 0.5)');
INSERT INTO t SELECT i FROM generate_series(1, 5) i;
SELECT agree('a <%> ''{1}'''), agree('a <%> ''{}''', 'a @& genie_jaccard_query(''{1}''::int[], 0.5)');
SELECT genie_merge('long_a');
SELECT agree('a <%> ''{1}''');
INSERT INTO t SELECT i, ARRAY[i, i + 1] FROM generate_series(1, 5) i;
SELECT agree('a <%> ''{1}'''), agree('a <%> ''{}''', 'a @& genie_jaccard_query(''{1}''::int[], 0.5)');

RESET search_path;
DROP SCHEMA index_distance CASCADE;
