-- arrays of different widths on both sides of <&>, <%>, <->, <+> and <=>: what clients send need not be the column's type
CREATE SCHEMA operator_width;
SET search_path = operator_width, public;
CREATE DOMAIN id AS int;
CREATE TABLE sets (i int, int2 smallint[], int4 int[], int8 bigint[], "numeric" numeric[], float4 real[], float8 float8[], text text[], varchar varchar[], domain id[]);
INSERT INTO sets SELECT i, a, a, a, a, a, a, a::text[], a::varchar[], a::id[] FROM (SELECT i, ARRAY(SELECT (i * j) % 97 FROM generate_series(1, 8) j) a FROM generate_series(1, 500) i) s;
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY '{int2,int4,int8,numeric,float4,float8,text,varchar,domain}'::text[] LOOP
		EXECUTE format('CREATE INDEX ON sets USING genie (%I)', name);
	END LOOP;
END $$;
CREATE TABLE vectors (i int, float4 real[], float8 float8[]);
INSERT INTO vectors SELECT i, v, v FROM (SELECT i, ARRAY[i % 7 + 0.1, i % 11, i % 13] AS v FROM generate_series(1, 200) i) s;
CREATE INDEX ON vectors USING genie (float4 genie_l2_ops);
CREATE INDEX ON vectors USING genie (float4 genie_laplacian_ops);
CREATE INDEX ON vectors USING genie (float4 genie_cosine_ops);
CREATE INDEX ON vectors USING genie (float8 genie_l2_float8_ops);
ANALYZE sets, vectors;

-- the order by an index, whose rows are those of a sequential scan, or of a sort; or the error
CREATE FUNCTION asks(tab text, question text) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_indexscan = on AS $$
DECLARE
	line text;
	plan text := 'none';
	query text := format('SELECT i FROM %I ORDER BY %s', tab, question);
	rows int[];
	wanted int[];
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) %s LIMIT 20', query) LOOP
		IF line ~ 'Order By:|Sort Key:' THEN
			plan := trim(line);
		END IF;
	END LOOP;
	EXECUTE format('SELECT array_agg(i) FROM (%s LIMIT 20) s', query) INTO rows;
	SET LOCAL enable_indexscan = off;
	EXECUTE format('SELECT array_agg(i) FROM (%s, ctid LIMIT 20) s', query) INTO wanted;
	RETURN CASE WHEN rows = wanted OR plan ~ 'Sort Key' THEN '' ELSE 'other rows: ' END || plan;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;

-- of one family
SELECT c || ' <&> ' || q AS question, asks('sets', c || ' <&> ' || q), replace(asks('sets', c || ' <%> ' || q), '"', '') AS jaccard
	FROM unnest('{int2,int4,int8,domain}'::text[]) c, unnest(ARRAY['''{3,6,9}''', 'ARRAY[3,6,9]::smallint[]', 'ARRAY[3,6,9]', 'ARRAY[3,6,9]::bigint[]', 'genie_query(ARRAY[3,6,9])']) q
	WHERE c <> 'int8' OR q !~ 'bigint';
SELECT c || ' <&> ' || q AS question, asks('sets', c || ' <&> ' || q) FROM unnest('{text,varchar}'::text[]) c, unnest(ARRAY['''{3,6,9}''', 'ARRAY[''3'',''6'']', 'ARRAY[''3'',''6'']::varchar[]', 'ARRAY[''3'',''6'']::varchar(5)[]']) q;
SELECT c || ' <&> ' || q AS question, asks('sets', c || ' <&> ' || q) FROM unnest('{float4,float8}'::text[]) c, unnest(ARRAY['''{3,6,9}''', 'ARRAY[3,6,9]::real[]', 'ARRAY[3,6.5]::float8[]']) q;
-- the column on the right
SELECT q AS question, asks('sets', q) FROM unnest(ARRAY['ARRAY[3,6]::bigint[] <&> int4', 'ARRAY[3,6] <&> int8', '''{3,6}'' <&> int4', 'ARRAY[''3'']::text[] <%> varchar']) q;
-- of two families: the index serves where PostgreSQL casts the query
SELECT q AS question, asks('sets', q) FROM unnest(ARRAY['"numeric" <&> ARRAY[3,6]', '"numeric" <%> ARRAY[3,6]::bigint[]', 'int4 <&> ARRAY[3,6.5]', 'int4 <%> ARRAY[3,6.5]', 'int4 <&> ARRAY[3,6]::float8[]', 'int4 <&> ARRAY[''3'']', 'text <&> ARRAY[3]', 'int4 <&> genie_query(ARRAY[3,6.5])']) q;

-- numerics beside integers, which clients choose for what no bigint holds: by value, and what is no integer matches nothing but counts
INSERT INTO sets (i, int2, int4, int8) VALUES (1001, '{}', '{}', '{}'), (1002, NULL, NULL, NULL), (1003, '{-32768,0,32767}', '{-2147483648,0,2147483647}', '{-9223372036854775808,0,9223372036854775807}'), (1004, '{-1,6,7}', '{-10000,6,7,120000}', '{-100000000,6,7,123456789012345678}');
SELECT c || ' <&> ' || q AS question, asks('sets', c || ' <&> ' || q), replace(asks('sets', c || ' <%> ' || q), '"', '') AS jaccard
	FROM unnest('{int2,int4,int8,domain}'::text[]) c, unnest(ARRAY['ARRAY[3,6.5]', '''{3.00,6,9,1e30}''::numeric[]', '''{0.5,-0.5}''::numeric[]']) q;
SELECT q AS question, asks('sets', q) FROM unnest(ARRAY['ARRAY[3,6.5] <&> int8', 'int4::numeric[] <&> ARRAY[3,6.5]', 'int4 <&> "numeric"']) q;
-- each count and distance is that of the column's cast, and a condition finds what it finds there
CREATE TABLE numerics (q numeric[]);
INSERT INTO numerics VALUES ('{3,6,9}'), ('{3.0,6.00,9.5}'), ('{6.5}'), ('{6.5,6.50,7.0,NULL}'), ('{}'), ('{NULL}'), (NULL), ('{NaN,Infinity,-Infinity}'), ('{0,0.0,-0}'), ('{-1,-10000,-100000000,-100000001}'), ('{120000,123456789012345678,123456789012345678.5}'),
	('{9223372036854775807,-9223372036854775808}'), ('{9223372036854775808,-9223372036854775809,9223372036854775807.5}'), ('{32767,2147483647,32768}'), (ARRAY[1e30, 1e-30, 1e400, 1e-400, 7, 7 + 1e-400]), (ARRAY[10000, 100000000, 3e4, 1e18, 1e19]);
CREATE VIEW numeric_answers AS SELECT n.q, c.c, count(*) AS rows, sum(-o) AS matches, count(*) FILTER (WHERE o IS DISTINCT FROM w <&> n.q OR o IS DISTINCT FROM -genie_match_count(w, genie_query(n.q))) AS counts, count(*) FILTER (WHERE d IS DISTINCT FROM w <%> n.q) AS distances,
	count(*) FILTER (WHERE a IS DISTINCT FROM w @& genie_query(n.q) OR s IS DISTINCT FROM w @& genie_jaccard_query(n.q, 0.1)) AS conditions
	FROM numerics n, LATERAL (SELECT 'int2' AS c, int2::numeric[] AS w, int2 <&> n.q AS o, int2 <%> n.q AS d, int2 @& genie_query(n.q) AS a, int2 @& genie_jaccard_query(n.q, 0.1) AS s FROM sets
		UNION ALL SELECT 'int4', int4::numeric[], int4 <&> n.q, int4 <%> n.q, int4 @& genie_query(n.q), int4 @& genie_jaccard_query(n.q, 0.1) FROM sets
		UNION ALL SELECT 'int8', int8::numeric[], int8 <&> n.q, int8 <%> n.q, int8 @& genie_query(n.q), int8 @& genie_jaccard_query(n.q, 0.1) FROM sets) c GROUP BY 1, 2;
SELECT left(q::text, 60) AS q, sum(rows) AS rows, array_agg(matches ORDER BY c) AS matches, sum(counts) AS counts, sum(distances) AS distances, sum(conditions) AS conditions FROM numeric_answers n GROUP BY n.q ORDER BY n.q;
-- and an index finds the rows of a sequential scan, with a literal, a parameter, and a stored query
CREATE FUNCTION differ(form text) RETURNS TABLE (asked bigint, rows bigint, differ bigint) LANGUAGE plpgsql AS $$
DECLARE
	r record;
	c text;
	wanted int[];
	found int[];
	plan text;
BEGIN
	SELECT 0, 0, 0 INTO asked, rows, differ;
	FOR r IN SELECT q FROM numerics LOOP
		FOREACH c IN ARRAY '{int2,int4,int8}'::text[] LOOP
			SET LOCAL enable_seqscan = on;
			SET LOCAL enable_indexscan = off;
			SET LOCAL enable_bitmapscan = off;
			EXECUTE format('SELECT array_agg(i) FROM (SELECT i FROM sets ' || form || ', ctid) s', c) INTO wanted USING r.q;
			SET LOCAL enable_seqscan = off;
			SET LOCAL enable_indexscan = on;
			EXECUTE format('EXPLAIN (FORMAT JSON) SELECT i FROM sets ' || form, c) INTO plan USING r.q;
			EXECUTE format('SELECT array_agg(i) FROM (SELECT i FROM sets ' || form || ') s', c) INTO found USING r.q;
			asked := asked + 1;
			rows := rows + coalesce(cardinality(found), 0);
			differ := differ + (found IS DISTINCT FROM wanted OR (r.q IS NOT NULL AND plan !~ 'sets_int'))::int;
		END LOOP;
	END LOOP;
	RETURN NEXT;
END $$;
SELECT form, d.* FROM unnest(ARRAY['ORDER BY %I <&> $1', 'ORDER BY %I <%%> $1', 'WHERE %I @& genie_query($1) ORDER BY %1$I <&> $1', 'WHERE %I @& genie_jaccard_query($1, 0.1) ORDER BY %1$I <%%> $1', 'WHERE %I @& (SELECT genie_query($1)) ORDER BY %1$I <&> (SELECT genie_query($1, 2))']) form, differ(form) d;
SELECT s.query, t.i, s.match_count FROM genie_search('sets_int8_idx', ARRAY[genie_query('{6,7,8.5}'::numeric[]), genie_query('{0.5}'::numeric[]), genie_query('{9223372036854775807,1e30}'::numeric[])], 2) WITH ORDINALITY s (query, tid, match_count, n) JOIN sets t ON t.ctid = s.tid ORDER BY n;
SELECT genie_jaccard('{1,2}'::int[], '{1.0,2.5}'::numeric[]), '{1,2}'::int[] <&> genie_query('{1.0,2.5}'::numeric[]) AS query, '{1,2}'::int[] <%> genie_object('{1.0,2.5}'::numeric[]) AS object, '{1,2}'::int[] <&> '{0:int:1,0:numeric:2}'::genie_query AS both;
-- ranges of numerics stay, and so do other families and what is no array
SELECT int4 <&> '{0:numeric:[1,2)}'::genie_query FROM sets WHERE i = 1;
SELECT int4 <&> genie_query(ARRAY[1]::float8[]) FROM sets WHERE i = 1;
SELECT genie_object(int4) <&> genie_query(ARRAY[1.0]) FROM sets WHERE i = 1;
-- by an approximate class, too: candidates are those of the integers
CREATE INDEX minhash ON sets USING genie (int4 genie_minhash_ops);
SET enable_seqscan = off;
SET genie.candidates = 20;
BEGIN;
DROP INDEX sets_int4_idx;
EXPLAIN (COSTS OFF) SELECT i FROM sets ORDER BY int4 <%> '{3,6,9,12,15,18,21,24.0,1e30}'::numeric[] LIMIT 1;
SELECT i, round((int4 <%> '{3,6,9,12,15,18,21,24.0,1e30}'::numeric[])::numeric, 4) AS distance FROM sets ORDER BY int4 <%> '{3,6,9,12,15,18,21,24.0,1e30}'::numeric[] LIMIT 1;
SELECT t.i, round(s.distance::numeric, 4) AS distance FROM genie_search('minhash', ARRAY[genie_object('{3,6,9,12,15,18,21,24.0,1e30}'::numeric[])], 1) s JOIN sets t ON t.ctid = s.tid;
ROLLBACK;
RESET genie.candidates;
RESET enable_seqscan;
DROP INDEX minhash;
DELETE FROM sets WHERE i > 1000;

-- a cast that is written stays, and an index on it serves; two columns are not taken apart
CREATE INDEX cast_index ON sets USING genie ((int4::bigint[]));
SELECT q AS question, asks('sets', q) FROM unnest(ARRAY['int4::bigint[] <&> ARRAY[3,6]::bigint[]', 'int4 <&> int8']) q;
DROP INDEX cast_index;

-- vectors: literals and integers are real[] as before, double precision is computed so
SELECT q AS question, asks('vectors', q) FROM unnest(ARRAY['float4 <-> ''{1,2,3}''', 'float4 <-> ''{1.1,2,3}''::float8[]', 'float4 <+> ''{1.1,2,3}''::float8[]', 'float4 <=> ''{1.1,2,3}''::float8[]', '''{1.1,2,3}''::float8[] <-> float4',
	'float4 <-> ARRAY[1,2,3]', 'float4 <-> ARRAY[1.1,2,3]', 'float4 <-> ARRAY[1,2,3]::bigint[]', 'float4 <-> ''{1e-60,2,3e200}''::float8[]', 'float4 <-> ''{1,2}''::float8[]', 'float4 <-> float8', 'float4::float8[] <-> ''{1,2,3}''',
	'float8 <-> ''{1.1,2,3}''', 'float8 <-> ARRAY[1,2,3]', 'ARRAY[1,2,3] <-> float8', 'float8 <-> ''{1.1,2,3}''::real[]', 'ARRAY[1,2] <-> ARRAY[3,4]', 'float4 <##> ''{1,2,3}''']) q;
SELECT count(*), count(*) FILTER (WHERE float4 <-> q IS DISTINCT FROM float4::float8[] <-> q) AS l2, count(*) FILTER (WHERE float4 <+> q IS DISTINCT FROM float4::float8[] <+> q) AS l1,
	count(*) FILTER (WHERE q <=> float4 IS DISTINCT FROM q <=> float4::float8[]) AS cosine FROM vectors, (VALUES ('{1.1,2,3}'::float8[]), ('{0,0,0}'), ('{NaN,1,2}'), ('{1e200,-1e200,1}'), ('{1e-300,0,0}'), (NULL)) v (q);
SELECT float4 <-> q FROM vectors, (VALUES ('{1,NULL,2}'::float8[])) v (q) LIMIT 1;

-- parameters, without a type and with one, in custom and generic plans
PREPARE untyped AS SELECT i, int4 <&> $1 FROM sets ORDER BY int4 <&> $1 LIMIT 1;
PREPARE untyped_vector AS SELECT i FROM vectors ORDER BY float4 <-> $1 LIMIT 1;
PREPARE typed (bigint[]) AS SELECT i, int4 <&> $1 FROM sets ORDER BY int4 <&> $1 LIMIT 1;
PREPARE typed_numeric (numeric[]) AS SELECT i, int4 <%> $1 FROM sets WHERE int4 @& genie_query($1, 2) ORDER BY int4 <%> $1 LIMIT 1;
PREPARE typed_vector (float8[]) AS SELECT i FROM vectors ORDER BY float4 <-> $1 LIMIT 1;
SELECT name, parameter_types FROM pg_prepared_statements WHERE name ~ 'typed' ORDER BY name;
SET enable_seqscan = off;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE untyped ('{3,6}');
EXPLAIN (COSTS OFF) EXECUTE typed ('{3,6}');
EXPLAIN (COSTS OFF) EXECUTE typed_numeric ('{3,6}');
EXPLAIN (COSTS OFF) EXECUTE typed_vector ('{1,2,3}');
EXECUTE typed ('{3,6}');
EXECUTE typed_numeric ('{3,6.0,1e30}');
EXECUTE typed (NULL);
SET plan_cache_mode = force_custom_plan;
EXECUTE typed ('{3,6}');
EXECUTE typed_numeric ('{3,6.0,1e30}');
EXECUTE typed_vector ('{1.1,2,3}');
EXECUTE untyped_vector ('{1.1,2,3}');
DEALLOCATE ALL;
RESET plan_cache_mode;

-- a query of each row of another table, and the same expression in several clauses
CREATE TABLE asked (q bigint[]);
INSERT INTO asked VALUES ('{3,6}'), ('{97,9999999999}'), ('{1,2,3}');
SET enable_seqscan = on;
EXPLAIN (COSTS OFF) SELECT q.q, s.i FROM asked q, LATERAL (SELECT i FROM sets ORDER BY int4 <&> q.q LIMIT 1) s;
SELECT q.q, s.i, s.d FROM asked q, LATERAL (SELECT i, int4 <&> q.q AS d FROM sets ORDER BY int4 <&> q.q LIMIT 1) s ORDER BY 1;
SELECT int4 <&> '{3,6}'::bigint[] AS d, count(*) FROM sets GROUP BY 1 ORDER BY 1;

-- the functions take both as well
SELECT genie_match_count('{1,2}'::int[], '{2,99999999999}'::bigint[]) AS match_count, genie_jaccard('{a,b}'::varchar[], '{b}'::text[]) AS jaccard;

-- in another schema, outside the search path
CREATE FUNCTION plan(question text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || question; END $$;
CREATE VIEW nearest AS SELECT i FROM sets ORDER BY int4 <&> '{3,6}'::bigint[] LIMIT 1;
CREATE VIEW nearest_vector AS SELECT i FROM vectors ORDER BY float4 <-> '{1.1,2,3}'::float8[] LIMIT 1;
SET enable_seqscan = off;
SET search_path = pg_catalog;
SELECT operator_width.plan('SELECT * FROM operator_width.nearest');
SELECT operator_width.plan('SELECT * FROM operator_width.nearest_vector');
RESET enable_seqscan;
SET client_min_messages = warning;
DROP SCHEMA operator_width CASCADE;
