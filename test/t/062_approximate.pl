# Approximate operator classes: training, rows before it, and scans that put candidates in order (test/module/genie_floors.c is
# the class: vectors rounded down to a grid, by l1).
#
# The oracle is the sequential scan, sorted by (distance, ctid), NULLs last.  Where a scan has as many candidates as there
# are rows it must give the same; with fewer, the same rows, each once.  The table has NULLs, empty vectors and equal ones.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $lock = 714100;
my $library = module_library('genie_floors', PostgreSQL::Test::Utils::tempdir());
my $script = slurp_file("$ENV{TESTDIR}/test/module/genie_floors.sql") =~ s/MODULE_PATHNAME/$library/gr;
my $node = genie_node('approximate', init => { allows_streaming => 1, %{ without_checksums() } }, conf => "restart_after_crash = on\n");
$node->safe_psql('postgres', "CREATE EXTENSION genie;\n$script");
is($node->safe_psql('postgres', q{SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'genie_floors_ops'}), 't', 'amvalidate accepts the class');

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION vector(i int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN i % 50 = 0 THEN NULL WHEN i % 37 = 0 THEN '{}' ELSE array_agg((hashint8((i % 1999)::bigint * 256 + j) & 1023) - 100 ORDER BY j) END FROM generate_series(1, 8) j $$;
CREATE FUNCTION add_rows(name regclass, a int, b int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %s (id, v, note) SELECT i, vector(i), i %% 10 FROM generate_series(%s, %s) i', name, a, b);
END $$;
CREATE FUNCTION make(name text, n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %s (id int, v int[], note int) WITH (autovacuum_enabled = off, fillfactor = 90)', name);
	PERFORM add_rows(name::regclass, 1, n);
	EXECUTE format('CREATE INDEX %1$s_v ON %1$s USING genie (v genie_floors_ops) WITH (pending_limit = 4096)', name);
END $$;

-- "id distance" of the rows, by the index, whose use is verified, and by the table; each sorted: as a set
CREATE FUNCTION by_index(query text, sorted bool) RETURNS text[] LANGUAGE plpgsql
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
	line text;
	plan text := '';
	rows text[];
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	IF plan !~ 'Index Scan using' OR plan ~ 'Sort' THEN
		RAISE 'not an index scan: %', plan;
	END IF;
	EXECUTE format('SELECT array_agg(row %s) FROM (%s) s', CASE WHEN sorted THEN 'ORDER BY row' END, query) INTO rows;
	RETURN rows;
END $$;
CREATE FUNCTION by_table(query text, sorted bool) RETURNS text[] LANGUAGE plpgsql SET enable_indexscan = off SET enable_bitmapscan = off AS $$
DECLARE
	rows text[];
BEGIN
	EXECUTE format('SELECT array_agg(row %s) FROM (%s, ctid) s', CASE WHEN sorted THEN 'ORDER BY row' END, query) INTO rows;
	RETURN rows;
END $$;
-- for which of some questions, and numbers of candidates, they disagree; ties come in the order of the index's TIDs, which updates in place tell from the rows' own
CREATE FUNCTION differences(name regclass, candidates int[], ties bool DEFAULT true) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text;
	c int;
BEGIN
	FOREACH query IN ARRAY ARRAY[
		'SELECT id || '' '' || coalesce((v <+> vector(17))::text, ''-'') AS row FROM %s ORDER BY v <+> vector(17)',
		'SELECT id || '' '' || coalesce((v <+> vector(503))::text, ''-'') AS row FROM %s WHERE note = 3 ORDER BY v <+> vector(503)',
		'SELECT id || '' '' || coalesce((v <+> ''{}'')::text, ''-'') AS row FROM %s WHERE v IS NOT NULL ORDER BY v <+> ''{}''',
		'SELECT id || '' '' || coalesce((v <+> vector(8))::text, ''-'') AS row FROM %s ORDER BY v <+> ''{100,100}'', v <+> vector(8)',
		'SELECT id || '' '' || coalesce((v <+> vector(9))::text, ''-'') AS row FROM %s ORDER BY v <+> (SELECT NULL::int[]), v <+> vector(9)',
		'SELECT id::text AS row FROM %s ORDER BY v <+> (SELECT NULL::int[])'] LOOP
		query := format(query, name);
		FOREACH c IN ARRAY candidates LOOP
			PERFORM set_config('genie.candidates', c::text, true);
			IF by_index(query, c < 100000 OR NOT ties) IS DISTINCT FROM by_table(query, c < 100000 OR NOT ties) THEN
				RETURN NEXT c || ': ' || query;
			END IF;
		END LOOP;
	END LOOP;
END $$;
SQL

# Does a table's index agree with it, with all rows as candidates and with fewer, and is it well-formed?
sub agrees
{
	my ($on, $table, $when, $ties) = @_;
	return is($on->safe_psql('postgres', "SELECT * FROM differences('$table', '{100000,1,7,300}', " . ($ties // 'true') . "); SELECT * FROM genie_check('${table}_v')"), '', $when);
}

sub trained { my ($on, $table) = @_; return info($on, "${table}_v", 'parameters IS NOT NULL, pending_rows'); }

# ---- an index that was trained when it was built ----

$node->safe_psql('postgres', q{SELECT make('t', 6000)});
is(info($node, 't_v', q{encode(parameters, 'hex'), objects, pending_rows}), '5d000000d0070000|6000|0', 'the build trains on 2000 rows');
agrees($node, 't', 'built');
$node->safe_psql('postgres', q{SELECT add_rows('t', 6001, 6500)});
is(info($node, 't_v', 'pending_rows'), '500', 'rows are pending');
agrees($node, 't', 'with pending rows');
$node->safe_psql('postgres', q{DELETE FROM t WHERE id % 7 = 3; UPDATE t SET v = vector(id + 1) WHERE id % 11 = 4; SELECT genie_merge('t_v'); SELECT add_rows('t', 1, 300)});
agrees($node, 't', 'with rows that were deleted and changed');
$node->safe_psql('postgres', q{UPDATE t SET note = note + 1 WHERE id % 13 = 5});
agrees($node, 't', 'with rows that were updated in place', 'false');
$node->safe_psql('postgres', q{DELETE FROM t WHERE id % 5 = 1; VACUUM t});
agrees($node, 't', 'vacuumed', 'false');
$node->safe_psql('postgres', q{VACUUM FULL t});
agrees($node, 't', 'built again');
is($node->safe_psql('postgres', q{ANALYZE t; EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY v <+> vector(17) LIMIT 5}) =~ s/\n.*//sr . $node->safe_psql('postgres',
		q{SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY v <+> vector(17) LIMIT 5}) =~ s/.*(Index Scan using t_v).*/$1/sr, 'LimitIndex Scan using t_v', 'the plan');
$node->safe_psql('postgres', q{SELECT make('big', 60000); ANALYZE big});
like($node->safe_psql('postgres', q{EXPLAIN SELECT id FROM big ORDER BY v <+> vector(17) LIMIT 10}), qr/Index Scan using big_v/, 'a small LIMIT chooses the index');
like($node->safe_psql('postgres', q{EXPLAIN SELECT id FROM big ORDER BY v <+> vector(17)}), qr/Seq Scan/, 'the whole table is sorted');

# A parallel build gives the same index.
is($node->safe_psql('postgres', q{SET min_parallel_table_scan_size = 0; SET max_parallel_maintenance_workers = 2; CREATE INDEX big_p ON big USING genie (v genie_floors_ops);
	SELECT count(*) FROM (SELECT segments, objects, keywords, postings, parameters FROM genie_index_info('big_v') UNION SELECT segments, objects, keywords, postings, parameters FROM genie_index_info('big_p')) s;
	SELECT * FROM genie_check('big_p')}), '1', 'a parallel build is trained like another');

# ---- strict order, cursors, LATERAL, settings ----

is($node->safe_psql('postgres', <<'SQL'), 't|t|t', 'strict order leaves rows out, and gives the others in order');
SET enable_seqscan = off; SET enable_sort = off; SET genie.candidates = 7; SET genie.strict_order = on;
SELECT count(*) < (SELECT count(*) FROM t), bool_and(d >= before), count(DISTINCT id) = count(*) FROM (SELECT id, d, lag(d, 1, d) OVER () AS before FROM (SELECT id, v <+> vector(17) AS d FROM t ORDER BY v <+> vector(17)) s) s
	WHERE d IS NOT NULL;
SQL
is($node->safe_psql('postgres', <<'SQL'), 't', 'LATERAL: each query has its own candidates');
SET enable_seqscan = off; SET enable_sort = off; SET genie.candidates = 100000;
SELECT bool_and(d = (SELECT array_agg(s.d) FROM (SELECT t.v <+> vector(q) AS d FROM t WHERE note <> 2 ORDER BY 1 LIMIT 5) s))
	FROM generate_series(1, 20) q, LATERAL (SELECT array_agg(s.d) AS d FROM (SELECT v <+> vector(q) AS d FROM t WHERE note <> 2 ORDER BY v <+> vector(q) LIMIT 5) s) l;
SQL
is($node->safe_psql('postgres', <<'SQL'), 't|t', 'a cursor sees its snapshot, whatever is inserted, merged and set');
SET enable_seqscan = off; SET enable_sort = off; SET genie.candidates = 10;
CREATE FUNCTION take(c refcursor, n int) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE d int; r int[];
BEGIN
	FOR i IN 1 .. n LOOP FETCH c INTO d; r := r || d; END LOOP;
	RETURN r;
END $$;
CREATE TEMP TABLE expected AS SELECT array_agg(id ORDER BY id) AS ids FROM t;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t ORDER BY v <+> vector(17);
CREATE TEMP TABLE first AS SELECT take('c', 15) AS ids;
INSERT INTO t SELECT 17, vector(17) FROM generate_series(1, 100);
DO $$ BEGIN PERFORM genie_merge('t_v'); PERFORM set_config('genie.candidates', '3', true); END $$;
SELECT (SELECT array_agg(i ORDER BY i) FROM unnest(f.ids || take('c', cardinality(e.ids) - 15)) i) = e.ids, f.ids[1:3] = ARRAY(SELECT id FROM t WHERE id <> 17 OR note IS NOT NULL ORDER BY v <+> vector(17) LIMIT 3) FROM expected e, first f;
ROLLBACK;
SQL
is($node->safe_psql('postgres', q{SET enable_seqscan = off; SET enable_sort = off; PREPARE p(int) AS SELECT count(*) FROM (SELECT id FROM t ORDER BY v <+> vector($1) LIMIT $1) s;
	SET plan_cache_mode = force_generic_plan; EXECUTE p(3); EXECUTE p(500)}), "3\n500", 'generic plans');

# ---- what an index may be built on ----

is($node->safe_psql('postgres', <<'SQL'), '', 'an expression, and a part of the table');
CREATE TABLE e (id int, v text, note int) WITH (autovacuum_enabled = off);
INSERT INTO e SELECT i, array_to_string(vector(i), ' '), i % 10 FROM generate_series(1, 3000) i;
CREATE INDEX e_v ON e USING genie ((string_to_array(v, ' ')::int[]) genie_floors_ops) WHERE note < 5;
SET enable_seqscan = off; SET enable_sort = off; SET genie.candidates = 100000;
SELECT 'differs' WHERE (SELECT array_agg(id) FROM (SELECT id FROM e WHERE note < 5 ORDER BY string_to_array(v, ' ')::int[] <+> vector(17)) s)
	IS DISTINCT FROM (SELECT array_agg(id ORDER BY string_to_array(v, ' ')::int[] <+> vector(17), ctid) FROM e WHERE note < 5);
SELECT 'not trained' FROM genie_index_info('e_v') WHERE parameters IS NULL OR objects <> 1500;
SQL
$node->safe_psql('postgres', q{CREATE TABLE c (LIKE t) WITH (autovacuum_enabled = off); SELECT add_rows('c', 1, 1000)});
$node->safe_psql('postgres', 'CREATE INDEX CONCURRENTLY c_v ON c USING genie (v genie_floors_ops)');
agrees($node, 'c', 'built concurrently');
$node->safe_psql('postgres', 'DELETE FROM c WHERE id > 100; VACUUM c; REINDEX INDEX CONCURRENTLY c_v');
is(trained($node, 'c'), 'f|98', 'REINDEX of a small table gives an untrained index');
agrees($node, 'c', 'untrained, built concurrently');
# few rows among many pages: the sample is of the whole table
is($node->safe_psql('postgres', q{CREATE INDEX big_few ON big USING genie (v genie_floors_ops) WHERE id % 180 = 7; SELECT parameters IS NOT NULL, objects FROM genie_index_info('big_few')}), 't|334', 'a partial index of few rows');

# ---- an index that begins empty ----

my ($result, $stderr);
$node->safe_psql('postgres', q{SELECT make('u', 0)});
agrees($node, 'u', 'empty');
$node->safe_psql('postgres', q{SELECT add_rows('u', 1, 200); SELECT genie_merge('u_v'); VACUUM u});
is(trained($node, 'u'), 'f|200', 'too few rows to train on stay where they are');
is($node->safe_psql('postgres', q{SET genie.candidates = 1; SELECT by_index(q, false) = by_table(q, false) FROM (SELECT 'SELECT id::text AS row FROM u ORDER BY v <+> vector(17)' AS q) s}), 't', 'the order of an untrained index is exact');
agrees($node, 'u', 'untrained');
$node->safe_psql('postgres', q{UPDATE u SET v = vector(id + 3) WHERE id % 3 = 0; DELETE FROM u WHERE id % 4 = 0; VACUUM u});
agrees($node, 'u', 'untrained, vacuumed');
$node->safe_psql('postgres', q{SELECT add_rows('u', 201, 600)});
agrees($node, 'u', 'untrained, with enough rows to train on');

# Crashes while it trains: before the flip it is untrained, after it trained, with all rows either way.
foreach my $case ([ 'merge-before-flip', 'f|550' ], [ 'flip-before', 'f|550' ], [ 'segment-page', 'f|550' ], [ 'flip-after', undef ])
{
	my ($point, $expected) = @$case;
	my $log_at = -s $node->logfile;
	my $session = start_sql($node, "SET genie.fault_point = '$point'; SET genie.fault_action = crash", q{SELECT genie_merge('u_v')});
	ok(!finish_sql($session), "the session dies at $point");
	restarted($node, $log_at);
	is(trained($node, 'u'), $expected, "trained or not after a crash at $point") if defined $expected;
	agrees($node, 'u', "after a crash at $point", 'false');
}
$node->safe_psql('postgres', q{SELECT genie_merge('u_v')});
is(trained($node, 'u'), 't|0', 'then it is trained');
agrees($node, 'u', 'trained by a merge', 'false');
$node->safe_psql('postgres', q{TRUNCATE u});
is(trained($node, 'u'), 'f|0', 'TRUNCATE forgets');
agrees($node, 'u', 'truncated');

# A row that was decomposed before the training and appended behind it is raw, and as good as another.
$node->safe_psql('postgres', q{SELECT add_rows('u', 1, 400)});
my $holder = $node->background_psql('postgres');
$holder->query_safe("SELECT pg_advisory_lock($lock)");
my $session = start_sql($node, q{SET genie.fault_point = 'insert-decomposed'; SET genie.fault_action = wait}, q{SELECT add_rows('u', 401, 401)});
wait_until($node, "SELECT count(*) >= 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
$node->safe_psql('postgres', q{SELECT genie_merge('u_v')});
is(trained($node, 'u'), 't|0', 'the index trains');
$holder->query_safe("SELECT pg_advisory_unlock($lock)");
$holder->quit;
ok(finish_sql($session), 'the row is inserted');
is(trained($node, 'u'), 't|1', 'it is pending');
agrees($node, 'u', 'with a raw row of a trained index');
is($node->safe_psql('postgres', q{SET enable_seqscan = off; SET genie.candidates = 1; SELECT id FROM u ORDER BY v <+> vector(401) LIMIT 1}), '401', 'the raw row is signed when it is read');
$node->safe_psql('postgres', q{SELECT genie_merge('u_v')});
is(trained($node, 'u'), 't|0', 'it is merged');
is($node->safe_psql('postgres', q{SET enable_seqscan = off; SET genie.candidates = 1; SELECT id FROM u ORDER BY v <+> vector(401) LIMIT 1}), '401', 'and found by its signature');
agrees($node, 'u', 'with the raw row merged');

# Vectors have one length: of two sessions' first values, the one that is appended first decides it.
$node->safe_psql('postgres', q{CREATE TABLE lengths (v real[]); CREATE INDEX lengths_v ON lengths USING genie (v genie_l2_ops)});
foreach my $last ('{1,2,3}', '{' . join(',', 1 .. 2000) . '}')
{
	$node->safe_psql('postgres', 'TRUNCATE lengths');
	$holder = $node->background_psql('postgres');
	$holder->query_safe("SELECT pg_advisory_lock($lock)");
	$session = start_sql($node, q{SET genie.fault_point = 'insert-decomposed'; SET genie.fault_action = wait}, "INSERT INTO lengths VALUES ('$last')");
	wait_until($node, "SELECT count(*) >= 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
	$node->safe_psql('postgres', q{INSERT INTO lengths VALUES ('{1,2}')});
	$holder->query_safe("SELECT pg_advisory_unlock($lock)");
	$holder->quit;
	ok(!finish_sql($session), 'another length, decomposed before the first value was appended, is refused');
	is($node->safe_psql('postgres', q{SET enable_seqscan = off; SELECT v FROM lengths ORDER BY v <-> '{1,1}'}), '{1,2}', 'the first one stays');
}

# NULLs need no training; many rows, most of them dead or NULL, train with few.
$node->safe_psql('postgres', q{TRUNCATE u; INSERT INTO u SELECT i FROM generate_series(1, 100) i; SELECT genie_merge('u_v')});
is(trained($node, 'u'), 'f|0', 'NULL rows are merged');
$node->safe_psql('postgres', q{SELECT add_rows('u', 1, 49); INSERT INTO u SELECT i FROM generate_series(1, 4000) i; SELECT genie_merge('u_v')});
is(trained($node, 'u'), 'f|4049', 'with few others they wait');
agrees($node, 'u', 'untrained, with a segment of NULL rows');
$node->safe_psql('postgres', q{INSERT INTO u SELECT i FROM generate_series(1, 100) i; SELECT genie_merge('u_v')});
is(trained($node, 'u'), 't|0', 'but not forever');
agrees($node, 'u', 'trained on few rows');

# Inserts of many sessions, the first of which train.
$node->safe_psql('postgres', q{SELECT make('w', 0); ALTER INDEX w_v SET (pending_limit = 64)});
my $load = start_load($node, 6, 4, insert => [ 5, q{INSERT INTO w SELECT i, vector(i), i % 10 FROM generate_series(:n, :n + 5) i;} ],
	search => [ 2, q{BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL genie.candidates = 100000;
		SELECT 1 / (count(*) = 0)::int FROM differences('w', '{100000}') ; COMMIT;} ],
	vacuum => [ 1, 'DELETE FROM w WHERE id = :n;' ]);
$load->{run}->finish;
unlike($load->{out}, qr/ERROR|aborted/, 'sessions insert, delete and search while the index is trained');
is($node->safe_psql('postgres', 'VACUUM w; SELECT parameters IS NOT NULL, segments > 0 FROM genie_index_info($$w_v$$)'), 't|t', 'it was');
agrees($node, 'w', 'after the load');

# ---- unlogged tables, and those that a crash empties ----

$node->safe_psql('postgres', q{CREATE UNLOGGED TABLE l (LIKE t) WITH (autovacuum_enabled = off); SELECT add_rows('l', 1, 500); CREATE INDEX l_v ON l USING genie (v genie_floors_ops)});
is(trained($node, 'l'), 't|0', 'an unlogged index is trained');
$node->stop('immediate');
$node->start;
is(trained($node, 'l'), 'f|0', 'and forgets in a crash');
$node->safe_psql('postgres', q{SELECT add_rows('l', 1, 300); SELECT genie_merge('l_v')});
is(trained($node, 'l'), 't|0', 'it learns again');
agrees($node, 'l', 'unlogged');

is($node->safe_psql('postgres', <<'SQL'), "\nf|98\n98|17\n|\nt|0\n343|17\nt", 'a temporary index, in one transaction');
BEGIN;
CREATE TEMP TABLE x (LIKE t) ON COMMIT DROP;
SELECT add_rows('x', 1, 100);
CREATE INDEX x_v ON x USING genie (v genie_floors_ops);
SELECT parameters IS NOT NULL, pending_rows FROM genie_index_info('x_v');
SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off;
SELECT count(v), (array_agg(id))[1] FROM (SELECT id, v FROM x ORDER BY v <+> vector(17)) s;
SELECT add_rows('x', 101, 350), genie_merge('x_v');
SELECT parameters IS NOT NULL, pending_rows FROM genie_index_info('x_v');
SELECT count(v), (array_agg(id))[1] FROM (SELECT id, v FROM x ORDER BY v <+> vector(17)) s;
SELECT count(*) = 0 FROM genie_check('x_v');
COMMIT;
SQL

# ---- a standby ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('approximate_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->safe_psql('postgres', q{SELECT make('s', 100)});
$node->wait_for_catchup($standby);
is(trained($standby, 's'), 'f|98', 'a standby has an untrained index');
agrees($standby, 's', 'untrained on a standby');
$node->safe_psql('postgres', q{SELECT add_rows('s', 101, 500); SELECT genie_merge('s_v'); SELECT add_rows('s', 501, 600)});
$node->wait_for_catchup($standby);
is(trained($standby, 's'), 't|100', 'and learns with its primary');
agrees($standby, 's', 'trained on a standby');
agrees($standby, 't', 'built on the primary');
# A scan whose pages are replaced goes on behind its last candidate, as any other (032_scan_restart.pl).
$node->safe_psql('postgres', q{CREATE EXTENSION pageinspect; SELECT make('r', 20000)});
$node->wait_for_catchup($standby);
my $stamps = q{SELECT string_agg(encode(substr(get_raw_page('r_v', b), 8177, 8), 'hex'), ',' ORDER BY b) FROM generate_series(1, 20) b};
my $before = $standby->safe_psql('postgres', $stamps);
my $cursor = $standby->background_psql('postgres');
my $ids = 'SELECT id FROM r ORDER BY v <+> vector(17)';
$cursor->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SET enable_seqscan = off; SET enable_sort = off; SET genie.candidates = 5; SET work_mem = 64; DECLARE c CURSOR FOR $ids");
my @rows = split /\n/, $cursor->query_safe('FETCH 40 FROM c');
foreach my $round (1 .. 20)
{
	$node->safe_psql('postgres', q{SELECT add_rows('r', 1, 8000); SELECT genie_merge('r_v')});
	$node->wait_for_catchup($standby);
	my @old = split /,/, $before;
	my %now = map { $_ => 1 } split /,/, $standby->safe_psql('postgres', $stamps);
	last if !grep { $now{$_} } @old;
}
my %now = map { $_ => 1 } split /,/, $standby->safe_psql('postgres', $stamps);
is(scalar(grep { $now{$_} } split /,/, $before), 0, 'its pages were used again');
push @rows, split /\n/, $cursor->query_safe('FETCH ALL FROM c');
is(scalar(@rows), 20000, 'a cursor gives all rows of its snapshot');
is(join(',', sort { $a <=> $b } @rows), join(',', 1 .. 20000), 'each once');
$cursor->quit;
$standby->stop;

# ---- classes that break their contract ----

foreach my $case (
	[ 1, qr/ERROR:  support function 5 of the operator class of index "f_v" does not give parameters\nDETAIL:  For 2000 objects its result is null\./ ],
	[ 2, qr/DETAIL:  Its result has 0 bytes, but there must be 1 to 67108864\./ ],
	[ 3, qr/DETAIL:  Its result has 67108865 bytes, but there must be 1 to 67108864\./ ])
{
	my ($fault, $message) = @$case;
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS f; CREATE TABLE f (LIKE t); SELECT add_rows($$f$$, 1, 5000)');
	isnt($node->psql('postgres', "CREATE INDEX f_v ON f USING genie (v genie_floors_ops (fault = $fault))", stderr => \$stderr), 0, "fault $fault is noticed");
	like($stderr, $message, "fault $fault is told");
}
$node->safe_psql('postgres', q{DROP TABLE f; CREATE TABLE f (LIKE t) WITH (autovacuum_enabled = off); CREATE INDEX f_v ON f USING genie (v genie_floors_ops (fault = 4)) WITH (pending_limit = 4096);
	SELECT add_rows('f', 1, 49); INSERT INTO f SELECT i FROM generate_series(1, 5000) i; SELECT genie_merge('f_v')});
is(trained($node, 'f'), 'f|5049', 'a class may find few rows too few');
agrees($node, 'f', 'where it does');

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION matches(int4[], int4[]) RETURNS int4 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 1; END';
CREATE OPERATOR <&&&> (LEFTARG = int4[], RIGHTARG = int4[], FUNCTION = matches);
CREATE OPERATOR CLASS counting_ops FOR TYPE int4[] USING genie AS
	OPERATOR 1 <&&&> (int4[], int4[]) FOR ORDER BY pg_catalog.integer_ops,
	FUNCTION 1 genie_floors_decompose(int4[], internal), FUNCTION 2 genie_floors_compile(internal, int2, oid, internal),
	FUNCTION 5 genie_floors_train(internal), FUNCTION 6 genie_floors_sign(internal, internal);
DROP INDEX f_v;
CREATE INDEX f_v ON f USING genie (v counting_ops);
SQL
isnt($node->psql('postgres', q{SET enable_seqscan = off; SET enable_sort = off; SELECT id FROM f ORDER BY v <&&&> '{1}' LIMIT 1}, stderr => \$stderr), 0, 'a class that counts matches');
like($stderr, qr/ERROR:  index "f_v" can be scanned by distances only\nDETAIL:  Its operator class is approximate/, 'is told from the others');
isnt($node->psql('postgres', q{SELECT * FROM genie_search('t_v', ARRAY['{0:int:1}'::genie_query])}, stderr => \$stderr), 0, 'genie_search by match counts');
like($stderr, qr/ERROR:  index "t_v" does not take queries of type genie_query/, 'is refused');
isnt($node->psql('postgres', q{LOAD 'genie'; SET genie.candidates = -1}, stderr => \$stderr), 0, 'no candidates');
like($stderr, qr/ERROR:  -1 is outside the valid range for parameter "genie.candidates" \(0 \.\. 16777216\)/, 'are none too few');

# ---- metapages of an older format, and damaged ones ----

$node->safe_psql('postgres', q{CREATE TABLE old (x int[]); INSERT INTO old SELECT ARRAY[i % 7, i] FROM generate_series(1, 500) i; CREATE INDEX old_x ON old USING genie (x);
	CREATE TABLE twice AS SELECT * FROM old; CREATE INDEX twice_x ON twice USING genie (x);
	CREATE TABLE small AS SELECT * FROM old; CREATE INDEX small_x ON small USING genie (x);
	CREATE TABLE short AS SELECT ARRAY[i * 7919 % 1009, i * 6007 % 1013]::real[] AS v FROM generate_series(1, 400) i; CREATE INDEX short_v ON short USING genie (v genie_l2_ops);
	CREATE TABLE bent AS SELECT * FROM short; CREATE INDEX bent_v ON bent USING genie (v genie_l2_ops); INSERT INTO bent VALUES ('{1,2}');
	CREATE TABLE bits AS SELECT CASE WHEN i <> 2 THEN i::bit(12) END AS b FROM generate_series(1, 400) i; CREATE INDEX bits_b ON bits USING genie (b genie_hamming_exact_ops);
	SELECT make('long', 400); SELECT make('lost', 400); CHECKPOINT});
my %path = map { $_ => $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_')") } qw(old_x twice_x small_x long_v lost_v short_v bent_v bits_b);
$node->stop;

# Changes a file's metapage; the function gets it, and where its parameters begin, with their length.
sub change_metapage
{
	my ($index, $change) = @_;
	open(my $file, '+<', $path{$index}) or die "$path{$index}: $!";
	binmode $file;
	read($file, my $page, 8192);
	is(substr($page, 24, 6), "INEG\5\0", "the metapage of $index");
	seek($file, 0, 0);
	print $file with_checksum($change->($page, unpack('S<', substr($page, 12, 2)) - 184), 0);
	close $file;
	return;
}

sub put { my ($page, $at, $bytes) = @_; substr($page, $at, length($bytes)) = $bytes; return $page; }

# Changes the first page of a kind and, if it is a segment's, section; the function gets it.
sub change_page
{
	my ($index, $kind, $section, $change) = @_;
	open(my $file, '+<', $path{$index}) or die "$path{$index}: $!";
	binmode $file;
	local $/;
	my $bytes = <$file>;
	my ($block) = grep { my @of = unpack('CC', substr($bytes, $_ * 8192 + 8188, 2)); $of[0] == $kind && (!$section || $of[1] == $section) } 0 .. length($bytes) / 8192 - 1;
	seek($file, $block * 8192, 0);
	print $file with_checksum($change->(substr($bytes, $block * 8192, 8192)), $block);
	close $file;
	return;
}

# The pending vector's first piece says that its elements are doubles.
change_page('bent_v', 2, 0, sub { my ($page) = @_; is(ord(substr($page, 24 + 14 + 1, 1)), 0, 'a piece of floats'); return put($page, 24 + 14 + 1, chr(1)); });
# The first value has a bit behind its last one, and the second one, of a NULL row, has a bit.
change_page('bits_b', 4, 7, sub { my ($page) = @_; is(unpack('H*', substr($page, 24, 24)), '00100000000000000000000000000000' . '0030000000000000', 'values of bits'); return put(put($page, 24 + 1, chr(0x11)), 24 + 8, chr(1)); });
change_metapage('old_x', sub { my ($page, $at) = @_; return put($page, 28, pack('S<', 2)); });
change_metapage('twice_x', sub { my ($page, $at) = @_; return put(put($page, 24 + 56, pack('L<', 2)), 24 + 88 + 48, substr($page, 24 + 88, 48)); });
change_metapage('small_x', sub { my ($page, $at) = @_; return put($page, 24 + 88 + 40, pack('S<S<', 1, 1)); });
change_metapage('long_v', sub { my ($page, $at) = @_; return put($page, $at, pack('L<', 129)); });
change_metapage('short_v', sub { my ($page, $at) = @_; return put($page, $at, pack('L<', 8)); });
change_metapage('lost_v', sub { my ($page, $at) = @_; return put($page, $at, pack('L<', 0)); });
$node->start;
isnt($node->psql('postgres', q{INSERT INTO old VALUES ('{3,9000}')}, stderr => \$stderr), 0, 'an index of an older format');
like($stderr, qr/ERROR:  index "old_x" has format version 2, but this genie reads version 5\nHINT:  Please REINDEX it\./, 'is refused');
isnt($node->psql('postgres', q{SET enable_seqscan = off; SELECT v FROM bent ORDER BY v <-> '{1,2}' LIMIT 1}, stderr => \$stderr), 0, 'a malformed pending vector');
like($stderr, qr/ERROR:  a vector of the pending list is malformed\nDETAIL:  The index is damaged\.\nHINT:  Please REINDEX it\./, 'is noticed');
isnt($node->psql('postgres', q{SET enable_seqscan = off; SELECT id FROM long ORDER BY v <+> '{1}' LIMIT 1}, stderr => \$stderr), 0, 'too many parameters');
like($stderr, qr/ERROR:  index "long_v" is damaged at block 0: bad metapage length or segment count\n.*HINT:  Please REINDEX it\./s, 'are told');
like($node->safe_psql('postgres', q{SELECT violation FROM genie_check('twice_x')}), qr/^TID \(0,1\) is live in two places$/m, 'genie_check finds that a segment counts twice');
$node->safe_psql('postgres', q{INSERT INTO lost VALUES (401, vector(401))});
like($node->safe_psql('postgres', q{SELECT violation FROM genie_check('lost_v')}), qr/^a segment has keywords, but the index has raw rows and no parameters$/, 'genie_check finds that parameters were lost');
is($node->safe_psql('postgres', q{SELECT violation FROM genie_check('bits_b')}), "the value of object 0 is malformed\nobject 1 is null, but has a value", 'genie_check finds values of bits that cannot be');
isnt($node->psql('postgres', q{SET enable_seqscan = off; SELECT FROM small ORDER BY x <%> '{1}' LIMIT 1}, stderr => \$stderr), 0, 'other sizes of objects than the segment has');
like($stderr, qr/ERROR:  index "small_x" is damaged at block \d+: sizes of objects are not those of the metapage\nHINT:  Please REINDEX it\./, 'are told');
isnt($node->psql('postgres', q{SET enable_seqscan = off; SELECT FROM short ORDER BY v <-> '{1}' LIMIT 1}, stderr => \$stderr), 0, 'too few parameters');
like($stderr, qr/ERROR:  an index's hash functions have parameters of 8 bytes, not \d+\nDETAIL:  The index is damaged\.\nHINT:  Please REINDEX it\./, 'are told');
$node->safe_psql('postgres', 'REINDEX TABLE long; REINDEX TABLE lost');
agrees($node, $_, "$_, built again") foreach qw(long lost);

$node->stop;
done_testing();
