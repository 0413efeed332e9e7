-- What becomes of an index's pages when its rows go and come again: for int arrays, documents and vectors

SET max_parallel_maintenance_workers = 0;	-- a parallel VACUUM does not truncate

CREATE TABLE space_rows (i int, a int[], d tsvector, v real[]);
SELECT setseed(0.3);
INSERT INTO space_rows
SELECT i, ARRAY(SELECT (random() ^ 2 * 2000)::int FROM generate_series(1, 10 + i % 5)),
	array_to_tsvector(ARRAY(SELECT DISTINCT 'w' || (random() ^ 2 * 3000)::int FROM generate_series(1, 10 + i % 7))),
	ARRAY[random(), random(), random()]
FROM generate_series(1, 6000) i;
CREATE TABLE space_test AS SELECT * FROM space_rows;
CREATE INDEX space_a ON space_test USING genie (a);
CREATE INDEX space_d ON space_test USING genie (d);
CREATE INDEX space_v ON space_test USING genie (v genie_l2_ops);

-- all bytes have a name
CREATE VIEW space_info AS
SELECT name, total_bytes, free_bytes, retired_bytes, unreachable_pages, metadata_bytes, objects,
	metadata_bytes + object_bytes + dictionary_bytes + posting_bytes + size_bytes + value_bytes + tombstone_bytes + pending_bytes +
	free_bytes + retired_bytes + unreachable_pages * current_setting('block_size')::int - total_bytes AS unnamed
FROM (VALUES ('space_a'), ('space_d'), ('space_v')) n (name), genie_index_info(name);
SELECT name, retired_bytes, unreachable_pages, unnamed FROM space_info ORDER BY name;
CREATE TABLE space_built AS SELECT name, total_bytes FROM space_info;

-- one VACUUM gives all pages back, and the file is as small as that of an empty index
DELETE FROM space_test;
VACUUM space_test;
SELECT name, objects, free_bytes = total_bytes - metadata_bytes AS all_free, retired_bytes, unreachable_pages, unnamed,
	total_bytes <= 4 * current_setting('block_size')::int AS small
FROM space_info ORDER BY name;

-- the same rows again: a merge may need the old and the new copy at a time, but not more
INSERT INTO space_test SELECT * FROM space_rows;
SELECT name, retired_bytes, unreachable_pages, unnamed, i.total_bytes <= 2 * b.total_bytes + 1024 * 1024 AS within
FROM space_info i JOIN space_built b USING (name) ORDER BY name;

-- VACUUM makes it as small as it was, and so it is after another cycle
VACUUM space_test;
SELECT name, retired_bytes, unreachable_pages, unnamed,
	i.total_bytes <= 1.02 * b.total_bytes + 3 * current_setting('block_size')::int AS as_built
FROM space_info i JOIN space_built b USING (name) ORDER BY name;
DELETE FROM space_test;
VACUUM space_test;
INSERT INTO space_test SELECT * FROM space_rows;
VACUUM space_test;
SELECT name, retired_bytes, unreachable_pages, unnamed,
	i.total_bytes <= 1.02 * b.total_bytes + 3 * current_setting('block_size')::int AS as_built
FROM space_info i JOIN space_built b USING (name) ORDER BY name;
SELECT n, c.* FROM (VALUES ('space_a'), ('space_d'), ('space_v')) v (n), genie_check(n) c;

-- an index that has grown by inserts and updates is about as small as a new one
UPDATE space_test SET a = a || i, d = d || 'more'::tsvector, v = v || '{}'::real[] WHERE i % 2 = 0;
INSERT INTO space_test SELECT i + 6000, a, d, v FROM space_rows;
UPDATE space_test SET a = a || i, d = d || 'yet more'::tsvector WHERE i % 3 = 0;
VACUUM space_test;
CREATE TABLE space_grown AS SELECT name, total_bytes FROM space_info;
REINDEX TABLE space_test;
SELECT name, g.total_bytes <= 1.2 * i.total_bytes AS about_new FROM space_info i JOIN space_grown g USING (name) ORDER BY name;

-- a table whose file is not to be truncated
ALTER TABLE space_test SET (vacuum_truncate = off);
DELETE FROM space_test;
VACUUM space_test;
SELECT name, free_bytes > 100000 AND free_bytes > 0.9 * total_bytes AS kept FROM space_info ORDER BY name;
ALTER TABLE space_test RESET (vacuum_truncate);
VACUUM space_test;
SELECT name, total_bytes <= 4 * current_setting('block_size')::int AS small FROM space_info ORDER BY name;
INSERT INTO space_test SELECT * FROM space_rows;

-- pages that an open scan may read are retired meanwhile, and have a name, too
BEGIN;
SET LOCAL enable_seqscan = off;
DECLARE reader CURSOR FOR SELECT i FROM space_test ORDER BY a <&> '{1,2,3}';
INSERT INTO space_test SELECT * FROM space_rows LIMIT 500;
SELECT genie_merge('space_a');
SELECT name, retired_bytes > 0 AS retired, unnamed FROM space_info WHERE name = 'space_a';
CLOSE reader;
COMMIT;
SELECT genie_merge('space_a');
SELECT name, retired_bytes, unnamed FROM space_info WHERE name = 'space_a';
SELECT * FROM genie_check('space_a');

DROP VIEW space_info;
DROP TABLE space_rows, space_test, space_built, space_grown;
RESET max_parallel_maintenance_workers;
