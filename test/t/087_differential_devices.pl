# The differential test (030) on devices (test/engine), by where images are:
#
#	small		codes alone, or lists in chunks; those of 100,000 bytes or more are cut between three devices
#	full		the same, of full images, between two
#	streamed	one device, which has no room for the image of several tiles, so that it comes piece by piece
#	alone		two devices; the image of long rows has no room in shared memory, so it is on devices alone
#
# Shared memory has room for few images at a time, so that some are evicted while others are asked.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use Test::More;

once();
$ENV{GENIE_TEST_GOES_ON} = 1;
sub differential
{
	my ($name, $devices, $only, $times, @settings) = @_;
	my ($cuda, $library) = fake_engine();
	order("$devices cut 100000");
	$ENV{GENIE_TEST_NAME} = $name;
	$ENV{GENIE_TEST_ONLY} = $only;
	$ENV{GENIE_TEST_TIMES} = $times;
	$ENV{GENIE_TEST_CONF} = worker_settings($cuda, $library, 'genie.shared_memory = 4MB', 'genie.cpu_threads = 1', @settings);
	do "$FindBin::RealBin/030_differential.pl" or die $@ || $!;
	return;
}
sub times_told { my ($what) = @_; return scalar(grep { /$what/ } told()); }

differential('small', 'devices 3 memory 600000', '.', 1, 'genie.image = small');
cmp_ok(times_told('^batch'), '>', 1000, 'the first device counted');
cmp_ok(times_told("^$_: batch"), '>', 50, "device $_ counted") foreach 1, 2;
differential('full', 'devices 2', '^(?!arrays|tuples)', 1, 'genie.image = full');
cmp_ok(times_told('^1: batch'), '>', 50, 'the second device counted');
differential('streamed', 'devices 1 memory 1200000', '^shape tiles', 2, 'genie.image = small');
cmp_ok(times_told('^prefetch'), '>', 100, 'pieces were copied ahead');
differential('alone', 'devices 2', '^shape wide', 15, 'genie.loaders = 2');
cmp_ok(times_told('^stage'), '>', 1, 'an image was copied to devices alone');
cmp_ok(times_told('^1: batch'), '>', 20, 'the second device counted');
done_testing();
