# An operator class that another extension brings (test/module) works like genie's own.
#
# The module is built against the installed headers alone and installed below a temporary folder.  PostgreSQL 15 finds
# extensions in its own folder only, where the test may not write, so the extension's script is run with the path
# of the built library instead of by CREATE EXTENSION.  Nothing stays.
#
# The oracle is the sequential scan, sorted by (x <&> q, ctid); for an index with a parameter, by the function that
# computes the same with that parameter.  Everything random follows from one seed.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest qw(module_library);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{GENIE_SEED} // 20;
srand($seed);

# ---- the module ----

my $root = PostgreSQL::Test::Utils::tempdir();
my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
my $library = module_library('genie_words', $root);
my ($undefined) = run_command([ 'nm', '-D', '--undefined-only', $library ]);
unlike($undefined, qr/genie/, 'it needs no symbol of genie');
my $script = slurp_file("$root" . `$pg_config --sharedir` =~ s/\n//r . '/extension/genie_words--1.0.sql');
$script =~ s/MODULE_PATHNAME/$library/g;

# ---- the class ----

my $node = PostgreSQL::Test::Cluster->new('operator_class');
$node->init;
$node->append_conf('postgresql.conf', $ENV{GENIE_TEST_CONF} // '');
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\njit = off\n");
$node->start;
# genie has operators of these names between texts and queries as well: the module's are in a schema that is searched first
$node->safe_psql('postgres', "CREATE EXTENSION genie; CREATE SCHEMA words; ALTER DATABASE postgres SET search_path = words, public;\nSET search_path = words, public;\n$script");

is($node->safe_psql('postgres', q{SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'genie_words_ops'}), 't', 'amvalidate accepts the class');
is($node->safe_psql('postgres', q{SELECT 'a  bb a ccc ' <&> 'ccc a d', '' <&> 'a', 'a b' @& genie_query(ARRAY['a','b','c'], 2),
	'a b' @& genie_query(ARRAY['a','c'], 2), 'b' @& '{0:text:[a,c)}@1'::genie_query, 'c' @& '{0:text:[a,c)}@1'::genie_query}),
	'-2|0|t|f|t|f', 'the operators count common words');

# A broken class: its functions have the wrong types or are missing, and so is its operators' purpose.
my ($result, $messages);
$node->psql('postgres', <<'SQL', stdout => \$result, stderr => \$messages);
CREATE OPERATOR CLASS broken_ops FOR TYPE text USING genie AS
	OPERATOR 1 <&> (text, text),
	OPERATOR 2 <&> (text, text) FOR ORDER BY integer_ops,
	FUNCTION 2 genie_words_shared(text, text, int);
SQL
like($messages, qr/index search operators must return boolean/, 'a search operator returns boolean');
$node->psql('postgres', <<'SQL', stdout => \$result, stderr => \$messages);
CREATE OPERATOR CLASS broken_ops FOR TYPE text USING genie AS
	OPERATOR 2 <&> (text, text) FOR ORDER BY integer_ops,
	FUNCTION 2 genie_words_shared(text, text, int);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'broken_ops';
SQL
is($result, 'f', 'amvalidate refuses a broken class');
like($messages, qr/INFO:  operator family "broken_ops" of access method genie contains function genie_words_shared\(text,text,integer\) with wrong signature for support number 2/,
	'and names the function of the wrong types');
like($messages, qr/INFO:  operator family "broken_ops" of access method genie contains operator <&>\(text,text\) for the wrong purpose/,
	'and the operator of the wrong purpose');
like($messages, qr/INFO:  operator class "broken_ops" of access method genie is missing support function 1/, 'and the missing function');

# ---- scans ----

# Words of one to a dozen bytes, some of two hundred; empty and NULL texts.
$node->safe_psql('postgres', <<"SQL");
CREATE FUNCTION random_words(most int, salt int) RETURNS text LANGUAGE sql VOLATILE AS
	\$\$ SELECT coalesce(string_agg(repeat(chr(97 + i % 7), CASE WHEN i % 41 = 0 THEN 200 ELSE 1 + i % 6 END) || i % 50, CASE WHEN i % 9 = 0 THEN '  ' ELSE ' ' END), '')
		FROM (SELECT (random() ^ 2 * 400)::int AS i FROM generate_series(1, (random() * most)::int + salt * 0)) s \$\$;
CREATE TABLE texts (id int GENERATED ALWAYS AS IDENTITY, words text) WITH (autovacuum_enabled = off);
SELECT setseed(0.$seed);
INSERT INTO texts (words) SELECT CASE WHEN g % 50 <> 0 THEN random_words(30, g) END FROM generate_series(1, 3000) g;
CREATE INDEX texts_all ON texts USING genie (words genie_words_ops) WITH (pending_limit = 64);
CREATE INDEX texts_long ON texts USING genie (words genie_words_ops (min_length = 5)) WITH (pending_limit = 64);
CREATE TABLE queries AS SELECT g AS n, random_words(12, g) AS q FROM generate_series(1, 12) g;
ANALYZE;

-- the ids by each of two ways; the one by an index must go through it
CREATE FUNCTION ids(index text, query text) RETURNS int[] LANGUAGE plpgsql AS \$\$
DECLARE
	plan text := '';
	line text;
	result int[];
BEGIN
	PERFORM set_config('enable_seqscan', (index IS NULL)::text, true), set_config('enable_bitmapscan', 'off', true),
		set_config('enable_indexscan', (index IS NOT NULL)::text, true), set_config('enable_sort', (index IS NULL)::text, true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line || E'\\n';
	END LOOP;
	IF index IS NOT NULL AND strpos(plan, 'Index Scan using ' || index) = 0 THEN
		RAISE EXCEPTION 'no index scan: %', plan;
	END IF;
	EXECUTE format('SELECT array_agg(id) FROM (%s) s', query) INTO result;
	RETURN coalesce(result, '{}');
END \$\$;
SQL

# How many of the queries, by index and table, differ: ranked all, and filtered and ranked?  The table's order is by
# an expression.  The planner does not know what a parameter means, so the other index must be out of its sight.
sub differences
{
	my ($index, $order) = @_;
	my $other = $index eq 'texts_all' ? 'texts_long' : 'texts_all';
	return $node->safe_psql('postgres', <<"SQL");
BEGIN;
DROP INDEX $other;
SELECT count(*) FILTER (WHERE ids('$index', format('SELECT id FROM texts ORDER BY words <&> %L', q))
		IS DISTINCT FROM ids(NULL, format('SELECT id FROM texts ORDER BY $order, ctid', q))) || ' '
	|| count(*) FILTER (WHERE ids('$index', format('SELECT id FROM texts WHERE words @& genie_query(string_to_array(%L, '' ''), 3) ORDER BY words <&> %1\$L LIMIT 20', q))
		IS DISTINCT FROM ids(NULL, format('SELECT id FROM texts WHERE '
			|| CASE '$index' WHEN 'texts_all' THEN 'words @& genie_query(string_to_array(%L, '' ''), 3)' ELSE 'genie_words_shared(words, %L, 5) >= 3' END
			|| ' ORDER BY ' || replace('$order', '%L', '%1\$L') || ', ctid LIMIT 20', q)))
FROM queries;
ROLLBACK;
SQL
}

sub same_everywhere
{
	my ($when) = @_;
	is($node->safe_psql('postgres', "SELECT * FROM genie_check('texts_all') UNION ALL SELECT * FROM genie_check('texts_long')"), '', "$when: the indexes are sound");
	is(differences('texts_all', 'words <&> %L'), '0 0', "$when: index scan = sequential scan");
	is(differences('texts_long', '-genie_words_shared(words, %L, 5)'), '0 0', "$when: with min_length = 5 too, counting longer words only");
	return;
}

same_everywhere('built');
my ($all, $long) = map { $node->safe_psql('postgres', "SELECT keywords FROM genie_index_info('$_')") } qw(texts_all texts_long);
cmp_ok($long, '<', $all, "min_length leaves keywords out of the index: $long of $all");

$node->safe_psql('postgres', 'INSERT INTO texts (words) SELECT random_words(30, g) FROM generate_series(1, 40) g');
cmp_ok($node->safe_psql('postgres', q{SELECT pending_rows FROM genie_index_info('texts_long')}), '>', 0, 'rows are pending');
same_everywhere('inserted');
$node->safe_psql('postgres', 'INSERT INTO texts (words) SELECT random_words(30, g) FROM generate_series(1, 2000) g');
cmp_ok($node->safe_psql('postgres', q{SELECT segments FROM genie_index_info('texts_all')}), '>', 1, 'inserts merged');
same_everywhere('merged by inserts');
$node->safe_psql('postgres', q{DELETE FROM texts WHERE id % 7 = 0});
$node->safe_psql('postgres', q{UPDATE texts SET words = words || ' zebra' WHERE id % 11 = 0});
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) texts');
$node->safe_psql('postgres', q{INSERT INTO texts (words) SELECT random_words(30, g) FROM generate_series(1, 500) g});
same_everywhere('vacuumed');
$node->safe_psql('postgres', q{SELECT genie_merge('texts_all'), genie_merge('texts_long')});
same_everywhere('merged');

# ---- errors ----

sub fails_with
{
	my ($sql, $pattern, $name) = @_;
	my $stderr;
	isnt($node->psql('postgres', $sql, stderr => \$stderr), 0, "$name: fails");
	like($stderr, $pattern, $name);
	return;
}

fails_with('CREATE INDEX ON texts USING genie (words)', qr/data type text has no default operator class for access method "genie"/, 'no default class');
fails_with('CREATE INDEX ON texts USING genie (words genie_words_ops (min_length = 0))', qr/value 0 out of bounds for option "min_length"/, 'a parameter out of bounds');
fails_with('CREATE INDEX ON texts USING genie (words genie_words_ops (max_length = 9))', qr/unrecognized parameter "max_length"/, 'an unknown parameter');
fails_with('CREATE TABLE arrays (x int[]); CREATE INDEX ON arrays USING genie (x genie_array_ops (min_length = 3))', qr/operator class (public\.)?genie_array_ops has no options/, 'a class without parameters');
fails_with("SELECT 'a' \@& genie_query(ARRAY[1])", qr/query does not ask for words/, 'a query of another type, without the index');
fails_with('SET enable_seqscan = off; SELECT * FROM texts WHERE words @& genie_query(ARRAY[1])', qr/query does not ask for words/, 'a query of another type');
fails_with(q{INSERT INTO texts (words) SELECT string_agg('w' || g, ' ') FROM generate_series(1, 65536) g}, qr/object has too many keywords/, 'too many words');
is($node->safe_psql('postgres', q{DROP INDEX texts_long;
	INSERT INTO texts (words) SELECT string_agg('w' || g, ' ') FROM generate_series(1, 65535) g;
	SET enable_seqscan = off; SELECT count(*) FROM texts WHERE words @& genie_query(ARRAY['w1', 'w65535'], 2)}), '1', 'as many words as an object can have');

$node->stop;
done_testing();
