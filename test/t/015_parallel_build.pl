# CREATE INDEX with workers that are short of memory, out of space, cancelled, terminated or killed: the same index or a clear error,
# and no temporary file.
#
# A build stops at a function in its index expression, which waits as long as the test holds an advisory lock for leaders (1) or workers (2).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('parallel_build', conf => <<'CONF');
log_temp_files = 0
max_parallel_maintenance_workers = 4
min_parallel_table_scan_size = 0
restart_after_crash = on
CONF
create_table($node, 100, 0.2);
$node->safe_psql('postgres', <<'SQL');
SELECT setseed(0.5);
CREATE TABLE wide WITH (parallel_workers = 3) AS
	SELECT i, CASE WHEN i % 100 = 7 THEN NULL WHEN i % 100 = 8 THEN '{}' ELSE array_agg((random() * 5000000)::int) || i % 10 END AS x
	FROM generate_series(1, 20000) i, generate_series(1, 40) GROUP BY i;
SQL

sub no_files
{
	my ($when) = @_;
	$node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_ls_tmpdir()');
	return is($node->safe_psql('postgres', "SELECT count(*) FROM pg_ls_tmpdir()"), 0, "no temporary file is left after $when")
	  && is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'"), 0, "nor a worker");
}

# ---- little memory: many runs in each process ----

my $counts = 'segments, objects, keywords, postings, tombstones, pending_rows, object_bytes, dictionary_bytes, posting_bytes, size_bytes, unreachable_pages';
$node->safe_psql('postgres', 'SET max_parallel_maintenance_workers = 0; CREATE INDEX wide_alone ON wide USING genie (x)');
my $alone = info($node, 'wide_alone', $counts);
my $log_at = -s $node->logfile;
$node->safe_psql('postgres', "SET maintenance_work_mem = '1MB'; CREATE INDEX wide_x ON wide USING genie (x)");
my $log = slurp_file($node->logfile, $log_at);
my %runs;
$runs{$1}{$2} = 1 while $log =~ m{temporary file: path "[^"]*fileset/(\d+)\.(\d+)\.\d\.\d+"}g;
is(join(' ', sort keys %runs), '0 1 2 3', 'the leader and three workers spilled');
cmp_ok(scalar(keys %{ $runs{$_} }), '>', 16 + 1, "process $_ spilled more than once, and merged a generation") foreach sort keys %runs;
is(info($node, 'wide_x', $counts), $alone, 'the index is that of one process');
is(violations($node), '', 'and sound');
$node->safe_psql('postgres', 'DROP INDEX wide_alone');
my $answers = <<'SQL';
SELECT md5(string_agg(row, ',')) FROM (SELECT i || ' ' || coalesce((x <&> '{3,5,77}')::text, '-') AS row FROM wide ORDER BY x <&> '{3,5,77}' TIE) s;
SELECT count(*), sum(i) FROM wide WHERE x @& genie_with_min_match(genie_query('{[1000,2000),[400000,500000)}'::int4multirange), 2);
SQL
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SET enable_sort = off;' . $answers =~ s/TIE//r),
	$node->safe_psql('postgres', 'SET enable_indexscan = off; SET enable_bitmapscan = off;' . $answers =~ s/TIE/, ctid/r), 'scans give what the table gives');
no_files('a build with spills');

# ---- no room for temporary files ----

my ($result, $out, $err) = $node->psql('postgres', "SET maintenance_work_mem = '1MB'; SET temp_file_limit = '300kB'; REINDEX INDEX wide_x");
like($err, qr/ERROR:  temporary file size exceeds "?temp_file_limit"? \(300kB\)/, 'a build that may not spill fails');
is(info($node, 'wide_x', $counts), $alone, 'and leaves the old index');
no_files('a build that may not spill');

# ---- no workers to be had ----

$node->safe_psql('postgres', 'SET max_parallel_workers = 0; REINDEX INDEX wide_x');
is(info($node, 'wide_x', $counts), $alone, 'without workers the leader builds alone');

# ---- stopped in the middle ----

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION who_am_i() RETURNS int LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
	SELECT CASE WHEN leader_pid IS NULL THEN 1 ELSE 2 END FROM pg_stat_activity WHERE pid = pg_backend_pid() $$;
-- every 100th row waits while its process's gate is shut
CREATE FUNCTION gated(i int, x int[]) RETURNS int[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	WHILE i % 100 = 1 AND EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = public.who_am_i()) LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN x;
END $$;
SQL

# Starts a build that stops in the leader (1), in workers (2) or in both; returns the session that holds the gate, the one that
# builds, and the pids of the leader and of a worker.
sub stopped_build
{
	my (@who) = @_;
	my $gate = $node->background_psql('postgres');
	$gate->query_safe("SELECT pg_advisory_lock($_)") foreach @who;
	my $session = start_sql($node, "SET maintenance_work_mem = '1MB'", 'CREATE INDEX stopped ON wide USING genie (gated(i, x))');
	wait_until($node, "SELECT count(*) = 3 FROM pg_stat_activity WHERE backend_type = 'parallel worker'");
	wait_until($node, "SELECT count(*) >= 1 FROM pg_ls_dir('base/pgsql_tmp') f") if @who == 1;
	return ($gate, $session, split /\|/, $node->safe_psql('postgres',
		"SELECT leader_pid, pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' LIMIT 1"));
}

foreach (
	[ 'a cancelled leader', [2], 'SELECT pg_cancel_backend(LEADER)', qr/canceling statement due to user request/ ],
	[ 'a cancelled leader, its workers ahead', [1], 'SELECT pg_cancel_backend(LEADER)', qr/canceling statement due to user request/ ],
	[ 'a terminated leader', [2], 'SELECT pg_terminate_backend(LEADER)', qr/terminating connection due to administrator command/ ],
	[ 'a terminated worker', [2], 'SELECT pg_terminate_backend(WORKER)', qr/terminating background worker "parallel worker" due to administrator command/ ],
	[ 'a terminated worker, its leader busy', [ 1, 2 ], 'SELECT pg_terminate_backend(WORKER)', qr/terminating background worker "parallel worker" due to administrator command/ ],
	[ 'a cancelled worker', [2], 'SELECT pg_cancel_backend(WORKER)', qr/canceling statement due to user request/ ])
{
	my ($name, $who, $strike, $message) = @$_;
	my ($gate, $session, $leader, $worker) = stopped_build(@$who);
	$node->safe_psql('postgres', $strike =~ s/LEADER/$leader/r =~ s/WORKER/$worker/r);
	ok(!finish_sql($session), "$name: the build fails");
	like($session->{err}, $message, "$name: and says why");
	$gate->quit;
	no_files($name);
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname = 'stopped'"), 0, "$name: no index is left");
}

foreach (['leader', 2], ['worker', 3])
{
	my ($name, $n) = @$_;
	my @build = stopped_build(2);
	$log_at = -s $node->logfile;
	kill('KILL', $build[$n]);
	finish_sql($build[1]);
	eval { $build[0]->quit };
	restarted($node, $log_at);
	no_files("a killed $name");
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname = 'stopped'"), 0, "no index is left by a killed $name");
	is(info($node, 'wide_x', $counts), $alone, 'and the other one is as it was');
}

# the same while parts are merged
foreach (
	[ 'a cancelled leader that merges', 'SELECT pg_cancel_backend(LEADER)', qr/canceling statement due to user request/ ],
	[ 'a terminated worker that merges', 'SELECT pg_terminate_backend(WORKER)', qr/terminating background worker "parallel worker"/ ])
{
	my ($name, $strike, $message) = @$_;
	my $gate = $node->background_psql('postgres');
	$gate->query_safe('SELECT pg_advisory_lock(714100)');
	my $session = start_sql($node, "SET genie.fault_point = 'build-part'; SET genie.fault_action = wait; SET maintenance_work_mem = '1MB'",
		'CREATE INDEX stopped ON wide USING genie (x)');
	wait_until($node, "SELECT count(*) = 4 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
	my ($leader, $worker) = split /\|/, $node->safe_psql('postgres',
		"SELECT leader_pid, pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' LIMIT 1");
	$node->safe_psql('postgres', $strike =~ s/LEADER/$leader/r =~ s/WORKER/$worker/r);
	if ($strike =~ /WORKER/)
	{
		$gate->quit;			# for the leader waits for the gate, too
	}
	ok(!finish_sql($session), "$name: the build fails");
	like($session->{err}, $message, "$name: and says why");
	$gate->quit if $strike =~ /LEADER/;
	no_files($name);
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname = 'stopped'"), 0, "$name: no index is left");
}

# what workers do is seen while they do it, and the build goes on when it may
my ($gate, $session, $leader, $worker) = stopped_build(2);
wait_until($node, "SELECT wait_event = 'ParallelCreateIndexScan' FROM pg_stat_activity WHERE pid = $leader");
is($node->safe_psql('postgres', "SELECT phase, blocks_done > 0, blocks_done <= blocks_total FROM pg_stat_progress_create_index WHERE pid = $leader"),
	'building index: scanning table|t|t', 'progress is reported');
$gate->quit;
ok(finish_sql($session), 'a build that was held up is finished');
is(info($node, 'stopped', $counts), $alone, 'and right');
is(violations($node), '', 'all indexes are sound');
no_files('all of it');

# all rows are counted when all processes are done
$gate = $node->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(714100)');
$session = start_sql($node, "SET genie.fault_point = 'build-before-log'; SET genie.fault_action = wait", 'REINDEX INDEX wide_x');
wait_until($node, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
is($node->safe_psql('postgres', 'SELECT tuples_total, tuples_done FROM pg_stat_progress_create_index'), '20000|20000', 'all rows are counted');
$gate->quit;
ok(finish_sql($session), 'and the build ends');

done_testing();
