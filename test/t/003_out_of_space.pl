# A disk that is full in the middle of a build, an insert or a merge: the error is clear, nothing is lost, and everything works
# once there is room.
#
# The full disk is a limit on the size of one backend's files (RLIMIT_FSIZE, set with prlimit from outside).  It stops the
# index's file and not the table's, because the index is larger.  temp_file_limit does the same for spilled runs of a build.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'prlimit is not installed' if system('prlimit --version >/dev/null 2>&1') != 0;

my $node = genie_node('out_of_space', init => { extra => ['--wal-segsize=1'] });
create_table($node, 500, 0.3);
my $numbers = join(', ', map { "note + ${_}00000" } 0 .. 9);
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE wide (note int);
INSERT INTO wide SELECT generate_series(1, 20000);
CREATE INDEX wide_idx ON wide USING genie ((ARRAY[$numbers])) WITH (pending_limit = 64);
SQL

# A query over the wide index whose answer must not change, and one that counts all rows through it.
sub wide_answer
{
	return $node->safe_psql('postgres', <<"SQL");
SET enable_seqscan = off;
SELECT count(*), sum(note), count(DISTINCT note) FROM (SELECT note FROM wide ORDER BY ARRAY[$numbers] <&> '{7,100007,19999}' OFFSET 0) s;
SELECT note FROM wide ORDER BY ARRAY[$numbers] <&> '{7,100007,19999}' LIMIT 3;
SQL
}

# Runs SQL in a backend whose files cannot grow beyond $bytes; returns what it says.
sub limited
{
	my ($bytes, @sql) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	system_or_bail('prlimit', "--fsize=$bytes:", '--pid', $pid);
	$session->query($_) foreach @sql;
	my $err = $session->{stderr};
	$session->quit;
	$err =~ s/^\s*background_psql:.*$//mg;
	return $err;
}

sub size_of { return $node->safe_psql('postgres', "SELECT pg_relation_size('$_[0]')"); }

my $full = qr/ERROR:  could not (extend|write)[^\n]*(wrote only|File too large)/;
my $size = size_of('wide_idx');
my $before = wide_answer();
cmp_ok($size, '>', 2 * size_of('wide'), 'the index is larger than its table');

# build
like(limited($size / 2, 'CREATE INDEX wide_second ON wide USING genie ((ARRAY[' . $numbers . ']))'), $full, 'a build without room fails');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname = 'wide_second'"), 0, 'and leaves no index');
like(limited($size / 2, 'REINDEX INDEX wide_idx'), $full, 'a REINDEX without room fails');
is(wide_answer(), $before, 'and leaves the old index');
my ($result, $out, $err) = $node->psql('postgres',
	"SET maintenance_work_mem = '1MB'; SET temp_file_limit = '300kB'; REINDEX INDEX wide_idx");
like($err, qr/ERROR:  temporary file size exceeds "?temp_file_limit"? \(300kB\)/, 'a build that may not spill fails');
is(wide_answer(), $before, 'and leaves the old index, too');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_ls_tmpdir()'), 0, 'and no temporary file');

# insert: the pending list cannot grow
like(limited($size, 'INSERT INTO wide SELECT generate_series(30001, 31000)'), $full, 'an insert without room fails');
is(wide_answer(), $before, 'and inserts nothing');
sound($node, 'after an insert without room');

# merge, by the insert that crosses the limit, by the administrator, and by VACUUM
my $room = size_of('wide_idx') + 90 * 1024;
$node->safe_psql('postgres', 'INSERT INTO wide SELECT generate_series(40001, 40300)');
my $with_pending = wide_answer();
like(limited($room, "SELECT genie_merge('wide_idx')"), $full, 'a merge without room fails');
is(wide_answer(), $with_pending, 'and changes no answer');
sound($node, 'after a merge without room');
like(limited(size_of('wide_idx'), 'INSERT INTO wide SELECT generate_series(50001, 51000)'), $full, 'an insert whose merge has no room fails');
is(wide_answer(), $with_pending, 'and inserts nothing');
$node->safe_psql('postgres', 'DELETE FROM wide WHERE note % 5 = 0 AND note NOT IN (7, 19999)');
$with_pending = wide_answer();
cmp_ok(info($node, 'wide_idx', 'unreachable_pages'), '>', 0, 'pages were left behind');

# VACUUM uses the pages that were left behind
is(limited(size_of('wide_idx'), 'VACUUM wide'), '', 'a VACUUM takes them for its merge');
is(wide_answer(), $with_pending, 'which changes no answer');
is(info($node, 'wide_idx', 'unreachable_pages'), 0, 'and leaves none');

# where there are none, it marks the dead rows, and warns
$node->safe_psql('postgres', 'REINDEX INDEX wide_idx; INSERT INTO wide SELECT generate_series(60001, 60300); DELETE FROM wide WHERE note % 3 <> 1');
$with_pending = wide_answer();
$err = limited(size_of('wide_idx'), 'VACUUM wide');
like($err, qr/WARNING:  could not compact index "postgres\.public\.wide_idx" for lack of disk space/, 'a VACUUM whose merge has no room warns');
unlike($err, qr/ERROR/, 'and does not fail');
is(wide_answer(), $with_pending, 'and changes no answer');
sound($node, 'after a VACUUM without room');
is(info($node, 'wide_idx', 'unreachable_pages'), 0, 'it has freed the pages that were left behind');
is(info($node, 'wide_idx', 'objects - tombstones + pending_rows'), $node->safe_psql('postgres', 'SELECT count(*) FROM wide'),
	'and has marked the dead rows');

# all rows go: that needs no room, and gives all pages back
my $full_size = size_of('wide_idx');
$node->safe_psql('postgres', 'CREATE TABLE saved AS SELECT * FROM wide');
is(limited($full_size, 'DELETE FROM wide', 'VACUUM wide'), '', 'a VACUUM of a full disk that removes all rows succeeds');
is(info($node, 'wide_idx', 'objects || \' \' || pending_rows || \' \' || unreachable_pages || \' \' || retired_bytes'), '0 0 0 0', 'the index is empty');
cmp_ok(size_of('wide_idx'), '<=', 4 * 8192, 'and the file is as small as that of an empty index');
is(limited($full_size, 'INSERT INTO wide SELECT * FROM saved LIMIT 5000'), '', 'so that inserts need no room');
cmp_ok(size_of('wide_idx'), '<=', $full_size, 'and the file is no larger than it was');
$node->safe_psql('postgres', 'TRUNCATE wide; INSERT INTO wide SELECT * FROM saved');
is(wide_answer(), $with_pending, 'the answer is the same when all rows are there again');

# room again
$node->safe_psql('postgres', 'VACUUM wide');
is(wide_answer(), $with_pending, 'VACUUM with room changes no answer');
is(info($node, 'wide_idx', 'unreachable_pages'), 0, 'and takes the pages back');
is(info($node, 'wide_idx', 'objects - tombstones + pending_rows'), $node->safe_psql('postgres', 'SELECT count(*) FROM wide'),
	'the index has as many live entries as the table has rows');
$node->safe_psql('postgres', "INSERT INTO wide SELECT generate_series(50001, 51000); SELECT genie_merge('wide_idx')");
sound($node, 'with room again');

done_testing();
