-- Rows that were deleted, before VACUUM comes: scans remember those that are dead to everybody, and pass them over later.
-- Shown by the number of pages that a search looks at, with 2,000 dead rows before the first live one.

CREATE FUNCTION dead_rows_pages(search text) RETURNS int LANGUAGE plpgsql SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || search INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
END $$;

-- the best rows are 4 to a page, so that looking at all of them is looking at 500 pages
SELECT setseed(0.2);
CREATE TABLE dead_rows (id int, a int[], t text, v real[], filler char(1800) DEFAULT '');
INSERT INTO dead_rows SELECT i, ARRAY[1, 2, 3, 100 + i % 5], 'nearest' || i % 5, ARRAY[random(), random(), random()]
FROM generate_series(1, 2000) i;
INSERT INTO dead_rows
SELECT i, ARRAY[1, 200 + i % 50], CASE WHEN i <= 2010 THEN 'nearestly' ELSE 'some other words of many letters ' || i END,
	ARRAY[10 + random(), 10 + random(), 10 + random()]
FROM generate_series(2001, 4000) i;
CREATE INDEX dead_rows_a ON dead_rows USING genie (a);
CREATE INDEX dead_rows_t ON dead_rows USING genie (t genie_edit_ops);
CREATE INDEX dead_rows_v ON dead_rows USING genie (v genie_l2_ops);
SET genie.candidates = 20;

CREATE TABLE dead_rows_searches (n int, search text);
INSERT INTO dead_rows_searches VALUES
	(1, 'SELECT id FROM dead_rows ORDER BY a <&> ''{1,2,3}'' LIMIT 5'),
	(2, 'SELECT id FROM dead_rows ORDER BY a <%> ''{1,2,3}''::int[] LIMIT 5'),
	(3, 'SELECT id FROM dead_rows WHERE a @& genie_query(''{1,2,3}''::int[], 1) ORDER BY a <&> ''{1,2,3}'' LIMIT 5'),
	(4, 'SELECT * FROM genie_search(''dead_rows_a'', ARRAY[genie_query(''{1,2,3}''::int[]), genie_query(''{1,3}''::int[])], 5)'),
	(5, 'SELECT id FROM dead_rows ORDER BY t <~> ''nearest1'' LIMIT 5'),
	(6, 'SELECT id FROM dead_rows ORDER BY v <-> ''{0.5,0.5,0.5}''::real[] LIMIT 5');

-- With nothing dead.  What later searches have is loaded before, so that no loader is just starting, with a snapshot, when they look
-- whether rows are dead to everybody.
DO $$
BEGIN
	IF current_setting('shared_preload_libraries') ~ 'genie' THEN
		PERFORM genie_prewarm(index) FROM (VALUES ('dead_rows_a'), ('dead_rows_t'), ('dead_rows_v')) i (index);
		FOR i IN 1 .. 1000 LOOP
			EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'genie loader' AND datname = current_database());
			PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
		END LOOP;
	END IF;
END $$;
SELECT n, dead_rows_pages(search) > 0 AS searched FROM dead_rows_searches ORDER BY n;
CREATE TABLE dead_rows_before AS SELECT n, dead_rows_pages(search) AS pages FROM dead_rows_searches;
DELETE FROM dead_rows WHERE id <= 2000;
SELECT n, dead_rows_pages(search) > 0 AS searched FROM dead_rows_searches ORDER BY n;
SELECT n, dead_rows_pages(search) > 0 AS searched FROM dead_rows_searches ORDER BY n;
SELECT n, dead_rows_pages(search) <= 3 * pages + 20 AS few_pages FROM dead_rows_searches JOIN dead_rows_before USING (n) ORDER BY n;

-- the answers
SET enable_seqscan = off;
SELECT id, a <&> '{1,2,3}' AS matches FROM dead_rows ORDER BY a <&> '{1,2,3}' LIMIT 3;
SELECT count(*) FROM (SELECT id FROM dead_rows ORDER BY a <&> '{1,2,3}') s;
SELECT count(*) FROM dead_rows WHERE a @& genie_query('{1}'::int[]);
SELECT count(*) FROM genie_search('dead_rows_a', ARRAY[genie_query('{1,2,3}'::int[])], 3000);
SELECT count(*) FROM (SELECT id FROM dead_rows ORDER BY v <-> '{0.5,0.5,0.5}'::real[]) s;
SELECT index, block, violation FROM (VALUES ('dead_rows_a'), ('dead_rows_t'), ('dead_rows_v')) i (index), genie_check(index);

-- hints are not tombstones: VACUUM removes the rows itself, and rows that come then are found
SELECT sum(tombstones) FROM (VALUES ('dead_rows_a'), ('dead_rows_t'), ('dead_rows_v')) i (index), genie_index_info(index);
VACUUM dead_rows;
INSERT INTO dead_rows SELECT i, ARRAY[1, 2, 3, 100 + i % 5], 'nearest' || i % 5, ARRAY[random(), random(), random()]
FROM generate_series(5001, 7000) i;
SELECT count(*), min(id), max(id) FROM (SELECT id FROM dead_rows ORDER BY a <&> '{1,2,3}' LIMIT 2000) s;
SELECT count(*) FROM (SELECT id FROM dead_rows ORDER BY a <&> '{1,2,3}') s;
SELECT count(*) FROM genie_search('dead_rows_a', ARRAY[genie_query('{1,2,3}'::int[])], 5000);
SELECT index, block, violation FROM (VALUES ('dead_rows_a'), ('dead_rows_t'), ('dead_rows_v')) i (index), genie_check(index);

RESET enable_seqscan;
RESET genie.candidates;
DROP TABLE dead_rows, dead_rows_searches, dead_rows_before;
DROP FUNCTION dead_rows_pages(text);
