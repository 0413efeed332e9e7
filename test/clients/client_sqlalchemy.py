import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, REAL, VARCHAR

from questions import VECTOR, check


class GenieQuery(sa.types.UserDefinedType):
    cache_ok = True

    def get_col_spec(self, **kw):
        return 'genie_query'


metadata = sa.MetaData()
docs = sa.Table('docs', metadata, sa.Column('id', sa.Integer, primary_key=True), sa.Column('ints', ARRAY(sa.Integer)),
                sa.Column('tags', ARRAY(VARCHAR)), sa.Column('words', ARRAY(sa.Text)), sa.Column('embedding', ARRAY(REAL)))
sa.Index('docs_more', docs.c.embedding, postgresql_using='genie', postgresql_ops={'embedding': 'genie_cosine_ops'})
sa.Index('docs_tuple', sa.func.genie_tuple(docs.c.id), postgresql_using='genie')


def operator(column, name, value):
    return column.op(name, return_type=sa.Float())(sa.bindparam(None, value, type_=column.type))


queries = {
    'vector': sa.select(docs.c.id).order_by(operator(docs.c.embedding, '<->', VECTOR)).limit(3),
    'ints': sa.select(docs.c.id).order_by(operator(docs.c.ints, '<&>', [3, 6, 9])).limit(3),
    'tags': sa.select(docs.c.id).order_by(operator(docs.c.tags, '<&>', ['t5', 't7'])).limit(3),
    'words': sa.select(docs.c.id).where(docs.c.words.op('@&', is_comparison=True)(
        sa.func.genie_query(sa.cast(['w3', 'w5', 'w7'], ARRAY(sa.Text)), 2, type_=GenieQuery))).order_by(docs.c.id).limit(3),
}
for driver in 'postgresql+psycopg2://', 'postgresql+psycopg://':
    try:
        engine = sa.create_engine(driver)
    except sa.exc.NoSuchModuleError:
        continue  # SQLAlchemy 1.4 has no psycopg 3
    with engine.begin() as connection:
        wanted = dict(tuple(row) for row in connection.execute(sa.text('SELECT question, ids FROM wanted')))
        for question, query in queries.items():
            compiled = query.compile(engine)
            plan = '\n'.join(row[0] for row in connection.exec_driver_sql('EXPLAIN ' + str(compiled), compiled.params))
            check('SQLAlchemy', question, plan, connection.execute(query).fetchall(), wanted)
        for index in docs.indexes:
            index.create(connection)
        # reflection loses the operator class and the expression
        reflected = {index['name']: index for index in sa.inspect(connection).get_indexes('docs')}
        assert reflected['docs_more']['dialect_options']['postgresql_using'] == 'genie'
        assert 'genie_cosine_ops' not in str(reflected), reflected
        for index in docs.indexes:
            index.drop(connection)
