# VACUUM makes an index's file shorter if nobody uses the index.  Scans, on a standby too, meet no page that has moved.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $lock = 714100;
my $primary = genie_node('primary', init => { allows_streaming => 1 });
create_table($primary, 1500, 0.7);
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\nhot_standby_feedback = on\n");
$standby->start;

sub size { return $_[0]->safe_psql('postgres', "SELECT pg_relation_size('t_x')") }

# Rows whose merge by VACUUM leaves a hole.  None is deleted: nothing but the truncation conflicts with scans on the standby.
sub grow
{
	my ($seed) = @_;
	$primary->safe_psql('postgres', "SELECT add_rows(2500, 0.$seed)");
	return size($primary);
}

# A scan in a transaction of its own that has taken some rows; what the others should be.
sub open_scan
{
	my ($node) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $select = "SELECT ctid, x <&> '{1,2,3,4,5}' FROM t ORDER BY x <&> '{1,2,3,4,5}'";
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SET enable_indexscan = off');
	my $expected = $session->query_safe("$select, ctid");
	$session->query_safe('SET enable_seqscan = off; SET enable_indexscan = on; SET enable_sort = off');
	$session->query_safe("DECLARE c CURSOR FOR $select");
	return { session => $session, got => $session->query_safe('FETCH 100 FROM c'), expected => $expected };
}

sub close_scan
{
	my ($scan, $when) = @_;
	is($scan->{got} . "\n" . $scan->{session}->query_safe('FETCH ALL FROM c'), $scan->{expected}, "the right rows $when");
	$scan->{session}->quit;
	return;
}

# on the primary, a transaction that has used the index keeps its file as it is
my $grown = grow(11);
my $scan = open_scan($primary);
$primary->safe_psql('postgres', 'VACUUM t');
cmp_ok(size($primary), '>=', $grown, 'VACUUM does not truncate what a transaction uses');
close_scan($scan, 'on the primary');
$primary->safe_psql('postgres', 'ALTER TABLE t SET (vacuum_truncate = off)');
$primary->safe_psql('postgres', 'VACUUM t');
cmp_ok(size($primary), '>=', $grown, 'nor where vacuum_truncate is off');
$primary->safe_psql('postgres', 'ALTER TABLE t RESET (vacuum_truncate)');
$primary->safe_psql('postgres', 'VACUUM t');
cmp_ok(size($primary), '<', $grown * 0.9, 'the next one truncates');
sound($primary, 'after it');
$primary->wait_for_catchup($standby);
is(size($standby), size($primary), 'on the standby, too');
sound($standby, 'on the standby');

# the standby waits for its scans
$grown = grow(12);
$primary->wait_for_catchup($standby);
$scan = open_scan($standby);
$primary->safe_psql('postgres', 'VACUUM t');
cmp_ok(size($primary), '<', $grown * 0.9, 'truncated under a scan on the standby');
wait_until($standby, q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'startup' AND wait_event_type = 'Lock'});
my $path = $primary->safe_psql('postgres', q{SELECT pg_relation_filepath('t_x')});
cmp_ok(-s $standby->data_dir . "/$path", '>=', $grown, 'but not on the standby');
close_scan($scan, 'on the standby');
$primary->wait_for_catchup($standby);
is(size($standby), size($primary), 'truncated when the scan has ended');
sound($standby, 'on the standby after it');

# the standby has the lock no longer than the truncation takes
$grown = grow(13);
my $holder = $primary->background_psql('postgres');
$holder->query_safe("SELECT pg_advisory_lock($lock)");
my $vacuum = start_sql($primary, "SET genie.fault_point = 'merge-before-flip'; SET genie.fault_skip = 1", 'SET genie.fault_action = wait', 'VACUUM t');
wait_until($primary, q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
cmp_ok(size($primary), '<', $grown * 0.9, 'truncated, and VACUUM has come to the next index');
catch_up($primary, $standby);
is($standby->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock'}), 0, 'no lock is left on the standby');
sound($standby, 'on the standby meanwhile');
$holder->quit;
ok(finish_sql($vacuum), 'VACUUM ends');

# or cancels them
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = 100ms\n");
$standby->restart;
grow(14);
$primary->wait_for_catchup($standby);
$scan = open_scan($standby);
$primary->safe_psql('postgres', 'VACUUM t');
$primary->wait_for_catchup($standby);
eval { $scan->{session}->query('FETCH ALL FROM c') };
like($scan->{session}{stderr}, qr/conflict with recovery/, 'a scan that lasts longer than max_standby_streaming_delay is cancelled');
eval { $scan->{session}->quit };
sound($standby, 'on the standby in the end');

# cancelled in the middle: nothing is lost, and the next VACUUM goes on
foreach my $point ('truncate-page', 'truncate-before-flip', 'truncate-flipped')
{
	$grown = grow(20 + length($point));
	$holder = $primary->background_psql('postgres');
	$holder->query_safe("SELECT pg_advisory_lock($lock)");
	$vacuum = start_sql($primary, "SET genie.fault_point = '$point'", 'SET genie.fault_action = wait', 'VACUUM t');
	wait_until($primary, q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
	$primary->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
	ok(!finish_sql($vacuum), "VACUUM is cancelled at $point");
	$holder->quit;
	cmp_ok(info($primary, 't_x', 'unreachable_pages'), '>', 0, 'pages were left behind');
	sound($primary, "after it, at $point");
	$primary->safe_psql('postgres', 'VACUUM t');
	is(info($primary, 't_x', 'unreachable_pages + retired_bytes'), 0, 'the next VACUUM takes them back');
	cmp_ok(size($primary), '<', $grown * 0.9, 'and truncates');
	sound($primary, "after the next VACUUM, at $point");
}
catch_up($primary, $standby);
sound($standby, 'on the standby after all');

done_testing();
