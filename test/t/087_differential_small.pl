# The differential test (030) once more, where images are small: codes alone, or lists in chunks.  The fake engine counts (test/engine), so that what a GPU
# declines goes to the worker's CPU, and what finds no room in a device's memory, too.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use Test::More;

my ($cuda, $library) = fake_engine();
order('memory 150000');
$ENV{GENIE_TEST_CONF} = worker_settings($cuda, $library, 'genie.image = small', 'genie.shared_memory = 64MB');
$ENV{GENIE_TEST_GOES_ON} = 1;
do "$FindBin::RealBin/030_differential.pl" or die $@ || $!;
cmp_ok(scalar(grep { /^batch/ } told()), '>', 1000, 'the fake engine counted');
done_testing();
