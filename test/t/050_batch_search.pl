# genie_search() while other sessions change the table, merge, vacuum and use TIDs again.  In the middle of a large call: its
# progress, cancel, termination, the worker's end.  Also many queries in little memory, an index that is too new for the
# snapshot, tables that are not heaps, and tables that are not cached.
#
# The oracle of each search is a sequential scan under the same snapshot; of a search by distance, an index scan.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = genie_node('batch');
sub sql { return $node->safe_psql('postgres', @_); }

sql(<<'SQL');
CREATE EXTENSION genie;
CREATE TABLE v (x int[], id int);
CREATE INDEX v_x ON v USING genie (x);
CREATE TABLE questions AS SELECT i, genie_query(ARRAY[i % 3, 10 + i % 4, 20 + i % 50, 5000 + i], 1) AS q FROM generate_series(1, 40) i;
INSERT INTO questions VALUES (41, '{0:int:[10,13]}'), (42, '{}');
CREATE FUNCTION oracle(k int) RETURNS text LANGUAGE sql SET enable_indexscan = off SET enable_bitmapscan = off AS $$
	SELECT md5(string_agg(format('%s %s %s', i, tid, match_count), ';' ORDER BY i, n)) FROM questions,
		LATERAL (SELECT *, row_number() OVER () AS n FROM (SELECT ctid AS tid, -(x <&> q) AS match_count FROM v ORDER BY x <&> q, ctid LIMIT k) r) s $$;
CREATE FUNCTION batch(k int) RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(format('%s %s %s', query, tid, match_count), ';' ORDER BY n))
	FROM genie_search('v_x', (SELECT array_agg(q ORDER BY i) FROM questions), k) WITH ORDINALITY s (query, tid, match_count, n) $$;
-- each question so many times
CREATE FUNCTION many(times int) RETURNS genie_query[] LANGUAGE sql AS
	$$ SELECT array_agg(q ORDER BY n, i) FROM questions, generate_series(1, times) n $$;
SQL

my $preloaded = sql('SHOW shared_preload_libraries') =~ /genie/;

# A third of the rows is dead already when searches begin, and rows that match best are among them.
sub fresh_table
{
	sql(<<'SQL');
DROP INDEX IF EXISTS v_x;
TRUNCATE v;
INSERT INTO v SELECT ARRAY[i % 3, 10 + i % 4, 20 + i % 50], i FROM generate_series(1, 6000) i;
CREATE INDEX v_x ON v USING genie (x) WITH (pending_limit = 64);
INSERT INTO v SELECT CASE WHEN i % 20 > 0 THEN ARRAY[i % 3, 10 + i % 4, 20 + i % 50] END, i FROM generate_series(6001, 6100) i;
DELETE FROM v WHERE id % 3 = 1;
SQL
	return;
}

# Sessions stop at the fault point while this one holds the lock.
my $gate = $node->background_psql('postgres');
sub stop_there { $gate->query_safe('SELECT pg_advisory_lock(714100)'); return; }
sub go_on { $gate->query_safe('SELECT pg_advisory_unlock(714100)'); return; }
sub wait_for_stopped { return wait_until($node, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"); }
sub fault { my ($skip) = @_; return ("SET genie.fault_point = 'batch-answered'", "SET genie.fault_action = 'wait'", "SET genie.fault_skip = $skip"); }

sub use_tids_again
{
	sql('VACUUM v');
	sql('INSERT INTO v SELECT ARRAY[0, 1, 2, 10, 11, 12, 13, 20, 21, 22], 100000 + i FROM generate_series(1, 2000) i');
	my $again = sql('SELECT count(*) FROM v WHERE id > 100000 AND (ctid::text::point)[0] < (SELECT max((ctid::text::point)[0]) FROM v WHERE id < 100000)');
	cmp_ok($again, '>', 1000, 'TIDs are used again');
	return;
}

sub merge_often
{
	foreach my $round (1 .. 3)
	{
		sql("INSERT INTO v SELECT ARRAY[i % 3, 10, 11, 12], 200000 + i FROM generate_series(1, 3000) i; SELECT genie_merge('v_x')");
		sql("DELETE FROM v WHERE id > 200000 AND id % 5 = $round");
		sql("VACUUM v; SELECT genie_merge('v_x')");
	}
	return;
}

# ---- changes between an answer and the look into the table, and between rounds ----

my %changes = (
	'VACUUM, and TIDs are used again' => \&use_tids_again,
	'merges' => \&merge_often,
	'REINDEX of another index, ANALYZE and updates' => sub { sql("UPDATE v SET id = -id WHERE id % 4 = 0; ANALYZE v; UPDATE v SET x = '{0,1,2}' WHERE id % 7 = 0"); },
	'deletes of what is found' => sub { sql('DELETE FROM v WHERE id % 2 = 0'); sql('VACUUM v'); });
foreach my $worker ('on', 'off')
{
	foreach my $change (sort keys %changes)
	{
		foreach my $case ([ 0, 10 ], [ 1, 3 ], [ 0, 5000 ])
		{
			my ($skip, $k) = @$case;
			fresh_table();
			stop_there();
			my $session = start_sql($node, "SET genie.worker = $worker", fault($skip), 'BEGIN ISOLATION LEVEL REPEATABLE READ', "SELECT oracle($k)", "SELECT batch($k)", 'COMMIT');
			wait_for_stopped();
			$changes{$change}->();
			go_on();
			ok(finish_sql($session), 'the search ends') or diag($session->{err});
			my ($expected, $got) = split /\n/, $session->{out};
			is($got, $expected, "k = $k, worker $worker: the rows are those of its snapshot; meanwhile, in round " . ($skip + 1) . ": $change");
			is(sql("SELECT oracle($k) = batch($k)"), 't', 'and the next search has the new ones') unless $change =~ /updates/;
		}
	}
}

# ---- the same by distance: the oracle is an index scan, whose first round has the same candidates ----

sql(<<'SQL');
CREATE FUNCTION vector(i int) RETURNS real[] LANGUAGE sql IMMUTABLE AS
	$$ SELECT array_agg(((hashint8((i % 1500)::bigint * 64 + j) & 1023) + (i % 20) * 400)::real ORDER BY j) FROM generate_series(1, 8) j $$;
CREATE TABLE w (id int, v real[]);
CREATE INDEX w_v ON w USING genie (v genie_l2_ops);
CREATE FUNCTION w_oracle(k int) RETURNS text LANGUAGE sql SET enable_seqscan = off AS $$
	SELECT md5(string_agg(format('%s %s %s', i, tid, distance), ';' ORDER BY i, n)) FROM generate_series(1, 20) i,
		LATERAL (SELECT *, row_number() OVER () AS n FROM (SELECT ctid AS tid, v <-> vector(i * 3) AS distance FROM w ORDER BY v <-> vector(i * 3) LIMIT k) r) s $$;
CREATE FUNCTION w_batch(k int) RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(format('%s %s %s', query, tid, distance), ';' ORDER BY n))
	FROM genie_search('w_v', (SELECT array_agg(vector(i * 3) ORDER BY i) FROM generate_series(1, 20) i), k) WITH ORDINALITY s (query, tid, distance, n) $$;
SQL
foreach my $worker ('on', 'off')
{
	sql(<<'SQL');
DROP INDEX IF EXISTS w_v;
TRUNCATE w;
INSERT INTO w SELECT i, vector(i) FROM generate_series(1, 5000) i;
CREATE INDEX w_v ON w USING genie (v genie_l2_ops);
INSERT INTO w SELECT i, vector(i) FROM generate_series(5001, 5100) i;
DELETE FROM w WHERE id % 3 = 1;
SQL
	stop_there();
	my $session = start_sql($node, "SET genie.worker = $worker", fault(0), 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT w_oracle(50)', 'SELECT w_batch(50)', 'COMMIT');
	wait_for_stopped();
	sql('DELETE FROM w WHERE id % 5 = 0; INSERT INTO w SELECT 10000 + i, vector(i * 3) FROM generate_series(1, 20) i');
	sql('VACUUM w');
	sql('INSERT INTO w SELECT 20000 + i, vector(i) FROM generate_series(1, 2000) i');
	go_on();
	ok(finish_sql($session), 'the search by distance ends') or diag($session->{err});
	my ($expected, $got) = split /\n/, $session->{out};
	is($got, $expected, "worker $worker: the nearest rows are those of its snapshot, while others come, go, and use TIDs again");
	is(sql('SELECT w_oracle(50) = w_batch(50)'), 't', 'and the next search has the new ones');
}

# everything at once
fresh_table();
my @searches = map { start_sql($node, $_ % 2 ? 'SET genie.worker = off' : 'SET genie.worker = on', ('BEGIN ISOLATION LEVEL REPEATABLE READ', "SELECT oracle($_) = batch($_)", 'COMMIT') x 8) } 3 .. 6;
my @writers = map { start_sql($node, map { ("INSERT INTO v SELECT ARRAY[i % 3, 10 + i % 4], 500000 + i FROM generate_series(1, 500) i", "DELETE FROM v WHERE id % 23 = $_", "SELECT genie_merge('v_x')", 'VACUUM v') } 1 .. 5) } 1 .. 2;
foreach (@searches)
{
	ok(finish_sql($_), 'a search among writers ends') or diag($_->{err});
	is($_->{out}, "t\n" x 8, 'with the right rows');
}
foreach (@writers)
{
	finish_sql($_);
	is($_->{err} =~ s/.*deadlock detected.*//sr, '', 'a writer ends');
}
is(sql("SELECT count(*) FROM genie_check('v_x')"), 0, 'the index is sound');

# ---- in the middle of a large call ----

fresh_table();
sql("VACUUM v; SELECT genie_merge('v_x')");
my $progress = 'batch_searches, batch_queries, batch_queries_done';
my $large = "SELECT count(*) FROM genie_search('v_x', many(1000), 2)";
foreach my $end ('pg_cancel_backend', 'pg_terminate_backend')
{
	stop_there();
	my $session = start_sql($node, fault(3), $large);
	wait_for_stopped();
	my ($searches, $queries, $done) = split /\|/, stat_of($node, $progress);
	is("$searches $queries", $preloaded ? '1 42000' : '0 0', 'genie_stat shows the search');
	cmp_ok($done, $preloaded ? '>' : '==', 0, 'and how far it is');
	cmp_ok($done, '<', 42000, 'which is not all');
	sql("SELECT $end(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
	ok(!finish_sql($session), "$end ends it");
	like($session->{err}, $end =~ /cancel/ ? qr/canceling statement due to user request/ : qr/terminating connection due to administrator command/, 'and it says so');
	ok(wait_until($node, "SELECT ($progress) = (0, 0, 0) FROM genie_stat"), 'nothing is left of it');
	go_on();
}
foreach my $worker ('on', 'off')
{
	# every row for every query: 168 million of them, so that no machine is done before
	my ($result, $out, $err) = $node->psql('postgres', "SET genie.worker = $worker; SET statement_timeout = 300; SELECT count(*) FROM genie_search('v_x', many(1000), 5000)");
	like($err, qr/canceling statement due to statement timeout/, "a timeout ends it, worker $worker");
	is(stat_of($node, $progress), '0|0|0', 'nothing is left of it');
}

SKIP:
{
	skip 'there is no worker', 4 unless $preloaded && sql('SELECT worker_pid IS NOT NULL FROM genie_stat') eq 't';
	my $answers = "SELECT count(*), sum(match_count), sum(hashtext(tid::text)) FROM genie_search('v_x', many(500), 5)";
	my $expected = sql("SET genie.worker = off; $answers");
	my @sessions = map { start_sql($node, $answers) } 1 .. 3;
	foreach (1 .. 2)
	{
		usleep(200_000);
		my $pid = stat_of($node, 'worker_pid');
		kill 'TERM', $pid if $pid;
	}
	foreach (@sessions)
	{
		ok(finish_sql($_), 'a search ends although the worker does') or diag($_->{err});
	}
	is(join('', map { $_->{out} } @sessions), "$expected\n" x 3, 'with all its rows');
}

# the worker ends while a piece waits to be counted, and is back when a later one is
SKIP:
{
	skip 'there is no worker', 4 unless $preloaded && sql('SELECT worker_pid IS NOT NULL FROM genie_stat') eq 't';
	my $expected = sql("SET genie.worker = off; $large");
	stop_there();
	my $session = start_sql($node, fault(1), "SET genie.fault_point = 'batch-opened'", $large);
	wait_for_stopped();
	kill 'TERM', stat_of($node, 'worker_pid');
	wait_until($node, 'SELECT worker_pid IS NULL FROM genie_stat');
	my $missed = stat_of($node, 'fallback_no_worker');
	go_on();
	stop_there();
	wait_for_stopped();
	wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
	cmp_ok(stat_of($node, 'fallback_no_worker'), '>', $missed, 'a piece is counted without the worker');
	my $counted = stat_of($node, 'answered_by_worker_cpu');
	go_on();
	ok(finish_sql($session), 'the search ends') or diag($session->{err});
	is($session->{out}, "$expected\n", 'with its rows');
	cmp_ok(stat_of($node, 'answered_by_worker_cpu'), '>', $counted + 4000, 'of which others are counted by the next worker');
}

# ---- 100,000 queries in bounded memory ----

# Memory that was the process's own at some time; pages of shared memory count when it has touched them, so they are touched
# before.
SKIP:
{
	skip 'no /proc', 4 unless -r '/proc/self/status';
	foreach my $worker ('on', 'off')
	{
		my $session = $node->background_psql('postgres');
		my $pid = $session->query_safe('SELECT pg_backend_pid()');
		my $peak = sub { return slurp_file("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB/m ? $1 : die "no VmHWM"; };
		my $search = sub { return $session->query_safe("SELECT count(*), count(DISTINCT query) FROM genie_search('v_x', (SELECT array_agg(q) FROM asked WHERE n <= $_[0]), 10)"); };
		$session->query_safe("SET genie.worker = $worker; CREATE TEMP TABLE asked AS SELECT n, q FROM generate_series(1, 2400) n, questions");
		is($search->(200), '84000|8400', "8,400 queries, worker $worker");
		my $before = $peak->();
		is($search->(2400), '1008000|100800', '100,800 queries');
		my $more = $peak->() - $before;
		note("worker $worker: $before kB for 8,400 queries, $more kB more for 100,800");
		cmp_ok($more, '<', 40 * 1024, 'take little more memory, for the array itself');
		$session->quit;
	}
}

# ---- an index that an old transaction must not use ----

sql("CREATE TABLE chains (x int[], note int); INSERT INTO chains VALUES ('{1}', 0)");
my $old = $node->background_psql('postgres', on_error_stop => 0);
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM chains');
sql("UPDATE chains SET x = '{2}'");
sql('CREATE INDEX chains_x ON chains USING genie (x)');
is(sql(q{SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'chains_x'::regclass}), 't', 'an index whose table has chains that differ');
$old->query(q{SELECT * FROM genie_search('chains_x', ARRAY['{0:int:1}'::genie_query])});
like($old->{stderr}, qr/ERROR:  index "chains_x" cannot be used by this transaction yet\nDETAIL:.*\nHINT:  Search in a transaction that begins when those have ended/, 'is refused to a transaction that sees the old rows');
$old->quit;
is(sql(q{SELECT match_count FROM genie_search('chains_x', ARRAY['{0:int:2}'::genie_query])}), 1, 'and serves those that begin later');

$gate->quit;

# ---- another table access method; few buffers, all of which others may need, and pages that are read ahead ----

sub stat_fetched { return sql(q{SELECT idx_tup_fetch FROM pg_stat_user_indexes WHERE indexrelname = 'v_x'}); }
my $other = module_library('genie_other_table', PostgreSQL::Test::Utils::tempdir());
sql(q{CREATE FUNCTION scans(k int) RETURNS text LANGUAGE sql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
	SELECT md5(string_agg(format('%s %s %s', i, tid, match_count), ';' ORDER BY i, n)) FROM questions,
		LATERAL (SELECT *, row_number() OVER () AS n FROM (SELECT ctid AS tid, -(x <&> q) AS match_count FROM v ORDER BY x <&> q LIMIT k) r) s $$});
sql("CREATE FUNCTION other_table(internal) RETURNS table_am_handler LANGUAGE C AS '$other', 'genie_other_table_handler'; CREATE ACCESS METHOD other_table TYPE TABLE HANDLER other_table");
$node->append_conf('postgresql.conf', "shared_buffers = 640kB\neffective_io_concurrency = 8\n");
$node->restart;
foreach my $method ('heap', 'other_table')
{
	sql("DROP TABLE v; CREATE TABLE v (x int[], id int, note text) USING $method; CREATE INDEX v_x ON v USING genie (x) WITH (pending_limit = 64)");
	sql("INSERT INTO v SELECT ARRAY[i % 3, 10 + i % 4, 20 + i % 50], i, repeat('x', i % 900) FROM generate_series(1, 6000) i");
	# HOT chains, some of which are pruned; dead rows; rows on other pages than their root
	sql("UPDATE v SET note = 'new' WHERE id % 5 = 0; VACUUM v; UPDATE v SET note = note || 'er' WHERE id % 3 = 0; DELETE FROM v WHERE id % 7 = 0; UPDATE v SET note = repeat('y', 900) WHERE id % 50 = 1");
	foreach my $isolation ('REPEATABLE READ', 'SERIALIZABLE')
	{
		is(sql("BEGIN ISOLATION LEVEL $isolation; SELECT scans($_) = batch($_); COMMIT"), 't', "$method, k = $_, $isolation: the rows of index scans") foreach 1, 10, 300;
	}
	my $before = stat_fetched();
	sql('SELECT batch(10); SELECT pg_stat_force_next_flush()');	# else the session may tell it after it has ended
	cmp_ok(stat_fetched() - $before, '>=', 300, 'rows that were fetched are counted');
}

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminating any other active/, 'no assertion failed');
$node->stop;
done_testing();
