-- genie_edit_ops: texts by n-grams, nearest first by edit distance, against sequential scans
CREATE TABLE texts (id int GENERATED ALWAYS AS IDENTITY, value text) WITH (autovacuum_enabled = off);
SELECT setseed(0.75);
CREATE FUNCTION random_text(most int, salt int) RETURNS text LANGUAGE sql VOLATILE AS
	$$ SELECT coalesce(string_agg(substr('aabcdefgé猫 ', 1 + floor(random() ^ 2 * 11)::int, 1), ''), '') FROM generate_series(1, floor(random() * (most + 1))::int + salt * 0) $$;
INSERT INTO texts (value) SELECT CASE WHEN g % 40 <> 0 THEN random_text(12, g) END FROM generate_series(1, 2000) g;
INSERT INTO texts (value) SELECT random_text(150, g) FROM generate_series(1, 60) g;
INSERT INTO texts (value) SELECT left(repeat(random_text(60, g) || g % 5, 40), 250 + g * 37) FROM generate_series(1, 40) g;
-- near ones: up to four edits
INSERT INTO texts (value) SELECT overlay(overlay(value PLACING 'x' FROM 1 + id % 7 FOR id % 3) PLACING '' FROM 1 + id % 5 FOR id % 2) FROM texts WHERE length(value) > 6 AND id % 3 = 0;
CREATE TABLE queries AS SELECT n, CASE n % 3 WHEN 0 THEN random_text(14, n) ELSE (SELECT overlay(value PLACING 'xb' FROM 2 FOR n % 3) FROM texts WHERE length(value) > 5 ORDER BY id OFFSET n * 30 LIMIT 1) END AS q FROM generate_series(1, 12) n;
INSERT INTO queries SELECT 17 + id % 3, left(value, 300 + id % 3 * 400) || 'ab' FROM texts WHERE length(value) BETWEEN 1200 AND 1305;
INSERT INTO queries VALUES (13, ''), (14, 'a'), (15, (SELECT value FROM texts WHERE length(value) > 100 LIMIT 1) || 'ab'), (16, repeat('z', 30));
ANALYZE texts;

-- the rows by a plan with the index, or without
CREATE FUNCTION rows_by(index text, query text) RETURNS TABLE (id int, d float8) LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
BEGIN
	PERFORM set_config('enable_seqscan', (index IS NULL)::text, true), set_config('enable_indexscan', (index IS NOT NULL)::text, true),
		set_config('enable_bitmapscan', (index IS NOT NULL)::text, true), set_config('enable_sort', (index IS NULL)::text, true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	IF index IS NOT NULL AND strpos(plan, index) = 0 THEN
		RAISE EXCEPTION 'no scan of %: %', index, plan;
	END IF;
	RETURN QUERY EXECUTE query;
END $$;
-- how many of the queries give other rows, or in another order, ties by TID; with a LIMIT or without, or with a condition
CREATE FUNCTION wrong(index text) RETURNS TABLE (nearest bigint, limited bigint, within bigint, "within, nearest" bigint, matching bigint, similar bigint) LANGUAGE sql AS $$
	SELECT count(*) FILTER (WHERE ARRAY(SELECT (id, d) FROM rows_by(index, format('SELECT id, value <~> %L FROM texts ORDER BY value <~> %1$L', q)))
			IS DISTINCT FROM ARRAY(SELECT (id, d) FROM rows_by(NULL, format('SELECT id, value <~> %L AS d FROM texts ORDER BY d, ctid', q)))),
		count(*) FILTER (WHERE ARRAY(SELECT (id, d) FROM rows_by(index, format('SELECT id, value <~> %L FROM texts ORDER BY value <~> %1$L LIMIT 10', q)))
			IS DISTINCT FROM ARRAY(SELECT (id, d) FROM rows_by(NULL, format('SELECT id, value <~> %L AS d FROM texts ORDER BY d, ctid LIMIT 10', q)))),
		count(*) FILTER (WHERE ARRAY(SELECT id FROM rows_by(index, format('SELECT id, 0::float8 FROM texts WHERE value @& genie_edit_query(%L, %s)', q, n % 5)) ORDER BY id)
			IS DISTINCT FROM ARRAY(SELECT id FROM rows_by(NULL, format('SELECT id, 0::float8 FROM texts WHERE value <~> %L <= %s ORDER BY id', q, n % 5)))),
		count(*) FILTER (WHERE ARRAY(SELECT (id, d) FROM rows_by(index, format('SELECT id, value <~> %L FROM texts WHERE value @& genie_edit_query(%1$L, %s) ORDER BY value <~> %1$L', q, n % 7)))
			IS DISTINCT FROM ARRAY(SELECT (id, d) FROM rows_by(NULL, format('SELECT id, value <~> %L AS d FROM texts WHERE value <~> %1$L <= %s ORDER BY d, ctid', q, n % 7)))),
		count(*) FILTER (WHERE ARRAY(SELECT (id, d) FROM rows_by(index, format('SELECT id, (value <&> genie_query(genie_ngrams(%L, %2$s)))::float8 FROM texts WHERE value @& genie_with_min_match(genie_query(genie_ngrams(%1$L, %2$s)), %3$s) ORDER BY value <&> genie_query(genie_ngrams(%1$L, %2$s))', q, right(index, 1), 1 + n % 5)))
			IS DISTINCT FROM ARRAY(SELECT (id, d) FROM rows_by(NULL, format('SELECT id, (value <&> genie_query(genie_ngrams(%L, %2$s)))::float8 AS d FROM texts WHERE value @& genie_with_min_match(genie_query(genie_ngrams(%1$L, %2$s)), %3$s) ORDER BY d, ctid', q, right(index, 1), 1 + n % 5)))),
		count(*) FILTER (WHERE ARRAY(SELECT id FROM rows_by(index, format('SELECT id, 0::float8 FROM texts WHERE value @& genie_jaccard_query(genie_ngrams(%L, %s), 0.4)', q, right(index, 1))) ORDER BY id)
			IS DISTINCT FROM ARRAY(SELECT id FROM rows_by(NULL, format('SELECT id, 0::float8 FROM texts WHERE value @& genie_jaccard_query(genie_ngrams(%L, %s), 0.4) ORDER BY id', q, right(index, 1)))))
	FROM queries $$;

CREATE INDEX texts_3 ON texts USING genie (value genie_edit_ops) WITH (pending_limit = 64);
EXPLAIN (COSTS OFF) SELECT id FROM texts WHERE value @& genie_edit_query('word', 2) ORDER BY value <~> 'word' LIMIT 3;
SELECT * FROM wrong('texts_3');
INSERT INTO texts (value) SELECT random_text(12, g) FROM generate_series(1, 40) g;
INSERT INTO texts (value) VALUES (''), (NULL), (repeat('猫', 3000)), ('a');
DELETE FROM texts WHERE id % 7 = 3;
SELECT pending_rows > 0 AS pending FROM genie_index_info('texts_3');
SELECT * FROM wrong('texts_3');
VACUUM (INDEX_CLEANUP ON) texts;
INSERT INTO texts (value) SELECT random_text(30, g) FROM generate_series(1, 3000) g;
SELECT segments > 1 AS merged FROM genie_index_info('texts_3');
SELECT * FROM wrong('texts_3');
DELETE FROM texts WHERE id > 2500;
VACUUM (INDEX_CLEANUP ON) texts;
DROP INDEX texts_3;
CREATE INDEX texts_1 ON texts USING genie (value genie_edit_ops (n = 1));
SELECT * FROM wrong('texts_1');
DROP INDEX texts_1;
CREATE INDEX texts_2 ON texts USING genie (value genie_edit_ops (n = 2));
SELECT * FROM wrong('texts_2');
DROP INDEX texts_2;
CREATE INDEX texts_5 ON texts USING genie (value genie_edit_ops (n = 5));
SELECT * FROM wrong('texts_5');
SELECT * FROM genie_check('texts_5');

-- a query for nothing: all texts, or none; with a similarity, texts are taken for empty
SET enable_seqscan = off;
SELECT count(*) = (SELECT count(value) FROM texts WHERE id > 0) AS all FROM texts WHERE value @& '{}@0'::genie_query;
SELECT count(*) FROM texts WHERE value @& '{}@1'::genie_query;
SELECT count(*) = (SELECT count(value) FROM texts WHERE id > 0) AS all FROM texts WHERE value @& '{}@0%1'::genie_query;
-- a distance that all are within, and none
SELECT count(*) = (SELECT count(value) FROM texts WHERE id > 0) AS all FROM texts WHERE value @& genie_edit_query('a', 2147483647);
SELECT count(*) FROM texts WHERE value @& genie_edit_query('zzzzzzzz', 0);
SELECT count(*) FROM texts WHERE value @& NULL::genie_edit_query;
-- prepared, joined
PREPARE nearest(text) AS SELECT value <~> $1 AS d FROM texts ORDER BY value <~> $1 LIMIT 1;
SET plan_cache_mode = force_generic_plan;
EXECUTE nearest('aab');
EXECUTE nearest('');
RESET plan_cache_mode;
SELECT n, d, d = (SELECT min(value <~> q) FROM texts) AS right FROM queries, LATERAL (SELECT value <~> q AS d FROM texts ORDER BY value <~> q LIMIT 1) s ORDER BY n;

-- other operators behind the distance, NULL queries, an index on an expression, a transaction that sees its own changes
CREATE FUNCTION same(index text, rest text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT id, 0::float8 FROM texts ' || rest;
	by_index int[] := ARRAY(SELECT id FROM rows_by(index, query));
	by_table int[] := ARRAY(SELECT id FROM rows_by(NULL, regexp_replace(query, '( LIMIT.*)?$', ', ctid\1')));
BEGIN
	RETURN CASE WHEN by_index = by_table THEN cardinality(by_index) || ' rows agree' ELSE 'differ' END;
END $$;
CREATE INDEX texts_upper ON texts USING genie (upper(value) genie_edit_ops (n = 2));
BEGIN;
DELETE FROM texts WHERE id % 10 = 2;
UPDATE texts SET value = value || 'b' WHERE id % 10 = 4;
SELECT same('texts_5', format('ORDER BY value <~> %L, value <~> %L', q, 'aa')) AS two,
	same('texts_5', format('ORDER BY value <&> genie_query(genie_ngrams(%L, 5)), value <~> %L LIMIT 1000', q, 'aa')) AS behind_count,
	same('texts_5', format('ORDER BY value <~> (SELECT NULL::text), value <~> %L LIMIT 100', q)) AS behind_null,
	same('texts_upper', format('ORDER BY upper(value) <~> upper(%L)', q)) AS expression,
	same('texts_5', format('WHERE value <~> %L > 3 ORDER BY value <~> %1$L LIMIT 70', q)) AS filtered FROM queries WHERE n IN (1, 3, 16) ORDER BY n;
ROLLBACK;
SET work_mem = '64kB';
SELECT same('texts_upper', 'ORDER BY upper(value) <~> ''ZZZZZZZZZZZZZZZZ''');
RESET work_mem;

-- a row that was updated in place keeps its place; cursors, and rows that come meanwhile
CREATE TABLE places (id int, value text, n int) WITH (fillfactor = 50, autovacuum_enabled = off);
INSERT INTO places SELECT i, 'word' || i % 10, 0 FROM generate_series(1, 100) i;
CREATE INDEX places_value ON places USING genie (value genie_edit_ops);
UPDATE places SET n = 1 WHERE id IN (1, 21);
DELETE FROM places WHERE id = 11;
SET enable_seqscan = off;
BEGIN;
DECLARE c CURSOR FOR SELECT id, n, value <~> 'word1' AS d FROM places ORDER BY value <~> 'word1';
FETCH 4 FROM c;
INSERT INTO places VALUES (101, 'word1', 0);
DELETE FROM places WHERE id > 21;
FETCH 8 FROM c;
CLOSE c;
SELECT id, n, value <~> 'word1' AS d FROM places ORDER BY value <~> 'word1' LIMIT 6;
ROLLBACK;
RESET enable_seqscan;
DROP TABLE places;

-- queries for n-grams of another length, or for no n-grams
SELECT count(*) FROM texts WHERE value @& genie_query(genie_ngrams('word', 3));
SELECT id FROM texts ORDER BY value <&> '{0:text:a}'::genie_query LIMIT 1;
SELECT id FROM texts ORDER BY value <&> '{327680:text:a,2147483647:text:a}'::genie_query LIMIT 1;
SELECT id FROM texts ORDER BY value <&> '{327680:int:1}'::genie_query LIMIT 1;
SELECT count(*) FROM texts WHERE value @& ROW('a', -1)::genie_edit_query;
SELECT id FROM texts ORDER BY value <~> repeat('a', 65536) LIMIT 1;
-- values that have too many n-grams
INSERT INTO texts (value) VALUES (repeat('a', 65532));
INSERT INTO texts (value) VALUES (repeat('a', 65531));
SELECT length(value), value <~> repeat('a', 65500) AS d FROM texts WHERE value @& genie_edit_query(repeat('a', 65500), 31);
RESET enable_seqscan;
DROP TABLE texts, queries;
DROP FUNCTION wrong, same, rows_by, random_text;

-- queries that have too many n-grams for an object are queries like others
CREATE TABLE texts (value text);
INSERT INTO texts SELECT left(string_agg(md5(i::text), '' ORDER BY i), 65520) FROM generate_series(1, 2048) i;
INSERT INTO texts SELECT overlay(value PLACING 'xyzxyzxyz' FROM 1000) FROM texts;
INSERT INTO texts VALUES (repeat('a', 65520)), ('a'), ('');
CREATE INDEX ON texts USING genie (value genie_edit_ops (n = 16));
CREATE TABLE queries AS SELECT q FROM (SELECT value AS v FROM texts LIMIT 1) s,
	LATERAL (VALUES ('x' || v), ('xx' || v || repeat('x', 13)), (v || repeat('z', 15)), (overlay(v || repeat('z', 15) PLACING 'yyyyyyyy' FROM 900)), (repeat('a', 65535))) w (q);
SET enable_seqscan = off;
SELECT length(q), d, within FROM queries, LATERAL (SELECT array_agg(d) AS d FROM (SELECT value <~> q AS d FROM texts ORDER BY value <~> q LIMIT 2) s) t,
	LATERAL (SELECT count(*) AS within FROM texts WHERE value @& genie_edit_query(q, 23)) u;
SELECT value FROM texts ORDER BY value <~> repeat('a', 65536) LIMIT 1;
RESET enable_seqscan;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT length(q), d, within FROM queries, LATERAL (SELECT array_agg(d) AS d FROM (SELECT value <~> q AS d FROM texts ORDER BY value <~> q LIMIT 2) s) t,
	LATERAL (SELECT count(*) AS within FROM texts WHERE value @& genie_edit_query(q, 23)) u;
SELECT value FROM texts ORDER BY value <~> repeat('a', 65536) LIMIT 1;
RESET enable_indexscan;
RESET enable_bitmapscan;
DROP TABLE texts, queries;

-- the option
CREATE TABLE t (v varchar(20), b char(8), n name, x text COLLATE "C");
INSERT INTO t VALUES ('word', 'word', 'word', 'word'), ('ward', 'ward', 'ward', 'ward'), ('bird', 'bird', 'bird', 'bird');
CREATE INDEX ON t USING genie (x genie_edit_ops (n = 0));
CREATE INDEX ON t USING genie (x genie_edit_ops (n = 17));
CREATE INDEX ON t USING genie (x genie_edit_ops (m = 2));
CREATE INDEX ON t USING genie (x);
-- columns of other types: varchar is a text, char(n) and name are by a cast
CREATE INDEX t_v ON t USING genie (v genie_edit_ops);
CREATE INDEX ON t USING genie (b genie_edit_ops);
CREATE INDEX ON t USING genie (n genie_edit_ops);
CREATE INDEX t_b ON t USING genie ((b::text) genie_edit_ops (n = 2));
CREATE INDEX t_x ON t USING genie (x genie_edit_ops);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT v FROM t ORDER BY v <~> 'wird' LIMIT 2;
SELECT v, v <~> 'wird' AS d FROM t ORDER BY v <~> 'wird', v LIMIT 2;
SELECT b, b::text <~> 'wird' AS d FROM t ORDER BY b::text <~> 'wird' LIMIT 2;
EXPLAIN (COSTS OFF) SELECT x FROM t WHERE x @& genie_edit_query('wird', 1) ORDER BY x <~> 'bord';
SELECT x, x <~> 'bord' AS d FROM t WHERE x @& genie_edit_query('wird', 1) ORDER BY x <~> 'bord';
-- a similarity says how many n-grams must match: other rows are not looked at
SET enable_bitmapscan = off;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT x FROM t WHERE x @& genie_jaccard_query(genie_ngrams('word'), 0.9);
RESET enable_seqscan; RESET enable_bitmapscan;
DROP TABLE t;
