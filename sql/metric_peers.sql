-- genie_create_metric() by distances of other extensions: those that are metrics, exactly; and those that are not
CREATE DATABASE genie_metric_peers TEMPLATE template0;
SELECT current_database() AS here \gset
\c genie_metric_peers
SET client_min_messages = warning;
SET jit = off;
CREATE EXTENSION genie;
CREATE EXTENSION cube;
CREATE EXTENSION earthdistance;
CREATE EXTENSION fuzzystrmatch;
CREATE EXTENSION pg_trgm;

-- Rows whose places differ between the index and a sequential scan, for queries that are rows: the nearest 20, and those within the radius.
CREATE FUNCTION differences(metric text, operator text, radius text, OUT n_near bigint, OUT n_within bigint, OUT different bigint) LANGUAGE plpgsql AS $$
DECLARE
	query record;
	n bigint;
	plan text;
BEGIN
	n_near := 0; n_within := 0; different := 0;
	FOR query IN EXECUTE format('SELECT quote_literal(x::text) || ''::'' || pg_typeof(x) AS x FROM %I WHERE id %% 97 = 5', metric) LOOP
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
		EXECUTE format('CREATE TEMP TABLE near AS SELECT id, x %1$s %2$s AS d FROM %3$I ORDER BY 2, ctid LIMIT 20', operator, query.x, metric);
		EXECUTE format('CREATE TEMP TABLE within AS SELECT id FROM %I WHERE x %s %s <= %s', metric, operator, query.x, radius);
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
		EXECUTE format('SELECT count(*) FROM (SELECT id, d, row_number() OVER () FROM (SELECT id, x %1$s %2$s AS d FROM %3$I ORDER BY x %1$s %2$s LIMIT 20) s EXCEPT SELECT id, d, row_number() OVER (ORDER BY d) FROM near) e',
			operator, query.x, metric) INTO n;
		different := different + n;
		EXECUTE format('EXPLAIN (FORMAT JSON) SELECT id FROM %1$I ORDER BY x %2$s %3$s LIMIT 20', metric, operator, query.x) INTO plan;
		ASSERT plan LIKE '%Index Scan%', plan;
		EXECUTE format('SELECT count(*) FROM (SELECT id FROM %1$I WHERE x @& ROW(%2$s, %3$s)::%4$I) i FULL JOIN within USING (id) WHERE i.id IS NULL OR within.id IS NULL', metric, query.x, radius, metric || '_ball') INTO n;
		different := different + n + (SELECT count(*) FROM near) - 20;
		n_near := n_near + (SELECT count(*) FROM near);
		n_within := n_within + (SELECT count(*) FROM within);
		DROP TABLE near, within;
	END LOOP;
END $$;

-- a point, or three numbers, that depend on i alone
CREATE FUNCTION part(i int, n int) RETURNS float8 LANGUAGE sql IMMUTABLE RETURN (hashint4(i * 4 + n) & 1048575) / 1048576.0;

SELECT genie_create_metric('solid', 'cube_distance(cube, cube)', '<->');
CREATE TABLE solid AS SELECT i AS id, cube(ARRAY[part(i, 0), part(i, 1), part(i, 2)]) AS x FROM generate_series(1, 1500) i;
CREATE INDEX solid_x ON solid USING genie (x genie_solid_ops);
SELECT n_near, n_within > 0 AS some_within, different FROM differences('solid', '<->', '0.1');
SELECT genie_metric_check('solid_x', 1000);

SELECT genie_create_metric('globe', 'geo_distance(point, point)', '<@>', 1e-6);
CREATE TABLE globe AS SELECT i AS id, point(part(i, 0) * 360 - 180, part(i, 1) * 180 - 90) AS x FROM generate_series(1, 1500) i;
CREATE INDEX globe_x ON globe USING genie (x genie_globe_ops);
SELECT n_near, n_within > 0 AS some_within, different FROM differences('globe', '<@>', '500');

SELECT genie_create_metric('spelling', 'levenshtein(text, text)', '<~|>', 0);
CREATE TABLE spelling AS SELECT i AS id, substr(md5((i / 3)::text), 1, 4 + i % 5) AS x FROM generate_series(1, 1500) i;
CREATE INDEX spelling_x ON spelling USING genie (x genie_spelling_ops);
SELECT n_near, n_within > 0 AS some_within, different FROM differences('spelling', '<~|>', '3');

SELECT genie_create_metric('trigrams', 'similarity_dist(text, text)', '<|->', 1e-6);
CREATE TABLE trigrams AS SELECT i AS id, substr(md5((i / 3)::text), 1, 4 + i % 5) AS x FROM generate_series(1, 1500) i;
CREATE INDEX trigrams_x ON trigrams USING genie (x genie_trigrams_ops);
SELECT n_near, n_within > 0 AS some_within, different FROM differences('trigrams', '<|->', '0.75');

-- PostGIS, which may be missing
DO $$
BEGIN
	IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'postgis') THEN
		CREATE EXTENSION postgis;
		PERFORM genie_create_metric('map', 'st_distance(geometry, geometry)', '<|>');
		CREATE TABLE map AS SELECT i AS id, st_makepoint(part(i, 0), part(i, 1)) AS x FROM generate_series(1, 1500) i;
		CREATE INDEX map_x ON map USING genie (x genie_map_ops);
		ASSERT (SELECT n_near > 0 AND n_within > 0 AND different = 0 FROM differences('map', '<|>', '0.05'));
		PERFORM genie_metric_check('map_x', 1000);
	END IF;
END $$;

-- not metrics: boxes, and the cosine distance
\set VERBOSITY terse
CREATE TABLE boxes AS SELECT i AS id, cube(ARRAY[part(i, 0), part(i, 1)], ARRAY[part(i, 0) + part(i, 2) / 2, part(i, 1) + part(i, 3) / 2]) AS x FROM generate_series(1, 1500) i;
CREATE INDEX boxes_x ON boxes USING genie (x genie_solid_ops);
CREATE TABLE directions AS SELECT i AS id, ARRAY[part(i, 0) - 0.5, part(i, 1) - 0.5, part(i, 2) - 0.5]::float8[] AS x FROM generate_series(1, 1500) i;
SELECT format('%s(%s)', p.oid::regproc, pg_get_function_identity_arguments(p.oid)) AS cosine FROM pg_operator o JOIN pg_proc p ON p.oid = oprcode WHERE oprname = '<=>' AND oprleft = 'float8[]'::regtype AND oprright = 'float8[]'::regtype \gset
SELECT genie_create_metric('angle', :'cosine', '<=|>');
CREATE INDEX directions_x ON directions USING genie (x genie_angle_ops);

\c :here
DROP DATABASE genie_metric_peers;
