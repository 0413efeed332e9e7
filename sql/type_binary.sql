-- binary input and output: round trips, and nothing malformed gets in
SELECT current_setting('data_directory') || '/genie_type_binary' AS file \gset
SELECT format('cat >/dev/null; rm -f "%s"', :'file') AS remove \gset

CREATE TABLE binary_out (id int, o genie_object, q genie_query);
INSERT INTO binary_out VALUES
	(1, '{}', '{}'),
	(2, genie_tuple(1, 'x'::text, 1.5, 2.5::float8, true, now()::timestamp, '1 day'::interval, '10:00+01'::timetz, B'101', point(1, 2)::text),
		'{1:int:(,),1:float:3,2:text:("",b),2:text:["c",),3:bit:"",4:float:(-Infinity,NaN],248:int:1,70000:int:[1,2)}@3'),
	(3, genie_tuple(repeat('x', 5000)), genie_query(genie_tuple(repeat('x', 5000)))),
	(4, NULL, NULL), (6, NULL, '{1:int:39,2:text:x}@1%0.1');
INSERT INTO binary_out SELECT 5, ('{' || string_agg(i % 300 || ':int:' || i, ',') || '}')::genie_object,
	('{' || string_agg(i % 300 || ':int:[' || i || ',' || i + 1 || ')', ',') || '}')::genie_query FROM generate_series(1, 20000) i;
COPY binary_out TO :'file' (FORMAT binary);
CREATE TABLE binary_in (LIKE binary_out);
COPY binary_in FROM :'file' (FORMAT binary);
SELECT id, a.o = b.o AS same_object, a.q::text = b.q::text AS same_query FROM binary_out a JOIN binary_in b USING (id) ORDER BY id;

-- gives bytes to a type's receive function, by way of a file
CREATE TABLE received_object (v genie_object);
CREATE TABLE received_query (v genie_query);
CREATE FUNCTION receive(target text, bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := current_setting('data_directory') || '/genie_type_binary';
	large oid := lo_from_bytea(0, '\x5047434f50590aff0d0a000000000000000000'::bytea || int2send(1::int2)
		|| int4send(length(bytes)) || bytes || int2send((-1)::int2));
	result text;
BEGIN
	PERFORM lo_export(large, path), lo_unlink(large);
	EXECUTE format('TRUNCATE received_%s', target);
	EXECUTE format('COPY received_%s FROM %L (FORMAT binary)', target, path);
	EXECUTE format('SELECT v::text FROM received_%s', target) INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ': ' || sqlerrm;
END $$;

SELECT name, receive('object', bytes) FROM (VALUES
	('empty', '\x0100000000'::bytea),
	('one', '\x010000000104010281 27'),
	('two', '\x01000000020401028127040102812a'),
	('no version', '\x'),
	('version 2', '\x0200000000'),
	('cut short', '\x010000'),
	('too few', '\x010000000204010281 27'),
	('too many', '\x010000000004010281 27'),
	('more than an object holds', '\x0100010000'),
	('not ascending', '\x0100000002040102812a0401028127'),
	('twice', '\x010000000204010281270401028127'),
	('length past the end', '\x010000000105010281 27'),
	('length in two bytes', '\x01000000018400010281 27'),
	('no family', '\x01000000010101'),
	('unknown family', '\x0100000001021401'),
	('dimension not shortest', '\x010000000104f8010280'),
	('dimension too large', '\x010000000107fb800000000280'),
	('int not shortest', '\x0100000001040102 8101'::bytea),
	('int with a longer form', '\x010000000105010282 0001'),
	('bool 2', '\x010000000103010102'),
	('text with a zero byte', '\x010000000103010500'),
	('value too long', ('\x0100000001' || '8c01' || '0106' || repeat('00', 138))::bytea),
	('value neither cut nor whole', ('\x0100000001' || '8401' || '0106' || repeat('00', 130))::bytea)
) AS v(name, bytes);

SELECT name, receive('query', bytes) FROM (VALUES
	('empty', '\x010000000100000000'::bytea),
	('point', '\x01000000020000000104 0401028127'),
	('range', '\x01000000020000000100 040102810a 0401028114'),
	('all of a family', '\x010000000200000001000201020201 03'),
	('not normalised', '\x0100000001 00000003 04 0401028127 03 040102810a 0401028130 04 0401028105'),
	('empty range', '\x010000000100000001000401028114040102810a'),
	('no version', '\x'),
	('version 3', '\x030000000100000000'),
	('threshold', '\x0200000001 0003 3fe0000000000000 00000001 04 0401028127'),
	('exact threshold', '\x0200000001 0003 0000000000000000 00000000'),
	('unknown strategy', '\x0200000001 0005 3fe0000000000000 00000000'),
	('no strategy', '\x0200000001 0000 0000000000000000 00000000'),
	('negative distance', '\x0200000001 0003 bfe0000000000000 00000000'),
	('distance above 1', '\x0200000001 0003 3ff8000000000000 00000000'),
	('distance of no similarity', '\x0200000001 0003 0000000000000001 00000000'),
	('distance NaN', '\x0200000001 0003 7ff8000000000000 00000000'),
	('threshold cut short', '\x0200000001 0003 3fe0'),
	('threshold and range', '\x0200000001 0003 3fe0000000000000 00000001 00 040102810a 0401028114'),
	('negative min_match', '\x01ffffffff00000000'),
	('cut short', '\x0100000001000000020404010281 27'),
	('bytes left', '\x010000000100000000ff'),
	('four billion', '\x0100000001ffffffff'),
	('unknown flag', '\x010000000100000001080401028127'),
	('point with flags', '\x010000000100000001050401028127'),
	('key too long', '\x010000000100000001048f01'),
	('bad key', '\x0100000001000000010402fc01'),
	('point without value', '\x01000000010000000104020102'),
	('point out of canon', '\x010000000100000001040401028100'),
	('bound out of canon', '\x0100000001000000010004010281000401028114'),
	('upper bound out of canon', '\x010000000100000001000401028101 0401028100'),
	('two dimensions', '\x0100000001000000010004010281010402028114'),
	('two families', '\x010000000100000001000401028101 0401048114'),
	('after unbounded', '\x0100000001000000010102010204 01028114'),
	('after the end', '\x010000000100000001020401028101020103'),
	('range of enums', '\x01000000010000000100030140610301 4062')
) AS v(name, bytes);

DROP FUNCTION receive(text, bytea);
DROP TABLE binary_out, binary_in, received_object, received_query;
COPY (SELECT) TO PROGRAM :'remove';
