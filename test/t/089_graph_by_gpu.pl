# Proximity graphs that a GPU builds (GENIE_JOB_LEVEL): they are those that the CPU builds; others are answered meanwhile; and nothing is lost when
# the request is cancelled, its session ends, the GPU has no room, fails or is lost.
#
# The device is that of the fake engine (test/engine), which makes levels as the CPU does.  A GPU: unit_cuda, pass 15.
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
$ENV{GENIE_GRAPH_DEVICE_MIN} = 1;	# of so few rows there are no graphs beside a GPU
my $node = genie_node('graph_by_gpu', conf => worker_settings($cuda, $library, 'genie.shared_memory = 64MB', 'genie.cpu_threads = 2', 'genie.loaders = 1',
	'autovacuum = off', 'max_parallel_maintenance_workers = 1'));
sub sql { return $node->safe_psql('postgres', join('; ', @_)); }
sub said { return ($node->psql('postgres', $_[0]))[2]; }
my $n_told = 0;
sub levels	# since the last look, or start
{
	my @all = told();
	my @new = splice(@all, $n_told);
	$n_told += @new;
	return join(' ', map { /^(?:\d: )?level (\d \d+)/ ? "$1;" : () } @new);
}
sub graph { return sql(q{SELECT coalesce(string_agg(state, ' '), 'none') FROM genie_images() WHERE contents = 'graph'}); }
sub fresh
{
	order($_[0] // '');
	$node->restart;
	wait_until($node, q{SELECT worker_state = 'idle' FROM genie_stat});
	levels();
	return;
}

# rows in clusters, some NULL; 20,000 have two levels: 1,250 of the upper one are too few for a GPU
sql(<<'SQL');
CREATE EXTENSION genie;
CREATE FUNCTION vec(i int) RETURNS real[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
	SELECT array_agg((hashint4(i / 40 * 64 + j) % 1000 + hashint4(i * 64 + j) % 50)::real) FROM generate_series(1, 12) j $$;
CREATE TABLE v (id int, x real[]);
INSERT INTO v SELECT i, CASE WHEN i % 999 <> 0 THEN vec(i) END FROM generate_series(1, 20000) i;
CREATE INDEX v_x ON v USING genie (x genie_l2_ops (hashes = 8)) WITH (graph = 24);
CREATE TABLE s (x int[]);
INSERT INTO s SELECT ARRAY[i % 10, 100 + i % 77] FROM generate_series(1, 3000) i;
CREATE INDEX s_x ON s USING genie (x);
VACUUM ANALYZE;
SQL
# what a graph finds, which is little enough to depend on its edges
my $rows = q{SET enable_seqscan = off; SET genie.graph_queue = 12; SELECT string_agg(r, ' ' ORDER BY i) FROM generate_series(40, 20000, 400) i,
	LATERAL (SELECT string_agg(id || ':' || n, ',' ORDER BY n) AS r FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM v ORDER BY x <-> vec(i) LIMIT 10) s) s) f};
my $other = 'SELECT count(*), sum(match_count) FROM genie_search(\'s_x\', ARRAY(SELECT genie_query(x) FROM s LIMIT 20), 5)';

# ---- the same graph ----

sql("ALTER SYSTEM SET genie.engine = 'cpu'");
fresh();
sql("SELECT genie_prewarm('v_x')");
is(graph(), 'ready', 'the CPU builds a graph');
my $by_cpu = sql($rows);
isnt($by_cpu, sql($rows =~ s/genie.graph_queue = 12/genie.strict_order = on/r), 'whose edges decide what is found');
my $others = sql($other);
sub candidates { return sql("SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM v ORDER BY x <-> vec(77) LIMIT 3) s; SELECT candidates FROM genie_last_scan()"); }
is(candidates(), "3\n100", 'which scans ask');
sql('ALTER SYSTEM RESET genie.engine');
foreach my $devices ('', 'devices 2')
{
	fresh($devices);
	is(said("SELECT genie_prewarm('v_x')"), '', 'a GPU builds it');
	is(levels(), '0 20000;', 'its large level');
	is(graph(), 'ready', 'it is there');
	is(candidates(), "3\n100", 'and asked');
	is(sql($rows), $by_cpu, 'the same graph');
}
sql('CREATE TABLE w AS SELECT i, ARRAY[i % 1000, hashint4(i) % 1000, hashint4(-i) % 1000]::real[] AS x FROM generate_series(1, 70000) i',
	'CREATE INDEX w_x ON w USING genie (x genie_l2_ops (hashes = 2)) WITH (graph = 8)');
fresh('devices 2 cut 100000');
sql("SELECT genie_prewarm('w_x')");
is(levels(), '', 'no GPU of several that have parts of the vectors');
is(graph(), 'ready', 'but the CPU');
sql('DROP TABLE w');
fresh();
wait_until($node, q{SELECT (SELECT count(*) FROM genie_search('v_x', ARRAY[vec(3)], 3)) = 3 AND EXISTS (SELECT FROM genie_images() WHERE contents = 'graph' AND state = 'ready')});
is(levels(), '0 20000;', 'a loader has it built, too');

# ---- meanwhile ----

# A session asks for the graph while the GPU does not end what it does.
sub begin_build
{
	my ($settings) = @_;
	fresh('');
	sql("SELECT genie_prewarm('s_x')");
	order('hold');
	my $session = start_sql($node, "$settings SELECT genie_prewarm('v_x')");
	wait_until($node, q{SELECT worker_state = 'counting' FROM genie_stat});
	return $session;
}
my $session = begin_build('');
is(sql($other), $others, 'another index is asked meanwhile');
is(graph(), 'loading', 'the graph is not there yet');
order('');
finish_sql($session);
is($session->{err} // '', '', 'it comes');
is(graph(), 'ready', 'it is there now');
is(sql($rows), $by_cpu, 'the same as ever');

# ---- ends early ----

$session = begin_build('SET statement_timeout = 500;');
finish_sql($session);
like($session->{err}, qr/canceling statement due to statement timeout/, 'a timeout is heard while the level is made');
isnt(graph(), 'ready', 'no graph');
is(levels(), '', 'nor a level');
order('');
wait_until($node, q{SELECT worker_state = 'idle' FROM genie_stat});
is(said("SELECT genie_prewarm('v_x')"), '', 'the next one builds it');
is(sql($rows), $by_cpu, 'the same');

$session = begin_build('');
sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%genie_prewarm%' AND pid <> pg_backend_pid()});
finish_sql($session);
like($session->{err}, qr/terminating connection due to administrator command/, 'the session ends while its level is made');
order('');
is(sql($other), $others, 'others are asked');
wait_until($node, q{SELECT worker_state = 'idle' FROM genie_stat});
is(said("SELECT genie_prewarm('v_x')"), '', 'the next one builds it');
is(sql($rows), $by_cpu, 'the same');

foreach my $failure ('retry', 'no_room', 'lost')
{
	fresh('');
	sql("SELECT genie_prewarm('s_x')");
	order("$failure once");
	is(said("SELECT genie_prewarm('v_x')"), '', "$failure: the session builds it");
	is(levels(), '', "$failure: the GPU does not");
	is(graph(), 'ready', "$failure: it is there");
	wait_until($node, q{SELECT worker_state = 'idle' FROM genie_stat});
	is(sql($rows), $by_cpu, "$failure: the same");
}

# ---- a loader gives way ----

fresh('');
sql("SELECT genie_prewarm('s_x')");
order('hold');
start_sql($node, q{SELECT count(*) FROM genie_search('v_x', ARRAY[vec(3)], 3)});
wait_until($node, q{SELECT EXISTS (SELECT FROM genie_images() WHERE contents = 'graph' AND state = 'loading') AND worker_state = 'counting' FROM genie_stat});
is(said("SET lock_timeout = '5s'; ALTER INDEX v_x RENAME TO v_y"), '', 'who wants the index has it at once');
order('');
sql('ALTER INDEX v_y RENAME TO v_x');

# ---- the worker is killed ----

$session = begin_build('');
kill 'KILL', sql('SELECT worker_pid FROM genie_stat');
order('');
finish_sql($session);
$node->poll_query_until('postgres', q{SELECT worker_state = 'idle' FROM genie_stat}) or die 'the server does not come back';
is(said("SELECT genie_prewarm('v_x')"), '', 'built after a crash of the worker');
is(sql($rows), $by_cpu, 'the same');
$node->stop;
done_testing();
