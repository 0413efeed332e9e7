# Damaged pages: genie_check reports them, queries answer rightly or with an error that names the remedy, nothing crashes or
# hangs, the table can be read without the index, and REINDEX repairs.
#
# Many copies of one table with an index that has every kind of page.  The server is stopped, each copy's index file
# is damaged in its own way, and the server starts again (without data checksums, which would find most of it first).  Each
# copy goes through genie_check, genie_index_info, queries, an insert, a merge, VACUUM, queries again, REINDEX.
#
# Classes of damage:
#
#	foreign	a page is not what its owner wrote there (zeroes, another page, a foreign stamp or kind, a file cut short):
#			it must be found, and no wrong row may be returned
#	noticed	bytes of a page changed, and its checksum tells: it must be found.  No wrong row may be returned, unless the backend
#			counts from the pages of sections, whose checksums it does not verify; with a worker it finds the damage when it makes
#			the image
#	bytes	the same with a right checksum: a posting may be as good as another, so the test asks only for an answer or
#			a clear error
#	unread	in pages that nobody reads: a clear error at most
#
# Half of the damages, at random, get a right checksum, so that what reads the pages sees the damage.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{GENIE_SEED} // 586805;
srand($seed);
diag("seed $seed (GENIE_SEED=$seed repeats this run)");

use constant { BLOCK => 8192, SPECIAL => 8176 };
my %kind_name = (1 => 'META', 2 => 'PENDING', 3 => 'ROOT', 4 => 'DATA', 5 => 'RETIRED', 6 => 'FREE');
my @sections = ('', 'OBJECTS', 'SIZES', 'DICTIONARY', 'POSTINGS', 'TOMBSTONES', 'HINTS');

my $node = genie_node('damage', init => without_checksums(), conf => "zero_damaged_pages = off\nrestart_after_crash = on\n");
create_table($node, 10, 0.45);

# ---- the damages: name => [class, what it does to the pages] ----

sub special_of { my ($page) = @_; return unpack('Q<L<CCS<', substr($page, SPECIAL)); }
sub kind_of { my ($page) = @_; return (special_of($page))[2]; }
sub put { my ($page, $at, $bytes) = @_; substr($page, $at, length($bytes)) = $bytes; return $page; }
sub random_bytes { my ($n) = @_; return join('', map { chr(int(rand(256))) } 1 .. $n); }

# each gets the pages and a block's number, and changes the pages
my %damages = (
	'zeroes' => [ 'foreign', sub { my ($p, $b) = @_; $p->[$b] = "\0" x BLOCK; } ],
	'random bytes all over' => [ 'foreign', sub { my ($p, $b) = @_; $p->[$b] = random_bytes(BLOCK); } ],
	'another kind' => [ 'foreign', sub { my ($p, $b) = @_; $p->[$b] = put($p->[$b], SPECIAL + 12, chr(1 + (kind_of($p->[$b]) + 1) % 6)); } ],
	'another stamp' => [ 'foreign', sub { my ($p, $b) = @_; $p->[$b] = put($p->[$b], SPECIAL, pack('Q<', 1 << 40)); } ],
	'swapped with the page before' => [ 'foreign', sub { my ($p, $b) = @_; @$p[ $b - 1, $b ] = @$p[ $b, $b - 1 ]; } ],
	'a copy of the metapage' => [ 'foreign', sub { my ($p, $b) = @_; $p->[$b] = $p->[0]; } ],
	'cut off from here' => [ 'foreign', sub { my ($p, $b) = @_; $#$p = $b - 1; } ],
	'linked to itself' => [ 'bytes', sub { my ($p, $b) = @_; $p->[$b] = put($p->[$b], SPECIAL + 8, pack('L<', $b)); } ],
	'linked to the last block' => [ 'bytes', sub { my ($p, $b) = @_; $p->[$b] = put($p->[$b], SPECIAL + 8, pack('L<', $#$p)); } ],
	'linked far beyond' => [ 'bytes', sub { my ($p, $b) = @_; $p->[$b] = put($p->[$b], SPECIAL + 8, pack('L<', 0xFFFFFF00)); } ],
	'no payload' => [ 'bytes', sub { my ($p, $b) = @_; $p->[$b] = put($p->[$b], 12, pack('S<', 24)); } ],
	'a full payload' => [ 'bytes', sub { my ($p, $b) = @_; $p->[$b] = put($p->[$b], 12, pack('S<', SPECIAL)); } ],
	'a random length' => [ 'bytes', sub { my ($p, $b) = @_; $p->[$b] = put($p->[$b], 12, pack('S<', 24 + int(rand(SPECIAL - 24)))); } ],
	'a payload of random bytes' => [ 'bytes', sub { my ($p, $b) = @_; $p->[$b] = put($p->[$b], 24, random_bytes(SPECIAL - 24)); } ],
	'a payload of ones' => [ 'bytes', sub { my ($p, $b) = @_; $p->[$b] = put($p->[$b], 24, "\xFF" x (SPECIAL - 24)); } ],
	map { ("random bytes here and there $_" => [ 'bytes', sub
		{
			my ($p, $b) = @_;
			my $used = unpack('S<', substr($p->[$b], 12, 2)) - 24;
			$p->[$b] = put($p->[$b], 24 + int(rand($used)), random_bytes(1)) foreach 1 .. 4;
		} ]) } 1 .. 3);

# fields of the metapage: [class, offset, bytes]; segments begin at 24 + 88, 48 bytes each (genie_page.h)
my %meta_damages = (
	'another magic' => [ 'foreign', 24, pack('L<', 0x12345678) ],
	'a newer version' => [ 'foreign', 28, pack('S<', 0x7FFF) ],
	'200 segments' => [ 'foreign', 24 + 56, pack('L<', 200) ],
	'a segment more' => [ 'bytes', 24 + 56, pack('L<', 3) ],
	'no segment' => [ 'bytes', 24 + 56, pack('L<', 0) ],
	'a pending list that begins elsewhere' => [ 'bytes', 24 + 40, pack('L<', 1) ],
	'a pending list that ends elsewhere' => [ 'bytes', 24 + 44, pack('L<', 1) ],
	'a pending list beyond the file' => [ 'bytes', 24 + 40, pack('L<', 1 << 30) ],
	'pending pages without number' => [ 'bytes', 24 + 48, pack('L<', 0xFFFFFFFF) ],
	'retired pages elsewhere' => [ 'bytes', 24 + 52, pack('L<', 1) ],
	'retired pages beyond the file' => [ 'bytes', 24 + 52, pack('L<', 1 << 30) ],
	'stamps from the beginning' => [ 'bytes', 24 + 32, pack('Q<', 1) ],
	'a root elsewhere' => [ 'foreign', 24 + 88 + 16, pack('L<', 1) ],
	'a root beyond the file' => [ 'foreign', 24 + 88 + 16, pack('L<', 1 << 30) ],
	'more objects' => [ 'bytes', 24 + 88 + 24, pack('L<', 0xFFFFFFF0) ],
	'more dead objects' => [ 'bytes', 24 + 88 + 32, pack('L<', 1000) ],
	'more postings' => [ 'bytes', 24 + 88 + 8, pack('Q<', 1 << 60) ]);

# Which pages they strike: of the live list and segments, by kind and section; and those that nobody reads any more: retired ones
# and free ones, whose damage may keep later merges from reusing them, but changes no answer.
my @targets = ('META', 'PENDING', 'ROOT', @sections[ 1 .. 6 ], 'RETIRED', 'old PENDING', 'old ROOT', 'old DATA', 'FREE');
my @cases;
foreach my $target (@targets)
{
	foreach my $name (sort keys %damages)
	{
		next if $target eq 'META' && $name =~ /swapped|copy of the metapage|cut off/;
		# damaged hints are none
		my $class = $target =~ /^old|FREE/ || "$target $damages{$name}[0]" eq 'HINTS bytes' || "$target: $name" eq 'META: another stamp' ? 'unread' : $target eq 'RETIRED' ? 'bytes' : $damages{$name}[0];
		push @cases, { target => $target, name => "$target: $name", class => $class, change => $damages{$name}[1] };
	}
}
foreach my $name (sort keys %meta_damages)
{
	my ($class, $at, $bytes) = @{ $meta_damages{$name} };
	push @cases, { target => 'META', name => "META: $name", class => $class, change => sub { my ($p, $b) = @_; $p->[0] = put($p->[0], $at, $bytes); } };
}
push @cases, { target => 'META', name => 'an empty file', class => 'foreign', change => sub { my ($p, $b) = @_; @$p = (); } };
push @cases, { target => 'META', name => 'nothing', class => 'none', change => sub { } };
push @cases, { target => 'PENDING', name => 'PENDING: a row beyond the table', class => 'bytes', right => 1, change => sub { my ($p, $b) = @_; $b = unpack('L<', substr($p->[0], 24 + 40)); $p->[$b] = put($p->[$b], 24, pack('S<S<', 0x0100, 0)); } };

# The blocks of each target: what the metapage reaches is live.
sub blocks_by_target
{
	my @pages = @_;
	my ($head, $n_segments) = (unpack('L<', substr($pages[0], 24 + 40)), unpack('L<', substr($pages[0], 24 + 56)));
	my %live = map { unpack('Q<', substr($pages[0], 24 + 88 + 48 * $_)) => 1 } 0 .. $n_segments - 1;
	my (%list, %blocks);

	for (my $b = $head; $b != 0xFFFFFFFF; $b = (special_of($pages[$b]))[1])
	{
		$list{$b} = 1;
	}
	foreach my $b (0 .. $#pages)
	{
		my ($stamp, $next, $kind, $detail) = special_of($pages[$b]);
		my $name = $kind_name{$kind} // next;

		$name = "old $name" if $kind == 2 && !$list{$b} || ($kind == 3 || $kind == 4) && !$live{$stamp};
		$name = $sections[$detail] if $name eq 'DATA';
		push @{ $blocks{$name} }, $b;
	}
	return %blocks;
}

# ---- as many copies ----
# VACUUM leaves free pages in them, and truncates them when they are damaged.

my $n = @cases;
my @steps = (
	"SELECT setseed(0.5); CREATE TABLE %1\$s (x int[]) WITH (vacuum_truncate = off); INSERT INTO %1\$s SELECT random_set(80, 10) FROM generate_series(1, 300) g; "
	  . "INSERT INTO %1\$s SELECT array_agg(g %% 100 * 100 + g) FROM generate_series(1, 12000) g GROUP BY g / 1000; "
	  . "CREATE INDEX %1\$s_x ON %1\$s USING genie (x) WITH (pending_limit = 100000)",
	"SELECT setseed(0.25); INSERT INTO %1\$s SELECT random_set(80, 10) FROM generate_series(1, 100)",
	"SELECT genie_merge('%1\$s_x')",
	"SELECT setseed(0.25); INSERT INTO %1\$s SELECT random_set(80, 10) FROM generate_series(1, 100)",
	"SELECT genie_merge('%1\$s_x')",
	"DELETE FROM %1\$s WHERE x && '{3}' OR array_length(x, 1) > 100 OR (ctid::text::point)[1]::int %% 3 > 0",
	'VACUUM',
	"SELECT setseed(0.25); INSERT INTO %1\$s SELECT random_set(80, 10) FROM generate_series(1, 60)",
	"SELECT genie_merge('%1\$s_x')",
	"SELECT setseed(0.25); INSERT INTO %1\$s SELECT random_set(80, 10) FROM generate_series(1, 30); INSERT INTO %1\$s SELECT array_agg(i) FROM generate_series(1, 6000) i; "
	  . "ALTER TABLE %1\$s RESET (vacuum_truncate)");
# A transaction that has all indexes open keeps the pages that the last merges replace.
my $reader = $node->background_psql('postgres');
foreach my $i (0 .. $#steps)
{
	my $step = $steps[$i];
	$reader->query_safe(join('; ', 'BEGIN', map { "EXPLAIN SELECT FROM copy_$_" } 1 .. $n)) if $i == $#steps - 1;
	$node->safe_psql('postgres', join(";\n", map { sprintf($step, "copy_$_") } 1 .. $n)) if $step ne 'VACUUM';
	$node->safe_psql('postgres', 'VACUUM ' . join(', ', map { "copy_$_" } 1 .. $n)) if $step eq 'VACUUM';
}
my @answers = map { "SELECT array_agg(row) FROM (SELECT ctid || ' ' || coalesce((x <&> $_)::text, '-') AS row FROM %s ORDER BY x <&> $_ TIE) s" }
  "'{1,2,3,4,5}'", "genie_query('{[20,50)}'::int4multirange)", "'{70,71,72,5999}'";
push @answers, "SELECT array_agg(row) FROM (SELECT ctid || ' ' || coalesce((x <%%> '{1,2,3,4,5}')::text, '-') AS row FROM %s ORDER BY x <%%> '{1,2,3,4,5}' TIE) s";
push @answers, "SELECT array_agg(ctid ORDER BY ctid) FROM %s WHERE x \@& genie_query('{1,2,3,4}'::int[], 2)";
my $by_table = 'SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_seqscan = on; SET enable_sort = on;';
my $by_index = 'SET enable_indexscan = on; SET enable_bitmapscan = on; SET enable_seqscan = off; SET enable_sort = off;';

$reader->quit;
my %path = split(/[|\n]/, $node->safe_psql('postgres',
	"SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relname ~ '^copy_\\d+_x\$'"));
$node->stop;

foreach my $i (1 .. $n)
{
	my $case = $cases[ $i - 1 ];
	my $file = $node->data_dir . '/' . $path{"copy_${i}_x"};
	my $bytes = slurp_file($file);
	my @pages = unpack('(a' . BLOCK . ')*', $bytes);
	my %blocks = blocks_by_target(@pages);
	my @blocks = @{ $blocks{ $case->{target} } // [] };
	die "no page for $case->{name} among " . join(" ", map { kind_of($_) } @pages) if !@blocks;
	my $block = $blocks[ rand @blocks ];
	$case->{block} = $block;

	# pages of one long pending row are told apart by nothing but their contents; those of a section carry their number
	$case->{class} = 'bytes' if $case->{name} =~ /swapped/ && $case->{class} eq 'foreign' && kind_of($pages[$block]) != 4 &&
	  join(' ', (special_of($pages[$block]))[ 0, 2, 3 ]) eq join(' ', (special_of($pages[ $block - 1 ]))[ 0, 2, 3 ]);
	my @before = @pages;
	$case->{change}->(\@pages, $block);
	if ($case->{right} || rand() < 0.5)
	{
		$case->{name} .= ' (with a right checksum)';
		@pages = map { ($before[$_] // '') eq $pages[$_] ? $pages[$_] : with_checksum($pages[$_], $_) } 0 .. $#pages;
	}
	elsif ($case->{class} eq 'bytes')
	{
		$case->{class} = 'noticed';
	}
	$case->{class} = 'none' if join('', @before) eq join('', @pages);
	open(my $out, '>:raw', $file) or die "could not open \"$file\": $!";
	print $out @pages;
	close($out);
}
$node->start;

# ---- what they go through ----

my $clear = qr/^ERROR:  (XX001|XX002|0A000): /m;

# Runs labelled statements in one session, each whatever became of the one before; returns what each said: [out, err].
sub run_steps
{
	my @steps = @_;
	my $script = "\\set VERBOSITY verbose\nSET statement_timeout = '20s';\n";
	my ($out, $err) = ('', '');

	$script .= "\\echo =====\n\\warn =====\n$_->[1];\n" foreach @steps;
	IPC::Run::run([ 'psql', '-XAtq', '-f', '-', '-d', $node->connstr('postgres') ], '<', \$script, '>', \$out, '2>', \$err);
	my @out = split(/^=====\n/m, $out, -1);
	my @err = split(/^=====\n/m, $err, -1);
	return map { [ $out[ $_ + 1 ] // '', ($err[ $_ + 1 ] // 'no answer') =~ s/^psql:<stdin>:\d+: //gmr ] } 0 .. $#steps;
}

my $has_images = $node->safe_psql('postgres', 'SHOW shared_preload_libraries') eq 'genie';
my ($n_found, $n_wrong, $n_error, $n_right) = (0, 0, 0, 0);
foreach my $i (1 .. $n)
{
	my $case = $cases[ $i - 1 ];
	my $name = "$case->{name}, block $case->{block}";
	my $index = "copy_${i}_x";
	my @steps = ([ 'genie_check', "SELECT count(*) FROM genie_check('$index')" ], [ 'genie_index_info', "SELECT * FROM genie_index_info('$index')" ]);
	foreach my $round (1, 2, 3)
	{
		my @queries = map { sprintf($_, "copy_$i") } @answers;

		push @steps, [ '', $by_table ], map { [ 'table', s/TIE/, ctid/r ] } @queries;
		push @steps, [ '', $by_index ], map { [ "round $round", s/TIE//r ] } @queries;
		push @steps, [ 'insert', "INSERT INTO copy_$i SELECT random_set(80, 10) FROM generate_series(1, 20)" ],
		  [ 'long insert', "INSERT INTO copy_$i SELECT array_agg(i) FROM generate_series(1, 3000) i" ],
		  [ 'merge', "SELECT genie_merge('$index')" ], [ 'VACUUM', "VACUUM copy_$i" ],
		  [ 'second merge', "SELECT genie_merge('$index')" ] if $round == 1;
		push @steps, [ 'REINDEX', "REINDEX INDEX $index" ], [ 'check again', "SELECT count(*) FROM genie_check('$index')" ] if $round == 2;
	}
	my @said = run_steps(@steps);
	my (@bad, @by_table);
	foreach my $k (0 .. $#steps)
	{
		my ($what, $sql) = @{ $steps[$k] };
		my ($out, $err) = @{ $said[$k] };
		my $failed = $err =~ /^(ERROR|FATAL|PANIC)|no answer|connection/m;

		# a byte may turn a keyword into one of another type: a clear error, too
		my $type = $case->{class} =~ /bytes|noticed/ && $err =~ /^ERROR:  42804: query asks .* type family "\w+", but the object has "\w+"$/m;
		push @bad, "$what: $err" if $failed && !$type && ($err !~ $clear || $err =~ /: (XX002|0A000): / && $err !~ /^HINT:  .*REINDEX/m);
		push @bad, "without the index: $err" if $what eq 'table' && $failed;
		if ($what eq 'genie_check')
		{
			my $found = $failed || $out > 0;
			$n_found += $found;
			push @bad, 'genie_check finds nothing' if $case->{class} =~ /foreign|noticed/ && !$found;
			push @bad, 'genie_check finds something' if $case->{class} eq 'none' && $found;
		}
		push @bad, "$what: $err$out" if $what eq 'REINDEX' && $failed || $what eq 'check again' && $out ne "0\n";
		push @by_table, $out if $what eq 'table';
		next if $what !~ /^round (.)/;
		my $right = shift @by_table;
		if ($failed) { $n_error++; }
		elsif ($out eq $right) { $n_right++; }
		else
		{
			$n_wrong++;
			my $unverified = $case->{class} eq 'noticed' && !$has_images && $case->{target} =~ /OBJECTS|SIZES|DICTIONARY|POSTINGS/;

			push @bad, "wrong rows, $what: $sql" if $case->{class} ne 'bytes' && !$unverified || $what eq 'round 3';
		}
		push @bad, "$what: $err" if $failed && ($what eq 'round 3' || $case->{class} eq 'none');
	}
	is(join("\n", @bad), '', $name);
	wait_until($node, 'SELECT true') if @bad;
}
my $n_noticed = grep { $_->{class} eq 'noticed' } @cases;
note("$n copies, $n_noticed of them with wrong checksums; $n_found found; answers: $n_right right, $n_error errors, $n_wrong wrong");
like(slurp_file($node->logfile), qr/ERROR:  index "copy_\d+_x" is damaged: it has a row in block 16777216, but table "copy_\d+" has \d+ blocks/, 'a row beyond the table is damage');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|was terminated by signal/, 'no crash');

done_testing();
