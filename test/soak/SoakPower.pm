# SoakPower: a cluster whose disk forgets what was not synced (power.c), and power failures.
#
# After a failure each block of 8 kB that was written and not synced is lost or not, as the disk likes: in one failure all are lost, in another
# some, in another none.  pg_control is as it was synced; PostgreSQL relies on that.
package SoakPower;

use strict;
use warnings;
use parent -norequire, 'SoakServer';
use File::Find;
use POSIX ();
use SoakServer;
use SoakValues;
use Time::HiRes qw(usleep);

use constant BLOCK => 8192;

# Options as of SoakServer; also forget: a part of the path of files that are never taken for synced, and source: of the shim.
sub new
{
	my ($class, %option) = @_;
	my $library = "$option{root}/power.so";
	system('cc', '-O2', '-shared', '-fPIC', '-o', $library, $option{source}, '-ldl') == 0 or die "the shim does not compile\n" unless -e $library;
	my $minimal = maybe(0.5);
	my $self = $class->SUPER::new(%option, start => 0, initdb => ['--wal-segsize=1'], conf => [ @{ $option{conf} // [] }, 'fsync = on', 'shared_buffers = 1MB', 'max_wal_size = 4MB', 'min_wal_size = 2MB',
			'checkpoint_timeout = 30s', 'bgwriter_delay = 10ms', 'wal_keep_size = 0', 'wal_sync_method = fdatasync', 'recovery_init_sync_method = syncfs', $minimal ? ('wal_level = minimal', 'max_wal_senders = 0', 'wal_skip_threshold = 64kB') : () ]);
	$self->{disk} = "$self->{dir}/disk";
	$self->{env} = { LD_PRELOAD => $library, POWER_DATA => $self->{data}, POWER_DISK => $self->{disk}, defined $option{forget} ? (POWER_FORGET => $option{forget}) : () };
	$self->replace($self->{data}, $self->{disk});
	return $self->start;
}

sub replace
{
	my ($self, $from, $to) = @_;
	system('rm', '-rf', $to) == 0 && system('cp', '-a', $from, $to) == 0 or die "could not copy $from\n";
	return;
}

sub fail
{
	my ($self) = @_;
	my @all = keys %{ { $self->processes } };
	kill 'STOP', @all;
	kill 'KILL', @all;
	foreach (1 .. 500)
	{
		last if !grep { kill(0, $_) && SoakServer::slurp("/proc/$_/stat") !~ /\) Z/ } @all;
		usleep(10_000);
	}
	$self->keep_some(pick(0, 0, 0.1, 0.5, 0.9, 1));
	$self->replace($self->{disk}, $self->{data});
	unlink "$self->{data}/postmaster.pid";
	return;
}

# Gives the disk this share of the blocks that were not synced.
sub keep_some
{
	my ($self, $share) = @_;
	return if !$share;
	my $root = $self->{data};
	find({ no_chdir => 1, wanted => sub {
		my $path = substr($File::Find::name, length $root);
		return if !-f $File::Find::name || $path =~ m{/(pg_control|postmaster\.\w+|.*\.power\d+)$|pgsql_tmp};
		my $disk = "$self->{disk}$path";
		my ($new, $old) = (SoakServer::slurp($File::Find::name), -e $disk ? SoakServer::slurp($disk) : undef);
		return if defined $old && $old eq $new || !defined $old && !maybe($share);
		my ($long, $short) = length($new) > length($old // '') ? ($new, $old // '') : ($old // '', $new);
		my $size = maybe($share) ? length $new : length($old // '');
		my $mixed = '';
		for (my $at = 0; $at < $size; $at += BLOCK)
		{
			my $from = maybe($share) && $at < length $new ? $new : $old // '';
			my $block = $at < length $from ? substr($from, $at, BLOCK) : '';
			my $n = $size - $at < BLOCK ? $size - $at : BLOCK;
			$mixed .= substr($block . "\0" x BLOCK, 0, $n);
		}
		my (undef, undef, $mode, undef, $uid, $gid) = stat $File::Find::name;
		open(my $out, '>:raw', $disk) or return;	# its folder is not there
		print $out $mixed;
		close($out);
		chmod $mode & 0777, $disk;
		chown $uid, $gid, $disk if $> == 0;
	} }, $root);
	return;
}

1;
