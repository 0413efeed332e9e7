-- genie_object: text input and output, equality, order, what is refused

-- every family
SELECT '{1:int:39,2:text:"Private",3:float:1.5,4:hash:\x0123456789abcdef,5:timestamp:"2020-01-01 00:00:00"}'::genie_object;
SELECT '{ }'::genie_object AS empty, ' { 7 : int : 1 } '::genie_object AS spaces;
SELECT '{1:bool:true,1:bool:no,1:int:-9223372036854775808,1:int:9223372036854775807,1:int:"5",1:float:-0,1:float:NaN,1:float:-Infinity,1:float:1e300,1:numeric:1.50,1:numeric:-0.001,1:numeric:NaN,1:numeric:1e40,1:numeric:12345678901234567890.5}'::genie_object;
SELECT '{1:text:"",1:text:plain,1:text:"a \"quoted\" \\ value",1:bytea:\xDEADBEEF,1:bytea:\x,1:bytea:"\\x00ff",1:enum:"label"}'::genie_object;
SELECT '{1:timestamp:infinity,1:timestamp:-infinity,1:timestamp:2020-02-29,1:timestamp:"2020-02-29 24:00",1:timestamp:"0044-03-15 12:30:45.5 BC",1:timestamp:"12345-06-07T08:09",1:timestamptz:"2020-01-01 00:00:00.000001+00",1:timestamptz:"0044-03-15 00:00:00+00 BC",1:timestamptz:infinity,1:time:"24:00",1:time:"01:02:03.450000"}'::genie_object;
SELECT '{1:uuid:A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11,1:oid:4294967295,1:money:-199,1:bit:"",1:bit:0,1:bit:101,1:lsn:16/B374D848,1:char:\x61,1:macaddr:\x010203040506,1:macaddr8:\x0102030405060708,1:timetz:\x807f,1:interval:\x80}'::genie_object;
SELECT '{0:int:1,247:int:1,248:int:1,255:int:1,256:int:1,65535:int:1,65536:int:1,16777216:int:1,2147483647:int:1}'::genie_object;

-- order and repetition mean nothing
SELECT '{2:int:1,1:int:3,1:int:-2,1:int:3}'::genie_object;
SELECT '{2:int:1,1:int:3,1:int:-2,1:int:3}'::genie_object = '{1:int:-2,1:int:3,2:int:1}'::genie_object AS equal;

-- any family's normalised bytes can be given; readable families print them readably
SELECT '{1:int:\x8127,1:int:\x80,1:int:\x7f,1:float:\xbff0000000000000,1:text:\x6162,1:numeric:\x4080000a,1:timestamp:\x80,1:bit:\xa00000000000000003,1:bool:\x01,1:lsn:\x000000160000000a,1:time:\x0000000001,1:uuid:\x000102030405060708090a0b0c0d0e0f}'::genie_object;

-- long values are cut and known by their hash; they print raw and come back
SELECT length(genie_tuple(repeat('x', 128))::text), length(genie_tuple(repeat('x', 129))::text);
SELECT genie_tuple(repeat('x', 128) || 'a') <> genie_tuple(repeat('x', 128) || 'b') AS different,
	genie_tuple(repeat('x', 1000))::text::genie_object = genie_tuple(repeat('x', 1000)) AS round_trip,
	genie_tuple(repeat('x', 129), decode(repeat('ff', 400), 'hex'), repeat('9', 2000)::numeric, repeat('1', 3000)::varbit)::text::genie_object
		= genie_tuple(repeat('x', 129), decode(repeat('ff', 400), 'hex'), repeat('9', 2000)::numeric, repeat('1', 3000)::varbit) AS round_trip_all;

-- settings change nothing
SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Tokyo'; SET extra_float_digits = -15; SET bytea_output = escape;
SELECT genie_tuple('2020-02-03'::date, '2020-02-03 04:05:06'::timestamp, '2020-02-03 04:05:06+00'::timestamptz, 0.1::float8, '\x00ff'::bytea);
RESET DateStyle; RESET TimeZone; RESET extra_float_digits; RESET bytea_output;

-- grammar errors say where
SELECT ''::genie_object;
SELECT '1:int:1'::genie_object;
SELECT '{1:int:1'::genie_object;
SELECT '{1:int:1} x'::genie_object;
SELECT '{1:int:1,}'::genie_object;
SELECT '{1:int:1 2:int:1}'::genie_object;
SELECT '{-1:int:1}'::genie_object;
SELECT '{2147483648:int:1}'::genie_object;
SELECT '{1 int:1}'::genie_object;
SELECT '{1:integer:1}'::genie_object;
SELECT '{1:int}'::genie_object;
SELECT '{1:int:}'::genie_object;
SELECT '{1:text:"abc}'::genie_object;
SELECT '{1:text:"a\b"}'::genie_object;
SELECT '{1:bytea:\x0}'::genie_object;
SELECT '{1:bytea:\y00}'::genie_object;
SELECT '{1:int:[1,2]}'::genie_object;
SELECT '{1:int:1}@1'::genie_object;

-- values that are none
SELECT '{1:bool:maybe}'::genie_object;
SELECT '{1:int:1.5}'::genie_object;
SELECT '{1:int:9223372036854775808}'::genie_object;
SELECT '{1:float:abc}'::genie_object;
SELECT '{1:numeric:1x}'::genie_object;
SELECT '{1:oid:-1}'::genie_object;
SELECT '{1:uuid:1}'::genie_object;
SELECT '{1:bit:12}'::genie_object;
SELECT '{1:lsn:1}'::genie_object;
SELECT '{1:enum:""}'::genie_object;
SELECT '{1:hash:1}'::genie_object;
SELECT '{1:timestamp:now}'::genie_object;
SELECT '{1:timestamp:2021-02-29}'::genie_object;
SELECT '{1:timestamp:"2020-01-01 25:00"}'::genie_object;
SELECT '{1:timestamp:"2020-01-01 00:00+00"}'::genie_object;
SELECT '{1:timestamp:0000-01-01}'::genie_object;
SELECT '{1:timestamp:9999999-01-01}'::genie_object;
SELECT '{1:time:"12:60"}'::genie_object;

-- bytes that no value has
SELECT '{1:bool:\x02}'::genie_object;
SELECT '{1:int:\x8100}'::genie_object;
SELECT '{1:int:\x}'::genie_object;
SELECT '{1:oid:\x7f}'::genie_object;
SELECT '{1:float:\x7fffffffffffffff}'::genie_object;
SELECT '{1:float:\xfff8000000000001}'::genie_object;
SELECT '{1:numeric:\x40800001}'::genie_object;
SELECT '{1:numeric:\x4080000a0001}'::genie_object;
SELECT '{1:numeric:\x207fffff}'::genie_object;
SELECT '{1:numeric:\x3000}'::genie_object;
SELECT '{1:text:\x00}'::genie_object;
SELECT ('{1:text:\x' || repeat('61', 129) || '}')::genie_object;
SELECT ('{1:bytea:\x' || repeat('61', 137) || '}')::genie_object;
SELECT '{1:timestamp:\x800000000000}'::genie_object;
SELECT '{1:timestamp:\x84ffffffff}'::genie_object;
SELECT '{1:time:\xffffffffff}'::genie_object;
SELECT '{1:timetz:\x80}'::genie_object;
SELECT '{1:interval:\x8801ffffffffffffff}'::genie_object;
SELECT '{1:bit:\xa00000000000000002}'::genie_object;
SELECT '{1:bit:\xa000000000000000ff}'::genie_object;
SELECT '{1:uuid:\x00}'::genie_object;
SELECT '{1:char:\x}'::genie_object;
SELECT '{1:hash:\x0123456789abcd}'::genie_object;

-- of an array's elements
SELECT genie_object(ARRAY[3,1,NULL,2,1]) AS ints, genie_object('{{b,a},{a,NULL}}'::text[]) AS texts, genie_object('{}'::date[]) AS empty, genie_object(NULL::int[]) AS null;
SELECT length(genie_object(ARRAY(SELECT generate_series(1, 65536)))::text);

-- the largest object, and one more
SELECT genie_match_count(o, o) FROM (
	SELECT ('{' || string_agg('0:int:' || i, ',') || '}')::genie_object AS o FROM generate_series(1, 65535) i) s;
SELECT ('{' || string_agg('0:int:' || i, ',') || '}')::genie_object FROM generate_series(1, 65536) i;

-- DISTINCT, GROUP BY, ORDER BY, joins
CREATE TABLE objects (id int, o genie_object);
INSERT INTO objects SELECT i, genie_tuple(i % 3, (i % 2)::text) FROM generate_series(1, 12) i;
INSERT INTO objects VALUES (13, '{}'), (14, NULL);
SELECT count(DISTINCT o) FROM objects;
SELECT o, count(*) FROM objects GROUP BY o ORDER BY o;
SELECT o < '{1:int:1,2:text:"1"}' AS lt, o <= '{1:int:1,2:text:"1"}' AS le, o > '{1:int:1,2:text:"1"}' AS gt, o >= '{1:int:1,2:text:"1"}' AS ge, o <> '{}' AS ne
	FROM objects WHERE id IN (1, 2, 13) ORDER BY id;
SET enable_hashjoin = off; SET enable_nestloop = off;
SELECT count(*) FROM objects a JOIN objects b USING (o);
RESET enable_hashjoin; SET enable_mergejoin = off;
SELECT count(*) FROM objects a JOIN objects b USING (o);
RESET enable_mergejoin; RESET enable_nestloop;
CREATE UNIQUE INDEX ON objects (o) WHERE id < 7;
INSERT INTO objects VALUES (0, genie_tuple(1, '1'::text));
SELECT genie_object_hash_extended(o, 0) = genie_object_hash_extended(o::text::genie_object, 0) AS same FROM objects WHERE id = 1;
DROP TABLE objects;
