# Images of segments in shared memory: which are loaded, kept fresh, replaced and evicted.  A load that fails leaves nothing
# behind, and rows are right whichever images are there.
#
# genie_stat tells what is loaded.  The assert build checks each group of an image after filling it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my $lock = 714100;
my $node = genie_node('images', conf => "shared_preload_libraries = ''\nrestart_after_crash = on\n", init => { allows_streaming => 1, %{ without_checksums() } });
create_table($node, 3000, 0.3);

sub sql { return $node->safe_psql('postgres', @_); }
sub shown { my ($column, $where) = @_; return ($where // $node)->safe_psql('postgres', "SELECT $column FROM genie_stat"); }
sub prewarm { my ($index, $database) = @_; return $node->safe_psql($database // 'postgres', "SELECT genie_prewarm('$index')"); }

sub fails_to_prewarm
{
	my ($index, $pattern, $what) = @_;
	my ($result, $out, $err) = $node->psql('postgres', "SELECT genie_prewarm('$index')");
	like($err, $pattern, $what);
	return;
}

sub restart_with
{
	my (@lines) = @_;
	$node->append_conf('postgresql.conf', join("\n", @lines) . "\n");
	$node->restart;
	return;
}

# ---- without shared memory ----

my $hint = qr/HINT:  Add genie to shared_preload_libraries in postgresql\.conf and restart the server\./;
fails_to_prewarm('t_x', qr/ERROR:  genie has no shared memory\n$hint/, 'not preloaded: genie_prewarm says what to set');
sound($node, 'without preload');
restart_with("shared_preload_libraries = 'genie'", 'genie.worker = on', "genie.engine = 'cpu'", 'genie.loaders = 0', 'genie.autoprewarm = off', 'genie.shared_memory = 0');
fails_to_prewarm('t_x', qr/ERROR:  genie has no shared memory for images\nHINT:  Set genie\.shared_memory in postgresql\.conf to more than 0/,
	'no memory for images: genie_prewarm says what to set');
sound($node, 'without memory for images');
is(shown('images, image_bytes, shared_memory_bytes'), '0|0|0', 'genie_stat has none');
is(shown('worker_pid IS NULL, worker_state, worker_starts'), 't|not running|0', 'and no worker was started');
cmp_ok(shown('fallback_no_worker'), '>', 0, 'which it gives as the reason why sessions count');
restart_with('genie.shared_memory = 1MB');
is(sql('SHOW genie.shared_memory'), '256MB', 'a size that could hold no image is refused');
like(slurp_file($node->logfile), qr/invalid value for parameter "genie\.shared_memory": 1024\n.*DETAIL:  It must be 0, or at least 4096 kB\./,
	'and the log says what is possible');
restart_with('genie.shared_memory = 32MB');

# ---- what can be loaded ----

is(shown('images, image_bytes, image_loads'), '0|0|0', 'nothing is loaded at first');
my $said = info($node, 't_x', 'image_bytes');
cmp_ok($said, '>', 0, 'genie_index_info says what images would take');
is(prewarm('t_x'), $said, 'and genie_prewarm loads as many bytes');
is(prewarm('t_x'), shown('image_bytes'), 'and the same when all is there');
is(shown('images'), info($node, 't_x', 'segments'), 'an image for each segment');
my $answered = shown('answered_by_worker_cpu');
sound($node, 'with images');
cmp_ok(shown('answered_by_worker_cpu'), '>', $answered, 'which were used');
is(shown('images'), info($node, 't_x', 'segments') + info($node, 't_tuple', 'segments'), 'the first scan has loaded the other index');

sql(<<'SQL');
CREATE TABLE sparse AS SELECT ARRAY[i, i + 1000000, i % 3 - 5] AS x FROM generate_series(1, 70000) i;
CREATE TABLE dense AS SELECT ARRAY[1, 2, 3 + i % 2, 10 + i % 30] || CASE WHEN i % 100 = 0 THEN ARRAY(SELECT 100 + j FROM generate_series(1, 300) j) END AS x
	FROM generate_series(1, 70000) i;
CREATE TABLE nulls AS SELECT CASE WHEN i % 3 = 0 THEN ARRAY[i % 10] END AS x FROM generate_series(1, 1000) i;
CREATE TABLE only_nulls AS SELECT NULL::int[] AS x FROM generate_series(1, 100) i;
CREATE TABLE empty_sets AS SELECT '{}'::int[] AS x FROM generate_series(1, 100) i;
CREATE TABLE nothing (x int[]);
CREATE TABLE words AS SELECT ARRAY['w' || i % 17, 'x' || i, repeat('long', 100) || i % 2] AS x FROM generate_series(1, 5000) i;
CREATE UNLOGGED TABLE unlogged AS SELECT ARRAY[i % 10] AS x FROM generate_series(1, 1000) i;
CREATE TABLE vectors AS SELECT CASE WHEN i % 50 > 0 THEN ARRAY[sin(i), cos(i), i % 7, 1]::real[] END AS x FROM generate_series(1, 70000) i;
CREATE INDEX vectors_exact ON vectors USING genie (x genie_l2_exact_ops);
CREATE INDEX vectors_x ON vectors USING genie (x genie_l2_ops);
SELECT format('CREATE INDEX %1$s_x ON %1$s USING genie (x)', t)
	FROM unnest('{sparse,dense,nulls,only_nulls,empty_sets,nothing,words,unlogged}'::text[]) t \gexec
SQL
foreach my $table (qw(sparse dense nulls only_nulls empty_sets words unlogged))
{
	is(prewarm("${table}_x"), info($node, "${table}_x", 'image_bytes'), "genie_prewarm of $table, as genie_index_info has said");
}
foreach my $index (qw(vectors_x vectors_exact))
{
	is(info($node, $index, 'image_bytes'), prewarm($index), "and of $index, with values");
	sql("DROP INDEX $index");
}
is(prewarm('nothing_x'), 0, 'an empty index has no image');

# Do scans of these indexes return what the tables hold?  (No row is updated, so ties come in ctid order.)
sub same_rows
{
	my ($when) = @_;
	my %queries = (sparse => '{7,1000007,-4,70000}', dense => '{1,2,3,11,150,400}', nulls => '{3,6}', only_nulls => '{1}', empty_sets => '{1}',
		words => '{w3,x3,x20}', unlogged => '{4}');
	foreach my $table (sort keys %queries)
	{
		my $query = "SELECT string_agg(s::text, ' ') FROM (SELECT ctid, x <&> '$queries{$table}' AS d FROM $table "
		  . "ORDER BY x <&> '$queries{$table}' %s LIMIT 300) s";
		my $by_index = sql('SET enable_seqscan = off; SET enable_sort = off; ' . sprintf($query, ''));
		my $by_table = sql('SET enable_indexscan = off; ' . sprintf($query, ', ctid'));
		is($by_index, $by_table, "the rows of $table $when");
	}
	return;
}
same_rows('with images');

sql('CREATE TABLE parted (x int[]) PARTITION BY RANGE (x); CREATE INDEX parted_x ON parted USING genie (x); CREATE INDEX t_note ON t (note)');
fails_to_prewarm('parted_x', qr/ERROR:  "parted_x" is a partitioned index/, 'a partitioned index');
fails_to_prewarm('t_note', qr/ERROR:  "t_note" is not a genie index/, 'an index of another kind');
my ($result, $out, $err) = $node->psql('postgres',
	"CREATE TEMP TABLE temporary AS SELECT ARRAY[i] AS x FROM generate_series(1, 10) i; CREATE INDEX temporary_x ON temporary USING genie (x);
	SET enable_seqscan = off; SELECT x FROM temporary ORDER BY x <&> '{3}' LIMIT 1; SELECT genie_prewarm('temporary_x')");
is($out, '{3}', 'a temporary table is searched');
like($err, qr/ERROR:  cannot load temporary index "temporary_x" into shared memory/, 'and its index never loaded');

sql('CREATE ROLE nobody; CREATE ROLE owner; CREATE ROLE scanner; GRANT pg_stat_scan_tables TO scanner; CREATE TABLE owned (x int[]);
	ALTER TABLE owned OWNER TO owner; CREATE INDEX owned_x ON owned USING genie (x)');
($result, $out, $err) = $node->psql('postgres', "SET ROLE owner; SELECT genie_prewarm('owned_x')");
like($err, qr/ERROR:  permission denied for function genie_prewarm/, 'genie_prewarm is not for everybody');
sql('GRANT EXECUTE ON FUNCTION genie_prewarm TO nobody, owner, scanner');
($result, $out, $err) = $node->psql('postgres', "SET ROLE nobody; SELECT genie_prewarm('owned_x')");
like($err, qr/ERROR:  must be owner of index owned_x/, 'nor for those it is granted to who have no business with the index');
is(sql("SET ROLE $_; SELECT genie_prewarm('owned_x')"), 0, "but for a $_") foreach 'owner', 'scanner';

# ---- changes of the index ----

sub merged_away
{
	prewarm('nulls_x');			# images of indexes that are gone go first
	my ($images, $bytes) = split /\|/, shown('images, image_bytes');
	sql("SELECT add_rows(300, 0.6); SELECT genie_merge('t_x'); SELECT genie_merge('t_tuple')") foreach 1 .. 5;
	sound($node, 'after merges');
	prewarm('t_x');
	prewarm('t_tuple');
	my $segments = info($node, 't_x', 'segments') + info($node, 't_tuple', 'segments');
	is(shown('images') - $images, $segments - 2, 'images of segments that were merged are gone');
	cmp_ok(shown('image_bytes'), '<', $bytes + 1_000_000, 'and so is their memory');
	return;
}
sql('VACUUM t; REINDEX INDEX t_x; REINDEX INDEX t_tuple');
sound($node, 'after REINDEX');
merged_away();

# The best rows die, and rows that do not match take their TIDs: an image that still had them would give those.
prewarm("${_}_x") foreach 'dense', 'nulls';
my ($loads, $gone) = split /\|/, shown('image_loads, fallback_image_gone');
sql(<<'SQL');
DELETE FROM t WHERE note % 5 = 1;
DELETE FROM nulls WHERE x = '{6}' OR x IS NULL AND ctid < '(2,1)';
DELETE FROM dense WHERE x @> '{150}' AND ctid < '(300,1)';
VACUUM (INDEX_CLEANUP on) t;
VACUUM (INDEX_CLEANUP on) nulls;
VACUUM (INDEX_CLEANUP on) dense;
INSERT INTO dense SELECT '{77}' FROM generate_series(1, 2000);
INSERT INTO nulls SELECT '{5}' FROM generate_series(1, 500);
SQL
same_rows('when TIDs are used again');
sound($node, 'after VACUUM');
is(shown('image_loads, fallback_image_gone'), "$loads|$gone", 'no image is loaded again for VACUUM, and none refused as too old');

sql("DELETE FROM dense WHERE ctid < '(300,1)'");
my ($r, $o, $e) = $node->psql('postgres', "SET genie.fault_point = 'image-refreshed'; SET genie.fault_action = 'error'; VACUUM dense");
like($e, qr/fault point "image-refreshed" reached/, 'a VACUUM that fails while it takes the dead out of images');
same_rows('after that VACUUM');
sql('VACUUM dense');
same_rows('after the next one');

sql('TRUNCATE sparse; INSERT INTO sparse SELECT ARRAY[i, 7] FROM generate_series(1, 500) i; REINDEX TABLE dense');
same_rows('after TRUNCATE and REINDEX');
sql('DROP INDEX words_x; CREATE INDEX words_x ON words USING genie (x)');
same_rows('after DROP INDEX and CREATE INDEX');

# ---- indexes that are gone ----

# Five indexes are dropped or emptied in five ways, and a sixth is never committed; the images that there were are gone soon.
sub make_gone
{
	sql(join('; ', map { "CREATE TABLE gone_$_ AS SELECT ARRAY[i % 50, 100 + i % 300] AS x FROM generate_series(1, 3000) i; CREATE INDEX gone_${_}_x ON gone_$_ USING genie (x)" } 1 .. 5));
	return;
}

sub images_go
{
	my ($where, $images) = @_;
	is(shown('images', $where), $images + 5, 'five images more');
	sql('DROP TABLE gone_1; DROP INDEX gone_2_x; TRUNCATE gone_3; REINDEX INDEX gone_4_x');
	sql('REINDEX INDEX CONCURRENTLY gone_5_x');
	$node->wait_for_catchup($where) if $where != $node;
	ok(wait_until($where, "SELECT images = $images FROM genie_stat"), 'DROP TABLE, DROP INDEX, TRUNCATE and REINDEX free them');
	sql('DROP TABLE gone_2, gone_3, gone_4, gone_5');
	return;
}

{
	prewarm('nulls_x');
	my $images = shown('images');
	make_gone();
	prewarm("gone_${_}_x") foreach 1 .. 5;
	images_go($node, $images);
	is(sql("BEGIN; CREATE TABLE gone AS SELECT ARRAY[i % 50] AS x FROM generate_series(1, 3000) i; CREATE INDEX gone_x ON gone USING genie (x);
		SELECT genie_prewarm('gone_x') > 0; SELECT images - $images FROM genie_stat; ROLLBACK"), "t\n1", 'an image of an index that is not committed');
	ok(wait_until($node, "SELECT images = $images FROM genie_stat"), 'ROLLBACK frees it');
	sql('CREATE DATABASE gone');
	$node->safe_psql('gone', 'CREATE EXTENSION genie; CREATE TABLE gone AS SELECT ARRAY[i % 50] AS x FROM generate_series(1, 3000) i; CREATE INDEX gone_x ON gone USING genie (x)');
	prewarm('gone_x', 'gone');
	is(shown('images'), $images + 1, 'one of another database');
	sql('DROP DATABASE gone');
	ok(wait_until($node, "SELECT images = $images FROM genie_stat"), 'DROP DATABASE frees it');
}

# ---- databases ----

sql("SELECT genie_merge('t_x'); VACUUM t; CHECKPOINT");
prewarm('t_x');
foreach my $strategy ('wal_log', 'file_copy')
{
	my $name = "copy_$strategy";
	sql("CREATE DATABASE $name TEMPLATE postgres STRATEGY $strategy");
	is($node->safe_psql($name, "SELECT relfilenode FROM pg_class WHERE relname = 't_x'"), sql("SELECT relfilenode FROM pg_class WHERE relname = 't_x'"),
		"$strategy: the index's file has the same number in both databases");
	$node->safe_psql($name, "DELETE FROM t WHERE note % 3 = 0; VACUUM t; SELECT add_rows(700, 0.21); SELECT genie_merge('t_x'); VACUUM t");
	prewarm('t_x', $name);
	is($node->safe_psql($name, 'SELECT * FROM differences(12, 0.3)'), '', "$strategy: the copy's answers");
	sound($node, "with a copy made by $strategy", 12);
}

# The same number, files copied from the same template, changed in the same way: only the row in pg_database tells the
# databases apart.
foreach my $number ('i % 10', 'i / 100 % 10')
{
	my $query = "SELECT string_agg(s, ' ') FROM (SELECT x[1] || (x <&> '{z4}') AS s FROM words ORDER BY x <&> '{z4}' %s LIMIT 200) s";
	sql('CREATE DATABASE again TEMPLATE postgres STRATEGY file_copy OID 90001');
	$node->safe_psql('again', "INSERT INTO words SELECT ARRAY['z' || $number] FROM generate_series(1, 1000) i; SELECT genie_merge('words_x')");
	prewarm('words_x', 'again');
	is($node->safe_psql('again', 'SET enable_seqscan = off; SET enable_sort = off; ' . sprintf($query, '')),
		$node->safe_psql('again', 'SET enable_indexscan = off; ' . sprintf($query, ', ctid')), "the answers of database 90001 with $number");
	sql('DROP DATABASE again');
}
is(sql("SELECT count(*) FROM pg_database WHERE datname = 'again'"), 0, 'a database whose images are loaded can be dropped');

# ---- loads that do not succeed ----

sub rest_of
{
	my ($index) = @_;
	sql("REINDEX INDEX $index");
	prewarm('nulls_x');
	return shown('images, image_bytes');
}

foreach my $point ('image-claimed', 'image-fill')
{
	my $fault = "SET genie.fault_point = '$point'; SET genie.fault_action = ";
	my $before = rest_of('dense_x');
	($r, $o, $e) = $node->psql('postgres', "$fault 'error'; SELECT genie_prewarm('dense_x')");
	like($e, qr/fault point "$point" reached/, "an error at $point");
	is(shown('images, image_bytes'), $before, 'leaves nothing');

	foreach my $how ('pg_cancel_backend', 'pg_terminate_backend')
	{
		my $holder = $node->background_psql('postgres');
		$holder->query_safe("SELECT pg_advisory_lock($lock)");
		my $session = start_sql($node, $fault . "'wait'; SELECT genie_prewarm('dense_x')");
		wait_until($node, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
		same_rows("while the image of dense is being loaded, at $point");
		my $waiting = start_sql($node, "SELECT genie_prewarm('dense_x')");
		wait_until($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'SELECT genie_prewarm%' AND wait_event_type = 'Extension'");
		sql("SELECT $how(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
		ok(!finish_sql($session), "$how during a load, at $point");
		$holder->quit;
		ok(finish_sql($waiting), 'who waited for it loads');
		is($waiting->{out} + 0, prewarm('dense_x'), 'all of it');
		$before = rest_of('dense_x');
	}
	$loads = shown('image_loads');
	my @sessions = map { start_sql($node, "SELECT genie_prewarm('dense_x')") } 1 .. 5;
	my %bytes = map { finish_sql($_); ($_->{out} + 0 => 1) } @sessions;
	is(join(' ', keys %bytes), prewarm('dense_x'), 'five sessions at once get the same answer');
	is(shown('image_loads'), $loads + 1, 'and one of them loads');
}

{
	my $log_at = -s $node->logfile;
	my $session = start_sql($node, "SET genie.fault_point = 'image-fill'; SET genie.fault_action = crash; REINDEX INDEX dense_x; SELECT genie_prewarm('dense_x')");
	ok(!finish_sql($session), 'a crash during a load');
	restarted($node, $log_at);
	is(shown('images, image_bytes, image_loads'), '0|0|0', 'shared memory starts anew');
	cmp_ok(prewarm('dense_x'), '>', 0, 'and is used again');
	sound($node, 'after a crash during a load');
}

# ---- a standby ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
cmp_ok($standby->safe_psql('postgres', "SELECT genie_prewarm('t_x') + genie_prewarm('t_tuple')"), '>', 0, 'a standby loads images');
foreach my $round (1 .. 3)
{
	sql("DELETE FROM t WHERE note % 11 = $round; VACUUM t; SELECT add_rows(200, 0.8$round)");
	sql("SELECT genie_merge('t_x')") if $round == 2;
	$node->wait_for_catchup($standby);
	is(differences($standby, 12, $round / 10), '', "the standby's answers after VACUUM and inserts, round $round");
}
cmp_ok(shown('answered_by_worker_cpu', $standby), '>', 0, 'from its images');
is(shown('fallback_image_gone', $standby), 0, 'which its scans brought up to date');
make_gone();
$node->wait_for_catchup($standby);
my $images_there = shown('images', $standby);
$standby->safe_psql('postgres', "SELECT genie_prewarm('gone_${_}_x')") foreach 1 .. 5;
images_go($standby, $images_there);
$standby->promote;
$standby->safe_psql('postgres', "DELETE FROM t WHERE note % 13 = 1; VACUUM t; SELECT add_rows(200, 0.77)");
is(differences($standby, 12, 0.9), '', 'and after its promotion');
$standby->stop;

# ---- no time ----

# a session whose statement_timeout leaves no time to load 3 million postings counts from the pages, and leaves the load to others
sql(<<'SQL');
CREATE TABLE large AS SELECT ARRAY(SELECT (i * 7 + j * j) % 900 FROM generate_series(1, 60) j WHERE i > 0) AS x FROM generate_series(1, 70000) i;
CREATE INDEX large_x ON large USING genie (x);
SQL
$loads = shown('image_loads');
my $no_image = shown('fallback_no_image');
sql("SET statement_timeout = '250ms'; SET enable_seqscan = off; SELECT count(*) FROM (SELECT x FROM large ORDER BY x <&> ARRAY[1, 4] LIMIT 3) s");
is(shown('image_loads'), $loads, 'a short statement_timeout: nothing is loaded');
cmp_ok(shown('fallback_no_image'), '>', $no_image, 'and genie_stat says why');
sql("SET enable_seqscan = off; SELECT count(*) FROM (SELECT x FROM large ORDER BY x <&> ARRAY[1, 4] LIMIT 3) s");
is(shown('image_loads'), $loads + 1, 'without it, it is');

# ---- a damaged posting list that a query does not need ----

sql(<<'SQL');
CREATE TABLE damaged AS SELECT ARRAY[i % 50, 100 + i % 300] AS x FROM generate_series(1, 30000) i;
CREATE INDEX damaged_x ON damaged USING genie (x);
CHECKPOINT;
SQL
my $path = $node->data_dir . '/' . sql("SELECT pg_relation_filepath('damaged_x')");
$node->stop;
my $pages = slurp_file($path);
my ($last) = grep { my ($kind, $section) = unpack('CC', substr($pages, $_ * 8192 + 8176 + 12, 2)); $kind == 4 && $section == 4 }
  reverse 0 .. length($pages) / 8192 - 1;
open(my $handle, '+<:raw', $path) or die "$path: $!";
seek($handle, $last * 8192 + 24, 0);
print $handle "\xFF" x 100;
close($handle);
$node->start;
wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat");
my $damage_at = -s $node->logfile;
my $ask = "SELECT string_agg(s::text, ' ') FROM (SELECT ctid, x <&> '{3,7,101}' AS d FROM damaged ORDER BY x <&> '{3,7,101}' %s LIMIT 300) s";
is(sql('SET enable_seqscan = off; SET enable_sort = off; ' . sprintf($ask, '')), sql('SET enable_indexscan = off; ' . sprintf($ask, ', ctid')),
	'a query on other keywords') foreach 1 .. 3;
my @said = slurp_file($node->logfile, $damage_at) =~ /could not load genie index "postgres\.public\.damaged_x" into shared memory: the checksum of block \d+ is wrong/g;
is(scalar @said, 1, 'the log says once that the index is not loaded');
fails_to_prewarm('damaged_x', qr/ERROR:  index "damaged_x" is damaged at block \d+: the checksum of block \d+ is wrong\nHINT:  Please REINDEX it/, 'and so does genie_prewarm');
cmp_ok(shown('fallback_no_image'), '>=', 3, 'genie_stat counts what was counted from the pages');
($r, $o, $e) = $node->psql('postgres', "SET enable_seqscan = off; SELECT x FROM damaged ORDER BY x <&> '{399}' LIMIT 1");
like($e, qr/ERROR:  index "damaged_x" is damaged at block $last: the page's checksum is wrong\nHINT:  Please REINDEX it\./, 'a query on a keyword of that page');
is(shown('images, image_bytes, worker_state'), '0|0|idle', 'no part of an image is left, and the worker is there');
sql('REINDEX INDEX damaged_x');
cmp_ok(prewarm('damaged_x'), '>', 0, 'REINDEX repairs it');
sql('DROP TABLE damaged');

# ---- a database whose row changes ----

sql("CREATE TABLE granted AS SELECT ARRAY[i % 50, 100 + i % 300] AS x FROM generate_series(1, 30000) i; CREATE INDEX granted_x ON granted USING genie (x)");
prewarm('granted_x');
my $images = shown('images');
foreach (1 .. 3)
{
	sql('GRANT CONNECT ON DATABASE postgres TO pg_monitor; REVOKE CONNECT ON DATABASE postgres FROM pg_monitor');
	prewarm('granted_x');
}
is(shown('images'), $images, 'GRANT ON DATABASE leaves no image behind that nobody asks for');
sql('DROP TABLE granted');

# ---- more than fits ----

restart_with('genie.shared_memory = 4MB', 'genie.image = full');
sql(<<'SQL');
SELECT format('CREATE TABLE many_%1$s AS SELECT ARRAY(SELECT (i * 7 + j * j * %1$s) %% 600 FROM generate_series(1, 8) j WHERE i > 0) AS x FROM generate_series(1, 40000) i', n),
	format('CREATE INDEX many_%1$s_x ON many_%1$s USING genie (x)', n) FROM generate_series(1, 6) n \gexec
SQL
foreach my $round (1, 2)
{
	foreach my $n (1 .. 6)
	{
		cmp_ok(prewarm("many_${n}_x"), '>', 600_000, "genie_prewarm of index $n");
		cmp_ok(shown('image_bytes'), '<=', 3 << 20, 'stays within the memory');
	}
}
cmp_ok(shown('image_evictions'), '>=', 6, 'because images were evicted');

# Many small images fill the memory, and were last used in an order that has nothing to do with where they are.  A large one needs
# pages behind one another.
srand(914);
my @small = map { "small_$_" } 1 .. 50;
sql(join('; ', map { "CREATE TABLE $_ AS SELECT ARRAY(SELECT (i * 7 + j * j * 11) % 600 FROM generate_series(1, 20) j WHERE i > 0) AS x FROM generate_series(1, 1200) i; CREATE INDEX ${_}_x ON $_ USING genie (x)" } @small));
sql(join('; ', map { "SELECT genie_prewarm('${_}_x')" } @small));
sql(join('; ', map { "SELECT genie_prewarm('${_}_x')" } sort { rand() <=> 0.5 } @small));
my $small_images = shown('images');
sql('CREATE TABLE broad AS SELECT ARRAY(SELECT (i * 7 + j * j * 11) % 600 FROM generate_series(1, 12) j WHERE i > 0) AS x FROM generate_series(1, 20000) i; CREATE INDEX broad_x ON broad USING genie (x)');
cmp_ok(prewarm('broad_x'), '>', 480_000, 'an image for which the free pieces are too small');
cmp_ok(shown('images'), '>', $small_images * 2 / 3, 'evicts those that are in the way');
sql(join('; ', map { "DROP TABLE $_" } @small, 'broad'));

# Indexes of all sizes come and go.  Each fits the memory, and all others may be evicted, so each finds room, in whatever pieces
# the free memory is.
my @no_room;
foreach my $round (1 .. 20)
{
	my $rows = int(300 * 65**rand);
	my $name = 'churn_' . int(rand(6));
	sql("DROP TABLE IF EXISTS $name; CREATE TABLE $name AS SELECT ARRAY(SELECT (i * 7 + j * j * 11) % 600 FROM generate_series(1, 40) j WHERE i > 0) AS x
		FROM generate_series(1, $rows) i; CREATE INDEX ${name}_x ON $name USING genie (x)");
	my ($status, $bytes, $error) = $node->psql('postgres', "SELECT genie_prewarm('${name}_x')");
	push @no_room, "$rows rows: $error" if $status != 0;
}
is(join("\n", @no_room), '', 'every index finds room');
sql("DROP TABLE IF EXISTS churn_$_") foreach 0 .. 5;

sub many_rows
{
	my ($table) = @_;
	my $query = "SELECT string_agg(s::text, ' ') FROM (SELECT ctid, x <&> '{1,4,9,200,300,599}' AS d FROM $table ORDER BY x <&> '{1,4,9,200,300,599}' %s LIMIT 300) s";
	return sql('SET enable_seqscan = off; SET enable_sort = off; ' . sprintf($query, '')) eq sql('SET enable_indexscan = off; ' . sprintf($query, ', ctid'));
}
foreach my $round (1, 2)
{
	ok(many_rows("many_$_"), "the rows of index $_") foreach 1 .. 6;
}
$node->pgbench('--no-vacuum --client=6 --transactions=40', 0, [qr/processed: 240\/240/], [qr/^$/], 'scans of six indexes at once',
	{ '040_images' => "\\set n random(1, 6)\nSET enable_seqscan = off;\nSELECT x FROM many_:n ORDER BY x <&> ARRAY[1,4,9,:n] LIMIT 10;\n" });
cmp_ok(shown('image_bytes'), '<=', 3 << 20, 'stay within the memory');

foreach my $try (1 .. 8)
{
	$node->psql('postgres', "SET genie.fault_point = 'image-fill'; SET genie.fault_action = 'error'; REINDEX INDEX many_1_x; SELECT genie_prewarm('many_1_x')");
}
prewarm("many_${_}_x") foreach 1 .. 3;
my %loaded = map { $_ => prewarm("many_${_}_x") } 1 .. 3;
cmp_ok($loaded{1} + $loaded{2} + $loaded{3}, '>', 1_800_000, 'loads that failed took no memory for good');

my $log_at = -s $node->logfile;
ok(many_rows('large'), 'the rows of an index that does not fit') foreach 1 .. 3;
fails_to_prewarm('large_x', qr/ERROR:  no room in shared memory for all of genie index "large_x"\nDETAIL:  A segment needs \d+ kB; 0 kB of the index are loaded; genie\.shared_memory has \d+ kB for images\.\nHINT:  Raise genie\.shared_memory/,
	'which genie_prewarm says');
my $log = substr(slurp_file($node->logfile), $log_at);
my @lines = $log =~ /LOG:  no room in shared memory for an image of genie index "postgres\.public\.large_x"/g;
is(scalar @lines, 1, 'the log says it once');
like($log, qr/DETAIL:  A segment of 70000 rows needs \d+ kB, but genie\.shared_memory has \d+ kB for images\.\n.*HINT:  Queries on it are counted from the index's pages\./,
	'with what is needed and what there is');
cmp_ok(shown('image_no_room'), '>=', 1, 'and genie_stat counts it');
sound($node, 'with little memory');

$node->stop;
done_testing();
