# Scans ordered by a distance whose bounds the test chooses (test/module/genie_bounds.c): equal to the distance, smaller ones, and
# such that break their contract.
#
# The oracle is the sequential scan, with rows of equal distance in TID order.  The table has NULLs, empty objects and long ones, in segments of more than one page
# of the best (65,536 rows) and of one tile, deleted and pending rows.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = module_library('genie_bounds', PostgreSQL::Test::Utils::tempdir());
my $script = slurp_file("$ENV{TESTDIR}/test/module/genie_bounds.sql") =~ s/MODULE_PATHNAME/$library/gr;
my $node = genie_node('distance');
$node->safe_psql('postgres', "CREATE EXTENSION genie;\n$script");
is($node->safe_psql('postgres', q{SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'genie_bounds_ops'}), 't', 'amvalidate accepts the class');

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id serial, o genie_object) WITH (autovacuum_enabled = off);
CREATE FUNCTION object(i int) RETURNS genie_object LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN i % 100 = 0 THEN NULL WHEN i % 31 = 0 THEN '{}' WHEN i % 1009 = 0 THEN (SELECT ('{' || string_agg('0:int:' || g, ',') || '}')::genie_object FROM generate_series(1, i / 100) g)
		ELSE ('{0:int:' || i % 7 || ',0:int:' || 10 + i % 1000 || ',2:int:' || i % 3 || CASE WHEN i % 5 = 0 THEN '' ELSE ',3:int:' || i % 11 END || '}')::genie_object END $$;
CREATE FUNCTION add_rows(a int, b int) RETURNS void LANGUAGE sql AS 'INSERT INTO t (o) SELECT object(i) FROM generate_series(a, b) i';

-- the distances and the ids of the first k rows
CREATE FUNCTION nearest(ordering text, condition text, k int) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	rows text[];
BEGIN
	EXECUTE format('SELECT array_agg(r) FROM (SELECT id || row(%1$s)::text AS r FROM t WHERE %2$s ORDER BY %1$s %3$s LIMIT %4$s) s',
		ordering, condition, CASE WHEN current_setting('enable_seqscan') = 'on' THEN ', ctid' END, coalesce(k::text, 'ALL'))
		INTO rows;
	RETURN rows;
END $$;
CREATE FUNCTION by_index(ordering text, condition text, k int) RETURNS text[] LANGUAGE sql
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS 'SELECT nearest($1, $2, $3)';
CREATE FUNCTION by_table(ordering text, condition text, k int) RETURNS text[] LANGUAGE sql
	SET enable_indexscan = off SET enable_bitmapscan = off SET work_mem = '64MB' AS 'SELECT nearest($1, $2, $3)';
SQL

# Are the rows right, for some questions?
sub agree
{
	my ($when, $all) = @_;
	my @orderings = ("o <+> object(17)", "o <+> '{}'", "o <+> '{0:int:-1}'", "o <+> object(60540)", "o <+> object(8), o <&> object(9)", "o <&> object(9), o <+> object(8)");
	my @conditions = ('true', q{o @& genie_query(object(3))}, q{o @& genie_with_min_match(genie_query(object(17)), 2) AND id % 2 = 0}, q{o @& '{0:int:3,2:int:1}%0.3'});
	foreach my $ordering (@orderings)
	{
		foreach my $condition (@conditions)
		{
			my $k = $all && $condition eq 'true' && $ordering =~ /17/ ? 'NULL' : 200;
			is($node->safe_psql('postgres', qq{SELECT a = b, cardinality(a) > 0 FROM by_index(\$q\$$ordering\$q\$, \$q\$$condition\$q\$, $k) a, by_table(\$q\$$ordering\$q\$, \$q\$$condition\$q\$, $k) b}),
				't|t', "$when: ORDER BY $ordering WHERE $condition");
		}
	}
	return;
}

# ---- the table in all states, bounds exact and smaller ----

$node->safe_psql('postgres', 'SELECT add_rows(1, 100000); DELETE FROM t WHERE id % 17 = 3; VACUUM t;
	CREATE INDEX t_o ON t USING genie (o genie_bounds_ops) WITH (pending_limit = 4096)');
my $plan = $node->safe_psql('postgres', 'SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY o <+> object(17)');
like($plan, qr/Index Scan using t_o on t\n *Order By/, 'the index serves the order');
agree('built', 1);
$node->safe_psql('postgres', q{SELECT add_rows(1, 20000), genie_merge('t_o'); DELETE FROM t WHERE id % 13 = 4; SELECT add_rows(60000, 62000)});
agree('two segments and pending rows', 1);
$node->safe_psql('postgres', q{VACUUM t; SELECT add_rows(1, 1000)});
agree('vacuumed', 0);
$node->safe_psql('postgres', q{DROP INDEX t_o; DELETE FROM t WHERE id % 10 > 0; VACUUM FULL t;
	CREATE INDEX t_o ON t USING genie (o genie_bounds_ops (slack = 3)) WITH (pending_limit = 4096); SELECT add_rows(1, 3000), genie_merge('t_o'); SELECT add_rows(60000, 61000)});
agree('smaller bounds', 1);
is($node->safe_psql('postgres', q{SELECT * FROM genie_check('t_o')}), '', 'genie_check');

# ---- cursors and rows that come meanwhile ----

is($node->safe_psql('postgres', <<'SQL'), 't', 'a cursor sees its snapshot, whatever is inserted and merged');
SET enable_seqscan = off; SET enable_sort = off;
CREATE TEMP TABLE expected AS SELECT array_agg(d) AS d FROM (SELECT o <+> object(17) AS d FROM t ORDER BY o <+> object(17) LIMIT 5000) s;
CREATE FUNCTION take(c refcursor, n int) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE d float8; r float8[];
BEGIN
	FOR i IN 1 .. n LOOP FETCH c INTO d; r := r || d; END LOOP;
	RETURN r;
END $$;
BEGIN;
DECLARE c CURSOR FOR SELECT o <+> object(17) FROM t ORDER BY o <+> object(17);
CREATE TEMP TABLE first AS SELECT take('c', 100) AS d;
INSERT INTO t (o) SELECT object(17) FROM generate_series(1, 100);
DO $$ BEGIN PERFORM genie_merge('t_o'); END $$;
SELECT (SELECT d FROM first) || take('c', 4900) = d FROM expected;
ROLLBACK;
SQL

# ---- bounds that break their contract ----

my @faults = (
	[ 1, qr/ERROR:  function genie_bounds_bound\(smallint,internal,integer,integer\) does not give lower bounds of a distance\nDETAIL:  For strategy 5, match count \d+ and object size \d+ its result is null\./ ],
	[ 2, qr/DETAIL:  For strategy 5, match count \d+ and object size \d+ its result is not a number\./ ],
	[ 3, qr/DETAIL:  For strategy 5, match count 1 and object size 1 its result is larger than for the next smaller match count\./ ],
	[ 4, qr/DETAIL:  For strategy 5, match count 0 and object size \d+ its result is smaller than for a smaller object\./ ],
	[ 5, qr/ERROR:  a row is nearer than index "t_o" allows\nDETAIL:  The row at \(\d+,\d+\) has distance \d+, and the index's lower bound of it is \d+\.\nHINT:  The index is damaged, which REINDEX mends, or its operator class has a wrong support function 3\./ ]);
foreach my $case (@faults)
{
	my ($fault, $message) = @$case;
	my $stderr;
	$node->safe_psql('postgres', "DROP INDEX t_o; CREATE INDEX t_o ON t USING genie (o genie_bounds_ops (fault = $fault))");
	isnt($node->psql('postgres', 'SET enable_seqscan = off; SET enable_sort = off; SELECT id FROM t ORDER BY o <+> object(17) LIMIT 100', stderr => \$stderr), 0, "fault $fault is noticed");
	like($stderr, $message, "fault $fault is told");
	is($node->psql('postgres', 'SET enable_seqscan = off; SET enable_sort = off; SELECT count(*) FROM (SELECT id FROM t ORDER BY o <&> object(17) LIMIT 100) s', stderr => \$stderr), 0,
		'the match count needs no bound');
}

my $stderr;
isnt($node->psql('postgres', q{SET enable_seqscan = off; SET enable_sort = off; SELECT id FROM t ORDER BY o <+> '{0:int:[1,5)}'::genie_query LIMIT 1}, stderr => \$stderr), 0, 'a range fails');
like($stderr, qr/ERROR:  a query with ranges has no distance to an object/, 'and is told');

$node->stop;
done_testing();
