-- genie_search_parts(): the best rows of all partitions, as if they were one table
CREATE SCHEMA batch_parts;
SET search_path = batch_parts, public;
SET client_min_messages = warning;
SET jit = off;

\df genie_search_parts

-- Partitions are not made in the order of their bounds: two levels, a default partition, an empty one, one whose columns stand elsewhere.
CREATE TABLE p (id int, a int, x int[], v real[], note int) PARTITION BY RANGE (a);
CREATE TABLE p_rest PARTITION OF p DEFAULT;
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (300) TO (400);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (200) TO (300) PARTITION BY LIST (note);
CREATE TABLE p2_rest PARTITION OF p2 DEFAULT;
CREATE TABLE p2_1 PARTITION OF p2 FOR VALUES IN (1);
CREATE TABLE p_empty PARTITION OF p FOR VALUES FROM (150) TO (200);
CREATE TABLE p1 (note int, gone int, v real[], x int[], a int, id int);
ALTER TABLE p1 DROP COLUMN gone;
ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (100);
CREATE TABLE places AS SELECT * FROM unnest('{p1,p_empty,p2_1,p2_rest,p3,p_rest}'::regclass[]) WITH ORDINALITY s (part, n);
CREATE PROCEDURE fill(first int, last int) LANGUAGE sql AS $$
	INSERT INTO p SELECT i, i * 7 % 500 - CASE WHEN i * 7 % 500 BETWEEN 150 AND 199 THEN 100 ELSE 0 END,
		CASE WHEN i % 50 = 0 THEN NULL WHEN i % 70 = 1 THEN '{}' ELSE ARRAY[i % 3, 10 + i % 4, 20 + i % 50, 100 + i % 7] END,
		CASE WHEN i % 60 > 0 THEN ARRAY[i % 5, i % 7, i % 3, i % 2, i % 4, i % 6]::real[] END, i % 3 FROM generate_series(first, last) i $$;
CALL fill(1, 1000);
CREATE INDEX p_x ON p USING genie (x);
CREATE INDEX p_v ON p USING genie (v genie_l2_exact_ops);
CREATE INDEX p_lsh ON p USING genie (v genie_l2_ops);

-- The oracle: a table that has all rows in the order of the partitions, so that its TIDs are in the order in which rows that are equal come.
CREATE TABLE one (LIKE p);
CREATE INDEX one_x ON one USING genie (x);
CREATE INDEX one_v ON one USING genie (v genie_l2_exact_ops);
CREATE INDEX one_lsh ON one USING genie (v genie_l2_ops);
CREATE PROCEDURE copy_rows() LANGUAGE sql AS $$
	TRUNCATE one;
	INSERT INTO one SELECT p.* FROM p JOIN places ON part = p.tableoid ORDER BY n, p.ctid $$;
CALL copy_rows();
CREATE TABLE queries (kind text, queries text, value text);
INSERT INTO queries SELECT 'x', format('%L::genie_query[]', array_agg(genie_query(ARRAY[i % 3, 10 + i % 4, 20 + i % 50, 100 + i % 7]) ORDER BY i) || ARRAY['{}@0', '{0:int:[10,25)}@1']::genie_query[]), 'match_count'
	FROM generate_series(1, 30) i;
INSERT INTO queries SELECT k, format('%L::real[]', array_agg(ARRAY[i % 5, i % 7, i % 3, i % 2, i % 4, i % 6] ORDER BY i)), 'distance' FROM generate_series(1, 20) i, unnest('{v,lsh}'::text[]) k GROUP BY k;
INSERT INTO queries VALUES ('x', 'ARRAY[[1,11,21],[2,10,20]]', 'distance');

-- the rows where the two differ, and how many there are
CREATE FUNCTION differences(kind text, queries text, value text, k int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('WITH a AS MATERIALIZED (SELECT s.query, p.id, s.%4$I, s.n FROM genie_search_parts(%1$L, %2$s, %3$s)
			WITH ORDINALITY s (query, part, tid, %4$I, n) LEFT JOIN p ON p.tableoid = s.part AND p.ctid = s.tid),
		b AS MATERIALIZED (SELECT s.query, one.id, s.%4$I, s.n FROM genie_search(%5$L, %2$s, %3$s)
			WITH ORDINALITY s (query, tid, %4$I, n) LEFT JOIN one ON one.ctid = s.tid)
		SELECT format(''%%s of %%s'', count(*) FILTER (WHERE a IS DISTINCT FROM b), count(*)) FROM a FULL JOIN b USING (n)',
		'p_' || kind, queries, k, value, 'one_' || kind) INTO result;
	RETURN result;
END $$;
SET genie.candidates = 2000;
SELECT kind, value, k, differences(kind, queries, value, k) FROM queries, unnest('{1,7,100,5000,100000}'::int[]) k ORDER BY 1, 2, 3;
-- pending rows and dead ones; the session's own, in a transaction
CALL fill(1001, 1200);
DELETE FROM p WHERE id % 9 = 4;
CALL copy_rows();
SELECT kind, value, k, differences(kind, queries, value, k) FROM queries, unnest('{7,5000}'::int[]) k ORDER BY 1, 2, 3;
VACUUM p;
SELECT kind, value, k, differences(kind, queries, value, k) FROM queries, unnest('{7,5000}'::int[]) k ORDER BY 1, 2, 3;
BEGIN;
CALL fill(1201, 1210);
DELETE FROM p WHERE tableoid = 'p3'::regclass;
CALL copy_rows();
SELECT kind, value, k, differences(kind, queries, value, k) FROM queries, unnest('{7,5000}'::int[]) k ORDER BY 1, 2, 3;
ROLLBACK;
-- rows of some partitions, and then of more, do not fit into work_mem
SET work_mem = 64;
SELECT kind, value, k, differences(kind, queries, value, k) FROM queries, unnest('{7,5000}'::int[]) k ORDER BY 1, 2, 3;
RESET work_mem;
SET genie.worker = off;
SELECT kind, value, k, differences(kind, queries, value, k) FROM queries, unnest('{7}'::int[]) k ORDER BY 1, 2, 3;
RESET genie.worker;
RESET genie.candidates;

-- what it returns; equal rows of several partitions
SELECT s.query, s.part, p.id, s.match_count FROM genie_search_parts('p_x', ARRAY[genie_query('{1,11,21}'::int[]), '{0:int:119}'], 4)
	WITH ORDINALITY s (query, part, tid, match_count, n) JOIN p ON p.tableoid = part AND p.ctid = tid ORDER BY s.n;
SELECT DISTINCT part FROM genie_search_parts('p_x', ARRAY[genie_query('{1}'::int[])], 5000) ORDER BY 1;
SELECT part, count(*), count(match_count) FROM genie_search_parts('p_x', ARRAY['{}'::genie_query], 2147483647) GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM genie_search_parts('p_x', ARRAY[genie_query('{1}'::int[])]);
SELECT array_agg(DISTINCT query) FROM genie_search_parts('p_v', ARRAY[[1,2,3,4,5,6],[6,5,4,3,2,1]], 3);
SELECT * FROM genie_search_parts('p_x', '{}'::genie_query[]);
SELECT * FROM genie_search_parts('p_x', NULL::genie_query[]);
-- a partitioned partition, a partition
SELECT part, count(*) FROM genie_search_parts('p2_x_idx', ARRAY[genie_query('{1}'::int[])], 5000) GROUP BY 1 ORDER BY 1;
SELECT part, count(*) FROM genie_search_parts('p3_x_idx', ARRAY[genie_query('{1}'::int[])], 3) GROUP BY 1 ORDER BY 1;
SELECT part, count(*) FROM genie_search_parts('one_v', ARRAY[1,2,3,4,5,6], 3) GROUP BY 1 ORDER BY 1;
-- backwards, as an argument of each row
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT query, part, match_count FROM genie_search_parts('p_x', ARRAY[genie_query('{1,11,21}'::int[])], 5);
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
ROLLBACK;
SELECT i, count(*) FROM generate_series(1, 3) i, genie_search_parts('p_x', ARRAY[genie_query(ARRAY[i])], 3) GROUP BY 1 ORDER BY 1;
-- a partition comes and goes
BEGIN;
ALTER TABLE p DETACH PARTITION p3;
SELECT part, count(*) FROM genie_search_parts('p_x', ARRAY['{}'::genie_query], 5000) GROUP BY 1 ORDER BY 1;
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (300) TO (400);
SELECT part, count(*) FROM genie_search_parts('p_x', ARRAY['{}'::genie_query], 5000) GROUP BY 1 ORDER BY 1;
ROLLBACK;

-- other classes, by other forms of queries
CREATE TABLE h (id int, t text, b bit(16), d float8[], f float8[], vb varbit, s text[]) PARTITION BY HASH (id);
SELECT format('CREATE TABLE h%s PARTITION OF h FOR VALUES WITH (MODULUS 3, REMAINDER %1$s)', g) FROM generate_series(0, 2) g \gexec
INSERT INTO h SELECT i, translate(md5(i::text), '0123456789', 'oiieaagtbp'), (i * 40503 % 65536)::bit(16), ARRAY[i % 5, i % 7, i % 3], ARRAY[i % 5, i % 7, i % 3],
	(i * 40503 % 65536)::bit(16), ARRAY[(i % 7)::text, (i % 11)::text] FROM generate_series(1, 400) i;
CREATE INDEX h_t ON h USING genie (t genie_edit_exact_ops);
CREATE INDEX h_b ON h USING genie (b genie_hamming_exact_ops);
CREATE INDEX h_d ON h USING genie (d genie_l1_exact_float8_ops);
CREATE INDEX h_s ON h USING genie (s);
CREATE FUNCTION nearest(index text, queries text, exact text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT (SELECT array_agg(distance ORDER BY n) FROM genie_search_parts(%L, %s, 20) WITH ORDINALITY s (query, part, tid, distance, n)) = (SELECT array_agg(d) FROM (SELECT %s AS d FROM h ORDER BY 1 LIMIT 20) s)', index, queries, exact) INTO result;
	RETURN result;
END $$;
SELECT nearest('h_t', $$ARRAY['oiieaag']$$, $$t <~> 'oiieaag'$$), nearest('h_b', $$ARRAY[B'0101010101010101']$$, $$b <&~> B'0101010101010101'$$),
	nearest('h_b', $$ARRAY[B'0101010101010101'::varbit]$$, $$b <&~> B'0101010101010101'$$), nearest('h_d', $$ARRAY[1, 2, 3]::float8[]$$, $$d <+> '{1,2,3}'$$),
	nearest('h_d', $$ARRAY[1, 2, 3]::bigint[]$$, $$d <+> '{1,2,3}'$$), nearest('h_d', $$ARRAY[1, 2, 3]::smallint[]$$, $$d <+> '{1,2,3}'$$),
	nearest('h_s', $$ARRAY['1','3']$$, $$s <%> '{1,3}'$$), nearest('h_s', $$ARRAY[genie_object('{1,3}'::text[])]$$, $$s <%> '{1,3}'::text[]$$);

-- ---- what is refused ----

SELECT * FROM genie_search('p_x', ARRAY[genie_query('{1}'::int[])]);
SELECT * FROM genie_search('p_v', ARRAY[1,2,3,4,5,6]::real[]);
SELECT * FROM genie_within('p_v', ARRAY[1,2,3,4,5,6]::real[], '{1}');
SELECT * FROM genie_search_parts('p_x', ARRAY[genie_query('{1}'::int[])], 0);
SELECT * FROM genie_search_parts('p_x', ARRAY[genie_query('{1}'::int[]), NULL]);
SELECT * FROM genie_search_parts('p_x', ARRAY[genie_query('{a}'::text[])]);
SELECT * FROM genie_search_parts('p_v', ARRAY[genie_query('{1}'::int[])]);
SELECT * FROM genie_search_parts('p_v', ARRAY['a']);
SELECT * FROM genie_search_parts('p_v', ARRAY[1,2]::real[]);
SELECT * FROM genie_search_parts('p', ARRAY[genie_query('{1}'::int[])]);
SELECT * FROM genie_search_parts(0, ARRAY[genie_query('{1}'::int[])]);
CREATE INDEX p_id ON p (id);
SELECT * FROM genie_search_parts('p_id', ARRAY[genie_query('{1}'::int[])]);
DROP INDEX p_id;

-- no partitions, an index of the parent alone, an attached one that is not valid
CREATE TABLE few (a int, x int[]) PARTITION BY LIST (a);
CREATE INDEX few_x ON ONLY few USING genie (x);
SELECT * FROM genie_search_parts('few_x', ARRAY[genie_query('{1}'::int[])]);
SELECT * FROM genie_search_parts('few_x', ARRAY[genie_query('{1}'::int[])], 0);
CREATE TABLE few1 (a int, x int[]);
INSERT INTO few1 VALUES (1, '{1}');
ALTER TABLE few ATTACH PARTITION few1 FOR VALUES IN (1);
SELECT part, match_count FROM genie_search_parts('few_x', ARRAY[genie_query('{1}'::int[])]);
CREATE INDEX few_y ON ONLY few USING genie (x);
SELECT * FROM genie_search_parts('few_y', ARRAY[genie_query('{1}'::int[])]);
CREATE TABLE few2 PARTITION OF few FOR VALUES IN (2) PARTITION BY LIST (a);
CREATE INDEX few1_y ON few1 USING genie (x);
ALTER INDEX few_y ATTACH PARTITION few1_y;
SELECT part, match_count FROM genie_search_parts('few_y', ARRAY[genie_query('{1}'::int[])]);
CREATE TABLE few22 PARTITION OF few2 FOR VALUES IN (2);
INSERT INTO few VALUES (2, '{1,2}');
SELECT part, match_count FROM genie_search_parts('few_y', ARRAY[genie_query('{1}'::int[])]);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'few1_y'::regclass;
SELECT * FROM genie_search_parts('few_y', ARRAY[genie_query('{1}'::int[])]);
UPDATE pg_index SET indisvalid = false, indisready = false WHERE indexrelid = 'few1_y'::regclass;
SELECT * FROM genie_search_parts('few_y', ARRAY[genie_query('{1}'::int[])]);
-- others are not affected
SELECT part, match_count FROM genie_search_parts('few_x', ARRAY[genie_query('{1}'::int[])]);

-- a foreign table
CREATE FOREIGN DATA WRAPPER genie_parts_wrapper;
CREATE SERVER genie_parts_server FOREIGN DATA WRAPPER genie_parts_wrapper;
CREATE FOREIGN TABLE few3 PARTITION OF few FOR VALUES IN (3) SERVER genie_parts_server;
SELECT * FROM genie_search_parts('few_x', ARRAY[genie_query('{1}'::int[])]);
DROP FOREIGN DATA WRAPPER genie_parts_wrapper CASCADE;
SELECT part, match_count FROM genie_search_parts('few_x', ARRAY[genie_query('{1}'::int[])]);

-- privileges: those on the table that is named by its index; policies, too
CREATE ROLE genie_parts_reader;
GRANT USAGE ON SCHEMA batch_parts TO genie_parts_reader;
CREATE FUNCTION try(index text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	SET LOCAL ROLE genie_parts_reader;
	RETURN (SELECT count(*) || ' rows' FROM genie_search_parts(index::regclass, ARRAY['{0:int:1}'::genie_query], 2));
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN concat_ws('. ', SQLERRM, nullif(hint, ''));
END $$;
SELECT try('p_x');
GRANT SELECT ON p1, p2, p3, p_rest, p_empty TO genie_parts_reader;
SELECT try('p_x'), try('p2_x_idx'), try('p3_x_idx'), try('p2_1_x_idx');
REVOKE SELECT ON p1, p2, p3, p_rest, p_empty FROM genie_parts_reader;
GRANT SELECT (v) ON p TO genie_parts_reader;
SELECT try('p_x');
GRANT SELECT (x) ON p TO genie_parts_reader;
SELECT try('p_x'), try('p3_x_idx');
REVOKE SELECT (x, v) ON p FROM genie_parts_reader;
GRANT SELECT ON p TO genie_parts_reader;
ALTER TABLE p3 ENABLE ROW LEVEL SECURITY;
SELECT try('p_x'), try('p3_x_idx');
GRANT SELECT ON p3 TO genie_parts_reader;
SELECT try('p3_x_idx');
ALTER TABLE p ENABLE ROW LEVEL SECURITY;
SELECT try('p_x');
SELECT count(*) FROM genie_search_parts('p_x', ARRAY['{0:int:1}'::genie_query], 2);
ALTER TABLE p DISABLE ROW LEVEL SECURITY;

-- ORDER BY ... LIMIT over 64 partitions: each index gives its rows in order, and as few as are needed
CREATE TABLE m (id int, a int, x int[]) PARTITION BY LIST (a);
DO $$ BEGIN
	FOR i IN 0 .. 63 LOOP
		EXECUTE format('CREATE TABLE m%s PARTITION OF m FOR VALUES IN (%1$s)', i);
	END LOOP;
END $$;
CREATE INDEX m_x ON m USING genie (x);
INSERT INTO m SELECT i, i % 64, ARRAY[i % 3, 10 + i % 11, 30 + i % 101, 200 + i % 1009] FROM generate_series(1, 6400) i;
ANALYZE m;
CREATE TABLE m_one AS SELECT * FROM m ORDER BY a, id;
CREATE INDEX m_one_x ON m_one USING genie (x);
SET enable_seqscan = off;
SET enable_sort = off;
-- lines of the plan, without the numbers of partitions
CREATE FUNCTION plan(statement text) RETURNS TABLE (line text, n bigint) LANGUAGE plpgsql AS $$
DECLARE
	explained text;
	lines text[];
BEGIN
	FOR explained IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		lines := lines || regexp_replace(ltrim(explained, '-> '), 'm\d+', 'mN', 'g');
	END LOOP;
	RETURN QUERY SELECT regexp_replace(l, 'm_\d+$', 'm_N'), count(*) FROM unnest(lines) l WHERE l !~ '^Disabled' GROUP BY 1 ORDER BY 2, 1;
END $$;
SELECT * FROM plan('SELECT id FROM m ORDER BY x <&> ''{1,12,40,300}'' LIMIT 10');
SELECT bool_and(a.counts = b.counts) AS same, count(*) FROM generate_series(1, 40) i, LATERAL (SELECT genie_query(ARRAY[i % 3, 10 + i % 11, 30 + i, 200 + 7 * i]) AS q) q,
	LATERAL (SELECT array_agg(c) AS counts FROM (SELECT x <&> q AS c FROM m ORDER BY x <&> q LIMIT 10) s) a,
	LATERAL (SELECT array_agg(c) AS counts FROM (SELECT x <&> q AS c FROM m_one ORDER BY x <&> q LIMIT 10) s) b;
SELECT count(*) FILTER (WHERE m.id IS DISTINCT FROM m_one.id OR p.match_count <> s.match_count) AS different, count(*) FROM
	genie_search_parts('m_x', ARRAY(SELECT genie_query(ARRAY[i % 3, 10 + i % 11, 30 + i, 200 + 7 * i]) FROM generate_series(1, 100) i)) WITH ORDINALITY p (query, part, tid, match_count, n)
	FULL JOIN genie_search('m_one_x', ARRAY(SELECT genie_query(ARRAY[i % 3, 10 + i % 11, 30 + i, 200 + 7 * i]) FROM generate_series(1, 100) i)) WITH ORDINALITY s (query, tid, match_count, n) USING (n)
	LEFT JOIN m ON m.tableoid = p.part AND m.ctid = p.tid LEFT JOIN m_one ON m_one.ctid = s.tid;
RESET enable_seqscan;
RESET enable_sort;

RESET search_path;
DROP SCHEMA batch_parts CASCADE;
DROP ROLE genie_parts_reader;
