-- What every client asks (README.md of test, "Clients"): a table with five indexes, and the answers of sequential scans.
CREATE EXTENSION genie;
CREATE TABLE docs (id int, ints int[], tags varchar[], words text[], embedding real[]);
INSERT INTO docs
SELECT i, ARRAY[i % 50, i % 49, i % 47], ARRAY['t' || i % 31, 't' || i % 37]::varchar[], ARRAY['w' || i % 29, 'w' || i % 23, 'w' || i % 19],
	ARRAY[sin(i), cos(i * 3), sin(i * 7), cos(i * i)]::real[] FROM generate_series(1, 5000) i;
CREATE INDEX docs_ints ON docs USING genie (ints);
CREATE INDEX docs_tags ON docs USING genie (tags);
CREATE INDEX docs_words ON docs USING genie (words);
CREATE INDEX docs_pair ON docs USING genie (genie_tuple(ints[1], words[1]));
CREATE INDEX docs_embedding ON docs USING genie (embedding genie_l2_ops);
ANALYZE docs;
CREATE TABLE wanted (question text, ids text);
SET enable_indexscan = off;
SET enable_bitmapscan = off;
INSERT INTO wanted
SELECT 'vector', string_agg(id::text, ',') FROM (SELECT id FROM docs ORDER BY embedding <-> '{0.5,-0.25,0.125,1}'::float8[] LIMIT 3) r
UNION ALL SELECT 'ints', string_agg(id::text, ',') FROM (SELECT id FROM docs ORDER BY ints <&> '{3,6,9}', ctid LIMIT 3) r
UNION ALL SELECT 'tags', string_agg(id::text, ',') FROM (SELECT id FROM docs ORDER BY tags <&> '{t5,t7}', ctid LIMIT 3) r
UNION ALL SELECT 'words', string_agg(id::text, ',') FROM (SELECT id FROM docs WHERE words @& genie_query('{w3,w5,w7}'::text[], 2) ORDER BY id LIMIT 3) r
UNION ALL SELECT 'jaccard', string_agg(id::text, ',') FROM (SELECT id FROM docs WHERE ints @& genie_jaccard_query('{3,6,9}'::int[], 0.5) ORDER BY id LIMIT 3) r
UNION ALL SELECT 'tuple', string_agg(id::text, ',') FROM (SELECT id FROM docs ORDER BY genie_tuple(ints[1], words[1]) <&> genie_tuple_query(7, 'w3'::text), ctid LIMIT 3) r
UNION ALL SELECT 'search', string_agg(id::text, ',') FROM (SELECT id FROM docs ORDER BY embedding <-> '{0.5,-0.25,0.125,1}'::float8[] LIMIT 3) r;
-- candidates enough for the exact answer: these tests are about types and plans
ALTER DATABASE postgres SET genie.candidates = 1000;
