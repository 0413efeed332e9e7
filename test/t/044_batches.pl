# Requests that sessions make at the same time are counted as one batch, as large as genie.max_batch allows, and each session gets
# its own answer.
#
# The fake engine logs the batches that it is given.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use List::Util qw(max sum);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);
use Test::More;

once();
my $sessions = 200;
my $node = genie_node('batches', conf => worker_settings(fake_engine(), 'max_connections = 230', 'genie.shared_memory = 32MB'));
create_table($node, 3000, 0.44);
sound($node, 'at first');		# and all images are loaded
is(info($node, 't_x', 'segments'), 1, 'the index has one segment, so that each question is one query');

sub question_number { my ($i) = @_; return question($_[1] // 'by_index', "'{1,2,$i," . ($i * 7 % 300) . "}'::int[]", 20); }

# The sizes of the batches from a line of the engine's log on.
sub batches { return map { /^batch (\d+)/ ? $1 : () } told($_[0]); }

# Sessions that ask at the same time, while the worker is busy with the first: the sizes of the batches that this makes.
sub crowd
{
	my ($n, $when) = @_;
	my %expected = map { $_ => $node->safe_psql('postgres', question_number($_, 'by_sequence')) } 1 .. $n;
	my $from = told();
	order('hold');
	my $first = start_sql($node, question_number(1));
	wait_until($node, "SELECT worker_state = 'counting' FROM genie_stat");
	my @crowd = map { start_sql($node, question_number($_)) } 2 .. $n;
	wait_for_waiting($node, $n);
	usleep(100_000);				# so that how long they waited can be told from nothing
	order('');
	my $wrong = 0;
	foreach my $i (1 .. $n)
	{
		my $session = $i == 1 ? $first : $crowd[ $i - 2 ];
		finish_sql($session) or diag($session->{err});
		$wrong++ if $session->{out} ne "$expected{$i}\n";
	}
	is($wrong, 0, "each of $n sessions has its own answer, $when");
	return batches($from);
}

sub set_max_batch
{
	my ($n) = @_;
	$node->append_conf('postgresql.conf', "genie.max_batch = $n\n");
	$node->reload;
	# reloaded settings are noticed between batches: this asks until the worker is certain to have seen them
	$node->safe_psql('postgres', question_number($_)) foreach 1 .. 3;
	return;
}

# ---- a batch of many ----

my ($before) = stat_of($node, 'batches');
my @sizes = crowd(20, 'in batches as they come');
is(sum(@sizes), 20, 'each query is counted once');
cmp_ok(max(@sizes), '>=', 8, "what came while the worker was busy is one batch (@sizes)");
is(stat_of($node, 'batches') - $before, scalar(@sizes), 'genie_stat counts batches');
cmp_ok($node->safe_psql('postgres', 'SELECT wait_time >= 1000 FROM genie_stat'), 'eq', 't', 'and how long requests waited');

# ---- no more than genie.max_batch ----

foreach my $most (1, 3)
{
	set_max_batch($most);
	@sizes = crowd(12, "with genie.max_batch = $most");
	is(max(@sizes), $most, "batches have at most $most queries (@sizes)");
	is(sum(@sizes), 12, 'and each query is counted once');
}

# a request that is larger than a batch may be: one query for each segment
$node->safe_psql('postgres', "ALTER INDEX t_x SET (pending_limit = 64); SELECT genie_merge('t_x')");
$node->safe_psql('postgres', 'SELECT add_rows(200, 0.9)');
$node->safe_psql('postgres', "SELECT genie_merge('t_x')");
my $segments = info($node, 't_x', 'segments');
cmp_ok($segments, '>', 1, 'an index of several segments');
set_max_batch(1);
sound($node, 'with requests that are larger than a batch may be');
my $from = told();
is($node->safe_psql('postgres', question_number(3)), $node->safe_psql('postgres', question_number(3, 'by_sequence')), 'their rows are right');
is(max(batches($from)), $segments, 'the first pages of all segments are one request, and a request is one batch');

# ---- many sessions ----

set_max_batch(1024);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE answers AS SELECT i, (SELECT md5(string_agg(s::text, ' ')) FROM (SELECT ctid, x <&> ARRAY[1,2,i] AS d FROM t ORDER BY x <&> ARRAY[1,2,i], ctid LIMIT 10) s) AS rows
	FROM generate_series(1, 300) i;
CREATE FUNCTION ask(wanted int) RETURNS void LANGUAGE plpgsql
	SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
	got text;
BEGIN
	SELECT md5(string_agg(s::text, ' ')) INTO got FROM (SELECT ctid, x <&> ARRAY[1,2,wanted] AS d FROM t ORDER BY x <&> ARRAY[1,2,wanted] LIMIT 10) s;
	IF got IS DISTINCT FROM (SELECT rows FROM answers WHERE i = wanted) THEN
		RAISE 'other rows for %', wanted;
	END IF;
END $$;
SQL
order('slow 300');
$from = told();
my ($requests, $starts) = split /\|/, stat_of($node, 'requests, worker_starts');
$node->pgbench("--no-vacuum --client=$sessions --jobs=2 --transactions=5", 0, [qr/processed: 1000\/1000/], [qr/^$/], "$sessions sessions at once",
	{ '044_batches' => "\\set i random(1, 300)\nSELECT ask(:i);\n" });
@sizes = batches($from);
cmp_ok(stat_of($node, "requests - $requests"), '>=', 5 * $sessions, 'each asked the worker');
cmp_ok(max(@sizes), '>=', $sessions * $segments / 2, 'batches grow to ' . max(@sizes) . ' queries');
cmp_ok(scalar(@sizes), '<', 5 * $sessions / 4, 'and are few: ' . scalar(@sizes));
is(stat_of($node, "worker_starts - $starts"), 0, 'by one worker');
is(stat_of($node, 'fallback_busy + fallback_failed'), 0, 'none fell back');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no assertion failed');

done_testing();
