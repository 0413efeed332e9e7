# genie_counts(), genie_facets(), genie_filter(), and for tuples genie_aggregate(), genie_regrid() and bins, while other sessions change the table, merge and vacuum, before and after it has marked the rows that are
# certainly visible; under a load of short transactions; on a standby, and after a crash.
#
# The oracle of each count is a sequential scan under the same snapshot.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('count', init => { allows_streaming => 1 }, conf => "autovacuum = off\nmax_wal_size = 1GB\nwal_keep_size = 1GB\n");
sub sql { return $node->safe_psql('postgres', @_); }

sql(<<'SQL');
CREATE EXTENSION genie;
CREATE TABLE v (x int[], id int);
CREATE INDEX v_x ON v USING genie (x);
CREATE TABLE questions AS SELECT i, genie_query(ARRAY[i % 3, 10 + i % 4, 20 + i % 50, 5000 + i], 1 + i % 3) AS q FROM generate_series(1, 40) i;
INSERT INTO questions VALUES (41, '{0:int:[10,13]}'), (42, '{}@0'), (43, genie_jaccard_query('{1,11,21}'::int[], 0.5));
CREATE FUNCTION oracle() RETURNS text LANGUAGE sql SET enable_indexscan = off SET enable_bitmapscan = off AS
	$$ SELECT string_agg((SELECT count(*)::text FROM v WHERE x @& q), ' ' ORDER BY i) FROM questions $$;
CREATE FUNCTION counts() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE WHEN lower = upper AND upper = estimate THEN lower::text ELSE 'not exact' END, ' ' ORDER BY query)
	FROM genie_counts('v_x', (SELECT array_agg(q ORDER BY i) FROM questions)) $$;
-- where few rows are sure, such a count looks at those that match alone
CREATE FUNCTION one_by_one() RETURNS text LANGUAGE sql AS
	$$ SELECT string_agg(lower::text, ' ' ORDER BY i) FROM questions, genie_count('v_x', q) $$;
CREATE FUNCTION bounds_hold() RETURNS boolean LANGUAGE sql AS $$
	SELECT bool_and(b.lower <= a.lower AND a.upper <= b.upper AND b.estimate BETWEEN b.lower AND b.upper)
	FROM genie_counts('v_x', (SELECT array_agg(q ORDER BY i) FROM questions)) a
		JOIN genie_counts('v_x', (SELECT array_agg(q ORDER BY i) FROM questions), false) b USING (query) $$;
-- some queries' facets
CREATE FUNCTION facets_hold() RETURNS boolean LANGUAGE sql SET enable_indexscan = off SET enable_bitmapscan = off AS $$
	SELECT bool_and(f.facets = g.facets) FROM questions,
		LATERAL (SELECT string_agg(value || ':' || n, ' ' ORDER BY value) AS facets FROM genie_facets('v_x', q, '{0}')) f,
		LATERAL (SELECT string_agg(e || ':' || n, ' ' ORDER BY e) AS facets
			FROM (SELECT e::text, count(*) AS n FROM (SELECT DISTINCT ctid, e FROM v, unnest(x) e WHERE x @& q) d GROUP BY e) s) g
	WHERE i IN (1, 2, 5, 42) $$;
CREATE FUNCTION filter_holds() RETURNS boolean LANGUAGE sql SET enable_indexscan = off SET enable_bitmapscan = off AS $$
	SELECT NOT EXISTS (SELECT FROM (SELECT i, v.ctid FROM questions JOIN v ON v.x @& q) a
		FULL JOIN genie_filter('v_x', (SELECT array_agg(q ORDER BY i) FROM questions)) b ON a.i = b.query AND a.ctid = b.tid WHERE a.i IS NULL OR b.query IS NULL) $$;

-- tuples, by values and by bins: what functions say, and what sequential scans do
CREATE TABLE w (id int, a int, b float8);
CREATE INDEX w_x ON w USING genie (genie_tuple(a, b)) WITH (pending_limit = 64);
CREATE INDEX w_bins ON w USING genie (genie_tuple(b, a) genie_tuple_ops (bins = 16)) WITH (pending_limit = 64);
CREATE TABLE asked AS SELECT i, format('{1:int:[%s,%s],2:float:[%s,%s)}@2', i % 5, i % 5 + 3, i * 6.1, i * 6.1 + 25)::genie_query AS q,
	format('{2:int:[%s,%s],1:float:[%s,%s)}@2', i % 5, i % 5 + 3, i * 6.1, i * 6.1 + 25)::genie_query AS q_bins FROM generate_series(1, 10) i;
CREATE FUNCTION tuples() RETURNS text LANGUAGE sql SET enable_seqscan = off AS $$
	SELECT concat_ws('; ', (SELECT string_agg(concat_ws(' ', g.n, g.sum, g.min, g.max), ',' ORDER BY i) FROM asked, genie_aggregate('w_x', q, 1) g),
		(SELECT string_agg(concat_ws(' ', i, cell[1], cell[2], g.n), ',' ORDER BY i, cell) FROM asked, genie_regrid('w_x', '{1,2}', '{3,10}', q) g),
		(SELECT count(*) FROM w WHERE genie_tuple(a, b) @& ANY (ARRAY(SELECT q FROM asked))),
		(SELECT string_agg(CASE WHEN lower = upper THEN lower::text ELSE 'not exact' END, ' ' ORDER BY query) FROM genie_counts('w_bins', (SELECT array_agg(q_bins ORDER BY i) FROM asked))),
		(SELECT count(*) FROM w WHERE genie_tuple(b, a) @& (SELECT q_bins FROM asked WHERE i = 4)),
		(SELECT string_agg(concat_ws(' ', g.n, g.min, g.max, e.sum BETWEEN g.sum_lower AND g.sum_upper), ',' ORDER BY i) FROM asked, genie_aggregate('w_bins', q_bins, 1) g, genie_aggregate('w_x', q, 2) e),
		(SELECT string_agg(c::text, ' ') FROM (SELECT -(genie_tuple(b, a) <&> (SELECT q_bins FROM asked WHERE i = 5)) AS c FROM w ORDER BY genie_tuple(b, a) <&> (SELECT q_bins FROM asked WHERE i = 5) LIMIT 30) s)) $$;
CREATE FUNCTION tuples_oracle() RETURNS text LANGUAGE sql SET enable_indexscan = off SET enable_bitmapscan = off AS $$
	SELECT concat_ws('; ', (SELECT string_agg(concat_ws(' ', g.n, g.sum, g.min, g.max), ',' ORDER BY i) FROM asked,
			LATERAL (SELECT count(a) AS n, sum(a), min(a), max(a) FROM w WHERE genie_tuple(a, b) @& q) g),
		(SELECT string_agg(concat_ws(' ', i, x, y, n), ',' ORDER BY i, x, y) FROM asked,
			LATERAL (SELECT floor(a / 3.0)::int AS x, floor(b / 10)::int AS y, count(*) AS n FROM w WHERE genie_tuple(a, b) @& q GROUP BY 1, 2) g),
		(SELECT count(*) FROM w WHERE EXISTS (SELECT FROM asked WHERE genie_tuple(a, b) @& q)),
		(SELECT string_agg((SELECT count(*)::text FROM w WHERE genie_tuple(b, a) @& q_bins), ' ' ORDER BY i) FROM asked),
		(SELECT count(*) FROM w WHERE genie_tuple(b, a) @& (SELECT q_bins FROM asked WHERE i = 4)),
		(SELECT string_agg(concat_ws(' ', g.n, g.min, g.max, CASE WHEN g.n > 0 THEN true END), ',' ORDER BY i) FROM asked,
			LATERAL (SELECT count(b) AS n, min(b), max(b) FROM w WHERE genie_tuple(b, a) @& q_bins) g),
		(SELECT string_agg(c::text, ' ') FROM (SELECT genie_match_count(genie_tuple(b, a), (SELECT q_bins FROM asked WHERE i = 5)) AS c FROM w ORDER BY c DESC LIMIT 30) s)) $$;
SQL

# Some pages are all-visible when a count begins, others have dead rows, and some rows are pending.
sub fresh_table
{
	sql('TRUNCATE w; INSERT INTO w SELECT i, i % 9, (i * 37 % 1000) / 10.0 FROM generate_series(1, 2000) i; REINDEX INDEX w_bins');
	sql('VACUUM w');
	sql(<<'SQL');
DROP INDEX IF EXISTS v_x;
TRUNCATE v;
INSERT INTO v SELECT ARRAY[i % 3, 10 + i % 4, 20 + i % 50], i FROM generate_series(1, 6000) i;
CREATE INDEX v_x ON v USING genie (x) WITH (pending_limit = 64);
SQL
	sql('VACUUM v');
	sql(<<'SQL');
INSERT INTO v SELECT CASE WHEN i % 20 > 0 THEN ARRAY[i % 3, 10 + i % 4, 20 + i % 50] END, i FROM generate_series(6001, 6100) i;
DELETE FROM v WHERE id % 3 = 1 AND id < 2500;
SQL
	return;
}

my $gate = $node->background_psql('postgres');
sub stop_there { $gate->query_safe('SELECT pg_advisory_lock(714100)'); return; }
sub go_on { $gate->query_safe('SELECT pg_advisory_unlock(714100)'); return; }
sub wait_for_stopped { return wait_until($node, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"); }

# ---- changes in the middle of a count ----

sub use_tids_again
{
	sql('VACUUM v');
	sql('INSERT INTO v SELECT ARRAY[0, 1, 2, 10, 11, 12, 13, 20, 21, 22], 100000 + i FROM generate_series(1, 2000) i');
	my $again = sql('SELECT count(*) FROM v WHERE id > 100000 AND (ctid::text::point)[0] < (SELECT max((ctid::text::point)[0]) FROM v WHERE id < 100000)');
	cmp_ok($again, '>', 500, 'TIDs are used again');
	sql('VACUUM v');
	return;
}

sub merge_often
{
	foreach my $round (1 .. 3)
	{
		sql("INSERT INTO v SELECT ARRAY[i % 3, 10, 11, 12], 200000 + i FROM generate_series(1, 3000) i; SELECT genie_merge('v_x')");
		sql("DELETE FROM v WHERE id > 200000 AND id % 5 = $round");
		sql('VACUUM v');
	}
	return;
}

my %changes = (
	'VACUUM, and TIDs are used again' => \&use_tids_again,
	'merges' => \&merge_often,
	'deletes of what is counted' => sub { sql('DELETE FROM v WHERE id % 2 = 0'); sql('VACUUM v'); },
	'updates' => sub { sql("UPDATE v SET id = -id WHERE id % 4 = 0; UPDATE v SET x = '{0,1,2}' WHERE id % 7 = 0"); sql('VACUUM v'); });
foreach my $case ([ 'on', 'counts' ], [ 'off', 'counts' ], [ 'on', 'one_by_one' ])
{
	my ($worker, $how) = @$case;
	foreach my $point ('batch-opened', 'count-marked')
	{
		foreach my $change (sort keys %changes)
		{
			fresh_table();
			stop_there();
			my $session = start_sql($node, "SET genie.worker = $worker", "SET genie.fault_point = '$point'", "SET genie.fault_action = 'wait'",
				'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT oracle()', "SELECT $how()", 'COMMIT');
			wait_for_stopped();
			$changes{$change}->();
			go_on();
			ok(finish_sql($session), 'the count ends') or diag($session->{err});
			my ($expected, $got) = split /\n/, $session->{out};
			is($got, $expected, "worker $worker, $how: what its snapshot sees; meanwhile, at $point: $change");
			is(sql('SELECT oracle() = counts(), oracle() = one_by_one(), bounds_hold(), facets_hold(), filter_holds()'), 't|t|t|t|t', 'and the next count has the new rows');
		}
	}
}

# ---- a pending row is the only one that VACUUM finds dead ----

fresh_table();
sql('VACUUM v');
sql("INSERT INTO v SELECT ARRAY[1, 11, 21], 300000 + i FROM generate_series(1, 20) i");
sql('DELETE FROM v WHERE id = 300010');
stop_there();
my $pending = start_sql($node, "SET genie.fault_point = 'batch-opened'", "SET genie.fault_action = 'wait'", 'BEGIN ISOLATION LEVEL REPEATABLE READ',
	'SELECT oracle()', 'SELECT counts()', 'COMMIT');
wait_for_stopped();
sql('VACUUM v');
go_on();
ok(finish_sql($pending), 'a count that has read pending rows ends') or diag($pending->{err});
my @numbers = split /\n/, $pending->{out};
is($numbers[1], $numbers[0], 'and does not count one that was removed meanwhile');

# ---- under load ----

fresh_table();
my $load = start_load($node, 10, 4,
	insert => [ 4, 'INSERT INTO v VALUES (ARRAY[:n % 3, 10 + :n % 4, 20 + :n % 50], :n);' ],
	update => [ 4, 'UPDATE v SET id = id + 1 WHERE id = :n;' ],
	change => [ 2, 'UPDATE v SET x = x || 10 WHERE id = :n * 4;' ],
	delete => [ 2, 'DELETE FROM v WHERE id = :n * 3;' ],
	back => [ 1, 'BEGIN; DELETE FROM v WHERE id = :n; INSERT INTO v VALUES (ARRAY[1, 10], :n); ROLLBACK;' ],
	tuples => [ 4, 'INSERT INTO w VALUES (:n, :n % 11, :n % 997 / 7.0);' ],
	move => [ 2, 'UPDATE w SET b = b + 13, a = NULLIF(a + 1, 7) WHERE id = :n;' ],
	leave => [ 2, 'DELETE FROM w WHERE id = :n * 2;' ],
	ask => [ 2, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 / (tuples_oracle() = tuples())::int; COMMIT;' ],
	count => [ 2, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 / (oracle() = counts() AND oracle() = one_by_one() AND bounds_hold())::int; SELECT 1 / (facets_hold() AND filter_holds())::int; COMMIT;' ]);
my $n_vacuums = 0;
while ($load->{run}->pumpable)
{
	sql('VACUUM v, w');
	$n_vacuums++;
	$load->{run}->pump_nb;
}
ok($load->{run}->finish, 'each count is right while rows come, go and are vacuumed') or diag($load->{out});
unlike($load->{out}, qr/ERROR|aborted/, 'no client has failed');
cmp_ok($n_vacuums, '>', 3, "$n_vacuums times VACUUM");
is(sql('SELECT oracle() = counts(), oracle() = one_by_one(), bounds_hold(), facets_hold(), filter_holds(), tuples_oracle() = tuples()'), 't|t|t|t|t|t', 'and so they are afterwards');
is(sql("SELECT count(*) FROM genie_check('v_x')"), 0, 'genie_check');

# ---- a standby, which does not trust its pages; a crash ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
sql('DELETE FROM v WHERE id % 6 = 0; INSERT INTO v SELECT ARRAY[1, 11], i FROM generate_series(1, 100) i; DELETE FROM w WHERE id % 5 = 0');
sql('VACUUM (DISABLE_PAGE_SKIPPING) v, w');
catch_up($node, $standby);
is($standby->safe_psql('postgres', 'SELECT oracle() = counts(), oracle() = one_by_one(), bounds_hold(), facets_hold(), filter_holds(), tuples_oracle() = tuples()'), 't|t|t|t|t|t', 'on a standby');
is($standby->safe_psql('postgres', 'SELECT counts()'), sql('SELECT counts()'), 'as on the primary');
sql('DELETE FROM v WHERE id % 6 = 1');
$node->stop('immediate');
$node->start;
is(sql('SELECT oracle() = counts(), oracle() = one_by_one(), bounds_hold(), facets_hold(), filter_holds(), tuples_oracle() = tuples()'), 't|t|t|t|t|t', 'after a crash');
$standby->stop;
$node->stop;
done_testing();
