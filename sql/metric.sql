-- genie_create_metric(): operator classes of any metric, by pivots.  The oracle is the sequential scan.
SET jit = off;
CREATE FUNCTION plane_distance(a float8[], b float8[]) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
	AS $$ BEGIN RETURN sqrt((a[1] - b[1]) ^ 2 + (a[2] - b[2]) ^ 2); END $$;
CREATE FUNCTION int_distance(a int, b int) RETURNS int LANGUAGE sql IMMUTABLE STRICT RETURN abs(a - b);
SELECT genie_create_metric('plane', 'plane_distance(float8[], float8[])', '<@->');
SELECT genie_create_metric('int', 'int_distance(int, int)', '<->', 0);
-- these operators are there
SELECT genie_create_metric('point', 'point_distance(point, point)', '<->');
SELECT genie_create_metric('word', 'genie_edit_distance(text, text)', '<~>', tolerance => 0);
SELECT opcname, opcintype::regtype, amvalidate(oid) FROM pg_opclass WHERE opcname IN ('genie_plane_ops', 'genie_int_ops', 'genie_point_ops', 'genie_word_ops') ORDER BY 1;
SELECT o.oid::regoperator, oprcode FROM pg_operator o JOIN pg_amop a ON a.amopopr = o.oid JOIN pg_opfamily f ON f.oid = a.amopfamily WHERE opfname IN ('genie_plane_ops', 'genie_int_ops', 'genie_point_ops', 'genie_word_ops') ORDER BY 1::text COLLATE "C", 2::text COLLATE "C";

-- duplicates, whole numbers, rows far from all others, NULLs
CREATE TABLE m (id int, v float8[], p point, i int, t text) WITH (autovacuum_enabled = off);
CREATE PROCEDURE fill(first int, last int) LANGUAGE sql AS $$
	INSERT INTO m SELECT g, ARRAY[x, y], point(x, y), x::int, CASE WHEN g % 50 <> 17 THEN substr(md5((g / 2)::text), 1, 4 + g % 9) END
	FROM (SELECT g, round((sin(g * 0.37) * g)::numeric, g % 3)::float8 AS x, CASE WHEN g % 100 = 3 THEN 1e6 * g ELSE cos(g * 0.71) * g END AS y
		FROM generate_series(first, last) g) s $$;
CALL fill(1, 1500);
CREATE TABLE queries AS SELECT id AS n, v, p, i, t FROM m WHERE id IN (5, 103, 700, 1403, 18) UNION ALL SELECT 2000, '{3,4}', '(3,4)', 7, 'abc' UNION ALL SELECT 2001, '{-1e9,0}', '(-1e9,0)', -2000000000, '';

-- how many answers differ from those of sequential scans: the nearest, all in order, within, within in order, within two, near another
CREATE FUNCTION wrong(name text, op text, radius float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	q record;
	n int = 0;
	n_all int = 0;
	n_rows bigint = 0;
	form text;
	by_index text;
	by_table text;
	ball text = CASE name WHEN 'v' THEN 'plane_ball' WHEN 'p' THEN 'point_ball' WHEN 'i' THEN 'int_ball' ELSE 'word_ball' END;
	forms text[] = ARRAY[
		'SELECT s.id, d FROM queries q, LATERAL (SELECT id, m.%1$s %2$s q.%1$s AS d FROM m ORDER BY m.%1$s %2$s q.%1$s%4$s LIMIT 20) s WHERE n = %3$s',
		'SELECT id, d FROM (SELECT id, %1$s %2$s (SELECT %1$s FROM queries WHERE n = %3$s) AS d FROM m ORDER BY %1$s %2$s (SELECT %1$s FROM queries WHERE n = %3$s)%4$s) s',
		'SELECT id, NULL FROM m WHERE %1$s @& ROW((SELECT %1$s FROM queries WHERE n = %3$s), %5$s)::%6$s ORDER BY id',
		'SELECT id, NULL FROM m WHERE %1$s @& ROW((SELECT %1$s FROM queries WHERE n = %3$s), %5$s)::%6$s ORDER BY %1$s %2$s (SELECT %1$s FROM queries WHERE n = %3$s)%4$s',
		'SELECT id, NULL FROM m WHERE %1$s @& ROW((SELECT %1$s FROM queries WHERE n = %3$s), %5$s)::%6$s AND %1$s @& ROW((SELECT %1$s FROM queries WHERE n = 5), %5$s)::%6$s ORDER BY id',
		'SELECT id, NULL FROM m WHERE %1$s @& ROW((SELECT %1$s FROM queries WHERE n = 5), %5$s)::%6$s ORDER BY %1$s %2$s (SELECT %1$s FROM queries WHERE n = %3$s)%4$s LIMIT 30'];
BEGIN
	FOR q IN EXECUTE format('SELECT n FROM queries WHERE %s IS NOT NULL', name) LOOP
		FOREACH form IN ARRAY forms LOOP
			FOR bitmap IN 0 .. (form LIKE '%ORDER BY id')::int LOOP
				PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', (bitmap = 0)::text, true), set_config('enable_bitmapscan', (bitmap = 1)::text, true);
				EXECUTE 'SELECT string_agg(s::text, '','') FROM (' || format(form, name, op, q.n, '', radius, ball) || ') s' INTO by_index;
				PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
				EXECUTE 'SELECT string_agg(s::text, '',''), count(*) + $1 FROM (' || format(form, name, op, q.n, ', ctid', radius, ball) || ') s' INTO by_table, n_rows USING n_rows;
				n := n + (by_index IS DISTINCT FROM by_table)::int;
				n_all := n_all + 1;
			END LOOP;
		END LOOP;
	END LOOP;
	RETURN format('%s of %s (%s rows)', n, n_all, n_rows);
END $$;
CREATE FUNCTION all_wrong() RETURNS TABLE (v text, p text, i text, t text) LANGUAGE sql AS
	$$ SELECT wrong('v', '<@->', 40), wrong('p', '<->', 40), wrong('i', '<->', 9), wrong('t', '<~>', 4) $$;

-- built
CREATE INDEX m_v ON m USING genie (v genie_plane_ops) WITH (pending_limit = 64);
CREATE INDEX m_p ON m USING genie (p genie_point_ops) WITH (pending_limit = 64);
CREATE INDEX m_i ON m USING genie (i genie_int_ops) WITH (pending_limit = 64);
CREATE INDEX m_t ON m USING genie (t genie_word_ops) WITH (pending_limit = 64);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM m ORDER BY v <@-> '{3,4}' LIMIT 3;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM m WHERE i @& ROW(7, 2)::int_ball ORDER BY i <-> 7;
RESET enable_seqscan; RESET enable_bitmapscan;
SELECT * FROM all_wrong();
SELECT training, pivots BETWEEN 4 AND 64 AS pivots, expected_share BETWEEN 0 AND 0.2 AS expected_share, segments, pending_rows FROM genie_index_info('m_v');
-- pivots spare most distances
VACUUM m;
SET enable_seqscan = off;
SELECT count(*) FROM (SELECT id FROM m ORDER BY p <-> '(3,4)' LIMIT 5) s;
SELECT rows_visited < 100 AS few FROM genie_last_scan();
RESET enable_seqscan;

-- changes, into the pending list and out of it
CALL fill(1501, 1600);
DELETE FROM m WHERE id % 11 = 4;
UPDATE m SET v = ARRAY[id, 1], p = point(id, 1), i = id, t = 'word' || id % 13 WHERE id % 17 = 2;
SELECT * FROM all_wrong();
CALL fill(1601, 4000);
VACUUM m;
SELECT * FROM all_wrong();
SELECT * FROM genie_check('m_v') UNION ALL SELECT * FROM genie_check('m_p') UNION ALL SELECT * FROM genie_check('m_i') UNION ALL SELECT * FROM genie_check('m_t');

-- few rows first: no pivots, then a merge learns; all rows alike; one row
TRUNCATE m;
SELECT * FROM all_wrong();
CALL fill(1, 1);
SELECT * FROM all_wrong();
CALL fill(2, 200);
SELECT * FROM all_wrong();
SELECT training, pivots, pending_rows FROM genie_index_info('m_t');
CALL fill(201, 300);
SELECT genie_merge('m_v'), genie_merge('m_p'), genie_merge('m_i'), genie_merge('m_t');
SELECT * FROM all_wrong();
SELECT training, pivots > 0 AS pivots, pending_rows FROM genie_index_info('m_t');
TRUNCATE m;
INSERT INTO m SELECT 1, '{1,2}', '(1,2)', 3, 'same' FROM generate_series(1, 1000);
VACUUM m;
SELECT * FROM all_wrong();
SELECT genie_metric_check('m_v'), genie_metric_check('m_t', 1);

-- what is refused
SELECT genie_create_metric('plane', 'plane_distance(float8[], float8[])', '<@@->');
SELECT genie_create_metric('edit', 'genie_edit_distance(text, text)', '<~>');
SELECT genie_create_metric('', 'int_distance(int, int)', '<->');
SELECT genie_create_metric(repeat('x', 60), 'int_distance(int, int)', '<->');
SELECT genie_create_metric('a', 'int_distance(int, int)', 'minus');
SELECT genie_create_metric('a', 'int_distance(int, int)', '<->', -1);
SELECT genie_create_metric('a', 'int_distance(int, int)', '<->', 'NaN');
SELECT genie_create_metric('a', 'int_distance(int, int)', '<-->');
CREATE DOMAIN metre AS float8;
CREATE FUNCTION metre_distance(a metre, b metre) RETURNS float8 LANGUAGE sql IMMUTABLE RETURN abs(a - b);
SELECT genie_create_metric('a', 'metre_distance(metre, metre)', '<->');
DROP DOMAIN metre CASCADE;
SELECT genie_create_metric('a', 'now()', '<->');
SELECT genie_create_metric('a', 'textcat(text, text)', '<->');
SELECT genie_create_metric('a', 'timestamptz_mi_interval(timestamptz, interval)', '<->');
SELECT genie_create_metric('a', 'array_position(anycompatiblearray, anycompatible)', '<->');
CREATE FUNCTION volatile_distance(a int, b int) RETURNS float8 LANGUAGE sql RETURN random();
SELECT genie_create_metric('a', 'volatile_distance(int, int)', '<->');
CREATE ROLE genie_metric_user;
SET ROLE genie_metric_user;
SELECT genie_create_metric('a', 'int_distance(int, int)', '<->');
SELECT genie_drop_metric('int');
SELECT genie_metric_check('m_v');
RESET ROLE;
DROP ROLE genie_metric_user;
SELECT genie_drop_metric('b');
SELECT genie_drop_metric('plane');
SELECT genie_metric_check('m_v', 0);
CREATE INDEX m_s ON m USING genie (t genie_edit_ops);
SELECT genie_metric_check('m_s');
DROP INDEX m_s;
SELECT genie_search('m_v', '{{1,2}}'::float8[], 3);
SELECT genie_exact_knn('m_v', '{{1,2}}'::float8[], 3);
SET enable_seqscan = off;
SELECT id FROM m WHERE v @& ROW('{1,2}', -1)::plane_ball;
SELECT id FROM m WHERE v @& ROW('{1,2}', 'NaN')::plane_ball;
SELECT id FROM m WHERE v @& ROW(NULL, 1)::plane_ball;
SELECT id FROM m WHERE v @& NULL::plane_ball;
SELECT id FROM m ORDER BY v <@-> '{1}' LIMIT 1;
INSERT INTO m (v) VALUES ('{1}');
INSERT INTO m (v) VALUES ('{NaN,1}');
RESET enable_seqscan;

-- a function of SQL, whose body the planner would put in its place; numbers are queries of their own, and no vectors
CREATE FUNCTION number_distance(a float8, b float8) RETURNS float8 LANGUAGE sql IMMUTABLE RETURN abs(a - b);
SELECT genie_create_metric('number', 'number_distance(float8, float8)', '<->|');
CREATE TABLE numbers AS SELECT g AS id, (g * 37 % 1000) / 8.0::float8 AS x FROM generate_series(1, 1000) g;
CREATE INDEX numbers_x ON numbers USING genie (x genie_number_ops);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM numbers ORDER BY x <->| 50.1 LIMIT 2;
SELECT id, x FROM numbers ORDER BY x <->| 50.1 LIMIT 2;
SELECT count(*) FROM numbers WHERE x @& ROW(50.1, 1)::number_ball;
RESET enable_seqscan;
SELECT s.query, x, round(distance::numeric, 6) AS distance FROM genie_search('numbers_x', ARRAY[50.1, 3]::float8[], 2) s JOIN numbers n ON n.ctid = s.tid ORDER BY 1, 3;
SELECT query, count(*) FROM genie_within('numbers_x', ARRAY[50.1, 3]::float8[], '{1,0.5}') GROUP BY query ORDER BY query;
SELECT genie_search('numbers_x', ARRAY[1]::real[], 2);
SELECT genie_search('numbers_x', ARRAY[[1],[2]]::real[], 2);
SELECT genie_search('numbers_x', ARRAY[1]::int[], 2);
SELECT genie_search('m_p', '{1,2}'::real[], 2);
SELECT genie_search('m_p', '{1,2}'::float8[], 2);
SELECT genie_search('m_t', '{1,2}'::real[], 2);
SELECT genie_within('m_t', '{1,2}'::real[], '{1}');
DROP TABLE numbers;
SELECT genie_drop_metric('number');

-- distances that are none
CREATE FUNCTION bad_distance(a int, b int) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT AS $$
	BEGIN RETURN CASE current_setting('genie_test.how') WHEN 'squared' THEN (a - b)::float8 ^ 2 WHEN 'one way' THEN CASE WHEN a < b THEN b - a ELSE 0 END
		WHEN 'to itself' THEN abs(a - b) + 1 WHEN 'negative' THEN a - b WHEN 'null' THEN NULL WHEN 'NaN' THEN 'NaN' WHEN 'error' THEN 1 / (a - b) WHEN 'shorter' THEN CASE WHEN b = 200 THEN abs(a - b) / 1000.0 ELSE abs(a - b) END ELSE abs(a - b) END; END $$;
SELECT genie_create_metric('bad', 'bad_distance(int, int)', '<->|');
CREATE TABLE bad AS SELECT g AS i FROM generate_series(1, 400) g;
SET genie_test.how = 'squared';
CREATE INDEX ON bad USING genie (i genie_bad_ops);
SET genie_test.how = 'one way';
CREATE INDEX ON bad USING genie (i genie_bad_ops);
SET genie_test.how = 'to itself';
CREATE INDEX ON bad USING genie (i genie_bad_ops);
SET genie_test.how = 'negative';
CREATE INDEX ON bad USING genie (i genie_bad_ops);
SET genie_test.how = 'null';
CREATE INDEX ON bad USING genie (i genie_bad_ops);
SET genie_test.how = 'NaN';
CREATE INDEX ON bad USING genie (i genie_bad_ops);
SET genie_test.how = 'error';
CREATE INDEX ON bad USING genie (i genie_bad_ops);
SET genie_test.how = '';
CREATE INDEX bad_i ON bad USING genie (i genie_bad_ops);
SELECT genie_metric_check('bad_i', 5000000) >= 5000000 AS checked;
SET genie_test.how = 'squared';
SELECT genie_metric_check('bad_i');
-- a scan sees that the function has changed, if a row is nearer than its bound
SET genie_test.how = 'shorter';
SET enable_seqscan = off;
SELECT i FROM bad ORDER BY i <->| 200 LIMIT 1;
RESET enable_seqscan;

-- codes are fine enough for half of the points in a thousandth of the width
CREATE TABLE plane AS SELECT i AS id, point(CASE WHEN i % 2 = 0 THEN i * 7919 % 10007 / 10.007 ELSE 500 + i * 7919 % 10007 / 10007.0 END,
	CASE WHEN i % 2 = 0 THEN i * 104729 % 10009 / 10.009 ELSE 500 + i * 104729 % 10009 / 10009.0 END) AS p FROM generate_series(1, 20000) i;
CREATE INDEX plane_p ON plane USING genie (p genie_point_ops);
SET enable_seqscan = off;
SELECT count(*) FROM (SELECT id FROM plane ORDER BY p <-> '(500.3,500.4)' LIMIT 10) s;
SELECT rows_visited < 50 AS few FROM genie_last_scan();
RESET enable_seqscan;

DROP TABLE bad, plane;
SELECT genie_drop_metric('bad');
DROP TABLE m, queries;
SELECT genie_drop_metric('plane'), genie_drop_metric('int'), genie_drop_metric('point'), genie_drop_metric('word');
SELECT count(*) FROM pg_type WHERE typname IN ('plane_ball', 'int_ball', 'point_ball', 'word_ball');
SELECT oid::regprocedure FROM pg_proc WHERE proname ~ '^genie_(plane|int|point|word|bad)_';
SELECT oid::regoperator FROM pg_operator WHERE oprcode::text IN ('plane_distance', 'int_distance', 'bad_distance');
DROP FUNCTION all_wrong, wrong, plane_distance, int_distance, bad_distance, volatile_distance;
DROP PROCEDURE fill;
