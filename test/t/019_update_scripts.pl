# Every released version of the extension can be updated to the newest, and is then the same as if it were created anew
# (src/doc/versions.md).
#
# Released versions are the headings of the changes; 1.0 is the first.  A version whose script is missing, that cannot be updated, or that
# ends with other objects, definitions, rights or comments than a new one fails here.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GenieTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/../..";
my @released = slurp_file("$top/src/doc/CHANGELOG.md") =~ /^## (\d+\.\d+)\b/mg;
my ($newest) = slurp_file("$top/genie.control") =~ /^default_version = '(.*)'/m;
ok(@released > 0, 'versions: ' . join(', ', @released));
is($released[0], $newest, 'the changes begin with the version that is created');

my $node = genie_node('update');
my $objects = <<'SQL';
SET search_path = pg_catalog;
SELECT d.type, d.identity, obj_description(o.objid, o.classid::regclass::name),
	CASE d.type
		WHEN 'function' THEN (SELECT concat_ws(' ', pg_get_functiondef(p.oid), p.prosrc, p.proacl, p.prosupport, p.procost) FROM pg_proc p WHERE p.oid = o.objid AND p.prokind = 'f')
		WHEN 'operator' THEN (SELECT concat_ws(' ', oprcode, oprrest, oprjoin, oprcom::regoperator, oprnegate::regoperator) FROM pg_operator WHERE oid = o.objid)
		WHEN 'operator class' THEN (SELECT concat_ws(' ', opcintype::regtype, opcdefault, opckeytype::regtype) FROM pg_opclass WHERE oid = o.objid)
		WHEN 'operator family' THEN (SELECT string_agg(concat_ws(' ', amopopr::regoperator, amopstrategy, amopsortfamily), ', ' ORDER BY amopopr::regoperator::text COLLATE "C") FROM pg_amop WHERE amopfamily = o.objid)
			|| (SELECT string_agg(concat_ws(' ', amproc::regprocedure, amprocnum, amproclefttype::regtype), ', ' ORDER BY amprocnum, amproclefttype::regtype::text COLLATE "C") FROM pg_amproc WHERE amprocfamily = o.objid)
		WHEN 'view' THEN pg_get_viewdef(o.objid) || (SELECT relacl::text FROM pg_class WHERE oid = o.objid)
		WHEN 'type' THEN (SELECT concat_ws(' ', typinput, typoutput, typreceive, typsend, typlen, typstorage, typcategory) FROM pg_type WHERE oid = o.objid)
	END
FROM pg_depend o, pg_identify_object(o.classid, o.objid, 0) d
WHERE o.refclassid = 'pg_extension'::regclass AND o.deptype = 'e' ORDER BY d.type, d.identity COLLATE "C"
SQL

$node->safe_psql('postgres', 'CREATE DATABASE anew');
$node->safe_psql('anew', 'CREATE EXTENSION genie');
my $anew = $node->safe_psql('anew', $objects);
cmp_ok(scalar(() = $anew =~ /^(function|operator|operator class|operator family|type|view|access method)\|/mg), '>', 100, 'its objects are compared');
like($anew, qr/^operator family\|.*<&>\(/m, 'with their definitions');

foreach my $version (@released)
{
	$node->safe_psql('postgres', "CREATE DATABASE \"from $version\"");
	my $database = "from $version";
	$node->safe_psql($database, "CREATE EXTENSION genie VERSION '$version'");
	$node->safe_psql($database, 'CREATE TABLE t (x int[]); INSERT INTO t SELECT ARRAY[i % 7, i % 100] FROM generate_series(1, 1000) i; CREATE INDEX t_x ON t USING genie (x)');
	$node->safe_psql($database, 'ALTER EXTENSION genie UPDATE');
	is($node->safe_psql($database, q(SELECT extversion FROM pg_extension WHERE extname = 'genie')), $newest, "$version is updated to $newest");
	is($node->safe_psql($database, $objects), $anew, "and has the objects of a new $newest");
	is($node->safe_psql($database, 'SET enable_seqscan = off; SELECT count(*) FROM t WHERE x @& genie_query(ARRAY[3, 45], 2)'), '2', 'its indexes work on')
	  or diag($node->safe_psql($database, 'SELECT count(*) FROM t WHERE x @> ARRAY[3, 45]'));
}

done_testing();
