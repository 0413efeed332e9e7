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
-- a cast that is written stays, and an index on it serves; two columns are not taken apart
CREATE INDEX cast_index ON sets USING genie ((int4::bigint[]));
SELECT q AS question, asks('sets', q) FROM unnest(ARRAY['int4::bigint[] <&> ARRAY[3,6]::bigint[]', 'int4 <&> int8']) q;
DROP INDEX cast_index;

-- vectors: literals and integers are real[] as before, double precision is computed so
SELECT q AS question, asks('vectors', q) FROM unnest(ARRAY['float4 <-> ''{1,2,3}''', 'float4 <-> ''{1.1,2,3}''::float8[]', 'float4 <+> ''{1.1,2,3}''::float8[]', 'float4 <=> ''{1.1,2,3}''::float8[]', '''{1.1,2,3}''::float8[] <-> float4',
	'float4 <-> ARRAY[1,2,3]', 'float4 <-> ARRAY[1.1,2,3]', 'float4 <-> ARRAY[1,2,3]::bigint[]', 'float4 <-> ''{1e-60,2,3e200}''::float8[]', 'float4 <-> ''{1,2}''::float8[]', 'float4 <-> float8', 'float4::float8[] <-> ''{1,2,3}''',
	'float8 <-> ''{1.1,2,3}''', 'float8 <-> ARRAY[1,2,3]', 'ARRAY[1,2,3] <-> float8', 'float8 <-> ''{1.1,2,3}''::real[]', 'ARRAY[1,2] <-> ARRAY[3,4]', 'float4 <#> ''{1,2,3}''']) q;
SELECT count(*), count(*) FILTER (WHERE float4 <-> q IS DISTINCT FROM float4::float8[] <-> q) AS l2, count(*) FILTER (WHERE float4 <+> q IS DISTINCT FROM float4::float8[] <+> q) AS l1,
	count(*) FILTER (WHERE q <=> float4 IS DISTINCT FROM q <=> float4::float8[]) AS cosine FROM vectors, (VALUES ('{1.1,2,3}'::float8[]), ('{0,0,0}'), ('{NaN,1,2}'), ('{1e200,-1e200,1}'), ('{1e-300,0,0}'), (NULL)) v (q);
SELECT float4 <-> q FROM vectors, (VALUES ('{1,NULL,2}'::float8[])) v (q) LIMIT 1;

-- parameters, without a type and with one, in custom and generic plans
PREPARE untyped AS SELECT i, int4 <&> $1 FROM sets ORDER BY int4 <&> $1 LIMIT 1;
PREPARE untyped_vector AS SELECT i FROM vectors ORDER BY float4 <-> $1 LIMIT 1;
PREPARE typed (bigint[]) AS SELECT i, int4 <&> $1 FROM sets ORDER BY int4 <&> $1 LIMIT 1;
PREPARE typed_vector (float8[]) AS SELECT i FROM vectors ORDER BY float4 <-> $1 LIMIT 1;
SELECT name, parameter_types FROM pg_prepared_statements WHERE name ~ 'typed' ORDER BY name;
SET enable_seqscan = off;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE untyped ('{3,6}');
EXPLAIN (COSTS OFF) EXECUTE typed ('{3,6}');
EXPLAIN (COSTS OFF) EXECUTE typed_vector ('{1,2,3}');
EXECUTE typed ('{3,6}');
EXECUTE typed (NULL);
SET plan_cache_mode = force_custom_plan;
EXECUTE typed ('{3,6}');
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
