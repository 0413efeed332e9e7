# GenieRandom: random tables for tests that compare an index with its table.
#
# It makes a server whose sessions have functions that compare scans and make random values, and scripts of random statements that
# print something only where there is a difference.  A table has columns id, x (or what the index is made of) and revision, and its index is TABLE_x; random changes set x anew,
# so that no row is updated in place and a row's ctid is the TID that the index holds.  Everything random follows from one seed, which is
# printed; GENIE_SEED repeats a run.
package GenieRandom;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(random_node pick between quoted quiet check change verify);

my ($node, $seed);

# The server; seed: where GENIE_SEED names none.
sub random_node
{
	my ($name, $default_seed) = @_;
	$seed = $ENV{GENIE_SEED} // $default_seed;
	srand($seed);
	diag("seed $seed (GENIE_SEED=$seed repeats this run)");

	$node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => [ '--no-locale', '--encoding=UTF8' ]);
	$node->append_conf('postgresql.conf', $ENV{GENIE_TEST_CONF} // '');
	$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\nshared_buffers = 64MB\njit = off\n");
	$node->start;
	$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION genie;

-- which states an index went through
CREATE TABLE seen (part text, segments int, pending bigint, tombstones bigint, tiles bigint);
CREATE FUNCTION see(part text, index regclass) RETURNS void LANGUAGE sql
	AS $$ INSERT INTO seen SELECT part, segments, pending_rows, tombstones, (objects + 65535) / 65536 FROM genie_index_info(index) $$;

-- The ids that a query returns, in its order, by a plan that must have the given kind of scan.
CREATE FUNCTION ids(scan text, query text) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
	result bigint[];
BEGIN
	PERFORM set_config('enable_seqscan', (scan = 'Seq Scan')::text, true),
		set_config('enable_indexscan', (scan = 'Index Scan')::text, true),
		set_config('enable_bitmapscan', (scan = 'Bitmap Index Scan')::text, true),
		set_config('enable_sort', (scan <> 'Index Scan')::text, true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	IF strpos(plan, scan) = 0 THEN
		RAISE EXCEPTION 'no % for %: %', scan, query, plan;
	END IF;
	EXECUTE format('SELECT array_agg(id) FROM (%s) s', query) INTO result;
	RETURN coalesce(result, '{}');
END $$;

CREATE FUNCTION differ(what text, a anyarray, b anyarray) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	IF a IS DISTINCT FROM b THEN
		RETURN NEXT (SELECT format('%s rows by index, %s by sequential scan, first difference at row %s: %s, expected %s: %s',
					cardinality(a), cardinality(b), i, a[i], b[i], what)
			FROM generate_series(1, greatest(cardinality(a), cardinality(b))) i WHERE a[i] IS DISTINCT FROM b[i] LIMIT 1);
	END IF;
END $$;

-- 0 <= r < 1, from a seed and a number
CREATE FUNCTION r(seed bigint, i int) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT AS
	$$ SELECT (hashint8extended($1, $2) & 16777215) / 16777216.0::float8 $$;

-- The value of a seed: one of so many bases, with up to 5 changes.  most: the length of most bases; now and then one is far longer.
CREATE FUNCTION planted_length(base bigint, most int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS
	$$ SELECT (r(base, -1) * CASE WHEN r(base, -2) < 0.02 THEN 40 * most ELSE most END)::int $$;

CREATE FUNCTION planted_array(seed bigint, bases int, most int, domain int) RETURNS int[] LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
	base bigint := (r(seed, -1) * bases)::int;
	elements int[] := ARRAY(SELECT (power(r(base, i), 2) * domain)::int FROM generate_series(1, planted_length(base, most)) i);
	changes int := (power(r(seed, -2), 2) * 6)::int;
BEGIN
	RETURN CASE WHEN r(seed, -3) < 0.5 THEN elements[1 + changes:] ELSE elements END
		|| ARRAY(SELECT (r(seed, i) * domain)::int FROM generate_series(1, changes * (r(seed, -4) < 0.7)::int) i);
END $$;

CREATE FUNCTION planted_text(seed bigint, bases int, most int, alphabet text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
	base bigint := (r(seed, -1) * bases)::int;
	letters CONSTANT text[] := string_to_array(alphabet, NULL);
	n CONSTANT int := cardinality(letters);
	result text := array_to_string(ARRAY(SELECT letters[1 + floor(r(base, i) * n)::int] FROM generate_series(1, planted_length(base, most)) i), '');
	place int;
BEGIN
	FOR i IN 1 .. (power(r(seed, -2), 2) * 6)::int LOOP
		place := 1 + floor(r(seed, i) * (1 + length(result)))::int;
		result := overlay(result PLACING CASE WHEN r(seed, 100 + i) < 0.7 THEN letters[1 + floor(r(seed, 200 + i) * n)::int] ELSE '' END
			FROM place FOR CASE WHEN r(seed, 300 + i) < 0.7 THEN 1 ELSE 0 END);
	END LOOP;
	RETURN result;
END $$;

-- A tree in brackets: each letter is a node, below the one before it, or, from "e" on, below one or two levels further up.
CREATE FUNCTION planted_tree(seed bigint, bases int, most int) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
	result text := '{root';
	depth int := 1;
	closed int;
	letter text;
BEGIN
	FOREACH letter IN ARRAY string_to_array(planted_text(seed, bases, most, 'abcdefgh'), NULL) LOOP
		closed := CASE WHEN letter < 'e' THEN 0 ELSE least(depth - 1, 1 + ascii(letter) % 2) END;
		result := result || repeat('}', closed) || '{' || letter;
		depth := depth - closed + 1;
	END LOOP;
	RETURN result || repeat('}', depth);
END $$;

-- a set of integers as an object of five dimensions
CREATE FUNCTION as_object(elements int[]) RETURNS genie_object LANGUAGE sql IMMUTABLE STRICT AS
	$$ SELECT ('{' || coalesce(string_agg(DISTINCT format('%s:int:%s', e % 5, e), ','), '') || '}')::genie_object FROM unnest(elements) e $$;

-- ties come in TID order; no row of the table may have been updated in place
CREATE FUNCTION compare_distance(tab text, condition text, "limit" int, VARIADIC order_by text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query CONSTANT text := format('SELECT id FROM %s WHERE %s ORDER BY %s', tab, condition, array_to_string(order_by, ', '));
	rest CONSTANT text := coalesce(' LIMIT ' || "limit", '');
BEGIN
	RETURN QUERY SELECT * FROM differ(query || rest, ids('Index Scan', query || rest), ids('Seq Scan', query || ', ctid' || rest));
END $$;

CREATE FUNCTION compare_condition(tab text, condition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query CONSTANT text := format('SELECT id FROM %s WHERE %s', tab, condition);
	scan text;
BEGIN
	FOREACH scan IN ARRAY ARRAY['Index Scan', 'Bitmap Index Scan'] LOOP
		CONTINUE WHEN scan = 'Index Scan' AND condition LIKE '% OR %';
		RETURN QUERY SELECT * FROM differ(scan || ': ' || query, ARRAY(SELECT unnest(ids(scan, query)) ORDER BY 1), ARRAY(SELECT unnest(ids('Seq Scan', query)) ORDER BY 1));
	END LOOP;
END $$;
SQL
	return $node;
}

sub pick { return $_[ int(rand(@_)) ]; }
sub between { my ($low, $high) = @_; return $low + int(rand($high - $low + 1)); }
sub quoted { return '$q$' . $_[0] . '$q$'; }
sub quiet { return ('\o /dev/null', @_, '\o'); }

# Runs a script of statements that print something only where there is a difference.
sub check
{
	my ($name, @script) = @_;
	my ($stdout, $stderr) = ('', '');
	my $started = time;
	return if $name !~ ($ENV{GENIE_TEST_ONLY} // qr/./);	# checks whose names match
	my $status = $node->psql('postgres',
		join("\n", 'SET client_min_messages = warning;', quiet('SELECT setseed(' . rand(1) . ');'), @script),
		stdout => \$stdout, stderr => \$stderr, on_error_stop => 1, extra_params => ['-At']);
	ok($status == 0 && $stdout eq '' && $stderr eq '', $name) or diag("seed $seed: " . substr("$stdout\n$stderr", 0, 4000));
	note(sprintf '%s: %d lines, %d s', $name, scalar(@script), time - $started);
	return;
}

# A random change of a table.  insert: makes SQL that inserts n rows; update: SQL that sets indexed columns anew.
sub change
{
	my ($tab, $insert, $update, $n) = @_;
	my $p = pick(0.01, 0.1, 0.5);
	my $some = between(1, $n);
	return @{ pick(
			[ $insert->($some) ],
			[ $insert->($some) ],
			[ "UPDATE $tab SET $update, revision = revision + 1 WHERE random() < $p;" ],
			[ "UPDATE $tab SET $update, revision = revision + 1 WHERE random() < $p;" ],
			[ "DELETE FROM $tab WHERE random() < $p;" ],
			[ 'BEGIN;', $insert->($some), 'ROLLBACK;' ],
			[ 'BEGIN;', $insert->(3), 'SAVEPOINT a;', $insert->($some), 'ROLLBACK TO a;', $insert->(5), 'COMMIT;' ],
			[ quiet("SELECT genie_merge('${tab}_x');") ],
			[ quiet("SELECT genie_merge('${tab}_x');") ],
			[ "DELETE FROM $tab WHERE random() < $p;", "VACUUM (INDEX_CLEANUP ON) $tab;", $insert->($some) ],
			[ "VACUUM (INDEX_CLEANUP ON) $tab;" ],
			[ pick("TRUNCATE $tab;", "REINDEX INDEX ${tab}_x;", "REINDEX INDEX CONCURRENTLY ${tab}_x;", "VACUUM FULL $tab;", "DELETE FROM $tab;") ]) };
}

sub verify
{
	my ($part, $tab) = @_;
	return ("SELECT '$tab', * FROM genie_check('${tab}_x');", quiet("SELECT see('$part', '${tab}_x');"));
}

1;
