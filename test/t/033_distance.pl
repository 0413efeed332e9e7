# Scans ordered by a distance, and conditions with one, return what a sequential scan returns.
#
# Random tables with planted neighbours (values that are a few changes away from one of a few bases) live through rounds of random inserts,
# updates, deletes, merges, vacuums and rebuilds, with random queries and genie_check after each round:
#
#	sets		int[], text[] and genie_object by Jaccard distance, alone and with match counts, as conditions too
#	texts		edit distance: ASCII and Unicode, n = 1 to 5, empty, long and NULL values, conditions "within d edits"
#	documents	tsvector by match count, asked by tsvector and tsquery
#	trees		an expression index on binary branches, by match count and by Jaccard distance; labels by tree edit distance
#	large		tables of several tiles, read to their end, and rows of thousands of keywords
#	real		words, molecules, titles, trees and sequences of RNA, where GENIE_DATA names their folder
#
# The oracle is the sequential scan, with rows of equal distance in TID order.  The tables have a column that is indexed and changes with
# every update, so that no row is updated in place.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieRandom;
use Test::More;

my $node = random_node('distance', 33061);

$node->safe_psql('postgres', <<'SQL');
-- where two expressions differ by more than rounding, on all pairs of a row and the query
CREATE FUNCTION compare_definition(tab text, expression text, definition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT format(''id %%s: %%s is %%s, expected %%s'', id, %L, a, b) FROM (SELECT id, (%s)::float8 AS a, (%s)::float8 AS b FROM %s) s
		WHERE a IS DISTINCT FROM b AND (abs(a - b) > 1e-12) IS NOT FALSE LIMIT 1', expression, expression, definition, tab);
END $$;
SQL

# Statements that ask x in all forms.  distance: SQL of x's distance to a query that is SQL; within: SQL of a condition about it; count: SQL of the
# match count's order, each of a query drawn by draw().
sub ask
{
	my ($tab, $form) = @_;
	my $draw = $form->{draw};
	my $filter = pick('id % 2 = 0', 'id % 97 = 3', 'id < 0', 'revision = 0', 'true');
	my ($q, $q2) = map { pick($_, $_, "(SELECT $_)") } $draw->(), $draw->();
	my $distance = $form->{distance}->($q);
	my @limits = (1, 10, 100, 1000, 'NULL');
	my $ordered = sub {
		my ($condition, @order) = @_;
		return "SELECT compare_distance('$tab', " . join(', ', quoted($condition), pick(@limits), map { quoted($_) } @order) . ');';
	};
	my @statements = ($ordered->('true', $distance), $ordered->($filter, $distance));
	if (my $within = $form->{within})
	{
		my ($condition, $condition2) = ($within->($q), $within->($q2));
		push @statements, "SELECT compare_condition('$tab', " . quoted(pick($condition, $condition, "$condition AND $condition2", "$condition OR $condition2")) . ');';
		push @statements, $ordered->(pick($condition, $condition2, "$condition AND $filter", "$condition AND $condition2"), $distance);
	}
	if (my $count = $form->{count})
	{
		push @statements, $ordered->(pick('true', $filter), @{ pick([ $distance, $count->($q2) ], [ $count->($q2), $distance ], [ $distance, $form->{distance}->($q2) ], [ $count->($q) ]) });
		push @statements, $ordered->($form->{match}->($q2), $distance);
	}
	return @statements;
}

# A table that lives through rounds.  form: also column (its type), index (what it is made of), value (SQL of x, from the seed s), rows,
# changed (most rows of one change), rounds, asked (how often a round), asked_by (the query's type), and definition (SQL of what the distance is).
sub live
{
	my ($part, $tab, $form) = @_;
	my $value = "CASE WHEN r(s, -9) > 0.03 THEN $form->{value} END";
	my $draws = sub { return "SELECT $value FROM (SELECT (random() * 1e9)::bigint AS s, g FROM generate_series(1, $_[0]) g) d"; };
	my $insert = sub { return "INSERT INTO $tab (x) " . $draws->($_[0]) . ';'; };
	my $update = "x = (SELECT $value FROM (SELECT (random() * 1e9 + 0 * $tab.id)::bigint AS s) d)";
	my @script = ("CREATE TABLE $tab (id serial, x $form->{column}, revision int DEFAULT 0);", "CREATE INDEX ON $tab (revision);",
		pick($insert->($form->{rows}), $insert->(1), ''), "CREATE INDEX ${tab}_x ON $tab USING genie ($form->{index}) WITH (pending_limit = 64);", $insert->($form->{rows}));
	for my $round (1 .. $form->{rounds})
	{
		push @script, 'SET work_mem = ' . pick(q('64kB'), q('4MB')) . ';';
		push @script, $insert->($form->{rows}) if pick(0, 0, 1);
		push @script, change($tab, $insert, $update, $form->{changed}) for 1 .. between(1, 3);
		push @script, verify($part, $tab);
		push @script, ask($tab, $form) for 1 .. $form->{asked};
		push @script, map { "SELECT compare_definition('$tab', " . quoted($form->{distance}->($_)) . ', ' . quoted($form->{definition}->($_)) . ');' } $form->{draw}->() if $form->{definition};
	}
	push @script, "SELECT compare_distance('$tab', 'true', 1000, " . quoted($form->{distance}->("(SELECT NULL::$form->{asked_by})")) . ');';
	check("$part: $tab", @script);
	return;
}

sub seed { return int(rand(1e9)); }

# ---- sets ----

# of each type: the column, SQL that makes it of int[], and SQL of the number of elements in both
my %sets = (
	ints => [ 'int[]', sub { return $_[0]; } ],
	texts => [ 'text[]', sub { return "($_[0])::text[]"; } ],
	objects => [ 'genie_object', sub { return "as_object($_[0])"; } ]);

for my $set (sort keys %sets)
{
	my ($column, $make) = @{ $sets{$set} };
	my ($bases, $most, $domain) = (pick(3, 40), pick(5, 20, 60), pick(30, 500, 100000));
	my $draw = sub { return $make->('planted_array(' . join(', ', seed(), $bases, pick($most, $most, $most, 0, 10 * $most), $domain) . ')'); };
	my $query_of = sub { return "genie_query($_[0])"; };
	live('sets', "sets_$set", {
		column => $column, index => 'x', value => $make->("planted_array(s, $bases, $most, $domain)"), rows => 600, changed => 500, rounds => 5, asked => 3,
		draw => $draw, asked_by => $column,
		distance => sub { return pick("x <%> $_[0]", "$_[0] <%> x"); },
		within => sub { return "x @& genie_jaccard_query($_[0], " . pick(0, 0.2, 0.5, '1.0 / 3', 0.8, 1) . ')'; },
		match => sub { return "x @& genie_with_min_match(genie_query($_[0]), " . between(0, 4) . ')'; },
		count => sub { return "x <&> genie_query($_[0])"; },
		$set eq 'objects' ? () : (definition => sub { return <<"SQL"; })
SELECT coalesce(1 - c::float8 / nullif(n, 0), 0) FROM (SELECT count(*) FILTER (WHERE k = 2) AS c, count(*) AS n FROM
	(SELECT count(*) AS k FROM (SELECT DISTINCT e FROM unnest(x) e UNION ALL SELECT DISTINCT e FROM unnest($_[0]) e) u WHERE e IS NOT NULL GROUP BY e) v) w WHERE x IS NOT NULL
SQL
	});
}

# ---- texts ----

my %alphabets = (two => 'ab', letters => 'abcdefghijklmnopqrstuvwxyz', mixed => 'aàáâbßcç€d𝄞e日本語 ');
my $fuzzystrmatch = $node->safe_psql('postgres', q(SELECT count(*) FROM pg_available_extensions WHERE name = 'fuzzystrmatch'));
$node->safe_psql('postgres', 'CREATE EXTENSION fuzzystrmatch') if $fuzzystrmatch;

for my $alphabet (sort keys %alphabets)
{
	my $n = between(1, 5);
	my ($bases, $most) = (pick(3, 40), pick(4, 12, 40));
	live('texts', "texts_$alphabet", {
		column => pick('text', 'varchar'), index => "x genie_edit_ops (n = $n)", value => "planted_text(s, $bases, $most, '$alphabets{$alphabet}')",
		rows => 500, changed => 300, rounds => 5, asked => 3, asked_by => 'text',
		draw => sub { return 'planted_text(' . join(', ', seed(), $bases, pick($most, $most, $most, 0, 10 * $most), "'$alphabets{$alphabet}'") . ')'; },
		distance => sub { return "x <~> $_[0]"; },
		within => sub { return "x @& genie_edit_query($_[0], " . pick(0, 1, 2, 3, 8, 1000) . ')'; },
		match => sub { return "x @& genie_with_min_match(genie_query(genie_ngrams($_[0], $n)), " . between(0, 4) . ')'; },
		count => sub { return "x <&> genie_query(genie_ngrams($_[0], $n))"; },
		$fuzzystrmatch ? (definition => sub { return "CASE WHEN greatest(length(x), length($_[0])) <= 255 THEN levenshtein(x, $_[0]) ELSE x <~> $_[0] END"; }) : () });
}

# ---- documents ----

{
	my $words = sub { return "(SELECT string_agg(chr(97 + e % 26) || e / 26, ' ') FROM unnest(planted_array($_[0])) e)"; };
	live('documents', 'documents', {
		column => 'tsvector', index => 'x', value => "to_tsvector('simple', coalesce(" . $words->('s, 20, 15, 400') . ", ''))", rows => 600, changed => 400, rounds => 5, asked => 3,
		asked_by => 'tsvector',
		draw => sub { return "to_tsvector('simple', coalesce(" . $words->(join(', ', seed(), 20, pick(15, 0, 100), 400)) . ", ''))"; },
		distance => sub { return pick("x <&> $_[0]", "x <&> array_to_string(tsvector_to_array($_[0]) || '{zz}'::text[], ' | ')::tsquery",
			"x <&> array_to_string(tsvector_to_array($_[0]) || '{b1}'::text[], ':* & ')::tsquery"); },
		match => sub { return "x @& genie_query($_[0], " . between(0, 4) . ')'; },
		count => sub { return "x <&> $_[0]"; } });
}

# ---- trees ----

live('trees', 'trees', {
	column => 'text', index => '(genie_binary_branches(x))', value => 'planted_tree(s, 20, 15)', rows => 500, changed => 300, rounds => 4, asked => 3, asked_by => 'genie_object',
	draw => sub { return 'genie_binary_branches(planted_tree(' . join(', ', seed(), 20, pick(15, 0, 60)) . '))'; },
	distance => sub { return 'genie_binary_branches(x) ' . pick('<&>', '<%>') . " $_[0]"; },
	within => sub { return "genie_binary_branches(x) @& genie_jaccard_query($_[0], " . pick(0.3, 0.6, 1) . ')'; },
	match => sub { return "genie_binary_branches(x) @& genie_with_min_match(genie_query($_[0]), " . between(0, 4) . ')'; },
	count => sub { return "genie_binary_branches(x) <&> $_[0]"; } });

# of labels with braces and backslashes, too; planted_tree() makes few
my $relabelled = sub { return "replace(replace($_[0], '{a', '{\\{a'), '{c', '{')"; };
live('trees', 'labels', {
	column => 'text', index => 'x genie_tree_ops', value => $relabelled->('planted_tree(s, 20, 15)'), rows => 500, changed => 300, rounds => 4, asked => 3, asked_by => 'text',
	draw => sub { return $relabelled->('planted_tree(' . join(', ', seed(), 20, pick(15, 0, 60)) . ')'); },
	distance => sub { return pick("x <^> $_[0]", "$_[0] <^> x"); },
	within => sub { return "x @& ROW($_[0], " . pick(0, 1, 2.5, 8, q('infinity')) . ')::tree_ball'; } });

# ---- large ----

# of each table: x of row g, rows, the index, queries, and conditions
my %large = (
	tiles_of_sets => [ 'int[]', '(ARRAY[g % 7, 10 + g % 100, 200 + (random() ^ 3 * 1000)::int, 300 + g % 11, 2000 + g % 1000])[1 : g % 6]', 140_000, 'x',
		[ "x <%> '{3,44,301,2044}'::int[]", "x <%> '{-1}'::int[]", "x <%> '{}'::int[]" ],
		[ "x @& genie_jaccard_query('{3,44,301,2044}'::int[], 0.4)", "x @& genie_jaccard_query('{3}'::int[], 0)" ] ],
	tiles_of_texts => [ 'text', 'substr(md5((g % 90000)::text), 1, g % 9)', 140_000, 'x genie_edit_ops',
		[ "x <~> 'c4ca4'", "x <~> 'zz'", "x <~> ''", "x <~> '" . ('0123456789abcdef' x 3) . "'" ],
		[ "x @& genie_edit_query('c4ca4', 2)", "x @& genie_edit_query('', 4)" ] ],
	wide_sets => [ 'int[]', 'ARRAY(SELECT i * (1 + g % 3) FROM generate_series(g, CASE WHEN g % 7 = 0 THEN g + 65534 WHEN g % 2 = 0 THEN g + 40 * g ELSE g + 20 END) i)', 40, 'x',
		[ 'x <%> ARRAY(SELECT generate_series(1, 1000))', 'x <%> ARRAY(SELECT 3 * generate_series(5, 40000))', "x <%> '{4,6,8}'::int[]" ],
		[ 'x @& genie_jaccard_query(ARRAY(SELECT generate_series(10, 70000)), 0.5)' ] ],
	wide_texts => [ 'text', q{repeat(substr(md5((g % 20)::text), 1, 1 + g), 1 + g) || g}, 90, 'x genie_edit_ops (n = 6)',
		[ "x <~> repeat(substr(md5('3'), 1, 20), 20)", "x <~> repeat(md5('3'), 200)", "x <~> 'c81e728d'" ],
		[ "x @& genie_edit_query(repeat(substr(md5('3'), 1, 24), 24), 30)" ] ]);

for my $tab (sort keys %large)
{
	my ($column, $value, $rows, $index, $orders, $conditions) = @{ $large{$tab} };
	my $few = int($rows / 50);
	my $ask = sub {
		my (@limits) = @_;
		return (verify('large', $tab),
			(map { my $order = $_; map { "SELECT compare_distance('$tab', 'true', $_, " . quoted($order) . ');' } @limits } @$orders),
			"SELECT compare_condition('$tab', " . quoted(pick(@$conditions)) . ');',
			"SELECT compare_distance('$tab', " . quoted(pick(@$conditions)) . ', NULL, ' . quoted($orders->[0]) . ');');
	};
	check("large: $tab", "CREATE TABLE $tab (id serial, x $column, revision int DEFAULT 0);", "INSERT INTO $tab (x) SELECT $value FROM generate_series(1, $rows) g;",
		"CREATE INDEX ${tab}_x ON $tab USING genie ($index) WITH (pending_limit = 64);", $ask->(1000),
		"DELETE FROM $tab WHERE id % 9 = 4;", "INSERT INTO $tab (x) SELECT $value FROM generate_series(1, $few) g;", "UPDATE $tab SET x = NULL, revision = 1 WHERE id % 31 = 2;",
		'SET work_mem = 64;', $ask->(10, 'NULL'), "VACUUM (INDEX_CLEANUP ON) $tab;", $ask->(1000));
}

# ---- real ----

# of each file: its columns, the index's table, its index, queries about row q, and conditions
my %real = (
	words => [ 'id int, list text, word text', 'word', 'id % 16 = 3', 'x genie_edit_ops', [q{overlay(q PLACING 'e' FROM 2 FOR 1)}, q{q || 'es'}, q{substr(q, 2)}],
		'x <~> $1', [ 'x @& genie_edit_query($1, 1)', 'x @& genie_edit_query($1, 3)' ] ],
	molecules => [ 'id int, source text, smiles text, morgan int[], maccs int[]', 'morgan', 'id % 8 = 3', 'x', [ 'q', 'q[3:]' ],
		'x <%> $1', [ 'x @& genie_jaccard_query($1, 0.3)', 'x @& genie_jaccard_query($1, 0.7)' ] ],
	titles => [ 'id int, post text, subreddit text, created bigint, score int, title text', q{to_tsvector('english', title)}, 'id % 17 = 3', 'x', [ 'q' ], 'x <&> $1', [ 'x @& genie_query($1, 3)' ] ],
	trees => [ 'id int, sent_id text, n int, bracket text, labels text[], parent int[], sentence text', 'genie_binary_branches(bracket)', 'id % 2 = 1', 'x', [ 'q' ],
		'x <%> $1', [ 'x @& genie_jaccard_query($1, 0.2)', 'x @& genie_with_min_match(genie_query($1), 5)' ] ],
	rrna => [ 'id int, db text, name text, seq text', 'seq', 'id % 16 = 3', 'x genie_edit_ops (n = 8)', [ 'q', 'substr(q, 40)' ], 'x <~> $1', [ 'x @& genie_edit_query($1, 100)' ] ]);

for my $file (sort keys %real)
{
  SKIP:
	{
		my $path = ($ENV{GENIE_DATA} // '') . "/$file.tsv.gz";
		skip("no $file: GENIE_DATA names no folder that has it", 1) unless -r $path;
		my ($columns, $value, $sample, $index, $queries, $order, $conditions) = @{ $real{$file} };
		$node->safe_psql('postgres', "CREATE TABLE loaded ($columns);\n\\copy loaded FROM PROGRAM 'zcat $path'\n"
			  . "CREATE TABLE real_$file AS SELECT id, $value AS x, 0 AS revision FROM loaded WHERE $sample; DROP TABLE loaded; CREATE INDEX real_${file}_x ON real_$file USING genie ($index)");
		my @asked = map { split /\n/, $node->safe_psql('postgres', "SELECT quote_literal($_) || '::' || pg_typeof($_) FROM (SELECT x AS q FROM real_$file ORDER BY r(id, " . seed() . ") LIMIT 4) s") } @$queries;
		my @ask = map {
			my $q = $_;
			map { "SELECT compare_distance('real_$file', " . quoted($_->[0]) . ", $_->[1], " . quoted($order =~ s/\$1/$q/r) . ');' } ([ 'true', 10 ], [ 'true', 100 ], [ pick(@$conditions) =~ s/\$1/$q/r, 'NULL' ])
		} @asked;
		check("real: $file", @ask, "UPDATE real_$file SET x = x, revision = 1 WHERE id % 7 = 5;", "DELETE FROM real_$file WHERE id % 5 = 1;", @ask, verify('real', "real_$file"));
	}
}

# ---- who counted? ----

SKIP:
{
	# a failure of the GPU would change no row
	my ($engine) = ($ENV{GENIE_TEST_CONF} // '') =~ /genie\.engine = (\w+)/;
	skip('there is no worker', 2) unless $engine;
	my $counter = $engine eq 'cuda' ? 'answered_by_gpu' : 'answered_by_worker_cpu';
	my $ask = sub { return ("SELECT $counter FROM genie_stat;", quiet("SELECT id FROM counted ORDER BY x <%> '{$_[0]}' LIMIT 3;")); };
	my @answered = split /\n/, $node->safe_psql('postgres', join("\n", 'SET client_min_messages = warning; SET enable_seqscan = off;',
		'CREATE TABLE counted AS SELECT g AS id, planted_array(g, 40, 12, 300) AS x FROM generate_series(1, 2000) g;', 'CREATE INDEX counted_x ON counted USING genie (x);',
		quiet("SELECT genie_prewarm('counted_x');"), $ask->('1,2,3'), $ask->('-1'), "SELECT $counter FROM genie_stat;"));
	ok($answered[0] < $answered[1] && $answered[1] < $answered[2], "$counter: rows by a distance, of a query without any match too");
	is($node->safe_psql('postgres', 'SELECT gpu_failed, gpu_no_room, gpu_lost FROM genie_stat'), '0|0|0', 'no batch failed on a GPU');
}

# ---- did the rounds go where they should? ----

my $reached = $node->safe_psql('postgres', 'SELECT max(segments) >= 4, max(tiles) >= 2, max(tombstones) > 0, max(pending) > 100 FROM seen');
is($reached, 't|t|t|t', 'indexes had many segments, several tiles, tombstones and pending rows');

$node->stop;
done_testing();
