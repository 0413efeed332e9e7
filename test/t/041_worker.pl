# The worker's life: it ends and comes back, follows changed settings, and blocks nobody.  Queries are answered meanwhile.
#
# The oracle of rows is the sequential scan; genie_stat tells whether the worker or the backend counted.  The fake engine (test/engine) makes batches as
# long as a test wants.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

once();
my $query = "'{1,2,3,4,5,60,70}'::int[]";
my @fake = fake_engine();
my $node = genie_node('worker', conf => worker_settings());
create_table($node, 3000, 0.41);
my $rows = $node->safe_psql('postgres', question('by_sequence', $query, 100));

# How many more a counter of genie_stat has after what is done.
sub grown
{
	my ($column, $what) = @_;
	my $before = stat_of($node, $column);
	$what->();
	return stat_of($node, $column) - $before;
}

sub reload_with
{
	my (@lines) = @_;
	$node->append_conf('postgresql.conf', join("\n", @lines) . "\n");
	$node->reload;
	return;
}

sub answers { return sound($node, $_[0], 4); }

# ---- there is one, and it counts ----

my $pid = stat_of($node, 'worker_pid');
is(stat_of($node, 'worker_state, engine, worker_starts'), 'idle|cpu|1', 'the worker is idle');
is(kill(0, $pid), 1, 'its process exists');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid OR backend_type ILIKE '%genie%'"), 0, 'it is not in pg_stat_activity');
is($node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)"), 'f', 'nor does pg_terminate_backend know it');
cmp_ok(grown('answered_by_worker_cpu', sub { answers('with a worker') }), '>', 0, 'the worker counted');
is(grown('answered_by_worker_cpu', sub { $node->safe_psql('postgres', 'SET genie.worker = off; ' . question('by_index', $query, 100)) }), 0,
	'not for a session that does not want it');
is(grown('fallback_worker_off', sub { $node->safe_psql('postgres', 'SET genie.worker = off; ' . question('by_index', $query, 10)) }),
	info($node, 't_x', 'segments'), 'which counts each segment itself');

# ---- SIGTERM ----

# Ends the worker, runs something while there is none, and waits for the next one.
sub replace_worker
{
	my ($what, $meanwhile) = @_;
	my ($old, $starts) = split /\|/, stat_of($node, 'worker_pid, worker_starts');
	my $fallbacks = stat_of($node, 'fallback_no_worker');
	my $since = time;
	kill 'TERM', $old;
	wait_until($node, "SELECT worker_pid IS NULL AND worker_state = 'not running' FROM genie_stat");
	$meanwhile->();
	cmp_ok(stat_of($node, 'fallback_no_worker'), '>', $fallbacks, "$what: backends count while there is no worker");
	wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
	cmp_ok(time - $since, '<', 5, "$what: the next worker is there within 5 s");
	my ($new, $new_starts) = split /\|/, stat_of($node, 'worker_pid, worker_starts');
	isnt($new, $old, "$what: it is another process");
	is($new_starts, $starts + 1, "$what: and counted as one start more");
	return;
}

replace_worker('SIGTERM', sub { answers('without a worker') });
like(slurp_file($node->logfile), qr/LOG:  genie worker ends: [1-9]\d* queries in [1-9]\d* batches, 0 on the GPU, [1-9]\d* on the CPU/, 'it says what it did');
is(grown('image_loads', sub { answers('with the next worker') }), 0, 'images outlive a worker');

# ---- settings ----

my $at = 0;
reload_with(@fake);
wait_until($node, "SELECT engine = 'fake' FROM genie_stat");
cmp_ok(grown('answered_by_gpu', sub { answers('on the fake GPU') }), '>', 0, 'genie.engine = cuda, reloaded: the GPU counts');
is(stat_of($node, 'worker_pid = ' . stat_of($node, 'worker_pid')), 't', 'in the same process');
reload_with("genie.gpu_memory = '3MB'");
wait_until($node, "SELECT limit_bytes = 3 << 20 FROM genie_devices()") if answers('after a change of genie.gpu_memory');
ok((grep { $_ eq 'limit 3145728' } told()), 'genie.gpu_memory, reloaded: the engine is told');
is($node->safe_psql('postgres', 'SELECT name, limit_bytes FROM genie_devices()'), 'fake|3145728', 'and genie_devices shows it');

my $old_library = $fake[1] =~ s/fake_engine/old_engine/r;
my $told = told();
reload_with($old_library);
wait_until($node, "SELECT engine = 'cpu' FROM genie_stat");
is((told($told))[-1], 'close', 'genie.gpu_library, reloaded: the old engine is closed');
is(grown('answered_by_gpu', sub { answers('with a library that does not fit') }), 0, 'and the GPU not used');
reload_with($fake[1]);
wait_until($node, "SELECT engine = 'fake' FROM genie_stat");
reload_with("genie.engine = 'cpu'");
wait_until($node, "SELECT engine = 'cpu' FROM genie_stat");
is((told())[-1], 'close', 'genie.engine = cpu, reloaded: the engine is closed');
is(grown('answered_by_gpu', sub { answers('on the CPU again') }), 0, 'and the CPU counts');

# ---- ends while somebody waits ----

reload_with(@fake);
wait_until($node, "SELECT engine = 'fake' FROM genie_stat");
order('slow 60000');
my @waiting = map { start_sql($node, question('by_index', $query, 100)) } 1 .. 3;
wait_for_waiting($node, 3);
is(stat_of($node, 'worker_state'), 'counting', 'the worker counts');
my $before = stat_of($node, 'fallback_no_worker');
my $since = time;
kill 'TERM', stat_of($node, 'worker_pid');
ok(finish_sql($_), 'a query that waits for a worker that ends') or diag($_->{err}) foreach @waiting;
cmp_ok(time - $since, '<', 5, 'is answered at once');
is($_->{out}, "$rows\n", 'with the right rows') foreach @waiting;
cmp_ok(stat_of($node, 'fallback_no_worker') - $before, '>=', 3 * info($node, 't_x', 'segments'), 'by its backend');
order('');
wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");

# ---- an ERROR in the worker ----

# It has taken requests and pinned images then.  The next one fails in the same way, until the fault is taken back.
my $log_at = -s $node->logfile;
my $starts = stat_of($node, 'worker_starts');
order('hold');
my $first = start_sql($node, question('by_index', $query, 50));
wait_until($node, "SELECT worker_state = 'counting' FROM genie_stat");
reload_with("genie.fault_point = 'worker-pinned'", "genie.fault_action = 'error'");
@waiting = map { start_sql($node, question('by_index', $query, 100)) } 1 .. 4;
wait_for_waiting($node, 5);
order('');
foreach ($first, @waiting)
{
	ok(finish_sql($_), 'a query whose batch fails in the worker') or diag($_->{err});
}
is($_->{out}, "$rows\n", 'has its rows') foreach @waiting;
ok($node->wait_for_log(qr/ERROR:  fault point "worker-pinned" reached/, $log_at), 'the worker failed');
wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
cmp_ok(stat_of($node, 'worker_starts'), '>', $starts, 'and restarts by itself');
answers('while the worker fails again and again');
reload_with("genie.fault_point = ''");
wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
cmp_ok(grown('answered_by_gpu', sub { answers('when it does not any more') }), '>', 0, 'then it counts again');
foreach my $round (1 .. 5)
{
	$node->safe_psql('postgres', "SELECT add_rows(600, 0.7$round); SELECT genie_merge('t_x'); SELECT genie_merge('t_tuple')");
}
$node->safe_psql('postgres', "SELECT genie_prewarm('t_x') + genie_prewarm('t_tuple')");
is(stat_of($node, 'images'), info($node, 't_x', 'segments') + info($node, 't_tuple', 'segments'), 'no image is pinned for ever');
$rows = $node->safe_psql('postgres', question('by_sequence', $query, 100));

# ---- killed: the server starts again ----

sub comes_back
{
	my ($what) = @_;
	wait_until($node, 'SELECT pg_postmaster_start_time() IS NOT NULL');
	wait_until($node, "SELECT engine = 'fake' FROM genie_stat");
	is(stat_of($node, 'worker_starts, requests, images'), '1|0|0', "shared memory is new after $what");
	answers("after $what");
	return;
}

# A session that notices when the server has thrown it out.
sub thrown_out
{
	my ($what) = @_;
	my $witness = start_sql($node, 'SELECT pg_sleep(600)');
	wait_until($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'");
	$what->();
	ok(!finish_sql($witness), 'all sessions end');
	return;
}

order('slow 60000');
my $waiter = start_sql($node, question('by_index', $query, 100));
wait_for_waiting($node, 1);
thrown_out(sub { kill 'KILL', stat_of($node, 'worker_pid') });
ok(!finish_sql($waiter), 'the one that waited too');
order('');
comes_back('SIGKILL of the worker');

order('slow 60000');
$waiter = start_sql($node, question('by_index', $query, 100));
wait_for_waiting($node, 1);
thrown_out(sub { kill 'KILL', $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE query LIKE '%by_index%' AND wait_event_type = 'Extension'") });
ok(!finish_sql($waiter), 'the one that waited too');
order('');
comes_back('SIGKILL of a backend that waits');

# ---- the server stops ----

# pgbench with questions of all kinds, until the server has gone.
my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, "SET enable_seqscan = off;\n\\set a random(0, 299)\nSELECT count(*) FROM (SELECT x FROM t ORDER BY x <&> ARRAY[1,2,3,:a] LIMIT 100) s;\n"
	  . "SELECT count(*) FROM (SELECT x FROM t WHERE x @& genie_query(ARRAY[1,2,3,:a], 2) ORDER BY x <&> genie_query('{[0,300]}'::int4multirange)) s;\n");

sub stops_under_load
{
	my ($mode, $what) = @_;
	my ($out, $err) = ('', '');
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', '12', '-T', '600', '-f', $script, $node->connstr('postgres') ], '>', \$out, '2>', \$err);
	wait_until($node, "SELECT requests > 12 FROM genie_stat");
	wait_for_waiting($node, 4);
	my $begin = time;
	$node->stop($mode);
	cmp_ok(time - $begin, '<', 5, "$what: the server stops within 5 s");
	$load->finish;
	like($err, qr/terminating connection due to administrator command/, "$what: and tells its clients") or diag($err);
	unlike($err, qr/ERROR/, "$what: no query had failed");
	return;
}

order('slow 2000');
stops_under_load('fast', 'a fast shutdown with slow batches');
order('');
$node->append_conf('postgresql.conf', "genie.engine = 'cpu'\n");
$node->start;
$node->safe_psql('postgres', 'INSERT INTO t SELECT ARRAY(SELECT (i * 7 + j * j) % 300 FROM generate_series(1, 8) j WHERE i > 0), $${w}$$, i FROM generate_series(1, 100000) i;
	REINDEX TABLE t; ANALYZE t');
$rows = $node->safe_psql('postgres', question('by_sequence', $query, 100));
$node->safe_psql('postgres', 'SELECT genie_stat_reset()');
stops_under_load('fast', 'a fast shutdown with large counts');

$node->append_conf('postgresql.conf', "genie.engine = 'cuda'\n");
$node->start;
order('slow 1500');
$waiter = start_sql($node, question('by_index', $query, 100));
wait_for_waiting($node, 1);
my $begin = time;
$node->stop('smart');
ok(finish_sql($waiter), 'a smart shutdown lets a query end');
is($waiter->{out}, "$rows\n", 'with the right rows');
cmp_ok(time - $begin, '<', 10, 'and ends then');
like(slurp_file($node->logfile), qr/genie worker ends: [1-9]\d* queries in [1-9]\d* batches, [1-9]\d* on the GPU, 0 on the CPU(?!.*genie worker ends)/s, 'the worker had counted it');

$node->start;
$begin = time;
$node->stop('smart');
cmp_ok(time - $begin, '<', 5, 'a smart shutdown of an idle server takes no time');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no assertion failed');

done_testing();
