# Several GPUs are one engine: a device that does not open or is lost costs no answer, and the worker gets it back when it has nothing to do.
#
# The devices are those of the fake engine (test/engine).  How images are cut between devices: test/unit/test_engines.c, and unit_cuda on a GPU.
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
order('devices 3');
my $node = genie_node('devices', conf => worker_settings($cuda, $library));
create_table($node, 3000, 0.42);

sub devices { return $node->safe_psql('postgres', 'SELECT device, state, losses FROM genie_devices()'); }

# The worker's pid, when it has a new one and its devices are open.
sub with_new_worker
{
	my ($pid) = @_;
	wait_until($node, "SELECT worker_state = 'idle' AND worker_pid <> $pid FROM genie_stat");
	return stat_of($node, 'worker_pid');
}

# Are rows right, by the GPU?
sub by_gpu
{
	my ($when) = @_;
	my ($gpu, $others) = split /\|/, stat_of($node, 'answered_by_gpu, answered_by_worker_cpu + answered_by_backend');
	sound($node, $when, 5);
	cmp_ok(stat_of($node, "answered_by_gpu - $gpu"), '>', 0, "$when: by a GPU");
	is(stat_of($node, "answered_by_worker_cpu + answered_by_backend - $others"), 0, "$when: by nothing else");
	return;
}

wait_until($node, "SELECT engine = 'fake' FROM genie_stat");
ok($node->wait_for_log(qr/LOG:  genie counts on 3 GPUs: fake/), 'the log tells how many GPUs there are');
is(devices(), "0|in use|0\n1|in use|0\n2|in use|0", 'and genie_devices, which');
by_gpu('with three devices');
is($node->safe_psql('postgres', 'SELECT sum(share) IN (0, 1) FROM genie_devices()'), 't', 'shares are of all images');

# ---- one is lost ----

my $pid = stat_of($node, 'worker_pid');
my $at = -s $node->logfile;
order('devices 3 device 0 slow 300 lost once');
my @sessions = map { start_sql($node, question('by_index', $query, 50)) } 1 .. 4;
my $rows = $node->safe_psql('postgres', question('by_sequence', $query, 50));
ok(finish_sql($_), 'a query that a lost device had') or diag($_->{err}) foreach @sessions;
is($_->{out}, "$rows\n", 'has its rows') foreach @sessions;
ok($node->wait_for_log(qr/LOG:  a GPU was lost: GPU 0: the fake device is lost\n.*DETAIL:  The other GPUs do its work; the background worker restarts when it has nothing to do\./, $at),
	'the log says so');
is(stat_of($node, 'gpu_lost'), 1, 'the loss is counted');
order('devices 3');
$pid = with_new_worker($pid);
is(devices(), "0|in use|1\n1|in use|0\n2|in use|0", 'the worker has restarted and has all devices again');
is(scalar(() = substr(slurp_file($node->logfile), $at) =~ /a GPU was lost/g), 1, 'the loss was logged once');
by_gpu('after a loss');

# While it has something to do, it goes on without.
order('devices 3 device 0 lost');
sound($node, 'with a device that is always lost', 1);
like(devices(), qr/^0\|lost\|2\n1\|in use\|0\n2\|in use\|0$/, 'genie_devices tells which device is lost');
is(stat_of($node, 'worker_pid'), $pid, 'the worker goes on');
$pid = with_new_worker($pid);
$at = -s $node->logfile;
sound($node, 'once more', 1);
$pid = with_new_worker($pid);
ok($node->wait_for_log(qr/LOG:  genie leaves GPU 0 alone after 3 losses in a row/, $at), 'after three losses it is left alone');
is(devices(), "1|in use|0\n2|in use|0", 'and the others are used');
by_gpu('with a device left alone');

# All are lost.
order('lost');
sound($node, 'while all devices are lost', 1);
order('devices 3');
$pid = with_new_worker($pid);
by_gpu('after all were lost');
$node->reload;

# ---- one does not open; how many are to be used ----

$at = -s $node->logfile;
order('devices 3 device 1 open retry');
$node->append_conf('postgresql.conf', "genie.gpu_devices = 2\n");
$node->reload;
ok($node->wait_for_log(qr/LOG:  a GPU is not used: the fake device failed for once/, $at), 'a device that does not open is logged');
wait_until($node, "SELECT array_agg(device) = '{0,2}' FROM genie_devices()");
by_gpu('with two of three devices');
$at = -s $node->logfile;
order('devices 3');
$node->append_conf('postgresql.conf', "genie.gpu_devices = 1\n");
$node->reload;
ok($node->wait_for_log(qr/LOG:  genie counts on the GPU: fake/, $at), 'genie.gpu_devices = 1');
is(devices(), '0|in use|3', 'one device');
by_gpu('with one device');

$node->stop;
done_testing();
