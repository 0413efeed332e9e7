# genie_exact_knn() on more rows than the SQL test has.  It can be cancelled.  Its answers are the same when a GPU estimates (the
# fake engine, test/engine), whatever happens to that GPU meanwhile.  Where GENIE_DATA names the folder of the real tables, the
# 100 nearest of each of 1,000 SIFT descriptors are compared with those that another program found.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('exact_knn');
my ($cuda, $library) = fake_engine();
my $gpu = genie_node('exact_knn_gpu', conf => worker_settings($cuda, $library));

$_->safe_psql('postgres', <<'SQL') foreach $node, $gpu;
CREATE EXTENSION genie;
CREATE TABLE t (id int, v real[]);
INSERT INTO t SELECT i, ARRAY(SELECT (hashint8extended(i::bigint * 64 + j, 7) % 1000)::real FROM generate_series(1, 64) j) FROM generate_series(1, 20000) i;
CREATE INDEX t_v ON t USING genie (v) WHERE id > 0;
SQL

# seconds without an interrupt
my ($status, $out, $err) = $node->psql('postgres', q{SET statement_timeout = '1s'; SELECT count(*) FROM genie_exact_knn('t_v', (SELECT array_agg(t.v) FROM t, generate_series(1, 4)), 100, 'l1')});
like($err, qr/canceling statement due to statement timeout/, 'a call can be cancelled');

is($node->safe_psql('postgres', <<'SQL'), '0', 'the nearest to some rows, the order of a sequential scan');
SET enable_indexscan = off;
WITH wanted AS (SELECT id AS query, (SELECT v FROM t WHERE t.id = n.id * 900) AS q FROM generate_series(1, 20) AS n (id)),
	exact AS (SELECT query, row_number() OVER (PARTITION BY query ORDER BY o) AS rank, tid, distance
		FROM genie_exact_knn('t_v', (SELECT array_agg(q ORDER BY query) FROM wanted), 50, 'cosine') WITH ORDINALITY AS e (query, tid, distance, o)),
	plain AS (SELECT query, row_number() OVER (PARTITION BY query ORDER BY distance, tid) AS rank, tid, distance
		FROM wanted, LATERAL (SELECT t.ctid AS tid, v <=> q AS distance FROM t ORDER BY 2, 1 LIMIT 50) s)
SELECT count(*) FROM exact FULL JOIN plain USING (query, rank) WHERE (exact.tid, exact.distance) IS DISTINCT FROM (plain.tid, plain.distance);
SQL

# ---- by a GPU ----

# The answer as a checksum; queries: rows whose number is a multiple of `each`, as arrays of that type.
sub answer
{
	my ($type, $metric, %option) = @_;
	my ($index, $k, $each) = ($option{index} // 't_v', $option{k} // 20, $option{each} // 300);
	return "SELECT count(*) || ' ' || md5(string_agg(format('%s %s %s', query, tid, distance), ' ' ORDER BY o))
		FROM genie_exact_knn('$index', (SELECT array_agg(v ORDER BY id) FROM t WHERE id % $each = 0)::$type\[], $k, '$metric') WITH ORDINALITY AS e (query, tid, distance, o)";
}

# What the engine was told to estimate since then: pairs of numbers, of queries and rows.
sub estimated
{
	my ($from) = @_;
	return map { /^nearest (\d+) (\d+)$/ ? [ $1, $2 ] : () } told($from);
}

sub sum { my $sum = 0; $sum += $_ foreach @_; return $sum; }

# Asks for the same with and without the worker; returns what the engine was told meanwhile.
sub same
{
	my ($what, $sql) = @_;
	my $told = told();
	my $by_gpu = $gpu->safe_psql('postgres', $sql);
	is($by_gpu, $gpu->safe_psql('postgres', "SET genie.worker = off; $sql"), "$what: the same rows");
	return estimated($told);
}

wait_until($gpu, "SELECT engine = 'fake' AND worker_state = 'idle' FROM genie_stat");
foreach my $type ('real', 'float8')
{
	foreach my $metric ('l2', 'l1', 'cosine', 'ip')
	{
		my $before = stat_of($gpu, 'answered_by_gpu');
		my @panels = same("$metric of $type\[] by a GPU", answer($type, $metric));
		is(stat_of($gpu, "answered_by_gpu - $before"), scalar(@panels), 'which genie_stat counts');
		cmp_ok(sum(map { $_->[1] } @panels), '>', 17000, 'most rows went by the GPU');
		is(scalar(grep { $_->[0] != 66 } @panels), 0, 'for all queries at a time');
	}
}
is(scalar(same('few queries', answer('real', 'l2', each => 1000))), 0, 'few queries: the GPU is not asked');

# queries that do not fit a part of a request; of a part of the rows, for the GPU is a fake
$gpu->safe_psql('postgres', 'CREATE INDEX t_few ON t USING genie (v) WHERE id <= 3000');
my @parts = same('many queries', answer('real', 'l2', index => 't_few', each => 20, k => 3));
is(sum(map { $_->[0] } @parts[ 0, 1 ]), 1000, 'in two parts');
is($parts[0][1], $parts[1][1], 'of the same rows');

# ---- it finds more than there is room for ----

order('little once');
my @panels = same('one panel of too many pairs', answer('real', 'l2'));
cmp_ok(scalar(@panels), '>', 1, 'the GPU is asked for later ones');
order('little');
@panels = same('too many pairs', answer('real', 'l2'));
cmp_ok(scalar(@panels), '<', 6, 'it is asked less and less');

# ---- it fails ----

foreach my $failure ('retry', 'no_room')
{
	order("$failure once");
	my $before = stat_of($gpu, 'fallback_failed');
	is(scalar(same("a $failure", answer('real', 'cosine'))), 0, 'the GPU is not asked again in that call');
	is(stat_of($gpu, "fallback_failed - $before"), 1, 'and it is counted');
}

my $sql = answer('real', 'l1');
my $right = $gpu->safe_psql('postgres', "SET genie.worker = off; $sql");

# Does that while a call waits for the GPU, which goes on without it.
sub without
{
	my ($what, $words, $do) = @_;
	my $pid = stat_of($gpu, 'worker_pid');
	order($words);
	my $call = start_sql($gpu, $sql);
	wait_for_waiting($gpu, 1);
	$do->($pid);
	ok(finish_sql($call), "$what in the middle of a call") or diag($call->{err});
	is($call->{out}, "$right\n", "$what: the same rows");
	order('');
	wait_until($gpu, "SELECT engine = 'fake' AND worker_state = 'idle' AND worker_pid <> $pid FROM genie_stat");
	return;
}

without('a lost device', 'slow 700 lost once', sub { });
without('a worker that ends', 'slow 20000', sub { kill 'TERM', $_[0] });
cmp_ok(scalar(same('afterwards', $sql)), '>', 1, 'the GPU is asked again');

# the memory of requests has room for some of these: the others' panels are estimated where they are
order('slow 2000 once');
my $no_room = stat_of($gpu, 'fallback_no_room');
my @calls = map { start_sql($gpu, $sql) } 1 .. 6;
ok(finish_sql($_), 'one of many calls') or diag($_->{err}) foreach @calls;
is($_->{out}, "$right\n", 'has its rows') foreach @calls;
cmp_ok(stat_of($gpu, 'fallback_no_room'), '>', $no_room, 'though there was no room for all');

order('slow 20000');
($status, $out, $err) = $gpu->psql('postgres', "SET statement_timeout = '1s'; $sql");
like($err, qr/canceling statement due to statement timeout/, 'a call that waits for the GPU can be cancelled');
order('');
wait_until($gpu, "SELECT worker_state = 'idle' FROM genie_stat");
cmp_ok(scalar(same('after that', $sql)), '>', 1, 'the GPU is asked again');
$gpu->stop;

# ---- real data ----

SKIP:
{
	my $folder = $ENV{GENIE_DATA} // '';
	skip('no sift100k: GENIE_DATA names no folder that has it', 2) unless -r "$folder/sift100k.tsv.gz";
	my %columns = (sift100k => 'id int, v real[]', sift100k_query => 'qid int, v real[]', sift100k_gt => 'qid int, ids int[], squares int[]');
	$node->safe_psql('postgres', "CREATE TABLE $_ ($columns{$_});\n\\copy $_ FROM PROGRAM 'zcat $folder/$_.tsv.gz'\n") for sort keys %columns;
	$node->safe_psql('postgres', 'CREATE INDEX sift100k_v ON sift100k USING genie (v)');
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE found AS SELECT query - 1 AS qid, row_number() OVER (PARTITION BY query ORDER BY o) AS rank, tid, distance
	FROM genie_exact_knn('sift100k_v', (SELECT array_agg(v ORDER BY qid) FROM sift100k_query), 100, 'l2') WITH ORDINALITY AS e (query, tid, distance, o);
SQL
	is($node->safe_psql('postgres', 'SELECT count(*), count(*) FILTER (WHERE squares[rank] = round(distance ^ 2)) FROM found JOIN sift100k_gt USING (qid)'),
		'100000|100000', 'the distances are those of the ground truth');
	# rows of equal distance may be others
	is($node->safe_psql('postgres', 'SELECT count(*) FROM found JOIN sift100k ON sift100k.ctid = tid JOIN sift100k_gt USING (qid) WHERE id <> ALL (ids) AND squares[100] <> round(distance ^ 2)'),
		'0', 'so are the rows');
}

done_testing();
