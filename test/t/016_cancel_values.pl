# A statement over one very long value (a query of a million keywords, its text form, a search for it), or a build or an
# exact search, is cancelled at a moment of its work: it ends soon.
#
# Soon is a time of the backend's own processor, so a busy machine changes nothing.  Where the system does not tell it, it is
# a time of the clock.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use IPC::Open2;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $limit = 0.5;	# seconds; 0.2 are the goal, and assertions and a busy machine take their part
my $tries = 3;
my $node = genie_node('cancel_values');

$node->safe_psql('postgres', q{
	CREATE EXTENSION genie;
	CREATE TABLE long (name text, q genie_query, a int[], w text[], m int8multirange, s text);
	INSERT INTO long (name, a) SELECT 'integers', array_agg(hashint4(i)) FROM generate_series(1, 1000000) i;
	INSERT INTO long (name, w) SELECT 'words', array_agg(md5(i::text)) FROM generate_series(1, 300000) i;
	INSERT INTO long (name, m) SELECT 'ranges', range_agg(int8range(i * 10, i * 10 + 3)) FROM generate_series(1, 500000) i;
	INSERT INTO long (name, q) SELECT 'integers query', genie_query(a) FROM long WHERE name = 'integers';
	INSERT INTO long (name, s) SELECT 'query text', '{' || string_agg('0:int:' || hashint4(i), ',') || '}' FROM generate_series(1, 500000) i;
	INSERT INTO long (name, q) SELECT 'dimensions', ('{' || string_agg(i || ':int:1', ',') || '}')::genie_query FROM generate_series(1, 500000) i;
	CREATE TABLE wide AS SELECT array_agg(hashint4(i)) AS x FROM generate_series(1, 1000000) i GROUP BY i / 2000;
	CREATE TABLE documents AS SELECT jsonb_build_object('a', i % 100, 'b', md5(i::text), 'c', jsonb_build_array(i % 7, i)) AS x, '{a{' || i % 99 || '}{' || md5(i::text) || '}}' AS tree FROM generate_series(1, 10000) i;
	CREATE TABLE vectors AS SELECT array_agg((sin(i % 300 * j) + (hashint4(i * 64 + j) & 255) / 999.0)::real) AS x FROM generate_series(1, 10000) i, generate_series(1, 64) j GROUP BY i;
	CREATE INDEX vectors_x ON vectors USING genie (x genie_l2_ops);
	CREATE TABLE t (x int[], w text[], o genie_object);
	INSERT INTO t SELECT ARRAY[i, hashint4(i)], ARRAY[md5(i::text)], genie_tuple(i, 1) FROM generate_series(1, 500) i;
	CREATE INDEX t_x ON t USING genie (x);
	CREATE INDEX t_w ON t USING genie (w);
	CREATE INDEX t_o ON t USING genie (o)});

sub build { my ($index) = @_; return "SET max_parallel_maintenance_workers = 0; DO 'BEGIN CREATE INDEX i ON $index; DROP INDEX i; END'"; }
sub of { my ($name, $what) = @_; return "(SELECT $what FROM long WHERE name = '$name')"; }

my %statements = (
	'query of an array' => 'SELECT pg_column_size(genie_query(' . of('integers', 'a') . '))',
	'query of words' => 'SELECT pg_column_size(genie_query(' . of('words', 'w') . '))',
	'query of ranges' => 'SELECT pg_column_size(genie_query(' . of('ranges', 'm') . '))',
	'text form of a query' => 'SELECT pg_column_size(' . of('query text', 's') . '::genie_query)',
	'query as text' => 'SELECT length(' . of('integers query', 'q') . '::text)',
	'scan of the table' => 'SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT sum(x <&> ' . of('integers query', 'q') . ') FROM t',
	'scan of the table by an array' => 'SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT sum(w <&> ' . of('words', 'w') . ') FROM t',
	'scan of the index' => 'SET enable_seqscan = off; SELECT x FROM t ORDER BY x <&> ' . of('integers query', 'q') . ' LIMIT 3',
	'search' => "SELECT count(*) FROM genie_search('t_x', ARRAY[" . of('integers query', 'q') . '], 5)',
	'search in many dimensions' => "SELECT count(*) FROM genie_search('t_o', ARRAY[" . of('dimensions', 'q') . '], 5)',
	'scan in many dimensions' => 'SET enable_seqscan = off; SELECT count(*) FROM t WHERE o @& ' . of('dimensions', 'q'),
	'build of many keywords' => build('wide USING genie (x)'),
	'build of documents' => build('documents USING genie (x)'),
	'build of trees' => build('documents USING genie (genie_binary_branches(tree))'),
	'build of vectors' => build('vectors USING genie (x genie_l2_ops)'),
	'exact search' => "SELECT count(*) FROM genie_exact_knn('vectors_x', ARRAY(SELECT x FROM vectors, generate_series(1, 8) LIMIT 4000))",
	'edit distance' => "SELECT repeat('ab', 30000) <~> repeat('cde', 20000), repeat('ab', 30000) <~> repeat('fg', 30000)");

# Seconds that a process has run.
sub seconds_of
{
	my ($pid) = @_;
	open(my $file, '<', "/proc/$pid/schedstat") or return time;
	my ($ns) = split(' ', <$file>);
	return $ns / 1e9;
}

my $psql_pid = open2(my $from, my $to, "psql -XqAt -d '" . $node->connstr('postgres') . "' 2>&1");
$to->autoflush(1);

sub answer
{
	my $lines = '';
	while (my $line = <$from>)
	{
		return $lines if $line eq "end of answer\n";
		$lines .= $line;
	}
	die "psql has ended: $lines";
}

sub ask { my ($sql) = @_; print $to "$sql;\n\\echo end of answer\n"; return; }

ask('SELECT pg_backend_pid()');
my $backend = int(answer());
foreach my $name (sort keys %statements)
{
	my ($n_cancelled, $slowest) = (0, 0);
	my $started = seconds_of($backend);

	ask($statements{$name});
	unlike(answer(), qr/ERROR/, "$name, to its end");
	my $whole = seconds_of($backend) - $started;
	foreach my $try (1 .. $tries)
	{
		my $wanted = seconds_of($backend) + $whole * ($try - 0.7) / $tries;
		my $patience = time + 60;

		ask($statements{$name});
		sleep(0.001) while seconds_of($backend) < $wanted && time < $patience;
		$started = seconds_of($backend);
		kill('INT', $backend);
		next if answer() !~ /canceling statement due to user request/;
		$n_cancelled++;
		$slowest = seconds_of($backend) - $started if seconds_of($backend) - $started > $slowest;
	}
	note(sprintf('%s: %.0f ms in all, %d cancelled, the latest after %.0f ms', $name, $whole * 1000, $n_cancelled, $slowest * 1000));
	cmp_ok($n_cancelled, '>', 0, "some were cancelled: $name");
	cmp_ok($slowest, '<', $limit, "and soon: $name");
	ask('RESET ALL');
	answer();
}
print $to "\\q\n";
waitpid($psql_pid, 0);

$node->stop;
done_testing();
