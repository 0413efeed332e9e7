-- approximate operator classes: nearest vectors, sets and bit strings by an index that hashes them

-- rows around 40 centres, in 16 dimensions
CREATE FUNCTION vector_of(i bigint, spread float8) RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((hashint8extended(i % 40, j) % 1000) / 10.0 + spread * (hashint8extended(i, j + 100) % 1000) / 1000.0 ORDER BY j) FROM generate_series(1, 16) j $$;
CREATE TABLE vectors AS SELECT i AS id, vector_of(i, 30)::real[] AS v, vector_of(i, 30) AS d,
	(SELECT array_agg(DISTINCT CASE WHEN abs(hashint8extended(i, j) % 100) < 70 THEN i % 40 * 100 + j ELSE abs(hashint8extended(i, j) % 9999) END) FROM generate_series(1, 50) j) AS s,
	(SELECT string_agg(CASE WHEN (hashint8extended(i % 40, j) % 2 = 0) = (abs(hashint8extended(i, j)) % 100 < 90) THEN '1' ELSE '0' END, '' ORDER BY j) FROM generate_series(1, 64) j)::bit(64) AS b
	FROM generate_series(1, 2000) i;
CREATE INDEX vectors_l2 ON vectors USING genie (v genie_l2_ops);
CREATE INDEX vectors_l1 ON vectors USING genie (v genie_l1_ops);
CREATE INDEX vectors_cosine ON vectors USING genie (v genie_cosine_ops);
CREATE INDEX vectors_l2d ON vectors USING genie (d genie_l2_float8_ops);
CREATE INDEX vectors_laplacian ON vectors USING genie (d genie_laplacian_float8_ops);
CREATE INDEX vectors_cosined ON vectors USING genie (d genie_cosine_float8_ops (signs));
CREATE INDEX vectors_minhash ON vectors USING genie (s genie_minhash_ops);
CREATE INDEX vectors_hamming ON vectors USING genie (b genie_hamming_ops);
SELECT bool_and(amvalidate(oid)) FROM pg_opclass WHERE opcname ~ '^genie_(l1|l2|laplacian|cosine|minhash|hamming)_' AND opcmethod = (SELECT oid FROM pg_am WHERE amname = 'genie');

-- the ten nearest of each of 40 rows, by the index and by the table
CREATE TABLE found (how text, metric text, query bigint, id bigint, distance float8);
CREATE PROCEDURE find(how text, metric text, value text, operator text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO found SELECT %L, %L, q.id, n.id, n.distance FROM vectors q, LATERAL (SELECT x.id, x.%3$I %4$s q.%3$I AS distance FROM vectors x ORDER BY x.%3$I %4$s q.%3$I LIMIT 10) n WHERE q.id <= 40', how, metric, value, operator);
END $$;
CREATE PROCEDURE find_all(how text) LANGUAGE sql AS $$
	CALL find(how, 'l2', 'v', '<->');
	CALL find(how, 'l1', 'v', '<+>');
	CALL find(how, 'cosine', 'v', '<=>');
	CALL find(how, 'l2 of float8', 'd', '<->');
	CALL find(how, 'laplacian', 'd', '<+>');
	CALL find(how, 'cosine of float8, signs', 'd', '<=>');
	CALL find(how, 'jaccard', 's', '<%>');
	CALL find(how, 'hamming', 'b', '<&~>');
$$;
CREATE VIEW recall AS SELECT metric, count(*), round(avg((EXISTS (SELECT FROM found t WHERE t.how = 'table' AND t.metric = f.metric AND t.query = f.query AND t.distance = f.distance))::int), 2) > 0.9 AS "recall > 0.9",
	bool_and(f.distance >= before) AS ordered FROM (SELECT *, lag(distance, 1, 0) OVER (PARTITION BY how, metric, query ORDER BY distance) AS before FROM found) f WHERE how = 'index' GROUP BY metric ORDER BY metric COLLATE "C";
SET enable_indexscan = off;
CALL find_all('table');
RESET enable_indexscan;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM vectors ORDER BY v <-> '{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM vectors ORDER BY s <%> '{1,2,3}' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM vectors ORDER BY b <&~> b'0' LIMIT 10;
CALL find_all('index');
SELECT * FROM recall;

-- every row in the end, nearest candidates first, whatever the round
SET genie.candidates = 10;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM vectors ORDER BY v <-> (SELECT v FROM vectors WHERE id = 7) LIMIT 5000) s;
-- all as candidates: exactly the table's order
SET genie.candidates = 2000;
CREATE FUNCTION agree(index_query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	by_index bigint[];
	by_table bigint[];
BEGIN
	EXECUTE 'SELECT array(' || index_query || ')' INTO by_index;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	EXECUTE 'SELECT array(' || index_query || ')' INTO by_table;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_seqscan = off;
	RETURN CASE WHEN by_index = by_table THEN cardinality(by_index)::text ELSE 'differ' END;
END $$;
SELECT agree('SELECT id FROM vectors ORDER BY v <-> (SELECT v FROM vectors WHERE id = 7), id') AS l2, agree('SELECT id FROM vectors ORDER BY d <+> (SELECT d FROM vectors WHERE id = 8), id LIMIT 300') AS laplacian,
	agree('SELECT id FROM vectors ORDER BY v <=> (SELECT v FROM vectors WHERE id = 9), id') AS cosine;
RESET genie.candidates;

-- the same rows give the same parameters and signatures, by one process and by several
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
SET maintenance_work_mem = '96MB';
CREATE INDEX vectors_again ON vectors USING genie (v genie_l2_ops);
RESET max_parallel_maintenance_workers;
RESET min_parallel_table_scan_size;
RESET maintenance_work_mem;
SELECT a.parameters = b.parameters AS learned, a.keywords = b.keywords AND a.postings = b.postings AND a.posting_bytes = b.posting_bytes AS signed, length(a.parameters) FROM genie_index_info('vectors_l2') a, genie_index_info('vectors_again') b;
DROP INDEX vectors_again;

-- inserts hash as the build did; VACUUM takes rows away
INSERT INTO vectors SELECT 10000 + id, v, d, s, b FROM vectors WHERE id <= 40;
SELECT count(*) FROM vectors q, LATERAL (SELECT id FROM vectors x ORDER BY x.v <-> q.v, x.id LIMIT 2) n WHERE q.id <= 40 AND n.id IN (q.id, 10000 + q.id);
SELECT count(*) FROM vectors q, LATERAL (SELECT id FROM vectors x ORDER BY x.s <%> q.s, x.id LIMIT 2) n WHERE q.id <= 40 AND n.id IN (q.id, 10000 + q.id);
DELETE FROM vectors WHERE id <= 20;
VACUUM vectors;
SELECT min(n.id) FROM vectors q, LATERAL (SELECT id FROM vectors x ORDER BY x.d <-> q.d LIMIT 1) n WHERE q.id BETWEEN 10001 AND 10020;
SELECT c.* FROM unnest('{vectors_l2,vectors_minhash,vectors_hamming}'::regclass[]) i, genie_check(i) c;

-- an expression, and a part of the rows
CREATE INDEX vectors_part ON vectors USING genie ((d::real[]) genie_l2_ops) WHERE id % 2 = 0;
EXPLAIN (COSTS OFF) SELECT id FROM vectors WHERE id % 2 = 0 ORDER BY d::real[] <-> (SELECT v FROM vectors WHERE id = 30) LIMIT 1;
SELECT id FROM vectors WHERE id % 2 = 0 ORDER BY d::real[] <-> (SELECT v FROM vectors WHERE id = 30) LIMIT 1;

-- too few rows to learn from: exact, until there are enough
CREATE TABLE growing (id int, v real[], s text[], b bit(24));
CREATE INDEX growing_l2 ON growing USING genie (v genie_l2_ops);
CREATE INDEX growing_cosine ON growing USING genie (v genie_cosine_ops);
CREATE INDEX growing_minhash ON growing USING genie (s genie_minhash_ops);
CREATE INDEX growing_hamming ON growing USING genie (b genie_hamming_ops);
CREATE PROCEDURE grow(first int, last int) LANGUAGE sql AS $$
	INSERT INTO growing SELECT i, ARRAY[i % 30, i / 30, 0, i % 7], ARRAY[i::text, (i + 1)::text, (i / 2)::text], (i * 7919)::bit(24) FROM generate_series(first, last) i $$;
CALL grow(1, 100);
SELECT parameters IS NULL AS untrained, pending_rows FROM genie_index_info('growing_l2');
CREATE VIEW nearest AS SELECT q.id, array(SELECT v <-> q.v FROM growing g ORDER BY v <-> q.v LIMIT 3) AS l2, array(SELECT (v <=> q.v)::numeric(9, 6) FROM growing g ORDER BY v <=> q.v LIMIT 3) AS cosine,
	array(SELECT (s <%> q.s)::numeric(9, 6) FROM growing g ORDER BY s <%> q.s LIMIT 3) AS jaccard, array(SELECT b <&~> q.b FROM growing g ORDER BY b <&~> q.b LIMIT 3) AS hamming FROM growing q WHERE id IN (50, 90) ORDER BY id;
SELECT * FROM nearest;
CALL grow(101, 600);
SELECT genie_merge(i) FROM unnest('{growing_l2,growing_cosine,growing_minhash,growing_hamming}'::regclass[]) i;
SELECT parameters IS NOT NULL AS trained, pending_rows, objects FROM genie_index_info('growing_l2') UNION ALL SELECT parameters IS NOT NULL, pending_rows, objects FROM genie_index_info('growing_hamming');
SELECT * FROM nearest;
CALL grow(601, 700);
SELECT id FROM growing ORDER BY v <-> (SELECT v FROM growing WHERE id = 650) LIMIT 1;
SELECT id FROM growing ORDER BY s <%> '{650,651,325}' LIMIT 1;
-- signed late and signed at once are the same
CREATE INDEX growing_at_once ON growing USING genie (v genie_l2_ops (width = 2, seed = 3));
SELECT keywords FROM genie_index_info('growing_at_once');
CREATE TABLE late (LIKE growing);
CREATE INDEX late_l2 ON late USING genie (v genie_l2_ops (width = 2, seed = 3));
INSERT INTO late SELECT * FROM growing;
SELECT genie_merge('late_l2');
SELECT a.keywords = b.keywords AND a.postings = b.postings AND a.posting_bytes = b.posting_bytes AND a.parameters = b.parameters AS same FROM genie_index_info('growing_at_once') a, genie_index_info('late_l2') b;

-- zero vectors, empty sets, NULLs; rows that are all the same
CREATE TABLE odd (id int, v real[], s int[]);
INSERT INTO odd SELECT i, CASE WHEN i % 3 > 0 THEN '{0,0,0}'::real[] END, '{}' FROM generate_series(1, 600) i;
CREATE INDEX odd_cosine ON odd USING genie (v genie_cosine_ops);
CREATE INDEX odd_l2 ON odd USING genie (v genie_l2_ops);
CREATE INDEX odd_minhash ON odd USING genie (s genie_minhash_ops);
SELECT id, v <=> '{1,0,0}' AS cosine FROM odd ORDER BY v <=> '{1,0,0}' LIMIT 2;
SELECT count(*), count(d), max(d) FROM (SELECT v <-> '{0,3,4}' AS d FROM odd ORDER BY v <-> '{0,3,4}') o;
SELECT id, s <%> '{}' AS empty, s <%> '{1}' AS other FROM odd ORDER BY s <%> '{}' LIMIT 1;

-- options
CREATE INDEX odd_options ON odd USING genie (v genie_l2_ops (hashes = 33, width = 2.5, probes = 2, seed = 9));
SELECT keywords FROM genie_index_info('odd_options');
DROP INDEX odd_options;
CREATE INDEX odd_options ON odd USING genie (v genie_l2_ops (epsilon = 0.06, delta = 0.06, buckets = 67, width = 1));
SELECT keywords FROM genie_index_info('odd_options');
DROP INDEX odd_options;
CREATE INDEX odd_options ON odd USING genie (v genie_cosine_ops (signs, bits = 3, epsilon = 0.1));
SELECT keywords FROM genie_index_info('odd_options');
DROP INDEX odd_options;
CREATE INDEX odd_options ON odd USING genie (v genie_laplacian_ops (hashes = 10, sigma = 3, buckets = 0));
SELECT keywords FROM genie_index_info('odd_options');
DROP INDEX odd_options;
CREATE INDEX ON odd USING genie (v genie_l2_ops (hashes = 33, epsilon = 0.1));
CREATE INDEX ON odd USING genie (v genie_l2_ops (hashes = 33, delta = 0.1));
CREATE INDEX ON odd USING genie (v genie_l2_ops (hashes = 65536));
CREATE INDEX ON odd USING genie (v genie_l2_ops (width = -1));
CREATE INDEX ON odd USING genie (v genie_laplacian_ops (sigma = -1));
CREATE INDEX ON odd USING genie (v genie_l2_ops (probes = 1, buckets = 67));
CREATE INDEX ON odd USING genie (v genie_l2_ops (epsilon = 0));
CREATE INDEX ON odd USING genie (v genie_l2_ops (epsilon = 0.001));
CREATE INDEX ON odd USING genie (v genie_cosine_ops (signs, width = 1));
CREATE INDEX ON odd USING genie (v genie_cosine_ops (bits = 2));
CREATE INDEX ON odd USING genie (s genie_minhash_ops (sigma = 1));

-- values: lengths, and elements that are not finite
INSERT INTO odd VALUES (1000, '{1,2}');
INSERT INTO odd VALUES (1000, '{1,2,NaN}');
INSERT INTO odd VALUES (1000, '{}');
INSERT INTO odd VALUES (1000, '{1,NULL,2}');
SELECT id FROM odd ORDER BY v <-> '{1,2}' LIMIT 1;
SELECT id FROM odd ORDER BY v <=> '{1,2,Infinity}' LIMIT 1;
INSERT INTO growing VALUES (1000, NULL, NULL, NULL);
CREATE TABLE mixed AS SELECT i AS id, CASE WHEN i = 400 THEN '{1,2,3}' ELSE ARRAY[i, 2] END::real[] AS v, CASE WHEN i = 400 THEN b'111111111' ELSE i::bit(8) END::varbit AS b FROM generate_series(1, 500) i;
CREATE INDEX ON mixed USING genie (v genie_l2_ops);
CREATE INDEX ON mixed USING genie (b genie_hamming_ops);
INSERT INTO vectors (id, b) VALUES (1, b'');
CREATE TABLE bits (b varbit);
CREATE INDEX bits_hamming ON bits USING genie (b genie_hamming_ops);
INSERT INTO bits VALUES (b'');
INSERT INTO bits VALUES (repeat('1', 65536)::varbit);
INSERT INTO bits SELECT i::bit(16)::varbit FROM generate_series(1, 300) i;
SELECT genie_merge('bits_hamming');
INSERT INTO bits VALUES (b'101');
SELECT b FROM bits ORDER BY b <&~> 300::bit(16)::varbit LIMIT 1;
-- while nothing is learned yet, the first value decides the length; without any row of it left, another may
CREATE TABLE waiting (id int, v real[], b varbit, s int[]) WITH (autovacuum_enabled = off);
CREATE INDEX waiting_l2 ON waiting USING genie (v genie_l2_ops);
INSERT INTO waiting VALUES (0, NULL);
BEGIN;
INSERT INTO waiting VALUES (-1, '{1,2,3}');
ROLLBACK;
INSERT INTO waiting VALUES (1, '{1,1}');
VACUUM waiting;
INSERT INTO waiting VALUES (1, '{1,1}');
INSERT INTO waiting VALUES (301, '{1,2,3}');
INSERT INTO waiting SELECT 301, array_agg(i) FROM generate_series(1, 2000) i;
VACUUM waiting;
SELECT pending_rows FROM genie_index_info('waiting_l2');
DELETE FROM waiting;
VACUUM waiting;
INSERT INTO waiting SELECT 301, array_agg(i) FROM generate_series(1, 2000) i;
INSERT INTO waiting VALUES (1, '{1,1}');
DELETE FROM waiting;
VACUUM waiting;
COPY waiting (id, v) FROM stdin;
1	{1,1}
2	{1,2,3}
\.
INSERT INTO waiting SELECT i, ARRAY[i, 1] FROM generate_series(1, 150) i;
REINDEX INDEX waiting_l2;
INSERT INTO waiting VALUES (301, '{1,2,3}');
SELECT id FROM waiting ORDER BY v <-> '{1,2,3}' LIMIT 1;
INSERT INTO waiting SELECT i, ARRAY[i, 1] FROM generate_series(151, 300) i;
SELECT genie_merge('waiting_l2');
INSERT INTO waiting VALUES (301, '{1,2,3}');
SELECT objects, parameters IS NOT NULL AS trained FROM genie_index_info('waiting_l2');
SELECT id FROM waiting ORDER BY v <-> '{7,1}' LIMIT 1;
SELECT id FROM waiting ORDER BY v <-> '{1,2,3}' LIMIT 1;
-- bit strings have one length, too; sets and an index on an empty table have none
CREATE INDEX waiting_hamming ON waiting USING genie (b genie_hamming_ops);
CREATE INDEX waiting_minhash ON waiting USING genie (s genie_minhash_ops);
INSERT INTO waiting (b, s) VALUES (b'101', '{1}'), (b'111', '{1,2}');
INSERT INTO waiting (b) VALUES (b'1');
TRUNCATE waiting;
INSERT INTO waiting (v, b) VALUES ('{1}', b'1');
DELETE FROM waiting;
INSERT INTO waiting VALUES (1, '{1,2}'), (2, '{1,2,3}');
CREATE TABLE mixed_few AS SELECT i AS id, CASE WHEN i = 40 THEN '{1,2,3}' ELSE '{1,2}' END::real[] AS v FROM generate_series(1, 50) i;
CREATE INDEX ON mixed_few USING genie (v genie_l2_ops);

-- rows on a line and on a plane: buckets are as narrow as rows are near, whatever space they lie in
CREATE TABLE flat AS SELECT i AS id, ARRAY[i, 2 * i, 3]::real[] AS v, ARRAY[i % 150, i / 150, 7, 9]::real[] AS p FROM generate_series(1, 20000) i;
CREATE INDEX flat_line ON flat USING genie (v genie_l2_ops);
CREATE INDEX flat_plane ON flat USING genie (p genie_l1_ops);
SET enable_seqscan = off;
SELECT id, v <-> '{7000.1,14000,3}' < 6 AS near FROM flat ORDER BY v <-> '{7000.1,14000,3}' LIMIT 5;
SELECT p, p <+> '{70.1,40.3,7,9}' < 2 AS near FROM flat ORDER BY p <+> '{70.1,40.3,7,9}' LIMIT 5;
RESET enable_seqscan;

-- rows come into lists many at a time: as one by one, which little memory makes of nearly all; NULLs and HOT chains among them
CREATE TABLE many (id int, v real[]) WITH (fillfactor = 70);
INSERT INTO many SELECT i, CASE WHEN i % 7 > 0 THEN (SELECT array_agg(sin(i * d * 0.37) * (1 + i % 5)) FROM generate_series(1, 24) d) END FROM generate_series(1, 9000) i;
UPDATE many SET id = -id WHERE id % 11 = 0;
DELETE FROM many WHERE id % 1000 < 60;
CREATE INDEX many_v ON many USING genie (v genie_l2_ops (hashes = 512));
SET maintenance_work_mem = '1MB';
CREATE INDEX many_few ON many USING genie (v genie_l2_ops (hashes = 512));
RESET maintenance_work_mem;
SELECT a.objects, a.postings = 512 * (SELECT count(v) FROM many) AS all, a.posting_bytes = b.posting_bytes AS lists, a.keywords = b.keywords AS keywords, a.value_bytes = b.value_bytes AS values, a.parameters = b.parameters AS parameters
	FROM genie_index_info('many_v') a, genie_index_info('many_few') b;
SELECT * FROM genie_check('many_v');
SELECT * FROM genie_check('many_few');
SELECT count(*) AS differ FROM (SELECT (genie_search('many_v', (SELECT array_agg(v) FROM (SELECT v FROM many WHERE v IS NOT NULL ORDER BY abs(id) LIMIT 200) q), 10)).* EXCEPT
	SELECT (genie_search('many_few', (SELECT array_agg(v) FROM (SELECT v FROM many WHERE v IS NOT NULL ORDER BY abs(id) LIMIT 200) q), 10)).*) d;
DROP TABLE many;

DROP TABLE vectors, found, growing, late, odd, mixed, bits, waiting, mixed_few, flat CASCADE;
DROP FUNCTION vector_of, agree;
DROP PROCEDURE find, find_all, grow;
