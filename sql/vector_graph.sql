-- Classes of vectors that are approximate by proximity graphs alone: where there are none, the rows of a sequential scan, in its order.
SET client_min_messages = warning;
CREATE FUNCTION graph_vec(i int, n int DEFAULT 20) RETURNS real[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
	AS $$SELECT array_agg((sin(i * 0.37 * j) * (1 + i % 5) + cos(j * (i % 83)))::real) FROM generate_series(1, n) j$$;

-- queries, literals, of which the rows by an index scan, in their order, or by genie_search(), are not those of a sequential scan
CREATE FUNCTION graph_wrong(tab text, idx text, queries text, k int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	q text;
	by_index text[];
	by_call text[];
	by_table text[];
	n bigint = 0;
BEGIN
	FOR q IN EXECUTE format('SELECT quote_literal(v) || ''::'' || pg_typeof(v) FROM (%s) s', queries) LOOP
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
		EXECUTE format('SELECT array_agg(ctid || '' '' || coalesce(d::text, ''-'')) FROM (SELECT ctid, x <#> %3$s AS d FROM %1$I ORDER BY x <#> %3$s LIMIT %2$s) s', tab, k, q)
			INTO by_index;
		EXECUTE format('SELECT array_agg(tid || '' '' || coalesce(distance::text, ''-'') ORDER BY distance, tid) FROM genie_search(%L, ARRAY[%s], %s)', idx, q, k) INTO by_call;
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
		EXECUTE format('SELECT array_agg(ctid || '' '' || coalesce(d::text, ''-'')) FROM (SELECT ctid, x <#> %3$s AS d FROM %1$I ORDER BY x <#> %3$s, ctid LIMIT %2$s) s', tab, k, q)
			INTO by_table;
		IF by_index IS DISTINCT FROM by_table THEN
			RAISE WARNING '% differs: % and %', tab, by_index, by_table;
			n = n + 1;
		END IF;
		IF by_call IS DISTINCT FROM by_table THEN
			RAISE WARNING '% by a call differs: % and %', tab, by_call, by_table;
			n = n + 1;
		END IF;
	END LOOP;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'on', true);
	RETURN n;
END $$;

-- an index that begins empty
CREATE TABLE graph_rows (id int PRIMARY KEY, x real[]) WITH (autovacuum_enabled = off);
CREATE INDEX graph_ip ON graph_rows USING genie (x genie_ip_ops);
SELECT graph_wrong('graph_rows', 'graph_ip', 'SELECT graph_vec(5) AS v', 10);
INSERT INTO graph_rows SELECT i, CASE WHEN i % 10 <> 0 THEN graph_vec(i) END FROM generate_series(1, 40) i;
SELECT graph_wrong('graph_rows', 'graph_ip', 'SELECT graph_vec(i) AS v FROM generate_series(1, 9) i', 50), training FROM genie_index_info('graph_ip');
INSERT INTO graph_rows SELECT i, CASE WHEN i % 97 <> 0 THEN graph_vec(i) END FROM generate_series(41, 3000) i;
SELECT genie_merge('graph_ip');
SELECT segments, objects, keywords, training FROM genie_index_info('graph_ip');
EXPLAIN (COSTS OFF) SELECT id FROM graph_rows ORDER BY x <#> (SELECT graph_vec(5)) LIMIT 10;
SELECT graph_wrong('graph_rows', 'graph_ip', 'SELECT graph_vec(i) AS v FROM generate_series(1, 3500, 101) i', 10);
SELECT graph_wrong('graph_rows', 'graph_ip', 'SELECT graph_vec(i)::float8[] AS v FROM generate_series(1, 3500, 701) i', 20);
SELECT graph_wrong('graph_rows', 'graph_ip', 'SELECT graph_vec(i) AS v FROM generate_series(1, 3500, 1717) i', 5000);
SELECT graph_wrong('graph_rows', 'graph_ip', 'SELECT array_fill(0::real, ARRAY[20]) AS v', 20);

-- pending rows, deletes, updates, VACUUM and merges
INSERT INTO graph_rows SELECT i, CASE WHEN i % 5 <> 0 THEN graph_vec(i) END FROM generate_series(4001, 4300) i;
DELETE FROM graph_rows WHERE id % 7 = 3;
UPDATE graph_rows SET x = graph_vec(id + 10000) WHERE id % 11 = 5;
BEGIN;
INSERT INTO graph_rows SELECT i, graph_vec(17) FROM generate_series(5001, 5300) i;
ROLLBACK;
SELECT pending_rows > 0 AS pending FROM genie_index_info('graph_ip');
SELECT graph_wrong('graph_rows', 'graph_ip', 'SELECT graph_vec(i) AS v FROM generate_series(1, 4500, 301) i', 10);
VACUUM graph_rows;
SELECT graph_wrong('graph_rows', 'graph_ip', 'SELECT graph_vec(i) AS v FROM generate_series(1, 4500, 301) i', 10), pending_rows FROM genie_index_info('graph_ip');
SELECT count(*) AS violations FROM genie_check('graph_ip');

-- filters, cursors, two operators, NULL queries
SET enable_seqscan = off;
SELECT array_agg(id) = (SELECT array_agg(id) FROM (SELECT id FROM (SELECT ctid AS c, * FROM graph_rows OFFSET 0) v WHERE id % 50 = 7 ORDER BY x <#> graph_vec(5), c LIMIT 5) s) AS filtered
	FROM (SELECT id FROM graph_rows WHERE id % 50 = 7 ORDER BY x <#> graph_vec(5) LIMIT 5) s;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM graph_rows ORDER BY x <#> graph_vec(650);
FETCH 2 FROM c;
MOVE 500 FROM c;
SELECT genie_merge('graph_ip');
MOVE ALL FROM c;
CLOSE c;
COMMIT;
SELECT (SELECT array_agg(id) FROM (SELECT id FROM graph_rows ORDER BY x <#> graph_vec(800), x <#> graph_vec(5) LIMIT 3) s)
	= (SELECT array_agg(id) FROM (SELECT id FROM (SELECT * FROM graph_rows OFFSET 0) v ORDER BY x <#> graph_vec(800), x <#> graph_vec(5) LIMIT 3) s) AS two;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM graph_rows ORDER BY x <#> NULL::real[]) s;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM graph_rows ORDER BY x <#> graph_vec(5)) s;
SELECT count(*) FROM graph_rows;
RESET enable_seqscan;

-- rows within a distance, which are all; settings of approximate classes that do not matter here
SELECT (SELECT count(*) FROM genie_within('graph_ip', ARRAY[graph_vec(5)], ARRAY[-20]::float8[])) = (SELECT count(*) FROM graph_rows WHERE x <#> graph_vec(5) <= -20) AS within;
SET genie.quantized_vectors = off;
SET genie.candidates = 3;
SELECT graph_wrong('graph_rows', 'graph_ip', 'SELECT graph_vec(i) AS v FROM generate_series(1, 4500, 301) i', 10);
SET genie.strict_order = on;
SELECT graph_wrong('graph_rows', 'graph_ip', 'SELECT graph_vec(i) AS v FROM generate_series(1, 4500, 301) i', 10);
RESET genie.quantized_vectors;
RESET genie.candidates;
RESET genie.strict_order;

-- the option graph: 0 to 64, of approximate classes
ALTER INDEX graph_ip SET (graph = 0);
SELECT graph_wrong('graph_rows', 'graph_ip', 'SELECT graph_vec(i) AS v FROM generate_series(1, 4500, 301) i', 10);
ALTER INDEX graph_ip SET (graph = -1);
ALTER INDEX graph_ip SET (graph = 65);
ALTER INDEX graph_ip RESET (graph);
\set VERBOSITY default
CREATE INDEX graph_exact ON graph_rows USING genie (x genie_ip_exact_ops) WITH (graph = 32);
CREATE INDEX graph_bits ON graph_rows USING genie (x genie_ip_rabitq_ops) WITH (graph = 32);

-- vectors of another length, and with elements that are none
SELECT count(*) FROM (SELECT id FROM graph_rows ORDER BY x <#> graph_vec(5, 21) LIMIT 1) s;
SELECT count(*) FROM genie_search('graph_ip', ARRAY[graph_vec(5, 21)], 1);
INSERT INTO graph_rows VALUES (9001, graph_vec(5, 21));
INSERT INTO graph_rows VALUES (9001, '{NaN}');
\set VERBOSITY terse

-- double precision
CREATE TABLE graph_double AS SELECT id, x::float8[] AS x FROM graph_rows;
CREATE INDEX graph_double_ip ON graph_double USING genie (x genie_ip_float8_ops) WITH (graph = 16);
SELECT graph_wrong('graph_double', 'graph_double_ip', 'SELECT graph_vec(i)::float8[] AS v FROM generate_series(1, 4500, 301) i', 10);

-- as many rows as have a graph, if there is a worker
CREATE TABLE graph_many AS SELECT i AS id, graph_vec(i, 4) AS x FROM generate_series(1, 9000) i;
CREATE INDEX graph_many_ip ON graph_many USING genie (x genie_ip_ops);
CREATE INDEX graph_many_l2 ON graph_many USING genie (x genie_l2_ops (hashes = 8)) WITH (graph = 32);
SET enable_seqscan = off;
SELECT (SELECT count(*) FROM (SELECT id FROM graph_many ORDER BY x <#> graph_vec(7, 4) LIMIT 3) s), (SELECT count(*) FROM (SELECT id FROM graph_many ORDER BY x <-> graph_vec(7, 4) LIMIT 3) s),
	(SELECT count(*) FROM genie_search('graph_many_ip', ARRAY[graph_vec(7, 4)], 3)), (SELECT count(*) FROM genie_search('graph_many_l2', ARRAY[graph_vec(7, 4)], 3));
RESET enable_seqscan;

DROP TABLE graph_rows, graph_double, graph_many;
DROP FUNCTION graph_vec, graph_wrong;
