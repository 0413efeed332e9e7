"""The questions of a client: SQL with %s for a parameter, the parameters, and a text that the plan has."""
VECTOR = [0.5, -0.25, 0.125, 1.0]
QUESTIONS = {
    'vector': ('SELECT id FROM docs ORDER BY embedding <-> %s LIMIT 3', [VECTOR], 'docs_embedding'),
    'ints': ('SELECT id FROM docs ORDER BY ints <&> %s LIMIT 3', [[3, 6, 9]], 'docs_ints'),
    'tags': ('SELECT id FROM docs ORDER BY tags <&> %s LIMIT 3', [['t5', 't7']], 'docs_tags'),
    'words': ('SELECT id FROM docs WHERE words @& genie_query(%s::text[], %s) ORDER BY id LIMIT 3', [['w3', 'w5', 'w7'], 2], 'docs_words'),
    'jaccard': ('SELECT id FROM docs WHERE ints @& genie_jaccard_query(%s::int[], %s) ORDER BY id LIMIT 3', [[3, 6, 9], 0.5], 'docs_ints'),
    'tuple': ('SELECT id FROM docs ORDER BY genie_tuple(ints[1], words[1]) <&> genie_tuple_query(%s::int, %s::text) LIMIT 3', [7, 'w3'], 'docs_pair'),
    'search': ("SELECT id FROM genie_search('docs_embedding', %s::float8[], 3) s JOIN docs ON docs.ctid = s.tid ORDER BY distance", [VECTOR], 'genie_search'),
}


def check(client, question, plan, rows, wanted):
    ids = ','.join(str(row[0]) for row in rows)
    index = QUESTIONS[question][2]
    assert index in plan and (question == 'search' or 'Seq Scan' not in plan), f'{client}, {question}: {plan}'
    assert ids == wanted[question], f'{client}, {question}: {ids}, not {wanted[question]}'


def ask(client, execute):
    """execute(sql, parameters) returns the rows."""
    wanted = dict(execute('SELECT question, ids FROM wanted', []))
    for question, (sql, parameters, _) in QUESTIONS.items():
        plan = '\n'.join(row[0] for row in execute('EXPLAIN ' + sql, parameters))
        check(client, question, plan, execute(sql, parameters), wanted)


CURSOR = 'SELECT id, ints <&> %s::int[] FROM docs ORDER BY 2'
SCANS = 'SELECT index::text FROM genie_last_scan()'


def check_cursors(client, wanted, declared, portal, limited):
    """Each is the first three rows of a cursor, and what SCANS says behind it in a new session: of DECLARE, which is planned for
    the first rows; of a portal, which is planned for all; and of one whose statement has a LIMIT."""
    for name, (rows, scans), indexes in ('DECLARE', declared, ['docs_ints']), ('portal', portal, []), ('LIMIT', limited, ['docs_ints']):
        assert [row[0] for row in scans] == indexes, f'{client}, {name}: {scans}'
        assert [row[1] for row in rows] == [row[1] for row in declared[0]], f'{client}, {name}: {rows}'
        assert not indexes or ','.join(str(row[0]) for row in rows) == wanted['ints'], f'{client}, {name}: {rows}'
