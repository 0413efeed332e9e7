# genie_check() compares a sample of the values in an index with the table's rows (search/genie_value_check.c): it has nothing to say
# while rows come, change and go, about snapshots older than that, and on a standby; records that are well-formed, but of other rows,
# are reported; and where an index answers not yet, or is on an expression, the sample is left out.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GeniePage;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = genie_node('primary', init => { allows_streaming => 1, %{ without_checksums() } });
sub sql { return $primary->safe_psql('postgres', $_[0]); }

my %class = (
	t_l2 => 'x genie_l2_exact_ops',
	t_l1 => 'x genie_l1_exact_ops',
	t_cosine => 'x genie_cosine_exact_ops',
	t_ip => 'x genie_ip_exact_ops',
	t_float8 => 'y genie_l2_exact_float8_ops',
	t_bits => 'b genie_hamming_exact_ops',
	t_text => 'c genie_edit_exact_ops',
	t_l2_lsh => 'x genie_l2_ops',
	t_cosine_lsh => 'x genie_cosine_ops');
my @names = sort keys %class;

sql(<<'SQL');
CREATE EXTENSION genie;
-- 32 dimensions, near 100,000 in every third row, zeroes in every 50th
CREATE FUNCTION vec(i int) RETURNS real[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
	SELECT array_agg(CASE i % 50 WHEN 0 THEN 0 ELSE sin(i * 0.37 * j) * (1 + i % 5) + CASE i % 3 WHEN 0 THEN 1e5 ELSE 0 END END::real) FROM generate_series(1, 32) j $$;
CREATE FUNCTION signs(x real[]) RETURNS bit LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$SELECT string_agg(CASE WHEN e > 0 THEN '1' ELSE '0' END, '')::varbit::bit(32) FROM unnest(x) e$$;
CREATE TABLE t (id serial, x real[], y float8[], b bit(32), c text, changed int) WITH (autovacuum_enabled = off);
CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN new.b = signs(new.x); new.y = new.x; new.c = left(md5(new.x::text), 20 + new.id % 13); RETURN new; END';
CREATE TRIGGER fill BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION fill();
INSERT INTO t (x) SELECT CASE WHEN g % 97 > 0 THEN vec(g) END FROM generate_series(1, 2000) g;
SQL
sql("CREATE INDEX $_ ON t USING genie ($class{$_}) WITH (pending_limit = 64)") for @names;

my $check = join('; ', map { "SELECT '$_', * FROM genie_check('$_')" } @names);
sub nothing_wrong { my ($node, $when) = @_; is($node->safe_psql('postgres', $check), '', "nothing is wrong $when"); return; }

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

# ---- sound indexes ----

nothing_wrong($primary, 'after builds');
my $old = $primary->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t');
sql('INSERT INTO t (x) SELECT vec(g + 5000) FROM generate_series(1, 500) g');
sql('UPDATE t SET x = vec(id + 9000) WHERE id % 5 = 2');
sql('DELETE FROM t WHERE id % 7 = 1');
sql("SELECT genie_merge('$_')") for @names;
nothing_wrong($primary, 'after changes');
is($old->query_safe($check), '', 'nothing is wrong for a snapshot from before them');
$old->query_safe('COMMIT');
sql('VACUUM t');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t');
sql('INSERT INTO t (x) SELECT vec(g + 20000) FROM generate_series(1, 900) g');
sql('UPDATE t SET changed = 1 WHERE id % 11 = 2');
is($old->query_safe($check), '', 'nor where line pointers are used again');
$old->query_safe('COMMIT');
$old->quit;
sql("SELECT genie_merge('$_')") for @names;
sql('VACUUM t');
nothing_wrong($primary, 'after VACUUM and merges');
catch_up($primary, $standby);
nothing_wrong($standby, 'on the standby');
$standby->stop;

# ---- indexes that hold other versions of rows than a snapshot sees, and expressions ----

sql(<<'SQL');
CREATE TABLE h (id int, x real[]);
INSERT INTO h SELECT g, vec(g + 1) FROM generate_series(1, 300) g;
SQL
my $holder = $primary->background_psql('postgres');
$holder->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM h');
sql('UPDATE h SET x = vec(id + 700)');
sql('CREATE INDEX h_l2 ON h USING genie (x genie_l2_exact_ops)');
$holder->query_safe('COMMIT');
$holder->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM h');
is($holder->query_safe(q{SELECT * FROM genie_check('h_l2')}), '', 'nothing is wrong with an index on rows that were updated in place');
$holder->query_safe('COMMIT');
$holder->quit;
sql('CREATE INDEX h_part ON h USING genie ((x[1:8]) genie_l2_exact_ops)');
is(sql(q{SELECT * FROM genie_check('h_part')}), '', 'nor with one on an expression');

# ---- records of other rows ----

sql('CREATE EXTENSION pageinspect');
sql(q{CREATE TABLE r (id serial, x real[], b bit(32), c text); INSERT INTO r (x, b, c) SELECT vec(g), signs(vec(g + 1)), md5(g::text) FROM generate_series(1, 3000) g WHERE g % 50 > 0});
my %other = (
	r_l2 => ['x genie_l2_exact_ops', 48],
	r_l1 => ['x genie_l1_exact_ops', 48],
	r_cosine => ['x genie_cosine_exact_ops', 48],
	r_ip => ['x genie_ip_exact_ops', 48],
	r_bits => ['b genie_hamming_exact_ops', 16],
	r_text => ['c genie_edit_exact_ops', 48],
	r_l2_lsh => ['x genie_l2_ops', 48]);
my %at;
foreach my $name (sort keys %other)
{
	sql("CREATE INDEX $name ON r USING genie ($other{$name}[0])");
	is(sql("SELECT * FROM genie_check('$name')"), '', "nothing is wrong with $name");
	my $n_blocks = sql("SELECT pg_relation_size('$name') / 8192");
	# the special area ends with stamp, next, kind 4 (DATA), detail 7 (VALUES)
	$at{$name} = [ $primary->data_dir . '/' . sql("SELECT pg_relation_filepath('$name')"),
		sql("SELECT b FROM generate_series(0, $n_blocks - 1) b, get_raw_page('$name', b) p WHERE get_byte(p, 8188) = 4 AND get_byte(p, 8189) = 7 ORDER BY b LIMIT 1") ];
}
$primary->stop;
foreach my $name (sort keys %other)
{
	my ($file, $block) = @{ $at{$name} };
	my $bytes = $other{$name}[1];
	open(my $handle, '+<:raw', $file) or die $!;
	seek($handle, $block * 8192, 0);
	read($handle, my $page, 8192) == 8192 or die;
	my $end = unpack('S<', substr($page, 12, 2));
	my $whole = int(($end - 24) / $bytes) * $bytes;
	# each object gets the record of the next
	substr($page, 24, $whole) = substr($page, 24 + $bytes, $whole - $bytes) . substr($page, 24, $bytes);
	seek($handle, $block * 8192, 0);
	print $handle with_checksum($page, $block);
	close($handle);
}
$primary->start;
foreach my $name (sort keys %other)
{
	my $found = sql("SELECT count(*) || ' ' || count(*) FILTER (WHERE violation ~ '^the value of object [0-9]+ is not that of row \\([0-9]+,[0-9]+\\)\$') FROM genie_check('$name')");
	my ($n, $n_right) = split(/ /, $found);
	cmp_ok($n, '>', 0, "records of $name that belong to other rows are reported");
	is($n_right, $n, "as such ($name)");
	sql("REINDEX INDEX $name");
	is(sql("SELECT * FROM genie_check('$name')"), '', "not after REINDEX of $name");
}

# ---- a value where the row is null ----

# an update in place that the index hears nothing of
sql('DROP INDEX ' . join(', ', sort keys %other));
sql('CREATE INDEX r_l2 ON r USING genie (x genie_l2_exact_ops)');
sql(q{UPDATE pg_index SET indislive = false WHERE indexrelid = 'r_l2'::regclass});
sql('UPDATE r SET x = NULL WHERE id <= 20');
sql(q{UPDATE pg_index SET indislive = true WHERE indexrelid = 'r_l2'::regclass});
like(sql(q{SELECT violation FROM genie_check('r_l2')}), qr/^object \d+ has a value, but row \(\d+,\d+\) is null$/m, 'a value of a row that is null');

$primary->stop;
done_testing();
