# genie.engine = auto: what is too little for a GPU is counted by the CPU, also while that counts a large batch.  The GPU is the
# fake engine (test/engine), which says what any batch takes.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my (undef, $library) = fake_engine();
order('batch_ns 20000000');
my $node = genie_node('little', conf => worker_settings("genie.engine = 'auto'", $library, 'genie.shared_memory = 96MB', 'genie.cpu_threads = 1', 'genie.max_batch = 8192', 'autovacuum = off'));
sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(<<'SQL');
CREATE EXTENSION genie;
CREATE TABLE t (id int, s int[]);
INSERT INTO t SELECT i, ARRAY(SELECT abs(hashint4(i * 32 + d)) % 300 FROM generate_series(1, 20) d) FROM generate_series(1, 300000) i;
CREATE INDEX t_s ON t USING genie (s);
CREATE TABLE little (id int, s int[]);
INSERT INTO little SELECT id, s FROM t WHERE id <= 2000;
CREATE INDEX little_s ON little USING genie (s);
VACUUM ANALYZE t;
VACUUM ANALYZE little;
CREATE FUNCTION found(tab text, n int) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || md5(string_agg(f::text, ';' ORDER BY query, match_count DESC, tid))
	FROM genie_search((tab || '_s')::regclass, ARRAY(SELECT genie_query(s) FROM t WHERE id <= n ORDER BY id), 10) f $$;
SQL
my %alone = map { $_ => sql("SET genie.worker = off; SELECT found($_)") } (q('little', 3), q('t', 300), q('t', 8000));
sql(q{SELECT genie_prewarm('t_s') + genie_prewarm('little_s')});
my $by = q{SELECT answered_by_gpu, answered_by_worker_cpu, worker_state FROM genie_stat};

sub grown
{
	my ($call) = @_;
	my @out = split /\n/, sql("$by; SELECT found($call); $by");
	my ($before, $then) = map { [split /\|/] } @out[0, 2];
	is($out[1], $alone{$call}, "found($call): the same rows");
	return join(' ', map { $then->[$_] - $before->[$_] } 0, 1);
}
is(grown(q('little', 3)), '0 3', 'a little is counted by the CPU');
like(sql(q{SELECT count(*) FROM genie_search('little_s', ARRAY[genie_query('{1,2}'::int[])], 3); SELECT fallback_reasons FROM genie_last_scan()}), qr/^3\n.*the GPU leaves it to the CPU/, 'which a session sees');
is(grown(q('t', 300)), '300 0', 'more is counted by the GPU');

# the CPU counts what the GPU has no room for; a GPU that has nothing to do gets nothing that is too little for it
order('batch_ns 20000000 memory 1');
my $in_time;
for (1 .. 10)	# a batch may end before the session here has begun
{
	my $large = start_sql($node, q{SELECT found('t', 8000)});
	wait_until($node, "SELECT worker_state = 'counting' FROM genie_stat");
	my @out = split /\n/, sql(qq{$by; SELECT found('little', 3); $by});
	my ($before, $then) = map { [split /\|/] } @out[0, 2];
	is($out[1], $alone{q('little', 3)}, 'meanwhile: the same rows');
	$in_time = $then->[1] - $before->[1] == 3 && $then->[2] eq 'counting';
	ok(finish_sql($large), 'the large one ends') or diag($large->{err});
	is($large->{out}, $alone{q('t', 8000)} . "\n", 'with its rows');
	last if $in_time;
}
ok($in_time, 'a little is counted before a large batch of the CPU ends');

order('batch_ns 20000000');
$node->safe_psql('postgres', "ALTER SYSTEM SET genie.engine = 'cuda'");
sql('SELECT pg_reload_conf()');
wait_until($node, q{SELECT current_setting('genie.engine') = 'cuda'});
is(grown(q('little', 3)), '3 0', 'genie.engine = cuda: all is counted by the GPU');
done_testing();
