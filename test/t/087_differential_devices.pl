# The differential test (030) twice more, on devices (test/engine): images small, which is codes alone or lists in chunks, and full.
# Both times an image of 100,000 bytes or more is cut between several devices.  Shared memory has room for few images at a
# time, so that some are evicted while others are asked.  Nothing is streamed here, for a few queries on images this small are
# faster by the CPU: 081, 086.  Images that live on devices alone: 084.
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
	my ($name, $devices, $only, @settings) = @_;
	my ($cuda, $library) = fake_engine();
	order("$devices cut 100000");
	$ENV{GENIE_TEST_NAME} = $name;
	$ENV{GENIE_TEST_ONLY} = $only;
	$ENV{GENIE_TEST_CONF} = worker_settings($cuda, $library, 'genie.shared_memory = 4MB', @settings);
	do "$FindBin::RealBin/030_differential.pl" or die $@ || $!;
	return;
}

differential('small', 'devices 3 memory 600000', '.', 'genie.image = small');
cmp_ok(scalar(grep { /^batch/ } told()), '>', 1000, 'the first device counted');
for my $device (1, 2)
{
	cmp_ok(scalar(grep { /^$device: batch/ } told()), '>', 50, "device $device counted");
}
differential('full', 'devices 2', '^(?!arrays|tuples)', 'genie.image = full');
cmp_ok(scalar(grep { /^1: batch/ } told()), '>', 50, 'the second device counted');
done_testing();
