# Small images (genie.image), of codes alone or of chunks: the same rows and numbers as by full ones and as without the worker, in
# less memory; who gets them; objects that cannot be codes; several processes that load one.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

once();
my $node = genie_node('codes', conf => worker_settings("genie.shared_memory = 32MB\ngenie.cpu_threads = 3\ngenie.loaders = 3\nautovacuum = off\nmax_parallel_workers_per_gather = 3\n"));
sub sql { return $node->safe_psql('postgres', @_); }

# Codes of 4, 8 and 16 bits; an attribute that not all rows have; objects of which a few have two keywords of a dimension; LSH.
sql(<<'SQL');
CREATE EXTENSION genie;
SELECT setseed(0.82);
CREATE TABLE t (id int, a int, b int, c int, d int, e int, f int, g int);
INSERT INTO t SELECT i, i % 7, (random() ^ 2 * 12)::int, NULLIF((random() * 90)::int, 3), i / 100 % 900, (random() * 3)::int, (random() * 200)::int, i % 13
	FROM generate_series(1, 300000) i;
CREATE INDEX t_x ON t USING genie (genie_tuple(a, b, c, d, e, f, g));
CREATE TABLE twice (id int, x genie_object);
INSERT INTO twice SELECT i, CASE WHEN i % 1000 = 0 THEN genie_object('{0:int:1, 0:int:2, 1:int:3}')
	ELSE genie_object(format('{0:int:%s, 1:int:%s, 2:int:%s}', i % 5, i % 7, i % 9)) END FROM generate_series(1, 5000) i;
CREATE INDEX twice_x ON twice USING genie (x);
CREATE TABLE s (id int, x int[]);
INSERT INTO s SELECT i, ARRAY(SELECT DISTINCT (3000 ^ ((j * 0.618 + i * (0.01 + j * 0.000037)) % 1))::int FROM generate_series(1, 28) j) FROM generate_series(1, 140000) i;
CREATE INDEX s_x ON s USING genie (x);
CREATE TABLE v (id int, x float4[]);
INSERT INTO v SELECT i, ARRAY(SELECT ((i * j) % 97 + random())::float4 FROM generate_series(1, 8) j) FROM generate_series(1, 5000) i;
CREATE INDEX v_x ON v USING genie (x genie_l2_ops);
CREATE TABLE q AS SELECT i, CASE i % 5
		WHEN 0 THEN genie_tuple_query(i % 7, i % 12, i % 90, i, i % 3, i % 200, i % 13)
		WHEN 1 THEN genie_tuple_query(int4range(0, 3), ARRAY[1, 3, 5, i % 12], NULL, int4range(i, i + 100))
		WHEN 2 THEN genie_tuple_query(NULL, NULL, 4, NULL, NULL, ARRAY[int4range(0, 20), int4range(100, NULL)])
		WHEN 3 THEN genie_tuple_query(100 + i, NULL, NULL, 5000)
		ELSE genie_tuple_query(int4range(NULL, NULL), i % 12, int4range(10, 60), NULL, 1) END AS q
	FROM generate_series(1, 60) i;
VACUUM ANALYZE;

CREATE FUNCTION answers() RETURNS SETOF text LANGUAGE sql AS $$
	WITH queries AS (SELECT array_agg(q ORDER BY i) AS all, array_agg(q ORDER BY i) FILTER (WHERE i <= 5) AS some FROM q)
	SELECT 'best ' || md5(string_agg(concat_ws(' ', s.query, s.tid, s.match_count), ',' ORDER BY n)) FROM queries, genie_search('t_x', queries.all, 20) WITH ORDINALITY s (query, tid, match_count, n)
	UNION ALL SELECT 'many ' || md5(string_agg(concat_ws(' ', s.query, s.tid, s.match_count), ',' ORDER BY n)) FROM queries, genie_search('t_x', queries.some, 70000) WITH ORDINALITY s (query, tid, match_count, n)
	UNION ALL SELECT 'counts ' || string_agg(lower::text, ' ' ORDER BY query) FROM queries, genie_counts('t_x', queries.all)
	UNION ALL SELECT 'filter ' || md5(string_agg(concat_ws(' ', query, tid), ',' ORDER BY query, tid)) FROM queries, genie_filter('t_x', queries.some)
	UNION ALL SELECT 'facets ' || md5(string_agg(concat_ws(' ', i, attribute, value, n), ',' ORDER BY i, attribute, value)) FROM q, genie_facets('t_x', q, '{1,2,4,6}') WHERE i <= 5
	UNION ALL SELECT 'cells ' || md5(string_agg(concat_ws(' ', i, cell, n, tid_from, tid_to), ',' ORDER BY i, cell)) FROM q, genie_regrid('t_x', '{2,4}', '{10,50}', q) WHERE i <= 5
	UNION ALL SELECT 'scan ' || string_agg(id::text, ' ' ORDER BY i, n) FROM q, LATERAL (SELECT id, row_number() OVER () AS n FROM
		(SELECT id FROM t ORDER BY genie_tuple(a, b, c, d, e, f, g) <&> q LIMIT 5) s) r WHERE i <= 5
	UNION ALL SELECT 'near ' || string_agg(id::text, ' ' ORDER BY n) FROM (SELECT id, row_number() OVER () AS n FROM
		(SELECT id FROM t WHERE genie_tuple(a, b, c, d, e, f, g) @& genie_tuple_query(NULL, int4range(0, 3), NULL, int4range(100, 400))
			ORDER BY genie_tuple(a, b, c, d, e, f, g) <%> '{0:int:1, 2:int:5, 5:int:7}'::genie_object LIMIT 30) s) r
	UNION ALL SELECT 'twice ' || md5(string_agg(id::text, ' ' ORDER BY n)) FROM (SELECT id, row_number() OVER () AS n FROM
		(SELECT id FROM twice ORDER BY x <&> genie_query('{0:int:[1,2], 1:int:3}') LIMIT 700) s) r
	UNION ALL SELECT 'sets ' || md5(string_agg(concat_ws(' ', s.query, s.tid, s.match_count), ',' ORDER BY n)) FROM (SELECT array_agg(genie_query(x) ORDER BY id) AS all FROM s WHERE id % 7000 = 5) queries,
		genie_search('s_x', queries.all, 30) WITH ORDINALITY s (query, tid, match_count, n)
	UNION ALL SELECT 'ranges ' || md5(string_agg(concat_ws(' ', s.query, s.tid, s.match_count), ',' ORDER BY n)) FROM genie_search('s_x', ARRAY['{0:int:[1,5]}', '{0:int:[20,90], 0:int:7, 0:int:[400,3000]}',
		'{0:int:[0,3000]}']::genie_query[], 70000) WITH ORDINALITY s (query, tid, match_count, n)
	UNION ALL SELECT 'jaccard ' || string_agg(id::text, ' ' ORDER BY n) FROM (SELECT id, row_number() OVER () AS n FROM
		(SELECT id FROM s ORDER BY x <%> (SELECT x FROM s WHERE id = 1234) LIMIT 50) s) r
	UNION ALL SELECT 'set counts ' || string_agg(lower::text, ' ' ORDER BY query) FROM genie_counts('s_x', ARRAY['{0:int:1, 0:int:2, 0:int:5}@2', '{0:int:[30,60], 0:int:1}@2', '{0:int:3000, 0:int:1}@2']::genie_query[])
	UNION ALL SELECT 'vectors ' || string_agg(id::text, ' ' ORDER BY n) FROM (SELECT id, row_number() OVER () AS n FROM
		(SELECT id FROM v ORDER BY x <-> (SELECT x FROM v WHERE id = 17) LIMIT 40) s) r $$;
SQL

sub contents { return sql(q{SELECT string_agg(DISTINCT concat_ws(' ', index, contents), ', ' ORDER BY concat_ws(' ', index, contents)) FROM genie_images() WHERE state = 'ready'}); }
sub bytes { return sql(q{SELECT sum(bytes) FROM genie_images() WHERE index = '} . ($_[0] // 't_x') . q{'::regclass}); }

sub restart_with
{
	my ($settings) = @_;
	$node->append_conf('postgresql.conf', $settings);
	$node->restart;
	return;
}

# All is counted by images, of what they are said to be.
sub check
{
	my ($settings, $kind, $expected, $when) = @_;
	restart_with($settings);
	sql("SELECT genie_prewarm('$_')") foreach ('s_x', 't_x', 'twice_x', 'v_x');
	my $lists = $kind eq 'codes' ? 'chunks' : 'postings';
	my $before = sql('SELECT fallback_no_image + fallback_no_room + fallback_failed FROM genie_stat');
	is(sql('SELECT answers()'), $expected, "$when: the same answers");
	is(sql('SELECT fallback_no_image + fallback_no_room + fallback_failed FROM genie_stat'), $before, "$when: the worker counted all");
	is(contents(), "s_x $lists, t_x $kind, twice_x $lists, v_x $kind, v_x vectors", "$when: what is in memory");
	return bytes();
}

restart_with("genie.autoprewarm = off\n");
sub answers_without_worker { return sql('SET genie.worker = off; SELECT answers()'); }
my $answers = answers_without_worker();
my $full = check("genie.image = full\n", 'postings', $answers, 'full');
my $full_sets = bytes('s_x');
my $small = check("genie.image = small\n", 'codes', $answers, 'small');
cmp_ok($small, '<', 0.6 * $full, 'codes alone take less');
my $small_sets = bytes('s_x');
cmp_ok($small_sets, '<', 0.8 * $full_sets, 'chunks take less');
is(check("genie.image = auto\n", 'postings', $answers, 'auto, with room'), $full, 'with room for lists, there are lists');
is(sql(q{SELECT image_bytes FROM genie_index_info('t_x')}) > $small, 1, 'genie_index_info tells what would be loaded');

# Each way of counting, and one thread alone.
foreach my $kernels ('tiles', 'lanes')
{
	check("genie.image = small\ngenie.kernels = $kernels\n", 'codes', $answers, "small, $kernels");
}
check("genie.cpu_threads = 1\n", 'codes', $answers, 'small, lanes, one thread');
restart_with("genie.kernels = auto\ngenie.cpu_threads = 3\n");

# Less room than lists take: codes alone before the query goes without an image.
restart_with("genie.image = auto\ngenie.shared_memory = " . int(($small + $full) / 2 / 1024) . "kB\n");
sql("SELECT genie_prewarm('t_x')");
is(contents(), 't_x codes', 'auto, with less room: codes alone');
is(sql('SELECT answers()'), $answers, 'the same answers');
is(bytes(), $small, 'of the same size');
restart_with("genie.image = full\n");
like(($node->psql('postgres', "SELECT genie_prewarm('t_x')"))[2], qr/no room in shared memory for all of genie index "t_x".*HINT: .*genie\.image/s, 'full: there is no room, and a hint says what to do');

# The same of sets, which have no codes.
restart_with("genie.image = auto\ngenie.shared_memory = " . (int($small_sets / 1024) + 1280) . "kB\n");
sql("SELECT genie_prewarm('s_x')");
is(contents(), 's_x chunks', 'auto, with less room for sets: chunks');
is(sql('SELECT answers()'), $answers, 'the same answers');
is(bytes('s_x'), $small_sets, 'of the same size');
restart_with("genie.image = full\ngenie.shared_memory = " . int(($small + $full) / 2 / 1024) . "kB\n");
like(($node->psql('postgres', "SELECT genie_prewarm('t_x')"))[2], qr/no room/, 'full: there is no room');

# What was put off for its lists is tried again when it may be without.
sql('ALTER SYSTEM SET genie.image = small');
sql('SELECT pg_reload_conf()');
ok($node->poll_query_until('postgres', q{SELECT CASE WHEN (SELECT count(*) FROM genie_search('t_x', ARRAY[genie_tuple_query(1)], 1)) > 0
	THEN EXISTS (SELECT FROM genie_images() WHERE index = 't_x'::regclass AND state = 'ready') END}),
	'another setting, and a query loads it');
is(contents(), 't_x codes', 'small: it fits');
sql('ALTER SYSTEM RESET genie.image');

# Room for the lists of a large segment, or for the codes of all: all of them.
restart_with("genie.image = auto\ngenie.shared_memory = 64MB\n");
sql('CREATE TABLE parts AS SELECT * FROM t');
sql('CREATE INDEX parts_x ON parts USING genie (genie_tuple(a, b, c, d, e, f, g))');
sql('INSERT INTO parts SELECT * FROM t');
cmp_ok(sql("SELECT segments FROM genie_index_info('parts_x')"), '>', 1, 'several segments');
sql("SELECT genie_prewarm('parts_x')");
my ($largest, $lists) = split /\|/, sql("SELECT max(bytes), sum(bytes) FROM genie_images() WHERE index = 'parts_x'::regclass");
restart_with("genie.image = small\n");
sql("SELECT genie_prewarm('parts_x')");
my $codes = sql("SELECT sum(bytes) FROM genie_images() WHERE index = 'parts_x'::regclass");
note("largest segment $largest bytes, all $lists, codes alone $codes");
cmp_ok(1.25 * $codes, '<', 0.75 * $lists, 'there is a size that has room for codes alone');
restart_with("genie.image = auto\ngenie.shared_memory = " . int(1.25 * $codes / 1024) . "kB\n");
sql("SELECT genie_prewarm('parts_x')");
is(sql("SELECT count(*) FROM genie_images() WHERE index = 'parts_x'::regclass AND state = 'ready'"), sql("SELECT segments FROM genie_index_info('parts_x')"),
	'all segments are ready');
like(sql("SELECT string_agg(DISTINCT contents, ', ') FROM genie_images() WHERE index = 'parts_x'::regclass"), qr/^codes/, 'as codes alone, if one has no room for its lists besides');
sql('DROP TABLE parts');
restart_with("genie.image = small\ngenie.shared_memory = 64MB\n");

# Dead rows, new segments.
sql('DELETE FROM t WHERE id % 3 = 0 AND id < 100000');
sql('VACUUM t');
sql('INSERT INTO t SELECT i, 1, 2, 3, 150, 1, 100, 5 FROM generate_series(1, 3000) i');
sql("SELECT genie_merge('t_x')");
$answers = answers_without_worker();
check('', 'codes', $answers, 'after DELETE, VACUUM and INSERT');
like(($node->psql('postgres', "ALTER SYSTEM SET genie.image = 'tiny'"))[2], qr/invalid value for parameter "genie.image": "tiny".*HINT:  Available values: auto, full, small\./s, 'other settings are refused');
is($node->safe_psql('postgres', "SELECT count(*) FROM genie_check('t_x')"), 0, 'the index is sound');
done_testing();
