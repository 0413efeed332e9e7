-- JSON documents as sets of their paths with the values there
CREATE SCHEMA json;
SET search_path = json, public;
SET client_min_messages = warning;

CREATE FUNCTION leaves(document jsonb) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT substr(l, 9, length(l) - 9) FROM regexp_split_to_table(btrim(genie_jsonb(document)::text, '{}'), ',(?=0:text:)') l WHERE l <> '' $$;
SELECT leaves('{"name": "pump", "size": [1, 2.50, "2.5"], "parts": [{"id": 1, "tags": []}, {"id": 2, "spare": {}}], "used": false, "note": null}');
SELECT genie_jsonb('5') AS number, genie_jsonb('"5"') AS string, genie_jsonb('null') AS null, genie_jsonb('[]') AS array, genie_jsonb('{}') AS object, genie_jsonb('[[],[[]]]') AS nested, genie_jsonb(NULL) IS NULL AS none;

-- the order of elements and keys, repetitions, and how a number is written do not count; types, keys and nesting do
SELECT a <&> b AS order, genie_jsonb(a) = genie_jsonb(b) AS equal, a, b FROM (VALUES ('[1, 2]'::jsonb, '[2, 1, 2]'::jsonb), ('{"a": 1, "b": 2}', '{"b": 2.0, "a": 1e0}'), ('[10, -0.50]', '[1e1, -5e-1]'), ('{"a": 1}', '{"a": "1"}'), ('{"a": 1}', '{"b": 1}'),
	('{"a": [1]}', '{"a": 1}'), ('{"a": {"b": 1}}', '{"a.b": 1}'), ('{"a": {"b": 1}}', '{"a\".\"b": 1}'), ('{"a": null}', '{}'), ('{"": ""}', '{"": ""}'), ('[{"a": 1}, {"b": 2}]', '[{"a": 1, "b": 2}]'), ('[[1], 2]', '[1, [2]]'),
	('["true", "null", "[]"]', '[true, null, []]'), ('{"é": "日本"}', '{"\u00e9": "\u65e5\u672c"}'), ('[0]', '[-0.000]')) v (a, b);
SELECT genie_match_count('{"a": 1, "b": 2, "c": 3}'::jsonb, '{"a": 1, "b": 3, "c": 3}'), genie_match_count('{"a": 1, "b": 2}'::jsonb, '{0:text:"$.\"a\" = 1",0:text:"$.\"x\" = 1"}'::genie_query);
SELECT '{"a": 1, "b": 2}'::jsonb <&> '{"b": 2}' AS literal, (NULL::jsonb <&> '{}') IS NULL AS no_left, ('{}'::jsonb @& NULL) IS NULL AS no_query;
SELECT genie_query('{"a": 1, "b": [true]}'::jsonb) AS two, genie_query('1'::jsonb, 0) AS none;
SELECT genie_query('1'::jsonb, -1);
SELECT '{"a": 1, "b": 2}'::jsonb @& genie_query('{"a": 1, "b": 2, "c": 3}'::jsonb, n) AS matches FROM generate_series(0, 3) n;
SELECT '{"a": 1}'::jsonb <&> '{0:int:1}'::genie_query;

-- large, long and deep documents
SELECT j <&> '[1, 65535, 65536]' AS most FROM (SELECT jsonb_agg(i) AS j FROM generate_series(1, 65535) i) d;
SELECT genie_jsonb(jsonb_agg(i)) FROM generate_series(1, 65536) i;
SELECT genie_jsonb(jsonb_agg(1)) AS repeated FROM generate_series(1, 300000) i;
SELECT genie_match_count(jsonb_build_object(k, k || 'x'), jsonb_build_object(k, k || 'x')) AS same, genie_match_count(jsonb_build_object(k, k || 'x'), jsonb_build_object(k, k || 'y')) AS other FROM repeat('k', 100000) k;
SELECT d <&> d AS count FROM (SELECT (repeat('[{"a":', 1000) || '1' || repeat('},2]', 1000))::jsonb AS d) d;
SELECT genie_jsonb('1e1000') = genie_jsonb(('1' || repeat('0', 1000))::jsonb) AS number, genie_jsonb('1e-1000') = genie_jsonb('1e-1001') AS other;

-- random documents against the definition in SQL
CREATE FUNCTION random_json(depth int) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	how int := (random() * CASE WHEN depth > 3 THEN 5 ELSE 9 END)::int;
BEGIN
	RETURN CASE
		WHEN how = 0 THEN 'null'
		WHEN how = 1 THEN to_jsonb(random() < 0.5)
		WHEN how <= 3 THEN to_jsonb(round((random() * 3)::numeric, (random() * 2)::int))
		WHEN how <= 5 THEN to_jsonb((ARRAY['', 'a', E'"\\\n', 'é', '$[*]', '1'])[1 + (random() * 5)::int])
		WHEN how <= 7 THEN (SELECT coalesce(jsonb_agg(random_json(depth + 1)), '[]') FROM generate_series(1, (random() * 4)::int))
		ELSE (SELECT coalesce(jsonb_object_agg((ARRAY['a', 'b', '', '"', 'é.'])[i], random_json(depth + 1)), '{}') FROM generate_series(1, 5) i WHERE random() < 0.5) END;
END $$;
CREATE FUNCTION defined(document jsonb) RETURNS genie_object LANGUAGE sql AS $$
	WITH RECURSIVE part AS (
		SELECT '$' AS path, document AS value
		UNION ALL
		SELECT p.path || s.step, s.value FROM part p, LATERAL (
			SELECT '[*]' AS step, e AS value FROM jsonb_array_elements(CASE jsonb_typeof(p.value) WHEN 'array' THEN p.value ELSE '[]' END) e
			UNION ALL SELECT '.' || to_jsonb(key)::text, o.value FROM jsonb_each(CASE jsonb_typeof(p.value) WHEN 'object' THEN p.value ELSE '{}' END) o) s
	), leaf AS (
		SELECT path || ' = ' || CASE jsonb_typeof(value) WHEN 'number' THEN trim_scale(value::numeric)::text ELSE value::text END AS leaf FROM part
		WHERE jsonb_typeof(value) NOT IN ('array', 'object') OR value IN ('[]', '{}')
	)
	SELECT ('{' || string_agg('0:text:"' || replace(replace(leaf, '\', '\\'), '"', '\"') || '"', ',') || '}')::genie_object FROM leaf $$;
CREATE TABLE docs (id int, doc jsonb, o genie_object);
SELECT setseed(0.75);
INSERT INTO docs SELECT id, d, defined(d) FROM (SELECT id, random_json(0) AS d FROM generate_series(1, 1000) id OFFSET 0) r;
SELECT count(*), count(*) FILTER (WHERE genie_jsonb(doc) IS DISTINCT FROM o) AS wrong FROM docs;
SELECT count(*), count(*) FILTER (WHERE a.doc <&> b.doc <> a.o <&> b.o) AS wrong, min(a.doc <&> b.doc) < -10 AS many FROM docs a, docs b WHERE b.id <= 100;

SELECT '{"a": 1, "b": 2}'::jsonb <%> '{"a": 1, "b": 3}' AS distance, '[1, 1]'::jsonb <%> '[1]' AS same, genie_jaccard_query('{"a": 1}'::jsonb, 0.5) AS query;
SELECT genie_jaccard_query('{"a": 1}'::jsonb, 'NaN');
SELECT count(*) FILTER (WHERE a.doc <%> b.doc <> a.o <%> b.o OR a.doc @& genie_jaccard_query(b.doc, 0.2) <> (a.o @& genie_jaccard_query(b.o, 0.2))) AS wrong,
	count(*) FILTER (WHERE a.doc @& genie_jaccard_query(b.doc, 0.2)) > 100 AS some FROM docs a, docs b WHERE b.id <= 100;

-- through an index of the type, and of the expression
INSERT INTO docs VALUES (1001, NULL);
CREATE INDEX docs_doc ON docs USING genie (doc);
CREATE INDEX docs_object ON docs USING genie (genie_jsonb(doc));
INSERT INTO docs SELECT 2000 + id, doc FROM docs WHERE id % 10 = 0;
CREATE FUNCTION agree(ordering text, condition text DEFAULT 'true') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM docs WHERE %s ORDER BY %s', condition, ordering);
	by_index int[];
	by_table int[];
BEGIN
	SET LOCAL enable_bitmapscan = off;
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	EXECUTE format('SELECT array_agg(id) FROM (%s) s', query) INTO by_index;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_sort = on;
	EXECUTE format('SELECT array_agg(id) FROM (%s, ctid) s', query) INTO by_table;
	SET LOCAL enable_indexscan = on;
	RETURN CASE WHEN by_index IS NOT DISTINCT FROM by_table THEN 'agree' ELSE 'differs: ' || query END;
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs ORDER BY doc <&> '{"a": 1}' LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE genie_jsonb(doc) @& genie_query('{"a": [1]}'::jsonb) ORDER BY genie_jsonb(doc) <&> genie_jsonb('{"a": 1}') LIMIT 3;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT agree(format('doc <&> %L', doc)), agree(format('genie_jsonb(doc) <&> genie_jsonb(%L)', doc)), agree(format('doc <&> %L', doc), format('doc @& genie_query(%L::jsonb, %s)', doc, id % 3)), agree(format('doc <%%> %L', doc)), agree(format('doc <%%> %L', doc), format('doc @& genie_jaccard_query(%L::jsonb, 0.5)', doc)), count(*) FROM docs WHERE id <= 1000 AND id % 50 = 0 GROUP BY 1, 2, 3, 4, 5;
SELECT * FROM genie_check('docs_doc');
DROP SCHEMA json CASCADE;
