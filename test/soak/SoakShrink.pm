# SoakShrink: a failing script made shorter, by leaving out what the failure does not need.
#
# First statements, then rows of INSERTs, then items of the values (delta debugging, Zeller and Hildebrandt 2002): ever smaller parts are left out, as long as
# what remains fails in the same way.
package SoakShrink;

use strict;
use warnings;
use Time::HiRes qw(time);

# What kind of failure a message is: its words without names and numbers.
sub kind_of
{
	my ($wrong) = @_;
	my ($first) = split /\n/, $wrong;
	$first = $1 if $first =~ /^(error \w+: .{0,60})/;
	return join(' ', grep { defined } (map { s/"[^"]*"|'[^']*'//gr =~ s/-?\d[\d.e+]*/N/gr } $first =~ s/: .*//sr));
}

# Leaves out as many items of the list as it can: fails(items) tells whether what remains still fails.
sub reduce
{
	my ($fails, $until, @items) = @_;
	my $parts = 2;
	while (@items > 1 && time < $until)
	{
		my $size = int((@items + $parts - 1) / $parts);
		my $reduced = 0;
		for (my $at = $#items - ($#items % $size); $at >= 0 && time < $until; $at -= $size)
		{
			my $end = $at + $size - 1 > $#items ? $#items : $at + $size - 1;
			my @rest = @items[ grep { $_ < $at || $_ > $end } 0 .. $#items ];
			next if !@rest || !$fails->(@rest);
			@items = @rest;
			$reduced = 1;
			last if $at > $#items;
		}
		if (!$reduced)
		{
			last if $size == 1;
			$parts = $parts * 2 > @items ? scalar(@items) : $parts * 2;
		}
		$parts = 2 if $parts < 2;
	}
	return @items;
}

# The parts of a list in text, split at commas that are outside of quotes, parentheses and braces.
sub split_list
{
	my ($text) = @_;
	my ($depth, @parts) = (0, '');
	while ($text =~ /\G('(?:[^']|'')*'|"(?:\\.|[^"\\])*"|[({\[]|[)}\]]|,\s*|[^'"(){}\[\],]+|.)/gs)
	{
		my $token = $1;
		$depth++ if $token =~ /^[({\[]$/;
		$depth-- if $token =~ /^[)}\]]$/;
		if ($depth == 0 && $token =~ /^,\s*$/) { push @parts, ''; next; }
		$parts[-1] .= $token;
	}
	return @parts;
}

sub shrink
{
	my ($fails, $seconds, @script) = @_;
	my $until = time + $seconds;
	return @script if !$fails->(@script);
	@script = reduce($fails, $until, @script);
	foreach my $i (reverse 0 .. $#script)
	{
		my $sql = $script[$i]{sql};
		my $with = sub { my ($new) = @_; my @new = @script; $new[$i] = { kind => $script[$i]{kind}, sql => $new }; return @new; };
		if ($sql =~ /^(INSERT INTO \w+ \(x\) VALUES )(.*)$/s)
		{
			my ($head, $values) = ($1, $2);
			my @rows = reduce(sub { return $fails->($with->($head . join(', ', @_))); }, $until, split_list($values));
			@script = $with->($head . join(', ', @rows));
			last if @rows > 40;
			foreach my $r (0 .. $#rows)
			{
				next unless $rows[$r] =~ /^\('\{(.*)\}'\)$/s;
				my @row = reduce(sub { my @new = @rows; $new[$r] = "('{" . join(',', @_) . "}')"; return $fails->($with->($head . join(', ', @new))); }, $until, split_list($1));
				$rows[$r] = "('{" . join(',', @row) . "}')";
				@script = $with->($head . join(', ', @rows));
			}
		}
		elsif ($sql =~ /^(SELECT \* FROM soak\.compare_order\(.*, ARRAY\[)([^\]]*)(\]::int\[\]\))$/s)
		{
			my ($head, $list, $tail) = ($1, $2, $3);
			my @limits = reduce(sub { return $fails->($with->($head . join(', ', @_) . $tail)); }, $until, split /, /, $list);
			@script = $with->($head . join(', ', @limits) . $tail);
		}
	}
	return @script;
}

1;
