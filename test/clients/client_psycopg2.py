import psycopg2

from questions import CURSOR, SCANS, ask, check, check_cursors

connection = psycopg2.connect('')


def execute(sql, parameters):
    cursor = connection.cursor()
    cursor.execute(sql, parameters)
    return cursor.fetchall()


def first_rows(name, sql):
    with psycopg2.connect('') as session:
        cursor = session.cursor(name)
        cursor.execute(sql, [[3, 6, 9]])
        rows = cursor.fetchmany(3)
        asked = session.cursor()
        asked.execute(SCANS)
        return rows, asked.fetchall()


ask('psycopg 2', execute)
wanted = dict(execute('SELECT question, ids FROM wanted', []))
# a list with an integer beyond bigint is numeric[]
query = 'SELECT id FROM docs ORDER BY ints <&> %s LIMIT 3', [[3, 6, 9, 10 ** 20]]
check('psycopg 2', 'ints', str(execute('EXPLAIN ' + query[0], query[1])), execute(*query), wanted)
# a cursor with a name is DECLARE
check_cursors('psycopg 2', wanted, first_rows('named', CURSOR), first_rows(None, CURSOR), first_rows(None, CURSOR + ' LIMIT 3'))
