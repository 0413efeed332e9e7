-- Small tables of vectors: from how many rows on is the index faster than a sequential scan, and from how many on does the planner
-- take it?  "index first": nothing has been analyzed or merged yet, as in a new database.  psql -X -f test/bench/small_vectors.sql, in a database with
-- genie, without the worker.  It makes the table small_vectors and drops it.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION pg_temp.total_cost(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan #>> '{0,Plan,Total Cost}';
END $$;
-- the least of some runs, in milliseconds
CREATE FUNCTION pg_temp.time_of(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	begun timestamptz;
	least_time numeric := 'Infinity';
BEGIN
	FOR i IN 1 .. 7 LOOP
		begun := clock_timestamp();
		EXECUTE query;
		least_time := least(least_time, extract(epoch FROM clock_timestamp() - begun) * 1000);
	END LOOP;
	RETURN round(least_time, 3);
END $$;
CREATE FUNCTION pg_temp.compare(dimensions int, n int, state text) RETURNS TABLE (scan_cost numeric, index_cost numeric, scan_ms numeric, index_ms numeric) LANGUAGE plpgsql AS $$
DECLARE
	query text;
BEGIN
	DROP TABLE IF EXISTS small_vectors;
	CREATE TABLE small_vectors (id int, v real[]) WITH (autovacuum_enabled = off);
	IF state = 'index first' THEN
		CREATE INDEX ON small_vectors USING genie (v genie_l2_ops);
	END IF;
	PERFORM setseed(0.5);
	INSERT INTO small_vectors SELECT i, ARRAY(SELECT ((i * 7 + j * 3) % 11 + random())::real FROM generate_series(1, dimensions) j WHERE i > 0) FROM generate_series(1, n) i;
	IF state = 'rows first' THEN
		CREATE INDEX ON small_vectors USING genie (v genie_l2_ops);
		ANALYZE small_vectors;
	END IF;
	query := format('SELECT id FROM small_vectors ORDER BY v <-> %L LIMIT 10', (SELECT v FROM small_vectors WHERE id = n / 2));
	PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_seqscan', 'on', true);
	scan_cost := pg_temp.total_cost(query);
	scan_ms := pg_temp.time_of(query);
	PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_seqscan', 'off', true);
	index_cost := pg_temp.total_cost(query);
	index_ms := pg_temp.time_of(query);
	RETURN NEXT;
END $$;
SELECT state, dimensions, n, c.*, index_ms < scan_ms AS index_is_faster, index_cost < scan_cost AS index_is_taken
	FROM unnest('{3,32,128,768}'::int[]) dimensions, unnest('{100,250,500,1000,2000,4000,8000}'::int[]) n, unnest('{index first,rows first}'::text[]) state, LATERAL pg_temp.compare(dimensions, n, state) c
	ORDER BY state, dimensions, n;
DROP TABLE small_vectors;
