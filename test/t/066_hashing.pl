# Vectors that are hashed together: rows of genie_search(), and indexes that are built, are the same when a GPU hashes the vectors
# (the fake engine, test/engine), whatever happens to that GPU meanwhile.

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
my $node = genie_node('hashing', conf => worker_settings($cuda, $library));

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION genie;
CREATE TABLE t (id int, v real[]);
INSERT INTO t SELECT i, array_agg((hashint8extended(i % 300 * 64 + j, 7) % 1000 + hashint8extended(i * 64 + j, 8) % 300)::real ORDER BY j) FROM generate_series(1, 3000) i, generate_series(1, 32) j GROUP BY i;
CREATE INDEX t_l2 ON t USING genie (v genie_l2_ops (hashes = 192));
CREATE INDEX t_l1 ON t USING genie (v genie_l1_ops (hashes = 192));
CREATE INDEX t_bins ON t USING genie (v genie_laplacian_ops (hashes = 192));
CREATE INDEX t_cosine ON t USING genie (v genie_cosine_ops (hashes = 192, signs, bits = 2));
CREATE INDEX t_double ON t USING genie ((v::float8[]) genie_l2_float8_ops (hashes = 192));
SQL
wait_until($node, "SELECT engine = 'fake' AND worker_state = 'idle' FROM genie_stat");

# The answer as a checksum; queries: so many of the rows.
sub answer
{
	my ($index, %option) = @_;
	my ($n, $type) = ($option{n} // 800, $option{type} // 'real');
	return "SET genie.candidates = 20; SELECT count(*) || ' ' || md5(string_agg(format('%s %s %s', query, tid, distance), ' ' ORDER BY o))
		FROM genie_search('$index', (SELECT array_agg(v ORDER BY id) FROM t WHERE id <= $n)::$type\[], 3) WITH ORDINALITY s (query, tid, distance, o)";
}

# Asks for the same with and without the worker; returns how many vectors the engine was told to hash meanwhile, request by request.
sub same
{
	my ($what, $sql) = @_;
	my $told = told();
	my $by_gpu = $node->safe_psql('postgres', $sql);
	is($by_gpu, $node->safe_psql('postgres', "SET genie.worker = off; $sql"), "$what: the same rows");
	return map { /^hash (\d+) 192$/ ? $1 : () } told($told);
}

sub sum { my $sum = 0; $sum += $_ foreach @_; return $sum; }

foreach my $index ('t_l2', 't_l1', 't_bins', 't_double')
{
	is(sum(same($index, answer($index, type => $index eq 't_double' ? 'float8' : 'real'))), 800, 'all queries are hashed by the GPU');
}
is(sum(same('t_cosine', answer('t_cosine'))), 800, 'all queries are hashed by the GPU, by two projections a function');
is_deeply([ same('few queries', answer('t_l2', n => 100)) ], [], 'few queries: the GPU is not asked');
is_deeply([ same('one query', answer('t_l2', n => 1)) ], [], 'nor for one');

# a piece takes 1,366 of them, a request less
my @parts = same('many queries', answer('t_l2', n => 3000));
cmp_ok(scalar(@parts), '>=', 4, 'many queries: in parts');
is(sum(@parts), 2 * 1366, 'but for the last few');

# ---- it fails ----

foreach my $failure ('retry', 'no_room')
{
	order("$failure once");
	my $before = stat_of($node, 'fallback_failed');
	is_deeply([ same("a $failure", answer('t_l1')) ], [], 'the GPU is not asked again for these');
	is(stat_of($node, "fallback_failed - $before"), 1, 'and it is counted');
}

my $sql = answer('t_bins');
my $right = $node->safe_psql('postgres', "SET genie.worker = off; $sql");

# Does that while a call waits for the GPU, which goes on without it.
sub without
{
	my ($what, $words, $do) = @_;
	my $pid = stat_of($node, 'worker_pid');
	order($words);
	my $call = start_sql($node, $sql);
	wait_for_waiting($node, 1);
	$do->($pid);
	ok(finish_sql($call), "$what in the middle of a call") or diag($call->{err});
	is($call->{out}, "$right\n", "$what: the same rows");
	order('');
	wait_until($node, "SELECT engine = 'fake' AND worker_state = 'idle' AND worker_pid <> $pid FROM genie_stat");
	return;
}

without('a lost device', 'slow 700 lost once', sub { });
without('a worker that ends', 'slow 20000', sub { kill 'TERM', $_[0] });
is(sum(same('afterwards', $sql)), 800, 'the GPU is asked again');

order('slow 20000');
my ($status, $out, $err) = $node->psql('postgres', "SET statement_timeout = '1s'; $sql");
like($err, qr/canceling statement due to statement timeout/, 'a call that waits for the GPU can be cancelled');
order('');
wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
is(sum(same('after that', $sql)), 800, 'the GPU is asked again');

# ---- builds ----

# What there is of an index that is made so: numbers, and what it finds.
sub built
{
	my ($class, @settings) = @_;
	return $node->safe_psql('postgres', join(' ', map { "SET $_;" } @settings)
		  . "CREATE INDEX t_built ON t USING genie (v $class (hashes = 192)); SET genie.worker = off; SET genie.candidates = 1;
		SELECT objects, keywords, postings FROM genie_index_info('t_built');
		SELECT count(*), sum(distance)::real, md5(string_agg(tid::text, ' ' ORDER BY query)) FROM genie_search('t_built', (SELECT array_agg(v ORDER BY id) FILTER (WHERE v IS NOT NULL) FROM t), 1);
		SELECT * FROM genie_check('t_built'); DROP INDEX t_built");
}

# Builds the same with and without the worker; returns how many vectors the engine was told to hash meanwhile.
sub same_built
{
	my ($what, $class, @settings) = @_;
	my $told = told();
	my $by_gpu = built($class, @settings);
	is($by_gpu, built($class, 'genie.worker = off'), "$what: the same index");
	return sum(map { /^hash (\d+) 192$/ ? $1 : () } told($told));
}

$node->safe_psql('postgres', 'INSERT INTO t SELECT i, NULL FROM generate_series(3001, 3010) i; INSERT INTO t SELECT id + 4000, v FROM t WHERE id <= 3000');
is(same_built("a build by $_", $_), 6000, 'all rows are hashed by the GPU') foreach 'genie_l2_ops', 'genie_l1_ops', 'genie_laplacian_ops', 'genie_cosine_ops';
cmp_ok(same_built('a parallel build', 'genie_l2_ops', 'min_parallel_table_scan_size = 0', 'max_parallel_maintenance_workers = 2', "maintenance_work_mem = '100MB'"), '>', 3000, 'its processes ask the GPU');
is(same_built('a build in little memory', 'genie_l2_ops', "maintenance_work_mem = '1MB'"), 0, 'too few rows at a time: the GPU is not asked');

order('retry once');
is(same_built('a GPU that fails', 'genie_l2_ops'), 0, 'is not asked again by the same build');

my $pid = stat_of($node, 'worker_pid');
order('lost once');
cmp_ok(same_built('a device that is lost', 'genie_laplacian_ops'), '<', 6000, 'rows are hashed without the GPU meanwhile');
wait_until($node, "SELECT engine = 'fake' AND worker_state = 'idle' AND worker_pid <> $pid FROM genie_stat");
order('slow 20000');
($status, $out, $err) = $node->psql('postgres', "SET statement_timeout = '1s'; CREATE INDEX t_built ON t USING genie (v genie_l2_ops (hashes = 192))");
like($err, qr/canceling statement due to statement timeout/, 'a build that waits for the GPU can be cancelled');
order('');
wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
is(same_built('after that', 'genie_l2_ops'), 6000, 'the GPU is asked again');
$node->stop;

done_testing();
