import asyncio

import asyncpg

from questions import QUESTIONS, check


async def main():
    connection = await asyncpg.connect()
    wanted = dict(await connection.fetch('SELECT question, ids FROM wanted'))
    for question, (sql, parameters, _) in QUESTIONS.items():
        for i in range(len(parameters)):
            sql = sql.replace('%s', f'${i + 1}', 1)
        plan = '\n'.join(row[0] for row in await connection.fetch('EXPLAIN ' + sql, *parameters))
        check('asyncpg', question, plan, await connection.fetch(sql, *parameters), wanted)
    await connection.close()

asyncio.run(main())
