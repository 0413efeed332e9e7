use strict;
use warnings;
use DBI;

my $db = DBI->connect('dbi:Pg:', $ENV{PGUSER}, '', { RaiseError => 1 });
my %wanted = map { @$_ } @{ $db->selectall_arrayref('SELECT question, ids FROM wanted') };
my @vector = (0.5, -0.25, 0.125, 1);
my %asked = (
	vector => [ 'docs_embedding', 'SELECT id FROM docs ORDER BY embedding <-> ? LIMIT 3', \@vector ],
	ints => [ 'docs_ints', 'SELECT id FROM docs ORDER BY ints <&> ? LIMIT 3', [ 3, 6, 9 ] ],
	tags => [ 'docs_tags', 'SELECT id FROM docs ORDER BY tags <&> ? LIMIT 3', [ 't5', 't7' ] ],
	words => [ 'docs_words', 'SELECT id FROM docs WHERE words @& genie_query(?::text[], ?) ORDER BY id LIMIT 3', [ 'w3', 'w5', 'w7' ], 2 ],
	search => [ 'genie_search', q{SELECT id FROM genie_search('docs_embedding', ?::real[], 3) s JOIN docs ON docs.ctid = s.tid ORDER BY distance}, \@vector ],
);
for my $question (sort keys %asked)
{
	my ($index, $sql, @parameters) = @{ $asked{$question} };
	my $plan = join "\n", map { $_->[0] } @{ $db->selectall_arrayref("EXPLAIN $sql", undef, @parameters) };
	my $ids = join ',', map { $_->[0] } @{ $db->selectall_arrayref($sql, undef, @parameters) };
	$plan =~ /$index/ && ($question eq 'search' || $plan !~ /Seq Scan/) or die "$question: $plan";
	$ids eq $wanted{$question} or die "$question: $ids, not $wanted{$question}";
}
