-- texts as sets of numbered n-grams: genie_ngrams, text <&> genie_query, text @& genie_query
SET extra_float_digits = 1;
SELECT genie_ngrams('word');
SELECT genie_ngrams('word', 2) AS pairs, genie_ngrams('aaaa', 1) AS singles, genie_ngrams('aaa', 2) AS numbered;
-- empty texts, and texts shorter than n: always length + n - 1 grams
SELECT n, genie_ngrams('', n) AS empty, genie_ngrams('a', n) AS one FROM generate_series(1, 4) n;
-- characters, not bytes; case and blanks count
SELECT genie_ngrams('Zoë 猫', 2);
SELECT genie_ngrams(U&'\+01F600\+01F601' || repeat('é', 20), 16) = genie_ngrams(U&'\+01F600\+01F601' || repeat('é', 20), 16), genie_match_count(genie_ngrams(repeat('猫', 40), 16), genie_ngrams(repeat('猫', 40), 16));
SELECT genie_ngrams('word'::varchar) = genie_ngrams('word'), genie_ngrams('word'::char(8)) = genie_ngrams('word'), genie_ngrams(NULL) IS NULL, genie_ngrams('word', NULL) IS NULL;

-- the definition in SQL
CREATE FUNCTION plain_ngrams(value text, n int) RETURNS TABLE (dimension int, gram text) LANGUAGE sql IMMUTABLE AS $$
	SELECT n * 65536 + (row_number() OVER (PARTITION BY g) - 1)::int, g
	FROM (SELECT substr(repeat(' ', n - 1) || value || repeat(' ', n - 1), i, n) AS g FROM generate_series(1, length(value) + n - 1) i) s $$;
CREATE TABLE texts (id int GENERATED ALWAYS AS IDENTITY, value text);
SELECT setseed(0.5);
INSERT INTO texts (value) SELECT coalesce(string_agg(substr('aab éé猫\,":{}', 1 + floor(random() * 14)::int, 1), ''), '') FROM (SELECT i, generate_series(1, i % 40) FROM generate_series(0, 199) i) s GROUP BY i ORDER BY i;
SELECT count(*), count(DISTINCT value) > 150 AS various FROM texts;
SELECT n, count(*) AS wrong FROM texts, generate_series(1, 16) n WHERE genie_ngrams(value, n) IS DISTINCT FROM
	(SELECT format('{%s}', coalesce(string_agg(format('%s:text:"%s"', dimension, replace(replace(gram, '\', '\\'), '"', '\"')), ','), ''))::genie_object FROM plain_ngrams(value, n)) GROUP BY n;

-- counting: the sum over the grams of the smaller number of occurrences
SELECT 'banana' <&> genie_query(genie_ngrams('ananas')), genie_match_count('banana', genie_query(genie_ngrams('ananas'))), 'banana' @& genie_with_min_match(genie_query(genie_ngrams('ananas')), 3) AS three, 'banana' @& genie_with_min_match(genie_query(genie_ngrams('ananas')), 4) AS four;
SELECT 'banana' <&> genie_query(genie_ngrams('ananas', 2)), 'banana'::varchar <&> genie_query(genie_ngrams('banana', 1)), '' <&> genie_query(genie_ngrams('')), '' <&> genie_query(genie_ngrams('a')), NULL::text <&> genie_query(genie_ngrams('a'));
SELECT count(*) AS pairs, count(*) FILTER (WHERE a.value <&> genie_query(genie_ngrams(b.value, n)) IS DISTINCT FROM genie_ngrams(a.value, n) <&> genie_ngrams(b.value, n)) AS wrong,
	count(*) FILTER (WHERE -(a.value <&> genie_query(genie_ngrams(b.value, n))) IS DISTINCT FROM (SELECT count(*) FROM (SELECT * FROM plain_ngrams(a.value, n) INTERSECT SELECT * FROM plain_ngrams(b.value, n)) s)) AS "not as defined"
	FROM texts a JOIN texts b ON a.id % 7 = b.id % 7 AND a.id % 3 = 0, generate_series(1, 3) n;
-- grams of several lengths in one query; of none; of a length that no text has; ranges
SELECT 'banana' <&> '{65536:text:b,131072:text:ba,196608:text:ban,196609:text:ana}'::genie_query, 'banana' @& '{}@0'::genie_query, 'banana' @& '{}@1'::genie_query, 'banana' <&> '{0:text:ban}'::genie_query,
	'banana' <&> '{1114112:text:ban}'::genie_query, 'banana' <&> '{2147483647:text:ban}'::genie_query, 'banana' <&> '{196608:text:[a,b)}'::genie_query, 'banana' <&> '{131072:text:[a,b)}'::genie_query;
-- a threshold: Jaccard similarity of the sets of grams that are asked for
SELECT 'banana' @& '{131072:text:"an",131072:text:"na"}@0%0.25'::genie_query, 'banana' @& '{131072:text:"an",131072:text:"na"}@0%0.3'::genie_query, '' @& '{}@0%1'::genie_query, 'a' @& '{}@0%1'::genie_query;

-- errors
SELECT genie_ngrams('word', 0);
SELECT genie_ngrams('word', 17);
SELECT genie_ngrams('word', -1);
SELECT 'banana' <&> '{196608:int:1}'::genie_query;
SELECT length(genie_ngrams(repeat('a', 65533))::text), length(genie_ngrams(repeat('é', 65535), 1)::text);
SELECT genie_ngrams(repeat('a', 65534));
SELECT genie_ngrams(repeat('é', 65534));
SELECT genie_ngrams(repeat('a', 10000000), 1);
SELECT genie_query(genie_ngrams('a')) IS NOT NULL AND repeat('ab', 40000) <&> genie_query(genie_ngrams('a')) < 0;
DROP TABLE texts;
DROP FUNCTION plain_ngrams;
