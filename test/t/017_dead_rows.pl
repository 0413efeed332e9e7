# Hints about dead rows (src/disk/genie_hint.h) where they could do harm: on a standby whose snapshots are older than the
# primary knows, in such a transaction after the promotion, and after a crash.
#
# With wal_log_hints, hints set on the primary arrive on the standby by images of pages.  The standby sends no feedback, so
# rows that its old transaction sees are dead on the primary.  Their pages have room, so that no search prunes them: replay
# of that would wait for the old transaction, and hints would never come.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = genie_node('primary', init => { allows_streaming => 1 }, conf => "wal_log_hints = on\nfull_page_writes = on\n");
$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION genie;
CREATE EXTENSION pageinspect;
CREATE TABLE dead (id int, a int[], filler char(1700) DEFAULT '');
INSERT INTO dead SELECT i, ARRAY[1, 2, 3, 100 + i % 5] FROM generate_series(1, 600) i;
INSERT INTO dead SELECT i, ARRAY[1, 200 + i % 5] FROM generate_series(601, 700) i;
CREATE INDEX dead_a ON dead USING genie (a);
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = off\nmax_standby_streaming_delay = -1\n");
$standby->start;

# the rows that match 3 times: by a scan, by a condition, by a batch
my $question = <<'SQL';
SELECT (SELECT count(*) FROM (SELECT id, a <&> ARRAY[1, 2, 3] AS matches FROM dead ORDER BY a <&> ARRAY[1, 2, 3] LIMIT 600) s WHERE matches = -3)
	|| ' ' || (SELECT count(*) FROM dead WHERE a @& genie_query(ARRAY[1, 2, 3], 3))
	|| ' ' || (SELECT count(*) FROM genie_search('dead_a', ARRAY[genie_query(ARRAY[1, 2, 3])], 600) WHERE match_count = 3)
SQL
my $by_index = 'SET enable_seqscan = off; SET enable_sort = off';

# pages of hints that have some: kind 4 (DATA), detail 6 (HINTS), version above 0
my $hinted = <<'SQL';
SELECT count(*) FROM (SELECT get_raw_page('dead_a', b) AS page FROM generate_series(1, (SELECT pg_relation_size('dead_a') / 8192 - 1)::int) b) s
WHERE get_byte(page, 8188) = 4 AND get_byte(page, 8189) = 6 AND substr(page, 29, 4) <> '\x00000000'
SQL

sub ask { my ($node) = @_; return $node->safe_psql('postgres', "$by_index; $question"); }

my $old = $standby->background_psql('postgres');
$old->query_safe($by_index);
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($old->query_safe($question), '600 600 600', 'a transaction on the standby sees the rows');

# the primary deletes them, and its searches give hints
$primary->safe_psql('postgres', 'CHECKPOINT; DELETE FROM dead WHERE id <= 600');
is($primary->safe_psql('postgres', $hinted), 0, 'there is no hint before a search');
is(ask($primary), '0 0 0', 'the primary sees none of them');
is($primary->safe_psql('postgres', $hinted), 1, 'the search has left hints');
is(ask($primary), '0 0 0', 'nor with hints');
catch_up($primary, $standby);
is($standby->safe_psql('postgres', $hinted), 1, 'the hints have come to the standby');
is($old->query_safe($question), '600 600 600', 'where the old transaction sees the rows nevertheless');
is(ask($standby), '0 0 0', 'and a new one does not');
is($old->query_safe($question), '600 600 600', 'whatever that one has done');

# promotion: the old transaction lives on, and hints count for those that begin now
$standby->promote;
is(ask($standby), '0 0 0', 'a transaction after the promotion does not see the rows') foreach 1 .. 2;
is($old->query_safe($question), '600 600 600', 'the one that began before it still does');
$old->query_safe('COMMIT');
is($old->query_safe($question), '0 0 0', 'until it ends');
$old->quit;
is($standby->safe_psql('postgres', "SELECT * FROM genie_check('dead_a')"), '', 'the index is sound after the promotion');

# rows that come in their places
$standby->safe_psql('postgres', 'VACUUM dead; INSERT INTO dead SELECT i, ARRAY[1, 2, 3] FROM generate_series(1, 600) i');
is(ask($standby), '600 600 600', 'new rows in their places are seen');

# a crash of the primary: with its hints on the disk, and without
foreach my $checkpoint (1, 0)
{
	$primary->safe_psql('postgres', 'VACUUM dead; INSERT INTO dead SELECT i, ARRAY[1, 2, 3] FROM generate_series(1, 600) i');
	$primary->safe_psql('postgres', "SELECT genie_merge('dead_a'); DELETE FROM dead WHERE id <= 300");
	is(ask($primary), '300 300 300', 'rows are deleted and given hints') foreach 1 .. 2;
	$primary->safe_psql('postgres', 'CHECKPOINT') if $checkpoint;
	$primary->stop('immediate');
	$primary->start;
	is(ask($primary), '300 300 300', 'the answer is the same after a crash');
	is($primary->safe_psql('postgres', "SELECT * FROM genie_check('dead_a')"), '', 'and the index is sound');
	$primary->safe_psql('postgres', 'DELETE FROM dead WHERE id <= 600');
	is(ask($primary), '0 0 0', 'all rows are deleted') foreach 1 .. 2;
}
$primary->safe_psql('postgres', 'VACUUM dead; INSERT INTO dead SELECT i, ARRAY[1, 2, 3] FROM generate_series(1, 600) i');
is(ask($primary), '600 600 600', 'new rows in their places are seen');

done_testing();
