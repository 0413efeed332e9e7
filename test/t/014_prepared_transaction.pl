# Rows of a prepared transaction: in the index from the start, visible from COMMIT PREPARED on, also after a crash.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('prepared', conf => "max_prepared_transactions = 10\n");
my $ids = q{SET enable_seqscan = off; SELECT array_agg(id ORDER BY id) FROM t WHERE a @& genie_query('{400}'::int[])};

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION genie;
CREATE TABLE t (id int, a int[]);
INSERT INTO t SELECT i, ARRAY[i % 7, 100 + i % 5] FROM generate_series(1, 1000) i;
INSERT INTO t VALUES (2000, '{400}');
CREATE INDEX t_a ON t USING genie (a);
BEGIN;
INSERT INTO t VALUES (4000, '{400}');
DELETE FROM t WHERE id = 2000;
PREPARE TRANSACTION 'one';
BEGIN;
INSERT INTO t VALUES (5000, '{400}');
PREPARE TRANSACTION 'two';
SQL
is($node->safe_psql('postgres', $ids), '{2000}', 'prepared changes are not visible');
$node->safe_psql('postgres', q{SELECT genie_merge('t_a')});
is($node->safe_psql('postgres', $ids), '{2000}', 'nor after a merge');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $ids), '{2000}', 'nor after a crash');
$node->safe_psql('postgres', q{COMMIT PREPARED 'one'});
is($node->safe_psql('postgres', $ids), '{4000}', 'they are after COMMIT PREPARED');
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'two'});
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP on) t');
is($node->safe_psql('postgres', $ids), '{4000}', 'what was rolled back is not');
is($node->safe_psql('postgres', q{SELECT count(*) FROM genie_check('t_a')}), '0', 'genie_check is clean');
is($node->safe_psql('postgres', q{SELECT objects - tombstones + pending_rows FROM genie_index_info('t_a')}), '1001',
	'rows that were rolled back or deleted are gone from the index');

$node->stop;
done_testing();
