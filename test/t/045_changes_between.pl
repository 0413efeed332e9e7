# Changes between a request and its answer, or between two pages of one scan, do not change the scan's rows: VACUUM takes dead
# rows and their TIDs are used again, merges replace segments, images are evicted, the worker ends.
#
# The oracle of each scan is a sequential scan under the same snapshot.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my $node = genie_node('changes', conf => worker_settings(fake_engine(), 'genie.shared_memory = 4MB', 'genie.image = full'));
create_table($node, 4000, 0.45);

sub sql { return $node->safe_psql('postgres', @_); }

my $by_index = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET enable_indexscan = on';
my $by_table = 'SET enable_seqscan = on; SET enable_bitmapscan = off; SET enable_sort = on; SET enable_indexscan = off';

# A third of the rows is dead already when the scans begin, and rows that match best are among them.
sub fresh_table
{
	sql(<<'SQL');
DROP TABLE IF EXISTS v;
CREATE TABLE v AS SELECT ARRAY[i % 3, 10 + i % 4, 20 + i % 50] AS x, i AS id FROM generate_series(1, 9000) i;
CREATE INDEX v_x ON v USING genie (x) WITH (pending_limit = 64);
SQL
	sql(q{SELECT genie_prewarm('v_x')});
	sql('DELETE FROM v WHERE id % 3 = 1');
	return;
}

# VACUUM, and rows that take the TIDs of the dead ones, matching every query well.
sub use_tids_again
{
	my ($when) = @_;
	my $dead = sql(q{SELECT count(*) FROM generate_series(0, (SELECT pg_relation_size('v') / 8192 - 1)::int) b, heap_page_items(get_raw_page('v', b)) WHERE lp_flags = 3 OR t_xmax <> '0'});
	cmp_ok($dead, '>=', 3000, "there are dead rows $when");
	sql('VACUUM v');
	sql('INSERT INTO v SELECT ARRAY[0, 1, 2, 10, 11, 12, 13, 20, 21, 22], 100000 + i FROM generate_series(1, 2500) i');
	my $again = sql('SELECT count(*) FROM v WHERE id > 100000 AND (ctid::text::point)[0] < (SELECT max((ctid::text::point)[0]) FROM v WHERE id < 100000)');
	cmp_ok($again, '>', 1000, "TIDs are used again $when");
	return;
}
sql('CREATE EXTENSION pageinspect');

my @queries = ("'{0,1,10,11,12,13,20}'::int[]", "genie_query('{[0,3),[10,12)}'::int4multirange)", "'{20,21,22,23,24,25}'::int[]");

# ---- VACUUM while a request waits ----

foreach my $query (@queries)
{
	fresh_table();
	my $select = "SELECT ctid, x <&> $query, id FROM v ORDER BY x <&> $query";
	my $expected = sql("$by_table; $select, ctid LIMIT 5000");
	order('hold');
	my $session = start_sql($node, $by_index, "$select LIMIT 5000");
	wait_for_waiting($node, 1);
	use_tids_again('while a request waits');
	is(sql(q{SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND wait_event_type = 'Extension'}), 1, 'the request still waits: it does not block VACUUM');
	order('');
	ok(finish_sql($session), 'the query ends');
	is($session->{out}, "$expected\n", "$query: the rows are those of its snapshot");
	is(sql("$by_index; $select LIMIT 5000"), sql("$by_table; $select, ctid LIMIT 5000"), "$query: and the next has the new ones");
}

# ---- between the pages of cursors ----

# Cursors at different places, in transactions that began before.
sub open_cursors
{
	my ($rows) = @_;
	my @cursors;
	foreach my $query (@queries)
	{
		my $session = $node->background_psql('postgres');
		my $select = "SELECT ctid, x <&> $query, id FROM v ORDER BY x <&> $query";
		$session->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; $by_table");
		my $expected = $session->query_safe("$select, ctid");
		$session->query_safe("$by_index; DECLARE c CURSOR FOR $select");
		push @cursors, { query => $query, session => $session, expected => $expected, got => $session->query_safe("FETCH $rows FROM c"), select => $select };
	}
	return @cursors;
}

sub close_cursors
{
	my ($when, @cursors) = @_;
	foreach my $cursor (@cursors)
	{
		my $rest = $cursor->{session}->query_safe('FETCH ALL FROM c');
		is("$cursor->{got}\n$rest", $cursor->{expected}, "$cursor->{query}: a cursor goes on rightly $when");
		is($cursor->{session}->query_safe($cursor->{select}), $cursor->{expected}, "$cursor->{query}: and so does a new scan under the old snapshot");
		$cursor->{session}->quit;
	}
	return;
}

foreach my $rows (1, 30, 128, 200, 3000)
{
	fresh_table();
	my @cursors = open_cursors($rows);
	sql('DELETE FROM v WHERE id % 7 = 2');	# these are still theirs
	use_tids_again("after $rows rows of a cursor");
	close_cursors("after VACUUM, at row $rows", @cursors);
}

fresh_table();
my @cursors = open_cursors(50);
foreach my $round (1 .. 5)
{
	sql("INSERT INTO v SELECT ARRAY[i % 3, 10, 11, 12], 200000 + i FROM generate_series(1, 9000) i; SELECT genie_merge('v_x')");
	sql("DELETE FROM v WHERE id % 5 = $round; VACUUM v; SELECT genie_merge('v_x')");
	sql(q{SELECT genie_prewarm('v_x')});
}
my $gone = stat_of($node, 'fallback_image_gone');
close_cursors('after merges', @cursors);
cmp_ok(stat_of($node, 'fallback_image_gone'), '>', $gone, 'their images were gone');

sql(<<'SQL');
SELECT format('CREATE TABLE other_%1$s AS SELECT ARRAY(SELECT (i * 7 + j * j * %1$s) %% 600 FROM generate_series(1, 8) j WHERE i > 0) AS x FROM generate_series(1, 40000) i', n),
	format('CREATE INDEX other_%1$s_x ON other_%1$s USING genie (x)', n) FROM generate_series(1, 5) n \gexec
CREATE TABLE whole AS SELECT ARRAY(SELECT (i + j * 24) % 600 FROM generate_series(0, 24) j) AS x FROM generate_series(1, 62000) i;	-- its image leaves room for no other
CREATE INDEX whole_x ON whole USING genie (x);
SQL
foreach my $rows (10, 100)
{
	fresh_table();
	@cursors = open_cursors($rows);
	my $evictions = stat_of($node, 'image_evictions');
	sql("SELECT genie_prewarm('${_}_x')") foreach (map { "other_$_" } 1 .. 5), 'whole';
	cmp_ok(stat_of($node, 'image_evictions') - $evictions, '>=', 2, 'images are evicted');
	$gone = stat_of($node, 'fallback_image_gone');
	close_cursors("after its image was evicted, at row $rows", @cursors);
	cmp_ok(stat_of($node, 'fallback_image_gone'), '>', $gone, 'which is noticed');
}

fresh_table();
@cursors = open_cursors(20);
order('');
sql("INSERT INTO v SELECT ARRAY[0, 10], 300000 + i FROM generate_series(1, 50) i");
sql('REINDEX INDEX t_x');
kill 'TERM', stat_of($node, 'worker_pid');
wait_until($node, "SELECT worker_pid IS NULL FROM genie_stat");
close_cursors('without a worker', @cursors[ 0, 1 ]);
wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
close_cursors('with another worker', $cursors[2]);

# what a transaction itself has changed
my $own = $node->background_psql('postgres');
my $select = "SELECT ctid, x <&> $queries[0], id FROM v ORDER BY x <&> $queries[0]";
my $same = sub {
	my ($when) = @_;
	$own->query_safe($by_index);
	my $got = $own->query_safe("$select LIMIT 3000");
	$own->query_safe($by_table);
	is($got, $own->query_safe("$select, ctid LIMIT 3000"), "a transaction sees its own changes: $when");
};
$own->query_safe('BEGIN');
$own->query_safe('INSERT INTO v SELECT ARRAY[0, 1, 10, 11, 12, 13, 20], 400000 + i FROM generate_series(1, 300) i');
$same->('rows inserted');
$own->query_safe('SAVEPOINT s; DELETE FROM v WHERE id % 2 = 0; UPDATE v SET x = x || 13 WHERE id % 9 = 3');
$same->('rows deleted and updated');
$own->query_safe('ROLLBACK TO s');
$same->('a part rolled back');
$own->query_safe('ROLLBACK');
$same->('all rolled back');
$own->quit;

# ---- everything at once ----

# Each question is asked by index and by sequence under one snapshot, while rows come and go, segments merge, VACUUM runs,
# images are evicted, batches fail, and the worker ends now and then.
order('slow 5');
my @readers = map { start_sql($node, ('BEGIN ISOLATION LEVEL REPEATABLE READ', "SELECT * FROM differences(12, 0.$_)", 'COMMIT') x 3) } 1 .. 4;
my @writers = map { start_sql($node, "SELECT add_rows(300, 0.$_)", "DELETE FROM t WHERE note % 7 = $_", "UPDATE t SET x = x || $_ WHERE note % 13 = $_",
		"SELECT genie_merge('t_x')", 'VACUUM t', "SELECT add_rows(200, 0.8$_)", 'VACUUM t', "SELECT genie_merge('t_tuple')", 'VACUUM t') } 1 .. 2;
foreach my $round (1 .. 3)
{
	order($_), sql("SELECT genie_prewarm('other_${round}_x')") foreach 'retry once', 'no_room once', 'slow 20', 'slow 5';
	kill 'TERM', stat_of($node, 'worker_pid') if $round == 2;
	wait_until($node, "SELECT worker_state <> 'not running' FROM genie_stat");
}
foreach (@readers)
{
	ok(finish_sql($_), 'a reader ends') or diag($_->{err});
	is($_->{out}, '', 'and has found no difference');
}
foreach (@writers)
{
	ok(finish_sql($_), 'a writer ends') or diag($_->{err});
}
order('');
sound($node, 'in the end', 20);
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminating any other active/, 'no assertion failed');

done_testing();
