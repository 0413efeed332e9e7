-- amvalidate: genie's own operator classes are right; each fault of another one is told
CREATE SCHEMA index_validate;
SET search_path = index_validate, public;
SELECT opcname, amvalidate(c.oid) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'genie' AND opcname ~ '^genie' ORDER BY opcname COLLATE "C";
CREATE FUNCTION valid(name text) RETURNS bool LANGUAGE sql AS $$ SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = name AND opcnamespace = 'index_validate'::regnamespace $$;

-- another class for the same type, as good as ours
CREATE OPERATOR CLASS good FOR TYPE genie_object USING genie AS
	OPERATOR 1 <&> (genie_object, genie_object) FOR ORDER BY integer_ops, OPERATOR 2 @& (genie_object, genie_query),
	FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid);
SELECT valid('good');
CREATE TABLE t (id int, o genie_object);
INSERT INTO t SELECT i, genie_tuple(i % 3, i) FROM generate_series(1, 20) i;
CREATE INDEX ON t USING genie (o good);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY o <&> genie_tuple(1, 4) LIMIT 3;
SELECT id FROM t ORDER BY o <&> genie_tuple(1, 4) LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY o <&> genie_tuple_query(1, 4) LIMIT 3;
RESET enable_seqscan;

-- support functions: missing, of another number, of a wrong signature
CREATE OPERATOR CLASS empty FOR TYPE genie_object USING genie AS STORAGE genie_object;
CREATE OPERATOR CLASS empty FOR TYPE text USING genie AS FUNCTION 1 genie_object_decompose(genie_object, internal);
SELECT valid('empty');
CREATE OPERATOR CLASS no_operator FOR TYPE genie_object USING genie AS
	FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid);
SELECT valid('no_operator');
CREATE OPERATOR CLASS no_compile FOR TYPE genie_object USING genie AS
	OPERATOR 2 @& (genie_object, genie_query), FUNCTION 1 genie_object_decompose(genie_object, internal);
SELECT valid('no_compile');
CREATE OPERATOR CLASS no_decompose FOR TYPE genie_object USING genie AS
	OPERATOR 2 @& (genie_object, genie_query), FUNCTION 2 genie_object_compile(internal, int2, oid);
SELECT valid('no_decompose');
CREATE OPERATOR CLASS swapped FOR TYPE genie_object USING genie AS
	OPERATOR 2 @& (genie_object, genie_query), FUNCTION 2 genie_object_decompose(genie_object, internal), FUNCTION 1 genie_object_compile(internal, int2, oid);
SELECT valid('swapped');
CREATE OPERATOR CLASS other_type FOR TYPE genie_object USING genie AS
	OPERATOR 2 @& (genie_object, genie_query), FUNCTION 1 (genie_object, text) genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid);
SELECT valid('other_type');
CREATE OPERATOR CLASS graph_of_none FOR TYPE real[] USING genie AS
	OPERATOR 9 <#> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal), FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal), FUNCTION 5 genie_exact_ip_train(internal),
	FUNCTION 10 genie_graph_edges();
SELECT valid('graph_of_none');
CREATE OPERATOR CLASS graph_and_signatures FOR TYPE real[] USING genie AS
	OPERATOR 5 <-> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_lsh_vector_decompose(real[], internal), FUNCTION 2 genie_lsh_vector_compile(internal, int2, oid, internal), FUNCTION 5 genie_lsh_l2_train(internal),
	FUNCTION 6 genie_lsh_sign(internal, internal), FUNCTION 8 genie_vector_value(internal), FUNCTION 10 genie_graph_edges();
SELECT valid('graph_and_signatures');
CREATE OPERATOR CLASS eleventh FOR TYPE genie_object USING genie AS
	OPERATOR 2 @& (genie_object, genie_query), FUNCTION 11 genie_object_decompose(genie_object, internal);
CREATE OPERATOR CLASS seventh FOR TYPE genie_object USING genie AS
	OPERATOR 2 @& (genie_object, genie_query), FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid),
	FUNCTION 7 genie_object_decompose(genie_object, internal);
SELECT valid('seventh');
CREATE OPERATOR CLASS value_alone FOR TYPE genie_object USING genie AS
	OPERATOR 2 @& (genie_object, genie_query), FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid),
	FUNCTION 8 genie_vector_value(internal);
SELECT valid('value_alone');

-- the optional ones: bound and options
CREATE FUNCTION bound(int2, internal, int4, int4) RETURNS float8 LANGUAGE internal AS 'dsqrt';
CREATE FUNCTION no_bound(int2, internal, int4) RETURNS float8 LANGUAGE internal AS 'dsqrt';
CREATE FUNCTION options(internal) RETURNS void LANGUAGE internal AS 'gtsvector_options';
CREATE FUNCTION no_options(internal) RETURNS int LANGUAGE internal AS 'int4abs';
CREATE OPERATOR CLASS optional FOR TYPE genie_object USING genie AS
	OPERATOR 2 @& (genie_object, genie_query), FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid),
	FUNCTION 3 bound(int2, internal, int4, int4), FUNCTION 4 options(internal);
SELECT valid('optional');
CREATE OPERATOR CLASS wrong_bound FOR TYPE genie_object USING genie AS
	OPERATOR 2 @& (genie_object, genie_query), FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid),
	FUNCTION 3 no_bound(int2, internal, int4);
SELECT valid('wrong_bound');
CREATE OPERATOR CLASS wrong_options FOR TYPE genie_object USING genie AS
	OPERATOR 2 @& (genie_object, genie_query), FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid),
	FUNCTION 4 no_options(internal);

-- approximate classes, which have function 5
CREATE FUNCTION compile(internal, int2, oid, internal) RETURNS genie_query LANGUAGE internal AS 'int4abs';
CREATE FUNCTION train(internal) RETURNS bytea LANGUAGE internal AS 'int4abs';
CREATE FUNCTION no_train(internal) RETURNS text LANGUAGE internal AS 'int4abs';
CREATE FUNCTION sign(internal, internal) RETURNS void LANGUAGE internal AS 'int4abs';
CREATE FUNCTION no_sign(internal) RETURNS void LANGUAGE internal AS 'int4abs';
CREATE OPERATOR CLASS approximate FOR TYPE genie_object USING genie AS
	OPERATOR 3 <%> (genie_object, genie_object) FOR ORDER BY float_ops, FUNCTION 1 genie_object_decompose(genie_object, internal),
	FUNCTION 2 compile(internal, int2, oid, internal), FUNCTION 5 train(internal), FUNCTION 6 sign(internal, internal);
SELECT valid('approximate');
CREATE OPERATOR CLASS not_approximate FOR TYPE genie_object USING genie AS
	OPERATOR 3 <%> (genie_object, genie_object) FOR ORDER BY float_ops, FUNCTION 1 genie_object_decompose(genie_object, internal),
	FUNCTION 2 compile(internal, int2, oid, internal), FUNCTION 6 sign(internal, internal);
SELECT valid('not_approximate');
CREATE OPERATOR CLASS half_approximate FOR TYPE genie_object USING genie AS
	OPERATOR 1 <&> (genie_object, genie_object) FOR ORDER BY integer_ops, OPERATOR 2 @& (genie_object, genie_query), FUNCTION 1 genie_object_decompose(genie_object, internal),
	FUNCTION 2 genie_object_compile(internal, int2, oid), FUNCTION 3 bound(int2, internal, int4, int4), FUNCTION 5 train(internal);
SELECT valid('half_approximate');
CREATE OPERATOR CLASS wrong_approximate FOR TYPE genie_object USING genie AS
	OPERATOR 3 <%> (genie_object, genie_object) FOR ORDER BY float_ops, FUNCTION 1 genie_object_decompose(genie_object, internal),
	FUNCTION 2 compile(internal, int2, oid, internal), FUNCTION 5 no_train(internal), FUNCTION 6 no_sign(internal);
SELECT valid('wrong_approximate');

-- a compile function that returns another type
CREATE FUNCTION compile_to_text(internal, int2, oid) RETURNS text LANGUAGE internal AS 'textin';
CREATE OPERATOR CLASS compiles_to_text FOR TYPE genie_object USING genie AS
	OPERATOR 2 @& (genie_object, genie_query), FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 compile_to_text(internal, int2, oid);
SELECT valid('compiles_to_text');

-- operators: unknown strategies, the wrong purpose, wrong results, wrong order
CREATE OPERATOR CLASS third_searches FOR TYPE genie_object USING genie AS
	OPERATOR 3 @& (genie_object, genie_query), FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid),
	FUNCTION 3 bound(int2, internal, int4, int4);
SELECT valid('third_searches');
CREATE OPERATOR CLASS first_searches FOR TYPE genie_object USING genie AS
	OPERATOR 1 @& (genie_object, genie_query), FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid);
SELECT valid('first_searches');
CREATE OPERATOR CLASS second_orders FOR TYPE genie_object USING genie AS
	OPERATOR 2 <&> (genie_object, genie_query) FOR ORDER BY integer_ops, FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid);
SELECT valid('second_orders');
CREATE OPERATOR CLASS sorts_as_text FOR TYPE genie_object USING genie AS
	OPERATOR 1 <&> (genie_object, genie_query) FOR ORDER BY text_ops, FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid);
SELECT valid('sorts_as_text');
CREATE FUNCTION distance(genie_object, genie_object) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT 1.0 / (1 + genie_match_count($1, $2))';
CREATE OPERATOR <~~~> (LEFTARG = genie_object, RIGHTARG = genie_object, FUNCTION = distance);
CREATE OPERATOR CLASS float_distance FOR TYPE genie_object USING genie AS
	OPERATOR 1 <~~~> (genie_object, genie_object) FOR ORDER BY float_ops, FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid);
SELECT valid('float_distance');
CREATE OPERATOR CLASS distance FOR TYPE genie_object USING genie AS
	OPERATOR 3 <~~~> (genie_object, genie_object) FOR ORDER BY float_ops, FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid),
	FUNCTION 3 bound(int2, internal, int4, int4);
SELECT valid('distance');
CREATE OPERATOR CLASS own_distance FOR TYPE genie_object USING genie AS
	OPERATOR 31 <~~~> (genie_object, genie_object) FOR ORDER BY float_ops,
	FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid), FUNCTION 3 bound(int2, internal, int4, int4);
SELECT valid('own_distance');
CREATE OPERATOR CLASS no_bound FOR TYPE genie_object USING genie AS
	OPERATOR 3 <~~~> (genie_object, genie_object) FOR ORDER BY float_ops, FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid);
SELECT valid('no_bound');
CREATE OPERATOR CLASS integer_distance FOR TYPE genie_object USING genie AS
	OPERATOR 4 <&> (genie_object, genie_object) FOR ORDER BY integer_ops, FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid),
	FUNCTION 3 bound(int2, internal, int4, int4);
SELECT valid('integer_distance');
CREATE OPERATOR CLASS sorts_as_integer FOR TYPE genie_object USING genie AS
	OPERATOR 3 <~~~> (genie_object, genie_object) FOR ORDER BY integer_ops, FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid),
	FUNCTION 3 bound(int2, internal, int4, int4);
SELECT valid('sorts_as_integer');
CREATE OPERATOR CLASS not_boolean FOR TYPE genie_object USING genie AS
	OPERATOR 2 <&> (genie_object, genie_object), FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid);
CREATE OPERATOR FAMILY loose USING genie;
CREATE OPERATOR CLASS in_loose FOR TYPE genie_object USING genie FAMILY loose AS
	OPERATOR 2 @& (genie_object, genie_query), FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid);
SELECT valid('in_loose');
ALTER OPERATOR FAMILY loose USING genie ADD OPERATOR 2 @& (anyarray, genie_query), FUNCTION 1 (anyarray, anyarray) genie_array_decompose(anyarray, internal);
SELECT valid('in_loose');

-- catalogs that no command makes
CREATE FUNCTION family(name text) RETURNS oid LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OPERATOR CLASS %I FOR TYPE genie_object USING genie AS
		OPERATOR 1 <&> (genie_object, genie_object) FOR ORDER BY integer_ops, OPERATOR 2 @& (genie_object, genie_query),
		FUNCTION 1 genie_object_decompose(genie_object, internal), FUNCTION 2 genie_object_compile(internal, int2, oid), FUNCTION 4 options(internal)', name);
	RETURN (SELECT opcfamily FROM pg_opclass WHERE opcname = name AND opcnamespace = 'index_validate'::regnamespace);
END $$;
SELECT family('seventh_strategy') AS oid \gset
UPDATE pg_amop SET amopstrategy = 7 WHERE amopfamily = :oid AND amopstrategy = 2;
SELECT valid('seventh_strategy');
SELECT family('zeroth_strategy') AS oid \gset
UPDATE pg_amop SET amopstrategy = 0 WHERE amopfamily = :oid AND amopstrategy = 2;
SELECT valid('zeroth_strategy');
SELECT family('operators_of_text') AS oid \gset
UPDATE pg_amop SET amoprighttype = 'text'::regtype WHERE amopfamily = :oid;
SELECT valid('operators_of_text');
SELECT family('eleventh_function') AS oid \gset
UPDATE pg_amproc SET amprocnum = 11 WHERE amprocfamily = :oid AND amprocnum = 2;
SELECT valid('eleventh_function');
SELECT family('options_return_int') AS oid \gset
UPDATE pg_amproc SET amproc = 'no_options'::regproc WHERE amprocfamily = :oid AND amprocnum = 4;
SELECT valid('options_return_int');
SELECT amvalidate(0);

RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA index_validate CASCADE;
