# Scans on a standby while the primary merges, vacuums, and reuses the pages that they read: the right rows, or the
# server's own recovery conflict, never wrong rows.
#
# Replay of index pages conflicts with no query.  A scan that finds another owner's page starts again behind the
# last row that it gave (genie_scan.c).  So each round opens cursors on the standby, takes some rows, makes the primary
# replace the segments and fill their old pages anew (verified on the standby: every block changed that the
# cursor's segments had), and takes the rest.  The oracle is a sequential scan in the cursor's transaction.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = genie_node('primary', init => { allows_streaming => 1 });
create_table($primary, 1500, 0.6);
$primary->safe_psql('postgres', 'CREATE EXTENSION pageinspect');
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\n");
$standby->start;

# the stamps of the segments' pages (kinds 3 and 4), as far as they are of one of the first segment's
my $stamps = <<'SQL';
SELECT string_agg(encode(substr(page, 8177, 8), 'hex'), ',' ORDER BY b)
FROM (SELECT b, get_raw_page('t_x', b) AS page FROM generate_series(1, (SELECT pg_relation_size('t_x') / 8192 - 1)::int) b) s
WHERE get_byte(page, 8188) IN (3, 4)
SQL

my @queries = ("'{1,2,3,4,5}'::int[]", "genie_query('{[0,100]}'::int4multirange)", "'{250,260,270,280,290,300}'::int[]", "'{9999}'::int[]");

# A cursor in a transaction of its own, some rows taken, and what all rows should be.
sub open_cursor
{
	my ($query, $filter, $take, $operator) = @_;
	my $session = $standby->background_psql('postgres', on_error_stop => 0);
	my $distance = 'x ' . ($operator // '<&>') . " $query";
	my $select = "SELECT ctid, $distance FROM t WHERE $filter ORDER BY $distance";
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SET enable_indexscan = off; SET enable_bitmapscan = off');
	my $expected = $session->query_safe("$select, ctid");
	$session->query_safe('SET enable_seqscan = off; SET enable_indexscan = on; SET enable_sort = off');
	like($session->query_safe("EXPLAIN (COSTS OFF) $select"), qr/Index Scan using t_x/, 'the cursor reads the index');
	$session->query_safe("DECLARE c CURSOR FOR $select");
	my $got = $session->query_safe("FETCH $take FROM c");
	return { session => $session, expected => $expected, got => $got, what => "$distance, $filter, $take rows before" };
}

# Takes the rest.  True if the rows are right; a recovery conflict is as good where it may be.
sub close_cursor
{
	my ($cursor, $may_conflict, $when) = @_;
	my $session = $cursor->{session};
	my $rest = eval { $session->query('FETCH ALL FROM c') } // '';
	my $err = $session->{stderr};
	my $conflict = $err =~ /conflict with recovery/;

	if ($conflict && $may_conflict)
	{
		pass("$when: a recovery conflict ($cursor->{what})");
	}
	else
	{
		is(join("\n", grep { $_ ne '' } $cursor->{got}, $rest), $cursor->{expected}, "$when: the right rows ($cursor->{what})");
	}
	eval { $session->quit };
	return $conflict;
}

# Replaces all segments, and fills their pages with others.
sub churn
{
	my ($round) = @_;
	foreach my $i (1 .. 3)
	{
		$primary->safe_psql('postgres', "SELECT add_rows(1500, 0.$i$round)");
		$primary->safe_psql('postgres', "SELECT genie_merge('t_x')") foreach 1 .. 2;
	}
	return;
}

sub empty_again
{
	$primary->safe_psql('postgres', 'TRUNCATE t; SELECT add_rows(1500, 0.6)');
	$primary->safe_psql('postgres', 'VACUUM t');
	$primary->wait_for_catchup($standby);
	return;
}

# inserts and merges alone: replay never conflicts, and pages are reused under the cursors
my $reused = 0;
foreach my $round (1 .. 3)
{
	empty_again();
	my $before = $standby->safe_psql('postgres', $stamps);
	my @cursors;
	foreach my $query (@queries)
	{
		push @cursors, open_cursor($query, 'true', $_) foreach (0, 1, 70, 700);
	}
	push @cursors, open_cursor($queries[0], "x \@& $queries[1]", 100);
	push @cursors, map { open_cursor($queries[0], 'true', $_, '<%>') } 0, 1, 70, 700;
	my $checks = start_sql($standby, map { 'SELECT * FROM violations()' } 1 .. 20);
	churn($round);
	$primary->wait_for_catchup($standby);
	my %stamps_after = map { $_ => 1 } split(/,/, $standby->safe_psql('postgres', $stamps));
	$reused++ if !grep { $stamps_after{$_} } split(/,/, $before);
	close_cursor($_, 0, "round $round of merges") foreach @cursors;
	finish_sql($checks);
	is($checks->{out}, '', "genie_check finds nothing while the index changes, round $round");
	like($checks->{err}, qr/\A(|.*changed during every one of 10 checks.*)\z/s, "genie_check goes through, round $round");
	sound($standby, "on the standby after round $round");
}
cmp_ok($reused, '>', 0, 'pages were reused under the cursors');

# deletes and VACUUM too, but for the truncation of files, whose lock is a conflict of its own (018_truncate.pl)
$primary->safe_psql('postgres', 'ALTER TABLE t SET (vacuum_truncate = off)');
foreach my $feedback ('off', 'on')
{
	$standby->append_conf('postgresql.conf', "hot_standby_feedback = $feedback\nmax_standby_streaming_delay = 200ms\nwal_receiver_status_interval = 1\n");
	$standby->restart;
	my $conflicts = 0;
	foreach my $round (1 .. 2)
	{
		empty_again();
		$primary->safe_psql('postgres', "SELECT add_rows(300, 0.4$round)");
		$primary->wait_for_catchup($standby);
		my @cursors = map { (open_cursor($_, 'true', 10), open_cursor($_, 'note % 3 > 0', 200)) } @queries;
		push @cursors, map { open_cursor($queries[0], 'true', $_, '<%>') } 10, 200;
		if ($feedback eq 'on')
		{
			wait_until($primary, 'SELECT backend_xmin IS NOT NULL FROM pg_stat_replication');
		}
		$primary->safe_psql('postgres', 'DELETE FROM t WHERE note % 3 = 1');
		$primary->safe_psql('postgres', 'VACUUM t');
		churn($round);
		$primary->safe_psql('postgres', 'DELETE FROM t WHERE note % 3 = 2');
		$primary->safe_psql('postgres', 'VACUUM t');
		$primary->wait_for_catchup($standby);
		$conflicts += close_cursor($_, $feedback eq 'off', "feedback $feedback, round $round") foreach @cursors;
		sound($standby, "on the standby, feedback $feedback, round $round");
	}
	note("feedback $feedback: $conflicts conflicts");
	is($conflicts, 0, 'no conflict with feedback') if $feedback eq 'on';
}
unlike(slurp_file($standby->logfile), qr/PANIC|TRAP/, 'no crash');

done_testing();
