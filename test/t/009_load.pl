# Many clients at once insert, update, delete, merge, vacuum and rebuild, while others compare index scans with
# sequential scans in one snapshot and run genie_check; then the server is stopped at once under the same load.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('load', conf => "autovacuum = on\nautovacuum_naptime = 1s\nautovacuum_vacuum_threshold = 50\n");
create_table($node, 1500, 0.9);
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION must_agree(seed float8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	difference text;
BEGIN
	FOR difference IN SELECT * FROM differences(2, seed) LOOP
		RAISE 'the index disagrees with the table: %', difference;
	END LOOP;
END $$;
-- REINDEX CONCURRENTLY may take the index away between its name and its pages
CREATE FUNCTION must_be_sound(name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	bad record;
BEGIN
	FOR bad IN SELECT * FROM genie_check(name::regclass) LOOP
		RAISE 'index "%" block %: %', name, bad.block, bad.violation;
	END LOOP;
	PERFORM genie_index_info(name::regclass);
EXCEPTION WHEN internal_error THEN
	IF SQLERRM NOT LIKE 'could not open relation%' THEN
		RAISE;
	END IF;
END $$;
CREATE FUNCTION do_merge(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM genie_merge(name::regclass);
EXCEPTION WHEN internal_error THEN
	IF SQLERRM NOT LIKE 'could not open relation%' THEN
		RAISE;
	END IF;
END $$;
SQL

my %scripts = (
	insert => [ 10, "INSERT INTO t SELECT random_set(300, 12), ARRAY['word ' || i], i FROM generate_series(1, 20) i;" ],
	long => [ 1, "INSERT INTO t SELECT array_agg(i), '{long}', 7 FROM generate_series(1, 4000) i;" ],
	abort => [ 2, "BEGIN;\nINSERT INTO t SELECT random_set(300, 12), ARRAY['word ' || i], i FROM generate_series(1, 20) i;\nROLLBACK;" ],
	subtransaction => [ 2, "BEGIN;\nINSERT INTO t VALUES ('{1,2}', '{a}', 1);\nSAVEPOINT a;\nINSERT INTO t VALUES ('{1,3}', '{b}', 1);\nROLLBACK TO a;\nCOMMIT;" ],
	update => [ 10, "UPDATE t SET x = x || :n, note = :n WHERE ctid = (SELECT ctid FROM t WHERE note >= :n ORDER BY note LIMIT 1);" ],
	delete => [ 6, "DELETE FROM t WHERE ctid IN (SELECT ctid FROM t WHERE note >= :n LIMIT 30 FOR UPDATE SKIP LOCKED);" ],
	query => [ 10, "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT must_agree(:n / 3000.0);\nCOMMIT;" ],
	check => [ 3, "SELECT must_be_sound('t_x'), must_be_sound('t_tuple');" ],
	merge => [ 2, "SELECT do_merge('t_x');" ],
	vacuum => [ 1, "VACUUM t;" ]);

# ---- all at once ----

my $load = start_load($node, 20, 8, %scripts);
my $rebuilds = start_sql($node, map { ('REINDEX INDEX CONCURRENTLY t_x', 'SELECT pg_sleep(1)', 'REINDEX INDEX t_tuple', 'SELECT pg_sleep(1)') } 1 .. 5);
$load->{run}->finish;
is($load->{run}->result(0), 0, 'no client failed') or diag($load->{out});
ok(finish_sql($rebuilds), 'no rebuild failed') or diag($rebuilds->{err});
my ($n) = $load->{out} =~ /number of transactions actually processed: (\d+)/;
note($load->{out});
cmp_ok($n, '>', 100, 'clients worked');
sound($node, 'after the load', 20);
$node->safe_psql('postgres', 'ALTER TABLE t SET (autovacuum_enabled = off)');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP on) t');	# else VACUUM passes a few dead rows over
sound($node, 'after the load and VACUUM', 20);
foreach my $index ('t_x', 't_tuple')
{
	is(info($node, $index, 'unreachable_pages'), 0, "no unreachable page in $index");
	is(info($node, $index, 'objects - tombstones + pending_rows'), $node->safe_psql('postgres', 'SELECT count(*) FROM t'),
		"$index has as many live entries as the table has rows");
}
$node->safe_psql('postgres', 'ALTER TABLE t RESET (autovacuum_enabled)');

# ---- the server stops under load ----

foreach my $crash (1 .. 4)
{
	$load = start_load($node, 60, 6, %scripts);
	sleep(1 + $crash % 3);
	$node->stop('immediate');
	$load->{run}->finish;
	unlike($load->{out}, qr/disagrees|block \d+:/, "no client found a difference before crash $crash");
	$node->start;
	sound($node, "after crash $crash under load", 12);
}
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP on) t');	# else VACUUM passes a few dead rows over
sound($node, 'after VACUUM', 12);
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|disagrees|is damaged/, 'nothing worse in the log');

done_testing();
