-- beside other extensions, all in one schema: nobody's operators become ambiguous, none is in the way
SET client_min_messages = error;
CREATE SCHEMA neighbours;
DROP EXTENSION genie CASCADE;
CREATE EXTENSION pg_trgm SCHEMA neighbours;
CREATE EXTENSION intarray SCHEMA neighbours;
CREATE EXTENSION cube SCHEMA neighbours;
CREATE EXTENSION hstore SCHEMA neighbours;
CREATE EXTENSION ltree SCHEMA neighbours;
CREATE EXTENSION citext SCHEMA neighbours;
CREATE EXTENSION rum SCHEMA neighbours;
CREATE EXTENSION genie SCHEMA neighbours;
RESET client_min_messages;
SET search_path = neighbours, public;

-- no operator of another extension or of core has genie's names
SELECT o.oid::regoperator FROM pg_operator o LEFT JOIN pg_depend d ON d.objid = o.oid AND d.classid = 'pg_operator'::regclass AND d.deptype = 'e'
	LEFT JOIN pg_extension e ON e.oid = d.refobjid WHERE oprname IN ('<&>', '@&') AND extname IS DISTINCT FROM 'genie';
-- nor would those that are not here be in the way: smlar, pgvector, PostGIS, pg_similarity
SELECT oprname FROM pg_operator o JOIN pg_depend d ON d.objid = o.oid AND d.classid = 'pg_operator'::regclass AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid WHERE extname = 'genie' AND oprname NOT IN ('=', '<>', '<', '<=', '>', '>=')
	AND oprname IN ('%', '<->', '<=>', '<#>', '<+>', '<~>', '<%>', '&&', '&<|', '|&>', '@', '~', '~=', '<<->>', '<<#>>', '&&&', '|=|', '~~~', '~==', '~!~', '~%%', '~@@', '~##')
	GROUP BY 1;

-- genie's own, with literals of unknown type
SELECT ARRAY[1, 2] <&> '{2,3}' AS ints, ARRAY['a', 'b'] <&> '{b}' AS texts, ARRAY[1, 2] @& '{0:int:2}' AS query, genie_tuple(1) @& '{1:int:1}' AS tuple, ARRAY['a'::citext, 'B'] <&> '{A,b}' AS citext,
	ARRAY['a=>1'::hstore] <&> '{"\"a\"=>\"1\""}' AS hstore;
-- the others'
SELECT 'word' % 'words' AS trgm, 'word' <-> 'words' < 1 AS trgm_distance, 'word' <% 'two words' AS word_similarity, ARRAY[1, 2] && '{2,3}' AS overlap, ARRAY[1, 2] @> '{2}' AS contains,
	ARRAY[1, 2] & '{2,3}' AS intersection, ARRAY[1, 2] @@ '1&2' AS query_int, ARRAY[1, 2] | 3 AS union;
SELECT cube(1) <-> cube(3) AS cube, 'a=>1, b=>2'::hstore ? 'b' AS hstore, 'a=>1'::hstore @> 'a=>1' AS hstore_contains, 'a.b.c'::ltree ~ 'a.*' AS ltree, 'a.b'::ltree <@ 'a' AS ltree_ancestor,
	ARRAY[1, 2] <=> ARRAY[2, 3] > 0 AS rum, 'a b'::tsvector <=> 'a'::tsquery > 0 AS rum_text;
-- and core's
SELECT point(1, 2) <-> point(1, 2) AS point, int4range(1, 5) && int4range(2, 3) AS ranges, ARRAY[1] <@ ARRAY[1, 2] AS contained, '{"a":1}'::jsonb @> '{"a":1}' AS jsonb, inet '10.0.0.1' << '10.0.0.0/8' AS inet;

RESET search_path;
SET client_min_messages = error;
DROP SCHEMA neighbours CASCADE;
CREATE EXTENSION genie;
