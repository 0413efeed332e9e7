-- INSERT, UPDATE, DELETE and COPY with an index in place: transactions, savepoints, aborts, conflicts, merges by the limit
CREATE SCHEMA index_insert;
SET search_path = index_insert, public;
SET client_min_messages = warning;
SET enable_seqscan = off;
CREATE TABLE t (id int PRIMARY KEY, a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX t_a ON t USING genie (a) WITH (pending_limit = 64);

-- a row is visible to the next command at once, and to nobody after a rollback
BEGIN;
INSERT INTO t VALUES (1, '{1,2}'), (2, '{2}');
SELECT id FROM t ORDER BY a <&> '{1}';
SAVEPOINT s1;
INSERT INTO t VALUES (3, '{1}');
SELECT id FROM t ORDER BY a <&> '{1}';
SAVEPOINT s2;
UPDATE t SET a = '{1,5}' WHERE id = 2;
SELECT id FROM t ORDER BY a <&> '{1,5}';
ROLLBACK TO s1;
SELECT id FROM t ORDER BY a <&> '{1,5}';
INSERT INTO t VALUES (4, '{5}');
RELEASE s1;
COMMIT;
SELECT id, a <&> '{1,5}' AS o FROM t ORDER BY a <&> '{1,5}';
BEGIN;
INSERT INTO t SELECT i, ARRAY[1, i] FROM generate_series(10, 20) i;
ROLLBACK;
SELECT id FROM t WHERE a @& genie_query('{1}'::int[]);

-- rows of an aborted transaction stay in the index until VACUUM, through merges too; nobody sees them
BEGIN;
INSERT INTO t SELECT i, ARRAY[1, i] FROM generate_series(100, 9000) i;
SELECT segments > 0 AS merged FROM genie_index_info('t_a');
SELECT count(*) FROM t WHERE a @& genie_query('{1}'::int[]);
ROLLBACK;
SELECT count(*) FROM t WHERE a @& genie_query('{1}'::int[]);
SELECT id FROM t ORDER BY a <&> '{1,105}' LIMIT 2;
SELECT objects + pending_rows AS entries FROM genie_index_info('t_a');
VACUUM t;
SELECT objects - tombstones + pending_rows AS entries, pending_rows FROM genie_index_info('t_a');
SELECT * FROM genie_check('t_a');

-- ON CONFLICT on another index: the rows that lose leave no visible trace
INSERT INTO t VALUES (1, '{7}'), (50, '{7}') ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (1, '{8}'), (51, '{8}') ON CONFLICT (id) DO UPDATE SET a = t.a || excluded.a;
SELECT id, a FROM t WHERE a @& genie_query('{7,8}'::int[]) ORDER BY a <&> '{8}';
INSERT INTO t VALUES (60, '{9}'), (50, '{9}');
SELECT id FROM t WHERE a @& genie_query('{9}'::int[]);

-- a subtransaction for each row
CREATE FUNCTION add(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	failed int := 0;
BEGIN
	FOR i IN 1 .. n LOOP
		BEGIN
			INSERT INTO t VALUES (1000 + i, ARRAY[70, i % 5]);
			IF i % 4 = 0 THEN
				RAISE EXCEPTION 'no';
			END IF;
		EXCEPTION WHEN raise_exception THEN
			failed := failed + 1;
		END;
	END LOOP;
	RETURN failed;
END $$;
SELECT add(400);
SELECT count(*), count(*) FILTER (WHERE id % 4 = 0) AS failed FROM t WHERE a @& genie_query('{70}'::int[]);
SELECT array(SELECT id FROM t ORDER BY a <&> '{70,3}' LIMIT 100) = array(SELECT id FROM t ORDER BY -genie_match_count(a, '{70,3}'), ctid LIMIT 100) AS same;

-- COPY, and one that fails in the middle
COPY t FROM stdin;
2001	{201,202}
2002	\N
2003	{}
2004	{202,NULL,202}
\.
SELECT id, a <&> '{201,202}' AS o FROM t ORDER BY a <&> '{201,202}' LIMIT 3;
COPY t FROM stdin;
2005	{202}
2006	{202
\.
SELECT id FROM t WHERE a @& genie_query('{202}'::int[]);

-- UPDATE: to NULL and from NULL, of the key, in place
UPDATE t SET a = NULL WHERE id = 2001;
UPDATE t SET a = '{202}' WHERE id = 2002;
UPDATE t SET a = a || 203 WHERE id IN (2003, 2004);
UPDATE t SET id = id + 100 WHERE id = 2004;
SELECT id, a FROM t WHERE a @& genie_query('{201,202,203}'::int[]) ORDER BY a <&> '{203}';

-- TID reuse: rows that take the place of removed ones
DELETE FROM t WHERE a @& genie_query('{70}'::int[]);
VACUUM t;
INSERT INTO t SELECT i, ARRAY[71, i % 6] FROM generate_series(3001, 3400) i;
SELECT count(*) FROM t WHERE a @& genie_query('{70}'::int[]);
SELECT count(*), count(DISTINCT id) FROM t WHERE a @& genie_query('{71}'::int[]);
SELECT array(SELECT id FROM t ORDER BY a <&> '{71,3}' LIMIT 200) = array(SELECT id FROM t ORDER BY -genie_match_count(a, '{71,3}'), ctid LIMIT 200) AS same;

-- insert after insert beyond the limit, in one command and in many, with a cursor that goes on all the time
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t ORDER BY a <&> '{71,3}';
FETCH 3 FROM c;
INSERT INTO t SELECT i, ARRAY[71, 3, i % 100] FROM generate_series(5001, 12000) i;
FETCH 2 FROM c;
DO $$ BEGIN FOR i IN 12001 .. 13000 LOOP INSERT INTO t VALUES (i, ARRAY[71, 3, i % 100]); END LOOP; END $$;
FETCH 2 FROM c;
MOVE FORWARD ALL IN c;
COMMIT;
SELECT count(*) FROM t WHERE a @& genie_query('{71,3}'::int[], 2);
SELECT segments BETWEEN 1 AND 20 AS few, pending_bytes <= 65536 + 8192 AS bounded FROM genie_index_info('t_a');
SELECT count(*) = count(DISTINCT o.id) AS each_once, count(*) = (SELECT count(*) FROM t) AS all FROM (SELECT id FROM t ORDER BY a <&> '{71,3}') o;
SELECT array(SELECT id FROM t ORDER BY a <&> '{71,3,50}') = array(SELECT id FROM t ORDER BY -genie_match_count(a, '{71,3,50}'), ctid) AS same;
SELECT * FROM genie_check('t_a');

-- the inserting transaction reuses the pages that merges replaced, unless a scan has the index open
CREATE TABLE bulk (a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX bulk_a ON bulk USING genie (a) WITH (pending_limit = 64);
BEGIN;
INSERT INTO bulk SELECT ARRAY[i % 10, i % 100, i % 1000] FROM generate_series(1, 20000) i;
SELECT pg_relation_size('bulk_a') < 1000000 AS small;
DECLARE c CURSOR FOR SELECT a FROM bulk ORDER BY a <&> '{3,13,13}';
FETCH 1 FROM c;
INSERT INTO bulk SELECT ARRAY[i % 10, i % 100, i % 1000] FROM generate_series(1, 20000) i;
SELECT pg_relation_size('bulk_a') > 1500000 AS kept;
MOVE FORWARD ALL IN c;
COMMIT;
SELECT * FROM genie_check('bulk_a');
SELECT count(*) FROM bulk WHERE a @& genie_query('{3,13,113}'::int[], 3);

-- triggers and foreign keys see the row; MERGE and data-modifying WITH
MERGE INTO t USING (VALUES (1, '{600}'::int[]), (9999999, '{600,601}')) v (id, a) ON t.id = v.id
	WHEN MATCHED THEN UPDATE SET a = v.a WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.a);
WITH gone AS (DELETE FROM t WHERE id = 9999999 RETURNING id, a) INSERT INTO t SELECT id + 1, a || 602 FROM gone RETURNING id;
SELECT id, a FROM t WHERE a @& genie_query('{600,601,602}'::int[]) ORDER BY a <&> '{602}';

-- a read-only transaction writes nothing; genie_merge is no SQL data change
BEGIN READ ONLY;
SELECT id FROM t ORDER BY a <&> '{602}' LIMIT 1;
COMMIT;
DISCARD PLANS;
SELECT * FROM genie_check('t_a');
RESET enable_seqscan; RESET search_path;
DROP SCHEMA index_insert CASCADE;
