# Scans by approximate classes of vectors that want more rows than their first round has: under filters, through cursors, with
# genie.strict_order.  Behind the first round rows come in exact order, so filters lose none.
#
# The oracle is a sequential scan, sorted by (distance, ctid).  Points are uniform in three dimensions, where hash functions tell
# near rows from far ones badly.  The filters and the shares that must be found are those that pgvector asks of iterative scans.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = genie_node('primary', init => { allows_streaming => 1, extra => [ '--no-locale', '--encoding=UTF8' ] });
sub sql { return $primary->safe_psql('postgres', $_[0]); }
sql(<<'SQL');
CREATE EXTENSION genie;
CREATE EXTENSION pageinspect;
CREATE FUNCTION point(i int) RETURNS real[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
	AS $$SELECT array_agg(((hashint8(i::bigint * 8 + j) & 65535) / 65536.0)::real) FROM generate_series(1, 3) j$$;
CREATE TABLE t (id int, v real[]) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, point(i) FROM generate_series(1, 50000) i;
CREATE INDEX t_l2 ON t USING genie (v genie_l2_ops);
CREATE INDEX t_cosine ON t USING genie (v genie_cosine_ops);
VACUUM ANALYZE t;

-- ids of a query's rows in order, by the index, whose use is verified, or by the table
CREATE FUNCTION ids(way text, query text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
	result int[];
BEGIN
	PERFORM set_config('enable_seqscan', CASE way WHEN 'index' THEN 'off' ELSE 'on' END, true), set_config('enable_indexscan', CASE way WHEN 'index' THEN 'on' ELSE 'off' END, true),
		set_config('enable_sort', CASE way WHEN 'index' THEN 'off' ELSE 'on' END, true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	IF (plan !~ 'Index Scan using' OR plan ~ 'Sort') AND way = 'index' THEN
		RAISE 'not an index scan: %', plan;
	END IF;
	EXECUTE format('SELECT array_agg(id) FROM (%s) s', query) INTO result;
	RETURN coalesce(result, '{}');
END $$;
-- the share that the index finds of the rows that the table has, of 20 queries; a query of k rows
CREATE FUNCTION recall(tab text, op text, type text, filter text, k int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	wanted int[];
	query text;
	found int := 0;
	n int := 0;
BEGIN
	FOR q IN 1 .. 20 LOOP
		query := format('SELECT id FROM %s WHERE %s ORDER BY v %s %L::%s', tab, filter, op, CASE type WHEN 'vector' THEN translate(point(-q)::text, '{}', '[]') ELSE point(-q)::text END, type);
		wanted := ids('table', query || ', ctid LIMIT ' || k);
		n := n + cardinality(wanted);
		found := found + cardinality(ARRAY(SELECT unnest(wanted) INTERSECT SELECT unnest(ids('index', query || ' LIMIT ' || k))));
	END LOOP;
	RETURN found::float8 / n;
END $$;
-- for which queries the rows in order are not those of the table; k NULL: all rows
CREATE FUNCTION differences(tab text, filter text, k int DEFAULT NULL) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text;
BEGIN
	FOR q IN 1 .. 4 LOOP
		FOR query IN SELECT format('SELECT id FROM %s WHERE %s ORDER BY %s', tab, filter, format(o, point(-q)))
				FROM unnest('{"v <-> %L","v <=> %L","v <-> point(7), v <-> %L","v <-> (SELECT NULL::real[]), v <-> %L"}'::text[]) o LOOP
			IF ids('index', query || ' LIMIT ' || coalesce(k::text, 'ALL')) <> ids('table', query || ', ctid LIMIT ' || coalesce(k::text, 'ALL')) THEN
				RETURN NEXT query;
			END IF;
		END LOOP;
	END LOOP;
END $$;
-- whether a scan gives each row of the table once, and those behind the first n in order
CREATE FUNCTION complete(tab text, op text, n int) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	given int[] := ids('index', format('SELECT id FROM %s ORDER BY v %s %L', tab, op, point(-3)));
	wanted int[] := ids('table', format('SELECT id FROM %s ORDER BY v %s %L, ctid', tab, op, point(-3)));
BEGIN
	RETURN ARRAY(SELECT unnest(given) ORDER BY 1) = ARRAY(SELECT unnest(wanted) ORDER BY 1)
		AND given[n + 1:] = ARRAY(SELECT id FROM unnest(wanted) WITH ORDINALITY w (id, o) WHERE id <> ALL (given[:n]) ORDER BY o);
END $$;
SQL

# ---- filters ----

my @filters = map { "id % $_ = 0" } 50, 100, 500, 1000;
foreach my $op ('<->', '<=>')
{
	cmp_ok(sql("SELECT recall('t', '$op', 'real[]', '$_', 20)"), '>=', 0.99, "$op where $_") foreach @filters;
	cmp_ok(sql("SET genie.quantized_vectors = off; SELECT recall('t', '$op', 'real[]', '$filters[2]', 20)"), '<', 0.99, "$op by rounds alone");
	cmp_ok(sql("SET genie.candidates = 10; SELECT recall('t', '$op', 'real[]', 'id % 3 = 0', 100)"), '>=', 0.99, "$op from few candidates on");
	is(sql("SET genie.strict_order = on; SELECT recall('t', '$op', 'real[]', 'true', 10)"), 1, "$op in exact order");
}
is(sql("SET genie.strict_order = on; SELECT differences('t', '$_', 20)"), '', "exact order where $_") foreach 'true', 'id % 10 = 3', $filters[2], 'id < 0';
is(sql("SET genie.candidates = 40; SELECT complete('t', '<->', 40), complete('t', '<=>', 40)"), 't|t', 'each row comes once, in exact order behind the first round');
is(sql("SET genie.candidates = 40; SET genie.strict_order = on; SELECT complete('t', '<->', 0), complete('t', '<=>', 0)"), 't|t', 'in exact order from the first row on');

SKIP:
{
	skip 'pgvector is not installed', 4 if sql(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'}) eq '0';
	sql('CREATE EXTENSION vector; SELECT genie_enable_pgvector(); CREATE TABLE p AS SELECT id, v::vector AS v FROM t; VACUUM ANALYZE p');
	foreach my $class ([ '<->', 'l2' ], [ '<=>', 'cosine' ])
	{
		sql("CREATE INDEX p_v ON p USING genie (v genie_vector_$class->[1]_ops)");
		cmp_ok(sql("SELECT recall('p', '$class->[0]', 'vector', '$_', 20)"), '>=', 0.99, "pgvector: $class->[0] where $_") foreach @filters[0, 2];
		sql('DROP INDEX p_v');
	}
}

# ---- rows that change ----

sql(<<'SQL');
CREATE TABLE u (id int, v real[], note int) WITH (autovacuum_enabled = off, fillfactor = 70);
INSERT INTO u SELECT i, CASE WHEN i % 200 > 0 THEN point(i % 3000) END FROM generate_series(1, 4000) i;
CREATE INDEX u_l2 ON u USING genie (v genie_l2_ops) WITH (pending_limit = 65536);
CREATE INDEX u_cosine ON u USING genie (v genie_cosine_ops) WITH (pending_limit = 65536);
SQL
my $strict = 'SET genie.strict_order = on; SET genie.candidates = 30';
foreach my $change ('VACUUM ANALYZE u', 'INSERT INTO u SELECT i, point(i) FROM generate_series(4001, 4300) i', 'DELETE FROM u WHERE id % 7 = 0', 'UPDATE u SET v = point(id + 1) WHERE id % 9 = 0', 'INSERT INTO u VALUES (5000, NULL)',
	'VACUUM u', q{SELECT genie_merge('u_l2'), genie_merge('u_cosine')})
{
	sql($change);
	is(sql("$strict; SELECT differences('u', 'true'); SELECT differences('u', 'id % 41 = 0', 50); SET work_mem = '64kB'; SELECT differences('u', 'id % 2 = 0')"), '', "exact order after $change");
	is(sql(qq{SET genie.candidates = 30; SELECT complete('u', '<->', 30 + pending_rows::int) FROM genie_index_info('u_l2')}), 't', "each row once after $change");
}
is(sql(q{SET genie.candidates = 5; SET enable_seqscan = off; SET enable_sort = off; SET genie.strict_order = on;
	SELECT count(*), count(*) FILTER (WHERE s.ids <> w.ids) FROM generate_series(1, 30) q, LATERAL (SELECT array_agg(id) AS ids FROM (SELECT id FROM u ORDER BY v <-> point(-q) LIMIT 40) s) s,
		LATERAL (SELECT array_agg(id) AS ids FROM (SELECT id FROM (SELECT id, v <-> point(-q) AS d, ctid FROM u OFFSET 0) u ORDER BY d, ctid LIMIT 40) w) w}), '30|0', 'a scan that begins again and again');
isnt($primary->psql('postgres', q{SET enable_seqscan = off; SET genie.strict_order = on; SELECT id FROM u ORDER BY v <-> '{1,2}' LIMIT 1}, stderr => \my $error), 0, 'a query of another length');
like($error, qr/ERROR:  vector differs in length from those in the index/, 'is refused');

# ---- segments without values ----

sql(q{CREATE TABLE w AS SELECT i AS id, point(i) AS v FROM generate_series(1, 3000) i; CREATE INDEX w_l2 ON w USING genie (v genie_l2_ops) WITH (values = off, pending_limit = 65536); VACUUM ANALYZE w});
my $sorted = q{SELECT array_agg(d) = array_agg(d ORDER BY d) FROM (SELECT v <-> point(-5) AS d FROM w ORDER BY v <-> point(-5)) s};
my $each = q{SELECT count(*) = count(DISTINCT id) AND count(*) = (SELECT count(*) FROM w) FROM (SELECT id FROM w ORDER BY v <-> point(-5)) s};
my $by_index = 'SET enable_seqscan = off; SET enable_sort = off; SET genie.candidates = 30';
is(sql("$by_index; $each; SET genie.strict_order = on; $sorted"), "t\nt", 'without values there are rounds');
sql(q{ALTER INDEX w_l2 SET (values = on); INSERT INTO w SELECT i, point(i) FROM generate_series(3001, 3300) i; SELECT genie_merge('w_l2')});
is(sql("$by_index; $each; SET genie.strict_order = on; $sorted"), "t\nt", 'with values in one segment, too');
sql('REINDEX INDEX w_l2');
is(sql("$by_index; $each; SET genie.strict_order = on; $sorted; $each"), "t\nt\nt", 'with values no row is left out');
sql('ALTER INDEX w_l2 SET (values = off)');
my $session = $primary->background_psql('postgres');
$session->query_safe("$by_index; BEGIN");
my $got = $session->query_safe('DECLARE c CURSOR FOR SELECT id FROM w ORDER BY v <-> point(-5); FETCH 20 FROM c');
sql(q{INSERT INTO w SELECT i, point(i) FROM generate_series(3301, 3400) i; SELECT genie_merge('w_l2')});
$got .= "\n" . $session->query_safe('FETCH ALL FROM c');
is(join(',', sort { $a <=> $b } split(/\n/, $got)), join(',', 1 .. 3300), 'values that are gone when the first round is over: each row once');
$session->quit;

# ---- a standby whose pages are replaced under cursors ----

sql(q{CREATE TABLE s AS SELECT i AS id, CASE WHEN i % 100 > 0 THEN point(i) END AS v FROM generate_series(1, 6000) i; CREATE INDEX s_l2 ON s USING genie (v genie_l2_ops) WITH (pending_limit = 65536);
	INSERT INTO s SELECT i, point(i) FROM generate_series(6001, 6200) i;
	ALTER INDEX s_l2 SET (values = off)});	# of segments to come
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\n");
$standby->start;
my $stamps = q{SELECT string_agg(encode(substr(get_raw_page('s_l2', b), 8177, 8), 'hex'), E'\n') FROM generate_series(1, (SELECT pg_relation_size('s_l2') / 8192 - 1)::int) b};
my @cursors = map { { strict => $_->[0], n => $_->[1], filter => $_->[2] } } [ 'on', 5, 'true' ], [ 'on', 2500, 'true' ], [ 'on', 6170, 'true' ], [ 'on', 10, 'id % 10 = 1' ], [ 'off', 10, 'true' ], [ 'off', 230, 'true' ], [ 'off', 900, 'true' ];
foreach my $cursor (@cursors)
{
	my $reader = $cursor->{session} = $standby->background_psql('postgres');
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$cursor->{expected} = $reader->query_safe("SELECT id FROM (SELECT id, v <-> point(-9) AS d, ctid FROM s WHERE $cursor->{filter} OFFSET 0) s ORDER BY d, ctid");
	$reader->query_safe("SET enable_seqscan = off; SET enable_sort = off; SET work_mem = '64kB'; SET genie.worker = off; SET genie.candidates = 20; SET genie.strict_order = $cursor->{strict}");
	$reader->query_safe("DECLARE c CURSOR FOR SELECT id FROM s WHERE $cursor->{filter} ORDER BY v <-> point(-9)");
	$cursor->{got} = $reader->query_safe("FETCH $cursor->{n} FROM c");
	$reader->query_safe('SET genie.quantized_vectors = off') if $cursor->{n} == 5 || $cursor->{n} == 230;	# a scan on its way does not heed it
}
my @before = grep { !/^0+$/ } split(/\n/, $standby->safe_psql('postgres', $stamps));
foreach my $round (1 .. 3)
{
	sql("INSERT INTO s SELECT i, point(i) FROM generate_series($round * 10000, $round * 10000 + 8000) i");
	sql(q{SELECT genie_merge('s_l2')}) for 1 .. 2;
}
catch_up($primary, $standby);
my %after = map { $_ => 1 } split(/\n/, $standby->safe_psql('postgres', $stamps));
my $left = grep { $after{$_} } @before;
note("$left of " . @before . ' pages are left');
cmp_ok($left, '<', @before / 4, 'most pages of the segments are used by others');
foreach my $cursor (@cursors)
{
	my $what = "a cursor over replaced pages, $cursor->{n} rows before, strict order $cursor->{strict}, $cursor->{filter}";
	my $given = "$cursor->{got}\n" . $cursor->{session}->query_safe('FETCH ALL FROM c');
	my $expected = $cursor->{expected};
	($given, $expected) = map { join("\n", sort split(/\n/, $_)) } $given, $expected if $cursor->{strict} eq 'off';
	ok($given eq $expected, $what);
	$cursor->{session}->quit;
}
$standby->stop;
is(sql(qq{SELECT * FROM genie_check('$_')}), '', "genie_check of $_") foreach qw(t_l2 u_l2 u_cosine w_l2 s_l2);

$primary->stop;
done_testing();
