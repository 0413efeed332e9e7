-- genie_tuple and genie_tuple_query: attributes and criteria

SELECT genie_tuple(39, 'Private'::text, NULL::int, 1.5), genie_tuple(NULL), genie_tuple(NULL, NULL::int);

-- a scalar is equality, a range is containment, an array is any of, NULL is no criterion
SELECT genie_tuple_query(39, int4range(10, 20), ARRAY['a', 'b', NULL, 'a'], NULL::int, '{[1,2),[5,8]}'::int8multirange, 'x');
SELECT genie_tuple_query(numrange(1, 2, '[]'), numrange(NULL, 2), numrange(1, NULL, '()'), numrange(NULL, NULL), daterange('2020-01-01', '2020-02-01', '[]'), tsrange('2020-01-01', NULL));
SELECT genie_tuple_query(NULL), genie_tuple_query('empty'::int4range, '{}'::int[], '{}'::int4multirange, '{NULL}'::int[]);
SELECT genie_tuple_query(ARRAY[int4range(1, 3), int4range(2, 6), int4range(9, 9), NULL], ARRAY['{[1,2),[3,4)}'::int4multirange]);

-- the classical conjunctive selection
CREATE TABLE people (id int, age int, work text, score numeric, born date);
INSERT INTO people SELECT i, i % 90, (ARRAY['Private', 'State', NULL])[i % 3 + 1], i / 10.0, '2000-01-01'::date + i FROM generate_series(1, 1000) i;
SELECT count(*), count(*) FILTER (WHERE (age BETWEEN 30 AND 40 AND work = ANY ('{Private,Federal}') AND score < 50) IS TRUE) AS wanted,
	bool_and((age BETWEEN 30 AND 40 AND work = ANY ('{Private,Federal}') AND score < 50) IS TRUE) AS right
	FROM people WHERE genie_tuple(age, work, score, born) @& genie_tuple_query(int4range(30, 40, '[]'), '{Private,Federal}'::text[], numrange(NULL, 50), NULL);
SELECT count(*) FROM people WHERE age BETWEEN 30 AND 40 AND work IN ('Private', 'Federal') AND score < 50;
SELECT count(*) FROM people WHERE genie_tuple(age, work, score, born) @& genie_tuple_query(NULL, NULL, NULL, daterange('2000-02-01', '2000-03-01'));
SELECT count(*) FROM people WHERE genie_tuple(age, work, score, born) @& genie_tuple_query(NULL, NULL, NULL, tsrange('2000-02-01', '2000-03-01', '[]'));
-- an empty criterion is met by nothing; no criterion by all
SELECT count(*) FROM people WHERE genie_tuple(age, work) @& genie_tuple_query('empty'::int4range);
SELECT count(*) FROM people WHERE genie_tuple(age, work) @& genie_tuple_query(NULL, NULL);
-- how many criteria each row meets
SELECT -(genie_tuple(age, work, score) <&> genie_tuple_query(5, 'State', numrange(1, 3))) AS met, count(*) FROM people GROUP BY 1 ORDER BY 1;

-- an attribute of another type than the object's is a mistake, not a mismatch
SELECT genie_tuple(1, 2.5) @& genie_tuple_query(1.0);
SELECT genie_tuple(1, 2.5) <&> genie_tuple_query(NULL, 2);
SELECT genie_match_count(genie_tuple(1, 2.5), genie_tuple_query(NULL, numrange(1, 3), 'x'));
-- but an object without the attribute has nothing to be mistaken for
SELECT genie_match_count(genie_tuple(NULL::int, 2.5), genie_tuple_query('x', 2.5));

-- what cannot be a criterion
CREATE TYPE tuple_mood AS ENUM ('sad', 'ok');
CREATE TYPE tuple_mood_range AS RANGE (SUBTYPE = tuple_mood);
SELECT genie_tuple_query(tuple_mood_range('sad', 'ok'));
SELECT genie_tuple_query(1, '(1,2)'::point);
SELECT genie_tuple_query(ARRAY['(1,2)'::point]);
SELECT genie_tuple_query(ROW(1));
SELECT genie_tuple_query(VARIADIC ARRAY[1, 2]);

-- in prepared statements and with types that change between executions
PREPARE tuples(int, text) AS SELECT genie_tuple($1, $2), genie_tuple_query($1, $2);
EXECUTE tuples(1, 'a');
EXECUTE tuples(NULL, 'b');
DEALLOCATE tuples;

DROP TYPE tuple_mood_range, tuple_mood;
DROP TABLE people;
