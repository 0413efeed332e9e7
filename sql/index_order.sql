-- ORDER BY <&> by an index scan: exactly the rows of a sequential scan, in the same order
CREATE SCHEMA index_order;
SET search_path = index_order, public;
SET client_min_messages = warning;

-- Runs a query by the index and by a sequential scan, ties by ctid, and compares row by row.
CREATE FUNCTION agree(source text, ordering text, rest text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT array_agg(r) FROM (SELECT t.id || '':'' || coalesce((%s)::text, ''null'') AS r FROM %s ORDER BY %s',
		ordering, source, ordering);
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

-- a table in every state at once: built, inserted and merged, deleted and vacuumed, pending; NULLs and empty arrays everywhere
CREATE TABLE t (id int, tags int[], w text[]) WITH (autovacuum_enabled = off);
CREATE FUNCTION add_rows(a int, b int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i,
		CASE WHEN i % 50 = 0 THEN NULL WHEN i % 49 = 0 THEN '{}' ELSE
			ARRAY(SELECT nullif((i * 7919::bigint + j * j * 104729) % (5 + j * 7), 3)::int FROM generate_series(1, 1 + i % 11) j) END,
		ARRAY(SELECT 'w' || (i * 31 + j * 17) % 40 FROM generate_series(1, i % 5) j)
	FROM generate_series(a, b) i $$;
SELECT add_rows(1, 3000);
CREATE INDEX t_tags ON t USING genie (tags);
CREATE INDEX t_w ON t USING genie (w);
SELECT add_rows(3001, 4000);
SELECT genie_merge('t_tags'), genie_merge('t_w');
DELETE FROM t WHERE id % 7 = 0;
VACUUM t;
SELECT add_rows(4001, 4500);
DELETE FROM t WHERE id % 13 = 0;
UPDATE t SET tags = tags || 2 WHERE id % 17 = 0;
SELECT pending_rows > 0 AS pending, tombstones > 0 OR objects > 0 AS merged FROM genie_index_info('t_tags');

EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY tags <&> '{1,2,5}' LIMIT 5;
SELECT id, tags <&> '{1,2,5,8}' AS o FROM t ORDER BY tags <&> '{1,2,5,8}' LIMIT 8;

-- all rows, and any LIMIT and OFFSET; ties at the border, LIMIT beyond the matches and beyond the table
SELECT agree('t', 'tags <&> ''{1,2,5,8}''');
SELECT l, agree('t', 'tags <&> ''{1,2,5,8}''', 'LIMIT ' || l)
	FROM unnest('{0,1,2,10,63,64,65,575,576,577,1000,3999,100000}'::int[]) l;
SELECT agree('t', 'tags <&> ''{1,2,5,8}''', 'LIMIT 10 OFFSET ' || o) FROM unnest('{0,1,64,1500,4000,10000}'::int[]) o;
SELECT agree('t', 'w <&> ''{w1,w5,w9,w13,w39}''', 'LIMIT ' || l) FROM unnest('{1,100,2000,9999}'::int[]) l;

-- queries: nothing in common, nothing asked, one, duplicates and NULLs, all there is, ranges
SELECT q, agree('t', format('tags <&> %L', q)) FROM unnest(ARRAY['{}', '{NULL}', '{-1}', '{2147483647,-2147483648}', '{4}', '{4,4,NULL,4}',
	'{{1,2},{5,8}}', '[5:6]={1,2}']) q;
SELECT agree('t', 'tags <&> array(SELECT generate_series(0, 90))');
SELECT q, agree('t', format('tags <&> genie_query(%L::int4multirange)', q)) FROM unnest(ARRAY['{}', '{[2,9)}', '{(,5),[7,8],[20,)}', '{(,)}']) q;
SELECT agree('t', 'tags <&> genie_query(''{1,2,3}''::bigint[])'), agree('t', 'tags <&> genie_query(''{1,2,3}''::smallint[], 3)');

-- a filter that keeps 0, 1, 50, 99 and 100 %
SELECT f, agree('t WHERE ' || f, 'tags <&> ''{1,2,5,8}''', 'LIMIT 20'), agree('t WHERE ' || f, 'tags <&> ''{1,2,5,8}''')
	FROM unnest(ARRAY['id < 0', 'id % 100 = 1', 'id % 2 = 0', 'id % 100 <> 1', 'id > 0']) f;

-- no matches and no live rows
SELECT agree('t WHERE id % 50 = 0', 'tags <&> ''{1}''');
SELECT agree('t WHERE tags IS NULL', 'tags <&> ''{1}'''), agree('t WHERE tags IS NOT NULL', 'tags <&> ''{1}''');

-- a NULL query orders nothing and fails nothing
SELECT count(*), count(o) FROM (SELECT tags <&> NULL::int[] AS o FROM t ORDER BY tags <&> NULL::int[]) s;
CREATE FUNCTION null_query() RETURNS int[] LANGUAGE plpgsql STABLE AS 'BEGIN RETURN NULL; END';
SELECT agree('t', 'tags <&> null_query()'), agree('t', 'tags <&> null_query()', 'LIMIT 7'), agree('t', 'tags <&> null_query()', 'LIMIT 100 OFFSET 3500');
SELECT agree('t', 'tags <&> (SELECT NULL::int[])', 'LIMIT 7');

-- two operators in one ORDER BY, rechecked by the executor: order by both values (rows that tie in both come in any order)
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY tags <&> '{1,2}', tags <&> '{5,8}' LIMIT 5;
CREATE FUNCTION two(a text, b text, lim text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT array_agg(coalesce(o1::text, ''-'') || coalesce(o2::text, ''-'')), array_agg(id)
		FROM (SELECT tags <&> %s AS o1, tags <&> %s AS o2, id FROM t ORDER BY tags <&> %s, tags <&> %s LIMIT %s) s', a, b, a, b, lim);
	o text[]; ids int[]; o2 text[]; ids2 int[];
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
	EXECUTE query INTO o, ids;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true), set_config('enable_indexscan', 'off', true);
	EXECUTE query INTO o2, ids2;
	PERFORM set_config('enable_indexscan', 'on', true);
	RETURN cardinality(o) || CASE WHEN o = o2 THEN ' same' ELSE ' DIFFERENT' END ||
		CASE WHEN lim <> 'NULL' THEN '' WHEN ids @> ids2 AND ids <@ ids2 AND cardinality(ids) = cardinality(ids2) THEN ' all' ELSE ' NOT ALL' END;
END $$;
SELECT a, b, two(a, b, '30'), two(a, b, 'NULL') FROM (VALUES
	('''{1,2}''', '''{5,8}'''), ('''{5,8}''', 'genie_query(''{[1,10)}''::int4multirange)'), ('''{}''', '''{5,8}'''), ('''{5,8}''', '''{}'''),
	('null_query()', '''{5,8}'''), ('''{5,8}''', 'null_query()'), ('null_query()', 'null_query()'), ('''{1,2}''', '''{1,2}''')) v (a, b);
RESET enable_seqscan;
-- rows keep their TIDs: the executor holds none back (on some minor versions it would lose them)
SET enable_seqscan = off; SET enable_sort = off;
CREATE TEMP TABLE found AS SELECT ctid AS tid, id FROM t ORDER BY tags <&> '{1,2}', tags <&> '{5,8}' LIMIT 1000;
CREATE TEMP TABLE found_by_distance AS SELECT ctid AS tid, id FROM t ORDER BY tags <%> '{1,2}', tags <&> '{5,8}' LIMIT 1000;
BEGIN;
CREATE TEMP TABLE locked AS WITH l AS (SELECT ctid AS tid, id FROM t ORDER BY tags <%> '{1,2,5}', tags <&> '{5,8}' LIMIT 1000 FOR UPDATE) SELECT * FROM l;
RESET enable_seqscan; RESET enable_sort;
SELECT count(*), count(*) FILTER (WHERE t.id IS DISTINCT FROM f.id) AS wrong FROM (TABLE found UNION ALL TABLE found_by_distance UNION ALL TABLE locked) f LEFT JOIN t ON t.ctid = f.tid;
WITH updated AS (UPDATE t SET id = -t.id FROM found f WHERE t.ctid = f.tid RETURNING t.id = -f.id AS same) SELECT count(*), bool_and(same) FROM updated;
ROLLBACK;

-- other orders are sorted: DESC, NULLS FIRST, a further column
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY tags <&> '{1,2}' DESC LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY tags <&> '{1,2}' NULLS FIRST LIMIT 5;
-- (from PostgreSQL 16 on, within the rows of one count)
CREATE FUNCTION sorted(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN CASE WHEN plan::text ~ '"Incremental Sort".*"Index Scan"' AND current_setting('server_version_num')::int >= 160000 THEN 'as it should be'
		WHEN plan::text ~ '"Sort".*"Seq Scan"' AND current_setting('server_version_num')::int < 160000 THEN 'as it should be' ELSE plan::text END;
END $$;
SELECT sorted('SELECT id FROM t ORDER BY tags <&> ''{1,2}'', id LIMIT 5');
SELECT sorted('SELECT id FROM t ORDER BY tags <&> ''{1,2}'', w <&> ''{w1}'' LIMIT 5');
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY '{1,2}' <&> tags LIMIT 5;
RESET enable_seqscan;

-- several tiles, many of equal count, more than one page of best rows
CREATE TABLE big (id int, tags int[]) WITH (autovacuum_enabled = off);
INSERT INTO big SELECT i, ARRAY[i % 2, 10 + i % 3, 100 + i % 1000, 10000 + i] FROM generate_series(1, 140000) i;
CREATE INDEX big_tags ON big USING genie (tags);
DELETE FROM big WHERE id BETWEEN 60000 AND 70000 OR id % 5 = 0;
VACUUM big;
INSERT INTO big SELECT i, ARRAY[i % 2, 10 + i % 3, 100 + i % 1000, 10000 + i] FROM generate_series(140001, 142000) i;
SELECT agree('big t', 'tags <&> ''{0,11,105,75000,10001}''', 'LIMIT ' || l) FROM unnest('{1,10,100,1000,40000}'::int[]) l;
SELECT agree('big t', 'tags <&> ''{0,11,105,75000,10001}''');
SELECT agree('big t', 'tags <&> ''{75003}''', 'LIMIT 70000');
-- levels behind the best 65,536
SELECT agree('big t', 'tags <&> genie_query(''{[0,2),[10,12),[100,1000),[20000,150000)}''::int4multirange)');
SELECT agree('big t', 'tags <&> genie_query(''{[0,2),[10,12),[100,120),[20000,150000)}''::int4multirange)', 'LIMIT 45000');
SELECT agree('big t WHERE id % 1000 = 501', 'tags <&> ''{0,11,105}''', 'LIMIT 30');
SET work_mem = 64;
SELECT agree('big t', 'tags <&> ''{0,11,105,75000,10001}''', 'LIMIT 1000');
SELECT agree('big t', 'tags <&> genie_query(''{[0,2),[10,12),[100,120),[20000,150000)}''::int4multirange)', 'LIMIT 1000');
RESET work_mem;
-- several runs of rows a page, whose TIDs are found some at a time
REINDEX INDEX big_tags;
SELECT agree('big t', 'tags <&> ''{0,11,105,75002,10001}''', 'LIMIT ' || l) FROM unnest('{16,17,128,129,3000}'::int[]) l;
SELECT * FROM genie_check('t_tags') UNION ALL SELECT * FROM genie_check('t_w') UNION ALL SELECT * FROM genie_check('big_tags');

RESET search_path;
DROP SCHEMA index_order CASCADE;
