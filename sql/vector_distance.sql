-- distances of vectors (<->, <+>, <=>, inner product) and of bit strings (<&~>)

SELECT '{1,2,2}'::real[] <-> '{4,6,2}' AS l2, '{1,2,2}'::real[] <+> '{4,6,2}' AS l1, '{1,0,0}'::real[] <=> '{0,3,0}' AS cosine, genie_inner_product('{1,2,3}'::real[], '{4,5,6}') AS inner;
SELECT '{1,2,2}'::float8[] <-> '{4,6,2}' AS l2, '{1,2,2}'::float8[] <+> '{4,6,2}' AS l1, '{2,0,0}'::float8[] <=> '{-3,0,0}' AS cosine, genie_inner_product('{1,2,3}'::float8[], '{4,5,6}') AS inner;
SELECT genie_l2_distance('{0,3}'::real[], '{4,0}'), genie_l1_distance('{0,3}'::real[], '{4,0}'), genie_cosine_distance('{0,3}'::real[], '{0,2}');
SELECT B'10110' <&~> '01111' AS hamming, B'' <&~> B'' AS empty, genie_hamming_distance(repeat('10', 5000)::varbit, repeat('01', 5000)::varbit) AS long;
SELECT o.oid::regoperator AS operator, oprresult::regtype AS result, oprcom::oid::regoperator AS commutator FROM pg_operator o
	WHERE oprname IN ('<->', '<+>', '<=>', '<&~>') AND oprleft IN ('real[]'::regtype, 'float8[]'::regtype, 'bit'::regtype) ORDER BY oprname COLLATE "C", 1::text COLLATE "C";

-- types: real[] beside a literal, float8[] beside both; two arrays of integers could be either
SELECT pg_typeof(v), v <-> '{1,2}' AS literal, v <-> ARRAY[1,2] AS int, v <-> ARRAY[1,2.5] AS numeric, v <-> '{1,2}'::float8[] AS float8 FROM (VALUES ('{1,2}'::real[])) t(v);
SELECT ARRAY[1,2] <-> ARRAY[3,4];
SELECT ARRAY[1,2]::real[] <-> ARRAY[3,4];

-- equal to the definitions, for all lengths: arrays with a short and with a long header, both types
CREATE FUNCTION random_vector(n int, seed int) RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(array_agg((hashint8extended(i, seed) % 1000) / 8.0 ORDER BY i), '{}') FROM generate_series(1, n) i $$;
CREATE TABLE pairs AS SELECT n, random_vector(n, n) AS a, random_vector(n, n + 1000) AS b FROM generate_series(1, 150) n;
CREATE VIEW definitions AS SELECT n, a, b, sqrt(sum(x ^ 2 + y ^ 2 - 2 * x * y)) AS l2, sum(abs(x - y)) AS l1, sum(x * y) AS inner, 1 - sum(x * y) / sqrt(sum(x ^ 2) * sum(y ^ 2)) AS cosine
	FROM pairs, unnest(a, b) AS e (x, y) GROUP BY n, a, b;
SELECT count(*), max(abs((a <-> b) - l2)) < 1e-9 AS l2, bool_and(a <+> b = l1) AS l1, bool_and(genie_inner_product(a, b) = d.inner) AS inner, max(abs((a <=> b) - cosine)) < 1e-13 AS cosine FROM definitions d;
SELECT bool_and(a <-> b = a::real[] <-> b::real[] AND a <+> b = a::real[] <+> b::real[] AND a <=> b = a::real[] <=> b::real[] AND genie_inner_product(a, b) = genie_inner_product(a::real[], b::real[])) AS "real as float8" FROM pairs;
SELECT bool_and(a <-> b = b <-> a AND a <+> b = b <+> a AND a <=> b = b <=> a AND a <-> a = 0 AND a <+> a = 0 AND a <=> a = 0) AS "commute, and 0 to oneself" FROM pairs;
-- rows as the table keeps them: short headers, compressed, out of line
CREATE TABLE kept (n int, v real[], w float8[]);
INSERT INTO kept SELECT n, array_fill(1.5::real, ARRAY[n]), array_fill(1.5::float8, ARRAY[n]) FROM unnest('{1,5,20,25,26,128,2000,60000}'::int[]) n;
INSERT INTO kept SELECT n, random_vector(n, 1), random_vector(n, 1) FROM unnest('{1000,2000,5000}'::int[]) n;
SELECT n, bool_and(v <+> array_fill(1.5::real, ARRAY[n]) = w <+> array_fill(1.5::float8, ARRAY[n])), min(v <+> array_fill(1.0::real, ARRAY[n])) FROM kept GROUP BY n ORDER BY n;
-- any lower bound; a bitmap of NULLs without a NULL
SELECT '[5:6]={1,2}'::real[] <-> '[0:1]={4,6}', (ARRAY[NULL,1,2,3]::real[])[2:4] <-> '{1,2,5}';
SELECT a <-> '{1,2,9}' FROM (SELECT array_remove('{1,NULL,2,4}'::real[], NULL) AS a) s;

-- zero vectors, no elements, NULL
SELECT '{0,0}'::real[] <=> '{1,2}' AS zero, '{0,0}'::real[] <=> '{0,0}' AS zeros, '{1e-200}'::float8[] <=> '{1}' AS vanishes;
SELECT '{}'::real[] <-> '{}' AS l2, '{}'::real[] <+> '{}' AS l1, '{}'::real[] <=> '{}' AS cosine, genie_inner_product('{}'::real[], '{}') AS inner;
SELECT NULL::real[] <-> '{1}' AS "null", B'1' <&~> NULL AS "null";
-- squares of floats have room in a double; of doubles they may have none
SELECT '{3e38,0}'::real[] <-> '{0,0}' > 2.9e38 AS l2, '{1e-40}'::real[] <-> '{0}' > 0 AS tiny, '{1e200}'::float8[] <-> '{0}' AS overflow, '{1e100,0}'::float8[] <=> '{1e120,0}' AS cosine;
-- not finite: what arithmetic gives
SELECT '{Infinity,0}'::real[] <-> '{1,2}', '{Infinity}'::real[] <-> '{Infinity}', '{NaN,1}'::float8[] <+> '{1,1}', '{Infinity,1}'::real[] <=> '{1,1}', genie_inner_product('{NaN}'::real[], '{0}');

-- errors
SELECT '{1,2}'::real[] <-> '{1,2,3}';
SELECT '{1,2,3}'::float8[] <+> '{}';
SELECT '{1,NULL}'::real[] <=> '{1,2}';
SELECT genie_inner_product('{1,2}'::float8[], '{1,2,3}'), 1;
SELECT '{1,2}'::float8[] <-> '{{1,2},{3,4}}';
SELECT B'101' <&~> B'1010';
\set VERBOSITY sqlstate
SELECT '{1,2}'::real[] <-> '{1,2,3}';
SELECT '{1,NULL}'::real[] <=> '{1,2}';
SELECT '{1,2}'::float8[] <-> '{{1,2},{3,4}}';
SELECT B'101' <&~> B'1010';
\set VERBOSITY default

-- in a query
SELECT id, round((v <-> '{3,3}')::numeric, 3) AS distance FROM (VALUES (1, '{0,0}'::real[]), (2, '{3,4}'), (3, NULL), (4, '{3,3}')) t (id, v) ORDER BY v <-> '{3,3}', id LIMIT 3;

DROP TABLE pairs, kept CASCADE;
DROP FUNCTION random_vector;
