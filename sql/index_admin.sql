-- genie_merge, genie_check, genie_index_info: what they do, and what they refuse
CREATE SCHEMA index_admin;
SET search_path = index_admin, public;
SET client_min_messages = warning;
CREATE TABLE t (id int PRIMARY KEY, a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX t_a ON t USING genie (a);

-- the life of rows: pending, merged, dead in the pending list, dead in a segment, gone
INSERT INTO t SELECT i, CASE WHEN i % 10 = 0 THEN NULL ELSE ARRAY[i, i % 7] END FROM generate_series(1, 2000) i;
SELECT segments, objects, keywords, postings, tombstones, pending_rows, pending_bytes > 0 AS pending FROM genie_index_info('t_a');
SELECT genie_merge('t_a');
SELECT segments, objects, keywords, postings, tombstones, pending_rows, pending_bytes, image_bytes > 2000 * 8 AS image_bytes FROM genie_index_info('t_a');
SELECT genie_merge('t_a'), genie_merge('t_a');
SELECT segments, objects, keywords, postings, tombstones, pending_rows, pending_bytes, unreachable_pages FROM genie_index_info('t_a');
INSERT INTO t SELECT i, ARRAY[i, i % 7] FROM generate_series(2001, 2100) i;
DELETE FROM t WHERE id BETWEEN 1 AND 100 OR id BETWEEN 2001 AND 2050;
SELECT objects, tombstones, pending_rows FROM genie_index_info('t_a');
VACUUM (INDEX_CLEANUP on) t;
SELECT objects - tombstones AS live, pending_rows FROM genie_index_info('t_a');
DELETE FROM t;
VACUUM (INDEX_CLEANUP on) t;
SELECT objects - tombstones AS live, pending_rows FROM genie_index_info('t_a');
SELECT genie_merge('t_a');
SELECT segments, objects, keywords, postings, tombstones, pending_rows FROM genie_index_info('t_a');
SELECT * FROM genie_check('t_a');
VACUUM t;
SELECT unreachable_pages FROM genie_index_info('t_a');

-- the space is used again: the file does not grow for ever
SELECT total_bytes AS before FROM genie_index_info('t_a') \gset
DO $$ BEGIN
	FOR round IN 1 .. 5 LOOP
		INSERT INTO t SELECT i, ARRAY[i, i % 7] FROM generate_series(1, 2000) i;
		PERFORM genie_merge('t_a');
		DELETE FROM t;
		COMMIT;
	END LOOP;
END $$;
SELECT objects >= 2000 AS objects, unreachable_pages FROM genie_index_info('t_a');
VACUUM t;
INSERT INTO t SELECT i, ARRAY[i, i % 7] FROM generate_series(1, 2000) i;
VACUUM t;
SELECT total_bytes < 8 * :before AS bounded, unreachable_pages FROM genie_index_info('t_a');
SELECT * FROM genie_check('t_a');

-- in a transaction with other commands, and in one that is rolled back: the merge stays
BEGIN;
INSERT INTO t SELECT i, ARRAY[i] FROM generate_series(3001, 3010) i;
SELECT genie_merge('t_a');
SELECT pending_rows FROM genie_index_info('t_a');
ROLLBACK;
SELECT pending_rows FROM genie_index_info('t_a');
SELECT count(*) FROM genie_check('t_a');
SET maintenance_work_mem = '1MB';
INSERT INTO t SELECT i, ARRAY(SELECT i * 40 + j FROM generate_series(1, 40) j) FROM generate_series(10001, 12000) i;
SELECT genie_merge('t_a');
RESET maintenance_work_mem;
SELECT count(*) FROM genie_check('t_a');

-- they write, or use a subtransaction: never below a parallel plan
SELECT set_config(name, 'on', false) AS forced FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT genie_merge('t_a');
SELECT count(*) FROM genie_check('t_a');
SELECT unreachable_pages FROM genie_index_info('t_a');
SELECT set_config(name, 'off', false) AS forced FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');

-- NULL
SELECT genie_merge(NULL), genie_index_info(NULL);
SELECT * FROM genie_check(NULL);

-- not a genie index
CREATE VIEW v AS SELECT * FROM t;
CREATE SEQUENCE s;
CREATE MATERIALIZED VIEW m AS SELECT * FROM t LIMIT 1;
CREATE INDEX t_gin ON t USING gin (a);
CREATE TABLE p (id int, a int[]) PARTITION BY LIST (id);
CREATE TABLE p1 PARTITION OF p DEFAULT;
CREATE INDEX p_a ON p USING genie (a);
CREATE INDEX p_id ON p (id);
CREATE FUNCTION refused(relation regclass) RETURNS TABLE (function text, message text, hint text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH function IN ARRAY '{genie_merge,genie_check,genie_index_info}'::text[] LOOP
		BEGIN
			hint := NULL;
			EXECUTE format('SELECT %s($1)', function) USING relation;
			message := 'done';
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
			message := sqlstate || ' ' || message;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT message, count(*) FROM unnest('{t,t_pkey,t_gin,v,s,m,p,p_id}'::regclass[]) r, refused(r) x GROUP BY 1 ORDER BY 1 COLLATE "C";
SELECT * FROM refused('p_a');
SELECT message FROM refused('p1_a_idx');
SELECT message FROM refused(4294967295);
SELECT genie_merge('t');
SELECT genie_merge('p_a');
SELECT genie_check('no_such_index');

-- permissions: merging is for the owner, looking for the owner and pg_stat_scan_tables
CREATE ROLE genie_owner;
CREATE ROLE genie_other;
GRANT USAGE ON SCHEMA index_admin TO genie_owner, genie_other;
ALTER TABLE t OWNER TO genie_owner;
SET ROLE genie_other;
SELECT * FROM refused('t_a');
RESET ROLE;
SET ROLE genie_owner;
SELECT function, message FROM refused('t_a');
RESET ROLE;
GRANT pg_stat_scan_tables TO genie_other;
SET ROLE genie_other;
SELECT function, message FROM refused('t_a');
RESET ROLE;
REVOKE pg_stat_scan_tables FROM genie_other;
SELECT function, message FROM refused('t_a');

-- while a scan is open
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t ORDER BY a <&> '{1}';
FETCH 1 FROM c;
SELECT message FROM refused('t_a');
FETCH 1 FROM c;
COMMIT;

RESET search_path;
DROP SCHEMA index_admin CASCADE;
DROP ROLE genie_owner;
DROP ROLE genie_other;
