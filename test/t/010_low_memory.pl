# Builds, merges and scans give the same results with the least memory that can be set as with much.
#
# maintenance_work_mem = 1MB spills every few hundred rows of a wide vocabulary: more than 256 spilled segments, so that
# merging spilled segments goes through three generations.  log_temp_files shows that it did.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('low_memory', conf => "log_temp_files = 0\nmaintenance_work_mem = 64MB\n");
create_table($node, 100, 0.15);

# ---- build ----

$node->safe_psql('postgres', <<'SQL');
SELECT setseed(0.5);
CREATE TABLE wide AS
	SELECT i, CASE WHEN i % 100 = 7 THEN NULL WHEN i % 100 = 8 THEN '{}' ELSE array_agg((random() * 5000000)::int) || i % 10 END AS x
	FROM generate_series(1, 55000) i, generate_series(1, 40) GROUP BY i;
CREATE INDEX wide_much ON wide USING genie (x);
SET maintenance_work_mem = '1MB';
CREATE INDEX wide_little ON wide USING genie (x);
SQL
my $spilled = () = slurp_file($node->logfile) =~ /temporary file: path/g;
cmp_ok($spilled / 5, '>', 256 + 16 + 1, 'the build spilled more than 256 times, and merged in generations');
my $counts = 'segments, objects, keywords, postings, tombstones, pending_rows, object_bytes, dictionary_bytes, posting_bytes, size_bytes, unreachable_pages';
is(info($node, 'wide_little', $counts), info($node, 'wide_much', $counts), 'both builds give the same index');
is(violations($node), '', 'both are sound');

# The same queries by the index and by the table; TIE is what makes the table's order the index's.
my $answers = <<'SQL';
SELECT md5(string_agg(row, ',')) FROM (SELECT i || ' ' || coalesce((x <&> '{3,5,77}')::text, '-') AS row FROM wide ORDER BY x <&> '{3,5,77}' TIE) s;
SELECT md5(string_agg(row, ',')) FROM (SELECT i || ' ' || coalesce((x <&> genie_query('{[1000,2000),[400000,500000)}'::int4multirange))::text, '-') AS row
	FROM wide ORDER BY x <&> genie_query('{[1000,2000),[400000,500000)}'::int4multirange) TIE LIMIT 5000) s;
SELECT count(*), sum(i) FROM wide WHERE x @& genie_with_min_match(genie_query('{[1000,2000),[400000,500000)}'::int4multirange), 2);
SQL

sub agree
{
	my ($queries, $when, $settings) = @_;
	my $by_table = $node->safe_psql('postgres', 'SET enable_indexscan = off; SET enable_bitmapscan = off; ' . $queries =~ s/TIE/, ctid/gr);
	return is($node->safe_psql('postgres', 'SET enable_seqscan = off; SET enable_sort = off; ' . ($settings // '') . $queries =~ s/TIE//gr),
		$by_table, "scans give what the table gives $when");
}

$node->safe_psql('postgres', 'DROP INDEX wide_much');
like($node->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT i FROM wide ORDER BY x <&> '{1}' LIMIT 3"),
	qr/Index Scan using wide_little/, 'scans use the index built with little memory');
agree($answers, 'from the index built with little memory');
agree($answers, 'with little memory, too', "SET work_mem = '64kB'; ");

# ---- merges ----

# a pending list of many times the memory, merged by genie_merge, by VACUUM and by an insert
$node->safe_psql('postgres', "CREATE TABLE rest AS SELECT * FROM wide WHERE i > 50000; DELETE FROM wide WHERE i > 50000");
foreach my $how ('merge', 'vacuum', 'insert')
{
	$node->safe_psql('postgres', 'VACUUM wide; ALTER INDEX wide_little SET (pending_limit = 1000000)');
	$node->safe_psql('postgres', 'INSERT INTO wide SELECT * FROM rest');
	is(info($node, 'wide_little', 'pending_rows'), 5000, "rows are pending ($how)");
	$node->safe_psql('postgres', "SET maintenance_work_mem = '1MB'; SELECT genie_merge('wide_little')") if $how eq 'merge';
	$node->safe_psql('postgres', $_) foreach $how eq 'vacuum' ? ('ALTER SYSTEM SET maintenance_work_mem = \'1MB\'', 'SELECT pg_reload_conf()', 'VACUUM wide', 'ALTER SYSTEM RESET ALL', 'SELECT pg_reload_conf()') : ();
	$node->safe_psql('postgres', "ALTER INDEX wide_little SET (pending_limit = 64); SET work_mem = '64kB'; INSERT INTO wide SELECT 60000 + g, ARRAY[-g] FROM generate_series(1, 2000) g; DELETE FROM wide WHERE i > 60000") if $how eq 'insert';
	cmp_ok(info($node, 'wide_little', 'pending_rows'), '<', 2100, "they were merged ($how)");
	agree($answers, "after a merge with little memory ($how)");
	is(violations($node), '', "the index is sound after a merge with little memory ($how)");
	$node->safe_psql('postgres', 'DELETE FROM wide WHERE i > 50000');
}

# ---- scans over long lists ----

$node->safe_psql('postgres', <<'SQL');
SELECT setseed(0.75);
CREATE TABLE dense AS
	SELECT i, ARRAY(SELECT (random() ^ 2 * 30)::int FROM generate_series(1, 5) WHERE i > 0) AS x FROM generate_series(1, 200000) i;
CREATE INDEX dense_x ON dense USING genie (x);
SQL
my $scans = <<'SQL';
SELECT md5(string_agg(ctid || ' ' || d, ',')) FROM (SELECT ctid, x <&> '{0,1,2,3,4,5}' AS d FROM dense ORDER BY x <&> '{0,1,2,3,4,5}' TIE LIMIT 100) s;
SELECT md5(string_agg(ctid || ' ' || d, ',')) FROM (SELECT ctid, x <&> '{0,10,20,30}' AS d FROM dense WHERE i % 50 = 0 ORDER BY x <&> '{0,10,20,30}' TIE LIMIT 3000) s;
SELECT md5(string_agg(ctid || ' ' || d, ',')) FROM (SELECT ctid, x <&> genie_query('{[3,25)}'::int4multirange) AS d FROM dense
	ORDER BY x <&> genie_query('{[3,25)}'::int4multirange) TIE) s;
SELECT count(*), sum(i) FROM dense WHERE x @& genie_query('{0,1,2,3}'::int[], 3);
SQL
agree($scans, "over long lists with work_mem = $_", "SET work_mem = '$_'; ") foreach '64kB', '1MB', '64MB';

done_testing();
