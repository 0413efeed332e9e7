# A scan whose pages are replaced and used again under it goes on behind the last row that it gave, wherever that was:
# among the best, among ties, past the point where all counts are taken, among rows without a match, among NULLs.
#
# That happens on a standby alone, where replay of index pages waits for no query.  The cursors read segments of four
# tiles (65,536 rows each; the last two hold NULLs only) with too little work_mem to keep lists.  The primary inserts
# and merges until no page of these segments is left.  The oracle is a sequential scan in the cursor's snapshot.
#
# A batch search that has opened such segments begins its piece again.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = genie_node('primary', init => { allows_streaming => 1, extra => [ '--no-locale', '--encoding=UTF8' ] }, conf => "max_connections = 60\n");
$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION genie;
CREATE EXTENSION pageinspect;
CREATE TABLE t (id serial, x int[]);
INSERT INTO t (x) SELECT CASE WHEN g > 131072 THEN NULL WHEN g % 10 = 0 THEN '{}' ELSE ARRAY[g % 2, 2 + g % 3, 10 + g % 1000, 5 + g % 4] END
	FROM generate_series(1, 393216) g;
DELETE FROM t WHERE x IS NULL AND id % 2 = 1;	-- holes, so that the TIDs of these tiles fill many pages
CREATE INDEX t_x ON t USING genie (x) WITH (pending_limit = 65536);
INSERT INTO t (x) SELECT CASE WHEN g % 10 = 0 THEN NULL ELSE ARRAY[g % 2, 10 + g % 1000] END FROM generate_series(1, 1000) g;

-- how many rows, and a digest of their ids in order, of the next n (NULL: all) that a cursor gives
CREATE FUNCTION take(c refcursor, n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	id int;
	ids int[] := '{}';
BEGIN
	LOOP
		EXIT WHEN cardinality(ids) = n;
		FETCH c INTO id;
		EXIT WHEN NOT FOUND;
		ids := ids || id;
	END LOOP;
	RETURN cardinality(ids) || ' ' || md5(ids::text);
END $$;
CREATE FUNCTION expected(query text, n int) RETURNS text LANGUAGE plpgsql SET enable_indexscan = off SET enable_bitmapscan = off SET work_mem = '64MB' AS $$
DECLARE
	ids int[];
BEGIN
	EXECUTE format('SELECT array_agg(id) FROM (%s, ctid) s', query) INTO ids;
	RETURN n || ' ' || md5(ids[:n]::text) || ' then ' || cardinality(ids) - n || ' ' || md5(ids[n + 1:]::text);
END $$;
CREATE TABLE questions AS SELECT i, genie_query(ARRAY[i % 2, 2 + i % 3, 10 + i * 7, 5 + i % 4]) AS q FROM generate_series(1, 40) i;
INSERT INTO questions VALUES (41, genie_query('{11}'::int[]));	-- fewer rows than are asked for
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\n");
$standby->start;

# the stamps of all pages but the metapage and those that nobody has used yet
sub stamps
{
	return grep { !/^0+$/ } split(/,/, $standby->safe_psql('postgres',
		q{SELECT string_agg(encode(substr(get_raw_page('t_x', b), 8177, 8), 'hex'), ',') FROM generate_series(1, (SELECT pg_relation_size('t_x') / 8192 - 1)::int) b}));
}

my ($common, $rare, $none) = ("'{0,1,2,3,4,5,6,7,8,500,501}'::int[]", "'{10,11,12}'::int[]", "'{-1}'::int[]");
my @cursors = map { { order => $_->[0], condition => $_->[1], n => $_->[2] } } (
	(map { [ "<&> $common", 'true', $_ ] } 1, 64, 300, 577, 45_000, 117_970), [ "<&> $common", 'x @& genie_query(ARRAY[0, 2, 5], 2)', 5000 ], [ "<&> $common", 'id % 1000 = 1', 70 ],
	(map { [ "<&> $rare", 'true', $_ ] } 64, 380, 1000, 131_972 + 20, 131_972 + 50_000), (map { [ "<&> $none", 'true', $_ ] } 10, 131_972, 131_972 + 100),
	[ '<&> (SELECT NULL::int[])', 'true', 1000 ], [ '<&> (SELECT NULL::int[])', 'id > 100000', 20_000 ],
	(map { [ "<%> $common", 'true', $_ ] } 1, 64, 577, 45_000, 117_970, 131_972 + 20), (map { [ "<%> $rare", 'true', $_ ] } 380, 100_000), [ "<%> $none", 'true', 20_000 ],
	[ "<%> $common", "x \@& genie_jaccard_query($common, 0.1)", 5000 ], [ "<%> $rare", "x \@& genie_jaccard_query($common, 0.1)", 5000 ]);
foreach my $cursor (@cursors)
{
	my $select = "SELECT id FROM t WHERE $cursor->{condition} ORDER BY x $cursor->{order}";
	my $session = $standby->background_psql('postgres');
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$cursor->{expected} = $session->query_safe("SELECT expected(\$q\$$select\$q\$, $cursor->{n})");
	$session->query_safe(q{SET enable_seqscan = off; SET enable_sort = off; SET work_mem = '64kB'});
	like($session->query_safe("EXPLAIN (COSTS OFF) $select"), qr/Index Scan using t_x/, 'the cursor reads the index');
	$session->query_safe("DECLARE c CURSOR FOR $select");
	$cursor->{got} = $session->query_safe("SELECT take('c', $cursor->{n})");
	$cursor->{session} = $session;
}

my $gate = $standby->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(714100)');
my @searches = map { start_sql($standby, "SET genie.worker = $_", 'BEGIN ISOLATION LEVEL REPEATABLE READ',
		q{SELECT md5(string_agg(format('%s %s %s', q.i, tid, match_count), ';' ORDER BY q.i, n)) FROM questions q, LATERAL (SELECT *, row_number() OVER () AS n
			FROM (SELECT ctid AS tid, -(x <&> q.q) AS match_count FROM t ORDER BY x <&> q.q, ctid LIMIT 500) r) s},
		q{SET genie.fault_point = 'batch-opened'}, q{SET genie.fault_action = 'wait'},
		q{SELECT md5(string_agg(format('%s %s %s', query, tid, match_count), ';' ORDER BY n))
			FROM genie_search('t_x', (SELECT array_agg(q ORDER BY i) FROM questions), 500) WITH ORDINALITY s (query, tid, match_count, n)}) } 'on', 'off';
wait_until($standby, "SELECT count(*) = 2 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
my @before = stamps();

# one more segment as large as the first calls for a merge of both; what is inserted then takes the old pages
foreach my $round (1 .. 2)
{
	$primary->safe_psql('postgres', q{INSERT INTO t (x) SELECT ARRAY[g % 2, 2 + g % 3, 10 + g % 1000] FROM generate_series(1, 200000) g});
	$primary->safe_psql('postgres', q{SELECT genie_merge('t_x')}) for 1 .. 2;
}
$primary->safe_psql('postgres', q{INSERT INTO t (x) SELECT ARRAY[0, 1, 2, 3, 4, 10] FROM generate_series(1, 100) g});
$primary->wait_for_catchup($standby);
my %after = map { $_ => 1 } stamps();
is(join(' ', grep { $after{$_} } @before), '', 'no page of the segments is left');

foreach my $cursor (@cursors)
{
	my $rest = $cursor->{session}->query_safe("SELECT take('c', NULL)");
	is("$cursor->{got} then $rest", $cursor->{expected}, "$cursor->{order} where $cursor->{condition}: right before and after row $cursor->{n}");
	$cursor->{session}->quit;
}
$gate->query_safe('SELECT pg_advisory_unlock(714100)');
foreach my $search (@searches)
{
	ok(finish_sql($search), 'a batch search ends') or diag($search->{err});
	my ($expected, $got) = split /\n/, $search->{out};
	is($got, $expected, 'with the rows of its snapshot');
}
$gate->quit;
is($standby->safe_psql('postgres', q{SELECT * FROM genie_check('t_x')}), '', 'genie_check');

$standby->stop;
$primary->stop;
done_testing();
