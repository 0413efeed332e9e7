# Proximity graphs of vectors (graph = 32): who builds them, what they find, and that no row is lost by them: among clusters, equal rows, dead and pending
# ones, and rows that drift; with conditions; while a build is cancelled, fails or crashes; without room, after merges, and on a standby.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my ($cuda, $library) = fake_engine();
order('');
my $meminfo = $ENV{GENIE_MEMINFO} = PostgreSQL::Test::Utils::tempdir() . '/meminfo';	# is not there at first
my $node = genie_node('graph', init => { allows_streaming => 1 },
	conf => worker_settings($library, 'genie.shared_memory = 64MB', 'genie.cpu_threads = 2', 'genie.loaders = 1', 'autovacuum = off', 'max_parallel_maintenance_workers = 1'));
sub sql { return $node->safe_psql('postgres', join('; ', @_)); }
sub state_of { return sql("SELECT coalesce(string_agg(contents || ' ' || state, ', ' ORDER BY contents), 'none') FROM genie_images() WHERE index = '$_[0]'::regclass AND contents = 'graph'"); }
sub cancelled { return ($node->psql('postgres', $_[0]))[2]; }

sql(<<'SQL');
CREATE EXTENSION genie;
SELECT setseed(0.23);
-- vector i of a kind: 0 spread, 1 clusters of 40 one behind the other, 2 of 300 different ones, 3 two clusters far away, 4 of lengths that differ
CREATE FUNCTION vec(i int, kind int) RETURNS real[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
	SELECT array_agg((CASE kind WHEN 0 THEN hashint4(i * 64 + j) % 100 WHEN 1 THEN hashint4(i / 40 * 64 + j) % 1000 + hashint4(i * 64 + j) % 50
		WHEN 2 THEN hashint4(i % 300 * 64 + j) % 100 WHEN 4 THEN (hashint4(i * 64 + j) % 100) * (1 + i % 7) ELSE i % 2 * 10000 + hashint4(i * 64 + j) % 100 END)::real) FROM generate_series(1, 12) j $$;
CREATE TABLE v (id int, kind int, x real[]);
CREATE FUNCTION fill(kind int, n int) RETURNS void LANGUAGE sql AS $$
	TRUNCATE v; INSERT INTO v SELECT i, i % 100, vec(i, kind) FROM generate_series(1, n) i $$;
-- the share of the k nearest rows that a call finds, by their distances, of 40 rows as queries, one by one: many are scanned together, exactly
CREATE FUNCTION recall(index regclass, k int, op text DEFAULT '<->') RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	queries real[];
	n int;
	exact float8[];
BEGIN
	PERFORM setseed(0.5);
	queries = (SELECT array_agg(x ORDER BY id) FROM (SELECT id, x FROM v ORDER BY hashint4(id) LIMIT 40) s);
	n = array_length(queries, 1);
	PERFORM set_config('enable_indexscan', 'off', true);
	EXECUTE format('SELECT array_agg((SELECT max(d) FROM (SELECT x %s ARRAY(SELECT unnest($1[i:i])) AS d FROM v ORDER BY d LIMIT $2) s) ORDER BY i) FROM generate_series(1, $3) i', op)
		INTO exact USING queries, k, n;
	PERFORM set_config('enable_indexscan', 'on', true);
	RETURN (SELECT round(count(*) FILTER (WHERE distance <= exact[i])::numeric / (n * k), 3) FROM generate_series(1, n) i, genie_search(index, queries[i:i], k));
END $$;
CREATE INDEX v_x ON v USING genie (x genie_l2_ops (hashes = 16)) WITH (graph = 32);
SQL

# Calls find such a share of the nearest rows, and ask a graph.
sub finds
{
	my ($least, $when, $k) = @_;
	my ($share, $by_graph) = split /\n/, sql("SELECT recall('v_x', " . ($k // 10) . ')', q{SELECT sum(by_graph) >= 40 FROM genie_last_scan() WHERE kind = 'genie_search'});
	cmp_ok($share, '>=', $least, "$when: recall");
	is($by_graph, 't', "$when: by a graph");
	return;
}
# A scan by a graph has as many candidates as the queue is long, of each segment.
sub candidates { return sql("SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM v ORDER BY x <-> vec(77, 1) LIMIT 3) s; SELECT candidates FROM genie_last_scan()") =~ /(\d+)$/ ? $1 : -1; }

# All rows come by an index scan, once each, and those that are nearest first, behind the first round at least.
sub complete
{
	my ($when, $where) = @_;
	$where //= 'true';
	is(sql("SET enable_seqscan = off; SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM v WHERE $where ORDER BY x <-> vec(5, 1)) s"),
		sql("SELECT count(*), count(*) FROM v WHERE $where"), "$when: all rows, once");
	return;
}

# ---- options ----

like(cancelled('CREATE INDEX ON v USING genie (x genie_l2_ops) WITH (graph = 65)'), qr/value 65 out of bounds for option "graph"/, 'no more than 64 edges');
like(cancelled('SET genie.graph_queue = 4097'), qr/4097 is outside the valid range/, 'nor a longer queue than 4096');

# ---- data ----

my @kinds = ('spread rows', 'clusters', 'equal rows', 'two clusters');
foreach my $kind (0 .. 3)
{
	sql("SELECT fill($kind, 30000)", 'REINDEX INDEX v_x', 'VACUUM v');
	is(cancelled("SELECT genie_prewarm('v_x')"), '', "$kinds[$kind]: loaded");
	is(state_of('v_x'), 'graph ready', "$kinds[$kind]: with a graph");
	finds(0.95, $kinds[$kind]);
	finds(0.95, "$kinds[$kind], 50 rows", 50);
	complete($kinds[$kind]);
}

# ---- little memory: no graph, until there is more ----

append_to_file($meminfo, "MemTotal: 900000 kB\nMemAvailable:    60000 kB\nBuffers: 1 kB\n");
sql('REINDEX INDEX v_x');
like(cancelled("SELECT genie_prewarm('v_x')"), qr/WARNING:  there is no memory to build a proximity graph of genie index "postgres\.public\.v_x".*30000 rows it takes 17 MB.*HINT:/s, 'who asks for a graph is told that there is no memory for it');
unlike(state_of('v_x'), qr/ready/, 'it takes no room');
is(sql(q{SELECT count(*) FROM genie_search('v_x', ARRAY[vec(3, 1)], 3)}, q{SELECT sum(by_graph) FROM genie_last_scan() WHERE kind = 'genie_search'}), "3\n0", 'searches go without it');
complete('without a graph');
unlink($meminfo) or die "unlink: $!";
is(cancelled("SELECT genie_prewarm('v_x')"), '', 'when there is more memory, there is a graph');
is(state_of('v_x'), 'graph ready', 'which is there');

# ---- the queue ----

sql('SELECT fill(1, 30000)', 'REINDEX INDEX v_x', 'VACUUM v', q{SELECT genie_prewarm('v_x')});
is(candidates(), 100, 'a scan by the graph has 100 candidates');
is(sql(q{SELECT count(*) FROM genie_search('v_x', ARRAY(SELECT x FROM v LIMIT 50), 3)}, 'SELECT by_graph FROM genie_last_scan()'), "150\n0", 'so many are scanned');
is(sql("SELECT count(*) FROM genie_search('v_x', ARRAY[vec(3, 1), vec(4, 1)], 3)", 'SELECT by_graph FROM genie_last_scan()'), "6\n2", 'two searches of a graph');
is(sql("SET genie.graph_queue = 7; SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM v ORDER BY x <-> vec(77, 1) LIMIT 3) s; SELECT candidates FROM genie_last_scan()"), "3\n7", 'or as many as the queue is long');
is(sql("SET genie.graph_queue = 7; SET enable_seqscan = off; SELECT count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <-> vec(77, 1) LIMIT 300) s"), 300, 'more rows come all the same');
isnt(sql("SET genie.strict_order = on; SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM v ORDER BY x <-> vec(77, 1) LIMIT 3) s; SELECT candidates FROM genie_last_scan()"), "3\n100", 'none is asked where rows must be in order');
my $exact = sql('SET enable_indexscan = off; SELECT string_agg(id::text, \' \') FROM (SELECT id FROM v ORDER BY x <-> vec(77, 1), ctid LIMIT 300) s');
is(sql("SET genie.strict_order = on; SET enable_seqscan = off; SELECT string_agg(id::text, ' ') FROM (SELECT id FROM v ORDER BY x <-> vec(77, 1) LIMIT 300) s"), $exact, 'which they are then');

# ---- conditions: what the first round does not have comes behind it ----

foreach my $share (0.1, 1, 10, 50)
{
	my $where = "kind * 10 + id / 100 % 10 < " . $share * 10;
	is(sql("SET enable_seqscan = off; SELECT string_agg(id::text, ' ' ORDER BY d, id) FROM (SELECT id, x <-> vec(6000, 1) AS d FROM v WHERE $where ORDER BY d LIMIT 5) s"),
		sql("SET enable_indexscan = off; SELECT string_agg(id::text, ' ' ORDER BY d, id) FROM (SELECT id, x <-> vec(6000, 1) AS d FROM v WHERE $where ORDER BY d LIMIT 5) s"), "$share % of all rows");
	complete("$share %", $where);
}

# ---- the same graph, whoever builds it; a cursor; an image of another time ----

my $rows = sql('SET enable_seqscan = off; SELECT string_agg(id::text, \' \') FROM (SELECT id FROM v ORDER BY x <-> vec(9001, 0) LIMIT 90) s');
$node->restart;
wait_until($node, q{SELECT worker_state = 'idle' FROM genie_stat});
sql(q{SET max_parallel_maintenance_workers = 0}, q{SELECT genie_prewarm('v_x')});
is(sql('SET enable_seqscan = off; SELECT string_agg(id::text, \' \') FROM (SELECT id FROM v ORDER BY x <-> vec(9001, 0) LIMIT 90) s'), $rows, 'one thread builds the same graph');

my $cursor = start_sql($node, q{BEGIN; SET enable_seqscan = off; DECLARE c CURSOR FOR SELECT id FROM v ORDER BY x <-> vec(9, 1); FETCH FORWARD 3 FROM c; SELECT pg_advisory_lock(85); MOVE FORWARD 50000 FROM c; COMMIT});
finish_sql($cursor);
like($cursor->{err} // '', qr/^$/, 'a cursor goes on behind the first round');

# ---- rows that die, wait and drift ----

sql('DELETE FROM v WHERE id % 2 = 0');
finds(0.95, 'half of the rows deleted');
complete('half of the rows deleted');
sql('VACUUM v');
finds(0.95, 'and vacuumed');
complete('and vacuumed');
is(sql("SELECT count(*) FROM genie_search('v_x', ARRAY(SELECT x FROM v LIMIT 1), 10)"), 10, 'as many rows as wanted');
sql('INSERT INTO v SELECT 200000 + i, 1, vec(200000 + i, 1) FROM generate_series(1, 500) i');
is(sql("SET enable_seqscan = off; SELECT id FROM v ORDER BY x <-> vec(200100, 1) LIMIT 1"), '200100', 'a row that waits in the pending list');
is(sql("SELECT id FROM genie_search('v_x', ARRAY(SELECT x FROM v WHERE id = 200100), 1) s JOIN v ON v.ctid = s.tid"), '200100', 'by a call, too');
finds(0.95, 'with pending rows');
complete('with pending rows');
sql('INSERT INTO v SELECT 300000 + i, 1, vec(300000 + i, 1) FROM generate_series(1, 25000) i', q{SELECT genie_merge('v_x')});
complete('after inserts in the order of clusters');
is(cancelled("SELECT genie_prewarm('v_x')"), '', 'loaded again');
finds(0.95, 'after inserts in the order of clusters');
sql('INSERT INTO v (id) SELECT 950000 + i FROM generate_series(1, 50) i', q{SELECT genie_merge('v_x')}, q{SELECT genie_prewarm('v_x')});
complete('with rows that are NULL');
sql(q{INSERT INTO v SELECT 900000 + i, 1, ARRAY[1e30, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]::real[] FROM generate_series(1, 3) i}, q{SELECT genie_merge('v_x')}, q{SELECT genie_prewarm('v_x')});
complete('with rows of a very large element');
finds(0.95, 'with rows of a very large element');

# ---- loaders build it when a query wants it ----

sql('SELECT fill(1, 30000)', 'REINDEX INDEX v_x', 'VACUUM v');
$node->restart;
wait_until($node, q{SELECT worker_state = 'idle' FROM genie_stat});
wait_until($node, q{SELECT (SELECT count(*) FROM genie_search('v_x', ARRAY[vec(3, 1)], 3)) = 3 AND EXISTS (SELECT FROM genie_images() WHERE contents = 'graph' AND state = 'ready')});
is(state_of('v_x'), 'graph ready', 'a loader builds it');
is(candidates(), 100, 'and scans use it');
sql('ALTER INDEX v_x SET (graph = 0)');
isnt(candidates(), 100, 'until the index shall have none');
sql('ALTER INDEX v_x SET (graph = 12)');
wait_until($node, q{SELECT (SELECT count(*) FROM genie_search('v_x', ARRAY[vec(3, 1)], 3)) = 3 AND EXISTS (SELECT FROM genie_images() WHERE contents = 'graph' AND state = 'ready' AND bytes < 2000000)});
finds(0.9, 'with 12 edges');
sql('ALTER INDEX v_x SET (graph = 32)');

# ---- builds that end early ----

sub fresh { $node->restart; wait_until($node, q{SELECT worker_state = 'idle' FROM genie_stat}); return; }
my $fault = q{SET genie.fault_point = 'graph-built'; SET genie.fault_skip = 6; SET genie.fault_action = };
fresh();
like(cancelled("$fault 'error'; SELECT genie_prewarm('v_x')"), qr/fault point "graph-built" reached/, 'an error while it is built');
isnt(state_of('v_x'), 'graph ready', 'leaves none');
is(cancelled("SELECT genie_prewarm('v_x')"), '', 'the next one builds it');
finds(0.95, 'after an error');
fresh();
like(cancelled("SET statement_timeout = 300; SELECT genie_prewarm('v_x'); SELECT genie_prewarm('v_x')"), qr/^$|canceling statement due to statement timeout/, 'a timeout while it is built');
is(cancelled("SELECT genie_prewarm('v_x')"), '', 'the next one builds it');
finds(0.95, 'after a timeout');
fresh();
$node->psql('postgres', "$fault 'crash'; SELECT genie_prewarm('v_x')");
wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
is(cancelled("SELECT genie_prewarm('v_x')"), '', 'built after a crash');
finds(0.95, 'after a crash');

# ---- no room for a graph ----

sql('SELECT fill(1, 30000)', 'REINDEX INDEX v_x', 'VACUUM v');
$node->append_conf('postgresql.conf', "genie.shared_memory = 4MB\n");
fresh();
$node->psql('postgres', "SELECT genie_prewarm('v_x')");
isnt(state_of('v_x'), 'graph ready', 'no room for it');
is(sql("SELECT count(*) FROM genie_search('v_x', ARRAY[vec(3, 1)], 3)"), 3, 'rows come without');
complete('without room');
$node->append_conf('postgresql.conf', "genie.shared_memory = 64MB\n");
fresh();
sql('SELECT fill(1, 30000)', 'REINDEX INDEX v_x', 'VACUUM v', q{SELECT genie_prewarm('v_x')});

# ---- distances ----

foreach my $class (['genie_l1_ops', '<+>'], ['genie_cosine_ops', '<=>'])
{
	sql('DROP INDEX v_x', "CREATE INDEX v_x ON v USING genie (x $class->[0]) WITH (graph = 32)", q{SELECT genie_prewarm('v_x')});
	is(state_of('v_x'), 'graph ready', "$class->[0]: a graph");
	my $found = sql(qq{SELECT count(*) FROM generate_series(1, 20) i, LATERAL (SELECT id FROM v ORDER BY x $class->[1] vec(i * 400, 1) LIMIT 1) s WHERE id = i * 400});
	cmp_ok($found, '>=', 18, "$class->[0]: rows find themselves");
}

# ---- inner products: a class that has graphs without being told, and no signatures ----

sub found_ip
{
	my ($least, $when) = @_;
	my ($share, $by_graph) = split /\n/, sql(q{SELECT recall('v_ip', 10, '<#>')}, q{SELECT sum(by_graph) >= 40 FROM genie_last_scan() WHERE kind = 'genie_search'});
	cmp_ok($share, '>=', $least, "inner products, $when: recall");
	is($by_graph, 't', "inner products, $when: by a graph");
	return;
}
# The ids of the first rows by the index, or by a sequential scan.
sub by_ip
{
	my ($n, $set, $where, $by_table) = @_;
	return sql($set, 'SET enable_' . ($by_table ? 'indexscan' : 'seqscan') . ' = off',
		"SELECT string_agg(id::text, ' ') FROM (SELECT id FROM v WHERE $where ORDER BY x <#> vec(77, 4)" . ($by_table ? ', ctid' : '') . " LIMIT $n) s");
}
sub same_ip { my ($n, $set, $where, $what) = @_; is(by_ip($n, $set, $where), by_ip($n, $set, $where, 1), "inner products: $what"); return; }
my $strict = 'SET genie.strict_order = on';
sql('DROP INDEX v_x', 'SELECT fill(4, 30000)', 'CREATE INDEX v_ip ON v USING genie (x genie_ip_ops)');
same_ip(50, 'SET genie.worker = off', 'true', 'exact without the worker');
# a loader's snapshot would keep pages from being all visible
wait_until($node, q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'genie loader')});
sql('VACUUM v', q{SELECT genie_prewarm('v_ip')});
is(state_of('v_ip'), 'graph ready', 'inner products: a graph, by default');
found_ip(0.95, 'lengths that differ');
is(sql('SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM v ORDER BY x <#> vec(77, 4) LIMIT 3) s', 'SELECT by_graph, candidates, rows_visited < 100 FROM genie_last_scan()'), "3\n1|100|t", 'a scan by the graph: not all candidates are looked up');
is(sql('SET enable_seqscan = off; SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <#> vec(77, 4)) s'), '30000|30000', 'all rows, once');
same_ip(300, $strict, 'true', 'exact in strict order');
is(sql("$strict; SELECT count(*) FROM genie_search('v_ip', ARRAY[vec(77, 4)], 10)", 'SELECT by_graph FROM genie_last_scan()'), "10\n0", 'and so is genie_search');
is(sql("SELECT count(*) FROM genie_within('v_ip', ARRAY[vec(77, 4)], ARRAY[-100000]::float8[])"), sql('SELECT count(*) FROM v WHERE x <#> vec(77, 4) <= -100000'), 'genie_within misses none');
same_ip(5, 'SET genie.worker = on', "id % 1000 = 7", 'a condition that keeps one row in a thousand');
sql('DELETE FROM v WHERE id % 2 = 0', 'INSERT INTO v SELECT 200000 + i, 1, vec(77, 4) FROM generate_series(1, 5) i', 'INSERT INTO v (id) SELECT 300000 + i FROM generate_series(1, 50) i');
found_ip(0.95, 'after deletes, with pending rows');
is(sql('SET enable_seqscan = off; SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <#> vec(77, 4)) s'), '15055|15055', 'all rows then');
sql('VACUUM v', q{SELECT genie_merge('v_ip')}, q{SELECT genie_prewarm('v_ip')});
found_ip(0.95, 'merged');
same_ip(15055, $strict, 'true', 'with NULL rows');
sql('ALTER INDEX v_ip SET (graph = 0)');
same_ip(300, 'SET genie.worker = on', 'true', 'exact without a graph');
sql('ALTER INDEX v_ip SET (graph = 12)', q{SELECT genie_prewarm('v_ip')});
found_ip(0.8, 'with 12 edges');
sql('ALTER INDEX v_ip RESET (graph)', 'DROP INDEX v_ip');
sql('SELECT fill(1, 30000)', 'CREATE INDEX v_x ON v USING genie (x genie_cosine_ops) WITH (graph = 32)', 'VACUUM v', q{SELECT genie_prewarm('v_x')});

# ---- rows of which nothing is known: zero vectors, by cosine distance; and scans that find a graph once, and once none ----

sql('SELECT fill(1, 90000)', 'INSERT INTO v SELECT 400000 + i, 1, array_fill(0::real, ARRAY[12]) FROM generate_series(1, 30) i', 'REINDEX INDEX v_x', 'VACUUM v', q{SELECT genie_prewarm('v_x')});
is(state_of('v_x'), 'graph ready', 'zero vectors: a graph');
is(sql(q{SELECT count(*) FILTER (WHERE distance < 0.01), count(*) FROM genie_search('v_x', ARRAY[vec(77, 1)], 10)}, 'SELECT by_graph FROM genie_last_scan()'), "10|10\n1", 'they do not displace others in calls');
is(sql('SET enable_seqscan = off; SELECT count(*) FILTER (WHERE d < 0.01), count(*) FROM (SELECT x <=> vec(77, 1) AS d FROM v ORDER BY d LIMIT 10) s', 'SELECT by_graph FROM genie_last_scan()'), "10|10\n1", 'nor in scans');
sql('INSERT INTO v SELECT 410000 + i, 1, array_fill(0::real, ARRAY[12]) FROM generate_series(1, 250) i');
my @near = (q{SELECT count(*) FILTER (WHERE distance < 0.01), count(*) FROM genie_search('v_x', ARRAY[vec(77, 1)], 10)}, 'SET enable_seqscan = off; SELECT count(*) FILTER (WHERE d < 0.01), count(*) FROM (SELECT x <=> vec(77, 1) AS d FROM v ORDER BY d LIMIT 10) s');
is(sql(@near), "10|10\n10|10", 'nor do some that wait in the pending list');
sql(q{SELECT genie_merge('v_x')}, q{SELECT genie_prewarm('v_x')});
is(sql(@near), "10|10\n10|10", 'nor those of a small segment');
sql('REINDEX INDEX v_x', 'VACUUM v', q{SELECT genie_prewarm('v_x')});
is(sql(@near), "10|10\n10|10", 'nor as many as fill a first round');
is(sql(q{SET enable_seqscan = off; SELECT count(*), count(DISTINCT q) FROM generate_series(1, 6) q, set_config('genie.worker', CASE WHEN q % 2 = 0 THEN 'off' ELSE 'on' END, false) w, LATERAL (SELECT id FROM v ORDER BY x <=> vec(q * 100 + length(w), 1) LIMIT 2) s}), '12|6', 'scans again, with a graph, without, and with it');
sql('SELECT fill(1, 30000)', 'REINDEX INDEX v_x', 'VACUUM v', q{SELECT genie_prewarm('v_x')});

# ---- all that a graph finds is dead ----

sql('SET enable_seqscan = off; DELETE FROM v WHERE id IN (SELECT id FROM (SELECT id FROM v ORDER BY x <=> vec(77, 1) LIMIT 1000) s)', 'INSERT INTO v (id) VALUES (990000)');
is(sql('SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM v ORDER BY x <=> vec(77, 1) LIMIT 10) s'), 10, 'the rows behind them come');
is(sql('SET enable_seqscan = off; SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <=> vec(77, 1)) s'), '29001|29001', 'all of them, once, and a NULL');
is(sql(q{SELECT count(*) FROM genie_search('v_x', ARRAY[vec(77, 1)], 10)}), 10, 'in calls, too');
sql('SELECT fill(1, 30000)', 'REINDEX INDEX v_x', 'VACUUM v', q{SELECT genie_prewarm('v_x')});

# ---- many rows that are NULL ----

sql('UPDATE v SET x = NULL WHERE id % 3 = 0', 'REINDEX INDEX v_x', 'VACUUM v', q{SELECT genie_prewarm('v_x')});
is(sql('SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM v ORDER BY x <=> vec(76, 1) LIMIT 10) s', 'SELECT by_graph FROM genie_last_scan()'), "10\n1", 'a third of all rows NULL: by a graph');
is(sql(q{SELECT count(*) FILTER (WHERE distance < 0.01), count(*) FROM genie_search('v_x', ARRAY[vec(76, 1)], 10)}), '10|10', 'NULL rows are no hits');
is(sql('SET enable_seqscan = off; SELECT count(*), count(DISTINCT id), count(d) FROM (SELECT id, x <=> vec(76, 1) AS d FROM v ORDER BY d) s'), '30000|30000|20000', 'and come last');
sql('SELECT fill(1, 30000)', 'REINDEX INDEX v_x', 'VACUUM v', q{SELECT genie_prewarm('v_x')});

# ---- an exact class has none, whatever is said later ----

sql('CREATE INDEX v_exact ON v USING genie (x genie_l2_exact_ops)', 'ALTER INDEX v_exact SET (graph = 32)', q{SELECT genie_prewarm('v_exact')});
is(state_of('v_exact'), 'none', 'an exact class has no graph');
sql('DROP INDEX v_exact');

# ---- not of all classes ----

like(cancelled('CREATE INDEX v_exact ON v USING genie (x genie_l2_exact_ops) WITH (graph = 32)'), qr/cannot have proximity graphs.*approximate operator classes/s, 'none of an exact class');
like(cancelled('CREATE INDEX v_bare ON v USING genie (x genie_l2_ops) WITH (graph = 32, values = off)'), qr/cannot have proximity graphs.*"values" leaves out/s, 'none without values');

# ---- with a GPU small segments have none ----

sql("ALTER SYSTEM SET genie.engine = 'cuda'");
$node->restart;
wait_until($node, q{SELECT engine = 'fake' AND worker_state = 'idle' FROM genie_stat});
is(cancelled("SELECT genie_prewarm('v_x')"), '', 'with a GPU all is loaded');
is(state_of('v_x'), 'none', 'but a graph of few rows');
is(sql('SET enable_seqscan = off', 'SELECT count(*) FROM (SELECT id FROM v ORDER BY x <=> vec(5, 1) LIMIT 5) s', 'SELECT by_graph FROM genie_last_scan()'), "5\n0", 'nor is one asked');
sql('ALTER SYSTEM RESET genie.engine');
$node->restart;
wait_until($node, q{SELECT engine = 'cpu' AND worker_state = 'idle' FROM genie_stat});

# ---- a standby ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
wait_until($standby, q{SELECT worker_state = 'idle' FROM genie_stat});
is($standby->safe_psql('postgres', q{SELECT genie_prewarm('v_x') > 0; SELECT count(*) FROM genie_images() WHERE contents = 'graph' AND state = 'ready'}), "t\n1", 'a standby builds its own');
is($standby->safe_psql('postgres', q{SELECT count(*) FROM genie_search('v_x', ARRAY(SELECT x FROM v LIMIT 1), 10); SELECT by_graph FROM genie_last_scan()}), "10\n1", 'which calls search, too');
is($standby->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(DISTINCT id) FROM (SELECT id FROM v ORDER BY x <=> vec(5, 1)) s'), 30000, 'and gives all rows');
$standby->stop;
$node->stop;
done_testing();
