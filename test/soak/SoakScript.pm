# SoakScript: random scripts about one table with one index, from what the catalog says of operator classes and settings.
#
# A script is a list of statements that stand for themselves (all values are literals), so that any part of it can be run again.  Each is
# { kind, sql }: a change, a setting, or a comparison, which returns soak.result (oracle.sql).
package SoakScript;

use strict;
use warnings;
use Exporter 'import';
use SoakServer;
use SoakValues;

our @EXPORT = qw(catalog table_script);

# The genie operator classes, with their operators and options, and the settings.  top: the root of the source tree, whose sources tell the names
# of options; what an option may be, the server says.
sub catalog
{
	my ($session, $top) = @_;
	my $rows = sub { my $answer = $session->query($_[0]); die "$answer->{error}{M}: $_[0]\n" if $answer->{error}; return @{ $answer->{rows} }; };
	my @classes;
	foreach my $row ($rows->(q{SELECT c.oid, quote_ident(opcname), opcfamily, opcintype, format_type(opcintype, NULL),
			EXISTS (SELECT FROM pg_amproc WHERE amprocfamily = opcfamily AND amproclefttype = opcintype AND amprocnum = 5),
			EXISTS (SELECT FROM pg_amproc WHERE amprocfamily = opcfamily AND amproclefttype = opcintype AND amprocnum = 6),
			EXISTS (SELECT FROM pg_amproc WHERE amprocfamily = opcfamily AND amproclefttype = opcintype AND amprocnum = 4)
			FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'genie' AND pg_opclass_is_visible(c.oid) ORDER BY opcname}))
	{
		my (undef, $name, $family, $oid, $type, $learns, $approximate, $has_options) = @$row;
		my @operators = map { { strategy => $_->[0], purpose => $_->[1], name => $_->[2], right => $_->[3], counts => $_->[4] eq 't' } }
		  $rows->("SELECT amopstrategy, amoppurpose, oprname, format_type(amoprighttype, NULL), amopsortfamily = (SELECT oid FROM pg_opfamily WHERE opfname = 'integer_ops' AND opfmethod = 403)
			FROM pg_amop JOIN pg_operator o ON o.oid = amopopr WHERE amopfamily = $family AND amoplefttype = $oid ORDER BY 1, 4");
		# a coarse class, with signatures and match counts, answers as one that does not learn
		my $coarse = $approximate eq 't' && grep { $_->{strategy} == 2 } @operators;
		push @classes, { name => $name, type => $type, learns => $learns eq 't' && !$coarse, approximate => $approximate eq 't' && !$coarse, coarse => $coarse, has_options => $has_options eq 't', operators => \@operators, options => {} };
	}
	my %kinds;
	foreach my $text (map { SoakServer::slurp($_) } glob("$top/src/{types,classes,vectors}/*.c"))
	{
		$kinds{$2} = $1 while $text =~ /add_local_(\w+?)_reloption\(\s*\w+,\s*"(\w+)"/g;
	}
	my @settings = map { { name => $_->[0], type => $_->[1], context => $_->[2], low => $_->[3], high => $_->[4], words => [ split /,/, $_->[5] // '' ], boot => $_->[6] } }
	  $rows->(q{SELECT name, vartype, context, min_val, max_val, array_to_string(enumvals, ','), boot_val FROM pg_settings WHERE name LIKE 'genie.%' AND name !~ 'fault' ORDER BY name});
	my @searches = map { $_->[0] } $rows->("SELECT DISTINCT format_type(proargtypes[1], NULL) FROM pg_proc WHERE proname = 'genie_search' ORDER BY 1");
	return { classes => \@classes, option_kinds => \%kinds, settings => \@settings, searches => \@searches };
}

# Which options a class has, and between which values, by trying: of an option that is unknown, and of a value that is out of range, the server says so.
sub class_options
{
	my ($session, $catalog, $class, $column_type) = @_;
	return $class->{probed} if $class->{probed} || !$class->{has_options};
	my %found;
	$session->query("DROP TABLE IF EXISTS probed; CREATE TABLE probed (x $column_type)");
	foreach my $name (sort keys %{ $catalog->{option_kinds} })
	{
		my $kind = $catalog->{option_kinds}{$name};
		my $value = $kind eq 'bool' ? 'on' : $kind eq 'int' ? -2147483647 : '-1e300';
		my $said = $session->query("CREATE INDEX probed_x ON probed USING genie (x $class->{name} ($name = '$value')); DROP INDEX probed_x")->{error};
		next if $said && $said->{M} =~ /unrecognized parameter/;
		$found{$name} = { kind => $kind };
		@{ $found{$name} }{qw(low high)} = ($1, $2) if $said && ($said->{D} // '') =~ /between "([^"]+)" and "([^"]+)"/;
	}
	$session->query('DROP TABLE probed');
	return $class->{probed} = \%found;
}

sub random_options
{
	my ($options) = @_;
	my @set;
	foreach my $name (sort keys %$options)
	{
		next if maybe(0.7);
		my $option = $options->{$name};
		if ($option->{kind} eq 'bool') { push @set, "$name = " . pick('on', 'off'); next; }
		my ($low, $high) = ($option->{low} // 0, $option->{high} // 10);
		$high = 200 if $high > 200;
		push @set, "$name = " . ($option->{kind} eq 'int' ? numbers($low < 1 ? 1 : $low, $high) : sprintf('%.3g', $high <= 1 ? 0.05 + rand(0.9) : $low + 0.01 + rand() * ($high - $low)));
	}
	return join(', ', @set);
}

sub setting_value
{
	my ($setting) = @_;
	my $type = $setting->{type};
	return maybe(0.2) ? $setting->{boot} : $type eq 'bool' ? pick('on', 'off') : $type eq 'enum' ? pick(@{ $setting->{words} }) :
	  $type eq 'integer' ? numbers($setting->{low} < 1 ? 1 : $setting->{low}, $setting->{high} > 20000 ? 20000 : $setting->{high}) :
	  $type eq 'real' ? $setting->{low} + rand() * ($setting->{high} - $setting->{low}) : undef;
}

# Statements that set something at random; all of them hold for this session alone but those of the worker.
sub settings
{
	my ($catalog, $seldom) = @_;
	my @set;
	foreach my $setting (@{ $catalog->{settings} })
	{
		my $value = setting_value($setting);
		next if !defined $value || $setting->{type} eq 'string';
		if ($setting->{context} =~ /user/)
		{
			push @set, "SET $setting->{name} = '$value'" if maybe(0.4);
		}
		elsif ($setting->{context} eq 'sighup' && $seldom && maybe(0.3))
		{
			$value = $setting->{boot} if $setting->{name} =~ /memory/;
			$value = between(0, 3) if $setting->{name} =~ /threads/;
			push @set, "ALTER SYSTEM SET $setting->{name} = '$value'";
		}
	}
	push @set, 'SELECT pg_reload_conf()' if grep { /SYSTEM/ } @set;
	push @set, 'SET work_mem = ' . pick("'64kB'", "'256kB'", "'4MB'"), 'SET maintenance_work_mem = ' . pick("'1MB'", "'64MB'"), 'SET max_parallel_maintenance_workers = ' . pick(0, 2);
	return map { { kind => 'setting', sql => $_ } } @set;
}

# ---- operands ----

# SQL of a value that an operator compares the column with.
sub operands
{
	my ($operator, $class, $source, $n) = @_;
	my $type = $class->{type} =~ /^any/ ? $source->{type} : $class->{type} eq 'bit' ? $source->{type} : $class->{type};
	my $v = sub { return quoted($source->{query}->()) . "::$type"; };
	my $m = sub { return pick(0, 1, 1, 2, 3, 8); };
	my $similarity = sub { return pick(0, 0.1, '1.0 / 3', 0.5, 0.8, 1); };
	my $right = $operator->{right};
	# a query that asks for another family of values is refused
	my $element = $source->{element} // '';
	my $family = $element =~ /^int/ || $type eq 'genie_object' ? 'int' : $element =~ /^(text|varchar)$/ || $type =~ /^(tsvector|jsonb)$/ ? 'text' : '';
	my ($low, $high) = (between(-100000, 100000), between(-100000, 400000));
	return $v->() if $right eq $class->{type};
	return 'genie_object(' . $v->() . ')' if $right eq 'genie_object';
	return 'genie_edit_query(' . $v->() . ', ' . pick(0, 1, 2, 3, 8, 100) . ')' if $right eq 'genie_edit_query';
	return 'ROW(' . $v->() . ', ' . pick(0, 0.1, 1, 2.5, 8, 100) . ")::$right" if $right =~ /_ball$/;
	if ($right eq 'tsquery')
	{
		my @words = map { 'w' . between(0, 400) . pick('', '', '', ':*') } 1 .. between(1, 5);
		return quoted(join(' ', map { ($_ ? pick('&', '|', '|', '<->') : (), pick('', '', '', '!') . $words[$_]) } 0 .. $#words)) . '::tsquery';
	}
	if ($right eq 'genie_query')
	{
		my $grams = "genie_ngrams(" . $v->() . ", $n)";
		# an index of n-grams has no other keywords
		return ("genie_query($grams)", "genie_with_min_match(genie_query($grams), " . $m->() . ')', "genie_jaccard_query($grams, " . $similarity->() . ')') if $class->{type} eq 'text';
		return (
			'genie_query(' . $v->() . ')',
			'genie_query(' . $v->() . ', ' . $m->() . ')',
			'genie_with_min_match(genie_query(' . $v->() . '), ' . $m->() . ')',
			'genie_jaccard_query(' . $v->() . ', ' . $similarity->() . ')',
			'genie_with_min_match(genie_jaccard_query(' . $v->() . ', ' . $similarity->() . '), ' . $m->() . ')',
			$family eq 'int' ? ("genie_query('{[" . ($low < $high ? "$low,$high" : "$high,$low") . "),(,-90000],[7,8]}'::int4multirange)") : (),
			$family ? "'{0:$family:(,)}'::genie_query" : (), "genie_query('{}'::genie_object)");
	}
	return (quoted($source->{query}->()) . "::$right", $v->() . "::$right");
}

# Operators with operands that work: [operator, operand, SQL of the comparison]; which: o (order) or s (search).
sub asked
{
	my ($works, $class, $source, $which, $n, $times) = @_;
	my @operators = grep { $_->{purpose} eq $which } @{ $class->{operators} };
	my @asked;
	foreach (1 .. $times)
	{
		last if !@operators;
		my $operator = pick(@operators);
		my $operand = pick(operands($operator, $class, $source, $n));
		my $type = $class->{type} =~ /^any|^bit$/ ? $source->{type} : $class->{type};
		next if grep { !$works->(quoted($source->{query}->()) . "::$type $operator->{name} $operand") } 1 .. 3;	# of the same family
		push @asked, [ $operator, $operand, "x $operator->{name} " . (maybe(0.2) ? "(SELECT $operand)" : $operand), "$operator->{name} $operator->{right}" ];
	}
	return @asked;
}

# ---- changes ----

sub insert
{
	my ($table, $source, $n, $phase) = @_;
	my @statements;
	while ($n > 0)
	{
		my $few = $n > 300 ? 300 : $n;
		push @statements, "INSERT INTO $table (x) VALUES " . join(', ', map { '(' . quoted($source->{value}->($_, $phase)) . ')' } 1 .. $few);
		$n -= $few;
	}
	return @statements;
}

sub change
{
	my ($table, $source, $most, $create_index) = @_;
	my $every = pick(2, 3, 10, 50);
	my $some = "id % $every = " . between(0, $every - 1);
	my $of = sub { return insert($table, $source, numbers(1, $_[0]), 1); };
	my $literal = sub { return quoted($source->{value}->(1, 1)) . "::$source->{type}"; };
	my $update = sub { return "UPDATE $table SET x = CASE id % 3 WHEN 0 THEN " . $literal->() . ' WHEN 1 THEN ' . $literal->() . ' ELSE ' . $literal->() . " END, revision = revision + 1 WHERE $some"; };
	my $kind = between(1, 24);
	return $of->($most) if $kind <= 6;
	return $update->() if $kind <= 9;
	return "DELETE FROM $table WHERE $some" if $kind <= 11;
	return "SELECT genie_merge('${table}_x')" if $kind <= 14;
	return ("DELETE FROM $table WHERE $some", "VACUUM (INDEX_CLEANUP ON) $table", $of->($most)) if $kind <= 16;
	return "VACUUM (INDEX_CLEANUP ON) $table" if $kind == 17;
	return 'BEGIN; ' . join('; ', $of->($most)) . pick('; ROLLBACK', '; COMMIT') if $kind == 18;
	return 'BEGIN; ' . join('; ', $of->(3), 'SAVEPOINT a', $of->($most), $update->(), 'ROLLBACK TO a', $of->(5)) . '; COMMIT' if $kind == 19;
	return pick("REINDEX INDEX ${table}_x", "REINDEX INDEX CONCURRENTLY ${table}_x") if $kind == 20;
	return pick("VACUUM FULL $table", "VACUUM (FREEZE, ANALYZE) $table", "ANALYZE $table") if $kind == 21;
	return $create_index ? ("DROP INDEX ${table}_x", $create_index->()) : $update->() if $kind == 22;
	return pick("TRUNCATE $table", "DELETE FROM $table", "ALTER INDEX ${table}_x SET (pending_limit = 64)") if $kind == 23;
	return "SELECT genie_prewarm('${table}_x')";
}

# ---- the script ----

# A round's script.  session: one for questions about the catalog, none of which changes the table.  option: class (a name, else any), rows (at
# most), states (how often the table is changed and asked), one_index (which is never dropped), logged, unlogged (else either), read_only (no cursor that changes the table), ties (how to compare exact distances: exact, or ties).
sub table_script
{
	my ($session, $catalog, %option) = @_;
	my $table = $option{table} // 't';
	my $class = pick(grep { !$option{class} || $_->{name} eq $option{class} } @{ $catalog->{classes} });
	my $works = sub { return ($session->value('SELECT soak.works(' . quoted($_[0]) . ')') // '') eq 't'; };
	my $rows = pick(0, 1, 20, 100, 300, 300, 600, 1500);
	$rows = $option{rows} if $option{rows} && $rows > $option{rows};
	my $shape = pick('random', 'random', 'random', 'equal', 'scales', 'sorted', 'drift');
	my $source = value_source($class, $shape, $rows || 100, $works);
	return { class => $class, uncovered => "class $class->{name}: no values of type $class->{type}" } if !$source;

	my $options = class_options($session, $catalog, $class, $source->{type});
	my ($n, $created) = (3, 0);
	my $create_index = sub {
		my $with;
		foreach (1 .. 10)	# some options exclude each other
		{
			$with = $options ? random_options($options) : '';
			last if $with eq '';
			my $said = $session->query("CREATE TEMP TABLE tried (x $source->{type}); CREATE INDEX ON tried USING genie (x $class->{name} ($with))")->{error};
			$session->query('DROP TABLE IF EXISTS pg_temp.tried');
			last if !$said;
			$with = '';
		}
		$n = $with =~ /\bn = (\d+)/ ? $1 : 3;
		return 'CREATE INDEX ' . ($created++ && maybe(0.3) ? 'CONCURRENTLY ' : '') . "${table}_x ON $table USING genie (x $class->{name}" . ($with ne '' ? " ($with)" : '') . ')' . pick('', ' WITH (pending_limit = 64)');
	};
	my @script = map { { kind => 'change', sql => $_ } } ($option{unlogged} || !$option{logged} && maybe(0.25) ? 'CREATE UNLOGGED' : 'CREATE') . " TABLE $table (id serial, x $source->{type}, revision int DEFAULT 0)",
	  "CREATE INDEX ON $table (revision)", insert($table, $source, $rows, 0), $create_index->();
	my $large = !$option{rows} && maybe(0.01);
	push @script, { kind => 'change', sql => "INSERT INTO $table (x) SELECT x FROM $table, generate_series(1, " . int(70000 / ($rows + 1)) . ')' } if $large && $rows;

	my %covered;
	foreach my $state (1 .. $option{states} // between(2, 5))
	{
		push @script, settings($catalog, maybe(0.1));
		push @script, map { { kind => 'change', sql => $_ } } change($table, $source, $large ? 300 : $rows < 30 ? 30 : int($rows / 2), $option{one_index} ? undef : $create_index) for 1 .. between(0, 3);
		push @script, { kind => 'compare', sql => "SELECT * FROM soak.compare_check('${table}_x')" };
		push @script, compare($works, $catalog, $class, $source, $table, $n, \%covered, \%option) for 1 .. $option{asked} // ($large ? 2 : between(3, 8));
	}
	return { class => $class, script => \@script, covered => \%covered };
}

sub compare
{
	my ($works, $catalog, $class, $source, $table, $n, $covered, $option) = @_;
	my @order = asked($works, $class, $source, 'o', $n, 4);
	my @search = asked($works, $class, $source, 's', $n, 2);
	return if !@order;
	my ($order) = @order;
	my $how = $class->{approximate} ? 'approximate' : $order->[0]{counts} ? 'exact' : $option->{ties} // 'exact';
	my $filter = pick('true', 'true', 'true', 'id % 2 = 0', 'id % 97 = 3', 'id < 0', 'x IS NOT NULL', 'revision = 0', @search ? ($search[0][2]) x 3 : ());
	my @limits = (pick(1, 2, 5), pick(10, 10, 30, 100), pick(128, 150, 200, 1000), 'NULL');
	splice(@limits, int(rand(@limits)), 1) for 1 .. between(0, 2);
	my $text = sub { return quoted($_[0]); };
	my $list = sub { return 'ARRAY[' . join(', ', map { quoted($_) } @_) . ']'; };
	$covered->{ $_->[3] } = 1 foreach @order[ 0 .. 0 ], @search;
	my @made = "soak.compare_order('$how', '$table', " . $text->($order->[2]) . ', ' . $text->($filter) . ', ARRAY[' . join(', ', @limits) . ']::int[])';
	push @made, "soak.compare_condition('$table', " . $text->(pick($search[0][2], $search[0][2], "$search[0][2] AND id % 3 = 1", join(pick(' AND ', ' OR '), map { $_->[2] } @search))) . ')' if @search;

	my @alike = grep { $_->[3] eq $search[0][3] } @search;
	push @made, "soak.compare_condition('$table', " . $text->("x $search[0][0]{name} ANY (ARRAY[" . join(', ', map { $_->[1] } @alike, @alike[ 0 .. between(0, 1) - 1 ]) . "])" . pick('', '', ' AND id % 3 = 1')) . ')' if @search && !$class->{learns};
	push @made, map { "soak.compare_count('$table', " . $text->($_->[1]) . ')' } grep { $_->[0]{right} eq 'genie_query' } @search;

	if (maybe(0.5))
	{
		my @queries = grep { $_->[3] eq $order->[3] } @order;
		my $k = pick(1, 5, 10, 60, 300, 1000);
		push @made, "soak.compare_lateral('$how', '$table', " . $text->("x $order->[0]{name} \$q") . ', ' . $list->(map { $_->[1] } @queries) . ", $k)";
		foreach my $search (@{ $catalog->{searches} })
		{
			my $any = $search eq 'anyarray';
			my $element = $any ? $order->[0]{right} : $search =~ s/\[\]$//r;
			next if $any ? $order->[0]{counts} || $element =~ /^any|^bit$|\[\]$/ : $class->{learns} ? !grep { $_->{right} eq $element || $_->{right} eq $search || $_->{right} eq 'vector' && $element eq 'real' } @{ $class->{operators} } : $element ne 'genie_query';
			foreach my $form ('%s', "%s::${element}[]", 'genie_object(%s)')
			{
				next if $class->{type} ne 'genie_object' && $order->[0]{right} ne $class->{type} && $form ne '%s';
				my @forms = map { sprintf($form, $_->[1]) } @queries;
				my $array = 'ARRAY[' . join(', ', @forms) . ']' . ($any ? "::${element}[]" : '');
				next unless $works->("1 / (pg_typeof($array)::text = " . ($any ? "'${element}[]'" : "'$search'") . " AND coalesce(array_length($array, 1), 0) = " . @forms . ")::int");
				my ($match, $call) = ($element eq 'genie_query' ? '-match' : 'match', "genie_search('${table}_x', $array, $k)");
				push @made, "soak.compare_call('$how', '$table', " . $text->("(SELECT query, tid, $match, n FROM $call WITH ORDINALITY s (query, tid, match, n))") . ', ' . $list->(map { "x $order->[0]{name} $_->[1]" } @queries) . ", 'true', $k)"
				  if $order->[0]{counts} || $class->{learns} || $any;
				last;
			}
		}
		push @made, "soak.compare_call('exact', '$table', " . $text->("(SELECT query, tid, d, n FROM genie_exact_knn('${table}_x', ARRAY[" . join(', ', map { $_->[1] } @queries) . "], $k) WITH ORDINALITY s (query, tid, d, n))")
		  . ', ' . $list->(map { "x $order->[0]{name} $_->[1]" } @queries) . ", 'x IS NOT NULL', $k)" if $class->{learns} && $source->{type} =~ /^(real|double precision)\[\]$/;
	}
	if (!$option->{read_only} && maybe(0.15))
	{
		my @changes = map { pick("SELECT genie_merge('${table}_x')", "DELETE FROM $table WHERE id % 5 = " . between(0, 4), insert($table, $source, between(1, 40), 1), 'SET LOCAL genie.candidates = ' . numbers(1, 500)) } 1 .. between(1, 3);
		@changes = grep { !/^SET LOCAL/ || $how ne 'exact' } @changes;
		push @made, "soak.compare_cursor('$how', '$table', " . $text->($order->[2]) . ', ' . $text->($filter) . ', ARRAY[' . join(', ', map { numbers(1, 200) } 1 .. between(1, 3)) . '], ' . (@changes ? $list->(@changes) : "'{}'") . ')';
	}
	return map { { kind => 'compare', sql => "SELECT * FROM $_" } } @made;
}

1;
