-- the edit distance: text <~> text, genie_levenshtein, text @& genie_edit_query
SELECT a, b, a <~> b AS "<~>", b <~> a AS commuted, genie_levenshtein(a, b), a @& genie_edit_query(b, 2) AS "within 2"
	FROM (VALUES ('kitten', 'sitting'), ('', ''), ('', 'abc'), ('abc', ''), ('same', 'same'), ('Case', 'case'), ('flaw', 'lawn'), ('ab', 'ba'), ('a b', 'ab'), ('résumé', 'resume'), ('猫', '犬'), ('Straße', 'Strasse'),
		(U&'e\0301', U&'\00E9'), (U&'\+01F600x', U&'x\+01F600')) v (a, b);
SELECT pg_typeof('a' <~> 'b'), pg_typeof(genie_levenshtein('a', 'b')), NULL <~> 'a', 'a' <~> NULL, genie_levenshtein(NULL, 'a'), 'a' @& NULL::genie_edit_query;
SELECT 'word'::varchar(10) <~> 'ward'::varchar(10), 'word'::varchar <~> 'ward', 'word'::char(10) <~> 'ward'::char(8), 'word'::name <~> 'ward';
SELECT 'a' <~> 'B' COLLATE "C", genie_edit_query('word', 2), (genie_edit_query('word', 2)).distance, genie_edit_query(NULL, 2) IS NULL, genie_edit_query('word', NULL) IS NULL;

-- against a plain dynamic programme
CREATE FUNCTION plain_distance(a text, b text) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	x text[] := string_to_array(a, NULL);
	y text[] := string_to_array(b, NULL);
	above int[] := ARRAY(SELECT generate_series(0, length(b)));
	here int[];
BEGIN
	FOR i IN 1 .. length(a) LOOP
		here := ARRAY[i];
		FOR j IN 1 .. length(b) LOOP
			here[j + 1] := least(above[j] + (x[i] <> y[j])::int, above[j + 1] + 1, here[j] + 1);
		END LOOP;
		above := here;
	END LOOP;
	RETURN above[length(b) + 1];
END $$;
CREATE TABLE texts (id int GENERATED ALWAYS AS IDENTITY, value text);
SELECT setseed(0.25);
INSERT INTO texts (value) SELECT coalesce(string_agg(substr('aabcéé猫 ', 1 + floor(random() * 8)::int, 1), ''), '') FROM (SELECT i, generate_series(1, i * 7 % 90) FROM generate_series(0, 89) i) s GROUP BY i ORDER BY i;
SELECT count(*) AS pairs, count(*) FILTER (WHERE a.value <~> b.value <> plain_distance(a.value, b.value)) AS wrong, count(*) FILTER (WHERE a.value <~> b.value <> b.value <~> a.value) AS "not symmetric",
	count(*) FILTER (WHERE a.value @& genie_edit_query(b.value, 20) <> (a.value <~> b.value <= 20)) AS "not within"
	FROM texts a JOIN texts b ON a.id % 5 = b.id % 5;

-- against fuzzystrmatch, which has at most 255 characters
CREATE EXTENSION fuzzystrmatch;
INSERT INTO texts (value) SELECT coalesce(string_agg(substr('acgt猫', 1 + floor(random() * (4 + i % 2))::int, 1), ''), '') FROM (SELECT i, generate_series(1, 50 + i * 205 / 150) FROM generate_series(0, 150) i) s GROUP BY i ORDER BY i;
INSERT INTO texts (value) SELECT overlay(value PLACING 'gg' FROM 20 + id % 20 FOR id % 5) FROM texts WHERE length(value) > 50;
SELECT count(*) > 3000 AS many, max(length(a.value)), count(*) FILTER (WHERE a.value <~> b.value <> levenshtein(a.value, b.value)) AS wrong, count(*) FILTER (WHERE a.value <~> b.value < 10) > 10 AS near FROM texts a, texts b WHERE length(a.value) <= 255 AND length(b.value) <= 255 AND (a.id + b.id) % 20 = 0;
DROP EXTENSION fuzzystrmatch;

-- long texts, toasted ones too
CREATE TABLE long (id int, value text);
ALTER TABLE long ALTER value SET STORAGE EXTERNAL;
INSERT INTO long SELECT i, overlay(repeat('0123456789abcdef', 500) PLACING repeat('x', i) FROM 1000 * i + 1 FOR i) FROM generate_series(1, 7) i;
INSERT INTO long VALUES (8, repeat('0123456789abcdef', 500)), (9, 'xxx' || repeat('0123456789abcdef', 499)), (10, repeat('é', 8000)), (11, repeat('z', 65535)), (12, '');
SELECT a.id, string_agg((a.value <~> b.value)::text, ' ' ORDER BY b.id) FROM long a, long b GROUP BY a.id ORDER BY a.id;
SELECT a.id, string_agg(b.id::text, ' ' ORDER BY b.id) AS "within 9" FROM long a, long b WHERE a.value @& genie_edit_query(b.value, 9) GROUP BY a.id ORDER BY a.id;
SELECT count(*) FROM long WHERE value @& (SELECT genie_edit_query(value, 20) FROM long WHERE id = 8);
SELECT repeat('a', 65535) <~> repeat('b', 65535), repeat('é', 65535) <~> repeat('é', 65535), repeat('a', 65535) <~> 'a', 'a' <~> repeat('a', 65535);

-- errors
SELECT repeat('a', 65536) <~> 'a';
SELECT 'a' <~> repeat('é', 65536);
SELECT 'a' <~> repeat('a', 1000000);
SELECT genie_levenshtein(repeat('猫', 65536), 'a');
SELECT repeat('a', 65536) @& genie_edit_query('a', 1);
SELECT genie_edit_query(repeat('a', 65536), 1);
SELECT 'a' @& ROW(repeat('a', 65536), 1)::genie_edit_query;
SELECT genie_edit_query('a', -1);
SELECT 'a' @& ROW('a', -1)::genie_edit_query;
SELECT 'a' @& ROW(NULL, 1)::genie_edit_query;
SELECT 'a' @& ROW('a', NULL)::genie_edit_query;
-- its type has been altered
BEGIN;
ALTER TYPE genie_edit_query ADD ATTRIBUTE more int;
SELECT 'b' @& ROW('a', 1, 2)::genie_edit_query, genie_edit_query('a', 1);
ROLLBACK;
BEGIN;
ALTER TYPE genie_edit_query ALTER ATTRIBUTE query TYPE int;
SELECT genie_edit_query('a', 1);
ROLLBACK;
BEGIN;
ALTER TYPE genie_edit_query DROP ATTRIBUTE distance;
SELECT 'a' @& ROW('a')::genie_edit_query;
ROLLBACK;
SELECT 'a' @& genie_edit_query('a', 0), 'a' @& genie_edit_query('b', 0), 'a' @& genie_edit_query('b', 2147483647);
-- a state that an error left half made is not used
DO $$
DECLARE
	q text;
BEGIN
	FOREACH q IN ARRAY ARRAY['abc', repeat('a', 65536), 'abd', repeat('a', 65536), 'abc'] LOOP
		BEGIN
			RAISE NOTICE '%', 'abc' <~> q;
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE 'too long';
		END;
	END LOOP;
END $$;
DROP TABLE texts, long;
DROP FUNCTION plain_distance;
