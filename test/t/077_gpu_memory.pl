# 512 queries in a call with 64 MB of GPU memory, and with less than any scan needs: they are cut into passes that fit, or the CPU
# does them, with the same rows.  Without a GPU (test/gpu runs this with one) the worker's CPU engine is compared with sessions that
# count themselves.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Utils;
use Test::More;

my ($engine) = ($ENV{GENIE_TEST_CONF} // '') =~ /(genie\.engine = \w+)/;
my $node = genie_node('memory', conf => worker_settings("genie.gpu_memory = '64MB'", 'genie.shared_memory = 64MB', $engine // ()));
sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(<<'SQL');
CREATE EXTENSION genie;
SELECT genie_create_metric('plain', 'genie_edit_distance(text, text)', '<~~>', 0);
CREATE FUNCTION word(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT substr(md5((i / 4)::text), 1, 3 + i % 7) $$;
CREATE TABLE t (id int PRIMARY KEY, x text, v real[], s int[]);
INSERT INTO t SELECT i, word(i), ARRAY(SELECT (hashint4(i * 16 + d) % 1000)::real FROM generate_series(1, 16) d), ARRAY(SELECT abs(hashint4(i * 16 + d)) % 500 FROM generate_series(1, 8) d)
	FROM generate_series(1, 20000) i;
CREATE INDEX t_metric ON t USING genie (x genie_plain_ops);
CREATE INDEX t_text ON t USING genie (x genie_edit_exact_ops);
CREATE INDEX t_l2 ON t USING genie (v genie_l2_exact_ops);
CREATE INDEX t_set ON t USING genie (s);
VACUUM ANALYZE t;
CREATE FUNCTION found(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(f::text, '';'' ORDER BY f::text)) FROM (%s) f', command) INTO result;
	RETURN result;
END $$;
SQL

# name => [a call, and the distances of its first query by a sequential scan]
my %calls = (
	t_metric => [ q{genie_search('t_metric', ARRAY(SELECT word(i * 37) FROM generate_series(1, 512) i), 40)}, q{SELECT x <~~> word(37) FROM t ORDER BY 1 LIMIT 40} ],
	t_text => [ q{genie_search('t_text', ARRAY(SELECT word(i * 37) FROM generate_series(1, 512) i), 40)}, q{SELECT genie_edit_distance(x, word(37)) FROM t ORDER BY 1 LIMIT 40} ],
	t_l2 => [ q{genie_search('t_l2', ARRAY(SELECT v FROM t WHERE id % 37 = 5 AND id / 37 < 512 ORDER BY id), 40)}, q{SELECT v <-> (SELECT v FROM t WHERE id = 5) FROM t ORDER BY 1 LIMIT 40} ],
	t_set => [ q{genie_search('t_set', ARRAY(SELECT genie_query(s) FROM t WHERE id % 37 = 5 AND id / 37 < 512 ORDER BY id), 40)} ],
	t_metric_within => [ q{genie_within('t_metric', ARRAY(SELECT word(i * 37) FROM generate_series(1, 512) i), array_fill(2.0::float8, ARRAY[512]))}, q{SELECT x <~~> word(37) AS d FROM t WHERE genie_edit_distance(x, word(37)) <= 2} ]);

my %alone;
foreach my $name (sort keys %calls)
{
	$alone{$name} = sql("SET genie.worker = off; SELECT found(\$\$SELECT * FROM $calls{$name}[0]\$\$)");
	like($alone{$name}, qr/^\d{4,} /, "$name finds rows");
}

sub same
{
	my ($when) = @_;
	foreach my $name (sort keys %calls)
	{
		my ($call, $sequence) = @{ $calls{$name} };
		is(sql("SELECT found(\$\$SELECT * FROM $call\$\$)"), $alone{$name}, "$name: the same rows, $when");
		is(sql("SELECT string_agg(distance::text, ' ' ORDER BY distance) FROM $call WHERE query = 1"),
			sql("SELECT string_agg(d::float8::text, ' ' ORDER BY d) FROM ($sequence) AS s (d)"), "$name: as a sequential scan has them, $when") if $sequence;
	}
	return;
}

sql("SELECT genie_prewarm('$_')") foreach qw(t_metric t_text t_l2 t_set);
same('64 MB');
foreach my $less ('4MB', '64kB')
{
	$node->append_conf('postgresql.conf', "genie.gpu_memory = '$less'");
	$node->reload;
	wait_until($node, "SELECT current_setting('genie.gpu_memory') = '$less'");
	same($less);
}
is(stat_of($node, 'worker_starts'), 1, 'the worker has not started again');
$node->stop;
done_testing();
