-- An approximate operator class, for tests (see genie_floors.c).  MODULE_PATHNAME: the built library.

CREATE FUNCTION genie_floors_distance(int4[], int4[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_floors_decompose(int4[], internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- not strict: its parameters may be NULL
CREATE FUNCTION genie_floors_compile(internal, int2, oid, internal) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION genie_floors_options(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_floors_train(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_floors_sign(internal, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE OPERATOR <+> (
	LEFTARG = int4[], RIGHTARG = int4[], FUNCTION = genie_floors_distance, COMMUTATOR = <+>
);

CREATE OPERATOR CLASS genie_floors_ops FOR TYPE int4[] USING genie AS
	OPERATOR 6 <+> (int4[], int4[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_floors_decompose(int4[], internal),
	FUNCTION 2 genie_floors_compile(internal, int2, oid, internal),
	FUNCTION 4 genie_floors_options(internal),
	FUNCTION 5 genie_floors_train(internal),
	FUNCTION 6 genie_floors_sign(internal, internal);
