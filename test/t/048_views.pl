# genie_stat and genie_devices, first with nothing to show, then with every column filled; and genie_stat_reset().
# (sql/worker_views.sql tests who may see them.)
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my $query = "'{1,2,3,4,5,60,70}'::int[]";
my $asks = question('by_index', $query, 50);
my ($cuda, $library) = fake_engine();
my $node = genie_node('views', conf => "shared_preload_libraries = ''\n");
create_table($node, 1000, 0.48);

sub sql { return $node->safe_psql('postgres', @_); }

# ---- not preloaded ----

my @counters = split /\n/, sql(q{SELECT attname FROM pg_attribute WHERE attrelid = 'genie_stat'::regclass AND attnum > 0
	AND attname NOT IN ('worker_pid', 'queries_per_batch', 'stats_since') AND atttypid <> 'text'::regtype ORDER BY attnum});
my $all = join(' + ', @counters);
is(sql('SELECT count(*) FROM genie_stat'), 1, 'genie_stat has a row');
is(sql("SELECT worker_pid, worker_state, engine, queries_per_batch, stats_since, $all FROM genie_stat"), '|not preloaded||||0', 'which says that genie is not preloaded');
is(sql('SELECT count(*) FROM genie_costs()'), 0, 'no costs were measured');
is(sql('SELECT * FROM genie_devices()'), '||||||||||||genie is not preloaded||', 'and so does genie_devices');
is(sql('SELECT genie_stat_reset()'), '', 'there is nothing to reset');
is(sql('SELECT count(*) FROM genie_images()'), 0, 'there are no images');
sound($node, 'without preload', 4);
is(sql("SELECT $all FROM genie_stat"), 0, 'nothing is counted');
my ($result, $out, $err) = $node->psql('postgres', "SELECT genie_prewarm('t_x')");
like($err, qr/ERROR:  genie has no shared memory\nHINT:  Add genie to shared_preload_libraries in postgresql\.conf and restart the server\./, 'genie_prewarm says what to do');
($result, $out, $err) = $node->psql('postgres', q{LOAD 'genie'; SET genie.worker = off; SHOW genie.worker;
	SELECT name, boot_val, context FROM pg_settings WHERE name ~ '^genie\.(worker|engine|kernels|max_batch|gpu|cpu)' ORDER BY name});
is($out, "off\ngenie.cpu_threads|0|sighup\ngenie.engine|auto|sighup\ngenie.gpu_devices|0|sighup\ngenie.gpu_library|\$libdir/genie_cuda|sighup\ngenie.gpu_memory|0|sighup\n"
	. "genie.kernels|auto|sighup\ngenie.max_batch|1024|sighup\ngenie.worker|on|user", 'the settings have their defaults');
foreach ([ 'genie.engine', 'gpu', qr/invalid value for parameter "genie\.engine": "gpu"\nHINT:  Available values: auto, cpu, cuda\./ ],
	[ 'genie.max_batch', '0', qr/0 is outside the valid range for parameter "genie\.max_batch" \(1 \.\. 65536\)/ ],
	[ 'genie.gpu_devices', '17', qr/17 is outside the valid range for parameter "genie\.gpu_devices" \(0 \.\. 16\)/ ],
	[ 'genie.gpu_memory', '-1', qr/-1 kB is outside the valid range for parameter "genie\.gpu_memory"/ ])
{
	my ($name, $value, $pattern) = @$_;
	($result, $out, $err) = $node->psql('postgres', "LOAD 'genie'; ALTER SYSTEM SET $name = '$value'");
	like($err, $pattern, "$name = $value is refused");
}
($result, $out, $err) = $node->psql('postgres', "LOAD 'genie'; SET genie.engine = 'cpu'");
like($err, qr/parameter "genie\.engine" cannot be changed now/, 'a session cannot choose the engine');
sql('CREATE ROLE somebody');
($result, $out, $err) = $node->psql('postgres', "LOAD 'genie'; SET ROLE somebody; SHOW genie.gpu_library");
like($err, qr/(must be superuser or have privileges of pg_read_all_settings|permission denied) to examine "genie\.gpu_library"/, 'where the library lies is not for everybody');

# ---- preloaded ----

$node->append_conf('postgresql.conf', worker_settings($cuda, $library));
$node->restart;
is(sql("SELECT worker_pid IS NOT NULL, worker_state, engine, worker_starts, queries_per_batch, stats_since BETWEEN pg_postmaster_start_time() - interval '1 s' AND now() FROM genie_stat"),
	't|idle|fake|1||t', 'a worker, nothing counted yet');
is(sql('SELECT shared_memory_bytes, images, image_bytes FROM genie_stat'), (16 << 20) . '|0|0', 'the memory for images');
is(sql('SELECT device, name, memory_bytes, limit_bytes, used_bytes, image_bytes, share, uploaded_bytes, upload_time, evictions, losses, state, last_error, last_error_at FROM genie_devices()'),
	'0|fake|1073741824|1073741824|0|0|0|0|0|0|0|in use||', 'a device');
my $bytes = sql(q{SELECT genie_prewarm('t_x')});
is(sql('SELECT images, image_bytes, image_loads FROM genie_stat'), "1|$bytes|1", 'an image that was loaded');
my $image = "SELECT database, index, database_oid = (SELECT oid FROM pg_database WHERE datname = 'postgres'), filenode = pg_relation_filenode('t_x'),
	contents, state, reason, bytes, now() - last_used < interval '1 min', loads FROM genie_images()";
is(sql($image), "postgres|t_x|t|t|postings|ready||$bytes|t|1", 'genie_images shows it');
sql('CREATE DATABASE other');
is($node->safe_psql('other', 'CREATE EXTENSION genie; SELECT database, index, bytes FROM genie_images()'), "postgres||$bytes", 'in another database without the name of the index');
my $hits = sql('SELECT hits FROM genie_images()');
order('slow 50');
sql($asks);
is(sql('SELECT hits FROM genie_images()'), $hits + 1, 'and that a scan has found it');
is(sql('SELECT requests, queries, batches, queries_per_batch, answered_by_gpu, answered_by_worker_cpu, answered_by_backend FROM genie_stat'), '1|1|1|1|1|0|0', 'one question');
is(sql('SELECT count_time BETWEEN 45 AND 5000 AND wait_time >= 0 AND wait_time < 5000 FROM genie_stat'), 't', 'times are in milliseconds');
my $tells = 'SELECT answered_by_gpu, answered_by_worker_cpu, answered_by_backend, fallback_reasons, wait_time >= 0, count_time BETWEEN 45 AND 5000 FROM genie_last_scan()';
sub tells { return (split /\n/, sql("$_[0]; $tells"))[-1]; }
is(tells($asks), '1|0|0||t|t', 'genie_last_scan: the GPU has counted');
is(tells("SET genie.worker = off; $asks"), '0|0|1|genie.worker is off|t|f', 'the session has');
sql('SELECT genie_stat_reset()');
sql($asks);
sql("SET genie.worker = off; $asks");
is(sql('SELECT requests, answered_by_backend, fallback_worker_off FROM genie_stat'), '1|1|1', 'one that the backend answered');
order('retry');
sql($asks);
is(sql('SELECT requests, answered_by_gpu, answered_by_worker_cpu, gpu_failed FROM genie_stat'), '2|1|1|1', 'one that the GPU could not answer');
is(sql("SELECT state, last_error, now() - last_error_at < interval '1 min' FROM genie_devices()"), 'in use|the fake device failed for once|t', 'and why');
order('slow 50 retry');
is(tells($asks), '0|1|0|the GPU failed|t|t', "the worker's CPU has");
order('');

my $before = sql('SELECT worker_pid, images, image_bytes, shared_memory_bytes, image_loads FROM genie_stat');
sql('SELECT genie_stat_reset()');
is(sql('SELECT worker_starts + requests + queries + batches + wait_time + count_time + answered_by_gpu + answered_by_worker_cpu + answered_by_backend + fallback_worker_off + gpu_failed, '
		. "queries_per_batch, now() - stats_since < interval '1 min' FROM genie_stat"), '0||t', 'genie_stat_reset: counters are 0');
is(sql('SELECT worker_pid, images, image_bytes, shared_memory_bytes, image_loads FROM genie_stat'), $before, 'what there is stays');

# ---- EXPLAIN ----

SKIP:
{
	skip 'EXPLAIN tells from PostgreSQL 18 on', 4 if sql('SHOW server_version_num') < 180000;
	my $explain = 'EXPLAIN (ANALYZE, COSTS off, TIMING off, BUFFERS off, SUMMARY off';
	my $scan = "SELECT note FROM t ORDER BY x <&> $query LIMIT 3";
	my $off = 'SET enable_seqscan = off; SET genie.worker = off;';
	like(sql("$off $explain) $scan"), qr/Index Scan using t_x.*\n +Genie: gpu=0 worker=0 session=1 \(genie\.worker is off\) segments=\d+ pending=\d+ rounds=\d+ candidates=\d+ visited=0/s,
		'EXPLAIN ANALYZE tells what a scan did');
	like(sql("$off $explain, FORMAT json) $scan"), qr/"Genie": \{\s*"Answered by GPU": 0,.*"Fallback Reasons": "genie\.worker is off",.*"Candidates": \d+,\s*"Rows Visited": 0\s*\}/s,
		'in JSON, too');
	like(sql("$off EXPLAIN ANALYZE $scan"), qr/Genie Timing: wait=\d+\.\d+ count=\d+\.\d+\n/, 'with times');
	unlike(sql("$off EXPLAIN $scan"), qr/Genie/, 'EXPLAIN alone does not');
}

done_testing();
