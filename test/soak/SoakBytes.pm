# SoakBytes: bytes that were right, changed: values as clients send them, and pages of an index.
package SoakBytes;

use strict;
use warnings;
use Exporter 'import';
use FindBin;
use lib "$FindBin::RealBin/../t";
use GeniePage;
use SoakValues;

our @EXPORT = qw(mutated damaged);

use constant { BLOCK => 8192, PAYLOAD => 24, SPECIAL => 8176 };

# One of the samples, with one to four changes.
sub mutated
{
	my (@samples) = @_;
	my $value = pick(@samples);
	foreach (1 .. numbers(1, 4))
	{
		my $at = int(rand(1 + length $value));
		my $kind = between(1, 5);
		if ($kind <= 2 && $at < length $value) { substr($value, $at, 1) = chr(pick(0, 1, 127, 128, 255, between(0, 255))); }
		elsif ($kind == 3) { substr($value, $at, 0) = join('', map { chr(between(0, 255)) } 1 .. numbers(1, 8)); }
		elsif ($kind == 4) { substr($value, $at, numbers(1, 8)) = '' if $at < length $value; }
		else { $value .= substr(pick(@samples), -($at % 7)); }
	}
	return $value;
}

# The page with a change behind which no writer of genie stands: of its contents, their length, its kind, owner or successor.
sub damaged_page
{
	my ($page, @others) = @_;
	my $end = unpack('S<', substr($page, 12, 2));
	my $at = $end > PAYLOAD && $end <= SPECIAL ? between(PAYLOAD, $end - 1) : PAYLOAD;
	my $number = sub { return pick(0, 1, 2, 255, 65535, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF, scalar(@others), numbers(1, 1 << 30)); };
	my $kind = between(1, 12);
	my $bytes = $kind <= 5 ? join('', map { chr(pick(0, 1, 127, 128, 255, between(0, 255))) } 1 .. numbers(1, 4)) :	# here and there a number
	  $kind <= 7 ? pack('L<', $number->()) . pick('', pack('L<', $number->())) :
	  $kind == 8 ? "\xFF" x between(1, 9) . pick('', "\x01") :													# the longest varints
	  substr($page, between(PAYLOAD, $at), between(1, 40));														# another part of it
	if ($kind <= 9) { substr($page, $at, length $bytes) = $bytes; }
	elsif ($kind == 10) { substr($page, $at, 0) = $bytes; substr($page, SPECIAL - length($bytes), length $bytes) = ''; }
	elsif ($kind == 11) { substr($page, 12, 2) = pack('S<', pick(PAYLOAD, PAYLOAD + 1, SPECIAL, between(PAYLOAD, SPECIAL), $at)); }
	elsif (maybe(0.5)) { my $other = pick(@others); substr($page, PAYLOAD) = substr($other, PAYLOAD) if length $other == BLOCK; }
	else { my $field = pick([ 0, 8 ], [ 8, 4 ], [ 12, 1 ], [ 13, 1 ]); substr($page, SPECIAL + $field->[0], $field->[1]) = substr(pack('L<L<', $number->(), pick(0, $number->())), 0, $field->[1]); }
	return substr($page, 0, BLOCK);
}

# An index's file with one to four pages damaged, whose checksums are right.
sub damaged
{
	my ($file) = @_;
	my @pages = unpack('(a' . BLOCK . ')*', $file);
	foreach (1 .. numbers(1, 4))
	{
		my $block = maybe(0.1) ? 0 : int(rand(@pages));
		$pages[$block] = with_checksum(damaged_page($pages[$block], @pages), $block);
	}
	return join('', @pages);
}

1;
