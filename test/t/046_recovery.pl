# Images and the worker on a standby, through its promotion, and after crashes.
#
# A standby notices by the tombstone version alone that VACUUM has run on the primary; nobody publishes bits there.
# (040_images.pl tests loading and replacing; 006 and 032 test replay under scans without images.)
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my $primary = genie_node('primary', init => { allows_streaming => 1 }, conf => worker_settings(fake_engine()));
create_table($primary, 3000, 0.46);
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\n");
$standby->start;

my $by_index = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET enable_indexscan = on';
my $by_table = 'SET enable_seqscan = on; SET enable_bitmapscan = off; SET enable_sort = on; SET enable_indexscan = off';
my $query = "'{1,2,3,4,5,60,70}'::int[]";
my $select = "SELECT ctid, x <&> $query FROM t ORDER BY x <&> $query";

sub changes
{
	my ($statements) = @_;
	$primary->safe_psql('postgres', $statements);
	catch_up($primary, $standby);
	return;
}

# ---- answers from its own images ----

is(stat_of($standby, 'worker_state, engine, images'), 'idle|fake|0', 'a standby has a worker');
sound($standby, 'on the standby');
my ($images, $loads, $gpu) = split /\|/, stat_of($standby, 'images, image_loads, answered_by_gpu');
cmp_ok($images, '>=', 2, 'it has images of its own');
cmp_ok($gpu, '>', 0, 'from which its worker counts');
is(stat_of($primary, 'images'), 0, 'the primary has none');
is($standby->safe_psql('postgres', 'SELECT genie_stat_reset()'), '', 'genie_stat_reset works there');

# Dead objects would fill the first page: those that match best are deleted.  The image stays, its live bits change.
foreach my $round (1 .. 4)
{
	my $best = $primary->safe_psql('postgres', "$by_index; SELECT string_agg(quote_literal(ctid), ',') FROM (SELECT ctid FROM t ORDER BY x <&> $query LIMIT 200) s");
	changes("DELETE FROM t WHERE ctid IN ($best)");
	is($standby->safe_psql('postgres', "$by_index; $select LIMIT 300"), $standby->safe_psql('postgres', "$by_table; $select, ctid LIMIT 300"),
		"the standby's rows after a DELETE, round $round");
	changes('VACUUM t');
	changes("INSERT INTO t SELECT '{1,2,3,60,70}', '{again}', i FROM generate_series(1, 30) i") if $round % 2 == 0;
	is($standby->safe_psql('postgres', "$by_index; $select LIMIT 300"), $standby->safe_psql('postgres', "$by_table; $select, ctid LIMIT 300"),
		"the standby's rows after VACUUM, round $round");
}
is(stat_of($standby, 'images, fallback_image_gone, image_loads'), "$images|0|$loads", 'by the same images');

# a scan that goes on while all that is replayed
foreach my $rows (20, 128, 200)
{
	my $session = $standby->background_psql('postgres');
	$session->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; $by_table");
	my $expected = $session->query_safe("$select, ctid");
	my $got = $session->query_safe("$by_index; DECLARE c CURSOR FOR $select; FETCH $rows FROM c");
	$primary->safe_psql('postgres', "SELECT add_rows(1500, 0.$rows); SELECT genie_merge('t_x'); DELETE FROM t WHERE note % 9 = 1");
	$primary->safe_psql('postgres', "SELECT genie_merge('t_x'); REINDEX INDEX t_tuple");
	my $rest = $session->query_safe('FETCH ALL FROM c; COMMIT');
	is("$got\n$rest", $expected, "a scan on the standby goes on behind row $rows");
	$session->quit;
	catch_up($primary, $standby);
	sound($standby, 'after changes', 6);
}

# a slow batch there, while VACUUM is replayed
order('slow 2000 once');
my $expected = $standby->safe_psql('postgres', question('by_sequence', $query, 40));
my $waiting = start_sql($standby, question('by_index', $query, 40));
wait_for_waiting($standby, 1);
$primary->safe_psql('postgres', "INSERT INTO t SELECT '{1,2,3,4,5,60,70}', '{new}', i FROM generate_series(1, 50) i; SELECT genie_merge('t_x')");
ok(finish_sql($waiting), 'a query that waits for the worker while changes are replayed');
is($waiting->{out}, "$expected\n", 'has the rows of its snapshot');

# ---- the worker of a standby ----

my $pid = stat_of($standby, 'worker_pid');
kill 'TERM', $pid;
wait_until($standby, 'SELECT worker_pid IS NULL FROM genie_stat');
sound($standby, 'without a worker', 4);
wait_until($standby, "SELECT worker_state = 'idle' FROM genie_stat");
isnt(stat_of($standby, 'worker_pid'), $pid, 'it comes back on a standby too');
sound($standby, 'with the next', 4);

$primary->safe_psql('postgres', 'CREATE UNLOGGED TABLE u AS SELECT ARRAY[i % 10, 10 + i % 7] AS x FROM generate_series(1, 2000) i; CREATE INDEX u_x ON u USING genie (x)');
catch_up($primary, $standby);

# ---- promotion, with a query under way ----

order('hold');
$expected = $standby->safe_psql('postgres', question('by_sequence', $query, 40));
$waiting = start_sql($standby, question('by_index', $query, 40));
wait_for_waiting($standby, 1);
$primary->stop('immediate');
my $before = stat_of($standby, 'worker_pid, worker_starts');
$standby->promote;
order('');
ok(finish_sql($waiting), 'a query that waits during the promotion') or diag($waiting->{err});
is($waiting->{out}, "$expected\n", 'has its rows');
is(stat_of($standby, 'worker_pid, worker_starts'), $before, 'the worker stays');
$standby->safe_psql('postgres', "SELECT add_rows(500, 0.11); DELETE FROM t WHERE note % 6 = 1");
$standby->safe_psql('postgres', "VACUUM t; SELECT genie_merge('t_x'); SELECT add_rows(100, 0.12)");
$gpu = stat_of($standby, 'answered_by_gpu');
sound($standby, 'after the promotion');
cmp_ok(stat_of($standby, 'answered_by_gpu'), '>', $gpu, 'counted by the worker');

# ---- crashes ----

# Unlogged tables are empty then, and their indexes have the storage and the build that they had when they were made.
my $ask_u = "SELECT string_agg(ctid::text, ' ') FROM (SELECT ctid FROM u ORDER BY x <&> '{3,4,12}' %s LIMIT 200) s";

sub unlogged_rows
{
	my ($node, $when) = @_;
	my $requests = stat_of($node, 'answered_by_gpu');
	my $rows = $node->safe_psql('postgres', "$by_index; " . sprintf($ask_u, ''));
	is($rows, $node->safe_psql('postgres', "$by_table; " . sprintf($ask_u, ', ctid')), "rows of an unlogged table $when");
	return stat_of($node, 'answered_by_gpu') - $requests;
}

my $crashed = 0;

sub crash
{
	my ($node, $how, $what) = @_;
	$crashed++;
	$what->();
	wait_until($node, 'SELECT pg_postmaster_start_time() IS NOT NULL');
	wait_until($node, "SELECT worker_state = 'idle' AND engine = 'fake' FROM genie_stat");
	is(stat_of($node, 'images, worker_starts'), '0|1', "shared memory is empty after $how");
	sound($node, "after $how", 6);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM u'), 0, 'an unlogged table is empty');
	is(unlogged_rows($node, "after $how"), 0, 'so that there is nothing to count');
	$node->safe_psql('postgres', "INSERT INTO u SELECT ARRAY[i % 9, 10 + i % $crashed] FROM generate_series(1, 1500) i; SELECT genie_merge('u_x')");
	cmp_ok(unlogged_rows($node, "filled again after $how"), '>', 0, 'the worker counts in the new rows');
	return;
}

$primary->start;
wait_until($primary, "SELECT worker_state = 'idle' FROM genie_stat");
is($primary->safe_psql('postgres', 'SELECT count(*) FROM u'), 0, 'the primary comes back from its crash');
$primary->safe_psql('postgres', "INSERT INTO u SELECT ARRAY[i % 10] FROM generate_series(1, 800) i; SELECT genie_merge('u_x')");
cmp_ok(unlogged_rows($primary, 'after that'), '>', 0, 'the worker counts there');
crash($primary, 'an immediate shutdown', sub { $primary->stop('immediate'); $primary->start });
crash($primary, 'SIGKILL of the worker', sub {
		my $witness = start_sql($primary, 'SELECT pg_sleep(600)');
		wait_until($primary, "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'");
		kill 'KILL', stat_of($primary, 'worker_pid');
		finish_sql($witness);
	});
crash($primary, 'SIGKILL of everything', sub {
		my @sessions = map { start_sql($primary, "SELECT add_rows(3000, 0.$_)", "SELECT * FROM differences(30, 0.$_)") } 1 .. 3;
		wait_until($primary, 'SELECT requests > 20 FROM genie_stat');
		my $worker = stat_of($primary, 'worker_pid');
		$primary->kill9;
		finish_sql($_) foreach @sessions;
		# the worker notices by itself that the postmaster has gone
		my $n = 0;
		select(undef, undef, undef, 0.05) while kill(0, $worker) && $n++ < 200;
		ok(!kill(0, $worker), 'the worker ends when its postmaster was killed');
		$primary->start;
	});
unlike(slurp_file($_->logfile), qr/PANIC|TRAP/, 'no assertion failed') foreach $primary, $standby;

done_testing();
