-- families of values: which types match, and that bytes are ordered as PostgreSQL orders the values

-- every type with a family
SELECT genie_tuple(true, 1::int2, 2::int4, 3::int8, 1.5::float4, 2.5::float8, 1.50::numeric, 'text'::text, 'varchar'::varchar(10), 'char'::char(10), 'name'::name, 'unknown');
SELECT genie_tuple('\x00ff'::bytea, '2020-01-02'::date, '2020-01-02 03:04'::timestamp, '2020-01-02 03:04+00'::timestamptz, '03:04:05'::time,
	'03:04+01'::timetz, '1 month 2 days'::interval, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, 7::oid, 'c'::"char", 12::money,
	B'101'::bit(3), B'1011'::varbit, '08:00:2b:01:02:03'::macaddr, '08:00:2b:01:02:03:04:05'::macaddr8, '16/B374D848'::pg_lsn);

-- one value, one keyword
SELECT genie_tuple(1::int2) = genie_tuple(1::int8) AS int, genie_tuple(0.5::float4) = genie_tuple(0.5::float8) AS float,
	genie_tuple('-0'::float8) = genie_tuple(0::float8) AS zero, genie_tuple('NaN'::float4) = genie_tuple('NaN'::float8) AS nan,
	genie_tuple(1.0) = genie_tuple(1.000) AS numeric, genie_tuple('a'::char(5)) = genie_tuple('a'::text) AS char,
	genie_tuple('a'::name) = genie_tuple('a'::varchar) AS name, genie_tuple('a') = genie_tuple('a'::text) AS unknown,
	genie_tuple('2020-01-01'::date) = genie_tuple('2020-01-01 00:00'::timestamp) AS date,
	genie_tuple('infinity'::date) = genie_tuple('infinity'::timestamp) AS infinity,
	genie_tuple('1 month'::interval) = genie_tuple('30 days'::interval) AS interval,
	genie_tuple('1 day'::interval) = genie_tuple('24 hours'::interval) AS day,
	genie_tuple(B'1'::bit(1)) = genie_tuple(B'1'::varbit) AS bit;
-- and another value is another
SELECT genie_tuple('a '::text) <> genie_tuple('a'::text) AS blank, genie_tuple('10:00+01'::timetz) <> genie_tuple('09:00+00'::timetz) AS zone,
	genie_tuple(B'1') <> genie_tuple(B'10') AS bit, genie_tuple(1) <> genie_tuple(1.0) AS int_numeric, genie_tuple(1, NULL) <> genie_tuple(NULL, 1) AS attribute;

-- the order of the keys is the order of the values, and equal values have one key: every pair, by a range that ends before the second
CREATE FUNCTION order_errors(type text, range text, list text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format($q$
		WITH v AS (SELECT e::%1$s AS v, genie_tuple(e::%1$s) AS o FROM unnest($1) e)
		SELECT count(*) FROM v a, v b WHERE genie_match_count(a.o, genie_tuple_query(%2$s(NULL, b.v))) <> (a.v < b.v)::int
			OR (a.v = b.v) <> (a.o = b.o) OR a.o::text::genie_object <> a.o
	$q$, type, range) INTO n USING list;
	RETURN n;
END $$;
CREATE FUNCTION check_order(type text, list text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	range text := 'range_of_' || replace(type, '"', '');
BEGIN
	EXECUTE format('CREATE TYPE %s AS RANGE (SUBTYPE = %s%s)', range, type,
		CASE WHEN type IN ('text', 'varchar', 'bpchar', 'name') THEN ', COLLATION = "C"' END);
	n := order_errors(type, range, list);
	EXECUTE format('DROP TYPE %s', range);
	RETURN n;
END $$;
SELECT type, check_order(type, list) AS errors FROM (VALUES
	('bool', '{t,f}'::text[]),
	('int2', '{-32768,-257,-256,-255,-1,0,1,127,128,255,256,257,32767}'),
	('int4', '{-2147483648,-65537,-65536,-65535,-256,-1,0,1,255,256,65535,65536,16777215,16777216,2147483647}'),
	('int8', '{-9223372036854775808,-4294967296,-1,0,1,4294967295,4294967296,72057594037927936,9223372036854775807}'),
	('float4', '{-Infinity,-3.4e38,-1.5,-1e-45,-0,0,1e-45,0.1,1.5,3.4e38,Infinity,NaN}'),
	('float8', '{-Infinity,-1.7e308,-2,-1.5,-5e-324,-0,0,5e-324,0.1,1.5,2,1.7e308,Infinity,NaN}'),
	('numeric', '{-Infinity,-1e1000,-1e20,-10000.0001,-10000,-9999.9999,-1.5,-1.00000005,-1.0000,-1,-0.5,-0.0001,-0.00009,-1e-1000,0,0.00,1e-1000,0.00009,0.0001,0.5,1,1.0,1.00000005,1.5,9999.9999,10000,10000.0001,1e20,1e1000,Infinity,NaN}'),
	('text', '{"",a,A,aa,ab,b,"a ","a!",~}'),
	('varchar', '{"",a,A,aa,ab,b,"a ","a!"}'),
	('bpchar', '{"",a,A,aa,ab,b}'),
	('name', '{"",a,A,aa,ab,b}'),
	('bytea', '{"\\x","\\x00","\\x0000","\\x01","\\xff","\\xff00"}'),
	('date', '{-infinity,4713-01-01 BC,0001-12-31 BC,0001-01-01,1999-12-31,2000-01-01,2000-01-02,2024-02-29,5874897-12-31,infinity}'),
	('timestamp', '{-infinity,4713-01-01 00:00:00 BC,1999-12-31 23:59:59.999999,2000-01-01,2000-01-01 00:00:00.000001,2000-01-01 12:00,2024-02-29 23:59:59,294276-12-31,infinity}'),
	('timestamptz', '{-infinity,4713-01-01 00:00:00+00 BC,1999-12-31 23:59:59.999999+00,2000-01-01 00:00+00,2000-01-01 01:00+01,2000-01-01 00:00:00.000001+00,294276-12-31 00:00+00,infinity}'),
	('time', '{00:00,00:00:00.000001,00:01,12:00,23:59:59.999999,24:00}'),
	('timetz', '{00:00+14,00:00+00,01:00+01,12:00-05,12:00+05,24:00-14,23:59:59.999999+15:59:59}'),
	('interval', '{-178000000 years,-1 mon,-30 days,-1 day,-24:00,-00:00:00.000001,0,00:00:00.000001,23:59,24:00,1 day,1 day 1 us,29 days 24:00,1 mon,1 year,12 mon,360 days,178000000 years}'),
	('uuid', '{00000000-0000-0000-0000-000000000000,00000000-0000-0000-0000-000000000001,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,ffffffff-ffff-ffff-ffff-ffffffffffff}'),
	('oid', '{0,1,255,256,2147483647,2147483648,4294967295}'),
	('"char"', '{"",a,b,~}'),
	('money', '{-1,0,1,100,100000}'),
	('varbit', '{"",0,1,00,10,01,11,0000000000000000000000000000000000000000000000000000000000000000,00000000000000000000000000000000000000000000000000000000000000000,1111111111111111111111111111111111111111111111111111111111111111,11111111111111111111111111111111111111111111111111111111111111110,1111111111111111111111111111111111111111111111111111111111111111100000001}'),
	('macaddr', '{00:00:00:00:00:00,08:00:2b:01:02:03,08:00:2b:01:02:04,ff:ff:ff:ff:ff:ff}'),
	('macaddr8', '{00:00:00:00:00:00:00:00,08:00:2b:01:02:03:04:05,ff:ff:ff:ff:ff:ff:ff:ff}'),
	('pg_lsn', '{0/0,0/1,16/B374D848,FFFFFFFF/FFFFFFFF}')
) AS v(type, list);
DROP FUNCTION check_order(text, text[]), order_errors(text, text, text[]);

-- random numerics, of all sizes and digits: order and text
SELECT setseed(0.5);
WITH r AS MATERIALIZED (
	SELECT ((random() * 20000 - 10000)::numeric(12, 4) * 10::numeric ^ (random() * 40 - 20)::int)::numeric AS v FROM generate_series(1, 100)
), v AS MATERIALIZED (
	SELECT v, genie_tuple(v) AS o, genie_tuple_query(numrange(NULL, v)) AS q FROM (SELECT v FROM r UNION ALL SELECT -v FROM r UNION ALL SELECT round(v) FROM r) s)
SELECT count(*) AS pairs, count(*) FILTER (WHERE genie_match_count(a.o, b.q) <> (a.v < b.v)::int OR (a.v = b.v) <> (a.o = b.o)) AS errors,
	count(*) FILTER (WHERE a.o::text::genie_object <> a.o) AS text_errors FROM v a, v b;
SELECT genie_tuple(1e-16383), genie_tuple(123456e-16383)::text::genie_object = genie_tuple(123456e-16383) AS smallest,
	genie_tuple(9e131071)::text::genie_object = genie_tuple(9e131071) AS largest;
