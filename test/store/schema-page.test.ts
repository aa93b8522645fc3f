// The page of docs/ that shows the tables of PostgreSQL. That of SQLite is compared by `npm run check`.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Client } from 'pg';
import { postgresPage, renderPostgresSchema } from '../../scripts/schema-page.ts';
import { useSharedServer } from '../../tools/postgres-server.ts';

const getServer = useSharedServer();

test('the page of the schema is as a new database is; run `npm run docs` where it is not', async () => {
  const database = await (await getServer()).createDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    const page = await renderPostgresSchema(async (sql) => (await client.query(sql)).rows);
    assert.match(page, /create table deskbell\.subscriptions/);
    assert.equal(await readFile(new URL(`../../${postgresPage}`, import.meta.url), 'utf8'), page);
  } finally {
    await client.end();
    await database.remove();
  }
});
