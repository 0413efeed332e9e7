# tables.sh: the real tables that benchmarks use, from $GENIE_DATA or ../shared/data; to be sourced.  Where it
# loads, psql() is test/lib.sh's.
#
# A data set becomes a table rows(id, kw); where kw is not int[], there is rows_int(id, kw, words) too, whose kw are the words' numbers,
# the most frequent first.
#
#   adult		UCI Adult as GENIE's paper discretises it, each of 48,842 tuples 20 times: attribute values as int[]
#   molecules	129,695 molecules: bit numbers of Morgan fingerprints as int[]
#   titles		565,128 titles of forum posts: words as text[]

real_data() {					# real_data [FILE]: the folder, if there is one with that file
	local folder=${GENIE_DATA:-../shared/data}
	[ ! -r "$folder/${1:-adult_disc.tsv.gz}" ] || (cd "$folder" && pwd)
}

load() {						# load FILE COLUMNS: a table named after the file
	psql -c "CREATE TABLE $1 ($2)" && zcat "$(real_data "$1.tsv.gz")/$1.tsv.gz" | psql -c "COPY $1 FROM STDIN"
}

titles_columns="id int, post text, subreddit text, created bigint, score int, title text"

make_rows() {					# make_rows DATASET
	case $1 in
		adult)
			load adult_disc "id int, a0 int, a1 int, a2 int, a3 int, a4 int, a5 int, a6 int, a7 int, a8 int, a9 int, a10 int, a11 int, a12 int, a13 int, kw int[]" &&
				psql -c 'CREATE TABLE rows AS SELECT row_number() OVER ()::int AS id, kw FROM adult_disc CROSS JOIN generate_series(1, 20)' \
					-c 'DROP TABLE adult_disc'
			;;
		molecules)
			load molecules "id int, source text, smiles text, morgan int[], maccs int[]" &&
				psql -c 'CREATE TABLE rows AS SELECT id, morgan AS kw FROM molecules' -c 'DROP TABLE molecules'
			;;
		titles)
			load titles "$titles_columns" && psql <<'SQL'
CREATE TABLE rows AS SELECT id,
	ARRAY(SELECT DISTINCT w FROM regexp_split_to_table(lower(title), '\W+') w WHERE w <> '' ORDER BY w) AS kw FROM titles;
CREATE TEMP TABLE vocabulary AS SELECT w, row_number() OVER (ORDER BY count(*) DESC, w)::int AS number
FROM rows, unnest(kw) w GROUP BY w;
CREATE TABLE rows_int AS SELECT r.id, r.kw AS words, sort(array_agg(number)) AS kw
FROM rows r, unnest(r.kw) u(w) JOIN vocabulary v USING (w) GROUP BY r.id, r.kw ORDER BY r.id;
DROP TABLE titles;
SQL
			;;
		documents)
			load titles "$titles_columns" && psql -c "CREATE TABLE rows AS SELECT id, to_tsvector('english', title) AS kw FROM titles" -c 'DROP TABLE titles'
			;;
		words)
			load words "id int, list text, word text" &&
				psql -c "CREATE TABLE rows AS SELECT id, word AS kw FROM words WHERE list IN ('single', 'compound')" -c 'DROP TABLE words'
			;;
		rrna)
			load rrna "id int, db text, name text, seq text" && psql -c 'CREATE TABLE rows AS SELECT id, seq AS kw FROM rrna' -c 'DROP TABLE rrna'
			;;
		trees)
			load trees "id int, sent_id text, n int, bracket text, labels text[], parent int[], sentence text" &&
				psql -c 'CREATE TABLE rows AS SELECT id, genie_binary_branches(bracket) AS kw FROM trees' -c 'DROP TABLE trees'
			;;
		*) echo "$0: no data set \"$1\": see test/bench/tables.sh" >&2; return 1 ;;
	esac
}
