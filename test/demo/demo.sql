-- demo.sql: uses of the index, shown on the packages of this machine (loaded by test/demo/demo)
\pset footer off
\pset linestyle unicode
\pset border 1
\pset null '-'
\timing off

ANALYZE packages;
SELECT count(*) AS packages, sum(cardinality(depends)) AS dependencies, sum(cardinality(tags)) AS tags FROM packages;

\echo
\echo 'Two sets and a tuple of every package are indexed.  Attributes of a tuple may be of any type.'
\echo
\set ECHO queries
\timing on
CREATE INDEX packages_depends ON packages USING genie (depends);
CREATE INDEX packages_tags ON packages USING genie (tags);
CREATE INDEX packages_tuple ON packages USING genie (genie_tuple(section, priority, maintainer, installed_size));
\timing off
\set ECHO none
SELECT c.relname AS index, pg_size_pretty(pg_relation_size(c.oid)) AS size, i.objects, i.keywords, i.postings
FROM pg_class c, genie_index_info(c.oid) i WHERE c.relname LIKE 'packages\_%' AND c.relkind = 'i' AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'genie')
ORDER BY 1;
ANALYZE packages;

SELECT name AS package FROM packages
ORDER BY name = 'postgresql-15' DESC, section = 'database' DESC, cardinality(depends) DESC LIMIT 1 \gset
SELECT name AS program FROM packages
ORDER BY name = 'gimp' DESC, cardinality(tags) DESC, name LIMIT 1 \gset
SELECT maintainer AS team FROM packages WHERE section = 'database' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1 \gset
SELECT EXISTS (SELECT FROM packages WHERE tags <> '{}') AS have_tags \gset

\echo
\echo '1. Which packages share the most dependencies with' :package '?'
\echo '   depends <&> query is minus the number of shared elements, so ascending order is most alike first.'
\echo
\set ECHO queries
EXPLAIN (COSTS OFF)
SELECT name, -(depends <&> (SELECT depends FROM packages WHERE name = :'package')) AS shared, cardinality(depends) AS of
FROM packages ORDER BY depends <&> (SELECT depends FROM packages WHERE name = :'package') LIMIT 8;
\set ECHO none
\timing on
SELECT name, -(depends <&> (SELECT depends FROM packages WHERE name = :'package')) AS shared, cardinality(depends) AS of
FROM packages ORDER BY depends <&> (SELECT depends FROM packages WHERE name = :'package') LIMIT 8;
\timing off

\echo
\echo '2. Which packages use at least three of four libraries?  The most first, from sections other than libraries.'
\echo '   @& is the search condition: match count >= the query''s min_match.'
\echo
\set ECHO queries
EXPLAIN (COSTS OFF)
SELECT name, section FROM packages
WHERE depends @& genie_query('{libcairo2,libgdk-pixbuf-2.0-0,libsqlite3-0,libxml2}'::text[], 3) AND section NOT IN ('libs', 'libdevel')
ORDER BY depends <&> genie_query('{libcairo2,libgdk-pixbuf-2.0-0,libsqlite3-0,libxml2}'::text[]) LIMIT 8;
\set ECHO none
\timing on
SELECT name, section, -(depends <&> '{libcairo2,libgdk-pixbuf-2.0-0,libsqlite3-0,libxml2}'::text[]) AS shared FROM packages
WHERE depends @& genie_query('{libcairo2,libgdk-pixbuf-2.0-0,libsqlite3-0,libxml2}'::text[], 3) AND section NOT IN ('libs', 'libdevel')
ORDER BY depends <&> genie_query('{libcairo2,libgdk-pixbuf-2.0-0,libsqlite3-0,libxml2}'::text[]) LIMIT 8;
\timing off

\if :have_tags
\echo
\echo '3. Which packages are described by the most tags of' :program '?'
\echo
\set ECHO queries
\timing on
SELECT name, -(tags <&> (SELECT tags FROM packages WHERE name = :'program')) AS shared, left(description, 60) AS description
FROM packages ORDER BY tags <&> (SELECT tags FROM packages WHERE name = :'program') LIMIT 8;
\timing off
\set ECHO none
\else
\echo
\echo '3. (The package index of this distribution has no tags.)'
\endif

\echo
\echo '4. Packages that come closest to: section database, priority optional, this maintainer, 1,000 to 5,000 kB installed.'
\echo '   A criterion is a value, a range, an array (any of them) or NULL (none); each counts one.'
\echo
\set ECHO queries
EXPLAIN (COSTS OFF)
SELECT name FROM packages
ORDER BY genie_tuple(section, priority, maintainer, installed_size)
	<&> genie_tuple_query('database', 'optional', :'team', int4range(1000, 5000)) LIMIT 8;
\set ECHO none
\timing on
SELECT name, section, maintainer, installed_size,
	-(genie_tuple(section, priority, maintainer, installed_size)
		<&> genie_tuple_query('database', 'optional', :'team', int4range(1000, 5000))) AS matches
FROM packages
ORDER BY genie_tuple(section, priority, maintainer, installed_size)
	<&> genie_tuple_query('database', 'optional', :'team', int4range(1000, 5000)) LIMIT 8;
\timing off

\echo
\echo '5. The same criteria, all of them required: the classical selection, from the same index.'
\echo
\set ECHO queries
EXPLAIN (COSTS OFF)
SELECT count(*) FROM packages
WHERE genie_tuple(section, priority, maintainer, installed_size)
	@& genie_tuple_query('database', 'optional', :'team', int4range(1000, 5000));
\set ECHO none
SELECT count(*) FROM packages
WHERE genie_tuple(section, priority, maintainer, installed_size)
	@& genie_tuple_query('database', 'optional', :'team', int4range(1000, 5000));

\echo
\echo '6. Many questions in one call: for each program of many dependencies, the package most like it; the closest pairs.'
\echo '   genie_search answers an array of queries as one batch; its tid is the row''s ctid.'
\echo
\set ECHO queries
WITH q AS (SELECT array_agg(name ORDER BY name) AS names, array_agg(genie_query(depends) ORDER BY name) AS queries
	FROM packages WHERE cardinality(depends) >= 12 AND section NOT LIKE '%lib%')
SELECT cardinality(q.queries) AS queries, q.names[s.query] AS package, p.name AS most_alike, s.match_count AS shared
FROM q, genie_search('packages_depends', q.queries, 2) s JOIN packages p ON p.ctid = s.tid
WHERE p.name <> q.names[s.query] ORDER BY s.match_count DESC, package LIMIT 8;
\set ECHO none

\echo
\echo '7. A misspelt name: the packages nearest by edit distance, exactly, from n-grams of the names.'
\echo
\set ECHO queries
\timing on
CREATE INDEX packages_name ON packages USING genie (name genie_edit_ops);
SELECT name, name <~> 'postgrsql-comon' AS edits FROM packages ORDER BY name <~> 'postgrsql-comon' LIMIT 5;
\timing off
\set ECHO none
SET enable_indexscan = off;
SELECT array_agg(edits ORDER BY edits) AS by_scan FROM (SELECT name <~> 'postgrsql-comon' AS edits FROM packages ORDER BY 1 LIMIT 5) t \gset
RESET enable_indexscan;
SELECT array_agg(edits ORDER BY edits) <> :'by_scan' AS wrong
FROM (SELECT name <~> 'postgrsql-comon' AS edits FROM packages ORDER BY name <~> 'postgrsql-comon' LIMIT 5) t \gset
\if :wrong
DO $$ BEGIN RAISE EXCEPTION 'the index scan and the sequential scan differ in distances' USING ERRCODE = 'data_corrupted'; END $$;
\endif

\echo
\echo '8. The most similar sets of dependencies (Jaccard), and descriptions as documents: words in common, then those of two words or more.'
\echo
\set ECHO queries
\timing on
SELECT name, round(genie_jaccard(depends, (SELECT depends FROM packages WHERE name = :'package'))::numeric, 3) AS similarity
FROM packages ORDER BY depends <%> (SELECT depends FROM packages WHERE name = :'package') LIMIT 5;
CREATE INDEX packages_words ON packages USING genie (to_tsvector('english', description));
SELECT name, left(description, 60) AS description, -(to_tsvector('english', description) <&> to_tsquery('english', 'graph | database | draw:*')) AS words
FROM packages ORDER BY to_tsvector('english', description) <&> to_tsquery('english', 'graph | database | draw:*') LIMIT 5;
SELECT count(*) FROM packages WHERE to_tsvector('english', description) @& genie_query(to_tsquery('english', 'graph | database | draw:*'), 2);
\timing off
\set ECHO none

\echo
\echo '9. Vectors: each description as 32 numbers (a random projection of its words); the nearest by angle, approximately; and how many of the exactly nearest are among them.'
\echo
\set ECHO queries
CREATE TABLE embedded AS
SELECT name, description, (SELECT array_agg(n ORDER BY j) FROM (SELECT j, sum((hashtextextended(lexeme, 0) >> j & 1) * 2 - 1)::real AS n
	FROM unnest(to_tsvector('english', description)), generate_series(0, 31) j GROUP BY j) projected) AS v
FROM packages WHERE hashtext(name) % 4 = 0 OR name = :'package';
\timing on
CREATE INDEX embedded_v ON embedded USING genie (v genie_cosine_ops);
SELECT name, left(description, 60) AS description, round((v <=> (SELECT v FROM embedded WHERE name = :'package'))::numeric, 3) AS distance
FROM embedded ORDER BY v <=> (SELECT v FROM embedded WHERE name = :'package') LIMIT 5;
SELECT count(*) AS found_of_10 FROM (SELECT v FROM embedded WHERE name = :'package') q,
	genie_search('embedded_v', ARRAY[q.v], 10) s JOIN LATERAL genie_exact_knn('embedded_v', ARRAY[q.v], 10) e USING (tid);
\timing off
\set ECHO none

\echo
\echo '10. An index scan and a sequential scan give the same rows in the same order: the first 1,000 of question 1 are compared.'
\echo
CREATE TEMP TABLE by_index AS
SELECT row_number() OVER () AS n, name FROM (SELECT name FROM packages
	ORDER BY depends <&> (SELECT depends FROM packages WHERE name = :'package') LIMIT 1000) t;
SET enable_indexscan = off;
CREATE TEMP TABLE by_scan AS
SELECT row_number() OVER () AS n, name FROM (SELECT name FROM packages
	ORDER BY depends <&> (SELECT depends FROM packages WHERE name = :'package'), ctid LIMIT 1000) t;
SELECT count(*) AS rows, count(*) FILTER (WHERE i.name IS DISTINCT FROM s.name) AS different
FROM by_index i FULL JOIN by_scan s USING (n);
SELECT count(*) > 0 AS wrong FROM by_index i FULL JOIN by_scan s USING (n) WHERE i.name IS DISTINCT FROM s.name \gset
\if :wrong
DO $$ BEGIN RAISE EXCEPTION 'the index scan and the sequential scan differ' USING ERRCODE = 'data_corrupted'; END $$;
\endif

\echo
\echo '11. What counted: this server preloads genie, so queries went to the background worker, on the GPU if there is one.'
\echo
\set ECHO queries
SELECT engine, queries, batches, answered_by_gpu, answered_by_worker_cpu, answered_by_backend, images, image_bytes FROM genie_stat;
SELECT name, state, last_error FROM genie_devices();
\set ECHO none
