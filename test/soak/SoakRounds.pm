# SoakRounds: the rounds of a soak, each from its own seed, and what to do when one goes wrong.
package SoakRounds;

use strict;
use warnings;
use Digest::MD5 'md5';
use SoakBytes;
use SoakPower;
use SoakScript;
use SoakServer;
use SoakShrink;
use SoakValues;
use Time::HiRes qw(time usleep);

my %kinds = (compare => 11, standby => 2, crash => 3, error => 2, binary => 1, damage => 1, power => 1);	# of 21 rounds, in the mean

sub new
{
	my ($class, $option) = @_;
	my $self = bless { option => $option, wrong => 0, comparisons => 0, crashes => 0, failures => 0, errors => 0, fuzzed => 0, rounds => {}, classes => {}, operators => {}, uncovered => {} }, $class;
	srand($option->{seed});
	$self->{primary} = SoakServer->new(bindir => $option->{bindir}, root => $option->{root}, name => 'primary',
		conf => [ maybe(0.15) ? () : ("shared_preload_libraries = 'genie'", 'genie.shared_memory = ' . pick("'8MB'", "'64MB'", "'64MB'")), 'hot_standby = on', "max_prepared_transactions = 5" ]);
	$self->prepare($self->{primary});
	$self->{catalog} = catalog($self->{primary}->connect, $option->{top});
	$self->{only} = [ grep { length } split /,/, $option->{only} ];
	return $self;
}

# What a new cluster needs.
sub prepare
{
	my ($self, $server) = @_;
	my $session = $server->connect;
	my $oracle = SoakServer::slurp("$self->{option}{top}/test/soak/oracle.sql");
	foreach my $sql ('CREATE EXTENSION genie', 'LOAD \'genie\'', 'DO $$ BEGIN PERFORM genie_enable_pgvector(); EXCEPTION WHEN OTHERS THEN NULL; END $$', $oracle)
	{
		my $said = $session->query($sql)->{error};
		die "$said->{M}: " . substr($sql, 0, 100) . "\n" if $said;
	}
	return;
}

sub stop
{
	my ($self) = @_;
	$_->stop foreach grep { $_ } $self->{standby}, $self->{power}, $self->{primary};
	return;
}

sub summary
{
	my ($self, $last) = @_;
	return sprintf('soak: seed %d, rounds %d to %d (%s), %d comparisons, %d crashes, %d power failures, %d errors, %d fuzzed inputs, %d wrong; %d of %d classes, %d operators%s',
		$self->{option}{seed}, $self->{option}{from}, $last, join(', ', map { "$_ $self->{rounds}{$_}" } sort keys %{ $self->{rounds} }), @$self{qw(comparisons crashes failures errors fuzzed wrong)},
		scalar(keys %{ $self->{classes} }), scalar(@{ $self->{catalog}{classes} }), scalar(keys %{ $self->{operators} }),
		%{ $self->{uncovered} } ? '; not covered: ' . join(', ', sort keys %{ $self->{uncovered} }) : '');
}

sub round
{
	my ($self, $number) = @_;
	srand(unpack('L', md5("$self->{option}{seed} $number")));
	my $p = between(1, 21);
	my $kind = 'compare';
	foreach my $k (sort keys %kinds)
	{
		$kind = $k;
		last if ($p -= $kinds{$k}) <= 0;
	}
	$kind = pick(@{ $self->{only} }) if @{ $self->{only} };
	$self->{rounds}{$kind}++;
	my $begun = time;
	my $method = "round_$kind";
	$self->{number} = $number;
	$self->{where} = "seed $self->{option}{seed}, round $number, $kind";
	eval { $self->$method; 1 } or $self->tell_wrong("$@");
	printf "%s: %.1f s, %d comparisons, %d crashes, %d wrong\n", $self->{where}, time - $begun, @$self{qw(comparisons crashes wrong)} if $self->{option}{verbose};
	return;
}

sub tell_wrong
{
	my ($self, $what, @script) = @_;
	return if !defined $self->unknown($what);
	$self->{wrong}++;
	print "WRONG: $self->{where}: " . substr($what, 0, 3000) . "\n";
	return if !@script;
	my $file = "$self->{option}{dir}/soak-$self->{option}{seed}-$self->{number}.sql";
	open(my $out, '>', $file) or die "$file: $!\n";
	print $out "-- " . ($what =~ s/\n/\n-- /gr) . "\n-- after: CREATE EXTENSION genie; \\i test/soak/oracle.sql\n", map { "$_->{sql};\n" } @script;
	close($out);
	print "script: $file\n";
	return;
}

# A new schema for a round, in a new session.
sub fresh
{
	my ($self, $node) = @_;
	my $session = ($node // $self->{primary})->connect;
	$session->query('DROP SCHEMA IF EXISTS w CASCADE; CREATE SCHEMA w', 120);
	$session->query('SET search_path = w, public');
	return $session;
}

# An index need not fit into shared memory, and there need not be any.
sub no_room
{
	my ($error, $sql) = @_;
	return $sql =~ /genie_prewarm/ && $error->{C} =~ /^(53400|55000)$/;
}

# Runs one statement of a script; returns what is wrong, or nothing.  The server says no only where the round expects it.
sub step
{
	my ($self, $session, $step) = @_;
	my $answer = $session->query($step->{sql}, 120);
	if (my $error = $answer->{error})
	{
		return if no_room($error, $step->{sql});
		return $self->unknown("error $error->{C}: $error->{M}" . ($error->{D} ? " ($error->{D})" : ''));
	}
	return if $step->{kind} ne 'compare';
	my ($n, $wrong) = @{ $answer->{rows}[0] };
	$self->{comparisons} += $n;
	return $self->unknown($wrong);
}

# What is wrong without the faults that are known.
sub unknown
{
	my ($self, $wrong) = @_;
	return $wrong if !defined $wrong || !defined $self->{option}{ignore};
	my @left = grep { !/$self->{option}{ignore}/ } split /\n/, $wrong;
	return @left ? join("\n", @left) : undef;
}

# Runs a script from nothing; returns what went wrong first, with the step's number, or nothing.
sub run_script
{
	my ($self, @script) = @_;
	my $session = $self->fresh;
	foreach my $i (0 .. $#script)
	{
		my $wrong = $self->step($session, $script[$i]);
		return ($i, $wrong) if defined $wrong;
	}
	return;
}

sub draw
{
	my ($self, $session, %more) = @_;
	my $made = table_script($session, $self->{catalog}, class => $self->{option}{class}, ties => $self->{option}{ties}, %more);
	$self->{uncovered}{ $made->{uncovered} } = 1 if $made->{uncovered};
	return if !$made->{script};
	$self->{classes}{ $made->{class}{name} } = 1;
	$self->{operators}{$_} = 1 foreach keys %{ $made->{covered} };
	$self->{where} .= ", $made->{class}{name}";
	return @{ $made->{script} };
}

# ---- compare ----

sub round_compare
{
	my ($self) = @_;
	my @script = $self->draw($self->fresh) or return;
	my $before = $self->{comparisons};
	my ($at, $wrong) = $self->run_script(@script);
	return if !defined $at;
	$self->shrunk($wrong, @script[ 0 .. $at ]);
	return;
}

sub shrunk
{
	my ($self, $wrong, @script) = @_;
	my $counted = $self->{comparisons};
	my $kind = SoakShrink::kind_of($wrong);
	my $fails = sub { my ($at, $again) = eval { $self->run_script(@_) }; return defined $at && SoakShrink::kind_of($again) eq $kind; };
	@script = SoakShrink::shrink($fails, $self->{option}{shrink}, @script);
	my (undef, $again) = eval { $self->run_script(@script) };
	$self->{comparisons} = $counted;
	$self->tell_wrong($again // "$wrong (not again)", @script);
	return;
}

# ---- standby ----

sub standby
{
	my ($self) = @_;
	return $self->{standby} //= SoakServer->new(bindir => $self->{option}{bindir}, root => $self->{option}{root}, name => 'standby', from => $self->{primary},
		conf => [ 'max_standby_streaming_delay = 30s', 'wal_receiver_status_interval = 1s', 'hot_standby_feedback = ' . pick('on', 'off') ]);
}

sub caught_up
{
	my ($self, $primary, $standby) = @_;
	my $lsn = $primary->value('SELECT pg_current_wal_insert_lsn()');
	my $until = time + 60;
	while (($standby->value("SELECT pg_last_wal_replay_lsn() >= '$lsn'") // '') ne 't')
	{
		if (time > $until)
		{
			# what it needs was recycled while it was away
			$self->{standby}->stop;
			$self->{standby} = undef;
			die "the standby does not catch up\n";
		}
		usleep(2000);
	}
	return;
}

sub round_standby
{
	my ($self) = @_;
	my $primary = $self->fresh;
	my @script = $self->draw($primary, read_only => 1, logged => 1) or return;
	my $standby = $self->standby->connect;
	$standby->query('SET search_path = w, public');
	$primary = $self->fresh;
	foreach my $step (@script)
	{
		next if $step->{sql} =~ /prewarm/ && $step->{kind} eq 'compare';
		if ($step->{kind} eq 'compare')
		{
			$self->caught_up($primary, $standby);
			my $wrong = $self->step($standby, $step);
			return $self->tell_wrong("on the standby: $wrong", @script) if defined $wrong && $wrong !~ /^error 40001/;
			next if maybe(0.7);
		}
		elsif ($step->{kind} eq 'setting')
		{
			$self->step($standby, $step) if $step->{sql} !~ /SYSTEM/;
		}
		my $wrong = $self->step($primary, $step);
		return $self->tell_wrong($wrong, @script) if defined $wrong;
	}
	return;
}

# ---- crash ----

# What a session may be told while others lock, cancel and kill.
my $harmless = qr/^(57P0[123]|08006|57014|40P01|40001|55P03|55006|25P02|42P01|23505)$/;

# Sessions that go through statements of their own, again and again.  A transaction leaves a note in w.done; acknowledged: what must be there.
sub start_load
{
	my ($self, @lists) = @_;
	my @load;
	foreach my $i (0 .. $#lists)
	{
		push @load, { number => $i, statements => $lists[$i], at => 0, acknowledged => 0, sent => 0 };
	}
	$self->reconnect(\@load);
	return \@load;
}

sub reconnect
{
	my ($self, $load) = @_;
	foreach my $one (@$load)
	{
		$one->{session} = $self->{primary}->connect;
		$one->{session}->query("SET search_path = w, public; SET lock_timeout = '300ms'");
		$one->{session}->query('SET statement_timeout = ' . pick(0, 0, "'50ms'"));
		$one->{busy} = undef;
	}
	return;
}

# Lets the sessions work for so long; returns what goes wrong.
sub let_work
{
	my ($self, $load, $seconds) = @_;
	my $until = time + $seconds;
	my @wrong;
	while (1)
	{
		my $left = $until - time;
		foreach my $one (grep { !$_->{busy} && !$_->{session}{lost} } @$load)
		{
			last if $left <= 0;
			my $step = $one->{statements}[ $one->{at}++ % @{ $one->{statements} } ];
			my $sql = $step->{sql};
			$one->{busy} = $step;
			if ($step->{kind} eq 'compare')
			{
				$sql = "BEGIN ISOLATION LEVEL REPEATABLE READ; $sql; COMMIT";
			}
			elsif ($sql =~ /^(INSERT|UPDATE|DELETE)/)
			{
				$one->{sent}++;
				$sql = "BEGIN; $sql; INSERT INTO done VALUES ($one->{number}, $one->{sent}); COMMIT";
			}
			$one->{session}->send($sql);
		}
		my $select = IO::Select->new(map { $_->{session}{socket} } grep { $_->{busy} } @$load);
		last if !$select->count || $left <= 0;
		foreach my $one (grep { $_->{busy} } @$load)
		{
			next if !grep { $_ == $one->{session}{socket} } $select->can_read(0);
			push @wrong, $self->take_answer($one);
		}
		$select->can_read($left > 0.02 ? 0.02 : $left);
		if (maybe(0.002)) { $_->{session}->cancel foreach pick(@$load); }
	}
	return @wrong;
}

sub take_answer
{
	my ($self, $one) = @_;
	my $answer = $one->{session}->answer(60);
	my $step = $one->{busy};
	$one->{busy} = undef;
	if (my $error = $answer->{error})
	{
		$one->{session}->query('ROLLBACK') if !$one->{session}{lost};
		return if $error->{C} =~ $harmless || no_room($error, $step->{sql}) || $error->{M} =~ /could not open relation with OID|could not find|index "\w+_cc(old|new)\d*" is not/ && $step->{kind} eq 'compare';
		return "error $error->{C}: $error->{M}: " . substr($step->{sql}, 0, 1000);
	}
	if ($step->{kind} eq 'compare')
	{
		my ($n, $wrong) = @{ $answer->{rows}[0] };
		$self->{comparisons} += $n;
		$wrong = $self->unknown($wrong);
		return "under load: $wrong" if defined $wrong;
	}
	elsif ($step->{sql} =~ /^(INSERT|UPDATE|DELETE)/)
	{
		$one->{acknowledged} = $one->{sent};
	}
	return;
}

# Kills a process; returns what it was.
sub kill_one
{
	my ($self) = @_;
	my %processes = $self->{primary}->processes;
	my @likely = grep { $processes{$_} =~ /genie|postmaster|postgres postgres/ } sort keys %processes;
	my $victim = maybe(0.7) && @likely ? pick(@likely) : pick(sort keys %processes);
	kill 9, $victim;
	$self->{crashes}++;
	usleep(50_000);
	return "a crash of $processes{$victim}";
}

sub round_crash { my ($self) = @_; return $self->crashes(sub { return $self->kill_one; }); }

# The same with power failures, on a cluster of its own.
sub round_power
{
	my ($self) = @_;
	if (!$self->{power})
	{
		$self->{power} = SoakPower->new(bindir => $self->{option}{bindir}, root => $self->{option}{root}, name => 'power' . $self->{number}, forget => $self->{option}{forget}, source => "$self->{option}{top}/test/soak/power.c",
			conf => [ maybe(0.5) ? () : ("shared_preload_libraries = 'genie'", "genie.shared_memory = '8MB'") ]);
		$self->prepare($self->{power});
		$self->{power}->connect->query('CHECKPOINT');
	}
	local $self->{primary} = $self->{power};
	my $wrong = $self->{wrong};
	eval { $self->crashes(sub { $self->{power}->fail; $self->{failures}++; return 'a power failure'; }, unlogged => maybe(0.3)); 1 } or $self->tell_wrong("$@");
	return if $wrong == $self->{wrong};
	$self->{power}->stop;	# nothing is as it should be any more
	$self->{power} = undef;
	return;
}

# Two tables under load, while strike() lets the server fail.
sub crashes
{
	my ($self, $strike, %option) = @_;
	my $session = $self->fresh;
	$session->query('CREATE TABLE done (session int, n int)');
	my (@setup, @check, @lists);
	foreach my $table ('t', 'u')
	{
		my @script = $self->draw($session, table => $table, rows => 300, states => 3, logged => !$option{unlogged}, unlogged => $option{unlogged}, one_index => 1) or return;
		@script = grep { $_->{sql} !~ /^(BEGIN|TRUNCATE|ALTER SYSTEM|SELECT pg_reload)/ } @script;
		my ($indexed) = grep { $script[$_]{sql} =~ /^CREATE INDEX.* ${table}_x / } 0 .. $#script;
		push @setup, @script[ 0 .. $indexed ];
		my @rest = grep { $_->{sql} !~ /^CREATE INDEX/ } @script[ $indexed + 1 .. $#script ];
		push @check, grep { $_->{kind} eq 'compare' && $_->{sql} !~ /compare_cursor/ } @rest;
		push @lists, [ grep { $_->{kind} ne 'setting' && $_->{sql} !~ /compare_check/ } @rest ], [ grep { $_->{kind} ne 'setting' && $_->{sql} !~ /^(INSERT|UPDATE|DELETE)|compare_check/ } @rest ];
	}
	push @{ $lists[0] }, { kind => 'change', sql => 'CHECKPOINT' };
	@lists = grep { @$_ } @lists;
	foreach my $step (@setup)
	{
		my $wrong = $self->step($session, $step);
		return $self->tell_wrong($wrong, @setup) if defined $wrong;
	}
	my $load = $self->start_load(@lists);
	foreach my $crash (1 .. between(4, 10))
	{
		my @wrong = $self->let_work($load, maybe(0.3) ? 0.02 : rand() * 0.6);
		my $what = $strike->();
		foreach my $one (grep { $_->{busy} } @$load)
		{
			push @wrong, $self->take_answer($one);
		}
		$self->{primary}->wait_until_up;
		return $self->tell_wrong(join("\n", @wrong), @setup, map { @$_ } @lists) if @wrong;
		my $after = $self->{primary}->connect;
		$after->query('SET search_path = w, public');
		my %done = map { $_->[0] => $_->[1] } @{ $after->query('SELECT session, max(n) FROM done GROUP BY session')->{rows} };
		foreach my $one (@$load)
		{
			return $self->tell_wrong("session $one->{number} committed $one->{acknowledged}, of which " . ($done{ $one->{number} } // 0) . " is there after $what", @setup) if $one->{acknowledged} > ($done{ $one->{number} } // 0);
		}
		foreach my $step ((map { { kind => 'compare', sql => "SELECT * FROM soak.compare_check('${_}_x')" } } 't', 'u'), map { pick(@check) } 1 .. 4)
		{
			my $wrong = $self->step($after, $step);
			return $self->tell_wrong("after $what: $wrong: $step->{sql}", @setup, map { @$_ } @lists) if defined $wrong;
		}
		$self->reconnect($load);
	}
	$_->{session} = undef foreach @$load;
	return;
}

# ---- error ----

# Makes a session's process fail: at a fault point, at any one allocation, for want of memory, or because its files may not grow.
sub arm
{
	my ($self, $session) = @_;
	my $kind = pick('point', 'point', 'allocation', 'allocation', 'allocation', 'memory', 'file');
	if ($kind eq 'allocation')
	{
		$session->query("LOAD 'genie'; SET genie.fault_skip = " . numbers(0, pick(100, 2000, 100_000)) . "; SET genie.fault_point = 'allocation'");
		return;
	}
	if ($kind eq 'point')
	{
		$self->{points} //= do { my %p; $p{$_} = 1 foreach map { SoakServer::slurp($_) =~ /\bGENIE_FAULT\("([^"]+)"\)/g } glob("$self->{option}{top}/src/*/*.c"); [ sort keys %p ] };
		$session->query("LOAD 'genie'; SET genie.fault_point = '" . pick(@{ $self->{points} }) . "'; SET genie.fault_action = 'error'; SET genie.fault_skip = " . pick(0, 0, numbers(0, 20)));
		return;
	}
	$session->query('SELECT count(*) FROM genie_check($$t_x$$)');	# loads what it needs
	my ($pages) = SoakServer::slurp("/proc/$session->{pid}/statm") =~ /^(\d+)/ or return;
	my $limit = $kind eq 'memory' ? 'as=' . (4096 * $pages + numbers(1, 20_000_000)) : 'fsize=' . (8192 * numbers(1, 40) + (4 << 20));
	system("prlimit --$limit: --pid $session->{pid} >/dev/null 2>&1");
	return;
}

# Errors while statements change the table; each is wrong unless it is one that was asked for.
sub round_error
{
	my ($self) = @_;
	my $session = $self->fresh;
	my @script = grep { $_->{sql} !~ /CONCURRENTLY/ } $self->draw($session, rows => 600, states => 6, one_index => 1) or return;
	my @changes = grep { $_->{kind} eq 'change' } @script;
	my ($indexed) = grep { $changes[$_]{sql} =~ /^CREATE INDEX.* t_x / } 0 .. $#changes;
	my @check = ({ kind => 'compare', sql => "SELECT * FROM soak.compare_check('t_x')" }, grep { $_->{kind} eq 'compare' && $_->{sql} !~ /compare_c(heck|ursor)/ } @script);
	foreach my $step (@changes[ 0 .. $indexed ])
	{
		my $wrong = $self->step($session, $step);
		return $self->tell_wrong("$wrong: $step->{sql}", @changes[ 0 .. $indexed ]) if defined $wrong;
	}
	my ($insert) = grep { $_->{sql} =~ /^INSERT/ } reverse @changes;
	my @merging = map { { kind => 'change', sql => $_ } } "SELECT genie_merge('t_x')", 'REINDEX INDEX t_x', 'VACUUM (INDEX_CLEANUP ON) t', 'DELETE FROM t WHERE id % 7 = 3';
	foreach my $step (map { ($_, $insert // $_, pick(@merging), pick(@check)) } @changes[ $indexed + 1 .. $#changes ])
	{
		my $hit = $self->{primary}->connect;
		$hit->query('SET search_path = w, public');
		$self->arm($hit) if maybe(0.8);
		my $error = $hit->query($step->{sql}, 120)->{error};
		if ($error)
		{
			$self->{errors}++;
			return $self->tell_wrong("error $error->{C}: $error->{M}: $step->{sql}", @changes)
			  if $error->{M} !~ /fault point|File too large|could not (extend|write)|failed to map segment/ && $error->{C} !~ /^(53|58030|08006|57P0|57014)/ && !no_room($error, $step->{sql});
			$self->{primary}->wait_until_up if $error->{C} =~ /^(08006|57P0)/;
		}
		next if maybe(0.3);
		my $after = $self->{primary}->connect;
		$after->query('SET search_path = w, public');
		foreach my $check ($check[0], pick(@check), pick(@check))
		{
			my $wrong = $self->step($after, $check);
			return $self->tell_wrong("after " . ($error ? "error $error->{C} ($error->{M})" : 'no error') . " of $step->{sql}: $wrong: $check->{sql}", @changes) if defined $wrong;
		}
	}
	return;
}

# ---- binary ----

# Sends the values; what is wrong is told with the value's bytes.  An internal error that PostgreSQL's own receive function raises without genie is PostgreSQL's.
sub send_binary
{
	my ($self, $session, $method, $sql, $without, @values) = @_;
	$self->{fuzzed} += @values;
	while (my ($bytes, $error) = $$session->$method($sql, \@values))
	{
		next if $error->{C} =~ /^XX/ && ($$session->$method($without, [$bytes]))[1];
		$self->tell_wrong("$sql with " . unpack('H*', $bytes) . ": $error->{C}: $error->{M}");
		$self->{primary}->wait_until_up;
		$$session = $self->{primary}->connect;
		$$session->query('SET search_path = w, public; SET enable_seqscan = off');
	}
	return;
}

# Mutated bytes for what a client may send: values of genie's types; operands of an index's operators; arrays of queries; rows for an index.
sub round_binary
{
	my ($self) = @_;
	my $session = $self->fresh;
	my $works = sub { return ($session->value('SELECT soak.works(' . quoted($_[0]) . ')') // '') eq 't'; };
	my $sent = sub {	# the bytes of an expression, and its type
		my ($send, $type) = @{ $session->query("SELECT typsend::oid::regproc, t.oid::regtype FROM pg_type t WHERE oid = pg_typeof($_[0])")->{rows}[0] // [] };
		return ($type, map { pack('H*', $_->[0]) } @{ $session->query("SELECT encode($send(v), 'hex') FROM (SELECT $_[0] AS v) s WHERE v IS NOT NULL")->{rows} });
	};
	foreach my $type ('genie_object', 'genie_query')
	{
		my @samples = map { ($sent->(quoted($_) . "::$type"))[1] } grep { $works->(quoted($_) . "::$type") }
		  '{}', '{0:int:1,1:text:"a",7:numeric:1.5,9:float:2}', '{0:int:1,0:int:2,3:date:x}', '{4:int:[1,5),5:text:[a,b]}@1', '{0:int:1}@0%0.5';
		# what is accepted must survive the text form, and be compared with others
		my $sql = $type eq 'genie_object' ? "SELECT 1 / (v::text::$type = v)::int, ${type}_send(v), genie_query(v), v <&> '{0:int:1}'::genie_query FROM (SELECT \$1::$type AS v) s" : "SELECT v::text::$type, ${type}_send(v), '{0:int:1,1:text:a}'::genie_object <&> v FROM (SELECT \$1::$type AS v) s";
		$self->send_binary(\$session, 'execute_binary', $sql, 'SELECT $1::bytea', map { mutated(@samples) } 1 .. 3000);
	}

	my $class = pick(grep { !$self->{option}{class} || $_->{name} eq $self->{option}{class} } @{ $self->{catalog}{classes} });
	my $source = value_source($class, 'random', 100, $works) or return;
	$self->{where} .= ", $class->{name}";
	$self->{classes}{ $class->{name} } = 1;
	foreach my $sql ("CREATE TABLE plain (x $source->{type})", "CREATE TABLE t (id serial, x $source->{type})", SoakScript::insert('t', $source, 300, 0),
		"CREATE INDEX t_x ON t USING genie (x $class->{name}) WITH (pending_limit = 64)", SoakScript::insert('t', $source, 20, 0), 'SET enable_seqscan = off')
	{
		my $error = $session->query($sql)->{error};
		return $self->tell_wrong("$error->{C}: $error->{M}: $sql") if $error;
	}
	foreach my $operator (@{ $class->{operators} })
	{
		my @operands = grep { $works->($_) } map { SoakScript::operands($operator, $class, $source, 3) } 1 .. 3;
		my ($type) = @operands ? $sent->($operands[0]) : ();
		my @samples = map { my ($of, @bytes) = $sent->($_); $of eq $type ? @bytes : () } @operands;
		next if !@samples;
		my $sql = $operator->{purpose} eq 'o' ? "SELECT id FROM t ORDER BY x $operator->{name} \$1::$type LIMIT 5" : "SELECT count(*) FROM t WHERE x $operator->{name} \$1::$type";
		$self->{operators}{"$operator->{name} $operator->{right}"} = 1;
		$self->send_binary(\$session, 'execute_binary', $sql, "SELECT \$1::$type", map { mutated(@samples) } 1 .. 300);
		foreach my $search (grep { $operator->{purpose} eq 'o' } @{ $self->{catalog}{searches} })
		{
			my $array = 'ARRAY[' . join(', ', @operands) . "]::$search";
			next if !$works->($array) || !$works->("count(*) FROM genie_search('t_x', $array, 3)");
			(undef, @samples) = $sent->($array);
			$self->send_binary(\$session, 'execute_binary', "SELECT * FROM genie_search('t_x', \$1::$search, 3)", "SELECT \$1::$search", map { mutated(@samples) } 1 .. 300);
		}
	}
	my (undef, @values) = $sent->('(SELECT x FROM t WHERE id = 1)');
	(undef, @values) = (undef, @values, map { ($sent->("(SELECT x FROM t WHERE id = $_)"))[1] // () } 2 .. 20);
	my $stream = sub { return "PGCOPY\n\xFF\r\n\0" . pack('NN', 0, 0) . join('', map { pack('nN', 1, length $_) . $_ } @_) . pack('n', 65535); };
	my @rows = map { maybe(0.9) ? $stream->(map { mutated(@values) } 1 .. between(1, 3)) : mutated($stream->(pick(@values), pick(@values))) } 1 .. 300;
	$self->send_binary(\$session, 'copy_binary', 'COPY t (x) FROM STDIN (FORMAT binary)', 'COPY plain FROM STDIN (FORMAT binary)', @rows) if @values;
	foreach my $sql ("SELECT genie_merge('t_x')", "SELECT * FROM soak.compare_check('t_x')")
	{
		my $wrong = $self->step($session, { kind => $sql =~ /compare/ ? 'compare' : 'change', sql => $sql });
		return $self->tell_wrong("after rows in binary: $wrong") if defined $wrong;
	}
	return;
}

# ---- damage ----

# Pages with hostile contents and right checksums, in an index of any class.  No statement ends the server, takes all memory or does not end; an
# error is one that reports damage.  A row may be wrong: a posting is as good as another.  REINDEX makes all well.
sub round_damage
{
	my ($self) = @_;
	my $session = $self->fresh;
	my @script = grep { $_->{sql} !~ /CONCURRENTLY|^BEGIN|TRUNCATE|SYSTEM|reload/ } $self->draw($session, rows => 600, states => 3, one_index => 1, logged => 1, read_only => 1) or return;
	my @check = grep { $_->{kind} eq 'compare' && $_->{sql} !~ /compare_check/ } @script;
	my ($insert) = grep { /^INSERT/ } map { $_->{sql} } reverse @script;
	@script = grep { $_->{kind} eq 'change' } @script;
	foreach my $step (@script, { kind => 'change', sql => 'CHECKPOINT' })
	{
		my $wrong = $self->step($session, $step);
		return $self->tell_wrong("$wrong: $step->{sql}", @script) if defined $wrong;
	}
	my $file = "$self->{primary}{data}/" . $session->value("SELECT pg_relation_filepath('t_x')");
	my $bytes = SoakServer::slurp($file);
	foreach my $try (1 .. 20)
	{
		# A file that no buffer knows takes the index's place, in a transaction that is rolled back, but for the last.
		my $last = $try == 20;
		my $number = 3_000_000_000 + ++$self->{damages};
		my $place = $file =~ s/\d+$/$number/r;
		open(my $out, '>:raw', $place) or die "$place: $!\n";
		print $out damaged($bytes);
		close($out);
		chown((stat($file))[ 4, 5 ], $place);
		my $hit = $self->{primary}->connect;
		$hit->query("SET search_path = w, public; SET statement_timeout = '60s'; SET allow_system_table_mods = on; SELECT count(*) FROM genie_check('t_x')");
		my ($pages) = SoakServer::slurp("/proc/$hit->{pid}/statm") =~ /^(\d+)/;
		system('prlimit --as=' . (4096 * $pages + (1 << 30)) . ": --pid $hit->{pid} >/dev/null 2>&1") if $pages;
		$hit->query('BEGIN');
		$hit->query("UPDATE pg_class SET relfilenode = $number WHERE oid = 't_x'::regclass");
		$hit->query('COMMIT') if $last;
		$self->{fuzzed}++;
		foreach my $sql ("SELECT * FROM genie_index_info('t_x')", "SELECT count(*) FROM genie_check('t_x')", (map { pick(@check)->{sql} } @check ? (1 .. 4) : ()), $insert // (), "SELECT genie_merge('t_x')",
			$last ? 'VACUUM (INDEX_CLEANUP ON) t' : (), (map { pick(@check)->{sql} } @check ? (1 .. 2) : ()), "SELECT genie_merge('t_x')", "SELECT genie_prewarm('t_x')")
		{
			$hit->query('SAVEPOINT a') if !$last;
			my $answer = $hit->query($sql, 120);
			$hit->query($answer->{error} ? 'ROLLBACK TO a' : 'RELEASE a') if !$last;
			my $said = $answer->{error} ? "error $answer->{error}{C}: $answer->{error}{M}" : $sql =~ /compare_/ ? $answer->{rows}[0][1] // '' : '';
			# a byte may turn a keyword into one of another type, or a type's state into an older one
			my @bad = grep { !/^error (XX00[12]|0A000|42804|55000: .* type that was altered)/ } $said =~ /(error \w{5}: .*)/g;
			next if !@bad || ($answer->{error} && no_room($answer->{error}, $sql));
			$self->tell_wrong("damage $try: $bad[0]: $sql", @script);
			system('cp', $place, "$self->{option}{dir}/soak-$self->{option}{seed}-$self->{number}.pages");
			$self->{primary}->wait_until_up;
			return;
		}
		$hit->query('ROLLBACK') if !$last;
	}
	foreach my $step ({ kind => 'change', sql => 'REINDEX INDEX t_x' }, { kind => 'compare', sql => "SELECT * FROM soak.compare_check('t_x')" }, @check)
	{
		my $wrong = $self->step($session, $step);
		return $self->tell_wrong("after REINDEX of a damaged index: $wrong: $step->{sql}", @script) if defined $wrong;
	}
	return;
}

1;
