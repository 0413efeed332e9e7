-- Types as pgvector's (see genie_vector_type.c), with the operator <-> alone; and pgvector's <~> of bit.  MODULE_PATHNAME: the built library.

CREATE TYPE vector;
CREATE FUNCTION genie_vector_type_in(cstring) RETURNS vector AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_vector_type_out(vector) RETURNS cstring AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE vector (INPUT = genie_vector_type_in, OUTPUT = genie_vector_type_out, STORAGE = extended);
CREATE FUNCTION genie_vector_type_l2(vector, vector) RETURNS float8 AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <-> (LEFTARG = vector, RIGHTARG = vector, FUNCTION = genie_vector_type_l2, COMMUTATOR = <->);
CREATE TYPE halfvec;
CREATE FUNCTION genie_half_type_in(cstring) RETURNS halfvec AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION genie_half_type_out(halfvec) RETURNS cstring AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE halfvec (INPUT = genie_half_type_in, OUTPUT = genie_half_type_out, STORAGE = extended);
CREATE FUNCTION genie_half_type_l2(halfvec, halfvec) RETURNS float8 AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <-> (LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = genie_half_type_l2, COMMUTATOR = <->);
CREATE FUNCTION genie_vector_type_hamming(bit, bit) RETURNS float8 AS $$BEGIN RETURN length(replace(($1 # $2)::text, '0', '')); END$$ LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <~> (LEFTARG = bit, RIGHTARG = bit, FUNCTION = genie_vector_type_hamming, COMMUTATOR = <~>);
