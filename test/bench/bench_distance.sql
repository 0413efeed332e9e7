-- bench_distance.sql: the questions of test/bench/bench_distance, and how it measures; after bench.sql, whose functions it uses
--
-- A question is about a data set of tables.sh: the nearest rows in one measure, or all rows within a distance.  A method answers it by one
-- index, or by none.  Methods that are exact must give the distances of the sequential scan, in its order, or for "within" its rows: else
-- an error, which ends the benchmark.  For the others (another measure, or a search that may miss rows) the right answers are counted.
--
-- Candidates are the rows that were read from the index or looked up in the table for it, to compute their distances or conditions: its own counters.

CREATE EXTENSION fuzzystrmatch;
CREATE EXTENSION pg_trgm;

CREATE TABLE distance_questions (
	dataset text,
	question text,
	title text,
	measure text,				-- of a row kw for the query $1: the distance, or for "within" what tells rows apart
	type text					-- of the query
);
INSERT INTO distance_questions VALUES
	('words', 'nearest', '10 nearest by edit distance', 'kw <~> $1', 'text'),
	('words', 'within', 'all within 2 edits', 'id', 'text'),
	('molecules', 'nearest', '10 nearest by Tanimoto (Jaccard) distance', 'kw <%> $1', 'int[]'),
	('molecules', 'within', 'all of similarity 0.6 and more', 'id', 'int[]'),
	('documents', 'nearest', '10 best by common lexemes', 'kw <&> $1', 'tsvector'),
	('rrna', 'nearest', '10 nearest by edit distance', 'kw <~> $1', 'text'),
	('trees', 'nearest', '10 best by common binary branches', 'kw <&> $1', 'genie_object');

CREATE TABLE distance_methods (
	dataset text,
	question text,
	place int,					-- of one data set: methods of one index stand together, those without at the end; the first of these is the truth
	method text,				-- its name among recorded figures
	title text,
	index text,					-- how it is made; NULL: none
	query text,					-- %s: what is selected; $1: the query
	exact boolean,
	type text DEFAULT NULL,		-- of $1, where it is not the question's: made from it by this
	made text DEFAULT NULL,
	settings text DEFAULT NULL
);

\set edit 'USING genie (kw genie_edit_ops)'
\set edit_long 'USING genie (kw genie_edit_ops (n = 5))'
\set plain 'USING genie (kw)'
\set alone 'SET genie.worker = off'
\set jaccard 'SET rum.array_similarity_function = jaccard'
\set any_lexeme 'SELECT string_agg(quote_literal(l), '' | '') FROM unnest(tsvector_to_array($1)) l'
INSERT INTO distance_methods (dataset, question, place, method, title, index, query, exact, settings) VALUES
	('words', 'nearest', 1, 'worker', 'genie `<~>`', :'edit', 'SELECT %s FROM rows ORDER BY kw <~> $1 LIMIT 10', true, NULL),
	('words', 'nearest', 2, 'off', 'genie, without the worker', :'edit', 'SELECT %s FROM rows ORDER BY kw <~> $1 LIMIT 10', true, :'alone'),
	('words', 'within', 3, 'worker', 'genie `@& genie_edit_query`', :'edit', 'SELECT %s FROM rows WHERE kw @& genie_edit_query($1, 2)', true, NULL),
	('words', 'within', 4, 'off', 'genie, without the worker', :'edit', 'SELECT %s FROM rows WHERE kw @& genie_edit_query($1, 2)', true, :'alone'),
	('words', 'nearest', 5, 'gin', 'pg_trgm, GIN: `%`, then levenshtein', 'USING gin (kw gin_trgm_ops)',
		'SELECT %s FROM rows WHERE kw OPERATOR(%%) $1 ORDER BY levenshtein(kw, $1) LIMIT 10', false, NULL),
	('words', 'nearest', 6, 'gist', 'pg_trgm, GiST: `<->` (trigram distance)', 'USING gist (kw gist_trgm_ops)',
		'SELECT %s FROM rows ORDER BY kw <-> $1 LIMIT 10', false, NULL),
	('words', 'nearest', 7, 'seq', 'sequential scan, levenshtein', NULL, 'SELECT %s FROM rows ORDER BY levenshtein(kw, $1) LIMIT 10', true, NULL),
	('words', 'nearest', 8, 'seq_own', 'sequential scan, `<~>`', NULL, 'SELECT %s FROM rows ORDER BY kw <~> $1 LIMIT 10', true, NULL),
	('words', 'within', 9, 'seq', 'sequential scan, levenshtein_less_equal', NULL, 'SELECT %s FROM rows WHERE levenshtein_less_equal(kw, $1, 2) <= 2', true, NULL),
	('words', 'within', 10, 'seq_own', 'sequential scan, `@& genie_edit_query`', NULL, 'SELECT %s FROM rows WHERE kw @& genie_edit_query($1, 2)', true, NULL),
	('molecules', 'nearest', 1, 'worker', 'genie `<%>`', :'plain', 'SELECT %s FROM rows ORDER BY kw <%%> $1 LIMIT 10', true, NULL),
	('molecules', 'nearest', 2, 'off', 'genie, without the worker', :'plain', 'SELECT %s FROM rows ORDER BY kw <%%> $1 LIMIT 10', true, :'alone'),
	('molecules', 'within', 3, 'worker', 'genie `@& genie_jaccard_query`', :'plain', 'SELECT %s FROM rows WHERE kw @& genie_jaccard_query($1, 0.6)', true, NULL),
	('molecules', 'within', 4, 'off', 'genie, without the worker', :'plain', 'SELECT %s FROM rows WHERE kw @& genie_jaccard_query($1, 0.6)', true, :'alone'),
	('molecules', 'nearest', 5, 'gin', 'GIN: `&&`, then `<%>`', 'USING gin (kw)',
		'SELECT %s FROM rows WHERE kw OPERATOR(pg_catalog.&&) $1 ORDER BY kw <%%> $1 LIMIT 10', false, NULL),
	('molecules', 'nearest', 6, 'rum', 'RUM: `&&` and `<=>` (Jaccard)', 'USING rum (kw rum_anyarray_ops)',
		'SELECT %s FROM rows WHERE kw OPERATOR(pg_catalog.&&) $1 ORDER BY kw <=> $1 LIMIT 10', false, :'jaccard'),
	('molecules', 'nearest', 7, 'seq', 'sequential scan, intarray', NULL,
		'SELECT %s FROM rows ORDER BY 1 - icount(kw OPERATOR(intarray.&) $1)::float8 / (icount(kw) + icount($1) - icount(kw OPERATOR(intarray.&) $1)) LIMIT 10', true, NULL),
	('molecules', 'nearest', 8, 'seq_own', 'sequential scan, `<%>`', NULL, 'SELECT %s FROM rows ORDER BY kw <%%> $1 LIMIT 10', true, NULL),
	('molecules', 'within', 9, 'seq', 'sequential scan, intarray', NULL,
		'SELECT %s FROM rows WHERE icount(kw OPERATOR(intarray.&) $1)::float8 / (icount(kw) + icount($1) - icount(kw OPERATOR(intarray.&) $1)) >= 0.6', true, NULL),
	('documents', 'nearest', 1, 'worker', 'genie `<&>`', :'plain', 'SELECT %s FROM rows ORDER BY kw <&> $1 LIMIT 10', true, NULL),
	('documents', 'nearest', 2, 'off', 'genie, without the worker', :'plain', 'SELECT %s FROM rows ORDER BY kw <&> $1 LIMIT 10', true, :'alone'),
	('documents', 'nearest', 6, 'seq_own', 'sequential scan, `<&>`', NULL, 'SELECT %s FROM rows ORDER BY kw <&> $1 LIMIT 10', true, NULL),
	('rrna', 'nearest', 1, 'worker', 'genie `<~>`, n = 5', :'edit_long', 'SELECT %s FROM rows ORDER BY kw <~> $1 LIMIT 10', true, NULL),
	('rrna', 'nearest', 2, 'off', 'genie, n = 5, without the worker', :'edit_long', 'SELECT %s FROM rows ORDER BY kw <~> $1 LIMIT 10', true, :'alone'),
	('rrna', 'nearest', 3, 'seq_own', 'sequential scan, `<~>`', NULL, 'SELECT %s FROM rows ORDER BY kw <~> $1 LIMIT 10', true, NULL),
	('trees', 'nearest', 1, 'worker', 'genie `<&>`', :'plain', 'SELECT %s FROM rows ORDER BY kw <&> $1 LIMIT 10', true, NULL),
	('trees', 'nearest', 2, 'off', 'genie, without the worker', :'plain', 'SELECT %s FROM rows ORDER BY kw <&> $1 LIMIT 10', true, :'alone'),
	('trees', 'nearest', 3, 'seq_own', 'sequential scan, `<&>`', NULL, 'SELECT %s FROM rows ORDER BY kw <&> $1 LIMIT 10', true, NULL);
INSERT INTO distance_methods VALUES
	('documents', 'nearest', 3, 'gin', 'GIN: `@@` any lexeme, then `<&>`', 'USING gin (kw)',
		'SELECT %s FROM rows WHERE kw @@ $1 ORDER BY kw <&> $1 LIMIT 10', false, 'tsquery', :'any_lexeme'),
	('documents', 'nearest', 4, 'gin_rank', 'GIN: `@@` any lexeme, then ts_rank', 'USING gin (kw)',
		'SELECT %s FROM rows WHERE kw @@ $1 ORDER BY ts_rank(kw, $1) DESC LIMIT 10', false, 'tsquery', :'any_lexeme'),
	('documents', 'nearest', 5, 'rum', 'RUM: `@@` any lexeme and `<=>`', 'USING rum (kw rum_tsvector_ops)',
		'SELECT %s FROM rows WHERE kw @@ $1 ORDER BY kw <=> $1 LIMIT 10', false, 'tsquery', :'any_lexeme');

CREATE TABLE distance_truth (question text, n int, answer numeric[]);		-- of the data set that is loaded
CREATE TABLE distance_builds (dataset text, index text, seconds float8, mebibytes float8);
CREATE TABLE distance_results (dataset text, question text, place int, title text, p50 float8, p95 float8, mean float8, candidates float8, n int,
	n_right int, n_compared int, chosen boolean);

-- the distances that a method gives, in its order, or the rows
CREATE FUNCTION distance_answer(m distance_methods, n int) RETURNS numeric[] LANGUAGE plpgsql AS $$
DECLARE
	asked record;
	kind distance_questions;
	selected text;
	result numeric[];
BEGIN
	SELECT * INTO kind FROM distance_questions q WHERE q.dataset = m.dataset AND q.question = m.question;
	SELECT * INTO asked FROM queries q WHERE q.n = distance_answer.n;
	selected = format('round((%s)::numeric, 9) AS d', replace(kind.measure, '$1', format('%L::%s', asked.q, kind.type)));
	EXECUTE format('SELECT array_agg(d%s) FROM (%s) s', CASE m.question WHEN 'within' THEN ' ORDER BY d' ELSE '' END,
		replace(format(m.query, selected), '$1', format('%L::%s', distance_parameter(m, asked.q), coalesce(m.type, kind.type)))) INTO result;
	RETURN coalesce(result, '{}');
END $$;

-- the text of $1 in a method's query
CREATE FUNCTION distance_parameter(m distance_methods, q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text = q;
BEGIN
	IF m.made IS NOT NULL THEN
		EXECUTE replace(m.made, '$1', format('%L::%s', q, (SELECT type FROM distance_questions k WHERE k.dataset = m.dataset AND k.question = m.question))) INTO result;
	END IF;
	RETURN result;
END $$;

-- the answers of a sequential scan, for the first queries
CREATE FUNCTION distance_find_truth(dataset text, sample int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM bench_settings('seq');
	TRUNCATE distance_truth;
	INSERT INTO distance_truth SELECT m.question, q.n, distance_answer(m, q.n)
		FROM (SELECT DISTINCT ON (d.question) d.* FROM distance_methods d WHERE d.dataset = distance_find_truth.dataset AND d.index IS NULL
			ORDER BY d.question, d.place) m, queries q WHERE q.n <= sample;
END $$;

-- The table with this index alone, whose name is rows_ and the access method; made anew if the last one was another.
CREATE FUNCTION distance_ready(m distance_methods) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	name CONSTANT text = distance_index(m);
	old text;
	started timestamptz;
BEGIN
	FOR old IN SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'rows'::regclass AND indexrelid IS DISTINCT FROM to_regclass(name) LOOP
		EXECUTE 'DROP INDEX ' || old;
	END LOOP;
	IF to_regclass(name) IS NULL AND name IS NOT NULL THEN
		started = clock_timestamp();
		EXECUTE format('CREATE INDEX %s ON rows %s', name, m.index);
		INSERT INTO distance_builds VALUES (m.dataset, m.index, extract(epoch FROM clock_timestamp() - started), pg_relation_size(name) / 1048576.0);
		IF name = 'rows_genie' THEN
			PERFORM genie_prewarm(name);
		END IF;
	END IF;
END $$;

CREATE FUNCTION distance_index(m distance_methods) RETURNS text LANGUAGE sql AS $$ SELECT 'rows_' || substring(m.index FROM 'USING (\w+)') $$;

CREATE FUNCTION distance_measure(m distance_methods, budget float8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	name CONSTANT text = distance_index(m);
	query CONSTANT text = format(m.query, 'id');
	asked CONSTANT text = coalesce(m.type, (SELECT type FROM distance_questions q WHERE q.dataset = m.dataset AND q.question = m.question));
	plan text = coalesce(name, 'Seq Scan');
	wrong int;
	result distance_results;
BEGIN
	IF m.settings IS NOT NULL THEN
		EXECUTE m.settings;
	END IF;
	SELECT m.dataset, m.question, m.place, m.title INTO result.dataset, result.question, result.place, result.title;
	result.chosen = bench_plan_is(replace(query, '$1', format('%L::%s', (SELECT distance_parameter(m, q) FROM queries WHERE n = 1), asked)), plan);
	PERFORM bench_settings(coalesce(substr(name, 6), 'seq'));
	IF m.index ~ '\y(gist|rum)\y' THEN
		PERFORM set_config('enable_bitmapscan', 'off', false), set_config('enable_seqscan', 'off', false);
	END IF;
	SELECT count(*), count(*) FILTER (WHERE answer IS DISTINCT FROM distance_answer(m, n)), min(n) FILTER (WHERE answer IS DISTINCT FROM distance_answer(m, n))
		INTO result.n_compared, result.n_right, wrong FROM distance_truth t WHERE t.question = m.question;
	result.n_right = result.n_compared - result.n_right;
	IF m.exact AND wrong IS NOT NULL THEN
		RAISE EXCEPTION 'method "%" differs from the sequential scan', m.title
			USING DETAIL = format('%s: query %L gives %s, expected %s.', m.dataset, (SELECT q FROM queries WHERE n = wrong), distance_answer(m, wrong),
				(SELECT answer FROM distance_truth t WHERE t.question = m.question AND t.n = wrong));
	END IF;
	SELECT count(*), percentile_disc(0.5) WITHIN GROUP (ORDER BY ms), percentile_disc(0.95) WITHIN GROUP (ORDER BY ms), avg(ms),
			percentile_disc(0.5) WITHIN GROUP (ORDER BY rows_read)
		INTO result.n, result.p50, result.p95, result.mean, result.candidates
		FROM bench_times(query, asked, ARRAY(SELECT distance_parameter(m, q) FROM queries ORDER BY n), plan, name, budget);
	INSERT INTO distance_results SELECT result.*;
END $$;
