# Operator classes of metrics (vectors/genie_pivots.c): crashes and errors before an index has learned its pivots, inserts while it
# learns, rows that are inserted by sessions that do not know of them, a standby and its cursors, VACUUM that moves the page of
# the pivots, workers of a build, dump and restore, pivots that are damaged.  The oracle is the sequential scan.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GeniePage;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = genie_node('primary', init => { allows_streaming => 1, %{ without_checksums() } },
	conf => "restart_after_crash = on\nwal_consistency_checking = 'generic'\n");
sub sql { return $primary->safe_psql('postgres', $_[0]); }

sql(<<'SQL');
CREATE EXTENSION genie;
CREATE SCHEMA own;
-- a function that another search_path would not find what it needs for
CREATE FUNCTION own.part(x text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT lower(x) $$;
CREATE FUNCTION own.distance(a text, b text) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = own, public, pg_catalog
	AS $$ BEGIN RETURN genie_edit_distance(part(a), part(b)); END $$;
SELECT genie_create_metric('folded', 'own.distance(text, text)', '<~~>', 0);
CREATE FUNCTION word(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT CASE i % 3 WHEN 0 THEN upper(substr(md5((i / 4)::text), 1, 3 + i % 7)) ELSE substr(md5((i / 4)::text), 1, 3 + i % 7) END $$;
CREATE TABLE t (id serial, x text) WITH (autovacuum_enabled = off);
CREATE INDEX t_x ON t USING genie (x genie_folded_ops) WITH (pending_limit = 64);
CREATE FUNCTION answers(by_index bool, first int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text = '';
	part text;
BEGIN
	PERFORM set_config('enable_seqscan', (NOT by_index)::text, true), set_config('enable_indexscan', by_index::text, true), set_config('enable_bitmapscan', 'off', true);
	FOR i IN first .. first + 3 LOOP
		EXECUTE format('SELECT string_agg(ctid || '' '' || d, '';'' ORDER BY n) FROM (SELECT ctid, d, row_number() OVER () AS n FROM (SELECT ctid, x <~~> word(%s) AS d FROM t ORDER BY x <~~> word(%1$s)%s LIMIT 15) s) s', i, CASE WHEN by_index THEN '' ELSE ', ctid' END) INTO part;
		result = md5(result || part);
		EXECUTE format('SELECT string_agg(ctid::text, '';'' ORDER BY ctid) FROM t WHERE x @& ROW(word(%s), 3)::folded_ball', i) INTO part;
		result = md5(result || coalesce(part, ''));
	END LOOP;
	RETURN result;
END $$;
SQL

sub same
{
	my ($node, $when) = @_;
	my $first = 1 + int(rand(3000));
	is($node->safe_psql('postgres', "SELECT answers(true, $first)"), $node->safe_psql('postgres', "SELECT answers(false, $first)"), "query $first, $when");
	is($node->safe_psql('postgres', q{SELECT * FROM genie_check('t_x')}), '', "genie_check $when");
	return;
}
sub pivots { return sql(q{SELECT coalesce(pivots, 0) FROM genie_index_info('t_x')}); }

# ---- before the pivots ----

sql('INSERT INTO t (x) SELECT word(g) FROM generate_series(1, 200) g');
sql(q{SELECT genie_merge('t_x')});
is(pivots(), 0, 'few rows: no pivots');
same($primary, 'without pivots');
sql('INSERT INTO t (x) SELECT word(g) FROM generate_series(201, 400) g');
foreach my $point (qw(segment-page segment-before-root flip-before))
{
	$primary->psql('postgres', "SET genie.fault_action = 'crash'; SET genie.fault_point = '$point'; SELECT genie_merge('t_x')");
	restarted($primary);
	is(pivots(), 0, "none after a crash at $point");
	same($primary, "after a crash at $point");
}
isnt($primary->psql('postgres', q{SET genie.fault_action = 'error'; SET genie.fault_point = 'flip-before'; SELECT genie_merge('t_x')}), 0, 'an error before the flip');
same($primary, 'after an error');

# ---- sessions that have read the metapage before the pivots insert values behind them ----

my $lock = 714100;
my $keeper = $primary->background_psql('postgres', on_error_stop => 1);
$keeper->query_safe("SELECT pg_advisory_lock($lock)");
my @late = map { start_sql($primary, "SET genie.fault_point = 'insert-decomposed'", "SET genie.fault_action = 'wait'", "INSERT INTO t (x) VALUES (word($_))") } 401 .. 404;
wait_until($primary, 'SELECT count(*) = ' . @late . q{ FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
sql(q{SELECT genie_merge('t_x')});
cmp_ok(pivots(), '>=', 4, 'a merge learns pivots');
$keeper->query_safe("SELECT pg_advisory_unlock($lock)");
$keeper->quit;
ok(finish_sql($_), 'an insert that did not know of them') or diag($_->{err}) for @late;
is(sql(q{SELECT pending_rows FROM genie_index_info('t_x')}), scalar(@late), 'has its value in the pending list');
same($primary, 'with values behind the pivots');
sql(q{SELECT genie_merge('t_x')});
is(sql(q{SELECT pending_rows FROM genie_index_info('t_x')}), 0, 'a merge computes their distances');
same($primary, 'with pivots');

# ---- inserts and a merge at once ----

sql('TRUNCATE t');
is(pivots(), 0, 'TRUNCATE forgets them');
my @writers;
foreach my $w (1 .. 3)
{
	my $from = $w * 1000;
	push @writers, $primary->background_psql('postgres', on_error_stop => 1);
	$writers[-1]->query_until(qr/begun/, "\\echo begun\nINSERT INTO t (x) SELECT word(g) FROM generate_series($from, $from + 900) g;\n");
}
$_->quit for @writers;
cmp_ok(pivots(), '>=', 4, 'inserts learn pivots as they merge');
is(sql('SELECT count(*) FROM t'), 2703, 'all rows are there');
same($primary, 'after inserts at once');

# ---- a standby, with a cursor while rows are merged ----

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
sql('INSERT INTO t (x) SELECT word(g) FROM generate_series(5000, 5100) g');
catch_up($primary, $standby);
same($standby, 'on the standby');
my $reader = $standby->background_psql('postgres', on_error_stop => 1);
$reader->query_safe(q{BEGIN ISOLATION LEVEL REPEATABLE READ; SET enable_seqscan = off; DECLARE c CURSOR FOR SELECT id FROM t ORDER BY x <~~> 'abcdef'});
my $some = $reader->query_safe('FETCH 300 FROM c');
sql(q{SELECT genie_merge('t_x')});
sql('INSERT INTO t (x) SELECT word(g) FROM generate_series(6000, 7000) g');
sql(q{SELECT genie_merge('t_x')});
catch_up($primary, $standby);
$some .= "\n" . $reader->query_safe('FETCH ALL FROM c');
my $all = $reader->query_safe(q{SET enable_indexscan = off; SET enable_seqscan = on; SELECT id FROM t ORDER BY x <~~> 'abcdef', ctid});
is($some, $all, 'a cursor on the standby goes on across merges');
$reader->quit;
same($standby, 'on the standby after merges');

# ---- changes; VACUUM makes the file shorter ----

sql(q{DELETE FROM t WHERE id % 5 > 0; UPDATE t SET x = word(id + 20000) WHERE id % 3 = 0});
sql('VACUUM t') for 1 .. 3;
same($primary, 'after VACUUM');
cmp_ok(pivots(), '>=', 4, 'the pivots are there still');
catch_up($primary, $standby);
same($standby, 'on the standby after VACUUM');

# ---- builds, by workers too; dump and restore ----

sql('INSERT INTO t (x) SELECT word(g) FROM generate_series(1, 20000) g');
sql('ALTER TABLE t SET (parallel_workers = 2)');
sql('REINDEX INDEX t_x');
same($primary, 'built');
$primary->command_ok([ 'pg_dump', '-f', $primary->basedir . '/dump', $primary->connstr('postgres') ], 'pg_dump');
sql('CREATE DATABASE again');
$primary->command_ok([ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', $primary->basedir . '/dump', $primary->connstr('again') ], 'restore');
is($primary->safe_psql('again', 'SELECT answers(true, 77)'), $primary->safe_psql('again', 'SELECT answers(false, 77)'), 'answers in the restored database');
is($primary->safe_psql('again', q{DROP TABLE t; SELECT genie_drop_metric('folded'); SELECT count(*) FROM pg_proc WHERE proname LIKE 'genie\_folded%'}), "\n0", 'the metric can be dropped there');

# ---- damage of the pivots ----

my $file = $primary->data_dir . '/' . sql(q{SELECT pg_relation_filepath('t_x')});
sql('CREATE EXTENSION pageinspect');
my $n_blocks = sql(q{SELECT pg_relation_size('t_x') / 8192});
my $block = sql(q{SELECT b FROM generate_series(0, } . ($n_blocks - 1) . q{) b, get_raw_page('t_x', b) p WHERE get_byte(p, 8188) = 4 AND get_byte(p, 8189) = 8});
like($block, qr/^\d+$/, 'the pivots have a page');
$primary->stop;
open(my $handle, '+<:raw', $file) or die $!;
seek($handle, $block * 8192 + 60, 0);
print $handle 'damage';
close($handle);
$primary->start;
my ($rc, $out, $err) = $primary->psql('postgres', q{SET enable_seqscan = off; SELECT id FROM t ORDER BY x <~~> 'abc' LIMIT 1});
like($err, qr/ERROR:  index "t_x" is damaged at block $block.*\n?.*HINT:.*REINDEX/s, 'a scan reports it');
($rc, $out, $err) = $primary->psql('postgres', q{INSERT INTO t (x) VALUES ('abc')});
like($err, qr/ERROR:  index "t_x" is damaged at block $block/, 'so does an insert, which needs them');
sql('REINDEX INDEX t_x');
same($primary, 'after REINDEX');

$standby->stop;
$primary->stop;
done_testing();
