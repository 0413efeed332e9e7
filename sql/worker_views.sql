-- Statistics of the worker, and who may see them; the same with and without shared_preload_libraries.
SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'genie_stat'::regclass AND attnum > 0 ORDER BY attnum;
SELECT count(*) FROM genie_stat;
SELECT name, setting, unit, context FROM pg_settings
	WHERE name IN ('genie.worker', 'genie.kernels', 'genie.max_batch', 'genie.gpu_memory', 'genie.gpu_library') ORDER BY name;
SELECT p.oid::regprocedure AS function, obj_description(p.oid) IS NOT NULL AS is_described, provolatile, proparallel
	FROM pg_proc p WHERE proname IN ('genie_stat_get', 'genie_stat_reset', 'genie_devices', 'genie_prewarm', 'genie_images', 'genie_costs', 'genie_last_scan') ORDER BY 1;

-- a superuser
SELECT count(*) > 0 AS has_rows FROM genie_devices();
SELECT genie_stat_reset();
SELECT requests, queries, batches, queries_per_batch FROM genie_stat;

-- anybody
CREATE ROLE regress_genie_anybody;
CREATE ROLE regress_genie_monitor;
GRANT pg_monitor TO regress_genie_monitor;
CREATE TABLE views_t (x int[]);
CREATE INDEX views_t_x ON views_t USING genie (x);
GRANT SELECT ON views_t TO regress_genie_anybody, regress_genie_monitor;
SET ROLE regress_genie_anybody;
SELECT count(*) FROM genie_stat;
SELECT count(*) FROM genie_stat_get();
SELECT count(*) FROM genie_devices();
SELECT count(*) FROM genie_images();
SELECT count(*) FROM genie_costs();
SELECT genie_stat_reset();
SELECT genie_prewarm('views_t_x');
SET genie.worker = off;
SET genie.max_batch = 1;
SET genie.gpu_library = '/tmp/library';
RESET genie.worker;

-- pg_monitor may see, and changes nothing
SET ROLE regress_genie_monitor;
SELECT count(*) FROM genie_stat;
SELECT count(*) > 0 AS has_rows FROM genie_devices();
SELECT count(*) FILTER (WHERE index = 'views_t_x'::regclass) AS images FROM genie_images();
SELECT count(*) BETWEEN 0 AND 2 AS costs FROM genie_costs();
SELECT genie_stat_reset();
SELECT genie_prewarm('views_t_x');

-- the rights to the function are checked before its argument
RESET ROLE;
SELECT genie_prewarm(NULL);
SELECT genie_prewarm('views_t');
SELECT genie_prewarm(0);
DROP TABLE views_t;
DROP ROLE regress_genie_anybody, regress_genie_monitor;
