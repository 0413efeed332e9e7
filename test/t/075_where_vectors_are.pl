# Where an index's vectors are (vectors/genie_vector_learn.c): the centre, which indexes learn where few dimensions
# are large in all rows, the range of l1, and dimensions wider than it.  They are in pages of their own
# (disk/genie_learned.h): learned by builds and by merges, crashes before that, a standby, VACUUM that moves the page,
# training again, which keeps them, rows out of the range, and a page that is damaged. The oracle is the sequential
# scan.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GeniePage;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{GENIE_SEED} // int(rand(1_000_000));
note("seed $seed (GENIE_SEED=$seed repeats this run)");
srand($seed);

my $primary = genie_node('primary', init => { allows_streaming => 1, %{ without_checksums() } },
	conf => "restart_after_crash = on\nwal_consistency_checking = 'generic'\n");
sub sql { return $primary->safe_psql('postgres', $_[0]); }
my %operator = (l2 => '<->', l1 => '<+>', cosine => '<=>', ip => '<#>');
my @metrics = sort keys %operator;

sql(<<'SQL');
CREATE EXTENSION genie;
-- 40 dimensions within +-1, three of which are about 300 in all rows; after 100,000, about -300
CREATE FUNCTION vec(i int, factor float8 = 1) RETURNS real[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
	SELECT array_agg((factor * sin(i * 0.37 * j) + CASE WHEN j % 13 = 5 THEN CASE WHEN i < 100000 THEN 300 + j ELSE -300 END ELSE 0 END)::real) FROM generate_series(1, 40) j $$;
CREATE FUNCTION answers(way text, name text, op text, first int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text = '';
	part text;
BEGIN
	PERFORM set_config('enable_seqscan', CASE way WHEN 'table' THEN 'on' ELSE 'off' END, true), set_config('enable_indexscan', CASE way WHEN 'table' THEN 'off' ELSE 'on' END, true);
	FOR i IN first .. first + 5 LOOP
		IF way = 'call' THEN
			EXECUTE format('SELECT string_agg(tid || '' '' || distance, '';'' ORDER BY n) FROM genie_search(%L, vec(%s), 10) WITH ORDINALITY s (query, tid, distance, n)', name, i) INTO part;
		ELSE
			EXECUTE format('SELECT string_agg(ctid || '' '' || d, '';'' ORDER BY n) FROM (SELECT ctid, d, row_number() OVER () AS n FROM (SELECT ctid, x %s vec(%s) AS d FROM t ORDER BY x %1$s vec(%2$s)%s LIMIT 10) s) s', op, i, CASE way WHEN 'table' THEN ', ctid' ELSE '' END) INTO part;
		END IF;
		result = md5(result || part);
	END LOOP;
	RETURN result;
END $$;
CREATE TABLE t (id serial, x real[], changed int) WITH (autovacuum_enabled = off);
CREATE INDEX ON t (changed);
SQL

sub same
{
	my ($node, $when, @names) = @_;
	my $first = 1 + int(rand(3000)) + int(rand(2)) * 100000;
	foreach my $name (@names)
	{
		my $op = $operator{ $name =~ /^t_([a-z0-9]+)/ ? $1 : die };
		my %got = map { $_ => $node->safe_psql('postgres', "SELECT answers('$_', '$name', '$op', $first)") } qw(table index call);
		is("$got{index} $got{call}", "$got{table} $got{table}", "$name from query $first, $when");
		is($node->safe_psql('postgres', "SELECT * FROM genie_check('$name')"), '', "genie_check of $name $when");
	}
	return;
}

# what is in the metapage is padded where there is more
sub has_centre { my ($name) = @_; return sql("SELECT octet_length(parameters) = 128 FROM genie_index_info('$name')"); }

# ---- learned by merges, after crashes before the flip ----

sql("CREATE INDEX t_$_ ON t USING genie (x genie_${_}_exact_ops) WITH (pending_limit = 64)") for @metrics;
sql('INSERT INTO t (x) SELECT vec(g) FROM generate_series(1, 200) g');
sql("SELECT genie_merge('t_$_')") for @metrics;
same($primary, 'of an untrained index', map { "t_$_" } @metrics);
is(sql(q{SELECT parameters IS NULL FROM genie_index_info('t_l2')}), 't', 'which has learned nothing yet');
sql('INSERT INTO t (x) SELECT vec(g) FROM generate_series(201, 300) g');
foreach my $point (qw(segment-page segment-before-root flip-before))
{
	$primary->psql('postgres', "SET genie.fault_action = 'crash'; SET genie.fault_point = '$point'; SELECT genie_merge('t_l2')");
	restarted($primary);
	is(sql(q{SELECT parameters IS NULL FROM genie_index_info('t_l2')}), 't', "nothing is learned after a crash at $point");
	same($primary, "after a crash at $point", 't_l2');
}
isnt($primary->psql('postgres', q{SET genie.fault_action = 'error'; SET genie.fault_point = 'flip-before'; SELECT genie_merge('t_l2')}), 0, 'an error before the flip');
cmp_ok(sql(q{SELECT unreachable_pages FROM genie_index_info('t_l2')}), '>', 0, 'leaves pages');
same($primary, 'after an error before the flip', 't_l2');
sql("SELECT genie_merge('t_$_')") for @metrics;
is(has_centre("t_$_"), 't', "a merge learns the centre, $_") for @metrics;
sql('VACUUM t');
is(sql(q{SELECT unreachable_pages FROM genie_index_info('t_l2')}), 0, 'VACUUM frees them');
same($primary, 'after the first merge', map { "t_$_" } @metrics);

# ---- rows change, drift, and a standby ----

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
sql('INSERT INTO t (x) SELECT vec(g) FROM generate_series(301, 3000) g');
sql('UPDATE t SET x = vec(id + 7000), changed = id WHERE id % 11 = 3');
same($primary, 'after changes', map { "t_$_" } @metrics);
sql('INSERT INTO t (x) SELECT vec(g) FROM generate_series(100001, 101500) g');
sql('INSERT INTO t (x) SELECT NULL FROM generate_series(1, 5) g');
sql('DELETE FROM t WHERE id % 7 = 1');
sql('VACUUM t');
same($primary, 'after a drift', map { "t_$_" } @metrics);
catch_up($primary, $standby);
same($standby, 'on the standby', map { "t_$_" } @metrics);
is($primary->psql('postgres', q{SET enable_seqscan = off; SELECT id FROM t ORDER BY x <-> '{1,2}'}), 3, 'a query of another length is an error');

# ---- learned by a build: fewer rows are visited ----

sql("CREATE INDEX t_${_}_built ON t USING genie (x genie_${_}_exact_ops)") for @metrics;
sql('VACUUM t');
sql('CREATE INDEX t_l2_small ON t USING genie ((x[1:4]) genie_l2_exact_ops)');
is(has_centre('t_l2_small'), 'f', 'no centre is learned where values are no finer by it');
sql('DELETE FROM t WHERE x[5] < 0');
sql("REINDEX INDEX t_${_}_built") for @metrics;
sql('VACUUM t');
same($primary, 'of built indexes', map { "t_${_}_built" } @metrics);
is(has_centre("t_${_}_built"), 't', "a build learns the centre, $_") for @metrics;
sub visited
{
	my ($op, $first) = @_;
	my $n = sql("SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM t ORDER BY x $op vec($first) LIMIT 10) s; SELECT rows_visited FROM genie_last_scan()");
	return (split(/\n/, $n))[1];
}
sql("DROP INDEX t_$_, t_${_}_built") for @metrics;
sql("CREATE INDEX t_$_ ON t USING genie (x genie_${_}_exact_ops)") for qw(l1 l2);
cmp_ok(visited($operator{$_}, 5000), '<=', 20, "few rows are visited, $_") for qw(l1 l2);

# one row of 20 is out of the range of the others, by an element or by all
sql('INSERT INTO t (x) SELECT array_agg(y * 1000) FROM (SELECT g, unnest(vec(g)) AS y FROM generate_series(1, 60) g) s GROUP BY g');
sql('INSERT INTO t (x) SELECT (vec(g))[1:20] || (1e6 + g)::real || (vec(g))[22:40] FROM generate_series(1, 60) g');
sql('REINDEX INDEX t_l1');
sql('VACUUM t');
cmp_ok(visited('<+>', 5000), '<=', 20, 'rows out of the range are not visited');
same($primary, 'with rows out of the range', 't_l1');
is(sql(q{SELECT answers('index', 't_l1', '<+>', 0) = answers('table', 't_l1', '<+>', 0)}), 't', 'and from its middle');
sql('CREATE TABLE far (x real[])');
sql('INSERT INTO far SELECT x FROM t WHERE x[5] > 1000 OR x[21] > 1000 ORDER BY random() LIMIT 20');
my $far = q{SELECT count(*), md5(string_agg(md5, '' ORDER BY x)) FROM (SELECT far.x, (SELECT md5(string_agg(d::text, ' ')) FROM (SELECT t.x <+> far.x AS d FROM t ORDER BY t.x <+> far.x LIMIT 10) a) FROM far) b};
is(sql("SET enable_seqscan = off; $far"), sql("SET enable_indexscan = off; $far"), 'queries out of the range');

# ---- three dimensions of 768 are 50 times wider than the others ----

sql(<<'SQL');
CREATE FUNCTION wide(i int) RETURNS real[] LANGUAGE sql VOLATILE AS $$
	SELECT array_agg(((random() + random() + random() + random() - 2) * CASE WHEN j IN (7, 263, 519) THEN 50 ELSE 1 END)::real ORDER BY j) FROM generate_series(1, 768) j $$;
CREATE TABLE wide AS SELECT i AS id, wide(i) AS x FROM generate_series(1, 20000) i;
CREATE TABLE wide_queries AS SELECT i AS id, wide(i) AS q FROM generate_series(1, 20) i;
-- queries of lengths from 700 to 1000 but 768 that are not refused
CREATE FUNCTION not_refused(op text) RETURNS int LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	n int = 0;
BEGIN
	FOR length IN 700 .. 1000 LOOP
		CONTINUE WHEN length = 768;
		BEGIN
			EXECUTE format('SELECT id FROM wide ORDER BY x %s array_fill(1::real, ARRAY[%s]) LIMIT 1', op, length);
			n = n + 1;
		EXCEPTION WHEN data_exception THEN NULL;
		END;
	END LOOP;
	RETURN n;
END $$;
SQL

# of each query, in the order of the scan
sub wide_answers
{
	my ($op, $order) = @_;
	return "SELECT md5(string_agg(a, ' ' ORDER BY id)) FROM (SELECT q.id, (SELECT string_agg(ctid || ' ' || d, ',' ORDER BY n) FROM (SELECT *, row_number() OVER () AS n FROM (SELECT ctid, x $op q AS d FROM wide ORDER BY x $op q $order LIMIT 10) a) a) AS a FROM wide_queries q) s";
}
sub wide_same
{
	my ($op, $when) = @_;
	my $by_index = sql('SET enable_seqscan = off; ' . wide_answers($op, ''));
	is($by_index, sql('SET enable_indexscan = off; ' . wide_answers($op, ', ctid')), "wide dimensions: the rows of a sequential scan by $op $when");
	return;
}
foreach my $metric (@metrics)
{
	my $op = $operator{$metric};
	sql("CREATE INDEX wide_$metric ON wide USING genie (x genie_${metric}_exact_ops)");
	sql('VACUUM wide');
	wide_same($op, 'built');
	my $n = sql('SET enable_seqscan = off; SELECT 1 FROM (' . wide_answers($op, '') . ') s; SELECT sum(rows_visited) / 20 FROM genie_last_scan()');
	cmp_ok((split(/\n/, $n))[1], '<=', 200, "wide dimensions: at most 1 % of the rows are visited by $op");
	is(sql("SELECT not_refused('$op')"), 0, "wide dimensions: queries of other lengths are refused by $op");
}
cmp_ok(sql(q{SELECT pg_relation_size('wide_l1')}), '<', sql(q{SELECT pg_relation_size('wide_l2')}) * 1.25, 'which costs l1 few bytes');
sql('INSERT INTO wide SELECT 20000 + i, wide(i) FROM generate_series(1, 300) i');
sql('INSERT INTO wide SELECT 20300 + i, (SELECT array_agg(e * 100) FROM unnest(wide(i)) e) FROM generate_series(1, 20) i');
sql('INSERT INTO wide_queries SELECT id, x FROM wide WHERE id > 20310');
wide_same('<+>', 'with pending rows');
sql(q{SELECT genie_merge('wide_l1')});
wide_same('<+>', 'after a merge');
is(sql(q{SELECT * FROM genie_check('wide_l1')}), '', 'genie_check of it');
is(sql(q{SELECT count(*) FROM genie_search('wide_l1', ARRAY(SELECT q FROM wide_queries LIMIT 1), 10)}), 10, 'a call');
sql('DROP TABLE wide');

# ---- VACUUM moves its page ----

sql('DELETE FROM t WHERE x[5] > 1000 OR x[21] > 1000');
sql('DROP TABLE far; DROP INDEX t_l1, t_l2');
sql('CREATE INDEX t_l2 ON t USING genie (x genie_l2_exact_ops) WITH (pending_limit = 64)');
sql('INSERT INTO t (x) SELECT vec(g) FROM generate_series(1, 6000) g');
my $before = sql(q{SELECT pg_relation_size('t_l2')});
sql('DELETE FROM t WHERE id % 10 > 0');
sql('VACUUM t') for 1 .. 3;
cmp_ok(sql(q{SELECT pg_relation_size('t_l2')}), '<', $before / 2, 'VACUUM makes the file shorter');
is(has_centre('t_l2'), 't', 'the centre is there still');
same($primary, 'after pages have moved', 't_l2');
catch_up($primary, $standby);
same($standby, 'on the standby after pages have moved', 't_l2');

# ---- an approximate index keeps it when it trains again (rows that left the range of l1 have one of their own) ----

foreach my $metric (qw(l1 l2))
{
	my $op = $operator{$metric};
	sql(<<"SQL");
DROP TABLE t;
CREATE TABLE t (id serial, x real[], changed int) WITH (autovacuum_enabled = off);
CREATE INDEX t_$metric ON t USING genie (x genie_${metric}_ops) WITH (pending_limit = 64);
INSERT INTO t (x) SELECT vec(g, 0.001) FROM generate_series(1, 400) g;
SELECT genie_merge('t_$metric');
SQL
	my $learned = has_centre("t_$metric");
	sql("INSERT INTO t (x) SELECT vec(g) FROM generate_series(1, 4000) g");
	sql('VACUUM t');
	is(sql("SELECT training FROM genie_index_info('t_$metric')") . " $learned " . has_centre("t_$metric"), 'fits, trained again t t', "an approximate index has learned again, $metric");
	my $ids = "SELECT string_agg(id::text, ',' ORDER BY n) FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM t ORDER BY x $op vec(%d)%s LIMIT 20) s) s";
	foreach my $query (5, 500, 5000)
	{
		my $by_table = sql('SET enable_indexscan = off; ' . sprintf($ids, $query, ', ctid'));
		is(sql('SET enable_seqscan = off; SET genie.strict_order = on; ' . sprintf($ids, $query, '')), $by_table, "strict order of query $query, $metric");
	}
	is(sql("SELECT * FROM genie_check('t_$metric')"), '', "genie_check of it, $metric");
}

# ---- damage ----

sql('DROP INDEX t_l2; CREATE INDEX t_l2 ON t USING genie (x genie_l2_exact_ops)');
my $file = $primary->data_dir . '/' . sql(q{SELECT pg_relation_filepath('t_l2')});
my $n_blocks = sql(q{SELECT pg_relation_size('t_l2') / 8192});
sql('CREATE EXTENSION pageinspect');
# the special area ends with stamp, next, kind 4 (DATA), detail 8 (LEARNED)
my $block = sql(q{SELECT b FROM generate_series(0, } . ($n_blocks - 1) . q{) b, get_raw_page('t_l2', b) p WHERE get_byte(p, 8188) = 4 AND get_byte(p, 8189) = 8});
like($block, qr/^\d+$/, 'the centre has a page');
$primary->stop;
open(my $handle, '+<:raw', $file) or die $!;
seek($handle, $block * 8192 + 40, 0);
print $handle 'damage';
close($handle);
$primary->start;
my ($rc, $out, $err) = $primary->psql('postgres', q{SET enable_seqscan = off; SELECT id FROM t ORDER BY x <-> vec(3) LIMIT 1});
like($err, qr/ERROR:  index "t_l2" is damaged at block $block.*\n?.*HINT:.*REINDEX/s, 'a scan reports its damage');
like(sql(q{SELECT * FROM genie_check('t_l2')}), qr/^$block\|.*checksum/m, 'genie_check, too');
sql('REINDEX INDEX t_l2');
same($primary, 'after REINDEX', 't_l2');

$standby->stop;
$primary->stop;
done_testing();
