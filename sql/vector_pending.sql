-- Vectors that wait in the pending list: raw, measured by scans, and candidates beside those that match counts choose.
SET client_min_messages = warning;
CREATE FUNCTION vec(i int, n int DEFAULT 20) RETURNS real[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
	AS $$SELECT array_agg((sin(i * 0.37 * j) * (1 + i % 5) + cos(j * (i % 83)))::real) FROM generate_series(1, n) j$$;
CREATE TABLE v (id int PRIMARY KEY, x real[]) WITH (autovacuum_enabled = off);
INSERT INTO v SELECT i, vec(i) FROM generate_series(1, 600) i;
CREATE INDEX v_x ON v USING genie (x genie_l2_ops (hashes = 24)) WITH (pending_limit = 65536);
VACUUM ANALYZE v;
INSERT INTO v SELECT i, vec(i) FROM generate_series(601, 900) i;
SET enable_seqscan = off;

-- how many ids of one query are in the other
CREATE FUNCTION common(a int[], b int[]) RETURNS bigint LANGUAGE sql IMMUTABLE
	AS $$SELECT count(*) FROM (SELECT unnest(a) INTERSECT SELECT unnest(b)) s$$;
-- the n nearest ids by a sequential scan of the rows from one id on
CREATE FUNCTION nearest(q real[], n int, first int) RETURNS int[] LANGUAGE sql STABLE
	AS $$SELECT array_agg(id) FROM (SELECT id FROM (SELECT id, x FROM v WHERE id >= first OFFSET 0) v ORDER BY x <-> q, id LIMIT n) s$$;
CREATE FUNCTION by_index(q real[], n int) RETURNS int[] LANGUAGE sql STABLE
	AS $$SELECT array_agg(id) FROM (SELECT id FROM v ORDER BY x <-> q LIMIT n) s$$;

-- with a single candidate of the segment, all pending rows are looked at, and few are visited
SET genie.candidates = 1;
SELECT count(*) AS wrong FROM generate_series(601, 900, 7) i
	WHERE common(nearest(vec(i), 5, 601), by_index(vec(i), 6)) < 5 OR (by_index(vec(i), 1))[1] <> i;
SELECT by_index(vec(700), 1);
SELECT pending_rows, rows_visited < 100 AS visits_few FROM genie_last_scan();

-- a segment's row that is nearer than all pending ones is found as before
RESET genie.candidates;
SELECT count(*) AS wrong FROM generate_series(1, 600, 7) i WHERE (by_index(vec(i), 1))[1] <> i;
SELECT min(common(nearest(vec(i), 10, 1), by_index(vec(i), 10))) >= 8 AS recall FROM generate_series(1, 900, 31) i;

-- every row once, each round in order; a cursor goes on
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <-> vec(5)) s;
SET genie.candidates = 7;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <-> vec(650)) s;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM v ORDER BY x <-> vec(650);
FETCH 3 FROM c;
MOVE 500 FROM c;
MOVE ALL FROM c;
CLOSE c;
COMMIT;
SET genie.strict_order = on;
SELECT count(*) AS unsorted FROM (SELECT d < lag(d) OVER () AS before FROM (SELECT x <-> vec(650) AS d FROM v ORDER BY x <-> vec(650)) s) s WHERE before;
RESET genie.strict_order;
RESET genie.candidates;

-- other orders: by two queries, of which one may be NULL; NULL alone
SELECT array_agg(id) FROM (SELECT id FROM v ORDER BY x <-> vec(800), x <-> vec(5) LIMIT 1) s;
SELECT array_agg(id) FROM (SELECT id FROM v ORDER BY x <-> NULL, x <-> vec(800) LIMIT 1) s;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <-> NULL::real[]) s;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <-> vec(800), x <-> vec(5)) s;

-- rows that are gone, that never came, that are NULL, and that changed
DELETE FROM v WHERE id = 700;
UPDATE v SET x = vec(2000) WHERE id = 701;
BEGIN;
INSERT INTO v VALUES (1001, vec(702));
ROLLBACK;
INSERT INTO v VALUES (1002, NULL), (1003, vec(703));
SELECT by_index(vec(700), 1) <> '{700}' AS deleted, by_index(vec(701), 1) <> '{701}' AS old, by_index(vec(2000), 1) AS new, by_index(vec(702), 1) AS rolled_back, by_index(vec(703), 2) AS equal;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <-> vec(5)) s;
SELECT (array_agg(id))[count(*)] AS last FROM (SELECT id FROM v ORDER BY x <-> vec(5)) s;

-- many queries in a call: the same rows as scans, in pieces, and with pending rows that are gone
CREATE FUNCTION differences(k int) RETURNS bigint LANGUAGE sql AS $$
	WITH queries AS (SELECT n, vec(i) AS q FROM generate_series(1, 900, 13) WITH ORDINALITY g (i, n)),
		call AS (SELECT query, array_agg(round(distance::numeric, 4) ORDER BY n) AS d
			FROM genie_search('v_x', (SELECT array_agg(q ORDER BY n) FROM queries), k) WITH ORDINALITY s (query, tid, distance, n) GROUP BY query),
		scans AS (SELECT n, (SELECT array_agg(round(d::numeric, 4)) FROM (SELECT x <-> q AS d FROM v ORDER BY x <-> q LIMIT k) s) AS d FROM queries)
	SELECT count(*) FROM scans LEFT JOIN call ON query = n WHERE call.d IS DISTINCT FROM scans.d $$;
SELECT differences(1), differences(10);
SET genie.candidates = 1000;
SELECT differences(10), differences(250), differences(1000);
SET work_mem = '64kB';
SELECT differences(10), differences(250), differences(1000);
RESET work_mem;
SET genie.candidates = 20;
SELECT differences(1), differences(10), differences(20);
RESET genie.candidates;
SELECT kind, pending_rows > 300 AS pending FROM genie_last_scan() LIMIT 1;

-- lengths and elements are checked as before
INSERT INTO v VALUES (1004, vec(1, 19));
INSERT INTO v VALUES (1004, array_fill('NaN'::real, '{20}'));
INSERT INTO v VALUES (1004, array_fill(0, '{20}'));
SELECT by_index(array_fill(0::real, '{20}'), 1);
SELECT * FROM genie_check('v_x');

-- a merge signs them
SELECT genie_merge('v_x');
SELECT count(*) AS wrong FROM generate_series(601, 699, 7) i WHERE (by_index(vec(i), 1))[1] <> i;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <-> vec(5)) s;
SELECT pending_rows FROM genie_last_scan();
VACUUM v;
SELECT * FROM genie_check('v_x');

-- an index of NULLs alone has nothing to learn from, and its list is merged all the same
CREATE TABLE n (x real[]) WITH (autovacuum_enabled = off);
CREATE INDEX n_x ON n USING genie (x genie_l2_ops);
INSERT INTO n SELECT NULL FROM generate_series(1, 10);
SELECT genie_merge('n_x');
SELECT objects, pending_rows FROM genie_index_info('n_x');
DROP TABLE n;

-- all classes of vectors; doubles that floats cannot hold, and values of which most are zero
CREATE TABLE d (id int, l2 real[], l1 real[], la real[], co real[], l2d float8[], l1d float8[], lad float8[], cod float8[]) WITH (autovacuum_enabled = off);
INSERT INTO d SELECT i, y, y, y, y, z, z, z, z FROM (SELECT i, vec(i, 40) AS y,
	(SELECT array_agg(CASE WHEN (i + j) % 7 = 0 THEN 1e-9 * sin(i * j) + i ELSE 0 END) FROM generate_series(1, 300) j) AS z FROM generate_series(1, 400) i) s;
CREATE INDEX d_l2 ON d USING genie (l2 genie_l2_ops);
CREATE INDEX d_l1 ON d USING genie (l1 genie_l1_ops);
CREATE INDEX d_la ON d USING genie (la genie_laplacian_ops);
CREATE INDEX d_co ON d USING genie (co genie_cosine_ops);
CREATE INDEX d_l2d ON d USING genie (l2d genie_l2_float8_ops);
CREATE INDEX d_l1d ON d USING genie (l1d genie_l1_float8_ops);
CREATE INDEX d_lad ON d USING genie (lad genie_laplacian_float8_ops);
CREATE INDEX d_cod ON d USING genie (cod genie_cosine_float8_ops);
INSERT INTO d SELECT i, y, y, y, y, z, z, z, z FROM (SELECT i, vec(i, 40) AS y,
	(SELECT array_agg(CASE WHEN (i + j) % 7 = 0 THEN 1e-9 * sin(i * j) + i ELSE 0 END) FROM generate_series(1, 300) j) AS z FROM generate_series(401, 500) i) s;
SET genie.candidates = 1;
DO $$
DECLARE
	col text;
	op text;
	wrong int;
BEGIN
	FOREACH col IN ARRAY '{l2,l1,la,co,l2d,l1d,lad,cod}'::text[] LOOP
		op := CASE left(col, 2) WHEN 'l2' THEN '<->' WHEN 'co' THEN '<=>' ELSE '<+>' END;
		-- the n-th nearest is not farther than the n-th nearest pending one
		EXECUTE format('SELECT count(*) FROM (SELECT %1$I AS q FROM d WHERE id > 400 AND id %% 9 = 0) t WHERE
			EXISTS (SELECT FROM (SELECT row_number() OVER () AS n, %1$I %2$s q AS d FROM (SELECT * FROM d ORDER BY %1$I %2$s q LIMIT 5) s) i
				FULL JOIN (SELECT row_number() OVER (ORDER BY %1$I %2$s q) AS n, %1$I %2$s q AS d FROM (SELECT * FROM d WHERE id > 400 OFFSET 0) s) p USING (n)
				WHERE n <= 5 AND (i.d <= p.d) IS NOT TRUE)', col, op) INTO wrong;
		RAISE WARNING '%: % wrong', col, wrong;
	END LOOP;
END $$;
DROP TABLE d, v;
DROP FUNCTION differences, by_index, nearest, common, vec;
