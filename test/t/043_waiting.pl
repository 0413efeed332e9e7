# A session that waits for the worker may be cancelled, may time out, or may lose its client.  The worker and other sessions do
# not notice, and no shared memory is lost.
#
# The fake engine makes batches slow.  If a request is given up while it is alone in its batch, the batch ends.  If it is one
# among others, it stays with the worker, and its session counts for itself until the batch has ended.
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
my $query = "'{1,2,3,4,5,60,70}'::int[]";
my $node = genie_node('waiting', conf => worker_settings(fake_engine(), 'genie.shared_memory = 4MB'));
create_table($node, 3000, 0.43);
my $rows = $node->safe_psql('postgres', question('by_sequence', $query, 50));
my $asks = question('by_index', $query, 50);
sound($node, 'at first');		# and all images are loaded

sub sql { return $node->safe_psql('postgres', @_); }

# Is the worker idle, no request left, and do requests work?
sub at_rest
{
	my ($when) = @_;
	order('');
	wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
	my ($gpu, $backend) = split /\|/, stat_of($node, 'answered_by_gpu, answered_by_backend');
	is(sql($asks), $rows, "rows are right $when");
	my ($gpu_now, $backend_now) = split /\|/, stat_of($node, 'answered_by_gpu, answered_by_backend');
	ok($gpu_now > $gpu && $backend_now == $backend, "and counted by the worker $when");
	return;
}

# ---- one that waits alone: the batch ends with it ----

order('slow 60000');
my $begin = time;
my ($result, $out, $err) = $node->psql('postgres', "SET statement_timeout = 200; $asks");
like($err, qr/ERROR:  canceling statement due to statement timeout/, 'statement_timeout is heard by who waits');
at_rest('after a statement_timeout');
cmp_ok(time - $begin, '<', 10, 'and the batch was ended');

foreach my $how ('pg_cancel_backend', 'pg_terminate_backend')
{
	order('slow 60000');
	my $session = start_sql($node, $asks);
	wait_for_waiting($node, 1);
	sql("SELECT $how(pid) FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND state = 'active'");
	ok(!finish_sql($session), "$how is heard by who waits");
	like($session->{err}, qr/canceling statement due to user request|terminating connection due to administrator command/, 'who says so');
	at_rest("after $how");
}

# A client that goes: the server looks for it, as it is told to, while it waits.
order('slow 60000');
my $gone = start_sql($node, q{SET client_connection_check_interval = '200ms'}, $asks);
wait_for_waiting($node, 1);
$gone->{run}->kill_kill;
wait_until($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND state = 'active'");
at_rest('after a client has gone');

# ---- one among others: its slot is busy until the batch has ended ----

order('slow 2500');
my $other = start_sql($node, $asks);
wait_for_waiting($node, 1);
my $more = start_sql($node, $asks);	# it is in the second batch, with the one to be cancelled
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe(q{SET statement_timeout = '3500ms'});
$session->query($asks);
like($session->{stderr}, qr/canceling statement due to statement timeout/, 'one of a batch is cancelled');
$session->{stderr} = '';
$session->query_safe('SET statement_timeout = 0');
my $busy = stat_of($node, 'fallback_busy');
is($session->query_safe($asks), $rows, 'its session has its rows at once');
cmp_ok(stat_of($node, 'fallback_busy'), '>', $busy, 'which it counted, for the worker is busy with what it gave up');
foreach ($other, $more)
{
	ok(finish_sql($_), 'the others do not notice');
	is($_->{out}, "$rows\n", 'they have their rows');
}
order('');
wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
$busy = stat_of($node, 'fallback_busy');
my $gpu = stat_of($node, 'answered_by_gpu');
is($session->query_safe($asks), $rows, 'later it asks again');
is(stat_of($node, 'fallback_busy'), $busy, 'its slot is free');
cmp_ok(stat_of($node, 'answered_by_gpu'), '>', $gpu, 'and the worker answers');
$session->quit;

# ---- the memory of what was given up comes back ----

# Each request takes more than 160 kB of the 4 MB, part of which images have: 25 that are lost would leave none.
sql('CREATE TABLE wide AS SELECT ARRAY(SELECT i * 10 + j FROM generate_series(0, 9) j) AS x FROM generate_series(0, 3999) i;
	CREATE INDEX wide_x ON wide USING genie (x)');
sql(q{SELECT genie_prewarm('wide_x')});
my $big = 'SELECT string_agg(s::text, $$ $$) FROM (SELECT ctid, x <&> genie_query(ARRAY(SELECT 2 * i FROM generate_series(0, 19999) i) || ARRAY[71, 75, 93]) FROM wide '
  . 'ORDER BY x <&> genie_query(ARRAY(SELECT 2 * i FROM generate_series(0, 19999) i) || ARRAY[71, 75, 93]) %s LIMIT 50) s';
my $big_rows = sql('SET enable_indexscan = off; ' . sprintf($big, ', ctid'));
$big = sprintf($big, '');
order('slow 30');
$session = $node->background_psql('postgres', on_error_stop => 0);
my $stuck = start_sql($node, 'SET enable_seqscan = off', q{DO $$ BEGIN FOR i IN 1 .. 4000 LOOP PERFORM x FROM t ORDER BY x <&> '{1,2,3}' LIMIT 5; END LOOP; END $$});
$session->query_safe('SET enable_seqscan = off');
my ($requests, $cancelled) = (stat_of($node, 'requests'), 0);
foreach my $i (1 .. 200)
{
	$session->query(sprintf('SET statement_timeout = %d; %s', 15 + $i % 40, $big));
	$cancelled++ if $session->{stderr} =~ /canceling statement/;
	$session->{stderr} = '';
}
$session->query_safe('SET statement_timeout = 0');
cmp_ok($cancelled, '>=', 80, "$cancelled of 200 questions were given up");
cmp_ok(stat_of($node, 'requests') - $requests, '>=', 200, 'most of them while they waited for the worker');
sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'DO %'");
finish_sql($stuck);
at_rest('after many that were given up');
$gpu = stat_of($node, 'answered_by_gpu');
my $no_room = stat_of($node, 'fallback_no_room');
is($session->query_safe($big), $big_rows, 'a question of the same size has its rows');
cmp_ok(stat_of($node, 'answered_by_gpu'), '>', $gpu, 'from the worker');
is(stat_of($node, 'fallback_no_room'), $no_room, 'there was room');

# ---- exceptions that are caught ----

order('slow 100');
$session->query_safe(q{CREATE FUNCTION caught(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	n_caught int := 0;
	o record;
BEGIN
	FOR i IN 1 .. n LOOP
		BEGIN
			FOR o IN SELECT x FROM t ORDER BY x <&> ARRAY[i, 1, 2, 3] LIMIT 70 LOOP
				NULL;
			END LOOP;
		EXCEPTION WHEN query_canceled THEN
			n_caught := n_caught + 1;
		END;
	END LOOP;
	RETURN n_caught;
END $$});
# a transaction sees what others do as of its first look, unless that is cleared
my $canceller = start_sql($node, q{DO $$ BEGIN
	FOR i IN 1 .. 60 LOOP
		PERFORM pg_sleep(0.05), pg_stat_clear_snapshot();
		PERFORM pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%caught(%' AND wait_event_type = 'Extension' AND pid <> pg_backend_pid();
	END LOOP; END $$});
my $caught = $session->query_safe("SET enable_seqscan = off; SELECT caught(12)");
cmp_ok($caught, '>', 0, "cancels are caught in PL/pgSQL ($caught times) and the next request works");
ok(finish_sql($canceller), 'who cancels ends') or diag($canceller->{err});
is($session->query_safe($asks), $rows, 'the session has its rows');
at_rest('after exceptions');

# ---- many scans of one session ----

order('');
my %statements = (
	'two scans in one query' => q{SELECT string_agg(a.ctid::text || ' ' || b.ctid::text, ',') FROM
		(SELECT ctid, row_number() OVER () AS n FROM (SELECT ctid FROM t ORDER BY x <&> '{1,2,3}' %1$s LIMIT 600) s) a JOIN
		(SELECT ctid, row_number() OVER () AS n FROM (SELECT ctid FROM t ORDER BY x <&> '{7,8,9}' %1$s LIMIT 600) s) b USING (n)},
	'a scan for each row of another' => q{SELECT string_agg(o.i || ' ' || s.ctid::text, ',') FROM generate_series(1, 300) o (i),
		LATERAL (SELECT ctid FROM t ORDER BY x <&> ARRAY[o.i, 1, 2] %1$s LIMIT 3) s},
	'a scan inside a scan' => q{SELECT string_agg(nearest(s.n) || ' ' || s.ctid::text, ',')
		FROM (SELECT ctid, note %% 50 AS n FROM t ORDER BY x <&> '{4,5,6}' %1$s LIMIT 300) s},
	'a condition with a scan inside' => q{SELECT string_agg(ctid::text, ',') FROM (SELECT ctid FROM t WHERE nearest(note %% 9) IS NOT NULL
		ORDER BY x <&> '{4,5,6}' %1$s LIMIT 200) s});
sql(q{CREATE FUNCTION nearest(near int) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT min(d) || '/' || sum(d) FROM (SELECT x <&> ARRAY[near, near + 1] AS d FROM t ORDER BY x <&> ARRAY[near, near + 1] LIMIT 70) s $$});
my $by_index = 'SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off';
foreach my $what (sort keys %statements)
{
	$gpu = stat_of($node, 'answered_by_gpu');
	my $got = sql("$by_index; " . sprintf($statements{$what}, ''));
	cmp_ok(stat_of($node, 'answered_by_gpu') - $gpu, '>=', 2, "$what: the worker counts");
	my $expected = sql('SET enable_indexscan = off; SET enable_bitmapscan = off; ' . sprintf($statements{$what}, ', ctid'));
	is($got, $expected, "$what: rows are right");
}

# cursors of one session, read in turns while batches of others go on
my $load = start_sql($node, q{SET enable_seqscan = off}, q{DO $$ BEGIN FOR i IN 1 .. 300 LOOP PERFORM x FROM t ORDER BY x <&> ARRAY[i, 1, 2] LIMIT 5; END LOOP; END $$});
$session->query_safe("$by_index; BEGIN");
my @cursors = map { "SELECT ctid, x <&> ARRAY[$_, 1, 2] FROM t ORDER BY x <&> ARRAY[$_, 1, 2]" } 1 .. 4;
my @got = ('') x 4;
$session->query_safe("DECLARE c$_ CURSOR FOR $cursors[$_]") foreach 0 .. 3;
foreach my $n (1, 63, 1, 500, 20, 10000)
{
	$got[$_] .= $session->query_safe("FETCH $n FROM c$_") . "\n" foreach 0 .. 3;
}
$session->query_safe('COMMIT; SET enable_seqscan = on; SET enable_sort = on; SET enable_indexscan = off');
foreach (0 .. 3)
{
	is($got[$_] =~ s/\n+/\n/gr, $session->query_safe("$cursors[$_], ctid") . "\n", "cursor $_: rows are right");
}
ok(finish_sql($load), 'the others go on');

# parallel workers, each with a scan of its own in a function's place
sql('ALTER FUNCTION nearest PARALLEL SAFE; CREATE TABLE many AS SELECT i FROM generate_series(1, 400) i');
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 3; '
  . 'SET parallel_leader_participation = off; ALTER TABLE many SET (parallel_workers = 3); ';
my $each = "SELECT string_agg(n, ',' ORDER BY i) FROM (SELECT i, nearest(i % 40) AS n FROM many OFFSET 0) s";
like(sql("$parallel EXPLAIN (COSTS OFF) $each"), qr/Gather/, 'a parallel plan');
$gpu = stat_of($node, 'answered_by_gpu');
my $in_parallel = sql("$parallel $by_index; $each");
cmp_ok(stat_of($node, 'answered_by_gpu') - $gpu, '>=', 400, 'parallel workers ask the worker');
is($in_parallel, sql("SET max_parallel_workers_per_gather = 0; SET enable_indexscan = off; $each"), 'and have the right rows');

$session->quit;
at_rest('in the end');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminating any other active/, 'no assertion failed');

done_testing();
