# A short soak of fixed seeds: random tables, crashes, errors, power failures, mutated bytes and damaged pages (test/soak).  Rounds are counted, not timed, so
# that a run does the same on every machine, apart from when a process is killed.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'the soak has servers of its own, with the worker and without' if $ENV{GENIE_TEST_CONF};

my $folder = PostgreSQL::Test::Utils::tempdir();
foreach my $soak ([ 1, 'compare', 8 ], [ 2, 'crash', 1 ], [ 3, 'error', 2 ], [ 4, 'standby', 1 ], [ 5, 'binary', 1 ], [ 6, 'power', 1 ], [ 7, 'damage', 1 ])
{
	my ($seed, $kind, $rounds) = @$soak;
	my $said = `$ENV{TESTDIR}/test/soak/soak --seed $seed --only $kind --rounds $rounds --dir $folder 2>&1`;
	is($?, 0, "$kind, seed $seed") or diag($said);
	like($said, qr/^soak: seed $seed, .* 0 wrong;/m, 'nothing is wrong') and note($said =~ /^(soak: .*)/m);
}

done_testing();
