# Loaders make images while queries are answered from the pages, and stand in nobody's way.  A load takes a minute and more here, because
# each page is slow; whoever needs the index or the database has it within 2 seconds.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

once();
my $node = genie_node('loaders', conf => <<'CONF', init => { allows_streaming => 1 });
shared_preload_libraries = 'genie'
genie.worker = on
genie.engine = 'cpu'
genie.shared_memory = 64MB
genie.loaders = 2
genie.autoprewarm = off
restart_after_crash = on
allow_in_place_tablespaces = on
CONF
my $standby;
my $at = $node;					# the server that is asked
my $loading = "backend_type = 'genie loader' AND state = 'active'";

sub sql { my ($sql, $database) = @_; return $at->safe_psql($database // 'work', $sql); }
sub shown { return $at->safe_psql('postgres', "SELECT $_[0] FROM genie_stat"); }

sub slow
{
	my ($how) = @_;
	$at->append_conf('postgresql.conf', "genie.fault_action = '$how'\ngenie.fault_point = '" . ($how eq '' ? '' : 'loader-page') . "'\n");
	$at->reload;
	return wait_until($at, "SELECT current_setting('genie.fault_action') = '$how'");
}

sub ask
{
	my ($table, $database) = @_;
	my $query = "SELECT string_agg(s::text, ' ') FROM (SELECT ctid, x <&> '{1,4,9}' AS d FROM $table ORDER BY x <&> '{1,4,9}'%s LIMIT 50) s";
	my @got = map { sql($_, $database) } 'SET enable_seqscan = off; SET enable_sort = off; ' . sprintf($query, ''), 'SET enable_indexscan = off; ' . sprintf($query, ', ctid');
	return is($got[0], $got[1], "the rows of $table");
}

# Has a loader begin with the image of large, and waits until it reads.
sub begin
{
	ask('large');
	return ok(wait_until($at, "SELECT count(*) = 1 FROM pg_stat_activity WHERE $loading"), 'a loader loads');
}

# The statement takes at most 2 seconds, and, if the loader is in its way, that ends without an image.
sub within_2_seconds
{
	my ($what, $sql, $database, $ends) = @_;
	my $start = time();
	sql($sql, $database);
	my $took = time() - $start;
	cmp_ok($took, '<', 2, "$what during a load");
	note(sprintf('%s took %.2f s', $what, $took));
	return is($at->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE $loading"), $ends ? 0 : 1, 'the loader ' . ($ends ? 'has ended' : 'goes on'));
}

$node->safe_psql('postgres', 'CREATE DATABASE work; CREATE EXTENSION genie');
sql(<<'SQL');
CREATE EXTENSION genie;
CREATE TABLE large AS SELECT ARRAY(SELECT (i * 7 + j * j) % 900 FROM generate_series(1, 60) j WHERE i > 0) AS x, i AS note FROM generate_series(1, 80000) i;
CREATE INDEX large_x ON large USING genie (x);
CREATE TABLE small AS SELECT ARRAY[i % 50, 100 + i % 300] AS x FROM generate_series(1, 3000) i;
CREATE INDEX small_x ON small USING genie (x);
VACUUM large;
SQL

# ---- who loads ----

my $missed = shown('fallback_no_image');
ask('small');
is(shown('images, fallback_no_image'), "1|$missed", 'a short load is done by the session that asks');
ask('large');
cmp_ok(shown('fallback_no_image'), '>', $missed, 'a long one is not: the query is answered from the pages');
ok(wait_until($node, 'SELECT images = 2 FROM genie_stat'), 'and a loader makes the image');
$missed = shown('fallback_no_image');
ask('large');
is(shown('fallback_no_image'), $missed, 'for the next');
ok(wait_until($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'genie loader'"), 'no loader stays');
sql('REINDEX INDEX large_x');
is(sql("SELECT count(*) FROM genie_search('large_x', ARRAY(SELECT genie_query(ARRAY[i, i + 9]) FROM generate_series(1, 200) i), 5)"), 1000, 'a batch of many queries');
is(shown('fallback_no_image'), $missed, 'waits for its load');

# ---- in nobody's way ----

sql('REINDEX INDEX large_x');
ok(wait_until($node, 'SELECT images = 1 FROM genie_stat'), 'no image again');
slow('slow');
begin();
my $pages = sql("SELECT pg_relation_size('large_x') / 8192");
cmp_ok($pages * 3 * 0.05, '>', 60, 'which takes more than 60 seconds: each page is read three times');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE $loading AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)"), 0, 'without a snapshot');
ask('large');
sql('DELETE FROM large WHERE note <= 300');
within_2_seconds('VACUUM', 'VACUUM (INDEX_CLEANUP ON) large', undef, 0);
is(sql("SELECT tombstones FROM genie_index_info('large_x')"), 300, 'VACUUM removes dead rows, too');
within_2_seconds('ALTER INDEX RENAME', 'ALTER INDEX large_x RENAME TO large_y', undef, 0);
within_2_seconds('ALTER TABLE RENAME', 'ALTER TABLE large RENAME TO huge; ALTER TABLE huge RENAME TO large', undef, 0);
within_2_seconds('CREATE INDEX CONCURRENTLY', 'CREATE INDEX CONCURRENTLY large_note ON large (note)', undef, 0);
within_2_seconds('DROP INDEX CONCURRENTLY', 'DROP INDEX CONCURRENTLY large_note', undef, 0);
within_2_seconds('DROP INDEX, rolled back', 'BEGIN; DROP INDEX large_y; ROLLBACK; ALTER INDEX large_y RENAME TO large_x', undef, 1);
is(shown('images'), 1, 'no image is left');
my $bytes = shown('image_bytes');

begin();
cmp_ok(shown('image_bytes'), '>=', $bytes, 'the next query has a loader begin again');
within_2_seconds('a database as a template', 'CREATE DATABASE copy TEMPLATE work', 'postgres', 1);
begin();
within_2_seconds('ALTER DATABASE RENAME', 'ALTER DATABASE work RENAME TO works; ALTER DATABASE works RENAME TO work', 'postgres', 1);
$node->safe_psql('postgres', "CREATE TABLESPACE place LOCATION ''");
begin();
within_2_seconds('ALTER DATABASE SET TABLESPACE', 'ALTER DATABASE work SET TABLESPACE place', 'postgres', 1);
ask('large', 'copy');
ok(wait_until($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE $loading AND datname = 'copy'"), 'a loader in another database');
within_2_seconds('DROP DATABASE', 'DROP DATABASE copy', 'postgres', 1);
begin();
my $start = time();
$node->restart;
cmp_ok(time() - $start, '<', 4, 'a fast shutdown during a load, and the start');

begin();
my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $loading");
foreach my $how ('pg_cancel_backend', 'pg_terminate_backend')
{
	$node->safe_psql('postgres', "SELECT $how(pid) FROM pg_stat_activity WHERE $loading");
	ok(wait_until($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE $loading"), "$how ends a loader");
	$bytes = shown('image_bytes');
	is($bytes, 0, 'its memory is free');
	slow('');
	slow('slow');
	sql("SELECT genie_prewarm('small_x'); REINDEX INDEX small_x; REINDEX INDEX large_x");
	ok(wait_until($node, 'SELECT image_bytes = 0 FROM genie_stat'), 'nothing is loaded');
	begin();
}
within_2_seconds('DROP TABLE', 'DROP TABLE large', undef, 1);
ok(wait_until($node, 'SELECT image_bytes = 0 FROM genie_stat'), 'no memory is taken');

# ---- loads that fail ----

sub make_large
{
	my ($database, $rows) = @_;
	return sql(sprintf(<<'SQL', $rows // 20000), $database);
CREATE EXTENSION IF NOT EXISTS genie;
CREATE TABLE large AS SELECT ARRAY(SELECT (i * 7 + j * j) %% 900 FROM generate_series(1, 60) j WHERE i > 0) AS x, i AS note FROM generate_series(1, %d) i;
CREATE INDEX large_x ON large USING genie (x) WITH (pending_limit = 64);
VACUUM large;
SQL
}
slow('error');
make_large();
my $log_at = -s $node->logfile;
ask('large');
$node->wait_for_log(qr/ERROR:  fault point "loader-page" reached/, $log_at);
ok(wait_until($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'genie loader'"), 'a loader that fails ends');
is(shown('images, image_bytes'), '0|0', 'and leaves nothing');
slow('');
cmp_ok(sql("SELECT genie_prewarm('large_x')"), '>', 0, 'genie_prewarm loads');
sql('DROP TABLE large');
make_large();
slow('crash');
$log_at = -s $node->logfile;
$node->psql('work', "SET enable_seqscan = off; SELECT x FROM large ORDER BY x <&> '{1,4,9}' LIMIT 1");
ok(restarted($node, $log_at), 'a loader that crashes');
slow('');
ask('large');
ok(wait_until($node, 'SELECT images = 1 FROM genie_stat'), 'a query after it has the image made');

# ---- several ----

sql('DROP TABLE large');
ok(wait_until($node, 'SELECT image_bytes = 0 FROM genie_stat'), 'nothing is loaded');
make_large(undef, 3000);
foreach my $i (1 .. 2)
{
	sql("INSERT INTO large SELECT x, note FROM large WHERE note <= 3000 LIMIT 3000; SELECT genie_merge('large_x')");
}
my $segments = sql("SELECT segments FROM genie_index_info('large_x')");
cmp_ok($segments, '>', 1, 'an index of several segments');
my $loads = shown('image_loads');
$bytes = sql("SELECT genie_prewarm('large_x')");
is($bytes, shown('image_bytes'), 'genie_prewarm by several processes returns the bytes');
is(shown('image_loads') - $loads, $segments, 'each segment is loaded once');
ask('large');

sql('DROP TABLE large');
$node->safe_psql('postgres', "CREATE DATABASE second");
$node->append_conf('postgresql.conf', "genie.loaders = 1\n");
$node->reload;
make_large($_) foreach 'work', 'second';
ok(wait_until($node, "SELECT current_setting('genie.loaders') = '1' AND images = 0 FROM genie_stat"), 'one loader');
ask('large', $_) foreach 'work', 'second';
ok(wait_until($node, 'SELECT images = 2 FROM genie_stat'), 'loads for two databases');
sql('REINDEX INDEX large_x');
sql("SET statement_timeout = '70ms'; SET enable_seqscan = off; SELECT count(*) FROM (SELECT x FROM large ORDER BY x <&> ARRAY[1, 4] LIMIT 3) s");
ok(wait_until($node, 'SELECT images = 2 FROM genie_stat'), 'a session that has no time leaves the load to a loader, too');

# ---- none can be had ----

$node->append_conf('postgresql.conf', "max_worker_processes = 2\n");
$node->restart;
ok(wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat"), 'the worker is there');
ask('large');
is(shown('images'), 1, 'no room for a loader: the session loads');
sql('REINDEX INDEX large_x');
ok(wait_until($node, 'SELECT images = 0 FROM genie_stat'), 'no image');
$node->append_conf('postgresql.conf', "max_worker_processes = 8\ngenie.loaders = 0\n");
$node->restart;
ok(wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat"), 'the worker is there');
ask('large');
is(shown('images'), 1, 'genie.loaders = 0: the session loads');
$node->append_conf('postgresql.conf', "genie.loaders = 2\n");
$node->restart;

# ---- a standby ----

$node->backup('base');
$standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
$at = $standby;
slow('slow');
foreach my $drop ('DROP TABLE large', undef)
{
	my $database = defined $drop ? 'work' : 'second';
	ask('large', $database);
	ok(wait_until($standby, "SELECT count(*) = 1 FROM pg_stat_activity WHERE $loading AND datname = '$database'"), 'a loader on a standby');
	$start = time();
	$node->safe_psql(defined $drop ? ('work', $drop) : ('postgres', 'DROP DATABASE second'));
	$node->wait_for_catchup($standby);
	cmp_ok(time() - $start, '<', 3, ($drop // 'DROP DATABASE') . ' is replayed at once');
	ok(wait_until($standby, "SELECT count(*) = 0 FROM pg_stat_activity WHERE $loading"), 'the loader has ended');
}
$standby->stop;
$node->stop;
done_testing();
