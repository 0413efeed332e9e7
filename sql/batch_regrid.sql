-- genie_regrid(): cells of a coarse grid over attributes, from the index
CREATE SCHEMA batch_regrid;
SET search_path = batch_regrid, public;
SET client_min_messages = warning;
SET jit = off;

\df genie_regrid

-- Measurements with NULLs, in several segments, pending and dead.
CREATE TABLE m (id int, lat float8, lon numeric, t timestamptz, level int, v float8);
CREATE FUNCTION fill(low int, high int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO m SELECT g, CASE WHEN g % 17 > 0 THEN (g * 37 % 1800) / 10.0 - 90 END, (g * 91 % 3600)::numeric / 10 - 180, timestamptz '2024-01-01 00:00+00' + g * interval '7 min',
		CASE WHEN g % 5 > 0 THEN g % 13 - 6 END, CASE WHEN g % 19 > 0 THEN (g % 23 - 11) / 4.0 END FROM generate_series(low, high) g $$;
SELECT fill(1, 4000);
CREATE INDEX m_x ON m USING genie (genie_tuple(lat, lon, t, level, v)) WITH (pending_limit = 1024);
SELECT fill(4001, 4100);
SELECT genie_merge('m_x');
SELECT fill(4101, 4150);
DELETE FROM m WHERE id % 7 = 0;

CREATE TABLE q (i int, q genie_query);
INSERT INTO q VALUES (1, '{}@0'), (2, genie_tuple_query(numrange(-30, 60))), (3, genie_tuple_query(NULL::float8, NULL::numeric, NULL::timestamptz, '{1,2,-3}'::int[])),
	(4, genie_tuple_query(1e6::float8)), (5, genie_tuple_query(NULL::float8, numrange(0, 90), tstzrange('2024-01-03+00', '2024-01-08+00')));
INSERT INTO q VALUES (6, '{1:float:[-30,60)}'), (7, '{1:float:[-30,0],2:numeric:[0,50]}@2');
DELETE FROM q WHERE i = 2;

-- How many queries have other cells than SQL finds, in any order of axes; ranges of TIDs that miss a row; and how many cells and rows there are.
CREATE FUNCTION differences(OUT n_cells bigint, OUT n_rows numeric, OUT different bigint, OUT missed bigint) LANGUAGE plpgsql SET enable_indexscan = off SET enable_bitmapscan = off AS $$
DECLARE
	query genie_query;
	r record;
BEGIN
	n_cells := 0; n_rows := 0; different := 0; missed := 0;
	FOR query IN SELECT q FROM q ORDER BY i LOOP
		WITH matching AS MATERIALIZED (SELECT ctid, * FROM m WHERE genie_tuple(lat, lon, t, level, v) @& query),
			of_sql AS (SELECT ARRAY[floor(lat / 20), floor(lon / 45), floor(extract(epoch FROM t) / 86400)]::int[] AS cell, count(*) AS n, sum(v)::numeric AS sum, min(v) AS min, max(v) AS max
				FROM matching WHERE lat IS NOT NULL GROUP BY 1),
			of_index AS (SELECT cell, g.n, sum::numeric, min, max FROM genie_regrid('m_x', '{1,2,3}', '{20,45,86400}', query, 5) g),
			by_level AS (SELECT ARRAY[floor(level / 2.5)]::int[] AS cell, count(*) AS n FROM matching WHERE level IS NOT NULL GROUP BY 1),
			by_level_index AS (SELECT cell, g.n FROM genie_regrid('m_x', '{4}', '{2.5}', query) g WHERE sum IS NULL AND min IS NULL AND max IS NULL)
		SELECT (EXISTS (TABLE of_sql EXCEPT ALL TABLE of_index) OR EXISTS (TABLE of_index EXCEPT ALL TABLE of_sql)
				OR EXISTS (TABLE by_level EXCEPT ALL TABLE by_level_index) OR EXISTS (TABLE by_level_index EXCEPT ALL TABLE by_level))::int AS different,
			(SELECT count(*) FROM genie_regrid('m_x', '{4,1}', '{3,30}', query) g
				WHERE g.n <> (SELECT count(*) FROM matching WHERE floor(level / 3.0) = cell[1] AND floor(lat / 30) = cell[2] AND ctid BETWEEN tid_from AND tid_to)) AS missed,
			(SELECT count(*) FROM of_index) AS n_cells, (SELECT coalesce(sum(i.n), 0) FROM of_index i) AS n_rows INTO r;
		different := different + r.different; missed := missed + r.missed;
		n_cells := n_cells + r.n_cells; n_rows := n_rows + r.n_rows;
	END LOOP;
END $$;
SELECT * FROM differences();
VACUUM ANALYZE m;
SELECT * FROM differences();
UPDATE m SET id = -id WHERE id IN (8, 9);
UPDATE m SET lat = 45, level = NULL WHERE id % 40 = 3;
SELECT * FROM differences();
SET genie.worker = off;
SELECT * FROM differences();
RESET genie.worker;
-- a transaction sees its own changes
BEGIN;
SELECT fill(6000, 6050);
DELETE FROM m WHERE id < 300;
SELECT * FROM differences();
ROLLBACK;
SELECT genie_merge('m_x');
SELECT * FROM differences();

-- ordered by cell, the first coordinate first; coarser by larger steps
SELECT cell, n, round(sum::numeric, 2) AS sum, min, max FROM genie_regrid('m_x', '{1,4}', '{90,6}', measured => 5);
SELECT cell, n, tid_from IS NOT NULL AND tid_to > tid_from AS has_range FROM genie_regrid('m_x', '{3}', '{604800}', genie_tuple_query(NULL::float8, NULL::numeric, tstzrange('2024-01-03+00', '2024-01-18+00')));
SELECT * FROM genie_regrid('m_x', '{77}', '{1}');
SELECT count(*) FROM genie_regrid('m_x', '{1}', '{1}', genie_tuple_query(1e6::float8));
SELECT count(*) FROM genie_regrid('m_x', NULL, '{1}') a, genie_regrid('m_x', '{1}', '{1}', NULL) b;

-- values that are in no cell; the same attribute twice
CREATE TABLE odd (a float8, b text, c bigint, d numeric);
INSERT INTO odd VALUES ('NaN', 'x', 1, 1), ('Infinity', 'x', 2, 2), ('-Infinity', 'x', 3, 3), (-0.5, 'x', 4, 4), (0, 'x', 5, 5), (NULL, NULL, NULL, NULL), (1e300, NULL, 9e18, 1e30);
CREATE INDEX odd_x ON odd USING genie (genie_tuple(a, b, c, d));
SELECT cell, n FROM genie_regrid('odd_x', '{1}', '{1}', genie_tuple_query(NULL::float8, NULL::text, int8range(1, 6)));
SELECT cell, n, sum FROM genie_regrid('odd_x', '{3,3}', '{2,4}', genie_tuple_query(NULL::float8, NULL::text, int8range(1, 6)), 1);

CREATE TABLE times (t timestamp, z timestamptz, d date);
INSERT INTO times VALUES ('infinity', '-infinity', 'infinity'), ('1969-12-31 23:59:59.5', '1970-01-01 00:00+01', '1970-01-02'), ('0044-03-15 BC', '0044-03-15 12:00+00 BC', '0044-03-15 BC');
CREATE INDEX times_x ON times USING genie (genie_tuple(t, z, d));
SELECT cell, n FROM genie_regrid('times_x', '{1}', '{1000}') UNION ALL SELECT cell, n FROM genie_regrid('times_x', '{2}', '{1000}') UNION ALL SELECT cell, n FROM genie_regrid('times_x', '{3}', '{86400}');
SELECT floor(extract(epoch FROM t) / 1000) AS t, floor(extract(epoch FROM z) / 1000) AS z, floor(extract(epoch FROM d::timestamp) / 86400) AS d FROM times WHERE isfinite(t);

CREATE TABLE line AS SELECT a FROM generate_series(1, 5999) a;
CREATE INDEX line_x ON line USING genie (genie_tuple(a));
VACUUM line;

-- what rows have that do not match, or are not there any more, does not matter; nor does a date beyond timestamps
CREATE TABLE mixed (x genie_object, id int);
INSERT INTO mixed SELECT genie_tuple(i), i FROM generate_series(1, 10) i;
CREATE INDEX mixed_x ON mixed USING genie (x);
INSERT INTO mixed VALUES ('{1:text:x,2:int:7}', 0), ('{1:numeric:3,2:int:8}', -1);
SELECT cell, n FROM genie_regrid('mixed_x', '{1}', '{4}', '{2:int:8}');
SELECT * FROM genie_regrid('mixed_x', '{1}', '{4}');
SELECT * FROM genie_aggregate('mixed_x', '{}@0', 1);
DELETE FROM mixed WHERE id = 0;
SELECT * FROM genie_regrid('mixed_x', '{1}', '{4}');
SELECT * FROM genie_aggregate('mixed_x', '{}@0', 1);
DELETE FROM mixed WHERE id = -1;
SELECT cell, n FROM genie_regrid('mixed_x', '{1}', '{4}');
INSERT INTO times VALUES (NULL, NULL, '300000-01-01');
SELECT cell, n FROM genie_regrid('times_x', '{3}', '{864000000}');

-- cells of equal width are width_bucket's; a cell's rows by a scan of its TIDs
SELECT count(*) AS different FROM (SELECT width_bucket(a, 0, 6000, 60) - 1 AS cell, count(*) AS n FROM generate_series(1, 5999) a GROUP BY 1) b
	FULL JOIN (SELECT cell[1], n FROM genie_regrid('line_x', '{1}', '{100}')) g USING (cell) WHERE b.n IS DISTINCT FROM g.n;
EXPLAIN (COSTS OFF) SELECT count(*) FROM line WHERE ctid BETWEEN '(3,1)' AND '(9,4)' AND a >= 700 AND a < 800;
CREATE FUNCTION rows_of_cells() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	c record;
	n bigint;
	different bigint = 0;
BEGIN
	FOR c IN SELECT cell[1] AS k, g.n, tid_from, tid_to FROM genie_regrid('line_x', '{1}', '{100}') g LOOP
		EXECUTE format('SELECT count(*) FROM line WHERE ctid BETWEEN %L AND %L AND a >= %s AND a < %s', c.tid_from, c.tid_to, c.k * 100, c.k * 100 + 100) INTO n;
		different = different + (n <> c.n)::int;
	END LOOP;
	RETURN different;
END $$;
SELECT rows_of_cells();

-- what is refused
SELECT * FROM genie_regrid('odd_x', '{1}', '{1}');
SELECT * FROM genie_regrid('odd_x', '{2}', '{1}');
SELECT * FROM genie_regrid('odd_x', '{3}', '{1e15}', measured => 2);
SELECT * FROM genie_regrid('odd_x', '{1}', '{0}');
SELECT * FROM genie_regrid('odd_x', '{1}', '{NaN}');
SELECT * FROM genie_regrid('odd_x', '{1}', '{Infinity}');
SELECT * FROM genie_regrid('odd_x', '{1,2}', '{1}');
SELECT * FROM genie_regrid('odd_x', '{}', '{}');
SELECT * FROM genie_regrid('odd_x', '{-1}', '{1}');
SELECT * FROM genie_regrid('odd_x', '{1}', '{1}', measured => -1);
SELECT * FROM genie_regrid('odd_x', '{1}', '{1}', measured => 77);
SELECT * FROM genie_regrid('odd', '{1}', '{1}');
CREATE TABLE sets (x int[]);
INSERT INTO sets VALUES ('{1,2}');
CREATE INDEX sets_x ON sets USING genie (x);
SELECT * FROM genie_regrid('sets_x', '{0}', '{10}');
CREATE TABLE wide AS SELECT g AS a, g * 7919 % 6007 AS b FROM generate_series(1, 6000) g;
CREATE INDEX wide_x ON wide USING genie (genie_tuple(a, b));
SELECT * FROM genie_regrid('wide_x', '{1,2}', '{1,1}');
SELECT count(*), sum(n) FROM genie_regrid('wide_x', '{1,2}', '{2,2}', genie_tuple_query(int4range(1, 2001)));
CREATE ROLE genie_regrid_reader;
GRANT USAGE ON SCHEMA batch_regrid TO genie_regrid_reader;
SET ROLE genie_regrid_reader;
SELECT * FROM genie_regrid('m_x', '{1}', '{1}');
SELECT * FROM genie_filter('m_x', ARRAY['{}@0'::genie_query]);
SELECT * FROM genie_aggregate('m_x', '{}@0', 1);
RESET ROLE;
GRANT SELECT ON m TO genie_regrid_reader;
ALTER TABLE m ENABLE ROW LEVEL SECURITY;
SET ROLE genie_regrid_reader;
SELECT * FROM genie_regrid('m_x', '{1}', '{1}');
SELECT * FROM genie_filter('m_x', ARRAY['{}@0'::genie_query]);
SELECT * FROM genie_facets('m_x', '{}@0', '{1}');
RESET ROLE;
DROP SCHEMA batch_regrid CASCADE;
DROP ROLE genie_regrid_reader;
