# There is no memory for one allocation, whichever: of a build, a merge, VACUUM, a scan, a search, a check.  The statement ends with
# "out of memory", or goes on without, and the index is sound.  So does the worker: the session answers.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('allocation');
create_table($node, 1500, 0.2);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE word AS SELECT i AS id, md5(i::text) AS w FROM generate_series(1, 600) i;
CREATE INDEX word_w ON word USING genie (w genie_edit_ops);
CREATE TABLE point AS SELECT i AS id, ARRAY[i % 30, i % 7, i % 11]::real[] AS v FROM generate_series(1, 900) i;
CREATE INDEX point_v ON point USING genie (v genie_l2_ops (hashes = 16));
SQL

my $ordered = 'SET enable_seqscan = off; SET enable_sort = off;';
my @statements = (
	[ 'a build', '', 'CREATE INDEX t_built ON t USING genie (x)', 'DROP INDEX IF EXISTS t_built' ],
	[ 'a build of vectors', '', 'REINDEX INDEX point_v', '' ],
	[ 'an insert', '', "INSERT INTO t SELECT ARRAY[i, i % 7], ARRAY['new'], 1 FROM generate_series(1, 60) i", "DELETE FROM t WHERE n[1] = 'new'" ],
	[ 'a merge', "INSERT INTO t SELECT ARRAY[i, i % 7], ARRAY['new'], 1 FROM generate_series(1, 60) i", "SELECT genie_merge('t_x')", "DELETE FROM t WHERE n[1] = 'new'" ],
	[ 'VACUUM', 'DELETE FROM t WHERE ctid IN (SELECT ctid FROM t LIMIT 3)', 'VACUUM (INDEX_CLEANUP ON) t', '' ],
	[ 'an ordered scan', '', "$ordered SELECT count(*) FROM (SELECT x FROM t ORDER BY x <&> '{1,4,9}' LIMIT 300) s", '' ],
	[ 'a condition', '', "$ordered SELECT count(*) FROM t WHERE x @& genie_query('{1,4,9}'::int[])", '' ],
	[ 'a batch', '', "SELECT count(*) FROM genie_search('t_x', ARRAY[genie_query('{1,4,9}'::int[]), genie_query('{2}'::int[])], 300)", '' ],
	[ 'a scan by edit distance', '', "$ordered SELECT count(*) FROM (SELECT w FROM word ORDER BY w <~> 'c4ca4238a0b923' LIMIT 20) s", '' ],
	[ 'a scan of vectors', '', "$ordered SELECT count(*) FROM (SELECT v FROM point ORDER BY v <-> '{4,5,6}' LIMIT 20) s", '' ],
	[ 'a batch of vectors', '', "SELECT count(*) FROM genie_search('point_v', ARRAY[[4,5,6],[1,2,3]]::real[], 20)", '' ],
	[ 'an exact search', '', "SELECT count(*) FROM genie_exact_knn('point_v', ARRAY[[4,5,6],[1,2,3]]::real[], 20)", '' ],
	[ 'a check', '', "SELECT count(*) FROM genie_check('t_x')", '' ]);

# Fails the statement's allocations one after the other, with steps that grow, until one lets all of them be.  Returns how many failed it.
sub strike
{
	my ($name, $prepare, $statement, $after) = @_;
	my ($failed, $survived, $wrong) = (0, 0, '');
	my $expected = $prepare eq '' && $statement =~ /SELECT/ && $statement !~ /INSERT|merge/ ? $node->safe_psql('postgres', $statement) : undef;
	my $skip = 0;
	while ($wrong eq '')
	{
		$node->safe_psql('postgres', $prepare) if $prepare ne '';
		my ($status, $out, $err) = $node->psql('postgres', "LOAD 'genie'; SET genie.fault_skip = $skip; SET genie.fault_point = 'allocation'; $statement; SHOW genie.fault_skip");
		if ($err =~ /ERROR/)
		{
			$failed++;
			$wrong .= "at $skip: $err\n" if $err !~ /ERROR:  out of memory/;
		}
		else
		{
			my ($left) = $out =~ /(\d+)\s*$/;
			$out =~ s/\n?\d+\s*$//;
			$wrong .= "at $skip: $out\n" if defined $expected && $out ne $expected;
			last if $left != 2147483647;
			$survived++;
		}
		my $found = violations($node);
		$wrong .= "after $skip: $found\n" if $found ne '';
		$node->safe_psql('postgres', $after) if $after ne '';
		$skip += 1 + int($skip / 6);
	}
	$node->safe_psql('postgres', $after) if $after ne '';
	is($wrong, '', "$name: nothing but \"out of memory\"");
	cmp_ok($failed, '>', 3, "$name fails");
	note("$name: $failed failed, $survived went on, up to $skip");
	sound($node, "after $name", 4);
	return;
}

strike(@$_) foreach @statements;
$node->stop;

# ---- the worker and a loader ----

# Each of these processes lacks one allocation.  The sessions do not, and have the rows, whoever counts.
my $served = genie_node('served', conf => <<'CONF');
shared_preload_libraries = 'genie'
genie.engine = 'cpu'
genie.shared_memory = 32MB
genie.worker = on
CONF
create_table($served, 1500, 0.2);
my $session = '-c genie.fault_point=';

sub ask
{
	my ($sql) = @_;
	local $ENV{PGOPTIONS} = $session;
	return $served->safe_psql('postgres', "$ordered SELECT count(*), sum(matches) FROM (SELECT x <&> '{1,4,9}' AS matches FROM t ORDER BY x <&> '{1,4,9}' LIMIT 300) s; "
		. "SELECT count(*), sum(match_count) FROM genie_search('t_x', ARRAY[genie_query('{1,4,9}'::int[]), genie_query('{2}'::int[])], 300)");
}

my $right = ask();
ok(wait_until($served, "SELECT worker_state = 'idle' FROM genie_stat"), 'the worker is there');
my $log_at = -s $served->logfile;
my ($different, $skip) = (0, 0);
while ($skip < 4000)
{
	$served->append_conf('postgresql.conf', "genie.fault_skip = $skip\ngenie.fault_point = 'allocation'\n");
	$served->reload;
	my $was = stat_of($served, 'worker_starts');
	foreach (1 .. 3)
	{
		local $ENV{PGOPTIONS} = $session;
		# a new image for a loader, and a query for the worker
		$served->safe_psql('postgres', "REINDEX INDEX t_x; SELECT genie_prewarm('t_x')") if $_ == 2;
		$different++ if ask() ne $right;
	}
	$served->append_conf('postgresql.conf', "genie.fault_point = ''\n");
	$served->reload;
	$skip += 1 + int($skip / 2);
}
is($different, 0, 'every answer is right');
ok(wait_until($served, "SELECT worker_state = 'idle' FROM genie_stat"), 'and a worker is there');
my $log = slurp_file($served->logfile, $log_at);
cmp_ok(scalar(() = $log =~ /Fault point "allocation" reached/g), '>', 0, 'some did fail');
unlike($log, qr/PANIC|was terminated by signal|TRAP/, 'by an error only');
sound($served, 'after all', 4);
done_testing();
