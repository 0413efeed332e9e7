# Several servers: a table whose partitions are foreign tables on two shards, by postgres_fdw, and batches by dblink.
#
# The set-up, the queries and the function are those of src/doc/growing.md: what is documented there is what is tested.  The oracle is a
# table on the coordinator with all rows, read sequentially.  auto_explain tells in a shard's log what its cursors did.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $coordinator = genie_node('coordinator');
my $missing = $coordinator->safe_psql('postgres', q{SELECT string_agg(n, ', ') FROM unnest('{postgres_fdw,dblink}'::text[]) n WHERE n NOT IN (SELECT name FROM pg_available_extensions)});
if ($missing ne '')
{
	$coordinator->stop;
	plan skip_all => "not installed: $missing";
}
my @shards = map { genie_node("shard$_", conf => "session_preload_libraries = 'auto_explain'\nauto_explain.log_min_duration = 0\n") } 1, 2;

# ---- what the page says ----

my %block = slurp_file("$FindBin::RealBin/../../src/doc/growing.md") =~ /^```sql\n-- ([^\n]*)\n(.*?)^```$/msg;
my $setup = $block{'on the coordinator'};
foreach my $i (1, 2)
{
	my ($host, $port) = ($shards[$i - 1]->host, $shards[$i - 1]->port);
	is($setup =~ s/host 'shard$i\.example\.org', port '5432', dbname 'app'/host '$host', port '$port', dbname 'postgres'/, 1, "the page has shard $i");
}
$setup =~ s/ OPTIONS \(user 'app', password 'secret'\)//g;
$_->safe_psql('postgres', $block{'on each shard'}) foreach @shards;
$coordinator->safe_psql('postgres', $setup);

$coordinator->safe_psql('postgres', <<'SQL');
CREATE TABLE one (id bigint PRIMARY KEY, tags int[], embedding real[]);
-- small numbers are frequent; every 500th row has no tags, every 700th no embedding
INSERT INTO one SELECT i, CASE WHEN i % 500 > 0 THEN ARRAY(SELECT (((hashint8extended(i, j) & 65535) / 65536.0) ^ 2 * 400)::int FROM generate_series(1, 10) j WHERE i > 0) END,
	CASE WHEN i % 700 > 0 THEN ARRAY(SELECT (hashint8extended(i, 100 + j) & 255)::real FROM generate_series(1, 8) j WHERE i > 0) END
	FROM generate_series(1, 24000) i;
INSERT INTO items SELECT * FROM one;
ANALYZE one;

-- Are the first k rows of items those of the table one?  By a distance to the bit, in order, each row once; which of the rows of the last
-- distance are there, and the order among equals, is not said.
CREATE FUNCTION right_rows(distance text, k int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	verdict text;
BEGIN
	EXECUTE format('WITH got AS MATERIALIZED (SELECT id, d, row_number() OVER () AS n FROM (SELECT id, %1$s AS d FROM items ORDER BY %1$s LIMIT %2$s) s),
		wanted AS MATERIALIZED (SELECT id, %1$s AS d FROM one)
		SELECT CASE WHEN (SELECT array_agg(d ORDER BY n) FROM got) IS DISTINCT FROM (SELECT array_agg(d ORDER BY d) FROM (SELECT d FROM wanted ORDER BY d LIMIT %2$s) s) THEN ''distances differ''
			WHEN (SELECT count(DISTINCT id) FROM got) <> %2$s THEN ''a row comes twice''
			WHEN (SELECT count(*) FROM got JOIN wanted w USING (id) WHERE w.d IS NOT DISTINCT FROM got.d) <> %2$s THEN ''not a row of the table''
			ELSE ''right'' END', distance, k) INTO verdict;
	RETURN verdict;
END $$;
SQL
$_->safe_psql('postgres', 'VACUUM ANALYZE items') foreach @shards;
is(join(' + ', map { $_->safe_psql('postgres', 'SELECT count(*) > 10000 FROM items') } @shards), 't + t', 'both shards have rows');

my $query = "'{1,2,3,5,8,13,21,300}'::int[]";
my $near = q{ARRAY[10, 50, 90, 130, 170, 210, 250, 128]::real[]};
my $match = qr/\(tags OPERATOR\(public\.<&>\) /;

# The plan of a statement on the coordinator.
sub plan_of
{
	my ($sql, $before) = @_;
	return $coordinator->safe_psql('postgres', ($before // '') . "EXPLAIN (VERBOSE, COSTS OFF) $sql");
}

# What both shards' logs say while a statement runs on the coordinator; the statement's output is passed over.
sub shards_did
{
	my ($sql) = @_;
	my @at = map { -s $_->logfile } @shards;
	$coordinator->safe_psql('postgres', $sql);
	return map { slurp_file($shards[$_]->logfile, $at[$_]) } 0, 1;
}

sub right
{
	my ($distance, $k, $what) = @_;
	return is($coordinator->safe_psql('postgres', "SELECT right_rows(\$q\$$distance\$q\$, $k)"), 'right', $what);
}

# Sets or drops an option of both servers.
sub servers
{
	my ($options) = @_;
	$coordinator->safe_psql('postgres', "ALTER SERVER $_ OPTIONS ($options)") foreach 'shard1', 'shard2';
	return;
}

# ---- by match count ----

my $best = "SELECT id FROM items ORDER BY tags <&> $query LIMIT 10";
my $plan = plan_of($best);
like($plan, qr/Merge Append/, 'shards are merged');
is(() = $plan =~ /Remote SQL: SELECT [^\n]* ORDER BY $match'\{1,2,3,5,8,13,21,300\}'\) ASC NULLS LAST/g, 2, 'and asked for the order');
unlike($plan, qr/\bSort\b(?! Key)|LIMIT/, 'nothing is sorted, and LIMIT is not pushed');
like($_, qr/DECLARE c\d+ CURSOR FOR.*Index Scan using items_tags on items/s, 'the cursor on a shard uses the index') foreach shards_did($best);
right("tags <&> $query", 10, 'the best 10');
right("tags <&> $query", 1500, 'many fetches');
right("tags <&> $query", 24000, 'all rows, those without a value last');
right(sprintf("tags <&> '{%s}'::int[]", join(',', $_, $_ * 3 % 50, $_ * 7 % 400)), 12, "query $_") foreach 1 .. 12;
right("tags <&> genie_query($query)", 40, 'of a genie_query');
my $ordered = "SELECT id, tags <&> $query FROM %s ORDER BY tags <&> $query, id LIMIT 200";
is($coordinator->safe_psql('postgres', sprintf($ordered, 'items')), $coordinator->safe_psql('postgres', sprintf($ordered, 'one')), 'with a second key, the rows and the order of one table');

my $generic = 'SET plan_cache_mode = force_generic_plan; PREPARE p AS SELECT id, tags <&> $1 FROM items ORDER BY tags <&> $1 LIMIT 10;';
is(() = $coordinator->safe_psql('postgres', "$generic EXPLAIN (VERBOSE, COSTS OFF) EXECUTE p($query)") =~ /Remote SQL: [^\n]* ORDER BY $match\$1::integer\[\]\)/g, 2, 'parameters are shipped');
is($coordinator->safe_psql('postgres', "$generic EXECUTE p($query)"), $coordinator->safe_psql('postgres', $best =~ s/id/id, tags <&> $query/r), 'with the same rows');
like($_, qr/Index Scan using items_tags on items/, 'by the index') foreach shards_did("$generic EXECUTE p($query)");

# ---- conditions, expressions ----

foreach my $condition ("tags @& genie_query($query, 3)", "(tags @& genie_query('{1,2,3,4}'::int[], 3) OR tags @& genie_query('{5,300}'::int[], 2))")
{
	my $which = "SELECT id FROM %s WHERE $condition ORDER BY id";
	my $shipped = plan_of(sprintf($which, 'items'));
	is(() = $shipped =~ /Remote SQL: [^\n]* WHERE \(+tags OPERATOR\(public\.@&\) /g, 2, "$condition is shipped");
	unlike($shipped, qr/Filter:/, 'whole');
	my $ids = $coordinator->safe_psql('postgres', sprintf($which, 'one'));
	is($coordinator->safe_psql('postgres', sprintf($which, 'items')), $ids, 'its rows');
	isnt($ids, '', 'there are some');
	like($_, qr/Index Scan (using|on) items_tags/, 'by the index') foreach shards_did(sprintf($which, 'items'));
}
my $any = "SELECT id FROM %s WHERE tags @& ANY (ARRAY[genie_query('{1,2,3,4}'::int[], 3), genie_query('{5,300}'::int[], 2)]) ORDER BY id";
unlike(plan_of(sprintf($any, 'items')), qr/Remote SQL: [^\n]*WHERE/, 'PostgreSQL does not ship values of an extension\'s array types');
is($coordinator->safe_psql('postgres', sprintf($any, 'items')), $coordinator->safe_psql('postgres', sprintf($any, 'one')), 'with the same rows');
like(plan_of("SELECT id FROM items WHERE tags @& genie_query($query, 3)"), qr/Append\n.*Async Foreign Scan.*Async Foreign Scan/s, 'by all shards at the same time');
right("CASE WHEN id > 0 THEN tags <&> $query END", 10, 'an expression of the operator');

$_->safe_psql('postgres', 'CREATE INDEX items_facts ON items USING genie (genie_tuple(id % 7, tags[1])); ANALYZE items') foreach @shards;
my $facts = 'genie_tuple(id % 7, tags[1]) <&> genie_tuple_query(3::bigint, int4range(2, 40))';
like($_, qr/Index Scan using items_facts on items/, 'an index on an expression is used') foreach shards_did("SELECT id FROM items ORDER BY $facts LIMIT 10");
right($facts, 30, 'rows by an expression');

# ---- by distance ----

my $distance = "embedding <-> $near";
my $nearest = "SELECT id FROM items ORDER BY $distance LIMIT 10";
is(() = plan_of($nearest) =~ /Remote SQL: [^\n]* ORDER BY \(embedding OPERATOR\(public\.<->\) /g, 2, 'a distance is shipped');
like($_, qr/Index Scan using items_embedding on items/, 'the approximate index is used') foreach shards_did($nearest);
right($distance, 10, 'the 10 nearest, with genie.strict_order by the option of the server');
right($distance, 700, 'behind the first round of candidates');
servers('DROP options');
$_->safe_psql('postgres', 'ALTER DATABASE postgres SET genie.strict_order = on') foreach @shards;
right($distance, 700, 'the same with genie.strict_order by ALTER DATABASE on the shards');
$_->safe_psql('postgres', 'ALTER DATABASE postgres RESET genie.strict_order; DROP INDEX items_embedding; CREATE INDEX items_embedding ON items USING genie (embedding genie_l2_exact_ops); ANALYZE items') foreach @shards;
like($_, qr/Index Scan using items_embedding on items/, 'the exact index is used') foreach shards_did($nearest);
right($distance, 700, 'which needs no setting');
right($distance, 3000, 'and many fetches');

# ---- changes through the coordinator ----

$coordinator->safe_psql('postgres', "UPDATE $_ SET tags = tags || 5 WHERE id % 11 = 3; DELETE FROM $_ WHERE id % 13 = 4; INSERT INTO $_ SELECT i, $query, $near FROM generate_series(30001, 30020) i") foreach 'one', 'items';
right("tags <&> $query", 100, 'after changes');
right($distance, 100, 'by distance');

# ---- options that matter ----

servers('DROP extensions');
unlike(plan_of($best), qr/Remote SQL: [^\n]*OPERATOR\(public/, 'without "extensions" nothing of genie is shipped');
is($coordinator->safe_psql('postgres', sprintf($ordered, 'items')), $coordinator->safe_psql('postgres', sprintf($ordered, 'one')), 'with the same rows');
servers(q{ADD extensions 'genie'});
servers(q{ADD use_remote_estimate 'true'});
# The trap that growing.md tells of: shards are asked what the whole order costs, without LIMIT.  By that the coordinator mostly sorts; which of both
# plans it takes, is not genie's.
$_->safe_psql('postgres', 'ALTER DATABASE postgres SET log_statement = \'all\'') foreach @shards;
foreach my $did (shards_did("EXPLAIN $best"))
{
	like($did, qr/EXPLAIN SELECT [^\n]* ORDER BY $match/, 'with use_remote_estimate a shard is asked for costs of the order');
	unlike($did, qr/LIMIT/, 'of all rows');
}
$_->safe_psql('postgres', 'ALTER DATABASE postgres RESET log_statement') foreach @shards;
right("tags <&> $query", 10, 'with use_remote_estimate the same rows');
servers('DROP use_remote_estimate');
like(plan_of($best), qr/Merge Append/, 'without it no longer');

# ---- many queries in one call ----

$coordinator->safe_psql('postgres', $block{'the function, on the coordinator'});
my @calls = split /;\n/, $block{'calls of the function'};
is(scalar(@calls), 2, 'calls of the page');
is(scalar(split /\n/, $coordinator->safe_psql('postgres', $_)), 6, 'has as many rows as it asks for') foreach @calls;
is($coordinator->safe_psql('postgres', "$calls[0]; $calls[0]"), join("\n", ($coordinator->safe_psql('postgres', $calls[0])) x 2), 'and the same again by the same connections');
$coordinator->safe_psql('postgres', $_) foreach split /;\n/, $block{'queries'};
$coordinator->safe_psql('postgres', 'CREATE INDEX one_tags ON one USING genie (tags); CREATE INDEX one_embedding ON one USING genie (embedding genie_l2_exact_ops)');
# Of 64 rows 59 are left.
foreach my $form ([ 'tags', 'genie_query(tags)', 'tags <&> tags', '-match_count' ], [ 'embedding', 'embedding', 'embedding <-> embedding', 'distance' ])
{
	my ($column, $asked, $operator, $measure) = @$form;
	my ($left, $right) = split / (?=<)/, $operator;
	my $queries = "(SELECT array_agg($asked ORDER BY id) FROM one WHERE id <= 64)";
	is($coordinator->safe_psql('postgres', <<"SQL"), '59|59|t|t', "a batch by $column: the distances of genie_search on one table, each row once, with its own distance");
WITH got AS MATERIALIZED (SELECT * FROM search_servers('{shard1,shard2}', 'items', 'items_$column', $queries, 7) WITH ORDINALITY g (query, id, d, n)),
	asked AS (SELECT row_number() OVER (ORDER BY id) AS query, $column AS $column FROM one WHERE id <= 64)
SELECT count(*), count(*) FILTER (WHERE g.ds = w.ds), bool_and(g.ids = 7),
	(SELECT bool_and(got.d = (one.$left ${\ ($right =~ s/$column/asked.$column/r)})) FROM got JOIN one USING (id) JOIN asked USING (query))
FROM (SELECT query, array_agg(d ORDER BY n) AS ds, count(DISTINCT id) AS ids FROM got GROUP BY 1) g
	JOIN (SELECT query, array_agg(($measure)::float8 ORDER BY n) AS ds FROM genie_search('one_$column', $queries, 7) WITH ORDINALITY s (query, tid, ${\ ($measure =~ s/-//r)}, n) GROUP BY 1) w USING (query);
SQL
}

# Fails, and leaves no connection behind, so the next call of the same session works.
sub fails_and_goes_on
{
	my ($call, $expected, $what) = @_;
	my ($result, $out, $error) = $coordinator->psql('postgres', "$call; SELECT 'connections: ' || coalesce(cardinality(dblink_get_connections()), 0); $calls[0]", on_error_stop => 0);
	like($error, $expected, $what);
	like($out, qr/^connections: 0\n(.+\n){5}.+$/, 'and the session goes on');
	return;
}

fails_and_goes_on(q{SELECT search_servers('{shard1,shard2}', 'items', 'nowhere', ARRAY[genie_query('{1}'::int[])])}, qr/relation "nowhere" does not exist/, 'an error of a shard');
fails_and_goes_on(q{SELECT search_servers('{shard1,shard3}', 'items', 'items_tags', ARRAY[genie_query('{1}'::int[])])}, qr/could not establish connection/, 'a server that is not there');
# (Up to PostgreSQL 16 dblink waits for the shard before it sees that it is cancelled.)
my $locked = start_sql($shards[0], 'BEGIN', 'LOCK TABLE items', 'SELECT pg_sleep(3)', 'COMMIT');
wait_until($shards[0], q{SELECT count(*) > 0 FROM pg_locks WHERE relation = 'items'::regclass AND mode = 'AccessExclusiveLock' AND granted});
fails_and_goes_on("SET statement_timeout = '1s'; SELECT search_servers('{shard1,shard2}', 'items', 'items_tags', ARRAY[genie_query('{1}'::int[])]); RESET statement_timeout",
	qr/canceling statement due to statement timeout/, 'a call that takes too long');
ok(finish_sql($locked), 'the lock is gone');

# ---- a shard is lost, and comes back ----

my $session = $coordinator->background_psql('postgres', on_error_stop => 0);
my $rows = $session->query($best);
my $batch = $session->query($calls[0]);
like($rows, qr/^(\d+\n){9}\d+$/, 'a session has connections');
$shards[1]->stop('immediate');
foreach my $attempt ('first', 'second')
{
	$session->{stderr} = '';
	is($session->query($best), '', "a shard is lost: the $attempt query fails");
	like($session->{stderr}, qr/ERROR:  could not connect to server "shard2"/, 'with an error that names the server');
}
$session->{stderr} = '';
my $count = $session->query('SELECT count(*) > 10000 FROM items_1');
is($count . $session->{stderr}, 't', 'the session goes on with the other shard');
like(($coordinator->psql('postgres', $calls[0]))[2], qr/could not establish connection/, 'and so does a batch');
$shards[1]->start;
is($session->query($best), $rows, 'the shard is back: the same rows, in the same session');
is($session->query($calls[0]), $batch, 'and the batch\'s connection is made anew');
$session->quit;

# ---- pgvector ----

SKIP:
{
	skip 'pgvector is not installed', 3 if $coordinator->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'}) eq '0';
	$_->safe_psql('postgres', 'CREATE EXTENSION vector') foreach $coordinator, @shards;
	foreach my $shard (@shards)
	{
		$shard->safe_psql('postgres', 'SELECT genie_enable_pgvector(); CREATE TABLE vectors (id bigint, v vector(8)); CREATE INDEX vectors_v ON vectors USING genie (v genie_vector_l2_exact_ops);
			INSERT INTO vectors SELECT id, embedding::vector FROM items WHERE embedding IS NOT NULL; VACUUM ANALYZE vectors');
	}
	servers(q{SET extensions 'genie, vector'});
	$coordinator->safe_psql('postgres', 'CREATE TABLE vectors (id bigint, v vector(8)) PARTITION BY HASH (id)');
	$coordinator->safe_psql('postgres', "CREATE FOREIGN TABLE vectors_$_ PARTITION OF vectors FOR VALUES WITH (MODULUS 2, REMAINDER $_) SERVER shard${\ ($_ + 1)} OPTIONS (table_name 'vectors')") foreach 0, 1;
	my $of_vectors = "SELECT id FROM vectors ORDER BY v <-> $near\::vector LIMIT 20";
	is(() = plan_of($of_vectors) =~ /Remote SQL: [^\n]* ORDER BY \(v OPERATOR\(public\.<->\) /g, 2, 'pgvector: shipped');
	is(scalar(grep { /Index Scan using vectors_v on vectors/ } shards_did($of_vectors)), 2, 'by the index');
	my $distances = "SELECT string_agg(round(d::numeric, 3)::text, ' ' ORDER BY d) FROM (%s) s";
	is($coordinator->safe_psql('postgres', sprintf($distances, "SELECT embedding <-> $near AS d FROM ($of_vectors) v JOIN one USING (id)")),
		$coordinator->safe_psql('postgres', sprintf($distances, "SELECT embedding <-> $near AS d FROM one ORDER BY d LIMIT 20")), 'the rows');
}

$_->stop foreach $coordinator, @shards;
done_testing();
