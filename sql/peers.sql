-- genie in one schema with the other extensions for arrays, similarity and distance, created before them and after them: nothing becomes ambiguous
CREATE DATABASE genie_peers TEMPLATE template0;
SELECT current_database() AS here \gset
\c genie_peers
SET client_min_messages = warning;
CREATE EXTENSION genie;
DO $$
DECLARE
	peer text;
BEGIN
	FOREACH peer IN ARRAY '{pg_trgm,intarray,cube,hstore,ltree,btree_gin,btree_gist,citext,fuzzystrmatch,seg,earthdistance,isn,unaccent,bloom,intagg,tablefunc,pgcrypto,uuid-ossp}'::text[] LOOP
		EXECUTE format('CREATE EXTENSION %I', peer);
	END LOOP;
	IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'rum') THEN
		CREATE EXTENSION rum;
	END IF;
END $$;

-- expressions as users write them, with literals whose type the parser has to find
CREATE TABLE expressions (n serial, of text, expression text);
INSERT INTO expressions (of, expression) VALUES
	('genie', $$'{1,2}'::int[] <&> '{2}'$$), ('genie', $$'{1,2}' <&> '{2,3}'::int[]$$), ('genie', $$ARRAY[1,2] <&> ARRAY[2]$$), ('genie', $$'{a,b}'::text[] <&> '{b}'$$),
	('genie', $$ARRAY['a','b'] <&> '{b,a}'$$), ('genie', $$'{a,b}'::citext[] <&> '{B,A}'$$), ('genie', $$'{1,2}'::int[] <&> genie_query(ARRAY[2])$$),
	('genie', $$'{1,2}'::int[] @& genie_query('{2}'::int[])$$), ('genie', $$'{1,2}'::bigint[] @& genie_query('{[2,5)}'::int4multirange)$$),
	('genie', $$genie_tuple(1, 'a'::text) <&> genie_tuple(1, 'b'::text)$$), ('genie', $$genie_tuple(1, 'a'::text) @& genie_tuple_query(1, 'a')$$),
	('genie', $$'{1,2}'::int[] <%> '{2}'$$), ('genie', $$'{1,2}' <%> '{2,3}'::int[]$$), ('genie', $$ARRAY['a','b'] <%> '{b,a}'$$), ('genie', $$'{a,b}'::citext[] <%> '{B,C}'$$), ('genie', $$ARRAY[1,2]<%>ARRAY[2]$$),
	('genie', $$genie_tuple(1, 'a'::text) <%> '{1:int:1}'$$), ('genie', $$'{1,2}'::int[] @& genie_jaccard_query('{2,3}'::int[], 0.3)$$), ('genie', $$genie_jaccard('{1,2}'::int[], '{2}')$$),
	('genie', $$'word'::text <~> 'ward'$$), ('genie', $$'word' <~> 'ward'$$), ('genie', $$'word'::varchar <~> 'ward'::varchar$$), ('genie', $$'Word'::citext <~> 'word'$$), ('genie', $$'word' @& genie_edit_query('ward', 1)$$),
	('genie', $$'word'::text <&> genie_query(genie_ngrams('ward'))$$), ('genie', $$'word' @& genie_query(genie_ngrams('ward'))$$), ('genie', $$genie_levenshtein('kitten', 'sitting')$$),
	('genie', $$genie_match_count('{1,2}'::int[], '{2}')$$), ('genie', $$'{1:int:1}'::genie_object = '{1:int:1}'$$), ('genie', $$genie_tuple('A'::citext, 'a=>1'::hstore) = genie_tuple('a'::citext, '"a"=>"1"'::hstore)$$),
	('genie', $$'a b'::tsvector <&> 'b c'$$), ('genie', $$'a b' <&> 'b c'::tsvector$$), ('genie', $$'a b'::tsvector <&> 'a & b'::tsquery$$), ('genie', $$to_tsvector('english', 'two foxes') @& genie_query(to_tsquery('english', 'fox:*'))$$),
	('genie', $$genie_match_count('a b'::tsvector, 'b | c')$$),
	('genie', $$'{"a": 1}'::jsonb <&> '{"a": 1, "b": 2}'$$), ('genie', $$'{"a": 1}'::jsonb @& genie_query('{"a": [1]}'::jsonb)$$), ('genie', $$genie_jsonb('[1]') <&> genie_jsonb('[1, 2]')$$),
	('genie', $$'a b'::tsvector <%> 'b c'$$), ('genie', $$'{"a": 1}'::jsonb <%> '{"a": 1, "b": 2}'$$), ('genie', $$'a b'::tsvector @& genie_jaccard_query('b c'::tsvector, 0.25)$$),
	('genie', $$genie_binary_branches('{a{b}}') <&> genie_binary_branches('{a{b}{c}}')$$), ('genie', $$genie_stars('{a,b}', '{1,2}') <&> genie_stars('{b,a}', '{{1,2}}')$$),
	('genie', $$'{1,2}'::real[] <-> '{4,6}'$$), ('genie', $$'{1,2}' <+> '{4,6}'::real[]$$), ('genie', $$'{1,0}'::real[] <=> '{0,1}'$$), ('genie', $$'{1,0}'::float8[] <=> '{-1,0}'::real[]$$), ('genie', $$'{1,2}'::real[] <-> ARRAY[4,6]$$),
	('genie', $$ARRAY[1,2]::float8[]<->ARRAY[4,6.5]$$), ('genie', $$genie_inner_product('{1,2}'::real[], '{3,4}')$$), ('genie', $$B'1011' <&~> '0110'$$), ('genie', $$'1011'::varbit <&~> B'0110'$$),
	('core', $$'{1,2}'::int[] && '{2}'$$), ('core', $$'{1,2}'::int[] @> '{2}'$$), ('core', $$'{2}'::int[] <@ '{1,2}'$$), ('core', $$'{a,b}'::text[] && '{b}'$$), ('core', $$ARRAY[1,2] = '{1,2}'$$),
	('core', $$'{1,2}'::int[] || '{3}'$$), ('core', $$'{1,2}' < '{3}'::int[]$$), ('core', $$'(1,2)'::point <-> '(4,6)'$$), ('core', $$int4range(1, 5) && '[4,9)'$$), ('core', $$'{[1,5)}'::int4multirange && '{[4,9)}'$$),
	('core', $$'{[1,5)}'::int4multirange @> 3$$), ('core', $$'a b'::tsvector @@ 'a'$$), ('core', $$'a' <-> 'b'::tsquery$$), ('core', $$'{"a": 1}'::jsonb @> '{"a": 1}'$$), ('core', $$6 & 3$$),
	('core', $$B'110' & B'011'$$), ('core', $$'10.0.0.1'::inet && '10.0.0.0/8'$$),
	('intarray', $$'{1,2}'::int[] & '{2,3}'$$), ('intarray', $$'{1,2}'::int[] | '{2,3}'$$), ('intarray', $$'{1,2}'::int[] | 3$$), ('intarray', $$'{1,2}'::int[] - 2$$), ('intarray', $$'{1,2}'::int[] + 3$$),
	('intarray', $$# '{1,2}'::int[]$$), ('intarray', $$'{1,2}'::int[] # 2$$), ('intarray', $$'{1,2}'::int[] @@ '1&2'$$), ('intarray', $$icount('{1,2}'::int[] & '{2}')$$),
	('pg_trgm', $$'word'::text % 'words'::text$$), ('pg_trgm', $$'word' % 'words'$$), ('pg_trgm', $$'word'::text <-> 'words'$$), ('pg_trgm', $$'word' <% 'two words'$$), ('pg_trgm', $$'two words' %> 'word'$$),
	('pg_trgm', $$'word' <<-> 'two words'$$), ('pg_trgm', $$'word' <<% 'two words'$$), ('pg_trgm', $$'word' <<<-> 'two words'$$),
	('citext', $$'A'::citext = 'a'$$), ('fuzzystrmatch', $$levenshtein('kitten', 'sitting')$$),
	('cube', $$'(1,2)'::cube <-> '(4,6)'$$), ('cube', $$'(1,2)'::cube <#> '(4,6)'$$), ('cube', $$'(1,2)'::cube <=> '(4,6)'$$), ('cube', $$'(1,2),(3,4)'::cube && '(2,3)'$$),
	('cube', $$'(1,2),(3,4)'::cube @> '(2,3)'$$), ('cube', $$'(1,2)'::cube ~> 1$$), ('seg', $$'1 .. 3'::seg && '2'$$), ('earthdistance', $$'(1,2)'::point <@> '(1,2)'$$),
	('hstore', $$'a=>1'::hstore ? 'a'$$), ('hstore', $$'a=>1'::hstore @> 'a=>1'$$), ('hstore', $$'a=>1,b=>2'::hstore -> 'b'$$), ('hstore', $$'a=>1' || 'b=>2'::hstore$$), ('hstore', $$'a=>1,b=>2'::hstore ?& '{a,b}'$$),
	('ltree', $$'a.b'::ltree <@ 'a'$$), ('ltree', $$'a.b'::ltree ~ 'a.*'$$), ('ltree', $$'a.b'::ltree ? '{a.*}'$$), ('ltree', $$'a.b'::ltree @ 'a & b'$$), ('ltree', $$'{a.b,c}'::ltree[] @> 'a.b.c'$$),
	('ltree', $$'{a.b,c}'::ltree[] ?@> 'a.b.c'$$), ('ltree', $$'{a.b,c}'::ltree[] ~ 'a.*'$$), ('isn', $$'9780131103627'::isbn13 = '978-0-13-110362-7'$$), ('btree_gist', $$1 <-> 3$$),
	('rum', $$'{1,2,3}'::int[] % '{1,2,3}'$$), ('rum', $$'{a,b}'::text[] <=> '{a}'$$), ('rum', $$'a b'::tsvector <=> 'a'::tsquery$$), ('rum', $$'2020-01-01'::timestamp <=> '2020-01-02'$$),
	('rum', $$'2020-01-01'::timestamp <=| '2020-01-02'$$), ('rum', $$1 <=> 3$$);
CREATE FUNCTION result(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
BEGIN
	EXECUTE format('SELECT (%s)::text', expression) INTO r;
	RETURN r;
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END $$;
CREATE TABLE genie_first AS SELECT n, result(expression) FROM expressions;
DROP EXTENSION genie;
CREATE TABLE without_genie AS SELECT n, result(expression) FROM expressions;
CREATE EXTENSION genie;
SELECT of, expression, g.result, g.result IS NOT DISTINCT FROM result(expression) AS "in both orders", of <> 'genie' AND g.result IS DISTINCT FROM w.result AS changed
	FROM expressions JOIN genie_first g USING (n) JOIN without_genie w USING (n) WHERE of <> 'rum' ORDER BY n;

-- RUM, which may be missing
SELECT expression, g.result, w.result, result(expression) FROM expressions JOIN genie_first g USING (n) JOIN without_genie w USING (n)
	WHERE of = 'rum' AND (g.result IS DISTINCT FROM w.result OR w.result IS DISTINCT FROM result(expression));
-- on arrays of numbers RUM's <=> and ours exclude each other, for real[] and float8[] take integers, too: one of them needs a schema of its own, outside the search path
SELECT expression, result(expression) FROM unnest(ARRAY[$$'{1,2}'::int[] <=> '{2}'$$, $$'{1,2}'::bigint[] <=> '{2}'::bigint[]$$]) expression;
DROP EXTENSION genie;
CREATE TABLE numbers_without AS SELECT expression, result(expression) FROM unnest(ARRAY[$$'{1,2}'::int[] <=> '{2}'$$, $$'{1,2}'::bigint[] <=> '{2}'::bigint[]$$, $$'{1,2}'::real[] <=> '{2}'$$]) expression;
CREATE SCHEMA apart;
CREATE EXTENSION genie SCHEMA apart;
SELECT expression, result, result(expression) FROM numbers_without WHERE result IS DISTINCT FROM result(expression);
SELECT '{1,0}'::real[] OPERATOR(apart.<=>) '{0,1}' AS apart;

-- an index, though nothing of genie is in the search path
CREATE TABLE apart_sets AS SELECT i AS id, ARRAY[i % 7, 10 + i % 11, 30 + i % 13] AS s FROM generate_series(1, 2000) i;
CREATE INDEX apart_sets_s ON apart_sets USING genie (s);
SET enable_seqscan = off;
SELECT id, s FROM apart_sets ORDER BY s OPERATOR(apart.<&>) apart.genie_query('{3,14,36}'::int[]) LIMIT 2;
SELECT count(*) FROM apart.genie_search('apart_sets_s', ARRAY[apart.genie_query('{3,14,36}'::int[])], 5);
INSERT INTO apart_sets VALUES (0, '{3,14,36}');
SELECT id FROM apart_sets WHERE s OPERATOR(apart.@&) apart.genie_with_min_match(apart.genie_query('{3,14,36}'::int[]), 3) ORDER BY id LIMIT 3;
RESET enable_seqscan;
DROP TABLE apart_sets;
DROP EXTENSION genie;
DROP SCHEMA apart;
CREATE EXTENSION genie;
SELECT count(*) AS "fail with RUM" FROM without_genie JOIN expressions USING (n) WHERE of = 'rum' AND result ~ 'operator' AND EXISTS (SELECT FROM pg_extension WHERE extname = 'rum');

-- indexes of all of them on one column, each used for its own operator
CREATE TABLE t (id int, a int[]);
INSERT INTO t SELECT i, ARRAY[i % 10, i % 7, i % 100] FROM generate_series(1, 1000) i;
CREATE INDEX t_genie ON t USING genie (a);
CREATE INDEX t_gin ON t USING gin (a);
CREATE INDEX t_gin_int ON t USING gin (a gin__int_ops);
CREATE INDEX t_gist ON t USING gist (a gist__int_ops);
CREATE INDEX t_btree ON t USING btree (a);
ANALYZE t;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY a <&> '{1,2,3}' LIMIT 3;
SELECT id FROM t ORDER BY a <&> '{1,2,3}' LIMIT 3;
SELECT count(*) FROM t WHERE a && '{1}' AND a @& genie_query('{1,2}'::int[], 2);
SELECT count(*) FROM t WHERE a @@ '1&2';
RESET enable_seqscan;
DROP TABLE t;

-- no other extension and no core operator has a name of ours
CREATE VIEW ours AS SELECT o.* FROM pg_operator o JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid WHERE extname = 'genie';
SELECT oprname, oprleft::regtype, oprright::regtype, oprresult::regtype FROM ours ORDER BY oprname COLLATE "C", oprleft::regtype::text COLLATE "C", oprright::regtype::text COLLATE "C";
SELECT DISTINCT o.oid::regoperator FROM pg_operator o JOIN ours USING (oprname) WHERE o.oid NOT IN (SELECT oid FROM ours) AND oprname IN ('<&>', '@&', '<%>', '<~>', '<&~>', '<^>');
-- genie's operators between types that are not genie's
SELECT oprname, oprleft::regtype, oprright::regtype FROM ours WHERE 'genie_object'::regtype NOT IN (oprleft, oprright) AND 'genie_query'::regtype NOT IN (oprleft, oprright);
SELECT castsource::regtype, casttarget::regtype, castcontext FROM pg_cast WHERE castsource IN ('genie_object'::regtype, 'genie_query'::regtype) OR casttarget IN ('genie_object'::regtype, 'genie_query'::regtype) ORDER BY castsource::regtype::text COLLATE "C";

-- operators of extensions that are not at hand: smlar, pgvector, PostGIS. They can be created, and change nothing
CREATE TYPE vector AS (x float8[]);
CREATE TYPE halfvec AS (x float8[]);
CREATE TYPE sparsevec AS (x float8[]);
CREATE TYPE geometry AS (x float8[]);
CREATE TYPE geography AS (x float8[]);
CREATE TABLE elsewhere (of text, operator text, "left" regtype, "right" regtype, result regtype);
INSERT INTO elsewhere SELECT 'smlar', '%', 'anyarray', 'anyarray', 'bool' WHERE NOT EXISTS (SELECT FROM pg_operator WHERE oprname = '%' AND oprleft = 'anyarray'::regtype);
INSERT INTO elsewhere SELECT 'RUM', '<=>', 'anyarray', 'anyarray', 'float8' WHERE NOT EXISTS (SELECT FROM pg_operator WHERE oprname = '<=>' AND oprleft = 'anyarray'::regtype);
INSERT INTO elsewhere SELECT 'pgvector', o, t, t, 'float8' FROM unnest('{<->,<#>,<=>,<+>}'::text[]) o, unnest('{vector,halfvec,sparsevec}'::regtype[]) t;
INSERT INTO elsewhere SELECT 'pgvector', o, 'bit', 'bit', 'float8' FROM unnest('{<~>,<%>}'::text[]) o;
INSERT INTO elsewhere SELECT 'pgvector', o, 'vector', 'vector', 'bool' FROM unnest('{<,<=,=,<>,>=,>}'::text[]) o;
INSERT INTO elsewhere SELECT 'PostGIS', o, t, t, 'bool' FROM unnest('{&&,&&&,&<,&>,<<,>>,&<|,|&>,<<|,|>>,~=,~,@,@@,~~,~~=,<<@,@>>}'::text[]) o, unnest('{geometry,geography}'::regtype[]) t;
INSERT INTO elsewhere SELECT 'PostGIS', o, t, t, 'float8' FROM unnest('{<->,<#>,<<->>,<<#>>,|=|}'::text[]) o, unnest('{geometry,geography}'::regtype[]) t;
SELECT e.* FROM elsewhere e JOIN ours ON operator = oprname AND "left" = oprleft AND "right" = oprright;
CREATE FUNCTION make_elsewhere() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	e elsewhere;
	n bigint := 0;
BEGIN
	FOR e IN SELECT * FROM elsewhere LOOP
		n := n + 1;
		EXECUTE format('CREATE FUNCTION elsewhere_%s(a %s, b %s) RETURNS %s LANGUAGE plpgsql IMMUTABLE AS ''BEGIN RETURN NULL; END''', n, e.left, e.right, e.result);
		EXECUTE format('CREATE OPERATOR %s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = elsewhere_%s)', e.operator, e.left, e.right, n);
	END LOOP;
	RETURN n;
END $$;
SELECT make_elsewhere() = count(*) AS all FROM elsewhere;
SELECT of, expression, g.result, result(expression) AS now FROM expressions JOIN genie_first g USING (n) WHERE g.result IS DISTINCT FROM result(expression) ORDER BY n;
DO $$
DECLARE
	e elsewhere;
BEGIN
	FOR e IN SELECT * FROM elsewhere LOOP
		EXECUTE format('SELECT NULL::%s %s NULL::%s', replace(e.left::text, 'anyarray', 'text[]'), e.operator, replace(e.right::text, 'anyarray', 'text[]'));
	END LOOP;
END $$;
-- pgvector's <%> of bits, and ours, with a literal on one side
SELECT expression, result(expression) FROM unnest(ARRAY[$$(B'101' <%> '110') IS NULL$$, $$('101' <%> B'110') IS NULL$$, $$'{1,2}'::int[] <%> '{2}'$$]) expression;
DROP EXTENSION genie;
CREATE EXTENSION genie;
SELECT of, expression, g.result, result(expression) AS now FROM expressions JOIN genie_first g USING (n) WHERE g.result IS DISTINCT FROM result(expression) ORDER BY n;
\c :here
DROP DATABASE genie_peers;
