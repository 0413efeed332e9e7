-- genie_query: text input and output, normalisation, constructors

SELECT '{1:int:39,2:int:[10,20),3:text:["a","b"],4:float:(,5]}@2'::genie_query;
SELECT '{}'::genie_query AS nothing, ' { 1 : int : ( 1 , 2 ] } @ 0 '::genie_query AS spaces;
SELECT '{1:int:(,),2:float:[1,),3:numeric:(,1),4:text:(a,"b c"],5:timestamp:[2020-01-01,infinity],6:bit:[1,11],7:lsn:(0/1,),8:time:["10:00","12:00"),9:bool:[false,true)}@9'::genie_query;
SELECT '{1:enum:a,1:enum:b,2:hash:\x0123456789abcdef}'::genie_query;

-- sorted; repeated, overlapping and touching items are one; empty ones are none
SELECT '{2:int:1,1:int:5,1:int:[1,10),1:int:3,1:int:[8,20],1:int:(20,30),1:int:30}'::genie_query;
SELECT '{1:int:(5,5),1:int:[5,5),1:int:(5,5],2:int:[5,5],3:text:["a","a"]}'::genie_query;
SELECT '{1:int:(,),1:float:(,),1:numeric:(,)}'::genie_query;
SELECT '{1:text:["",""],2:text:["",b),3:text:("",b),4:text:(,""]}'::genie_query;
SELECT q::text = q::text::genie_query::text AS same FROM (VALUES
	('{1:int:(,),1:int:7,2:text:("",b),2:text:["c",),3:bit:"",4:float:(-Infinity,NaN]}@3'::genie_query)) AS v(q);

-- a threshold: Jaccard similarity, kept as a distance; min_match is 0 unless it is given
SELECT '{1:int:1,1:int:2}@2%0.5'::genie_query, '{1:int:1}%0.25'::genie_query AS no_min_match, ' { } @ 1 % .75 '::genie_query AS spaces, '{1:text:5%}'::genie_query AS none;
SELECT '{1:int:1}@1%0'::genie_query AS zero, '{1:int:1}@1%1'::genie_query AS one, '{1:int:1}@1%1.000e+0'::genie_query AS also_one, '{1:int:1}@1%1e-300'::genie_query AS no_more_than_zero;
SELECT count(*) AS texts, count(*) FILTER (WHERE t <> '{1:int:1}@0%' || s) AS other_text, count(*) FILTER (WHERE t::genie_query::text <> t) AS other_again
	FROM (SELECT s, ('{1:int:1}%' || s)::genie_query::text AS t FROM (SELECT DISTINCT trim_scale(i / 1000.0) FROM generate_series(0, 1000) i) v(s)) w;
SELECT count(*) AS texts, count(*) FILTER (WHERE t::genie_query::text <> t) AS other_again FROM (SELECT ('{1:int:1}%' || i / 99991::float8)::genie_query::text AS t FROM generate_series(0, 99991, 7) i) w;
SELECT genie_with_min_match('{1:int:1}%0.1', 1) AS kept;

-- grammar errors
SELECT '{1:int:1}@1%'::genie_query;
SELECT '{1:int:1}%x'::genie_query;
SELECT '{1:int:1}%-0.5'::genie_query;
SELECT '{1:int:1}%1.0001'::genie_query;
SELECT '{1:int:1}%0.5.5'::genie_query;
SELECT '{1:int:1}%1e'::genie_query;
SELECT '{1:int:1}%NaN'::genie_query;
SELECT '{1:int:1}%1e400'::genie_query;
SELECT '{1:int:1}%0x1'::genie_query;
SELECT '{1:int:1}%0.5@1'::genie_query;
SELECT '{1:int:1,2:int:[3,4]}@1%0.5'::genie_query;
SELECT '{1:int:1}%0.5'::genie_object;
SELECT '{1:int:[1,2}'::genie_query;
SELECT '{1:int:[1 2]}'::genie_query;
SELECT '{1:int:[1,2'::genie_query;
SELECT '{1:int:1}@'::genie_query;
SELECT '{1:int:1}@-1'::genie_query;
SELECT '{1:int:1}@2147483648'::genie_query;
SELECT '{1:int:1}@1 x'::genie_query;
SELECT '{1:enum:[a,b]}'::genie_query;
SELECT '{1:hash:(,)}'::genie_query;
SELECT '{1:int:[2,1]}'::genie_query;
SELECT '{1:int:[1,x]}'::genie_query;
SELECT genie_query('{1,2}');

-- of arrays
SELECT genie_query(ARRAY[3, 1, 2, 3, NULL]);
SELECT genie_query(ARRAY['b', 'a', NULL, 'b'], 2), genie_query('{}'::int[]), genie_query('{{1,2},{2,3}}'::int[], 0);
SELECT genie_query(elements => ARRAY[1.50, 1.5, 2], min_match => 2);
SELECT genie_query(NULL::int[]) IS NULL AS no_array, genie_query(ARRAY[1], NULL) IS NULL AS no_min_match;
SELECT genie_query(ARRAY[1], -1);
SELECT genie_query(ARRAY['<a/>'::xml]);

-- of multiranges
SELECT genie_query('{[1,3],[2,5),[7,8),(,-10)}'::int4multirange);
SELECT genie_query('{[1,3],[9223372036854775000,)}'::int8multirange), genie_query('{}'::int4multirange);
SELECT genie_query('{(,)}'::int4multirange), genie_query(NULL::int4multirange) IS NULL AS null;

-- of objects
SELECT genie_query(genie_tuple(1, 'a'::text, NULL::int, 2.5)), genie_query('{}'::genie_object);
SELECT genie_tuple(1)::genie_query, '{[1,2]}'::int4multirange::genie_query, '{[1,2]}'::int8multirange::genie_query;

-- another min_match
SELECT genie_with_min_match(genie_query(ARRAY[1, 2]), 2), genie_with_min_match('{}@5', 0);
SELECT genie_with_min_match(genie_query(ARRAY[1, 2]), -1);
SELECT genie_with_min_match(genie_query(ARRAY[1, 2]), NULL) IS NULL AS null;

-- more than an object can hold
SELECT length(genie_query(array_agg(i))::text) > 1000000 AS long,
	genie_match_count(ARRAY[1, 77777, 200000, 200001], genie_query(array_agg(i)))
	FROM generate_series(1, 200000) i;
