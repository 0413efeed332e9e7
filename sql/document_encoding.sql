-- prefixes of lexemes, trees, JSON, n-grams and edit distances in other encodings of the database: characters of one byte up to the last, and of several bytes
SELECT current_database() AS here \gset
CREATE DATABASE document_latin1 TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C';
CREATE DATABASE document_euc_jp TEMPLATE template0 ENCODING 'EUC_JP' LC_COLLATE 'C' LC_CTYPE 'C';
\c document_latin1
SET client_encoding = 'UTF8';
SET client_min_messages = warning;
CREATE EXTENSION genie;
SELECT q, array_to_tsvector(ARRAY['z', 'þ', 'þÿ', 'ÿ', 'ÿa', 'ÿÿ']) <&> q AS order, genie_query(q)::text::genie_query::text = genie_query(q)::text AS text FROM unnest('{ÿ:*,ÿÿ:*,þ:*,z:*,ÿ}'::tsquery[]) q;
SELECT genie_binary_branches('{ÿ{é\}}}'), genie_jsonb('{"é": "ÿ"}'), genie_stars('{é,ÿ}', '{1,2}');
SELECT genie_binary_branches('{ÿ{é');
SELECT genie_ngrams('éÿ', 2), 'résumé' <~> 'resume' AS distance;
\c document_euc_jp
SET client_encoding = 'UTF8';
SET client_min_messages = warning;
CREATE EXTENSION genie;
SELECT q, array_to_tsvector(ARRAY['z', '日', '日本', '月', '日日']) <&> q AS order, genie_query(q)::text::genie_query::text = genie_query(q)::text AS text FROM unnest('{日:*,日日:*,z:*,月}'::tsquery[]) q;
SELECT genie_binary_branches('{日{本\}}}'), genie_jsonb('{"日": "本"}'), genie_stars('{日,本}', '{1,2}');
SELECT genie_binary_branches('{日{本');
SELECT genie_ngrams('日本', 2), '日本語ｱテ' <~> '日木語テ' AS distance;
\c :here
DROP DATABASE document_latin1;
DROP DATABASE document_euc_jp;
