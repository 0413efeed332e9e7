# Vectors in the pending list come first in a scan.  On a standby, replay may merge them into a segment and use the pages
# that a scan reads again.  The scan goes on, and gives every row once: those that it has taken from the list are passed
# over in the segment.  So it is for a scan that began when the index had not learned.
#
# A batch search that reads a list whose pages have another owner begins its piece again.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = genie_node('primary', init => { allows_streaming => 1, extra => [ '--no-locale', '--encoding=UTF8' ] });
$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION genie;
CREATE EXTENSION pageinspect;
CREATE FUNCTION vec(i int) RETURNS real[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
	AS $$SELECT array_agg((sin(i * 0.37 * j) * (1 + i % 5) + cos(j * (i % 83)))::real) FROM generate_series(1, 20) j$$;
CREATE TABLE t (id serial, x real[]) WITH (autovacuum_enabled = off);
INSERT INTO t (x) SELECT vec(g) FROM generate_series(1, 4000) g;
CREATE INDEX t_x ON t USING genie (x genie_l2_ops (hashes = 192)) WITH (pending_limit = 65536);
INSERT INTO t (x) SELECT vec(g) FROM generate_series(4001, 4800) g;
INSERT INTO t (x) VALUES (NULL);
CREATE TABLE young (id serial, x real[]) WITH (autovacuum_enabled = off);
CREATE INDEX young_x ON young USING genie (x genie_l2_ops (hashes = 32)) WITH (pending_limit = 65536);
INSERT INTO young (x) SELECT vec(g) FROM generate_series(1, 200) g;
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\n");
$standby->start;

sub stamps
{
	my $index = shift;
	return grep { !/^0+$/ } split(/,/, $standby->safe_psql('postgres',
		qq{SELECT string_agg(encode(substr(get_raw_page('$index', b), 8177, 8), 'hex'), ',') FROM generate_series(1, (SELECT pg_relation_size('$index') / 8192 - 1)::int) b}));
}

# takes so many rows of a cursor, and later all others
my @cursors = map { { table => $_->[0], candidates => $_->[1], n => $_->[2] } } [ 't', 1, 1 ], [ 't', 1, 500 ], [ 't', 50, 10 ], [ 't', 50, 830 ], [ 't', 50, 2000 ], [ 'young', 50, 7 ];
foreach my $cursor (@cursors)
{
	my $session = $cursor->{session} = $standby->background_psql('postgres');
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$cursor->{rows} = $session->query_safe("SELECT count(*) FROM $cursor->{table}");
	$session->query_safe("SET enable_seqscan = off; SET enable_sort = off; SET work_mem = '64kB'; SET genie.worker = off; SET genie.candidates = $cursor->{candidates}");
	$session->query_safe("DECLARE c CURSOR FOR SELECT id FROM $cursor->{table} ORDER BY x <-> vec(4500)");
	$cursor->{got} = $session->query_safe("FETCH $cursor->{n} FROM c");
}
my $gate = $standby->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(714100)');
my $query = q{SELECT md5(string_agg(format('%s %s', query, round(distance::numeric, 3)), ';' ORDER BY n))
	FROM genie_search('t_x', (SELECT array_agg(vec(i)) FROM generate_series(1, 4800, 200) i), 5) WITH ORDINALITY s (query, tid, distance, n)};
my $search = start_sql($standby, 'SET genie.candidates = 4800', 'BEGIN ISOLATION LEVEL REPEATABLE READ', $query,
	q{SET genie.fault_point = 'batch-opened'}, q{SET genie.fault_action = 'wait'}, $query);
wait_until($standby, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");

my %before = map { $_ => [ stamps($_) ] } qw(t_x young_x);
foreach my $round (1 .. 3)
{
	$primary->safe_psql('postgres', qq{INSERT INTO t (x) SELECT vec(g + $round * 5000) FROM generate_series(1, 5000) g});
	$primary->safe_psql('postgres', qq{INSERT INTO young (x) SELECT vec(g + $round * 600) FROM generate_series(1, 600) g});
	$primary->safe_psql('postgres', qq{SELECT genie_merge('$_')}) for qw(t_x young_x t_x young_x);
}
$primary->wait_for_catchup($standby);
foreach my $index (qw(t_x young_x))
{
	my %after = map { $_ => 1 } stamps($index);
	is(join(' ', grep { $after{$_} } @{ $before{$index} }), '', "no page of $index is left");
}
foreach my $cursor (@cursors)
{
	my @ids = split(/\n/, $cursor->{got} . "\n" . $cursor->{session}->query_safe('FETCH ALL FROM c'));
	my %once = map { $_ => 1 } @ids;
	is(scalar(@ids) . ' ' . scalar(keys %once), "$cursor->{rows} $cursor->{rows}", "$cursor->{table}, $cursor->{candidates} candidates: each row once, $cursor->{n} of them before");
	$cursor->{session}->quit;
}
$gate->query_safe('SELECT pg_advisory_unlock(714100)');
ok(finish_sql($search), 'a batch search ends') or diag($search->{err});
my ($expected, $got) = split /\n/, $search->{out};
is($got, $expected, 'with the rows of its snapshot');
$gate->quit;
is($standby->safe_psql('postgres', qq{SELECT * FROM genie_check('$_')}), '', 'genie_check') for qw(t_x young_x);

$standby->stop;
$primary->stop;
done_testing();
