-- genie_words: texts as sets of their words, for the access method genie.

CREATE FUNCTION genie_words_shared(text, text, min_length int DEFAULT 1) RETURNS int
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_words_order(text, text) RETURNS int
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION genie_words_matches(text, genie_query) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;

CREATE OPERATOR <&> (
	LEFTARG = text, RIGHTARG = text, FUNCTION = genie_words_order, COMMUTATOR = <&>
);
CREATE OPERATOR @& (
	LEFTARG = text, RIGHTARG = genie_query, FUNCTION = genie_words_matches,
	RESTRICT = contsel, JOIN = contjoinsel
);

CREATE FUNCTION genie_words_decompose(text, internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_words_compile(internal, int2, oid) RETURNS genie_query
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_words_options(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE OPERATOR CLASS genie_words_ops FOR TYPE text USING genie AS
	OPERATOR 1 <&> (text, text) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 2 @& (text, genie_query),
	FUNCTION 1 genie_words_decompose(text, internal),
	FUNCTION 2 genie_words_compile(internal, int2, oid),
	FUNCTION 4 genie_words_options(internal);
