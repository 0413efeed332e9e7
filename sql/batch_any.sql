-- genie_search() and genie_within() by an index of any class with a distance.  The oracle is the sequential scan, query by query.
SET jit = off;
CREATE TABLE b (id int, t text, s int[], w text[], tree text, j jsonb, v real[], d float8[], h bit(24), p point) WITH (autovacuum_enabled = off);
CREATE PROCEDURE fill(first int, last int) LANGUAGE sql AS $$
	INSERT INTO b SELECT i, CASE WHEN i % 40 <> 13 THEN translate(substr(md5((i % 700)::text), 1, 3 + i % 9), '0123456789', 'oiieaagtbp') END,
		ARRAY(SELECT DISTINCT (i * k) % 37 FROM generate_series(1, 3 + i % 7) k ORDER BY 1), ARRAY[md5((i % 30)::text), (i % 7)::text, (i % 11)::text],
		'{a{' || chr(97 + i % 7) || '}{' || chr(97 + i % 5) || '{' || chr(97 + i % 3) || '}}}', jsonb_build_object('a', i % 5, 'b', i % 7, 'c', i % 3),
		v, v, (i * 2654435761 % 16777216)::int::bit(24), point(i % 31, i % 37)
	FROM (SELECT i, ARRAY(SELECT (sin(i * k) * (1 + k % 3))::real FROM generate_series(1, 12) k) AS v FROM generate_series(first, last) i) g $$;
CALL fill(1, 1200);
CREATE TABLE q AS SELECT row_number() OVER (ORDER BY id) AS n, * FROM b WHERE id % 127 = 2;
SELECT count(*) FROM q;
SELECT genie_create_metric('spot', 'point_distance(point, point)', '<->');
CREATE INDEX b_edit ON b USING genie (t genie_edit_ops);
CREATE INDEX b_text ON b USING genie (t genie_edit_exact_ops);
CREATE INDEX b_set ON b USING genie (s);
CREATE INDEX b_words ON b USING genie (w);
CREATE INDEX b_tree ON b USING genie (tree genie_tree_ops);
CREATE INDEX b_json ON b USING genie (j);
CREATE INDEX b_l2 ON b USING genie (v genie_l2_exact_ops);
CREATE INDEX b_l1 ON b USING genie (d genie_l1_exact_float8_ops);
CREATE INDEX b_ip ON b USING genie (v genie_ip_exact_ops);
CREATE INDEX b_bits ON b USING genie (h genie_hamming_exact_ops);
CREATE INDEX b_spot ON b USING genie (p genie_spot_ops);

-- how many rows of the answers differ: of the nearest, of more than there are, and within a radius
CREATE FUNCTION differ(index text, x text, op text, radius float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text = '';
	n bigint;
	n_rows bigint;
	-- rows of an array are of one length: NULLs, which sets do not have, fill them
	queries text = format(CASE x WHEN 's' THEN 'ARRAY(SELECT %s || array_fill(NULL::int, ARRAY[10 - cardinality(%1$s)]) FROM q ORDER BY n)'
		ELSE 'ARRAY(SELECT %s FROM q ORDER BY n)' END, x);
BEGIN
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	FOR k IN 1 .. 3 LOOP
		EXECUTE format('WITH a AS (SELECT query, tid, distance, row_number() OVER (PARTITION BY query ORDER BY ordinality) AS place FROM %1$s WITH ORDINALITY),
				e AS (SELECT n::int AS query, c.tid, c.distance, c.place FROM q, LATERAL (SELECT *, row_number() OVER () AS place FROM (
					SELECT b.ctid AS tid, (b.%2$s %3$s q.%2$s)::float8 AS distance FROM b %4$s ORDER BY b.%2$s %3$s q.%2$s, b.ctid %5$s) c) c)
			SELECT (SELECT count(*) FROM (TABLE a EXCEPT ALL TABLE e) d) + (SELECT count(*) FROM (TABLE e EXCEPT ALL TABLE a) d), (SELECT count(*) FROM e)',
			CASE WHEN k < 3 THEN format('genie_search(%L, %s, %s)', index, queries, CASE k WHEN 1 THEN 10 ELSE 3000 END)
				ELSE format('genie_within(%L, %s, array_fill(%L::float8, ARRAY[10]))', index, queries, radius) END,
			x, op, CASE WHEN k = 3 THEN format('WHERE b.%s %s q.%s <= %L::float8', x, op, x, radius) END, CASE k WHEN 1 THEN 'LIMIT 10' WHEN 2 THEN 'LIMIT 3000' END)
		INTO n, n_rows;
		result = result || format('%s of %s; ', n, n_rows);
	END LOOP;
	RETURN result;
END $$;
CREATE TABLE classes (index text, x text, op text, radius float8);
INSERT INTO classes VALUES ('b_edit', 't', '<~>', 3), ('b_text', 't', '<~>', 3), ('b_set', 's', '<%>', 0.5), ('b_words', 'w', '<%>', 0.5), ('b_tree', 'tree', '<^>', 1), ('b_json', 'j', '<%>', 0.6),
	('b_l2', 'v', '<->', 4), ('b_l1', 'd', '<+>', 12), ('b_ip', 'v', '<#>', -8), ('b_bits', 'h', '<&~>', 8), ('b_spot', 'p', '<->', 3.5);
SELECT index, differ(index, x, op, radius) FROM classes;
-- pending rows, dead rows, merges
CALL fill(1201, 1300);
DELETE FROM b WHERE id % 9 = 4;
SELECT index, differ(index, x, op, radius) FROM classes;
VACUUM b;
SELECT genie_merge(index::regclass) FROM classes;
SELECT index, differ(index, x, op, radius) FROM classes;
-- a column of an index that has not learned yet
CREATE TABLE few AS SELECT * FROM b WHERE id < 100;
CREATE INDEX few_text ON few USING genie (t genie_edit_exact_ops);
CREATE INDEX few_spot ON few USING genie (p genie_spot_ops);
SELECT count(*), count(distance), sum(distance) FROM genie_search('few_text', ARRAY['oiie', 'gap'], 200);
SELECT query, count(*) FROM genie_within('few_spot', ARRAY[point(0, 0), point(20, 20)], '{5,7}') GROUP BY 1 ORDER BY 1;
SELECT (SELECT count(*) FROM few WHERE p <-> point(0, 0) <= 5), (SELECT count(*) FROM few WHERE p <-> point(20, 20) <= 7);

-- little work_mem: queries with many rows become scans
SET work_mem = '64kB';
SELECT index, differ(index, x, op, radius * 1.5) FROM classes WHERE radius > 0;
RESET work_mem;

-- forms of arrays
SELECT query, distance FROM genie_search('b_text', ARRAY['oiie']::varchar[], 1);
SELECT query, distance FROM genie_search('b_text', '{oiie,gap}'::text[], 1);
SELECT query, count(*) FROM genie_search('b_set', ARRAY[[1, 2, 3], [4, 5, 6]], 3) GROUP BY 1 ORDER BY 1;
SELECT query, count(*) FROM genie_search('b_set', ARRAY[1, 2, 3]::bigint[], 3) GROUP BY 1;
SELECT query, count(*) FROM genie_search('b_words', ARRAY[['3', '4'], ['5', NULL]], 3) GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM genie_search('b_words', '{}'::text[], 3);
SELECT count(*) FROM genie_search('b_text', '{}'::text[], 3);
SELECT query, count(*) FROM genie_search('b_l2', ARRAY[ARRAY(SELECT i FROM generate_series(1, 12) i), ARRAY(SELECT 2 * i FROM generate_series(1, 12) i)], 2) GROUP BY 1 ORDER BY 1;
SELECT query, count(*) FROM genie_within('b_l2', ARRAY(SELECT i::smallint FROM generate_series(1, 12) i), '{25}') GROUP BY 1;
SELECT query, distance FROM genie_search('b_bits', ARRAY[B'000000000000000000000000', B'111111111111111111111111'], 1);
SELECT query, distance FROM genie_search('b_bits', ARRAY[B'000000000000000000000000', B'111111111111111111111111']::varbit[], 1);
SELECT query, distance FROM genie_search('b_set', ARRAY[genie_object(ARRAY[1, 2, 3])], 1);

-- errors
SELECT * FROM genie_search('b_text', ARRAY[1, 2], 3);
SELECT * FROM genie_search('b_set', ARRAY['a'], 3);
SELECT * FROM genie_search('b_set', ARRAY[[[1]]], 3);
SELECT * FROM genie_search('b_text', ARRAY[NULL, 'a'], 3);
SELECT * FROM genie_search('b_text', ARRAY['a'], 0);
SELECT * FROM genie_search('b_l2', ARRAY[1, 2, 3], 1);
SELECT * FROM genie_search('b_l2', ARRAY[1, NULL, 3], 1);
SELECT * FROM genie_within('b_text', ARRAY['a', 'b'], '{1}');
SELECT * FROM genie_within('b_text', ARRAY['a'], '{-1}');
SELECT * FROM genie_within('b_text', ARRAY['a'], '{NaN}');
SELECT * FROM genie_within('b_text', ARRAY['a'], '{NULL}');
SELECT * FROM genie_within('b_text', ARRAY['a', 'b'], '{{1},{2}}');
CREATE INDEX b_lsh ON b USING genie (v genie_l2_ops);
SELECT * FROM genie_within('b_lsh', ARRAY[1, 2, 3]::real[], '{1}');
SELECT count(*) FROM genie_within('b_text', ARRAY['a'], '{Infinity}') w JOIN b ON b.ctid = w.tid;
SELECT count(t) FROM b;
DROP TABLE b, few, q, classes;
SELECT genie_drop_metric('spot');
DROP PROCEDURE fill(int, int);
DROP FUNCTION differ(text, text, text, float8);
