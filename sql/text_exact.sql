-- genie_edit_exact_ops: short texts by their characters.  The oracle is the sequential scan.
SET jit = off;
-- words of few letters, some with others of several bytes, duplicates, NULLs, empty texts, and texts longer than records and than queries' patterns
CREATE FUNCTION made(i int) RETURNS text LANGUAGE sql IMMUTABLE RETURN CASE
	WHEN i % 53 = 7 THEN NULL
	WHEN i % 71 = 5 THEN ''
	WHEN i % 97 = 11 THEN repeat(substr(md5((i / 3)::text), 1, 7), 3 + i % 40)
	WHEN i % 13 = 3 THEN translate(substr(md5((i % 900)::text), 1, 3 + i % 15), '0123456789', 'àéîõü漢字仮名🙂')
	ELSE translate(substr(md5((i % 1100)::text), 1, 4 + i % 9), '0123456789', 'oiieaagtbp') END;
CREATE TABLE t (id int, x text) WITH (autovacuum_enabled = off);
CREATE TABLE queries AS SELECT row_number() OVER () AS n, q FROM (
	SELECT made(i) AS q FROM generate_series(1, 1700, 131) i UNION ALL
	VALUES (''), ('a'), ('bepi'), ('zzzzzzzzzzzz'), (repeat('abcdefgh', 8)), (repeat('abcdefgh', 8) || 'x'), (repeat('dab', 42)), (repeat('dab', 43)), (repeat('e', 2000)), ('仮名交じり文')) s (q)
	WHERE q IS NOT NULL;

-- how many answers differ from those of sequential scans: the nearest, all in order, within, within in order, within two, near another
CREATE FUNCTION wrong(radius int DEFAULT 4) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	q record;
	n int = 0;
	n_all int = 0;
	n_rows bigint = 0;
	form text;
	by_index text;
	by_table text;
	forms text[] = ARRAY[
		'SELECT id, x <~> $1 AS d FROM t ORDER BY x <~> $1%1$s LIMIT 20',
		'SELECT id, x <~> $1 AS d FROM t ORDER BY x <~> $1%1$s',
		'SELECT id FROM t WHERE x @& genie_edit_query($1, $2) ORDER BY id',
		'SELECT id FROM t WHERE x @& genie_edit_query($1, $2) ORDER BY x <~> $1%1$s',
		'SELECT id FROM t WHERE x @& genie_edit_query($1, $2) AND x @& genie_edit_query(''bepi'', $2 + 2) ORDER BY id',
		'SELECT id FROM t WHERE x @& genie_edit_query(''bepi'', $2) ORDER BY x <~> $1%1$s LIMIT 30'];
BEGIN
	FOR q IN SELECT queries.n, queries.q FROM queries LOOP
		FOREACH form IN ARRAY forms LOOP
			FOR bitmap IN 0 .. (form LIKE '%ORDER BY id')::int LOOP
				PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', (bitmap = 0)::text, true), set_config('enable_bitmapscan', (bitmap = 1)::text, true);
				EXECUTE 'SELECT string_agg(s::text, '','') FROM (' || format(form, '') || ') s' INTO by_index USING q.q, radius;
				PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
				EXECUTE 'SELECT string_agg(s::text, '',''), count(*) + $3 FROM (' || format(form, ', ctid') || ') s' INTO by_table, n_rows USING q.q, radius, n_rows;
				IF by_index IS DISTINCT FROM by_table THEN
					n := n + 1;
					RAISE WARNING '% for % differs: % and %', form, q.q, left(by_index, 200), left(by_table, 200);
				END IF;
				n_all := n_all + 1;
			END LOOP;
		END LOOP;
	END LOOP;
	RETURN n || ' of ' || n_all || CASE WHEN n_rows > 10000 THEN ', of many rows' ELSE ', of few rows' END;
END $$;

-- the class learns when there are rows enough; until then, and in the pending list, rows are compared one by one
CREATE INDEX t_x ON t USING genie (x genie_edit_exact_ops);
SELECT wrong();
INSERT INTO t SELECT i, made(i) FROM generate_series(1, 200) i;
SELECT training, wrong() FROM genie_index_info('t_x');
INSERT INTO t SELECT i, made(i) FROM generate_series(201, 1500) i;
SELECT training, wrong() FROM genie_index_info('t_x');
SELECT genie_merge('t_x');
SELECT training, pending_rows, wrong() FROM genie_index_info('t_x');
DELETE FROM t WHERE id % 7 = 2;
UPDATE t SET x = made(id + 5000) WHERE id % 11 = 3;
SELECT wrong();
VACUUM t;
SELECT wrong();
SELECT genie_check('t_x');
DROP INDEX t_x;
CREATE INDEX t_x ON t USING genie (x genie_edit_exact_ops);
SELECT wrong();
SELECT wrong(0);
SELECT genie_check('t_x');

-- few rows are visited, though many have one distance
SET enable_seqscan = off;
SELECT id, x, x <~> 'qqqq' AS d FROM t ORDER BY x <~> 'qqqq' LIMIT 3;
SELECT rows_visited < 100 AS few FROM genie_last_scan();
SELECT count(*) FROM t WHERE x @& genie_edit_query('oiet', 1);
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE x @& genie_edit_query('bepi', 1) ORDER BY x <~> 'bepi' LIMIT 5;
-- cursors, filters, NULL queries, joins
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t ORDER BY x <~> 'bepi';
FETCH 3 FROM c;
INSERT INTO t SELECT 2000 + i, 'bepi' FROM generate_series(1, 400) i;
SELECT genie_merge('t_x');
MOVE ALL FROM c;
CLOSE c;
ROLLBACK;
SELECT count(*) FROM (SELECT id FROM t WHERE id % 100 = 1 ORDER BY x <~> 'bepi' LIMIT 12) s;
SELECT count(*) AS n, count(x) FROM (SELECT x FROM t ORDER BY x <~> NULL) s;
SELECT count(*) FROM t WHERE x @& NULL::genie_edit_query;
SELECT count(*) AS n, bool_and(s.d = 0) AS all_found FROM (SELECT * FROM t WHERE x IS NOT NULL LIMIT 100) q, LATERAL (SELECT x <~> q.x AS d FROM t ORDER BY x <~> q.x LIMIT 1) s;
RESET enable_seqscan;
-- what it does not have
SELECT count(*) FROM t WHERE x @& genie_edit_query('a', -1);
INSERT INTO t VALUES (1, repeat('x', 65536));
SET enable_seqscan = off;
SELECT id FROM t ORDER BY x <~> repeat('x', 65536) LIMIT 1;
INSERT INTO t VALUES (1, repeat('x', 65535));
SELECT length(x), x <~> repeat('x', 65530) AS d FROM t ORDER BY x <~> repeat('x', 65530) LIMIT 1;
RESET enable_seqscan;

-- data unlike the sample: all equal, long ones after short ones, one character
CREATE TABLE e AS SELECT i AS id, 'same'::text AS x FROM generate_series(1, 1000) i;
CREATE INDEX e_x ON e USING genie (x genie_edit_exact_ops);
INSERT INTO e SELECT 1000 + i, repeat('long ', 10 + i % 20) || i FROM generate_series(1, 500) i;
INSERT INTO e SELECT 1500 + i, chr(97 + i % 26) FROM generate_series(1, 100) i;
VACUUM e;
SET enable_seqscan = off;
SELECT id FROM e ORDER BY x <~> (repeat('long ', 16) || '6') LIMIT 1;
SELECT id FROM e ORDER BY x <~> 'sam' LIMIT 2;
SELECT count(*) FROM e WHERE x @& genie_edit_query('c', 0);
SELECT genie_check('e_x');
DROP TABLE t, e, queries;
DROP FUNCTION wrong(int), made(int);
