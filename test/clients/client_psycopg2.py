import psycopg2

from questions import ask

connection = psycopg2.connect('')


def execute(sql, parameters):
    cursor = connection.cursor()
    cursor.execute(sql, parameters)
    return cursor.fetchall()


ask('psycopg 2', execute)
