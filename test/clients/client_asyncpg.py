import asyncio

import asyncpg

from questions import CURSOR, QUESTIONS, SCANS, check, check_cursors


async def first_rows(form):
    connection = await asyncpg.connect()
    async with connection.transaction():
        if form == 'DECLARE':
            await connection.execute('DECLARE named CURSOR FOR ' + CURSOR.replace('%s', "'{3,6,9}'"))
            rows = await connection.fetch('FETCH 3 FROM named')
        else:
            rows = await (await connection.cursor(CURSOR.replace('%s', '$1') + form, [3, 6, 9])).fetch(3)
        scans = await connection.fetch(SCANS)
    await connection.close()
    return rows, scans


async def main():
    connection = await asyncpg.connect()
    wanted = dict(await connection.fetch('SELECT question, ids FROM wanted'))
    for question, (sql, parameters, _) in QUESTIONS.items():
        for i in range(len(parameters)):
            sql = sql.replace('%s', f'${i + 1}', 1)
        plan = '\n'.join(row[0] for row in await connection.fetch('EXPLAIN ' + sql, *parameters))
        check('asyncpg', question, plan, await connection.fetch(sql, *parameters), wanted)
    await connection.close()
    check_cursors('asyncpg', wanted, await first_rows('DECLARE'), await first_rows(''), await first_rows(' LIMIT 3'))

asyncio.run(main())
