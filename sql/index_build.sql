-- CREATE INDEX: the contents of the index, with much memory and with little
CREATE SCHEMA index_build;
SET search_path = index_build, public;
SET client_min_messages = warning;

-- an empty table, only NULLs, only empty arrays, only NULL elements
CREATE TABLE nothing (a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX nothing_a ON nothing USING genie (a);
SELECT segments, objects, keywords, postings, tombstones, pending_rows, total_bytes, metadata_bytes, object_bytes, dictionary_bytes, posting_bytes,
	size_bytes, tombstone_bytes, pending_bytes, free_bytes, unreachable_pages FROM genie_index_info('nothing_a');
SELECT * FROM genie_check('nothing_a');
SET enable_seqscan = off;
SELECT * FROM nothing ORDER BY a <&> '{1}';
SELECT * FROM nothing WHERE a @& genie_query('{1}'::int[], 0);
INSERT INTO nothing SELECT NULL FROM generate_series(1, 300);
REINDEX INDEX nothing_a;
SELECT segments, objects, keywords, postings, pending_rows FROM genie_index_info('nothing_a');
SELECT count(*), count(a) FROM (SELECT a FROM nothing ORDER BY a <&> '{1}') s;
SELECT count(*) FROM nothing WHERE a @& genie_query('{1}'::int[], 0);
UPDATE nothing SET a = CASE WHEN ctid < '(1,0)' THEN '{}' ELSE '{NULL,NULL}' END::int[];
REINDEX INDEX nothing_a;
SELECT segments, objects, keywords, postings FROM genie_index_info('nothing_a');
SELECT count(*), count(a) FROM (SELECT a FROM nothing ORDER BY a <&> '{1}') s;
SELECT count(*) FROM nothing WHERE a @& genie_query('{1}'::int[], 0);
SELECT * FROM genie_check('nothing_a');

-- duplicates count once, NULL elements do not count, dimensions do not matter
CREATE TABLE few (id int, a text[]) WITH (autovacuum_enabled = off);
INSERT INTO few VALUES (1, '{a,b,a,a,NULL}'), (2, '{{a,b},{c,a}}'), (3, NULL), (4, '{}'), (5, '[3:4]={b,c}'), (6, '{NULL}'), (7, '{"",a}');
CREATE INDEX few_a ON few USING genie (a);
SELECT objects, keywords, postings FROM genie_index_info('few_a');
SELECT id, a <&> '{a,b}' AS o FROM few ORDER BY a <&> '{a,b}';
SELECT id, a <&> '{""}' AS o FROM few ORDER BY a <&> '{""}' LIMIT 2;
SELECT * FROM genie_check('few_a');

-- the table that all of the following is built from
CREATE TABLE t (id int, a int[], w text[], o genie_object) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, CASE WHEN i % 100 <> 0 THEN ARRAY(SELECT (i * 7919::bigint + j * 104729) % (10 + j * j * 50) FROM generate_series(1, 3 + i % 9) j) END,
	ARRAY['word ' || i % 1000, 'rare ' || i, 'common'], genie_tuple(i % 17, 'x' || i % 23, i % 2 = 0, i::numeric / 8)
	FROM generate_series(1, 20000) i;
DELETE FROM t WHERE id % 10 = 1;
-- the best rows for four queries a column, by the index and by the definition
CREATE FUNCTION agrees(attribute text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	query text := CASE attribute WHEN 'a' THEN 'ARRAY[n, n * 3, n * 7]' WHEN 'w' THEN 'ARRAY[''word '' || n, ''rare '' || n * 53, ''common'']'
		ELSE 'genie_tuple_query(int4range(n, n + 3), ''x'' || n, NULL::bool, numrange(n * 10, n * 15))' END;
	best text := 'SELECT array_agg(array(SELECT id FROM (SELECT id FROM t ORDER BY %s LIMIT 300) s)::text ORDER BY n) FROM generate_series(1, 4) n';
	by_index text[];
	by_table text[];
BEGIN
	EXECUTE format(best, attribute || ' <&> ' || query) INTO by_index;
	EXECUTE format(best, format('-genie_match_count(%s, %s), ctid', attribute, query)) INTO by_table;
	RETURN by_index = by_table;
END $$;
CREATE FUNCTION answers(prefix text, OUT index text, OUT violations bigint, OUT objects bigint, OUT keywords bigint, OUT postings bigint, OUT several_segments bool, OUT "right" bool)
RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 3 LOOP
		index := prefix || ('{a,w,o}'::text[])[i];
		SELECT count(*) FROM genie_check(index) INTO violations;
		SELECT x.objects + x.pending_rows, x.keywords, x.postings, x.segments > 1 FROM genie_index_info(index) x INTO objects, keywords, postings, several_segments;
		"right" := agrees(('{a,w,o}'::text[])[i]);
		RETURN NEXT;
	END LOOP;
END $$;
CREATE INDEX t_a ON t USING genie (a);
CREATE INDEX t_w ON t USING genie (w);
CREATE INDEX t_o ON t USING genie (o);
SELECT * FROM answers('t_');

-- with the least memory: many parts, merged at the end
SET maintenance_work_mem = '1MB';
REINDEX TABLE t;
SELECT * FROM answers('t_');
RESET maintenance_work_mem;

-- row by row, merged by the limit, gives the same
SET genie.pending_limit = 64;
CREATE TABLE copy (LIKE t) WITH (autovacuum_enabled = off);
CREATE INDEX copy_a ON copy USING genie (a);
CREATE INDEX copy_w ON copy USING genie (w);
CREATE INDEX copy_o ON copy USING genie (o);
INSERT INTO copy SELECT * FROM t ORDER BY ctid;
ALTER TABLE t RENAME TO original;
ALTER TABLE copy RENAME TO t;
SELECT index, violations, objects, several_segments, "right" FROM answers('copy_');
SELECT genie_merge(i) FROM unnest('{copy_a,copy_w,copy_o}'::regclass[]) i;
SELECT * FROM answers('copy_');
SELECT i, unreachable_pages, pending_rows, pending_bytes FROM unnest('{copy_a,copy_w,copy_o}'::regclass[]) i, genie_index_info(i);
RESET genie.pending_limit;

-- bytes by kind are all there is
SELECT i, total_bytes = metadata_bytes + object_bytes + dictionary_bytes + posting_bytes + size_bytes + value_bytes + tombstone_bytes + pending_bytes + free_bytes AS all
	FROM unnest('{t_a,t_w,t_o}'::regclass[]) i, genie_index_info(i);

-- rows that other transactions' snapshots need, HOT chains: the build has each row once
CREATE TABLE hot (id int, a int[], n int) WITH (autovacuum_enabled = off, fillfactor = 50);
INSERT INTO hot SELECT i, ARRAY[i % 10, i % 3], 0 FROM generate_series(1, 500) i;
UPDATE hot SET n = n + 1;
UPDATE hot SET n = n + 1 WHERE id % 2 = 0;
CREATE INDEX hot_a ON hot USING genie (a);
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM hot ORDER BY a <&> '{1,2}') s;
UPDATE hot SET n = n + 1;
VACUUM hot;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM hot ORDER BY a <&> '{1,2}') s;
SELECT id, n FROM hot ORDER BY a <&> '{1,2}' LIMIT 4;
SELECT * FROM genie_check('hot_a');

-- phases in pg_stat_progress_create_index
SELECT amname, phase, pg_indexam_progress_phasename(oid, phase) FROM pg_am, generate_series(0, 6) phase WHERE amname = 'genie';

RESET enable_seqscan; RESET search_path;
DROP SCHEMA index_build CASCADE;
