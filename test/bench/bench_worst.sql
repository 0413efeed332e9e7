-- bench_worst.sql: the questions of test/bench/bench_worst; prints a Markdown table.
--
-- Ways of a question are asked by turns, query after query, so that a busy moment strikes all of them.  Times are medians of a query.

CREATE TABLE figures (place serial, question text, way text, ms float8, of_what text);

-- Milliseconds of each statement: the median of the queries, each asked once in each way.  settings: of each way.
CREATE FUNCTION measure(question text, ways text[], settings text[], statements text[], queries text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz;
	taken float8[];
	times jsonb := '[]';
BEGIN
	FOR q IN 1 .. cardinality(queries) LOOP
		FOR w IN 1 .. cardinality(ways) LOOP
			PERFORM set_config(split_part(s, '=', 1), split_part(s, '=', 2), false) FROM unnest(string_to_array(settings[w], ',')) s;
			start := clock_timestamp();
			EXECUTE format(statements[w], queries[q]);
			IF q > 1 THEN		-- the first one warms up
				times := times || jsonb_build_object('w', w, 'ms', 1000 * extract(epoch FROM clock_timestamp() - start));
			END IF;
			PERFORM set_config(split_part(s, '=', 1), 'on', false) FROM unnest(string_to_array(settings[w], ',')) s;
		END LOOP;
	END LOOP;
	INSERT INTO figures (question, way, ms) SELECT question, ways[w], percentile_cont(0.5) WITHIN GROUP (ORDER BY (t->>'ms')::float8)
		FROM generate_subscripts(ways, 1) w, jsonb_array_elements(times) t WHERE (t->>'w')::int = w GROUP BY w ORDER BY w;
END $$;

CREATE FUNCTION nearest(question text, tab text, k int, queries text[]) RETURNS void LANGUAGE sql AS $$
	SELECT measure(question, '{index,"index, without the worker",sequential scan}', '{enable_seqscan=off,"enable_seqscan=off,genie.worker=off",enable_indexscan=off}',
		array_fill(format('SELECT array_agg(d) FROM (SELECT x <~> %%1$L AS d FROM %I ORDER BY x <~> %%1$L LIMIT %s) s', tab, k), '{3}'), queries) $$;

-- ---- edit distance where n-grams tell little, or neighbours are far ----

SELECT setseed(0.5);
CREATE TABLE hex AS SELECT md5(i::text) AS x FROM generate_series(1, 300000) i;
CREATE FUNCTION name() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT initcap(string_agg((string_to_array('an el mar tho is chen wu ri ber son ka lo mi ne ra sa ti vo li da go hu jo ke le mo na pe ro su ta ul ve wi xi yo za', ' '))[1 + floor(37 * random() ^ 2)::int], ''))
	FROM generate_series(1, 2 + floor(random() * 2)::int) n $$;
CREATE TABLE names AS SELECT name() || ' ' || name() AS x FROM generate_series(1, 250000) i;
CREATE FUNCTION mutate(text, share float8) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT string_agg(CASE WHEN random() < share THEN substr('ACGT', 1 + floor(random() * 4)::int, 1) ELSE c END, '') FROM unnest(string_to_array($1, NULL)) c $$;
CREATE TABLE bases AS SELECT i, string_agg(substr('ACGT', 1 + floor(random() * 4)::int, 1), '') AS x FROM generate_series(1, 200) i, generate_series(1, 100) j GROUP BY i;
CREATE TABLE dna AS SELECT mutate(b.x, 0.3) AS x FROM generate_series(1, 45900) s (n), bases b WHERE b.i = 1 + s.n % 200;
CREATE INDEX ON hex USING genie (x genie_edit_ops);
CREATE INDEX ON names USING genie (x genie_edit_ops);
CREATE INDEX ON dna USING genie (x genie_edit_ops);
VACUUM ANALYZE hex, names, dna;
SELECT nearest('300,000 hex strings of 32 characters, 5 nearest by edit distance', 'hex', 5, array_agg(md5('q' || i))) FROM generate_series(1, 12) i \g /dev/null
SELECT nearest('250,000 names, 10 nearest to another name', 'names', 10, array_agg(name() || ' ' || name() || substr(i::text, 2))) FROM generate_series(1, 12) i \g /dev/null
SELECT nearest('45,900 DNA sequences of 100, 30 % of each changed, 5 nearest', 'dna', 5, array_agg(mutate(x, 0.3))) FROM bases WHERE i <= 12 \g /dev/null

-- ---- rows that are dead, and VACUUM has not come ----

CREATE TABLE sets (id serial, x int[]) WITH (autovacuum_enabled = off);
INSERT INTO sets (x) SELECT CASE WHEN i <= 200000 THEN ARRAY[1, 2, 3, 4, 1000 + i] ELSE ARRAY[1, 2, 10 + i % 500, 1000 + i % 5000] END FROM generate_series(1, 600000) i;
CREATE INDEX ON sets USING genie (x);
VACUUM ANALYZE sets;
\set best 'SELECT array_agg(id) FROM (SELECT id FROM sets WHERE %L IS NOT NULL ORDER BY x <&> ''{1,2,3,4}''::int[] LIMIT 10) s'
\set search 'SELECT count(*) FROM genie_search(''sets_x_idx'', array_fill(genie_query(''{1,2,3,4}''::int[]), ''{10}''), 10) s WHERE %L IS NOT NULL'
SELECT measure('600,000 sets, 10 best', '{"before 200,000 best rows are deleted","before, 10 in a call of genie_search"}', '{enable_seqscan=off,enable_seqscan=off}', ARRAY[:'best', :'search'], array_fill('-'::text, '{12}')) \g /dev/null
DELETE FROM sets WHERE id <= 200000;
SELECT measure('600,000 sets, 10 best', '{"afterwards, from the second query on","afterwards, 10 in a call"}', '{enable_seqscan=off,enable_seqscan=off}', ARRAY[:'best', :'search'], array_fill('-'::text, '{12}')) \g /dev/null

-- ---- vectors that wait in the pending list ----

CREATE TABLE vectors (id serial PRIMARY KEY, x real[]) WITH (autovacuum_enabled = off);
INSERT INTO vectors (x) SELECT array_agg(10 * sin(i % 300 * j)::real + random()) FROM generate_series(1, 60000) i, generate_series(1, 128) j GROUP BY i;
CREATE INDEX ON vectors USING genie (x genie_l2_ops) WITH (pending_limit = 65536);
VACUUM ANALYZE vectors;
\set near 'SELECT array_agg(id) FROM (SELECT id FROM vectors ORDER BY x <-> (SELECT x FROM vectors WHERE id = %s) LIMIT 10) s'
SELECT measure('60,000 vectors of 128 dimensions, 10 nearest', '{"nothing pending","nothing pending, without the worker"}', '{enable_seqscan=off,genie.worker=off}', ARRAY[:'near', :'near'], array_agg((i * 97)::text)) FROM generate_series(1, 60) i \g /dev/null
INSERT INTO vectors (x) SELECT array_agg(10 * sin(i % 300 * j)::real + random()) FROM generate_series(1, 1074) i, generate_series(1, 128) j GROUP BY i;
SELECT measure('60,000 vectors of 128 dimensions, 10 nearest', '{"1,074 more pending","1,074 more pending, without the worker"}', '{enable_seqscan=off,genie.worker=off}', ARRAY[:'near', :'near'], array_agg((i * 97)::text)) FROM generate_series(1, 60) i \g /dev/null

-- ---- space ----

CREATE TABLE spaces (id int, x int[]) WITH (autovacuum_enabled = off);
CREATE INDEX ON spaces USING genie (x);
INSERT INTO figures (question, way) VALUES ('100,000 sets, bytes of the index', '');
INSERT INTO spaces SELECT i, ARRAY[i % 100, 100 + i % 1000, 2000 + i] FROM generate_series(1, 100000) i;
REINDEX TABLE spaces;
UPDATE figures SET way = 'rebuilt ' || pg_relation_size('spaces_x_idx') WHERE way = '';
DELETE FROM spaces;
VACUUM spaces;
INSERT INTO spaces SELECT i, ARRAY[i % 100, 100 + i % 1000, 2000 + i] FROM generate_series(1, 100000) i;
VACUUM spaces;
UPDATE figures SET way = way || ', after DELETE, VACUUM, the same INSERT, VACUUM ' || pg_relation_size('spaces_x_idx') WHERE ms IS NULL;

SELECT format('| %s | %s | %s |', question, way, round(ms::numeric, 3)) FROM figures ORDER BY place;
