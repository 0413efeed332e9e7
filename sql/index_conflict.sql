-- a query that asks a dimension for another type than the rows have: the operator's error, through the index too, but only for rows that are seen
CREATE SCHEMA index_conflict;
SET search_path = index_conflict, public;
SET client_min_messages = warning;
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
	EXECUTE 'SELECT count(*) FROM (' || query || ') s' INTO n;
	RETURN n || ' rows';
EXCEPTION WHEN datatype_mismatch THEN
	RETURN sqlstate || ' ' || sqlerrm;
END $$;
CREATE TABLE t (id int, a int[], o genie_object) WITH (autovacuum_enabled = off);
CREATE INDEX t_a ON t USING genie (a);
CREATE INDEX t_o ON t USING genie (o);
SET enable_seqscan = off; SET enable_bitmapscan = off;

-- no row, no conflict
SELECT * FROM t ORDER BY a <&> genie_query('{a}'::text[]);
SELECT * FROM t WHERE a @& genie_query('{a}'::text[]);

-- a NULL row and one without keywords do not conflict
INSERT INTO t VALUES (1, NULL, NULL), (2, '{}', '{}'), (3, '{NULL}', '{7:int:1}');
SELECT id FROM t ORDER BY a <&> genie_query('{a}'::text[]);
SELECT id FROM t WHERE a @& genie_query('{a}'::text[]);
SELECT id FROM t ORDER BY o <&> genie_tuple_query('x');

-- rows in the pending list, then in a segment: ordering, index scan and bitmap scan, and the sequential scan
INSERT INTO t VALUES (4, '{4}', genie_tuple(4));
CREATE FUNCTION outcomes() RETURNS TABLE (path text, "order" text, condition text, object text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH path IN ARRAY '{indexscan,bitmapscan,seqscan}'::text[] LOOP
		PERFORM set_config('enable_' || p, (p = path)::text, true) FROM unnest('{indexscan,bitmapscan,seqscan}'::text[]) p;
		SELECT outcome('SELECT id FROM t ORDER BY a <&> genie_query(''{a}''::text[])'), outcome('SELECT id FROM t WHERE a @& genie_query(''{a}''::text[])'),
			outcome('SELECT id FROM t WHERE o @& genie_tuple_query(''x'')') INTO "order", condition, object;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM outcomes();
SELECT genie_merge('t_a'), genie_merge('t_o');
SELECT * FROM outcomes();
SELECT * FROM t ORDER BY a <&> genie_query('{a}'::text[]);
SELECT * FROM t ORDER BY o <&> genie_tuple_query('x') LIMIT 1;
SELECT * FROM t ORDER BY o <&> genie_tuple(4::numeric) LIMIT 1;
SELECT outcome('SELECT id FROM t WHERE o @& genie_tuple_query(4) ORDER BY o <&> genie_tuple_query(4::float8)');

-- another dimension's type is no conflict; mixed families of one dimension are, for the rows of the other one
SELECT id FROM t ORDER BY o <&> genie_tuple_query(NULL::int, 'x');
SELECT outcome('SELECT id FROM t ORDER BY o <&> ''{1:int:4,1:text:x}''::genie_query'), outcome('SELECT id FROM t ORDER BY o <&> ''{1:float:4,1:text:x}''::genie_query');
INSERT INTO t (id, o) VALUES (5, '{1:int:4,1:text:x}');
SELECT outcome('SELECT id FROM t ORDER BY o <&> genie_tuple_query(''x'')'), outcome('SELECT id FROM t WHERE id = 5 ORDER BY genie_match_count(o, genie_tuple_query(''x''))');
DELETE FROM t WHERE id = 5;

-- deleted, then removed
DELETE FROM t WHERE id = 4;
SELECT * FROM outcomes();
INSERT INTO t VALUES (5, '{5}', genie_tuple(5));
DELETE FROM t WHERE id = 5;
SELECT * FROM outcomes();
VACUUM t;
SELECT * FROM outcomes();

-- of a transaction that was rolled back, and of the own one
BEGIN;
INSERT INTO t VALUES (6, '{6}', genie_tuple(6));
SELECT * FROM outcomes();
ROLLBACK;
SELECT * FROM outcomes();
SELECT genie_merge('t_a'), genie_merge('t_o');
SELECT * FROM outcomes();

-- an updated row's old version
INSERT INTO t VALUES (7, '{7}', genie_tuple(7));
UPDATE t SET a = NULL, o = genie_tuple('x'::text) WHERE id = 7;
SELECT * FROM outcomes();

-- a snapshot that still sees a row
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO t VALUES (8, '{8}', genie_tuple(8));
DECLARE c CURSOR FOR SELECT id FROM t ORDER BY a <&> genie_query('{a}'::text[]);
DELETE FROM t WHERE id = 8;
FETCH 1 FROM c;
ROLLBACK;

-- many rows of the wrong type, of which the last is seen
INSERT INTO t SELECT i, ARRAY[i, i % 10], genie_tuple(i) FROM generate_series(10, 3000) i;
SELECT genie_merge('t_a'), genie_merge('t_o');
DELETE FROM t WHERE id BETWEEN 10 AND 2999;
SELECT * FROM outcomes();
DELETE FROM t WHERE id = 3000;
SELECT * FROM outcomes();

-- a partial index whose rows agree
DROP INDEX t_o;
INSERT INTO t (id, o) VALUES (20, genie_tuple(20)), (-20, genie_tuple('x'::text));
CREATE INDEX t_negative ON t USING genie (o) WHERE id < 0;
SELECT id FROM t WHERE id < 0 ORDER BY o <&> genie_tuple_query('x');

-- a NULL query and an empty one ask nothing
SELECT outcome('SELECT id FROM t WHERE id < 0 ORDER BY o <&> (SELECT NULL::genie_query)'), outcome('SELECT id FROM t WHERE id < 0 ORDER BY o <&> ''{}''::genie_query');
RESET enable_seqscan; RESET enable_bitmapscan; RESET search_path;
DROP SCHEMA index_conflict CASCADE;
