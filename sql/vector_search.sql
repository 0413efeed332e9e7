-- genie_search() by distance: the rows of a scan's first round, for many queries at once
CREATE SCHEMA vector_search;
SET search_path = vector_search, public;
SET extra_float_digits = 0;
CREATE FUNCTION element(i int, j int) RETURNS real LANGUAGE sql IMMUTABLE AS $$ SELECT ((hashint8((i * 64 + j)::bigint) & 4095) - 2048) / 64.0::real $$;
-- vectors lie around 40 centres; some are equal
CREATE FUNCTION vector(i int) RETURNS real[] LANGUAGE sql IMMUTABLE AS
	$$ SELECT array_agg((element(i % 40, j) + element(1000 + i % 2000, j) / 8)::real ORDER BY j) FROM generate_series(1, 12) j $$;
CREATE FUNCTION bits(v real[]) RETURNS bit(12) LANGUAGE sql IMMUTABLE AS $$ SELECT string_agg((e > 0)::int::text, '' ORDER BY n)::bit(12) FROM unnest(v) WITH ORDINALITY u (e, n) $$;
CREATE FUNCTION elements(v real[]) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$ SELECT array_agg((n * 100 + floor(e / 4))::int) FROM unnest(v) WITH ORDINALITY u (e, n) $$;
CREATE TABLE t (id int, v real[], d float8[], b bit(12), s int[], note int) WITH (autovacuum_enabled = off, fillfactor = 80);
INSERT INTO t SELECT i, x, x, bits(x), elements(x), 0 FROM (SELECT i, CASE WHEN i % 100 > 0 THEN vector(i) END AS x FROM generate_series(1, 1500) i) r;
CREATE TABLE q AS SELECT row_number() OVER (ORDER BY i)::int AS n, vector(i * 7 + 1) AS v FROM generate_series(1, 15) i;

-- the rows of both, "query tid distance", in order
CREATE FUNCTION batch(name text, type text, k int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows text;
BEGIN
	EXECUTE format('SELECT string_agg(concat_ws('' '', query, tid, distance), E''\n'') FROM genie_search(%L, %s, %s)', name,
		CASE type WHEN 'bit' THEN '(SELECT array_agg(bits(v) ORDER BY n) FROM q)' WHEN 'int' THEN '(SELECT array_agg(genie_object(elements(v)) ORDER BY n) FROM q)' ELSE format('(SELECT array_agg(v ORDER BY n)::%s[] FROM q)', type) END, k) INTO rows;
	RETURN rows;
END $$;
CREATE FUNCTION scans(operand text, operator text, type text, k int, condition text DEFAULT 'true') RETURNS text LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	line text;
	plan text := '';
	rows text;
	asked text := CASE type WHEN 'bit' THEN 'bits(q.v)' WHEN 'int' THEN 'elements(q.v)' ELSE format('q.v::%s[]', type) END;
	query text := format('SELECT string_agg(concat_ws('' '', n, tid, distance), E''\n'' ORDER BY n, row) FROM q, LATERAL
		(SELECT r.*, row_number() OVER () AS row FROM (SELECT ctid AS tid, %s %s %s AS distance FROM t WHERE %s ORDER BY %1$s %2$s %3$s LIMIT %5$s) r) s', operand, operator, asked, condition, k);
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	IF plan !~ 'Index Scan using' THEN
		RAISE 'not an index scan: %', plan;
	END IF;
	EXECUTE query INTO rows;
	RETURN rows;
END $$;

CREATE INDEX t_l2 ON t USING genie (v genie_l2_ops);
CREATE INDEX t_cosine ON t USING genie (v genie_cosine_ops);
CREATE INDEX t_laplacian ON t USING genie (v genie_laplacian_ops);
CREATE INDEX t_double ON t USING genie (d genie_l2_float8_ops);
CREATE INDEX t_bits ON t USING genie (b genie_hamming_ops);
CREATE INDEX t_sets ON t USING genie (s genie_minhash_ops);
CREATE FUNCTION same(ks int[]) RETURNS TABLE (k int, l2 bool, cosine bool, laplacian bool, double bool, bits bool, sets bool, wide_l2 bool, wide_cosine bool, wide_laplacian bool) LANGUAGE sql AS $$
	SELECT k, batch('t_l2', 'real', k) = scans('v', '<->', 'real', k), batch('t_cosine', 'real', k) = scans('v', '<=>', 'real', k),
		batch('t_laplacian', 'real', k) = scans('v', '<+>', 'real', k), batch('t_double', 'float8', k) = scans('d', '<->', 'float8', k),
		batch('t_bits', 'bit', k) = scans('b', '<&~>', 'bit', k), batch('t_sets', 'int', k) = scans('s', '<%>', 'int', k),
		batch('t_l2', 'float8', k) = scans('v', '<->', 'float8', k), batch('t_cosine', 'float8', k) = scans('v', '<=>', 'float8', k), batch('t_laplacian', 'float8', k) = scans('v', '<+>', 'float8', k)
		FROM unnest(ks) k $$;
SET genie.candidates = 100;
SELECT * FROM same('{1,10,100}');
-- candidates are all rows: exact, and NULLs last
SET genie.candidates = 10000;
SELECT * FROM same('{1,10,1480,2000}');
SELECT count(*), count(distance), count(DISTINCT tid) FROM genie_search('t_l2', (SELECT array_agg(v ORDER BY n) FROM q), 10000);
-- k above genie.candidates: k candidates are taken
SET genie.candidates = 1;
SELECT count(*), bool_and(distance >= before) FROM (SELECT distance, lag(distance, 1, 0::float8) OVER (PARTITION BY query ORDER BY n) AS before
	FROM genie_search('t_l2', (SELECT array_agg(v ORDER BY n) FROM q), 50) WITH ORDINALITY s (query, tid, distance, n)) r;

-- pending rows, rows updated in place and elsewhere, deleted ones before and after VACUUM
SET genie.candidates = 100;
UPDATE t SET note = 1 WHERE id % 3 = 0;
UPDATE t SET v = vector(id + 1), d = vector(id + 1), b = bits(vector(id + 1)), s = elements(vector(id + 1)) WHERE id % 10 = 5;
DELETE FROM t WHERE id % 4 = 0;
INSERT INTO t SELECT i, x, x, bits(x), elements(x), 0 FROM (SELECT i, vector(i) AS x FROM generate_series(1501, 1600) i) r;
SELECT * FROM same('{10,100}');
VACUUM t;
SELECT * FROM same('{10,100}');
SET genie.candidates = 10000;
SELECT * FROM same('{10,2000}');
-- numbers of functions and of buckets that have several bytes, both signs, and segments in which other buckets are filled
BEGIN;
DROP INDEX t_l2, t_cosine, t_laplacian, t_bits, t_sets;
CREATE INDEX t_many ON t USING genie (v genie_l2_ops (hashes = 300, width = 0.05, probes = 100));
CREATE INDEX t_signs ON t USING genie (v genie_cosine_ops (hashes = 260, signs));
CREATE INDEX t_bins ON t USING genie (v genie_laplacian_ops (hashes = 300, buckets = 0));
CREATE INDEX t_bits ON t USING genie (b genie_hamming_ops (hashes = 300, bits = 2));
CREATE INDEX t_sets ON t USING genie (s genie_minhash_ops (hashes = 300, buckets = 0));
CREATE VIEW same_many AS SELECT k, batch('t_many', 'real', k) = scans('v', '<->', 'real', k) AS l2, batch('t_signs', 'real', k) = scans('v', '<=>', 'real', k) AS cosine,
	batch('t_bins', 'real', k) = scans('v', '<+>', 'real', k) AS laplacian, batch('t_bits', 'bit', k) = scans('b', '<&~>', 'bit', k) AS bits, batch('t_sets', 'int', k) = scans('s', '<%>', 'int', k) AS sets FROM unnest('{1,100}'::int[]) k;
SET LOCAL genie.candidates = 100;
SELECT * FROM same_many;
INSERT INTO t SELECT i, x, x, bits(x), elements(x), 0 FROM (SELECT i, array_agg((e * 100 + 1000)::real) AS x FROM generate_series(2001, 2100) i, unnest(vector(i)) e GROUP BY i) r;
SELECT genie_merge(i) FROM unnest('{t_many,t_signs,t_bins,t_bits,t_sets}'::regclass[]) i;
INSERT INTO t SELECT i, x, x, bits(x), elements(x), 0 FROM (SELECT i, vector(i) AS x FROM generate_series(2101, 2200) i) r;
INSERT INTO q SELECT id - 1985, v FROM t WHERE id BETWEEN 2001 AND 2030;
SELECT segments, pending_rows FROM genie_index_info('t_many');
SELECT * FROM same_many;
ROLLBACK;
-- an index that has not learned yet is exact
CREATE TABLE few (v real[]);
CREATE INDEX few_v ON few USING genie (v genie_l2_ops);
INSERT INTO few SELECT vector(i) FROM generate_series(1, 100) i;
INSERT INTO few VALUES (NULL);
SET genie.candidates = 10;
SELECT s.query, count(*), bool_and(f.v <-> q.v IS NOT DISTINCT FROM s.distance), count(*) FILTER (WHERE s.distance IS NULL) FROM genie_search('few_v', (SELECT array_agg(v ORDER BY n) FROM q WHERE n <= 2), 200) s
	JOIN few f ON f.ctid = s.tid JOIN q ON q.n = s.query GROUP BY 1 ORDER BY 1;
CREATE TABLE few_sets (s text[]);
CREATE INDEX few_sets_s ON few_sets USING genie (s genie_minhash_ops);
INSERT INTO few_sets VALUES ('{a,b,c}'), ('{b,c,d}'), ('{}'), (NULL), ('{x,NULL}');
SELECT q.query, f.s, q.distance FROM genie_search('few_sets_s', ARRAY[genie_object('{a,b}'::text[]), genie_object('{}'::text[]), '{0:text:x}'], 3) WITH ORDINALITY q (query, tid, distance, n) JOIN few_sets f ON f.ctid = q.tid ORDER BY n;
SELECT s FROM few_sets ORDER BY s <%> genie_object('{c,d}'::text[]) LIMIT 2;
SELECT * FROM genie_search('few_sets_s', ARRAY[genie_object('{1}'::int[])]);
SELECT * FROM genie_search('few_sets_s', ARRAY[genie_query('{a}'::text[])]);
SELECT * FROM genie_search('few_sets_s', ARRAY['{}'::genie_object, NULL]);
-- queries of real[] on an index of double precision[]: PostgreSQL casts the operator's right operand, and so does the call
CREATE TABLE fine AS SELECT id, (SELECT array_agg(e / 3::float8 ORDER BY n) FROM unnest(v) WITH ORDINALITY u (e, n)) AS d FROM t;
CREATE INDEX fine_l2 ON fine USING genie (d genie_l2_float8_ops);
CREATE INDEX fine_laplacian ON fine USING genie (d genie_laplacian_float8_ops);
CREATE INDEX fine_cosine ON fine USING genie (d genie_cosine_float8_ops);
SET genie.candidates = 10000;
CREATE VIEW fine_asked AS SELECT i, count(*), count(*) FILTER (WHERE s.distance IS DISTINCT FROM CASE i WHEN 'fine_l2' THEN f.d <-> q.v WHEN 'fine_laplacian' THEN f.d <+> q.v ELSE f.d <=> q.v END) AS different
	FROM unnest('{fine_l2,fine_laplacian,fine_cosine}'::text[]) i, genie_search(i::regclass, (SELECT array_agg(v ORDER BY n) FROM q), 20) s
	JOIN fine f ON f.ctid = s.tid JOIN q ON q.n = s.query GROUP BY i ORDER BY i;
SELECT * FROM fine_asked;
SELECT count(*) FROM (SELECT query, tid, distance FROM genie_search('fine_l2', (SELECT array_agg(v ORDER BY n) FROM q), 20)
	EXCEPT SELECT n, r.* FROM q, LATERAL (SELECT ctid, d <-> q.v FROM fine ORDER BY d <-> q.v, ctid LIMIT 20) r) missed;
SELECT count(*) FROM (SELECT * FROM genie_search('fine_l2', (SELECT array_agg(v ORDER BY n) FROM q), 20)
	EXCEPT SELECT * FROM genie_search('fine_l2', (SELECT array_agg(v ORDER BY n)::float8[] FROM q), 20)) other;
INSERT INTO fine SELECT id + 10000, d FROM fine WHERE id % 5 = 0;
SELECT * FROM fine_asked;
TRUNCATE fine;
INSERT INTO fine VALUES (1, '{0.1,0.2}'), (2, NULL), (3, '{0,0}');
SELECT f.d, s.distance = f.d <-> '{0.1,0.2}'::real[] AS same, s.distance > 0 AS differ FROM genie_search('fine_l2', '{0.1,0.2}'::real[]) s JOIN fine f ON f.ctid = s.tid;
-- partial and expression indexes
CREATE INDEX t_part ON t USING genie (v genie_l2_ops) WHERE id <= 1200;
CREATE INDEX t_expr ON t USING genie ((v[2:5]) genie_l2_ops);
SET genie.candidates = 100;
DROP INDEX t_l2;
SELECT batch('t_part', 'real', 10) = scans('v', '<->', 'real', 10, 'id <= 1200') AS partial;
SELECT bool_and(s.distance = t.v[2:5] <-> q.v[1:4]) AS expression, count(*) FROM genie_search('t_expr', (SELECT array_agg(v[1:4] ORDER BY n) FROM q), 10) s JOIN t ON t.ctid = s.tid JOIN q ON q.n = s.query;

-- a build hashes rows together, here in several blocks: each is among the best matches of its own vector
SET maintenance_work_mem = '1MB';
CREATE INDEX b_l2 ON t USING genie (v genie_l2_ops (hashes = 500));
CREATE INDEX b_l1 ON t USING genie (v genie_l1_ops (hashes = 500));
CREATE INDEX b_laplacian ON t USING genie (v genie_laplacian_ops (hashes = 500));
CREATE INDEX b_cosine ON t USING genie (v genie_cosine_ops (hashes = 500));
RESET maintenance_work_mem;
SET genie.candidates = 3;
SELECT i, count(*) = (SELECT count(v) FROM t) AS "all", bool_and(abs(distance) < 1e-6) AS own, count(DISTINCT s.tid) FROM (SELECT array_agg(v ORDER BY id) AS v FROM t WHERE v IS NOT NULL) q,
	unnest('{b_l2,b_l1,b_laplacian,b_cosine}'::regclass[]) i, genie_search(i, q.v, 1) s GROUP BY i ORDER BY i::text;
SELECT count(*) FROM unnest('{b_l2,b_l1,b_laplacian,b_cosine}'::regclass[]) i, genie_check(i);
DROP INDEX b_l2, b_l1, b_laplacian, b_cosine;
SET genie.candidates = 100;
-- more queries than a piece takes: as each by itself
CREATE INDEX t_pieces ON t USING genie (v genie_l2_ops (hashes = 1000));
SELECT count(*), count(*) FILTER (WHERE alone.distance IS NULL OR together.distance IS NULL) AS different
	FROM genie_search('t_pieces', (SELECT array_agg(vector(i) ORDER BY i) FROM generate_series(1, 300) i), 2) together
	FULL JOIN (SELECT i AS query, tid, distance FROM generate_series(1, 300) i, genie_search('t_pieces', ARRAY[vector(i)], 2)) alone USING (query, tid, distance);
DROP INDEX t_pieces;

-- no queries, and what is refused
SELECT * FROM genie_search('t_part', '{}'::real[]);
SELECT * FROM genie_search('t_part', '{{1,2}}'::real[], 0);
SELECT count(*) FROM genie_search('t_part', (SELECT v FROM q WHERE n = 1), 3);
SELECT * FROM genie_search('t_part', '{{{1}}}'::real[]);
SELECT * FROM genie_search('t_bits', ARRAY[[B'101', B'100'], [B'101', B'100']]);
SELECT * FROM genie_search('t_part', '{{1,NULL}}'::real[]);
SELECT * FROM genie_search('t_part', '{{1,2}}'::real[]);
SELECT * FROM genie_search('t_part', ('{{1,2,3,4,5,6,7,8,9,10,11,NaN}}')::real[]);
SELECT * FROM genie_search('t_part', '{{1,2}}'::float8[]);
SELECT * FROM genie_search('t_double', '{{1,2}}'::real[]);
SELECT * FROM genie_search('t_part', ARRAY[genie_query('{1}'::int[])]);
CREATE INDEX t_id ON t USING genie (genie_tuple(id));
SELECT * FROM genie_search('t_id', '{{1,2}}'::real[]);
SELECT * FROM genie_search('t_id', ARRAY['{1:int:5}'::genie_object]);
SELECT * FROM genie_search('t', '{{1,2}}'::real[]);
RESET genie.candidates;
RESET extra_float_digits;
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA vector_search CASCADE;
