# genie_enable_pgvector(): operator classes of the type vector.  Where pgvector is not installed, a type that stores its values in
# the same way stands for it (test/module/genie_vector_type.c).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = module_library('genie_vector_type', PostgreSQL::Test::Utils::tempdir());
my $script = slurp_file("$ENV{TESTDIR}/test/module/genie_vector_type.sql") =~ s/MODULE_PATHNAME/$library/gr;
my $node = genie_node('pgvector');
my ($result, $out, $error);

# Is the error the given one?
sub fails
{
	my ($sql, $expected, $what) = @_;
	($result, $out, $error) = $node->psql('postgres', $sql);
	like($error, $expected, $what);
	return;
}

$node->safe_psql('postgres', 'CREATE SCHEMA g; CREATE EXTENSION genie SCHEMA g');
fails('SELECT g.genie_enable_pgvector()', qr/there is no type "vector"\n.*HINT:  Install pgvector, and run CREATE EXTENSION vector\./s, 'no pgvector');
$node->safe_psql('postgres', 'CREATE ROLE someone; GRANT USAGE ON SCHEMA g TO someone');
fails('SET ROLE someone; SELECT g.genie_enable_pgvector()', qr/must be superuser to create operator classes for "vector"/, 'no superuser');

my $real = $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'});
note($real ? 'pgvector itself' : 'a type like pgvector\'s');
$node->safe_psql('postgres', $real ? 'CREATE SCHEMA v; CREATE EXTENSION vector SCHEMA v' : "CREATE SCHEMA v; SET search_path = v; $script");
$node->safe_psql('postgres', q{CREATE SCHEMA w; CREATE FUNCTION w.none(bit, bit) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT 1::float8'; CREATE OPERATOR w.<~> (LEFTARG = bit, RIGHTARG = bit, FUNCTION = w.none)});
my $added = $node->safe_psql('postgres', 'SELECT g.genie_enable_pgvector()');
is($added, $real ? 24 : 7, 'a class for each operator that the type has, and one for that of bits');
is($node->safe_psql('postgres', 'SELECT g.genie_enable_pgvector()'), 0, 'nothing is added twice');
is($node->safe_psql('postgres', q{SELECT count(*), bool_and(amvalidate(oid)) FROM pg_opclass WHERE opcname ~ '^genie_(vector|halfvec|bit)_'}), "$added|t", 'amvalidate accepts the classes');
is($node->safe_psql('postgres', q{SELECT opcname FROM pg_opclass WHERE opcname ~ '^genie_vector_' AND opcdefault}), 'genie_vector_l2_ops', 'which is the default');

# The vectors as such and as real[] have the same signatures, so the same candidates.
$node->safe_psql('postgres', <<'SQL');
SET search_path = public, g, v;
CREATE FUNCTION elements(i int) RETURNS real[] LANGUAGE sql IMMUTABLE AS 'SELECT array_agg((hashint8(i::bigint * 64 + j) & 255)::real ORDER BY j) FROM generate_series(1, 16) j';
CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 100 > 0 THEN translate(elements(i)::text, '{}', '[]')::vector END AS v, CASE WHEN i % 100 > 0 THEN elements(i) END AS a FROM generate_series(1, 5000) i;
CREATE INDEX t_v ON t USING genie (v);
CREATE INDEX t_a ON t USING genie (a genie_l2_ops);
CREATE FUNCTION near(query text) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	r text;
BEGIN
	EXECUTE 'SELECT string_agg(id || '' '' || round(d::numeric, 3), '','') FROM (' || query || ') s' INTO r;
	RETURN r;
END $$;
SQL
my $compare = <<'SQL';
SET search_path = public, g, v;
SELECT count(*), bool_and(near(format('SELECT id, v <-> %L AS d FROM t ORDER BY v <-> %1$L LIMIT 20', translate(elements(q)::text, '{}', '[]'))) = near(format('SELECT id, a <-> %L::real[] AS d FROM t ORDER BY a <-> %1$L::real[] LIMIT 20', elements(q))))
	FROM generate_series(4990, 5030) q;
SQL
is($node->safe_psql('postgres', $compare), '41|t', 'the rows of genie_l2_ops');
like($node->safe_psql('postgres', q{SET search_path = public, g, v; SET enable_seqscan = off; EXPLAIN SELECT id FROM t ORDER BY v <-> (SELECT v FROM t WHERE id = 1) LIMIT 3}), qr/Index Scan using t_v on t/, 'by the index');
$node->safe_psql('postgres', q{SET search_path = public, g, v; DELETE FROM t WHERE id % 7 = 0; INSERT INTO t SELECT i, translate(elements(i)::text, '{}', '[]')::vector, elements(i) FROM generate_series(5001, 6000) i; VACUUM t});
is($node->safe_psql('postgres', $compare), '41|t', 'the same after changes');
is($node->safe_psql('postgres', q{SELECT count(*) FROM g.genie_check('t_v')}), 0, 'genie_check');
fails(q{SET search_path = g, v; INSERT INTO public.t (v) VALUES ('[1,2,3]')}, qr/vector differs in length from those in the index\n.*DETAIL:  Its length is 3, theirs is 16\./s, 'another length');
fails(q{SET search_path = g, v; INSERT INTO public.t (v) VALUES ('[]')}, $real ? qr/vector must have at least 1 dimension/ : qr/value is not a vector as pgvector stores it/, 'bytes that are no vector');

# Many queries in one call come as a real[]: the same rows as those of genie_l2_ops, and as one by one.
my $functions = 'SET search_path = public, g, v; SET extra_float_digits = 0;';
my $queries = 'ARRAY(SELECT elements(q) FROM generate_series(4990, 5030) q)';
my $batch = 'SELECT query, tid, round(distance::numeric, 3) FROM genie_search(%s, %s, 20)';
$node->safe_psql('postgres', 'CREATE TABLE few AS SELECT * FROM t WHERE id BETWEEN 4990 AND 5029; CREATE INDEX few_v ON few USING genie (v g.genie_vector_l2_ops)');
is($node->safe_psql('postgres', $functions . sprintf($batch, q{'t_v'}, $queries)), $node->safe_psql('postgres', $functions . sprintf($batch, q{'t_a'}, $queries)), 'genie_search: the rows of genie_l2_ops');
is($node->safe_psql('postgres', "$functions SELECT string_agg(id || ' ' || round(distance::numeric, 3), ',' ORDER BY n) = near(format('SELECT id, v <-> %L AS d FROM t ORDER BY v <-> %1\$L LIMIT 20', translate(elements(5010)::text, '{}', '[]'))) FROM genie_search('t_v', elements(5010), 20) WITH ORDINALITY s (query, tid, distance, n) JOIN t ON t.ctid = s.tid"), 't', 'as the operator orders one by one');
is($node->safe_psql('postgres', "$functions SELECT count(*), count(distance), bool_and(distance IS NOT DISTINCT FROM v <-> translate(elements(query + 4989)::text, '{}', '[]')::vector) FROM genie_search('few_v', $queries, 1000) s JOIN few ON few.ctid = s.tid"), '1558|1517|t', 'an index that has not learned');
my $exact = 'SELECT query, tid, distance FROM genie_exact_knn(%s, %s, 20%s)';
is($node->safe_psql('postgres', $functions . sprintf($exact, q{'t_v'}, $queries, $_)), $node->safe_psql('postgres', $functions . sprintf($exact, q{'t_a'}, $queries, $_)), "genie_exact_knn$_")
	for '', q{, 'cosine'};
fails("$functions SELECT genie_search('t_v', '{{1,2,3}}'::real[])", qr/vector differs in length from those in the index\n.*DETAIL:  Its length is 3, theirs is 16\./s, 'genie_search: another length');
fails("$functions SELECT genie_search('t_v', array_fill(1::real, '{40000}'))", qr/vector of type "vector" cannot have 40000 elements/, 'genie_search: more elements than the type has');
fails("$functions SELECT genie_search('t_v', '{{1,2,3}}'::float8[])", qr/index "t_v" does not take queries of type double precision\[\]\n.*HINT:  Cast the queries to real\[\]\./s, 'genie_search: queries of double precision');
fails("$functions SELECT genie_exact_knn('t_v', '{{1,2,3}}'::real[])", qr/vectors differ in length\n.*DETAIL:  The one in row \(\d+,\d+\) has 16 elements, the queries have 3\./s, 'genie_exact_knn: another length');

# Bit strings by pgvector's operator, exactly.
$node->safe_psql('postgres', <<'SQL');
SET search_path = public, g, v;
CREATE TABLE bits AS SELECT i AS id, CASE WHEN i % 50 > 0 THEN (hashint8(i::bigint & 255)::bit(32) || hashint8(i)::bit(32))::bit(64) END AS b FROM generate_series(1, 3000) i;
CREATE INDEX bits_b ON bits USING genie (b genie_bit_hamming_exact_ops);
INSERT INTO bits SELECT 3000 + id, b FROM bits LIMIT 200;
SQL
my $nearest = q{SET search_path = public, g, v; SET enable_%s = off; SELECT ctid, b <~> repeat('1001', 16)::bit(64) FROM bits ORDER BY b <~> repeat('1001', 16)::bit(64)%s LIMIT 300};
is($node->safe_psql('postgres', sprintf($nearest, 'seqscan', '')), $node->safe_psql('postgres', sprintf($nearest, 'indexscan', ', ctid')), 'the rows of a sequential scan by <~>');
like($node->safe_psql('postgres', sprintf($nearest, 'seqscan', '') =~ s/SELECT ctid/EXPLAIN SELECT ctid/r), qr/Index Scan using bits_b on bits/, 'by the index');
is($node->safe_psql('postgres', "$functions SELECT tid, distance FROM genie_search('bits_b', ARRAY[repeat('1001', 16)::bit(64)], 300)"), $node->safe_psql('postgres', sprintf($nearest, 'indexscan', ', ctid')), 'and by genie_search');

# Vectors of halves, exactly: small and large ones, those below the normal range, and those that floats would tell apart.
$node->safe_psql('postgres', <<'SQL');
SET search_path = public, g, v;
CREATE FUNCTION halves(i int) RETURNS halfvec LANGUAGE sql STABLE AS $$
	SELECT ('[' || string_agg(CASE i % 9 WHEN 0 THEN (sin(i * j) * 1e-5)::text WHEN 1 THEN (65504 * sign(sin(i * 0.7 + j)))::text ELSE (100 + sin(i * 0.37 * j) * (1 + i % 3))::text END, ',' ORDER BY j) || ']')::halfvec FROM generate_series(1, 20) j $$;
CREATE TABLE h (id int, v halfvec, changed int);
CREATE INDEX ON h (changed);
INSERT INTO h SELECT i, CASE WHEN i % 70 > 0 THEN halves(i) END FROM generate_series(1, 3000) i;
SQL
my @of_halves = split /\n/, $node->safe_psql('postgres', q{SELECT opcname || ' ' || (SELECT oprname FROM pg_amop p JOIN pg_operator o ON o.oid = amopopr WHERE amopfamily = opcfamily) FROM pg_opclass WHERE opcname ~ '^genie_halfvec' ORDER BY 1});
foreach my $class (@of_halves)
{
	my ($name, $operator) = split / /, $class;
	$node->safe_psql('postgres', "CREATE INDEX h_v ON h USING genie (v g.$name) WITH (pending_limit = 64)");
	my $wrong = sub {
		# with a bit a dimension, the bounds of a strict order hold for all
		my $nearest = "SET search_path = public, g, v; SET genie.strict_order = on; SET enable_%s = off; SELECT q, (SELECT string_agg(ctid || ' ' || d, ',' ORDER BY n) FROM (SELECT ctid, d, row_number() OVER () AS n FROM (SELECT ctid, v $operator halves(q) AS d FROM h ORDER BY v $operator halves(q)%s LIMIT 15) s) s) FROM generate_series(2991, 3009) q";
		is($node->safe_psql('postgres', sprintf($nearest, 'seqscan', '')), $node->safe_psql('postgres', sprintf($nearest, 'indexscan', ', ctid')), "$class: the rows of a sequential scan, $_[0]");
	};
	$wrong->('built');
	$node->safe_psql('postgres', 'SET search_path = public, g, v; DELETE FROM h WHERE id % 11 = 3; INSERT INTO h SELECT i, halves(i + 5000) FROM generate_series(1, 200) i; UPDATE h SET v = halves(id + 20), changed = id WHERE id % 13 = 1');
	$wrong->('changed');
	like($node->safe_psql('postgres', "SET search_path = public, g, v; SET enable_seqscan = off; EXPLAIN SELECT id FROM h ORDER BY v $operator (SELECT halves(7)) LIMIT 3"), qr/Index Scan using h_v on h/, 'by the index');
	is($node->safe_psql('postgres', q{SELECT * FROM g.genie_check('h_v')}), '', 'genie_check');
	my $asked = join(',', map { 100 + $_ / 3 } 1 .. 20);
	is($node->safe_psql('postgres', "$functions SET genie.strict_order = on; SELECT tid, distance FROM genie_search('h_v', ARRAY[[$asked]]::real[], 15)"),
		$node->safe_psql('postgres', "$functions SET enable_indexscan = off; SELECT ctid, v $operator '[$asked]'::halfvec FROM h ORDER BY v $operator '[$asked]'::halfvec, ctid LIMIT 15"), 'and by genie_search');
	fails("$functions SELECT genie_search('h_v', array_fill(65520::real, '{1,20}'))", qr/65520 is out of range for type "halfvec"/, 'a float that no half holds');
	fails("$functions INSERT INTO public.h (v) VALUES ('[1,2,3]')", qr/vector differs in length from those in the index\n.*DETAIL:  Its length is 3, theirs is 20\./s, 'another length');
	$node->safe_psql('postgres', 'DROP INDEX h_v');
}

# By graphs, where there is a worker.
my $has_worker = $node->safe_psql('postgres', 'SHOW shared_preload_libraries') =~ /genie/;
my $half = q{translate(elements(%s)::text, '{}', '[]')::halfvec};
my $half_of_q = sprintf($half, 'q');
$node->safe_psql('postgres', "$functions CREATE TABLE hg AS SELECT i AS id, " . sprintf($half, 'i') . ' AS v FROM generate_series(1, 40000) i; CREATE INDEX hg_v ON hg USING genie (v genie_halfvec_l2_ops)');
$node->safe_psql('postgres', 'VACUUM hg');
$node->safe_psql('postgres', q{SELECT g.genie_prewarm('hg_v')}) if $has_worker;
is($node->safe_psql('postgres', "$functions SET enable_seqscan = off; SELECT count(*) FROM generate_series(11, 90) q, LATERAL (SELECT id FROM hg ORDER BY v <-> $half_of_q LIMIT 1) s WHERE s.id = q"), 80, 'halves by graphs: rows find themselves');
is($node->safe_psql('postgres', "$functions SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM hg ORDER BY v <-> (SELECT v FROM hg WHERE id = 7) LIMIT 5) s; SELECT by_graph FROM genie_last_scan()"), $has_worker ? "5\n1" : "5\n0", 'by a graph, where there is a worker');
is(scalar(@of_halves), $real ? 11 : 3, 'classes of halves');

# pg_dump writes the classes: they are the database's own.
$node->run_log([ 'createdb', '-h', $node->host, '-p', $node->port, 'copy' ]);
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$node->command_ok([ 'pg_dump', '-h', $node->host, '-p', $node->port, '-f', $dump, 'postgres' ], 'dumped');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', $node->host, '-p', $node->port, '-f', $dump, 'copy' ], 'restored');
is($node->safe_psql('copy', q{SELECT count(*) FROM pg_index WHERE indexrelid = 't_v'::regclass AND indisvalid}), 1, 'with its index');

$node->safe_psql('copy', 'DROP EXTENSION genie CASCADE');
is($node->safe_psql('copy', q{SELECT (SELECT count(*) FROM pg_proc WHERE proname ~ '^genie_pg') + (SELECT count(*) FROM pg_opclass WHERE opcname ~ '^genie_')}), 0, 'all of it goes with the extension');

$node->stop;
done_testing();
