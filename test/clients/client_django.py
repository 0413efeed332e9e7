import os

import django
from django.conf import settings

settings.configure(INSTALLED_APPS=['django.contrib.postgres'], DEFAULT_AUTO_FIELD='django.db.models.AutoField', DATABASES={
    'default': {'ENGINE': 'django.db.backends.postgresql', 'NAME': 'postgres', 'HOST': os.environ['PGHOST'], 'USER': os.environ['PGUSER']}})
django.setup()
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import PostgresIndex
from django.db import connection, models
from django.db.models import F, Func, Value
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Cast

from questions import VECTOR, check


class RealField(models.FloatField):
    def db_type(self, connection):
        return 'real'


class GenieIndex(PostgresIndex):
    suffix = 'genie'


class Doc(models.Model):
    id = models.IntegerField(primary_key=True)
    ints = ArrayField(models.IntegerField())
    tags = ArrayField(models.CharField(max_length=20))
    words = ArrayField(models.TextField())
    embedding = ArrayField(RealField())

    class Meta:
        app_label = 'docs'
        db_table = 'docs'


def order(column, operator, value, field):
    return CombinedExpression(F(column), operator, Value(value, output_field=field), output_field=models.FloatField())


docs = Doc.objects.values_list('id')
queries = {
    'vector': docs.order_by(order('embedding', '<->', VECTOR, ArrayField(RealField())))[:3],
    'ints': docs.order_by(order('ints', '<&>', [3, 6, 9], ArrayField(models.IntegerField())))[:3],
    'tags': docs.order_by(order('tags', '<&>', ['t5', 't7'], ArrayField(models.CharField(max_length=20))))[:3],
}


class Matches(Func):
    template = '%(expressions)s'
    arg_joiner = ' @& '
    output_field = models.BooleanField()


query = Func(Cast(Value(['w3', 'w5', 'w7'], output_field=ArrayField(models.TextField())), ArrayField(models.TextField())), Value(2), function='genie_query')
query.output_field = models.TextField()
queries['words'] = docs.filter(Matches(F('words'), query)).order_by('id')[:3]
with connection.cursor() as cursor:
    cursor.execute('SELECT question, ids FROM wanted')
    wanted = dict(cursor.fetchall())
for question, asked in queries.items():
    check('Django', question, asked.explain(), list(asked), wanted)
# what AddIndex does in a migration
index = GenieIndex(fields=['embedding'], name='docs_django', opclasses=['genie_cosine_ops'])
with connection.schema_editor() as editor:
    editor.add_index(Doc, index)
with connection.cursor() as cursor:
    cursor.execute("SELECT pg_get_indexdef('docs_django'::regclass)")
    assert 'USING genie (embedding genie_cosine_ops)' in str(cursor.fetchall())
with connection.schema_editor() as editor:
    editor.remove_index(Doc, index)
