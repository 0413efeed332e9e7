import os

import pyodbc

from questions import VECTOR, check

connection = pyodbc.connect(f"Driver={{PostgreSQL Unicode}};Servername={os.environ['PGHOST']};Database=postgres;UserName={os.environ['PGUSER']}")
vector = '{' + ','.join(map(str, VECTOR)) + '}'
# ODBC declares a string as varchar, so that each array needs its type
questions = {
    'vector': ('SELECT id FROM docs ORDER BY embedding <-> ?::real[] LIMIT 3', [vector]),
    'ints': ('SELECT id FROM docs ORDER BY ints <&> ?::int[] LIMIT 3', ['{3,6,9}']),
    'tags': ('SELECT id FROM docs ORDER BY tags <&> ?::text[] LIMIT 3', ['{t5,t7}']),
    'words': ('SELECT id FROM docs WHERE words @& genie_query(?::text[], ?::int) ORDER BY id LIMIT 3', ['{w3,w5,w7}', 2]),
    'search': ("SELECT id FROM genie_search('docs_embedding', ?::real[], 3) s JOIN docs ON docs.ctid = s.tid ORDER BY distance", [vector]),
}


def execute(sql, parameters):
    return [tuple(row) for row in connection.cursor().execute(sql, parameters).fetchall()]


wanted = dict(execute('SELECT question, ids FROM wanted', []))
for question, (sql, parameters) in questions.items():
    plan = '\n'.join(row[0] for row in execute('EXPLAIN ' + sql, parameters))
    check('ODBC', question, plan, execute(sql, parameters), wanted)
