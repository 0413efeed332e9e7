# Little shared memory, large requests: the backend counts what does not fit, with the same rows.
#
# Every question is asked three ways: by a sequential scan, by the index with genie.worker off, and with it on.  Shared memory is
# 4 MB, the least possible, and 64 MB.  genie_stat must show both cases: requests that fit, and requests that did not.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my $node = genie_node('little', conf => worker_settings('genie.shared_memory = 4MB', "work_mem = '4MB'"));
my $by_index = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET enable_indexscan = on';
my $by_bitmap = 'SET enable_seqscan = off; SET enable_bitmapscan = on; SET enable_indexscan = off';
my $by_table = 'SET enable_seqscan = on; SET enable_bitmapscan = off; SET enable_sort = on; SET enable_indexscan = off';

sub sql { return $node->safe_psql('postgres', @_); }

# Tiles of 65,536 objects: three of few keywords an object; two in which some objects have more than 255, so that counts
# take two bytes; 100,000 keywords in one segment or several.  NULL and dead rows are in all.
sql(<<'SQL');
CREATE EXTENSION genie;
CREATE TABLE narrow AS SELECT CASE WHEN i % 50 <> 7 THEN ARRAY[i % 3, 10 + i % 11, 100 + i % 300] END AS x, i AS id FROM generate_series(1, 140000) i;
CREATE TABLE broad AS SELECT CASE WHEN i % 40 = 3 THEN NULL WHEN i % 700 = 0 THEN ARRAY(SELECT 1000 + j + i % 5 FROM generate_series(1, 400) j) ELSE ARRAY[i % 4, 1000 + i % 90] END AS x, i AS id
	FROM generate_series(1, 70000) i;
CREATE TABLE words AS SELECT ARRAY(SELECT i * 5 + j FROM generate_series(0, 4) j) AS x, i AS id FROM generate_series(0, 19999) i;
SELECT format('CREATE INDEX %1$s_x ON %1$s USING genie (x); DELETE FROM %1$s WHERE id %% 17 = 4', t) FROM unnest('{narrow,broad,words}'::text[]) t \gexec
VACUUM ANALYZE narrow, broad, words;
CREATE FUNCTION evens(n int) RETURNS int[] LANGUAGE sql IMMUTABLE AS 'SELECT array_agg(2 * i) FROM generate_series(0, n - 1) i';
CREATE FUNCTION run_from(a int, n int) RETURNS int[] LANGUAGE sql IMMUTABLE AS 'SELECT array_agg(i) FROM generate_series(a, a + n - 1) i';
SQL

my %ordered = (
	'few rows' => [ 'narrow', "'{1,12,105,204,305}'::int[]", 'true', 10 ],
	'some pages' => [ 'narrow', "'{1,12,105,204,305}'::int[]", 'true', 5000 ],
	'behind the largest page' => [ 'narrow', "'{1,12,105,204,305}'::int[]", 'true', 90_000 ],
	'all rows' => [ 'narrow', "'{1,12,105,204,305}'::int[]", 'true', 'NULL' ],
	'all rows that fulfil a condition' => [ 'narrow', "'{2,13,105}'::int[]", 'x @& genie_query(ARRAY[1,2,10,13,106], 2)', 'NULL' ],
	'rows that fulfil two conditions' => [ 'narrow', "'{2,13,105}'::int[]", 'x @& genie_query(ARRAY[1,2,10,13,106], 2) AND x @& genie_query(ARRAY[13,14,15])', 70_000 ],
	'wide counts' => [ 'broad', '(run_from(1000, 410) || 1)', 'true', 500 ],
	'wide counts of all rows' => [ 'broad', '(run_from(1000, 410) || 1)', 'true', 'NULL' ],
	'wide counts with a condition' => [ 'broad', '(run_from(1000, 410) || 1)', 'x @& genie_query(run_from(1000, 100), 60)', 'NULL' ],
	'50,000 elements' => [ 'words', 'evens(50000)', 'true', 100 ],
	'100,000 elements' => [ 'words', 'evens(100000)', 'true', 100 ],
	'100,000 elements as a condition too' => [ 'words', 'evens(49000)', 'x @& genie_query(evens(100000), 2)', 'NULL' ],
	'six lists of 90,000 elements and more' => [ 'words', 'evens(90000)', join(' AND ', map { "x @& genie_query(evens(${_}000), 2)" } 91 .. 95), 1000 ],
	'all words' => [ 'words', 'run_from(0, 100000)', 'true', 'NULL' ]);
my %conditions = (
	'a condition' => [ 'narrow', 'x @& genie_query(ARRAY[1,2,10,13,106], 2)' ],
	'three conditions' => [ 'narrow', 'x @& genie_query(ARRAY[1,2]) AND x @& genie_query(ARRAY[13,14,15]) AND x @& genie_query(run_from(100, 40))' ],
	'a condition with wide counts' => [ 'broad', 'x @& genie_query(run_from(1000, 410), 300)' ],
	'a condition of 100,000 elements' => [ 'words', 'x @& genie_query(evens(100000), 3)' ],
	'a condition that nothing fulfils' => [ 'narrow', 'x @& genie_query(ARRAY[1,2,3,4,5], 5)' ]);

# The questions as pairs of SQL: by the index, and by the table.
my %questions;
foreach my $what (keys %ordered)
{
	my ($table, $query, $condition, $limit) = @{ $ordered{$what} };
	my $select = "SELECT md5(string_agg(s::text, ' ')), count(*) FROM (SELECT ctid, x <&> $query AS d FROM $table WHERE $condition ORDER BY x <&> $query%s LIMIT $limit) s";
	$questions{$what} = [ "$by_index; " . sprintf($select, ''), "$by_table; " . sprintf($select, ', ctid') ];
}
foreach my $what (keys %conditions)
{
	my ($table, $condition) = @{ $conditions{$what} };
	my $select = "SELECT md5(string_agg(ctid::text, ' ' ORDER BY ctid)), count(*) FROM $table WHERE $condition";
	$questions{$what} = [ "$by_bitmap; $select", "$by_table; $select" ];
}
my %expected = map { $_ => sql($questions{$_}[1]) } sort keys %questions;

# All questions, and how many more columns of genie_stat have then.
sub ask_all
{
	my ($when, $columns, $prepare) = @_;
	my @before = split /\|/, stat_of($node, $columns);
	foreach my $what (sort keys %questions)
	{
		is(sql(($prepare // '') . $questions{$what}[0]), $expected{$what}, "$what: right rows, $when");
	}
	my @after = split /\|/, stat_of($node, $columns);
	return map { $after[$_] - $before[$_] } 0 .. $#after;
}

my ($worker) = ask_all('without the worker', 'answered_by_worker_cpu', 'SET genie.worker = off; ');
is($worker, 0, 'the worker did not count');
my ($no_room, $busy, $failed);
($worker, $no_room, $busy, $failed) = ask_all('with 4 MB', 'answered_by_worker_cpu, fallback_no_room, fallback_busy, fallback_failed');
cmp_ok($worker, '>', 10, 'some were counted by the worker');
cmp_ok($no_room, '>=', 2, 'for some there was no room');
is($busy + $failed, 0, 'and nothing else was in the way');

# one index alone, so that its image fits and only requests do not
sql(q{SELECT genie_prewarm('words_x')});
my ($rooms, $worker_before) = split /\|/, stat_of($node, 'fallback_no_room, answered_by_worker_cpu');
is(sql($questions{'50,000 elements'}[0]), $expected{'50,000 elements'}, 'a request that fits beside an image: right rows');
cmp_ok(stat_of($node, 'answered_by_worker_cpu'), '>', $worker_before, 'from the worker');
is(sql($questions{$_}[0]), $expected{$_}, "$_ from several sessions: right rows") foreach '100,000 elements', 'a condition of 100,000 elements';
my @sessions = map { start_sql($node, split /; /, $questions{'100,000 elements'}[0]) } 1 .. 8;
foreach (@sessions)
{
	ok(finish_sql($_), 'one of many large requests') or diag($_->{err});
	is($_->{out}, "$expected{'100,000 elements'}\n", 'has its rows');
}

# a batch that does not fit the requests' memory is several requests, all by the worker while nobody else asks
sql(q{SELECT genie_prewarm('words_x')});
foreach (
	[ 'a batch that is larger than memory for requests', 'genie_query(run_from(i * 7, 40))', 600, 100 ],
	[ 'a batch of large queries and small ones', 'CASE WHEN i % 2 = 0 THEN genie_query(evens(100000)) ELSE genie_query(run_from(i * 7, 40)) END', 6, 65536 ])
{
	my ($what, $query, $n, $k) = @$_;
	my $batch = "SELECT count(*), sum(match_count), sum(hashtext(tid::text || ' ' || query)) FROM genie_search('words_x', (SELECT array_agg($query) FROM generate_series(1, $n) i), $k)";
	my $rows = sql("SET genie.worker = off; $batch");
	my @before = split /\|/, stat_of($node, 'requests, answered_by_worker_cpu, answered_by_backend');
	is(sql($batch), $rows, "$what: right rows");
	my @after = split /\|/, stat_of($node, 'requests, answered_by_worker_cpu, answered_by_backend');
	cmp_ok($after[0] - $before[0], '>', 2, 'in several requests');
	cmp_ok($after[1] - $before[1], '>=', $n, 'counted by the worker');
	is($after[2] - $before[2], 0, 'alone');
	my @sessions = map { start_sql($node, $batch) } 1 .. 4;
	foreach (@sessions)
	{
		ok(finish_sql($_), 'one of several at once') or diag($_->{err});
		is($_->{out}, "$rows\n", 'has its rows');
	}
}

# Results stay in a request until rows were looked up: that memory comes back whatever ends a call, or there would soon be none.
my $small = "SELECT count(*) FROM genie_search('words_x', (SELECT array_agg(genie_query(run_from(i * 7, 40))) FROM generate_series(1, 20) i), 200)";
my ($room_before, $worker_answers) = split /\|/, stat_of($node, 'fallback_no_room, answered_by_worker_cpu');
sql(<<"SQL");
SET genie.fault_point = 'batch-answered';
SET genie.fault_action = 'error';
DO \$\$
DECLARE
	failed int := 0;
BEGIN
	FOR i IN 1 .. 100 LOOP
		PERFORM set_config('genie.fault_skip', (i % 2)::text, false);
		BEGIN
			EXECUTE '@{[ $small =~ s/'/''/gr ]}';
		EXCEPTION WHEN OTHERS THEN
			failed := failed + 1;
		END;
	END LOOP;
	ASSERT failed >= 50, failed;
END \$\$;
SQL
foreach (1 .. 30)
{
	my $session = start_sql($node, "SET genie.fault_point = 'batch-answered'", "SET genie.fault_action = 'error'", $small);
	ok(!finish_sql($session), 'a call that fails');
}
my $fails = join '', map { "DECLARE c$_ CURSOR FOR $small; SAVEPOINT s; FETCH c$_; ROLLBACK TO s;\n" } 1 .. 40;
my ($status, $out, $err) = $node->psql('postgres', "BEGIN; SET LOCAL genie.fault_point = 'batch-answered'; SET LOCAL genie.fault_action = 'error';\n$fails SET LOCAL genie.fault_point = ''; $small; COMMIT", on_error_stop => 0);
is($out, 20 * 200, 'a transaction goes on after many cursors that failed');
is(scalar(() = $err =~ /fault point/g), 40, 'each of them did');

# nor does it take all memory while many look up rows at the same time
my $gate = $node->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(714100)');
my @stopped = map { start_sql($node, "SET genie.fault_point = 'batch-answered'", "SET genie.fault_action = 'wait'", $small) } 1 .. 24;
wait_until($node, "SELECT count(*) = 24 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
sql($small);
$gate->query_safe('SELECT pg_advisory_unlock(714100)');
ok(finish_sql($_), 'one of many calls that were stopped') or diag($_->{err}) foreach @stopped;
$gate->quit;
sql($small) foreach 1 .. 30;
is(stat_of($node, 'fallback_no_room'), $room_before, 'there was room for all of many calls');
cmp_ok(stat_of($node, 'answered_by_worker_cpu') - $worker_answers, '>=', 20 * 160, 'and the worker answered');

# ---- enough memory: everything is counted by the worker ----

$node->append_conf('postgresql.conf', "genie.shared_memory = 64MB\n");
$node->restart;
my ($backend, $requests);
($worker, $backend, $requests) = ask_all('with 64 MB', 'answered_by_worker_cpu, answered_by_backend, requests');
is($backend, 0, 'nothing is left to backends');
cmp_ok($worker, '>=', $requests, 'all was counted by the worker');

# ---- no memory for images at all ----

$node->append_conf('postgresql.conf', "genie.shared_memory = 0\n");
$node->restart;
($worker, $no_room) = ask_all('without memory for images', 'answered_by_worker_cpu, fallback_no_worker');
is($worker, 0, 'the worker counts nothing');
cmp_ok($no_room, '>=', scalar(keys %ordered), 'for there is none');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|ERROR:  (?!fault point)/, 'no error but those asked for, no failed assertion');

done_testing();
