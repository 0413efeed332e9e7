# The order of keywords is the order of values: in every family that can be asked by ranges, and for every pair of
# values a, b out of edge cases and random ones, genie_tuple(a) matches the queries "equal to b", "above b", "from b
# on", "below b" and "up to b" exactly where PostgreSQL says so; random ranges through an index find what plain SQL
# finds; the text form gives back the same object.  The seed is printed; GENIE_SEED repeats a run.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{GENIE_SEED} // 586805;
srand($seed);
diag("seed $seed (GENIE_SEED=$seed repeats this run)");

my $node = PostgreSQL::Test::Cluster->new('value_order');
$node->init(extra => [ '--no-locale', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', $ENV{GENIE_TEST_CONF} // '');
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\njit = off\nmax_parallel_workers_per_gather = 0\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION genie');

# Numbers for SQL: r() is 0 to 1, n() a whole number that is often small and at times huge.
my $r = 'random()';
my $n = '(CASE WHEN random() < 0.5 THEN random() * 300 - 150 ELSE (random() - 0.5) * 2 ^ (random() * 62) END)::int8';

# of each family: the type, edge cases, and SQL of a random value
my %families = (
	int2 => [ 'int2', '-32768, -32767, -256, -255, -129, -128, -1, 0, 1, 127, 128, 255, 256, 32767', "$n % 32768" ],
	int4 => [ 'int4', '-2147483648, -65536, -65535, -1, 0, 1, 65535, 65536, 2147483647', "$n % 2147483648" ],
	int8 => [ 'int8', "'-9223372036854775808', '9223372036854775807', -4294967296, -4294967295, -1, 0, 1, 4294967295, 4294967296, 72057594037927936", $n ],
	float4 => [ 'float4', q('NaN', 'Infinity', '-Infinity', '-0', 0, 1e-45, -1e-45, 3.4028235e38, -3.4028235e38, 1.1754944e-38), "(random() - 0.5) * 10 ^ (random() * 70 - 35)" ],
	float8 => [ 'float8', q('NaN', '-NaN', 'Infinity', '-Infinity', '-0', 0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308), "(random() - 0.5) * 10 ^ (random() * 600 - 300)" ],
	numeric => [ 'numeric', q('NaN', 'Infinity', '-Infinity', 0, 0.000, -0.0, 1, 1.0, 1.00, 10, 100, 1000, 9999, 10000, 10001, -1, -9999, -10000, -10001, -10000.0001, 0.1, 0.0001,
		0.00009, -0.0001, -0.00009, 0.00010001, 99999999, 100000000, 1e1000, -1e1000, 1e-1000, -1e-1000, 1e131071, -1e131071, 1e-16383, -1e-16383, 1e1000 + 1, -1e1000 - 1, 12345678.9, 12345678.90, 12345678.91),
		"round((random() - 0.5)::numeric * 10::numeric ^ (random() * 120 - 40)::int, (random() * 60 - 5)::int)" ],
	text => [ 'text COLLATE "C"', q('', 'a', 'aa', 'ab', 'b', ' ', 'a ', E'a\x01', E'\x01', E'\x7f', 'é', 'ÿ', '🙂', 'Z', repeat('a', 127), repeat('a', 128), repeat('a', 129), repeat('z', 128), repeat('z', 300)),
		"left(repeat(substr(md5(random()::text), 1, 1 + (random() * 4)::int), 30), (random() * 125)::int) || chr(32 + (random() * 600)::int)" ],
	bytea => [ 'bytea', q('', '\x00', '\x0000', '\x01', '\x0001', '\xff', '\xff00', '\xffff', decode(repeat('ff', 127), 'hex'), decode(repeat('ff', 128), 'hex'), decode(repeat('ff', 129), 'hex')),
		"substr(decode(repeat(md5(random()::text), 8), 'hex'), (random() * 10)::int + 1, (random() * 120)::int)" ],
	date => [ 'date', q('-infinity', 'infinity', '4713-01-01 BC', '4714-11-24 BC', '0001-12-31 BC', '0001-01-01', '1999-12-31', '2000-01-01', '2000-01-02', '5874897-12-31'), "'2000-01-01'::date + ($n % 700000)::int" ],
	timestamp => [ 'timestamp', q('-infinity', 'infinity', '4714-11-24 00:00:00 BC', '4714-11-24 00:00:00.000001 BC', '0001-12-31 23:59:59.999999 BC', '0001-01-01', '1999-12-31 23:59:59.999999', '2000-01-01',
		'2000-01-01 00:00:00.000001', '294276-12-31 23:59:59.999999'), "'2000-01-01'::timestamp + ($n % 20000000000000) * interval '1 microsecond'" ],
	timestamptz => [ 'timestamptz', q('-infinity', 'infinity', '4714-11-24 00:00:00+00 BC', '2000-01-01 00:00+00', '2000-01-01 01:00+01', '2000-01-01 01:00+00', '294276-12-31 23:59:59.999999+00'), "'2000-01-01'::timestamptz + ($n % 20000000000000) * interval '1 microsecond'" ],
	time => [ 'time', q('00:00', '00:00:00.000001', '23:59:59.999999', '24:00'), "'00:00'::time + random() * interval '1 day'" ],
	timetz => [ 'timetz', q('00:00+00', '00:00-01', '01:00+01', '01:00+00', '24:00+15:59', '24:00-15:59', '00:00+15:59:59', '00:00-15:59:59', '12:00+02', '11:00+01'),
		"((random() * 23)::int || ':' || (random() * 59)::int || ':00' || CASE WHEN random() < 0.5 THEN '+' ELSE '-' END || (random() * 14)::int)::timetz" ],
	interval => [ 'interval', q('0', '1 month', '30 days', '720 hours', '29 days 24 hours', '1 year', '360 days', '-1 month', '-30 days', '1 microsecond', '-1 microsecond', '1 month -30 days', '24 hours', '23:59:59.999999',
		'178000000 years', '-178000000 years', '2147483647 days', '-2147483648 days', '2562047788:00:54.775807', '-2562047788:00:54.775807'), "make_interval(0, ($n % 1000)::int, 0, ($n % 10000)::int, ($n % 100)::int, 0, random())" ],
	bool => [ 'bool', 'true, false', 'random() < 0.5' ],
	uuid => [ 'uuid', q('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '7fffffff-ffff-ffff-ffff-ffffffffffff', '80000000-0000-0000-0000-000000000000'), 'md5(random()::text)::uuid' ],
	oid => [ 'oid', '0, 1, 255, 256, 65535, 65536, 2147483647, 2147483648, 4294967295', "(abs($n) % 4294967296)::oid" ],
	char => [ '"char"', q('a', 'b', ''), '(random() * 255 - 128)::int::"char"' ],
	money => [ 'money', q('-92233720368547758.08', '92233720368547758.07', 0, -1, 1), "($n % 1000000000000)::money" ],
	bit => [ 'bit(5)', q('00000', '00001', '10000', '11111', '01111'), '(random() * 31)::int::bit(5)' ],
	varbit => [ 'varbit', q('', '0', '00', '000000000', '1', '10', '100', '00000001', '000000010', '11111111', '111111110', '1111111100000000', repeat('1', 900)::varbit, repeat('1', 901)::varbit, repeat('10', 500)::varbit),
		"right(($n)::bit(64)::text, (random() * 64)::int)::varbit" ],
	macaddr => [ 'macaddr', q('00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff', '80:00:00:00:00:00', '7f:ff:ff:ff:ff:ff'), "substr(md5(random()::text), 1, 12)::macaddr" ],
	macaddr8 => [ 'macaddr8', q('00:00:00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff:ff:ff', '08:00:2b:01:02:03'), "substr(md5(random()::text), 1, 16)::macaddr8" ],
	pg_lsn => [ 'pg_lsn', q('0/0', '0/FFFFFFFF', '1/0', 'FFFFFFFF/FFFFFFFF', '80000000/0'), "'0/0'::pg_lsn + abs($n)" ]);

for my $name (sort keys %families)
{
	my ($type, $edges, $random) = @{ $families{$name} };
	my $setseed = rand(1);
	my ($plain) = split(/ COLLATE /, $type);
	my $collation = $type =~ /COLLATE (.*)/ ? ", COLLATION = $1" : '';
	my $values = join(', ', map { "($_)" } split(/,\s+(?![^(]*\))/, $edges));
	my $conditions = join(' OR ',
		map { my ($query, $operator) = @$_; "(genie_tuple(a.v) @& $query) IS DISTINCT FROM (a.v $operator b.v)" }
		[ 'eq', '=' ], [ 'above', '>' ], [ 'from_on', '>=' ], [ 'below', '<' ], [ 'up_to', '<=' ]);
	my ($stdout, $stderr) = ('', '');

	my $status = $node->psql('postgres', <<"SQL", stdout => \$stdout, stderr => \$stderr, on_error_stop => 1, extra_params => ['-At']);
SET client_min_messages = warning;
\\o /dev/null
SELECT setseed($setseed);
CREATE TYPE range_$name AS RANGE (SUBTYPE = $plain$collation, MULTIRANGE_TYPE_NAME = ranges_$name);
CREATE TABLE $name (v $type);
INSERT INTO $name VALUES $values;
INSERT INTO $name SELECT $random FROM generate_series(1, 120);
CREATE TABLE queries AS SELECT v, genie_tuple_query(v) AS eq,
	genie_tuple_query(range_$name(v, NULL, '()')) AS above, genie_tuple_query(range_$name(v, NULL, '[)')) AS from_on,
	genie_tuple_query(range_$name(NULL, v, '()')) AS below, genie_tuple_query(range_$name(NULL, v, '(]')) AS up_to FROM $name;
CREATE INDEX ${name}_x ON $name USING genie (genie_tuple(v));
INSERT INTO $name SELECT v FROM $name;
SET enable_seqscan = off;
\\o
SELECT 'pair', a.v, b.v, eq, above, from_on, below, up_to FROM $name a, queries b WHERE $conditions LIMIT 3;
SELECT 'query text', v FROM queries WHERE eq::text::genie_query::text <> eq::text OR above::text::genie_query::text <> above::text LIMIT 3;
SELECT 'object text', v, genie_tuple(v) FROM $name WHERE genie_tuple(v)::text::genie_object <> genie_tuple(v) LIMIT 3;
DO \$\$
DECLARE
	a $plain;
	b $plain;
	ranges ranges_$name;
	line text;
	plan text := '';
	found int;
	expected int;
BEGIN
	FOR i IN 1 .. 25 LOOP
		SELECT ranges_$name(range_$name(least(x.v, y.v), greatest(x.v, y.v), '[)'), range_$name(z.v, z.v, '[]')) INTO ranges
			FROM (SELECT v FROM $name ORDER BY random() LIMIT 1) x, (SELECT v FROM $name ORDER BY random() LIMIT 1) y, (SELECT v FROM $name ORDER BY random() LIMIT 1) z;
		SELECT count(*) INTO found FROM $name WHERE genie_tuple(v) @& genie_tuple_query(ranges);
		SELECT count(*) INTO expected FROM $name WHERE v <@ ranges;
		IF found <> expected THEN
			RAISE WARNING 'range %: % found, % expected', ranges, found, expected;
		END IF;
	END LOOP;
	FOR line IN EXPLAIN SELECT count(*) FROM $name WHERE genie_tuple(v) @& genie_tuple_query(ranges) LOOP
		plan := plan || line;
	END LOOP;
	IF strpos(plan, '${name}_x') = 0 THEN
		RAISE WARNING 'the index was not used: %', plan;
	END IF;
END \$\$;
SELECT genie_check('${name}_x');
DROP TABLE queries;
SQL
	ok($status == 0 && $stdout eq '' && $stderr eq '', $name) or diag("seed $seed: " . substr("$stdout\n$stderr", 0, 3000));
}

$node->stop;
done_testing();
