-- the extension's entries in the catalogs

-- everything that users see has a comment
SELECT p.oid::regprocedure AS without_comment FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid WHERE e.extname = 'genie' AND obj_description(p.oid, 'pg_proc') IS NULL;
SELECT o.oid::regoperator AS without_comment FROM pg_operator o JOIN pg_depend d ON d.objid = o.oid AND d.classid = 'pg_operator'::regclass AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid WHERE e.extname = 'genie' AND obj_description(o.oid, 'pg_operator') IS NULL;

-- operators
SELECT o.oid::regoperator AS operator, oprresult::regtype AS result, oprcom::oid::regoperator AS commutator, oprrest, oprjoin
	FROM pg_operator o WHERE oprname IN ('<&>', '@&', '<%>') ORDER BY 1::text COLLATE "C";
-- functions are immutable, parallel safe, and strict where NULL is no argument
SELECT proname, oidvectortypes(p.proargtypes) AS arguments, provolatile, proparallel, proisstrict
	FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid WHERE e.extname = 'genie' AND (provolatile <> 'i' OR proparallel <> 's' OR NOT proisstrict)
	ORDER BY 1, 2;
-- no implicit or assignment cast
SELECT castsource::regtype, casttarget::regtype, castcontext FROM pg_cast
	WHERE castsource IN ('genie_object'::regtype, 'genie_query'::regtype) OR casttarget IN ('genie_object'::regtype, 'genie_query'::regtype) ORDER BY 1, 2;

-- PostgreSQL finds the operator classes valid
SELECT opcname, opcdefault, amvalidate(c.oid) FROM pg_opclass c JOIN pg_depend d ON d.objid = c.oid AND d.classid = 'pg_opclass'::regclass AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid WHERE e.extname = 'genie' ORDER BY 1;
