# Images that were in shared memory are there again after a restart, without a query: on a primary and on a standby, after kill -9, in
# the order of their use, as far as they fit.  What does not exist any more is not loaded, and a damaged file does no harm.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my $node = genie_node('autoprewarm', conf => <<'CONF', init => { allows_streaming => 1 });
shared_preload_libraries = 'genie'
genie.worker = on
genie.engine = 'cpu'
genie.shared_memory = 32MB
genie.loaders = 2
genie.autoprewarm = on
restart_after_crash = on
CONF

sub sql { return $node->safe_psql('postgres', shift); }
sub images { return stat_of($_[1] // $node, $_[0] // 'images'); }
sub come { my ($n, $what, $where) = @_; return ok(wait_until($where // $node, "SELECT images = $n FROM genie_stat"), $what); }
sub file_of { my ($where) = @_; return ($where // $node)->data_dir . '/genie.images'; }
sub number_of { my ($index) = @_; return sql("SELECT relfilenode FROM pg_class WHERE relname = '$index'"); }

# The files' numbers in the order that the file has.
sub listed { return map { (split)[2] } grep { /^\d/ } split(/\n/, -e file_of(@_) ? slurp_file(file_of(@_)) : ''); }

sub wait_for_file
{
	my ($n, $where) = @_;
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if listed($where) == $n;
		select(undef, undef, undef, 0.1);
	}
	return 0;
}

# Kills the postmaster and starts it again, as soon as its children have noticed.
sub kill9
{
	my ($where) = @_;
	my @pids = split(/\n/, $where->safe_psql('postgres', 'SELECT pid FROM pg_stat_activity'));
	$where->kill9;
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last unless kill(0, @pids);
		select(undef, undef, undef, 0.1);
	}
	$where->start;
	return;
}

sub write_images
{
	my ($text) = @_;
	open(my $handle, '>:raw', file_of()) or die $!;
	print $handle $text;
	close($handle);
	return;
}

sub crc32c
{
	my $crc = 0xFFFFFFFF;
	foreach my $byte (unpack('C*', shift))
	{
		$crc ^= $byte;
		$crc = $crc & 1 ? ($crc >> 1) ^ 0x82F63B78 : $crc >> 1 foreach 1 .. 8;
	}
	return sprintf('%08x', $crc ^ 0xFFFFFFFF);
}

# A query that wants the image of a table's index, and whether its rows are those of a sequential scan.
sub rows
{
	my ($table, $where) = @_;
	my $query = "SELECT string_agg(s::text, ' ') FROM (SELECT ctid, x <&> '{1,4,9}' AS d FROM $table ORDER BY x <&> '{1,4,9}'%s LIMIT 50) s";
	my @got = map { ($where // $node)->safe_psql('postgres', $_) } 'SET enable_seqscan = off; SET enable_sort = off; ' . sprintf($query, ''),
	  'SET enable_indexscan = off; ' . sprintf($query, ', ctid');
	return is($got[0], $got[1], "the rows of $table");
}

sql('CREATE EXTENSION genie');
foreach my $table ('a' .. 'd')
{
	sql("CREATE TABLE $table AS SELECT ARRAY(SELECT (i * 7 + j * j * ascii('$table')) % 600 FROM generate_series(1, 20) j WHERE i > 0) AS x FROM generate_series(1, 40000) i;
		CREATE INDEX ${table}_x ON $table USING genie (x) WITH (pending_limit = 64)");
}

# ---- a restart ----

rows($_) foreach 'a', 'b', 'c', 'd';
come(4, 'queries have images made');
rows($_) foreach 'c', 'a', 'd', 'b';
my $order = join(' ', map { number_of("${_}_x") } 'b', 'd', 'a', 'c');
$node->stop;
is(join(' ', listed()), $order, 'the file lists them, the last used first');
$node->start;
come(4, 'after a restart they are there again');
$node->stop;
is(join(' ', listed()), $order, 'in the same order if nobody uses them');
$node->start;
come(4, 'after another restart, too');
my $loads = images('image_loads');
rows($_) foreach 'a' .. 'd';
is(images('image_loads'), $loads, 'before a query');
cmp_ok(images('answered_by_worker_cpu'), '>=', 4, 'which the worker answers');
like(slurp_file($node->logfile), qr/LOG:  genie loads 4 images that were in shared memory before/, 'the log says so');

# ---- kill -9 ----

sql('DROP TABLE d');
ok(wait_for_file(3), 'the file follows what comes and goes');
rows($_) foreach 'c', 'b', 'a';
kill9($node);
come(3, 'kill -9: they are there again');
my $log_at = -s $node->logfile;
my $session = start_sql($node, 'SELECT pg_sleep(100)');
wait_until($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(100)'");
kill('KILL', sql("SELECT pid FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(100)'") || die);
finish_sql($session);
restarted($node, $log_at);
come(3, 'and after the crash of a session');

# ---- what is not there any more ----

my $old = slurp_file(file_of());
sql('DROP INDEX b_x; REINDEX INDEX c_x');
rows('a');
$node->stop;
write_images($old);
$log_at = -s $node->logfile;
$node->start;
come(1, 'dropped and rebuilt indexes: the one that is left is loaded');
ok(wait_for_file(1), 'and the file forgets the others');
unlike(slurp_file($node->logfile, $log_at), qr/ERROR|WARNING|PANIC/, 'without an error');

# ---- a merge ----

rows('a');
my $images = images();
sql("INSERT INTO a SELECT ARRAY[i % 50] FROM generate_series(1, 3000) i; SELECT genie_merge('a_x')");
ok(wait_until($node, "SELECT images = (SELECT segments FROM genie_index_info('a_x')) FROM genie_stat"), 'segments of a merge are loaded before they are asked for');
$loads = images('image_loads');
rows('a');
is(images('image_loads'), $loads, 'indeed');

# ---- a standby ----

sql('CREATE INDEX b_x ON b USING genie (x)');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
unlink(file_of($standby));
$standby->start;
$node->wait_for_catchup($standby);
is(images('images', $standby), 0, 'a standby has no images');
rows($_, $standby) foreach 'b', 'c', 'a';
my $there = images('images', $standby);
cmp_ok($there, '>=', 3, 'until it is asked');
$standby->restart;
come($there, 'they are there after its restart', $standby);
ok(wait_for_file($there, $standby), 'the file lists them');
kill9($standby);
come($there, 'and after kill -9', $standby);
$standby->promote;
rows('b', $standby);
$standby->safe_psql('postgres', 'DELETE FROM b WHERE x[1] % 3 = 0; VACUUM b');
$standby->restart;
come($there, 'and after its promotion and a restart', $standby);
rows($_, $standby) foreach 'a' .. 'c';
$standby->stop;

# ---- too little memory ----

rows($_) foreach 'c', 'b', 'a';
ok(wait_until($node, 'SELECT images >= 3 FROM genie_stat'), 'more images than will fit');
$node->append_conf('postgresql.conf', "genie.shared_memory = 4MB\n");
$node->restart;
ok(wait_until($node, "SELECT images > 0 AND image_no_room > 0 FROM genie_stat"), 'too little memory: what fits is loaded');
ok(wait_until($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'genie loader'"), 'and the loaders end');
is(images('image_evictions'), 0, 'and nothing is evicted for the rest');
my $evicted = images('image_loads');
rows('a');
is(images('image_loads'), $evicted, 'the last used is there');
rows($_) foreach 'b', 'c';
$node->append_conf('postgresql.conf', "genie.shared_memory = 32MB\n");

# ---- a damaged file, or another's ----

$node->restart;
rows($_) foreach 'c', 'b', 'a';
ok(wait_until($node, 'SELECT images >= 3 FROM genie_stat'), 'all images again');
$node->stop;
my $good = slurp_file(file_of());
(my $other_number = $good) =~ s/^(\d+) /9$1 /m;
(my $other_version = $good) =~ s/images 1/images 2/;
my %damaged = (
	'a changed number' => $other_number,
	'another version' => $other_version,
	'no end' => substr($good, 0, length($good) - 5),
	'more behind it' => "$good\n",
	'nothing in it' => '',
	'bytes' => join('', map { chr($_ * 7 % 256) } 1 .. 5000),
	'a long line' => "genie images 1\n" . '1' x 100_000,
	'too many lines' => "genie images 1\n" . "5 1663 16384 1 1\n" x 5000);
foreach my $how (sort keys %damaged)
{
	write_images($damaged{$how});
	$log_at = -s $node->logfile;
	$node->start;
	$node->wait_for_log(qr/LOG:  file "genie\.images" is damaged or of another version of genie, and is ignored/, $log_at);
	is(images(), 0, "a file with $how is ignored");
	$node->stop;
}
$node->start;
rows('a');
ok(wait_for_file(images()), 'and written anew');
sql('CREATE INDEX b_btree ON b (x)');
my ($database, $btree, $table) = split(/\|/, sql("SELECT d.oid, i.relfilenode, t.relfilenode FROM pg_database d, pg_class i, pg_class t WHERE datname = current_database() AND i.relname = 'b_btree' AND t.relname = 'b'"));
$node->stop;
my $lines = "genie images 1\n$database 1663 $btree 1 1\n$database 1663 $table 1 1\n$database 1663 4000000 1 1\n4000000 1663 $table 1 1\n" . join('', $good =~ /^(\d.*\n)/mg);
write_images($lines . 'crc ' . crc32c($lines) . "\n");
$log_at = -s $node->logfile;
$node->start;
ok(wait_until($node, 'SELECT images >= 3 FROM genie_stat'), 'a file that names what is no index of genie, and what does not exist: the rest is loaded');
unlike(slurp_file($node->logfile, $log_at), qr/ERROR|WARNING|PANIC/, 'without an error');

# ---- off ----

$node->append_conf('postgresql.conf', "genie.autoprewarm = off\n");
$node->restart;
ok(wait_until($node, "SELECT worker_state = 'idle' FROM genie_stat"), 'the worker is there');
is(images('images, image_loads'), '0|0', 'off: nothing is loaded');
$node->stop;
done_testing();
