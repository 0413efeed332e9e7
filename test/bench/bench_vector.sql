-- bench_vector.sql: the ways by which test/bench/bench_vector finds the nearest vectors, and how it tells how near they are
--
-- Tables: rows(id, v real[], label), queries(id, v, label), and where pgvector is there rows_pgvector(id, v vector) and
-- queries_pgvector.  Truth is genie_exact_knn's, which for sift100k must agree with the ground truth that came with the data.
--
--	recall@k	how many of a query's k answers are no farther than its k-th true neighbour; the mean over the queries
--	ratio@k		the mean over i = 1 .. k of the distance of the i-th answer by that of the i-th true neighbour (GENIE's equation 14; 0 / 0 is 1, and
--				other distances by 0 are left out); none where a query has fewer than k answers

SET check_function_bodies = off;		-- of tables that come later

CREATE TABLE vector_methods (
	place int,
	dataset text,
	measure text,
	name text,					-- among recorded figures
	title text,
	source text,				-- table of the rows; its queries are queries or queries_pgvector
	index text,					-- how it is made; NULL: none
	operator text,
	settings text,				-- of its sessions, as PGOPTIONS
	batch text DEFAULT NULL,	-- all queries in one call: $1 are they, $2 is k; gives (query, tid, distance)
	optional boolean DEFAULT false	-- left out where the extension is not there
);

\set search 'SELECT query, tid, distance FROM genie_search(''rows_genie'', $1, $2)'
\set exact 'SELECT query, tid, distance FROM genie_exact_knn(''rows_genie'', $1, $2)'
\set alone '-c enable_seqscan=off -c genie.worker=off'
\set worker '-c enable_seqscan=off'
\set scan '-c enable_indexscan=off -c max_parallel_workers_per_gather=2'
INSERT INTO vector_methods
	SELECT 1 + row_number() OVER (), 'sift', 'l2', 'worker-' || n, format('genie_l2_ops, %s candidates', n), 'rows', 'USING genie (v genie_l2_ops)', '<->',
		format('%s -c genie.candidates=%s', :'worker', n), :'search' FROM unnest(ARRAY[50, 100, 150, 200, 400]) n;
INSERT INTO vector_methods VALUES
	(1, 'sift', 'l2', 'worker', 'genie_l2_ops', 'rows', 'USING genie (v genie_l2_ops)', '<->', :'worker', :'search'),
	(10, 'sift', 'l2', 'off', 'genie_l2_ops, without the worker', 'rows', 'USING genie (v genie_l2_ops)', '<->', :'alone', :'search'),
	(11, 'sift', 'l2', 'exact', 'genie_exact_knn', 'rows', 'USING genie (v genie_l2_ops)', NULL, '', :'exact'),
	(12, 'sift', 'l2', 'seq', 'sequential scan, 2 parallel workers', 'rows', NULL, '<->', :'scan', NULL),
	(20, 'sift', 'cosine', 'worker', 'genie_cosine_ops', 'rows', 'USING genie (v genie_cosine_ops)', '<=>', :'worker', :'search'),
	(21, 'sift', 'cosine', 'exact', 'genie_exact_knn', 'rows', 'USING genie (v genie_cosine_ops)', NULL, '', :'exact'),
	(30, 'sift', 'l1', 'worker', 'genie_l1_ops', 'rows', 'USING genie (v genie_l1_ops)', '<+>', :'worker', :'search'),
	(31, 'sift', 'l1', 'exact', 'genie_exact_knn', 'rows', 'USING genie (v genie_l1_ops)', NULL, '', :'exact'),
	(32, 'sift', 'l1', 'laplacian', 'genie_laplacian_ops', 'rows', 'USING genie (v genie_laplacian_ops)', '<+>', :'worker', :'search'),
	(50, 'letter', 'l1', 'laplacian', 'genie_laplacian_ops', 'rows', 'USING genie (v genie_laplacian_ops)', '<+>', :'worker', :'search'),
	(51, 'letter', 'l1', 'l1', 'genie_l1_ops', 'rows', 'USING genie (v genie_l1_ops)', '<+>', :'worker', :'search'),
	(52, 'letter', 'l1', 'exact', 'genie_exact_knn', 'rows', 'USING genie (v genie_l1_ops)', NULL, '', :'exact'),
	(70, 'sift', 'l2', 'exact-worker', 'genie_l2_exact_ops', 'rows', 'USING genie (v genie_l2_exact_ops)', '<->', :'worker', :'search'),
	(71, 'sift', 'l2', 'exact-off', 'genie_l2_exact_ops, without the worker', 'rows', 'USING genie (v genie_l2_exact_ops)', '<->', :'alone', :'search'),
	(72, 'sift', 'cosine', 'exact-worker', 'genie_cosine_exact_ops', 'rows', 'USING genie (v genie_cosine_exact_ops)', '<=>', :'worker', :'search'),
	(73, 'sift', 'l1', 'exact-worker', 'genie_l1_exact_ops', 'rows', 'USING genie (v genie_l1_exact_ops)', '<+>', :'worker', :'search'),
	(80, 'made', 'l2', 'exact-worker', 'genie_l2_exact_ops', 'rows', 'USING genie (v genie_l2_exact_ops)', '<->', :'worker', :'search'),
	(81, 'made', 'l2', 'exact-off', 'genie_l2_exact_ops, without the worker', 'rows', 'USING genie (v genie_l2_exact_ops)', '<->', :'alone', :'search'),
	(82, 'made', 'l2', 'exact', 'genie_exact_knn, by an approximate class', 'rows', 'USING genie (v genie_l2_ops)', NULL, '', :'exact'),
	(84, 'made', 'l2', 'rabitq-worker', 'genie_l2_rabitq_ops', 'rows', 'USING genie (v genie_l2_rabitq_ops)', '<->', :'worker', :'search'),
	(83, 'made', 'l2', 'seq', 'sequential scan, 2 parallel workers', 'rows', NULL, '<->', :'scan', NULL),
	(60, 'sift-like', 'l2', 'worker', 'genie_l2_ops', 'rows', 'USING genie (v genie_l2_ops)', '<->', :'worker', :'search');
INSERT INTO vector_methods
	SELECT 12 + row_number() OVER (), 'sift', 'l2', 'hnsw-' || n, format('pgvector, HNSW, ef_search = %s', n), 'rows_pgvector', 'USING hnsw (v vector_l2_ops)', '<->',
		format('-c enable_seqscan=off -c hnsw.ef_search=%s', n), NULL, true FROM unnest(ARRAY[40, 100, 200]) n
	UNION ALL SELECT 46 + row_number() OVER (), 'sift', 'l2', 'hnsw32-' || n, format('pgvector, HNSW, m = 32, ef_search = %s', n), 'rows_pgvector', 'USING hnsw (v vector_l2_ops) WITH (m = 32)', '<->',
		format('-c enable_seqscan=off -c hnsw.ef_search=%s', n), NULL, true FROM unnest(ARRAY[40, 100, 200]) n
	UNION ALL SELECT 40 + row_number() OVER (), 'sift', 'l2', 'graph-' || n, format('genie_l2_ops, graph = 32, a queue of %s', n), 'rows', 'USING genie (v genie_l2_ops) WITH (graph = 32)', '<->',
		format('%s -c genie.graph_queue=%s', :'worker', n), :'search', false FROM unnest(ARRAY[30, 60, 100, 200]) n
	UNION ALL SELECT 46, 'made', 'l2', 'graph', 'genie_l2_ops, graph = 32', 'rows', 'USING genie (v genie_l2_ops) WITH (graph = 32)', '<->', :'worker', :'search', false
	UNION ALL SELECT 16, 'sift', 'l2', 'ivfflat-10', 'pgvector, IVFFlat, 100 lists, 10 probes', 'rows_pgvector', 'USING ivfflat (v vector_l2_ops)', '<->',
		'-c enable_seqscan=off -c ivfflat.probes=10', NULL, true;

CREATE TABLE vector_truth (measure text, query int, distances float8[]);		-- the nearest, of the rows as they are
CREATE TABLE vector_answers (query int, distances float8[]);
CREATE TABLE vector_builds (place int, index text, seconds float8, mebibytes float8, loaded float8);	-- loaded: seconds for the image
CREATE TABLE vector_results (place int, title text, recall10 float8, recall100 float8, ratio10 float8, ratio100 float8, p50 float8, per_second float8, together float8,
	batch10 float8, batch100 float8, call_ms float8, counting_ms float8);
CREATE TABLE vector_digests (candidates int, digest text);		-- of all answers of a call

CREATE FUNCTION vector_index(m vector_methods) RETURNS text LANGUAGE sql AS $$ SELECT m.source || '_' || substring(m.index FROM 'USING (\w+)') $$;

CREATE FUNCTION vector_queries() RETURNS real[] LANGUAGE sql AS $$ SELECT array_agg(v ORDER BY id) FROM queries $$;

-- The method's index alone; made anew if the last one was another.
CREATE FUNCTION vector_ready(m vector_methods) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	old record;
	found boolean = m.index IS NULL;
	started timestamptz;
BEGIN
	FOR old IN SELECT indexrelid::regclass AS name, obj_description(indexrelid) AS made FROM pg_index
			WHERE indrelid IN ('rows'::regclass, to_regclass('rows_pgvector'), to_regclass('rows_updated')) LOOP
		IF m.index IS NOT NULL AND old.made = m.index THEN
			found = true;
		ELSIF m.index IS NOT NULL THEN
			EXECUTE format('DROP INDEX %s', old.name);
		END IF;
	END LOOP;
	IF NOT found THEN
		started = clock_timestamp();
		EXECUTE format('CREATE INDEX %s ON %s %s', vector_index(m), m.source, m.index);
		INSERT INTO vector_builds VALUES (m.place, m.index, extract(epoch FROM clock_timestamp() - started), pg_relation_size(vector_index(m)) / 1048576.0);
		EXECUTE format('COMMENT ON INDEX %s IS %L', vector_index(m), m.index);
		IF m.index ~ 'genie' THEN
			started = clock_timestamp();
			PERFORM genie_prewarm(vector_index(m)::regclass);
			UPDATE vector_builds SET loaded = extract(epoch FROM clock_timestamp() - started) WHERE place = m.place;
		END IF;
	END IF;
END $$;

-- True neighbours of the first n queries (NULL: all), by an index of genie, which gives the measure.
CREATE FUNCTION vector_find_truth(measure text, name regclass, n int DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
	DELETE FROM vector_truth t WHERE t.measure = vector_find_truth.measure;
	INSERT INTO vector_truth SELECT vector_find_truth.measure, query, array_agg(distance ORDER BY distance)
		FROM genie_exact_knn(name, (vector_queries())[:coalesce(n, (SELECT count(*)::int FROM queries))][:], 100) GROUP BY query;
$$;

-- One query for a query's vector $1, of this many rows.
CREATE FUNCTION vector_call(m vector_methods, selected text, k int) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT %s FROM %s ORDER BY v %s $1 LIMIT %s', selected, m.source, m.operator, k)
$$;

-- Answers to all queries as distances, into vector_answers, by one call.
CREATE FUNCTION vector_answer_call(m vector_methods, k int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE vector_answers;
	EXECUTE format('INSERT INTO vector_answers SELECT query, array_agg(distance ORDER BY distance) FROM (%s) s GROUP BY query', m.batch)
		USING vector_queries(), k;
END $$;

-- The same by the method's own way; false: the plan is not the method's.
CREATE FUNCTION vector_answer(m vector_methods, k int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	asked CONSTANT text = CASE m.source WHEN 'rows_pgvector' THEN 'queries_pgvector' ELSE 'queries' END;
	type CONSTANT text = CASE m.source WHEN 'rows_pgvector' THEN 'vector' ELSE 'real[]' END;
	example text;
BEGIN
	IF m.operator IS NULL THEN
		PERFORM vector_answer_call(m, k);
		RETURN true;
	END IF;
	TRUNCATE vector_answers;
	EXECUTE format('SELECT quote_literal(v::text) FROM %s WHERE id = 1', asked) INTO example;
	IF NOT bench_plan_is(replace(vector_call(m, 'id', k), '$1', example || '::' || type), coalesce('Index Scan using ' || vector_index(m), 'Seq Scan on ' || m.source)) THEN
		RETURN false;
	END IF;
	EXECUTE format('INSERT INTO vector_answers SELECT q.id, ARRAY(%s) FROM %s q', replace(vector_call(m, format('v %s $1', m.operator), k), '$1', 'q.v'), asked);
	RETURN true;
END $$;

CREATE FUNCTION vector_recall(measure text, k int) RETURNS float8 LANGUAGE sql AS $$
	SELECT avg((SELECT count(*) FROM unnest(a.distances[:k]) d WHERE d <= t.distances[k] * (1 + 1e-6)) / k::float8)
	FROM vector_truth t LEFT JOIN vector_answers a USING (query) WHERE t.measure = vector_recall.measure
$$;

CREATE FUNCTION vector_ratio(measure text, k int) RETURNS float8 LANGUAGE sql AS $$
	SELECT CASE WHEN bool_and(n >= k) THEN avg(ratio) END FROM (SELECT avg(CASE WHEN d = truth THEN 1 ELSE d / truth END) AS ratio, min(cardinality(a.distances)) AS n
		FROM vector_truth t JOIN vector_answers a USING (query), LATERAL (SELECT t.distances[i] AS truth, a.distances[i] AS d FROM generate_series(1, k) i) p
		WHERE t.measure = vector_ratio.measure AND (d = truth OR truth > 0) GROUP BY query) r
$$;

-- How near the answers are, as a line of vector_results without times.
CREATE FUNCTION vector_judge(m vector_methods) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	result vector_results;
BEGIN
	result.place = m.place;
	result.title = m.title;
	IF NOT vector_answer(m, 10) THEN
		RAISE EXCEPTION 'the plan is not what the method "%" stands for', m.title;
	END IF;
	result.recall10 = vector_recall(m.measure, 10);
	result.ratio10 = vector_ratio(m.measure, 10);
	PERFORM vector_answer(m, 100);
	result.recall100 = vector_recall(m.measure, 100);
	result.ratio100 = vector_ratio(m.measure, 100);
	INSERT INTO vector_results SELECT result.*;
END $$;

-- What n calls with all queries take, in milliseconds, ascending.
CREATE FUNCTION vector_call_times(m vector_methods, k int, n int) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz;
	times float8[];
	asked CONSTANT real[] = vector_queries();
BEGIN
	FOR i IN 1 .. n LOOP
		started = clock_timestamp();
		EXECUTE format('SELECT count(*), sum(distance) FROM (%s) s', m.batch) USING asked, k;
		times[i] = 1000 * extract(epoch FROM clock_timestamp() - started);
	END LOOP;
	RETURN ARRAY(SELECT t FROM unnest(times) t ORDER BY t);
END $$;

-- Queries a second when all are asked in one call: the best of three.
CREATE FUNCTION vector_batch(m vector_methods, k int) RETURNS float8 LANGUAGE sql AS $$
	SELECT 1000 * (SELECT count(*) FROM queries) / (vector_call_times(m, k, 3))[1] WHERE m.batch IS NOT NULL
$$;

-- How near the answers of one call are, its time (the median of five), and the worker's part of it (their mean).
CREATE FUNCTION vector_judge_call(m vector_methods, k int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	result vector_results;
	counted float8;
BEGIN
	PERFORM vector_answer_call(m, k);
	result.place = m.place;
	result.recall10 = vector_recall(m.measure, 10);
	result.ratio10 = vector_ratio(m.measure, 10);
	SELECT count_time INTO counted FROM genie_stat;
	result.call_ms = (vector_call_times(m, k, 5))[3];
	SELECT (count_time - counted) / 5 INTO result.counting_ms FROM genie_stat;
	INSERT INTO vector_results SELECT result.*;
	INSERT INTO vector_digests SELECT current_setting('genie.candidates')::int, md5(string_agg(distances::text, ';' ORDER BY query)) FROM vector_answers;
END $$;

-- Recall@10 of an index whose table changed, and then built anew: half of the rows come after the build, and a fifth of all go.
CREATE FUNCTION vector_change_rows(m vector_methods) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE rows_updated AS SELECT * FROM rows WHERE id % 2 = 0;
	PERFORM vector_ready(m);
	INSERT INTO rows_updated SELECT * FROM rows WHERE id % 2 = 1;
	DELETE FROM rows_updated WHERE id % 5 = 3;
END $$;

-- The share of queries whose nearest row has their label, and per class precision, recall and F1 (macro averages): the first of an answer decides.
CREATE FUNCTION vector_classify(m vector_methods, OUT accuracy float8, OUT precision_ float8, OUT recall float8, OUT f1 float8) LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE labelled (label text, given text);
	IF m.operator IS NULL THEN
		EXECUTE format('INSERT INTO labelled SELECT q.label, r.label FROM (%s) s JOIN queries q ON q.id = s.query JOIN rows r ON r.ctid = s.tid', m.batch)
			USING vector_queries(), 1;
	ELSE
		EXECUTE format('INSERT INTO labelled SELECT q.label, (%s) FROM queries q', replace(vector_call(m, 'label', 1), '$1', 'q.v'));
	END IF;
	SELECT avg((label = given)::int) INTO accuracy FROM labelled;
	SELECT avg(p), avg(r), avg(CASE WHEN p + r = 0 THEN 0 ELSE 2 * p * r / (p + r) END) INTO precision_, recall, f1
		FROM (SELECT c, coalesce(count(*) FILTER (WHERE label = c AND given = c) / nullif(count(*) FILTER (WHERE given = c), 0)::float8, 0) AS p,
				count(*) FILTER (WHERE label = c AND given = c) / nullif(count(*) FILTER (WHERE label = c), 0)::float8 AS r
			FROM labelled, (SELECT DISTINCT label AS c FROM queries) classes GROUP BY c) s;
	DROP TABLE labelled;
END $$;
