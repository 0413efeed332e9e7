-- x @& query as a search condition: index scan, bitmap scan, several conditions, together with ORDER BY
CREATE SCHEMA index_condition;
SET search_path = index_condition, public;
SET client_min_messages = warning;

CREATE TABLE t (id int, tags int[], o genie_object) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i,
	CASE WHEN i % 50 = 0 THEN NULL WHEN i % 49 = 0 THEN '{}' ELSE
		ARRAY(SELECT (i * 7919::bigint + j * j * 104729) % (5 + j * 7) FROM generate_series(1, 1 + i % 11) j) END,
	CASE WHEN i % 60 <> 0 THEN genie_tuple(i % 10, 'name ' || i % 7, (i % 5)::numeric / 2, i % 3 = 0) END
	FROM generate_series(1, 2500) i;
CREATE INDEX t_tags ON t USING genie (tags);
CREATE INDEX t_o ON t USING genie (o);
INSERT INTO t SELECT id + 2500, tags, o FROM t WHERE id % 3 = 0;
SELECT genie_merge('t_tags'), genie_merge('t_o');
DELETE FROM t WHERE id % 11 = 0;
VACUUM t;
INSERT INTO t SELECT id + 5000, tags, o FROM t WHERE id % 7 = 0;
DELETE FROM t WHERE id % 23 = 0;

-- Runs a query by index scan, bitmap scan and sequential scan, and compares: without ORDER BY as sets, with it as sequences.
CREATE FUNCTION agree(conditions text, ordering text DEFAULT NULL, lim text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT array_agg(id%s) FROM (SELECT id FROM t WHERE %s %s %s) s', CASE WHEN ordering IS NULL THEN ' ORDER BY id' END,
		conditions, 'ORDER BY ' || ordering, CASE WHEN ordering IS NULL THEN '' ELSE lim END);
	line text;
	plan text;
	rows int[];
	wanted int[];
	result text := '';
BEGIN
	FOR path IN 0 .. CASE WHEN ordering IS NULL THEN 2 ELSE 1 END LOOP
		PERFORM set_config('enable_seqscan', (path = 0)::text, true), set_config('enable_indexscan', (path = 1)::text, true),
			set_config('enable_bitmapscan', (path = 2)::text, true);
		IF path = 0 AND ordering IS NOT NULL THEN
			EXECUTE replace(query, ordering, ordering || ', ctid') INTO rows;
		ELSE
			EXECUTE query INTO rows;
		END IF;
		IF path = 0 THEN
			wanted := rows;
			CONTINUE;
		END IF;
		plan := '';
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
			plan := plan || line;
		END LOOP;
		IF plan ~ 'One-Time Filter: false' THEN
			plan := 'One-Time Filter: false';	-- below it a Sort, or none
		END IF;
		result := result || CASE WHEN rows IS DISTINCT FROM wanted THEN ' WRONG' ELSE '' END ||
			CASE WHEN plan ~ 'Index Scan using.*Index Cond' THEN ' index' WHEN plan ~ 'Bitmap Index Scan.*Index Cond' THEN ' bitmap' ELSE plan END;
	END LOOP;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
	RETURN coalesce(cardinality(wanted), 0) || ' rows:' || result;
END $$;

SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE tags @& genie_query('{1,2,5}'::int[], 2);
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE tags @& genie_query('{1,2,5}'::int[], 2);
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE tags @& genie_query('{1,2,5}'::int[], 2) AND tags @& genie_query('{7,8}'::int[]) ORDER BY tags <&> '{3,4}' LIMIT 5;
RESET enable_seqscan; RESET enable_bitmapscan;

-- min_match: 0 is met by all but NULL, then fewer and fewer, none
SELECT m, agree(format('tags @& genie_query(''{1,2,5,8,11}''::int[], %s)', m)) FROM unnest('{0,1,2,3,4,5,6,100,65535,65536,2147483647}'::int[]) m;
SELECT agree('tags @& genie_query(''{}''::int[], 0)'), agree('tags @& genie_query(''{}''::int[])'), agree('tags @& genie_query(''{-5}''::int[])');
SELECT agree('tags @& NULL::genie_query');
SELECT agree('tags @& (SELECT NULL::genie_query)');
SELECT agree('tags @& genie_query(''{[0,100)}''::int4multirange)'), agree('tags @& genie_with_min_match(genie_query(''{[3,6),[9,12)}''::int8multirange), 3)');

-- thresholds: the Jaccard similarity to the query's keywords
SELECT s, agree(format('tags @& ''{0:int:1,0:int:2,0:int:5,0:int:8}@0%%%s''', s)), agree(format('tags @& ''{0:int:1,0:int:2,0:int:5,0:int:8}@2%%%s''', s))
	FROM unnest('{0,0.1,0.25,0.5,0.75,1}'::text[]) s;
SELECT s, agree(format('tags @& ''{}%%%s''', s)), agree(format('tags @& ''{}@1%%%s''', s)), agree(format('tags @& ''{0:int:-5}%%%s''', s)), agree(format('o @& ''{1:int:3,2:text:"name 3",4:bool:true}%%%s''', s))
	FROM unnest('{0,0.1,0.5,1}'::text[]) s;
SELECT agree('tags @& ''{0:int:1,0:int:2}%0.3'' AND tags @& ''{0:int:1,0:int:2,0:int:3}%0.2'' AND tags @& ''{0:int:1}@1'''),
	agree('tags @& ANY (ARRAY[''{0:int:1,0:int:5}%0.3'', ''{0:int:8}'', NULL]::genie_query[])');

-- objects
SELECT agree('o @& genie_tuple_query(3, ''name 3'')'), agree('o @& genie_tuple_query(int4range(2, 5), ARRAY[''name 3'', ''name 4''], numrange(1, 2, ''[]''))'),
	agree('o @& genie_with_min_match(genie_tuple_query(3, ''name 3'', 1.5, true), 3)'), agree('o @& genie_tuple_query(NULL::int)'),
	agree('o @& genie_query(genie_tuple(3, ''name 3''))');

-- several conditions: AND within one scan, OR as BitmapOr, with another column's
SELECT agree('tags @& genie_query(''{1,2}''::int[]) AND tags @& genie_query(''{5,8,9}''::int[], 2)'),
	agree('tags @& genie_query(''{1,2}''::int[]) AND tags @& genie_query(''{}''::int[])'),
	agree('tags @& genie_query(''{1,2}''::int[], 0) AND tags @& genie_query(''{5}''::int[]) AND tags @& genie_query(''{[0,4)}''::int4multirange)'),
	agree('tags @& genie_query(''{1,2}''::int[]) AND tags @& (SELECT NULL::genie_query)');
SET enable_seqscan = off; SET enable_indexscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE tags @& genie_query('{1,2}'::int[], 2) OR o @& genie_tuple_query(3, 'name 3');
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE tags @& genie_query('{1,2}'::int[], 2) AND o @& genie_tuple_query(3, 'name 3') AND id > 100;
WITH by_index AS MATERIALIZED (SELECT id FROM t WHERE tags @& genie_query('{1,2}'::int[], 2) OR o @& genie_tuple_query(3, 'name 3'))
SELECT count(*), count(*) = (SELECT count(*) FROM t WHERE genie_match_count(tags, genie_query('{1,2}'::int[])) >= 2
	OR genie_match_count(o, genie_tuple_query(3, 'name 3')) >= 2) AS same FROM by_index;
RESET enable_seqscan; RESET enable_indexscan;

-- any of several queries: the server asks the index for each
SELECT agree('tags @& ANY (ARRAY[''{0:int:1,0:int:5}@2'', ''{0:int:8}'', NULL]::genie_query[])');

-- lossy bitmap pages are rechecked
CREATE TABLE lossy AS SELECT i AS id, ARRAY[i % 2, i % 3, 1000 + i] AS tags, repeat('x', 300) AS filler FROM generate_series(1, 10000) i;
CREATE INDEX ON lossy USING genie (tags);
SET work_mem = 64; SET enable_seqscan = off; SET enable_indexscan = off;
SELECT count(*), count(*) FILTER (WHERE NOT tags @& genie_query('{0,1}'::int[], 2)) AS wrong FROM lossy WHERE tags @& genie_query('{0,1}'::int[], 2);
RESET work_mem; RESET enable_seqscan; RESET enable_indexscan;
SELECT count(*) FROM lossy WHERE genie_match_count(tags, genie_query('{0,1}'::int[])) >= 2;

-- with ORDER BY, of the same query and of another; NULL ranks never
SELECT lim, agree('tags @& genie_query(''{1,2,5}''::int[], 2)', 'tags <&> ''{1,2,5}''', lim), agree('tags @& genie_query(''{1,2,5}''::int[], 2)', 'tags <&> ''{3,4,7}''', lim)
	FROM unnest('{"LIMIT 1","LIMIT 70","LIMIT 70 OFFSET 50",""}'::text[]) lim;
SELECT agree('tags @& genie_query(''{1,2}''::int[], 0)', 'tags <&> ''{3,4}'''), agree('tags @& genie_query(''{-1}''::int[])', 'tags <&> ''{3,4}'''),
	agree('tags @& genie_query(''{1,2}''::int[]) AND tags @& genie_query(''{5,8,9}''::int[], 2) AND id % 2 = 0', 'tags <&> ''{4,1}''', 'LIMIT 12'),
	agree('tags @& ''{0:int:1,0:int:2,0:int:3}%0.2''', 'tags <&> ''{3,4}'''), agree('tags @& ''{0:int:1,0:int:2,0:int:3}%0.2''', 'tags <&> ''{1,2,3}''', 'LIMIT 20'),
	agree('tags @& genie_query(''{1,2}''::int[])', 'tags <&> (SELECT NULL::int[])'), agree('tags @& (SELECT NULL::genie_query)', 'tags <&> ''{1}''');
SELECT agree('o @& genie_tuple_query(int4range(2, 5), NULL, 1.0)', 'o <&> genie_tuple(4, ''name 1'', 1.0, true)', 'LIMIT 100');

-- joins: the condition's query comes from another table
SET enable_seqscan = off; SET enable_hashagg = off;
CREATE TABLE q (n int, query genie_query);
INSERT INTO q SELECT n, genie_query(ARRAY[n, n + 3, n + 5], n % 4) FROM generate_series(1, 12) n;
INSERT INTO q VALUES (13, NULL);
EXPLAIN (COSTS OFF) SELECT n, count(*) FROM q JOIN t ON t.tags @& q.query GROUP BY n;
RESET enable_hashagg;
SELECT n, (SELECT count(*) FROM t WHERE tags @& query) AS by_index, (SELECT count(*) FROM t WHERE genie_match_count(tags, query) >= n % 4) AS wanted FROM q ORDER BY n;
SELECT n, count(*) FROM q JOIN t ON t.tags @& q.query WHERE n < 4 GROUP BY n ORDER BY n;
SELECT count(*) FROM q WHERE EXISTS (SELECT FROM t WHERE t.tags @& genie_with_min_match(q.query, 3));
RESET enable_seqscan;

-- a bitmap scan reports how many rows it took from the index, here several hundred
CREATE FUNCTION reported(query text, OUT rows int) LANGUAGE plpgsql SET enable_seqscan = off SET enable_indexscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || query INTO plan;
	rows := (plan->0->'Plan'->'Plans'->0->>'Actual Rows')::numeric;
END $$;
CREATE TABLE counted AS SELECT ARRAY[i % 2, i] AS tags FROM generate_series(1, 1400) i;
CREATE INDEX ON counted USING genie (tags);
SELECT reported('SELECT FROM counted WHERE tags @& genie_query(''{1}''::int[])') AS half, reported('SELECT FROM counted WHERE tags @& genie_query(''{0,1}''::int[])') AS whole;

-- UPDATE and DELETE that find their rows by the index
SET enable_seqscan = off;
UPDATE t SET tags = tags || 77777 WHERE tags @& genie_query('{1,2,5}'::int[], 3);
SELECT count(*), count(*) FILTER (WHERE tags @& genie_query('{1,2,5}'::int[], 3)) AS matching FROM t WHERE tags @& genie_query('{77777}'::int[]);
DELETE FROM t WHERE tags @& genie_query('{77777}'::int[]);
SELECT count(*) FROM t WHERE tags @& genie_query('{1,2,5}'::int[], 3);
SET enable_indexscan = off; SET enable_bitmapscan = off;
SELECT count(*) FROM t WHERE tags @& genie_query('{1,2,5}'::int[], 3);
RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan;

SELECT * FROM genie_check('t_tags') UNION ALL SELECT * FROM genie_check('t_o');
RESET search_path;
DROP SCHEMA index_condition CASCADE;
