-- upgrade.sql: what test/upgrade upgrades: tables with indexes in each state that files can have (segments, rows waiting to be merged, deleted
-- rows, signatures trained and not), and views that ask them.
--
--   answers    by index: number of rows, and a hash of their order (of exact classes: ties are by TID, which a dump does not keep, so of the values)
--   problems   what genie_check() says
--   wrong      queries whose answers by index are not those of a sequential scan; call change() first
CREATE EXTENSION genie;
SELECT setseed(0.5);

CREATE TYPE shade AS ENUM ('white', 'grey', 'black');
CREATE TABLE t AS SELECT i AS id, ARRAY[i % 7, 10 + i % 11, 100 + i % 113, 1000 + i % 1009] AS tags, ARRAY['w' || i % 50, 'v' || i % 500] AS words,
		md5(i::text) AS text, jsonb_build_object('kind', i % 20, 'name', 'n' || i % 300) AS doc, to_tsvector('simple', 'common t' || i % 40 || ' u' || i % 900) AS ts,
		ARRAY[((ARRAY['white', 'grey', 'black'])[1 + i % 3])::shade] AS shades, i % 100 AS a, (i * 7919 % 1000)::numeric / 10 AS b,
		ARRAY(SELECT (random() * 10 + i % 5 * 100)::real FROM generate_series(1, 8) WHERE i > 0) AS v, (i * 7919 % 65536)::bit(16) AS bits
	FROM generate_series(1, 20000) i;
CREATE INDEX ON t USING genie (tags);
CREATE INDEX ON t USING genie (words);
CREATE INDEX ON t USING genie (text genie_edit_ops);
CREATE INDEX ON t USING genie (doc);
CREATE INDEX ON t USING genie (ts);
CREATE INDEX ON t USING genie (shades);
CREATE INDEX ON t USING genie (genie_tuple(a, b));
CREATE INDEX ON t USING genie (v genie_l2_ops);
CREATE INDEX ON t USING genie (bits genie_hamming_ops);
CREATE INDEX ON t USING genie (tags) WHERE a < 50;
CREATE TABLE untrained AS SELECT id, v FROM t WHERE id <= 100;
CREATE INDEX ON untrained USING genie (v genie_cosine_ops);
-- deleted before and behind a VACUUM, and rows that wait
DELETE FROM t WHERE id % 10 = 0;
VACUUM t;
INSERT INTO t SELECT 20000 + id, tags, words, text, doc, ts, shades, a, b, v, bits FROM t WHERE id <= 500;
DELETE FROM t WHERE id % 10 = 1;
ANALYZE;

CREATE TABLE queries (name text, exact bool, query text);
INSERT INTO queries VALUES
	('array', true, 'SELECT tags <&> ''{1,12,131,1502}'' AS d, id FROM t ORDER BY d LIMIT 500'),
	('jaccard', true, 'SELECT tags <%> ''{1,12,131,1502}'' AS d, id FROM t ORDER BY d LIMIT 500'),
	('condition', true, 'SELECT 0 AS d, id FROM t WHERE tags @& genie_query(''{1,12,131,1502}''::int[], 2)'),
	('partial', true, 'SELECT tags <&> ''{3,14,105}'' AS d, id FROM t WHERE a < 50 ORDER BY d LIMIT 500'),
	('words', true, 'SELECT words <&> ''{w7,v107}'' AS d, id FROM t ORDER BY d LIMIT 500'),
	('edit', true, 'SELECT text <~> ''0123456789abcdef0123456789abcdef'' AS d, id FROM t ORDER BY d LIMIT 20'),
	('jsonb', true, 'SELECT doc <&> ''{"kind": 3, "name": "n123"}'' AS d, id FROM t ORDER BY d LIMIT 500'),
	('tsvector', true, 'SELECT ts <&> genie_query(to_tsquery(''simple'', ''t3 | u103'')) AS d, id FROM t ORDER BY d LIMIT 500'),
	('enum', true, 'SELECT 0 AS d, id FROM t WHERE shades @& genie_query(ARRAY[''grey'']::shade[])'),
	('tuple', true, 'SELECT genie_tuple(a, b) <&> genie_tuple_query(int4range(3, 9), numrange(1, 5)) AS d, id FROM t ORDER BY d LIMIT 500'),
	('vector', false, 'SELECT v <-> ''{5,5,5,5,5,5,5,5}'' AS d, id FROM t ORDER BY d LIMIT 10'),
	('hamming', false, 'SELECT bits <&~> B''0101010101010101'' AS d, id FROM t ORDER BY d LIMIT 10'),
	('untrained', false, 'SELECT v <=> ''{5,5,5,5,5,5,5,5}'' AS d, id FROM untrained ORDER BY d LIMIT 10');

-- d and id of the rows; of rows that tie at a LIMIT's end, any may come, so of those only d is compared
CREATE FUNCTION answer(query text, index bool) RETURNS TABLE (rows bigint, hash text, plan text) LANGUAGE plpgsql SET search_path = public AS $$
DECLARE
	explained json;
BEGIN
	PERFORM set_config('enable_seqscan', (NOT index)::text, true), set_config('enable_indexscan', index::text, true), set_config('enable_bitmapscan', index::text, true),
		set_config('enable_sort', (NOT index)::text, true);
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO explained;
	plan := substring(explained::text FROM '"(Index Scan|Bitmap Index Scan|Seq Scan)"');
	RETURN QUERY EXECUTE format('WITH r AS MATERIALIZED (%s) SELECT count(*), md5(string_agg(d || CASE WHEN d < (SELECT max(d) FROM r) THEN '' '' || id ELSE '''' END, '','' ORDER BY d, id)), %L FROM r', query, plan);
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true), set_config('enable_sort', 'on', true);
END $$;
CREATE VIEW answers AS SELECT name, exact, a.* FROM queries, answer(query, true) a ORDER BY name;
CREATE VIEW problems AS SELECT relname, p.* FROM pg_class c JOIN pg_am a ON a.oid = relam AND amname = 'genie', genie_check(c.oid::regclass) p WHERE relkind = 'i';
CREATE VIEW wrong AS SELECT name, i.plan AS by_index, s.plan AS sequential, i.rows AS index_rows, s.rows FROM queries, answer(query, true) i, answer(query, false) s
	WHERE exact AND ((i.rows, i.hash) IS DISTINCT FROM (s.rows, s.hash) OR i.plan = 'Seq Scan' OR s.plan <> 'Seq Scan');
CREATE PROCEDURE change() LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t SELECT 40000 + id, tags, words, text, doc, ts, shades, a, b, v, bits FROM t WHERE id <= 3000;
	DELETE FROM t WHERE id % 10 = 2;
	INSERT INTO untrained SELECT id, v FROM t WHERE id % 10 = 3;
	PERFORM genie_merge(c.oid::regclass) FROM pg_class c JOIN pg_am a ON a.oid = relam AND amname = 'genie' WHERE relkind = 'i';
	COMMIT;
END $$;
