-- genie_exact_knn(): the nearest vectors of an index's rows, against a sequential scan
SET enable_indexscan = off;
SET enable_bitmapscan = off;

CREATE FUNCTION vector_of(n int, i bigint, seed int) RETURNS real[] LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((hashint8extended(i * 1000 + j, seed) % 100) / 8.0 ORDER BY j)::real[] FROM generate_series(1, n) j $$;
CREATE TABLE items (id int, kind int, v real[], w float8[]) WITH (autovacuum_enabled = off);
INSERT INTO items SELECT i, i % 3, vector_of(20, i, 1), vector_of(20, i, 1)::float8[] FROM generate_series(1, 600) i;
CREATE INDEX items_v ON items USING genie (v);
CREATE INDEX items_w ON items USING genie (w);
CREATE TABLE wanted AS SELECT i AS n, vector_of(20, i, 2) AS q FROM generate_series(1, 15) i;
-- some that are rows themselves, and the zero vector
UPDATE wanted SET q = vector_of(20, n * 30, 1) WHERE n % 4 = 0;
UPDATE wanted SET q = array_fill(0::real, ARRAY[20]) WHERE n = 7;
CREATE FUNCTION queries() RETURNS real[] LANGUAGE sql AS 'SELECT array_agg(q ORDER BY n) FROM wanted';

-- by definition: the distance of the operator, to the bit, and rows of equal distance in the order of their ctid
CREATE FUNCTION differs(index text, k int, metric text, vector text, distance text, condition text DEFAULT 'true') RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('WITH exact AS (SELECT query, row_number() OVER (PARTITION BY query ORDER BY o) AS rank, tid, distance FROM genie_exact_knn(%L, (SELECT queries()), %s, %L) WITH ORDINALITY AS e (query, tid, distance, o)),
			plain AS (SELECT n AS query, row_number() OVER (PARTITION BY n ORDER BY distance, tid) AS rank, tid, distance FROM wanted, LATERAL (SELECT items.ctid AS tid, %s AS distance FROM items WHERE %s IS NOT NULL AND %s ORDER BY 2, 1 LIMIT %s) s)
		SELECT count(*) FROM exact FULL JOIN plain USING (query, rank) WHERE (exact.tid, float8send(exact.distance)) IS DISTINCT FROM (plain.tid, float8send(plain.distance))',
		index, k, metric, distance, vector, condition, k) INTO n;
	RETURN n;
END $$;
SELECT k, differs('items_v', k, 'l2', 'v', 'v <-> q') AS l2, differs('items_v', k, 'l1', 'v', 'v <+> q') AS l1,
	differs('items_v', k, 'cosine', 'v', 'v <=> q') AS cosine, differs('items_v', k, 'ip', 'v', '-genie_inner_product(v, q)') AS ip FROM unnest('{1,10,600,100000}'::int[]) k;
SELECT k, differs('items_w', k, 'l2', 'w', 'w <-> q') AS l2, differs('items_w', k, 'l1', 'w', 'w <+> q') AS l1,
	differs('items_w', k, 'cosine', 'w', 'w <=> q') AS cosine, differs('items_w', k, 'ip', 'w', '-genie_inner_product(w, q)') AS ip FROM unnest('{1,20}'::int[]) k;
SELECT query, round(distance::numeric, 4) AS distance, id FROM genie_exact_knn('items_v', (SELECT queries()), 2, 'l2') e JOIN items ON items.ctid = tid WHERE query IN (1, 4) ORDER BY query, distance;

-- queries of the other type: real as they are, double precision beside real[] by double precision
SELECT count(*) AS same FROM genie_exact_knn('items_v', (SELECT queries()), 5, 'l2') a JOIN genie_exact_knn('items_w', (SELECT queries()), 5, 'l2') b USING (query, tid, distance);
SELECT id, distance = v <-> array_fill(0.1::float8, ARRAY[20]) AS float8 FROM genie_exact_knn('items_v', array_fill(0.1::float8, ARRAY[20]), 2, 'l2') e JOIN items ON items.ctid = tid ORDER BY distance;

-- one query, none, and a table in the order that is worst: the farthest first
SELECT query, id, distance FROM genie_exact_knn('items_v', vector_of(20, 77, 1), 1, 'l1') e JOIN items ON items.ctid = tid;
SELECT count(*) FROM genie_exact_knn('items_v', '{}'::real[], 1, 'l2');
SELECT count(*) FROM genie_exact_knn(NULL, '{1}'::real[], 1, 'l2');
SELECT count(*) FROM genie_exact_knn('items_v', NULL::real[], 1, 'l2');
SELECT count(*) FROM genie_exact_knn('items_v', '{1}'::real[], NULL, 'l2');
CREATE TABLE line AS SELECT ARRAY[20000 - i, 0.5]::real[] AS v, repeat('-', 200) AS filler FROM generate_series(1, 20000) i;
CREATE INDEX line_v ON line USING genie (v);
SELECT query, v, distance FROM genie_exact_knn('line_v', '{{3,0.5},{0,0.5},{5000.5,0.5}}'::real[], 3, 'l2') e JOIN line ON line.ctid = tid ORDER BY query, distance, tid;
SELECT count(*), min(v[1]), max(v[1]) FROM genie_exact_knn('line_v', '{0,0.5}'::real[], 7000, 'l1') e JOIN line ON line.ctid = tid;
DROP TABLE line;

-- rows and queries enough for a GPU, where the worker has one
CREATE TABLE many AS SELECT i AS id, vector_of(110, i, 3) AS v FROM generate_series(1, 3000) i;
CREATE INDEX many_v ON many USING genie (v);
CREATE INDEX many_w ON many USING genie ((v::float8[]));
CREATE FUNCTION many_differs(index text, k int, metric text, distance text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM genie_exact_knn(%L, (SELECT array_agg(v ORDER BY id) FROM many WHERE id %% 75 = 1), %s, %L) e
		FULL JOIN (SELECT dense_rank() OVER (ORDER BY id) AS query, tid, distance FROM (SELECT id, v AS q FROM many WHERE id %% 75 = 1) w,
			LATERAL (SELECT ctid AS tid, %s AS distance FROM many ORDER BY 2, 1 LIMIT %s) s) plain ON (e.query, e.tid, float8send(e.distance)) = (plain.query, plain.tid, float8send(plain.distance))
		WHERE e.query IS NULL OR plain.query IS NULL', index, k, metric, distance, k) INTO n;
	RETURN n;
END $$;
SELECT k, many_differs('many_v', k, 'l2', 'v <-> q') AS l2, many_differs('many_v', k, 'l1', 'v <+> q') AS l1, many_differs('many_v', k, 'cosine', 'v <=> q') AS cosine,
	many_differs('many_w', k, 'l2', 'v <-> q') AS l2_double, many_differs('many_w', k, 'ip', '-genie_inner_product(v, q)') AS ip_double FROM unnest('{1,30}'::int[]) k;
DROP TABLE many;
DROP FUNCTION many_differs(text, int, text, text);

-- little memory: the same, by several scans
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT differs('items_v', 600, 'l2', 'v', 'v <-> q') AS l2, differs('items_v', 600, 'ip', 'v', '-genie_inner_product(v, q)') AS ip;
RESET work_mem;
RESET hash_mem_multiplier;

-- rows that changed, NULL, a predicate, an expression, a domain
DELETE FROM items WHERE id % 7 = 0;
UPDATE items SET kind = kind + 10 WHERE id % 5 = 0;
UPDATE items SET v = NULL WHERE id % 11 = 0;
SELECT differs('items_v', 20, 'l2', 'v', 'v <-> q') AS l2, differs('items_v', 2000, 'cosine', 'v', 'v <=> q') AS cosine;
CREATE INDEX items_some ON items USING genie (v) WHERE kind > 10;
SELECT differs('items_some', 20, 'l2', 'v', 'v <-> q', 'kind > 10') AS predicate;
CREATE INDEX items_part ON items USING genie ((w[1:20]::real[])) WHERE id < 500;
SELECT differs('items_part', 20, 'l1', 'w', 'w[1:20]::real[] <+> q', 'id < 500') AS expression;
CREATE DOMAIN embedding AS real[] CHECK (array_length(VALUE, 1) = 2);
CREATE TABLE typed (v embedding);
INSERT INTO typed VALUES ('{1,2}'), ('{3,4}'), (NULL);
CREATE INDEX typed_v ON typed USING genie (v);
SELECT tid, distance FROM genie_exact_knn('typed_v', '{3,3}'::real[], 10, 'l2');
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE c CURSOR FOR SELECT tid, distance FROM genie_exact_knn('typed_v', '{3,3}'::real[], 10, 'l2');
INSERT INTO typed VALUES ('{3,3}');
FETCH ALL c;
SELECT tid, distance FROM genie_exact_knn('typed_v', '{3,3}'::real[], 1, 'l2');
ROLLBACK;

-- not finite
CREATE TEMP TABLE odd (v float8[]);
INSERT INTO odd VALUES ('{NaN,1}'), ('{1,1}'), ('{Infinity,0}'), ('{1e200,1e200}'), ('{1e-200,0}'), ('{0,0}');
CREATE INDEX odd_v ON odd USING genie (v);
SELECT m AS metric, query, v, distance FROM unnest('{l2,l1,cosine,ip}'::text[]) m, genie_exact_knn('odd_v', '{{0,1},{NaN,0},{1e200,-1e200}}'::float8[], 10, m) WITH ORDINALITY AS e (query, tid, distance, o) JOIN odd ON odd.ctid = tid
	WHERE m IN ('l2', 'cosine') OR query = 1 ORDER BY m, o;

-- the index's own metric; the approximate classes' rows, exactly
CREATE TABLE own (v real[], w float8[]);
INSERT INTO own SELECT v, w FROM items WHERE v IS NOT NULL;
CREATE INDEX own_l2 ON own USING genie (v genie_l2_ops);
CREATE INDEX own_l1 ON own USING genie (v genie_l1_ops);
CREATE INDEX own_laplacian ON own USING genie (w genie_laplacian_float8_ops);
CREATE INDEX own_cosine ON own USING genie (w genie_cosine_float8_ops);
CREATE INDEX own_sets ON own USING genie (v genie_minhash_ops);
SELECT i, m AS metric, count(*) AS same FROM (VALUES ('own_l2', 'l2'), ('own_l1', 'l1'), ('own_laplacian', 'l1'), ('own_cosine', 'cosine')) c (i, m),
	LATERAL (SELECT query, tid, distance FROM genie_exact_knn(i, (SELECT queries()), 3) INTERSECT SELECT * FROM genie_exact_knn('own_l2', (SELECT queries()), 3, m)) s GROUP BY i, m ORDER BY i;
SELECT count(*) FROM genie_exact_knn('own_l2', (SELECT queries()));
SELECT count(*) FROM genie_exact_knn('own_cosine', (SELECT queries()), metric => 'ip');
SELECT genie_exact_knn('own_sets', queries());
DROP TABLE own;

-- an index with values of the metric is asked, and gives the rows of a scan: with segments, pending rows, ties, updates in place, NULL, dead rows
CREATE TABLE valued (id int, v real[], w float8[]) WITH (autovacuum_enabled = off, fillfactor = 60);
INSERT INTO valued SELECT i, CASE WHEN i % 17 > 0 THEN vector_of(20, i % 500, 1) END, vector_of(20, i % 500, 1)::float8[] FROM generate_series(1, 1500) i;
CREATE INDEX valued_l2 ON valued USING genie (v genie_l2_ops);
CREATE INDEX valued_exact_l2 ON valued USING genie (v genie_l2_exact_ops);
CREATE INDEX valued_l1 ON valued USING genie (v genie_l1_exact_ops);
CREATE INDEX valued_cosine ON valued USING genie (v genie_cosine_ops);
CREATE INDEX valued_ip ON valued USING genie (v genie_ip_exact_ops);
CREATE INDEX valued_double ON valued USING genie (w genie_l2_exact_float8_ops);
CREATE INDEX valued_none ON valued USING genie (v genie_l2_ops) WITH (values = off);
CREATE INDEX valued_some ON valued USING genie (v genie_l2_exact_ops) WHERE id % 3 = 1;
CREATE INDEX valued_part ON valued USING genie ((w[1:20]::real[]) genie_l1_exact_ops) WHERE id < 900;
INSERT INTO valued SELECT i, vector_of(20, i % 500, 1), vector_of(20, i % 500, 1)::float8[] FROM generate_series(1501, 1700) i;
UPDATE valued SET w = w WHERE id % 4 = 0;
DELETE FROM valued WHERE id % 13 = 0;
-- whether both ways, by values and by all rows, give the same rows in the same order
CREATE FUNCTION same(index regclass, k int, metric text DEFAULT NULL, wide bool DEFAULT false) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	by_index text[];
	by_table text[];
BEGIN
	FOR i IN 0 .. 1 LOOP
		PERFORM set_config('genie.quantized_vectors', CASE i WHEN 0 THEN 'off' ELSE 'on' END, true);
		by_table := by_index;
		IF wide THEN
			by_index := ARRAY(SELECT (query, tid, float8send(distance))::text FROM genie_exact_knn(index, queries()::float8[], k, metric));
		ELSE
			by_index := ARRAY(SELECT (query, tid, float8send(distance))::text FROM genie_exact_knn(index, queries(), k, metric));
		END IF;
	END LOOP;
	RETURN by_index = by_table;
END $$;
SELECT k, same('valued_l2', k) AS l2, same('valued_exact_l2', k) AS exact_l2, same('valued_l1', k) AS l1, same('valued_cosine', k) AS cosine, same('valued_ip', k) AS ip, same('valued_double', k) AS "double", same('valued_some', k) AS some, same('valued_part', k) AS part
	FROM unnest('{1,10,100,100000}'::int[]) k;
SELECT same('valued_l2', 10, 'l2', true) AS wide, same('valued_l2', 10, 'cosine') AS other_metric, same('valued_none', 10) AS no_values, same('items_v', 10, 'l2') AS keywords;
-- which asks segments and visits few rows of the table
SELECT count(*) FROM genie_exact_knn('valued_l2', vector_of(20, 3, 2), 5);
SELECT segments, rows_visited < 100 AS few FROM genie_last_scan();
SELECT count(*) FROM genie_exact_knn('valued_l2', vector_of(20, 3, 2), 5, 'l1');
SELECT segments, rows_visited < 100 AS few FROM genie_last_scan();
SELECT count(*) FROM genie_exact_knn('valued_none', vector_of(20, 3, 2), 5);
SELECT rows_visited < 100 AS few FROM genie_last_scan();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM genie_exact_knn('valued_l2', vector_of(20, 3, 2), 5);
SELECT segments, rows_visited < 100 AS few FROM genie_last_scan();
COMMIT;
DROP FUNCTION same(regclass, int, text, bool);
DROP TABLE valued;

-- errors
SELECT genie_exact_knn('items_v', queries(), 0, 'l2');
SELECT genie_exact_knn('items_v', queries(), 1, 'L2');
SELECT genie_exact_knn('items_v', queries(), 1);
SELECT genie_exact_knn('items_v', '{{1,2},{3,NULL}}'::real[], 1, 'l2');
SELECT genie_exact_knn('items_v', '{{{1,2},{3,4}}}'::real[], 1, 'l2');
SELECT genie_exact_knn('items_v', '{{1,2},{3,4}}'::real[], 1, 'l2');
SELECT genie_exact_knn('items', '{1}'::real[], 1, 'l2');
CREATE TABLE words (t text[]);
CREATE INDEX words_t ON words USING genie (t);
SELECT genie_exact_knn('words_t', '{1}'::real[], 1, 'l2');
CREATE TABLE mixed AS SELECT '{1,2}'::real[] AS v UNION ALL SELECT '{1,2,3}' UNION ALL SELECT '{{1,2}}';
CREATE INDEX mixed_v ON mixed USING genie (v);
SELECT genie_exact_knn('mixed_v', '{1,2}'::real[], 1, 'l2');
SELECT genie_exact_knn('mixed_v', '{1,2,3}'::real[], 1, 'l2');
DELETE FROM mixed WHERE array_length(v, 1) = 3;
SELECT genie_exact_knn('mixed_v', '{1,2}'::real[], 1, 'l2');
\set VERBOSITY sqlstate
SELECT genie_exact_knn('items_v', queries(), 1, 'L2');
SELECT genie_exact_knn('items_v', queries(), 1);
SELECT genie_exact_knn('words_t', '{1}'::real[], 1, 'l2');
SELECT genie_exact_knn('items_v', '{{1,2},{3,4}}'::real[], 1, 'l2');
\set VERBOSITY default

-- who may: as for genie_search()
CREATE ROLE regress_knn;
GRANT SELECT ON wanted TO regress_knn;
SET ROLE regress_knn;
SELECT genie_exact_knn('items_v', queries(), 1, 'l2');
RESET ROLE;
GRANT SELECT (v) ON items TO regress_knn;
SET ROLE regress_knn;
SELECT count(*) FROM genie_exact_knn('items_v', queries(), 1, 'l2');
SELECT genie_exact_knn('items_some', queries(), 1, 'l2');
RESET ROLE;
ALTER TABLE items ENABLE ROW LEVEL SECURITY;
SET ROLE regress_knn;
SELECT genie_exact_knn('items_v', queries(), 1, 'l2');
RESET ROLE;

DROP TABLE items, wanted, typed, words, mixed;
DROP FUNCTION differs, queries, vector_of;
DROP DOMAIN embedding;
DROP ROLE regress_knn;
RESET enable_indexscan;
RESET enable_bitmapscan;
