# An index that is larger than the GPU's memory is counted in pieces, or by the CPU where that is faster; rows are the same, whatever happens meanwhile.
#
# The device is that of the fake engine (test/engine), which counts pieces by the CPU engine.  How images are cut, and what is kept: test/unit/test_multiload.c,
# and unit_cuda on a GPU.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my ($cuda, $library) = fake_engine();
order('');
my $node = genie_node('larger', conf => worker_settings($cuda, $library, 'genie.shared_memory = 64MB', 'genie.cpu_threads = 1'));
sub sql { return $node->safe_psql('postgres', $_[0]); }

# five tiles of some 3 MB
sql(<<'SQL');
CREATE EXTENSION genie;
CREATE TABLE t (id int, s int[]);
INSERT INTO t SELECT i, ARRAY(SELECT abs(hashint4(i * 32 + d)) % 300 FROM generate_series(1, 20) d) FROM generate_series(1, 300000) i;
CREATE INDEX t_s ON t USING genie (s);
VACUUM ANALYZE t;
CREATE FUNCTION found(n int) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || md5(string_agg(f::text, ';' ORDER BY query, match_count DESC, tid))
	FROM genie_search('t_s', ARRAY(SELECT genie_query(s) FROM t WHERE id <= n ORDER BY id), 10) f $$;
CREATE FUNCTION counted(n int) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || md5(string_agg(c::text, ';' ORDER BY query))
	FROM genie_counts('t_s', ARRAY(SELECT genie_with_min_match(genie_query(s), 3) FROM t WHERE id <= n ORDER BY id)) c $$;
SQL
my %alone = map { $_ => sql("SET genie.worker = off; SELECT found($_), counted($_)") } (1, 400);

# Are rows and counts right?  And how much more was streamed, and counted by the GPU and by the worker's CPU?
sub same
{
	my ($n, $when) = @_;
	my $what = 'SELECT (SELECT streamed_bytes FROM genie_devices()), answered_by_gpu, answered_by_worker_cpu FROM genie_stat';
	my @before = split /\|/, sql($what);
	is(sql("SELECT found($n), counted($n)"), $alone{$n}, "$n queries: the same rows and counts, $when");
	wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
	my @after = split /\|/, sql($what);
	return map { $after[$_] - $before[$_] } 0 .. 2;
}

cmp_ok(sql("SELECT genie_prewarm('t_s')"), '>', 10_000_000, 'the image is loaded');
wait_until($node, "SELECT engine = 'fake' FROM genie_stat");
my ($streamed, $gpu, $cpu) = same(400, 'where all of it fits');
ok($streamed == 0 && $gpu > 0 && $cpu == 0, 'it is counted as a whole');

my $bytes = sql("SELECT image_bytes FROM genie_index_info('t_s')");
order('memory ' . int($bytes * 0.8));
($streamed, $gpu, $cpu) = same(400, 'where not all of it fits');
cmp_ok($streamed, '>', $bytes * 0.9, 'it is streamed');
ok($gpu > 0 && $cpu == 0, 'and counted by the GPU');
like(join("\n", told()), qr/prefetch 4611686018427387\d+/, 'pieces are copied ahead');

($streamed, $gpu, $cpu) = same(1, 'one query');
# the next one may be streamed: on a machine that stalls, the CPU took longer than it was expected to
cmp_ok($cpu, '>', 0, 'which the CPU counts, because that is faster');
is(sql("SET enable_seqscan = off; SELECT id FROM t ORDER BY s <&> (SELECT s FROM t WHERE id = 5) LIMIT 1"), '5', 'so are scans');
is(sql("SELECT sum(n) FROM genie_facets('t_s', genie_query('{1}'::int[], 1), '{0}')"),
	sql("SELECT sum(cardinality(ARRAY(SELECT DISTINCT unnest(s)))) FROM t WHERE s @> '{1}'"), 'facets, by the CPU');

order('memory 1000000');
($streamed, $gpu, $cpu) = same(400, 'where not even pieces fit');
ok($streamed == 0 && $gpu == 0 && $cpu > 0, 'the CPU counts');

# ---- lists and codes ----

# Of tuples and of signatures, whose images have both, codes alone are streamed.
order('');
sql(<<'SQL');
CREATE TABLE u (id int, a int, b int, c int, d int, e int, f int, g int, h int);
INSERT INTO u SELECT i, i % 7, hashint4(i) & 15, hashint4(i + 1000000) & 63, i / 100 % 900, hashint4(i + 2000000) & 3, hashint4(i + 3000000) & 255, i % 13, hashint4(i + 4000000) & 127
	FROM generate_series(1, 520000) i;
CREATE INDEX u_x ON u USING genie (genie_tuple(a, b, c, d, e, f, g, h));
CREATE TABLE v AS SELECT i AS id, ARRAY(SELECT (hashint4(i * 8 + d) & 255)::real FROM generate_series(1, 8) d) AS x FROM generate_series(1, 270000) i;
CREATE INDEX v_x ON v USING genie (x genie_l2_ops (hashes = 32));
VACUUM ANALYZE u, v;
CREATE FUNCTION found_u(n int) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || md5(string_agg(f::text, ';' ORDER BY query, match_count DESC, tid))
	FROM genie_search('u_x', ARRAY(SELECT genie_tuple_query(int4range(a, a + 2), b, ARRAY[c, c + 1], int4range(d, d + 50), e, f, g, h) FROM u WHERE id <= n ORDER BY id), 10) f $$;
CREATE FUNCTION found_v(n int) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || md5(string_agg(f::text, ';' ORDER BY query, distance, tid))
	FROM genie_search('v_x', ARRAY(SELECT x FROM v WHERE id <= n ORDER BY id), 10) f $$;
SQL
foreach my $of ('u', 'v')
{
	my $alone = sql("SET genie.worker = off; SELECT found_$of(300)");
	sql("SELECT genie_prewarm('${of}_x')");
	my ($full, $contents) = split /\|/, sql("SELECT bytes, contents FROM genie_images() WHERE index = '${of}_x'::regclass AND contents <> 'vectors'");
	is($contents, 'postings', "the image of $of has lists");
	foreach my $part (0.9, 0.42)
	{
		order('memory ' . int($full * $part));
		my ($before, $gpu_before) = split /\|/, sql('SELECT (SELECT streamed_bytes FROM genie_devices()), answered_by_gpu FROM genie_stat');
		is(sql("SELECT found_$of(300)"), $alone, "rows of $of, where the device has room for $part of its image");
		my ($after, $gpu_after) = split /\|/, sql('SELECT (SELECT streamed_bytes FROM genie_devices()), answered_by_gpu FROM genie_stat');
		cmp_ok($gpu_after, '>', $gpu_before, 'counted by the GPU');
		cmp_ok($after - $before, '>', 0.3 * $full, 'it is streamed');
		cmp_ok($after - $before, '<', 0.6 * $full, 'its codes alone');
	}
}

# ---- in the middle ----

foreach my $status ('retry', 'no_room', 'lost')
{
	order('memory ' . int($bytes * 0.8) . " $status once");
	same(400, "a piece fails: $status");
}
wait_until($node, "SELECT engine = 'fake' AND worker_state = 'idle' FROM genie_stat");
order('memory ' . int($bytes * 0.8));
sql('DELETE FROM t WHERE id % 7 = 3; VACUUM t');
$alone{400} = sql('SET genie.worker = off; SELECT found(400), counted(400)');
($streamed) = same(400, 'after VACUUM');
cmp_ok($streamed, '>', 0, 'it is streamed after VACUUM');

order('memory ' . int($bytes * 0.8) . ' hold');
my $held = start_sql($node, 'SELECT found(400)');
wait_until($node, "SELECT worker_state = 'counting' FROM genie_stat");
sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%found%' AND pid <> pg_backend_pid()");
wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
pass('a cancelled session ends the stream');
finish_sql($held);
order('memory ' . int($bytes * 0.8));
same(400, 'after a cancelled one');

# ---- meanwhile ----

# The device holds; another index's query is done at once, by the CPU; what would take it long waits, and is right; what wants the GPU alone waits, too.
sql('CREATE TABLE little AS SELECT i AS id, ARRAY[i % 10, 10 + i % 7] AS s FROM generate_series(1, 2000) i; CREATE INDEX little_s ON little USING genie (s)');
sql("SELECT genie_prewarm('little_s')");
my $little = q{SELECT count(*), min(match_count), sum(match_count) FROM genie_search('little_s', ARRAY[genie_query('{3,11}'::int[])], 100)};
my $little_alone = sql("SET genie.worker = off; $little");
order('memory ' . int($bytes * 0.8) . ' hold');
$held = start_sql($node, 'SELECT found(400)');
wait_until($node, "SELECT worker_state = 'counting' FROM genie_stat");
my $cpu_before = stat_of($node, 'answered_by_worker_cpu');
foreach my $time (1 .. 3)
{
	is(sql($little), $little_alone, "another index is asked meanwhile, $time");
}
is(stat_of($node, 'answered_by_worker_cpu') - $cpu_before, 3, 'by the CPU');
is(sql("SET enable_seqscan = off; SET genie.worker = on; SELECT count(*) FROM (SELECT id FROM little ORDER BY s <&> '{3,11}'::int[] LIMIT 5) q"), '5', 'an index scan, too');
is(stat_of($node, 'worker_state'), 'counting', 'the stream goes on');
# These may be done at once where the machine is fast, or busy: each says when it begins, and what it waits for is looked at.
sql('CREATE TABLE begun (n int)');
my @waiting = map { start_sql($node, "INSERT INTO begun VALUES ($_)", "SELECT found(400) AS waiting_$_") } 1 .. 2;
my $facets = start_sql($node, 'INSERT INTO begun VALUES (3)', "SELECT sum(n) FROM genie_facets('little_s', '{}\@0', '{0}')");
wait_until($node, q{SELECT (SELECT count(*) FROM begun) = 3 AND NOT EXISTS (SELECT FROM pg_stat_activity
	WHERE query ~ 'waiting_|genie_facets|begun' AND wait_event_type IS DISTINCT FROM 'Extension' AND pid <> pg_backend_pid())});
is(sql($little), $little_alone, 'also while others wait');
my $cancelled = sql(q{SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%AS waiting_2' AND pid <> pg_backend_pid()});
is(sql($little), $little_alone, 'and when one of these was cancelled');
order('memory ' . int($bytes * 0.8));
foreach my $session ($held, $waiting[0])
{
	finish_sql($session);
	is($session->{out}, (split /\|/, $alone{400})[0] . "\n", 'what had to wait has its rows');
}
isnt(finish_sql($waiting[1]) ? 1 : 0, $cancelled, 'but for the cancelled one');
finish_sql($facets);
is($facets->{out}, "4000\n", 'facets are right');
same(400, 'after that');

# An ERROR meanwhile ends the worker, and costs nobody an answer.
sub fault
{
	my $from_here = -s $node->logfile;
	sql("ALTER SYSTEM SET $_") foreach @_;
	sql('SELECT pg_reload_conf()');
	$node->wait_for_log(qr/received SIGHUP/, $from_here);
	sql('SELECT pg_sleep(0.3)');	# the worker looks at once
	return;
}
fault("genie.fault_point = 'worker-meanwhile'", "genie.fault_action = 'error'");
order('memory ' . int($bytes * 0.8) . ' hold');
my $pid = stat_of($node, 'worker_pid');
my $at = -s $node->logfile;
$held = start_sql($node, 'SELECT found(400)');
wait_until($node, "SELECT worker_state = 'counting' FROM genie_stat");
is(sql($little), $little_alone, 'an error meanwhile: the session counts by itself');
finish_sql($held);
is($held->{out}, (split /\|/, $alone{400})[0] . "\n", 'and so does the one that streamed');
ok($node->log_contains(qr/ERROR:  fault point "worker-meanwhile" reached/, $at), 'it is logged');
fault("genie.fault_point = ''", "genie.fault_action = ''", 'genie.max_batch = 4096');
order('memory ' . int($bytes * 0.8));
wait_until($node, "SELECT worker_state = 'idle' AND engine = 'fake' AND worker_pid <> $pid FROM genie_stat");
same(400, 'by the next worker');

# The CPU counts what is larger than the GPU; meanwhile the GPU does what fits it.
order('memory 1000000');
is(sql($little), $little_alone, 'another index fits the GPU');
$alone{8000} = sql('SET genie.worker = off; SELECT found(8000)');
my $by = 'SELECT answered_by_gpu, answered_by_worker_cpu, worker_state FROM genie_stat';
# A session whose batch the CPU counts now.  It may have ended before it is seen; then another one begins.
sub start_counting
{
	for (1 .. 50)
	{
		my $session = start_sql($node, 'SELECT found(8000)');
		while ($session->{out} eq '' && $session->{err} eq '')
		{
			return $session if stat_of($node, 'worker_state') eq 'counting';
			$session->{run}->pump_nb;
		}
		finish_sql($session);
	}
	die 'no batch was seen';
}
my $in_time = 0;
for (1 .. 10)	# a batch may end before the session here has begun
{
	$held = start_counting();
	my @out = split /\n/, sql("$by; $little; $little; $by");
	my ($before, $then) = map { [split /\|/] } @out[0, 3];
	is("@out[1, 2]", "$little_alone $little_alone", 'and is asked while the CPU counts');
	finish_sql($held);
	is($held->{out}, "$alone{8000}\n", 'which is right');
	$in_time = $then->[0] - $before->[0] == 2 && $then->[1] == $before->[1] && $then->[2] eq 'counting';
	last if $in_time;
}
ok($in_time, 'the GPU answers before the CPU has ended');

# The GPU fails meanwhile, or is lost.
foreach my $status ('retry', 'no_room', 'lost')
{
	$held = start_counting();
	order("memory 1000000 $status once");
	is(sql($little), $little_alone, "$status meanwhile");
	finish_sql($held);
	is($held->{out}, "$alone{8000}\n", 'what the CPU counts is right');
	order('memory 1000000');
	wait_until($node, "SELECT engine = 'fake' AND worker_state = 'idle' FROM genie_stat");
}
sql('DROP TABLE little, v');

# ---- VACUUM ----

# VACUUM does not wait for a stream.  Rows are those of the stream's snapshot, without the ones that take the TIDs of dead rows.
foreach my $of ([ 't', 't_s', 0.8, 'found(400)' ], [ 'u', 'u_x', 0.42, 'found_u(300)' ])
{
	my ($table, $index, $part, $call) = @$of;
	my $room = 'memory ' . int($part * sql("SELECT image_bytes FROM genie_index_info('$index')"));
	sql("DELETE FROM $table WHERE id % 40 = 5");
	my $before = sql("SET genie.worker = off; SELECT $call");
	order("$room hold");
	my $session = start_sql($node, "SELECT $call");
	wait_until($node, "SELECT worker_state = 'counting' FROM genie_stat");
	sql("DELETE FROM $table WHERE id % 40 = 6");
	sql("SET statement_timeout = '60s'; VACUUM $table");
	sql("CREATE TEMP TABLE again AS SELECT * FROM $table WHERE id <= 8000; UPDATE again SET id = 1000000 + id; INSERT INTO $table SELECT * FROM again");
	cmp_ok(sql("SELECT count(*) FROM $table WHERE id > 1000000 AND ctid < (SELECT max(ctid) FROM $table WHERE id <= 1000000)"), '>', 2000, "$table: TIDs are used again while it is streamed");
	is(stat_of($node, 'worker_state'), 'counting', 'the stream goes on');
	order($room);
	finish_sql($session);
	is($session->{out}, "$before\n", 'and has the rows of its snapshot');
	is(sql("SELECT $call"), sql("SET genie.worker = off; SELECT $call"), 'the next one has the new rows');
	sql("VACUUM $table");
	is(sql("SELECT $call"), sql("SET genie.worker = off; SELECT $call"), 'and after another VACUUM');
	is(sql("SELECT * FROM genie_check('$index')"), '', 'the index is well-formed');
}

sql('DROP TABLE u');
sql('DROP INDEX t_s');
wait_until($node, 'SELECT count(*) = 0 FROM genie_images()');

# ---- memory is pinned while there is nothing to do ----

order('');
my $from = told();
$node->append_conf('postgresql.conf', "genie.shared_memory = '9GB'\n");
$node->stop;
SKIP:
{
	skip 'no room for 9 GB of shared memory', 4 unless $node->start(fail_ok => 1);
	wait_until($node, "SELECT engine = 'fake' FROM genie_stat");

	# also if it always has something to do
	sql('CREATE TABLE busy AS SELECT ARRAY[i % 10] AS s FROM generate_series(1, 500) i; CREATE INDEX busy_s ON busy USING genie (s)');
	my $busy = start_sql($node, q{DO $$ DECLARE until timestamptz = clock_timestamp() + '9 s'; BEGIN
		WHILE clock_timestamp() < until LOOP PERFORM count(*) FROM genie_search('busy_s', ARRAY[genie_query('{3}'::int[])], 5); END LOOP; END $$});
	wait_until($node, "SELECT answered_by_gpu > 0 FROM genie_stat");
	my $busy_from = told();
	select(undef, undef, undef, 7.5);
	cmp_ok(scalar(grep { /^pin \d+$/ } told($busy_from)), '>=', 2, 'a busy worker pins memory, too');
	finish_sql($busy);
	my ($pinned, $steps) = (0, 0);
	for (1 .. 100)
	{
		my @bytes = map { /^pin (\d+)$/ ? $1 : () } told($from);
		$steps = @bytes;
		$pinned = 0;
		$pinned += $_ foreach @bytes;
		last if $pinned >= 8.7 * 2**30;
		select(undef, undef, undef, 0.1);
	}
	cmp_ok($pinned, '>=', 8.7 * 2**30, 'images\' memory is pinned in the end');
	cmp_ok($steps, '>=', 9, 'in steps');
	is(sql('SELECT count(*) FROM genie_devices()'), '1', 'and the worker answers');
	$node->stop;
}
done_testing();
