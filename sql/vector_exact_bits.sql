-- The exact operator class of bit strings: the rows of a sequential scan, in its order.
SET client_min_messages = warning;
CREATE FUNCTION bits(i int, n int DEFAULT 100) RETURNS varbit LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
	AS $$SELECT string_agg((hashint4(i * 31 + j) & CASE WHEN i % 3 = 0 THEN 1 ELSE 3 END > 0)::int::text, '' ORDER BY j)::varbit FROM generate_series(1, n) j$$;

-- queries, literals, of which the rows by an index scan, in their order, are not those of a sequential scan
CREATE FUNCTION wrong_bits(tab text, queries text, k int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	q text;
	by_index text[];
	by_table text[];
	n bigint = 0;
BEGIN
	FOR q IN EXECUTE format('SELECT quote_literal(v) || ''::varbit'' FROM (%s) s', queries) LOOP
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
		EXECUTE format('SELECT array_agg(ctid || '' '' || coalesce(d::text, ''-'')) FROM (SELECT ctid, x <&~> %2$s AS d FROM %1$I ORDER BY x <&~> %2$s LIMIT %3$s) s', tab, q, k) INTO by_index;
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
		EXECUTE format('SELECT array_agg(ctid || '' '' || coalesce(d::text, ''-'')) FROM (SELECT ctid, x <&~> %2$s AS d FROM %1$I ORDER BY x <&~> %2$s, ctid LIMIT %3$s) s', tab, q, k) INTO by_table;
		IF by_index IS DISTINCT FROM by_table THEN
			RAISE WARNING '% differs: % and %', tab, by_index, by_table;
			n = n + 1;
		END IF;
	END LOOP;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'on', true);
	RETURN n;
END $$;

CREATE TABLE b (id int PRIMARY KEY, x bit(100)) WITH (autovacuum_enabled = off);
INSERT INTO b SELECT i, CASE WHEN i % 97 <> 0 THEN bits(i) END FROM generate_series(1, 3000) i;
CREATE INDEX b_x ON b USING genie (x genie_hamming_exact_ops);
SELECT segments, objects, keywords, training FROM genie_index_info('b_x');
EXPLAIN (COSTS OFF) SELECT id FROM b ORDER BY x <&~> (SELECT bits(5)) LIMIT 10;
SELECT wrong_bits('b', 'SELECT bits(i) AS v FROM generate_series(1, 3500, 101) i', 10);
SELECT wrong_bits('b', 'SELECT bits(i) AS v FROM generate_series(1, 3500, 1717) i', 5000);
-- the index knows the distances: it visits no row for them
SET enable_seqscan = off;
SELECT id FROM b ORDER BY x <&~> bits(71) LIMIT 1;
SELECT rows_returned, rows_visited FROM genie_last_scan();
RESET enable_seqscan;

-- pending rows, deletes, updates, VACUUM and merges
INSERT INTO b SELECT i, CASE WHEN i % 5 <> 0 THEN bits(i) END FROM generate_series(4001, 4300) i;
INSERT INTO b VALUES (4400, repeat('0', 100)::bit(100)), (4401, repeat('1', 100)::bit(100));
DELETE FROM b WHERE id % 7 = 3;
UPDATE b SET x = bits(id + 10000) WHERE id % 11 = 5;
BEGIN;
INSERT INTO b SELECT i, bits(17) FROM generate_series(5001, 5300) i;
ROLLBACK;
SELECT pending_rows > 0 AS pending FROM genie_index_info('b_x');
SELECT wrong_bits('b', 'SELECT bits(i) AS v FROM generate_series(1, 4500, 301) i', 10), wrong_bits('b', $$SELECT repeat('0', 100) AS v$$, 4000);
VACUUM b;
SELECT pending_rows, tombstones FROM genie_index_info('b_x');
SELECT wrong_bits('b', 'SELECT bits(i) AS v FROM generate_series(1, 4500, 301) i', 10);
INSERT INTO b SELECT i, bits(i) FROM generate_series(6001, 6300) i;
SELECT genie_merge('b_x');
SELECT wrong_bits('b', 'SELECT bits(i) AS v FROM generate_series(1, 6500, 301) i', 10), segments > 1 AS several FROM genie_index_info('b_x');
SELECT genie_merge('b_x') FROM generate_series(1, 3);
SELECT wrong_bits('b', 'SELECT bits(i) AS v FROM generate_series(1, 6500, 301) i', 10);
SELECT count(*) AS violations FROM genie_check('b_x');

-- filters, joins, cursors, two operators, NULL queries
SET enable_seqscan = off;
SELECT array_agg(id) = (SELECT array_agg(id) FROM (SELECT id FROM (SELECT ctid AS c, * FROM b OFFSET 0) b WHERE id % 50 = 7 ORDER BY x <&~> bits(5), c LIMIT 5) s) AS filtered
	FROM (SELECT id FROM b WHERE id % 50 = 7 ORDER BY x <&~> bits(5) LIMIT 5) s;
SELECT count(*) AS n, bool_and(l.id = q.id OR q.id % 7 = 3 OR q.id % 11 = 5) AS itself FROM generate_series(1, 1000, 37) q (id)
	CROSS JOIN LATERAL (SELECT id FROM b ORDER BY x <&~> bits(q.id) LIMIT 1) l WHERE q.id % 97 <> 0;
BEGIN;
DECLARE c CURSOR FOR SELECT id, x <&~> bits(650) AS d FROM b ORDER BY x <&~> bits(650);
FETCH 2 FROM c;
MOVE 500 FROM c;
SELECT genie_merge('b_x');
MOVE ALL FROM c;
CLOSE c;
COMMIT;
SELECT array_agg(id) = (SELECT array_agg(id) FROM (SELECT id FROM (SELECT ctid AS c, * FROM b OFFSET 0) b ORDER BY x <&~> bits(800), x <&~> bits(5), c LIMIT 50) s) AS two
	FROM (SELECT id FROM b ORDER BY x <&~> bits(800), x <&~> bits(5) LIMIT 50) s;
SELECT array_agg(id) = (SELECT array_agg(id) FROM (SELECT id FROM b ORDER BY x <&~> bits(800) LIMIT 50) s) AS behind_null
	FROM (SELECT id FROM b ORDER BY x <&~> NULL, x <&~> bits(800) LIMIT 50) s;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM b ORDER BY x <&~> NULL::bit) s;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM b ORDER BY x <&~> bits(5)) s;
SELECT count(*) FROM b;
RESET enable_seqscan;

-- a call of many queries; rows that tie with the last one and come behind it are not visited
CREATE FUNCTION differences(index regclass, tab regclass, n int, k int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	wrong bigint;
BEGIN
	EXECUTE format('WITH queries AS (SELECT n, bits(i, %3$s)::bit(%3$s) AS q FROM generate_series(1, 900, 13) WITH ORDINALITY g (i, n)),
		call AS (SELECT query, array_agg(tid || '' '' || coalesce(distance::text, ''-'') ORDER BY n) AS d
			FROM genie_search(%1$L, (SELECT array_agg(q ORDER BY n) FROM queries), %4$s) WITH ORDINALITY s (query, tid, distance, n) GROUP BY query),
		scans AS (SELECT n, (SELECT array_agg(ctid || '' '' || coalesce(d::text, ''-'')) FROM (SELECT ctid, x <&~> q AS d FROM (SELECT ctid, x FROM %2$s OFFSET 0) t ORDER BY x <&~> q, ctid LIMIT %4$s) s) AS d FROM queries)
	SELECT count(*) FROM scans LEFT JOIN call ON query = n WHERE call.d IS DISTINCT FROM scans.d', index, tab, n, k) INTO wrong;
	RETURN wrong;
END $$;
SELECT differences('b_x', 'b', 100, 1), differences('b_x', 'b', 100, 10), differences('b_x', 'b', 100, 250), differences('b_x', 'b', 100, 4000);
CREATE TABLE ties (x bit(3));
INSERT INTO ties SELECT bits(i % 5, 3) FROM generate_series(1, 20000) i;
CREATE INDEX ties_x ON ties USING genie (x genie_hamming_exact_ops);
VACUUM ties;
SELECT count(*) FROM genie_search('ties_x', ARRAY[B'101', B'000'], 10);
SELECT rows_visited <= 20 AS few FROM genie_last_scan();
SELECT differences('ties_x', 'ties', 3, 10), differences('ties_x', 'ties', 3, 9000);
INSERT INTO ties SELECT bits(i % 5, 3) FROM generate_series(1, 500) i;
DELETE FROM ties WHERE ctid < '(3,1)';
SELECT differences('ties_x', 'ties', 3, 10), wrong_bits('ties', $$SELECT v FROM (VALUES (B'101'), ('000')) s (v)$$, 3000), wrong_bits('ties', $$SELECT B'111' AS v$$, 21000);

-- an index that begins empty, of few rows, and then of more
CREATE TABLE w (id serial, x bit(65)) WITH (autovacuum_enabled = off);
CREATE INDEX w_x ON w USING genie (x genie_hamming_exact_ops);
SELECT wrong_bits('w', 'SELECT bits(1, 65) AS v', 10);
INSERT INTO w (x) SELECT bits(i % 7, 65) FROM generate_series(1, 50) i;
SELECT wrong_bits('w', 'SELECT bits(i, 65) AS v FROM generate_series(1, 9) i', 30), training FROM genie_index_info('w_x');
SET enable_seqscan = off;
SELECT id FROM w ORDER BY x <&~> B'1' LIMIT 1;
RESET enable_seqscan;
INSERT INTO w (x) SELECT bits(i % 7, 65) FROM generate_series(1, 2000) i;
INSERT INTO w (x) VALUES (NULL);
VACUUM w;
SELECT wrong_bits('w', 'SELECT bits(i, 65) AS v FROM generate_series(1, 9) i', 300), segments, pending_rows, training FROM genie_index_info('w_x');
SELECT wrong_bits('w', 'SELECT bits(3, 65) AS v', 3000);

-- lengths, up to the most; zeros alone
DO $$
DECLARE
	n int;
BEGIN
	FOREACH n IN ARRAY '{1,2,8,63,64,127,128,129,192,256,300,512,1000,1024,4097,65535}'::int[] LOOP
		CREATE TABLE l (x varbit);
		INSERT INTO l SELECT substring(repeat(bits(i, 64)::text, n / 64 + 1) FOR n)::varbit FROM generate_series(1, 300) i;
		CREATE INDEX l_x ON l USING genie (x genie_hamming_exact_ops);
		INSERT INTO l SELECT x FROM l LIMIT 20;
		INSERT INTO l VALUES (repeat('0', n)::varbit);
		IF wrong_bits('l', 'SELECT x AS v FROM l LIMIT 3', 20) > 0 OR wrong_bits('l', 'SELECT ~x AS v FROM l OFFSET 318', 400) > 0 THEN
			RAISE WARNING '% bits: wrong', n;
		END IF;
		IF EXISTS (SELECT FROM genie_check('l_x')) THEN
			RAISE WARNING '% bits: violations', n;
		END IF;
		DROP TABLE l;
	END LOOP;
END $$;

-- bad input; what is there stays
SELECT count(*) FROM b;
CREATE TABLE v (id int, x varbit);
INSERT INTO v VALUES (1, ''), (2, repeat('1', 65536)::varbit), (3, '101'), (4, '1010');
CREATE INDEX ON v USING genie (x genie_hamming_exact_ops);
DELETE FROM v WHERE id = 1;
CREATE INDEX ON v USING genie (x genie_hamming_exact_ops);
DELETE FROM v WHERE id = 2;
CREATE INDEX ON v USING genie (x genie_hamming_exact_ops);
DELETE FROM v WHERE id = 4;
CREATE INDEX v_x ON v USING genie (x genie_hamming_exact_ops);
INSERT INTO v VALUES (5, '');
INSERT INTO v VALUES (5, '1010');
INSERT INTO v VALUES (5, repeat('1', 65536)::varbit);
INSERT INTO v SELECT i, bits(i, 3) FROM generate_series(6, 500) i;
VACUUM v;
INSERT INTO v VALUES (501, '1010');
SET enable_seqscan = off;
SELECT id FROM v ORDER BY x <&~> B'1010' LIMIT 1;
SELECT id FROM v ORDER BY x <&~> B'' LIMIT 1;
SELECT count(*) FROM genie_search('v_x', ARRAY[B'101', B'11'], 1);
SELECT count(*) FROM genie_search('v_x', '{1,0,1}'::real[], 1);
SELECT count(*) FROM genie_exact_knn('v_x', '{1,0,1}'::real[], 1);
SELECT count(*) FROM genie_exact_knn('v_x', '{1,0,1}'::real[], 1, 'l2');
RESET enable_seqscan;
SELECT wrong_bits('v', $$SELECT v FROM (VALUES (B'101'), ('000')) s (v)$$, 600), training, pending_rows FROM genie_index_info('v_x');
CREATE INDEX ON v USING genie (x genie_hamming_exact_ops (hashes = 3));
-- another operator in the class's place: genie does not know its arithmetic
CREATE FUNCTION other(bit, bit) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT AS 'SELECT 1.5::float8';
CREATE OPERATOR <&~~> (LEFTARG = bit, RIGHTARG = bit, FUNCTION = other);
CREATE OPERATOR CLASS other_ops FOR TYPE bit USING genie AS OPERATOR 8 <&~~> (bit, bit) FOR ORDER BY float_ops, FUNCTION 1 genie_exact_bit_decompose(bit, internal),
	FUNCTION 2 genie_exact_bit_compile(internal, int2, oid, internal), FUNCTION 5 genie_exact_hamming_train(internal), FUNCTION 8 genie_vector_value(internal);
CREATE INDEX b_other ON b USING genie (x other_ops);
SET enable_seqscan = off;
SELECT id FROM b ORDER BY x <&~~> bits(5) LIMIT 1;
SELECT * FROM genie_search('b_other', ARRAY[bits(5)::bit(100)], 1);
RESET enable_seqscan;
DROP TABLE b, ties, w, v;
DROP OPERATOR FAMILY other_ops USING genie;
DROP OPERATOR <&~~> (bit, bit);
DROP FUNCTION other, bits, wrong_bits, differences;
