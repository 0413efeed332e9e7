"""The five questions of a client: SQL with %s for a parameter, the parameters, and a text that the plan has."""
VECTOR = [0.5, -0.25, 0.125, 1.0]
QUESTIONS = {
    'vector': ('SELECT id FROM docs ORDER BY embedding <-> %s LIMIT 3', [VECTOR], 'docs_embedding'),
    'ints': ('SELECT id FROM docs ORDER BY ints <&> %s LIMIT 3', [[3, 6, 9]], 'docs_ints'),
    'tags': ('SELECT id FROM docs ORDER BY tags <&> %s LIMIT 3', [['t5', 't7']], 'docs_tags'),
    'words': ('SELECT id FROM docs WHERE words @& genie_query(%s::text[], %s) ORDER BY id LIMIT 3', [['w3', 'w5', 'w7'], 2], 'docs_words'),
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
