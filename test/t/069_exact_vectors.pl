# Exact classes of vectors and bit strings, beside sequential scans: while rows change at random, after crashes in merges, on a standby whose pages
# are replaced under a cursor, and by the worker: values are loaded from the index, and again after a restart.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{GENIE_SEED} // int(rand(1_000_000));
note("seed $seed (GENIE_SEED=$seed repeats this run)");
srand($seed);

my $conf = <<'CONF';
shared_preload_libraries = 'genie'
genie.shared_memory = 64MB
genie.engine = cpu
wal_consistency_checking = 'generic'
max_wal_size = 1GB
wal_keep_size = 1GB
restart_after_crash = on
CONF
my $primary = genie_node('primary', init => { allows_streaming => 1 }, conf => $conf);
sub sql { return $primary->safe_psql('postgres', $_[0]); }
sql(<<'SQL');
CREATE EXTENSION genie;
CREATE FUNCTION vec(i int, kind int DEFAULT 0) RETURNS real[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
	SELECT array_agg(CASE kind WHEN 0 THEN sin(i * 0.37 * j) * (1 + i % 5) WHEN 1 THEN i % 7 WHEN 2 THEN 1e5 + sin(i * j) ELSE cos(j * (i % 83)) * CASE WHEN j < 3 THEN 200 ELSE 1 END END::real)
	FROM generate_series(1, 24) j $$;
CREATE FUNCTION signs(x real[]) RETURNS bit LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$SELECT string_agg(CASE WHEN e > 0 THEN '1' ELSE '0' END, '')::varbit::bit(24) FROM unnest(x) e$$;
-- updates change an indexed column always: rows of equal distance come in the order of the index's TIDs, which are those of the table then
CREATE TABLE t (id serial, x real[], b bit(24), changed int) WITH (autovacuum_enabled = off);
CREATE INDEX ON t (changed);
-- each row has the bits of its vector
CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN new.b = signs(new.x); RETURN new; END';
CREATE TRIGGER fill BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION fill();
INSERT INTO t (x) SELECT vec(g, g % 4) FROM generate_series(1, 2500) g;
CREATE INDEX t_l2 ON t USING genie (x genie_l2_exact_ops) WITH (pending_limit = 64);
CREATE INDEX t_l1 ON t USING genie (x genie_l1_exact_ops) WITH (pending_limit = 64);
CREATE INDEX t_cosine ON t USING genie (x genie_cosine_exact_ops) WITH (pending_limit = 64);
CREATE INDEX t_bits ON t USING genie (b genie_hamming_exact_ops) WITH (pending_limit = 64);
-- digests of the rows of many queries: by the index, as a call, and by a sequential scan
CREATE FUNCTION answers(way text, op text, first int, k int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text = '';
	part text;
	index text = CASE op WHEN '<->' THEN 't_l2' WHEN '<+>' THEN 't_l1' WHEN '<=>' THEN 't_cosine' ELSE 't_bits' END;
	x text = CASE op WHEN '<&~>' THEN 'b' ELSE 'x' END;
	query text;
BEGIN
	PERFORM set_config('enable_seqscan', CASE way WHEN 'table' THEN 'on' ELSE 'off' END, true), set_config('enable_indexscan', CASE way WHEN 'table' THEN 'off' ELSE 'on' END, true);
	FOR i IN first .. first + 11 LOOP
		query = CASE op WHEN '<&~>' THEN format('B%L', signs(vec(i, i % 4))) ELSE quote_literal(vec(i, i % 4)) END;
		IF way = 'call' THEN
			EXECUTE format('SELECT string_agg(tid || '' '' || distance, '';'' ORDER BY n) FROM genie_search(%L, %s, %s) WITH ORDINALITY s (query, tid, distance, n)', index, CASE op WHEN '<&~>' THEN format('ARRAY[%s]', query) ELSE query || '::real[]' END, k) INTO part;
		ELSE
			EXECUTE format('SELECT string_agg(ctid || '' '' || d, '';'' ORDER BY n) FROM (SELECT ctid, d, row_number() OVER () AS n FROM (SELECT ctid, %s %s %s AS d FROM t ORDER BY %1$s %2$s %3$s%s LIMIT %s) s) s', x, op, query, CASE way WHEN 'table' THEN ', ctid' ELSE '' END, k) INTO part;
		END IF;
		result = md5(result || part);
	END LOOP;
	RETURN result;
END $$;
SQL

sub same
{
	my ($node, $when, @ways) = @_;
	my $first = 1 + int(rand(3000));
	my $k = (1, 3, 10, 200)[int(rand(4))];
	foreach my $op ('<->', '<+>', '<=>', '<&~>')
	{
		my %got = map { $_ => $node->safe_psql('postgres', "SELECT answers('$_', '$op', $first, $k)") } 'table', @ways;
		is($got{$_}, $got{table}, "$op by $_, $k rows from query $first, $when") for @ways;
	}
	return;
}

sub check
{
	my ($node, $when) = @_;
	is($node->safe_psql('postgres', "SELECT * FROM genie_check('$_')"), '', "genie_check of $_ $when") for qw(t_l2 t_l1 t_cosine t_bits);
	return;
}

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\n");
$standby->start;

# ---- rows change ----

my @changes = (
	'INSERT INTO t (x) SELECT vec(g + %1$d, %2$d) FROM generate_series(1, 700) g',
	'INSERT INTO t (x) SELECT NULL FROM generate_series(1, 20) g',
	'DELETE FROM t WHERE id %% 9 = %2$d',
	'UPDATE t SET x = vec(id + %1$d, %2$d), changed = %1$d WHERE id %% 13 = %2$d',
	'VACUUM t',
	q{SELECT genie_merge('t_l2'), genie_merge('t_l1'), genie_merge('t_bits')},
	'REINDEX INDEX t_cosine');
same($primary, 'at first', 'index', 'call');
foreach my $round (1 .. 14)
{
	my $change = sprintf($changes[$round <= @changes ? $round - 1 : int(rand(@changes))], 1000 * $round, int(rand(4)));
	sql($change);
	same($primary, "after $change", 'index', 'call');
	catch_up($primary, $standby) if $round % 3 == 0;
	same($standby, "on the standby", 'index') if $round % 3 == 0;
}
check($primary, 'after changes');

# ---- a standby whose pages are replaced under a cursor ----

catch_up($primary, $standby);
my $cursor = $standby->background_psql('postgres');
$cursor->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $rows = $cursor->query_safe('SELECT count(*) FROM t');
$cursor->query_safe("SET enable_seqscan = off; SET enable_sort = off; SET genie.worker = off");
my $ordered = $cursor->query_safe('SELECT md5(string_agg(id::text, \',\' ORDER BY n)) FROM (SELECT id, row_number() OVER (ORDER BY x <-> vec(77), ctid) AS n FROM (SELECT id, x, ctid FROM t OFFSET 0) t) s');
$cursor->query_safe('DECLARE c CURSOR FOR SELECT id FROM t ORDER BY x <-> vec(77)');
my $got = $cursor->query_safe('FETCH 300 FROM c');
for my $round (1 .. 3)
{
	sql("INSERT INTO t (x) SELECT vec(g + $round * 5000, g % 4) FROM generate_series(1, 3000) g");
	sql(q{SELECT genie_merge('t_l2')}) for 1 .. 2;
}
catch_up($primary, $standby);
my @ids = split(/\n/, "$got\n" . $cursor->query_safe('FETCH ALL FROM c'));
is(scalar(@ids), $rows, 'a cursor over replaced pages gives as many rows as there are');
is($standby->safe_psql('postgres', q{SELECT md5('} . join(',', @ids) . q{')}), $ordered, 'and in their order');
$cursor->quit;
check($standby, 'on the standby');

# ---- crashes ----

foreach my $point (qw(merge-before-flip compact-before-flip segment-page segment-before-root pending-page vacuum-pending-page))
{
	sql('INSERT INTO t (x) SELECT vec(g, g % 4) FROM generate_series(1, 50) g');
	sql('DELETE FROM t WHERE id % 17 = 3');
	$primary->psql('postgres', "SET genie.fault_action = 'crash'; SET genie.fault_point = '$point'; INSERT INTO t (x) SELECT vec(g, g % 4) FROM generate_series(1, 900) g; VACUUM t; SELECT genie_merge('t_l2'), genie_merge('t_bits')");
	restarted($primary);
	same($primary, "after a crash at $point", 'index', 'call');
	check($primary, "after a crash at $point");
}

# ---- the worker ----

my $nearest = q{SELECT count(*) FROM (SELECT id FROM t ORDER BY x <-> vec(5) LIMIT 10) s};
wait_until($primary, q{SELECT worker_state IN ('idle', 'counting') FROM genie_stat});
sql(q{SELECT genie_prewarm('t_l2'), genie_prewarm('t_l1'), genie_prewarm('t_cosine'), genie_prewarm('t_bits')});
my $loaded = sql('SELECT images, vector_images FROM genie_stat');
like($loaded, qr/^(\d+)\|\1$/, 'values are loaded beside each image');
is(sql("SET enable_seqscan = off; $nearest; SELECT answered_by_worker_cpu >= segments, answered_by_backend FROM genie_last_scan()"), "10\nt|0", 'the worker ranks them');
is(sql(q{SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM t ORDER BY b <&~> signs(vec(5)) LIMIT 10) s; SELECT answered_by_worker_cpu >= segments, answered_by_backend, rows_visited FROM genie_last_scan()}), "10\nt|0|0", 'and bits, of which no row is visited');
same($primary, 'by the worker', 'index', 'call');
sql('DELETE FROM t WHERE id % 5 = 1');
sql('VACUUM t');
same($primary, 'by the worker after VACUUM', 'index', 'call');
$primary->restart;
wait_until($primary, 'SELECT vector_images > 0 FROM genie_stat');
same($primary, 'after a restart', 'index', 'call');
$primary->append_conf('postgresql.conf', "genie.shared_memory = 1MB\n");
$primary->restart;
same($primary, 'where there is no room for values', 'index', 'call');
$standby->promote;
same($standby, 'on the promoted standby', 'index', 'call');

$standby->stop;
$primary->stop;
done_testing();
