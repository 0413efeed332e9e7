-- values that are known by a hash or by their label, and types that cannot be keywords

-- types that PostgreSQL can hash: equality only
SELECT genie_tuple('{"a": 1}'::jsonb) = genie_tuple('{"a":1.0}'::jsonb) AS jsonb, genie_tuple('::1'::inet) <> genie_tuple('::2'::inet) AS inet,
	genie_tuple('a b'::tsvector::text::text) <> genie_tuple('b a'::text) AS text;
SELECT genie_tuple('::1'::inet)::text ~ '^\{1:hash:\\x[0-9a-f]{16}\}$' AS form;
SELECT genie_match_count(ARRAY['127.0.0.1', '::1', '10.0.0.0/8']::inet[], ARRAY['10.0.0.0/8', '127.0.0.1', '::2']::inet[]);
SELECT genie_match_count(ARRAY[int4range(1, 5), int4range(2, 3)], ARRAY[int4range(1, 5, '[)'), int4range(7, 8)]);
SELECT genie_match_count(ARRAY['[1,4]'::int4range], ARRAY['[1,5)'::int4range]) AS canonical;

-- rows
CREATE TYPE hash_pair AS (a int, b text);
SELECT genie_match_count(ARRAY[(1, 'x'), (2, 'y')]::hash_pair[], ARRAY[(2, 'y'), (3, 'z')]::hash_pair[]);
SELECT genie_tuple((1, 'x')::hash_pair) = genie_tuple((1, 'x')::hash_pair) AS equal;

-- enums: by label, equality only
CREATE TYPE hash_mood AS ENUM ('sad', 'ok', 'happy');
SELECT genie_tuple('ok'::hash_mood), genie_match_count('{sad,happy,sad}'::hash_mood[], '{happy,ok}'::hash_mood[]);
SELECT genie_match_count(ARRAY['ok']::hash_mood[], '{0:enum:ok}'::genie_query);

-- domains are their base types
CREATE DOMAIN hash_posint AS int CHECK (VALUE > 0);
CREATE DOMAIN hash_ints AS int[];
SELECT genie_tuple(7::hash_posint) = genie_tuple(7::int8) AS int,
	genie_match_count(ARRAY[1, 2, 3]::hash_posint[], '{0:int:[2,)}'::genie_query) AS element,
	genie_match_count('{1,2,3}'::hash_ints, ARRAY[3, 4]) AS array;

-- types that cannot be keywords
SELECT genie_tuple(1, '(1,2)'::point);
SELECT genie_tuple('{}'::json);
SELECT genie_tuple('<a/>'::xml);
SELECT genie_tuple(ARRAY[1, 2]);
SELECT genie_tuple('{1}'::hash_ints);
SELECT genie_tuple(int4range(1, 2));
SELECT genie_tuple('{[1,2]}'::int4multirange);
SELECT genie_tuple(ROW(1, 2));
SELECT genie_tuple('pg_class'::regclass);
SELECT genie_match_count(ARRAY['pg_class'::regclass], ARRAY['pg_class'::regclass]);
CREATE TYPE hash_mood_pair AS (a int, b hash_mood);
SELECT genie_tuple((1, 'ok')::hash_mood_pair);
CREATE TYPE hash_mood_range AS RANGE (SUBTYPE = hash_mood);
SELECT genie_match_count(ARRAY[hash_mood_range('sad', 'ok')], ARRAY[hash_mood_range('sad', 'ok')]);
SELECT genie_tuple(VARIADIC ARRAY[1, 2]);
SELECT genie_tuple();
SELECT genie_match_count(ARRAY['(1,2)'::point], ARRAY['(1,2)'::point]);
SELECT genie_query(ARRAY['{}'::json]);

DROP TYPE hash_mood_range, hash_mood_pair, hash_mood, hash_pair;
DROP DOMAIN hash_posint, hash_ints;
