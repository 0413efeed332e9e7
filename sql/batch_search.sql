-- genie_search(): many queries in one call return what each returns by itself
CREATE SCHEMA batch_search;
SET search_path = batch_search, public;
SET client_min_messages = warning;
SET enable_seqscan = off;
SET enable_sort = off;
SET enable_bitmapscan = off;
SET jit = off;

\df genie_search

-- Ties, NULL and empty rows, rows that no query matches, pending rows, dead rows.
CREATE TABLE t (id int, x int[], note int);
INSERT INTO t SELECT g, CASE WHEN g % 50 = 0 THEN NULL WHEN g % 70 = 1 THEN '{}' ELSE ARRAY[g % 3, 10 + g % 4, 20 + g % 50, 100 + g % 7] END, 0
	FROM generate_series(1, 1000) g;
CREATE INDEX t_x ON t USING genie (x) WITH (pending_limit = 1024);
INSERT INTO t SELECT g, ARRAY[g % 3, 10 + g % 5, 3000 + g], 0 FROM generate_series(3001, 3100) g;
SELECT genie_merge('t_x');
INSERT INTO t SELECT g, CASE WHEN g % 9 > 0 THEN ARRAY[g % 3, 10 + g % 5, g] END, 0 FROM generate_series(3101, 3200) g;
DELETE FROM t WHERE id % 5 = 0;

CREATE TABLE q (i int, q genie_query);
INSERT INTO q SELECT i, genie_query(ARRAY[i % 3, 10 + i % 4, 20 + i % 50, 3100 + i]) FROM generate_series(1, 40) i;
INSERT INTO q VALUES (41, '{}@0'), (42, '{}@3'), (43, genie_query('{-7}'::int[])), (44, genie_query('{1,2}'::int[], 2)),
	(45, '{0:int:[10,25)}@1'), (46, '{0:int:(,12),0:int:[103,)}@1'), (47, genie_query('{3150}'::int[])), (48, genie_query('{3150}'::int[]));

-- The rows where a call and the queries one by one differ, and how many rows there are.
CREATE FUNCTION differences(k int, OUT n bigint, OUT different bigint) LANGUAGE sql AS $$
	WITH batch AS (SELECT s.query, s.tid, s.match_count, row_number() OVER (PARTITION BY s.query ORDER BY s.n) FROM
				genie_search('t_x', (SELECT array_agg(q ORDER BY i) FROM q), k) WITH ORDINALITY AS s (query, tid, match_count, n)),
		single AS (SELECT q.i AS query, s.tid, s.match_count, row_number() OVER (PARTITION BY q.i ORDER BY s.n) FROM q,
				LATERAL (SELECT r.*, row_number() OVER () AS n FROM (SELECT ctid AS tid, -(x <&> q.q) AS match_count FROM t ORDER BY x <&> q.q LIMIT k) r) s)
	SELECT count(*), count(*) FILTER (WHERE NOT (batch.tid IS NOT NULL AND batch.tid = single.tid AND batch.match_count IS NOT DISTINCT FROM single.match_count))
		FROM batch FULL JOIN single USING (query, row_number) $$;
SELECT k, differences.* FROM unnest('{1,2,10,100,4000,70000}'::int[]) k, differences(k);
VACUUM t;
SELECT k, differences.* FROM unnest('{1,10,1000}'::int[]) k, differences(k);
-- many dead rows stand before those that are visible
BEGIN;
DELETE FROM t WHERE x && '{0,1}' AND id < 2900;
SELECT k, differences.* FROM unnest('{1,10,100}'::int[]) k, differences(k);
ROLLBACK;
-- counted by this session
SET genie.worker = off;
SELECT k, differences.* FROM unnest('{1,10,100,4000}'::int[]) k, differences(k);
SET work_mem = 64;
SELECT k, differences.* FROM unnest('{10,1000}'::int[]) k, differences(k);
RESET work_mem;
RESET genie.worker;
-- a transaction sees its own changes, but a statement not those that it makes
BEGIN;
INSERT INTO t SELECT 5000 + g, ARRAY[1, 11, 21], 0 FROM generate_series(1, 50) g;
SELECT k, differences.* FROM unnest('{10,100}'::int[]) k, differences(k);
WITH more AS (INSERT INTO t VALUES (6000, '{77777}', 0) RETURNING ctid)
	SELECT (SELECT count(*) FROM more), match_count FROM genie_search('t_x', ARRAY[genie_query('{77777}'::int[])], 1);
ROLLBACK;
SELECT genie_merge('t_x');
SELECT k, differences.* FROM unnest('{10,100}'::int[]) k, differences(k);

-- what it returns
SELECT s.query, t.id, s.match_count, t.x FROM genie_search('t_x', ARRAY[genie_query('{1,11,21}'::int[]), '{0:int:[3101,3103]}'], 3)
	WITH ORDINALITY s (query, tid, match_count, n) JOIN t ON t.ctid = s.tid ORDER BY s.n;
SELECT count(*), count(DISTINCT tid) FROM genie_search('t_x', ARRAY[genie_query('{1}'::int[])]);
SELECT count(*), count(match_count), min(match_count) FROM genie_search('t_x', ARRAY['{}'::genie_query], 100000);
SELECT count(*) = (SELECT count(*) FROM t) FROM genie_search('t_x', ARRAY['{}'::genie_query], 2147483647);
SELECT array_agg(DISTINCT query) FROM genie_search('t_x', (SELECT array_agg('{0:int:1}'::genie_query) FROM generate_series(1, 5)), 2);
SELECT array_agg(DISTINCT query) FROM genie_search('t_x', '[7:9]={"{}","{}","{}"}'::genie_query[], 2);
SELECT * FROM genie_search('t_x', '{}'::genie_query[]);
SELECT * FROM genie_search('t_x', NULL::genie_query[]);
SELECT * FROM genie_search('t_x', '{}'::genie_query[], NULL);
SELECT * FROM genie_search('t_x', k => 1, queries => ARRAY['{0:int:3150}'::genie_query]) s WHERE match_count = 0;

-- rows updated in place: the TID is the row's own, and joins back by it
CREATE TABLE hot (id int, x int[], note int) WITH (fillfactor = 50);
INSERT INTO hot SELECT g, ARRAY[1000 + g, g % 10], 0 FROM generate_series(1, 500) g;
CREATE INDEX hot_x ON hot USING genie (x);
UPDATE hot SET note = 1 WHERE id % 3 = 0;
UPDATE hot SET note = 2 WHERE id % 6 = 0;
EXPLAIN (COSTS OFF) SELECT s.query, h.id FROM genie_search('hot_x', ARRAY[genie_query('{1003}'::int[])], 1) s JOIN hot h ON h.ctid = s.tid;
SELECT count(*), bool_and(h.id = s.query AND s.match_count = 2) AS right_rows, sum((h.note = CASE WHEN h.id % 6 = 0 THEN 2 WHEN h.id % 3 = 0 THEN 1 ELSE 0 END)::int) AS notes
	FROM genie_search('hot_x', (SELECT array_agg(genie_query(ARRAY[1000 + g, g % 10]) ORDER BY g) FROM generate_series(1, 500) g), 1) s JOIN hot h ON h.ctid = s.tid;
VACUUM hot;
-- all its pages are all-visible now, with redirections; three times, so that they are pinned where they were
SELECT n, level, (SELECT bool_and(h.id = s.query AND s.match_count = 2) AND count(*) = 500 FROM
	genie_search('hot_x', (SELECT array_agg(genie_query(ARRAY[1000 + g, g % 10]) ORDER BY g) FROM generate_series(1, 500) g), n) s JOIN hot h ON h.ctid = s.tid)
	FROM generate_series(1, 1) n, current_setting('transaction_isolation') level, generate_series(1, 3);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT n, level, (SELECT bool_and(h.id = s.query AND s.match_count = 2) AND count(*) = 500 FROM
	genie_search('hot_x', (SELECT array_agg(genie_query(ARRAY[1000 + g, g % 10]) ORDER BY g) FROM generate_series(1, 500) g), n) s JOIN hot h ON h.ctid = s.tid)
	FROM generate_series(1, 1) n, current_setting('transaction_isolation') level;
COMMIT;
UPDATE hot SET note = 3 WHERE id % 12 = 0;
SELECT count(*), bool_and(h.id = s.query) AS right_rows FROM
	genie_search('hot_x', (SELECT array_agg(genie_query(ARRAY[1000 + g, g % 10]) ORDER BY g) FROM generate_series(1, 500) g), 1) s JOIN hot h ON h.ctid = s.tid;

-- partial and expression indexes, domains, dropped columns, objects
CREATE INDEX t_part ON t USING genie (x) WHERE id < 100;
SELECT count(*), max(t.id) FROM genie_search('t_part', ARRAY[genie_query('{1}'::int[])], 1000) s JOIN t ON t.ctid = s.tid;
CREATE INDEX t_expr ON t USING genie (genie_tuple(id % 7, note));
SELECT t.id, s.match_count FROM genie_search('t_expr', ARRAY[genie_tuple_query(3, 0)], 3) s JOIN t ON t.ctid = s.tid;
CREATE DOMAIN numbers AS int[] CHECK (cardinality(VALUE) < 10);
CREATE TABLE d (gone int, x numbers, also_gone text);
ALTER TABLE d DROP COLUMN gone, DROP COLUMN also_gone;
INSERT INTO d VALUES ('{1,2}'), ('{2,3}'), (NULL);
CREATE INDEX d_x ON d USING genie (x);
ALTER TABLE d ADD COLUMN added int DEFAULT 5;
SELECT d.*, s.match_count FROM genie_search('d_x', ARRAY[genie_query('{2,3}'::int[])]) s JOIN d ON d.ctid = s.tid ORDER BY s.match_count DESC NULLS LAST;
CREATE TABLE o (x genie_object);
INSERT INTO o VALUES ('{1:int:5,2:text:a}'), ('{1:int:6}'), ('{}');
CREATE INDEX o_x ON o USING genie (x);
SELECT o.*, s.match_count FROM genie_search('o_x', ARRAY['{1:int:[5,6],2:text:a}'::genie_query]) s JOIN o ON o.ctid = s.tid;
CREATE TABLE nothing (x int[]);
CREATE INDEX nothing_x ON nothing USING genie (x);
SELECT * FROM genie_search('nothing_x', ARRAY[genie_query('{1}'::int[])]);
INSERT INTO nothing VALUES (NULL);
SELECT * FROM genie_search('nothing_x', ARRAY[genie_query('{1}'::int[])]);
CREATE TEMP TABLE temporary AS SELECT x FROM t WHERE id < 10;
CREATE INDEX temporary_x ON temporary USING genie (x);
SELECT count(*), max(match_count) FROM genie_search('temporary_x', ARRAY[genie_query('{1,11}'::int[])], 5);

-- intervals of all kinds and lengths, asked for by one query or many, in segments that have other keywords
CREATE TABLE long (id int, x genie_object);
CREATE INDEX long_x ON long USING genie (x);
CREATE FUNCTION word(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT repeat(chr(97 + i % 3), CASE i % 4 WHEN 0 THEN 1 WHEN 1 THEN 9 WHEN 2 THEN 100 ELSE 150 END) || i % 10 $$;
CREATE PROCEDURE fill(first int, last int) LANGUAGE sql AS $$
	INSERT INTO long SELECT i, format('{0:int:%s,5:text:%s,247:int:%s,300:text:%s,70000:int:%s}', i % 300 - 150, word(i), i::bigint * i * i * i, word(i / 7), -i * 1000)::genie_object FROM generate_series(first, last) i $$;
CALL fill(1, 1500);
SELECT genie_merge('long_x');
CALL fill(1501, 1550);
SELECT genie_merge('long_x');
CALL fill(1551, 1600);
SELECT segments, pending_rows FROM genie_index_info('long_x');
CREATE TABLE long_q (i int, q genie_query);
INSERT INTO long_q SELECT i, format('{0:int:[%s,%s),5:text:%s,247:int:(%s,),300:text:%s,70000:int:(,%s]}', i % 7 - 3, i % 7 + i % 2, word(i), i * 1000000, word(i + 1), -i * 6000)::genie_query FROM generate_series(1, 30) i;
INSERT INTO long_q SELECT 30 + i, format('{0:int:(%s,%s],5:text:[%3$s,z),247:int:(,%4$s),300:text:(%5$s,),70000:int:%6$s}', i % 7 - 3, i % 7 + i % 2, word(i), i * 1000000, word(i + 1), -i * 6000)::genie_query FROM generate_series(1, 30) i;
CREATE FUNCTION long_differences(k int, queries int, OUT n bigint, OUT different bigint) LANGUAGE sql AS $$
	WITH batch AS (SELECT query, array_agg((tid, match_count)::text ORDER BY s.n) AS found FROM genie_search('long_x', (SELECT array_agg(q ORDER BY i) FROM long_q WHERE i <= $2), k) WITH ORDINALITY s (query, tid, match_count, n) GROUP BY query)
	SELECT count(*), count(*) FILTER (WHERE found IS DISTINCT FROM (SELECT array_agg((ctid, match_count)::text ORDER BY r.n) FROM (SELECT ctid, -(x <&> q) AS match_count, row_number() OVER (ORDER BY x <&> q, ctid) AS n FROM long) r WHERE r.n <= k))
		FROM batch FULL JOIN long_q ON query = i WHERE i <= $2 $$;
SELECT k, d.* FROM unnest('{1,20,1600}'::int[]) k, unnest('{1,2,60}'::int[]) queries, long_differences(k, queries) d;
SET genie.worker = off;
SELECT k, d.* FROM unnest('{1,20,1600}'::int[]) k, unnest('{1,2,60}'::int[]) queries, long_differences(k, queries) d;
RESET genie.worker;

-- in a cursor, in a function, as an argument of each row
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT query, match_count FROM genie_search('t_x', ARRAY[genie_query('{1,11,21}'::int[])], 5);
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
ROLLBACK;
SELECT q.i, count(*) FROM q, genie_search('t_x', ARRAY[q.q], 3) WHERE q.i < 4 GROUP BY 1 ORDER BY 1;
SELECT differences(5) FROM generate_series(1, 2);
SELECT (genie_search('t_x', ARRAY[genie_query('{1,11,21}'::int[])], 2)).match_count;

-- ---- what is refused ----

SELECT * FROM genie_search('t_x', ARRAY[genie_query('{1}'::int[])], 0);
SELECT * FROM genie_search('t_x', ARRAY[genie_query('{1}'::int[])], -5);
SELECT * FROM genie_search('t_x', ARRAY[genie_query('{1}'::int[]), NULL]);
SELECT * FROM genie_search('t_x', ARRAY[ARRAY[genie_query('{1}'::int[])], ARRAY[genie_query('{1}'::int[])]]);
SELECT * FROM genie_search('t', ARRAY[genie_query('{1}'::int[])]);
SELECT * FROM genie_search('no_such_index', ARRAY[genie_query('{1}'::int[])]);
SELECT * FROM genie_search(0, ARRAY[genie_query('{1}'::int[])]);
CREATE INDEX t_id ON t (id);
SELECT * FROM genie_search('t_id', ARRAY[genie_query('{1}'::int[])]);
DROP INDEX t_id;

-- an operator class that does not rank by queries
CREATE OPERATOR CLASS conditions FOR TYPE anyarray USING genie AS OPERATOR 2 @& (anyarray, genie_query),
	FUNCTION 1 genie_array_decompose(anyarray, internal), FUNCTION 2 genie_array_compile(internal, int2, oid);
CREATE INDEX t_conditions ON t USING genie (x conditions);
SELECT * FROM genie_search('t_conditions', ARRAY[genie_query('{1}'::int[])]);
DROP INDEX t_conditions;

-- queries of another type than the rows, as the operator has it
SELECT * FROM genie_search('t_x', ARRAY[genie_query('{1}'::int[]), genie_query('{a}'::text[])]);
SELECT x <&> genie_query('{a}'::text[]) FROM t WHERE id = 2;
SELECT * FROM genie_search('t_x', ARRAY[genie_query('{1}'::int[]), '{0:int:1,0:text:a}', '{}'], 1);
SELECT * FROM genie_search('t_expr', ARRAY[genie_tuple_query('a', 0)]);
SELECT * FROM genie_search('nothing_x', ARRAY[genie_query('{a}'::text[])]);
-- rows that nobody sees do not count
CREATE TABLE mixed (id int, x genie_object);
CREATE INDEX mixed_x ON mixed USING genie (x);
INSERT INTO mixed VALUES (1, '{1:int:1}'), (2, '{1:text:a}');
SELECT * FROM genie_search('mixed_x', ARRAY['{1:int:1}'::genie_query]);
DELETE FROM mixed WHERE id = 2;
SELECT query, match_count FROM genie_search('mixed_x', ARRAY['{1:int:1}'::genie_query]);
SELECT genie_merge('mixed_x');
INSERT INTO mixed VALUES (3, '{1:text:b}');
SELECT genie_merge('mixed_x');
SELECT * FROM genie_search('mixed_x', ARRAY['{1:int:1}'::genie_query]);

-- a partitioned index, an invalid one
CREATE TABLE p (a int, x int[]) PARTITION BY LIST (a);
CREATE INDEX p_x ON p USING genie (x);
SELECT * FROM genie_search('p_x', ARRAY[genie_query('{1}'::int[])]);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2) PARTITION BY LIST (a);
CREATE TABLE p22 PARTITION OF p2 FOR VALUES IN (2);
SELECT * FROM genie_search('p_x', ARRAY[genie_query('{1}'::int[])]);
INSERT INTO p VALUES (1, '{1}'), (2, '{2}');
SELECT p.*, s.match_count FROM genie_search('p1_x_idx', ARRAY[genie_query('{1}'::int[])]) s JOIN p1 p ON p.ctid = s.tid;
CREATE TABLE many (a int, x int[]) PARTITION BY LIST (a);
CREATE INDEX many_x ON many USING genie (x);
SELECT format('CREATE TABLE many%s PARTITION OF many FOR VALUES IN (%s)', g, g) FROM generate_series(1, 10) g \gexec
SELECT * FROM genie_search('many_x', ARRAY[genie_query('{1}'::int[])]);
CREATE TABLE broken (x int[]);
INSERT INTO broken VALUES ('{1}');
BEGIN;
CREATE INDEX broken_x ON broken USING genie (x);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'broken_x'::regclass;
COMMIT;
SELECT * FROM genie_search('broken_x', ARRAY[genie_query('{1}'::int[])]);
UPDATE pg_index SET indisvalid = false, indisready = false WHERE indexrelid = 'broken_x'::regclass;
SELECT * FROM genie_search('broken_x', ARRAY[genie_query('{1}'::int[])]);

-- privileges: SELECT on the table, or on the columns that the index is made of
CREATE ROLE genie_batch_reader;
GRANT USAGE ON SCHEMA batch_search TO genie_batch_reader;
CREATE FUNCTION try(index text, q genie_query DEFAULT '{0:int:1}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	SET LOCAL ROLE genie_batch_reader;
	RETURN (SELECT count(*) || ' rows' FROM genie_search(index::regclass, ARRAY[q], 2));
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN concat_ws('. ', SQLERRM, nullif(hint, ''));
END $$;
SELECT try('t_x');
GRANT SELECT (x) ON t TO genie_batch_reader;
SELECT try('t_x'), try('t_part'), try('t_expr', '{1:int:1}');
GRANT SELECT (id) ON t TO genie_batch_reader;
SELECT try('t_x'), try('t_part'), try('t_expr', '{1:int:1}');
GRANT SELECT (note) ON t TO genie_batch_reader;
SELECT try('t_expr', '{1:int:1}');
REVOKE SELECT (id, x, note) ON t FROM genie_batch_reader;
GRANT SELECT ON t TO genie_batch_reader;
SELECT try('t_x'), try('t_expr', '{1:int:1}');
CREATE INDEX t_row ON t USING genie (genie_tuple(id)) WHERE t IS NOT NULL;
SELECT try('t_row', '{1:int:1}');
REVOKE SELECT ON t FROM genie_batch_reader;
GRANT SELECT (id) ON t TO genie_batch_reader;
SELECT try('t_row', '{1:int:1}');
DROP INDEX t_row;
GRANT SELECT ON t TO genie_batch_reader;
-- row-level security
CREATE POLICY even ON t USING (id % 2 = 0);
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SELECT try('t_x');
SET row_security = off;
SELECT try('t_x');
RESET row_security;
SELECT count(*) FROM genie_search('t_x', ARRAY[genie_query('{1}'::int[])]);
ALTER TABLE t OWNER TO genie_batch_reader;
SELECT try('t_x');
ALTER TABLE t FORCE ROW LEVEL SECURITY;
SELECT try('t_x');
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
SELECT try('t_x');

-- TIDs of a table of more than one tile with holes: most rows of a page, a few, one on each hundredth page, and NULLs.
CREATE TABLE sparse (id int, x int[], pad text);
ALTER TABLE sparse ALTER pad SET STORAGE PLAIN;
INSERT INTO sparse SELECT i, CASE WHEN hashint4(i) % 11 > 0 OR i % 3 = 0 THEN ARRAY[i] END, '' FROM generate_series(1, 90000) i;
INSERT INTO sparse SELECT i, ARRAY[i], repeat('x', 1000) FROM generate_series(90001, 105000) i;
INSERT INTO sparse SELECT i, ARRAY[i], repeat('x', 3900) FROM generate_series(105001, 112000) i;
INSERT INTO sparse SELECT i, ARRAY[i], repeat('x', 400) FROM generate_series(112001, 130000) i;
DELETE FROM sparse WHERE CASE WHEN id <= 30000 THEN hashint4(id) % 3 = 0 WHEN id <= 90000 THEN hashint4(id) % 50 = 0
	WHEN id <= 105000 THEN id % 70 = 0 WHEN id <= 112000 THEN id % 600 > 0 ELSE hashint4(id) % 9 > 5 END;
VACUUM (INDEX_CLEANUP ON) sparse;
CREATE INDEX sparse_x ON sparse USING genie (x);
CREATE TABLE asked AS SELECT step, row_number() OVER (PARTITION BY step ORDER BY id) AS n, id, x, tid
	FROM (SELECT id, x, ctid AS tid, row_number() OVER (ORDER BY id) AS place FROM sparse WHERE x IS NOT NULL) s, unnest('{3,40,500,25000}'::int[]) step
	WHERE place % step = 0;
CREATE TABLE answered AS SELECT step, s.* FROM (SELECT step, array_agg(genie_query(x) ORDER BY n) AS q FROM asked GROUP BY step) b, LATERAL genie_search('sparse_x', b.q, 1) s;
SET enable_nestloop = off;
SELECT a.step, count(*), count(*) FILTER (WHERE s.tid = a.tid AND s.match_count = 1) AS right
	FROM asked a LEFT JOIN answered s ON s.step = a.step AND s.query = a.n GROUP BY a.step ORDER BY a.step;
RESET enable_nestloop;
DROP TABLE sparse, asked, answered;

-- a query of so many intervals that its set does not look for them among other queries'
CREATE TABLE few AS SELECT i AS id, ARRAY[i, i * 3, i * 7 + 1] AS x FROM generate_series(1, 2000) i;
CREATE INDEX few_x ON few USING genie (x);
CREATE TABLE huge AS SELECT genie_query(array_agg(i * 3)) AS q FROM generate_series(1, 300000) i;
SELECT s.query, count(*), bool_and(s.match_count = -(f.x <&> a.q)) AS counts, min(s.match_count) FROM (SELECT ARRAY[genie_query('{3,6}'::int[]), q, genie_query('{9}'::int[]), q] AS queries FROM huge) h,
	LATERAL genie_search('few_x', h.queries, 5) s JOIN few f ON f.ctid = s.tid, LATERAL (SELECT h.queries[s.query] AS q) a GROUP BY s.query ORDER BY s.query;
DROP TABLE few, huge;

SELECT batch_searches, batch_queries, batch_queries_done FROM genie_stat;
RESET search_path;
DROP SCHEMA batch_search CASCADE;
DROP ROLE genie_batch_reader;
