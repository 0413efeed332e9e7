-- Classes of vectors with a bit a dimension: nearly all of the nearest rows; where bounds allow for every error, the rows of a sequential scan, in its order.
SET client_min_messages = warning;
CREATE FUNCTION rabitq_vec(i int, n int DEFAULT 256) RETURNS real[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
	AS $$SELECT array_agg((sin(i % 40 * j * 0.7) + (hashint4(i * 1009 + j)::float8 + hashint4(i * 2003 - j) + hashint4(i - j * 3001)) / 3e9)::real) FROM generate_series(1, n) j$$;

-- queries, literals, of which the rows by an index scan, in their order, are not those of a sequential scan
CREATE FUNCTION rabitq_wrong(tab text, op text, queries text, k int) RETURNS bigint LANGUAGE plpgsql AS $$
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

-- the part of the k nearest rows of the queries that index scans find
CREATE FUNCTION rabitq_found(tab text, op text, queries text, k int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	q text;
	farthest float8;
	good int;
	sum float8 = 0;
	n int = 0;
BEGIN
	FOR q IN EXECUTE format('SELECT quote_literal(v) || ''::'' || pg_typeof(v) FROM (%s) s', queries) LOOP
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
		EXECUTE format('SELECT max(d) FROM (SELECT x %2$s %4$s AS d FROM %1$I ORDER BY x %2$s %4$s LIMIT %3$s) s', tab, op, k, q) INTO farthest;
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
		EXECUTE format('SELECT count(*) FILTER (WHERE d <= $1) FROM (SELECT x %2$s %4$s AS d FROM %1$I ORDER BY x %2$s %4$s LIMIT %3$s) s', tab, op, k, q) INTO good USING farthest;
		sum = sum + least(good, k) / k::float8;
		n = n + 1;
	END LOOP;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'on', true);
	RETURN sum / n;
END $$;

CREATE TABLE rabitq_rows (id int PRIMARY KEY, x real[]) WITH (autovacuum_enabled = off);
INSERT INTO rabitq_rows SELECT i, CASE WHEN i % 97 <> 0 THEN rabitq_vec(i) END FROM generate_series(1, 4000) i;
CREATE INDEX rabitq_l2 ON rabitq_rows USING genie (x genie_l2_rabitq_ops);
CREATE INDEX rabitq_cosine ON rabitq_rows USING genie (x genie_cosine_rabitq_ops);
CREATE INDEX rabitq_ip ON rabitq_rows USING genie (x genie_ip_rabitq_ops);
SELECT segments, objects, keywords, training FROM genie_index_info('rabitq_l2');
EXPLAIN (COSTS OFF) SELECT id FROM rabitq_rows ORDER BY x <-> (SELECT rabitq_vec(5)) LIMIT 10;
CREATE INDEX rabitq_exact ON rabitq_rows USING genie (x genie_l2_exact_ops);
SELECT pg_relation_size('rabitq_l2') < pg_relation_size('rabitq_exact') / 3 AS small;
DROP INDEX rabitq_exact;
SELECT op, rabitq_found('rabitq_rows', op, 'SELECT rabitq_vec(i) AS v FROM generate_series(1, 4500, 101) i', 10) >= 0.95 AS most FROM unnest('{<->,<=>,<#>}'::text[]) op;
SET enable_seqscan = off;
SELECT id FROM rabitq_rows ORDER BY x <-> rabitq_vec(71) LIMIT 1;
SELECT rows_visited < 400 AS few FROM genie_last_scan();
-- no errors are allowed for: fewer rows are looked up, and fewer found
SET genie.rabitq_epsilon = 0;
SELECT id FROM rabitq_rows ORDER BY x <-> rabitq_vec(71) LIMIT 10 \g /dev/null
SELECT rows_visited < 100 AS fewer FROM genie_last_scan();
SELECT rabitq_found('rabitq_rows', '<->', 'SELECT rabitq_vec(i) AS v FROM generate_series(1, 4500, 101) i', 10) BETWEEN 0.3 AND 0.95 AS fewer;
RESET genie.rabitq_epsilon;
-- no row is lost
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM rabitq_rows ORDER BY x <-> rabitq_vec(5)) s;
RESET enable_seqscan;
-- every error is allowed for
SET genie.strict_order = on;
SELECT op, rabitq_wrong('rabitq_rows', op, 'SELECT rabitq_vec(i) AS v FROM generate_series(1, 4500, 501) i', 10) FROM unnest('{<->,<=>,<#>}'::text[]) op;
SELECT rabitq_wrong('rabitq_rows', '<->', 'SELECT rabitq_vec(i)::float8[] AS v FROM generate_series(1, 4500, 901) i', 10);
SELECT rabitq_wrong('rabitq_rows', '<->', 'SELECT rabitq_vec(17) AS v', 5000);
RESET genie.strict_order;
SET genie.rabitq_epsilon = 16;
SELECT op, rabitq_wrong('rabitq_rows', op, 'SELECT rabitq_vec(i) AS v FROM generate_series(1, 4500, 501) i', 10) FROM unnest('{<->,<=>,<#>}'::text[]) op;
RESET genie.rabitq_epsilon;
SET genie.rabitq_epsilon = -1;

-- batches; exact ones measure all rows
SELECT count(*) AS n, avg((s.distance <= t.distance * (1 + 1e-9))::int) >= 0.95 AS most
	FROM genie_search('rabitq_l2', (SELECT array_agg(rabitq_vec(i)) FROM generate_series(1, 4500, 101) i), 10) WITH ORDINALITY s (query, tid, distance, i)
	JOIN (SELECT query, max(distance) FROM genie_exact_knn('rabitq_l2', (SELECT array_agg(rabitq_vec(i)) FROM generate_series(1, 4500, 101) i), 10) GROUP BY 1) t (query, distance) USING (query);
SELECT bool_and(k.distance = (SELECT max(d) FROM (SELECT x <-> rabitq_vec(k.i) AS d FROM rabitq_rows ORDER BY 1 LIMIT 10) s)) AS exact
	FROM (SELECT 1 + (query - 1) * 1501 AS i, max(distance) AS distance FROM genie_exact_knn('rabitq_l2', (SELECT array_agg(rabitq_vec(i)) FROM generate_series(1, 4500, 1501) i), 10) GROUP BY query) k;
-- within a distance, all rows are found
SELECT query, count(*) = (SELECT count(*) FROM rabitq_rows WHERE x <-> rabitq_vec(query * 7) <= 25) AS "all", count(*) > 20 AS many
	FROM genie_within('rabitq_l2', (SELECT array_agg(rabitq_vec(i * 7)) FROM generate_series(1, 3) i), array_fill(25::float8, ARRAY[3])) GROUP BY query ORDER BY query;
-- also where it does not fit work_mem
SET work_mem = '64kB';
SELECT count(*) = (SELECT count(*) FROM rabitq_rows WHERE x <-> rabitq_vec(7) <= 29) AS "all", count(*) > 1500 AS many
	FROM genie_within('rabitq_l2', ARRAY[rabitq_vec(7)], ARRAY[29]);
RESET work_mem;
-- more rows than there are: all of them, in order
SELECT count(*), count(DISTINCT tid), bool_and(distance >= before) AS sorted FROM (SELECT tid, distance, lag(distance) OVER () AS before FROM genie_search('rabitq_l2', ARRAY[rabitq_vec(7)], 5000)) s;
CREATE TABLE rabitq_parts (id int, x real[]) PARTITION BY RANGE (id);
CREATE TABLE rabitq_part1 PARTITION OF rabitq_parts FOR VALUES FROM (0) TO (300);
CREATE TABLE rabitq_part2 PARTITION OF rabitq_parts FOR VALUES FROM (300) TO (600);
INSERT INTO rabitq_parts SELECT i, rabitq_vec(i) FROM generate_series(0, 599) i;
CREATE INDEX rabitq_parts_x ON rabitq_parts USING genie (x genie_l2_rabitq_ops);
SELECT avg((distance <= (SELECT max(d) FROM (SELECT x <-> rabitq_vec(7) AS d FROM rabitq_parts ORDER BY 1 LIMIT 400) s))::int) > 0.97 AS most, count(*) FROM genie_search_parts('rabitq_parts_x', ARRAY[rabitq_vec(7)], 400);
DROP TABLE rabitq_parts;

-- pending rows, deletes, updates, VACUUM, merges
INSERT INTO rabitq_rows SELECT i, CASE WHEN i % 5 <> 0 THEN rabitq_vec(i) END FROM generate_series(4001, 4300) i;
DELETE FROM rabitq_rows WHERE id % 7 = 3;
UPDATE rabitq_rows SET x = rabitq_vec(id + 10000) WHERE id % 11 = 5;
SELECT pending_rows > 0 AS pending FROM genie_index_info('rabitq_l2');
SELECT op, rabitq_found('rabitq_rows', op, 'SELECT rabitq_vec(i) AS v FROM generate_series(1, 4500, 301) i', 10) >= 0.95 AS most FROM unnest('{<->,<=>,<#>}'::text[]) op;
VACUUM rabitq_rows;
SELECT pending_rows, tombstones FROM genie_index_info('rabitq_l2');
SELECT op, rabitq_found('rabitq_rows', op, 'SELECT rabitq_vec(i) AS v FROM generate_series(1, 4500, 301) i', 10) >= 0.95 AS most FROM unnest('{<->,<=>,<#>}'::text[]) op;
SET genie.strict_order = on;
SELECT op, rabitq_wrong('rabitq_rows', op, 'SELECT rabitq_vec(i) AS v FROM generate_series(1, 4500, 901) i', 10) FROM unnest('{<->,<=>,<#>}'::text[]) op;
SELECT genie_merge('rabitq_l2') FROM generate_series(1, 3);
SELECT rabitq_wrong('rabitq_rows', '<->', 'SELECT rabitq_vec(i) AS v FROM generate_series(1, 4500, 901) i', 10);
SELECT count(*) AS violations FROM (SELECT genie_check(i::regclass) FROM unnest('{rabitq_l2,rabitq_cosine,rabitq_ip}'::text[]) i) s;

-- a cursor keeps the bounds that it began with
BEGIN;
RESET genie.strict_order;
SET LOCAL enable_seqscan = off;
DECLARE c CURSOR FOR SELECT id FROM rabitq_rows ORDER BY x <-> rabitq_vec(650);
FETCH 1 FROM c;
SET LOCAL genie.rabitq_epsilon = 0;
INSERT INTO rabitq_rows SELECT i, rabitq_vec(i) FROM generate_series(6001, 6010) i;
SELECT genie_merge('rabitq_l2');
DO $$
DECLARE
	c refcursor = 'c';
	id int;
	ids int[] = '{}';
BEGIN
	LOOP
		FETCH c INTO id;
		EXIT WHEN NOT FOUND;
		ids = ids || id;
	END LOOP;
	IF (SELECT count(DISTINCT i) FROM unnest(ids) i) <> cardinality(ids) OR cardinality(ids) <> (SELECT count(*) - 1 FROM rabitq_rows WHERE rabitq_rows.id < 6000) THEN
		RAISE WARNING 'rows are lost or come twice: %', cardinality(ids);
	END IF;
END $$;
CLOSE c;
ROLLBACK;
SET genie.strict_order = on;

-- an index that begins empty, of few rows, and then of more; one dimension
CREATE TABLE rabitq_few (id serial, x real[]) WITH (autovacuum_enabled = off);
CREATE INDEX rabitq_few_x ON rabitq_few USING genie (x genie_l2_rabitq_ops);
SELECT rabitq_wrong('rabitq_few', '<->', 'SELECT rabitq_vec(1, 4) AS v', 10);
INSERT INTO rabitq_few (x) SELECT rabitq_vec(i % 7, 4) FROM generate_series(1, 50) i;
SELECT rabitq_wrong('rabitq_few', '<->', 'SELECT rabitq_vec(i, 4) AS v FROM generate_series(1, 9) i', 30), training FROM genie_index_info('rabitq_few_x');
INSERT INTO rabitq_few (x) SELECT rabitq_vec(i % 7, 4) FROM generate_series(1, 2000) i;
INSERT INTO rabitq_few (x) VALUES (NULL);
VACUUM rabitq_few;
SELECT rabitq_wrong('rabitq_few', '<->', 'SELECT rabitq_vec(i, 4) AS v FROM generate_series(1, 9) i', 300), segments, pending_rows, training FROM genie_index_info('rabitq_few_x');
SET enable_seqscan = off;
SELECT id FROM rabitq_few ORDER BY x <-> rabitq_vec(1, 5) LIMIT 1;
INSERT INTO rabitq_few (x) VALUES (rabitq_vec(1, 5));
RESET enable_seqscan;
CREATE TABLE rabitq_one AS SELECT ARRAY[i % 100]::real[] AS x FROM generate_series(1, 1000) i;
CREATE INDEX ON rabitq_one USING genie (x genie_l2_rabitq_ops);
SELECT rabitq_wrong('rabitq_one', '<->', 'SELECT ARRAY[i]::real[] AS v FROM generate_series(-5, 120, 25) i', 30);

-- hard data: far from the origin with small differences, two scales, mostly zeros, constant, double precision that floats cannot hold
CREATE FUNCTION rabitq_hard(kind text, i int) RETURNS float8[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
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
		EXECUTE format('CREATE TABLE rabitq_%1$s AS SELECT rabitq_hard(%1$L, i) AS x FROM generate_series(1, 600) i', k);
		EXECUTE format('CREATE INDEX ON rabitq_%1$s USING genie (x genie_l2_rabitq_float8_ops); CREATE INDEX ON rabitq_%1$s USING genie (x genie_cosine_rabitq_float8_ops); CREATE INDEX ON rabitq_%1$s USING genie (x genie_ip_rabitq_float8_ops)', k);
		FOREACH op IN ARRAY '{<->,<=>,<#>}'::text[] LOOP
			n = rabitq_wrong('rabitq_' || k, op, format('SELECT rabitq_hard(%L, i) AS v FROM generate_series(1, 700, 77) i', k), 12);
			IF n > 0 THEN
				RAISE WARNING '% %: % wrong', k, op, n;
			END IF;
		END LOOP;
	END LOOP;
END $$;
DROP TABLE rabitq_rows, rabitq_few, rabitq_one, rabitq_far, rabitq_scales, rabitq_sparse, rabitq_constant, rabitq_tiny, rabitq_huge, rabitq_fine;
DROP FUNCTION rabitq_vec, rabitq_wrong, rabitq_found, rabitq_hard;
