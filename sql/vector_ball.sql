-- Balls of the exact classes of vectors and bit strings: x @& ROW(center, radius)::..._ball, within a distance.
SET client_min_messages = warning;
CREATE FUNCTION vec(i int, n int DEFAULT 12) RETURNS real[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
	AS $$SELECT array_agg((sin(i * 0.37 * j) * (1 + i % 5) + cos(j * (i % 83)))::real) FROM generate_series(1, n) j$$;
CREATE FUNCTION code(i int) RETURNS bit(40) LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
	AS $$SELECT ((i::bigint * 7919 * 104729) % (1::bigint << 40))::bit(40)$$;

-- each row of a ball is there, and no other; '' says that
CREATE FUNCTION wrong(tab text, col text, ball text, center text, radius float8, rest text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	form text = format('SELECT array_agg(ctid::text%4$s) FROM (SELECT ctid, x FROM (SELECT ctid, %2$I AS x FROM %1$I) t WHERE x @& ROW(%3$s, $1)::%5$s %6$s) s',
					   tab, col, center, CASE WHEN rest = '' THEN ' ORDER BY ctid' ELSE '' END, ball, rest);
	by_index text[];
	by_table text[];
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
	EXECUTE form INTO by_index USING radius;
	IF rest = '' THEN
		PERFORM set_config('enable_bitmapscan', 'off', true);
		EXECUTE form INTO by_table USING radius;
		IF by_index IS DISTINCT FROM by_table THEN
			RETURN format('%s: bitmap %s, index %s', ball, by_index, by_table);
		END IF;
	END IF;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
	EXECUTE CASE WHEN rest = '' THEN form ELSE replace(form, ' LIMIT', ', ctid LIMIT') END INTO by_table USING radius;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
	RETURN CASE WHEN by_index IS DISTINCT FROM by_table THEN format('%s: index %s, table %s', ball, by_index, by_table) ELSE '' END;
END $$;

CREATE TABLE v (id int PRIMARY KEY, f real[], d float8[], b bit(40)) WITH (autovacuum_enabled = off);
INSERT INTO v SELECT i, CASE WHEN i % 97 <> 0 THEN vec(i) END, CASE WHEN i % 89 <> 0 THEN vec(i)::float8[] END, code(i % 1500) FROM generate_series(1, 2000) i;
INSERT INTO v VALUES (3000, array_fill(0::real, ARRAY[12]), array_fill(0::float8, ARRAY[12]), code(0));
CREATE INDEX v_l2 ON v USING genie (f genie_l2_exact_ops);
CREATE INDEX v_l1 ON v USING genie (f genie_l1_exact_ops);
CREATE INDEX v_cosine ON v USING genie (f genie_cosine_exact_ops);
CREATE INDEX v_l2_float8 ON v USING genie (d genie_l2_exact_float8_ops);
CREATE INDEX v_l1_float8 ON v USING genie (d genie_l1_exact_float8_ops);
CREATE INDEX v_cosine_float8 ON v USING genie (d genie_cosine_exact_float8_ops);
CREATE INDEX v_hamming ON v USING genie (b genie_hamming_exact_ops);
ANALYZE v;
SELECT opcname, amvalidate(oid) FROM pg_opclass WHERE opcname ~ '^genie_.*_exact_' ORDER BY 1;

CREATE TEMP TABLE balls (col, ball, op, radii) AS VALUES
	('f', 'l2_exact_ball', '<->', '{0,2,4,7,Infinity}'::float8[]), ('f', 'l1_exact_ball', '<+>', '{0,6,12,20,Infinity}'),
	('f', 'cosine_exact_ball', '<=>', '{0,0.05,0.3,1,2}'), ('d', 'l2_exact_float8_ball', '<->', '{0,2,4,7,Infinity}'),
	('d', 'l1_exact_float8_ball', '<+>', '{0,6,12,20,Infinity}'), ('d', 'cosine_exact_float8_ball', '<=>', '{0,0.05,0.3,1,2}'),
	('b', 'hamming_exact_ball', '<&~>', '{0,3,9.5,15,40}');
CREATE FUNCTION all_wrong() RETURNS TABLE (wrong text, n bigint) LANGUAGE sql AS $$
	SELECT w, count(*) FROM balls b, unnest(radii) radius, (VALUES (1), (83), (1234), (3000)) c (i),
		LATERAL (SELECT CASE col WHEN 'b' THEN quote_literal(code(i)) || '::bit(40)' ELSE quote_literal(vec(i)) END || CASE col WHEN 'f' THEN '::real[]' WHEN 'd' THEN '::float8[]' ELSE '' END AS center,
				 CASE col WHEN 'b' THEN quote_literal(code(i + 5)) || '::bit(40)' ELSE quote_literal(vec(i + 5)) || CASE col WHEN 'f' THEN '::real[]' ELSE '::float8[]' END END AS other) s,
		unnest(ARRAY['', format('ORDER BY x %s %s LIMIT 50', op, center), format('ORDER BY x %s %s LIMIT 50', op, other)]) rest,
		wrong('v', col, ball, center, radius, rest) w
	GROUP BY 1 ORDER BY 1
$$;
SELECT * FROM all_wrong();
-- all of the seven, by their indexes alone
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM v WHERE f @& ROW((SELECT vec(1)), 2)::l2_exact_ball;
EXPLAIN (COSTS OFF) SELECT id FROM v WHERE f @& ROW((SELECT vec(1)), 2)::l1_exact_ball;
EXPLAIN (COSTS OFF) SELECT id FROM v WHERE f @& ROW((SELECT vec(1)), 2)::cosine_exact_ball;
EXPLAIN (COSTS OFF) SELECT id FROM v WHERE d @& ROW((SELECT vec(1)), 2)::l2_exact_float8_ball;
EXPLAIN (COSTS OFF) SELECT id FROM v WHERE d @& ROW((SELECT vec(1)), 2)::l1_exact_float8_ball;
EXPLAIN (COSTS OFF) SELECT id FROM v WHERE d @& ROW((SELECT vec(1)), 2)::cosine_exact_float8_ball;
EXPLAIN (COSTS OFF) SELECT id FROM v WHERE b @& ROW((SELECT code(1)), 2)::hamming_exact_ball;
EXPLAIN (COSTS OFF) SELECT count(*) FROM v a JOIN v b ON a.f @& ROW(b.f, 4)::l2_exact_ball WHERE b.id < 50;
SELECT count(*) FROM v a JOIN v b ON a.f @& ROW(b.f, 4)::l2_exact_ball WHERE b.id < 50;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT count(*) FROM v a JOIN v b ON a.f <-> b.f <= 4 WHERE b.id < 50;

-- few rows are looked at: the radius ends the scan
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) BETWEEN 1 AND 50 AS few FROM v WHERE f @& ROW(vec(71), 1)::l2_exact_ball;
SELECT candidates < 100 AS few FROM genie_last_scan();
RESET enable_seqscan;
RESET enable_bitmapscan;

-- beside a merge, and rows that wait for one
INSERT INTO v SELECT i, vec(i), vec(i + 1)::float8[], code(i) FROM generate_series(4001, 4300) i;
DELETE FROM v WHERE id % 11 = 0;
SELECT * FROM all_wrong();
VACUUM v;
SELECT * FROM all_wrong();
-- two balls, one center and two
SELECT (SELECT count(*) FROM v WHERE f @& ROW(vec(5), 4)::l2_exact_ball AND f @& ROW(vec(5), 2)::l2_exact_ball) =
	(SELECT count(*) FROM v WHERE f <-> vec(5) <= 2) AS same_center,
	(SELECT count(*) FROM v WHERE f @& ROW(vec(5), 4)::l2_exact_ball AND f @& ROW(vec(9), 6)::l2_exact_ball) =
	(SELECT count(*) FROM v WHERE f <-> vec(5) <= 4 AND f <-> vec(9) <= 6) AS two_centers;

-- literals and parameters of an unknown type still are a genie_query beside arrays of other types
PREPARE of_int AS SELECT '{1,2}'::int[] @& $1;
PREPARE of_text AS SELECT '{1,2}'::text[] @& $1;
PREPARE of_word AS SELECT 'word'::text @& $1;
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY 1;
SELECT ARRAY[1, 2] @& '{0:int:1}@1' AS one;
DEALLOCATE ALL;
-- beside vectors they may be of each type of balls: that is an error, and a cast decides
SELECT '{1,2}'::real[] @& '{}' AS ambiguous;
SELECT '{1,2}'::real[] @& '{}'::genie_query AS of_set, '{1,2}'::real[] @& '("{1,3}",1)'::l2_exact_ball AS of_ball;

-- errors, with an index and without
SELECT ARRAY[1, 2]::real[] @& ROW('{1,2}', -1)::l2_exact_ball;
SELECT ARRAY[1, 2]::real[] @& ROW('{1,2}', 'NaN')::l2_exact_ball;
SELECT ARRAY[1, 2]::real[] @& ROW(NULL, 1)::l2_exact_ball;
SELECT ARRAY[1, 2]::real[] @& ROW('{1,2}', NULL)::l2_exact_ball;
SELECT ARRAY[1, 2]::real[] @& ROW('{1}', 1)::l1_exact_ball;
SELECT ARRAY[1, 2]::float8[] @& ROW('{{1}}', 1)::cosine_exact_float8_ball;
SELECT ARRAY[1, 2]::real[] @& NULL::l2_exact_ball IS NULL AS "null";
SELECT b'10' @& ROW(b'1', 1)::hamming_exact_ball;
SET enable_seqscan = off;
SELECT id FROM v WHERE f @& ROW(vec(1), -1)::l2_exact_ball;
SELECT id FROM v WHERE f @& ROW('{1,2}', 1)::l2_exact_ball;
SELECT id FROM v WHERE b @& ROW(b'1', 1)::hamming_exact_ball;
SELECT count(*) FROM v WHERE f @& NULL::l2_exact_ball;

DROP TABLE v, balls;
DROP FUNCTION all_wrong();
DROP FUNCTION wrong(text, text, text, text, float8, text);
DROP FUNCTION vec(int, int);
DROP FUNCTION code(int);
RESET enable_seqscan;
RESET client_min_messages;
