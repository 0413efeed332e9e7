# GenieTest: what the TAP tests share.
#
# A test table "t" (x int[], n text[], note int), with a genie index on x and one on genie_tuple(note % 20, n[1]), whose
# rows come from seeded random functions; sound(), the question that every test ends with; the list of all fault points
# with what reaches them; sessions that run beside the test.
#
# The oracle is the sequential scan, ordered by (x <&> query, ctid).  Ties of an index scan come in the order of the
# indexed TIDs, which are the rows' ctids as long as no row is updated in place (HOT).
package GenieTest;

use strict;
use warnings;
use Exporter 'import';
use FindBin;
use GeniePage;
use IPC::Run;
use PostgreSQL::Test::BackgroundPsql;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(genie_node create_table sound differences violations info catch_up start_sql finish_sql start_load wait_until restarted
  fault_scenarios fault_points_in_source worker_settings stat_of question wait_for_waiting fake_engine order told once
  module_library with_checksum without_checksums);

my $settings = <<'CONF';
autovacuum = off
fsync = off
jit = off
shared_buffers = 32MB
max_connections = 30
log_min_messages = warning
log_statement = none
CONF

# Running initdb takes much longer than copying what it made.  INITDB_TEMPLATE names a cluster to copy, which PostgreSQL's own modules
# do from version 16 on.
if (defined $ENV{INITDB_TEMPLATE})
{
	no warnings 'redefine';
	my $run = \&PostgreSQL::Test::Utils::system_or_bail;
	*PostgreSQL::Test::Utils::system_or_bail = sub {
		my @command = @_;
		@command = ('cp', '-RPp', $ENV{INITDB_TEMPLATE}, $1) if "@command" =~ /^initdb -D (\S+) -A trust -N$/;
		return $run->(@command);
	};
}

# BackgroundPsql prints all rows that a session got, which prove reads line by line: seconds of CPU time for thousands of rows.
{
	no warnings 'redefine';
	*PostgreSQL::Test::BackgroundPsql::note = sub {
		return note(map { length($_) > 500 ? substr($_, 0, 500) . ' ...' : $_ } @_);
	};
}

# Arguments of Cluster.pm's init for a server that does not check pages' checksums (from 18 on, others do).
sub without_checksums
{
	my ($option) = `initdb --help` =~ /(--no-data-checksums)/;
	return { extra => [ $option // () ] };
}

# A new server, with the settings that test/run wants in all of them (GENIE_TEST_CONF: the worker's).  Options: conf (more
# settings), init (arguments of Cluster.pm's init), start => 0.
sub genie_node
{
	my ($name, %option) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%{ $option{init} // {} });
	$node->append_conf('postgresql.conf', $settings . ($ENV{GENIE_TEST_CONF} // '') . "\n" . ($option{conf} // ''));
	$node->start if $option{start} // 1;
	return $node;
}

# The functions that compare scans, and the table with as many rows.  seed: from 0 to 1.
sub create_table
{
	my ($node, $rows, $seed) = @_;
	$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION genie;

-- a random set, empty or NULL now and then; small numbers are frequent
CREATE FUNCTION random_set(vocabulary int, most int) RETURNS int[] LANGUAGE sql VOLATILE AS
	'SELECT CASE WHEN random() < 0.02 THEN NULL
			ELSE ARRAY(SELECT (random() ^ 3 * vocabulary)::int FROM generate_series(1, (random() * most)::int)) END';

-- a random query for x, as SQL
CREATE FUNCTION random_query() RETURNS text LANGUAGE sql VOLATILE AS \$\$
	SELECT CASE
		WHEN kind < 0.5 THEN quote_literal(words) || '::int[]'
		WHEN kind < 0.8 THEN format('genie_query(%L::int[], %s)', words, 1 + (random() * 3)::int)
		ELSE format('genie_query(%L::int4multirange)', '{[' || a || ',' || a + 40 || '),[1,3)}') END
	FROM (SELECT random() AS kind, ARRAY(SELECT (random() ^ 3 * 300)::int FROM generate_series(1, 6)) AS words,
			(random() * 200)::int AS a) s \$\$;

-- "ctid distance" of the first k rows by the index, whose use is verified, and by a sequential scan
CREATE FUNCTION by_index(query text) RETURNS text[] LANGUAGE plpgsql
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS \$\$
DECLARE
	line text;
	plan text := '';
	rows text[];
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || format(query, '') LOOP
		plan := plan || line || E'\\n';
	END LOOP;
	IF plan !~ 'Index Scan using' OR plan ~ 'Sort' THEN
		RAISE 'not an index scan: %', plan;
	END IF;
	EXECUTE format('SELECT array_agg(row) FROM (' || query || ') s', '') INTO rows;
	RETURN rows;
END \$\$;
CREATE FUNCTION by_sequence(query text) RETURNS text[] LANGUAGE plpgsql
	SET enable_indexscan = off SET enable_bitmapscan = off AS \$\$
DECLARE
	rows text[];
BEGIN
	EXECUTE format('SELECT array_agg(row) FROM (' || query || ') s', ', ctid') INTO rows;
	RETURN rows;
END \$\$;
-- the same for conditions alone, by a bitmap scan
CREATE FUNCTION by_bitmap(condition text) RETURNS text[] LANGUAGE plpgsql
	SET enable_seqscan = off SET enable_indexscan = off AS \$\$
DECLARE
	rows text[];
BEGIN
	EXECUTE 'SELECT array_agg(ctid::text ORDER BY ctid) FROM t WHERE ' || condition INTO rows;
	RETURN rows;
END \$\$;
CREATE FUNCTION by_filter(condition text) RETURNS text[] LANGUAGE plpgsql
	SET enable_indexscan = off SET enable_bitmapscan = off AS \$\$
DECLARE
	rows text[];
BEGIN
	EXECUTE 'SELECT array_agg(ctid::text ORDER BY ctid) FROM t WHERE ' || condition INTO rows;
	RETURN rows;
END \$\$;

-- Random queries for which the index and the table disagree: none, we hope.
CREATE FUNCTION differences(n int, seed float8) RETURNS SETOF text LANGUAGE plpgsql AS \$\$
DECLARE
	what text;
	op text;
	q text;
	filter text;
	k text;
	query text;
BEGIN
	PERFORM setseed(seed);
	FOR i IN 1 .. n LOOP
		what := 'x';
		op := '<&>';
		q := random_query();
		filter := (ARRAY['true', 'true', 'note % 10 = 3', 'x \@& genie_query(ARRAY[1,2,3], 2)'])[1 + (random() * 3)::int];
		k := (ARRAY['1', '10', '100', '1000', 'NULL'])[1 + (random() * 4)::int];
		IF i % 4 = 0 THEN
			what := 'genie_tuple(note % 20, n[1])';
			q := format('genie_tuple_query(int4range(%s, %s), %L)', i % 20, i % 20 + 5, 'word ' || i % 30);
			filter := 'true';
		ELSIF i % 4 = 2 THEN
			op := '<%%>';
			q := quote_literal(ARRAY(SELECT (random() ^ 3 * 100)::int FROM generate_series(1, 1 + i % 9))) || '::int[]';
			IF i % 3 = 0 THEN
				filter := format('x \@& genie_jaccard_query(%s, %s)', q, random() ^ 2);
			END IF;
		END IF;
		query := format('SELECT ctid || '' '' || coalesce((%1\$s %4\$s %2\$s)::text, ''-'') AS row FROM t WHERE %3\$s '
						'ORDER BY %1\$s %4\$s %2\$s', what, q, replace(filter, '%', '%%'), op);
		query := replace(query, ' % 20', ' %% 20') || '%s LIMIT ' || k;
		IF by_index(query) IS DISTINCT FROM by_sequence(query) THEN
			RETURN NEXT query;
		END IF;
		IF i % 4 = 1 AND q LIKE 'genie%' AND by_bitmap('x \@& ' || q) IS DISTINCT FROM by_filter('x \@& ' || q) THEN
			RETURN NEXT 'x \@& ' || q;
		END IF;
	END LOOP;
	RETURN QUERY SELECT * FROM differences_in_batch(3);
END \$\$;

-- Random queries asked in one call of genie_search() for which it and the table disagree.
CREATE FUNCTION differences_in_batch(n int) RETURNS SETOF text LANGUAGE plpgsql AS \$\$
DECLARE
	queries text[] := ARRAY(SELECT CASE WHEN q LIKE 'genie%' THEN q ELSE 'genie_query(' || q || ')' END FROM (SELECT random_query() AS q FROM generate_series(1, n)) s);
	k text := (ARRAY['1', '10', '100', '4000'])[1 + (random() * 3)::int];
	query text;
	rows text[];
BEGIN
	FOR i IN 1 .. n LOOP
		query := format('SELECT ctid || '' '' || coalesce((x <&> %1\$s)::text, ''-'') AS row FROM t ORDER BY x <&> %1\$s', queries[i]);
		EXECUTE format('SELECT array_agg(tid || '' '' || coalesce((-match_count)::text, ''-'') ORDER BY n) FROM genie_search(''t_x'', ARRAY[%s], %s)
			WITH ORDINALITY s (query, tid, match_count, n) WHERE query = %s', array_to_string(queries, ', '), k, i) INTO rows;
		IF rows IS DISTINCT FROM by_sequence(query || '%s LIMIT ' || k) THEN
			RETURN NEXT format('query %s of genie_search() with %s, k = %s', i, queries, k);
		END IF;
	END LOOP;
END \$\$;

-- what genie_check finds in all genie indexes
CREATE FUNCTION violations() RETURNS TABLE (index regclass, block bigint, violation text) LANGUAGE sql AS \$\$
	SELECT i.oid::regclass, c.* FROM (SELECT c.oid FROM pg_class c JOIN pg_am a ON a.oid = c.relam
		WHERE a.amname = 'genie' AND c.relkind = 'i' AND c.relpersistence <> 't' ORDER BY c.oid) i, genie_check(i.oid) c \$\$;

CREATE FUNCTION add_rows(n int, seed float8) RETURNS void LANGUAGE plpgsql AS \$\$
BEGIN
	PERFORM setseed(seed);
	INSERT INTO t SELECT random_set(300, 12), ARRAY['word ' || i % 30], i FROM generate_series(1, n) i;
END \$\$;

CREATE TABLE t (x int[], n text[], note int);
SELECT add_rows($rows, $seed);
CREATE INDEX t_x ON t USING genie (x) WITH (pending_limit = 64);
CREATE INDEX t_tuple ON t USING genie (genie_tuple(note % 20, n[1])) WITH (pending_limit = 64);
SQL
	return;
}

sub differences
{
	my ($node, $queries, $seed) = @_;
	return $node->safe_psql('postgres', "SELECT * FROM differences($queries, $seed)");
}

sub violations
{
	my ($node) = @_;
	return $node->safe_psql('postgres', 'SELECT * FROM violations() LIMIT 20');
}

# Is every genie index well-formed, and do scans of t's indexes give what the table holds?
my $sounds = 0;

sub sound
{
	my ($node, $when, $queries) = @_;
	$sounds++;
	return is(violations($node) . differences($node, $queries // 8, ($sounds % 97) / 97), '', "index is sound $when");
}

# One column of genie_index_info().
sub info
{
	my ($node, $index, $column) = @_;
	return $node->safe_psql('postgres', "SELECT $column FROM genie_index_info('$index')");
}

# The standby has all that the primary has logged, also what no commit has flushed: an abort's, a hint's.
sub catch_up
{
	my ($primary, $standby) = @_;
	$primary->safe_psql('postgres', q(SELECT pg_logical_emit_message(true, 'genie', '')));
	$primary->wait_for_catchup($standby);
	return;
}

# A session that runs statements beside the test and ends with the first that fails.
sub start_sql
{
	my ($node, @statements) = @_;
	my $session = { out => '', err => '' };
	note("beside the test: @statements");
	$session->{run} = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', (map { ('-c', $_) } @statements), '-d',
			$node->connstr('postgres') ], '<', \undef, '>', \$session->{out}, '2>', \$session->{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $session;
}

# Waits for its end; true if it went well.
sub finish_sql
{
	my ($session) = @_;
	$session->{run}->finish;
	return $session->{run}->result(0) == 0;
}

# Starts many clients for so many seconds; scripts: name => [weight, SQL], where :n is random, from 1 to 1500.  The caller
# finishes `run`; the output is in `out`.
sub start_load
{
	my ($node, $seconds, $clients, %scripts) = @_;
	my @files;
	foreach my $name (sort keys %scripts)
	{
		my ($weight, $sql) = @{ $scripts{$name} };
		my $file = $PostgreSQL::Test::Utils::tmp_check . '/load_' . $node->name . "_$name.sql";
		unlink($file);
		append_to_file($file, "\\set n random(1, 1500)\n$sql\n");
		push @files, '-f', "$file\@$weight";
	}
	my $load = { out => '' };
	$load->{run} = IPC::Run::start([ 'pgbench', '-n', '-c', $clients, '-j', 2, '-T', $seconds, '--max-tries=10', @files, '-d', 'postgres', '-h', $node->host, '-p', $node->port ],
		'<', \undef, '>', \$load->{out}, '2>&1');
	return $load;
}

# Waits until the query returns true.  The server may be starting: a client that it refuses ends before it has read the query,
# and then IPC::Run would die if it wrote the query to that client.
sub wait_until
{
	my ($node, $query) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
	my @command = ('psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $query);
	while (time() < $deadline)
	{
		my ($out, $err) = ('', '');
		return 1 if IPC::Run::run(\@command, '>', \$out, '2>', \$err) && $out eq "t\n";
		usleep(50_000);
	}
	die "timed out: $query";
}

# Waits until the server has started again after a crash that the log reports behind position log_at.  (The server may accept
# sessions for a moment before it notices the crash.)
sub restarted
{
	my ($node, $log_at) = @_;
	$node->wait_for_log(qr/all server processes terminated; reinitializing/, $log_at);
	return wait_until($node, 'SELECT true');
}

# ---- the worker ----

# Settings of a server whose worker counts; more settings may follow.  Sessions load what they want themselves, at once, so that
# numbers of images and of loads are known; 051_autoprewarm.pl and 052_loaders.pl have loaders.
sub worker_settings
{
	my (@more) = @_;
	return join("\n", "shared_preload_libraries = 'genie'", "genie.worker = on", "genie.engine = 'cpu'", "genie.shared_memory = 16MB",
		'genie.loaders = 0', 'genie.autoprewarm = off',
		'restart_after_crash = on', @more) . "\n";
}

# For a test whose servers all say themselves whether there is a worker: with test/run's settings for one it would be the same again.
sub once
{
	plan skip_all => 'its servers say themselves whether there is a worker' if $ENV{GENIE_TEST_CONF};
	return;
}

# Columns of genie_stat.
sub stat_of
{
	my ($node, $columns) = @_;
	return $node->safe_psql('postgres', "SELECT $columns FROM genie_stat");
}

# SQL that returns a checksum of the first rows of t by their distance to the query; how: by_index or by_sequence.
sub question
{
	my ($how, $query, $limit) = @_;
	return "SELECT md5($how(\$q\$SELECT ctid || ' ' || coalesce((x <&> $query)::text, '-') AS row FROM t "
	  . "ORDER BY x <&> $query%s LIMIT " . ($limit // 'NULL') . "\$q\$)::text)";
}

# Waits until so many sessions wait for the worker.
sub wait_for_waiting
{
	my ($node, $n) = @_;
	return wait_until($node, "SELECT count(*) >= $n FROM pg_stat_activity WHERE state = 'active' AND wait_event_type = 'Extension'
		AND wait_event = CASE WHEN current_setting('server_version_num')::int < 170000 THEN 'Extension' ELSE 'GenieRequest' END");
}

# Tells servers that start from now on about the two files of the fake engine (test/engine; test/run builds it).  Returns the
# settings that select it.
my ($fake_control, $fake_log);

sub fake_engine
{
	my $root = "$FindBin::RealBin/../..";
	my $files = PostgreSQL::Test::Utils::tempdir();
	$ENV{GENIE_FAKE_ENGINE} = $fake_control = "$files/order";
	$ENV{GENIE_FAKE_ENGINE_LOG} = $fake_log = "$files/told";
	return ("genie.engine = 'cuda'", "genie.gpu_library = '$root/build/genie_fake_engine'");
}

# Tells the fake engine what to do (the words are in genie_fake_engine.c).
sub order
{
	my ($words) = @_;
	note("the fake engine is to do: $words");
	# renamed into place, for the engine may read it at any moment
	append_to_file("$fake_control.new", "$words\n");
	rename("$fake_control.new", $fake_control) or die "rename: $!";
	return;
}

# The lines of the fake engine's log from line number `from` on; in scalar context, their number.
sub told
{
	my ($from) = @_;
	my @lines = -e $fake_log ? split /\n/, slurp_file($fake_log) : ();
	splice(@lines, 0, $from // 0);
	return @lines;
}

# Every fault point with a statement that reaches it: point => [passes before, preparation, statement].  Run against
# the table of create_table().
sub fault_scenarios
{
	my $few = 'SELECT add_rows(150, 0.31)';
	my $many = 'SELECT add_rows(2500, 0.32)';
	my $long = "INSERT INTO t SELECT array_agg(i), '{long}', 7 FROM generate_series(1, 9000) i";
	my $dead = "$few; DELETE FROM t WHERE note % 7 = 2";
	my $build = 'CREATE INDEX t_built ON t USING genie (x)';
	my $together = "SET min_parallel_table_scan_size = 0; $build";
	my $numbers = join(', ', map { "note + ${_}00000" } 0 .. 9);
	my $spilling = "SET maintenance_work_mem = '1MB'; CREATE INDEX t_built ON t USING genie ((ARRAY[$numbers]))";
	my $merge = "SELECT genie_merge('t_x')";
	my $small = "REINDEX TABLE t; $few; $merge; $few; $merge; $few";	# a merge compacts, and pages wait to be reclaimed
	my $half = "$many; DELETE FROM t WHERE note % 2 = 0";	# VACUUM's merges leave a hole
	return (
		'run-spilled' => [ 1, $many, $spilling ],
		'build-scanned' => [ 0, $many, $together ],
		'build-worker-listed' => [ 0, $many, $together ],
		'build-before-merge' => [ 0, $many, $together ],
		'build-part' => [ 0, $many, $together ],
		'build-before-log' => [ 0, '', $build ],
		'build-logged' => [ 0, '', $build ],
		'insert-decomposed' => [ 3, '', 'SELECT add_rows(5, 0.34)' ],
		'pending-page' => [ 1, '', 'SELECT add_rows(500, 0.33)' ],
		'pending-before-link' => [ 0, '', $long ],
		'pending-sealed' => [ 0, '', $many ],
		'segment-page' => [ 7, $small, $merge ],
		'segment-before-root' => [ 0, $few, $merge ],
		'merge-before-flip' => [ 0, '', $many ],
		'compact-before-flip' => [ 0, $small, $merge ],
		'flip-before' => [ 1, $small, $merge ],
		'flip-after' => [ 1, $small, $merge ],
		'free-page' => [ 3, $small, $merge ],
		'reclaim-before-root' => [ 0, $small, $merge ],
		'reclaim-before-entry' => [ 1, $small, $merge ],
		'reclaim-page-dropped' => [ 0, $small, "SET enable_seqscan = off; BEGIN; "
			. "DECLARE reader CURSOR FOR SELECT note FROM t ORDER BY x <&> '{1}'; "
			. "SELECT add_rows(1, i / 100.0), genie_merge('t_x') FROM generate_series(1, 100) i; CLOSE reader; $merge" ],
		'vacuum-pending-page' => [ 0, "$long; DELETE FROM t WHERE n = '{long}'", 'VACUUM t' ],
		'vacuum-pending' => [ 0, $dead, 'VACUUM t' ],
		'vacuum-tile' => [ 0, "$dead; $merge; DELETE FROM t WHERE note % 7 = 3", 'VACUUM t' ],
		'vacuum-before-version' => [ 0, "$dead; $merge; DELETE FROM t WHERE note % 7 = 4", 'VACUUM t' ],
		map({ $_ => [ 0, $half, 'VACUUM t' ] } 'truncate-page', 'truncate-before-flip', 'truncate-flipped', 'truncate-done'),
		'batch-opened' => [ 0, '', "SELECT count(*) FROM genie_search('t_x', ARRAY[genie_query('{1,2,3}'::int[])])" ],
		'batch-answered' => [ 0, '', "SELECT count(*) FROM genie_search('t_x', ARRAY[genie_query('{1,2,3}'::int[])])" ],
		'count-marked' => [ 0, '', "SELECT * FROM genie_count('t_x', genie_query('{1,2,3}'::int[]))" ],
		'vacuum-after-version' => [ 0, "$dead; $merge; DELETE FROM t WHERE note % 7 = 5", 'VACUUM t' ],
	);
}

# The names of the points that the sources of what is on disk have.  (040_images.pl has those of shared memory.)
sub fault_points_in_source
{
	my %points;
	foreach my $file (glob('src/{am,batch,disk,merge,search}/*.c'))
	{
		$points{$_} = 1 foreach slurp_file($file) =~ /\bGENIE_FAULT\("([^"]+)"\)/g;
	}
	return sort keys %points;
}

# Builds test/module against the installed headers alone and installs it below the folder; the path of one of its libraries.
sub module_library
{
	my ($name, $root) = @_;
	my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
	my $copy = "$root/module";
	my ($out, $err);
	PostgreSQL::Test::RecursiveCopy::copypath("$ENV{TESTDIR}/test/module", $copy);
	IPC::Run::run([ 'make', '-C', $copy, "PG_CONFIG=$pg_config", 'with_llvm=no', "DESTDIR=$root", 'install' ], '>', \$out, '2>', \$err);
	is($?, 0, 'the module builds against the installed headers') or die "$out\n$err";
	unlike($err, qr/warning:/, 'without a warning');
	my ($library) = glob("$root" . `$pg_config --pkglibdir` =~ s/\n//r . "/$name.so");
	ok($library, 'the library is installed below DESTDIR');
	return $library;
}

1;
