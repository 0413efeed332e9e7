# A statement that is cancelled at a random moment (statement_timeout) of a build, insert, merge, VACUUM, scan, batch search or
# check: it reports so soon, and nothing else changes.
#
# Each statement runs once to its end, to measure it, and then again and again with a timeout within that time.  The assertions
# hold for every moment.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $seed = $ENV{GENIE_SEED} // 586805;
srand($seed);
note("seed $seed (GENIE_SEED=$seed repeats this run)");

my $node = genie_node('cancel');
create_table($node, 20000, 0.4);

my $numbers = join(', ', map { "note + ${_}00000" } 0 .. 9);
my $ordered = 'SET enable_seqscan = off; SELECT sum(note) FROM (SELECT note FROM t ORDER BY x <&> genie_query(ARRAY[1,2,3,4,5]) OFFSET 0) s';
my @statements = (
	[ 'build', '', 'CREATE INDEX t_built ON t USING genie (x)', 'DROP INDEX IF EXISTS t_built' ],
	[ 'build with spills', "SET maintenance_work_mem = '1MB';", "CREATE INDEX t_built ON t USING genie ((ARRAY[$numbers]))", 'DROP INDEX IF EXISTS t_built' ],
	[ 'concurrent build', '', 'CREATE INDEX CONCURRENTLY t_built ON t USING genie (x)', 'DROP INDEX IF EXISTS t_built' ],
	[ 'insert', '', 'SELECT add_rows(4000, 0.5)', 'DELETE FROM t WHERE ctid NOT IN (SELECT ctid FROM t LIMIT 20000)' ],
	[ 'merge', "SET genie.pending_limit = '1GB'; ALTER INDEX t_x RESET (pending_limit); SELECT add_rows(4000, 0.6);", "SELECT genie_merge('t_x')", '' ],
	[ 'vacuum', 'DELETE FROM t WHERE random() < 0.2;', 'VACUUM t', 'SELECT add_rows(20000 - (SELECT count(*)::int FROM t), 0.7)' ],
	[ 'scan', '', $ordered, '' ],
	[ 'scan by distance', '', $ordered =~ s/<&> genie_query\((.*?)\)/<%> $1/r, '' ],
	[ 'batch search', '', "SELECT count(*) FROM genie_search('t_x', (SELECT array_agg(genie_query(ARRAY[i % 300, i % 17, i % 5])) FROM generate_series(1, 3000) i), 20)", '' ],
	[ 'batch search by its own session', '', "SET genie.worker = off; SELECT count(*) FROM genie_search('t_x', (SELECT array_agg(genie_query(ARRAY[i % 300, i % 17, i % 5])) FROM generate_series(1, 3000) i), 20)", '' ],
	[ 'check', '', 'SELECT count(*) FROM violations()', '' ]);

foreach (@statements)
{
	my ($name, $prepare, $statement, $tidy) = @$_;
	my ($n_cancelled, $n_done, $n_other, $slowest) = (0, 0, 0, 0);

	$node->safe_psql('postgres', $prepare . 'SELECT 1');
	my ($settings) = $prepare =~ /^(SET [^;]*;)/;
	my $run = ($settings // '') . "\\timing on\n$statement;";
	my $timing = $node->safe_psql('postgres', $run);
	my ($ms) = $timing =~ /.*Time: ([0-9.]+)/s;
	$node->safe_psql('postgres', $tidy) if $tidy ne '';

	foreach my $try (1 .. 8)
	{
		my $timeout = $try == 1 ? 1 : 1 + int(rand($ms));
		$node->safe_psql('postgres', $prepare) if $prepare ne '';
		my $started = time;
		my ($result, $out, $err) = $node->psql('postgres', ($settings // '') . "SET statement_timeout = $timeout; $statement");
		my $late = (time - $started) * 1000 - $timeout;
		$slowest = $late if $late > $slowest;
		if ($result == 0) { $n_done++; }
		elsif ($err =~ /ERROR:  canceling statement due to (?:statement timeout|user request)/) { $n_cancelled++; }	# the latter, where one of its transactions ended just then
		else { $n_other++; diag("$name: $err"); }
		$node->safe_psql('postgres', $tidy) if $tidy ne '';
		sound($node, "after a $name that had $timeout ms", 3) if $try % 4 == 0;
	}
	note("$name takes $ms ms; $n_cancelled cancelled, $n_done done; the latest $slowest ms late");
	is($n_other, 0, "a cancelled $name says that it was cancelled");
	cmp_ok($n_cancelled, '>', 0, "some were cancelled: $name");
	cmp_ok($slowest, '<', 5000, "and within 5 s: $name");
}
$node->safe_psql('postgres', 'VACUUM t');
sound($node, 'in the end');
is(info($node, 't_x', 'unreachable_pages') + info($node, 't_tuple', 'unreachable_pages'), 0, 'VACUUM takes back what was left behind');

done_testing();
