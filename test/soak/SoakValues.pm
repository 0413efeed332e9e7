# SoakValues: random values as literals, by the type of a column.
#
# A source makes the values of one column: sets of elements of one type, vectors of one length, texts over one alphabet.  Its shape says how they
# lie: random, all equal, of two scales, sorted, or somewhere else after the index was built.  Values come near each other, for a
# table of unrelated ones tells nothing about order.  A type that has no source of its own gets literals of the pool that its input takes.
package SoakValues;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(pick between maybe quoted numbers value_source);

sub pick { return $_[ int(rand(@_)) ]; }
sub between { my ($low, $high) = @_; return $low + int(rand($high - $low + 1)); }
sub maybe { return rand() < $_[0]; }
sub quoted { my ($text) = @_; return defined $text ? "'" . ($text =~ s/'/''/gr) . "'" : 'NULL'; }

# a whole number from low to high, small ones more often
sub numbers { my ($low, $high) = @_; return int($low - 1 + exp(rand() * log($high - $low + 2))); }

# Elements of arrays: what the integer i stands for.
my %elements = (
	int4 => sub { return $_[0] * 7919 % 2_000_000_000 - 100000; },
	int2 => sub { return ($_[0] * 7) % 60000 - 30000; },
	int8 => sub { return ($_[0] - 20) * 12345678901; },
	text => sub { my $i = $_[0]; return chr(97 + $i % 26) . ($i % 11 == 0 ? '' : $i) . ($i % 13 == 5 ? 'é"\\ ,' x ($i % 60) : ''); },
	varchar => sub { return $_[0] == 1 ? '' : ('é' x ($_[0] % 55)) . $_[0]; },
	numeric => sub { my $i = $_[0]; return $i == 0 ? 'NaN' : $i == 1 ? 'Infinity' : $i == 2 ? '1e100' : ($i - 30) / (1 << $i % 4); },
	float8 => sub { my $i = $_[0]; return $i == 0 ? 'NaN' : $i == 1 ? '-Infinity' : $i == 2 ? '-0' : $i == 3 ? '0' : ($i - 30) / 8; },
	float4 => sub { my $i = $_[0]; return $i == 0 ? 'NaN' : $i == 2 ? '-0' : $i == 3 ? '0' : $i / 8; },
	bool => sub { return $_[0] % 2 ? 't' : 'f'; },
	date => sub { return $_[0] == 0 ? 'infinity' : sprintf('%04d-%02d-%02d', 1 + $_[0] % 3000, 1 + $_[0] % 12, 1 + $_[0] % 28); },
	timestamptz => sub { return sprintf('%04d-01-%02d 12:00:00.5+00', 1 + $_[0] % 3000, 1 + $_[0] % 28); },
	uuid => sub { return sprintf('%08x-0000-4000-8000-%012x', $_[0] * 2654435761 % 4294967296, $_[0]); },
	inet => sub { return join('.', 10, $_[0] >> 16 & 255, $_[0] >> 8 & 255, $_[0] & 255); },
	bytea => sub { return '\\x' . ('0f' x ($_[0] % 160)) . sprintf('%04x', $_[0] % 65536); },
	jsonb => sub { return "{\"n\": $_[0]}"; },
	soak_mood => sub { return ('sad', 'ok', 'happy', 'a mood with blanks', 'E', '')[ $_[0] % 6 ]; });

sub array_literal
{
	return '{' . join(',', map { !defined $_ ? 'NULL' : /^[-\w.]+$/ && !/^null$/i ? $_ : '"' . (s/(["\\])/\\$1/gr) . '"' } @_) . '}';
}

# Sets of integers: one of a few bases with some changes.  Returns a function of the row's number and the phase (0 before the build, 1 after).
sub set_source
{
	my ($shape, $rows) = @_;
	my ($domain, $most, $skew) = (pick(8, 60, 400, 20000), pick(3, 8, 25, 80), pick(1, 2, 4));
	my $draw = sub { return int($domain * rand()**$skew); };
	my @bases = map { [ map { $draw->() } 1 .. between(0, $most) ] } 1 .. pick(1, 5, 30);
	return sub {
		my ($i, $phase) = @_;
		my @set = @{ $shape eq 'equal' ? $bases[0] : pick(@bases) };
		if ($shape ne 'equal' || maybe(0.02))
		{
			splice(@set, int(rand(@set + 1)), 1) for 1 .. numbers(0, 4);
			push @set, $draw->() for 1 .. numbers(0, 4);
		}
		@set = map { $_ + $domain } @set if $shape eq 'drift' && $phase;
		@set = map { $_ * 1000 } @set if $shape eq 'scales' && $i % 2;
		@set = map { $_ + $i } @set if $shape eq 'sorted';
		@set = map { $draw->() + $_ } 1 .. pick(500, 3000) if maybe(0.3 / $rows);
		return @set;
	};
}

sub vector_source
{
	my ($shape, $dimensions) = @_;
	my $gauss = sub { return sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand()); };
	my @centres = map { [ map { 10 * $gauss->() } 1 .. $dimensions ] } 1 .. pick(1, 4, 20);
	my $whole = maybe(0.3);
	my $radius = pick(0, 0.001, 1, 10);
	return sub {
		my ($i, $phase) = @_;
		my @v = @{ $shape eq 'equal' ? $centres[0] : pick(@centres) };
		@v = map { $_ + $radius * $gauss->() } @v if $shape ne 'equal' || maybe(0.02);
		@v = map { $_ + $i / 10 } @v if $shape eq 'sorted';
		@v = map { $_ * 1000 } @v if $shape eq 'scales' && $i % 2;
		@v = map { $_ * 50 + 1000 } @v if $shape eq 'drift' && $phase;
		@v = map { 0 } @v if maybe(0.01);
		return map { $whole ? int($_) : sprintf('%.6g', $_) } @v;
	};
}

my @alphabets = ('ab', 'abcdefghijklmnopqrstuvwxyz', 'ACGT', '0123456789abcdef', "aàáâbßcç€d𝄞e日本語 '\\\"{}");

sub text_source
{
	my ($shape, $rows) = @_;
	my $alphabet = pick(@alphabets);
	utf8::decode($alphabet);
	my @letters = split //, $alphabet;
	my $most = pick(3, 10, 40, 120);
	my $word = sub { my ($n) = @_; return join('', map { pick(@letters) } 1 .. $n); };
	my @bases = map { $word->(between(0, $most)) } 1 .. pick(1, 5, 30);
	return sub {
		my ($i, $phase) = @_;
		my $text = $shape eq 'equal' ? $bases[0] : pick(@bases);
		foreach (1 .. ($shape eq 'equal' && maybe(0.98) ? 0 : numbers(0, 5)))
		{
			substr($text, int(rand(1 + length $text)), maybe(0.6) ? 1 : 0) = maybe(0.7) ? pick(@letters) : '';
		}
		$text = scalar reverse($text) . $word->(3) if $shape eq 'drift' && $phase;
		$text = $text x 8 if $shape eq 'scales' && $i % 2;
		$text = $text . $i if $shape eq 'sorted';
		$text = $word->(pick(500, 3000)) if maybe(0.3 / $rows);
		utf8::encode($text);
		return $text;
	};
}

# Trees in bracket notation: of some bases, with labels changed and subtrees added.
sub tree_source
{
	my ($shape, $rows) = @_;
	my @labels = ('a' .. pick('b', 'f', 'z'), '', '\\{', 'long label ' x 40);
	my $make;
	$make = sub {
		my ($n) = @_;
		my $tree = '{' . pick(@labels);
		$n--;
		while ($n > 0)
		{
			my $below = between(1, $n);
			$tree .= $make->($below);
			$n -= $below;
		}
		return "$tree}";
	};
	my $most = pick(3, 10, 30);
	my @bases = map { $make->(between(1, $most)) } 1 .. pick(1, 5, 30);
	return sub {
		my ($i, $phase) = @_;
		my $tree = $shape eq 'equal' ? $bases[0] : pick(@bases);
		foreach (1 .. ($shape eq 'equal' && maybe(0.98) ? 0 : numbers(0, 4)))
		{
			my @ends = (0);
			push @ends, pos($tree) while $tree =~ /(?<!\\)\}/g;
			substr($tree, pick(@ends[ 1 .. $#ends ]) - 1, 0) = $make->(pick(1, 1, 3));
		}
		$tree = "{z$tree}" if $shape eq 'drift' && $phase;
		$tree = "{$i$tree}" if $shape eq 'sorted';
		$tree = '{' . $tree x 8 . '}' if $shape eq 'scales' && $i % 2;
		$tree = $make->(pick(200, 800)) if maybe(0.3 / $rows);
		return $tree;
	};
}

sub json_value
{
	my ($depth, @numbers) = @_;
	my $kind = between(0, $depth > 0 ? 6 : 3);
	my $n = pick(@numbers, 1);
	return $n if $kind == 0;
	return "\"w$n\"" if $kind == 1;
	return pick('true', 'false', 'null', '{}', '[]') if $kind == 2;
	return $n / 4 if $kind == 3;
	return '[' . join(', ', map { json_value($depth - 1, @numbers) } 1 .. between(0, 4)) . ']' if $kind == 4;
	return '{' . join(', ', map { "\"k" . pick(@numbers, 2) % 7 . "$_\": " . json_value($depth - 1, @numbers) } 1 .. between(0, 4)) . '}';
}

# For a type that has no source: literals of all kinds, of which its input function takes some.
sub pool
{
	my ($dimensions) = @_;
	my $v = vector_source('random', $dimensions);
	my @pool;
	foreach my $i (1 .. 60)
	{
		push @pool, '[' . join(',', $v->($i, 0)) . ']', $i * 37 % 100, "w$i", "{$i," . $i % 7 . '}', sprintf('%b', $i * 17 % 64), "\"k\"=>\"$i\"",
		  "($i," . $i % 5 . ')', "[$i," . ($i + 5) . ')', "{\"k\": $i}", "2001-01-" . sprintf('%02d', 1 + $i % 28), "a.b$i.c", "{{$i,2},{3,4}}",
		  sprintf('%08x-0000-4000-8000-000000000000', $i);
	}
	return @pool;
}

# The source of a class's values.  works: a function that tells whether SQL works.  Returns { type: the column's, dimensions,
# element: of arrays, value: a function of (row, phase) that gives a literal or undef for NULL }, or nothing.
sub value_source
{
	my ($class, $shape, $rows, $works) = @_;
	my $type = $class->{type};
	my %source = (type => $type, shape => $shape);
	my $value;
	if ($type eq 'anyarray')
	{
		my $element = pick(sort keys %elements);
		my $set = set_source($shape, $rows);
		$source{type} = ($source{element} = $element) . '[]';
		$value = sub { my @set = map { $elements{$element}->(abs $_) } $set->(@_); push @set, undef if maybe(0.03); return array_literal(@set); };
	}
	elsif ($type =~ /^(real|double precision)\[\]$/)
	{
		$source{dimensions} = pick(1, 2, 3, 8, 16, 33, 64);
		my $vector = vector_source($shape, $source{dimensions});
		$value = sub { return array_literal($vector->(@_)); };
	}
	elsif ($type eq 'bit' || $type eq 'bit varying')
	{
		my $n = $source{dimensions} = pick(1, 8, 33, 64, 200);
		my @bases = map { [ map { between(0, 1) } 1 .. $n ] } 1 .. pick(1, 6, 30);
		$source{type} = "$type($n)";
		$value = sub { my @bits = @{ pick(@bases) }; $bits[ rand @bits ] ^= 1 for 1 .. ($shape eq 'equal' ? 0 : numbers(0, $n)); return join('', @bits); };
	}
	elsif ($type eq 'text' || $type eq 'character varying')
	{
		$source{type} = pick('text', 'varchar') if $type eq 'text';
		my $trees = grep { $_->{right} eq 'tree_ball' } @{ $class->{operators} };
		$value = $trees ? tree_source($shape, $rows) : text_source($shape, $rows);
	}
	elsif ($type eq 'tsvector')
	{
		my $set = set_source($shape, $rows);
		$value = sub { return join(' ', map { 'w' . (abs $_) % 5000 . pick('', '', ':3A', ':1,7B') } $set->(@_)); };
	}
	elsif ($type eq 'jsonb')
	{
		my $set = set_source($shape, $rows);
		$value = sub { my @set = map { abs } $set->(@_); return '{' . join(', ', map { "\"k" . $_ % 9 . '": ' . json_value(2, @set) } @set[ 0 .. ($#set < 5 ? $#set : 5) ]) . '}'; };
	}
	elsif ($type eq 'genie_object')
	{
		my $set = set_source($shape, $rows);
		my $dimensions = pick(1, 5, 40);
		my $tuples = $class->{coarse} || maybe(0.5);
		$value = sub {
			my %seen;
			return '{' . join(',', map { my $d = abs($_) % $dimensions; $tuples && $seen{$d}++ ? () : "$d:" . ($d % 3 == 2 ? "text:\"w$_\"" : "int:$_") } $set->(@_)) . '}';
		};
	}
	else
	{
		my @literals = grep { $works->(quoted($_) . "::$type") } pool(4);
		return if !@literals;
		$value = sub { return pick(@literals); };
	}
	my $nulls = pick(0, 0.02, 0.02, 0.3);
	my @recent;
	$source{value} = sub {
		return undef if maybe($nulls);
		return pick(@recent) if @recent > 5 && maybe(0.1);
		my $made = $value->(@_);
		push @recent, $made;
		shift @recent if @recent > 50;
		return $made;
	};
	$source{query} = sub { return pick(@recent) if @recent && maybe(0.3); return $value->(between(0, $rows), pick(0, 1)); };
	return \%source;
}

1;
