// node-pg, pg-cursor, postgres.js, knex and drizzle, from npm
const assert = require('assert');
const { Client } = require('pg');
const Cursor = require('pg-cursor');
const postgres = require('postgres');
const knex = require('knex');
const { drizzle } = require('drizzle-orm/node-postgres');
const { sql } = require('drizzle-orm');

const vector = [0.5, -0.25, 0.125, 1];
const questions = {
	vector: ['docs_embedding', 'SELECT id FROM docs ORDER BY embedding <-> $1 LIMIT 3', [vector]],
	ints: ['docs_ints', 'SELECT id FROM docs ORDER BY ints <&> $1 LIMIT 3', [[3, 6, 9]]],
	tags: ['docs_tags', 'SELECT id FROM docs ORDER BY tags <&> $1 LIMIT 3', [['t5', 't7']]],
	words: ['docs_words', 'SELECT id FROM docs WHERE words @& genie_query($1::text[], $2) ORDER BY id LIMIT 3', [['w3', 'w5', 'w7'], 2]],
	jaccard: ['docs_ints', 'SELECT id FROM docs WHERE ints @& genie_jaccard_query($1::int[], $2) ORDER BY id LIMIT 3', [[3, 6, 9], 0.5]],
	tuple: ['docs_pair', 'SELECT id FROM docs ORDER BY genie_tuple(ints[1], words[1]) <&> genie_tuple_query($1::int, $2::text) LIMIT 3', [7, 'w3']],
	search: ['genie_search', "SELECT id FROM genie_search('docs_embedding', $1::real[], 3) s JOIN docs ON docs.ctid = s.tid ORDER BY distance", [vector]],
};

async function ask(client, execute) {
	const wanted = Object.fromEntries((await execute('SELECT question, ids FROM wanted', [])).map(row => [row.question, row.ids]));
	for (const [question, [index, text, parameters]] of Object.entries(questions)) {
		const plan = (await execute('EXPLAIN ' + text, parameters)).map(row => row['QUERY PLAN']).join('\n');
		const ids = (await execute(text, parameters)).map(row => row.id).join(',');
		assert(plan.includes(index) && (question === 'search' || !plan.includes('Seq Scan')), `${client}, ${question}: ${plan}`);
		assert.strictEqual(ids, wanted[question], `${client}, ${question}`);
	}
}

// drizzle spreads an array into a list of parameters, unless it is a parameter as a whole
const drizzled = (text, parameters) => sql.join(text.split(/\$\d/).flatMap((part, i) => i === 0 ? [sql.raw(part)] : [sql.param(parameters[i - 1]), sql.raw(part)]));

// the first three rows of a cursor, and what has scanned an index in its session: DECLARE is planned for the first rows, a portal for all
const statement = 'SELECT id, ints <&> $1::int[] AS count FROM docs ORDER BY 2';

async function firstRows(fetch) {
	const session = new Client();
	await session.connect();
	const rows = await fetch(session);
	const scans = (await session.query('SELECT index::text FROM genie_last_scan()')).rows;
	await session.end();
	return { ids: rows.map(row => row.id).join(','), counts: rows.map(row => row.count).join(','), scans: scans.map(row => row.index).join(',') };
}

async function read(session, text) {
	const cursor = session.query(new Cursor(text, [[3, 6, 9]]));
	const rows = await cursor.read(3);
	await cursor.close();
	return rows;
}

async function main() {
	const client = new Client();
	await client.connect();
	await ask('node-pg', async (text, parameters) => (await client.query(text, parameters)).rows);
	const ids = (await client.query("SELECT ids FROM wanted WHERE question = 'ints'")).rows[0].ids;
	const declared = await firstRows(async session => {
		await session.query('BEGIN');
		await session.query('DECLARE named CURSOR FOR ' + statement, [[3, 6, 9]]);
		return (await session.query('FETCH 3 FROM named')).rows;
	});
	const portal = await firstRows(session => read(session, statement));
	const limited = await firstRows(session => read(session, statement + ' LIMIT 3'));
	assert.deepStrictEqual([declared.scans, portal.scans, limited.scans], ['docs_ints', '', 'docs_ints']);
	assert.deepStrictEqual([declared.ids, limited.ids], [ids, ids]);
	assert.deepStrictEqual([declared.counts, portal.counts], [limited.counts, limited.counts]);
	await ask('drizzle', async (text, parameters) => (await drizzle(client).execute(drizzled(text, parameters))).rows);
	await client.end();
	const pool = postgres({ max: 1, host: process.env.PGHOST, user: process.env.PGUSER, database: 'postgres' });
	await ask('postgres.js', async (text, parameters) => await pool.unsafe(text, parameters));
	await pool.end();
	const db = knex({ client: 'pg', connection: { host: process.env.PGHOST, user: process.env.PGUSER, database: 'postgres' } });
	await ask('knex', async (text, parameters) => (await db.raw(text.replace(/\$\d/g, '?'), parameters)).rows);
	await db.destroy();
}

main().catch(error => { console.error(error); process.exit(1); });
