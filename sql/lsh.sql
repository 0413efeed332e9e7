-- locality-sensitive hashing: signatures of vectors, sets and bit strings (test/unit/test_lsh.c has the statistics)

SELECT genie_lsh_functions(0.06, 0.06), genie_lsh_functions_bound(0.06, 0.06), genie_lsh_functions(0.1, 0.05);

-- one keyword a function; the same on every machine
SELECT genie_lsh_l2('{1,2,3}'::real[], 4, 2.0), genie_lsh_l2('{1,2,3}'::real[], 4, 2.0, 1), genie_lsh_l2('{1,2,3}'::real[], 4, 2.0, buckets => 67);
SELECT genie_lsh_l1('{1,2,3}'::real[], 4, 2.0), genie_lsh_laplacian('{1,2,3}'::real[], 4, 2.0), genie_lsh_laplacian('{1,2,3}'::real[], 4, 2.0, buckets => 0);
SELECT genie_lsh_cosine('{1,2,3}'::real[], 8), genie_lsh_cosine('{1,2,3}'::real[], 4, bits => 6), genie_lsh_cosine('{0,0,0}'::real[], 4);
SELECT genie_lsh_minhash('{a,b,c}'::text[], 4), genie_lsh_minhash(ARRAY[1,2,3], 4, 256), genie_lsh_minhash('{}'::int[], 2);
SELECT genie_lsh_hamming(B'1011001110001111', 8), genie_lsh_hamming(B'1011001110001111', 4, bits => 6), genie_lsh_hamming(B'1'::varbit, 2, 5);

-- real[] and float8[]; the elements count, not how they are stored; doubles beyond real are the largest
SELECT genie_lsh_l2(v, 16, 0.5) = genie_lsh_l2(v::float8[], 16, 0.5) AS l2, genie_lsh_l1(v, 16, 0.5) = genie_lsh_l1(v::float8[], 16, 0.5) AS l1,
	genie_lsh_laplacian(v, 16, 0.5) = genie_lsh_laplacian(v::float8[], 16, 0.5) AS laplacian, genie_lsh_cosine(v, 16) = genie_lsh_cosine(v::float8[], 16) AS cosine
	FROM (VALUES ('{0.5,-7,1e30,0}'::real[])) t(v);
SELECT genie_lsh_cosine('[3:5]={1,2,3}'::real[], 8) = genie_lsh_cosine('{1,2,3}'::real[], 8) AS bounds, genie_lsh_l2('{1e300,-1e300}'::float8[], 3, 1), genie_lsh_l2('{1,-1}'::real[], 3, 1e-300);
-- sets: order and duplicates do not count, nor the integers' type; any object can be one
SELECT genie_lsh_minhash(ARRAY[3,1,2,3,NULL], 9, seed => 7) = genie_lsh_minhash(ARRAY[1,2,3]::bigint[], 9, seed => 7) AS set,
	genie_lsh_minhash('{0:int:1,0:int:2,0:int:3}'::genie_object, 9) = genie_lsh_minhash(ARRAY[1,2,3], 9) AS object, genie_lsh_minhash(genie_ngrams('genie'), 3, 16);
-- more functions begin with the fewer
SELECT genie_match_count(genie_lsh_l2('{1,2,3}'::real[], 1000, 2), genie_query(genie_lsh_l2('{1,2,3}'::real[], 100, 2)));

-- the share of functions that agree tells how near two values are: within epsilon of the theory, with 1000 functions
CREATE FUNCTION agree(a genie_object, b genie_object) RETURNS float8 LANGUAGE sql AS $$ SELECT genie_match_count(a, genie_query(b)) / 1000.0 $$;
CREATE TEMPORARY VIEW far AS SELECT d, array_fill(1.0::real, ARRAY[10]) AS p, array_fill(1.0 + d, ARRAY[10])::real[] AS q FROM unnest('{0,0.05,0.1,0.3,1}'::float8[]) d;
SELECT d, abs(agree(genie_lsh_laplacian(p, 1000, 5, buckets => 0), genie_lsh_laplacian(q, 1000, 5, buckets => 0)) - exp(-10 * d / 5)) < 0.06 AS laplacian FROM far;
SELECT d, abs(agree(genie_lsh_cosine(ARRAY[1, 0]::real[], 1000), genie_lsh_cosine(ARRAY[cos(d), sin(d)], 1000)) - (1 - d / pi())) < 0.06 AS cosine FROM far;
SELECT n, abs(agree(genie_lsh_minhash(a, 1000), genie_lsh_minhash(b, 1000)) - (100 - n) / (100.0 + n)) < 0.06 AS minhash, abs(agree(genie_lsh_minhash(a, 1000, 4), genie_lsh_minhash(b, 1000, 4)) - (1 + 3 * (100 - n) / (100.0 + n)) / 4) < 0.06 AS "2 bits"
	FROM (SELECT n, (SELECT array_agg(i) FROM generate_series(1, 100) i) AS a, (SELECT array_agg(i) FROM generate_series(n + 1, 100 + n) i) AS b FROM unnest('{0,10,50,100}'::int[]) n) s;
SELECT n, abs(agree(genie_lsh_hamming(repeat('0', 100)::varbit, 1000), genie_lsh_hamming((repeat('1', n) || repeat('0', 100 - n))::varbit, 1000)) - (100 - n) / 100.0) < 0.06 AS hamming FROM unnest('{0,10,50,100}'::int[]) n;

-- as an expression index: everything that objects have
CREATE TABLE points AS SELECT i AS id, ARRAY[i % 20, i / 20, 5]::real[] AS v FROM generate_series(1, 400) i;
CREATE INDEX points_l2 ON points USING genie (genie_lsh_l2(v, 32, 4));
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM points ORDER BY genie_lsh_l2(v, 32, 4) <&> genie_query(genie_lsh_l2('{7,7,5}'::real[], 32, 4)) LIMIT 1;
SELECT id, v FROM points ORDER BY genie_lsh_l2(v, 32, 4) <&> genie_query(genie_lsh_l2('{7,7,5}'::real[], 32, 4)) LIMIT 1;
RESET enable_seqscan;
DROP TABLE points;

-- more functions and vectors than the cache keeps: the same again
SELECT n, genie_lsh_l2(array_fill(1::real, ARRAY[n]), 3, 1) = min(genie_lsh_l2(array_fill(1::real, ARRAY[n]), 3, 1)::text)::genie_object FROM unnest('{1,2,3,4,5,6,7,1,2,3}'::int[]) n GROUP BY n ORDER BY n;
SELECT count(DISTINCT genie_lsh_l2(array_fill(1::real, ARRAY[n]), 2000, 1)) FROM unnest('{5000,6000,5000,7000,5000}'::int[]) n;

-- parameters
SELECT genie_lsh_l2('{1}'::real[], 0, 1);
SELECT genie_lsh_l2('{1}'::real[], -1, 1);
SELECT genie_lsh_l2('{1}'::real[], 65536, 1);
SELECT genie_lsh_l2('{1}'::real[], 1, 0);
SELECT genie_lsh_l1('{1}'::real[], 1, -1);
SELECT genie_lsh_l1('{1}'::real[], 1, 'NaN');
SELECT genie_lsh_laplacian('{1}'::real[], 1, -2);
SELECT genie_lsh_laplacian('{1}'::real[], 1, 'Infinity');
SELECT genie_lsh_laplacian('{1}'::real[], 1, 1, buckets => -1);
SELECT genie_lsh_cosine('{1}'::real[], 1, bits => 0);
SELECT genie_lsh_cosine('{1}'::real[], 1, bits => 17);
SELECT genie_lsh_hamming(B'1', 1, bits => 17);
SELECT genie_lsh_minhash(ARRAY[1], 0);
SELECT genie_lsh_minhash(ARRAY[1], 1, -5);
SELECT genie_lsh_l2(array_fill(1::real, ARRAY[60000]), 60000, 1);
SELECT genie_lsh_functions(0, 0.5);
SELECT genie_lsh_functions(0.5, 1);
SELECT genie_lsh_functions('NaN', 0.5);
SELECT genie_lsh_functions(1e-5, 0.5);
SELECT genie_lsh_functions_bound(0.5, -1);
-- values
SELECT genie_lsh_l2('{}'::real[], 1, 1);
SELECT genie_lsh_l2('{1,NaN}'::real[], 1, 1);
SELECT genie_lsh_laplacian('{-Infinity}'::float8[], 1, 1);
SELECT genie_lsh_cosine('{1,NULL}'::real[], 1);
SELECT genie_lsh_cosine('{{1,2}}'::real[], 1);
SELECT genie_lsh_l2(array_fill(1::real, ARRAY[65536]), 1, 1);
SELECT genie_lsh_hamming(B'', 1);
SELECT genie_lsh_l2(NULL::real[], 1, 1) IS NULL AS strict;

DROP FUNCTION agree;
DROP VIEW far;
