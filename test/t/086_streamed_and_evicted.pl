# While an index that is larger than the GPU's memory is counted in pieces, others' images come and go; rows are the same.
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
my $node = genie_node('evicted', conf => worker_settings($cuda, $library, 'genie.shared_memory = 96MB', 'genie.cpu_threads = 1', 'genie.image = full', 'genie.autoprewarm = off'));
sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(<<'SQL');
CREATE EXTENSION genie;
CREATE TABLE t (id int, s int[]);
INSERT INTO t SELECT i, ARRAY(SELECT abs(hashint4(i * 32 + d)) % 300 FROM generate_series(1, 20) d) FROM generate_series(1, 300000) i;
CREATE TABLE u AS SELECT id, s FROM t WHERE id <= 140000;
CREATE TABLE w AS SELECT id, s FROM t WHERE id > 160000;
CREATE INDEX t_s ON t USING genie (s);
CREATE INDEX u_s ON u USING genie (s);
CREATE INDEX w_s ON w USING genie (s);
VACUUM ANALYZE t, u, w;
CREATE FUNCTION found(i regclass, n int) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || md5(string_agg(f::text, ';' ORDER BY query, match_count DESC, tid))
	FROM genie_search(i, ARRAY(SELECT genie_query(s) FROM t WHERE id <= n ORDER BY id), 10) f $$;
SQL
my %alone = map { $_ => sql("SET genie.worker = off; SELECT found('$_', 20)") } qw(u_s w_s);
$alone{t_s} = sql(q{SET genie.worker = off; SELECT found('t_s', 400)});

# room for t's image and one more
sql(qq{SELECT genie_prewarm('$_')}) foreach qw(t_s u_s w_s);
my %bytes = map { split /\|/ } split /\n/, sql('SELECT index::regclass, sum(bytes) FROM genie_images() GROUP BY 1');
is(join(' ', sort keys %bytes), 't_s u_s w_s', 'all images have room at first');
$node->append_conf('postgresql.conf', 'genie.shared_memory = ' . int(($bytes{t_s} + 1.5 * $bytes{u_s}) / 1024) . 'kB');
$node->restart;
wait_until($node, q{SELECT engine = 'fake' AND worker_state = 'idle' FROM genie_stat});
sub images { return sql(q{SELECT string_agg(index::regclass::text, ' ' ORDER BY index::regclass::text) FROM genie_images() WHERE state = 'ready'}); }
sql(qq{SELECT genie_prewarm('$_')}) foreach qw(t_s u_s);
is(images(), 't_s u_s', 'then two of them');

order('memory ' . int(0.8 * $bytes{t_s}) . ' hold');
my $held = start_sql($node, q{SELECT found('t_s', 400)});
wait_until($node, q{SELECT worker_state = 'counting' FROM genie_stat});
foreach my $next ('w_s', 'u_s', 'w_s')
{
	sql("SELECT genie_prewarm('$next')");
	is(images(), join(' ', sort('t_s', $next)), "$next takes the place of what is not counted");
	is(sql("SET genie.worker = off; SELECT found('$next', 20)"), $alone{$next}, 'whose rows are the same');
}
order('memory ' . int(0.8 * $bytes{t_s}));
finish_sql($held);
is($held->{out}, "$alone{t_s}\n", 'what is counted in pieces keeps its image and its rows');
cmp_ok(sql('SELECT streamed_bytes FROM genie_devices()'), '>', 0.9 * $bytes{t_s}, 'it was streamed');
foreach my $i (qw(u_s w_s u_s))
{
	is(sql("SELECT found('$i', 20)"), $alone{$i}, "$i: the same rows by the worker");
}

# its own image goes, too
is(sql(q{SELECT found('t_s', 400)}), $alone{t_s}, 'once more');
sql('REINDEX INDEX t_s');
is(sql(q{SELECT found('t_s', 400)}), $alone{t_s}, 'and after a REINDEX, whose image is another one');
$node->stop;
done_testing();
