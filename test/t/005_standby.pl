# A streaming standby gives the primary's answers after each kind of change, its index passes genie_check, and after
# promotion it goes on as a primary.
#
# wal_consistency_checking = all makes the standby compare every page that it replays with an image from the primary, and
# stop at the first difference.  (Generic WAL zeroes the hole of a page: a wrong pd_lower would show here.)
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = genie_node('primary', init => { allows_streaming => 1 }, conf => "wal_consistency_checking = 'all'\nmax_wal_size = 1GB\nwal_keep_size = 2GB\n");
create_table($primary, 1500, 0.5);
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $answers = <<'SQL';
SELECT md5(string_agg(by_index(format('SELECT ctid || '' '' || coalesce((x <&> %1$L::int[])::text, ''-'') AS row FROM t ORDER BY x <&> %1$L::int[]%%s', q))::text, ''))
FROM (VALUES ('{}'), ('{1,2,3,4}'), ('{50,100,150,200,250}')) v (q);
SELECT segments, objects, keywords, postings, tombstones, pending_rows, unreachable_pages, total_bytes FROM genie_index_info('t_x');
SELECT segments, objects, keywords, postings, tombstones, pending_rows, unreachable_pages, total_bytes FROM genie_index_info('t_tuple');
SQL

sub same
{
	my ($when) = @_;
	catch_up($primary, $standby);
	is($standby->safe_psql('postgres', $answers), $primary->safe_psql('postgres', $answers), "the same answers $when");
	sound($standby, "on the standby $when");
	return;
}

my $many = 'INSERT INTO t SELECT random_set(300, 12), ARRAY[\'word \' || i], i FROM generate_series(1, 1500) i';
my @changes = (
	[ 'at first', 'SELECT 1' ],
	[ 'after inserts', 'SELECT add_rows(100, 0.1)' ],
	[ 'after an insert that merges', 'SELECT add_rows(2500, 0.2)' ],
	[ 'after a long row', "INSERT INTO t SELECT array_agg(i), '{long}', 7 FROM generate_series(1, 9000) i" ],
	[ 'after a merge', "SELECT genie_merge('t_x'); SELECT genie_merge('t_tuple')" ],
	[ 'after an abort', "BEGIN; SELECT add_rows(300, 0.3); ROLLBACK" ],
	[ 'after deletes', 'DELETE FROM t WHERE note % 3 = 1' ],
	[ 'after VACUUM', 'VACUUM t' ],
	[ 'after updates', "UPDATE t SET x = x || 17 WHERE note % 3 = 2; UPDATE t SET note = note + 1000 WHERE note % 5 = 0; VACUUM t" ],
	[ 'after a second build', 'CREATE INDEX t_second ON t USING genie (x) WHERE note > 100' ],
	[ 'after REINDEX', 'REINDEX INDEX t_x' ],
	[ 'after REINDEX CONCURRENTLY', "$many; REINDEX INDEX CONCURRENTLY t_x" ],
	[ 'after VACUUM FULL', 'DELETE FROM t WHERE note % 4 = 3; VACUUM FULL t' ],
	[ 'after a change of table', "ALTER TABLE t ALTER COLUMN note TYPE int USING note + 1" ],
	[ 'after TRUNCATE', 'TRUNCATE t' ],
	[ 'after a new start', "SELECT add_rows(1500, 0.4); DROP INDEX t_second; VACUUM t" ]);
foreach my $change (@changes)
{
	my ($when, $statements) = @$change;
	$primary->safe_psql('postgres', $statements);
	same($when);
}

# mixed load, replayed with every page compared
foreach my $round (1 .. 5)
{
	my @sessions = map { start_sql($primary, "SELECT add_rows(400, 0.$round$_)", "DELETE FROM t WHERE note % 11 = $_",
			"UPDATE t SET x = x || $_ WHERE note % 17 = $_", "SELECT genie_merge('t_tuple')", 'VACUUM t') } 1 .. 3;
	foreach (@sessions)
	{
		ok(finish_sql($_), "a session of round $round") or diag($_->{err});
	}
	same("after round $round of a mixed load");
}

my ($result, $out, $err) = $standby->psql('postgres', "SELECT genie_merge('t_x')");
like($err, qr/ERROR:  recovery is in progress\nHINT:  A genie index is merged on the primary only\./, 'a standby does not merge');

$primary->safe_psql('postgres', "CREATE UNLOGGED TABLE unlogged (x int[]); CREATE INDEX unlogged_x ON unlogged USING genie (x)");
$primary->wait_for_catchup($standby);
($result, $out, $err) = $standby->psql('postgres', "SELECT * FROM genie_search('unlogged_x', ARRAY['{}'::genie_query])");
like($err, qr/ERROR:  cannot access temporary or unlogged relations during recovery/, 'nor search what it does not have');
$primary->safe_psql('postgres', 'DROP TABLE unlogged');

# a crash of the standby, a checkpoint in between
$standby->stop('immediate');
$primary->safe_psql('postgres', 'SELECT add_rows(500, 0.8); CHECKPOINT; DELETE FROM t WHERE note % 4 = 1');
$primary->safe_psql('postgres', 'VACUUM t');
$standby->start;
same('after a crash of the standby');

$primary->stop('immediate');
$standby->promote;
sound($standby, 'after promotion');
$standby->safe_psql('postgres', 'SELECT add_rows(2500, 0.9); DELETE FROM t WHERE note % 6 = 2');
$standby->safe_psql('postgres', 'VACUUM t');
sound($standby, 'after changes on the new primary');
is(info($standby, 't_x', 'unreachable_pages') + info($standby, 't_tuple', 'unreachable_pages'), 0, 'no unreachable page there');
unlike(slurp_file($standby->logfile), qr/PANIC|TRAP|inconsistent page/, 'the standby found no inconsistent page');

done_testing();
