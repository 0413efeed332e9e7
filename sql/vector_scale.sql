-- approximate operator classes: data of several scales, and rows that are unlike those of the training
-- random numbers that are the same everywhere, between 0 and 1
CREATE FUNCTION number(i bigint, j int) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT (hashint8extended(i, j) & 1048575) / 1048576.0';
CREATE FUNCTION numbers(i bigint, n int, factor float8 = 1) RETURNS real[] LANGUAGE sql IMMUTABLE AS 'SELECT array_agg(factor * number(i, j) ORDER BY j)::real[] FROM generate_series(1, n) j';
-- Which part of the ten nearest rows of each query does the index find, in the mean?  Equal distances count alike.
CREATE FUNCTION share(name text, operator text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	share numeric;
BEGIN
	SET LOCAL enable_seqscan = off;
	EXECUTE format('CREATE TEMP TABLE found ON COMMIT DROP AS SELECT q.id, n.d FROM %1$I_queries q, LATERAL (SELECT x.v %2$s q.v AS d FROM %1$I x ORDER BY x.v %2$s q.v LIMIT 10) n', name, operator);
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	EXECUTE format('SELECT avg((SELECT count(*) FROM found f WHERE f.id = q.id AND f.d <= n.d)) / 10 FROM %1$I_queries q, LATERAL (SELECT x.v %2$s q.v AS d FROM %1$I x ORDER BY x.v %2$s q.v OFFSET 9 LIMIT 1) n', name, operator) INTO share;
	SET LOCAL enable_indexscan = on;
	DROP TABLE found;
	RETURN share;
END $$;
CREATE FUNCTION recall(name text, operator text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN share >= 0.9 THEN 'found' ELSE round(share, 2)::text END FROM share(name, operator);
$$;
-- Makes a table of rows i by an expression, queries of 40 of its rows unless there is another expression, and indexes.
CREATE PROCEDURE make(name text, n int, expression text, query text = NULL) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I AS SELECT i AS id, %s AS v FROM generate_series(1, %s) i', name, expression, n);
	EXECUTE format('CREATE TABLE %I AS SELECT i AS id, %s AS v FROM generate_series(1, %s, %s) i', name || '_queries', coalesce(query, expression), n, n / 40);
	EXECUTE format('CREATE INDEX %1$s_l2 ON %1$I USING genie (v genie_l2_ops); ANALYZE %1$I', name);
END $$;
CREATE FUNCTION recalls(name text) RETURNS TABLE (l2 text, l1 text, laplacian text) LANGUAGE plpgsql AS $$
BEGIN
	l2 := recall(name, '<->');
	EXECUTE format('DROP INDEX %1$s_l2; CREATE INDEX %1$s_l1 ON %1$I USING genie (v genie_l1_ops)', name);
	l1 := recall(name, '<+>');
	EXECUTE format('DROP INDEX %1$s_l1; CREATE INDEX %1$s_laplacian ON %1$I USING genie (v genie_laplacian_ops)', name);
	laplacian := recall(name, '<+>');
	EXECUTE format('DROP TABLE %1$I, %1$s_queries', name);
	RETURN NEXT;
END $$;

-- half of the rows on a line, the others anywhere
CALL make('half', 4000, $$CASE WHEN i % 2 = 0 THEN ARRAY[i, 2 * i, 3 * i, i, i, i, i, i]::real[] ELSE numbers(i, 8, 100000) END$$);
SELECT * FROM recalls('half');
-- clusters of radius 0.001 to 1000
CALL make('clusters', 4000, $$array(SELECT c * 10000 + r * power(10, i % 7 - 3) FROM unnest(numbers(i % 70, 8), numbers(i, 8)) AS u (c, r))::real[]$$);
SELECT * FROM recalls('clusters');
-- products of random numbers, and queries that are no such products
CALL make('products', 4000, $$array(SELECT a * b FROM unnest(numbers(i, 3), numbers(i + 100000, 3)) AS u (a, b))::real[]$$, 'numbers(i + 200000, 3)');
SELECT * FROM recalls('products');
-- columns of different units, of which one has a long tail
CALL make('columns', 4000, $$ARRAY[floor(exp(14 * number(i, 1) * number(i, 2))), floor(number(i, 3) * 500), i % 3, round(number(i, 4)::numeric, 2), round(number(i, 5)::numeric, 2), CASE WHEN i % 5 = 0 THEN floor(number(i, 6) * 255) ELSE 255 END]::real[]$$);
SELECT * FROM recalls('columns');
-- most rows are equal
CALL make('equal', 4000, $$CASE WHEN i % 100 = 1 THEN numbers(i, 8) ELSE '{2,2,2,2,2,2,2,2}' END$$);
SELECT * FROM recalls('equal');
-- pictures: mostly zeros
CALL make('pictures', 1500, $$array(SELECT CASE WHEN r + c BETWEEN 8 + i % 10 AND 10 + i % 10 OR (r - c) = i % 7 - 3 THEN 255 * number(i * 64 + r, 7) ELSE 0 END FROM generate_series(0, 15) r, generate_series(0, 15) c)::real[]$$);
SELECT * FROM recalls('pictures');
-- products of three random numbers, which are small; the queries are no such products
CALL make('triples', 20000, $$array(SELECT a * b * c FROM unnest(numbers(i, 3), numbers(i + 100000, 3), numbers(i + 200000, 3)) AS u (a, b, c))::real[]$$, 'numbers(i + 300000, 3)');
SELECT * FROM recalls('triples');
-- rows of one scale have one width, as the parameters tell
CALL make('uniform', 3000, 'numbers(i, 16)');
SELECT encode(substr(parameters, 33, 32), 'hex') = repeat('0', 64) AS "one width", training FROM genie_index_info('uniform_l2');
SELECT * FROM recalls('uniform');

-- equal rows teach nothing: the index waits for others, though not for ever
CREATE TABLE late (id int, v real[]) WITH (autovacuum_enabled = off);
CREATE TABLE late_queries AS SELECT i AS id, numbers(i, 8) AS v FROM generate_series(301, 340) i;
CREATE INDEX late_l2 ON late USING genie (v genie_l2_ops);
INSERT INTO late SELECT i, '{0,0,0,0,0,0,0,0}' FROM generate_series(1, 300) i;
SELECT genie_merge('late_l2');
SELECT pending_rows, training FROM genie_index_info('late_l2');
REINDEX INDEX late_l2;
SELECT pending_rows, training FROM genie_index_info('late_l2');
INSERT INTO late SELECT i, numbers(i, 8) FROM generate_series(301, 3000) i;
VACUUM late;
SELECT pending_rows, training, recall('late', '<->') FROM genie_index_info('late_l2');
TRUNCATE late;
INSERT INTO late SELECT i, '{0,0,0,0,0,0,0,0}' FROM generate_series(1, 4096) i;
SELECT genie_merge('late_l2');
SELECT pending_rows, training FROM genie_index_info('late_l2');
VACUUM late;
SELECT training FROM genie_index_info('late_l2');
-- rows unlike those of the training, here of other units: VACUUM says so, if it has no values to learn from
ALTER INDEX late_l2 SET (values = off);
TRUNCATE late;
INSERT INTO late SELECT i, numbers(i, 8, 0.001) FROM generate_series(1, 500) i;
SELECT genie_merge('late_l2');
VACUUM late;
SELECT pending_rows, training FROM genie_index_info('late_l2');
INSERT INTO late SELECT i, numbers(i, 8) FROM generate_series(301, 3000) i;
VACUUM late;
SELECT pending_rows, training FROM genie_index_info('late_l2');
REINDEX INDEX late_l2;
SELECT pending_rows, training, recall('late', '<->') FROM genie_index_info('late_l2');
DELETE FROM late WHERE id > 500 OR v[1] > 0.001;
VACUUM late;
SELECT training FROM genie_index_info('late_l2');
-- more rows of the same kind, or sorted, are no surprise; nor is a width that the user gave
CREATE TABLE calm (id int, v real[], w real[], s real[], b bit(64)) WITH (autovacuum_enabled = off);
CREATE INDEX calm_l2 ON calm USING genie (v genie_l2_ops);
CREATE INDEX calm_given ON calm USING genie (w genie_l2_ops (width = 0.00001));
CREATE INDEX calm_sorted ON calm USING genie (s genie_laplacian_ops);
CREATE INDEX calm_cosine ON calm USING genie (v genie_cosine_ops);
CREATE INDEX calm_signs ON calm USING genie (v genie_cosine_ops (signs));
CREATE INDEX calm_hamming ON calm USING genie (b genie_hamming_ops);
CREATE INDEX calm_sets ON calm USING genie (s genie_minhash_ops);
INSERT INTO calm SELECT i, numbers(i, 6), numbers(i, 2), ARRAY[i, number(i, 1), number(i, 2)], hashint8extended(i, 1)::bit(64) FROM generate_series(1, 300) i;
VACUUM calm;
INSERT INTO calm SELECT i, numbers(i, 6), numbers(i, 2), ARRAY[i, number(i, 1), number(i, 2)], hashint8extended(i, 1)::bit(64) FROM generate_series(301, 8000) i;
VACUUM calm;
SELECT i, training, pending_rows FROM unnest('{calm_l2,calm_given,calm_sorted,calm_cosine,calm_signs,calm_hamming,calm_sets}'::regclass[]) i, genie_index_info(i);
CREATE TABLE exact AS SELECT '{1}'::int[] AS a;
CREATE INDEX exact_a ON exact USING genie (a);
SELECT training FROM genie_index_info('exact_a');


-- with values, VACUUM and genie_merge() train again, and the index is as good as one that is built anew
CREATE TABLE again (id int, v real[]) WITH (autovacuum_enabled = off);
CREATE TABLE again_queries ();
CREATE INDEX again_x ON again USING genie (v genie_l2_ops);
CREATE FUNCTION trained() RETURNS TABLE (training text, segments int, pending_rows bigint, wrong bigint) LANGUAGE sql AS $$
	SELECT training, segments, pending_rows, (SELECT count(*) FROM genie_check('again_x')) FROM genie_index_info('again_x');
$$;
-- Compares the index with one that is built now; also with so few candidates that both miss rows.
CREATE FUNCTION as_rebuilt(operator text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	many numeric := share('again', operator);
	few numeric;
BEGIN
	SET LOCAL genie.candidates = 30;
	few := share('again', operator);
	REINDEX INDEX again_x;
	few := few - share('again', operator);
	SET LOCAL genie.candidates = 0;
	RETURN CASE WHEN many < 0.9 OR abs(many - share('again', operator)) > 0.01 OR abs(few) > 0.02 THEN format('misses: %s, %s', many, few) ELSE 'like a new one' END;
END $$;
-- Makes an index of n_early rows of the one kind, which learns from them, and then of those of the other kind.
CREATE PROCEDURE learn(class text, early text, late text, n int = 20300, n_early int = 300) LANGUAGE plpgsql AS $$
BEGIN
	DROP INDEX again_x;
	DROP TABLE again_queries;
	TRUNCATE again;
	EXECUTE 'CREATE INDEX again_x ON again USING genie (v ' || class || ')';
	EXECUTE 'INSERT INTO again SELECT i, ' || early || ' FROM generate_series(1, $1) i' USING n_early;
	PERFORM genie_merge('again_x');
	EXECUTE 'INSERT INTO again SELECT i, ' || late || ' FROM generate_series($1 + 1, $2) i' USING n_early, n;
	EXECUTE 'CREATE TABLE again_queries AS SELECT i AS id, ' || late || ' AS v FROM generate_series($1 + 1, $1 + 100) i' USING n;
END $$;
CALL learn('genie_l2_ops', 'numbers(i, 12, 0.001)', 'numbers(i, 12)');
SELECT genie_merge('again_x');
SELECT *, as_rebuilt('<->') FROM trained();
SELECT training FROM trained();
CALL learn('genie_laplacian_ops', 'numbers(i, 8, 0.001)', 'numbers(i, 8)');
VACUUM again;
SELECT *, as_rebuilt('<+>') FROM trained();
CALL learn('genie_cosine_ops', 'array(SELECT 1 + x FROM unnest(numbers(i, 12, 0.001)) x)::real[]', 'numbers(i, 12)');
VACUUM again;
SELECT *, as_rebuilt('<=>') FROM trained();
-- equal rows at first, so many that the index does not wait for others
CALL learn('genie_l2_ops', $$'{2,2,2,2,2,2,2,2}'$$, 'numbers(i, 8, 0.01)', 24096, 4096);
SELECT genie_merge('again_x');
SELECT *, as_rebuilt('<->') FROM trained();
-- rows drift to two scales, which take turns; little memory
CALL learn('genie_l2_ops', 'numbers(i, 8, 0.01)', 'numbers(i, 8, CASE WHEN i % 2 = 0 THEN 1 ELSE 30 END)');
SET maintenance_work_mem = '1MB';
SELECT genie_merge('again_x');
RESET maintenance_work_mem;
SELECT *, as_rebuilt('<->') FROM trained();
-- and once more; then it is calm
INSERT INTO again SELECT i, numbers(i, 8, 0.00001) FROM generate_series(50001, 52000) i;
DELETE FROM again WHERE id < 50000;
INSERT INTO again SELECT NULL FROM generate_series(1, 20) i;
VACUUM again;
SELECT * FROM trained();
SELECT parameters AS before FROM genie_index_info('again_x') \gset
INSERT INTO again SELECT i, numbers(i, 8, 0.00002) FROM generate_series(52001, 55000) i;
VACUUM again;
SELECT genie_merge('again_x');
SELECT *, (SELECT parameters FROM genie_index_info('again_x')) = :'before' AS calm FROM trained();
-- an insert never trains again
CALL learn('genie_l2_ops', 'numbers(i, 8, 0.001)', 'numbers(i, 8)', 400);
ALTER INDEX again_x SET (pending_limit = 64);
INSERT INTO again SELECT i, numbers(i, 8) FROM generate_series(401, 5000) i;
SELECT training, segments > 1 AS merged FROM trained();
-- values that are too coarse, or that some rows lack: VACUUM says what to do
CALL learn('genie_l2_ops', 'numbers(i, 3, 0.00001)', 'ARRAY[number(i, 1), number(i, 2), 1000000 * (i % 2)]::real[]', 3000);
VACUUM again;
SELECT * FROM trained();
CALL learn('genie_cosine_ops', 'array(SELECT 1 + x FROM unnest(numbers(i, 12, 0.001)) x)::real[]', $$CASE WHEN i = 333 THEN array_fill(0::real, '{12}') ELSE numbers(i, 12) END$$, 3000);
VACUUM again;
SELECT * FROM trained();
DELETE FROM again WHERE id = 333;
VACUUM again;
SELECT * FROM trained();
TRUNCATE again;
ALTER INDEX again_x SET (values = off);
INSERT INTO again SELECT i, array(SELECT 1 + x FROM unnest(numbers(i, 12, 0.001)) x)::real[] FROM generate_series(1, 300) i;
SELECT genie_merge('again_x');
ALTER INDEX again_x RESET (values);
INSERT INTO again SELECT i, numbers(i, 12) FROM generate_series(301, 3000) i;
VACUUM again;
SELECT * FROM trained();
-- classes without values: the same
CREATE TABLE bits (b bit(64)) WITH (autovacuum_enabled = off);
CREATE INDEX bits_b ON bits USING genie (b genie_hamming_ops);
INSERT INTO bits SELECT hashint8extended(i, 1)::bit(64) & (15::bit(64)) FROM generate_series(1, 300) i;
SELECT genie_merge('bits_b');
INSERT INTO bits SELECT hashint8extended(i, 1)::bit(64) FROM generate_series(301, 8000) i;
VACUUM bits;
SELECT training FROM genie_index_info('bits_b');

DROP TABLE late, late_queries, calm, exact, again, again_queries, bits;
DROP PROCEDURE learn;
DROP FUNCTION trained, as_rebuilt;
DROP PROCEDURE make;
DROP FUNCTION recall, recalls, share, numbers, number;
