// Writes docs/schema-sqlite.md and docs/schema-postgresql.md from new databases. With --check it compares the page of SQLite;
// that of PostgreSQL is compared by test/store/schema-page.test.ts, since a check starts no server.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { openDatabaseFile } from '../src/store/sqlite/open-database-file.ts';
import { PostgresServer } from '../tools/postgres-server.ts';
import { postgresPage, renderPostgresSchema, renderSqliteSchema } from './schema-page.ts';
import { writePage } from './write-page.ts';

await writePage('docs/schema-sqlite.md', await describeSqlite());
if (!process.argv.includes('--check')) await writePage(postgresPage, await describePostgres());

async function describeSqlite(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-schema-'));
  try {
    const database = await openDatabaseFile(join(folder, 'deskbell.db'));
    try {
      return renderSqliteSchema(database);
    } finally {
      database.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function describePostgres(): Promise<string> {
  const server = await PostgresServer.start();
  try {
    const { url } = await server.createDatabase();
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      return await renderPostgresSchema(async (sql) => (await client.query(sql)).rows);
    } finally {
      await client.end();
    }
  } finally {
    await server.stop();
  }
}
