# Indexes that are not in WAL, after a crash.  An index built under wal_level = minimal in the transaction that made its table was
# written to disk at commit.  An unlogged index is empty and usable.  A temporary index is gone.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('wal_minimal', conf => "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\n");
create_table($node, 100, 0.7);

# ---- wal_level = minimal ----

# built, then also inserted into, merged and vacuumed in a later transaction; skipped WAL is what wal_skip_threshold = 0 enforces
foreach my $way ('plain', 'inserts', 'truncate', 'savepoint', 'later')
{
	my $change = {
		plain => '',
		inserts => 'SELECT add_rows(2500, 0.2); DELETE FROM t WHERE note % 3 = 1;',
		truncate => 'TRUNCATE t; SELECT add_rows(2500, 0.3);',
		savepoint => 'SAVEPOINT a; SELECT add_rows(300, 0.4); REINDEX TABLE t; ROLLBACK TO a; SELECT add_rows(300, 0.5);',
		later => 'COMMIT; SELECT add_rows(2500, 0.6); DELETE FROM t WHERE note % 3 = 1; BEGIN;' }->{$way};
	$node->safe_psql('postgres', <<"SQL");
BEGIN;
DROP TABLE t;
CREATE TABLE t (x int[], n text[], note int);
SELECT add_rows(1500, 0.1);
CREATE INDEX t_x ON t USING genie (x) WITH (pending_limit = 64);
CREATE INDEX t_tuple ON t USING genie (genie_tuple(note % 20, n[1])) WITH (pending_limit = 64);
$change
COMMIT;
SQL
	my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM t');
	$node->stop('immediate');
	$node->start;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), $rows, "the table is there: $way");
	sound($node, "after a crash with wal_level = minimal: $way");
	$node->safe_psql('postgres', 'SELECT add_rows(2500, 0.7)');
	$node->safe_psql('postgres', 'VACUUM t');
	sound($node, "after changes after that crash: $way");
}
$node->safe_psql('postgres', 'REINDEX INDEX t_x; CREATE INDEX t_later ON t USING genie (x)');
$node->stop('immediate');
$node->start;
sound($node, 'after a crash after REINDEX and CREATE INDEX of an old table');

# ---- unlogged and temporary ----

$node->safe_psql('postgres', 'ALTER TABLE t SET UNLOGGED; SELECT add_rows(2500, 0.8); DELETE FROM t WHERE note % 3 = 1');
$node->safe_psql('postgres', 'VACUUM t');
sound($node, 'unlogged');
$node->restart;
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM t'), '>', 1000, 'an unlogged table survives a restart');
sound($node, 'unlogged, after a restart');
my $holder = $node->background_psql('postgres');
$holder->query_safe('CREATE TEMPORARY TABLE mine AS TABLE t; CREATE INDEX mine_x ON mine USING genie (x); INSERT INTO mine TABLE t');
is($holder->query_safe("SELECT count(*) FROM genie_check('mine_x')"), 0, 'a temporary index is sound');
my ($result, $out, $err) = $node->psql('postgres', "SELECT * FROM genie_check((SELECT oid FROM pg_class WHERE relname = 'mine_x')::regclass)");
like($err, qr/ERROR:  cannot access temporary indexes of other sessions/, 'another session cannot look at it');
foreach my $crash (1, 2)
{
	$node->stop('immediate');
	eval { $holder->quit };
	$node->start;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), 0, "an unlogged table is empty after crash $crash");
	is(info($node, 't_x', 'segments + objects + pending_rows + unreachable_pages'), 0, "its index is empty after crash $crash");
	sound($node, "empty, after crash $crash");
	$node->safe_psql('postgres', 'SELECT add_rows(2500, 0.9); DELETE FROM t WHERE note % 3 = 1');
	$node->safe_psql('postgres', 'VACUUM t');
	sound($node, "filled again after crash $crash");
}
$node->safe_psql('postgres', 'ALTER TABLE t SET LOGGED');
$node->stop('immediate');
$node->start;
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM t'), '>', 1000, 'a table made logged survives a crash');
sound($node, 'logged again');

done_testing();
