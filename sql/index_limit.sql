-- large objects: up to 65,535 keywords, by CREATE INDEX and by INSERT; one more is an error that loses nothing
CREATE SCHEMA index_limit;
SET search_path = index_limit, public;
SET client_min_messages = warning;
SET enable_seqscan = off;
CREATE FUNCTION run(a int, b int) RETURNS int[] LANGUAGE sql AS 'SELECT array_agg(i) FROM generate_series(a, b) i';
CREATE FUNCTION words(a int, b int) RETURNS text[] LANGUAGE sql AS $$ SELECT array_agg('a rather long word, number ' || i) FROM generate_series(a, b) i $$;

-- by CREATE INDEX
CREATE TABLE t (id int, a int[], w text[]) WITH (autovacuum_enabled = off);
INSERT INTO t VALUES (1, '{1}', '{x}'), (2, run(1, 65535), words(1, 65535)), (3, '{2}', NULL);
CREATE INDEX t_a ON t USING genie (a);
CREATE INDEX t_w ON t USING genie (w);
SELECT objects, keywords, postings FROM genie_index_info('t_a') UNION ALL SELECT objects, keywords, postings FROM genie_index_info('t_w');
SELECT id, a <&> run(1, 65535) AS o FROM t ORDER BY a <&> run(1, 65535);
SELECT id, w <&> words(1, 65535) AS o FROM t ORDER BY w <&> words(1, 65535);
SELECT id FROM t WHERE a @& genie_query('{[1,70000)}'::int4multirange) ORDER BY a <&> '{1}';
SELECT id FROM t WHERE a @& genie_with_min_match(genie_query('{[1,70000)}'::int4multirange), 65535);
SELECT id FROM t WHERE a @& genie_with_min_match(genie_query('{[1,70000)}'::int4multirange), 65536);
SELECT violation FROM genie_check('t_a') UNION ALL SELECT violation FROM genie_check('t_w');

-- row by row, into the pending list; scanned there, then merged
INSERT INTO t VALUES (4, run(1, 65535), words(1, 65535));
INSERT INTO t VALUES (5, run(30000, 95534), words(30000, 95534));
INSERT INTO t VALUES (6, run(65000, 65600) || run(65000, 65600), words(1, 300));
SELECT pending_rows FROM genie_index_info('t_a');
SELECT id, a <&> run(1, 65535) AS o FROM t ORDER BY a <&> run(1, 65535);
SELECT id, w <&> words(1, 65535) AS o FROM t ORDER BY w <&> words(1, 65535);
SELECT id FROM t WHERE w @& genie_query(words(1, 65535), 65535);
SELECT violation FROM genie_check('t_a') UNION ALL SELECT violation FROM genie_check('t_w');
SELECT genie_merge('t_a'), genie_merge('t_w');
SELECT objects, keywords, postings, pending_rows FROM genie_index_info('t_a') UNION ALL SELECT objects, keywords, postings, pending_rows FROM genie_index_info('t_w');
SELECT id, a <&> run(1, 65535) AS o FROM t ORDER BY a <&> run(1, 65535);
SELECT id, w <&> words(1, 65535) AS o FROM t ORDER BY w <&> words(1, 65535);
SELECT violation FROM genie_check('t_a') UNION ALL SELECT violation FROM genie_check('t_w');

-- the limit merges by itself, and a deleted large row goes
SET genie.pending_limit = 64;
INSERT INTO t VALUES (7, run(1, 20000), words(1, 20000));
SELECT pending_rows FROM genie_index_info('t_a') UNION ALL SELECT pending_rows FROM genie_index_info('t_w');
RESET genie.pending_limit;
INSERT INTO t VALUES (8, run(1, 20000), words(1, 20000));
DELETE FROM t WHERE id IN (2, 8);
VACUUM t;
SELECT id, a <&> run(1, 65535) AS o FROM t ORDER BY a <&> run(1, 65535) LIMIT 3;
SELECT violation FROM genie_check('t_a') UNION ALL SELECT violation FROM genie_check('t_w');

-- one more keyword: INSERT, in both lists of types, and the transaction's other rows stay
BEGIN;
INSERT INTO t VALUES (9, '{9}', '{nine}');
SAVEPOINT s;
INSERT INTO t VALUES (10, run(1, 65536), NULL);
ROLLBACK TO s;
INSERT INTO t VALUES (11, NULL, words(1, 65536));
ROLLBACK TO s;
INSERT INTO t VALUES (12, run(1, 65535) || run(1, 65535), words(1, 5) || words(1, 65535));
COMMIT;
SELECT id FROM t ORDER BY id;
SELECT id, a <&> '{9}' AS o FROM t ORDER BY a <&> '{9}' LIMIT 1;
SELECT id FROM t WHERE a @& genie_with_min_match(genie_query('{(,)}'::int4multirange), 65535);
COPY t FROM stdin;
20	{20}	{x}
21	{}	{y}
\.
SELECT violation FROM genie_check('t_a') UNION ALL SELECT violation FROM genie_check('t_w');

-- and CREATE INDEX
CREATE TABLE too_large (id int, a int[], w text[]);
INSERT INTO too_large VALUES (1, run(1, 65536), words(1, 65536));
CREATE INDEX ON too_large USING genie (a);
CREATE INDEX ON too_large USING genie (w);
UPDATE too_large SET a = '{1}';
CREATE INDEX ON too_large USING genie (a);
SELECT count(*) FROM pg_index WHERE indrelid = 'too_large'::regclass;
UPDATE too_large SET a = run(1, 65536);
SELECT id, a FROM too_large ORDER BY a <&> '{1}';

-- the operator by itself refuses such a value as well
SELECT run(1, 65536) <&> '{1}';
SELECT genie_match_count(words(1, 65536), '{x}');
SELECT genie_match_count('{1}', run(1, 65536));

-- long values: compared by their first bytes and a hash
CREATE TABLE long (id int, w text[]);
INSERT INTO long SELECT i, ARRAY[repeat('x', 127 + i % 4) || i % 8, repeat('y', 20000) || i % 3] FROM generate_series(1, 40) i;
CREATE INDEX long_w ON long USING genie (w);
INSERT INTO long SELECT i, ARRAY[repeat('x', 127 + i % 4) || i % 8, repeat('y', 20000) || i % 3] FROM generate_series(41, 80) i;
SELECT q, array(SELECT id FROM (SELECT id FROM long ORDER BY w <&> ARRAY[repeat('x', 127 + q % 4) || q, repeat('y', 20000) || q % 3] LIMIT 12) s)
	= array(SELECT id FROM (SELECT id FROM long ORDER BY -genie_match_count(w, ARRAY[repeat('x', 127 + q % 4) || q, repeat('y', 20000) || q % 3]), ctid LIMIT 12) s) AS same
	FROM generate_series(0, 7) q;
SELECT count(*) FROM long WHERE w @& genie_query(ARRAY[repeat('y', 20000) || 1]);
SELECT violation FROM genie_check('long_w');

-- a query with many keywords, and one with many ranges
SELECT id, a <&> run(1, 200000) AS o FROM t ORDER BY a <&> run(1, 200000) LIMIT 2;
SELECT id FROM t ORDER BY a <&> genie_query((SELECT range_agg(int4range(i * 3, i * 3 + 1)) FROM generate_series(1, 30000) i)) LIMIT 2;

-- objects with one keyword in many dimensions
CREATE TABLE wide (id int, o genie_object);
INSERT INTO wide SELECT n, (SELECT ('{' || string_agg(i || ':int:' || i % n, ',') || '}')::genie_object FROM generate_series(1, 3000) i) FROM generate_series(1, 5) n;
CREATE INDEX wide_o ON wide USING genie (o);
INSERT INTO wide SELECT id + 5, o FROM wide;
SELECT w.id, array(SELECT i.id || ':' || (i.o <&> w.o) FROM wide i ORDER BY i.o <&> w.o LIMIT 4) FROM wide w WHERE id IN (2, 8) ORDER BY id;
SELECT violation FROM genie_check('wide_o');

RESET enable_seqscan; RESET search_path;
DROP SCHEMA index_limit CASCADE;
