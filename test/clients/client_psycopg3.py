import psycopg

from questions import ask

for cursor_class in psycopg.Cursor, psycopg.ClientCursor:
    connection = psycopg.connect('', cursor_factory=cursor_class)
    ask('psycopg 3', lambda sql, parameters: connection.execute(sql, parameters).fetchall())
# integers are smallint[], bigint[] or numeric[] by their values
connection = psycopg.connect('')
for number in 3, 3000000, 3000000000:
    plan = connection.execute('EXPLAIN SELECT id FROM docs ORDER BY ints <&> %s LIMIT 3', [[number]]).fetchall()
    assert 'docs_ints' in str(plan), plan
