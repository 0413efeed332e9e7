# An error at any fault point of build, insert, merge, reclaim and vacuum (a cancelled query, a full disk) aborts the
# statement and nothing else: the index stays sound, the same statement then works, and pages that the error left
# behind come back with the next VACUUM.
#
# Each error strikes twice: in a transaction of its own, and inside a subtransaction whose outer transaction goes on
# to write and commit.  (VACUUM and a merge inside VACUUM know only the first.)
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('error');
create_table($node, 1500, 0.2);
my %scenarios = fault_scenarios();

foreach my $point (sort keys %scenarios)
{
	my ($skip, $prepare, $statement) = @{ $scenarios{$point} };
	my $fault = "SET genie.fault_point = '$point'; SET genie.fault_skip = $skip; SET genie.fault_action = error;";

	$node->safe_psql('postgres', $prepare) if $prepare ne '';
	my ($result, $out, $err) = $node->psql('postgres', "$fault $statement");
	like($err, qr/ERROR:  fault point "$point" reached/, "an error at $point");
	sound($node, "after an error at $point", 4);

	if ($statement !~ /VACUUM/)
	{
		my $begin = $statement =~ s/^(SET [^;]*;)// ? "$1 BEGIN;" : 'BEGIN;';

		$node->safe_psql('postgres', $prepare) if $prepare ne '';
		($result, $out, $err) = $node->psql('postgres',
			"$begin INSERT INTO t VALUES ('{1,2,3}', '{before}', 1); SAVEPOINT a; $fault $statement; ROLLBACK TO a; "
			  . "RESET genie.fault_point; INSERT INTO t VALUES ('{1,2,3}', '{after}', 2); SELECT genie_merge('t_x'); COMMIT",
			on_error_stop => 0);
		is(join(' ', $err =~ /ERROR:  (.*)/g), "fault point \"$point\" reached", "an error at $point in a subtransaction");
		is($node->safe_psql('postgres', "WITH gone AS (DELETE FROM t WHERE n[1] IN ('before', 'after') RETURNING n[1]) SELECT * FROM gone"),
			"before\nafter", 'the transaction went on');
		sound($node, "after an error in a subtransaction at $point", 4);
		$statement = "$begin $statement; COMMIT";
	}
	$node->safe_psql('postgres', $statement);
	sound($node, "after the statement without an error at $point", 4);
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS t_built; DELETE FROM t WHERE ctid NOT IN (SELECT ctid FROM t LIMIT 2000)');
	$node->safe_psql('postgres', 'VACUUM t');
	is(info($node, 't_x', 'unreachable_pages') + info($node, 't_tuple', 'unreachable_pages'), 0,
		"VACUUM leaves no unreachable page after an error at $point");
	is(info($node, 't_x', 'objects - tombstones + pending_rows'), $node->safe_psql('postgres', 'SELECT count(*) FROM t'),
		"the index has as many live entries as the table has rows after an error at $point");
}

done_testing();
