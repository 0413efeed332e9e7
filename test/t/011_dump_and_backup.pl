# pg_dump and psql, pg_restore, COPY in both formats, a base backup and point-in-time recovery: the same objects, queries
# and answers.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('origin', init => { allows_streaming => 1, has_archiving => 1 });
create_table($node, 1500, 0.35);
$node->safe_psql('postgres', <<'SQL');
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE things (id int, object genie_object, query genie_query);
INSERT INTO things SELECT i,
	genie_tuple(i % 90, (ARRAY['sad', 'ok', 'happy']::mood[])[1 + i % 3], 'a "text" ' || i % 40, (i / 7.0)::numeric(9, 3), i::float8 / 3,
		date '2024-01-01' + i, md5((i % 50)::text)::uuid, repeat('long', i % 60), B'1011'::varbit, '1 day'::interval * i),
	CASE WHEN i % 40 > 0 THEN genie_tuple_query(int4range(i % 90, i % 90 + 8), ARRAY['sad', 'ok']::mood[], 'a "text" ' || i % 40,
		numrange(i, NULL), ARRAY[i, i + 1]::float8[], daterange('2024-02-01', NULL), NULL, 'longlong') END
	FROM generate_series(1, 800) i;
INSERT INTO things VALUES (0, NULL, NULL), (-1, '{}', '{}');
CREATE INDEX things_object ON things USING genie (object) WITH (pending_limit = 128);
CREATE TABLE parts (id int, x text[]) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (100) TO (1000);
CREATE INDEX ON parts USING genie (x) WITH (pending_limit = 64);
INSERT INTO parts SELECT i, ARRAY['a' || i % 10, 'b' || i % 7] FROM generate_series(1, 300) i;
SQL

# Everything about them that does not depend on where rows lie (the dump keeps their order).
my $answers = <<'SQL';
SET enable_seqscan = off;
SELECT md5(string_agg(things::text, E'\n' ORDER BY id)) FROM things;
SELECT id, md5(string_agg(found, ',')) FROM (SELECT q.id, f.id || ' ' || coalesce(f.d::text, '-') AS found FROM things q,
	LATERAL (SELECT id, object <&> q.query AS d FROM things ORDER BY object <&> q.query LIMIT 50) f WHERE q.id % 20 = 0 ORDER BY q.id, f.d, f.id) s GROUP BY id ORDER BY id;
SELECT count(*), sum(id) FROM things WHERE object @& '{1:int:[3,20)}@1';
SELECT md5(string_agg(note || ' ' || coalesce(d::text, '-'), ',')) FROM (SELECT note, x <&> '{1,2,3,4,5}' AS d FROM t ORDER BY x <&> '{1,2,3,4,5}') s;
SELECT id FROM parts ORDER BY x <&> '{a3,b4}' , id LIMIT 20;
SELECT objects - tombstones + pending_rows FROM genie_index_info('things_object');
SQL
$node->safe_psql('postgres', "SELECT genie_merge('things_object')");
my $original = $node->safe_psql('postgres', $answers);

sub same
{
	my ($where, $database, $how) = @_;
	is($where->safe_psql($database, $answers), $original, "the same answers $how");
	is($where->safe_psql($database, 'SELECT * FROM violations()'), '', "sound indexes $how");
	return;
}

# ---- dump ----

my $base = $node->basedir;
$node->command_ok([ 'pg_dump', '-f', "$base/first.sql", $node->connstr('postgres') ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE again TEMPLATE template0');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$base/first.sql", $node->connstr('again') ], 'restored with psql');
same($node, 'again', 'after pg_dump and psql');
is($node->safe_psql('again', 'SELECT * FROM differences(20, 0.5)'), '', 'indexes and tables agree there');
$node->command_ok([ 'pg_dump', '-f', "$base/second.sql", $node->connstr('again') ], 'pg_dump of the copy');
my ($first, $second) = map { slurp_file("$base/$_.sql") =~ s/^\\(un)?restrict .*\n//mgr } 'first', 'second';
is($second, $first, 'a dump of the copy is the dump of the original');
like($first, qr/CREATE INDEX things_object ON public\.things USING genie \(object\) WITH \(pending_limit='128'\);/,
	'the dump has the index with its option');

$node->command_ok([ 'pg_dump', '-Fc', '-f', "$base/first.dump", $node->connstr('postgres') ], 'pg_dump -Fc');
$node->safe_psql('postgres', 'CREATE DATABASE parallel TEMPLATE template0');
$node->command_ok([ 'pg_restore', '-j', '2', '-d', $node->connstr('parallel'), "$base/first.dump" ], 'pg_restore with two jobs');
same($node, 'parallel', 'after pg_restore');

# ---- COPY ----

foreach my $format ('text', 'csv', 'binary')
{
	$node->safe_psql('postgres', "COPY things TO '$base/things.$format' (FORMAT $format)");
	$node->safe_psql('again', "TRUNCATE things; COPY things FROM '$base/things.$format' (FORMAT $format); SELECT genie_merge('things_object')");
	same($node, 'again', "after COPY in format $format");
}

# ---- a database copied as files ----

$node->safe_psql('postgres', "CREATE DATABASE copied TEMPLATE again STRATEGY $_; ALTER DATABASE copied RENAME TO copied_$_") foreach 'wal_log', 'file_copy';
same($node, "copied_$_", "in a database copied by $_") foreach 'wal_log', 'file_copy';

# ---- backup, and recovery up to a moment ----

# the backup is taken while pages change
my $load = start_sql($node, map { ("SELECT add_rows(300, 0.1$_)", "DELETE FROM t WHERE note % 5 = $_ % 5", "SELECT genie_merge('t_x')", 'VACUUM t') } 1 .. 8);
$node->backup('moving');
ok(finish_sql($load), 'changes during the backup');
$node->safe_psql('postgres', "SELECT add_rows(1000, 0.7); SELECT genie_merge('t_x'); SELECT add_rows(100, 0.8)");
my $at_moment = $node->safe_psql('postgres', 'SELECT md5(array_agg(t)::text) FROM t');
$node->safe_psql('postgres', "SELECT pg_create_restore_point('moment')");
$node->safe_psql('postgres', 'DELETE FROM t WHERE note % 2 = 0');
$node->safe_psql('postgres', 'VACUUM t; SELECT add_rows(2500, 0.9)');
$node->safe_psql('postgres', 'SELECT pg_switch_wal()');
my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($node, 'moving', has_restoring => 1, standby => 0);
$restored->append_conf('postgresql.conf', "recovery_target_name = 'moment'\nrecovery_target_action = promote\n");
$restored->start;
wait_until($restored, 'SELECT NOT pg_is_in_recovery()');
is($restored->safe_psql('postgres', 'SELECT md5(array_agg(t)::text) FROM t'), $at_moment, 'the table as it was at the moment');
sound($restored, 'after point-in-time recovery', 20);
$restored->safe_psql('postgres', 'SELECT add_rows(2500, 0.95); DELETE FROM t WHERE note % 3 = 1');
$restored->safe_psql('postgres', 'VACUUM t');
sound($restored, 'after changes on the restored server', 20);
same($restored, 'again', 'on the restored server');

done_testing();
