-- genie_tree_ops: trees in bracket notation by their labels, nearest first by tree edit distance, against sequential scans
SELECT genie_tree_distance('{f{d{a}{c{b}}}{e}}', '{f{c{d{a}{b}}}{e}}') AS "Zhang and Shasha's example",
	'{a}' <^> '{a}' AS same, '{a}' <^> ' {b} ' AS relabelled, '{a{b}{c}}' <^> '{a{b{c}}}' AS moved, '{a{b{c}}}' <^> '{a{c}}' AS deleted,
	'{}' <^> '{{}}' AS empty, '{\a}' <^> '{a}' AS escaped, '{\{}' <^> E'{\\\\}' AS "other escapes";
SELECT genie_tree_distance(NULL, '{a}') IS NULL AS "null", '{a}' @& ROW('{b}', 1)::tree_ball AS within, '{a}' @& ROW('{b}', 0.5)::tree_ball AS beyond,
	'{a}' @& ROW('{b{c{d}}}', 2)::tree_ball AS "larger by more";

CREATE TABLE trees (id int GENERATED ALWAYS AS IDENTITY, tree text) WITH (autovacuum_enabled = off);
SELECT setseed(0.5);
-- a random tree: each label opens below or beside the one before
CREATE FUNCTION random_tree(most int, salt int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	result text := '{r';
	depth int := 1;
	up int;
BEGIN
	FOR i IN 1 .. floor(random() * most) LOOP
		up := floor(random() * depth);
		result := result || repeat('}', up) || '{' || substr('abcdefé猫', 1 + floor(random() ^ 2 * 8)::int, 1);
		depth := depth - up + 1;
	END LOOP;
	RETURN result || repeat('}', depth);
END $$;
INSERT INTO trees (tree) SELECT CASE WHEN g % 40 <> 0 THEN random_tree(12, g) END FROM generate_series(1, 1200) g;
INSERT INTO trees (tree) SELECT random_tree(90, g) FROM generate_series(1, 40) g;
INSERT INTO trees (tree) SELECT replace(tree, '{b', '{' || repeat('long label ', 30)) FROM trees WHERE id % 60 = 5;
INSERT INTO trees (tree) SELECT replace(tree, '{a', '{a' || id % 3) FROM trees WHERE id % 3 = 1;
CREATE TABLE queries AS SELECT n, CASE WHEN n % 2 = 0 THEN random_tree(14, n) ELSE (SELECT replace(tree, '{b', '{c') FROM trees WHERE tree IS NOT NULL ORDER BY id OFFSET n * 60 LIMIT 1) END AS q FROM generate_series(1, 10) n;
INSERT INTO queries VALUES (11, '{}'), (12, '{z}'), (13, (SELECT tree FROM trees WHERE length(tree) > 200 LIMIT 1));
ANALYZE trees;

-- how many of the queries give other rows, or in another order, ties by TID
CREATE FUNCTION wrong(way text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	q record;
	n int := 0;
	by_index text;
	by_table text;
	form text := CASE way WHEN 'within' THEN 'SELECT string_agg(id::text, '','' ORDER BY id) FROM trees WHERE tree @& ROW(%1$L, %2$s)::tree_ball'
		ELSE 'SELECT string_agg(id || '' '' || d, '','' ORDER BY n) FROM (SELECT id, d, row_number() OVER () AS n FROM (SELECT id, tree <^> %1$L AS d FROM trees '
			|| CASE way WHEN 'near' THEN 'WHERE tree @& ROW(%1$L, %2$s)::tree_ball ' ELSE '' END || 'ORDER BY tree <^> %1$L%3$s LIMIT %4$s) s) s' END;
BEGIN
	FOR q IN SELECT * FROM queries LOOP
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', (way = 'within')::text, true);
		EXECUTE format(form, q.q, q.n % 7, '', CASE WHEN q.n % 3 = 0 THEN 'NULL' ELSE '10' END) INTO by_index;
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
		EXECUTE format(form, q.q, q.n % 7, ', ctid', CASE WHEN q.n % 3 = 0 THEN 'NULL' ELSE '10' END) INTO by_table;
		n := n + (by_index IS DISTINCT FROM by_table)::int;
	END LOOP;
	RETURN n || ' of ' || (SELECT count(*) FROM queries);
END $$;

CREATE INDEX trees_tree ON trees USING genie (tree genie_tree_ops) WITH (pending_limit = 64);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM trees ORDER BY tree <^> '{r{a}}' LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM trees WHERE tree @& ROW('{r{a}}', 1)::tree_ball;
RESET enable_seqscan;
SELECT wrong('nearest') AS nearest, wrong('near') AS "within, nearest", wrong('within') AS within;
INSERT INTO trees (tree) SELECT random_tree(12, g) FROM generate_series(1, 40) g;
INSERT INTO trees (tree) VALUES ('{}'), (NULL), (repeat('{a', 400) || repeat('}', 400));
DELETE FROM trees WHERE id % 7 = 3;
SELECT wrong('nearest') AS nearest, wrong('near') AS "within, nearest", wrong('within') AS within;
VACUUM (INDEX_CLEANUP ON) trees;
INSERT INTO trees (tree) SELECT random_tree(20, g) FROM generate_series(1, 800) g;
SELECT wrong('nearest') AS nearest, wrong('near') AS "within, nearest", wrong('within') AS within;
SELECT * FROM genie_check('trees_tree');
-- few rows are looked up
SET enable_seqscan = off;
SELECT count(*) FROM (SELECT id FROM trees ORDER BY tree <^> '{r{a}{b{c}}{a{d}}{e}}' LIMIT 10) s;
SELECT rows_visited < (SELECT count(*) / 4 FROM trees) AS few FROM genie_last_scan();
RESET enable_seqscan;

-- errors
INSERT INTO trees (tree) VALUES ('no tree');
INSERT INTO trees (tree) VALUES ('{a{b}');
INSERT INTO trees (tree) VALUES ('{r' || repeat('{a}', 4095) || '}');
SELECT '{a}' <^> ('{r' || repeat('{a}', 4095) || '}');
SELECT length('{r' || repeat('{a}', 4094) || '}') AS length, ('{r' || repeat('{a}', 4094) || '}') <^> '{r{a}}' AS "a large one";
SELECT '{a}' @& ROW('{a}', -1)::tree_ball;
SELECT '{a}' @& ROW('{a}', 'NaN')::tree_ball;
SELECT '{a}' @& ROW(NULL, 1)::tree_ball;
SELECT '{a}' @& ROW('{a}', NULL)::tree_ball;
SELECT '{a}' @& ROW('a', 1)::tree_ball;
SELECT id FROM trees WHERE tree @& ROW('a', 1)::tree_ball;
SELECT id FROM trees ORDER BY tree <^> '{' LIMIT 1;
CREATE INDEX ON trees USING genie (id genie_tree_ops);
CREATE INDEX ON trees USING genie (tree genie_tree_ops (n = 2));
DROP TABLE trees, queries;
DROP FUNCTION random_tree, wrong;
