-- oracle.sql: what compares an index with its table, for the soak and for the scripts that it shrinks failures to.
--
-- Each compare_ function makes some comparisons and returns how many, and a line for each that went wrong.  The oracle is a sequential scan,
-- sorted by (distance, ctid).  A table is (id, x, revision); changes set an indexed column, so that no row is updated in place and
-- its ctid is the TID that the index holds.
--
-- exact: same rows, same order.  Approximate: a scan without LIMIT gives all rows, distances are the operator's, no row comes twice, a LIMIT is
-- filled; sorted within the first round and with genie.strict_order; and with all rows as candidates as if exact.
CREATE SCHEMA soak;
CREATE TYPE soak.rows AS (ids bigint[], ds float8[], refused text);
CREATE TYPE soak.result AS (n int, wrong text);

CREATE TYPE public.soak_mood AS ENUM ('sad', 'ok', 'happy', 'a mood with blanks', 'E', '');

-- Sets what the planner may use, until the end of the transaction.
CREATE FUNCTION soak.use(scan text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (scan = 'Seq Scan')::text, true), set_config('enable_indexscan', (scan = 'Index Scan')::text, true),
		set_config('enable_bitmapscan', (scan = 'Bitmap Index Scan')::text, true), set_config('enable_sort', (scan <> 'Index Scan')::text, true);
END $$;

-- The rows that a query (SELECT id, d) returns, in its order, by a plan that must have the kind of scan, or the error.
CREATE FUNCTION soak.scan(scan text, query text) RETURNS soak.rows LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
	result soak.rows;
BEGIN
	PERFORM soak.use(scan);
	IF scan <> 'Seq Scan' THEN
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
			plan := plan || line || E'\n';
		END LOOP;
		IF strpos(plan, scan) = 0 THEN
			result.refused := format('no %s: %s', scan, plan);
			RETURN result;
		END IF;
	END IF;
	EXECUTE format('SELECT coalesce(array_agg(id), ''{}''), coalesce(array_agg(d), ''{}'') FROM (%s) s', query) INTO result.ids, result.ds;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	IF SQLSTATE ~ '^(57|08|40)' OR SQLSTATE = '55P03' THEN RAISE; END IF;
	result.refused := format('error %s: %s', SQLSTATE, SQLERRM);
	RETURN result;
END $$;

CREATE FUNCTION soak.truth(tab text, ord text, condition text) RETURNS soak.rows LANGUAGE sql AS $$
	SELECT soak.scan('Seq Scan', format('SELECT id, d FROM (SELECT id, ctid AS tid, (%s)::float8 AS d FROM %s WHERE %s OFFSET 0) s ORDER BY d, tid', ord, tab, condition)) $$;

-- How a, the rows rows_found, differ from b, all rows in order, of which the first k are wanted; NULL where they do not.
-- how: exact, ties (rows of equal distance in any order), all (any order), some (any rows, each once with its distance), sorted (such rows in order)
CREATE FUNCTION soak.differ(how text, a soak.rows, b soak.rows, k int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	wanted int := least(k, cardinality(b.ids));
	place int;
BEGIN
	IF a.refused IS NOT NULL OR b.refused IS NOT NULL THEN
		-- a scan by index looks at a query's type even where there is no row; and an index that is called by name may be exchanged meanwhile
		RETURN CASE WHEN a.refused ~ '_ccold" is not valid' OR substr(a.refused, 1, 11) = substr(b.refused, 1, 11) AND a.refused !~ '^error XX' OR cardinality(b.ids) = 0 AND a.refused ~ '^error (22|42804)' THEN NULL
			ELSE format('by index %s, by sequential scan %s', coalesce(a.refused, 'rows'), coalesce(b.refused, 'rows')) END;
	END IF;
	IF how <> 'sorted' AND cardinality(a.ids) <> wanted THEN
		RETURN format('%s rows by index, expected %s', cardinality(a.ids), wanted);
	END IF;
	IF how = 'exact' THEN
		IF a.ids IS NOT DISTINCT FROM b.ids[1 : wanted] AND a.ds IS NOT DISTINCT FROM b.ds[1 : wanted] THEN
			RETURN NULL;
		END IF;
		SELECT i INTO place FROM generate_series(1, wanted) i WHERE a.ids[i] IS DISTINCT FROM b.ids[i] OR a.ds[i] IS DISTINCT FROM b.ds[i] LIMIT 1;
		RETURN format('row %s is id %s at %s, expected id %s at %s', place, a.ids[place], a.ds[place], b.ids[place], b.ds[place]);
	END IF;
	IF how = 'ties' AND a.ds IS DISTINCT FROM b.ds[1 : wanted] THEN
		SELECT i INTO place FROM generate_series(1, wanted) i WHERE a.ds[i] IS DISTINCT FROM b.ds[i] LIMIT 1;
		RETURN format('row %s is id %s at %s, expected a row at %s', place, a.ids[place], a.ds[place], b.ds[place]);
	END IF;
	IF EXISTS (SELECT FROM unnest(a.ids) id GROUP BY id HAVING count(*) > 1) THEN
		RETURN format('id %s comes twice', (SELECT id FROM unnest(a.ids) id GROUP BY id HAVING count(*) > 1 LIMIT 1));
	END IF;
	IF EXISTS (SELECT * FROM unnest(a.ids, a.ds) EXCEPT SELECT * FROM unnest(b.ids, b.ds)) THEN
		RETURN (SELECT format('id %s at %s is no row of the table', id, d) FROM (SELECT * FROM unnest(a.ids, a.ds) EXCEPT SELECT * FROM unnest(b.ids, b.ds) LIMIT 1) s (id, d));
	END IF;
	IF how = 'sorted' AND EXISTS (SELECT FROM (SELECT d, lead(d) OVER (ORDER BY n) AS behind, lead(n) OVER (ORDER BY n) AS next
			FROM unnest(a.ds) WITH ORDINALITY u (d, n)) s WHERE next IS NOT NULL AND (d > behind OR d IS NULL AND behind IS NOT NULL)) THEN
		RETURN 'distances are not in order';
	END IF;
	RETURN NULL;
END $$;

CREATE FUNCTION soak.note(INOUT result soak.result, difference text, what text) LANGUAGE sql AS $$
	SELECT ROW((result).n + 1, CASE WHEN difference IS NULL THEN (result).wrong ELSE concat_ws(E'\n', (result).wrong, difference || ': ' || what) END)::soak.result $$;

-- An index scan in order with several limits (NULL: none), each against the same sequential scan.  how: exact, ties or approximate
CREATE FUNCTION soak.compare_order(how text, tab text, ord text, condition text, limits int[]) RETURNS soak.result LANGUAGE plpgsql AS $$
DECLARE
	truth CONSTANT soak.rows := soak.truth(tab, ord, condition);
	candidates int := current_setting('genie.candidates', true)::int;
	k int;
	query text;
	result soak.result := (0, NULL);
BEGIN
	FOREACH k IN ARRAY limits LOOP
		query := format('SELECT id, (%1$s)::float8 AS d FROM %2$s WHERE %3$s ORDER BY %1$s LIMIT %4$s', ord, tab, condition, coalesce(k::text, 'ALL'));
		IF how <> 'approximate' THEN
			result := soak.note(result, soak.differ(how, soak.scan('Index Scan', query), truth, k), query);
		ELSIF current_setting('genie.strict_order')::bool THEN
			result := soak.note(result, soak.differ('sorted', soak.scan('Index Scan', query), truth, k), 'strict: ' || query);
		ELSE
			IF candidates = 0 THEN
				candidates := 200;
			END IF;
			result := soak.note(result, soak.differ('some', soak.scan('Index Scan', query), truth, k), query);
			IF condition = 'true' AND k <= candidates THEN
				result := soak.note(result, soak.differ('sorted', soak.scan('Index Scan', query), truth, k), query);
			END IF;
		END IF;
	END LOOP;
	IF how = 'approximate' THEN
		PERFORM set_config('genie.candidates', '16777216', true), set_config('work_mem', '64MB', true);
		FOREACH k IN ARRAY limits LOOP
			query := format('SELECT id, (%1$s)::float8 AS d FROM %2$s WHERE %3$s ORDER BY %1$s LIMIT %4$s', ord, tab, condition, coalesce(k::text, 'ALL'));
			result := soak.note(result, soak.differ('exact', soak.scan('Index Scan', query), truth, k), 'all candidates: ' || query);
		END LOOP;
	END IF;
	RETURN result;
END $$;

-- Rows that satisfy a condition, by both kinds of index scan.
CREATE FUNCTION soak.compare_condition(tab text, condition text) RETURNS soak.result LANGUAGE plpgsql AS $$
DECLARE
	query CONSTANT text := format('SELECT id, NULL::float8 AS d FROM %s WHERE %s', tab, condition);
	truth CONSTANT soak.rows := soak.scan('Seq Scan', query);
	result soak.result := (0, NULL);
BEGIN
	IF condition NOT LIKE '% OR %' THEN
		result := soak.note(result, soak.differ('all', soak.scan('Index Scan', query), truth, NULL), 'index scan: ' || query);
	END IF;
	RETURN soak.note(result, soak.differ('all', soak.scan('Bitmap Index Scan', query), truth, NULL), 'bitmap scan: ' || query);
END $$;

-- How many rows satisfy x @& query, by genie_count, exactly and by its bounds; which, by genie_filter; and no value has more rows, by genie_facets.
CREATE FUNCTION soak.compare_count(tab text, query text) RETURNS soak.result LANGUAGE plpgsql AS $$
DECLARE
	counted CONSTANT text := format('SELECT lower AS id, upper::float8 AS d FROM genie_count(''%s_x'', %s)', tab, query);
	bounds CONSTANT text := format('SELECT 0 AS id, (lower > upper OR estimate NOT BETWEEN lower AND upper)::int::float8 AS d FROM genie_count(''%s_x'', %s, false)', tab, query);
	filtered CONSTANT text := format('SELECT id, NULL::float8 AS d FROM genie_filter(''%1$s_x'', ARRAY[%2$s]) JOIN %1$s t ON t.ctid = tid', tab, query);
	facets CONSTANT text := format('SELECT 0 AS id, (coalesce(min(n), 1) < 1 OR coalesce(max(n), 0) > %%s)::int::float8 AS d FROM genie_facets(''%s_x'', %s, ''{0,1,2,7}'')', tab, query);
	truth CONSTANT soak.rows := soak.scan('Seq Scan', format('SELECT count(*) AS id, count(*)::float8 AS d FROM %s WHERE x @& %s', tab, query));
	has_similarity boolean;
	result soak.result := soak.note((0, NULL), soak.differ('exact', soak.scan('Seq Scan', counted), truth, NULL), counted);
BEGIN
	result := soak.note(result, soak.differ('all', soak.scan('Seq Scan', filtered), soak.scan('Seq Scan', format('SELECT id, NULL::float8 AS d FROM %s WHERE x @& %s', tab, query)), NULL), filtered);
	IF truth.refused IS NULL THEN
		EXECUTE format('SELECT (%s)::text LIKE ''%%\%%%%''', query) INTO has_similarity;
		-- a class that learns may keep bins, of which there are no facets
		IF NOT has_similarity AND (SELECT training IS NULL FROM genie_index_info((tab || '_x')::regclass)) THEN
			result := soak.note(result, soak.differ('exact', soak.scan('Seq Scan', format(facets, truth.ids[1])), ('{0}', '{0}', NULL), NULL), facets);
		END IF;
		result := soak.note(result, soak.differ('exact', soak.scan('Seq Scan', replace(bounds, 'lower > upper', format('%s NOT BETWEEN lower AND upper', truth.ids[1]))), ('{0}', '{0}', NULL), NULL), bounds);
	END IF;
	RETURN result;
END $$;

-- One call of genie_search or genie_exact_knn: call is SQL of (query, tid, d, n), ords are the queries' orders, condition says which rows come.
CREATE FUNCTION soak.compare_call(how text, tab text, call text, ords text[], condition text, k int) RETURNS soak.result LANGUAGE plpgsql AS $$
DECLARE
	rows_found soak.rows;
	truth soak.rows;
	number int;
	result soak.result := (0, NULL);
BEGIN
	PERFORM soak.use('Seq Scan');
	FOR number, rows_found.ids, rows_found.ds IN EXECUTE format('SELECT number, coalesce(array_agg(t.id ORDER BY n) FILTER (WHERE n IS NOT NULL), ''{}''), coalesce(array_agg(d ORDER BY n) FILTER (WHERE n IS NOT NULL), ''{}'')
			FROM generate_series(1, %s) number LEFT JOIN %s s (query, tid, d, n) ON query = number LEFT JOIN %s t ON t.ctid = s.tid GROUP BY number',
			cardinality(ords), call, tab) LOOP
		truth := soak.truth(tab, ords[number], condition);
		IF how = 'approximate' THEN
			result := soak.note(result, soak.differ('sorted', rows_found, truth, k), format('query %s of %s', number, call));
			result := soak.note(result, soak.differ('some', rows_found, truth, k), format('query %s of %s', number, call));
		ELSE
			result := soak.note(result, soak.differ(how, rows_found, truth, k), format('query %s of %s', number, call));
		END IF;
	END LOOP;
	RETURN result;
END $$;

-- A cursor that is read in steps, while its table changes between them.
CREATE FUNCTION soak.compare_cursor(how text, tab text, ord text, condition text, steps int[], changes text[]) RETURNS soak.result LANGUAGE plpgsql AS $$
DECLARE
	truth CONSTANT soak.rows := soak.truth(tab, ord, condition);
	query CONSTANT text := format('SELECT id, (%1$s)::float8 AS d FROM %2$s WHERE %3$s ORDER BY %1$s', ord, tab, condition);
	rows refcursor;
	one record;
	rows_found soak.rows := ('{}', '{}', NULL);
	result soak.result := (0, NULL);
BEGIN
	IF truth.refused IS NOT NULL THEN
		RETURN result;
	END IF;
	PERFORM soak.use('Index Scan');
	OPEN rows NO SCROLL FOR EXECUTE query;
	FOR i IN 1 .. cardinality(steps) + 1 LOOP
		FOR j IN 1 .. coalesce(steps[i], 2147483647) LOOP
			FETCH rows INTO one;
			EXIT WHEN NOT FOUND;
			rows_found.ids := rows_found.ids || one.id;
			rows_found.ds := rows_found.ds || one.d;
		END LOOP;
		IF i <= cardinality(changes) THEN
			EXECUTE changes[i];
		END IF;
	END LOOP;
	CLOSE rows;
	RETURN soak.note(result, soak.differ(CASE how WHEN 'approximate' THEN CASE WHEN current_setting('genie.strict_order')::bool THEN 'sorted' ELSE 'some' END ELSE how END, rows_found, truth, NULL),
		format('cursor, steps %s, changes %s: %s', steps, changes, query));
END $$;

-- The queries one after the other as parameters of one scan.  queries: SQL; ord: with $q where the query goes
CREATE FUNCTION soak.compare_lateral(how text, tab text, ord text, queries text[], k int) RETURNS soak.result LANGUAGE plpgsql AS $$
DECLARE
	by_index CONSTANT text := replace(ord, '$q', 'w.q');
	rows_found soak.rows;
	number int;
	result soak.result := (0, NULL);
BEGIN
	PERFORM soak.use('Index Scan');
	FOR number, rows_found.ids, rows_found.ds IN EXECUTE format('SELECT w.n, coalesce(array_agg(s.id) FILTER (WHERE s.id IS NOT NULL), ''{}''), coalesce(array_agg(s.d) FILTER (WHERE s.id IS NOT NULL), ''{}'')
			FROM (VALUES %s) w (q, n) LEFT JOIN LATERAL (SELECT id, (%s)::float8 AS d FROM %s ORDER BY %s LIMIT %s) s ON true GROUP BY w.n ORDER BY w.n',
			(SELECT string_agg(format('(%s, %s)', q, n), ', ') FROM unnest(queries) WITH ORDINALITY u (q, n)), by_index, tab, by_index, k) LOOP
		result := soak.note(result, soak.differ(CASE how WHEN 'approximate' THEN CASE WHEN current_setting('genie.strict_order')::bool THEN 'sorted' ELSE 'some' END ELSE how END,
			rows_found, soak.truth(tab, replace(ord, '$q', queries[number]), 'true'), k), format('lateral query %s of %s', number, queries));
		PERFORM soak.use('Index Scan');
	END LOOP;
	RETURN result;
END $$;

CREATE FUNCTION soak.compare_check(index text) RETURNS soak.result LANGUAGE plpgsql AS $$
BEGIN
	RETURN ROW(1, (SELECT string_agg(format('genie_check: block %s: %s', block, violation), E'\n') FROM genie_check(index)))::soak.result;
END $$;

-- Does an expression work?
CREATE FUNCTION soak.works(expression text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || expression;
	RETURN true;
EXCEPTION WHEN OTHERS THEN
	RETURN false;
END $$;
