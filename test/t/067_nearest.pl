# genie_search() by distance on random tables, classes, settings and k, up to more rows than there are.
#
# Of each answer the test knows without the index: how many rows it has, their distances, and their order, by (distance, ctid) with
# NULLs last.  Where k or genie.candidates reaches the number of rows, the answer is that of a sequential scan.  And the settings that
# must not matter do not matter: the worker, quantized vectors, strict order, little memory.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('nearest');
sub sql { return $node->safe_psql('postgres', @_); }

sql(<<'SQL');
CREATE EXTENSION genie;
CREATE FUNCTION vector(i int) RETURNS real[] LANGUAGE sql IMMUTABLE AS
	$$ SELECT array_agg((((hashint8(i % 20 * 64 + j) & 255) + (hashint8(i::bigint * 64 + j) & 31)) / 16.0)::real ORDER BY j) FROM generate_series(1, 6) j $$;
CREATE FUNCTION bits(v real[]) RETURNS bit(12) LANGUAGE sql IMMUTABLE AS
	$$ SELECT string_agg((e::int & 3)::bit(2)::text, '' ORDER BY n)::bit(12) FROM unnest(v) WITH ORDINALITY u (e, n) $$;
CREATE FUNCTION elements(v real[]) RETURNS int[] LANGUAGE sql IMMUTABLE AS
	$$ SELECT array_agg((n * 100 + e::int / 4)::int) FROM unnest(v) WITH ORDINALITY u (e, n) $$;
CREATE TABLE t (id int, v real[], d float8[], b bit(12), s int[]) WITH (autovacuum_enabled = off);
CREATE FUNCTION add_rows(a int, b int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, x, x, bits(x), elements(x) FROM (SELECT i, CASE WHEN i % 40 > 0 THEN vector((hashint8(i) & 2047) % (b + 1)) END AS x FROM generate_series(a, b) i) r $$;

CREATE TABLE classes AS SELECT row_number() OVER ()::int AS n, c.* FROM (VALUES ('v genie_l2_ops (hashes = 32)', 'v', '<->', 'vector(%s)'), ('v genie_l2_ops (hashes = 16, width = 0.05)', 'v', '<->', 'vector(%s)'),
	('d genie_laplacian_float8_ops (hashes = 24)', 'd', '<+>', 'vector(%s)::float8[]'), ('v genie_cosine_ops (hashes = 16, signs)', 'v', '<=>', 'vector(%s)'),
	('b genie_hamming_ops (hashes = 16)', 'b', '<&~>', 'bits(vector(%s))'), ('s genie_minhash_ops (hashes = 16)', 's', '<%%>', 'genie_object(elements(vector(%s)))')) c (class, operand, operator, query);
CREATE FUNCTION make_indexes(pending_limit int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	c classes;
BEGIN
	FOR c IN SELECT * FROM classes LOOP
		EXECUTE format('DROP INDEX IF EXISTS t_%s', c.n);
		EXECUTE format('CREATE INDEX t_%s ON t USING genie (%s) WITH (pending_limit = %s)', c.n, c.class, pending_limit);
	END LOOP;
END $$;

-- settings that make no difference, at random
CREATE FUNCTION shake() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(name || ' = ' || set_config(name, values[1 + floor(random() * cardinality(values))::int], false), ', ') FROM (VALUES ('genie.strict_order', '{on,off}'::text[]), ('genie.worker', '{on,off}'),
		('genie.quantized_vectors', '{on,off}'), ('work_mem', '{64kB,4MB}')) s (name, values) $$;

-- what is wrong with answers to so many random questions
CREATE FUNCTION faults(n int, seed float8) RETURNS SETOF text LANGUAGE plpgsql SET extra_float_digits = 3 AS $$
DECLARE
	n_rows int := (SELECT count(*) FROM t);
	c classes;
	k int;
	candidates int;
	queries text;
	numbered text;
	search text;
	settings text;
	before text;
	answer text;
	wrong text;
BEGIN
	PERFORM setseed(seed);
	FOR i IN 1 .. n LOOP
		SELECT * INTO c FROM classes WHERE classes.n = 1 + i % (SELECT count(*) FROM classes);
		k := (ARRAY[1, 10, n_rows / 3 + 1, n_rows - 1, n_rows, n_rows + 7, 2 * n_rows + 5, 100000])[1 + floor(random() * 8)::int];
		k := greatest(k, 1);
		candidates := (ARRAY[0, 1, 10, 50, n_rows + 100])[1 + floor(random() * 5)::int];
		PERFORM set_config('genie.candidates', candidates::text, true);
		-- one of them twice
		SELECT string_agg(format(c.query, q), ', ' ORDER BY o), string_agg(format('(%s, ' || c.query || ')', o, q), ', ') INTO queries, numbered FROM (SELECT o, CASE o WHEN 5 THEN 3 ELSE floor(random() * 3000)::int END AS q FROM generate_series(1, 4 + i % 2) o) q;
		search := format('genie_search(''t_%s'', ARRAY[%s], %s) WITH ORDINALITY s (query, tid, distance, o)', c.n, queries, k);
		settings := shake();
		EXECUTE format($q$
			WITH q (n, q) AS MATERIALIZED (VALUES %s), r AS MATERIALIZED (SELECT * FROM %s),
				e AS (SELECT q.n, ctid AS tid, %s %s q.q AS distance, row_number() OVER (PARTITION BY q.n ORDER BY %3$s %4$s q.q, ctid) AS rank FROM q, t),
				j AS (SELECT e.n, e.distance AS expected, e.rank, r.*, lag(r.tid) OVER w AS last_tid, lag(r.distance) OVER w AS last, row_number() OVER w AS r_rank
					FROM r LEFT JOIN e ON e.n = r.query AND e.tid = r.tid WINDOW w AS (PARTITION BY query ORDER BY o))
			SELECT concat_ws(', ', (SELECT 'number of rows' FROM (SELECT q.n FROM q LEFT JOIN r ON r.query = q.n GROUP BY q.n HAVING count(r.tid) <> %s OR count(DISTINCT r.tid) <> count(r.tid)) x LIMIT 1),
				(SELECT 'row' FROM j WHERE n IS NULL LIMIT 1), (SELECT 'distance' FROM j WHERE expected IS DISTINCT FROM distance LIMIT 1),
				(SELECT 'order' FROM j WHERE r_rank > 1 AND (coalesce(last, 'Infinity'), last_tid) > (coalesce(distance, 'Infinity'), tid) LIMIT 1),
				(SELECT 'not the nearest' FROM j WHERE %L AND rank <> r_rank LIMIT 1)),
				(SELECT md5(string_agg(concat_ws(' ', query, tid, distance), ',' ORDER BY o)) FROM r)
			$q$, numbered, search, c.operand, replace(c.operator, '%%', '%'), least(k, n_rows), k >= n_rows OR candidates >= n_rows) INTO wrong, answer;
		IF wrong <> '' THEN
			RETURN NEXT format('%s: index on %s, candidates = %s, %s: %s', wrong, c.class, candidates, settings, search);
		END IF;
		before := answer;
		settings := settings || '; ' || shake();
		EXECUTE format($q$ SELECT md5(string_agg(concat_ws(' ', query, tid, distance), ',' ORDER BY o)) FROM %s $q$, search) INTO answer;
		IF answer IS DISTINCT FROM before THEN
			RETURN NEXT format('settings: index on %s, candidates = %s, %s: %s', c.class, candidates, settings, search);
		END IF;
	END LOOP;
END $$;
SQL

my $seed = 0.1;
sub right { my ($what, $n) = @_; $seed += 0.01; return is(sql("SELECT * FROM faults($n, $seed) LIMIT 5"), '', $what); }

sql('SELECT make_indexes(4096)');
right('no rows', 6);
sql('SELECT add_rows(1, 200)');
right('pending rows of untrained indexes', 18);
sql('SELECT add_rows(201, 700); SELECT make_indexes(4096)');
right('built', 24);
sql('SELECT add_rows(701, 900)');
right('with pending rows', 24);
sql('SELECT make_indexes(4096)');
foreach my $rows ('901, 1050', '1051, 1075', '1076, 1100')
{
	sql("SELECT genie_merge(('t_' || n)::regclass) FROM classes; SELECT add_rows($rows)");
}
sql('DELETE FROM t WHERE id % 5 = 2');
cmp_ok(info($node, 't_1', 'segments'), '>', 1, 'several segments');
right('several segments, and dead rows', 24);
sql('VACUUM t; UPDATE t SET v = vector(id + 1), d = vector(id + 2), b = bits(vector(id)), s = elements(vector(id)) WHERE id % 7 = 1; DELETE FROM t WHERE id < 300');
right('tombstones', 24);
sql('VACUUM t; VACUUM t');
sql("SELECT genie_prewarm(('t_' || n)::regclass) FROM classes") if sql('SHOW shared_preload_libraries') =~ /genie/;
right('visible to everybody', 24);
sql('DELETE FROM t WHERE id % 50 > 0; VACUUM t');
right('few rows left', 12);

# k beyond a page of the best
sql('CREATE TABLE large AS SELECT ARRAY[hashint8(i) & 65535, hashint8(i + 100000) & 65535]::real[] AS v FROM generate_series(1, 70000) i; CREATE INDEX large_v ON large USING genie (v genie_l2_ops (hashes = 4))');
foreach my $k (66000, 70000, 2147483647)
{
	is(sql("SET work_mem = '1MB'; SELECT count(*), count(DISTINCT tid), bool_and(distance >= before) FROM (SELECT tid, distance, lag(distance, 1, 0::float8) OVER (ORDER BY o) AS before
		FROM genie_search('large_v', '{30000,30000}'::real[], $k) WITH ORDINALITY s (query, tid, distance, o)) r"), join('|', ($k > 70000 ? 70000 : $k) x 2, 't'), "k = $k of 70,000 rows");
}
done_testing();
