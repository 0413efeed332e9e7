-- Types that an index's keywords depend on, and that ALTER TYPE changes: index and table give the same rows, or the
-- index is refused.

CREATE TYPE shade AS ENUM ('dark', 'grey', 'light');
CREATE DOMAIN shade_domain AS shade;
CREATE TABLE shades (id int, a shade[], d shade_domain, n int, o genie_object);
INSERT INTO shades SELECT i, ARRAY[(enum_range(NULL::shade))[1 + i % 3]], (enum_range(NULL::shade))[1 + i % 3], i % 5 FROM generate_series(1, 300) i;
UPDATE shades SET o = genie_tuple(d, n);
CREATE INDEX shades_a ON shades USING genie (a);
CREATE INDEX shades_t ON shades USING genie (genie_tuple(n, d));
CREATE INDEX shades_n ON shades USING genie (genie_tuple(n));
CREATE INDEX shades_o ON shades USING genie (o);
CREATE INDEX shades_lsh ON shades USING genie (a genie_minhash_ops);
SET enable_seqscan = off;
SET enable_bitmapscan = off;

SELECT count(*) FROM shades WHERE a @& genie_query(ARRAY['dark']::shade[]);

-- added values change nothing, and are found
ALTER TYPE shade ADD VALUE 'black' BEFORE 'dark';
ALTER TYPE shade ADD VALUE 'white';
INSERT INTO shades VALUES (301, '{black}', 'white', 1);
SELECT id FROM shades WHERE a @& genie_query(ARRAY['black']::shade[]);
SELECT id FROM shades WHERE genie_tuple(n, d) @& genie_tuple_query(1, 'white'::shade);

-- a renamed value: every way to use the index
ALTER TYPE shade RENAME VALUE 'dark' TO 'dim';
SELECT count(*) FROM shades WHERE a @& genie_query(ARRAY['dim']::shade[]);
SELECT id FROM shades ORDER BY a <&> ARRAY['dim']::shade[] LIMIT 1;
SELECT id FROM shades ORDER BY a <%> ARRAY['dim']::shade[] LIMIT 1;
SELECT count(*) FROM shades WHERE genie_tuple(n, d) @& genie_tuple_query(1, 'dim'::shade);
SELECT count(*) FROM genie_search('shades_a', ARRAY[genie_query(ARRAY['dim']::shade[])], 5);
SELECT count(*) FROM genie_search('shades_lsh', ARRAY[genie_object('{dim}'::shade[])], 5);
INSERT INTO shades (a) VALUES ('{light}');
SELECT * FROM genie_check('shades_a');
SELECT * FROM genie_check('shades_t');
SET enable_indexscan = off;
SET enable_bitmapscan = on;
SELECT count(*) FROM shades WHERE a @& genie_query(ARRAY['dim']::shade[]);
SET enable_indexscan = on;
SET enable_bitmapscan = off;

-- not those that do not depend on it; stored objects keep their labels, in the table and in the index
SELECT count(*) FROM shades WHERE genie_tuple(n) @& genie_tuple_query(1);
SELECT count(*) FROM shades WHERE o @& '{1:enum:dark}';
SELECT * FROM genie_check('shades_o');

-- REINDEX, or the old name, mends it
REINDEX INDEX shades_a;
SELECT count(*) FROM shades WHERE a @& genie_query(ARRAY['dim']::shade[]);
SELECT * FROM genie_check('shades_a');
ALTER TYPE shade RENAME VALUE 'dim' TO 'dark';
SELECT count(*) FROM shades WHERE genie_tuple(n, d) @& genie_tuple_query(1, 'dark'::shade);
SELECT count(*) FROM shades WHERE a @& genie_query(ARRAY['dark']::shade[]);
REINDEX TABLE shades;

-- labels that change places; a rollback; a REINDEX of the same transaction
BEGIN;
ALTER TYPE shade RENAME VALUE 'dark' TO 'x';
ALTER TYPE shade RENAME VALUE 'light' TO 'dark';
ALTER TYPE shade RENAME VALUE 'x' TO 'light';
SAVEPOINT s;
SELECT count(*) FROM shades WHERE a @& genie_query(ARRAY['dark']::shade[]);
ROLLBACK TO s;
INSERT INTO shades VALUES (302, '{light}', 'light', 1);
ROLLBACK TO s;
REINDEX TABLE shades;
SELECT count(*) FROM shades WHERE a @& genie_query(ARRAY['dark']::shade[]);
INSERT INTO shades VALUES (302, '{light}', 'light', 1);
ROLLBACK;
INSERT INTO shades VALUES (303, '{light}', 'light', 1);
SELECT count(*) FROM shades WHERE a @& genie_query(ARRAY['light']::shade[]);

-- a statement that renames while it inserts
CREATE FUNCTION rename_shade(i int) RETURNS shade[] LANGUAGE plpgsql AS $$
BEGIN
	IF i = 3 THEN ALTER TYPE shade RENAME VALUE 'grey' TO 'gray'; END IF;
	RETURN (enum_range(NULL::shade))[3:3];
END $$;
INSERT INTO shades (a) SELECT rename_shade(i) FROM generate_series(1, 5) i;

-- unlogged tables, functions and operators around the column
CREATE FUNCTION shade_tuple(v shade) RETURNS genie_object IMMUTABLE LANGUAGE plpgsql SET search_path FROM CURRENT AS 'BEGIN RETURN genie_tuple(v); END';
CREATE UNLOGGED TABLE shades2 AS SELECT id, a, d FROM shades;
CREATE INDEX ON shades2 USING genie ((a || a));
CREATE INDEX ON shades2 USING genie (shade_tuple(d));
ALTER TYPE shade RENAME VALUE 'grey' TO 'gray';
SELECT count(*) FROM shades2 WHERE (a || a) @& genie_query(ARRAY['gray']::shade[]);
SELECT count(*) FROM shades2 WHERE shade_tuple(d) @& genie_tuple_query('gray'::shade);
REINDEX TABLE shades2;
SELECT count(*) FROM shades2 WHERE (a || a) @& genie_query(ARRAY['gray']::shade[]);
SELECT count(*) FROM shades2 WHERE shade_tuple(d) @& genie_tuple_query('gray'::shade);

-- rows: attributes that come and go change their hash, new names do not
CREATE TYPE spot AS (x int, y int);
CREATE TABLE spots (id int, s spot, a spot[]);
INSERT INTO spots SELECT i, ROW(i % 7, 1)::spot, ARRAY[ROW(i % 7, 2)::spot] FROM generate_series(1, 70) i;
CREATE INDEX ON spots USING genie (a);
CREATE INDEX ON spots USING genie (genie_tuple(s));
CREATE INDEX ON spots USING genie (genie_tuple((s).x, id));
ALTER TYPE spot RENAME ATTRIBUTE y TO z;
SELECT count(*) FROM spots WHERE a @& genie_query(ARRAY['(3,2)']::spot[]);
SELECT count(*) FROM spots WHERE genie_tuple(s) @& genie_tuple_query('(3,1)'::spot);
ALTER TYPE spot ADD ATTRIBUTE w int;
SELECT count(*) FROM spots WHERE a @& genie_query(ARRAY['(3,2,)']::spot[]);
SELECT count(*) FROM spots WHERE genie_tuple(s) @& genie_tuple_query('(3,1,)'::spot);
SELECT count(*) FROM spots WHERE genie_tuple((s).x, id) @& genie_tuple_query(3, 3);
INSERT INTO spots VALUES (71, NULL, '{"(1,2,3)"}');
REINDEX TABLE spots;
SELECT count(*) FROM spots WHERE a @& genie_query(ARRAY['(3,2,)']::spot[]);
SELECT count(*) FROM spots WHERE genie_tuple(s) @& genie_tuple_query('(3,1,)'::spot);
ALTER TYPE spot DROP ATTRIBUTE w;
SELECT count(*) FROM spots WHERE a @& genie_query(ARRAY['(3,2)']::spot[]);

-- a function's own use of a row is not the index's business
CREATE FUNCTION spot_tuple(r spots) RETURNS genie_object IMMUTABLE LANGUAGE plpgsql SET search_path FROM CURRENT AS 'BEGIN RETURN genie_tuple(r.id); END';
DROP INDEX spots_a_idx, spots_genie_tuple_idx, spots_genie_tuple_idx1;
CREATE INDEX ON spots USING genie (spot_tuple(spots.*));
ALTER TABLE spots ADD COLUMN more int;
SELECT count(*) FROM spots WHERE spot_tuple(spots.*) @& genie_tuple_query(3);

DROP TABLE shades, shades2, spots CASCADE;
DROP TYPE shade, spot CASCADE;
