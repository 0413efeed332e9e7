-- documents: tsvector as a set of lexemes, asked by a tsvector, a tsquery or a genie_query
CREATE SCHEMA document;
SET search_path = document, public;
SET client_min_messages = warning;

-- lexemes count once, without positions and weights
SELECT 'a:1,5 b:2A c:3'::tsvector <&> 'c:9C b x'::tsvector AS shared, 'a b' <&> 'a b c'::tsvector AS literal, ''::tsvector <&> '' AS empty, 'a'::tsvector <&> '' AS nothing;
SELECT genie_match_count('a b c'::tsvector, 'b c d'::tsvector), genie_match_count('a b c'::tsvector, 'b & d'::tsquery), genie_match_count('a b c'::tsvector, '{0:text:[b,d)}'::genie_query);
SELECT (NULL::tsvector <&> 'a'::tsvector) IS NULL AS no_left, ('a'::tsvector <&> NULL::tsquery) IS NULL AS no_right, ('a'::tsvector @& NULL::genie_query) IS NULL AS no_query;

-- a tsquery asks for its lexemes that are not negated, whatever connects them; a prefix asks for every lexeme that begins with it
CREATE TABLE document_query (n serial, q tsquery);
INSERT INTO document_query (q) VALUES ('a'), ('a & b'), ('a | b'), ('a <-> b'), ('a <2> b & !c'), ('!a'), ('!!a'), ('!(a & !b)'), ('!(a | b) & !(c & !(d | !e))'), ('a:A & b:BC'), ('a & a & (a | b)'),
	('fo:*'), ('fo:*A | foo'), ('!fo:* & a'), ('fo:* | foob:* | g'), ('é:*'), (E'\U0010FFFF:*'), (''), ('''two words'' & ''it''''s''');
SELECT q, left(genie_query(q, n)::text, 50) AS query, 'a b fo foo foob fop'::tsvector <&> q AS order FROM document_query ORDER BY n;
SELECT genie_query('b:2 a:1'::tsvector), genie_query('b a'::tsvector, 2), genie_query(''::tsvector, 0);
SELECT genie_query('a'::tsvector, -1);
SELECT genie_query('a'::tsquery, -1);
SELECT 'a b c'::tsvector @& genie_query('a | b | x'::tsquery, n) AS matches FROM generate_series(0, 3) n;

-- prefixes and their neighbours
SELECT string_agg(l, ' ' ORDER BY l COLLATE "C") AS found FROM unnest(ARRAY['fo', 'f', 'fn', 'fp', 'fo~', 'foé', 'fo' || chr(1114111), repeat('fo', 70)]) l WHERE array_to_tsvector(ARRAY['x', l]) <&> 'fo:*'::tsquery = -1;
SELECT p, l FROM unnest(ARRAY['é', chr(1114111), chr(127), '~', '}']) p, unnest(ARRAY['é', 'éa', 'ê', 'è', 'éé', chr(1114111), chr(1114111) || chr(1114111), chr(1114110), '~', chr(127), chr(128), '~' || chr(127), '}a', '|']) l
	WHERE array_to_tsvector(ARRAY[l]) <&> (quote_literal(p) || ':*')::tsquery < 0 IS DISTINCT FROM l LIKE p || '%';
SELECT p, genie_match_count(array_to_tsvector(ARRAY[repeat('x', 127), repeat('x', 128), repeat('x', 129), repeat('x', 127) || 'é', repeat('x', 127) || 'y', repeat('x', 127) || 'yz', repeat('x', 2000)]), (repeat('x', p) || ':*')::tsquery) FROM unnest('{126,127,128}'::int[]) p;
SELECT genie_query((repeat('x', 129) || ':*')::tsquery);
SELECT 'a'::tsvector <&> (repeat('x', 129) || ':*')::tsquery;
SELECT genie_query((repeat('x', 127) || 'é:*')::tsquery);
SELECT q::text::genie_query::text = q::text AS text, genie_match_count('éa ê z'::tsvector, q::text::genie_query) FROM genie_query('é:* | z'::tsquery) q;

-- long lexemes are compared by their beginning and a hash
SELECT array_to_tsvector(ARRAY[repeat('x', 2046), repeat('x', 2045) || 'y', 'a']) <&> array_to_tsvector(ARRAY[repeat('x', 2046), repeat('x', 2044)]) AS long, genie_match_count(array_to_tsvector(ARRAY[repeat('x', 2046)]), (repeat('x', 2046) || ' | b')::tsquery);

-- the query's other types; too many lexemes
SELECT 'a b'::tsvector <&> '{0:int:1}'::genie_query;
SELECT 'a b'::tsvector <&> '{1:int:1}'::genie_query AS other_dimension;
SELECT array_to_tsvector(array_agg(i::text)) <&> '65535 | 65536 | 1' AS most FROM generate_series(1, 65535) i;
SELECT array_to_tsvector(array_agg(i::text)) <&> '65535 | 65536 | 1'::tsquery AS most FROM generate_series(1, 65535) i;
SELECT array_to_tsvector(array_agg(i::text)) <&> '1' FROM generate_series(1, 65536) i;

-- the same counts in plain SQL: random documents and queries
CREATE TABLE document (id int, words text[], body tsvector);
SELECT setseed(0.5);
INSERT INTO document SELECT i, words, array_to_tsvector(words) FROM (SELECT i, array_agg(DISTINCT CASE WHEN random() < 0.1 THEN repeat('long', 40) ELSE '' END || 'w' || (200 * random() * random())::int) AS words
	FROM generate_series(1, 3000) i, generate_series(1, 1 + i % 12) GROUP BY i) d;
INSERT INTO document VALUES (0, NULL, NULL), (-1, '{}', '');
SELECT count(*) AS pairs, count(*) FILTER (WHERE a.body <&> b.body <> -(SELECT count(*) FROM unnest(a.words) w WHERE w = ANY (b.words))) AS wrong
	FROM document a, document b WHERE a.id < 300 AND b.id BETWEEN 100 AND 200;
SELECT count(*) AS pairs, count(*) FILTER (WHERE genie_match_count(a.body, (b.words[1] || ' | ' || b.words[2] || ' & !' || b.words[3] || ' <-> ' || b.words[4] || ':*')::tsquery) <>
	(SELECT count(*) FROM unnest(a.words) w WHERE w IN (b.words[1], b.words[2]) OR w LIKE b.words[4] || '%')) AS wrong
	FROM document a, document b WHERE a.id > 0 AND b.id BETWEEN 1 AND 200 AND length(b.words[4]) <= 128;

-- Jaccard distance and thresholds: as of the arrays of words
SELECT 'a b c'::tsvector <%> 'b:1 c:2A d' AS half, 'a'::tsvector <%> 'a' AS same, ''::tsvector <%> '' AS empty, ''::tsvector <%> 'a' AS none, genie_jaccard_query('a b'::tsvector, 0.25) AS query;
SELECT genie_jaccard_query('a b'::tsvector, 1.25);
SELECT count(*) FILTER (WHERE a.body <%> b.body <> a.words <%> b.words OR a.body @& genie_jaccard_query(b.body, 0.2) <> a.words @& genie_jaccard_query(b.words, 0.2)) AS wrong,
	count(*) FILTER (WHERE a.body @& genie_jaccard_query(b.body, 0.2)) > 100 AS some FROM document a, document b WHERE a.id < 300 AND b.id BETWEEN 100 AND 200;

-- and through an index, with rows in segments and pending
-- Compares the order by an index scan with that of a sequential scan, where ties come by ctid.
CREATE FUNCTION agree(ordering text, condition text DEFAULT 'true') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM document WHERE %s ORDER BY %s', condition, ordering);
	plan text;
	by_index int[];
	by_table int[];
BEGIN
	PERFORM set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	EXECUTE format('SELECT array_agg(id) FROM (%s) s', query) INTO by_index;
	PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true);
	EXECUTE format('SELECT array_agg(id) FROM (%s, ctid) s', query) INTO by_table;
	PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
	RETURN CASE WHEN plan !~ 'Index Scan' THEN plan WHEN by_index IS DISTINCT FROM by_table THEN 'differs: ' || query ELSE 'agree' END;
END $$;
CREATE INDEX document_idx ON document USING genie (body);
INSERT INTO document SELECT 5000 + id, words, body FROM document WHERE id % 7 = 0;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM document ORDER BY body <&> 'w1 | w2'::tsquery LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM document WHERE body @& genie_query('w1 & w2'::tsquery, 2) ORDER BY body <&> 'w1 w2'::tsvector LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM document ORDER BY body <%> 'w1 w2' LIMIT 3;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT agree(format('body <&> %L::tsquery', q)), count(*) FROM unnest('{w1 | w2 & w3,w1:*,w1:* & !w2:* | longlong:*,x,!x}'::text[]) q GROUP BY 1;
SELECT agree(format('body <&> %L::tsvector', body)), count(*) FROM document WHERE id BETWEEN 1 AND 20 GROUP BY 1;
SELECT agree('body <&> ''w5 | w6 | w7:*''::tsquery', format('body @& genie_query(%L::tsquery, %s)', q, n)), count(*)
	FROM (VALUES ('w1 | w2 & w3', 2), ('w1:*', 3), ('longlong:*', 1), ('x', 0)) v (q, n) GROUP BY 1;
SELECT agree(format('body <&> %L::tsvector', body), format('body @& genie_jaccard_query(%L::tsvector, 0.25)', body)), count(*) FROM document WHERE id BETWEEN 1 AND 20 GROUP BY 1;
SELECT agree(format('body <%%> %L::tsvector', body)), agree(format('body <%%> %L::tsvector', body), format('body @& genie_jaccard_query(%L::tsvector, 0.25)', body)), count(*) FROM document WHERE id BETWEEN -1 AND 20 AND body IS NOT NULL GROUP BY 1, 2;
SELECT id, body <&> 'w3:* & w10'::tsquery AS count FROM document WHERE id > 0 ORDER BY body <&> 'w3:* & w10'::tsquery, id LIMIT 3;
SELECT count(*) = (SELECT count(*) FROM document) AS all FROM genie_search('document_idx', ARRAY[genie_query('w1'::tsvector)], 10000);
CREATE INDEX document_gin ON document USING gin (body);
SELECT count(*) = (SELECT count(*) FROM document WHERE body @@ 'w1 & w2') AS "as GIN" FROM document WHERE body @& genie_query('w1 & w2'::tsquery, 2);
SELECT * FROM genie_check('document_idx');

-- every text search configuration
CREATE TABLE document_text (body text);
INSERT INTO document_text VALUES ('The quick brown foxes jumped over the lazy dog''s back, didn''t they? 3.14 https://example.org/a/b?c=d a@b.org'),
	('Über den Wolken muß die Freiheit wohl grenzenlos sein; die Wölfe heulten'), ('Los zorros marrones saltaron sobre los perros perezosos'), ('Les élèves étudiaient à l''école'),
	('Съешь же ещё этих мягких французских булок'), ('Η γρήγορη καφέ αλεπού'), ('quick foxes'), (''), ('日本語 テキスト'), ('a-b-c /usr/lib x_y foo-bar-baz');
SELECT count(*) > 0 AS some, count(*) FILTER (WHERE d.v <&> q.v <> -(SELECT count(*) FROM unnest(tsvector_to_array(d.v)) l WHERE l = ANY (tsvector_to_array(q.v)))) AS wrong,
	count(*) FILTER (WHERE d.v <&> q.t <> -(SELECT count(*) FROM unnest(tsvector_to_array(d.v)) l WHERE l = ANY (tsvector_to_array(q.v)))) AS wrong_query
	FROM pg_ts_config c, LATERAL (SELECT to_tsvector(c.oid::regconfig, body) v FROM document_text) d, LATERAL (SELECT to_tsvector(c.oid::regconfig, body) v, plainto_tsquery(c.oid::regconfig, body) t FROM document_text) q;
SELECT to_tsvector('english', 'The foxes are running') <&> to_tsquery('english', 'fox & runs & the') AS stemmed, to_tsvector('english', 'The foxes are running') <&> to_tsvector('english', 'a fox ran') AS shared,
	to_tsvector('simple', 'The foxes') <&> websearch_to_tsquery('simple', '"the foxes" -dog or cat') AS websearch;
DROP SCHEMA document CASCADE;
