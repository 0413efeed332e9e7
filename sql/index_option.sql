-- storage parameters: pending_limit, with its setting, and values
CREATE SCHEMA index_option;
SET search_path = index_option, public;
SET client_min_messages = warning;
CREATE TABLE t (a int[]) WITH (autovacuum_enabled = off);

-- bounds, kinds of values, names
CREATE INDEX ON t USING genie (a) WITH (pending_limit = 63);
CREATE INDEX ON t USING genie (a) WITH (pending_limit = -1);
CREATE INDEX ON t USING genie (a) WITH (pending_limit = 2147483648);
CREATE INDEX ON t USING genie (a) WITH (pending_limit = 'many');
CREATE INDEX ON t USING genie (a) WITH (pending_limit = 1.5);
CREATE INDEX ON t USING genie (a) WITH (pending_limit);
CREATE INDEX ON t USING genie (a) WITH (fastupdate = on);
CREATE INDEX ON t USING genie (a) WITH (fillfactor = 70);
CREATE INDEX t_a ON t USING genie (a) WITH (pending_limit = 64);
SELECT reloptions FROM pg_class WHERE oid = 't_a'::regclass;
ALTER INDEX t_a SET (pending_limit = 10);
ALTER INDEX t_a SET (buffering = on);
ALTER INDEX t_a SET (pending_limit = 128);
SELECT reloptions FROM pg_class WHERE oid = 't_a'::regclass;

-- the largest, and none
ALTER INDEX t_a SET (pending_limit = 2147483647);
ALTER INDEX t_a SET (pending_limit = -1);
SELECT reloptions FROM pg_class WHERE oid = 't_a'::regclass;
ALTER INDEX t_a RESET (pending_limit);
SELECT reloptions FROM pg_class WHERE oid = 't_a'::regclass;

-- the setting
SHOW genie.pending_limit;
SET genie.pending_limit = 63;
SET genie.pending_limit = '64kB';
SHOW genie.pending_limit;
SET genie.pending_limit = '2MB';
SHOW genie.pending_limit;
SET genie.pending_limit = '3TB';
SET genie.pending_limit = 'a lot';
SELECT unit, context, vartype, min_val FROM pg_settings WHERE name = 'genie.pending_limit';
SET genie.no_such_setting = 1;
RESET genie.pending_limit;

-- the limit at work: the insert that crosses it merges
CREATE FUNCTION pending_after(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	kb int;
BEGIN
	TRUNCATE t;
	FOR i IN 1 .. n LOOP
		INSERT INTO t SELECT ARRAY[i, i + 1, i + 2, i + 3] FROM generate_series(1, 1000);
	END LOOP;
	SELECT pending_bytes / 1024 FROM genie_index_info('t_a') INTO kb;
	RETURN kb;
END $$;
SELECT pending_after(10) BETWEEN 200 AND 1024 AS "1 MB by default";
SET genie.pending_limit = 64;
SELECT pending_after(10) <= 64 AS "64 kB by the setting";
ALTER INDEX t_a SET (pending_limit = 256);
SELECT pending_after(10) BETWEEN 65 AND 256 AS "256 kB by the parameter";
ALTER INDEX t_a SET (pending_limit = 100000);
SELECT pending_after(50) > 1024 AS "more by the parameter";
ALTER INDEX t_a RESET (pending_limit);
INSERT INTO t SELECT '{1}' FROM generate_series(1, 2000);
SELECT pending_bytes <= 64 * 1024 AS "merged by the setting", segments > 0 AS segments FROM genie_index_info('t_a');
SELECT * FROM genie_check('t_a');
RESET genie.pending_limit;

-- values
CREATE INDEX ON t USING genie (a) WITH (values = 2);
CREATE INDEX ON t USING genie (a) WITH (values = sometimes);
ALTER INDEX t_a SET (values = off);
SELECT reloptions FROM pg_class WHERE oid = 't_a'::regclass;
ALTER INDEX t_a RESET (values);
SELECT reloptions FROM pg_class WHERE oid = 't_a'::regclass;

-- the setting is everybody's
CREATE ROLE genie_option_user;
SET ROLE genie_option_user;
SET genie.pending_limit = 128;
RESET genie.pending_limit;
RESET ROLE;
DROP ROLE genie_option_user;
RESET search_path;
DROP SCHEMA index_option CASCADE;
