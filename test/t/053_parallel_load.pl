# genie_prewarm makes a large image with parallel workers.  The assert build compares it with the one that a process makes alone, byte by byte.
# Whatever ends it, workers end, too, and no memory stays taken.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

once();
my $node = genie_node('parallel_load', init => without_checksums(), conf => <<'CONF');
shared_preload_libraries = 'genie'
genie.worker = on
genie.engine = 'cpu'
genie.shared_memory = 256MB
genie.loaders = 3
genie.autoprewarm = off
max_worker_processes = 12
max_parallel_workers = 8
autovacuum = off
restart_after_crash = on
CONF
my $working = "backend_type = 'parallel worker' AND query LIKE 'loading an image of genie index%'";
my $held = "SET genie.fault_action = 'wait'; SET genie.fault_point = 'image-worker'";
my $holder;						# as long as it has the lock, workers wait

sub sql { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
sub shown { return sql("SELECT $_[0] FROM genie_stat"); }
sub nothing_left { my ($after) = @_; return ok(wait_until($node, "SELECT (SELECT image_bytes FROM genie_stat) = 0 AND NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE $working)"), "$after: no memory is taken, and no worker is there"); }

sql(<<'SQL');
CREATE EXTENSION genie;
CREATE TABLE words AS SELECT ARRAY[i, 1000000 + i % 100, 2000000 + i % 3, -(i % 7000)] AS x, i FROM generate_series(1, 300000) i;
INSERT INTO words SELECT CASE WHEN i % 10 > 0 THEN ARRAY(SELECT i * j FROM generate_series(1, 100) j) END, i FROM generate_series(1, 1000) i;
CREATE INDEX words_x ON words USING genie (x);
CREATE TABLE tuples AS SELECT i % 90 AS a, i * 7 % 3001 AS b, 'kind ' || i % 12 AS c, CASE WHEN i % 3 > 0 THEN i % 700 END AS d, i % 2 AS e,
	i * 11 % 4999 AS f, i / 500 AS g, i % 5 AS h FROM generate_series(1, 600000) i;
CREATE INDEX tuples_x ON tuples USING genie (genie_tuple(a, b, c, d, e, f, g, h));
CREATE TABLE one AS SELECT ARRAY[1] AS x FROM generate_series(1, 10) i;
CREATE INDEX one_x ON one USING genie (x);
VACUUM words, tuples;
SQL

# ---- the same image, and the same answers ----

my %questions = (
	words => "SELECT string_agg(i::text, ' ') FROM (SELECT i FROM words ORDER BY x <&> '{7, 1000007, 2000001, -7, 299999, 4444}'%s LIMIT 200) s",
	tuples => "SELECT string_agg(s::text, ' ') FROM (SELECT a, b, c, d FROM tuples ORDER BY genie_tuple(a, b, c, d, e, f, g, h)
		<&> genie_tuple_query(int4range(3, 9), int4range(70, 100), 'kind 5', int4range(1, 350), 1)%s LIMIT 200) s");
foreach my $table (sort keys %questions)
{
	my ($index, $scan) = ('SET enable_seqscan = off; SET enable_sort = off; ', 'SET enable_indexscan = off; ');
	my $right = sql($scan . sprintf($questions{$table}, ', ctid'));
	my %bytes;
	foreach my $loaders (0, 1, 3)
	{
		$node->append_conf('postgresql.conf', "genie.loaders = $loaders\n");
		$node->restart;
		ok(wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat"), 'the worker is there');
		$bytes{ sql("SELECT genie_prewarm('${table}_x')") } = 1;
		my $missed = shown('fallback_no_image');
		is(sql($index . sprintf($questions{$table}, '')), $right, "$table, genie.loaders = $loaders: the right rows");
		is(shown('images, image_loads, fallback_no_image'), "1|1|$missed", 'from the image');
	}
	is(scalar keys %bytes, 1, "$table: images of the same size");
}

# ---- workers, and what ends them ----

sub forget { sql("REINDEX INDEX words_x"); return nothing_left('REINDEX'); }

# A session that loads, whose workers do not go on; returns it and its pid.
sub begin
{
	my (@before) = @_;
	my $session = start_sql($node, "SET application_name = 'slow'", @before, $held, "SELECT genie_prewarm('words_x')");
	ok(wait_until($node, "SELECT count(*) = 3 FROM pg_stat_activity WHERE $working AND wait_event = 'advisory'"), 'three workers help');
	return ($session, sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'slow' AND backend_type = 'client backend'"));
}

sub hold
{
	$holder = start_sql($node, 'SELECT pg_advisory_lock(714100)', 'SELECT pg_sleep(1000)');
	return ok(wait_until($node, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND granted"), 'workers will wait');
}

sub fails
{
	my ($session, $what, $how) = @_;
	my $start = time();
	ok(!finish_sql($session), "$what ends the load");
	cmp_ok(time() - $start, '<', 2, 'soon');
	like($session->{err}, $how, 'and the session is told');
	return nothing_left($what);
}

$node->restart;
hold();
my ($session, $pid) = begin();
sql("SELECT pg_cancel_backend($pid)");
fails($session, 'cancel', qr/canceling statement due to user request/);
($session, $pid) = begin("SET statement_timeout = '2s'");
ok(!finish_sql($session), 'statement_timeout ends the load');
like($session->{err}, qr/canceling statement due to statement timeout/, 'and the session is told');
nothing_left('statement_timeout');
($session, $pid) = begin();
sql("SELECT pg_terminate_backend($pid)");
fails($session, 'the end of the session', qr/terminating connection due to administrator command/);
($session, $pid) = begin();
sql("SELECT pg_terminate_backend(min(pid)) FROM pg_stat_activity WHERE $working");
fails($session, 'the end of a worker', qr/terminating (connection|background worker .*) due to administrator command|lost connection to parallel worker/);

my ($r, $o, $e) = $node->psql('postgres', "SET genie.fault_action = 'error'; SET genie.fault_point = 'image-worker'; SELECT genie_prewarm('words_x')");
like($e, qr/ERROR:  fault point "image-worker" reached\nCONTEXT:  parallel worker/, 'the error of a worker is the session\'s');
nothing_left('error of a worker');
($r, $o, $e) = $node->psql('postgres', "SET genie.fault_action = 'error'; SET genie.fault_skip = 8; SET genie.fault_point = 'image-task'; SELECT genie_prewarm('words_x')");
like($e, qr/ERROR:  fault point "image-task" reached/, 'an error in the middle');
nothing_left('error in the middle');
($r, $o, $e) = $node->psql('postgres', "DO \$\$ BEGIN PERFORM set_config('genie.fault_action', 'error', false), set_config('genie.fault_point', 'image-worker', false); PERFORM genie_prewarm('words_x');
	EXCEPTION WHEN internal_error THEN PERFORM set_config('genie.fault_point', '', false); PERFORM genie_prewarm('words_x'); END \$\$; SELECT genie_prewarm('words_x') > 0");
is($o, 't', 'a transaction that goes on after it loads again');
forget();

# ---- in nobody's way ----

($session, $pid) = begin();
my $drop = start_sql($node, "DROP INDEX words_x");
ok(wait_until($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE query = 'DROP INDEX words_x' AND wait_event_type = 'Lock'"), 'DROP INDEX waits for the session, as it does for any');
sql("SELECT pg_cancel_backend($pid)");
fails($session, 'cancel', qr/canceling statement due to user request/);
ok(finish_sql($drop), 'and goes on when it is cancelled');
sql('CREATE INDEX words_x ON words USING genie (x)');
($session, $pid) = begin();
my $start = time();
$node->restart;
cmp_ok(time() - $start, '<', 4, 'a fast shutdown during a load, and the start');
finish_sql($session);
finish_sql($holder);
hold();

# ---- a segment that changes, or is damaged ----

($session, $pid) = begin();
sql("DELETE FROM words WHERE i % 2 = 0; INSERT INTO words SELECT ARRAY[i], i FROM generate_series(1, 5000) i");
sql("SELECT genie_merge('words_x')");
sql('VACUUM words');
sql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted");
finish_sql($holder);
ok(finish_sql($session), 'the load goes on when the index has changed');
cmp_ok(sql("SELECT genie_prewarm('words_x')"), '>', 0, 'and so does the next one');
my $right = sql('SET enable_indexscan = off; ' . sprintf($questions{words}, ', ctid'));
is(sql('SET enable_seqscan = off; SET enable_sort = off; ' . sprintf($questions{words}, '')), $right, 'without the dead rows');

sql('CHECKPOINT');
my $path = $node->data_dir . '/' . sql("SELECT pg_relation_filepath('words_x')");
$node->stop;
my $pages = slurp_file($path);
my @lists = grep { my ($kind, $section) = unpack('CC', substr($pages, $_ * 8192 + 8176 + 12, 2)); $kind == 4 && $section == 4 } 0 .. length($pages) / 8192 - 1;
open(my $handle, '+<:raw', $path) or die "$path: $!";
my $block = $lists[ @lists / 2 ];
seek($handle, $block * 8192 + 24, 0);
print $handle "\xFF" x 100;
close($handle);
$node->start;
($r, $o, $e) = $node->psql('postgres', "SELECT genie_prewarm('words_x')");
like($e, qr/ERROR:  index "words_x" is damaged at block \d+: the checksum of block $block is wrong/, 'damage is reported');
forget();

# ---- no workers, and no room ----

is(sql("SET max_parallel_workers = 0; SELECT genie_prewarm('words_x') > 0"), 't', 'without workers, the session loads alone');
forget();
$node->append_conf('postgresql.conf', "max_worker_processes = 2\n");
$node->restart;
is(sql("SELECT genie_prewarm('words_x') > 0"), 't', 'so it does where there are no free ones');
$node->append_conf('postgresql.conf', "max_worker_processes = 12\ngenie.shared_memory = 4MB\n");
$node->restart;
($r, $o, $e) = $node->psql('postgres', "SELECT genie_prewarm('tuples_x')");
like($e, qr/ERROR:  no room in shared memory for all of genie index "tuples_x"/, 'no room');
nothing_left('no room');
$node->stop;
done_testing();
