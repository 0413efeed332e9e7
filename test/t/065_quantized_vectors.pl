# Quantized vectors in segments of approximate classes, and beside their images: which segments have some, how many visits of rows
# they save, and how much memory they may take from others.  Rows of the first round of a scan are the same with and without them,
# whatever happened to the table, the index and the worker.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $n_rows = 6000;
my $node = genie_node('quantized', conf => "shared_preload_libraries = 'genie'\ngenie.worker = on\ngenie.engine = 'cpu'\ngenie.shared_memory = 64MB\ngenie.loaders = 0\ngenie.autoprewarm = off\n");

sub sql { return $node->safe_psql('postgres', @_); }
sub shown { my ($column) = @_; return sql("SELECT $column FROM genie_stat"); }

# rows of the table that statements have looked up by the index
sub visits
{
	my ($index, $sql) = @_;
	return (split /\n/, sql("$sql; SELECT coalesce(sum(rows_visited), 0) FROM genie_last_scan() WHERE index = '$index'::regclass"))[-1];
}

sql(<<'SQL');
CREATE EXTENSION genie;
CREATE FUNCTION element(i int, j int) RETURNS real LANGUAGE sql IMMUTABLE AS $$ SELECT ((hashint8((i * 64 + j)::bigint) & 4095) - 2048) / 64.0::real $$;
CREATE FUNCTION vector(i int) RETURNS real[] LANGUAGE sql IMMUTABLE AS
	$$ SELECT array_agg((element(i % 60, j) + element(1000 + i, j) / 4)::real ORDER BY j) FROM generate_series(1, 20) j $$;
CREATE TABLE q AS SELECT array_agg(vector(i * 97) ORDER BY i) AS v FROM generate_series(1, 30) i;
CREATE TABLE t (id int, v real[], d float8[], note int) WITH (fillfactor = 80);

-- what index and query give, with and without quantized vectors, by one call and one by one: in the first round of a scan
CREATE FUNCTION found(index text, type text, k int) RETURNS text LANGUAGE sql AS
	'SELECT string_agg(concat_ws('' '', query, tid, distance), '','' ORDER BY n) FROM q, LATERAL (SELECT * FROM genie_search(index::regclass, q.v, k) WITH ORDINALITY s (query, tid, distance, n) WHERE type = ''real''
		UNION ALL SELECT * FROM genie_search(index::regclass, q.v::float8[], k) WITH ORDINALITY s (query, tid, distance, n) WHERE type = ''float8'') s';
CREATE FUNCTION scanned(operand text, operator text, k int, filter text DEFAULT 'true') RETURNS text LANGUAGE plpgsql SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
	v real[];
	part text;
	rows text := '';
BEGIN
	FOR i IN 1 .. 8 LOOP
		v := vector(i * 97);
		EXECUTE format('SELECT string_agg(concat_ws('' '', tid, distance), '','') FROM (SELECT ctid AS tid, %1$s %2$s %3$L AS distance FROM t WHERE %4$s ORDER BY %1$s %2$s %3$L LIMIT %5$s) s', operand, operator, v, filter, k) INTO part;
		rows := rows || coalesce(part, '-') || ';';
	END LOOP;
	RETURN rows;
END $$;
CREATE FUNCTION everything() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT found(i, type, k) FROM (VALUES ('t_l2', 'real'), ('t_l1', 'real'), ('t_cosine', 'real'), ('t_double', 'float8')) i (i, type), unnest('{1,10,150}'::int[]) k
	UNION ALL SELECT scanned(operand, operator, k, filter) FROM (VALUES ('v', '<->'), ('v', '<+>'), ('v', '<=>'), ('d', '<->')) o (operand, operator), unnest('{1,10,100}'::int[]) k, unnest('{true,id % 7 = 1}'::text[]) filter WHERE filter = 'true' OR k = 1 $$;
SQL

# The same rows with and without; the vectors are there, or not.
sub same
{
	my ($what, $n) = @_;
	my $set = 'SET extra_float_digits = 3; SET genie.candidates = 100; SET genie.quantized_vectors =';
	my $with = sql("$set on; SELECT * FROM everything()");
	is(shown('vector_images'), $n, "$what: vectors of so many segments") if defined $n;
	ok($with eq sql("$set off; SELECT * FROM everything()"), "$what: the same rows");
	cmp_ok(length($with), '>', 10000, "$what: and there are some");
	return;
}

# ---- when they are loaded ----

sql("INSERT INTO t SELECT i, x, x, 0 FROM (SELECT i, CASE WHEN i % 100 > 0 THEN vector(i) END AS x FROM generate_series(1, $n_rows) i) r;
	CREATE INDEX t_l2 ON t USING genie (v genie_l2_ops)");
sql('VACUUM ANALYZE t');
is(info($node, 't_l2', 'value_bytes >= objects * 48'), 't', 'a record of 16 bytes and 32 codes for each row');
my $call = q{SET genie.candidates = 100; SELECT count(*) FROM q, genie_search('t_l2', q.v, 10)};
my $many = visits('t_l2', "SET genie.quantized_vectors = off; $call");
cmp_ok($many, '>', 1500, 'switched off: a call looks up what its queries take');
is(shown('images, vector_images'), '1|0', 'and loads none');
my $few = visits('t_l2', $call);
is(shown('images, vector_images'), '1|1', 'switched on: they are loaded');
cmp_ok($few, '<', 900, "and a call looks up $few rows");
cmp_ok($few, '>=', 300, 'among them all that it gives') or note($few);
$few = visits('t_l2', "SET genie.candidates = 100; SET enable_seqscan = off; SELECT id FROM t ORDER BY v <-> vector(97) LIMIT 1");
cmp_ok($few, '<', 40, "a scan looks up $few");

# ---- how many candidates there are: more in a larger table ----

sql("CREATE TABLE large AS SELECT ARRAY[hashint8(i) & 1023, hashint8(i + 1000000) & 1023]::real[] AS v FROM generate_series(1, 432000) i; CREATE INDEX large_v ON large USING genie (v genie_l2_ops (hashes = 8)); VACUUM ANALYZE large");
my $nearest = "SET enable_seqscan = off; SET genie.quantized_vectors = off; SELECT v FROM large ORDER BY v <-> '{500,500}' LIMIT 1";
is(visits('large_v', $nearest), 240, '200 and the root of how many times 300,000 there are');
is(visits('large_v', "SET genie.candidates = 50; $nearest"), 50, 'or as many as are set');
sql('DROP TABLE large');

# ---- whatever happens to the table ----

sql('CREATE INDEX t_l1 ON t USING genie (v genie_laplacian_ops); CREATE INDEX t_cosine ON t USING genie (v genie_cosine_ops); CREATE INDEX t_double ON t USING genie (d genie_l2_float8_ops)');
sql("SELECT genie_prewarm(i::regclass) FROM unnest('{t_l2,t_l1,t_cosine,t_double}'::text[]) i");
same('vacuumed', 4);
sql('UPDATE t SET note = 1 WHERE id % 3 = 0');
same('updated in place', 4);
sql("UPDATE t SET v = vector(id + 1), d = vector(id + 1) WHERE id % 10 = 5; DELETE FROM t WHERE id % 4 = 0; INSERT INTO t SELECT i, vector(i), vector(i), 0 FROM generate_series($n_rows + 1, $n_rows + 200) i");
same('changed and pending');
sql('VACUUM t');
same('vacuumed again');
sql("DELETE FROM t WHERE id % 4 = 1; SELECT genie_merge(i::regclass) FROM unnest('{t_l2,t_l1,t_cosine,t_double}'::text[]) i");
sql("SELECT genie_prewarm(i::regclass) FROM unnest('{t_l2,t_l1,t_cosine,t_double}'::text[]) i");
same('merged, and what was replaced has gone', sql("SELECT sum(segments) FROM unnest('{t_l2,t_l1,t_cosine,t_double}'::text[]) i, genie_index_info(i::regclass)"));
sql("SET genie.candidates = 10000; SET genie.quantized_vectors = on; CREATE TABLE exact AS SELECT * FROM genie_search('t_l2', (SELECT v FROM q), 20)");
is(sql("SELECT count(*) FROM exact e FULL JOIN genie_exact_knn('t_l2', (SELECT v FROM q), 20) k ON k.query = e.query AND k.tid = e.tid AND k.distance = e.distance WHERE e.query IS NULL OR k.query IS NULL"), 0,
	'all rows as candidates: exact');

# Several segments, whose hits share match counts, and pages here and there that are not visible to everybody.
sql('VACUUM t');
sql("ALTER INDEX $_ SET (pending_limit = 64)") foreach 't_l2', 't_l1', 't_cosine', 't_double';
sql("INSERT INTO t SELECT i, vector(i), vector(i), 0 FROM generate_series($n_rows + 1001, $n_rows + 1400) i; INSERT INTO t SELECT id + 10000, vector(id + 20000), vector(id + 20000), 0 FROM t WHERE id % 50 = 3");
sql('VACUUM (INDEX_CLEANUP OFF) t');
sql("SELECT genie_prewarm(i::regclass) FROM unnest('{t_l2,t_l1,t_cosine,t_double}'::text[]) i");
cmp_ok(sql("SELECT segments FROM genie_index_info('t_l2')"), '>', 1, 'several segments');
same('several segments');
cmp_ok(visits('t_l2', $call), '<', 900, 'of which few rows are looked up');
sql('UPDATE t SET note = 2 WHERE id % 300 = 3; DELETE FROM t WHERE id % 250 = 7');
same('with changes here and there');
cmp_ok(visits('t_l2', $call), '<', 1500, 'of which few rows are looked up');

# Dead rows on few pages, among few candidates: whoever takes the place of one may be among the nearest.
sql("CREATE TABLE p AS SELECT i AS id, vector(i) AS v FROM generate_series(1, 3000) i; CREATE INDEX p_v ON p USING genie (v genie_l2_ops (hashes = 8)) WITH (pending_limit = 64);
	INSERT INTO p SELECT i, vector(i) FROM generate_series(10001, 10400) i");
sql('VACUUM (INDEX_CLEANUP OFF) p');
sql(q{SELECT genie_prewarm('p_v'); DELETE FROM p WHERE id BETWEEN 100 AND 400 AND id % 2 = 0});
foreach my $candidates (4, 6, 10)
{
	my ($with, $without) = map { sql("SET genie.candidates = $candidates; SET genie.quantized_vectors = $_; SELECT string_agg(concat_ws(' ', query, tid, distance), ';' ORDER BY n)
		FROM genie_search('p_v', (SELECT array_agg(vector(i * 7)) FROM generate_series(1, 400) i), 3) WITH ORDINALITY s (query, tid, distance, n)") } 'on', 'off';
	ok($with eq $without, "$candidates candidates, some of them dead: the same rows");
	is(scalar(split /;/, $with), 1200, 'three of each query');
}

# Rows that were not visible to who loaded are looked up by who sees them.
sql('CREATE TABLE go ()');
my $wait = 'DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM go) LOOP PERFORM pg_sleep(0.05); END LOOP; END $$';
my $writer = start_sql($node, 'BEGIN', 'INSERT INTO t SELECT 100000 + i, vector(i * 97), vector(i * 97), 0 FROM generate_series(1, 30) i', 'SELECT pg_advisory_xact_lock(1)', $wait, 'COMMIT');
wait_until($node, q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND granted});
sql("SELECT genie_merge('t_l2'); SELECT genie_prewarm('t_l2')");
is(info($node, 't_l2', 'pending_rows'), 0, 'rows of an open transaction are in a segment');
my $near = q{SELECT count(*) FROM genie_search('t_l2', (SELECT v FROM q), 2) s JOIN t ON t.ctid = s.tid WHERE id > 100000};
is(sql($near), 0, 'which nobody sees');
sql('INSERT INTO go DEFAULT VALUES');
ok(finish_sql($writer), 'it commits');
is(sql($near), 30, 'and they are found');
same('rows that were not visible when vectors were loaded');

# VACUUM may make pages visible by removing rows that a scan took before.
sql('CREATE TABLE b AS SELECT i AS id, vector(i) AS v FROM generate_series(1, 3000) i; CREATE INDEX b_v ON b USING genie (v genie_l2_ops)');
my %order;
foreach my $vectors ('on', 'off')
{
	sql(q{DELETE FROM b; INSERT INTO b SELECT i, vector(i) FROM generate_series(1, 3000) i});
	sql('VACUUM b');
	sql(q{REINDEX INDEX b_v; SELECT genie_prewarm('b_v'); DELETE FROM b WHERE id % 3 = 0});
	my $vacuum = sprintf(q{psql -X -q -h %s -p %s -d postgres -c 'VACUUM b'}, $node->host, $node->port);
	$order{$vectors} = sql("SET enable_seqscan = off; SET genie.candidates = 100; SET genie.quantized_vectors = $vectors; BEGIN; DECLARE c CURSOR FOR SELECT id FROM b ORDER BY v <-> vector(97);
FETCH 150 FROM c;
\\! $vacuum
FETCH ALL FROM c;
COMMIT");
}
is(scalar(split /\n/, $order{on}), 2000, 'a cursor over a VACUUM: all rows');
is(substr($order{on}, 0, 200), substr($order{off}, 0, 200), 'in the same order in the first round');
ok(join(' ', sort split(/\n/, $order{on})) eq join(' ', sort split(/\n/, $order{off})), 'the same rows');

# An expression is its owner's code: nobody runs it to load what the index has.
sql(q{CREATE FUNCTION half(v real[]) RETURNS real[] LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE LOG ''half was called''; RETURN v; END'; CREATE INDEX b_half ON b USING genie (half(v) genie_l2_ops)});
my $log_at = -s $node->logfile;
my $loaded = shown('vector_images');
sql(q{SELECT genie_prewarm('b_half')});
unlike(substr(slurp_file($node->logfile), $log_at), qr/half was called/, 'prewarming an expression index');
is(shown('vector_images'), $loaded + 1, 'loads its vectors, too');

# ---- segments with and without them ----

# Queries of old and of new rows by x_v, and by the same index without values.
sub same_as_without
{
	my ($what) = @_;
	my ($with, $without) = map { sql("SET extra_float_digits = 3; SET genie.candidates = 60; SELECT string_agg(concat_ws(' ', query, tid, distance), ';' ORDER BY n)
		FROM genie_search('$_', (SELECT array_agg(vector(i * 7)) FROM generate_series(1, 500) i), 5) WITH ORDINALITY s (query, tid, distance, n)") } 'x_v', 'x_none';
	ok($with eq $without, "$what: the same rows as without");
	is(scalar(split /;/, $with), 2500, "$what: all of them");
	return is(sql("SELECT count(*) FROM genie_check('x_v')"), 0, "$what: nothing is wrong");
}
sub value_bytes { return info($node, shift // 'x_v', 'value_bytes'); }
my $x_call = q{SET genie.candidates = 60; SELECT genie_prewarm('x_v'); SELECT count(*) FROM genie_search('x_v', (SELECT array_agg(vector(i * 107)) FROM generate_series(1, 20) i), 5)};

sql('CREATE TABLE x WITH (autovacuum_enabled = off) AS SELECT i AS id, vector(i) AS v FROM generate_series(1, 2000) i');
sql('CREATE INDEX x_v ON x USING genie (v genie_l2_ops (hashes = 48)) WITH (values = off, pending_limit = 65536); CREATE INDEX x_none ON x USING genie (v genie_l2_ops (hashes = 48)) WITH (values = off, pending_limit = 65536)');
sql('VACUUM x');
is(value_bytes(), 0, 'switched off for an index: a build writes none');
my $before = shown('vector_images');
sql($x_call);
is(shown('vector_images'), $before, 'and none are loaded');
same_as_without('an index without');
sql(q{ALTER INDEX x_v SET (values = on); INSERT INTO x SELECT i, vector(i) FROM generate_series(2001, 2400) i});
sql('VACUUM x');
is(info($node, 'x_v', 'segments'), 2, 'switched on, and some more rows merged: two segments');
cmp_ok(value_bytes(), '>=', 400 * 48, 'of which the new one has some');
cmp_ok(value_bytes(), '<', 1000 * 48, 'and the old one none');
same_as_without('a segment with and one without');
is(shown('vector_images'), $before + 1, 'and the new ones are loaded');
sql(q{INSERT INTO x SELECT i, vector(i) FROM generate_series(2401, 4000) i});
sql(q{SELECT genie_merge('x_v'), genie_merge('x_none')});
sql('VACUUM x');
is(info($node, 'x_v', 'segments'), 1, 'merged into one');
cmp_ok(value_bytes(), '>=', 4000 * 48, 'which has a record for each row');
same_as_without('with records that are unknown');
$few = visits('x_v', $x_call);
sql("REINDEX INDEX $_") foreach 'x_v', 'x_none';
same_as_without('all of them known');
my $all_known = visits('x_v', $x_call);
cmp_ok($all_known, '<', $few, "REINDEX makes them of all rows: $all_known visits instead of $few");
my ($with_values, $without_values) = map { sql("SELECT pg_relation_size('$_')") } 'x_v', 'x_none';
cmp_ok($with_values - $without_values, '<', 4000 * 48 * 1.1, 'the index is not larger than by its records');
sql(q{INSERT INTO x SELECT i, vector(i) FROM generate_series(4001, 4600) i; SELECT genie_merge('x_v'), genie_merge('x_none')});
same_as_without('after another merge');
sql(q{ALTER INDEX x_v SET (values = off); INSERT INTO x SELECT i, vector(i) FROM generate_series(4601, 5000) i; DELETE FROM x WHERE id % 5 < 3});
sql('VACUUM x');
sql(q{INSERT INTO x SELECT i, vector(i) FROM generate_series(5001, 9000) i; SELECT genie_merge('x_v'), genie_merge('x_none')});
is(info($node, 'x_v', 'segments'), 1, 'switched off, and all merged');
is(value_bytes(), 0, 'none are left');
same_as_without('switched off');
sql('ALTER INDEX x_v RESET (values)');
sql("REINDEX INDEX $_") foreach 'x_v', 'x_none';
cmp_ok(value_bytes(), '>', 0, 'they are there again: it is on by default');
same_as_without('reset');

# Every class of vectors has values, and others have none.
sql(q{CREATE TABLE z AS SELECT vector(i) AS v, vector(i)::float8[] AS d, ARRAY[i, i + 1, i + 2, i % 50] AS s, i::bit(32) AS b FROM generate_series(1, 600) i});
my @classes = map { my $class = $_; map { ["genie_$class$_", $_ eq '_float8_ops' ? 'd' : 'v', 1] } '_ops', '_float8_ops' } 'l2', 'l1', 'laplacian', 'cosine';
foreach (@classes, ['genie_cosine_ops (signs = on)', 'v', 1], ['genie_minhash_ops', 's', 0], ['genie_hamming_ops', 'b', 0])
{
	my ($class, $column, $has) = @$_;
	sql("CREATE INDEX z_i ON z USING genie ($column $class)");
	is(info($node, 'z_i', 'value_bytes > 0'), $has ? 't' : 'f', "$class: " . ($has ? 'values' : 'no values'));
	sql('DROP INDEX z_i');
}
sql('CREATE INDEX z_i ON z USING genie (v genie_l2_exact_ops) WITH (values = off)');
cmp_ok(value_bytes('z_i'), '>', 0, 'an exact class needs them, whatever the option');

# ---- whatever happens to the worker, and to room ----

sql("SELECT pg_terminate_backend(worker_pid) FROM genie_stat");
wait_until($node, q{SELECT worker_state IN ('idle', 'counting') FROM genie_stat});
same('another worker');
sql('REINDEX INDEX t_l2');
$few = visits('t_l2', $call);
$node->restart;
is(shown('images, vector_images'), '0|0', 'nothing in memory after a restart');
is(visits('t_l2', $call), $few, 'vectors are those of before, and save as many visits');
same('restarted');

# ---- an engine that has a device: the fake one (test/engine) ----

my $prewarm = q{SELECT genie_prewarm(i::regclass) FROM unnest('{t_l2,t_l1,t_cosine,t_double}'::text[]) i};
sql($prewarm);
my $fewest = visits('t_l2', $call);
my $rows = sql('SELECT * FROM everything()');
my ($cuda, $library) = fake_engine();
$node->append_conf('postgresql.conf', "$cuda\n$library\n");
$node->restart;
sql($prewarm);
ok(sql('SELECT * FROM everything()') eq $rows, 'an engine that gives no bounds: the same rows');
is(visits('t_l2', $call), $fewest, 'and as many of them are looked up, for the CPU has bounds');
like((told())[-1], qr/^vectors \d+ \d+$/, 'but the engine got the vectors');
order('bounds');
ok(sql('SELECT * FROM everything()') eq $rows, 'an engine that gives bounds: the same rows');
cmp_ok(visits('t_l2', $call), '>', 1500, 'and they hold: nothing is too far, where all are 0');
cmp_ok(sql('SELECT answered_by_worker_cpu FROM genie_stat'), '==', 0, 'whatever the CPU would say');
order('');
my $call_b = q{SELECT genie_prewarm('b_v'); SET genie.candidates = 100; SELECT count(*) FROM q, genie_search('b_v', q.v, 10)};
sql($call_b);
my ($id) = (told())[-1] =~ /^vectors \d+ (\d+)$/;
my $at = scalar(told());
for (1 .. 8)
{
	sql(q{INSERT INTO b SELECT i, vector(i) FROM generate_series(1, 2000) i; SELECT genie_merge('b_v')});
	sql($call_b);
	last if grep { /^forget/ } told($at);
}
is(scalar(grep { $_ eq "forget $id" } told($at)), 1, 'it may drop its copy of vectors that have gone');
$node->append_conf('postgresql.conf', "genie.engine = 'cpu'\n");

$node->append_conf('postgresql.conf', "genie.shared_memory = 4MB\n");
$node->restart;
sql(q{CREATE TABLE w (v real[]); INSERT INTO w SELECT array_agg(element(i, j) ORDER BY j) FROM generate_series(1, 3000) i, generate_series(1, 1500) j GROUP BY i; CREATE INDEX w_v ON w USING genie (v genie_l2_ops (hashes = 20)); VACUUM w});
my $wide = q{SELECT count(*), sum(distance) FROM genie_search('w_v', (SELECT array_agg(v) FROM (SELECT v FROM w LIMIT 50) r), 10)};
my $first = sql($wide);
is(sql($wide), $first, 'vectors that find no room: the same rows') for 1 .. 2;
is(shown('images, vector_images'), '1|0', 'and the image stays');
cmp_ok(shown('image_no_room'), '>', 0, 'which is noted');
my ($result, $out, $error) = $node->psql('postgres', q{SELECT genie_prewarm('w_v')});
like($error, qr/NOTICE:  not all values of genie index "w_v" are in shared memory\nDETAIL:  There is no room left for them\.\nHINT:  Searches look up more rows without them\.  Raise genie\.shared_memory, which needs a restart\./, 'genie_prewarm says so');

# Vectors go for images, and no query tries in vain again and again to load them.
$node->restart;
sql('DROP TABLE w');
sql($call);
is(shown('vector_images'), 1, 'vectors of a small index');
my $images = shown('images');
for my $i (1 .. 40)
{
	sql("CREATE TABLE filler_$i (x int[]); INSERT INTO filler_$i SELECT ARRAY(SELECT (random() * 1000)::int FROM generate_series(1, 20) WHERE i > 0) FROM generate_series(1, 2000) i; CREATE INDEX ON filler_$i USING genie (x); SELECT genie_prewarm('filler_${i}_x_idx')");
	$images++;
	last if shown('vector_images') == 0;
}
is(shown('images, vector_images'), "$images|0", 'they go before any image');
sql($call);
my $loads = shown('image_loads, image_no_room');
sql($call);
is(shown('image_loads, image_no_room'), $loads, 'and whoever found no room leaves it at that for a while');
same('without room');
done_testing();
