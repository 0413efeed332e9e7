# GeniePage: pages of an index as bytes, for tests that damage them.
package GeniePage;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(with_checksum);

# A page of an index with the checksum that it should have (genie_page.h), if it looks like one of genie's: damage that only other
# checks than the checksum's can find.
my @crc_table = map { my $c = $_; $c = $c & 1 ? 0x82F63B78 ^ ($c >> 1) : $c >> 1 foreach 1 .. 8; $c } 0 .. 255;
sub with_checksum
{
	my ($page, $block) = @_;
	my $end = unpack('S<', substr($page, 12, 2));
	my $crc = 0xFFFFFFFF;

	return $page if substr($page, 8190, 2) ne "\x9E\xFF" || $end < 24 || $end > 8176;
	$crc = $crc_table[ ($crc ^ $_) & 0xFF ] ^ ($crc >> 8) foreach unpack('C*', pack('L<', $block) . substr($page, 8176) . substr($page, 24, $end - 24));
	substr($page, 20, 4) = pack('L<', $crc ^ 0xFFFFFFFF);
	return $page;
}

1;
