-- An operator class with a distance of its own, for tests (see genie_bounds.c).  MODULE_PATHNAME: the built library.

-- not in SQL: that would be inlined, and the planner would not see the operator
CREATE FUNCTION keywords_apart(genie_object, genie_object) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
	AS 'BEGIN RETURN genie_match_count($1, $1) + genie_match_count($2, $2) - 2 * genie_match_count($1, $2); END';
-- for queries that have ranges, and so no bounds
CREATE FUNCTION keywords_apart(genie_object, genie_query) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
	AS 'BEGIN RETURN genie_match_count($1, $1) - genie_match_count($1, $2); END';
CREATE FUNCTION genie_bounds_bound(int2, internal, int4, int4) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_bounds_options(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE OPERATOR <+> (
	LEFTARG = genie_object, RIGHTARG = genie_object, FUNCTION = keywords_apart, COMMUTATOR = <+>
);
CREATE OPERATOR <+> (
	LEFTARG = genie_object, RIGHTARG = genie_query, FUNCTION = keywords_apart
);

CREATE OPERATOR CLASS genie_bounds_ops FOR TYPE genie_object USING genie AS
	OPERATOR 1 <&> (genie_object, genie_object) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 1 <&> (genie_object, genie_query) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 2 @& (genie_object, genie_query),
	OPERATOR 5 <+> (genie_object, genie_object) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 5 <+> (genie_object, genie_query) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 genie_object_decompose(genie_object, internal),
	FUNCTION 2 genie_object_compile(internal, int2, oid),
	FUNCTION 3 genie_bounds_bound(int2, internal, int4, int4),
	FUNCTION 4 genie_bounds_options(internal);
