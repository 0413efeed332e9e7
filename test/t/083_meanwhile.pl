# Without a GPU: small requests do not wait for a large batch, which ends all the same, and both have their rows.
#
# Beside GPUs: t/081.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my $node = genie_node('meanwhile', conf => "shared_preload_libraries = genie\ngenie.engine = cpu\ngenie.shared_memory = 128MB\ngenie.max_batch = 8192\n");
sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(<<'SQL');
CREATE EXTENSION genie;
CREATE TABLE t (id int, s int[]);
INSERT INTO t SELECT i, ARRAY(SELECT abs(hashint4(i * 32 + d)) % 300 FROM generate_series(1, 20) d) FROM generate_series(1, 300000) i;
CREATE INDEX t_s ON t USING genie (s);
CREATE TABLE little (id int, v real[]);
INSERT INTO little SELECT i, ARRAY[i % 10, 10 + i % 7, i % 13] FROM generate_series(1, 2000) i;
CREATE INDEX little_v ON little USING genie (v genie_l2_ops (hashes = 32));
VACUUM ANALYZE t;
VACUUM ANALYZE little;
CREATE FUNCTION found(n int) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || md5(string_agg(f::text, ';' ORDER BY query, match_count DESC, tid))
	FROM genie_search('t_s', ARRAY(SELECT genie_query(s) FROM t WHERE id <= n ORDER BY id), 10) f $$;
CREATE FUNCTION near(k int) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(f::text, ';' ORDER BY distance, tid) FROM genie_search('little_v', '{3,11,5}'::real[], k) f $$;
SQL
my $little = 'SELECT near(20)';
my ($little_alone, $alone) = map { sql("SET genie.worker = off; $_") } $little, 'SELECT found(4000)';
sql("SELECT genie_prewarm('t_s') + genie_prewarm('little_v')");
my $by = 'SELECT answered_by_worker_cpu, worker_state FROM genie_stat';

foreach my $threads (1, 3)
{
	sql("ALTER SYSTEM SET genie.cpu_threads = $threads");
	sql('ALTER SYSTEM SET genie.max_batch = 1024') if $threads == 3;
	sql('SELECT pg_reload_conf()');
	is(sql($little), $little_alone, "$threads threads: alone");
	my (@large, $in_time);
	for (1 .. 10)	# a batch may end before the session here has begun
	{
		@large = map { start_sql($node, 'SELECT found(4000)') } 1 .. 2;	# one of them waits
		wait_until($node, "SELECT worker_state = 'counting' FROM genie_stat");
		my @out = split /\n/, sql("$by; $little; $little; $by");
		my ($before, $then) = map { [split /\|/] } @out[0, 3];
		is("@out[1, 2]", "$little_alone $little_alone", "$threads threads: while a batch is counted");
		$in_time = $then->[0] - $before->[0] == 2 && $then->[1] eq 'counting';
		last if $in_time;
		finish_sql($_) foreach @large;
	}
	ok($in_time, "$threads threads: small ones are answered before it ends");

	# others in the way: equally large ones wait, many small ones do not keep it from ending, and one is cancelled while it waits
	my @others = map { start_sql($node, "SELECT found(4000) AS large_$_") } 1 .. 2;
	my @small = map { start_sql($node, "SELECT count(*), count(DISTINCT n) FROM (SELECT near(20) AS n FROM generate_series(1, 200)) s") } 1 .. 4;
	wait_until($node, "SELECT count(*) >= 2 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%found(4000) AS large%' AND pid <> pg_backend_pid()");
	sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%AS large_2' AND pid <> pg_backend_pid()});
	foreach my $session (@large)
	{
		ok(finish_sql($session), "$threads threads: a large one ends") or diag($session->{err});
		is($session->{out}, "$alone\n", "$threads threads: with its rows");
	}
	foreach my $one (@small)
	{
		finish_sql($one);
		is($one->{out}, "200|1\n", "$threads threads: small ones");
	}
	finish_sql($others[0]);
	is($others[0]->{out}, "$alone\n", "$threads threads: one that waited");
	finish_sql($others[1]);
	like($others[1]->{err}, qr/canceling statement due to user request/, "$threads threads: the other was cancelled");
	is(sql($little), $little_alone, "$threads threads: afterwards");
}

# the server stops in the middle
my $session = start_sql($node, 'SELECT found(4000)');
wait_until($node, "SELECT worker_state = 'counting' FROM genie_stat");
$node->stop('fast');
finish_sql($session);
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|was terminated by signal/, 'the server stops while there is something to do');
done_testing();
