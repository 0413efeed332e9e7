from decimal import Decimal
from itertools import islice

import psycopg

from questions import CURSOR, SCANS, ask, check, check_cursors

for cursor_class in psycopg.Cursor, psycopg.ClientCursor:
    connection = psycopg.connect('', cursor_factory=cursor_class)
    ask('psycopg 3', lambda sql, parameters: connection.execute(sql, parameters).fetchall())
# integers are smallint[], int[], bigint[] or numeric[] by their values
connection = psycopg.connect('')
wanted = dict(connection.execute('SELECT question, ids FROM wanted').fetchall())
for number in 300, 300000, 3000000000, 10 ** 20, Decimal('0.5'):
    query = 'SELECT id FROM docs ORDER BY ints <&> %s LIMIT 3', [[3, 6, 9, number] if isinstance(number, int) else [Decimal(3), Decimal('6.0'), Decimal(9), number]]
    plan = connection.execute('EXPLAIN ' + query[0], query[1]).fetchall()
    check('psycopg 3', 'ints', str(plan), connection.execute(*query).fetchall(), wanted)


def declared(sql):
    with psycopg.connect('') as session:
        cursor = session.cursor('named')
        rows = cursor.execute(sql, [[3, 6, 9]]).fetchmany(3)
        return rows, session.execute(SCANS).fetchall()


def streamed(sql):
    """Rows as they come, of a statement that is planned as a whole."""
    with psycopg.connect('') as session:
        rows = list(session.cursor().stream(sql, [[3, 6, 9]]))
        return list(islice(rows, 3)), session.execute(SCANS).fetchall()


check_cursors('psycopg 3', wanted, declared(CURSOR), streamed(CURSOR), streamed(CURSOR + ' LIMIT 3'))
