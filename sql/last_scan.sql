-- genie_last_scan(): what each scan did of the last statement that had some; the same with and without the worker, which is left out.
SET genie.worker = off;
CREATE TABLE last_t (id int, x int[], v real[]);
INSERT INTO last_t SELECT i, ARRAY[i % 7, 10 + i % 11], ARRAY[i % 13, i % 17, i % 19]::real[] FROM generate_series(1, 2000) i;
CREATE INDEX last_t_x ON last_t USING genie (x);
CREATE INDEX last_t_v ON last_t USING genie (v genie_l2_ops);
CREATE VIEW last AS SELECT index, kind, scans, answered_by_gpu + answered_by_worker_cpu AS worker, answered_by_backend AS backend,
	fallback_reasons AS reasons, segments, pending_rows AS pending, rounds, candidates, rows_visited AS visited, rows_returned AS returned FROM genie_last_scan();
SET enable_seqscan = off;

-- nothing yet
SELECT * FROM last;

-- an index scan
SELECT id FROM last_t ORDER BY x <&> '{1,12}' LIMIT 3;
SELECT * FROM last;
SELECT wait_time >= 0 AND wait_time < 60000 AS wait_time, count_time > 0 AND count_time < 60000 AS count_time FROM genie_last_scan();

-- neither that nor a statement without a scan changes it
SELECT count(*) FROM last_t WHERE false;
SELECT * FROM last;

-- a bitmap scan, with pending rows
INSERT INTO last_t SELECT i, '{1,12}', NULL FROM generate_series(1, 5) i;
SET enable_indexscan = off;
SELECT count(*) FROM last_t WHERE x @& genie_query('{1,12}'::int[], 2);
SELECT * FROM last;
RESET enable_indexscan;

-- a distance looks rows up
SELECT count(*) FROM (SELECT id FROM last_t ORDER BY v <-> '{1,2,3}' LIMIT 10) s;
SELECT index, kind, scans, backend, rounds > 0 AS rounds, candidates > 10 AS candidates, visited > 10 AS visited, returned FROM last;

-- beyond the first page
SELECT count(*) FROM (SELECT id FROM last_t ORDER BY x <&> '{1,12}' LIMIT 400) s;
SELECT rounds, candidates, returned FROM last;

-- a condition that is NULL: nothing to do
SELECT id FROM last_t WHERE x @& NULL::genie_query ORDER BY x <&> '{1}';
SELECT id FROM last_t WHERE x @& (SELECT NULL::genie_query);
SELECT * FROM last;

-- rescans are summed
SELECT count(*) FROM generate_series(1, 4) i, LATERAL (SELECT id FROM last_t ORDER BY x <&> ARRAY[i] LIMIT 2) s;
SELECT * FROM last;

-- several scans in one query
SELECT count(*) FROM (SELECT id FROM last_t ORDER BY x <&> '{1}' LIMIT 2) a, (SELECT id FROM last_t ORDER BY x <&> '{2}' LIMIT 3) b;
SELECT kind, scans, returned FROM last ORDER BY returned;

-- a function's statements are one with their caller's
CREATE FUNCTION last_f(n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		PERFORM id FROM last_t ORDER BY x <&> ARRAY[i] LIMIT 1;
	END LOOP;
	RETURN n;
END $$;
SELECT last_f(3);
SELECT index, kind, scans, returned FROM last;

-- more scans than there are records
SELECT last_f(1007);
SELECT index, kind, count(*), sum(scans) AS scans, sum(returned) AS returned FROM last GROUP BY 1, 2 ORDER BY 2;

-- batches
SELECT count(*) FROM genie_search('last_t_x', ARRAY[genie_query('{1}'::int[]), genie_query('{2}'::int[])], 3);
SELECT * FROM last;
SELECT count(*) FROM genie_search('last_t_x', ARRAY[genie_query('{99}'::int[])], 3);
SELECT index, kind, scans, returned FROM last;
SELECT count(*) FROM genie_search('last_t_v', ARRAY[ARRAY[1,2,3]]::real[], 3);
SELECT index, kind, scans, rounds, returned FROM last;
SELECT count(*) FROM genie_exact_knn('last_t_v', ARRAY[ARRAY[1,2,3]]::real[], 3);
SELECT * FROM last;

-- a statement that failed
SELECT 1 / (id - id) FROM last_t ORDER BY x <&> '{1,12}' LIMIT 3;
SELECT index, kind, scans, rounds, returned FROM last;
SELECT genie_search('last_t_x', ARRAY[genie_query('{1}'::int[])], -1);
SELECT index, kind, scans, rounds, returned FROM last;

-- a cursor: each FETCH is a statement, and goes on
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM last_t ORDER BY x <&> '{1,12}';
FETCH 3 FROM c;
SELECT * FROM last;
SELECT count(*) FROM (SELECT id FROM last_t ORDER BY v <-> '{1,2,3}' LIMIT 1) s;
FETCH 2 FROM c;
SELECT * FROM last;
FETCH 200 FROM c \g /dev/null
SELECT scans, rounds, candidates, returned FROM last;
SAVEPOINT s;
SELECT 1 / (id - id) FROM last_t ORDER BY x <&> '{1,12}' LIMIT 3;
ROLLBACK TO s;
FETCH 1 FROM c;
SELECT scans, rounds, candidates, returned FROM last;
COMMIT;

-- an index that has gone
DROP INDEX last_t_x;
SELECT index = 0 AS index, kind, scans FROM last;

-- why the session counted
RESET genie.worker;
CREATE TEMPORARY TABLE last_temporary AS SELECT * FROM last_t;
CREATE INDEX last_temporary_x ON last_temporary USING genie (x);
SELECT id FROM last_temporary ORDER BY x <&> '{1,12}' LIMIT 1;
SELECT backend, reasons IN ('genie is not preloaded', 'the table is temporary') AS reasons FROM last;

-- anybody may ask
CREATE ROLE regress_genie_last;
SET ROLE regress_genie_last;
SELECT count(*) FROM genie_last_scan();
RESET ROLE;
DROP ROLE regress_genie_last;
DROP VIEW last;
DROP FUNCTION last_f;
DROP TABLE last_t, last_temporary;
