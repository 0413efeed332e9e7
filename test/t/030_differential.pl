# Random tables and queries: an index scan returns the rows of a sequential scan, in the same order.
#
# Three parts, each a set of tables that live through rounds of random inserts, updates, deletes, merges, vacuums and
# rebuilds (a small pending_limit makes many segments), with random queries and genie_check after each round:
#
#	arrays		an array column of every element class: empty, NULL and long arrays, NULL elements, duplicates
#	tuples		genie_tuple over columns of many types, asked by values, ranges, multiranges, lists and NULLs
#	shapes		tables of one and several tiles, of equal rows, of rows without common keywords, of huge objects
#
# Queries are asked one by one, and several in one call of genie_search().
#
# The oracle of the index is the sequential scan, sorted by (x <&> q, ctid); updates change an indexed column, so
# that no row is updated in place and the ctid is the TID that the index holds.  The oracle of the operators,
# where tables are small, is plain SQL on the values.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieRandom;
use Test::More;

my $node = random_node($ENV{GENIE_TEST_NAME} // 'differential', 586805);

# compare() returns no row where both scans agree.
$node->safe_psql('postgres', <<'SQL');
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'a mood with blanks', 'E', '');
CREATE TYPE textrange AS RANGE (SUBTYPE = text, COLLATION = "C");
CREATE TYPE floatrange AS RANGE (SUBTYPE = float8);
CREATE TYPE timerange AS RANGE (SUBTYPE = time);

CREATE FUNCTION compare(tab text, order_by text, condition text, "limit" int, tie text DEFAULT 'ctid') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM %s WHERE %s ORDER BY %s', tab, condition, order_by);
	tail text := coalesce(' LIMIT ' || "limit", '');
BEGIN
	RETURN QUERY SELECT * FROM differ(query || tail, ids('Index Scan', query || tail), ids('Seq Scan', query || ', ' || tie || tail));
END $$;

-- Two ordering operators: the executor sorts by the second, and no TID decides where both are equal.
CREATE FUNCTION compare_two(tab text, order1 text, order2 text, condition text, "limit" int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	tail text := format(' FROM %s WHERE %s ORDER BY %s, %s LIMIT %s', tab, condition, order1, order2, coalesce("limit"::text, 'ALL'));
	keys text := format('SELECT coalesce((%s)::bigint * 100000 + (%s), 1) AS id', order1, order2) || tail;
BEGIN
	RETURN QUERY SELECT * FROM differ(keys, ids('Index Scan', keys), ids('Seq Scan', keys));
	IF "limit" IS NULL THEN
		RETURN QUERY SELECT * FROM differ(tail, (SELECT array_agg(id ORDER BY id) FROM unnest(ids('Index Scan', 'SELECT id' || tail)) id),
										  (SELECT array_agg(id ORDER BY id) FROM unnest(ids('Seq Scan', 'SELECT id' || tail)) id));
	END IF;
END $$;

CREATE FUNCTION compare_bitmap(tab text, condition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM %s WHERE %s', tab, condition);
	expected bigint[] := ids('Seq Scan', query || ' ORDER BY ctid');
BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', '0', true);	-- several processes' pages would come in any order
	RETURN QUERY SELECT * FROM differ('bitmap: ' || query, ids('Bitmap Index Scan', query), expected);
	IF condition !~ ' OR ' THEN
		RETURN QUERY SELECT * FROM differ(query, ids('Index Scan', query), expected);
	END IF;
END $$;

-- Several queries in one call of genie_search(), all of them so many times, each against its sequential scan; queries: as SQL.
CREATE FUNCTION compare_batch(tab text, x text, queries text[], times int, k int, tie text DEFAULT 'ctid') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	n int := cardinality(queries);
	searched text := format('SELECT array_agg(q ORDER BY r, o) FROM generate_series(1, %s) r, unnest(ARRAY[%s]) WITH ORDINALITY u(q, o)', times, array_to_string(queries, ', '));
	expected bigint[];
	found bigint[];
BEGIN
	FOR i IN 1 .. n LOOP
		expected := ids('Seq Scan', format('SELECT id FROM %s ORDER BY %s <&> %s, %s LIMIT %s', tab, x, queries[i], tie, k));
		FOR found IN EXECUTE format('SELECT DISTINCT array_agg(t.id ORDER BY s.n)
				FROM generate_series(%s, %s, %s) number LEFT JOIN (genie_search(%L, (%s), %s) WITH ORDINALITY s (query, tid, match_count, n)
					JOIN %s t ON t.ctid = s.tid AND s.match_count IS NOT DISTINCT FROM -(%s <&> %s)) ON s.query = number GROUP BY number',
				i, n * times, n, tab || '_x', searched, k, tab, x, queries[i]) LOOP
			found := array_remove(found, NULL);
			RETURN QUERY SELECT * FROM differ(format('query %s of genie_search() with %s', i, queries), found, expected);
		END LOOP;
	END LOOP;
END $$;

-- the operator against plain SQL: wanted is the expected match count
CREATE FUNCTION compare_count(tab text, x text, query text, wanted text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	FOR result IN EXECUTE format('SELECT format(''count of id %%s: %%s, expected %%s by '', id, -(%1$s <&> %2$s), (%3$s)) FROM %4$s
		WHERE %1$s IS NOT NULL AND -(%1$s <&> %2$s) IS DISTINCT FROM (%3$s) LIMIT 1', x, query, wanted, tab) LOOP
		RETURN NEXT result || query;
	END LOOP;
END $$;
SQL

my @limits = (1, 10, 100, 1000, 'NULL');

sub integers { my ($n, $domain) = @_; return "'{" . join(',', map { int($domain * rand()**2) } 1 .. $n) . "}'::int[]"; }

# The forms in which x can be asked for the genie_query q; operand: q, or an array that means the same.
sub forms
{
	my ($tab, $x, $operand, $q, $q2) = @_;
	my ($m, $m2) = (pick(0, 1, 1, 2, 3), pick(1, 2, 5));
	my $filter = pick('id % 2 = 0', 'id % 97 = 3', 'true', 'id < 0', 'revision = 0');
	my $match = "$x @& genie_with_min_match($q, $m)";
	my $match2 = "$x @& genie_with_min_match($q2, $m2)";
	my ($order, $order2) = ("$x <&> $operand", "$x <&> $q2");
	my $ordered = sub { return "SELECT compare('$tab', " . quoted($_[0]) . ', ' . quoted($_[1]) . ', ' . pick(@limits) . ');'; };
	my $third = quoted(pick('true', $filter, $match)) . ', ' . pick(@limits);
	return (
		$ordered->($order, 'true'),
		$ordered->(@{ pick([ $order, $filter ], [ $order, $match ], [ $order2, "$match AND $filter" ], [ $order, "$match AND $match2" ]) }),
		"SELECT compare_two('$tab', " . quoted($order) . ', ' . quoted($order2) . ", $third);",
		"SELECT compare_bitmap('$tab', " . quoted(pick($match, "$match AND $match2", "$match OR $match2")) . ');',
		"SELECT compare_batch('$tab', " . quoted($x) . ', ARRAY[' . join(', ', map { quoted($_) } pick([$q], [ $q, $q2 ], [ $q2, $q, $q2 ])->@*) . '], ' . pick(1, 1, 20) . ', ' . pick(1, 10, 100, 1000) . ');');
}

# ---- arrays ----

# of each class of elements: the type, the type of its ranges, and the element that integer i stands for
my %classes = (
	int2 => [ 'int2', 'int4range', '(i * 7 - 9000)::int2' ],
	int4 => [ 'int4', 'int4range', 'i * 7919 - 1000000' ],
	int8 => [ 'int8', 'int8range', '(i - 20) * 123456789012345' ],
	text => [ 'text', 'textrange', q{chr(97 + i % 26) || CASE WHEN i % 11 = 0 THEN '' ELSE i::text END} ],
	long => [ 'text', 'textrange', q{CASE WHEN i % 3 = 0 THEN 'w' || i ELSE md5(i::text) || repeat(chr(97 + i % 5), 90 + i % 200) END} ],
	varchar => [ 'varchar', 'textrange', q{CASE WHEN i = 1 THEN '' ELSE repeat('é', i % 55) || i END} ],
	bpchar => [ 'bpchar', undef, q{(i % 50) || repeat(' ', i % 4)} ],
	numeric => [ 'numeric', 'numrange', q{CASE i WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN 1e100 WHEN 3 THEN -1e-90 ELSE (i - 30)::numeric / (1 + i % 4) END} ],
	float8 => [ 'float8', 'floatrange', q{CASE i WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' WHEN 2 THEN '-0' WHEN 3 THEN 0 ELSE (i - 30)::float8 / 3 END} ],
	float4 => [ 'float4', 'floatrange', q{CASE i WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 0 ELSE i::float4 / 8 END} ],
	uuid => [ 'uuid', undef, 'md5(i::text)::uuid' ],
	date => [ 'date', 'daterange', q{CASE i WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE '0001-03-01'::date + (i - 20) * 1000 END} ],
	timestamptz => [ 'timestamptz', 'tstzrange', q{'1999-12-31 23:59:59.5+00'::timestamptz + (i - 20) * interval '1 hour 1 microsecond'} ],
	time => [ 'time', 'timerange', q{'00:00'::time + i * interval '1 minute'} ],
	bool => [ 'bool', undef, 'i % 2 = 0' ],
	enum => [ 'mood', undef, '(enum_range(NULL::mood))[1 + i % 6]' ],
	bytea => [ 'bytea', undef, q{substr(decode(repeat(md5(i::text), 10), 'hex'), 1, i % 160)} ],
	inet => [ 'inet', undef, q{'10.0.0.0/8'::inet + i} ],
	jsonb => [ 'jsonb', undef, q{jsonb_build_object('n', i)} ]);

# elements_<class>(int[]) and value_<class>(int), folded to constants by the planner
for my $class (sort keys %classes)
{
	my ($type, undef, $element) = @{ $classes{$class} };
	$node->safe_psql('postgres', <<"SQL");
SET check_function_bodies = off;
CREATE FUNCTION elements_$class(int[]) RETURNS ${type}[] LANGUAGE plpgsql IMMUTABLE STRICT SET timezone = 'UTC' AS
	\$f\$ BEGIN RETURN ARRAY(SELECT CASE WHEN i IS NOT NULL THEN $element END FROM unnest(\$1) i); END \$f\$;
CREATE FUNCTION value_$class(i int) RETURNS $type LANGUAGE plpgsql IMMUTABLE STRICT SET timezone = 'UTC' AS
	\$f\$ BEGIN RETURN $element; END \$f\$;
SQL
}

# SQL of an int[] for row g: NULL (rarely), empty, short or as long as most elements; skew > 1 prefers small numbers
sub random_integers
{
	my ($most, $domain, $skew) = @_;
	return "(SELECT CASE WHEN g % 41 = 7 THEN NULL ELSE coalesce(array_agg(CASE WHEN random() > 0.02 THEN floor($domain * power(random(), $skew))::int END), '{}') END"
	  . " FROM generate_series(1, (random() * random() * ($most))::int + 0 * g))";
}

# A random query over arrays: the operand, it as a genie_query, and SQL that counts its matches in x.
sub array_query
{
	my ($class, $domain) = @_;
	my ($type, undef, undef) = @{ $classes{$class} };
	my $distinct = sub { return "SELECT count(DISTINCT e) FROM unnest(x) e WHERE $_[0]"; };
	my $kind = pick('array', 'array', 'query', 'range', 'integers');
	if ($kind eq 'integers' && $class =~ /^int/)
	{
		my ($low, $high) = sort { $a <=> $b } map { between(-1000000, 8000000) } 1 .. 2;
		my $ranges = "'{[$low,$high),[$high,$high],(,-995000]}'::" . pick('int4', 'int8') . 'multirange';
		return ("genie_query($ranges)", "genie_query($ranges)", $distinct->("e BETWEEN $low AND $high OR e <= -995000"));
	}
	if ($kind eq 'range' && $class !~ /^(enum|inet|jsonb)$/)
	{
		my ($a, $b) = map { "value_$class(" . int($domain * rand()) . ')' } 1 .. 2;
		my $query = "regexp_replace(genie_query(ARRAY[$a, $b])::text, '^\\{0:(\\w+):(.*),0:\\w+:(.*)}\@1\$', '{0:\\1:[\\2,\\3]}')::genie_query";
		return ($query, $query, $distinct->("e BETWEEN least($a, $b) AND greatest($a, $b)"));
	}
	my $values = "elements_$class(" . integers(pick(0, 1, 2, 5, 20, 300), $domain * 1.1) . ')';
	$values = "(SELECT $values)" if pick(0, 0, 1);	# known only when the scan begins
	return ($kind eq 'array' ? $values : "genie_query($values)", "genie_query($values)", $distinct->("e = ANY (($values)::${type}[])"));
}

for my $class (sort keys %classes)
{
	my ($most, $domain, $skew) = (pick(4, 20, 60), pick(20, 300, 3000), pick(1, 2, 4));
	my ($type) = @{ $classes{$class} };
	my $insert = sub { return "INSERT INTO a_$class (x) SELECT elements_$class(" . random_integers($most, $domain, $skew) . ") FROM generate_series(1, $_[0]) g;"; };
	my $update = "x = elements_$class(" . random_integers($most, $domain, $skew) =~ s/\bg\b/id/gr . ')';
	my @script = ("CREATE TABLE a_$class (id serial, x ${type}[], revision int DEFAULT 0);", "CREATE INDEX ON a_$class (revision);");
	push @script, $insert->(pick(1, 500, 1500)) if pick(0, 1, 1);
	push @script, "CREATE INDEX a_${class}_x ON a_$class USING genie (x) WITH (pending_limit = 64);";
	for my $round (1 .. 5)
	{
		push @script, change("a_$class", $insert, $update, 900) for 1 .. between(1, 4);
		push @script, verify('arrays', "a_$class");
		for (1 .. 3)
		{
			my ($operand, $query, $wanted) = array_query($class, $domain);
			my (undef, $query2) = array_query($class, $domain);
			push @script, forms("a_$class", 'x', $operand, $query, $query2);
			push @script, "SELECT compare_count('a_$class', 'x', " . quoted($operand) . ', ' . quoted($wanted) . ');';
		}
	}
	check("arrays of $class", @script);
}

# ---- tuples ----

my %columns = (
	c1 => 'int4', c2 => 'text', c3 => 'numeric', c4 => 'date', c5 => 'bool', c6 => 'timestamptz', c7 => 'uuid', c8 => 'enum',
	c9 => 'int8', c10 => 'float8', c11 => 'time', c12 => 'long', c13 => 'inet');
my @columns = sort { substr($a, 1) <=> substr($b, 1) } keys %columns;

# What a query asks of a column, or undef for nothing, and the same as a condition.
sub criterion
{
	my ($column, $domain) = @_;
	my $class = $columns{$column};
	my ($type, $range) = @{ $classes{$class} };
	my $value = sub { return "value_$class(" . int($domain * rand()) . ')'; };
	my $between = sub {
		my ($a, $b) = ($value->(), $value->());
		return pick("$range(least($a, $b), greatest($a, $b), '" . pick('[)', '[]', '()', '(]') . "')", "$range(NULL, $a)", "$range($a, NULL, '()')", "'empty'::$range");
	};
	my $kind = pick(1 .. 5);
	if ($kind == 1 || ($kind > 2 && !defined $range))
	{
		my $v = $value->();
		return ($v, "$column = $v");
	}
	if ($kind == 2)
	{
		my $list = 'ARRAY[' . join(', ', map { pick($value->(), $value->(), 'NULL') } 1 .. between(1, 6)) . "]::${type}[]";
		return ($list, "$column = ANY ($list)");
	}
	my $ranges = join(', ', map { $between->() } 1 .. between(1, 4));
	my $multirange = ($range =~ s/range/multirange/r) . "($ranges)";
	if ($kind == 3)
	{
		my $r = $between->();
		return ($r, "$column <@ $r");
	}
	return ($multirange, "$column <@ $multirange") if $kind == 4;
	return ("ARRAY[$ranges]", "$column <@ ANY (ARRAY[$ranges])");
}

my @rows;
for my $column (@columns)
{
	push @rows, "CASE WHEN random() > 0.1 THEN value_$columns{$column}((random() * random() * 60)::int) END";
}
my $tuple = 'genie_tuple(' . join(', ', @columns) . ')';
my $insert_tuples = sub {
	return 'INSERT INTO tuples (' . join(', ', @columns) . ') SELECT ' . join(', ', @rows) . " FROM generate_series(1, $_[0]) g;";
};
{
	my @script = ('CREATE TABLE tuples (id serial, revision int DEFAULT 0, ' . join(', ', map { "$_ $classes{$columns{$_}}[0]" } @columns) . ');',
		'CREATE INDEX ON tuples (revision);', $insert_tuples->(1500),
		"CREATE INDEX tuples_x ON tuples USING genie (($tuple)) WITH (pending_limit = 64);");
	for my $round (1 .. 8)
	{
		push @script, change('tuples', $insert_tuples, "c1 = (random() * 50)::int, c2 = 'new', c4 = NULL", 700) for 1 .. between(1, 4);
		push @script, verify('tuples', 'tuples');
		for (1 .. 6)
		{
			my (@query, @query2, @wanted);
			for my $column (@columns)
			{
				my ($criterion, $condition) = rand() < 0.4 ? criterion($column, 60) : ('NULL', 'NULL');
				push @query, $criterion;
				push @wanted, "coalesce(($condition)::int, 0)";
				push @query2, rand() < 0.2 ? (criterion($column, 60))[0] : 'NULL';
			}
			my ($query, $query2) = map { 'genie_tuple_query(' . join(', ', @$_) . ')' } \@query, \@query2;
			push @script, forms('tuples', $tuple, $query, $query, $query2);
			push @script, "SELECT compare_bitmap('tuples', " . quoted("$tuple @& $query") . ');';
			push @script, "SELECT compare_count('tuples', " . join(', ', map { quoted($_) } $tuple, $query, join(' + ', @wanted)) . ');';
		}
	}
	check('tuples', @script);
}

# ---- shapes ----

# so many times the rows, with images made beforehand and batches of many queries: 087
my $times = $ENV{GENIE_TEST_TIMES} // 1;

# of each shape: SQL of the array for row g, rows before and after the index is built, rounds, largest number of a query
my %shapes = (
	tiles => [ 'ARRAY[g % 7, 10 + g % 100, 200 + (random() ^ 3 * 1000)::int] || CASE WHEN g % 1000 = 1 THEN 2000 + g / 5000 END', 205_000 * $times, 3000, 2, 300 ],
	wide => [ 'ARRAY(SELECT abs(hashint4(g * 32 + d)) % (3 + d * d) + d * 1000 FROM generate_series(1, 20) d)', 10_000 * $times, 1000, 2, 20_000 ],
	sparse => [ 'ARRAY[(random() * 500000)::int, (random() * 500000)::int, g % 30000]', 70_000, 3000, 2, 30_000 ],
	equal => [ q('{1,2,3}'::int[]), 70_000, 5000, 2, 6 ],
	distinct => [ 'ARRAY[g, 1000000 + g, 2000000 - g]', 20_000, 2000, 3, 25_000 ],
	huge => [ 'ARRAY(SELECT i * (1 + g % 3) FROM generate_series(g, CASE WHEN g % 7 = 0 THEN g + 65534 WHEN g % 2 = 0 THEN g + 3000 ELSE g + 20 END) i)', 30, 40, 4, 70_000 ],
	empty => [ q(CASE WHEN g % 2 = 0 THEN '{}'::int[] END), 0, 300, 3, 5 ],
	nulls => [ 'NULL::int[]', 50, 50, 3, 3 ],
	tiny => [ 'ARRAY[g, 1]', 1, 2, 4, 3 ]);

for my $shape (sort keys %shapes)
{
	my ($array, $before, $after, $rounds, $domain) = @{ $shapes{$shape} };
	my $objects = $shape eq 'huge' || $shape eq 'distinct';	# as genie_object, too
	my $insert = sub { return "INSERT INTO s_$shape (x) SELECT $array FROM generate_series(1, $_[0]) g;"; };
	my $update = 'x = ' . $array =~ s/\bg\b/(id + 1)/gr;
	my @script = ("CREATE TABLE s_$shape (id serial, x int[], revision int DEFAULT 0);", "CREATE INDEX ON s_$shape (revision);", $insert->($before),
		'SET maintenance_work_mem = ' . pick(q('1MB'), q('64MB')) . ';',
		"CREATE INDEX s_${shape}_x ON s_$shape USING genie (x) WITH (pending_limit = 64);");
	for my $round (1 .. $rounds)
	{
		push @script, verify('shapes', "s_$shape");
		push @script, quiet("SELECT genie_prewarm('s_${shape}_x');") if $times > 1;
		for (1 .. 2)
		{
			my $values = integers(pick(1, 3, 30, 1000), $domain);
			my ($low, $high) = sort { $a <=> $b } between(0, $domain), between(0, $domain);
			my $query = pick("genie_query($values)", "genie_query('{[$low,$high],[500,600)}'::int4multirange)");
			push @script, 'SET work_mem = ' . pick(q('64kB'), q('4MB')) . ';';	# lists are read once, or again and again
			push @script, forms("s_$shape", 'x', $query, $query, 'genie_query(' . integers(2, $domain) . ')');
			my $queries = join(', ', map { quoted('genie_query(' . integers(30, $domain) . ')') } 1 .. 10);
			push @script, "SELECT compare_batch('s_$shape', 'x', ARRAY[$queries], 30, 10);" if $times > 1;
		}
		push @script, change("s_$shape", $insert, $update, $after);
		push @script, $insert->(between(1, $after)) if $round == 1;
	}
	push @script, 'SET work_mem = 64;', forms("s_$shape", 'x', map { ($_, $_, $_) } q{'{0:int:(,)}'::genie_query});
	push @script, verify('shapes', "s_$shape");
	check("shape $shape", @script);
	if ($objects)
	{
		my $text = q{('{' || (SELECT coalesce(string_agg(format('%s:int:%s', e % 5, e), ','), '') FROM unnest(x) e) || '}')::genie_object};
		check("objects of shape $shape",
			"CREATE TABLE o_$shape AS SELECT id, revision, $text AS x FROM s_$shape LIMIT 2000;",
			"CREATE INDEX o_${shape}_x ON o_$shape USING genie (x);",
			"INSERT INTO o_$shape SELECT id + 100000, 1, $text FROM s_$shape LIMIT 100;",
			verify('shapes', "o_$shape"),
			map { forms("o_$shape", 'x', $_, $_, q{'{3:int:[1,2000)}'::genie_query}) }
				q{'{0:int:[10,4000),1:int:1,2:int:(,500],4:int:64}'::genie_query}, "(SELECT genie_query(x) FROM o_$shape WHERE x IS NOT NULL ORDER BY id LIMIT 1)");
	}
}

# Rows updated in place before and after the build: the index holds the roots of their chains, which a heap scan gives
# out of order, and which have the order of the ids.
{
	my @update = ('UPDATE hot SET revision = revision + 1 WHERE id % 3 = ' . between(0, 2) . ';', 'VACUUM (INDEX_CLEANUP ON) hot;');
	my @compare = ("SELECT genie_check('hot_x');",
		map { "SELECT compare('hot', " . quoted('x <&> genie_query(' . integers(5, 30) . ')') . ", 'true', $_, 'id');" } @limits);
	push @compare, map { "SELECT compare_batch('hot', 'x', ARRAY[" . join(', ', map { quoted('genie_query(' . integers(5, 30) . ')') } 1 .. 5) . "], 10, $_, 'id');" } 1, 10, 1000;
	check('rows updated in place',
		'CREATE TABLE hot (id serial, x int[], revision int DEFAULT 0) WITH (fillfactor = 40);',
		'INSERT INTO hot (x) SELECT ARRAY[g % 3, g % 20, g] FROM generate_series(1, 10000) g;',
		$update[0],
		'CREATE INDEX hot_x ON hot USING genie (x);',
		@compare, $update[0], @compare, @update, @compare, @update, $update[0], 'REINDEX INDEX hot_x;', @compare,
		quiet('SELECT pg_stat_force_next_flush();'),
		"SELECT 'not in place', * FROM pg_stat_get_tuples_updated('hot'::regclass) n, pg_stat_get_tuples_hot_updated('hot'::regclass) m WHERE n = 0 OR n <> m;");
}

# ---- did the rounds go where they should? ----

if (($ENV{GENIE_TEST_ONLY} // '.') eq '.')
{
	my $reached = $node->safe_psql('postgres',
		'SELECT max(segments) >= 4, max(tiles) >= 4, max(tombstones) > 0, max(pending) > 100, bool_or(segments = 0) FROM seen');
	is($reached, 't|t|t|t|t', 'indexes had many segments, several tiles, tombstones, pending rows, and nothing at all');
}

$node->stop;
done_testing() unless $ENV{GENIE_TEST_GOES_ON};
1;
