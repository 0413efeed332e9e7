-- Exact operator classes of vectors: the rows of a sequential scan, in its order.
SET client_min_messages = warning;
CREATE FUNCTION vec(i int, n int DEFAULT 20) RETURNS real[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
	AS $$SELECT array_agg((sin(i * 0.37 * j) * (1 + i % 5) + cos(j * (i % 83)))::real) FROM generate_series(1, n) j$$;

-- queries, literals, of which the rows by an index scan, in their order, are not those of a sequential scan
CREATE FUNCTION wrong(tab text, op text, queries text, k int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	q text;
	by_index text[];
	by_table text[];
	n bigint = 0;
BEGIN
	FOR q IN EXECUTE format('SELECT quote_literal(v) || ''::'' || pg_typeof(v) FROM (%s) s', queries) LOOP
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
		EXECUTE format('SELECT array_agg(ctid || '' '' || coalesce(d::text, ''-'')) FROM (SELECT ctid, x %2$s %4$s AS d FROM %1$I ORDER BY x %2$s %4$s LIMIT %3$s) s', tab, op, k, q)
			INTO by_index;
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
		EXECUTE format('SELECT array_agg(ctid || '' '' || coalesce(d::text, ''-'')) FROM (SELECT ctid, x %2$s %4$s AS d FROM %1$I ORDER BY x %2$s %4$s, ctid LIMIT %3$s) s', tab, op, k, q)
			INTO by_table;
		IF by_index IS DISTINCT FROM by_table THEN
			RAISE WARNING '% % differs: % and %', tab, op, by_index, by_table;
			n = n + 1;
		END IF;
	END LOOP;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'on', true);
	RETURN n;
END $$;

CREATE TABLE v (id int PRIMARY KEY, x real[]) WITH (autovacuum_enabled = off);
INSERT INTO v SELECT i, CASE WHEN i % 97 <> 0 THEN vec(i) END FROM generate_series(1, 3000) i;
CREATE INDEX v_l2 ON v USING genie (x genie_l2_exact_ops);
SELECT segments, objects, keywords, training FROM genie_index_info('v_l2');
EXPLAIN (COSTS OFF) SELECT id FROM v ORDER BY x <-> (SELECT vec(5)) LIMIT 10;
SELECT wrong('v', '<->', 'SELECT vec(i) AS v FROM generate_series(1, 3500, 101) i', 10);
SET enable_seqscan = off;
SELECT id FROM v ORDER BY x <-> vec(71) LIMIT 1;
SELECT rows_visited < 100 AS few FROM genie_last_scan();
RESET enable_seqscan;
SELECT wrong('v', '<->', 'SELECT vec(i) AS v FROM generate_series(1, 3500, 1717) i', 5000);

-- the other metrics, at once; zero vectors, and such that differ by a factor
INSERT INTO v SELECT 3000 + i, array_fill(0::real, ARRAY[20]) FROM generate_series(1, 3) i;
INSERT INTO v SELECT 3010 + i, (SELECT array_agg(e * i) FROM unnest(vec(17)) e) FROM generate_series(1, 9) i;
CREATE INDEX v_l1 ON v USING genie (x genie_l1_exact_ops);
CREATE INDEX v_cosine ON v USING genie (x genie_cosine_exact_ops);
CREATE INDEX v_ip ON v USING genie (x genie_ip_exact_ops);
SELECT wrong('v', '<+>', 'SELECT vec(i) AS v FROM generate_series(1, 3500, 101) i', 10),
	wrong('v', '<=>', 'SELECT vec(i) AS v FROM generate_series(1, 3500, 101) i', 20),
	wrong('v', '<#>', 'SELECT vec(i) AS v FROM generate_series(1, 3500, 101) i', 20);
SELECT wrong('v', '<=>', 'SELECT array_fill(0::real, ARRAY[20]) AS v', 20);
SELECT wrong('v', '<+>', 'SELECT vec(i) AS v FROM generate_series(1, 3500, 1717) i', 5000),
	wrong('v', '<=>', 'SELECT vec(i) AS v FROM generate_series(1, 3500, 1717) i', 5000),
	wrong('v', '<#>', 'SELECT vec(i) AS v FROM generate_series(1, 3500, 1717) i', 5000);
-- a query in double precision
SELECT wrong('v', '<->', 'SELECT vec(i)::float8[] AS v FROM generate_series(1, 3500, 701) i', 10),
	wrong('v', '<+>', 'SELECT vec(i)::float8[] AS v FROM generate_series(1, 3500, 701) i', 10),
	wrong('v', '<=>', 'SELECT vec(i)::float8[] AS v FROM generate_series(1, 3500, 701) i', 10),
	wrong('v', '<#>', 'SELECT vec(i)::float8[] AS v FROM generate_series(1, 3500, 701) i', 10);

-- pending rows, deletes, updates, VACUUM and merges
INSERT INTO v SELECT i, CASE WHEN i % 5 <> 0 THEN vec(i) END FROM generate_series(4001, 4300) i;
DELETE FROM v WHERE id % 7 = 3;
UPDATE v SET x = vec(id + 10000) WHERE id % 11 = 5;
BEGIN;
INSERT INTO v SELECT i, vec(17) FROM generate_series(5001, 5300) i;
ROLLBACK;
SELECT pending_rows > 0 AS pending FROM genie_index_info('v_l2');
SELECT wrong('v', op, 'SELECT vec(i) AS v FROM generate_series(1, 4500, 301) i', 10) FROM unnest('{<->,<+>,<=>,<#>}'::text[]) op;
VACUUM v;
SELECT pending_rows, tombstones FROM genie_index_info('v_l2');
SELECT wrong('v', op, 'SELECT vec(i) AS v FROM generate_series(1, 4500, 301) i', 10) FROM unnest('{<->,<+>,<=>,<#>}'::text[]) op;
INSERT INTO v SELECT i, vec(i) FROM generate_series(6001, 6300) i;
SELECT genie_merge('v_l2');
SELECT wrong('v', '<->', 'SELECT vec(i) AS v FROM generate_series(1, 6500, 301) i', 10), segments > 1 AS several FROM genie_index_info('v_l2');
SELECT genie_merge('v_l2') FROM generate_series(1, 3);
SELECT wrong('v', '<->', 'SELECT vec(i) AS v FROM generate_series(1, 6500, 301) i', 10);
SELECT count(*) AS violations FROM (SELECT genie_check(i::regclass) FROM unnest('{v_l2,v_l1,v_cosine,v_ip}'::text[]) i) s;

-- filters, joins, cursors, two operators, NULL queries
SET enable_seqscan = off;
SELECT array_agg(id) = (SELECT array_agg(id) FROM (SELECT id FROM (SELECT ctid AS c, * FROM v OFFSET 0) v WHERE id % 50 = 7 ORDER BY x <-> vec(5), c LIMIT 5) s) AS filtered
	FROM (SELECT id FROM v WHERE id % 50 = 7 ORDER BY x <-> vec(5) LIMIT 5) s;
SELECT count(*) AS n, bool_and(l.id = q.id OR q.id % 7 = 3 OR q.id % 11 = 5) AS itself FROM generate_series(1, 1000, 37) q (id)
	CROSS JOIN LATERAL (SELECT id FROM v ORDER BY x <-> vec(q.id) LIMIT 1) l WHERE q.id % 97 <> 0;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM v ORDER BY x <-> vec(650);
FETCH 2 FROM c;
MOVE 500 FROM c;
SELECT genie_merge('v_l2');
MOVE ALL FROM c;
CLOSE c;
COMMIT;
SELECT array_agg(id) FROM (SELECT id FROM v ORDER BY x <-> vec(800), x <-> vec(5) LIMIT 3) s;
SELECT array_agg(id) FROM (SELECT id FROM v ORDER BY x <-> NULL, x <-> vec(800) LIMIT 3) s;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <-> NULL::real[]) s;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <-> vec(5)) s;
SELECT count(*) FROM v;
RESET enable_seqscan;

-- many equal rows, come in TID order; an index that begins empty, of few rows, and then of more
CREATE TABLE w (id serial, x real[]) WITH (autovacuum_enabled = off);
CREATE INDEX w_x ON w USING genie (x genie_l2_exact_ops);
SELECT wrong('w', '<->', 'SELECT vec(1, 4) AS v', 10);
INSERT INTO w (x) SELECT vec(i % 7, 4) FROM generate_series(1, 50) i;
SELECT wrong('w', '<->', 'SELECT vec(i, 4) AS v FROM generate_series(1, 9) i', 30), training FROM genie_index_info('w_x');
INSERT INTO w (x) SELECT vec(i % 7, 4) FROM generate_series(1, 2000) i;
INSERT INTO w (x) VALUES (NULL);
VACUUM w;
SELECT wrong('w', '<->', 'SELECT vec(i, 4) AS v FROM generate_series(1, 9) i', 300), segments, pending_rows, training FROM genie_index_info('w_x');
SELECT wrong('w', '<->', 'SELECT vec(3, 4) AS v', 3000);

-- hard data: far from the origin with small differences, two scales, mostly zeros, constant, double precision that floats cannot hold
CREATE FUNCTION hard(kind text, i int) RETURNS float8[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
	SELECT array_agg(CASE kind
		WHEN 'far' THEN 1e6 + j + sin(i * j) * 1e-3
		WHEN 'scales' THEN sin(i * 0.7 * j) * CASE WHEN j <= 3 THEN 50 ELSE 1 END
		WHEN 'sparse' THEN CASE WHEN (i + j) % 29 = 0 THEN i % 10 ELSE 0 END
		WHEN 'constant' THEN 3.5
		WHEN 'tiny' THEN sin(i * j) * 1e-200
		WHEN 'huge' THEN cos(i * j) * 1e200
		WHEN 'fine' THEN 1 + (i * j % 101) * 1e-12 END) FROM generate_series(1, 48) j $$;
DO $$
DECLARE
	k text;
	op text;
	n bigint;
BEGIN
	FOREACH k IN ARRAY '{far,scales,sparse,constant,tiny,huge,fine}'::text[] LOOP
		EXECUTE format('CREATE TABLE h_%1$s AS SELECT hard(%1$L, i) AS x FROM generate_series(1, 600) i', k);
		EXECUTE format('CREATE INDEX ON h_%1$s USING genie (x genie_l2_exact_float8_ops); CREATE INDEX ON h_%1$s USING genie (x genie_l1_exact_float8_ops); CREATE INDEX ON h_%1$s USING genie (x genie_cosine_exact_float8_ops); CREATE INDEX ON h_%1$s USING genie (x genie_ip_exact_float8_ops)', k);
		FOREACH op IN ARRAY '{<->,<+>,<=>,<#>}'::text[] LOOP
			n = wrong('h_' || k, op, format('SELECT hard(%L, i) AS v FROM generate_series(1, 700, 77) i', k), 12);
			IF n > 0 THEN
				RAISE WARNING '% %: % wrong', k, op, n;
			END IF;
		END LOOP;
	END LOOP;
END $$;

-- lengths: 1, and more than a page
CREATE TABLE l (x real[]);
INSERT INTO l SELECT ARRAY[sin(i) * 100] FROM generate_series(1, 500) i;
CREATE INDEX ON l USING genie (x genie_l2_exact_ops);
SELECT wrong('l', '<->', 'SELECT ARRAY[i]::real[] AS v FROM generate_series(-110, 110, 17) i', 10);
CREATE TABLE m (x real[]);
INSERT INTO m SELECT vec(i, 3000) FROM generate_series(1, 300) i;
CREATE INDEX m_x ON m USING genie (x genie_l2_exact_ops);
INSERT INTO m SELECT vec(i, 3000) FROM generate_series(301, 305) i;
SELECT wrong('m', '<->', 'SELECT vec(i, 3000) AS v FROM generate_series(3, 310, 99) i', 5);
SELECT count(*) AS violations FROM genie_check('m_x');

-- a call of many queries
CREATE FUNCTION differences(k int) RETURNS bigint LANGUAGE sql AS $$
	WITH queries AS (SELECT n, vec(i) AS q FROM generate_series(1, 900, 13) WITH ORDINALITY g (i, n)),
		call AS (SELECT query, array_agg(tid || ' ' || distance ORDER BY n) AS d
			FROM genie_search('v_l2', (SELECT array_agg(q ORDER BY n) FROM queries), k) WITH ORDINALITY s (query, tid, distance, n) GROUP BY query),
		scans AS (SELECT n, (SELECT array_agg(ctid || ' ' || d) FROM (SELECT ctid, x <-> q AS d FROM (SELECT ctid, x FROM v OFFSET 0) v ORDER BY x <-> q, ctid LIMIT k) s) AS d FROM queries)
	SELECT count(*) FROM scans LEFT JOIN call ON query = n WHERE call.d IS DISTINCT FROM scans.d $$;
SELECT differences(1), differences(10), differences(250);
-- more rows than there are, pending ones among them; more than one job gives
SELECT k, count(s.tid) AS rows, count(*) FILTER (WHERE (s.tid, s.distance) IS DISTINCT FROM (r.ctid, r.d)) AS wrong
FROM unnest(ARRAY[304, 305, 306, 100000]) k,
	LATERAL (SELECT tid, distance, n FROM genie_search('m_x', ARRAY[vec(7, 3000)], k) WITH ORDINALITY s (query, tid, distance, n)) s
	LEFT JOIN (SELECT ctid, x <-> vec(7, 3000) AS d, row_number() OVER (ORDER BY x <-> vec(7, 3000), ctid) AS n FROM m) r USING (n)
GROUP BY k ORDER BY k;

-- genie_exact_knn() measures by the class's operator
SELECT i AS index, count(*), count(*) FILTER (WHERE (e.tid, e.distance) IS DISTINCT FROM (s.tid, s.distance)) AS wrong
FROM unnest('{v_l2,v_l1,v_cosine,v_ip}'::regclass[]) i,
	LATERAL genie_exact_knn(i, ARRAY[vec(3), vec(500)], 20) WITH ORDINALITY e (query, tid, distance, n)
	LEFT JOIN LATERAL genie_search(i, ARRAY[vec(3), vec(500)], 20) WITH ORDINALITY s (query, tid, distance, n) USING (query, n)
GROUP BY i ORDER BY i;

-- bad input
INSERT INTO v VALUES (9001, ARRAY[1, 2]::real[]);
INSERT INTO v VALUES (9001, array_fill('NaN'::real, ARRAY[20]));
INSERT INTO v VALUES (9001, array_fill('Infinity'::real, ARRAY[20]));
INSERT INTO v VALUES (9001, '{}');
SET enable_seqscan = off;
SELECT id FROM v ORDER BY x <-> ARRAY[1, 2]::real[] LIMIT 1;
SELECT id FROM v ORDER BY x <-> array_fill('NaN'::real, ARRAY[20]) LIMIT 1;
CREATE INDEX ON v USING genie (x genie_l2_exact_ops (hashes = 3));
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname ~ '^genie_.*exact' ORDER BY opcname;
DROP TABLE v, w, l, m;
DROP FUNCTION vec, differences;
