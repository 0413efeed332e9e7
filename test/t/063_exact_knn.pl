# genie_exact_knn() on more rows than the SQL test has: it can be cancelled, and where GENIE_DATA names the folder of the real tables, the 100
# nearest of each of 1,000 SIFT descriptors are those that another program found.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('exact_knn');

$node->safe_psql('postgres', <<'SQL');
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
