# An approximate index that learns again (merge/genie_retrain.c): crashes, errors and a cancelled merge on the way, scans and inserts
# meanwhile, replay on a standby, and scans there whose pages are used again.
#
# The oracle is the sequential scan, sorted by (distance, ctid).  A scan that has all rows as candidates must give the same, however
# the rows are signed.  With the usual number it must find most of the nearest rows once the index has learned.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $lock = 714100;
my $node = genie_node('again', init => { allows_streaming => 1, %{ without_checksums() } },
	conf => "restart_after_crash = on\nwal_consistency_checking = 'generic'\nmaintenance_work_mem = '1MB'\n");
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION genie;
CREATE EXTENSION pageinspect;
CREATE FUNCTION vec(i bigint, factor float8 = 1) RETURNS real[] LANGUAGE sql IMMUTABLE AS
	'SELECT array_agg(factor * ((hashint8extended(i, j) & 1048575) / 1048576.0) ORDER BY j)::real[] FROM generate_series(1, 8) j';
CREATE FUNCTION add_rows(name regclass, a int, b int, factor float8 = 1) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %s SELECT i, CASE WHEN i %% 100 > 0 THEN vec(i, %s) END FROM generate_series(%s, %s) i', name, factor, a, b);
END $$;
-- a table whose index has learned from rows of another scale than most are of, with several segments
CREATE FUNCTION make(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %1$s (id int, v real[]) WITH (autovacuum_enabled = off); CREATE INDEX %1$s_v ON %1$s USING genie (v genie_l2_ops)', name);
	PERFORM add_rows(name::regclass, 1, 400, 0.001), genie_merge((name || '_v')::regclass);
	PERFORM add_rows(name::regclass, 401, 8000);
END $$;
CREATE FUNCTION by_index(name text) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off SET enable_sort = off SET genie.candidates = 100000 AS $$
DECLARE
	ids text;
BEGIN
	EXECUTE format('SELECT string_agg(id::text, '','') FROM (SELECT id FROM %s ORDER BY v <-> vec(9000)) s', name) INTO ids;
	RETURN ids;
END $$;
CREATE FUNCTION by_table(name text) RETURNS text LANGUAGE plpgsql SET enable_indexscan = off AS $$
DECLARE
	ids text;
BEGIN
	EXECUTE format('SELECT string_agg(id::text, '','') FROM (SELECT id FROM %s ORDER BY v <-> vec(9000), ctid) s', name) INTO ids;
	RETURN ids;
END $$;
-- how many of the ten nearest rows of each of 50 queries an index scan finds, and a batch search
CREATE FUNCTION found(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	by_scan text;
	by_batch text;
BEGIN
	SET LOCAL enable_seqscan = off;
	EXECUTE format('SELECT string_agg(tid::text, '','' ORDER BY q, tid) FROM generate_series(10001, 10050) q, LATERAL (SELECT ctid AS tid FROM %s ORDER BY v <-> vec(q) LIMIT 10) s', name) INTO by_scan;
	EXECUTE format('SELECT string_agg(tid::text, '','' ORDER BY query, tid) FROM genie_search(%L, (SELECT array_agg(vec(q)) FROM generate_series(10001, 10050) q), 10)', name || '_v') INTO by_batch;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	CREATE TEMP TABLE nearest (tid text, n int) ON COMMIT DROP;
	EXECUTE format('INSERT INTO nearest SELECT tid::text, row_number() OVER (ORDER BY q, tid) FROM generate_series(10001, 10050) q, LATERAL (SELECT ctid AS tid FROM %s ORDER BY v <-> vec(q) LIMIT 10) s', name);
	RETURN (SELECT count(*) > 475 FROM (SELECT unnest(string_to_array(replace(by_scan, '),(', ');('), ';')) INTERSECT ALL SELECT tid FROM nearest) s)
		|| ' ' || (SELECT count(*) > 475 FROM (SELECT unnest(string_to_array(replace(by_batch, '),(', ');('), ';')) INTERSECT ALL SELECT tid FROM nearest) s);
END $$;
SQL

sub training { my ($on, $table) = @_; return info($on, "${table}_v", 'training'); }

# Does the table's index give what the table has, and is it well-formed?
sub agrees
{
	my ($on, $table, $when) = @_;
	return is($on->safe_psql('postgres', "SELECT by_index('$table') IS NOT DISTINCT FROM by_table('$table'); SELECT * FROM genie_check('${table}_v')"), 't', $when);
}

# Stops a session that trains a table's index at its first spilled run; the caller goes on.
sub start_training
{
	my ($table, $command) = @_;
	my $holder = $node->background_psql('postgres');
	$holder->query_safe("SELECT pg_advisory_lock($lock)");
	my $session = start_sql($node, q{SET genie.fault_point = 'run-spilled'; SET genie.fault_action = wait}, $command);
	wait_until($node, "SELECT count(*) >= 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
	return ($session, $holder);
}

sub go_on
{
	my ($holder) = @_;
	$holder->query_safe("SELECT pg_advisory_unlock($lock)");
	return $holder->quit;
}

# ---- crashes and errors ----

my $stderr;
my $merge = q{SELECT genie_merge('t_v')};
$node->safe_psql('postgres', q{SELECT make('t')});
# an error in its first run leaves an index that has nothing to merge but by training
isnt($node->psql('postgres', "SET genie.fault_point = 'run-spilled'; SET genie.fault_action = error; $merge", stderr => \$stderr), 0, 'an error while rows are signed');
is(info($node, 't_v', 'training, pending_rows, unreachable_pages'), 'fits|0|0', 'leaves the index as it was, and no page');
agrees($node, 't', 'after an error');
isnt($node->safe_psql('postgres', q{SELECT found('t')}), 'true true', 'it misses rows');
foreach my $point (qw(run-spilled segment-page segment-before-root flip-before))
{
	isnt($node->psql('postgres', "SET genie.fault_point = '$point'; SET genie.fault_action = error; $merge", stderr => \$stderr), 0, "an error at $point");
	agrees($node, 't', "after an error at $point");
	my $log_at = -s $node->logfile;
	ok(!finish_sql(start_sql($node, "SET genie.fault_point = '$point'; SET genie.fault_action = crash", $merge)), "the session dies at $point");
	restarted($node, $log_at);
	is(training($node, 't'), 'fits', "not trained after a crash at $point");
	agrees($node, 't', "after a crash at $point");
}
cmp_ok(info($node, 't_v', 'unreachable_pages'), '>', 0, 'pages were written in vain');
# behind the flip's record, which may not have come to the disk
my $log_at = -s $node->logfile;
ok(!finish_sql(start_sql($node, q{SET genie.fault_point = 'flip-after'; SET genie.fault_action = crash}, $merge)), 'the session dies when it has trained');
restarted($node, $log_at);
agrees($node, 't', 'after a crash behind the flip');
$node->safe_psql('postgres', 'VACUUM t');
is(info($node, 't_v', 'training, unreachable_pages'), 'fits, trained again|0', 'VACUUM trains, and finds the pages');
is($node->safe_psql('postgres', q{SELECT found('t')}), 'true true', 'the nearest rows are found');
agrees($node, 't', 'vacuumed');
$node->stop('immediate');
$node->start;
is(training($node, 't'), 'fits, trained again', 'the training stays');
agrees($node, 't', 'after another crash');

# ---- scans, inserts and VACUUM meanwhile; a cancelled merge ----

$node->safe_psql('postgres', q{SELECT make('m')});
my $cursor = $node->background_psql('postgres');
$cursor->query_safe('BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL genie.candidates = 5; DECLARE c CURSOR FOR SELECT id FROM m ORDER BY v <-> vec(9000)');
my @rows = split /\n/, $cursor->query_safe('FETCH 40 FROM c');
my ($session, $holder) = start_training('m', q{SELECT genie_merge('m_v')});
$node->safe_psql('postgres', q{SELECT add_rows('m', 8001, 8400)});
is($node->safe_psql('postgres', q{SELECT by_index('m') = by_table('m')}), 't', 'while rows are signed, with rows inserted meanwhile');
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ '^SELECT genie_merge'});
ok(!finish_sql($session), 'it can be cancelled');
like($session->{err}, qr/canceling statement due to user request/, 'which is told');
go_on($holder);
is(training($node, 'm'), 'fits', 'then it is not trained');
agrees($node, 'm', 'cancelled');
($session, $holder) = start_training('m', 'VACUUM m');
$node->safe_psql('postgres', q{SELECT add_rows('m', 8401, 8800)});
go_on($holder);
ok(finish_sql($session), 'VACUUM ends');
is(info($node, 'm_v', 'training, pending_rows'), 'fits, trained again|400', 'it trains; rows that came meanwhile are pending');
agrees($node, 'm', 'with pending rows');
is($node->safe_psql('postgres', q{SELECT found('m')}), 'true true', 'and finds the nearest rows');
like(slurp_file($node->logfile, $log_at), qr/LOG:  index "postgres\.public\.m_v" has learned again, from rows that are unlike those of before\n.*DETAIL:  All of its 8400 rows have new signatures\./, 'the log tells');
$node->safe_psql('postgres', q{SELECT genie_merge('m_v'); SELECT add_rows('m', 8801, 9200), genie_merge('m_v')});
push @rows, split /\n/, $cursor->query_safe('FETCH ALL FROM c');
is(join(',', sort { $a <=> $b } @rows), join(',', 1 .. 8000), 'a cursor from before gives all rows of its snapshot, each once');
$cursor->query_safe('COMMIT');
$cursor->quit;
agrees($node, 'm', 'merged');

# sessions whose rows drift from one scale to the next
$node->safe_psql('postgres', q{CREATE TABLE w (id int, v real[]) WITH (autovacuum_enabled = off); CREATE INDEX w_v ON w USING genie (v genie_l2_ops) WITH (pending_limit = 64)});
my $load = start_load($node, 6, 4, insert => [ 5, q{INSERT INTO w SELECT :n, vec(i, power(0.01, extract(second FROM now())::int / 2 % 3)) FROM generate_series(:n, :n + 300) i;} ],
	search => [ 3, q{SELECT 1 / (count(*) = count(DISTINCT tid))::int FROM (SELECT ctid AS tid FROM w ORDER BY v <-> vec(:n) LIMIT 100) s;} ],
	batch => [ 1, q{SELECT count(*) FROM genie_search('w_v', ARRAY[vec(:n), vec(:n + 1)], 10);} ],
	merge => [ 1, q{SELECT genie_merge('w_v');} ],
	drift => [ 1, 'DELETE FROM w;' ]);
$load->{run}->finish;
unlike($load->{out}, qr/ERROR|aborted/, 'sessions insert, delete and search while others train');
agrees($node, 'w', 'after the load');

# ---- a standby ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('again_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\n");
$standby->start;
$node->safe_psql('postgres', q{SELECT make('s')});
isnt($node->psql('postgres', "SET genie.fault_point = 'run-spilled'; SET genie.fault_action = error; SELECT genie_merge('s_v')", stderr => \$stderr), 0, 'rows are merged, but not signed anew');
catch_up($node, $standby);
agrees($standby, 's', 'not trained on a standby');
my $pages = $standby->safe_psql('postgres', q{SELECT pg_relation_size('s_v') / 8192 - 1});
my $stamps = "SELECT encode(substr(get_raw_page('s_v', b::int), 8177, 8), 'hex') FROM generate_series(1, $pages) b";
my %before = map { $_ => 1 } split /\n/, $standby->safe_psql('postgres', "SELECT encode(substr(get_raw_page('s_v', b::int), 8177, 8), 'hex') FROM generate_series(1, $pages) b WHERE get_byte(get_raw_page('s_v', b::int), 8188) IN (3, 4)");
my $nearest = 'SELECT id FROM s ORDER BY v <-> vec(9000)';
my %cursors;
foreach my $name (qw(begun ordered untouched))
{
	my $rounds = $name eq 'begun' ? 'SET genie.quantized_vectors = off;' : '';

	$cursors{$name} = $standby->background_psql('postgres', on_error_stop => 0);
	$cursors{$name}->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET enable_seqscan = off; SET enable_sort = off; SET genie.candidates = 5; SET work_mem = 64; SET genie.worker = off; $rounds DECLARE c CURSOR FOR $nearest; SELECT count(*) FROM s");
}
@rows = split /\n/, $cursors{begun}->query('FETCH 40 FROM c');
is(scalar(@rows), 40, 'a cursor on the standby gives rows by match count');
my @ordered = split /\n/, $cursors{ordered}->query('FETCH 40 FROM c');
is(scalar(@ordered), 40, 'and one behind its first candidates in exact order');
my $standby_holder = $standby->background_psql('postgres');
$standby_holder->query_safe("SELECT pg_advisory_lock($lock)");
my $batch = q{SELECT count(*), count(DISTINCT (query, tid)) FROM genie_search('s_v', (SELECT array_agg(vec(q)) FROM generate_series(10001, 10050) q), 10)};
my $searcher = start_sql($standby, q{SET genie.fault_point = 'batch-opened'; SET genie.fault_action = wait; SET genie.worker = off}, $batch);
wait_until($standby, "SELECT count(*) >= 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
$node->safe_psql('postgres', q{SELECT genie_merge('s_v')});
catch_up($node, $standby);
is(training($standby, 's'), 'fits, trained again', 'it learns with its primary');
agrees($standby, 's', 'trained on a standby');
is($node->safe_psql('postgres', q{SELECT found('s')}), 'true true', 'the primary finds the nearest rows');
my $left;
foreach my $round (1 .. 20)
{
	$node->safe_psql('postgres', q{SELECT add_rows('s', 20001, 24000); SELECT genie_merge('s_v')});
	catch_up($node, $standby);
	$left = grep { $before{$_} } split /\n/, $standby->safe_psql('postgres', $stamps);
	last if $left == 0;
}
is($left, 0, 'the pages of before were used again');
$standby_holder->query_safe("SELECT pg_advisory_unlock($lock)");
$standby_holder->quit;
ok(finish_sql($searcher), 'a batch search that has compiled its queries compiles them again') or diag($searcher->{err});
is($searcher->{out}, "500|500\n", 'and finds rows');
is(scalar(split /\n/, $cursors{untouched}->query('FETCH ALL FROM c')), 8000, 'a cursor that has given nothing gives all rows');
push @ordered, split /\n/, $cursors{ordered}->query('FETCH ALL FROM c');
is(scalar(keys %{ { map { $_ => 1 } @ordered } }), 8000, 'exact order needs no signatures: that cursor gives each row');
is(scalar(@ordered), 8000, 'once');
$cursors{begun}->query('FETCH ALL FROM c');
like($cursors{begun}->{stderr}, qr/ERROR:  index "s_v" has learned again during a scan\nDETAIL:  The primary has used pages again that this standby was still reading\.\nHINT:  Run the query again\./, 'another one is told');
$_->quit foreach values %cursors;
agrees($standby, 's', 'in the end');
unlike(slurp_file($standby->logfile), qr/PANIC|inconsistent page/, 'replay writes the pages that the primary wrote');
$standby->stop;
$node->stop;
done_testing();
