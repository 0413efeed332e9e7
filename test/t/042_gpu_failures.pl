# Whatever the GPU engine does, a query has its rows: an engine that does not open, fails, is full, or loses its device.
#
# The engine is the fake one (test/engine), which answers through the CPU engine and fails on demand.  No query may
# fail: all go through safe_psql, and rows are compared with a sequential scan.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my $query = "'{1,2,3,4,5,60,70}'::int[]";
my ($cuda, $library) = fake_engine();
my $node = genie_node('gpu', conf => worker_settings());
create_table($node, 3000, 0.42);
my $rows = $node->safe_psql('postgres', question('by_sequence', $query, 50));
$node->safe_psql('postgres', 'CREATE TABLE w AS SELECT i % 7 AS a, i % 11 AS b FROM generate_series(1, 5000) i; CREATE INDEX w_x ON w USING genie (genie_tuple(a, b))');
$node->safe_psql('postgres', 'VACUUM w');

# Opens the engine anew: the worker closes it when it is to use the CPU.
sub reopen
{
	my (@settings) = @_;
	$node->append_conf('postgresql.conf', "genie.engine = 'cpu'\n");
	$node->reload;
	wait_until($node, "SELECT engine = 'cpu' AND worker_state <> 'starting' FROM genie_stat");
	my $log_at = -s $node->logfile;
	$node->append_conf('postgresql.conf', join("\n", @settings) . "\n");
	$node->reload;
	return $log_at;
}

# What is logged from there on, once the pattern is in it.
sub logged
{
	my ($from, $pattern, $what) = @_;
	ok($node->wait_for_log($pattern, $from), $what);
	return substr(slurp_file($node->logfile), $from);
}

# Are rows right, and how many more do the counters have then?
sub counted
{
	my ($columns, $when) = @_;
	my @before = split /\|/, stat_of($node, $columns);
	sound($node, $when, 5);
	my @after = split /\|/, stat_of($node, $columns);
	return map { $after[$_] - $before[$_] } 0 .. $#after;
}

# Facets and cells, and, if the worker is asked, whether the GPU, its CPU and the session answered.
sub sums
{
	my ($worker) = @_;
	return split /\n/, $node->safe_psql('postgres', "SET genie.worker = $worker; SELECT genie_prewarm('w_x') > 0;
		SELECT string_agg(f::text, ' ') FROM genie_facets('w_x', '{1:int:[1,5)}', '{1,2}') f; SELECT string_agg(g::text, ' ') FROM genie_regrid('w_x', '{1,2}', '{2,3}') g;
		SELECT answered_by_gpu > 0, answered_by_worker_cpu > 0, answered_by_backend > 0 FROM genie_last_scan()");
}

sub devices { return $node->safe_psql('postgres', 'SELECT device, name, state, last_error, last_error_at IS NOT NULL FROM genie_devices()'); }

# ---- it does not open ----

my %sentence = (unavailable => 'there is no fake device', no_room => 'the fake device is full', lost => 'the fake device is lost',
	retry => 'the fake device failed for once');
foreach my $status (sort keys %sentence)
{
	order("open $status");
	my $at = reopen($cuda, $library);
	logged($at, qr/WARNING:  genie counts on the CPU: $sentence{$status}/, "open $status: the administrator is warned");
	my ($gpu, $cpu) = counted('answered_by_gpu, answered_by_worker_cpu', "with an engine that opens as $status");
	ok($gpu == 0 && $cpu > 0, "open $status: the worker's CPU counts");
	is(devices(), "||no GPU in use|$sentence{$status}|t", "open $status: genie_devices says why");
}
order('open unavailable');
my $at = reopen("genie.engine = 'auto'", $library);
logged($at, qr/LOG:  genie counts on the CPU: there is no fake device/, 'genie.engine = auto: no warning');

my $files = PostgreSQL::Test::Utils::tempdir();
append_to_file("$files/text.so", "no library\n");
mkdir "$files/folder.so";
my $libdir = $node->config_data('--pkglibdir');
order('');
my @libraries = (
	[ $library =~ s/.*'(.*)fake_engine'/$1old_engine/r, qr/has engine interface 1 instead of \d+: it is from another version of genie/, 'of another version' ],
	[ "$files/text", qr/could not load the GPU engine: .*text\.so/, 'that is a text' ],
	[ "$files/folder.so", qr/could not load the GPU engine: .*folder\.so/, 'that is a folder' ],
	[ "$files/none", qr/the GPU engine is not installed: there is no file "\Q$files\E\/none\.so"/, 'that does not exist' ],
	[ '$libdir/genie_none', qr/there is no file "\Q$libdir\E\/genie_none\.so"/, 'that is not in $libdir' ],
	[ '$libdir/plpgsql', qr/library ".*plpgsql\.so" holds no engine of genie/, 'of somebody else' ],
	[ '', qr/the GPU engine is not installed/, 'without a name' ],
	[ '/' . 'long' x 500, qr/the GPU engine is not installed/, 'with a very long name' ]);
foreach (@libraries)
{
	my ($path, $pattern, $what) = @$_;
	$at = reopen($cuda, "genie.gpu_library = '$path'");
	logged($at, qr/WARNING:  genie counts on the CPU: .*$pattern/, "a library $what: a warning");
	my ($cpu) = counted('answered_by_worker_cpu', "with a library $what");
	cmp_ok($cpu, '>', 0, "a library $what: the worker's CPU counts");
	like(devices(), qr/^\|\|no GPU in use\|.*$pattern/, "a library $what: genie_devices says why");
}

# ---- it fails a batch ----

foreach my $failure ([ 'retry', 'gpu_failed' ], [ 'no_room', 'gpu_no_room' ])
{
	my ($status, $counter) = @$failure;
	order('');
	reopen($cuda, $library);
	wait_until($node, "SELECT engine = 'fake' FROM genie_stat");
	my ($gpu) = counted('answered_by_gpu', "before a $status");
	cmp_ok($gpu, '>', 0, 'the GPU counts');
	my @sums = sums('off');
	is_deeply([ sums('on') ], [ @sums[0 .. 2], 't|f|f' ], 'facets and cells, too');
	like(devices(), qr/^0\|fake\|in use\|/, 'genie_devices shows it');

	order($status);
	$at = -s $node->logfile;
	my ($by_gpu, $by_cpu, $failed, $backend, $other) = counted('answered_by_gpu, answered_by_worker_cpu, ' . $counter .
		', answered_by_backend, gpu_failed + gpu_no_room + gpu_lost', "while batches end with $status");
	is_deeply([ sums('on') ], [ @sums[0 .. 2], 'f|t|f' ], "$status: facets and cells are right, by the worker's CPU");
	is($by_gpu, 0, "$status: the GPU answers nothing");
	cmp_ok($by_cpu, '>', 1, "$status: the worker's CPU does");
	is($failed, $by_cpu, "$status: counted as $counter");
	is($other, $by_cpu, "$status: and as nothing else");
	is($backend, 0, "$status: no backend has to count");
	my $log = logged($at, qr/LOG:  the GPU could not do what was asked: $sentence{$status}\n.*DETAIL:  The CPU does it instead\./, "$status: it is logged");
	is(scalar(() = $log =~ /the GPU could not do what was asked/g), 1, "$status: but once only");
	is(devices(), "0|fake|in use|$sentence{$status}|t", "$status: genie_devices shows the error");

	order("$status once");
	($by_gpu, $failed) = counted("answered_by_gpu, $counter", "with one batch that ends with $status");
	cmp_ok($by_gpu, '>', 0, "$status once: the GPU goes on");
	cmp_ok($failed, '>', 0, "$status once: after it had failed");
}

# ---- it loses its device ----

# Loses the device while so many sessions wait.
sub lose
{
	my ($n) = @_;
	my ($pid, $lost, $starts) = split /\|/, stat_of($node, 'worker_pid, gpu_lost, worker_starts');
	my $from = -s $node->logfile;
	order('slow 700 lost once');
	my @sessions = map { start_sql($node, question('by_index', $query, 50)) } 1 .. $n;
	ok(finish_sql($_), 'a query that waits when the device is lost') or diag($_->{err}) foreach @sessions;
	is($_->{out}, "$rows\n", 'has its rows') foreach @sessions;
	logged($from, qr/LOG:  the GPU was lost: the fake device is lost\n.*DETAIL:  .*worker restarts/, 'the log says that the device was lost');
	sound($node, 'while the worker restarts', 2);
	wait_until($node, "SELECT worker_state = 'idle' AND worker_pid <> $pid FROM genie_stat");
	is(stat_of($node, "worker_starts - $starts"), 1, 'the worker restarts by itself');
	cmp_ok(stat_of($node, "gpu_lost - $lost"), '>', 0, 'the loss is counted');
	return;
}

my $postmaster_start = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
reopen($cuda, $library);
wait_until($node, "SELECT engine = 'fake' FROM genie_stat");
lose(4);
is(stat_of($node, 'engine'), 'fake', 'after one loss the GPU is opened again');
is(devices(), '0|fake|in use|the fake device is lost|t', 'genie_devices remembers the loss');
my ($gpu) = counted('answered_by_gpu', 'after a loss');
cmp_ok($gpu, '>', 0, 'and counts');

lose(1);
is(stat_of($node, 'engine'), 'fake', 'after two losses too');
$at = -s $node->logfile;
lose(2);
logged($at, qr/LOG:  genie leaves GPU 0 alone after 3 losses in a row\n.*HINT:  Reload the settings, with SELECT pg_reload_conf\(\), to try it again\./,
	'after three losses the GPU is left alone');
is(stat_of($node, 'engine'), 'cpu', 'and the CPU counts');
is(devices(), '||no GPU in use|all GPUs have been lost too often|t', 'genie_devices says why');
my $told = told();
my ($by_gpu, $by_cpu) = counted('answered_by_gpu, answered_by_worker_cpu', 'with the GPU left alone');
ok($by_gpu == 0 && $by_cpu > 0, 'queries are counted in the worker');
kill 'TERM', stat_of($node, 'worker_pid');
wait_until($node, "SELECT worker_state = 'not running' FROM genie_stat");
like(devices(), qr/^\|\|the worker is not running\|/, 'genie_devices says that there is no worker');
wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
is(scalar(told($told)), 0, 'it is left alone by the next worker too');
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
wait_until($node, "SELECT engine = 'fake' FROM genie_stat");
($gpu) = counted('answered_by_gpu', 'after the settings were reloaded');
cmp_ok($gpu, '>', 0, 'until the settings are reloaded');
lose(1);
is(stat_of($node, 'engine'), 'fake', 'from when losses are counted from the beginning');

is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $postmaster_start, 'the server never restarted');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|ERROR|terminating any other active/, 'and no query failed');

done_testing();
