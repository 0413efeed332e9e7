-- arrays of every family of types, and objects, through the index: the order and the condition agree with the operators
CREATE SCHEMA index_type;
SET search_path = index_type, public;
SET client_min_messages = warning;

-- Makes a table of arrays of the type from the list of values, indexes half of it, and compares order and condition for several queries.
CREATE FUNCTION try_type(type text, choices text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int := cardinality(choices);
	by_index int[];
	by_table int[];
	query text;
	plan text;
	line text;
BEGIN
	EXECUTE format('CREATE TABLE typed (id int, a %s[])', type);
	FOR part IN 0 .. 1 LOOP
		EXECUTE format('INSERT INTO typed SELECT i, CASE WHEN i %% 29 = 0 THEN NULL ELSE
			(SELECT array_agg(nullif($1[1 + (i * 31 + j * 17 + i * j) %% $2], ''NULL'') ORDER BY j) FROM generate_series(1, i %% 6) j)::%s[] END
			FROM generate_series($3, $4) i', type) USING choices, n, part * 200 + 1, part * 100 + 200;
		IF part = 0 THEN
			CREATE INDEX typed_a ON typed USING genie (a);
		END IF;
	END LOOP;
	FOR q IN 0 .. 5 LOOP
		query := quote_literal(choices[1 + q % n : 1 + q % n + q % 4]) || '::' || type || '[]';
		FOR scan IN 0 .. 3 LOOP
			PERFORM set_config('enable_seqscan', (scan % 2 = 0)::text, true), set_config('enable_indexscan', (scan % 2 = 1)::text, true),
				set_config('enable_bitmapscan', 'off', true);
			line := CASE WHEN scan < 2 THEN format('SELECT array_agg(id) FROM (SELECT id FROM typed ORDER BY a <&> %s', query) ||
				CASE scan WHEN 0 THEN ', ctid) s' ELSE ') s' END
				ELSE format('SELECT array_agg(id ORDER BY id) FROM typed WHERE a @& genie_query(%s, %s)', query, q % 3) END;
			IF scan % 2 = 0 THEN
				EXECUTE line INTO by_table;
			ELSE
				EXECUTE line INTO by_index;
				EXECUTE 'EXPLAIN (FORMAT json) ' || line INTO plan;
				IF by_index IS DISTINCT FROM by_table OR plan !~ 'Index Scan' THEN
					RETURN format('%s: index %s, table %s, plan %s', line, by_index, by_table, plan);
				END IF;
			END IF;
		END LOOP;
	END LOOP;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
	EXECUTE 'SELECT violation FROM genie_check(''typed_a'')' INTO line;
	EXECUTE 'DROP TABLE typed';
	RETURN coalesce(line, 'agrees');
END $$;

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (x int, y text);
CREATE DOMAIN posint AS int CHECK (VALUE > 0);
CREATE DOMAIN words AS text[];

SELECT type, try_type(type, choices) FROM (VALUES
	('smallint', '{-32768,-1,0,1,2,3,32767,NULL}'::text[]),
	('integer', '{-2147483648,-1,0,1,2,3,2147483647,NULL}'),
	('bigint', '{-9223372036854775808,-2147483649,0,1,256,65536,9223372036854775807,NULL}'),
	('text', ARRAY['', 'a', 'b', 'ä', repeat('x', 128) || 'a', repeat('x', 128) || 'b', 'NULL']),
	('varchar(20)', '{a,"a ",b,c,d,NULL}'),
	('char(5)', '{a,"a ",b,"  c",d,NULL}'),
	('name', '{a,b,c,d}'),
	('"char"', '{a,b,c,d,e}'),
	('uuid', '{00000000-0000-0000-0000-000000000000,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,ffffffff-ffff-ffff-ffff-ffffffffffff,NULL}'),
	('numeric', '{0,0.00,1,1.0,1.50,-1.5,1e100,-1e-100,NaN,Infinity,-Infinity,12345678901234567890.123,NULL}'),
	('numeric(10,2)', '{1.005,1.01,2,3,NULL}'),
	('date', '{-infinity,2000-01-01,2020-02-29,4000-01-01,infinity,NULL}'),
	('timestamp', '{-infinity,2000-01-01,"2020-02-29 12:00:00.000001",4000-01-01,infinity,NULL}'),
	('timestamptz', '{-infinity,2000-01-01 00:00+00,"2020-02-29 12:00:00.000001+00",4000-01-01 00:00+02,3999-12-31 22:00+00,infinity,NULL}'),
	('time', '{00:00,12:00:00.5,24:00,23:59}'),
	('timetz', '{00:00+00,12:00:00.5+01,12:00:00.5+02,24:00-05}'),
	('interval', '{"1 day","24 hours","1 month","30 days","-1 year",00:00,NULL}'),
	('boolean', '{t,f,NULL}'),
	('real', '{0,-0,1.5,NaN,Infinity,-Infinity,3.4e38,1e-40,NULL}'),
	('double precision', '{0,-0,1.5,NaN,Infinity,-Infinity,1.7e308,5e-324,NULL}'),
	('index_type.mood', '{sad,ok,happy,NULL}'),
	('bytea', ARRAY['', '\x00', '\x0001', '\xff', '\x' || repeat('ab', 500), 'NULL']),
	('oid', '{0,1,4294967295}'),
	('money', '{1,-1,0.5,100}'),
	('bit(3)', '{000,001,100,111}'),
	('varbit', '{0,00,1,101,"",111111111}'),
	('macaddr', '{01:02:03:04:05:06,00:00:00:00:00:00,ff:ff:ff:ff:ff:ff}'),
	('macaddr8', '{01:02:03:04:05:06:07:08,00:00:00:00:00:00:00:00}'),
	('pg_lsn', '{0/0,16/B374D848,FFFFFFFF/FFFFFFFF}'),
	('inet', '{10.0.0.1,10.0.0.1/8,::1,10.0.0.0/8,NULL}'),
	('cidr', '{10.0.0.0/8,192.168.0.0/16,::/0}'),
	('jsonb', '{"{}","{\"a\": 1}","{\"a\": 1.0}","[1]","null"}'),
	('int4range', '{empty,"[1,3)","[1,2]","(,)","[5,6)"}'),
	('int4multirange', '{"{}","{[1,3)}","{[1,3),[5,6)}"}'),
	('index_type.pair', '{"(1,a)","(1,b)","(,)","(2,)"}'),
	('index_type.posint', '{1,2,3,4,NULL}'),
	('xid8', '{1,2,3,18446744073709551615}'),
	('tid', '{"(0,1)","(0,2)","(4294967294,65535)"}')) v (type, choices);

-- numeric comes last: values of one family match whatever their types, by value and not by form
CREATE TABLE wide (id int, b bigint[], n numeric[], v varchar[], f float4[], d date[]);
INSERT INTO wide SELECT i, ARRAY[i, i + 1, 3000000000 + i], ARRAY[i, i / 2.0], ARRAY['v' || i, 'w' || i % 3], ARRAY[i / 2.0, i], ARRAY['2020-01-01'::date + i]
	FROM generate_series(1, 300) i;
CREATE INDEX wide_b ON wide USING genie (b);
CREATE INDEX wide_n ON wide USING genie (n);
CREATE INDEX wide_v ON wide USING genie (v);
CREATE INDEX wide_f ON wide USING genie (f);
CREATE INDEX wide_d ON wide USING genie (d);
SET enable_seqscan = off; SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM wide ORDER BY b <&> genie_query(ARRAY[7, 8, 9]) LIMIT 3;
SELECT id FROM wide ORDER BY b <&> genie_query(ARRAY[7, 8, 9]) LIMIT 3;
SELECT id FROM wide ORDER BY b <&> genie_query('{7,8,9}'::smallint[]) LIMIT 3;
SELECT id FROM wide ORDER BY b <&> ARRAY[7, 3000000008] LIMIT 3;
SELECT id FROM wide WHERE b @& genie_query('{[7,9)}'::int4multirange) ORDER BY b <&> genie_query('{[3000000008,3000000010)}'::int8multirange) LIMIT 3;
SELECT id FROM wide WHERE n @& genie_query(ARRAY[7.50, 15.00], 2);
SELECT id FROM wide WHERE v @& genie_query(ARRAY['v7', 'w1'], 2);
SELECT id FROM wide WHERE v @& genie_query('{v7,w1}'::name[], 2);
SELECT id FROM wide WHERE f @& genie_query('{7.5,15}'::float8[], 2);
SELECT id FROM wide WHERE d @& genie_query('{2020-01-08 00:00}'::timestamp[]);
SELECT id FROM wide WHERE d @& genie_query('{2020-01-08 00:01}'::timestamp[]);

-- a query of another width needs no cast
SELECT id FROM wide ORDER BY b <&> ARRAY[7, 8] LIMIT 1;
SELECT id FROM wide ORDER BY b <&> '{7,8}' LIMIT 1;
SELECT id FROM wide ORDER BY v <&> ARRAY['v7'] LIMIT 1;
SELECT id FROM wide ORDER BY v <&> ARRAY['v7']::varchar[] LIMIT 1;
SELECT id FROM wide ORDER BY b <&> genie_query('{7,8}') LIMIT 1;
SELECT id FROM wide WHERE b @& ARRAY[7]::bigint[];

-- a domain over an array, and arrays of a domain
CREATE TABLE domains (id int, w words, p posint[]);
INSERT INTO domains SELECT i, ARRAY['a' || i % 5, 'b' || i], ARRAY[i, i % 7 + 1] FROM generate_series(1, 100) i;
CREATE INDEX domains_w ON domains USING genie (w);
CREATE INDEX domains_p ON domains USING genie (p);
EXPLAIN (COSTS OFF) SELECT id FROM domains ORDER BY w <&> '{a1,b16}'::text[] LIMIT 2;
SELECT id FROM domains ORDER BY w <&> '{a1,b16}'::text[] LIMIT 2;
SELECT id FROM domains ORDER BY p <&> '{50,3}'::posint[] LIMIT 2;
SELECT id FROM domains WHERE p @& genie_query('{50,2}'::int[], 2);

-- elements that cannot be keywords, and types that no operator class takes: refused at once
CREATE DOMAIN documents AS json[];
CREATE TABLE refused (j json[], p point[], x xml[], a aclitem[], r regclass[], d documents, i int, t text, v int2vector);
CREATE INDEX ON refused USING genie (j);
CREATE INDEX ON refused USING genie (p);
CREATE INDEX ON refused USING genie (x);
CREATE INDEX ON refused USING genie (a);
CREATE INDEX ON refused USING genie (r);
CREATE INDEX ON refused USING genie (d);
CREATE INDEX ON refused USING genie (i);
CREATE INDEX ON refused USING genie (t);
CREATE INDEX ON refused USING genie (i genie_array_ops);
CREATE INDEX ON refused USING genie (t genie_object_ops);
CREATE INDEX ON refused USING genie (v genie_array_ops);
CREATE INDEX ON refused USING genie ((v::int2[]));
SELECT count(*) FROM pg_index WHERE indrelid = 'refused'::regclass;

-- objects over tuples
CREATE TABLE people (id int, age int, height float8, job text, m mood, born date, ip inet, pay numeric, u uuid);
INSERT INTO people SELECT i, 20 + i % 50, CASE WHEN i % 9 <> 0 THEN 150 + i % 40 END, 'job ' || i % 12, (enum_range(NULL::mood))[1 + i % 3],
	'1980-01-01'::date + i * 30, ('10.0.0.' || i % 20)::inet, (i % 77) * 100.5, ('00000000-0000-0000-0000-' || lpad((i % 30)::text, 12, '0'))::uuid
	FROM generate_series(1, 1500) i;
CREATE INDEX people_i ON people USING genie (genie_tuple(age, height, job, m, born, ip, pay, u));
EXPLAIN (COSTS OFF) SELECT id FROM people
	ORDER BY genie_tuple(age, height, job, m, born, ip, pay, u) <&> genie_tuple_query(int4range(30, 40), NULL, ARRAY['job 1', 'job 2'], 'happy'::mood) LIMIT 5;
CREATE FUNCTION try_query(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	o text := 'genie_tuple(age, height, job, m, born, ip, pay, u)';
	by_index int[]; by_table int[]; c int; c2 int;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
	EXECUTE format('SELECT array_agg(id) FROM (SELECT id FROM people ORDER BY %s <&> %s) s', o, query) INTO by_index;
	EXECUTE format('SELECT count(*) FROM people WHERE %s @& %s', o, query) INTO c;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
	EXECUTE format('SELECT array_agg(id) FROM (SELECT id FROM people ORDER BY %s <&> %s, ctid) s', o, query) INTO by_table;
	EXECUTE format('SELECT count(*) FROM people WHERE %s @& %s', o, query) INTO c2;
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
	RETURN format('%s order, best %s, %s of %s match', CASE WHEN by_index = by_table THEN 'same' ELSE 'WRONG' END, by_index[1:3], c, c2);
END $$;
SELECT q, try_query(q) FROM unnest(ARRAY[
	'genie_tuple_query(int4range(30, 40), NULL, ARRAY[''job 1'', ''job 2''], ''happy''::mood)',
	'genie_tuple_query(''{[30,32),[60,)}''::int4multirange, NULL, NULL, NULL, NULL, NULL, ''{[1000,2000),[7000,)}''::nummultirange)',
	'genie_tuple_query(NULL::int, 177::float8, NULL, ARRAY[''sad'', ''ok'']::mood[])',
	'genie_tuple_query(NULL::int, NULL, NULL, NULL, daterange(''1990-01-01'', ''1995-01-01''), ARRAY[''10.0.0.3'', ''10.0.0.4'']::inet[], numrange(1000, NULL), ''00000000-0000-0000-0000-000000000013''::uuid)',
	'genie_tuple_query(NULL::int, NULL, NULL, NULL, tsrange(''1990-01-01'', ''1995-01-01'', ''[]''))',
	'genie_tuple_query(NULL::int)',
	'genie_tuple_query(NULL::int, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 5)',
	'''{1:int:30,3:text:"job 4",4:enum:happy}@2''::genie_query',
	'''{}@0''::genie_query']) q;
SELECT id FROM people ORDER BY genie_tuple(age, height, job, m, born, ip, pay, u) <&> genie_tuple(30, NULL::float8, 'job 10'::text, 'ok'::mood) LIMIT 3;
SELECT * FROM genie_check('people_i');

RESET enable_seqscan; RESET enable_bitmapscan; RESET search_path;
DROP SCHEMA index_type CASCADE;
