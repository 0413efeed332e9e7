# SoakServer: a cluster of its own for a soak, and sessions of it.
#
# A session speaks PostgreSQL's protocol over the socket: one process less, and no wait for it, than psql.  It can send a statement
# and read the answer later, so one driver keeps many sessions busy.
#
# Servers run as the user who runs the soak; as root, as user "postgres".  Everything of a cluster lies below one new folder.
package SoakServer;

use strict;
use warnings;
use IO::Select;
use IO::Socket::UNIX;
use POSIX ();
use Time::HiRes qw(time usleep);

sub slurp
{
	my ($path) = @_;
	open(my $in, '<:raw', $path) or return '';
	local $/;
	return <$in> // '';
}

# Runs a command as the servers' user, without a shell; returns its status.  env: variables for it.
sub run_as_server
{
	my ($env, @command) = @_;
	my $pid = fork() // die "fork: $!\n";
	if ($pid == 0)
	{
		if ($> == 0)
		{
			my (undef, undef, $uid, $gid) = getpwnam('postgres');
			$( = $) = "$gid $gid";
			POSIX::setuid($uid);
		}
		chdir '/';
		$ENV{$_} = $env->{$_} foreach keys %$env;
		open(STDIN, '<', '/dev/null');
		open(STDOUT, '>', '/dev/null');
		open(STDERR, '>', '/dev/null') unless $ENV{SOAK_VERBOSE};
		exec { $command[0] } @command or POSIX::_exit(127);
	}
	waitpid($pid, 0);
	return $?;
}

# A new cluster that runs.  Options: bindir, root (a folder that exists), name, conf (lines), from (a server of which this is a standby),
# env (of the server), initdb (more arguments), start => 0.
sub new
{
	my ($class, %option) = @_;
	my $self = bless { port => 5432, env => {}, %option }, $class;
	$self->{dir} = "$self->{root}/$self->{name}";
	$self->{data} = "$self->{dir}/data";
	mkdir $self->{dir} or die "$self->{dir}: $!\n";
	chmod 0700, $self->{dir};
	if ($> == 0)
	{
		my (undef, undef, $uid, $gid) = getpwnam('postgres');
		chown($uid, $gid, $self->{dir});
	}
	if (my $primary = $self->{from})
	{
		run_as_server({}, "$self->{bindir}/pg_basebackup", '-D', $self->{data}, '-h', $primary->{dir}, '-U', 'postgres', '-R', '-X', 'stream', '-c', 'fast', '-N') == 0
		  or die "pg_basebackup failed\n";
	}
	else
	{
		run_as_server({}, "$self->{bindir}/initdb", '-D', $self->{data}, '-U', 'postgres', '-A', 'trust', '-N', '--no-locale', '--encoding=UTF8', '--wal-segsize=4', @{ $self->{initdb} // [] }) == 0
		  or die "initdb failed in $self->{data}\n";
	}
	$self->configure("listen_addresses = ''", "unix_socket_directories = '$self->{dir}'", 'autovacuum = off', 'fsync = off', 'jit = off', 'shared_buffers = 16MB', 'max_connections = 30',
		'max_wal_senders = 3', 'log_min_messages = warning', 'log_statement = none', 'max_wal_size = 64MB', 'min_wal_size = 16MB', 'wal_keep_size = 32MB', @{ $self->{conf} // [] });
	$self->start if $self->{start} // 1;
	return $self;
}

sub configure
{
	my ($self, @lines) = @_;
	open(my $out, '>>', "$self->{data}/postgresql.conf") or die "postgresql.conf: $!\n";
	print $out "$_\n" foreach @lines;
	close($out);
	return;
}

sub start
{
	my ($self) = @_;
	foreach my $try (1 .. 50)
	{
		return $self if run_as_server($self->{env}, "$self->{bindir}/pg_ctl", '-D', $self->{data}, '-l', "$self->{dir}/log", '-w', '-t', '60', '-s', 'start') == 0;
		usleep(100_000);	# processes of a killed postmaster may take a moment to leave
	}
	die "the server does not start: $self->{dir}/log\n" . substr($self->log, -2000);
}

sub stop
{
	my ($self, $mode) = @_;
	run_as_server({}, "$self->{bindir}/pg_ctl", '-D', $self->{data}, '-m', $mode // 'immediate', '-w', '-s', 'stop') if -e "$self->{data}/postmaster.pid";
	return;
}

sub log { my ($self) = @_; return slurp("$self->{dir}/log"); }
sub postmaster { my ($self) = @_; return (split /\n/, slurp("$self->{data}/postmaster.pid"))[0]; }

# The processes of the cluster: pid => what ps would call it.
sub processes
{
	my ($self) = @_;
	my $postmaster = $self->postmaster // return;
	my %found = ($postmaster => 'postmaster');
	foreach my $pid (split ' ', slurp("/proc/$postmaster/task/$postmaster/children"))
	{
		$found{$pid} = slurp("/proc/$pid/cmdline") =~ s/\0.*//sr =~ s/^postgres: //r;
	}
	return %found;
}

# Waits until the server takes connections again after one of its processes was killed.  A postmaster that is gone is started.
sub wait_until_up
{
	my ($self) = @_;
	my $until = time + 120;
	while (time < $until)
	{
		my $postmaster = $self->postmaster;
		if (!defined $postmaster || !kill(0, $postmaster))
		{
			$self->start;
			next;
		}
		my $session = eval { $self->connect };
		return 1 if $session && !$session->query('SELECT 1')->{error};
		usleep(20_000);
	}
	die "the server does not come back: $self->{dir}/log\n" . substr($self->log, -2000);
}

# ---- sessions ----

sub connect
{
	my ($self, $database) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => "$self->{dir}/.s.PGSQL.$self->{port}") or die "no connection: $!\n";
	my $session = bless { socket => $socket, buffer => '', server => $self }, 'SoakServer::Session';
	my $startup = pack('N', 196608) . join("\0", user => 'postgres', database => $database // 'postgres', client_min_messages => 'error') . "\0\0";
	$session->put(pack('N', 4 + length $startup) . $startup);
	my $answer = $session->answer;
	die "no connection: $answer->{error}{M}\n" if $answer->{error};
	return $session;
}

package SoakServer::Session;

use Time::HiRes qw(time);

sub put
{
	my ($self, $bytes) = @_;
	local $SIG{PIPE} = 'IGNORE';
	while (length $bytes)
	{
		my $n = syswrite($self->{socket}, $bytes);
		if (!defined $n)
		{
			$self->{lost} = 1;
			return;
		}
		substr($bytes, 0, $n, '');
	}
	return;
}

sub message { my ($type, $body) = @_; return $type . pack('N', 4 + length $body) . $body; }

sub send { my ($self, $sql) = @_; $self->put(message('Q', "$sql\0")); return; }
sub query { my ($self, $sql, $seconds) = @_; $self->send($sql); return $self->answer($seconds); }

# The first column of the first row, or death.
sub value
{
	my ($self, $sql) = @_;
	my $answer = $self->query($sql);
	die "$answer->{error}{C}: $answer->{error}{M}: $sql\n" if $answer->{error};
	return $answer->{rows}[0] ? $answer->{rows}[0][0] : undef;
}

# Is an error none that a client's bytes may cause?
sub is_fault { my ($error) = @_; return $error && $error->{C} =~ /^(57|XX|08006)/; }

# Executions of one statement, with one parameter in binary each.  Takes the values off the list; stops at the first that is a fault: (value, error).
sub execute_binary
{
	my ($self, $sql, $values) = @_;
	$self->put(message('P', "\0$sql\0" . pack('n', 0)) . message('S', ''));
	my $answer = $self->answer;
	die "$answer->{error}{M}: $sql\n" if $answer->{error};
	while (@$values)
	{
		my $value = shift @$values;
		$self->put(message('B', "\0\0" . pack('nnnN', 1, 1, 1, length $value) . $value . pack('n', 0)) . message('E', "\0" . pack('N', 0)) . message('S', ''));
		my $said = $self->answer(60);
		return ($value, $said->{error}) if $self->{lost} || is_fault($said->{error});
	}
	return;
}

# The same with COPY FROM STDIN (FORMAT binary): each value is a stream's bytes.
sub copy_binary
{
	my ($self, $sql, $values) = @_;
	while (@$values)
	{
		my $value = shift @$values;
		$self->put(message('Q', "$sql\0") . message('d', $value) . message('c', ''));
		my $said = $self->answer(60);
		return ($value, $said->{error}) if $self->{lost} || is_fault($said->{error});
	}
	return;
}

sub fill
{
	my ($self, $n, $until) = @_;
	while (length($self->{buffer}) < $n)
	{
		return 0 if $self->{lost};
		if (defined $until)
		{
			my $left = $until - time;
			return -1 if $left <= 0 || !IO::Select->new($self->{socket})->can_read($left);
		}
		my $got = sysread($self->{socket}, $self->{buffer}, 65536, length $self->{buffer});
		$self->{lost} = 1 if !$got;
	}
	return 1;
}

# What the server says until it is ready: { rows, error }.  A lost connection is error 08006, an answer that takes too long 57000.
sub answer
{
	my ($self, $seconds) = @_;
	my $until = defined $seconds ? time + $seconds : undef;
	my (@rows, $error);
	while (1)
	{
		my $filled = $self->fill(5, $until);
		return { rows => \@rows, error => { C => '57000', M => 'no answer' } } if $filled < 0;
		last if !$filled;
		my ($type, $length) = unpack('aN', $self->{buffer});
		$filled = $self->fill(1 + $length, $until);
		return { rows => \@rows, error => { C => '57000', M => 'no answer' } } if $filled < 0;
		last if !$filled;
		my $body = substr($self->{buffer}, 5, $length - 4);
		substr($self->{buffer}, 0, 1 + $length, '');
		if ($type eq 'D')
		{
			my $n = unpack('n', $body);
			my ($at, @row) = (2);
			foreach (1 .. $n)
			{
				my $size = unpack('l>', substr($body, $at, 4));
				push @row, $size < 0 ? undef : substr($body, $at + 4, $size);
				$at += 4 + ($size < 0 ? 0 : $size);
			}
			push @rows, \@row;
		}
		elsif ($type eq 'E')
		{
			my %fields = map { substr($_, 0, 1) => substr($_, 1) } grep { length } split /\0/, $body;
			$error //= \%fields;
			return { rows => \@rows, error => $error } if $fields{S} =~ /FATAL|PANIC/ && !defined $self->{pid};
		}
		elsif ($type eq 'K') { $self->{pid} = unpack('N', $body); $self->{key} = substr($body, 4, 4); }
		elsif ($type eq 'Z') { return { rows => \@rows, error => $error }; }
	}
	return { rows => \@rows, error => $error // { C => '08006', M => 'the connection is lost' } };
}

# Cancels what the session is doing.
sub cancel
{
	my ($self) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => "$self->{server}{dir}/.s.PGSQL.$self->{server}{port}") or return;
	syswrite($socket, pack('NNN', 16, 80877102, $self->{pid}) . $self->{key});
	sysread($socket, my $nothing, 1);
	return;
}

1;
