<?php
$db = new PDO('pgsql:host=' . getenv('PGHOST') . ';dbname=postgres;user=' . getenv('PGUSER'));
$db->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
$wanted = $db->query('SELECT question, ids FROM wanted')->fetchAll(PDO::FETCH_KEY_PAIR);
$vector = '{0.5,-0.25,0.125,1}';
$asked = [
	'vector' => ['docs_embedding', 'SELECT id FROM docs ORDER BY embedding <-> ? LIMIT 3', [$vector]],
	'ints' => ['docs_ints', 'SELECT id FROM docs ORDER BY ints <&> ? LIMIT 3', ['{3,6,9}']],
	'tags' => ['docs_tags', 'SELECT id FROM docs ORDER BY tags <&> ? LIMIT 3', ['{t5,t7}']],
	'words' => ['docs_words', 'SELECT id FROM docs WHERE words @& genie_query(?::text[], ?) ORDER BY id LIMIT 3', ['{w3,w5,w7}', 2]],
	'search' => ['genie_search', "SELECT id FROM genie_search('docs_embedding', ?::real[], 3) s JOIN docs ON docs.ctid = s.tid ORDER BY distance", [$vector]],
];
foreach ([false, true] as $emulated) {
	$db->setAttribute(PDO::ATTR_EMULATE_PREPARES, $emulated);
	foreach ($asked as $question => [$index, $sql, $parameters]) {
		$statement = $db->prepare("EXPLAIN $sql");
		$statement->execute($parameters);
		$plan = implode("\n", $statement->fetchAll(PDO::FETCH_COLUMN));
		$statement = $db->prepare($sql);
		$statement->execute($parameters);
		$ids = implode(',', $statement->fetchAll(PDO::FETCH_COLUMN));
		if (!str_contains($plan, $index) || ($question != 'search' && str_contains($plan, 'Seq Scan')) || $ids != $wanted[$question]) {
			fwrite(STDERR, "$question: $ids, not {$wanted[$question]}\n$plan\n");
			exit(1);
		}
	}
}
