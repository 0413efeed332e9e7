# Rows that have at most one value a dimension are counted by posting lists or by bit lanes: the same rows either way, and
# genie_stat tells which it was.
#
# The oracle counts each row in SQL.  Tables that are too large for that are compared between the two ways.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my $node = genie_node('kernels', conf => worker_settings('genie.cpu_threads = 3'));
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION genie;
SELECT setseed(0.49);
CREATE TABLE t (id int, a int, b text, c int, d int, e int, f int);
INSERT INTO t SELECT i, NULLIF((random() ^ 2 * 90)::int, 3), 'kind ' || (random() ^ 3 * 12)::int, NULLIF((random() * 4)::int, 1), (random() * 700)::int, (random() * 60)::int, i % 20
	FROM generate_series(1, 20000) i;
CREATE INDEX t_x ON t USING genie (genie_tuple(a, b, c, d, e, f));

-- values, ranges, lists of values, what is not there, and no criterion at all
CREATE TABLE q AS SELECT i, CASE i % 6
		WHEN 0 THEN genie_tuple_query(i % 90, 'kind ' || i % 12, i % 5, i % 700, i % 60, i % 20)
		WHEN 1 THEN genie_tuple_query(int4range(i % 80, i % 80 + 15), ARRAY['kind 1', 'kind ' || i % 12], NULL, int4range(i, i + 100))
		WHEN 2 THEN genie_tuple_query(NULL, 'kind 0', i % 5, NULL)
		WHEN 3 THEN genie_tuple_query(ARRAY[1, 2, 5, 8, i % 90], NULL, int4range(0, 3), ARRAY[int4range(0, 200), int4range(500, NULL)])
		WHEN 4 THEN genie_tuple_query(1000 + i, 'no such', NULL, NULL)
		ELSE genie_tuple_query(int4range(NULL, NULL), NULL, i % 5, NULL) END AS q
	FROM generate_series(1, 700) i;
ANALYZE q;

CREATE FUNCTION batch(n int, k int) RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(concat_ws(' ', s.query, s.tid, s.match_count), ',' ORDER BY s.n))
	FROM genie_search('t_x', (SELECT array_agg(q ORDER BY i) FROM q WHERE i <= batch.n), batch.k) WITH ORDINALITY AS s (query, tid, match_count, n) $$;
CREATE FUNCTION plain(n int, k int) RETURNS text LANGUAGE sql SET enable_indexscan = off AS $$
	SELECT md5(string_agg(concat_ws(' ', i, tid, match_count), ',' ORDER BY i, match_count DESC, tid))
	FROM (SELECT * FROM q WHERE i <= plain.n OFFSET 0) q,
		LATERAL (SELECT ctid AS tid, genie_match_count(genie_tuple(a, b, c, d, e, f), q.q) AS match_count FROM t ORDER BY 2 DESC, 1 LIMIT plain.k) s $$;
SQL

my $chosen = {auto => qr/^\d+ queries, [0-9.]+ ?[MG]? postings: (?!.*\(as set\))/, tiles => qr/: tiles \(as set\), /, lanes => qr/: bit lanes \(as set\), /};

sub choice { return $node->safe_psql('postgres', q{SELECT last_choice FROM genie_costs() WHERE engine = 'cpu'}); }

# Sets genie.kernels; then there has been a batch that was counted so.
sub set_kernels
{
	my ($kernels) = @_;
	$node->append_conf('postgresql.conf', "genie.kernels = $kernels\n");
	$node->reload;
	foreach (1 .. 100)
	{
		$node->safe_psql('postgres', 'SELECT batch(3, 3)');
		last if choice() =~ $chosen->{$kernels};
	}
	like(choice(), $chosen->{$kernels}, "genie.kernels = $kernels: genie_costs says what was chosen, and why");
	return;
}

# Asks the same in each way; returns what was the same.
sub check_all
{
	my ($when) = @_;
	my $plain = $node->safe_psql('postgres', 'SELECT plain(30, 40)');
	my %batches;
	foreach my $kernels ('tiles', 'lanes', 'auto')
	{
		set_kernels($kernels);
		my @before = split /\|/, stat_of($node, 'counted_by_tiles, counted_by_lanes');
		is($node->safe_psql('postgres', 'SELECT batch(30, 40)'), $plain, "$kernels: the rows that counting gives, $when");
		$batches{$node->safe_psql('postgres', 'SELECT batch(700, 5), batch(700, 300), batch(2, 30000)')} = 1;
		my @after = split /\|/, stat_of($node, 'counted_by_tiles, counted_by_lanes');
		is($after[0] > $before[0], $kernels ne 'lanes', "$kernels: tiles count or do not, $when") if $kernels ne 'auto';
		is($after[1] > $before[1], $kernels ne 'tiles', "$kernels: lanes count or do not, $when") if $kernels ne 'auto';
		cmp_ok($after[0] + $after[1], '>', $before[0] + $before[1], "$kernels: one of them counts, $when");
	}
	is(scalar(keys %batches), 1, "large batches and long pages are the same each way, $when");
	return;
}

wait_until($node, "SELECT count(*) = 1 FROM genie_costs() WHERE costs IS NOT NULL");
like($node->safe_psql('postgres', q{SELECT costs FROM genie_costs() WHERE engine = 'cpu'}), qr/posting [0-9.e-]+.*row of \d+ lanes/, 'the worker measured what counting costs when it started');
is(stat_of($node, q{NOT EXISTS (SELECT FROM genie_costs() WHERE engine = 'gpu') AND counted_by_tensor_cores = 0}), 't', 'there is no GPU');
check_all('of one segment');
$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 3 = 0');
$node->safe_psql('postgres', 'VACUUM t');
$node->safe_psql('postgres', "INSERT INTO t SELECT i, i % 90, 'kind 1', 2, i % 700, i % 60, i % 20 FROM generate_series(1, 5000) i");
$node->safe_psql('postgres', "SELECT genie_merge('t_x')");
check_all('of several segments with dead rows');
is($node->safe_psql('postgres', "SELECT count(*) FROM genie_check('t_x')"), 0, 'the index is sound');

my ($status, $out, $error) = $node->psql('postgres', "ALTER SYSTEM SET genie.kernels = 'tile'");
like($error, qr/invalid value for parameter "genie.kernels": "tile"/, 'other settings are refused');
like($error, qr/HINT:  Available values: auto, tiles, lanes\./, 'and the error says which there are');
done_testing();
