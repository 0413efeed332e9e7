# A VACUUM that is interrupted after it marked rows, and before it recorded that, must not lose the marks.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('interrupted');
$node->safe_psql('postgres', 'CREATE EXTENSION genie');

sub count_both
{
	my ($table, $query) = @_;
	my $sql = "SELECT count(*) FROM $table WHERE a \@& genie_query('$query'::int[])";
	return (
		$node->safe_psql('postgres', "SET enable_seqscan = off; $sql"),
		$node->safe_psql('postgres', "SET enable_indexscan = off; SET enable_bitmapscan = off; $sql"));
}

# tombstone bits are set, then the VACUUM fails before it raises the version and stores the counts
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE tombstones (id int, a int[]);
INSERT INTO tombstones SELECT i, ARRAY[i % 10, 100 + i % 3] FROM generate_series(1, 1000) i;
CREATE INDEX tombstones_idx ON tombstones USING genie (a);
DELETE FROM tombstones WHERE id <= 500;
SQL
my (undef, undef, $error) = $node->psql('postgres',
	"SET genie.fault_point = 'vacuum-before-version'; SET genie.fault_action = 'error'; VACUUM (INDEX_CLEANUP on) tombstones");
like($error, qr/fault point/, 'the first VACUUM fails after it set tombstones');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP on) tombstones');
$node->safe_psql('postgres', 'INSERT INTO tombstones SELECT i, ARRAY[77] FROM generate_series(2001, 2300) i');
is($node->safe_psql('postgres', 'SELECT count(*) > 0 FROM tombstones WHERE id > 2000 AND ctid < (SELECT min(ctid) FROM tombstones WHERE id = 501)'),
	't', 'line pointers of deleted rows are used again');
my ($by_index, $by_table) = count_both('tombstones', '{3}');
is($by_index, $by_table, 'no old entry answers for a new row');
($by_index, $by_table) = count_both('tombstones', '{77}');
is($by_index, $by_table, 'every new row is found');
is($node->safe_psql('postgres', q{SELECT count(*) FROM genie_check('tombstones_idx')}), '0', 'genie_check is clean');

# a pending row on several pages, half of which VACUUM marked dead: dead as a whole, and the next row is whole
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE long_rows (id int, a int[]);
CREATE INDEX long_rows_idx ON long_rows USING genie (a) WITH (pending_limit = 100000);
INSERT INTO long_rows VALUES (1, ARRAY(SELECT generate_series(1, 9000)));
INSERT INTO long_rows VALUES (2, '{1,2,3,50000}'), (3, ARRAY(SELECT generate_series(20000, 26000)));
DELETE FROM long_rows WHERE id = 1;
SQL
(undef, undef, $error) = $node->psql('postgres',
	"SET genie.fault_point = 'vacuum-pending-page'; SET genie.fault_action = 'error'; VACUUM (INDEX_CLEANUP on) long_rows");
like($error, qr/fault point/, 'a VACUUM fails after it marked the first page of a long row');
for my $when ('with half a row marked', 'after a merge of it', 'after the next VACUUM')
{
	for my $query ('{1,2}', '{50000}', '{25000}')
	{
		($by_index, $by_table) = count_both('long_rows', $query);
		is($by_index, $by_table, "$query $when");
	}
	is($node->safe_psql('postgres', q{SELECT count(*) FROM genie_check('long_rows_idx')}), '0', "genie_check is clean $when");
	if ($when =~ /half/)
	{
		$node->safe_psql('postgres', q{SELECT genie_merge('long_rows_idx')});
	}
	else
	{
		$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP on) long_rows');
	}
}

$node->stop;
done_testing();
