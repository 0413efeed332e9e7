# Distances while many clients write, merge and vacuum: an index scan returns the rows of a sequential scan of the same snapshot.
# Then a backend is killed in the middle of such a scan, and the server stops immediately under the load.
#
# Two tables, of texts by edit distance and of sets by Jaccard distance.  Their values are planted near each other (GenieRandom), so that
# answers are dense with rows that others change meanwhile.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieRandom;
use GenieTest qw(start_sql finish_sql start_load wait_until restarted);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = random_node('distance_load', 34061);
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = on
autovacuum_naptime = 1s
autovacuum_vacuum_threshold = 50
restart_after_crash = on
log_min_messages = warning
log_statement = none
CONF
$node->restart;
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE texts (id serial, x text, revision int DEFAULT 0);
CREATE TABLE sets (id serial, x int[], revision int DEFAULT 0);
CREATE FUNCTION new_text(seed bigint) RETURNS text LANGUAGE sql AS $$ SELECT CASE WHEN seed % 40 > 0 THEN planted_text(seed, 40, 12, 'abcdefghié') END $$;
CREATE FUNCTION new_set(seed bigint) RETURNS int[] LANGUAGE sql AS $$ SELECT CASE WHEN seed % 40 > 0 THEN planted_array(seed, 40, 12, 300) END $$;
INSERT INTO texts (x) SELECT new_text(g) FROM generate_series(1, 1500) g;
INSERT INTO sets (x) SELECT new_set(g) FROM generate_series(1, 1500) g;
CREATE INDEX ON texts (revision);
CREATE INDEX ON sets (revision);
CREATE INDEX texts_x ON texts USING genie (x genie_edit_ops (n = 2)) WITH (pending_limit = 64);
CREATE INDEX sets_x ON sets USING genie (x) WITH (pending_limit = 64);

CREATE FUNCTION disagreements(seed bigint) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT compare_distance('texts', 'true', 40, format('x <~> %L', planted_text(seed, 40, 12, 'abcdefghié')))
	UNION ALL SELECT compare_condition('texts', format('x @& genie_edit_query(%L, %s)', planted_text(seed, 40, 12, 'abcdefghié'), seed % 5))
	UNION ALL SELECT compare_distance('sets', 'true', 40, format('x <%%> %L', planted_array(seed, 40, 12, 300)))
	UNION ALL SELECT compare_distance('sets', format('x @& genie_jaccard_query(%L::int[], %s)', planted_array(seed, 40, 12, 300), r(seed, 1)), NULL,
		format('x <%%> %L', planted_array(seed + 1, 40, 12, 300)))
$$;
CREATE FUNCTION must_agree(seed bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	difference text;
BEGIN
	FOR difference IN SELECT * FROM disagreements(seed) LOOP
		RAISE 'the index disagrees with the table: %', difference;
	END LOOP;
END $$;
SQL

my %scripts = (
	insert => [ 10, "INSERT INTO texts (x) SELECT new_text(:n * 20 + i) FROM generate_series(1, 20) i;\nINSERT INTO sets (x) SELECT new_set(:n * 20 + i) FROM generate_series(1, 20) i;" ],
	abort => [ 2, "BEGIN;\nINSERT INTO texts (x) SELECT new_text(:n * 20 + i) FROM generate_series(1, 20) i;\nROLLBACK;" ],
	update_text => [ 8, "UPDATE texts SET x = new_text(:n), revision = revision + 1 WHERE ctid = (SELECT ctid FROM texts WHERE id >= :n LIMIT 1);" ],
	update_set => [ 8, "UPDATE sets SET x = x || :n, revision = revision + 1 WHERE ctid = (SELECT ctid FROM sets WHERE id >= :n LIMIT 1);" ],
	delete => [ 8, "DELETE FROM texts WHERE ctid IN (SELECT ctid FROM texts WHERE id >= :n LIMIT 20 FOR UPDATE SKIP LOCKED);\n"
		  . "DELETE FROM sets WHERE ctid IN (SELECT ctid FROM sets WHERE id >= :n LIMIT 20 FOR UPDATE SKIP LOCKED);" ],
	query => [ 8, "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT must_agree(:n);\nCOMMIT;" ],
	merge => [ 2, "SELECT genie_merge('texts_x'), genie_merge('sets_x');" ],
	vacuum => [ 1, "VACUUM texts;\nVACUUM sets;" ]);

sub agree
{
	my ($when) = @_;
	check("index and table agree $when", verify('load', 'texts'), verify('load', 'sets'), map { "SELECT disagreements($_);" } map { between(1, 100_000) } 1 .. 8);
	return;
}

my $load = start_load($node, 15, 6, %scripts);
$load->{run}->finish;
is($load->{run}->result(0), 0, 'no client failed') or diag($load->{out});
my ($n) = $load->{out} =~ /number of transactions actually processed: (\d+)/;
cmp_ok($n, '>', 100, 'clients worked');
agree('after the load');

# ---- a backend is killed while it reads rows by distance ----

my $long = 'SELECT count(*) FROM generate_series(1, 100000) g, LATERAL (SELECT id FROM texts ORDER BY x <~> new_text(g) LIMIT 50) t';
my $log_at = -s $node->logfile;
my $victim = start_sql($node, 'SET enable_seqscan = off', $long);
wait_until($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM generate\\_series%' AND state = 'active' AND query_start < now() - interval '1 s'");
my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM generate\\_series%' AND state = 'active' AND pid <> pg_backend_pid()");
kill('KILL', $pid);
restarted($node, $log_at);
ok(!finish_sql($victim), 'the killed session ended');
agree('after a backend was killed in a scan');

# ---- the server stops under load ----

foreach my $crash (1 .. 2)
{
	$load = start_load($node, 60, 6, %scripts);
	sleep(1 + $crash);
	$node->stop('immediate');
	$load->{run}->finish;
	unlike($load->{out}, qr/disagrees/, "no client found a difference before crash $crash");
	$node->start;
	agree("after crash $crash under load");
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|disagrees|is damaged/, 'nothing worse in the log');

$node->stop;
done_testing();
