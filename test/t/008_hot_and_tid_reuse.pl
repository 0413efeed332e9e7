# Rows change under the TIDs of index entries: by HOT updates, by VACUUM's redirects, and because other rows take line pointers
# that VACUUM frees.
#
# For a row updated in place the index holds the TID of its chain's root, and ties are ordered by those TIDs.  root_of() finds
# the root in the page (pageinspect), so that a sequential scan can be sorted in exactly that order.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = genie_node('hot');
create_table($node, 10, 0.8);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pageinspect;

CREATE TABLE h (id int, x int[], note int) WITH (fillfactor = 50);
SELECT setseed(0.25);
INSERT INTO h SELECT i, random_set(100, 10), 0 FROM generate_series(1, 3000) i;
CREATE INDEX h_x ON h USING genie (x) WITH (pending_limit = 64);

-- for every tuple of the table: its chain's root; 8192 is HEAP_HOT_UPDATED and so on, see htup_details.h
CREATE FUNCTION roots() RETURNS TABLE (member tid, root tid) LANGUAGE sql AS $$
	WITH RECURSIVE items AS (
		SELECT b, lp::int AS lp, lp_flags, lp_off::int AS lp_off, t_infomask2, t_ctid, t_xmin, t_xmax
		FROM generate_series(0, (SELECT pg_relation_size('h') / 8192 - 1)::int) b, heap_page_items(get_raw_page('h', b))
	), chain (b, lp, root, xmin) AS (
		SELECT b, CASE WHEN lp_flags = 2 THEN lp_off ELSE lp END, lp, NULL::xid FROM items
			WHERE lp_flags = 2 OR (lp_flags = 1 AND t_infomask2 & 32768 = 0)
		UNION ALL
		SELECT c.b, (i.t_ctid::text::point)[1]::int, c.root, i.t_xmax FROM chain c JOIN items i ON i.b = c.b AND i.lp = c.lp
			WHERE i.lp_flags = 1 AND i.t_infomask2 & 16384 <> 0 AND (c.xmin IS NULL OR c.xmin = i.t_xmin)
	)
	SELECT format('(%s,%s)', b, lp)::tid, format('(%s,%s)', b, root)::tid FROM chain JOIN items USING (b, lp)
		WHERE xmin IS NULL OR xmin = t_xmin $$;

CREATE FUNCTION ordered_by_index(q int[], k int) RETURNS text[] LANGUAGE sql SET enable_seqscan = off SET enable_sort = off AS
	$$ SELECT array_agg(row) FROM (SELECT ctid || ' ' || id || ' ' || coalesce((x <&> q)::text, '-') AS row FROM h ORDER BY x <&> q LIMIT k) s $$;
CREATE FUNCTION ordered_by_root(q int[], k int) RETURNS text[] LANGUAGE sql SET enable_indexscan = off AS
	$$ SELECT array_agg(row) FROM (SELECT h.ctid || ' ' || id || ' ' || coalesce((x <&> q)::text, '-') AS row
		FROM h JOIN roots() ON member = h.ctid ORDER BY x <&> q, root LIMIT k) s $$;
SQL

sub in_order
{
	my ($when) = @_;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM h LEFT JOIN roots() ON member = h.ctid WHERE root IS NULL'), 0,
		"every row has a root $when");
	foreach my $q ('{1,2,3,4,5}', '{40,50,60,70,80,90}', '{}')
	{
		foreach my $k (10, 5000)
		{
			is($node->safe_psql('postgres', "SELECT ordered_by_index('$q', $k) IS NOT DISTINCT FROM ordered_by_root('$q', $k)"), 't',
				"$k rows for $q in order $when");
		}
	}
	is($node->safe_psql('postgres', "SELECT * FROM genie_check('h_x')"), '', "genie_check finds nothing $when");
	return;
}

sub hot_updates
{
	return $node->safe_psql('postgres', "SELECT pg_stat_force_next_flush(); SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'h'");
}

# ---- HOT updates ----

in_order('at first');
foreach my $round (1 .. 3)
{
	$node->safe_psql('postgres', "UPDATE h SET note = note + 1 WHERE id % 3 = $round % 3");
	in_order("after HOT updates $round");
}
my ($hot) = hot_updates() =~ /(\d+)\s*\z/;
cmp_ok($hot, '>', 1000, 'updates were HOT');
$node->safe_psql('postgres', 'VACUUM h');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM roots() WHERE member <> root'), '>', 500, 'VACUUM left redirects');
in_order('after VACUUM made redirects');
$node->safe_psql('postgres', 'UPDATE h SET note = note + 1 WHERE id % 4 = 1');
in_order('after HOT updates of redirected rows');
$node->safe_psql('postgres', 'REINDEX INDEX h_x');
in_order('after REINDEX over HOT chains');
$node->safe_psql('postgres', 'UPDATE h SET x = x || 3 WHERE id % 5 = 1');
in_order('after updates of the indexed column');
$node->safe_psql('postgres', "BEGIN; UPDATE h SET note = note + 1; UPDATE h SET x = x || 4 WHERE id % 5 = 2; ROLLBACK");
in_order('after aborted updates');
$node->safe_psql('postgres', "SELECT genie_merge('h_x'); UPDATE h SET note = note + 1 WHERE id % 2 = 1");
$node->safe_psql('postgres', 'DELETE FROM h WHERE id % 6 = 1');
in_order('after deletes of updated rows');
$node->safe_psql('postgres', 'VACUUM h');
in_order('after VACUUM');

# A scan that began before an update sees the old member of the chain.
my $session = $node->background_psql('postgres');
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $before = $session->query_safe("SELECT md5(ordered_by_index('{1,2,3}', 5000)::text)");
$session->query_safe("SET enable_seqscan = off; DECLARE c CURSOR FOR SELECT id, note, x <&> '{1,2,3}' FROM h ORDER BY x <&> '{1,2,3}'");
my $some = $session->query_safe('FETCH 5 FROM c');
$node->safe_psql('postgres', 'UPDATE h SET note = -1; UPDATE h SET x = NULL WHERE id % 2 = 0');
$node->safe_psql('postgres', 'VACUUM h');
is($session->query_safe("SELECT md5(ordered_by_index('{1,2,3}', 5000)::text)"), $before, 'an old snapshot sees the old rows');
my @rest = split(/\n/, $session->query_safe('FETCH ALL FROM c'));
is(scalar(@rest) + 5, $session->query_safe('SELECT count(*) FROM h'), 'a cursor gives all of its rows');
is(scalar(grep { /\|-1\|/ } @rest), 0, 'none as it is now');
$session->query_safe('COMMIT');
$session->quit;
in_order('after updates under a snapshot');

# ---- TIDs used again ----

# Entries of the old rows and of the new ones are in the pending list or in segments, in each combination.
foreach my $old ('pending', 'merged')
{
	foreach my $new ('pending', 'merged')
	{
		foreach my $how ('DELETE', 'UPDATE', 'ROLLBACK')
		{
			my $name = "$how, old rows $old, new ones $new";
			$node->safe_psql('postgres', 'TRUNCATE t; SELECT add_rows(500, 0.2)');
			$node->safe_psql('postgres', "SELECT genie_merge('t_x'); SELECT genie_merge('t_tuple')");
			$node->safe_psql('postgres', 'ALTER INDEX t_x SET (pending_limit = 100000); ALTER INDEX t_tuple SET (pending_limit = 100000)');
			if ($how eq 'ROLLBACK')
			{
				$node->safe_psql('postgres', "BEGIN; SELECT add_rows(400, 0.3); ROLLBACK");
			}
			else
			{
				$node->safe_psql('postgres', 'SELECT add_rows(400, 0.3)');
			}
			$node->safe_psql('postgres', "SELECT genie_merge('t_x'); SELECT genie_merge('t_tuple')") if $old eq 'merged';
			my $tids = $how eq 'ROLLBACK' ? '' : $node->safe_psql('postgres', 'SELECT ctid FROM t OFFSET 500');
			$node->safe_psql('postgres', 'DELETE FROM t WHERE ctid IN (SELECT ctid FROM t OFFSET 500)') if $how eq 'DELETE';
			$node->safe_psql('postgres', "UPDATE t SET x = '{299}', note = note + 1 WHERE ctid IN (SELECT ctid FROM t OFFSET 500)") if $how eq 'UPDATE';
			$node->safe_psql('postgres', 'VACUUM (TRUNCATE off) t');
			sound($node, "after VACUUM ($name)");
			$node->safe_psql('postgres', 'SELECT add_rows(900, 0.4)');
			if ($tids ne '')
			{
				my $list = join(',', map { "'$_'" } split(/\n/, $tids));
				cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM t WHERE ctid IN ($list)"), '>', 300, "TIDs are used again ($name)");
			}
			sound($node, "with new rows in their place, pending ($name)");
			next if $new eq 'pending';
			$node->safe_psql('postgres', "SELECT genie_merge('t_x'); SELECT genie_merge('t_tuple')");
			sound($node, "with new rows in their place, merged ($name)");
		}
	}
}

done_testing();
