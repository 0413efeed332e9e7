-- genie_tuple_ops: tuples by bins of attributes with many values
CREATE SCHEMA index_bins;
SET search_path = index_bins, public;
SET client_min_messages = warning;
SET jit = off;

CREATE TABLE readings (id int, lat float8, lon numeric, at timestamptz, kind int, name text);
INSERT INTO readings SELECT i, sin(i) * 90, (cos(i * 0.7) * 180)::numeric(9, 5), '2026-01-01 00:00+00'::timestamptz + i * interval '7 min', i % 5,
	CASE WHEN i % 11 = 0 THEN NULL ELSE md5(i::text) END FROM generate_series(1, 6000) i;
CREATE INDEX readings_x ON readings USING genie (genie_tuple(lat, lon, at, kind, name) genie_tuple_ops (bins = 64));
-- by values, for genie_search(); no scan can take it
CREATE INDEX readings_y ON readings USING genie (genie_tuple(lat, lon, at, kind, name || ''));
VACUUM ANALYZE readings;
CREATE INDEX readings_z ON readings USING genie (genie_tuple(lat, lon, at, kind, name) genie_tuple_ops (bins = 64)) WITH (values = off);
SELECT pg_relation_size('readings_z') * 3 < pg_relation_size('readings_y') AS small, pg_relation_size('readings_x') - pg_relation_size('readings_z') BETWEEN 6000 * 16 AND 6000 * 18 AS scalars;
DROP INDEX readings_z;
SELECT * FROM genie_check('readings_x');

-- queries of all sorts: what the operator says is what scans and functions say
CREATE TABLE asked (n int, query genie_query);
INSERT INTO asked SELECT i, CASE i % 8
		WHEN 1 THEN format('{1:float:[%s,%s],2:numeric:(%s,%s)}@2', a, a + 9, a, a + 50)::genie_query
		WHEN 2 THEN format('{1:float:(%s,),4:int:%s}@2', a, i % 5)::genie_query
		WHEN 3 THEN format('{1:float:(,%s),2:numeric:[%s,),4:int:%s}@2', a, a, i % 5)::genie_query
		WHEN 4 THEN format('{5:text:[%s,%s),4:int:[1,3]}@2', substr(md5(i::text), 1, 2), substr(md5(i::text), 1, 1) || 'ff')::genie_query
		WHEN 5 THEN genie_query(genie_tuple(sin(i) * 90, (cos(i * 0.7) * 180)::numeric(9, 5), NULL::timestamptz, i % 5))
		WHEN 6 THEN format('{1:float:[%s,%s),1:float:[%s,%s),4:int:[0,4]}@2', a, a + 1, a + 2, a + 2.5)::genie_query
		ELSE format('{2:numeric:[%s,%s]}@0', a, a)::genie_query END
	FROM generate_series(1, 64) i, LATERAL (SELECT round((sin(i * 1.3) * 80)::numeric, 3) AS a) v;
CREATE FUNCTION differences() RETURNS TABLE (scans bigint, bitmaps bigint, counts bigint, bounds bigint, filters bigint, orders bigint, searches bigint) LANGUAGE plpgsql AS $$
DECLARE
	one record;
	truth bigint[];
	found int[];
	best int[];
	order_of int[];
BEGIN
	scans = 0; bitmaps = 0; orders = 0;
	FOR one IN SELECT * FROM asked ORDER BY n LOOP
		SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = on;
		SELECT array_agg(id ORDER BY id) INTO found FROM readings WHERE genie_tuple(lat, lon, at, kind, name) @& one.query;
		truth = truth || coalesce(cardinality(found), 0)::bigint;
		SELECT array_agg(c) INTO best FROM (SELECT genie_match_count(genie_tuple(lat, lon, at, kind, name), one.query) c FROM readings ORDER BY c DESC LIMIT 30) v;
		SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = on;
		scans = scans + (found IS DISTINCT FROM (SELECT array_agg(id ORDER BY id) FROM readings WHERE genie_tuple(lat, lon, at, kind, name) @& one.query))::int;
		SELECT array_agg(c) INTO order_of FROM (SELECT -(genie_tuple(lat, lon, at, kind, name) <&> one.query) c FROM readings
			ORDER BY genie_tuple(lat, lon, at, kind, name) <&> one.query LIMIT 30) v;
		orders = orders + (best IS DISTINCT FROM order_of)::int;
		SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = on;
		bitmaps = bitmaps + (found IS DISTINCT FROM (SELECT array_agg(id ORDER BY id) FROM readings WHERE genie_tuple(lat, lon, at, kind, name) @& one.query))::int;
	END LOOP;
	RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan;
	SELECT count(*) FILTER (WHERE lower <> truth[query] OR upper <> lower) INTO counts FROM genie_counts('readings_x', (SELECT array_agg(query ORDER BY n) FROM asked));
	SELECT count(*) FILTER (WHERE NOT truth[query] BETWEEN lower AND upper) INTO bounds FROM genie_counts('readings_x', (SELECT array_agg(query ORDER BY n) FROM asked), false);
	SELECT count(*) INTO filters FROM (SELECT a.n, r.id FROM (SELECT query, tid FROM genie_filter('readings_x', (SELECT array_agg(query ORDER BY n) FROM asked))) f
			JOIN (SELECT row_number() OVER (ORDER BY n) q, n FROM asked) a ON a.q = f.query JOIN readings r ON r.ctid = f.tid) x
		FULL JOIN (SELECT a.n, r.id FROM asked a JOIN readings r ON genie_tuple(lat, lon, at, kind, name) @& a.query) y USING (n, id) WHERE x.n IS NULL OR y.n IS NULL;
	SELECT count(*) INTO searches FROM (
		(TABLE s1 EXCEPT ALL TABLE s2) UNION ALL (TABLE s2 EXCEPT ALL TABLE s1)) d;
	RETURN NEXT;
END $$;
CREATE VIEW s1 AS SELECT * FROM genie_search('readings_x', (SELECT array_agg(query ORDER BY n) FROM asked), 20);
CREATE VIEW s2 AS SELECT * FROM genie_search('readings_y', (SELECT array_agg(query ORDER BY n) FROM asked), 20);
SELECT * FROM differences();

-- aggregates: number, least and greatest are exact, the sum lies between its bounds
CREATE FUNCTION aggregates() RETURNS TABLE (attribute int, queries bigint, numbers bigint, extremes bigint, bounds bigint, sums bigint, close boolean) LANGUAGE sql AS $$
	WITH value AS (SELECT genie_tuple(lat, lon, at, kind, name) AS x, CASE a WHEN 1 THEN lat::text::numeric WHEN 2 THEN lon WHEN 4 THEN kind END AS number, CASE a WHEN 3 THEN at END AS time, CASE a WHEN 5 THEN name COLLATE "C" END AS word, a
			FROM readings, generate_series(1, 5) a),
		truth AS (SELECT asked.n AS q, a, count(coalesce(number::text, time::text, word)) AS n, sum(number), min(number) AS least, max(number) AS greatest, min(time) AS first, max(time) AS last, min(word) AS head, max(word) AS tail
			FROM asked CROSS JOIN value WHERE x @& query GROUP BY 1, 2)
	SELECT a, count(*), count(*) FILTER (WHERE g.n <> t.n),
		count(*) FILTER (WHERE (CASE a WHEN 3 THEN (min::timestamptz, max::timestamptz) IS DISTINCT FROM (first, last) WHEN 5 THEN (min, max) IS DISTINCT FROM (head, tail) ELSE (min::numeric, max::numeric) IS DISTINCT FROM (least, greatest) END)),
		count(*) FILTER (WHERE NOT (sum_lower <= t.sum + 1e-6 AND t.sum - 1e-6 <= sum_upper AND avg_lower <= sum_lower / t.n + 1e-6 AND avg_upper >= sum_upper / t.n - 1e-6)),
		count(*) FILTER (WHERE g.sum IS NOT NULL AND abs(g.sum - t.sum) < 1e-6),
		bool_and(sum_upper - sum_lower <= t.n * CASE a WHEN 1 THEN 8 WHEN 2 THEN 20 ELSE 0 END)
	FROM truth t, genie_aggregate('readings_x', (SELECT query FROM asked WHERE asked.n = q), a) g GROUP BY 1 ORDER BY 1
$$;
SELECT * FROM aggregates();

-- the bounds are close, and a count of bins alone is one of values
SELECT bool_and(upper - lower < 700) AS close, bool_and(estimate BETWEEN lower AND upper) AS between FROM genie_counts('readings_x', (SELECT array_agg(query ORDER BY n) FROM asked), false);
SELECT lower, upper FROM genie_count('readings_x', '{4:int:3}@1', false);

-- where in its bin a row lies is in the index: none is looked up
SELECT sum(upper - lower) FROM genie_counts('readings_x', (SELECT array_agg(query ORDER BY n) FROM asked WHERE n % 8 IN (1, 2, 6)));
SELECT rows_visited FROM genie_last_scan() WHERE kind = 'genie_counts';
SELECT count(*) > 100 AS some FROM genie_filter('readings_x', (SELECT array_agg(query ORDER BY n) FROM asked WHERE n % 8 IN (1, 6)));
SELECT rows_visited = rows_returned AS only_those FROM genie_last_scan() WHERE kind = 'genie_filter';

-- changes: pending rows, merged ones, dead ones; values outside all that was learned from
INSERT INTO readings SELECT i, sin(i) * 120, (cos(i * 0.7) * 300)::numeric(9, 5), '2027-06-01 00:00+00'::timestamptz - i * interval '1 year', i % 7, 'x' || i FROM generate_series(6001, 6400) i;
UPDATE readings SET kind = kind + 1, lat = -lat WHERE id % 9 = 0;
DELETE FROM readings WHERE id % 13 = 0;
SELECT * FROM differences();
SELECT * FROM aggregates();
SELECT genie_merge('readings_x');
SELECT * FROM differences();
SELECT * FROM aggregates();
VACUUM readings;
SELECT * FROM differences();
SELECT * FROM aggregates();
SELECT * FROM genie_check('readings_x');

-- x @& ANY, joins, parameters, similarities
SET enable_seqscan = off;
SELECT count(*) FROM readings WHERE genie_tuple(lat, lon, at, kind, name) @& ANY (ARRAY['{1:float:[10,11]}@1', NULL, '{1:float:[10.5,12],4:int:2}@2']::genie_query[]);
SELECT count(*) FROM readings WHERE lat BETWEEN 10 AND 11 OR lat BETWEEN 10.5 AND 12 AND kind = 2;
CREATE TYPE float8range AS RANGE (subtype = float8);
PREPARE inside(float8, float8) AS SELECT count(*) FROM readings WHERE genie_tuple(lat, lon, at, kind, name) @& genie_tuple_query(float8range($1, $2));
EXECUTE inside(3, 4);
SELECT count(*) FROM readings WHERE lat >= 3 AND lat < 4;
EXPLAIN (COSTS OFF) SELECT count(*) FROM readings WHERE genie_tuple(lat, lon, at, kind, name) @& '{1:float:[10,11]}@1';
EXPLAIN (COSTS OFF) SELECT id FROM readings ORDER BY genie_tuple(lat, lon, at, kind, name) <&> '{1:float:[10,11]}@1'::genie_query LIMIT 3;
RESET enable_seqscan;

-- what has few values is counted by values
SELECT value, n FROM genie_facets('readings_x', '{1:float:[10,40]}@1', '{4}') ORDER BY value;
SELECT kind, count(*) FROM readings WHERE lat BETWEEN 10 AND 40 GROUP BY 1 ORDER BY 1;
SELECT n, sum, min, max FROM genie_aggregate('readings_x', '{2:numeric:[10,40]}@1', 4);
SELECT count(*), sum(kind), min(kind), max(kind) FROM readings WHERE lon BETWEEN 10 AND 40;

-- refused
SELECT * FROM genie_facets('readings_x', '{4:int:1}@1', '{1}');
SELECT * FROM genie_regrid('readings_x', '{1,2}', '{10,10}', '{4:int:1}@1');
SELECT count(*) FROM genie_count('readings_x', '{1:int:3}@1');
CREATE TABLE several (x genie_object);
INSERT INTO several VALUES ('{1:int:1,1:int:2}');
CREATE INDEX several_x ON several USING genie (x genie_tuple_ops);
DELETE FROM several;
CREATE INDEX several_x ON several USING genie (x genie_tuple_ops);
INSERT INTO several VALUES ('{1:int:1,1:int:2}');
INSERT INTO several SELECT genie_tuple('10.0.0.1'::inet);
CREATE INDEX ON several USING genie (x genie_tuple_ops (bins = 1));
CREATE INDEX ON several USING genie (x genie_tuple_ops (bins = 1001));
CREATE INDEX ON several USING genie (x genie_tuple_ops (buckets = 5));

-- extremes that are no numbers, or in two families, or cut; a single bin; no bin
CREATE TABLE odd (f float8, t text, x genie_object);
INSERT INTO odd SELECT sqrt(i), md5(i::text) || repeat('x', i % 300), CASE WHEN i % 2 = 0 THEN genie_tuple(i) ELSE genie_tuple(i::text) END FROM generate_series(1, 2000) i;
CREATE INDEX odd_x ON odd USING genie (genie_tuple(f, t) genie_tuple_ops (bins = 16));
CREATE INDEX odd_y ON odd USING genie (x genie_tuple_ops (bins = 16));
SELECT n, sum, min::float8 = sqrt(300) AS min, max::float8 = sqrt(400) AS max, sum_lower <= s AND s <= sum_upper AS within FROM genie_aggregate('odd_x', '{1:float:[17.32,20.00000001]}@1', 1), (SELECT sum(sqrt(i)::text::numeric) s FROM generate_series(300, 400) i) v;
SELECT n, sum = 10 AS exact, sum_lower = sum_upper AS bounds, avg, min, max FROM genie_aggregate('odd_x', '{1:float:10}@1', 1);
SELECT * FROM genie_aggregate('odd_x', '{1:float:-7}@1', 1);
SELECT min = (SELECT min(t COLLATE "C") FROM odd) AS min, max = (SELECT max(t COLLATE "C") FROM odd) AS max, sum, sum_lower FROM genie_aggregate('odd_x', '{}@0', 2);
SELECT n, sum, sum_lower, min FROM genie_aggregate('odd_y', '{}@0', 1);
INSERT INTO odd VALUES ('Infinity'), ('NaN'), ('-Infinity');
SELECT n, sum, min, max, sum_lower, sum_upper FROM genie_aggregate('odd_x', '{}@0', 1);
SELECT n, sum, min, max, sum_lower, sum_upper >= 2 * 44 FROM genie_aggregate('odd_x', '{1:float:[44,inf]}@1', 1);
SELECT genie_merge('odd_x');
SELECT n, sum, min, max, sum_lower, sum_upper FROM genie_aggregate('odd_x', '{}@0', 1);
DROP TABLE odd;

-- few rows, then more: the index learns when it merges
INSERT INTO several SELECT genie_tuple(i * 1.5::float8, i % 3) FROM generate_series(1, 100) i;
INSERT INTO several VALUES (NULL);
SET enable_seqscan = off;
SELECT training FROM genie_index_info('several_x');
SELECT count(*) FROM several WHERE x @& '{1:float:[3,30],2:int:1}@2';
SELECT * FROM genie_count('several_x', '{1:float:[3,30],2:int:1}@2');
SELECT value, n FROM genie_facets('several_x', '{1:float:[3,30]}@1', '{2}') ORDER BY 1;
SELECT match_count, count(*) FROM genie_search('several_x', ARRAY['{1:float:[3,30],2:int:1}@2'::genie_query], 200) GROUP BY 1 ORDER BY 1;
INSERT INTO several SELECT genie_tuple(i * 1.5::float8, i % 3) FROM generate_series(101, 3000) i;
SELECT genie_merge('several_x');
SELECT training FROM genie_index_info('several_x');
SELECT count(*) FROM several WHERE x @& '{1:float:[3,300],2:int:1}@2';
SELECT * FROM genie_count('several_x', '{1:float:[3,300],2:int:1}@2');
SELECT match_count, count(*) FROM genie_search('several_x', ARRAY['{1:float:[3,300],2:int:1}@2'::genie_query], 4000) GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM several WHERE x @& genie_jaccard_query(genie_tuple(150::float8, 1), 0.9);
SELECT * FROM genie_count('several_x', genie_jaccard_query(genie_tuple(150::float8, 1), 0.9));
-- two empty sets are the same
INSERT INTO several VALUES ('{}'), ('{}');
SELECT count(*) FROM several WHERE x @& genie_jaccard_query('{}'::genie_object, 0.5);
SELECT * FROM genie_count('several_x', genie_jaccard_query('{}'::genie_object, 0.5));
-- where no bin lies inside a range, the query still asks for its type
CREATE TABLE mixed (x genie_object);
INSERT INTO mixed SELECT format('{1:int:%s}', i)::genie_object FROM generate_series(1, 3000) i;
INSERT INTO mixed VALUES ('{1:text:a}');
CREATE INDEX mixed_x ON mixed USING genie (x genie_tuple_ops (bins = 16));
SELECT * FROM genie_count('mixed_x', '{1:int:[5,7],1:text:a}@1');
SELECT count(*) FROM genie_filter('mixed_x', ARRAY['{1:int:[5,7],1:text:a}@1'::genie_query]);
-- one of many: similarities leave few rows, and the planner knows
EXPLAIN (COSTS OFF) SELECT count(*) FROM several WHERE x @& genie_jaccard_query(genie_tuple(150::float8, 1), 0.9);
RESET enable_seqscan;

-- data of many shapes, and bounds that are values: what scalars say is what the operator says
CREATE TABLE shapes AS SELECT n, CASE WHEN n % 3 = 0 THEN 77 ELSE n % 1000 - 500 END AS a, (n - 2000) * 9000000000000 AS b, CASE n % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' ELSE round(sin(n)::numeric, 2)::float8 END AS c,
		exp(n % 90 - 45)::float4 AS d, CASE WHEN n % 40 = 0 THEN 'NaN' ELSE (n % 1500)::numeric ^ 3 - 1e8 END AS e, repeat('prefix', 5) || lpad((n * 7 % 900)::text, 4, '0') || CASE WHEN n % 5 = 0 THEN '' ELSE n::text END AS f,
		CASE WHEN n % 2 = 0 THEN repeat('x', n % 120) ELSE repeat('long', 25) || n END AS g, '2000-01-01'::date + n * 37 % 9000 AS h, '1999-12-31'::timestamp + (n % 700) * interval '1.5 s' AS i, (n * 1000003::int8 % 4294967296)::oid AS j,
		md5(n::text)::uuid AS k, '00:00'::time + n % 800 * interval '1 min' AS l, n % 2 = 0 AS m
	FROM generate_series(1, 3000) n;
CREATE FUNCTION tuple_of(s shapes) RETURNS genie_object LANGUAGE sql IMMUTABLE AS $$ SELECT public.genie_tuple(s.a, s.b, s.c, s.d, s.e, s.f, s.g, s.h, s.i, s.j, s.k, s.l, s.m) $$;
CREATE INDEX shapes_x ON shapes USING genie (tuple_of(shapes) genie_tuple_ops (bins = 20));
VACUUM ANALYZE shapes;
SET datestyle = 'ISO';
CREATE TABLE bounds AS SELECT k, type, '"' || v || '"' AS v, r FROM (
	SELECT 1 AS k, 'int' AS type, a::text AS v, row_number() OVER (ORDER BY a) AS r FROM shapes UNION ALL SELECT 2, 'int', b::text, row_number() OVER (ORDER BY b) FROM shapes UNION ALL
	SELECT 3, 'float', c::text, row_number() OVER (ORDER BY c) FROM shapes UNION ALL SELECT 4, 'float', d::float8::text, row_number() OVER (ORDER BY d) FROM shapes UNION ALL
	SELECT 5, 'numeric', e::text, row_number() OVER (ORDER BY e) FROM shapes UNION ALL SELECT 6, 'text', f, row_number() OVER (ORDER BY f COLLATE "C") FROM shapes UNION ALL
	SELECT 7, 'text', g, row_number() OVER (ORDER BY g COLLATE "C") FROM shapes UNION ALL SELECT 8, 'timestamp', h::text, row_number() OVER (ORDER BY h) FROM shapes UNION ALL
	SELECT 9, 'timestamp', i::text, row_number() OVER (ORDER BY i) FROM shapes UNION ALL SELECT 10, 'oid', j::text, row_number() OVER (ORDER BY j) FROM shapes UNION ALL
	SELECT 11, 'uuid', k::text, row_number() OVER (ORDER BY k) FROM shapes UNION ALL SELECT 12, 'time', l::text, row_number() OVER (ORDER BY l) FROM shapes) b;
CREATE INDEX ON bounds (k, r);
-- each side open, closed, or missing; or a point
CREATE FUNCTION range_of(i int, attribute int) RETURNS text LANGUAGE sql AS $$
	SELECT format('%s:%s:', k, type) || CASE WHEN low.v = high.v OR i % 7 = 0 THEN low.v ELSE
		CASE WHEN i % 2 = 0 THEN '[' ELSE '(' END || CASE WHEN i % 5 = 0 THEN '' ELSE low.v END || ',' || CASE WHEN i % 11 = 0 THEN '' ELSE high.v END || CASE WHEN i % 3 = 0 THEN ']' ELSE ')' END END
	FROM bounds low JOIN bounds high USING (k, type) WHERE k = attribute AND low.r = i * 1237 % 3000 + 1 AND high.r = least(low.r + i * 677 % 2000, 3000) $$;
CREATE TABLE ranges AS SELECT i AS q, kind, format('{%s}@%s', string_agg(DISTINCT range_of(i * n, (i + n * (i % 5 + 1)) % 12 + 1), ','), CASE kind WHEN 'any' THEN 1 WHEN 'most' THEN 2 ELSE count(DISTINCT (i + n * (i % 5 + 1)) % 12) END)::genie_query AS query
	FROM generate_series(1, 300) i, LATERAL (SELECT CASE i % 6 WHEN 0 THEN 'any' WHEN 1 THEN 'most' ELSE 'all' END AS kind) v, LATERAL generate_series(1, CASE kind WHEN 'most' THEN 3 ELSE i % 4 + 1 END) n GROUP BY i, kind;
CREATE FUNCTION wrong() RETURNS TABLE (kind text, queries bigint, found boolean, counts bigint, bounds bigint, filters bigint) LANGUAGE sql SET enable_indexscan = off SET enable_bitmapscan = off AS $$
	WITH truth AS MATERIALIZED (SELECT q, ranges.kind, shapes.ctid, tuple_of(shapes) @& query AS holds FROM shapes CROSS JOIN ranges),
		numbers AS (SELECT q, truth.kind, count(*) FILTER (WHERE holds) AS n FROM truth GROUP BY 1, 2),
		given AS (SELECT query AS q, tid FROM genie_filter('shapes_x', (SELECT array_agg(query ORDER BY q) FROM ranges)))
	SELECT numbers.kind, count(*), sum(n) > 1000, count(*) FILTER (WHERE c.lower <> n OR c.upper <> n), count(*) FILTER (WHERE n NOT BETWEEN b.lower AND b.upper),
		(SELECT count(*) FROM (SELECT q, ctid FROM truth t WHERE holds AND t.kind = numbers.kind) t FULL JOIN (SELECT q, tid AS ctid FROM given JOIN ranges r USING (q) WHERE r.kind = numbers.kind) g USING (q, ctid) WHERE t IS NULL OR g IS NULL)
	FROM numbers JOIN genie_counts('shapes_x', (SELECT array_agg(query ORDER BY q) FROM ranges)) c ON c.query = q JOIN genie_counts('shapes_x', (SELECT array_agg(query ORDER BY q) FROM ranges), false) b ON b.query = q
	GROUP BY 1 ORDER BY 1 $$;
SELECT * FROM wrong();
-- each conjunction alone
SELECT count(*), count(*) FILTER (WHERE c.lower <> d.lower) AS differ FROM ranges, genie_count('shapes_x', query) c, genie_counts('shapes_x', (SELECT array_agg(query ORDER BY q) FROM ranges)) d WHERE d.query = q AND kind = 'all';
-- conjunctions by engines alone; numbers of one bin told exactly
SELECT sum(upper - lower) FROM genie_counts('shapes_x', (SELECT array_agg(query ORDER BY q) FROM ranges WHERE kind = 'all' AND query::text !~ '[567]:|1[12]:'));
SELECT rows_visited < rows_returned * 40 AS few_visited FROM genie_last_scan() WHERE kind = 'genie_counts';
SELECT lower, upper FROM genie_count('shapes_x', '{1:int:[-3,99]}@1');
SELECT rows_visited FROM genie_last_scan() WHERE kind = 'genie_counts';
-- pending rows, dead ones, values beyond all others; segments with scalars and without
INSERT INTO shapes SELECT n, n * 1000, -n * 9000000000000, n * 1e100, -n, n * 1e30::numeric, 'zz' || n, '', '1900-01-01'::date + n, '2300-01-01'::timestamp + n * interval '1 h', 4294967295, NULL, '23:59', NULL FROM generate_series(1, 300) n;
DELETE FROM shapes WHERE n % 7 = 0;
SELECT * FROM wrong();
SELECT genie_merge('shapes_x');
ALTER INDEX shapes_x SET (values = off);
INSERT INTO shapes (n, a, c, f) SELECT n, n % 200, n / 150.0, 'prefixprefix' || n FROM generate_series(1, 300) n;
SELECT * FROM wrong();
SELECT genie_merge('shapes_x');
SELECT * FROM wrong();
ALTER INDEX shapes_x RESET (values);
UPDATE shapes SET a = a - 1, f = f || 'y' WHERE n % 4 = 0;
SELECT genie_merge('shapes_x');
VACUUM shapes;
SELECT * FROM wrong();
SELECT * FROM genie_check('shapes_x');
DROP TABLE shapes CASCADE;
RESET datestyle;

-- many rows in bins that are cut: answers of several groups of queries, of which an object may be two; by masks where they are too many
CREATE TABLE crowded AS SELECT i * 7919 % 1000003 AS a, i * 104729::int8 % 1000003 AS b, i * 15485863::int8 % 1000003 AS c FROM generate_series(1, 80000) i;
CREATE INDEX crowded_x ON crowded USING genie (genie_tuple(a, b, c) genie_tuple_ops (bins = 4));
CREATE INDEX crowded_y ON crowded USING genie (genie_tuple(a, b, c) genie_tuple_ops (bins = 2));
VACUUM ANALYZE crowded;
CREATE TABLE crowd AS SELECT n, n * 1000 AS la, 900000 + n * 100 AS ha, n * 1500 AS lb, n * 700 AS lc FROM generate_series(1, 25) n;
SELECT sum(x.lower - t.n) AS differ_x, sum(y.lower - t.n) AS differ_y, count(*) FROM (SELECT array_agg(format('{1:int:[%s,%s],2:int:[%s,950000],3:int:[%s,970000]}@3', la, ha, lb, lc)::genie_query ORDER BY n) AS queries FROM crowd) q,
	LATERAL genie_counts('crowded_x', queries) x JOIN LATERAL genie_counts('crowded_y', queries) y USING (query) JOIN LATERAL (SELECT crowd.n AS query, count(*) AS n FROM crowd JOIN crowded ON a BETWEEN la AND ha AND b BETWEEN lb AND 950000 AND c BETWEEN lc AND 970000 GROUP BY 1) t USING (query);
SELECT query, lower FROM genie_counts('crowded_x', '{"{1:int:[0,5000]}@1", "{1:int:[5,5000],2:int:[77,7777]}@1", "{}@0", "{1:int:[7,]}@3", "{1:int:[100,200000],3:int:(500,700000]}@2"}');
SELECT count(*) FILTER (WHERE a BETWEEN 0 AND 5000), count(*) FILTER (WHERE a BETWEEN 5 AND 5000 OR b BETWEEN 77 AND 7777), count(*), 0, count(*) FILTER (WHERE a BETWEEN 100 AND 200000 AND c > 500 AND c <= 700000) FROM crowded;
DROP TABLE crowded, crowd;
-- too many attributes with many values for scalars
CREATE TABLE wide (x genie_object);
INSERT INTO wide SELECT format('{%s}', string_agg(format('%s:int:%s', d, i * d % 997), ','))::genie_object FROM generate_series(1, 600) i, generate_series(1, 70) d GROUP BY i;
CREATE INDEX wide_x ON wide USING genie (x genie_tuple_ops (bins = 8));
SELECT value_bytes FROM genie_index_info('wide_x');
SELECT lower, (SELECT count(*) FROM wide WHERE x @& '{3:int:[5,500],70:int:[7,700]}@2') AS truth FROM genie_count('wide_x', '{3:int:[5,500],70:int:[7,700]}@2');
DROP TABLE wide;

-- an index that learns from too few rows would keep values
CREATE TABLE grown (x genie_object);
CREATE INDEX grown_x ON grown USING genie (x genie_tuple_ops);
INSERT INTO grown SELECT genie_tuple(i) FROM generate_series(1, 300) i;
SELECT genie_merge('grown_x');
SELECT training FROM genie_index_info('grown_x');
INSERT INTO grown SELECT genie_tuple(i) FROM generate_series(301, 20000) i;
SELECT genie_merge('grown_x');
SELECT training, keywords <= 256 AS bins FROM genie_index_info('grown_x');
-- an attribute that has many values later; few bins, most of which are empty
TRUNCATE grown;
INSERT INTO grown SELECT genie_tuple(i % 7, i) FROM generate_series(1, 5000) i;
REINDEX INDEX grown_x;
DELETE FROM grown;
INSERT INTO grown SELECT genie_tuple(i, i) FROM generate_series(1, 5000) i;
VACUUM grown;
SELECT training FROM genie_index_info('grown_x');
DROP INDEX grown_x;
CREATE INDEX grown_x ON grown USING genie (x genie_tuple_ops (bins = 8));
VACUUM grown;
SELECT training FROM genie_index_info('grown_x');
INSERT INTO grown SELECT genie_tuple(100000 + i, i) FROM generate_series(1, 30000) i;
VACUUM grown;
SELECT training FROM genie_index_info('grown_x');

-- rows that drift away from the cuts fill the last bin: VACUUM notes it
INSERT INTO several SELECT genie_tuple((1e6 + i)::float8, i % 3) FROM generate_series(1, 4000) i;
VACUUM several;
SELECT training FROM genie_index_info('several_x');
REINDEX INDEX several_x;
SELECT training FROM genie_index_info('several_x');
DROP SCHEMA index_bins CASCADE;
