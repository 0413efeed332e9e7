-- text keywords are in the database's encoding: this needs UTF8
SELECT getdatabaseencoding() <> 'UTF8' AS skip \gset
\if :skip
\quit
\endif
SELECT '{1:text:"Müßiggang",2:enum:"Größe"}'::genie_object;
SELECT '{1:text:"é" x}'::genie_object;
SELECT '{1:text:\xff}'::genie_object;
SELECT '{1:enum:\xc3}'::genie_object;
-- a character that the cut goes through
SELECT genie_tuple(repeat('é', 64) || 'x') <> genie_tuple(repeat('é', 64) || 'y') AS different;
SELECT genie_tuple('a' || repeat('é', 100))::text::genie_object = genie_tuple('a' || repeat('é', 100)) AS round_trip;
-- byte order: capitals, small letters, then characters beyond ASCII
SELECT genie_match_count(ARRAY['Zebra', 'apple', 'zebra', 'Äpfel'], '{0:text:["Z","b")}'::genie_query) AS z_to_b,
	genie_match_count(ARRAY['Zebra', 'apple', 'zebra', 'Äpfel'], '{0:text:["zz",)}'::genie_query) AS after_z;
