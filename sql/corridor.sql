-- genie_corridor(), genie_in_corridor(): the neighbourhood of a track, as boxes and exactly
CREATE SCHEMA corridor;
SET search_path = corridor, public;
SET client_min_messages = warning;
SET TimeZone = 'UTC';
SET jit = off;

SELECT array_agg(round(x::numeric, 9)) FROM unnest(genie_cartesian(30, 60)) x;
-- all but the last digits
CREATE FUNCTION shown(boxes genie_query[]) RETURNS SETOF text LANGUAGE sql AS $$ SELECT regexp_replace(box::text, '(\.\d{6})\d+([],])', '\1~\2', 'g') FROM unnest(boxes) box $$;
SELECT shown(genie_corridor('{10,11}', '{20,21}', '{2003-09-10 00:00+00,2003-09-10 06:00+00}', 1, '3 hours', '21 hours'));
-- over 180 degrees, and over a pole
SELECT shown(genie_corridor('{0}', '{179.5}', '{2003-09-10 00:00+00}', 1, '0', '1 day 1 hour'));
SELECT shown(genie_corridor('{89.5}', '{30}', '{2003-09-10 00:00+00}', 1, '0', '0'));
SELECT genie_corridor('{}', '{}', '{}', 1, '0', '0');
SELECT genie_in_corridor(0.5, -179.9, '2003-09-10 12:00+00', '{0}', '{179.5}', '{2003-09-10 00:00+00}', 1, '0', '12 hours') AS inside,
	genie_in_corridor(0.5, -179.9, '2003-09-10 12:00:00.000001+00', '{0}', '{179.5}', '{2003-09-10 00:00+00}', 1, '0', '12 hours') AS later,
	genie_in_corridor(89.6, -150, '2003-09-10 00:00+00', '{89.5}', '{30}', '{2003-09-10 00:00+00}', 1, '0', '0') AS over_the_pole,
	genie_in_corridor(0, 10, 'infinity', '{0}', '{10}', '{2003-09-10 00:00+00}', 1, '0', '0') AS never,
	genie_in_corridor(NULL, 10, now(), '{0}', '{10}', '{2003-09-10 00:00+00}', 1, '0', '0') AS unknown;

-- Tracks: a storm, one over 180 degrees, two near the poles, one that stands still, a jump, all at once, a single point.
CREATE TABLE tracks (id int, lat float8[], lon float8[], t timestamptz[], radius float8);
INSERT INTO tracks SELECT 1, array_agg(12 + i * 0.3 ORDER BY i), array_agg(-30 - i * 0.9 + sin(i) ORDER BY i), array_agg('2003-09-06 00:00+00'::timestamptz + i * interval '6 hours' ORDER BY i), 1 FROM generate_series(0, 40) i;
INSERT INTO tracks VALUES (2, '{-5,-4,-2}', '{175,-179,-170}', '{2003-09-06 00:00+00,2003-09-08 00:00+00,2003-09-09 00:00+00}', 3),
	(3, '{80,88,85}', '{0,170,-60}', '{2003-09-06 00:00+00,2003-09-10 00:00+00,2003-09-12 00:00+00}', 4), (4, '{-89,-89.9}', '{10,-100}', '{2003-09-06 00:00+00,2003-09-12 00:00+00}', 0.5),
	(5, '{45,45}', '{7,7}', '{2003-09-06 00:00+00,2003-09-12 00:00+00}', 2), (6, '{-60,70}', '{-100,60}', '{2003-09-06 00:00+00,2003-09-12 00:00+00}', 12),
	(7, '{0,20}', '{0,30}', '{2003-09-06 00:00+00,2003-09-06 00:00+00}', 5), (8, '{30}', '{-180}', '{2003-09-08 00:00+00}', 7), (9, '{10,30}', '{20,50}', '{2003-09-06 00:00+00,2003-09-12 00:00+00}', 0);
-- rows near them: about one in two is inside
CREATE FUNCTION chance(id int, i int, what int) RETURNS float8 LANGUAGE sql IMMUTABLE RETURN (hashint8extended(id * 1000000 + i, what) >> 12 & 4503599627370495) / 4503599627370496.0;
CREATE TABLE rows AS
	SELECT id AS track, least(90, greatest(-90, lat + (chance(id, i, 3) - 0.5) * 2.5 * radius)) AS lat,
		(lon + (chance(id, i, 4) - 0.5) * 2.5 * radius / greatest(cos(radians(lat)), 0.01) + 900)::numeric % 360 - 180 AS lon,
		t + (chance(id, i, 5) * 40 - 8) * interval '1 hour' AS t
	FROM (SELECT id, i, radius, a * lat[n] + (1 - a) * lat[least(n + 1, cardinality(lat))] AS lat, lon[n] AS lon, t[n] + (1 - a) * (t[least(n + 1, cardinality(t))] - t[n]) AS t
		FROM (SELECT *, 1 + (chance(id, i, 1) * cardinality(lat))::int % cardinality(lat) AS n, chance(id, i, 2) AS a FROM tracks, generate_series(1, 1500) i) s) s;
ALTER TABLE rows ALTER lon TYPE float8;
-- The smallest distance of the eye, by the definition, at so many times of the track that are near enough to the row's.
CREATE FUNCTION seen(track tracks, lat float8, lon float8, at timestamptz, before interval, after interval) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	least_angle float8 = 400;
	p float8[] = genie_cartesian(lat, lon);
	a float8[]; b float8[]; u float8[];
	f1 float8; f2 float8; f float8; angle float8; us float8; d float8;
BEGIN
	FOR i IN 1 .. greatest(cardinality(track.lat) - 1, 1) LOOP
		a = genie_cartesian(track.lat[i], track.lon[i]);
		b = genie_cartesian(track.lat[least(i + 1, cardinality(track.lat))], track.lon[least(i + 1, cardinality(track.lat))]);
		us = extract(epoch FROM track.t[least(i + 1, cardinality(track.t))] - track.t[i]);
		f1 = 0; f2 = 1;
		IF us > 0 THEN
			f1 = greatest(0, extract(epoch FROM at - after - track.t[i]) / us);
			f2 = least(1, extract(epoch FROM at + before - track.t[i]) / us);
		ELSIF at < track.t[i] - before OR at > track.t[i] + after THEN
			CONTINUE;
		END IF;
		IF f1 > f2 THEN
			CONTINUE;
		END IF;
		angle = acos(least(1, a[1] * b[1] + a[2] * b[2] + a[3] * b[3]));
		FOR k IN 0 .. 60 LOOP
			f = f1 + (f2 - f1) * k / 60;
			-- between the two points, by a sum of them
			u = CASE WHEN angle < 1e-9 THEN a ELSE ARRAY(SELECT (sin((1 - f) * angle) * a[c] + sin(f * angle) * b[c]) / sin(angle) FROM generate_series(1, 3) c ORDER BY c) END;
			d = sqrt((u[1] - p[1]) ^ 2 + (u[2] - p[2]) ^ 2 + (u[3] - p[3]) ^ 2);
			least_angle = least(least_angle, degrees(2 * asin(least(1, d / 2))));
		END LOOP;
	END LOOP;
	RETURN least_angle;
END $$;
CREATE TABLE judged AS
	SELECT r.*, radius, genie_in_corridor(r.lat, r.lon, r.t, s.lat, s.lon, s.t, radius, '3 hours', '21 hours') AS inside,
		genie_tuple(r.lat, r.lon, r.t) @& ANY (boxes) AS in_a_box
	FROM rows r JOIN (SELECT *, genie_corridor(lat, lon, t, radius, '3 hours', '21 hours') AS boxes FROM tracks) s ON id = track;
SELECT track, count(*) AS rows, count(*) FILTER (WHERE inside) AS inside, count(*) FILTER (WHERE in_a_box) AS in_a_box, count(*) FILTER (WHERE inside AND NOT in_a_box) AS missed FROM judged GROUP BY track ORDER BY track;
-- at 61 times of a leg the eye is seen from no nearer than it comes, and from not much farther
SELECT count(*) AS rows, count(*) FILTER (WHERE seen <= j.radius AND NOT inside) AS not_found, count(*) FILTER (WHERE seen > j.radius * 1.02 + 0.05 AND inside) AS too_far
	FROM (SELECT * FROM judged WHERE track <> 6 ORDER BY hashint8extended(hashtext(lat::text), 1) LIMIT 800) j JOIN tracks ON id = track,
		LATERAL (SELECT seen(tracks, j.lat, j.lon, j.t, '3 hours', '21 hours') AS seen) s;

-- with an index: the same rows
CREATE INDEX rows_box ON rows USING genie (genie_tuple(lat, lon, t));
VACUUM ANALYZE rows;
SELECT count(*) FROM rows r WHERE genie_tuple(lat, lon, t) @& ANY (genie_corridor('{-5,-4}', '{175,-179}', '{2003-09-06 00:00+00,2003-09-08 00:00+00}', 3, '3 hours', '21 hours'))
	AND genie_in_corridor(lat, lon, t, '{-5,-4}', '{175,-179}', '{2003-09-06 00:00+00,2003-09-08 00:00+00}', 3, '3 hours', '21 hours');
SELECT kind, scans FROM genie_last_scan();
SET enable_seqscan = off;
SELECT s.id, (SELECT count(*) FROM rows r WHERE genie_tuple(r.lat, r.lon, r.t) @& ANY (genie_corridor(s.lat, s.lon, s.t, radius, '3 hours', '21 hours'))
		AND genie_in_corridor(r.lat, r.lon, r.t, s.lat, s.lon, s.t, radius, '3 hours', '21 hours')) =
	(SELECT count(*) FROM rows r WHERE genie_in_corridor(r.lat, r.lon, r.t, s.lat, s.lon, s.t, radius, '3 hours', '21 hours')) AS same FROM tracks s ORDER BY s.id;

-- errors
SELECT genie_corridor('{91}', '{0}', '{2003-09-10}', 1, '0', '0');
SELECT genie_corridor('{0}', '{NaN}', '{2003-09-10}', 1, '0', '0');
SELECT genie_corridor('{0,1}', '{0}', '{2003-09-10}', 1, '0', '0');
SELECT genie_corridor('{0}', '{NULL}', '{2003-09-10}', 1, '0', '0');
SELECT genie_corridor('{{0}}', '{0}', '{2003-09-10}', 1, '0', '0');
SELECT genie_corridor('{0,1}', '{0,0}', '{2003-09-10,2003-09-09}', 1, '0', '0');
SELECT genie_corridor('{0}', '{0}', '{infinity}', 1, '0', '0');
SELECT genie_corridor('{0}', '{0}', '{2003-09-10}', -1, '0', '0');
SELECT genie_corridor('{0}', '{0}', '{2003-09-10}', 'NaN', '0', '0');
SELECT genie_corridor('{0}', '{0}', '{2003-09-10}', 1, '-1 hour', '0');
SELECT genie_corridor('{0}', '{0}', '{2003-09-10}', 1, '0', '1 month');
SELECT genie_corridor('{0}', '{0}', '{2003-09-10}', 1, '0', '2000000000 days');
SELECT genie_corridor('{0,0}', '{0,180}', '{2003-09-10,2003-09-11}', 1, '0', '0');
SELECT genie_in_corridor(0, 0, '2003-09-10', '{0,1}', '{0}', '{2003-09-10}', 1, '0', '0');
SELECT genie_in_corridor(0, 0, '2003-09-10', '{91}', '{0}', '{2003-09-10}', 1, '0', '0');
SELECT genie_in_corridor(91, 0, '2003-09-10', '{0}', '{0}', '{2003-09-10}', 1, '0', '0');
SELECT genie_cartesian(0, 400);
SELECT cardinality(genie_corridor('{0}', '{0}', '{4714-11-24 00:00:00+00 BC}', 180, '100000 days', '100000 days')), cardinality(genie_corridor('{0}', '{0}', '{294276-12-31 23:59:59+00}', 1, '0', '1000 days'));
DROP SCHEMA corridor CASCADE;
