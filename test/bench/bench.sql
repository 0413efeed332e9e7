-- bench.sql: how the SQL benchmark measures (test/bench/bench calls these)
--
-- Methods, each alone with its index:
--	genie		ORDER BY kw <&> q, index scan
--	seq			the same, sequential scan with two parallel workers
--	intarray	ORDER BY icount(kw & q) DESC, sequential scan with two parallel workers over sorted int[]
--	gin			kw && q, counted and sorted; RUM's and GIN's plans are forced by settings, and checked
--	rum			kw && q ORDER BY kw <=> q (another measure: only its time is compared)
--
-- A query is prepared once (generic plan).  Time is clock_timestamp() around its execution in the server, over queries
-- taken from the rows by a fixed hash; three run before the clock.  Values are the 50th, 95th and 99th percentiles.

CREATE SCHEMA intarray;
CREATE EXTENSION intarray SCHEMA intarray;
ALTER DATABASE postgres SET search_path = public, intarray;
ALTER DATABASE postgres SET client_min_messages = warning;

CREATE TABLE bench_results (dataset text, method text, place int, metric text, value text);

CREATE FUNCTION bench_note(dataset text, method text, place int, metric text, value numeric, digits int) RETURNS void
LANGUAGE sql AS $$
	INSERT INTO bench_results VALUES (dataset, method, place, metric, trim(to_char(round(value, digits), CASE digits WHEN 0 THEN '999,999,999' WHEN 1 THEN '999,990.0' ELSE '999,990.00' END)))
$$;

CREATE FUNCTION bench_is_int() RETURNS boolean LANGUAGE sql AS $$ SELECT to_regclass('rows_int') IS NULL $$;

CREATE FUNCTION bench_table(method text) RETURNS text
LANGUAGE sql AS $$ SELECT CASE WHEN method = 'intarray' AND NOT bench_is_int() THEN 'rows_int' ELSE 'rows' END $$;

-- the queries, and for intarray the same with words as numbers
CREATE FUNCTION bench_queries(n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF bench_is_int() THEN
		CREATE TABLE queries AS SELECT row_number() OVER () AS n, kw AS q, kw AS q_int
		FROM (SELECT kw FROM rows ORDER BY md5(id::text) LIMIT bench_queries.n) r;
	ELSE
		CREATE TABLE queries AS SELECT row_number() OVER () AS n, words AS q, kw AS q_int
		FROM (SELECT kw, words FROM rows_int ORDER BY md5(id::text) LIMIT bench_queries.n) r;
		ALTER TABLE rows_int DROP COLUMN words;
		CREATE TABLE copied AS SELECT * FROM rows_int;		-- narrow rows for the scan
		DROP TABLE rows_int;
		ALTER TABLE copied RENAME TO rows_int;
	END IF;
END $$;

CREATE FUNCTION bench_settings(method text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('plan_cache_mode', 'force_generic_plan', false);
	PERFORM set_config('max_parallel_workers_per_gather', '2', false);
	PERFORM set_config('min_parallel_table_scan_size', '0', false);
	PERFORM set_config('parallel_setup_cost', '0', false);
	PERFORM set_config('parallel_tuple_cost', '0', false);
	IF method IN ('genie', 'gin', 'rum') THEN
		PERFORM set_config('enable_seqscan', 'off', false);
	END IF;
	IF method = 'rum' THEN
		PERFORM set_config('enable_bitmapscan', 'off', false);
	END IF;
END $$;

CREATE FUNCTION bench_index(method text, tab text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE method WHEN 'genie' THEN format('CREATE INDEX %1$s_genie ON %1$s USING genie (kw)', tab)
		WHEN 'gin' THEN format('CREATE INDEX %1$s_gin ON %1$s USING gin (kw)', tab)
		WHEN 'rum' THEN format('CREATE INDEX %1$s_rum ON %1$s USING rum (kw rum_anyarray_ops)', tab) END
$$;

CREATE FUNCTION bench_drop(method text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DROP INDEX IF EXISTS rows_%s', method);
END $$;

-- median of three builds (RUM: one)
CREATE FUNCTION bench_build(dataset text, method text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz;
	seconds float8[] = '{}';
BEGIN
	IF bench_index(method, 'rows') IS NULL THEN
		RETURN;
	END IF;
	FOR i IN 1 .. CASE method WHEN 'rum' THEN 1 ELSE 3 END LOOP
		PERFORM bench_drop(method);
		started = clock_timestamp();
		EXECUTE bench_index(method, 'rows');
		seconds = seconds || extract(epoch FROM clock_timestamp() - started)::float8;
	END LOOP;
	PERFORM bench_note(dataset, method, 1, 'build, s', (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY s) FROM unnest(seconds) s)::numeric, 2);
	PERFORM bench_note(dataset, method, 2, 'index size, MiB', pg_relation_size('rows_' || method) / 1048576.0, 1);
END $$;

CREATE FUNCTION bench_query(method text, k int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	shares CONSTANT text = 'kw OPERATOR(pg_catalog.&&) $1';
	icount CONSTANT text = 'icount(kw OPERATOR(intarray.&) $1) DESC';
BEGIN
	RETURN format('SELECT id FROM %s %s LIMIT %s', bench_table(method),
		CASE method
			WHEN 'intarray' THEN 'ORDER BY ' || icount
			WHEN 'gin' THEN 'WHERE ' || shares || ' ORDER BY ' || CASE WHEN bench_is_int() THEN icount ELSE 'kw <&> $1' END
			WHEN 'rum' THEN 'WHERE ' || shares || ' ORDER BY kw <=> $1'
			ELSE 'ORDER BY kw <&> $1' END, k);
END $$;

CREATE FUNCTION bench_plan(method text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE method WHEN 'genie' THEN 'Index Scan using rows_genie(.|\n)*Order By' WHEN 'gin' THEN 'Bitmap Index Scan on rows_gin'
		WHEN 'rum' THEN 'Index Scan using rows_rum(.|\n)*Order By' ELSE 'Gather(.|\n)*Parallel Seq Scan' END
$$;

CREATE FUNCTION bench_plan_is(call text, plan text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	lines text = '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || call LOOP
		lines = lines || line || E'\n';
	END LOOP;
	RETURN lines ~ plan;
END $$;

-- A query with one parameter of that type, prepared, for each of the questions: milliseconds, and how many rows it read from the index
-- (NULL: no index is named).  The first three run before the clock too.  plan: a pattern that the plan must match.
CREATE FUNCTION bench_times(query text, type text, questions text[], plan text, index text, budget float8)
RETURNS TABLE (ms float8, rows_read bigint) LANGUAGE plpgsql AS $$
DECLARE
	question text;
	call text;
	i int = 0;
	started timestamptz;
	begun CONSTANT timestamptz = clock_timestamp();
	read_before bigint;
BEGIN
	EXECUTE format('PREPARE bench_timed (%s) AS %s', type, query);
	FOREACH question IN ARRAY questions[:3] || questions LOOP
		i = i + 1;
		call = format('EXECUTE bench_timed (%L)', question);
		IF i = 1 AND NOT bench_plan_is(call, plan) THEN
			RAISE EXCEPTION 'the plan is not what the method stands for' USING DETAIL = query;
		END IF;
		read_before = greatest(pg_stat_get_xact_tuples_returned(index::regclass), pg_stat_get_xact_tuples_fetched(index::regclass));
		started = clock_timestamp();
		EXECUTE call;
		ms = 1000 * extract(epoch FROM clock_timestamp() - started);
		rows_read = greatest(pg_stat_get_xact_tuples_returned(index::regclass), pg_stat_get_xact_tuples_fetched(index::regclass)) - read_before;
		IF i > 3 THEN
			RETURN NEXT;
		END IF;
		EXIT WHEN i >= 8 AND clock_timestamp() > begun + budget * interval '1 second';
	END LOOP;
	DEALLOCATE bench_timed;
END $$;

CREATE FUNCTION bench_latency(dataset text, method text, k int, budget float8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	tab CONSTANT text = bench_table(method);
	r record;
BEGIN
	FOR r IN SELECT p, percentile_disc(p / 100.0) WITHIN GROUP (ORDER BY ms) AS ms
		FROM bench_times(bench_query(method, k), (SELECT format_type(atttypid, -1) FROM pg_attribute WHERE attrelid = tab::regclass AND attname = 'kw'),
				ARRAY(SELECT CASE WHEN tab = 'rows' THEN q::text ELSE q_int::text END FROM queries ORDER BY n), bench_plan(method), NULL, budget),
			unnest(ARRAY[50, 95, 99]) p GROUP BY p LOOP
		PERFORM bench_note(dataset, method, 3 * k + r.p, format('top-%s p%s, ms', k, r.p), r.ms::numeric, 2);
	END LOOP;
END $$;

-- do the index and a sequential scan give the same rows in the same order?  Three queries, 1,000 rows.
CREATE FUNCTION bench_check_answers(method text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	r record;
	call text;
	by_index int[];
	by_scan int[];
BEGIN
	IF method <> 'genie' THEN
		RETURN;
	END IF;
	FOR r IN SELECT q FROM queries WHERE n <= 3 LOOP
		call = 'SELECT array_agg(id) FROM (SELECT id FROM rows ORDER BY kw <&> $1%s LIMIT 1000) s';
		EXECUTE format(call, '') INTO by_index USING r.q;
		PERFORM set_config('enable_seqscan', 'on', false), set_config('enable_indexscan', 'off', false);
		EXECUTE format(call, ', ctid') INTO by_scan USING r.q;
		PERFORM set_config('enable_seqscan', 'off', false), set_config('enable_indexscan', 'on', false);
		IF by_index IS DISTINCT FROM by_scan THEN
			RAISE EXCEPTION 'the index scan and the sequential scan differ' USING DETAIL = r.q::text;
		END IF;
	END LOOP;
END $$;

-- The k-nearest-neighbour join: of each of n rows the 10 nearest ones, in milliseconds a row, the best of three (without an index: 4
-- rows, once).
CREATE FUNCTION bench_knn(dataset text, method text, n int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	one_by_one CONSTANT text = 'SELECT count(*), sum(hashint8(near.i * 10000000 + s.id)) FROM near, LATERAL (SELECT id FROM rows ORDER BY kw <&> q %sLIMIT 10) s';
	batch CONSTANT text = 'SELECT count(*), sum(hashint8(s.query::bigint * 10000000 + rows.id))
		FROM genie_search(''rows_genie'', (SELECT array_agg(q ORDER BY i) FROM near)) s JOIN rows ON rows.ctid = s.tid';
	form record;
	started timestamptz;
	seconds float8;
	answer record;
	answers text[] = '{}';
BEGIN
	IF method NOT IN ('genie', 'seq') THEN
		RETURN;
	END IF;
	CREATE TABLE near AS SELECT row_number() OVER () AS i, q FROM (SELECT genie_query(kw) AS q FROM rows ORDER BY md5(id::text)
		LIMIT CASE method WHEN 'genie' THEN n ELSE 4 END) r;
	FOR form IN SELECT * FROM (VALUES ('genie', 2001, 'genie_search', batch, 3), ('genie', 2002, 'LATERAL', format(one_by_one, ''), 3),
			('seq', 2002, 'LATERAL', format(one_by_one, ', ctid '), 1)) v (of, place, name, query, times) WHERE v.of = method LOOP
		seconds = 'Infinity';
		FOR i IN 1 .. form.times LOOP
			started = clock_timestamp();
			EXECUTE form.query INTO answer;
			seconds = least(seconds, extract(epoch FROM clock_timestamp() - started));
		END LOOP;
		answers = answers || answer::text;
		PERFORM bench_note(dataset, method, form.place, format('10 nearest of each of %s rows, %s, ms a row', n, form.name), (1000 * seconds / (SELECT count(*) FROM near))::numeric, 2);
	END LOOP;
	IF answers[1] <> answers[2] THEN
		RAISE EXCEPTION 'the forms of the join differ' USING DETAIL = answers;
	END IF;
	DROP TABLE near;
END $$;

-- 20,000 rows into a table of at most 100,000: one statement each in one transaction, then another 20,000 by one INSERT ... SELECT
CREATE FUNCTION bench_insert(dataset text, method text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	r record;
	started timestamptz;
	seconds float8;
BEGIN
	IF bench_index(method, 'rows') IS NULL THEN
		RETURN;
	END IF;
	CREATE TABLE inserts AS SELECT id, kw FROM rows WHERE id <= 100000;
	EXECUTE bench_index(method, 'inserts');
	started = clock_timestamp();
	FOR r IN SELECT id, kw FROM rows ORDER BY id DESC LIMIT 20000 LOOP
		INSERT INTO inserts VALUES (r.id, r.kw);
	END LOOP;
	seconds = extract(epoch FROM clock_timestamp() - started);
	PERFORM bench_note(dataset, method, 1001, 'inserts one by one, rows/s', (20000 / seconds)::numeric, 0);
	started = clock_timestamp();
	INSERT INTO inserts SELECT id, kw FROM rows ORDER BY id DESC LIMIT 20000;
	seconds = extract(epoch FROM clock_timestamp() - started);
	PERFORM bench_note(dataset, method, 1002, 'INSERT ... SELECT, rows/s', (20000 / seconds)::numeric, 0);
	DROP TABLE inserts;
END $$;
