# A crash at any fault point of build, insert, merge, reclaim and vacuum loses nothing that was committed.  It leaves at most
# unreachable pages, which the next VACUUM takes back.
#
# At each point the server stops in two ways.  First, the process kills itself, so that WAL it had not yet flushed is lost.
# Second, the process waits at the point, a checkpoint writes all that it did so far, and the server stops immediately.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $lock = 714100;
my $node = genie_node('crash', conf => "restart_after_crash = on\n");
create_table($node, 1500, 0.1);
my %scenarios = fault_scenarios();

is(join(' ', fault_points_in_source()), join(' ', sort keys %scenarios), 'every fault point has a scenario');

# What is seen after recovery, in its two forms, and after the next VACUUM.
sub recovered
{
	my ($when) = @_;
	sound($node, "after a crash $when", 4);
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS t_built; DELETE FROM t WHERE ctid NOT IN (SELECT ctid FROM t LIMIT 2000)');
	$node->safe_psql('postgres', 'VACUUM t');
	is(info($node, 't_x', 'unreachable_pages') + info($node, 't_tuple', 'unreachable_pages'), 0,
		"VACUUM leaves no unreachable page $when");
	sound($node, "after VACUUM $when", 4);
	return;
}

my $unreachable = 0;
foreach my $point (sort keys %scenarios)
{
	my ($skip, $prepare, $statement) = @{ $scenarios{$point} };
	my $fault = "SET genie.fault_point = '$point'; SET genie.fault_skip = $skip;";

	$node->safe_psql('postgres', "$prepare") if $prepare ne '';
	my $log_at = -s $node->logfile;
	my $session = start_sql($node, $fault, 'SET genie.fault_action = crash', split(/;/, $statement));
	ok(!finish_sql($session), "the session dies at $point");
	restarted($node, $log_at);
	recovered("killed at $point");

	$node->safe_psql('postgres', "$prepare") if $prepare ne '';
	my $holder = $node->background_psql('postgres');
	$holder->query_safe("SELECT pg_advisory_lock($lock)");
	$session = start_sql($node, $fault, 'SET genie.fault_action = wait', split(/;/, $statement));
	wait_until($node, "SELECT count(*) >= 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->stop('immediate');
	finish_sql($session);
	eval { $holder->quit };
	$node->start;
	$unreachable += info($node, 't_x', 'unreachable_pages');
	recovered("stopped at $point");
}
cmp_ok($unreachable, '>', 0, 'crashes left pages that nothing reached, and they were counted');

done_testing();
