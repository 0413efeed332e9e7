# Indexes that are larger than genie.shared_memory: their images are on the GPU alone.  Rows are the same, whatever happens meanwhile.
#
# The device is that of the fake engine (test/engine), which keeps copies of what is staged and counts by them.  A GPU: unit_cuda, and test/gpu.
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
my $node = genie_node('alone', conf => worker_settings($cuda, $library, "genie.shared_memory = 4MB\ngenie.cpu_threads = 1\ngenie.loaders = 2\n" .
	"autovacuum = off\ngenie.autoprewarm = off\nmax_parallel_workers = 8\n"));
sub sql { return $node->safe_psql('postgres', @_); }

# codes, and chunks; each more than the 3 MB that there are for images
sql(<<'SQL');
CREATE EXTENSION genie;
SELECT setseed(0.84);
CREATE TABLE t (id int, a int, b int, c int, d int, e int, f int, g int);
INSERT INTO t SELECT i, i % 7, (random() ^ 2 * 12)::int, NULLIF((random() * 90)::int, 3), i / 100 % 900, (random() * 3)::int, (random() * 200)::int, i % 13
	FROM generate_series(1, 500000) i;
CREATE INDEX t_x ON t USING genie (genie_tuple(a, b, c, d, e, f, g));
CREATE TABLE s (id int, x int[]);
INSERT INTO s SELECT i, ARRAY(SELECT abs(hashint4(i * 32 + d)) % (3 + d * d) + d * 1000 FROM generate_series(1, 20) d) FROM generate_series(1, 200000) i;
CREATE INDEX s_x ON s USING genie (x);
CREATE TABLE small (id int, x int[]);
INSERT INTO small SELECT i, ARRAY[i % 10, 10 + i % 11] FROM generate_series(1, 2000) i;
CREATE INDEX small_x ON small USING genie (x);
CREATE TABLE v (id int, x real[]);
INSERT INTO v SELECT i, ARRAY[sin(i), cos(i * 0.7), random(), i % 7, sin(i * 0.01), random() * 3, i % 13, 1]::real[] FROM generate_series(1, 150000) i;
CREATE INDEX v_x ON v USING genie (x genie_l2_exact_ops);
CREATE TABLE q AS SELECT i, CASE i % 3
		WHEN 0 THEN genie_tuple_query(i % 7, i % 12, i % 90, i, i % 3, i % 200, i % 13)
		WHEN 1 THEN genie_tuple_query(int4range(0, 3), ARRAY[1, 3, 5, i % 12], NULL, int4range(i, i + 100))
		ELSE genie_tuple_query(NULL, NULL, 4, NULL, NULL, ARRAY[int4range(0, 20), int4range(100, NULL)]) END AS q
	FROM generate_series(1, 60) i;
VACUUM ANALYZE;

CREATE FUNCTION tuples() RETURNS SETOF text LANGUAGE sql AS $$
	WITH queries AS (SELECT array_agg(q ORDER BY i) AS all, array_agg(q ORDER BY i) FILTER (WHERE i <= 5) AS some FROM q)
	SELECT 'best ' || md5(string_agg(concat_ws(' ', s.query, s.tid, s.match_count), ',' ORDER BY n)) FROM queries, genie_search('t_x', queries.all, 20) WITH ORDINALITY s (query, tid, match_count, n)
	UNION ALL SELECT 'counts ' || string_agg(lower::text, ' ' ORDER BY query) FROM queries, genie_counts('t_x', queries.all)
	UNION ALL SELECT 'filter ' || md5(string_agg(concat_ws(' ', query, tid), ',' ORDER BY query, tid)) FROM queries, genie_filter('t_x', queries.some)
	UNION ALL SELECT 'facets ' || md5(string_agg(concat_ws(' ', i, attribute, value, n), ',' ORDER BY i, attribute, value)) FROM q, genie_facets('t_x', q, '{1,2}') WHERE i <= 3
	UNION ALL SELECT 'scan ' || string_agg(id::text, ' ' ORDER BY i, n) FROM q, LATERAL (SELECT id, row_number() OVER () AS n FROM
		(SELECT id FROM t ORDER BY genie_tuple(a, b, c, d, e, f, g) <&> q LIMIT 5) s) r WHERE i <= 5 $$;
CREATE FUNCTION sets() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT 'best ' || md5(string_agg(concat_ws(' ', f.query, f.tid, f.match_count), ',' ORDER BY n)) FROM (SELECT array_agg(genie_query(x) ORDER BY id) AS all FROM s WHERE id % 7000 = 5) queries,
		genie_search('s_x', queries.all, 30) WITH ORDINALITY f (query, tid, match_count, n)
	UNION ALL SELECT 'counts ' || string_agg(lower::text, ' ' ORDER BY query) FROM genie_counts('s_x', ARRAY['{0:int:1001, 0:int:2002, 0:int:5005}@2', '{0:int:[9030,9060], 0:int:1001}@2']::genie_query[])
	UNION ALL SELECT 'jaccard ' || string_agg(id::text, ' ' ORDER BY n) FROM (SELECT id, row_number() OVER () AS n FROM
		(SELECT id FROM s ORDER BY x <%> (SELECT x FROM s WHERE id = 1234) LIMIT 50) f) r $$;
SQL

sql(<<'SQL');
CREATE FUNCTION vectors() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT 'best ' || md5(string_agg(concat_ws(' ', f.query, f.tid, f.distance), ',' ORDER BY n)) FROM (SELECT array_agg(x ORDER BY id) AS all FROM v WHERE id % 5000 = 5) queries,
		genie_search('v_x', queries.all, 30) WITH ORDINALITY f (query, tid, distance, n)
	UNION ALL SELECT 'scan ' || string_agg(id::text, ' ' ORDER BY i, n) FROM generate_series(1, 5) i, LATERAL (SELECT id, row_number() OVER () AS n FROM
		(SELECT id FROM v ORDER BY x <-> ARRAY[i, 0, 0.5, i, 0, 1, i + 3, 1]::real[] LIMIT 40) s) r $$;
SQL
my %right;
sub look { $right{$_} = sql("SET genie.worker = off; SELECT $_()") foreach ('tuples', 'sets', 'vectors'); return; }
look();

# Rows are right; how many queries on segments went by the GPU, by the worker's CPU and by the session?
sub same
{
	my ($what, $when) = @_;
	my $by = 'SELECT answered_by_gpu, answered_by_worker_cpu, answered_by_backend FROM genie_stat';
	my @before = split /\|/, sql($by);
	is(sql("SELECT $what()"), $right{$what}, "$what: the same, $when");
	wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
	my @after = split /\|/, sql($by);
	return map { $after[$_] - $before[$_] } 0 .. 2;
}
sub state { return sql("SELECT string_agg(concat_ws(' ', contents, state, gpu_bytes > bytes, gpu_bytes > 3500000), ', ') FROM genie_images() WHERE index = '$_[0]_x'::regclass"); }
sub prewarm { my $index = $_[1] // "$_[0]_x"; return ($node->psql('postgres', "SET statement_timeout = '60s'; SELECT genie_prewarm('$index')"))[2]; }
sub restart { $node->append_conf('postgresql.conf', $_[0]); $node->restart; wait_until($node, q{SELECT worker_state = 'idle' FROM genie_stat}); return; }

wait_until($node, "SELECT engine = 'fake' FROM genie_stat");

# ---- codes: no facets from them ----

is(prewarm('t'), '', 'an index larger than genie.shared_memory is loaded');
is(state('t'), 'codes ready t t', 'onto the GPU alone');
cmp_ok(sql('SELECT sum(bytes) FROM genie_images()'), '<', 2_000_000, 'with little of it in shared memory');
cmp_ok(scalar(grep { /^stage \d+ [1-9]/ } told()), '>', 1, 'it came in pieces');
cmp_ok(scalar(grep { /^stage \d+ 0/ } told()), '>=', 2, 'room was asked for before, and all seen to be there at the end');
my ($gpu, $cpu, $backend) = same('tuples', 'on the GPU alone');
ok($gpu > 0 && $cpu == 0, 'counted there') or diag("$gpu $cpu $backend");

# ---- chunks, by a team of processes ----

is(prewarm('s'), '', 'another one is loaded');
is(state('s'), 'chunks ready t t', 'in the form of chunks');
($gpu, $cpu, $backend) = same('sets', 'on the GPU alone');
ok($gpu > 0 && $cpu == 0 && $backend == 0, 'counted there, all of it') or diag("$gpu $cpu $backend");
is(state('t'), 'codes ready t t', 'beside the other one');
same('tuples', 'still');
is(sql("SET enable_seqscan = off; SELECT id FROM small ORDER BY x <&> '{0:int:5, 0:int:15}'::genie_query LIMIT 1"), '5', 'a small index');
is(sql("SELECT concat_ws(' ', state, gpu_bytes) FROM genie_images() WHERE index = 'small_x'::regclass"), 'ready 0', 'is in shared memory');

# ---- rows that die ----

sql('DELETE FROM s WHERE id % 7 = 3; DELETE FROM t WHERE id % 11 < 3; VACUUM s, t');
look();
($gpu, $cpu, $backend) = same('sets', 'after VACUUM');
ok($gpu > 0 && $backend == 0, 'counted by the same image');
same('tuples', 'after VACUUM');
is(sql("SELECT sum(loads) FROM genie_images() WHERE index IN ('s_x'::regclass, 't_x'::regclass)"), 2, 'nothing was loaded again');

# ---- the GPU fails, is lost, or is told to have less ----

order('retry once');
($gpu, $cpu, $backend) = same('sets', 'as the GPU fails');
ok($backend > 0 && $cpu == 0, 'the session counts');
order('lost once');
same('sets', 'as the GPU is lost');
ok(wait_until($node, "SELECT engine = 'fake' AND worker_state = 'idle' FROM genie_stat"), 'a new worker has another one');
wait_until($node, q{SELECT (SELECT count(*) FROM genie_search('s_x', ARRAY['{0:int:1}'::genie_query], 1)) > 0 AND
	EXISTS (SELECT FROM genie_images() WHERE index = 's_x'::regclass AND state = 'ready')});
is(state('s'), 'chunks ready t t', 'and queries load it again');
($gpu, $cpu, $backend) = same('sets', 'loaded again');
ok($gpu > 0 && $backend == 0, 'counted by the GPU');

order('memory 100000');
same('sets', 'where the GPU has dropped it');
is(sql("SELECT count(*) FROM genie_images() WHERE index = 's_x'::regclass AND state = 'ready'"), 0, 'it is gone');
like(prewarm('s'), qr/no room in shared memory for all of genie index "s_x"/, 'and finds no room');
order('');
sql("SELECT count(*) FROM genie_search('small_x', ARRAY['{0:int:1}'::genie_query], 1)");
wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
is(prewarm('s'), '', 'but it does when there is some');

# ---- loads that end early ----

# A session that loads, some requests into it.
sub loading
{
	restart('');
	order('slow 300');
	my $session = start_sql($node, "SELECT genie_prewarm('s_x')");
	wait_until($node, "SELECT worker_state = 'counting' FROM genie_stat");
	return $session;
}

foreach my $how ('cancel', 'terminate')
{
	my $session = loading();
	sql("SELECT pg_${how}_backend(pid) FROM pg_stat_activity WHERE query LIKE '%genie_prewarm(%' AND pid <> pg_backend_pid()");
	finish_sql($session);
	like($session->{err}, qr/canceling statement|terminating connection/, "$how: it ends");
	order('');
	wait_until($node, q{SELECT NOT EXISTS (SELECT FROM genie_images() WHERE state = 'loading') AND worker_state = 'idle' FROM genie_stat});
	is(sql(q{SELECT image_bytes FROM genie_stat}), 0, "$how: its memory is free");
	is(prewarm('s'), '', "$how: another session loads it");
	same('sets', "after $how");
}

# in the middle of it, by an error and by the death of the session
restart('');
my $fault = "SET genie.fault_point = 'image-staged'; SET genie.fault_skip = 3; SET genie.fault_action = ";
like(($node->psql('postgres', "$fault 'error'; SELECT genie_prewarm('s_x')"))[2], qr/fault point "image-staged" reached/, 'an error between two pieces');
is(sql('SELECT image_bytes FROM genie_stat'), 0, 'its memory is free');
is(prewarm('s'), '', 'and it is loaded');
same('sets', 'after an error');
restart('');
$node->psql('postgres', "$fault 'crash'; SELECT genie_prewarm('s_x')");
wait_until($node, "SELECT engine = 'fake' AND worker_state = 'idle' FROM genie_stat");
is(prewarm('s'), '', 'after a crash between two pieces it is loaded');
same('sets', 'after a crash');
# the worker, and what it had copied, is gone before the last piece comes
restart('');
order('slow 200');
my $held = start_sql($node, "SELECT genie_prewarm('s_x')");
wait_until($node, "SELECT worker_state = 'counting' FROM genie_stat");
my $worker = sql('SELECT worker_pid FROM genie_stat');
kill 'TERM', $worker;
ok(finish_sql($held) || $held->{err} =~ /no room/, 'a worker ends while an image is loaded');
order('');
wait_until($node, "SELECT worker_pid <> $worker AND engine = 'fake' AND worker_state = 'idle' FROM genie_stat");
is(prewarm('s'), '', 'by the next one it is loaded');
same('sets', 'by the next one');

# ---- loaders, for queries ----

restart('');
same('sets', 'as loaders are told to load');
wait_until($node, q{SELECT EXISTS (SELECT FROM genie_images() WHERE index = 's_x'::regclass AND state = 'ready')});
is(state('s'), 'chunks ready t t', 'they bring it to the GPU alone');
($gpu, $cpu, $backend) = same('sets', 'loaded by loaders');
ok($gpu > 0 && $cpu == 0 && $backend == 0, 'counted there');

my $session = loading();
order('lost once');
ok(finish_sql($session) || $session->{err} =~ /no room/, 'the GPU is lost while an image is loaded');
wait_until($node, "SELECT engine = 'fake' AND worker_state = 'idle' FROM genie_stat");
is(prewarm('s'), '', 'it is loaded again');
same('sets', 'loaded again');

# ---- vectors ----

restart('');
is(prewarm('v'), '', 'vectors of an exact class are loaded');
is(sql(q{SELECT string_agg(concat_ws(' ', contents, state, bytes < 100000, gpu_bytes), ', ' ORDER BY contents) FROM genie_images() WHERE index = 'v_x'::regclass}),
	'postings ready t 0, vectors ready t 4800000', 'onto the GPU alone');
($gpu, $cpu, $backend) = same('vectors', 'on the GPU alone');
ok($gpu > 0 && $cpu == 0 && $backend == 0, 'scanned there, all of it') or diag("$gpu $cpu $backend");
sql('DELETE FROM v WHERE id % 3 = 1; VACUUM v');
look();
same('vectors', 'after VACUUM');
is(prewarm('s'), '', 'an image beside them');
same('sets', 'beside vectors');
($gpu, $cpu, $backend) = same('vectors', 'beside an image');
ok($gpu > 0 && $backend == 0, 'still scanned there');
order('retry once');
($gpu, $cpu, $backend) = same('vectors', 'as the GPU fails');
ok($backend > 0 && $cpu == 0, 'the session scans');
order('lost once');
same('vectors', 'as the GPU is lost');
wait_until($node, "SELECT engine = 'fake' AND worker_state = 'idle' FROM genie_stat");
wait_until($node, q{SELECT (SELECT count(*) FROM genie_search('v_x', ARRAY['{1,2,3,4,5,6,7,8}'::real[]], 1)) > 0 AND
	EXISTS (SELECT FROM genie_images() WHERE index = 'v_x'::regclass AND contents = 'vectors' AND state = 'ready')});
($gpu, $cpu, $backend) = same('vectors', 'loaded again');
ok($gpu > 0 && $backend == 0, 'and scanned there again');
order('memory 100000');
same('vectors', 'where the GPU has dropped them');
is(sql("SELECT count(*) FROM genie_images() WHERE index = 'v_x'::regclass AND contents = 'vectors' AND state = 'ready'"), 0, 'they are gone');
order('');
restart('');
like(($node->psql('postgres', "$fault 'error'; SET genie.fault_skip = 1; SELECT genie_prewarm('v_x')"))[2], qr/fault point "image-staged" reached/, 'an error between two pieces');
cmp_ok(sql('SELECT image_bytes FROM genie_stat'), '<', 100000, 'the memory of vectors is free');
is(prewarm('v'), '', 'and they are loaded');
same('vectors', 'after an error');

# an approximate class: without bounds of distances, and by scans that go on behind the first round
sql('CREATE INDEX v_near ON v USING genie (x genie_l2_ops (hashes = 8))');
my $near = q{SET enable_seqscan = off; SELECT string_agg(id::text, ' ') FROM (SELECT id FROM v ORDER BY x <-> '{0.5,0.2,0.4,3,0,1,6,1}' LIMIT 300) s};
sql('DROP INDEX v_x');
my $rows = sql("SET genie.worker = off; $near");
restart("genie.image = small\n");
is(prewarm('v', 'v_near'), '', 'vectors of an approximate class');
is(sql("SELECT count(*) FROM genie_images() WHERE index = 'v_near'::regclass AND contents = 'vectors' AND state = 'ready' AND gpu_bytes > 0"), 1, 'come onto the GPU alone');
is(sql($near), $rows, 'and rows are the same');

# ---- several GPUs; no room for two; another engine ----

order('devices 3');
restart('');
is(prewarm('t'), '', 'three GPUs');
same('tuples', 'on three GPUs');
is(prewarm('s'), '', 'another one');
same('sets', 'on three GPUs');
order('');

my $most = sql('SELECT max(gpu_bytes) FROM genie_images()');
order('memory ' . int(1.2 * $most));
restart('');
is(prewarm('t'), '', 'room on the GPU for one index');
sql('SELECT pg_sleep(1.2)');
is(prewarm('s'), '', 'the next one');
is(sql("SELECT count(*) FROM genie_images() WHERE index = 't_x'::regclass AND state = 'ready'"), 0, 'replaces it');
same('sets', 'in its place');
same('tuples', 'evicted');

order('');
restart("genie.image = full\n");
like(prewarm('t'), qr/no room in shared memory for all of genie index "t_x"/, 'genie.image = full: none is on the GPU alone');
restart("genie.image = auto\ngenie.autoprewarm = on\n");
is(prewarm('t'), '', 'loaded');
restart('');
wait_until($node, q{SELECT EXISTS (SELECT FROM genie_images() WHERE index = 't_x'::regclass AND state = 'ready')});
is(state('t'), 'codes ready t t', 'and again by itself after a restart');
sql("ALTER SYSTEM SET genie.engine = 'cpu'");
sql('SELECT pg_reload_conf()');
wait_until($node, "SELECT engine = 'cpu' FROM genie_stat");
is(sql("SELECT count(*) FROM genie_images() WHERE state = 'ready' AND gpu_bytes > 0"), 0, 'without the GPU there are no such images');
same('tuples', 'without the GPU');

$node->stop;
done_testing();
