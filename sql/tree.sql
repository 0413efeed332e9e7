-- trees as multisets of binary branches, graphs as multisets of stars
CREATE SCHEMA tree;
SET search_path = tree, public;
SET client_min_messages = warning;

-- a branch: label, then { and the first child's label or }, then { and the next sibling's label or }
SELECT genie_binary_branches('{a}') AS one, genie_binary_branches('{a{b}{c}}') AS three, genie_binary_branches('{a{b}{b}{b}}') AS again, genie_binary_branches('{a{b{a{b}}}}') AS chain;
SELECT genie_binary_branches('{}') AS empty_label, genie_binary_branches('{{}{}}') AS empty_labels, genie_binary_branches(E' \t{ a b {c} \n {d}\n} ') AS blanks, genie_binary_branches('{é{日本}}') AS other;
SELECT genie_binary_branches('{\{\}\\}') AS special, genie_binary_branches('{\a\é{\ }}') = genie_binary_branches('{aé{ }}') AS needless, genie_binary_branches('{a}') = genie_binary_branches('{\{a}') AS brace;
SELECT genie_binary_branches('{a{b}}') AS child, genie_binary_branches('{a\}\{b}') AS label, genie_binary_branches(NULL) IS NULL AS none;
SELECT genie_match_count(genie_binary_branches('{a{b}{b}{b}}'), genie_binary_branches('{a{b}{b}}')) AS shared;

-- not a tree
SELECT genie_binary_branches('');
SELECT genie_binary_branches('  ');
SELECT genie_binary_branches('a');
SELECT genie_binary_branches('}');
SELECT genie_binary_branches('{a');
SELECT genie_binary_branches('{é{b}');
SELECT genie_binary_branches('{é}}');
SELECT genie_binary_branches('{a} {b}');
SELECT genie_binary_branches('{a}b');
SELECT genie_binary_branches('{a{b}c}');
SELECT genie_binary_branches('{é{b}\{}');
SELECT genie_binary_branches('{日本\');
SELECT genie_binary_branches(repeat('{', 100000));
SELECT genie_binary_branches(repeat('{}', 100000));

-- deep, wide and large ones
SELECT genie_match_count(t, t) FROM genie_binary_branches(repeat('{a', 65535) || repeat('}', 65535)) t;
SELECT genie_match_count(t, t) FROM genie_binary_branches('{' || repeat('{a}', 65534) || '}') t;
SELECT genie_binary_branches(repeat('{a', 65536) || repeat('}', 65536));
SELECT genie_binary_branches('{' || repeat('\{', 70000) || '}') = genie_binary_branches('{' || repeat('\{', 70000) || '}') AS braces;
SELECT genie_match_count(genie_binary_branches(format('{%s{%s}}', a, a || 'x')), genie_binary_branches(format('{%s{%s}}', a, a || 'y'))) AS parent, genie_match_count(genie_binary_branches(format('{%s{%s}}', a, a || 'x')), genie_binary_branches(format('{b{%s}}', a || 'x'))) AS child
	FROM repeat('long', 100000) a;

-- random trees, as parents and labels, against the definition in SQL
CREATE TABLE node (tree int, i int, parent int, label text);
SELECT setseed(0.25);
INSERT INTO node SELECT t, i, CASE WHEN i > 1 THEN 1 + (random() * (i - 2))::int END, chr(97 + (random() * 3)::int) FROM generate_series(1, 300) t, generate_series(1, 1 + t % 40) i;
CREATE FUNCTION bracket(t int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n node;
	below text[];
BEGIN
	FOR n IN SELECT * FROM node WHERE tree = t ORDER BY i DESC LOOP
		IF n.parent IS NULL THEN
			RETURN format('{%s%s}', n.label, below[n.i]);
		END IF;
		below[n.parent] := format('{%s%s}', n.label, below[n.i]) || coalesce(below[n.parent], '');
	END LOOP;
END $$;
CREATE TABLE tree AS SELECT id, bracket, genie_binary_branches(bracket) AS branches FROM (SELECT DISTINCT tree AS id, bracket(tree) AS bracket FROM node) t ORDER BY id;
CREATE VIEW branch AS SELECT n.tree, n.label || coalesce('{' || (SELECT c.label FROM node c WHERE c.tree = n.tree AND c.parent = n.i ORDER BY i LIMIT 1), '}') ||
	coalesce('{' || (SELECT s.label FROM node s WHERE s.tree = n.tree AND s.parent = n.parent AND s.i > n.i ORDER BY i LIMIT 1), '}') AS branch FROM node n;
CREATE TABLE branches AS SELECT tree, branch, count(*) AS n FROM branch GROUP BY 1, 2;
SELECT count(*), count(*) FILTER (WHERE e IS DISTINCT FROM branches) AS wrong FROM tree LEFT JOIN
	(SELECT tree, ('{' || string_agg(format('%s:text:"%s"', o, branch), ',') || '}')::genie_object AS e FROM branches, generate_series(0, n - 1) o GROUP BY 1) x ON tree = id;
SELECT count(*), count(*) FILTER (WHERE a.branches <&> b.branches <> -coalesce((SELECT sum(least(x.n, y.n)) FROM branches x JOIN branches y USING (branch) WHERE x.tree = a.id AND y.tree = b.id), 0)) AS wrong
	FROM tree a, tree b WHERE a.id <= 100 AND b.id % 10 = 0;

-- one edit operation changes at most five branches: k random ones from a tree lead to at most 5 k
CREATE FUNCTION edited(tree text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int := length(tree) - length(replace(tree, '{', ''));
	at int := 0;
	until int;
	depth int := 1;
	how int := 5 * random();
	label text := chr(97 + (random() * 3)::int);
BEGIN
	FOR i IN 0 .. least(n - 1, floor(n * random())) LOOP
		at := at + strpos(substr(tree, at + 1), '{');
	END LOOP;
	until := at;
	WHILE depth > 0 LOOP
		until := until + 1;
		depth := depth + CASE substr(tree, until, 1) WHEN '{' THEN 1 WHEN '}' THEN -1 ELSE 0 END;
	END LOOP;
	RETURN CASE
		WHEN how <= 1 THEN overlay(tree PLACING label FROM at + 1)												-- another label
		WHEN how = 2 AND at > 1 THEN left(tree, at - 1) || substr(tree, at + 2, until - at - 2) || substr(tree, until + 1)	-- without this node
		WHEN how = 3 AND at > 1 THEN left(tree, at - 1) || '{' || label || substr(tree, at, until - at) || '}' || substr(tree, until)	-- a node above it
		WHEN how = 4 THEN left(tree, at + 1) || '{' || label || substr(tree, at + 2, until - at - 2) || '}' || substr(tree, until)		-- one between it and its children
		ELSE left(tree, at + 1) || '{' || label || '}' || substr(tree, at + 2) END;							-- a new first child
END $$;
CREATE FUNCTION nodes(bracket text) RETURNS int LANGUAGE sql AS $$ SELECT length(bracket) - length(replace(bracket, '{', '')) $$;
CREATE TABLE edited AS WITH RECURSIVE e AS (SELECT id, 0 AS edits, bracket FROM tree UNION ALL SELECT id, edits + 1, edited(bracket) FROM e WHERE edits < 8) SELECT * FROM e;
SELECT count(*), count(*) FILTER (WHERE distance > 5 * edits) AS wrong, max(distance) FILTER (WHERE edits = 1) AS most
	FROM (SELECT edits, nodes(t.bracket) + nodes(e.bracket) + 2 * (t.branches <&> genie_binary_branches(e.bracket)) AS distance FROM tree t JOIN edited e USING (id)) d;

-- graphs
SELECT genie_stars('{C,H,H,H,H}', '{{1,2},{1,3},{1,4},{1,5}}') AS methane, genie_stars('{C,O,O}', '{1,2,1,3}') AS flat, genie_stars('{a,b}', '{}') AS no_edges, genie_stars('{}', '{}') AS empty;
SELECT genie_stars('{a,b,c}', '{{1,2},{2,1},{1,2},{3,3}}') AS "twice, itself", genie_stars(ARRAY['a{', 'b}\', ''], '{1,2,2,3}') AS special, genie_stars('[5:6]={a,b}', '[0:0][3:4]={{1,2}}') AS bounds;
SELECT genie_stars('{a,b}', '{{1,2}}') = genie_stars('{b,a}', '{{1,2}}') AS numbering, genie_match_count(genie_stars('{C,H,H}', '{1,2,1,3}'), genie_stars('{C,H,H,H}', '{1,2,1,3,1,4}')) AS shared, genie_stars(NULL, '{}') IS NULL AS none;
SELECT genie_stars('{{a},{b}}', '{}');
SELECT genie_stars('{a,NULL}', '{}');
SELECT genie_stars('{a,b}', '{1,2,1}');
SELECT genie_stars('{a,b}', '{{1,2,1},{1,1,1}}');
SELECT genie_stars('{a,b}', '{{{1,2}}}');
SELECT genie_stars('{a,b}', '{1,NULL}');
SELECT genie_stars('{a,b}', '{{1,2},{2,3}}');
SELECT genie_stars('{a,b}', '{0,1}');
SELECT genie_stars(array_agg(i::text), '{}') FROM generate_series(1, 65536) i;
SELECT genie_match_count(g, genie_stars('{a,hub}', '{1,2}')) AS leaves FROM genie_stars('{hub}'::text[] || array_fill('a'::text, '{65534}'), ARRAY(SELECT CASE e WHEN 0 THEN 1 ELSE i END FROM generate_series(2, 65535) i, generate_series(0, 1) e ORDER BY i, e)) g;
SELECT genie_match_count(genie_stars(ARRAY[l, 'a'], '{1,2}'), genie_stars(ARRAY['a', l], '{1,2}')) AS long, genie_match_count(genie_stars(ARRAY[l, 'a'], '{1,2}'), genie_stars(ARRAY[l || 'x', 'a'], '{1,2}')) AS longer FROM repeat('x', 100000) l;

-- random graphs against the definition in SQL
CREATE TABLE graph AS SELECT id, ARRAY(SELECT (ARRAY['C', 'H', 'O', 'Cl', ''])[1 + (random() * 4)::int] FROM generate_series(1, 1 + id % 15)) AS labels, ARRAY(SELECT 1 + (random() * (id % 15))::int FROM generate_series(1, 2 * (id % 20))) AS edges FROM generate_series(1, 300) id;
CREATE VIEW star AS SELECT id, v, labels[v] || coalesce((SELECT string_agg('{' || labels[w] || '}', '' ORDER BY labels[w] COLLATE "C")
	FROM (SELECT DISTINCT edges[CASE e % 2 WHEN 0 THEN e - 1 ELSE e + 1 END] AS w FROM generate_subscripts(edges, 1) e WHERE edges[e] = v) x), '') AS star FROM graph, generate_subscripts(labels, 1) v;
SELECT count(*), count(*) FILTER (WHERE genie_stars(labels, edges) IS DISTINCT FROM e) AS wrong FROM graph LEFT JOIN
	(SELECT id, ('{' || string_agg(format('%s:text:"%s"', o - 1, star), ',') || '}')::genie_object AS e FROM (SELECT id, star, row_number() OVER (PARTITION BY id, star) AS o FROM star) s GROUP BY 1) x USING (id);

-- through expression indexes: the same order as by a sequential scan
CREATE FUNCTION agree(source regclass, ordering text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	by_index int[];
	by_table int[];
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	EXECUTE format('SELECT array_agg(id) FROM (SELECT id FROM %s ORDER BY %s) s', source, ordering) INTO by_index;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_sort = on;
	EXECUTE format('SELECT array_agg(id) FROM (SELECT id FROM %s ORDER BY %s, ctid) s', source, ordering) INTO by_table;
	RETURN CASE WHEN by_index IS NOT DISTINCT FROM by_table THEN 'agree' ELSE 'differs: ' || ordering END;
END $$;
CREATE INDEX ON tree USING genie (genie_binary_branches(bracket));
CREATE INDEX ON graph USING genie (genie_stars(labels, edges));
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM tree ORDER BY genie_binary_branches(bracket) <&> genie_binary_branches('{a{b}{c}}') LIMIT 3;
RESET enable_seqscan;
SELECT agree('tree', format('genie_binary_branches(bracket) <&> genie_binary_branches(%L)', bracket)), count(*) FROM tree WHERE id % 20 = 0 GROUP BY 1;
SELECT agree('graph', format('genie_stars(labels, edges) <&> genie_stars(%L, %L)', labels, edges)), count(*) FROM graph WHERE id % 20 = 0 GROUP BY 1;
INSERT INTO tree (id, bracket) VALUES (1000, '{a}}');
INSERT INTO graph VALUES (1000, '{a}', '{1,2}');
DROP SCHEMA tree CASCADE;
